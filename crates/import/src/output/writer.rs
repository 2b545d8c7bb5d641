//! Writes rows into the database.

use rusqlite::Connection;
use timebase_resolver::Ticks;
use timebase_schema::{Order, Table, tables};
use timebase_sql::packets::Packer;
use timebase_store::btree::Value;

use super::batch::{Batch, Cell, PacketRow};
use super::common::{Common, Commons, Known};
use super::doubt::{LateDoubt, Tallies};
use super::sink::Sink;
use crate::error::WriteError;
use crate::place::TraceTime;

/// Writes batches of rows, in order.
pub(crate) struct Writer<S> {
    sink: S,
    commons: Commons,
    /// Compresses the bytes of packets, if they do not go into their rows.
    packer: Option<Packer>,
    /// Rows of tables with keys that come out of order. They are few, and SQLite inserts them.
    keyed: Vec<KeyedRow>,
    /// Doubts about rows that are already written. They are few, too.
    doubts: Vec<LateDoubt>,
    renumbered: Vec<(i64, i64)>,
    has_repeats: bool,
    tallies: Tallies,
}

/// A row that has to be inserted.
pub(crate) struct KeyedRow {
    table: &'static Table,
    values: Vec<rusqlite::types::Value>,
}

impl KeyedRow {
    /// Inserts rows, after SQLite has the database again.
    pub fn insert_all(rows: &[KeyedRow], conn: &Connection) -> rusqlite::Result<()> {
        for row in rows {
            let values = rusqlite::params_from_iter(&row.values);
            conn.execute(&row.table.insert(), values)?;
        }
        Ok(())
    }
}

/// The remaining work after all rows are written that come one by one.
pub(crate) struct Rest {
    /// Indexes that SQLite has to make after the waiting rows have got their time.
    pub postponed: Vec<&'static str>,
    pub keyed: Vec<KeyedRow>,
    pub doubts: Vec<LateDoubt>,
    /// The old and the new numbers of slices.
    pub renumbered: Vec<(i64, i64)>,
    /// Whether equal rectangles or transforms may have several rows.
    pub has_repeats: bool,
    /// The number of rows that may be wrong, without the doubts above.
    pub tallies: Tallies,
}

impl<S: Sink> Writer<S> {
    /// A writer to a sink that has no rows yet; `packer` compresses the bytes of packets.
    pub fn new(sink: S, packer: Option<Packer>) -> Self {
        Writer {
            sink,
            packer,
            commons: Commons::default(),
            keyed: Vec::new(),
            doubts: Vec::new(),
            renumbered: Vec::new(),
            has_repeats: false,
            tallies: Tallies::default(),
        }
    }

    /// Writes the rows of a batch.
    pub fn write(&mut self, batch: &Batch) -> Result<(), WriteError> {
        for row in &batch.packets {
            self.packet(row, &batch.bytes)?;
        }
        for declared in tables::ALL {
            for row in batch.rows(declared) {
                let values = row.iter().map(|cell| value_of(cell, batch));
                let is_written =
                    declared.order != Order::None && self.sink.row(declared, values.clone())?;
                if !is_written {
                    self.keyed
                        .push(KeyedRow { table: declared, values: values.map(owned).collect() });
                }
            }
        }
        self.doubts.extend_from_slice(&batch.doubts);
        self.renumbered.extend_from_slice(&batch.renumbered);
        self.has_repeats |= batch.has_repeats;
        self.tallies.states.add(batch.tallies.states);
        self.tallies.slices.add(batch.tallies.slices);
        self.tallies.values.add(batch.tallies.values);
        for complete in &batch.complete {
            if complete.table.number == tables::packet_record::TABLE.number {
                self.commons.end();
            }
            self.sink.complete(complete.table, complete.waiting)?;
        }
        Ok(())
    }

    /// Writes the rest. `waiting` is the number of rows that wait for their time, by the table's
    /// number. Ends early if `is_cancelled` says so.
    pub fn finish(
        mut self,
        waiting: &[u64],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(S::Solved, Rest), WriteError> {
        self.end_block()?;
        for declared in tables::ALL {
            if is_cancelled() {
                break;
            }
            let waiting = waiting.get(declared.number).copied().unwrap_or(0);
            self.sink.complete(declared, waiting)?;
        }
        let (solved, postponed) = self.sink.solved()?;
        let rest = Rest {
            postponed,
            keyed: self.keyed,
            doubts: self.doubts,
            renumbered: self.renumbered,
            has_repeats: self.has_repeats,
            tallies: self.tallies,
        };
        Ok((solved, rest))
    }

    fn packet(&mut self, row: &PacketRow, bytes: &[u8]) -> Result<(), WriteError> {
        let placement = &row.placement;
        let ts = placement.ts.map(|TraceTime(ts)| ts);
        let clock_ts = placement.clock_ts.map(|Ticks(ticks)| ticks);
        let mut common = Common::of(row, ts, clock_ts);
        let common_id = match self.commons.number(&mut common) {
            Known::Before(id) => id,
            Known::New(id) => {
                common.push(id, &mut self.sink)?;
                id
            }
        };
        let data = bytes.get(row.data.clone());
        let data = data.filter(|data| data.len() as u64 == row.size);
        let data = self.pack(row.id, data)?;
        let values = tables::packet_record::Row {
            id: Value::Null,
            ts: ts.into(),
            common_id: Value::Integer(common_id),
            offset: Value::Integer(row.offset as i64),
            timestamp: match row.timestamp {
                // SQLite has no integer of 2⁶³ or more, so the nearest real number is used.
                Some(value) if !common.is_absolute => {
                    row.signed_timestamp().map_or(Value::Real(value as f64), Value::Integer)
                }
                _ => Value::Null,
            },
            clock_ts: clock_ts.filter(|_| common.clock_offset.is_none()).into(),
            size: match data {
                Some(_) => Value::Null,
                None => Value::Integer(row.size as i64),
            },
            unresolved: placement.unresolved.map(|reason| reason.code()).into(),
            data: data.map_or(Value::Null, Value::Blob),
        };
        self.sink.packet(row.id, values)
    }

    /// Puts the bytes of a packet into a block. Returns the bytes for the packet's row.
    #[inline]
    fn pack<'d>(
        &mut self,
        id: i64,
        data: Option<&'d [u8]>,
    ) -> Result<Option<&'d [u8]>, WriteError> {
        let Some(packer) = &self.packer else {
            return Ok(data);
        };
        if !packer.has_room_for(id) {
            self.end_block()?;
        }
        if let Some(packer) = &mut self.packer {
            packer.add(id, data);
        }
        Ok(None)
    }

    /// Writes the block of packets that is not full yet.
    fn end_block(&mut self) -> Result<(), WriteError> {
        if let Some(packer) = &mut self.packer
            && let Some((first, block)) = packer.take()?
        {
            let row = [Value::Integer(first), Value::Blob(&block)];
            self.sink.row(&tables::packet_block::TABLE, row.into_iter())?;
        }
        Ok(())
    }
}

pub(super) fn owned(value: Value<'_>) -> rusqlite::types::Value {
    use rusqlite::types::Value as Owned;
    match value {
        Value::Null => Owned::Null,
        Value::Integer(value) => Owned::Integer(value),
        Value::Real(value) => Owned::Real(value),
        Value::Text(text) => Owned::Text(text.to_owned()),
        Value::Blob(bytes) => Owned::Blob(bytes.to_vec()),
    }
}

fn value_of<'a>(cell: &Cell, batch: &'a Batch) -> Value<'a> {
    match *cell {
        Cell::Null => Value::Null,
        Cell::Integer(value) => Value::Integer(value),
        Cell::Real(value) => Value::Real(value),
        Cell::Blob { start, size } => Value::Blob(batch.kept(start, size)),
        // These bytes were written as text.
        Cell::Text { start, size } => {
            Value::Text(std::str::from_utf8(batch.kept(start, size)).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::sink::{RouteRow, SolvedSink, StepRow};
    use super::*;

    /// Counts the tables that are ended.
    struct Ended<'a>(&'a Cell<usize>);

    impl Sink for Ended<'_> {
        type Solved = Self;

        fn row<'v>(
            &mut self,
            _: &'static Table,
            _: impl Iterator<Item = Value<'v>>,
        ) -> Result<bool, WriteError> {
            Ok(true)
        }

        fn packet(
            &mut self,
            _: i64,
            _: tables::packet_record::Row<Value<'_>>,
        ) -> Result<(), WriteError> {
            Ok(())
        }

        fn complete(&mut self, _: &'static Table, _: u64) -> Result<(), WriteError> {
            self.0.set(self.0.get() + 1);
            Ok(())
        }

        fn solved(self) -> Result<(Self, Vec<&'static str>), WriteError> {
            Ok((self, Vec::new()))
        }
    }

    impl SolvedSink for Ended<'_> {
        fn step(&mut self, _: StepRow) -> Result<(), WriteError> {
            Ok(())
        }

        fn route(&mut self, _: RouteRow) -> Result<(), WriteError> {
            Ok(())
        }

        fn line(&mut self, _: tables::clock_line::Row<Value<'_>>) -> Result<(), WriteError> {
            Ok(())
        }

        fn hop(&mut self, _: i64, _: tables::clock_hop::Row<Value<'_>>) -> Result<(), WriteError> {
            Ok(())
        }

        fn reading(
            &mut self,
            _: i64,
            _: tables::clock_hop_reading::Row<Value<'_>>,
        ) -> Result<(), WriteError> {
            Ok(())
        }

        fn finish(self) -> Result<(), WriteError> {
            Ok(())
        }
    }

    #[test]
    fn no_table_is_ended_after_a_cancellation() {
        let ended = Cell::new(0);
        let all = Writer::new(Ended(&ended), None).finish(&[], &|| false);
        assert!(all.is_ok());
        assert_eq!(ended.replace(0), tables::ALL.len());
        let few = Writer::new(Ended(&ended), None).finish(&[], &|| ended.get() == 3);
        assert!(few.is_ok());
        assert_eq!(ended.get(), 3);
    }
}
