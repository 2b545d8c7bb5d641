//! The readings of packets in a database, and the pairs of packets that the user gives (rule AL4).

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};
use timebase_resolver::{ClockId, SeqId, Ticks};

use super::AlignError;
use super::clocks::AlignedClocks;
use super::staged::{Kind, StagedPairs};
use crate::evidence::{Located, Role};
use crate::place::{PartIx, Parts};

/// The columns of the view `packet`, here `p`, that tell a reading.
pub(super) const READING: &str = "p.trace_file_id, p.machine_id, p.clock_id, p.seq_id, p.clock_ts";

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
        let file: Option<u32> = row.get("trace_file_id")?;
        let key = (file.unwrap_or(0), row.get("machine_id")?);
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
            row.get::<_, Option<u32>>("clock_id")?,
            row.get::<_, Option<i64>>("clock_ts")?,
        ) else {
            return Ok(None);
        };
        let seq = SeqId(row.get::<_, Option<u32>>("seq_id")?.unwrap_or(0));
        let clock = self.parts[part].clock(ClockId(id), seq);
        Ok(clocks.read(part, clock, Ticks(ticks)))
    }

    /// Adds the pairs that a SELECT gives.
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
    ) -> Result<(), AlignError> {
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
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let mut located = |column: &str, role| -> rusqlite::Result<_> {
                let packet: i64 = row.get(column)?;
                let read = reading.query_row([packet], |row| self.read(row, clocks)).optional()?;
                let read = read.flatten();
                Ok(read.map(|(clock, at)| Located { clock, at, role, packet }))
            };
            let out = located("packet_out", Role::Start).map_err(failed)?;
            let into = located("packet_in", Role::End).map_err(failed)?;
            if let (Some(out), Some(into)) = (out, into) {
                staged.add(Kind::Pairs, &out, &into)?;
            }
        }
        Ok(())
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
