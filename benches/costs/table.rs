//! The table that is printed at the end.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use comfy_table::presets::ASCII_MARKDOWN;

use crate::Result;
use crate::pairs::{Pairs, Spread, median};

const HEADER: [&str; 8] =
    ["section", "what", "time", "ns each", "peak memory", "yardstick", "ratio", "target"];

#[derive(Debug, Default)]
pub struct Table {
    /// The section for new rows.
    pub section: &'static str,
    rows: Vec<(&'static str, Row)>,
}

impl Table {
    /// Whether no measurement added a row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn add(&mut self, row: Row) {
        self.rows.push((self.section, row));
    }

    /// Replaces the rows of the current section in the first such table of a page. Sections stay in the order of `all`.
    pub fn write(&self, page: &Path, all: &[&str]) -> Result<()> {
        let text = fs::read_to_string(page)?;
        let header = format!("| {} |\n", HEADER.join(" | "));
        let (before, table) =
            text.split_once(&header).ok_or_else(|| format!("{}: no table", page.display()))?;
        let (table, after) = table.split_once("\n\n").unwrap_or((table, ""));
        let (line, old) = table.split_once('\n').unwrap_or((table, ""));
        let section_of = |row: &str| {
            let name = row.split('|').nth(1).unwrap_or_default().trim();
            all.iter().position(|section| *section == name)
        };
        let here = all.iter().position(|section| *section == self.section);
        let new = self.rows.iter().filter(|(section, _)| *section == self.section);
        let new = new.map(|(section, row)| format!("| {} |", row.cells(section).join(" | ")));
        let mut rows: Vec<String> = old
            .lines()
            .filter(|row| section_of(row) != here)
            .map(str::to_owned)
            .chain(new)
            .collect();
        rows.sort_by_key(|row| section_of(row));
        let rows = rows.join("\n");
        fs::write(page, format!("{before}{header}{line}\n{rows}\n\n{after}"))?;
        Ok(())
    }
}

/// The result of a measurement. Missing cells stay empty.
#[derive(Debug, Default)]
pub struct Row {
    what: String,
    time: Option<Duration>,
    /// The number of items for the time.
    count: Option<u64>,
    /// In bytes.
    memory: Option<u64>,
    yardstick: Option<(&'static str, Duration)>,
    ratio: Option<Spread>,
    target: Option<Target>,
}

/// The limit of the row.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// Its ratio.
    Ratio(f64),
    /// The time for each of its items, in nanoseconds.
    Each(f64),
    /// Its memory, in bytes.
    Memory(u64),
}

impl Row {
    pub fn new(what: impl Into<String>) -> Row {
        Row { what: what.into(), ..Row::default() }
    }

    /// The result of `pairs`, with the name of the yardstick.
    pub fn pairs(self, pairs: &Pairs, yardstick: &'static str) -> Row {
        Row {
            time: Some(median(&pairs.ours)),
            yardstick: Some((yardstick, median(&pairs.yardstick))),
            ratio: Some(pairs.ratio()),
            ..self
        }
    }

    pub fn time(self, time: Duration) -> Row {
        Row { time: Some(time), ..self }
    }

    /// The comparison for the time, if a ratio would say nothing.
    pub fn against(self, time: Duration, yardstick: &'static str) -> Row {
        Row { yardstick: Some((yardstick, time)), ..self }
    }

    /// The time was for this many items, so the table also shows the time of one.
    pub fn count(self, count: u64) -> Row {
        Row { count: Some(count), ..self }
    }

    pub fn memory(self, bytes: u64) -> Row {
        Row { memory: Some(bytes), ..self }
    }

    /// Replaces the ratio of the pairs.
    pub fn ratio(self, ratio: Spread) -> Row {
        Row { ratio: Some(ratio), ..self }
    }

    pub fn target(self, target: Target) -> Row {
        Row { target: Some(target), ..self }
    }

    fn cells(&self, section: &str) -> [String; 8] {
        let or_empty = Option::unwrap_or_default;
        let each = self.each().map(|ns| format!("{ns:.*}", usize::from(ns < 100.0)));
        let yardstick = self.yardstick.map(|(what, time)| format!("{} {what}", seconds(time)));
        let ratio = self.ratio.map(|ratio| {
            let Spread { low, median, high } = ratio;
            format!("{median:.2} ({low:.2}–{high:.2})")
        });
        [
            section.to_owned(),
            self.what.clone(),
            or_empty(self.time.map(seconds)),
            or_empty(each),
            or_empty(self.memory.map(megabytes)),
            or_empty(yardstick),
            or_empty(ratio),
            or_empty(self.target.map(|target| self.verdict(target))),
        ]
    }

    /// Nanoseconds for each item.
    fn each(&self) -> Option<f64> {
        let (time, count) = self.time.zip(self.count)?;
        Some(time.as_secs_f64() * 1e9 / count as f64)
    }

    fn verdict(&self, target: Target) -> String {
        let (met, limit) = match target {
            Target::Ratio(limit) => {
                (self.ratio.is_some_and(|ratio| ratio.median <= limit), limit.to_string())
            }
            Target::Each(limit) => {
                (self.each().is_some_and(|each| each <= limit), format!("{limit} ns"))
            }
            Target::Memory(limit) => {
                (self.memory.is_some_and(|memory| memory <= limit), megabytes(limit))
            }
        };
        let met = if met { "met" } else { "**missed**" };
        format!("≤ {limit} {met}")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(HEADER);
        for (section, row) in &self.rows {
            table.add_row(row.cells(section));
        }
        table.fmt(f)
    }
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.1} µs", seconds * 1e6),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}
