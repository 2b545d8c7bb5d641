//! The stages of an import and their times.

use std::hint;
use std::io::Read;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use timebase_import::stages::{thrown_away, timed};
use timebase_import::{Monitor, Options, Source, Summary};
use timebase_lab::synth::{Preset, Settings};
use timebase_trace::{Input, Packets, Payload};

use crate::pairs::Pairs;
use crate::table::{Row, Table};
use crate::traces::Trace;
use crate::{Bench, Result, events, progress};

/// The time of each stage of an import, measured separately.
struct Stages {
    /// Reads the bytes, hashes them, and decompresses them if the file is compressed as a whole, on a thread of its own.
    reading: Duration,
    /// Splits the bytes into packets, decompresses compressed packets, and reads the headers of all packets.
    decoding: Duration,
    /// The remaining work of the thread that decodes: it places packets and the events inside on trace
    /// time, and makes rows from them.
    resolving: Duration,
    writing: Duration,
    finishing: Duration,
    /// The whole import. Reading, decoding with resolving, and writing overlap.
    import: Duration,
    summary: Summary,
}

impl Stages {
    /// The time in which the thread that decodes waits for bytes, for room for its rows, or for a processor.
    fn decoding_waits(&self) -> Duration {
        self.import.saturating_sub(self.decoding + self.resolving + self.finishing)
    }

    /// The time in which the writing thread waits for rows.
    fn writing_waits(&self) -> Duration {
        self.import.saturating_sub(self.writing + self.finishing)
    }
}

/// A stage, and its time.
type Stage = (&'static str, fn(&Stages) -> Duration);

const STAGES: &[Stage] = &[
    ("reading", |stages| stages.reading),
    ("decoding", |stages| stages.decoding),
    ("resolving", |stages| stages.resolving),
    ("writing", |stages| stages.writing),
    ("finishing", |stages| stages.finishing),
    ("decoding and resolving wait", Stages::decoding_waits),
    ("writing waits", Stages::writing_waits),
    ("the whole import", |stages| stages.import),
];

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let packets = Settings::preset(Preset::Packets).records(bench.size(2_000_000, 200_000));
    let trace = Trace::generate(bench, "packets", &packets)?;
    measure(bench, table, "packets", &trace)?;
    drop(trace);
    let trace = match &bench.events {
        Some(trace) => Trace::of_file(trace),
        None => Trace::generate(bench, "events", &events::settings(bench))?,
    };
    measure(bench, table, "events", &trace)
}

fn measure(bench: &Bench, table: &mut Table, of: &str, trace: &Trace) -> Result<()> {
    progress(format_args!("importing {of}, stage by stage"));
    let mut runs = Vec::new();
    for _ in 0..bench.runs() {
        let stages = stages(bench, trace)?;
        trace.check(&stages.summary);
        runs.push(stages);
    }
    for (stage, time) in STAGES {
        let pairs = Pairs {
            ours: runs.iter().map(time).collect(),
            yardstick: runs.iter().map(all).collect(),
        };
        let count = runs.first().map_or(0, |run| match of {
            "packets" => run.summary.packets,
            _ => run.summary.events.iter().map(|events| events.rows).sum(),
        });
        table.add(Row::new(format!("{of}: {stage}")).pairs(&pairs, "all stages").count(count));
    }
    Ok(())
}

/// Goes through the trace four times, each time with one more stage; the difference is the stage's
/// time. If the trace is on disk and not yet in memory, the first stage costs more here than in an
/// import.
fn stages(bench: &Bench, trace: &Trace) -> Result<Stages> {
    let source = Source::File(trace.path.clone());
    let reading = through(&source, |input| {
        let mut piece = vec![0; 256 << 10];
        while !matches!(input.reader.read(&mut piece), Ok(0) | Err(_)) {}
    })?;
    let decoded = through(&source, |input| {
        let mut packets = Packets::new(&mut input.reader);
        packets.for_each(|found| {
            hint::black_box(found);
            ControlFlow::Continue(Payload::Sound)
        });
    })?;
    let resolved = thrown_away(&source, bench.directory(), &Options::default())?;
    let directory = tempfile::tempdir_in(bench.directory())?;
    let database = directory.path().join("stages.db");
    let begun = Instant::now();
    let import = timed(&source, &database, &Options::default())?;
    Ok(Stages {
        reading,
        decoding: decoded.saturating_sub(reading),
        resolving: resolved.saturating_sub(decoded),
        writing: import.writing,
        finishing: import.finishing,
        import: begun.elapsed(),
        summary: import.summary,
    })
}

/// Opens the source, goes through it, and returns the time for this.
fn through(source: &Source, go: impl FnOnce(&mut Input<'_>)) -> Result<Duration> {
    let monitor = Monitor::default();
    let begun = Instant::now();
    let mut input = Input::open(source, &monitor)?;
    go(&mut input);
    if let Some(failure) = input.failed() {
        return Err(failure.into());
    }
    input.digest();
    Ok(begun.elapsed())
}

/// The time of the import on one thread.
fn all(stages: &Stages) -> Duration {
    stages.reading + stages.decoding + stages.resolving + stages.writing + stages.finishing
}
