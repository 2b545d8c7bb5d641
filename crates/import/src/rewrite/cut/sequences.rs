//! The state of a packet sequence that packets left out would have made (rule CT5).
//!
//! # Design
//!
//! A packet that is left out may clear the state of its sequence, set its defaults, and intern data. All this waits until
//! the sequence writes its next packet, and is written before it as a packet without a payload. So packets of the new
//! trace find the state that they had, and a sequence that writes nothing leaves nothing. The interned data waits in a
//! temporary file. The alternative was to write all state at the begin of the window. A packet that is carried over from
//! before needs it earlier, and one of an older interval needs another one.
//!
//! Names and callstacks wait longer, until a packet refers to them (`names.rs`).

use std::io;

use timebase_schema::fields::trace_packet as field;
use timebase_trace::wire::packet::Header;

use crate::readers::{fields, put_bytes, put_number};
use crate::rewrite::cut::names::{Names, Uses};
use crate::rewrite::cut::spool::{Piece, Spool};

/// The number of bytes of interned data in a packet that states them again. One message may be larger.
const LARGEST: usize = 1 << 18;

/// The state that waits for a sequence's next packet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    is_cleared: bool,
    /// The flag of a loss, if the state was lost after the last packet that was written.
    lost: u32,
    defaults: Option<Vec<u8>>,
    interned: Vec<Piece>,
    /// The interned data that waits until a packet refers to it.
    names: Names,
    /// Whether the packets that were written so far left a valid state.
    is_valid: bool,
    /// Whether a packet of this interval was written.
    has_written: bool,
}

impl Pending {
    /// Whether a packet of this interval was written.
    pub fn has_written(&self) -> bool {
        self.has_written
    }

    /// Keeps the state that a packet makes that is left out.
    pub fn keep(&mut self, header: &Header<'_>, spool: &mut Spool) -> io::Result<()> {
        self.begin(header);
        if let Some(defaults) = header.trace_packet_defaults {
            self.defaults = Some(defaults.to_vec());
        }
        // A packet adds nothing to a state that is lost, but events still find what was there (rule S3).
        let is_valid = self.lost == 0 && (self.is_cleared || self.is_valid);
        let interned = header.interned_data.filter(|interned| is_valid && !interned.is_empty());
        if let Some(interned) = interned {
            let Piece { mut start, size } = spool.put(interned)?;
            let end = start + size;
            for (number, value, bytes) in fields(interned) {
                let piece = Piece { start, size: bytes.len() as u64 };
                start += piece.size;
                if !self.names.wait(number, value, piece) {
                    self.wait(piece);
                }
            }
            // The rest cannot be read.
            self.wait(Piece { start, size: end - start });
        }
        Ok(())
    }

    /// Lets interned data wait for the next packet.
    fn wait(&mut self, piece: Piece) {
        match self.interned.last_mut() {
            _ if piece.size == 0 => {}
            Some(last)
                if last.start + last.size == piece.start
                    && last.size + piece.size < LARGEST as u64 =>
            {
                last.size += piece.size;
            }
            _ => self.interned.push(piece),
        }
    }

    /// The interned data that a packet needs, of what waits.
    pub fn uses(&self, header: &Header<'_>) -> Uses {
        // Readers ignore interned data that is added after a loss.
        let is_lost = self.lost != 0 || header.previous_packet_dropped != 0;
        match is_lost {
            true => Uses::All,
            false if self.names.is_empty() => Uses::NONE,
            false => Uses::of(header),
        }
    }

    /// Applies the flags of a packet that is left out: they end an interval, or its state.
    fn begin(&mut self, header: &Header<'_>) {
        if header.clears_state() {
            let is_valid = self.is_valid;
            *self = Pending { is_cleared: true, is_valid, ..Pending::default() };
        } else if header.previous_packet_dropped != 0 {
            self.lost = header.previous_packet_dropped;
        }
    }

    /// Writes what waits before a packet that is written, which uses interned data.
    pub fn state(
        &mut self,
        header: &Header<'_>,
        uses: Uses,
        spool: &mut Spool,
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if header.clears_state() {
            *self = Pending { is_valid: true, has_written: true, ..Pending::default() };
            return Ok(());
        }
        let had_state = self.is_cleared || self.is_valid;
        let mut waiting = std::mem::take(&mut self.interned);
        waiting.extend(self.names.take(uses, spool)?);
        if self.is_cleared || self.defaults.is_some() || !waiting.is_empty() {
            let mut packet = start(header);
            if self.is_cleared {
                put_number(&mut packet, field::SEQUENCE_FLAGS, 1);
            }
            if let Some(defaults) = &self.defaults {
                put_bytes(&mut packet, field::TRACE_PACKET_DEFAULTS, defaults);
            }
            let mut interned = Vec::new();
            for piece in &waiting {
                if !interned.is_empty() && interned.len() as u64 + piece.size > LARGEST as u64 {
                    put_bytes(&mut packet, field::INTERNED_DATA, &interned);
                    write(&packet)?;
                    packet = start(header);
                    interned.clear();
                }
                spool.get(piece, &mut interned)?;
            }
            if !interned.is_empty() {
                put_bytes(&mut packet, field::INTERNED_DATA, &interned);
            }
            write(&packet)?;
        }
        // The packet itself may say that the state is lost.
        let is_stated = header.previous_packet_dropped != 0;
        if self.lost != 0 && had_state && !is_stated {
            let mut packet = start(header);
            put_number(&mut packet, field::PREVIOUS_PACKET_DROPPED, self.lost.into());
            write(&packet)?;
        }
        let is_valid = had_state && self.lost == 0 && !is_stated;
        let names = std::mem::take(&mut self.names);
        *self = Pending { is_valid, has_written: true, names, ..Pending::default() };
        Ok(())
    }
}

/// A packet of the same writer.
pub(super) fn start(header: &Header<'_>) -> Vec<u8> {
    let mut packet = Vec::new();
    if let Some(uid) = header.trusted_uid {
        put_number(&mut packet, field::TRUSTED_UID, i64::from(uid) as u64);
    }
    if header.has_sequence {
        let sequence = header.trusted_packet_sequence_id;
        put_number(&mut packet, field::TRUSTED_PACKET_SEQUENCE_ID, sequence.into());
    }
    if let Some(pid) = header.trusted_pid {
        put_number(&mut packet, field::TRUSTED_PID, i64::from(pid) as u64);
    }
    if header.machine_id != 0 {
        put_number(&mut packet, field::MACHINE_ID, header.machine_id.into());
    }
    packet
}
