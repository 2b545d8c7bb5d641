//! The placement of parts in time, and their names. A part is the data of one machine in one file.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::clocks::natural;
use crate::error::{Error, Reading};
use crate::text::shown;

/// The number of parts on the page.
const MOST: i64 = 100;
/// The largest number of names.
const NAMES: i64 = 10_000;

/// A part.
#[derive(Debug)]
pub struct Part {
    /// The machine and the file, by their ids.
    pub owner: (i64, i64),
    /// As in the view `placement`.
    pub how: String,
    /// Whether its file is in JSON.
    pub is_json: bool,
    /// Whether its clocks are the file's own.
    pub has_own_clocks: bool,
    pub offset: Option<i64>,
    pub error: Option<i64>,
    pub boots_differ: Option<i64>,
}

/// All parts.
#[derive(Debug)]
pub struct Parts {
    pub shown: Vec<Part>,
    /// The number of all parts.
    pub all: u64,
    /// The number of machines and files with data.
    pub machines: u64,
    pub files: u64,
    machine_names: HashMap<i64, String>,
    file_names: HashMap<i64, String>,
}

impl Part {
    /// The method of its placement in time, in words.
    pub fn how(&self) -> &'static str {
        match self.how.as_str() {
            "trace_time" => "its clock is trace time",
            "snapshots" if self.is_json => "by what its producer says of its clock",
            "snapshots" => "by its clock snapshots",
            "remote_sync" => "by asking the other machine for the time",
            "causality" => "by its messages, because they contradict what was assumed",
            "manifest" => "as the manifest says",
            "realtime" => "assumed: the wall clocks of both machines agree",
            "same_clock" => "assumed: BOOTTIME is the same",
            "assumed" => "assumed: its clock is trace time or the wall clock",
            _ => "nothing relates it to trace time",
        }
    }
}

impl Parts {
    /// Reads them from the database.
    pub fn read(database: &Connection) -> Result<Parts, Error> {
        Parts::of(database).reading("parts of files")
    }

    fn of(database: &Connection) -> rusqlite::Result<Parts> {
        let names = |table: &str| -> rusqlite::Result<HashMap<i64, String>> {
            let sql = format!(
                "SELECT id, substr(name, 1, 1000) FROM {table} WHERE name IS NOT NULL ORDER BY id LIMIT {NAMES}"
            );
            let mut statement = database.prepare(&sql)?;
            let rows = statement
                .query_map([], |row| Ok((row.get(0)?, shown(&row.get::<_, String>(1)?))))?;
            rows.collect()
        };
        let (all, machines, files) = database.query_row(
            "SELECT count(*), count(DISTINCT machine_id), count(DISTINCT trace_file_id) FROM placement",
            [],
            |row| Ok((natural(row, 0)?, natural(row, 1)?, natural(row, 2)?)),
        )?;
        let mut statement = database.prepare(
            // By messages, it is the error of the pair, which the page tells below.
            "SELECT machine_id, trace_file_id, how, isolated, offset,
                    coalesce((SELECT max(a.latest - a.offset, a.offset - a.earliest) FROM clock_alignment AS a
                              JOIN part AS t ON t.machine_id = a.machine_a AND t.how = 'trace_time'
                              WHERE a.used AND p.how = 'causality' AND a.machine_b = p.machine_id
                                AND (a.file_b IS NULL OR a.file_b = p.trace_file_id)), p.error),
                    boots_differ, trace_type IS 'json'
             FROM placement AS p LEFT JOIN trace_file ON trace_file.id = trace_file_id
             ORDER BY trace_file_id, machine_id LIMIT ?1",
        )?;
        let parts = statement.query_map([MOST], |row| {
            let is_json = row.get(7)?;
            Ok(Part {
                owner: (row.get(0)?, row.get(1)?),
                how: row.get(2)?,
                has_own_clocks: is_json || row.get(3)?,
                offset: row.get(4)?,
                error: row.get(5)?,
                boots_differ: row.get(6)?,
                is_json,
            })
        })?;
        Ok(Parts {
            shown: parts.collect::<rusqlite::Result<_>>()?,
            all,
            machines,
            files,
            machine_names: names("machine")?,
            file_names: names("trace_file")?,
        })
    }

    /// The name of a machine.
    pub fn machine(&self, id: i64) -> String {
        match self.machine_names.get(&id) {
            Some(name) => format!("{name} (machine {id})"),
            None => format!("machine {id}"),
        }
    }

    /// The name of a file.
    pub fn file(&self, id: i64) -> String {
        match self.file_names.get(&id) {
            Some(name) => format!("{name} (file {id})"),
            None => format!("file {id}"),
        }
    }

    /// The owner of clocks: a machine, and a file if that is not 0.
    pub fn owner(&self, (machine, file): (i64, i64)) -> String {
        match file {
            0 => self.machine(machine),
            file => format!("{}, {}", self.machine(machine), self.file(file)),
        }
    }
}
