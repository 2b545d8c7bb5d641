//! The memory mappings of processes: smaps (rules SM).

use timebase_schema::fields::{
    packed_smaps as packed, smaps_entry as entry, smaps_packet as field,
};
use timebase_schema::tables::smaps_record;

use super::faults::SMAPS;
use super::packet::Packet;
use crate::message::{Message, text};
use crate::output::Cell;
use crate::trackers::tracker::TrackerContext;
use crate::world::Upid;

/// Takes a packet.
pub(super) fn packet(packet: &Packet<'_>, at: &mut TrackerContext<'_, '_>) {
    let message = packet.message();
    let pid = message.small(field::PID).unwrap_or(0);
    let machine = packet.writer.machine;
    let upid = at.world.threads.process(machine, pid.into());
    match message.bytes(field::PACKED_ENTRIES) {
        Some(packed) => {
            if !Packed::read(Message(packed)).rows(packet.ts, upid, at) {
                at.world.faults.add(SMAPS, packet.event.packet);
            }
        }
        None => {
            for entry in message.messages(field::ENTRIES) {
                Entry::read(entry).push(packet.ts, upid, at);
            }
        }
    }
}

/// The number of columns with numbers, in both forms together.
const NUMBERS: usize = 12;

/// The fields of the columns with numbers in `SmapsEntry` (0: none) and in `PackedSmaps`, in the order of
/// [`Entry::numbers`]. First come the columns of both forms, then those of packed ones only.
const FIELDS: [(u32, u32); NUMBERS] = [
    (entry::SIZE_KB, packed::SIZE_KB),
    (entry::PRIVATE_DIRTY_KB, packed::PRIVATE_DIRTY_KB),
    (entry::SWAP_KB, packed::SWAP_KB),
    (entry::PRIVATE_CLEAN_RESIDENT_KB, packed::PRIVATE_CLEAN_KB),
    (entry::SHARED_DIRTY_RESIDENT_KB, packed::SHARED_DIRTY_KB),
    (entry::SHARED_CLEAN_RESIDENT_KB, packed::SHARED_CLEAN_KB),
    (entry::LOCKED_KB, packed::LOCKED_KB),
    (entry::PROPORTIONAL_RESIDENT_KB, packed::PSS_KB),
    (0, packed::RSS_KB),
    (0, packed::ANONYMOUS_KB),
    (0, packed::PSS_DIRTY_KB),
    (0, packed::SWAP_PSS_KB),
];

/// A mapping.
struct Entry<'a> {
    path: Option<&'a [u8]>,
    aggregate_count: u32,
    numbers: [u64; NUMBERS],
    /// The columns that only the plain form has.
    module: Message<'a>,
}

impl<'a> Entry<'a> {
    /// Reads an entry of the plain form (rule SM1).
    fn read(entry: Message<'a>) -> Self {
        let number = |(field, _): (u32, u32)| match field {
            0 => 0,
            field => entry.number(field).unwrap_or(0),
        };
        Entry {
            path: entry.bytes(entry::PATH),
            aggregate_count: 1,
            numbers: FIELDS.map(number),
            module: entry,
        }
    }

    fn push(&self, ts: i64, upid: Upid, at: &mut TrackerContext<'_, '_>) {
        const DELETED: &str = " (deleted)";
        at.world.spans(&smaps_record::TABLE, ts, 0);
        let rows = &mut *at.rows;
        let id = rows.count(&smaps_record::TABLE);
        let path = self.path.map(text);
        let trimmed = path.as_deref().and_then(|path| path.strip_suffix(DELETED));
        let path_trimmed = rows.optional_text(trimmed.or(path.as_deref()));
        let [file_name, debug_id, debug_path] =
            [entry::FILE_NAME, entry::MODULE_DEBUGID, entry::MODULE_DEBUG_PATH]
                .map(|field| rows.optional_text(self.module.text(field).as_deref()));
        let number = |field| Cell::from(self.module.number(field).unwrap_or(0) as i64);
        let [
            size,
            private_dirty,
            swap,
            private_clean,
            shared_dirty,
            shared_clean,
            locked,
            proportional,
            rss,
            anonymous,
            pss_dirty,
            swap_pss,
        ] = self.numbers.map(|number| Cell::from(number as i64));
        rows.push(smaps_record::Row {
            id: Cell::from(id),
            upid: Cell::from(upid.0),
            ts: Cell::from(ts),
            path_trimmed,
            aggregate_count: Cell::from(self.aggregate_count),
            is_deleted: Cell::from(i64::from(trimmed.is_some())),
            size_kb: size,
            private_dirty_kb: private_dirty,
            swap_kb: swap,
            file_name,
            start_address: number(entry::START_ADDRESS),
            module_timestamp: number(entry::MODULE_TIMESTAMP),
            module_debugid: debug_id,
            module_debug_path: debug_path,
            protection_flags: Cell::from(
                self.module.small(entry::PROTECTION_FLAGS).unwrap_or(0) as i32
            ),
            private_clean_resident_kb: private_clean,
            shared_dirty_resident_kb: shared_dirty,
            shared_clean_resident_kb: shared_clean,
            locked_kb: locked,
            proportional_resident_kb: proportional,
            rss_kb: rss,
            anonymous_kb: anonymous,
            pss_dirty_kb: pss_dirty,
            swap_pss_kb: swap_pss,
        });
    }
}

/// Mappings column by column (rule SM3).
struct Packed<'a> {
    texts: Vec<&'a [u8]>,
    names: Vec<u64>,
    /// The number of mappings in each row; `None` if each row has one.
    counts: Option<Vec<u64>>,
    numbers: [Vec<u64>; NUMBERS],
}

impl<'a> Packed<'a> {
    fn read(packed: Message<'a>) -> Self {
        let has_counts = packed.fields().any(|(number, _)| number == packed::AGGREGATE_COUNT);
        Packed {
            texts: packed.each(packed::STRING_TABLE).collect(),
            names: packed.numbers(packed::NAME_ID).collect(),
            counts: has_counts.then(|| packed.numbers(packed::AGGREGATE_COUNT).collect()),
            numbers: FIELDS.map(|(_, field)| packed.numbers(field).collect()),
        }
    }

    /// The lengths of the columns that decide where rows end. Without counts, each row has a name.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let first = self.counts.as_ref().unwrap_or(&self.names).len();
        let others = self.numbers.iter().map(Vec::len);
        let others = others.filter(|&length| length > 0);
        std::iter::once(first).chain(others)
    }

    /// Makes the rows; returns whether all columns are correct.
    fn rows(&self, ts: i64, upid: Upid, at: &mut TrackerContext<'_, '_>) -> bool {
        let shortest = self.lengths().min().unwrap_or(0);
        let mut made = 0;
        let mut is_named = true;
        for row in 0..shortest {
            let name = match &self.counts {
                Some(_) => Some(row),
                None => {
                    let name = self.names.get(row).copied().unwrap_or(0) as u32;
                    usize::try_from(name).ok()
                }
            };
            let path = name.and_then(|name| self.texts.get(name)).copied();
            if path.is_none() {
                is_named = false;
                break;
            }
            let count = self.counts.as_ref().and_then(|counts| counts.get(row));
            let entry = Entry {
                path,
                aggregate_count: count.map_or(1, |&count| count as u32),
                numbers: std::array::from_fn(|column| {
                    let column = self.numbers.get(column);
                    let value = column.and_then(|column| column.get(row));
                    value.copied().unwrap_or(0)
                }),
                module: Message(&[]),
            };
            entry.push(ts, upid, at);
            made = row.saturating_add(1);
        }
        let has_more = self.lengths().any(|length| length > made);
        let is_odd = self.counts.is_some() && (!self.names.is_empty() || made != self.texts.len());
        is_named && !has_more && !is_odd
    }
}
