//! Callstacks and symbols (CS, SY).

use super::profiles::{Interval, ProfilePacket};
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    pub machine: usize,
    /// In hex; `None` is none.
    pub build_id: Option<String>,
    /// exact_offset, start_offset, start, end, load_bias
    pub numbers: [u64; 5],
    pub name: String,
}

/// The reason why a mapping has a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Kernel,
    Shared,
    Private,
    Dummy,
}

#[derive(Debug)]
pub struct Frame {
    pub mapping: usize,
    pub rel_pc: u64,
    pub name: Option<String>,
    /// The mapping's origin, by which the frames of a dummy differ.
    source: (Option<String>, Option<u32>),
    pub symbols: Option<usize>,
    pub kind: Option<String>,
}

#[derive(Debug)]
pub struct Symbol {
    pub set: usize,
    pub name: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

#[derive(Debug)]
pub struct Callsite {
    pub parent: Option<usize>,
    pub frame: usize,
    pub depth: usize,
}

/// A number that a process uses in an interval.
type Used = (Interval, Option<usize>, u64);

#[derive(Debug, Default)]
pub struct Stacks {
    pub mappings: Vec<(Mapping, Kind)>,
    pub frames: Vec<Frame>,
    pub symbols: Vec<Symbol>,
    pub callsites: Vec<Callsite>,
    known_stacks: BTreeMap<Used, usize>,
    known_frames: BTreeMap<Used, usize>,
    known_mappings: BTreeMap<Used, usize>,
    dummies: BTreeMap<Interval, usize>,
    /// SS7, FP4, by machine and name.
    inline: BTreeMap<(usize, &'static str), usize>,
}

impl Stacks {
    fn add_mapping(&mut self, mapping: Mapping, kind: Kind) -> usize {
        self.mappings.push((mapping, kind));
        self.mappings.len() - 1
    }

    /// CS7
    pub fn mapping(&mut self, mapping: Mapping, is_private: bool, may_be_kernel: bool) -> usize {
        let [exact, _, start, end, _] = mapping.numbers;
        let is_kernel = mapping.name == "/kernel"
            && (exact, start, end) == (0, 0, 0)
            && mapping.build_id.is_none();
        let (kind, known) = if is_kernel && may_be_kernel {
            let known = self.mappings.iter().position(|(other, kind)| {
                *kind == Kind::Kernel && other.machine == mapping.machine
            });
            (Kind::Kernel, known)
        } else if start >= end || !is_private {
            let same = |(other, kind): &(Mapping, Kind)| *kind == Kind::Shared && *other == mapping;
            (Kind::Shared, self.mappings.iter().position(same))
        } else {
            (Kind::Private, None)
        };
        known.unwrap_or_else(|| self.add_mapping(mapping, kind))
    }

    fn dummy(&mut self, machine: usize, name: &str) -> usize {
        let mapping = Mapping {
            machine,
            build_id: None,
            numbers: [0, 0, 0, u64::MAX, 0],
            name: name.to_owned(),
        };
        self.add_mapping(mapping, Kind::Dummy)
    }

    fn symbol_set(&mut self, lines: Vec<(Option<String>, Option<String>, Option<u32>)>) -> usize {
        let set = self.symbols.len();
        for (name, file, line) in lines {
            self.symbols.push(Symbol { set, name, file, line });
        }
        set
    }

    /// CS8
    pub fn frame(
        &mut self,
        mapping: usize,
        rel_pc: u64,
        name: Option<String>,
        source: Option<(Option<String>, Option<u32>)>,
    ) -> usize {
        let same = |f: &Frame| f.mapping == mapping && f.rel_pc == rel_pc && f.name == name;
        if let Some(known) = self.frames.iter().position(same) {
            return known;
        }
        let symbols = source.map(|(file, line)| self.symbol_set(vec![(name.clone(), file, line)]));
        self.frames.push(Frame {
            mapping,
            rel_pc,
            name,
            source: (None, None),
            symbols,
            kind: None,
        });
        self.frames.len() - 1
    }

    /// CS10
    fn dummy_frame(
        &mut self,
        mapping: usize,
        name: Option<String>,
        source: (Option<String>, Option<u32>),
    ) -> usize {
        let same = |f: &Frame| f.mapping == mapping && f.name == name && f.source == source;
        if let Some(known) = self.frames.iter().position(same) {
            return known;
        }
        let (file, line) = source.clone();
        let symbols = Some(self.symbol_set(vec![(name.clone(), file, line)]));
        self.frames.push(Frame { mapping, rel_pc: 0, name, source, symbols, kind: None });
        self.frames.len() - 1
    }

    /// CS3
    pub fn callsite(&mut self, parent: Option<usize>, frame: usize) -> usize {
        let same = |c: &Callsite| c.parent == parent && c.frame == frame;
        if let Some(known) = self.callsites.iter().position(same) {
            return known;
        }
        let depth = parent.map_or(0, |parent| self.callsites[parent].depth + 1);
        self.callsites.push(Callsite { parent, frame, depth });
        self.callsites.len() - 1
    }

    /// A callsite in full: its frames from the innermost one, each with its mapping and its symbol.
    pub fn as_text(&self, callsite: usize) -> String {
        let or_none = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let mut frames = Vec::new();
        let mut next = Some(callsite);
        while let Some(place) = next {
            let callsite = &self.callsites[place];
            let frame = &self.frames[callsite.frame];
            let symbol = frame.symbols.map(|set| &self.symbols[set]);
            let line = symbol.and_then(|symbol| symbol.line);
            frames.push(format!(
                "{} {}+{} {}:{} {}",
                or_none(frame.name.as_deref()),
                self.mappings[frame.mapping].0.name,
                frame.rel_pc.cast_signed(),
                or_none(symbol.and_then(|symbol| symbol.file.as_deref())),
                line.map_or("-".to_owned(), |line| line.to_string()),
                or_none(frame.kind.as_deref()),
            ));
            next = callsite.parent;
        }
        frames.join(" < ")
    }

    /// SS7, FP4
    pub fn inline(&mut self, machine: usize, name: &'static str, stack: &Message) -> Option<usize> {
        let mut callsite = None;
        for frame in stack.messages(1) {
            let mapping = match self.inline.get(&(machine, name)) {
                Some(&mapping) => mapping,
                None => {
                    let mapping = self.dummy(machine, name);
                    self.inline.insert((machine, name), mapping);
                    mapping
                }
            };
            let line = frame.number(3).map(|line| line as u32);
            let source = (frame.text(2), line);
            let frame = self.dummy_frame(mapping, frame.text(1), source);
            callsite = Some(self.callsite(callsite, frame));
        }
        callsite
    }
}

/// CS5
pub fn build_id(raw: &[u8]) -> String {
    match raw.len() {
        33 => String::from_utf8_lossy(raw).into_owned(),
        _ => raw.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// CS6
pub fn trimmed(path: &str) -> String {
    match path.starts_with("//") {
        true => path[1..].to_owned(),
        false => path.to_owned(),
    }
}

pub fn numbers(mapping: &Message) -> [u64; 5] {
    [8, 3, 4, 5, 6].map(|field| mapping.unsigned(field))
}

impl World<'_> {
    /// An entry of interned data, up to and with a packet (OP1); a missing one is counted (CS1).
    pub fn entry(&mut self, packet: usize, field: u32, iid: u64) -> Option<Message> {
        let packets = self.packets;
        let places = (0..=packet).filter(|place| packets.is_same_interval(*place, packet));
        let valid = places.filter(|place| packets.all[*place].valid);
        let found = valid
            .flat_map(|place| packets.all[place].interned.messages(field))
            .find(|entry| entry.number(1) == Some(iid));
        let found = found.filter(|_| packets.all[packet].is_of_sequence);
        if found.is_none() {
            self.profiles.count("interned_data_tokenizer_errors");
        }
        found
    }

    /// `None`: not found. `Some(None)`: an entry without text.
    fn interned_text(&mut self, packet: usize, field: u32, iid: u64) -> Option<Option<String>> {
        let entry = self.entry(packet, field, iid);
        if entry.is_none() {
            self.profiles.count("stackprofile_invalid_string_id");
        }
        entry.map(|entry| entry.text(2))
    }

    /// CS1, CS2
    pub fn stack(&mut self, of: ProfilePacket, upid: Option<usize>, iid: u64) -> Option<usize> {
        let used = (self.interval(of.packet), upid, iid);
        if let Some(known) = self.profiles.stacks.known_stacks.get(&used) {
            return Some(*known);
        }
        let Some(stack) = self.entry(of.packet, 7, iid) else {
            self.profiles.count("stackprofile_invalid_callstack_id");
            return None;
        };
        let mut callsite = None;
        for iid in stack.numbers(2) {
            let frame = self.stack_frame(of, upid, iid)?;
            callsite = Some(self.profiles.stacks.callsite(callsite, frame));
        }
        match callsite {
            Some(found) => {
                self.profiles.stacks.known_stacks.insert(used, found);
            }
            None => self.profiles.count("stackprofile_empty_callstack"),
        }
        callsite
    }

    /// CS4
    fn stack_frame(&mut self, of: ProfilePacket, upid: Option<usize>, iid: u64) -> Option<usize> {
        let used = (self.interval(of.packet), upid, iid);
        if let Some(known) = self.profiles.stacks.known_frames.get(&used) {
            return Some(*known);
        }
        let Some(entry) = self.entry(of.packet, 6, iid) else {
            self.profiles.count("stackprofile_invalid_frame_id");
            return None;
        };
        let name = match entry.unsigned(2) {
            0 => None,
            iid => self.interned_text(of.packet, 5, iid)?,
        };
        let file = match entry.number(5) {
            None => None,
            Some(0) => return None,
            Some(iid) => self.interned_text(of.packet, 18, iid)?,
        };
        let line = entry.number(6).map(|line| line as u32);
        let frame = match entry.unsigned(3) {
            0 => {
                let interval = self.interval(of.packet);
                let stacks = &mut self.profiles.stacks;
                let mapping = match stacks.dummies.get(&interval) {
                    Some(&mapping) => mapping,
                    None => stacks.dummy(of.machine, ""),
                };
                stacks.dummies.insert(interval, mapping);
                stacks.dummy_frame(mapping, name, (file, line))
            }
            iid => {
                let mapping = self.stack_mapping(of, upid, iid)?;
                let has_source = entry.has(5) || entry.has(6);
                let source = has_source.then_some((file, line));
                let stacks = &mut self.profiles.stacks;
                stacks.frame(mapping, entry.unsigned(4), name, source)
            }
        };
        // CS9
        const KINDS: [&str; 6] = ["native", "kernel", "interpreted", "jit", "gc", "runtime"];
        let kind = match entry.number(7) {
            Some(kind) => {
                let known = (kind as usize).checked_sub(1).and_then(|n| KINDS.get(n));
                known.map(|kind| (*kind).to_owned())
            }
            None => entry.text(8),
        };
        let stacks = &mut self.profiles.stacks;
        if kind.is_some() {
            stacks.frames[frame].kind = kind;
        }
        stacks.known_frames.insert(used, frame);
        Some(frame)
    }

    /// CS6
    fn stack_mapping(&mut self, of: ProfilePacket, upid: Option<usize>, iid: u64) -> Option<usize> {
        let used = (self.interval(of.packet), upid, iid);
        if let Some(known) = self.profiles.stacks.known_mappings.get(&used) {
            return Some(*known);
        }
        let Some(entry) = self.entry(of.packet, 19, iid) else {
            self.profiles.count("stackprofile_invalid_mapping_id");
            return None;
        };
        let mut path = String::new();
        for iid in entry.numbers(7) {
            let Some(text) = self.interned_text(of.packet, 17, iid) else {
                break;
            };
            path += &format!("/{}", text.unwrap_or_default());
        }
        let build_id = match entry.unsigned(2) {
            0 => None,
            iid => {
                let Some(text) = self.entry(of.packet, 16, iid) else {
                    self.profiles.count("stackprofile_invalid_string_id");
                    return None;
                };
                let raw = text.bytes(2).filter(|raw| !raw.is_empty());
                raw.map(build_id)
            }
        };
        let mapping = Mapping {
            machine: of.machine,
            build_id,
            numbers: numbers(&entry),
            name: trimmed(&path),
        };
        let stacks = &mut self.profiles.stacks;
        let mapping = stacks.mapping(mapping, upid.is_some(), true);
        stacks.known_mappings.insert(used, mapping);
        Some(mapping)
    }

    /// SY
    pub fn module_symbols(&mut self, of: ProfilePacket, message: &Message) {
        let name = message.text(1).unwrap_or_default();
        let raw = message.bytes(2).filter(|raw| !raw.is_empty());
        let id = raw.map(build_id);
        let stacks = &mut self.profiles.stacks;
        let meant: Vec<usize> = (0..stacks.mappings.len())
            .filter(|place| {
                let (mapping, _) = &stacks.mappings[*place];
                (mapping.machine, &mapping.name, &mapping.build_id) == (of.machine, &name, &id)
            })
            .collect();
        if meant.is_empty() {
            return self.profiles.count("stackprofile_invalid_mapping_id");
        }
        for address in message.messages(3) {
            let lines = address.messages(2);
            if lines.is_empty() {
                continue;
            }
            let stacks = &mut self.profiles.stacks;
            let lines = lines.iter().map(|line| {
                let file = line.text(2).filter(|file| !file.is_empty());
                let number = line.number(3).filter(|_| file.is_some());
                (line.text(1), file, number.map(|line| line as u32))
            });
            let set = stacks.symbol_set(lines.collect());
            let mut is_found = false;
            for frame in &mut stacks.frames {
                let (_, kind) = &stacks.mappings[frame.mapping];
                if meant.contains(&frame.mapping)
                    && *kind != Kind::Dummy
                    && frame.rel_pc == address.unsigned(1)
                {
                    frame.symbols = Some(set);
                    is_found = true;
                }
            }
            if !is_found {
                self.profiles.count("stackprofile_invalid_frame_id");
            }
        }
    }
}
