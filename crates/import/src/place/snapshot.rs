//! Snapshots, whoever took them (rules N, T, I1).

use rustc_hash::FxHashMap;
use timebase_resolver::{
    Clock, ClockId, MachineId, Reading, Rejected, SeqId, SnapshotId, Source, Ticks, Unresolved,
};
use timebase_wire::packet::Header;
use timebase_wire::proto::ClockSnapshot;

use super::clocks::{Clocks, clock_of};
use super::sequence::Sequence;
use super::time::TraceTime;

/// The sequence that the tracing service itself writes to (rule V2).
const SERVICE_SEQUENCE: u32 = 1;

/// What a packet says that several clocks read at one instant.
#[derive(Debug)]
pub(crate) struct Snapshot {
    source: Source,
    machine: MachineId,
    readings: Vec<Recorded>,
    /// `primary_trace_clock`; 0 names none.
    primary: i32,
}

/// A reading as recorded.
#[derive(Debug)]
struct Recorded {
    clock: Clock,
    timestamp: u64,
    unit: u64,
    incremental: bool,
}

impl Snapshot {
    /// A `ClockSnapshot` packet.
    pub fn of_packet(message: &ClockSnapshot, header: &Header<'_>) -> Snapshot {
        let recorded = message.clocks.iter().map(|clock| Recorded {
            clock: clock_of(header, clock.clock_id()),
            timestamp: clock.timestamp(),
            unit: clock.unit_multiplier_ns(),
            incremental: clock.is_incremental(),
        });
        Snapshot {
            source: match header.trusted_packet_sequence_id {
                SERVICE_SEQUENCE => Source::Service,
                _ => Source::Writer,
            },
            machine: MachineId(header.machine_id),
            readings: recorded.collect(),
            primary: message.primary_trace_clock(),
        }
    }

    /// A pair of rule I1: what the clock of an ftrace bundle and BOOTTIME read
    /// together.
    pub fn pair(clock: Clock, timestamp: u64, boottime: u64) -> Snapshot {
        let boot_clock = Clock::new(clock.machine, ClockId::BOOTTIME, SeqId(0));
        let recorded = |clock, timestamp| Recorded {
            clock,
            timestamp,
            unit: 1,
            incremental: false,
        };
        Snapshot {
            source: Source::Bundle,
            machine: clock.machine,
            readings: vec![recorded(clock, timestamp), recorded(boot_clock, boottime)],
            primary: 0,
        }
    }

    /// That a clock of a machine reads what another one reads is assumed
    /// (rule X26).
    fn assumed(clock: Clock, other: Clock, clocks: &Clocks) -> Snapshot {
        let recorded = |clock| Recorded {
            clock,
            timestamp: 0,
            // Of the snapshots until now, since by these it is accepted.
            unit: (clocks.graph.domain(clock)).map_or(1, |domain| domain.unit.unsigned_abs()),
            incremental: false,
        };
        Snapshot {
            source: Source::Assumed,
            machine: clock.machine,
            readings: vec![recorded(clock), recorded(other)],
            primary: 0,
        }
    }

    /// Who took it.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The reading of each clock as recorded, in the clock's own unit.
    pub fn recorded(&self) -> impl Iterator<Item = Ticks> {
        // An accepted reading fits, since its unit is at least 1.
        let ticks = |reading: &Recorded| Ticks::recorded(reading.timestamp);
        self.readings
            .iter()
            .map(move |reading| ticks(reading).unwrap_or(Ticks(i64::MAX)))
    }
}

/// A snapshot that was accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub id: SnapshotId,
    pub readings: Vec<Reading>,
    /// The trace time of each reading (rule N6).
    pub times: Vec<Option<TraceTime>>,
    /// Why the first reading could not be converted, if no time is known.
    pub unresolved: Option<Unresolved>,
    /// A primary clock that came too late or cannot be one (rule T1).
    pub ignored_primary: Option<i32>,
}

impl Accepted {
    /// Where the snapshot stands in time (rule D3).
    pub fn ts(&self) -> Option<TraceTime> {
        self.times.first().copied().flatten()
    }
}

/// What is remembered of the pairs of rule I1: of each machine the one that was
/// added last.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    last: FxHashMap<MachineId, u64>,
}

impl Pairs {
    /// Whether the snapshot is the pair that its machine had last, once more.
    pub fn has_just(&self, snapshot: &Snapshot) -> bool {
        pair_reading(snapshot)
            .is_some_and(|reading| self.last.get(&snapshot.machine) == Some(&reading))
    }

    /// Remembers a pair that was accepted.
    pub fn accepted(&mut self, snapshot: &Snapshot) {
        if let Some(reading) = pair_reading(snapshot) {
            self.last.insert(snapshot.machine, reading);
        }
    }
}

fn pair_reading(snapshot: &Snapshot) -> Option<u64> {
    let is_pair = snapshot.source == Source::Bundle;
    snapshot
        .readings
        .first()
        .filter(|_| is_pair)
        .map(|reading| reading.timestamp)
}

/// Adds a snapshot (rules N, T, V5), and places its readings.
///
/// # Errors
///
/// [`Rejected`]; nothing is changed then (rule N1).
pub(crate) fn add(
    clocks: &mut Clocks,
    snapshot: &Snapshot,
    sequence: &mut Sequence,
) -> Result<Accepted, Rejected> {
    let (id, readings) = accept(clocks, snapshot, sequence)?;
    let (times, unresolved) = clocks.place_readings(&readings);
    clocks.settled = clocks.settled || clocks.places(&readings);
    let is_placed = times.first().copied().flatten().is_some();
    let primary = primary_clock(snapshot);
    let is_ignored = snapshot.primary != 0
        && snapshot.machine == MachineId::HOST
        && primary != Some(clocks.trace_time);
    Ok(Accepted {
        id,
        unresolved: unresolved.filter(|_| !is_placed),
        readings,
        times,
        ignored_primary: is_ignored.then_some(snapshot.primary),
    })
}

/// Adds a snapshot, and tells its number and its readings in nanoseconds.
///
/// # Errors
///
/// As those of [`add`].
pub(crate) fn accept(
    clocks: &mut Clocks,
    snapshot: &Snapshot,
    sequence: &mut Sequence,
) -> Result<(SnapshotId, Vec<Reading>), Rejected> {
    let readings = snapshot
        .readings
        .iter()
        .map(|recorded| {
            let Recorded {
                clock,
                timestamp,
                unit,
                incremental,
            } = *recorded;
            Reading::new(clock, timestamp, unit, incremental)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let primary = primary_clock(snapshot);
    let trace_time = primary
        .filter(|_| !clocks.settled)
        .unwrap_or(clocks.trace_time);
    let id = clocks
        .graph
        .add_snapshot(snapshot.source, &readings, Some(trace_time))?;

    clocks.trace_time = trace_time;
    if let Some(primary) = primary {
        clocks.default_clock = primary.id.get();
    } else if clocks.default_clock == 0
        && snapshot.source != Source::Assumed
        && readings
            .iter()
            .any(|reading| reading.clock == Clock::BOOTTIME)
    {
        clocks.default_clock = ClockId::BOOTTIME.get();
    }
    for recorded in snapshot
        .readings
        .iter()
        .filter(|reading| reading.incremental)
    {
        sequence.set_accumulated(recorded.clock.id.get(), recorded.timestamp);
    }
    Ok((id, readings))
}

/// Rule X26: what is to be assumed so that the clocks of a machine reach trace time;
/// nothing if they do, or if nothing can be.
pub(crate) fn bridge(clocks: &mut Clocks, machine: MachineId) -> Option<Snapshot> {
    let trace_time = clocks.trace_time;
    let of = |machine, id| Clock::new(machine, id, SeqId(0));
    let boottime = of(machine, ClockId::BOOTTIME);
    let mut reaches = |from, to| from == to || clocks.graph.path(from, to).is_ok();
    if machine == trace_time.machine || reaches(boottime, trace_time) {
        return None;
    }
    let realtime = of(machine, ClockId::REALTIME);
    let other = of(trace_time.machine, ClockId::REALTIME);
    if reaches(boottime, realtime) && reaches(other, trace_time) {
        return Some(Snapshot::assumed(realtime, other, clocks));
    }
    let is_boottime = trace_time.id == ClockId::BOOTTIME;
    is_boottime.then(|| Snapshot::assumed(boottime, trace_time, clocks))
}

/// The clock that a snapshot names as primary, if it can be one for a trace.
fn primary_clock(snapshot: &Snapshot) -> Option<Clock> {
    let id = u32::try_from(snapshot.primary).ok().filter(|&id| id != 0)?;
    let clock = Clock::host(id);
    let can_be = snapshot.machine == MachineId::HOST && !clock.lacks_sequence();
    can_be.then_some(clock)
}
