//! Imports of damaged traces: a small version of `cargo bench --bench reliability`, with its goals.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use timebase_lab::reliability::{
    DamageKind, Examined, Importer, Original, Plan, Report, measure, prepare,
};

use crate::support::{PROGRAM, Place, data};

/// With this many copies of a trace for each of these kinds of damage, the goals must be met.
fn damaged(trace: &str, kinds: &[DamageKind], copies: u64) {
    let place = Place::new();
    let plan = Plan {
        importer: Importer {
            program: PathBuf::from(PROGRAM),
            patience: Duration::from_secs(600), // other tests run meanwhile
        },
        seed: 0,
        copies: 0..copies,
        jobs: 1,
        directory: place.path(""),
    };
    let mut original = Original::read(trace, fs::read(data(trace)).unwrap()).unwrap();
    let events = prepare(&mut original, &plan).unwrap();
    let mut report = Report::default();
    report.begin(trace);
    let observe = |examined: &Examined<'_>| {
        if examined.has_fault() {
            println!("{}, copy {}", examined.kind, examined.number);
        }
    };
    for &kind in kinds {
        let tally = measure(&original, events, kind, &plan, &observe).unwrap();
        assert_eq!(tally.copies, copies);
        report.add(kind, tally);
    }
    assert!(report.is_met(), "{report}");
}

#[test]
fn what_is_whole_in_a_damaged_trace_of_an_application_is_kept() {
    damaged("sdk.pftrace", DamageKind::ALL, 2);
}

#[test]
fn what_is_whole_in_a_damaged_trace_of_a_system_is_kept() {
    damaged("system.pftrace", DamageKind::ALL, 1);
}

#[test]
fn what_is_whole_in_a_damaged_compressed_trace_is_kept() {
    let kinds = [
        DamageKind::Flipped(3),
        DamageKind::Zeroed(4 << 10),
        DamageKind::Noise(64),
        DamageKind::Dropped(64 << 10),
        DamageKind::Duplicated(64),
        DamageKind::Swapped(4 << 10),
        DamageKind::CutAtEnd,
        DamageKind::CutAtStart,
    ];
    damaged("system-compressed.pftrace", &kinds, 1);
}
