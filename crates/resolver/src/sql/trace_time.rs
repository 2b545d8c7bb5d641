//! The readings of two clocks of the trace-time machine at a trace time (rules K).

use crate::clock::{Clock, ClockId, MachineId};

/// The machine's readings of the two clocks, shared or owned by a file, as (ts, value) in the order
/// of ts.
#[derive(Debug, Default)]
pub(super) struct Readings {
    realtime: Vec<(i64, i64)>,
    realtime_went_back: bool,
    monotonic: Vec<(i64, i64)>,
}

impl Readings {
    /// REALTIME at a trace time; `None` if no snapshot reads it, or if it does not fit.
    pub fn realtime(&self, ts: i64) -> Option<i64> {
        at(&self.realtime, ts)
    }

    /// The last trace time with a value of REALTIME; `None` if no snapshot reads it, or if it does
    /// not fit.
    pub fn last_with_realtime(&self, value: i64) -> Option<i64> {
        last_with(&self.realtime, self.realtime_went_back, value)
    }

    /// MONOTONIC at a trace time; `None` as for REALTIME.
    pub fn monotonic(&self, ts: i64) -> Option<i64> {
        at(&self.monotonic, ts)
    }
}

/// The same while they are collected, as (ts, id, value).
pub(super) struct UnorderedReadings {
    machine: MachineId,
    realtime: Vec<(i64, i64, i64)>,
    monotonic: Vec<(i64, i64, i64)>,
}

impl UnorderedReadings {
    /// Empty, for this machine's clocks.
    pub fn new(machine: MachineId) -> UnorderedReadings {
        UnorderedReadings { machine, realtime: Vec::new(), monotonic: Vec::new() }
    }

    /// The readings of a clock; `None` if rules K do not use it.
    #[inline]
    pub fn of(&mut self, clock: Clock) -> Option<&mut Vec<(i64, i64, i64)>> {
        if clock.machine != self.machine {
            return None;
        }
        match clock.id {
            ClockId::REALTIME => Some(&mut self.realtime),
            ClockId::MONOTONIC => Some(&mut self.monotonic),
            _ => None,
        }
    }
}

impl From<UnorderedReadings> for Readings {
    fn from(readings: UnorderedReadings) -> Readings {
        let realtime = ordered(readings.realtime);
        Readings {
            realtime_went_back: !realtime.is_sorted_by_key(|&(_, value)| value),
            realtime,
            monotonic: ordered(readings.monotonic),
        }
    }
}

fn ordered(mut readings: Vec<(i64, i64, i64)>) -> Vec<(i64, i64)> {
    readings.sort_unstable();
    readings.dedup_by_key(|(ts, ..)| *ts); // of several with the same ts, the first
    readings.iter().map(|&(ts, _, value)| (ts, value)).collect()
}

/// The value of the clock at a trace time (rule K1). `None` if no snapshot reads the clock, or if
/// the result does not fit.
fn at(readings: &[(i64, i64)], ts: i64) -> Option<i64> {
    let after = readings.partition_point(|&(at, _)| at <= ts);
    let Some(&(before_ts, before)) = after.checked_sub(1).and_then(|i| readings.get(i)) else {
        return readings.first().map(|&(_, value)| value);
    };
    let since = i128::from(before) + i128::from(ts) - i128::from(before_ts);
    let value = match readings.get(after) {
        // Between two readings, time does not go back.
        Some(&(_, next)) if ts > before_ts => since.min(next.into()),
        _ => since,
    };
    i64::try_from(value).ok()
}

/// The last trace time with this value by rule K1. If there is none, it is the trace time at which
/// the clock was set forward over the value, or ran up to it before its first reading (rule K4).
/// `None` if no snapshot reads the clock, or if the result does not fit.
fn last_with(readings: &[(i64, i64)], went_back: bool, value: i64) -> Option<i64> {
    let first = *readings.first()?;
    // The number of readings up to the last one that is not later than the value.
    let until = if went_back {
        let last = readings.iter().rposition(|&(_, read)| read <= value);
        last.map_or(0, |last| last + 1)
    } else {
        readings.partition_point(|&(_, read)| read <= value)
    };
    let (before, after) = readings.split_at(until);
    let at = reached(*before.last().unwrap_or(&first), value);
    let found = match after.first() {
        Some(&(set_forward, _)) if !before.is_empty() && at >= set_forward.into() => {
            let earlier = before.windows(2).rev().find_map(|pair| shown(pair, value));
            earlier.unwrap_or(set_forward.into())
        }
        _ => at,
    };
    i64::try_from(found).ok()
}

/// The time at which a clock that runs as fast as trace time has a value.
fn reached((ts, read): (i64, i64), value: i64) -> i128 {
    i128::from(ts) + i128::from(value) - i128::from(read)
}

/// The time at which the first of two readings, or the range up to the second one, has a value.
/// Until the second one has it, too, that is at most once.
fn shown(pair: &[(i64, i64)], value: i64) -> Option<i128> {
    let &[earlier, later] = pair else {
        return None;
    };
    let at = reached(earlier, value);
    let is_between = at > earlier.0.into() && at < later.0.into() && value < later.1;
    (is_between || value == earlier.1).then_some(at)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::{at, last_with};

    #[test]
    fn k1_before_at_between_and_after() {
        let readings = [(10, 100), (20, 105), (30, 200)];
        assert_eq!(at(&readings, 5), Some(100));
        assert_eq!(at(&readings, 10), Some(100));
        assert_eq!(at(&readings, 14), Some(104));
        assert_eq!(at(&readings, 19), Some(105)); // not 109, so 20 is not before it
        assert_eq!(at(&readings, 20), Some(105));
        assert_eq!(at(&readings, 29), Some(114));
        assert_eq!(at(&readings, 33), Some(203));
        assert_eq!(at(&[], 33), None);
        assert_eq!(at(&readings, i64::MAX), None);
    }

    /// Tries every possible trace time.
    fn naive(readings: &[(i64, i64)], value: i64) -> i64 {
        let first = readings[0];
        let (start, end) = (first.0, readings[readings.len() - 1].0 + 1000);
        let mut found = None;
        for ts in start..=end {
            if at(readings, ts) == Some(value) {
                found = Some(ts);
            }
        }
        let forward = readings
            .windows(2)
            .rev()
            .find(|pair| pair[0].1 <= value && value < pair[1].1)
            .map(|pair| pair[1].0);
        found.or(forward).unwrap_or(first.0 + value - first.1)
    }

    fn last_with_any(readings: &[(i64, i64)], value: i64) -> Option<i64> {
        let went_back = !readings.is_sorted_by_key(|&(_, value)| value);
        last_with(readings, went_back, value)
    }

    #[test]
    fn k4_the_last_trace_time_with_a_value() {
        // Evenly, slower, set forward by 40.
        let readings = [(10, 100), (20, 110), (30, 115), (40, 165)];
        for (value, ts) in [
            (90, 0),
            (100, 10),
            (104, 14),
            (112, 22),
            (115, 30),
            (124, 39),
            (125, 40), // no reading has 125 to 164
            (164, 40),
            (165, 40),
            (170, 45),
        ] {
            assert_eq!(last_with_any(&readings, value), Some(ts), "{value}");
        }
        // Set back, so 105 to 110 occur twice.
        let back = [(10, 100), (20, 110), (30, 104)];
        assert_eq!(last_with_any(&back, 102), Some(12));
        assert_eq!(last_with_any(&back, 110), Some(36));
        // A value from before the clock was set back; later it was set forward over it.
        let over = [(10, 100), (20, 110), (30, 50), (40, 200)];
        assert_eq!(last_with_any(&over, 103), Some(13));
        assert_eq!(last_with_any(&over, 180), Some(40));
        assert_eq!(last_with_any(&[], 180), None);
        assert_eq!(last_with_any(&[(5, 0)], i64::MAX), None);
        assert_eq!(last_with_any(&[(i64::MIN, 0)], -1), None);
    }

    proptest! {
        #[test]
        fn k4_a_value_that_was_shown_leads_back_to_itself(
            steps in prop::collection::vec((1i64..12, -15i64..25), 1..9),
            value in -60i64..260,
        ) {
            let mut reading = (50, 100);
            let mut readings = vec![reading];
            for (later, read) in steps {
                reading = (reading.0 + later, reading.1 + read);
                readings.push(reading);
            }
            prop_assert_eq!(last_with_any(&readings, value), Some(naive(&readings, value)));
            for ts in 0..200 {
                let shown = at(&readings, ts).unwrap();
                let back = last_with_any(&readings, shown).unwrap();
                prop_assert_eq!(at(&readings, back), Some(shown));
                prop_assert!(back >= ts || ts < readings[0].0);
            }
        }
    }
}
