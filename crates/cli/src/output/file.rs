//! A result in a file that appears when the result is complete.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use timebase_store::files::NewFile;

use super::{Named, Whole};
use crate::signals::{Removal, Signals};

/// Whether a result may replace a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    Replace,
    Refuse,
}

impl Existing {
    /// The meaning of the flag `--force`.
    pub fn forced(force: bool) -> Existing {
        match force {
            true => Existing::Replace,
            false => Existing::Refuse,
        }
    }

    /// Refuses a regular file that must not be replaced. A pipe or a device is written to.
    pub fn check(self, path: &Path) -> anyhow::Result<()> {
        ensure!(self == Existing::Replace || !path.is_file(), exists(path));
        Ok(())
    }
}

/// The message about a file that must not be replaced.
fn exists(path: &Path) -> String {
    let path = path.display();
    format!("{path} exists; name another file with -o, or replace it with --force")
}

/// Refuses a file that cannot be made, or that is the source of the result.
pub fn check(path: &Path, source: &Path) -> anyhow::Result<()> {
    let directory = directory(path);
    ensure!(
        directory.is_dir(),
        "--output {}: there is no directory {}",
        path.display(),
        directory.display()
    );
    ensure!(!path.is_dir(), "--output {} is a directory; name a file in it", path.display());
    let is_source = match (fs::canonicalize(path), fs::canonicalize(source)) {
        (Ok(path), Ok(source)) => path == source && source.is_file(),
        _ => false,
    };
    ensure!(
        !is_source,
        "--output {} is the queried file, which the result would replace; name another file",
        path.display()
    );
    Ok(())
}

/// Lets `write` write a file. If it fails, the file is as it was before, or does not exist.
pub fn write(
    path: &Path,
    existing: Existing,
    signals: &Signals,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write {}", path.display());
    let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    if is_special {
        // A pipe or a device cannot be replaced.
        let mut whole = Whole::new();
        write(&mut whole)?;
        let file = fs::OpenOptions::new().write(true).open(path);
        let file = file.with_context(cannot_write)?;
        whole.finish(&mut Named::new(path.display(), file))?;
        return Ok(());
    }
    let make = || {
        let file = NewFile::at(path).with_context(cannot_write)?;
        let directory = file.directory().to_owned();
        let remove: Removal = Box::new(|| drop(fs::remove_dir_all(directory)));
        Ok((file, remove))
    };
    signals.during_file(make, |file| {
        let mut out = BufWriter::new(Named::new(path.display(), file.file()));
        write(&mut out)?;
        out.flush()?;
        drop(out);
        let completed = file.complete(existing == Existing::Replace);
        completed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow!(exists(path)),
            _ => anyhow::Error::new(error).context(cannot_write()),
        })?;
        Ok(())
    })
}

/// Writes a small file, completely or not at all.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = NewFile::at(path)?;
    file.file().write_all(bytes)?;
    file.complete(true).map(drop)
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
