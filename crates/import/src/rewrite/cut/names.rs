//! The interned names and callstacks that no packet of the new trace has needed yet (rule CT3).
//!
//! # Design
//!
//! An entry waits until a packet that stays refers to it, and is written before that packet, with the entries that it
//! refers to. So one pass is enough, and memory holds only the places of entries in the spool. The alternative was to
//! collect all references in a pass before, and to keep them for each interval of each sequence.
//!
//! Only tables wait of which all users are known. If a packet may refer to more than what is read here, all entries are
//! written before it.

use std::io;

use rustc_hash::FxHashMap;
use timebase_descriptor::field::Value;
use timebase_schema::fields::{
    callstack, debug_annotation, frame, interned_data as table, mapping, perf_sample, stack_sample,
    streaming_profile_packet, track_event, track_event_legacy_event as legacy_event,
};
use timebase_trace::wire::packet::{Header, PacketType};

use crate::message::Message;
use crate::rewrite::cut::spool::{Piece, Spool};

/// The field of an entry with its number.
const IID: u32 = 1;

/// The extensions of track events, which may refer to anything.
const FIRST_EXTENSION: u32 = 1000;

/// The tables whose entries wait.
const TABLES: [u32; 12] = [
    table::EVENT_CATEGORIES,
    table::EVENT_NAMES,
    table::DEBUG_ANNOTATION_NAMES,
    table::DEBUG_ANNOTATION_VALUE_TYPE_NAMES,
    table::DEBUG_ANNOTATION_STRING_VALUES,
    table::CALLSTACKS,
    table::FRAMES,
    table::FUNCTION_NAMES,
    table::SOURCE_PATHS,
    table::MAPPINGS,
    table::MAPPING_PATHS,
    table::BUILD_IDS,
];

/// An entry: its table, and its number.
type Entry = (u32, u64);

/// The entries that a packet refers to.
#[derive(Debug)]
pub(super) enum Uses {
    All,
    These(Vec<Entry>),
}

/// The entries of a sequence that wait.
#[derive(Debug, Default)]
pub(super) struct Names {
    waiting: FxHashMap<Entry, Piece>,
}

impl Names {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Lets an entry wait. Returns whether it is one that may; the first one of a number counts (rule E2).
    pub fn wait(&mut self, number: u32, value: Value<'_>, piece: Piece) -> bool {
        let Value::Bytes(entry) = value else {
            return false;
        };
        let iid = Message(entry).number(IID).filter(|_| TABLES.contains(&number));
        if let Some(iid) = iid {
            self.waiting.entry((number, iid)).or_insert(piece);
        }
        iid.is_some()
    }

    /// The places of the waiting entries that a packet needs, which do not wait any more.
    pub fn take(&mut self, uses: Uses, spool: &mut Spool) -> io::Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        match uses {
            Uses::All => {
                pieces.extend(self.waiting.drain().map(|(_, piece)| piece));
                pieces.sort_unstable_by_key(|piece| piece.start);
            }
            Uses::These(mut used) => {
                let mut bytes = Vec::new();
                while let Some(entry) = used.pop() {
                    let Some(piece) = self.waiting.remove(&entry) else {
                        continue;
                    };
                    bytes.clear();
                    spool.get(&piece, &mut bytes)?;
                    entries(&bytes, &mut used);
                    pieces.push(piece);
                }
            }
        }
        Ok(pieces)
    }
}

impl Uses {
    pub const NONE: Uses = Uses::These(Vec::new());

    /// The entries that a packet refers to, in its payload and in its own interned data. An entry of the packet also needs
    /// an earlier one of its number, which counts instead (rule E2).
    pub fn of(header: &Header<'_>) -> Uses {
        let mut used = Vec::new();
        if let Some(interned) = header.interned_data {
            let own = entries(interned, &mut used);
            used.extend(own);
        }
        let Some((kind, payload)) = header.payload else {
            return Uses::These(used);
        };
        let message = Message(payload);
        let stacks = match kind {
            PacketType::TRACK_DESCRIPTOR => return Uses::These(used),
            PacketType::TRACK_EVENT => {
                if message.fields().any(|(number, _)| number >= FIRST_EXTENSION) {
                    return Uses::All;
                }
                of_event(message, &mut used);
                track_event::CALLSTACK_IID
            }
            PacketType::PERF_SAMPLE => perf_sample::CALLSTACK_IID,
            PacketType::STACK_SAMPLE => stack_sample::CALLSTACK_IID,
            PacketType::STREAMING_PROFILE_PACKET => streaming_profile_packet::CALLSTACK_IID,
            _ => return Uses::All,
        };
        used.extend(message.numbers(stacks).map(|iid| (table::CALLSTACKS, iid)));
        Uses::These(used)
    }
}

/// Adds what the entries of interned data refer to, and returns those that may wait.
fn entries(interned: &[u8], used: &mut Vec<Entry>) -> Vec<Entry> {
    let mut found = Vec::new();
    for (number, value) in Message(interned).fields() {
        if let Value::Bytes(entry) = value
            && TABLES.contains(&number)
        {
            of_entry(number, Message(entry), used);
            found.extend(Message(entry).number(IID).map(|iid| (number, iid)));
        }
    }
    found
}

/// Adds what an entry refers to.
fn of_entry(number: u32, entry: Message<'_>, used: &mut Vec<Entry>) {
    let mut refer = |field: u32, to: u32| used.extend(entry.numbers(field).map(|iid| (to, iid)));
    match number {
        table::CALLSTACKS => refer(callstack::FRAME_IDS, table::FRAMES),
        table::FRAMES => {
            refer(frame::FUNCTION_NAME_ID, table::FUNCTION_NAMES);
            refer(frame::SOURCE_PATH_IID, table::SOURCE_PATHS);
            refer(frame::MAPPING_ID, table::MAPPINGS);
        }
        table::MAPPINGS => {
            refer(mapping::PATH_STRING_IDS, table::MAPPING_PATHS);
            refer(mapping::BUILD_ID, table::BUILD_IDS);
        }
        _ => {}
    }
}

/// Adds the names that a track event refers to.
fn of_event(event: Message<'_>, used: &mut Vec<Entry>) {
    let mut refer = |message: Message<'_>, field: u32, to: u32| {
        used.extend(message.numbers(field).map(|iid| (to, iid)));
    };
    refer(event, track_event::CATEGORY_IIDS, table::EVENT_CATEGORIES);
    refer(event, track_event::NAME_IID, table::EVENT_NAMES);
    for legacy in event.each(track_event::LEGACY_EVENT).map(Message) {
        refer(legacy, legacy_event::NAME_IID, table::EVENT_NAMES);
    }
    let mut annotations: Vec<&[u8]> = event.each(track_event::DEBUG_ANNOTATIONS).collect();
    while let Some(annotation) = annotations.pop().map(Message) {
        refer(annotation, debug_annotation::NAME_IID, table::DEBUG_ANNOTATION_NAMES);
        let (texts, types) =
            (debug_annotation::STRING_VALUE_IID, debug_annotation::PROTO_TYPE_NAME_IID);
        refer(annotation, texts, table::DEBUG_ANNOTATION_STRING_VALUES);
        refer(annotation, types, table::DEBUG_ANNOTATION_VALUE_TYPE_NAMES);
        annotations.extend(annotation.each(debug_annotation::DICT_ENTRIES));
        annotations.extend(annotation.each(debug_annotation::ARRAY_VALUES));
    }
}
