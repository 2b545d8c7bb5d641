//! Random traces and sets of files: what is written is imported as what was read.

use std::cell::Cell;
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use tempfile::TempDir;
use timebase_import::Conversion;
use timebase_lab::encode;

use super::tables::Pair;
use crate::merge;
use crate::model::generate::{self, Case};
use crate::support::count;

/// The same cases in every run, a share of all; PROPTEST_CASES asks for more of them.
fn for_all<C: Debug>(
    share: u32,
    cases: impl Strategy<Value = C>,
    pair: impl Fn(&C, Conversion) -> Option<Pair>,
    differences: impl Fn(&Pair) -> Vec<String>,
) {
    let all = Config::default();
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 2048,
        cases: all.cases / share,
        ..all
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let done = TestRunner::new_with_rng(config, rng).run(&cases, |case| {
        for conversion in [Conversion::Nearest, Conversion::Linear] {
            let Some(pair) = pair(&case, conversion) else {
                continue;
            };
            let found = differences(&pair);
            let told = &pair.told.unmet;
            prop_assert!(
                found.is_empty(),
                "{conversion:?} {told:?}: {}",
                found.join("\n")
            );
        }
        Ok(())
    });
    match done {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\nfor {case:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

#[test]
fn rw1_rw10_any_trace_is_imported_alike() {
    let pair = |case: &Case, conversion| Pair::of_bytes(&encode::trace(&case.packets), conversion);
    for_all(4, generate::case(false), pair, Pair::differences_of_times);
}

/// Where nothing waits for a snapshot, and no time is off, all tables are equal, with their ids. But for two
/// exceptions: rates bring events of a bundle to one time if a clock stands still, so their order becomes that
/// of the file; and a kernel event without a timestamp has its place among readings, which are others now.
#[test]
fn rw1_rw10_any_trace_with_its_snapshots_first_is_imported_alike() {
    let pair = |case: &Case, conversion| Pair::of_bytes(&encode::trace(&case.packets), conversion);
    let compared = Cell::new(0);
    for_all(4, generate::case(true), pair, |pair| {
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
        let manifest = case
            .manifest()
            .map(|text| write("the.manifest", text.as_bytes()));
        Pair::of_set(&files, manifest, conversion)
    };
    for_all(4, merge::generate::case(), pair, Pair::differences_of_times);
}
