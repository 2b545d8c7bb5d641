//! The goals, on small versions of the traces of `cargo bench -- truth`, and the results for real
//! clocks.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use timebase_lab::accuracy::{Case, FewCase, HardCase, leave_out, measure, measure_seeds};

#[test]
fn linear_is_as_near_to_the_truth_as_it_shall_and_as_sure_as_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let mut inversions = 0;
    for case in Case::all() {
        let measured = measure(&case.records(20_000), directory.path()).unwrap();
        let missed = case.goals.unwrap().missed(&measured);
        assert!(missed.is_empty(), "{}: {missed:?}, {measured:?}", case.name);
        inversions += measured.nearest_inversions.of_one_clock;
    }
    // The errors of nearest neighbour show.
    assert!(inversions > 100);
}

/// The cases with which the rules were chosen: also clocks that are read every 10 s, with outliers
/// and a suspend.
#[test]
fn linear_is_better_than_nearest_neighbour_in_all_of_the_model() {
    let directory = tempfile::tempdir().unwrap();
    for case in Case::model() {
        let measured = measure(&case.records(3000), directory.path()).unwrap();
        assert!(measured.better() > 3.0, "{}: {measured:?}", case.name);
        assert!(measured.inside > 0.985, "{}: {measured:?}", case.name);
        assert!(measured.bar_of_error() < 25.0, "{}: {measured:?}", case.name);
        assert_eq!(measured.linear_inversions.of_one_clock, 0, "{}", case.name);
    }
}

#[test]
fn r3_r4_r5_what_is_hard_for_a_line_is_as_exact_as_is_possible_and_as_sure_as_it_says() {
    let directory = tempfile::tempdir().unwrap();
    for case in HardCase::all() {
        let measured = measure_seeds(&case.records(4000), 4, directory.path()).unwrap();
        let missed = case.missed(&measured);
        assert!(missed.is_empty(), "{}: {missed:?}, {measured:?}", case.name);
        // Nearest neighbour would miss it.
        assert!(measured.all.nearest.rms > 5_000.0, "{measured:?}");
    }
}

#[test]
fn r31_r32_r33_r35_few_and_coarse_readings_are_as_sure_as_they_say() {
    for case in FewCase::all() {
        let measured = case.measure(200).unwrap();
        let missed = case.missed(&measured);
        assert!(missed.is_empty(), "{}: {missed:?}, {measured:?}", case.name);
    }
}

#[test]
fn snapshots_that_are_left_out_are_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    for name in [
        "desktop.pftrace",
        "desktop-compact.pftrace",
        "system.pftrace",
        "system-compressed.pftrace",
    ] {
        let hops = leave_out(&data.join(name), directory.path()).unwrap();
        assert_eq!(hops.len(), 6, "{name}: {hops:#?}");
        for hop in &hops {
            assert_eq!(hop.inside, 1.0, "{name}: {hop:?}");
            let most = match hop.hop.contains("COARSE") {
                true => 10_000_000.0,
                false => 1000.0,
            };
            assert!(hop.linear.worst < most, "{name}: {hop:?}");
        }
        let tsc = hops.iter().find(|hop| hop.hop == "TSC → BOOTTIME").unwrap();
        assert!(tsc.nearest.worst > 1e9, "{name}: {tsc:?}");
    }
}
