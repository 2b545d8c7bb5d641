//! Which clock a packet was read from, and where that puts it on trace time
//! (rules C4–C6, S4, T, D1).

use rustc_hash::FxHashMap;
use timebase_resolver::{
    Clock, ClockGraph, ClockId, MachineId, Reading, Rejected, SeqId, SnapshotId, Source, Unresolved,
};
use timebase_wire::packet::{Header, PacketType};
use timebase_wire::proto::ClockSnapshot;

use crate::rows::Placement;
use crate::sequence::Sequence;

/// The sequence that the tracing service itself writes to (rule V2).
const SERVICE_SEQUENCE: u32 = 1;

/// The clocks of a trace while it is read.
#[derive(Debug)]
pub(crate) struct Clocks {
    pub graph: ClockGraph,
    /// Rule T1.
    trace_time: Clock,
    /// Whether a packet was converted to it, so that it cannot change.
    settled: bool,
    /// Rule T2; 0 while there is none.
    default_clock: u32,
    uses: FxHashMap<Clock, u64>,
    last_use: Option<ClockUse>,
}

/// How many packets in a row used a clock.
#[derive(Debug, Clone, Copy)]
struct ClockUse {
    clock: Clock,
    packets: u64,
}

/// A snapshot that was accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub id: SnapshotId,
    pub source: Source,
    /// Its readings, and the trace time of each (rule N6).
    pub readings: Vec<(Reading, Option<i64>)>,
    /// Where that puts the packet (rule D3).
    pub ts: Option<i64>,
    /// Why the first reading could not be converted.
    pub unresolved: Option<Unresolved>,
    /// A primary clock that came too late or cannot be one (rule T1).
    pub ignored_primary: Option<i32>,
}

impl Clocks {
    pub fn new() -> Self {
        Clocks {
            graph: ClockGraph::new(),
            trace_time: Clock::BOOTTIME,
            settled: false,
            default_clock: 0,
            uses: FxHashMap::default(),
            last_use: None,
        }
    }

    /// The clock that `packet.ts` is on (rules T1, T3).
    pub fn trace_time(&self) -> Clock {
        self.trace_time
    }

    /// How many packets use each clock, once the uses are settled.
    pub fn uses(&self) -> &FxHashMap<Clock, u64> {
        &self.uses
    }

    /// Counts the last use, when there are no further packets.
    pub fn settle_uses(&mut self) {
        if let Some(last) = self.last_use.take() {
            *self.uses.entry(last.clock).or_default() += last.packets;
        }
    }

    /// Counts a packet that was read from a clock.
    pub fn count_use(&mut self, header: &Header<'_>, id: u32) {
        let clock = clock_of(header, id);
        match &mut self.last_use {
            // Consecutive packets mostly use one clock.
            Some(last) if last.clock == clock => last.packets += 1,
            _ => {
                self.settle_uses();
                self.last_use = Some(ClockUse { clock, packets: 1 });
            }
        }
    }

    /// Places a packet in time, with the snapshots seen until now (rule D1).
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
        let ts = i64::try_from(timestamp).ok();
        Placement {
            ts,
            clock_id: Some(self.trace_time.id.get()),
            clock_ts: ts,
            unresolved: ts.is_none().then_some(Unresolved::Overflow),
        }
    }

    /// The absolute reading that a timestamp of a clock means (rule V5), in the
    /// clock's own unit. `None` is a delta without a base.
    fn ticks(&self, clock: Clock, sequence: &Sequence, timestamp: u64) -> Option<u64> {
        match self.graph.domain(clock) {
            Some(domain) if domain.incremental => sequence
                .accumulated(clock.id.get())
                .map(|last| last.saturating_add(timestamp)),
            _ => Some(timestamp),
        }
    }

    /// A reading of a clock. It advances an incremental clock (rule V5).
    fn read(
        &mut self,
        header: &Header<'_>,
        sequence: &mut Sequence,
        id: u32,
        timestamp: u64,
    ) -> Placement {
        let clock = clock_of(header, id);
        let ticks = self.ticks(clock, sequence, timestamp);
        let (unit, incremental) = match self.graph.domain(clock) {
            Some(domain) => (domain.unit, domain.incremental),
            None => (1, false),
        };
        if let Some(ticks) = ticks.filter(|_| incremental) {
            sequence.set_accumulated(id, ticks);
        }
        let clock_ts = ticks.and_then(|ticks| i64::try_from(ticks).ok());
        let result = match (ticks, clock_ts) {
            _ if clock.lacks_sequence() => Err(Unresolved::NoSequenceId),
            (None, _) => Err(Unresolved::NoBase),
            (Some(_), None) => Err(self.overflow(clock)),
            (Some(_), Some(ticks)) => self.resolve(clock, ticks, unit),
        };
        self.settled |= result.is_ok();
        Placement {
            ts: result.ok(),
            clock_id: Some(id),
            clock_ts,
            unresolved: result.err(),
        }
    }

    /// Converts a reading in the clock's own unit (rule V4).
    pub fn resolve(&mut self, clock: Clock, ticks: i64, unit: i64) -> Result<i64, Unresolved> {
        match ticks.checked_mul(unit) {
            Some(value) => self.graph.convert(clock, value, self.trace_time),
            None => Err(self.overflow(clock)),
        }
    }

    /// The reason for a reading that does not fit: that there is no way for any
    /// reading of its clock comes first.
    pub fn overflow(&mut self, clock: Clock) -> Unresolved {
        let reason = self.graph.why_unresolved(clock, 0, self.trace_time);
        reason.unwrap_or(Unresolved::Overflow)
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
        let ticks = self.ticks(clock_of(header, id), sequence, timestamp);
        Placement {
            clock_id: Some(id),
            clock_ts: ticks.and_then(|ticks| i64::try_from(ticks).ok()),
            ..Placement::default()
        }
    }

    /// Adds a snapshot (rules N, T, V5).
    ///
    /// # Errors
    ///
    /// [`Rejected`]; nothing is changed then (rule N1).
    pub fn add_snapshot(
        &mut self,
        snapshot: &ClockSnapshot,
        header: &Header<'_>,
        sequence: &mut Sequence,
    ) -> Result<Accepted, Rejected> {
        let readings = snapshot
            .clocks
            .iter()
            .map(|clock| {
                Reading::new(
                    clock_of(header, clock.clock_id()),
                    clock.timestamp(),
                    clock.unit_multiplier_ns(),
                    clock.is_incremental(),
                )
            })
            .collect::<Result<Vec<_>, _>>()?;
        let source = match header.trusted_packet_sequence_id {
            SERVICE_SEQUENCE => Source::Service,
            _ => Source::Writer,
        };
        let host = header.machine_id == MachineId::HOST.0;
        let named = snapshot.primary_trace_clock();
        let primary = primary_clock(named).filter(|_| host);
        let mut accepted = self.accept(source, readings, primary)?;
        if named != 0 && host && primary != Some(self.trace_time) {
            accepted.ignored_primary = Some(named);
        }
        for ((reading, _), recorded) in accepted.readings.iter().zip(&snapshot.clocks) {
            if reading.incremental {
                sequence.set_accumulated(reading.clock.id.get(), recorded.timestamp());
            }
        }
        Ok(accepted)
    }

    /// Adds a pair of rule I1: the reading of a bundle's clock, and BOOTTIME's.
    ///
    /// # Errors
    ///
    /// [`Rejected`]; nothing is changed then (rule N1).
    pub fn add_pair(
        &mut self,
        clock: Clock,
        timestamp: i64,
        boottime: i64,
    ) -> Result<Accepted, Rejected> {
        let boot_clock = Clock::new(clock.machine, ClockId::BOOTTIME, SeqId(0));
        // A negative one becomes one that overflows, and is rejected as that.
        let readings = vec![
            Reading::new(clock, timestamp as u64, 1, false)?,
            Reading::new(boot_clock, boottime as u64, 1, false)?,
        ];
        self.accept(Source::Bundle, readings, None)
    }

    fn accept(
        &mut self,
        source: Source,
        readings: Vec<Reading>,
        primary: Option<Clock>,
    ) -> Result<Accepted, Rejected> {
        let trace_time = primary.filter(|_| !self.settled).unwrap_or(self.trace_time);
        let id = self
            .graph
            .add_snapshot(source, &readings, Some(trace_time))?;

        self.trace_time = trace_time;
        if let Some(primary) = primary {
            self.default_clock = primary.id.get();
        } else if self.default_clock == 0
            && readings
                .iter()
                .any(|reading| reading.clock == Clock::BOOTTIME)
        {
            self.default_clock = ClockId::BOOTTIME.get();
        }
        let (readings, unresolved) = self.place_readings(readings);
        let ts = readings.first().and_then(|&(_, ts)| ts);
        self.settled |= ts.is_some();
        Ok(Accepted {
            id,
            source,
            ts,
            unresolved: unresolved.filter(|_| ts.is_none()),
            readings,
            ignored_primary: None,
        })
    }

    /// Nanoseconds in a unit of a clock.
    pub fn unit(&self, clock: Clock) -> i64 {
        self.graph.domain(clock).map_or(1, |domain| domain.unit)
    }

    /// Places an event that has a clock and a timestamp of its own (rules I).
    /// `unit` is that of the clock.
    #[inline]
    pub fn place_event(
        &mut self,
        clock: Clock,
        unit: i64,
        timestamp: u64,
    ) -> Result<i64, Unresolved> {
        let result = match i64::try_from(timestamp) {
            Ok(ticks) => self.resolve(clock, ticks, unit),
            Err(_) => Err(self.overflow(clock)),
        };
        self.settled |= result.is_ok();
        result
    }

    /// Rule N6: the trace time of each reading, and why the first has none of
    /// its own.
    pub fn place_readings(
        &mut self,
        readings: Vec<Reading>,
    ) -> (Vec<(Reading, Option<i64>)>, Option<Unresolved>) {
        let times: Vec<Result<i64, Unresolved>> = readings
            .iter()
            .map(|reading| {
                self.graph
                    .convert(reading.clock, reading.value, self.trace_time)
            })
            .collect();
        let other = times.iter().find_map(|time| time.ok());
        let unresolved = times.first().and_then(|time| time.err());
        let times = times.into_iter().map(|time| time.ok().or(other));
        (readings.into_iter().zip(times).collect(), unresolved)
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
fn clock_of(header: &Header<'_>, id: u32) -> Clock {
    Clock::new(
        MachineId(header.machine_id),
        ClockId(id),
        SeqId(header.trusted_packet_sequence_id),
    )
}

/// The clock that a snapshot names as primary, if it can be one for a trace.
fn primary_clock(named: i32) -> Option<Clock> {
    let id = u32::try_from(named).ok().filter(|&id| id != 0)?;
    let clock = Clock::host(id);
    (!clock.lacks_sequence()).then_some(clock)
}
