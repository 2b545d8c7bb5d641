//! Opens what a command was given: a database, or a trace that is imported
//! to a temporary one first.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rusqlite::{Connection, OpenFlags};
use timebase_import::{FileKind, Options, Source, Subject};

use crate::signals::Signals;
use crate::{import, messages};

/// What a command wants to do to a database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read it, and only what is derived from the clocks.
    Read,
    /// Run statements of the user, who may make views or tables. On a file that
    /// cannot be written, those that only read work.
    Write,
}

/// A connection on which timebase's SQL functions are there.
pub fn open(given: &Path, access: Access, signals: &Signals) -> anyhow::Result<Connection> {
    let path = match kind(given)? {
        FileKind::Database => given.to_owned(),
        FileKind::Trace => import_temporarily(given, access, signals)?,
    };
    let flags = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let connection = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .with_context(|| format!("cannot open {}", given.display()))?;
    timebase_import::check_database(&connection)?;
    timebase_resolver::sql::register(&connection)
        .and_then(|()| timebase_descriptor::sql::register(&connection))
        .and_then(|()| timebase_args::register(&connection))
        .and_then(|()| timebase_slices::register(&connection))
        .with_context(|| format!("cannot use {}", given.display()))?;
    Ok(connection)
}

fn kind(given: &Path) -> anyhow::Result<FileKind> {
    if given.as_os_str() == OsStr::new("-") {
        return Ok(FileKind::Trace);
    }
    let cannot_open = || format!("cannot open {}", given.display());
    let metadata = fs::metadata(given).with_context(cannot_open)?;
    if metadata.is_dir() {
        bail!(
            "{} is a directory, neither a trace nor a database",
            given.display()
        );
    }
    // To look into a pipe would take from it what the import needs; and SQLite
    // could not read a database from one.
    if !metadata.is_file() {
        return Ok(FileKind::Trace);
    }
    timebase_import::file_kind(given).with_context(cannot_open)
}

fn import_temporarily(given: &Path, access: Access, signals: &Signals) -> anyhow::Result<PathBuf> {
    let path = signals.temporary_directory()?.join("trace.db");
    let subjects = match access {
        Access::Read => Vec::new(),
        Access::Write => Subject::ALL.to_vec(),
    };
    let options = Options {
        keep_data: access == Access::Write,
        subjects,
        ..Options::default()
    };
    let source = Source::from_arg(given.as_os_str());
    let (summary, _) = import::monitored(&source, &path, &options, signals)?;
    messages::warnings(&summary.warnings);
    Ok(path)
}
