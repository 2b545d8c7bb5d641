//! The open file, as its format sees it.

use crate::frame::{Frame, SnapshotPackets};
use crate::output::Rows;

/// A file that is being read.
pub(crate) struct FileSession<'s, 'r> {
    pub(super) frame: &'s mut Frame,
    pub(super) rows: &'s mut Rows<'r>,
    /// Keeps the packets with snapshots during a survey.
    pub(super) kept: Option<&'s mut SnapshotPackets>,
}

impl<'s, 'r> FileSession<'s, 'r> {
    pub fn new(frame: &'s mut Frame, rows: &'s mut Rows<'r>) -> Self {
        FileSession { frame, rows, kept: None }
    }

    /// A survey of the file, which keeps the packets with snapshots if the caller asks for them.
    pub fn survey(
        frame: &'s mut Frame,
        kept: Option<&'s mut SnapshotPackets>,
        rows: &'s mut Rows<'r>,
    ) -> Self {
        FileSession { frame, rows, kept }
    }
}

#[cfg(test)]
mod records {
    use std::io;
    use std::ops::ControlFlow;

    use timebase_trace::{Damage, Region};

    use super::FileSession;
    use crate::definitions::{Descriptor, Writer};
    use crate::frame::Record;
    use crate::readers::{ImportContext, PlacedPacket};
    use crate::timeline::{Label, TrackEvent, UuidIx, WriterThread};

    /// A record of the open file, for the events that it holds.
    pub(crate) struct PlacedRecord<'p> {
        pub packet: &'p PlacedPacket<'p>,
        pub context: &'p mut ImportContext,
    }

    impl FileSession<'_, '_> {
        /// Adds a record, whose events the function gives. Breaks if nobody wants more rows.
        ///
        /// # Errors
        ///
        /// If the import needs too much memory.
        pub fn record(
            &mut self,
            record: &Record<'_>,
            events: impl FnOnce(PlacedRecord<'_>),
        ) -> io::Result<ControlFlow<()>> {
            let given = |packet: &PlacedPacket<'_>, context: &mut ImportContext| {
                events(PlacedRecord { packet, context });
            };
            self.frame.record(record, given, self.rows);
            self.frame.goes_on(record.bytes.len(), self.rows)
        }

        /// Notes bytes that are no record (rule Z1).
        pub fn no_record(&mut self, offset: u64, size: u64, why: &'static str) {
            let why = Damage::NoRecord { offset, why };
            let region = Region { offset, size, why };
            self.frame.no_record(&region, self.rows);
        }
    }

    impl PlacedRecord<'_> {
        /// A thread, by its numbers.
        pub fn thread(&mut self, pid: u32, tid: i64) -> WriterThread {
            let uuids = &mut self.context.definitions.uuids;
            uuids.writer(Writer { pid, trusted_pid: 0, tid })
        }

        /// A new track, which no uuid of the file names.
        pub fn track(&mut self, descriptor: Descriptor) -> UuidIx {
            let uuids = &mut self.context.definitions.uuids;
            uuids.nameless(self.packet.part, descriptor)
        }

        /// An event of this record that does nothing yet.
        pub fn event<'e>(&self) -> TrackEvent<'e> {
            let of = (self.packet.part, self.packet.machine);
            TrackEvent::empty(of, self.packet.id)
        }

        /// The name or the category of an event.
        pub fn label<'t>(&mut self, text: &'t str) -> Label<'t> {
            self.context.definitions.names.label(text)
        }

        /// Gives an event to the timeline, at the time of the record.
        pub fn give(&mut self, event: &TrackEvent<'_>) {
            self.context.track_event(self.packet, event);
        }
    }
}
