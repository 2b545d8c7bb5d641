//! The largest error of one hop of a conversion (rule V2), from the times of its snapshots.
//!
//! A hop adds to a reading the difference of its two clocks at the nearest earlier snapshot. This
//! has four errors: the clocks have drifted apart since, by their relative rate × the distance;
//! each reading was rounded down to its unit; if the parent stood still in a suspend that the
//! snapshot does not know, the suspend is missing; and if the snapshot read its clocks one after
//! the other, the difference includes the time in between.
//!
//! A reading selects the nearest snapshot, but may itself be wrong by the error of the previous
//! hops. So all possible snapshots are checked, and the worst counts.

/// The number of recent snapshots that are remembered. Usually few of them come after a converted
/// reading; beyond them, the distance to the first snapshot is the bound.
const RECENT: usize = 4;

/// A snapshot that holds both clocks of a hop.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    /// The reading of the parent.
    parent: i64,
    /// The time that the parent had stood still until then, in ns.
    paused: i64,
    /// The time between the two readings, in ns of the parent.
    apart: i64,
}

/// The facts about a clock that a hop needs.
pub(crate) trait Paced {
    /// The largest drift from its parent while that advances by `distance` ns.
    fn drift_over(&self, distance: i64) -> i64;

    /// The largest error of two readings together from rounding down.
    fn rounding(&self) -> i64;

    /// The largest distance, in ns of the parent, between the parent's reading and a snapshot that
    /// counts as nearest to a reading which is wrong by `before` ns.
    fn doubt(&self, before: i64) -> i64;
}

/// The snapshots of a hop that matter for errors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hop {
    first: Taken,
    recent: [Taken; RECENT],
    taken: u64,
}

impl Hop {
    /// Records a snapshot, when the parent read `parent` and had stood still for `paused` ns.
    #[inline]
    pub fn take(&mut self, parent: i64, paused: i64) {
        self.take_apart(parent, paused, 0);
    }

    /// Like [`Hop::take`], but the clock was read `apart` ns before or after its parent.
    pub fn take_apart(&mut self, parent: i64, paused: i64, apart: i64) {
        let taken = Taken { parent, paused, apart };
        if self.taken == 0 {
            self.first = taken;
        }
        self.recent[self.taken as usize % RECENT] = taken;
        self.taken += 1;
    }

    /// The largest error, in ns, of a reading of `clock` after this hop. The reading was taken when
    /// its parent read `parent`, and is already wrong by up to `before` ns.
    pub fn error(&self, clock: &impl Paced, parent: i64, paused: i64, before: i64) -> i64 {
        let doubt = clock.doubt(before);
        let (mut distance, mut pause, mut apart) = (0, 0, 0);
        let mut count = |taken: &Taken| {
            distance = distance.max((parent - taken.parent).abs());
            pause = pause.max((paused - taken.paused).abs());
            apart = apart.max(taken.apart);
        };
        let retained = self.taken.min(RECENT as u64);
        let mut found = false;
        for back in 1..=retained {
            let taken = &self.recent[(self.taken - back) as usize % RECENT];
            if taken.parent > parent + doubt {
                continue;
            }
            count(taken);
            if taken.parent <= parent - doubt {
                found = true;
                break;
            }
        }
        if !found {
            count(&self.first);
        }
        let apart = apart + clock.drift_over(apart);
        before + clock.drift_over(distance) + clock.rounding() + pause + apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::clock::Drifting;
    use crate::synth::random::Random;

    /// Without drift, so that only pauses count.
    fn steady() -> Drifting {
        Drifting::new(&mut Random::new(1), 0, 0, 0, 1)
    }

    fn drifting() -> Drifting {
        Drifting::new(&mut Random::new(1), 100_000, 0, 0, 1)
    }

    fn hop(parents: &[i64]) -> Hop {
        let mut hop = Hop::default();
        for &parent in parents {
            hop.take(parent, 0);
        }
        hop
    }

    #[test]
    fn v2_the_error_grows_with_the_distance_to_the_nearest_earlier_snapshot() {
        let (clock, hop) = (drifting(), hop(&[1000, 5000]));
        let rounding = clock.rounding();
        assert_eq!(hop.error(&clock, 4000, 0, 0), clock.drift_over(3000) + rounding);
        assert_eq!(hop.error(&clock, 6000, 0, 0), clock.drift_over(1000) + rounding);
        // The first one, if there is no earlier one.
        assert_eq!(hop.error(&clock, 400, 0, 0), clock.drift_over(600) + rounding);
    }

    #[test]
    fn v3_a_reading_that_is_off_may_take_the_snapshot_before() {
        let (clock, hop) = (drifting(), hop(&[1000, 5000]));
        let near = 100 + clock.drift_over(4010) + clock.rounding();
        assert_eq!(hop.error(&clock, 5010, 0, 100), near);
    }

    #[test]
    fn a_suspend_after_the_snapshot_is_missing() {
        let mut hop = hop(&[1000]);
        hop.take(5000, 70);
        assert_eq!(hop.error(&steady(), 4000, 0, 0), 0);
        assert_eq!(hop.error(&steady(), 6000, 70, 0), 0);
        assert_eq!(hop.error(&steady(), 6000, 100, 0), 30);
        assert_eq!(hop.error(&steady(), 5010, 70, 100), 100 + 70);
    }

    #[test]
    fn snapshots_that_are_not_remembered_are_bounded_by_the_first() {
        let hop = hop(&[1000, 2000, 3000, 4000, 5000, 6000, 7000]);
        let clock = drifting();
        let bound = clock.drift_over(2500) + clock.rounding();
        assert_eq!(hop.error(&clock, 3500, 0, 0), bound);
    }
}
