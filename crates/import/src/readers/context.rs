//! The state that readers share.

use std::io;

use timebase_resolver::{ClockId, SeqId, Ticks, Unresolved};
use timebase_schema::tables;

use super::events::EventSink;
use super::packet::PlacedPacket;
use super::packet_schema::PacketSchema;
use super::sequences::Writers;
use crate::definitions::Definitions;
use crate::evidence::{Evidence, FlowKey, FlowMoment, Role};
use crate::output::{Faults, Journal};
use crate::place::{EventClock, EventRow, Place, TraceTime, Untimed, WaitingEvent};
use crate::timeline::{Event, JsonEvent};
#[cfg(test)]
use crate::{output::BEFORE_ZERO, timeline::TrackEvent};

/// The time of an event of a JSON trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonTime {
    /// The time of its record.
    OfRecord,
    /// Before all other events (rule JS10).
    First,
    /// A time of the file's clock, in nanoseconds.
    At(i64),
}

/// The state that readers share, beside the rows that they write.
pub(crate) struct ImportContext {
    pub place: Place,
    pub journal: Journal,
    pub faults: Faults,
    pub schema: PacketSchema,
    pub definitions: Definitions,
    pub events: EventSink,
    /// The events that tell how clocks relate.
    pub evidence: Evidence,
    /// The state of the writers of track events, by their sequences.
    pub writers: Writers,
    /// Whether all clocks of a snapshot read 0 (rule FP1).
    pub has_zeros: bool,
}

impl ImportContext {
    /// Whether events of flows are put aside (rule AL2).
    #[inline]
    pub fn wants_evidence(&self) -> bool {
        self.evidence.is_wanted(self.place.clocks.parts.len())
    }

    /// Puts an event of a flow aside, with the reading of its packet.
    pub fn flow_moment(&mut self, packet: &PlacedPacket<'_>, flow: FlowKey, role: Role) {
        let placement = &packet.placement;
        if let (Some(id), Some(ticks)) = (placement.clock_id, placement.clock_ts) {
            let clock = self.place.clocks.clock_of(packet.header, packet.part, id);
            let moment = FlowMoment { part: packet.part, role, clock, ticks, packet: packet.id };
            self.evidence.add(flow, &moment);
        }
    }

    /// Gives held track events to the timeline, after the last packet.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn release_held(&mut self) -> io::Result<()> {
        let timeline = &mut self.events.timeline;
        let uuids = &self.definitions.uuids;
        self.writers.release(uuids, timeline, &mut self.faults)
    }

    /// Places an event that has a timestamp of its own and a row. `event` is its record for the timeline,
    /// or empty. If the event has no time yet, it waits.
    #[inline]
    pub fn event(
        &mut self,
        row: EventRow,
        clock: &EventClock,
        timestamp: u64,
        event: &[u8],
    ) -> Result<TraceTime, Unresolved> {
        match self.place.clocks.place_event(clock, timestamp) {
            Ok(ts) => {
                let TraceTime(time) = ts;
                let (first, _) = self.events.times.unwrap_or((time, time));
                self.events.times = Some((first, time));
                if !event.is_empty() {
                    self.events.push(ts, event);
                }
                Ok(ts)
            }
            Err(reason) => {
                let place = self.kept_place().filter(|_| !event.is_empty());
                self.place.waiting.event(&WaitingEvent {
                    row,
                    part: clock.part(),
                    clock: clock.clock(),
                    ticks: Ticks::recorded(timestamp),
                    reason,
                    place,
                    event,
                });
                if self.place.clocks.may_resolve_later(clock.part(), reason) {
                    self.journal.waits(row.table);
                }
                Err(reason)
            }
        }
    }

    /// Gives an event inside a packet to the timeline. The event has a timestamp of its own, and no row.
    pub fn part(
        &mut self,
        packet: &PlacedPacket<'_>,
        clock: &EventClock,
        timestamp: u64,
        event: &Event<'_>,
    ) {
        event.write(&mut self.events.record);
        match self.place.clocks.place_event(clock, timestamp) {
            Ok(ts) => self.events.push_record(ts),
            Err(reason) => {
                let place = self.kept_place();
                self.place.waiting.event(&WaitingEvent {
                    row: row_of(packet),
                    part: clock.part(),
                    clock: clock.clock(),
                    ticks: Ticks::recorded(timestamp),
                    reason,
                    place,
                    event: &self.events.record,
                });
            }
        }
    }

    /// An event that waits for trace time keeps its place on the timeline (rules O3, X25). An event that
    /// waits for a snapshot comes after others of its time.
    #[cold]
    fn kept_place(&mut self) -> Option<u64> {
        let keeps = self.place.clocks.waits_for_trace_time();
        keeps.then(|| self.events.timeline.reserve())
    }

    /// Gives the timeline the loss of packets before this packet. It comes before the event of the
    /// packet itself, or at the greatest time until then if the packet has no time or relies on
    /// lost state (rule S4). A loss does not count for packets without a time (rule O2).
    pub fn packets_lost(&mut self, packet: &PlacedPacket<'_>) {
        if !self.events.timeline.is_wanted() {
            return;
        }
        let lost = Event::PacketsLost { sequence: packet.generation.interval.sequence };
        self.beside(packet, &lost);
    }

    /// Gives the timeline an event that does not count for packets without a time (rule O2). It
    /// comes at the packet's time, or at the greatest time until then if the packet has no time or
    /// relies on lost state.
    pub fn beside(&mut self, packet: &PlacedPacket<'_>, event: &Event<'_>) {
        event.write(&mut self.events.record);
        let EventSink { timeline, record, .. } = &mut self.events;
        match (packet.placement.ts, packet.header.timestamp) {
            (Some(ts), _) => timeline.push(ts, record),
            (None, Some(_)) if !packet.is_lost() => self.packet_waits(packet),
            (None, _) => timeline.push(packet.latest, record),
        }
    }

    /// Lets the current record wait together with its packet.
    pub fn packet_waits(&mut self, packet: &PlacedPacket<'_>) {
        let place = self.kept_place();
        let placement = &packet.placement;
        if placement.waits
            && let (Some(clock_id), Some(ticks), Some(reason)) =
                (placement.clock_id, placement.clock_ts, placement.unresolved)
        {
            let clock = self.place.clocks.clock_of(packet.header, packet.part, clock_id);
            self.place.waiting.event(&WaitingEvent {
                row: row_of(packet),
                part: packet.part,
                clock: Some(clock),
                ticks: Some(ticks),
                reason,
                place,
                event: &self.events.record,
            });
        }
    }

    /// Gives the event of a packet to the timeline at the packet's time. A packet without a
    /// timestamp gets the greatest time until then (rule O2); an event waits if its packet does.
    pub fn packet(&mut self, packet: &PlacedPacket<'_>, event: &Event<'_>) {
        if !self.events.timeline.is_wanted() || packet.is_lost() {
            return;
        }
        event.write(&mut self.events.record);
        self.record_of(packet);
    }

    /// Does the same with a track event; one before 0 is counted, and has no row.
    #[cfg(test)]
    pub fn track_event(&mut self, packet: &PlacedPacket<'_>, event: &TrackEvent<'_>) {
        if !self.events.timeline.is_wanted() {
            return;
        }
        if packet.placement.ts.is_some_and(|TraceTime(ts)| ts < 0) {
            return self.faults.add(BEFORE_ZERO, packet.id);
        }
        event.write(&mut self.events.record);
        self.record_of(packet);
    }

    /// Gives an event of a JSON trace to the timeline (rules JS10, JS11, JS13). Events of one time keep the order of
    /// the file, also if they wait.
    pub fn json_event(&mut self, packet: &PlacedPacket<'_>, time: JsonTime, event: &JsonEvent<'_>) {
        if !self.events.timeline.is_wanted() {
            return;
        }
        let EventSink { timeline, record, .. } = &mut self.events;
        event.write(record);
        let place = timeline.reserve();
        let placement = match time {
            JsonTime::OfRecord => packet.placement,
            JsonTime::First => return timeline.push_at(TraceTime(i64::MIN), place, record),
            JsonTime::At(ts) => self.place.clocks.place_on_file(packet.part, Some(Ticks(ts))),
        };
        match (placement.ts, placement.unresolved) {
            (Some(ts), _) => timeline.push_at(ts, place, record),
            (None, Some(reason)) if placement.waits => {
                let clock =
                    self.place.clocks.parts[packet.part].clock(ClockId::TRACE_FILE, SeqId(0));
                self.place.waiting.event(&WaitingEvent {
                    row: row_of(packet),
                    part: packet.part,
                    clock: Some(clock),
                    ticks: placement.clock_ts,
                    reason,
                    place: Some(place),
                    event: record,
                });
            }
            (None, _) => {}
        }
    }

    /// Gives the current record to the timeline, at the time of its packet.
    fn record_of(&mut self, packet: &PlacedPacket<'_>) {
        match (packet.placement.ts, packet.header.timestamp) {
            (Some(ts), _) => self.events.push_record(ts),
            (None, None) if !self.place.clocks.has_pending() => {
                self.events.push_record(packet.latest)
            }
            (None, None) => {
                self.events.latest.event(packet.latest);
                self.place.waiting.untimed(&Untimed {
                    packet: packet.id,
                    latest: packet.latest,
                    place: self.events.timeline.reserve(),
                    event: &self.events.record,
                });
            }
            (None, Some(_)) => self.packet_waits(packet),
        }
    }
}

/// The row of a packet whose event waits.
fn row_of(packet: &PlacedPacket<'_>) -> EventRow {
    EventRow { table: &tables::packet_record::TABLE, id: packet.id, mark: 0 }
}
