//! The file with the values of one run: a database that one process writes and another one reads.
//!
//! The alternative was CSV on a pipe. Distributions and callstacks for a page are large, and a database is read by
//! the parts that are needed; it is also the form of the cache.

use std::path::Path;

use anyhow::Context;
use rusqlite::{Connection, OpenFlags, params};
use timebase_compare::{Facts, Family, Line, Measured, Stat, Value};

const TABLES: &str = "
    CREATE TABLE fact (name TEXT, stat TEXT, value);
    CREATE TABLE value (family TEXT, process TEXT, name TEXT, stat TEXT, value REAL, value_all REAL);
    CREATE TABLE parent (family TEXT, process TEXT, name TEXT, parent TEXT, count INTEGER);
    CREATE TABLE bucket (family TEXT, process TEXT, name TEXT, bucket INTEGER, count INTEGER);
    CREATE TABLE stack (family TEXT, stack TEXT, weight REAL);
";

/// Writes a new file.
pub fn write(path: &Path, measured: &Measured) -> anyhow::Result<()> {
    let mut conn =
        Connection::open(path).with_context(|| format!("cannot make {}", path.display()))?;
    conn.pragma_update(None, "journal_mode", "off")?;
    conn.pragma_update(None, "synchronous", "off")?;
    put(&mut conn, measured).with_context(|| format!("cannot write {}", path.display()))
}

fn put(conn: &mut Connection, measured: &Measured) -> rusqlite::Result<()> {
    let transaction = conn.transaction()?;
    transaction.execute_batch(TABLES)?;
    {
        let Facts { ns, frames, left_out, lost, errors, start } = &measured.facts;
        let mut fact = transaction.prepare("INSERT INTO fact VALUES (?, ?, ?)")?;
        fact.execute(params!["length", "ns", ns])?;
        fact.execute(params!["frames", "count", frames])?;
        fact.execute(params!["lost", "share", lost])?;
        fact.execute(params!["errors", "count", i64::try_from(*errors).unwrap_or(i64::MAX)])?;
        if let Some(start) = start {
            fact.execute(params!["start", "ns", start])?;
        }
        for (family, share) in left_out {
            fact.execute(params!["left_out", family.name(), share])?;
        }
        let mut value = transaction.prepare("INSERT INTO value VALUES (?, ?, ?, ?, ?, ?)")?;
        for (line, stat, Value { sure, all }) in &measured.values {
            let Line { family, process, name } = line;
            value.execute(params![family.name(), process, name, stat.name(), sure, all])?;
        }
        let mut parent = transaction.prepare("INSERT INTO parent VALUES (?, ?, ?, ?, ?)")?;
        for (Line { family, process, name }, around, count) in &measured.parents {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            parent.execute(params![family.name(), process, name, around, count])?;
        }
        let mut bucket = transaction.prepare("INSERT INTO bucket VALUES (?, ?, ?, ?, ?)")?;
        for (Line { family, process, name }, number, count) in &measured.buckets {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            bucket.execute(params![family.name(), process, name, number, count])?;
        }
        if !measured.buckets.is_empty() {
            transaction
                .execute_batch("CREATE INDEX bucket_of_line ON bucket (family, process, name)")?;
        }
        let mut stack = transaction.prepare("INSERT INTO stack VALUES (?, ?, ?)")?;
        for (family, text, weight) in &measured.stacks {
            stack.execute(params![family.name(), text, weight])?;
        }
    }
    transaction.commit()
}

/// The values of a run, on the disk.
pub struct RunFile(Connection);

impl RunFile {
    /// Opens a file that [`write`] made.
    pub fn open(path: &Path) -> anyhow::Result<RunFile> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)
            .with_context(|| format!("cannot open {}", path.display()))?;
        Ok(RunFile(conn))
    }

    /// Whether SQLite can read all of it.
    pub fn is_whole(&self) -> bool {
        let check = self.0.query_row("PRAGMA quick_check", [], |row| row.get::<_, String>(0));
        check.is_ok_and(|said| said == "ok") && self.0.prepare("SELECT * FROM stack").is_ok()
    }

    /// The facts of the run.
    pub fn facts(&self) -> rusqlite::Result<Facts> {
        let mut facts = Facts::default();
        let mut statement = self.0.prepare("SELECT name, stat, value FROM fact")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (name, stat): (String, String) = (row.get(0)?, row.get(1)?);
            match name.as_str() {
                "start" => facts.start = row.get(2)?,
                _ => facts.put(&name, &stat, row.get(2)?),
            }
        }
        Ok(facts)
    }

    /// Calls `each` with all values.
    pub fn values<E: From<rusqlite::Error>>(
        &self,
        mut each: impl FnMut(&Line, Stat, Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.0.prepare("SELECT * FROM value ORDER BY rowid")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let stat: String = row.get(3)?;
            if let (Some(line), Some(stat)) = (line(row)?, Stat::parse(&stat)) {
                each(&line, stat, Value { sure: row.get(4)?, all: row.get(5)? })?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the names around lines, and how often they are.
    pub fn parents(&self, mut each: impl FnMut(Line, String, i64)) -> rusqlite::Result<()> {
        let mut statement = self.0.prepare("SELECT * FROM parent ORDER BY rowid")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(line) = line(row)? {
                each(line, row.get(3)?, row.get(4)?);
            }
        }
        Ok(())
    }

    /// The numbers of durations of a line in each bucket (rule CM4).
    pub fn buckets(&self, line: &Line) -> rusqlite::Result<Vec<(i32, i64)>> {
        let mut statement = self.0.prepare(
            "SELECT bucket, count FROM bucket WHERE family = ?1 AND process = ?2 AND name = ?3 ORDER BY bucket",
        )?;
        let given = params![line.family.name(), line.process, line.name];
        statement.query_map(given, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The weights of callstacks of a family.
    pub fn stacks(&self, family: Family) -> rusqlite::Result<Vec<(String, f64)>> {
        let mut statement =
            self.0.prepare("SELECT stack, weight FROM stack WHERE family = ? ORDER BY rowid")?;
        let rows = statement.query_map([family.name()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }
}

fn line(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Line>> {
    let family: String = row.get(0)?;
    let Some(family) = Family::parse(&family) else { return Ok(None) };
    Ok(Some(Line { family, process: row.get(1)?, name: row.get(2)? }))
}
