//! Recorded traces: leaves snapshots out, and compares them with the times from the others.

use std::path::Path;

use rusqlite::{Connection, Row};
use timebase_import::{Monitor, Options, Source as Trace};
use timebase_resolver::{
    Clock, ClockGraph, ClockId, ClockNs, EstimateCache, Estimates, MachineId, Reading, SeqId,
    Source,
};

use crate::accuracy::error::Error;
use crate::accuracy::off::Off;

/// A hop of a trace. Each snapshot between the first and the last was left out once.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// Its clocks: `TSC → BOOTTIME`.
    pub hop: String,
    /// The errors of nearest neighbour for the left-out readings, against their recorded values.
    pub nearest: Off,
    /// The same errors of the rate-aware conversion.
    pub linear: Off,
    /// The share of its readings within the stated error.
    pub inside: f64,
    /// The median of that error, in nanoseconds.
    pub bar: f64,
}

/// Two clocks that snapshots read together, and the origin of these snapshots.
struct Hop {
    name: String,
    from: Clock,
    to: Clock,
    source: Source,
}

const HOPS: &str = "
    SELECT from_clock || ' → ' || to_clock, machine_id, clock_id, seq_id,
           to_machine_id, to_clock_id, to_seq_id, source
    FROM clock_hop ORDER BY id";

const READINGS: &str = "
    SELECT a.clock_value, b.clock_value
    FROM clock_snapshot AS a JOIN clock_snapshot AS b USING (snapshot_id)
    WHERE a.machine_id = ?1 AND a.clock_id = ?2 AND a.seq_id = ?3
      AND b.machine_id = ?4 AND b.clock_id = ?5 AND b.seq_id = ?6 AND a.source = ?7
    ORDER BY a.clock_value, a.snapshot_id";

/// Imports a trace, and leaves snapshots out of all hops with at least three. The database is
/// temporarily in the directory.
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let trace = "../../tests/data/system.pftrace".as_ref();
/// let hops = timebase_lab::accuracy::leave_out(trace, directory.path())?;
/// let monotonic = hops.iter().find(|hop| hop.hop == "MONOTONIC → BOOTTIME").unwrap();
/// assert!(monotonic.linear.count > 3 && monotonic.linear.worst < 1000.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the import or a query of the database fails.
pub fn leave_out(trace: &Path, directory: &Path) -> Result<Vec<LeftOut>, Error> {
    let directory = tempfile::tempdir_in(directory)?;
    let database = directory.path().join("t.db");
    let mut options = Options::default();
    options.keep_data = false;
    options.subjects = Vec::new();
    let source = Trace::File(trace.into());
    timebase_import::import(&[source], &database, &options, &Monitor::default())?;
    let conn = Connection::open(database)?;
    let mut statement = conn.prepare(HOPS)?;
    let hops: Vec<Hop> = statement.query_map([], hop)?.collect::<rusqlite::Result<_>>()?;
    let mut all = Vec::new();
    for hop in hops {
        let readings = readings(&conn, &hop)?;
        if readings.len() > 2 {
            all.push(of_hop(&hop, &readings)?);
        }
    }
    Ok(all)
}

fn hop(row: &Row<'_>) -> rusqlite::Result<Hop> {
    let clock = |first| -> rusqlite::Result<Clock> {
        let (machine, id, seq) = (row.get(first)?, row.get(first + 1)?, row.get(first + 2)?);
        Ok(Clock::new(MachineId(machine), ClockId(id), SeqId(seq)))
    };
    let source: String = row.get(7)?;
    Ok(Hop {
        name: row.get(0)?,
        from: clock(1)?,
        to: clock(4)?,
        source: Source::from_name(&source).ok_or(rusqlite::Error::InvalidQuery)?,
    })
}

/// The readings of both clocks; of equal readings of the first clock, only the earliest.
fn readings(conn: &Connection, hop: &Hop) -> rusqlite::Result<Vec<(i64, i64)>> {
    let (from, to) = (hop.from, hop.to);
    let mut statement = conn.prepare(READINGS)?;
    let clocks = (
        from.machine.0,
        from.id.get(),
        from.seq.0,
        to.machine.0,
        to.id.get(),
        to.seq.0,
        hop.source.name(),
    );
    let rows = statement.query_map(clocks, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut readings: Vec<(i64, i64)> = rows.collect::<rusqlite::Result<_>>()?;
    readings.dedup_by_key(|&mut (from, _)| from);
    Ok(readings)
}

fn of_hop(hop: &Hop, readings: &[(i64, i64)]) -> Result<LeftOut, Error> {
    let (mut nearest, mut linear, mut bars) = (Vec::new(), Vec::new(), Vec::new());
    let mut inside = 0;
    for (index, &(from, to)) in readings.iter().enumerate().skip(1).take(readings.len() - 2) {
        let mut graph = ClockGraph::new();
        for (other, &(from, to)) in readings.iter().enumerate() {
            if other != index {
                let reading = |clock, value| Reading { clock, value, unit: 1, incremental: false };
                let pair = [reading(hop.from, from), reading(hop.to, to)];
                graph.add_snapshot(hop.source, &pair, None)?;
            }
        }
        let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
        let ClockNs(by_nearest) = estimates
            .graph()
            .convert(hop.from, ClockNs(from), hop.to, cache.conversions())
            .map_err(Error::Unresolved)?;
        let estimate =
            estimates.at(hop.from, ClockNs(from), hop.to, &mut cache).map_err(Error::Unresolved)?;
        let ClockNs(by_linear) = estimate.value;
        let off = by_linear.abs_diff(to);
        nearest.push(by_nearest.abs_diff(to) as f64);
        linear.push(off as f64);
        bars.push(estimate.error_ns);
        let error = estimate.error().map(i64::unsigned_abs);
        inside += u64::from(error.is_some_and(|error| off <= error));
    }
    Ok(LeftOut {
        hop: hop.name.clone(),
        inside: inside as f64 / linear.len() as f64,
        nearest: Off::of(nearest),
        linear: Off::of(linear),
        bar: Off::of(bars).median,
    })
}
