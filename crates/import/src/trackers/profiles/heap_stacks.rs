//! Callstacks inside the dumps of heap profiles, as in those of Android 10 (rule HP8).

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    callstack, frame, interned_string as entry, mapping, profile_packet as field,
};

use super::callstacks::{CallsiteId, Callstacks, FrameId, MappingId};
use super::faults::{EMPTY_CALLSTACK, INVALID_FRAME, INVALID_MAPPING, INVALID_STRING};
use super::packet::{LookUp, Packet, number};
use super::stacks::{build_id, new_mapping, trimmed};
use crate::message::{self, Message};
use crate::output::Rows;
use crate::timeline::Name;
use crate::trackers::tracker::TrackerContext;

/// The entries for numbers, until a packet that is not continued has been done.
#[derive(Debug, Default)]
pub(super) struct OwnStacks {
    /// The bytes of texts.
    strings: FxHashMap<u64, Box<[u8]>>,
    mappings: FxHashMap<u64, MappingId>,
    frames: FxHashMap<u64, FrameId>,
    callstacks: FxHashMap<u64, CallsiteId>,
}

impl OwnStacks {
    /// The state at the start of an interval: the text of number 0.
    pub fn first() -> Self {
        let strings = [(0, Box::default())].into_iter().collect();
        OwnStacks { strings, ..OwnStacks::default() }
    }

    /// The callsite for a number.
    pub fn stack(&self, iid: u64) -> Option<CallsiteId> {
        self.callstacks.get(&iid).copied()
    }

    /// Reads the entries of a packet.
    pub fn read(
        &mut self,
        packet: &Packet<'_>,
        callstacks: &mut Callstacks,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = packet.message();
        for string in message.messages(field::STRINGS) {
            let text = string.bytes(entry::STR).unwrap_or_default();
            let known = self.strings.entry(iid(string));
            known.or_insert_with(|| text.into());
        }
        let mut reading = Reading {
            own: self,
            callstacks,
            machine: packet.writer.machine,
            look_up: packet.look_up(at.world),
            rows: at.rows,
        };
        for mapping in message.messages(field::MAPPINGS) {
            reading.mapping(mapping);
        }
        for frame in message.messages(field::FRAMES) {
            reading.frame(frame);
        }
        for stack in message.messages(field::CALLSTACKS) {
            reading.callstack(stack);
        }
    }
}

fn iid(entry: Message<'_>) -> u64 {
    entry.number(entry::IID).unwrap_or(0)
}

struct Reading<'k, 'w, 'r> {
    own: &'k mut OwnStacks,
    callstacks: &'k mut Callstacks,
    machine: u32,
    look_up: LookUp<'w>,
    rows: &'k mut Rows<'r>,
}

impl Reading<'_, '_, '_> {
    fn string(&mut self, iid: u64) -> Option<&[u8]> {
        let found = self.own.strings.get(&iid);
        if found.is_none() {
            self.look_up.fault(INVALID_STRING);
        }
        found.map(AsRef::as_ref)
    }

    fn text(&mut self, iid: u64) -> Option<Name> {
        let found = self.own.strings.get(&iid);
        if found.is_none() {
            self.look_up.fault(INVALID_STRING);
        }
        found.map(|bytes| number(bytes, self.look_up.names))
    }

    fn mapping(&mut self, mapping: Message<'_>) {
        if self.own.mappings.contains_key(&iid(mapping)) {
            return;
        }
        let Some(raw) = self.string(mapping.number(mapping::BUILD_ID).unwrap_or(0)) else {
            return;
        };
        let raw = raw.to_vec();
        let mut path = String::new();
        for iid in mapping.numbers(mapping::PATH_STRING_IDS) {
            let Some(text) = self.string(iid) else { break };
            path.push('/');
            path += &message::text(text);
        }
        let names = &mut *self.look_up.names;
        // An empty build id differs from no build id (rule SY3).
        let build_id = build_id(Some(&raw), names).unwrap_or_else(|| names.number(b""));
        let name = names.number(trimmed(&path));
        let new = new_mapping(self.machine, mapping, Some(build_id), name);
        let id = self.callstacks.mapping(new, false, names, self.rows);
        self.own.mappings.insert(iid(mapping), id);
    }

    fn frame(&mut self, frame: Message<'_>) {
        if self.own.frames.contains_key(&iid(frame)) {
            return;
        }
        let mapping = frame.number(frame::MAPPING_ID).unwrap_or(0);
        let Some(&mapping) = self.own.mappings.get(&mapping) else {
            return self.look_up.fault(INVALID_MAPPING);
        };
        let Some(name) = self.text(frame.number(frame::FUNCTION_NAME_ID).unwrap_or(0)) else {
            return;
        };
        let key = (mapping, frame.number(frame::REL_PC).unwrap_or(0), Some(name));
        let names = &*self.look_up.names;
        let id = self.callstacks.frame(key, None, names, self.rows);
        self.own.frames.insert(iid(frame), id);
    }

    fn callstack(&mut self, stack: Message<'_>) {
        let Entry::Vacant(place) = self.own.callstacks.entry(iid(stack)) else {
            return;
        };
        let mut callsite = None;
        for (depth, iid) in stack.numbers(callstack::FRAME_IDS).enumerate() {
            let Some(&frame) = self.own.frames.get(&iid) else {
                return self.look_up.fault(INVALID_FRAME);
            };
            let parent = callsite;
            callsite = Some(self.callstacks.callsite(parent, depth, frame, self.rows));
        }
        match callsite {
            Some(callsite) => {
                place.insert(callsite);
            }
            None => self.look_up.fault(EMPTY_CALLSTACK),
        }
    }
}
