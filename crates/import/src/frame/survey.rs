//! Reads a trace for its snapshots only, before an import with lines.
//!
//! # Design
//!
//! The survey must find the same snapshots as the import, accepted in the same order. So it does
//! not leave out anything that influences them:
//!
//! * **What is a packet.** After an unreadable payload, the stream looks for packets inside the
//!   payload (rule Z3). So the survey parses every payload, and checks interned data, as the import
//!   does.
//! * **Which snapshots exist**: `clock_snapshot`, pairs of bundles (I1), synchronizations with
//!   other machines (X19, X21), and the assumption that is made when the first time of a part is
//!   converted (X26).
//! * **Which clock is trace time** (T1, X25), because a snapshot must not set trace time back (N2).
//!   The first converted time of a part settles its trace time and its assumptions. It may be the
//!   time of an event deep inside a payload, after rows were made from half of the payload. Until
//!   then, the survey reads packets as the import does, and throws their rows away. In a recording,
//!   this lasts until the first snapshot, which is among the first packets. If it lasts to the end,
//!   the trace hardly has a clock.
//!
//! The survey leaves out most of an import: times, rows, events and their results, and the hash of
//! the bytes.
//!
//! The alternative was to look only for packets of the type `clock_snapshot`, and to start again if
//! the import then finds other snapshots. It avoids parsing payloads, which is a tenth of an
//! import, but takes twice as long if it fails. And the import would have to know in time that it
//! failed.

use std::io::{self, Read};
use std::ops::ControlFlow;

use timebase_store::sort::Scratch;
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::{End, Payload};

use super::Frame;
use super::packet::verdict;
use crate::compact::{Put, Take};
use crate::output::Rows;
use crate::place::{IncomingPacket, PartIx, Snapshot};
use crate::readers::{Corrupt, Parsed};
use crate::spill::SpillQueue;

/// The `clock_snapshot` packets of a file that was surveyed, for a pass that needs nothing else
/// from the rest of the file.
pub(crate) struct SnapshotPackets {
    packets: SpillQueue,
    record: Vec<u8>,
    /// The number of packets until now.
    count: u64,
    /// The number of packets up to the last one that was not only surveyed.
    unsettled: u64,
}

impl SnapshotPackets {
    pub fn new(scratch: &Scratch) -> Self {
        SnapshotPackets {
            packets: SpillQueue::new(scratch),
            record: Vec::new(),
            count: 0,
            unsettled: 0,
        }
    }

    /// `snapshot` tells whether a packet that was only surveyed has a snapshot.
    fn add(&mut self, packet: &timebase_trace::Packet<'_>, snapshot: Option<bool>) {
        self.count += 1;
        match snapshot {
            None => self.unsettled = self.count,
            Some(true) if packet.header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT) => {
                self.record.clear();
                Put(&mut self.record).natural(self.count).rest(packet.bytes);
                self.packets.push(&self.record);
            }
            Some(_) => {}
        }
    }

    /// Whether all packets from this one on were only surveyed. The first packet has the number 1.
    pub fn are_complete_from(&self, number: u64) -> bool {
        self.unsettled < number
    }

    /// Gives the snapshots from this packet on, in file order, with the headers of their packets.
    ///
    /// # Errors
    ///
    /// If the packets could not be stored, or cannot be read back.
    pub fn from(self, number: u64, mut each: impl FnMut(&Header<'_>, &Snapshot)) -> io::Result<()> {
        self.packets.drain(|record| {
            let mut take = Take(record);
            if take.natural()? >= number
                && let Ok(header) = Header::parse(take.rest())
                && let Ok(parsed) = Parsed::of(&header)
                && let Some(snapshot) = parsed.snapshot(&header)
            {
                each(&header, &snapshot);
            }
            Ok(())
        })
    }
}

impl Frame {
    /// Reads a whole file for its snapshots only, and tells whether the reading was stopped. Keeps
    /// its snapshots if the caller asks for them.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written, or the import needs too much memory.
    pub fn survey_file(
        &mut self,
        input: impl Read,
        mut kept: Option<&mut SnapshotPackets>,
        rows: &mut Rows<'_>,
    ) -> io::Result<End> {
        self.each_packet(input, rows, |frame, packet, rows| {
            let (payload, snapshot) = frame.survey_packet(packet, rows);
            if let Some(kept) = &mut kept {
                kept.add(packet, snapshot);
            }
            ControlFlow::Continue(payload)
        })
    }

    /// Adds the snapshot of a packet as [`Frame::packet`] does, and judges the payload. If the
    /// packet was only surveyed, this tells whether it has a snapshot.
    #[inline]
    fn survey_packet(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        rows: &mut Rows<'_>,
    ) -> (Payload, Option<bool>) {
        let header = packet.header;
        let Some(part) = self.part(header, rows) else {
            return (Payload::Sound, None);
        };
        let is_sync = matches!(header.packet_type(), Some(PacketType::REMOTE_CLOCK_SYNC));
        if is_sync || !self.context.place.clocks.is_settled(part) {
            return (self.packet_of(packet, part, rows), None);
        }
        let (payload, snapshot) = self.survey_settled(packet, part, rows);
        (payload, Some(snapshot.is_some()))
    }

    /// Does the same for a packet of a part whose clocks are settled. Returns the packet's
    /// snapshot.
    #[inline]
    pub(crate) fn survey_settled(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        part: PartIx,
        rows: &mut Rows<'_>,
    ) -> (Payload, Option<Snapshot>) {
        let header = &packet.header;
        // The id itself does not matter here; rule X15 only needs that there is one.
        let (incoming, parsed) = self.prepare(packet, part, rows, Frame::check_interned);
        rows.pass_over();
        let snapshot = parsed.as_ref().ok().and_then(|parsed| parsed.snapshot(header));
        if let Some(snapshot) = &snapshot {
            self.context.place.snapshot_ahead(snapshot, &incoming);
        }
        (verdict(&parsed), snapshot)
    }

    /// Checks the packet's interned data without storing it.
    #[inline]
    pub(super) fn check_interned(
        &mut self,
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
