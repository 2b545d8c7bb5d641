//! What a trace says once, wherever in it that stands (rule O4): collected while
//! packets are read, and known when events are followed in the order of time.

use rustc_hash::FxHashMap;

use crate::place::TraceTime;
use crate::timeline::Name;

/// What is said once.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub names: Names,
    pub machines: Machines,
    /// What is said first of the uuids of tracks (rule U1).
    pub descriptors: FxHashMap<u64, Descriptor>,
}

/// Whom a track is of, by what is said first of its uuid in the file (rules U1, U2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Thread { pid: i64, tid: i64 },
    Process { pid: i64 },
    Nobody,
}

/// What is said first of an uuid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub machine: u32,
    pub said: Said,
    pub parent: Option<u64>,
}

/// Texts that events have by their numbers: names of threads.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Box<[u8]>, Name>,
    texts: Vec<Box<str>>,
    /// The last one that was asked for.
    last: Option<(Box<[u8]>, Name)>,
}

impl Names {
    /// The number of a text.
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
            None => {
                let name = Name(self.texts.len() as u32);
                self.texts.push(String::from_utf8_lossy(text).into());
                self.numbers.insert(text.into(), name);
                name
            }
        };
        self.last = Some((text.into(), name));
        name
    }

    /// The text of a number.
    pub fn text(&self, name: Name) -> &str {
        let text = self.texts.get(name.0 as usize);
        text.map(AsRef::as_ref).unwrap_or_default()
    }
}

/// The machines, in the order of the table: the host first, the others as they are
/// first seen (rule H1).
#[derive(Debug, Default)]
pub(crate) struct Machines {
    ids: FxHashMap<u32, u32>,
    all: Vec<Machine>,
}

/// What is said of a machine.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// `machine_id` of its packets.
    pub raw_id: u32,
    pub system: SystemInfo,
    /// CPUs of `cpu_info` (rule H3).
    pub cpus: Vec<CpuInfo>,
    /// Ftrace events before this are left out (rule O5), unless they were preserved.
    pub tracing_started: Option<u64>,
    pub preserves_buffer: bool,
    /// Of each CPU whether its first bundle was there.
    first_bundles: FxHashMap<u32, ()>,
    /// Until then not all buffers have begun (rule O6).
    pub buffers_begin: Option<TraceTime>,
}

/// A `SystemInfo`, as far as somebody reads it.
#[derive(Debug, Default, Clone)]
pub(crate) struct SystemInfo {
    pub sysname: Option<String>,
    pub release: Option<String>,
    pub version: Option<String>,
    pub machine: Option<String>,
    pub num_cpus: Option<u32>,
    pub page_size: Option<u32>,
    pub android_build_fingerprint: Option<String>,
    pub android_device_manufacturer: Option<String>,
    pub android_sdk_version: Option<i64>,
    pub system_ram_bytes: Option<i64>,
}

/// A CPU of `cpu_info`.
#[derive(Debug, Default, Clone)]
pub(crate) struct CpuInfo {
    pub processor: Option<String>,
    pub capacity: Option<u32>,
    pub frequencies: Vec<u32>,
}

impl Machine {
    /// A bundle of a CPU is read; tells whether it is the first one.
    pub fn is_first_bundle(&mut self, cpu: u32) -> bool {
        self.first_bundles.insert(cpu, ()).is_none()
    }
}

impl Machines {
    /// The row of the machine that packets call so. The first one is 0, be it the
    /// host or, where there is no host, another.
    pub fn see(&mut self, raw_id: u32) -> u32 {
        match self.ids.get(&raw_id) {
            Some(&id) => id,
            None => self.add(raw_id),
        }
    }

    fn add(&mut self, raw_id: u32) -> u32 {
        let id = self.all.len() as u32;
        self.ids.insert(raw_id, id);
        self.all.push(Machine {
            raw_id,
            ..Machine::default()
        });
        id
    }

    /// A machine, by its row.
    pub fn get(&self, id: u32) -> Option<&Machine> {
        self.all.get(id as usize)
    }

    /// A machine, by its row.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Machine> {
        self.all.get_mut(id as usize)
    }

    /// All of them, in the order of their rows.
    pub fn iter(&self) -> impl Iterator<Item = &Machine> {
        self.all.iter()
    }
}
