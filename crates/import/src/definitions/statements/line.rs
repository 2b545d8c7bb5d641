//! The vocabulary of the table: a line, its columns, and how they are read.

use timebase_schema::Table;

use crate::message::Message;
use crate::output::{Cell, Counter, Rows};

/// A line of the table.
pub(crate) struct Statement {
    /// The field of `TracePacket`.
    pub packet: u32,
    /// The field of the payload that is a row each time.
    pub each: u32,
    /// The fields without which an entry makes no row.
    pub(super) needs: &'static [u32],
    pub(super) which: Which,
    pub(super) table: &'static Table,
    /// The columns after the id.
    pub(super) columns: &'static [Column],
    /// Counters of the payload's own statements about errors.
    pub says: &'static [(u32, Says, &'static Counter)],
}

/// The entries that count among those of a machine with an equal field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    Each,
    First(u32),
    Last(u32),
}

/// The meaning of a payload's field for a counter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Says {
    /// The counter is whether the last packet has it.
    IsSet,
    /// Each number below 0 counts.
    IsNegative,
}

/// The value of a column, mostly a field of the entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Column {
    /// The time of the packet.
    Ts,
    Machine,
    /// A text; NULL if it is absent.
    Text(u32),
    /// A number of 32 bits, with its sign.
    Int(u32),
    /// A number of 64 bits, with its sign.
    Long(u32),
    Flag(u32),
    Float(u32),
    /// A word for each number from 1 on, and `unspecified` for all others.
    Word(u32, &'static [&'static str]),
    /// 1 if there is such a part, else 0.
    Has(Part),
    /// A column of a part; NULL without it.
    In(Part, &'static Column),
}

/// A part of an entry: of the messages in the field `list`, the last one whose field `key` is this number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub list: u32,
    pub key: u32,
    pub is: u64,
}

impl Part {
    fn of<'a>(&self, entry: Message<'a>) -> Option<Message<'a>> {
        let is_it = |part: &Message<'a>| part.number(self.key).unwrap_or(0) == self.is;
        entry.messages(self.list).filter(is_it).last()
    }
}

/// The packet whose statements become rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatedBy {
    pub machine: u32,
    pub ts: i64,
}

impl Column {
    fn cell(&self, entry: Message<'_>, by: StatedBy, rows: &mut Rows<'_>) -> Cell {
        match self {
            Column::Ts => Cell::from(by.ts),
            Column::Machine => Cell::from(by.machine),
            Column::Text(field) => rows.optional_text(entry.text(*field).as_deref()),
            Column::Int(field) => Cell::from(entry.number(*field).unwrap_or(0) as i32),
            Column::Long(field) => Cell::from(entry.number(*field).unwrap_or(0).cast_signed()),
            Column::Flag(field) => Cell::from(i64::from(entry.flag(*field))),
            Column::Float(field) => Cell::number(entry.float(*field).unwrap_or(0.0)),
            Column::Word(field, words) => {
                let place = entry.number(*field).unwrap_or(0).checked_sub(1);
                let word = place.and_then(|place| words.get(usize::try_from(place).ok()?));
                rows.text(word.unwrap_or(&"unspecified"))
            }
            Column::Has(part) => Cell::from(i64::from(part.of(entry).is_some())),
            Column::In(part, column) => match part.of(entry) {
                Some(part) => column.cell(part, by, rows),
                None => Cell::Null,
            },
        }
    }
}

impl Statement {
    /// Writes an entry as a row.
    pub(super) fn push(&self, entry: Message<'_>, by: StatedBy, rows: &mut Rows<'_>) {
        let id = Cell::from(rows.count(self.table));
        let columns = self.columns.iter().map(|column| column.cell(entry, by, rows));
        let cells: Vec<Cell> = std::iter::once(id).chain(columns).collect();
        rows.push_cells(self.table, &cells);
    }
}
