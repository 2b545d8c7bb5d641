//! The steps of an import in their order: before the first file, with each file, and after the last one.
//!
//! | step | where |
//! |---|---|
//! | take a packet through the import, around its reader | `frame/packet.rs` |
//! | take a record of another format through the import | `frame/record.rs` |
//! | find the machine and the file of a packet, by the manifest | `frame/parts.rs` |
//! | add snapshots of clocks, and write their rows | `frame/snapshots.rs` |
//! | record the damage of the open file, and the packets that are doubtful because of it | `frame/file.rs` |
//! | count the types with and without a reader | `frame/types.rs` |
//! | diagnose the configuration | `frame/diagnostics.rs` |
//! | give waiting packets and events their time | `frame/settle.rs` |
//! | read ahead for snapshots only | `frame/survey.rs` |
//! | place packets, and nothing else | `frame/timing.rs` |

pub(crate) mod counters;
mod diagnostics;
mod file;
mod packet;
mod parts;
mod record;
mod settle;
mod snapshots;
mod survey;
mod timing;
mod types;

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use timebase_resolver::{ClockId, ConversionCache, FileTag};
use timebase_schema::tables;
use timebase_store::sort::Scratch;
use timebase_trace::{Counts, End, Found, Packets, Payload};

use self::diagnostics::OfFile;
use self::file::OpenFile;
pub(crate) use self::file::ReadFile;
pub(crate) use self::record::{Record, RecordTime};
use self::snapshots::tell_made;
pub(crate) use self::survey::SnapshotPackets;
pub(crate) use self::timing::{CopiedPacket, TimedPacket};
use self::types::PacketTypes;
use crate::definitions::{Definitions, Machines};
use crate::evidence::Evidence;
use crate::limits::Watch;
use crate::manifest::{MemberRules, Refused};
use crate::message::Message;
use crate::output::{
    About, Cause, Example, Faults, FaultySequence, LastSwitch, LogMessage, Rows, SettledRows,
    Severity,
};
use crate::place::{Place, TraceTime, Whole};
use crate::readers::{EventSink, ImportContext, Latest, PacketSchema, Readers, Writers};
use crate::subjects::Wanted;
use crate::timeline::Timeline;
use crate::trackers;
use crate::world::{World, machine_rows};

/// The parts of a trace that the user wants in the database.
#[derive(Debug, Clone)]
pub(crate) struct Keep {
    /// Whether to keep the bytes of packets.
    pub data: bool,
    /// The tables of events that get rows.
    pub events: Wanted,
}

/// The state of an import while it reads a trace.
pub(crate) struct Frame {
    /// The state that readers share.
    pub context: ImportContext,
    readers: Readers,
    file: OpenFile,
    /// Counts of the stream of packets.
    pub counts: Counts,
    pub types: PacketTypes,
    keep: Keep,
    /// The error if the trace contradicts the manifest.
    pub refused: Option<Refused>,
    /// Changes to rows whose packet or event waited for its time.
    settled: SettledRows,
    scratch: Scratch,
    watch: Watch,
}

/// The data that remains after the trackers got all events.
pub(crate) struct Finished {
    /// Changes to rows whose packet or event waited for its time.
    pub settled: SettledRows,
    /// The names of the machines.
    pub machines: Vec<Option<String>>,
    /// The last switch of each CPU before a window, if only the state there is wanted.
    pub switches: FxHashMap<u32, LastSwitch>,
}

/// The counter of chunks that a ring buffer dropped.
const OVERWRITTEN: &str = "traced_buf_chunks_overwritten";

impl Frame {
    /// Starts an import. Data that does not fit into memory goes to `scratch`.
    /// `whole` is the result of an earlier pass over the trace, if there was one.
    pub fn new(
        schema: PacketSchema,
        keep: Keep,
        scratch: &Scratch,
        watch: Watch,
        whole: Option<Whole>,
    ) -> Self {
        Frame {
            context: ImportContext {
                place: Place::new(&Readers::interned(), scratch, whole),
                journal: counters::journal(),
                faults: Faults::default(),
                schema,
                definitions: Definitions::default(),
                events: EventSink::new(keep.events.follows(), scratch),
                evidence: Evidence::new(scratch),
                writers: Writers::new(scratch),
                has_zeros: false,
            },
            readers: Readers::default(),
            file: OpenFile::default(),
            counts: Counts::default(),
            types: PacketTypes::default(),
            keep,
            refused: None,
            settled: SettledRows::new(scratch),
            scratch: scratch.clone(),
            watch,
        }
    }

    /// Starts the first file.
    pub fn begin(&mut self, rows: &mut Rows<'_>) {
        self.context.schema.begin(rows);
    }

    /// Starts another file. `has_own_clock` says that its format has a clock of each file's own.
    pub fn begin_file(
        &mut self,
        file: FileTag,
        has_own_clock: bool,
        rules: MemberRules,
        rows: &mut Rows<'_>,
    ) {
        rows.at(Some(file.id), None);
        let ImportContext { place, journal, events, .. } = &mut self.context;
        let default_clock = rules.default_clock.map(|clock| ClockId(clock.id()));
        place.begin_file(file, rules.pinned().is_some(), has_own_clock, default_clock);
        events.latest = Latest::default();
        let sequences = place.sequences.len();
        self.file = OpenFile::new(file, rules, sequences, journal, rows);
    }

    /// Reads the packets of a file, in file order, and returns whether it was stopped.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written, or the import needs too much memory.
    pub fn read_file(&mut self, input: impl Read, rows: &mut Rows<'_>) -> io::Result<End> {
        self.each_packet(input, rows, |frame, packet, rows| {
            ControlFlow::Continue(frame.packet(packet, rows))
        })
    }

    fn each_packet(
        &mut self,
        input: impl Read,
        rows: &mut Rows<'_>,
        mut read: impl FnMut(
            &mut Frame,
            &timebase_trace::Packet<'_>,
            &mut Rows<'_>,
        ) -> ControlFlow<(), Payload>,
    ) -> io::Result<End> {
        let mut packets = Packets::new(input);
        let mut watched = Ok(());
        let end = packets.for_each(|found| {
            let mut payload = Payload::Sound;
            watched = self.watch.after(found.size());
            let journal = &mut self.context.journal;
            match found {
                Found::Packet(packet) => payload = read(self, packet, rows)?,
                Found::Unreadable(raw, why) => {
                    let id = rows.count(&tables::packet_record::TABLE);
                    let events = &mut self.context.faults.events;
                    events.add(Cause::Unreadable, None, 1, || Example::of_packet(id));
                    self.file.unreadable(raw, &why, self.keep.data, journal, rows);
                }
                Found::Region { region, carrier } => {
                    self.file.region(region, carrier, journal, rows);
                }
                Found::Nested { offset } => {
                    let text = "a compressed packet inside a compressed packet was skipped";
                    let message = LogMessage {
                        offset: Some(offset),
                        ..LogMessage::new(Severity::Error, "nested_compression", text.into())
                    };
                    message.push(rows);
                }
            }
            match rows.stopped() || watched.is_err() || self.refused.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(payload),
            }
        });
        watched?;
        self.counts += packets.counts();
        Ok(end)
    }

    /// Ends a file: tries once more to place its waiting packets and events.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn end_file(&mut self, rows: &mut Rows<'_>) -> io::Result<ReadFile> {
        self.settle(rows, |place, scratch, each| place.end_file(scratch, each))?;
        tell_made(&mut self.context, None, rows);
        let read = self.file.close(&self.context.journal, rows);
        rows.at(None, None);
        Ok(read)
    }

    /// Ends the last file: tries for the last time to place waiting packets and events, then gives all
    /// events to the trackers.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn finish(&mut self, rows: &mut Rows<'_>) -> io::Result<Finished> {
        self.context.release_held()?;
        self.settle(rows, |place, scratch, each| place.end(scratch, each))?;
        tell_made(&mut self.context, None, rows);
        self.readers.end(&mut self.context, rows);
        let machines = &self.context.definitions.machines;
        let names = machines.iter().map(|machine| machine.name().map(str::to_owned));
        let names = names.collect();
        machine_rows(machines, rows);
        let mut complete = vec![&tables::packet_record::TABLE];
        complete.append(&mut Readers::own_tables());
        if !self.context.definitions.has_log_messages {
            complete.push(&tables::android_log_record::TABLE);
        }
        rows.complete(&complete, self.context.journal.waiting());
        if self.context.events.timeline.is_wanted() {
            self.follow(rows)?;
        } else {
            self.state_begins();
            self.kernel_buffers(rows);
        }
        let configs = self.records(rows);
        self.faults(rows);
        for (file, config) in &configs {
            let (journal, types) = (&self.context.journal, &self.types);
            OfFile { file: *file, journal, types }.rows(Message(config), rows);
        }
        rows.hand_over();
        let nothing = SettledRows::new(&self.scratch);
        Ok(Finished {
            settled: std::mem::replace(&mut self.settled, nothing),
            machines: names,
            switches: rows.take_switches(),
        })
    }

    /// Counts and logs the faults of the trace.
    fn faults(&mut self, rows: &mut Rows<'_>) {
        let ImportContext { place, journal, faults, .. } = &mut self.context;
        let sequence = |number| {
            let sequence = place.sequences.numbered(number)?;
            let part = &place.clocks.parts[sequence.part];
            Some(FaultySequence {
                id: sequence.id,
                machine: part.machine.0,
                file: part.file.id,
                is_ever_cleared: sequence.is_ever_cleared(),
            })
        };
        std::mem::take(faults).tell(sequence, journal, rows);
    }

    /// Gives all events to the trackers, ordered by time.
    fn follow(&mut self, rows: &mut Rows<'_>) -> io::Result<()> {
        self.settle_begins();
        self.state_begins();
        self.kernel_buffers(rows);
        let context = &mut self.context;
        let nothing = Timeline::new(false, &self.scratch);
        let timeline = std::mem::replace(&mut context.events.timeline, nothing);
        let parts = context.place.clocks.parts.keys();
        let mut definitions = std::mem::take(&mut context.definitions);
        json_machines(&mut definitions.machines, &context.place);
        definitions.schema = context.schema.known();
        let mut interned = std::mem::take(&mut context.place.interned);
        interned.end_intervals();
        // No more times are needed until all events are followed, and what conversions know takes memory.
        context.place.clocks.cache = ConversionCache::new();
        let world = World::new(definitions, interned, &self.scratch, rows);
        let (faults, counts, records) =
            trackers::follow(timeline, &parts, world, &self.scratch, &mut self.watch, rows)?;
        context.definitions.records = records;
        context.faults.join(faults);
        counts.tell(&mut context.journal);
        Ok(())
    }

    /// States when the last of the kernel's buffers of each machine begins (rules MD15, O6).
    fn state_begins(&mut self) {
        let ImportContext { place, journal, definitions, .. } = &mut self.context;
        for (part, statements) in definitions.parts.iter() {
            let part = &place.clocks.parts[part];
            if let Some(TraceTime(begin)) = statements.buffers_begin {
                let about = About::both(part.file.id, part.machine.0);
                let name = "ftrace_latest_data_start_ns";
                journal.facts.set(name, about, begin);
            }
        }
    }

    /// Writes the times that kernel events of CPUs cover, and finds the time before all CPUs have events (rule FE9).
    fn kernel_buffers(&mut self, rows: &mut Rows<'_>) {
        let ImportContext { place, journal, definitions, .. } = &mut self.context;
        let overwritten =
            journal.all_recorded().filter(|(key, _, value)| key.name == OVERWRITTEN && *value > 0);
        let wrapped: BTreeSet<u32> = overwritten.map(|(key, _, _)| key.file).collect();
        for (part, statements) in definitions.parts.iter_mut() {
            let part = &place.clocks.parts[part];
            let stated = statements.buffers_begin.map(|TraceTime(begin)| begin);
            let buffers = &mut statements.kernel_buffers;
            buffers.settle(stated, wrapped.contains(&part.file.id));
            buffers.end((part.file.id, part.machine.0), rows);
        }
    }

    /// Keeps the facts that the recording states about itself, for which the order of time counts. Returns the last
    /// configuration of each file.
    fn records(&mut self, rows: &mut Rows<'_>) -> Vec<(u32, Box<[u8]>)> {
        let ImportContext { journal, definitions, schema, .. } = &mut self.context;
        let mut records = std::mem::take(&mut definitions.records);
        let mut configs = Vec::new();
        for (file, said) in records.files() {
            let about = About::trace(file);
            if let Some(uuid) = said.uuid
                && journal.facts.get("trace_uuid", about).is_none()
            {
                journal.facts.set("trace_uuid", about, uuid);
            }
            if let Some(config) = said.config {
                match schema.config_text(&config) {
                    Ok(text) => journal.facts.set("trace_config_pbtxt", about, text),
                    Err(why) => {
                        let text = format!("a configuration cannot be shown as text: {why}");
                        let code = "unreadable_config";
                        LogMessage::new(Severity::Warning, code, text).push(rows);
                    }
                }
                configs.push((file, config));
            }
        }
        records.counts.tell(journal);
        journal.facts.join(records.facts);
        let left_out = journal.facts.left_out;
        if left_out > 0 {
            journal.count(counters::FACTS_LEFT_OUT, left_out);
        }
        configs
    }

    /// Whether the database keeps the bytes of packets.
    pub fn keeps_data(&self) -> bool {
        self.keep.data
    }

    /// The tables that get rows.
    pub fn wanted(&self) -> &Wanted {
        &self.keep.events
    }
}

/// Notes the machines of which all files are in JSON (rule JS16).
fn json_machines(machines: &mut Machines, place: &Place) {
    let parts = || place.clocks.parts.of_files().map(|(_, part)| part);
    let others: BTreeSet<u32> =
        parts().filter(|part| part.json.is_none()).map(|part| part.machine.0).collect();
    for part in parts().filter(|part| !others.contains(&part.machine.0)) {
        if let Some(machine) = machines.get_mut(part.machine.0) {
            machine.is_of_json = true;
        }
    }
}
