//! The counters of process_stats and sys_stats (M6 to M8).

use super::args::Said;
use super::machines::Machine;
use super::process_tree;
use super::tracks::TrackOwner;
use super::wire::Message;
use super::world::World;
use crate::support::repository;
use std::fs;

const MEMINFO: &str = "MemUnspecified MemTotal MemFree MemAvailable Buffers Cached SwapCached \
    Active Inactive Active(anon) Inactive(anon) Active(file) Inactive(file) Unevictable Mlocked \
    SwapTotal SwapFree Dirty Writeback AnonPages Mapped Shmem Slab SReclaimable SUnreclaim \
    KernelStack PageTables CommitLimit Committed_AS VmallocTotal VmallocUsed VmallocChunk \
    CmaTotal CmaFree Gpu Zram Misc ION_heap ION_heap_pool";

const PSI: [&str; 7] =
    ["resource.unspecified", "cpu.some", "cpu.full", "io.some", "io.full", "mem.some", "mem.full"];

const CPU_TIMES: [(u32, &str); 8] = [
    (2, "user_ns"),
    (3, "user_nice_ns"),
    (4, "system_mode_ns"),
    (5, "idle_ns"),
    (6, "io_wait_ns"),
    (7, "irq_ns"),
    (8, "softirq_ns"),
    (9, "steal_ns"),
];

/// Fields of process_stats: the number, the counter's type and name, the factor (M6).
const OF_PROCESS: [(u32, &str, &str, f64); 20] = [
    (2, "process_memory", "mem.virt", 1024.0),
    (3, "process_memory", "mem.rss", 1024.0),
    (4, "process_memory", "mem.rss.anon", 1024.0),
    (5, "process_memory", "mem.rss.file", 1024.0),
    (6, "process_memory", "mem.rss.shmem", 1024.0),
    (7, "process_memory", "mem.swap", 1024.0),
    (8, "process_memory", "mem.locked", 1024.0),
    (9, "process_memory", "mem.rss.watermark", 1024.0),
    (24, "process_memory", "mem.dmabuf_rss", 1024.0),
    (16, "smaps", "mem.smaps.rss", 1024.0),
    (17, "smaps", "mem.smaps.pss", 1024.0),
    (18, "smaps", "mem.smaps.pss.anon", 1024.0),
    (19, "smaps", "mem.smaps.pss.file", 1024.0),
    (20, "smaps", "mem.smaps.pss.smem", 1024.0),
    (23, "smaps", "mem.smaps.swap.pss", 1024.0),
    (13, "chrome_process_stats", "chrome.private_footprint_kb", 1024.0),
    (14, "chrome_process_stats", "chrome.peak_resident_set_kb", 1024.0),
    (10, "oom_score_adj", "oom_score_adj", 1.0),
    (21, "proc_stat_runtime", "runtime.user_ns", 1.0),
    (22, "proc_stat_runtime", "runtime.kernel_ns", 1.0),
];

/// The names of the counters of vmstat: the schema's, without their prefix.
pub fn vmstat_names() -> Vec<(u64, String)> {
    let schema = fs::read(repository().join("schema/perfetto.descriptor")).unwrap();
    let files = Message::parse(&schema).unwrap().messages(1);
    let mut enums = files.iter().flat_map(|file| file.messages(5));
    let counters = enums.find(|e| e.text(1).as_deref() == Some("VmstatCounters"));
    let values = counters.unwrap().messages(2).into_iter();
    let names = values.map(|value| {
        let name = value.text(1).unwrap();
        let name = match value.unsigned(2) {
            0 => "VmstatUnspecified".to_owned(),
            _ => name.trim_start_matches("VMSTAT_").to_lowercase(),
        };
        (value.unsigned(2), name)
    });
    names.collect()
}

impl World<'_> {
    /// P15, M6
    pub fn process_stats(&mut self, machine: Machine, time: i64, stats: &Message) {
        process_tree::process_stats(&mut self.processes, machine, stats);
        for process in stats.messages(1) {
            for (field, kind, name, factor) in OF_PROCESS {
                if process.has(field) {
                    let upid = self.processes.process(machine, process.id(1));
                    let value = match field {
                        10 => process.signed(field) as f64,
                        _ => process.unsigned(field) as f64,
                    };
                    self.at(time).of_process(upid, kind, name, value * factor);
                }
            }
        }
    }

    /// M7
    pub fn sys_stats(&mut self, machine: Machine, time: i64, stats: &Message) {
        let all = TrackOwner::Machine(machine);
        let names: Vec<&str> = MEMINFO.split_whitespace().collect();
        for value in stats.messages(1) {
            if let Some(name) = names.get(value.unsigned(1) as usize) {
                let bytes = value.unsigned(2) as f64 * 1024.0;
                self.at(time).with_unit(all, "meminfo", name, "bytes", bytes);
            }
        }
        for value in stats.messages(10) {
            let name = format!("{} Frequency", value.text(1).unwrap_or_default());
            let frequency = value.unsigned(2) as f64;
            self.at(time).push(all, "clock_frequency", &name, frequency);
        }
        for (cpu, frequency) in (0..).zip(stats.numbers(11)) {
            if self.cpu(machine, cpu) {
                let of = TrackOwner::Cpu(machine, cpu as u32);
                let frequency = f64::from(frequency as u32);
                self.at(time).push(of, "cpu_frequency", "cpufreq", frequency);
            }
        }
        for value in stats.messages(2) {
            let names = &self.vmstat_names;
            let name = names.iter().find(|(key, _)| *key == value.unsigned(1));
            if let Some((_, name)) = name.cloned() {
                let value = value.unsigned(2) as f64;
                self.at(time).push(all, "vmstat", &name, value);
            }
        }
        for times in stats.messages(3).iter().filter(|times| times.has(1)) {
            let cpu = times.id(1);
            if self.cpu(machine, cpu) {
                for (field, name) in CPU_TIMES {
                    let of = TrackOwner::Cpu(machine, cpu as u32);
                    let name = format!("cpu.times.{name}");
                    let value = times.unsigned(field) as f64;
                    self.at(time).push(of, "cpustat", &name, value);
                }
            }
        }
        for (field, kind) in [(6, "num_irq"), (8, "num_softirq")] {
            for count in stats.messages(field) {
                let name = format!("{kind} (id: {})", count.unsigned(1) as u32);
                let value = count.unsigned(2) as f64;
                self.at(time).push(all, kind, &name, value);
            }
        }
        for (field, kind) in [(4, "num_forks"), (5, "num_irq_total"), (7, "num_softirq_total")] {
            if let Some(value) = stats.number(field) {
                self.at(time).push(all, kind, kind, value as f64);
            }
        }
        self.buddy_info(machine, time, stats);
        for disk in stats.messages(13) {
            self.disk(machine, time, &disk);
        }
        for sample in stats.messages(14) {
            if let Some(resource) = PSI.get(sample.unsigned(1) as usize) {
                let name = format!("psi.{resource}");
                let value = sample.unsigned(2) as f64;
                self.at(time).push(all, "psi", &name, value);
            }
        }
        for zone in stats.messages(15) {
            let name = zone.text(3).unwrap_or_default();
            let value = zone.unsigned(2) as f64;
            self.at(time).with_unit(all, "thermal_temperature_sys", &name, "C", value);
        }
        for state in stats.messages(16) {
            let cpu = state.id(1);
            for entry in state.messages(2) {
                if self.cpu(machine, cpu) {
                    let of = TrackOwner::Cpu(machine, cpu as u32);
                    let name = format!("cpuidle{cpu}.{}", entry.text(1).unwrap_or_default());
                    let value = entry.unsigned(2) as f64;
                    self.at(time).with_unit(of, "cpu_idle_state", &name, "us", value);
                }
            }
        }
        for frequency in stats.numbers(17) {
            let of = TrackOwner::Gpu(machine, 0);
            let frequency = frequency as f64;
            self.at(time).with_unit(of, "gpu_frequency", "gpufreq", "kHz", frequency);
        }
        let page_size = self.machines[machine].page_size();
        for slab in stats.messages(18) {
            let name = format!("mem.slab.{}", slab.text(1).unwrap_or_default());
            let pages = slab.unsigned(2) * slab.unsigned(3);
            let bytes = (pages * page_size) as f64;
            let mut at = self.at(time);
            at.with_unit(all, "slabinfo", &name, "bytes", bytes);
            // TK4
            let counter = at.counters.0.last_mut().unwrap();
            counter.say("pages_per_slab", Said::Uint(slab.unsigned(2)));
            counter.say("num_slabs", Said::Uint(slab.unsigned(3)));
        }
    }

    fn buddy_info(&mut self, machine: Machine, time: i64, stats: &Message) {
        let page_size = self.machines[machine].page_size();
        for info in stats.messages(12) {
            let node = info.text(1).unwrap_or_default();
            let zone = info.text(2).unwrap_or_default();
            for (order, pages) in info.numbers(3).into_iter().enumerate() {
                let size = (page_size << order) / 1024;
                let name = format!("mem.buddyinfo[{node}][{zone}][{size} kB]");
                let of = TrackOwner::Machine(machine);
                let pages = f64::from(pages as u32);
                self.at(time).push(of, "buddyinfo", &name, pages);
            }
        }
    }

    /// M8
    fn disk(&mut self, machine: Machine, time: i64, disk: &Message) {
        let device = disk.text(1).unwrap_or_default();
        let all = TrackOwner::Machine(machine);
        let of_device = |(m, d, _): &(Machine, String, Message)| (*m, d) == (machine, &device);
        let before = self.disks.iter().rfind(|disk| of_device(disk)).cloned();
        self.disks.push((machine, device.clone(), disk.clone()));
        let Some((.., before)) = before else {
            return;
        };
        let grown =
            |field| disk.unsigned(field).wrapping_sub(before.unsigned(field)).cast_signed() as f64;
        let mut at = self.at(time);
        for (what, sectors, duration) in [("read", 2, 3), ("write", 4, 5), ("discard", 6, 7)] {
            let amount = grown(sectors) / 2048.0;
            let duration = grown(duration);
            let throughput = match duration {
                0.0 => 0.0,
                duration => amount * 1000.0 / duration,
            };
            let name = format!("diskstat.[{device}].{what}_amount");
            at.with_unit(all, "diskstat", &name, "MB", amount);
            let name = format!("diskstat.[{device}].{what}_throughput");
            at.with_unit(all, "diskstat", &name, "MB/s", throughput);
        }
        let name = format!("diskstat.[{device}].flush_amount");
        at.with_unit(all, "diskstat", &name, "count", grown(8));
        let name = format!("diskstat.[{device}].flush_time");
        at.with_unit(all, "diskstat", &name, "ms", grown(9));
    }
}
