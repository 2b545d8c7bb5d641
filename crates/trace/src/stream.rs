//! Packets out of a stream of bytes (rules F1, F2, F5, F6).

use std::io::{self, Read};

use timebase_wire::field::{Fields, Malformed, WireType, split_tag, varint};

/// A packet larger than this is taken for damage: Perfetto's own tools cannot
/// read it, and it would have to be held in memory.
const LARGEST_PACKET: u64 = 256 << 20;

/// How much is read at a time.
const CHUNK: usize = 256 << 10;

/// A serialized `TracePacket` and where its bytes start in the stream.
#[derive(Debug, Clone, Copy)]
pub struct RawPacket<'a> {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Why a stream has no next packet.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The stream ends inside a field (rule F6).
    #[error("the file ends inside the packet that starts at byte {offset}")]
    Cut {
        /// Where the field's packet starts.
        offset: u64,
        /// Whether what is there of the packet could be one.
        plausible: bool,
    },
    /// The same, where only the compression shows it.
    #[error("the compressed data ends early, at byte {offset} of what it holds")]
    CutBetween {
        /// How much of it there was.
        offset: u64,
    },
    /// There is something else where a packet should begin.
    #[error("byte {offset} starts no packet")]
    NoPacket {
        /// Where.
        offset: u64,
    },
    /// The size of a packet is beyond all reason.
    #[error("the packet at byte {offset} says that it has {size} bytes, more than any packet has")]
    TooLarge {
        /// Where it starts.
        offset: u64,
        /// What it says.
        size: u64,
    },
    /// The stream cannot be decompressed any further, or read.
    #[error("after byte {offset} the compressed data is damaged: {error}")]
    Compression {
        /// How much could be decompressed.
        offset: u64,
        /// What the decompressor says.
        error: io::Error,
    },
}

/// Reads one packet after the other, holding no more than one in memory.
///
/// ```
/// use timebase_trace::PacketStream;
///
/// let mut stream = PacketStream::new(&[0x0a, 2, 0x58, 1, 0x0a][..]);
/// let packet = stream.next()?.unwrap();
/// assert_eq!((packet.offset, packet.bytes), (2, &[0x58, 1][..]));
/// assert!(stream.next().is_err()); // the stream ends inside a packet
/// # Ok::<(), timebase_trace::Damage>(())
/// ```
pub struct PacketStream<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What of the buffer is read and not yet used.
    start: usize,
    end: usize,
    /// The offset of `start` in the stream.
    offset: u64,
    /// Whether the stream was decompressed, and its compression is cut.
    cut: bool,
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
            cut: false,
        }
    }

    /// The next packet that is not empty; `None` where the stream ends between
    /// two fields.
    ///
    /// # Errors
    ///
    /// [`Damage`] where the stream ends or goes on otherwise than a trace does.
    #[allow(clippy::should_implement_trait)] // it lends what it has, and can fail
    pub fn next(&mut self) -> Result<Option<RawPacket<'_>>, Damage> {
        loop {
            let field = self.offset;
            if self.fill(1)? == 0 {
                return match self.cut {
                    true => Err(Damage::CutBetween { offset: field }),
                    false => Ok(None),
                };
            }
            let tag = self.varint(field)?;
            let (number, wire_type) = split_tag(tag).ok_or(Damage::NoPacket { offset: field })?;
            match wire_type {
                WireType::Varint => {
                    self.varint(field)?;
                }
                WireType::Fixed64 => self.skip(8, field)?,
                WireType::Fixed32 => self.skip(4, field)?,
                WireType::Bytes => {
                    let size = self.varint(field)?;
                    if number != 1 {
                        self.skip(size, field)?;
                    } else if size > LARGEST_PACKET {
                        return Err(Damage::TooLarge {
                            offset: field,
                            size,
                        });
                    } else if size > 0 {
                        return self.packet(size as usize, field).map(Some);
                    }
                }
            }
        }
    }

    fn packet(&mut self, size: usize, field: u64) -> Result<RawPacket<'_>, Damage> {
        if self.fill(size)? < size {
            let plausible = begins_message(self.unused());
            return Err(Damage::Cut {
                offset: field,
                plausible,
            });
        }
        let offset = self.offset;
        let start = self.start;
        self.advance(size);
        Ok(RawPacket {
            offset,
            bytes: self.buffer.get(start..start + size).unwrap_or_default(),
        })
    }

    fn unused(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn advance(&mut self, size: usize) {
        self.start += size;
        self.offset += size as u64;
    }

    /// Reads until `wanted` bytes are there or the stream ends; tells how many
    /// there are. The buffer grows with what is really read, not with what a
    /// packet says of its size.
    fn fill(&mut self, wanted: usize) -> Result<usize, Damage> {
        while self.end - self.start < wanted {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            let room = CHUNK.max(self.end);
            if self.buffer.len() < self.end + room {
                self.buffer.resize(self.end + room, 0);
            }
            let free = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(free) {
                Ok(0) => break,
                Ok(size) => self.end += size,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.cut = true;
                    break;
                }
                Err(error) => {
                    let offset = self.offset;
                    return Err(Damage::Compression { offset, error });
                }
            }
        }
        Ok(self.end - self.start)
    }

    fn varint(&mut self, field: u64) -> Result<u64, Damage> {
        let mut wanted = 1;
        loop {
            let there = self.fill(wanted)?;
            match varint(self.unused()) {
                Ok(Some((value, size))) => {
                    self.advance(size);
                    return Ok(value);
                }
                Ok(None) if there < wanted => {
                    return Err(Damage::Cut {
                        offset: field,
                        plausible: false,
                    });
                }
                Ok(None) => wanted = there + 1,
                Err(()) => return Err(Damage::NoPacket { offset: field }),
            }
        }
    }

    fn skip(&mut self, mut size: u64, field: u64) -> Result<(), Damage> {
        while size > 0 {
            let there = self.fill(1)?;
            if there == 0 {
                return Err(Damage::Cut {
                    offset: field,
                    plausible: false,
                });
            }
            let step = usize::try_from(size).unwrap_or(there).min(there);
            self.advance(step);
            size -= step as u64;
        }
        Ok(())
    }
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

    /// Gives one byte a read.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let size = buf.len().min(1);
            (&mut self.0).take(1).read(&mut buf[..size])
        }
    }

    fn packets(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, Option<String>) {
        let mut stream = PacketStream::new(Slow(bytes));
        let mut packets = Vec::new();
        loop {
            match stream.next() {
                Ok(Some(packet)) => packets.push((packet.offset, packet.bytes.to_vec())),
                Ok(None) => return (packets, None),
                Err(error) => return (packets, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn f1_skips_other_fields_and_ignores_empty_packets() {
        let trace = [
            &[0x08, 0x96, 0x01][..],         // 1, a varint: no packet
            &[0x12, 2, 0, 0],                // 2, bytes
            &[0x19, 0, 0, 0, 0, 0, 0, 0, 0], // 3, fixed64
            &[0x0a, 0],                      // an empty packet
            &[0x25, 0, 0, 0, 0],             // 4, fixed32
            &[0x0a, 2, 0x58, 0x01],
        ]
        .concat();
        assert_eq!(packets(&trace), (vec![(25, vec![0x58, 0x01])], None));
    }

    #[test]
    fn f6_every_cut_gives_the_packets_before_it() {
        let trace = [0x0a, 2, 0x58, 1, 0x0a, 2, 0x58, 2];
        for cut in 0..=trace.len() {
            let (found, error) = packets(&trace[..cut]);
            assert_eq!(found.len(), cut / 4, "cut at {cut}");
            assert_eq!(error.is_none(), cut % 4 == 0, "cut at {cut}");
        }
    }

    #[test]
    fn damage_is_told_with_its_offset() {
        let (found, error) = packets(&[0x0a, 2, 0x58, 1, 0x0b, 0xff]);
        assert_eq!(found.len(), 1);
        assert_eq!(error.unwrap(), "byte 4 starts no packet");
        let (_, error) = packets(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        assert!(error.unwrap().contains("34359738367 bytes"));
    }
}
