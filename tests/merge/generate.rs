//! Random sets of files. They have few clocks, few machines and small numbers, so ties, backward
//! steps and choices between near snapshots are frequent; some manifests fit the files, others do
//! not.

use super::archive::{self, File};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::fmt;
use timebase_lab::encode::{
    self, Bundle, ClockSnapshot, FtraceEvent, Packet, Reading, SyncedClocks,
};

/// Names in no order: some come before others only as bytes.
const NAMES: [&str; 5] = ["b.pb", "Z", "a", "ä.pb", "c.pftrace"];
const MACHINES: [u32; 4] = [0, 7, 42, u32::MAX];
/// Clocks that snapshots hold, with their units; the last but two is incremental.
const CLOCKS: [(u32, u64); 9] =
    [(6, 1), (1, 1), (3, 1), (2, 1), (64, 1), (70, 1), (0x8000_0001, 10), (5, 1), (11, 1)];
const INCREMENTAL: u32 = 70;
const CLOCK_NAMES: [&str; 6] =
    ["BOOTTIME", "REALTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME_COARSE", "MONOTONIC_COARSE"];

/// Files in the order of arguments, another order of them, and a manifest.
#[derive(Clone)]
pub struct Case {
    files: Vec<(String, Vec<Packet>, bool)>,
    manifest: Option<Json>,
    shuffle: Vec<u8>,
}

impl Case {
    pub fn files(&self) -> Vec<File> {
        let files = self.files.iter().map(|(name, packets, compressed)| {
            let trace = encode::trace(packets);
            let bytes =
                if *compressed && !trace.is_empty() { archive::gzip(&trace) } else { trace };
            File::new(name, bytes)
        });
        files.collect()
    }

    pub fn manifest(&self) -> Option<String> {
        self.manifest.as_ref().map(Json::to_string)
    }

    /// The files and the manifest, in this order.
    pub fn members(&self) -> Vec<File> {
        let mut files = self.files();
        let manifest = self.manifest();
        files.extend(manifest.map(|manifest| File::new("the.manifest", manifest)));
        files
    }

    /// Files in another order.
    pub fn shuffled(&self, files: Vec<File>) -> Vec<File> {
        let mut keyed: Vec<_> = files.into_iter().enumerate().collect();
        let key = |n: usize| self.shuffle.get(n).copied().unwrap_or(0);
        keyed.sort_by_key(|(n, _)| (key(*n), std::cmp::Reverse(*n)));
        keyed.into_iter().map(|(_, file)| file).collect()
    }
}

/// A packet on each line, without default values.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, packets, compressed) in &self.files {
            let how = if *compressed { " (gzip)" } else { "" };
            write!(f, "\n{name}{how}")?;
            for (number, packet) in packets.iter().enumerate() {
                write!(f, "\n  [{number}]")?;
                write_packet(f, packet)?;
            }
        }
        if let Some(manifest) = &self.manifest {
            write!(f, "\n{manifest}")?;
        }
        write!(f, "\nshuffled by {:?}", self.shuffle)
    }
}

fn write_packet(f: &mut fmt::Formatter<'_>, packet: &Packet) -> fmt::Result {
    let numbers = [
        ("machine", packet.machine_id.into()),
        ("seq", packet.seq.into()),
        ("flags", packet.flags.into()),
        ("dropped", packet.previous_packet_dropped.into()),
        ("clock", u64::from(packet.timestamp_clock_id.unwrap_or(0))),
    ];
    for (name, number) in numbers.iter().filter(|(_, number)| *number != 0) {
        write!(f, " {name}={number}")?;
    }
    if let Some(clock) = packet.defaults {
        write!(f, " defaults={clock}")?;
    }
    if let Some(timestamp) = packet.timestamp {
        write!(f, " timestamp={timestamp}")?;
    }
    if packet.is_marker {
        write!(f, " marker")?;
    }
    if let Some(name) = &packet.machine_name {
        write!(f, " name={name}")?;
    }
    if let Some((field, _)) = &packet.payload {
        write!(f, " payload={field}")?;
    }
    if let Some(snapshot) = &packet.clock_snapshot {
        write!(f, " snapshot")?;
        write_snapshot(f, snapshot)?;
    }
    for synced in packet.remote_clock_sync.iter().flatten() {
        write!(f, " client")?;
        write_snapshot(f, &synced.client)?;
        write!(f, " host")?;
        write_snapshot(f, &synced.host)?;
    }
    if let Some(bundle) = &packet.ftrace_events {
        let times: Vec<_> = bundle.events.iter().map(|event| event.timestamp).collect();
        let pair = (bundle.ftrace_timestamp, bundle.boot_timestamp);
        write!(f, " bundle{{clock={:?} {pair:?} {times:?}}}", bundle.clock)?;
    }
    Ok(())
}

fn write_snapshot(f: &mut fmt::Formatter<'_>, snapshot: &ClockSnapshot) -> fmt::Result {
    write!(f, "{{")?;
    for reading in &snapshot.clocks {
        write!(f, " {}:{}", reading.id, reading.timestamp)?;
        if reading.unit > 1 {
            write!(f, "*{}", reading.unit)?;
        }
        if reading.incremental {
            write!(f, "+")?;
        }
    }
    if let Some(primary) = snapshot.primary {
        write!(f, " primary={primary}")?;
    }
    write!(f, " }}")
}

/// A future reading: the index of its clock in `CLOCKS`, and its error.
#[derive(Clone, Copy, Debug)]
struct RawReading {
    clock: usize,
    jitter: i64,
    fault: u8,
}

#[derive(Clone, Debug)]
enum RawPayload {
    Snapshot {
        readings: Vec<RawReading>,
        primary: Option<i32>,
        by_service: bool,
    },
    /// The client's and the host's readings, and the gap before them.
    Sync(Vec<(Vec<RawReading>, Vec<RawReading>, u8)>),
    Event(Option<usize>),
    Bundle {
        clock: i32,
        pair: Option<(i64, i64)>,
        events: Vec<Option<u64>>,
    },
    Defaults(usize),
    Marker,
    Name(String),
    Nothing,
}

#[derive(Clone, Debug)]
struct RawPacket {
    /// the place in the machines of its file
    machine: usize,
    seq: u32,
    flags: u32,
    dropped: bool,
    payload: RawPayload,
    step: u64,
}

#[derive(Clone, Debug)]
struct RawFile {
    /// places in `MACHINES`
    machines: Vec<usize>,
    packets: Vec<RawPacket>,
    compressed: bool,
    /// whether all snapshots are at the front
    snapshots_first: bool,
    entry: RawEntry,
}

/// The manifest's data about a file.
#[derive(Clone, Debug)]
struct RawEntry {
    listed: bool,
    /// of its machines: the place of the first in names that files share
    names: Option<usize>,
    clocks: Option<RawClocks>,
    fault: u8,
}

#[derive(Clone, Debug)]
struct RawClocks {
    clock: Option<usize>,
    /// the place of the other file, and of its clock
    file: usize,
    reference: Option<usize>,
    offset: i64,
}

#[derive(Clone, Debug)]
struct RawTraceTime {
    clock: usize,
    file: Option<usize>,
}

/// The lead of a machine's clock over the generated time.
fn lead(machine: u32, clock: u32) -> i64 {
    let of_machine = match machine {
        0 => 0,
        7 => 400,
        42 => 3000,
        _ => -300,
    };
    match clock {
        1 => 1_000_000 + of_machine / 7,
        2 => 1_000_000,
        3 | 5 => of_machine + 150,
        64 => of_machine * 2 + 50,
        INCREMENTAL => 20,
        11 => 5,
        _ => of_machine,
    }
}

/// This comes first, so that times are not negative.
const START: i64 = 2000;

fn reading(raw: RawReading, machine: u32, time: u64) -> Reading {
    let (id, unit) = CLOCKS[raw.clock];
    let value = START + time.cast_signed() + lead(machine, id) + raw.jitter;
    let mut reading = Reading {
        id,
        timestamp: value.max(0).cast_unsigned() / unit,
        incremental: id == INCREMENTAL,
        unit: if unit == 1 { 0 } else { unit },
    };
    match raw.fault {
        0 => reading.unit = 7,
        1 => reading.incremental ^= true,
        2 => reading.timestamp = u64::MAX / 2 + 5,
        3 => reading.id = 0,
        _ => {}
    }
    reading
}

/// Each clock once.
fn readings(raw: &[RawReading], machine: u32, time: u64) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    for raw in raw {
        let reading = reading(*raw, machine, time);
        // Sometimes twice: N2.
        if raw.fault == 4 || readings.iter().all(|r| r.id != reading.id) {
            readings.push(reading);
        }
    }
    readings
}

/// The readings of the host and its client: clocks that all machines have, in nanoseconds.
fn synced(raw: &[RawReading], machine: u32, time: u64) -> ClockSnapshot {
    let plain =
        |raw: &RawReading| RawReading { clock: raw.clock % 4, fault: 9, jitter: raw.jitter };
    let plain: Vec<_> = raw.iter().map(plain).collect();
    ClockSnapshot { clocks: readings(&plain, machine, time), primary: None }
}

fn packet(raw: &RawPacket, machines: &[usize], time: u64) -> Packet {
    let machine = MACHINES[machines[raw.machine % machines.len()]];
    let mut packet = Packet {
        machine_id: machine,
        seq: raw.seq,
        flags: raw.flags,
        previous_packet_dropped: raw.dropped.into(),
        ..Packet::default()
    };
    match &raw.payload {
        RawPayload::Snapshot { readings: raw, primary, by_service } => {
            if *by_service {
                packet.seq = 1;
            }
            packet.flags = 0;
            packet.clock_snapshot =
                Some(ClockSnapshot { clocks: readings(raw, machine, time), primary: *primary });
        }
        RawPayload::Sync(rounds) => {
            packet.flags = 0;
            packet.remote_clock_sync = Some(sync(rounds, machine, time));
        }
        RawPayload::Event(clock) => {
            let clock = clock.map(|clock| CLOCKS[clock]);
            let (id, unit) = clock.unwrap_or((6, 1));
            let value = START + time.cast_signed() + lead(machine, id);
            let value = value.max(0).cast_unsigned() / unit;
            let is_delta = id == INCREMENTAL;
            packet.timestamp = Some(if is_delta { value % 10 } else { value });
            packet.timestamp_clock_id = clock.map(|(id, _)| id);
            packet.payload = Some((11, Vec::new()));
        }
        RawPayload::Bundle { clock, pair, events } => {
            let start = START + time.cast_signed() + lead(machine, 6);
            let start = start.max(0);
            packet.flags = 0;
            packet.ftrace_events = Some(Bundle {
                cpu: Some(0),
                clock: Some(*clock),
                ftrace_timestamp: pair.map(|(ftrace, _)| start + ftrace),
                boot_timestamp: pair.map(|(_, boot)| start + boot),
                events: sorted(events, start.cast_unsigned()),
                ..Bundle::default()
            });
        }
        RawPayload::Defaults(clock) => packet.defaults = Some(CLOCKS[*clock].0),
        RawPayload::Marker => {
            // A separate packet, like the service's.
            packet = Packet { is_marker: true, ..Packet::default() };
        }
        RawPayload::Name(name) => {
            packet.flags = 0;
            packet.machine_name = Some(name.clone());
        }
        RawPayload::Nothing => packet.payload = Some((900, Vec::new())),
    }
    packet
}

/// The events of a bundle, in the order of time; events without a time come first.
fn sorted(events: &[Option<u64>], start: u64) -> Vec<FtraceEvent> {
    let mut times: Vec<_> = events.iter().map(|time| time.map(|t| start + t)).collect();
    times.sort_unstable();
    let event = |timestamp| FtraceEvent { timestamp, ..FtraceEvent::default() };
    times.into_iter().map(event).collect()
}

type RawRounds = [(Vec<RawReading>, Vec<RawReading>, u8)];

fn sync(rounds: &RawRounds, machine: u32, time: u64) -> Vec<SyncedClocks> {
    let mut time = time;
    let mut all = Vec::new();
    for (client, host, gap) in rounds {
        // A gap of 30 s or longer makes no round (X20).
        time += match gap {
            0 => 30_000_000_000,
            1 => 29_999_999_999,
            _ => 20,
        };
        all.push(SyncedClocks {
            client: synced(client, machine, time),
            host: synced(host, 0, time + 3),
        });
        time += 7;
    }
    all
}

fn packets(file: &RawFile) -> Vec<Packet> {
    let mut time = 0;
    let mut all = Vec::new();
    for raw in &file.packets {
        time += raw.step;
        all.push(packet(raw, &file.machines, time));
    }
    if file.snapshots_first {
        let is_other = |packet: &Packet| {
            packet.clock_snapshot.is_none()
                && packet.remote_clock_sync.is_none()
                && packet.ftrace_events.is_none()
        };
        all.sort_by_key(is_other); // stable
    }
    let pinned = file.entry.clocks.as_ref().is_some_and(|c| c.clock.is_none());
    let single = file.machines == [0];
    if pinned && single && file.entry.fault != 1 {
        let fits = |p: &Packet| p.clock_snapshot.is_none() && p.remote_clock_sync.is_none();
        all.retain(fits);
    } else if single && file.entry.names.is_some() && file.entry.fault != 1 {
        all.retain(|p| p.remote_clock_sync.is_none());
    }
    if all.is_empty() {
        // An empty file is no trace.
        all.push(Packet { payload: Some((900, Vec::new())), ..Packet::default() });
    }
    all
}

/// Names of machines that several files may have.
const MACHINE_NAMES: [&str; 4] = ["phone", "watch", "vm", "server"];

/// The manifest's entry of a file, the part about its machines.
fn entry(name: &str, file: &RawFile) -> Json {
    let mut entry = json!({ "path": name });
    let Some(first) = file.entry.names else {
        return entry;
    };
    // Ids of one file are different machines, except in wrong manifests.
    let apart = if file.entry.fault == 0 { 0 } else { 1 };
    let name = |n: usize| MACHINE_NAMES[(first + n * apart) % MACHINE_NAMES.len()];
    if file.machines == [0] {
        entry["machine"] = json!({"name": name(0)});
    } else {
        let listed = file.machines.iter().enumerate();
        let skipped = usize::from(file.entry.fault == 2);
        let listed = listed.skip(skipped);
        let machines = listed.map(|(n, id)| json!({"id": MACHINES[*id], "name": name(n)}));
        entry["machines"] = machines.collect();
    }
    entry
}

fn manifest(files: &[(&str, &RawFile)], trace_time: Option<&RawTraceTime>, fault: u8) -> Json {
    let mut entries: Vec<Json> = files.iter().map(|(name, file)| entry(name, file)).collect();
    // The machine that an entry of several means (X38).
    let machine_of = |entry: &Json| -> Option<Json> {
        let machines = entry.get("machines")?.as_array()?;
        Some(machines.first()?["name"].clone())
    };
    let is_listed = |n: usize| files[n].1.entry.listed;
    let reference = |entries: &[Json], n: usize| {
        let mut reference = json!({"file": files[n].0});
        if let Some(machine) = machine_of(&entries[n]) {
            reference["machine"] = machine;
        }
        reference
    };
    for n in 0..files.len() {
        let Some(raw) = &files[n].1.entry.clocks else {
            continue;
        };
        let other = raw.file % files.len();
        let mut sync_to = reference(&entries, other);
        if let Some(clock) = raw.reference {
            sync_to["clock"] = json!(CLOCK_NAMES[clock]);
        }
        let mut clocks = json!({"sync_to": sync_to, "offset_ns": raw.offset});
        if let Some(clock) = raw.clock {
            clocks["clock"] = json!(CLOCK_NAMES[clock]);
        }
        if let Some(machine) = machine_of(&entries[n]) {
            clocks["machine"] = machine;
        }
        match files[n].1.entry.fault {
            3 => clocks["offset_ns"] = json!(i64::MIN),
            4 => clocks["clock"] = json!("boottime"),
            5 => clocks["sync_to"]["machine"] = json!("nobody"),
            _ => {}
        }
        entries[n]["clocks"] = clocks;
    }
    let mut root = json!({"version": 1});
    if let Some(trace_time) = trace_time {
        let mut json = match trace_time.file {
            Some(file) => reference(&entries, file % files.len()),
            None => json!({}),
        };
        json["clock"] = json!(CLOCK_NAMES[trace_time.clock]);
        root["trace_time"] = json;
    }
    let listed = entries.iter().enumerate();
    let mut listed: Vec<Json> =
        listed.filter(|(n, _)| is_listed(*n)).map(|(_, entry)| entry.clone()).collect();
    match fault {
        0 => root["version"] = json!("1"),
        1 => root["version"] = json!(1.0),
        2 => root["attributes"] = json!({"a": true}),
        3 => listed.push(json!({"path": 7})),
        4 => listed.push(json!({"path": "nobody", "machine": {"name": ""}})),
        5 => listed.push(json!({"path": "nobody", "machine": {"name": "nobody"}})),
        6 => root["attributes"] = json!({"a": 1, "b": "c"}),
        _ => {}
    }
    root["files"] = listed.into();
    json!({ "perfetto_manifest": root })
}

fn raw_reading() -> impl Strategy<Value = RawReading> {
    let clock = prop_oneof![
        6 => 0..2_usize,
        4 => 2..5_usize,
        2 => 5..8_usize,
        1 => 8..9_usize,
    ];
    let jitter = prop_oneof![8 => Just(0), 3 => -5..6_i64, 1 => -80..80_i64];
    let fault = prop_oneof![60 => Just(9_u8), 1 => 0..5_u8];
    (clock, jitter, fault).prop_map(|(clock, jitter, fault)| RawReading { clock, jitter, fault })
}

fn raw_payload() -> impl Strategy<Value = RawPayload> {
    let primary = weighted(0.25, prop_oneof![Just(6), Just(1), Just(3)]);
    let snapshot = (vec(raw_reading(), 0..5), primary, any::<bool>());
    let snapshot = snapshot.prop_map(|(readings, primary, by_service)| RawPayload::Snapshot {
        readings,
        primary,
        by_service,
    });
    let gap = prop_oneof![1 => 0..2_u8, 6 => Just(9_u8)];
    let round = (vec(raw_reading(), 0..4), vec(raw_reading(), 0..4), gap);
    let alike =
        (vec(raw_reading(), 1..4), 0..9_u8).prop_map(|(both, gap)| (both.clone(), both, gap));
    let round = prop_oneof![1 => round, 3 => alike];
    let sync = vec(round, 1..5).prop_map(RawPayload::Sync);
    let clock = prop_oneof![5 => 0..3_usize, 3 => 0..CLOCKS.len()];
    let event = weighted(0.6, clock.clone()).prop_map(RawPayload::Event);
    let pair = weighted(0.6, (0..60_i64, 0..60_i64));
    let bundle = (0..5_i32, pair, vec(weighted(0.9, 0..90_u64), 0..3));
    let bundle =
        bundle.prop_map(|(clock, pair, events)| RawPayload::Bundle { clock, pair, events });
    prop_oneof![
        12 => event,
        5 => snapshot,
        2 => sync,
        1 => bundle,
        1 => clock.prop_map(RawPayload::Defaults),
        1 => prop_oneof![
            Just(RawPayload::Marker),
            Just(RawPayload::Name("self".to_owned())),
            Just(RawPayload::Nothing),
        ],
    ]
}

fn raw_packet() -> impl Strategy<Value = RawPacket> {
    let flags = prop_oneof![10 => Just(0), 2 => Just(1), 1 => Just(2), 1 => Just(3)];
    let dropped = proptest::bool::weighted(0.04);
    (0..3_usize, 0..5_u32, flags, dropped, raw_payload(), 0..40_u64).prop_map(
        |(machine, seq, flags, dropped, payload, step)| RawPacket {
            machine,
            seq,
            flags,
            dropped,
            payload,
            step,
        },
    )
}

fn raw_file() -> impl Strategy<Value = RawFile> {
    let machines = prop_oneof![
        5 => Just(vec![0]),
        2 => Just(vec![0, 1]),
        1 => Just(vec![1]),
        1 => Just(vec![2, 1]),
        1 => Just(vec![0, 1, 3]),
    ];
    let fault = prop_oneof![40 => Just(9_u8), 1 => 0..6_u8];
    let clock = || weighted(0.7, 0..CLOCK_NAMES.len());
    let offset = prop_oneof![Just(0), -900..900_i64];
    let clocks = (clock(), 0..5_usize, clock(), offset)
        .prop_map(|(clock, file, reference, offset)| RawClocks { clock, file, reference, offset });
    let names = weighted(0.6, 0..MACHINE_NAMES.len());
    let listed = proptest::bool::weighted(0.9);
    let entry = (listed, names, weighted(0.25, clocks), fault)
        .prop_map(|(listed, names, clocks, fault)| RawEntry { listed, names, clocks, fault });
    let first = proptest::bool::weighted(0.3);
    let compressed = proptest::bool::weighted(0.1);
    (machines, vec(raw_packet(), 0..14), compressed, first, entry).prop_map(
        |(machines, packets, compressed, snapshots_first, entry)| RawFile {
            machines,
            packets,
            compressed,
            snapshots_first,
            entry,
        },
    )
}

pub fn case() -> impl Strategy<Value = Case> {
    let names = Just(NAMES.to_vec()).prop_shuffle();
    let trace_time = (0..CLOCK_NAMES.len(), weighted(0.7, 0..5_usize))
        .prop_map(|(clock, file)| RawTraceTime { clock, file });
    let fault = prop_oneof![30 => Just(9_u8), 1 => 0..7_u8];
    let about = weighted(0.5, (weighted(0.4, trace_time), fault));
    (names, vec(raw_file(), 1..5), about, vec(any::<u8>(), 6)).prop_map(
        |(names, raw, about, shuffle)| {
            let named: Vec<(&str, &RawFile)> = names.iter().copied().zip(&raw).collect();
            let manifest =
                about.map(|(trace_time, fault)| manifest(&named, trace_time.as_ref(), fault));
            let mut files = Vec::new();
            for (name, file) in named {
                let mut file = file.clone();
                if manifest.is_none() {
                    file.entry.clocks = None;
                    file.entry.names = None;
                }
                files.push((name.to_owned(), packets(&file), file.compressed));
            }
            Case { files, manifest, shuffle }
        },
    )
}
