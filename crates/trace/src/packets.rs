//! The packets of a trace, and those inside of its compressed packets
//! (rule F3).

use std::fmt;
use std::io::{self, Read};
use std::ops::ControlFlow;

use flate2::read::ZlibDecoder;
use timebase_wire::field::Malformed;
use timebase_wire::packet::{Header, PacketType};

use crate::stream::{Damage, PacketStream, RawPacket};

/// A packet whose header was read. `header` borrows from `bytes`.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Where its bytes are in the decompressed stream; those of its carrier, for
    /// a packet out of a compressed packet.
    pub offset: u64,
    /// A serialized `TracePacket`.
    pub bytes: &'a [u8],
    /// What placing it needs, and its payload.
    pub header: Header<'a>,
}

/// Why a packet cannot be read (rule F7).
#[derive(Debug)]
pub enum Unreadable {
    /// Its bytes are no protobuf message.
    Malformed(Malformed),
    /// What it holds cannot be decompressed to the end. The packets before that
    /// came already.
    Compression(Damage),
    /// What it holds cannot be decompressed at all.
    Decompressor(io::Error),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inside = "the compressed packets inside are damaged";
        match self {
            Unreadable::Malformed(error) => error.fmt(f),
            Unreadable::Compression(damage) => write!(f, "{inside}: {damage}"),
            Unreadable::Decompressor(error) => write!(f, "{inside}: {error}"),
        }
    }
}

/// What a trace has next.
#[derive(Debug)]
pub enum Found<'a> {
    /// A packet.
    Packet(&'a Packet<'a>),
    /// Bytes that should be a packet, or compressed ones, and why they are not.
    Unreadable(RawPacket<'a>, Unreadable),
    /// A compressed packet inside of the one at this offset, which is not allowed
    /// and skipped.
    Nested {
        /// Where the outer one's bytes are.
        offset: u64,
    },
}

/// How a trace ended.
#[derive(Debug)]
pub enum End {
    /// Between two packets.
    Complete,
    /// Cut or damaged here; what came before was handed over.
    Damaged(Damage),
    /// The one who takes the packets wants no more.
    Stopped,
}

/// What was counted on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of the decompressed stream, up to the end of its last packet.
    pub bytes: u64,
    /// Compressed packets.
    pub compressed: u64,
    /// Those of them that are damaged.
    pub compressed_damaged: u64,
    /// Compressed packets inside of compressed packets.
    pub nested: u64,
}

/// The packets of a trace, each read once. The crate has an example.
pub struct Packets<R> {
    stream: PacketStream<R>,
    counts: Counts,
}

impl<R: Read> Packets<R> {
    /// The packets of a decompressed stream.
    pub fn new(reader: R) -> Self {
        Packets {
            stream: PacketStream::new(reader),
            counts: Counts::default(),
        }
    }

    /// What was counted until now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Calls `each` with one packet after the other, until it breaks or the
    /// stream ends.
    pub fn for_each(&mut self, mut each: impl FnMut(Found<'_>) -> ControlFlow<()>) -> End {
        let Packets { stream, counts } = self;
        loop {
            match stream.next() {
                Ok(Some(raw)) => {
                    counts.bytes = raw.offset + raw.bytes.len() as u64;
                    if expand(raw, None, counts, &mut each).is_break() {
                        return End::Stopped;
                    }
                }
                Ok(None) => return End::Complete,
                Err(damage) => return End::Damaged(damage),
            }
        }
    }
}

/// Hands over a packet of the stream, or of the compressed packet at `carrier`;
/// in the place of a compressed packet those that it holds.
#[inline]
fn expand(
    raw: RawPacket<'_>,
    carrier: Option<u64>,
    counts: &mut Counts,
    each: &mut impl FnMut(Found<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let RawPacket { offset, bytes } = raw;
    let offset = carrier.unwrap_or(offset);
    let header = match Header::parse(bytes) {
        Ok(header) => header,
        Err(error) => {
            let raw = RawPacket { offset, bytes };
            return each(Found::Unreadable(raw, Unreadable::Malformed(error)));
        }
    };
    match header.payload {
        Some((
            kind @ (PacketType::COMPRESSED_PACKETS | PacketType::ZSTD_COMPRESSED_PACKETS),
            inside,
        )) => {
            if carrier.is_some() {
                counts.nested += 1;
                return each(Found::Nested { offset });
            }
            counts.compressed += 1;
            let why = match inflate(kind, inside) {
                Ok(inflated) => inner(inflated, offset, counts, each)?,
                Err(error) => Some(Unreadable::Decompressor(error)),
            };
            match why {
                Some(why) => {
                    counts.compressed_damaged += 1;
                    each(Found::Unreadable(raw, why))
                }
                None => ControlFlow::Continue(()),
            }
        }
        _ => each(Found::Packet(&Packet {
            offset,
            bytes,
            header,
        })),
    }
}

/// The packets inside of the compressed packet at `carrier`; breaks if they
/// shall stop, else tells whether they could be read to their end.
fn inner(
    inflated: impl Read,
    carrier: u64,
    counts: &mut Counts,
    each: &mut impl FnMut(Found<'_>) -> ControlFlow<()>,
) -> ControlFlow<(), Option<Unreadable>> {
    let mut stream = PacketStream::new(inflated);
    loop {
        match stream.next() {
            Ok(Some(raw)) => expand(raw, Some(carrier), counts, each)?,
            Ok(None) => return ControlFlow::Continue(None),
            Err(damage) => return ControlFlow::Continue(Some(Unreadable::Compression(damage))),
        }
    }
}

fn inflate(kind: PacketType, bytes: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    Ok(match kind {
        PacketType::COMPRESSED_PACKETS => Box::new(ZlibDecoder::new(bytes)),
        _ => Box::new(zstd::stream::read::Decoder::with_buffer(bytes)?),
    })
}
