//! How well causality aligns simulated clocks. `cargo bench -- truth` prints the figures.

use timebase_lab::align::{AlignCase, AlignWorld};

/// Seeds of each case; the rules were chosen with others.
const SEEDS: u64 = 20;

/// The cases of pairs, or of groups, which have many messages.
fn meet_their_goals(is_group: bool, seeds: u64) {
    let is_wanted = |case: &AlignCase| matches!(case.world, AlignWorld::Group(_)) == is_group;
    for case in AlignCase::all().into_iter().filter(is_wanted) {
        let measured = case.measure(seeds);
        let missed = case.missed(&measured);
        assert!(missed.is_empty(), "{}: {missed:?}, {measured:?}", case.name);
        // AL14
        let is_refused = case.rms_us.is_none();
        assert_eq!(measured.refused, if is_refused { seeds } else { 0 }, "{}", case.name);
        // By the wall clocks, a fifth of all messages and more arrive before they were sent.
        let share = measured.inverted_by_wall_clocks as f64 / measured.messages as f64;
        assert!(share > 0.2, "{}: {share}", case.name);
    }
}

#[test]
fn al9_to_al16_pairs_of_clocks_are_as_near_to_the_truth_as_when_the_rules_were_chosen() {
    meet_their_goals(false, SEEDS);
}

#[test]
fn al17_al19_groups_of_clocks_are_as_near_to_the_truth_as_when_the_rules_were_chosen() {
    meet_their_goals(true, 3);
}

#[test]
#[ignore = "heavy"]
fn al17_al19_groups_of_clocks_are_as_near_to_the_truth_over_twenty_seeds() {
    meet_their_goals(true, SEEDS);
}
