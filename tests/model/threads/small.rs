//! The rows of small tables, and of states, slices and counters that go with them, written as plainly as possible from
//! the rules RT: for each statement of queries-rest.sql the values of its rows as texts.

use super::order::{Event, EventKind, Ftrace, events};
use super::packets::{Packets, Read};
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Rows by the name of their statement.
pub type Rows = BTreeMap<&'static str, Vec<Vec<String>>>;

/// Arguments by key, each with its type.
type Args = BTreeMap<String, String>;

/// The number of clearings of a sequence, its clusters and the values.
type Clusters = (usize, u64, BTreeMap<(u64, u64), u64>);

#[derive(Default)]
struct Model {
    rows: Rows,
    sessions: BTreeMap<(u32, u64), Session>,
    hyp: BTreeMap<(u32, u32), Vec<Hyp>>,
    /// RT14: by sequence.
    sequences: BTreeMap<(u32, u32), Clusters>,
    last: BTreeMap<(u32, u64, u64), u64>,
    rises: BTreeMap<(u32, u64, u64), u64>,
    totals: BTreeMap<(u32, bool, u64), u64>,
    /// RT15: by sequence.
    locks: BTreeMap<(u32, u32), Locks>,
    counters: BTreeMap<(u32, Track), Vec<Value>>,
    counts: BTreeMap<&'static str, u64>,
    config: Option<Message>,
}

/// The number of clearings, the names and types by number, and the types and times by name.
#[derive(Default)]
struct Locks {
    cleared: usize,
    named: BTreeMap<u64, (String, String)>,
    held: BTreeMap<String, (String, u64)>,
}

struct Session {
    name: String,
    states: Vec<State>,
}

struct State {
    ts: i64,
    dur: i64,
    value: &'static str,
    args: Args,
}

#[derive(Clone)]
struct Hyp {
    ts: i64,
    dur: i64,
    depth: usize,
    args: Args,
}

/// Type, dimensions and name.
type Track = (&'static str, String, String);

struct Value {
    ts: i64,
    value: u64,
}

fn joined(args: &Args) -> String {
    let mut all: Vec<String> = args.iter().map(|(key, said)| format!("{key} {said}")).collect();
    all.sort();
    all.join("\u{1f}")
}

/// The rows of a trace.
pub fn rows(trace: &[u8]) -> Rows {
    let packets = Packets::read(trace);
    let world = World::new(&packets);
    let mut model = Model::default();
    for event in events(&packets, &world) {
        model.event(&event, &packets);
    }
    model.end(&packets);
    model.rows
}

impl Model {
    fn event(&mut self, event: &Event, packets: &Packets) {
        let packet = &packets.all[event.packet];
        match &event.what {
            EventKind::Ftrace(event_of_kernel) if !event_of_kernel.partial => {
                self.hypervisor(event, event_of_kernel)
            }
            EventKind::Packet(134, session) => self.session(event, session),
            EventKind::Packet(33, config) => self.config = Some(config.clone()),
            EventKind::Packet(119, data) => self.cpu_per_uid(event, packet, data),
            EventKind::Packet(115, data) => self.wakelocks(event, packet, data),
            _ => {}
        }
    }

    /// RT6
    fn session(&mut self, event: &Event, said: &Message) {
        let names = [
            "DISABLED",
            "CONFIGURED",
            "STARTED",
            "DISABLING_WAITING_STOP_ACKS",
            "CLONED_READ_ONLY",
        ];
        let number = said.unsigned(1) as i32;
        let place = usize::try_from(number - 1).ok();
        let Some(&value) = place.and_then(|place| names.get(place)) else {
            *self.counts.entry("concurrent_session_event_unknown_state").or_default() += 1;
            return;
        };
        let id = said.unsigned(3);
        let session = self.sessions.entry((event.machine, id)).or_insert_with(|| {
            let name = said.text(2).unwrap_or(format!("Session {id}"));
            let clone = if number == 5 { " (clone)" } else { "" };
            Session { name: name + clone, states: Vec::new() }
        });
        let mut args = Args::new();
        args.insert("consumer_uid".to_owned(), format!("int={}", said.unsigned(4) as i32));
        args.insert("num_data_sources".to_owned(), format!("int={}", said.id(5)));
        let open = session.states.last_mut().filter(|state| state.dur < 0);
        match open {
            Some(open) if open.value == value => open.args.extend(args),
            open => {
                if let Some(open) = open {
                    open.dur = event.time - open.ts;
                }
                session.states.push(State { ts: event.time, dur: -1, value, args });
            }
        }
        if value == "DISABLED" {
            session.states.last_mut().unwrap().dur = 0;
        }
    }

    /// RT13
    fn hypervisor(&mut self, event: &Event, of_kernel: &Ftrace) {
        if of_kernel.emitter.is_none() {
            return;
        }
        let slices = self.hyp.entry((event.machine, of_kernel.cpu)).or_default();
        let fields = &of_kernel.fields;
        let depth = slices.iter().filter(|slice| slice.dur < 0).count();
        let top = slices.iter_mut().rev().find(|slice| slice.dur < 0);
        let uint = |key: &str, field| (key.to_owned(), format!("uint={}", fields.signed(field)));
        let small = |key: &str, field| (key.to_owned(), format!("uint={}", fields.id(field)));
        let int =
            |key: &str, field| (key.to_owned(), format!("int={}", fields.unsigned(field) as i32));
        let (reason, args) = match of_kernel.kind {
            476 | 588 => {
                slices.push(Hyp { ts: event.time, dur: -1, depth, args: Args::new() });
                return;
            }
            477 | 584 => {
                if let Some(top) = top {
                    top.dur = event.time - top.ts;
                }
                return;
            }
            478 | 582 => ("host_hcall", vec![small("id", 1), small("invalid", 2)]),
            479 | 583 => ("host_smc", vec![uint("id", 1), small("forwarded", 2)]),
            480 | 587 => ("host_mem_abort", vec![uint("esr", 1), uint("addr", 2)]),
            578 => ("host_ffa_call", vec![uint("func_id", 1), int("handled", 6), int("err", 7)]),
            580 | 585 => ("iommu_idmap", vec![uint("from", 1), uint("to", 2), int("prot", 3)]),
            581 | 586 => ("psci_mem_protect", vec![uint("count", 1), uint("was", 2)]),
            589 => {
                let map = u8::from(fields.id(1) != 0);
                ("iommu_idmap_complete", vec![("map".to_owned(), format!("bool={map}"))])
            }
            590 => ("vcpu_illegal_trap", vec![uint("esr", 1)]),
            _ => return,
        };
        if let Some(top) = top {
            top.args.insert("hyp_enter_reason".to_owned(), format!("string={reason}"));
            top.args.extend(args);
        }
    }

    /// RT14
    fn cpu_per_uid(&mut self, event: &Event, packet: &Read, data: &Message) {
        let machine = event.machine;
        let sequence = self.sequences.entry((machine, packet.sequence)).or_default();
        if sequence.0 != packet.interval {
            *sequence = (packet.interval, 0, BTreeMap::new());
        }
        if let Some(clusters) = data.number(1) {
            sequence.1 = clusters;
        }
        let clusters = sequence.1.max(1);
        let mut times = data.numbers(3).into_iter();
        for uid in data.numbers(2) {
            let group = group(uid);
            for cluster in 0..clusters {
                let Some(time) = times.next() else { break };
                let value = sequence.2.entry((uid, cluster)).or_default();
                *value += time;
                let before = self.last.insert((machine, uid, cluster), *value).unwrap_or(*value);
                let rise = value.saturating_sub(before);
                *self.rises.entry((machine, group, cluster)).or_default() += rise;
                let is_app = group % 100_000 >= 10_000;
                *self.totals.entry((machine, is_app, cluster)).or_default() += rise;
            }
        }
        let values = sequence.2.clone();
        for ((of, is_app, cluster), sum) in self.totals.clone() {
            let kind = if is_app { "Apps" } else { "System" };
            let dimensions = format!("cluster int={cluster}\u{1f}type string={kind}");
            let track =
                ("android_cpu_per_uid_totals", dimensions, format!("CPU for {kind} CL{cluster}"));
            if of == machine {
                self.sparse(machine, track, event.time, sum);
            }
        }
        let own = values.into_iter().filter(|((uid, _), _)| group(*uid) == *uid && !is_group(*uid));
        let groups = self.rises.clone().into_iter();
        let groups = groups.filter(|((of, uid, _), _)| *of == machine && is_group(*uid));
        let groups = groups.map(|((_, uid, cluster), sum)| ((uid, cluster), sum));
        for ((uid, cluster), value) in own.chain(groups).collect::<Vec<_>>() {
            let dimensions = format!("cluster int={cluster}\u{1f}uid int={uid}");
            let track =
                ("android_cpu_per_uid", dimensions, format!("CPU for UID {uid} CL{cluster}"));
            self.sparse(machine, track, event.time, value);
        }
    }

    /// RT15
    fn wakelocks(&mut self, event: &Event, packet: &Read, data: &Message) {
        let machine = event.machine;
        let locks = self.locks.entry((machine, packet.sequence)).or_default();
        if locks.cleared != packet.interval {
            *locks = Locks { cleared: packet.interval, ..Locks::default() };
        }
        for lock in data.messages(1) {
            let kind = match lock.unsigned(3) {
                1 => "kernel",
                2 => "native",
                _ => "unknown",
            };
            let id = lock.unsigned(1);
            match locks.named.entry(id) {
                Entry::Occupied(_) => {
                    *self.counts.entry("kernel_wakelock_reused_id").or_default() += 1;
                }
                Entry::Vacant(new) => {
                    new.insert((lock.text(2).unwrap_or_default(), kind.to_owned()));
                }
            }
        }
        for (id, time) in data.numbers(2).into_iter().zip(data.numbers(3)) {
            let Some((name, kind)) = locks.named.get(&id) else {
                *self.counts.entry("kernel_wakelock_unknown_id").or_default() += 1;
                continue;
            };
            let held = locks.held.entry(name.clone());
            held.or_insert_with(|| (kind.clone(), 0)).1 += time;
        }
        for (name, (kind, sum)) in locks.held.clone() {
            let dimensions =
                format!("wakelock_name string={name}\u{1f}wakelock_type string={kind}");
            let track = ("android_kernel_wakelock", dimensions, name);
            self.sparse(machine, track, event.time, sum * 1_000_000);
        }
        let flags = data.unsigned(4);
        for (bit, name) in [
            (1, "kernel_wakelock_zero_value_reported"),
            (2, "kernel_wakelock_non_monotonic_value_reported"),
            (4, "kernel_wakelock_implausibly_large_value_reported"),
        ] {
            *self.counts.entry(name).or_default() += u64::from(flags & bit != 0);
        }
    }

    /// RT15: all values are kept, and those that the rule leaves out go at the end.
    fn sparse(&mut self, machine: u32, track: Track, ts: i64, value: u64) {
        self.counters.entry((machine, track)).or_default().push(Value { ts, value });
    }

    fn end(&mut self, packets: &Packets) {
        let mut rows = Rows::new();
        let states = rows.entry("rt_states").or_default();
        for ((_, id), session) in &self.sessions {
            for state in &session.states {
                states.push(vec![
                    state.ts.to_string(),
                    state.dur.to_string(),
                    state.value.to_owned(),
                    session.name.clone(),
                    id.cast_signed().to_string(),
                    joined(&state.args),
                ]);
            }
        }
        let hyp = rows.entry("an_hyp").or_default();
        for ((_, cpu), slices) in &self.hyp {
            for slice in slices {
                let (ts, dur) = (slice.ts.to_string(), slice.dur.to_string());
                hyp.push(vec![
                    ts,
                    dur,
                    cpu.to_string(),
                    slice.depth.to_string(),
                    joined(&slice.args),
                ]);
            }
        }
        let counters = rows.entry("an_counters").or_default();
        for ((_, (kind, dimensions, name)), values) in &self.counters {
            for (place, value) in values.iter().enumerate() {
                let before = place.checked_sub(1).map(|before| values[before].value);
                let after = values.get(place + 1).map(|after| after.value);
                let is_new = before != Some(value.value);
                if is_new || after.is_some_and(|after| after != value.value) {
                    let said = [&value.ts.to_string(), *kind, dimensions, name].map(str::to_owned);
                    counters.push([&said[..], &[value.value.to_string()]].concat());
                }
            }
        }
        let uids = rows.entry("an_uids").or_default();
        for ((_, uid, cluster), sum) in &self.rises {
            uids.push(vec![uid.to_string(), cluster.to_string(), sum.to_string()]);
        }
        let counts = self.counts.iter().filter(|(_, count)| **count > 0);
        let (locks, others): (Vec<_>, Vec<_>) =
            counts.partition(|(name, _)| name.starts_with("kernel_wakelock_"));
        let row = |(name, count): (&&str, &u64)| vec![(*name).to_owned(), count.to_string()];
        rows.insert("an_counts", locks.into_iter().map(row).collect());
        rows.insert("rt_counts", others.into_iter().map(row).collect());
        let diagnoses = self.config.iter().flat_map(|config| diagnoses(config, packets));
        let diagnoses = diagnoses.map(|(key, confidence)| vec![key.to_owned(), confidence]);
        rows.insert("rt_diag", diagnoses.collect());
        self.rows = rows;
    }
}

/// Whether a uid stands for a range (RT14).
fn is_group(uid: u64) -> bool {
    matches!(uid % 100_000, 50_000..60_000 | 90_000..)
}

/// RT14
fn group(uid: u64) -> u64 {
    if is_group(uid) { uid - uid % 10_000 } else { uid }
}

/// RT10
fn diagnoses(config: &Message, packets: &Packets) -> Vec<(&'static str, String)> {
    let loses = packets.trusted(Read::FTRACE).any(|(.., bundle)| bundle.unsigned(3) != 0);
    let late = packets.trusted(Read::SERVICE_EVENT).filter(|(.., event)| event.unsigned(2) != 0);
    let late = late.map(|(_, ts, _)| ts.unwrap_or(0)).last().is_some_and(|ts| ts > 300_000_000_000);
    let prints = packets.trusted(45).filter_map(|(.., system)| system.text(2));
    let is_user = prints.last().is_some_and(|print| {
        let after = print.rsplit_once(':').map(|(_, after)| after.to_owned());
        after.is_some_and(|after| after.split('/').next() == Some("user"))
    });
    let has_video =
        packets.all.iter().any(|packet| matches!(packet.payload, Some((1000 | 1001, _))));
    let or_lost = |confidence: f64| if loses { 0.9 } else { confidence };
    let mut found: Vec<(&'static str, f64)> = Vec::new();
    let buffers = config.messages(1);
    for source in config.messages(2).iter().flat_map(|source| source.messages(1)) {
        for ftrace in source.messages(100) {
            let kb = ftrace.id(10) as f64;
            if ftrace.unsigned(23) != 0 && late {
                found.push(("preserve_ftrace_buffer_late_start", 0.7));
            }
            if kb > 0.0 && kb < 1024.0 {
                let falling = ((kb - 64.0) / 960.0).max(0.0);
                found.push(("tiny_ftrace_buffer", or_lost(0.9 - 0.7 * falling)));
            }
            let ms = ftrace.id(11) as f64;
            let rate = kb / 1024.0 / (ms / 1000.0);
            if ms > 0.0 && kb > 0.0 && rate < 5.0 {
                let confidence = (0.9 * (5.0 - rate) / 4.0).min(0.9);
                found.push(("low_ftrace_drain_bandwidth", or_lost(confidence)));
            }
            if ms > 0.0 && !(100.0..=60_000.0).contains(&ms) {
                found.push(("extreme_ftrace_drain_period", 0.6));
            }
            let names = ftrace.texts(1);
            let has = |name: &str| names.iter().any(|other| other == name);
            if (has("raw_syscalls/sys_enter") || has("raw_syscalls/sys_exit")) && !ftrace.has(18) {
                found.push(("syscalls_without_filter", or_lost(0.3)));
            }
            if ftrace.unsigned(13) == 0 {
                if ftrace.unsigned(19) != 0 {
                    found.push(("function_graph_requires_symbolize_ksyms", 1.0));
                }
                if has("workqueue/workqueue_execute_start") || has("sched/sched_blocked_reason") {
                    found.push(("events_require_symbolize_ksyms", 0.6));
                }
            }
        }
        let name = source.text(1).unwrap_or_default();
        let buffer = buffers.get(source.unsigned(2) as usize);
        let writes = config.unsigned(8) != 0 && config.unsigned(9) < 604_800_000;
        let discards = buffer.is_some_and(|buffer| buffer.unsigned(4) == 2);
        if writes && discards && matches!(&*name, "linux.ftrace" | "track_event") {
            found.push(("discard_buffer_for_streaming", 0.8));
        }
        for heap in source.messages(105) {
            if (1..102_400).contains(&heap.unsigned(1)) {
                found.push(("heapprofd_sampling_interval_too_low", 0.3));
            }
        }
        if name == "android.display.video" && is_user && !has_video {
            found.push(("display_video_not_enabled", 0.7));
        }
    }
    found.into_iter().map(|(key, confidence)| (key, format!("{confidence:.12}"))).collect()
}

/// A confidence of an import in the form of the model's.
pub fn rounded(rows: &mut [Vec<String>]) {
    for row in rows {
        if let Some(confidence) = row.get_mut(1) {
            *confidence = format!("{:.12}", confidence.parse::<f64>().unwrap());
        }
    }
}
