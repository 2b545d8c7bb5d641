//! Packages (PQ2): folders with modules.

use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The largest file of a module, in bytes.
const LARGEST: u64 = 16 << 20;

/// The folders inside of folders.
const DEEPEST: usize = 32;

/// The limit for the files and folders in the search for a module with a similar name. Perfetto's
/// library has 400, but the folder of a script may be anything.
const LOOKED_AT: usize = 20_000;

/// The path of the library in a checkout of Perfetto.
const LIBRARY: [&str; 4] = ["src", "trace_processor", "perfetto_sql", "stdlib"];

/// A folder with modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The name of the only package; `None` if each folder inside is a package.
    name: Option<String>,
    folder: PathBuf,
}

/// Whether a word can be a part of a module's name.
fn is_part(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl Root {
    /// Reads `[NAME=]DIR`. A checkout of Perfetto without a name stands for the library in it.
    ///
    /// # Errors
    ///
    /// If it is no folder.
    pub fn of(given: &str) -> Result<Root> {
        match given.split_once('=') {
            Some((name, folder)) if is_part(name) => {
                Root::folder(Some(name.to_owned()), folder.into())
            }
            _ => {
                let folder = PathBuf::from(given);
                Root::folder(None, library_below(&folder).unwrap_or(folder))
            }
        }
    }

    /// A folder that is a package with a name, or has a folder for each package.
    ///
    /// # Errors
    ///
    /// If it is no folder.
    pub fn folder(name: Option<String>, folder: PathBuf) -> Result<Root> {
        match fs::metadata(&folder) {
            Ok(found) if found.is_dir() => Ok(Root { name, folder }),
            Ok(_) => Err(Error::new(format_args!(
                "the SQL package {} is no folder; name the folder with the .sql files",
                folder.display()
            ))),
            Err(error) => Err(Error::new(format_args!(
                "cannot read the SQL package {}: {error}",
                folder.display()
            ))),
        }
    }

    /// The form that [`of`](Root::of) reads.
    pub fn told(&self) -> String {
        match &self.name {
            Some(name) => format!("{name}={}", self.folder.display()),
            None => self.folder.display().to_string(),
        }
    }

    /// The name of the folder's prelude, if it has one.
    pub fn prelude(&self) -> Option<String> {
        let name = match &self.name {
            Some(name) => format!("{name}.prelude"),
            None => "prelude".to_owned(),
        };
        self.folder.join("prelude").is_dir().then_some(name)
    }

    /// The path of a module, without looking whether it exists.
    fn path(&self, module: &str) -> Option<PathBuf> {
        let mut parts = module.split('.');
        if let Some(name) = &self.name
            && parts.next() != Some(name.as_str())
        {
            return None;
        }
        let mut path = self.folder.clone();
        for part in parts {
            if !is_part(part) {
                return None;
            }
            path.push(part);
        }
        (path != self.folder).then_some(path)
    }

    /// The text of a module; `None` if this folder does not have it.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn module(&self, module: &str) -> Result<Option<String>> {
        let Some(path) = self.path(module) else {
            return Ok(None);
        };
        let path = path.with_extension("sql");
        if !path.is_file() {
            return Ok(None);
        }
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(format_args!(
                "cannot read the module {module} from {}: {error}",
                path.display()
            ))
        };
        let file = fs::File::open(&path).map_err(|error| failed(&error))?;
        let mut text = String::new();
        let read = file.take(LARGEST.saturating_add(1)).read_to_string(&mut text);
        match read.map_err(|error| failed(&error))? as u64 > LARGEST {
            true => Err(failed(&format_args!("it is larger than {} MiB", LARGEST >> 20))),
            false => Ok(Some(text)),
        }
    }

    /// The modules below a name, or all, in the order of names.
    ///
    /// # Errors
    ///
    /// If a folder cannot be read.
    pub fn modules(&self, below: Option<&str>) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let own = self.name.clone().unwrap_or_default();
        let (folder, name) = match below {
            None => (Some(self.folder.clone()), own),
            Some(below) if self.name.as_deref() == Some(below) => (Some(self.folder.clone()), own),
            Some(below) => (self.path(below), below.to_owned()),
        };
        if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
            collect(folder, name, usize::MAX, &mut found)?;
        }
        found.sort();
        Ok(found)
    }
}

/// The text of a module, and the first folder that has it.
///
/// # Errors
///
/// If its file cannot be read.
pub fn find<'r>(roots: &'r [Root], module: &str) -> Result<Option<(&'r Root, String)>> {
    for root in roots {
        if let Some(text) = root.module(module)? {
            return Ok(Some((root, text)));
        }
    }
    Ok(None)
}

/// The library below a checkout of Perfetto, or below a folder on the way to it.
fn library_below(folder: &Path) -> Option<PathBuf> {
    (0..LIBRARY.len())
        .map(|on_the_way| folder.join(LIBRARY.iter().skip(on_the_way).collect::<PathBuf>()))
        .find(|library| library.join("prelude").is_dir())
}

/// Finds modules in a folder and below, the nearest first, until `left` files and folders were seen.
fn collect(folder: PathBuf, name: String, left: usize, found: &mut Vec<String>) -> Result<()> {
    let mut left = left;
    let mut folders = VecDeque::from([(folder, name, DEEPEST)]);
    while let Some((folder, name, depth)) = folders.pop_front() {
        let failed = |error| {
            let folder = folder.display();
            Error::new(format_args!("cannot read the folder {folder}: {error}"))
        };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => return Ok(()),
            };
            let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else {
                continue;
            };
            if !is_part(stem) {
                continue;
            }
            let inner = match name.is_empty() {
                true => stem.to_owned(),
                false => format!("{name}.{stem}"),
            };
            if path.is_dir() && path.extension().is_none() {
                if let Some(depth) = depth.checked_sub(1) {
                    folders.push_back((path, inner, depth));
                }
            } else if path.extension().is_some_and(|extension| extension == "sql") && path.is_file()
            {
                found.push(inner);
            }
        }
    }
    Ok(())
}

/// The module, or the modules below a name (`a.*`), that a wrong name may stand for.
pub fn meant(roots: &[Root], module: &str) -> Option<String> {
    let mut known = Vec::new();
    for root in roots {
        let name = root.name.clone().unwrap_or_default();
        // A folder that cannot be read gives no names; the error is that of the wrong name.
        let _ = collect(root.folder.clone(), name, LOOKED_AT, &mut known);
    }
    let folders = known.iter().flat_map(|name| {
        let dots = name.match_indices('.');
        dots.map(|(end, _)| format!("{}.*", name.get(..end).unwrap_or_default()))
    });
    let folders: Vec<String> = folders.collect();
    let wrong = module.to_ascii_lowercase();
    match wrong.ends_with(".*") {
        true => nearest(&wrong, &folders),
        // The name of a folder, of a module without its package, or nearly that of a module.
        false => folders
            .iter()
            .find(|folder| folder.strip_suffix(".*") == Some(&wrong))
            .or_else(|| {
                known.iter().find(|name| {
                    let rest = name.strip_suffix(&wrong);
                    rest.is_some_and(|package| package.ends_with('.'))
                })
            })
            .cloned()
            .or_else(|| nearest(&wrong, &known)),
    }
}

fn nearest(wrong: &str, known: &[String]) -> Option<String> {
    let distances = known.iter().map(|name| {
        let distance = strsim::osa_distance(wrong, &name.to_ascii_lowercase());
        (distance, name)
    });
    let (distance, name) = distances.min()?;
    (distance <= wrong.len() / 4).then(|| name.clone())
}

/// The folders of a list, as in `TIMEBASE_SQL_PACKAGES`: separated as in `PATH`.
///
/// # Errors
///
/// If one of them is no folder.
pub fn roots(list: &str) -> Result<Vec<Root>> {
    std::env::split_paths(list)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| Root::of(&path.to_string_lossy()))
        .collect()
}
