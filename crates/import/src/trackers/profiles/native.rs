//! Names for frames from files with symbols (rules SB).

use std::collections::BTreeMap;
use std::path::Path;

use timebase_schema::Table;
use timebase_schema::tables::stack_profile_symbol;
use timebase_sql::demangled;
use timebase_symbols::{Loaded, Module, SymbolFile};

use super::callstacks::{Callstacks, FrameId, push_symbol};
use crate::definitions::Names;
use crate::output::{LogMessage, Rows, Severity};
use crate::trackers::tracker::TrackerContext;

/// The frames without symbols of a module that was loaded in one way, by their addresses.
type Addresses = BTreeMap<u64, Vec<FrameId>>;

const SYMBOLS: &Table = &stack_profile_symbol::TABLE;

/// Gives frames without symbols those of the user's files.
pub(super) fn symbolize(callstacks: &mut Callstacks, at: &mut TrackerContext<'_, '_>) {
    let definitions = &at.world.definitions;
    let files = &definitions.name_files.symbols;
    if files.is_empty() || !at.rows.wants(SYMBOLS) {
        return;
    }
    let groups = groups(callstacks, &definitions.names);
    let modules: Vec<Module> =
        groups.keys().cloned().map(|(build_id, name)| Module { build_id, name }).collect();
    let rows = &mut *at.rows;
    let found = files.find(&modules, &|| rows.stopped());
    for problem in &found.problems {
        let text = problem.to_string();
        LogMessage::new(Severity::Warning, "symbols_unreadable", text).push(rows);
    }
    let mut used: Vec<&Path> = Vec::new();
    for (file, (module, loads)) in found.files.iter().zip(modules.iter().zip(groups.values())) {
        let Some(file) = file else { continue };
        if file.is_by_name {
            let text = format!(
                "neither {} nor the mapping {} has a build id, so only its name says that its symbols are right",
                file.path.display(),
                module.name
            );
            LogMessage::new(Severity::Info, "symbols_by_name", text).push(rows);
        }
        for (loaded, addresses) in loads {
            let of_file = (&mut *rows, &at.world.scratch);
            if look_up(file, *loaded, addresses, callstacks, of_file) {
                used.push(&file.path);
            }
        }
    }
    let unused =
        files.roots().iter().filter(|root| !used.iter().any(|path| path.starts_with(root)));
    for root in unused.filter(|_| !modules.is_empty()) {
        let text = format!(
            "{} names no frame of this trace; the view unsymbolized_mapping has the build ids that lack names",
            root.display()
        );
        LogMessage::new(Severity::Warning, "names_unused", text).push(rows);
    }
}

/// Gives the frames at addresses of a file their symbols. Returns whether it has any of them.
fn look_up(
    file: &SymbolFile,
    loaded: Loaded,
    addresses: &Addresses,
    callstacks: &mut Callstacks,
    (rows, scratch): (&mut Rows<'_>, &timebase_store::sort::Scratch),
) -> bool {
    let sorted: Vec<u64> = addresses.keys().copied().collect();
    let found = file.look_up(&sorted, loaded, scratch, &|| rows.stopped());
    if let Some(problem) = &found.problem {
        let text = problem.to_string();
        LogMessage::new(Severity::Warning, "symbols_unreadable", text).push(rows);
    }
    for (lines, frames) in found.lines.iter().zip(addresses.values()) {
        let Some(last) = lines.len().checked_sub(1) else { continue };
        let set = rows.count(SYMBOLS);
        for (place, line) in lines.iter().enumerate() {
            let name = line.function.as_deref();
            let readable = name.and_then(demangled);
            let source = (line.file.as_deref(), line.line);
            let is_inlined = Some(place < last);
            push_symbol(set, (readable.as_deref().or(name), source), is_inlined, rows);
        }
        for &frame in frames {
            callstacks.symbolize(frame, set, lines.iter().find_map(|line| line.line));
        }
    }
    found.lines.iter().any(|lines| !lines.is_empty())
}

/// The frames without symbols: by the build id and the name of their module, then by how it was loaded.
fn groups(
    callstacks: &Callstacks,
    names: &Names,
) -> BTreeMap<(String, String), BTreeMap<Loaded, Addresses>> {
    let mut groups: BTreeMap<(String, String), BTreeMap<Loaded, Addresses>> = BTreeMap::new();
    for (frame, rel_pc, module) in callstacks.without_symbols() {
        let build_id = module.build_id.map_or("", |build_id| names.text(build_id));
        let key = (build_id.to_owned(), names.text(module.name).to_owned());
        let group = groups.entry(key).or_default();
        group.entry(module.loaded).or_default().entry(rel_pc).or_default().push(frame);
    }
    groups
}
