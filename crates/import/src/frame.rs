//! What happens to every packet, around what its reader makes of it.

mod parts;
mod survey;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::ControlFlow;

use crate::manifest::{MemberRules, Refused};
use prost::Message as _;
use timebase_resolver::{ClockId, FileTag, MachineId, Reading, Source, Unresolved, builtin_name};
use timebase_schema::{Table, tables};
use timebase_store::sort::Scratch;
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::wire::proto::TracePacketDefaults;
use timebase_trace::{Counts, End, Found, Packets, Payload, RawPacket, Region, Unreadable};

use crate::damaged::{Around, Damaged, cut, unread_packet};
use crate::definitions::Definitions;
use crate::limits::Watch;
use crate::output::{
    Cell, Fact, Faults, Journal, Loss, LossKind, Message, NOT_INTERNED, PacketRow, RowType, Rows,
    SettledRows, Severity,
};
use crate::place::{
    Counts as CountsFor, PartIx, Place, Placement, SequenceIx, Settled, Snapshot, Stands, Taken,
    TraceTime, Whole, called, file_id, file_key, recorded,
};
use crate::readers::{
    Corrupt, Events, Generation, ImportContext, Latest, PacketSchema, Parsed, PlacedPacket,
    Readers, Writers,
};
use crate::subjects::Wanted;
use crate::timeline::{Event, Timeline};
use crate::trackers;
use crate::world::machine_rows;

/// What is kept of a trace.
#[derive(Debug, Clone)]
pub(crate) struct Keep {
    /// Whether the packets' bytes are.
    pub data: bool,
    /// Of the events inside of packets.
    pub events: Wanted,
}

/// The state of a trace while it is read.
pub(crate) struct Frame {
    pub context: ImportContext,
    /// What the stream of packets has counted.
    pub counts: Counts,
    /// What of it held no packets.
    pub damage: Damaged,
    /// How many packets there are that no reader takes, by their type.
    unread: BTreeMap<u32, u64>,
    /// How many there are that one does.
    pub read: u64,
    readers: Readers,
    keep: Keep,
    scratch: Scratch,
    watch: Watch,
    file: FileState,
    /// The names of the machines, when all files are read.
    pub machines: Vec<Option<String>>,
    /// Why the manifest does not let the import go on.
    pub refused: Option<Refused>,
    /// What is to be changed of rows that waited.
    settled: SettledRows,
}

/// The file that is read.
#[derive(Default)]
struct FileState {
    /// Its row in `trace_file`.
    id: u32,
    rules: MemberRules,
    /// How many packets there were before it.
    before: i64,
    /// What the last packet called its machine, the row, and whether that is the host's.
    last: Option<(u32, u32, bool)>,
    /// What was counted of damage before it.
    counted: Counted,
    /// The times around its damage.
    around: Around,
}

/// What is counted of the damage of a trace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    pub packets_corrupt: u64,
    pub payloads_corrupt: u64,
    pub damaged_regions: u64,
    pub damaged_bytes: u64,
}

impl Counted {
    fn of(journal: &Journal) -> Counted {
        Counted {
            packets_corrupt: journal.counter(counter::PACKETS_CORRUPT),
            payloads_corrupt: journal.counter(counter::PAYLOADS_CORRUPT),
            damaged_regions: journal.counter(counter::DAMAGED_REGIONS),
            damaged_bytes: journal.counter(counter::DAMAGED_BYTES),
        }
    }

    fn since(self, before: Counted) -> Counted {
        let less = u64::saturating_sub;
        Counted {
            packets_corrupt: less(self.packets_corrupt, before.packets_corrupt),
            payloads_corrupt: less(self.payloads_corrupt, before.payloads_corrupt),
            damaged_regions: less(self.damaged_regions, before.damaged_regions),
            damaged_bytes: less(self.damaged_bytes, before.damaged_bytes),
        }
    }
}

/// What became of a file that was read.
#[derive(Debug, Default)]
pub(crate) struct ReadFile {
    pub packets: u64,
    pub damage: Damaged,
    pub counted: Counted,
}

impl ReadFile {
    /// Whether no packet of it could be read, or it begins with what is none.
    pub fn is_doubtful(&self) -> bool {
        self.is_unread() || self.damage.is_at_begin()
    }

    /// Whether no packet of it could be read.
    pub fn is_unread(&self) -> bool {
        let Counted {
            packets_corrupt,
            payloads_corrupt,
            ..
        } = self.counted;
        self.packets == packets_corrupt.saturating_add(payloads_corrupt)
    }
}

/// Tables of many rows that readers fill, and nobody after them.
const MADE_WHILE_READING: [&Table; 4] = [
    &tables::packet::TABLE,
    &tables::ftrace_record::TABLE,
    &tables::ftrace_partial::TABLE,
    &tables::android_log_record::TABLE,
];

/// Packets that tell of the recording and not of what was recorded, so that nobody misses a table:
/// its configuration, its statistics, marks for those who synchronize, and what started it.
const OF_THE_RECORDING: [u32; 4] = [33, 35, 36, 46];

/// Counters of `stats`.
pub(crate) mod counter {
    use crate::output::{Counter, Fault};

    pub const PACKETS_WITHOUT_TIMESTAMP: Counter = Counter::info("packets_without_timestamp");
    pub const PACKETS_CORRUPT: Counter = Counter::error("packets_corrupt");
    pub const PAYLOADS_CORRUPT: Counter = Counter::error("payloads_corrupt");
    pub const PAYLOADS_TOO_LARGE: Counter = Counter::data_loss("payloads_too_large");
    pub const SNAPSHOTS_REJECTED: Counter = Counter::error("snapshots_rejected");
    pub const DAMAGED_REGIONS: Counter = Counter::data_loss("damaged_regions");
    pub const DAMAGED_BYTES: Counter = Counter::data_loss("damaged_bytes");
    pub const UNSURE_PACKETS: Counter = Counter::data_loss("unsure_packets");
    pub const INTERNED_SKIPPED: Fault = Fault::new(
        Counter::data_loss("interned_data_skipped_incremental_state_invalid"),
        "interned data after its sequence lost state is left out",
    );
}

impl Frame {
    /// A trace of which nothing was read. What has no room in memory is put aside there.
    /// `whole` is what an earlier pass over the trace has found, if there was one.
    pub fn new(
        schema: PacketSchema,
        keep: Keep,
        scratch: &Scratch,
        watch: Watch,
        whole: Option<Whole>,
    ) -> Self {
        let mut journal = Journal::default();
        for counter in [
            counter::PACKETS_WITHOUT_TIMESTAMP,
            counter::PACKETS_CORRUPT,
            counter::PAYLOADS_CORRUPT,
            counter::PAYLOADS_TOO_LARGE,
            counter::SNAPSHOTS_REJECTED,
            counter::DAMAGED_REGIONS,
            counter::DAMAGED_BYTES,
            counter::UNSURE_PACKETS,
        ] {
            journal.count(counter, 0);
        }
        Frame {
            context: ImportContext {
                place: Place::new(&Readers::interned(), scratch, whole),
                journal,
                faults: Faults::default(),
                schema,
                definitions: Definitions::default(),
                events: Events::new(keep.events.follows(), scratch),
                writers: Writers::new(scratch),
            },
            counts: Counts::default(),
            damage: Damaged::default(),
            unread: BTreeMap::new(),
            read: 0,
            readers: Readers::default(),
            keep,
            settled: SettledRows::new(scratch),
            scratch: scratch.clone(),
            watch,
            file: FileState::default(),
            machines: Vec::new(),
            refused: None,
        }
    }

    /// Nothing was read yet.
    pub fn begin(&mut self, rows: &mut Rows<'_>) {
        self.context.schema.begin(rows);
    }

    /// Another file is read.
    pub fn begin_file(&mut self, file: FileTag, rules: MemberRules, rows: &mut Rows<'_>) {
        rows.at(Some(file.id), None);
        self.context.place.begin(file, rules.pinned().is_some());
        self.context.events.latest = Latest::default();
        self.context.journal.begin_file(file);
        // Where the trace does not tell, the fact is that it does not.
        self.context.journal.state_of_file("trace_uuid", Fact::Null);
        self.damage = Damaged::default();
        self.file = FileState {
            id: file.id,
            rules,
            before: rows.count(&tables::packet::TABLE),
            last: None,
            counted: Counted::of(&self.context.journal),
            around: Around::default(),
        };
    }

    /// Reads the packets of a file, in file order. Tells how it ended.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written, or there is too much in memory.
    pub fn read_file(&mut self, input: impl Read, rows: &mut Rows<'_>) -> io::Result<End> {
        self.each_packet(input, rows, Frame::packet)
    }

    fn each_packet(
        &mut self,
        input: impl Read,
        rows: &mut Rows<'_>,
        mut read: impl FnMut(&mut Frame, &timebase_trace::Packet<'_>, &mut Rows<'_>) -> Payload,
    ) -> io::Result<End> {
        let mut packets = Packets::new(input);
        let mut watched = Ok(());
        let end = packets.for_each(|found| {
            let mut payload = Payload::Sound;
            watched = self.watch.after(found.size());
            match found {
                Found::Packet(packet) => payload = read(self, packet, rows),
                Found::Unreadable(raw, why) => self.unreadable(raw, &why, rows),
                Found::Region { region, carrier } => self.region(region, carrier, rows),
                Found::Nested { offset } => {
                    let code = "nested_compression";
                    let text = "a compressed packet inside a compressed packet was skipped";
                    say(rows, Severity::Error, code, None, offset, text.into());
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

    /// A file is read to its end: what waits in it is tried once more.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
    pub fn end_file(&mut self, rows: &mut Rows<'_>) -> io::Result<ReadFile> {
        self.settle(rows, |place, scratch, each| place.end_file(scratch, each))?;
        self.tell_made(None, 0, rows);
        self.file.around.close(None, rows);
        rows.at(None, None);
        let before = self.file.before;
        let packets = rows.count(&tables::packet::TABLE).saturating_sub(before);
        Ok(ReadFile {
            packets: packets.unsigned_abs(),
            damage: std::mem::take(&mut self.damage),
            counted: Counted::of(&self.context.journal).since(self.file.counted),
        })
    }

    /// All files are read: what still waits is tried for the last time; then come events in the
    /// order of time. Tells what is to be changed of rows that waited.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
    pub fn finish(&mut self, rows: &mut Rows<'_>) -> io::Result<SettledRows> {
        self.context.writers.release(
            &self.context.definitions.uuids,
            &mut self.context.events.timeline,
            &mut self.context.faults,
        )?;
        self.settle(rows, |place, scratch, each| place.end(scratch, each))?;
        self.readers.end(&mut self.context, rows);
        let machines = self.context.definitions.machines.iter();
        self.machines = machines
            .map(|machine| machine.name().map(str::to_owned))
            .collect();
        machine_rows(&self.context.definitions.machines, rows);
        rows.complete(&MADE_WHILE_READING, self.context.journal.waiting());
        if self.context.events.timeline.is_wanted() {
            self.settle_begins();
            let nothing = Timeline::new(false, &self.scratch);
            let timeline = std::mem::replace(&mut self.context.events.timeline, nothing);
            let mut definitions = std::mem::take(&mut self.context.definitions);
            definitions.schema = self.context.schema.known();
            let interned = self.context.place.take_interned();
            let faults = trackers::follow(
                timeline,
                definitions,
                interned,
                &self.scratch,
                &mut self.watch,
                rows,
            )?;
            self.context.faults.join(faults);
        }
        std::mem::take(&mut self.context.faults).tell(&mut self.context.journal, rows);
        rows.hand_over();
        let nothing = SettledRows::new(&self.scratch);
        Ok(std::mem::replace(&mut self.settled, nothing))
    }

    /// How many packets of each type only have a row of their own.
    pub fn unread(&self) -> BTreeMap<String, u64> {
        let name = |number| match PacketType(number).name() {
            Some(name) => name.to_owned(),
            None => number.to_string(),
        };
        let unread = self.unread.iter();
        unread
            .map(|(&number, &count)| (name(number), count))
            .collect()
    }

    /// Whether the bytes of packets are kept.
    pub fn keeps_data(&self) -> bool {
        self.keep.data
    }

    /// Which tables get rows.
    pub fn wanted(&self) -> &Wanted {
        &self.keep.events
    }

    /// A packet becomes a row, and its reader makes of its payload what is to be
    /// made.
    #[inline]
    fn packet(&mut self, packet: &timebase_trace::Packet<'_>, rows: &mut Rows<'_>) -> Payload {
        match self.part(&packet.header, rows) {
            Some((_, of)) => self.packet_of(packet, of, rows),
            None => Payload::Sound,
        }
    }

    /// The same of a packet of a part.
    #[inline]
    fn packet_of(
        &mut self,
        packet: &timebase_trace::Packet<'_>,
        of: PartIx,
        rows: &mut Rows<'_>,
    ) -> Payload {
        let header = &packet.header;
        let machine = self.context.place.parts()[of].machine.0;
        let id = rows.count(&tables::packet::TABLE);
        let (default_clock, defaults) = defaults(header);
        let sequence = self.context.place.enter(header, of, default_clock);
        let fits = Corrupt::size(packet.bytes);
        let interned = match header.interned_data.filter(|_| fits.is_ok()) {
            Some(data) => self.intern(id, sequence, data),
            None => fits,
        };
        self.shares(header, sequence);
        let parsed = defaults.and(interned).and_then(|()| Parsed::of(header));

        let taken = match &parsed {
            Ok(Parsed::RemoteClockSync(sync)) => {
                self.remote_sync(sync, header, id, packet.offset, (of, sequence), rows);
                None
            }
            Ok(parsed) => parsed
                .snapshot(header)
                .map(|snapshot| self.snapshot(&snapshot, id, packet.offset, (of, sequence), rows)),
            Err(_) => None,
        };
        let lost = (header.previous_packet_dropped != 0)
            .then(|| self.context.place.last_of(sequence))
            .flatten();
        let is_read = parsed.is_ok();
        let counts = counts(header.packet_type().filter(|_| is_read));
        let placement = self.place((id, counts), header, (of, sequence), taken);
        if let Some(start) = lost {
            let loss = Loss {
                start,
                end: placement.ts.map(|TraceTime(ts)| ts),
                machine: Some(machine),
                seq: Some(header.trusted_packet_sequence_id),
                packet: Some(id),
                ..Loss::new(LossKind::Packets)
            };
            loss.push(rows);
        }
        if self.damage.is_any() {
            self.unsure(id, header, (of, sequence), &placement, rows);
        }
        let payload = verdict(&parsed);
        let counted = header.packet_type();
        let counted = counted.filter(|PacketType(number)| !OF_THE_RECORDING.contains(number));
        self.context.events.times = None;
        if header.timestamp.is_none() && placement.unresolved.is_none() {
            self.untimed((id, machine), header, counts);
        }
        let offset = packet.offset;
        let (bytes, packet) = (
            packet.bytes,
            PlacedPacket {
                id,
                offset,
                header,
                interval: self.context.place.interval(sequence),
                placement,
                machine,
                part: of,
                valid: self.context.place.is_valid(sequence),
                lost: self.context.place.lost(sequence),
                latest: self.context.events.latest.of(machine),
            },
        );
        if lost.is_some() {
            self.context.packets_lost(&packet);
        }
        match parsed {
            Ok(Parsed::Unread) => {
                if let Some(PacketType(number)) = counted {
                    *self.unread.entry(number).or_default() += 1;
                }
            }
            Ok(parsed) => {
                self.read += u64::from(counted.is_some());
                self.readers.read(parsed, &packet, &mut self.context, rows);
            }
            Err(corrupt) => {
                let text = format!("the packet's payload cannot be read: {corrupt}");
                let severity = Severity::Error;
                if corrupt.is_damage() {
                    self.context.journal.count(counter::PAYLOADS_CORRUPT, 1);
                    let code = "corrupt_payload";
                    say(rows, severity, code, Some(id), offset, text);
                } else {
                    self.context.journal.count(counter::PAYLOADS_TOO_LARGE, 1);
                    let code = "payload_too_large";
                    say(rows, severity, code, Some(id), offset, text);
                }
            }
        }
        let before = self.file.around.last();
        let own = placement.ts.map(|TraceTime(ts)| (ts, ts));
        if let Some(times) = self.context.events.times.or(own) {
            self.file.around.saw(times, rows);
        }
        if matches!(payload, Payload::Corrupt) {
            let loss = unread_packet(id, Some(machine));
            self.file.around.damaged(before, loss, rows);
        }
        if let Some(ts) = placement.ts {
            self.context.events.latest.counts(counts, machine, ts);
            if let Some(machine) = self.context.definitions.machines.get_mut(machine) {
                machine.saw(ts);
            }
        }
        if self.context.place.has_made() {
            self.tell_made(Some(id), offset, rows);
        }
        self.note(&placement, id, offset, header, rows);
        rows.packet(
            PacketRow {
                id,
                row_type: header.packet_type().map_or(RowType::None, RowType::Payload),
                timestamp: header.timestamp,
                placement,
                seq_id: header.trusted_packet_sequence_id,
                machine,
                file: self.file.id,
                number: id.saturating_sub(self.file.before),
                uid: header.trusted_uid,
                pid: header.trusted_pid,
                offset,
                size: bytes.len() as u64,
                data: 0..0,
            },
            self.keep.data.then_some(bytes),
        );
        payload
    }

    /// Takes in what the packet gives numbers to, unless the sequence's state cannot be
    /// trusted (rule E2).
    fn intern(&mut self, id: i64, sequence: SequenceIx, data: &[u8]) -> Result<(), Corrupt> {
        if !self.context.place.is_valid(sequence) {
            self.context.faults.add(counter::INTERNED_SKIPPED, id);
            return Ok(());
        }
        let nameless = self.context.place.intern(sequence, data)?;
        self.context.faults.add_many(NOT_INTERNED, id, nameless);
        Ok(())
    }

    /// What a packet says for the track events of its sequence (rules E3, U9).
    #[inline]
    fn shares(&mut self, header: &Header<'_>, sequence: SequenceIx) {
        if !header.has_sequence || !self.context.events.timeline.is_wanted() {
            return;
        }
        if let Some(defaults) = header.trace_packet_defaults {
            let generation = Generation {
                interval: self.context.place.interval(sequence),
                lost: self.context.place.lost(sequence),
            };
            self.context.writers.defaults(generation, defaults);
        }
        if header.first_packet_on_sequence {
            self.context.definitions.first_packets.insert(sequence.0);
        }
    }

    /// A packet without a timestamp may be an event where it stands (rule O2).
    fn untimed(&mut self, (packet, machine): (i64, u32), header: &Header<'_>, counts: CountsFor) {
        let is_left_out = header.packet_type() == Some(PacketType::GPU_COUNTER_EVENT);
        let counts = counts == CountsFor::All && !is_left_out;
        let latest = self.context.events.latest.of(machine);
        if counts {
            self.context.events.latest.event(latest);
        }
        if self.context.place.has_pending() {
            self.context.place.stands(&Stands {
                packet,
                machine,
                latest,
                counts,
            });
        }
    }

    /// Places a packet, once.
    #[inline]
    fn place(
        &mut self,
        (id, counts): (i64, CountsFor),
        header: &Header<'_>,
        (part, sequence): (PartIx, SequenceIx),
        taken: Option<(Taken, i64)>,
    ) -> Placement {
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        match taken {
            Some((taken, first_row)) if is_snapshot => {
                self.context
                    .place
                    .snapshot_packet(id, header, (part, sequence), &taken, first_row)
            }
            Some((Taken::Accepted(accepted), first_row)) => {
                self.context.place.pair_waits(first_row, &accepted);
                self.context
                    .place
                    .packet((id, counts), header, part, sequence)
            }
            _ => self
                .context
                .place
                .packet((id, counts), header, part, sequence),
        }
    }

    /// A snapshot is taken, and its readings are rows. Tells what became of it, and
    /// the first of the rows.
    fn snapshot(
        &mut self,
        snapshot: &Snapshot,
        id: i64,
        offset: u64,
        (part, sequence): (PartIx, SequenceIx),
        rows: &mut Rows<'_>,
    ) -> (Taken, i64) {
        let first_row = rows.count(&tables::clock_snapshot::TABLE);
        let taken = self.context.place.snapshot(snapshot, part, id, sequence);
        match &taken {
            Taken::Accepted(accepted) => {
                let made = (&accepted.readings[..], &accepted.times[..]);
                readings(made, snapshot.source(), accepted.id.0, Some(id), rows);
                if accepted.is_mixed {
                    let text = "times before this snapshot were read on clocks that the machine has in other \
                                files, too; from here on the file has clocks of its own";
                    let code = "mixed_clock_sources";
                    say(rows, Severity::Warning, code, Some(id), offset, text.into());
                }
                if let Some(clock) = accepted.ignored_primary {
                    let text = format!(
                        "primary_trace_clock {clock} is ignored: times were converted to {} before \
                         it, or it cannot be trace time",
                        self.context.place.trace_time()
                    );
                    let code = "primary_clock_ignored";
                    say(rows, Severity::Warning, code, Some(id), offset, text);
                }
            }
            Taken::Rejected(rejected) => {
                self.context.journal.count(counter::SNAPSHOTS_REJECTED, 1);
                let what = called(snapshot.source());
                let (code, text) = (rejected.code(), format!("{what} was rejected: {rejected}"));
                say(rows, Severity::Warning, code, Some(id), offset, text);
            }
            Taken::Known => {}
        }
        (taken, first_row)
    }

    /// Counts how a packet fared.
    #[inline]
    fn note(
        &mut self,
        placement: &Placement,
        id: i64,
        offset: u64,
        header: &Header<'_>,
        rows: &mut Rows<'_>,
    ) {
        let table = &tables::packet::TABLE;
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        if placement.ts.is_some() {
            self.context.journal.packets_on_trace_time += 1;
            return;
        }
        let Some(reason) = placement.unresolved else {
            if header.timestamp.is_none() {
                self.context
                    .journal
                    .count(counter::PACKETS_WITHOUT_TIMESTAMP, 1);
            }
            return;
        };
        if reason == Unresolved::NoSequenceId && !is_snapshot {
            let text = format!(
                "the packet's clock {} is sequence-scoped, and it has no sequence id",
                placement.clock_id.unwrap_or_default()
            );
            let code = "no_sequence_id";
            say(rows, Severity::Error, code, Some(id), offset, text);
        }
        if placement.waits {
            self.context.journal.waits(table);
        } else {
            self.context.journal.unplaced(table, reason);
        }
    }

    /// Rule F7: bytes that are no packet are kept as they are.
    fn unreadable(&mut self, raw: RawPacket<'_>, why: &Unreadable, rows: &mut Rows<'_>) {
        let id = rows.count(&tables::packet::TABLE);
        self.context.journal.count(counter::PACKETS_CORRUPT, 1);
        let (code, text) = ("corrupt_packet", why.to_string());
        say(rows, Severity::Error, code, Some(id), raw.offset, text);
        let around = &mut self.file.around;
        around.damaged(around.last(), unread_packet(id, None), rows);
        rows.packet(
            PacketRow {
                id,
                row_type: RowType::Corrupt,
                timestamp: None,
                placement: Placement::default(),
                seq_id: 0,
                machine: 0,
                file: self.file.id,
                number: id.saturating_sub(self.file.before),
                uid: None,
                pid: None,
                offset: raw.offset,
                size: raw.bytes.len() as u64,
                data: 0..0,
            },
            self.keep.data.then_some(raw.bytes),
        );
    }

    /// Rule Z1: bytes that hold no packets are named.
    fn region(&mut self, region: &Region, carrier: Option<u64>, rows: &mut Rows<'_>) {
        let log = rows.count(&tables::import_log::TABLE) + 1;
        self.damage.add(region, carrier, log);
        self.context.journal.count(counter::DAMAGED_REGIONS, 1);
        self.context
            .journal
            .count(counter::DAMAGED_BYTES, region.size);
        let around = &mut self.file.around;
        around.damaged(around.last(), Loss::new(LossKind::Damage), rows);
        let is_cut = region.why.is_cut();
        let why = region.why.to_string();
        let packets = rows.count(&tables::packet::TABLE) - self.file.before;
        let text = match (carrier, is_cut) {
            (Some(_), _) => format!("{why}, inside a compressed packet"),
            (None, true) => cut(&why, packets.unsigned_abs()),
            (None, false) => why,
        };
        let (severity, code) = match is_cut {
            true => (Severity::Warning, "cut"),
            false => (Severity::Error, "damaged"),
        };
        let message = Message {
            severity,
            code,
            packet_id: None,
            offset: Some(carrier.unwrap_or(region.offset)),
            size: Some(region.size),
            text,
        };
        message.push(rows);
    }

    /// Rule Z8: packets that may have lost a part of what they rely on.
    fn unsure(
        &mut self,
        id: i64,
        header: &Header<'_>,
        (part, sequence): (PartIx, SequenceIx),
        placement: &Placement,
        rows: &mut Rows<'_>,
    ) {
        if !header.has_sequence {
            return;
        }
        if header.clears_state() {
            self.damage.reset(sequence);
            return;
        }
        let Some(log) = self.damage.since_reset(sequence) else {
            return;
        };
        let read = placement.clock_ts.and(placement.clock_id);
        let is_delta =
            read.is_some_and(|clock| self.context.place.is_incremental(header, part, clock));
        let is_named = header.needs_state() && self.context.place.is_valid(sequence);
        if is_delta || is_named {
            self.context.journal.count(counter::UNSURE_PACKETS, 1);
            rows.push(tables::unsure_record::Row {
                packet_id: Cell::from(id),
                time: Cell::from(i64::from(is_delta)),
                names: Cell::from(i64::from(is_named)),
                log_id: Cell::from(log),
            });
        }
    }

    /// Rule D2, of when ring buffers began.
    fn settle_begins(&mut self) {
        for machine in self.context.definitions.machines.iter_mut() {
            for (part, clock, begins) in std::mem::take(&mut machine.unplaced_begins) {
                let clock = self.context.place.event_clock(part, Some(clock));
                if let Ok(ts) = self.context.place.event(&clock, begins) {
                    machine.begins(ts);
                }
            }
        }
    }

    /// Rules D2 and X29: what waits is tried once more.
    fn settle(
        &mut self,
        rows: &mut Rows<'_>,
        settle: impl FnOnce(
            &mut Place,
            &Scratch,
            &mut dyn FnMut(Settled<'_>) -> io::Result<()>,
        ) -> io::Result<()>,
    ) -> io::Result<()> {
        let Frame {
            context,
            readers,
            scratch,
            settled: changed,
            ..
        } = self;
        let ImportContext {
            place,
            journal,
            faults,
            definitions,
            events,
            writers,
            ..
        } = context;
        let timeline = &mut events.timeline;
        let machines: Vec<MachineId> = place.parts().iter().map(|part| part.machine).collect();
        // Of what waited to know trace time, in file order (rule O2).
        let mut latest = Latest::default();
        let mut stands = None;
        settle(place, scratch, &mut |settled| {
            let packets = &tables::packet::TABLE;
            match &settled {
                Settled::Reading { .. } => {}
                Settled::Stands(packet) => {
                    let ts = packet.latest.max(latest.of(packet.machine));
                    if packet.counts {
                        latest.event(ts);
                    }
                    stands = Some((packet.packet, ts));
                    return Ok(());
                }
                Settled::Untimed(untimed) => {
                    let at = stands.filter(|(packet, _)| *packet == untimed.packet);
                    let ts = at.map_or(untimed.latest, |(_, ts)| ts);
                    latest.event(ts);
                    timeline.push_at(ts, untimed.place, untimed.event);
                    return Ok(());
                }
                Settled::Snapshot {
                    part,
                    result: Ok(ts),
                    ..
                }
                | Settled::Packet {
                    part,
                    result: Ok(ts),
                    ..
                } => {
                    journal.packets_on_trace_time += 1;
                    let machine = machines.get(part.0 as usize);
                    if let (Settled::Packet { counts, .. }, Some(machine)) = (&settled, machine) {
                        latest.counts(*counts, machine.0, *ts);
                    }
                    if let Some(machine) = machine.and_then(|id| definitions.machines.get_mut(id.0))
                    {
                        machine.saw(*ts);
                    }
                }
                Settled::Snapshot {
                    result: Err(reason),
                    ..
                } => {
                    if let Some(reason) = *reason {
                        journal.unplaced(packets, reason);
                    }
                }
                Settled::Packet {
                    result: Err(reason),
                    ..
                } => journal.unplaced(packets, *reason),
                Settled::Clock { id, clock } => {
                    rows.push(tables::packet_clock_record::Row {
                        packet_id: Cell::from(*id),
                        file: Cell::from(file_key(clock.file)),
                    });
                }
                // What a packet is for the timeline; its row waits by itself.
                Settled::Event(event) if event.row.table.number == packets.number => {
                    if let Ok(ts) = event.result {
                        let (event, place) = (event.event, event.place);
                        let uuids = &definitions.uuids;
                        let counts = place.is_some() && !Event::tells_of_loss(event);
                        let ts = writers.settled(event, ts, place, uuids, timeline, faults)?;
                        if let Some(ts) = ts.filter(|_| counts) {
                            latest.event(ts);
                        }
                    }
                    return Ok(());
                }
                Settled::Event(event) => {
                    match event.result {
                        Ok(ts) if !event.event.is_empty() => {
                            timeline.push_kept(ts, event.place, event.event);
                            if event.place.is_some() {
                                latest.event(ts);
                            }
                        }
                        Ok(TraceTime(_)) => {}
                        Err(reason) => journal.unplaced(event.row.table, reason),
                    }
                    readers.settled(event, rows);
                }
            }
            changed.push(&settled);
            Ok(())
        })
    }
}

/// What a packet's time counts for, for those that have none (rule O2): that of an event; or of
/// a packet where the events are inside of it and could be read.
#[inline]
fn counts(read: Option<PacketType>) -> CountsFor {
    match read {
        Some(PacketType::CLOCK_SNAPSHOT | PacketType::SERVICE_EVENT) => CountsFor::Nothing,
        Some(
            PacketType::FTRACE_EVENTS
            | PacketType::ANDROID_LOG
            | PacketType::POWER_RAILS
            | PacketType::TRACK_EVENT,
        ) => CountsFor::ItsMachine,
        _ => CountsFor::All,
    }
}

/// What is said of a packet to who looks for packets.
#[inline]
fn verdict(parsed: &Result<Parsed<'_>, Corrupt>) -> Payload {
    match parsed {
        Err(corrupt) if corrupt.is_damage() => Payload::Corrupt,
        _ => Payload::Sound,
    }
}

/// The clock that the packet's `trace_packet_defaults` name, and whether they can
/// be read.
#[inline]
fn defaults(header: &Header<'_>) -> (Option<u32>, Result<(), Corrupt>) {
    match header
        .trace_packet_defaults
        .map(TracePacketDefaults::decode)
    {
        None => (None, Ok(())),
        Some(Ok(defaults)) => (Some(defaults.timestamp_clock_id()), Ok(())),
        Some(Err(error)) => (None, Err(error.into())),
    }
}

/// The rows of a snapshot: its readings and their times.
fn readings(
    (readings, times): (&[Reading], &[Option<TraceTime>]),
    source: Source,
    snapshot: u32,
    packet: Option<i64>,
    rows: &mut Rows<'_>,
) {
    for (reading, ts) in readings.iter().zip(times) {
        let clock = reading.clock;
        let id = rows.count(&tables::clock_snapshot::TABLE);
        let clock_name = rows.optional_text(clock_name(clock.id));
        let source = rows.text(source.name());
        rows.push(tables::clock_snapshot::Row {
            id: Cell::from(id),
            ts: Cell::or_null(ts.map(|TraceTime(ts)| ts)),
            clock_id: Cell::from(clock.id.get()),
            clock_name,
            clock_value: Cell::from(reading.value),
            snapshot_id: Cell::from(snapshot),
            machine_id: Cell::from(clock.machine.0),
            packet_id: Cell::or_null(packet),
            seq_id: Cell::from(clock.seq.0),
            timestamp: Cell::from(recorded(reading).0),
            unit_multiplier_ns: Cell::from(reading.unit),
            is_incremental: Cell::from(i64::from(reading.incremental)),
            source,
            trace_file_id: Cell::or_null(file_id(clock.file)),
        });
    }
}

/// The name that trace processor gives a clock in `clock_snapshot`: only the
/// clocks of the kernel's `clock_gettime` have one.
fn clock_name(id: ClockId) -> Option<&'static str> {
    builtin_name(id.get()).filter(|_| id <= ClockId::BOOTTIME)
}

/// Says something about the trace in the log.
fn say(
    rows: &mut Rows<'_>,
    severity: Severity,
    code: &'static str,
    packet_id: Option<i64>,
    offset: u64,
    text: String,
) {
    let message = Message {
        severity,
        code,
        packet_id,
        offset: Some(offset),
        size: None,
        text,
    };
    message.push(rows);
}
