//! Clocks that went back because they wrapped or restarted: the snapshots that show it, and the
//! life and the turn of a reading (rules R11 to R14).
//!
//! # Design
//!
//! This is arithmetic with a few readings of one clock, without the graph, so code that reads
//! snapshots from a table and code that adds them one by one can both use it. A life lasts from one
//! restart to the next; a turn is a part of it, from one wrap to the next. The trace time of a
//! reading follows from the nearest snapshot of its life, by the clock's rate.
//!
//! The alternative was SQL in the view `finding`. But whether something is a restart depends on the
//! previous one, and each mention of a part of the view is another copy of it, and SQLite allows a
//! thousand.

/// The largest error of a clock's rate, as a part of it.
const LOOSE: f64 = 1e-3;
/// The additional error of a reading, in ns.
const SLACK: f64 = 1e6;
/// The widths of counters, in bits.
const BITS: [u32; 6] = [16, 24, 32, 40, 48, 56];

/// The change of a clock since the previous snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Turn {
    /// It wrapped this many times (rule R12).
    Wrap(i64),
    /// It started again (rule R13).
    Restart,
}

impl Turn {
    /// Its name in `clock_turn.kind`.
    ///
    /// ```
    /// use timebase_resolver::Turn;
    /// assert_eq!((Turn::Wrap(2).name(), Turn::Restart.name()), ("wrap", "restart"));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Turn::Wrap(_) => "wrap",
            Turn::Restart => "restart",
        }
    }
}

/// A reading of the clock in a snapshot.
///
/// The example of [`Turns`] has some.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TurnPoint {
    /// Trace time of the snapshot.
    pub at: i64,
    /// The clock's value, in ns (rule N3).
    pub value: i64,
    /// The change since the previous snapshot.
    pub turn: Option<Turn>,
    /// The number of restarts so far.
    pub life: usize,
    /// The total number of wraps so far.
    pub turns: i64,
}

/// The place of a packet's or event's reading.
///
/// [`Turns`] has the example.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Continued {
    /// The life.
    pub life: usize,
    /// The turn.
    pub turns: i64,
    /// The trace time.
    pub at: i64,
}

/// A clock that wrapped or restarted, and did not go back in any other way.
///
/// ```
/// use timebase_resolver::{Turn, Turns};
///
/// // A counter of 32 bits that counts nanoseconds wraps every 4.3 s.
/// let read: Vec<(i64, i64)> = [0, 2, 4, 6].map(|s| (s * 1_000_000_000, s * 1_000_000_000 % (1 << 32))).to_vec();
/// let turns = Turns::of(&read, 1).unwrap();
/// assert_eq!(turns.bits, Some(32));
/// assert_eq!(turns.points[3].turn, Some(Turn::Wrap(1)));
/// // What is read after the last snapshot is of the turn that is nearest to what was read before.
/// let next = turns.continued(read[3].1 + 5, 6_000_000_000, &[0]).unwrap();
/// assert_eq!((next.turns, next.at), (1, 6_000_000_005));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Turns {
    /// The width of the counter in bits of the clock's units, if it wrapped.
    pub bits: Option<u32>,
    /// Its nanoseconds in a nanosecond of trace time.
    pub rate: f64,
    /// Its readings in the order of time.
    pub points: Vec<TurnPoint>,
    modulus: Option<f64>,
}

/// From one snapshot to the next.
#[derive(Debug, Clone, Copy)]
struct Gap {
    dt: f64,
    dv: f64,
    before: i64,
    value: i64,
}

impl Gap {
    fn is_back(self) -> bool {
        self.dv < 0.0
    }

    /// The number of the clock's wraps in it (rule R12); 0 if this is no wrap.
    fn wraps(self, rate: f64, modulus: f64) -> f64 {
        let passed = rate * self.dt;
        let times = ((passed - self.dv) / modulus).round();
        let slack = LOOSE * passed + SLACK;
        let off = (self.dv + times * modulus - passed).abs();
        match times >= 1.0 && off <= slack && slack <= modulus / 8.0 {
            true => times,
            false => 0.0,
        }
    }
}

impl Turns {
    /// Finds what a clock did, from its readings in snapshots, each with its trace time and its
    /// value, in the order of trace time. `None` if it never went back, or in another way.
    pub fn of(readings: &[(i64, i64)], unit: i64) -> Option<Turns> {
        let far = |to: i64, from: i64| (i128::from(to) - i128::from(from)) as f64;
        let gaps: Vec<Gap> = readings
            .windows(2)
            .filter_map(|two| match two {
                [(at, before), (next_at, value)] => Some(Gap {
                    dt: far(*next_at, *at),
                    dv: far(*value, *before),
                    before: *before,
                    value: *value,
                }),
                _ => None,
            })
            .collect();
        if !gaps.iter().any(|gap| gap.is_back()) {
            return None;
        }
        let other = other_rate(&gaps);
        let wrapped = modulus(&gaps, readings, unit, other);
        let rate = wrapped.map_or(other.unwrap_or(1.0), |(rate, ..)| rate);
        let modulus = wrapped.map(|(.., modulus)| modulus);
        let &(at, value) = readings.first()?;
        let mut point = TurnPoint { at, value, turn: None, life: 0, turns: 0 };
        let mut first = value;
        let mut points = vec![point];
        for (gap, &(at, value)) in gaps.iter().zip(readings.get(1..)?) {
            let times = modulus.map_or(0.0, |modulus| gap.wraps(rate, modulus));
            point = TurnPoint { at, value, turn: None, ..point };
            if times > 0.0 {
                let times = times as i64;
                point.turn = Some(Turn::Wrap(times));
                point.turns = point.turns.saturating_add(times);
            } else if gap.is_back() {
                let since = rate * gap.dt * (1.0 + LOOSE) + SLACK;
                let is_first = gap.value < first && far(gap.before, gap.value) > SLACK;
                if gap.value as f64 > since && !is_first {
                    return None;
                }
                point.turn = Some(Turn::Restart);
                point.life += 1;
                first = value;
            }
            points.push(point);
        }
        Some(Turns { bits: wrapped.map(|(_, bits, _)| bits), rate, points, modulus })
    }

    /// The length of a turn, in ns of trace time, if the clock wrapped.
    pub fn length(&self) -> Option<f64> {
        self.modulus.map(|modulus| modulus / self.rate)
    }

    /// The life and the turn of a reading (rule R14): those nearest to a time, which is the time of
    /// the previous reading in the file. The candidates are these lives and their neighbours,
    /// because a reading that was written late belongs to the previous life. `None` if there are
    /// none.
    ///
    /// The next snapshot in the file is no evidence if other readings are in between: in one turn
    /// or another, every reading is near to it.
    pub fn continued(&self, value: i64, near: i64, lives: &[usize]) -> Option<Continued> {
        let first = lives.iter().min()?.saturating_sub(1);
        let last = lives.iter().max()?.saturating_add(1);
        let from = self.points.partition_point(|point| point.life < first);
        let to = self.points.partition_point(|point| point.life <= last);
        let of_lives = self.points.get(from..to)?;
        let lives = of_lives.chunk_by(|one, next| one.life == next.life);
        let found = lives.filter_map(|life| self.in_life(value, near, life));
        found.min_by_key(|found| (found.at.abs_diff(near), found.at))
    }

    /// The time at which a life had this reading, in the turn that is nearest to a time.
    fn in_life(&self, value: i64, target: i64, life: &[TurnPoint]) -> Option<Continued> {
        let next = life.partition_point(|point| point.at <= target);
        let beside = [next.checked_sub(1), Some(next)];
        let beside = beside.into_iter().flatten().filter_map(|index| life.get(index));
        let point = beside.min_by_key(|point| point.at.abs_diff(target))?;
        let far = |to: i64, from: i64| (i128::from(to) - i128::from(from)) as f64;
        let ahead = far(value, point.value);
        let turns = self
            .modulus
            .map_or(0.0, |modulus| ((far(target, point.at) * self.rate - ahead) / modulus).round());
        let ahead = ahead + turns * self.modulus.unwrap_or(0.0);
        let at = i128::from(point.at) + (ahead / self.rate).round() as i128;
        Some(Continued {
            life: point.life,
            turns: point.turns.saturating_add(turns as i64),
            at: i64::try_from(at).ok()?,
        })
    }
}

/// The rate of a clock that does not count nanoseconds (rule R11).
fn other_rate(gaps: &[Gap]) -> Option<f64> {
    let forward = gaps.iter().filter(|gap| !gap.is_back() && gap.dt > 0.0);
    let mut rates: Vec<f64> = forward.map(|gap| gap.dv / gap.dt).collect();
    rates.sort_unstable_by(f64::total_cmp);
    let high = *rates.get(rates.len() / 2)?;
    let low = *rates.get(rates.len().checked_sub(1)? / 2)?;
    let middle = match (low - 1.0).abs() <= (high - 1.0).abs() {
        true => low,
        false => high,
    };
    ((middle - 1.0).abs() > LOOSE && middle > 0.0).then_some(middle)
}

/// The rate of the clock that wrapped, its bits and the modulus in ns (rule R12).
fn modulus(
    gaps: &[Gap],
    readings: &[(i64, i64)],
    unit: i64,
    other: Option<f64>,
) -> Option<(f64, u32, f64)> {
    let most = readings.iter().map(|(_, value)| *value).max()?;
    let rates = [Some(1.0), other].into_iter().flatten();
    let mut all = rates.flat_map(|rate| BITS.map(|bits| (rate, bits)));
    all.find_map(|(rate, bits)| {
        let modulus = i128::from(unit).checked_mul(1 << bits)?;
        if modulus <= i128::from(most) {
            return None;
        }
        let modulus = modulus as f64;
        let back = || gaps.iter().filter(|gap| gap.is_back());
        let wraps = back().filter(|gap| gap.wraps(rate, modulus) > 0.0).count();
        (2 * wraps >= back().count()).then_some((rate, bits, modulus))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;
    const M: i64 = 1 << 32;

    fn taken(times: &[i64], read: impl Fn(i64) -> i64) -> Vec<(i64, i64)> {
        times.iter().map(|at| (*at, read(*at))).collect()
    }

    #[test]
    fn r11_r12_a_counter_of_32_bits_wraps_as_often_as_the_time_between_says() {
        let read = |at: i64| (at + M - 13 * S / 10).rem_euclid(M);
        let turns = Turns::of(&taken(&[0, 10 * S, 11 * S], read), 1).unwrap();
        assert_eq!(turns.bits, Some(32));
        let found: Vec<_> = turns.points.iter().map(|point| point.turn).collect();
        assert_eq!(found, [None, Some(Turn::Wrap(3)), None]);
        // Units of 1 µs, and a clock with another rate.
        let micros = |at: i64| (at / 1000 + 60_000).rem_euclid(1 << 24) * 1000;
        let times: Vec<i64> = (0..12).map(|n| n * 5 * S).collect();
        assert_eq!(Turns::of(&taken(&times, micros), 1000).and_then(|t| t.bits), Some(24));
        let ticks = |at: i64| (at / 52).rem_euclid(1 << 24);
        let times: Vec<i64> = (0..12).map(|n| n * S / 5).collect();
        let turns = Turns::of(&taken(&times, ticks), 1).unwrap();
        assert_eq!(turns.bits, Some(24));
        assert!((turns.rate - 1.0 / 52.0).abs() < 1e-5);
    }

    #[test]
    fn r12_a_gap_that_goes_on_may_hold_turns_too() {
        let read = |at: i64| at.rem_euclid(M);
        let turns = Turns::of(&taken(&[0, 4 * S, 5 * S, 10 * S], read), 1).unwrap();
        let found: Vec<_> = turns.points.iter().map(|point| (point.turn, point.turns)).collect();
        assert_eq!(
            found,
            [(None, 0), (None, 0), (Some(Turn::Wrap(1)), 1), (Some(Turn::Wrap(1)), 2)]
        );
    }

    #[test]
    fn r13_a_clock_that_reads_less_than_ever_restarted_and_one_that_was_set_back_did_not() {
        let read = |at: i64| if at < 8 * S { at + 5 * S } else { at - 8 * S };
        let turns = Turns::of(&taken(&[0, 4 * S, 10 * S, 12 * S], read), 1).unwrap();
        assert_eq!(turns.bits, None);
        let found: Vec<_> = turns.points.iter().map(|point| (point.turn, point.life)).collect();
        assert_eq!(found, [(None, 0), (None, 0), (Some(Turn::Restart), 1), (None, 1)]);
        let set = |at: i64| if at < 8 * S { at + 90 * S } else { at + 89 * S };
        assert_eq!(Turns::of(&taken(&[0, 7 * S, 8 * S - 1, 8 * S], set), 1), None);
        assert_eq!(Turns::of(&taken(&[0, 1, 2], |at| at), 1), None);
    }

    #[test]
    fn r14_a_reading_is_of_the_turn_and_life_that_is_nearest_to_the_one_before_it() {
        let read = |at: i64| (at + M - 13 * S / 10).rem_euclid(M);
        let turns = Turns::of(&taken(&[0, 10 * S], read), 1).unwrap();
        let mut before = 0;
        for at in (0..100).map(|n| n * S / 10) {
            let found = turns.continued(read(at), before, &[0]).unwrap();
            assert_eq!((found.at, found.turns), (at, (at + M - 13 * S / 10) / M));
            before = found.at;
        }
        let read = |at: i64| if at < 8 * S { at } else { at - 8 * S };
        let turns = Turns::of(&taken(&[0, 100 * S], read), 1);
        assert_eq!(turns, None, "92 s after 100 s do not go back");
        let turns = Turns::of(&taken(&[0, 7 * S, 10 * S], read), 1).unwrap();
        let mut before = 7 * S;
        for at in (70..100).map(|n| n * S / 10) {
            let found = turns.continued(read(at), before, &[0, 1]).unwrap();
            assert_eq!((found.at, found.life), (at, usize::from(at >= 8 * S)));
            before = found.at;
        }
    }

    #[test]
    fn extreme_readings_do_no_harm() {
        let ends = [i64::MIN, -1, 0, 1, i64::MAX];
        for a in ends {
            for b in ends {
                for c in ends {
                    for unit in [1, 1 << 40, i64::MAX] {
                        if let Some(turns) =
                            Turns::of(&[(a, b), (a.max(b), c), (i64::MAX, b)], unit)
                        {
                            for value in ends {
                                let _ = turns.continued(value, a, &[0, 1]);
                            }
                        }
                    }
                }
            }
        }
    }
}
