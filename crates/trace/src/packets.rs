//! The packets of a trace, and those inside its compressed packets (rules F3, Z6).
//!
//! # Design
//!
//! The contents of a compressed packet are decompressed before its first packet is handed over, up
//! to a size far above that of recorders. Decompressors continue for a while after damage and make
//! up bytes, and only the checksum at the end shows this. The alternative was to hand packets over
//! as they are decompressed. It needs less memory (now a buffer of up to 16 MiB), but made rows
//! from packets that nobody wrote.

use std::fmt;
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;

use crate::wire::packet::{Header, PacketType};
use timebase_descriptor::field::Malformed;

use crate::carried::{Carried, LARGEST_CHECKED, inflate, is_compressed};
use crate::shape;
use crate::stream::{PacketStream, RawPacket, Region};

/// The size of the buffer that is kept from one compressed packet to the next.
const KEPT_ROOM: usize = 4 << 20;

/// A packet with its parsed header, which borrows from `bytes`.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// The place of its bytes in the decompressed stream; for a packet inside a compressed packet,
    /// the place of that one.
    pub offset: u64,
    /// A serialized `TracePacket`.
    pub bytes: &'a [u8],
    /// The data for placing it in time, and its payload.
    pub header: &'a Header<'a>,
}

/// The reason why a packet cannot be read (rule F7).
#[derive(Debug)]
pub enum Unreadable {
    /// Its bytes are no protobuf message.
    Malformed(Malformed),
    /// Its contents cannot be decompressed to the end. The packets before the damage were already
    /// handed over.
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

/// The next item of a trace.
#[derive(Debug)]
pub enum Found<'a> {
    /// A packet.
    Packet(&'a Packet<'a>),
    /// Bytes that should be a packet or compressed packets, and the reason why they are not.
    Unreadable(RawPacket<'a>, Unreadable),
    /// Bytes without packets, in the stream or in the compressed packet at `carrier`.
    Region {
        /// The bytes, and the reason.
        region: &'a Region,
        /// The offset of the compressed packet's bytes.
        carrier: Option<u64>,
    },
    /// A compressed packet inside the compressed packet at this offset. This is not allowed, and
    /// skipped.
    Nested {
        /// The place of the outer packet.
        offset: u64,
    },
}

impl Found<'_> {
    /// Its size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Found::Packet(packet) => packet.bytes.len(),
            Found::Unreadable(raw, _) => raw.bytes.len(),
            Found::Region { .. } | Found::Nested { .. } => 0,
        }
    }
}

/// The receiver's verdict on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The packet is readable, or the receiver did not try.
    Sound,
    /// The packet is unreadable, so it may not be as long as it says (rule Z3).
    Corrupt,
}

/// The way in which a walk through a trace ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// There is no more.
    Complete,
    /// The receiver wants no more packets.
    Stopped,
}

/// The counts of the walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of the decompressed stream, up to the end of its last packet.
    pub bytes: u64,
    /// Compressed packets.
    pub compressed: u64,
    /// Damaged compressed packets.
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
    /// The buffer for the contents of a compressed packet.
    room: Vec<u8>,
}

impl<R: Read> Packets<R> {
    /// The packets of a decompressed stream.
    pub fn new(reader: R) -> Self {
        Packets { stream: PacketStream::new(reader), counts: Counts::default(), room: Vec::new() }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Calls `each` with one packet after the other, until it stops or the stream ends. Its verdict
    /// only matters for packets.
    pub fn for_each(&mut self, each: impl FnMut(Found<'_>) -> ControlFlow<(), Payload>) -> End {
        let mut hand = Hand { each, counts: &mut self.counts, room: &mut self.room };
        match hand.stream(&mut self.stream, None) {
            ControlFlow::Continue(()) => End::Complete,
            ControlFlow::Break(()) => End::Stopped,
        }
    }
}

/// Hands items over.
struct Hand<'a, F> {
    each: F,
    counts: &'a mut Counts,
    room: &'a mut Vec<u8>,
}

impl<F: FnMut(Found<'_>) -> ControlFlow<(), Payload>> Hand<'_, F> {
    /// The packets of a stream, which is the trace or the contents of the compressed packet at
    /// `carrier`.
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
            let region = match &Header::parse(raw.bytes) {
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
            Ok(header) => self.packet(raw, &header, carrier)?,
            Err(error) => {
                let offset = carrier.unwrap_or(raw.offset);
                let raw = RawPacket { offset, ..raw };
                (self.each)(Found::Unreadable(raw, Unreadable::Malformed(error)))?
            }
        };
        ControlFlow::Continue(())
    }

    /// The contents of the beginning of a compressed packet.
    fn torn(&mut self, RawPacket { offset, bytes }: RawPacket<'_>) -> ControlFlow<()> {
        if let Some(carried) = Carried::of(bytes) {
            let mut room = std::mem::take(self.room);
            carried.inflate_all(&mut room);
            *self.room = self.before_damage(room, offset)?;
        }
        ControlFlow::Continue(())
    }

    /// A packet, or the packets that it carries.
    #[inline]
    fn packet(
        &mut self,
        raw: RawPacket<'_>,
        header: &Header<'_>,
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
            _ => (self.each)(Found::Packet(&Packet { offset, bytes, header })),
        }
    }

    /// The contents of a compressed packet.
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

    /// The packets before the first one without the shape of a packet, because the start of the
    /// damage is unknown.
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
            self.packet(raw, &header, Some(carrier))?;
            stream.credit = work;
        }
        ControlFlow::Continue(stream.into_buffer())
    }
}
