//! Tables with few rows that are known only when the whole trace is read: clocks,
//! sequences, counters, facts. SQLite inserts them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use rusqlite::{Connection, Statement, ToSql};
use rustc_hash::FxHashMap;
use timebase_resolver::{Clock, ClockId, ClockNs, builtin_name};
use timebase_schema::{Row, Table, tables};
use timebase_trace::TraceFile;

use super::counter::{Counter, Meaning};
use super::facts::FactRow;
use super::room::Room;
use super::rows::LastSwitch;
use crate::error::WriteError;
use crate::place::{Place, Sequence, file_id, file_key, shared};

/// Inserts rows of a table, by the names of its columns.
struct Inserts<'c>(Statement<'c>);

impl<'c> Inserts<'c> {
    fn into(conn: &'c Connection, table: &Table) -> rusqlite::Result<Self> {
        Ok(Inserts(conn.prepare(&table.insert())?))
    }

    fn push<'v, R: Row<&'v dyn ToSql>>(&mut self, row: R) -> rusqlite::Result<()> {
        self.0.execute(row.cells().as_ref())?;
        Ok(())
    }
}

/// Makes a table of the last switch of each CPU before a window, for a cut.
pub(crate) fn write_switches(
    conn: &Connection,
    switches: &FxHashMap<u32, LastSwitch>,
) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE TABLE last_switch (ucpu INTEGER PRIMARY KEY, ts INTEGER)")?;
    let mut insert = conn.prepare("INSERT INTO last_switch VALUES (?1, ?2)")?;
    switches.iter().try_for_each(|(ucpu, (_, ts))| insert.execute((ucpu, ts)).map(drop))
}

/// Fills the table `clock`, and returns the number of clocks.
pub(crate) fn clocks(conn: &Connection, place: &mut Place) -> rusqlite::Result<u64> {
    let mut inserts = Inserts::into(conn, &tables::clock_record::TABLE)?;
    let all = place.all_clocks();
    let boottime = shared(place.trace_time().machine, ClockId::BOOTTIME);
    for &clock in &all {
        let packets = place.uses.of(clock, &place.clocks.graph) as i64;
        let (graph, cache) = (&place.clocks.graph, &mut place.clocks.cache);
        let path = graph.path(clock, boottime, cache).ok();
        let names = path.as_deref().map(written);
        let domain = graph.domain(clock);
        inserts.push(tables::clock_record::Row::<&dyn ToSql> {
            machine_id: &clock.machine.0,
            clock_id: &clock.id.get(),
            seq_id: &clock.seq.0,
            file: &file_key(clock.file),
            name: &builtin_name(clock.id.get()),
            scope: &clock.id.scope().name(),
            unit_multiplier_ns: &domain.map_or(1, |domain| domain.unit),
            is_incremental: &domain.is_some_and(|domain| domain.incremental),
            is_monotonic: &domain.is_none_or(|domain| domain.monotonic),
            snapshots: &domain.map_or(0, |domain| domain.snapshots as i64),
            first_value: &domain.map(|domain| domain.first_value),
            last_value: &domain.map(|domain| domain.last_value),
            packets: &packets,
            path: &names,
            hops: &path.map(|path| path.len().saturating_sub(1) as i64),
        })?;
    }
    Ok(all.len() as u64)
}

/// The number of clocks to name at each end of a long path.
const NAMED: usize = 16;

/// A path in one line. A long path is shown without its middle.
fn written(path: &[Clock]) -> String {
    let (first, rest) = path.split_at(path.len().min(NAMED));
    let (middle, last) = rest.split_at(rest.len().saturating_sub(NAMED));
    let names = |clocks: &[Clock]| {
        let names: Vec<String> = clocks.iter().map(Clock::to_string).collect();
        names.join(" → ")
    };
    match middle.len() {
        0 => names(path),
        more => format!("{} → ({more} more) → {}", names(first), names(last)),
    }
}

/// Fills the table `sequence`, and returns the number of its rows. If a manifest assigns several sequences of one
/// number to one machine, they are one row.
pub(crate) fn sequences(conn: &Connection, place: &Place) -> rusqlite::Result<u64> {
    let mut inserts = Inserts::into(conn, &tables::sequence::TABLE)?;
    let key = |sequence: &Sequence| {
        let part = &place.clocks.parts[sequence.part];
        (part.file.id, part.machine.0, sequence.id)
    };
    let mut all: Vec<&Sequence> = place.sequences.iter().collect();
    all.sort_by_key(|sequence| key(sequence));
    let mut rows = 0;
    for same in all.chunk_by(|one, other| key(one) == key(other)) {
        let mut row = Writer::default();
        for sequence in same {
            row.uid = row.uid.or(sequence.uid());
            row.pid = row.pid.or(sequence.pid());
            row.packets += sequence.packets as i64;
            row.losses += i64::from(sequence.losses());
            let (first, last) = sequence.times().unzip();
            row.first = [row.first, first].into_iter().flatten().min();
            row.last = row.last.max(last);
        }
        let Some((file, machine, id)) = same.first().map(|first| key(first)) else {
            continue;
        };
        rows += 1;
        inserts.push(tables::sequence::Row::<&dyn ToSql> {
            id: &id,
            trace_file_id: &file,
            machine_id: &machine,
            uid: &row.uid,
            pid: &row.pid,
            packets: &row.packets,
            losses: &row.losses,
            first_ts: &row.first,
            last_ts: &row.last,
        })?;
    }
    Ok(rows)
}

/// A row of `sequence`.
#[derive(Default)]
struct Writer {
    uid: Option<i32>,
    pid: Option<i32>,
    packets: i64,
    losses: i64,
    first: Option<i64>,
    last: Option<i64>,
}

/// Fills the table `trace_file`. `read` returns the number of packets, the size and the hash of a file.
pub(crate) fn trace_files(
    conn: &Connection,
    files: &[TraceFile],
    read: impl Fn(usize) -> (u64, Option<u64>, Option<String>),
) -> rusqlite::Result<()> {
    let mut inserts = Inserts::into(conn, &tables::trace_file::TABLE)?;
    let number = |id: usize| id as i64;
    for file in files {
        let (packets, size, sha256) = read(file.id);
        inserts.push(tables::trace_file::Row::<&dyn ToSql> {
            id: &number(file.id),
            parent_id: &file.parent.map(number),
            name: &file.name,
            trace_type: &file.kind.map(|kind| kind.name()),
            compression: &file.compression,
            size: &size.or(file.size).map(|size| size as i64),
            processing_order: &file.processing_order.map(number),
            is_container: &file.is_container,
            packets: &(packets as i64),
            sha256: &sha256,
        })?;
    }
    Ok(())
}

/// Fills the table `remote_clock_sync`; `used` says for each sample whether conversions by rates use it.
pub(crate) fn remote_clock_syncs(
    conn: &Connection,
    place: &mut Place,
    used: &[bool],
) -> rusqlite::Result<()> {
    let mut inserts = Inserts::into(conn, &tables::remote_clock_sync::TABLE)?;
    let samples = place.clocks.samples.clone();
    let trace_time = place.trace_time();
    for (id, sample) in (0_i64..).zip(&samples) {
        let host_value = ClockNs(sample.host_value);
        let (graph, cache) = (&place.clocks.graph, &mut place.clocks.cache);
        let ts = graph.convert(sample.host, host_value, trace_time, cache);
        let used = usize::try_from(id).ok().and_then(|id| used.get(id));
        inserts.push(tables::remote_clock_sync::Row::<&dyn ToSql> {
            id: &id,
            packet_id: &sample.packet,
            trace_file_id: &file_id(sample.client.file),
            machine_id: &sample.client.machine.0,
            clock_id: &sample.client.id.get(),
            host_trace_file_id: &file_id(sample.host.file),
            host_machine_id: &sample.host.machine.0,
            host_value: &sample.host_value,
            ts: &ts.ok().map(|ClockNs(ts)| ts),
            offset: &sample.offset,
            half_round_trip: &sample.half_round_trip,
            used: &used.copied().unwrap_or(false),
        })?;
    }
    Ok(())
}

/// Fills the table `stats` with the counters of the trace.
pub(crate) fn stats(conn: &Connection, stats: Stats) -> rusqlite::Result<()> {
    let mut inserts = Inserts::into(conn, &tables::stats::TABLE)?;
    let mut id = 0_i64;
    let Stats { counters, parts } = stats;
    for (key, (name, mut counted)) in (0_i64..).zip(counters) {
        counted.complete(&parts);
        counted.rows.sort_by_key(|row| (row.of, row.idx));
        for row in &counted.rows {
            let (file, machine) = row.of.unzip();
            inserts.push(tables::stats::Row::<&dyn ToSql> {
                id: &id,
                name: &name,
                key: &key,
                idx: &row.idx,
                severity: &counted.meaning.severity,
                source: &counted.meaning.source,
                value: &row.value,
                description: &counted.description,
                machine_id: &machine,
                trace_id: &file,
                trace_file_id: &file,
            })?;
            id += 1;
        }
    }
    Ok(())
}

/// The rows of `stats` by their names: thousands of machines may have the same names.
pub(crate) struct Stats {
    counters: BTreeMap<Cow<'static, str>, Counted>,
    /// The file and the machine of each part.
    parts: Vec<(u32, u32)>,
}

/// The most parts that get a row of a counter that nobody stated.
const MOST_OTHERS: usize = 1 << 16;

struct Counted {
    description: Cow<'static, str>,
    meaning: Meaning,
    rows: Vec<CountedRow>,
    /// The value of all parts without a row.
    of_others: Option<i64>,
}

impl Counted {
    /// Adds the rows of all parts without a row. There are dozens of counters, and there may be ten thousand parts, so this
    /// comes as late as possible.
    fn complete(&mut self, parts: &[(u32, u32)]) {
        let Some(value) = self.of_others else { return };
        let own = self.rows.iter().filter(|row| row.idx.is_none());
        let known: HashSet<(u32, u32)> = own.filter_map(|row| row.of).collect();
        let others = parts.iter().filter(|of| !known.contains(of));
        let others = others.take(MOST_OTHERS);
        self.rows.extend(others.map(|&of| CountedRow { of: Some(of), idx: None, value }));
    }
}

impl Stats {
    /// No rows, of a trace with these parts.
    pub fn new(parts: Vec<(u32, u32)>) -> Stats {
        let counters = BTreeMap::new();
        Stats { counters, parts }
    }

    /// Adds a row for each part that gets no other one.
    pub fn of_parts(&mut self, counter: &Counter, value: i64) {
        let stat = Stat::new(counter, value);
        let counted = self.counter(stat.name, stat.description, stat.meaning);
        counted.of_others = Some(value);
    }

    fn counter(
        &mut self,
        name: Cow<'static, str>,
        description: Cow<'static, str>,
        meaning: Meaning,
    ) -> &mut Counted {
        self.counters.entry(name).or_insert_with(|| Counted {
            description,
            meaning,
            rows: Vec::new(),
            of_others: None,
        })
    }
}

struct CountedRow {
    of: Option<(u32, u32)>,
    idx: Option<i64>,
    value: i64,
}

impl Extend<Stat> for Stats {
    fn extend<I: IntoIterator<Item = Stat>>(&mut self, stats: I) {
        for stat in stats {
            let Stat { name, description, meaning, value, idx, of } = stat;
            let counted = self.counter(name, description, meaning);
            counted.rows.push(CountedRow { of, idx, value });
        }
    }
}

/// A row of `stats`.
pub(crate) struct Stat {
    pub name: Cow<'static, str>,
    /// The description of the counter.
    pub description: Cow<'static, str>,
    pub meaning: Meaning,
    pub value: i64,
    /// The index if a counter has several values.
    pub idx: Option<i64>,
    /// The file and the machine of the value; `None` for the whole trace.
    pub of: Option<(u32, u32)>,
}

impl Stat {
    /// A row for a counter.
    pub fn new(counter: &Counter, value: i64) -> Stat {
        Stat {
            name: counter.name.into(),
            description: counter.description.into(),
            meaning: counter.meaning,
            value,
            idx: None,
            of: None,
        }
    }
}

/// Fills the table `fact`.
pub(crate) fn facts<'a>(
    conn: &Connection,
    facts: impl Iterator<Item = &'a FactRow>,
) -> rusqlite::Result<()> {
    let mut inserts = Inserts::into(conn, &tables::fact::TABLE)?;
    // The first row exists already: it was inserted with the views.
    for (id, fact) in (1_i64..).zip(facts) {
        inserts.push(tables::fact::Row::<&dyn ToSql> {
            id: &id,
            name: &fact.name,
            is_multi: &fact.is_multi,
            file: &fact.about.file.map_or(-1, i64::from),
            machine_id: &fact.about.machine,
            value: &fact.value,
        })?;
    }
    Ok(())
}

/// An index that is created at the end.
pub(crate) struct Postponed {
    table: String,
    sql: String,
}

/// Drops indexes that are created at the end, and returns how to create them.
pub(crate) fn drop_indexes(conn: &Connection, names: &[&str]) -> rusqlite::Result<Vec<Postponed>> {
    let mut statements = Vec::new();
    for name in names {
        let sql = "SELECT tbl_name, sql FROM sqlite_schema WHERE name = ?1";
        statements.push(conn.query_row(sql, [name], |row| {
            Ok(Postponed { table: row.get(0)?, sql: row.get(1)? })
        })?);
        conn.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(statements)
}

/// Creates these indexes.
pub(crate) fn indexes(
    conn: &Connection,
    indexes: &[Postponed],
    room: &mut Room<'_>,
) -> Result<(), WriteError> {
    for Postponed { table, sql } in indexes {
        // Rows are numbered without a gap.
        let last = format!("SELECT coalesce(max(id) + 1, 0) FROM {table}");
        let rows: i64 = conn.query_row(&last, [], |row| row.get(0))?;
        room.sorting(conn, rows.unsigned_abs(), || conn.execute_batch(sql))?;
    }
    Ok(())
}
