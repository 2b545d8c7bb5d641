//! The open file, and the result of a file after it was read.

use timebase_resolver::FileTag;
use timebase_schema::tables;
use timebase_trace::{Damage, Packet, RawPacket, Region, Unreadable};

use super::counters;
use crate::damaged::{Around, Damaged, cut, unread_packet};
use crate::joined::Recordings;
use crate::manifest::MemberRules;
use crate::output::{Cell, Journal, LogMessage, Loss, PacketRow, RowType, Rows, Severity};
use crate::place::{IncomingPacket, Place, Placement};
use crate::summary::LossKind;

/// The file that the import reads now.
#[derive(Default)]
pub(super) struct OpenFile {
    /// Its row in `trace_file`.
    pub id: u32,
    pub rules: MemberRules,
    /// The `machine_id` of the last packet, the row of that machine, and whether it is the host.
    pub last_machine: Option<(u32, u32, bool)>,
    /// The times around its damage.
    pub around: Around,
    /// Its bytes that hold no packets.
    damage: Damaged,
    /// The recordings that it consists of.
    recordings: Recordings,
    /// The number of packets before this file, and the number of sequences.
    before: i64,
    sequences_before: u32,
    /// The counters of damage before this file.
    counted: Counted,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl OpenFile {
    /// Opens a file.
    pub fn new(
        file: FileTag,
        rules: MemberRules,
        sequences_before: u32,
        journal: &Journal,
        rows: &Rows<'_>,
    ) -> Self {
        OpenFile {
            id: file.id,
            rules,
            last_machine: None,
            around: Around::default(),
            damage: Damaged::default(),
            recordings: Recordings::default(),
            before: rows.count(&tables::packet_record::TABLE),
            sequences_before,
            counted: Counted::of(journal),
            warnings: Vec::new(),
        }
    }

    /// The number of a packet within the file.
    #[inline]
    pub fn number(&self, id: i64) -> i64 {
        id.saturating_sub(self.before)
    }

    /// Looks for the begin of a second recording (rule X45).
    #[inline]
    pub fn belongs(&mut self, packet: &Packet<'_>, incoming: &IncomingPacket<'_>) {
        let number = self.number(incoming.id).unsigned_abs();
        let sequence = incoming.sequence.0.saturating_sub(self.sequences_before);
        self.recordings.packet(packet, number, sequence);
    }

    /// Logs the begin of a second recording.
    fn joined(&self, rows: &mut Rows<'_>) {
        if let Some(begin) = self.recordings.second(true) {
            let text = self.recordings.text(begin);
            let packet = self.before.saturating_add_unsigned(begin.packet);
            LogMessage::new(Severity::Warning, "recordings_joined", text)
                .of_packet(packet, begin.offset)
                .push(rows);
        }
    }

    /// Whether the file had damage until now.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.damage.is_any()
    }

    /// Rule F7: writes a row for bytes that are no packet; `keeps_data` says whether the row has the bytes.
    pub fn unreadable(
        &mut self,
        raw: RawPacket<'_>,
        why: &Unreadable,
        keeps_data: bool,
        journal: &mut Journal,
        rows: &mut Rows<'_>,
    ) {
        let code = "corrupt_packet";
        self.corrupt(raw, (code, &why.to_string()), keeps_data, journal, rows);
    }

    /// Writes a row for bytes that are no packet or record, and logs it with a code and a text.
    pub fn corrupt(
        &mut self,
        raw: RawPacket<'_>,
        (code, why): (&'static str, &str),
        keeps_data: bool,
        journal: &mut Journal,
        rows: &mut Rows<'_>,
    ) {
        let id = rows.count(&tables::packet_record::TABLE);
        journal.count(counters::PACKETS_CORRUPT, 1);
        LogMessage::new(Severity::Error, code, why.to_owned()).of_packet(id, raw.offset).push(rows);
        let around = &mut self.around;
        around.damaged(around.last(), unread_packet(id, None), rows);
        rows.packet(
            PacketRow {
                id,
                row_type: RowType::Corrupt,
                timestamp: None,
                placement: Placement::default(),
                seq_id: 0,
                machine: 0,
                file: self.id,
                number: self.number(id),
                uid: None,
                pid: None,
                offset: raw.offset,
                size: raw.bytes.len() as u64,
                data: 0..0,
            },
            keeps_data.then_some(raw.bytes),
        );
    }

    /// Rule Z1: logs a region without packets.
    pub fn region(
        &mut self,
        region: &Region,
        carrier: Option<u64>,
        journal: &mut Journal,
        rows: &mut Rows<'_>,
    ) {
        let log = rows.count(&tables::import_log::TABLE) + 1;
        self.damage.add(region, carrier, log);
        journal.count(counters::DAMAGED_REGIONS, 1);
        journal.count(counters::DAMAGED_BYTES, region.size);
        let around = &mut self.around;
        around.damaged(around.last(), Loss::new(LossKind::Damage), rows);
        let is_cut = region.why.is_cut();
        let why = region.why.to_string();
        let packets = rows.count(&tables::packet_record::TABLE) - self.before;
        let text = match (carrier, is_cut) {
            (Some(_), _) => format!("{why}, inside a compressed packet"),
            (None, true) => cut(&why, packets.unsigned_abs()),
            (None, false) => why,
        };
        let is_text = matches!(region.why, Damage::Text { .. });
        let (severity, code) = match (is_cut, is_text) {
            (true, false) => (Severity::Warning, "cut"),
            (false, false) => (Severity::Error, "damaged"),
            (true, true) => (Severity::Warning, "json_cut"),
            (false, true) => (Severity::Error, "json_damaged"),
        };
        let message = LogMessage {
            offset: Some(carrier.unwrap_or(region.offset)),
            size: Some(region.size),
            ..LogMessage::new(severity, code, text)
        };
        message.push(rows);
    }

    /// Rule Z8: writes a row if the packet may rely on lost state.
    pub fn unsure(
        &mut self,
        packet: &IncomingPacket<'_>,
        placement: &Placement,
        place: &Place,
        journal: &mut Journal,
        rows: &mut Rows<'_>,
    ) {
        let (header, sequence) = (packet.header, packet.sequence);
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
        let clocks = &place.clocks;
        let is_delta = read.is_some_and(|clock| clocks.is_incremental(header, packet.part, clock));
        let is_named = header.needs_state() && place.sequences[sequence].is_valid();
        if is_delta || is_named {
            journal.count(counters::UNSURE_PACKETS, 1);
            rows.push(tables::unsure_record::Row {
                packet_id: Cell::from(packet.id),
                time: Cell::from(i64::from(is_delta)),
                names: Cell::from(i64::from(is_named)),
                log_id: Cell::from(log),
            });
        }
    }

    /// Ends the file, and returns its result.
    pub fn close(&mut self, journal: &Journal, rows: &mut Rows<'_>) -> ReadFile {
        self.around.close(None, rows);
        self.joined(rows);
        self.recordings = Recordings::default();
        let packets = self.number(rows.count(&tables::packet_record::TABLE));
        ReadFile {
            packets: packets.unsigned_abs(),
            damage: std::mem::take(&mut self.damage),
            counted: Counted::of(journal).since(self.counted),
            warnings: std::mem::take(&mut self.warnings),
        }
    }
}

/// Counters of the damage of a trace.
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
            packets_corrupt: journal.counter(counters::PACKETS_CORRUPT),
            payloads_corrupt: journal.counter(counters::PAYLOADS_CORRUPT),
            damaged_regions: journal.counter(counters::DAMAGED_REGIONS),
            damaged_bytes: journal.counter(counters::DAMAGED_BYTES),
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

/// The result of reading a file.
#[derive(Debug, Default)]
pub(crate) struct ReadFile {
    pub packets: u64,
    pub damage: Damaged,
    pub counted: Counted,
    /// Warnings for the user that its format has, in addition to those of damage.
    pub warnings: Vec<String>,
}

impl ReadFile {
    /// Whether no packet was readable, or the file begins with damage.
    pub fn is_doubtful(&self) -> bool {
        self.is_unread() || self.damage.is_at_begin()
    }

    /// Whether no packet was readable.
    pub fn is_unread(&self) -> bool {
        let Counted { packets_corrupt, payloads_corrupt, .. } = self.counted;
        self.packets == packets_corrupt.saturating_add(payloads_corrupt)
    }
}
