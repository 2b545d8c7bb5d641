//! The files that killed processes left: how to recognize and remove them.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::files::place;

/// The prefix of our directories' names. Python's `_scratch.py` uses the same.
pub(crate) const PREFIX: &str = ".timebase-";

/// The number of random letters and digits after it.
pub(crate) const RANDOM: usize = 12;

/// The file in such a directory on which its process holds a lock. Python's `_scratch.py` uses the
/// same.
pub(crate) const LOCK: &str = "timebase.lock";

/// For this long after its last change, a file may belong to a process on another machine.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes the directories in `directory` whose processes have ended. If a removal fails, the
/// directory stays, which harms nobody.
pub(crate) fn remove_abandoned(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if is_ours(&entry) {
            let _ = remove_if_abandoned(&entry.path(), place::has_seen_locks);
        }
    }
}

/// Whether it is a directory of this user with one of our names.
fn is_ours(entry: &DirEntry) -> bool {
    let path = entry.path();
    has_our_name(&path)
        && entry.file_type().is_ok_and(|kind| kind.is_dir())
        && place::is_of_this_user(&path)
}

/// Whether a directory's name is one of ours.
pub(crate) fn has_our_name(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let random = name.and_then(|name| name.strip_prefix(PREFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// `has_seen_locks` says whether this process can see the locks of all processes in a directory.
fn remove_if_abandoned(path: &Path, has_seen_locks: fn(&Path) -> bool) -> io::Result<()> {
    let lock_path = path.join(LOCK);
    let is_file = match fs::symlink_metadata(&lock_path) {
        Ok(found) => found.is_file(),
        // The file is not made yet, or already removed. If the directory contains anything else, it
        // is not ours.
        Err(error) if error.kind() == ErrorKind::NotFound => return fs::remove_dir(path),
        Err(error) => return Err(error),
    };
    if !is_file {
        return Ok(());
    }
    // The lock is held until everything is removed. It is for writing, because NFS locks nothing
    // else.
    let lock = OpenOptions::new().read(true).write(true).open(&lock_path)?;
    if lock.try_lock().is_err() || (!has_seen_locks(path) && is_recent(path)?) {
        return Ok(());
    }
    remove(path)
}

/// Whether something in it was written recently, or in the future, because clocks differ.
fn is_recent(path: &Path) -> io::Result<bool> {
    let now = SystemTime::now();
    for entry in fs::read_dir(path)? {
        let written = entry?.metadata()?.modified()?;
        if now.duration_since(written).map_or(true, |age| age < LONG) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a directory with all of its contents, the lock last.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(path.join(LOCK))?;
    fs::remove_dir(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::files::WorkDir;
    use crate::files::work_dir::claim;

    /// A directory with contents, as a killed process leaves it.
    fn abandoned(directory: &Path) -> std::path::PathBuf {
        let scratch = WorkDir::new_in(directory).unwrap();
        let path = scratch.path().to_owned();
        fs::create_dir(path.join("inner")).unwrap();
        fs::write(path.join("inner").join("more"), "x").unwrap();
        fs::write(path.join("incomplete"), "half").unwrap();
        // Closing the handle releases the lock; dropping the rest then finds nothing to remove.
        let kept = directory.join("kept");
        fs::rename(&path, &kept).unwrap();
        drop(scratch);
        fs::rename(&kept, &path).unwrap();
        path
    }

    #[test]
    fn what_nobody_holds_is_removed_and_what_somebody_holds_is_not() {
        let place = tempfile::tempdir().unwrap();
        let living = WorkDir::new_in(place.path()).unwrap();
        fs::write(living.path().join("incomplete"), "half").unwrap();
        let dead = abandoned(place.path());
        assert!(dead.join("incomplete").exists());
        remove_abandoned(place.path());
        assert!(!dead.exists());
        assert!(living.path().join("incomplete").exists());
        drop(living);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_only_looks_like_ours_is_left() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        // A file; a longer name; a directory without a lock but with contents.
        File::create(path(".timebase-abcdefghijkl")).unwrap();
        fs::create_dir(path(".timebase-configuration")).unwrap();
        File::create(path(".timebase-configuration").join(LOCK)).unwrap();
        fs::create_dir(path(".timebase-abcdefghijkm")).unwrap();
        File::create(path(".timebase-abcdefghijkm").join("notes")).unwrap();
        // The file with the lock's name is not a lock.
        fs::create_dir_all(path(".timebase-abcdefghijkn").join(LOCK)).unwrap();
        drop(WorkDir::new_in(place.path()).unwrap());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 4);
    }

    #[test]
    fn of_a_process_that_may_be_elsewhere_only_old_things_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let dead = abandoned(place.path());
        remove_if_abandoned(&dead, |_| false).unwrap();
        assert!(dead.join("incomplete").exists());
        let old = SystemTime::now() - LONG;
        for name in ["incomplete", "inner", LOCK] {
            File::open(dead.join(name)).unwrap().set_modified(old).unwrap();
        }
        remove_if_abandoned(&dead, |_| false).unwrap();
        assert!(!dead.exists());
    }

    /// Each state in which a process can be killed.
    #[test]
    fn a_directory_without_a_lock_yet_is_removed_and_its_maker_makes_another() {
        let place = tempfile::tempdir().unwrap();
        let made = place.path().join(".timebase-abcdefghijkl");
        fs::create_dir(&made).unwrap();
        remove_abandoned(place.path());
        assert!(!made.exists());
        assert!(claim(made.clone()).unwrap().is_none());

        // The other process takes the lock before us. Because `claim` makes it, a thread that
        // removes the directory meanwhile simulates this.
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    remove_abandoned(place.path());
                }
            });
            for number in 0..300 {
                let scratch = WorkDir::new_in(place.path()).unwrap();
                let file = scratch.path().join("incomplete");
                fs::write(&file, number.to_string()).unwrap();
                thread::yield_now();
                assert_eq!(fs::read_to_string(&file).unwrap(), number.to_string());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
