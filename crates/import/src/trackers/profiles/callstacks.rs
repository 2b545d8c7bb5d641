//! The rows of callstacks: mappings, frames, symbols and callsites. Each different one has one row (rules
//! CS3, CS7 to CS10). They are in memory to the end. Their number depends on the different stacks, not on the
//! number of samples.

use rustc_hash::FxHashMap;
use timebase_schema::tables::{
    stack_profile_callsite, stack_profile_frame, stack_profile_mapping, stack_profile_symbol,
};
use timebase_symbols::Loaded;

use super::faults::TMP_WITHOUT_BUILD_ID;
use crate::definitions::Names;
use crate::output::{Cell, Faults, Rows};
use crate::timeline::Name;

/// Rows of `stack_profile_mapping`, `_frame` and `_callsite`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct MappingId(pub u32);
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FrameId(u32);
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CallsiteId(pub u32);

/// The contents of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NewMapping {
    pub machine: u32,
    /// In hexadecimal digits; `None` means no build id, and differs from an empty text (rule SY3).
    pub build_id: Option<Name>,
    pub exact_offset: u64,
    pub start_offset: u64,
    pub start: u64,
    pub end: u64,
    pub load_bias: u64,
    pub name: Name,
}

/// The place of a function in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub file: Option<Name>,
    pub line: Option<u32>,
}

/// A line of a symbol set.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolLine {
    pub function: Option<Name>,
    pub source: Source,
}

/// The file of a mapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct MappedFile {
    pub name: Name,
    pub build_id: Option<Name>,
    pub loaded: Loaded,
}

#[derive(Debug)]
struct Mapping {
    file: MappedFile,
    is_dummy: bool,
    frames: Vec<FrameId>,
}

#[derive(Debug)]
struct Frame {
    name: Option<Name>,
    mapping: MappingId,
    rel_pc: u64,
    symbol_set: Option<i64>,
    /// The first line in the symbols.
    line: Option<u32>,
    kind: Option<Name>,
    deobfuscated: Option<Name>,
}

/// All rows of callstacks.
#[derive(Debug, Default)]
pub(super) struct Callstacks {
    mappings: Vec<Mapping>,
    /// The mappings with one row for each different content.
    shared: FxHashMap<NewMapping, MappingId>,
    /// The kernel of each machine.
    kernels: FxHashMap<u32, MappingId>,
    /// By machine, name and build id.
    named: FxHashMap<(u32, Name, Option<Name>), Vec<MappingId>>,
    frames: Vec<Frame>,
    by_address: FxHashMap<(MappingId, u64, Option<Name>), FrameId>,
    in_dummies: FxHashMap<(MappingId, Option<Name>, Source), FrameId>,
    callsites: FxHashMap<(Option<CallsiteId>, FrameId), CallsiteId>,
}

impl Callstacks {
    /// The row of a mapping (rule CS7). If `is_private`, a mapping with a range has its own row.
    pub fn mapping(
        &mut self,
        new: NewMapping,
        is_private: bool,
        names: &mut Names,
        rows: &mut Rows<'_>,
    ) -> MappingId {
        if is_private && new.start < new.end {
            return self.add_mapping(new, false, names, rows);
        }
        if let Some(&known) = self.shared.get(&new) {
            return known;
        }
        let id = self.add_mapping(new, false, names, rows);
        self.shared.insert(new, id);
        id
    }

    /// The kernel mapping of the machine (rule CS7), if `new` is a kernel mapping.
    pub fn kernel(
        &mut self,
        new: NewMapping,
        names: &mut Names,
        rows: &mut Rows<'_>,
    ) -> Option<MappingId> {
        let is_kernel = (new.start, new.end, new.exact_offset) == (0, 0, 0)
            && new.build_id.is_none()
            && names.text(new.name) == "/kernel";
        if !is_kernel {
            return None;
        }
        if let Some(&known) = self.kernels.get(&new.machine) {
            return Some(known);
        }
        let id = self.add_mapping(new, false, names, rows);
        self.kernels.insert(new.machine, id);
        Some(id)
    }

    /// A mapping for frames without a known mapping (rules CS10, SS7).
    pub fn dummy(
        &mut self,
        machine: u32,
        name: &str,
        names: &mut Names,
        rows: &mut Rows<'_>,
    ) -> MappingId {
        let new = NewMapping {
            machine,
            build_id: None,
            exact_offset: 0,
            start_offset: 0,
            start: 0,
            end: u64::MAX,
            load_bias: 0,
            name: names.number(name.as_bytes()),
        };
        self.add_mapping(new, true, names, rows)
    }

    fn add_mapping(
        &mut self,
        new: NewMapping,
        is_dummy: bool,
        names: &Names,
        rows: &mut Rows<'_>,
    ) -> MappingId {
        let id = MappingId(self.mappings.len() as u32);
        let NewMapping { name, build_id, .. } = new;
        let NewMapping { exact_offset, start_offset, load_bias, .. } = new;
        let loaded = Loaded { exact_offset, start_offset, load_bias };
        let file = MappedFile { name, build_id, loaded };
        self.mappings.push(Mapping { file, is_dummy, frames: Vec::new() });
        let named = self.named.entry((new.machine, name, build_id));
        named.or_default().push(id);
        let build_id = rows.text(build_id.map_or("", |build_id| names.text(build_id)));
        let name = rows.text(names.text(name));
        let number = |number: u64| Cell::from(number as i64);
        rows.push(stack_profile_mapping::Row {
            id: Cell::from(id.0),
            build_id,
            exact_offset: number(new.exact_offset),
            start_offset: number(new.start_offset),
            start: number(new.start),
            end: number(new.end),
            load_bias: number(new.load_bias),
            name,
        });
        id
    }

    /// The mappings of a machine with a name and a build id (rule SY1).
    pub fn mappings_of(&self, key: (u32, Name, Option<Name>)) -> &[MappingId] {
        self.named.get(&key).map(AsRef::as_ref).unwrap_or_default()
    }

    /// The frames of mappings by their addresses, without the frames in dummies (rule SY2).
    pub fn frames_of(&self, mappings: &[MappingId]) -> FxHashMap<u64, Vec<FrameId>> {
        let mut found: FxHashMap<u64, Vec<FrameId>> = FxHashMap::default();
        let mappings = mappings.iter().filter_map(|id| self.mappings.get(id.0 as usize));
        for &id in mappings.filter(|mapping| !mapping.is_dummy).flat_map(|mapping| &mapping.frames)
        {
            if let Some(frame) = self.frames.get(id.0 as usize) {
                found.entry(frame.rel_pc).or_default().push(id);
            }
        }
        found
    }

    /// The row of a frame in a mapping (rule CS8). `source` is the place that the frame names.
    pub fn frame(
        &mut self,
        key: (MappingId, u64, Option<Name>),
        source: Option<Source>,
        names: &Names,
        rows: &mut Rows<'_>,
    ) -> FrameId {
        if let Some(&known) = self.by_address.get(&key) {
            return known;
        }
        let (mapping, rel_pc, name) = key;
        let symbol_set = source.map(|source| {
            let function = name;
            symbol_set(&[SymbolLine { function, source }], names, rows)
        });
        let line = source.and_then(|source| source.line);
        let id = self.add_frame(Frame { symbol_set, line, ..Frame::new(name, mapping, rel_pc) });
        self.by_address.insert(key, id);
        id
    }

    /// The row of a frame in a dummy mapping (rule CS10).
    pub fn dummy_frame(
        &mut self,
        mapping: MappingId,
        line: SymbolLine,
        names: &Names,
        rows: &mut Rows<'_>,
    ) -> FrameId {
        let key = (mapping, line.function, line.source);
        if let Some(&known) = self.in_dummies.get(&key) {
            return known;
        }
        let symbol_set = Some(symbol_set(&[line], names, rows));
        let frame = Frame::new(line.function, mapping, 0);
        let id = self.add_frame(Frame { symbol_set, line: line.source.line, ..frame });
        self.in_dummies.insert(key, id);
        id
    }

    fn add_frame(&mut self, frame: Frame) -> FrameId {
        let id = FrameId(self.frames.len() as u32);
        if let Some(mapping) = self.mappings.get_mut(frame.mapping.0 as usize) {
            mapping.frames.push(id);
        }
        self.frames.push(frame);
        id
    }

    /// Sets the kind of a frame; the latest kind counts (rule CS9).
    pub fn is_of_kind(&mut self, FrameId(id): FrameId, kind: Name) {
        if let Some(frame) = self.frames.get_mut(id as usize) {
            frame.kind = Some(kind);
        }
    }

    /// Gives a frame the symbols of a set, of which `line` is the first line, and replaces earlier symbols (rule SY2).
    pub fn symbolize(&mut self, FrameId(id): FrameId, set: i64, line: Option<u32>) {
        if let Some(frame) = self.frames.get_mut(id as usize) {
            frame.symbol_set = Some(set);
            frame.line = line;
        }
    }

    /// Gives a frame the name of a mapping of R8 (rule DM4).
    pub fn rename(&mut self, FrameId(id): FrameId, name: Name) {
        if let Some(frame) = self.frames.get_mut(id as usize) {
            frame.deobfuscated = Some(name);
        }
    }

    /// The frames without symbols, with their addresses and files.
    pub fn without_symbols(&self) -> impl Iterator<Item = (FrameId, u64, &MappedFile)> {
        let frames = (0..).map(FrameId).zip(&self.frames);
        let frames = frames.filter(|(_, frame)| frame.symbol_set.is_none());
        frames.filter_map(|(id, frame)| {
            let mapping = self.mappings.get(frame.mapping.0 as usize)?;
            (!mapping.is_dummy).then_some((id, frame.rel_pc, &mapping.file))
        })
    }

    /// The frames with a name: the name, that of the mapping, and the first line.
    pub fn named(&self) -> impl Iterator<Item = (FrameId, Name, Name, Option<u32>)> {
        let frames = (0..).map(FrameId).zip(&self.frames);
        frames.filter_map(|(id, frame)| {
            let mapping = self.mappings.get(frame.mapping.0 as usize)?;
            Some((id, frame.name?, mapping.file.name, frame.line))
        })
    }

    /// The row of a callsite (rule CS3). `depth` is the number of frames around it.
    pub fn callsite(
        &mut self,
        parent: Option<CallsiteId>,
        depth: usize,
        frame: FrameId,
        rows: &mut Rows<'_>,
    ) -> CallsiteId {
        let next = CallsiteId(self.callsites.len() as u32);
        let id = *self.callsites.entry((parent, frame)).or_insert(next);
        if id == next {
            rows.push(stack_profile_callsite::Row {
                id: Cell::from(id.0),
                depth: Cell::from(depth as i64),
                parent_id: Cell::or_null(parent.map(|parent| parent.0)),
                frame_id: Cell::from(frame.0),
            });
        }
        id
    }

    /// Writes the frames as rows, because nothing changes them any more.
    pub fn end(&mut self, names: &Names, faults: &mut Faults, rows: &mut Rows<'_>) {
        for (id, frame) in (0i64..).zip(&self.frames) {
            let name = rows.optional_text(frame.name.map(|name| names.text(name)));
            let renamed = frame.deobfuscated.map(|name| names.text(name));
            let renamed = rows.optional_text(renamed);
            let kind = rows.optional_text(frame.kind.map(|kind| names.text(kind)));
            rows.push(stack_profile_frame::Row {
                id: Cell::from(id),
                name,
                mapping: Cell::from(frame.mapping.0),
                rel_pc: Cell::from(frame.rel_pc as i64),
                symbol_set_id: Cell::or_null(frame.symbol_set),
                deobfuscated_name: renamed,
                r#type: kind,
            });
        }
        // Counts mappings of `/data/local/tmp/` without a build id (rule SY3).
        let lacks_build_id = |mapping: &&Mapping| {
            let MappedFile { name, build_id, .. } = mapping.file;
            let build_id = build_id.map_or("", |build_id| names.text(build_id));
            build_id.is_empty() && names.text(name).starts_with("/data/local/tmp/")
        };
        let lacking = self.mappings.iter().filter(lacks_build_id).count();
        let lacking = u32::try_from(lacking).unwrap_or(u32::MAX);
        faults.add_many(TMP_WITHOUT_BUILD_ID, None, lacking);
    }
}

impl Frame {
    fn new(name: Option<Name>, mapping: MappingId, rel_pc: u64) -> Frame {
        let (symbol_set, line, kind, deobfuscated) = (None, None, None, None);
        Frame { name, mapping, rel_pc, symbol_set, line, kind, deobfuscated }
    }
}

/// Makes the rows of a symbol set, and returns its number.
pub(super) fn symbol_set(lines: &[SymbolLine], names: &Names, rows: &mut Rows<'_>) -> i64 {
    let set = rows.count(&stack_profile_symbol::TABLE);
    for line in lines {
        let name = line.function.map(|name| names.text(name));
        let file = line.source.file.map(|file| names.text(file));
        push_symbol(set, (name, (file, line.source.line)), None, rows);
    }
    set
}

/// Adds a row to a symbol set: a function, its file and its line.
pub(super) fn push_symbol(
    set: i64,
    (name, (file, line)): (Option<&str>, (Option<&str>, Option<u32>)),
    is_inlined: Option<bool>,
    rows: &mut Rows<'_>,
) {
    let id = rows.count(&stack_profile_symbol::TABLE);
    let name = rows.optional_text(name);
    let file = rows.optional_text(file);
    rows.push(stack_profile_symbol::Row {
        id: Cell::from(id),
        symbol_set_id: Cell::from(set),
        name,
        source_file: file,
        line_number: Cell::or_null(line),
        inlined: Cell::or_null(is_inlined.map(u32::from)),
    });
}
