//! The place of temporary files, and their limit of disk space together with other counted files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The limit of disk space for all who share it. Bytes count before they are written, so there are
/// never more than the limit; after their removal they do not count any more.
///
/// ```
/// use timebase_store::sort::Quota;
///
/// let quota = Quota::of(1000);
/// quota.take(600)?;
/// assert!(quota.take(600).is_err() && quota.is_exceeded());
/// quota.give_back(600);
/// assert_eq!(quota.left(), Some(1000));
/// assert_eq!(Quota::default().left(), None); // there is no limit
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Quota(Option<Arc<Counted>>);

#[derive(Debug)]
struct Counted {
    limit: u64,
    used: AtomicU64,
    is_exceeded: AtomicBool,
}

impl Quota {
    /// A limit of this many bytes.
    pub fn of(bytes: u64) -> Quota {
        Quota(Some(Arc::new(Counted {
            limit: bytes,
            used: AtomicU64::new(0),
            is_exceeded: AtomicBool::new(false),
        })))
    }

    /// Counts bytes before they are written.
    ///
    /// # Errors
    ///
    /// If they exceed the limit; they do not count then.
    #[inline]
    pub fn take(&self, bytes: u64) -> io::Result<()> {
        let Some(counted) = &self.0 else {
            return Ok(());
        };
        let more = |used: u64| {
            let used = used.checked_add(bytes);
            used.filter(|&used| used <= counted.limit)
        };
        let ordering = Ordering::Relaxed;
        match counted.used.fetch_update(ordering, ordering, more) {
            Ok(_) => Ok(()),
            Err(_) => {
                self.exceed();
                Err(io::ErrorKind::QuotaExceeded.into())
            }
        }
    }

    /// Removes bytes from the count.
    pub fn give_back(&self, bytes: u64) {
        if let Some(counted) = &self.0 {
            counted.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// The bytes that may still be written; `None` without a limit.
    pub fn left(&self) -> Option<u64> {
        let counted = self.0.as_ref()?;
        Some(counted.limit - counted.used.load(Ordering::Relaxed).min(counted.limit))
    }

    /// Records that the limit was reached, for code that counts by other means.
    pub fn exceed(&self) {
        if let Some(counted) = &self.0 {
            counted.is_exceeded.store(true, Ordering::Relaxed);
        }
    }

    /// Whether anything exceeded the limit.
    pub fn is_exceeded(&self) -> bool {
        let counted = self.0.as_ref();
        counted.is_some_and(|counted| counted.is_exceeded.load(Ordering::Relaxed))
    }
}

/// A directory for temporary files, and their limit. A path is a directory without a limit.
#[derive(Debug, Clone)]
pub struct Scratch {
    directory: PathBuf,
    quota: Quota,
}

impl Scratch {
    /// A directory whose files count.
    pub fn new(directory: &Path, quota: &Quota) -> Scratch {
        Scratch { directory: directory.to_owned(), quota: quota.clone() }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The limit for the files.
    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// A file without a name, which disappears when it is closed.
    ///
    /// ```
    /// use std::io::{Read, Seek, Write};
    /// use timebase_store::sort::{Quota, Scratch};
    ///
    /// let quota = Quota::of(5);
    /// let mut file = Scratch::new(&std::env::temp_dir(), &quota).file()?;
    /// file.write_all(b"aside")?;
    /// assert!(file.write_all(b"!").is_err());
    /// file.rewind()?;
    /// let mut read = String::new();
    /// file.read_to_string(&mut read)?;
    /// assert_eq!((read.as_str(), quota.left()), ("aside", Some(0)));
    /// drop(file);
    /// assert_eq!(quota.left(), Some(5));
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// If making it fails.
    pub fn file(&self) -> io::Result<ScratchFile> {
        Ok(ScratchFile {
            file: tempfile::tempfile_in(&self.directory)?,
            quota: self.quota.clone(),
            size: 0,
        })
    }
}

impl From<&Path> for Scratch {
    fn from(directory: &Path) -> Scratch {
        Scratch::new(directory, &Quota::default())
    }
}

impl From<&PathBuf> for Scratch {
    fn from(directory: &PathBuf) -> Scratch {
        directory.as_path().into()
    }
}

impl From<&Scratch> for Scratch {
    fn from(scratch: &Scratch) -> Scratch {
        scratch.clone()
    }
}

/// A file without a name, whose bytes count. It is written from beginning to end, and then read.
#[derive(Debug)]
pub struct ScratchFile {
    pub(crate) file: File,
    quota: Quota,
    size: u64,
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.quota.take(bytes.len() as u64)?;
        let written = self.file.write(bytes);
        let size = written.as_ref().copied().unwrap_or(0);
        self.quota.give_back((bytes.len() - size) as u64);
        self.size += size as u64;
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for ScratchFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Seek for ScratchFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        self.quota.give_back(self.size);
    }
}
