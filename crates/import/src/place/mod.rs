//! The place of packets and events in time: their clock, the state of their sequence, and their trace
//! time.
//!
//! | question | where it is decided |
//! |---|---|
//! | the clock of a packet, and its trace time (rules C4–C6, V4, V5, T2, D1) | `clocks.rs` |
//! | which clock is trace time (rules T1, X25) | `trace_clock.rs` |
//! | the clocks of a part, which is a machine's data in one file (rules X13–X17) | `parts.rs` |
//! | the assumption if nothing relates a part to trace time (rules X26, X27) | `clocks/bridge.rs` |
//! | round trips between machines (rules X19–X24) | `remote.rs` |
//! | the state of a sequence (rules S, V5) | `sequence.rs` |
//! | the form of a snapshot from any source (rules N, I1, X15, X16) | `snapshot.rs` |
//! | packets and events that wait for a later snapshot (rules D2, X29) | `waiting.rs` |
//! | how many packets use a clock | `uses.rs` |
//! | the keys of clocks and their files in the tables | `keys.rs` |
//! | the types of readings and times | `time.rs` |
//!
//! [`Place`] owns these pieces, and does the steps that need several of them.

mod aligned;
mod aside;
mod clocks;
mod incoming;
mod keys;
mod parts;
mod remote;
mod samples;
mod sequence;
mod snapshot;
mod time;
mod trace_clock;
mod uses;
mod waiting;

use std::io;

use timebase_resolver::{
    Clock, ClockId, EstimateCache, Estimates, FileTag, Mended, Reading, Rejected, SeqId, Ticks,
    Unresolved,
};
use timebase_store::sort::Scratch;
use timebase_trace::wire::proto::RemoteClockSync;
use timebase_trace::{Interned, Kept};

pub(crate) use aligned::{AlignedBy, AlignedRelation};
pub(crate) use aside::EventRow;
use clocks::Clocks;
pub(crate) use clocks::{ClockEffect, EventClock, Placement, Whole};
pub(crate) use incoming::IncomingPacket;
pub(crate) use keys::{file_id, file_key, table_order};
pub(crate) use parts::{
    ClockSync, JsonClock, Part, PartIx, PartKey, PartKeys, Parts, WALL_CLOCK_YEARS, shared,
};
use sequence::Sequences;
pub(crate) use sequence::{CAUSES, Generation, Sequence, SequenceIx};
pub(crate) use snapshot::Accepted;
pub(crate) use snapshot::{Snapshot, called, recorded};
pub(crate) use time::TraceTime;
pub(crate) use uses::Uses;
pub(crate) use waiting::{CountsFor, Settled, SettledEvent, Untimed, UntimedPacket, WaitingEvent};
use waiting::{PacketOfSnapshot, Waiting, WaitingPacket, WaitingSnapshot};

/// The result of adding a snapshot.
#[derive(Debug)]
pub(crate) enum Taken {
    Accepted(Accepted),
    Rejected(Rejected),
    /// The pair is equal to the last one, and was not added.
    Repeated,
}

/// The clocks and sequences of a trace, and the packets and events that wait for a time.
pub(crate) struct Place {
    pub clocks: Clocks,
    pub sequences: Sequences,
    /// Interned data, by the intervals of sequences.
    pub interned: Interned,
    pub uses: Uses,
    /// Packets and events that wait for the end of their file.
    pub waiting: Waiting,
    /// Snapshots, packets and events that wait for the end of the import.
    later: Waiting,
}

impl Place {
    /// Starts without clocks and sequences. `interned` are the fields of `InternedData` that readers look
    /// up. Data that does not fit into memory goes to `scratch`. `whole` is the result of an earlier pass
    /// over the trace, for conversions by all snapshots.
    pub fn new(interned: &[(u32, Kept)], scratch: &Scratch, whole: Option<Whole>) -> Self {
        Place {
            clocks: Clocks::new(whole),
            sequences: Sequences::default(),
            interned: Interned::new(interned),
            uses: Uses::default(),
            waiting: Waiting::new(scratch),
            later: Waiting::new(scratch),
        }
    }

    /// Starts another file.
    pub fn begin_file(
        &mut self,
        file: FileTag,
        is_pinned: bool,
        has_own_clock: bool,
        default_clock: Option<ClockId>,
    ) {
        self.clocks.begin_file(file, is_pinned, has_own_clock, default_clock);
        self.sequences.begin_file();
    }

    /// Whether any packet belonged to a sequence, or used a clock.
    pub fn is_used(&self) -> bool {
        self.sequences.iter().next().is_some()
            || self.clocks.trace_time.is_converted
            || self.clocks.graph.snapshots() > 0
    }

    /// Adds the snapshot of a packet (rules N, T, I1, X15).
    pub fn snapshot(&mut self, snapshot: &Snapshot, packet: &IncomingPacket<'_>) -> Taken {
        let part = packet.part;
        if self.has_just(snapshot, part) {
            return Taken::Repeated;
        }
        let sequence = &mut self.sequences[packet.sequence];
        match snapshot::add(&mut self.clocks, snapshot, part, packet.id, sequence) {
            Ok(accepted) => {
                self.accepted(snapshot, part);
                Taken::Accepted(accepted)
            }
            Err(rejected) => Taken::Rejected(rejected),
        }
    }

    /// Adds the snapshot of a packet in a pass for clocks only.
    pub fn snapshot_ahead(&mut self, snapshot: &Snapshot, packet: &IncomingPacket<'_>) {
        let part = packet.part;
        if self.has_just(snapshot, part) {
            return;
        }
        let sequence = &mut self.sequences[packet.sequence];
        if snapshot::accept(&mut self.clocks, snapshot, part, packet.id, sequence).is_ok() {
            self.accepted(snapshot, part);
        }
    }

    /// Whether a snapshot is equal to the last pair of its part (rule I1).
    fn has_just(&self, snapshot: &Snapshot, part: PartIx) -> bool {
        let reading = snapshot.pair_reading();
        reading.is_some() && self.clocks.parts[part].last_pair == reading
    }

    fn accepted(&mut self, snapshot: &Snapshot, part: PartIx) {
        let last = &mut self.clocks.parts[part].last_pair;
        *last = snapshot.pair_reading().or(*last);
    }

    /// Adds the synchronization of two machines (rules X20 to X24), after the snapshots of the client
    /// (X19).
    pub fn remote_sync(
        &mut self,
        sync: &RemoteClockSync,
        packet: i64,
        client: PartIx,
        host: PartIx,
    ) {
        remote::add(&mut self.clocks, sync, packet, client, host);
    }

    /// The result of a pass over the trace, at its end.
    pub fn found(mut self) -> Whole {
        self.clocks.end();
        let mut estimates = Estimates::new(self.clocks.graph);
        remote::give(&self.clocks.samples, &mut estimates);
        let trace_time = self.clocks.trace_time.clock();
        let mut cache = EstimateCache::new();
        Whole {
            mended: trace_time.and_then(|to| Mended::of(&estimates, to, &mut cache)),
            estimates,
            cache,
            trace_time,
        }
    }

    /// Places a packet, with the snapshots seen until now (rule D1). Call it once with each packet that
    /// does not stand at its snapshot, because it advances incremental clocks. `counts` says for which
    /// packets its time counts.
    #[inline]
    pub fn packet(&mut self, packet: &IncomingPacket<'_>, counts: CountsFor) -> Placement {
        let &IncomingPacket { id, header, part, sequence, .. } = packet;
        let state = &mut self.sequences[sequence];
        let placement = self.clocks.place(header, part, state);
        self.note(packet, &placement);
        if placement.waits
            && let (Some(clock_id), Some(reason)) = (placement.clock_id, placement.unresolved)
        {
            let counts = match self.clocks.waits_for_trace_time() {
                true => counts,
                false => CountsFor::Nothing,
            };
            self.waiting.packet(&WaitingPacket {
                id,
                counts,
                sequence,
                part,
                clock: self.clocks.clock_of(header, part, clock_id),
                clock_ts: placement.clock_ts,
                reason,
            });
        }
        placement
    }

    /// Places a record that a file in JSON has (rule JS31).
    pub fn record(
        &mut self,
        packet: &IncomingPacket<'_>,
        ticks: Option<Ticks>,
        counts: CountsFor,
    ) -> Placement {
        let &IncomingPacket { id, part, sequence, .. } = packet;
        let placement = self.clocks.place_on_file(part, ticks);
        self.note(packet, &placement);
        if placement.waits
            && let (Some(ticks), Some(reason)) = (ticks, placement.unresolved)
        {
            self.waiting.packet(&WaitingPacket {
                id,
                counts,
                sequence,
                part,
                clock: self.clocks.parts[part].clock(ClockId::TRACE_FILE, SeqId(0)),
                clock_ts: Some(ticks),
                reason,
            });
        }
        placement
    }

    /// Places a `clock_snapshot` packet at the time of its snapshot (rule D3). `first_row`
    /// is the first row of the snapshot in `clock_snapshot`.
    pub fn snapshot_packet(
        &mut self,
        packet: &IncomingPacket<'_>,
        taken: &Taken,
        first_row: i64,
    ) -> Placement {
        let sequence = &self.sequences[packet.sequence];
        let own = self.clocks.own_reading(packet.header, packet.part, sequence);
        let (ts, unresolved) = match taken {
            Taken::Accepted(accepted) => (accepted.ts(), accepted.unresolved),
            Taken::Rejected(Rejected::NoSequenceId { .. }) => {
                (None, Some(Unresolved::NoSequenceId))
            }
            Taken::Rejected(Rejected::Overflow { .. }) => (None, Some(Unresolved::Overflow)),
            Taken::Rejected(_) | Taken::Repeated => (None, None),
        };
        let mut placement = Placement { ts, unresolved, ..own };
        self.note(packet, &placement);
        if let Taken::Accepted(accepted) = taken
            && ts.is_none()
            && !self.clocks.has_all()
        {
            placement.waits = true;
            self.later.snapshot(&WaitingSnapshot {
                first_row,
                packet: Some(PacketOfSnapshot {
                    id: packet.id,
                    sequence: packet.sequence,
                    part: packet.part,
                }),
                readings: &accepted.readings,
            });
        }
        placement
    }

    /// Lets readings without a time wait, although no packet waits with them: the readings of a bundle's
    /// pair, of a client, and of a snapshot that no packet has.
    pub fn readings_wait(
        &mut self,
        first_row: i64,
        readings: &[Reading],
        times: &[Option<TraceTime>],
    ) {
        if times.first().copied().flatten().is_none() && !self.clocks.has_all() {
            self.later.snapshot(&WaitingSnapshot { first_row, packet: None, readings });
        }
    }

    #[inline]
    fn note(&mut self, packet: &IncomingPacket<'_>, placement: &Placement) {
        let part = packet.part;
        // The file of the clock may still change while the packet waits (rule X29).
        if let Some(clock) = placement.clock_id.filter(|_| !placement.waits) {
            let clock = self.clocks.clock_of(packet.header, part, clock);
            self.uses.count(clock, &self.clocks.graph);
        }
        if let Some(ts) = placement.ts {
            self.sequences[packet.sequence].saw(ts);
            self.clocks.parts[part].first.get_or_insert(ts);
        }
    }

    /// Ends a file: tries once more to place its waiting packets and events, in file order (rules D2,
    /// X29). Those without a time wait for the end of the import.
    pub fn end_file(
        &mut self,
        scratch: &Scratch,
        each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.clocks.end_file();
        let waiting = std::mem::replace(&mut self.waiting, Waiting::new(scratch));
        let mut later = std::mem::replace(&mut self.later, Waiting::new(scratch));
        let settled = self.settle(waiting, Some(&mut later), each);
        self.later = later;
        settled
    }

    /// Ends the last file: tries for the last time to place waiting packets and events.
    pub fn end(
        &mut self,
        scratch: &Scratch,
        each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.clocks.end();
        let later = std::mem::replace(&mut self.later, Waiting::new(scratch));
        self.settle(later, None, each)
    }

    fn settle(
        &mut self,
        waiting: Waiting,
        later: Option<&mut Waiting>,
        mut each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let uses = &mut self.uses;
        waiting.settle(&mut self.clocks, &mut self.sequences, later, |settled, clocks| {
            if let Settled::Packet { part, clock, result, .. } = &settled {
                uses.count(*clock, &clocks.graph);
                if let Ok(ts) = result {
                    clocks.parts[*part].first.get_or_insert(*ts);
                }
            }
            each(settled)
        })
    }

    /// Calls `with` with the estimates by all snapshots and samples, and with a flag for each sample that
    /// says whether they use it.
    pub fn with_estimates<T>(
        &mut self,
        with: impl FnOnce(&mut Self, &Estimates, &[bool]) -> T,
    ) -> T {
        let mut estimates = Estimates::new(std::mem::take(&mut self.clocks.graph));
        let used = remote::give(&self.clocks.samples, &mut estimates);
        for AlignedRelation { a, b, by } in &self.clocks.aligned {
            match by {
                AlignedBy::Lines { knots, wander } => {
                    estimates.add_causality(*a, *b, knots.clone(), *wander);
                }
                AlignedBy::Bounds(corners) => estimates.add_bounds(*a, *b, corners.clone()),
            }
        }
        let done = with(self, &estimates, &used);
        self.clocks.graph = estimates.into_graph();
        done
    }

    /// The clock of `ts` (rules T1, T3, X25).
    pub fn trace_time(&self) -> Clock {
        self.clocks.trace_time.or_first()
    }

    /// All clocks, in the order of the tables: the clocks of snapshots, and the clocks that
    /// only packets name.
    pub fn all_clocks(&mut self) -> Vec<Clock> {
        let graph = &self.clocks.graph;
        let mut all: Vec<Clock> = graph.clocks().collect();
        let used = self.uses.without_snapshot(graph);
        all.extend(used.filter(|&clock| graph.number(clock).is_none()));
        all.sort_unstable_by_key(table_order);
        all
    }
}
