//! Intervals: where those of several tables overlap.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_interval_tree_intervals_agg(id, ts, dur, [name, value] …)` | the intervals of a table, in the order of `ts`, by the values of the partition columns; `ts` and `dur` in nanoseconds |
//! | `__intrinsic_interval_intersect(intervals …, columns)` | a table with `ts`, `dur` (ns), `id_0` … `id_14`, and the partition columns in the list `columns`, as `(cpu, utid)` |
//!
//! An interval is half-open: it does not contain its end. One without a duration is an instant: it
//! overlaps an interval that contains it, and instants at the same time.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::{Error, Result};

use super::again::Again;
use super::call::{Call, Gather, PURE, gather, names, scalar};
use super::limits::{Budget, Watch, connection};
use super::pointer::{Handed, Pointer, kind};
use super::table::{Cell, Column, Table};

mod overlap;

use overlap::{Overlaps, Span};

/// The most tables of one intersection: each has a column for its ids.
const TABLES: usize = 15;

/// The most partition columns.
const PARTITION_COLUMNS: usize = 4;

const INTERSECT: &str = "__intrinsic_interval_intersect";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)?;
    let again = Again::new();
    scalar(conn, INTERSECT, -1, PURE, move |call| intersect(call, &again))
}

/// The intervals of a table with the same values in the partition columns.
#[derive(Debug)]
struct Partition {
    values: Vec<Cell>,
    spans: Vec<Span>,
}

/// The intervals of a table, by partition in the order of their first intervals.
#[derive(Debug, Default)]
pub struct Intervals {
    columns: usize,
    partitions: Vec<Partition>,
    by_key: HashMap<Box<[u8]>, usize>,
}

impl Handed for Intervals {
    const KIND: &'static std::ffi::CStr = kind!("intervals");
}

struct Gathered {
    intervals: Intervals,
    last: i64,
    key: Vec<u8>,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_interval_tree_intervals_agg";
    const COUNT: c_int = -1;
    type Output = Intervals;

    fn start() -> Gathered {
        Gathered {
            intervals: Intervals::default(),
            last: 0,
            key: Vec::new(),
            budget: Budget::new(Self::NAME),
        }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        let count = call.count();
        if count < 3 || count.is_multiple_of(2) {
            return Err(call.error(
                "it takes an id, a ts and a dur, then a name and a value for each partition column",
            ));
        }
        let span = self.span(call)?;
        self.last = span.start;
        self.budget.take(size_of::<Span>())?;
        self.partition(call)?.spans.push(span);
        Ok(())
    }

    fn end(self, _call: Call<'_, '_>) -> Result<Intervals> {
        Ok(self.intervals)
    }
}

impl Gathered {
    fn span(&self, call: Call<'_, '_>) -> Result<Span> {
        let id = call.id(0, "id")?;
        let start = call.integer(1, "ts")?;
        let dur = call.integer(2, "dur")?;
        if start < 0 {
            return Err(call.error(format_args!("the interval {id} has the negative ts {start}")));
        }
        if start < self.last {
            return Err(call.error(format_args!(
                "intervals must be in the order of ts, but {id} at {start} comes after one at {}",
                self.last
            )));
        }
        if dur < 0 {
            return Err(call.error(format_args!(
                "the interval {id} at {start} has the negative dur {dur}; replace it, for \
                 example with the time to the end of the trace"
            )));
        }
        let end = start.saturating_add(dur);
        Ok(Span { start, end, id })
    }

    fn partition(&mut self, call: Call<'_, '_>) -> Result<&mut Partition> {
        self.key.clear();
        for index in (4..call.count()).step_by(2) {
            encode(call.value(index), &mut self.key);
        }
        let at = match self.intervals.by_key.get(&self.key[..]) {
            Some(&at) => at,
            None => {
                let values = (4..call.count()).step_by(2);
                let values = values.map(|index| Cell::of(call.value(index), Self::NAME));
                let values: Vec<Cell> = values.collect::<Result<_>>()?;
                let size: usize = values.iter().map(Cell::size).sum();
                self.budget.take(size.saturating_add(self.key.len()).saturating_add(128))?;
                let at = self.intervals.partitions.len();
                self.intervals.columns = values.len();
                self.intervals.by_key.insert(self.key.as_slice().into(), at);
                self.intervals.partitions.push(Partition { values, spans: Vec::new() });
                at
            }
        };
        let partition = self.intervals.partitions.get_mut(at);
        partition.ok_or_else(|| call.error("a partition is missing"))
    }
}

/// Appends a value to a key: equal keys are equal values of the same type.
fn encode(value: ValueRef<'_>, key: &mut Vec<u8>) {
    let (tag, bytes): (u8, &[u8]) = match &value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(value) => (1, &value.to_le_bytes()),
        ValueRef::Real(value) => (2, &value.to_bits().to_le_bytes()),
        ValueRef::Text(text) => (3, text),
        ValueRef::Blob(blob) => (4, blob),
    };
    key.push(tag);
    key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    key.extend_from_slice(bytes);
}

fn intersect(call: Call<'_, '_>, again: &Again<Intervals>) -> Result<Pointer<Table>> {
    let Some(count) = call.count().checked_sub(1).filter(|&count| count > 0) else {
        return Err(call.error("it takes the intervals of tables, and a list of columns"));
    };
    if count > TABLES {
        return Err(call.error(format_args!(
            "it intersects at most {TABLES} tables, not {count}; intersect the result with the rest"
        )));
    }
    let columns = names(call.text(count, "columns")?);
    if columns.len() > PARTITION_COLUMNS {
        return Err(call.error(format_args!(
            "it takes at most {PARTITION_COLUMNS} partition columns, not {}",
            columns.len()
        )));
    }
    let mut tables = Vec::with_capacity(count);
    for index in 0..count {
        match call.pointer::<Intervals>(index, "intervals")? {
            Some(table) if !table.partitions.is_empty() => tables.push(table),
            // The intersection with nothing is empty.
            _ => return Ok(Pointer::to(Rows::new(count, columns.len()).table(&columns))),
        }
    }
    for (index, table) in tables.iter().enumerate() {
        if table.columns != columns.len() {
            let (given, listed) = (table.columns, columns.len());
            return Err(call.arguments().wrong(
                index,
                "intervals",
                format_args!("has {given} partition columns, but the list has {listed}"),
            ));
        }
    }
    let table = again.table(&tables, columns.join(","), || {
        let conn = connection(call.context())?;
        let (mut watch, mut budget) = (Watch::new(&conn), Budget::new(INTERSECT));
        let rows = intersection(&tables, columns.len(), &mut watch, &mut budget)?;
        Ok(rows.table(&columns))
    })?;
    Ok(table.into())
}

/// The rows of a result.
struct Rows {
    ts: Vec<i64>,
    dur: Vec<i64>,
    ids: Vec<Vec<i64>>,
    values: Vec<Vec<Cell>>,
}

impl Rows {
    fn new(tables: usize, columns: usize) -> Rows {
        Rows {
            ts: Vec::new(),
            dur: Vec::new(),
            ids: vec![Vec::new(); tables],
            values: vec![Vec::new(); columns],
        }
    }

    fn table(self, columns: &[&str]) -> Table {
        let count = self.ts.len();
        let mut named = vec![
            ("ts".to_owned(), Column::Integers(self.ts)),
            ("dur".to_owned(), Column::Integers(self.dur)),
        ];
        let ids = self.ids.into_iter().map(Column::Integers);
        let ids = ids.chain(std::iter::repeat_with(|| Column::Nulls)).take(TABLES);
        named.extend(ids.enumerate().map(|(index, ids)| (format!("id_{index}"), ids)));
        let values = self.values.into_iter().map(Column::Cells);
        named.extend(columns.iter().map(|&name| name.to_owned()).zip(values));
        Table::new(count, named)
    }
}

/// Intersects tables partition by partition, in the order of the table with the fewest.
fn intersection(
    tables: &[Arc<Intervals>],
    columns: usize,
    watch: &mut Watch<'_>,
    budget: &mut Budget,
) -> Result<Rows> {
    let mut rows = Rows::new(tables.len(), columns);
    let Some(fewest) = tables.iter().min_by_key(|table| table.partitions.len()) else {
        return Ok(rows);
    };
    let mut keys: Vec<(&[u8], usize)> =
        fewest.by_key.iter().map(|(key, &at)| (&**key, at)).collect();
    keys.sort_unstable_by_key(|&(_, at)| at);
    for (key, _) in keys {
        let partitions = tables
            .iter()
            .map(|table| table.by_key.get(key).and_then(|&at| table.partitions.get(at)));
        let Some(partitions) = partitions.collect::<Option<Vec<&Partition>>>() else {
            continue;
        };
        intersect_partition(&partitions, &mut rows, watch, budget)?;
    }
    Ok(rows)
}

/// Begins with the table that has the fewest intervals, because each further table can only make
/// the spans shorter.
fn intersect_partition(
    partitions: &[&Partition],
    rows: &mut Rows,
    watch: &mut Watch<'_>,
    budget: &mut Budget,
) -> Result<()> {
    let mut order: Vec<usize> = (0..partitions.len()).collect();
    order.sort_by_key(|&table| partitions.get(table).map_or(0, |partition| partition.spans.len()));
    let mut found = Overlaps::default();
    for (step, &table) in order.iter().enumerate() {
        let Some(partition) = partitions.get(table) else {
            return Err(Error::new("a partition is missing"));
        };
        found = match step {
            0 => Overlaps::of(&partition.spans),
            _ => found.with(&partition.spans, watch, budget)?,
        };
    }
    let width = (3 + partitions.len()) * size_of::<i64>();
    let values = partitions.first().map(|partition| &partition.values[..]).unwrap_or_default();
    budget.take(found.len().saturating_mul(width + size_of_val(values)))?;
    for (start, end, ids) in found.iter() {
        watch.step()?;
        rows.ts.push(start);
        rows.dur.push(end.saturating_sub(start));
        for (&table, &id) in order.iter().zip(ids) {
            if let Some(column) = rows.ids.get_mut(table) {
                column.push(id.into());
            }
        }
        for (column, value) in rows.values.iter_mut().zip(values) {
            column.push(value.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
