//! A directory to work in.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::files::litter::{self, LOCK, PREFIX, RANDOM};

/// How often another process may take what we have just made for abandoned.
const ATTEMPTS: usize = 100;

/// A directory to work in, which is removed with all that is in it when this is dropped;
/// or, where the process does not come to that, by the next that makes one in the same
/// place.
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
    /// Held for as long as the directory is in use.
    _lock: File,
}

impl WorkDir {
    /// Makes a directory in `directory` that nobody else can read, and removes there what
    /// killed processes left; and around it, if it is such a directory itself.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn new_in(directory: &Path) -> io::Result<WorkDir> {
        // First, as the disk may be full of it.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // What cannot be removed stays for the next to try.
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
    // As the system tells it: a name that the user has never seen says nothing.
    let mut failure = None;
    let mut builder = tempfile::Builder::new();
    let made = builder
        .prefix(PREFIX)
        .rand_bytes(RANDOM)
        .make_in(directory, |path| {
            options
                .create(path)
                .inspect_err(|error| failure = error.raw_os_error())
        });
    let made = made.map_err(|error| failure.map_or(error, io::Error::from_raw_os_error))?;
    Ok(made.into_temp_path().keep()?)
}

/// Takes the lock of a new directory. `None`: somebody who looked for abandoned ones was
/// there before, and removes it.
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
        // Where there are no locks, nothing is removed for the want of one either.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    // It may be ours only because the other one has done its work.
    Ok(lock_path.exists().then_some(WorkDir { path, _lock: lock }))
}
