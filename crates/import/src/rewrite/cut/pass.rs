//! The pass over a trace that writes the packets of a window (rules CT1 to CT5).

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_resolver::ClockId;
use timebase_schema::fields::{
    clock_snapshot, clock_snapshot_clock, ftrace_event_bundle as bundle,
    generic_kernel_task_state_event as task_state, gpu_counter_event,
    gpu_counter_event_gpu_counter as gpu_counter, interned_data, power_rails,
    power_rails_energy_data, profile_packet, streaming_profile_packet, trace_packet,
    vulkan_memory_event,
};
use timebase_trace::Packet;
use timebase_trace::wire::packet::{Header, PacketType};

use crate::message::Message;
use crate::readers::{Windowed, fields, put_bytes, put_number, windowed};
use crate::rewrite::cut::added::{Origin, SEQUENCE, Stamp, is_started, window_of};
use crate::rewrite::cut::kernel::{Bundle, Kept, Span};
use crate::rewrite::cut::names::Uses;
use crate::rewrite::cut::plan::{Carried, Plan, TaskState};
use crate::rewrite::cut::sequences::{Pending, start};
use crate::rewrite::cut::spool::Spool;
use crate::rewrite::cut::track_event::{
    Deltas, Incremental, Use, only_name, only_values, serves, without_flows,
};
use crate::rewrite::cut::window::Window;
use crate::rewrite::header::{self, NewClock, NewPayload, NewTime};
use crate::rewrite::output::Output;

/// Types without a reader that hold for the whole trace, and that tools read.
const ALWAYS: [u32; 2] = [trace_packet::TRACE_PROVENANCE, trace_packet::RECOVERED_TRACE_INFO];

/// The clock in packets.
const BOOTTIME: u32 = ClockId::BOOTTIME.0;

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
    /// Whether it has lines of a log in the window.
    pub has_lines: bool,
}

/// The interned data of stages of GPUs.
const OF_STAGES: [u32; 3] = [
    interned_data::EVENT_NAMES,
    interned_data::GRAPHICS_CONTEXTS,
    interned_data::GPU_SPECIFICATIONS,
];

/// The state of a packet sequence.
#[derive(Debug, Default)]
struct Sequence {
    /// Whether a stage of a GPU was written.
    has_stages: bool,
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
    /// The counters of machines' GPUs, with the descriptor that their packet names, whose last value is about the time until the next one.
    gpu_counters: FxHashSet<(i64, Option<u64>, u64)>,
    /// The CPUs that have had a bundle, with the last one before the window that had switches.
    cpus: FxHashMap<(u32, u64), Vec<u8>>,
    machines: FxHashMap<i64, Machine>,
    /// The machines that have had a snapshot from which on a packet need not name its clock (rule T2).
    have_default_clock: FxHashSet<u32>,
    /// The machine of the last packet.
    machine: u32,
    /// The clock of the last packet with a time.
    stamp: Option<Stamp>,
    /// The greatest time so far (rule O2).
    seen: Option<i64>,
    /// Whether an earlier cut left nothing but this window (rule CT6).
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
    /// It becomes several packets.
    Are(Vec<Vec<u8>>),
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
            gpu_counters: FxHashSet::default(),
            cpus: FxHashMap::default(),
            machines: FxHashMap::default(),
            have_default_clock: FxHashSet::default(),
            machine: 0,
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

    /// Reads a descriptor of a track before the pass, because descriptors hold for the whole trace (rule U1).
    pub fn descriptor(&mut self, header: &Header<'_>) {
        if let Some((PacketType::TRACK_DESCRIPTOR, payload)) = header.payload {
            self.incremental.read(payload);
        }
    }

    /// Handles the next packet.
    pub fn packet(&mut self, packet: &Packet<'_>, placed: Placed) -> io::Result<()> {
        let header = packet.header;
        if self.counted.packets == 0 {
            self.origin(header)?;
        }
        self.counted.packets += 1;
        if self.is_same_cut {
            self.counted.written += 1;
            return self.output.packet(packet.bytes);
        }
        if header.trusted_packet_sequence_id == SEQUENCE {
            // It is of an earlier cut.
            return Ok(());
        }
        self.machine = header.machine_id;
        let time = self.time(header, &placed);
        self.begin(header, &placed, time)?;
        let key = (header.machine_id, header.trusted_packet_sequence_id);
        if header.payload.is_some_and(sets_default_clock) {
            self.have_default_clock.insert(header.machine_id);
        }
        // A packet of no sequence is not of sequence 0.
        let known = header.has_sequence.then(|| self.sequences.remove(&key)).flatten();
        let mut sequence = known.unwrap_or_default();
        sequence.deltas.begin(header);
        let fate = self.fate(header, &placed, time, &mut sequence);
        let done = match fate {
            Fate::Goes => {
                let done = sequence.pending.keep(header, &mut self.spool);
                done.and_then(|()| self.late_names(header, &mut sequence))
            }
            Fate::Stays => self.write(packet, None, &mut sequence, time),
            Fate::Is(payload) => self.write(packet, Some(&payload), &mut sequence, time),
            Fate::Are(payloads) => self.write_all(packet, &payloads, &mut sequence, time),
        };
        if header.has_sequence {
            self.sequences.insert(key, sequence);
        }
        done
    }

    /// Ends the file: writes the trees that no later packet had behind it.
    pub fn end(mut self) -> io::Result<Counted> {
        if self.is_same_cut {
            return Ok(self.counted);
        }
        let mut machines: Vec<(i64, Machine)> =
            self.machines.iter().map(|(machine, known)| (*machine, *known)).collect();
        machines.sort_unstable_by_key(|(machine, _)| *machine);
        for (machine, mut known) in machines {
            let stamp = Stamp { machine: known.machine, ..Stamp::default() };
            let stamp = known.stamp.unwrap_or(stamp);
            self.trees(machine, &mut known, stamp, i64::MAX)?;
        }
        if !self.is_begun {
            let clock = if self.has_default_clock(self.machine) { 0 } else { BOOTTIME };
            let stamp = Stamp { offset: 0, clock, machine: self.machine };
            self.start(self.stamp.unwrap_or(stamp))?;
        }
        Ok(self.counted)
    }

    /// Whether packets of a machine that name no clock have a known one.
    fn has_default_clock(&self, machine: u32) -> bool {
        self.have_default_clock.contains(&machine) || self.have_default_clock.contains(&0)
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
            (None, None) => Some(self.seen.unwrap_or(0)),
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
                if !(64..128).contains(&clock)
                    && (clock != 0 || self.has_default_clock(machine)) =>
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
            Some(
                PacketType::FTRACE_EVENTS
                    | PacketType::PROCESS_TREE
                    | PacketType::PROCESS_STATS
                    | PacketType::GENERIC_KERNEL_TASK_STATE_EVENT
            )
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
            false => self.add(&self.origin.packet(header.machine_id)),
        }
    }

    /// Writes the event at which a viewer begins.
    fn start(&mut self, stamp: Stamp) -> io::Result<()> {
        self.is_begun = true;
        self.add(&stamp.started(self.window.from))
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
            if let Some(living) = living.get(&machine) {
                for tree in stamp.trees(at, living, self.has_boot_time) {
                    self.add(&tree)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, packet: &[u8]) -> io::Result<()> {
        self.counted.added += 1;
        self.counted.written += 1;
        self.output.packet(packet)
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
        let mut carried = self.plan.packets.get(&placed.id).map_or(&[][..], Vec::as_slice);
        if header.timestamp.is_none()
            && carried.is_empty()
            && let Some(time) = time.filter(|time| *time < self.window.from)
        {
            carried = self.plan.untimed.get(&time).map_or(&[][..], Vec::as_slice);
        }
        // Only track events are carried for a part of what they say.
        let stays = is_in || !carried.is_empty();
        let by = |stays: bool| if stays { Fate::Stays } else { Fate::Goes };
        match windowed(kind) {
            Some(Windowed::Always) => by(kind != PacketType::SERVICE_EVENT || !is_started(payload)),
            Some(Windowed::Snapshot) => by(stays),
            Some(Windowed::KernelEvents) => self.bundle(header, placed, payload),
            Some(Windowed::TrackEvent) => self.track_event(payload, is_in, carried, sequence),
            Some(Windowed::StreamedSamples) => {
                self.samples(payload, stays || self.closes(time, sequence), sequence)
            }
            Some(Windowed::HeapDumps) => by(stays || self.closes_dump(payload, time, sequence)),
            Some(Windowed::LogLines) => by(placed.has_lines),
            Some(Windowed::Described(described)) => {
                let closes = kind == PacketType::GPU_COUNTER_EVENT
                    && self.closes_counters(payload, time, placed.machine);
                match stays || closes || has_rails_in(kind, payload, self.window) {
                    true => Fate::Stays,
                    false => described_only(payload, described),
                }
            }
            Some(Windowed::ByTime) if kind == PacketType::VULKAN_MEMORY_EVENT => {
                let own = Message(payload).number(vulkan_memory_event::TIMESTAMP);
                let own =
                    own.and_then(|own| i64::try_from(own).ok()).filter(|_| self.has_boot_time);
                by(own.map_or(stays, |own| self.window.contains(own)))
            }
            Some(Windowed::ByTime) if kind == PacketType::GENERIC_KERNEL_TASK_STATE_EVENT => {
                by(is_in || carried.iter().any(|carried| is_task_state(payload, *carried)))
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

    /// Whether a packet is the first behind the window with a counter that has a value before.
    fn closes_counters(&mut self, payload: &[u8], time: Option<i64>, machine: i64) -> bool {
        let has_value = |one: &Message<'_>| {
            one.number(gpu_counter::INT_VALUE).is_some()
                || one.float(gpu_counter::DOUBLE_VALUE).is_some()
        };
        let ids = Message(payload).each(gpu_counter_event::COUNTERS).map(Message);
        let ids = ids.filter(has_value).filter_map(|one| one.number(gpu_counter::COUNTER_ID));
        let described = Message(payload).number(gpu_counter_event::COUNTER_DESCRIPTOR_IID);
        let ids = ids.map(|id| (machine, described, id));
        match time {
            Some(time) if time < self.window.to => {
                self.gpu_counters.extend(ids);
                false
            }
            Some(_) => ids.filter(|id| self.gpu_counters.remove(id)).count() > 0,
            None => false,
        }
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

    fn bundle(&mut self, header: &Header<'_>, placed: &Placed, payload: &[u8]) -> Fate {
        let cpu = Message(payload).number(bundle::CPU).unwrap_or(0);
        let before = self.cpus.get_mut(&(header.machine_id, cpu));
        let stays = before.is_none();
        let mut before = before.map(std::mem::take).unwrap_or_default();
        let (window, offset) = (self.window, placed.offset);
        let span = Span::of(payload);
        let times = span.times(offset);
        let kept = Bundle {
            payload,
            window,
            ucpu: placed.machine.saturating_mul(4096).saturating_add_unsigned(cpu),
            offset,
            carried: &self.plan.events,
            stays,
            before: &before,
        }
        .cut(&span);
        self.seen = self.seen.max(times.map(|(_, last)| last));
        if span.has_switches && times.is_some_and(|(first, _)| first < window.from) {
            before.clear();
            before.extend_from_slice(payload);
        }
        self.cpus.insert((header.machine_id, cpu), before);
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
                    Carried::Whole | Carried::TaskState(_) => None,
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
            Use::Values => match only_values(event, &sequence.deltas) {
                Some(events) => return Fate::Are(events),
                None => None,
            },
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

    /// Names that a later packet of a sequence states for earlier ones: of the kernel's functions (rule W4), and of stages of
    /// GPUs (rule GP1).
    fn late_names(&mut self, header: &Header<'_>, sequence: &mut Sequence) -> io::Result<()> {
        let has = |number: u32| {
            let interned = header.interned_data.map(Message);
            interned.is_some_and(|interned| interned.each(number).next().is_some())
        };
        let has_symbols = matches!(header.packet_type(), None | Some(PacketType::FTRACE_EVENTS))
            && has(interned_data::KERNEL_SYMBOLS);
        let has_names = has_symbols || sequence.has_stages && OF_STAGES.iter().any(|one| has(*one));
        if !has_names || !sequence.pending.has_written() {
            return Ok(());
        }
        let (output, counted) = (&mut *self.output, &mut self.counted);
        let bare = Header { sequence_flags: 0, previous_packet_dropped: 0, ..*header };
        let uses = if sequence.has_stages { Uses::All } else { Uses::NONE };
        sequence.pending.state(&bare, uses, &mut self.spool, |packet| {
            counted.added += 1;
            counted.written += 1;
            output.packet(packet)
        })
    }

    /// A carried packet without a timestamp gets its time (rule O2), because the packets before it may be left out.
    fn new_time(&self, header: &Header<'_>, time: Option<i64>) -> NewTime {
        let kind = header.packet_type().and_then(windowed);
        let has_no_time = matches!(
            kind,
            None | Some(Windowed::Always | Windowed::KernelEvents | Windowed::Snapshot)
        );
        let is_carried =
            |time: &i64| *time < self.window.from && self.plan.untimed.contains_key(time);
        match time.filter(is_carried) {
            Some(time) if header.timestamp.is_none() && !has_no_time => {
                let stamp = self.stamp.unwrap_or_default();
                let clock =
                    if stamp.clock == 0 { NewClock::Same } else { NewClock::Is(stamp.clock) };
                NewTime { timestamp: u64::try_from(time.saturating_sub(stamp.offset)).ok(), clock }
            }
            _ => NewTime::SAME,
        }
    }

    /// Writes a packet of a track event as several. The first one has the state that the packet makes.
    fn write_all(
        &mut self,
        packet: &Packet<'_>,
        payloads: &[Vec<u8>],
        sequence: &mut Sequence,
        time: Option<i64>,
    ) -> io::Result<()> {
        let Some((first, others)) = payloads.split_first() else {
            return sequence.pending.keep(packet.header, &mut self.spool);
        };
        let new_time = self.new_time(packet.header, time);
        self.write(packet, Some(first), sequence, time)?;
        others.iter().try_for_each(|payload| self.add(&like(packet.header, new_time, payload)))
    }

    fn write(
        &mut self,
        packet: &Packet<'_>,
        payload: Option<&[u8]>,
        sequence: &mut Sequence,
        time: Option<i64>,
    ) -> io::Result<()> {
        let header = packet.header;
        let new_time = self.new_time(header, time);
        let (output, counted) = (&mut *self.output, &mut self.counted);
        if header.has_sequence {
            let uses = sequence.pending.uses(header);
            sequence.pending.state(header, uses, &mut self.spool, |packet| {
                counted.added += 1;
                counted.written += 1;
                output.packet(packet)
            })?;
        }
        counted.written += 1;
        counted.carried += u64::from(time.is_some_and(|time| time < self.window.from));
        sequence.has_stages |= header.packet_type() == Some(PacketType::GPU_RENDER_STAGE_EVENT);
        if payload.is_none() && new_time == NewTime::SAME {
            return output.packet(packet.bytes);
        }
        let mut bytes = Vec::with_capacity(packet.bytes.len());
        let payload = payload.map_or(NewPayload::Same, NewPayload::Is);
        header::write(packet.bytes, header, new_time, payload, &mut bytes);
        output.packet(&bytes)
    }
}

/// A packet like another one of its sequence, at the same time, with another payload and without state.
fn like(header: &Header<'_>, new: NewTime, payload: &[u8]) -> Vec<u8> {
    const NEEDS_STATE: u32 = 2;
    let mut out = start(header);
    if let Some(timestamp) = new.timestamp.or(header.timestamp) {
        put_number(&mut out, trace_packet::TIMESTAMP, timestamp);
    }
    let clock = match new.clock {
        NewClock::Is(clock) => clock,
        _ => header.timestamp_clock_id,
    };
    if clock != 0 {
        put_number(&mut out, trace_packet::TIMESTAMP_CLOCK_ID, clock.into());
    }
    if header.sequence_flags & NEEDS_STATE != 0 {
        put_number(&mut out, trace_packet::SEQUENCE_FLAGS, NEEDS_STATE.into());
    }
    put_bytes(&mut out, trace_packet::TRACK_EVENT, payload);
    out
}

/// Whether an event of a kernel that is not Linux is the carried one.
fn is_task_state(event: &[u8], carried: Carried) -> bool {
    let event = Message(event);
    let of = |number: u32| event.number(number).unwrap_or(0) as i64;
    match carried {
        Carried::TaskState(TaskState { tid, state, cpu }) => {
            of(task_state::TID) == tid
                && of(task_state::STATE) == state
                && cpu.is_none_or(|cpu| of(task_state::CPU) == cpu)
        }
        Carried::Whole | Carried::Event(_) => false,
    }
}

/// Whether a payload is a snapshot after which packets need not name their clock.
fn sets_default_clock((kind, payload): (PacketType, &[u8])) -> bool {
    let snapshot = Message(payload);
    let has_boottime = || {
        let mut readings = snapshot.each(clock_snapshot::CLOCKS).map(Message);
        let boottime = u64::from(BOOTTIME);
        readings.any(|reading| reading.number(clock_snapshot_clock::CLOCK_ID) == Some(boottime))
    };
    kind == PacketType::CLOCK_SNAPSHOT
        && (snapshot.number(clock_snapshot::PRIMARY_TRACE_CLOCK).is_some() || has_boottime())
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
