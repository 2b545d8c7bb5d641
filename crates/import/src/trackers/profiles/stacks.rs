//! Callstacks of interned data (rules CS1 to CS6, CS9, CS10), and their state in an interval.

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    callstack, frame, interned_data as interned, interned_string as entry, mapping,
};

use super::callstacks::{
    CallsiteId, Callstacks, FrameId, MappingId, NewMapping, Source, SymbolLine,
};
use super::faults::{
    EMPTY_CALLSTACK, INVALID_CALLSTACK, INVALID_FRAME, INVALID_MAPPING, INVALID_STRING,
};
use super::packet::{KnownThen, LookUp, number};
use crate::definitions::Names;
use crate::message::Message;
use crate::output::Rows;
use crate::timeline::Name;
use crate::trackers::tracker::TrackerContext;
use crate::world::Upid;

/// A number of interned data and the process that uses it, if the process is known.
type Used = (Option<Upid>, u64);

/// The state of stacks in an interval (rule OP4).
#[derive(Debug, Default)]
pub(super) struct KnownStacks {
    stacks: FxHashMap<Used, CallsiteId>,
    frames: FxHashMap<Used, FrameId>,
    mappings: FxHashMap<Used, MappingId>,
    dummy: Option<MappingId>,
}

/// The result of a lookup, because a number may have no entry.
type Looked<T> = Result<T, Unknown>;

/// An entry that a frame needs is missing.
#[derive(Debug)]
struct Unknown;

impl KnownStacks {
    /// The callsite for a number (rules CS1, CS2).
    pub fn stack(
        &mut self,
        used: Used,
        then: KnownThen,
        callstacks: &mut Callstacks,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<CallsiteId> {
        if let Some(&known) = self.stacks.get(&used) {
            return Some(known);
        }
        let (upid, iid) = used;
        let mut resolving = Resolving {
            known: self,
            callstacks,
            machine: then.machine,
            upid,
            look_up: then.look_up(at.world),
            rows: at.rows,
        };
        let found = resolving.stack(iid);
        if let Some(found) = found {
            self.stacks.insert(used, found);
        }
        found
    }
}

/// A stack that is looked up for a packet.
struct Resolving<'k, 'w, 'r> {
    known: &'k mut KnownStacks,
    callstacks: &'k mut Callstacks,
    machine: u32,
    upid: Option<Upid>,
    look_up: LookUp<'w>,
    rows: &'k mut Rows<'r>,
}

impl<'w> Resolving<'_, 'w, '_> {
    fn stack(&mut self, iid: u64) -> Option<CallsiteId> {
        let Some(stack) = self.look_up.entry(interned::CALLSTACKS, iid) else {
            self.look_up.fault(INVALID_CALLSTACK);
            return None;
        };
        let mut callsite = None;
        for (depth, iid) in stack.numbers(callstack::FRAME_IDS).enumerate() {
            let frame = self.frame(iid).ok()?;
            let parent = callsite;
            callsite = Some(self.callstacks.callsite(parent, depth, frame, self.rows));
        }
        if callsite.is_none() {
            self.look_up.fault(EMPTY_CALLSTACK);
        }
        callsite
    }

    /// The frame for a number (rule CS4).
    fn frame(&mut self, iid: u64) -> Looked<FrameId> {
        let used = (self.upid, iid);
        if let Some(&known) = self.known.frames.get(&used) {
            return Ok(known);
        }
        let Some(frame) = self.look_up.entry(interned::FRAMES, iid) else {
            self.look_up.fault(INVALID_FRAME);
            return Err(Unknown);
        };
        let name = match frame.number(frame::FUNCTION_NAME_ID) {
            None | Some(0) => None,
            Some(iid) => self.text(interned::FUNCTION_NAMES, iid)?,
        };
        let source_iid = frame.number(frame::SOURCE_PATH_IID);
        let file = match source_iid {
            None => None,
            Some(0) => return Err(Unknown),
            Some(iid) => self.text(interned::SOURCE_PATHS, iid)?,
        };
        let line = frame.small(frame::LINE_NUMBER);
        let source = Source { file, line };
        let id = match frame.number(frame::MAPPING_ID) {
            None | Some(0) => self.in_dummy(SymbolLine { function: name, source }),
            Some(iid) => {
                let mapping = self.mapping(iid)?;
                let key = (mapping, frame.number(frame::REL_PC).unwrap_or(0), name);
                let says = source_iid.is_some() || line.is_some();
                let source = Some(source).filter(|_| says);
                let names = &*self.look_up.names;
                self.callstacks.frame(key, source, names, self.rows)
            }
        };
        if let Some(kind) = kind(frame) {
            let kind = number(kind, self.look_up.names);
            self.callstacks.is_of_kind(id, kind);
        }
        self.known.frames.insert(used, id);
        Ok(id)
    }

    /// The row of a frame without a mapping (rule CS10).
    fn in_dummy(&mut self, line: SymbolLine) -> FrameId {
        let names = &mut *self.look_up.names;
        let mapping = match self.known.dummy {
            Some(mapping) => mapping,
            None => self.callstacks.dummy(self.machine, "", names, self.rows),
        };
        self.known.dummy = Some(mapping);
        self.callstacks.dummy_frame(mapping, line, names, self.rows)
    }

    /// The mapping for a number (rule CS6).
    fn mapping(&mut self, iid: u64) -> Looked<MappingId> {
        let used = (self.upid, iid);
        if let Some(&known) = self.known.mappings.get(&used) {
            return Ok(known);
        }
        let Some(mapping) = self.look_up.entry(interned::MAPPINGS, iid) else {
            self.look_up.fault(INVALID_MAPPING);
            return Err(Unknown);
        };
        let mut path = String::new();
        for iid in mapping.numbers(mapping::PATH_STRING_IDS) {
            let Ok(text) = self.text(interned::MAPPING_PATHS, iid) else {
                break;
            };
            path.push('/');
            path += text.map_or("", |text| self.look_up.names.text(text));
        }
        let build_id = self.build_id(mapping.number(mapping::BUILD_ID))?;
        let names = &mut *self.look_up.names;
        let new = new_mapping(self.machine, mapping, build_id, names.number(trimmed(&path)));
        let callstacks = &mut *self.callstacks;
        let id = match callstacks.kernel(new, names, self.rows) {
            Some(kernel) => kernel,
            None => callstacks.mapping(new, self.upid.is_some(), names, self.rows),
        };
        self.known.mappings.insert(used, id);
        Ok(id)
    }

    /// The build id for a number (rule CS5).
    fn build_id(&mut self, iid: Option<u64>) -> Looked<Option<Name>> {
        let Some(iid) = iid.filter(|&iid| iid != 0) else {
            return Ok(None);
        };
        let entry = self.entry(interned::BUILD_IDS, iid)?;
        Ok(build_id(entry.bytes(entry::STR), self.look_up.names))
    }

    /// A text; `None` if its entry has no text.
    fn text(&mut self, field: u32, iid: u64) -> Looked<Option<Name>> {
        let entry = self.entry(field, iid)?;
        let names = &mut *self.look_up.names;
        Ok(entry.bytes(entry::STR).map(|text| number(text, names)))
    }

    /// The entry of a text.
    fn entry(&mut self, field: u32, iid: u64) -> Looked<Message<'w>> {
        self.look_up.entry(field, iid).ok_or_else(|| {
            self.look_up.fault(INVALID_STRING);
            Unknown
        })
    }
}

/// The contents of a `Mapping`.
pub(super) fn new_mapping(
    machine: u32,
    mapping: Message<'_>,
    build_id: Option<Name>,
    name: Name,
) -> NewMapping {
    let number = |field| mapping.number(field).unwrap_or(0);
    NewMapping {
        machine,
        build_id,
        exact_offset: number(mapping::EXACT_OFFSET),
        start_offset: number(mapping::START_OFFSET),
        start: number(mapping::START),
        end: number(mapping::END),
        load_bias: number(mapping::LOAD_BIAS),
        name,
    }
}

/// A path from its parts, with one `/` at its start if it has two.
pub(super) fn trimmed(path: &str) -> &[u8] {
    let path = if path.starts_with("//") { path.get(1..) } else { Some(path) };
    path.unwrap_or_default().as_bytes()
}

/// The text of a build id (rule CS5); `None` for an empty one.
pub(super) fn build_id(raw: Option<&[u8]>, names: &mut Names) -> Option<Name> {
    /// A Breakpad id has this length, and is a text.
    const MODULE_ID: usize = 33;
    let raw = raw.filter(|raw| !raw.is_empty())?;
    if raw.len() == MODULE_ID {
        return Some(number(raw, names));
    }
    let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(names.number(hex.as_bytes()))
}

/// The kind of a frame (rule CS9).
fn kind(frame: Message<'_>) -> Option<&[u8]> {
    match frame.small(frame::KIND) {
        None => frame.bytes(frame::KIND_STR),
        Some(1) => Some(b"native"),
        Some(2) => Some(b"kernel"),
        Some(3) => Some(b"interpreted"),
        Some(4) => Some(b"jit"),
        Some(5) => Some(b"gc"),
        Some(6) => Some(b"runtime"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cs5_build_ids_are_hexadecimal_but_those_of_breakpad() {
        let mut names = Names::default();
        let mut text = |raw: &[u8]| {
            let build_id = build_id(Some(raw), &mut names);
            build_id.map(|build_id| names.text(build_id).to_owned())
        };
        assert_eq!(text(b"").as_deref(), None);
        assert_eq!(text(b"AB\xff").as_deref(), Some("4142ff"));
        assert_eq!(text(&[b'7'; 33]).as_deref(), Some("7".repeat(33).as_str()));
        assert_eq!(text(&[b'7'; 32]).as_deref(), Some("37".repeat(32).as_str()));
    }

    #[test]
    fn cs6_a_path_loses_one_of_two_slashes() {
        assert_eq!(trimmed("//a"), b"/a");
        assert_eq!(trimmed("///a"), b"//a");
        assert_eq!(trimmed("/a"), b"/a");
        assert_eq!(trimmed(""), b"");
    }

    #[test]
    fn cs9_the_number_of_a_kind_comes_before_its_text() {
        assert_eq!(kind(Message(&[0x38, 4, 0x42, 1, b'x'])), Some(&b"jit"[..]));
        assert_eq!(kind(Message(&[0x38, 9, 0x42, 1, b'x'])), None);
        assert_eq!(kind(Message(&[0x42, 1, b'x'])), Some(&b"x"[..]));
        assert_eq!(kind(Message(&[])), None);
    }
}
