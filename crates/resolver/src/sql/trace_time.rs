//! What two clocks of the host read at a trace time (rules K).

use jiff::Timestamp;

use crate::clock::{Clock, ClockId, MachineId};

/// The host's readings of the two clocks, as (ts, value) in order of ts.
#[derive(Debug, Default)]
pub(super) struct Readings {
    realtime: Vec<(i64, i64)>,
    monotonic: Vec<(i64, i64)>,
}

impl Readings {
    /// REALTIME at a trace time; `None` if it was never read, or does not fit.
    pub fn realtime(&self, ts: i64) -> Option<i64> {
        at(&self.realtime, ts)
    }

    /// The same of MONOTONIC.
    pub fn monotonic(&self, ts: i64) -> Option<i64> {
        at(&self.monotonic, ts)
    }
}

/// The same while they are collected, as (ts, id, value).
#[derive(Default)]
pub(super) struct UnorderedReadings {
    realtime: Vec<(i64, i64, i64)>,
    monotonic: Vec<(i64, i64, i64)>,
}

impl UnorderedReadings {
    /// The readings of a clock; `None` if rules K do not look at it.
    #[inline]
    pub fn of(&mut self, clock: Clock) -> Option<&mut Vec<(i64, i64, i64)>> {
        if clock.machine != MachineId::HOST {
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
        Readings {
            realtime: ordered(readings.realtime),
            monotonic: ordered(readings.monotonic),
        }
    }
}

fn ordered(mut readings: Vec<(i64, i64, i64)>) -> Vec<(i64, i64)> {
    readings.sort_unstable();
    readings.dedup_by_key(|(ts, ..)| *ts); // of several with the same ts the first
    readings.iter().map(|&(ts, _, value)| (ts, value)).collect()
}

/// Rule K1. `None` if the clock was never read, or the result does not fit.
fn at(readings: &[(i64, i64)], ts: i64) -> Option<i64> {
    let after = readings.partition_point(|&(at, _)| at <= ts);
    let Some(&(before_ts, before)) = after.checked_sub(1).and_then(|i| readings.get(i)) else {
        return readings.first().map(|&(_, value)| value);
    };
    let since = i128::from(before) + i128::from(ts) - i128::from(before_ts);
    let value = match readings.get(after) {
        // Between two readings time is not seen going back.
        Some(&(_, next)) if ts > before_ts => since.min(next.into()),
        _ => since,
    };
    i64::try_from(value).ok()
}

/// Rule K2.
pub(super) fn as_utc(realtime: i64) -> String {
    let (seconds, nanoseconds) = (
        realtime.div_euclid(1_000_000_000),
        realtime.rem_euclid(1_000_000_000),
    );
    // Every 64-bit number of nanoseconds is in the years 1677 to 2262.
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{}.{nanoseconds:09}", time.strftime("%Y-%m-%dT%H:%M:%S"))
}

#[cfg(test)]
mod tests {
    use super::{as_utc, at};

    #[test]
    fn k1_before_at_between_and_after() {
        let readings = [(10, 100), (20, 105), (30, 200)];
        assert_eq!(at(&readings, 5), Some(100));
        assert_eq!(at(&readings, 10), Some(100));
        assert_eq!(at(&readings, 14), Some(104));
        assert_eq!(at(&readings, 19), Some(105)); // not 109, so that 20 is not before it
        assert_eq!(at(&readings, 20), Some(105));
        assert_eq!(at(&readings, 29), Some(114));
        assert_eq!(at(&readings, 33), Some(203));
        assert_eq!(at(&[], 33), None);
        assert_eq!(at(&readings, i64::MAX), None);
    }

    #[test]
    fn k2_utc_to_the_nanosecond() {
        assert_eq!(
            as_utc(1_652_903_999_999_999_995),
            "2022-05-18T19:59:59.999999995"
        );
        assert_eq!(as_utc(-1), "1969-12-31T23:59:59.999999999");
        assert_eq!(as_utc(i64::MIN), "1677-09-21T00:12:43.145224192");
        assert_eq!(as_utc(i64::MAX), "2262-04-11T23:47:16.854775807");
    }
}
