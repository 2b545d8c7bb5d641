//! Places packets without making rows, for rewriting a trace.
//!
//! The steps of [`Frame::packet`] before the payload's reader decide a packet's time, and nothing
//! else does. They find its part, the state of its sequence, its snapshot, and its place. This
//! module calls the same functions for these steps, and does not keep any row.

use std::io::{self, Read};
use std::ops::ControlFlow;

use timebase_schema::tables;
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::wire::proto::RemoteClockSync;
use timebase_trace::{End, Packet, Payload};

use super::packet::{defaults, verdict};
use super::snapshots::{TakenSnapshot, take, take_remote_sync, tell_made};
use super::{Frame, ReadFile, counters};
use crate::output::Rows;
use crate::place::{
    Accepted, CountsFor, Generation, IncomingPacket, PartIx, Place, Placement, SequenceIx, Settled,
    Snapshot, Taken,
};
use crate::readers::{Corrupt, Parsed};

/// A packet of the source trace, with the time that an import gives it.
pub(crate) struct TimedPacket<'a> {
    pub part: PartIx,
    pub generation: Generation,
    /// Whether the state of its sequence can be trusted (rule S3).
    pub is_valid: bool,
    pub parsed: Result<Parsed<'a>, Corrupt>,
    pub placement: Placement,
    /// Whether the timestamp is used as the time, because no clock is known (rule T2).
    pub is_taken_as_it_is: bool,
}

impl TimedPacket<'_> {
    /// The verdict for the packet stream.
    pub fn payload(&self) -> Payload {
        verdict(&self.parsed)
    }
}

/// A packet of the written trace, before it is placed there.
pub(crate) struct CopiedPacket {
    pub part: PartIx,
    machine: u32,
    sequence: SequenceIx,
    snapshot: Option<TakenSnapshot>,
}

impl CopiedPacket {
    /// The snapshot in the packet, if it was accepted.
    pub fn accepted(&self) -> Option<&Accepted> {
        match self.snapshot.as_ref()?.taken {
            Taken::Accepted(ref accepted) => Some(accepted),
            Taken::Rejected(_) | Taken::Repeated => None,
        }
    }

    fn incoming<'a>(&self, header: &'a Header<'a>, rows: &Rows<'_>) -> IncomingPacket<'a> {
        IncomingPacket {
            id: rows.count(&tables::packet_record::TABLE),
            offset: 0,
            header,
            machine: self.machine,
            part: self.part,
            sequence: self.sequence,
        }
    }
}

impl Frame {
    /// Reads the packets of a file, in file order, with the caller's function, until that stops.
    ///
    /// # Errors
    ///
    /// If the data in memory exceeds its limit.
    pub(crate) fn time_file(
        &mut self,
        input: impl Read,
        rows: &mut Rows<'_>,
        each: impl FnMut(&mut Frame, &Packet<'_>, &mut Rows<'_>) -> ControlFlow<(), Payload>,
    ) -> io::Result<End> {
        self.each_packet(input, rows, each)
    }

    /// Does everything that [`Frame::packet`] does before the payload is read. If the packet waits,
    /// it is identified by `number` when it is settled.
    pub(crate) fn time<'a>(
        &mut self,
        number: i64,
        packet: &'a Packet<'a>,
        part: PartIx,
        rows: &mut Rows<'_>,
    ) -> TimedPacket<'a> {
        let (incoming, parsed) = self.prepare(packet, part, rows, Frame::check_interned);
        let incoming = IncomingPacket { id: number, ..incoming };
        if parsed.as_ref().is_err_and(Corrupt::is_damage) {
            self.context.journal.count(counters::PAYLOADS_CORRUPT, 1);
        }
        let snapshot = self.snapshot(&parsed, &incoming, rows);
        let Place { clocks, sequences, .. } = &self.context.place;
        let sequence = &sequences[incoming.sequence];
        let is_taken_as_it_is = clocks.names_none(incoming.header, part, sequence);
        let is_valid = sequence.is_valid();
        let generation = sequences.generation(incoming.sequence);
        let placement = self.place(&incoming, CountsFor::Nothing, snapshot);
        if !self.context.place.clocks.made.is_empty() {
            tell_made(&mut self.context, Some((number, packet.offset)), rows);
        }
        rows.pass_over();
        TimedPacket { part, generation, is_valid, parsed, placement, is_taken_as_it_is }
    }

    /// Whether the packet's interned data and its defaults are readable.
    pub(crate) fn is_sound(&self, header: &Header<'_>) -> (bool, bool) {
        let interned = &self.context.place.interned;
        let has_interned = header.interned_data.is_none_or(|data| interned.check(data).is_ok());
        let (_, defaults) = defaults(header);
        (has_interned, defaults.is_ok())
    }

    /// Enters the copy of a packet, whose sequence has no default clock. The clock readings in the
    /// packet are in force from now on.
    pub(crate) fn enter_copy(
        &mut self,
        header: &Header<'_>,
        snapshot: Option<&Snapshot>,
        rows: &mut Rows<'_>,
    ) -> Option<CopiedPacket> {
        let part = self.part(header, rows)?;
        let place = &mut self.context.place;
        let default_clock = header.trace_packet_defaults.map(|_| 0);
        let mut copied = CopiedPacket {
            part,
            machine: place.clocks.parts[part].machine.0,
            sequence: place.sequences.update(header, part, default_clock),
            snapshot: None,
        };
        if let Some(snapshot) = snapshot {
            let incoming = copied.incoming(header, rows);
            copied.snapshot = Some(take(&mut self.context, snapshot, &incoming, rows));
        }
        if header.packet_type() == Some(PacketType::REMOTE_CLOCK_SYNC) {
            let (context, rules) = (&mut self.context, &self.file.rules);
            let nothing = RemoteClockSync::default(); // RW8
            let incoming = copied.incoming(header, rows);
            take_remote_sync(context, &nothing, &incoming, rules, rows).ok()?;
        }
        Some(copied)
    }

    /// Enters the copy of a snapshot for a part whose clocks are settled. Nobody needs the copy's
    /// place.
    pub(crate) fn survey_copy(
        &mut self,
        header: &Header<'_>,
        snapshot: &Snapshot,
        part: PartIx,
        rows: &Rows<'_>,
    ) {
        let place = &mut self.context.place;
        let default_clock = header.trace_packet_defaults.map(|_| 0);
        let copied = CopiedPacket {
            part,
            machine: place.clocks.parts[part].machine.0,
            sequence: place.sequences.update(header, part, default_clock),
            snapshot: None,
        };
        place.snapshot_ahead(snapshot, &copied.incoming(header, rows));
    }

    /// Places the copy, whose header is now known.
    pub(crate) fn time_copy(
        &mut self,
        mut copied: CopiedPacket,
        header: &Header<'_>,
        rows: &mut Rows<'_>,
    ) -> Placement {
        let snapshot = copied.snapshot.take();
        let incoming = copied.incoming(header, rows);
        let placement = self.place(&incoming, CountsFor::Nothing, snapshot);
        if !self.context.place.clocks.made.is_empty() {
            tell_made(&mut self.context, Some((incoming.id, 0)), rows);
        }
        placement
    }

    /// Ends a file, and tries to convert its waiting packets again.
    ///
    /// # Errors
    ///
    /// If the waiting packets cannot be stored on disk or read back.
    pub(crate) fn end_timed_file(
        &mut self,
        rows: &mut Rows<'_>,
        each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<ReadFile> {
        self.context.place.end_file(&self.scratch, each)?;
        tell_made(&mut self.context, None, rows);
        let read = self.file.close(&self.context.journal, rows);
        rows.at(None, None);
        Ok(read)
    }

    /// Ends the trace, and tries for the last time to convert the packets that still wait.
    ///
    /// # Errors
    ///
    /// If the waiting packets cannot be stored on disk or read back.
    pub(crate) fn end_timed(
        &mut self,
        each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.context.place.end(&self.scratch, each)
    }
}
