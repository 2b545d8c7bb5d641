//! The columns that many packets have in common: the table `packet_common`.
//!
//! # Design
//!
//! Most of the sixteen columns of `packet` have the same values as in the previous packet of the sequence, so
//! a row has only a number for them. With two million packets of a tracing SDK, the table with all its
//! columns took 178 MB, of which 57 are the packets; it takes 105 now. The alternative was rows that refer to
//! the packet before them, but then nobody could read a packet alone.
//!
//! Between two snapshots, a clock is as far from trace time for all packets, so this distance stands here, and no reading in the rows of
//! the packets. If it changes with every packet, because clocks have rates, each packet keeps its reading: a distance gets
//! a row when it is the first of its packets, or comes twice in turn.
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
    /// The absolute reading minus the trace time, if the rows of the packets have no reading.
    pub clock_offset: Option<i64>,
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
            clock_offset: known.zip(ts).and_then(|(reading, ts)| reading.checked_sub(ts)),
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
            clock_offset: self.clock_offset.into(),
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
    clock_offset: i64,
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
    /// The last distance from trace time of packets that have all else in common.
    offsets: FxHashMap<Key, i64>,
    /// Whether some of these distances are forgotten.
    forgot_offsets: bool,
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
    /// The largest number of recent rows. Both maps take 6 MB.
    const MOST: usize = 57_344; // 7/8 of a power of two, which a map has room for

    /// The largest number of distances.
    const MOST_OFFSETS: usize = 7_168;

    /// The number of the row. `common` loses its distance from trace time if there is no row for that.
    #[inline]
    pub fn number(&mut self, common: &mut Common) -> Known {
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
            common.clock_offset.is_some(),
        ];
        Key {
            clock_id: common.clock_id.unwrap_or_default(),
            seq_id: common.seq_id,
            machine: common.machine,
            row_type,
            uid: common.uid.unwrap_or_default(),
            pid: common.pid.unwrap_or_default(),
            file: common.file,
            clock_offset: common.clock_offset.unwrap_or_default(),
            bits: bits.iter().fold(0, |bits, &bit| bits << 1 | u8::from(bit)),
        }
    }

    /// The number of a row that is not the row of the previous packet.
    fn other(&mut self, common: &mut Common) -> Known {
        let mut key = self.key(common);
        if let Some(&id) = self.recent.get(&key) {
            self.last = Some((*common, id));
            return Known::Before(id);
        }
        let mut before = self.older.get(&key).copied();
        if before.is_none() && !self.is_lasting(common) {
            common.clock_offset = None;
            key = self.key(common);
            before = self.recent.get(&key).or_else(|| self.older.get(&key)).copied();
        }
        let known = before.map_or(Known::New(self.rows), Known::Before);
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

    /// Whether more packets may be as far from trace time as one with these values.
    fn is_lasting(&mut self, common: &Common) -> bool {
        let Some(offset) = common.clock_offset.filter(|offset| *offset != 0) else {
            return true;
        };
        if self.offsets.len() >= Self::MOST_OFFSETS {
            self.offsets.clear();
            self.forgot_offsets = true;
        }
        let others = self.key(&Common { clock_offset: None, ..*common });
        match self.offsets.insert(others, offset) {
            Some(last) => last == offset,
            None => !self.forgot_offsets,
        }
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
            clock_offset: None,
        }
    }

    #[test]
    fn rows_that_are_used_stay_known_however_many_others_come() {
        let mut commons = Commons::default();
        assert!(matches!(commons.number(&mut common(0)), Known::New(0)));
        assert!(matches!(commons.number(&mut common(0)), Known::Before(0)));
        for seq in 1..300_000 {
            assert!(
                matches!(commons.number(&mut common(seq)), Known::New(id) if id == i64::from(seq))
            );
            if seq % 50_000 == 0 {
                assert!(matches!(commons.number(&mut common(0)), Known::Before(0)));
            }
        }
        assert!(commons.recent.len() <= Commons::MOST && commons.older.len() <= Commons::MOST);
        // It was not used for long, so it gets a new row.
        assert!(matches!(commons.number(&mut common(1)), Known::New(300_000)));
    }

    /// Adds a packet with this distance. Returns whether its row of `packet_common` has the distance.
    fn has_offset(commons: &mut Commons, seq_id: u32, offset: i64) -> bool {
        let mut common = Common { clock_offset: Some(offset), ..common(seq_id) };
        commons.number(&mut common);
        common.clock_offset.is_some()
    }

    #[test]
    fn distances_that_change_with_each_packet_get_no_rows() {
        let mut commons = Commons::default();
        let lasting =
            [7, 7, 7, 8, 8, 8, 9, 7, 10, 10].map(|offset| has_offset(&mut commons, 1, offset));
        assert_eq!(lasting, [true, true, true, false, true, true, false, true, false, true]);
        let rows = commons.rows;
        let has_rows = (100..10_000).any(|offset| has_offset(&mut commons, 1, offset));
        assert!(!has_rows && commons.rows == rows);
        // Zero needs no second packet.
        assert!(has_offset(&mut commons, 1, 0) && has_offset(&mut commons, 2, 5));
        let first = (3..20_000).filter(|seq_id| has_offset(&mut commons, *seq_id, 5)).count();
        assert!(commons.offsets.len() <= Commons::MOST_OFFSETS && first < 10_000, "{first}");
    }
}
