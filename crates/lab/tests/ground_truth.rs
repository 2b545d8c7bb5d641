//! Compares every row of an imported trace with the truth.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use rusqlite::Connection;
use timebase_import::{Monitor, Options, Source, import};
use timebase_lab::synth::{
    Compression, Expected, FtraceClock, Mix, Preset, Reason, Reference, Row, Settings, Summary,
    Truth,
};

/// The import's result for a row.
#[derive(Debug, Clone, PartialEq)]
struct Placed {
    ts: Option<i64>,
    unresolved: Option<String>,
}

struct Imported {
    truths: Vec<Truth>,
    rows: HashMap<Row, Placed>,
}

/// Rows that must have a time, and rows that must have none, by reason.
#[derive(Debug, Default, PartialEq)]
struct Checked {
    packets: u64,
    events: u64,
    lines: u64,
    non_monotonic: u64,
    state_lost: u64,
    /// The largest actual error, and the largest allowed one.
    worst: i64,
    bound: i64,
}

fn imported(settings: &Settings) -> Imported {
    let dir = tempfile::tempdir().unwrap();
    let (trace, database) = (dir.path().join("t.pftrace"), dir.path().join("t.db"));
    let mut truths = Vec::new();
    let mut file = std::fs::File::create(&trace).unwrap();
    let summary = timebase_lab::synth::write_with_truth(settings, &mut file, &mut |truth| {
        truths.push(truth);
        Ok(())
    })
    .unwrap();
    assert_eq!(file.metadata().unwrap().len(), summary.bytes);
    let found = import(&[Source::File(trace)], &database, &Options::default(), &Monitor::default())
        .unwrap();
    let conn = Connection::open(&database).unwrap();
    counts_agree(settings, &summary, &found, &conn);
    Imported { truths, rows: rows(&conn) }
}

fn counts_agree(
    settings: &Settings,
    summary: &Summary,
    found: &timebase_import::Summary,
    conn: &Connection,
) {
    let count = |query: &str| -> u64 {
        let rows: i64 = conn.query_row(query, [], |row| row.get(0)).unwrap();
        rows.unsigned_abs()
    };
    let sum_of = |tables: [&str; 2]| -> u64 {
        tables.map(|table| count(&format!("SELECT count(*) FROM {table}"))).iter().sum()
    };
    assert_eq!(found.packets, summary.packets);
    assert_eq!(found.rejected_snapshots, 0);
    assert_eq!(found.snapshots, summary.snapshots + summary.pairs);
    assert_eq!(sum_of(["ftrace_event", "ftrace_event_partial"]), summary.events);
    assert_eq!(count("SELECT count(*) FROM android_logs"), summary.lines);
    assert_eq!(count("SELECT count(*) FROM import_log WHERE severity = 'error'"), 0);
    let compressed = count("SELECT value FROM stats WHERE name = 'compressed_packets'");
    assert_eq!(compressed > 0, settings.compression != Compression::None);
}

/// All rows with a timestamp.
fn rows(conn: &Connection) -> HashMap<Row, Placed> {
    type Make = fn(u64) -> Row;
    let tables: [(&str, Make); 4] = [
        ("packet", Row::Packet),
        ("ftrace_event", Row::FtraceEvent),
        ("ftrace_event_partial", Row::FtraceEvent),
        ("android_logs", Row::AndroidLog),
    ];
    let mut all = HashMap::new();
    for (table, row_of) in tables {
        let timed = match table {
            "packet" => "timestamp IS NOT NULL OR type = 'clock_snapshot' OR ts IS NOT NULL",
            _ => "true",
        };
        let query = format!("SELECT id, ts, unresolved FROM {table} WHERE {timed}");
        let mut statement = conn.prepare(&query).unwrap();
        let found = statement.query_map([], |row| {
            let id: i64 = row.get(0)?;
            let placed = Placed { ts: row.get(1)?, unresolved: row.get(2)? };
            Ok((row_of(id.unsigned_abs()), placed))
        });
        for row in found.unwrap() {
            let (row, placed) = row.unwrap();
            assert!(all.insert(row, placed).is_none(), "{row:?} is there twice");
        }
    }
    all
}

/// Compares all rows with the truth; returns the wrong ones.
fn check(imported: &Imported) -> (Checked, Vec<String>) {
    let mut checked = Checked::default();
    let mut wrong = Vec::new();
    if imported.truths.len() != imported.rows.len() {
        let (truths, rows) = (imported.truths.len(), imported.rows.len());
        wrong.push(format!("{truths} rows are known and {rows} are there"));
    }
    for truth in &imported.truths {
        let Some(placed) = imported.rows.get(&truth.row) else {
            wrong.push(format!("{truth:?}: not there"));
            continue;
        };
        let right = match (truth.expected, placed.ts, placed.unresolved.as_deref()) {
            (Expected::Within(bound), Some(ts), None) => {
                let error = (ts - truth.boottime).abs();
                checked.worst = checked.worst.max(error);
                checked.bound = checked.bound.max(bound);
                *match truth.row {
                    Row::Packet(_) => &mut checked.packets,
                    Row::FtraceEvent(_) => &mut checked.events,
                    Row::AndroidLog(_) => &mut checked.lines,
                } += 1;
                error <= bound
            }
            (Expected::Unresolved(reason), None, Some(code)) => {
                *match reason {
                    Reason::NonMonotonic => &mut checked.non_monotonic,
                    Reason::IncrementalStateLost => &mut checked.state_lost,
                } += 1;
                code == reason.code()
            }
            _ => false,
        };
        if !right {
            wrong.push(format!("{truth:?}: {placed:?}"));
        }
    }
    (checked, wrong)
}

/// Imports a trace, and requires all rows to be right.
fn all_right(settings: &Settings) -> Checked {
    let (checked, wrong) = check(&imported(settings));
    let examples = &wrong[..wrong.len().min(5)];
    assert!(wrong.is_empty(), "{} rows, as {examples:#?}", wrong.len());
    checked
}

/// A small version of a preset with all of its features.
fn small(preset: Preset) -> Settings {
    Settings {
        sequence_snapshot_every: 50,
        clock_snapshot_every: 100,
        events_per_read: 500,
        lines_per_packet: 20,
        late_snapshot_ns: 1_000_000,
        suspend_ns: 5_000_000,
        loss_every: if preset == Preset::Mixed { 100 } else { 0 },
        ..Settings::preset(preset).records(10_000)
    }
}

fn is_exact(settings: Settings) {
    let checked =
        all_right(&Settings { drift_ppm: 0, sequence_unit_ns: 1, counter_unit_ns: 1, ..settings });
    assert_eq!((checked.worst, checked.bound), (0, 0));
}

#[test]
fn v5_packets_with_deltas_are_where_they_were() {
    let checked = all_right(&small(Preset::Packets));
    assert!(checked.packets > 10_000 && checked.worst > 0, "{checked:?}");
    is_exact(small(Preset::Packets));
}

#[test]
fn i1_kernel_events_are_where_they_were() {
    for (ftrace_clock, compact) in [
        (FtraceClock::Boottime, true),
        (FtraceClock::Global, false),
        (FtraceClock::Local, true),
        (FtraceClock::MonotonicRaw, true),
    ] {
        let settings =
            Settings { ftrace_clock, compact, suspends: 2, ..small(Preset::Events).records(5000) };
        let checked = all_right(&settings);
        assert_eq!(checked.events, 5000);
        assert_eq!(checked.worst > 0, ftrace_clock != FtraceClock::Boottime);
        is_exact(settings);
    }
}

#[test]
fn i2_log_lines_are_where_they_were() {
    let checked = all_right(&small(Preset::Logs));
    assert!(checked.lines == 10_000 && checked.worst > 0, "{checked:?}");
    is_exact(small(Preset::Logs));
}

#[test]
fn n5_log_lines_read_after_a_step_of_realtime_are_nowhere() {
    for realtime_step_ns in [1_000_000, 3_600_000_000_000] {
        let checked = all_right(&Settings { realtime_step_ns, ..small(Preset::Logs) });
        assert!((4000..6000).contains(&checked.lines), "{checked:?}");
        assert_eq!(checked.lines + checked.non_monotonic, 10_000);
    }
}

#[test]
fn v3_packets_on_custom_clocks_are_where_they_were() {
    for (chain, suspends) in [(1, 0), (3, 2), (64, 1)] {
        let settings = Settings { chain, suspends, ..small(Preset::Hops).records(5000) };
        let checked = all_right(&settings);
        assert!(checked.packets > 5000 && checked.worst > 0, "{checked:?}");
        is_exact(settings);
    }
}

#[test]
fn v2_packets_among_many_snapshots_are_where_they_were() {
    let settings = Settings {
        service_snapshots: 20_000,
        suspends: 2,
        ..small(Preset::Snapshots).records(5000)
    };
    let checked = all_right(&settings);
    assert!(checked.packets > 25_000 && checked.worst > 0, "{checked:?}");
    is_exact(settings);
}

#[test]
fn c2_packets_on_many_sequences_are_where_they_were() {
    let settings = Settings { sequences: 2500, ..small(Preset::Sequences) };
    let checked = all_right(&settings);
    assert!(checked.packets > 12_500 && checked.worst > 0, "{checked:?}");
    is_exact(settings);
}

#[test]
fn v4_readings_of_a_counter_are_right_to_its_unit() {
    let checked = all_right(&Settings {
        drift_ppm: 0,
        mix: Mix { counter: 1, ..Mix::default() },
        ..small(Preset::Packets).records(5000)
    });
    assert_eq!((checked.worst, checked.bound), (51, 51));
}

#[test]
fn d2_packets_read_before_any_snapshot_of_their_clock_are_where_they_were() {
    let settings =
        Settings { mix: Mix { late: 1, ..Mix::default() }, ..small(Preset::Packets).records(5000) };
    let checked = all_right(&settings);
    assert!(checked.packets > 5000 && checked.worst > 0, "{checked:?}");
    is_exact(settings);
}

/// Presets with a crystal, in twenty seconds instead of two hundred.
const CRYSTALS: [Preset; 10] = [
    Preset::Drift,
    Preset::Wander,
    Preset::Jitter,
    Preset::Outliers,
    Preset::Suspends,
    Preset::TwoHops,
    Preset::ThreeHops,
    Preset::Gigahertz,
    Preset::Bend,
    Preset::TwoByTwo,
];

#[test]
fn v2_packets_on_clocks_with_a_crystal_are_where_they_were() {
    for preset in CRYSTALS {
        let settings = Settings {
            gap_ns: 4_000_000,
            outlier_every: Settings::preset(preset).outlier_every / 20,
            ..Settings::preset(preset).records(5000)
        };
        let checked = all_right(&settings);
        assert!(checked.packets > 5000 && checked.worst > 0, "{checked:?}");
        // If each has drifted for a second, the bound is not much larger than the error.
        assert!(checked.bound < checked.worst * 3 / 2, "{checked:?}");
        is_exact(Settings {
            wander_ppb: 0,
            apart_ns: 0,
            outlier_every: 0,
            bend_ppm: 0,
            crystal_khz: 1_000_000,
            ..settings
        });
    }
}

#[test]
fn a_clock_that_is_set_or_not_read_for_a_while_is_off_by_as_much() {
    let of = |settings: Settings| Settings { gap_ns: 4_000_000, ..settings.records(5000) };
    for set_ns in [-100_000, 100_000] {
        let set = Settings { set_ns, ..Settings::preset(Preset::WallClock) };
        // Until the next snapshot, in addition to the drift of a second.
        let checked = all_right(&of(set));
        assert!((100_000..160_000).contains(&checked.worst), "{checked:?}");
        assert!((checked.worst..160_000).contains(&checked.bound), "{checked:?}");
    }
    let hole = Settings { hole_ns: 5_000_000_000, ..Settings::preset(Preset::Hole) };
    let checked = all_right(&of(hole));
    assert!((250_000..310_000).contains(&checked.worst), "{checked:?}");
    assert!((checked.worst..320_000).contains(&checked.bound), "{checked:?}");
}

#[test]
fn a_clock_of_another_frequency_is_off_by_all_of_it() {
    for crystal_khz in [1000, 19_200, 999_000, 2_700_000, 4_000_000] {
        let checked = all_right(&Settings {
            crystal_khz,
            gap_ns: 4_000_000,
            ..Settings::preset(Preset::Gigahertz).records(1000)
        });
        // In up to a second, plus or minus the drift.
        let second = (i64::from(crystal_khz) - 1_000_000).abs() * 1000;
        let off = (checked.worst - second).abs();
        assert!(off < second / 20 + 100_000, "{checked:?}");
        assert!(checked.bound < checked.worst * 11 / 10, "{checked:?}");
    }
}

#[test]
fn everything_at_once_is_where_it_was() {
    for (seed, compression) in
        [(1, Compression::None), (2, Compression::Zlib), (3, Compression::Zstd)]
    {
        let settings = Settings {
            compression,
            compression_batch: 10_000,
            drift_ppm: if seed == 2 { 100_000 } else { 50 },
            sequence_reference: Reference::Alternating,
            ..small(Preset::Mixed).seed(seed)
        };
        let checked = all_right(&settings);
        let all = [
            checked.packets,
            checked.events,
            checked.lines,
            checked.non_monotonic,
            checked.state_lost,
        ];
        assert!(all.iter().all(|&rows| rows > 100), "{checked:?}");
        assert!(checked.worst > 0, "{checked:?}");
        is_exact(settings);
    }
}

#[test]
fn bounds_that_are_too_small_are_noticed() {
    for preset in [Preset::Packets, Preset::Logs, Preset::Hops, Preset::Mixed] {
        let mut imported = imported(&small(preset));
        for truth in &mut imported.truths {
            if let Expected::Within(bound) = &mut truth.expected {
                *bound /= 4;
            }
        }
        assert!(!check(&imported).1.is_empty(), "{preset:?}");
    }
}

#[test]
fn a_wrong_row_of_any_kind_is_noticed() {
    let Imported { truths, rows } = imported(&small(Preset::Mixed));
    let kinds: [fn(&Row) -> bool; 3] = [
        |row| matches!(row, Row::Packet(_)),
        |row| matches!(row, Row::FtraceEvent(_)),
        |row| matches!(row, Row::AndroidLog(_)),
    ];
    let nowhere = Placed { ts: None, unresolved: Some("no_path".into()) };
    let elsewhere = Placed { ts: Some(0), unresolved: None };
    for kind in kinds {
        let row = *rows.keys().find(|row| kind(row)).unwrap();
        for placed in [Some(&nowhere), Some(&elsewhere), None] {
            let mut rows = rows.clone();
            rows.remove(&row);
            rows.extend(placed.map(|placed| (row, placed.clone())));
            let imported = Imported { truths: truths.clone(), rows };
            assert!(!check(&imported).1.is_empty(), "{row:?} {placed:?}");
        }
    }
}
