//! Snapshots from any source (rules N, T, I1, X15, X16).

use timebase_resolver::{
    Clock, ClockId, FileTag, MachineId, OwnClocks, Reading, Rejected, SeqId, SnapshotId, Source,
    Ticks, Unresolved,
};
use timebase_trace::wire::packet::Header;
use timebase_trace::wire::proto::ClockSnapshot;

use super::clocks::Clocks;
use super::parts::{PartIx, shared};
use super::sequence::Sequence;
use super::time::TraceTime;

/// The tracing service's own sequence (rule V2).
const SERVICE_SEQUENCE: u32 = 1;

/// Readings of several clocks of a part at one instant, from a packet.
#[derive(Debug)]
pub(crate) struct Snapshot {
    source: Source,
    readings: Vec<Recorded>,
    /// Its statement about trace time and the default clock.
    names: Names,
}

/// A reading as recorded.
#[derive(Debug)]
struct Recorded {
    id: ClockId,
    seq: SeqId,
    timestamp: u64,
    unit: u64,
    incremental: bool,
}

/// The statement of a snapshot about trace time and the default clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// A `ClockSnapshot` packet: its `primary_trace_clock`, which is 0 if it names none.
    Primary(i32),
    /// A pair of rule I1: it only says that BOOTTIME exists.
    Default,
    /// No statement: readings of a client's clocks (rule X19).
    Nothing,
}

impl Snapshot {
    /// The snapshot of a `ClockSnapshot` packet.
    pub fn of_packet(message: &ClockSnapshot, header: &Header<'_>) -> Snapshot {
        let source = match header.trusted_packet_sequence_id {
            SERVICE_SEQUENCE => Source::Service,
            _ => Source::Writer,
        };
        let names = Names::Primary(message.primary_trace_clock());
        Snapshot::of_message(message, header, source, names)
    }

    /// The snapshot of a client's clocks (rule X19).
    pub fn of_client(message: &ClockSnapshot, header: &Header<'_>) -> Snapshot {
        let mut snapshot = Snapshot::of_message(message, header, Source::Service, Names::Nothing);
        for recorded in &mut snapshot.readings {
            (recorded.unit, recorded.incremental) = (1, false);
        }
        snapshot
    }

    fn of_message(
        message: &ClockSnapshot,
        header: &Header<'_>,
        source: Source,
        names: Names,
    ) -> Snapshot {
        let recorded = message.clocks.iter().map(|clock| Recorded {
            id: ClockId(clock.clock_id()),
            seq: SeqId(header.trusted_packet_sequence_id),
            timestamp: clock.timestamp(),
            unit: clock.unit_multiplier_ns(),
            incremental: clock.is_incremental(),
        });
        Snapshot { source, readings: recorded.collect(), names }
    }

    /// A pair of rule I1: readings of the clock of an ftrace bundle and of BOOTTIME at one instant.
    pub fn pair((id, seq): (ClockId, SeqId), timestamp: u64, boottime: u64) -> Snapshot {
        let recorded = |id, timestamp| Recorded { id, seq, timestamp, unit: 1, incremental: false };
        Snapshot {
            source: Source::Bundle,
            readings: vec![recorded(id, timestamp), recorded(ClockId::BOOTTIME, boottime)],
            names: Names::Default,
        }
    }

    /// The source of the snapshot.
    pub fn source(&self) -> Source {
        self.source
    }

    /// For a pair of rule I1, the reading that tells whether the pair is new.
    pub fn pair_reading(&self) -> Option<u64> {
        let is_pair = self.source == Source::Bundle;
        let first = self.readings.first().filter(|_| is_pair);
        first.map(|reading| reading.timestamp)
    }

    /// The clock that the snapshot names as primary, if it can be primary for a trace.
    fn primary(&self, machine: MachineId) -> Option<Clock> {
        let Names::Primary(primary) = self.names else {
            return None;
        };
        let id = u32::try_from(primary).ok().filter(|&id| id != 0)?;
        let clock = shared(machine, ClockId(id));
        (!clock.lacks_sequence()).then_some(clock)
    }

    fn holds(&self, id: ClockId) -> bool {
        self.readings.iter().any(|reading| reading.id == id)
    }
}

/// A snapshot that was accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub id: SnapshotId,
    pub readings: Vec<Reading>,
    /// The trace time of each reading (rule N6).
    pub times: Vec<Option<TraceTime>>,
    /// The reason why the first reading could not be converted, if no time is known.
    pub unresolved: Option<Unresolved>,
    /// A primary clock that came too late or cannot be one (rule T1).
    pub ignored_primary: Option<i32>,
    /// Whether the part used the clocks of its machine before, and has its own from now on
    /// (rule X15).
    pub is_mixed: bool,
}

impl Accepted {
    /// The time of the snapshot (rule D3).
    pub fn ts(&self) -> Option<TraceTime> {
        self.times.first().copied().flatten()
    }
}

/// A reading as recorded, in the clock's own unit.
pub(crate) fn recorded(reading: &Reading) -> Ticks {
    Ticks(reading.value.checked_div(reading.unit).unwrap_or(reading.value))
}

/// The name of a snapshot in a message.
pub(crate) fn called(source: Source) -> &'static str {
    match source {
        Source::Bundle => "the bundle's pair of clocks",
        Source::RemoteSync => "the pair of clocks of two machines",
        Source::Manifest => "the manifest's statement about clocks",
        Source::Assumed => "the assumption about the machine's clocks",
        Source::Causality => "the messages between two machines",
        Source::Json => "the producer's statement about its clock",
        _ => "the clock snapshot",
    }
}

/// Adds a snapshot (rules N, T, V5, X15), and places its readings.
///
/// # Errors
///
/// [`Rejected`]; then nothing is changed (rule N1).
pub(crate) fn add(
    clocks: &mut Clocks,
    snapshot: &Snapshot,
    part: PartIx,
    packet: i64,
    sequence: &mut Sequence,
) -> Result<Accepted, Rejected> {
    let (id, readings, is_mixed) = accept(clocks, snapshot, part, packet, sequence)?;
    let (times, unresolved) = clocks.place_readings(&readings);
    if snapshot.names != Names::Nothing && clocks.places(&readings) {
        clocks.trace_time.is_placed = true;
    }
    let is_placed = times.first().copied().flatten().is_some();
    let of = &clocks.parts[part];
    let ignored_primary = match snapshot.names {
        Names::Primary(named) if named != 0 && of.is_host => {
            let primary = snapshot.primary(of.machine);
            (primary.is_none() || primary != clocks.trace_time.clock()).then_some(named)
        }
        _ => None,
    };
    Ok(Accepted {
        id,
        unresolved: unresolved.filter(|_| !is_placed),
        readings,
        times,
        ignored_primary,
        is_mixed,
    })
}

/// Adds a snapshot. Returns its number, its readings in nanoseconds, and whether its part used
/// clocks of its machine before.
///
/// # Errors
///
/// The errors of [`add`].
pub(crate) fn accept(
    clocks: &mut Clocks,
    snapshot: &Snapshot,
    part: PartIx,
    packet: i64,
    sequence: &mut Sequence,
) -> Result<(SnapshotId, Vec<Reading>, bool), Rejected> {
    let of = &clocks.parts[part];
    let machine = of.machine;
    let becomes_own = of.may_become_own() && !snapshot.readings.is_empty();
    let is_own = of.is_own() || becomes_own;
    let own = OwnClocks { all: is_own, pin: false };
    let mut readings = snapshot
        .readings
        .iter()
        .map(|recorded| {
            let Recorded { id, seq, timestamp, unit, incremental } = *recorded;
            let clock = Clock::in_file(machine, id, seq, of.file, own);
            Reading::new(clock, timestamp, unit, incremental)
        })
        .collect::<Result<Vec<_>, _>>()?;
    if is_own && clocks.trace_time.machine() != machine {
        wall_clocks_are_shared(&mut readings); // X16
    }
    let claim = clocks.trace_time.claimed(
        of,
        snapshot.primary(machine),
        matches!(snapshot.names, Names::Primary(_))
            && snapshot.holds(ClockId::BOOTTIME)
            && !snapshot.holds(ClockId::TRACE_FILE),
    );
    let trace_time = claim.as_ref().map_or(clocks.trace_time.or_first(), |claim| claim.clock());
    let id = clocks.graph.add_snapshot(snapshot.source, &readings, Some(trace_time))?;

    if let Some(claim) = claim {
        clocks.trace_time.take(claim);
    }
    let default = match (snapshot.primary(machine), snapshot.names) {
        (Some(primary), _) => Some(primary.id),
        (None, Names::Nothing) => None,
        (None, _) => Some(ClockId::BOOTTIME)
            .filter(|&id| clocks.parts[part].default_clock == 0 && snapshot.holds(id)),
    };
    let of = &mut clocks.parts[part];
    if let Some(default) = default.filter(|_| !of.is_pinned && of.given_clock.is_none()) {
        of.default_clock = default.get();
    }
    if becomes_own {
        of.own_from = Some(packet);
        of.is_settled = false;
    }
    for recorded in snapshot.readings.iter().filter(|reading| reading.incremental) {
        sequence.set_accumulated(recorded.id.get(), recorded.timestamp);
    }
    Ok((id, readings, becomes_own && of.used_shared))
}

/// The wall clocks of a file with its own clocks are also those of its machine (rule X16).
fn wall_clocks_are_shared(readings: &mut Vec<Reading>) {
    let is_wall = |reading: &&Reading| reading.clock.id.get() <= 2 && reading.clock.id.get() > 0;
    let of_machine: Vec<Reading> = readings
        .iter()
        .filter(is_wall)
        .map(|&reading| Reading {
            clock: Clock { file: FileTag::SHARED, ..reading.clock },
            ..reading
        })
        .collect();
    readings.extend(of_machine);
}
