//! The way of one packet through the import: the steps before and after its reader.

use prost::Message as _;
use timebase_resolver::Unresolved;
use timebase_schema::tables;
use timebase_trace::Payload;
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::wire::proto::TracePacketDefaults;

use super::snapshots::{TakenSnapshot, take, take_remote_sync, tell_made};
use super::{Frame, counters};
use crate::damaged::unread_packet;
use crate::output::{Cause, Loss, NOT_INTERNED, PacketRow, RowType, Rows, Severity};
use crate::place::{CountsFor, IncomingPacket, PartIx, Placement, Taken, TraceTime, UntimedPacket};
use crate::readers::{Corrupt, ImportContext, Parsed, PlacedPacket};
use crate::summary::LossKind;

impl Frame {
    /// Writes the row of a packet, and gives its payload to its reader.
    #[inline]
    pub(super) fn packet(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        rows: &mut Rows<'_>,
    ) -> Payload {
        match self.part(packet.header, rows) {
            Some(part) => self.packet_of(packet, part, rows),
            None => Payload::Sound,
        }
    }

    /// Does the same for a packet whose part is known.
    #[inline]
    pub(super) fn packet_of(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        part: PartIx,
        rows: &mut Rows<'_>,
    ) -> Payload {
        let (incoming, parsed) = self.prepare(packet, part, rows, Frame::intern);
        self.file.belongs(packet, &incoming);
        self.share(&incoming);
        let payload = verdict(&parsed);

        let snapshot = self.snapshot(&parsed, &incoming, rows);
        let lost_since = self.lost_since(&incoming);
        // A packet with readable events inside counts only for packets of its machine (rule O2).
        let counts = parsed.as_ref().map_or(CountsFor::All, Parsed::counts_for);
        let placement = self.place(&incoming, counts, snapshot);
        if let Some(start) = lost_since {
            packets_lost(&incoming, start, &placement).push(rows);
        }
        if self.file.is_damaged() {
            let ImportContext { place, journal, .. } = &mut self.context;
            self.file.unsure(&incoming, &placement, place, journal, rows);
        }
        if incoming.header.timestamp.is_none() && placement.unresolved.is_none() {
            self.untimed(&incoming, counts);
        }

        let placed = self.placed(&incoming, placement);
        if lost_since.is_some() {
            self.context.packets_lost(&placed);
        }
        self.context.events.times = None;
        self.read(parsed, &placed, rows);
        self.saw(&placed, counts, payload, rows);
        if !self.context.place.clocks.made.is_empty() {
            tell_made(&mut self.context, Some((placed.id, placed.offset)), rows);
        }
        self.note(&placed, rows);
        let data = self.keep.data.then_some(packet.bytes);
        rows.packet(self.row(&placed, packet.bytes.len()), data);
        payload
    }

    /// Updates the state of the packet's sequence, and parses the payload. `intern` gets the packet's interned data.
    #[inline]
    pub(super) fn prepare<'a>(
        &mut self,
        packet: &'a timebase_trace::Packet<'a>,
        part: PartIx,
        rows: &Rows<'_>,
        intern: impl FnOnce(&mut Frame, &IncomingPacket<'_>, &[u8]) -> Result<(), Corrupt>,
    ) -> (IncomingPacket<'a>, Result<Parsed<'a>, Corrupt>) {
        let (default_clock, defaults) = defaults(packet.header);
        let incoming = self.enter(packet, part, default_clock, rows);
        let interned = intern(self, &incoming, packet.bytes);
        let parsed = match defaults.and(interned) {
            Ok(()) => Parsed::of(incoming.header),
            Err(corrupt) => Err(corrupt),
        };
        (incoming, parsed)
    }

    /// Updates the state of the packet's sequence. `default_clock` comes from its `trace_packet_defaults`.
    #[inline]
    fn enter<'a>(
        &mut self,
        packet: &'a timebase_trace::Packet<'a>,
        part: PartIx,
        default_clock: Option<u32>,
        rows: &Rows<'_>,
    ) -> IncomingPacket<'a> {
        let place = &mut self.context.place;
        let header = packet.header;
        IncomingPacket {
            id: rows.count(&tables::packet_record::TABLE),
            offset: packet.offset,
            header,
            machine: place.clocks.parts[part].machine.0,
            part,
            sequence: place.sequences.update(header, part, default_clock),
        }
    }

    /// Stores the packet's interned data, if the state of the sequence is valid (rule E2). Fails for a
    /// packet that is too large.
    #[inline]
    fn intern(&mut self, packet: &IncomingPacket<'_>, bytes: &[u8]) -> Result<(), Corrupt> {
        Corrupt::size(bytes)?;
        let Some(data) = packet.header.interned_data else {
            return Ok(());
        };
        let ImportContext { place, faults, definitions, .. } = &mut self.context;
        let sequence = &place.sequences[packet.sequence];
        if !sequence.is_valid() {
            faults.add(counters::INTERNED_SKIPPED, packet.id);
            if !sequence.is_ever_cleared() {
                definitions.skipped_names.add(packet.sequence.0, data);
            }
            return Ok(());
        }
        let interval = place.sequences.interval(packet.sequence);
        let nameless = place.interned.add(interval, data)?;
        if nameless > 0 {
            let skipped = &mut definitions.skipped_names;
            skipped.add_unnumbered(packet.sequence.0, data);
            faults.add_many(NOT_INTERNED, packet.id, nameless);
        }
        Ok(())
    }

    /// Stores the defaults for track events of the sequence, and whether its first packet is in the trace
    /// (rules E3, U9).
    #[inline]
    fn share(&mut self, packet: &IncomingPacket<'_>) {
        let (header, context) = (packet.header, &mut self.context);
        if !header.has_sequence || !context.events.timeline.is_wanted() {
            return;
        }
        if let Some(defaults) = header.trace_packet_defaults {
            let generation = context.place.sequences.generation(packet.sequence);
            let profiles = &mut context.definitions.profiles;
            context.writers.defaults(generation, defaults, profiles);
        }
        if header.first_packet_on_sequence {
            let first_packets = &mut context.definitions.first_packets;
            first_packets.insert(packet.sequence.0);
        }
    }

    /// Adds the snapshot of the payload to the clock graph, if it has one.
    #[inline]
    pub(super) fn snapshot(
        &mut self,
        parsed: &Result<Parsed<'_>, Corrupt>,
        packet: &IncomingPacket<'_>,
        rows: &mut Rows<'_>,
    ) -> Option<TakenSnapshot> {
        match parsed.as_ref().ok()? {
            Parsed::RemoteClockSync(sync) => {
                let rules = &self.file.rules;
                let taken = take_remote_sync(&mut self.context, sync, packet, rules, rows);
                if let Err(refused) = taken {
                    self.refused.get_or_insert(refused);
                }
                None
            }
            parsed => {
                let snapshot = parsed.snapshot(packet.header)?;
                Some(take(&mut self.context, &snapshot, packet, rows))
            }
        }
    }

    /// The greatest time of the sequence before the packet, if the sequence lost packets in
    /// between. The inner value is `None` if the sequence has no time.
    #[inline]
    fn lost_since(&self, packet: &IncomingPacket<'_>) -> Option<Option<i64>> {
        let has_lost = packet.header.previous_packet_dropped != 0;
        let sequences = &self.context.place.sequences;
        has_lost.then(|| sequences.last_of(packet.sequence)).flatten()
    }

    /// Places a packet in time, once, after its snapshot was added.
    #[inline]
    pub(super) fn place(
        &mut self,
        packet: &IncomingPacket<'_>,
        counts: CountsFor,
        snapshot: Option<TakenSnapshot>,
    ) -> Placement {
        let place = &mut self.context.place;
        if let Some(TakenSnapshot { taken, first_row }) = snapshot {
            if packet.header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT) {
                return place.snapshot_packet(packet, &taken, first_row);
            }
            if let Taken::Accepted(accepted) = taken {
                place.readings_wait(first_row, &accepted.readings, &accepted.times);
            }
        }
        place.packet(packet, counts)
    }

    /// A packet without a timestamp may be an event at its position in the file (rule O2).
    fn untimed(&mut self, packet: &IncomingPacket<'_>, counts: CountsFor) {
        let ImportContext { place, events, .. } = &mut self.context;
        let is_left_out = packet.header.packet_type() == Some(PacketType::GPU_COUNTER_EVENT);
        let counts = counts == CountsFor::All && !is_left_out;
        let latest = events.latest.of(packet.machine);
        if counts {
            events.latest.event(latest);
        }
        if place.clocks.has_pending() {
            place.waiting.stands(&UntimedPacket {
                packet: packet.id,
                machine: packet.machine,
                latest,
                counts,
            });
        }
    }

    /// The packet as the reader gets it.
    #[inline]
    pub(super) fn placed<'a>(
        &self,
        packet: &IncomingPacket<'a>,
        placement: Placement,
    ) -> PlacedPacket<'a> {
        let &IncomingPacket { id, offset, header, machine, part, sequence } = packet;
        let sequences = &self.context.place.sequences;
        PlacedPacket {
            id,
            offset,
            header,
            generation: sequences.generation(sequence),
            placement,
            machine,
            part,
            valid: sequences[sequence].is_valid(),
            latest: self.context.events.latest.of(machine),
        }
    }

    /// Gives the payload to its reader, or logs why it is unreadable.
    #[inline]
    fn read(
        &mut self,
        parsed: Result<Parsed<'_>, Corrupt>,
        packet: &PlacedPacket<'_>,
        rows: &mut Rows<'_>,
    ) {
        match parsed {
            Ok(Parsed::Unread) => self.types.unread(packet.header.packet_type()),
            Ok(parsed) => {
                let is_counted = self.readers.read(parsed, packet, &mut self.context, rows);
                self.types.read += u64::from(is_counted);
            }
            Err(corrupt) => {
                let (counter, code) = match corrupt.is_damage() {
                    true => (counters::PAYLOADS_CORRUPT, "corrupt_payload"),
                    false => (counters::PAYLOADS_TOO_LARGE, "payload_too_large"),
                };
                self.context.journal.count(counter, 1);
                if let Some(cause) = counter.drops {
                    let sequence = packet.generation.interval.sequence;
                    let example = || packet.example();
                    let events = &mut self.context.faults.events;
                    events.add(cause, Some(sequence), 1, example);
                }
                let text = format!("the packet's payload cannot be read: {corrupt}");
                packet.say(Severity::Error, code, text, rows);
            }
        }
    }

    /// Stores the times of a packet after its reader: for damage around it, for packets without a time, and
    /// for its machine.
    #[inline]
    pub(super) fn saw(
        &mut self,
        packet: &PlacedPacket<'_>,
        counts: CountsFor,
        payload: Payload,
        rows: &mut Rows<'_>,
    ) {
        let (around, context) = (&mut self.file.around, &mut self.context);
        let before = around.last();
        let own = packet.placement.ts.map(|TraceTime(ts)| (ts, ts));
        if let Some(times) = context.events.times.or(own) {
            around.saw(times, rows);
        }
        if matches!(payload, Payload::Corrupt) {
            let loss = unread_packet(packet.id, Some(packet.machine));
            around.damaged(before, loss, rows);
        }
        if let Some(ts) = packet.placement.ts {
            context.events.latest.counts(counts, packet.machine, ts);
            context.definitions.machines.saw(packet.machine, ts);
        }
    }

    /// Counts whether a packet has a time, or why not.
    #[inline]
    pub(super) fn note(&mut self, packet: &PlacedPacket<'_>, rows: &mut Rows<'_>) {
        let table = &tables::packet_record::TABLE;
        let (header, placement) = (packet.header, &packet.placement);
        let journal = &mut self.context.journal;
        if placement.ts.is_some() {
            journal.packets_on_trace_time += 1;
            return;
        }
        let Some(reason) = placement.unresolved else {
            if header.timestamp.is_none() {
                journal.count(counters::PACKETS_WITHOUT_TIMESTAMP, 1);
            }
            return;
        };
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        if reason == Unresolved::NoSequenceId && !is_snapshot {
            let text = format!(
                "the packet's clock {} is sequence-scoped, and it has no sequence id",
                placement.clock_id.unwrap_or_default()
            );
            packet.say(Severity::Error, "no_sequence_id", text, rows);
        }
        if reason == Unresolved::IncrementalStateLost && holds_events(header.packet_type()) {
            let sequence = packet.generation.interval.sequence;
            let events = &mut self.context.faults.events;
            events.add(Cause::StateLost, Some(sequence), 1, || packet.example());
        }
        if placement.waits {
            journal.waits(table);
        } else {
            journal.unplaced(table, reason);
        }
    }

    /// The row of a packet with `size` bytes.
    #[inline]
    pub(super) fn row(&self, packet: &PlacedPacket<'_>, size: usize) -> PacketRow {
        let header = packet.header;
        PacketRow {
            id: packet.id,
            row_type: header.packet_type().map_or(RowType::None, RowType::Payload),
            timestamp: header.timestamp,
            placement: packet.placement,
            seq_id: header.trusted_packet_sequence_id,
            machine: packet.machine,
            file: self.file.id,
            number: self.file.number(packet.id),
            uid: header.trusted_uid,
            pid: header.trusted_pid,
            offset: packet.offset,
            size: size as u64,
            data: 0..0,
        }
    }
}

/// Whether packets of a type hold events whose reader does not count them if they rely on lost state.
fn holds_events(packet_type: Option<PacketType>) -> bool {
    !matches!(
        packet_type,
        None | Some(
            PacketType::CLOCK_SNAPSHOT
                | PacketType::TRACK_EVENT
                | PacketType::TRACK_DESCRIPTOR
                | PacketType::PROCESS_DESCRIPTOR
                | PacketType::THREAD_DESCRIPTOR
        )
    )
}

/// The loss of packets before this packet, since `start`.
#[cold]
fn packets_lost(packet: &IncomingPacket<'_>, start: Option<i64>, placement: &Placement) -> Loss {
    Loss {
        start,
        end: placement.ts.map(|TraceTime(ts)| ts),
        machine: Some(packet.machine),
        seq: Some(packet.header.trusted_packet_sequence_id),
        packet: Some(packet.id),
        ..Loss::new(LossKind::Packets)
    }
}

/// Tells the packet stream whether the payload is sound (rule Z3).
#[inline]
pub(super) fn verdict(parsed: &Result<Parsed<'_>, Corrupt>) -> Payload {
    match parsed {
        Err(corrupt) if corrupt.is_damage() => Payload::Corrupt,
        _ => Payload::Sound,
    }
}

/// The clock that the packet's `trace_packet_defaults` name, and whether they are
/// readable.
#[inline]
pub(super) fn defaults(header: &Header<'_>) -> (Option<u32>, Result<(), Corrupt>) {
    match header.trace_packet_defaults.map(TracePacketDefaults::decode) {
        None => (None, Ok(())),
        Some(Ok(defaults)) => (Some(defaults.timestamp_clock_id()), Ok(())),
        Some(Err(error)) => (None, Err(error.into())),
    }
}
