//! `timebase import`: a trace in, a database out, a summary at the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::io::{self, IsTerminal};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::{HumanBytes, HumanCount};
use timebase_import::{
    CausalCheck, ClockCheck, ClockFault, Conversion, Events, FileKind, How, LossKind, Lost,
    Monitor, Options, Placement, Source, Summary, Unnamed,
};
use timebase_resolver::Unresolved;

use crate::escape::quoted_path;
use crate::flags::{ImportArguments, wrong_usage};
use crate::messages;
use crate::progress::{self, Progress};
use crate::signals::Signals;
use crate::unrelated;

pub fn run(arguments: &ImportArguments, signals: &Signals) -> anyhow::Result<()> {
    let sources: Vec<Source> = arguments
        .traces
        .iter()
        .map(|trace| match Source::from_arg(trace.as_os_str()) {
            Source::Stdin if arguments.pieces => Source::Pieces,
            source => source,
        })
        .collect();
    if arguments.pieces && !sources.contains(&Source::Pieces) {
        wrong_usage("import", "--pieces is for a trace from standard input; name it '-'");
    }
    let destination = destination(arguments);
    let mut options = arguments.settings.options();
    options.conversion = arguments.conversion.into();
    options.keep_data = !arguments.no_data;
    options.is_compact = arguments.compact;
    options.split = arguments.split;
    options.subjects = arguments.subjects();
    options.overwrite = arguments.force;
    let (summary, elapsed) =
        monitored(&sources, &destination, &options, arguments.progress, signals)?;
    messages::say(screen(&named(&sources), &destination, &summary, options.keep_data, elapsed));
    messages::warnings(&summary.warnings);
    if !arguments.settings.merge
        && let Some(told) =
            unrelated::told("import", &arguments.traces, &destination, &summary.unrelated)
    {
        messages::warning(told);
    }
    Ok(())
}

/// Imports with a progress display, so that Ctrl-C stops it.
pub fn monitored(
    sources: &[Source],
    destination: &Path,
    options: &Options,
    progress: Progress,
    signals: &Signals,
) -> anyhow::Result<(Summary, Duration)> {
    if sources.contains(&Source::Stdin) && io::stdin().is_terminal() {
        bail!("standard input is a terminal; pipe a trace into it");
    }
    let is_pipe = |source: &&Source| match source {
        // A pipe has a name, too, but no size.
        Source::File(path) => {
            fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir())
        }
        _ => true,
    };
    if options.conversion == Conversion::Linear
        && let Some(source) = sources.iter().find(is_pipe)
    {
        messages::say(format_args!(
            "copying {source} to a temporary file first, because --conversion linear reads the trace twice"
        ));
    }
    let sizes = sources.iter().map(|source| match source {
        Source::File(path) => {
            let file = fs::metadata(path).ok().filter(fs::Metadata::is_file);
            file.map(|file| file.len())
        }
        _ => None,
    });
    let size = sizes.sum();
    let monitor = Arc::new(Monitor::default());
    let started = Instant::now();
    let summary = signals.during_import(&monitor, || {
        progress::shown(progress, &monitor, size, || {
            timebase_import::import(sources, destination, options, &monitor)
        })
    })??;
    Ok((summary, started.elapsed()))
}

fn destination(arguments: &ImportArguments) -> PathBuf {
    if let Some(output) = &arguments.output {
        if output.as_os_str() == OsStr::new("-") {
            wrong_usage(
                "import",
                "the database cannot go to standard output, because timebase does not write it in order; name a file with -o OUT.db",
            );
        }
        if arguments.traces.iter().any(|trace| would_replace(output, trace)) {
            wrong_usage("import", "the database would replace the trace");
        }
        return output.clone();
    }
    let [trace] = arguments.traces.as_slice() else {
        wrong_usage("import", "for several traces, name the database with -o OUT.db");
    };
    if trace.as_os_str() == OsStr::new("-") {
        wrong_usage("import", "for a trace from standard input, name the database with -o OUT.db");
    }
    let output = default_destination(trace);
    if would_replace(&output, trace) {
        wrong_usage(
            "import",
            "the database would replace the trace; give it another name with -o OUT.db",
        );
    }
    output
}

/// The name of all sources together.
pub fn named(sources: &[Source]) -> String {
    match sources {
        [source] => source.to_string(),
        sources => format!("{} files", sources.len()),
    }
}

/// Whether the database would replace the trace. A source that is itself a database has its own
/// error.
fn would_replace(database: &Path, trace: &Path) -> bool {
    let is_database =
        || timebase_import::file_kind(trace).is_ok_and(|kind| kind == FileKind::Database);
    match (fs::canonicalize(database), fs::canonicalize(trace)) {
        // Looking into a pipe would take bytes that the import needs.
        (Ok(database), Ok(trace)) => database == trace && trace.is_file() && !is_database(),
        _ => false,
    }
}

/// The trace's name with the extension `.db`, after the extension of a compression is removed.
fn default_destination(trace: &Path) -> PathBuf {
    let is_compressed =
        trace.extension().is_some_and(|extension| extension == "gz" || extension == "zst");
    if is_compressed {
        trace.with_extension("").with_extension("db")
    } else {
        trace.with_extension("db")
    }
}

/// The summary: one screen, for any trace.
fn screen(
    source: &str,
    destination: &Path,
    summary: &Summary,
    has_data: bool,
    elapsed: Duration,
) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let packets = HumanCount(summary.packets);
    // Events of JSON have no sequences.
    let packets = match summary.sequences {
        0 => packets.to_string(),
        sequences => format!("{packets} from {}", counted(sequences, "sequence", "sequences")),
    };
    lines.push(("packets", packets));
    if summary.files > 0 || summary.machines > 1 {
        let files = match summary.files {
            0 => String::new(),
            files => format!(" in {}", counted(files, "file", "files")),
        };
        let machines = counted(summary.machines, "machine", "machines");
        lines.push(("machines", format!("{machines}{files}")));
    }

    lines.push(("trace time", trace_time(summary)));

    lines.extend(placements(summary));
    lines.extend(reasons(&summary.unresolved));
    for events in summary.events.iter().filter(|events| is_told(events)) {
        let rows = counted(events.rows, events.one, events.noun);
        lines.push((events.heading, format!("{rows}, in {}", events.table)));
        lines.extend(reasons(&events.unresolved));
    }

    if summary.windows > 0 {
        let rows = counted(summary.windows, "row", "rows");
        let text = format!("{rows} of window tracing, see 'timebase help window-tracing'");
        lines.push(("windows", text));
    }
    lines.extend(misplaced_and_dropped(summary));
    lines.extend(lost(summary));
    lines.extend(without_name(summary));
    lines.extend(without_table(summary, has_data));

    lines.push(("snapshots", snapshots(summary)));
    lines.extend(clocks(summary));
    if let (Some(start), Some(end)) = (summary.start_ts, summary.end_ts) {
        let duration = Duration::from_nanos(end.abs_diff(start));
        lines.push(("duration", format!("{duration:.3?}, {start} to {end} ns")));
    }
    lines.push((
        "size",
        format!(
            "{} of trace, {} of database, in {elapsed:.1?}",
            HumanBytes(summary.source_bytes),
            HumanBytes(summary.database_bytes)
        ),
    ));

    let mut screen = format!("{source} → {}\n\n", destination.display());
    for (heading, text) in lines {
        let _ = writeln!(screen, "  {heading:<10}  {text}");
    }
    screen.push_str(&next(destination, summary));
    screen
}

/// The number of packets that have their time, and the clock of this time.
fn trace_time(summary: &Summary) -> String {
    let timed = summary.on_trace_time + summary.unresolved.values().sum::<u64>();
    let mut share = if timed == 0 {
        "no packet has a time".to_owned()
    } else {
        let is_wrong = !summary.clock_faults.is_empty() || !summary.dropped.is_empty();
        let share = match (is_wrong, summary.on_trace_time == timed) {
            // If all packets have a time, but some times are wrong or some events make no row, 100 %
            // would mislead.
            (true, true) => String::new(),
            _ => format!(": {}", percentage(summary.on_trace_time, timed)),
        };
        let wrong =
            summary.clock_faults.first().map(|worst| format!(", up to {} wrong", worst.worst));
        format!(
            "{} of {} on {}{share}{}",
            HumanCount(summary.on_trace_time),
            HumanCount(timed),
            summary.trace_time_clock,
            wrong.unwrap_or_default()
        )
    };
    if summary.without_timestamp > 0 && timed > 0 {
        let more = counted(summary.without_timestamp, "more has", "more have");
        let _ = write!(share, " ({more} no timestamp)");
    }
    share
}

/// The number of snapshots.
fn snapshots(summary: &Summary) -> String {
    let mut snapshots = HumanCount(summary.snapshots).to_string();
    if summary.rejected_snapshots > 0 {
        let _ = write!(
            snapshots,
            ", and {} rejected (the table import_log says why)",
            HumanCount(summary.rejected_snapshots)
        );
    }
    snapshots
}

/// The suggested next command.
fn next(destination: &Path, summary: &Summary) -> String {
    let database = destination.to_string_lossy();
    let database = quoted_path(&database);
    match summary.clock_faults.is_empty() {
        true => format!(
            "\nNext: timebase query {database} \"SELECT type, count(*) FROM packet GROUP BY type\""
        ),
        false => format!(
            "\nNext: timebase doctor {database}\n      \
             or import again with --conversion linear, which corrects these times"
        ),
    }
}

/// The clocks that put events at wrong times, and then the number of clocks.
fn clocks(summary: &Summary) -> Vec<(&'static str, String)> {
    /// The summary is one screen.
    const MOST: usize = 4;

    let faults = summary.clock_faults.iter();
    let mut lines: Vec<String> = faults.take(MOST).map(at_fault).collect();
    let more = summary.clock_faults.len().saturating_sub(MOST);
    if more > 0 {
        lines.push(format!("{more} more at fault"));
    }
    let clocks = HumanCount(summary.clocks);
    lines.push(match lines.is_empty() {
        true => clocks.to_string(),
        false => format!("{clocks} in all"),
    });
    let headings = iter::once("clocks").chain(iter::repeat(""));
    headings.zip(lines).collect()
}

/// The fault of a clock, and its effect on times, in words.
fn at_fault(fault: &ClockFault) -> String {
    let does = match (fault.check, fault.ppm) {
        (ClockCheck::Wrapped, _) => "wrapped".to_owned(),
        (ClockCheck::Restarted, _) => "restarted".to_owned(),
        (ClockCheck::NotNanoseconds, _) => "does not count nanoseconds".to_owned(),
        (_, Some(ppm)) => format!("drifts by {} ppm", three_digits(ppm)),
        _ => "drifts".to_owned(),
    };
    let ClockFault { clock, worst, .. } = fault;
    let mut text = format!("{clock} {does}: times up to {worst} wrong");
    if let Some(pairs) = fault.pairs.filter(|pairs| *pairs > 0) {
        let pairs = counted(pairs, "pair", "pairs");
        let _ = write!(text, ", {pairs} of events out of order");
    }
    text
}

/// The nearest number of three digits.
fn three_digits(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

/// The slices with the end of another slice, and the events without a row, if there are any.
fn misplaced_and_dropped(summary: &Summary) -> Option<(&'static str, String)> {
    let mut told = Vec::new();
    if summary.misplaced > 0 {
        let ended = HumanCount(summary.misplaced);
        told.push(format!("{ended} ended by another's end"));
    }
    let causes = summary.dropped.iter().map(|dropped| {
        let cause = dropped.cause.replace('_', " ");
        match summary.dropped.len() {
            1 => cause,
            _ => format!("{} {cause}", HumanCount(dropped.events)),
        }
    });
    let causes: Vec<String> = causes.collect();
    if !causes.is_empty() {
        let events = summary.dropped.iter().map(|dropped| dropped.events).sum();
        let causes = causes.join(", ");
        told.push(format!("{} dropped ({causes})", HumanCount(events)));
    }
    (!told.is_empty()).then(|| ("events", told.join(", ")))
}

/// The losses of the recording, if there is evidence, and the number of rows that may be wrong.
fn lost(summary: &Summary) -> Option<(&'static str, String)> {
    let mut told: Vec<(usize, String)> = summary.lost.iter().filter_map(in_words).collect();
    told.sort_by_key(|(place, _)| *place);
    let mut texts: Vec<String> = told.into_iter().map(|(_, text)| text).collect();
    match summary.cut_dumps {
        0 => {}
        1 => texts.push("packets of 1 dump of a Java heap".to_owned()),
        dumps => texts.push(format!("packets of {} dumps of Java heaps", HumanCount(dumps))),
    }
    match (texts.is_empty(), doubtful(summary)) {
        (true, None) => None,
        (true, Some(doubtful)) => Some(("doubt", doubtful)),
        (false, None) => Some(("lost", texts.join(", "))),
        (false, Some(doubtful)) => Some(("lost", format!("{}; {doubtful}", texts.join(", ")))),
    }
}

/// The number of frames without a name, if there are any.
fn without_name(summary: &Summary) -> Option<(&'static str, String)> {
    let Unnamed { frames, mappings } = summary.unnamed;
    let frames = (frames > 0).then(|| counted(frames, "frame", "frames"))?;
    let mappings = counted(mappings, "mapping", "mappings");
    Some(("symbols", format!("none for {frames} of {mappings}, in unsymbolized_mapping")))
}

/// The number of rows that may be wrong.
fn doubtful(summary: &Summary) -> Option<String> {
    let kinds = summary.doubtful.iter().map(|kind| {
        let rows = counted(kind.rows, kind.one, kind.noun);
        format!("{} of {rows}", HumanCount(kind.doubtful))
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| format!("{} may be wrong", kinds.join(", ")))
}

/// The evidence of a loss in words, and its place in the line.
fn in_words(lost: &Lost) -> Option<(usize, String)> {
    let cpus = || counted(lost.cpus, "CPU", "CPUs");
    let writers = || counted(lost.sequences, "writer", "writers");
    let is_of_one = lost.cpus + lost.sequences + lost.buffers > 0;
    Some(match (lost.kind, is_of_one) {
        (LossKind::Switch, _) => {
            let switches = counted(lost.rows, "switch", "switches");
            (0, format!("{switches} on {}", cpus()))
        }
        (LossKind::KernelEvents, _) => {
            let places = counted(lost.rows, "place", "places");
            (1, format!("kernel events in {places} on {}", cpus()))
        }
        (LossKind::Packets, _) => {
            let places = counted(lost.rows, "place", "places");
            (2, format!("packets of {} in {places}", writers()))
        }
        (LossKind::KernelBuffer, true) => {
            let events = counted(lost.count, "kernel event", "kernel events");
            (3, format!("{events} in the buffers of {}", cpus()))
        }
        (LossKind::KernelBuffer, false) => (4, "kernel events that could not be read".to_owned()),
        (LossKind::Buffer, _) if !lost.is_data_loss => {
            let chunks = counted(lost.count, "chunk", "chunks");
            let rings = counted(lost.buffers, "ring buffer", "ring buffers");
            (10, format!("{chunks} overwritten in {rings}"))
        }
        (LossKind::Buffer, true) => {
            let chunks = counted(lost.count, "chunk or packet", "chunks or packets");
            let buffers = counted(lost.buffers, "buffer", "buffers");
            (5, format!("{chunks} in {buffers}"))
        }
        (LossKind::Buffer, false) => {
            let chunks = counted(lost.count, "chunk or packet", "chunks or packets");
            (6, format!("{chunks} before any buffer"))
        }
        (LossKind::Writer, true) => (7, format!("data of {}", writers())),
        (LossKind::Writer, false) => {
            let (one, many) =
                ("failed flush or invalid packet", "failed flushes or invalid packets");
            (8, counted(lost.count, one, many))
        }
        (LossKind::Setup, _) => (9, counted(lost.rows, "setup error", "setup errors")),
        (LossKind::Samples, _) => {
            let samples = counted(lost.count, "sample", "samples");
            (12, format!("{samples} of profilers"))
        }
        (LossKind::Heap, _) => {
            let dumps = counted(lost.rows, "heap dump", "heap dumps");
            (13, format!("allocations of {dumps}"))
        }
        (LossKind::Damage, _) => (11, counted(lost.rows, "damaged place", "damaged places")),
        _ => return None,
    })
}

/// If most packets are only rows of `packet`: their types, and the way to see their contents.
fn without_table(summary: &Summary, has_data: bool) -> Vec<(&'static str, String)> {
    /// The summary is one screen.
    const MOST: usize = 4;

    if summary.unread.values().sum::<u64>() <= summary.read {
        return Vec::new();
    }
    let mut types: Vec<(&String, u64)> = summary.unread.iter().map(|(t, n)| (t, *n)).collect();
    types.sort_by_key(|(_, count)| Reverse(*count));
    let width = types.first().map(|(_, count)| HumanCount(*count).to_string().len());
    let width = width.unwrap_or_default();
    let rest: u64 = types.iter().skip(MOST).map(|(_, count)| count).sum();
    let mut heading = "no table";
    let mut lines = Vec::new();
    for (name, count) in types.iter().take(MOST) {
        let count = HumanCount(*count).to_string();
        lines.push((heading, format!("{count:>width$}  {name}")));
        heading = "";
    }
    if rest > 0 {
        let count = HumanCount(rest).to_string();
        lines.push(("", format!("{count:>width$}  of other types")));
    }
    let advice = if has_data {
        "these packets are rows of the table packet; packet_json(data) and packet_field(data, 'path') read their contents"
    } else {
        "these packets are rows of the table packet; import without --no-data to read their contents"
    };
    lines.push(("", advice.to_owned()));
    lines
}

/// The placement of each part (a machine's packets in one file) in trace time, if there are several parts.
fn placements(summary: &Summary) -> Vec<(&'static str, String)> {
    /// The summary is one screen.
    const MOST: usize = 8;

    if summary.placements.len() < 2 {
        return Vec::new();
    }
    let mut heading = "placed";
    let mut lines = Vec::new();
    for placement in summary.placements.iter().take(MOST) {
        let machine = match &placement.machine_name {
            Some(name) => name.clone(),
            None => format!("machine {}", placement.machine),
        };
        let what = match &placement.file {
            Some(file) => format!("{file}, {machine}"),
            None => machine,
        };
        lines.push((heading, format!("{what}: {}", how(placement))));
        heading = "";
    }
    let more = summary.placements.len().saturating_sub(MOST);
    if more > 0 {
        let text = format!("{more} more (the view placement has all)");
        lines.push(("", text));
    }
    lines
}

/// The method of a placement, in words.
fn how(placement: &Placement) -> String {
    let mut text = match placement.how {
        How::TraceTime => "its clock is trace time",
        How::Snapshots if placement.is_json => "by what its producer says of its clock",
        How::Snapshots => "by its clock snapshots",
        How::RemoteSync => "by asking the other machine for the time",
        How::Causality => "by messages",
        How::Manifest => "as the manifest says",
        How::Realtime => "assuming that the wall clocks agree",
        How::SameClock => "assuming that BOOTTIME is the same",
        How::Assumed => "assuming that its clock is trace time or the wall clock",
        _ => "nothing relates it to trace time",
    }
    .to_owned();
    let is_assumed = matches!(placement.how, How::Realtime | How::SameClock | How::Assumed);
    text += &match placement.causal {
        Some(causal) => by_messages(causal),
        None if is_assumed => ", which nothing confirms".to_owned(),
        None => String::new(),
    };
    let error = placement.error.filter(|_| placement.how != How::TraceTime);
    if let Some(error) = error {
        let error = Duration::from_nanos(error.unsigned_abs());
        let _ = write!(text, ", ± {error:.1?}");
    }
    if let Some(later) = placement.boots_differ {
        let seconds = later as f64 / 1e9;
        let _ = write!(text, "; by its wall clock {seconds:+.3} s off, as after a restart");
    }
    text
}

/// The statement of messages about a placement, as the rest of a sentence.
fn by_messages(causal: CausalCheck) -> String {
    match causal {
        CausalCheck::Confirmed { messages } => {
            format!(", which {} confirm", counted(messages, "message", "messages"))
        }
        CausalCheck::Contradicted { wrong_by, mode } => {
            let wrong_by = Duration::from_nanos(wrong_by.unsigned_abs());
            let follow = match mode {
                Some(mode) => format!("import with --align {mode} to follow the messages"),
                None => "'timebase doctor' says what to do".to_owned(),
            };
            format!(", which messages contradict: it is wrong by at least {wrong_by:.1?}; {follow}")
        }
        CausalCheck::Undecided { messages } => {
            let messages = counted(messages, "message does", "messages do");
            format!(
                ", which nothing confirms; {messages} not decide it: see clock_alignment.reason"
            )
        }
        CausalCheck::Moved { by } => {
            format!(", which moved it by {:.1?}", Duration::from_nanos(by))
        }
        _ => String::new(),
    }
}

/// Whether the summary has a line for a table. Idle CPUs make a process and a thread in every
/// trace.
fn is_told(events: &Events) -> bool {
    match events.table {
        "process" | "thread" => events.rows > 1,
        _ => events.rows > 0,
    }
}

/// A line for each reason why rows have no time.
fn reasons(unresolved: &BTreeMap<Unresolved, u64>) -> Vec<(&'static str, String)> {
    let counts = unresolved.values();
    let width = counts.map(|count| HumanCount(*count).to_string().len()).max().unwrap_or_default();
    let mut heading = "unresolved";
    let mut lines = Vec::new();
    let mut by_code: Vec<_> = unresolved.iter().collect();
    by_code.sort_unstable_by_key(|(reason, _)| reason.code());
    for (reason, count) in by_code {
        let (count, code) = (HumanCount(*count).to_string(), reason.code());
        lines.push((heading, format!("{count:>width$}  {code}: {reason}")));
        heading = "";
    }
    lines
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { one } else { many })
}

/// Rounded down, so that 100 % means all.
fn percentage(part: u64, whole: u64) -> String {
    let permille = u128::from(part) * 1000 / u128::from(whole.max(1));
    if permille >= 1000 {
        "100 %".to_owned()
    } else {
        format!("{}.{} %", permille / 10, permille % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timebase_import::{Doubtful, Events};

    #[test]
    fn the_database_stands_beside_the_trace() {
        let name = |trace: &str| default_destination(Path::new(trace));
        assert_eq!(name("trace.pftrace"), Path::new("trace.db"));
        assert_eq!(name("a/trace.perfetto-trace"), Path::new("a/trace.db"));
        assert_eq!(name("/a.b/trace"), Path::new("/a.b/trace.db"));
        assert_eq!(name("trace.pftrace.gz"), Path::new("trace.db"));
        assert_eq!(name("trace.pftrace.zst"), Path::new("trace.db"));
        assert_eq!(name("trace.gz"), Path::new("trace.db"));
        assert_eq!(name("my.long.trace"), Path::new("my.long.db"));
        assert_eq!(name(".hidden"), Path::new(".hidden.db"));
    }

    #[test]
    fn a_share_is_100_percent_only_if_it_is_all() {
        assert_eq!(percentage(3, 3), "100 %");
        assert_eq!(percentage(999_999, 1_000_000), "99.9 %");
        assert_eq!(percentage(1, 3), "33.3 %");
        assert_eq!(percentage(0, 3), "0.0 %");
    }

    /// A summary of a trace with one of everything.
    fn of_one() -> Summary {
        use timebase_schema::{Events as TableEvents, tables};

        let lost = |kind, is_data_loss, of_one| Lost {
            kind,
            is_data_loss,
            rows: 1,
            count: 1,
            cpus: of_one,
            sequences: of_one,
            buffers: of_one,
        };
        let of_tables = tables::ALL.iter().filter_map(|table| match table.events? {
            TableEvents::Rows { name, heading, one, noun } => Some(Events {
                table: name,
                heading,
                one,
                noun,
                rows: 1,
                unresolved: BTreeMap::new(),
            }),
            TableEvents::PartOf(_) => None,
        });
        Summary {
            misplaced: 0,
            dropped: Vec::new(),
            unnamed: Unnamed { frames: 1, mappings: 1 },
            windows: 1,
            cut_dumps: 1,
            packets: 1,
            sequences: 1,
            on_trace_time: 1,
            without_timestamp: 1,
            unresolved: BTreeMap::new(),
            read: 1,
            unread: BTreeMap::new(),
            events: of_tables.collect(),
            lost: LossKind::ALL
                .into_iter()
                .flat_map(|kind| [lost(kind, true, 1), lost(kind, true, 0), lost(kind, false, 1)])
                .collect(),
            clock_faults: Vec::new(),
            doubtful: vec![Doubtful { one: "slice", noun: "slices", rows: 1, doubtful: 1 }],
            trace_time_clock: "BOOTTIME".to_owned(),
            rejected_snapshots: 1,
            start_ts: None,
            end_ts: None,
            snapshots: 1,
            clocks: 1,
            files: 1,
            machines: 1,
            placements: Vec::new(),
            unrelated: Vec::new(),
            source_bytes: 1,
            database_bytes: 1,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn one_of_something_is_said_in_singular() {
        let (from, to) = ("t.pftrace", Path::new("t.db"));
        let text = screen(from, to, &of_one(), true, Duration::from_secs(1));
        for expected in [
            "1 from 1 sequence\n",
            "1 machine in 1 file\n",
            "(1 more has no timestamp)",
            "1 slice, in slice\n",
            "1 value, in counter\n",
            "1 mapping, in profiler_smaps\n",
            "1 switch on 1 CPU,",
            "kernel events in 1 place on 1 CPU,",
            "packets of 1 writer in 1 place,",
            "1 kernel event in the buffers of 1 CPU,",
            "1 chunk or packet in 1 buffer,",
            "1 failed flush or invalid packet,",
            "1 setup error,",
            "1 chunk overwritten in 1 ring buffer,",
            "1 damaged place,",
            "1 sample of profilers,",
            "allocations of 1 heap dump,",
            "none for 1 frame of 1 mapping,",
            "1 row of window tracing,",
            "packets of 1 dump of a Java heap;",
            "; 1 of 1 slice may be wrong\n",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let word = pair[1].trim_end_matches([',', ';']);
            let is_plural = word.ends_with('s') && word != "process";
            assert!(pair[0] != "1" || !is_plural, "1 {word} in\n{text}");
        }
    }

    #[test]
    fn the_summary_says_what_is_not_on_trace_time_and_why() {
        let summary = Summary {
            misplaced: 0,
            dropped: Vec::new(),
            unnamed: Unnamed::default(),
            windows: 0,
            cut_dumps: 0,
            packets: 1300,
            sequences: 1,
            on_trace_time: 999,
            without_timestamp: 300,
            unresolved: [(Unresolved::NoPath, 1)].into(),
            read: 100,
            unread: [("perf_sample", 1000), ("heap", 9)]
                .map(|(name, n)| (name.to_owned(), n))
                .into(),
            events: vec![Events {
                table: "android_logs",
                heading: "log",
                one: "line",
                noun: "lines",
                rows: 1234,
                unresolved: [(Unresolved::NonMonotonic, 7)].into(),
            }],
            lost: Vec::new(),
            clock_faults: Vec::new(),
            doubtful: Vec::new(),
            trace_time_clock: "BOOTTIME".to_owned(),
            rejected_snapshots: 2,
            start_ts: Some(1_000_000_000),
            end_ts: Some(3_500_000_000),
            snapshots: 10,
            clocks: 3,
            files: 0,
            machines: 1,
            placements: Vec::new(),
            unrelated: Vec::new(),
            source_bytes: 1024,
            database_bytes: 2048,
            warnings: Vec::new(),
        };
        let text =
            screen("t.pftrace", Path::new("t.db"), &summary, true, Duration::from_millis(1500));
        for expected in [
            "t.pftrace → t.db",
            "1,300 from 1 sequence\n",
            "999 of 1,000 on BOOTTIME: 99.9 % (300 more have no timestamp)",
            "1  no_path: no chain of snapshots",
            "1,234 lines, in android_logs",
            "no table    1,000  perf_sample\n                  9  heap\n",
            "packet_json(data)",
            "7  non_monotonic: every path",
            "2 rejected",
            "2.500s, 1000000000 to 3500000000 ns",
            "in 1.5s",
            "timebase query t.db",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }
}
