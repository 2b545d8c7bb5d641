//! Which clock something was read from, and where that puts it on trace time
//! (rules C4–C6, S4, V4, V5, T, D1).
//!
//! # Design
//!
//! An import by lines has two clock graphs. The one of all snapshots ([`Whole`]), which an earlier
//! pass over the trace has found, tells times, and what a clock counts. The one that grows as the
//! trace is read decides what the order of the file decides: which snapshots are accepted (rules N),
//! which clock is trace time (T1), what is assumed of a machine (X26). So all of that is as if
//! nobody had read ahead.
//!
//! To write down in the first pass what was decided of each snapshot, and to follow that in the
//! second, was the alternative: it saves the memory of a graph, some tens of bytes a snapshot, and
//! is a second way through these rules, taken by half of all imports only.

mod bridge;

use timebase_resolver::{
    Clock, ClockGraph, ClockId, ClockNs, ConversionCache, Domain, EstimateCache, Estimates,
    FileTag, Mended, ReadAt, Reading, Rejected, SeqId, SnapshotId, Source, Ticks, Unresolved,
};
use timebase_trace::wire::packet::{Header, PacketType};

use super::parts::{PartIx, Parts};
use super::samples::Samples;
use super::sequence::Sequence;
use super::time::TraceTime;
use super::trace_clock::{Claim, TraceClock};

/// Where a packet stands in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub ts: Option<TraceTime>,
    /// The clock it was read from.
    pub clock_id: Option<u32>,
    /// The absolute reading.
    pub clock_ts: Option<Ticks>,
    pub unresolved: Option<Unresolved>,
    /// Whether it is tried once more when all snapshots are known (rule D2).
    pub waits: bool,
}

/// The clock of events that have timestamps of their own (rules I).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventClock {
    Known {
        part: PartIx,
        clock: Clock,
        /// Nanoseconds in its unit.
        unit: i64,
    },
    /// Nothing can be placed by it, whatever snapshots come.
    Unusable {
        part: PartIx,
        /// `None` if not even which clock it is is known.
        clock: Option<Clock>,
        reason: Unresolved,
    },
}

impl EventClock {
    /// The clock, if it is known which.
    pub fn clock(&self) -> Option<Clock> {
        match *self {
            EventClock::Known { clock, .. } => Some(clock),
            EventClock::Unusable { clock, .. } => clock,
        }
    }

    /// What it was read on.
    pub fn part(&self) -> PartIx {
        match *self {
            EventClock::Known { part, .. } | EventClock::Unusable { part, .. } => part,
        }
    }
}

/// What an earlier pass over a trace has found.
#[derive(Debug)]
pub(crate) struct Whole {
    /// By all snapshots of the trace.
    pub estimates: Estimates,
    pub cache: EstimateCache,
    /// The same of clocks that wrapped or restarted, if any did (rule R14).
    pub mended: Option<Mended>,
    /// Rule T1, at the end of it; `None` if nothing was converted. What is placed before that is
    /// settled is placed by it, too.
    pub trace_time: Option<Clock>,
}

/// What happened to the clocks besides what was asked for, for the tables and the log.
#[derive(Debug)]
pub(crate) enum Made {
    /// Two clocks are assumed to read the same (rule X26), the manifest or a synchronization says what
    /// they read (rules X35, X21).
    Snapshot {
        source: Source,
        /// Of whom it is, if not of the whole.
        part: Option<PartIx>,
        id: SnapshotId,
        readings: Vec<Reading>,
        times: Vec<Option<TraceTime>>,
    },
    /// No clock of a part leads to trace time, and nothing can be assumed.
    Unrelatable { part: PartIx, trace_time: Clock },
    /// A pair of rule X21 that cannot be.
    NotSynced { part: PartIx, rejected: Rejected },
}

/// The clocks of a trace while it is read.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// The snapshots seen until now.
    pub graph: ClockGraph,
    pub cache: ConversionCache,
    /// By which times are told, if not by the graph.
    whole: Option<Box<Whole>>,
    /// Rules T1, X25.
    pub trace_time: TraceClock,
    pub parts: Parts,
    /// What happened since the last packet.
    pub made: Vec<Made>,
    /// Rule X24.
    pub samples: Samples,
    /// Parts of which something waits to know trace time (rule X25), and a clock that it was read on, in
    /// the order of the first.
    pending: Vec<(PartIx, Clock)>,
    /// Whether a file is read to its end, so that who waits to know trace time waits no more.
    is_at_end: bool,
}

impl Clocks {
    pub fn new(whole: Option<Whole>) -> Self {
        Clocks {
            graph: ClockGraph::new(),
            cache: ConversionCache::new(),
            whole: whole.map(Box::new),
            trace_time: TraceClock::default(),
            parts: Parts::default(),
            made: Vec::new(),
            samples: Samples::default(),
            pending: Vec::new(),
            is_at_end: false,
        }
    }

    /// Another file is read.
    pub fn begin_file(&mut self, file: FileTag, is_pinned: bool) {
        self.parts.begin(file, is_pinned);
        self.is_at_end = false;
    }

    /// A file is read to its end: who waits to know trace time waits no more (rule X25), and parts that
    /// have got clocks of their own settle their ways (rule X29).
    pub fn end_file(&mut self) {
        self.is_at_end = true;
        for part in self.parts.here() {
            let of = &self.parts[part];
            if of.is_own() && !of.is_settled {
                bridge::settle(self, part);
            }
        }
        for (part, clock) in std::mem::take(&mut self.pending) {
            self.attempt(part, clock);
        }
    }

    /// Whether something of the file that is read waits to know trace time, so that it is not known
    /// yet what the greatest time is (rules O2, X25).
    #[inline]
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// All files are read. Where nothing was converted, trace time is what it would have been.
    pub fn end(&mut self) {
        if self.trace_time.clock().is_none() {
            let clock = self.trace_time.or_first();
            self.trace_time.take(Claim::Settled(clock));
        }
    }

    /// The manifest says which clock is trace time (rule X36).
    pub fn set_trace_time(&mut self, clock: Clock) {
        self.trace_time.take(Claim::Settled(clock));
    }

    /// Whether an event that cannot be placed waits to know trace time, and not a snapshot (rule X25).
    pub fn waits_for_trace_time(&self) -> bool {
        self.trace_time.clock().is_none()
    }

    /// Whether nothing of a part's packets decides any more what trace time is, and what is assumed
    /// of its clocks, so that it does not matter what is converted.
    pub fn is_settled(&self, part: PartIx) -> bool {
        self.trace_time.is_settled() && self.parts[part].is_settled
    }

    /// Two clocks read this at one instant, says the manifest (rule X35).
    pub fn relate(&mut self, readings: [(Clock, i64); 2]) -> Result<(), Rejected> {
        let readings = readings.map(|(clock, value)| Reading {
            clock,
            value,
            unit: 1,
            incremental: false,
        });
        self.make(Source::Manifest, None, readings.to_vec())
    }

    /// Adds a snapshot that is no packet's own.
    pub fn make(
        &mut self,
        source: Source,
        part: Option<PartIx>,
        readings: Vec<Reading>,
    ) -> Result<(), Rejected> {
        let trace_time = Some(self.trace_time.or_first());
        let id = self.graph.add_snapshot(source, &readings, trace_time)?;
        let (times, _) = self.place_readings(&readings);
        self.made.push(Made::Snapshot {
            source,
            part,
            id,
            readings,
            times,
        });
        Ok(())
    }

    /// Places a packet in time, with the snapshots seen until now (rule D1). Its
    /// timestamp advances an incremental clock (rule V5), unless it is a
    /// `clock_snapshot`.
    #[inline]
    pub fn place(
        &mut self,
        header: &Header<'_>,
        part: PartIx,
        sequence: &mut Sequence,
    ) -> Placement {
        let lost = header.needs_state() && !sequence.is_valid();
        let Some(timestamp) = header.timestamp else {
            return Placement {
                unresolved: lost.then_some(Unresolved::IncrementalStateLost),
                ..Placement::default()
            };
        };
        let choice = self.choose(header, part, sequence);
        if lost {
            return Placement {
                clock_id: choice.clock_id(),
                unresolved: Some(Unresolved::IncrementalStateLost), // S4
                ..Placement::default()
            };
        }
        match choice {
            Choice::TraceTime => self.as_trace_time(part, timestamp),
            Choice::Clock(id) => self.read(header, part, sequence, id, timestamp),
            Choice::ChromeMonotonic => {
                let monotonic = ClockId::MONOTONIC.get();
                let placement = self.read(header, part, sequence, monotonic, timestamp);
                match placement.ts {
                    Some(_) => placement,
                    None => self.as_trace_time(part, timestamp),
                }
            }
        }
    }

    /// Rules C4, C6 and X17.
    fn choose(&self, header: &Header<'_>, part: PartIx, sequence: &Sequence) -> Choice {
        let own = header.timestamp_clock_id;
        let named = if own != 0 {
            own
        } else {
            sequence.default_clock()
        };
        match header.packet_type() {
            Some(PacketType::CHROME_EVENTS | PacketType::CHROME_METADATA)
                if named == 0 || named == ClockId::MONOTONIC.get() =>
            {
                Choice::ChromeMonotonic
            }
            Some(PacketType::SERVICE_EVENT) if own == 0 => Choice::Clock(ClockId::BOOTTIME.get()),
            _ if named != 0 => Choice::Clock(named),
            _ => match self.parts.default_clock(part) {
                0 => Choice::TraceTime,
                default => Choice::Clock(default),
            },
        }
    }

    /// Whether no clock is known that a timestamp was read from (rule T2).
    pub fn names_none(&self, header: &Header<'_>, part: PartIx, sequence: &Sequence) -> bool {
        matches!(self.choose(header, part, sequence), Choice::TraceTime)
    }

    /// A timestamp that is taken as trace time, and so as a reading of it; of another part than
    /// that whose clock it is, as a reading of no clock that it has a name for.
    fn as_trace_time(&self, part: PartIx, timestamp: u64) -> Placement {
        let ticks = Ticks::recorded(timestamp);
        let trace_time = self.trace_time.or_first();
        let is_own = self.parts[part].clock(trace_time.id, SeqId(0)) == trace_time;
        Placement {
            ts: ticks.map(|ticks| TraceTime(ticks.0)),
            clock_id: is_own.then_some(trace_time.id.get()),
            clock_ts: ticks.filter(|_| is_own),
            unresolved: ticks.is_none().then_some(Unresolved::Overflow),
            waits: false,
        }
    }

    /// A reading of a clock.
    fn read(
        &mut self,
        header: &Header<'_>,
        part: PartIx,
        sequence: &mut Sequence,
        id: u32,
        timestamp: u64,
    ) -> Placement {
        let clock = self.clock_of(header, part, id);
        let (unit, incremental) = match self.domain(clock) {
            Some(domain) => (domain.unit, domain.incremental),
            None => (1, false),
        };
        let absolute = absolute(incremental, id, sequence, timestamp);
        let advances = incremental && header.packet_type() != Some(PacketType::CLOCK_SNAPSHOT);
        if let Some(absolute) = absolute.filter(|_| advances) {
            sequence.set_accumulated(id, absolute);
        }
        let clock_ts = absolute.and_then(Ticks::recorded);
        let by = reader(part, header.trusted_packet_sequence_id);
        let result = if clock.lacks_sequence() {
            Err(Unresolved::NoSequenceId) // C5
        } else {
            self.attempt(part, clock); // T1, however it ends
            match (absolute, clock_ts) {
                (None, _) => Err(Unresolved::NoBase),
                (Some(_), None) => Err(self.overflow(clock)),
                (Some(_), Some(ticks)) => self.resolve_in_file(clock, ticks, unit, by),
            }
        };
        Placement {
            ts: result.ok(),
            clock_id: Some(id),
            clock_ts,
            unresolved: result.err(),
            waits: match result {
                // A reading that overflows by itself never fits.
                Err(Unresolved::Overflow) => clock_ts.is_some() && !self.has_all(),
                Err(reason) => self.may_resolve_later(part, reason),
                Ok(_) => false,
            },
        }
    }

    /// The clock and the reading of a `clock_snapshot` packet's own timestamp,
    /// which does not advance the clock (rule V5).
    pub fn own_reading(&self, header: &Header<'_>, part: PartIx, sequence: &Sequence) -> Placement {
        let Some(timestamp) = header.timestamp else {
            return Placement::default();
        };
        let Some(id) = self.choose(header, part, sequence).clock_id() else {
            return Placement::default();
        };
        // As the snapshots until now have it, since nothing is converted by it.
        let domain = self.graph.domain(self.clock_of(header, part, id));
        let is_delta = domain.is_some_and(|domain| domain.incremental);
        let absolute = absolute(is_delta, id, sequence, timestamp);
        Placement {
            clock_id: Some(id),
            clock_ts: absolute.and_then(Ticks::recorded),
            ..Placement::default()
        }
    }

    /// The trace time of a reading (rule V4).
    #[inline]
    pub fn resolve(
        &mut self,
        clock: Clock,
        ticks: Ticks,
        unit: i64,
    ) -> Result<TraceTime, Unresolved> {
        let Some(to) = self.target() else {
            return Err(Unresolved::NoTarget);
        };
        if clock == to
            && let Some(value) = ticks.in_units_of(unit)
        {
            return Ok(TraceTime::reads(value));
        }
        let ts = match self.whole.as_deref_mut() {
            Some(Whole {
                estimates, cache, ..
            }) => estimates.convert_ticks(clock, ticks, unit, to, cache)?,
            None => {
                let (graph, cache) = (&self.graph, &mut self.cache);
                graph.convert_ticks(clock, ticks, unit, to, cache)?
            }
        };
        Ok(TraceTime::reads(ts))
    }

    /// The trace time of a reading that stands where the file is read, and who wrote it. Where that is may say
    /// of which life and turn of its clock it is (rule R14).
    #[inline]
    fn resolve_in_file(
        &mut self,
        clock: Clock,
        ticks: Ticks,
        unit: i64,
        by: u64,
    ) -> Result<TraceTime, Unresolved> {
        let is_mended = |whole: &Whole| whole.mended.is_some();
        match self.whole.as_deref().is_some_and(is_mended) {
            true => self.resolve_mended(clock, ticks, unit, by),
            false => self.resolve(clock, ticks, unit),
        }
    }

    #[cold]
    fn resolve_mended(
        &mut self,
        clock: Clock,
        ticks: Ticks,
        unit: i64,
        by: u64,
    ) -> Result<TraceTime, Unresolved> {
        let snapshots = self.graph.snapshots();
        let mended = |clocks: &mut Clocks, is_other: bool| {
            let (to, value) = (clocks.target()?, ticks.in_units_of(unit)?);
            let mended = clocks.whole.as_mut()?.mended.as_mut()?;
            let done = match is_other {
                true => Some(mended.convert_other(clock, value, to)),
                false => mended.convert(clock, value, to, ReadAt { by, snapshots }),
            };
            done?.ok().map(TraceTime::reads)
        };
        if let Some(ts) = mended(self, false) {
            return Ok(ts);
        }
        match self.resolve(clock, ticks, unit) {
            Err(Unresolved::NonMonotonic) => mended(self, true).ok_or(Unresolved::NonMonotonic),
            result => result,
        }
    }

    /// What times are told on; `None` while trace time is not known (rule X25).
    #[inline]
    fn target(&self) -> Option<Clock> {
        match &self.whole {
            Some(whole) => whole.trace_time,
            None => self.trace_time.clock(),
        }
    }

    /// The same of a value in nanoseconds.
    fn convert(&mut self, clock: Clock, value: ClockNs) -> Result<ClockNs, Unresolved> {
        let to = self.target().ok_or(Unresolved::NoTarget)?;
        match self.whole.as_deref_mut() {
            Some(Whole {
                estimates, cache, ..
            }) => estimates.convert(clock, value, to, cache),
            None => self.graph.convert(clock, value, to, &mut self.cache),
        }
    }

    /// The reason for a reading that does not fit.
    pub fn overflow(&mut self, clock: Clock) -> Unresolved {
        let Some(to) = self.target() else {
            return Unresolved::NoTarget;
        };
        match self.whole.as_deref_mut() {
            Some(Whole {
                estimates, cache, ..
            }) => estimates.graph().overflow(clock, to, cache.conversions()),
            None => self.graph.overflow(clock, to, &mut self.cache),
        }
    }

    /// The clock that a number means on a packet of a part (rules C2, X14).
    #[inline]
    pub fn clock_of(&self, header: &Header<'_>, part: PartIx, id: u32) -> Clock {
        let seq = SeqId(header.trusted_packet_sequence_id);
        self.parts[part].clock(ClockId(id), seq)
    }

    /// Whether a packet's timestamp is a delta if it is of this clock (rule V5).
    pub fn is_incremental(&self, header: &Header<'_>, part: PartIx, clock: u32) -> bool {
        let domain = self.domain(self.clock_of(header, part, clock));
        domain.is_some_and(|domain| domain.incremental)
    }

    /// A conversion of an event of a part would have been attempted here (rule T1).
    pub fn attempted(&mut self, part: PartIx) {
        let clock = self.parts[part].clock(ClockId::BOOTTIME, SeqId(0));
        self.attempt(part, clock);
    }

    /// A conversion of something that a part holds is attempted (rules T1, X25, X26).
    #[inline]
    pub fn attempt(&mut self, part: PartIx, clock: Clock) {
        if !self.parts[part].is_settled {
            self.attempt_first(part, clock);
        }
    }

    #[cold]
    #[inline(never)]
    fn attempt_first(&mut self, part: PartIx, clock: Clock) {
        let of = &self.parts[part];
        if self.trace_time.clock().is_none() {
            if !(of.is_host || self.is_at_end) {
                if self.pending.iter().all(|(other, _)| *other != part) {
                    self.pending.push((part, clock));
                }
                return;
            }
            let boottime = of.shared(ClockId::BOOTTIME);
            self.trace_time.take(Claim::Settled(boottime));
        }
        self.trace_time.is_converted = true;
        let of = &mut self.parts[part];
        if of.is_private(clock.id) {
            return; // X37: only the pin places it
        }
        of.used_shared |= !of.is_own();
        bridge::settle(self, part);
    }

    /// Where the nearest snapshot puts a reading, of those seen until now.
    pub fn nearest(&mut self, clock: Clock, ticks: Ticks) -> Option<TraceTime> {
        let unit = self.graph.domain(clock).map_or(1, |domain| domain.unit);
        let to = self.trace_time.or_first();
        let (graph, cache) = (&self.graph, &mut self.cache);
        let ts = graph.convert_ticks(clock, ticks, unit, to, cache);
        ts.ok().map(TraceTime::reads)
    }

    /// Where the nearest snapshot puts a time, on a clock.
    pub fn back(&mut self, TraceTime(ts): TraceTime, clock: Clock) -> Option<i64> {
        let from = self.trace_time.or_first();
        let (graph, cache) = (&self.graph, &mut self.cache);
        let reading = graph.convert(from, ClockNs(ts), clock, cache);
        reading.ok().map(|ClockNs(reading)| reading)
    }

    /// Whether times are told by all snapshots of the trace.
    pub fn has_all(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether a later snapshot may help what cannot be placed now (rule D2).
    pub fn may_resolve_later(&self, part: PartIx, reason: Unresolved) -> bool {
        let may_change = !self.has_all() || self.parts[part].may_become_own();
        may_change && reason.may_resolve_later()
    }

    /// What is known of a clock: whatever any snapshot says, where all are known.
    pub fn domain(&self, clock: Clock) -> Option<&Domain> {
        match &self.whole {
            Some(whole) => whole.estimates.graph().domain(clock),
            None => self.graph.domain(clock),
        }
    }

    /// Nanoseconds in a unit of a clock.
    pub fn unit(&self, clock: Clock) -> i64 {
        self.domain(clock).map_or(1, |domain| domain.unit)
    }

    /// Whether the snapshots seen until now place any of these readings.
    pub fn places(&mut self, readings: &[Reading]) -> bool {
        let Some(trace_time) = self.trace_time.clock() else {
            return false;
        };
        let mut results = readings.iter().map(|reading| {
            let value = ClockNs(reading.value);
            let (graph, cache) = (&self.graph, &mut self.cache);
            graph.convert(reading.clock, value, trace_time, cache)
        });
        results.any(|result| result.is_ok())
    }

    /// When all packets are read: whether the clocks of the trace are those of what an earlier pass has
    /// found, which is so unless it has been changed since; or whether there was no such pass.
    pub fn are_as_found(&mut self) -> bool {
        // Nobody asks for times any more, and it takes memory.
        self.whole.take().is_none_or(|whole| {
            whole.trace_time == self.trace_time.clock()
                && whole.estimates.graph().domains() == self.graph.domains()
        })
    }

    /// What an earlier pass has found, for the next one.
    pub fn give_back(&mut self) -> Option<Whole> {
        self.whole.take().map(|whole| *whole)
    }

    /// The clock of events with timestamps of their own.
    pub fn event_clock(&self, part: PartIx, clock: Option<(ClockId, SeqId)>) -> EventClock {
        let clock = clock.map(|(id, seq)| self.parts[part].clock(id, seq));
        match clock {
            None => EventClock::Unusable {
                part,
                clock,
                reason: Unresolved::UnknownClock,
            },
            Some(known) if known.lacks_sequence() => EventClock::Unusable {
                part,
                clock,
                reason: Unresolved::NoSequenceId,
            },
            Some(clock) => EventClock::Known {
                part,
                clock,
                unit: self.unit(clock),
            },
        }
    }

    /// Places an event that has a timestamp of its own (rules I).
    #[inline]
    pub fn place_event(
        &mut self,
        clock: &EventClock,
        timestamp: u64,
    ) -> Result<TraceTime, Unresolved> {
        match *clock {
            EventClock::Known { part, clock, unit } => {
                self.attempt(part, clock);
                match Ticks::recorded(timestamp) {
                    // Events with clocks of their own are of no sequence.
                    Some(ticks) => {
                        self.resolve_in_file(clock, ticks, unit, reader(part, clock.seq.0))
                    }
                    None => Err(self.overflow(clock)),
                }
            }
            EventClock::Unusable { reason, .. } => Err(reason),
        }
    }

    /// Rule N6: the trace time of each reading of a snapshot, and why the first
    /// has none of its own.
    pub fn place_readings(
        &mut self,
        readings: &[Reading],
    ) -> (Vec<Option<TraceTime>>, Option<Unresolved>) {
        let times: Vec<Result<ClockNs, Unresolved>> = readings
            .iter()
            .map(|reading| {
                let value = ClockNs(reading.value);
                self.convert(reading.clock, value)
            })
            .collect();
        let other = times.iter().find_map(|time| time.ok());
        let unresolved = times.first().and_then(|time| time.err());
        let times = times
            .into_iter()
            .map(|time| time.ok().or(other).map(TraceTime::reads));
        (times.collect(), unresolved)
    }
}

/// Who wrote something, by the part and the number of the sequence.
fn reader(part: PartIx, sequence: u32) -> u64 {
    u64::from(part.0) << 32 | u64::from(sequence)
}

/// The absolute reading that a timestamp of a clock means (rule V5). `None` is a delta without a base.
fn absolute(is_delta: bool, clock: u32, sequence: &Sequence, timestamp: u64) -> Option<u64> {
    match is_delta {
        true => sequence
            .accumulated(clock)
            .map(|last| last.saturating_add(timestamp)),
        false => Some(timestamp),
    }
}

enum Choice {
    Clock(u32),
    ChromeMonotonic,
    TraceTime,
}

impl Choice {
    fn clock_id(&self) -> Option<u32> {
        match self {
            Choice::Clock(id) => Some(*id),
            Choice::ChromeMonotonic => Some(ClockId::MONOTONIC.get()),
            Choice::TraceTime => None,
        }
    }
}
