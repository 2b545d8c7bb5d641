//! The peak memory of a comparison: 64 MB, and 40 bytes a value.

#![allow(clippy::unwrap_used, missing_docs)]

use timebase_compare::{Facts, Family, Line, Settings, Side, Stat, Value, Values, compare};

#[global_allocator]
static HEAP: dhat::Alloc = dhat::Alloc;

const STATS: [Stat; 5] = [Stat::Count, Stat::Total, Stat::P50, Stat::P90, Stat::P99];
const LINES: usize = 4000;
const RUNS: usize = 40;

#[test]
fn cm3_values_take_at_most_40_bytes_each() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let mut values = Values::new();
    let lines: Vec<Line> = (0..LINES)
        .map(|number| Line::new(Family::SelfTime, "app", &format!("a line named {number}")))
        .collect();
    let mut bits = 1_u32;
    for run in 0..RUNS {
        let side = if run % 2 == 0 { Side::Before } else { Side::After };
        let id = values.run(&format!("run {run}"), side, Facts::default()).unwrap();
        for line in &lines {
            for stat in STATS {
                bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let all = 1e6 + f64::from(bits >> 8);
                // Each value of all rows is another one, which takes the most memory.
                let value = Value { sure: Some(0.9 * all), all: Some(all) };
                values.add(id, line, stat, value).unwrap();
            }
        }
    }
    let settings = Settings { min_share: 0.0, ..Settings::default() };
    let comparison = compare(&values, &settings).unwrap();
    assert_eq!(comparison.rows.len(), STATS.len() * LINES);
    let peak = dhat::HeapStats::get().max_bytes;
    let most = 40 * values.len() + 8_000_000;
    assert!(peak < most, "{peak} of {most}");
}
