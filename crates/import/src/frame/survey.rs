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

use super::{Frame, defaults, verdict};
use crate::output::Rows;
use crate::readers::{Corrupt, Parsed};

impl Frame {
    /// Goes through a whole file for its snapshots only. Tells how that ended.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written, or there is too much in memory.
    pub fn survey_file(&mut self, input: impl Read, rows: &mut Rows<'_>) -> io::Result<End> {
        self.each_packet(input, rows, Frame::survey_packet)
    }

    /// What [`Frame::packet`] does with snapshots, and what it says of the payload.
    #[inline]
    fn survey_packet(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        rows: &mut Rows<'_>,
    ) -> Payload {
        let header = &packet.header;
        let Some((_, of)) = self.part(header, rows) else {
            return Payload::Sound;
        };
        let is_sync = matches!(header.packet_type(), Some(PacketType::REMOTE_CLOCK_SYNC));
        if is_sync || !self.context.place.is_settled(of) {
            return self.packet_of(packet, of, rows);
        }
        rows.pass_over();
        let (default_clock, defaults) = defaults(header);
        let sequence = self.context.place.enter(header, of, default_clock);
        let fits = Corrupt::size(packet.bytes);
        let interned = match header.interned_data.filter(|_| fits.is_ok()) {
            Some(data) if self.context.place.is_valid(sequence) => self
                .context
                .place
                .check_interned(data)
                .map_err(Corrupt::from),
            Some(_) => Ok(()),
            None => fits,
        };
        let parsed = defaults.and(interned).and_then(|()| Parsed::of(header));
        if let Ok(parsed) = &parsed
            && let Some(snapshot) = parsed.snapshot(header)
        {
            // Its number does not matter here, but that it has one does (rule X15).
            self.context
                .place
                .snapshot_ahead(&snapshot, of, 0, sequence);
        }
        verdict(&parsed)
    }
}
