//! The tables of results, and the goals that are met.

use std::fmt;

use comfy_table::presets::ASCII_MARKDOWN;

use crate::reliability::kind::DamageKind;
use crate::reliability::run::Tally;

/// The results for some traces. They are shown as Markdown.
///
/// ```
/// use timebase_lab::reliability::{DamageKind, Report, Tally};
///
/// let mut report = Report::default();
/// report.begin("a.pftrace");
/// let tally = Tally { copies: 2, with_intact: 2, kept: 1.5, ..Tally::default() };
/// report.add(DamageKind::CutAtStart, tally);
/// assert!(!report.is_met());
/// assert!(report.goals()[0].measured.starts_with("75.00 %"));
/// ```
#[derive(Debug, Default)]
pub struct Report {
    traces: Vec<Measured>,
}

#[derive(Debug)]
struct Measured {
    name: String,
    rows: Vec<(DamageKind, Tally)>,
}

/// A goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Its subject.
    pub what: &'static str,
    /// The required value.
    pub goal: &'static str,
    /// The measured value, and the worst case if there are several.
    pub measured: String,
    /// Whether it is met.
    pub is_met: bool,
}

/// The smallest share of the intact packets to be kept, of the average copy.
const AVERAGE: f64 = 0.99;
/// The same, of the worst copy.
const WORST: f64 = 0.95;
/// At most one row in this many may have been no packet.
const ROWS: u64 = 10_000;

impl Report {
    /// Rows that are added from now on belong to this trace.
    pub fn begin(&mut self, trace: &str) {
        self.traces.push(Measured { name: trace.to_owned(), rows: Vec::new() });
    }

    /// Adds the results for the copies of a kind.
    pub fn add(&mut self, kind: DamageKind, tally: Tally) {
        if let Some(trace) = self.traces.last_mut() {
            trace.rows.push((kind, tally));
        }
    }

    /// The goals, and their results.
    pub fn goals(&self) -> Vec<Goal> {
        let all = || {
            let traces = self.traces.iter();
            traces
                .flat_map(|trace| trace.rows.iter().map(move |(kind, tally)| (trace, kind, tally)))
        };
        let sum = |number: fn(&Tally) -> u64| all().map(|(_, _, tally)| number(tally)).sum::<u64>();
        let average = all()
            .filter_map(|(trace, kind, tally)| Some((average(tally)?, trace, kind)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let worst = all()
            .filter_map(|(trace, kind, tally)| Some((tally.worst?, trace, kind)))
            .min_by(|a, b| a.0.0.total_cmp(&b.0.0));
        let copies = sum(|tally| tally.copies);
        let refused = sum(|tally| tally.refused);
        let invented = self.traces.iter().map(|trace| {
            let sum = |number: fn(&Tally) -> u64| {
                trace.rows.iter().map(|(_, tally)| number(tally)).sum::<u64>()
            };
            (sum(|tally| tally.invented), sum(|tally| tally.rows), trace)
        });
        let invented = invented.max_by(|a, b| {
            let rate = |&(invented, rows, _): &(u64, u64, _)| invented as f64 / rows.max(1) as f64;
            rate(a).total_cmp(&rate(b))
        });
        let (crashed, hung, broken) =
            (sum(|tally| tally.crashed), sum(|tally| tally.hung), sum(|tally| tally.broken));
        vec![
            Goal {
                what: "packets that the damage did not touch, kept: average of each kind and trace",
                goal: "≥ 99 %",
                measured: average.map_or("none there".into(), |(share, trace, kind)| {
                    format!("{} or more ({}, {kind})", percent(share), trace.name)
                }),
                is_met: average.is_none_or(|(share, ..)| share >= AVERAGE),
            },
            Goal {
                what: "the same, worst copy",
                goal: "≥ 95 %",
                measured: worst.map_or("none there".into(), |((share, number), trace, kind)| {
                    format!("{} ({}, {kind}, copy {number})", percent(share), trace.name)
                }),
                is_met: worst.is_none_or(|((share, _), ..)| share >= WORST),
            },
            Goal {
                what: "traces refused of which an intact packet was left",
                goal: "0",
                measured: format!("{refused} of {}", grouped(copies)),
                is_met: refused == 0,
            },
            Goal {
                what: "rows that were no packets, in the trace with the most",
                goal: "≤ 1 in 10,000",
                measured: invented.map_or("none there".into(), |(invented, rows, trace)| {
                    format!("{} of {} ({})", grouped(invented), grouped(rows), trace.name)
                }),
                is_met: invented.is_none_or(|(invented, rows, _)| invented * ROWS <= rows),
            },
            Goal {
                what: "crashes, hangs, databases that fail `integrity_check`",
                goal: "0",
                measured: format!("{crashed}, {hung}, {broken}"),
                is_met: crashed + hung + broken == 0,
            },
        ]
    }

    /// Whether all goals are met.
    pub fn is_met(&self) -> bool {
        self.goals().iter().all(|goal| goal.is_met)
    }
}

/// The share of the intact packets that the average copy kept.
fn average(tally: &Tally) -> Option<f64> {
    (tally.with_intact > 0).then(|| tally.kept / tally.with_intact as f64)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(["", "goal", "measured", ""]);
        for goal in self.goals() {
            let met = if goal.is_met { "met" } else { "**missed**" };
            table.add_row([goal.what, goal.goal, &goal.measured, met]);
        }
        writeln!(f, "{table}")?;
        for trace in &self.traces {
            let mut table = comfy_table::Table::new();
            table.load_style(ASCII_MARKDOWN).set_header([
                "damage",
                "kept",
                "in the worst copy",
                "refused",
                "rows that were no packets",
                "failed",
                "events",
            ]);
            for (kind, tally) in &trace.rows {
                table.add_row(cells(*kind, tally));
            }
            writeln!(f, "\n### {}\n\n{table}", trace.name)?;
        }
        Ok(())
    }
}

fn cells(kind: DamageKind, tally: &Tally) -> [String; 7] {
    let average = average(tally);
    let marked = |text: String, is_met: bool| match is_met {
        true => text,
        false => format!("**{text}**"),
    };
    let share = |share: Option<f64>, goal: f64| match share {
        Some(share) => marked(percent(share), share >= goal),
        None => "nothing left".into(),
    };
    let failed = tally.crashed + tally.hung + tally.broken;
    [
        kind.to_string(),
        share(average, AVERAGE),
        share(tally.worst.map(|(share, _)| share), WORST),
        marked(tally.refused.to_string(), tally.refused == 0),
        format!("{} of {}", grouped(tally.invented), grouped(tally.rows)),
        marked(failed.to_string(), failed == 0),
        percent(tally.events / tally.copies.max(1) as f64),
    ]
}

/// A share for people, rounded down: less than all is not 100 %.
///
/// ```
/// assert_eq!(timebase_lab::reliability::percent(0.99999), "99.99 %");
/// ```
pub fn percent(share: f64) -> String {
    match share {
        1.0.. => "100 %".into(),
        _ => format!("{:.2} %", (share * 1e4).floor() / 1e2),
    }
}

/// A number for people: 2,000,000.
///
/// ```
/// assert_eq!(timebase_lab::reliability::grouped(2_000_000), "2,000,000");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn good() -> Tally {
        Tally {
            copies: 200,
            with_intact: 200,
            kept: 199.5,
            worst: Some((0.96, 17)),
            refused: 0,
            rows: 20_000,
            invented: 2,
            crashed: 0,
            hung: 0,
            broken: 0,
            events: 150.0,
        }
    }

    fn report(tally: Tally) -> Report {
        let mut report = Report::default();
        report.begin("a");
        report.add(DamageKind::CutAtEnd, good());
        report.begin("b");
        report.add(DamageKind::CutAtStart, tally);
        report
    }

    /// The goals that are missed, by their places.
    fn missed(tally: Tally) -> Vec<usize> {
        let report = report(tally);
        let goals = report.goals();
        let missed: Vec<usize> = (0..goals.len()).filter(|&i| !goals[i].is_met).collect();
        assert_eq!(report.is_met(), missed.is_empty());
        assert_eq!(report.to_string().contains("**missed**"), !missed.is_empty());
        missed
    }

    #[test]
    fn each_goal_can_be_missed() {
        assert_eq!(missed(good()), Vec::<usize>::new());
        assert_eq!(missed(Tally { kept: 197.0, ..good() }), [0]);
        assert_eq!(missed(Tally { worst: Some((0.94, 3)), ..good() }), [1]);
        assert_eq!(missed(Tally { refused: 1, ..good() }), [2]);
        assert_eq!(missed(Tally { invented: 3, ..good() }), [3]);
        assert_eq!(missed(Tally { crashed: 1, ..good() }), [4]);
        assert_eq!(missed(Tally { hung: 1, ..good() }), [4]);
        assert_eq!(missed(Tally { broken: 1, ..good() }), [4]);
    }

    #[test]
    fn the_worst_is_named() {
        let tally = Tally { worst: Some((0.5, 3)), ..good() };
        let goals = report(tally).goals();
        assert_eq!(goals[1].measured, "50.00 % (b, cut at the start, copy 3)");
    }

    #[test]
    fn nothing_left_is_no_goal_missed() {
        let nothing = Tally { with_intact: 0, kept: 0.0, worst: None, ..good() };
        assert_eq!(missed(nothing.clone()), Vec::<usize>::new());
        assert!(report(nothing).to_string().contains("nothing left"));
    }

    #[test]
    fn shares_are_rounded_down() {
        assert_eq!([percent(1.0), percent(0.99999), percent(0.5)], ["100 %", "99.99 %", "50.00 %"]);
    }
}
