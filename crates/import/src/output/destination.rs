//! The database is built beside its destination, under a name of its own, and
//! moved there when it is complete. So a failure or an interruption leaves what
//! was there before.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::NamedTempFile;
use timebase_trace::{FileKind, file_kind};

use crate::error::{Error, WriteError};

const SUFFIX: &str = ".importing";

/// A database in the making.
pub(crate) struct Destination {
    path: PathBuf,
    overwrite: bool,
    file: NamedTempFile,
}

impl Destination {
    /// Checks that the destination is free, or may be replaced, and makes an
    /// empty file beside it.
    pub fn create(path: &Path, overwrite: bool) -> Result<Destination, Error> {
        check(path, overwrite)?;
        let create = |error| Error::Create {
            path: path.to_path_buf(),
            error,
        };
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let Some(name) = path.file_name() else {
            return Err(create(io::ErrorKind::InvalidFilename.into()));
        };
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        remove_abandoned(directory, &prefix);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any program creates a file: the umask decides.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(directory).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound && !directory.is_dir() {
                let (path, directory) = (path.to_path_buf(), directory.to_path_buf());
                Error::NoDirectory { path, directory }
            } else {
                create(without_path(error))
            }
        })?;
        // Says that this import is alive, to `remove_abandoned` of another. Where
        // locks do not work, nothing is removed either.
        let _ = file.as_file().try_lock();
        Ok(Destination {
            path: path.to_path_buf(),
            overwrite,
            file,
        })
    }

    /// Opens the database in the making.
    pub fn open(&self) -> Result<Connection, Error> {
        Connection::open(self.file.path()).map_err(|error| self.write_error(error))
    }

    /// What a failed write means for the user.
    pub fn write_error(&self, error: impl Into<WriteError>) -> Error {
        let (path, error) = (self.path.clone(), error.into());
        if error.is_disk_full() {
            Error::DiskFull { path }
        } else {
            let error = error.into();
            Error::Write { path, error }
        }
    }

    /// Where the database in the making is.
    pub fn file(&self) -> &Path {
        self.file.path()
    }

    /// The directory that it is in.
    pub fn directory(&self) -> &Path {
        self.file.path().parent().unwrap_or(Path::new("."))
    }

    /// Moves the complete database to its destination; tells its size.
    pub fn complete(self) -> Result<u64, Error> {
        let path = self.path;
        let create = |error| Error::Create {
            path: path.clone(),
            error,
        };
        self.file.as_file().sync_all().map_err(create)?;
        let size = self.file.as_file().metadata().map_err(create)?.len();
        let moved = if self.overwrite {
            self.file.persist(&path)
        } else {
            self.file.persist_noclobber(&path)
        };
        match moved {
            Ok(_) => Ok(size),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::Exists { path })
            }
            Err(error) => Err(create(error.error)),
        }
    }
}

/// The error without the name of the file in the making, which means nothing to the user,
/// where its kind says it all.
fn without_path(error: io::Error) -> io::Error {
    use io::ErrorKind::{
        NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    match error.kind() {
        kind @ (NotFound | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull) => {
            kind.into()
        }
        _ => error,
    }
}

fn check(path: &Path, overwrite: bool) -> Result<(), Error> {
    let path_buf = || path.to_path_buf();
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(Error::Create {
                path: path_buf(),
                error,
            });
        }
        Ok(found) if found.is_dir() => return Err(Error::IsDirectory { path: path_buf() }),
        // To replace it would take it away from everybody; to look into a pipe may last forever.
        Ok(found) if !found.is_file() => return Err(Error::NotAFile { path: path_buf() }),
        Ok(_) if !overwrite => return Err(Error::Exists { path: path_buf() }),
        Ok(found) => {
            let kind = file_kind(path).map_err(|error| Error::Create {
                path: path_buf(),
                error,
            })?;
            if found.len() > 0 && kind != FileKind::Database {
                return Err(Error::NotReplaceable { path: path_buf() });
            }
        }
    }
    // SQLite would play these back into the new database.
    for suffix in ["-wal", "-journal"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        if fs::metadata(&beside).is_ok_and(|found| found.len() > 0) {
            return Err(Error::InUse {
                path: path_buf(),
                beside: beside.into(),
            });
        }
    }
    Ok(())
}

/// Removes what a killed import to the same destination left behind. A living
/// one holds a lock on its file.
fn remove_abandoned(directory: &Path, prefix: &std::ffi::OsStr) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let (name, prefix) = (name.as_encoded_bytes(), prefix.as_encoded_bytes());
        if !name.starts_with(prefix) || !name.ends_with(SUFFIX.as_bytes()) {
            continue;
        }
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            // If it cannot be removed, it stays; the import does not need it gone.
            let _ = fs::remove_file(entry.path());
        }
    }
}
