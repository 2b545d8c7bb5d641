//! Comparisons of groups of runs: how often they are wrong (`timebase_lab::compare`), and how long a large one and the
//! measuring of runs take.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use timebase_compare::{Settings, compare};
use timebase_lab::compare::{CompareCase, World, compare_cases, share_of_failures};
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings as Synth};

use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, program, progress};

/// The memory of a comparison, for all of its processes one after the other.
const MEMORY: u64 = 64_000_000;

/// The runs of a side.
const RUNS: usize = 10;

/// Prints tables of its own, because most of it are no durations.
pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    runs(bench, table)?;
    let comparisons = bench.size(2000, 200);
    let mut all = Vec::new();
    for case in CompareCase::all() {
        progress(case.name);
        all.push((case, case.measure(comparisons)?));
    }
    println!("{}\n", compare_cases(&all));
    for percent in [5, 10] {
        let share = share_of_failures((1.0 + f64::from(percent) / 100.0).ln(), comparisons)?;
        println!("The limit +5 % fails in {:.1} % at a true +{percent} %.", 100.0 * share);
    }
    println!("{}", large()?);
    Ok(())
}

/// The time of comparing runs, against importing them.
fn runs(bench: &Bench, table: &mut Table) -> Result<()> {
    let slices = bench.size(100_000, 20_000);
    progress(format_args!("{} runs of {} slices", 2 * RUNS, grouped(slices)));
    let settings = Synth { sequences: 16, ..Synth::preset(Preset::Packets).records(2 * slices) };
    let traces = (0..2 * RUNS).map(|run| {
        Trace::generate(bench, &format!("run-{run}"), &settings.clone().seed(run as u64))
    });
    let traces = traces.collect::<Result<Vec<_>>>()?;
    let (before, after) = traces.split_at(RUNS);
    // One at a time, as the imports.
    let mut arguments = ["compare", "--jobs=1", "--progress=never"].map(OsStr::new).to_vec();
    arguments.extend(before.iter().map(|trace| trace.path.as_os_str()));
    arguments.push(OsStr::new("--with"));
    arguments.extend(after.iter().map(|trace| trace.path.as_os_str()));
    let database = bench.directory().join("run.db");
    let imports = || -> Result<Duration> {
        let mut sum = Duration::ZERO;
        for Trace { path, .. } in &traces {
            let inputs: [PathBuf; 1] = [path.clone()];
            sum += program::import(&inputs, &database)?.time;
        }
        Ok(sum)
    };
    let compared = || Ok(program::cost(arguments.iter().copied())?.time);
    let pairs = Pairs::run(bench.runs(), compared, imports)?;
    let cost = program::cost(arguments.iter().copied())?;
    table.add(
        Row::new(format!("comparison of {} runs of {} slices", 2 * RUNS, grouped(slices)))
            .pairs(&pairs, "imports of these runs by the program")
            .count(2 * RUNS as u64 * slices)
            .target(Target::Ratio(1.1)),
    );
    table.add(
        Row::new("the largest process of it")
            .time(cost.time)
            .memory(cost.peak_memory)
            .target(Target::Memory(MEMORY)),
    );
    Ok(())
}

/// The time of a large comparison, the best of three.
fn large() -> Result<String> {
    let world = World { runs: [20, 20], lines: 10_000, ..World::EQUAL };
    let values = world.values(1)?;
    let settings = Settings { min_share: 0.0, ..Settings::default() };
    let [mut compared, mut shown] = [f64::INFINITY; 2];
    for _ in 0..3 {
        let start = Instant::now();
        let comparison = compare(&values, &settings)?;
        compared = compared.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let rows = comparison.rows.iter();
        let ends: f64 = rows
            .filter_map(|row| Some(row.interval()?[0] + row.interval95()?[0] + row.smallest()?))
            .sum();
        std::hint::black_box(ends);
        shown = shown.min(start.elapsed().as_secs_f64());
    }
    Ok(format!(
        "\n{} values of 10,000 lines in 40 runs: {compared:.2} s to compare, {shown:.2} s for all intervals.",
        values.len()
    ))
}
