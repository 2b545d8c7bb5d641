//! Writes files that are either complete or absent, however the writing process ends; and provides
//! temporary directories that leave nothing behind.
//!
//! ```
//! use std::{fs, io::Write};
//! use timebase_store::files::NewFile;
//!
//! # let directory = tempfile::tempdir()?;
//! let result = directory.path().join("result.txt");
//! let file = NewFile::at(&result)?;
//! file.file().write_all(b"half")?;
//! assert!(!result.exists());
//! file.file().write_all(b" and half")?;
//! file.complete(true)?;
//! assert_eq!(fs::read(&result)?, b"half and half");
//! # std::io::Result::Ok(())
//! ```
//!
//! # Design
//!
//! **Unfinished files are in a separate directory**, [`WorkDir`], beside their destination: on the
//! same file system, so that a rename puts them into place. All files that a process makes meanwhile
//! are in there, including those of libraries, and disappear with it.
//!
//! **A killed process removes nothing, so the next one does.** Each directory has a file that its
//! process locks; the kernel releases the lock when the process ends in any way. Before a process makes
//! such a directory, it removes unlocked ones in the same place: of the same user, with our name, with
//! our lock in them. It does not touch those of a running process, and two processes may write the same
//! file at the same time. Because of the order of creation and removal, everything is either locked or
//! recognizable at any moment:
//!
//! | killed after | is left | and removed, since |
//! |---|---|---|
//! | the directory was made | an empty one | it is empty; a living process that finds it gone makes another |
//! | the lock was made | one with a lock that is free | it is free; a living process that does not get it makes another |
//! | anything else | the same with more in it | the lock is removed last, and held until then |
//!
//! **Where the lock of another machine may not be seen**, on network file systems, what was
//! written in the last day is left alone. Where files cannot be locked at all, everything is.
//!
//! **Whole means on the disk, too.** A file's bytes are synced before it gets its name, since
//! a rename may reach the disk before what was renamed: XFS, APFS and NTFS say nothing of the
//! order, and ext4 keeps it only where a file is replaced. The directory is synced after it;
//! if that fails, a crash of the machine may bring back what was there before, which
//! is whole as well, so it is no error.
//!
//! What was considered instead:
//!
//! * **Files without a name** (`O_TMPFILE`, which get one when they are complete) leave nothing
//!   by themselves. But SQLite opens databases by name, they cannot replace a file, and only
//!   Linux has them, on some file systems. What is sorted outside of memory is in such files
//!   where there are any.
//! * **A lock on the file itself** needs no directory. On Windows nobody could write to
//!   it then, as locks there are no mere advice, and what libraries leave would stay.
//! * **The process's number in the name** means another process after a while, and
//!   nothing in another container.

mod litter;
mod new_file;
mod place;
mod work_dir;

pub use new_file::NewFile;
pub use work_dir::WorkDir;
