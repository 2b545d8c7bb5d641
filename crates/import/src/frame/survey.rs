//! Going through a trace for its snapshots only, ahead of an import by lines.
//!
//! # Design
//!
//! What it finds has to be what the import finds: the same snapshots, accepted in the same order. So
//! nothing is left out that has a say in that:
//!
//! * **What is a packet.** Behind a payload that cannot be read, packets are looked for inside of it
//!   (rule Z3). So every payload is parsed, and interned data looked through, as the import does.
//! * **Which snapshots there are**: `clock_snapshot`, pairs of bundles (I1), synchronizations with
//!   other machines (X19, X21), and what is assumed when the first time of a part is converted (X26).
//! * **Which clock is trace time** (T1, X25), for a snapshot may not set that back (N2). That, and what is
//!   assumed of a part, is settled by the first time of the part that is converted, be it of an event deep
//!   inside of a payload of which half is made before that. Until then packets are read as by the import,
//!   and their rows thrown away. In a recording that is until the first snapshot, among its first
//!   packets; where it is never, the trace has hardly a clock.
//!
//! What is left out is most of an import: times, rows, events and what is made of them, and the
//! bytes' hash.
//!
//! To look for packets of the type `clock_snapshot` only, and to begin anew if the import then finds
//! other ones, was the alternative. It saves the parsing of payloads, a tenth of an import, and takes
//! twice as long where it fails; and whether it fails would have to be known in time.

use std::io::{self, Read};

use timebase_trace::wire::packet::PacketType;
use timebase_trace::{End, Payload};

use super::Frame;
use super::packet::{defaults, verdict};
use crate::output::Rows;
use crate::place::{IncomingPacket, PartIx, Snapshot};
use crate::readers::{Corrupt, Parsed};

impl Frame {
    /// Reads a whole file for its snapshots only, and returns whether it was stopped.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written, or the import needs too much memory.
    pub fn survey_file(&mut self, input: impl Read, rows: &mut Rows<'_>) -> io::Result<End> {
        self.each_packet(input, rows, Frame::survey_packet)
    }

    /// Adds the snapshot of a packet as [`Frame::packet`] does, and judges the payload.
    #[inline]
    fn survey_packet(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        rows: &mut Rows<'_>,
    ) -> Payload {
        let header = packet.header;
        let Some(part) = self.part(header, rows) else {
            return Payload::Sound;
        };
        let is_sync = matches!(header.packet_type(), Some(PacketType::REMOTE_CLOCK_SYNC));
        if is_sync || !self.context.place.clocks.is_settled(part) {
            return self.packet_of(packet, part, rows);
        }
        let (payload, _) = self.survey_settled(packet, part, rows);
        payload
    }

    /// The same for a packet of a part of which nothing is to be settled any more. Gives its snapshot.
    #[inline]
    pub(crate) fn survey_settled(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        part: PartIx,
        rows: &mut Rows<'_>,
    ) -> (Payload, Option<Snapshot>) {
        let header = &packet.header;
        // The id itself does not matter here; rule X15 only needs that there is one.
        let (default_clock, defaults) = defaults(header);
        let incoming = self.enter(packet, part, default_clock, rows);
        rows.pass_over();
        let interned = self.check_interned(&incoming, packet.bytes);
        let parsed = defaults.and(interned).and_then(|()| Parsed::of(header));
        let snapshot = parsed
            .as_ref()
            .ok()
            .and_then(|parsed| parsed.snapshot(header));
        if let Some(snapshot) = &snapshot {
            self.context.place.snapshot_ahead(snapshot, &incoming);
        }
        (verdict(&parsed), snapshot)
    }

    /// Checks the packet's interned data without storing it.
    #[inline]
    pub(super) fn check_interned(
        &self,
        packet: &IncomingPacket<'_>,
        bytes: &[u8],
    ) -> Result<(), Corrupt> {
        Corrupt::size(bytes)?;
        let place = &self.context.place;
        match packet.header.interned_data {
            Some(data) if place.sequences[packet.sequence].is_valid() => {
                Ok(place.interned.check(data)?)
            }
            _ => Ok(()),
        }
    }
}
