//! The clock graph of a connection, kept in step with its `clock_snapshot`.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use rusqlite::functions::Context;
use rusqlite::{Connection, Error, OptionalExtension, Result, Row};

use super::perfetto_time::Readings;
use super::{APPLICATION_ID, SCHEMA_VERSION, sql_error};
use crate::clock::{Clock, ClockId, MachineId, SeqId};
use crate::graph::{ClockGraph, Hop, SnapshotId};
use crate::snapshot::{Reading, Source};
use crate::unresolved::Unresolved;

const SNAPSHOTS: &str = "SELECT snapshot_id, machine_id, clock_id, seq_id, clock_value, \
     unit_multiplier_ns, is_incremental, source \
     FROM main.clock_snapshot ORDER BY snapshot_id, id";

/// The key of what a statement as a whole keeps: negative, as SQLite has it for
/// auxiliary data that belongs to no argument, and our own.
const STATEMENT: c_int = -1_952_605_811;

/// The session that the functions of one connection share.
pub(super) type SharedSession = Arc<Mutex<Session>>;

/// What is loaded of a connection's database.
#[derive(Debug, Default)]
pub(super) struct Session {
    graph: ClockGraph,
    /// The `snapshot_id` of each of the graph's snapshots.
    snapshot_ids: Vec<i64>,
    readings: Option<Arc<Readings>>,
    version: Option<i64>,
    loaded: bool,
}

/// A statement has this once it has checked that the graph is up to date.
struct UpToDate;

/// Calls `function` with the session, brought up to date once a statement.
pub(super) fn with_session<T>(
    name: &'static str,
    ctx: &Context<'_>,
    session: &SharedSession,
    function: impl FnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    let checked = ctx.get_aux::<UpToDate>(STATEMENT)?.is_some();
    let mut session = lock(name, session)?;
    if !checked {
        // SAFETY: the connection that calls a function is open while it does,
        // and the reference does not leave this block.
        let conn = unsafe { ctx.get_connection() }?;
        session.refresh(name, &conn)?;
        ctx.set_aux(STATEMENT, UpToDate)?;
    }
    function(&mut session)
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
    /// Loads the graph again if `clock_snapshot` has changed.
    pub fn refresh(&mut self, function: &str, conn: &Connection) -> Result<()> {
        let version = conn
            .query_row(
                "SELECT value FROM main.metadata WHERE name = 'clock_snapshot_version'",
                [],
                |row| row.get::<_, i64>(0),
            )
            .optional()
            .unwrap_or(None);
        if !self.loaded || version.is_none() || version != self.version {
            self.loaded = false;
            self.readings = None;
            check_schema(function, conn)?;
            (self.graph, self.snapshot_ids) =
                load(conn).map_err(|error| explain(function, error))?;
            self.loaded = true;
        }
        self.version = version;
        Ok(())
    }

    /// Converts a reading in the clock's own unit (rule V4) to nanoseconds of
    /// another clock.
    #[inline]
    pub fn convert(&mut self, from: Clock, ticks: i64, to: Clock) -> Result<i64, Unresolved> {
        match ticks.checked_mul(self.unit(from)) {
            Some(value) => self.graph.convert(from, value, to),
            None => Err(self
                .graph
                .why_unresolved(from, 0, to)
                .unwrap_or(Unresolved::Overflow)),
        }
    }

    /// Nanoseconds in a unit of a clock.
    fn unit(&self, clock: Clock) -> i64 {
        self.graph.domain(clock).map_or(1, |domain| domain.unit)
    }

    /// The hops of a conversion; none if there is no path.
    pub fn explain(&mut self, from: Clock, ticks: i64, to: Clock) -> Vec<Hop> {
        let value = ticks.checked_mul(self.unit(from));
        value
            .and_then(|value| self.graph.explain(from, value, to).ok())
            .unwrap_or_default()
    }

    /// The `snapshot_id` of a snapshot that a hop used.
    pub fn snapshot_id(&self, snapshot: SnapshotId) -> Option<i64> {
        self.snapshot_ids.get(snapshot.0 as usize).copied()
    }

    /// The readings that rules K look at.
    pub fn readings(&mut self, conn: &Connection) -> Result<Arc<Readings>> {
        if let Some(readings) = &self.readings {
            return Ok(Arc::clone(readings));
        }
        let readings = Arc::new(Readings::load(conn)?);
        self.readings = Some(Arc::clone(&readings));
        Ok(readings)
    }
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
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    Err(sql_error(&format!(
        "{function}(): this database has version {found} of timebase's tables, and this timebase \
         reads version {SCHEMA_VERSION}: import the trace again"
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

fn load(conn: &Connection) -> Result<(ClockGraph, Vec<i64>)> {
    let mut graph = ClockGraph::new();
    let mut snapshot_ids = Vec::new();
    let mut statement = conn.prepare(SNAPSHOTS)?;
    let mut rows = statement.query([])?;
    let mut current: Option<(i64, Source)> = None;
    let mut readings = Vec::new();
    while let Some(row) = rows.next()? {
        let snapshot: i64 = row.get(0)?;
        if let Some((last, source)) = current
            && last != snapshot
        {
            add(&mut graph, last, source, &readings)?;
            snapshot_ids.push(last);
            readings.clear();
        }
        let number: i64 = row.get(7)?;
        let source = Source::from_number(number).ok_or_else(|| {
            unusable(snapshot, format_args!("source {number} is none of 0, 1, 2"))
        })?;
        current = Some((snapshot, source));
        readings.push(reading(row)?);
    }
    if let Some((last, source)) = current {
        add(&mut graph, last, source, &readings)?;
        snapshot_ids.push(last);
    }
    Ok((graph, snapshot_ids))
}

/// Every snapshot in the table has passed rule N2 when it was imported, with
/// the trace time of then; what is added by hand is checked here.
fn add(graph: &mut ClockGraph, snapshot: i64, source: Source, readings: &[Reading]) -> Result<()> {
    match graph.add_snapshot(source, readings, None) {
        Ok(_) => Ok(()),
        Err(rejected) => Err(unusable(snapshot, format_args!("{rejected}"))),
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
