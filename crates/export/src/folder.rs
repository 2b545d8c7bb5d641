//! The folder: the traces in it, and how a trace gets there completely.
//!
//! Incomplete files are in a directory of their own in the folder. Its name begins with a dot, so
//! all readers skip it; the next process removes such directories of killed processes
//! ([`timebase_store::files`]). `_timebase/ID.json` says that a trace is complete. The export
//! writes it last and removes it first, so tables without it are leftovers.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use timebase_store::files::WorkDir;

use crate::error::Error;

/// The directory that lists the complete traces. Readers of Parquet skip names that begin like
/// this.
const DONE: &str = "_timebase";

/// The single file for a table and a trace.
const FILE: &str = "part-0.parquet";

/// A folder of traces, and a directory in it for incomplete files.
///
/// ```
/// use timebase_export::Folder;
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("traces");
/// let folder = Folder::at(&path)?;
/// assert!(folder.is_empty() && !folder.has("0123456789abcdef0123456789abcdef"));
/// // Nothing has come into it.
/// drop(folder);
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    is_new: bool,
    /// Dropped before the folder.
    scratch: Option<WorkDir>,
    /// The path of that directory.
    inside: PathBuf,
}

impl Folder {
    /// Opens a folder of traces, or makes one if nothing is there.
    ///
    /// # Errors
    ///
    /// If something else is there, or if making the folder fails.
    pub fn at(path: &Path) -> Result<Folder, Error> {
        let is_new = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(Error::write(path, error)),
        };
        let mut folder =
            Folder { path: path.to_owned(), is_new, scratch: None, inside: PathBuf::new() };
        folder.check()?;
        let scratch = WorkDir::new_in(path).map_err(|error| Error::write(path, error))?;
        folder.inside = scratch.path().to_owned();
        folder.scratch = Some(scratch);
        Ok(folder)
    }

    /// Refuses a folder with other contents.
    fn check(&self) -> Result<(), Error> {
        if !self.path.is_dir() {
            let path = self.path.clone();
            return Err(Error::NotAFolder { path });
        }
        if self.path.join(DONE).is_dir() {
            return Ok(());
        }
        let unreadable = |error| Error::write(&self.path, error);
        for entry in fs::read_dir(&self.path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?.file_name();
            let entry = entry.to_string_lossy();
            if !entry.starts_with('.') {
                return Err(Error::Foreign { path: self.path.clone(), entry: entry.into_owned() });
            }
        }
        Ok(())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does what dropping the folder does, for a process that ends without that: removes the
    /// incomplete files, and the folder if it is new and has no trace.
    ///
    /// ```
    /// use timebase_export::Folder;
    /// # let place = tempfile::tempdir()?;
    /// let path = place.path().join("traces");
    /// let folder = Folder::at(&path)?;
    /// let remove = folder.removal();
    /// std::mem::forget(folder);
    /// remove();
    /// assert!(!path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn removal(&self) -> impl FnOnce() + Send + use<> {
        let (inside, path, is_new) = (self.inside.clone(), self.path.clone(), self.is_new);
        move || {
            let _ = fs::remove_dir_all(inside);
            if is_new {
                remove_empty(&path);
            }
        }
    }

    /// Whether the folder has the complete trace.
    pub fn has(&self, trace_id: &str) -> bool {
        self.done(trace_id).is_file()
    }

    /// Whether the folder has no trace.
    pub fn is_empty(&self) -> bool {
        let mut done = fs::read_dir(self.path.join(DONE)).into_iter().flatten();
        done.next().is_none()
    }

    fn done(&self, trace_id: &str) -> PathBuf {
        self.path.join(DONE).join(format!("{trace_id}.json"))
    }

    /// The final path of a table's file.
    pub(crate) fn destination(&self, table: &str, trace_id: &str) -> PathBuf {
        self.partition(table, trace_id).join(FILE)
    }

    fn partition(&self, table: &str, trace_id: &str) -> PathBuf {
        self.path.join(table).join(format!("trace_id={trace_id}"))
    }

    /// Makes the file of a table, in the directory for incomplete files.
    pub(crate) fn create(&self, table: &str) -> io::Result<File> {
        let directory = self.inside.join(table);
        fs::create_dir(&directory)?;
        File::create_new(directory.join(FILE))
    }

    /// Moves the new tables to their places, and then writes `said`, which marks the trace as
    /// complete. It removes the tables in `others`, which an earlier export may have made from this
    /// trace.
    pub(crate) fn complete<'a>(
        &self,
        trace_id: &str,
        tables: &[&'a str],
        others: impl Iterator<Item = &'a str>,
        said: &[u8],
    ) -> Result<(), Error> {
        let done = self.done(trace_id);
        let named = |path: &Path| {
            let path = path.to_owned();
            move |error| Error::write(&path, error)
        };
        make(&self.path.join(DONE)).map_err(named(&done))?;
        let new = self.inside.join("done");
        let written = File::create_new(&new).and_then(|mut file| {
            file.write_all(said)?;
            file.sync_all()
        });
        written.map_err(named(&done))?;
        let mut moves = Moves::default();
        // From here on the trace is incomplete.
        let old = self.inside.join("done.old");
        moves.away(&done, old).map_err(named(&done))?;
        for table in tables {
            let partition = self.partition(table, trace_id);
            let put = self.put_away(&mut moves, table, &partition);
            let put = put.and_then(|()| moves.put(&self.inside.join(table), &partition));
            put.map_err(named(&self.destination(table, trace_id)))?;
        }
        for table in others {
            let partition = self.partition(table, trace_id);
            let put = self.put_away(&mut moves, table, &partition);
            put.map_err(named(&partition))?;
        }
        fs::rename(&new, &done).map_err(named(&done))?;
        moves.are_kept();
        // If that fails, a crash of the machine may undo it.
        let _ = File::open(self.path.join(DONE)).and_then(|directory| directory.sync_all());
        Ok(())
    }

    /// Moves a table's file of a trace to a directory that is removed in the end.
    fn put_away(&self, moves: &mut Moves, table: &str, partition: &Path) -> io::Result<()> {
        moves.away(partition, self.inside.join(format!("{table}.old")))
    }
}

/// The moves so far. If not all succeed, they are undone.
#[derive(Default)]
struct Moves(Vec<(PathBuf, PathBuf)>);

impl Moves {
    /// Moves a file or directory if it exists.
    fn away(&mut self, from: &Path, to: PathBuf) -> io::Result<()> {
        match fs::rename(from, &to) {
            Ok(()) => {
                self.0.push((from.to_owned(), to));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Moves a directory into another one, and makes that if necessary.
    fn put(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        /// The limit of attempts: another process may remove the new directory, because it is empty.
        const ATTEMPTS: usize = 100;

        let mut attempts = 0;
        loop {
            if let Some(parent) = to.parent() {
                make(parent)?;
            }
            attempts += 1;
            match fs::rename(from, to) {
                Err(error) if error.kind() == ErrorKind::NotFound && attempts < ATTEMPTS => {}
                Err(error) => {
                    // `make` may have created the directory for this.
                    let _ = to.parent().map(fs::remove_dir);
                    return Err(error);
                }
                Ok(()) => {
                    self.0.push((from.to_owned(), to.to_owned()));
                    return Ok(());
                }
            }
        }
    }

    fn are_kept(mut self) {
        self.0.clear();
    }
}

impl Drop for Moves {
    fn drop(&mut self) {
        for (from, to) in self.0.drain(..).rev() {
            // Another process may have removed it, because it was empty.
            let _ = from.parent().map(make);
            let _ = fs::rename(&to, &from);
            let _ = to.parent().map(fs::remove_dir);
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.scratch = None;
        if self.is_new {
            remove_empty(&self.path);
        }
    }
}

/// Removes a folder without traces.
fn remove_empty(path: &Path) {
    let is_done =
        |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == DONE);
    // A directory with contents must be recognizable as ours.
    if fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_done)) {
        let _ = fs::remove_dir(path.join(DONE));
        let _ = fs::remove_dir(path);
    }
}

/// Makes a directory if it does not exist.
fn make(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn filled(folder: &Folder, tables: &[&str], text: &str) {
        for table in tables {
            let mut file = folder.create(table).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
    }

    #[test]
    fn a_trace_is_there_when_all_of_it_is() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("traces");
        let folder = Folder::at(&path).unwrap();
        filled(&folder, &["slice", "sched"], "first");
        assert!(!path.join("slice").exists());
        folder.complete(ID, &["slice", "sched"], ["flow"].into_iter(), b"{}").unwrap();
        drop(folder);
        let folder = Folder::at(&path).unwrap();
        assert!(folder.has(ID) && !folder.is_empty());
        assert_eq!(fs::read_to_string(folder.destination("slice", ID)).unwrap(), "first");

        // The other tables of the new export replace all old tables.
        filled(&folder, &["slice", "flow"], "second");
        folder.complete(ID, &["slice", "flow"], ["sched"].into_iter(), b"{}").unwrap();
        drop(folder);
        let folder = Folder::at(&path).unwrap();
        assert_eq!(fs::read_to_string(folder.destination("slice", ID)).unwrap(), "second");
        assert!(!folder.destination("sched", ID).exists());
    }

    #[test]
    fn what_cannot_be_completed_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("traces");
        let folder = Folder::at(&path).unwrap();
        filled(&folder, &["slice"], "first");
        // The second table was not made.
        let error = folder.complete(ID, &["slice", "sched"], [].into_iter(), b"{}");
        let said = error.unwrap_err().to_string();
        assert!(said.contains("sched") && said.contains("part-0.parquet"), "{said}");
        assert!(!folder.has(ID));
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_cannot_be_replaced_stays_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("traces");
        let complete =
            |folder: &Folder| folder.complete(ID, &["slice", "sched"], ["flow"].into_iter(), b"{}");
        let folder = Folder::at(&path).unwrap();
        filled(&folder, &["slice", "sched"], "first");
        complete(&folder).unwrap();
        drop(folder);
        let folder = Folder::at(&path).unwrap();
        filled(&folder, &["slice"], "second");
        complete(&folder).unwrap_err();
        drop(folder);
        let folder = Folder::at(&path).unwrap();
        assert!(folder.has(ID));
        for table in ["slice", "sched"] {
            let text = fs::read_to_string(folder.destination(table, ID));
            assert_eq!(text.unwrap(), "first", "{table}");
        }
    }

    #[test]
    fn a_folder_of_something_else_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("notes");
        fs::write(&file, "").unwrap();
        assert!(matches!(Folder::at(&file), Err(Error::NotAFolder { .. })));
        let error = Folder::at(place.path()).unwrap_err().to_string();
        assert!(error.contains("contains notes"), "{error}");
        fs::remove_file(&file).unwrap();
        fs::write(place.path().join(".hidden"), "").unwrap();
        assert!(Folder::at(place.path()).is_ok());
        assert!(Folder::at(&place.path().join("a/b")).is_err());
    }
}
