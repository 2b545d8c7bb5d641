//! The contents of a file that is compressed as a whole, as far as it can be decompressed (rule
//! Z7).
//!
//! A gzip file is a list of members, a zstd file is a list of frames; most files have one. After
//! damage, reading continues at the next one. The last decompressed bytes before the noticed damage
//! may be wrong; the reader of the bytes has to find that out.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use memchr::memmem;
use zstd::stream::read::Decoder as ZstdDecoder;

use crate::carried::LARGEST_WINDOW;
use crate::kind::{GZIP, ZSTD};

/// The compression of the whole input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// By the first bytes.
    pub fn of(head: &[u8]) -> Option<Compression> {
        if head.starts_with(&GZIP) {
            Some(Compression::Gzip)
        } else if head.starts_with(&ZSTD) {
            Some(Compression::Zstd)
        } else {
            None
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    /// The first bytes of a member; for gzip, they include the only method that exists.
    fn magic(self) -> &'static [u8] {
        match self {
            Compression::Gzip => &[GZIP[0], GZIP[1], 8],
            Compression::Zstd => &ZSTD,
        }
    }

    fn begin<R: BufRead>(self, reader: R) -> io::Result<State<R>> {
        Ok(match self {
            Compression::Gzip => State::Gzip(Box::new(MultiGzDecoder::new(reader))),
            Compression::Zstd => {
                let mut decoder = ZstdDecoder::with_buffer(reader)?;
                decoder.window_log_max(LARGEST_WINDOW)?;
                State::Zstd(decoder)
            }
        })
    }
}

/// Counts bytes, and remembers an error of the file itself, which a decompressor reports like
/// damage.
struct Raw<R> {
    reader: R,
    has_failed: bool,
    size: u64,
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buf);
        self.has_failed |=
            matches!(&result, Err(error) if error.kind() != io::ErrorKind::Interrupted);
        self.size += *result.as_ref().unwrap_or(&0) as u64;
        result
    }
}

enum State<R: BufRead> {
    Gzip(Box<MultiGzDecoder<R>>),
    Zstd(ZstdDecoder<'static, R>),
    /// The state after damage.
    Lost(R),
    Done,
}

/// The file from the start of a member: the bytes that were read to find it, and the rest.
type Begun<R> = io::Chain<&'static [u8], BufReader<Raw<R>>>;

/// Reads the contents of the members of a compressed file. A damaged member causes an error of the
/// kind `InvalidData`; the next read is from the next member.
pub(crate) struct Members<R: Read> {
    compression: Compression,
    state: State<Begun<R>>,
    /// The number of starts at a member after damage.
    begun: u64,
}

/// The number of bytes to decompress at once: a decompressor that meets damage drops its output
/// since the last call.
const STEP: usize = 16 << 10;

/// The limit for starting at a member after damage, in a file of any size, and the number of bytes
/// for each further start. A file can be full of beginnings, and a decompressor for each would take
/// ten seconds for each megabyte.
const BEGUN: u64 = 1000;
const BEGUN_BYTES: u64 = 4 << 10;

impl<R: Read> Members<R> {
    pub fn new(reader: R, compression: Compression) -> io::Result<Members<R>> {
        let raw = Raw { reader, has_failed: false, size: 0 };
        let reader = BufReader::with_capacity(64 << 10, raw);
        let begun = Read::chain(&[][..], reader);
        Ok(Members { compression, state: compression.begin(begun)?, begun: 0 })
    }

    /// Goes to the start of the next member, if there is one. After too many false starts, it skips
    /// some.
    fn find(&mut self, begun: Begun<R>) -> io::Result<()> {
        let magic = self.compression.magic();
        let (_, mut reader) = begun.into_inner();
        // The end of the searched bytes, in which the mark may have begun.
        let mut bytes = Vec::new();
        loop {
            let there = reader.fill_buf()?;
            if there.is_empty() {
                return Ok(());
            }
            let (before, size) = (bytes.len(), there.len());
            bytes.extend_from_slice(there);
            if let Some(at) = memmem::find(&bytes, magic) {
                reader.consume((at + magic.len()).saturating_sub(before));
                if self.begun < BEGUN + reader.get_ref().size / BEGUN_BYTES {
                    self.begun += 1;
                    self.state = self.compression.begin(Read::chain(magic, reader))?;
                    return Ok(());
                }
                bytes.clear();
                continue;
            }
            reader.consume(size);
            bytes.drain(..bytes.len().saturating_sub(magic.len() - 1));
        }
    }

    /// The error is damage, unless the file itself cannot be read.
    fn damaged(&mut self, error: io::Error) -> io::Error {
        let begun = match std::mem::replace(&mut self.state, State::Done) {
            State::Gzip(decoder) => decoder.into_inner(),
            State::Zstd(decoder) => decoder.finish(),
            State::Lost(begun) => begun,
            State::Done => return error,
        };
        let is_unreadable = begun.get_ref().1.get_ref().has_failed;
        if is_unreadable || error.kind() == io::ErrorKind::UnexpectedEof {
            return error;
        }
        self.state = State::Lost(begun);
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if matches!(self.state, State::Lost(_))
            && let State::Lost(begun) = std::mem::replace(&mut self.state, State::Done)
        {
            self.find(begun)?;
        }
        let size = buf.len().min(STEP);
        let buf = buf.get_mut(..size).unwrap_or_default();
        let read = match &mut self.state {
            State::Gzip(decoder) => decoder.read(buf),
            State::Zstd(decoder) => decoder.read(buf),
            State::Lost(_) | State::Done => return Ok(0),
        };
        match read {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(self.damaged(error)),
            read => read,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::testing::Slow;

    fn member(compression: Compression, bytes: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 0).unwrap();
                encoder.include_checksum(true).unwrap();
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    /// All readable bytes, and the number of interruptions.
    fn read(compression: Compression, bytes: &[u8]) -> (Vec<u8>, Vec<io::ErrorKind>) {
        let mut members = Members::new(Slow(bytes), compression).unwrap();
        let (mut all, mut broken) = (Vec::new(), Vec::new());
        let mut buf = [0; 100];
        loop {
            match members.read(&mut buf) {
                Ok(0) => return (all, broken),
                Ok(size) => all.extend_from_slice(&buf[..size]),
                Err(error) => broken.push(error.kind()),
            }
        }
    }

    #[test]
    fn z7_reading_goes_on_at_the_next_member_or_frame() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let texts: Vec<Vec<u8>> =
                (0..3_u8).map(|n| (0..2000_u32).map(|i| ((i * i) >> n) as u8).collect()).collect();
            let members: Vec<_> = texts.iter().map(|text| member(compression, text)).collect();
            let whole = members.concat();
            assert_eq!(read(compression, &whole), (texts.concat(), vec![]));

            let damaged_at = members[0].len() + members[1].len() / 2;
            let mut damaged = whole.clone();
            damaged[damaged_at..damaged_at + 4].fill(0xff);
            let (found, broken) = read(compression, &damaged);
            assert_eq!(broken, [io::ErrorKind::InvalidData]);
            assert!(found.starts_with(&texts[0]), "{compression:?}");
            assert!(found.ends_with(&texts[2]), "{compression:?}");

            let cut = &whole[..damaged_at];
            let (found, broken) = read(compression, cut);
            assert_eq!(broken, [io::ErrorKind::UnexpectedEof]);
            assert!(found.starts_with(&texts[0]), "{compression:?}");
        }
    }

    #[test]
    fn z4_z7_a_file_full_of_beginnings_is_passed_over() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let beginnings = [compression.magic(), &[0xff; 2][..]].concat().repeat(5000);
            let whole = [member(compression, b"text"), beginnings].concat();
            let mut members = Members::new(&whole[..], compression).unwrap();
            let mut all = Vec::new();
            while let Err(error) = members.read_to_end(&mut all) {
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            }
            assert_eq!(all, b"text");
            let most = BEGUN + whole.len() as u64 / BEGUN_BYTES;
            assert_eq!(members.begun, most, "{compression:?}");
        }
    }

    #[test]
    fn z7_a_file_that_cannot_be_read_is_not_damaged() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
        let whole = member(Compression::Gzip, b"text");
        let begins = Read::chain(&whole[..8], Failing);
        let mut members = Members::new(begins, Compression::Gzip).unwrap();
        let kind = loop {
            match members.read(&mut [0; 8]) {
                Ok(size) => assert!(size > 0),
                Err(error) => break error.kind(),
            }
        };
        assert_eq!(kind, io::ErrorKind::PermissionDenied);
        assert_eq!(members.read(&mut [0; 8]).unwrap(), 0);
    }
}
