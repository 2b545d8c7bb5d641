//! What happens to every packet, around what its reader makes of it.

mod survey;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::ControlFlow;

use prost::Message as _;
use timebase_resolver::{ClockId, Unresolved, builtin_name};
use timebase_schema::{Table, tables};
use timebase_sort::Scratch;
use timebase_trace::{Counts, End, Found, Packets, Payload, RawPacket, Region, Unreadable};
use timebase_wire::packet::{Header, PacketType};
use timebase_wire::proto::TracePacketDefaults;

use crate::damaged::{Damaged, cut};
use crate::facts::Facts;
use crate::limits::Watch;
use crate::output::{
    Cell, Fact, Faults, Journal, Message, NOT_INTERNED, PacketRow, RowType, Rows, SettledRows,
    Severity,
};
use crate::place::{
    Accepted, Place, Placement, SequenceIx, Settled, Snapshot, Taken, TraceTime, Whole, called,
};
use crate::readers::{Corrupt, Desk, Latest, Packet, PacketSchema, Parsed, Part, Readers, Writers};
use crate::subjects::Wanted;
use crate::timeline::Timeline;
use crate::trackers;

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
    pub place: Place,
    pub journal: Journal,
    /// What the stream of packets has counted.
    pub counts: Counts,
    /// What of it held no packets.
    pub damage: Damaged,
    /// How many packets there are that no reader takes, by their type.
    unread: BTreeMap<u32, u64>,
    /// How many there are that one does.
    pub read: u64,
    readers: Readers,
    schema: PacketSchema,
    timeline: Timeline,
    facts: Facts,
    latest: Latest,
    writers: Writers,
    faults: Faults,
    /// The event that is being made.
    event: Vec<u8>,
    keep: Keep,
    scratch: Scratch,
    watch: Watch,
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
        "interned data is left out that comes when the state of its sequence is lost",
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
        // Where the trace does not tell, the fact is that it does not.
        journal.state("trace_uuid", Fact::Null);
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
            place: Place::new(&Readers::interned(), scratch, whole),
            journal,
            counts: Counts::default(),
            damage: Damaged::default(),
            unread: BTreeMap::new(),
            read: 0,
            readers: Readers::default(),
            schema,
            timeline: Timeline::new(keep.events.follows(), scratch),
            facts: Facts::default(),
            latest: Latest::default(),
            writers: Writers::new(scratch),
            faults: Faults::default(),
            event: Vec::new(),
            keep,
            scratch: scratch.clone(),
            watch,
        }
    }

    /// Reads a whole trace: packets in file order; then what waited for a
    /// snapshot; then events in the order of time. Tells how the trace ended, and what
    /// is to be changed of rows that waited.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
    pub fn run(&mut self, input: impl Read, rows: &mut Rows<'_>) -> io::Result<(End, SettledRows)> {
        self.schema.begin(rows);
        let mut packets = Packets::new(input);
        let mut watched = Ok(());
        let end = packets.for_each(|found| {
            let mut payload = Payload::Sound;
            watched = self.watch.after(found.size());
            match found {
                Found::Packet(packet) => payload = self.packet(packet, rows),
                Found::Unreadable(raw, why) => self.unreadable(raw, &why, rows),
                Found::Region { region, carrier } => self.region(region, carrier, rows),
                Found::Nested { offset } => {
                    let code = "nested_compression";
                    let text = "a compressed packet inside a compressed packet was skipped";
                    say(rows, Severity::Error, code, None, offset, text.into());
                }
            }
            match rows.stopped() || watched.is_err() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(payload),
            }
        });
        watched?;
        self.counts = packets.counts();
        let mut settled = SettledRows::new(&self.scratch);
        if !matches!(end, End::Stopped) {
            self.writers
                .release(&self.facts.uuids, &mut self.timeline, &mut self.faults)?;
            self.settle(&mut settled, rows)?;
            let (readers, mut desk) = self.desk(rows);
            readers.end(&mut desk);
            rows.complete(&MADE_WHILE_READING, self.journal.waiting());
            if self.timeline.is_wanted() {
                self.settle_begins();
                let nothing = Timeline::new(false, &self.scratch);
                let timeline = std::mem::replace(&mut self.timeline, nothing);
                let mut facts = std::mem::take(&mut self.facts);
                facts.schema = self.schema.known();
                let interned = self.place.take_interned();
                let faults = trackers::follow(
                    timeline,
                    facts,
                    interned,
                    &self.scratch,
                    &mut self.watch,
                    rows,
                )?;
                self.faults.join(faults);
            }
            std::mem::take(&mut self.faults).tell(&mut self.journal, rows);
            rows.hand_over();
        }
        let end = match rows.stopped() {
            true => End::Stopped,
            false => end,
        };
        Ok((end, settled))
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

    fn desk<'d, 'o>(&'d mut self, rows: &'d mut Rows<'o>) -> (&'d mut Readers, Desk<'d, 'o>) {
        let desk = Desk {
            place: &mut self.place,
            rows,
            journal: &mut self.journal,
            schema: &mut self.schema,
            timeline: &mut self.timeline,
            facts: &mut self.facts,
            latest: &mut self.latest,
            writers: &mut self.writers,
            faults: &mut self.faults,
            event: &mut self.event,
            wanted: &self.keep.events,
        };
        (&mut self.readers, desk)
    }

    /// A packet becomes a row, and its reader makes of its payload what is to be
    /// made.
    #[inline]
    fn packet(&mut self, packet: &timebase_trace::Packet<'_>, rows: &mut Rows<'_>) -> Payload {
        let header = &packet.header;
        let id = rows.count(&tables::packet::TABLE);
        let (default_clock, defaults) = defaults(header);
        let sequence = self.place.enter(header, default_clock);
        let fits = Corrupt::size(packet.bytes);
        let interned = match header.interned_data.filter(|_| fits.is_ok()) {
            Some(data) => self.intern(id, sequence, data),
            None => fits,
        };
        self.shares(header, sequence);
        let parsed = defaults.and(interned).and_then(|()| Parsed::of(header));

        let taken = match &parsed {
            Ok(parsed) => parsed
                .snapshot(header)
                .map(|snapshot| self.snapshot(&snapshot, id, packet.offset, sequence, rows)),
            Err(_) => None,
        };
        let machine = self.machine(header);
        if self.needs_bridge(header, &parsed, machine)
            && let Some(assumed) = self.place.bridge(header.machine_id)
        {
            self.snapshot(&assumed, id, packet.offset, sequence, rows);
        }
        let placement = self.place(id, header, sequence, taken);
        if self.damage.is_any() {
            self.unsure(id, header, sequence, &placement, rows);
        }
        let is_read = parsed.is_ok();
        let payload = verdict(&parsed);
        match parsed {
            Ok(Parsed::Unread) => {
                if let Some(PacketType(number)) = header.packet_type()
                    && !OF_THE_RECORDING.contains(&number)
                {
                    *self.unread.entry(number).or_default() += 1;
                }
            }
            Ok(parsed) => {
                self.read += 1;
                let packet = Packet {
                    id,
                    offset: packet.offset,
                    header,
                    interval: self.place.interval(sequence),
                    placement,
                    machine,
                    valid: self.place.is_valid(sequence),
                    lost: self.place.lost(sequence),
                    latest: self.latest.of(machine),
                };
                let (readers, mut desk) = self.desk(rows);
                readers.read(parsed, &packet, &mut desk);
            }
            Err(corrupt) => {
                let text = format!("the packet's payload cannot be read: {corrupt}");
                let (severity, offset) = (Severity::Error, packet.offset);
                if corrupt.is_damage() {
                    self.journal.count(counter::PAYLOADS_CORRUPT, 1);
                    let code = "corrupt_payload";
                    say(rows, severity, code, Some(id), offset, text);
                } else {
                    self.journal.count(counter::PAYLOADS_TOO_LARGE, 1);
                    let code = "payload_too_large";
                    say(rows, severity, code, Some(id), offset, text);
                }
            }
        }
        if let Some(ts) = placement.ts {
            let read = header.packet_type().filter(|_| is_read);
            self.seen(read, machine, ts);
        }
        self.note(&placement, id, packet.offset, header, rows);
        rows.packet(
            PacketRow {
                id,
                row_type: header.packet_type().map_or(RowType::None, RowType::Payload),
                timestamp: header.timestamp,
                placement,
                seq_id: header.trusted_packet_sequence_id,
                machine_id: header.machine_id,
                uid: header.trusted_uid,
                pid: header.trusted_pid,
                offset: packet.offset,
                size: packet.bytes.len() as u64,
                data: 0..0,
            },
            self.keep.data.then_some(packet.bytes),
        );
        payload
    }

    /// Takes in what the packet gives numbers to, unless the sequence's state cannot be
    /// trusted (rule E2).
    fn intern(&mut self, id: i64, sequence: SequenceIx, data: &[u8]) -> Result<(), Corrupt> {
        if !self.place.is_valid(sequence) {
            self.faults.add(counter::INTERNED_SKIPPED, id);
            return Ok(());
        }
        let nameless = self.place.intern(sequence, data)?;
        self.faults.add_many(NOT_INTERNED, id, nameless);
        Ok(())
    }

    /// What a packet says for the track events of its sequence (rules E3, U9).
    #[inline]
    fn shares(&mut self, header: &Header<'_>, sequence: SequenceIx) {
        if header.trusted_packet_sequence_id == 0 || !self.timeline.is_wanted() {
            return;
        }
        if let Some(defaults) = header.trace_packet_defaults {
            let part = Part {
                interval: self.place.interval(sequence),
                lost: self.place.lost(sequence),
            };
            self.writers.defaults(part, defaults);
        }
        if header.first_packet_on_sequence {
            self.facts.first_packets.insert(sequence.0);
        }
    }

    /// The row of a packet's machine (rule H1).
    #[inline]
    fn machine(&mut self, header: &Header<'_>) -> u32 {
        match header.packet_type() {
            Some(PacketType::SYNCHRONIZATION_MARKER) => 0,
            _ => self.facts.machines.see(header.machine_id),
        }
    }

    /// Rule X26: whether a packet is the first of its machine of which a time is
    /// converted.
    #[inline]
    fn needs_bridge(
        &mut self,
        header: &Header<'_>,
        parsed: &Result<Parsed<'_>, Corrupt>,
        machine: u32,
    ) -> bool {
        let known = self.facts.machines.get_mut(machine);
        let Some(machine) = known.filter(|machine| !machine.is_bridged) else {
            return false;
        };
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        machine.is_bridged = header.timestamp.is_some() && !is_snapshot
            || parsed.as_ref().is_ok_and(|parsed| parsed.converts(header));
        machine.is_bridged
    }

    /// A packet's time counts for those that have none (rule O2): as an event of all
    /// machines, or as a packet of its own where the events are inside of it and could be
    /// read.
    #[inline]
    fn seen(&mut self, packet_type: Option<PacketType>, machine: u32, ts: TraceTime) {
        match packet_type {
            Some(PacketType::CLOCK_SNAPSHOT | PacketType::SERVICE_EVENT) => {}
            Some(PacketType::FTRACE_EVENTS | PacketType::ANDROID_LOG | PacketType::POWER_RAILS) => {
                self.latest.packet(machine, ts);
            }
            _ => self.latest.event(ts),
        }
    }

    /// Places a packet, once.
    #[inline]
    fn place(
        &mut self,
        id: i64,
        header: &Header<'_>,
        sequence: SequenceIx,
        taken: Option<(Taken, i64)>,
    ) -> Placement {
        let is_snapshot = header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        match taken {
            Some((taken, first_row)) if is_snapshot => self
                .place
                .snapshot_packet(id, header, sequence, &taken, first_row),
            Some((Taken::Accepted(accepted), first_row)) => {
                self.place.pair_waits(first_row, &accepted);
                self.place.packet(id, header, sequence)
            }
            _ => self.place.packet(id, header, sequence),
        }
    }

    /// A snapshot is taken, and its readings are rows. Tells what became of it, and
    /// the first of the rows.
    fn snapshot(
        &mut self,
        snapshot: &Snapshot,
        id: i64,
        offset: u64,
        sequence: SequenceIx,
        rows: &mut Rows<'_>,
    ) -> (Taken, i64) {
        let first_row = rows.count(&tables::clock_snapshot::TABLE);
        let taken = self.place.snapshot(snapshot, sequence);
        match &taken {
            Taken::Accepted(accepted) => {
                readings(accepted, snapshot, id, rows);
                if let Some(clock) = accepted.ignored_primary {
                    let text = format!(
                        "primary_trace_clock {clock} is ignored: times were converted to {} before \
                         it, or it cannot be trace time",
                        self.place.trace_time()
                    );
                    let code = "primary_clock_ignored";
                    say(rows, Severity::Warning, code, Some(id), offset, text);
                }
            }
            Taken::Rejected(rejected) => {
                self.journal.count(counter::SNAPSHOTS_REJECTED, 1);
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
            self.journal.packets_on_trace_time += 1;
            return;
        }
        let Some(reason) = placement.unresolved else {
            if header.timestamp.is_none() {
                self.journal.count(counter::PACKETS_WITHOUT_TIMESTAMP, 1);
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
            self.journal.waits(table);
        } else {
            self.journal.unplaced(table, reason);
        }
    }

    /// Rule F7: bytes that are no packet are kept as they are.
    fn unreadable(&mut self, raw: RawPacket<'_>, why: &Unreadable, rows: &mut Rows<'_>) {
        let id = rows.count(&tables::packet::TABLE);
        self.journal.count(counter::PACKETS_CORRUPT, 1);
        let (code, text) = ("corrupt_packet", why.to_string());
        say(rows, Severity::Error, code, Some(id), raw.offset, text);
        rows.packet(
            PacketRow {
                id,
                row_type: RowType::Corrupt,
                timestamp: None,
                placement: Placement::default(),
                seq_id: 0,
                machine_id: 0,
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
        self.journal.count(counter::DAMAGED_REGIONS, 1);
        self.journal.count(counter::DAMAGED_BYTES, region.size);
        let is_cut = region.why.is_cut();
        let why = region.why.to_string();
        let packets = rows.count(&tables::packet::TABLE).unsigned_abs();
        let text = match (carrier, is_cut) {
            (Some(_), _) => format!("{why}, in what a compressed packet holds"),
            (None, true) => cut(&why, packets),
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
        sequence: SequenceIx,
        placement: &Placement,
        rows: &mut Rows<'_>,
    ) {
        if header.trusted_packet_sequence_id == 0 {
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
        let is_delta = read.is_some_and(|clock| self.place.is_incremental(header, clock));
        let is_named = header.needs_state() && self.place.is_valid(sequence);
        if is_delta || is_named {
            self.journal.count(counter::UNSURE_PACKETS, 1);
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
        for machine in self.facts.machines.iter_mut() {
            for (clock, begins) in std::mem::take(&mut machine.unplaced_begins) {
                let clock = self.place.event_clock(Some(clock));
                if let Ok(ts) = self.place.event(&clock, begins) {
                    machine.begins(ts);
                }
            }
        }
    }

    /// Rule D2, when all snapshots are there.
    fn settle(&mut self, changed: &mut SettledRows, rows: &mut Rows<'_>) -> io::Result<()> {
        let Frame {
            place,
            journal,
            timeline,
            readers,
            scratch,
            writers,
            faults,
            facts,
            ..
        } = self;
        place.settle(scratch, |settled| {
            let packets = &tables::packet::TABLE;
            match &settled {
                Settled::Reading { .. } => {}
                Settled::Snapshot { result: Ok(_), .. } | Settled::Packet { result: Ok(_), .. } => {
                    journal.packets_on_trace_time += 1;
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
                // What a packet is for the timeline; its row waits by itself.
                Settled::Event(event) if event.row.table.number == packets.number => {
                    if let Ok(ts) = event.result {
                        writers.settled(event.event, ts, &facts.uuids, timeline, faults)?;
                    }
                    return Ok(());
                }
                Settled::Event(event) => {
                    match event.result {
                        Ok(ts) if !event.event.is_empty() => timeline.push(ts, event.event),
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

/// The rows of a snapshot that was accepted.
fn readings(accepted: &Accepted, snapshot: &Snapshot, packet: i64, rows: &mut Rows<'_>) {
    let readings = accepted.readings.iter().zip(&accepted.times);
    for ((reading, ts), recorded) in readings.zip(snapshot.recorded()) {
        let clock = reading.clock;
        let id = rows.count(&tables::clock_snapshot::TABLE);
        let clock_name = rows.optional_text(clock_name(clock.id));
        rows.push(tables::clock_snapshot::Row {
            id: Cell::from(id),
            ts: Cell::or_null(ts.map(|TraceTime(ts)| ts)),
            clock_id: Cell::from(clock.id.get()),
            clock_name,
            clock_value: Cell::from(reading.value),
            snapshot_id: Cell::from(accepted.id.0),
            machine_id: Cell::from(clock.machine.0),
            packet_id: Cell::from(packet),
            seq_id: Cell::from(clock.seq.0),
            timestamp: Cell::from(recorded.0),
            unit_multiplier_ns: Cell::from(reading.unit),
            is_incremental: Cell::from(i64::from(reading.incremental)),
            source: Cell::from(snapshot.source() as u8),
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
