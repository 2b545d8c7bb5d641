//! The packets of a trace, and those inside of its compressed packets
//! (rules F3, Z6).
//!
//! # Design
//!
//! What a compressed packet holds is decompressed before the first packet of it is handed over,
//! up to a size that recorders stay far below: decompressors go on for a while behind damage and
//! make up bytes, and only the sum at the end says so. To hand packets over as they are
//! decompressed was the alternative. It needs less memory, a buffer of up to 16 MiB, and had rows
//! of packets that nobody wrote.

use std::fmt;
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;

use crate::wire::packet::{Header, PacketType};
use timebase_descriptor::field::Malformed;

use crate::carried::{Carried, LARGEST_CHECKED, inflate, is_compressed};
use crate::shape;
use crate::stream::{PacketStream, RawPacket, Region};

/// How much room for it is kept from one to the next.
const KEPT_ROOM: usize = 4 << 20;

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
    /// What it holds cannot be decompressed to the end. What came before the damage was handed
    /// over already.
    Compression(io::Error),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Malformed(error) => error.fmt(f),
            Unreadable::Compression(error) => {
                write!(f, "the compressed packets inside are damaged: {error}")
            }
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
    /// Bytes that no packets were found in; of the stream, or of what the compressed packet
    /// at `carrier` holds.
    Region {
        /// Which, and why.
        region: &'a Region,
        /// The offset of the compressed packet's bytes.
        carrier: Option<u64>,
    },
    /// A compressed packet inside of the one at this offset, which is not allowed
    /// and skipped.
    Nested {
        /// Where the outer one's bytes are.
        offset: u64,
    },
}

impl Found<'_> {
    /// How many bytes it has.
    pub fn size(&self) -> usize {
        match self {
            Found::Packet(packet) => packet.bytes.len(),
            Found::Unreadable(raw, _) => raw.bytes.len(),
            Found::Region { .. } | Found::Nested { .. } => 0,
        }
    }
}

/// What the one who takes the packets says of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// It could be read, or nobody tried.
    Sound,
    /// It could not be read. So the packet may not be as long as it says (rule Z3).
    Corrupt,
}

/// How going through a trace ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// There is no more.
    Complete,
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

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        let more = u64::saturating_add;
        *self = Counts {
            bytes: more(self.bytes, other.bytes),
            compressed: more(self.compressed, other.compressed),
            compressed_damaged: more(self.compressed_damaged, other.compressed_damaged),
            nested: more(self.nested, other.nested),
        };
    }
}

/// The packets of a trace, each read once. The crate has an example.
pub struct Packets<R> {
    stream: PacketStream<R>,
    counts: Counts,
    /// Room for what a compressed packet holds.
    room: Vec<u8>,
}

impl<R: Read> Packets<R> {
    /// The packets of a decompressed stream.
    pub fn new(reader: R) -> Self {
        Packets {
            stream: PacketStream::new(reader),
            counts: Counts::default(),
            room: Vec::new(),
        }
    }

    /// What was counted until now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Calls `each` with one packet after the other, until it breaks or the
    /// stream ends. What it says of anything but a packet does not matter.
    pub fn for_each(&mut self, each: impl FnMut(Found<'_>) -> ControlFlow<(), Payload>) -> End {
        let mut hand = Hand {
            each,
            counts: &mut self.counts,
            room: &mut self.room,
        };
        match hand.stream(&mut self.stream, None) {
            ControlFlow::Continue(()) => End::Complete,
            ControlFlow::Break(()) => End::Stopped,
        }
    }
}

/// Hands over what is found.
struct Hand<'a, F> {
    each: F,
    counts: &'a mut Counts,
    room: &'a mut Vec<u8>,
}

impl<F: FnMut(Found<'_>) -> ControlFlow<(), Payload>> Hand<'_, F> {
    /// The packets of a stream, which is the trace's or what the compressed packet at `carrier`
    /// holds.
    fn stream<R: Read>(
        &mut self,
        stream: &mut PacketStream<R>,
        carrier: Option<u64>,
    ) -> ControlFlow<()> {
        loop {
            let raw = match stream.next() {
                Ok(Some(raw)) => raw,
                Ok(None) => return ControlFlow::Continue(()),
                Err(region) => {
                    if carrier.is_none()
                        && let Some(torn) = stream.torn()
                    {
                        self.torn(torn)?;
                    }
                    self.region(&region, carrier)?;
                    continue;
                }
            };
            if carrier.is_none() {
                self.counts.bytes = raw.offset + raw.bytes.len() as u64;
            }
            let region = match Header::parse(raw.bytes) {
                Ok(header) if !header.is_odd => match self.packet(raw, header, carrier)? {
                    Payload::Sound => None,
                    Payload::Corrupt => stream.inside(),
                },
                _ => match stream.doubted() {
                    Ok(raw) => {
                        self.odd(raw, carrier)?;
                        None
                    }
                    Err(region) => Some(region),
                },
            };
            if let Some(region) = region {
                self.region(&region, carrier)?;
            }
        }
    }

    fn region(&mut self, region: &Region, carrier: Option<u64>) -> ControlFlow<()> {
        (self.each)(Found::Region { region, carrier })?;
        ControlFlow::Continue(())
    }

    /// A packet that is as long as it says, although its bytes are no message or contradict the
    /// schema.
    #[cold]
    fn odd(&mut self, raw: RawPacket<'_>, carrier: Option<u64>) -> ControlFlow<()> {
        match Header::parse(raw.bytes) {
            Ok(header) => self.packet(raw, header, carrier)?,
            Err(error) => {
                let offset = carrier.unwrap_or(raw.offset);
                let raw = RawPacket { offset, ..raw };
                (self.each)(Found::Unreadable(raw, Unreadable::Malformed(error)))?
            }
        };
        ControlFlow::Continue(())
    }

    /// What the beginning of a compressed packet holds.
    fn torn(&mut self, RawPacket { offset, bytes }: RawPacket<'_>) -> ControlFlow<()> {
        if let Some(carried) = Carried::of(bytes) {
            let mut room = std::mem::take(self.room);
            carried.inflate_all(&mut room);
            *self.room = self.before_damage(room, offset)?;
        }
        ControlFlow::Continue(())
    }

    /// A packet, or those that it holds in its place.
    #[inline]
    fn packet(
        &mut self,
        raw: RawPacket<'_>,
        header: Header<'_>,
        carrier: Option<u64>,
    ) -> ControlFlow<(), Payload> {
        let RawPacket { offset, bytes } = raw;
        let offset = carrier.unwrap_or(offset);
        match header.payload {
            Some((kind, inside)) if is_compressed(kind) => match carrier {
                None => self.compressed(raw, kind, inside),
                Some(_) => {
                    self.counts.nested += 1;
                    (self.each)(Found::Nested { offset })
                }
            },
            _ => (self.each)(Found::Packet(&Packet {
                offset,
                bytes,
                header,
            })),
        }
    }

    /// What a compressed packet holds.
    fn compressed(
        &mut self,
        raw: RawPacket<'_>,
        kind: PacketType,
        inside: &[u8],
    ) -> ControlFlow<(), Payload> {
        self.counts.compressed += 1;
        let mut inflated = match inflate(kind, inside) {
            Ok(inflated) => inflated,
            Err(error) => return self.damaged(raw, error),
        };
        let mut room = std::mem::take(self.room);
        room.clear();
        let mut payload = Payload::Sound;
        match (&mut inflated).take(LARGEST_CHECKED).read_to_end(&mut room) {
            Ok(size) if (size as u64) < LARGEST_CHECKED => {
                let mut stream = PacketStream::of(room);
                self.stream(&mut stream, Some(raw.offset))?;
                room = stream.into_buffer();
            }
            Ok(_) => {
                let mut stream = PacketStream::new(Cursor::new(&room).chain(inflated));
                self.stream(&mut stream, Some(raw.offset))?;
            }
            Err(error) => {
                Carried { kind, inside }.inflate_all(&mut room);
                room = self.before_damage(room, raw.offset)?;
                payload = self.damaged(raw, error)?;
            }
        }
        if room.capacity() <= KEPT_ROOM {
            *self.room = room;
        }
        ControlFlow::Continue(payload)
    }

    /// A compressed packet that cannot be decompressed to its end is itself a row.
    fn damaged(&mut self, raw: RawPacket<'_>, error: io::Error) -> ControlFlow<(), Payload> {
        self.counts.compressed_damaged += 1;
        (self.each)(Found::Unreadable(raw, Unreadable::Compression(error)))?;
        ControlFlow::Continue(Payload::Corrupt)
    }

    /// The packets before the first that has not the shape of one: where the damage begins,
    /// nobody knows.
    fn before_damage(&mut self, inflated: Vec<u8>, carrier: u64) -> ControlFlow<(), Vec<u8>> {
        let mut stream = PacketStream::of(inflated);
        loop {
            let mut work = stream.credit;
            let Ok(Some(raw)) = stream.next() else {
                break;
            };
            let evidence = shape::packet(raw.bytes, true, &mut work);
            let Some(header) = evidence.and_then(|_| Header::parse(raw.bytes).ok()) else {
                break;
            };
            self.packet(raw, header, Some(carrier))?;
            stream.credit = work;
        }
        ControlFlow::Continue(stream.into_buffer())
    }
}
