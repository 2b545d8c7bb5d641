//! A directory for temporary work.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::files::litter::{self, LOCK, PREFIX, RANDOM};

/// The limit of attempts: another process may mistake a new directory for an abandoned one.
const ATTEMPTS: usize = 100;

/// A directory for temporary work. Dropping it removes it with all of its contents. If the process
/// does not get that far, the next process that makes one in the same place removes it.
///
/// ```
/// use timebase_store::files::WorkDir;
/// let scratch = WorkDir::new_in(&std::env::temp_dir())?;
/// let path = scratch.path().to_owned();
/// std::fs::write(path.join("notes"), "for later")?;
/// drop(scratch);
/// assert!(!path.exists());
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
    /// Open for as long as the directory is in use.
    _lock: File,
}

impl WorkDir {
    /// Makes a directory in `directory` that no other user can read, and removes the directories of
    /// killed processes there; also beside `directory`, if that is such a directory itself.
    ///
    /// # Errors
    ///
    /// If making it fails.
    pub fn new_in(directory: &Path) -> io::Result<WorkDir> {
        // This comes first, because these may have filled the disk.
        litter::remove_abandoned(directory);
        if let Some(around) = directory.parent()
            && litter::has_our_name(directory)
        {
            litter::remove_abandoned(around);
        }
        for _ in 0..ATTEMPTS {
            if let Some(scratch) = claim(make(directory)?)? {
                return Ok(scratch);
            }
        }
        let why = format!(
            "directories named {PREFIX}… are removed as soon as they are made in {}",
            directory.display()
        );
        Err(io::Error::other(why))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // If a removal fails, the next process tries it again.
        let _ = litter::remove(&self.path);
    }
}

fn make(directory: &Path) -> io::Result<PathBuf> {
    let mut options = DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        options.mode(0o700);
    }
    // The error of the system, because the user has never seen the directory's name.
    let mut failure = None;
    let mut builder = tempfile::Builder::new();
    let made = builder.prefix(PREFIX).rand_bytes(RANDOM).make_in(directory, |path| {
        options.create(path).inspect_err(|error| failure = error.raw_os_error())
    });
    let made = made.map_err(|error| failure.map_or(error, io::Error::from_raw_os_error))?;
    Ok(made.into_temp_path().keep()?)
}

/// Takes the lock of a new directory. `None` means that another process mistook the directory for
/// an abandoned one, and removes it.
pub(crate) fn claim(path: PathBuf) -> io::Result<Option<WorkDir>> {
    let lock_path = path.join(LOCK);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let lock = match options.open(&lock_path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let _ = fs::remove_dir(&path);
            return Err(error);
        }
    };
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        // If there are no locks, nothing is removed because a lock is missing.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    // The lock may be ours only because the other process has finished its removal.
    Ok(lock_path.exists().then_some(WorkDir { path, _lock: lock }))
}
