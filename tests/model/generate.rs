//! Random traces. They have few clocks and small numbers, so ties, backward steps and choices
//! between near snapshots are frequent; sometimes there is a number that does not fit.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use std::fmt;
use timebase_lab::encode::{
    Bundle, ClockSnapshot, CompactSwitch, CompactWaking, CpuIdle, FtraceEvent, Packet, Reading,
    SchedSwitch, TaskRename,
};

/// Builtin, sequence-scoped and global clocks.
pub const CLOCKS: [u32; 10] = [1, 3, 6, 10, 64, 65, 127, 128, 0x8000_0001, 5];

/// Places in `CLOCKS`.
const BOOTTIME: usize = 2;
const OF_SEQUENCE: usize = 4;
const MONOTONIC_RAW: usize = 9;

/// A trace and the readings to convert.
#[derive(Clone)]
pub struct Case {
    pub packets: Vec<Packet>,
    pub probes: Vec<i64>,
}

/// One packet on each line, without default values.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, packet) in self.packets.iter().enumerate() {
            write!(f, "\n  [{index}]")?;
            write_packet(f, packet)?;
        }
        write!(f, "\n  probes {:?}", self.probes)
    }
}

fn write_packet(f: &mut fmt::Formatter<'_>, packet: &Packet) -> fmt::Result {
    let defaults = Packet::default();
    if packet.machine_id != defaults.machine_id {
        write!(f, " machine={}", packet.machine_id)?;
    }
    if packet.is_of_sequence() {
        write!(f, " seq={}", packet.seq)?;
    }
    if packet.flags != defaults.flags {
        write!(f, " flags={}", packet.flags)?;
    }
    if packet.incremental_state_cleared {
        write!(f, " cleared")?;
    }
    if packet.previous_packet_dropped != 0 {
        write!(f, " dropped={}", packet.previous_packet_dropped)?;
    }
    if packet.first_packet_on_sequence {
        write!(f, " first")?;
    }
    if let Some(clock) = packet.defaults {
        write!(f, " defaults={clock}")?;
    }
    if let Some(clock) = packet.timestamp_clock_id {
        write!(f, " clock={clock}")?;
    }
    if let Some(timestamp) = packet.timestamp {
        write!(f, " timestamp={timestamp}")?;
    }
    if packet.uid.is_some() || packet.pid.is_some() {
        write!(f, " uid={:?} pid={:?}", packet.uid, packet.pid)?;
    }
    if let Some((field, bytes)) = &packet.payload {
        write!(f, " payload={field}:{bytes:?}")?;
    }
    if let Some(snapshot) = &packet.clock_snapshot {
        write!(f, " snapshot{{")?;
        for r in &snapshot.clocks {
            write!(f, " {}:{}", r.id, r.timestamp)?;
            if r.unit != 0 {
                write!(f, "*{}", r.unit)?;
            }
            if r.incremental {
                write!(f, "+")?;
            }
        }
        if let Some(primary) = snapshot.primary {
            write!(f, " primary={primary}")?;
        }
        write!(f, " }}")?;
    }
    if let Some(bundle) = &packet.ftrace_events {
        write_bundle(f, bundle)?;
    }
    if let Some(timestamps) = &packet.android_log {
        write!(f, " log{timestamps:?}")?;
    }
    Ok(())
}

fn write_bundle(f: &mut fmt::Formatter<'_>, bundle: &Bundle) -> fmt::Result {
    write!(f, " bundle{{ cpu={:?} clock={:?}", bundle.cpu, bundle.clock)?;
    if bundle.ftrace_timestamp.is_some() || bundle.boot_timestamp.is_some() {
        let pair = (bundle.ftrace_timestamp, bundle.boot_timestamp);
        write!(f, " pair={pair:?}")?;
    }
    for switch in &bundle.switches {
        write!(f, "\n      {switch:?}")?;
    }
    for waking in &bundle.wakings {
        write!(f, "\n      {waking:?}")?;
    }
    for event in &bundle.events {
        write!(f, "\n      {event:?}")?;
    }
    write!(f, " }}")
}

/// The settings of a whole trace.
#[derive(Clone, Debug)]
struct World {
    /// of the clock at the same place of `CLOCKS`
    units: Vec<u64>,
    incremental: Vec<bool>,
    /// the clock's lead over time
    leads: Vec<i64>,
    /// whether the clock may step back
    steps_back: Vec<bool>,
    /// clocks that are often read together
    sets: Vec<Vec<usize>>,
    /// whether there are snapshots that break a rule
    faulty: bool,
    /// whether there are numbers near the bounds of 64 bits
    huge: bool,
    /// whether snapshots name a primary clock
    primaries: bool,
}

#[derive(Clone, Debug)]
struct RawReading {
    clock: usize,
    jitter: i64,
    fault: u8,
    huge: Option<u64>,
}

#[derive(Clone, Debug)]
enum RawPayload {
    Snapshot {
        /// of the clocks of this set, or of a few others
        set: Option<usize>,
        readings: Vec<RawReading>,
        primary: Option<i32>,
        timestamped: bool,
    },
    Event(Option<(u32, Vec<u8>)>),
    Bundle(RawBundle),
    Log(Vec<RawTime>),
}

impl RawPayload {
    /// Whether it may be a snapshot.
    fn is_snapshot(&self) -> bool {
        match self {
            RawPayload::Snapshot { .. } => true,
            RawPayload::Bundle(bundle) => bundle.pair.iter().all(Option::is_some),
            _ => false,
        }
    }
}

/// The time of something inside a packet.
#[derive(Clone, Copy, Debug)]
struct RawTime {
    timestamp: Option<u64>,
    huge: Option<u64>,
}

impl RawTime {
    fn build(self, world: &World, first: u64) -> Option<u64> {
        let timestamp = self.timestamp? + first;
        Some(self.huge.filter(|_| world.huge).unwrap_or(timestamp))
    }
}

#[derive(Clone, Debug)]
struct RawBundle {
    cpu: Option<u32>,
    clock: Option<i32>,
    /// of the bundle's clock and of BOOTTIME
    pair: [Option<RawReading>; 2],
    /// whether the pair has the ftrace_timestamp of the previous one in the trace
    again: bool,
    /// the time from which on there are events
    first: u64,
    switches: Vec<(RawTime, CompactSwitch)>,
    wakings: Vec<(RawTime, CompactWaking)>,
    events: Vec<(RawTime, FtraceEvent)>,
}

#[derive(Clone, Debug)]
struct RawPacket {
    elapsed: i64,
    /// `None` if it is not written.
    seq: Option<u32>,
    flags: u32,
    cleared: bool,
    dropped: u32,
    first: bool,
    defaults: Option<u32>,
    clock: Option<u32>,
    timestamp: Option<u64>,
    huge: Option<u64>,
    ids: (Option<i32>, Option<i32>),
    payload: RawPayload,
}

/// A trace whose packets are in any order, or one whose snapshots come first.
pub fn case(snapshots_first: bool) -> impl Strategy<Value = Case> {
    let packets = vec(raw_packet(), 1..28);
    (world(), packets, vec(probe(), 6)).prop_map(move |(world, mut raw, probes)| {
        if snapshots_first {
            for packet in &mut raw {
                // A packet with a pair is only a snapshot.
                if let RawPayload::Bundle(bundle) = &mut packet.payload
                    && bundle.pair.iter().all(Option::is_some)
                {
                    packet.timestamp = None;
                    bundle.switches.clear();
                    bundle.wakings.clear();
                    bundle.events.clear();
                }
            }
            raw.sort_by_key(|p| !p.payload.is_snapshot());
        }
        let (mut now, mut last_pair) = (0, None);
        let packets = raw
            .iter()
            .map(|packet| {
                now += packet.elapsed;
                build(&world, packet, now, &mut last_pair)
            })
            .collect();
        Case { packets, probes }
    })
}

fn world() -> impl Strategy<Value = World> {
    let n = CLOCKS.len();
    (
        vec(prop_oneof![6 => Just(0), 2 => Just(1), 2 => Just(3), 1 => Just(10)], n),
        vec(any::<bool>(), n),
        (vec(0..60_i64, n), vec(prop::bool::weighted(0.15), n)),
        vec(vec(clock(), 2..4), 3),
        any::<bool>(),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.3),
    )
        .prop_map(
            |(mut units, incremental, (leads, steps_back), mut sets, faulty, huge, primaries)| {
                if !faulty {
                    units[BOOTTIME] = 1; // or otherwise no snapshot with it is accepted
                }
                // The clocks of a bundle's pair are in other snapshots, too.
                sets.push(vec![BOOTTIME, MONOTONIC_RAW]);
                sets.push(vec![BOOTTIME, OF_SEQUENCE]);
                World { units, incremental, leads, steps_back, sets, faulty, huge, primaries }
            },
        )
}

fn raw_packet() -> impl Strategy<Value = RawPacket> {
    (
        0..8_i64,
        prop_oneof![
            2 => Just(None),
            1 => Just(Some(0)),
            8 => Just(Some(1)),
            8 => Just(Some(2)),
            2 => Just(Some(3)),
        ],
        prop_oneof![6 => Just(0_u32), 2 => Just(1), 2 => Just(2), 1 => Just(3), 1 => Just(4)],
        (prop::bool::weighted(0.05), prop_oneof![12 => Just(0_u32), 1 => 1..3_u32]),
        prop::bool::weighted(0.05),
        weighted(0.1, prop_oneof![1 => Just(0), 4 => prop::sample::select(CLOCKS.to_vec())]),
        weighted(0.6, prop_oneof![1 => Just(0), 9 => prop::sample::select(CLOCKS.to_vec())]),
        (weighted(0.9, 0..100_u64), weighted(0.2, huge())),
        (weighted(0.1, -1..3_i32), weighted(0.1, -1..3_i32)),
        raw_payload(),
    )
        .prop_map(
            |(
                elapsed,
                seq,
                flags,
                (cleared, dropped),
                first,
                defaults,
                clock,
                (timestamp, huge),
                ids,
                payload,
            )| RawPacket {
                elapsed,
                seq,
                flags,
                cleared,
                dropped,
                first,
                defaults,
                clock,
                timestamp,
                huge,
                ids,
                payload,
            },
        )
}

fn raw_payload() -> impl Strategy<Value = RawPayload> {
    let fields = [5, 11, 11, 11, 51, 69, 777, 900];
    let event = weighted(
        0.9,
        (
            prop::sample::select(fields.to_vec()),
            prop_oneof![3 => Just(vec![]), 1 => Just(vec![0x98, 0x75, 1])],
        ),
    );
    let primaries = [1, 3, 6, 10, 128, 0, -1, 70];
    let snapshot = (
        weighted(0.7, prop_oneof![6 => 0..3_usize, 2 => Just(3), 1 => Just(4)]),
        prop_oneof![1 => Just(vec![]), 20 => vec(raw_reading(), 3)],
        weighted(0.3, prop::sample::select(primaries.to_vec())),
        prop::bool::weighted(0.4),
    );
    prop_oneof![
        3 => event.prop_map(RawPayload::Event),
        3 => raw_bundle().prop_map(RawPayload::Bundle),
        1 => vec(raw_time(), 0..4).prop_map(RawPayload::Log),
        4 => snapshot.prop_map(
            |(set, readings, primary, timestamped)| RawPayload::Snapshot {
                set,
                readings,
                primary,
                timestamped
            }
        ),
    ]
}

fn raw_bundle() -> impl Strategy<Value = RawBundle> {
    // 9 is an unknown clock.
    let clocks = [0, 1, 2, 2, 2, 3, 4, 4, 4, 4, 9];
    (
        weighted(0.95, 0..2_u32),
        weighted(0.9, prop::sample::select(clocks.to_vec())),
        [weighted(0.7, raw_reading()), weighted(0.85, raw_reading())],
        prop::bool::weighted(0.2),
        prop_oneof![1 => Just(0), 9 => 0..120_u64],
        vec((raw_time(), switch()), 0..3),
        vec((raw_time(), waking()), 0..3),
        vec((raw_time(), full()), 0..4),
    )
        .prop_map(|(cpu, clock, pair, again, first, switches, wakings, events)| RawBundle {
            cpu,
            clock,
            pair,
            again,
            first,
            switches,
            wakings,
            events,
        })
}

fn raw_time() -> impl Strategy<Value = RawTime> {
    (weighted(0.9, 0..6_u64), weighted(0.2, huge()))
        .prop_map(|(timestamp, huge)| RawTime { timestamp, huge })
}

fn switch() -> impl Strategy<Value = CompactSwitch> {
    let numbers = (-1..3_i64, 0..3_i32, -1..2_i32);
    (numbers, comm()).prop_map(|((prev_state, next_pid, next_prio), next_comm)| CompactSwitch {
        timestamp: 0,
        prev_state,
        next_pid,
        next_prio,
        next_comm,
    })
}

fn waking() -> impl Strategy<Value = CompactWaking> {
    let numbers = (0..3_i32, 0..2_i32, 0..3_i32);
    (numbers, comm()).prop_map(|((pid, target_cpu, prio), comm)| CompactWaking {
        timestamp: 0,
        pid,
        target_cpu,
        prio,
        comm,
    })
}

fn full() -> impl Strategy<Value = FtraceEvent> {
    let idle = weighted(0.5, 0..3_u32).prop_map(|state| FtraceEvent {
        cpu_idle: Some(CpuIdle { state }),
        ..FtraceEvent::default()
    });
    let switch = (weighted(0.8, comm()), weighted(0.8, 0..3_i32), weighted(0.8, 0..3_i32))
        .prop_map(|(next_comm, next_pid, next_prio)| FtraceEvent {
            sched_switch: Some(SchedSwitch { next_comm, next_pid, next_prio }),
            ..FtraceEvent::default()
        });
    let rename = (weighted(0.8, 0..3_i32), "[xyz]").prop_map(|(pid, newcomm)| FtraceEvent {
        task_rename: Some(TaskRename { pid, newcomm }),
        ..FtraceEvent::default()
    });
    let kinds = prop_oneof![
        1 => Just(FtraceEvent::default()),
        4 => idle,
        4 => switch,
        4 => rename,
    ];
    (kinds, weighted(0.8, 0..3_u32)).prop_map(|(event, tid)| FtraceEvent { tid, ..event })
}

fn comm() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "b", "c"]).prop_map(str::to_owned)
}

fn raw_reading() -> impl Strategy<Value = RawReading> {
    (
        clock(),
        prop_oneof![8 => Just(0_i64), 3 => 0..4_i64, 3 => -12..0_i64],
        any::<u8>(),
        weighted(0.1, huge()),
    )
        .prop_map(|(clock, jitter, fault, huge)| RawReading { clock, jitter, fault, huge })
}

/// The index of a clock in `CLOCKS`, with common clocks more often.
fn clock() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 0..3_usize, 4 => 0..CLOCKS.len()]
}

fn huge() -> impl Strategy<Value = u64> {
    let marks = [1 << 61, i64::MAX as u64 / 3, i64::MAX as u64, 1 << 63, u64::MAX - 8];
    (prop::sample::select(marks.to_vec()), 0..16_u64)
        .prop_map(|(mark, less)| (mark + 8).saturating_sub(less))
}

fn probe() -> impl Strategy<Value = i64> {
    prop_oneof![20 => -20..160_i64, 1 => huge().prop_map(u64::cast_signed)]
}

/// `last_pair` is the ftrace_timestamp of the previous pair.
fn build(world: &World, raw: &RawPacket, now: i64, last_pair: &mut Option<i64>) -> Packet {
    let mut packet = Packet {
        timestamp: raw.timestamp,
        timestamp_clock_id: raw.clock,
        seq: raw.seq.unwrap_or(0),
        is_zero_written: raw.seq == Some(0),
        flags: raw.flags,
        incremental_state_cleared: raw.cleared,
        previous_packet_dropped: raw.dropped,
        first_packet_on_sequence: raw.first,
        defaults: raw.defaults,
        uid: raw.ids.0,
        pid: raw.ids.1,
        ..Packet::default()
    };
    if let (true, true, Some(huge)) = (world.huge, packet.timestamp.is_some(), raw.huge) {
        packet.timestamp = Some(huge);
    }
    match &raw.payload {
        RawPayload::Event(payload) => packet.payload = payload.clone(),
        RawPayload::Log(times) => {
            let timestamps = times.iter().map(|time| time.build(world, 40));
            packet.android_log = Some(timestamps.collect());
        }
        RawPayload::Bundle(raw) => {
            packet.ftrace_events = Some(bundle(world, raw, now, last_pair));
        }
        RawPayload::Snapshot { set, readings, primary, timestamped } => {
            if !timestamped {
                packet.timestamp = None;
            }
            let primary = primary.filter(|_| world.primaries);
            let mut readings = readings.clone();
            if let Some(set) = set {
                readings.truncate(world.sets[*set].len());
                for (reading, clock) in readings.iter_mut().zip(&world.sets[*set]) {
                    reading.clock = *clock;
                }
            }
            packet.clock_snapshot = Some(snapshot(world, packet.seq, &readings, primary, now));
        }
    }
    packet
}

fn bundle(world: &World, raw: &RawBundle, now: i64, last_pair: &mut Option<i64>) -> Bundle {
    let clock = match raw.clock {
        Some(2 | 3) => OF_SEQUENCE,
        Some(4) => MONOTONIC_RAW,
        _ => BOOTTIME,
    };
    let [mut ftrace_timestamp, boot_timestamp] = [(0, clock), (1, BOOTTIME)].map(|(n, clock)| {
        let raw = raw.pair[n].as_ref()?;
        let least = if world.steps_back[clock] { -12 } else { 0 };
        let value = now + world.leads[clock] + raw.jitter.max(least);
        let huge = raw.huge.filter(|_| world.huge).map(u64::cast_signed);
        // Only a pair that breaks a rule is negative.
        let least = if world.faulty { i64::MIN } else { 0 };
        Some(huge.unwrap_or(value.max(least)))
    });
    if raw.again && last_pair.is_some() && ftrace_timestamp.is_some() {
        ftrace_timestamp = *last_pair;
    }
    if let (Some(timestamp), Some(_)) = (ftrace_timestamp, boot_timestamp) {
        *last_pair = Some(timestamp);
    }

    let mut switches: Vec<CompactSwitch> = Vec::new();
    for (time, switch) in &raw.switches {
        switches.push(CompactSwitch {
            timestamp: time.build(world, raw.first).unwrap_or(0),
            ..switch.clone()
        });
    }
    let mut wakings: Vec<CompactWaking> = Vec::new();
    for (time, waking) in &raw.wakings {
        wakings.push(CompactWaking {
            timestamp: time.build(world, raw.first).unwrap_or(0),
            ..waking.clone()
        });
    }
    switches.sort_by_key(|switch| switch.timestamp);
    wakings.sort_by_key(|waking| waking.timestamp);
    // In the order of time, as in a CPU's buffer; but some have no time.
    let mut times: Vec<u64> =
        raw.events.iter().filter_map(|(time, _)| time.build(world, raw.first)).collect();
    times.sort_unstable();
    let mut times = times.into_iter();
    let mut events: Vec<FtraceEvent> = Vec::new();
    for (time, event) in &raw.events {
        events.push(FtraceEvent {
            timestamp: time.timestamp.and_then(|_| times.next()),
            ..event.clone()
        });
    }
    Bundle {
        cpu: raw.cpu,
        clock: raw.clock,
        ftrace_timestamp,
        boot_timestamp,
        events,
        switches,
        wakings,
    }
}

fn snapshot(
    world: &World,
    seq: u32,
    readings: &[RawReading],
    primary: Option<i32>,
    now: i64,
) -> ClockSnapshot {
    let mut clocks: Vec<Reading> = Vec::new();
    for raw in readings {
        let id = CLOCKS[raw.clock];
        let scoped = (64..=127).contains(&id);
        let twice = clocks.iter().any(|r| r.id == id);
        // One in ten snapshots of a faulty trace breaks a rule by this.
        let fault = if world.faulty { raw.fault } else { u8::MAX };
        if (twice && fault > 20) || (scoped && seq == 0 && !world.faulty) {
            continue;
        }
        let least = if world.steps_back[raw.clock] { -12 } else { 0 };
        let jitter = raw.jitter.max(least);
        let mut reading = Reading {
            id,
            timestamp: (now + world.leads[raw.clock] + jitter).max(0).cast_unsigned(),
            incremental: scoped && world.incremental[raw.clock],
            unit: world.units[raw.clock],
        };
        match fault {
            21..25 => reading.id = 0,
            25..29 => reading.incremental = !reading.incremental,
            29..33 => reading.unit = 2,
            33..35 => reading.unit = i64::MAX.cast_unsigned() / 20,
            _ => {}
        }
        if let (true, Some(huge)) = (world.huge, raw.huge) {
            reading.timestamp = huge;
        }
        clocks.push(reading);
    }
    ClockSnapshot { clocks, primary }
}
