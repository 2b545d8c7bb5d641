//! Builds the database beside its destination, and moves it there when it is complete and on the
//! disk (`timebase_store::files` explains how and why). So after a failure, an interruption or a
//! crash, the destination is as it was before.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use timebase_schema::APPLICATION_ID;
use timebase_store::files::NewFile;
use timebase_trace::{FileKind, file_kind};

use crate::error::{Error, WriteError, is_full};
use crate::options::Options;

/// The destination of an import's database.
pub(crate) enum Destination<'c> {
    /// A file that appears when it is complete.
    File(NewDatabase),
    /// A connection of the caller, in a transaction of the import.
    Connection(&'c Connection),
}

impl<'c> Destination<'c> {
    /// The name of the destination.
    pub fn path(&self) -> PathBuf {
        match self {
            Destination::File(file) => file.path.clone(),
            Destination::Connection(conn) => name_of(conn),
        }
    }

    /// A directory for temporary files. For a file, it is on the same disk.
    pub fn directory(&self) -> PathBuf {
        match self {
            Destination::File(file) => file.directory().to_path_buf(),
            Destination::Connection(_) => env::temp_dir(),
        }
    }

    /// Opens the database after its rows are written.
    pub fn open(&self) -> Result<Opened<'c>, Error> {
        Ok(match self {
            Destination::File(file) => file.open()?,
            Destination::Connection(conn) => Opened::Lent(conn),
        })
    }

    /// Whether nothing more can be written there. A connection's own place is unknown.
    pub fn has_no_room(&self, limit: Option<u64>) -> bool {
        match self {
            Destination::File(file) => file.has_no_room(limit),
            Destination::Connection(_) => true,
        }
    }

    /// The error for the user if writing failed.
    pub fn write_error(&self, error: impl Into<WriteError>) -> Error {
        match self {
            Destination::File(file) => file.write_error(error),
            Destination::Connection(conn) => {
                Error::Write { path: name_of(conn), error: error.into().into() }
            }
        }
    }

    /// Puts the complete database into its place, and returns its size.
    pub fn complete(self) -> Result<u64, Error> {
        match self {
            Destination::File(file) => file.complete(),
            Destination::Connection(conn) => {
                let size = conn.query_row(SIZE, [], |row| row.get::<_, i64>(0));
                let size =
                    size.map_err(|error| Destination::Connection(conn).write_error(error))?;
                Ok(size.unsigned_abs())
            }
        }
    }
}

const SIZE: &str = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";

/// The name of a connection's database: its file, if it has one.
pub(crate) fn name_of(conn: &Connection) -> PathBuf {
    let path = conn.path().filter(|path| !path.is_empty());
    path.unwrap_or("the database of the connection").into()
}

/// The largest size of a small database, in bytes. The remaining work on a small database is done
/// in memory and then written at once, while SQLite would write page by page.
const SMALL: u64 = 4 << 20;

/// A database with all its rows, open for the remaining work.
pub(crate) enum Opened<'c> {
    /// A file.
    Own(Connection),
    /// A copy of a file in memory. Closing writes the file.
    Copy(Connection, PathBuf),
    /// The caller's connection.
    Lent(&'c Connection),
}

impl Deref for Opened<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Opened::Own(conn) | Opened::Copy(conn, _) => conn,
            Opened::Lent(conn) => conn,
        }
    }
}

impl Opened<'_> {
    /// Ends the work. The caller ends its own transaction.
    pub fn close(self) -> Result<(), WriteError> {
        match self {
            Opened::Lent(_) => {}
            Opened::Own(conn) => {
                conn.execute_batch("COMMIT")?;
                conn.close().map_err(|(_, error)| error)?;
            }
            Opened::Copy(mut conn, path) => {
                conn.execute_batch("COMMIT")?;
                fs::write(path, &*conn.serialize(c"main")?)?;
            }
        }
        Ok(())
    }
}

/// An unfinished database, beside its destination.
pub(crate) struct NewDatabase {
    path: PathBuf,
    overwrite: bool,
    /// Whether the file has to be on the disk.
    is_synced: bool,
    file: NewFile,
}

impl NewDatabase {
    /// Checks that the destination is free, or may be replaced, and makes an
    /// empty file beside it.
    pub fn create(path: &Path, options: &Options) -> Result<NewDatabase, Error> {
        let Options { overwrite, is_synced, .. } = *options;
        check(path, overwrite)?;
        let file = NewFile::at(path).map_err(|error| {
            let (path, directory) = (path.to_path_buf(), parent(path).to_path_buf());
            if error.kind() == ErrorKind::NotFound && !directory.is_dir() {
                Error::NoDirectory { path, directory }
            } else if is_full(&error) {
                Error::DiskFull { path }
            } else {
                let error = without_path(error);
                Error::Create { path, error }
            }
        })?;
        Ok(NewDatabase { path: path.to_path_buf(), overwrite, is_synced, file })
    }

    /// Opens the unfinished database.
    fn open<'c>(&self) -> Result<Opened<'c>, Error> {
        let open = || -> Result<Opened<'c>, WriteError> {
            let path = self.file.path();
            let size = fs::metadata(path)?.len();
            if size > SMALL {
                return Ok(Opened::Own(Connection::open(path)?));
            }
            let mut conn = Connection::open_in_memory()?;
            let file = File::open(path)?;
            conn.deserialize_read_exact(c"main", file, size as usize, false)?;
            Ok(Opened::Copy(conn, path.to_path_buf()))
        };
        open().map_err(|error| self.write_error(error))
    }

    /// The error for the user if writing failed.
    fn write_error(&self, error: impl Into<WriteError>) -> Error {
        let (path, error) = (self.path.clone(), error.into());
        if !self.directory().is_dir() {
            let directory = parent(self.file.destination());
            if !directory.is_dir() {
                let directory = directory.to_path_buf();
                return Error::NoDirectory { path, directory };
            }
            return Error::Removed { path };
        }
        if error.is_disk_full() || (error.is_of_system() && self.has_no_room(None)) {
            Error::DiskFull { path }
        } else {
            let error = error.into();
            Error::Write { path, error }
        }
    }

    /// Whether nothing more can be written beside the database. SQLite does not distinguish an
    /// exceeded disk quota of the user from other failures of the system.
    fn has_no_room(&self, limit: Option<u64>) -> bool {
        const SOME: usize = 1 << 16;
        let size = fs::metadata(self.file.path()).map_or(0, |file| file.len());
        if limit.is_some_and(|limit| size.saturating_add(SOME as u64) > limit) {
            return false; // Trying would exceed the limit of the user.
        }
        let path = self.directory().join("room");
        let written = File::create(path)
            .and_then(|mut file| file.write_all(&vec![1; SOME]).and(file.sync_all()));
        written.is_err_and(|error| is_full(&error))
    }

    /// The path of the unfinished database.
    pub fn file(&self) -> &Path {
        self.file.path()
    }

    fn directory(&self) -> &Path {
        self.file.directory()
    }

    /// Moves the complete database to its destination, and returns its size.
    fn complete(self) -> Result<u64, Error> {
        // A program may have opened the older database meanwhile.
        check_beside(&self.path)?;
        let path = self.path;
        let completed = match self.is_synced {
            true => self.file.complete(self.overwrite),
            false => self.file.complete_unsynced(self.overwrite),
        };
        completed.map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists {
                Error::Exists { path }
            } else if is_full(&error) {
                Error::DiskFull { path }
            } else {
                let error = without_path(error).into();
                Error::Write { path, error }
            }
        })
    }
}

/// The directory of a file.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The error without the name of the unfinished file, which means nothing to the user, if the kind
/// of the error is enough.
fn without_path(error: io::Error) -> io::Error {
    use ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    match error.kind() {
        kind @ (NotFound | PermissionDenied | ReadOnlyFilesystem) => kind.into(),
        _ => error,
    }
}

fn check(path: &Path, overwrite: bool) -> Result<(), Error> {
    let path_buf = || path.to_path_buf();
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(Error::Create { path: path_buf(), error });
        }
        Ok(found) if found.is_dir() => return Err(Error::IsDirectory { path: path_buf() }),
        // Replacing it would take it away from everybody, and reading a pipe may last forever.
        Ok(found) if !found.is_file() => return Err(Error::NotAFile { path: path_buf() }),
        Ok(_) if !overwrite => return Err(Error::Exists { path: path_buf() }),
        Ok(found) => {
            let kind =
                file_kind(path).map_err(|error| Error::Create { path: path_buf(), error })?;
            if found.len() > 0 && kind != FileKind::Database {
                return Err(Error::NotReplaceable { path: path_buf() });
            }
            if is_foreign(path).map_err(|error| Error::Create { path: path_buf(), error })? {
                return Err(Error::OfOthers { path: path_buf() });
            }
        }
    }
    check_beside(path)
}

/// Whether another program made a database, as its application id says. One without a page is nobody's.
fn is_foreign(path: &Path) -> io::Result<bool> {
    let mut header = Vec::new();
    File::open(path)?.take(72).read_to_end(&mut header)?;
    let id = header.get(68..72).and_then(|id| <[u8; 4]>::try_from(id).ok());
    Ok(id.is_some_and(|id| i64::from(i32::from_be_bytes(id)) != APPLICATION_ID))
}

/// Refuses a destination with uncommitted changes of a database that was not closed.
fn check_beside(path: &Path) -> Result<(), Error> {
    // SQLite has the changes beside the target of a symbolic link, and would play them back into
    // the new database.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    for suffix in ["-wal", "-journal"] {
        let mut beside = place.as_os_str().to_owned();
        beside.push(suffix);
        if fs::metadata(&beside).is_ok_and(|found| found.len() > 0) {
            return Err(Error::InUse { path: path.to_path_buf(), beside: beside.into() });
        }
    }
    Ok(())
}
