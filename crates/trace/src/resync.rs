//! Finds the next packets of a stream that has lost its way (rules Z1 to Z4).
//!
//! # Design
//!
//! A place is where a packet begins if one does by its tag and length, its contents have the shape
//! of a packet (`shape.rs`), and enough speaks for it: fields that the schema knows, further
//! packets behind it, the end of the stream where a packet ends. What is enough is a number of
//! points. To ask for a number of packets in a row was the alternative: three small ones say
//! less than one large one, and a large one between two damages was lost.
//!
//! The work is bounded by credit: every byte of the stream gives some, every field that is looked
//! at costs. Bytes that are made to look like packets at every place can use it up; then nothing is
//! tried until more bytes have gone by. Damage does not: it is found out within a field or two.

use std::io::{self, Read};
use std::ops::Range;

use memchr::memchr;

use crate::shape::{self, Evidence};
use crate::stream::{Begin, HEAD, LARGEST_PACKET, PACKET, PROBE, PacketStream, begin};

/// How many fields a byte of the stream gives.
const CREDIT_A_BYTE: u64 = 4;

/// How many points make two or more packets sure.
const ENOUGH: u32 = 16;

/// How many make a single one, behind which others are missing.
const ENOUGH_ALONE: u32 = 24;

/// Points of a packet that has what nearly every one has: a sequence, a time, a user id.
const IDENTIFIED: u32 = 4;

/// How many points the fields of one packet make at most.
const MOST: u32 = 32;

/// Points for a packet that ends where the stream does.
const AT_THE_END: u32 = 8;

/// How many known fields make up for a sequence, a time or a user id in the first packet: snapshots
/// of clocks may have none of these.
const UNIDENTIFIED: u32 = 12;

/// How many packets of odd contents may follow one of odd contents.
const ODD: usize = 16;

impl<R: Read> PacketStream<R> {
    pub(crate) fn credit_for(&mut self, bytes: usize) {
        let more = (bytes as u64).saturating_mul(CREDIT_A_BYTE);
        self.credit = self.credit.saturating_add(more);
    }

    /// What speaks for the bytes at these places being the contents of a packet, or the beginning
    /// of them; `None` if something speaks against it.
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

    /// The first of these places where packets begin.
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

    /// Drops bytes until packets begin or the stream ends; tells how many, and why the reader
    /// broke if it did.
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

    /// Whether packets begin at this place, and enough speaks for it.
    pub(crate) fn follows(&mut self, mut at: usize) -> bool {
        let (mut points, mut packets, mut identified) = (0_u32, 0_u32, false);
        loop {
            let there = self.fill(at.saturating_add(HEAD));
            if there <= at {
                return identified && self.ends_here() && points + AT_THE_END >= ENOUGH;
            }
            let (head, size) = match begin(self.unused().get(at..).unwrap_or_default()) {
                // Empty packets say nothing, but between others they are none the less.
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
            // A wrong size shall not fill the memory: it is seen before all of it is read.
            let probe = end.min(begin + PROBE);
            let there = self.fill(probe);
            if there < end && !self.could_be(begin..there.min(probe)) {
                return false;
            }
            if self.fill(end) < end {
                // The last packet of a stream that is cut.
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

    /// Whether packets go on at this place, be some of odd contents among them, or the stream ends
    /// there.
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
