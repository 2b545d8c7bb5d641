//! Opens the file of a command: a database, or a trace, which is imported
//! into a temporary database first.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{self, Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow, bail, ensure};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use timebase_import::{Conversion, FileKind, Options, Source, Subject, Summary, Views};

use crate::changes::Changes;
use crate::flags::NameArguments;
use crate::guard::{self, Denied};
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{import, messages};

/// The parts of a file that a command needs, and the purpose.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The kinds of events inside packets that it needs, in addition to clocks and packets.
    pub subjects: &'static [Subject],
    /// Whether it needs the bytes of packets.
    pub to_data: bool,
    /// Whether it changes the database.
    pub is_writing: bool,
    /// Whether to refuse a damaged trace.
    pub is_strict: bool,
    /// The method of conversion; `None` if a database with any method will do.
    pub conversion: Option<Conversion>,
    /// The files with names, for a trace.
    pub names: Option<&'a NameArguments>,
}

impl Access<'_> {
    /// Access to clocks and packets.
    pub const CLOCKS: Access<'static> = Access {
        subjects: &[],
        to_data: false,
        is_writing: false,
        is_strict: false,
        conversion: None,
        names: None,
    };

    /// Access to everything with a reading of a clock, and to slices, which have flows.
    pub const READINGS: Access<'static> = Access {
        subjects: &[Subject::KernelEvents, Subject::Logs, Subject::Slices],
        ..Access::CLOCKS
    };

    /// Access to everything in a trace.
    pub const ALL: Access<'static> =
        Access { subjects: &Subject::ALL, to_data: true, ..Access::CLOCKS };
}

/// A database with timebase's SQL functions.
pub struct Database {
    connection: Connection,
    /// The changes, if the database is open for writing.
    changes: Option<RefCell<Changes>>,
    /// The actions that were denied, if the database is open for reading.
    denied: Denied,
    file: Option<OpenFile>,
    /// Whether it was made of a trace for this command.
    is_temporary: bool,
}

/// A file of the user that is read, with its state when it was opened.
struct OpenFile {
    given: PathBuf,
    /// The number of the file on the disk, because another file may have its name by now.
    number: u64,
    size: u64,
    changed: Option<SystemTime>,
}

impl Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl From<Connection> for Database {
    fn from(connection: Connection) -> Database {
        Database {
            connection,
            changes: None,
            denied: Denied::default(),
            file: None,
            is_temporary: false,
        }
    }
}

impl Database {
    /// Runs one statement by `run`, and notes its changes.
    pub fn during<T>(&self, run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        match &self.changes {
            Some(changes) => changes.borrow_mut().during(&self.connection, run),
            None => run(),
        }
    }

    /// Prints the changes since the last call.
    pub fn tell_changes(&self) {
        let Some(changes) = &self.changes else {
            return;
        };
        if let Some(told) = changes.borrow_mut().told() {
            messages::say(told);
        }
    }

    /// The reason why the last statement was denied; `None` if it was not.
    pub fn why_denied(&self) -> Option<String> {
        self.denied.take()
    }

    /// Advice about an error of a statement; `None` if there is none.
    pub fn advice(&self, error: &rusqlite::Error) -> Option<String> {
        let denied = self.denied.take();
        match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied) => denied,
            Some(ErrorCode::ReadOnly) if self.is_temporary => Some(
                "it is the temporary database of a trace; CREATE TABLE makes a table that statements can change"
                    .to_owned(),
            ),
            _ => guard::advice(error).map(str::to_owned),
        }
    }

    /// Warns if the file has changed since it was opened. Something may have written into it
    /// without SQLite, so the result may mix both states.
    pub fn warn_if_changed(&self) {
        if let Some(file) = &self.file
            && file.has_changed()
        {
            messages::warning(format_args!(
                "{} changed during the query; unless SQLite changed it, the result may be wrong; query it again",
                file.given.display()
            ));
        }
    }

    /// Leaves the database open, right before the process ends, if it is only read. Closing it
    /// takes a tenth of the time of a short query, because SQLite frees the memory of all views one
    /// by one.
    pub fn leave(self) {
        if self.file.is_some() {
            std::mem::forget(self);
        }
    }

    /// Warns of changes that will be lost.
    pub fn warn_of_pending_changes(&self) {
        if let Some(changes) = &self.changes
            && changes.borrow().are_pending()
        {
            messages::warning(
                "a transaction was not ended, so its changes are lost; \
                 end it with COMMIT",
            );
        }
    }
}

impl OpenFile {
    fn of(given: &Path) -> io::Result<OpenFile> {
        let metadata = fs::metadata(given)?;
        Ok(OpenFile {
            given: given.to_owned(),
            number: number(&metadata),
            size: metadata.len(),
            changed: metadata.modified().ok(),
        })
    }

    /// Whether something has written into the file. Another file may have its name now, which does
    /// not count.
    fn has_changed(&self) -> bool {
        OpenFile::of(&self.given).is_ok_and(|now| {
            now.number == self.number && (now.size, now.changed) != (self.size, self.changed)
        })
    }
}

/// A number that distinguishes a file from another file with the same name. On systems without one,
/// no file can take the name of an open file.
fn number(metadata: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    0
}

/// Opens a database, or imports a trace into a temporary one.
pub fn open(given: &Path, access: Access<'_>, signals: &Signals) -> anyhow::Result<Database> {
    open_for(given, access, || Ok(Views::All), signals)
}

/// Opens a database, or imports a trace into a temporary one with the views that `views` returns.
pub fn open_for(
    given: &Path,
    access: Access<'_>,
    views: impl FnOnce() -> anyhow::Result<Views>,
    signals: &Signals,
) -> anyhow::Result<Database> {
    if kind(given)? == FileKind::Database {
        ensure!(
            access.names.is_none_or(NameArguments::are_none),
            "{} is a database, and --symbols and --mapping are for traces: import its trace again with them",
            given.display()
        );
        return open_file(given, access);
    }
    ensure!(
        !access.is_writing,
        "{} is a trace, so changes to its temporary database would be lost; \
         make one of it with 'timebase import'",
        given.display()
    );
    let mut options = Options::default();
    options.conversion = access.conversion.unwrap_or_default();
    options.keep_data = access.to_data;
    options.subjects = access.subjects.to_vec();
    options.views = views()?;
    options.strict = access.is_strict;
    if let Some(names) = access.names {
        names.set(&mut options);
    }
    let source = Source::from_arg(given.as_os_str());
    let opened = open_traces(given, &[source], &options, Progress::Auto, signals);
    opened.map(|(database, _)| database)
}

/// Opens a database that is a file.
pub fn open_file(given: &Path, access: Access<'_>) -> anyhow::Result<Database> {
    // Before the file is read, so that no change is missed.
    let file = OpenFile::of(given).ok();
    let mut database = open_path(given, given.to_owned(), access)?;
    database.file = file.filter(|_| !access.is_writing);
    Ok(database)
}

/// Imports traces into a temporary database, and opens it for reading. Also returns the import's
/// summary. Errors call the traces `given`.
pub fn open_traces(
    given: &Path,
    sources: &[Source],
    options: &Options,
    progress: Progress,
    signals: &Signals,
) -> anyhow::Result<(Database, Summary)> {
    let (path, summary) = import_temporarily(sources, options, progress, signals)?;
    // The database was made with these options, so they need no check.
    let database = open_path(given, path, Access::CLOCKS)?;
    Ok((Database { is_temporary: true, ..database }, summary))
}

/// Opens a database. Errors call it `given`.
fn open_path(given: &Path, path: PathBuf, access: Access<'_>) -> anyhow::Result<Database> {
    let flags = if access.is_writing {
        OpenFlags::SQLITE_OPEN_READ_WRITE
    } else {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    };
    // For SQLite, `file:a.db` and `:memory:` are not names of files.
    let name = path::absolute(&path).unwrap_or(path);
    let mut connection =
        Connection::open_with_flags(&name, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .with_context(|| format!("cannot open {}", given.display()))?;
    guard::distrust(&connection).and_then(|()| guard::refuse_bytes(&connection)).map_err(
        |error| match timebase_import::check_database(&connection) {
            Err(only @ timebase_import::Error::HeaderOnly { .. }) => only.into(),
            _ => unreadable(given, error),
        },
    )?;
    timebase_import::check_database(&connection).map_err(|error| match error {
        timebase_import::Error::Unreadable { error, .. } => unreadable(given, error),
        other => other.into(),
    })?;
    register(&connection).with_context(|| format!("cannot use {}", given.display()))?;
    let denied = match access.is_writing {
        false => guard::protect(&mut connection)
            .with_context(|| format!("cannot use {}", given.display()))?,
        true => Denied::default(),
    };
    if access.is_strict {
        refuse_damage(&connection, given)?;
    }
    if let Some(conversion) = access.conversion {
        refuse_other(&connection, given, conversion)?;
    }
    let changes = if access.is_writing {
        ensure!(
            !connection.is_readonly(MAIN_DB)?,
            "cannot write {}: its permissions, or those of its directory, do not allow it",
            given.display()
        );
        Some(RefCell::new(Changes::watch(&mut connection)?))
    } else {
        None
    };
    Ok(Database { connection, changes, denied, file: None, is_temporary: false })
}

fn register(connection: &Connection) -> rusqlite::Result<()> {
    timebase::sql::register(connection)
}

/// The names of timebase's SQL functions, also of table-valued ones.
pub fn functions() -> rusqlite::Result<BTreeSet<String>> {
    let names = |connection: &Connection| -> rusqlite::Result<BTreeSet<String>> {
        let sql = "SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list";
        let mut statement = connection.prepare(sql)?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    let connection = Connection::open_in_memory()?;
    let of_sqlite = names(&connection)?;
    register(&connection)?;
    Ok(names(&connection)?.difference(&of_sqlite).cloned().collect())
}

/// The error for a file that SQLite cannot read, with advice.
fn unreadable(given: &Path, error: rusqlite::Error) -> anyhow::Error {
    let advice = guard::advice(&error);
    let path = given.to_owned();
    let error = timebase_import::Error::Unreadable { path, error };
    match advice {
        Some(advice) => anyhow!("{error}; {advice}"),
        None => error.into(),
    }
}

/// Refuses a database of a damaged trace, as `import --strict` refuses the trace.
fn refuse_damage(connection: &Connection, given: &Path) -> anyhow::Result<()> {
    let damage = timebase_import::damage(connection)
        .with_context(|| format!("cannot read import_log of {}", given.display()))?;
    match damage {
        Some(damage) => bail!(
            "the trace of {} is damaged: {damage}. Without --strict, timebase uses the readable parts",
            given.display()
        ),
        None => Ok(()),
    }
}

/// Refuses a database whose times were converted by another method.
fn refuse_other(
    connection: &Connection,
    given: &Path,
    conversion: Conversion,
) -> anyhow::Result<()> {
    let sql = "SELECT str_value FROM metadata WHERE name = 'conversion'";
    let found: String = connection
        .query_row(sql, [], |row| row.get(0))
        .with_context(|| format!("cannot read metadata of {}", given.display()))?;
    ensure!(
        found == conversion.name(),
        "{} was imported with --conversion {found}, which cannot change; import the trace \
         again with --conversion {}",
        given.display(),
        conversion.name()
    );
    Ok(())
}

/// Whether a file is a database or a trace.
pub fn kind(given: &Path) -> anyhow::Result<FileKind> {
    if given.as_os_str() == OsStr::new("-") {
        return Ok(FileKind::Trace);
    }
    let cannot_open = || format!("cannot open {}", given.display());
    let metadata = fs::metadata(given).with_context(cannot_open)?;
    if metadata.is_dir() {
        bail!("{} is a directory, neither a trace nor a database", given.display());
    }
    // Looking into a pipe would take bytes from it that the import needs, and SQLite
    // could not read a database from a pipe.
    if !metadata.is_file() {
        return Ok(FileKind::Trace);
    }
    timebase_import::file_kind(given).with_context(cannot_open)
}

fn import_temporarily(
    sources: &[Source],
    options: &Options,
    progress: Progress,
    signals: &Signals,
) -> anyhow::Result<(PathBuf, Summary)> {
    let directory = signals.temporary_directory().context(
        "timebase imports a trace into a temporary database; the variable TMPDIR selects its directory",
    )?;
    let path = directory.join("trace.db");
    let mut options = options.clone();
    options.is_synced = false;
    let (summary, _) = import::monitored(sources, &path, &options, progress, signals)
        .map_err(|error| unwritable(error, &directory))?;
    messages::warnings(&summary.warnings);
    Ok((path, summary))
}

/// The error if the temporary database cannot be written. The import's own error names `-o`, which
/// these commands do not have.
fn unwritable(error: anyhow::Error, directory: &Path) -> anyhow::Error {
    let why = match error.downcast_ref() {
        Some(timebase_import::Error::DiskFull { .. }) => "no space left".to_owned(),
        Some(timebase_import::Error::Write { error, .. }) => error.to_string(),
        Some(timebase_import::Error::Create { error, .. }) => error.to_string(),
        _ => return error,
    };
    let place = directory.parent().unwrap_or(directory).display();
    anyhow!(
        "cannot write the temporary database in {place}: {why}. Set the variable TMPDIR to a directory with more space, or import the trace first: timebase import"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_written_to_has_changed_and_one_that_was_replaced_has_not() {
        let place = tempfile::tempdir().expect("room for a file");
        let path = place.path().join("a.db");
        fs::write(&path, "as it was").expect("can be written");
        let file = OpenFile::of(&path).expect("is there");
        assert!(!file.has_changed());
        fs::write(&path, "as it is now").expect("can be written");
        assert!(file.has_changed());
        let file = OpenFile::of(&path).expect("is there");
        let other = place.path().join("b.db");
        fs::write(&other, "another one").expect("can be written");
        if cfg!(unix) {
            fs::rename(&other, &path).expect("can be moved");
            assert!(!file.has_changed());
        }
        fs::remove_file(&path).expect("can be removed");
        assert!(!file.has_changed());
    }

    #[test]
    fn functions_of_all_kinds_are_known() {
        let functions = functions().expect("SQLite tells them");
        for name in ["to_boottime", "clock_path", "packet_json", "extract_arg", "ancestor_slice"] {
            assert!(functions.contains(name), "{name}");
        }
        assert!(!functions.contains("count") && !functions.contains("json_each"));
    }

    #[test]
    fn a_full_disk_under_a_temporary_database_names_tmpdir() {
        let full = timebase_import::Error::DiskFull { path: "scratch/timebase-x/trace.db".into() };
        let said = unwritable(full.into(), Path::new("scratch/timebase-x")).to_string();
        assert!(said.starts_with("cannot write the temporary database in scratch: no space left."));
        assert!(said.contains("TMPDIR") && !said.contains("-o"), "{said}");
        let other = unwritable(timebase_import::Error::Cancelled.into(), Path::new("scratch"));
        assert_eq!(other.to_string(), "interrupted; nothing was changed");
    }
}
