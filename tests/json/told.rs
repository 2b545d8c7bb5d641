//! What the program tells its user about traces in JSON: summaries, warnings and errors.

use crate::support::{Imported, data};

#[test]
fn the_summary_says_that_producers_placed_the_files() {
    let said = Imported::of(&data("json/merge-build.zip"), &[]).said;
    assert_eq!(said.matches("machine 0: by what its producer says of its clock\n").count(), 2);
    assert!(!said.contains("clock snapshots"), "{said}");
}
