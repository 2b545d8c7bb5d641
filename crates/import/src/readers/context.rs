//! What readers read and change beside rows.

use std::io;

use timebase_resolver::{Ticks, Unresolved};
use timebase_schema::tables;

use super::events::EventSink;
use super::packet::PlacedPacket;
use super::packet_schema::PacketSchema;
use super::sequences::Writers;
use crate::definitions::Definitions;
use crate::output::{Faults, Journal};
use crate::place::{EventClock, EventRow, Place, TraceTime, Untimed, WaitingEvent};
use crate::timeline::Event;

/// The state of an import while packets are read.
pub(crate) struct ImportContext {
    pub place: Place,
    pub journal: Journal,
    pub faults: Faults,
    pub schema: PacketSchema,
    pub definitions: Definitions,
    pub events: EventSink,
    /// What track events of a sequence share.
    pub writers: Writers,
}

impl ImportContext {
    /// There are no more packets: track events that were held take their places.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
    pub fn release_held(&mut self) -> io::Result<()> {
        let timeline = &mut self.events.timeline;
        let uuids = &self.definitions.uuids;
        self.writers.release(uuids, timeline, &mut self.faults)
    }

    /// Places an event that has a timestamp of its own, for its row and for the
    /// timeline, where `event` is what it is there; empty for nothing. One that
    /// cannot be placed yet waits.
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

    /// Gives a part of a packet to the timeline that has a timestamp of its own, and no
    /// row.
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

    /// What waits to know trace time keeps its place on the timeline (rules O3, X25); what waits for a
    /// snapshot is behind others of its time.
    #[cold]
    fn kept_place(&mut self) -> Option<u64> {
        let keeps = self.place.clocks.waits_for_trace_time();
        keeps.then(|| self.events.timeline.reserve())
    }

    /// The packet's sequence lost some before it, which stands before whatever the packet is for the timeline;
    /// where it relies on what was lost (rule S4) or has no time, at the greatest time until then. It is no event
    /// that is seen (rule O2).
    pub fn packets_lost(&mut self, packet: &PlacedPacket<'_>) {
        if !self.events.timeline.is_wanted() {
            return;
        }
        let lost = Event::PacketsLost {
            sequence: packet.generation.interval.sequence,
        };
        lost.write(&mut self.events.record);
        let EventSink {
            timeline, record, ..
        } = &mut self.events;
        match (packet.placement.ts, packet.header.timestamp) {
            (Some(ts), _) => timeline.push(ts, record),
            (None, Some(_)) if !packet.is_lost() => self.packet_waits(packet),
            (None, _) => timeline.push(packet.latest, record),
        }
    }

    /// What a packet is for the timeline waits together with the packet.
    pub fn packet_waits(&mut self, packet: &PlacedPacket<'_>) {
        let place = self.kept_place();
        let placement = &packet.placement;
        if placement.waits
            && let (Some(clock_id), Some(ticks), Some(reason)) =
                (placement.clock_id, placement.clock_ts, placement.unresolved)
        {
            let clock = self
                .place
                .clocks
                .clock_of(packet.header, packet.part, clock_id);
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

    /// Gives what a packet is to the timeline: at its time; where it has no timestamp,
    /// at the greatest time until then (rule O2); where it waits for a snapshot,
    /// when it has one.
    pub fn packet(&mut self, packet: &PlacedPacket<'_>, event: &Event<'_>) {
        if !self.events.timeline.is_wanted() || packet.is_lost() {
            return;
        }
        event.write(&mut self.events.record);
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

/// The row of a packet, for what of it waits.
fn row_of(packet: &PlacedPacket<'_>) -> EventRow {
    EventRow {
        table: &tables::packet::TABLE,
        id: packet.id,
        mark: 0,
    }
}
