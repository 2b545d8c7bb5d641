//! Findings for a person: paragraphs on a terminal, a table in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use indicatif::HumanCount;
use textwrap::core::display_width;

use super::{Finding, Severity, Summary};

/// The width of text without a terminal, and the largest width in a terminal: longer lines are hard to read.
const WIDTH: usize = 100;

/// The indentation of all lines of a finding except the first. A terminal of less than `NARROW` columns has
/// no room for it.
const INDENT: &str = "         ";
const NARROW: usize = 60;

/// The largest number of findings of one check: a thousand sequences may have the same problem.
const MOST: usize = 5;

/// The output for a terminal of this width, or for a pipe.
struct Page<'a> {
    width: usize,
    is_coloured: bool,
    out: &'a mut dyn Write,
}

/// Writes findings and numbers for a person.
pub fn write(
    findings: &[Finding],
    summary: &Summary,
    terminal: Option<u16>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let stdout = io::stdout();
    let mut page = Page {
        width: terminal.map_or(WIDTH, |width| usize::from(width).clamp(20, WIDTH)),
        is_coloured: stdout.is_terminal()
            && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never,
        out,
    };
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        let shown = shown.entry(&finding.check).or_default();
        *shown += 1;
        if *shown <= MOST {
            page.finding(finding)?;
        }
    }
    for (check, count) in shown.into_iter().filter(|(_, count)| *count > MOST) {
        let more = HumanCount((count - MOST) as u64);
        page.wrapped(
            &format!("… and {more} more of {check}; --format json has all of them"),
            "",
            "",
        )?;
        writeln!(page.out)?;
    }
    let verdict = verdict(findings);
    let bold = page.styled(&verdict, Style::new().bold());
    writeln!(page.out, "{bold}")?;
    for (heading, text) in numbers(summary) {
        page.wrapped(&text, &format!("  {heading:<10} "), "             ")?;
    }
    Ok(())
}

impl Page<'_> {
    fn styled(&self, text: &str, style: Style) -> String {
        match self.is_coloured {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let severity = finding.severity.word();
        let colour = match finding.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Info => AnsiColor::Cyan,
        };
        let severity = self.styled(severity, colour.on_default().bold());
        let subject = self.styled(&finding.subject, Style::new().bold());
        let plain = format!("{}: {}", finding.severity.word(), finding.subject);
        let check = format!("[{}]", finding.check);
        // Without room for both, the name of the check is below.
        if display_width(&plain) + 1 + display_width(&check) <= self.width {
            let check = self.styled(&check, Style::new().dimmed());
            writeln!(self.out, "{severity}: {subject} {check}")?;
        } else {
            writeln!(self.out, "{severity}: {subject}\n{check}")?;
        }
        let indent = if self.width < NARROW { "  " } else { INDENT };
        let parts = [
            ("", finding.message.as_str()),
            ("where", &place(finding)),
            ("cost", &cost(finding)),
            ("do", &finding.advice),
        ];
        for (label, text) in parts {
            if text.is_empty() {
                continue;
            }
            let label = match (label, self.width < NARROW) {
                ("", _) => "  ".to_owned(),
                (label, true) => format!("  {label}: "),
                (label, false) => format!("  {label:<5}  "),
            };
            let rest = if label == "  " { "  " } else { indent };
            self.wrapped(text, &label, rest)?;
        }
        writeln!(self.out)
    }

    fn wrapped(&mut self, text: &str, first: &str, rest: &str) -> io::Result<()> {
        let options = textwrap::Options::new(self.width)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .initial_indent(first)
            .subsequent_indent(rest);
        for line in textwrap::wrap(text, options) {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }
}

/// The place of the first occurrence.
fn place(finding: &Finding) -> String {
    let packet = match (finding.packet, finding.offset) {
        (Some(packet), Some(offset)) => Some(format!("packet {packet}, at byte {offset}")),
        (packet, _) => packet.map(|packet| format!("packet {packet}")),
    };
    let place = match (packet, &finding.file) {
        (Some(packet), Some(file)) => Some(format!("{packet} of {file}")),
        (packet, file) => packet.or_else(|| file.clone()),
    };
    match (place, &finding.machine) {
        (Some(place), Some(machine)) => format!("{place} ({machine})"),
        (place, machine) => place.or_else(|| machine.clone()).unwrap_or_default(),
    }
}

/// The number of affected events, and the largest error.
fn cost(finding: &Finding) -> String {
    let events = finding.events.filter(|events| *events > 0);
    let events = events.map(|events| counted(events, "event", "events"));
    let worst = finding.worst_ns.map(|ns| format!("up to {}", duration(ns as f64)));
    let parts: Vec<String> = events.into_iter().chain(worst).collect();
    parts.join(", ")
}

fn verdict(findings: &[Finding]) -> String {
    let count = |severity| {
        let of = findings.iter().filter(|finding| finding.severity == severity);
        of.count() as i64
    };
    let counts = [
        (count(Severity::Error), "error", "errors"),
        (count(Severity::Warning), "warning", "warnings"),
        (count(Severity::Info), "note", "notes"),
    ];
    let counts = counts.iter().filter(|(count, ..)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, one, many)| counted(*count, one, many)).collect();
    let is_wrong = findings.iter().any(|finding| finding.severity > Severity::Info);
    match (counts.is_empty(), is_wrong) {
        (true, _) => "healthy: nothing is wrong with the clocks of this trace".to_owned(),
        (false, false) => format!("healthy: nothing is wrong, {}", counts.join(", ")),
        (false, true) => counts.join(", "),
    }
}

/// The numbers, with their headings.
fn numbers(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if summary.files > 1 || summary.machines > 1 {
        let files = counted(summary.files, "file", "files");
        let machines = counted(summary.machines, "machine", "machines");
        lines.push(("inputs", format!("{machines} in {files}")));
    }
    let mut clocks = counted(summary.clocks, "clock", "clocks");
    match summary.clocks_without_path {
        0 if summary.clocks > 1 => clocks.push_str(", all with a way to trace time"),
        0 => {}
        without => {
            let _ = write!(
                clocks,
                ", {} without a way to trace time",
                HumanCount(without.unsigned_abs())
            );
        }
    }
    lines.push(("clocks", clocks));
    lines.push(("snapshots", snapshots(summary)));
    let timed = summary.on_trace_time + summary.unresolved;
    let mut packets = format!(
        "{} of {} on trace time",
        HumanCount(summary.on_trace_time.unsigned_abs()),
        counted(timed, "packet", "packets"),
    );
    for (all, lost, one, many) in [
        (summary.kernel_events, summary.kernel_events_unresolved, "kernel event", "kernel events"),
        (summary.log_lines, summary.log_lines_unresolved, "log line", "log lines"),
    ] {
        if all > 0 {
            let _ = write!(
                packets,
                ", {} of {}",
                HumanCount((all - lost).unsigned_abs()),
                counted(all, one, many)
            );
        }
    }
    if summary.events_dropped > 0 {
        let dropped = counted(summary.events_dropped, "event", "events");
        let _ = write!(packets, ", {dropped} without a row");
    }
    if summary.ends_misplaced > 0 {
        let slices = counted(summary.ends_misplaced, "slice", "slices");
        let _ = write!(packets, ", {slices} ended by the end of another");
    }
    lines.push(("events", packets));
    // With one snapshot, there is no error between two.
    let Some((ppm, clocks)) = &summary.drift else {
        return lines;
    };
    let drift = match rounded(ppm.abs()).as_str() {
        "0" => "none between any two clocks".to_owned(),
        ppm => format!("{ppm} ppm at most: {clocks}"),
    };
    lines.push(("drift", drift));
    if let (Some(line), Some(nearest)) = (summary.worst_error_ns, summary.worst_error_nearest_ns) {
        let (line, nearest) = (duration(line), duration(nearest));
        lines.push((
            "error",
            format!(
                "nearest neighbour jumps by up to {nearest} at a snapshot; the line between two is \
                 sure to within {line}"
            ),
        ));
    }
    lines
}

fn snapshots(summary: &Summary) -> String {
    let mut snapshots = counted(summary.snapshots, "snapshot", "snapshots");
    if let (Some(span), Some(gap)) = (summary.span_ns, summary.largest_gap_ns) {
        let _ = write!(
            snapshots,
            " over {}, at most {} apart",
            duration(span as f64),
            duration(gap as f64)
        );
    }
    snapshots
}

fn counted(count: i64, one: &str, many: &str) -> String {
    let word = if count == 1 { one } else { many };
    format!("{} {word}", HumanCount(count.unsigned_abs()))
}

/// A time with its unit, to four digits.
fn duration(ns: f64) -> String {
    const UNITS: [(f64, &str); 6] =
        [(86_400e9, "days"), (3600e9, "hours"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    // The least of hours and days is two. For the others, 0.9999 is 1 after rounding.
    let least = |unit: f64| unit * if unit > 1e9 { 2.0 } else { 0.99995 };
    let unit = UNITS.iter().find(|(unit, _)| ns.abs() >= least(*unit));
    let (unit, name) = unit.unwrap_or(&(1.0, "ns"));
    format!("{} {name}", rounded(ns / unit))
}

/// Rounded to three decimal places, or to none if there are many digits before the point.
fn rounded(number: f64) -> String {
    let places = match number.abs() {
        n if n >= 1000.0 => 0,
        n if n >= 100.0 => 1,
        n if n >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{number:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Writes findings and numbers as Markdown.
pub fn write_markdown(
    findings: &[Finding],
    summary: &Summary,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "**{}**\n", verdict(findings))?;
    for (heading, text) in numbers(summary) {
        writeln!(out, "- {heading}: {}", in_markdown(&text))?;
    }
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| severity | check | where | what | cost | what to do |")?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- |")?;
    for finding in findings {
        let mut places = vec![finding.subject.clone(), place(finding)];
        places.retain(|text| !text.is_empty());
        let cells = [
            finding.severity.word(),
            &finding.check,
            &places.join(", "),
            &finding.message,
            &cost(finding),
            &finding.advice,
        ];
        for cell in cells {
            write!(out, "| {} ", in_markdown(cell))?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

/// Names in a trace can contain anything, so this removes links, HTML, and ends of cells.
fn in_markdown(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '<' => "&lt;".to_owned(),
            '&' => "&amp;".to_owned(),
            '|' | '[' | ']' | '`' | '*' | '\\' => format!("\\{c}"),
            c => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_the_unit_that_a_person_would_choose() {
        for (ns, shown) in [
            (0.0, "0 ns"),
            (999.4, "999.4 ns"),
            (999.96, "1 µs"),
            (1500.0, "1.5 µs"),
            (999_999_999.0, "1 s"),
            (7199e9, "7199 s"),
            (7200e9, "2 hours"),
            (-3e6, "-3 ms"),
            (400.0 * 86_400e9, "400 days"),
        ] {
            assert_eq!(duration(ns), shown);
        }
    }

    #[test]
    fn a_page_has_no_marks_of_a_trace() {
        assert_eq!(in_markdown("a|b <c> [d](e)"), r"a\|b &lt;c> \[d\](e)");
    }
}
