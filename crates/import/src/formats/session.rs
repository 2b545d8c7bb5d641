//! The open file, as its format sees it.

use std::io;
use std::ops::ControlFlow;

use timebase_resolver::{ClockId, Reading, SeqId, Source};
use timebase_schema::tables;
use timebase_trace::Region;

use crate::definitions::{JsonThreads, Names};
use crate::evidence::{FlowKey, Role};
use crate::files::StatedClocks;
use crate::frame::{Frame, Record, SnapshotPackets};
use crate::output::{About, Counter, Example, Fact, Fault, LogMessage, Rows};
use crate::place::{ClockSync, JsonClock, PartIx};
use crate::readers::{ImportContext, JsonTime, PlacedPacket};
use crate::timeline::{JsonEvent, JsonThreadIx, Label};

/// A file that is being read.
pub(crate) struct FileSession<'s, 'r> {
    pub(super) frame: &'s mut Frame,
    pub(super) rows: &'s mut Rows<'r>,
    /// Keeps the packets with snapshots during a survey.
    pub(super) kept: Option<&'s mut SnapshotPackets>,
}

/// A record of the open file, for the events that it holds.
pub(crate) struct PlacedRecord<'p> {
    pub packet: &'p PlacedPacket<'p>,
    pub context: &'p mut ImportContext,
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

    /// Adds the row of a value that is no record, and logs the reason.
    ///
    /// # Errors
    ///
    /// If the import needs too much memory.
    pub fn corrupt(
        &mut self,
        offset: u64,
        bytes: &[u8],
        code: &'static str,
        why: &str,
    ) -> io::Result<ControlFlow<()>> {
        self.frame.no_event(offset, bytes, (code, why), self.rows);
        self.frame.goes_on(bytes.len(), self.rows)
    }

    /// Notes bytes of the file that hold no records (rule Z1).
    pub fn region(&mut self, region: &Region) {
        self.frame.no_record(region, self.rows);
    }

    /// Logs something about the bytes from this offset on.
    pub fn say(&mut self, offset: u64, message: LogMessage) {
        LogMessage { offset: Some(offset), ..message }.push(self.rows);
    }

    /// States a fact about the file; a later value of the name counts.
    pub fn fact(&mut self, name: String, value: Fact) {
        let about = About::trace(self.frame.open_file());
        self.frame.context.journal.facts.set(name, about, value);
    }

    /// Counts something that is no fault.
    pub fn count(&mut self, counter: Counter) {
        self.frame.context.journal.count(counter, 1);
    }

    /// The part of the file's records.
    pub fn part(&mut self) -> Option<PartIx> {
        self.frame.own_part(self.rows)
    }

    /// The file's statements about its clock, so far.
    pub fn json_clock(&mut self, part: PartIx) -> Option<&mut JsonClock> {
        self.frame.context.place.clocks.parts[part].json.as_deref_mut()
    }

    /// Logs something about the file.
    pub fn log(&mut self, message: LogMessage) {
        message.push(self.rows);
    }

    /// The id of the next record.
    pub fn next_record(&self) -> i64 {
        self.rows.count(&tables::packet_record::TABLE)
    }

    /// Logs something about the file, and warns the user of it.
    pub fn warn(&mut self, message: LogMessage) {
        self.frame.warn(message.text.clone());
        message.push(self.rows);
    }

    /// Repeats what the file is known to state about its clock.
    pub fn repeat(&mut self, stated: &StatedClocks) {
        if let Some(part) = self.part()
            && (stated.has_own || !stated.clocks.is_empty())
        {
            self.anchor(part, stated.has_own, &stated.clocks, 0);
        }
    }

    /// Adds readings of shared clocks of the file's machine at one instant, at the file's time 0 if `has_own` is set.
    /// `record` states them.
    pub fn anchor(&mut self, part: PartIx, has_own: bool, clocks: &[(ClockId, i64)], record: i64) {
        let place = &mut self.frame.context.place.clocks;
        let of = &place.parts[part];
        let own = of.clock(ClockId::TRACE_FILE, SeqId(0));
        let shared = clocks.iter().map(|&(id, value)| (of.shared(id), value));
        let readings = has_own.then_some((own, 0)).into_iter().chain(shared);
        let readings =
            readings.map(|(clock, value)| Reading { clock, value, unit: 1, incremental: false });
        let readings = readings.collect();
        // It is never rejected: each clock has one reading, in its own unit.
        let _ = place.make(Source::Json, Some(part), readings);
        self.frame.tell_made(record, self.rows);
    }
}

impl PlacedRecord<'_> {
    /// The texts that have numbers.
    pub fn names(&mut self) -> &mut Names {
        &mut self.context.definitions.names
    }

    /// The threads that events of JSON traces name.
    pub fn json_threads(&mut self) -> &mut JsonThreads {
        &mut self.context.definitions.json_threads
    }

    /// The name or the category of an event.
    pub fn label<'t>(&mut self, text: &'t str) -> Label<'t> {
        self.context.definitions.names.label(text)
    }

    /// Notes that the file has an event of a phase at a time of its clock.
    pub fn json_phase(&mut self, phase: char, ts: i64) {
        let part = self.packet.part;
        if phase == 'X' {
            self.context.definitions.parts.of(part).has_complete = true;
        }
        if phase != 'M'
            && let Some(json) = &mut self.context.place.clocks.parts[part].json
        {
            json.first.get_or_insert(ts);
        }
    }

    /// Notes the record of a synchronization with another file, unless the file has one with this id.
    pub fn clock_sync(&mut self, id: &str, ts: i64, issued: Option<i64>) {
        let part = self.packet.part;
        if let Some(json) = &mut self.context.place.clocks.parts[part].json {
            json.syncs.entry(id.into()).or_insert(ClockSync { ts, issued });
        }
    }

    /// An event of this record that does nothing yet.
    pub fn json_event<'e>(&self, phase: char, thread: JsonThreadIx) -> JsonEvent<'e> {
        JsonEvent::new(self.packet.part, self.packet.id, phase, thread)
    }

    /// Gives the timeline an event that only mentions its thread (rule JS16).
    pub fn mention_json(&mut self, time: JsonTime, event: &JsonEvent<'_>) {
        let mention = JsonEvent { part: event.part, ..self.json_event('\0', event.thread) };
        self.give_json(time, &mention);
    }

    /// Counts a fault that drops an event of this record.
    pub fn drops(&mut self, fault: Fault, example: impl FnOnce(Example) -> Example) {
        let packet = self.packet;
        let example = || example(packet.example());
        self.context.faults.add_event(fault, packet.id, None, example);
    }

    /// Gives an event to the timeline.
    pub fn give_json(&mut self, time: JsonTime, event: &JsonEvent<'_>) {
        self.context.json_event(self.packet, time, event);
    }

    /// Puts an event of a flow aside, with the reading of the record (rule AL2).
    pub fn flow_moment(&mut self, role: Role, flow: impl FnOnce() -> FlowKey) {
        if self.context.wants_evidence() {
            self.context.flow_moment(self.packet, flow(), role);
        }
    }

    /// Counts faults of this record that drop none of its events.
    pub fn faults(&mut self, fault: Fault, count: u32) {
        self.context.faults.add_many(fault, self.packet.id, count);
    }
}

// The events of a format without a tracker of its own. The first format that needs them removes this attribute.
#[cfg(test)]
mod records {
    use super::PlacedRecord;
    use crate::definitions::{Descriptor, Writer};
    use crate::timeline::{TrackEvent, UuidIx, WriterThread};

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

        /// Gives an event to the timeline, at the time of the record.
        pub fn give(&mut self, event: &TrackEvent<'_>) {
            self.context.track_event(self.packet, event);
        }
    }
}
