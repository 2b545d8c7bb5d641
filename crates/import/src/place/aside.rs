//! The form of clocks, rows and reasons in records that are put aside.

use std::io;

use timebase_resolver::{Clock, ClockId, FileTag, MachineId, SeqId, Unresolved};
use timebase_schema::{Table, tables};

use crate::compact::{Put, Take, cut};

/// A row of a table of events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRow {
    pub table: &'static Table,
    pub id: i64,
    /// A mark of its reader, which the reader gets back with the row.
    pub mark: u8,
}

impl EventRow {
    pub fn put(&self, put: &mut Put<'_>) {
        put.natural(self.table.number as u64).integer(self.id).natural(self.mark.into());
    }

    pub fn take(take: &mut Take<'_>) -> io::Result<EventRow> {
        let number = usize::try_from(take.natural()?).ok();
        let table = number.and_then(|number| tables::ALL.get(number));
        Ok(EventRow {
            table: table.ok_or_else(cut)?,
            id: take.integer()?,
            mark: take.natural()? as u8,
        })
    }
}

pub(crate) fn put_clock(put: &mut Put<'_>, clock: Option<Clock>) {
    // No clock has the number 0.
    let id = clock.map_or(0, |clock| clock.id.get());
    put.natural(id.into());
    if let Some(clock) = clock {
        put.natural(clock.machine.0.into())
            .natural(clock.seq.0.into())
            .natural(clock.file.order.into())
            .natural(clock.file.id.into());
    }
}

pub(crate) fn take_clock(take: &mut Take<'_>) -> io::Result<Option<Clock>> {
    let id = ClockId(take.small()?);
    if id.get() == 0 {
        return Ok(None);
    }
    let (machine, seq) = (MachineId(take.small()?), SeqId(take.small()?));
    let file = FileTag { order: take.small()?, id: take.small()? };
    Ok(Some(Clock { id, seq, file, machine }))
}

pub(crate) fn put_reason(put: &mut Put<'_>, reason: Option<Unresolved>) {
    put.natural(reason.map_or(0, |reason| 1 + reason as u64));
}

pub(crate) fn take_reason(take: &mut Take<'_>) -> io::Result<Option<Unresolved>> {
    let number = take.natural()?;
    if number == 0 {
        return Ok(None);
    }
    let mut all = Unresolved::ALL.into_iter();
    let reason = all.find(|&reason| 1 + reason as u64 == number);
    reason.ok_or_else(cut).map(Some)
}
