//! The reading of a clock that leads to a time (rule RW6).
//!
//! # Design
//!
//! A conversion by the nearest snapshot adds one number to all readings of a stretch. So if a reading is on
//! the right stretch, one step that adds the difference finds the right reading; on a neighbour it takes two
//! steps. If steps go back and forth over the end of a stretch, no reading leads to the time, or only a
//! reading at that end, which is found by halving. The alternative was to invert the graph, stretch by
//! stretch; but over several hops it has too many stretches to keep.

/// A reading, and the distance between its time and the wanted time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub reading: i64,
    pub off: u64,
}

/// The number of steps from one beginning.
const STEPS: usize = 8;

/// The reading that leads to `ts`, or closest to it, found by steps from some beginnings in the order of
/// preference. `None` if no beginning leads to a time.
pub(crate) fn inverse(
    mut convert: impl FnMut(i64) -> Option<i64>,
    begins: impl IntoIterator<Item = i64>,
    ts: i64,
) -> Option<Found> {
    let mut best: Option<Found> = None;
    for begin in begins {
        let mut reading = begin.max(0);
        // The readings nearest to `ts` that lead to a time before it, and after it.
        let mut around: [Option<i64>; 2] = [None, None];
        for _ in 0..STEPS {
            let Some(found) = convert(reading) else {
                break;
            };
            let off = found.abs_diff(ts);
            better(&mut best, reading, off);
            if off == 0 {
                return best;
            }
            around[usize::from(found > ts)] = Some(reading);
            let missing = i128::from(ts) - i128::from(found);
            let next = i128::from(reading) + missing;
            let Ok(next) = i64::try_from(next.max(0)) else {
                break;
            };
            if next == reading {
                break;
            }
            reading = next;
        }
        if let [Some(mut before), Some(mut after)] = around {
            while before.abs_diff(after) > 1 {
                let middle = i128::midpoint(before.into(), after.into());
                let Some((middle, found)) =
                    i64::try_from(middle).ok().and_then(|middle| Some((middle, convert(middle)?)))
                else {
                    break;
                };
                better(&mut best, middle, found.abs_diff(ts));
                match found <= ts {
                    true => before = middle,
                    false => after = middle,
                }
            }
            if best.is_some_and(|best| best.off == 0) {
                return best;
            }
        }
    }
    best
}

fn better(best: &mut Option<Found>, reading: i64, off: u64) {
    if best.is_none_or(|best| off < best.off) {
        *best = Some(Found { reading, off });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Snapshots: the first reading of each stretch, and the number that is added.
    fn by(stretches: &[(i64, i64)]) -> impl FnMut(i64) -> Option<i64> {
        move |reading| {
            let stretch = stretches.iter().rev().find(|(from, _)| *from <= reading);
            stretch.or(stretches.first()).map(|(_, add)| reading + add)
        }
    }

    #[test]
    fn rw6_a_reading_is_found_on_its_stretch_and_on_others() {
        let stretches = [(0, 1000), (100, 1050), (200, 1020)];
        for ts in [1000, 1099, 1150, 1219, 1220, 1300] {
            let found = inverse(by(&stretches), [40], ts).unwrap_or(Found { reading: 0, off: 1 });
            assert_eq!(found.off, 0, "{ts}");
            assert_eq!(by(&stretches)(found.reading), Some(ts));
        }
    }

    #[test]
    fn rw6_a_time_that_no_reading_leads_to_has_the_one_that_leads_closest() {
        // No reading leads to a time from 1100 to 1150.
        let convert = || by(&[(0, 1000), (100, 1050)]);
        let found = inverse(convert(), [10], 1110);
        assert_eq!(found, Some(Found { reading: 99, off: 11 }));
        let found = inverse(convert(), [10], 1140);
        assert_eq!(found, Some(Found { reading: 100, off: 10 }));
    }

    #[test]
    fn rw6_a_clock_that_leads_nowhere_has_no_reading() {
        assert_eq!(inverse(|_| None, [1, 2], 5), None);
        assert_eq!(inverse(Some, [i64::MAX], 7), Some(Found { reading: 7, off: 0 }));
    }
}
