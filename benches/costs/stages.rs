//! The stages of an import and their times.

use std::time::Duration;

use timebase_import::{Options, Stages};
use timebase_lab::synth::{Preset, Settings};

use crate::pairs::Pairs;
use crate::table::{Row, Table};
use crate::traces::Trace;
use crate::{Bench, Result, events, progress};

/// A stage, and its time.
type Stage = (&'static str, fn(&Stages) -> Duration);

const STAGES: &[Stage] = &[
    ("reading", |stages| stages.reading),
    ("decoding", |stages| stages.decoding),
    ("resolving", |stages| stages.resolving),
    ("writing", |stages| stages.writing),
    ("finishing", |stages| stages.finishing),
    ("the whole import, on two threads", |stages| stages.import),
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
        let stages = timebase_import::stages(&trace.path, bench.directory(), &Options::default())?;
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
        table.add(
            Row::new(format!("{of}: {stage}"))
                .pairs(&pairs, "all stages")
                .count(count),
        );
    }
    Ok(())
}

/// The time of the import on one thread.
fn all(stages: &Stages) -> Duration {
    stages.reading + stages.decoding + stages.resolving + stages.writing + stages.finishing
}
