//! Reads packets from a stream of bytes (rules F1, F2, F5, F6, Z1 to Z5).
//!
//! # Design
//!
//! As long as each packet ends where the next one begins, one comparison of a byte is enough, and
//! the schema is not used. If it fails, the previous packet is checked first, because its length
//! may be wrong. Then every position is tried until packets follow each other again (`resync.rs`).
//!
//! The alternative was to check every packet by the schema when it is read. This finds a packet
//! whose damaged length happens to end where another one begins, which is rare, and costs as much
//! as the rest of the reading.

use std::io::{self, Read};

use crate::wire::packet::Header;
use timebase_descriptor::field::{Fields, Malformed, varint};

use crate::carried::{doubtful, is_broken};
use crate::shape;

/// A larger packet counts as damage: Perfetto's own tools cannot read it, and it would have to be
/// in memory.
pub(crate) const LARGEST_PACKET: u64 = 256 << 20;

/// The number of bytes to read at once.
const CHUNK: usize = 256 << 10;

/// The largest size of a field's tag and length.
pub(crate) const HEAD: usize = 20;

/// The number of bytes of a packet that are checked before its rest is read.
pub(crate) const PROBE: usize = 1 << 20;

/// A packet up to this size stays in the buffer until the next one is known.
const REMEMBERED: usize = 64 << 10;

/// The number of fields that may be checked before any byte has added credit (rule Z4).
const CREDIT: u64 = 1 << 20;

/// The tag of a packet.
pub(crate) const PACKET: u8 = 0x0a;

/// A serialized `TracePacket`, and the position of its bytes in the stream.
#[derive(Debug, Clone, Copy)]
pub struct RawPacket<'a> {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Bytes of a stream without packets (rules F6, Z1).
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Region {
    /// The offset of the first byte.
    pub offset: u64,
    /// Their number.
    pub size: u64,
    /// The problem.
    pub why: Damage,
}

/// The reason why bytes of a stream contain no packets.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The stream ends inside a field (rule F6).
    #[error("the file ends inside the packet that starts at byte {offset}")]
    Cut {
        /// The start of the packet that contains the field.
        offset: u64,
        /// Whether the existing part could belong to a packet.
        plausible: bool,
    },
    /// The same, but only the compression shows it.
    #[error("the compressed data ends early, after {offset} decompressed bytes")]
    CutBetween {
        /// The size of the existing part.
        offset: u64,
    },
    /// At the place of a packet there is something else.
    #[error("byte {offset} starts no packet")]
    NoPacket {
        /// The place.
        offset: u64,
    },
    /// A packet that is not as long as it says.
    #[error("other packets begin inside the one at byte {offset}")]
    Torn {
        /// Its start.
        offset: u64,
    },
    /// The size of a packet is impossibly large.
    #[error("the packet at byte {offset} says that it has {size} bytes, more than any packet has")]
    TooLarge {
        /// Its start.
        offset: u64,
        /// The size that it claims.
        size: u64,
    },
    /// Text of a trace in JSON that holds no event (rule JS4).
    #[error("the text from byte {offset} {why}")]
    Text {
        /// The place.
        offset: u64,
        /// The problem, as the rest of a sentence.
        why: &'static str,
        /// Whether the only problem is that the text ends early.
        is_cut: bool,
    },
    /// The stream cannot be decompressed or read from here on.
    #[error("after byte {offset} the compressed data is damaged: {error}")]
    Compression {
        /// The number of bytes that could be decompressed.
        offset: u64,
        /// The decompressor's message.
        error: io::Error,
    },
}

impl Damage {
    /// Whether the only problem is that the stream ends early.
    pub fn is_cut(&self) -> bool {
        matches!(
            self,
            Damage::Cut { .. } | Damage::CutBetween { .. } | Damage::Text { is_cut: true, .. }
        )
    }
}

/// Reads one packet after the other, with little more than one packet in memory.
///
/// ```
/// use timebase_trace::PacketStream;
///
/// let mut stream = PacketStream::new(&[0x0a, 2, 0x40, 1, 0x0a][..]);
/// let packet = stream.next()?.unwrap();
/// assert_eq!((packet.offset, packet.bytes), (2, &[0x40, 1][..]));
/// let cut = stream.next().unwrap_err(); // the stream ends inside a packet
/// assert_eq!((cut.offset, cut.size), (4, 1));
/// assert!(stream.next()?.is_none());
/// # Ok::<(), timebase_trace::Region>(())
/// ```
pub struct PacketStream<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The range of the buffer that is read but not yet used.
    start: usize,
    end: usize,
    /// The offset of `start` in the stream.
    offset: u64,
    /// The packet before `start`, if it is still in the buffer: the sizes of its head and of the
    /// whole packet.
    last: Option<(usize, usize)>,
    /// The number of bytes before `start` in the last region, if it is still in the buffer.
    skipped: usize,
    /// Whether there is evidence that a packet begins at `start`: the previous packet ends there,
    /// or a search found it.
    is_found: bool,
    /// Whether the reader is at its end.
    is_at_end: bool,
    /// Whether the stream was decompressed, and its compression is cut.
    is_cut: bool,
    /// The reason why the reader had to stop; its next bytes come from another place.
    broken: Option<io::Error>,
    /// The remaining work for the search for packets (rule Z4).
    pub(crate) credit: u64,
}

/// The item at a position.
pub(crate) enum Begin {
    /// A packet, by its tag: the sizes of its head and its contents.
    Packet { head: usize, size: u64 },
    /// The bytes end inside the head.
    Cut,
    /// Anything else.
    Other,
}

/// Reads the item at the start of `bytes`.
#[inline]
pub(crate) fn begin(bytes: &[u8]) -> Begin {
    match bytes.split_first() {
        Some((&PACKET, rest)) => match varint(rest) {
            Ok(Some((size, length))) => Begin::Packet { head: 1 + length, size },
            Ok(None) => Begin::Cut,
            Err(()) => Begin::Other,
        },
        Some(_) => Begin::Other,
        None => Begin::Cut,
    }
}

impl PacketStream<io::Empty> {
    /// The packets of bytes that are completely in memory.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let mut stream = PacketStream::new(io::empty());
        stream.end = bytes.len();
        stream.buffer = bytes;
        stream.is_at_end = true;
        stream
    }

    /// The buffer of the bytes, for the next use.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

impl<R: Read> PacketStream<R> {
    /// The packets of a decompressed stream.
    pub fn new(reader: R) -> Self {
        PacketStream {
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            last: None,
            skipped: 0,
            is_found: true,
            is_at_end: false,
            is_cut: false,
            broken: None,
            credit: CREDIT,
        }
    }

    /// The next packet that is not empty; `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// A [`Region`] without packets. The stream continues after it.
    #[allow(clippy::should_implement_trait)] // it lends its buffer, and can fail
    #[inline(always)] // otherwise, each packet goes through memory
    pub fn next(&mut self) -> Result<Option<RawPacket<'_>>, Region> {
        loop {
            let there = self.fill(HEAD);
            if there == 0 {
                return match self.at_end() {
                    Some(region) => Err(region),
                    None => Ok(None),
                };
            }
            match begin(self.unused()) {
                Begin::Packet { head, size: 0 } => self.advance(head),
                Begin::Packet { head, size } => {
                    let Some(total) = whole(head, size) else {
                        let offset = self.offset;
                        return Err(self.lost(1, Damage::TooLarge { offset, size }));
                    };
                    if let Some(region) = self.doubts(head, total) {
                        return Err(region);
                    }
                    return Ok(Some(self.hand_over(head, total)));
                }
                Begin::Cut if there < HEAD => return Err(self.cut(there)),
                Begin::Cut | Begin::Other => {
                    let offset = self.offset;
                    return Err(self.lost(0, Damage::NoPacket { offset }));
                }
            }
        }
    }

    /// Returns the last packet again, although its bytes are no message or contradict the schema,
    /// if the next bytes show that it is as long as it says (rule F7).
    ///
    /// # Errors
    ///
    /// Otherwise, the [`Region`] that contains it (rule Z3).
    pub(crate) fn doubted(&mut self) -> Result<RawPacket<'_>, Region> {
        let (head, total) = self.last.take().unwrap_or_default();
        self.start = self.start.saturating_sub(total);
        self.offset = self.offset.saturating_sub(total as u64);
        if self.goes_on(total) {
            return Ok(self.hand_over(head, total));
        }
        let offset = self.offset;
        Err(match self.search_inside(head, total) {
            Some(at) => self.skip(at, Damage::Torn { offset }),
            None => self.lost(total, Damage::NoPacket { offset }),
        })
    }

    /// The region after the last packet, if it begins inside that packet: its contents are damaged,
    /// so it may not be as long as it says (rule Z3).
    pub(crate) fn inside(&mut self) -> Option<Region> {
        let (head, total) = self.last?;
        self.start = self.start.saturating_sub(total);
        self.offset = self.offset.saturating_sub(total as u64);
        let offset = self.offset;
        match self.search_inside(head, total) {
            Some(at) => Some(self.skip(at, Damage::Torn { offset })),
            None => {
                self.hand_over(head, total);
                None
            }
        }
    }

    /// The first place inside a supposed packet where other packets begin. The bytes up to `end`
    /// are in memory.
    fn search_inside(&mut self, head: usize, end: usize) -> Option<usize> {
        let sound = doubtful(self.unused().get(head..end)?)?;
        let (mut at, sound) = (head.max(1), (head + sound).max(1));
        // A decompressor continues for a while after damage. But a compressed packet may contain
        // packets literally, and these were decompressed: they end with it.
        while at < sound {
            let Some(found) = self.search(at..sound) else {
                break;
            };
            match self.goes_beyond(found, end) {
                Ok(()) => return Some(found),
                Err(place) => at = place.max(found + 1),
            }
        }
        self.search(sound..end)
    }

    /// Whether packets follow each other from one place to after another, or to the end of the
    /// stream; otherwise the place where they stop.
    fn goes_beyond(&mut self, mut at: usize, end: usize) -> Result<(), usize> {
        while at < end {
            self.fill(at.saturating_add(HEAD));
            let Some(Begin::Packet { head, size }) = self.unused().get(at..).map(begin) else {
                return Err(at);
            };
            at = at.saturating_add(whole(head, size).ok_or(at)?);
        }
        match at > end || self.fill(end.saturating_add(1)) == end {
            true => Ok(()),
            false => Err(at),
        }
    }

    /// The bytes of the last region, if they are a part of a supposed packet.
    pub(crate) fn torn(&self) -> Option<RawPacket<'_>> {
        let from = self.start.checked_sub(self.skipped)?;
        let bytes = self.buffer.get(from..self.start)?;
        let Begin::Packet { head, .. } = begin(bytes) else {
            return None;
        };
        let offset = self.offset.checked_sub(self.skipped as u64)? + head as u64;
        let bytes = bytes.get(head..)?;
        Some(RawPacket { offset, bytes })
    }

    /// The report at the end of the stream, or where its reader failed.
    #[cold]
    fn at_end(&mut self) -> Option<Region> {
        let offset = self.offset;
        if let Some(error) = self.broken.take() {
            return Some(self.lost(0, Damage::Compression { offset, error }));
        }
        std::mem::take(&mut self.is_cut).then_some(Region {
            offset,
            size: 0,
            why: Damage::CutBetween { offset },
        })
    }

    /// If the bytes of a supposed packet are none: the region that contains them.
    #[inline]
    fn doubts(&mut self, head: usize, total: usize) -> Option<Region> {
        // Contents that are no packet show that at their beginning, so a wrong length does not fill
        // the memory.
        if total > PROBE && self.unused().len() < total {
            let there = self.fill(PROBE);
            let offset = self.offset;
            if there == PROBE
                && !self.could_be(head..there)
                && let Some(at) = self.search_inside(head, PROBE)
            {
                return Some(self.skip(at, Damage::Torn { offset }));
            }
        }
        let there = self.fill(total + 1);
        if there < total {
            return Some(self.cut(there));
        }
        match self.unused().get(total) {
            None | Some(&PACKET) => None,
            Some(_) => self.unconfirmed(head, total),
        }
    }

    /// No other packet begins after this one: which of the two is damaged?
    #[cold]
    fn unconfirmed(&mut self, head: usize, total: usize) -> Option<Region> {
        let contents = head..total;
        if self.evidence(contents.clone(), true).is_some()
            && !is_broken(self.unused().get(contents)?)
        {
            return None;
        }
        let offset = self.offset;
        if let Some(at) = self.search_inside(head, total) {
            return Some(self.skip(at, Damage::Torn { offset }));
        }
        // Its contents are damaged, but a packet was due here.
        let is_message = Header::parse(self.unused().get(head..total)?).is_ok();
        if is_message && self.is_due() {
            return None;
        }
        Some(self.lost(total, Damage::NoPacket { offset }))
    }

    /// Whether a packet certainly begins here: a search found it, or the previous packet is as long
    /// as it says.
    fn is_due(&mut self) -> bool {
        if self.is_found {
            return self.offset > 0;
        }
        let Some((head, total)) = self.last else {
            return false;
        };
        let Some(begin) = self.start.checked_sub(total) else {
            return false;
        };
        let bytes = self.buffer.get(begin + head..self.start);
        let work = &mut self.credit;
        bytes.is_some_and(|bytes| shape::packet(bytes, true, work).is_some())
    }

    /// The stream ends inside a packet with this many bytes; or the packet's length is wrong.
    #[cold]
    fn cut(&mut self, there: usize) -> Region {
        let offset = self.offset;
        let head = match begin(self.unused()) {
            Begin::Packet { head, .. } => head,
            _ => there,
        };
        if let Some(at) = self.search_inside(head, there) {
            return self.skip(at, Damage::Torn { offset });
        }
        if let Some(error) = self.broken.take() {
            return self.lost(there, Damage::Compression { offset, error });
        }
        self.is_cut = false;
        let plausible =
            head < there && begins_message(self.unused().get(head..).unwrap_or_default());
        self.skip(there, Damage::Cut { offset, plausible })
    }

    /// Makes the next bytes a region.
    fn skip(&mut self, size: usize, why: Damage) -> Region {
        let offset = self.offset;
        self.advance(size);
        self.skipped = size;
        self.is_found = true;
        Region { offset, size: size as u64, why }
    }

    /// A region of these bytes and all further bytes before the next packet.
    #[cold]
    fn lost(&mut self, bytes: usize, why: Damage) -> Region {
        let Region { offset, size, why } = self.skip(bytes, why);
        let (more, broken) = self.drop_until_packet();
        self.is_found = true;
        Region {
            offset,
            size: size + more,
            why: match broken {
                Some(error) => Damage::Compression { offset, error },
                None => why,
            },
        }
    }

    fn hand_over(&mut self, head: usize, total: usize) -> RawPacket<'_> {
        let offset = self.offset + head as u64;
        let start = self.start;
        self.advance(total);
        self.last = Some((head, total));
        RawPacket {
            offset,
            bytes: self.buffer.get(start + head..start + total).unwrap_or_default(),
        }
    }

    pub(crate) fn unused(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn advance(&mut self, size: usize) {
        self.start += size;
        self.offset += size as u64;
        self.credit_for(size);
        self.last = None;
        self.skipped = 0;
        self.is_found = false;
    }

    /// Whether the stream ends with the buffer.
    pub(crate) fn ends_here(&self) -> bool {
        self.is_at_end && self.broken.is_none() && !self.is_cut
    }

    /// Continues after a place where the reader failed; returns the reason.
    pub(crate) fn mend(&mut self) -> Option<io::Error> {
        self.broken.take()
    }

    /// Reads until `wanted` bytes are in the buffer, or the stream ends or fails; returns their
    /// number. The buffer grows with the bytes that are read, not with the size that a packet
    /// claims.
    #[inline]
    pub(crate) fn fill(&mut self, wanted: usize) -> usize {
        if self.end - self.start < wanted {
            self.read(wanted);
        }
        self.end - self.start
    }

    #[cold]
    fn read(&mut self, wanted: usize) {
        if self.is_at_end || self.broken.is_some() {
            return;
        }
        // After a large move, the read is large, too. Otherwise, with a pipe that provides a little
        // at a time, moving would take longer than everything else.
        let moved = self.make_room();
        let wanted = match moved > CHUNK {
            true => wanted.max(moved + moved / 2),
            false => wanted,
        };
        while self.end - self.start < wanted && !self.is_at_end && self.broken.is_none() {
            let room = CHUNK.max(self.end);
            if self.buffer.len() < self.end + room {
                self.buffer.resize(self.end + room, 0);
            }
            let free = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(free) {
                Ok(0) => self.is_at_end = true,
                Ok(size) => self.end += size,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::UnexpectedEof => {
                        self.is_cut = true;
                        self.is_at_end = true;
                    }
                    // The reader may continue after the damage.
                    io::ErrorKind::InvalidData => self.broken = Some(error),
                    _ => {
                        self.broken = Some(error);
                        self.is_at_end = true;
                    }
                },
            }
        }
    }

    /// Moves unused bytes to the front of the buffer, together with the previous packet if that is
    /// small; returns the distance.
    fn make_room(&mut self) -> usize {
        self.skipped = 0;
        let kept = match self.last {
            Some((_, total)) if total <= REMEMBERED => total,
            _ => {
                self.last = None;
                0
            }
        };
        let from = self.start.saturating_sub(kept);
        if from == 0 {
            return 0;
        }
        self.buffer.copy_within(from..self.end, 0);
        self.start -= from;
        self.end -= from;
        self.end
    }
}

/// The size of a packet with its head; `None` if packets cannot have this size.
#[inline]
fn whole(head: usize, size: u64) -> Option<usize> {
    if size > LARGEST_PACKET {
        return None;
    }
    head.checked_add(usize::try_from(size).ok()?)
}

/// Whether these bytes could be the beginning of a protobuf message.
fn begins_message(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    loop {
        match fields.next() {
            Ok(Some(_)) => {}
            Ok(None) | Err(Malformed::Cut { .. }) => return true,
            Err(Malformed::BadTag { .. } | Malformed::Overlong { .. }) => return false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Slow;

    /// The packets of a stream, and the regions between them.
    #[derive(Debug, PartialEq, Eq)]
    enum Is {
        Packet(u64, Vec<u8>),
        Region(u64, u64, String),
    }

    fn all(mut stream: PacketStream<impl Read>) -> Vec<Is> {
        let mut found = Vec::new();
        loop {
            found.push(match stream.next() {
                Ok(Some(packet)) => Is::Packet(packet.offset, packet.bytes.to_vec()),
                Ok(None) => return found,
                Err(region) => Is::Region(region.offset, region.size, region.to_string()),
            });
        }
    }

    fn found(bytes: &[u8]) -> Vec<Is> {
        let found = all(PacketStream::new(Slow(bytes)));
        assert_eq!(found, all(PacketStream::new(bytes)));
        assert_eq!(found, all(PacketStream::of(bytes.to_vec())));
        found
    }

    /// A packet with a time, a sequence and a track event of this type.
    fn packet(time: u8, event_type: u8) -> Vec<u8> {
        let event = [0x48, event_type, 0x58, 7, 0x18, 1, 0x50, 2];
        let size = event.len() as u8;
        let contents = [&[0x40, time, 0x50, 3, 0x18, 0, 0x5a, size][..], &event].concat();
        [&[PACKET, contents.len() as u8][..], &contents].concat()
    }

    fn is(offset: usize, packet: &[u8]) -> Is {
        Is::Packet(offset as u64 + 2, packet[2..].to_vec())
    }

    fn region(offset: usize, size: usize, why: &str) -> Is {
        Is::Region(offset as u64, size as u64, why.to_owned())
    }

    #[test]
    fn f1_skips_other_fields_and_ignores_empty_packets() {
        let trace = [
            &[0x08, 0x96, 0x01][..],         // 1, a varint: no packet
            &[0x12, 2, 0, 0],                // 2, bytes
            &[0x19, 0, 0, 0, 0, 0, 0, 0, 0], // 3, fixed64
            &[0x25, 0, 0, 0, 0],             // 4, fixed32
            &packet(1, 1),
            &[PACKET, 0], // an empty packet
            &packet(2, 2),
        ]
        .concat();
        let expected = [
            region(0, 21, "byte 0 starts no packet"),
            is(21, &packet(1, 1)),
            is(41, &packet(2, 2)),
        ];
        assert_eq!(found(&trace), expected);
    }

    #[test]
    fn f6_every_cut_gives_the_packets_before_it() {
        let (first, second) = (packet(1, 1), packet(2, 2));
        let trace = [&first[..], &second].concat();
        for cut in 0..=trace.len() {
            let mut expected = Vec::new();
            for (begin, packet) in [(0, &first), (first.len(), &second)] {
                if cut >= begin + packet.len() {
                    expected.push(is(begin, packet));
                } else if cut > begin {
                    let why =
                        format!("the file ends inside the packet that starts at byte {begin}");
                    expected.push(region(begin, cut - begin, &why));
                }
            }
            assert_eq!(found(&trace[..cut]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn z1_packets_are_found_behind_bytes_that_are_none() {
        let packets: Vec<_> = (1..5).map(|n| packet(n, n)).collect();
        let size = packets[0].len();
        let junk = [0x0b, 0xff, 0x0a, 0x03, 0x0a];
        let trace = [&packets[0][..], &packets[1], &junk, &packets[2], &packets[3]].concat();
        let expected = [
            is(0, &packets[0]),
            is(size, &packets[1]),
            region(2 * size, 5, "byte 36 starts no packet"),
            is(2 * size + 5, &packets[2]),
            is(3 * size + 5, &packets[3]),
        ];
        assert_eq!(found(&trace), expected);
    }

    #[test]
    fn z1_a_trace_may_begin_anywhere() {
        let packets: Vec<_> = (1..5).map(|n| packet(n, n)).collect();
        let (size, trace) = (packets[0].len(), packets.concat());
        for begin in 1..size {
            let found = found(&trace[begin..]);
            let region = size - begin;
            assert!(
                matches!(found[0], Is::Region(0, size, _) if size == region as u64),
                "{begin}: {found:?}"
            );
            assert_eq!(found[1], is(region, &packets[1]), "{begin}");
            assert_eq!(found.len(), 4, "{begin}");
        }
    }

    #[test]
    fn z3_a_packet_that_is_too_long_is_looked_into() {
        let packets: Vec<_> = (1..5).map(|n| packet(n, n)).collect();
        let size = packets[0].len();
        // A packet that ends where another one does hides those in between.
        let hides = |length: &u8| *length > 16 && (usize::from(*length) + 2) % size == 0;
        for length in (0..0x80).filter(|length| !hides(length)) {
            let mut trace = packets.concat();
            let right = std::mem::replace(&mut trace[size + 1], length);
            let found = found(&trace);
            assert_eq!(found[0], is(0, &packets[0]), "{length}");
            assert!(found.contains(&is(2 * size, &packets[2])), "{length}: {found:?}");
            assert!(found.contains(&is(3 * size, &packets[3])), "{length}: {found:?}");
            let regions = found.iter().filter(|is| matches!(is, Is::Region(..)));
            assert_eq!(regions.count(), usize::from(length != right), "{length}: {found:?}");
        }
    }

    #[test]
    fn z5_noise_has_no_packets() {
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        let noise: Vec<u8> = noise.take(1 << 20).collect();
        let found = all(PacketStream::new(&noise[..]));
        assert!(matches!(found[..], [Is::Region(0, size, _)] if size == 1 << 20));
    }

    #[test]
    fn z4_bytes_that_are_made_to_look_like_packets_are_passed_by() {
        let size = 1 << 20;
        let patterns: [&[u8]; 6] = [
            &[PACKET],
            &[PACKET, 2, PACKET, 0],
            // Packets that are larger than all of the bytes.
            &[PACKET, 0xff, 0xff, 0xff, 0x7f, 0xc2, 0x3e],
            // Messages that are no packets.
            &[PACKET, 2, 0x08, 6],
            // Damaged compressed packets.
            &[PACKET, 6, 0x92, 3, 3, 0x78, 0x9c, 0xff],
            // Bytes that have the shape of a packet, except for a field at their end.
            &[PACKET, 0x84, 0x80, 0x01, 0x40, 1, 0x50, 2],
        ];
        for pattern in patterns {
            let bytes: Vec<u8> = pattern.iter().copied().cycle().take(size).collect();
            let mut stream = PacketStream::new(Slow(&bytes));
            let mut offset = 0;
            loop {
                match stream.next() {
                    Ok(Some(packet)) => offset = packet.offset + packet.bytes.len() as u64,
                    Ok(None) => break,
                    Err(region) => offset = region.offset + region.size,
                }
            }
            assert_eq!(offset, size as u64, "{pattern:?}");
        }
    }

    #[test]
    fn a_size_beyond_all_packets_is_told() {
        let trace = [&[PACKET, 0xff, 0xff, 0xff, 0xff, 0x7f][..], &[0; 20]].concat();
        let why =
            "the packet at byte 0 says that it has 34359738367 bytes, more than any packet has";
        assert_eq!(found(&trace), [region(0, trace.len(), why)]);
    }
}
