//! Random traces and sets of files: the rewritten form has the same import as the source.

use std::cell::Cell;
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;
use timebase_import::Conversion;
use timebase_lab::encode;

use super::tables::Pair;
use crate::merge;
use crate::model::generate::{self, Case};
use crate::support::count;
use crate::support::random::for_all;

/// Checks pairs of a share of all cases, by both conversions.
fn for_pairs<C: Debug>(
    cases: impl Strategy<Value = C>,
    pair: impl Fn(&C, Conversion) -> Option<Pair>,
    differences: impl Fn(&Pair) -> Vec<String>,
) {
    for_all(4, cases, |case| {
        for conversion in [Conversion::Nearest, Conversion::Linear] {
            let Some(pair) = pair(case, conversion) else {
                continue;
            };
            let found = differences(&pair);
            let told = &pair.told.unmet;
            prop_assert!(found.is_empty(), "{conversion:?} {told:?}: {}", found.join("\n"));
        }
        Ok(())
    });
}

#[test]
fn rw1_rw10_any_trace_is_imported_alike() {
    let pair = |case: &Case, conversion| Pair::of_bytes(&encode::trace(&case.packets), conversion);
    for_pairs(generate::case(false), pair, Pair::differences_of_times);
}

/// If nothing waits for a snapshot, and no time is off, all tables are equal, with their ids. There
/// are two exceptions. By rates, events of a bundle get one time if a clock stands still, so their
/// order becomes the order of the file. And the place of a kernel event without a timestamp depends
/// on readings, which have changed.
#[test]
fn rw1_rw10_any_trace_with_its_snapshots_first_is_imported_alike() {
    let pair = |case: &Case, conversion| Pair::of_bytes(&encode::trace(&case.packets), conversion);
    let compared = Cell::new(0);
    for_pairs(generate::case(true), pair, |pair| {
        let bare = "SELECT count(*) FROM ftrace_event WHERE timestamp IS NULL";
        let is_off = !pair.told.unmet.is_empty() || pair.conversion == Conversion::Linear;
        if is_off || count(&pair.a, bare) > 0 {
            return pair.differences_of_times();
        }
        compared.set(compared.get() + 1);
        pair.differences()
    });
    assert!(compared.get() >= 40, "only {} compared", compared.get());
}

#[test]
fn rw9_rw10_any_set_of_files_is_imported_alike() {
    let pair = |case: &merge::generate::Case, conversion| {
        let place = TempDir::new().unwrap();
        let write = |name: &str, bytes: &[u8]| -> PathBuf {
            let path = place.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let files = case.files();
        let files: Vec<PathBuf> = files.iter().map(|f| write(&f.name, &f.bytes)).collect();
        let manifest = case.manifest().map(|text| write("the.manifest", text.as_bytes()));
        Pair::of_set(&files, manifest, conversion)
    };
    for_pairs(merge::generate::case(), pair, Pair::differences_of_times);
}
