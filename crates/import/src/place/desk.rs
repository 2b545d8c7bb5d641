//! The way in: what is asked of the clocks and sequences of a trace while its
//! packets are read, and when they are all read.

use std::io;

use timebase_resolver::{
    Clock, ClockGraph, ClockId, Estimates, MachineId, Rejected, SeqId, Source, Unresolved,
};
use timebase_schema::tables;
use timebase_sort::Scratch;
use timebase_trace::{Interned, Interval, Kept};
use timebase_wire::field::Malformed;
use timebase_wire::packet::Header;

use super::aside::EventRow;
use super::clocks::{Clocks, EventClock, Placement, Whole, clock_of};
use super::sequence::{Sequence, SequenceIx, Sequences};
use super::snapshot::{self, Accepted, Pairs, Snapshot};
use super::time::TraceTime;
use super::uses::Uses;
use super::waiting::{Settled, Waiting, WaitingPacket};

/// What became of a snapshot.
#[derive(Debug)]
pub(crate) enum Taken {
    Accepted(Accepted),
    Rejected(Rejected),
    /// It is the pair that was added last once more, and nothing was done.
    Known,
}

/// The clocks and sequences of a trace, and what waits for them.
pub(crate) struct Place {
    clocks: Clocks,
    pairs: Pairs,
    sequences: Sequences,
    interned: Interned,
    uses: Uses,
    waiting: Waiting,
}

impl Place {
    /// A trace of which nothing was read. `interned` are the fields of
    /// `InternedData` that readers look up; what has no room in memory is put
    /// aside there. `whole` is what an earlier pass over the trace has found, for times that are
    /// told by all snapshots.
    pub fn new(interned: &[(u32, Kept)], scratch: &Scratch, whole: Option<Whole>) -> Self {
        Place {
            clocks: Clocks::new(whole),
            pairs: Pairs::default(),
            sequences: Sequences::default(),
            interned: Interned::new(interned),
            uses: Uses::default(),
            waiting: Waiting::new(scratch),
        }
    }

    /// A packet of a sequence comes (rules S1–S3). `default_clock` is that of its
    /// `trace_packet_defaults`, 0 if they name none.
    #[inline]
    pub fn enter(&mut self, header: &Header<'_>, default_clock: Option<u32>) -> SequenceIx {
        self.sequences.update(header, default_clock)
    }

    /// What would become of [`Place::intern`], which is not done.
    ///
    /// # Errors
    ///
    /// As those of [`Place::intern`].
    pub fn check_interned(&self, data: &[u8]) -> Result<(), Malformed> {
        self.interned.check(data)
    }

    /// Takes in what the packet gives numbers to; tells how many entries have no number.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if it cannot be read; nothing is taken in then.
    pub fn intern(&mut self, sequence: SequenceIx, data: &[u8]) -> Result<u32, Malformed> {
        let interval = self.sequences.interval(sequence);
        self.interned.add(interval, data)
    }

    /// What a number means in an interval of a sequence, as far as it was read.
    pub fn interned(&self, interval: Interval, field: u32, iid: u64) -> Option<&[u8]> {
        self.interned.get(interval, field, iid)
    }

    /// Keeps what numbers mean in an interval to the end of the trace; tells by which
    /// number that is found which they mean now.
    pub fn keep_interned(&mut self, interval: Interval) -> u64 {
        self.interned.keep(interval)
    }

    /// What numbers mean in the intervals of sequences, when all packets are read.
    pub fn take_interned(&mut self) -> Interned {
        std::mem::take(&mut self.interned)
    }

    /// Whether the state of a sequence can be trusted (rule S3).
    pub fn is_valid(&mut self, sequence: SequenceIx) -> bool {
        self.sequences.get(sequence).is_valid()
    }

    /// Whether a packet's timestamp is a delta if it is of this clock (rule V5).
    pub fn is_incremental(&self, header: &Header<'_>, clock: u32) -> bool {
        let domain = self.clocks.domain(clock_of(header, clock));
        domain.is_some_and(|domain| domain.incremental)
    }

    /// Whether any packet was of a sequence, or had to do with a clock.
    pub fn is_used(&self) -> bool {
        self.sequences.iter().next().is_some()
            || self.clocks.settled
            || self.clocks.graph.snapshots() > 0
    }

    /// How often the state of a sequence was lost.
    pub fn lost(&mut self, sequence: SequenceIx) -> u32 {
        self.sequences.get(sequence).lost()
    }

    /// The part of a sequence that its last packet is in.
    pub fn interval(&self, sequence: SequenceIx) -> Interval {
        self.sequences.interval(sequence)
    }

    /// A snapshot comes (rules N, T, I1).
    pub fn snapshot(&mut self, snapshot: &Snapshot, sequence: SequenceIx) -> Taken {
        if self.pairs.has_just(snapshot) {
            return Taken::Known;
        }
        let sequence = self.sequences.get(sequence);
        match snapshot::add(&mut self.clocks, snapshot, sequence) {
            Ok(accepted) => {
                self.pairs.accepted(snapshot);
                Taken::Accepted(accepted)
            }
            Err(rejected) => Taken::Rejected(rejected),
        }
    }

    /// A snapshot comes for who wants to know of no other thing than clocks.
    pub fn snapshot_ahead(&mut self, snapshot: &Snapshot, sequence: SequenceIx) {
        if self.pairs.has_just(snapshot) {
            return;
        }
        let sequence = self.sequences.get(sequence);
        if snapshot::accept(&mut self.clocks, snapshot, sequence).is_ok() {
            self.pairs.accepted(snapshot);
        }
    }

    /// Whether trace time is settled (rule T1), so that it does not matter any more what is converted.
    pub fn is_settled(&self) -> bool {
        self.clocks.settled
    }

    /// What a pass over the trace has found, at the end of it.
    pub fn found(self) -> Whole {
        Whole {
            estimates: Estimates::new(self.clocks.graph),
            trace_time: self.clocks.trace_time,
        }
    }

    /// Whether all snapshots are those that an earlier pass has found, if there was one.
    pub fn is_as_found(&mut self) -> bool {
        self.clocks.are_as_found()
    }

    /// What is to be assumed of a machine whose first time is converted now
    /// (rule X26).
    pub fn bridge(&mut self, machine: u32) -> Option<Snapshot> {
        snapshot::bridge(&mut self.clocks, MachineId(machine))
    }

    /// Places a packet, with the snapshots seen until now (rule D1). It is to be
    /// called once with each packet whose place is not that of its snapshot, as it
    /// advances incremental clocks.
    #[inline]
    pub fn packet(&mut self, id: i64, header: &Header<'_>, ix: SequenceIx) -> Placement {
        let sequence = self.sequences.get(ix);
        let placement = self.clocks.place(header, sequence);
        self.note(header, ix, &placement);
        if placement.waits
            && let (Some(clock_id), Some(reason)) = (placement.clock_id, placement.unresolved)
        {
            self.waiting.packet(&WaitingPacket {
                id,
                sequence: ix,
                clock: clock_of(header, clock_id),
                clock_ts: placement.clock_ts,
                reason,
            });
        }
        placement
    }

    /// Places a `clock_snapshot` packet where its snapshot is (rule D3). `first_row`
    /// is the first row of the snapshot in `clock_snapshot`.
    pub fn snapshot_packet(
        &mut self,
        id: i64,
        header: &Header<'_>,
        ix: SequenceIx,
        taken: &Taken,
        first_row: i64,
    ) -> Placement {
        let sequence = self.sequences.get(ix);
        let own = self.clocks.own_reading(header, sequence);
        let (ts, unresolved) = match taken {
            Taken::Accepted(accepted) => (accepted.ts(), accepted.unresolved),
            Taken::Rejected(Rejected::NoSequenceId { .. }) => {
                (None, Some(Unresolved::NoSequenceId))
            }
            Taken::Rejected(Rejected::Overflow { .. }) => (None, Some(Unresolved::Overflow)),
            Taken::Rejected(_) | Taken::Known => (None, None),
        };
        let mut placement = Placement {
            ts,
            unresolved,
            ..own
        };
        self.note(header, ix, &placement);
        if let Taken::Accepted(accepted) = taken
            && ts.is_none()
            && !self.clocks.has_all()
        {
            placement.waits = true;
            let packet = Some((id, ix));
            self.waiting.snapshot(first_row, packet, &accepted.readings);
        }
        placement
    }

    /// A pair of a bundle that could not be placed waits, though its packet does
    /// not wait for it.
    pub fn pair_waits(&mut self, first_row: i64, accepted: &Accepted) {
        if accepted.ts().is_none() && !self.clocks.has_all() {
            self.waiting.snapshot(first_row, None, &accepted.readings);
        }
    }

    fn note(&mut self, header: &Header<'_>, ix: SequenceIx, placement: &Placement) {
        if let Some(clock) = placement.clock_id {
            self.uses.count(clock_of(header, clock));
        }
        if let Some(ts) = placement.ts {
            self.sequences.get(ix).saw(ts);
        }
    }

    /// The clock of events that have timestamps of their own; `None` if it is not
    /// known which it is.
    pub fn event_clock(&self, clock: Option<Clock>) -> EventClock {
        self.clocks.event_clock(clock)
    }

    /// Places an event that has a timestamp of its own (rules I, D1).
    #[inline]
    pub fn event(&mut self, clock: &EventClock, timestamp: u64) -> Result<TraceTime, Unresolved> {
        self.clocks.place_event(clock, timestamp)
    }

    /// Whether an event that cannot be placed for this reason may be when there are more snapshots
    /// (rule D2).
    pub fn may_resolve_later(&self, reason: Unresolved) -> bool {
        self.clocks.may_resolve_later(reason)
    }

    /// A conversion would have been attempted here (rule T1).
    pub fn attempted(&mut self) {
        self.clocks.settled = true;
    }

    /// A row of an event that could not be placed waits, and what it is for the
    /// timeline with it.
    #[cold]
    pub fn event_waits(
        &mut self,
        row: EventRow,
        clock: &EventClock,
        timestamp: u64,
        reason: Unresolved,
        event: &[u8],
    ) {
        self.waiting
            .event(row, clock.clock(), timestamp, reason, event);
    }

    /// What a packet is for the timeline waits together with the packet.
    #[cold]
    pub fn packet_event_waits(
        &mut self,
        id: i64,
        header: &Header<'_>,
        placement: &Placement,
        event: &[u8],
    ) {
        if placement.waits
            && let (Some(clock_id), Some(clock_ts), Some(reason)) =
                (placement.clock_id, placement.clock_ts, placement.unresolved)
        {
            let row = EventRow {
                table: &tables::packet::TABLE,
                id,
                mark: 0,
            };
            let clock = Some(clock_of(header, clock_id));
            let reading = clock_ts.0.unsigned_abs();
            self.waiting.event(row, clock, reading, reason, event);
        }
    }

    /// Tries everything that waits once more, when all snapshots are there
    /// (rule D2), and gives it in file order.
    pub fn settle(
        &mut self,
        scratch: &Scratch,
        each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let waiting = std::mem::replace(&mut self.waiting, Waiting::new(scratch));
        waiting.settle(&mut self.clocks, &mut self.sequences, each)
    }

    /// The clock graph.
    pub fn graph(&mut self) -> &mut ClockGraph {
        &mut self.clocks.graph
    }

    /// The clock that `ts` is on (rules T1, T3).
    pub fn trace_time(&self) -> Clock {
        self.clocks.trace_time
    }

    /// The sequences that packets name, in order of their first packet.
    pub fn sequences(&self) -> impl Iterator<Item = &Sequence> {
        self.sequences.iter()
    }

    /// All clocks, in the order of the tables: those of snapshots and those that
    /// only packets name.
    pub fn all_clocks(&mut self) -> Vec<Clock> {
        let graph = &self.clocks.graph;
        let mut all: Vec<Clock> = graph.domains().iter().map(|domain| domain.clock).collect();
        let used = self.uses.counted().keys().copied();
        all.extend(used.filter(|&clock| graph.domain(clock).is_none()));
        all.sort_unstable_by_key(table_order);
        all
    }

    /// How many packets use each clock.
    pub fn uses(&mut self) -> &rustc_hash::FxHashMap<Clock, u64> {
        self.uses.counted()
    }
}

/// What the tables of clocks are sorted by.
pub(crate) fn table_order(clock: &Clock) -> (MachineId, ClockId, SeqId) {
    (clock.machine, clock.id, clock.seq)
}

/// What to call a snapshot in a message.
pub(crate) fn called(source: Source) -> &'static str {
    match source {
        Source::Service | Source::Writer => "the clock snapshot",
        Source::Bundle => "the bundle's pair of clocks",
        Source::Assumed => "what is assumed of the machine's clocks",
    }
}
