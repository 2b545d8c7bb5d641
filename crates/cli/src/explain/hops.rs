//! The hops of a conversion on the screen.

use std::io::Write;

use super::note::Note;

/// A hop of the conversion: two clocks, and their readings in a snapshot.
pub struct Hop {
    pub from: String,
    pub to: String,
    pub snapshot: i64,
    pub from_value: i64,
    pub to_value: i64,
    /// The readings of both clocks at the time of the conversion, if they fit 64 bits.
    pub readings: Option<(i64, i64)>,
    /// Whether it goes by lines from snapshot to snapshot, so that the note says more than the arithmetic of one.
    pub is_by_lines: bool,
    /// The basis of the hop, if it leads to another machine or file.
    pub note: Option<Note>,
}

/// One line for each hop, in columns. If such lines are wider than the terminal, each hop is above
/// its arithmetic. A hop by lines has none: its note says how much the clocks differ. Only the final value has to fit 64 bits.
pub fn write_hops(
    hops: &[Hop],
    mut value: i128,
    terminal: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut lines = Vec::with_capacity(hops.len());
    for hop in hops {
        let Hop { from, to, snapshot, from_value, to_value, .. } = hop;
        let by_lines = hop.readings.filter(|_| hop.is_by_lines);
        let result = match by_lines {
            Some((_, shown)) => i128::from(shown),
            None => i128::from(*to_value) + (value - i128::from(*from_value)),
        };
        let head = vec![format!("{from} {value}"), format!("→ {to} {result}")];
        let subtrahend = in_parentheses_if_negative(*from_value);
        lines.push(match by_lines {
            Some(_) => [head, Vec::new(), Vec::new()],
            None => [
                head,
                vec![
                    format!("snapshot {snapshot}: {from} {from_value}"),
                    format!("= {to} {to_value};"),
                ],
                vec![
                    to_value.to_string(),
                    format!("+ ({value} − {subtrahend})"),
                    format!("= {result}"),
                ],
            ],
        });
        value = result;
    }
    let columns = lines.iter().map(|parts| parts.each_ref().map(|part| part.join(" ")));
    let columns: Vec<[String; 3]> = columns.collect();
    let widths = columns.iter().map(|[hop, ..]| hop.chars().count());
    let width = widths.max().unwrap_or_default();
    let in_one = columns.iter().map(|[hop, snapshot, arithmetic]| match snapshot.is_empty() {
        true => hop.clone(),
        false => format!("{hop:width$}   {snapshot}  {arithmetic}"),
    });
    let in_one: Vec<String> = in_one.collect();
    if in_one.iter().all(|line| line.chars().count() <= terminal) {
        for (line, Hop { note, .. }) in in_one.iter().zip(hops) {
            writeln!(out, "{line}")?;
            write_note(note.as_ref(), terminal, out)?;
        }
        return Ok(());
    }
    for ([hop, snapshot, arithmetic], Hop { note, .. }) in lines.iter().zip(hops) {
        write_folded(hop, "", terminal, out)?;
        for line in [snapshot, arithmetic].into_iter().filter(|line| !line.is_empty()) {
            write_folded(line, "  ", terminal, out)?;
        }
        write_note(note.as_ref(), terminal, out)?;
    }
    Ok(())
}

fn write_note(note: Option<&Note>, terminal: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    note.map_or(Ok(()), |note| write_folded(note, "  ", terminal, out))
}

/// A reading of both clocks of a hop.
pub struct Snapshot {
    pub taken: Taken,
    pub from: i64,
    pub to: i64,
}

/// The way in which both clocks were read.
pub enum Taken {
    /// In this snapshot.
    Together(i64),
    /// By a question to the other machine: the packet with the question, and half of the round
    /// trip, if they are known.
    Asked(Option<(i64, i64)>),
}

impl Taken {
    fn name(&self) -> String {
        match self {
            Taken::Together(snapshot) => format!("snapshot {snapshot}:"),
            Taken::Asked(Some((packet, error))) => {
                format!("sample of packet {packet}, ± {error} ns:")
            }
            Taken::Asked(None) => "sample:".to_owned(),
        }
    }
}

/// A hop by the rate of its clocks.
pub struct LinearHop {
    pub from: String,
    pub to: String,
    /// The basis of the hop: `line`, `step`, `before`, `after`.
    pub kind: String,
    pub before: Option<Snapshot>,
    pub after: Option<Snapshot>,
    pub rate: f64,
    /// `None` if the error is unknown.
    pub error_ns: Option<f64>,
    /// The basis of the hop, if it leads to another machine or file.
    pub note: Option<Note>,
    /// Whether both clocks were measured.
    pub is_measured: bool,
    /// `None` if the value does not fit 64 bits.
    pub value_in: Option<i64>,
    pub value_out: Option<i64>,
}

impl LinearHop {
    /// The distance by which the second clock is ahead, if both run equally fast and the readings around differ
    /// by something else.
    fn offset(&self) -> Option<String> {
        let offset = i128::from(self.value_out?) - i128::from(self.value_in?);
        let around = [&self.before, &self.after].into_iter().flatten();
        let mut offsets = around.map(|read| i128::from(read.to) - i128::from(read.from));
        let differs = self.rate == 1.0 && offsets.any(|other| other != offset);
        differs.then(|| {
            let direction = if offset < 0 { "behind" } else { "ahead of" };
            let (from, to, ns) = (&self.from, &self.to, offset.unsigned_abs());
            format!(
                "{to} is {ns} ns {direction} {from}, by all snapshots without a step between them"
            )
        })
    }
}

/// Writes each hop above the readings around it, its rate and its error.
pub fn write_linear_hops(
    hops: &[LinearHop],
    terminal: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for hop in hops {
        let LinearHop { from, to, .. } = hop;
        let head = [
            format!("{from} {}", shown(hop.value_in)),
            format!("→ {to} {}", shown(hop.value_out)),
            shown_error(hop.error_ns),
        ];
        write_folded(&head, "", terminal, out)?;
        write_note(hop.note.as_ref(), terminal, out)?;
        if !hop.is_measured {
            continue;
        }
        let sides = [(&hop.before, "after", 1), (&hop.after, "before", -1)];
        for (snapshot, side, sign) in sides {
            if let (Some(Snapshot { taken, from: a, to: b }), Some(value)) =
                (snapshot, hop.value_in)
            {
                let away = sign * (i128::from(value) - i128::from(*a));
                let line = [
                    format!("{} {side} {}", seconds(away as f64), taken.name()),
                    format!("{from} {a} = {to} {b}"),
                ];
                write_folded(&line, "  ", terminal, out)?;
            }
        }
        let rate = match hop.kind.as_str() {
            "line" => "between them".to_owned(),
            "step" => format!("as before; then {to} was set, or slept"),
            "before" => "as usual; there is no snapshot before".to_owned(),
            _ => "as usual; there is none after it".to_owned(),
        };
        let line = [format!("{to} runs {},", relative(hop.rate)), rate];
        write_folded(&line, "  ", terminal, out)?;
        if let Some(line) = hop.offset() {
            write_folded(&[line], "  ", terminal, out)?;
        }
    }
    Ok(())
}

/// The largest error of a time.
pub fn shown_error(error_ns: Option<f64>) -> String {
    error_ns.map_or("± an unknown error".to_owned(), |error| format!("± {:.0} ns", error.ceil()))
}

fn shown(value: Option<i64>) -> String {
    value.map_or("beyond 64 bits".to_owned(), |value| value.to_string())
}

/// A time, in the unit that needs few digits.
fn seconds(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let unit = units.into_iter().find(|(unit, _)| ns.abs() >= *unit);
    match unit {
        Some((unit, name)) => format!("{:.3} {name}", ns / unit),
        None => format!("{ns} ns"),
    }
}

/// The rate of a clock relative to another.
fn relative(rate: f64) -> String {
    let ppm = (rate - 1.0) * 1e6;
    match ppm {
        _ if ppm.abs() > 1e5 => format!("{rate:.9} times as fast"),
        _ if ppm.abs() < 0.0005 => "as fast".to_owned(),
        _ if ppm > 0.0 => format!("{ppm:.3} ppm faster"),
        _ => format!("{:.3} ppm slower", -ppm),
    }
}

/// The parts of a line. A part that does not fit any more begins a new line.
pub fn write_folded(
    parts: &[String],
    indent: &str,
    width: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut line = indent.to_owned();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            if line.chars().count() + 1 + part.chars().count() > width {
                writeln!(out, "{line}")?;
                line = format!("{indent}  ");
            } else {
                line.push(' ');
            }
        }
        line.push_str(part);
    }
    writeln!(out, "{line}")?;
    Ok(())
}

fn in_parentheses_if_negative(value: i64) -> String {
    if value < 0 { format!("({value})") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn al20_a_hop_by_lines_has_the_result_of_the_line_and_not_of_its_corner() {
        let by_lines = Hop {
            readings: Some((3503, 3710)),
            is_by_lines: true,
            note: Some(vec!["by causality".to_owned()]),
            ..hop("BOOTTIME of machine 1", "BOOTTIME", 2, 3000, 3200)
        };
        let hops = [by_lines, hop("BOOTTIME", "MONOTONIC", 1, 3700, 700)];
        let mut out = Vec::new();
        write_hops(&hops, 3503, usize::MAX, &mut out).expect("to memory");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "\
BOOTTIME of machine 1 3503 → BOOTTIME 3710
  by causality
BOOTTIME 3710 → MONOTONIC 710                snapshot 1: BOOTTIME 3700 = MONOTONIC 700;  700 + (3710 − 3700) = 710
"
        );
    }

    fn hop(from: &str, to: &str, snapshot: i64, from_value: i64, to_value: i64) -> Hop {
        Hop {
            from: from.to_owned(),
            to: to.to_owned(),
            snapshot,
            from_value,
            to_value,
            readings: None,
            is_by_lines: false,
            note: None,
        }
    }

    #[test]
    fn hops_are_shown_with_their_arithmetic() {
        let hops =
            [hop("64@2", "MONOTONIC", 2, 3000, 3200), hop("MONOTONIC", "BOOTTIME", 1, -1200, 5200)];
        let mut out = Vec::new();
        write_hops(&hops, 3503, usize::MAX, &mut out).expect("to memory");
        assert_eq!(
            String::from_utf8_lossy(&out),
            concat!(
                "64@2 3503 → MONOTONIC 3703        ",
                "snapshot 2: 64@2 3000 = MONOTONIC 3200;  3200 + (3503 − 3000) = 3703\n",
                "MONOTONIC 3703 → BOOTTIME 10103   ",
                "snapshot 1: MONOTONIC -1200 = BOOTTIME 5200;  5200 + (3703 − (-1200)) = 10103\n",
            )
        );
    }
    #[test]
    fn hops_that_are_wider_than_the_terminal_are_above_their_arithmetic() {
        let realtime = 1_795_231_541_697_117_231;
        let hops = [
            hop("64@2", "BOOTTIME", 3, 3_336_810_948_931, 3_336_810_948_931),
            hop("BOOTTIME", "REALTIME", 1, -1200, realtime),
        ];
        let mut out = Vec::new();
        write_hops(&hops, 3_336_860_237_888, 80, &mut out).expect("to memory");
        let shown = String::from_utf8_lossy(&out);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert_eq!(
            shown,
            "\
64@2 3336860237888 → BOOTTIME 3336860237888
  snapshot 3: 64@2 3336810948931 = BOOTTIME 3336810948931;
  3336810948931 + (3336860237888 − 3336810948931) = 3336860237888
BOOTTIME 3336860237888 → REALTIME 1795234878557356319
  snapshot 1: BOOTTIME -1200 = REALTIME 1795231541697117231;
  1795231541697117231 + (3336860237888 − (-1200)) = 1795234878557356319
"
        );
        let mut narrow = Vec::new();
        write_hops(&hops[..1], 3_336_860_237_888, 50, &mut narrow).expect("to memory");
        assert_eq!(
            String::from_utf8_lossy(&narrow),
            "\
64@2 3336860237888 → BOOTTIME 3336860237888
  snapshot 3: 64@2 3336810948931
    = BOOTTIME 3336810948931;
  3336810948931 + (3336860237888 − 3336810948931)
    = 3336860237888
"
        );
    }

    #[test]
    fn r9_samples_are_shown_with_their_packet_and_an_error_that_nobody_knows_as_such() {
        let sample = |taken, from, to| Some(Snapshot { taken, from, to });
        let hop = |note: Option<&str>, is_measured, error_ns| LinearHop {
            from: "BOOTTIME of machine 1".to_owned(),
            to: "BOOTTIME".to_owned(),
            kind: "line".to_owned(),
            before: sample(Taken::Asked(Some((3, 1500))), 50, 2),
            after: sample(Taken::Asked(None), 90, 42),
            rate: 1.0,
            error_ns,
            note: note.map(|note| vec![note.to_owned()]),
            is_measured,
            value_in: Some(70),
            value_out: Some(22),
        };
        let hops = [hop(None, true, Some(1500.5)), hop(Some("assumed"), false, None)];
        let mut out = Vec::new();
        write_linear_hops(&hops, usize::MAX, &mut out).expect("to memory");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "\
BOOTTIME of machine 1 70 → BOOTTIME 22 ± 1501 ns
  20 ns after sample of packet 3, ± 1500 ns: BOOTTIME of machine 1 50 = BOOTTIME 2
  20 ns before sample: BOOTTIME of machine 1 90 = BOOTTIME 42
  BOOTTIME runs as fast, between them
BOOTTIME of machine 1 70 → BOOTTIME 22 ± an unknown error
  assumed
"
        );
    }
}
