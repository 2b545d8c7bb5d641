//! Events in the full encoding: P10 to P12, W3, W4, W6, B3 and B7 to B10, M2, M3, M5.

use super::args::Said;
use super::counters::Moment;
use super::order::Ftrace;
use super::prints::{self, Print};
use super::processes::{Utid, rank};
use super::scheduling::Switch;
use super::tracks::{Track, TrackOwner};
use super::world::World;
use std::collections::BTreeMap;

/// The threads that own the kernel's numbers of memory (M5).
pub type Owners = BTreeMap<(usize, i64), Utid>;

const SCHED_SWITCH: u32 = 4;

/// An event with its place and its time.
pub struct Context<'a> {
    pub machine: usize,
    pub time: i64,
    pub packet: usize,
    pub event: &'a Ftrace,
}

impl World<'_> {
    /// O6, P6
    pub fn ftrace(&mut self, context: &Context<'_>) {
        let Context { machine, event, .. } = *context;
        let Some(emitter) = event.emitter else {
            return;
        };
        if event.kind == SCHED_SWITCH {
            if event.partial {
                let cpu = (machine, event.cpu);
                self.scheduling.passes(cpu, context.time);
            } else {
                self.cpu(machine, event.cpu.into());
                self.sched_switch(context);
            }
            return;
        }
        let thread = self.processes.thread(machine, emitter);
        self.cpu(machine, event.cpu.into());
        let at = ((machine, event.cpu), context.time);
        let of = Some((emitter, thread));
        self.scheduling.sees(at, of, event.partial);
        if !event.partial {
            self.kernel_event(context, emitter, thread);
        }
    }

    fn sched_switch(&mut self, context: &Context<'_>) {
        let fields = &context.event.fields;
        let (prev_comm, next_comm) = (fields.text(1), fields.text(5));
        let switch = Switch {
            cpu: (context.machine, context.event.cpu),
            time: context.time,
            prev_state: fields.signed(4),
            kernel: self.machines[context.machine].kernel(),
            next_pid: fields.id(6),
            next_prio: i64::from(fields.unsigned(7) as i32),
            next_comm: next_comm.as_deref(),
        };
        let prev_pid = fields.id(2);
        self.scheduling.switch(&mut self.processes, &switch, prev_pid, prev_comm.as_deref());
    }

    fn kernel_event(&mut self, context: &Context<'_>, emitter: i64, thread: Utid) {
        let Context { machine, time, packet, event } = *context;
        let fields = &event.fields;
        self.more_kernel_events(context, emitter, thread);
        match event.kind {
            3 => {
                if let Some(print) = prints::parse(fields.bytes(2).unwrap_or_default()) {
                    self.print(machine, time, emitter, print);
                }
            }
            // sched_blocked_reason
            18 => {
                let blocked = self.processes.thread(machine, fields.id(1));
                let caller = u64::from(fields.unsigned(2) as u32);
                let symbol = self.packets.interned(packet, 26, caller);
                let function = symbol.map(|symbol| symbol.text(2).unwrap_or_default());
                let io_wait = fields.unsigned(3) != 0;
                self.scheduling.blocked(blocked, io_wait, function);
            }
            // sched_waking
            20 => {
                let wakee = self.processes.thread(machine, fields.id(2));
                let comm = fields.text(1);
                self.processes.name_thread(wakee, comm.as_deref(), rank::KERNEL);
                let waker = self.processes.thread(machine, emitter);
                self.scheduling.waking(
                    &self.processes,
                    ((machine, event.cpu), time),
                    wakee,
                    waker,
                    None,
                );
            }
            24 | 25 => self.softirq(context),
            36 | 37 => self.irq(context),
            // task_newtask
            235 => {
                let comm = fields.text(2);
                let task = (fields.id(1), comm.as_deref());
                let flags = fields.unsigned(3);
                let made = self.processes.new_task((machine, time), emitter, task, flags);
                if let Some((new, maker)) = made {
                    self.scheduling.new_task(&self.processes, time, new, maker);
                }
            }
            // task_rename
            236 => {
                let name = fields.text(3);
                self.processes.rename(machine, fields.id(1), name.as_deref());
            }
            // sched_process_free
            240 => self.processes.free(machine, fields.id(2), time),
            // signal_deliver
            324 => self.signal(time, thread, "signal_deliver", Some(fields.unsigned(3))),
            // signal_generate
            325 => {
                let thread = self.processes.thread(machine, fields.id(4));
                self.signal(time, thread, "signal_generate", Some(fields.unsigned(6)));
            }
            // mark_victim
            334 => {
                let thread = self.processes.thread(machine, fields.id(1));
                self.signal(time, thread, "mem.oom_kill", None);
            }
            80 | 331 | 333 | 348 | 349 | 350 | 467 | 484 => {
                if let Some(print) = marker(event) {
                    self.print(machine, time, emitter, print);
                }
            }
            _ => self.kernel_counter(context, thread),
        }
    }

    /// B10
    fn signal(&mut self, time: i64, thread: Utid, name: &str, signal: Option<u64>) {
        let slice = self.slices.instant(time, &Track::of_thread(thread), name);
        if let Some(signal) = signal {
            let signal = Said::Int(i64::from(signal as i32));
            self.slices.say(slice, "signal.sig", signal);
        }
    }

    /// B9
    fn irq(&mut self, context: &Context<'_>) {
        let cpu = context.event.cpu;
        let track = Track::named(
            "cpu_irq",
            &format!("Irq Cpu {cpu}"),
            TrackOwner::Cpu(context.machine, cpu),
        );
        if context.event.kind == 36 {
            let name = context.event.fields.text(2).unwrap_or_default();
            let name = format!("IRQ ({name})");
            let track = self.slices.tracks.find(&track);
            let times = (context.time, -1);
            self.slices.push(track, times, Some(&name), Some("irq"));
        } else {
            let slice = self.slices.end_any(context.time, &track);
            let handled = match context.event.fields.unsigned(2) {
                1 => "handled",
                _ => "unhandled",
            };
            self.slices.say(slice, "ret", Said::text(handled));
        }
    }

    /// B9
    fn softirq(&mut self, context: &Context<'_>) {
        const NAMES: [&str; 10] = [
            "HI",
            "TIMER",
            "NET_TX",
            "NET_RX",
            "BLOCK",
            "BLOCK_IOPOLL",
            "TASKLET",
            "SCHED",
            "HRTIMER",
            "RCU",
        ];
        let cpu = context.event.cpu;
        let track = Track::named(
            "cpu_softirq",
            &format!("SoftIrq Cpu {cpu}"),
            TrackOwner::Cpu(context.machine, cpu),
        );
        let Some(name) = NAMES.get(context.event.fields.id(1) as usize) else {
            return;
        };
        if context.event.kind == 24 {
            let track = self.slices.tracks.find(&track);
            let times = (context.time, -1);
            self.slices.push(track, times, Some(name), Some("irq"));
        } else {
            let slice = self.slices.end_any(context.time, &track);
            let vector = Said::Int(context.event.fields.id(1));
            self.slices.say(slice, "vec", vector);
        }
    }

    /// The thread of a begin or an instant (B3).
    fn bound(&mut self, machine: usize, emitter: i64, tgid: i64) -> Track {
        let utid = match tgid {
            0 => self.processes.thread(machine, emitter),
            tgid => self.processes.bind(machine, emitter, tgid),
        };
        Track::of_thread(utid)
    }

    /// A set of lanes of a process (B3).
    fn set(&mut self, machine: usize, kind: &'static str, name: &str, tgid: i64) -> Track {
        let upid = self.processes.process(machine, tgid);
        Track::named(kind, name, TrackOwner::Process(upid))
    }

    /// B3, B7
    fn print(&mut self, machine: usize, time: i64, emitter: i64, print: Print) {
        const ASYNC: &str = "atrace_async_slice";
        const TRACK: &str = "atrace_async_slice_for_track";
        match print {
            Print::Begin(tgid, name) => {
                let track = self.bound(machine, emitter, tgid);
                self.slices.begin(time, &track, &name);
                self.killed(machine, time, &name);
            }
            Print::End(tgid) => {
                if tgid != 0 || self.processes.newest(machine, emitter).is_some() {
                    let track = self.bound(machine, emitter, tgid);
                    self.slices.end_any(time, &track);
                }
            }
            Print::Instant(tgid, name) => {
                let track = self.bound(machine, emitter, tgid);
                self.slices.instant(time, &track, &name);
            }
            Print::AsyncBegin(tgid, name, cookie) => {
                let set = self.set(machine, ASYNC, &name, tgid);
                self.slices.begin_alone_on_lane(time, &set, &name, cookie);
            }
            Print::AsyncEnd(tgid, name, cookie) => {
                let set = self.set(machine, ASYNC, &name, tgid);
                self.slices.end_alone_on_lane(time, &set, cookie);
            }
            Print::TrackInstant(_, track, name) if track == "DeviceStateChanged" => {
                let set =
                    Track::named("android_device_state", &track, TrackOwner::Machine(machine));
                self.slices.instant_on_lane(time, &set, &name);
            }
            Print::TrackInstant(tgid, track, name) => {
                let set = self.set(machine, TRACK, &track, tgid);
                let utid = Said::Uint(self.processes.thread(machine, emitter) as u64);
                let slice = self.slices.instant_on_lane(time, &set, &name);
                self.slices.say(slice, "utid", utid);
            }
            Print::TrackBegin(tgid, track, name, cookie) => {
                let set = self.set(machine, TRACK, &track, tgid);
                let utid = Said::Uint(self.processes.thread(machine, emitter) as u64);
                let slice = self.slices.begin_on_lane(time, &set, &name, cookie);
                self.slices.say(slice, "utid", utid);
            }
            Print::TrackEnd(tgid, track, cookie) => {
                let set = self.set(machine, TRACK, &track, tgid);
                let utid = Said::Uint(self.processes.thread(machine, emitter) as u64);
                let slice = self.slices.end_on_lane(time, &set, cookie);
                self.slices.say(slice, "end_utid", utid);
            }
            Print::Counter(tgid, name, value) => {
                self.atrace_counter(machine, time, emitter, tgid, &name, value);
            }
        }
    }

    /// M3, B7
    fn atrace_counter(
        &mut self,
        machine: usize,
        time: i64,
        emitter: i64,
        tgid: i64,
        name: &str,
        value: i64,
    ) {
        let of_machine = match name {
            "ScreenState" => Some("screen_state"),
            name if name.starts_with("battery_stats.") => Some("battery_stats"),
            _ => None,
        };
        let mut at = Moment { counters: &mut self.counters, time };
        if let Some(kind) = of_machine {
            at.push(TrackOwner::Machine(machine), kind, name, value as f64);
            return;
        }
        let upid = self.processes.process(machine, tgid);
        let utid = self.processes.thread(machine, emitter) as u64;
        at.push(TrackOwner::Process(upid), "atrace_counter", name, value as f64)
            .say("utid", Said::Uint(utid));
        if name == "kill_one_process" && value != 0 {
            self.kill(machine, time, i64::from(value as u32));
        }
    }

    /// An instant on the track of a killed process (B7).
    fn kill(&mut self, machine: usize, time: i64, pid: i64) {
        let upid = self.processes.process(machine, pid);
        let track = Track::named("android_lmk", "LMK", TrackOwner::Process(upid));
        self.slices.instant(time, &track, "mem.lmk");
    }

    /// A begin that reports a kill (B7).
    fn killed(&mut self, machine: usize, time: i64, name: &str) {
        let parts: Vec<&str> = name.split(',').collect();
        let ["lmk", pid, _, adj, ..] = parts.as_slice() else {
            return;
        };
        let (Some(pid), Some(adj)) = (prints::id(pid), prints::signed(adj)) else {
            return;
        };
        let upid = self.processes.process(machine, pid);
        let mut at = Moment { counters: &mut self.counters, time };
        at.of_process(upid, "oom_score_adj", "oom_score_adj", adj as f64);
        self.kill(machine, time, pid);
    }

    /// M2, M5
    fn kernel_counter(&mut self, context: &Context<'_>, emitter: Utid) {
        let Context { machine, time, event, .. } = *context;
        let fields = &event.fields;
        let value = |field| fields.unsigned(field) as f64;
        let mut at = Moment { counters: &mut self.counters, time };
        let all = TrackOwner::Machine(machine);
        match event.kind {
            // cpu_frequency, cpu_frequency_limits, cpu_idle
            11 | 13 => {
                let (kind, name) = match event.kind {
                    11 => ("cpu_frequency", "cpufreq"),
                    _ => ("cpu_idle", "cpuidle"),
                };
                let cpu = fields.id(2);
                if self.cpu(machine, cpu) {
                    self.at(time).push(TrackOwner::Cpu(machine, cpu as u32), kind, name, value(1));
                }
            }
            12 => {
                let cpu = fields.id(3);
                if self.cpu(machine, cpu) {
                    let of = TrackOwner::Cpu(machine, cpu as u32);
                    let (max, min) = ("cpu_max_frequency_limit", "cpu_min_frequency_limit");
                    let mut at = self.at(time);
                    at.push(of, max, &format!("Cpu {cpu} Max Freq Limit"), value(2));
                    at.push(of, min, &format!("Cpu {cpu} Min Freq Limit"), value(1));
                }
            }
            // clock_enable, clock_disable, clock_set_rate
            14..=16 => {
                let (kind, what) = match event.kind {
                    16 => ("clock_frequency", "Frequency"),
                    _ => ("clock_state", "State"),
                };
                let name = fields.text(1).unwrap_or_default();
                at.push(all, kind, &format!("{name} {what}"), value(2));
            }
            // gpu_frequency, kgsl_gpu_frequency
            332 => {
                let of = TrackOwner::Gpu(machine, fields.id(1));
                at.with_unit(of, "gpu_frequency", "gpufreq", "kHz", value(2));
            }
            509 => {
                let of = TrackOwner::Gpu(machine, fields.id(2));
                at.with_unit(of, "gpu_frequency", "gpufreq", "kHz", value(1) * 1000.0);
            }
            // thermal_temperature
            341 => {
                let name = format!("{} Temperature", fields.text(4).unwrap_or_default());
                let degrees = f64::from(fields.unsigned(2) as i32);
                at.push(all, "thermal_temperature", &name, degrees);
            }
            // cdev_update
            342 => {
                let name = format!("{} Cooling Device", fields.text(2).unwrap_or_default());
                at.push(all, "cooling_device_counter", &name, value(1));
            }
            // ion_stat, dma_heap_stat
            335 | 351 => {
                let (kind, change, name) = match event.kind {
                    335 => ("ion", "ion_change", "mem.ion"),
                    _ => ("android_dma_heap", "android_dma_heap_change", "mem.dma_heap"),
                };
                let length = fields.signed(2);
                let heap = |track: Track| match event.kind {
                    335 => track.told("heap_name", None),
                    _ => track,
                };
                let track = heap(Track::named(kind, name, all));
                at.counters.push(track, time, value(3));
                let name = format!("{name}_change");
                let track = heap(Track::named(change, &name, TrackOwner::Thread(emitter)));
                let counter = at.counters.push(track, time, length as f64);
                if event.kind == 351 {
                    counter.say("inode", Said::Uint(fields.unsigned(1)));
                }
                let buffers = match event.kind {
                    335 => Track::named("android_ion_allocations", "mem.ion_buffer", all),
                    _ => Track::named("android_dma_allocations", "mem.dma_buffer", all),
                };
                let cookie = match event.kind {
                    335 => fields.id(1),
                    _ => fields.signed(1),
                };
                if length > 0 {
                    let name = format!("{} kB", length / 1024);
                    self.slices.begin_on_lane(time, &buffers, &name, cookie);
                } else {
                    self.slices.end_on_lane(time, &buffers, cookie);
                }
            }
            // ion_heap_shrink, ion_heap_grow
            314 | 315 => {
                let length = fields.signed(2);
                let change = if event.kind == 315 { length } else { length.wrapping_neg() };
                let heap = fields.text(1).unwrap_or_else(|| "unknown".to_owned());
                let of_heap = match heap.as_str() {
                    "" => String::new(),
                    heap => format!(".{heap}"),
                };
                let total = fields.signed(3).wrapping_add(change);
                let name = format!("mem.ion{of_heap}");
                let track = Track::named("ion", &name, all).told("heap_name", Some(heap.clone()));
                at.counters.push(track, time, total as f64);
                let name = format!("mem.ion_change{of_heap}");
                let track = Track::named("ion_change", &name, TrackOwner::Thread(emitter));
                let track = track.told("heap_name", Some(heap));
                at.counters.push(track, time, change as f64);
            }
            313 | 359 => self.rss_stat(context, emitter),
            // dmabuf_rss_stat
            579 => at.of_thread(emitter, "process_memory", "mem.dmabuf_rss", value(1)),
            // oom_score_adj_update
            326 => {
                let thread = self.processes.thread(machine, fields.id(3));
                let score = f64::from(fields.unsigned(2) as i16);
                at.of_thread(thread, "oom_score_adj", "oom_score_adj", score);
            }
            // mm_event_record
            328 => {
                const KINDS: [&str; 7] = [
                    "min_flt",
                    "maj_flt",
                    "read_io",
                    "compaction",
                    "reclaim",
                    "swp_flt",
                    "kern_alloc",
                ];
                if let Some(kind) = KINDS.get(fields.id(4) as usize) {
                    for (what, field) in [("count", 2), ("max_lat", 3), ("avg_lat", 1)] {
                        let name = format!("mem.mm.{kind}.{what}");
                        at.of_thread(emitter, "mm_event", &name, value(field));
                    }
                }
            }
            // gpu_mem_total (M12)
            340 => {
                let pid = fields.id(2);
                if pid == 0 || self.processes.newest(machine, pid).is_some() {
                    self.gpu_memory(machine, time, fields);
                }
            }
            _ => {}
        }
    }

    /// M5
    fn rss_stat(&mut self, context: &Context<'_>, emitter: Utid) {
        let fields = &context.event.fields;
        let is_throttled = context.event.kind == 359;
        let (member, size, curr, mm_id) = match is_throttled {
            true => (2, 4, 1, 3),
            false => (1, 2, 3, 4),
        };
        let size = fields.signed(size);
        if size < 0 {
            return;
        }
        let mut thread = emitter;
        if is_throttled || (fields.has(curr) && fields.has(mm_id)) {
            let mm_id = (context.machine, fields.id(mm_id));
            if fields.unsigned(curr) != 0 {
                self.owners.insert(mm_id, emitter);
            } else {
                let owner = self.owners.get(&mm_id).copied();
                match owner.filter(|&owner| self.processes.has_not_ended(owner)) {
                    Some(owner) => thread = owner,
                    None => {
                        self.owners.remove(&mm_id);
                        return;
                    }
                }
            }
        }
        const MEMBERS: [&str; 5] = ["rss.file", "rss.anon", "swap", "rss.shmem", "unreclaimable"];
        let member = MEMBERS.get(fields.id(member) as usize);
        let name = format!("mem.{}", member.unwrap_or(&"unknown"));
        self.at(context.time).of_thread(thread, "process_memory", &name, size as f64);
    }
}

/// B8
fn marker(event: &Ftrace) -> Option<Print> {
    let fields = &event.fields;
    let phase = |number: u64| char::from(number as u8);
    let begins = |begin: u64| if begin == 0 { 'E' } else { 'B' };
    let typed = |field| Some(fields.unsigned(field)).filter(|kind| *kind != 0).map(phase);
    let (phase, tgid, name, value) = match event.kind {
        331 => {
            let flag = fields.unsigned(1);
            let bits = [(1, 'B'), (2, 'E'), (4, 'C')];
            let set = bits.iter().find(|(bit, _)| flag & bit != 0);
            (set?.1, 3, 2, 4)
        }
        80 => (begins(fields.number(3)?), 1, 2, 0),
        333 => match fields.number(3).filter(|kind| *kind != 0) {
            Some(kind) => (phase(kind), 1, 2, 4),
            None if fields.has(3) || fields.has(5) => (begins(fields.unsigned(5)), 1, 2, 4),
            None => return None,
        },
        484 => match fields.number(4)? {
            0 => ('E', 1, 2, 5),
            kind => (phase(kind), 1, 2, 5),
        },
        348 => (typed(5)?, 1, 4, 6),
        349 => (typed(5)?, 1, 4, 6),
        350 => (typed(3)?, 2, 1, 4),
        467 => (typed(2)?, 3, 4, 5),
        _ => return None,
    };
    let name = fields.text(name).unwrap_or_default();
    let value = fields.signed(value);
    let is_dpu = event.kind == 348;
    let tgid = match phase {
        'C' => fields.id(tgid),
        _ if is_dpu => 0,
        _ => fields.id(tgid),
    };
    Some(match phase {
        'B' => Print::Begin(tgid, name),
        'E' => Print::End(tgid),
        'C' => Print::Counter(tgid, name, value),
        'I' => Print::Instant(tgid, name),
        _ => return None,
    })
}
