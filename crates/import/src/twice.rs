//! A trace that is read twice: for its snapshots, and for all else.
//!
//! # Design
//!
//! A file is opened once, and read from the front again, up to where it ended when it was opened: what
//! is written behind that meanwhile is of no pass, and a file that takes its name is not looked at. What
//! can be read only once is put aside first, as it is, and both passes read that. To
//! read it for its snapshots while it is put aside was the alternative: that hides the first pass behind
//! a slow pipe, and has a pipe, a disk and a trace fail in one place.
//!
//! `frame/survey.rs` says what the first pass looks at.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};

use timebase_sort::{Scratch, ScratchFile};
use timebase_trace::{End, Input, Monitor, Pass, Source, SourceError};

use crate::error::WriteError;
use crate::frame::Frame;
use crate::pipeline::{self, Broken};
use crate::place::Whole;

/// How much is put aside at a time.
const CHUNK: usize = 256 << 10;

/// Why a trace could not be put aside.
pub(crate) enum NotAside {
    Source(SourceError),
    Write(WriteError),
}

/// Why the first pass found nothing.
pub(crate) enum NotFound {
    Source(SourceError),
    Broken(Broken),
    Stopped,
}

/// A trace that can be read from the front as often as one likes.
pub(crate) struct Twice {
    bytes: Bytes,
    size: u64,
}

enum Bytes {
    File(File),
    Aside(ScratchFile),
}

/// What of a trace has been opened, and looked at.
pub(crate) enum Opened<'a> {
    File(Twice),
    /// It can be read once, and its bytes are as they are.
    Stream(Input<'a>),
}

impl<'a> Opened<'a> {
    /// Opens a source that is to be read twice.
    pub fn open(source: &Source, monitor: &'a Monitor) -> Result<Self, SourceError> {
        let Some(file) = source.open_file()? else {
            monitor.begin(Pass::Copy, None);
            return Input::open_as_is(source, monitor).map(Opened::Stream);
        };
        let unreadable = |error| SourceError::Open {
            source_name: source.to_string(),
            error,
        };
        let mut twice = Twice {
            size: file.metadata().map_err(unreadable)?.len(),
            bytes: Bytes::File(file),
        };
        // What is no trace is told before anything is made.
        twice.ahead(source, monitor)?;
        Ok(Opened::File(twice))
    }

    /// Puts aside what cannot be read twice.
    pub fn put_aside(self, source: &Source, scratch: &Scratch) -> Result<Twice, NotAside> {
        let mut input = match self {
            Opened::File(twice) => return Ok(twice),
            Opened::Stream(input) => input,
        };
        let not_written = |error: io::Error| NotAside::Write(error.into());
        let mut file = scratch.file().map_err(not_written)?;
        let mut chunk = vec![0; CHUNK];
        let mut size = 0;
        loop {
            match input.reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => {
                    let read = chunk.get(..read).unwrap_or_default();
                    file.write_all(read).map_err(not_written)?;
                    size += read.len() as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let failure = input.failure(source).unwrap_or(SourceError::Read {
                        source_name: source.to_string(),
                        offset: size,
                        error,
                    });
                    return Err(NotAside::Source(failure));
                }
            }
        }
        Ok(Twice {
            bytes: Bytes::Aside(file),
            size,
        })
    }
}

impl Twice {
    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    fn rewound<'b>(
        &'b mut self,
        source: &Source,
    ) -> Result<Box<dyn Read + Send + 'b>, SourceError> {
        let size = self.size;
        let rewound = match &mut self.bytes {
            Bytes::File(file) => file.rewind().map(|()| Box::new(file.take(size)) as _),
            Bytes::Aside(file) => file.rewind().map(|()| Box::new(file) as _),
        };
        rewound.map_err(|error| SourceError::Read {
            source_name: source.to_string(),
            offset: 0,
            error,
        })
    }

    fn ahead<'b>(
        &'b mut self,
        source: &Source,
        monitor: &'b Monitor,
    ) -> Result<Input<'b>, SourceError> {
        let size = self.size;
        let bytes = self.rewound(source)?;
        monitor.begin(Pass::First, Some(size));
        Input::ahead(bytes, source, monitor)
    }

    /// The first pass: reads the trace for what its snapshots say of clocks. `frame` is one of which
    /// nothing was read.
    pub fn find(
        &mut self,
        source: &Source,
        frame: Frame,
        monitor: &Monitor,
    ) -> Result<Whole, NotFound> {
        let mut input = self.ahead(source, monitor).map_err(NotFound::Source)?;
        let surveyed = pipeline::survey(&mut input, frame, monitor);
        if let Some(failure) = input.failure(source) {
            return Err(NotFound::Source(failure));
        }
        match surveyed.map_err(NotFound::Broken)? {
            (frame, End::Complete) => Ok(frame.place.found()),
            (_, End::Stopped) => Err(NotFound::Stopped),
        }
    }

    /// The second pass: the input of the import.
    pub fn input<'b>(
        &'b mut self,
        source: &Source,
        monitor: &'b Monitor,
    ) -> Result<Input<'b>, SourceError> {
        let size = self.size;
        let bytes = self.rewound(source)?;
        monitor.begin(Pass::Second, Some(size));
        Input::of(bytes, source, monitor)
    }
}
