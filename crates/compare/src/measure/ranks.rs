//! Percentiles and buckets of durations that come in order.

use super::Measured;
use super::lines::Lines;
use crate::line::Stat;
use crate::values::Value;

/// The percentiles of one line after another, from durations in order.
pub struct Ranks {
    details: bool,
    pub line: Option<i64>,
    /// The ranks of the percentiles, among sure durations and all.
    wanted: [(u64, u64); 4],
    /// The durations so far, sure ones and all.
    seen: (u64, u64),
    found: [Value; 4],
    buckets: Vec<(i32, u64)>,
}

const PERCENTILES: [(Stat, u64); 4] =
    [(Stat::P50, 50), (Stat::P90, 90), (Stat::P99, 99), (Stat::Max, 100)];

/// The rank of a percentile among `n`, from 1 (rule CM4: nearest rank).
fn rank(percent: u64, n: u64) -> u64 {
    let product = u128::from(percent) * u128::from(n);
    u64::try_from(product.div_ceil(100)).unwrap_or(u64::MAX)
}

impl Ranks {
    pub fn new(details: bool) -> Ranks {
        Ranks {
            details,
            line: None,
            wanted: [(0, 0); 4],
            seen: (0, 0),
            found: [Value::default(); 4],
            buckets: Vec::new(),
        }
    }

    /// Begins a line that has so many sure durations, and so many in all.
    pub fn begin(&mut self, line: i64, (sure, all): (u64, u64)) {
        let wanted = PERCENTILES.map(|(_, percent)| (rank(percent, sure), rank(percent, all)));
        *self = Ranks { line: Some(line), wanted, ..Ranks::new(self.details) };
    }

    /// Takes the next duration of the line, which is not shorter than the one before.
    pub fn next(&mut self, dur: i64, is_sure: bool) {
        self.seen.0 += u64::from(is_sure);
        self.seen.1 += 1;
        for ((sure, all), found) in self.wanted.iter().zip(&mut self.found) {
            if self.seen.1 == *all {
                found.all = Some(dur as f64);
            }
            if is_sure && self.seen.0 == *sure {
                found.sure = Some(dur as f64);
            }
        }
        if self.details {
            let bucket = bucket(dur);
            match self.buckets.last_mut() {
                Some((last, count)) if *last == bucket => *count += 1,
                _ => self.buckets.push((bucket, 1)),
            }
        }
    }

    /// Puts the percentiles and the buckets of the line.
    pub fn end(&mut self, lines: &Lines, measured: &mut Measured) {
        let Some(line) = self.line.take().and_then(|line| lines.of(line)) else { return };
        for ((stat, _), found) in PERCENTILES.iter().zip(self.found) {
            measured.values.push((line.clone(), *stat, found));
        }
        let buckets = self.buckets.drain(..);
        measured.buckets.extend(buckets.map(|(bucket, count)| (line.clone(), bucket, count)));
    }
}

/// The number of the bucket of a duration: each is 2 % wider than the one before (rule CM4).
fn bucket(dur: i64) -> i32 {
    // 1.02 ^ bucket ns; nothing is shorter than 1 ns.
    let dur = dur.max(1) as f64;
    (dur.ln() / 1.02_f64.ln()).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cm4_a_percentile_is_the_row_of_the_nearest_rank() {
        assert_eq!([rank(50, 1), rank(99, 1), rank(100, 1)], [1, 1, 1]);
        assert_eq!([rank(50, 5), rank(90, 5), rank(99, 5), rank(100, 5)], [3, 5, 5, 5]);
        assert_eq!([rank(50, 100), rank(90, 100), rank(99, 100)], [50, 90, 99]);
        assert_eq!(rank(100, u64::MAX), u64::MAX);
    }
}
