//! The manifest of several files that are written (rules RW9, CV2).
//!
//! # Design
//!
//! The manifest of the files that are read is kept as far as it names machines, because it numbers them (rule
//! X11). Its relations of clocks are dropped, because the times of all packets are already on one clock. So a
//! machine that does not have trace time gets a relation of its clock to trace time, with offset 0, if any of
//! its clocks led there. A guest that the manifest cannot name gets no relation. The written files are placed
//! like any others (`target.rs`), so the assumptions of an import (X26) put its packets at the right times.

use std::collections::{BTreeMap, BTreeSet};

use timebase_resolver::{ConversionCache, FileTag, MachineId};

use crate::definitions::Machines;
use crate::files::{File, Files};
use crate::frame::Frame;
use crate::manifest::{
    Clock, ClockReference, Clocks, FileEntry, Machines as Named, Manifest, Member, MemberRules,
    Refused, Resolved, TraceTimeEntry,
};
use crate::place::{Part, Place, shared};

/// The manifest of the written files, and its rules for them.
pub(crate) struct Several {
    /// The name of its member, and its id among the files that were read.
    pub name: String,
    pub id: Option<usize>,
    manifest: Manifest,
    pub resolved: Resolved,
    /// The rules by the ids of the files.
    rules: BTreeMap<usize, MemberRules>,
    /// The names by the ids of the files.
    names: BTreeMap<usize, String>,
    /// The clock that packets of JSON traces name; 0 for none.
    pub clock: u32,
}

impl Several {
    /// Makes the manifest. A pass for snapshots has already gone through the files.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the manifest of the files that are read is not valid for the written files.
    pub fn of(files: &Files<'_>, surveyed: &mut Frame) -> Result<Several, Refused> {
        let traces = files.traces();
        let names = names(files, &traces);
        let clock = match times(surveyed, &traces) {
            Some((Clock::Boottime, _)) | None => 0,
            Some((clock, _)) => clock.id(),
        };
        let manifest = manifest(files, &traces, &names, surveyed);
        let members =
            names.iter().zip(&traces).map(|(name, file)| Member { name, kind: files.member(file) });
        let members: Vec<Member<'_>> = members.collect();
        let resolved = manifest.resolve(&members)?;
        let ids = traces.iter().map(|file| file.id);
        let names_of = ids.clone().zip(names.iter().cloned()).collect();
        let (name, id) = match files.manifest_file() {
            Some(file) => (files.name(file), Some(file.id)),
            None => (free("perfetto_manifest.json", &names), None),
        };
        Ok(Several {
            name: free(&name, &names),
            id,
            manifest,
            names: names_of,
            clock,
            rules: ids.zip(resolved.members.iter().cloned()).collect(),
            resolved,
        })
    }

    /// The manifest, without the entries of files that are not written and name no machine.
    pub fn text(mut self, is_written: impl Fn(&str) -> bool) -> String {
        let referred = self.manifest.trace_time.as_ref();
        let referred = referred.and_then(|trace_time| trace_time.file.clone());
        self.manifest.files.retain(|entry| {
            entry.machines != Named::ByRaw
                || referred.as_ref() == Some(&entry.path)
                || is_written(&entry.path)
        });
        self.manifest.to_string()
    }

    /// The name of a written file.
    pub fn name_of(&self, file: &File) -> String {
        self.names.get(&file.id).cloned().unwrap_or_default()
    }

    /// The manifest's rules for the packets of a file.
    pub fn rules(&self, file: &File) -> MemberRules {
        self.rules.get(&file.id).cloned().unwrap_or_default()
    }
}

/// The names of the written files. A trace that was in JSON is no `.json` any more.
fn names(files: &Files<'_>, traces: &[File]) -> Vec<String> {
    let mut names: Vec<String> = traces.iter().map(|file| files.name(file)).collect();
    for (place, _) in traces.iter().enumerate().filter(|(_, file)| file.has_own_clock()) {
        let new = names.get(place).and_then(|name| converted(name));
        let new = new.map(|new| free(&new, &names));
        if let (Some(new), Some(name)) = (new, names.get_mut(place)) {
            *name = new;
        }
    }
    names
}

/// The new name of a JSON trace, if its name says that it is one.
fn converted(name: &str) -> Option<String> {
    let small = name.to_ascii_lowercase();
    let packed = [".gz", ".zst"].into_iter().find(|ending| small.ends_with(ending)).unwrap_or("");
    let stem = small.strip_suffix(packed)?.strip_suffix(".json")?.len();
    // Small letters take as many bytes as capitals.
    let (stem, packed) = (name.get(..stem)?, name.get(name.len() - packed.len()..)?);
    Some(format!("{stem}.pftrace{packed}"))
}

/// The clock and the machine of the written times.
fn times(surveyed: &Frame, traces: &[File]) -> Option<(Clock, MachineId)> {
    let clocks = &surveyed.context.place.clocks;
    if traces.iter().all(File::has_own_clock) {
        let first = traces.first()?.tag;
        let (_, part) = clocks.parts.of_files().find(|(_, part)| part.file == first)?;
        return Some((Clock::Boottime, part.machine));
    }
    let trace_time = clocks.trace_time.clock()?;
    let clock = Clock::ALL.into_iter().find(|clock| clock.id() == trace_time.id.get())?;
    let is_shared = trace_time == shared(trace_time.machine, trace_time.id);
    is_shared.then_some((clock, trace_time.machine))
}

/// A name that no member has.
fn free(name: &str, names: &[String]) -> String {
    let mut free = name.to_owned();
    while names.contains(&free) {
        free.insert(0, '_');
    }
    free
}

/// The machines of files that have a clock that leads to trace time. The other machines stay unrelated.
fn placed(place: &mut Place) -> BTreeSet<(FileTag, MachineId)> {
    let trace_time = place.trace_time();
    place.with_estimates(|place, estimates, _| {
        let (graph, mut cache) = (estimates.graph(), ConversionCache::new());
        let mut leads = |part: &Part| {
            let mut clocks = graph.clocks();
            clocks.any(|clock| {
                let is_of_part = clock.machine == part.machine
                    && (clock.file == part.file || clock.file == FileTag::SHARED);
                is_of_part && graph.path(clock, trace_time, &mut cache).is_ok()
            })
        };
        let parts = place.clocks.parts.of_files().map(|(_, part)| part);
        let placed = parts.filter(|part| leads(part));
        placed.map(|part| (part.file, part.machine)).collect()
    })
}

fn manifest(
    files: &Files<'_>,
    traces: &[File],
    names: &[String],
    surveyed: &mut Frame,
) -> Manifest {
    let mut manifest = files.said.clone().unwrap_or_default();
    for entry in &mut manifest.files {
        // The rewritten timestamps name their clocks.
        entry.clocks = None;
        entry.default_clock = None;
        // Its name may be another one now.
        let read = traces.iter().position(|file| files.name(file) == entry.path);
        if let Some(name) = read.and_then(|read| names.get(read)) {
            entry.path = name.clone();
        }
    }
    let mut ranks = traces.iter().zip(names).collect::<Vec<_>>();
    // Machines get their rows in the order of the manifest (rule X11).
    ranks.sort_by_key(|(file, _)| files.rank_machine(file).map_or(usize::MAX, |(place, _)| place));
    for (file, path) in ranks {
        let named = files.rank_machine(file).map(|(_, name)| Named::One(name.to_owned()));
        match (entry(&mut manifest, path), named) {
            (Some(entry), Some(named)) => entry.machines = named,
            (Some(_), None) => {}
            (None, named) => manifest.files.push(FileEntry {
                path: path.clone(),
                machines: named.unwrap_or_default(),
                ..FileEntry::default()
            }),
        }
    }
    let Some((clock, own_machine)) = times(surveyed, traces) else {
        return manifest;
    };
    let placed = placed(&mut surveyed.context.place);
    let place = &surveyed.context.place;
    let machines = &surveyed.context.definitions.machines;
    let parts: Vec<&Part> = place.clocks.parts.of_files().map(|(_, part)| part).collect();
    let of_file = |tag: FileTag| parts.iter().filter(move |part| part.file == tag);
    let of_trace_time = traces.iter().zip(names).find_map(|(file, path)| {
        let entry = entry(&mut manifest, path)?;
        let mut parts = of_file(file.tag).filter(|part| part.machine == own_machine);
        let Machine(machine) = parts.find_map(|part| referred(entry, part, machines))?;
        Some((path.clone(), machine))
    });
    let Some((file, machine)) = of_trace_time else {
        return manifest;
    };
    let mut related = BTreeSet::from([own_machine]);
    for (read, path) in traces.iter().zip(names) {
        let Some(entry) = entry(&mut manifest, path) else {
            continue;
        };
        let is_open = |part: &&&Part| {
            let is_placed = read.has_own_clock() || placed.contains(&(part.file, part.machine));
            is_placed && !related.contains(&part.machine)
        };
        let mut others = of_file(read.tag).filter(is_open);
        let found = others.find_map(|part| Some((part.machine, referred(entry, part, machines)?)));
        if let Some((other, Machine(of_entry))) = found {
            related.insert(other);
            entry.clocks = Some(Clocks {
                clock: Some(clock),
                machine: of_entry,
                sync_to: ClockReference {
                    file: file.clone(),
                    machine: machine.clone(),
                    clock: Some(clock),
                },
                offset_ns: 0,
            });
        }
    }
    manifest.trace_time = Some(TraceTimeEntry { clock, file: Some(file), machine });
    manifest
}

/// The entry that counts for a path.
fn entry<'a>(manifest: &'a mut Manifest, path: &str) -> Option<&'a mut FileEntry> {
    manifest.files.iter_mut().find(|entry| entry.path == path)
}

/// The field `machine` of a reference to a machine of an entry (rule X38).
struct Machine(Option<String>);

/// The manifest's reference to the machine of a part; `None` if the reference would give the machine another
/// row.
fn referred(entry: &FileEntry, part: &Part, machines: &Machines) -> Option<Machine> {
    let MachineId(id) = part.machine;
    match &entry.machines {
        Named::One(_) => Some(Machine(None)),
        Named::Listed(listed) => {
            let name = machines.get(id)?.given_name.as_ref()?;
            let is_listed = listed.iter().any(|(_, listed)| listed == name);
            is_listed.then(|| Machine(Some(name.clone())))
        }
        // The host gets its row when the manifest refers to it. This is the next row after the machines with
        // names.
        Named::ByRaw => {
            let named = machines.iter().filter(|machine| machine.given_name.is_some());
            let is_next = usize::try_from(id) == Ok(named.count());
            let is_host = part.is_host && machines.get(id).is_some_and(|host| host.raw_id == 0);
            (is_host && is_next).then_some(Machine(None))
        }
    }
}
