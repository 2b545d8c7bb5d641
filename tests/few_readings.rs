//! Clocks that were read few times, close together or coarsely (rules R30–R37), end to end: the
//! readings of public bug reports in `tests/data/reports`, through the program.

use std::path::PathBuf;

use crate::support::{Imported, answer, data};

fn report(name: &str) -> PathBuf {
    data(&format!("reports/{name}.pftrace"))
}

/// The last line of `explain`, by rates.
fn explained(name: &str, clock: &str, ts: &str) -> String {
    let trace = report(name);
    let answer = answer(&[
        "explain",
        trace.to_str().unwrap(),
        "--clock",
        clock,
        "--ts",
        ts,
        "--conversion",
        "linear",
    ]);
    answer.lines().last().unwrap_or_default().to_owned()
}

/// The time of the packets on a clock, and half of the interval in which they are.
fn intervals(trace: &Imported, clock: i64) -> Vec<Vec<String>> {
    trace.rows(&format!(
        "SELECT p.clock_ts, i.ts, (i.latest - i.earliest) / 2 FROM packet AS p JOIN packet_interval AS i USING (id)
         WHERE p.clock_id = {clock} AND p.type IS NOT 'clock_snapshot' ORDER BY p.id"
    ))
}

/// The checks with a finding.
fn findings(trace: &Imported) -> Vec<String> {
    let rows = trace.rows("SELECT DISTINCT check_name FROM finding ORDER BY check_name");
    rows.concat()
}

#[test]
fn r31_an_event_8_s_after_two_snapshots_16_us_apart_is_where_it_was() {
    let name = "start_pair_of_snapshots_16us_apart";
    assert_eq!(
        explained(name, "MONOTONIC", "321320525311"),
        "MONOTONIC 321320525311 is BOOTTIME 321320525261 ns ± 1500 ns"
    );
    let trace = Imported::of(&report(name), &[]);
    let hops = trace.rows(
        "SELECT from_clock, kin, CAST(nominal_rate AS TEXT), drift_ppm, drift_error_ppm, interval_for_1us_s FROM clock_hop
         WHERE to_clock = 'BOOTTIME' AND from_clock IN ('MONOTONIC', 'REALTIME') ORDER BY from_clock",
    );
    assert_eq!(
        hops,
        [
            ["MONOTONIC", "kin", "1.0", "[NULL]", "[NULL]", "[NULL]"],
            ["REALTIME", "kin", "1.0", "[NULL]", "[NULL]", "[NULL]"],
        ]
    );
    assert!(!findings(&trace).contains(&"far_from_snapshot".to_owned()));
}

#[test]
fn r33_r34_a_raw_clock_is_within_500_ppm_of_what_two_snapshots_16_us_apart_say() {
    let name = "start_pair_of_snapshots_16us_apart";
    assert_eq!(
        explained(name, "MONOTONIC_RAW", "321072423200"),
        "MONOTONIC_RAW 321072423200 is BOOTTIME 321320525552 ns ± 4011072 ns"
    );
    let trace = Imported::of(&report(name), &[]);
    let hop = "SELECT kin, CAST(nominal_rate AS TEXT), drift_ppm FROM clock_hop WHERE from_clock = 'MONOTONIC_RAW'";
    assert_eq!(trace.rows(hop), [["[NULL]", "1.0", "[NULL]"]]);
}

#[test]
fn r31_r37_three_noisy_snapshots_in_5_ms_show_no_drift() {
    let name = "close_noisy_snapshots_monotonic";
    assert_eq!(
        explained(name, "MONOTONIC", "986048092254"),
        "MONOTONIC 986048092254 is BOOTTIME 986048091904 ns ± 1000 ns"
    );
    let trace = Imported::of(&report(name), &["--conversion", "linear"]);
    assert_eq!(intervals(&trace, 3), [["986048092254", "986048091904", "1000"]]);
    assert_eq!(trace.count("SELECT count(*) FROM clock_hop WHERE drift_ppm IS NOT NULL"), 0);
}

#[test]
fn r31_a_clock_of_microseconds_is_monotonic_with_another_name() {
    for (name, ts) in [
        ("microsecond_clock_false_far_from_snapshot", "452504428461"),
        ("microsecond_clock_without_close_pair", "452504428347"),
    ] {
        let trace = Imported::of(&report(name), &["--conversion", "linear"]);
        assert_eq!(intervals(&trace, 64), [["452504428", ts, "1000"]], "{name}");
        let hop = "SELECT kin, drift_ppm FROM clock_hop WHERE clock_id = 64";
        assert_eq!(trace.rows(hop), [["twins", "[NULL]"]]);
        let nearest = Imported::of(&report(name), &[]);
        for trace in [trace, nearest] {
            let found = findings(&trace);
            assert!(!found.contains(&"far_from_snapshot".to_owned()), "{name}: {found:?}");
            assert!(!found.contains(&"drift".to_owned()), "{name}: {found:?}");
        }
    }
    // Its way to BOOTTIME leads through MONOTONIC, by readings in whole milliseconds.
    let name = "microsecond_clock_boottime_primary";
    for arguments in [&[][..], &["--conversion", "linear"]] {
        let trace = Imported::of(&report(name), arguments);
        let found = findings(&trace);
        assert!(!found.contains(&"far_from_snapshot".to_owned()), "{found:?}");
        assert!(!found.contains(&"drift".to_owned()), "{found:?}");
    }
}

#[test]
fn r31_r34_a_browser_that_was_killed_after_its_first_packets_has_no_drift() {
    let trace = Imported::of(&report("chrome_start_12_packets"), &[]);
    let hops = trace.rows(
        "SELECT DISTINCT from_clock, kin, CAST(round(nominal_rate, 2) AS TEXT), drift_ppm FROM clock_hop WHERE from_clock IN ('MONOTONIC', 'MONOTONIC_RAW', 'TSC')
         ORDER BY from_clock",
    );
    assert_eq!(
        hops,
        [
            ["MONOTONIC", "kin", "1.0", "[NULL]"],
            ["MONOTONIC_RAW", "[NULL]", "1.0", "[NULL]"],
            ["TSC", "[NULL]", "0.39", "[NULL]"],
        ]
    );
}

#[test]
fn r37_no_drift_is_stated_where_none_can_be_known() {
    for name in ["producer-tg4perfetto-small", "producer-tracing-perfetto-file-small"] {
        let trace = Imported::of(&report(name), &[]);
        assert!(trace.count("SELECT count(*) FROM clock_hop") > 0);
        let drifts = "SELECT from_clock, drift_ppm FROM clock_hop WHERE drift_ppm IS NOT NULL";
        assert_eq!(trace.rows(drifts), Vec::<Vec<String>>::new(), "{name}");
        let said = answer(&["doctor", report(name).to_str().unwrap()]);
        assert!(!said.contains("ppm"), "{name}: {said}");
        let found = findings(&trace);
        assert!(!found.contains(&"far_from_snapshot".to_owned()), "{name}: {found:?}");
    }
}
