//! The files of an import, and the manifest's statements about them.
//!
//! # Design
//!
//! Everything that can be known before a packet is read is decided here: which files are traces, which of
//! them the manifest allows, and in which order they are read. So the code that reads packets only looks up
//! the rules of the file that it reads.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::manifest::{
    Align, Clock, Manifest, Mapping, Member, MemberKind, MemberRules, Refused, Resolved,
};
use crate::place::AlignedRelation;
use crate::ranks;
use timebase_resolver::{ClockId, FileTag};
use timebase_store::sort::Scratch;
use timebase_trace::{Digested, Formats, Inputs, Monitor, Reads, Source, TraceType};

use crate::error::{Error, NotForJson};
use crate::joined::second_begins;

/// A manifest has some hundred bytes a file.
const LARGEST_MANIFEST: u64 = 64 << 20;

/// A file of an import, with the data that is needed to read it.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// `trace_file.id`.
    pub id: usize,
    pub kind: TraceType,
    pub tag: FileTag,
}

impl File {
    /// Whether a format of traces reads it.
    pub fn is_trace(&self) -> bool {
        matches!(self.kind, TraceType::Trace(_))
    }

    /// Whether its format has a clock of each file's own (rule JS31).
    pub fn has_own_clock(&self) -> bool {
        matches!(self.kind, TraceType::Trace(format) if format.has_own_clock)
    }
}

/// The readings of clocks that a JSON trace states (rule JS32).
#[derive(Debug, Clone, Default)]
pub(crate) struct StatedClocks {
    /// Whether the file's own clock reads 0 then.
    pub has_own: bool,
    /// The shared clocks of its machine.
    pub clocks: Vec<(ClockId, i64)>,
}

/// The choices that decide how the arguments of an import are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'p> {
    pub manifest: Option<&'p Path>,
    /// The formats of traces. Files in others are left out.
    pub formats: Formats,
    pub reads: Reads,
    /// Whether each recording in a file is a file.
    pub split: bool,
}

/// The files of an import.
pub(crate) struct Files<'a> {
    pub inputs: Inputs<'a>,
    /// The files that are read, in this order.
    pub order: Vec<File>,
    /// Whether there is only one.
    pub is_alone: bool,
    pub manifest: Option<Resolved>,
    /// The manifest in its own words.
    pub said: Option<Manifest>,
    /// The digests of manifests, which were already read, by the files' ids.
    pub digests: BTreeMap<usize, Digested>,
    /// The clock of timestamps that name none, unless the manifest says otherwise (rule FP2).
    pub default_clock: Option<Clock>,
    /// How clocks are aligned by causality; nothing is if it is off.
    pub align: Align,
    /// Whether the files can be read again, with the same bytes.
    pub can_be_read_again: bool,
    /// The relations of clocks that an earlier pass found.
    pub relations: Vec<AlignedRelation>,
    /// The statements of JSON traces about their clocks, by the files' ids, if an import has read them. A later pass for
    /// clocks takes them from here.
    pub stated: Option<BTreeMap<usize, StatedClocks>>,
    /// By the files' ids.
    rules: BTreeMap<usize, MemberRules>,
    /// The ranks of files in JSON, by the files' ids, if there are several such files.
    pub ranks: BTreeMap<u32, i64>,
    /// The names of machines that follow from ranks, after those of the manifest (rule JS38).
    pub rank_names: Vec<String>,
}

impl<'a> Files<'a> {
    /// Opens the arguments of an import, and reads the manifest if there is one.
    pub fn open(
        sources: &[Source],
        Opening { manifest, formats, reads, split }: Opening<'_>,
        scratch: &Scratch,
        monitor: &'a Monitor,
    ) -> Result<Files<'a>, Error> {
        let mut inputs = Inputs::open(sources, manifest, formats, reads, scratch, monitor)?;
        if split {
            inputs.split(scratch, |trace| Ok(second_begins(trace)))?;
        }
        let is_alone = inputs.files().len() == 1;
        let order = (1..).zip(inputs.order()).map(|(order, &id)| {
            let file = inputs.files().get(id);
            let kind = file.and_then(|file| file.kind);
            let tag = match is_alone {
                true => FileTag::ONLY,
                false => FileTag {
                    order,
                    // There are fewer than 2³².
                    id: id as u32,
                },
            };
            let kind = kind.unwrap_or(TraceType::Unknown);
            File { id, kind, tag }
        });
        let order: Vec<File> = order.collect();
        let mut files = Files {
            inputs,
            order,
            is_alone,
            manifest: None,
            said: None,
            digests: BTreeMap::new(),
            default_clock: None,
            align: Align::Off,
            can_be_read_again: false,
            relations: Vec::new(),
            stated: None,
            rules: BTreeMap::new(),
            ranks: BTreeMap::new(),
            rank_names: Vec::new(),
        };
        files.read_manifest()?;
        files.read_ranks()?;
        Ok(files)
    }

    fn read_manifest(&mut self) -> Result<(), Error> {
        let Some(found) = self.manifest_file().cloned() else {
            return Ok(());
        };
        let kinds: Vec<MemberKind> = self.order.iter().map(|file| self.member(file)).collect();
        let mut text = Vec::new();
        {
            let mut input = self.inputs.open_file(found.id)?;
            let read = (&mut input.reader).take(LARGEST_MANIFEST + 1).read_to_end(&mut text);
            if let Some(failure) = input.failed() {
                return Err(failure.into());
            }
            if read.is_err() || text.len() as u64 > LARGEST_MANIFEST {
                return Err(Error::ManifestTooLarge {
                    name: input.name().to_owned(),
                    limit: LARGEST_MANIFEST,
                });
            }
            self.digests.insert(found.id, input.digest());
        }
        let refused = Error::Manifest;
        let first = self.traces().into_iter().next();
        if first.is_some_and(|first| first.tag.order < found.tag.order) {
            return Err(refused(Refused::behind_a_trace(&self.name(&found))));
        }
        let manifest = Manifest::parse(&text).map_err(refused)?;
        let names: Vec<String> = self.order.iter().map(|file| self.name(file)).collect();
        let members: Vec<Member<'_>> =
            names.iter().zip(kinds).map(|(name, kind)| Member { name, kind }).collect();
        let resolved = manifest.resolve(&members).map_err(refused)?;
        let rules = self.order.iter().zip(&resolved.members);
        self.rules = rules.map(|(file, rules)| (file.id, rules.clone())).collect();
        self.manifest = Some(resolved);
        self.said = Some(manifest);
        Ok(())
    }

    /// Gives each rank in JSON a machine, unless the manifest says otherwise (rule JS38).
    fn read_ranks(&mut self) -> Result<(), Error> {
        let json: Vec<File> =
            self.order.iter().filter(|file| file.has_own_clock()).cloned().collect();
        if json.len() < 2 {
            return Ok(());
        }
        let mut ranks = Vec::new();
        for file in json {
            let mut input = self.inputs.open_ahead(file.id)?;
            // The import reports damage when it reads the file.
            let rank = ranks::rank(&mut input.reader).unwrap_or_default();
            if let Some(failure) = input.failed() {
                return Err(failure.into());
            }
            ranks.extend(rank.map(|rank| (file.id, rank)));
        }
        // There are fewer than 2³² files.
        self.ranks = ranks.iter().map(|(file, rank)| (*file as u32, *rank)).collect();
        let machines = ranks::machines(ranks.iter().map(|(_, rank)| *rank));
        let named = self.manifest.as_ref().map_or(0, |manifest| manifest.names.len());
        for (file, rank) in ranks {
            let rules = self.rules.entry(file).or_default();
            if let Ok(place) = machines.binary_search(&rank)
                && rules.machines == Mapping::ByRaw
            {
                rules.machines = Mapping::One(named + place);
            }
        }
        self.rank_names = machines.iter().map(|rank| format!("rank {rank}")).collect();
        Ok(())
    }

    /// The file that is the manifest.
    pub fn manifest_file(&self) -> Option<&File> {
        let mut order = self.order.iter();
        order.find(|file| file.kind == TraceType::Manifest)
    }

    /// The traces, in the order in which they are read.
    pub fn traces(&self) -> Vec<File> {
        let order = self.order.iter();
        order.filter(|file| file.is_trace()).cloned().collect()
    }

    /// The name of a file among several.
    pub fn name(&self, file: &File) -> String {
        let file = self.inputs.files().get(file.id);
        file.and_then(|file| file.name.clone()).unwrap_or_default()
    }

    /// The kind of a file, for a manifest.
    pub fn member(&self, file: &File) -> MemberKind {
        let compression = |file: &File| self.inputs.files().get(file.id)?.compression;
        match file.kind {
            TraceType::Manifest => MemberKind::Manifest,
            TraceType::Trace(_) if compression(file).is_some() => MemberKind::Compressed,
            TraceType::Trace(_) => MemberKind::Trace,
            TraceType::Zip | TraceType::Tar => MemberKind::Archive,
            TraceType::Unknown => MemberKind::Unknown,
        }
    }

    /// The rules for the packets of a file: the manifest's, and the options'.
    pub fn rules(&self, file: &File) -> MemberRules {
        let mut rules = self.rules.get(&file.id).cloned().unwrap_or_default();
        if rules.pinned.is_none() {
            rules.default_clock = rules.default_clock.or(self.default_clock);
        }
        rules
    }

    /// The machine that a file has by its rank (rule JS38): its place in the order of ranks, and its name.
    pub fn rank_machine(&self, file: &File) -> Option<(usize, &str)> {
        let named = self.manifest.as_ref().map_or(0, |manifest| manifest.names.len());
        let Mapping::One(machine) = self.rules.get(&file.id)?.machines else {
            return None;
        };
        let place = machine.checked_sub(named)?;
        Some((place, self.rank_names.get(place)?))
    }

    /// The statements of a file about its clock, if an import has read it.
    pub fn stated(&self, file: &File) -> Option<StatedClocks> {
        let stated = self.stated.as_ref().filter(|_| file.has_own_clock())?;
        Some(stated.get(&file.id).cloned().unwrap_or_default())
    }

    /// The options that mean nothing for a file.
    pub fn ignored(&self, file: &File, split: bool) -> Vec<NotForJson> {
        if !file.has_own_clock() {
            return Vec::new();
        }
        let clock = self.rules(file).default_clock.map(|_| NotForJson::DefaultClock);
        clock.into_iter().chain(split.then_some(NotForJson::Split)).collect()
    }

    /// Refuses options that mean nothing for any of the files.
    ///
    /// # Errors
    ///
    /// If there is such an option.
    pub fn check(&self, split: bool) -> Result<(), Error> {
        let traces = self.traces();
        if !traces.iter().all(File::has_own_clock) {
            return Ok(());
        }
        let given = self.default_clock.map(|_| NotForJson::DefaultClock);
        match (traces.first(), given.or(split.then_some(NotForJson::Split))) {
            (Some(first), Some(setting)) => {
                let source_name = self.inputs.title(first.id).to_owned();
                Err(Error::NotForJson { source_name, setting })
            }
            _ => Ok(()),
        }
    }

    /// The tags of the files, in the order in which the manifest knows them.
    pub fn tags(&self) -> Vec<FileTag> {
        self.order.iter().map(|file| file.tag).collect()
    }

    /// The number of bytes that were read before the pipeline reads any.
    pub fn read_ahead(&self) -> u64 {
        self.digests.values().map(|digest| digest.size).sum()
    }

    /// The name of all files together, in messages to the user.
    pub fn title(&self) -> String {
        self.inputs.title(0).to_owned()
    }
}
