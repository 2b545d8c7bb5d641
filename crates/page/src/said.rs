//! The statements of JSON traces' producers about their clocks.

use rusqlite::Connection;

use crate::clocks::{Clocks, Key, natural};
use crate::error::{Error, Reading};
use crate::text::{shown, shown_up_to};

/// The number of statements on the page.
const MOST: i64 = 100;
/// The length of a statement in the words of the trace.
const LONGEST: usize = 100;

/// A statement.
#[derive(Debug)]
pub struct Statement {
    /// The text in the trace, if the database has it.
    pub text: Option<String>,
    /// The clocks that agree by it, with their times.
    pub readings: Vec<String>,
    /// The time of day at the first of them.
    pub date: Option<String>,
}

/// The statements, and the number of all.
#[derive(Debug)]
pub struct Said {
    pub shown: Vec<Statement>,
    pub all: u64,
}

impl Said {
    /// Reads them from the database.
    pub fn read(database: &Connection, clocks: &Clocks) -> Result<Said, Error> {
        Said::of(database, clocks).reading("statements about clocks")
    }

    fn of(database: &Connection, clocks: &Clocks) -> rusqlite::Result<Said> {
        let all = database.query_row(
            "SELECT count(DISTINCT snapshot_id) FROM clock_snapshot WHERE source = 'json'",
            [],
            |row| natural(row, 0),
        )?;
        let is_compact = "SELECT EXISTS (SELECT 1 FROM packet_block)";
        let data = match database.query_row(is_compact, [], |row| row.get(0))? {
            true => "packet_data(p.id)",
            false => "p.data",
        };
        let mut statement = database.prepare(&format!(
            "SELECT s.machine_id, s.clock_id, s.seq_id, s.trace_file_id, s.snapshot_id, s.clock_value,
                    iif(s.clock_id = 1, strftime('%Y-%m-%d %H:%M:%S', s.clock_value / 1000000000, 'unixepoch'), NULL),
                    CAST(substr({data}, 1, 400) AS TEXT)
             FROM clock_snapshot AS s LEFT JOIN packet AS p ON p.id = s.packet_id
             WHERE s.source = 'json'
               AND s.snapshot_id IN (SELECT DISTINCT snapshot_id FROM clock_snapshot WHERE source = 'json' ORDER BY 1 LIMIT ?1)
             ORDER BY s.snapshot_id, s.id"
        ))?;
        let mut rows = statement.query([MOST])?;
        let mut said = Said { shown: Vec::new(), all };
        let mut last = None;
        while let Some(row) = rows.next()? {
            let snapshot: i64 = row.get(4)?;
            if last.replace(snapshot) != Some(snapshot) {
                let text = row.get_ref(7)?.as_bytes_or_null()?.map(String::from_utf8_lossy);
                let text = text.map(|text| shown_up_to(LONGEST, &text));
                said.shown.push(Statement { text, readings: Vec::new(), date: None });
            }
            let clock = clocks.label(Key::of_row(row, 0, 3)?);
            let value: i64 = row.get(5)?;
            if let Some(statement) = said.shown.last_mut() {
                statement.readings.push(format!("{clock} {value} ns"));
                let date: Option<String> = row.get(6)?;
                statement.date = statement.date.take().or(date.map(|date| shown(&date)));
            }
        }
        Ok(said)
    }
}
