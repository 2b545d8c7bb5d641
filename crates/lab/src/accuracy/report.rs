//! The results, as tables in Markdown.

use crate::reliability::{grouped, percent};
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

use crate::accuracy::case::{Case, Goals, HardCase};
use crate::accuracy::few::{FewCase, FewMeasured};
use crate::accuracy::left_out::LeftOut;
use crate::accuracy::measure::{Inversions, Measured, MeasuredSeeds};
use crate::accuracy::measure_set::SetMeasured;
use crate::accuracy::set_case::{SetCase, SetGoal};

impl Goals {
    /// The missed goals.
    ///
    /// ```
    /// use timebase_lab::accuracy::{Case, Inversions, Measured, Off};
    ///
    /// let [drift, ..] = Case::all();
    /// let off = |median| Off { count: 1, rms: median, median, worst: median };
    /// let measured = Measured {
    ///     nearest: off(25_000.0),
    ///     linear: off(50.0),
    ///     between: off(50.0),
    ///     on_lines: [off(25_000.0), off(50.0)],
    ///     inside: 0.98,
    ///     bar: 250.0,
    ///     nearest_inversions: Inversions { of_one_clock: 3, of_any: 100 },
    ///     linear_inversions: Inversions::default(),
    /// };
    /// assert_eq!(drift.goals.unwrap().missed(&measured), ["98.00 % inside, not 99 %"]);
    /// ```
    pub fn missed(&self, measured: &Measured) -> Vec<String> {
        let mut missed = Vec::new();
        if measured.better() < self.better {
            missed.push(format!("1/{:.0}, not 1/{}", measured.better(), self.better));
        }
        if measured.inside < self.inside {
            let goal = self.inside * 100.0;
            missed.push(format!("{} inside, not {goal} %", percent(measured.inside)));
        }
        if measured.bar_of_error() > self.bar {
            missed.push(format!("{:.1} × the error, not {}", measured.bar_of_error(), self.bar));
        }
        let found = measured.linear_inversions.of_one_clock;
        if found > self.inversions {
            let goal = self.inversions;
            missed.push(format!("{found} inversions, not {goal}"));
        }
        missed
    }
}

/// The table of generated traces.
pub fn cases(all: &[(Case, Measured)]) -> String {
    let mut table = table(&[
        "clocks",
        "readings",
        "nearest: RMS",
        "worst",
        "inversions",
        "linear: RMS",
        "between snapshots",
        "worst",
        "inversions",
        "better by",
        "inside",
        "error stated",
        "÷ true error",
        "goals",
    ]);
    for (case, measured) in all {
        let goals = case.goals.map(|goals| match goals.missed(measured).as_slice() {
            [] => "met".to_owned(),
            missed => format!("**{}**", missed.join(", ")),
        });
        table.add_row([
            case.name.clone(),
            grouped(measured.linear.count as u64),
            time(measured.nearest.rms),
            time(measured.nearest.worst),
            inversions(&measured.nearest_inversions),
            time(measured.linear.rms),
            time(measured.between.rms),
            time(measured.linear.worst),
            inversions(&measured.linear_inversions),
            grouped(measured.better() as u64),
            percent(measured.inside),
            time(measured.bar),
            format!("{:.1}", measured.bar_of_error()),
            goals.unwrap_or_default(),
        ]);
    }
    table.to_string()
}

/// The table of traces of several seeds.
pub fn seeds(all: &[(HardCase, MeasuredSeeds)]) -> String {
    let mut table = table(&[
        "clocks",
        "seeds",
        "readings",
        "nearest: RMS",
        "linear: RMS",
        "worst",
        "inversions",
        "ratio",
        "worst seed",
        "goal",
        "inside",
        "worst seed",
        "error stated",
        "÷ true error",
        "goals",
    ]);
    for (case, measured) in all {
        let MeasuredSeeds { seeds, all, .. } = measured;
        let goals = match case.missed(measured).as_slice() {
            [] => "met".to_owned(),
            missed => format!("**{}**", missed.join(", ")),
        };
        table.add_row([
            case.name.to_owned(),
            seeds.to_string(),
            grouped(all.linear.count as u64),
            time(all.nearest.rms),
            time(all.linear.rms),
            time(all.linear.worst),
            inversions(&all.linear_inversions),
            format!("{:.4}", all.ratio()),
            format!("{:.4}", measured.worst_ratio),
            format!("≤ {:.4}", case.most()),
            percent(all.inside),
            percent(measured.worst_inside),
            time(all.bar),
            format!("{:.1}", all.bar_of_error()),
            goals,
        ]);
    }
    table.to_string()
}

impl SetGoal {
    /// The missed goals of a hard case.
    ///
    /// ```
    /// use timebase_lab::accuracy::{Off, SetGoal, SetMeasured, Stated};
    ///
    /// let off = Off { count: 1, rms: 3e6, median: 3e6, worst: 3e6 };
    /// let stated = Some(Stated { inside: 0.5, bar: 5_000.0 });
    /// let measured = SetMeasured { nearest: off, linear: off, stated };
    /// assert_eq!(SetGoal::Inside(0.99).missed(&measured).unwrap(), "50.00 % inside, not 99 %");
    /// // An error that nobody can know must not be stated.
    /// assert!(SetGoal::Unstated(5e6).missed(&measured).is_some());
    /// let unstated = SetMeasured { stated: None, ..measured };
    /// assert_eq!(SetGoal::Unstated(5e6).missed(&unstated), None);
    /// ```
    pub fn missed(self, measured: &SetMeasured) -> Option<String> {
        match (self, measured.stated) {
            (SetGoal::Inside(goal), Some(stated)) if stated.inside < goal => {
                let (inside, goal) = (percent(stated.inside), goal * 100.0);
                Some(format!("{inside} inside, not {goal} %"))
            }
            (SetGoal::Inside(_), None) => Some("no error is stated".to_owned()),
            (SetGoal::Unstated(_), Some(_)) => Some("an error is stated".to_owned()),
            (SetGoal::Unstated(worst), None) if measured.linear.worst > worst => {
                Some(format!("more than {} off", time(worst)))
            }
            _ => None,
        }
    }
}

/// The table of sets.
pub fn set_cases(all: &[(SetCase, SetMeasured)]) -> String {
    let mut table = table(&[
        "machines",
        "readings of guests",
        "nearest: RMS",
        "median",
        "worst",
        "linear: RMS",
        "median",
        "worst",
        "better by",
        "inside",
        "error stated",
        "goal",
    ]);
    for (case, measured) in all {
        let missed = case.goal.missed(measured);
        let (inside, bar) = match measured.stated {
            Some(stated) => (percent(stated.inside), time(stated.bar)),
            None => ("".to_owned(), "none".to_owned()),
        };
        table.add_row([
            case.name.to_owned(),
            grouped(measured.linear.count as u64),
            time(measured.nearest.rms),
            time(measured.nearest.median),
            time(measured.nearest.worst),
            time(measured.linear.rms),
            time(measured.linear.median),
            time(measured.linear.worst),
            format!("{:.1}", measured.better()),
            inside,
            bar,
            missed.map_or("met".to_owned(), |missed| format!("**{missed}**")),
        ]);
    }
    table.to_string()
}

/// The table of clocks that were read few times.
pub fn few(all: &[(FewCase, FewMeasured)]) -> String {
    let mut table = table(&[
        "clocks",
        "seeds",
        "nearest: RMS",
        "worst",
        "linear: RMS",
        "worst seed",
        "worst",
        "inside",
        "worst seed",
        "error stated",
        "largest",
        "goals",
    ]);
    for (case, measured) in all {
        let goals = match case.missed(measured).as_slice() {
            [] => "met".to_owned(),
            missed => format!("**{}**", missed.join(", ")),
        };
        table.add_row([
            case.name.to_owned(),
            measured.seeds.to_string(),
            time(measured.nearest.rms),
            time(measured.nearest.worst),
            time(measured.linear.rms),
            time(measured.worst_seed),
            time(measured.linear.worst),
            percent(measured.inside),
            percent(measured.worst_inside),
            time(measured.bar.median),
            time(measured.bar.worst),
            goals,
        ]);
    }
    table.to_string()
}

/// The table of recorded traces, by their names.
pub fn left_outs(all: &[(String, LeftOut)]) -> String {
    let mut table = table(&[
        "trace",
        "hop",
        "left out",
        "nearest: RMS",
        "worst",
        "linear: RMS",
        "worst",
        "inside",
        "error stated",
    ]);
    for (trace, hop) in all {
        table.add_row([
            trace.clone(),
            hop.hop.clone(),
            grouped(hop.linear.count as u64),
            time(hop.nearest.rms),
            time(hop.nearest.worst),
            time(hop.linear.rms),
            time(hop.linear.worst),
            percent(hop.inside),
            time(hop.bar),
        ]);
    }
    table.to_string()
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header);
    table
}

fn inversions(found: &Inversions) -> String {
    format!("{} · {}", grouped(found.of_one_clock), grouped(found.of_any))
}

fn time(ns: f64) -> String {
    match ns {
        1e9.. => format!("{:.2} s", ns / 1e9),
        1e6.. => format!("{:.1} ms", ns / 1e6),
        1e3.. => format!("{:.1} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}
