//! The statements of messages about clocks: pairs of clocks, their bounds, and whether they moved (rules AL).

use rusqlite::{Connection, OptionalExtension, params};

use crate::clocks::{Clocks, Key, finite, natural};
use crate::text::{count, counted, duration, shown};
use crate::trail::distance;

/// The number of pairs of clocks on the page.
const MOST: i64 = 8;
/// The number of corners and of outliers of a pair that are read.
const CORNERS: i64 = 10_000;
const OUTLIERS: i64 = 200;

/// The sides on which messages bound a pair, as in the column `sides`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    Both,
    Upper,
    Lower,
    None,
    Contradictory,
}

/// A pair of clocks, as in the table `clock_alignment`.
#[derive(Debug)]
pub struct Pair {
    id: i64,
    pub a: Key,
    pub a_label: String,
    pub b_label: String,
    evidence: String,
    arrives_at_end: bool,
    pub sides: Sides,
    /// Trace time of the first and the last message.
    pub span: Option<(i64, i64)>,
    messages: (u64, u64),
    violated: u64,
    suspect: u64,
    unpaired: u64,
    undirected: u64,
    pub stretches: u64,
    /// Trace time of the middle.
    pub at: Option<i64>,
    pub offset: Option<i64>,
    earliest: Option<i64>,
    latest: Option<i64>,
    pub rate_ppm: Option<f64>,
    pub assumed: Option<i64>,
    wrong_by: Option<i64>,
    inverted: u64,
    /// Whether it moved.
    pub is_used: bool,
    /// Whether its bounds limit the error of a measured relation.
    is_limit: bool,
    reason: String,
    /// Whether its bounds and its estimate are those of its own messages.
    pub is_alone: bool,
    /// Whether other pairs have one of its clocks.
    pub has_neighbours: bool,
    /// Whether it is not used, but both of its clocks are in pairs that are.
    follows_others: bool,
}

/// A corner of the course of a pair's offset.
#[derive(Clone, Copy, Debug)]
pub struct Corner {
    /// A reading of clock A.
    pub value: i64,
    pub offset: Option<i64>,
    pub earliest: Option<i64>,
    pub latest: Option<i64>,
    /// Whether a clock was set or slept between this corner and the next.
    pub is_step: bool,
}

impl Corner {
    /// The estimate, or the bound if messages bound one side only.
    pub fn level(&self) -> Option<i64> {
        self.offset.or(self.latest).or(self.earliest)
    }
}

/// A message that does not count.
#[derive(Clone, Copy, Debug)]
pub struct Outlier {
    /// Trace time of its packet on clock A.
    pub ts: i64,
    /// The distance from the bounds of the others.
    pub by: i64,
    pub is_from_a: bool,
    pub is_suspect: bool,
}

/// The pairs that say most come first: those that moved, that contradict, and with the most messages.
pub fn pairs(database: &Connection, clocks: &Clocks) -> rusqlite::Result<Vec<Pair>> {
    let mut statement = database.prepare(
        "SELECT machine_a, clock_a, 0, file_a, machine_b, clock_b, 0, file_b,
                id, evidence, arrival, sides, from_ts, to_ts, messages_ab, messages_ba, violated, suspect,
                unpaired, undirected, stretches, offset, earliest, latest, rate_ppm,
                assumed, wrong_by, inverted, used AND relation IS NOT 'measured', reason,
                evidence <> 'other clocks' AND evidence NOT LIKE '%collectives%',
                EXISTS (
                  SELECT 1 FROM clock_alignment AS o
                  WHERE o.id <> p.id AND ((o.machine_a, o.clock_a) IN ((p.machine_a, p.clock_a), (p.machine_b, p.clock_b))
                    OR (o.machine_b, o.clock_b) IN ((p.machine_a, p.clock_a), (p.machine_b, p.clock_b)))),
                p.used = 0 AND (SELECT count(DISTINCT o.machine_a = p.machine_a AND o.clock_a = p.clock_a AND o.file_a IS p.file_a
                                                   OR o.machine_b = p.machine_a AND o.clock_b = p.clock_a AND o.file_b IS p.file_a)
                  FROM clock_alignment AS o
                  WHERE o.used AND o.relation IS NOT 'measured' AND ((o.machine_a, o.clock_a, coalesce(o.file_a, -1)) IN (
                      (p.machine_a, p.clock_a, coalesce(p.file_a, -1)), (p.machine_b, p.clock_b, coalesce(p.file_b, -1)))
                    OR (o.machine_b, o.clock_b, coalesce(o.file_b, -1)) IN (
                      (p.machine_a, p.clock_a, coalesce(p.file_a, -1)), (p.machine_b, p.clock_b, coalesce(p.file_b, -1))))) = 2,
                at_ts, used AND relation IS 'measured'
         FROM clock_alignment AS p
         ORDER BY used DESC, sides = 'contradictory' DESC, inverted > 0 DESC, offset IS NOT NULL DESC,
                  messages_ab + messages_ba DESC, id
         LIMIT ?1",
    )?;
    let rows = statement.query_map([MOST], |row| {
        let (a, b) = (Key::of_row(row, 0, 3)?, Key::of_row(row, 4, 7)?);
        let (from, to): (Option<i64>, Option<i64>) = (row.get(12)?, row.get(13)?);
        let (is_used, is_of_its_own, has_neighbours): (bool, bool, bool) =
            (row.get(28)?, row.get(30)?, row.get(31)?);
        Ok(Pair {
            a,
            a_label: clocks.label(a),
            b_label: clocks.label(b),
            id: row.get(8)?,
            evidence: shown(&row.get::<_, String>(9)?),
            arrives_at_end: row.get::<_, String>(10)? == "end",
            sides: match row.get::<_, String>(11)?.as_str() {
                "both" => Sides::Both,
                "upper" => Sides::Upper,
                "lower" => Sides::Lower,
                "contradictory" => Sides::Contradictory,
                _ => Sides::None,
            },
            span: from.zip(to),
            messages: (natural(row, 14)?, natural(row, 15)?),
            violated: natural(row, 16)?,
            suspect: natural(row, 17)?,
            unpaired: natural(row, 18)?,
            undirected: natural(row, 19)?,
            stretches: natural(row, 20)?,
            offset: row.get(21)?,
            earliest: row.get(22)?,
            latest: row.get(23)?,
            rate_ppm: finite(row, 24)?,
            assumed: row.get(25)?,
            wrong_by: row.get(26)?,
            inverted: natural(row, 27)?,
            is_used,
            reason: shown(&row.get::<_, String>(29)?),
            is_alone: !is_used || is_of_its_own && !has_neighbours,
            has_neighbours,
            follows_others: row.get(32)?,
            at: row.get(33)?,
            is_limit: row.get(34)?,
        })
    })?;
    rows.collect()
}

pub fn corners(database: &Connection, pair: &Pair) -> rusqlite::Result<Vec<Corner>> {
    let mut statement = database.prepare(
        "SELECT value, offset, earliest, latest, step FROM clock_alignment_knot
         WHERE alignment_id = ?1 ORDER BY value LIMIT ?2",
    )?;
    let rows = statement.query_map([pair.id, CORNERS], |row| {
        Ok(Corner {
            value: row.get(0)?,
            offset: row.get(1)?,
            earliest: row.get(2)?,
            latest: row.get(3)?,
            is_step: row.get(4)?,
        })
    })?;
    rows.collect()
}

/// The messages that do not count and have a time; those that are off by the least first.
pub fn outliers(database: &Connection, pair: &Pair) -> rusqlite::Result<Vec<Outlier>> {
    let mut statement = database.prepare(
        "WITH message AS (
           SELECT o.packet_out, o.packet_in, o.by, o.kind,
                  c.machine_id = ?2 AND (?3 IS NULL OR c.trace_file_id = ?3) AS is_from_a
           FROM causal_outlier AS o
           JOIN packet_record AS p ON p.id = o.packet_out
           JOIN packet_common AS c ON c.id = p.common_id
           WHERE o.alignment_id = ?1
         )
         SELECT p.ts, m.by, m.is_from_a, m.kind = 'suspect'
         FROM message AS m JOIN packet_record AS p ON p.id = iif(m.is_from_a, m.packet_out, m.packet_in)
         WHERE p.ts IS NOT NULL
         ORDER BY m.by, p.ts LIMIT ?4",
    )?;
    let owner = params![pair.id, pair.a.machine, pair.a.own_file(), OUTLIERS];
    let rows = statement.query_map(owner, |row| {
        Ok(Outlier {
            ts: row.get(0)?,
            by: row.get(1)?,
            is_from_a: row.get(2)?,
            is_suspect: row.get(3)?,
        })
    })?;
    rows.collect()
}

/// Trace time minus a clock, by the place of its part.
pub fn placed(database: &Connection, clock: Key) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT offset FROM part
         WHERE machine_id = ?1 AND iif(?2 IS NULL, own_from IS NULL, trace_file_id = ?2) AND offset IS NOT NULL
         ORDER BY trace_file_id LIMIT 1";
    database.query_row(sql, params![clock.machine, clock.own_file()], |row| row.get(0)).optional()
}

/// A number of nanoseconds to the last microsecond.
pub fn exact(ns: i64) -> String {
    let (unit, name, decimals) = match ns.unsigned_abs() {
        0..1_000_000 => return duration(ns as f64),
        1_000_000..1_000_000_000 => (1_000_000, "ms", 3),
        _ => (1_000_000_000, "s", 6),
    };
    let micros = (ns.unsigned_abs() % unit) / 1_000;
    let sign = if ns < 0 { "−" } else { "" };
    format!("{sign}{}.{micros:0decimals$} {name}", ns.unsigned_abs() / unit)
}

impl Pair {
    /// The possible error of the estimate in the middle: the distance to the farther bound.
    fn error(&self) -> Option<f64> {
        let offset = self.offset?;
        let (earliest, latest) = self.earliest.zip(self.latest)?;
        Some(distance(earliest, offset).max(distance(offset, latest)))
    }

    /// The height of the relation without messages over the estimate, or over the nearest bound, in the middle.
    pub fn assumed_above(&self) -> Option<f64> {
        let assumed = self.assumed?;
        let level = self.offset.or(self.latest).or(self.earliest)?;
        Some(distance(level, assumed))
    }

    /// The main result.
    pub fn title(&self) -> String {
        let (a, b) = (&self.a_label, &self.b_label);
        let within = self.error().map(|error| format!(", known to {}", duration(error)));
        let within = within.unwrap_or_default();
        match (self.sides, self.is_used) {
            (Sides::Contradictory, _) => {
                format!("Messages between {a} and {b} contradict each other")
            }
            (Sides::None, _) => format!("No message relates {b} to {a}"),
            (Sides::Upper, _) => {
                format!("Messages go only one way: {b} may be any time behind {a}")
            }
            (Sides::Lower, _) => {
                format!("Messages go only one way: {b} may be any time ahead of {a}")
            }
            (Sides::Both, true) => match self.assumed_above() {
                Some(above) => {
                    format!("Messages moved {b} by {} against {a}{within}", duration(above.abs()))
                }
                None => format!("Messages relate {b} to {a}{within}"),
            },
            (Sides::Both, false) if self.follows_others => {
                format!("{b} against {a} by messages{within}")
            }
            (Sides::Both, false) if self.is_limit => {
                format!("{b} against {a} by messages{within}; times stay, their error is less")
            }
            (Sides::Both, false) => format!("{b} against {a} by messages{within}; times stay"),
        }
    }

    /// Whether it moved, and why.
    pub fn verdict(&self) -> String {
        let did = match (self.is_used, self.follows_others) {
            (true, _) => "Moved",
            (false, true) => "Moved by way of other clocks; about this pair",
            (false, false) => "Not moved",
        };
        format!("{did}: {}.", self.reason)
    }

    /// Further facts, with those of its plot.
    pub fn notes(&self, more: &[String]) -> String {
        let (a, b) = (&self.a_label, &self.b_label);
        let mut notes = vec![self.evidence.replace('+', " and ")];
        let (there, back) = self.messages;
        if there > 0 || back > 0 {
            notes.push(format!(
                "{} to {b}, {} to {a}",
                counted(there, "message", "messages"),
                count(back)
            ));
        }
        let counts = [
            (self.violated, "violated"),
            (self.suspect, "probably stamped late"),
            (self.unpaired, "ids whose sends and arrivals do not pair up"),
            (self.undirected, "ids without an end, so without a direction"),
        ];
        let counts = counts.iter().filter(|(number, _)| *number > 0);
        notes.extend(counts.map(|(number, said)| format!("{} {said}", count(*number))));
        if self.arrives_at_end {
            notes.push("a message arrives when its slice ends".to_owned());
        }
        notes.extend(self.middle());
        if self.stretches > 1 {
            notes.push(counted(self.stretches - 1, "step", "steps"));
        }
        if self.inverted > 0 {
            let wrong = self
                .wrong_by
                .map(|by| format!(", and was wrong by {} at least", duration(by as f64)));
            notes.push(format!(
                "without messages, the relation put {} before they were sent{}",
                counted(self.inverted, "arrival", "arrivals"),
                wrong.unwrap_or_default()
            ));
        }
        notes.extend(more.iter().cloned());
        notes.join(" · ")
    }

    /// The offset in the middle, and its bounds.
    fn middle(&self) -> Option<String> {
        let said = match (self.offset, self.earliest, self.latest) {
            (Some(offset), Some(earliest), Some(latest)) => {
                let (below, above) = (distance(offset, earliest), distance(offset, latest));
                let plus = if above > 0.0 { "+" } else { "" };
                let (below, above) = (duration(below), duration(above));
                format!("{}, {below} to {plus}{above}", exact(offset))
            }
            (Some(offset), ..) => exact(offset),
            (None, Some(earliest), Some(latest)) => {
                format!("{} to {}", exact(earliest), exact(latest))
            }
            (None, None, Some(latest)) => format!("at most {}", exact(latest)),
            (None, Some(earliest), None) => format!("at least {}", exact(earliest)),
            (None, None, None) => return None,
        };
        Some(format!("in the middle {said}"))
    }
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn offsets_are_exact_to_a_microsecond() {
        for (ns, text) in [
            (4_900_000_149_559, "4900.000149 s"),
            (-2_617_298, "−2.617 ms"),
            (-976_513, "−977 µs"),
            (999_999_999, "999.999 ms"),
            (i64::MIN, "−9223372036.854775 s"),
        ] {
            assert_eq!(exact(ns), text);
        }
    }
}
