//! The clock graph of a connection, kept in step with its `clock_snapshot`.
//!
//! # Design
//!
//! A statement that asks for the first time looks up which version
//! `clock_snapshot` has now, loads its graph if the session does not have it,
//! and keeps the graph's [`Mark`] as auxiliary data of SQLite's. Each further call
//! compares the mark's address with those of the graphs in the session, of which
//! there is more than one only while statements run by turns with changes between
//! them. SQLite drops the mark when the statement ends or begins again; a graph
//! that no statement has the mark of, and that is not of now, goes with the next
//! load.
//!
//! What was tried, with the section `sql` of the benchmark:
//!
//! * Instead of the [`Mutex`] a lock without poison, or nothing but a note that a
//!   call is under way: no difference beyond the spread of the measurement.
//! * The auxiliary data being the graph itself: no comparison, but a call would
//!   follow a pointer that anybody's function may have put there.
//! * The readings of rules K loaded when a function first needs them: they could
//!   be of a later version than the graph that they are kept with.
//! * Rows of `clock_snapshot` always sorted: the first call took 135 ms with
//!   100,000 snapshots, of 300,000 readings, and takes 92 ms; to read the rows and
//!   do nothing with them takes 67 ms.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use rusqlite::{Connection, Error, OptionalExtension, Result, Row};

use super::call::{Call, Mark};
use super::perfetto_time::{Readings, UnorderedReadings};
use super::sql_error;
use timebase_schema::{APPLICATION_ID, VERSION};

use crate::clock::{Clock, ClockId, MachineId, SeqId};
use crate::graph::{ClockGraph, Hop, SnapshotId};
use crate::snapshot::{Reading, Source};
use crate::unresolved::Unresolved;

const READINGS: &str = "SELECT snapshot_id, machine_id, clock_id, seq_id, clock_value, \
     unit_multiplier_ns, is_incremental, source, ts, id FROM main.clock_snapshot";

/// The session that the functions of one connection share.
pub(super) type SharedSession = Arc<Mutex<Session>>;

/// What is loaded of a connection's database: the graph of now, and those of
/// statements that began before.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub graphs: Vec<Loaded>,
}

/// A version of `clock_snapshot`.
#[derive(Debug)]
pub(super) struct Loaded {
    /// Statements that see this version have it too.
    mark: Arc<Mark>,
    version: Option<i64>,
    graph: ClockGraph,
    /// The `snapshot_id` of each of the graph's snapshots.
    snapshot_ids: Vec<i64>,
    readings: Readings,
    /// The clock that was converted last and its unit. Packets come in runs of one
    /// clock, which need not look it up.
    unit: (Clock, i64),
}

/// Calls `function` with what the statement sees of `clock_snapshot`.
#[inline]
pub(super) fn with_loaded<T>(
    name: &'static str,
    call: &Call<'_>,
    session: &SharedSession,
    function: impl FnOnce(&mut Loaded) -> T,
) -> Result<T> {
    let mut session = lock(name, session)?;
    let mark = call.mark();
    let is_seen = |loaded: &Loaded| Arc::as_ptr(&loaded.mark) == mark;
    let loaded = match session.graphs.iter().position(is_seen) {
        Some(seen) => &mut session.graphs[seen],
        None => session.begin(name, call)?,
    };
    Ok(function(loaded))
}

/// The session, for one call. SQLite lets one call at a time into a connection,
/// so one that has the session already is what reads `clock_snapshot` now.
pub(super) fn lock<'s>(
    name: &'static str,
    session: &'s SharedSession,
) -> Result<MutexGuard<'s, Session>> {
    match session.try_lock() {
        Ok(session) => Ok(session),
        Err(TryLockError::Poisoned(poisoned)) => {
            // A call panicked, and may have left half of a change.
            let mut half = poisoned.into_inner();
            *half = Session::default();
            session.clear_poison();
            Ok(half)
        }
        Err(TryLockError::WouldBlock) => Err(sql_error(&format!(
            "{name}(): clock_snapshot cannot be made of what is read from it"
        ))),
    }
}

impl Session {
    /// What a statement sees that asks for the first time.
    #[cold]
    fn begin(&mut self, name: &str, call: &Call<'_>) -> Result<&mut Loaded> {
        let loaded = call.with_connection(|conn| self.now(name, conn))?;
        call.set_mark(Arc::clone(&loaded.mark));
        Ok(loaded)
    }

    /// What `clock_snapshot` is now.
    pub fn now(&mut self, function: &str, conn: &Connection) -> Result<&mut Loaded> {
        let version = conn
            .query_row(
                "SELECT value FROM main.metadata WHERE name = 'clock_snapshot_version'",
                [],
                |row| row.get::<_, i64>(0),
            )
            .optional()
            .unwrap_or(None);
        let is_now = |loaded: &Loaded| version.is_some() && loaded.version == version;
        // A mark that statements have is in the hands of others.
        self.graphs
            .retain(|loaded| is_now(loaded) || Arc::strong_count(&loaded.mark) > 1);
        let now = match self.graphs.iter().position(is_now) {
            Some(now) => now,
            None => {
                check_schema(function, conn)?;
                let loaded = load(conn, version).map_err(|error| explain(function, error))?;
                self.graphs.push(loaded);
                self.graphs.len() - 1
            }
        };
        Ok(&mut self.graphs[now])
    }
}

impl Loaded {
    /// Converts a reading in the clock's own unit (rule V4) to nanoseconds of
    /// another clock.
    #[inline]
    pub fn convert(&mut self, from: Clock, ticks: i64, to: Clock) -> Result<i64, Unresolved> {
        if self.unit.0 != from {
            self.unit = (from, unit(&self.graph, from));
        }
        match ticks.checked_mul(self.unit.1) {
            Some(value) => self.graph.convert(from, value, to),
            None => Err(self
                .graph
                .why_unresolved(from, 0, to)
                .unwrap_or(Unresolved::Overflow)),
        }
    }

    /// The hops of a conversion; none if there is no path.
    pub fn explain(&mut self, from: Clock, ticks: i64, to: Clock) -> Vec<Hop> {
        let value = ticks.checked_mul(unit(&self.graph, from));
        value
            .and_then(|value| self.graph.explain(from, value, to).ok())
            .unwrap_or_default()
    }

    /// The `snapshot_id` of a snapshot that a hop used.
    pub fn snapshot_id(&self, snapshot: SnapshotId) -> Option<i64> {
        self.snapshot_ids.get(snapshot.0 as usize).copied()
    }

    /// The readings that rules K look at.
    pub fn readings(&self) -> &Readings {
        &self.readings
    }
}

/// Nanoseconds in a unit of a clock.
fn unit(graph: &ClockGraph, clock: Clock) -> i64 {
    graph.domain(clock).map_or(1, |domain| domain.unit)
}

/// Refuses a database that timebase made with other tables. Any other one is
/// looked at for what it has, and so is one that does not tell what it is,
/// because its user may not ask.
fn check_schema(function: &str, conn: &Connection) -> Result<()> {
    let pragma = |name| conn.pragma_query_value(Some("main"), name, |row| row.get::<_, i64>(0));
    let Ok((APPLICATION_ID, found)) =
        pragma("application_id").and_then(|id| Ok((id, pragma("user_version")?)))
    else {
        return Ok(());
    };
    if found == VERSION {
        return Ok(());
    }
    Err(sql_error(&format!(
        "{function}(): this database has version {found} of timebase's tables, and this timebase \
         reads version {VERSION}: import the trace again"
    )))
}

fn explain(function: &str, error: Error) -> Error {
    sql_error(&match error {
        Error::SqliteFailure(_, Some(message)) if message.starts_with("no such") => format!(
            "{function}(): this is not a timebase database ({message}); make one with `timebase import`"
        ),
        error => format!("{function}(): clock_snapshot cannot be used: {error}"),
    })
}

/// The rows as an import leaves them; and, if those are not snapshot by snapshot,
/// sorted: SQLite sorts what is in order already as if it were not.
const ORDERS: [&str; 2] = ["id", "snapshot_id, id"];

fn load(conn: &Connection, version: Option<i64>) -> Result<Loaded> {
    let [stored, sorted] = ORDERS;
    let mut snapshots = Snapshots::default();
    if !snapshots.read(conn, stored)? {
        snapshots = Snapshots::default();
        snapshots.read(conn, sorted)?;
    }
    Ok(Loaded {
        mark: Mark::new(),
        version,
        unit: (Clock::BOOTTIME, unit(&snapshots.graph, Clock::BOOTTIME)),
        graph: snapshots.graph,
        snapshot_ids: snapshots.ids,
        readings: snapshots.of_rules_k.into(),
    })
}

/// What is made of the rows.
#[derive(Default)]
struct Snapshots {
    graph: ClockGraph,
    ids: Vec<i64>,
    of_rules_k: UnorderedReadings,
}

impl Snapshots {
    /// Stops, with `false`, at a row whose snapshot is before that of the last one.
    fn read(&mut self, conn: &Connection, order: &str) -> Result<bool> {
        let mut statement = conn.prepare(&format!("{READINGS} ORDER BY {order}"))?;
        let mut rows = statement.query([])?;
        let mut current: Option<(i64, Source)> = None;
        let mut readings = Vec::new();
        while let Some(row) = rows.next()? {
            let snapshot: i64 = row.get(0)?;
            if let Some((last, source)) = current
                && last != snapshot
            {
                if snapshot < last {
                    return Ok(false);
                }
                self.add(last, source, &readings)?;
                readings.clear();
            }
            let number: i64 = row.get(7)?;
            let source = Source::from_number(number).ok_or_else(|| {
                unusable(snapshot, format_args!("source {number} is none of 0, 1, 2"))
            })?;
            current = Some((snapshot, source));
            let reading = reading(row)?;
            if let Some(of_clock) = self.of_rules_k.of(reading.clock)
                && let Some(ts) = row.get(8)?
            {
                of_clock.push((ts, row.get(9)?, reading.value));
            }
            readings.push(reading);
        }
        if let Some((last, source)) = current {
            self.add(last, source, &readings)?;
        }
        Ok(true)
    }

    /// Every snapshot in the table has passed rule N2 when it was imported, with
    /// the trace time of then; what is added by hand is checked here.
    fn add(&mut self, snapshot: i64, source: Source, readings: &[Reading]) -> Result<()> {
        match self.graph.add_snapshot(source, readings, None) {
            Ok(_) => self.ids.push(snapshot),
            Err(rejected) => return Err(unusable(snapshot, format_args!("{rejected}"))),
        }
        Ok(())
    }
}

fn unusable(snapshot: i64, why: std::fmt::Arguments<'_>) -> Error {
    sql_error(&format!("snapshot {snapshot}: {why}"))
}

fn reading(row: &Row<'_>) -> Result<Reading> {
    let machine = MachineId(row.get(1)?);
    Ok(Reading {
        clock: Clock::new(machine, ClockId(row.get(2)?), SeqId(row.get(3)?)),
        value: row.get(4)?,
        unit: row.get::<_, i64>(5)?.max(1),
        incremental: row.get(6)?,
    })
}
