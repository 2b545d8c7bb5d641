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
//! **Unfinished files are in a separate directory**, [`WorkDir`], beside their destination. It is
//! on the same file system, so a rename puts them into place. All files that a process makes
//! meanwhile are in it, including those of libraries, and disappear with it.
//!
//! **A killed process removes nothing, so the next one does.** Each directory has a file that its
//! process locks; the kernel releases the lock when the process ends in any way. Before a process
//! makes such a directory, it removes unlocked ones in the same place if they belong to the same
//! user, have our name, and contain our lock. It does not touch the directory of a running process,
//! and two processes may write the same file at the same time. Because of the order of creation and
//! removal, each directory is either locked or recognizable at any moment:
//!
//! | killed after | what is left | and removed, because |
//! |---|---|---|
//! | making the directory | an empty directory | it is empty; a living process that finds it gone makes another |
//! | making the lock | a directory with a free lock | the lock is free; a living process that does not get it makes another |
//! | anything else | the same with more contents | the lock is removed last, and held until then |
//!
//! **On network file systems, locks of another machine may be invisible.** There, the process
//! leaves files alone that were written in the last day. If files cannot be locked at all, it
//! leaves everything alone.
//!
//! **Complete also means on the disk.** The bytes of a file are synced before it gets its name,
//! because the rename may reach the disk before the contents: XFS, APFS and NTFS promise no order,
//! and ext4 keeps it only if the rename replaces a file. The directory is synced after the rename.
//! If that fails, a crash of the machine may bring back the former file, which is complete as well,
//! so this is no error.
//!
//! The alternatives were:
//!
//! * **Files without a name** (`O_TMPFILE`, which get a name when they are complete) leave nothing
//!   behind by themselves. But SQLite opens databases by name, such files cannot replace another
//!   one, and only Linux has them, on some file systems. Sorting outside of memory uses such files
//!   where they exist.
//! * **A lock on the file itself** needs no directory. But on Windows, where locks are mandatory,
//!   nobody could write to the file then, and files of libraries would stay.
//! * **The process's number in the name** means another process after some time, and nothing in
//!   another container.

mod litter;
mod new_file;
mod place;
mod work_dir;

pub use new_file::NewFile;
pub use work_dir::WorkDir;
