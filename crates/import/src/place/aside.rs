//! The form of clocks, rows and reasons in records that are put aside.

use std::io;

use timebase_resolver::{Clock, ClockId, FileTag, MachineId, SeqId, Ticks, Unresolved};
use timebase_schema::{Table, tables};

use super::parts::PartIx;
use super::sequence::SequenceIx;
use super::time::TraceTime;
use crate::compact::{Compact, Put, Take, cut, records};

/// A row of a table of events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRow {
    pub table: &'static Table,
    pub id: i64,
    /// A mark of its reader, which the reader gets back with the row.
    pub mark: u8,
}

records! {
    EventRow { table, id, mark }
    Clock { id, machine, seq, file }
    ClockId { 0 }
    MachineId { 0 }
    SeqId { 0 }
    FileTag { order, id }
    PartIx { 0 }
    SequenceIx { 0 }
    Ticks { 0 }
    TraceTime { 0 }
}

impl Compact<'_> for &'static Table {
    fn put(&self, put: &mut Put<'_>) {
        put.natural(self.number as u64);
    }

    fn take(take: &mut Take<'_>) -> io::Result<Self> {
        let number = usize::try_from(take.natural()?).ok();
        number.and_then(|number| tables::ALL.get(number).copied()).ok_or_else(cut)
    }
}

impl Compact<'_> for Unresolved {
    fn put(&self, put: &mut Put<'_>) {
        put.natural(*self as u64);
    }

    fn take(take: &mut Take<'_>) -> io::Result<Self> {
        let number = take.natural()?;
        let mut all = Unresolved::ALL.into_iter();
        all.find(|&reason| reason as u64 == number).ok_or_else(cut)
    }
}
