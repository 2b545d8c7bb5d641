//! How wrong one hop of a conversion may be (rule V2), from when its snapshots
//! were taken.
//!
//! A hop adds to a reading the difference that its two clocks had at the
//! nearest earlier snapshot. By now they have drifted apart by their relative
//! rate × the distance to it; each reading was rounded down to its unit; where
//! the parent stood still in a suspend that the snapshot does not know of, the
//! suspend is missing; and where the snapshot read its clocks one after the
//! other, the time between is in the difference.
//!
//! Which snapshot is the nearest is decided by a reading that may itself be
//! wrong by the error of the hops before. So all snapshots are looked at that
//! could be meant, and the worst counts.

/// How many of the latest snapshots are remembered. What is placed lies behind
/// few of them; beyond, the distance to the first one bounds it.
const RECENT: usize = 4;

/// A snapshot that holds both clocks of a hop.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    /// What the parent read.
    parent: i64,
    /// How long the parent had stood still until then, in ns.
    paused: i64,
    /// How far apart the two were read, in ns of the parent.
    apart: i64,
}

/// What a hop has to know of its clock.
pub(crate) trait Paced {
    /// How far it drifts from its parent at most while that goes on by
    /// `distance` ns.
    fn drift_over(&self, distance: i64) -> i64;

    /// How far two readings may be off together because each is rounded down.
    fn rounding(&self) -> i64;

    /// How far from the parent's reading, in ns of the parent, a snapshot may be that
    /// is taken for the nearest to a reading which is wrong by `before` ns.
    fn doubt(&self, before: i64) -> i64;
}

/// The snapshots of a hop, as far as errors need them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hop {
    first: Taken,
    recent: [Taken; RECENT],
    taken: u64,
}

impl Hop {
    /// A snapshot was taken when the parent read `parent`, having stood still
    /// for `paused` ns.
    #[inline]
    pub fn take(&mut self, parent: i64, paused: i64) {
        self.take_apart(parent, paused, 0);
    }

    /// As [`Hop::take`], but the clock was read `apart` ns before or after its
    /// parent.
    pub fn take_apart(&mut self, parent: i64, paused: i64, apart: i64) {
        let taken = Taken {
            parent,
            paused,
            apart,
        };
        if self.taken == 0 {
            self.first = taken;
        }
        self.recent[self.taken as usize % RECENT] = taken;
        self.taken += 1;
    }

    /// The largest error, in ns, of a reading of `clock` after this hop; it was
    /// taken when its parent read `parent`, and is wrong by `before` ns at most
    /// already.
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
        assert_eq!(
            hop.error(&clock, 4000, 0, 0),
            clock.drift_over(3000) + rounding
        );
        assert_eq!(
            hop.error(&clock, 6000, 0, 0),
            clock.drift_over(1000) + rounding
        );
        // The first one, where there is no earlier.
        assert_eq!(
            hop.error(&clock, 400, 0, 0),
            clock.drift_over(600) + rounding
        );
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
