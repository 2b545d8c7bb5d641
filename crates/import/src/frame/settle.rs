//! The second attempt to place waiting packets, snapshots and events in time (rules D2, X29).

use std::io;

use timebase_resolver::{MachineId, Unresolved};
use timebase_schema::tables;
use timebase_store::sort::Scratch;

use super::Frame;
use crate::compact::Take;
use crate::definitions::{Machines, WaitingEnd};
use crate::output::{Cell, Journal, Rows};
use crate::place::{
    CountsFor, PartIx, Place, Settled, TraceTime, Untimed, UntimedPacket, file_key,
};
use crate::readers::{ImportContext, Latest};
use crate::timeline::Event;

impl Frame {
    /// Tries once more to place everything that `settle` takes from the queue.
    pub(super) fn settle(
        &mut self,
        rows: &mut Rows<'_>,
        settle: impl FnOnce(
            &mut Place,
            &Scratch,
            &mut dyn FnMut(Settled<'_>) -> io::Result<()>,
        ) -> io::Result<()>,
    ) -> io::Result<()> {
        let ImportContext { place, journal, faults, definitions, events, writers, .. } =
            &mut self.context;
        let (readers, changed) = (&mut self.readers, &mut self.settled);
        let timeline = &mut events.timeline;
        let packets = &tables::packet_record::TABLE;
        let cpus = &tables::ftrace_cpu::TABLE;
        let parts = place.clocks.parts.iter();
        let mut seen = SettledTimes::of(parts.map(|part| part.machine));
        settle(place, &self.scratch, &mut |settled| {
            match &settled {
                Settled::UntimedPacket(packet) => seen.stands(packet),
                Settled::Untimed(untimed) => {
                    let ts = seen.untimed(untimed);
                    timeline.push_at(ts, untimed.place, untimed.event);
                }
                Settled::Reading { .. } => {}
                Settled::Snapshot { part, result, .. } => {
                    let counts = CountsFor::Nothing;
                    seen.packet(*part, counts, *result, journal, &mut definitions.machines);
                }
                Settled::Packet { part, counts, result, .. } => {
                    let result = result.map_err(Some);
                    seen.packet(*part, *counts, result, journal, &mut definitions.machines);
                }
                Settled::Clock { id, clock } => {
                    rows.push(tables::packet_clock_record::Row {
                        packet_id: Cell::from(*id),
                        file: Cell::from(file_key(clock.file)),
                    });
                }
                // The event of a packet; the row of the packet waits by itself.
                Settled::Event(event) if event.row.table.number == packets.number => {
                    if let Ok(ts) = event.result {
                        let counts = event.place.is_some() && !Event::tells_of_loss(event.event);
                        let uuids = &definitions.uuids;
                        let ts = writers.settled(event, ts, uuids, timeline, faults)?;
                        if let Some(ts) = ts.filter(|_| counts) {
                            seen.event(ts);
                        }
                    }
                    return Ok(());
                }
                // An end of a bundle; the rows of its events wait by themselves.
                Settled::Event(event) if event.row.table.number == cpus.number => {
                    if let Ok(TraceTime(ts)) = event.result {
                        let end = WaitingEnd::take(&mut Take(event.event))?;
                        let of_part = definitions.parts.of(end.part);
                        of_part.kernel_buffers.add(&end.settled(event.row.id, ts));
                    }
                    return Ok(());
                }
                Settled::Event(event) => {
                    match event.result {
                        Ok(ts) if !event.event.is_empty() => {
                            timeline.push_kept(ts, event.place, event.event);
                            if event.place.is_some() {
                                seen.event(ts);
                            }
                        }
                        Ok(TraceTime(_)) => {}
                        Err(reason) => journal.unplaced(event.row.table, reason),
                    }
                    readers.settled(event, rows);
                }
            }
            changed.push(&settled);
            Ok(())
        })
    }

    /// Rule D2, for the begin of ring buffers.
    pub(super) fn settle_begins(&mut self) {
        let ImportContext { place, definitions, .. } = &mut self.context;
        for (part, statements) in definitions.parts.iter_mut() {
            for (clock, begins) in std::mem::take(&mut statements.unplaced_begins) {
                let clock = place.clocks.event_clock(part, Some(clock));
                if let Ok(ts) = place.clocks.place_event(&clock, begins) {
                    statements.begins(ts);
                }
            }
        }
    }
}

/// The greatest settled times, in file order (rule O2).
struct SettledTimes {
    latest: Latest,
    /// The last packet without a time of its own, and its position in time.
    stands: Option<(i64, TraceTime)>,
    /// The machines of all parts.
    machines: Vec<MachineId>,
}

impl SettledTimes {
    /// Starts with parts of these machines.
    fn of(machines: impl Iterator<Item = MachineId>) -> Self {
        SettledTimes { latest: Latest::default(), stands: None, machines: machines.collect() }
    }

    /// A packet gets its time, or its final reason for having none.
    fn packet(
        &mut self,
        PartIx(part): PartIx,
        counts: CountsFor,
        result: Result<TraceTime, Option<Unresolved>>,
        journal: &mut Journal,
        machines: &mut Machines,
    ) {
        match result {
            Ok(ts) => {
                journal.packets_on_trace_time += 1;
                if let Some(&MachineId(machine)) = self.machines.get(part as usize) {
                    self.latest.counts(counts, machine, ts);
                    machines.saw(machine, ts);
                }
            }
            Err(Some(reason)) => journal.unplaced(&tables::packet_record::TABLE, reason),
            Err(None) => {}
        }
    }

    /// An event gets its time.
    fn event(&mut self, ts: TraceTime) {
        self.latest.event(ts);
    }

    /// A packet without a time stands at the greatest time before it.
    fn stands(&mut self, packet: &UntimedPacket) {
        let ts = packet.latest.max(self.latest.of(packet.machine));
        if packet.counts {
            self.latest.event(ts);
        }
        self.stands = Some((packet.packet, ts));
    }

    /// The time of an event in such a packet.
    fn untimed(&mut self, untimed: &Untimed<'_>) -> TraceTime {
        let at = self.stands.filter(|(packet, _)| *packet == untimed.packet);
        let ts = at.map_or(untimed.latest, |(_, ts)| ts);
        self.latest.event(ts);
        ts
    }
}
