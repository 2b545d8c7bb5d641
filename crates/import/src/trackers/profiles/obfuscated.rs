//! Names for Java frames from mappings (rules DM).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timebase_schema::tables::stack_profile_symbol;
use timebase_symbols::{Class, MappingFile, Member};

use super::callstacks::{Callstacks, FrameId, push_symbol};
use crate::definitions::Names;
use crate::output::{LogMessage, Rows, Severity};
use crate::trackers::heap_graphs::package;
use crate::trackers::mappings::Source;
use crate::trackers::tracker::TrackerContext;

/// The package that a frame is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Package<'n> {
    Known(&'n str),
    /// Code that the runtime compiled is of any package.
    Any,
    Unknown,
}

/// A frame whose name may be obfuscated.
#[derive(Debug, Clone, Copy)]
struct Candidate<'n> {
    frame: FrameId,
    package: Package<'n>,
    /// The line in the program.
    line: Option<u32>,
}

/// The new name of a frame.
#[derive(Debug)]
pub(super) struct Renamed {
    name: String,
    /// The functions there, the innermost first, if the line tells them.
    chain: Vec<(String, Option<u32>)>,
}

/// The methods that frames have.
pub(super) struct Methods<'n> {
    candidates: FxHashMap<&'n str, Vec<Candidate<'n>>>,
    renamed: BTreeMap<FrameId, Renamed>,
}

impl<'n> Methods<'n> {
    pub fn new(callstacks: &Callstacks, names: &'n Names) -> Methods<'n> {
        Methods { candidates: candidates(callstacks, names), renamed: BTreeMap::new() }
    }

    /// The obfuscated names of their classes.
    pub fn wanted(&self) -> impl Iterator<Item = &'n str> {
        self.candidates.keys().filter_map(|name| Some(name.rsplit_once('.')?.0))
    }

    /// Takes a class of a mapping. Returns whether it has a frame's name.
    pub fn take(&mut self, source: Source<'_>, class: &Class) -> bool {
        let mut has_any = false;
        let mut methods: FxHashMap<&str, Vec<&Member>> = FxHashMap::default();
        for method in &class.methods {
            methods.entry(&method.obfuscated).or_default().push(method);
        }
        for (obfuscated, methods) in methods {
            let name = format!("{}.{obfuscated}", class.obfuscated);
            for candidate in self.candidates.get(name.as_str()).into_iter().flatten() {
                let is_of_package = match (source.package, candidate.package) {
                    (None, _) => source.file.is_some(),
                    (Some(_), Package::Any) => true,
                    (Some(package), own) => own == Package::Known(package),
                };
                has_any |= is_of_package;
                let is_named = self.renamed.contains_key(&candidate.frame);
                if is_of_package && source.may_name(is_named) {
                    let new = renamed_by(&methods, class, candidate.line);
                    self.renamed.insert(candidate.frame, new);
                }
            }
        }
        has_any
    }

    /// The new names of frames.
    pub fn end(self) -> BTreeMap<FrameId, Renamed> {
        self.renamed
    }
}

/// Gives frames their new names.
pub(super) fn rename(
    renamed: BTreeMap<FrameId, Renamed>,
    callstacks: &mut Callstacks,
    at: &mut TrackerContext<'_, '_>,
) {
    for (frame, renamed) in renamed {
        let name = at.world.definitions.names.number(renamed.name.as_bytes());
        callstacks.rename(frame, name);
        let Some(last) = renamed.chain.len().checked_sub(1) else { continue };
        let set = at.rows.count(&stack_profile_symbol::TABLE);
        for (place, (function, line)) in renamed.chain.iter().enumerate() {
            push_symbol(set, (Some(function), (None, *line)), Some(place < last), at.rows);
        }
        let line = renamed.chain.iter().find_map(|(_, line)| *line);
        callstacks.symbolize(frame, set, line);
    }
}

/// Says that a file of the user names nothing.
pub(super) fn is_unused(MappingFile { path, package }: &MappingFile, rows: &mut Rows<'_>) {
    let package = package.as_ref().map(|package| format!(" of the package {package}"));
    let text = format!(
        "{} names no frame, class or field{} in this trace",
        path.display(),
        package.unwrap_or_default()
    );
    LogMessage::new(Severity::Warning, "names_unused", text).push(rows);
}

/// The frames with the name of a method, by their names.
fn candidates<'n>(
    callstacks: &Callstacks,
    names: &'n Names,
) -> FxHashMap<&'n str, Vec<Candidate<'n>>> {
    let mut candidates: FxHashMap<&str, Vec<Candidate<'_>>> = FxHashMap::default();
    for (frame, name, mapping, line) in callstacks.named() {
        let name = names.text(name);
        if name.contains('.') {
            let path = names.text(mapping);
            let package = match package(path) {
                Ok(Some(package)) => Package::Known(package),
                _ if path.starts_with("/memfd:") => Package::Any,
                _ => Package::Unknown,
            };
            candidates.entry(name).or_default().push(Candidate { frame, package, line });
        }
    }
    candidates
}

/// The new name of a frame (rules DM4, DM5).
fn renamed_by(methods: &[&Member], class: &Class, line: Option<u32>) -> Renamed {
    let at_line = line.into_iter().flat_map(|line| {
        let there = methods.iter().filter(move |method| method.is_at(line));
        there.map(move |method| (method.full(&class.original), method.source_line(line)))
    });
    let chain: Vec<(String, Option<u32>)> = at_line.collect();
    if let Some((outermost, _)) = chain.last() {
        return Renamed { name: outermost.clone(), chain };
    }
    let mut all: Vec<String> = methods.iter().map(|method| method.full(&class.original)).collect();
    all.sort_unstable();
    all.dedup();
    Renamed { name: all.join(" | "), chain }
}
