//! What is known only when the whole trace is read: clocks, their mappings,
//! sequences, counters.

use rusqlite::{Connection, params};
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Step, builtin_name};
use timebase_schema::finish as views;

use crate::clocks::Clocks;
use crate::decoder::Decoder;
use crate::error::WriteError;
use crate::writer::{StepRow, StepWriter};

/// A step may be found more than once.
const INSERT_STEP: &str = "INSERT OR IGNORE INTO clock_step (machine_id, clock_id, seq_id, \
     to_clock_id, start_value, end_value, offset) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// All clocks, in the order of the tables: those of snapshots and those that only
/// packets name.
fn all_clocks(clocks: &mut Clocks) -> Vec<Clock> {
    clocks.settle_uses();
    let graph = &clocks.graph;
    let mut all: Vec<Clock> = graph.domains().iter().map(|domain| domain.clock).collect();
    let used = clocks.uses().keys().copied();
    all.extend(used.filter(|&clock| graph.domain(clock).is_none()));
    all.sort_unstable_by_key(key);
    all
}

/// What the tables are sorted by.
fn key(clock: &Clock) -> (MachineId, ClockId, SeqId) {
    (clock.machine, clock.id, clock.seq)
}

/// Fills the table `clock`; tells how many there are.
pub(crate) fn clocks(conn: &Connection, clocks: &mut Clocks) -> rusqlite::Result<u64> {
    let mut insert = conn.prepare(
        "INSERT INTO clock VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    let all = all_clocks(clocks);
    for &clock in &all {
        let packets = clocks.uses().get(&clock).copied().unwrap_or(0);
        let path = clocks.graph.path(clock, Clock::BOOTTIME).ok();
        let text = path.as_ref().map(|path| {
            let names: Vec<String> = path.iter().map(Clock::to_string).collect();
            names.join(" → ")
        });
        let domain = clocks.graph.domain(clock);
        insert.execute(params![
            clock.machine.0,
            clock.id.get(),
            clock.seq.0,
            builtin_name(clock.id.get()),
            clock.id.scope().name(),
            domain.map_or(1, |domain| domain.unit),
            domain.is_some_and(|domain| domain.incremental),
            domain.is_none_or(|domain| domain.monotonic),
            domain.map_or(0, |domain| domain.snapshots as i64),
            domain.map(|domain| domain.first_value),
            domain.map(|domain| domain.last_value),
            packets as i64,
            text,
            path.map(|path| path.len().saturating_sub(1) as i64),
        ])?;
    }
    Ok(all.len() as u64)
}

/// How many rows the mappings of clocks of several hops may have together.
const WHOLE_ROWS: usize = 1 << 20;

/// Clocks whose whole mappings would be too many rows.
pub(crate) struct FarClocks {
    from: Vec<Clock>,
    to: Clock,
}

/// Fills the table behind `clock_mapping`, but for clocks that need
/// [`used_steps`].
///
/// A clock of several hops has a row for every step of every clock it passes,
/// so 10,000 clocks over a MONOTONIC of 1,000 snapshots would have ten million
/// rows. Where they are that many together, the clocks of several hops get only
/// the steps that readings of their packets fall in; those of one hop are always
/// whole. A view that composes the hops in SQL was the alternative; every JOIN
/// would compose them again.
pub(crate) fn mappings(
    steps: &mut StepWriter,
    clocks: &mut Clocks,
) -> Result<Vec<FarClocks>, WriteError> {
    let mut targets = vec![Clock::BOOTTIME, clocks.trace_time()];
    targets.sort_unstable();
    targets.dedup();
    let all = all_clocks(clocks);
    let whole: Vec<bool> = targets.iter().map(|&to| fit(clocks, &all, to)).collect();
    let mut far: Vec<FarClocks> = targets
        .iter()
        .map(|&to| FarClocks {
            from: Vec::new(),
            to,
        })
        .collect();
    for &from in &all {
        for (far, &whole) in far.iter_mut().zip(&whole) {
            if whole || !is_far(clocks, from, far.to) {
                whole_mapping(steps, clocks, from, far.to)?;
            } else {
                far.from.push(from);
            }
        }
    }
    far.retain(|far| !far.from.is_empty());
    Ok(far)
}

/// Whether it is several hops from one clock to another.
fn is_far(clocks: &mut Clocks, from: Clock, to: Clock) -> bool {
    let path = clocks.graph.path(from, to);
    path.is_ok_and(|path| path.len() > 2)
}

/// Whether the mappings of the clocks of several hops are few enough rows.
fn fit(clocks: &mut Clocks, all: &[Clock], to: Clock) -> bool {
    let mut room = WHOLE_ROWS;
    all.iter().all(|&from| {
        if !is_far(clocks, from, to) {
            return true;
        }
        let steps = clocks.graph.mapping(from, to).map_or(0, |mapping| {
            mapping.steps().take(room.saturating_add(1)).count()
        });
        let fits = steps <= room;
        room = room.saturating_sub(steps);
        fits
    })
}

fn whole_mapping(
    steps: &mut StepWriter,
    clocks: &mut Clocks,
    from: Clock,
    to: Clock,
) -> Result<(), WriteError> {
    if let Ok(mapping) = clocks.graph.mapping(from, to) {
        for row in mapping.steps().filter_map(|step| row_of(from, to, step)) {
            steps.push(row)?;
        }
    }
    Ok(())
}

/// The row of a step; none if its values overflow (rule V6).
fn row_of(from: Clock, to: Clock, step: Step) -> Option<StepRow> {
    let offset = step.offset?;
    Some([
        Some(from.machine.0.into()),
        Some(from.id.get().into()),
        Some(from.seq.0.into()),
        Some(to.id.get().into()),
        Some(step.start.unwrap_or(i64::MIN)),
        step.end,
        Some(offset),
    ])
}

/// Adds the steps that readings of packets fall in.
///
/// Packets are read in file order, in which the readings of a clock stay in one
/// step for a while. Each step once, sorted by SQLite, was the alternative: it
/// sorts all packets, which took longer than their import.
pub(crate) fn used_steps(
    conn: &Connection,
    clocks: &mut Clocks,
    far: &FarClocks,
) -> rusqlite::Result<()> {
    let FarClocks { from, to } = far;
    // The first and the last value of the step where each clock was last.
    let mut last = vec![(i64::MAX, i64::MIN); from.len()];
    let mut insert = conn.prepare(INSERT_STEP)?;
    let mut select = conn.prepare(
        "SELECT machine_id, clock_id, seq_id, clock_ts FROM packet WHERE clock_ts IS NOT NULL",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let machine = MachineId(row.get(0)?);
        let clock = Clock::new(machine, ClockId(row.get(1)?), SeqId(row.get(2)?));
        let Ok(index) = from.binary_search_by_key(&key(&clock), key) else {
            continue;
        };
        let ticks: i64 = row.get(3)?;
        let Some(value) = ticks.checked_mul(clocks.unit(clock)) else {
            continue;
        };
        let (start, end) = last[index];
        if start <= value && value <= end {
            continue;
        }
        if let Ok(mapping) = clocks.graph.mapping(clock, *to) {
            let step = mapping.at(value);
            let start = step.start.unwrap_or(i64::MIN);
            let end = step.end.map_or(i64::MAX, |end| end.saturating_sub(1));
            last[index] = (start, end);
            if let Some(row) = row_of(clock, *to, step) {
                insert.execute(row)?;
            }
        }
    }
    Ok(())
}

/// Fills the table `sequence`; tells how many there are.
pub(crate) fn sequences(conn: &Connection, decoder: &Decoder) -> rusqlite::Result<u64> {
    let mut insert =
        conn.prepare("INSERT INTO sequence VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let mut count = 0;
    for sequence in decoder.sequences.iter() {
        insert.execute(params![
            sequence.id,
            sequence.machine_id,
            sequence.uid,
            sequence.pid,
            sequence.packets as i64,
            sequence.losses as i64,
            sequence.times().map(|(first, _)| first),
            sequence.times().map(|(_, last)| last),
        ])?;
        count += 1;
    }
    Ok(count)
}

/// Adds a counter.
pub(crate) fn stat(conn: &Connection, name: &str, value: u64) -> rusqlite::Result<()> {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    conn.execute("INSERT INTO stats VALUES (?1, ?2)", params![name, value])?;
    Ok(())
}

/// Adds a fact about the trace or the import.
pub(crate) fn metadata(
    conn: &Connection,
    name: &str,
    value: impl rusqlite::ToSql,
) -> rusqlite::Result<()> {
    conn.execute("INSERT INTO metadata VALUES (?1, ?2)", params![name, value])?;
    Ok(())
}

/// Drops indexes that are to be made at the end, and tells how.
pub(crate) fn drop_indexes(conn: &Connection, names: &[&str]) -> rusqlite::Result<Vec<String>> {
    let mut statements = Vec::new();
    for name in names {
        let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
        statements.push(conn.query_row(sql, [name], |row| row.get(0))?);
        conn.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(statements)
}

/// Makes the views, and these indexes.
pub(crate) fn indexes_and_views(conn: &Connection, indexes: &[String]) -> rusqlite::Result<()> {
    for sql in indexes {
        conn.execute_batch(sql)?;
    }
    conn.execute_batch(&views())
}
