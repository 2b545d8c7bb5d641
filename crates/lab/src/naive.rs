//! The required results of an import, written as plainly as possible from the rules. It shares no
//! code with the product, has next to no state, and computes everything from scratch for every
//! packet.

use crate::encode::{
    Bundle, ClockSnapshot, CompactSwitch, CompactWaking, FtraceEvent, INCREMENTAL_STATE_CLEARED,
    NEEDS_INCREMENTAL_STATE, Packet,
};
use rusqlite::types::Value;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::slice;

pub const REALTIME: u32 = 1;
pub const MONOTONIC: u32 = 3;
pub const MONOTONIC_RAW: u32 = 5;
pub const BOOTTIME: u32 = 6;
const TRACE_FILE: u32 = 11;
/// I1: the clock of a bundle's sequence.
pub const OF_SEQUENCE: u32 = 64;

pub type Reason = &'static str;

/// A clock (C1). The order of the fields is the order of clocks in V3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock {
    pub id: u32,
    pub seq: u32,
    pub machine: u32,
}

impl Clock {
    pub fn new(id: u32, seq: u32, machine: u32) -> Clock {
        let seq = if is_sequence_scoped(id) { seq } else { 0 };
        Clock { id, seq, machine }
    }

    fn host(id: u32) -> Clock {
        Clock::new(id, 0, 0)
    }
}

/// C2
fn is_sequence_scoped(id: u32) -> bool {
    (64..=127).contains(&id)
}

/// One reading of an accepted snapshot.
#[derive(Clone, Debug)]
pub struct Reading {
    pub clock: Clock,
    pub ticks: u64,
    pub unit: u64,
    pub incremental: bool,
}

impl Reading {
    /// N3
    fn value(&self) -> i128 {
        i128::from(self.ticks) * i128::from(self.unit)
    }
}

/// An accepted snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub readings: Vec<Reading>,
    /// The source of V2 and X18, a smaller one being better.
    pub source: u32,
    /// Named by a snapshot of the host.
    pub primary: Option<u32>,
}

impl Snapshot {
    fn reading(&self, clock: Clock) -> Option<&Reading> {
        self.readings.iter().find(|r| r.clock == clock)
    }

    fn clocks(&self) -> BTreeSet<Clock> {
        self.readings.iter().map(|r| r.clock).collect()
    }

    fn has_clocks_of(&self, other: &Snapshot) -> bool {
        let mut readings = other.readings.iter();
        readings.all(|r| self.reading(r.clock).is_some())
    }
}

/// A row of `packet`.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRow {
    pub id: i64,
    pub ts: Option<i64>,
    pub timestamp: Value,
    pub clock_id: Option<i64>,
    pub clock_ts: Option<i64>,
    pub seq_id: i64,
    pub machine_id: i64,
    pub kind: Option<String>,
    pub uid: Option<i64>,
    pub pid: Option<i64>,
    pub unresolved: Option<String>,
}

/// A row of `clock_snapshot`.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotRow {
    pub ts: Option<i64>,
    pub clock_id: i64,
    pub clock_name: Option<String>,
    pub clock_value: i64,
    pub snapshot_id: i64,
    pub machine_id: i64,
    pub packet_id: i64,
    pub seq_id: i64,
    pub timestamp: i64,
    pub unit: i64,
    pub incremental: i64,
    pub source: i64,
}

/// A row of `ftrace_event`, or of `ftrace_event_partial`.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    pub id: i64,
    pub partial: bool,
    pub ts: Option<i64>,
    pub packet_id: i64,
    pub cpu: Option<i64>,
    pub tid: Option<i64>,
    pub name: Option<String>,
    pub args: Option<Json>,
    pub unresolved: Option<String>,
    pub timestamp: Value,
}

/// A row of `android_logs`.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRow {
    pub id: i64,
    pub ts: Option<i64>,
    pub packet_id: i64,
    pub timestamp: Value,
    pub unresolved: Option<String>,
}

/// The required result of importing a trace.
#[derive(Debug)]
pub struct Imported {
    pub packets: Vec<PacketRow>,
    pub readings: Vec<SnapshotRow>,
    pub events: Vec<EventRow>,
    pub logs: Vec<LogRow>,
    /// The clock, the reading and the time of each event and each log line with a time.
    pub placed: Vec<(Clock, i64, i64)>,
    pub snapshots: Vec<Snapshot>,
    pub trace_time: Clock,
    /// Ids of packets whose timestamp counts as trace time (C6, T2).
    pub taken: BTreeSet<i64>,
    /// Ids of the guests' packets before trace time was known (X25).
    pub waiting: BTreeSet<i64>,
    /// Packets of rejected snapshots, with a reason for each rule that the snapshot breaks. Any of
    /// them may become the packet's reason.
    pub rejected: BTreeMap<i64, BTreeSet<Option<Reason>>>,
}

/// Every clock in a snapshot.
pub fn clocks(snapshots: &[Snapshot]) -> BTreeSet<Clock> {
    snapshots.iter().flat_map(Snapshot::clocks).collect()
}

fn first_reading(snapshots: &[Snapshot], clock: Clock) -> Option<&Reading> {
    snapshots.iter().find_map(|s| s.reading(clock))
}

/// The unit of a clock; by N2 it is unique.
pub fn unit(snapshots: &[Snapshot], clock: Clock) -> i128 {
    first_reading(snapshots, clock).map_or(1, |r| r.unit.into())
}

fn is_incremental(snapshots: &[Snapshot], clock: Clock) -> bool {
    first_reading(snapshots, clock).is_some_and(|r| r.incremental)
}

/// The clock's value in the snapshot before the last one, of the same set of clocks (N5).
fn goes_backwards(snapshots: &[Snapshot], clock: Clock) -> bool {
    let Some((last, before)) = snapshots.split_last() else {
        return false;
    };
    let Some(value) = last.reading(clock).map(Reading::value) else {
        return false;
    };
    let mut before = before.iter().rev();
    let previous = before.find(|s| s.has_clocks_of(last) && last.has_clocks_of(s));
    previous.and_then(|s| s.reading(clock)).is_some_and(|r| value < r.value())
}

/// N5
fn is_monotonic(snapshots: &[Snapshot], clock: Clock) -> bool {
    (0..=snapshots.len()).all(|n| !goes_backwards(&snapshots[..n], clock))
}

/// Whether there is an edge from one clock to another, apart from N5 (N4).
fn edge(snapshots: &[Snapshot], from: Clock, to: Clock) -> bool {
    from != to && snapshots.iter().any(|s| s.reading(from).is_some() && s.reading(to).is_some())
}

/// The path by breadth-first search; among paths of equal length, the least one (V3).
fn path(snapshots: &[Snapshot], from: Clock, to: Clock, heed_n5: bool) -> Option<Vec<Clock>> {
    let has_edges = |clock| !heed_n5 || is_monotonic(snapshots, clock); // N5
    // No path is shorter, and most paths are direct.
    if edge(snapshots, from, to) && has_edges(from) {
        return Some(vec![from, to]);
    }
    let all = clocks(snapshots);
    let mut found = BTreeMap::from([(from, vec![from])]);
    loop {
        if let Some(path) = found.get(&to) {
            return Some(path.clone());
        }
        let mut next: BTreeMap<Clock, Vec<Clock>> = BTreeMap::new();
        for (&last, path) in &found {
            let has_edges = has_edges(last);
            for &clock in &all {
                if has_edges && !found.contains_key(&clock) && edge(snapshots, last, clock) {
                    let longer = [path.as_slice(), &[clock]].concat();
                    let least = next.entry(clock).or_insert(longer.clone());
                    *least = longer.min(least.clone());
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        found.extend(next);
    }
}

/// The offset of one hop (V2).
fn hop_offset(snapshots: &[Snapshot], from: Clock, to: Clock, value: i128) -> i128 {
    // (source, value of `from`, value of `to`) in file order
    let all: Vec<(u32, i128, i128)> = snapshots
        .iter()
        .filter_map(|s| Some((s.source, s.reading(from)?.value(), s.reading(to)?.value())))
        .collect();
    let best = all.iter().map(|pair| pair.0).min().expect("an edge has a snapshot");
    let pairs: Vec<(i128, i128)> =
        all.iter().filter(|pair| pair.0 == best).map(|pair| (pair.1, pair.2)).collect();

    let at_or_before = pairs.iter().map(|pair| pair.0).filter(|a| *a <= value).max();
    let (a, b) = match at_or_before {
        // among equal values the last in file order
        Some(greatest) => *pairs.iter().rfind(|pair| pair.0 == greatest).unwrap(),
        None => {
            // among equal values the first in file order
            let smallest = pairs.iter().map(|pair| pair.0).min().unwrap();
            *pairs.iter().find(|pair| pair.0 == smallest).unwrap()
        }
    };
    b - a
}

/// Converts a reading in the clock's own unit to a value of another clock in nanoseconds (rules V).
pub fn convert(snapshots: &[Snapshot], from: Clock, ticks: i128, to: Clock) -> Result<i64, Reason> {
    convert_value(snapshots, from, ticks * unit(snapshots, from), to) // V4
}

/// Converts a value in nanoseconds (rules V).
pub fn convert_value(
    snapshots: &[Snapshot],
    from: Clock,
    value: i128,
    to: Clock,
) -> Result<i64, Reason> {
    let held = |clock| snapshots.iter().any(|s| s.reading(clock).is_some());
    // C5
    if is_sequence_scoped(from.id) && from.seq == 0 {
        return Err("no_sequence_id");
    }
    // The reasons of V7, in the order in which they are checked. V1 holds for any clock.
    if from != to {
        if !held(from) {
            return Err("unknown_clock");
        }
        if !held(to) {
            return Err("no_target");
        }
    }
    let Some(path) = path(snapshots, from, to, true) else {
        let excluded = path(snapshots, from, to, false).is_some();
        return Err(if excluded { "non_monotonic" } else { "no_path" });
    };
    let fits = |n: i128| i64::try_from(n).map_err(|_| "overflow");
    fits(value)?;
    // V1, V3, V6
    let mut result = value;
    for hop in path.windows(2) {
        result += hop_offset(snapshots, hop[0], hop[1], result);
    }
    fits(result - value)?;
    fits(result)
}

/// Whether the state of the last packet's sequence is valid, and its default clock (S1, S2, S3,
/// S5).
fn sequence_state(packets: &[Packet]) -> (bool, u32) {
    let last = packets.last().unwrap();
    let (mut valid, mut default) = (false, 0);
    if !last.is_of_sequence() {
        return (valid, default);
    }
    for packet in packets {
        let is_same = (packet.machine_id, packet.seq) == (last.machine_id, last.seq);
        if !is_same || !packet.is_of_sequence() {
            continue;
        }
        if packet.flags & INCREMENTAL_STATE_CLEARED != 0 || packet.incremental_state_cleared {
            valid = true;
            default = 0;
        } else if packet.previous_packet_dropped != 0 {
            valid = false;
        }
        if let Some(clock) = packet.defaults {
            default = clock;
        }
    }
    (valid, default)
}

/// The default clock of a machine (T2, X17). No snapshot of a guest names one.
fn default_clock(snapshots: &[Snapshot], machine: u32) -> Option<u32> {
    // An assumption names none (X26).
    let taken = || snapshots.iter().filter(|s| s.source != 3);
    let holds = |machine| {
        let boottime = Clock::new(BOOTTIME, 0, machine);
        taken().any(|s| s.clocks().contains(&boottime))
    };
    let own = (machine != 0 && holds(machine)).then_some(BOOTTIME);
    let named = || snapshots.iter().rev().find_map(|s| s.primary);
    own.or_else(named).or(holds(0).then_some(BOOTTIME))
}

/// The history of incremental clocks, in file order (V5).
enum Event {
    Reset(Clock, u64),
    Delta(Clock, u64),
}

/// The value of an incremental clock, in its own unit (V5).
fn accumulated(events: &[Event], clock: Clock) -> Option<i128> {
    let mut value = None;
    for event in events {
        match *event {
            Event::Reset(c, ticks) if c == clock => value = Some(i128::from(ticks)),
            Event::Delta(c, delta) if c == clock => value = value.map(|v| v + i128::from(delta)),
            _ => {}
        }
    }
    value
}

/// The items for the second try at the end (D2).
enum Retry {
    /// index of the row, the clock and its reading, and whether a snapshot had the clock by then
    Packet(usize, Clock, i128, bool),
    /// index of the row, index of the snapshot
    Snapshot(usize, usize),
    /// index of the snapshot, apart from its packet's time
    Pair(usize),
    /// index of the row, the clock and its reading
    Event(usize, Clock, u64),
    /// index of the row, the clock and its reading
    Log(usize, Clock, u64),
}

/// The clock of a bundle's events (I1).
fn bundle_clock(packet: &Packet, bundle: &Bundle) -> Option<Clock> {
    let id = match bundle.clock {
        None | Some(0) => BOOTTIME,
        Some(2 | 3) => OF_SEQUENCE,
        Some(4) => MONOTONIC_RAW,
        Some(_) => return None,
    };
    Some(Clock::new(id, packet.seq, packet.machine_id))
}

/// The snapshot of a bundle's pair, if it is to be added (I1).
fn pair(packet: &Packet, bundle: &Bundle, added: &[(u32, i64)]) -> Option<Snapshot> {
    let clock = bundle_clock(packet, bundle)?;
    let (ftrace, boot) = (bundle.ftrace_timestamp?, bundle.boot_timestamp?);
    let last = added.iter().rfind(|(machine, _)| *machine == packet.machine_id);
    // C5
    let lacks_sequence = is_sequence_scoped(clock.id) && clock.seq == 0;
    if clock.id == BOOTTIME || lacks_sequence || last.is_some_and(|(_, last)| *last == ftrace) {
        return None;
    }
    let boottime = Clock::new(BOOTTIME, 0, packet.machine_id);
    let reading = |(clock, value): (Clock, i64)| Reading {
        clock,
        // A negative number does not fit then, because there is no sign.
        ticks: value.cast_unsigned(),
        unit: 1,
        incremental: false,
    };
    Some(Snapshot {
        readings: [(clock, ftrace), (boottime, boot)].map(reading).to_vec(),
        source: 2,
        primary: None,
    })
}

/// Whether a time of the packet is converted (X26). `clock` is the packet's clock, if it has one
/// for its time.
fn converts(packet: &Packet, clock: Option<Clock>) -> bool {
    let events = packet.ftrace_events.iter().any(|bundle| {
        let lacks = |clock: Clock| is_sequence_scoped(clock.id) && clock.seq == 0;
        let usable = bundle_clock(packet, bundle).is_some_and(|clock| !lacks(clock));
        usable && in_order(bundle).iter().any(|event| event.timestamp().is_some())
    });
    let mut lines = packet.android_log.iter().flatten();
    let of_packet = clock.is_some_and(|clock| !is_sequence_scoped(clock.id) || clock.seq != 0);
    of_packet && packet.timestamp.is_some() || events || lines.any(Option::is_some)
}

/// The assumption for a machine whose clocks do not reach trace time (X26).
fn bridge(snapshots: &[Snapshot], machine: u32, trace_time: Clock) -> Option<Snapshot> {
    let reaches = |from, to| from == to || path(snapshots, from, to, true).is_some();
    let boottime = Clock::new(BOOTTIME, 0, machine);
    if machine == trace_time.machine || reaches(boottime, trace_time) {
        return None;
    }
    let (realtime, other) =
        (Clock::new(REALTIME, 0, machine), Clock::new(REALTIME, 0, trace_time.machine));
    let same = if reaches(boottime, realtime) && reaches(other, trace_time) {
        [realtime, other]
    } else if trace_time.id == BOOTTIME {
        [boottime, trace_time]
    } else {
        return None;
    };
    let reading = |clock| Reading {
        clock,
        ticks: 0,
        unit: unit(snapshots, clock) as u64,
        incremental: false,
    };
    Some(Snapshot { readings: same.map(reading).to_vec(), source: 3, primary: None })
}

/// An event of a bundle.
enum Recorded<'a> {
    Switch(&'a CompactSwitch),
    Waking(&'a CompactWaking),
    Full(&'a FtraceEvent),
}

impl Recorded<'_> {
    fn timestamp(&self) -> Option<u64> {
        match self {
            Recorded::Switch(switch) => Some(switch.timestamp),
            Recorded::Waking(waking) => Some(waking.timestamp),
            Recorded::Full(event) => event.timestamp,
        }
    }
}

/// The events of a bundle in the order of time (I1); at one time, switches first, then wakings,
/// then others. An event without a time comes right after the previous one.
fn in_order(bundle: &Bundle) -> Vec<Recorded<'_>> {
    let switches = bundle.switches.iter().map(Recorded::Switch);
    let wakings = bundle.wakings.iter().map(Recorded::Waking);
    let fulls = bundle.events.iter().map(Recorded::Full);
    let mut timed = Vec::new();
    let mut last = 0;
    for event in switches.chain(wakings) {
        timed.push((event.timestamp().unwrap(), event));
    }
    for event in fulls {
        last = event.timestamp().unwrap_or(last);
        timed.push((last, event));
    }
    timed.sort_by_key(|(time, _)| *time); // stable
    timed.into_iter().map(|(_, event)| event).collect()
}

/// A thread in a switch.
#[derive(Clone)]
struct Thread {
    pid: i32,
    prio: i32,
    comm: String,
}

/// The history of threads, in file order.
enum Sched {
    /// to this thread on the CPU of a machine
    Switch(u32, Option<u32>, Thread),
    /// the machine, the thread's number, its new name
    Rename(u32, i32, String),
}

/// The thread that runs on a CPU of a machine, with its current name (I1).
fn running(history: &[Sched], machine: u32, cpu: Option<u32>) -> Option<Thread> {
    let mut thread = None;
    for event in history {
        match event {
            Sched::Switch(m, c, next) if (*m, *c) == (machine, cpu) => thread = Some(next.clone()),
            Sched::Rename(m, pid, comm) if *m == machine => {
                if let Some(thread) = thread.as_mut().filter(|thread| thread.pid == *pid) {
                    thread.comm.clone_from(comm);
                }
            }
            _ => {}
        }
    }
    thread
}

/// The thread, the name and the arguments of an event, given the running thread.
fn told(
    event: &Recorded<'_>,
    prev: Option<&Thread>,
) -> (Option<i64>, Option<String>, Option<Json>) {
    let tid = prev.map(|prev| i64::from(prev.pid));
    let (tid, name, args) = match event {
        Recorded::Switch(s) => {
            let mut args = json!({
                "prev_state": s.prev_state,
                "next_comm": s.next_comm,
                "next_pid": s.next_pid,
                "next_prio": s.next_prio,
            });
            if let Some(prev) = prev {
                args["prev_comm"] = json!(prev.comm);
                args["prev_pid"] = json!(prev.pid);
                args["prev_prio"] = json!(prev.prio);
            }
            (tid, "sched_switch", args)
        }
        Recorded::Waking(w) => {
            let args = json!({
                "comm": w.comm,
                "pid": w.pid,
                "prio": w.prio,
                "target_cpu": w.target_cpu,
            });
            (tid, "sched_waking", args)
        }
        Recorded::Full(event) => {
            let tid = event.tid.map(i64::from);
            let (name, fields) = if let Some(switch) = &event.sched_switch {
                let fields = vec![
                    ("next_comm", switch.next_comm.as_ref().map(|comm| json!(comm))),
                    ("next_pid", switch.next_pid.map(|pid| json!(pid))),
                    ("next_prio", switch.next_prio.map(|prio| json!(prio))),
                ];
                ("sched_switch", fields)
            } else if let Some(rename) = &event.task_rename {
                let fields = vec![
                    ("pid", rename.pid.map(|pid| json!(pid))),
                    ("newcomm", Some(json!(rename.newcomm))),
                ];
                ("task_rename", fields)
            } else if let Some(idle) = &event.cpu_idle {
                ("cpu_idle", vec![("state", idle.state.map(|state| json!(state)))])
            } else {
                return (tid, None, None);
            };
            let mut args = json!({});
            for (name, value) in fields {
                if let Some(value) = value {
                    args[name] = value;
                }
            }
            (tid, name, args)
        }
    };
    (tid, Some(name.to_owned()), Some(args))
}

/// The effect of an event on threads.
fn follow(event: &Recorded<'_>, machine: u32, cpu: Option<u32>) -> Option<Sched> {
    match event {
        Recorded::Switch(switch) => {
            let next = Thread {
                pid: switch.next_pid,
                prio: switch.next_prio,
                comm: switch.next_comm.clone(),
            };
            Some(Sched::Switch(machine, cpu, next))
        }
        Recorded::Waking(_) => None,
        Recorded::Full(event) => {
            if let Some(switch) = &event.sched_switch {
                let next = Thread {
                    pid: switch.next_pid.unwrap_or(0),
                    prio: switch.next_prio.unwrap_or(0),
                    comm: switch.next_comm.clone().unwrap_or_default(),
                };
                return Some(Sched::Switch(machine, cpu, next));
            }
            let rename = event.task_rename.as_ref()?;
            Some(Sched::Rename(machine, rename.pid.unwrap_or(0), rename.newcomm.clone()))
        }
    }
}

/// SQLite has no integers of 2^63 and more: the nearest number.
fn as_recorded(timestamp: u64) -> Value {
    i64::try_from(timestamp).map_or(Value::Real(timestamp as f64), Value::Integer)
}

/// The type of a packet's row.
fn kind(packet: &Packet) -> Option<String> {
    if packet.clock_snapshot.is_some() {
        return Some("clock_snapshot".to_owned());
    }
    if packet.ftrace_events.is_some() {
        return Some("ftrace_events".to_owned());
    }
    if packet.android_log.is_some() {
        return Some("android_log".to_owned());
    }
    packet.payload.as_ref().map(|(field, _)| match field {
        5 => "chrome_events".to_owned(),
        11 => "track_event".to_owned(),
        51 => "chrome_metadata".to_owned(),
        69 => "service_event".to_owned(),
        900 => "for_testing".to_owned(),
        unknown => unknown.to_string(),
    })
}

fn clock_name(id: u32) -> Option<String> {
    let names = [
        "REALTIME",
        "REALTIME_COARSE",
        "MONOTONIC",
        "MONOTONIC_COARSE",
        "MONOTONIC_RAW",
        "BOOTTIME",
    ];
    (1..=6).contains(&id).then(|| names[id as usize - 1].to_owned())
}

/// The packet's reason for each rule that a snapshot breaks, `None` if V7 has none (N2). Empty if
/// the snapshot is accepted.
pub fn rejections(
    snapshots: &[Snapshot],
    new: &Snapshot,
    trace_time: Clock,
) -> BTreeSet<Option<Reason>> {
    let mut broken = BTreeSet::new();
    for r in &new.readings {
        // C5
        if is_sequence_scoped(r.clock.id) && r.clock.seq == 0 {
            broken.insert(Some("no_sequence_id"));
        }
        if i64::try_from(r.value()).is_err() {
            broken.insert(Some("overflow"));
        }
        let first = first_reading(snapshots, r.clock).unwrap_or(r);
        if r.clock.id == 0
            || (first.unit, first.incremental) != (r.unit, r.incremental)
            || (r.incremental && !is_sequence_scoped(r.clock.id))
            || (r.clock == trace_time && r.unit != 1)
        {
            broken.insert(None);
        }
    }
    let with_new = [snapshots, slice::from_ref(new)].concat();
    if new.clocks().len() < new.readings.len() || goes_backwards(&with_new, trace_time) {
        broken.insert(None);
    }
    broken
}

/// The rows of an accepted snapshot, without their trace time (N6).
fn snapshot_rows(snapshot: &Snapshot, snapshot_id: usize, packet_id: i64) -> Vec<SnapshotRow> {
    snapshot
        .readings
        .iter()
        .map(|r| SnapshotRow {
            ts: None,
            clock_id: r.clock.id.into(),
            clock_name: clock_name(r.clock.id),
            clock_value: r.value() as i64,
            snapshot_id: snapshot_id as i64,
            machine_id: r.clock.machine.into(),
            packet_id,
            seq_id: r.clock.seq.into(),
            timestamp: r.ticks as i64,
            unit: r.unit as i64,
            incremental: r.incremental.into(),
            source: snapshot.source.into(),
        })
        .collect()
}

/// The rules from start to end.
pub fn import(trace: &[Packet]) -> Imported {
    // A zero-length packet is ignored (F1).
    let packets: Vec<Packet> = trace.iter().filter(|p| **p != Packet::default()).cloned().collect();

    let mut import = Import::new();
    for (index, packet) in packets.iter().enumerate() {
        let (valid, sequence_default) = sequence_state(&packets[..=index]);
        let own = packet.timestamp_clock_id.unwrap_or(0);
        // the first two steps of C4; 0 if they have no answer
        let named = if own != 0 { own } else { sequence_default };
        let row = packet_row(index, packet);
        let row = match &packet.clock_snapshot {
            Some(message) => import.snapshot(packet, message, named, row),
            None => import.packet(packet, named, valid, row),
        };
        import.found.packets.push(row);
    }
    import.assume_rest(packets.iter().any(|packet| packet.machine_id == 0));
    import.try_again();
    import.found
}

/// The columns of a packet's row that only depend on the packet.
fn packet_row(index: usize, packet: &Packet) -> PacketRow {
    PacketRow {
        id: index as i64,
        ts: None,
        timestamp: packet.timestamp.map_or(Value::Null, as_recorded),
        clock_id: None,
        clock_ts: None,
        seq_id: packet.seq.into(),
        machine_id: packet.machine_id.into(),
        kind: kind(packet),
        uid: packet.uid.map(i64::from),
        pid: packet.pid.map(i64::from),
        unresolved: None,
    }
}

/// The import of a trace up to some packet.
struct Import {
    found: Imported,
    ticked: Vec<Event>,
    history: Vec<Sched>,
    /// The machine and the ftrace_timestamp of each pair.
    pairs: Vec<(u32, i64)>,
    retries: Vec<Retry>,
    /// T1: whether something was converted.
    converted: bool,
    /// X25: whether a snapshot has claimed trace time. Trace time is unknown until then, unless
    /// something is converted.
    claimed: bool,
    /// X25: the machines with packets that wait for trace time.
    waiting_machines: Vec<u32>,
    /// X26: the machines whose path to trace time is settled.
    bridged: BTreeSet<u32>,
}

impl Import {
    fn new() -> Import {
        Import {
            found: Imported {
                packets: Vec::new(),
                readings: Vec::new(),
                events: Vec::new(),
                logs: Vec::new(),
                placed: Vec::new(),
                snapshots: Vec::new(),
                trace_time: Clock::host(BOOTTIME), // T1
                taken: BTreeSet::new(),
                waiting: BTreeSet::new(),
                rejected: BTreeMap::new(),
            },
            ticked: Vec::new(),
            history: Vec::new(),
            pairs: Vec::new(),
            retries: Vec::new(),
            converted: false,
            claimed: false,
            waiting_machines: Vec::new(),
            bridged: BTreeSet::new(),
        }
    }

    /// N6, X25: adds an accepted snapshot. Returns its index, and its time.
    fn add(
        &mut self,
        new: Snapshot,
        packet_id: i64,
        is_known: bool,
    ) -> (usize, Result<i64, Option<Reason>>) {
        let index = self.found.snapshots.len();
        let rows = snapshot_rows(&new, index, packet_id);
        self.found.readings.extend(rows);
        self.found.snapshots.push(new);
        (index, self.place(index, is_known))
    }

    fn place(&mut self, index: usize, is_known: bool) -> Result<i64, Option<Reason>> {
        let found = &mut self.found;
        place(&mut found.readings, &found.snapshots, index, found.trace_time, is_known)
    }

    /// X25: the result of a conversion at this point of the trace.
    fn by_now(&self, clock: Clock, ticks: i128, waits: bool) -> Result<i64, Reason> {
        match waits {
            true => Err("no_target"),
            false => convert(&self.found.snapshots, clock, ticks, self.found.trace_time),
        }
    }

    /// Rules N: a packet with a snapshot.
    fn snapshot(
        &mut self,
        packet: &Packet,
        message: &ClockSnapshot,
        named: u32,
        mut row: PacketRow,
    ) -> PacketRow {
        let new = snapshot_of(packet, message);
        // T1
        let new_trace_time = match new.primary {
            Some(primary) if !self.converted => Clock::host(primary),
            _ => self.found.trace_time,
        };
        let broken = rejections(&self.found.snapshots, &new, new_trace_time);
        if let Some(reason) = broken.last() {
            // N1
            row.unresolved = reason.map(str::to_owned);
            self.found.rejected.insert(row.id, broken);
        } else {
            self.found.trace_time = new_trace_time;
            let holds = |id| new.clocks().contains(&Clock::host(id));
            self.claimed |= new.primary.is_some() || holds(BOOTTIME) && !holds(TRACE_FILE);
            for r in &new.readings {
                self.ticked.push(Event::Reset(r.clock, r.ticks)); // V5
            }
            // D3, N6
            match self.add(new, row.id, self.claimed || self.converted) {
                (_, Ok(ts)) => {
                    row.ts = Some(ts);
                    self.converted = true;
                }
                (snapshot, Err(_)) => {
                    let index = row.id as usize;
                    self.retries.push(Retry::Snapshot(index, snapshot));
                }
            }
        }
        let snapshots = &self.found.snapshots;
        let id = if named != 0 { Some(named) } else { default_clock(snapshots, packet.machine_id) };
        if let (Some(timestamp), Some(id)) = (packet.timestamp, id) {
            let clock = Clock::new(id, packet.seq, packet.machine_id);
            let base = if is_incremental(snapshots, clock) {
                accumulated(&self.ticked, clock).unwrap()
            } else {
                0
            };
            row.clock_id = Some(id.into());
            row.clock_ts = i64::try_from(base + i128::from(timestamp)).ok();
        }
        row
    }

    /// A packet with anything else.
    fn packet(
        &mut self,
        packet: &Packet,
        named: u32,
        valid: bool,
        mut row: PacketRow,
    ) -> PacketRow {
        self.pair(packet, row.id);
        let chrome = is_chrome(packet, named);
        let id = self.clock(packet, named);
        let is_lost = packet.flags & NEEDS_INCREMENTAL_STATE != 0 && !valid; // S4
        let of_packet = id.map(|id| Clock::new(id, packet.seq, packet.machine_id));
        let converts = converts(packet, of_packet.filter(|_| !is_lost));
        let waits = self.waits(packet, converts, row.id);
        if !waits && converts {
            self.bridge(packet.machine_id, row.id);
        }
        self.events(packet, waits, row.id);
        self.lines(packet, waits, row.id);

        // S4
        if is_lost {
            row.unresolved = Some("incremental_state_lost".to_owned());
            if packet.timestamp.is_some() {
                row.clock_id = id.map(i64::from);
            }
            return row;
        }
        // D3
        let Some(timestamp) = packet.timestamp else {
            return row;
        };
        if let Some(clock) = of_packet
            && self.time(clock, timestamp, (chrome, waits), &mut row)
        {
            return row;
        }
        // Counts as trace time (C6, T2).
        self.found.taken.insert(row.id);
        row.clock_id = Some(self.found.trace_time.id.into());
        row.clock_ts = i64::try_from(timestamp).ok();
        row.ts = row.clock_ts;
        if row.ts.is_none() {
            row.unresolved = Some("overflow".to_owned());
        }
        row
    }

    /// I1: the pair of a bundle.
    fn pair(&mut self, packet: &Packet, packet_id: i64) {
        if let Some(bundle) = &packet.ftrace_events
            && let Some(new) = pair(packet, bundle, &self.pairs)
            && rejections(&self.found.snapshots, &new, self.found.trace_time).is_empty()
        {
            self.pairs.push((packet.machine_id, new.readings[0].ticks as i64));
            let is_known = self.claimed || self.converted;
            match self.add(new, packet_id, is_known) {
                (_, Ok(_)) => self.converted = true, // T1
                (snapshot, Err(_)) => self.retries.push(Retry::Pair(snapshot)),
            }
        }
    }

    /// The id of a packet's clock by C4, or by C6, which comes first.
    fn clock(&self, packet: &Packet, named: u32) -> Option<u32> {
        let own = packet.timestamp_clock_id.unwrap_or(0);
        if is_chrome(packet, named) {
            Some(MONOTONIC)
        } else if field(packet) == Some(69) && own == 0 {
            Some(BOOTTIME)
        } else if named != 0 {
            Some(named)
        } else {
            default_clock(&self.found.snapshots, packet.machine_id) // T2
        }
    }

    /// X25: whether a packet waits until trace time is known.
    fn waits(&mut self, packet: &Packet, converts: bool, packet_id: i64) -> bool {
        let waits = packet.machine_id != 0 && !self.claimed && !self.converted;
        if waits {
            self.found.waiting.insert(packet_id);
            if converts && !self.waiting_machines.contains(&packet.machine_id) {
                self.waiting_machines.push(packet.machine_id);
            }
        }
        waits
    }

    /// X26: adds the assumption for a machine when one of its times is converted.
    fn bridge(&mut self, machine: u32, packet_id: i64) {
        if self.bridged.insert(machine)
            && let Some(assumed) = bridge(&self.found.snapshots, machine, self.found.trace_time)
        {
            match self.add(assumed, packet_id, true) {
                (_, Ok(_)) => self.converted = true, // T1
                (snapshot, Err(_)) => self.retries.push(Retry::Pair(snapshot)),
            }
        }
    }

    /// I1: the events of a bundle.
    fn events(&mut self, packet: &Packet, waits: bool, packet_id: i64) {
        let Some(bundle) = &packet.ftrace_events else {
            return;
        };
        let clock = bundle_clock(packet, bundle);
        for event in in_order(bundle) {
            let prev = running(&self.history, packet.machine_id, bundle.cpu);
            let (tid, name, args) = told(&event, prev.as_ref());
            let result = event.timestamp().map(|timestamp| match clock {
                Some(clock) => self.by_now(clock, timestamp.into(), waits), // D1
                None => Err("unknown_clock"),
            });
            let number = self.found.events.len();
            if let (Some(clock), Some(timestamp)) = (clock, event.timestamp()) {
                self.converted |= !waits && result != Some(Err("no_sequence_id")); // T1
                match result.unwrap() {
                    Ok(ts) => self.found.placed.push((clock, timestamp as i64, ts)),
                    Err("no_sequence_id") => {}
                    Err(_) => self.retries.push(Retry::Event(number, clock, timestamp)),
                }
            }
            self.found.events.push(EventRow {
                id: number as i64,
                partial: prev.is_none() && !matches!(event, Recorded::Full(_)),
                ts: result.and_then(Result::ok),
                packet_id,
                cpu: bundle.cpu.map(i64::from),
                tid,
                name,
                args,
                unresolved: result.and_then(Result::err).map(str::to_owned),
                timestamp: event.timestamp().map_or(Value::Null, as_recorded),
            });
            let happened = follow(&event, packet.machine_id, bundle.cpu);
            self.history.extend(happened);
        }
    }

    /// I2: the lines of a log.
    fn lines(&mut self, packet: &Packet, waits: bool, packet_id: i64) {
        for timestamp in packet.android_log.iter().flatten() {
            let clock = Clock::new(REALTIME, 0, packet.machine_id);
            let result = timestamp.map(|t| self.by_now(clock, t.into(), waits)); // D1
            self.converted |= !waits && result.is_some(); // T1
            let number = self.found.logs.len();
            match (*timestamp, result) {
                (Some(timestamp), Some(Ok(ts))) => {
                    self.found.placed.push((clock, timestamp as i64, ts));
                }
                (Some(timestamp), _) => {
                    self.retries.push(Retry::Log(number, clock, timestamp));
                }
                (None, _) => {}
            }
            self.found.logs.push(LogRow {
                id: number as i64,
                ts: result.and_then(Result::ok),
                packet_id,
                timestamp: timestamp.map_or(Value::Null, as_recorded),
                unresolved: result.and_then(Result::err).map(str::to_owned),
            });
        }
    }

    /// D1: the time of a packet on a clock. Returns false if the timestamp is to be taken as trace
    /// time.
    fn time(
        &mut self,
        clock: Clock,
        timestamp: u64,
        (chrome, waits): (bool, bool),
        row: &mut PacketRow,
    ) -> bool {
        let known = clocks(&self.found.snapshots).contains(&clock);
        let reading = if is_incremental(&self.found.snapshots, clock) {
            self.ticked.push(Event::Delta(clock, timestamp)); // V5
            accumulated(&self.ticked, clock).unwrap()
        } else {
            timestamp.into()
        };
        let result = self.by_now(clock, reading, waits);
        self.converted |= !waits && result != Err("no_sequence_id"); // T1
        if chrome && result.is_err() {
            return false;
        }
        row.clock_id = Some(clock.id.into());
        row.clock_ts = i64::try_from(reading).ok();
        match result {
            Ok(ts) => row.ts = Some(ts),
            Err(reason) => {
                row.unresolved = Some(reason.to_owned());
                // D2; a reading that does not fit will never have a time.
                let hopeless = reason == "overflow" && row.clock_ts.is_none();
                if reason != "no_sequence_id" && !hopeless {
                    let index = row.id as usize;
                    self.retries.push(Retry::Packet(index, clock, reading, known));
                }
            }
        }
        true
    }

    /// X25, X29: trace time if no snapshot claimed it, and X26: the assumptions for the machines
    /// that waited.
    fn assume_rest(&mut self, has_host: bool) {
        if !self.claimed
            && !self.converted
            && let Some(first) = self.waiting_machines.first()
        {
            self.found.trace_time = Clock::new(BOOTTIME, 0, *first);
        }
        for machine in std::mem::take(&mut self.waiting_machines) {
            // X26: the host first
            let host = has_host.then_some(0);
            for machine in host.into_iter().chain([machine]) {
                if self.bridged.insert(machine)
                    && let Some(assumed) =
                        bridge(&self.found.snapshots, machine, self.found.trace_time)
                {
                    self.found.snapshots.push(assumed);
                }
            }
        }
    }

    /// D2
    fn try_again(&mut self) {
        for retry in std::mem::take(&mut self.retries) {
            match retry {
                Retry::Packet(index, clock, reading, known) => {
                    let result = self.by_now(clock, reading, false);
                    let row = &mut self.found.packets[index];
                    if !known && is_incremental(&self.found.snapshots, clock) {
                        row.clock_ts = None;
                        row.unresolved = Some("no_base".to_owned()); // V5
                        continue;
                    }
                    row.ts = result.ok();
                    row.unresolved = result.err().map(str::to_owned);
                }
                Retry::Snapshot(index, snapshot) => {
                    let result = self.place(snapshot, true);
                    let row = &mut self.found.packets[index];
                    row.ts = result.ok();
                    row.unresolved = result.err().flatten().map(str::to_owned);
                }
                Retry::Pair(snapshot) => {
                    let _ = self.place(snapshot, true);
                }
                Retry::Event(index, clock, reading) => {
                    let result = self.by_now(clock, reading.into(), false);
                    let row = &mut self.found.events[index];
                    row.ts = result.ok();
                    row.unresolved = result.err().map(str::to_owned);
                    let placed = result.map(|ts| (clock, reading as i64, ts));
                    self.found.placed.extend(placed);
                }
                Retry::Log(index, clock, reading) => {
                    let result = self.by_now(clock, reading.into(), false);
                    let row = &mut self.found.logs[index];
                    row.ts = result.ok();
                    row.unresolved = result.err().map(str::to_owned);
                    let placed = result.map(|ts| (clock, reading as i64, ts));
                    self.found.placed.extend(placed);
                }
            }
        }
    }
}

/// The number of the field with a packet's payload.
fn field(packet: &Packet) -> Option<u32> {
    packet.payload.as_ref().map(|(field, _)| *field)
}

/// C6: whether a packet is one of Chrome's packets on MONOTONIC.
fn is_chrome(packet: &Packet, named: u32) -> bool {
    matches!(field(packet), Some(5 | 51)) && matches!(named, 0 | MONOTONIC)
}

/// The snapshot that a packet holds.
fn snapshot_of(packet: &Packet, message: &ClockSnapshot) -> Snapshot {
    let primary = message
        .primary
        .and_then(|p| u32::try_from(p).ok())
        .filter(|p| *p != 0 && !is_sequence_scoped(*p) && packet.machine_id == 0);
    Snapshot {
        readings: message
            .clocks
            .iter()
            .map(|c| Reading {
                clock: Clock::new(c.id, packet.seq, packet.machine_id),
                ticks: c.timestamp,
                unit: c.unit.max(1), // N3
                incremental: c.incremental,
            })
            .collect(),
        source: if packet.seq == 1 { 0 } else { 1 },
        primary,
    }
}

/// Sets the trace time of the rows of a snapshot (N6). Returns the time of its first reading that
/// has one, or otherwise the reason of its first reading, if it has readings.
fn place(
    rows: &mut [SnapshotRow],
    snapshots: &[Snapshot],
    index: usize,
    trace_time: Clock,
    is_known: bool,
) -> Result<i64, Option<Reason>> {
    if !is_known {
        return Err(None);
    }
    let results: Vec<Result<i64, Reason>> = snapshots[index]
        .readings
        .iter()
        .map(|r| convert(snapshots, r.clock, r.ticks.into(), trace_time))
        .collect();
    let first = results
        .iter()
        .find_map(|result| result.ok())
        .ok_or_else(|| results.first().and_then(|result| result.err()));
    let rows = rows.iter_mut().filter(|row| row.snapshot_id == index as i64);
    for (row, result) in rows.zip(&results) {
        row.ts = result.ok().or(first.ok());
    }
    first
}
