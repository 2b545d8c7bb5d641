//! Rules AL9 to AL16 written down as plainly as possible: whatever the rules say of all points is a
//! loop over all points. Slow.

use std::collections::BTreeSet;

/// A limit of θ in ns: at most `theta` at `t` (upper), or at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub t: f64,
    pub theta: f64,
    pub is_upper: bool,
    pub index: u64,
}

type Points = Vec<Point>;

const R: f64 = 500e-6;

/// What is found between two steps.
#[derive(Debug, Clone)]
pub struct Stretch {
    pub points: Points,
    pub s1: f64,
    pub s2: f64,
    pub c: Option<f64>,
    /// The half width of the corridor's slopes around c; `None`: s₁…s₂.
    pub corridor: (f64, f64),
}

#[derive(Debug, Clone, Default)]
pub struct Result {
    pub stretches: Vec<Stretch>,
    pub steps: Vec<(f64, f64)>,
    pub violated: BTreeSet<u64>,
    pub suspects: BTreeSet<u64>,
    pub tails: Vec<Tail>,
}

/// Where a clock may have been set near an end: after a time (or before), by how much θ may be less or more.
#[derive(Debug, Clone, Copy)]
pub struct Tail {
    pub from: f64,
    pub is_last: bool,
    pub by: f64,
    pub is_upper: bool,
}

/// AL9
fn hi(points: &[Point], (s1, s2): (f64, f64), x: f64) -> f64 {
    let cone = |p: &Point| match x >= p.t {
        true => p.theta + s2 * (x - p.t),
        false => p.theta - s1 * (p.t - x),
    };
    points.iter().filter(|p| p.is_upper).map(cone).fold(f64::INFINITY, f64::min)
}

fn lo(points: &[Point], (s1, s2): (f64, f64), x: f64) -> f64 {
    let cone = |p: &Point| match x >= p.t {
        true => p.theta + s1 * (x - p.t),
        false => p.theta - s2 * (p.t - x),
    };
    points.iter().filter(|p| !p.is_upper).map(cone).fold(f64::NEG_INFINITY, f64::max)
}

fn conflict(p: &Point, q: &Point, slopes: (f64, f64)) -> bool {
    let (upper, lower) = if p.is_upper { (p, q) } else { (q, p) };
    p.is_upper != q.is_upper && lower.theta > hi(&[*upper], slopes, lower.t) + 0.0101
}

/// AL10: the points that agree, and the others.
fn without_conflicts(points: &[Point], slopes: (f64, f64)) -> (Points, Points) {
    let mut left = points.to_vec();
    let mut out = Vec::new();
    loop {
        let conflicts = |p: &Point| left.iter().filter(|q| conflict(p, q, slopes)).count();
        let counted: Vec<(Point, usize)> = left.iter().map(|p| (*p, conflicts(p))).collect();
        let most = |is_upper: bool| {
            let of_side = counted.iter().filter(|(p, count)| p.is_upper == is_upper && *count > 0);
            of_side.fold(None, |best: Option<(Point, usize)>, &(p, count)| match best {
                Some(best) if best.1 >= count => Some(best),
                _ => Some((p, count)),
            })
        };
        let (Some(upper), Some(lower)) = (most(true), most(false)) else { break };
        let mut gone = Vec::new();
        if upper.1 >= lower.1 {
            gone.push(upper.0);
        }
        if lower.1 >= upper.1 {
            gone.push(lower.0);
        }
        left.retain(|p| !gone.contains(p));
        out.extend(gone);
    }
    (left, out)
}

struct Part {
    agreeing: Points,
    violated: Points,
    /// From the cut before it to the one after it.
    from: f64,
    to: f64,
}

/// AL11
fn parts(points: &[Point], (from, to): (f64, f64), depth: u32) -> Vec<Part> {
    let (agreeing, violated) = without_conflicts(points, (-R, R));
    let whole = violated.len();
    let alone = vec![Part { agreeing, violated, from, to }];
    if whole <= 5 || depth == 0 {
        return alone;
    }
    let mut times: Vec<f64> = points.iter().map(|p| p.t).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut best = (0, 0.0);
    for pair in times.windows(2) {
        let at = pair[0] + (pair[1] - pair[0]) / 2.0;
        let astride = |p: &Point| {
            let after = points.iter().filter(|q| q.t >= at);
            after.filter(|q| conflict(p, q, (-R, R))).count()
        };
        let astride: usize = points.iter().filter(|p| p.t < at).map(astride).sum();
        if astride > best.0 {
            best = (astride, at);
        }
    }
    let (before, after): (Points, Points) = points.iter().partition(|p| p.t < best.1);
    if best.0 == 0 || before.len() < 3 || after.len() < 3 {
        return alone;
    }
    let mut cut = parts(&before, (from, best.1), depth - 1);
    cut.extend(parts(&after, (best.1, to), depth - 1));
    let violated: usize = cut.iter().map(|part| part.violated.len()).sum();
    if violated + 5 * (cut.len() - 1) < whole { cut } else { alone }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        1 => numbers[middle],
        _ => numbers[middle - 1] + (numbers[middle] - numbers[middle - 1]) / 2.0,
    }
}

/// The medians of AL12's bins.
fn medians(points: &[Point], is_upper: bool) -> Vec<(f64, f64)> {
    let side: Points = points.iter().copied().filter(|p| p.is_upper == is_upper).collect();
    let bins = 24.min(side.len() / 2).max(1);
    let mut start = 0;
    let mut medians = Vec::new();
    for bin in 0..bins {
        let size = side.len() / bins + usize::from(bin < side.len() % bins);
        let bin = &side[start..start + size];
        start += size;
        let of = |number: fn(&Point) -> f64| median(bin.iter().map(number).collect());
        medians.push((of(|p| p.t), of(|p| p.theta)));
    }
    medians
}

fn rate_of_medians(medians: &[(f64, f64)]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (place, p) in medians.iter().enumerate() {
        for q in &medians[place + 1..] {
            if q.0 > p.0 {
                slopes.push((q.1 - p.1) / (q.0 - p.0));
            }
        }
    }
    (!slopes.is_empty()).then(|| median(slopes))
}

fn count(points: &[Point], is_upper: bool) -> usize {
    points.iter().filter(|p| p.is_upper == is_upper).count()
}

/// AL12 (1)
fn without_wrong_rates(part: &mut Part) {
    let n = part.violated.len();
    if n == 0 || count(&part.agreeing, true) < 8 || count(&part.agreeing, false) < 8 {
        return;
    }
    let rate = |is_upper| rate_of_medians(&medians(&part.agreeing, is_upper));
    let (Some(r1), Some(r2)) = (rate(true), rate(false)) else { return };
    for w in [30e-6, 100e-6, 250e-6] {
        if (r1 - r2).abs() <= w {
            let middle = (r1 + r2) / 2.0;
            let (rest, out) = without_conflicts(&part.agreeing, (middle - w, middle + w));
            if out.len() as f64 <= n as f64 / 2.0 {
                part.agreeing = rest;
                part.violated.extend(out);
                return;
            }
        }
    }
}

/// least and most of AL12 (2).
fn rates_between(points: &[Point], (s1, s2): (f64, f64)) -> Option<(f64, f64)> {
    let mut order = points.to_vec();
    order.sort_by(|p, q| p.t.total_cmp(&q.t));
    let (first, last) = (order[0].t, order[order.len() - 1].t);
    let width = |p: &Point| hi(points, (s1, s2), p.t) - lo(points, (s1, s2), p.t);
    let mut chosen = Vec::new();
    for part in 0..96 {
        let is_in = |p: &&Point| {
            let place = if last > first { (p.t - first) / (last - first) * 96.0 } else { 0.0 };
            (place.floor() as usize).min(95) == part
        };
        let inside: Points = order.iter().filter(is_in).copied().collect();
        let least = inside.iter().map(width).fold(f64::INFINITY, f64::min);
        chosen.extend(inside.into_iter().find(|p| width(p) <= least + 0.0101));
    }
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    for i in &chosen {
        for j in chosen.iter().filter(|j| j.t > i.t) {
            let bounds = |p: &Point| (lo(points, (s1, s2), p.t), hi(points, (s1, s2), p.t));
            let ((lo_i, hi_i), (lo_j, hi_j)) = (bounds(i), bounds(j));
            most = most.min((hi_j - lo_i) / (j.t - i.t));
            least = least.max((lo_j - hi_i) / (j.t - i.t));
        }
    }
    (least.is_finite() && most.is_finite()).then_some((least, most))
}

/// AL12 (2)
fn slopes(points: &[Point]) -> (f64, f64) {
    let (mut s1, mut s2) = (-R, R);
    if count(points, true) == 0 || count(points, false) == 0 {
        return (s1, s2);
    }
    for _ in 0..3 {
        let Some((least, most)) = rates_between(points, (s1, s2)) else { break };
        let x = (most - least) / 2.0;
        if x < -10e-6 {
            break;
        }
        let w = 20e-6 + if x < 0.0 { 4.0 * x.abs() } else { x };
        let middle = (most + least) / 2.0;
        if s1.max(middle - w) <= s2.min(middle + w) {
            (s1, s2) = (s1.max(middle - w), s2.min(middle + w));
        }
    }
    (s1, s2)
}

/// Whether x is below −10 ppm with ±R.
fn is_unsteady(points: &[Point]) -> bool {
    rates_between(points, (-R, R)).is_some_and(|(least, most)| (most - least) / 2.0 < -10e-6)
}

/// How far a point is from the bound of the other side; below 0 if that excludes it.
fn room(points: &[Point], slopes: (f64, f64), p: &Point) -> f64 {
    match p.is_upper {
        true => p.theta - lo(points, slopes, p.t),
        false => hi(points, slopes, p.t) - p.theta,
    }
}

fn polygon(corners: &[(f64, f64)], x: f64) -> f64 {
    if x < corners[0].0 {
        return corners[0].1;
    }
    for pair in corners.windows(2) {
        if pair[0].0 <= x && x < pair[1].0 {
            let part = (x - pair[0].0) / (pair[1].0 - pair[0].0);
            return pair[0].1 + (pair[1].1 - pair[0].1) * part;
        }
    }
    corners[corners.len() - 1].1
}

/// AL15
fn suspects(part: &mut Part, before: &Before) -> Points {
    let mut suspects: Points = Vec::new();
    let most = [true, false].map(|is_upper| count(&part.agreeing, is_upper) / 8);
    let mut shown: [Option<usize>; 2] = [None, None];
    for _ in 0..8 {
        let all = part.agreeing.clone();
        let slopes = slopes(&all);
        let mut grows = false;
        for (place, is_upper) in [true, false].into_iter().enumerate() {
            let own = all.iter().filter(|p| p.is_upper == is_upper);
            let usual = median(own.clone().map(|p| room(&all, slopes, p)).collect());
            let beyond = part.violated.iter().filter(|p| p.is_upper == is_upper);
            let beyond = beyond.map(|p| -room(&all, slopes, p));
            let m = beyond.filter(|&by| by > 0.0 && by <= usual).count();
            let excluded = before.beyond.iter().filter(|p| p.is_upper == is_upper);
            let m = m + excluded.filter(|p| part.from <= p.t && p.t < part.to).count();
            if shown[place].is_some_and(|shown| m <= shown) {
                continue;
            }
            shown[place] = Some(m);
            grows = true;
            let hidden = (m + (2.0 * (m as f64).sqrt()).floor() as usize + 3).min(most[place]);
            let corners = medians(&all, is_upper);
            let mut own: Points = own.copied().collect();
            let above = |p: &Point| {
                let above = p.theta - polygon(&corners, p.t);
                ((if is_upper { above } else { -above }) / 0.0101).round() + 0.0
            };
            own.sort_by(|p, q| above(p).total_cmp(&above(q)));
            let gone = suspects.iter().filter(|p| p.is_upper == is_upper).count();
            own.truncate(hidden.saturating_sub(gone));
            part.agreeing.retain(|p| !own.contains(p));
            suspects.extend(own);
        }
        if !grows {
            break;
        }
    }
    suspects
}

/// c of AL16.
fn rate(points: &[Point], (s1, s2): (f64, f64)) -> f64 {
    let distance = |c: f64| {
        let levels = |is_upper| {
            let side = points.iter().filter(move |p| p.is_upper == is_upper);
            side.map(move |p| p.theta - c * p.t)
        };
        levels(true).fold(f64::INFINITY, f64::min) - levels(false).fold(f64::NEG_INFINITY, f64::max)
    };
    // The distance is concave, and bends where a line goes through two points of a side.
    let mut rates = vec![s1, s2];
    for p in points {
        for q in points.iter().filter(|q| q.is_upper == p.is_upper && q.t > p.t) {
            let rate = (q.theta - p.theta) / (q.t - p.t);
            rates.extend((s1 < rate && rate < s2).then_some(rate));
        }
    }
    rates.sort_by(f64::total_cmp);
    let most = rates.iter().map(|&c| distance(c)).fold(f64::NEG_INFINITY, f64::max);
    let enough = most - (most.abs() / 100.0).max(1.0);
    let top = *rates.iter().find(|&&c| distance(c) >= most).unwrap();
    let end = |from: f64, to: f64| {
        let (mut inside, mut outside) = (from, to);
        if distance(to) >= enough {
            return to;
        }
        for _ in 0..80 {
            let middle = (inside + outside) / 2.0;
            match distance(middle) >= enough {
                true => inside = middle,
                false => outside = middle,
            }
        }
        inside
    };
    (end(top, s1) + end(top, s2)) / 2.0
}

fn contradict(points: &[Point], slopes: (f64, f64)) -> bool {
    points.iter().any(|p| lo(points, slopes, p.t) > hi(points, slopes, p.t) + 0.0101)
}

impl Stretch {
    fn new(points: Points) -> Stretch {
        let (mut s1, mut s2) = slopes(&points);
        if contradict(&points, (s1, s2)) {
            (s1, s2) = (-R, R);
        }
        Stretch::with_slopes(points, (s1, s2))
    }

    fn with_slopes(points: Points, (s1, s2): (f64, f64)) -> Stretch {
        let has_both = count(&points, true) > 0 && count(&points, false) > 0;
        let c = has_both.then(|| rate(&points, (s1, s2)));
        let mut corridor = (s1, s2);
        let is_unsteady = has_both && (s1, s2) == (-R, R) && is_unsteady(&points);
        let least = if is_unsteady { 100e-6 } else { 20e-6 };
        for w in [20e-6, 50e-6, 100e-6, 250e-6] {
            if let Some(c) = c.filter(|_| w >= least) {
                let slopes = (s1.max(c - w), s2.min(c + w));
                if !contradict(&points, slopes) {
                    corridor = slopes;
                    break;
                }
            }
        }
        Stretch { points, s1, s2, c, corridor }
    }

    fn span(&self) -> (f64, f64) {
        let times = || self.points.iter().map(|p| p.t);
        (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max))
    }

    pub fn bounds(&self, x: f64) -> (f64, f64) {
        let (first, last) = self.span();
        let inside = x.clamp(first, last);
        let (middle, half) = ((self.s1 + self.s2) / 2.0, (self.s2 - self.s1) / 2.0);
        let (s1, s2) = ((middle - 2.0 * half).max(-R), (middle + 2.0 * half).min(R));
        let at = |p: f64, is_upper: bool| {
            let p = Point { t: inside, theta: p, is_upper, index: 0 };
            if is_upper { hi(&[p], (s1, s2), x) } else { lo(&[p], (s1, s2), x) }
        };
        let slopes = (self.s1, self.s2);
        (at(lo(&self.points, slopes, inside), false), at(hi(&self.points, slopes, inside), true))
    }

    pub fn corridor(&self, x: f64) -> (f64, f64) {
        (lo(&self.points, self.corridor, x), hi(&self.points, self.corridor, x))
    }

    /// The line through the points that touch the corridor.
    fn estimate(&self, x: f64) -> Option<f64> {
        self.c?;
        let middle = |t: f64| (self.corridor(t).0 + self.corridor(t).1) / 2.0;
        let touches = |p: &&Point| match p.is_upper {
            true => p.theta <= self.corridor(p.t).1 + 0.0101,
            false => p.theta >= self.corridor(p.t).0 - 0.0101,
        };
        let mut times: Vec<f64> = self.points.iter().filter(touches).map(|p| p.t).collect();
        times.sort_by(f64::total_cmp);
        let rate = (self.corridor.0 + self.corridor.1) / 2.0;
        let (first, last) = (times[0], times[times.len() - 1]);
        if x <= first {
            return Some(middle(first) + rate * (x - first));
        }
        if x >= last {
            return Some(middle(last) + rate * (x - last));
        }
        let before = times.iter().copied().filter(|&t| t <= x).fold(first, f64::max);
        let after = times.iter().copied().filter(|&t| t > x).fold(last, f64::min);
        let part = (x - before) / (after - before);
        Some(middle(before) + (middle(after) - middle(before)) * part)
    }
}

fn outer(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// AL11: the times between which a step is.
fn step(before: &Stretch, after: &Stretch) -> (f64, f64) {
    let excluded = |of: &Stretch, by: &Stretch| -> Vec<f64> {
        let is_out = |p: &&Point| {
            let (lo, hi) = by.bounds(p.t);
            let (low, high) = outer(before.corridor(p.t), after.corridor(p.t));
            let middle = (low + high) / 2.0;
            match p.is_upper {
                true => p.theta < lo - 0.0101 || middle.is_finite() && p.theta < middle - 0.0101,
                false => p.theta > hi + 0.0101 || middle.is_finite() && p.theta > middle + 0.0101,
            }
        };
        of.points.iter().filter(is_out).map(|p| p.t).collect()
    };
    let from = excluded(before, after).into_iter().max_by(f64::total_cmp);
    let to = excluded(after, before).into_iter().min_by(f64::total_cmp);
    (from.unwrap_or(before.span().1), to.unwrap_or(after.span().0))
}

/// What AL13 excludes before.
#[derive(Debug, Default)]
pub struct Before {
    pub is_any_violated: bool,
    /// Those just beyond the bounds.
    pub beyond: Points,
}

pub fn solve(points: &[Point], before: &Before) -> Result {
    let mut points = points.to_vec();
    // Of equal times on a side, the tightest is the earliest.
    let tight = |p: &Point| if p.is_upper { p.theta } else { -p.theta };
    points.sort_by(|p, q| {
        let by_side = p.t.total_cmp(&q.t).then(p.is_upper.cmp(&q.is_upper));
        by_side.then(tight(p).total_cmp(&tight(q))).then(p.index.cmp(&q.index))
    });
    let mut parts = parts(&points, (f64::NEG_INFINITY, f64::INFINITY), 12);
    parts.iter_mut().for_each(without_wrong_rates);
    let is_any_violated =
        before.is_any_violated || parts.iter().any(|part| !part.violated.is_empty());
    let mut result = Result::default();
    for mut part in parts {
        let has_both = count(&part.agreeing, true) > 0 && count(&part.agreeing, false) > 0;
        if is_any_violated && has_both {
            result.suspects.extend(suspects(&mut part, before).iter().map(|p| p.index));
        }
        result.violated.extend(part.violated.iter().map(|p| p.index));
        if !part.agreeing.is_empty() {
            result.stretches.push(Stretch::new(part.agreeing));
        }
    }
    result.steps = result.stretches.windows(2).map(|pair| step(&pair[0], &pair[1])).collect();
    result
}

/// AL13, with these numbers in the place of 1,024, 512, 4 and 256: what is solved in the end, and
/// the messages that are excluded.
pub fn solve_many(
    points: &[Point],
    [sample, parts, tightest, most_beyond]: [usize; 4],
) -> (Result, BTreeSet<u64>) {
    let mut kept = Vec::new();
    for is_upper in [true, false] {
        let side: Points = points.iter().copied().filter(|p| p.is_upper == is_upper).collect();
        kept.extend(side.iter().step_by(side.len().div_ceil(sample).max(1)));
    }
    let first = solve(&kept, &Before::default());
    let wide = |stretch: &Stretch| Stretch::with_slopes(stretch.points.clone(), (-R, R));
    let stretches = first.stretches.iter().map(wide).collect();
    let mut widest = Result { stretches, ..Result::default() };
    widest.steps = widest.stretches.windows(2).map(|pair| step(&pair[0], &pair[1])).collect();
    let room = |p: &Point| {
        let (lo, hi) = widest.bounds(p.t);
        if p.is_upper { p.theta - lo } else { hi - p.theta }
    };
    let (rest, excluded): (Points, Points) = points.iter().partition(|p| room(p) >= -0.0101);
    let of_sample = || first.stretches.iter().flat_map(|stretch| &stretch.points);
    let mut beyond = Vec::new();
    for is_upper in [true, false] {
        let usual: Vec<f64> = of_sample().filter(|p| p.is_upper == is_upper).map(room).collect();
        let usual = if usual.is_empty() { 0.0 } else { median(usual) };
        let side = excluded.iter().filter(|p| p.is_upper == is_upper);
        let just: Points = side.copied().filter(|p| -room(p) < usual).collect();
        if just.len() > most_beyond {
            let excluded = excluded.iter().map(|p| p.index).collect();
            return (first, excluded);
        }
        beyond.extend(just);
    }
    let times = || of_sample().map(|p| p.t);
    let (begin, end) =
        (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
    let mut used = Vec::new();
    for is_upper in [true, false] {
        for part in 0..parts {
            let is_in = |p: &&Point| {
                let place = (p.t - begin) * (parts as f64 / (end - begin));
                p.is_upper == is_upper && (place.max(0.0) as usize).min(parts - 1) == part
            };
            let height = |p: &Point| {
                let middle = begin + (end - begin) * ((part as f64 + 0.5) / parts as f64);
                let stretch = first.at(middle)[0];
                let above = p.theta - (stretch.s1 + stretch.s2) / 2.0 * (p.t - begin);
                ((if is_upper { above } else { -above }) / 0.0101).round() + 0.0
            };
            let mut inside: Points = rest.iter().filter(is_in).copied().collect();
            inside.sort_by(|p, q| height(p).total_cmp(&height(q)));
            used.extend(inside.into_iter().take(tightest));
        }
    }
    let before = Before { is_any_violated: !excluded.is_empty(), beyond };
    (solve(&used, &before), excluded.iter().map(|p| p.index).collect())
}

impl Result {
    fn at(&self, x: f64) -> Vec<&Stretch> {
        let stretches = self.stretches.iter().enumerate();
        let may_hold = |(place, _): &(usize, &Stretch)| {
            let is_begun = *place == 0 || x > self.steps[place - 1].0;
            let is_over = *place < self.steps.len() && x >= self.steps[*place].1;
            is_begun && !is_over
        };
        stretches.filter(may_hold).map(|(_, stretch)| stretch).collect()
    }

    pub fn bounds(&self, x: f64) -> (f64, f64) {
        let (mut lo, mut hi) = self.bounds_without_tails(x);
        for tail in &self.tails {
            let holds = if tail.is_last { x > tail.from } else { x < tail.from };
            match tail.is_upper {
                true if holds => lo -= tail.by,
                false if holds => hi += tail.by,
                _ => {}
            }
        }
        (lo, hi)
    }

    fn bounds_without_tails(&self, x: f64) -> (f64, f64) {
        let bounds = self.at(x).into_iter().map(|stretch| stretch.bounds(x));
        bounds.reduce(outer).unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
    }

    /// AL11, of all messages, those of them that are violated, and those that were solved with.
    pub fn find_tails(&mut self, all: &[Point], violated: &BTreeSet<u64>) {
        let suspects = all.iter().filter(|p| self.suspects.contains(&p.index));
        let used: Points =
            self.stretches.iter().flat_map(|s| &s.points).chain(suspects).copied().collect();
        let mut tails = Vec::new();
        for (is_upper, is_last) in [(true, true), (true, false), (false, true), (false, false)] {
            // As if the last end were meant.
            let order = |t: f64| if is_last { t } else { -t };
            let stretch = if is_last { self.stretches.last() } else { self.stretches.first() };
            let step = if is_last {
                self.steps.last().map(|s| s.1)
            } else {
                self.steps.first().map(|s| s.0)
            };
            let side = || all.iter().filter(|p| p.is_upper == is_upper);
            let accepted = side().filter(|p| !violated.contains(&p.index)).map(|p| order(p.t));
            let (Some(last), Some(stretch)) = (accepted.max_by(f64::total_cmp), stretch) else {
                continue;
            };
            let last = last.max(step.map_or(f64::NEG_INFINITY, order));
            let behind = |after: f64| -> Points {
                let is_behind = |p: &&Point| violated.contains(&p.index) && order(p.t) > after;
                side().filter(is_behind).copied().collect()
            };
            let tail = behind(last);
            let against = used.iter().filter(|q| tail.iter().any(|p| conflict(p, q, (-R, R))));
            let Some(from) = against.map(|q| order(q.t)).max_by(f64::total_cmp) else { continue };
            let tail = behind(last.max(from));
            let n = tail.len() as i32;
            let (others, all) = (violated.len() - tail.len(), all.len() - tail.len());
            let share = others as f64 / all.max(1) as f64;
            let room = |p: &Point| {
                let (lo, hi) = self.bounds_without_tails(p.t);
                if is_upper { p.theta - lo } else { hi - p.theta }
            };
            let usual = stretch.points.iter().filter(|p| p.is_upper == is_upper).map(room);
            let beyond = tail.iter().map(|p| -room(p)).fold(0.0, f64::max);
            let Some(usual) = usual.max_by(f64::total_cmp) else { continue };
            if n > 0 && share.powi(n) < 0.01 {
                tails.push(Tail { from: order(from), is_last, by: beyond + usual, is_upper });
            }
        }
        self.tails = tails;
    }

    pub fn estimate(&self, x: f64) -> Option<f64> {
        let stretches = self.at(x);
        if let [stretch] = stretches[..] {
            return stretch.estimate(x);
        }
        let (lo, hi) = stretches.into_iter().map(|s| s.corridor(x)).reduce(outer)?;
        let middle = (lo + hi) / 2.0;
        middle.is_finite().then_some(middle)
    }
}
