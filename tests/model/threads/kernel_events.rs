//! Kernel events that each do one thing on one track (KE). Others are in `kernel_queues.rs`,
//! `kernel_steps.rs` and `kernel_binder.rs`.

use super::args::{Key, Said};
use super::kernel::Context;
use super::kernel_binder::Binder;
use super::kernel_queues::Queues;
use super::kernel_steps::Steps;
use super::processes::Utid;
use super::slices::SliceId;
use super::tracks::{Track, TrackOwner};
use super::wire::Message;
use super::world::{CPUS, World};

/// The effect of earlier events on later ones.
#[derive(Debug, Default)]
pub struct KernelState {
    pub queues: Queues,
    pub steps: Steps,
    pub binder: Binder,
    /// The sums of tracks.
    sums: Vec<(Track, i64)>,
}

/// An event with its place and time.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    pub kind: u32,
    pub machine: usize,
    pub time: i64,
    pub packet: usize,
    pub cpu: u32,
    pub pid: i64,
    pub thread: Utid,
    pub fields: &'a Message,
}

/// Arguments by their keys.
pub type Told<'a> = Vec<(&'a str, Said)>;

pub fn int(value: i64) -> Said {
    Said::Int(value)
}

pub fn i32_of(fields: &Message, field: u32) -> i64 {
    i64::from(fields.unsigned(field) as i32)
}

/// `0x…`, or `0`
pub fn hexadecimal(number: u64) -> String {
    if number == 0 { "0".to_owned() } else { format!("0x{number:x}") }
}

impl World<'_> {
    pub fn on(&self, now: &Now<'_>, kind: &str, name: &str) -> Track {
        Track::named(kind, name, TrackOwner::Machine(now.machine))
    }

    /// A slice begins (duration −1), or is an instant.
    pub fn kernel_slice(
        &mut self,
        now: &Now<'_>,
        track: &Track,
        duration: i64,
        called: (Option<&str>, Option<&str>),
        told: Told<'_>,
    ) -> Option<SliceId> {
        let track = self.slices.tracks.find(track);
        let (category, name) = called;
        let slice = self.slices.push(track, (now.time, duration), name, category);
        for (key, said) in told {
            self.slices.say(slice, key, said);
        }
        slice
    }

    pub fn kernel_end(
        &mut self,
        now: &Now<'_>,
        track: &Track,
        called: (Option<&str>, Option<&str>),
        told: Told<'_>,
    ) -> Option<SliceId> {
        let track = self.slices.tracks.find(track);
        let (category, name) = called;
        let slice = self.slices.end(track, now.time, name, category);
        for (key, said) in told {
            self.slices.say(slice, key, said);
        }
        slice
    }

    pub fn kernel_value(&mut self, now: &Now<'_>, track: Track, value: f64, told: Told<'_>) {
        let counter = self.counters.push(track, now.time, value);
        for (key, said) in told {
            counter.say(key, said);
        }
    }

    fn symbol(&self, now: &Now<'_>, field: u32) -> String {
        let address = now.fields.unsigned(field);
        let known = self.packets.interned(now.packet, 26, address);
        known.and_then(|symbol| symbol.text(2)).unwrap_or_else(|| hexadecimal(address))
    }

    /// The owner of a cpu's tracks, if this cpu exists (KE47).
    fn of_cpu(&mut self, now: &Now<'_>, cpu: i64) -> Option<TrackOwner> {
        (cpu < CPUS).then(|| {
            self.cpus.insert((now.machine, cpu as u32));
            TrackOwner::Cpu(now.machine, cpu as u32)
        })
    }

    /// KE, KB
    pub fn more_kernel_events(&mut self, context: &Context<'_>, pid: i64, thread: Utid) {
        let now = &Now {
            kind: context.event.kind,
            machine: context.machine,
            time: context.time,
            packet: context.packet,
            cpu: context.event.cpu,
            pid,
            thread,
            fields: &context.event.fields,
        };
        self.thread_events(now);
        self.cpu_events(now);
        self.device_events(now);
        self.network_events(now);
        self.queue_events(now);
        self.step_events(now);
        self.binder_events(now);
    }

    /// Slices of the thread: KE6, KE24 to KE27, KE33.
    fn thread_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let track = &Track::of_thread(now.thread);
        let unsigned = |field| Said::Uint(fields.unsigned(field));
        let small = |field| Said::Uint(fields.id(field) as u64);
        let signed = |field| int(i32_of(fields, field));
        let name = fields.text(1);
        let kprobe = (None, name.as_deref());
        match now.kind {
            46 | 607 => {
                let (what, gfp) = match now.kind {
                    46 => ("direct", small(3)),
                    _ => ("memcg", unsigned(3)),
                };
                let [order, may, flags] = ["order", "may_writepage", "gfp_flags"]
                    .map(|key| format!("{what}_reclaim_{key}"));
                let told: Told<'_> = vec![(&order, signed(1)), (&may, signed(2)), (&flags, gfp)];
                let name = format!("mm_vmscan_{what}_reclaim");
                self.kernel_slice(now, track, -1, (None, Some(&name)), told);
            }
            47 | 608 => {
                let what = if now.kind == 47 { "direct" } else { "memcg" };
                let key = format!("{what}_reclaim_nr_reclaimed");
                self.kernel_end(now, track, (None, None), vec![(&key, unsigned(1))]);
            }
            57 => {
                self.kernel_end(now, track, (Some("workqueue"), None), vec![]);
            }
            58 => {
                let name = self.symbol(now, 2);
                let told = vec![("cpu", int(now.cpu.into()))];
                self.kernel_slice(now, track, -1, (Some("workqueue"), Some(&name)), told);
            }
            338 => {
                let name = format!("scm id={}", hexadecimal(fields.unsigned(2)));
                self.kernel_slice(now, track, -1, (None, Some(&name)), vec![]);
            }
            339 | 418 => {
                self.kernel_end(now, track, (None, None), vec![]);
            }
            417 => {
                let told = vec![("fence context", small(1)), ("fence seqno", small(3))];
                self.kernel_slice(now, track, -1, (None, Some("dma_fence_wait")), told);
            }
            443 => {
                let told = vec![
                    ("shrink_name", Said::text(&self.symbol(now, 8))),
                    ("total_scan", unsigned(9)),
                    ("priority", signed(11)),
                ];
                self.kernel_slice(now, track, -1, (None, Some("mm_vmscan_shrink_slab")), told);
            }
            444 => {
                self.kernel_end(now, track, (None, None), vec![("freed", signed(2))]);
            }
            542 => match i32_of(fields, 2) {
                1 => drop(self.kernel_slice(now, track, -1, kprobe, vec![])),
                2 => drop(self.kernel_end(now, track, kprobe, vec![])),
                3 => drop(self.kernel_slice(now, track, 0, kprobe, vec![])),
                _ => {}
            },
            _ => {}
        }
    }

    /// Events of a cpu: KE10, KE16, KE21, KE29, KE37 to KE39.
    fn cpu_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let (here, own) = (i64::from(now.cpu), fields.id(1));
        let text = fields.text(10);
        let (cpu, kind, name) = match now.kind {
            343..=345 => (own, "cpu_hotplug", format!("CPU Hotplug {own}")),
            365 | 366 => (here, "cpu_napi_gro", format!("Napi Gro Cpu {here}")),
            421 => (fields.id(4), "", String::new()),
            437 | 438 if now.pid == 0 => {
                (here, "cpu_funcgraph", format!("swapper{here} -funcgraph"))
            }
            437 | 438 => (here, "thread_funcgraph", "Funcgraph".to_owned()),
            508 => (own, "cpu_frequency_throttle", "cpufreq_throttle".to_owned()),
            553 | 554 => (here, "cpu_hrtimer", format!("Hrtimer Cpu {here}")),
            559 | 560 => (here, "cpu_irq", format!("Irq Cpu {here}")),
            _ => return,
        };
        let Some(of) = self.of_cpu(now, cpu) else {
            return;
        };
        let of = match kind {
            "thread_funcgraph" => TrackOwner::Thread(now.thread),
            _ => of,
        };
        let track = &Track::named(kind, &name, of);
        match now.kind {
            343 => drop(self.kernel_end(now, track, (None, None), vec![])),
            344 | 345 => {
                let index = i32_of(fields, 3);
                let told = vec![("action_cpu", Said::Uint(here as u64)), ("cpuhp_idx", int(index))];
                let name = format!("cpuhp({index})");
                self.kernel_slice(now, track, -1, (Some("cpu"), Some(&name)), told);
            }
            365 => {
                let told = vec![("len", int(fields.id(7)))];
                self.kernel_slice(now, track, -1, (Some("napi_gro"), text.as_deref()), told);
            }
            366 => {
                let told = vec![("ret", int(i32_of(fields, 1)))];
                self.kernel_end(now, track, (Some("napi_gro"), None), told);
            }
            421 => {
                for (kind, what, value) in [
                    ("cpu_utilization", "Util", fields.unsigned(6)),
                    ("cpu_capacity", "Cap", fields.unsigned(2)),
                    ("cpu_nr_running", "Nr Running", fields.id(11) as u64),
                ] {
                    let track = Track::named(kind, &format!("Cpu {cpu} {what}"), of);
                    self.kernel_value(now, track, value as f64, vec![]);
                }
            }
            437 => {
                let name = self.symbol(now, 2);
                self.kernel_slice(now, track, -1, (None, Some(&name)), vec![]);
            }
            438 => {
                let name = self.symbol(now, 3);
                self.kernel_end(now, track, (None, Some(&name)), vec![]);
            }
            508 => {
                let value = fields.unsigned(2) as f64;
                self.kernel_value(now, track.clone(), value, vec![]);
            }
            553 => {
                let name = self.symbol(now, 3);
                self.kernel_slice(now, track, -1, (Some("hrtimer"), Some(&name)), vec![]);
            }
            554 => drop(self.kernel_end(now, track, (Some("hrtimer"), None), vec![])),
            559 => {
                let called = (Some("irq"), Some("IRQ (LocalTimer)"));
                self.kernel_slice(now, track, -1, called, vec![]);
            }
            560 => drop(self.kernel_end(now, track, (Some("irq"), None), vec![])),
            _ => {}
        }
    }

    /// Events of a device: KE1, KE14, KE17 to KE20, KE30, KE31, KE34 to KE36, KE39 to KE42.
    fn device_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let text = fields.text(1);
        let any = (None, None);
        match now.kind {
            272 => self.checkpoint(now),
            347 => self.fastrpc(now),
            364 => {
                let sensor = fields.id(5);
                let name = format!("cros_ec.cros_ec_sensorhub_data.{sensor}");
                let track = self
                    .on(now, "cros_ec_sensorhub_data", &name)
                    .with("ec_sensor_num", int(sensor));
                let then = fields.signed(2);
                let told = vec![
                    ("ec_num", int(sensor)),
                    ("ec_delta", int(fields.signed(6).wrapping_sub(then))),
                    ("sample_ts", int(then)),
                ];
                let value = fields.signed(1).wrapping_sub(then) as f64;
                self.kernel_value(now, track, value, told);
            }
            406 => self.ufs_command(now),
            407 => {
                let name = "io.ufs.clkgating (OFF:0/REQ_OFF/REQ_ON/ON:3)";
                let value = match i32_of(fields, 2) {
                    1 => 3.0,
                    2 => 1.0,
                    3 => 2.0,
                    _ => 0.0,
                };
                let track = self.on(now, "ufs_clkgating", name);
                self.kernel_value(now, track, value, vec![]);
            }
            409 | 410 => {
                let crtc = i32_of(fields, 1);
                let name = format!("vblank-{crtc}");
                let track = &self.on(now, "drm_vblank", &name).with("drm_crtc", int(crtc));
                let what = if now.kind == 409 { "signal" } else { "deliver" };
                let told = vec![("vblank seqno", Said::Uint(fields.id(3) as u64))];
                self.kernel_slice(now, track, 0, (None, Some(what)), told);
            }
            419 | 420 => self.iostat(now),
            481 => {
                let track = &self.on(now, "suspend_resume_minimal", "Suspend/Resume Minimal");
                match fields.id(1) {
                    0 => self.kernel_end(now, track, any, vec![]),
                    _ => self.kernel_slice(now, track, -1, (None, Some("Suspended")), vec![]),
                };
            }
            489 => {
                let track = Track::new("linux_rpm", None, TrackOwner::Machine(now.machine))
                    .with("linux_device", Said::String(text));
                self.kernel_end(now, &track, any, vec![]);
                let word = match i32_of(fields, 2) {
                    0 => "Active",
                    1 => "Resuming",
                    2 => return,
                    3 => "Suspending",
                    _ => "Invalid State",
                };
                self.kernel_slice(now, &track, -1, (None, Some(word)), vec![]);
            }
            533 => {
                let is_off = i32_of(fields, 2) == 0;
                let keys =
                    ["id", "throttle", "cpu0", "cpu1", "cpu2", "tpu", "gpu", "voltage", "capacity"];
                for (field, key) in (1..).zip(keys) {
                    let value = match field {
                        1 if is_off => -1,
                        3..=7 if is_off => 0,
                        _ => i32_of(fields, field),
                    };
                    let key = format!("bcl_irq_{key}");
                    let track = self.on(now, "bcl_irq", &key).with("bcl_key", Said::text(&key));
                    self.kernel_value(now, track, value as f64, vec![]);
                }
            }
            541 => {
                let device = text.clone().unwrap_or_default();
                let name = match device.split_once("devfreq_") {
                    Some((_, rest)) => format!("devfreq_{rest}"),
                    None => format!("devfreq_{device}"),
                };
                let track = self
                    .on(now, "linux_device_frequency", &name)
                    .with("linux_device", Said::String(text));
                self.kernel_value(now, track, fields.unsigned(2) as f64, vec![]);
            }
            546 | 547 => {
                let track = Track::new("block_io", None, TrackOwner::Machine(now.machine))
                    .with("block_device", int(fields.signed(1)));
                let told = vec![("sector", Said::Uint(fields.unsigned(2)))];
                match now.kind {
                    546 => self.kernel_slice(now, &track, -1, (None, Some("block_io")), told),
                    _ => self.kernel_end(now, &track, any, told),
                };
            }
            548 => {
                let track = self.on(now, "mali_gpu_power_state", "mali_gpu_power_state");
                self.kernel_value(now, track, i32_of(fields, 3) as f64, vec![]);
            }
            601 => {
                let track = &self.on(now, "powervr_gpu_power_state", "powervr_gpu_power_state");
                self.kernel_end(now, track, any, vec![]);
                let word = match i32_of(fields, 2) {
                    0 => "OFF",
                    1 => "PG",
                    2 => "ON",
                    _ => "Unknown",
                };
                self.kernel_slice(now, track, -1, (None, Some(word)), vec![]);
            }
            _ => {}
        }
    }

    /// KE31
    fn checkpoint(&mut self, now: &Now<'_>) {
        const WORDS: [&str; 8] =
            ["Umount", "Fastboot", "Sync", "Recovery", "Discard", "Trimmed", "Pause", "Resize"];
        let fields = now.fields;
        let phase = fields.id(5);
        if phase != 0 && phase != 2 {
            return;
        }
        let upid = self.processes.process(now.machine, now.pid);
        let name = format!("f2fs_ckpt {}", now.pid);
        let track = &Track::named("f2fs_write_checkpoint", &name, TrackOwner::Process(upid));
        self.kernel_end(now, track, (None, None), vec![]);
        if phase == 2 {
            return;
        }
        let reason = i32_of(fields, 4);
        let mut told = vec![("dev", Said::Uint(fields.unsigned(1))), ("reason_int", int(reason))];
        if reason == 0 {
            told.push(("reason_str", Said::text("Unknown")));
        }
        let called = (None, Some("F2fs Write Checkpoint"));
        let slice = self.kernel_slice(now, track, -1, called, told);
        let set = (0..).zip(WORDS).filter(|(bit, _)| reason >> bit & 1 == 1);
        for (place, (_, word)) in set.enumerate() {
            if let Some(slice) = slice {
                let key = Key::new("reason_str").element(place);
                self.slices.all[slice].args.set(key, Said::text(word));
            }
        }
    }

    /// KE40
    fn fastrpc(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let cid = i32_of(fields, 1);
        let word = match cid {
            0 => "ASDP".to_owned(),
            1 => "MDSP".to_owned(),
            2 => "SDSP".to_owned(),
            3 => "CDSP".to_owned(),
            other => (other as u32).to_string(),
        };
        let all = self.on(now, "fastrpc", &format!("mem.fastrpc[{word}]")).with("cid", int(cid));
        self.kernel_value(now, all, fields.unsigned(3) as f64, vec![]);
        let name = format!("mem.fastrpc_change[{word}]");
        let own = Track::named("fastrpc_change", &name, TrackOwner::Thread(now.thread));
        let own = own.with("cid", int(cid));
        self.kernel_value(now, own, fields.signed(2) as f64, vec![]);
    }

    /// KE19
    fn ufs_command(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let is_zero = fields.id(10) == 0;
        let commands = match (fields.id(2), fields.id(10)) {
            (0, 1) => 0,
            (0, _) => 1,
            (doorbell, _) => doorbell.count_ones(),
        };
        let track = self.on(now, "ufs_command_count", "io.ufs.command.count");
        self.kernel_value(now, track, commands.into(), vec![]);
        let tag = fields.id(7);
        let name = format!("io.ufs.command.tag[{tag:03}]");
        let track = &self.on(now, "ufs_command_tag", &name).with("ufs_tag", int(tag));
        if !is_zero {
            self.kernel_end(now, track, (None, None), vec![]);
            return;
        }
        let word = match fields.id(5) {
            0 => "TEST UNIT READY",
            3 => "REQUEST SENSE",
            40 => "READ (10)",
            42 => "WRITE (10)",
            53 => "SYNCHRONIZE CACHE (10)",
            181 => "SECURITY PROTOCOL OUT",
            _ => "UNDEFINED",
        };
        let group = match fields.id(9) {
            0 => String::new(),
            group => format!(" (GID=0x{group:x})"),
        };
        let name = format!("{word}{group}");
        self.kernel_slice(now, track, -1, (None, Some(&name)), vec![]);
    }

    /// KE17, KE18
    fn iostat(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let values: Vec<(u32, String)> = if now.kind == 419 {
            let keys = "write_app_total 8 write_app_direct 3 write_app_buffered 1 write_app_mapped 5 \
                write_fs_data 14 write_fs_node 22 write_fs_meta 20 write_gc_data 17 write_gc_node 18 \
                write_cp_data 11 write_cp_node 13 write_cp_meta 12 read_app_total 7 read_app_direct 4 \
                read_app_buffered 2 read_app_mapped 6 read_fs_data 16 read_fs_gdata 19 read_fs_cdata 10 \
                read_fs_node 23 read_fs_meta 21 other_fs_discard 15";
            let words: Vec<&str> = keys.split_whitespace().collect();
            let pairs = words.chunks(2);
            pairs.map(|pair| (pair[1].parse().unwrap(), pair[0].to_owned())).collect()
        } else {
            let mut values = Vec::new();
            for (what, [read, sync, other]) in
                [("data", [1, 7, 4]), ("meta", [11, 17, 14]), ("node", [20, 26, 23])]
            {
                let firsts = [("read", read), ("write_sync", sync), ("write_async", other)];
                for (how, first) in firsts {
                    for (behind, measure) in (0..).zip(["avg", "cnt", "peak"]) {
                        values.push((first + behind, format!("{how}_{what}_{measure}")));
                    }
                }
            }
            values
        };
        let (kind, dev) = match now.kind {
            419 => ("f2fs_iostat", fields.unsigned(9)),
            _ => ("f2fs_iostat_latency", fields.unsigned(10)),
        };
        let device = format!("{}:{}", (dev / 256) % 256, dev % 256);
        for (field, key) in values {
            let track = self
                .on(now, kind, &format!("{kind}.[{device}].{key}"))
                .with("linux_device", Said::text(&device))
                .with("counter_key", Said::text(&key));
            let value = match now.kind {
                419 => fields.unsigned(field),
                _ => fields.id(field) as u64,
            };
            self.kernel_value(now, track, value as f64, vec![]);
        }
    }

    /// KE7, KE9, KE11
    fn network_events(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        match now.kind {
            360 | 361 => {
                if now.kind == 361 && i32_of(fields, 3) != 0 {
                    return;
                }
                let (kind, what) = match now.kind {
                    360 => ("net_receive", "Received"),
                    _ => ("net_transmit", "Transmitted"),
                };
                let interface = fields.text(2);
                let name = format!("{} {what} KB", interface.clone().unwrap_or_default());
                let track =
                    self.on(now, kind, &name).with("network_interface", Said::String(interface));
                let bytes = self.sum(&track, fields.id(1));
                let told = vec![
                    ("cpu", Said::Uint(now.cpu.into())),
                    ("len", Said::Uint(fields.id(1) as u64)),
                ];
                self.kernel_value(now, track, (bytes / 1024) as f64, told);
            }
            363 => {
                let track = &self.on(now, "net_tcp_retransmit_skb", "TCP Retransmit Skb");
                let name = format!("sport={},dport={}", fields.id(6), fields.id(2));
                self.kernel_slice(now, track, 0, (Some("tcp_event"), Some(&name)), vec![]);
            }
            367 => {
                let protocol = match fields.id(2) {
                    0x800 => "IP",
                    0x86dd => "IPV6",
                    _ => return,
                };
                let track = self.on(now, "net_kfree_skb", "Kfree Skb IP Prot");
                let count = self.sum(&track, 1);
                let told = vec![("protocol", Said::text(protocol))];
                self.kernel_value(now, track, count as f64, told);
            }
            _ => {}
        }
    }

    fn sum(&mut self, track: &Track, more: i64) -> i64 {
        let sums = &mut self.kernel.sums;
        match sums.iter_mut().find(|(of, _)| of == track) {
            Some((_, sum)) => {
                *sum += more;
                *sum
            }
            None => {
                sums.push((track.clone(), more));
                more
            }
        }
    }
}
