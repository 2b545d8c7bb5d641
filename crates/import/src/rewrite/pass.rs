//! A pass over a trace: it places each packet, and the last pass also writes it.

use std::io;
use std::ops::ControlFlow;

use timebase_resolver::{Clock, ClockId, SeqId, Ticks, Unresolved};
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::{Packet, Payload};

use super::archive::Members;
use super::header::{self, NewClock, NewPayload, NewTime, names_clock};
use super::output::Output;
use super::tally::{Left, Missed};
use super::target::Target;
use super::times::{Converter, Times, Waits};
use super::waits::Collected;
use crate::emit::Packets;
use crate::frame::{CopiedPacket, Frame, SnapshotPackets, TimedPacket};
use crate::output::Rows;
use crate::place::{PartIx, Placement, TraceTime};
use crate::readers::{Corrupt, Parsed, Retimed, Rewritten};

/// The source and the results of a pass.
pub(crate) struct Pass {
    pub source: Frame,
    pub others: Others,
}

/// Everything in a pass besides the source trace.
pub(crate) struct Others {
    pub target: Target,
    pub times: Times,
    /// The packets that waited, after they are settled.
    pub collected: Collected,
    /// The output for packets; `None` in a pass that only collects, or if nothing is to be written.
    pub output: Option<Output>,
    /// The members that are written, if there are several files.
    pub members: Option<Members>,
    pub room: Room,
    /// The number of packets until now.
    pub packets: u64,
    /// The snapshots of the trace, if an earlier pass has kept them.
    pub surveyed: Option<SnapshotPackets>,
    /// Whether the pass ended early, because the rest of the trace is known from `surveyed`.
    pub ends_early: bool,
    /// The packets of rows that were found, as far as they are not written (rule CN2).
    pub inserted: Option<Packets>,
    /// The reason why the pass cannot go on.
    pub failure: Option<io::Error>,
}

/// The place that an import gives to a packet of the source trace.
#[derive(Clone, Copy)]
struct Placed {
    /// The part in the source trace, and the part in the written trace.
    parts: (PartIx, PartIx),
    placement: Placement,
    /// The time that is known now, or from an earlier pass.
    ts: Option<TraceTime>,
    /// Whether the timestamp is used as the time, because no clock is known (rule T2).
    is_taken_as_it_is: bool,
}

/// A packet of the written trace, and the time to which it has to lead.
struct Aimed {
    copied: CopiedPacket,
    ts: Option<TraceTime>,
}

/// Buffers for the written bytes.
#[derive(Default)]
pub(crate) struct Room {
    payload: Vec<u8>,
    packet: Vec<u8>,
}

impl Others {
    /// Handles a packet of the source trace, unless the rest of the trace is known.
    pub fn packet(
        &mut self,
        source: &mut Frame,
        packet: &Packet<'_>,
        rows: &mut Rows<'_>,
    ) -> ControlFlow<(), Payload> {
        self.packets += 1;
        self.ends_early = self.knows_rest(source);
        match self.ends_early {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(self.next_packet(source, packet, rows)),
        }
    }

    /// Whether the pass needs nothing from this packet on but snapshots that an earlier pass has
    /// kept: all parts of both traces exist and are settled. With rates, times that wait depend on
    /// no later packet, because the earlier pass knows all snapshots of the source.
    #[inline]
    fn knows_rest(&self, source: &Frame) -> bool {
        let is_surveyed = |known: &SnapshotPackets| known.are_complete_from(self.packets);
        if self.times.writes || !self.surveyed.as_ref().is_some_and(is_surveyed) {
            return false;
        }
        let (source, target) = (&source.context.place, &self.target.frame.context.place);
        source.clocks.parts.len() == target.clocks.parts.len()
            && source.clocks.are_settled()
            && target.clocks.are_settled()
    }

    /// Enters the snapshots of the rest into the written trace.
    ///
    /// # Errors
    ///
    /// If they cannot be read back.
    pub fn enter_rest(&mut self, rows: &mut Rows<'_>) -> io::Result<()> {
        let Some(surveyed) = self.surveyed.take() else {
            return Ok(());
        };
        let target = &mut self.target.frame;
        surveyed.from(self.packets, |header, snapshot| {
            if let Some(part) = target.part(header, rows) {
                target.survey_copy(header, snapshot, part, rows);
            }
        })
    }

    fn next_packet(
        &mut self,
        source: &mut Frame,
        packet: &Packet<'_>,
        rows: &mut Rows<'_>,
    ) -> Payload {
        let header = packet.header;
        let Some(part) = source.part(header, rows) else {
            return Payload::Sound;
        };
        if !self.times.writes
            && self.times.has_rates
            && let Some(payload) = self.survey(source, packet, part, rows)
        {
            return payload;
        }
        let timed = source.time(self.times.next, packet, part, rows);
        let payload = timed.payload();
        let ts = match timed.placement.waits {
            true => self.times.waits(),
            false => timed.placement.ts,
        };
        let trace_time = source.context.place.trace_time();
        if trace_time != self.target.trace_time && self.times.writes {
            self.trace_time_is(trace_time);
        }
        self.read(source, packet, timed, ts, rows);
        if self.target.lacks_whole {
            self.times.writes = false;
        }
        if let Some(error) = self.times.failure.take() {
            self.failure.get_or_insert(error);
        }
        if self.failure.is_some() {
            rows.stop();
        }
        if header.timestamp.is_some() && ts.is_none() {
            self.times.tally.unplaced += 1;
        }
        payload
    }

    /// Handles a packet in a pass that no longer writes, with rates. Nothing of the source trace
    /// waits then, and the written trace only needs the snapshots. So nothing is placed once both
    /// parts are settled. Returns `None` for a packet that may settle something.
    fn survey(
        &mut self,
        source: &mut Frame,
        packet: &Packet<'_>,
        part: PartIx,
        rows: &mut Rows<'_>,
    ) -> Option<Payload> {
        let header = packet.header;
        let is_settled = |frame: &Frame, part| frame.context.place.clocks.is_settled(part);
        let kind = header.packet_type();
        if kind == Some(PacketType::REMOTE_CLOCK_SYNC) || !is_settled(source, part) {
            return None;
        }
        let target = &mut self.target.frame;
        let copied = target.part(header, rows)?;
        if !is_settled(target, copied) {
            return None;
        }
        let (payload, snapshot) = source.survey_settled(packet, part, rows);
        // A bundle's pair of clocks is not written.
        if kind == Some(PacketType::CLOCK_SNAPSHOT)
            && let Some(snapshot) = snapshot
        {
            target.survey_copy(header, &snapshot, copied, rows);
        }
        Some(payload)
    }

    /// Counts written packets that waited and got a time after all. They have no time in the source
    /// trace (rule RW3); other packets do not wait, or are written when all is known.
    pub fn placed_late(&mut self, count: u64) {
        if self.target.whole.is_none() && self.times.writes {
            let tally = &mut self.times.tally;
            tally.missed(Missed::Packet, count, None);
        }
    }

    /// Trace time turned out to be another clock than was assumed.
    #[cold]
    fn trace_time_is(&mut self, trace_time: Clock) {
        if matches!(self.times.waits, Waits::Known(_)) {
            return;
        }
        match self.times.tally.written {
            0 => self.target.trace_time = trace_time,
            _ => self.times.writes = false,
        }
    }

    fn read(
        &mut self,
        source: &mut Frame,
        packet: &Packet<'_>,
        timed: TimedPacket<'_>,
        ts: Option<TraceTime>,
        rows: &mut Rows<'_>,
    ) {
        let header = packet.header;
        let parsed = match timed.parsed {
            Ok(parsed) => parsed,
            Err(corrupt) => {
                let part = timed.part;
                let placed = Placed {
                    parts: (part, part),
                    placement: timed.placement,
                    ts,
                    is_taken_as_it_is: timed.is_taken_as_it_is,
                };
                return self.unread(source, packet, placed, &corrupt, rows);
            }
        };
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        let is_sync = matches!(parsed, Parsed::RemoteClockSync(_));
        // A bundle's pair of clocks is not written.
        let snapshot = parsed.snapshot(header).filter(|_| is_snapshot);
        let Some(entered) = self.target.enter(header, snapshot.as_ref(), rows) else {
            return;
        };
        let part = entered.part;
        let placed = Placed {
            parts: (timed.part, part),
            placement: timed.placement,
            ts,
            is_taken_as_it_is: timed.is_taken_as_it_is,
        };
        let is_read = !is_snapshot && timed.placement.clock_id.is_some();
        if !self.times.writes && is_read {
            self.target.attempted(part);
        }
        let retimed = Retimed {
            header,
            payload: header.payload.map_or(&[], |(_, payload)| payload),
            placement: timed.placement,
            generation: timed.generation,
            is_valid: timed.is_valid,
            is_lost: timed.placement.unresolved == Some(Unresolved::IncrementalStateLost),
        };
        let mut room = std::mem::take(&mut self.room.payload);
        room.clear();
        let mut converter = Converter {
            source: &mut source.context.place,
            target: &mut self.target,
            times: &mut self.times,
            parts: placed.parts,
        };
        let rewritten = parsed.retime(&retimed, &mut converter, &mut room);
        if self.times.writes {
            let (payload, own) = match rewritten {
                _ if is_sync => (self.synced(&retimed), None),
                Rewritten::Same => (NewPayload::Same, None),
                Rewritten::Changed => (NewPayload::Is(&room), None),
                Rewritten::OfPacket(own) => (NewPayload::Is(&room), Some(own)),
            };
            let ts = match is_snapshot {
                true => self.target.snapshot_time(&entered),
                false => own.or(ts),
            };
            let placed = Placed { ts, ..placed };
            self.count(source, header, &placed);
            let has_time = header.timestamp.is_some() || own.is_some();
            let time = match ts.filter(|_| has_time) {
                Some(ts) => self.time(header, &placed, ts),
                None => self.unplaced(header, &placed),
            };
            let copied = entered;
            self.write(packet, time, payload, Aimed { copied, ts }, rows);
        }
        self.room.payload = room;
    }

    /// A packet with the readings of two machines stays, without the readings (rule RW8).
    #[cold]
    fn synced(&mut self, packet: &Retimed<'_>) -> NewPayload<'static> {
        if packet.payload.is_empty() {
            return NewPayload::Same;
        }
        let bytes = packet.payload.len() as u64;
        self.times.tally.left(Left::Sync, 1, bytes);
        NewPayload::Is(&[])
    }

    /// Counts how far a packet moved.
    fn count(&mut self, source: &mut Frame, header: &Header<'_>, placed: &Placed) {
        // A snapshot does not stand at the time that its packet read from a clock (rule D3).
        if header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT) {
            return;
        }
        let (part, _) = placed.parts;
        let placement = &placed.placement;
        if let (Some(ts), Some(clock), Some(ticks)) =
            (placed.ts, placement.clock_id, placement.clock_ts)
        {
            let place = &mut source.context.place;
            let clock = place.clocks.clock_of(header, part, clock);
            self.times.placed(place, clock, ticks, ts);
        }
    }

    /// Leaves out a packet with an unreadable payload, except for the fields that its sequence
    /// needs (rule RW7).
    fn unread(
        &mut self,
        source: &mut Frame,
        packet: &Packet<'_>,
        placed: Placed,
        corrupt: &Corrupt,
        rows: &mut Rows<'_>,
    ) {
        let header = packet.header;
        let left = match corrupt.is_damage() {
            true => Left::Payload,
            false => Left::TooLarge,
        };
        self.times.tally.left(left, 1, packet.bytes.len() as u64);
        let is_needed = header.clears_state()
            || header.previous_packet_dropped != 0
            || header.trace_packet_defaults.is_some()
            || header.interned_data.is_some()
            || header.first_packet_on_sequence;
        if !is_needed {
            return;
        }
        let bare = Header { payload: None, ..*header };
        let Some(entered) = self.target.enter(&bare, None, rows) else {
            return;
        };
        if !self.times.writes {
            return;
        }
        let placed = Placed { parts: (placed.parts.0, entered.part), ..placed };
        self.count(source, &bare, &placed);
        let time = match placed.ts.filter(|_| header.timestamp.is_some()) {
            Some(ts) => self.time(&bare, &placed, ts),
            None => self.unplaced(&bare, &placed),
        };
        let (has_interned, has_defaults) = source.is_sound(header);
        let payload = NewPayload::None { has_interned, has_defaults };
        let bare = Packet { header: &bare, ..*packet };
        let aimed = Aimed { copied: entered, ts: placed.ts };
        self.write(&bare, time, payload, aimed, rows);
    }

    /// The new time of a packet that has a time (rule RW2).
    fn time(&mut self, header: &Header<'_>, placed: &Placed, ts: TraceTime) -> NewTime {
        let (_, part) = placed.parts;
        let default = self.target.default_clock(part);
        let is_time = |recorded: u64| i64::try_from(recorded) == Ok(ts.0);
        if placed.is_taken_as_it_is && default == 0 && header.timestamp.is_some_and(is_time) {
            return NewTime::SAME;
        }
        let id = self.target.trace_time.id;
        let clock = match id == ClockId::BOOTTIME && default == id.get() && !is_chrome(header) {
            true => NewClock::None,
            false => NewClock::Is(id.get()),
        };
        if self.target.is_trace_time(part, id)
            && let Ok(timestamp) = u64::try_from(ts.0)
        {
            return NewTime { timestamp: Some(timestamp), clock };
        }
        self.other_time(header, placed, ts, clock)
    }

    /// The new time of a packet whose time cannot be written as trace time: it is on another
    /// machine's clock, or before zero.
    #[cold]
    fn other_time(
        &mut self,
        header: &Header<'_>,
        placed: &Placed,
        ts: TraceTime,
        clock: NewClock,
    ) -> NewTime {
        let (_, part) = placed.parts;
        let id = self.target.trace_time.id;
        let found = self.target.reading(part, (id, SeqId(0)), ts.0, ts);
        let timestamp = |reading: i64| u64::try_from(reading).ok();
        if let Some(found) = found.filter(|found| found.off == 0) {
            return NewTime { timestamp: timestamp(found.reading), clock };
        }
        // Use the clock that it was read from. It leads to the packet's time, unless rates say
        // otherwise.
        if let (Some(own), Some(Ticks(recorded))) =
            (placed.placement.clock_id, placed.placement.clock_ts)
            && !self.target.is_incremental(header, part, own)
            // Chrome's timestamps are used as times while MONOTONIC leads nowhere yet (rule C6).
            && !(is_chrome(header) && own == ClockId::MONOTONIC.get())
        {
            let clock = (ClockId(own), SeqId(header.trusted_packet_sequence_id));
            let on_own = self.target.reading(part, clock, recorded, ts);
            let is_closer = |off: u64| found.is_none_or(|found| off < found.off);
            if let Some(on_own) = on_own.filter(|on_own| is_closer(on_own.off)) {
                return NewTime { timestamp: timestamp(on_own.reading), clock: NewClock::Is(own) };
            }
        }
        NewTime {
            timestamp: found.map_or(header.timestamp, |found| timestamp(found.reading)),
            clock,
        }
    }

    /// The new time of a packet without a time (rule RW3). It stays on its clock, which is named if
    /// a default gave it.
    fn unplaced(&mut self, header: &Header<'_>, placed: &Placed) -> NewTime {
        let (_, part) = placed.parts;
        let default = self.target.default_clock(part);
        let is_named = header.timestamp_clock_id != 0 || header.timestamp.is_none();
        match placed.placement.clock_id {
            Some(id) if !is_named && id != default => {
                NewTime { timestamp: None, clock: NewClock::Is(id) }
            }
            _ => NewTime::SAME,
        }
    }

    fn write(
        &mut self,
        packet: &Packet<'_>,
        time: NewTime,
        payload: NewPayload<'_>,
        Aimed { copied, ts }: Aimed,
        rows: &mut Rows<'_>,
    ) {
        let header = packet.header;
        let new = time.header(header);
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        let part = copied.part;
        let placed = self.target.written(copied, &new, rows);
        if new.timestamp.is_some() && !is_snapshot {
            let led = match placed.waits {
                // The packet is counted when it is settled.
                true if ts.is_none() && self.target.whole.is_none() => None,
                true => match (placed.clock_id, placed.clock_ts) {
                    (Some(id), Some(Ticks(ticks))) => self.target.leads_to(
                        part,
                        (ClockId(id), SeqId(header.trusted_packet_sequence_id)),
                        ticks,
                    ),
                    _ => None,
                },
                false => placed.ts,
            };
            if led != ts {
                let off = led.zip(ts).map(|(led, ts)| led.0.abs_diff(ts.0));
                self.times.tally.missed(Missed::Packet, 1, off);
            }
        }
        let is_same =
            matches!(payload, NewPayload::Same) && time.is_that_of(header) && !names_clock(header);
        let bytes = match is_same {
            true => packet.bytes,
            false => {
                self.room.packet.clear();
                header::write(packet.bytes, header, time, payload, &mut self.room.packet);
                &self.room.packet
            }
        };
        self.times.tally.written += 1;
        if let Some(output) = &mut self.output
            && let Err(error) = output.packet(bytes)
        {
            self.failure.get_or_insert(error);
        }
        if let Some(inserted) = &mut self.inserted {
            if is_snapshot {
                inserted.begin();
            }
            // The time of a snapshot is none of those that a packet without a time may get (rule O2).
            let latest = ts.filter(|_| !is_snapshot).max(self.times.latest);
            if let Some(TraceTime(ts)) = latest {
                self.times.latest = latest;
                self.insert(Some(ts));
            }
        }
    }

    /// Writes the packets of found rows up to a time, or all that are left.
    pub fn insert(&mut self, until: Option<i64>) {
        let (Some(inserted), true) = (&mut self.inserted, self.times.writes) else {
            return;
        };
        loop {
            let packet = match inserted.until(until) {
                Ok(Some(packet)) => packet,
                Ok(None) => return,
                Err(error) => {
                    self.failure.get_or_insert(error);
                    return;
                }
            };
            if let Some(output) = &mut self.output
                && let Err(error) = output.packet(&packet)
            {
                self.failure.get_or_insert(error);
                return;
            }
        }
    }
}

/// Whether packets of this type use MONOTONIC if they name no clock.
fn is_chrome(header: &Header<'_>) -> bool {
    matches!(header.packet_type(), Some(PacketType::CHROME_EVENTS | PacketType::CHROME_METADATA))
}
