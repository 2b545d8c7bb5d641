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

use timebase_resolver::{
    Clock, ClockGraph, ClockId, ClockNs, Domain, Estimates, MachineId, Reading, SeqId, Ticks,
    Unresolved,
};
use timebase_wire::packet::{Header, PacketType};

use super::sequence::Sequence;
use super::time::TraceTime;

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
        clock: Clock,
        /// Nanoseconds in its unit.
        unit: i64,
    },
    /// Nothing can be placed by it, whatever snapshots come.
    Unusable {
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
}

/// What an earlier pass over a trace has found.
#[derive(Debug)]
pub(crate) struct Whole {
    /// By all snapshots of the trace.
    pub estimates: Estimates,
    /// Rule T1, at the end of it. What is placed before that is settled is placed by it, too.
    pub trace_time: Clock,
}

/// The clocks of a trace while it is read.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// The snapshots seen until now.
    pub graph: ClockGraph,
    /// By which times are told, if not by the graph.
    whole: Option<Box<Whole>>,
    /// Rule T1.
    pub trace_time: Clock,
    /// Whether a conversion to it was attempted, so that it cannot change.
    pub settled: bool,
    /// Rule T2; 0 while there is none.
    pub default_clock: u32,
}

impl Clocks {
    pub fn new(whole: Option<Whole>) -> Self {
        Clocks {
            graph: ClockGraph::new(),
            whole: whole.map(Box::new),
            trace_time: Clock::BOOTTIME,
            settled: false,
            default_clock: 0,
        }
    }

    /// Places a packet in time, with the snapshots seen until now (rule D1). Its
    /// timestamp advances an incremental clock (rule V5), unless it is a
    /// `clock_snapshot`.
    #[inline]
    pub fn place(&mut self, header: &Header<'_>, sequence: &mut Sequence) -> Placement {
        let lost = header.needs_state() && !sequence.is_valid();
        let Some(timestamp) = header.timestamp else {
            return Placement {
                unresolved: lost.then_some(Unresolved::IncrementalStateLost),
                ..Placement::default()
            };
        };
        let choice = self.choose(header, sequence);
        if lost {
            return Placement {
                clock_id: choice.clock_id(),
                unresolved: Some(Unresolved::IncrementalStateLost), // S4
                ..Placement::default()
            };
        }
        match choice {
            Choice::TraceTime => self.as_trace_time(timestamp),
            Choice::Clock(id) => self.read(header, sequence, id, timestamp),
            Choice::ChromeMonotonic => {
                let monotonic = ClockId::MONOTONIC.get();
                let placement = self.read(header, sequence, monotonic, timestamp);
                match placement.ts {
                    Some(_) => placement,
                    None => self.as_trace_time(timestamp),
                }
            }
        }
    }

    /// Rules C4 and C6.
    fn choose(&self, header: &Header<'_>, sequence: &Sequence) -> Choice {
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
            _ if self.default_clock != 0 => Choice::Clock(self.default_clock),
            _ => Choice::TraceTime,
        }
    }

    /// A timestamp that is taken as trace time, and so as a reading of it.
    fn as_trace_time(&self, timestamp: u64) -> Placement {
        let ticks = Ticks::recorded(timestamp);
        Placement {
            ts: ticks.map(|ticks| TraceTime(ticks.0)),
            clock_id: Some(self.trace_time.id.get()),
            clock_ts: ticks,
            unresolved: ticks.is_none().then_some(Unresolved::Overflow),
            waits: false,
        }
    }

    /// A reading of a clock.
    fn read(
        &mut self,
        header: &Header<'_>,
        sequence: &mut Sequence,
        id: u32,
        timestamp: u64,
    ) -> Placement {
        let clock = clock_of(header, id);
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
        let result = if clock.lacks_sequence() {
            Err(Unresolved::NoSequenceId) // C5
        } else {
            self.settled = true; // T1: this is an attempt, however it ends
            match (absolute, clock_ts) {
                (None, _) => Err(Unresolved::NoBase),
                (Some(_), None) => Err(self.overflow(clock)),
                (Some(_), Some(ticks)) => self.resolve(clock, ticks, unit),
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
                Err(reason) => self.may_resolve_later(reason),
                Ok(_) => false,
            },
        }
    }

    /// The clock and the reading of a `clock_snapshot` packet's own timestamp,
    /// which does not advance the clock (rule V5).
    pub fn own_reading(&self, header: &Header<'_>, sequence: &Sequence) -> Placement {
        let Some(timestamp) = header.timestamp else {
            return Placement::default();
        };
        let Some(id) = self.choose(header, sequence).clock_id() else {
            return Placement::default();
        };
        // As the snapshots until now have it, since nothing is converted by it.
        let domain = self.graph.domain(clock_of(header, id));
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
        let ts = match &mut self.whole {
            Some(whole) => {
                let to = whole.trace_time;
                whole.estimates.convert_ticks(clock, ticks, unit, to)?
            }
            None => {
                let to = self.trace_time;
                self.graph.convert_ticks(clock, ticks, unit, to)?
            }
        };
        Ok(TraceTime::reads(ts))
    }

    /// The same of a value in nanoseconds.
    fn convert(&mut self, clock: Clock, value: ClockNs) -> Result<ClockNs, Unresolved> {
        match &mut self.whole {
            Some(whole) => whole.estimates.convert(clock, value, whole.trace_time),
            None => self.graph.convert(clock, value, self.trace_time),
        }
    }

    /// The reason for a reading that does not fit.
    pub fn overflow(&mut self, clock: Clock) -> Unresolved {
        match &mut self.whole {
            Some(whole) => whole
                .estimates
                .graph_mut()
                .overflow(clock, whole.trace_time),
            None => self.graph.overflow(clock, self.trace_time),
        }
    }

    /// Whether times are told by all snapshots of the trace.
    pub fn has_all(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether a later snapshot may help what cannot be placed now (rule D2).
    pub fn may_resolve_later(&self, reason: Unresolved) -> bool {
        !self.has_all() && reason.may_resolve_later()
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
        let mut results = readings.iter().map(|reading| {
            let value = ClockNs(reading.value);
            self.graph.convert(reading.clock, value, self.trace_time)
        });
        results.any(|result| result.is_ok())
    }

    /// When all packets are read: whether the clocks of the trace are those of what an earlier pass has
    /// found, which is so unless it has been changed since; or whether there was no such pass.
    pub fn are_as_found(&mut self) -> bool {
        // Nobody asks for times any more, and it takes memory.
        self.whole.take().is_none_or(|whole| {
            whole.trace_time == self.trace_time
                && whole.estimates.graph().domains() == self.graph.domains()
        })
    }

    /// The clock of events with timestamps of their own.
    pub fn event_clock(&self, clock: Option<Clock>) -> EventClock {
        match clock {
            None => EventClock::Unusable {
                clock,
                reason: Unresolved::UnknownClock,
            },
            Some(known) if known.lacks_sequence() => EventClock::Unusable {
                clock,
                reason: Unresolved::NoSequenceId,
            },
            Some(clock) => EventClock::Known {
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
            EventClock::Known { clock, unit } => {
                self.settled = true;
                match Ticks::recorded(timestamp) {
                    Some(ticks) => self.resolve(clock, ticks, unit),
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

/// The clock that a number means on this packet (rule C2).
pub(crate) fn clock_of(header: &Header<'_>, id: u32) -> Clock {
    Clock::new(
        MachineId(header.machine_id),
        ClockId(id),
        SeqId(header.trusted_packet_sequence_id),
    )
}
