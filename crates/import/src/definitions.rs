//! Statements that hold for the whole trace, wherever they are in it (rule O4). They are collected
//! while packets are read, and are all known when events are followed in the order of time.

mod descriptors;
mod end_names;
mod energy;
mod gpu_counters;
mod json;
mod kernel_buffers;
mod name_files;
mod namespaces;
mod packages;
mod parts;
mod process_events;
mod profiles;
mod protolog;
pub(crate) mod records;
mod skipped_names;
mod statements;
mod translations;
pub(crate) mod v8;

use std::sync::Arc;

use crate::manifest::MachineRef;
use rustc_hash::{FxHashMap, FxHashSet};
use timebase_descriptor::Pool;

pub(crate) use self::descriptors::{
    CounterTrack, Descriptor, INSTRUCTIONS, Merging, THREAD_TIME, TrackOwner, Uuids, Writer,
    chrome_process_of, chrome_thread_of, is_sandboxed, process_of, sandboxed, thread_ids,
    thread_of,
};
pub(crate) use self::end_names::EndNames;
pub(crate) use self::energy::{Consumer, ConsumerId, Energy, EntityState, EntityStateId};
pub(crate) use self::gpu_counters::{
    CounterGroup, DescribedCounter, GpuCounter, GpuCounters, GroupCalled,
};
pub(crate) use self::json::{JsonId, JsonThread, JsonThreads, fault as json_fault};
pub(crate) use self::kernel_buffers::{BundleTimes, KernelBuffers, WaitingEnd};
pub(crate) use self::name_files::NameFiles;
pub(crate) use self::namespaces::Namespaces;
pub(crate) use self::packages::Packages;
pub(crate) use self::parts::{PartStatements, StatementsOfParts};
pub(crate) use self::process_events::{BINDER_DIED, PROCESS_START, is_process_event};
pub(crate) use self::profiles::{ProfileWriter, Profiles, StreamedSample, V8Sample};
pub(crate) use self::protolog::{Logged, Protolog, TAG_COLLISION};
pub(crate) use self::records::{Records, uuid};
pub(crate) use self::skipped_names::SkippedNames;
pub(crate) use self::statements::{Says, Stated, StatedBy, counters as stated_counters, statement};
pub(crate) use self::translations::{Hashes, Translated, TranslationRoom, Translations};
pub(crate) use self::v8::{V8Node, V8Session, V8Sessions};
use crate::place::TraceTime;
use crate::timeline::{Label, Name, OwnLabel};

/// All statements that hold for the whole trace.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    pub names: Names,
    pub machines: Machines,
    /// The first statements about the uuids of tracks (rule U1).
    pub uuids: Uuids,
    /// The numbers in pid namespaces that the trace states anywhere.
    pub namespaces: Namespaces,
    /// The packages of Android.
    pub packages: Packages,
    /// Sequences whose first packet is in the trace (rule U9).
    pub first_packets: FxHashSet<u32>,
    /// The names that ends of slices have.
    pub end_names: EndNames,
    /// Names of events that no event can look up.
    pub skipped_names: SkippedNames,
    /// Whether track events may have log messages (rule OT1).
    pub has_log_messages: bool,
    /// The statements that hold for one part.
    pub parts: StatementsOfParts,
    pub translation_room: TranslationRoom,
    /// The writers of profiles.
    pub profiles: Profiles,
    /// The files of the user with names for frames and classes.
    pub name_files: NameFiles,
    /// The threads that the events of JSON traces name.
    pub json_threads: JsonThreads,
    /// The calls in V8's profiles.
    pub v8: V8Sessions,
    /// The recording's statements about itself.
    pub records: Records,
    /// The schema with all additions of the trace, if anything needs it.
    pub schema: Option<Pool>,
}

/// The two times of a CPU between which it lost events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    pub cpu: u32,
    pub start: i64,
    pub end: i64,
}

/// The texts that events store as numbers: names of threads, and any other names while there is
/// room.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Box<[u8]>, Name>,
    texts: Texts,
    /// The memory of the texts.
    bytes: usize,
    /// The number of texts at the time when the room ran out.
    full: Option<u32>,
    /// The last text that was looked up.
    last: Option<(Box<[u8]>, Name)>,
}

/// The approximate size of an entry of [`Names`] besides its text.
const ENTRY: usize = 80;

/// The room for names that can do without a number, in bytes.
const ROOM: usize = 8 << 20;

impl Names {
    /// The number of a text, which always has one.
    #[inline]
    pub fn number(&mut self, text: &[u8]) -> Name {
        match &self.last {
            Some((last, name)) if **last == *text => *name,
            _ => self.look_up(text),
        }
    }

    fn look_up(&mut self, text: &[u8]) -> Name {
        let name = match self.numbers.get(text) {
            Some(&name) => name,
            None => self.add(text),
        };
        self.last = Some((text.into(), name));
        name
    }

    fn add(&mut self, text: &[u8]) -> Name {
        let name = Name(self.texts.0.len() as u32);
        self.texts.0.push(String::from_utf8_lossy(text).into());
        self.numbers.insert(text.into(), name);
        self.bytes += 2 * text.len() + ENTRY;
        name
    }

    /// The number that a text has.
    pub fn find(&self, text: &[u8]) -> Option<Name> {
        self.numbers.get(text).copied()
    }

    /// The number of a text, if it has one or there is room for it. A text that gets no number at
    /// the first call never gets one. So two texts are the same if their numbers are equal, or if
    /// they have no numbers and are equal.
    #[inline]
    pub fn known(&mut self, text: &str) -> Option<Name> {
        let known = self.numbers.get(text.as_bytes()).copied();
        match (known, self.full) {
            (Some(name), None) => Some(name),
            (Some(name), Some(full)) => Some(name).filter(|name| name.0 < full),
            (None, None) if self.bytes < ROOM => Some(self.add(text.as_bytes())),
            (None, full) => {
                self.full = full.or(Some(self.texts.0.len() as u32));
                None
            }
        }
    }

    /// The label with this text.
    #[inline]
    pub fn label<'a>(&mut self, text: &'a str) -> Label<'a> {
        match self.known(text) {
            Some(name) => Label::Known(name),
            None => Label::Own(text),
        }
    }

    /// The text of a label.
    pub fn text_of<'a>(&'a self, label: &'a OwnLabel) -> Option<&'a str> {
        match label {
            OwnLabel::None => None,
            OwnLabel::Known(name) => Some(self.text(*name)),
            OwnLabel::Own(text) => Some(text),
        }
    }

    /// The text of a number.
    pub fn text(&self, name: Name) -> &str {
        self.texts.text(name)
    }

    /// All texts.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }
}

/// Texts by their numbers. Two threads have each text in memory once: the one that gives the numbers, and the one that
/// writes arguments.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<Arc<str>>);

impl Texts {
    /// The text of a number.
    pub fn text(&self, name: Name) -> &str {
        let text = self.0.get(name.0 as usize);
        text.map(AsRef::as_ref).unwrap_or_default()
    }

    /// The texts from this number on.
    pub fn from(&self, number: usize) -> &[Arc<str>] {
        self.0.get(number..).unwrap_or_default()
    }

    /// Adds the next texts.
    pub fn add(&mut self, mut texts: Vec<Arc<str>>) {
        self.0.append(&mut texts);
    }
}

/// The described power rails (rule M10).
#[derive(Debug, Default)]
pub(crate) struct Rails {
    all: Vec<Rail>,
    /// By session and name.
    known: FxHashMap<(u64, Box<str>), usize>,
    indexes: FxHashMap<RailIndex, usize>,
}

/// A power rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rail {
    pub session: u64,
    pub name: Box<str>,
    /// From the first descriptor of the rail.
    pub subsystem: Option<Box<str>>,
}

/// The number by which samples refer to a rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RailIndex {
    pub session: u64,
    pub index: u32,
}

impl Rails {
    /// Gives a rail its number in samples, from the beginning of the trace, unless a later
    /// descriptor gives the number to another rail.
    pub fn describe(&mut self, index: RailIndex, name: &str, subsystem: Option<&str>) {
        let session = index.session;
        let known = self.known.entry((session, name.into()));
        let number = *known.or_insert_with(|| {
            self.all.push(Rail {
                session,
                name: name.into(),
                subsystem: subsystem.map(Into::into),
            });
            self.all.len() - 1
        });
        self.indexes.insert(index, number);
    }

    /// The place of the rail with this number among all rails.
    pub fn number(&self, index: RailIndex) -> Option<usize> {
        self.indexes.get(&index).copied()
    }

    /// All rails, in file order.
    pub fn iter(&self) -> impl Iterator<Item = &Rail> {
        self.all.iter()
    }
}

/// The fields of a recording's configuration that something uses.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// For each buffer, whether it keeps its beginning and drops later packets when it is full.
    /// Otherwise it is a ring.
    pub discards: Vec<bool>,
    /// Whether addresses of the kernel shall have names.
    pub wants_symbols: bool,
    /// Whether the configuration writes into a file, but has no flush period (rule MD9).
    pub lacks_flushes: bool,
}

/// The machines, in the order of the table: first the host, then the others in the order in which
/// they are first seen (rule H1).
#[derive(Debug, Default)]
pub(crate) struct Machines {
    ids: FxHashMap<MachineRef, u32>,
    all: Vec<Machine>,
}

/// The statements about a machine.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// The `machine_id` of its packets; machines that a manifest names have numbers from 2³² on
    /// (rule X11).
    pub raw_id: i64,
    /// Its name in the manifest.
    pub given_name: Option<String>,
    /// Whether only files in JSON are of it.
    pub is_of_json: bool,
    pub packets: u64,
    /// The smallest and the greatest `ts` of its packets.
    pub times: Option<(i64, i64)>,
    pub system: SystemInfo,
    /// CPUs of `cpu_info` (rule H3).
    pub cpus: Vec<CpuInfo>,
}

/// The fields of a `SystemInfo` that something uses.
#[derive(Debug, Default, Clone)]
pub(crate) struct SystemInfo {
    /// The name of the machine.
    pub name: Option<String>,
    pub sysname: Option<String>,
    pub release: Option<String>,
    pub version: Option<String>,
    pub machine: Option<String>,
    /// From the last `machine` that has one.
    pub architecture: Option<Architecture>,
    pub num_cpus: Option<u32>,
    /// 0 means none, too.
    pub page_size: Option<u32>,
    pub android_build_fingerprint: Option<String>,
    pub android_device_manufacturer: Option<String>,
    pub android_sdk_version: Option<i64>,
    pub system_ram_bytes: Option<i64>,
}

/// The architecture, on which the numbers of system calls depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    Aarch64,
    Arm,
    X86_64,
    X86,
}

impl Architecture {
    /// From the machine name that `uname` gives.
    pub fn of_machine(machine: &str) -> Option<Self> {
        match machine {
            "aarch64" => Some(Architecture::Aarch64),
            "armv8l" | "armv7l" => Some(Architecture::Arm),
            "x86_64" => Some(Architecture::X86_64),
            "i686" => Some(Architecture::X86),
            _ => None,
        }
    }
}

/// The largest number of CPUs of a machine.
pub(crate) const CPUS: u32 = 4096;

/// The row of a CPU of a machine (rule H2).
pub(crate) fn ucpu(machine: u32, cpu: u32) -> Option<u32> {
    let first = machine.checked_mul(CPUS)?;
    (cpu < CPUS).then(|| first.saturating_add(cpu))
}

/// A CPU of `cpu_info`.
#[derive(Debug, Default, Clone)]
pub(crate) struct CpuInfo {
    pub processor: Option<String>,
    pub capacity: Option<u32>,
    pub frequencies: Vec<u32>,
    /// Implementer, architecture, variant, part and revision of an Arm CPU.
    pub arm: Option<[u32; 5]>,
    /// A bit for each feature (rule H7).
    pub features: u64,
}

/// The size of a page if the machine does not tell.
const PAGE_SIZE: u32 = 4096;

impl SystemInfo {
    /// The bytes in a page (rule M7).
    pub fn page_size(&self) -> u32 {
        self.page_size.filter(|&size| size > 0).unwrap_or(PAGE_SIZE)
    }

    /// `major.minor` of a Linux kernel, if nothing or a dot follows (rule Q4).
    pub fn kernel_version(&self) -> Option<(u32, u32)> {
        let is_linux = self.sysname.as_deref() == Some("Linux");
        let release = self.release.as_deref().filter(|_| is_linux)?;
        let mut parts = release.split('.');
        let number = |part: Option<&str>| part?.parse::<u32>().ok();
        Some((number(parts.next())?, number(parts.next())?))
    }
}

impl Machine {
    /// Its name: from the manifest, or else its own.
    pub fn name(&self) -> Option<&str> {
        let given = self.given_name.as_deref();
        given.or(self.system.name.as_deref())
    }

    #[inline]
    fn saw(&mut self, TraceTime(ts): TraceTime) {
        let (first, last) = self.times.unwrap_or((ts, ts));
        self.times = Some((first.min(ts), last.max(ts)));
    }
}

impl Machines {
    /// The row of a machine, which may be new. The first machine has row 0; it is the host, or
    /// another machine if there is no host (rule X12).
    pub fn see(&mut self, machine: MachineRef) -> u32 {
        if let Some(&id) = self.ids.get(&machine) {
            return id;
        }
        let id = self.all.len() as u32;
        self.ids.insert(machine, id);
        self.all.push(Machine { raw_id: machine.raw_id(), ..Machine::default() });
        id
    }

    /// Names a machine as the manifest does (rule X11).
    pub fn name(&mut self, machine: MachineRef, name: &str) {
        let id = self.see(machine);
        if let Some(machine) = self.get_mut(id) {
            machine.given_name = Some(name.to_owned());
        }
    }

    /// A machine, by its row.
    pub fn get(&self, id: u32) -> Option<&Machine> {
        self.all.get(id as usize)
    }

    /// A machine, by its row.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Machine> {
        self.all.get_mut(id as usize)
    }

    /// Notes the time of a packet of a machine.
    #[inline]
    pub fn saw(&mut self, id: u32, ts: TraceTime) {
        if let Some(machine) = self.get_mut(id) {
            machine.saw(ts);
        }
    }

    /// All machines, in the order of their rows.
    pub fn iter(&self) -> impl Iterator<Item = &Machine> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q4_a_version_ends_or_goes_on_with_a_dot() {
        let version = |sysname: &str, release: &str| {
            let system = SystemInfo {
                sysname: Some(sysname.to_owned()),
                release: Some(release.to_owned()),
                ..SystemInfo::default()
            };
            system.kernel_version()
        };
        assert_eq!(version("Linux", "6.1.0-13-amd64"), Some((6, 1)));
        assert_eq!(version("Linux", "4.14"), Some((4, 14)));
        assert_eq!(version("Linux", "6.1-rc1"), None);
        assert_eq!(version("Linux", "six"), None);
        assert_eq!(version("Darwin", "6.1"), None);
    }
}
