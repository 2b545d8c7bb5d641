//! The state of packet sequences (rules S), and the readings of their
//! incremental clocks (rule V5).
//!
//! A trace may have 100,000 sequences: each takes 80 bytes, and 9 in the table that finds it. So
//! data that only few sequences have is boxed.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::{Index, IndexMut};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use timebase_trace::Interval;
use timebase_trace::wire::packet::{Header, PacketType};

use super::parts::PartIx;
use super::time::TraceTime;
use crate::pieces::Pieces;

/// The number of bits of `previous_packet_dropped` for causes. The lowest bit, for an unknown
/// cause, is not one of them.
pub(crate) const CAUSES: usize = 8;

/// The state of one sequence (rules S5, X13).
#[derive(Debug)]
pub(crate) struct Sequence {
    pub part: PartIx,
    pub id: u32,
    /// Whether its packets name it. Otherwise it stands for packets without a sequence.
    pub is_named: bool,
    uid: i32,
    pid: i32,
    pub packets: u64,
    /// The number of packets that needed its state, and of those that could not rely on it (rule S4).
    needing: u32,
    distrusted: u32,
    /// The smallest and the greatest `ts` of its packets. While there is none, the first is greater
    /// than the second.
    times: (i64, i64),
    /// The bits [`HAS_UID`] and [`HAS_PID`].
    has: u8,
    valid: bool,
    /// Whether it lost packets since its state was cleared.
    lossy: bool,
    /// The number of times that its state was cleared.
    cleared: u32,
    default_clock: u32,
    /// An incremental clock, or 0, and its last reading, in its own unit.
    incremental: u32,
    accumulated: u64,
    rare: Option<Box<Rare>>,
}

/// Whether a packet says the uid, and the pid.
const HAS_UID: u8 = 1;
const HAS_PID: u8 = 2;

const _: () = assert!(size_of::<Sequence>() <= 80);

/// Data that hardly any sequence has.
#[derive(Debug, Default)]
struct Rare {
    /// The number of losses of packets, and of losses of the state.
    losses: u32,
    lost: u32,
    /// The number of losses of packets, for each cause that the recorder knows.
    causes: [u32; CAUSES],
    /// The last readings of further incremental clocks.
    accumulated: FxHashMap<u32, u64>,
}

/// Whether a packet is dropped without the state that it needs (rule MD4): the packets of the clocks and of
/// the recorder are read all the same.
fn needs_state_to_be_read(header: &Header<'_>) -> bool {
    !matches!(
        header.payload,
        Some((
            PacketType::CLOCK_SNAPSHOT
                | PacketType::REMOTE_CLOCK_SYNC
                | PacketType::SERVICE_EVENT
                | PacketType::EXTENSION_DESCRIPTOR,
            _
        ))
    )
}

impl Sequence {
    fn new(part: PartIx, header: &Header<'_>) -> Self {
        Sequence {
            part,
            id: header.trusted_packet_sequence_id,
            is_named: header.has_sequence,
            uid: 0,
            pid: 0,
            packets: 0,
            needing: 0,
            distrusted: 0,
            times: (i64::MAX, i64::MIN),
            has: 0,
            valid: false,
            lossy: false,
            cleared: 0,
            default_clock: 0,
            incremental: 0,
            accumulated: 0,
            rare: None,
        }
    }

    /// Applies a packet's header to its sequence. `default_clock` is the clock of
    /// its `trace_packet_defaults`, 0 if they name none.
    fn update(&mut self, header: &Header<'_>, default_clock: Option<u32>) {
        let first = self.packets == 0;
        self.packets += 1;
        if self.has != HAS_UID | HAS_PID {
            self.name_writer(header);
        }
        // A writer's first packet has the mark of a loss, although nothing is lost.
        if header.previous_packet_dropped != 0 && !first {
            self.lose(header.previous_packet_dropped);
            self.lossy = true;
        }
        if !self.is_named {
            return; // packets without a sequence share no state
        }
        if header.clears_state() {
            self.valid = true; // S2
            self.lossy = false;
            self.cleared = self.cleared.wrapping_add(1);
            self.default_clock = 0;
        } else if header.previous_packet_dropped != 0 {
            self.valid = false; // S3
            let rare = self.rare.get_or_insert_default();
            rare.lost = rare.lost.wrapping_add(1);
        }
        if let Some(clock) = default_clock {
            self.default_clock = clock; // S1
        }
        if header.needs_state() && needs_state_to_be_read(header) {
            self.needing = self.needing.saturating_add(1);
            self.distrusted = self.distrusted.saturating_add((!self.valid).into());
        }
    }

    /// Takes the uid and the pid of its writer, if a packet says them for the first time.
    fn name_writer(&mut self, header: &Header<'_>) {
        if let Some(uid) = header.trusted_uid.filter(|_| self.has & HAS_UID == 0) {
            (self.uid, self.has) = (uid, self.has | HAS_UID);
        }
        if let Some(pid) = header.trusted_pid.filter(|_| self.has & HAS_PID == 0) {
            (self.pid, self.has) = (pid, self.has | HAS_PID);
        }
    }

    /// The uid of its writer.
    pub fn uid(&self) -> Option<i32> {
        (self.has & HAS_UID != 0).then_some(self.uid)
    }

    /// The pid of its writer.
    pub fn pid(&self) -> Option<i32> {
        (self.has & HAS_PID != 0).then_some(self.pid)
    }

    /// The number of losses of packets.
    pub fn losses(&self) -> u32 {
        self.rare.as_ref().map_or(0, |rare| rare.losses)
    }

    /// Counts a loss of packets with these causes.
    #[cold]
    fn lose(&mut self, causes: u32) {
        let rare = self.rare.get_or_insert_default();
        rare.losses = rare.losses.saturating_add(1);
        let known = causes >> 1;
        for (bit, count) in rare.causes.iter_mut().enumerate() {
            *count = count.saturating_add(known >> bit & 1);
        }
    }

    /// The number of losses of packets, for each cause from the second bit of
    /// `previous_packet_dropped` on.
    pub fn causes(&self) -> [u32; CAUSES] {
        let rare = self.rare.as_ref();
        rare.map_or([0; CAUSES], |rare| rare.causes)
    }

    /// The number of packets that could not rely on the state they needed, if none could. With
    /// `but_last`, without the last packet, which needed it too.
    pub fn never_trusted(&self, but_last: bool) -> Option<u32> {
        let needing = self.needing.saturating_sub(but_last.into());
        let is_lost = but_last && !self.valid;
        let distrusted = self.distrusted.saturating_sub(is_lost.into());
        let none_could = distrusted > 0 && distrusted == needing;
        none_could.then_some(distrusted)
    }

    /// Whether packets can rely on the state (rule S4).
    pub fn is_valid(&self) -> bool {
        self.valid
    }

    /// Whether any packet cleared the state (rule S2).
    pub fn is_ever_cleared(&self) -> bool {
        self.cleared != 0
    }

    /// The number of losses of the state (rule S3).
    fn lost(&self) -> u32 {
        self.rare.as_ref().map_or(0, |rare| rare.lost)
    }

    /// The clock in the sequence's defaults, or 0.
    pub fn default_clock(&self) -> u32 {
        self.default_clock
    }

    /// The last reading of an incremental clock; `None` without a base. A reading that does not fit
    /// into 64 bits becomes the greatest that does; neither can be converted to trace time.
    pub fn accumulated(&self, clock: u32) -> Option<u64> {
        match self.incremental {
            // 0 is no clock (rule N2).
            first if first == clock && clock != 0 => Some(self.accumulated),
            _ => self.rare.as_ref()?.accumulated.get(&clock).copied(),
        }
    }

    /// Sets the last reading of an incremental clock.
    pub fn set_accumulated(&mut self, clock: u32, reading: u64) {
        if clock == 0 {
            return;
        }
        if self.incremental == 0 {
            self.incremental = clock;
        }
        if self.incremental == clock {
            self.accumulated = reading;
        } else {
            let rare = self.rare.get_or_insert_default();
            rare.accumulated.insert(clock, reading);
        }
    }

    /// Notes that a packet of the sequence was placed in time.
    pub fn saw(&mut self, TraceTime(ts): TraceTime) {
        let (first, last) = self.times;
        self.times = (first.min(ts), last.max(ts));
    }

    /// The smallest and the greatest `ts` of its packets.
    pub fn times(&self) -> Option<(i64, i64)> {
        let (first, last) = self.times;
        (first <= last).then_some(self.times)
    }
}

/// A stretch of a sequence's packets in which its state was neither cleared nor lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Generation {
    pub interval: Interval,
    /// The number of losses of the state before.
    pub lost: u32,
    /// Whether the sequence lost packets since its state was cleared (rule DT10).
    pub lossy: bool,
}

/// The index of a sequence in [`Sequences`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceIx(pub u32);

/// A sequence of the open file. The number of its machine is not the `machine_id` in its packets,
/// which is therefore kept here.
#[derive(Debug, Clone, Copy)]
struct Indexed {
    machine_id: u32,
    place: u32,
}

impl Indexed {
    fn key(self, all: &Pieces<Sequence>) -> (u32, u32) {
        let id = all.get(self.place as usize).map_or(0, |sequence| sequence.id);
        (self.machine_id, id)
    }
}

fn hash(key: (u32, u32)) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(key)
}

/// All sequences of a trace.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    all: Pieces<Sequence>,
    /// The sequences of the open file, by the `machine_id` of their packets and their number.
    index: HashTable<Indexed>,
    /// The entries for packets without a sequence, by machine.
    nameless: FxHashMap<u32, u32>,
    last: Option<((u32, u32), u32)>,
}

impl Index<SequenceIx> for Sequences {
    type Output = Sequence;

    #[inline]
    fn index(&self, SequenceIx(index): SequenceIx) -> &Sequence {
        // Every SequenceIx comes from `update`.
        &self.all[index as usize]
    }
}

impl IndexMut<SequenceIx> for Sequences {
    #[inline]
    fn index_mut(&mut self, SequenceIx(index): SequenceIx) -> &mut Sequence {
        &mut self.all[index as usize]
    }
}

impl Sequences {
    /// The number of sequences so far.
    pub fn len(&self) -> u32 {
        // There are fewer than packets.
        self.all.len() as u32
    }

    /// Starts another file (rule X13).
    pub fn begin_file(&mut self) {
        self.index.clear();
        self.nameless.clear();
        self.last = None;
    }

    /// Applies rules S1–S3 for a packet, and returns its sequence.
    pub fn update(
        &mut self,
        header: &Header<'_>,
        part: PartIx,
        default_clock: Option<u32>,
    ) -> SequenceIx {
        let sequence = self.find(header, part);
        self[sequence].update(header, default_clock);
        sequence
    }

    /// The sequence of a packet, which may be new.
    fn find(&mut self, header: &Header<'_>, part: PartIx) -> SequenceIx {
        let key = (header.machine_id, header.trusted_packet_sequence_id);
        if !header.has_sequence {
            let known = self.nameless.entry(header.machine_id);
            return SequenceIx(*known.or_insert_with(|| add(&mut self.all, part, header)));
        }
        // Consecutive packets mostly belong to one sequence.
        if let Some((last, index)) = self.last
            && last == key
        {
            return SequenceIx(index);
        }
        let index = match self.place(key) {
            Some(index) => index,
            None => {
                let place = add(&mut self.all, part, header);
                let (all, machine_id) = (&self.all, header.machine_id);
                let added = Indexed { machine_id, place };
                let rehash = |known: &Indexed| hash(known.key(all));
                self.index.insert_unique(hash(key), added, rehash);
                place
            }
        };
        self.last = Some((key, index));
        SequenceIx(index)
    }

    /// A sequence of any file, by its number.
    pub fn numbered(&self, number: u32) -> Option<&Sequence> {
        self.all.get(number as usize)
    }

    /// A sequence of the open file, by the `machine_id` of its packets and its number.
    pub fn known(&self, machine_id: u32, id: u32) -> Option<&Sequence> {
        let place = self.place((machine_id, id))?;
        self.all.get(place as usize)
    }

    fn place(&self, key: (u32, u32)) -> Option<u32> {
        let is_it = |known: &Indexed| known.key(&self.all) == key;
        Some(self.index.find(hash(key), is_it)?.place)
    }

    /// The interval of the sequence's next packet.
    pub fn interval(&self, index: SequenceIx) -> Interval {
        Interval { sequence: index.0, cleared: self[index].cleared }
    }

    /// The generation of the sequence's last packet.
    pub fn generation(&self, index: SequenceIx) -> Generation {
        Generation {
            interval: self.interval(index),
            lost: self[index].lost(),
            lossy: self[index].lossy,
        }
    }

    /// The greatest time of a sequence before the packet of the last call of [`Sequences::update`];
    /// `None` if that packet is the first one of the sequence, or has no sequence.
    pub fn last_of(&self, index: SequenceIx) -> Option<Option<i64>> {
        let sequence = &self[index];
        let has_more = sequence.is_named && sequence.packets > 1;
        has_more.then(|| sequence.times().map(|(_, last)| last))
    }

    /// The sequences that packets name, in the order of their first packets.
    pub fn iter(&self) -> impl Iterator<Item = &Sequence> {
        self.all.iter().filter(|sequence| sequence.is_named && sequence.packets > 0)
    }
}

/// Adds a sequence and returns its place. A `u32` suffices, because 2³² sequences would not fit
/// into any memory.
fn add(all: &mut Pieces<Sequence>, part: PartIx, header: &Header<'_>) -> u32 {
    all.push(Sequence::new(part, header));
    (all.len() - 1) as u32
}
