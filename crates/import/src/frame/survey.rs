//! Going through a trace for its snapshots only, ahead of an import by lines.
//!
//! # Design
//!
//! What it finds has to be what the import finds: the same snapshots, accepted in the same order. So
//! nothing is left out that has a say in that:
//!
//! * **What is a packet.** Behind a payload that cannot be read, packets are looked for inside of it
//!   (rule Z3). So every payload is parsed, and interned data looked through, as the import does.
//! * **Which snapshots there are**: `clock_snapshot`, pairs of bundles (I1), and what is assumed of
//!   a machine when its first time is converted (X26).
//! * **Which clock is trace time** (T1), for a snapshot may not set that back (N2). It is settled by
//!   the first time that is converted, be it of an event deep inside of a payload of which half is
//!   made before that. Until then packets are read as by the import, and their rows thrown away. In
//!   a recording that is until the first snapshot, among its first packets; where it is never, the
//!   trace has hardly a clock.
//!
//! What is left out is most of an import: times, rows, events and what is made of them, and the
//! bytes' hash.
//!
//! To look for packets of the type `clock_snapshot` only, and to begin anew if the import then finds
//! other ones, was the alternative. It saves the parsing of payloads, a tenth of an import, and takes
//! twice as long where it fails; and whether it fails would have to be known in time.

use std::io::{self, Read};
use std::ops::ControlFlow;

use timebase_trace::{End, Found, Packets, Payload};

use super::{Frame, defaults, verdict};
use crate::output::Rows;
use crate::readers::{Corrupt, Parsed};

impl Frame {
    /// Goes through a whole trace for its snapshots only. Tells how that ended.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written, or there is too much in memory.
    pub fn survey(&mut self, input: impl Read, rows: &mut Rows<'_>) -> io::Result<End> {
        let mut packets = Packets::new(input);
        let mut watched = Ok(());
        let end = packets.for_each(|found| {
            watched = self.watch.after(found.size());
            let payload = match found {
                Found::Packet(packet) if self.place.is_settled() => {
                    rows.pass_over();
                    self.survey_packet(packet)
                }
                Found::Packet(packet) => self.packet(packet, rows),
                _ => Payload::Sound,
            };
            match rows.stopped() || watched.is_err() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(payload),
            }
        });
        watched?;
        Ok(end)
    }

    /// What [`Frame::packet`] does with snapshots, and what it says of the payload.
    #[inline]
    fn survey_packet(&mut self, packet: &timebase_trace::Packet<'_>) -> Payload {
        let header = &packet.header;
        let (default_clock, defaults) = defaults(header);
        let sequence = self.place.enter(header, default_clock);
        let fits = Corrupt::size(packet.bytes);
        let interned = match header.interned_data.filter(|_| fits.is_ok()) {
            Some(data) if self.place.is_valid(sequence) => {
                self.place.check_interned(data).map_err(Corrupt::from)
            }
            Some(_) => Ok(()),
            None => fits,
        };
        let parsed = defaults.and(interned).and_then(|()| Parsed::of(header));
        if let Ok(parsed) = &parsed
            && let Some(snapshot) = parsed.snapshot(header)
        {
            self.place.snapshot_ahead(&snapshot, sequence);
        }
        let machine = self.machine(header);
        if self.needs_bridge(header, &parsed, machine)
            && let Some(assumed) = self.place.bridge(header.machine_id)
        {
            self.place.snapshot_ahead(&assumed, sequence);
        }
        verdict(&parsed)
    }
}
