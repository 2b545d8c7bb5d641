//! Imports in separate processes, and their results.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::reliability::error::Error;
use crate::reliability::judge::PacketRow;

/// The importer.
#[derive(Debug, Clone)]
pub struct Importer {
    /// The program `timebase`.
    pub program: PathBuf,
    /// An import that takes longer counts as hanging.
    pub patience: Duration,
}

/// The way in which an import ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a database.
    Database(Database),
    /// With an error and a message.
    Refused(String),
    /// In a way in which no program should end, with a description.
    Crashed(String),
    /// Not in time.
    Hung,
    /// With a file that is not a database.
    Broken(String),
}

/// The contents of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Database {
    /// The rows of `packet`.
    pub rows: Vec<PacketRow>,
    /// The numbers of kernel events and slices.
    pub events: usize,
}

impl Importer {
    /// Imports a trace to a database in this directory, and reads the database.
    ///
    /// # Errors
    ///
    /// If the program does not start, or the directory is not writable.
    pub fn import(&self, trace: &Path, directory: &Path) -> Result<Outcome, Error> {
        let (out, said) = (directory.join("copy.db"), directory.join("said.txt"));
        if out.exists() {
            fs::remove_file(&out).map_err(Error::file(&out))?;
        }
        let stderr = File::create(&said).map_err(Error::file(&said))?;
        let started = Command::new(&self.program)
            .arg("import")
            .arg(trace)
            .arg("-o")
            .arg(&out)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn();
        let failed = |error| Error::Program { program: self.program.clone(), error };
        let status = started.and_then(|child| wait(child, self.patience)).map_err(failed)?;
        let Some(status) = status else {
            return Ok(Outcome::Hung);
        };
        let said = fs::read(&said).map_err(Error::file(&said))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        // A thread may panic although the program reports a failure.
        if said.contains("panicked at") {
            return Ok(Outcome::Crashed(said));
        }
        Ok(match status.code() {
            Some(0) => match Database::read(&out) {
                Ok(database) => Outcome::Database(database),
                Err(why) => Outcome::Broken(why),
            },
            Some(1) if !out.exists() => Outcome::Refused(said),
            Some(1) => Outcome::Broken(format!("it is there after an error: {said}")),
            _ => Outcome::Crashed(format!("{status}: {said}")),
        })
    }
}

/// Waits for the end of a process, or kills it.
fn wait(mut child: Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(Duration::from_millis(2));
    }
}

impl Database {
    /// The contents of an import's database, or the problem with it.
    fn read(path: &Path) -> Result<Database, String> {
        let told = |error: rusqlite::Error| error.to_string();
        let conn =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(told)?;
        let verdict: String =
            conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(told)?;
        if verdict != "ok" {
            return Err(verdict);
        }
        let events = "SELECT (SELECT count(*) FROM ftrace_event) + (SELECT count(*) FROM slice)";
        let events = conn.query_row(events, [], |row| number(row, 0)).map_err(told)?;
        let mut statement = conn
            .prepare("SELECT offset, size, type, data FROM packet ORDER BY id")
            .map_err(told)?;
        let rows = statement.query_map([], |row| {
            Ok(PacketRow {
                offset: number(row, 0)?,
                size: number(row, 1)?,
                kind: row.get(2)?,
                data: row.get(3)?,
            })
        });
        let rows = rows.and_then(Iterator::collect).map_err(told)?;
        Ok(Database { rows, events })
    }
}

/// A column that is at least 0.
fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<usize> {
    let number: i64 = row.get(column)?;
    usize::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The result of a program that runs this instead of an import. `$4` is the database.
    fn outcome(script: &str) -> Outcome {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let importer = Importer { program, patience: Duration::from_secs(1) };
        let trace = directory.path().join("copy.pftrace");
        importer.import(&trace, directory.path()).unwrap()
    }

    // A single test: while another thread is about to run a program, it cannot be written.
    #[test]
    fn all_ends_of_a_program_are_told_apart() {
        assert_eq!(outcome("echo no >&2; exit 1"), Outcome::Refused("no\n".into()));
        assert_eq!(outcome("exec sleep 60"), Outcome::Hung);
        let panicked = outcome("echo \"thread 'main' panicked at x\" >&2; exit 1");
        assert!(matches!(panicked, Outcome::Crashed(_)), "{panicked:?}");
        for script in ["kill -SEGV $$", "exit 101", "exit 2"] {
            let crashed = outcome(script);
            assert!(matches!(crashed, Outcome::Crashed(_)), "{crashed:?}");
        }
        for script in ["exit 0", "echo rubbish >\"$4\"", "touch \"$4\"; exit 1"] {
            let broken = outcome(script);
            assert!(matches!(broken, Outcome::Broken(_)), "{broken:?}");
        }
    }
}
