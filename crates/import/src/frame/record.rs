//! The way of a record of another format than Perfetto's.

use std::io;
use std::ops::ControlFlow;

use timebase_schema::tables;
use timebase_trace::wire::packet::Header;
use timebase_trace::{Payload, Region};

use super::Frame;
use super::snapshots::tell_made;
use crate::output::{RowType, Rows};
use crate::place::{CountsFor, IncomingPacket};
use crate::readers::{ImportContext, PlacedPacket};

/// A record of a file, with the time that it states.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    /// Its text in the column `type` of `packet`.
    pub row_type: &'static str,
    /// The position of its bytes in the decompressed file.
    pub offset: u64,
    pub bytes: &'a [u8],
    /// The clock of the time; 0 for the default clock of the file.
    pub clock: u32,
    /// The time in ticks of the clock.
    pub ticks: Option<u64>,
}

impl Frame {
    /// Writes the row of a record, and lets `events` give its events.
    pub fn record(
        &mut self,
        record: &Record<'_>,
        events: impl FnOnce(&PlacedPacket<'_>, &mut ImportContext),
        rows: &mut Rows<'_>,
    ) {
        let header = Header {
            timestamp: record.ticks,
            timestamp_clock_id: record.clock,
            ..Header::default()
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
        let placement = self.place(&incoming, counts, None);
        let placed = self.placed(&incoming, placement);
        self.context.events.times = None;
        events(&placed, &mut self.context);
        self.saw(&placed, counts, Payload::Sound, rows);
        if !self.context.place.clocks.made.is_empty() {
            tell_made(&mut self.context, Some((placed.id, placed.offset)), rows);
        }
        self.note(&placed, rows);
        let mut row = self.row(&placed, record.bytes.len());
        row.row_type = RowType::Named(record.row_type);
        rows.packet(row, self.keep.data.then_some(record.bytes));
    }

    /// Notes bytes of the open file that are no record.
    pub fn no_record(&mut self, region: &Region, rows: &mut Rows<'_>) {
        let journal = &mut self.context.journal;
        self.file.region(region, None, journal, rows);
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
