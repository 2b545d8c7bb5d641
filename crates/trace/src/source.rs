//! The input: a file or standard input. It is hashed and counted during reading, and decompressed
//! if it is compressed as a whole (rules F4, F5).

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

/// The source of a trace.
///
/// ```
/// use timebase_trace::Source;
/// assert!(matches!(Source::from_arg("-".as_ref()), Source::Stdin));
/// assert_eq!(Source::from_arg("a.pftrace".as_ref()).to_string(), "a.pftrace");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A file, or anything else that has a path.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Standard input in pieces: each piece follows its size in four bytes, the lowest first. A
    /// piece of no bytes is the end. Without it, reading fails, because the writer was killed.
    Pieces,
    /// Any reader, which can be read once.
    Reader(Reader),
}

/// Bytes that can be read once, from any reader. A clone shares the same bytes.
///
/// ```
/// use timebase_trace::{Reader, Source};
/// let source = Source::from(Reader::new(std::io::empty()));
/// assert_eq!(source.to_string(), "the reader");
/// ```
#[derive(Clone)]
pub struct Reader(Arc<Mutex<Option<Box<dyn Read + Send>>>>);

impl Reader {
    /// The bytes of `reader`.
    pub fn new(reader: impl Read + Send + 'static) -> Reader {
        Reader(Arc::new(Mutex::new(Some(Box::new(reader)))))
    }

    /// The unread bytes.
    fn take(&self) -> io::Result<Box<dyn Read + Send>> {
        let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reader.take().ok_or_else(|| io::Error::other("it was read before, and can be read once"))
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

impl PartialEq for Reader {
    fn eq(&self, other: &Reader) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Reader {}

impl From<Reader> for Source {
    fn from(reader: Reader) -> Source {
        Source::Reader(reader)
    }
}

impl Source {
    /// The source for a command line argument: `-` is standard input.
    pub fn from_arg(arg: &OsStr) -> Source {
        if arg == "-" { Source::Stdin } else { Source::File(arg.into()) }
    }
}

impl Source {
    /// Opens the source if it is a regular file, which can be read several times; a named pipe
    /// cannot.
    pub(crate) fn open_file(&self) -> Result<Option<File>, SourceError> {
        match self {
            Source::File(path) if path.is_file() => {
                let opened = File::open(path).map_err(|error| self.unreadable(error));
                opened.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Its raw bytes.
    pub(crate) fn bytes<'a>(&self, monitor: &'a Monitor) -> Result<Bytes<'a>, SourceError> {
        Ok(match self {
            Source::Stdin => Box::new(Cancellable {
                reader: stdin().map_err(|error| self.unreadable(error))?,
                monitor,
            }),
            Source::Pieces => Box::new(Pieces::new(Cancellable {
                reader: stdin().map_err(|error| self.unreadable(error))?,
                monitor,
            })),
            Source::Reader(reader) => reader.take().map_err(|error| self.unreadable(error))?,
            Source::File(path) => {
                let unreadable = |error| self.unreadable(error);
                let file = File::open(path).map_err(unreadable)?;
                if file.metadata().map_err(unreadable)?.is_dir() {
                    return Err(SourceError::Directory { path: path.clone() });
                }
                Box::new(Cancellable { reader: file, monitor })
            }
        })
    }

    fn unreadable(&self, error: io::Error) -> SourceError {
        unreadable(&self.to_string(), error)
    }
}

fn unreadable(name: &str, error: io::Error) -> SourceError {
    SourceError::Open { source_name: name.to_owned(), error }
}

/// Standard input without its own buffer: a buffer would hide bytes from the code that waits for
/// input, and hold them back until more come.
#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn stdin() -> io::Result<io::Stdin> {
    Ok(io::stdin())
}

/// The reader of the raw bytes.
pub(crate) type Bytes<'a> = Box<dyn Read + Send + 'a>;

/// The purpose of opening an input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    is_hashed: bool,
    is_decompressed: bool,
    /// Whether nothing else is read after its end.
    is_last: bool,
    /// Whether it is one of several files, which may have any contents, or none.
    is_member: bool,
}

impl Use {
    /// The import reads it.
    pub const IMPORT: Use =
        Use { is_hashed: true, is_decompressed: true, is_last: true, is_member: false };
    /// It is read before the import.
    pub const AHEAD: Use = Use { is_hashed: false, is_last: false, ..Use::IMPORT };
    /// It is copied without changes.
    pub const PUT_ASIDE: Use = Use { is_decompressed: false, ..Use::AHEAD };
    /// It is an archive whose decompressed copy has readable members.
    pub const UNPACK: Use = Use { is_last: false, ..Use::IMPORT };

    /// The same, with its raw bytes.
    pub fn as_it_is(self) -> Use {
        Use { is_decompressed: false, ..self }
    }

    /// The same for one of several files.
    pub fn member(self, is_last: bool) -> Use {
        Use { is_last: self.is_last && is_last, is_member: true, ..self }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => path.display().fmt(f),
            Source::Stdin | Source::Pieces => f.write_str("standard input"),
            Source::Reader(_) => f.write_str("the reader"),
        }
    }
}

/// The reason why a source cannot be read.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages explain them
#[non_exhaustive]
pub enum SourceError {
    #[error("cannot open {source_name}: {error}")]
    Open { source_name: String, error: io::Error },
    #[error("{path} is a directory", path = path.display())]
    Directory { path: PathBuf },
    #[error("reading {source_name} failed after {offset} bytes: {error}")]
    Read { source_name: String, offset: u64, error: io::Error },
    #[error(
        "reading {source_name} failed after {offset} bytes: it is compressed with a window of more than 128 MiB; decompress it first"
    )]
    Window { source_name: String, offset: u64 },
    #[error("{source_name} is empty; a trace has at least one packet")]
    Empty { source_name: String },
    #[error("{source_name} already is a SQLite database")]
    IsDatabase { source_name: String },
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The facts about the input from reading it.
#[derive(Default)]
struct Seen {
    size: u64,
    hash: Sha256,
    failure: Option<Failure>,
    /// Its first decompressed bytes.
    head: Vec<u8>,
}

/// The reason why the input could not be read.
enum Failure {
    Read(io::Error),
    /// Its window takes more memory than a decompressor may have.
    Window,
}

/// The decompressor's message for a window that is too large; there is no error code for it.
const WINDOW_REFUSED: &str = "requires too much memory";

/// Keeps the first bytes, to name the type if it turns out to be no trace.
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
            seen.failure = Some(Failure::Window);
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

/// Waits for a source that may have no bytes for a long time, and stops when the import is
/// cancelled.
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

/// A problem of a member, as reported by its archive.
#[derive(Debug, Default)]
pub(crate) struct Flaw {
    /// The message.
    pub text: Option<String>,
    /// Whether some of its bytes were unreadable.
    pub is_lost: bool,
}

/// Counts, hashes, and remembers an error, which a decompressor would hide. Stops when the import
/// is cancelled.
struct Watched<'a, R> {
    reader: R,
    seen: Arc<Mutex<Seen>>,
    monitor: &'a Monitor,
    for_what: Use,
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
                if self.for_what.is_hashed {
                    seen.hash.update(buf.get(..size).unwrap_or_default());
                }
                self.monitor.bytes_read.fetch_add(size as u64, Ordering::Relaxed);
                if size == 0 && !buf.is_empty() && self.for_what.is_last {
                    self.monitor.is_read.store(true, Ordering::Relaxed);
                }
                Ok(size)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            // The archive is damaged or cut, and its reader has reported that.
            Err(error)
                if self.for_what.is_member
                    && matches!(
                        error.kind(),
                        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                    ) =>
            {
                Err(error)
            }
            Err(error) => {
                let kind = match error.kind() {
                    // This is the error of damaged compression.
                    io::ErrorKind::InvalidData => io::ErrorKind::Other,
                    kind => kind,
                };
                seen.failure = Some(Failure::Read(error));
                Err(kind.into())
            }
        }
    }
}

/// An open source. The crate has an example.
pub struct Input<'a> {
    /// It returns the bytes, decompressed if the file is compressed as a whole.
    pub reader: Bytes<'a>,
    name: String,
    seen: Arc<Mutex<Seen>>,
    flaw: Arc<Mutex<Flaw>>,
    compression: Option<&'static str>,
}

/// The input, after reading all of it.
#[derive(Debug)]
pub struct Digested {
    /// Its size in bytes.
    pub size: u64,
    /// `None` if damaged compression made the rest unreadable.
    pub sha256: Option<String>,
}

impl<'a> Input<'a> {
    /// Opens the source and looks at its first bytes.
    ///
    /// # Errors
    ///
    /// [`SourceError`] tells the user what is wrong.
    pub fn open(source: &Source, monitor: &'a Monitor) -> Result<Input<'a>, SourceError> {
        let bytes = source.bytes(monitor)?;
        Input::begin(bytes, &source.to_string(), monitor, Use::IMPORT)
    }

    pub(crate) fn begin(
        reader: Bytes<'a>,
        name: &str,
        monitor: &'a Monitor,
        for_what: Use,
    ) -> Result<Input<'a>, SourceError> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut raw = Watched { reader, seen: Arc::clone(&seen), monitor, for_what };
        let mut head = Vec::new();
        let first = (&mut raw).take(SQLITE.len() as u64).read_to_end(&mut head);
        let mut input = Input {
            reader: Box::new(io::empty()),
            name: name.to_owned(),
            seen: Arc::clone(&seen),
            flaw: Arc::default(),
            compression: None,
        };
        let error = first.err();
        if let Some(error) = error {
            let is_flaw = for_what.is_member && input.seen().failure.is_none();
            if !is_flaw {
                return Err(input.failed().unwrap_or_else(|| unreadable(name, error)));
            }
        }
        if head.is_empty() && !for_what.is_member {
            return Err(SourceError::Empty { source_name: name.to_owned() });
        }
        if head == SQLITE && !for_what.is_member {
            return Err(SourceError::IsDatabase { source_name: name.to_owned() });
        }
        let compression = Compression::of(&head).filter(|_| for_what.is_decompressed);
        input.compression = compression.map(Compression::name);
        let whole = Cursor::new(head).chain(raw);
        let reader: Bytes<'a> = match compression {
            Some(compression) => {
                let members = Members::new(whole, compression);
                Box::new(members.map_err(|error| unreadable(name, error))?)
            }
            None => Box::new(whole),
        };
        input.reader = Box::new(Headed { reader, seen, is_kept: false });
        Ok(input)
    }

    /// The same for a member of an archive, whose reader reports problems.
    pub(crate) fn flawed(mut self, flaw: Arc<Mutex<Flaw>>) -> Input<'a> {
        self.flaw = flaw;
        self
    }

    /// The compression of the whole file, if any.
    pub fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// Whether there is no decompressed byte.
    pub fn is_empty(&self) -> bool {
        self.seen().head.is_empty()
    }

    /// The type of the input if it is no trace, by its first bytes.
    pub fn recognize(&mut self) -> Option<OtherFile> {
        while self.seen().head.len() < HEAD {
            match self.reader.read(&mut [0; HEAD]) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The bytes so far have to be enough.
                Err(_) => break,
            }
        }
        kind::recognize(&self.seen().head)
    }

    /// The error of reading the source itself, if there was one.
    pub fn failed(&self) -> Option<SourceError> {
        let mut seen = self.seen();
        let (source_name, offset) = (self.name.clone(), seen.size);
        Some(match seen.failure.take()? {
            Failure::Read(error) => SourceError::Read { source_name, offset, error },
            Failure::Window => SourceError::Window { source_name, offset },
        })
    }

    /// Its name in messages to the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The problem that its archive reports, if it is a member and was read to its end (rule X8):
    /// its checksum, or its compression.
    pub fn damage(&self) -> Option<String> {
        let flaw = self.flaw.lock().unwrap_or_else(PoisonError::into_inner);
        flaw.text.clone()
    }

    /// Reads the bytes after the last packet, so that size and hash cover the whole input.
    pub fn digest(&mut self) -> Digested {
        let rest = loop {
            match io::copy(&mut self.reader, &mut io::sink()) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                rest => break rest,
            }
        };
        let flaw = self.flaw.lock().unwrap_or_else(PoisonError::into_inner);
        let is_whole = rest.is_ok() && !flaw.is_lost;
        let seen = self.seen();
        let hash = is_whole.then(|| seen.hash.clone().finalize());
        Digested {
            size: seen.size,
            sha256: hash.map(|hash| hash.iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
