//! Opens what a command was given: a database, or a trace that is imported
//! to a temporary one first.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{self, Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow, bail, ensure};
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use timebase_import::{Conversion, FileKind, Options, Source, Subject, Summary, Views};

use crate::changes::Changes;
use crate::guard::{self, Denied};
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{import, messages};

/// What a command asks of what it was given.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// What it needs of the events inside of packets, beside clocks and packets.
    pub subjects: &'static [Subject],
    /// Whether it needs the bytes of packets.
    pub to_data: bool,
    /// Whether it changes the database.
    pub is_writing: bool,
    /// Whether nothing may be missing because the trace is damaged.
    pub is_strict: bool,
    /// How times are to be made; `None` if a database of either kind will do.
    pub conversion: Option<Conversion>,
}

impl Access {
    /// To clocks and packets.
    pub const CLOCKS: Access = Access {
        subjects: &[],
        to_data: false,
        is_writing: false,
        is_strict: false,
        conversion: None,
    };

    /// To whatever was read from a clock, and to slices, which have flows.
    pub const READINGS: Access = Access {
        subjects: &[Subject::KernelEvents, Subject::Logs, Subject::Slices],
        ..Access::CLOCKS
    };

    /// To all that is in a trace.
    pub const ALL: Access = Access {
        subjects: &Subject::ALL,
        to_data: true,
        ..Access::CLOCKS
    };
}

/// A database with timebase's SQL functions.
pub struct Database {
    connection: Connection,
    /// Kept of a database that is open for writing.
    changes: Option<RefCell<Changes>>,
    /// What was kept from being done to one that is open for reading.
    denied: Denied,
    file: Option<OpenFile>,
}

/// A file of the user's that is read, and how it was when it was opened.
struct OpenFile {
    given: PathBuf,
    /// Another one may have its name by now, which nobody reads here.
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
        }
    }
}

impl Database {
    /// Runs one statement by `run`, and takes note of what it changes.
    pub fn during<T>(&self, run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        match &self.changes {
            Some(changes) => changes.borrow_mut().during(&self.connection, run),
            None => run(),
        }
    }

    /// Says what has been changed since this was said the last time.
    pub fn tell_changes(&self) {
        let Some(changes) = &self.changes else {
            return;
        };
        if let Some(told) = changes.borrow_mut().told() {
            messages::say(told);
        }
    }

    /// Why the last statement was denied; `None` if it was not.
    pub fn why_denied(&self) -> Option<String> {
        self.denied.take()
    }

    /// Says that a file is not as it was when it was opened: something has written into it that
    /// did not ask SQLite, and what was read may be of both.
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

    /// Ends with it, right before the process ends. To close a database that is only read takes as long as a tenth of a short query, as SQLite
    /// gives back the memory of all views one by one.
    pub fn leave(self) {
        if self.file.is_some() {
            std::mem::forget(self);
        }
    }

    /// Says what was changed and will not be kept.
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

    /// Whether something has written into it. What has its name now may be another file.
    fn has_changed(&self) -> bool {
        OpenFile::of(&self.given).is_ok_and(|now| {
            now.number == self.number && (now.size, now.changed) != (self.size, self.changed)
        })
    }
}

/// What tells a file from another one of its name. Where that is not to be had, nothing can take
/// the name of a file that is open.
fn number(metadata: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    0
}

/// Opens a database, or imports a trace to a temporary one.
pub fn open(given: &Path, access: Access, signals: &Signals) -> anyhow::Result<Database> {
    open_for(given, access, || Ok(Views::All), signals)
}

/// Opens a database, or imports a trace to a temporary one that has the views that `views` tells.
pub fn open_for(
    given: &Path,
    access: Access,
    views: impl FnOnce() -> anyhow::Result<Views>,
    signals: &Signals,
) -> anyhow::Result<Database> {
    if kind(given)? == FileKind::Database {
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
    let source = Source::from_arg(given.as_os_str());
    let opened = open_traces(given, &[source], &options, Progress::Auto, signals);
    opened.map(|(database, _)| database)
}

/// Opens a database that is a file.
pub fn open_file(given: &Path, access: Access) -> anyhow::Result<Database> {
    // Before it is read, so that any change is seen.
    let file = OpenFile::of(given).ok();
    let mut database = open_path(given, given.to_owned(), access)?;
    database.file = file.filter(|_| !access.is_writing);
    Ok(database)
}

/// Imports traces to a temporary database, and opens that for reading, with what the import says of them. They are
/// called `given` in errors.
pub fn open_traces(
    given: &Path,
    sources: &[Source],
    options: &Options,
    progress: Progress,
    signals: &Signals,
) -> anyhow::Result<(Database, Summary)> {
    let (path, summary) = import_temporarily(sources, options, progress, signals)?;
    // What is asked of it, it was made with.
    Ok((open_path(given, path, Access::CLOCKS)?, summary))
}

/// Opens a database, which is called `given` in errors.
fn open_path(given: &Path, path: PathBuf, access: Access) -> anyhow::Result<Database> {
    let flags = if access.is_writing {
        OpenFlags::SQLITE_OPEN_READ_WRITE
    } else {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    };
    // To SQLite, names such as `file:a.db` and `:memory:` are not those of files.
    let name = path::absolute(&path).unwrap_or(path);
    let mut connection =
        Connection::open_with_flags(&name, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .with_context(|| format!("cannot open {}", given.display()))?;
    guard::distrust(&connection)
        .and_then(|()| guard::refuse_bytes(&connection))
        .map_err(|error| unreadable(given, error))?;
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
    Ok(Database {
        connection,
        changes,
        denied,
        file: None,
    })
}

fn register(connection: &Connection) -> rusqlite::Result<()> {
    timebase::sql::register(connection)
}

/// What timebase's SQL functions are called, those that are tables among them.
pub fn functions() -> rusqlite::Result<BTreeSet<String>> {
    let names = |connection: &Connection| -> rusqlite::Result<BTreeSet<String>> {
        let sql = "SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list";
        let mut statement = connection.prepare(sql)?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    let connection = Connection::open_in_memory()?;
    let of_sqlite = names(&connection)?;
    register(&connection)?;
    Ok(names(&connection)?
        .difference(&of_sqlite)
        .cloned()
        .collect())
}

/// What is said of a file that SQLite cannot read, and what can be done.
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

/// Refuses a database whose times were made in another way.
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
    let (summary, _) = import::monitored(sources, &path, options, progress, signals)
        .map_err(|error| unwritable(error, &directory))?;
    messages::warnings(&summary.warnings);
    Ok((path, summary))
}

/// What to do where the temporary database cannot be written; `-o`, of which the import speaks,
/// is no option of these commands.
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
        for name in [
            "to_boottime",
            "clock_path",
            "packet_json",
            "extract_arg",
            "ancestor_slice",
        ] {
            assert!(functions.contains(name), "{name}");
        }
        assert!(!functions.contains("count") && !functions.contains("json_each"));
    }

    #[test]
    fn a_full_disk_under_a_temporary_database_names_tmpdir() {
        let full = timebase_import::Error::DiskFull {
            path: "scratch/timebase-x/trace.db".into(),
        };
        let said = unwritable(full.into(), Path::new("scratch/timebase-x")).to_string();
        assert!(said.starts_with("cannot write the temporary database in scratch: no space left."));
        assert!(said.contains("TMPDIR") && !said.contains("-o"), "{said}");
        let other = unwritable(
            timebase_import::Error::Cancelled.into(),
            Path::new("scratch"),
        );
        assert_eq!(other.to_string(), "interrupted; nothing was changed");
    }
}
