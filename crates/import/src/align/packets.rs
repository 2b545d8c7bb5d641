//! The readings of packets in a database, and the pairs of packets that the user gives (rule AL4).

use std::collections::{BTreeMap, HashSet};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use timebase_resolver::{ClockId, SeqId, Ticks};

use super::AlignError;
use super::clocks::AlignedClocks;
use super::staged::{Kind, StagedPairs};
use crate::evidence::{Located, Role};
use crate::output::{LogMessage, Severity};
use crate::place::{PartIx, Parts};

/// The columns of the view `packet`, here `p`, that tell a reading. They are the first of a statement.
pub(super) const READING: &str = "p.trace_file_id, p.machine_id, p.clock_id, p.seq_id, p.clock_ts";
/// The place of the file among them. Names would be looked up for each row.
pub(super) const FILE: usize = 0;
/// The number of these columns.
pub(super) const COUNT: usize = 5;

/// The parts of packets.
pub(super) struct Packets<'p> {
    parts: &'p Parts,
    by_key: BTreeMap<(u32, u32), PartIx>,
}

impl<'p> Packets<'p> {
    pub fn new(parts: &'p Parts) -> Self {
        let by_key = parts.of_files().map(|(ix, part)| ((part.file.id, part.machine.0), ix));
        Packets { parts, by_key: by_key.collect() }
    }

    /// The part of a row's file and machine.
    fn part(&self, row: &Row<'_>) -> rusqlite::Result<Option<PartIx>> {
        let file: Option<u32> = row.get(FILE)?;
        let key = (file.unwrap_or(0), row.get(FILE + 1)?);
        Ok(self.by_key.get(&key).copied())
    }

    /// The number of a packet's clock, and its reading there.
    pub fn read(
        &self,
        row: &Row<'_>,
        clocks: &mut AlignedClocks<'_>,
    ) -> rusqlite::Result<Option<(usize, i64)>> {
        let (Some(part), Some(id), Some(ticks)) = (
            self.part(row)?,
            row.get::<_, Option<u32>>(FILE + 2)?,
            row.get::<_, Option<i64>>(FILE + 4)?,
        ) else {
            return Ok(None);
        };
        let seq = SeqId(row.get::<_, Option<u32>>(FILE + 3)?.unwrap_or(0));
        let clock = self.parts[part].clock(ClockId(id), seq);
        Ok(clocks.read(part, clock, Ticks(ticks)))
    }

    /// Adds the pairs that a SELECT gives, and tells which of its rows do not count.
    ///
    /// # Errors
    ///
    /// If the statement fails, or a temporary file cannot be written.
    pub fn add_pairs(
        &self,
        conn: &Connection,
        sql: &str,
        clocks: &mut AlignedClocks<'_>,
        staged: &mut StagedPairs,
    ) -> Result<Ignored, AlignError> {
        let failed = |error: rusqlite::Error| AlignError::Pairs(format!("fails: {error}"));
        let reading = format!("SELECT {READING} FROM packet AS p WHERE p.id = ?1");
        let mut reading = conn.prepare(&reading)?;
        // Other statements may attach a database or change a setting, and still be read-only.
        if !is_query(sql) {
            return Err(AlignError::Pairs("must be a SELECT".to_owned()));
        }
        let mut statement = conn.prepare(sql).map_err(failed)?;
        if !statement.readonly() {
            return Err(AlignError::Pairs("must only read".to_owned()));
        }
        let columns = ["packet_out", "packet_in"];
        if columns.iter().any(|column| statement.column_index(column).is_err()) {
            let what = "must have the columns packet_out and packet_in, ids of packets";
            return Err(AlignError::Pairs(what.to_owned()));
        }
        let (mut ignored, mut count) = (Ignored::default(), 0_u64);
        let mut seen = HashSet::new();
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            count += 1;
            let id = |column: &str| match row.get_ref(column).map_err(failed)? {
                ValueRef::Integer(id) => Ok(id),
                value => Err(AlignError::Pairs(format!(
                    "has {} in {column} of row {count}, and not the id of a packet; leave such rows out",
                    value.data_type()
                ))),
            };
            let pair = (id("packet_out")?, id("packet_in")?);
            if seen.contains(&pair) {
                ignored.repeated.add(pair);
                continue;
            }
            if seen.len() < REMEMBERED {
                seen.insert(pair);
            }
            let mut located = |packet: i64, role| -> rusqlite::Result<_> {
                let read = reading.query_row([packet], |row| self.read(row, clocks)).optional()?;
                let read = read.flatten();
                Ok(read.map(|(clock, at)| Located { clock, at, role, packet }))
            };
            let out = located(pair.0, Role::Start).map_err(failed)?;
            let into = located(pair.1, Role::End).map_err(failed)?;
            match (out, into) {
                (Some(out), Some(into)) => staged.add(Kind::Pairs, &out, &into)?,
                (None, _) => ignored.unknown.add(pair.0),
                (Some(_), None) => ignored.unknown.add(pair.1),
            }
        }
        Ok(ignored)
    }
}

/// The pairs among which a row that repeats one is found.
const REMEMBERED: usize = 1 << 20;

/// Rows of the user's SELECT that are no messages.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    /// Rows of a packet that does not exist or has no time, and that packet.
    unknown: Rows<i64>,
    /// Rows that repeat another one.
    repeated: Rows<(i64, i64)>,
}

/// A number of rows, and the first of them.
#[derive(Debug)]
struct Rows<T> {
    count: u64,
    first: Option<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows { count: 0, first: None }
    }
}

impl<T> Rows<T> {
    fn add(&mut self, row: T) {
        self.count += 1;
        self.first.get_or_insert(row);
    }
}

impl Ignored {
    /// The warning about them; `None` if there are none.
    pub fn warning(&self) -> Option<LogMessage> {
        let rows =
            |count: u64| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        let unknown = self.unknown.first.map(|packet| {
            let count = rows(self.unknown.count);
            format!(
                "{count} with a packet that does not exist or has no time, first packet {packet}"
            )
        });
        let repeated = self.repeated.first.map(|(out, into)| {
            let repeat = if self.repeated.count == 1 { "repeats" } else { "repeat" };
            let count = rows(self.repeated.count);
            format!("{count} that {repeat} another, first packets {out} and {into}")
        });
        let all: Vec<String> = [unknown, repeated].into_iter().flatten().collect();
        let text = format!("align.pairs of the manifest: ignored {}", all.join("; and "));
        let message = LogMessage::new(Severity::Warning, "align_pairs_ignored", text);
        (!all.is_empty()).then_some(message)
    }
}

/// Whether a text begins as a query, after white space and comments.
fn is_query(sql: &str) -> bool {
    let mut rest = sql.trim_start();
    loop {
        let comment = [("--", "\n"), ("/*", "*/")].into_iter().find_map(|(begin, end)| {
            let inside = rest.strip_prefix(begin)?;
            Some(inside.split_once(end).map_or("", |(_, behind)| behind))
        });
        match comment {
            Some(behind) => rest = behind.trim_start(),
            None => break,
        }
    }
    let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ["SELECT", "WITH", "VALUES"].iter().any(|query| word.eq_ignore_ascii_case(query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn al4_only_a_query_runs() {
        for sql in ["select 1", " -- a\n/* b */ WITH a AS (SELECT 1) SELECT 1", "VALUES(1)"] {
            assert!(is_query(sql), "{sql}");
        }
        for sql in
            ["", "-- select", "ATTACH 'a' AS b", "PRAGMA a", "COMMIT", "/* SELECT", "selects"]
        {
            assert!(!is_query(sql), "{sql}");
        }
    }
}
