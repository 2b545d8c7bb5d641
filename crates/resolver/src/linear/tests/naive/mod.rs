//! One hop by rules R1 to R5 and R30 to R37, without optimizations: it tries all choices and takes
//! the cheapest. `kin.rs` has clocks of one timekeeper.

pub mod kin;

/// The readings of two clocks.
pub type Pair = (i64, i64);

/// The way to reach a reading: from which one, whether by a step, and the begin of the line to that
/// one. In the order of preference of rule R3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    from: Option<usize>,
    is_step: bool,
    line_from: Option<usize>,
}

/// Chosen readings, each with the way to reach it.
type Chosen = Vec<(usize, Way)>;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Between {
    Line,
    Step,
    Slide,
}

#[derive(Debug)]
pub struct Segment {
    pub readings: Vec<Pair>,
    errors: Vec<f64>,
    /// The rate, minus 1, and σ̂.
    rate: f64,
    unsure: f64,
    /// σ of the first gap.
    first_sigma: f64,
    /// w of each gap.
    changes: Vec<f64>,
    /// The kind of the gap after it.
    then: Between,
    /// Readings that are left out but on its line.
    early: Option<(i64, f64)>,
    late: Option<(i64, f64)>,
}

/// The kinds of the two clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kinds {
    pub is_coarse: bool,
    /// Both have ids from 1 to 6.
    pub are_builtin: bool,
    pub is_raw: bool,
    pub is_tsc: bool,
    /// Both are of one timekeeper, but may be strangers all the same.
    pub may_be_kin: bool,
    pub target_is_first: bool,
    /// The nanoseconds in a unit of each.
    pub units: [i64; 2],
}

impl Kinds {
    pub fn tick(&self) -> f64 {
        if self.is_coarse { 10e6 } else { 0.0 }
    }

    /// The quantum of each clock.
    pub fn quanta(&self, readings: &[Pair]) -> [i64; 2] {
        let of = |unit: i64, numbers: Vec<i64>| match unit {
            1 => [6, 5, 4, 3]
                .into_iter()
                .map(|power| 10i64.pow(power))
                .find(|power| numbers.iter().all(|number| number % power == 0))
                .filter(|_| numbers.iter().any(|number| *number != 0))
                .unwrap_or(0),
            unit => unit,
        };
        [
            of(self.units[0], readings.iter().map(|of| of.0).collect()),
            of(self.units[1], readings.iter().map(|of| of.1).collect()),
        ]
    }
}

/// A gap that shows a rate: the rate, minus 1, and σ.
type Told = (f64, f64);

/// The rules of a hop.
#[derive(Debug)]
pub struct Naive {
    pub kappa: f64,
    kinds: Kinds,
    q: f64,
    /// The length from which on a gap shows a rate.
    told: f64,
    pub segments: Vec<Segment>,
    pub left_out: Vec<Pair>,
    /// The rate of the hop, minus 1, and σ̂.
    usual: f64,
    pub unsure: f64,
    /// X.
    pub change: f64,
    usual_change: f64,
    outside: f64,
    beyond: [f64; 2],
    /// Whether a value is so near to a bound that the result depends on rounding.
    pub is_close: bool,
}

pub fn difference(from: i64, to: i64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64
}

/// The movement of b against κ·a.
fn against(kappa: f64, from: Pair, to: Pair) -> f64 {
    let forward = difference(from.0, to.0);
    let exact = (i128::from(to.1) - i128::from(from.1)) - (i128::from(to.0) - i128::from(from.0));
    exact as f64 - forward * (kappa - 1.0)
}

/// The rate, minus 1.
fn rate(from: Pair, to: Pair) -> f64 {
    against(1.0, from, to) / difference(from.0, to.0)
}

fn off(i: Pair, j: Pair, k: Pair) -> f64 {
    (against(1.0, i, j) - rate(i, k) * difference(i.0, j.0)).abs()
}

/// The distance of a reading from the line through another one.
fn off_rate(from: Pair, rate: f64, at: Pair) -> f64 {
    (against(1.0, from, at) - rate * difference(from.0, at.0)).abs()
}

pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let count = numbers.len();
    match count % 2 {
        _ if count == 0 => None,
        1 => Some(numbers[count / 2]),
        _ => Some((numbers[count / 2 - 1] + numbers[count / 2]) / 2.0),
    }
}

/// Rule R33: the number at half of all weight, straight between two.
fn weighted(numbers: &[(f64, f64)]) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: f64 = numbers.iter().map(|of| of.1).sum();
    let place = |index: usize| {
        let before: f64 = numbers[..index].iter().map(|of| of.1).sum();
        before + numbers[index].1 / 2.0
    };
    for index in 1..numbers.len() {
        if place(index) >= all / 2.0 {
            let part = (all / 2.0 - place(index - 1)) / (place(index) - place(index - 1));
            return numbers[index - 1].0 + part * (numbers[index].0 - numbers[index - 1].0);
        }
    }
    numbers[numbers.len() - 1].0
}

/// Rule R33: the rate and σ̂, from a prior with ρ.
fn estimated(prior: f64, rho: Option<f64>, gaps: &[Told]) -> (f64, f64) {
    let mut weight: f64 = gaps.iter().map(|(_, sigma)| 1.0 / sigma.powi(2)).sum();
    if gaps.len() >= 2 {
        weight *= 2.0;
    }
    let own = rho.map_or(0.0, |rho| 1.0 / rho.powi(2));
    if gaps.is_empty() {
        return (prior, 1.0 / own.sqrt());
    }
    let shown: Vec<_> = gaps.iter().map(|&(rate, sigma)| (rate, 1.0 / sigma)).collect();
    let rate = prior + (weighted(&shown) - prior) * weight / (weight + own);
    (rate, 1.0 / (weight + own).sqrt())
}

/// x of rule R35.
fn beyond_chance(d: f64, s: f64) -> f64 {
    f64::max(0.0, d * d - s * s / 9.0).sqrt()
}

impl Naive {
    pub fn new(readings: &[Pair], kinds: Kinds) -> Naive {
        let mut readings = readings.to_vec();
        readings.dedup_by_key(|reading| reading.0);
        let lengths = readings.windows(2).map(|of| difference(of[0].0, of[1].0));
        let mut lengths: Vec<f64> = lengths.collect();
        lengths.sort_by(f64::total_cmp);
        let short = lengths.get(3 * lengths.len() / 4).map_or(0.0, |q| q / 1000.0);
        let told = if kinds.is_coarse { short.max(20e9) } else { short };
        let quanta = kinds.quanta(&readings);
        let q = quanta[0] as f64 + quanta[1] as f64;
        let telling = lengths.iter().copied().filter(|&length| length >= told);
        let usual = median(telling.collect());
        let more = match usual {
            Some(usual) if !kinds.is_tsc => 2.0 * (200e3 + kinds.tick() + q) / usual,
            _ => 0.0,
        };
        let kappa = nominal(&readings, told, 1e-3 + more);
        let hop = Naive {
            kappa,
            kinds,
            q,
            told,
            segments: Vec::new(),
            left_out: Vec::new(),
            usual: kappa - 1.0,
            unsure: 0.0,
            change: 0.0,
            usual_change: 0.0,
            outside: 0.0,
            beyond: [0.0; 2],
            is_close: false,
        };
        hop.fitted(&readings, short)
    }

    /// ρ of a segment.
    fn rho(&self) -> f64 {
        if self.kinds.is_raw || self.kinds.is_tsc { 500e-6 } else { 150e-6 }
    }

    fn leaps(&self, i: Pair, j: Pair) -> bool {
        let slack = if self.kinds.is_coarse { 10e6 } else { 1e6 };
        let most = self.kappa.abs() * 1000e-6 * difference(i.0, j.0) + slack;
        against(self.kappa, i, j).abs() > most
    }

    fn may_be_line(&self, i: Pair, j: Pair) -> bool {
        !self.leaps(i, j) && difference(i.1, j.1) * self.kappa >= 0.0
    }

    fn scale(&self, u: f64) -> f64 {
        let least = f64::max(1000.0 + self.q, self.kinds.tick());
        f64::max(10.0 * u, least)
    }

    fn fitted(mut self, readings: &[Pair], short: f64) -> Naive {
        // R1: groups, each with its usable readings.
        let mut all: Vec<Vec<Pair>> = Vec::new();
        for &reading in readings {
            match all.last_mut() {
                Some(group) if difference(group[0].0, reading.0) < short => group.push(reading),
                _ => all.push(vec![reading]),
            }
        }
        let usable = |group: &Vec<Pair>| {
            let mut group = group.clone();
            if group.len() > 2 {
                let first = group[0];
                let ahead = |of: &Pair| against(self.kappa, first, *of);
                group.sort_by(|one, other| ahead(one).total_cmp(&ahead(other)));
                group = vec![group[(group.len() - 1) / 2]];
            }
            group
        };
        let groups: Vec<Vec<Pair>> = all.iter().map(usable).collect();
        // R3: twice.
        let mut least = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let before = groups[index.saturating_sub(3)..index].concat();
            let after = groups[index + 1..groups.len().min(index + 4)].concat();
            let mut own = Vec::new();
            for &j in group {
                for &i in &before {
                    for &k in &after {
                        let lines = [(i, j), (j, k), (i, k)];
                        if lines.iter().all(|&(from, to)| self.may_be_line(from, to)) {
                            own.push(off(i, j, k));
                        }
                    }
                }
            }
            least.extend(own.into_iter().min_by(f64::total_cmp));
        }
        let first = self.scale(3.0 * median(least).unwrap_or(0.0));
        let nodes: Vec<(usize, Pair)> = groups
            .iter()
            .enumerate()
            .flat_map(|(number, group)| group.iter().map(move |&reading| (number, reading)))
            .collect();
        let mut chosen = self.cheapest(&nodes, groups.len(), first);
        let inner = chosen.windows(3).filter(|of| !of[1].1.is_step && !of[2].1.is_step);
        let offs = inner.map(|of| off(nodes[of[0].0].1, nodes[of[1].0].1, nodes[of[2].0].1));
        let scale = self.scale(median(offs.collect()).unwrap_or(0.0));
        if scale != first {
            chosen = self.cheapest(&nodes, groups.len(), scale);
        }
        self.cut(&nodes, &chosen, scale);
        // Readings of groups without a used reading.
        let used: Vec<usize> = chosen.iter().map(|&(node, _)| nodes[node].0).collect();
        let left_out = all.iter().enumerate().filter(|(number, _)| !used.contains(number));
        self.left_out = left_out.flat_map(|(_, group)| group.clone()).collect();
        self.judge(&all);
        self
    }

    /// Rule R3: all paths through the readings, and the cheapest of them.
    fn cheapest(&self, nodes: &[(usize, Pair)], groups: usize, scale: f64) -> Chosen {
        let mut best: Option<(u64, Chosen)> = None;
        for (start, &(group, _)) in nodes.iter().enumerate().filter(|(_, node)| node.0 <= 5) {
            let way = Way { from: None, is_step: false, line_from: None };
            let cost = group as u64 * 1_000_000_000;
            self.go_on(nodes, groups, scale, &mut vec![(start, way)], cost, &mut best);
        }
        best.unwrap().1
    }

    fn go_on(
        &self,
        nodes: &[(usize, Pair)],
        groups: usize,
        scale: f64,
        chosen: &mut Chosen,
        cost: u64,
        best: &mut Option<(u64, Chosen)>,
    ) {
        let &(j, by) = chosen.last().unwrap();
        let left = groups - 1 - nodes[j].0;
        if left <= 5 {
            let cost = cost + left as u64 * 1_000_000_000;
            let is_better = match best {
                None => true,
                Some((least, _)) if *least != cost => cost < *least,
                Some((_, other)) => {
                    // The later last reading; then the path that was found first, from the end on.
                    let (last, last_of_other) = (j, other.last().unwrap().0);
                    let ways = chosen.iter().rev().map(|&(_, way)| way);
                    let others = other.iter().rev().map(|&(_, way)| way);
                    last > last_of_other || last == last_of_other && ways.lt(others)
                }
            };
            if is_better {
                *best = Some((cost, chosen.clone()));
            }
        }
        for (k, &(group, to)) in nodes.iter().enumerate() {
            if group <= nodes[j].0 || group > nodes[j].0 + 6 {
                continue;
            }
            let from = nodes[j].1;
            let left = (group - nodes[j].0 - 1) as u64 * 1_000_000_000;
            let bend = |x: f64| (f64::min(x * x, 1.2) * 1e9).round() as u64;
            if self.may_be_line(from, to) {
                let bent = match (by.from, by.is_step, by.line_from) {
                    (Some(i), false, _) => bend(off(nodes[i].1, from, to) / scale),
                    (Some(before), true, Some(i)) => {
                        let (i, before) = (nodes[i].1, nodes[before].1);
                        let d = difference(i.0, before.0);
                        let e = difference(from.0, to.0);
                        let change = (rate(from, to) - rate(i, before)).abs();
                        bend(change * d * e / (d + e) / scale)
                    }
                    _ => 0,
                };
                let way = Way { from: Some(j), is_step: false, line_from: None };
                chosen.push((k, way));
                self.go_on(nodes, groups, scale, chosen, cost + left + bent, best);
                chosen.pop();
            }
            let leaps = self.leaps(from, to);
            let step = if leaps { 900_000_000 } else { 1_700_000_000 };
            let again = if by.is_step { 1_200_000_000 } else { 0 };
            let line_from = by.from.filter(|_| !by.is_step);
            let way = Way { from: Some(j), is_step: true, line_from };
            chosen.push((k, way));
            self.go_on(nodes, groups, scale, chosen, cost + left + step + again, best);
            chosen.pop();
        }
    }

    /// The segments, and the gaps between them.
    fn cut(&mut self, nodes: &[(usize, Pair)], chosen: &Chosen, scale: f64) {
        let read = |index: usize| nodes[chosen[index].0].1;
        let is_line = |index: usize| chosen.get(index).is_some_and(|(_, way)| !way.is_step);
        let mut segment = vec![read(0)];
        for index in 1..chosen.len() {
            let (j, k) = (read(index - 1), read(index));
            let mut then = match (is_line(index), self.may_be_line(j, k)) {
                (true, _) => Between::Line,
                (false, true) => Between::Slide,
                (false, false) => Between::Step,
            };
            if then == Between::Slide && index > 1 && is_line(index - 1) && is_line(index + 1) {
                let beside = [rate(read(index - 2), j), rate(k, read(index + 1))];
                let (low, high) = (beside[0].min(beside[1]), beside[0].max(beside[1]));
                let slack = scale / difference(j.0, k.0);
                if (low - slack..=high + slack).contains(&rate(j, k)) {
                    then = Between::Line;
                }
            }
            if then != Between::Line {
                let readings = std::mem::take(&mut segment);
                self.segments.push(Segment::of(readings, then));
            }
            segment.push(k);
        }
        self.segments.push(Segment::of(segment, Between::Line));
    }

    /// The gaps of a segment: rate, σ, and whether they tell.
    fn gaps(&mut self, segment: &Segment) -> Vec<(Told, bool)> {
        let mut gaps = Vec::new();
        for (index, of) in segment.readings.windows(2).enumerate() {
            let length = difference(of[0].0, of[1].0);
            let [e, f] = [segment.errors[index], segment.errors[index + 1]];
            let sigma = (e * e + f * f).sqrt() / length;
            let own = rate(of[0], of[1]);
            let (off, most) = ((own - (self.kappa - 1.0)).abs(), self.kappa.abs() * 1e-3 + sigma);
            self.is_close |= (off - most).abs() < 1e-6 * most;
            gaps.push(((own, sigma), length >= self.told && off <= most));
        }
        gaps
    }

    /// The readings that are left out between two readings of the source.
    fn left_out_between(&self, from: i64, to: i64) -> Vec<Pair> {
        let between = self.left_out.iter().filter(|of| from < of.0 && of.0 < to);
        between.copied().collect()
    }

    /// Rules R4, R5, R32, R33 and R35.
    fn judge(&mut self, groups: &[Vec<Pair>]) {
        let (mut inner, mut second) = (Vec::new(), Vec::new());
        for segment in &self.segments {
            let readings = &segment.readings;
            inner.extend(readings.windows(3).map(|of| off(of[0], of[1], of[2])));
            second.extend(readings.windows(5).map(|of| off(of[0], of[2], of[4])));
        }
        let m = inner.len() as f64;
        let m1 = median(inner).unwrap_or(0.0);
        let mut part = 1.0;
        if second.len() >= 8 && m1 > 0.0 {
            let m2 = median(second).unwrap();
            part = f64::max(1.0 / 9.0, 1.0 - f64::max(0.0, (m2 / m1).powi(2) - 1.0) / 7.0).sqrt();
        }
        let least = match (self.kinds.is_coarse, self.kinds.are_builtin) {
            (true, _) => 10e6,
            (false, true) => 500.0,
            (false, false) => 100.0,
        };
        let shown = f64::max(0.0, m1 - self.q / 2.0);
        let told = 3.0 * part * (1.0 + 1.0 / m.max(1.0)) * shown;
        let noise = self.q + f64::max(least, f64::max(1500.0 / (1.0 + m), told));

        let mut segments = std::mem::take(&mut self.segments);
        for segment in &mut segments {
            segment.find_errors(noise);
            for (reading, error) in segment.readings.iter().zip(&mut segment.errors) {
                let group = groups.iter().find(|group| group.contains(reading)).unwrap();
                for other in group {
                    let off = against(self.kappa, *reading, *other).abs();
                    self.is_close |= (off - 1e6).abs() < 1e-3;
                    if off <= 1e6 {
                        *error = error.max(off);
                    }
                }
            }
        }
        let gaps: Vec<Vec<(Told, bool)>> = segments.iter().map(|of| self.gaps(of)).collect();
        let telling = |gaps: &Vec<(Told, bool)>| -> Vec<Told> {
            gaps.iter().filter(|gap| gap.1).map(|gap| gap.0).collect()
        };
        let all: Vec<Told> = gaps.iter().flat_map(telling).collect();
        let has_no_prior = self.kinds.is_tsc || self.kappa != 1.0 && !all.is_empty();
        let rho = if has_no_prior { None } else { Some(self.rho()) };
        (self.usual, self.unsure) = estimated(self.kappa - 1.0, rho, &all);
        let least_change = f64::max(1e-7, 1e-6 / all.len().max(1) as f64);
        let mut most = f64::INFINITY;
        if !all.is_empty() {
            let sigmas: Vec<_> = all.iter().map(|&(_, sigma)| (sigma, 1.0 / sigma)).collect();
            most = 10.0 * weighted(&sigmas).min(rho.unwrap_or(f64::INFINITY));
        }
        self.is_close |= all.iter().any(|of| (of.1 - most).abs() < 1e-6 * most);
        let changing = all.iter().filter(|of| of.1 <= most);
        let changes = changing.map(|of| beyond_chance(of.0 - self.usual, of.1));
        self.change = changes.fold(0.0, f64::max);
        self.outside = self.unsure + 2.0 * self.change + f64::max(1.2e-6, least_change);
        for (segment, gaps) in segments.iter_mut().zip(&gaps) {
            (segment.rate, segment.unsure) =
                estimated(self.usual, Some(self.rho()), &telling(gaps));
            segment.first_sigma = gaps.first().map_or(0.0, |gap| gap.0.1);
            for (gap, &((own, sigma), _)) in gaps.iter().enumerate() {
                let beside = [gap.checked_sub(1), Some(gap + 1)].into_iter().flatten();
                let beside = beside.filter_map(|beside| gaps.get(beside));
                let beside = beside.filter(|((_, sigma), tells)| *tells && *sigma <= most);
                let change = beside
                    .map(|((rate, other), _)| beyond_chance(rate - own, sigma + other))
                    .max_by(f64::total_cmp);
                let change = change.unwrap_or(beyond_chance(own - self.usual, sigma + self.unsure));
                segment.changes.push(change.max(least_change));
            }
        }
        let (mut usual, mut lengths) = (Vec::new(), Vec::new());
        for (segment, gaps) in segments.iter().zip(&gaps) {
            for (gap, ((_, sigma), tells)) in gaps.iter().enumerate() {
                if *tells && *sigma <= most {
                    usual.push(segment.changes[gap]);
                    let [from, to] = [segment.readings[gap], segment.readings[gap + 1]];
                    lengths.push(difference(from.0, to.0));
                }
            }
        }
        self.usual_change = median(usual).unwrap_or(least_change);
        let long = |of: &[Pair]| difference(of[0].0, of[1].0);
        let all = segments.iter().flat_map(|of| of.readings.windows(2).map(long));
        let usual_length = match (median(all.collect()), median(lengths)) {
            (Some(all), Some(sure)) => all.max(sure / 2.0),
            _ => f64::INFINITY,
        };
        for segment in &mut segments {
            for (gap, of) in segment.readings.windows(2).enumerate() {
                let ratio = long(of) / usual_length;
                if ratio > 1.5 {
                    let least = self.usual_change * ratio.sqrt();
                    segment.changes[gap] = segment.changes[gap].max(least);
                }
            }
        }
        self.judge_ends(&mut segments);
        self.segments = segments;
    }

    fn judge_ends(&mut self, segments: &mut [Segment]) {
        let most = if self.kinds.is_coarse { 10e6 } else { 1e6 };
        let rates: Vec<f64> = segments.iter().map(|of| of.rate).collect();
        let ends: Vec<(Pair, Pair)> = segments.iter().map(Segment::ends).collect();
        let after = |number: usize| ends.get(number).map_or(i64::MAX, |of| of.0.0);
        let before = |number: usize| number.checked_sub(1).map_or(i64::MIN, |at| ends[at].1.0);
        for (number, segment) in segments.iter_mut().enumerate() {
            if segment.readings.len() < 3 {
                for at in self.left_out_between(before(number), after(number + 1)) {
                    for &from in &segment.readings {
                        let off = off_rate(from, rates[number], at);
                        if off <= most {
                            segment.errors.iter_mut().for_each(|error| *error = error.max(off));
                        }
                    }
                }
            }
        }
        for number in 1..segments.len() {
            let (j, k) = (ends[number - 1].1, ends[number].0);
            if segments[number - 1].then != Between::Step {
                continue;
            }
            let near = off_rate(j, rates[number - 1], k) / 4.0;
            let out = self.left_out_between(j.0, k.0);
            for at in &out {
                let offs = [off_rate(j, rates[number - 1], *at), off_rate(k, rates[number], *at)];
                self.is_close |= offs.iter().any(|off| (off - near).abs() <= 1e-9 * near);
            }
            let early = out.iter().filter(|at| off_rate(j, rates[number - 1], **at) <= near);
            let late = out.iter().filter(|at| off_rate(k, rates[number], **at) <= near);
            let (early, late) = (early.map(|of| of.0).max(), late.map(|of| of.0).min());
            if early.is_some() && late.is_some() && late <= early {
                continue;
            }
            let error = |end: f64, away: i64| end + self.grown(away as f64);
            let end = *segments[number - 1].errors.last().unwrap();
            segments[number - 1].late = early.map(|at| (at, error(end, at - j.0)));
            let begin = segments[number].errors[0];
            segments[number].early = late.map(|at| (at, error(begin, k.0 - at)));
        }
        let beyond = |from: Pair, out: Vec<Pair>| {
            let offs = out.into_iter().map(|at| off_rate(from, self.usual, at));
            offs.fold(0.0, f64::max)
        };
        let (first, last) = (ends[0].0, ends[ends.len() - 1].1);
        self.beyond = [
            beyond(first, self.left_out_between(i64::MIN, first.0)),
            beyond(last, self.left_out_between(last.0, i64::MAX)),
        ];
    }

    /// Rule R37: the drift and its error, if they are known.
    pub fn drift_ppm(&self) -> Option<(f64, f64)> {
        let (drift, error) = self.drift();
        (drift.abs() > error && self.kappa != 0.0)
            .then(|| (drift / self.kappa * 1e6, error / self.kappa.abs() * 1e6))
    }

    /// The growth of the error outside; also at the reading itself it is unknown or not.
    fn grown(&self, away: f64) -> f64 {
        if self.outside.is_infinite() { f64::INFINITY } else { self.outside * away }
    }

    fn drift(&self) -> (f64, f64) {
        (self.usual - (self.kappa - 1.0), self.unsure + 2.0 * self.change)
    }

    /// Whether it is so near to its error that rounding decides.
    pub fn is_drift_close(&self) -> bool {
        let (drift, error) = self.drift();
        (drift.abs() - error).abs() < 1e-6 * error
    }

    /// The lead of the target at a value, and the error.
    pub fn at(&self, value: f64) -> (f64, f64) {
        let ahead = |from: Pair, rate: f64| {
            (i128::from(from.1) - i128::from(from.0)) as f64 + (value - from.0 as f64) * rate
        };
        let (first, last) = (&self.segments[0], &self.segments[self.segments.len() - 1]);
        let (begin, end) = (first.ends().0, last.ends().1);
        if value < begin.0 as f64 {
            let away = begin.0 as f64 - value;
            let error = first.errors[0] + self.beyond[0] + self.grown(away);
            return (ahead(begin, self.usual), error);
        }
        if value >= end.0 as f64 {
            let away = value - end.0 as f64;
            let error = last.errors.last().unwrap() + self.beyond[1] + self.grown(away);
            return (ahead(end, self.usual), error);
        }
        for (number, segment) in self.segments.iter().enumerate() {
            let points = segment.points(segment.rate, self.usual_change);
            for of in points.windows(2) {
                if (of[0].at.0 as f64..of[1].at.0 as f64).contains(&value) {
                    let (from, to) = (of[0].at, of[1].at);
                    let near = (value - from.0 as f64).min(to.0 as f64 - value);
                    let error = of[0].error.max(of[1].error) + of[0].change * near;
                    return (ahead(from, rate(from, to)), error);
                }
            }
            let next = self.segments.get(number + 1);
            let Some(next) = next else { continue };
            let own = segment.rate;
            let beyond = next.points(next.rate, self.usual_change);
            let (from, to) = (points[points.len() - 1], beyond[0]);
            if value >= to.at.0 as f64 {
                continue;
            }
            let has_corner = next.early.is_some() || next.readings.len() < 2;
            let sigma = if has_corner { 0.0 } else { next.first_sigma };
            let (later, change) = match beyond.get(1) {
                Some(second) => (rate(to.at, second.at), to.change),
                None => (self.usual, self.usual_change),
            };
            let span = difference(from.at.0, to.at.0);
            let missed = off_rate(from.at, own, to.at);
            let error = from.error.max(to.error)
                + missed
                + (beyond_chance(own - later, sigma) + segment.unsure + change) * span;
            let rate = match segment.then {
                Between::Slide => rate(from.at, to.at),
                Between::Line | Between::Step => own,
            };
            return (ahead(from.at, rate), error);
        }
        unreachable!("{value}: {self:?}")
    }
}

/// A corner of the estimate.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: Pair,
    error: f64,
    /// w of the gap after it.
    change: f64,
}

impl Segment {
    fn of(readings: Vec<Pair>, then: Between) -> Segment {
        Segment {
            readings,
            errors: Vec::new(),
            rate: 0.0,
            unsure: 0.0,
            first_sigma: 0.0,
            changes: Vec::new(),
            then,
            early: None,
            late: None,
        }
    }

    fn ends(&self) -> (Pair, Pair) {
        (self.readings[0], self.readings[self.readings.len() - 1])
    }

    fn find_errors(&mut self, noise: f64) {
        let of = &self.readings;
        let last = of.len() - 1;
        let end = |at: Pair, near: Pair, far: Pair| {
            let (d, away) = (difference(near.0, far.0), difference(at.0, near.0));
            off(near, at, far) * f64::min(1.0, 2.0 * (d / away).abs())
        };
        let residual = |index: usize| match index {
            _ if of.len() < 3 => 0.0,
            0 => end(of[0], of[1], of[2]),
            _ if index == last => end(of[last], of[last - 1], of[last - 2]),
            _ => off(of[index - 1], of[index], of[index + 1]),
        };
        self.errors = (0..of.len()).map(|index| noise.max(residual(index))).collect();
    }

    /// The corners, including readings that are left out.
    fn points(&self, median: f64, usual_change: f64) -> Vec<Point> {
        let corner = |from: Pair, (a, error): (i64, f64)| {
            let gained = (difference(from.0, a) * median).round() as i64;
            Point { at: (a, from.1 + (a - from.0) + gained), error, change: usual_change }
        };
        let (first, last) = self.ends();
        let mut points: Vec<Point> = self.early.map(|at| corner(first, at)).into_iter().collect();
        for (index, (&at, &error)) in self.readings.iter().zip(&self.errors).enumerate() {
            let change = self.changes.get(index).copied().unwrap_or(usual_change);
            points.push(Point { at, error, change });
        }
        points.extend(self.late.map(|at| corner(last, at)));
        points
    }
}

/// The nominal rate, κ of rules R1 and R34, if it is off 1 by more than `most`.
fn nominal(readings: &[Pair], told: f64, most: f64) -> f64 {
    let gaps = readings.windows(2).filter(|of| difference(of[0].0, of[1].0) >= told);
    let mut rates: Vec<f64> = gaps.map(|of| 1.0 + rate(of[0], of[1])).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    let measured = match rates.get(middle) {
        None => 1.0,
        Some(&upper) if rates.len().is_multiple_of(2) => {
            let lower = rates[middle - 1];
            let is_nearer = (lower - 1.0).abs() <= (upper - 1.0).abs();
            if is_nearer { lower } else { upper }
        }
        Some(&median) => median,
    };
    match (measured - 1.0).abs() > most {
        true => measured,
        false => 1.0,
    }
}
