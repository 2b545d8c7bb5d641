//! The result as a page (rule CM24): the sentences of the text, with plots of the lines that changed.
//!
//! # Design
//!
//! The words are those of `text.rs`, and the drawings are those of `timebase-page`, which knows no runs. This part
//! brings both together: it takes the values of each plotted line, and reads durations and callstacks from the files of
//! the runs, one file at a time. The alternative was to keep all distributions with the values, which takes some
//! hundred times the memory for lines that no page shows.

use std::collections::HashMap;

use timebase_compare::{
    Call, Compared, Comparison, Dots, Family, Line, LineResult, Names, Note, Row, Scale, Stat,
    Unit, dots,
};
use timebase_page::compare as page;

use super::gathered::{Gathered, ungrouped};
use super::remarks::{marked, unused_because};
use super::run_file::RunFile;
use super::text::{Report, absolute, effect, interval, number, shown, with_unit};
use crate::flags::CompareArguments;

/// The number of lines of a family that have a row, with or without plots.
const ROWS: usize = 300;

/// The page of a comparison.
pub fn of(
    comparison: &Comparison,
    gathered: &Gathered,
    arguments: &CompareArguments,
) -> anyhow::Result<String> {
    let report = Report { comparison, gathered, top: arguments.top };
    let order = Order::of(comparison);
    let plots = Plots::of(&report, &order, arguments)?;
    let sections = report.families().into_iter().map(|(family, lines)| {
        let shown = lines.iter().take(ROWS.max(arguments.top));
        let lines_shown: Vec<page::Line> =
            shown.filter_map(|line| shown_line(&report, line, &plots)).collect();
        page::Section {
            name: family.name().to_owned(),
            about: about(family).to_owned(),
            columns: report.columns(family),
            more: lines.len().saturating_sub(lines_shown.len()),
            lines: lines_shown,
        }
    });
    Ok(page::html(&page::Compared {
        labels: comparison.settings.labels.clone(),
        said: report.said(),
        together: report.together().map(|together| page::Together {
            change: together.change,
            interval: together.interval,
            meaning: together.meaning.to_owned(),
        }),
        notes: report.notes(),
        is_by_time: order.is_by_time,
        title: title(&report).to_owned(),
        sections: sections.collect(),
        names: names(&report),
        not_called: report.not_called(),
        unseen: unseen(&report),
        runs: runs(&report, &order),
        left_out: left_out(&report),
        flames: plots.flames,
    }))
}

/// The heading of the lines.
fn title(report: &Report<'_>) -> &'static str {
    let counts = &report.comparison.counts;
    match (report.has_verdicts(), counts.called) {
        (false, _) => "All lines, without verdicts",
        (true, 0) => "No line changed",
        (true, _) if counts.runs.iter().all(|runs| *runs > 4) => "Lines that changed",
        (true, _) => "Lines that stand out",
    }
}

/// Remarks on what the page does not show.
fn left_out(report: &Report<'_>) -> Vec<String> {
    let mut all = Vec::new();
    if report.gathered.files.is_empty() {
        all.push("Files of values have neither durations nor callstacks.".to_owned());
    }
    if report.families().iter().any(|(_, lines)| lines.len() > report.top) {
        all.push(format!("The first {} lines of each family have plots: --top.", report.top));
    }
    all
}

/// The lines of a family, in words.
fn about(family: Family) -> &'static str {
    match family {
        Family::SelfTime => "slices on threads, without the time of inner slices",
        Family::Slice => "slices on threads, with the time of inner slices",
        Family::Async => "slices that are on no thread",
        Family::Cpu => "CPU time of threads",
        Family::CpuOfProcess => "CPU time of processes",
        Family::Wait => "threads that are ready, while another one has the CPU",
        Family::Blocked => "threads that the kernel blocks",
        Family::Frame => "frames by layer",
        Family::Counter => "counters and memory",
        Family::Sample => "share of samples, by innermost function",
        Family::Heap => "memory allocated and not freed, by innermost function",
        Family::Log => "log lines of the levels E and F",
        Family::Metric => "your metrics",
    }
}

/// The runs in the order of the page.
struct Order {
    /// Indexes of the runs.
    runs: Vec<usize>,
    /// The place of each run.
    places: Vec<usize>,
    is_by_time: bool,
}

impl Order {
    /// By the begin of the recording if all runs have one, else as they were given.
    fn of(comparison: &Comparison) -> Order {
        let all = &comparison.runs;
        let is_by_time = all.iter().all(|run| run.run.facts.start.is_some());
        let key = |run: &Compared| {
            (run.run.facts.start.filter(|_| is_by_time), run.run.side.index(), run.place)
        };
        let mut runs: Vec<usize> = (0..all.len()).collect();
        runs.sort_by_key(|&at| all.get(at).map(key));
        let mut places = vec![0; all.len()];
        for (place, &run) in runs.iter().enumerate() {
            if let Some(at) = places.get_mut(run) {
                *at = place;
            }
        }
        Order { runs, places, is_by_time }
    }

    fn place(&self, run: usize) -> usize {
        self.places.get(run).copied().unwrap_or_default()
    }
}

fn runs(report: &Report<'_>, order: &Order) -> Vec<page::Run> {
    let comparison = report.comparison;
    let odd = |at: usize| {
        let note = comparison.notes.iter().find(|note| match note {
            Note::OddRun { run, .. } | Note::FirstSlowest { run, .. } => run.index() == at,
            _ => false,
        })?;
        report.noted(note)
    };
    let all = order.runs.iter().filter_map(|&at| Some((at, comparison.runs.get(at)?)));
    all.map(|(at, run)| page::Run {
        name: run.run.name.clone(),
        side: run.run.side.index(),
        factor: run.factor.map(f64::exp),
        odd: odd(at),
        marks: run.marks.iter().map(|mark| marked(*mark)).collect(),
        unused: run.unused.map(|unused| unused_because(unused).to_owned()),
    })
    .collect()
}

fn names(report: &Report<'_>) -> Vec<page::Names> {
    let all = report.appearances().into_iter();
    all.map(|names| page::Names {
        title: names.title.to_owned(),
        items: names.told,
        more: names.more,
    })
    .collect()
}

fn unseen(report: &Report<'_>) -> Option<page::Unseen> {
    let unseen = report.unseen()?;
    let rows: Vec<[String; 6]> = unseen
        .lines
        .iter()
        .take(ROWS)
        .map(|(line, row)| {
            let would = row.smallest().map(|change| shown_effect(row, change));
            [
                line.line.to_string(),
                row.stat.name().to_owned(),
                with_unit(row.unit, row.mean[0]),
                number(row.unit, row.mean[1]),
                absolute(row),
                would.unwrap_or_default(),
            ]
        })
        .collect();
    let more = unseen.lines.len().saturating_sub(rows.len());
    Some(page::Unseen { said: unseen.said, rows, more })
}

fn shown_effect(row: &Row, change: f64) -> String {
    shown(change, row.scale, row.unit)
}

/// A row of the page.
fn shown_line(report: &Report<'_>, line: &LineResult, plots: &Plots) -> Option<page::Line> {
    let [_, decisive] = report.main_and_decisive(line)?;
    Some(page::Line {
        name: line.line.to_string(),
        cells: report.cells(line)?,
        remarks: report.remarks(line).trim().replace("  ", " · "),
        change: change(decisive),
        plots: plots.lines.get(&line.line).cloned(),
    })
}

/// The direction of a change.
fn change(row: &Row) -> page::Change {
    match (row.call, row.judged().d > 0.0) {
        (Call::No, _) => page::Change::None,
        (_, true) => page::Change::More,
        (_, false) => page::Change::Less,
    }
}

/// All that is drawn.
struct Plots {
    lines: HashMap<Line, page::Plots>,
    flames: Vec<page::Flame>,
}

impl Plots {
    fn of(
        report: &Report<'_>,
        order: &Order,
        arguments: &CompareArguments,
    ) -> anyhow::Result<Plots> {
        let Report { comparison, gathered, top } = report;
        let families = report.families();
        let plotted = families.iter().flat_map(|(_, lines)| lines.iter().take(*top).copied());
        let mut lines: HashMap<Line, page::Plots> = plotted
            .map(|line| {
                let forests = forests(report.rows(line));
                (line.line.clone(), page::Plots { forests, ..page::Plots::default() })
            })
            .collect();
        let numbers: Vec<usize> = (0..comparison.lines.len())
            .filter(|&at| comparison.lines.get(at).is_some_and(|of| lines.contains_key(&of.line)))
            .collect();
        for found in dots(&gathered.values, comparison, &numbers)? {
            let Some(line) = comparison.lines.get(found.line) else { continue };
            let Some([_, decisive]) = report.main_and_decisive(line) else { continue };
            if found.stat == decisive.stat
                && let Some(plots) = lines.get_mut(&line.line)
            {
                plots.dots = Some(shown_dots(decisive, &found, order));
            }
        }
        let names = Names::new(&arguments.names, !arguments.keep_names)?;
        let mut stacks = [Stacks::new(Family::Sample), Stacks::new(Family::Heap)];
        for file in &gathered.files {
            let Some(run) = comparison.runs.get(file.run.index()) else { continue };
            if run.unused.is_some() {
                continue;
            }
            let side = run.run.side.index();
            let opened = RunFile::open(&file.path)?;
            for (line, plots) in &mut lines {
                let Some(line) = ungrouped(line, file.group.as_deref()) else { continue };
                let buckets = opened.buckets(&line)?;
                if !buckets.is_empty()
                    && let Some(runs) =
                        plots.distribution.get_or_insert_default().sides.get_mut(side)
                {
                    runs.push(buckets);
                }
            }
            for stacks in &mut stacks {
                stacks.add(side, &opened.stacks(stacks.family)?, &names);
            }
        }
        let flames = stacks.into_iter().filter_map(|stacks| stacks.flame(comparison)).collect();
        Ok(Plots { lines, flames })
    }
}

/// The kind of values on an axis.
fn unit(unit: Unit) -> page::Unit {
    match unit {
        Unit::Time => page::Unit::Time,
        Unit::Bytes => page::Unit::Bytes,
        Unit::Share => page::Unit::Share,
        Unit::Count | Unit::Plain => page::Unit::Plain,
    }
}

/// The name of a statistic on the page.
fn stat(stat: Stat) -> String {
    let name = if stat == Stat::Share { "share" } else { stat.name() };
    name.to_owned()
}

fn shown_dots(row: &Row, found: &Dots, order: &Order) -> page::Dots {
    let values = found.values.iter().filter_map(|(run, value)| {
        let of_run = value.sure?;
        let all = value.all.filter(|all| *all != of_run);
        Some(page::Dot { run: order.place(run.index()), value: of_run, all })
    });
    let absolute_ends = row.interval_of(row.change, row.alpha);
    let mut said = absolute(row);
    if let Some(ends) = absolute_ends {
        said = format!("{said} {}", interval(ends, row.scale, row.unit));
    }
    if row.beyond.is_some() {
        said = format!("{said}; beyond all lines {}", effect(row));
        if let Some(ends) = row.interval() {
            said = format!("{said} {}", interval(ends, row.scale, row.unit));
        }
    }
    // The interval is of the change; around the mean after, it shows whether the mean before is beyond it.
    let around = |end: f64| match row.scale {
        Scale::Ratio => row.mean[1] * end / row.change.d.exp(),
        Scale::Difference => row.mean[1] + end - row.change.d,
    };
    page::Dots {
        stat: stat(row.stat),
        unit: unit(row.unit),
        values: values.collect(),
        means: row.mean.map(|mean| Some(mean).filter(|mean| mean.is_finite())),
        interval: absolute_ends.map(|ends| ends.map(around)),
        said,
    }
}

/// The intervals of a line's statistics: all ratios, and differences by their unit.
fn forests(rows: &[Row]) -> Vec<page::Forest> {
    let mut forests: Vec<page::Forest> = Vec::new();
    for row in rows.iter().filter(|row| row.effect().is_finite()) {
        let is_ratio = row.scale == Scale::Ratio;
        let unit = if is_ratio { page::Unit::Plain } else { unit(row.unit) };
        let forest = match forests.iter().position(|of| of.is_ratio == is_ratio && of.unit == unit)
        {
            Some(at) => forests.get_mut(at),
            None => {
                forests.push(page::Forest { is_ratio, unit, ..page::Forest::default() });
                forests.last_mut()
            }
        };
        let Some(forest) = forest else { continue };
        forest.rows.push(interval_of(row));
        if row.beyond.is_some() {
            forest.title = "changes; times are beyond all lines".to_owned();
        } else if forest.title.is_empty() {
            forest.title = if is_ratio { "changes" } else { "differences" }.to_owned();
        }
    }
    forests
}

fn interval_of(row: &Row) -> page::Interval {
    let ends = row.interval();
    let words = effect(row);
    let around = ends.map_or_else(String::new, |ends| {
        let level = format!("{:.2}", (1.0 - row.alpha) * 100.0);
        let level = level.trim_end_matches('0').trim_end_matches('.');
        format!(" {}, at the level {level} %", interval(ends, row.scale, row.unit))
    });
    let tested = if row.p.is_some() { "" } else { "; not tested" };
    page::Interval {
        stat: stat(row.stat),
        effect: row.effect(),
        ends,
        title: format!("{}: {words}{around}{tested}", stat(row.stat)),
        // The heading has the unit.
        said: words.trim_end_matches(" points").to_owned(),
        change: change(row),
    }
}

/// The callstacks of a family in all runs.
struct Stacks {
    family: Family,
    flame: page::Flame,
    runs: [u32; 2],
}

impl Stacks {
    fn new(family: Family) -> Stacks {
        Stacks { family, flame: page::Flame::new(), runs: [0; 2] }
    }

    /// Adds the callstacks of a run; functions have the names of lines.
    fn add(&mut self, side: usize, stacks: &[(String, f64)], names: &Names) {
        let all: f64 = stacks.iter().map(|(_, weight)| weight).sum();
        let Some(runs) = self.runs.get_mut(side).filter(|_| all > 0.0) else { return };
        *runs += 1;
        for (stack, weight) in stacks {
            let frames: Vec<_> = stack.split(';').map(|frame| names.pattern(frame)).collect();
            let frames = frames.iter().map(|name| match &**name {
                "" => "[unknown]",
                name => name,
            });
            self.flame.add(side, frames, weight / all);
        }
    }

    /// The graph, if both sides have callstacks.
    fn flame(mut self, comparison: &Comparison) -> Option<page::Flame> {
        let [before, after] = self.runs;
        if before == 0 || after == 0 {
            return None;
        }
        self.flame.divide(self.runs.map(f64::from));
        let lines = comparison.lines.iter().map(|line| (&line.line, line.call));
        let names = comparison.names.iter().map(|name| (&name.line, name.call));
        let called = lines
            .chain(names)
            .filter(|(line, call)| line.family == self.family && *call != Call::No);
        let called = called.map(|(line, _)| line.name.clone()).collect();
        let (title, of) = match self.family {
            Family::Heap => ("Heap", "of the memory allocated and not freed"),
            _ => ("Samples", "of the samples"),
        };
        let mut flame = self.flame;
        flame.id = self.family.name().to_owned();
        flame.title = title.to_owned();
        flame.about = format!(
            "The width of a function is its mean share {of} in {after} runs after, and its colour the change from {before} before."
        );
        flame.called = called;
        Some(flame)
    }
}
