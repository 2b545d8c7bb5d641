//! The clock graph of a connection, from its `clock_snapshot`.
//!
//! # Design
//!
//! Each statement looks once at `clock_snapshot_version` in `metadata`, which triggers renew with
//! every change. So the next statement sees rows that were added, rolled back, or changed by
//! another connection.
//!
//! Anybody may have made the table: it may be an endless view, or have a different clock in each
//! row. So it may have at most [`MOST`] readings. A reading takes at most 250 bytes, if its clock
//! and its set are new, and some ten bytes if its clocks are known. The alternative was a limit in
//! bytes. It would allow more readings of few clocks, but nobody could say how many.
//!
//! These were tried, with the section `sql` of the benchmark:
//!
//! * Loading the readings for rules K when a function first needs them: they could be of a later
//!   version than their graph.
//! * Always sorting the rows of `clock_snapshot`: the first call took 135 ms with 100,000
//!   snapshots, of 300,000 readings, and now takes 92 ms; reading the rows alone takes 67 ms.

use std::fmt;
use std::ops::ControlFlow;

use timebase_schema::{APPLICATION_ID, VERSION};
use timebase_sql::{Database, Error, Result, Row, Table, ValueRef, Values, unless_interrupted};

use super::alignments;
use super::files::{Asked, NotThere, Owners};
use super::read::{MOST, integer, no_file};
use super::samples;
use super::trace_time::{Readings, UnorderedReadings};
use crate::clock::{Clock, ClockId, SeqId};
use crate::graph::{ClockGraph, Hop, SnapshotId};
use crate::linear::{Estimate, EstimateCache, Estimates, LinearHop};
use crate::snapshot::{Reading, Source};
use crate::time::{ClockNs, Ticks};
use crate::unresolved::Unresolved;

/// The columns that are read. All are integers, which are the fastest type in large numbers if
/// SQLite cannot load the library.
fn readings(file: &str) -> String {
    let source = Source::rank("source");
    format!(
        "SELECT snapshot_id, machine_id, clock_id, seq_id, clock_value, unit_multiplier_ns, \
         is_incremental, {source}, ts, id, {file} FROM main.clock_snapshot"
    )
}

/// The column with the file that owns the clock, and its replacement if no file can own a clock.
const FILE: &str = "coalesce(trace_file_id, -1)";
const NO_FILE: &str = "-1";

/// A version of `clock_snapshot`, and the memory of a session's conversions with it.
#[derive(Debug)]
pub(super) struct Loaded {
    pub snapshots: Snapshots,
    pub cache: Cache,
}

/// The memory of a session's conversions.
#[derive(Debug)]
pub(super) struct Cache {
    estimates: EstimateCache,
    /// The last converted clock and its unit. Consecutive packets usually have the same clock, and
    /// then need no look-up.
    unit: (Clock, i64),
}

/// The data from a version of `clock_snapshot`. No conversion changes it.
#[derive(Debug)]
pub(super) struct Snapshots {
    estimates: Estimates,
    /// The `snapshot_id` of each of the graph's snapshots.
    ids: Vec<i64>,
    readings: Readings,
    owners: Owners,
    /// The global clocks that the import knows, from snapshots or packets.
    seen: Vec<ClockId>,
}

impl Table for Loaded {
    const NAME: &'static str = "clock_snapshot";

    type Version = i64;

    fn version<D: Database + ?Sized>(database: &D) -> Result<Option<i64>> {
        let sql = "SELECT value FROM main.metadata WHERE name = 'clock_snapshot_version'";
        Ok(unless_interrupted(integer(database, sql))?.flatten())
    }

    fn load<D: Database + ?Sized>(function: &str, database: &D) -> Result<Self> {
        check_schema(function, database)?;
        let snapshots = load(database).map_err(|error| explain(function, &error))?;
        let unit = snapshots.unit_of(Clock::BOOTTIME);
        let cache = Cache { estimates: EstimateCache::new(), unit: (Clock::BOOTTIME, unit) };
        Ok(Loaded { snapshots, cache })
    }
}

impl Snapshots {
    /// The clock for a call.
    #[inline]
    pub fn clock(&self, asked: Asked) -> Result<Clock, NotThere> {
        self.owners.clock(asked)
    }

    /// A clock of the host by its number and sequence; `None` if one of several files owns it.
    #[inline(always)]
    pub fn hosts_clock(&self, (id, seq): (ClockId, SeqId)) -> Option<Clock> {
        self.owners.hosts_clock(id, seq)
    }

    /// BOOTTIME of the machine of trace time.
    #[inline(always)]
    pub fn boottime(&self) -> Clock {
        Clock { machine: self.owners.trace_time_machine(), ..Clock::BOOTTIME }
    }

    /// Converts a reading in the clock's own unit (rule V4) to nanoseconds of
    /// another clock.
    #[inline(always)]
    pub fn convert(
        &self,
        from: Clock,
        ticks: i64,
        to: Clock,
        cache: &mut Cache,
    ) -> Result<i64, Unresolved> {
        let unit = self.unit(from, cache);
        let (graph, cache) = (self.estimates.graph(), cache.estimates.conversions());
        let ClockNs(value) = graph.convert_ticks(from, Ticks(ticks), unit, to, cache)?;
        Ok(value)
    }

    /// The same by the line around the reading (rules R).
    #[inline]
    pub fn convert_linear(
        &self,
        from: Clock,
        ticks: i64,
        to: Clock,
        cache: &mut Cache,
    ) -> Result<i64, Unresolved> {
        let unit = self.unit(from, cache);
        let (estimates, cache) = (&self.estimates, &mut cache.estimates);
        let ClockNs(value) = estimates.convert_ticks(from, Ticks(ticks), unit, to, cache)?;
        Ok(value)
    }

    /// The time of a reading in the clock's own unit, and its possible error (rules R).
    #[inline]
    pub fn estimate(
        &self,
        from: Clock,
        ticks: i64,
        to: Clock,
        cache: &mut Cache,
    ) -> Result<Estimate, Unresolved> {
        let unit = self.unit(from, cache);
        let (estimates, cache) = (&self.estimates, &mut cache.estimates);
        match Ticks(ticks).in_units_of(unit) {
            Some(value) => estimates.at(from, value, to, cache),
            None => Err(estimates.graph().overflow(from, to, cache.conversions())),
        }
    }

    /// Nanoseconds in a unit of a clock.
    #[inline(always)]
    fn unit(&self, clock: Clock, cache: &mut Cache) -> i64 {
        if cache.unit.0 != clock {
            cache.unit = (clock, self.unit_of(clock));
        }
        cache.unit.1
    }

    fn unit_of(&self, clock: Clock) -> i64 {
        self.estimates.graph().unit(clock).map_or(1, |unit| unit.ns)
    }

    /// The hops of a conversion; none if there is no path.
    pub fn explain(&self, from: Clock, ticks: i64, to: Clock, cache: &mut Cache) -> Vec<Hop> {
        let value = Ticks(ticks).in_units_of(self.unit(from, cache));
        let (graph, cache) = (self.estimates.graph(), cache.estimates.conversions());
        value.and_then(|value| graph.explain(from, value, to, cache).ok()).unwrap_or_default()
    }

    /// The same by lines (rules R).
    pub fn explain_linear(
        &self,
        from: Clock,
        ticks: i64,
        to: Clock,
        cache: &mut Cache,
    ) -> Vec<LinearHop> {
        let value = Ticks(ticks).in_units_of(self.unit(from, cache));
        let (estimates, cache) = (&self.estimates, &mut cache.estimates);
        value.and_then(|value| estimates.explain(from, value, to, cache).ok()).unwrap_or_default()
    }

    /// Whether a clock of the trace, on any machine, has this number (rule C8).
    pub fn has(&self, id: ClockId) -> bool {
        let graph = self.estimates.graph();
        graph.unit(Clock::host(id.get())).is_some()
            || graph.clocks().any(|clock| clock.id == id)
            || self.seen.contains(&id)
    }

    /// The `snapshot_id` of a hop's snapshot.
    pub fn snapshot_id(&self, snapshot: SnapshotId) -> Option<i64> {
        self.ids.get(snapshot.0 as usize).copied()
    }

    /// The readings for rules K.
    pub fn readings(&self) -> &Readings {
        &self.readings
    }
}

/// Refuses a database of timebase with other tables. It accepts any other database as it is, and
/// also one whose identity cannot be read, because its user may not have the right to.
fn check_schema<D: Database + ?Sized>(function: &str, database: &D) -> Result<()> {
    let Ok(Some(APPLICATION_ID)) = integer(database, "PRAGMA main.application_id") else {
        return Ok(());
    };
    match integer(database, "PRAGMA main.user_version") {
        Ok(Some(found)) if found != VERSION => Err(Error::new(format_args!(
            "{function}(): this database has version {found} of timebase's tables, and this \
             timebase reads version {VERSION}: {}",
            timebase_schema::other_version(found)
        ))),
        _ => Ok(()),
    }
}

fn explain(function: &str, error: &Error) -> Error {
    let message = error.message();
    if error.is_interrupt() {
        return error.clone();
    }
    if message.starts_with("no such") {
        return Error::new(format_args!(
            "{function}(): this is not a timebase database ({message}); make one with `timebase import`"
        ));
    }
    Error::new(format_args!("{function}(): clock_snapshot cannot be used: {message}"))
}

/// The rows in the order of an import; or sorted, if they are not snapshot by snapshot. It does not
/// always sort, because SQLite sorts ordered rows as slowly as others.
fn load<D: Database + ?Sized>(database: &D) -> Result<Snapshots> {
    let mut owners = Owners::load(database)?;
    let mut readings = self::readings(FILE);
    let stored = |readings: &str| format!("{readings} ORDER BY id");
    let is_stored_in_order = match is_stored_in_order(database, &stored(&readings)) {
        Err(error) if error.message().starts_with("no such column: trace_file_id") => {
            readings = self::readings(NO_FILE);
            is_stored_in_order(database, &stored(&readings))?
        }
        is_in_order => is_in_order?,
    };
    let rows = match is_stored_in_order {
        true => Rows::read(database, &owners, &stored(&readings))?,
        false => Rows::read(database, &owners, &sorted_by(&readings, "id"))?,
    };
    let rows = match rows.are_in_order {
        true => rows,
        false => Rows::read(database, &owners, &sorted_by(&readings, "snapshot_id, id"))?,
    };
    let Rows { graph, ids, of_rules_k, .. } = rows;
    owners.set_clocks(graph.clocks());
    let mut estimates = Estimates::new(graph);
    samples::load(database, &owners, &mut estimates)?;
    alignments::load(database, &owners, &mut estimates)?;
    Ok(Snapshots {
        estimates,
        seen: unless_interrupted(seen(database))?.unwrap_or_default(),
        ids,
        readings: of_rules_k.into(),
        owners,
    })
}

/// Whether SQLite returns the rows of a query one by one, without needing the last row before the
/// first: an endless table has no last row.
fn is_stored_in_order<D: Database + ?Sized>(database: &D, sql: &str) -> Result<bool> {
    let mut is_in_order = true;
    database.query(&format!("EXPLAIN QUERY PLAN {sql}"), |row| {
        is_in_order &= match row.value(3) {
            Some(ValueRef::Text(step)) => !step.starts_with(b"USE TEMP B-TREE"),
            _ => false,
        };
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(is_in_order)
}

/// Sorts just enough rows to see that there are too many.
fn sorted_by(readings: &str, order: &str) -> String {
    // Without an offset, the rows may be any rows, and SQLite reads all of them.
    let most = MOST + 1;
    format!("SELECT * FROM ({readings} LIMIT {most} OFFSET 0) ORDER BY {order}")
}

/// The global clocks of the table `clock`. A database with nothing but `clock_snapshot` does not
/// have this table.
fn seen<D: Database + ?Sized>(database: &D) -> Result<Vec<ClockId>> {
    let mut seen = Vec::new();
    let sql = "SELECT clock_id FROM main.clock WHERE clock_id > 127";
    database.query(sql, |row| {
        seen.push(ClockId(row.number(0, "clock_id")?));
        Ok(match seen.len() < MOST {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(seen)
}

/// The data from the rows, while they are read.
struct Rows<'o> {
    owners: &'o Owners,
    graph: ClockGraph,
    ids: Vec<i64>,
    of_rules_k: UnorderedReadings,
    /// The number of rows read so far.
    count: usize,
    /// Whether each row's snapshot is the previous row's, or a later one.
    are_in_order: bool,
    /// The snapshot of the last row, and its readings so far.
    current: Option<(i64, Source)>,
    together: Vec<Reading>,
}

impl<'o> Rows<'o> {
    /// Stops at a row that is out of order.
    fn read<D: Database + ?Sized>(database: &D, owners: &'o Owners, sql: &str) -> Result<Rows<'o>> {
        let mut rows = Rows {
            owners,
            graph: ClockGraph::new(),
            ids: Vec::new(),
            of_rules_k: UnorderedReadings::new(owners.trace_time_machine()),
            count: 0,
            are_in_order: true,
            current: None,
            together: Vec::new(),
        };
        database.query(sql, |row| rows.add(row))?;
        rows.finish_snapshot()?;
        Ok(rows)
    }

    fn add(&mut self, row: &Row<'_>) -> Result<ControlFlow<()>> {
        if self.count == MOST {
            return Err(Error::new(format_args!(
                "it has more than {MOST} rows, which are as many readings as are loaded"
            )));
        }
        self.count += 1;
        let snapshot = row.integer(0, "snapshot_id").map_err(|error| match row.value(9) {
            Some(ValueRef::Integer(id)) => Error::new(format_args!("row {id}: {error}")),
            _ => error,
        })?;
        if let Some((last, _)) = self.current
            && last != snapshot
        {
            if snapshot < last {
                self.are_in_order = false;
                return Ok(ControlFlow::Break(()));
            }
            self.finish_snapshot()?;
        }
        let wrong = |error: Error| unusable(snapshot, format_args!("{error}"));
        let source = source(row).map_err(wrong)?;
        self.current = Some((snapshot, source));
        let reading = reading(row, self.owners).map_err(wrong)?;
        if let Some(of_clock) = self.of_rules_k.of(reading.clock)
            && let Some(ts) = row.optional_integer(8, "ts").map_err(wrong)?
        {
            let id = row.integer(9, "id").map_err(wrong)?;
            of_clock.push((ts, id, reading.value));
        }
        self.together.push(reading);
        Ok(ControlFlow::Continue(()))
    }

    /// Every snapshot of an import was valid (rule N2) when it was imported, with the trace time of
    /// that moment; this checks rows that were added by hand.
    fn finish_snapshot(&mut self) -> Result<()> {
        if let Some((snapshot, source)) = self.current {
            match self.graph.add_snapshot(source, &self.together, None) {
                Ok(_) => self.ids.push(snapshot),
                Err(rejected) => return Err(unusable(snapshot, format_args!("{rejected}"))),
            }
            self.together.clear();
        }
        Ok(())
    }
}

fn source(row: &Row<'_>) -> Result<Source> {
    let number = row.integer(7, "source")?;
    let known = Source::ALL.into_iter().find(|&of| of as i64 == number);
    let names = || Source::ALL.map(Source::name).join(", ");
    known.ok_or_else(|| Error::new(format_args!("source must be one of {}", names())))
}

fn unusable(snapshot: i64, why: fmt::Arguments<'_>) -> Error {
    Error::new(format_args!("snapshot {snapshot}: {why}"))
}

fn reading(row: &Row<'_>, owners: &Owners) -> Result<Reading> {
    let (machine, id) = (row.number(1, "machine_id")?, row.number(2, "clock_id")?);
    let seq = row.number(3, "seq_id")?;
    let file = match row.integer(10, "trace_file_id")? {
        -1 => None,
        _ => Some(row.number(10, "trace_file_id")?),
    };
    let clock = owners.read(machine, id, seq, file);
    let clock = clock.ok_or_else(|| Error::new(no_file("trace_file_id", file)))?;
    Ok(Reading {
        clock,
        value: row.integer(4, "clock_value")?,
        unit: row.integer(5, "unit_multiplier_ns")?.max(1),
        incremental: row.integer(6, "is_incremental")? != 0,
    })
}
