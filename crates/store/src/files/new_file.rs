//! A file that is being made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::files::work_dir::WorkDir;

/// The limit for symbolic links that follow each other, as on Linux.
const MOST_LINKS: usize = 40;

/// A file that is being made, in a directory of its own beside its destination. Dropping it removes
/// it; the file at the destination does not change before [`NewFile::complete`]. The crate's
/// documentation has an example.
#[derive(Debug)]
pub struct NewFile {
    destination: PathBuf,
    path: PathBuf,
    /// It is open from the beginning, because the system reports a failure to write cached data to
    /// those who had the file open at that time, whoever wrote it.
    file: File,
    scratch: WorkDir,
}

impl NewFile {
    /// Makes an empty file for `destination`, or for the target of `destination` if that is a
    /// symbolic link.
    ///
    /// # Errors
    ///
    /// If making a file in that directory fails.
    pub fn at(destination: &Path) -> io::Result<NewFile> {
        let destination = followed(destination)?;
        if destination.file_name().is_none() {
            return Err(ErrorKind::InvalidFilename.into());
        }
        let scratch = WorkDir::new_in(parent(&destination))?;
        let path = scratch.path().join("incomplete");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&path)?;
        Ok(NewFile { destination, path, file, scratch })
    }

    /// The path of the unfinished file, for code that opens it by name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A directory for other files of the work. It is removed when the work is done.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// The final path.
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Writes the file's cached data to the disk and moves the file into its place; returns its
    /// size. If `replace` is set, it may replace another file, and takes over its permissions.
    ///
    /// # Errors
    ///
    /// If writing or moving fails; with the kind [`ErrorKind::AlreadyExists`] if another file is
    /// there. The destination is then as before.
    pub fn complete(self, replace: bool) -> io::Result<u64> {
        self.file.sync_all()?;
        let directory = parent(&self.destination).to_owned();
        let size = self.complete_unsynced(replace)?;
        #[cfg(unix)]
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(size)
    }

    /// As [`NewFile::complete`], but the data may still be in the system's memory. This is for temporary files: if
    /// the system crashes, nobody reads them.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn complete_unsynced(self, replace: bool) -> io::Result<u64> {
        #[cfg(unix)]
        if replace && let Ok(other) = fs::metadata(&self.destination) {
            // Some file systems do not support permissions.
            let _ = self.file.set_permissions(other.permissions());
        }
        let size = self.file.metadata()?.len();
        if replace {
            fs::rename(&self.path, &self.destination)?;
        } else {
            move_to_free(&self.path, &self.destination)?;
        }
        Ok(size)
    }
}

/// Moves a file to a path without a file. Some file systems cannot do this in one step.
fn move_to_free(path: &Path, destination: &Path) -> io::Result<()> {
    let file = TempPath::try_from_path(path)?;
    match file.persist_noclobber(destination) {
        Ok(()) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(error.error),
        Err(error) if fs::symlink_metadata(destination).is_ok() => Err(error.error),
        Err(error) => error.path.persist(destination).map_err(|error| error.error),
    }
}

/// The path after following all symbolic links in it, even if nothing is there.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = parent(&path).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    fn written(destination: &Path, text: &str) -> io::Result<NewFile> {
        let file = NewFile::at(destination)?;
        file.file().write_all(text.as_bytes())?;
        Ok(file)
    }

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("result");
        drop(written(&path, "given up").unwrap());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        assert_eq!(written(&path, "one").unwrap().complete(false).unwrap(), 3);
        let refused = written(&path, "two").unwrap().complete(false);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        written(&path, "three").unwrap().complete(true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_may_be_made_at_once() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("result");
        let (one, two) = (written(&path, "one").unwrap(), written(&path, "two").unwrap());
        one.complete(true).unwrap();
        two.complete(true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_replaced_gives_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("result");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        written(&path, "also").unwrap().complete(true).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_followed_and_stays() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("there")).unwrap();
        symlink("there/result", path("second")).unwrap();
        symlink("second", path("first")).unwrap();
        for (text, replace) in [("one", false), ("two", true)] {
            let file = written(&path("first"), text).unwrap();
            file.complete(replace).unwrap();
            assert_eq!(fs::read_to_string(path("there/result")).unwrap(), text);
        }
        assert!(path("first").is_symlink() && path("second").is_symlink());
        symlink("loop", path("loop")).unwrap();
        assert!(NewFile::at(&path("loop")).is_err());
    }
}
