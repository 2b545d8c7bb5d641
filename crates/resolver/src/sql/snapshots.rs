//! The clock graph of a connection, made of its `clock_snapshot`.
//!
//! # Design
//!
//! Each statement looks once at `clock_snapshot_version` in `metadata`, which
//! triggers renew with every change. So rows that are added, rolled back or come
//! from another connection are seen by the next statement.
//!
//! The table may be anybody's: a view that goes on without end, or rows of which each is of another
//! clock. So it may have [`MOST`] readings and no more; a reading takes 250 bytes at most, of a clock
//! and a set of its own, and some ten if its clocks were there before. A bound in bytes was the
//! alternative. It would let more readings of few clocks pass, and nobody could say how many.
//!
//! What was tried, with the section `sql` of the benchmark:
//!
//! * The readings of rules K loaded when a function first needs them: they could
//!   be of a later version than the graph that they are kept with.
//! * Rows of `clock_snapshot` always sorted: the first call took 135 ms with
//!   100,000 snapshots, of 300,000 readings, and takes 92 ms; to read the rows and
//!   do nothing with them takes 67 ms.

use std::fmt;
use std::ops::ControlFlow;

use timebase_schema::{APPLICATION_ID, VERSION};
use timebase_sql::{Database, Error, Result, Row, Table, ValueRef, Values, unless_interrupted};

use super::files::{Asked, NotThere, Owners};
use super::read::{MOST, integer, no_file};
use super::samples;
use super::trace_time::{Readings, UnorderedReadings};
use crate::clock::{Clock, ClockId, SeqId};
use crate::domain::Domain;
use crate::graph::{ClockGraph, Hop, SnapshotId};
use crate::linear::{Estimate, EstimateCache, Estimates, LinearHop};
use crate::snapshot::{Reading, Source};
use crate::time::{ClockNs, Ticks};
use crate::unresolved::Unresolved;

/// What is read of each row. All are integers, which are handed over in large numbers fastest
/// where SQLite cannot load the library.
fn readings(file: &str) -> String {
    let mut source = "CASE source".to_owned();
    for of in Source::ALL {
        source += &format!(" WHEN '{}' THEN {}", of.name(), of as u8);
    }
    format!(
        "SELECT snapshot_id, machine_id, clock_id, seq_id, clock_value, unit_multiplier_ns, \
         is_incremental, {source} ELSE -1 END, ts, id, {file} FROM main.clock_snapshot"
    )
}

/// The file whose own clock a row is of, and what is read where no clock can be a file's own.
const FILE: &str = "coalesce(trace_file_id, -1)";
const NO_FILE: &str = "-1";

/// A version of `clock_snapshot`, and what a session's conversions by it remember.
#[derive(Debug)]
pub(super) struct Loaded {
    pub snapshots: Snapshots,
    pub cache: Cache,
}

/// What a session's conversions remember.
#[derive(Debug)]
pub(super) struct Cache {
    estimates: EstimateCache,
    /// The clock that was converted last and its unit. Packets come in runs of one
    /// clock, which need not look it up.
    unit: (Clock, i64),
}

/// What is made of a version of `clock_snapshot`. No conversion changes it.
#[derive(Debug)]
pub(super) struct Snapshots {
    estimates: Estimates,
    /// The `snapshot_id` of each of the graph's snapshots.
    ids: Vec<i64>,
    readings: Readings,
    owners: Owners,
    /// The global clocks that the import has seen, in snapshots or used by packets.
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
        let cache = Cache {
            estimates: EstimateCache::new(),
            unit: (Clock::BOOTTIME, unit),
        };
        Ok(Loaded { snapshots, cache })
    }
}

impl Snapshots {
    /// The clock that is asked for.
    #[inline]
    pub fn clock(&self, asked: Asked) -> Result<Clock, NotThere> {
        self.owners.clock(asked)
    }

    /// A clock of the host by its number and sequence; `None` if it is of one of several files.
    #[inline(always)]
    pub fn hosts_clock(&self, (id, seq): (ClockId, SeqId)) -> Option<Clock> {
        self.owners.hosts_clock(id, seq)
    }

    /// BOOTTIME of the machine that trace time is of.
    #[inline(always)]
    pub fn boottime(&self) -> Clock {
        Clock {
            machine: self.owners.trace_time_machine(),
            ..Clock::BOOTTIME
        }
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

    /// The same by the line that the reading is on (rules R).
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

    /// Where a reading in the clock's own unit was, and how sure that is (rules R).
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
        let domain = self.estimates.graph().domain(clock);
        domain.map_or(1, |domain| domain.unit)
    }

    /// The hops of a conversion; none if there is no path.
    pub fn explain(&self, from: Clock, ticks: i64, to: Clock, cache: &mut Cache) -> Vec<Hop> {
        let value = Ticks(ticks).in_units_of(self.unit(from, cache));
        let (graph, cache) = (self.estimates.graph(), cache.estimates.conversions());
        value
            .and_then(|value| graph.explain(from, value, to, cache).ok())
            .unwrap_or_default()
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
        value
            .and_then(|value| estimates.explain(from, value, to, cache).ok())
            .unwrap_or_default()
    }

    /// Whether a clock of the trace, on any machine, has this number (rule C8).
    pub fn has(&self, id: ClockId) -> bool {
        let is_it = |domain: &Domain| domain.clock.id == id;
        let graph = self.estimates.graph();
        graph.domain(Clock::host(id.get())).is_some()
            || graph.domains().iter().any(is_it)
            || self.seen.contains(&id)
    }

    /// The `snapshot_id` of a snapshot that a hop used.
    pub fn snapshot_id(&self, snapshot: SnapshotId) -> Option<i64> {
        self.ids.get(snapshot.0 as usize).copied()
    }

    /// The readings that rules K look at.
    pub fn readings(&self) -> &Readings {
        &self.readings
    }
}

/// Refuses a database that timebase made with other tables. Any other one is
/// looked at for what it has, and so is one that does not tell what it is,
/// because its user may not ask.
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
    Error::new(format_args!(
        "{function}(): clock_snapshot cannot be used: {message}"
    ))
}

/// The rows as an import leaves them; and, if those are not snapshot by snapshot,
/// sorted: SQLite sorts what is in order already as if it were not.
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
    let Rows {
        graph,
        ids,
        of_rules_k,
        ..
    } = rows;
    owners.set_clocks(graph.domains());
    let mut estimates = Estimates::new(graph);
    samples::load(database, &owners, &mut estimates)?;
    Ok(Snapshots {
        estimates,
        seen: unless_interrupted(seen(database))?.unwrap_or_default(),
        ids,
        readings: of_rules_k.into(),
        owners,
    })
}

/// Whether SQLite gives the rows of a query one by one, and need not see the last of them before the
/// first: of what has no end, there is no last one.
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

/// Sorts no more rows than make it clear that there are too many.
fn sorted_by(readings: &str, order: &str) -> String {
    // Without an offset, the rows need not be those that come first, and SQLite looks at all.
    let most = MOST + 1;
    format!("SELECT * FROM ({readings} LIMIT {most} OFFSET 0) ORDER BY {order}")
}

/// The global clocks of the table `clock`, which a database with nothing but
/// `clock_snapshot` does not have.
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

/// What is made of the rows, while they come.
struct Rows<'o> {
    owners: &'o Owners,
    graph: ClockGraph,
    ids: Vec<i64>,
    of_rules_k: UnorderedReadings,
    /// How many rows have been read.
    count: usize,
    /// Whether each row's snapshot is that of the row before, or comes after it.
    are_in_order: bool,
    /// The snapshot that the last row is of, and its readings so far.
    current: Option<(i64, Source)>,
    together: Vec<Reading>,
}

impl<'o> Rows<'o> {
    /// Stops at a row that is not in order.
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
        let snapshot = row
            .integer(0, "snapshot_id")
            .map_err(|error| match row.value(9) {
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

    /// Every snapshot in the table has passed rule N2 when it was imported, with
    /// the trace time of then; what is added by hand is checked here.
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
