//! The pass over a trace that writes the packets of a window (rules CT1 to CT5).

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::fields::{
    ftrace_event_bundle as bundle, gpu_counter_event, interned_data, power_rails,
    power_rails_energy_data, profile_packet, streaming_profile_packet, trace_packet,
    vulkan_memory_event,
};
use timebase_trace::Packet;
use timebase_trace::wire::packet::{Header, PacketType};

use crate::message::Message;
use crate::readers::{Windowed, fields, put_number, windowed};
use crate::rewrite::cut::added::{Origin, SEQUENCE, Stamp, is_started, window_of};
use crate::rewrite::cut::kernel::{Bundle, Kept};
use crate::rewrite::cut::plan::{Carried, Plan};
use crate::rewrite::cut::sequences::{Pending, Spool};
use crate::rewrite::cut::track_event::{
    Deltas, Incremental, Use, only_name, only_values, serves, without_flows,
};
use crate::rewrite::cut::window::Window;
use crate::rewrite::header::{self, NewPayload, NewTime};
use crate::rewrite::output::Output;

/// Types without a reader that hold for the whole trace: lists of packages, and others that tools read.
const ALWAYS: [u32; 3] = [
    trace_packet::PACKAGES_LIST,
    trace_packet::TRACE_PROVENANCE,
    trace_packet::RECOVERED_TRACE_INFO,
];

/// The counts of a pass.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub packets: u64,
    pub written: u64,
    pub carried: u64,
    pub added: u64,
}

/// The place of a packet in the import.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub id: i64,
    pub ts: Option<i64>,
    pub machine: i64,
    /// The difference of trace time to the readings of its kernel events.
    pub offset: i64,
}

/// The state of a packet sequence.
#[derive(Debug, Default)]
struct Sequence {
    pending: Pending,
    deltas: Deltas,
    /// Whether a packet behind the window was written that is about the time before it.
    is_closed: bool,
}

/// The trees of a machine that are not written yet.
#[derive(Debug, Clone, Copy)]
struct Machine {
    stamp: Option<Stamp>,
    /// Its number in packets.
    machine: u32,
    is_begun: bool,
    is_ended: bool,
}

/// A file on its way through a window.
pub(super) struct Pass<'a> {
    window: Window,
    plan: &'a Plan,
    origin: &'a Origin,
    spool: Spool,
    output: &'a mut Output,
    sequences: FxHashMap<(u32, u32), Sequence>,
    incremental: Incremental,
    /// The CPUs that have had a bundle.
    cpus: FxHashSet<(u32, u64)>,
    machines: FxHashMap<i64, Machine>,
    /// Whether the file has had a snapshot of clocks.
    has_snapshot: bool,
    /// The clock of the last packet with a time.
    stamp: Option<Stamp>,
    /// The greatest time so far (rule O2).
    seen: Option<i64>,
    /// Whether the packets that an earlier cut added stay, because it cut out the same window.
    is_same_cut: bool,
    is_begun: bool,
    /// Whether trace time is BOOTTIME.
    has_boot_time: bool,
    pub counted: Counted,
}

/// What becomes of a packet.
enum Fate {
    Goes,
    Stays,
    Is(Vec<u8>),
}

impl<'a> Pass<'a> {
    pub fn new(plan: &'a Plan, origin: &'a Origin, spool: Spool, output: &'a mut Output) -> Self {
        Pass {
            window: origin.window,
            plan,
            origin,
            spool,
            output,
            sequences: FxHashMap::default(),
            incremental: Incremental::default(),
            cpus: FxHashSet::default(),
            machines: FxHashMap::default(),
            has_snapshot: false,
            stamp: None,
            seen: None,
            is_same_cut: false,
            is_begun: false,
            has_boot_time: true,
            counted: Counted::default(),
        }
    }

    /// The trees say when processes started only if trace time is BOOTTIME.
    pub fn with_boot_time(self, has_boot_time: bool) -> Self {
        Pass { has_boot_time, ..self }
    }

    /// Handles the next packet.
    pub fn packet(&mut self, packet: &Packet<'_>, placed: Placed) -> io::Result<()> {
        let header = packet.header;
        if self.counted.packets == 0 {
            self.origin(header)?;
        }
        self.counted.packets += 1;
        if header.trusted_packet_sequence_id == SEQUENCE {
            return self.added_before(packet);
        }
        let time = self.time(header, &placed);
        self.begin(header, &placed, time)?;
        let key = (header.machine_id, header.trusted_packet_sequence_id);
        self.has_snapshot |= header.packet_type() == Some(PacketType::CLOCK_SNAPSHOT);
        let mut sequence = self.sequences.remove(&key).unwrap_or_default();
        sequence.deltas.begin(header);
        let fate = self.fate(header, &placed, time, &mut sequence);
        let done = match fate {
            Fate::Goes => {
                let done = sequence.pending.keep(header, &mut self.spool);
                done.and_then(|()| self.symbols(header, time, &mut sequence))
            }
            Fate::Stays => self.write(packet, None, &mut sequence, time),
            Fate::Is(payload) => self.write(packet, Some(&payload), &mut sequence, time),
        };
        if header.has_sequence {
            self.sequences.insert(key, sequence);
        }
        done
    }

    /// Ends the file: writes the trees that no later packet had behind it.
    pub fn end(mut self) -> io::Result<Counted> {
        let mut machines: Vec<(i64, Machine)> =
            self.machines.iter().map(|(machine, known)| (*machine, *known)).collect();
        machines.sort_unstable_by_key(|(machine, _)| *machine);
        for (machine, mut known) in machines {
            let stamp = Stamp { machine: known.machine, ..Stamp::default() };
            let stamp = known.stamp.unwrap_or(stamp);
            self.trees(machine, &mut known, stamp, i64::MAX)?;
        }
        if !self.is_begun {
            self.start(self.stamp.unwrap_or_default())?;
        }
        Ok(self.counted)
    }

    /// The time of a packet; the greatest one before it if it has none.
    fn time(&mut self, header: &Header<'_>, placed: &Placed) -> Option<i64> {
        let kind = header.packet_type();
        let counts = !matches!(
            kind,
            Some(
                PacketType::CLOCK_SNAPSHOT | PacketType::SERVICE_EVENT | PacketType::FTRACE_EVENTS
            )
        );
        match (placed.ts, header.timestamp) {
            (Some(ts), _) if counts => {
                self.seen = self.seen.max(Some(ts));
                Some(ts)
            }
            (Some(ts), _) => Some(ts),
            (None, Some(_)) => None,
            (None, None) => Some(self.seen.unwrap_or(i64::MIN)),
        }
    }

    /// Adds what stands at the begin and at the end of the window.
    fn begin(&mut self, header: &Header<'_>, placed: &Placed, time: Option<i64>) -> io::Result<()> {
        let machine = header.machine_id;
        let clock = header.timestamp_clock_id;
        let stamp = match (placed.ts, header.timestamp) {
            // A clock of a sequence is no other sequence's.
            // Before the first snapshot, a clock that is not named is not known yet.
            (Some(ts), Some(timestamp))
                if !(64..128).contains(&clock) && (clock != 0 || self.has_snapshot) =>
            {
                let offset = ts.saturating_sub(timestamp as i64);
                self.stamp = Some(Stamp { offset, clock, machine });
                self.stamp
            }
            _ => self.stamp.map(|stamp| Stamp { machine, ..stamp }),
        };
        if let (Some(time), Some(stamp), false) = (time, stamp, self.is_begun)
            && time >= self.window.from
        {
            self.start(stamp)?;
        }
        let kind = header.packet_type();
        let has_threads = matches!(
            kind,
            Some(PacketType::FTRACE_EVENTS | PacketType::PROCESS_TREE | PacketType::PROCESS_STATS)
        );
        let known = self.machines.get(&placed.machine).copied();
        let new = || Machine { stamp: None, machine, is_begun: false, is_ended: false };
        let Some(mut known) = known.or_else(|| has_threads.then(new)) else {
            return Ok(());
        };
        known.stamp = stamp.or(known.stamp);
        if let (Some(time), Some(stamp)) = (time, known.stamp) {
            self.trees(placed.machine, &mut known, stamp, time)?;
        }
        self.machines.insert(placed.machine, known);
        Ok(())
    }

    /// Writes the origin as the first packet, unless an earlier cut of the same window has done so.
    fn origin(&mut self, header: &Header<'_>) -> io::Result<()> {
        self.is_same_cut = match header.payload {
            Some((PacketType::TRACE_ATTRIBUTES, attributes)) => {
                header.trusted_packet_sequence_id == SEQUENCE
                    && window_of(attributes) == Some(self.window)
            }
            _ => false,
        };
        match self.is_same_cut {
            true => Ok(()),
            false => self.add(&self.origin.packet()),
        }
    }

    /// Writes the event at which a viewer begins.
    fn start(&mut self, stamp: Stamp) -> io::Result<()> {
        self.is_begun = true;
        match self.is_same_cut {
            true => Ok(()),
            false => self.add(&stamp.started(self.window.from)),
        }
    }

    fn trees(
        &mut self,
        machine: i64,
        known: &mut Machine,
        stamp: Stamp,
        time: i64,
    ) -> io::Result<()> {
        let plan = self.plan;
        let times = [self.window.from, self.window.to];
        let done = [&mut known.is_begun, &mut known.is_ended];
        for ((done, at), living) in done.into_iter().zip(times).zip(&plan.living) {
            if *done || time < at {
                continue;
            }
            *done = true;
            if let Some(living) = living.get(&machine).filter(|_| !self.is_same_cut) {
                self.add(&stamp.tree(at, living, self.has_boot_time))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, packet: &[u8]) -> io::Result<()> {
        self.counted.added += 1;
        self.counted.written += 1;
        self.output.packet(packet)
    }

    /// A packet that an earlier cut added.
    fn added_before(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        match self.is_same_cut {
            true => self.add(packet.bytes),
            false => Ok(()),
        }
    }

    fn fate(
        &mut self,
        header: &Header<'_>,
        placed: &Placed,
        time: Option<i64>,
        sequence: &mut Sequence,
    ) -> Fate {
        let is_in = time.is_some_and(|time| self.window.contains(time));
        let Some((kind, payload)) = header.payload else {
            // It only has state, which waits for the next packet.
            return if is_in { Fate::Stays } else { Fate::Goes };
        };
        let carried = self.plan.packets.get(&placed.id).map_or(&[][..], Vec::as_slice);
        // An earlier cut of the same window left nothing else.
        let is_left = self.is_same_cut && time.is_some_and(|time| time < self.window.from);
        // Only track events are carried for a part of what they say.
        let stays = is_in || is_left || !carried.is_empty();
        let by = |stays: bool| if stays { Fate::Stays } else { Fate::Goes };
        match windowed(kind) {
            Some(Windowed::Always) => self.always(kind, payload),
            Some(Windowed::Snapshot) => by(is_left || carried.contains(&Carried::Whole)),
            Some(Windowed::KernelEvents) => self.bundle(header, placed, payload),
            Some(Windowed::TrackEvent) => {
                self.track_event(payload, is_in || is_left, carried, sequence)
            }
            Some(Windowed::StreamedSamples) => {
                self.samples(payload, stays || self.closes(time, sequence), sequence)
            }
            Some(Windowed::HeapDumps) => by(stays || self.closes_dump(payload, time, sequence)),
            Some(Windowed::LogLines) => by(is_left || self.plan.lines.contains(&placed.id)),
            Some(Windowed::Described(described)) => {
                let closes = kind == PacketType::GPU_COUNTER_EVENT
                    && Message(payload).each(gpu_counter_event::COUNTERS).next().is_some()
                    && self.closes(time, sequence);
                match stays || closes || has_rails_in(kind, payload, self.window) {
                    true => Fate::Stays,
                    false => described_only(payload, described),
                }
            }
            Some(Windowed::ByTime) if kind == PacketType::VULKAN_MEMORY_EVENT => {
                let own = Message(payload).number(vulkan_memory_event::TIMESTAMP);
                let own =
                    own.and_then(|own| i64::try_from(own).ok()).filter(|_| self.has_boot_time);
                by(is_left || own.map_or(stays, |own| self.window.contains(own)))
            }
            Some(Windowed::ByTime) => by(stays),
            None => by(stays || ALWAYS.contains(&kind.0)),
        }
    }

    /// Whether a packet is the first behind the window, and about the time before it.
    fn closes(&self, time: Option<i64>, sequence: &mut Sequence) -> bool {
        let is_behind = time.is_some_and(|time| time >= self.window.to);
        is_behind && !std::mem::replace(&mut sequence.is_closed, true)
    }

    /// Whether a packet is of the first dump that ends behind the window.
    fn closes_dump(&self, payload: &[u8], time: Option<i64>, sequence: &mut Sequence) -> bool {
        let is_behind = time.is_some_and(|time| time >= self.window.to);
        let closes = is_behind && !sequence.is_closed;
        if closes && !Message(payload).flag(profile_packet::CONTINUED) {
            sequence.is_closed = true;
        }
        closes
    }

    fn always(&mut self, kind: PacketType, payload: &[u8]) -> Fate {
        if kind == PacketType::TRACK_DESCRIPTOR {
            self.incremental.read(payload);
        }
        let is_replaced = kind == PacketType::SERVICE_EVENT && is_started(payload);
        if is_replaced { Fate::Goes } else { Fate::Stays }
    }

    fn bundle(&mut self, header: &Header<'_>, placed: &Placed, payload: &[u8]) -> Fate {
        let carried = self.plan.events.get(&placed.id).map_or(&[][..], Vec::as_slice);
        let cpu = Message(payload).number(bundle::CPU).unwrap_or(0);
        let stays = self.cpus.insert((header.machine_id, cpu));
        // An earlier cut of the same window left no other events from before it.
        let from = if self.is_same_cut { i64::MIN } else { self.window.from };
        let (window, offset) = (Window { from, ..self.window }, placed.offset);
        let (kept, last) = (Bundle { payload, window, offset, carried, stays }).cut();
        self.seen = self.seen.max(last);
        match kept {
            Kept::All => Fate::Stays,
            Kept::Some(payload) => Fate::Is(payload),
            Kept::None => Fate::Goes,
        }
    }

    fn track_event(
        &mut self,
        payload: &[u8],
        is_in: bool,
        carried: &[Carried],
        sequence: &mut Sequence,
    ) -> Fate {
        let wanted = match is_in {
            true => Some(Use::InWindow),
            false => {
                let uses = carried.iter().filter_map(|carried| match carried {
                    Carried::Event(wanted) => Some(*wanted),
                    Carried::Whole => None,
                });
                let mut uses: Vec<Use> = uses.filter(|wanted| serves(payload, *wanted)).collect();
                uses.sort_unstable_by_key(|wanted| match wanted {
                    Use::Values => 1,
                    Use::Name => 2,
                    _ => 0,
                });
                uses.first().copied()
            }
        };
        let Some(wanted) = wanted else {
            sequence.deltas.keep(payload, &self.incremental);
            return Fate::Goes;
        };
        let summed = sequence.deltas.put(payload);
        let event = summed.as_deref().unwrap_or(payload);
        let changed = match wanted {
            Use::Begin { has_flows: false } => without_flows(event),
            Use::Values => only_values(event, &sequence.deltas),
            Use::Name => Some(only_name(event)),
            _ => None,
        };
        match changed.or(summed) {
            Some(event) => Fate::Is(event),
            None => Fate::Stays,
        }
    }

    fn samples(&self, payload: &[u8], stays: bool, sequence: &mut Sequence) -> Fate {
        const DELTA: u32 = streaming_profile_packet::TIMESTAMP_DELTA_US;
        if !stays {
            sequence.deltas.keep_samples(Message(payload).numbers(DELTA));
            return Fate::Goes;
        }
        let more = sequence.deltas.take_samples();
        if more == 0 {
            return Fate::Stays;
        }
        let mut deltas: Vec<u64> = Message(payload).numbers(DELTA).collect();
        let Some(first) = deltas.first_mut() else {
            return Fate::Stays;
        };
        *first = first.wrapping_add(more as u64);
        let mut out = Vec::new();
        let others = fields(payload).filter(|(number, ..)| *number != DELTA);
        others.for_each(|(.., bytes)| out.extend_from_slice(bytes));
        deltas.iter().for_each(|delta| put_number(&mut out, DELTA, *delta));
        Fate::Is(out)
    }

    /// Names of the kernel's functions that a later packet of a sequence states (rule W4).
    fn symbols(
        &mut self,
        header: &Header<'_>,
        time: Option<i64>,
        sequence: &mut Sequence,
    ) -> io::Result<()> {
        let has_symbols = matches!(header.packet_type(), None | Some(PacketType::FTRACE_EVENTS))
            && header.interned_data.is_some_and(|interned| {
                Message(interned).each(interned_data::KERNEL_SYMBOLS).next().is_some()
            });
        let is_behind = time.is_none_or(|time| time >= self.window.from);
        if !has_symbols || !is_behind || !sequence.pending.has_written() {
            return Ok(());
        }
        let (output, counted) = (&mut *self.output, &mut self.counted);
        let bare = Header { sequence_flags: 0, previous_packet_dropped: 0, ..*header };
        sequence.pending.state(&bare, &mut self.spool, |packet| {
            counted.added += 1;
            counted.written += 1;
            output.packet(packet)
        })
    }

    fn write(
        &mut self,
        packet: &Packet<'_>,
        payload: Option<&[u8]>,
        sequence: &mut Sequence,
        time: Option<i64>,
    ) -> io::Result<()> {
        let header = packet.header;
        let (output, counted) = (&mut *self.output, &mut self.counted);
        if header.has_sequence {
            sequence.pending.state(header, &mut self.spool, |packet| {
                counted.added += 1;
                counted.written += 1;
                output.packet(packet)
            })?;
        }
        counted.written += 1;
        counted.carried += u64::from(time.is_some_and(|time| time < self.window.from));
        match payload {
            None => output.packet(packet.bytes),
            Some(payload) => {
                let mut bytes = Vec::with_capacity(packet.bytes.len());
                let payload = NewPayload::Is(payload);
                header::write(packet.bytes, header, NewTime::SAME, payload, &mut bytes);
                output.packet(&bytes)
            }
        }
    }
}

/// A payload with only the fields that hold for the whole trace.
fn described_only(payload: &[u8], described: &[u32]) -> Fate {
    let has_any = |number: u32| described.first() == Some(&number);
    if !fields(payload).any(|(number, ..)| has_any(number)) {
        return Fate::Goes;
    }
    let mut out = Vec::new();
    for (number, _, bytes) in fields(payload) {
        if described.contains(&number) {
            out.extend_from_slice(bytes);
        }
    }
    if out.len() == payload.len() { Fate::Stays } else { Fate::Is(out) }
}

/// Whether samples of power rails have times in the window.
fn has_rails_in(kind: PacketType, payload: &[u8], window: Window) -> bool {
    let is_in = |sample: &[u8]| {
        let ms = Message(sample)
            .number(power_rails_energy_data::TIMESTAMP_MS)
            .and_then(|ms| i64::try_from(ms).ok());
        ms.is_some_and(|ms| window.contains(ms.saturating_mul(1_000_000)))
    };
    kind == PacketType::POWER_RAILS && Message(payload).each(power_rails::ENERGY_DATA).any(is_in)
}
