//! The parts of files, one for each machine: the owner of each part's clocks, and the default clock
//! (rules X13 to X17).

use std::collections::BTreeMap;
use std::io;
use std::ops::{Index, IndexMut, Range};

use rustc_hash::FxHashMap;
use timebase_resolver::{Clock, ClockId, FileTag, MachineId, OwnClocks, SeqId};

use super::time::TraceTime;
use crate::compact::{Take, cut};

/// A file's packets of one machine.
#[derive(Debug)]
pub(crate) struct Part {
    pub file: FileTag,
    pub machine: MachineId,
    /// Whether some of its packets have no machine_id.
    pub is_host: bool,
    /// Whether packets that name no clock use the file's private clock (rules X37, JS31).
    pub is_pinned: bool,
    /// The statements of a file in JSON about its clock.
    pub json: Option<Box<JsonClock>>,
    /// Whether a snapshot makes its clocks the file's own (rule X15).
    pub may_own: bool,
    /// The packet from which its clocks are the file's own.
    pub own_from: Option<i64>,
    /// The clock of packets that name none (rules T2, X17); 0 if there is none.
    pub default_clock: u32,
    /// The default clock that the user gave, which snapshots do not change (rule FP2).
    pub given_clock: Option<ClockId>,
    /// Whether its path to trace time is settled (rule X26), with its current clocks.
    pub is_settled: bool,
    /// Whether anything was converted from the machine's clocks.
    pub used_shared: bool,
    /// Whether it was reported that none of its clocks has a path to trace time.
    pub is_unrelatable: bool,
    /// The reading of the last added pair of rule I1.
    pub last_pair: Option<u64>,
    /// The time of its first packet that has one.
    pub first: Option<TraceTime>,
}

/// The years 2000 to 2099 of Unix time, in nanoseconds: other times are none of a wall clock (rules JS33, JS37).
pub(crate) const WALL_CLOCK_YEARS: Range<i64> = 946_684_800_000_000_000..4_102_444_800_000_000_000;

/// The statements of a file in JSON about its clock, which decide what is assumed (rule JS37).
#[derive(Debug, Default)]
pub(crate) struct JsonClock {
    /// Whether the producer, or the manifest, relates the clock to REALTIME or pins it.
    pub is_anchored: bool,
    /// The first time that an event has.
    pub first: Option<i64>,
    /// The first event of each synchronization with another file (rule JS35).
    pub syncs: BTreeMap<Box<str>, ClockSync>,
}

/// An event that marks the same instant as an event of another file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockSync {
    pub ts: i64,
    /// The time when the synchronization was issued, if this file issued it.
    pub issued: Option<i64>,
}

impl Part {
    /// Whether its clocks are the file's own.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.own_from.is_some()
    }

    /// Whether its clocks may become the file's own.
    pub fn may_become_own(&self) -> bool {
        self.may_own && !self.is_own()
    }

    /// Whether a clock is the private clock of the file.
    #[inline]
    pub fn is_private(&self, id: ClockId) -> bool {
        self.is_pinned && id == ClockId::TRACE_FILE
    }

    /// The clock that an id means on a packet of this part (rule X14).
    #[inline]
    pub fn clock(&self, id: ClockId, seq: SeqId) -> Clock {
        let own = OwnClocks { all: self.is_own(), pin: self.is_pinned };
        Clock::in_file(self.machine, id, seq, self.file, own)
    }

    /// A clock of the machine that all files share.
    pub fn shared(&self, id: ClockId) -> Clock {
        shared(self.machine, id)
    }
}

/// A clock of a machine that all files share.
pub(crate) fn shared(machine: MachineId, id: ClockId) -> Clock {
    Clock::in_file(machine, id, SeqId(0), FileTag::SHARED, OwnClocks::default())
}

/// The index of a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PartIx(pub u32);

/// A part, with the file and the machine of its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PartKey {
    pub part: PartIx,
    /// A row of `trace_file`.
    pub file: u32,
    /// A row of `machine`.
    pub machine: u32,
}

/// The keys of all parts, by which events find their file and their machine.
#[derive(Debug, Default)]
pub(crate) struct PartKeys(Vec<PartKey>);

impl PartKeys {
    /// The keys of parts with these files and machines.
    pub fn new(parts: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let keys = (0..).map(PartIx).zip(parts);
        PartKeys(keys.map(|(part, (file, machine))| PartKey { part, file, machine }).collect())
    }

    /// Takes the number of a part from a record, and returns the key of the part.
    ///
    /// # Errors
    ///
    /// If there is no such part: the temporary file is damaged.
    #[inline]
    pub fn take(&self, take: &mut Take<'_>) -> io::Result<PartKey> {
        let part = take.small()?;
        self.0.get(part as usize).copied().ok_or_else(cut)
    }

    /// The key of a part.
    pub fn get(&self, PartIx(part): PartIx) -> PartKey {
        self.0.get(part as usize).copied().unwrap_or_default()
    }
}

/// All parts, and the parts of the current file.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    all: Vec<Part>,
    /// The parts of the current file, by their machines.
    here: FxHashMap<MachineId, PartIx>,
    /// The host parts of all files, by the position of the file in the order of processing.
    hosts: FxHashMap<u32, PartIx>,
    /// The machines with packets until now, each with the position of its first file in the order
    /// of processing.
    known: FxHashMap<MachineId, u32>,
    file: Option<FileTag>,
    is_pinned: bool,
    has_own_clock: bool,
    given_clock: Option<ClockId>,
    nobody: Option<PartIx>,
    last: Option<((MachineId, bool), PartIx)>,
}

impl Index<PartIx> for Parts {
    type Output = Part;

    #[inline]
    fn index(&self, PartIx(index): PartIx) -> &Part {
        // Every PartIx comes from `find`.
        &self.all[index as usize]
    }
}

impl IndexMut<PartIx> for Parts {
    #[inline]
    fn index_mut(&mut self, PartIx(index): PartIx) -> &mut Part {
        &mut self.all[index as usize]
    }
}

impl Parts {
    /// Begins the next file. The user may have given its default clock (rule FP2). `has_own_clock` says that its
    /// format has a clock of the file's own.
    pub fn begin(
        &mut self,
        file: FileTag,
        is_pinned: bool,
        has_own_clock: bool,
        given_clock: Option<ClockId>,
    ) {
        self.here.clear();
        self.last = None;
        self.file = Some(file);
        self.is_pinned = is_pinned;
        self.has_own_clock = has_own_clock;
        self.given_clock = given_clock;
    }

    /// The part of a machine's packet in the current file. `is_host` holds for a packet without
    /// machine_id.
    #[inline]
    pub fn find(&mut self, machine: MachineId, is_host: bool) -> PartIx {
        let key = (machine, is_host);
        if let Some((last, part)) = self.last
            && last == key
        {
            return part;
        }
        let part = self.find_or_add(machine, is_host);
        self.last = Some((key, part));
        part
    }

    fn find_or_add(&mut self, machine: MachineId, is_host: bool) -> PartIx {
        let file = self.file.unwrap_or(FileTag::ONLY);
        let part = match self.here.get(&machine) {
            Some(&part) => part,
            None => self.add(machine, file),
        };
        if is_host {
            self[part].is_host = true;
            self.hosts.entry(file.order).or_insert(part);
        }
        part
    }

    fn add(&mut self, machine: MachineId, file: FileTag) -> PartIx {
        // A file in JSON reads none of its machine's clocks (rule JS32).
        let may_own =
            !self.has_own_clock && *self.known.entry(machine).or_insert(file.order) != file.order;
        let part = self.push(machine, file, may_own);
        self.here.insert(machine, part);
        part
    }

    fn push(&mut self, machine: MachineId, file: FileTag, may_own: bool) -> PartIx {
        // There are fewer parts than packets, and 2³² packets do not fit into any memory.
        let part = PartIx(self.all.len() as u32);
        self.all.push(Part {
            file,
            machine,
            is_host: false,
            is_pinned: self.is_pinned || self.has_own_clock,
            json: self
                .has_own_clock
                .then(|| JsonClock { is_anchored: self.is_pinned, ..JsonClock::default() }.into()),
            may_own,
            own_from: None,
            default_clock: match self.given_clock {
                _ if self.is_pinned || self.has_own_clock => ClockId::TRACE_FILE.get(),
                given => given.map_or(0, ClockId::get),
            },
            given_clock: self.given_clock.filter(|_| !(self.is_pinned || self.has_own_clock)),
            is_settled: false,
            used_shared: false,
            is_unrelatable: false,
            last_pair: None,
            first: None,
        });
        part
    }

    /// The part of packets without a machine, which belongs to no file.
    fn nobody(&mut self) -> PartIx {
        match self.nobody {
            Some(part) => part,
            None => {
                let part = self.push(MachineId::HOST, FileTag::ONLY, false);
                *self.nobody.insert(part)
            }
        }
    }

    /// The part of a packet that makes no host (rule X11): the host part, if there is one.
    pub fn of_marker(&mut self) -> PartIx {
        self.host_here().unwrap_or_else(|| self.nobody())
    }

    /// The host part of the current file, if there is one until now.
    fn host_here(&self) -> Option<PartIx> {
        self.hosts.get(&self.file?.order).copied()
    }

    /// The host part of a part's file.
    pub fn host_of(&self, part: PartIx) -> Option<PartIx> {
        self.hosts.get(&self[part].file.order).copied()
    }

    /// The parts of the current file, in the order of their first packets.
    pub fn of_current_file(&self) -> Vec<PartIx> {
        let mut here: Vec<PartIx> = self.here.values().copied().collect();
        here.sort_unstable();
        here
    }

    /// The number of all parts.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// All parts by their indexes, in the order of their first packets, including the part of no
    /// file.
    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.all.iter()
    }

    /// The keys of all parts.
    pub fn keys(&self) -> PartKeys {
        PartKeys::new(self.iter().map(|part| (part.file.id, part.machine.0)))
    }

    /// The parts of files.
    pub fn of_files(&self) -> impl Iterator<Item = (PartIx, &Part)> {
        let all = (0..).map(PartIx).zip(&self.all);
        all.filter(|(part, _)| self.nobody != Some(*part))
    }

    /// The clock of packets that name none (rules T2, X17); 0 if there is none.
    #[inline]
    pub fn default_clock(&self, part: PartIx) -> u32 {
        match self[part].default_clock {
            0 => self.host_of(part).map_or(0, |host| self[host].default_clock),
            own => own,
        }
    }
}
