//! The input: a file or standard input, hashed and counted as it is read, and
//! decompressed if it is compressed as a whole (rules F4, F5).

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::kind::{self, HEAD, OtherFile, SQLITE};
use crate::members::{Compression, Members};
use crate::monitor::Monitor;
use crate::pieces::Pieces;

/// Where a trace is read from.
///
/// ```
/// use timebase_trace::Source;
/// assert!(matches!(Source::from_arg("-".as_ref()), Source::Stdin));
/// assert_eq!(Source::from_arg("a.pftrace".as_ref()).to_string(), "a.pftrace");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, or anything else that has a path.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Standard input in pieces: before each its size, as four bytes, the lowest first. One
    /// of no bytes is the end, without which it cannot be read: who writes it was killed.
    Pieces,
}

impl Source {
    /// The source of a command line argument: `-` is standard input.
    pub fn from_arg(arg: &OsStr) -> Source {
        if arg == "-" {
            Source::Stdin
        } else {
            Source::File(arg.into())
        }
    }
}

impl Source {
    /// Opens the source if it is a file that can be read as often as one likes: a pipe has a name,
    /// too.
    ///
    /// ```
    /// use timebase_trace::Source;
    /// assert!(Source::Stdin.open_file()?.is_none());
    /// assert!(Source::File("../../tests/data/sdk.pftrace".into()).open_file()?.is_some());
    /// # Ok::<(), timebase_trace::SourceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SourceError`] says for the user what was wrong.
    pub fn open_file(&self) -> Result<Option<File>, SourceError> {
        match self {
            Source::File(path) if path.is_file() => {
                let opened = File::open(path).map_err(|error| self.unreadable(error));
                opened.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Its bytes, as they are.
    fn bytes<'a>(&self, monitor: &'a Monitor) -> Result<Bytes<'a>, SourceError> {
        Ok(match self {
            Source::Stdin => Box::new(Cancellable {
                reader: io::stdin(),
                monitor,
            }),
            Source::Pieces => Box::new(Pieces::new(Cancellable {
                reader: io::stdin(),
                monitor,
            })),
            Source::File(path) => {
                let unreadable = |error| self.unreadable(error);
                let file = File::open(path).map_err(unreadable)?;
                if file.metadata().map_err(unreadable)?.is_dir() {
                    return Err(SourceError::Directory { path: path.clone() });
                }
                Box::new(Cancellable {
                    reader: file,
                    monitor,
                })
            }
        })
    }

    fn unreadable(&self, error: io::Error) -> SourceError {
        SourceError::Open {
            source_name: self.to_string(),
            error,
        }
    }
}

/// What bytes are read from.
type Bytes<'a> = Box<dyn Read + Send + 'a>;

/// What an input is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The import is made of it.
    Import,
    /// Somebody reads ahead.
    Ahead,
    /// It is put aside as it is.
    PutAside,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => path.display().fmt(f),
            Source::Stdin | Source::Pieces => f.write_str("standard input"),
        }
    }
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum SourceError {
    #[error("cannot open {source_name}: {error}")]
    Open {
        source_name: String,
        error: io::Error,
    },
    #[error("{path} is a directory; name a trace file, or - for standard input", path = path.display())]
    Directory { path: PathBuf },
    #[error("reading {source_name} failed after {offset} bytes: {error}")]
    Read {
        source_name: String,
        offset: u64,
        error: io::Error,
    },
    #[error("{source_name} is empty; a trace has at least one packet")]
    Empty { source_name: String },
    #[error(
        "{source_name} is a SQLite database already; ask it with `timebase query` or `timebase shell`"
    )]
    IsDatabase { source_name: String },
}

/// What became known of the input while it was read.
#[derive(Default)]
struct Seen {
    size: u64,
    hash: Sha256,
    failure: Option<io::Error>,
    /// The first bytes of it, decompressed.
    head: Vec<u8>,
}

/// What the decompressor calls a window that is too large, which has no number for it.
const WINDOW_REFUSED: &str = "requires too much memory";

const WINDOW: &str = "it is compressed with a window of more than 128 MiB; decompress it first, as with \
    `zstd -dc --long=31 FILE | timebase import - -o trace.db`";

/// Keeps the first bytes, to say what it is if it turns out to be no trace.
struct Headed<R> {
    reader: R,
    seen: Arc<Mutex<Seen>>,
    is_kept: bool,
}

impl<R: Read> Read for Headed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buf);
        if let Err(error) = &read
            && error.to_string().contains(WINDOW_REFUSED)
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.failure = Some(io::Error::other(WINDOW));
        }
        let size = read?;
        if !self.is_kept {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let room = HEAD.saturating_sub(seen.head.len());
            let bytes = buf.get(..size.min(room)).unwrap_or_default();
            seen.head.extend_from_slice(bytes);
            self.is_kept = seen.head.len() >= HEAD;
        }
        Ok(size)
    }
}

/// Waits for what may have no bytes for a long time, and gives up when the
/// import is cancelled.
struct Cancellable<'a, R> {
    reader: R,
    monitor: &'a Monitor,
}

#[cfg(unix)]
impl<R: Read + std::os::fd::AsFd> Read for Cancellable<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        use nix::poll::{PollFd, PollFlags, poll};
        loop {
            if self.monitor.cancel.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let mut readable = [PollFd::new(self.reader.as_fd(), PollFlags::POLLIN)];
            match poll(&mut readable, 100_u8) {
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return self.reader.read(buf),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(not(unix))]
impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.monitor.cancel.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.reader.read(buf)
    }
}

/// Counts, hashes, and remembers a failure, which a decompressor would hide. Gives up when the
/// import is cancelled.
struct Watched<'a, R> {
    reader: R,
    seen: Arc<Mutex<Seen>>,
    monitor: &'a Monitor,
    /// Whether it is what the import is made of. Else somebody reads ahead, and hashes nothing.
    is_import: bool,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = match self.monitor.cancel.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => self.reader.read(buf),
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(size) => {
                seen.size += size as u64;
                if self.is_import {
                    seen.hash.update(buf.get(..size).unwrap_or_default());
                }
                self.monitor
                    .bytes_read
                    .fetch_add(size as u64, Ordering::Relaxed);
                if size == 0 && !buf.is_empty() && self.is_import {
                    self.monitor.is_read.store(true, Ordering::Relaxed);
                }
                Ok(size)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = match error.kind() {
                    // That is what damaged compression is called.
                    io::ErrorKind::InvalidData => io::ErrorKind::Other,
                    kind => kind,
                };
                seen.failure = Some(error);
                Err(kind.into())
            }
        }
    }
}

/// An open source. The crate has an example.
pub struct Input<'a> {
    /// Its bytes, decompressed if it is compressed as a whole.
    pub reader: Bytes<'a>,
    seen: Arc<Mutex<Seen>>,
    compression: Option<&'static str>,
}

/// The input, when all of it was read.
#[derive(Debug)]
pub struct Digested {
    /// How many bytes it has.
    pub size: u64,
    /// `None` if damaged compression kept the rest from being read.
    pub sha256: Option<String>,
}

impl<'a> Input<'a> {
    /// Opens the source and looks at its first bytes.
    ///
    /// # Errors
    ///
    /// [`SourceError`] says for the user what was wrong.
    pub fn open(source: &Source, monitor: &'a Monitor) -> Result<Input<'a>, SourceError> {
        Input::begin(source.bytes(monitor)?, source, monitor, Use::Import)
    }

    /// Opens the source for who wants its bytes as they are, be they compressed, to put them
    /// aside. Nothing is hashed.
    ///
    /// ```
    /// use std::io::Read;
    /// use timebase_trace::{Input, Monitor, Source};
    ///
    /// let (source, monitor) = (Source::File("../../tests/data/sdk.pftrace".into()), Monitor::default());
    /// let mut aside = Vec::new();
    /// Input::open_as_is(&source, &monitor)?.reader.read_to_end(&mut aside)?;
    /// let input = Input::of(&aside[..], &source, &monitor)?; // as if it was read from the source
    /// assert_eq!(input.compression(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As those of [`Input::open`].
    pub fn open_as_is(source: &Source, monitor: &'a Monitor) -> Result<Input<'a>, SourceError> {
        Input::begin(source.bytes(monitor)?, source, monitor, Use::PutAside)
    }

    /// The bytes of the source, from a copy of it.
    ///
    /// # Errors
    ///
    /// As those of [`Input::open`].
    pub fn of(
        bytes: impl Read + Send + 'a,
        source: &Source,
        monitor: &'a Monitor,
    ) -> Result<Input<'a>, SourceError> {
        Input::begin(Box::new(bytes), source, monitor, Use::Import)
    }

    /// The bytes of the source for who reads them ahead, before the import is made of them.
    /// Nothing is hashed.
    ///
    /// # Errors
    ///
    /// As those of [`Input::open`].
    pub fn ahead(
        bytes: impl Read + Send + 'a,
        source: &Source,
        monitor: &'a Monitor,
    ) -> Result<Input<'a>, SourceError> {
        Input::begin(Box::new(bytes), source, monitor, Use::Ahead)
    }

    fn begin(
        reader: Bytes<'a>,
        source: &Source,
        monitor: &'a Monitor,
        for_what: Use,
    ) -> Result<Input<'a>, SourceError> {
        let unreadable = |error| source.unreadable(error);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut raw = Watched {
            reader,
            seen: Arc::clone(&seen),
            monitor,
            is_import: for_what == Use::Import,
        };
        let mut head = Vec::new();
        let first = (&mut raw).take(SQLITE.len() as u64).read_to_end(&mut head);
        let input = Input {
            reader: Box::new(io::empty()),
            seen: Arc::clone(&seen),
            compression: None,
        };
        if let Err(error) = first {
            return Err(input.failure(source).unwrap_or_else(|| unreadable(error)));
        }
        if head.is_empty() {
            return Err(SourceError::Empty {
                source_name: source.to_string(),
            });
        }
        if head == SQLITE {
            return Err(SourceError::IsDatabase {
                source_name: source.to_string(),
            });
        }
        let compression = Compression::of(&head).filter(|_| for_what != Use::PutAside);
        let whole = Cursor::new(head).chain(raw);
        let reader: Bytes<'a> = match compression {
            Some(compression) => Box::new(Members::new(whole, compression).map_err(unreadable)?),
            None => Box::new(whole),
        };
        Ok(Input {
            reader: Box::new(Headed {
                reader,
                seen,
                is_kept: false,
            }),
            compression: compression.map(Compression::name),
            ..input
        })
    }

    /// How it is compressed as a whole, if it is.
    pub fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// Whether no byte of it was read, decompressed.
    pub fn is_empty(&self) -> bool {
        self.seen().head.is_empty()
    }

    /// What the input is if it is no trace, by its first bytes.
    pub fn recognize(&mut self) -> Option<OtherFile> {
        while self.seen().head.len() < HEAD {
            match self.reader.read(&mut [0; HEAD]) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What there is has to do.
                Err(_) => break,
            }
        }
        kind::recognize(&self.seen().head)
    }

    /// The failure to read the source itself, if there was one.
    pub fn failure(&self, source: &Source) -> Option<SourceError> {
        let error = self.seen().failure.take()?;
        Some(SourceError::Read {
            source_name: source.to_string(),
            offset: self.seen().size,
            error,
        })
    }

    /// Reads what is left behind the last packet, so that size and hash are
    /// those of the whole input.
    pub fn digest(&mut self) -> Digested {
        let rest = loop {
            match io::copy(&mut self.reader, &mut io::sink()) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                rest => break rest,
            }
        };
        let seen = self.seen();
        let hash = rest.is_ok().then(|| seen.hash.clone().finalize());
        Digested {
            size: seen.size,
            sha256: hash.map(|hash| hash.iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
