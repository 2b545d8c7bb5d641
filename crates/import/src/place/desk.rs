//! The way in: what is asked of the clocks and sequences of a trace while its
//! packets are read, and when they are all read.

use std::io;

use timebase_descriptor::field::Malformed;
use timebase_resolver::{
    Clock, ClockGraph, ClockId, ConversionCache, EstimateCache, Estimates, FileTag, MachineId,
    Mended, Rejected, SeqId, Source, Unresolved,
};

use timebase_store::sort::Scratch;
use timebase_trace::wire::packet::Header;
use timebase_trace::wire::proto::RemoteClockSync;
use timebase_trace::{Interned, Interval, Kept};

use super::clocks::{Clocks, EventClock, Made, Placement, Whole};
use super::parts::{PartIx, Parts};
use super::remote;
use super::samples::Sample;
use super::sequence::{Sequence, SequenceIx, Sequences};
use super::snapshot::{self, Accepted, Snapshot};
use super::time::TraceTime;
use super::trace_clock::Claim;
use super::uses::Uses;
use super::waiting::{Counts, Settled, Stands, Untimed, Waiting, WaitingEvent, WaitingPacket};

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
    sequences: Sequences,
    interned: Interned,
    uses: Uses,
    /// For the end of the file that is read.
    waiting: Waiting,
    /// For the end of the import: snapshots, and what had no time at the end of its file.
    later: Waiting,
}

impl Place {
    /// A trace of which nothing was read. `interned` are the fields of
    /// `InternedData` that readers look up; what has no room in memory is put
    /// aside there. `whole` is what an earlier pass over the trace has found, for times that are
    /// told by all snapshots.
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

    /// Another file is read.
    pub fn begin(&mut self, file: FileTag, is_pinned: bool) {
        self.clocks.begin_file(file, is_pinned);
        self.sequences.begin();
    }

    /// The manifest says which clock is trace time (rule X36).
    pub fn set_trace_time(&mut self, clock: Clock) {
        self.clocks.trace_time.take(Claim::Settled(clock));
    }

    /// The part of a packet of the file that is read. `is_host` of one without machine_id.
    #[inline]
    pub fn part(&mut self, machine: MachineId, is_host: bool) -> PartIx {
        self.clocks.parts.find(machine, is_host)
    }

    /// The machine and the part of a packet that makes no host (rule X11): the host part if there is
    /// one.
    pub fn of_marker(&mut self) -> (u32, PartIx) {
        let parts = &mut self.clocks.parts;
        let part = parts.host_here().unwrap_or_else(|| parts.nobody());
        (parts[part].machine.0, part)
    }

    /// All parts, in the order of their first packets.
    pub fn parts(&self) -> &Parts {
        &self.clocks.parts
    }

    /// What happened to clocks besides what was asked for, since this was called last.
    #[inline]
    pub fn take_made(&mut self) -> Vec<Made> {
        std::mem::take(&mut self.clocks.made)
    }

    /// Whether there is any of that.
    #[inline]
    pub fn has_made(&self) -> bool {
        !self.clocks.made.is_empty()
    }

    /// What machines that ask each other for the time have said (rule X24).
    pub fn samples(&self) -> &[Sample] {
        &self.clocks.samples
    }

    /// A packet of a sequence comes (rules S1–S3). `default_clock` is that of its
    /// `trace_packet_defaults`, 0 if they name none.
    #[inline]
    pub fn enter(
        &mut self,
        header: &Header<'_>,
        part: PartIx,
        default_clock: Option<u32>,
    ) -> SequenceIx {
        self.sequences.update(header, part, default_clock)
    }

    /// The greatest time of a sequence before the packet that [`Place::enter`] was just told of; `None`
    /// if that is the first one of the sequence, or has no sequence.
    pub fn last_of(&mut self, sequence: SequenceIx) -> Option<Option<i64>> {
        let sequence = self.sequences.get(sequence);
        let has_more = sequence.is_named && sequence.packets > 1;
        has_more.then(|| sequence.times().map(|(_, last)| last))
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
    pub fn is_incremental(&self, header: &Header<'_>, part: PartIx, clock: u32) -> bool {
        let clock = self.clocks.clock_of(header, part, clock);
        let domain = self.clocks.domain(clock);
        domain.is_some_and(|domain| domain.incremental)
    }

    /// Whether any packet was of a sequence, or had to do with a clock.
    pub fn is_used(&self) -> bool {
        self.sequences.iter().next().is_some()
            || self.clocks.trace_time.is_converted
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

    /// A snapshot comes with a packet of a part (rules N, T, I1, X15).
    pub fn snapshot(
        &mut self,
        snapshot: &Snapshot,
        part: PartIx,
        packet: i64,
        sequence: SequenceIx,
    ) -> Taken {
        if self.has_just(snapshot, part) {
            return Taken::Known;
        }
        let sequence = self.sequences.get(sequence);
        match snapshot::add(&mut self.clocks, snapshot, part, packet, sequence) {
            Ok(accepted) => {
                self.accepted(snapshot, part);
                Taken::Accepted(accepted)
            }
            Err(rejected) => Taken::Rejected(rejected),
        }
    }

    /// A snapshot comes for who wants to know of no other thing than clocks.
    pub fn snapshot_ahead(
        &mut self,
        snapshot: &Snapshot,
        part: PartIx,
        packet: i64,
        sequence: SequenceIx,
    ) {
        if self.has_just(snapshot, part) {
            return;
        }
        let sequence = self.sequences.get(sequence);
        if snapshot::accept(&mut self.clocks, snapshot, part, packet, sequence).is_ok() {
            self.accepted(snapshot, part);
        }
    }

    /// Whether a snapshot is the pair that its part had last, once more (rule I1).
    fn has_just(&self, snapshot: &Snapshot, part: PartIx) -> bool {
        let reading = snapshot.pair_reading();
        reading.is_some() && self.clocks.parts[part].last_pair == reading
    }

    fn accepted(&mut self, snapshot: &Snapshot, part: PartIx) {
        let last = &mut self.clocks.parts[part].last_pair;
        *last = snapshot.pair_reading().or(*last);
    }

    /// What a machine and another one that it has asked for the time say of their clocks (rules X20
    /// to X24); the snapshots of the client (X19) have come before.
    pub fn remote_sync(
        &mut self,
        sync: &RemoteClockSync,
        packet: i64,
        (client, host): (PartIx, PartIx),
    ) {
        remote::add(&mut self.clocks, sync, packet, (client, host));
    }

    /// The manifest says that two clocks read this at one instant (rule X35).
    ///
    /// # Errors
    ///
    /// [`Rejected`].
    pub fn related(&mut self, readings: [(Clock, i64); 2]) -> Result<(), Rejected> {
        self.clocks.relate(readings)
    }

    /// Whether nothing of a part's packets decides any more what trace time is, and what is assumed
    /// of its clocks, so that it does not matter what is converted.
    pub fn is_settled(&self, part: PartIx) -> bool {
        self.clocks.trace_time.is_settled() && self.clocks.parts[part].is_settled
    }

    /// What a pass over the trace has found, at the end of it.
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

    /// Whether all snapshots are those that an earlier pass has found, if there was one.
    pub fn is_as_found(&mut self) -> bool {
        self.clocks.are_as_found()
    }

    /// Places a packet, with the snapshots seen until now (rule D1). It is to be
    /// called once with each packet whose place is not that of its snapshot, as it
    /// advances incremental clocks. `counts` is what its time counts for.
    #[inline]
    pub fn packet(
        &mut self,
        (id, counts): (i64, Counts),
        header: &Header<'_>,
        part: PartIx,
        ix: SequenceIx,
    ) -> Placement {
        let sequence = self.sequences.get(ix);
        let placement = self.clocks.place(header, part, sequence);
        self.note(header, part, ix, &placement);
        if placement.waits
            && let (Some(clock_id), Some(reason)) = (placement.clock_id, placement.unresolved)
        {
            let counts = match self.waits_for_trace_time() {
                true => counts,
                false => Counts::Nothing,
            };
            self.waiting.packet(&WaitingPacket {
                id,
                counts,
                sequence: ix,
                part,
                clock: self.clocks.clock_of(header, part, clock_id),
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
        (part, ix): (PartIx, SequenceIx),
        taken: &Taken,
        first_row: i64,
    ) -> Placement {
        let sequence = self.sequences.get(ix);
        let own = self.clocks.own_reading(header, part, sequence);
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
        self.note(header, part, ix, &placement);
        if let Taken::Accepted(accepted) = taken
            && ts.is_none()
            && !self.clocks.has_all()
        {
            placement.waits = true;
            self.readings_wait(first_row, Some((id, ix, part)), accepted);
        }
        placement
    }

    fn readings_wait(
        &mut self,
        first_row: i64,
        packet: Option<(i64, SequenceIx, PartIx)>,
        accepted: &Accepted,
    ) {
        let readings = accepted.readings.iter();
        let readings = readings.map(|reading| (reading.clock, reading.value));
        self.later.snapshot(first_row, packet, readings);
    }

    /// Readings that could not be placed wait, though their packet does not wait for them: those
    /// of a pair of a bundle, and of a client.
    pub fn pair_waits(&mut self, first_row: i64, accepted: &Accepted) {
        if accepted.ts().is_none() && !self.clocks.has_all() {
            self.readings_wait(first_row, None, accepted);
        }
    }

    /// The same of a snapshot that is nobody's.
    pub fn made_waits(
        &mut self,
        first_row: i64,
        readings: &[timebase_resolver::Reading],
        times: &[Option<TraceTime>],
    ) {
        if times.first().copied().flatten().is_none() && !self.clocks.has_all() {
            let readings = readings
                .iter()
                .map(|reading| (reading.clock, reading.value));
            self.later.snapshot(first_row, None, readings);
        }
    }

    #[inline]
    fn note(&mut self, header: &Header<'_>, part: PartIx, ix: SequenceIx, placement: &Placement) {
        // Whose clock it is is not settled while it waits (rule X29).
        if let Some(clock) = placement.clock_id.filter(|_| !placement.waits) {
            self.uses.count(self.clocks.clock_of(header, part, clock));
        }
        if let Some(ts) = placement.ts {
            self.sequences.get(ix).saw(ts);
            self.clocks.parts[part].first.get_or_insert(ts);
        }
    }

    /// The clock of events that have timestamps of their own; `None` if it is not
    /// known which it is.
    pub fn event_clock(&self, part: PartIx, clock: Option<(ClockId, SeqId)>) -> EventClock {
        self.clocks.event_clock(part, clock)
    }

    /// Whether an event that cannot be placed waits to know trace time, and not a snapshot (rule X25).
    pub fn waits_for_trace_time(&self) -> bool {
        self.clocks.trace_time.clock().is_none()
    }

    /// Whether something of the file that is read waits to know trace time, so that it is not known
    /// yet what the greatest time is (rules O2, X25).
    #[inline]
    pub fn has_pending(&self) -> bool {
        self.clocks.has_pending()
    }

    /// A packet has no time of its own, and stands behind that.
    #[cold]
    pub fn stands(&mut self, stands: &Stands) {
        self.waiting.stands(stands);
    }

    /// What such a packet is for the timeline.
    #[cold]
    pub fn untimed_waits(&mut self, untimed: &Untimed<'_>) {
        self.waiting.untimed(untimed);
    }

    /// Places an event that has a timestamp of its own (rules I, D1).
    #[inline]
    pub fn event(&mut self, clock: &EventClock, timestamp: u64) -> Result<TraceTime, Unresolved> {
        self.clocks.place_event(clock, timestamp)
    }

    /// Whether an event that cannot be placed for this reason may be when there are more snapshots
    /// (rule D2).
    pub fn may_resolve_later(&self, part: PartIx, reason: Unresolved) -> bool {
        self.clocks.may_resolve_later(part, reason)
    }

    /// A conversion would have been attempted here (rule T1).
    pub fn attempted(&mut self, part: PartIx) {
        let clock = self.clocks.parts[part].clock(ClockId::BOOTTIME, SeqId(0));
        self.clocks.attempt(part, clock);
    }

    /// An event that could not be placed waits: its row, and what it is for the timeline.
    #[cold]
    pub fn event_waits(&mut self, event: &WaitingEvent<'_>) {
        self.waiting.event(event);
    }

    /// The clock that a number means on a packet of a part.
    pub fn clock_of(&self, header: &Header<'_>, part: PartIx, id: u32) -> Clock {
        self.clocks.clock_of(header, part, id)
    }

    /// A file is read to its end: what of it waits is tried once more (rules D2, X29), in file order.
    /// What has no time even so waits for the end of the import.
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

    /// All files are read: what still waits is tried for the last time.
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
        waiting.settle(
            &mut self.clocks,
            &mut self.sequences,
            later,
            |settled, clocks| {
                if let Settled::Packet {
                    part,
                    clock,
                    result,
                    ..
                } = &settled
                {
                    uses.count(*clock);
                    if let Ok(ts) = result {
                        clocks.parts[*part].first.get_or_insert(*ts);
                    }
                }
                each(settled)
            },
        )
    }

    /// Does something with estimates by all snapshots and samples; `with` is also told which of
    /// the samples are used.
    pub fn with_estimates<T>(
        &mut self,
        with: impl FnOnce(&mut Self, &Estimates, &[bool]) -> T,
    ) -> T {
        let mut estimates = Estimates::new(std::mem::take(&mut self.clocks.graph));
        let used = remote::give(&self.clocks.samples, &mut estimates);
        let done = with(self, &estimates, &used);
        self.clocks.graph = estimates.into_graph();
        done
    }

    /// The clock graph.
    pub fn graph(&self) -> &ClockGraph {
        &self.clocks.graph
    }

    /// The clock graph, and what conversions remember.
    pub fn graph_and_cache(&mut self) -> (&ClockGraph, &mut ConversionCache) {
        (&self.clocks.graph, &mut self.clocks.cache)
    }

    /// The clock that `ts` is on (rules T1, T3, X25).
    pub fn trace_time(&self) -> Clock {
        self.clocks.trace_time.or_first()
    }

    /// A sequence of the file that is read, by the `machine_id` of its packets and its number.
    pub fn sequence(&self, machine_id: u32, id: u32) -> Option<&Sequence> {
        self.sequences.known(machine_id, id)
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
pub(crate) fn table_order(clock: &Clock) -> (MachineId, ClockId, SeqId, i64) {
    (clock.machine, clock.id, clock.seq, file_key(clock.file))
}

/// The file whose own a clock is, in the tables' keys: -1 if it is the machine's.
pub(crate) fn file_key(file: FileTag) -> i64 {
    match file {
        FileTag::SHARED => -1,
        own => own.id.into(),
    }
}

/// The file whose own a clock is, as users see it; `None` if it is the machine's.
pub(crate) fn file_id(file: FileTag) -> Option<u32> {
    (file != FileTag::SHARED).then_some(file.id)
}

/// What to call a snapshot in a message.
pub(crate) fn called(source: Source) -> &'static str {
    match source {
        Source::Bundle => "the bundle's pair of clocks",
        Source::RemoteSync => "the pair of clocks of two machines",
        Source::Manifest => "the manifest's statement about clocks",
        Source::Assumed => "the assumption about the machine's clocks",
        _ => "the clock snapshot",
    }
}
