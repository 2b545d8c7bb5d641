//! The descriptors of tracks, by their uuids (rules U1, U2).
//!
//! A uuid has a number, and an index finds its descriptor, because nearly every track event names one.
//!
//! A trace may describe 100,000 threads: each takes 32 bytes, and 21 as a uuid. So fields that few of them have are
//! boxed, and a hash table of numbers finds a uuid or a thread, which is stored once.

use std::hash::{BuildHasher, BuildHasherDefault, Hash};

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use timebase_schema::fields::{
    chrome_thread_descriptor as chrome_thread, counter_descriptor as counter,
    process_descriptor as process, thread_descriptor as thread, track_descriptor as field,
};

use crate::message::Message;
use crate::output::Fault;
use crate::pieces::Pieces;
use crate::place::PartIx;
use crate::timeline::{UuidIx, WriterThread};

/// The owner or the kind of a track: the first of these that its descriptor has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TrackOwner {
    Thread { pid: u32, tid: i64 },
    Process { pid: u32 },
    Counter(Box<CounterTrack>),
    State,
    Nobody,
}

/// The `CounterDescriptor` of a track.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct CounterTrack {
    pub counter_type: u64,
    pub categories: Vec<Box<str>>,
    pub unit: u64,
    pub unit_name: Option<Box<str>>,
    pub multiplier: i64,
    pub is_incremental: bool,
    pub y_axis_share_key: Option<Box<str>>,
}

/// The tracks that share the lanes of a track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merging {
    ByName,
    Never,
    ByKey(Option<Box<str>>),
}

/// A `TrackDescriptor`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Descriptor {
    pub owner: TrackOwner,
    /// Whether a thread's track is one of its own.
    pub keeps_apart: bool,
    /// The pid of the writer, which may be outside of a namespace; 0 if its packet does not say.
    pub trusted_pid: u32,
    more: Option<Box<RareFields>>,
}

/// The fields that few descriptors of threads have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RareFields {
    name: Option<Box<str>>,
    pub parent: Option<u64>,
    pub merging: Merging,
    pub child_ordering: u64,
    pub rank: Option<i64>,
    pub description: Option<Box<str>>,
    /// Whether processes, and threads, are in the order of their ranks: said of uuid 0.
    pub orders_processes: bool,
    pub orders_threads: bool,
}

/// Their values in all other descriptors.
static NOTHING_FURTHER: RareFields = RareFields {
    name: None,
    parent: None,
    merging: Merging::ByName,
    child_ordering: 0,
    rank: None,
    description: None,
    orders_processes: false,
    orders_threads: false,
};

/// The reasons to ignore a descriptor (rules U1, U2).
mod ignored {
    use crate::output::{Counter, Fault};

    pub const MISSING_UUID: Fault = Fault::new(
        Counter::error(
            "track_descriptor_missing_uuid",
            "a track descriptor without uuid is ignored",
        )
        .drops_nothing(),
    );
    pub const THREAD: Fault = Fault::new(
        Counter::error(
            "track_descriptor_thread_missing_pid_tid",
            "a descriptor of a thread's track without pid or tid is ignored",
        )
        .drops_nothing(),
    );
    pub const PROCESS: Fault = Fault::new(
        Counter::error(
            "track_descriptor_process_missing_pid",
            "a descriptor of a process's track without pid is ignored",
        )
        .drops_nothing(),
    );
    pub const ORDERING: Fault = Fault::new(
        Counter::error(
            "track_descriptor_invalid_child_ordering",
            "a track descriptor with an unknown child_ordering is ignored",
        )
        .drops_nothing(),
    );
    pub const PARENT: Fault = Fault::new(
        Counter::error(
            "track_descriptor_default_track_with_parent",
            "a descriptor of the default track (uuid 0) with a parent is \
         ignored",
        )
        .drops_nothing(),
    );
    pub const CONFLICT: Fault = Fault::new(
        Counter::error(
            "track_descriptor_conflicting_reservation",
            "a track descriptor that contradicts an earlier one with the same \
         uuid is ignored",
        )
        .drops_nothing(),
    );
}

/// `CounterDescriptor.type`: the time or the instructions that a thread spent.
pub(crate) const THREAD_TIME: u64 = 1;
pub(crate) const INSTRUCTIONS: u64 = 2;

/// The pid and the tid of a `ThreadDescriptor` (rule J2). A main thread whose writer has a negative pid
/// has the same tid.
pub(crate) fn thread_ids(thread: Message<'_>, is_sandboxed: bool) -> (i64, i64) {
    let written = thread.small(thread::PID).unwrap_or(0);
    let pid = i64::from(written);
    let tid = thread.number(thread::TID).unwrap_or(0) as i64;
    match is_sandboxed {
        true => (pid, sandboxed(pid, tid)),
        false if tid == i64::from(written as i32) => (pid, pid),
        false => (pid, tid),
    }
}

/// The tid of a thread of a sandbox, which is another one in each process (rule J7).
pub(crate) fn sandboxed(pid: i64, tid: i64) -> i64 {
    pid << 32 | tid
}

/// Whether the tid of a descriptor's thread is one of a sandbox (rule J7).
pub(crate) fn is_sandboxed(descriptor: Message<'_>) -> bool {
    let thread = chrome_thread_of(descriptor);
    thread.is_some_and(|thread| thread.flag(chrome_thread::IS_SANDBOXED_TID))
}

/// The `ThreadDescriptor` of a `TrackDescriptor`.
pub(crate) fn thread_of(descriptor: Message<'_>) -> Option<Message<'_>> {
    descriptor.bytes(field::THREAD).map(Message)
}

/// The `ChromeThreadDescriptor` of a `TrackDescriptor`.
pub(crate) fn chrome_thread_of(descriptor: Message<'_>) -> Option<Message<'_>> {
    descriptor.bytes(field::CHROME_THREAD).map(Message)
}

/// The `ChromeProcessDescriptor` of a `TrackDescriptor`.
pub(crate) fn chrome_process_of(descriptor: Message<'_>) -> Option<Message<'_>> {
    descriptor.bytes(field::CHROME_PROCESS).map(Message)
}

/// The `ProcessDescriptor` of a `TrackDescriptor`.
pub(crate) fn process_of(descriptor: Message<'_>) -> Option<Message<'_>> {
    descriptor.bytes(field::PROCESS).map(Message)
}

fn text(message: Message<'_>, field: u32) -> Option<Box<str>> {
    Some(message.text(field)?.into())
}

impl CounterTrack {
    fn of(message: Message<'_>) -> CounterTrack {
        let categories = message.each(counter::CATEGORIES).map(String::from_utf8_lossy);
        CounterTrack {
            counter_type: message.number(counter::TYPE).unwrap_or(0),
            categories: categories.map(Into::into).collect(),
            unit: message.number(counter::UNIT).unwrap_or(0),
            unit_name: text(message, counter::UNIT_NAME),
            multiplier: message.number(counter::UNIT_MULTIPLIER).unwrap_or(0) as i64,
            is_incremental: message.flag(counter::IS_INCREMENTAL),
            y_axis_share_key: text(message, counter::Y_AXIS_SHARE_KEY),
        }
    }

    /// A value times its multiplier (rule E16).
    pub fn scale(&self, value: f64) -> f64 {
        match self.multiplier {
            ..=0 => value,
            multiplier => value * multiplier as f64,
        }
    }

    /// The unit of its values (rule U10).
    pub fn unit(&self) -> Option<&str> {
        match (self.counter_type, self.unit) {
            (THREAD_TIME, _) => Some("ns"),
            (INSTRUCTIONS, _) => Some("count"),
            (_, 1) => Some("ns"),
            (_, 2) => Some("count"),
            (_, 3) => Some("bytes"),
            _ => self.unit_name.as_deref(),
        }
    }

    /// Rule U1, of counters.
    fn agrees(&self, other: &CounterTrack) -> bool {
        self.categories == other.categories
            && self.multiplier == other.multiplier
            && self.is_incremental == other.is_incremental
            && self.counter_type == other.counter_type
            && self.y_axis_share_key == other.y_axis_share_key
    }
}

impl Descriptor {
    /// Reads a `TrackDescriptor` with its uuid.
    ///
    /// # Errors
    ///
    /// The reason to ignore it (rule U2).
    pub fn read(message: Message<'_>, trusted_pid: u32) -> Result<(u64, Descriptor), Fault> {
        const ORDERINGS: u64 = 3;
        const EXPLICIT: u64 = 1;
        let uuid = message.number(field::UUID).ok_or(ignored::MISSING_UUID)?;
        let owner = owner(message)?;
        let child_ordering = message.number(field::CHILD_ORDERING).unwrap_or(0);
        if child_ordering > ORDERINGS {
            return Err(ignored::ORDERING);
        }
        let is_explicit = |field| message.number(field) == Some(EXPLICIT);
        let name = [field::NAME, field::STATIC_NAME, field::ATRACE_NAME];
        let name = name.into_iter().find_map(|field| text(message, field));
        let more = RareFields {
            name: name.or_else(|| default_name(&owner)),
            parent: message.number(field::PARENT_UUID).filter(|&uuid| uuid != 0),
            merging: merging(message),
            child_ordering,
            rank: message.number(field::SIBLING_ORDER_RANK).map(|rank| rank as i32 as i64),
            description: text(message, field::DESCRIPTION),
            orders_processes: is_explicit(field::PROCESS_ORDERING),
            orders_threads: is_explicit(field::THREAD_ORDERING),
        };
        let descriptor = Descriptor {
            keeps_apart: message.flag(field::DISALLOW_MERGING_WITH_SYSTEM_TRACKS),
            trusted_pid,
            more: (more != NOTHING_FURTHER).then(|| more.into()),
            owner,
        };
        Ok((uuid, descriptor))
    }

    /// A track of a name. A counter that has none may have the name of its type.
    #[cfg(test)]
    pub fn new(owner: TrackOwner, name: Option<Box<str>>) -> Descriptor {
        let mut descriptor = Descriptor { owner, keeps_apart: false, trusted_pid: 0, more: None };
        descriptor.set_name(name.or_else(|| default_name(&descriptor.owner)));
        descriptor
    }

    /// The name. A counter that has none may have the name of its type.
    pub fn name(&self) -> Option<&str> {
        self.more().name.as_deref()
    }

    fn set_name(&mut self, name: Option<Box<str>>) {
        if name.is_some() {
            self.more.get_or_insert_with(|| NOTHING_FURTHER.clone().into()).name = name;
        }
    }

    /// The fields that few descriptors have.
    pub fn more(&self) -> &RareFields {
        self.more.as_deref().unwrap_or(&NOTHING_FURTHER)
    }

    /// The counter, of a track that is one.
    pub fn counter(&self) -> Option<&CounterTrack> {
        match &self.owner {
            TrackOwner::Counter(counter) => Some(counter),
            _ => None,
        }
    }

    /// Whether a later descriptor says the same, as far as it matters (rule U1).
    fn agrees(&self, other: &Descriptor) -> bool {
        let same = match (&self.owner, &other.owner) {
            (TrackOwner::Counter(one), TrackOwner::Counter(other)) => one.agrees(other),
            (one, other) => one == other,
        };
        let (more, others) = (self.more(), other.more());
        same && more.parent == others.parent && more.merging == others.merging
    }
}

fn owner(message: Message<'_>) -> Result<TrackOwner, Fault> {
    if let Some(thread) = thread_of(message) {
        let (_, tid) = thread_ids(thread, is_sandboxed(message));
        return match thread.number(thread::PID).and(thread.number(thread::TID)) {
            Some(_) => Ok(TrackOwner::Thread { pid: thread.small(thread::PID).unwrap_or(0), tid }),
            None => Err(ignored::THREAD),
        };
    }
    if let Some(process) = process_of(message) {
        let pid = process.small(process::PID).ok_or(ignored::PROCESS)?;
        return Ok(TrackOwner::Process { pid });
    }
    if let Some(counter) = message.bytes(field::COUNTER) {
        return Ok(TrackOwner::Counter(CounterTrack::of(Message(counter)).into()));
    }
    Ok(match message.bytes(field::STATE) {
        Some(_) => TrackOwner::State,
        None => TrackOwner::Nobody,
    })
}

/// The name of a counter that has none.
fn default_name(owner: &TrackOwner) -> Option<Box<str>> {
    match owner {
        TrackOwner::Counter(counter) => match counter.counter_type {
            THREAD_TIME => Some("thread_time".into()),
            INSTRUCTIONS => Some("thread_instruction_count".into()),
            _ => None,
        },
        _ => None,
    }
}

fn merging(message: Message<'_>) -> Merging {
    match message.number(field::SIBLING_MERGE_BEHAVIOR) {
        Some(2) => Merging::Never,
        Some(3) => {
            let number = message.number(field::SIBLING_MERGE_KEY_INT);
            let number = number.map(|key| format!("sibling_merge_key_int:{key}").into());
            Merging::ByKey(text(message, field::SIBLING_MERGE_KEY).or(number))
        }
        _ => Merging::ByName,
    }
}

/// The uuids that a trace names, and their descriptors.
#[derive(Debug, Default)]
pub(crate) struct Uuids {
    /// Their numbers.
    numbers: HashTable<UuidIx>,
    all: Pieces<NamedUuid>,
    /// The first descriptor of each uuid that has one.
    descriptors: Pieces<Descriptor>,
    last: Option<((PartIx, u64), UuidIx)>,
    threads: Pieces<Writer>,
    by_thread: HashTable<WriterThread>,
}

/// A uuid.
#[derive(Debug)]
struct NamedUuid {
    uuid: u64,
    part: PartIx,
    /// One more than the number of its first descriptor, or 0.
    described: u32,
}

impl NamedUuid {
    fn key(&self) -> (PartIx, u64) {
        (self.part, self.uuid)
    }

    fn descriptor(&self) -> Option<usize> {
        (self.described as usize).checked_sub(1)
    }
}

fn hash(key: impl Hash) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(key)
}

/// A thread that a writer says it is, as its events mention it (rule L2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    pub pid: u32,
    /// The pid that the recorder says, which may be outside of a namespace; 0 if it does not.
    pub trusted_pid: u32,
    pub tid: i64,
}

impl Writer {
    /// The thread of an event with numbers of its own, which take the place of those of its sequence.
    pub fn of_event(
        of_sequence: Option<Writer>,
        (pid, tid): (Option<u32>, Option<u32>),
        trusted_pid: u32,
    ) -> Writer {
        let (own_pid, own_tid) = of_sequence.map_or((0, 0), |writer| (writer.pid, writer.tid));
        let is_combined = own_tid >> 32 != 0;
        let tid = match (pid, tid.map(i64::from)) {
            (pid, Some(tid)) if is_combined => sandboxed(pid.unwrap_or(own_pid).into(), tid),
            (_, Some(tid)) => tid,
            (Some(_), None) => -1,
            (None, None) => own_tid,
        };
        Writer { pid: pid.unwrap_or(own_pid), trusted_pid, tid }
    }

    /// The tid where an event is on the track of a uuid (rule A11).
    pub fn small_tid(self) -> u32 {
        self.tid as u32
    }
}

impl Uuids {
    /// The number of a uuid.
    #[inline]
    pub fn number(&mut self, part: PartIx, uuid: u64) -> UuidIx {
        let key = (part, uuid);
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let number = match self.find(part, uuid) {
            Some(number) => number,
            None => self.add(part, uuid),
        };
        self.last = Some((key, number));
        number
    }

    /// The number of a uuid that was named.
    pub fn find(&self, part: PartIx, uuid: u64) -> Option<UuidIx> {
        let is_it = |&number: &UuidIx| {
            let named = self.get(number);
            named.is_some_and(|named| named.key() == (part, uuid))
        };
        self.numbers.find(hash((part, uuid)), is_it).copied()
    }

    fn add(&mut self, part: PartIx, uuid: u64) -> UuidIx {
        let number = UuidIx(self.all.len() as u32);
        self.all.push(NamedUuid { part, uuid, described: 0 });
        let all = &self.all;
        let rehash = |number: &UuidIx| {
            let named = all.get(number.0 as usize);
            named.map_or(0, |named| hash(named.key()))
        };
        self.numbers.insert_unique(hash((part, uuid)), number, rehash);
        number
    }

    /// A new track that no uuid of the trace names.
    #[cfg(test)]
    pub fn nameless(&mut self, part: PartIx, descriptor: Descriptor) -> UuidIx {
        let number = UuidIx(self.all.len() as u32);
        self.descriptors.push(descriptor);
        let described = self.descriptors.len() as u32;
        self.all.push(NamedUuid { part, uuid: u64::MAX, described });
        number
    }

    fn get(&self, UuidIx(uuid): UuidIx) -> Option<&NamedUuid> {
        self.all.get(uuid as usize)
    }

    /// The uuid itself.
    pub fn uuid(&self, uuid: UuidIx) -> u64 {
        self.get(uuid).map_or(0, |named| named.uuid)
    }

    /// The number of a uuid that the part of another uuid named.
    pub fn beside(&self, other: UuidIx, uuid: u64) -> Option<UuidIx> {
        self.find(self.get(other)?.part, uuid)
    }

    /// The descriptor of a uuid.
    #[inline]
    pub fn descriptor(&self, uuid: UuidIx) -> Option<&Descriptor> {
        self.descriptors.get(self.get(uuid)?.descriptor()?)
    }

    /// The pid and the tid of the thread that owns a uuid, or else of the thread that the writer
    /// names, as far as descriptors say them.
    pub fn ids(
        &self,
        uuid: Option<UuidIx>,
        thread: Option<WriterThread>,
    ) -> (Option<i64>, Option<i64>) {
        /// The nearest descriptors of a longer chain count.
        const MOST_PARENTS: usize = 8;
        let mut next = uuid;
        for _ in 0..MOST_PARENTS {
            let Some((uuid, descriptor)) =
                next.and_then(|uuid| Some((uuid, self.descriptor(uuid)?)))
            else {
                break;
            };
            match descriptor.owner {
                TrackOwner::Thread { pid, tid } => return (Some(pid.into()), Some(tid)),
                TrackOwner::Process { pid } => return (Some(pid.into()), None),
                _ => {}
            }
            let parent = descriptor.more().parent;
            next = parent.and_then(|parent| self.beside(uuid, parent));
        }
        let writer = thread.and_then(|thread| self.thread(thread));
        match writer {
            Some(Writer { pid, tid, .. }) => (Some(pid.into()), Some(tid)),
            None => (None, None),
        }
    }

    /// The counter, of a uuid that is one.
    pub fn counter(&self, uuid: UuidIx) -> Option<&CounterTrack> {
        self.descriptor(uuid)?.counter()
    }

    /// Adds the descriptor of a uuid.
    ///
    /// # Errors
    ///
    /// The reason to ignore it (rule U1).
    pub fn describe(
        &mut self,
        part: PartIx,
        uuid: u64,
        descriptor: Descriptor,
    ) -> Result<(), Fault> {
        if uuid == 0 && descriptor.more().parent.is_some() {
            return Err(ignored::PARENT);
        }
        let UuidIx(number) = self.number(part, uuid);
        let Some(named) = self.all.get_mut(number as usize) else {
            return Ok(());
        };
        match named.descriptor().and_then(|first| self.descriptors.get_mut(first)) {
            None => {
                self.descriptors.push(descriptor);
                named.described = self.descriptors.len() as u32;
            }
            Some(first) if first.agrees(&descriptor) => {
                if first.name().is_none() || descriptor.more().merging == Merging::Never {
                    first.set_name(descriptor.more.and_then(|more| more.name));
                }
            }
            Some(_) => return Err(ignored::CONFLICT),
        }
        Ok(())
    }

    /// The number of a thread that a writer says it is.
    pub fn writer(&mut self, writer: Writer) -> WriterThread {
        let hashed = hash(writer);
        let is_it = |&number: &WriterThread| self.thread(number) == Some(writer);
        if let Some(&known) = self.by_thread.find(hashed, is_it) {
            return known;
        }
        let number = WriterThread(self.threads.len() as u32);
        self.threads.push(writer);
        let threads = &self.threads;
        let rehash = |number: &WriterThread| threads.get(number.0 as usize).map_or(0, hash);
        self.by_thread.insert_unique(hashed, number, rehash);
        number
    }

    /// The thread of a number.
    pub fn thread(&self, WriterThread(thread): WriterThread) -> Option<Writer> {
        self.threads.get(thread as usize).copied()
    }
}
