//! Finds the clock that each timestamp was read from, and converts the reading to trace time
//! (rules C4–C6, S4, V4, V5, T, D1).
//!
//! # Design
//!
//! An import by lines has two clock graphs. An earlier pass over the trace made the graph of all
//! snapshots ([`Whole`]), which gives times and the properties of clocks. The other graph grows
//! while the trace is read. It decides everything that depends on the order of the file: which
//! snapshots are accepted (rules N), which clock is trace time (T1), what is assumed about a
//! machine (X26). So these decisions are the same as without the earlier pass.
//!
//! The alternative was to note each decision about a snapshot in the first pass, and to follow the
//! notes in the second. That would save the memory of a graph, some tens of bytes for each
//! snapshot. But it would be a second implementation of these rules, and only half of all imports
//! would use it.

mod bridge;

use timebase_resolver::{
    Clock, ClockGraph, ClockId, ClockNs, ClockUnit, ConversionCache, EstimateCache, Estimates,
    FileTag, Mended, ReadAt, Reading, Rejected, SeqId, SnapshotId, Source, Ticks, Unresolved,
};
use timebase_trace::wire::packet::{Header, PacketType};

use super::aligned::{AlignedBy, AlignedRelation};
use super::parts::{PartIx, Parts};
use super::samples::Samples;
use super::sequence::Sequence;
use super::time::TraceTime;
use super::trace_clock::{Claim, TraceClock};

/// The time of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub ts: Option<TraceTime>,
    /// The clock that the timestamp was read from.
    pub clock_id: Option<u32>,
    /// The absolute reading.
    pub clock_ts: Option<Ticks>,
    pub unresolved: Option<Unresolved>,
    /// Whether the packet is tried again when all snapshots are known (rule D2).
    pub waits: bool,
}

/// The clock of events that have their own timestamps (rules I).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventClock {
    Known {
        part: PartIx,
        clock: Clock,
        /// The nanoseconds in its unit.
        unit: i64,
    },
    /// No snapshot can make this clock usable.
    Unusable {
        part: PartIx,
        /// `None` if even the clock is unknown.
        clock: Option<Clock>,
        reason: Unresolved,
    },
}

impl EventClock {
    /// The clock, if it is known.
    pub fn clock(&self) -> Option<Clock> {
        match *self {
            EventClock::Known { clock, .. } => Some(clock),
            EventClock::Unusable { clock, .. } => clock,
        }
    }

    /// The part that the events belong to.
    pub fn part(&self) -> PartIx {
        match *self {
            EventClock::Known { part, .. } | EventClock::Unusable { part, .. } => part,
        }
    }
}

/// The results of an earlier pass over a trace.
#[derive(Debug)]
pub(crate) struct Whole {
    /// From all snapshots of the trace.
    pub estimates: Estimates,
    pub cache: EstimateCache,
    /// The estimates for clocks that wrapped or restarted, if any did (rule R14).
    pub mended: Option<Mended>,
    /// The trace time at the end of the pass (rule T1); `None` if nothing was converted. It also
    /// serves for times that are needed before the current pass settles it.
    pub trace_time: Option<Clock>,
}

/// Side effects on the clocks, for the tables and the log.
#[derive(Debug)]
pub(crate) enum ClockEffect {
    /// Two clocks are assumed to have equal readings (rule X26), or the manifest or a
    /// synchronization gives their readings (rules X35, X21).
    Snapshot {
        source: Source,
        /// The part that it is for, unless it is for the whole trace.
        part: Option<PartIx>,
        id: SnapshotId,
        readings: Vec<Reading>,
        times: Vec<Option<TraceTime>>,
    },
    /// No clock of a part has a path to trace time, and nothing can be assumed.
    Unrelatable { part: PartIx, trace_time: Clock },
    /// Not exactly two files have this synchronization, of which one issued it (rule JS35).
    UnpairedSync { id: Box<str>, files: usize },
    /// An impossible pair of rule X21.
    NotSynced { part: PartIx, rejected: Rejected },
}

/// The clocks of a trace while the trace is read.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// The snapshots seen until now.
    pub graph: ClockGraph,
    pub cache: ConversionCache,
    /// Gives times instead of the graph, if there is one.
    whole: Option<Box<Whole>>,
    /// The clock of trace time (rules T1, X25).
    pub trace_time: TraceClock,
    pub parts: Parts,
    /// The side effects since the last packet.
    pub made: Vec<ClockEffect>,
    /// Comparisons of the clocks of two machines (rule X24).
    pub samples: Samples,
    /// Relations that messages prove.
    pub aligned: Vec<AlignedRelation>,
    /// The parts in which something waits for trace time to be known (rule X25), each with the
    /// clock of the first such reading, in the order of these readings.
    pending: Vec<(PartIx, Clock)>,
    /// Whether the end of a file is reached, so that nothing waits for trace time any longer.
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
            aligned: Vec::new(),
            pending: Vec::new(),
            is_at_end: false,
        }
    }

    /// Begins the next file.
    pub fn begin_file(
        &mut self,
        file: FileTag,
        is_pinned: bool,
        has_own_clock: bool,
        default_clock: Option<ClockId>,
    ) {
        self.parts.begin(file, is_pinned, has_own_clock, default_clock);
        self.is_at_end = false;
    }

    /// Ends a file: nothing waits for trace time any longer (rule X25), and parts that now have
    /// their own clocks settle their paths (rule X29).
    pub fn end_file(&mut self) {
        self.is_at_end = true;
        for part in self.parts.of_current_file() {
            let of = &self.parts[part];
            if of.is_own() && !of.is_settled {
                bridge::settle(self, part);
            }
        }
        for (part, clock) in std::mem::take(&mut self.pending) {
            self.attempt(part, clock);
        }
    }

    /// Whether something in the current file waits for trace time to be known, so that the greatest
    /// time is still unknown (rules O2, X25).
    #[inline]
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Ends the last file. If nothing was converted, trace time is the clock that a first
    /// conversion would have chosen.
    pub fn end(&mut self) {
        if self.trace_time.clock().is_none() {
            let clock = self.trace_time.or_first();
            self.trace_time.take(Claim::Settled(clock));
        }
        bridge::relate_json(self);
    }

    /// Sets trace time to the manifest's clock (rule X36).
    pub fn set_trace_time(&mut self, clock: Clock) {
        self.trace_time.take(Claim::Settled(clock));
    }

    /// Whether an event without a time waits for trace time to be known, not for a snapshot
    /// (rule X25).
    pub fn waits_for_trace_time(&self) -> bool {
        self.trace_time.clock().is_none()
    }

    /// Whether further packets of a part can no longer decide what trace time is, or what is
    /// assumed about its clocks. Then it does not matter what is converted.
    pub fn is_settled(&self, part: PartIx) -> bool {
        self.trace_time.is_settled() && self.parts[part].is_settled
    }

    /// The same for packets of all parts so far.
    pub fn are_settled(&self) -> bool {
        self.trace_time.is_settled() && self.parts.iter().all(|part| part.is_settled)
    }

    /// Adds the manifest's statement that two clocks have these readings at one instant (rule X35).
    pub fn relate(&mut self, readings: [(Clock, i64); 2]) -> Result<(), Rejected> {
        let readings =
            readings.map(|(clock, value)| Reading { clock, value, unit: 1, incremental: false });
        self.make(Source::Manifest, None, readings.to_vec())
    }

    /// Adds a relation that messages prove, corner by corner (rule AL20), or bounds of one that is measured
    /// (rule AL18).
    pub fn align(&mut self, relation: &AlignedRelation) {
        let AlignedRelation { a, b, by } = relation;
        let knots = match by {
            AlignedBy::Lines { knots, .. } => knots.as_slice(),
            AlignedBy::Bounds(_) => &[],
        };
        for knot in knots {
            let Some(value) = knot.value.checked_add(knot.offset) else { continue };
            let reading = |clock, value| Reading { clock, value, unit: 1, incremental: false };
            let readings = vec![reading(*a, knot.value), reading(*b, value)];
            // It is not rejected: each of its clocks has one reading, in its own unit.
            let _ = self.make(Source::Causality, None, readings);
        }
        self.aligned.push(relation.clone());
    }

    /// Adds a snapshot that has no packet of its own.
    pub fn make(
        &mut self,
        source: Source,
        part: Option<PartIx>,
        readings: Vec<Reading>,
    ) -> Result<(), Rejected> {
        let trace_time = Some(self.trace_time.or_first());
        let id = self.graph.add_snapshot(source, &readings, trace_time)?;
        let (times, _) = self.place_readings(&readings);
        self.made.push(ClockEffect::Snapshot { source, part, id, readings, times });
        Ok(())
    }

    /// Places a packet in time, with the snapshots seen until now (rule D1). Its timestamp advances
    /// an incremental clock (rule V5), unless the packet is a `clock_snapshot`.
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

    /// Places a reading of the private clock of a file in JSON (rule JS31). `None` is a time that does not
    /// fit. Unless trace time is that clock, or all snapshots are known, the reading waits until all files
    /// are read (rule X29).
    pub fn place_on_file(&mut self, part: PartIx, ticks: Option<Ticks>) -> Placement {
        let clock = self.parts[part].clock(ClockId::TRACE_FILE, SeqId(0));
        let result = match ticks {
            None => Err(Unresolved::Overflow),
            Some(_) if !self.has_all() && self.trace_time.clock() != Some(clock) => {
                Err(Unresolved::NoPath)
            }
            Some(ticks) => {
                self.attempt(part, clock);
                self.resolve(clock, ticks, 1)
            }
        };
        Placement {
            ts: result.ok(),
            clock_id: Some(ClockId::TRACE_FILE.get()),
            clock_ts: ticks,
            unresolved: result.err(),
            waits: ticks.is_some() && result.is_err() && !self.has_all(),
        }
    }

    /// Chooses the clock of a timestamp by rules C4, C6 and X17.
    fn choose(&self, header: &Header<'_>, part: PartIx, sequence: &Sequence) -> Choice {
        let own = header.timestamp_clock_id;
        let named = if own != 0 { own } else { sequence.default_clock() };
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

    /// Whether the clock of a timestamp is unknown (rule T2).
    pub fn names_none(&self, header: &Header<'_>, part: PartIx, sequence: &Sequence) -> bool {
        matches!(self.choose(header, part, sequence), Choice::TraceTime)
    }

    /// Takes a timestamp as trace time, and so as a reading of that clock. In a part that does not
    /// own that clock, it is a reading of a clock for which the part has no name.
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

    /// Places a reading of a clock.
    fn read(
        &mut self,
        header: &Header<'_>,
        part: PartIx,
        sequence: &mut Sequence,
        id: u32,
        timestamp: u64,
    ) -> Placement {
        let clock = self.clock_of(header, part, id);
        let (unit, incremental) = match self.unit_of(clock) {
            Some(unit) => (unit.ns, unit.incremental),
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
        // The snapshots until now decide, because nothing is converted with the result.
        let unit = self.graph.unit(self.clock_of(header, part, id));
        let is_delta = unit.is_some_and(|unit| unit.incremental);
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
            Some(Whole { estimates, cache, .. }) => {
                estimates.convert_ticks(clock, ticks, unit, to, cache)?
            }
            None => {
                let (graph, cache) = (&self.graph, &mut self.cache);
                graph.convert_ticks(clock, ticks, unit, to, cache)?
            }
        };
        Ok(TraceTime::reads(ts))
    }

    /// The trace time of a reading at the current position in the file, by its writer. The position
    /// can tell which life and which turn of the clock the reading belongs to (rule R14).
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

    /// The clock that times are converted to; `None` while trace time is unknown (rule X25).
    #[inline]
    fn target(&self) -> Option<Clock> {
        match &self.whole {
            Some(whole) => whole.trace_time,
            None => self.trace_time.clock(),
        }
    }

    /// Converts a value in nanoseconds to trace time.
    fn convert(&mut self, clock: Clock, value: ClockNs) -> Result<ClockNs, Unresolved> {
        let to = self.target().ok_or(Unresolved::NoTarget)?;
        match self.whole.as_deref_mut() {
            Some(Whole { estimates, cache, .. }) => estimates.convert(clock, value, to, cache),
            None => self.graph.convert(clock, value, to, &mut self.cache),
        }
    }

    /// The reason for a reading that overflows.
    pub fn overflow(&mut self, clock: Clock) -> Unresolved {
        let Some(to) = self.target() else {
            return Unresolved::NoTarget;
        };
        match self.whole.as_deref_mut() {
            Some(Whole { estimates, cache, .. }) => {
                estimates.graph().overflow(clock, to, cache.conversions())
            }
            None => self.graph.overflow(clock, to, &mut self.cache),
        }
    }

    /// The clock that an id means on a packet of a part (rules C2, X14).
    #[inline]
    pub fn clock_of(&self, header: &Header<'_>, part: PartIx, id: u32) -> Clock {
        let seq = SeqId(header.trusted_packet_sequence_id);
        self.parts[part].clock(ClockId(id), seq)
    }

    /// Whether a timestamp of this clock is a delta on this packet (rule V5).
    pub fn is_incremental(&self, header: &Header<'_>, part: PartIx, clock: u32) -> bool {
        let unit = self.unit_of(self.clock_of(header, part, clock));
        unit.is_some_and(|unit| unit.incremental)
    }

    /// Notes that an event of a part would have been converted here (rule T1).
    pub fn attempted(&mut self, part: PartIx) {
        let clock = self.parts[part].clock(ClockId::BOOTTIME, SeqId(0));
        self.attempt(part, clock);
    }

    /// Notes that a reading in a part is about to be converted (rules T1, X25, X26).
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
            let clock = of.shared(of.given_clock.unwrap_or(ClockId::BOOTTIME));
            self.trace_time.take(Claim::Settled(clock));
        }
        self.trace_time.is_converted = true;
        let of = &mut self.parts[part];
        if of.is_private(clock.id) {
            return; // X37: only the pin places it
        }
        of.used_shared |= !of.is_own();
        bridge::settle(self, part);
    }

    /// The trace time of a reading by the nearest snapshot seen until now.
    pub fn nearest(&mut self, clock: Clock, ticks: Ticks) -> Option<TraceTime> {
        let unit = self.graph.unit(clock).map_or(1, |unit| unit.ns);
        let to = self.trace_time.or_first();
        let (graph, cache) = (&self.graph, &mut self.cache);
        let ts = graph.convert_ticks(clock, ticks, unit, to, cache);
        ts.ok().map(TraceTime::reads)
    }

    /// The reading of a clock at a trace time, by the nearest snapshot seen until now.
    pub fn back(&mut self, TraceTime(ts): TraceTime, clock: Clock) -> Option<i64> {
        let from = self.trace_time.or_first();
        let (graph, cache) = (&self.graph, &mut self.cache);
        let reading = graph.convert(from, ClockNs(ts), clock, cache);
        reading.ok().map(|ClockNs(reading)| reading)
    }

    /// Whether all snapshots of the trace give the times.
    pub fn has_all(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether a later snapshot may help a reading that has no time now (rule D2).
    pub fn may_resolve_later(&self, part: PartIx, reason: Unresolved) -> bool {
        let may_change = !self.has_all() || self.parts[part].may_become_own();
        may_change && reason.may_resolve_later()
    }

    /// The form of a clock's readings: from all snapshots if they are known.
    pub fn unit_of(&self, clock: Clock) -> Option<ClockUnit> {
        match &self.whole {
            Some(whole) => whole.estimates.graph().unit(clock),
            None => self.graph.unit(clock),
        }
    }

    /// The nanoseconds in a unit of a clock.
    pub fn unit(&self, clock: Clock) -> i64 {
        self.unit_of(clock).map_or(1, |unit| unit.ns)
    }

    /// Whether the snapshots seen until now can convert any of these readings.
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

    /// To be called after the last packet. Whether the clocks of the trace equal those of the
    /// earlier pass, which is so unless the trace has changed since; also true without such a pass.
    pub fn are_as_found(&mut self) -> bool {
        // No more times are needed, and the estimates take memory.
        self.whole.take().is_none_or(|whole| {
            whole.trace_time == self.trace_time.clock()
                && whole.estimates.graph().domains().eq(self.graph.domains())
        })
    }

    /// The results of the earlier pass, for the next pass.
    pub fn give_back(&mut self) -> Option<Whole> {
        self.whole.take().map(|whole| *whole)
    }

    /// The clock of events that have their own timestamps.
    pub fn event_clock(&self, part: PartIx, clock: Option<(ClockId, SeqId)>) -> EventClock {
        let clock = clock.map(|(id, seq)| self.parts[part].clock(id, seq));
        match clock {
            None => EventClock::Unusable { part, clock, reason: Unresolved::UnknownClock },
            Some(known) if known.lacks_sequence() => {
                EventClock::Unusable { part, clock, reason: Unresolved::NoSequenceId }
            }
            Some(clock) => EventClock::Known { part, clock, unit: self.unit(clock) },
        }
    }

    /// Places an event that has its own timestamp (rules I).
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
                    // Events with clocks of their own belong to no sequence.
                    Some(ticks) => {
                        self.resolve_in_file(clock, ticks, unit, reader(part, clock.seq.0))
                    }
                    None => Err(self.overflow(clock)),
                }
            }
            EventClock::Unusable { reason, .. } => Err(reason),
        }
    }

    /// The trace time of each reading of a snapshot, and the reason if the first reading has none
    /// of its own (rule N6).
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
        let times = times.into_iter().map(|time| time.ok().or(other).map(TraceTime::reads));
        (times.collect(), unresolved)
    }
}

/// A number for the writer of a reading, from the part and the number of the sequence.
fn reader(part: PartIx, sequence: u32) -> u64 {
    u64::from(part.0) << 32 | u64::from(sequence)
}

/// The absolute reading of a timestamp (rule V5). `None` means a delta without a base.
fn absolute(is_delta: bool, clock: u32, sequence: &Sequence, timestamp: u64) -> Option<u64> {
    match is_delta {
        true => sequence.accumulated(clock).map(|last| last.saturating_add(timestamp)),
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
