//! The rules once more, without any care for speed: each rule filters a plain list of all values.

use std::collections::BTreeSet;

use super::integral::two_sided;

/// One statistic of a line in a run.
#[derive(Clone, Debug)]
pub struct Datum {
    pub family: &'static str,
    pub name: String,
    pub stat: &'static str,
    /// 0 before, 1 after.
    pub side: usize,
    /// The number of the run in its side.
    pub run: usize,
    pub sure: Option<f64>,
    pub all: Option<f64>,
}

/// Values, and the choices that the model knows.
#[derive(Clone, Debug)]
pub struct Case {
    pub data: Vec<Datum>,
    pub n: [usize; 2],
    pub min_share: f64,
    pub is_absolute: bool,
    pub is_paired: bool,
    /// The length of each run in seconds, if counts and totals are of a second.
    pub seconds: Option<[Vec<f64>; 2]>,
}

#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub d: f64,
    pub se: f64,
    pub df: f64,
}

impl Estimate {
    pub fn p(&self) -> f64 {
        if self.se.is_nan() { 1.0 } else { two_sided(self.d / self.se, self.df) }
    }
}

#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub family: &'static str,
    pub stat: &'static str,
    pub n: [usize; 2],
    pub mean: [f64; 2],
    pub is_log: bool,
    pub change: Estimate,
    pub judged: Estimate,
    pub p: Option<f64>,
    pub alpha: f64,
    pub is_called: bool,
    pub why: Option<&'static str>,
    sure_p: f64,
    is_own: bool,
}

#[derive(Debug, Default)]
pub struct Result {
    pub rows: Vec<Row>,
    pub factors: Option<[Vec<f64>; 2]>,
    /// The shift, its error, the centre, and the centre's error: by sure values, and by all.
    pub shift: Option<[[f64; 4]; 2]>,
    /// The names of rule CM19 with their probabilities, and whether they are called.
    pub names: Vec<(String, Option<f64>, bool)>,
    pub tested: usize,
}

fn is_tested(family: &str, stat: &str) -> bool {
    let tested: &[&str] = match family {
        "self" => &["count", "total", "p50", "p90", "p99"],
        "async" => &["count", "p50", "p90", "p99"],
        "cpu" => &["total"],
        "wait" | "blocked" => &["count", "total", "p50", "p99"],
        "frame" => &["count", "p50", "p90", "p99", "jank"],
        "counter" => &["mean"],
        "sample" => &["self"],
        "heap" => &["size"],
        "log" => &["count"],
        "metric" => &["value"],
        _ => &[],
    };
    tested.contains(&stat)
}

fn is_time_line(family: &str) -> bool {
    ["self", "async", "cpu", "frame"].contains(&family)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

/// CM13, CM17
fn difference(case: &Case, sides: &[Vec<(usize, f64)>; 2], floor: f64) -> Estimate {
    if case.is_paired {
        let after = |run| sides[1].iter().find(|(other, _)| *other == run).map(|(_, v)| *v);
        let both = sides[0].iter().filter_map(|(run, v)| Some(after(*run)? - v));
        let both: Vec<f64> = both.collect();
        let n = both.len() as f64;
        let deviation = variance(&both).sqrt().max(2_f64.sqrt() * floor);
        let se = if n < 2.0 { f64::NAN } else { deviation / n.sqrt() };
        return Estimate { d: mean(&both), se, df: n - 1.0 };
    }
    let [before, after] =
        [0, 1].map(|side| sides[side].iter().map(|(_, v)| *v).collect::<Vec<_>>());
    let d = mean(&after) - mean(&before);
    let [n0, n1] = [before.len() as f64, after.len() as f64];
    if n0 < 2.0 || n1 < 2.0 {
        return Estimate { d, se: f64::NAN, df: f64::NAN };
    }
    let s0 = variance(&before).sqrt().max(floor);
    let s1 = variance(&after).sqrt().max(floor);
    let welch = (s0 * s0 / n0 + s1 * s1 / n1).sqrt();
    let pooled = ((n0 - 1.0) * s0 * s0 + (n1 - 1.0) * s1 * s1) / (n0 + n1 - 2.0);
    let student = (pooled * (1.0 / n0 + 1.0 / n1)).sqrt();
    let df =
        welch.powi(4) / ((s0 * s0 / n0).powi(2) / (n0 - 1.0) + (s1 * s1 / n1).powi(2) / (n1 - 1.0));
    Estimate { d, se: welch.max(student), df }
}

struct Line<'a> {
    case: &'a Case,
    family: &'static str,
    name: String,
}

impl Line<'_> {
    fn data(&self) -> impl Iterator<Item = &Datum> {
        self.case.data.iter().filter(|d| d.family == self.family && d.name == self.name)
    }

    fn stats(&self) -> BTreeSet<&'static str> {
        self.data().map(|d| d.stat).collect()
    }

    fn raw(&self, stat: &str, side: usize, all: bool) -> Vec<(usize, f64)> {
        let data = self.data().filter(|d| d.stat == stat && d.side == side);
        data.filter_map(|d| Some((d.run, if all { d.all.or(d.sure) } else { d.sure }?))).collect()
    }

    /// CM8, CM9: divided.
    fn values(&self, stat: &str, all: bool) -> [Vec<(usize, f64)>; 2] {
        [0, 1].map(|side| {
            let raw = self.raw(stat, side, all);
            let divided = raw.into_iter().map(|(run, value)| {
                let by = match (stat, &self.case.seconds) {
                    ("self", _) => {
                        let of_run = self
                            .case
                            .data
                            .iter()
                            .filter(|d| d.family == "sample" && d.side == side && d.run == run);
                        let one = |d: &Datum| if all { d.all.or(d.sure) } else { d.sure };
                        of_run.map(|d| one(d).unwrap_or(0.0)).sum::<f64>()
                    }
                    ("count" | "total", Some(seconds)) => seconds[side][run],
                    _ => 1.0,
                };
                (run, if by > 0.0 { value / by } else { f64::NAN })
            });
            divided.filter(|(_, v)| !v.is_nan()).collect()
        })
    }

    fn flat(&self, stat: &str, all: bool) -> Vec<f64> {
        self.values(stat, all).iter().flatten().map(|(_, v)| *v).collect()
    }

    fn is_log(&self, stat: &str) -> bool {
        let positive = |all| self.flat(stat, all).iter().all(|v| *v > 0.0);
        stat != "self" && stat != "jank" && positive(false) && positive(true)
    }

    /// CM13, CM9
    fn floor(&self, stat: &str, all: bool) -> f64 {
        if stat == "self" || stat == "jank" {
            return 0.002;
        }
        let mut part = 0.002_f64;
        if stat == "count" {
            let raw: Vec<f64> =
                [0, 1].iter().flat_map(|side| self.raw(stat, *side, all)).map(|(_, v)| v).collect();
            if mean(&raw) > 0.0 {
                part = part.max(0.29 / mean(&raw));
            }
        }
        if self.is_log(stat) {
            return part;
        }
        let sizes: Vec<f64> = if self.case.is_paired {
            let [before, after] = self.values(stat, all);
            let has = |side: &[(usize, f64)], run| side.iter().any(|(other, _)| *other == run);
            let paired = |run| has(&before, run) && has(&after, run);
            let both = before.iter().chain(&after).filter(|(run, _)| paired(*run));
            both.map(|(_, v)| v.abs()).collect()
        } else {
            self.flat(stat, all).iter().map(|v| v.abs()).collect()
        };
        part * if sizes.is_empty() { 0.0 } else { mean(&sizes) }
    }

    fn estimate(&self, stat: &str, all: bool, factors: Option<&[Vec<f64>; 2]>) -> Estimate {
        let is_log = self.is_log(stat);
        let mut sides = self.values(stat, all);
        for (side, values) in sides.iter_mut().enumerate() {
            for (run, value) in values {
                if is_log {
                    *value = value.ln() - factors.map_or(0.0, |factors| factors[side][*run]);
                }
            }
        }
        difference(self.case, &sides, self.floor(stat, all))
    }

    fn n(&self, stat: &str) -> [usize; 2] {
        let [before, after] = self.values(stat, false);
        if self.case.is_paired {
            let both = before.iter().filter(|(run, _)| after.iter().any(|(o, _)| o == run)).count();
            return [both; 2];
        }
        [before.len(), after.len()]
    }

    fn runs(&self) -> [usize; 2] {
        [0, 1].map(|side| {
            let runs = self.data().filter(|d| d.side == side && (d.sure.or(d.all)).is_some());
            runs.map(|d| d.run).collect::<BTreeSet<_>>().len()
        })
    }

    fn is_large(&self) -> bool {
        let stat = match self.family {
            "counter" | "log" | "metric" => return true,
            "sample" => "self",
            "heap" => "size",
            _ => "total",
        };
        let of = |d: &&Datum| d.family == self.family && d.stat == stat;
        let sum = |data: Vec<&Datum>| data.iter().filter_map(|d| d.all.or(d.sure)).sum::<f64>();
        let own: Vec<&Datum> = self.data().filter(of).collect();
        own.is_empty()
            || sum(own) >= self.case.min_share * sum(self.case.data.iter().filter(of).collect())
    }
}

/// The factors of runs, and the shifts as in [`Result`].
type Taken = ([Vec<f64>; 2], [[f64; 4]; 2]);

/// CM14
fn shift(case: &Case, lines: &[Line<'_>]) -> Option<Taken> {
    let mut used = Vec::new();
    let mut count = 0;
    for line in lines.iter().filter(|line| is_time_line(line.family)) {
        let stats = ["total", "p50"].into_iter().filter(|stat| {
            let enough = line.n(stat).iter().all(|n| *n >= 3);
            is_tested(line.family, stat) && line.is_log(stat) && enough
        });
        let before = used.len();
        used.extend(stats.map(|stat| (line, stat)));
        count += usize::from(used.len() > before);
    }
    if count < 30 {
        return None;
    }
    let factors = [0, 1].map(|side| {
        let factor = |run: usize| {
            let mut deviations = Vec::new();
            for (line, stat) in &used {
                let values = &line.values(stat, false)[side];
                let logs: Vec<f64> = values.iter().map(|(_, v)| v.ln()).collect();
                let own = values.iter().find(|(other, _)| *other == run);
                deviations.extend(own.map(|(_, v)| v.ln() - mean(&logs)));
            }
            if deviations.is_empty() { 0.0 } else { median(&deviations) }
        };
        (0..case.n[side]).map(factor).collect::<Vec<_>>()
    });
    let of_runs = [0, 1].map(|side| factors[side].iter().copied().enumerate().collect());
    let of_factors = difference(case, &of_runs, 0.002);
    let shift = [false, true].map(|all| {
        let all: Vec<Estimate> =
            used.iter().map(|(line, stat)| line.estimate(stat, all, Some(&factors))).collect();
        let (m, error) = centre(&all);
        [m + of_factors.d, of_factors.se.hypot(error), m, error]
    });
    Some((factors, shift))
}

fn centre(all: &[Estimate]) -> (f64, f64) {
    let mut m = median(&all.iter().map(|e| e.d).collect::<Vec<_>>());
    let mut weights = Vec::new();
    for _ in 0..300 {
        let s = 1.4826 * median(&all.iter().map(|e| (e.d - m).abs()).collect::<Vec<_>>());
        let weight = |e: &Estimate| {
            let u = (e.d - m) / (4.0 * s.max(e.se));
            if u.abs() < 1.0 { (1.0 - u * u).powi(2) / (s / 2.0).max(e.se).powi(2) } else { 0.0 }
        };
        weights = all.iter().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        m = all.iter().zip(&weights).map(|(e, w)| e.d * w).sum::<f64>() / sum;
    }
    let sum: f64 = weights.iter().sum();
    let off: f64 = all.iter().zip(&weights).map(|(e, w)| w * (e.d - m).powi(2)).sum();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    (m, 1.1 * (off * squares / sum).sqrt() / sum)
}

/// The comparison by the rules.
pub fn compare(case: &Case) -> Result {
    let keys: BTreeSet<(&str, &str)> =
        case.data.iter().map(|d| (d.family, d.name.as_str())).collect();
    let lines = keys.into_iter().map(|(family, name)| {
        let family = case.data.iter().find(|d| d.family == family).unwrap().family;
        Line { case, family, name: name.to_owned() }
    });
    let (names, lines): (Vec<_>, Vec<_>) = lines
        .filter(|line| line.runs() != [0, 0] && line.is_large())
        .partition(|line| (0..2).any(|s| line.runs()[s] < if case.n[s] < 3 { 1 } else { 3 }));
    let common = shift(case, &lines);
    let taken = common.as_ref().filter(|_| !case.is_absolute);
    let mut result = Result {
        factors: common.as_ref().map(|(factors, _)| factors.clone()),
        shift: taken.map(|(_, shift)| *shift),
        ..Result::default()
    };
    for line in &lines {
        for stat in line.stats() {
            result.rows.extend(row(line, stat, taken));
        }
    }
    for line in names.iter().filter(|line| !["slice", "cpu of process"].contains(&line.family)) {
        let p = (case.n[0] >= 3 && case.n[1] >= 3).then(|| fisher(line.runs(), case.n));
        result.names.push((format!("{}:{}", line.family, line.name), p, false));
    }
    judge(&mut result);
    result
}

fn row(line: &Line<'_>, stat: &'static str, taken: Option<&Taken>) -> Option<Row> {
    if line.flat(stat, false).is_empty() && line.flat(stat, true).is_empty() {
        return None;
    }
    let n = line.n(stat);
    let tests = is_tested(line.family, stat) && n.iter().all(|n| *n >= 3);
    let percentile = ["total", "p50", "p90", "p99"].contains(&stat);
    let taken =
        taken.filter(|_| tests && is_time_line(line.family) && percentile && line.is_log(stat));
    let tried = |all| -> (Estimate, bool) {
        let Some((factors, shift)) = taken else {
            return (line.estimate(stat, all, None), true);
        };
        let [_, _, m, error] = shift[usize::from(all)];
        let own = line.estimate(stat, all, Some(factors));
        let beyond = Estimate { d: own.d - m, se: (own.se.powi(2) + error.powi(2)).sqrt(), ..own };
        let same = (own.d > 0.0 && beyond.d > 0.0) || (own.d < 0.0 && beyond.d < 0.0);
        (beyond, same && own.d.abs() >= beyond.d.abs() / 2.0)
    };
    let [(sure, sure_own), (all, all_own)] = [false, true].map(tried);
    let agree = (sure.d > 0.0 && all.d > 0.0) || (sure.d < 0.0 && all.d < 0.0);
    let p = if agree && sure_own && all_own { sure.p().max(all.p()) } else { 1.0 };
    let paired = |side: usize| {
        let values = line.values(stat, false);
        let has = |run: &usize| values[1 - side].iter().any(|(other, _)| other == run);
        let of_side = values[side].iter();
        let kept = of_side.filter(|(run, _)| !line.case.is_paired || has(run));
        mean(&kept.map(|(_, v)| *v).collect::<Vec<_>>())
    };
    Some(Row {
        name: line.name.clone(),
        family: line.family,
        stat,
        n,
        mean: [0, 1].map(paired),
        is_log: line.is_log(stat),
        change: line.estimate(stat, false, None),
        judged: sure,
        p: tests.then_some(p),
        alpha: 0.05,
        is_called: false,
        why: None,
        sure_p: sure.p(),
        is_own: sure_own,
    })
}

/// The probability of all tables that are as rare, by binomial coefficients.
fn fisher(with: [usize; 2], n: [usize; 2]) -> f64 {
    let choose = |n: usize, k: usize| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
    let all = with[0] + with[1];
    let ways = |k: usize| {
        if k > n[0] || k > all || all - k > n[1] {
            0.0
        } else {
            choose(n[0], k) * choose(n[1], all - k)
        }
    };
    let rare: f64 = (0..=n[0]).map(ways).filter(|w| *w <= ways(with[0]) * (1.0 + 1e-7)).sum();
    (rare / choose(n[0] + n[1], all)).min(1.0)
}

/// CM15: the number of the largest probability below its line.
fn benjamini_hochberg(ps: &[f64], level: f64) -> usize {
    (1..=ps.len())
        .rev()
        .find(|k| ps.iter().filter(|p| **p <= level * *k as f64 / ps.len() as f64).count() >= *k)
        .unwrap_or(0)
}

fn judge(result: &mut Result) {
    for metrics in [false, true] {
        let mut keys: Vec<(&'static str, String)> = Vec::new();
        let mut ps = Vec::new();
        for row in result.rows.iter().filter(|row| (row.family == "metric") == metrics) {
            let key = (row.family, row.name.clone());
            if row.p.is_some() && !keys.contains(&key) {
                let own: Vec<f64> =
                    of_line(&result.rows, &key).iter().filter_map(|r| r.p).collect();
                let at = |p: &f64| own.iter().filter(|o| *o <= p).count() as f64;
                let simes = own.iter().map(|p| p * own.len() as f64 / at(p)).fold(1.0, f64::min);
                keys.push(key);
                ps.push(simes);
            }
        }
        let is_metric = |name: &str| name.starts_with("metric:");
        let of_names = result.names.iter().filter(|name| is_metric(&name.0) == metrics);
        ps.extend(of_names.filter_map(|name| name.1));
        let level = 0.05 * benjamini_hochberg(&ps, 0.05).max(1) as f64 / ps.len().max(1) as f64;
        result.tested += ps.len();
        for name in result.names.iter_mut().filter(|name| is_metric(&name.0) == metrics) {
            name.2 = name.1.is_some_and(|p| p <= level);
        }
        for key in keys {
            let own: Vec<f64> = of_line(&result.rows, &key).iter().filter_map(|r| r.p).collect();
            let alpha = level * benjamini_hochberg(&own, level).max(1) as f64 / own.len() as f64;
            for row in &mut result.rows {
                if (row.family, &row.name) == (key.0, &key.1) && row.p.is_some() {
                    row.alpha = alpha;
                    row.is_called = row.p <= Some(alpha);
                    if !row.is_called && row.sure_p <= alpha {
                        row.why = Some(if row.is_own { "loss" } else { "shared" });
                    }
                }
            }
        }
    }
}

fn of_line<'a>(rows: &'a [Row], key: &(&str, String)) -> Vec<&'a Row> {
    rows.iter().filter(|row| (row.family, &row.name) == (key.0, &key.1)).collect()
}
