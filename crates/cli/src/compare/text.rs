//! The result as text (rule CM22): lines that changed first, the largest change of time first.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use timebase_compare::{
    Appearance, Call, Comparison, FailOn, Family, Judged, LimitUnit, Line, LineResult, NameResult,
    Note, Outcome, Row, Scale, Stat, Unit, Why,
};

use super::gathered::Gathered;
use super::remarks::{self, percent};
use crate::escape::printable;

/// The report of a comparison, with `top` lines of each section.
pub fn of(comparison: &Comparison, gathered: &Gathered, top: usize) -> String {
    let report = Report { comparison, gathered, top };
    let mut text = String::new();
    report.head(&mut text);
    for note in report.notes() {
        let _ = writeln!(text, "! {}", printable(&note));
    }
    report.sections(&mut text);
    report.names(&mut text);
    report.rest(&mut text);
    text
}

/// The words about a comparison.
pub struct Report<'a> {
    pub comparison: &'a Comparison,
    pub gathered: &'a Gathered,
    pub top: usize,
}

/// The change that all lines share, in words.
pub struct Together {
    pub change: String,
    pub interval: Option<String>,
    pub meaning: &'static str,
}

/// Names that are new, or gone.
pub struct Names {
    pub title: &'static str,
    pub told: Vec<String>,
    pub more: usize,
}

/// Lines without a change.
pub struct Unseen<'a> {
    pub said: String,
    /// Each with the row that stands for it.
    pub lines: Vec<(&'a LineResult, &'a Row)>,
}

impl<'a> Report<'a> {
    fn labels(&self) -> [&str; 2] {
        let [before, after] = &self.comparison.settings.labels;
        [before, after]
    }

    /// The numbers of runs and lines, and the change that all lines share.
    fn head(&self, text: &mut String) {
        let _ = writeln!(text, "{}", self.said());
        if let Some(Together { change, interval, meaning }) = self.together() {
            let interval = interval.map_or_else(String::new, |interval| format!(" {interval}"));
            let _ = writeln!(text, "all together  {change}{interval}  {meaning}");
        }
    }

    /// The numbers of runs and lines.
    pub fn said(&self) -> String {
        let counts = &self.comparison.counts;
        let [before, after] = self.labels();
        let [n_before, n_after] = counts.runs;
        let runs = if n_before == 1 { "run" } else { "runs" };
        let least = n_before.min(n_after);
        let lines = match (counts.called, least) {
            (_, 0..=1) => "ratios only, because one run shows no spread".to_owned(),
            (_, 2) => {
                let lines: usize = self.families().iter().map(|(_, lines)| lines.len()).sum();
                let noun = if lines == 1 { "line" } else { "lines" };
                format!("{lines} {noun}, without verdicts, which need 5 runs on each side")
            }
            (0, _) => format!("{} lines tested, none changed", counts.tested),
            (called, 3..=4) => format!(
                "{} lines tested, {called} stand out; verdicts need 5 runs on each side",
                counts.tested
            ),
            (called, _) => format!(
                "{} lines tested, {called} changed (at most 5 % of them by chance)",
                counts.tested
            ),
        };
        format!("{n_before} {runs} {before}, {n_after} {after}: {lines}")
    }

    /// The change that all lines share.
    pub fn together(&self) -> Option<Together> {
        let estimate = self.comparison.shift.as_ref()?.estimate;
        let ends = estimate.interval(0.05);
        Some(Together {
            change: change(estimate.d.exp()),
            interval: ends.map(|ends| interval(ends.map(f64::exp), Scale::Ratio, Unit::Plain)),
            meaning: match self.comparison.settings.absolute {
                true => "machine or whole program; lines include it",
                false => "machine or whole program; lines are beyond it",
            },
        })
    }

    /// Marks of runs, and remarks.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = remarks::of(&self.comparison.runs);
        // Runs without a partner are among those that are left out.
        let others = self.comparison.notes.iter();
        let others = others.filter(|note| !matches!(note, Note::Unpaired { .. }));
        notes.extend(others.filter_map(|note| self.noted(note)));
        notes
    }

    /// A remark in words.
    pub fn noted(&self, note: &Note) -> Option<String> {
        let name = |run: timebase_compare::RunId| {
            self.comparison.runs.get(run.index()).map_or("", |run| run.run.name.as_str())
        };
        let [before, after] = self.labels();
        Some(match note {
            Note::LengthsDiffer { shortest, longest } => format!(
                "the runs differ in length, from {} to {}: --per second, or --per 'SLICE NAME', makes counts and totals comparable",
                name(*shortest),
                name(*longest)
            ),
            Note::LossDiffers { family, shares: [one, other] } => format!(
                "{} lost: {} of {before}, {} of {after}; the sides differ in what they show",
                family.map_or("parts of the recording".to_owned(), |family| format!(
                    "rows of {}",
                    family.name()
                )),
                percent(*one),
                percent(*other)
            ),
            Note::OneDirection { up, down, of } => {
                let (called, way) = if up >= down { (up, "slower") } else { (down, "faster") };
                format!(
                    "{called} of {of} time lines are {way}: this many lines and a change of all together cannot be told apart"
                )
            }
            Note::Interleave => format!(
                "all runs of one side were recorded before those of the other; record {before} and {after} in turns, and use --paired"
            ),
            Note::OddRun { run, factor } => {
                format!("{} is {} in all lines than its side", name(*run), slower(*factor))
            }
            Note::FirstSlowest { run, factor } => format!(
                "{} is first and slowest, by {}: --skip-first 1?",
                name(*run),
                change(factor.exp())
            ),
            Note::FewRuns { needed: Some(needed) } => format!(
                "{needed} runs on each side would show a change of 10 % in half of the lines"
            ),
            Note::FewRuns { needed: None } => return None,
            Note::NothingInCommon => {
                "no line is on both sides: --name 'REGEX=TEXT' joins names that differ".to_owned()
            }
            Note::Unpaired { run } => format!("{} has no partner", name(*run)),
        })
    }

    /// The families with lines to show, and these lines.
    pub fn families(&self) -> Vec<(Family, Vec<&'a LineResult>)> {
        let has_verdicts = self.has_verdicts();
        let of = |family: Family| -> Vec<&'a LineResult> {
            let lines = self.comparison.lines.iter().filter(|line| line.line.family == family);
            match has_verdicts {
                true => lines.filter(|line| line.call != Call::No).collect(),
                false => lines.filter(|line| !line.rows.is_empty()).collect(),
            }
        };
        let families = Family::ALL.into_iter().map(|family| (family, of(family)));
        families
            .filter(|(family, lines)| !lines.is_empty() && (has_verdicts || family.is_tested()))
            .collect()
    }

    /// Whether there are enough runs to call a line.
    pub fn has_verdicts(&self) -> bool {
        self.comparison.counts.runs.iter().all(|runs| *runs > 2)
    }

    /// A table for each family with lines to show.
    fn sections(&self, text: &mut String) {
        for (family, lines) in self.families() {
            self.section(family, &lines, text);
        }
    }

    fn section(&self, family: Family, lines: &[&LineResult], text: &mut String) {
        if self.top == 0 {
            return;
        }
        let mut rows = vec![self.columns(family)];
        rows.extend(lines.iter().take(self.top).filter_map(|line| {
            let mut cells = self.cells(line)?;
            cells[5].push_str(&self.remarks(line));
            Some(cells)
        }));
        text.push('\n');
        aligned(&rows, text);
        if lines.len() > self.top {
            let _ = writeln!(text, "{} more: --top {}", lines.len() - self.top, lines.len());
        }
    }

    /// The names of the columns.
    pub fn columns(&self, family: Family) -> [String; 6] {
        let [before, after] = self.labels();
        let beyond = match self.comparison.shift {
            Some(_) if family.is_time() && !self.comparison.settings.absolute => "beyond all",
            _ => "interval",
        };
        let unit = weight_of(family).map_or("", |stat| match stat.unit() {
            Unit::Time => " ms",
            Unit::Bytes => " KiB",
            Unit::Share => " points",
            _ => "",
        });
        [
            format!("Δ{unit}/{}", self.per(family)),
            before.to_owned(),
            after.to_owned(),
            "change".to_owned(),
            beyond.to_owned(),
            family.name().to_owned(),
        ]
    }

    /// The thing by which counts and totals are divided.
    fn per(&self, family: Family) -> &str {
        use timebase_compare::Per;
        match (&self.comparison.settings.per, weight_of(family)) {
            (_, Some(stat)) if !matches!(stat, Stat::Total | Stat::Count) => "run",
            (Per::Run, _) => "run",
            (Per::Second, _) => "s",
            (Per::Frame, _) => "frame",
            (Per::Slice(name), _) => name,
        }
    }

    pub fn rows(&self, line: &LineResult) -> &'a [Row] {
        self.comparison.rows.get(line.rows.clone()).unwrap_or_default()
    }

    /// The row that stands for a line, and the one by which it is called.
    pub fn main_and_decisive(&self, line: &LineResult) -> Option<[&'a Row; 2]> {
        let rows = self.rows(line);
        let of = |stat: Stat| rows.iter().find(|row| row.stat == stat);
        let main = weight_of(line.line.family).and_then(of).or_else(|| rows.first())?;
        Some([main, decisive(rows, main)])
    }

    /// The texts of a line's columns.
    pub fn cells(&self, line: &LineResult) -> Option<[String; 6]> {
        let [main, decisive] = self.main_and_decisive(line)?;
        let beyond = decisive.interval().map_or_else(String::new, |ends| {
            let is_main = decisive.stat == main.stat;
            let mut said = String::new();
            if !is_main {
                let _ = write!(said, "{} ", decisive.stat.name());
            }
            if !is_main || decisive.beyond.is_some() {
                let _ = write!(said, "{} ", effect(decisive));
            }
            said + &interval(ends, decisive.scale, decisive.unit)
        });
        Some([
            signed(main.unit, main.delta()),
            number(main.unit, main.mean[0]),
            number(main.unit, main.mean[1]),
            absolute(main),
            beyond,
            self.path(&line.line),
        ])
    }

    /// Remarks on a line, each with two spaces before it.
    pub fn remarks(&self, line: &LineResult) -> String {
        let of = |stat: Stat| self.rows(line).iter().find(|row| row.stat == stat);
        let mut said = String::new();
        let Some([main, decisive]) = self.main_and_decisive(line) else { return said };
        if let (Some(count), true) = (of(Stat::Count), main.stat == Stat::Total) {
            let is_slower = of(Stat::P50).is_none_or(|p50| p50.call != Call::No || p50.p.is_none());
            said.push_str(&count_and_call(count, main, is_slower));
        }
        if matches!(decisive.stat, Stat::P90 | Stat::P99)
            && of(Stat::P50).is_some_and(|p50| p50.call == Call::No)
        {
            said.push_str("  only slow calls");
        }
        if line.left_out > 0.0005 {
            let _ = write!(said, "  {} left out", percent(line.left_out));
        }
        said
    }

    /// The line with the names around it, outermost first.
    pub fn path(&self, line: &Line) -> String {
        let mut names = vec![line.name.clone()];
        let mut seen = BTreeSet::from([line.name.clone()]);
        let mut inner = line.clone();
        // A recursion ends the path.
        while let Some(parents) = self.gathered.parents.get(&inner)
            && let Some((parent, _)) = parents.iter().max_by_key(|(_, count)| **count)
            && seen.insert(parent.clone())
        {
            names.push(parent.clone());
            inner = Line { name: parent.clone(), ..inner };
        }
        names.reverse();
        let path = names.join(" › ");
        match (line.process.as_str(), path.as_str()) {
            ("", path) => path.to_owned(),
            (process, "") => process.to_owned(),
            (process, path) => format!("{process}/{path}"),
        }
    }

    /// New and gone names.
    fn names(&self, text: &mut String) {
        for Names { title, told, more } in self.appearances() {
            if told.is_empty() {
                continue;
            }
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let _ = writeln!(text, "\n{title}: {}{more}", printable(&told.join(", ")));
        }
    }

    /// The names that are called new or gone, and others that all runs of one side have and no other run. With two
    /// runs on a side there are no verdicts, so these names are all that is known.
    pub fn appearances(&self) -> Vec<Names> {
        let has_verdicts = self.has_verdicts();
        let of = |appearance: Appearance, is_called: bool| -> Vec<&NameResult> {
            let names = self.comparison.names.iter().filter(|name| name.appearance == appearance);
            let side = usize::from(appearance == Appearance::New);
            let chosen = names.filter(|name| match has_verdicts && is_called {
                true => name.call != Call::No,
                false => name.call == Call::No && name.runs[side] == name.of[side],
            });
            chosen.filter(|_| has_verdicts || is_called).collect()
        };
        let mut all = Vec::new();
        for (title, appearance, is_called) in [
            ("new", Appearance::New, true),
            ("perhaps new", Appearance::New, false),
            ("gone", Appearance::Gone, true),
            ("perhaps gone", Appearance::Gone, false),
        ] {
            let found = of(appearance, is_called);
            if found.is_empty() {
                continue;
            }
            let told: Vec<String> =
                found.iter().take(self.top).map(|name| self.appeared(name)).collect();
            all.push(Names { title, more: found.len().saturating_sub(told.len()), told });
        }
        all
    }

    /// A new or gone name in words.
    fn appeared(&self, name: &NameResult) -> String {
        let side = usize::from(name.appearance == Appearance::New);
        let all = self.comparison.counts.runs[side];
        let renamed = name.renamed.and_then(|other| self.comparison.names.get(other));
        let renamed = renamed
            .filter(|_| name.appearance == Appearance::New)
            .map_or_else(String::new, |other| format!("; renamed from {}?", other.line));
        format!(
            "{} ({} of {all} runs, {}{renamed})",
            name.line,
            name.runs[side],
            with_unit(name.unit, name.mean)
        )
    }

    /// Lines that are not called: why, or what would have been seen.
    fn rest(&self, text: &mut String) {
        for said in self.not_called().iter().take(self.top) {
            let _ = writeln!(text, "not called: {}", printable(said));
        }
        if let Some(unseen) = self.unseen() {
            let _ = writeln!(text, "\n{}", unseen.said);
        }
    }

    /// Lines whose interval has no 0, and which are not called, with the reason.
    pub fn not_called(&self) -> Vec<String> {
        let mut all = Vec::new();
        for line in self.comparison.lines.iter().filter(|line| line.call == Call::No) {
            let Some(row) = self.rows(line).iter().find(|row| row.why.is_some()) else { continue };
            let why = match row.why {
                Some(Why::Loss) => "with the rows that may be wrong it is not seen",
                Some(Why::Shared) | None => "it is no more than what all lines share",
            };
            all.push(format!(
                "{} {} {}: {why}",
                self.path(&line.line),
                row.stat.name(),
                effect(row)
            ));
        }
        all
    }

    /// The lines without a change, and what would have been seen.
    pub fn unseen(&self) -> Option<Unseen<'a>> {
        let mut smallest = Vec::new();
        let mut lines = Vec::new();
        for line in self.comparison.lines.iter().filter(|line| line.call == Call::No) {
            let rows = self.rows(line);
            let main = weight_of(line.line.family)
                .and_then(|stat| rows.iter().find(|row| row.stat == stat && row.p.is_some()))
                .or_else(|| rows.iter().find(|row| row.p.is_some()));
            let Some(row) = main else { continue };
            lines.push((line, row));
            if row.scale == Scale::Ratio
                && let Some(change) = row.smallest()
            {
                smallest.push(change);
            }
        }
        let number = lines.len();
        if number == 0 {
            return None;
        }
        smallest.sort_by(f64::total_cmp);
        let median = smallest.get(smallest.len() / 2).filter(|change| change.is_finite());
        let would = median.map_or_else(String::new, |median| {
            format!("; for half of them {} would be", change(*median))
        });
        let noun = if number == 1 { "line" } else { "lines" };
        Some(Unseen { said: format!("{number} {noun}: no change seen{would}"), lines })
    }
}

/// Writes rows of cells below one another: numbers to the right, the last two columns to the left.
fn aligned(rows: &[[String; 6]], text: &mut String) {
    let rows: Vec<[String; 6]> =
        rows.iter().map(|row| row.each_ref().map(|cell| printable(cell))).collect();
    let columns = 6;
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        })
        .collect();
    for row in &rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
            let _ = match columns.saturating_sub(at) > 2 {
                true => write!(line, "{gap}{cell}  "),
                false => write!(line, "{cell}{gap}  "),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// The statistic that stands for a line of a family.
fn weight_of(family: Family) -> Option<Stat> {
    Some(match family {
        Family::Counter => Stat::Mean,
        Family::Sample => Stat::Share,
        Family::Heap => Stat::Size,
        Family::Log => Stat::Count,
        Family::Metric => Stat::Value,
        _ => Stat::Total,
    })
}

/// The called statistic with the least probability; the main one if it is called, or none is.
fn decisive<'a>(rows: &'a [Row], main: &'a Row) -> &'a Row {
    if main.call != Call::No {
        return main;
    }
    let called = rows.iter().filter(|row| row.call != Call::No);
    let least = called
        .min_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0)).then(a.stat.cmp(&b.stat)));
    least.unwrap_or(main)
}

/// The changes of the count and of the time of a call. A call is as before if its median is. Without tests, all is said.
fn count_and_call(count: &Row, total: &Row, is_slower: bool) -> String {
    let counts = count.mean[1] / count.mean[0];
    let calls = (total.mean[1] / total.mean[0]) / counts;
    if !counts.is_finite() || !calls.is_finite() {
        return String::new();
    }
    let told = |ratio: f64, has_changed: bool| match has_changed && !is_equal(ratio) {
        true => change(ratio),
        false => "=".to_owned(),
    };
    let has_more = count.call != Call::No || count.p.is_none();
    format!("  count {}  per call {}", told(counts, has_more), told(calls, is_slower))
}

/// The lines and statistics that conditions can name; not all of a large comparison.
pub fn names_in_conditions(comparison: &Comparison) -> Vec<String> {
    let of_line = |line: &LineResult| {
        let rows = comparison.rows.get(line.rows.clone()).unwrap_or_default();
        let name = line.line.to_string();
        let metric = name.strip_prefix("metric:").map(str::to_owned);
        let stats = rows.iter().map(|row| match &metric {
            Some(metric) => metric.clone(),
            None => format!("{name} {}", row.stat.name()),
        });
        stats.collect::<Vec<_>>()
    };
    comparison.lines.iter().take(10_000).flat_map(of_line).collect()
}

/// The outcome of a condition; `meant` is what an unknown name may be.
pub fn judged(condition: &FailOn, judged: &Judged, meant: Option<&str>) -> String {
    let unit = match condition.unit {
        LimitUnit::Percent => " %",
        LimitUnit::Points => " points",
        LimitUnit::Time => " ms",
        LimitUnit::Plain => "",
    };
    let interval = judged.interval.map_or_else(String::new, |ends| {
        let scale = match condition.unit {
            LimitUnit::Time => 1e-6,
            LimitUnit::Points => 100.0,
            LimitUnit::Percent | LimitUnit::Plain => 1.0,
        };
        let [low, high] = ends.map(|end| end * scale);
        format!(": the change is from {low:+.1} to {high:+.1}{unit}")
    });
    let by = match (&condition.metric, &judged.decided_by) {
        (None, Some((line, stat))) => format!(" by {line} {}", stat.name()),
        _ => String::new(),
    };
    let text = &condition.text;
    match judged.outcome {
        Outcome::Passes => format!("passes: {text}{interval}"),
        Outcome::Fails => format!("fails: {text}{by}{interval}"),
        Outcome::Undecided => format!("undecided: {text}{by}{interval}; more runs would decide"),
        Outcome::Unknown => {
            let advice = match meant {
                Some(meant) => format!("did you mean {meant}?"),
                None => "write FAMILY:PROCESS/NAME and the statistic, as in 'self:app/layout total > +5 %'".to_owned(),
            };
            format!("unknown: {text}: no line has this name and statistic; {advice}")
        }
        Outcome::FewRuns => {
            format!("unknown: {text}: it needs 3 runs on each side that have a value of it")
        }
        Outcome::WrongUnit => format!("unknown: {text}: its values are not of this unit"),
    }
}

fn slower(log: f64) -> String {
    let ratio = log.exp();
    match ratio >= 1.0 {
        true => format!("slower by {}", change(ratio)),
        false => format!("faster by {}", change(ratio)),
    }
}

/// Whether a ratio is that of equal values.
fn is_equal(ratio: f64) -> bool {
    (ratio - 1.0).abs() < 1e-9
}

/// A ratio as people say it.
fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    // No change has no minus.
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    if !ratio.is_finite() {
        "?".to_owned()
    } else if ratio >= 100.0 {
        format!("×{ratio:.0}")
    } else if ratio >= 10.0 {
        format!("×{ratio:.1}")
    } else if !(0.5..2.0).contains(&ratio) {
        format!("×{ratio:.2}")
    } else if percent.abs() >= 9.95 {
        format!("{percent:+.0} %")
    } else {
        format!("{percent:+.1} %")
    }
}

/// The judged effect of a row.
pub fn effect(row: &Row) -> String {
    shown(row.effect(), row.scale, row.unit)
}

/// An effect: a ratio, or a difference in the unit of a table.
pub fn shown(effect: f64, scale: Scale, unit: Unit) -> String {
    match (scale, unit) {
        (Scale::Ratio, _) => change(effect),
        (Scale::Difference, Unit::Share) => format!("{:+.1} points", effect * 100.0),
        (Scale::Difference, unit) => signed(unit, effect),
    }
}

/// An interval of a row, as its effect is shown.
pub fn interval([low, high]: [f64; 2], scale: Scale, unit: Unit) -> String {
    match scale {
        Scale::Ratio if low >= 0.5 && high < 2.0 => {
            format!("[{:+.1}, {:+.1}]", (low - 1.0) * 100.0, (high - 1.0) * 100.0)
        }
        Scale::Ratio => format!("[×{low:.2}, ×{high:.2}]"),
        Scale::Difference => format!("[{}, {}]", signed(unit, low), signed(unit, high)),
    }
}

/// The change of a row as it is, not beyond all lines.
pub fn absolute(row: &Row) -> String {
    match (row.scale, row.unit) {
        (Scale::Ratio, _) => change(row.change.d.exp()),
        (Scale::Difference, Unit::Share) => format!("{:+.1} points", row.delta() * 100.0),
        (Scale::Difference, _) if row.mean[0] == row.mean[1] => "=".to_owned(),
        (Scale::Difference, _) if row.mean[0] == 0.0 => "from 0".to_owned(),
        (Scale::Difference, _) => change(row.mean[1] / row.mean[0]),
    }
}

/// A value in the unit of its column.
fn scaled(unit: Unit, value: f64) -> f64 {
    match unit {
        Unit::Time => value / 1e6,
        Unit::Bytes => value / 1024.0,
        Unit::Share => value * 100.0,
        Unit::Count | Unit::Plain => value,
    }
}

fn digits(value: f64) -> usize {
    match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 1.0 || v == 0.0 => 1,
        v if v >= 0.1 => 2,
        v if v >= 0.01 => 3,
        _ => 4,
    }
}

pub fn number(unit: Unit, value: f64) -> String {
    let value = scaled(unit, value);
    if value.is_nan() { "–".to_owned() } else { format!("{value:.*}", digits(value)) }
}

fn signed(unit: Unit, value: f64) -> String {
    let value = scaled(unit, value);
    if value.is_nan() { "–".to_owned() } else { format!("{value:+.*}", digits(value)) }
}

pub fn with_unit(unit: Unit, value: f64) -> String {
    let name = match unit {
        Unit::Time => " ms",
        Unit::Bytes => " KiB",
        Unit::Share => " %",
        Unit::Count | Unit::Plain => "",
    };
    format!("{}{name}", number(unit, value))
}
