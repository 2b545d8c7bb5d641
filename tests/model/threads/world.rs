//! The state of a trace up to an event, and the effect of each event on it.

use super::args::{Args, Said};
use super::counters::{Counters, Moment};
use super::described::Described;
use super::doubt;
use super::energy::Energy;
use super::flows::Flows;
use super::frames::Frames;
use super::generic::Generic;
use super::gpu::Stages;
use super::gpu_counters::Descriptors;
use super::kernel::{Context, Owners};
use super::kernel_events::KernelState;
use super::machines::{self, Machine, MachineFacts};
use super::namespaces::Namespaces;
use super::order::{Event, EventKind};
use super::packets::Packets;
use super::process_tree;
use super::processes::Processes;
use super::profiles::Profiles;
use super::scheduling::{Scheduling, Switch};
use super::schema::{self, Schema};
use super::sequences::{self, Placed, Streamed};
use super::slices::Slices;
use super::states::States;
use super::stats;
use super::track_events::Asyncs;
use super::tracks::TrackId;
use super::translations::Translations;
use super::uuids::Uuids;
use super::vulkan::Vulkan;
use super::wire::Message;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub struct World<'a> {
    pub packets: &'a Packets,
    pub machines: Vec<MachineFacts>,
    pub processes: Processes,
    pub scheduling: Scheduling,
    pub slices: Slices,
    pub counters: Counters,
    pub stages: Stages,
    pub vulkan: Vulkan,
    pub gpu_descriptors: Descriptors,
    /// H2
    pub cpus: BTreeSet<(Machine, u32)>,
    pub owners: Owners,
    pub kernel: KernelState,
    /// The descriptors of uuids in the whole file (U1).
    pub described: Described,
    pub uuids: Uuids,
    pub namespaces: Namespaces,
    pub track_events: BTreeMap<usize, Placed>,
    pub schema: Cow<'static, Schema>,
    pub asyncs: Asyncs,
    pub flows: Flows,
    /// M8: the samples of disks.
    pub disks: Vec<(Machine, String, Message)>,
    pub vmstat_names: Vec<(u64, String)>,
    pub streamed: Vec<Streamed>,
    pub profiles: Profiles,
    pub frames: Frames,
    pub states: States,
    pub energy: Energy,
    /// The dimensions of tracks, in addition to their owners.
    pub dimensions: BTreeMap<TrackId, Args>,
    /// The counters of `stats` that the rules name.
    pub counted: BTreeMap<&'static str, i64>,
    /// The state of kernels other than Linux (GK).
    pub generic: Generic,
}

/// The largest number of cpus on a machine.
pub const CPUS: i64 = 4096;

impl<'a> World<'a> {
    pub fn new(packets: &'a Packets) -> World<'a> {
        let machines = machines::machines(packets);
        let mut processes = Processes::default();
        let mut cpus = BTreeSet::new();
        for (machine, facts) in machines.iter().enumerate() {
            processes.start_machine(machine);
            cpus.extend((0..).take(facts.cpus.len()).map(|cpu| (machine, cpu)));
        }
        let described = Described::read(packets);
        let machine_of = |raw_id| machines.iter().position(|m| m.raw_id == raw_id).unwrap_or(0);
        let translations = Translations::read(packets, machine_of);
        let namespaces = Namespaces::of(packets, machine_of);
        let (streamed, dropped) = sequences::streamed(packets, &described);
        let mut profiles = Profiles::default();
        for counter in dropped {
            profiles.count(counter);
        }
        let mut counted = BTreeMap::new();
        let energy = Energy::new(packets, &mut counted);
        let mut scheduling = Scheduling::default();
        scheduling.doubts.gaps = doubt::gaps_of_bundles(packets, machine_of);
        World {
            packets,
            machines,
            processes,
            scheduling,
            slices: Slices::of(translations),
            counters: Counters::default(),
            stages: Stages::default(),
            vulkan: Vulkan::default(),
            gpu_descriptors: Descriptors::new(packets),
            cpus,
            owners: Owners::new(),
            kernel: KernelState::default(),
            track_events: sequences::track_events(packets, &described),
            described,
            uuids: Uuids::default(),
            namespaces,
            schema: schema::schema(packets),
            asyncs: Asyncs::default(),
            flows: Flows::default(),
            disks: Vec::new(),
            vmstat_names: stats::vmstat_names(),
            streamed,
            profiles,
            frames: Frames::default(),
            states: States::default(),
            energy,
            dimensions: BTreeMap::new(),
            counted,
            generic: Generic::default(),
        }
    }

    pub fn count(&mut self, counter: &'static str) {
        *self.counted.entry(counter).or_default() += 1;
    }

    /// The cpu of an event or a track, unless its number is impossible (H2).
    pub fn cpu(&mut self, machine: Machine, cpu: i64) -> bool {
        let is_cpu = cpu < CPUS;
        if is_cpu {
            self.cpus.insert((machine, cpu as u32));
        }
        is_cpu
    }

    pub fn at(&mut self, time: i64) -> Moment<'_> {
        Moment { counters: &mut self.counters, time }
    }

    pub fn event(&mut self, event: &Event) {
        let slices = self.slices.all.len();
        self.happens_to(event);
        for slice in slices..self.slices.all.len() {
            self.flows.made(&self.slices, slice);
        }
    }

    fn happens_to(&mut self, event: &Event) {
        let raw_id = event.machine;
        let machine = self.machines.iter().position(|m| m.raw_id == raw_id);
        let machine = machine.unwrap_or(0);
        self.slices.machine = machine;
        let time = event.time;
        match &event.what {
            EventKind::Ftrace(ftrace) => {
                self.ftrace(&Context { machine, time, packet: event.packet, event: ftrace })
            }
            EventKind::Switch { cpu, prev_state, next_pid, next_prio, comm, partial } => {
                let cpu = (machine, *cpu);
                if self.scheduling.has_switched(cpu) {
                    self.cpus.insert(cpu);
                }
                let switch = Switch {
                    cpu,
                    time,
                    prev_state: *prev_state,
                    kernel: self.machines[machine].kernel(),
                    next_pid: *next_pid,
                    next_prio: i64::from(*next_prio),
                    next_comm: comm.as_deref(),
                };
                self.scheduling.compact_switch(&mut self.processes, &switch, *partial);
            }
            EventKind::Waking { cpu, pid, irq_context, partial } => {
                let cpu = (machine, *cpu);
                self.scheduling.sees((cpu, time), None, *partial);
                if self.scheduling.has_switched(cpu) && !partial {
                    self.cpus.insert(cpu);
                    let at = (cpu, time);
                    self.scheduling.compact_waking(&mut self.processes, at, *pid, *irq_context);
                }
            }
            EventKind::Line { pid, tid } => {
                self.processes.bind(machine, *tid, *pid);
            }
            EventKind::Energy { session, packet_time, data } => {
                let before = self.counters.0.len();
                self.energy((machine, raw_id), (time, *session), data);
                for counter in &mut self.counters.0[before..] {
                    if let Some(time) = packet_time {
                        counter.say("packet_ts", Said::Uint(time.cast_unsigned()));
                    }
                }
            }
            EventKind::Track => self.track_event((machine, raw_id), time, event.packet),
            EventKind::Streamed(sample) => self.streamed_sample(machine, sample),
            EventKind::Packet(field, payload) => {
                self.packet((machine, raw_id), (time, event.packet), *field, payload);
            }
        }
    }

    fn packet(&mut self, of: (Machine, u32), at: (i64, usize), field: u32, payload: &Message) {
        let ((machine, _), (time, packet)) = (of, at);
        match field {
            2 => {
                let namespaces = &mut self.namespaces;
                namespaces.until_now.push((machine, payload.clone()));
                let packets = self.packets;
                let start_of = |boottime: u64| {
                    let time = packets.time_of_boottime(packet, boottime.into());
                    time.map(|(time, _)| time).or(boottime.try_into().ok())
                };
                process_tree::process_tree(&mut self.processes, machine, payload, start_of);
            }
            7 => self.sys_stats(machine, time, payload),
            9 => self.process_stats(machine, time, payload),
            38 => self.battery(machine, time, payload),
            Described::PROCESS => {
                self.name_process((machine, packet), payload);
            }
            Described::THREAD if self.packets.all[packet].valid => {
                self.name_thread((machine, packet), payload, None);
            }
            52 => self.gpu_counters(machine, at, payload),
            53 => self.render_stage(machine, at, payload),
            62 => self.vulkan_memory(machine, at, payload),
            63 => self.gpu_log(machine, time, payload),
            65 => self.vulkan_api(machine, time, payload),
            Described::TRACK => {
                self.track_descriptor(of, packet, payload);
            }
            37 | 61 | 66 | 68 | 135 => self.profile(machine, at, field, payload),
            70 => self.display_state(machine, time, payload),
            71 => self.gpu_memory(machine, time, payload),
            Frames::PACKET => self.frame(machine, time, payload),
            Energy::BREAKDOWN => self.breakdown(of, time, payload),
            Energy::RESIDENCY => self.residency(of, time, payload),
            86 => self.properties(machine, time, payload),
            117 => self.generic_state(machine, time, payload),
            118 | 129 => self.generic_frequency(machine, time, field, payload),
            120 => {
                let name = payload.text(2);
                self.processes.rename(machine, payload.signed(1), name.as_deref());
            }
            122 => self.generic_tree(machine, payload),
            _ => {}
        }
    }
}
