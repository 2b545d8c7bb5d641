//! Applies a manifest to the files of the import, before any of their packets is read (rules X32,
//! X35 to X39).

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::manifest::json::{Place, Refused};
use crate::manifest::rules::{MachineRef, Mapping, MemberRules};
use crate::manifest::types::{Clock, Clocks, FileEntry, Machines, Manifest, TraceTimeEntry};

/// A file of the import.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// Its name in the archive, or the base name of an argument (rule X1).
    pub name: &'a str,
    /// Its kind.
    pub kind: MemberKind,
}

/// The kind of a member (rules X3, X5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// A manifest.
    Manifest,
    /// A trace.
    Trace,
    /// Something compressed.
    Compressed,
    /// A zip or tar.
    Archive,
    /// None of these.
    Unknown,
}

/// The facts from a manifest that the import needs.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The machines that the manifest names, in the order of their first mention (rule X11): the
    /// first rows of `machine`.
    pub names: Vec<String>,
    /// For each member, the rules for its packets.
    pub members: Vec<MemberRules>,
    /// Snapshots to be added before any file is read (rule X35), in the order of `files`.
    pub relations: Vec<Relation>,
    /// The clock of the timeline, if it is named (rule X36).
    pub trace_time: Option<TraceTime>,
    /// Oddities that do not stop the import, but get a line in its log.
    pub warnings: Vec<Warning>,
}

/// Two clocks, and their readings at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The place of the `clocks` that relate them.
    pub place: Place,
    /// The clock of the file that has the entry.
    pub this: Reading,
    /// The clock that it is related to.
    pub reference: Reading,
}

/// A clock, and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The machine of the clock.
    pub machine: MachineRef,
    /// The clock on this machine.
    pub clock: RelatedClock,
    /// In nanoseconds, never negative.
    pub value: i64,
}

/// A clock of a machine that a manifest can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelatedClock {
    /// The machine's own.
    Shared(Clock),
    /// The private clock of this member, TRACE_FILE (rule X37).
    Private(usize),
}

/// The clock of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceTime {
    /// The clock on its machine.
    pub clock: Clock,
    /// The machine; `None` is the first row of `machine`, whichever packet makes it (rule X36).
    pub machine: Option<MachineRef>,
}

/// Something odd in a manifest that is no error.
///
/// As text: `files[1].path 'a.pb' repeats files[0]; the first entry counts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Two entries have one path (rule X32): the first entry counts, not this one.
    RepeatedPath {
        /// The number of the entry in `files`.
        entry: usize,
        /// The number of the entry that counts.
        first: usize,
        /// The path of both.
        path: String,
    },
    /// No member has the path of an entry (rule X32), so the entry does nothing.
    NoSuchMember {
        /// The number of the entry in `files`.
        entry: usize,
        /// Its path.
        path: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::RepeatedPath { entry, first, path } => {
                let (entry, first) = (Place::file(*entry), Place::file(*first));
                write!(f, "{entry}.path '{path}' repeats {first}; the first entry counts")
            }
            Warning::NoSuchMember { entry, path } => {
                let entry = Place::file(*entry);
                write!(f, "{entry}.path '{path}' names no file of the import")
            }
        }
    }
}

impl Manifest {
    /// Applies the manifest to the members of an import. The result has the members in the given
    /// order, which may be any order. If several members have one name, an entry is for all of
    /// them, and a reference means the first.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the manifest breaks one of rules X30, X35, X36, X38 and X39.
    pub fn resolve(&self, members: &[Member<'_>]) -> Result<Resolved, Refused> {
        one_manifest(members)?;
        let known = EntryIndex::new(self, members);
        let trace_time = self.trace_time.as_ref();
        let trace_time = trace_time.map(|entry| known.trace_time(entry)).transpose()?;

        let mut rules = vec![MemberRules::default(); members.len()];
        let mut relations = Vec::new();
        for entry in &known.entries {
            let named = known.members_of(&entry.file.path);
            for member in named {
                entry.may_override(members.get(*member))?;
            }
            let related = match &entry.file.clocks {
                Some(clocks) => known.relations(entry, clocks)?,
                None => Vec::new(),
            };
            let pinned = match &entry.file.clocks {
                Some(clocks) if clocks.clock.is_none() => Some(known.own_machine(entry, clocks)?),
                _ => None,
            };
            relations.extend(related);
            for member in named {
                if let Some(rules) = rules.get_mut(*member) {
                    *rules = MemberRules {
                        place: entry.place.clone(),
                        path: entry.file.path.clone(),
                        machines: entry.mapping.clone(),
                        pinned,
                        default_clock: entry.file.default_clock,
                    };
                }
            }
        }
        // The first row of `machine` is the first named machine; if none is named, relations are of
        // the host.
        let trace_time = trace_time.map(|(clock, machine)| TraceTime {
            clock,
            machine: machine.or_else(|| match known.names.is_empty() {
                false => Some(MachineRef::Named(0)),
                true => relations.first().map(|_| MachineRef::HOST),
            }),
        });
        Ok(Resolved {
            names: known.names,
            members: rules,
            relations,
            trace_time,
            warnings: known.warnings,
        })
    }
}

/// Refuses two manifests (rule X30).
fn one_manifest(members: &[Member<'_>]) -> Result<(), Refused> {
    let is_manifest = |member: &&Member<'_>| member.kind == MemberKind::Manifest;
    let mut manifests = members.iter().filter(is_manifest);
    match (manifests.next(), manifests.next()) {
        (Some(first), Some(second)) => Err(Place::default().refused(format_args!(
            "there are two manifests, '{}' and '{}': leave one of them out",
            first.name, second.name
        ))),
        _ => Ok(()),
    }
}

/// The entries that count, with indexes for look-ups.
struct EntryIndex<'a> {
    entries: Vec<Entry<'a>>,
    /// Indexes in `entries`.
    by_path: HashMap<&'a str, usize>,
    names: Vec<String>,
    by_name: HashMap<&'a str, usize>,
    members: HashMap<&'a str, Vec<usize>>,
    warnings: Vec<Warning>,
}

struct Entry<'a> {
    place: Place,
    file: &'a FileEntry,
    mapping: Mapping,
    /// The machines that the entry declares.
    declared: HashSet<usize>,
}

impl<'a> EntryIndex<'a> {
    fn new(manifest: &'a Manifest, members: &[Member<'a>]) -> EntryIndex<'a> {
        let mut known = EntryIndex {
            entries: Vec::new(),
            by_path: HashMap::new(),
            names: Vec::new(),
            by_name: HashMap::new(),
            members: HashMap::new(),
            warnings: Vec::new(),
        };
        for (index, member) in members.iter().enumerate() {
            known.members.entry(member.name).or_default().push(index);
        }
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for (number, file) in manifest.files.iter().enumerate() {
            let path = file.path.as_str();
            if let Some(first) = numbers.get(path) {
                known.warnings.push(Warning::RepeatedPath {
                    entry: number,
                    first: *first,
                    path: path.to_owned(),
                });
                continue;
            }
            numbers.insert(path, number);
            if !known.members.contains_key(path) {
                known.warnings.push(Warning::NoSuchMember { entry: number, path: path.to_owned() });
            }
            known.by_path.insert(path, known.entries.len());
            let entry = known.entry(number, file);
            known.entries.push(entry);
        }
        known
    }

    fn entry(&mut self, number: usize, file: &'a FileEntry) -> Entry<'a> {
        let mut declared = HashSet::new();
        let mapping = match &file.machines {
            Machines::ByRaw => Mapping::ByRaw,
            Machines::One(name) => {
                let name = self.machine(name);
                declared.insert(name);
                Mapping::One(name)
            }
            Machines::Listed(machines) => {
                let mut host = None;
                let mut others = HashMap::new();
                for (id, name) in machines {
                    let name = self.machine(name);
                    declared.insert(name);
                    match id {
                        // Of equal ids, the last counts for the host, and the first for others
                        // (rule X34).
                        0 => host = Some(name),
                        id => {
                            others.entry(*id).or_insert(name);
                        }
                    }
                }
                Mapping::Listed { host, others }
            }
        };
        Entry { place: Place::file(number), file, mapping, declared }
    }

    /// The index of a name in the order of first mention.
    fn machine(&mut self, name: &'a str) -> usize {
        *self.by_name.entry(name).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    fn members_of(&self, path: &str) -> &[usize] {
        self.members.get(path).map_or(&[], Vec::as_slice)
    }

    /// The clock of the timeline, and its machine (rule X36). Without a file, the machine is not
    /// known yet.
    fn trace_time(&self, entry: &TraceTimeEntry) -> Result<(Clock, Option<MachineRef>), Refused> {
        let place = Place::default().field("trace_time");
        let machine = match (&entry.file, &entry.machine) {
            (Some(file), machine) => Some(self.reference(&place, file, machine.as_deref())?),
            (None, None) => None,
            (None, Some(_)) => {
                return Err(place
                    .field("machine")
                    .refused("needs trace_time.file, because a file declares its machines"));
            }
        };
        Ok((entry.clock, machine))
    }

    /// The machine of a reference at `place` (rule X38).
    fn reference(
        &self,
        place: &Place,
        path: &str,
        machine: Option<&str>,
    ) -> Result<MachineRef, Refused> {
        let file = place.field("file");
        let entry = self.by_path.get(path);
        let entry = entry.and_then(|entry| self.entries.get(*entry)).ok_or_else(|| {
            file.refused(format_args!(
                "names unknown file '{path}': it must be the path of an entry of files"
            ))
        })?;
        match machine {
            Some(name) => self.declared(entry, name, &place.field("machine")),
            None => entry.only_machine().ok_or_else(|| {
                let machine = place.field("machine");
                file.refused(format_args!(
                    "'{path}' is a multi-machine trace: also name the machine, as {machine}"
                ))
            }),
        }
    }

    /// The machine of an entry's own clock (rule X38).
    fn own_machine(&self, entry: &Entry<'_>, clocks: &Clocks) -> Result<MachineRef, Refused> {
        let place = entry.place.field("clocks");
        let machine = place.field("machine");
        match &clocks.machine {
            Some(name) => self.declared(entry, name, &machine),
            None => entry.only_machine().ok_or_else(|| {
                let path = &entry.file.path;
                place.refused(format_args!(
                    "is of a multi-machine trace, '{path}': name the machine that the clock is on, as {machine}"
                ))
            }),
        }
    }

    fn declared(
        &self,
        entry: &Entry<'_>,
        name: &str,
        place: &Place,
    ) -> Result<MachineRef, Refused> {
        let named = self.by_name.get(name);
        let named = named.filter(|name| entry.declared.contains(*name));
        named.map(|name| MachineRef::Named(*name)).ok_or_else(|| {
            let (path, entry) = (&entry.file.path, &entry.place);
            place.refused(format_args!(
                "'{name}' is not a machine declared by file '{path}', in {entry}"
            ))
        })
    }

    /// The relations of an entry (rule X35): one, or for a pinned file one for each member with its
    /// name.
    fn relations(&self, entry: &Entry<'_>, clocks: &Clocks) -> Result<Vec<Relation>, Refused> {
        let place = entry.place.field("clocks");
        let sync_to = place.field("sync_to");
        let machine = self.own_machine(entry, clocks)?;
        let path = &clocks.sync_to.file;
        let referenced = self.reference(&sync_to, path, clocks.sync_to.machine.as_deref())?;
        let reference = match clocks.sync_to.clock {
            Some(clock) => RelatedClock::Shared(clock),
            None => {
                let member = self.members_of(path).first().ok_or_else(|| {
                    sync_to.field("file").refused(format_args!(
                        "'{path}' is no file of the import: without {}, the reference is the private clock \
                         of that file",
                        sync_to.field("clock")
                    ))
                })?;
                RelatedClock::Private(*member)
            }
        };
        // Neither is negative, and both fit, because the offset is not the least integer.
        let this_value = 0.max(clocks.offset_ns.saturating_neg());
        let reference_value = 0.max(clocks.offset_ns);

        let own = match clocks.clock {
            Some(clock) => vec![RelatedClock::Shared(clock)],
            None => {
                let members = self.members_of(&entry.file.path);
                members.iter().map(|member| RelatedClock::Private(*member)).collect()
            }
        };
        let mut relations = Vec::new();
        for clock in own {
            if (machine, clock) == (referenced, reference) {
                let what = self.to_itself(machine, clock);
                return Err(place.refused(what));
            }
            relations.push(Relation {
                place: place.clone(),
                this: Reading { machine, clock, value: this_value },
                reference: Reading {
                    machine: referenced,
                    clock: reference,
                    value: reference_value,
                },
            });
        }
        Ok(relations)
    }

    fn to_itself(&self, machine: MachineRef, clock: RelatedClock) -> String {
        let name = match machine {
            MachineRef::Named(index) => self.names.get(index),
            MachineRef::Raw(_) => None,
        };
        let of = match name {
            Some(name) => format!("machine '{name}'"),
            None => "the host".to_owned(),
        };
        match clock {
            RelatedClock::Shared(clock) => format!(
                "relates {clock} of {of} to itself: files of one machine cannot be moved against each other; \
                 give one of them a machine of its own, or leave clocks out"
            ),
            RelatedClock::Private(_) => {
                "relates the private clock of the file to itself: name another file, or a clock, in sync_to".to_owned()
            }
        }
    }
}

impl Entry<'_> {
    /// The machine of a file that has only one; `None` if it has several (rule X38).
    fn only_machine(&self) -> Option<MachineRef> {
        match &self.mapping {
            Mapping::ByRaw => Some(MachineRef::HOST),
            Mapping::One(name) => Some(MachineRef::Named(*name)),
            Mapping::Listed { .. } => None,
        }
    }

    /// Refuses entries that do not apply to an archive or a manifest (rule X39).
    fn may_override(&self, member: Option<&Member<'_>>) -> Result<(), Refused> {
        let kind = match member.map(|member| member.kind) {
            Some(MemberKind::Manifest) => "a manifest",
            Some(MemberKind::Archive) => "an archive",
            _ => return Ok(()),
        };
        let field = match &self.mapping {
            Mapping::One(_) => "machine",
            Mapping::Listed { host: Some(_), .. } => "machines",
            _ if self.file.clocks.is_some() => "clocks",
            _ => return Ok(()),
        };
        let path = &self.file.path;
        Err(self
            .place
            .field(field)
            .refused(format_args!("does not apply to '{path}', which is {kind}, not a trace")))
    }
}
