//! Samples and their counters (PF, SS, CP3).

use super::profiles::{Interval, ProfilePacket};
use super::sequences::Streamed;
use super::wire::Message;
use super::world::{CPUS, World};
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Session {
    pub source: Option<String>,
    pub unit: Option<String>,
}

/// Process, thread, asynchronous context.
pub type Task = (Option<usize>, Option<usize>, Option<usize>);

/// A cpu of a machine, and its mode.
pub type Execution = (Option<(usize, u32)>, Option<&'static str>);

#[derive(Debug)]
pub struct Async {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub parent: Option<usize>,
}

#[derive(Debug)]
pub struct Sample {
    pub time: i64,
    pub source: Option<String>,
    pub task: Option<usize>,
    pub execution: Option<usize>,
    pub callsite: Option<usize>,
    pub unwind_error: Option<&'static str>,
    pub session: Option<usize>,
    pub priority: i64,
}

#[derive(Debug)]
pub struct Track {
    pub kind: &'static str,
    pub name: Option<String>,
    pub cpu: Option<(usize, u32)>,
    pub session: usize,
    pub source: Option<String>,
    pub unit: Option<String>,
    pub description: Option<String>,
    pub multiplier: Option<i64>,
    pub is_timebase: bool,
}

#[derive(Debug)]
pub struct Value {
    pub track: usize,
    pub time: i64,
    pub value: f64,
    pub sample: usize,
}

#[derive(Debug, Default)]
pub struct Samples {
    pub sessions: Vec<Session>,
    pub tasks: Vec<Task>,
    pub executions: Vec<Execution>,
    pub asyncs: Vec<Async>,
    pub all: Vec<Sample>,
    pub tracks: Vec<Track>,
    pub values: Vec<Value>,
    perf_sessions: BTreeMap<(u32, u32), usize>,
    stack_sessions: BTreeMap<(u32, u32), usize>,
    perf_cpus: BTreeMap<(u32, u32, u32), Vec<usize>>,
    known_asyncs: BTreeMap<(Interval, u64), usize>,
}

fn place<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    let known = all.iter().position(|other| *other == one);
    known.unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

impl Samples {
    fn value(&mut self, time: i64, track: usize, value: u64) {
        self.values.push(Value { track, time, value: value as f64, sample: self.all.len() });
    }
}

const COUNTERS: &str = "cpu-clock page-faults task-clock context-switches cpu-migrations minor-faults major-faults alignment-faults emulation-faults cpu-cycles instructions cache-references cache-misses branch-instructions branch-misses bus-cycles stalled-cycles-frontend stalled-cycles-backend ref-cycles dummy";

/// PF3, by the fields name, counter, tracepoint, raw_event, modifiers.
fn event_name(event: &Message, fields: [u32; 5]) -> String {
    let [name, counter, tracepoint, raw, modifiers] = fields;
    let own = event.text(name).filter(|name| !name.is_empty());
    let mut name = if let Some(name) = own {
        name
    } else if let Some(counter) = event.number(counter) {
        let known = (counter as usize).checked_sub(1);
        let known = known.and_then(|n| COUNTERS.split(' ').nth(n));
        known.unwrap_or("unknown").to_owned()
    } else if event.has(tracepoint) {
        let tracepoint = event.message(tracepoint).unwrap_or_default();
        tracepoint.text(1).unwrap_or_default()
    } else if event.has(raw) {
        let raw = event.message(raw).unwrap_or_default();
        let [config, one, two] = [2, 3, 4].map(|field| raw.unsigned(field));
        format!("raw.{:#x}.{config:#x}.{one:#x}.{two:#x}", raw.id(1))
    } else {
        "unknown".to_owned()
    };
    let letters: String = event
        .numbers(modifiers)
        .iter()
        .filter_map(|modifier| match modifier {
            1 => Some('u'),
            2 => Some('k'),
            3 => Some('h'),
            _ => None,
        })
        .collect();
    if !letters.is_empty() {
        name += &format!(":{letters}");
    }
    name
}

/// PF4
fn event_unit(event: &Message) -> Option<&'static str> {
    match event.number(4) {
        Some(1 | 3) => Some("ns"),
        Some(10 | 16 | 19) => Some("cycles"),
        Some(11) => Some("instructions"),
        Some(_) => Some("count"),
        None => event.has(3).then_some("count"),
    }
}

const UNWIND_ERRORS: &str = "unknown none memory_invalid unwind_info unsupported invalid_map max_frames_exceeded repeated_frame invalid_elf system_call thread_timeout thread_does_not_exist bad_arch maps_parse invalid_parameter ptrace_call";

impl World<'_> {
    fn writer(&self, packet: usize) -> (u32, u32) {
        let read = &self.packets.all[packet];
        (read.machine, read.sequence)
    }

    /// PF
    pub fn perf_sample(&mut self, of: ProfilePacket, message: &Message) {
        let writer = self.writer(of.packet);
        let samples = &mut self.profiles.samples;
        let session = *samples.perf_sessions.entry(writer).or_insert_with(|| {
            samples.sessions.push(Session { source: Some("linux.perf".into()), unit: None });
            samples.sessions.len() - 1
        });
        let cpu = message.id(1) as u32;
        self.perf_tracks(of, session, cpu);
        let idx = of.idx(session as i64);
        let lost = message.signed(17);
        if message.unsigned(17) > 0 {
            return self.profiles.add("perf_cpu_lost_records", Some(of.idx(cpu.into())), lost);
        }
        if let Some(event) = message.message(19) {
            if event.unsigned(1) == 1 {
                self.profiles.set("perf_guardrail_stop_ts", idx, of.time);
            }
            return;
        }
        match message.unsigned(18) {
            1 | 2 => self.profiles.count("perf_samples_skipped"),
            3 => self.profiles.count("perf_samples_skipped_dataloss"),
            _ => {}
        }
        let utid = self.processes.bind(of.machine, message.id(3), message.id(2));
        let upid = self.processes.process(of.machine, message.id(2));
        let tracks = self.profiles.samples.perf_cpus[&(writer.0, writer.1, cpu)].clone();
        let mut counts = vec![message.number(6)];
        counts.extend(message.numbers(7).into_iter().map(Some));
        for (track, count) in tracks.into_iter().zip(counts) {
            if let Some(count) = count {
                self.profiles.samples.value(of.time, track, count);
            }
        }
        let callsite = message.number(4);
        let callsite = callsite.and_then(|iid| self.stack(of, Some(upid), iid));
        let mode = match message.unsigned(5) {
            0 => None,
            1 => Some("kernel"),
            2 => Some("user"),
            3 => Some("hypervisor"),
            4 => Some("guest_kernel"),
            5 => Some("guest_user"),
            _ => Some("unknown"),
        };
        let has_cpu = message.has(1) && i64::from(cpu) < CPUS;
        let ran_on = has_cpu.then_some((of.machine, cpu));
        let samples = &mut self.profiles.samples;
        let execution = (ran_on, mode);
        let execution =
            (execution != (None, None)).then(|| place(&mut samples.executions, execution));
        let unwind_error = message.number(16).map(|error| {
            let known = UNWIND_ERRORS.split(' ').nth(error as usize);
            known.unwrap_or("unknown")
        });
        let task = place(&mut samples.tasks, (Some(upid), Some(utid), None));
        samples.all.push(Sample {
            time: of.time,
            source: Some("linux.perf".into()),
            task: Some(task),
            execution,
            callsite,
            unwind_error,
            session: Some(session),
            priority: 0,
        });
    }

    /// PF2
    fn perf_tracks(&mut self, of: ProfilePacket, session: usize, cpu: u32) {
        let (machine, sequence) = self.writer(of.packet);
        let key = (machine, sequence, cpu);
        if self.profiles.samples.perf_cpus.contains_key(&key) {
            return;
        }
        let defaults = self.packets.defaults(of.packet);
        let defaults = defaults.and_then(|defaults| defaults.message(12));
        let (mut names, unit) = (
            Vec::new(),
            match &defaults {
                None => Some("ns"),
                Some(defaults) => event_unit(&defaults.message(1).unwrap_or_default()),
            },
        );
        match &defaults {
            None => names.push("cpu-clock".to_owned()),
            Some(defaults) => {
                let timebase = defaults.message(1).unwrap_or_default();
                names.push(event_name(&timebase, [10, 4, 3, 5, 12]));
                for follower in defaults.messages(4) {
                    names.push(event_name(&follower, [4, 1, 2, 3, 5]));
                }
                let shards = defaults.id(2);
                if shards > 0 {
                    let idx = of.idx(session as i64);
                    self.profiles.set("perf_process_shard_count", idx, shards);
                    let chosen = defaults.id(3);
                    self.profiles.set("perf_chosen_process_shard", idx, chosen);
                }
            }
        }
        let samples = &mut self.profiles.samples;
        let of_session = &mut samples.sessions[session].unit;
        *of_session = of_session.take().or(unit.map(str::to_owned));
        let mut tracks = Vec::new();
        for (n, name) in names.into_iter().enumerate() {
            if i64::from(cpu) >= CPUS {
                break;
            }
            let cpu = Some((of.machine, cpu));
            let known = samples.tracks.iter().position(|track| {
                track.kind == "perf_cpu_counter"
                    && (track.cpu, track.session) == (cpu, session)
                    && track.name.as_ref() == Some(&name)
            });
            tracks.push(known.unwrap_or(samples.tracks.len()));
            if known.is_none() {
                samples.tracks.push(Track {
                    kind: "perf_cpu_counter",
                    name: Some(name),
                    cpu,
                    session,
                    source: None,
                    unit: None,
                    description: None,
                    multiplier: None,
                    is_timebase: n == 0,
                });
            }
        }
        samples.perf_cpus.insert(key, tracks);
    }

    /// CP3
    pub fn chrome_sample(&mut self, of: ProfilePacket, sample: &Streamed) {
        let numbers = (i64::from(sample.thread.pid as u32), sample.thread.tid);
        let trusted = sample.thread.trusted_pid;
        let (pid, tid) = self.outside(of.machine, trusted, numbers);
        let utid = self.processes.bind(of.machine, tid, pid);
        let upid = self.processes.process(of.machine, pid);
        let Some(callsite) = self.stack(of, Some(upid), sample.callstack) else {
            return self.profiles.count("stackprofile_parser_error");
        };
        let samples = &mut self.profiles.samples;
        let task = place(&mut samples.tasks, (Some(upid), Some(utid), None));
        samples.all.push(Sample {
            time: of.time,
            source: Some("chrome".into()),
            task: Some(task),
            execution: None,
            callsite: Some(callsite),
            unwind_error: None,
            session: None,
            priority: sample.priority.into(),
        });
    }

    /// A message in the sample, or an entry of interned data.
    fn own_or(
        &mut self,
        of: ProfilePacket,
        message: &Message,
        fields: [u32; 3],
    ) -> Option<Message> {
        let [own, iid, interned] = fields;
        match message.message(own) {
            Some(own) => Some(own),
            None => self.entry(of.packet, interned, message.number(iid)?),
        }
    }

    /// SS
    pub fn stack_sample(&mut self, of: ProfilePacket, message: &Message) {
        let defaults = self.packets.defaults(of.packet);
        let defaults = defaults.and_then(|defaults| defaults.message(100));
        let defaults = defaults.unwrap_or_default();
        let source = defaults.text(1).filter(|source| !source.is_empty());
        // SS2, SS3
        let (mut upid, mut task) = (None, None);
        if let Some(context) = self.own_or(of, message, [1, 2, 48]) {
            let pid = context.has(2).then(|| context.id(2));
            let tid = context.has(3).then(|| context.id(3));
            upid = pid.map(|pid| self.processes.process(of.machine, pid));
            let utid = tid.map(|tid| match pid {
                Some(pid) => self.processes.bind(of.machine, tid, pid),
                None => self.processes.thread(of.machine, tid),
            });
            let of_async = context.number(4).and_then(|id| self.async_context(of, id));
            let tasks = &mut self.profiles.samples.tasks;
            task = Some(place(tasks, (upid, utid, of_async)));
        }
        // SS4
        let (mut cpu, mut execution) = (None, None);
        if let Some(context) = self.own_or(of, message, [3, 4, 49]) {
            let has_cpu = context.has(2) && context.id(2) < CPUS;
            cpu = has_cpu.then(|| (of.machine, context.id(2) as u32));
            let mode = match context.unsigned(3) {
                1 => Some("user"),
                2 => Some("kernel"),
                3 => Some("hypervisor"),
                4 => Some("guest_user"),
                5 => Some("guest_kernel"),
                _ => None,
            };
            let executions = &mut self.profiles.samples.executions;
            execution = Some(place(executions, (cpu, mode)));
        }
        let writer = self.writer(of.packet);
        let samples = &mut self.profiles.samples;
        let session = *samples.stack_sessions.entry(writer).or_insert_with(|| {
            samples.sessions.push(Session { source: source.clone(), unit: None });
            samples.sessions.len() - 1
        });
        self.weights(of, message, &defaults, (session, cpu, &source));
        // SS7
        let callsite = match message.number(6) {
            Some(iid) => self.stack(of, upid, iid),
            None => message.message(5).and_then(|stack| {
                let stacks = &mut self.profiles.stacks;
                stacks.inline(of.machine, "stack_sample_inline", &stack)
            }),
        };
        self.profiles.samples.all.push(Sample {
            time: of.time,
            source,
            task,
            execution,
            callsite,
            unwind_error: None,
            session: Some(session),
            priority: 0,
        });
    }

    /// SS3
    fn async_context(&mut self, of: ProfilePacket, id: u64) -> Option<usize> {
        let interval = self.interval(of.packet);
        let mut chain: Vec<(u64, Message)> = Vec::new();
        let mut next = id;
        let mut parent = None;
        while next != 0 && !chain.iter().any(|(id, _)| *id == next) {
            parent = self.profiles.samples.known_asyncs.get(&(interval, next)).copied();
            if parent.is_some() {
                break;
            }
            let Some(descriptor) = self.entry(of.packet, 51, next) else {
                break;
            };
            chain.push((next, descriptor.clone()));
            next = descriptor.unsigned(4);
        }
        let samples = &mut self.profiles.samples;
        for (id, descriptor) in chain.into_iter().rev() {
            let text = |field| descriptor.text(field).filter(|text| !text.is_empty());
            samples.asyncs.push(Async { name: text(2), kind: text(3), parent });
            parent = Some(samples.asyncs.len() - 1);
            samples.known_asyncs.insert((interval, id), samples.asyncs.len() - 1);
        }
        parent
    }

    /// SS6
    fn weights(
        &mut self,
        of: ProfilePacket,
        message: &Message,
        defaults: &Message,
        (session, cpu, source): (usize, Option<(usize, u32)>, &Option<String>),
    ) {
        let timebase = match (message.message(9), message.number(10)) {
            (Some(own), _) => Some(own),
            (None, Some(iid)) => self.entry(of.packet, 50, iid),
            (None, None) => defaults.message(2),
        };
        let mut followers: Vec<Option<Message>> =
            message.messages(12).into_iter().map(Some).collect();
        if followers.is_empty() {
            let iids = message.numbers(13).into_iter();
            followers = iids.map(|iid| self.entry(of.packet, 50, iid)).collect();
        }
        if followers.is_empty() {
            followers = defaults.messages(3).into_iter().map(Some).collect();
        }
        if let Some(timebase) = timebase {
            let unit = unit(&timebase);
            let of_session = &mut self.profiles.samples.sessions[session].unit;
            *of_session = of_session.take().or(unit);
            let track = self.track(&timebase, true, (session, cpu, source));
            if let (Some(track), Some(weight)) = (track, message.number(11)) {
                self.profiles.samples.value(of.time, track, weight);
            }
        }
        let weights = message.numbers(14);
        for (n, follower) in followers.into_iter().enumerate() {
            let track = follower.and_then(|one| self.track(&one, false, (session, cpu, source)));
            if let (Some(track), Some(weight)) = (track, weights.get(n)) {
                self.profiles.samples.value(of.time, track, *weight);
            }
        }
    }

    /// SS5
    fn track(
        &mut self,
        descriptor: &Message,
        is_timebase: bool,
        (session, cpu, source): (usize, Option<(usize, u32)>, &Option<String>),
    ) -> Option<usize> {
        let (kind, cpu) = match descriptor.unsigned(7) {
            2 => ("stack_sample_cpu_counter", Some(cpu?)),
            _ => ("stack_sample_session_counter", None),
        };
        let name = descriptor.text(2);
        let samples = &mut self.profiles.samples;
        let known = samples.tracks.iter().position(|track| {
            track.kind == kind
                && (track.cpu, track.session, &track.source) == (cpu, session, source)
                && track.name.clone().unwrap_or_default() == name.clone().unwrap_or_default()
        });
        if known.is_none() {
            samples.tracks.push(Track {
                kind,
                name,
                cpu,
                session,
                source: source.clone(),
                unit: unit(descriptor),
                description: descriptor.text(6).filter(|text| !text.is_empty()),
                multiplier: descriptor.number(5).map(u64::cast_signed),
                is_timebase,
            });
        }
        Some(known.unwrap_or(samples.tracks.len() - 1))
    }
}

/// SS5
fn unit(descriptor: &Message) -> Option<String> {
    const UNITS: &str = "ns cycles instructions bytes page-faults cache-misses cache-references branch-misses count";
    match descriptor.unsigned(3) {
        0 => descriptor.text(4).filter(|unit| !unit.is_empty()),
        unit => {
            let known = UNITS.split(' ').nth(unit as usize - 1);
            Some(known.unwrap_or_default().to_owned())
        }
    }
}
