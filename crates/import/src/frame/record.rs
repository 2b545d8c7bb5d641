//! The way of a record of another format than Perfetto's.

use std::io;
use std::ops::ControlFlow;

use timebase_resolver::Ticks;
use timebase_schema::tables;
use timebase_trace::wire::packet::Header;
use timebase_trace::{Payload, RawPacket, Region};

use super::Frame;
use super::snapshots::tell_made;
use crate::output::{Cause, Example, RowType, Rows};
use crate::place::{CountsFor, IncomingPacket, PartIx};
use crate::readers::{ImportContext, PlacedPacket};

/// A record of a file, with the time that it states.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    /// Its text in the column `type` of `packet`.
    pub row_type: &'static str,
    /// The position of its bytes in the decompressed file.
    pub offset: u64,
    pub size: u64,
    /// Empty if they are too many to be kept.
    pub bytes: &'a [u8],
    pub time: RecordTime,
}

/// The time that a record states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordTime {
    None,
    /// In nanoseconds of the file's own clock.
    OfFile(i64),
    /// A time of the file's own clock that does not fit.
    Overflow,
    /// In ticks of a clock.
    #[cfg(test)]
    OfClock(u32, u64),
}

impl Frame {
    /// Writes the row of a record, and lets `events` give its events.
    pub fn record(
        &mut self,
        record: &Record<'_>,
        events: impl FnOnce(&PlacedPacket<'_>, &mut ImportContext),
        rows: &mut Rows<'_>,
    ) {
        let header = match record.time {
            #[cfg(test)]
            RecordTime::OfClock(clock, ticks) => {
                Header { timestamp: Some(ticks), timestamp_clock_id: clock, ..Header::default() }
            }
            _ => Header::default(),
        };
        let Some(part) = self.part(&header, rows) else {
            return;
        };
        let place = &mut self.context.place;
        let incoming = IncomingPacket {
            id: rows.count(&tables::packet_record::TABLE),
            offset: record.offset,
            header: &header,
            machine: place.clocks.parts[part].machine.0,
            part,
            sequence: place.sequences.update(&header, part, None),
        };
        let counts = CountsFor::ItsMachine;
        let placement = match record.time {
            RecordTime::OfFile(ts) => place.record(&incoming, Some(Ticks(ts)), counts),
            RecordTime::Overflow => place.record(&incoming, None, counts),
            _ => place.packet(&incoming, counts),
        };
        let placed = self.placed(&incoming, placement);
        self.context.events.times = None;
        events(&placed, &mut self.context);
        self.saw(&placed, counts, Payload::Sound, rows);
        if !self.context.place.clocks.made.is_empty() {
            tell_made(&mut self.context, Some((placed.id, placed.offset)), rows);
        }
        self.note(&placed, rows);
        let mut row = self.row(&placed, record.bytes.len());
        row.size = record.size;
        row.row_type = RowType::Named(record.row_type);
        if let RecordTime::OfFile(ts) = record.time {
            // SQLite has the same 64 bits, as a signed number.
            row.timestamp = Some(ts as u64);
        }
        let keeps_data = self.keep.data && !record.bytes.is_empty();
        rows.packet(row, keeps_data.then_some(record.bytes));
    }

    /// Notes bytes of the open file that are no record.
    pub fn no_record(&mut self, region: &Region, rows: &mut Rows<'_>) {
        let journal = &mut self.context.journal;
        self.file.region(region, None, journal, rows);
    }

    /// Writes the row of a value of the open file that is no record, and logs a code and a reason.
    pub fn no_event(
        &mut self,
        offset: u64,
        bytes: &[u8],
        log: (&'static str, &str),
        rows: &mut Rows<'_>,
    ) {
        let keeps_data = self.keep.data;
        let id = rows.count(&tables::packet_record::TABLE);
        let events = &mut self.context.faults.events;
        events.add(Cause::Unreadable, None, 1, || Example::of_packet(id));
        let journal = &mut self.context.journal;
        self.file.corrupt(RawPacket { offset, bytes }, log, keeps_data, journal, rows);
    }

    /// The open file, as its row in `trace_file`.
    pub fn open_file(&self) -> u32 {
        self.file.id
    }

    /// Gives the user a warning about the open file.
    pub fn warn(&mut self, text: String) {
        self.file.warnings.push(text);
    }

    /// The part of records that name no machine; `None` if the manifest does not allow it.
    pub fn own_part(&mut self, rows: &mut Rows<'_>) -> Option<PartIx> {
        self.part(&Header::default(), rows)
    }

    /// Writes and logs the snapshots that a record states.
    pub fn tell_made(&mut self, record: i64, rows: &mut Rows<'_>) {
        tell_made(&mut self.context, Some((record, 0)), rows);
    }

    /// Watches the memory after so many bytes, and breaks if nobody wants more rows.
    ///
    /// # Errors
    ///
    /// If the data in memory exceeds its limit.
    pub fn goes_on(&mut self, bytes: usize, rows: &Rows<'_>) -> io::Result<ControlFlow<()>> {
        self.watch.after(bytes)?;
        Ok(match rows.stopped() || self.refused.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }
}
