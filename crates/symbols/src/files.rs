//! The files with symbols in directories, by build id.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::elf::{Elf, SECTION_SYMBOLS};
use crate::error::SymbolError;

/// The directories with files.
///
/// ```
/// use timebase_symbols::{Module, SymbolFiles};
///
/// # let directory = tempfile::tempdir()?;
/// let files = SymbolFiles::new(&[directory.path().to_owned()])?;
/// let module = Module { build_id: "4142".to_owned(), name: "/bin/app".to_owned() };
/// let found = files.find(&[module], &|| false);
/// assert!(found.files == [None] && found.problems.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SymbolFiles {
    roots: Vec<PathBuf>,
}

/// A program or library of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The GNU build id in hexadecimal digits, or Breakpad's id of 33 characters. Empty if it is not known.
    pub build_id: String,
    /// The path on the machine of the trace.
    pub name: String,
}

/// The files that were found.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// For each module, its file.
    pub files: Vec<Option<SymbolFile>>,
    /// The files and directories that cannot be read, and names that several files have.
    pub problems: Vec<SymbolError>,
}

/// The file of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolFile {
    /// The file.
    pub path: PathBuf,
    /// Whether only its name says that it belongs to the module.
    pub is_by_name: bool,
}

/// The contents that a file has: more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Contents {
    Nothing,
    Symbols,
    Debug,
}

/// The files that some module wants.
#[derive(Default)]
struct Search<'m> {
    /// The modules by their key.
    wanted: BTreeMap<String, Vec<usize>>,
    /// The modules without a build id, by the name of their file.
    named: BTreeMap<&'m str, Vec<usize>>,
    found: BTreeMap<String, (Contents, PathBuf)>,
    found_by_name: BTreeMap<&'m str, Vec<PathBuf>>,
    problems: Vec<SymbolError>,
}

impl SymbolFiles {
    /// Files in directories, and single files.
    ///
    /// # Errors
    ///
    /// If one of them cannot be opened.
    pub fn new(roots: &[PathBuf]) -> Result<SymbolFiles, SymbolError> {
        for root in roots {
            let unreadable = |error| {
                let what = format_args!(
                    "{error}. Give a directory of files with symbols or DWARF, or one such file"
                );
                SymbolError::new(root, None, what)
            };
            let metadata = fs::metadata(root).map_err(unreadable)?;
            if metadata.is_dir() {
                fs::read_dir(root).map_err(unreadable)?;
            } else {
                fs::File::open(root).map_err(unreadable)?;
            }
        }
        Ok(SymbolFiles { roots: roots.to_vec() })
    }

    /// The directories and files, as they were given.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let given = [directory.path().to_owned()];
    /// assert_eq!(timebase_symbols::SymbolFiles::new(&given)?.roots(), given);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// The files of modules. `is_stopped` ends the search early.
    pub fn find(&self, modules: &[Module], is_stopped: &dyn Fn() -> bool) -> FoundFiles {
        let mut search = Search::default();
        for (index, module) in modules.iter().enumerate() {
            match key(&module.build_id) {
                Some(key) => search.wanted.entry(key).or_default().push(index),
                None => search.named.entry(file_name(&module.name)).or_default().push(index),
            }
        }
        search.named.remove("");
        for root in &self.roots {
            search.by_layout(root);
        }
        if !search.has_all() {
            for root in &self.roots {
                search.walk(root, is_stopped);
            }
        }
        search.end(modules.len())
    }
}

impl Search<'_> {
    /// Looks at `.build-id/ab/cdef.debug`, so that nothing else is read if all files are there.
    fn by_layout(&mut self, root: &Path) {
        let keys: Vec<String> = self.wanted.keys().cloned().collect();
        for key in keys {
            let Some((start, rest)) = key.split_at_checked(2) else { continue };
            for directory in [root.join(".build-id"), root.to_owned()] {
                let path = directory.join(start).join(format!("{rest}.debug"));
                if path.is_file() {
                    self.file(&path);
                }
            }
        }
    }

    fn has_all(&self) -> bool {
        let has_debug =
            |key| self.found.get(key).is_some_and(|(contents, _)| *contents == Contents::Debug);
        self.named.is_empty() && self.wanted.keys().all(has_debug)
    }

    /// Looks at all files below a directory. A symbolic link counts if it leads to a file.
    fn walk(&mut self, root: &Path, is_stopped: &dyn Fn() -> bool) {
        let mut directories = match root.is_dir() {
            true => vec![root.to_owned()],
            false => {
                self.file(root);
                Vec::new()
            }
        };
        while let Some(directory) = directories.pop() {
            let entries = fs::read_dir(&directory)
                .and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>());
            let mut entries = match entries {
                Ok(entries) => entries,
                Err(error) => {
                    self.problems.push(SymbolError::new(&directory, None, error));
                    continue;
                }
            };
            // The order of the disk is any.
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                if is_stopped() {
                    return;
                }
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    directories.push(path);
                } else if path.is_file() {
                    self.file(&path);
                }
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let elf = match Elf::open(path) {
            Ok(Some(elf)) => elf,
            Ok(None) => return,
            Err(error) => return self.problems.push(error),
        };
        let contents = contents(&elf);
        let Some(key) = elf.build_id.as_deref().and_then(|id| key(&hex(id))) else {
            return self.unidentified(path);
        };
        let mut keys = vec![key];
        keys.extend(elf.build_id.as_deref().and_then(breakpad));
        for key in keys.into_iter().filter(|key| self.wanted.contains_key(key)) {
            match self.found.get(&key) {
                Some((known, _)) if *known >= contents => {}
                _ => {
                    self.found.insert(key, (contents, path.to_owned()));
                }
            }
        }
    }

    /// A file without a build id: its name may be that of a module without one.
    fn unidentified(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".debug").unwrap_or(&name);
        if let Some((known, _)) = self.named.get_key_value(name) {
            let files = self.found_by_name.entry(known).or_default();
            if !files.iter().any(|file| file == path) {
                files.push(path.to_owned());
            }
        }
    }

    fn end(mut self, modules: usize) -> FoundFiles {
        let mut files = vec![None; modules];
        let mut set = |indices: &[usize], path: &Path, is_by_name| {
            for &index in indices {
                if let Some(file) = files.get_mut(index) {
                    *file = Some(SymbolFile { path: path.to_owned(), is_by_name });
                }
            }
        };
        for (key, (_, path)) in &self.found {
            set(self.wanted.get(key).map(Vec::as_slice).unwrap_or_default(), path, false);
        }
        for (name, paths) in &self.found_by_name {
            match paths.as_slice() {
                [path] => {
                    set(self.named.get(name).map(Vec::as_slice).unwrap_or_default(), path, true)
                }
                [first, second, ..] => {
                    let second = second.display();
                    let what = format_args!(
                        "{second} has the same name, and neither has a build id, so neither is used"
                    );
                    self.problems.push(SymbolError::new(first, None, what));
                }
                [] => {}
            }
        }
        // A file may be met twice: by its place, and below the directory.
        let mut problems: Vec<SymbolError> = Vec::new();
        for problem in self.problems {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        FoundFiles { files, problems }
    }
}

fn contents(elf: &Elf) -> Contents {
    let has_table = elf.sections.iter().any(|section| section.kind == SECTION_SYMBOLS);
    match (elf.has_debug(), has_table) {
        (true, _) => Contents::Debug,
        (false, true) => Contents::Symbols,
        (false, false) => Contents::Nothing,
    }
}

/// The name of a file of a module: `libapp.so` of `/data/app/base.apk!libapp.so (deleted)`.
fn file_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit(['/', '!']).next().unwrap_or(path)
}

/// A build id as a key. Some recorders fill short ids with zeros.
fn key(build_id: &str) -> Option<String> {
    let mut key = build_id.to_ascii_lowercase();
    if key.len() != BREAKPAD {
        while key.ends_with("00") && key.len().is_multiple_of(2) {
            key.truncate(key.len() - 2);
        }
    }
    (!key.is_empty()).then_some(key)
}

/// The number of characters of Breakpad's ids.
const BREAKPAD: usize = 33;

/// Breakpad's id of a file: the first 16 bytes of its build id, as a GUID, and an age of 0.
fn breakpad(build_id: &[u8]) -> Option<String> {
    let mut guid: [u8; 16] = build_id.get(..16)?.try_into().ok()?;
    let [a, b, c, d, e, f, g, h, ..] = &mut guid;
    (*a, *b, *c, *d) = (*d, *c, *b, *a);
    (*e, *f, *g, *h) = (*f, *e, *h, *g);
    Some(format!("{}0", hex(&guid)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb2_ids_are_compared_without_zeros_at_their_end() {
        assert_eq!(key("AB12"), key("ab120000"));
        assert_eq!(key(""), None);
        assert_eq!(key("0000"), None);
        let guid = breakpad(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
        assert_eq!(guid.as_deref(), Some("0403020106050807090a0b0c0d0e0f100"));
    }

    #[test]
    fn sb3_the_name_of_a_module_is_that_of_its_file() {
        assert_eq!(file_name("/data/app/base.apk!libapp.so (deleted)"), "libapp.so");
        assert_eq!(file_name("app"), "app");
        assert_eq!(file_name("/"), "");
    }
}
