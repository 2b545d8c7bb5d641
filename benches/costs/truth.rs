//! Whether rows have the generator's true times, and the errors of both conversions
//! (`timebase_lab::accuracy`).

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use timebase_lab::accuracy::{
    Case, FewCase, FewMeasured, HardCase, Measured, MeasuredSeeds, SetCase, SetMeasured,
};
use timebase_lab::align::{self, AlignCase};
use timebase_lab::synth::{Expected, Truth};

use crate::table::Table;
use crate::{Bench, Result, program, progress};

/// The traces of real machines in `tests/data`.
const RECORDED: [&str; 6] = [
    "app.pftrace",
    "desktop.pftrace",
    "desktop-compact.pftrace",
    "sdk.pftrace",
    "system.pftrace",
    "system-compressed.pftrace",
];

/// Prints its own tables, because they do not contain durations.
pub fn run(bench: &Bench, _: &mut Table) -> Result<()> {
    // At once, not after some minutes.
    for trace in &bench.recorded {
        File::open(trace).map_err(|error| format!("{}: {error}", trace.display()))?;
    }
    let all = measured(bench, Case::all(), bench.size(1_000_000, 100_000))?;
    println!("{}\n", timebase_lab::accuracy::cases(&all));
    let model = measured(bench, Case::model(), bench.size(100_000, 20_000))?;
    println!("{}\n", timebase_lab::accuracy::cases(&model));
    let hard = measured_seeds(bench, bench.size(20_000, 5_000))?;
    println!("{}\n", timebase_lab::accuracy::seeds(&hard));
    let few = measured_few()?;
    println!("{}\n", timebase_lab::accuracy::few(&few));
    let sets = measured_sets(bench, bench.size(200_000, 20_000))?;
    println!("{}\n", timebase_lab::accuracy::set_cases(&sets));
    println!("{}\n", align::align_cases(&measured_align()));
    let mut left_out = Vec::new();
    for trace in recorded(bench) {
        progress(format_args!("leaving snapshots out of {}", trace.display()));
        let name = trace.file_name().unwrap_or_default().to_string_lossy();
        let hops = timebase_lab::accuracy::leave_out(&trace, bench.directory())?;
        left_out.extend(hops.into_iter().map(|hop| (name.to_string(), hop)));
    }
    println!("{}\n", timebase_lab::accuracy::left_outs(&left_out));
    Ok(())
}

fn measured(
    bench: &Bench,
    cases: impl IntoIterator<Item = Case>,
    records: u64,
) -> Result<Vec<(Case, Measured)>> {
    let mut all = Vec::new();
    for case in cases {
        progress(&case.name);
        let measured = timebase_lab::accuracy::measure(&case.records(records), bench.directory())?;
        all.push((case, measured));
    }
    Ok(all)
}

/// Many seeds for each, because the difficulty depends on chance.
const SEEDS: u64 = 20;

fn measured_seeds(bench: &Bench, records: u64) -> Result<Vec<(HardCase, MeasuredSeeds)>> {
    let mut all = Vec::new();
    for case in HardCase::all() {
        progress(case.name);
        let settings = case.records(records);
        let measured = timebase_lab::accuracy::measure_seeds(&settings, SEEDS, bench.directory())?;
        all.push((case, measured));
    }
    Ok(all)
}

/// Pairs of clocks that need no trace.
const PAIRS: u64 = 1000;

fn measured_few() -> Result<Vec<(FewCase, FewMeasured)>> {
    let mut all = Vec::new();
    for case in FewCase::all() {
        progress(case.name);
        let measured = case.measure(PAIRS)?;
        all.push((case, measured));
    }
    Ok(all)
}

fn measured_align() -> Vec<(AlignCase, align::Measured)> {
    let mut all = Vec::new();
    for case in AlignCase::all() {
        progress(case.name);
        let measured = case.measure(SEEDS);
        all.push((case, measured));
    }
    all
}

fn measured_sets(bench: &Bench, records: u64) -> Result<Vec<(SetCase, SetMeasured)>> {
    let mut all = Vec::new();
    for case in SetCase::all() {
        progress(case.name);
        let import = |files: &[PathBuf], database: &Path| {
            let imported = program::import(files, database);
            imported.map(drop).map_err(|error| std::io::Error::other(error.to_string()))
        };
        let set = case.records(records);
        let measured = timebase_lab::accuracy::measure_set(&set, bench.directory(), import)?;
        all.push((case, measured));
    }
    Ok(all)
}

/// The recorded traces of the tests, and the user's.
fn recorded(bench: &Bench) -> impl Iterator<Item = PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let traces = RECORDED.into_iter().map(move |name| data.join(name));
    traces.chain(bench.recorded.iter().cloned())
}

/// The rows with a truth, in the order of their ids.
const TIMES: &[(&str, &str)] = &[
    ("packet", "SELECT id, ts FROM packet ORDER BY id"),
    (
        "ftrace_event",
        "SELECT id, ts FROM ftrace_record UNION ALL SELECT id, ts FROM ftrace_partial ORDER BY id",
    ),
    ("android_logs", "SELECT id, ts FROM android_logs ORDER BY id"),
];

/// Fails if a row is not at its required time.
pub fn check(database: &Path, truths: &[Truth]) -> Result<()> {
    let conn = Connection::open(database)?;
    for (table, select) in TIMES {
        let mut truths: Vec<&Truth> =
            truths.iter().filter(|truth| truth.row.table() == *table).collect();
        truths.sort_unstable_by_key(|truth| truth.row);
        let mut statement = conn.prepare(select)?;
        let mut rows = statement.query([])?;
        for truth in truths {
            let id = i64::try_from(truth.row.id())?;
            let ts: Option<i64> = loop {
                let Some(row) = rows.next()? else {
                    return Err(format!("{table} has no row {id}").into());
                };
                if row.get::<_, i64>(0)? == id {
                    break row.get(1)?;
                }
            };
            let right = match (truth.expected, ts) {
                (Expected::Within(ns), Some(ts)) => (ts - truth.boottime).abs() <= ns,
                (Expected::Unresolved(_), None) => true,
                _ => false,
            };
            assert!(right, "row {id} of {table} is at {ts:?}: {truth:?}");
        }
    }
    Ok(())
}
