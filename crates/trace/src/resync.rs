//! Finds the next packets after damage in a stream (rules Z1 to Z4).
//!
//! # Design
//!
//! A packet begins at a place if it has a packet's tag and length, if its contents have the shape
//! of a packet (`shape.rs`), and if there is enough evidence: fields that the schema knows, further
//! packets after it, or the end of the stream at the end of a packet. Evidence is counted in
//! points. The alternative was a minimum number of consecutive packets: three small ones are less
//! evidence than one large one, and a large one between two damaged places was lost.
//!
//! Credit limits the work: every byte of the stream adds some, every checked field costs some.
//! Bytes that imitate packets at every place can use it up; then nothing is tried until more bytes
//! have passed. Real damage does not use it up, because it shows within a field or two.

use std::io::{self, Read};
use std::ops::Range;

use memchr::memchr;

use crate::shape::{self, Evidence};
use crate::stream::{Begin, HEAD, LARGEST_PACKET, PACKET, PROBE, PacketStream, begin};

/// The number of fields that a byte of the stream pays for.
const CREDIT_A_BYTE: u64 = 4;

/// The points that are enough for two or more packets.
const ENOUGH: u32 = 16;

/// The points that are enough for a single packet, after which packets are missing.
const ENOUGH_ALONE: u32 = 24;

/// The points for a packet with a sequence, a time or a user id, as nearly every packet has.
const IDENTIFIED: u32 = 4;

/// The largest number of points for the fields of one packet.
const MOST: u32 = 32;

/// The points for a packet that ends at the end of the stream.
const AT_THE_END: u32 = 8;

/// This many known fields replace a sequence, a time or a user id in the first packet: snapshots of
/// clocks may have none of these.
const UNIDENTIFIED: u32 = 12;

/// The largest number of packets with unusual contents that may follow such a packet.
const ODD: usize = 16;

impl<R: Read> PacketStream<R> {
    pub(crate) fn credit_for(&mut self, bytes: usize) {
        let more = (bytes as u64).saturating_mul(CREDIT_A_BYTE);
        self.credit = self.credit.saturating_add(more);
    }

    /// The evidence that the bytes at these places are the contents of a packet, or their
    /// beginning; `None` if something contradicts it.
    pub(crate) fn evidence(&mut self, at: Range<usize>, whole: bool) -> Option<Evidence> {
        let mut work = self.credit;
        let evidence = shape::packet(self.unused().get(at)?, whole, &mut work);
        self.credit = work;
        evidence
    }

    /// Whether the bytes at these places could be the beginning of a packet's contents.
    pub(crate) fn could_be(&mut self, at: Range<usize>) -> bool {
        self.evidence(at, false).is_some()
    }

    /// The first of these places at which packets begin.
    pub(crate) fn search(&mut self, places: Range<usize>) -> Option<usize> {
        let mut at = places.start;
        loop {
            let skipped = memchr(PACKET, self.unused().get(at..places.end)?)?;
            self.credit_for(skipped + 1);
            at += skipped;
            if self.follows(at) {
                return Some(at);
            }
            at += 1;
        }
    }

    /// Drops bytes until packets begin or the stream ends; returns their number, and the error if
    /// the reader failed.
    pub(crate) fn drop_until_packet(&mut self) -> (u64, Option<io::Error>) {
        let (mut dropped, mut broken) = (0_u64, None);
        loop {
            let there = self.fill(1);
            if there == 0 {
                match self.mend() {
                    Some(error) => broken = Some(error),
                    None => return (dropped, broken),
                }
                continue;
            }
            let skipped = memchr(PACKET, self.unused());
            let size = skipped.unwrap_or(there);
            self.advance(size);
            dropped += size as u64;
            if skipped.is_some() {
                if self.follows(0) {
                    return (dropped, broken);
                }
                self.advance(1);
                dropped += 1;
            }
        }
    }

    /// Whether packets begin at this place with enough evidence.
    pub(crate) fn follows(&mut self, mut at: usize) -> bool {
        let (mut points, mut packets, mut identified) = (0_u32, 0_u32, false);
        loop {
            let there = self.fill(at.saturating_add(HEAD));
            if there <= at {
                return identified && self.ends_here() && points + AT_THE_END >= ENOUGH;
            }
            let (head, size) = match begin(self.unused().get(at..).unwrap_or_default()) {
                // Empty packets are no evidence, but they do occur between others.
                Begin::Packet { head, size: 0 } if packets > 0 && self.credit > 0 => {
                    self.credit -= 1;
                    at += head;
                    continue;
                }
                Begin::Packet { head, size } if (1..=LARGEST_PACKET).contains(&size) => {
                    (head, size as usize)
                }
                _ => return false,
            };
            let (begin, end) = (at + head, at + head + size);
            // A wrong size must not fill the memory: it shows before the whole packet is read.
            let probe = end.min(begin + PROBE);
            let there = self.fill(probe);
            if there < end && !self.could_be(begin..there.min(probe)) {
                return false;
            }
            if self.fill(end) < end {
                // The last packet of a cut stream.
                return identified && points >= ENOUGH;
            }
            let Some(evidence) = self.evidence(begin..end, true) else {
                return false;
            };
            if packets == 0 && !evidence.identified && evidence.known < UNIDENTIFIED {
                return false;
            }
            packets += 1;
            identified |= evidence.identified;
            points += evidence.known.min(MOST);
            points += u32::from(evidence.identified) * IDENTIFIED;
            points += u32::from(evidence.marked) * ENOUGH_ALONE;
            let enough = points >= ENOUGH_ALONE || (packets > 1 && points >= ENOUGH);
            if identified && enough {
                return true;
            }
            at = end;
        }
    }

    /// Whether packets continue at this place, some of them perhaps with unusual contents, or the
    /// stream ends there.
    pub(crate) fn goes_on(&mut self, mut at: usize) -> bool {
        for _ in 0..ODD {
            if self.fill(at.saturating_add(HEAD)) <= at {
                return self.ends_here();
            }
            if self.follows(at) {
                return true;
            }
            match begin(self.unused().get(at..).unwrap_or_default()) {
                Begin::Packet { head, size } if size <= PROBE as u64 => at += head + size as usize,
                _ => return false,
            }
        }
        false
    }
}
