//! Tables whose rows are known when the whole trace is read, and few: clocks,
//! sequences, counters, facts. SQLite inserts them.

use rusqlite::types::Null;
use rusqlite::{Connection, Statement, ToSql};
use timebase_resolver::{Clock, builtin_name};
use timebase_schema::{Row, Table, finish, tables};

use super::counter::Meaning;
use super::room::Room;
use crate::error::WriteError;
use crate::place::Place;

/// Inserts rows of a table, by the names of its columns.
struct Inserts<'c>(Statement<'c>);

impl<'c> Inserts<'c> {
    fn into(conn: &'c Connection, table: &Table) -> rusqlite::Result<Self> {
        Ok(Inserts(conn.prepare(&table.insert())?))
    }

    fn push<'v, R: Row<&'v dyn ToSql>>(&mut self, row: R) -> rusqlite::Result<()> {
        self.0.execute(row.cells().as_ref())?;
        Ok(())
    }
}

/// Fills the table `clock`; tells how many there are.
pub(crate) fn clocks(conn: &Connection, place: &mut Place) -> rusqlite::Result<u64> {
    let mut inserts = Inserts::into(conn, &tables::clock::TABLE)?;
    let all = place.all_clocks();
    for &clock in &all {
        let packets = place.uses().get(&clock).copied().unwrap_or(0) as i64;
        let graph = place.graph();
        let path = graph.path(clock, Clock::BOOTTIME).ok();
        let names = path.as_deref().map(written);
        let domain = graph.domain(clock);
        inserts.push(tables::clock::Row::<&dyn ToSql> {
            machine_id: &clock.machine.0,
            clock_id: &clock.id.get(),
            seq_id: &clock.seq.0,
            name: &builtin_name(clock.id.get()),
            scope: &clock.id.scope().name(),
            unit_multiplier_ns: &domain.map_or(1, |domain| domain.unit),
            is_incremental: &domain.is_some_and(|domain| domain.incremental),
            is_monotonic: &domain.is_none_or(|domain| domain.monotonic),
            snapshots: &domain.map_or(0, |domain| domain.snapshots as i64),
            first_value: &domain.map(|domain| domain.first_value),
            last_value: &domain.map(|domain| domain.last_value),
            packets: &packets,
            path: &names,
            hops: &path.map(|path| path.len().saturating_sub(1) as i64),
        })?;
    }
    Ok(all.len() as u64)
}

/// So many clocks of a path are named at each of its ends.
const NAMED: usize = 16;

/// A path, in one line; of a long one not its middle.
fn written(path: &[Clock]) -> String {
    let (first, rest) = path.split_at(path.len().min(NAMED));
    let (middle, last) = rest.split_at(rest.len().saturating_sub(NAMED));
    let names = |clocks: &[Clock]| {
        let names: Vec<String> = clocks.iter().map(Clock::to_string).collect();
        names.join(" → ")
    };
    match middle.len() {
        0 => names(path),
        more => format!("{} → ({more} more) → {}", names(first), names(last)),
    }
}

/// Fills the table `sequence`; tells how many there are.
pub(crate) fn sequences(conn: &Connection, place: &Place) -> rusqlite::Result<u64> {
    let mut inserts = Inserts::into(conn, &tables::sequence::TABLE)?;
    let mut count = 0;
    for sequence in place.sequences() {
        inserts.push(tables::sequence::Row::<&dyn ToSql> {
            id: &sequence.id,
            machine_id: &sequence.machine_id,
            uid: &sequence.uid,
            pid: &sequence.pid,
            packets: &(sequence.packets as i64),
            losses: &sequence.losses,
            first_ts: &sequence.times().map(|(first, _)| first),
            last_ts: &sequence.times().map(|(_, last)| last),
        })?;
        count += 1;
    }
    Ok(count)
}

/// Fills the table `stats` with counters of the whole trace.
pub(crate) fn stats(
    conn: &Connection,
    mut counters: Vec<(String, Meaning, u64)>,
) -> rusqlite::Result<()> {
    counters.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let mut inserts = Inserts::into(conn, &tables::stats::TABLE)?;
    for (number, (name, meaning, value)) in counters.iter().enumerate() {
        let number = number as i64;
        inserts.push(tables::stats::Row::<&dyn ToSql> {
            id: &number,
            name,
            key: &number,
            idx: &Null,
            severity: &meaning.severity,
            source: &meaning.source,
            value: &i64::try_from(*value).unwrap_or(i64::MAX),
        })?;
    }
    Ok(())
}

/// Fills the table `fact`.
pub(crate) fn facts(conn: &Connection, facts: &[(&str, &dyn ToSql)]) -> rusqlite::Result<()> {
    let mut inserts = Inserts::into(conn, &tables::fact::TABLE)?;
    for &(name, value) in facts {
        inserts.push(tables::fact::Row::<&dyn ToSql> { name: &name, value })?;
    }
    Ok(())
}

/// An index that is to be made at the end.
pub(crate) struct Postponed {
    table: String,
    sql: String,
}

/// Drops indexes that are to be made at the end, and tells how.
pub(crate) fn drop_indexes(conn: &Connection, names: &[&str]) -> rusqlite::Result<Vec<Postponed>> {
    let mut statements = Vec::new();
    for name in names {
        let sql = "SELECT tbl_name, sql FROM sqlite_schema WHERE name = ?1";
        statements.push(conn.query_row(sql, [name], |row| {
            Ok(Postponed {
                table: row.get(0)?,
                sql: row.get(1)?,
            })
        })?);
        conn.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(statements)
}

/// Makes the views, and these indexes.
pub(crate) fn indexes_and_views(
    conn: &Connection,
    indexes: &[Postponed],
    room: &mut Room<'_>,
) -> Result<(), WriteError> {
    for Postponed { table, sql } in indexes {
        // Rows are numbered without a gap.
        let last = format!("SELECT coalesce(max(id) + 1, 0) FROM {table}");
        let rows: i64 = conn.query_row(&last, [], |row| row.get(0))?;
        room.sorting(conn, rows.unsigned_abs(), || conn.execute_batch(sql))?;
    }
    Ok(conn.execute_batch(&finish())?)
}
