//! Payloads that are lists of statements: each entry is a row of a small table (rules RT1 to RT4, RT7).
//!
//! # Design
//!
//! Such a payload is a line of a table ([`table`]). The line names the payload, the list in it, the table of the
//! database, and for each column the field that it is. An interpreter applies the line. So a new payload takes
//! one line with its columns here, its `CREATE TABLE` in `tables.sql`, and a line in the list of readers
//! (`readers/all.rs`): about three lines beside those that name columns. Payloads whose statements hold for the whole trace have the reader `Stated<_>`,
//! which makes their rows in file order. Those that are events have the reader `Observed<_>`, and the tracker of
//! small tables makes their rows in the order of time.
//!
//! The alternative was a function for each payload. Four of five would differ only in names, and each would take
//! 30 to 40 lines. Another alternative was to find the columns by the names of fields in the schema of packets. But trace
//! processor's names for columns differ from those of the fields, and no compiler would check the types.

mod line;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use self::line::Which;
pub(crate) use self::line::{Says, StatedBy, Statement};
use self::table::TABLE;
use crate::message::Message;
use crate::output::{Counter, Rows};

/// The line of a payload.
pub(crate) fn statement(packet: u32) -> Option<&'static Statement> {
    TABLE.iter().find(|line| line.packet == packet)
}

/// The counters that every machine of a file has, even if nothing was counted.
pub(crate) fn counters() -> impl Iterator<Item = &'static Counter> {
    TABLE.iter().flat_map(|line| line.says).map(|&(_, _, counter)| counter)
}

/// The machine, and the value of the field that tells entries apart. No text is the same as an empty one.
type Key = (u32, Vec<u8>, u64);

/// The entries of a payload so far, as far as they matter for later ones.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    first: BTreeSet<Key>,
    last: BTreeMap<Key, Box<[u8]>>,
}

impl Stated {
    /// Makes rows of the entries of a payload.
    pub fn read(
        &mut self,
        line: &Statement,
        payload: Message<'_>,
        by: StatedBy,
        rows: &mut Rows<'_>,
    ) {
        for entry in payload.messages(line.each) {
            let has = |field: &u32| entry.fields().any(|(number, _)| number == *field);
            if !line.needs.iter().all(has) {
                continue;
            }
            let key = |field: u32| {
                let text = entry.bytes(field).unwrap_or_default();
                (by.machine, text.to_vec(), entry.number(field).unwrap_or(0))
            };
            match line.which {
                Which::Each => line.push(entry, by, rows),
                Which::First(field) => {
                    if self.first.insert(key(field)) {
                        line.push(entry, by, rows);
                    }
                }
                Which::Last(field) => {
                    self.last.insert(key(field), entry.0.into());
                }
            }
        }
    }

    /// Makes rows of the entries that no later one replaced.
    pub fn end(&mut self, line: &Statement, rows: &mut Rows<'_>) {
        for ((machine, ..), entry) in std::mem::take(&mut self.last) {
            line.push(Message(&entry), StatedBy { machine, ts: 0 }, rows);
        }
    }
}
