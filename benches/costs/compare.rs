//! Comparisons of groups of runs: how often they are wrong (`timebase_lab::compare`), and how long a large one takes.

use std::time::Instant;

use timebase_compare::{Settings, compare};
use timebase_lab::compare::{CompareCase, World, compare_cases, share_of_failures};

use crate::table::Table;
use crate::{Bench, Result, progress};

/// Prints its own tables, because most of it are no durations.
pub fn run(bench: &Bench, _: &mut Table) -> Result<()> {
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
