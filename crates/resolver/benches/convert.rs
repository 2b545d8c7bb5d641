//! What a conversion costs, in nanoseconds: `cargo bench -p timebase-resolver`.
//!
//! The time that is printed for a case is that of one conversion. Each case has
//! its yardstick beside it, and each result is compared with one that was
//! computed without the library.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

mod cases;

use cases::{Case, INPUTS};

/// Measures `run`, which does `count` conversions, as the time of one.
fn measure(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: String,
    count: usize,
    mut run: impl FnMut() -> Duration,
) {
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            // Whole runs, at least one, scaled to what was asked for.
            let runs = iterations.div_ceil(count as u64);
            let time: Duration = (0..runs).map(|_| run()).sum();
            let each = time.as_secs_f64() / (runs * count as u64) as f64;
            Duration::from_secs_f64(each * iterations as f64)
        });
    });
}

fn timed<T: PartialEq + std::fmt::Debug>(expected: T, work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let time = start.elapsed();
    assert_eq!(result, expected);
    time
}

fn convert(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("convert");
    group.throughput(Throughput::Elements(1));

    let fixed = |group: &mut _, mut case: Case| {
        let sum = case.sum_inputs();
        measure(
            group,
            format!("{}/sum of inputs", case.name),
            INPUTS,
            || timed(sum, || black_box(&case).sum_inputs()),
        );
        measure(group, format!("{}/convert", case.name), INPUTS, || {
            timed(case.expected, || black_box(&mut case).convert_all())
        });
    };
    fixed(&mut group, cases::in_order());
    fixed(&mut group, cases::sequences(false));
    fixed(&mut group, cases::sequences(true));

    let four = cases::four_hops();
    measure(
        &mut group,
        format!("{}/binary searches", four.case.name),
        INPUTS,
        || timed(four.case.expected, || black_box(&four).binary_searches()),
    );
    fixed(&mut group, four.case);

    for sequences in [1, cases::SEQUENCES] {
        let play = cases::interleaved(sequences);
        let count = play.conversions();
        let snapshots = (count / cases::PER_SNAPSHOT) as u32;
        measure(
            &mut group,
            format!("{}/snapshots alone", play.name),
            count,
            || timed(snapshots, || black_box(&play).snapshots_alone()),
        );
        measure(
            &mut group,
            format!("{}/with snapshots", play.name),
            count,
            || timed(play.expected, || black_box(&play).play()),
        );
    }
    group.finish();
}

criterion_group!(benches, convert);
criterion_main!(benches);
