//! Streams of packets.

use std::io::{self, Read};
use std::ops::ControlFlow;

use timebase_trace::{Found, PacketStream, Packets, Payload};

/// Finds the packets of a stream with these bytes, and those inside compressed packets.
///
/// Each packet and each damaged region is at the position that it claims, after the previous one,
/// without a gap; and the sizes of reads change nothing.
///
/// ```
/// timebase_lab::fuzz::stream(&[0x0a, 2, 0x58, 1, 0x0a]);
/// ```
pub fn stream(bytes: &[u8]) {
    assert_eq!(packets(bytes, bytes), packets(bytes, Pieces::of(bytes)));
    for is_corrupt in [false, true] {
        let whole = opened(bytes, bytes, is_corrupt);
        assert_eq!(whole, opened(bytes, Pieces::of(bytes), is_corrupt));
    }
}

/// Returns a few bytes at a time; the bytes themselves determine how many.
pub(super) struct Pieces<'a> {
    rest: &'a [u8],
    state: u32,
}

impl<'a> Pieces<'a> {
    pub fn of(bytes: &'a [u8]) -> Pieces<'a> {
        let state = bytes
            .iter()
            .take(64)
            .fold(1, |state: u32, &byte| state.wrapping_mul(31).wrapping_add(byte.into()));
        Pieces { rest: bytes, state }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = match self.state >> 30 {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            1 => 1,
            _ => (self.state >> 20) as usize % 97 + 1,
        };
        let size = size.min(self.rest.len()).min(buf.len());
        let (now, rest) = self.rest.split_at(size);
        buf[..size].copy_from_slice(now);
        self.rest = rest;
        Ok(size)
    }
}

/// A line for each packet and each region.
fn packets(bytes: &[u8], reader: impl Read) -> Vec<String> {
    let mut stream = PacketStream::new(reader);
    let mut lines = Vec::new();
    let mut end = 0;
    loop {
        let (start, size, line) = match stream.next() {
            Ok(Some(packet)) => {
                let start = usize::try_from(packet.offset).unwrap();
                let size = packet.bytes.len();
                assert!(start >= end && size > 0);
                assert_eq!(bytes.get(start..start + size), Some(packet.bytes));
                only_empty(&bytes[end..start], size);
                (start, size, String::new())
            }
            Ok(None) => {
                only_empty(&bytes[end..], 0);
                return lines;
            }
            Err(region) => {
                let start = usize::try_from(region.offset).unwrap();
                let size = usize::try_from(region.size).unwrap();
                assert!(start >= end && start + size <= bytes.len(), "{region:?}");
                only_empty(&bytes[end..start], 0);
                (start, size, region.to_string())
            }
        };
        end = start + size;
        lines.push(format!("{start} to {end}: {line}"));
    }
}

/// Bytes outside of packets and regions are a packet without contents, or the tag and size of the
/// next packet.
fn only_empty(mut gap: &[u8], packet: usize) {
    let mut size = None;
    while let Some((tag, rest)) = gap.split_first() {
        assert_eq!((*tag, size.unwrap_or(0)), (0x0a, 0));
        gap = rest;
        size = Some(prost::encoding::decode_varint(&mut gap).unwrap() as usize);
    }
    assert_eq!(size.unwrap_or(0), packet);
}

/// The items with compressed packets opened, a line each. In that case, some packets are reported
/// as corrupt, so that packets are searched inside them.
fn opened(bytes: &[u8], reader: impl Read, is_corrupt: bool) -> Vec<String> {
    let end = bytes.len() as u64;
    let mut packets = Packets::new(reader);
    let mut lines = Vec::new();
    let mut before = 0;
    let how = packets.for_each(|found| {
        // A region is reported at its end.
        let (at, line) = match &found {
            Found::Packet(packet) => {
                let kind = packet.header.packet_type();
                (packet.offset, format!("{} bytes of {kind:?}", packet.bytes.len()))
            }
            Found::Unreadable(raw, why) => {
                (raw.offset, format!("{} bytes: {why}", raw.bytes.len()))
            }
            Found::Nested { offset } => (*offset, "nested".to_owned()),
            Found::Region { region, carrier } => {
                let at = carrier.unwrap_or(region.offset + region.size);
                (at, format!("{} to {}: {region}", region.offset, region.size))
            }
        };
        assert!(at >= before && at <= end, "{at} after {before}, of {end}: {line}");
        before = at;
        lines.push(format!("{at}: {line}"));
        let is_hit = lines.len() % 3 == 0;
        ControlFlow::Continue(match found {
            Found::Packet(_) if is_corrupt && is_hit => Payload::Corrupt,
            _ => Payload::Sound,
        })
    });
    lines.push(format!("{how:?} {:?}", packets.counts()));
    lines
}
