//! A result in a file, which is there when the result is complete.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use tempfile::NamedTempFile;

use super::Whole;
use crate::signals::Signals;

/// Refuses a file that cannot be made, or that the result is made of.
pub fn check(path: &Path, source: &Path) -> anyhow::Result<()> {
    let directory = directory(path);
    ensure!(
        directory.is_dir(),
        "--output {}: there is no directory {}",
        path.display(),
        directory.display()
    );
    ensure!(
        !path.is_dir(),
        "--output {} is a directory; name a file in it",
        path.display()
    );
    let is_source = match (fs::canonicalize(path), fs::canonicalize(source)) {
        (Ok(path), Ok(source)) => path == source && source.is_file(),
        _ => false,
    };
    ensure!(
        !is_source,
        "--output {} is what is asked, and the result would replace it; name another file",
        path.display()
    );
    Ok(())
}

/// Has `write` write a file. If it fails, the file is what it was before, or not
/// there.
pub fn write(
    path: &Path,
    signals: &Signals,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write {}", path.display());
    let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    if is_special {
        // A pipe or a device cannot be replaced.
        let mut whole = Whole::new();
        write(&mut whole)?;
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(path)
            .with_context(cannot_write)?;
        return whole.finish(&mut file).with_context(cannot_write);
    }
    let file = beside(path).with_context(cannot_write)?;
    let incomplete = file.path().to_owned();
    signals.during_file(&incomplete, || {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        let file = file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .with_context(cannot_write)?;
        file.persist(path)
            .map_err(|error| error.error)
            .with_context(cannot_write)?;
        Ok(())
    })
}

/// A file in the same directory, as one is made that nobody says more of.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".timebase-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask takes away; or those of the file that it replaces.
        let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
        builder.permissions(permissions.unwrap_or_else(|_| fs::Permissions::from_mode(0o666)));
    }
    builder.tempfile_in(directory(path))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
