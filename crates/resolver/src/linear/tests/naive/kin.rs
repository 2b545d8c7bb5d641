//! Clocks of one timekeeper by rules R30 and R31: it tries all choices and takes the cheapest.

use super::{Kinds, Pair, against, difference, median, off, rate, weighted};

/// Chosen readings, each with the one before, and whether a step led to it. In the order of
/// preference of rule R3.
type Chosen = Vec<(usize, Option<usize>, bool)>;

#[derive(Debug)]
pub struct Level {
    pub readings: Vec<Pair>,
    pub offset: i128,
    error: f64,
    /// The first and the last value with this offset.
    start: i64,
    end: i64,
}

#[derive(Debug)]
pub struct Kin {
    pub are_twins: bool,
    pub levels: Vec<Level>,
    pub left_out: Vec<Pair>,
    kinds: Kinds,
    q: f64,
    larger: f64,
    scale: f64,
    beyond: [f64; 2],
}

fn offset(of: Pair) -> i128 {
    i128::from(of.1) - i128::from(of.0)
}

fn away(of: Pair, offset: i128) -> f64 {
    (self::offset(of) - offset).abs() as f64
}

/// Rule R30; `None` is strangers, `Some(true)` twins.
fn kinship(readings: &[Pair], kinds: Kinds) -> Option<bool> {
    let quanta = kinds.quanta(readings);
    let larger = i128::from(quanta[0].max(quanta[1]).max(1));
    let is_same = |of: &&Pair| offset(**of).abs() < larger && i128::from(of.0) > 1_000_000 * larger;
    let same = readings.iter().filter(is_same).count();
    let needed = if readings.len() <= 2 { readings.len() } else { readings.len() / 2 + 1 };
    if same >= needed {
        return Some(true);
    }
    if !kinds.may_be_kin {
        return None;
    }
    let length = |of: &[Pair]| difference(of[0].0, of[1].0);
    let mut lengths: Vec<f64> = readings.windows(2).map(length).collect();
    lengths.sort_by(f64::total_cmp);
    let mut short = lengths.get(3 * lengths.len() / 4).map_or(0.0, |q| q / 1000.0);
    if kinds.is_coarse {
        short = short.max(20e9);
    }
    let q = quanta[0] as f64 + quanta[1] as f64;
    let tells = |of: &&[Pair]| {
        let leaps = against(1.0, of[0], of[1]).abs() > 1e-3 * length(of) + 1e6 + kinds.tick() + q;
        length(of) >= short && !leaps
    };
    let told: Vec<&[Pair]> = readings.windows(2).filter(tells).collect();
    if told.len() < 4 {
        return Some(false);
    }
    let offs = readings.windows(3).map(|of| off(of[0], of[1], of[2]));
    let d = f64::max(3e3, 3.0 * median(offs.collect()).unwrap_or(0.0)) + kinds.tick() + q;
    let rates: Vec<_> = told.iter().map(|of| (rate(of[0], of[1]), length(of))).collect();
    let rate = weighted(&rates);
    let usual = median(told.iter().map(|of| length(of)).collect()).unwrap();
    match rate.abs() > 4.0 * d / ((told.len() as f64).sqrt() * usual) {
        true => None,
        false => Some(false),
    }
}

impl Kin {
    /// `None` if they are strangers.
    pub fn new(readings: &[Pair], kinds: Kinds) -> Option<Kin> {
        let mut readings = readings.to_vec();
        readings.dedup_by_key(|reading| reading.0);
        let are_twins = kinship(&readings, kinds)?;
        let quanta = kinds.quanta(&readings);
        let q = quanta[0] as f64 + quanta[1] as f64;
        let moves = readings.windows(2).map(|of| against(1.0, of[0], of[1]).abs());
        let usual = if readings.len() < 4 { 0.0 } else { median(moves.collect()).unwrap() };
        let mut kin = Kin {
            are_twins,
            levels: Vec::new(),
            left_out: Vec::new(),
            kinds,
            q,
            larger: quanta[0].max(quanta[1]) as f64,
            scale: (10.0 * usual).clamp(6e3, 1e6) + kinds.tick() + q,
            beyond: [0.0; 2],
        };
        let chosen = kin.cheapest(&readings);
        for (index, &(at, _, by_step)) in chosen.iter().enumerate() {
            if index == 0 || by_step {
                kin.levels.push(Level {
                    readings: Vec::new(),
                    offset: 0,
                    error: 0.0,
                    start: 0,
                    end: 0,
                });
            }
            kin.levels.last_mut().unwrap().readings.push(readings[at]);
        }
        let is_out = |index: &usize| !chosen.iter().any(|of| of.0 == *index);
        let left_out = (0..readings.len()).filter(is_out);
        kin.left_out = left_out.map(|index| readings[index]).collect();
        kin.judge(&readings);
        Some(kin)
    }

    /// All choices, and the cheapest of them.
    fn cheapest(&self, readings: &[Pair]) -> Chosen {
        let most = if readings.len() == 2 { 0 } else { 5 };
        let mut best: Option<(u64, Chosen)> = None;
        let mut open: Vec<(u64, Chosen)> = (0..readings.len().min(most + 1))
            .map(|first| (first as u64 * 1_000_000_000, vec![(first, None, false)]))
            .collect();
        while let Some((cost, chosen)) = open.pop() {
            let &(from, _, was_step) = chosen.last().unwrap();
            let left = readings.len() - 1 - from;
            if left <= most {
                let cost = cost + left as u64 * 1_000_000_000;
                let ways = |of: &Chosen| -> Vec<(Option<usize>, bool)> {
                    of.iter().rev().map(|&(_, before, by_step)| (before, by_step)).collect()
                };
                let is_better = best.as_ref().is_none_or(|(least, other)| {
                    let last = other.last().unwrap().0;
                    cost < *least
                        || cost == *least
                            && (from > last || from == last && ways(&chosen) < ways(other))
                });
                if is_better {
                    best = Some((cost, chosen.clone()));
                }
            }
            for to in from + 1..readings.len().min(from + most + 2) {
                let left = (to - from - 1) as u64 * 1_000_000_000;
                let moved = against(1.0, readings[from], readings[to]).abs();
                let mut go = |more: u64, by_step: bool| {
                    let mut chosen = chosen.clone();
                    chosen.push((to, Some(from), by_step));
                    open.push((cost + left + more, chosen));
                };
                if moved <= self.scale {
                    go(((moved / self.scale).powi(2) * 1e9).round() as u64, false);
                }
                let step =
                    if moved > 1e6 + self.kinds.tick() { 900_000_000 } else { 1_700_000_000 };
                go(step + if was_step { 1_200_000_000 } else { 0 }, true);
            }
        }
        best.unwrap().1
    }

    fn judge(&mut self, readings: &[Pair]) {
        let tick = self.kinds.tick();
        for level in &mut self.levels {
            let mut offsets: Vec<i128> = level.readings.iter().map(|&of| offset(of)).collect();
            offsets.sort_unstable();
            let count = offsets.len();
            level.offset = if tick > 0.0 || self.q > 0.0 || self.are_twins {
                (offsets[(count - 1) / 2] + offsets[count / 2]).div_euclid(2)
            } else if self.kinds.target_is_first {
                offsets[count - 1]
            } else {
                offsets[0]
            };
            (level.start, level.end) = (level.readings[0].0, level.readings[count - 1].0);
        }
        let mut offs = Vec::new();
        for level in self.levels.iter().filter(|level| level.readings.len() >= 3) {
            offs.extend(level.readings.iter().map(|&of| away(of, level.offset)));
        }
        let m = offs.len() as f64;
        let scatter = median(offs).map_or(0.0, |usual| 3.0 * (1.0 + 1.0 / m) * usual);
        let ends: Vec<(i64, i64)> = self.levels.iter().map(|of| (of.start, of.end)).collect();
        for (number, level) in self.levels.iter_mut().enumerate() {
            let count = level.readings.len();
            let mut error = f64::max(500.0, f64::max(3000.0 / count as f64, scatter));
            if count <= 2 {
                let first = if number == 0 { i64::MIN } else { ends[number - 1].0 };
                let last = ends.get(number + 1).map_or(i64::MAX, |of| of.1);
                let around = readings.iter().filter(|of| (first..=last).contains(&of.0));
                let offs = around.map(|&of| away(of, level.offset));
                let farthest = offs.filter(|&off| off <= 1e6 + tick).fold(0.0, f64::max);
                error = error.max(500.0 + farthest);
            }
            level.error = tick + self.q + error;
            if self.are_twins {
                level.error = f64::max(100.0, self.larger);
            }
        }
        for number in 1..self.levels.len() {
            let [before, after] = [&self.levels[number - 1], &self.levels[number]];
            let near = (after.offset - before.offset).abs() as f64 / 4.0;
            let between = self.left_out.iter().filter(|of| before.end < of.0 && of.0 < after.start);
            let on = |level: &Level| -> Vec<i64> {
                let on = between.clone().filter(|&&of| away(of, level.offset) <= near);
                on.map(|of| of.0).collect()
            };
            let (early, late) = (on(before).last().copied(), on(after).first().copied());
            if early.is_some() && late.is_some() && late <= early {
                continue;
            }
            if let Some(early) = early {
                self.levels[number - 1].end = early;
            }
            if let Some(late) = late {
                self.levels[number].start = late;
            }
        }
        let (first, last) = (&self.levels[0], &self.levels[self.levels.len() - 1]);
        let farthest = |offset: i128, is_out: &dyn Fn(i64) -> bool| {
            let out = self.left_out.iter().filter(|of| is_out(of.0));
            out.map(|&of| away(of, offset)).fold(0.0, f64::max)
        };
        self.beyond = [
            farthest(first.offset, &|a| a < first.start),
            farthest(last.offset, &|a| a > last.end),
        ];
    }

    /// The lead of the target at a value, and the error.
    pub fn at(&self, value: i64) -> (i128, f64) {
        let (first, last) = (&self.levels[0], &self.levels[self.levels.len() - 1]);
        if value < first.start {
            return (first.offset, first.error + self.beyond[0]);
        }
        if value >= last.end {
            return (last.offset, last.error + self.beyond[1]);
        }
        for (number, level) in self.levels.iter().enumerate() {
            if (level.start..level.end).contains(&value) {
                return (level.offset, level.error);
            }
            let Some(next) = self.levels.get(number + 1) else {
                continue;
            };
            if (level.end..next.start).contains(&value) {
                let step = (next.offset - level.offset).abs() as f64;
                return (level.offset, level.error.max(next.error) + step);
            }
        }
        unreachable!("{value}: {self:?}")
    }
}
