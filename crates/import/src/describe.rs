//! The import's description of itself: the summary, and the tables `stats` and `fact`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::manifest::Attribute;
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use timebase_resolver::Unresolved;
use timebase_schema::{self as schema, tables};
use timebase_trace::{Digested, TraceType};

use crate::files::{File, Files};
use crate::frame::{Frame, counters};
use crate::identity::{ID_DIGITS, id_of};
use crate::options::Conversion;
use crate::output::{
    self, About, Counter, Fact, FactRow, Meaning, OF_TRACE, PARSER_ERROR, Placed, Stat, Stats,
    Tallies,
};
use crate::pipeline::FileRead;
use crate::readers::{self, counters_of_machines};
use crate::summary::{Doubtful, Dropped, Events, LossKind, Lost, Placement, Summary, Unnamed};
use crate::trackers;

/// The data about a finished import, for its tables.
pub(crate) struct ReadTrace<'a> {
    pub files: &'a Files<'a>,
    /// The files that are no manifests, in the order in which they were read.
    pub read: &'a [FileRead],
    /// The archive that contains them, as a file.
    pub archive: Option<&'a Digested>,
    pub derived: &'a Derived,
    /// The names of the machines.
    pub machines: Vec<Option<String>>,
    /// The number of rows of each table, by the table's number.
    pub rows: Vec<i64>,
    /// The method that converts readings to trace time.
    pub conversion: Conversion,
    /// Whether the bytes of packets are in blocks.
    pub is_compact: bool,
}

/// The results that need all files together.
pub(crate) struct Derived {
    /// The placements of parts.
    pub placed: Vec<Placed>,
    /// For each sample of a synchronization, whether conversions by rates use it.
    pub used: Vec<bool>,
    /// The numbers of rows that may be wrong.
    pub tallies: Tallies,
    /// A warning for the user about the pairs of the manifest.
    pub warning: Option<String>,
}

impl ReadTrace<'_> {
    /// The number of rows of a table.
    fn count(&self, table: &schema::Table) -> u64 {
        let count = self.rows.get(table.number).copied();
        count.unwrap_or_default().unsigned_abs()
    }

    /// A line of the summary.
    fn placement(&self, placed: &Placed, names: &[Option<String>]) -> Placement {
        let file = self.files.inputs.files().get(placed.file as usize);
        Placement {
            file: file.and_then(|file| file.name.clone()),
            is_json: matches!(file.and_then(|file| file.kind), Some(TraceType::Trace(format)) if format.has_own_clock),
            machine: placed.machine,
            machine_name: names.get(placed.machine as usize).cloned().flatten(),
            how: placed.how,
            offset: placed.offset,
            error: placed.error,
            boots_differ: placed.boots_differ,
            causal: placed.causal,
        }
    }

    /// The number of packets, the size and the hash of a file, after it was read.
    fn of_file(&self, id: usize) -> (u64, Option<u64>, Option<String>) {
        let read = self.read.iter().find(|read| read.file.id == id);
        let packets = read.map_or(0, |read| read.read.packets);
        let digest = read.map(|read| &read.digest);
        let digest = digest.or_else(|| self.files.digests.get(&id));
        let digest = digest.or(self.archive.filter(|_| id == 0));
        let (size, sha256) = digest.map(|digest| (digest.size, digest.sha256.clone())).unzip();
        (packets, size, sha256.flatten())
    }

    /// The id of this trace. It depends neither on the file's place nor on its name. It is the first digits
    /// of the file's hash. With several files, it is made from the hash of their hashes, and their order on
    /// the command line does not matter.
    fn id(&self) -> String {
        if let (_, _, Some(sha256)) = self.of_file(0) {
            return sha256.chars().take(ID_DIGITS).collect();
        }
        let read = self.read.iter().map(|read| &read.digest);
        let digests = read.chain(self.files.digests.values());
        let mut hashes: Vec<String> = digests
            .map(|digest| match &digest.sha256 {
                Some(sha256) => sha256.clone(),
                // The file was not read to its end.
                None => digest.size.to_string(),
            })
            .collect();
        hashes.sort_unstable();
        id_of(Sha256::digest(hashes.join("\n")))
    }
}

/// Fills `clock`, `clock_turn`, `sequence` and `trace_file`, and returns the summary.
pub(crate) fn summarize(
    conn: &Connection,
    frame: &mut Frame,
    trace: &ReadTrace<'_>,
) -> rusqlite::Result<Summary> {
    let (inputs, is_alone) = (&trace.files.inputs, trace.files.is_alone);
    output::trace_files(conn, inputs.files(), |id| trace.of_file(id))?;
    output::remote_clock_syncs(conn, &mut frame.context.place, &trace.derived.used)?;
    let clocks = output::clocks(conn, &mut frame.context.place)?;
    output::insert_turns(conn, frame.context.place.trace_time(), trace.conversion)?;
    let sequences = output::sequences(conn, &frame.context.place)?;
    let bounds = "SELECT start_ts, end_ts FROM trace_bounds";
    let (start_ts, end_ts) = conn.query_row(bounds, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let lost = lost(conn)?;
    let misplaced = misplaced(conn)?;
    let dropped = dropped(conn)?;
    let journal = &frame.context.journal;
    let wanted = tables::ALL.iter().filter(|table| frame.wanted().has(table));
    let events = wanted.filter_map(|table| match table.events? {
        schema::Events::Rows { name, heading, one, noun } => Some(Events {
            table: name,
            heading,
            one,
            noun,
            rows: trace.count(table),
            unresolved: journal.reasons(table).counted(),
        }),
        schema::Events::PartOf(_) => None,
    });
    let events = events.collect();
    Ok(Summary {
        packets: trace.count(&tables::packet_record::TABLE),
        snapshots: frame.context.place.clocks.graph.snapshots().into(),
        rejected_snapshots: journal.counter(counters::SNAPSHOTS_REJECTED),
        clocks,
        sequences,
        on_trace_time: journal.packets_on_trace_time,
        without_timestamp: journal.counter(counters::PACKETS_WITHOUT_TIMESTAMP),
        unresolved: journal.reasons(&tables::packet_record::TABLE).counted(),
        read: frame.types.read,
        unread: frame.types.all_unread(),
        events,
        lost,
        clock_faults: Vec::new(),
        doubtful: doubtful(&trace.derived.tallies),
        misplaced,
        dropped,
        unnamed: unnamed(conn)?,
        windows: trace.count(&tables::winscope_record::TABLE),
        cut_dumps: count(conn, "SELECT count(*) FROM heap_graph WHERE truncated")?,
        trace_time_clock: frame.context.place.trace_time().to_string(),
        start_ts,
        end_ts,
        files: match is_alone {
            true => 0,
            false => trace.read.iter().filter(|read| read.file.is_trace()).count() as u64,
        },
        machines: trace.machines.len() as u64,
        placements: trace
            .derived
            .placed
            .iter()
            .map(|placed| trace.placement(placed, &trace.machines))
            .collect(),
        unrelated: unrelated(trace.files, &trace.derived.placed),
        source_bytes: 0,
        database_bytes: 0,
        warnings: about_names(conn)?,
    })
}

/// The losses in the table `loss`, by kind.
fn lost(conn: &Connection) -> rusqlite::Result<Vec<Lost>> {
    let sql = "SELECT kind, severity = 'data_loss', count(*), CAST(total(count) AS INTEGER), count(DISTINCT ucpu),
            count(DISTINCT (coalesce(machine_id, 0) << 32) + seq_id), count(DISTINCT (coalesce(machine_id, 0) << 32) + buffer)
        FROM loss GROUP BY kind, severity, coalesce(ucpu, seq_id, buffer) IS NULL";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let number = |column| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
        let kind = LossKind::of_name(row.get_ref(0)?.as_str()?);
        let Some(kind) = kind else {
            return Ok(None);
        };
        Ok(Some(Lost {
            kind,
            is_data_loss: row.get(1)?,
            rows: number(2)?,
            count: number(3)?,
            cpus: number(4)?,
            sequences: number(5)?,
            buffers: number(6)?,
        }))
    })?;
    rows.filter_map(Result::transpose).collect()
}

/// The frames without a name, whose mappings are in the view `unsymbolized_mapping`.
fn unnamed(conn: &Connection) -> rusqlite::Result<Unnamed> {
    let sql = "SELECT count(*), count(DISTINCT m.name || '/' || m.build_id)
        FROM stack_profile_frame AS f JOIN stack_profile_mapping AS m ON m.id = f.mapping
        WHERE f.symbol_set_id IS NULL AND ifnull(f.name, '') = ''";
    conn.query_row(sql, [], |row| {
        let number = |column| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
        Ok(Unnamed { frames: number(0)?, mappings: number(1)? })
    })
}

/// Warnings about the files with symbols that cannot be read, and about the files with names that name nothing.
fn about_names(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    /// More are in the log.
    const MOST: usize = 5;

    let mut statement =
        conn.prepare("SELECT message FROM import_log WHERE code = ?1 ORDER BY id")?;
    let mut messages = |code: &str| -> rusqlite::Result<Vec<String>> {
        statement.query_map([code], |row| row.get(0))?.collect()
    };
    let mut told = messages("symbols_unreadable")?;
    let more = told.len().saturating_sub(MOST);
    if more > 0 {
        told.truncate(MOST);
        told.push(format!(
            "{more} more files with symbols cannot be read; import_log has their names, with the code symbols_unreadable"
        ));
    }
    told.extend(messages("names_unused")?);
    Ok(told)
}

/// The number of slices that have the end of another one.
fn misplaced(conn: &Connection) -> rusqlite::Result<u64> {
    count(
        conn,
        "SELECT count(DISTINCT slice_id) FROM misplaced_end WHERE reason IN ('cut', 'early')",
    )
}

/// The count that a statement has as its only value.
fn count(conn: &Connection, sql: &str) -> rusqlite::Result<u64> {
    conn.query_row(sql, [], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
}

/// The events that made no row. Events that need lost state are among the packets without a time.
fn dropped(conn: &Connection) -> rusqlite::Result<Vec<Dropped>> {
    let sql = "SELECT cause, sum(events) FROM event_fault
        WHERE effect = 'dropped' AND cause <> 'state_lost' GROUP BY cause ORDER BY 2 DESC, 1";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(Dropped { cause: row.get(0)?, events: row.get::<_, i64>(1)?.unsigned_abs() })
    })?;
    rows.collect()
}

/// The kinds of rows that include rows that may be wrong.
fn doubtful(tallies: &Tallies) -> Vec<Doubtful> {
    let kinds = [
        (["thread state", "thread states"], tallies.states),
        (["slice", "slices"], tallies.slices),
        (["value", "values"], tallies.values),
    ];
    let kinds = kinds.into_iter().filter(|(_, tally)| tally.doubtful > 0);
    let kinds = kinds.map(|([one, noun], tally)| Doubtful {
        one,
        noun,
        rows: tally.rows,
        doubtful: tally.doubtful,
    });
    kinds.collect()
}

/// Fills `stats` and `fact`.
pub(crate) fn describe(
    conn: &Connection,
    frame: &Frame,
    trace: &ReadTrace<'_>,
    summary: &Summary,
) -> rusqlite::Result<()> {
    output::stats(conn, stats(frame, trace, summary))?;
    facts(conn, frame, trace)
}

/// The counts of the import.
fn counted(
    frame: &Frame,
    trace: &ReadTrace<'_>,
    summary: &Summary,
) -> impl Iterator<Item = (Counter, u64)> + use<> {
    let (counts, tallies) = (&frame.counts, &trace.derived.tallies);
    let counters = [
        (Counter::info("packets", "rows of packet").drops_nothing(), summary.packets),
        (
            Counter::info("packets_on_trace_time", "packets with a ts").drops_nothing(),
            summary.on_trace_time,
        ),
        (
            Counter::info(
                "compressed_packets",
                "packets that contain compressed packets; they are no rows",
            )
            .drops_nothing(),
            counts.compressed,
        ),
        (
            Counter::error(
                "compressed_packets_damaged",
                "compressed packets that the import could not read to their end",
            )
            .drops_nothing(),
            counts.compressed_damaged,
        ),
        (
            Counter::error(
                "compressed_packets_nested",
                "compressed packets inside compressed packets, which the import \
                 skips",
            )
            .drops_nothing(),
            counts.nested,
        ),
        (
            Counter::info(
                "snapshots",
                "accepted snapshots, including the pairs of clocks in bundles",
            )
            .drops_nothing(),
            summary.snapshots,
        ),
        (Counter::info("clocks", "rows of clock").drops_nothing(), summary.clocks),
        (Counter::info("sequences", "rows of sequence").drops_nothing(), summary.sequences),
        (
            Counter::info(
                "trace_bytes",
                "bytes of the decompressed trace, up to the end of the last packet",
            )
            .drops_nothing(),
            counts.bytes,
        ),
        (
            Counter::info(
                "thread_states_doubtful",
                "rows of thread_state that may be wrong: their doubt is not NULL",
            )
            .drops_nothing(),
            tallies.states.doubtful,
        ),
        (
            Counter::info(
                "slices_doubtful",
                "rows of slice that may be wrong: their doubt is not NULL",
            )
            .drops_nothing(),
            tallies.slices.doubtful,
        ),
        (
            Counter::info(
                "values_doubtful",
                "rows of counter that may be wrong: their doubt is not NULL",
            )
            .drops_nothing(),
            tallies.values.doubtful,
        ),
    ];
    counters.into_iter()
}

/// The rows of `stats`: the counts of the import, and the counts in the trace.
fn stats(frame: &Frame, trace: &ReadTrace<'_>, summary: &Summary) -> Stats {
    let counters = counted(frame, trace, summary).chain(frame.context.journal.counters());
    let of_machines: Vec<Counter> = counted_of_machines().collect();
    let is_of_machines = |counter: &Counter| of_machines.iter().any(|of| of.name == counter.name);
    let parts = frame.context.place.clocks.parts.iter();
    let parts = parts.map(|part| (part.file.id, part.machine.0));
    let mut stats = Stats::new(parts.collect());
    let of_all = counters.filter(|(counter, _)| !is_of_machines(counter));
    stats.extend(of_all.map(|(counter, count)| Stat::new(&counter, signed(count))));
    add_stats_of_machines(frame, &mut stats);
    stats.extend(unresolved("packets", "packets", &summary.unresolved));
    for events in &summary.events {
        let Events { table, noun, .. } = *events;
        stats.extend([Stat {
            name: table.into(),
            description: format!("{noun} in {table}").into(),
            meaning: Meaning::INFO,
            value: signed(events.rows),
            idx: None,
            of: None,
        }]);
        stats.extend(unresolved(table, noun, &events.unresolved));
    }
    let recorded = frame.context.journal.all_recorded();
    stats.extend(recorded.map(|(key, counter, value)| Stat {
        idx: key.idx,
        of: Some((key.file, key.machine)).filter(|of| *of != OF_TRACE),
        ..Stat::new(counter, value)
    }));
    stats
}

/// Counters of rows without a time: one for each reason.
fn unresolved<'a>(
    name: &'a str,
    noun: &'a str,
    reasons: &'a BTreeMap<Unresolved, u64>,
) -> impl Iterator<Item = Stat> + 'a {
    reasons.iter().map(move |(&reason, &count)| Stat {
        name: format!("{name}_unresolved_{}", reason.code()).into(),
        description: format!("{noun} without a ts: {reason}").into(),
        meaning: meaning_of(reason),
        value: signed(count),
        idx: None,
        of: None,
    })
}

/// A number as SQLite stores it.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Counters of the import that every machine of a file has, even if nothing was counted.
fn counted_of_machines() -> impl Iterator<Item = Counter> {
    let faults = readers::faults_of_machines().chain(trackers::faults_of_machines());
    let faults = [PARSER_ERROR].into_iter().chain(faults);
    faults.map(|fault| fault.counter())
}

/// Adds the counters that every machine of a file has (rules MD). If there is only one machine, the import's
/// counts are the machine's. Otherwise nobody knows which machine they belong to, and they stand for the
/// whole trace.
fn add_stats_of_machines(frame: &Frame, stats: &mut Stats) {
    let (journal, parts) = (&frame.context.journal, &frame.context.place.clocks.parts);
    let is_only = parts.iter().count() == 1;
    for counter in counted_of_machines() {
        let count = signed(journal.counter(counter));
        let known = if is_only { count } else { 0 };
        stats.of_parts(&counter, known);
        if count > known {
            stats.extend([Stat::new(&counter, count)]);
        }
    }
    for counter in counters_of_machines().chain(trackers::counters_of_machines()) {
        stats.of_parts(counter, 0);
    }
}

/// Fills `fact`.
fn facts(conn: &Connection, frame: &Frame, trace: &ReadTrace<'_>) -> rusqlite::Result<()> {
    let stated = frame.context.journal.facts.iter();
    let own = own_facts(frame, trace);
    output::facts(conn, stated.chain(&own))
}

/// Facts that timebase itself states.
fn own_facts(frame: &Frame, trace: &ReadTrace<'_>) -> Vec<FactRow> {
    let trace_time = frame.context.place.trace_time();
    let (trace_time, of_machine) = (trace_time.id.get(), trace_time.machine.0);
    let files = trace.files;
    let (_, size, sha256) = trace.of_file(0);
    let sizes = trace.read.iter().map(|read| read.digest.size);
    let size = size.unwrap_or_else(|| sizes.fold(files.read_ahead(), u64::saturating_add)) as i64;
    let data = match (frame.keeps_data(), trace.is_compact) {
        (false, _) => "none",
        (true, true) => "compact",
        (true, false) => "all",
    };
    let whole = files.inputs.files().first();
    let trace_type = whole.and_then(|file| file.kind).map(TraceType::name);
    let text = |text: &str| Fact::Text(text.to_owned());
    let or_null = |value: Option<Fact>| value.unwrap_or(Fact::Null);
    let of_all = |(name, value)| fact(name, About::ALL, value);
    let mut facts: Vec<FactRow> = Vec::new();
    // A file that is alone is also the whole trace (rule MD15).
    let whole = match files.is_alone {
        true => About::trace(0),
        false => About::ALL,
    };
    facts.push(fact("trace_type", whole, or_null(trace_type.map(text))));
    facts.push(fact("trace_size_bytes", whole, size.into()));
    if !files.is_alone {
        for read in trace.read {
            let about = About::trace(read.file.tag.id);
            let size = read.digest.size as i64;
            facts.push(fact("trace_type", about, text(read.file.kind.name())));
            facts.push(fact("trace_size_bytes", about, size.into()));
        }
    }
    let own = [
        ("conversion", text(trace.conversion.name())),
        ("import_data", text(data)),
        ("import_tables", text(&frame.wanted().names())),
        ("trace_id", text(&trace.id())),
        ("trace_time_clock_id", trace_time.into()),
        ("trace_time_machine_id", of_machine.into()),
        ("tool", text("timebase")),
        ("tool_version", text(env!("CARGO_PKG_VERSION"))),
        ("source", text(&files.title())),
        ("source_size", size.into()),
        ("source_sha256", or_null(sha256.map(Fact::Text))),
    ];
    facts.extend(own.into_iter().map(of_all));
    let attributes = files.said.iter().flat_map(|said| &said.attributes);
    facts.extend(attributes.map(|(key, value)| {
        let value = match value {
            Attribute::Text(text) => Fact::Text(text.clone()),
            Attribute::Integer(number) => Fact::Integer(*number),
        };
        fact(format!("manifest_attribute.{key}"), About::ALL, value)
    }));
    facts
}

fn fact(name: impl Into<Cow<'static, str>>, about: About, value: Fact) -> FactRow {
    FactRow { name: name.into(), about, is_multi: false, value }
}

/// The files without any part that something relates to the files before (rule X41).
pub(crate) fn unrelated(files: &Files<'_>, placed: &[Placed]) -> Vec<String> {
    if files.manifest.is_some() {
        return Vec::new();
    }
    let is_unrelated = |file: &&File| {
        let parts = placed.iter().filter(|placed| placed.file == file.tag.id);
        let mut told = parts.filter_map(|placed| placed.is_related).peekable();
        told.peek().is_some() && told.all(|is_related| !is_related)
    };
    let unrelated = files.order.iter().filter(is_unrelated);
    let names = unrelated.map(|file| files.inputs.title(file.id).to_owned());
    names.collect()
}

/// The severity of a row without a time, for this reason.
fn meaning_of(reason: Unresolved) -> Meaning {
    match reason {
        Unresolved::IncrementalStateLost => Meaning::DATA_LOSS,
        _ => Meaning::ERROR,
    }
}
