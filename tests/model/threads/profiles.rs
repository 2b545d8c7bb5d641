//! Profiles (OP to SM): the state, and the packets that change it.

use super::machines::Machine;
use super::profile_heaps::Dumps;
use super::profile_samples::Samples;
use super::profile_stacks::Stacks;
use super::sequences::Streamed;
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;

/// A sequence between two S2: the machine, the sequence, whether there is one, and the number of
/// S2.
pub type Interval = (u32, u32, bool, usize);

/// The whole state of profiles.
#[derive(Debug, Default)]
pub struct Profiles {
    pub stacks: Stacks,
    pub samples: Samples,
    /// OP4
    pub dumps: BTreeMap<Interval, Dumps>,
    pub heap_profiles: Vec<HeapProfile>,
    pub allocations: Vec<Allocation>,
    pub smaps: Vec<Smap>,
    pub event_stacks: Vec<EventStack>,
    /// Counters of `stats`, some with an idx.
    pub stats: BTreeMap<(String, Option<i64>), i64>,
}

#[derive(Debug)]
pub struct HeapProfile {
    pub process: usize,
    pub start: i64,
    pub end: i64,
    pub heap: Option<String>,
}

#[derive(Debug)]
pub struct Allocation {
    pub time: i64,
    pub process: usize,
    pub heap: String,
    pub callsite: usize,
    pub count: i64,
    pub size: i64,
}

/// A row of `profiler_smaps`: its texts and numbers by their columns.
#[derive(Debug)]
pub struct Smap {
    pub process: usize,
    pub time: i64,
    pub texts: BTreeMap<&'static str, String>,
    pub numbers: BTreeMap<&'static str, i64>,
}

/// The callstack of a track event (FP4).
#[derive(Debug)]
pub struct EventStack {
    pub time: i64,
    pub thread: Option<usize>,
    pub slice: Option<usize>,
    pub part: &'static str,
    pub callsite: usize,
    pub weight: Option<f64>,
}

/// A packet of a profiler.
#[derive(Clone, Copy)]
pub struct ProfilePacket {
    pub machine: Machine,
    pub packet: usize,
    pub time: i64,
}

impl ProfilePacket {
    /// The index of a machine's counter.
    pub fn idx(self, idx: i64) -> i64 {
        idx + ((self.machine as i64) << 40)
    }
}

impl Profiles {
    pub fn count(&mut self, counter: &str) {
        self.add(counter, None, 1);
    }

    pub fn add(&mut self, counter: &str, idx: Option<i64>, more: i64) {
        *self.stats.entry((counter.to_owned(), idx)).or_default() += more;
    }

    pub fn set(&mut self, counter: &str, idx: i64, value: i64) {
        self.stats.insert((counter.to_owned(), Some(idx)), value);
    }
}

impl World<'_> {
    pub fn interval(&self, packet: usize) -> Interval {
        let read = &self.packets.all[packet];
        (read.machine, read.sequence, read.is_of_sequence, read.interval)
    }

    pub fn profile(
        &mut self,
        machine: Machine,
        (time, packet): (i64, usize),
        field: u32,
        message: &Message,
    ) {
        let of = ProfilePacket { machine, packet, time };
        match field {
            66 => self.perf_sample(of, message),
            135 => self.stack_sample(of, message),
            37 => self.heap_profile(of, message),
            61 => self.module_symbols(of, message),
            _ => self.smaps(of, message),
        }
    }

    /// CP3
    pub fn streamed_sample(&mut self, machine: Machine, sample: &Streamed) {
        let of = ProfilePacket { machine, packet: sample.packet, time: sample.time };
        self.chrome_sample(of, sample);
    }

    /// SM
    fn smaps(&mut self, of: ProfilePacket, message: &Message) {
        let process = self.processes.process(of.machine, message.id(1));
        if let Some(packed) = message.message(3) {
            return self.packed_smaps(of, process, &packed);
        }
        for entry in message.messages(2) {
            let mut smap = Smap::new(process, of.time, entry.text(1), 1);
            for (field, column) in [
                (2, "size_kb"),
                (3, "private_dirty_kb"),
                (4, "swap_kb"),
                (6, "start_address"),
                (7, "module_timestamp"),
                (11, "private_clean_resident_kb"),
                (12, "shared_dirty_resident_kb"),
                (13, "shared_clean_resident_kb"),
                (14, "locked_kb"),
                (15, "proportional_resident_kb"),
            ] {
                smap.numbers.insert(column, entry.signed(field));
            }
            let flags = i64::from(entry.unsigned(10) as i32);
            smap.numbers.insert("protection_flags", flags);
            for (field, column) in
                [(5, "file_name"), (8, "module_debugid"), (9, "module_debug_path")]
            {
                if let Some(text) = entry.text(field) {
                    smap.texts.insert(column, text);
                }
            }
            self.profiles.smaps.push(smap);
        }
    }

    /// SM3
    fn packed_smaps(&mut self, of: ProfilePacket, process: usize, packed: &Message) {
        const COLUMNS: [(u32, &str); 12] = [
            (4, "size_kb"),
            (5, "rss_kb"),
            (6, "anonymous_kb"),
            (7, "swap_kb"),
            (8, "shared_clean_resident_kb"),
            (9, "shared_dirty_resident_kb"),
            (10, "private_clean_resident_kb"),
            (11, "private_dirty_kb"),
            (12, "locked_kb"),
            (13, "proportional_resident_kb"),
            (14, "pss_dirty_kb"),
            (15, "swap_pss_kb"),
        ];
        let texts = packed.texts(1);
        let names = packed.numbers(2);
        let counts = packed.numbers(3);
        let is_aggregated = packed.has(3);
        let columns = COLUMNS.map(|(field, name)| (name, packed.numbers(field)));
        let first = if is_aggregated { counts.len() } else { names.len() };
        let mut rows = 0;
        let mut is_wrong = false;
        for row in 0..first {
            let ends = columns.iter().any(|(_, c)| !c.is_empty() && c.len() <= row);
            if ends {
                break;
            }
            let named = names.get(row).map(|name| *name as u32 as usize);
            let name = named.filter(|_| !is_aggregated).unwrap_or(row);
            let Some(path) = texts.get(name) else {
                is_wrong = true;
                break;
            };
            let count = counts.get(row).map_or(1, |&count| i64::from(count as u32));
            let mut smap = Smap::new(process, of.time, Some(path.clone()), count);
            for (name, column) in &columns {
                let value = column.get(row).copied().unwrap_or(0);
                smap.numbers.insert(name, value.cast_signed());
            }
            self.profiles.smaps.push(smap);
            rows += 1;
        }
        is_wrong |= first > rows || columns.iter().any(|(_, column)| column.len() > rows);
        is_wrong |= is_aggregated && (!names.is_empty() || texts.len() != rows);
        if is_wrong {
            self.profiles.count("smaps_parser_errors");
        }
    }
}

impl Smap {
    /// SM2
    fn new(process: usize, time: i64, path: Option<String>, count: i64) -> Smap {
        let mut smap = Smap {
            process,
            time,
            texts: BTreeMap::new(),
            numbers: BTreeMap::from([("aggregate_count", count)]),
        };
        if let Some(path) = path {
            let trimmed = path.strip_suffix(" (deleted)");
            smap.numbers.insert("is_deleted", trimmed.is_some().into());
            let trimmed = trimmed.unwrap_or(&path).to_owned();
            smap.texts.insert("path_trimmed", trimmed);
            smap.texts.insert("path", path);
        }
        smap
    }
}
