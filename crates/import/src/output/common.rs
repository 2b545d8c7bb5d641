//! The columns that many packets have in common: the table `packet_common`.
//!
//! # Design
//!
//! Most of the sixteen columns of `packet` have the same values as in the previous packet of the sequence, so
//! a row has only a number for them. With two million packets of a tracing SDK, the table with all its
//! columns took 178 MB, of which 57 are the packets; it takes 121 now. The alternative was rows that refer to
//! the packet before them, but then nobody could read a packet alone.
//!
//! Rows of `packet_common` may be equal, so it is enough to remember the last ones: a trace of a million
//! sequences must not fill the memory.

use rustc_hash::FxHashMap;
use timebase_schema::{Row, tables};
use timebase_store::btree::Value;

use super::batch::{PacketRow, RowType};
use super::sink::Sink;
use crate::error::WriteError;

/// The values that a packet may have in common with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Common {
    clock_id: Option<u32>,
    seq_id: u32,
    machine: u32,
    row_type: RowType,
    uid: Option<i32>,
    pid: Option<i32>,
    file: u32,
    first_id: i64,
    /// Whether the timestamp is equal to the absolute reading, which then does not change any more.
    pub is_absolute: bool,
    /// Whether the absolute reading is equal to the trace time.
    pub is_trace_time: bool,
}

impl Common {
    /// The values of a packet with this trace time and this absolute reading.
    #[inline]
    pub fn of(row: &PacketRow, ts: Option<i64>, clock_ts: Option<i64>) -> Self {
        // If the packet has no time yet, the reading may change when it gets one.
        let known = clock_ts.filter(|_| ts.is_some());
        let recorded = row.signed_timestamp();
        Common {
            clock_id: row.placement.clock_id,
            seq_id: row.seq_id,
            machine: row.machine,
            row_type: row.row_type,
            uid: row.uid,
            pid: row.pid,
            file: row.file,
            first_id: row.id.saturating_sub(row.number),
            is_absolute: known.is_some() && recorded == known,
            is_trace_time: known.is_some() && ts == known,
        }
    }

    /// Adds the row.
    pub fn push(&self, id: i64, sink: &mut impl Sink) -> Result<(), WriteError> {
        let unnamed;
        let row_type = match self.row_type {
            RowType::None => Value::Null,
            RowType::Corrupt => Value::Text("corrupt"),
            RowType::Named(name) => Value::Text(name),
            RowType::Payload(kind) => match kind.name() {
                Some(name) => Value::Text(name),
                None => {
                    unnamed = kind.0.to_string();
                    Value::Text(&unnamed)
                }
            },
        };
        let row = tables::packet_common::Row {
            id: Value::Integer(id),
            clock_id: self.clock_id.map(i64::from).into(),
            seq_id: Value::Integer(self.seq_id.into()),
            machine_id: Value::Integer(self.machine.into()),
            r#type: row_type,
            uid: self.uid.map(i64::from).into(),
            pid: self.pid.map(i64::from).into(),
            trace_file_id: Value::Integer(self.file.into()),
            first_id: Value::Integer(self.first_id),
            is_absolute: Value::Integer(self.is_absolute.into()),
            is_trace_time: Value::Integer(self.is_trace_time.into()),
        };
        let table = &tables::packet_common::TABLE;
        sink.row(table, row.cells().into_iter()).map(drop)
    }
}

/// The values of a row, in half of the memory. All packets of a file have one `first_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    clock_id: u32,
    seq_id: u32,
    machine: u32,
    row_type: u32,
    uid: i32,
    pid: i32,
    file: u32,
    /// A bit for each flag, and for each value that is there.
    bits: u8,
}

/// The rows of `packet_common` that are remembered.
#[derive(Default)]
pub(super) struct Commons {
    last: Option<(Common, i64)>,
    recent: FxHashMap<Key, i64>,
    /// The rows that were used last before the recent ones.
    older: FxHashMap<Key, i64>,
    rows: i64,
    /// The names of types that are no packet types, by their number.
    names: Vec<&'static str>,
}

/// A number of a row of `packet_common`.
pub(super) enum Known {
    Before(i64),
    /// The row has to be added.
    New(i64),
}

impl Commons {
    /// The largest number of recent rows. Both maps take 5 MB.
    const MOST: usize = 57_344; // 7/8 of a power of two, which a map has room for

    /// The number of the row.
    #[inline]
    pub fn number(&mut self, common: &Common) -> Known {
        match &self.last {
            Some((last, id)) if last == common => Known::Before(*id),
            _ => self.other(common),
        }
    }

    fn key(&mut self, common: &Common) -> Key {
        /// Numbers that no packet type has: a field's number has 29 bits.
        const CORRUPT: u32 = u32::MAX - 1;
        const NAMED: u32 = 1 << 30;
        let row_type = match common.row_type {
            RowType::None => u32::MAX,
            RowType::Payload(packet_type) => packet_type.0,
            RowType::Corrupt => CORRUPT,
            RowType::Named(name) => {
                let known = self.names.iter().position(|known| *known == name);
                let number = known.unwrap_or_else(|| {
                    self.names.push(name);
                    self.names.len() - 1
                });
                NAMED + number as u32
            }
        };
        let bits = [
            common.clock_id.is_some(),
            common.uid.is_some(),
            common.pid.is_some(),
            common.is_absolute,
            common.is_trace_time,
        ];
        Key {
            clock_id: common.clock_id.unwrap_or_default(),
            seq_id: common.seq_id,
            machine: common.machine,
            row_type,
            uid: common.uid.unwrap_or_default(),
            pid: common.pid.unwrap_or_default(),
            file: common.file,
            bits: bits.iter().fold(0, |bits, &bit| bits << 1 | u8::from(bit)),
        }
    }

    /// The number of a row that is not the row of the previous packet.
    fn other(&mut self, common: &Common) -> Known {
        let key = self.key(common);
        if let Some(&id) = self.recent.get(&key) {
            self.last = Some((*common, id));
            return Known::Before(id);
        }
        let known = match self.older.get(&key) {
            Some(&id) => Known::Before(id),
            None => Known::New(self.rows),
        };
        let id = match known {
            Known::Before(id) => id,
            Known::New(id) => {
                self.rows += 1;
                id
            }
        };
        if self.recent.len() >= Self::MOST {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key, id);
        self.last = Some((*common, id));
        known
    }

    /// There are no more packets.
    pub fn end(&mut self) {
        *self = Commons::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(seq_id: u32) -> Common {
        Common {
            clock_id: None,
            seq_id,
            machine: 0,
            row_type: RowType::None,
            uid: None,
            pid: None,
            file: 0,
            first_id: 0,
            is_absolute: false,
            is_trace_time: false,
        }
    }

    #[test]
    fn rows_that_are_used_stay_known_however_many_others_come() {
        let mut commons = Commons::default();
        assert!(matches!(commons.number(&common(0)), Known::New(0)));
        assert!(matches!(commons.number(&common(0)), Known::Before(0)));
        for seq in 1..300_000 {
            assert!(matches!(commons.number(&common(seq)), Known::New(id) if id == i64::from(seq)));
            if seq % 50_000 == 0 {
                assert!(matches!(commons.number(&common(0)), Known::Before(0)));
            }
        }
        assert!(commons.recent.len() <= Commons::MOST && commons.older.len() <= Commons::MOST);
        // It was not used for long, so it gets a new row.
        assert!(matches!(commons.number(&common(1)), Known::New(300_000)));
    }
}
