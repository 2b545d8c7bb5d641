//! The events and their order (O).

use super::packets::{Packets, Read};
use super::sequences::Streamed;
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;

/// Something that happened on a machine at a time.
#[derive(Clone, Debug)]
pub struct Event {
    pub time: i64,
    /// It was placed only at the end of the trace (D2).
    late: bool,
    /// The index of its packet in the file.
    pub packet: usize,
    /// Its place in its packet.
    place: usize,
    /// The machine's `raw_id`.
    pub machine: u32,
    pub what: EventKind,
}

#[derive(Clone, Debug)]
pub enum EventKind {
    Ftrace(Ftrace),
    /// A switch in the compact encoding.
    Switch {
        cpu: u32,
        prev_state: i64,
        next_pid: i64,
        next_prio: i32,
        comm: Option<String>,
        /// O6
        partial: bool,
    },
    /// A waking in the compact encoding.
    Waking {
        cpu: u32,
        pid: i64,
        irq_context: i64,
        /// O6
        partial: bool,
    },
    /// A line of `android_log`.
    Line {
        pid: i64,
        tid: i64,
    },
    /// An `energy_data` of `power_rails`.
    Energy {
        session: u64,
        /// The time of the packet, if that was known at once (TK4).
        packet_time: Option<i64>,
        data: Message,
    },
    /// A track event, which the packet has.
    Track,
    /// A sample of a streaming profile.
    Streamed(Streamed),
    /// Any other packet: the number of its payload's field.
    Packet(u32, Message),
}

/// An event in the full encoding.
#[derive(Clone, Debug)]
pub struct Ftrace {
    pub cpu: u32,
    /// The running thread; 0 if unknown.
    pub emitter: Option<i64>,
    /// The field of `FtraceEvent` that is set.
    pub kind: u32,
    pub fields: Message,
    /// The buffers of other cpus do not reach back this far (O6).
    pub partial: bool,
}

/// The possible cpus of a machine for bundles.
const CPUS: i64 = 1024;

/// The events of a trace in their order (O1 to O6).
pub fn events(packets: &Packets, world: &World<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    // The greatest time of any event, and of the packets of each machine (O2).
    let mut of_events: Option<i64> = None;
    let mut of_packets: BTreeMap<u32, i64> = BTreeMap::new();
    for (index, packet) in packets.all.iter().enumerate() {
        if packet.distrusted {
            continue;
        }
        let own = packets.time_of_packet(index);
        let stands_at = of_events.max(of_packets.get(&packet.machine).copied()).unwrap_or(0);
        let time = if packet.timestamp.is_none() { Some((stands_at, false)) } else { own };
        let mut found = Vec::new();
        let mut push = |time: Option<(i64, bool)>, what| {
            if let Some((time, late)) = time.filter(|(time, _)| *time >= 0) {
                found.push(Event {
                    time,
                    late,
                    packet: index,
                    place: found.len(),
                    machine: packet.machine,
                    what,
                });
            }
        };
        match &packet.payload {
            Some((Read::FTRACE, bundle)) => {
                for (timestamp, what) in of_bundle(bundle) {
                    push(packets.time_of_bundle(index, timestamp), what);
                }
            }
            Some((Read::ANDROID_LOG, log)) => {
                for line in log.messages(1) {
                    let (pid, tid) = (line.id(2), line.id(3));
                    let time = line.number(5).and_then(|t| packets.time_of_line(index, t));
                    push(time, EventKind::Line { pid, tid });
                }
            }
            Some((Read::POWER_RAILS, rails)) => {
                for data in rails.messages(2) {
                    let at = match data.number(2) {
                        Some(ms) => packets.time_of_boottime(index, u128::from(ms) * 1_000_000),
                        None => time,
                    };
                    let session = rails.unsigned(3);
                    let known = own.filter(|(_, late)| !late && packet.timestamp.is_some());
                    let known = known.filter(|_| !packets.waits(index) && packet.machine == 0);
                    let energy = EventKind::Energy {
                        session,
                        packet_time: known.map(|(time, _)| time),
                        data,
                    };
                    push(at, energy);
                }
            }
            Some((Read::VULKAN_MEMORY, event)) => {
                let at = match event.number(3) {
                    Some(ns) => packets.time_of_boottime(index, ns.into()),
                    None => time,
                };
                push(at, EventKind::Packet(Read::VULKAN_MEMORY, event.clone()));
            }
            Some((Read::TRACK_EVENT, _)) => {
                let time = world.track_events.get(&index).map(|(time, _)| *time);
                push(time, EventKind::Track);
            }
            Some((Read::STREAMED, _)) => {
                for sample in world.streamed.iter().filter(|one| one.packet == index) {
                    push(Some((sample.time, false)), EventKind::Streamed(sample.clone()));
                }
            }
            Some((Read::CLOCK_SNAPSHOT | Read::SERVICE_EVENT, _)) => {}
            // Without a timestamp, its samples have no time (O2).
            Some((Read::GPU_COUNTERS, _)) if packet.timestamp.is_none() => {}
            Some((field, payload)) => push(time, EventKind::Packet(*field, payload.clone())),
            None => push(time, EventKind::Packet(0, Message::default())),
        }
        let seen = found.iter().filter(|event| !event.late);
        of_events = of_events.max(seen.map(|event| event.time).max());
        let counts =
            !matches!(packet.payload, Some((Read::CLOCK_SNAPSHOT | Read::SERVICE_EVENT, _)));
        if let Some((time, false)) = own.filter(|(time, _)| counts && *time >= 0) {
            let latest = of_packets.entry(packet.machine).or_insert(time);
            *latest = time.max(*latest);
        }
        events.append(&mut found);
    }
    events.retain(|event| !is_before_the_start(packets, event));
    mark_partial(packets, &mut events);
    // O3
    events.sort_by_key(|event| (event.time, event.late, event.packet, event.place));
    events
}

/// Whether a bundle is left out: it has no cpu, or an unknown clock.
pub fn is_left_out(bundle: &Message) -> bool {
    bundle.id(1) >= CPUS || !matches!(bundle.unsigned(5), 0 | 2..=4)
}

/// The times of a bundle's events, as far as they have any.
pub fn timestamps(bundle: &Message) -> Vec<u64> {
    let compact = of_bundle(bundle).into_iter();
    let compact = compact.filter(|(_, what)| !matches!(what, EventKind::Ftrace(_)));
    let full = bundle.messages(2).into_iter();
    let full = full.filter_map(|event| event.number(1));
    compact.map(|(time, _)| time).chain(full).collect()
}

/// The events of a bundle with their timestamps: compact switches, compact wakings, plain ones.
fn of_bundle(bundle: &Message) -> Vec<(u64, EventKind)> {
    if is_left_out(bundle) {
        return Vec::new();
    }
    let cpu = bundle.id(1) as u32;
    let mut events = Vec::new();
    let compact = bundle.message(4).unwrap_or_default();
    let names = compact.texts(5);
    let times = |field| {
        let deltas = compact.numbers(field).into_iter();
        deltas.scan(0_u64, |time, delta| {
            *time = time.wrapping_add(delta);
            Some(*time)
        })
    };
    let [states, pids, prios, comms] = [2, 3, 4, 6].map(|field| compact.numbers(field));
    for (n, time) in times(1).enumerate() {
        let (Some(state), Some(pid), Some(prio), Some(comm)) =
            (states.get(n), pids.get(n), prios.get(n), comms.get(n))
        else {
            continue;
        };
        let switch = EventKind::Switch {
            cpu,
            prev_state: state.cast_signed(),
            next_pid: i64::from(*pid as u32),
            next_prio: *prio as i32,
            comm: names.get(*comm as usize).cloned(),
            partial: false,
        };
        events.push((time, switch));
    }
    let [pids, flags] = [8, 12].map(|field| compact.numbers(field));
    for (time, (n, pid)) in times(7).zip(pids.iter().enumerate()) {
        let flags = flags.get(n).copied().unwrap_or(0);
        let waking = EventKind::Waking {
            cpu,
            pid: i64::from(*pid as u32),
            irq_context: i64::from(flags & 0x18 != 0),
            partial: false,
        };
        events.push((time, waking));
    }
    for event in bundle.messages(2) {
        let (Some(time), Some(kind)) = (event.number(1), kind(&event)) else {
            continue;
        };
        let ftrace = Ftrace {
            cpu,
            emitter: event.number(2).map(|_| event.id(2)),
            kind,
            fields: event.message(kind).unwrap_or_default(),
            partial: false,
        };
        events.push((time, EventKind::Ftrace(ftrace)));
    }
    events
}

/// The field of an event that determines its kind.
fn kind(event: &Message) -> Option<u32> {
    event.fields().find(|field| event.bytes(*field).is_some())
}

impl EventKind {
    fn is_ftrace(&self) -> bool {
        matches!(self, EventKind::Ftrace(_) | EventKind::Switch { .. } | EventKind::Waking { .. })
    }
}

/// O5
fn is_before_the_start(packets: &Packets, event: &Event) -> bool {
    let of_machine = |field| packets.trusted(field).filter(|p| p.0 == event.machine);
    let started = of_machine(Read::SERVICE_EVENT)
        .filter(|(.., service)| service.unsigned(2) != 0)
        .filter_map(|(_, timestamp, _)| timestamp)
        .last();
    let preserved = of_machine(Read::FTRACE_STATS)
        .any(|(.., stats)| stats.unsigned(1) == 1 && stats.unsigned(8) != 0);
    event.what.is_ftrace()
        && !preserved
        && started.is_some_and(|started| i128::from(event.time) < i128::from(started))
}

/// Drops events before the time from which on all cpus' buffers exist (O6).
fn mark_partial(packets: &Packets, events: &mut [Event]) {
    let mut firsts: BTreeMap<(u32, u32), Option<i64>> = BTreeMap::new();
    for (index, packet) in packets.all.iter().enumerate() {
        let Some((Read::FTRACE, bundle)) = &packet.payload else {
            continue;
        };
        if !packet.distrusted && !is_left_out(bundle) {
            let begin = bundle.number(10).or(bundle.number(9));
            let begin = begin.and_then(|begin| packets.time_of_bundle(index, begin));
            let cpu = (packet.machine, bundle.id(1) as u32);
            firsts.entry(cpu).or_insert(begin.map(|(time, _)| time));
        }
    }
    for event in events {
        let machine = event.machine;
        let of_machine = firsts.iter().filter(|((m, _), _)| *m == machine);
        let begin = of_machine.filter_map(|(_, begin)| *begin).max();
        let is_partial = begin.is_some_and(|begin| event.time < begin);
        match &mut event.what {
            EventKind::Ftrace(Ftrace { partial, .. })
            | EventKind::Switch { partial, .. }
            | EventKind::Waking { partial, .. } => *partial = is_partial,
            _ => {}
        }
    }
}
