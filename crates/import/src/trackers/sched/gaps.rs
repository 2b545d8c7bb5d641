//! The times in which kernel events are missing, as bundles say (rule DT6).

use rustc_hash::FxHashMap;

use crate::definitions::Gap;

/// A CPU: its machine, and its number there.
pub(super) type MachineCpu = (u32, u32);

/// The gaps of a part, known before the first event is followed.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    of_cpus: FxHashMap<u32, Stretches>,
    of_all: Option<Stretches>,
}

/// Stretches of time, which may overlap.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    /// Sorted.
    ends: Vec<i64>,
    /// The least start of the stretches from this place on.
    least: Vec<i64>,
    /// The greatest start of the stretches up to this place.
    greatest: Vec<i64>,
}

impl Gaps {
    pub fn new(gaps: &[Gap]) -> Gaps {
        let mut of_cpus: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
        for gap in gaps {
            let of_cpu = of_cpus.entry(gap.cpu).or_default();
            of_cpu.push((gap.end, gap.start));
        }
        let of_cpus = of_cpus.into_iter();
        let all = gaps.iter().map(|gap| (gap.end, gap.start)).collect();
        Gaps {
            of_cpus: of_cpus.map(|(cpu, all)| (cpu, Stretches::new(all))).collect(),
            of_all: (!gaps.is_empty()).then(|| Stretches::new(all)),
        }
    }

    #[inline]
    pub fn of_cpu(&self, (_, cpu): MachineCpu) -> Option<&Stretches> {
        match self.of_cpus.is_empty() {
            true => None,
            false => self.of_cpus.get(&cpu),
        }
    }

    /// The gaps of all CPUs of the part.
    #[inline]
    pub fn of_all(&self) -> Option<&Stretches> {
        self.of_all.as_ref()
    }
}

impl Stretches {
    fn new(mut stretches: Vec<(i64, i64)>) -> Stretches {
        stretches.sort_unstable();
        let mut least: Vec<i64> = stretches.iter().map(|&(_, start)| start).collect();
        let mut greatest = least.clone();
        for place in (1..least.len()).rev() {
            least[place - 1] = least[place - 1].min(least[place]);
        }
        for place in 1..greatest.len() {
            greatest[place] = greatest[place].max(greatest[place - 1]);
        }
        Stretches { ends: stretches.into_iter().map(|(end, _)| end).collect(), least, greatest }
    }

    /// Whether a stretch overlaps the time from `start` to `end`, or to the end of the trace.
    pub fn overlap(&self, start: i64, end: Option<i64>) -> bool {
        let next = self.ends.partition_point(|&ends| ends <= start);
        let least = self.least.get(next);
        least.is_some_and(|&least| end.is_none_or(|end| least < end))
    }

    /// Whether a stretch begins after `start` and ends before `end`.
    pub fn lie_within(&self, start: i64, end: i64) -> bool {
        let before = self.ends.partition_point(|&ends| ends < end);
        let last = before.checked_sub(1);
        let greatest = last.and_then(|last| self.greatest.get(last));
        greatest.is_some_and(|&greatest| greatest > start)
    }

    /// The number of stretches that have ended at `ts`.
    pub fn ended(&self, ts: i64) -> usize {
        self.ends.partition_point(|&end| end <= ts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dt6_stretches_answer_as_a_look_at_each_of_them() {
        let mut seed = 1_u64;
        let mut random = |most: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % most) as i64
        };
        for _ in 0..500 {
            let all: Vec<(i64, i64)> = (0..random(5))
                .map(|_| {
                    let start = random(20);
                    (start + random(6), start)
                })
                .collect();
            let stretches = Stretches::new(all.clone());
            for _ in 0..20 {
                let start = random(22);
                let end = start + random(8);
                let overlap = |until: i64| all.iter().any(|&(e, s)| e > start && s < until);
                assert_eq!(stretches.overlap(start, Some(end)), overlap(end));
                assert_eq!(stretches.overlap(start, None), overlap(i64::MAX));
                let within = all.iter().any(|&(e, s)| s > start && e < end);
                assert_eq!(stretches.lie_within(start, end), within);
                let ended = all.iter().filter(|&&(e, _)| e <= start).count();
                assert_eq!(stretches.ended(start), ended);
            }
        }
    }
}
