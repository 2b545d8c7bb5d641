//! Straight lines through the corners of a relation that follows from messages (rules AL16, AL20).
//!
//! # Design
//!
//! A line is a step function, too: its offset changes by 1 ns at a time, every 33 µs for clocks that
//! drift by 30 ppm. So a hop by lines answers like any other hop, with an offset and the values for
//! which it holds, and what is remembered of conversions needs to know nothing about lines. Only a
//! list of all steps would be too long, and is never made (see `composed.rs`).
//!
//! The alternative was a kind of conversion of its own, next to the step around a value. It would
//! have to be composed with the steps of the other hops of a path, for each conversion.
//!
//! All arithmetic is exact. A line of 65 bits in each direction needs products of up to 129 bits;
//! the slope is divided into a whole part and a fraction for that.

use std::cmp::Ordering;

/// The readings of both clocks of a hop at a corner.
pub(crate) type Corner = (i64, i64);

/// More than 64 bits on both sides, and little enough to be added up over a path.
const FAR: i128 = 1 << 100;

/// A straight line that begins at a corner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Straight {
    from: i64,
    /// The distance of two values of the source on the line; at least 1.
    run: u64,
    /// How much further the target goes in that; negated if the target goes back, so that `lead`
    /// always rounds to the greater one of two numbers.
    gain: i128,
    /// Whether the target goes back.
    is_falling: bool,
}

/// The rounded offset around a value, less that of the corner, and the values with the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    pub drift: i128,
    /// `None` is no bound.
    pub start: Option<i64>,
    pub end: Option<i64>,
}

impl Straight {
    /// The line from a corner through another one; with slope 1, if there is none or the source
    /// shows the same at both.
    pub fn new(corner: Corner, other: Option<Corner>) -> Straight {
        let ran = |from: i64, to: i64| i128::from(to) - i128::from(from);
        let (run, rise) = match other {
            Some(other) => (ran(corner.0, other.0), ran(corner.1, other.1)),
            None => (0, 0),
        };
        let (run, rise) = match run.cmp(&0) {
            Ordering::Greater => (run, rise),
            Ordering::Equal => (1, 1),
            Ordering::Less => (-run, -rise),
        };
        let is_falling = rise < 0;
        Straight {
            from: corner.0,
            // Two numbers of 64 bits are no further apart.
            run: u64::try_from(run).unwrap_or(u64::MAX),
            gain: if is_falling { run - rise } else { rise - run },
            is_falling,
        }
    }

    /// The offset of a value: its target is `to + round((value − from) · rise/run)`, and of two
    /// equally near numbers the one away from the corner.
    pub fn at(self, value: i64) -> Level {
        let forward = i128::from(value) - i128::from(self.from);
        let distance = u64::try_from(forward.unsigned_abs()).unwrap_or(u64::MAX);
        let lead = self.lead(distance);
        let (first, end) = self.equal(distance, lead);
        let is_before = forward < 0;
        let from = i128::from(self.from);
        let (start, end) = match is_before {
            true => (end.map(|end| from - end + 1), Some(from - first + 1)),
            false => (Some(from + first), end.map(|end| from + end)),
        };
        let bound = |bound: Option<i128>| i64::try_from(bound?).ok();
        Level {
            drift: if is_before == self.is_falling { lead } else { -lead },
            start: bound(start),
            end: bound(end),
        }
    }

    /// `round(distance · gain/run)`, and of two equally near numbers the greater one.
    fn lead(self, distance: u64) -> i128 {
        let run = i128::from(self.run);
        let whole = divided(self.gain, run);
        // Less than a run.
        let part = (self.gain - whole * run).unsigned_abs();
        let part = u128::from(distance) * part;
        let rounded = match u64::try_from(part) {
            Ok(part) => u128::from(part / self.run),
            Err(_) => part / u128::from(self.run),
        };
        let rest = part - rounded * u128::from(self.run);
        let is_up = 2 * rest >= u128::from(self.run);
        let rounded = i128::try_from(rounded).unwrap_or(FAR) + i128::from(is_up);
        let whole = i128::from(distance).saturating_mul(whole).clamp(-FAR, FAR);
        whole + rounded
    }

    /// The distances with a certain lead: the first, and the end if there is one. One of them is
    /// known; it stands alone if a number would need more than 128 bits, which means that leads
    /// change every few nanoseconds.
    fn equal(self, distance: u64, lead: i128) -> (i128, Option<i128>) {
        let known = i128::from(distance);
        if self.gain == 0 {
            return (0, None);
        }
        match self.equal_exactly(lead) {
            Some((first, end)) => (first.max(0), Some(end)),
            None => (known, Some(known + 1)),
        }
    }

    /// `2·lead − 1 ≤ 2·distance·gain/run < 2·lead + 1`, solved for the distance.
    fn equal_exactly(self, lead: i128) -> Option<(i128, i128)> {
        let twice = lead.checked_mul(2)?;
        let run = i128::from(self.run);
        let least = twice.checked_sub(1)?.checked_mul(run)?;
        let beyond = twice.checked_add(1)?.checked_mul(run)?;
        let by = self.gain.checked_mul(2)?;
        let (first, end) = match by > 0 {
            true => (-divided(-least, by), -divided(-beyond, by)),
            false => (divided(-beyond, -by) + 1, divided(-least, -by) + 1),
        };
        Some((first, end))
    }
}

/// A number divided by a positive one, rounded down. Nearly all numbers fit 64 bits, and then a
/// conversion takes 160 ns instead of 240.
fn divided(number: i128, by: i128) -> i128 {
    match (i64::try_from(number), i64::try_from(by)) {
        (Ok(number), Ok(by)) if by > 0 => number.div_euclid(by).into(),
        _ => number.div_euclid(by),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The target's reading by the text of the rule; `corner` has the smaller source value of the two.
    fn naive(corner: Corner, other: Corner, value: i64) -> i128 {
        let [a, b, c, d] = [corner.0, corner.1, other.0, other.1].map(i128::from);
        let by = (i128::from(value) - a) * (d - b);
        let rounded = (2 * by.abs() + (c - a)) / (2 * (c - a));
        b + by.signum() * rounded
    }

    fn offset(corner: Corner, level: Level) -> i128 {
        i128::from(corner.1) - i128::from(corner.0) + level.drift
    }

    /// So large that no product of the naive formula overflows.
    fn large() -> impl Strategy<Value = i64> {
        let most = 1i64 << 61;
        prop_oneof![-9i64..9, -100_000_000_000i64..100_000_000_000, -most..most]
    }

    proptest! {
        #[test]
        fn al20_a_value_on_a_line_is_exact(
            from in large(), to in large(), run in large(), rise in large(), forward in large(),
        ) {
            prop_assume!(run != 0);
            let (corner, other) = ((from, to), (from + run, to + rise));
            let value = from + forward;
            let level = Straight::new(corner, Some(other)).at(value);
            let (one, rise) = if run < 0 { (-run, -rise) } else { (run, rise) };
            let expected = naive((from, to), (from + one, to + rise), value);
            let found = i128::from(value) + offset(corner, level);
            // Far beyond 64 bits, any number will do.
            let near = |number: i128| number.clamp(-FAR / 2, FAR / 2);
            prop_assert_eq!(near(found), near(expected));
        }

        /// Any slope from -1 on, also those of a clock that was set.
        #[test]
        fn al20_a_level_has_exactly_the_values_with_one_offset(
            from in -50i64..50, to in -50i64..50, run in 1i64..90, rise in -90i64..190,
            forward in -300i64..300,
        ) {
            let (corner, other) = ((from, to), (from + run, to + rise));
            let level = |forward: i64| Straight::new(corner, Some(other)).at(from + forward);
            let naive_offset = |at: i64| naive(corner, other, at) - i128::from(at);
            let found = level(forward);
            prop_assert_eq!(offset(corner, found), naive_offset(from + forward));
            // Its line begins at the corner, on both sides.
            let side = |at: i64| (at < from) == (forward < 0);
            let inside = (from - 400..from + 400).filter(|&at| side(at));
            for at in inside {
                let holds = found.start.is_none_or(|start| start <= at)
                    && found.end.is_none_or(|end| at < end);
                let mut between = at.min(from + forward)..=at.max(from + forward);
                let is_same = between.all(|at| naive_offset(at) == offset(corner, found));
                prop_assert_eq!(holds, is_same, "{} {:?}", at, found);
            }
        }

        #[test]
        fn al20_numbers_at_the_ends_of_64_bits_do_not_panic(
            corner in any::<Corner>(), other in any::<Option<Corner>>(), value in any::<i64>(),
        ) {
            let line = Straight::new(corner, other);
            for value in [value, i64::MIN, i64::MAX, corner.0] {
                let level = line.at(value);
                prop_assert!(level.start.is_none_or(|start| start <= value));
                prop_assert!(level.end.is_none_or(|end| value < end));
                for same in [level.start, level.end.map(|end| end - 1)].into_iter().flatten() {
                    prop_assert!((same < corner.0) != (value < corner.0) || line.at(same).drift == level.drift);
                }
            }
        }
    }

    #[test]
    fn al20_a_clock_that_stands_still_over_all_numbers() {
        let line = Straight::new((i64::MIN, 7), Some((i64::MAX, 7)));
        let level = line.at(i64::MAX);
        assert_eq!(i128::from(i64::MAX) + offset((i64::MIN, 7), level), 7);
        assert_eq!((level.start, level.end), (Some(i64::MAX), None));
    }
}
