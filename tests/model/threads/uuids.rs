//! The owners of descriptors' uuids, and their tracks (U3 to U11, J3 to J6).

use super::args::{Args, Said};
use super::described::{Described, Descriptor, Merging, Stands};
use super::machines::Machine;
use super::processes::{Processes, Upid, Utid, rank};
use super::tracks::{Row, Track, TrackId, TrackOwner};
use super::wire::Message;
use super::world::World;
use crate::support::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A uuid on a machine, which is identified by its `id` and its `raw_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uuid {
    pub machine: Machine,
    pub raw_id: u32,
    pub number: u64,
}

/// The owner of a uuid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Owner {
    Thread(Utid),
    Process(Upid),
    Nobody,
}

/// The track or the lanes of a uuid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Track(TrackId),
    /// An index in the list of sets of lanes.
    Lanes(usize),
}

/// The common facts of the uuids in a set (U6).
#[derive(Clone, Debug, PartialEq)]
pub struct SetKey {
    machine: Machine,
    parent: Option<u64>,
    by_key: bool,
    key: Option<String>,
}

/// Lanes (U6, L5).
#[derive(Debug)]
pub struct Lanes<Key> {
    pub key: Key,
    lanes: Vec<Lane>,
}

#[derive(Debug)]
struct Lane {
    /// The owner: a uuid or an id.
    of: u64,
    count: usize,
    track: TrackId,
}

impl<Key> Lanes<Key> {
    pub fn new(key: Key) -> Lanes<Key> {
        let lanes = Vec::new();
        Lanes { key, lanes }
    }

    /// The lane for a begin or an end of an owner, which keeps it from then on.
    fn take(&mut self, of: u64) -> Option<&mut Lane> {
        let own = self.lanes.iter().position(|lane| lane.of == of);
        let free = || self.lanes.iter().position(|lane| lane.count == 0);
        let place = own.or_else(free)?;
        self.lanes[place].of = of;
        Some(&mut self.lanes[place])
    }

    /// The same, and the change in the number of begins without an end.
    pub fn count(&mut self, of: u64, by: Count) -> Option<TrackId> {
        let lane = self.take(of)?;
        match by {
            Count::Begin => lane.count += 1,
            Count::End => lane.count = lane.count.saturating_sub(1),
            Count::Instant => {}
        }
        Some(lane.track)
    }

    pub fn add(&mut self, of: u64, track: TrackId) {
        self.lanes.push(Lane { of, count: 0, track });
    }
}

/// The effect of an event on its lane. An instant is a begin, then an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    Begin,
    End,
    Instant,
}

/// The uuids that were used.
#[derive(Debug, Default)]
pub struct Uuids {
    owners: BTreeMap<Uuid, Owner>,
    /// Rows that uuids met (J3, J4).
    taken: Vec<Owner>,
    /// The uuids without descriptor that had events (U4).
    undescribed: BTreeSet<Uuid>,
    /// Names of uuids from events (U5, U6).
    names: BTreeMap<Uuid, Option<String>>,
    /// The sequence of the event that first needed a track (U9).
    makers: BTreeMap<Uuid, (u32, u32)>,
    tracks: BTreeMap<Uuid, TrackId>,
    pub sets: Vec<Lanes<(Owner, SetKey)>>,
}

/// The largest number of a uuid's parents.
const PARENTS: usize = 98;

/// A uuid and its parents, the uuid first, if it has a track (U4).
fn chain(world: &World<'_>, uuid: Uuid) -> Option<Vec<Uuid>> {
    let mut chain = vec![uuid];
    loop {
        let last = *chain.last()?;
        let Some(descriptor) = world.described.of(last.raw_id, last.number) else {
            return world.uuids.undescribed.contains(&last).then_some(chain);
        };
        let Some(number) = descriptor.parent else {
            return Some(chain);
        };
        let parent = Uuid { number, ..last };
        if chain.contains(&parent) || chain.len() > PARENTS {
            return None;
        }
        chain.push(parent);
    }
}

impl World<'_> {
    fn descriptor(&self, uuid: Uuid) -> Option<&Descriptor> {
        self.described.of(uuid.raw_id, uuid.number)
    }

    /// The owner of a uuid with an event (U3, U4).
    pub fn owner_of_event(&mut self, uuid: Uuid) -> Option<Owner> {
        if self.descriptor(uuid).is_none() {
            self.uuids.undescribed.insert(uuid);
        }
        self.owner(uuid)
    }

    fn owner(&mut self, uuid: Uuid) -> Option<Owner> {
        let chain = chain(self, uuid)?;
        let mut owner = Owner::Nobody;
        for uuid in chain.into_iter().rev() {
            if let Some(known) = self.uuids.owners.get(&uuid) {
                owner = *known;
                continue;
            }
            owner = self.settle(uuid).unwrap_or(owner);
            self.uuids.owners.insert(uuid, owner);
        }
        Some(owner)
    }

    /// The thread or process of a uuid at its first use (J2 to J4, P16).
    fn settle(&mut self, uuid: Uuid) -> Option<Owner> {
        let Uuid { machine, .. } = uuid;
        let descriptor = self.descriptor(uuid)?;
        let trusted = descriptor.trusted_pid;
        let owner = match descriptor.stands {
            Stands::Thread { pid, tid, .. } => {
                let (pid, tid) = self.outside(machine, trusted, (pid, tid));
                let utid = self.processes.bind(machine, tid, pid);
                if self.take(Owner::Thread(utid)) {
                    Owner::Thread(utid)
                } else {
                    self.processes.new_thread(machine, tid, None);
                    Owner::Thread(self.processes.bind(machine, tid, pid))
                }
            }
            Stands::Process(pid) => {
                let pid = self.pid_outside(machine, trusted, pid);
                let upid = self.processes.process(machine, pid);
                if self.take(Owner::Process(upid)) {
                    Owner::Process(upid)
                } else {
                    self.processes.fork(machine, None, pid, None);
                    Owner::Process(self.processes.process(machine, pid))
                }
            }
            _ => return None,
        };
        self.sort_hint(uuid, owner);
        Some(owner)
    }

    /// Whether no uuid has met a row before (J3, J4). The next uuid can meet a row that was made
    /// for a uuid.
    fn take(&mut self, row: Owner) -> bool {
        let is_new = !self.uuids.taken.contains(&row);
        self.uuids.taken.push(row);
        is_new
    }

    /// J6
    fn sort_hint(&mut self, uuid: Uuid, owner: Owner) {
        const BY_RANK: u64 = 1;
        let root = Uuid { number: 0, ..uuid };
        let ordering = |field| {
            let root = self.descriptor(root);
            root.is_some_and(|root| root.fields.unsigned(field) == BY_RANK)
        };
        let (processes, threads) = (ordering(19), ordering(20));
        let rank = self.descriptor(uuid).and_then(|d| d.fields.number(12));
        let Some(rank) = rank.map(|rank| Said::Int(i64::from(rank as i32))) else {
            return;
        };
        match owner {
            Owner::Process(upid) if processes => {
                let args = &mut self.processes.processes[upid].args;
                args.say("process_sort_index_hint", rank);
            }
            Owner::Thread(utid) if threads => {
                let args = &mut self.processes.threads[utid].args;
                args.say("thread_sort_index_hint", rank);
            }
            _ => {}
        }
    }

    /// A packet with a TrackDescriptor (P16, J5).
    pub fn track_descriptor(
        &mut self,
        (machine, raw_id): (Machine, u32),
        packet: usize,
        descriptor: &Message,
    ) {
        if !Described::accepts(descriptor) {
            return;
        }
        let number = descriptor.unsigned(1);
        let uuid = Uuid { machine, raw_id, number };
        if self.owner(uuid).is_none() {
            return;
        }
        if let Some(thread) = descriptor.message(4) {
            let chrome_thread = descriptor.message(7);
            self.name_thread((machine, packet), &thread, chrome_thread.as_ref());
        } else if let Some(process) = descriptor.message(3) {
            let upid = self.name_process((machine, packet), &process);
            if let Some(chrome) = descriptor.message(6) {
                chrome_process(&mut self.processes, upid, &chrome);
            }
        }
    }

    /// The place of a uuid's events (U5, U6). An event names it, if necessary.
    pub fn place(&mut self, uuid: Uuid, name: Option<&str>, sequence: (u32, u32)) -> Option<Place> {
        let owner = self.owner(uuid)?;
        if !self.uuids.makers.contains_key(&uuid) {
            self.parent_of(uuid, sequence);
            self.uuids.makers.insert(uuid, sequence);
            self.uuids.names.insert(uuid, name.map(str::to_owned));
        }
        let named = self.uuids.names[&uuid].clone();
        let descriptor = self.descriptor(uuid).cloned();
        let Some(descriptor) = descriptor else {
            let root = (uuid.number == 0).then(|| "Default Track".to_owned());
            return Some(self.lanes_of(uuid, owner, root.or(named), None));
        };
        let name = descriptor.name.clone();
        let own = match (&descriptor.stands, &descriptor.merging) {
            (Stands::Thread { alone: false, .. }, _) => return self.thread_track(uuid),
            (Stands::Thread { .. } | Stands::Process(_) | Stands::Counter(_), _) => name,
            (Stands::State, _) | (_, Merging::Never) => name.or(named),
            _ => {
                let name = self.track_name(uuid, owner, name.or(named));
                return Some(self.lanes_of(uuid, owner, name, Some(&descriptor)));
            }
        };
        let own = self.track_name(uuid, owner, own);
        Some(Place::Track(self.own_track(uuid, owner, own, sequence)))
    }

    /// The name of a track, translated if a process owns the track (TN4).
    fn track_name(&self, uuid: Uuid, owner: Owner, name: Option<String>) -> Option<String> {
        match owner {
            Owner::Process(_) => self.slices.translations.track(uuid.machine, name.as_deref()),
            _ => name,
        }
    }

    /// The thread's only track (U5).
    fn thread_track(&mut self, uuid: Uuid) -> Option<Place> {
        let Some(Owner::Thread(utid)) = self.owner(uuid) else {
            return None;
        };
        let track = self.slices.tracks.find(&Track::of_thread(utid));
        Some(Place::Track(track))
    }

    fn own_track(
        &mut self,
        uuid: Uuid,
        owner: Owner,
        name: Option<String>,
        sequence: (u32, u32),
    ) -> TrackId {
        if let Some(track) = self.uuids.tracks.get(&uuid) {
            return *track;
        }
        let (what, counter) = match self.descriptor(uuid).map(|d| d.stands.clone()) {
            Some(Stands::Counter(counter)) => ("counter_track_event", Some(counter)),
            Some(Stands::State) => ("state_track_event", None),
            _ => ("track_event", None),
        };
        let mut row = self.row(uuid, owner, what, name, sequence);
        row.is_counter = counter.is_some();
        row.track.unit = counter.as_ref().and_then(unit);
        let track = self.slices.tracks.make(row);
        self.uuids.tracks.insert(uuid, track);
        track
    }

    /// The set of a uuid's lanes (U6).
    fn lanes_of(
        &mut self,
        uuid: Uuid,
        owner: Owner,
        name: Option<String>,
        descriptor: Option<&Descriptor>,
    ) -> Place {
        let (by_key, key) = match descriptor.map(|d| &d.merging) {
            Some(Merging::ByKey(key)) => (true, key.clone()),
            _ => (false, name),
        };
        let key = SetKey {
            machine: uuid.machine,
            parent: descriptor.and_then(|d| d.parent),
            by_key,
            key,
        };
        let key = (owner, key);
        let found = self.uuids.sets.iter().position(|set| set.key == key);
        Place::Lanes(found.unwrap_or_else(|| {
            self.uuids.sets.push(Lanes::new(key));
            self.uuids.sets.len() - 1
        }))
    }

    /// The lane of a uuid for an event (U6).
    pub fn lane(&mut self, set: usize, uuid: Uuid, by: Count, sequence: (u32, u32)) -> TrackId {
        if let Some(track) = self.uuids.sets[set].count(uuid.number, by) {
            return track;
        }
        let track = self.new_lane(set, uuid, sequence);
        self.uuids.sets[set].count(uuid.number, by);
        track
    }

    fn new_lane(&mut self, set: usize, uuid: Uuid, sequence: (u32, u32)) -> TrackId {
        let (owner, _) = self.uuids.sets[set].key;
        let of_descriptor = self.descriptor(uuid).and_then(|d| d.name.clone());
        let of_event = self.uuids.names.get(&uuid).cloned().flatten();
        let name = match (uuid.number, self.descriptor(uuid)) {
            (0, None) => Some("Default Track".to_owned()),
            _ => self.track_name(uuid, owner, of_descriptor.or(of_event)),
        };
        let row = self.row(uuid, owner, "merged_track_event", name, sequence);
        let track = self.slices.tracks.make(row);
        self.uuids.sets[set].add(uuid.number, track);
        track
    }

    /// The row of a uuid (U5, U7 to U9).
    fn row(
        &mut self,
        uuid: Uuid,
        owner: Owner,
        what: &str,
        name: Option<String>,
        sequence: (u32, u32),
    ) -> Row {
        let parent = self.parent_of(uuid, sequence);
        let source = self.source(uuid, self.uuids.makers[&uuid]);
        let (of, whose) = match owner {
            Owner::Thread(utid) => (TrackOwner::Thread(utid), "thread"),
            Owner::Process(upid) => (TrackOwner::Process(upid), "process"),
            Owner::Nobody => (TrackOwner::Machine(uuid.machine), "global"),
        };
        Row {
            track: Track::new(&format!("{whose}_{what}"), name.as_deref(), of),
            parent,
            source,
            is_counter: false,
        }
    }

    /// The parent's row is made even if this row is left out (U8).
    fn parent_of(&mut self, uuid: Uuid, sequence: (u32, u32)) -> Option<TrackId> {
        let descriptor = self.descriptor(uuid)?.clone();
        let parent = Uuid { number: descriptor.parent?, ..uuid };
        let track = match self.place(parent, None, sequence)? {
            Place::Track(track) => track,
            Place::Lanes(set) => match self.uuids.sets[set].lanes.first() {
                Some(first) => first.track,
                None => self.new_lane(set, parent, sequence),
            },
        };
        let of_parent = self.descriptor(parent);
        let is_root = of_parent.is_some_and(|d| d.stands.is_root());
        (!is_root && !descriptor.stands.is_root()).then_some(track)
    }

    /// U9
    fn source(&self, uuid: Uuid, maker: (u32, u32)) -> Args {
        let mut args = Args::default();
        let descriptor = self.descriptor(uuid);
        let is_root = descriptor.is_some_and(|d| d.stands.is_root());
        args.say("source", Said::text("descriptor"));
        args.say("trace_id", Said::Int(uuid.number.cast_signed()));
        args.say("is_root_in_scope", Said::Bool(is_root || uuid.number == 0));
        let has_first = self.packets.all.iter().any(|packet| {
            let is_first = packet.first_on_sequence && packet.is_of_sequence;
            is_first && (packet.machine, packet.sequence) == maker
        });
        if has_first && uuid.number != 0 {
            args.say("has_first_packet_on_sequence", Said::Bool(true));
        }
        let Some(descriptor) = descriptor else {
            return args;
        };
        if let Stands::Counter(counter) = &descriptor.stands {
            say_counter(&mut args, counter);
        }
        let fields = &descriptor.fields;
        let orderings = ["lexicographic", "chronological", "explicit"];
        let ordering = (fields.unsigned(11) as usize).checked_sub(1);
        if let Some(ordering) = ordering.and_then(|place| orderings.get(place)) {
            args.say("child_ordering", Said::text(ordering));
        }
        if let Some(rank) = fields.number(12) {
            args.say("sibling_order_rank", Said::Int(i64::from(rank as i32)));
        }
        if let Some(description) = fields.text(14) {
            args.say("description", Said::text(&description));
        }
        args
    }
}

/// The same for a counter (U9).
fn say_counter(args: &mut Args, counter: &Message) {
    let categories = counter.texts(2);
    if !categories.is_empty() {
        args.say("category", Said::text(&categories.join(",")));
    }
    match counter.unsigned(1) {
        1 => args.say("builtin_counter_type", Said::text("thread_time")),
        2 => args.say("builtin_counter_type", Said::text("thread_instruction_count")),
        _ => {}
    }
    if let Some(key) = counter.text(7) {
        args.say("y_axis_share_key", Said::text(&key));
    }
}

/// U10
fn unit(counter: &Message) -> Option<String> {
    let unit = match (counter.unsigned(1), counter.unsigned(3)) {
        (1, _) | (0 | 3.., 1) => "ns",
        (2, _) | (_, 2) => "count",
        (_, 3) => "bytes",
        _ => return counter.text(6),
    };
    Some(unit.to_owned())
}

impl World<'_> {
    /// J5
    pub fn name_thread(
        &mut self,
        (machine, packet): (Machine, usize),
        thread: &Message,
        chrome_thread: Option<&Message>,
    ) {
        let numbers = Described::pid_and_tid(thread, chrome_thread);
        let trusted = self.packets.all[packet].trusted_pid;
        let (pid, tid) = self.outside(machine, trusted, numbers);
        let processes = &mut self.processes;
        let utid = processes.bind(machine, tid, pid);
        let name = thread.text(5).filter(|name| !name.is_empty());
        // J9
        let name = name.or_else(|| of_type('T', thread.number(4)?));
        processes.name_thread(utid, name.as_deref(), rank::THREAD_DESCRIPTOR);
        let kind = chrome_thread.and_then(|chrome| chrome.number(1));
        let name = kind.and_then(|kind| of_type('T', kind));
        processes.name_thread(utid, name.as_deref(), rank::LEGACY_THREAD);
    }

    /// J5, J6
    pub fn name_process(&mut self, (machine, packet): (Machine, usize), process: &Message) -> Upid {
        let trusted = self.packets.all[packet].trusted_pid;
        let pid = self.pid_outside(machine, trusted, process.id(1));
        let processes = &mut self.processes;
        let upid = processes.process(machine, pid);
        let name = process.text(6).filter(|name| !name.is_empty());
        processes.name_process(upid, name.as_deref(), rank::PROCESS_DESCRIPTOR);
        let start = Some(process.signed(7)).filter(|start| *start > 0);
        let row = &mut processes.processes[upid];
        row.start = row.start.or(start);
        for (place, label) in process.texts(8).iter().enumerate() {
            let key = super::args::Key::new("chrome.process_label").element(place);
            row.args.set(key, Said::text(label));
        }
        if let Some(kind) = process.number(4) {
            name_by_type(processes, upid, kind);
        }
        upid
    }
}

/// The name of a type of Chrome, in a list of the rules (J8, J9).
fn of_type(list: char, kind: u64) -> Option<String> {
    let rules = fs::read_to_string(repository().join("docs/rules/track-events.md")).unwrap();
    let start = format!("List {list}: ");
    let mut lists = rules.lines().filter_map(|line| line.strip_prefix(&start));
    let list = lists.next().unwrap().strip_suffix("; others no name.");
    let mut types = list.unwrap().split(" · ");
    let start = format!("{} ", kind as u32);
    types.find_map(|name| name.strip_prefix(&start).map(str::to_owned))
}

/// J8
fn name_by_type(processes: &mut Processes, upid: Upid, kind: u64) {
    let rank = match kind as u32 {
        2 | 40 => rank::RENDERER,
        _ => rank::KERNEL,
    };
    processes.name_process(upid, of_type('P', kind).as_deref(), rank);
}

/// J8
fn chrome_process(processes: &mut Processes, upid: Upid, chrome: &Message) {
    name_by_type(processes, upid, chrome.unsigned(1));
    let args = &mut processes.processes[upid].args;
    let kind = of_type('P', chrome.unsigned(1));
    args.say("chrome.process_type", Said::String(kind));
    if let Some(package) = chrome.text(4) {
        args.say("chrome.host_app_package_name", Said::text(&package));
    }
    if let Some(id) = chrome.number(5) {
        args.say("chrome.crash_trace_id", Said::Uint(id));
    }
}
