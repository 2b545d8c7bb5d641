//! Whether comparisons of groups of runs are right, on simulated runs whose truth is known.
//!
//! A world has lines with five statistics each, and runs on a machine. Runs of real programs would not do: nobody
//! knows which of their differences are true.

mod report;
mod world;

pub use report::compare_cases;
pub use world::World;

use timebase_compare::{Call, Comparison, FailOn, Outcome, Scale, Settings, Stat, compare, judge};

/// A kind of runs, and what is expected of comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompareCase {
    /// Its special feature.
    pub name: &'static str,
    /// The simulated runs.
    pub world: World,
    /// The goals; the cases without them show what a rule is for.
    pub goals: Option<CompareGoals>,
}

/// The expected results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompareGoals {
    /// At most that share of comparisons calls anything falsely, if nothing changed; and at most that
    /// share of called lines is false.
    pub falsely: f64,
    /// That share of 95 % intervals contains the truth; `None` if sure values are not near it.
    pub inside: Option<f64>,
}

/// The results of some comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Compared {
    /// The number of comparisons.
    pub comparisons: u64,
    /// The comparisons with any false call.
    pub any_false: u64,
    /// The sum of the shares of false calls among the calls of each comparison, and of their squares.
    false_shares: [f64; 2],
    /// The lines that changed.
    pub changed: u64,
    /// The changed lines that are called, in their direction.
    pub found: u64,
    /// The tested rows.
    pub rows: u64,
    /// The tested rows whose 95 % interval contains the truth.
    pub inside: u64,
    /// The shifts, and those whose 95 % interval contains the truth.
    pub shifts: [u64; 2],
}

impl Compared {
    fn add(&mut self, world: &World, comparison: &Comparison) {
        let [mut called, mut falsely] = [0_u32; 2];
        for line in &comparison.lines {
            let truth = world.truth(&line.line.name);
            let rows = comparison.rows.get(line.rows.clone()).unwrap_or_default();
            let mut calls = rows.iter().filter(|row| row.call != Call::No);
            let is_found = calls.any(|row| row.judged().d * truth > 0.0);
            called += u32::from(line.call != Call::No);
            falsely += u32::from(line.call != Call::No && !is_found);
            self.changed += u64::from(truth != 0.0);
            self.found += u64::from(is_found);
            for row in rows.iter().filter(|row| row.p.is_some()) {
                let truth = if row.stat == Stat::Count { 0.0 } else { truth };
                let truth = if row.scale == Scale::Ratio { truth.exp() } else { truth };
                let inside = |[low, high]: [f64; 2]| low <= truth && truth <= high;
                self.rows += 1;
                self.inside += u64::from(row.interval95().is_some_and(inside));
            }
        }
        if let Some([low, high]) = comparison.shift.and_then(|shift| shift.estimate.interval(0.05))
        {
            self.shifts[0] += 1;
            self.shifts[1] += u64::from(low <= world.session && world.session <= high);
        }
        self.comparisons += 1;
        self.any_false += u64::from(falsely > 0);
        let share = f64::from(falsely) / f64::from(called.max(1));
        self.false_shares[0] += share;
        self.false_shares[1] += share * share;
    }

    /// The share of comparisons with any false call.
    pub fn share_any_false(&self) -> f64 {
        self.any_false as f64 / self.comparisons as f64
    }

    /// The mean share of false calls among the calls of a comparison, and its standard error.
    pub fn share_false(&self) -> (f64, f64) {
        let n = self.comparisons as f64;
        let [mean, squares] = self.false_shares.map(|sum| sum / n);
        (mean, ((squares - mean * mean).max(0.0) / n).sqrt())
    }

    /// The share of changed lines that are called.
    pub fn power(&self) -> f64 {
        self.found as f64 / self.changed as f64
    }

    /// The share of 95 % intervals with the truth inside.
    pub fn share_inside(&self) -> f64 {
        self.inside as f64 / self.rows as f64
    }

    /// The same of shifts.
    pub fn share_shifts_inside(&self) -> f64 {
        self.shifts[1] as f64 / self.shifts[0] as f64
    }
}

const GOALS: CompareGoals = CompareGoals { falsely: 0.05, inside: Some(0.93) };

impl CompareCase {
    /// All cases.
    pub fn all() -> Vec<CompareCase> {
        [Self::equals(), Self::modes(), Self::machines(), Self::changes()].concat()
    }

    fn new(name: &'static str, world: World) -> CompareCase {
        CompareCase { name, world, goals: Some(GOALS) }
    }

    fn without_goals(name: &'static str, world: World) -> CompareCase {
        CompareCase { name, world, goals: None }
    }

    fn equals() -> Vec<CompareCase> {
        let runs = |before, after| World { runs: [before, after], ..World::EQUAL };
        let wider = |times| World { wider_before: times, ..runs(5, 20) };
        vec![
            Self::new("equal, 5 + 5", runs(5, 5)),
            Self::new("equal, 10 + 10", runs(10, 10)),
            Self::new("equal, 5 + 20", runs(5, 20)),
            Self::new("equal, 5 + 20, the 5 with 1.5 times the deviation", wider(1.5)),
            Self::without_goals("equal, 5 + 20, the 5 with three times the deviation", wider(3.0)),
            Self::new("equal, 5 + 5, 20 lines", World { lines: 20, ..runs(5, 5) }),
        ]
    }

    fn modes() -> Vec<CompareCase> {
        let runs = |n| World { runs: [n; 2], two_modes: 40, ..World::EQUAL };
        let falsely = CompareGoals { falsely: 0.1, ..GOALS };
        vec![
            Self::without_goals("two modes, 3 + 3: only stand out", runs(3)),
            Self::without_goals("two modes, 4 + 4: only stand out", runs(4)),
            CompareCase { goals: Some(falsely), ..Self::new("two modes, 5 + 5", runs(5)) },
            Self::new("two modes, 7 + 7", runs(7)),
        ]
    }

    fn machines() -> Vec<CompareCase> {
        let sessions = World { session: 0.04, hot: 0.01, ..World::EQUAL };
        let drift = World { drift: 0.02, ..World::EQUAL };
        let turns = World { interleaved: true, paired: true, ..drift };
        let absolute = |world| World { absolute: true, ..world };
        let lossy = World { lost: 0.1, ..World::EQUAL };
        let no_intervals = Some(CompareGoals { inside: None, ..GOALS });
        vec![
            Self::without_goals("two sessions 4 % apart, --absolute", absolute(sessions)),
            Self::new("two sessions 4 % apart", sessions),
            Self::without_goals("drift of 2 % a run, --absolute", absolute(drift)),
            Self::new("drift of 2 % a run", drift),
            Self::without_goals("the same, interleaved, --paired --absolute", absolute(turns)),
            Self::new("the same, interleaved, --paired", turns),
            Self::new("runs up to 20 % hotter", World { hot: 0.1, ..World::EQUAL }),
            CompareCase { goals: no_intervals, ..Self::new("one side lost a tenth", lossy) },
        ]
    }

    fn changes() -> Vec<CompareCase> {
        let changed = World { changed: 10, ..World::EQUAL };
        let few = World { runs: [5, 5], ..changed };
        let hot = World { hot: 0.1, ..changed };
        let absolute = World { absolute: true, ..hot };
        let lossy = World { lost: 0.1, ..changed };
        let no_intervals = Some(CompareGoals { inside: None, ..GOALS });
        vec![
            Self::new("10 of 100 lines +20 %, 5 + 5", few),
            Self::new("10 of 100 lines +20 %, 10 + 10", changed),
            Self::new("the same, runs up to 20 % hotter, --absolute", absolute),
            Self::new("the same, runs up to 20 % hotter", hot),
            CompareCase {
                goals: no_intervals,
                ..Self::new("the same, one side lost a tenth", lossy)
            },
        ]
    }

    /// The results of many comparisons, each with a seed of its own.
    pub fn measure(&self, comparisons: u64) -> timebase_compare::Result<Compared> {
        let mut all = Compared::default();
        for seed in 0..comparisons {
            let values = self.world.values(seed)?;
            all.add(&self.world, &compare(&values, &self.world.settings())?);
        }
        Ok(all)
    }

    /// The missed goals. Chance may add three standard errors to a share of false calls.
    pub fn missed(&self, measured: &Compared) -> Vec<String> {
        let Some(CompareGoals { falsely, inside }) = self.goals else { return Vec::new() };
        let mut missed = Vec::new();
        if self.world.changed == 0 {
            let error = (falsely * (1.0 - falsely) / measured.comparisons as f64).sqrt();
            let share = measured.share_any_false();
            if share > falsely + 3.0 * error {
                missed.push(format!("{:.1} % call", 100.0 * share));
            }
        }
        let (share, error) = measured.share_false();
        if self.world.changed > 0 && share > falsely + 3.0 * error {
            missed.push(format!("{:.1} % false", 100.0 * share));
        }
        if inside.is_some_and(|inside| measured.share_inside() < inside) {
            missed.push(format!("{:.1} % inside", 100.0 * measured.share_inside()));
        }
        missed
    }
}

/// The share of comparisons in which the limit `+5 %` fails, if the truth is `change` (rule CM21): ten runs a side
/// with a deviation of 3 %.
pub fn share_of_failures(change: f64, comparisons: u64) -> timebase_compare::Result<f64> {
    let world = World { lines: 1, changed: 1, change, ..World::EQUAL };
    let condition = FailOn::parse("self:app/0 total > +5 %")?;
    let mut failures = 0_u64;
    for seed in 0..comparisons {
        let values = world.values_with_spread(seed, 0.03)?;
        let comparison = compare(&values, &Settings::default())?;
        let verdict = judge(&values, &comparison, std::slice::from_ref(&condition))?;
        let fails = verdict.conditions.iter().any(|judged| judged.outcome == Outcome::Fails);
        failures += u64::from(fails);
    }
    Ok(failures as f64 / comparisons as f64)
}
