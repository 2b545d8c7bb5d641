//! Only the clock graph: nanoseconds for each conversion, by criterion.

use std::fs::File;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use criterion::Criterion;
use serde_json::Value;

use crate::conversions::{self, Case, INPUTS, PER_SNAPSHOT, READINGS, SEQUENCES};
use crate::pairs::Spread;
use crate::table::{Row, Table, Target};
use crate::{Bench, Result, progress};

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let mut harness = Harness::new(bench);
    let inputs = INPUTS as u64;
    for (case, target) in [
        (conversions::in_order(), 4.0),
        (conversions::sequences(false), 25.0),
        (conversions::sequences(true), 25.0),
    ] {
        let (name, sum) = (case.name, case.sum_inputs());
        let yardstick = harness.measure(|| black_box(&case).sum_inputs() == sum)?;
        let row = convert(&mut harness, case)?.row(name, inputs);
        let row = row.against(yardstick.median(), "going over the inputs");
        table.add(row.target(Target::Each(target)));
    }

    let four = conversions::four_hops();
    let (name, expected) = (four.case.name, four.case.expected);
    let searches = harness.measure(|| black_box(&four).binary_searches() == expected)?;
    let ours = convert(&mut harness, four.case)?;
    let row = ours.row(name, inputs).against(searches.median(), "binary searches");
    table.add(row.ratio(ours.ratio(&searches)).target(Target::Each(60.0)));

    for sequences in [1, SEQUENCES] {
        let play = conversions::interleaved(sequences);
        let count = play.conversions();
        let snapshots = (count / PER_SNAPSHOT) as u32;
        let alone = harness.measure(|| black_box(&play).snapshots_alone() == snapshots)?;
        let all = harness.measure(|| black_box(&play).play() == play.expected)?;
        let row = all.row(play.name, count as u64);
        table.add(row.against(alone.median(), "the snapshots alone"));
    }

    let mut fitted = conversions::fitted();
    let fit = harness.measure(|| black_box(&mut fitted).fit())?;
    let row = fit.row("a line through 100,000 snapshots", READINGS as u64);
    table.add(row.target(Target::Each(10_000.0)));
    Ok(())
}

fn convert(harness: &mut Harness, mut case: Case) -> Result<Measured> {
    let expected = case.expected;
    harness.measure(move || black_box(&mut case).convert_all() == expected)
}

struct Harness {
    criterion: Criterion,
    directory: PathBuf,
    measured: usize,
}

impl Harness {
    fn new(bench: &Bench) -> Harness {
        let directory = bench.directory().join("criterion");
        let seconds = |full, quick| Duration::from_secs_f64(bench.size(full, quick));
        let criterion = Criterion::default()
            .output_directory(&directory)
            .without_plots()
            .warm_up_time(seconds(1.0, 0.3))
            .measurement_time(seconds(4.0, 1.0))
            .sample_size(bench.size(50, 10));
        Harness { criterion, directory, measured: 0 }
    }

    /// Runs the measurements whose targets must always hold.
    fn measure(&mut self, mut work: impl FnMut() -> bool) -> Result<Measured> {
        let name = self.measured.to_string();
        self.measured += 1;
        progress(format_args!("case {name}"));
        self.criterion.bench_function(&name, |bencher| bencher.iter(|| assert!(work())));
        let file = self.directory.join(&name).join("new/sample.json");
        let sample: Value = serde_json::from_reader(File::open(file)?)?;
        let numbers = |what: &str| {
            let numbers = sample[what].as_array().into_iter().flatten();
            numbers.filter_map(Value::as_f64).collect::<Vec<f64>>()
        };
        let (iterations, times) = (numbers("iters"), numbers("times"));
        assert!(!times.is_empty() && times.len() == iterations.len());
        let times = times.iter().zip(&iterations);
        let nanoseconds = times.map(|(time, iterations)| time / iterations);
        Ok(Measured(Spread::of(nanoseconds)))
    }
}

/// The time of a pass over all inputs, in nanoseconds.
struct Measured(Spread);

impl Measured {
    fn median(&self) -> Duration {
        Duration::from_secs_f64(self.0.median / 1e9)
    }

    fn row(&self, name: &str, count: u64) -> Row {
        Row::new(name).time(self.median()).count(count)
    }

    /// The ratio to the yardstick, and its range at the ends of both spreads.
    fn ratio(&self, yardstick: &Measured) -> Spread {
        let (ours, yardstick) = (self.0, yardstick.0);
        Spread {
            low: ours.low / yardstick.high,
            median: ours.median / yardstick.median,
            high: ours.high / yardstick.low,
        }
    }
}
