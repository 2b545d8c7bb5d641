//! Placing packets, and nothing else: for who rewrites a trace.
//!
//! What decides a time is all that [`Frame::packet`] does before a reader reads the payload, and no
//! other thing: whose packet it is, the state of its sequence, its snapshot, its place. So that is done
//! here by the same functions, and nothing becomes a row that anybody keeps.

use std::io::{self, Read};

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

/// A packet of the trace that is read, and where an import places it.
pub(crate) struct TimedPacket<'a> {
    pub part: PartIx,
    pub generation: Generation,
    /// Whether the state of its sequence can be trusted (rule S3).
    pub is_valid: bool,
    pub parsed: Result<Parsed<'a>, Corrupt>,
    pub placement: Placement,
    /// Whether its timestamp is taken for its time, as no clock is known (rule T2).
    pub is_taken_as_it_is: bool,
}

impl TimedPacket<'_> {
    /// What it means for who looks for packets.
    pub fn payload(&self) -> Payload {
        verdict(&self.parsed)
    }
}

/// A packet of the trace that is written, before it has its place there.
pub(crate) struct CopiedPacket {
    pub part: PartIx,
    machine: u32,
    sequence: SequenceIx,
    snapshot: Option<TakenSnapshot>,
}

impl CopiedPacket {
    /// The snapshot that it is.
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
    /// Reads the packets of a file, in file order, by a function of the caller's.
    ///
    /// # Errors
    ///
    /// If there is too much in memory.
    pub(crate) fn time_file(
        &mut self,
        input: impl Read,
        rows: &mut Rows<'_>,
        each: impl FnMut(&mut Frame, &Packet<'_>, &mut Rows<'_>) -> Payload,
    ) -> io::Result<End> {
        self.each_packet(input, rows, each)
    }

    /// Does all that [`Frame::packet`] does before the payload is read. What of it waits is known by
    /// `number` when it is settled.
    pub(crate) fn time<'a>(
        &mut self,
        number: i64,
        packet: &'a Packet<'a>,
        part: PartIx,
        rows: &mut Rows<'_>,
    ) -> TimedPacket<'a> {
        let (default_clock, defaults) = defaults(packet.header);
        let incoming = IncomingPacket {
            id: number,
            ..self.enter(packet, part, default_clock, rows)
        };
        let interned = self.check_interned(&incoming, packet.bytes);
        let parsed = defaults
            .and(interned)
            .and_then(|()| Parsed::of(incoming.header));
        if parsed.as_ref().is_err_and(Corrupt::is_damage) {
            self.context.journal.count(counters::PAYLOADS_CORRUPT, 1);
        }
        let snapshot = self.snapshot(&parsed, &incoming, rows);
        let Place {
            clocks, sequences, ..
        } = &self.context.place;
        let sequence = &sequences[incoming.sequence];
        let is_taken_as_it_is = clocks.names_none(incoming.header, part, sequence);
        let is_valid = sequence.is_valid();
        let generation = sequences.generation(incoming.sequence);
        let placement = self.place(&incoming, CountsFor::Nothing, snapshot);
        if !self.context.place.clocks.made.is_empty() {
            tell_made(&mut self.context, Some((number, packet.offset)), rows);
        }
        rows.pass_over();
        TimedPacket {
            part,
            generation,
            is_valid,
            parsed,
            placement,
            is_taken_as_it_is,
        }
    }

    /// Whether the interned data and the defaults that a packet brings can be read.
    pub(crate) fn is_sound(&self, header: &Header<'_>) -> (bool, bool) {
        let interned = &self.context.place.interned;
        let has_interned = header
            .interned_data
            .is_none_or(|data| interned.check(data).is_ok());
        let (_, defaults) = defaults(header);
        (has_interned, defaults.is_ok())
    }

    /// The copy of a packet comes, without a default clock of its sequence. What it says that clocks read
    /// is in force for what comes next.
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

    /// The copy of a snapshot comes to a part of which nothing is to be settled any more, and nobody asks for
    /// its place.
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

    /// The copy has its header, and so its place.
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

    /// A file is read to its end: what waits in it is tried once more.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
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

    /// All files are read: what still waits is tried for the last time.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
    pub(crate) fn end_timed(
        &mut self,
        each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.context.place.end(&self.scratch, each)
    }
}
