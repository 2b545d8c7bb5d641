//! The clock graph, solved: the table behind `clock_mapping`.

use rusqlite::Connection;
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Step};
use timebase_schema::{Row, tables::clock_step};

use super::writer::{StepRow, StepWriter};
use crate::error::WriteError;
use crate::place::{Place, table_order};

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
    place: &mut Place,
) -> Result<Vec<FarClocks>, WriteError> {
    let mut targets = vec![Clock::BOOTTIME, place.trace_time()];
    targets.sort_unstable();
    targets.dedup();
    let all = place.all_clocks();
    let whole: Vec<bool> = targets.iter().map(|&to| fit(place, &all, to)).collect();
    let mut far: Vec<FarClocks> = targets
        .iter()
        .map(|&to| FarClocks {
            from: Vec::new(),
            to,
        })
        .collect();
    for &from in &all {
        for (far, &whole) in far.iter_mut().zip(&whole) {
            if whole || !is_far(place, from, far.to) {
                whole_mapping(steps, place, from, far.to)?;
            } else {
                far.from.push(from);
            }
        }
    }
    far.retain(|far| !far.from.is_empty());
    Ok(far)
}

/// Whether it is several hops from one clock to another.
fn is_far(place: &mut Place, from: Clock, to: Clock) -> bool {
    let path = place.graph().path(from, to);
    path.is_ok_and(|path| path.len() > 2)
}

/// Whether the mappings of the clocks of several hops are few enough rows.
fn fit(place: &mut Place, all: &[Clock], to: Clock) -> bool {
    let mut room = WHOLE_ROWS;
    all.iter().all(|&from| {
        if !is_far(place, from, to) {
            return true;
        }
        let steps = place.graph().mapping(from, to).map_or(0, |mapping| {
            mapping.steps().take(room.saturating_add(1)).count()
        });
        let fits = steps <= room;
        room = room.saturating_sub(steps);
        fits
    })
}

fn whole_mapping(
    steps: &mut StepWriter,
    place: &mut Place,
    from: Clock,
    to: Clock,
) -> Result<(), WriteError> {
    if let Ok(mapping) = place.graph().mapping(from, to) {
        for row in mapping.steps().filter_map(|step| row_of(from, to, step)) {
            steps.push(row)?;
        }
    }
    Ok(())
}

/// The row of a step; none if its values overflow (rule V6).
fn row_of(from: Clock, to: Clock, step: Step) -> Option<StepRow> {
    let offset = step.offset?;
    Some(clock_step::Row {
        machine_id: Some(from.machine.0.into()),
        clock_id: Some(from.id.get().into()),
        seq_id: Some(from.seq.0.into()),
        to_clock_id: Some(to.id.get().into()),
        start_value: Some(step.start.unwrap_or(i64::MIN)),
        end_value: step.end,
        offset: Some(offset),
    })
}

/// Adds the steps that readings of packets fall in.
///
/// Packets are read in file order, in which the readings of a clock stay in one
/// step for a while. Each step once, sorted by SQLite, was the alternative: it
/// sorts all packets, which took longer than their import.
pub(crate) fn used_steps(
    conn: &Connection,
    place: &mut Place,
    far: &FarClocks,
) -> rusqlite::Result<()> {
    let FarClocks { from, to } = far;
    // The first and the last value of the step where each clock was last.
    let mut last = vec![(i64::MAX, i64::MIN); from.len()];
    // A step may be found more than once.
    let insert = clock_step::TABLE.insert();
    let mut insert = conn.prepare(&insert.replacen("INSERT", "INSERT OR IGNORE", 1))?;
    let mut select = conn.prepare(
        "SELECT machine_id, clock_id, seq_id, clock_ts FROM packet WHERE clock_ts IS NOT NULL",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let machine = MachineId(row.get(0)?);
        let clock = Clock::new(machine, ClockId(row.get(1)?), SeqId(row.get(2)?));
        let Ok(index) = from.binary_search_by_key(&table_order(&clock), table_order) else {
            continue;
        };
        let ticks: i64 = row.get(3)?;
        let unit = place.graph().domain(clock).map_or(1, |domain| domain.unit);
        let Some(value) = ticks.checked_mul(unit) else {
            continue;
        };
        let (start, end) = last[index];
        if start <= value && value <= end {
            continue;
        }
        if let Ok(mapping) = place.graph().mapping(clock, *to) {
            let step = mapping.at(value);
            let start = step.start.unwrap_or(i64::MIN);
            let end = step.end.map_or(i64::MAX, |end| end.saturating_sub(1));
            last[index] = (start, end);
            if let Some(row) = row_of(clock, *to, step) {
                insert.execute(row.cells())?;
            }
        }
    }
    Ok(())
}
