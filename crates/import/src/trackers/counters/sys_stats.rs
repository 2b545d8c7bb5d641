//! Statistics of the system: a hundred values several times a second (rules M7, M8).

use rustc_hash::FxHashMap;
use timebase_descriptor::field::Value;
use timebase_schema::fields::{
    sys_stats as stats, sys_stats_buddy_info as buddy, sys_stats_cpu_idle_state as cpuidle,
    sys_stats_cpu_idle_state_entry as state, sys_stats_cpu_times as cpu_times,
    sys_stats_devfreq_value as devfreq, sys_stats_disk_stat as disk,
    sys_stats_interrupt_count as interrupt, sys_stats_meminfo_value as meminfo,
    sys_stats_psi_sample as psi, sys_stats_slab_info as slab, sys_stats_thermal_zone as zone,
    sys_stats_vmstat_value as vmstat,
};

use super::ftrace::{CPU_FREQUENCY, clock_frequency, gpu_frequency};
use super::series::{CounterSample, CounterType, Told};
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::world::Owner;

const MEMINFO: CounterType = CounterType::with_unit("meminfo", "bytes");
const VMSTAT: CounterType = CounterType::new("vmstat");
const CPUSTAT: CounterType = CounterType::new("cpustat");
const IRQ: CounterType = CounterType::new("num_irq");
const SOFTIRQ: CounterType = CounterType::new("num_softirq");
const FORKS: CounterType = CounterType::new("num_forks");
const IRQ_TOTAL: CounterType = CounterType::new("num_irq_total");
const SOFTIRQ_TOTAL: CounterType = CounterType::new("num_softirq_total");
const BUDDYINFO: CounterType = CounterType::new("buddyinfo");
const PSI: CounterType = CounterType::new("psi");
const THERMAL_ZONE: CounterType = CounterType::with_unit("thermal_temperature_sys", "C");
const IDLE_STATE: CounterType = CounterType::with_unit("cpu_idle_state", "us");
const SLABINFO: CounterType = CounterType::with_unit("slabinfo", "bytes");

/// Takes the values of a `SysStats`, in the order of rule M7.
pub(super) fn packet(
    message: Message<'_>,
    disks: &mut Disks,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    memory(message, sample);
    for clock in message.messages(stats::DEVFREQ) {
        let name = clock.bytes(devfreq::KEY).unwrap_or_default();
        clock_frequency(name, clock.number(devfreq::VALUE), sample);
    }
    for (number, khz) in (0..).zip(message.numbers(stats::CPUFREQ_KHZ)) {
        if let Some(cpu) = sample.cpu(number) {
            let name = format_args!("cpufreq");
            sample.put(&CPU_FREQUENCY, cpu, &[], name, khz as f64);
        }
    }
    for value in message.messages(stats::VMSTAT) {
        if let Some(name) = name_of(value, VMSTAT_NAMES) {
            named(&VMSTAT, "vmstat_key", name, number(value, vmstat::VALUE), sample);
        }
    }
    times(message, sample);
    for (field, counter) in [(stats::NUM_IRQ, &IRQ), (stats::NUM_SOFTIRQ, &SOFTIRQ)] {
        for interrupt in message.messages(field) {
            let id = interrupt.small(interrupt::IRQ).unwrap_or(0);
            let name = format_args!("{} (id: {id})", counter.track_type());
            let which = [("irq", id.into())];
            sample.put_global(counter, &which, name, number(interrupt, interrupt::COUNT));
        }
    }
    for (field, counter) in [
        (stats::NUM_FORKS, &FORKS),
        (stats::NUM_IRQ_TOTAL, &IRQ_TOTAL),
        (stats::NUM_SOFTIRQ_TOTAL, &SOFTIRQ_TOTAL),
    ] {
        if let Some(value) = message.number(field) {
            let track_type = counter.track_type();
            sample.put_global(counter, &[], format_args!("{track_type}"), value as f64);
        }
    }
    let machine = sample.at.world.definitions.machines.get(sample.machine);
    let page_size = machine.map_or(0, |machine| machine.system.page_size());
    buddies(message, page_size, sample);
    for disk in message.messages(stats::DISK_STAT) {
        disks.sample(disk, sample);
    }
    for pressure in message.messages(stats::PSI) {
        if let Some(name) = name_of(pressure, RESOURCES) {
            let which = [("psi_resource", name.into())];
            let name = format_args!("psi.{name}");
            sample.put_global(&PSI, &which, name, number(pressure, psi::TOTAL_NS));
        }
    }
    for zone in message.messages(stats::THERMAL_ZONE) {
        let which = zone.bytes(zone::TYPE).unwrap_or_default();
        let name = String::from_utf8_lossy(which);
        sample.put_global(
            &THERMAL_ZONE,
            &[("thermal_zone", which.into())],
            format_args!("{name}"),
            number(zone, zone::TEMP),
        );
    }
    for cpu in message.messages(stats::CPUIDLE_STATE) {
        idle_states(cpu, sample);
    }
    for mhz in message.numbers(stats::GPUFREQ_MHZ) {
        gpu_frequency(Some(0), mhz as f64, sample);
    }
    for cache in message.messages(stats::SLAB_INFO) {
        slab(cache, page_size, sample);
    }
}

/// Writes the memory of a cache of the kernel's allocator, with the size and the number of its
/// slabs (rule TK4).
fn slab(message: Message<'_>, page_size: u32, sample: &mut CounterSample<'_, '_, '_>) {
    let which = message.bytes(slab::NAME).unwrap_or_default();
    let name = String::from_utf8_lossy(which);
    let which = [("slab_name", which.into())];
    let name = format_args!("mem.slab.{name}");
    let track = sample.track(&SLABINFO, Owner::None, &which, name);
    let [pages, slabs] =
        [slab::PAGES_PER_SLAB, slab::NUM_SLABS].map(|field| message.number(field).unwrap_or(0));
    let mut args = ArgBuf::default();
    for (key, number) in [("pages_per_slab", pages), ("num_slabs", slabs)] {
        let names = &mut sample.at.world.definitions.names;
        args.push(key, ArgValue::Uint(number), names);
    }
    let size = pages as f64 * slabs as f64 * f64::from(page_size);
    sample.put_on(track, size, args.as_bytes());
}

/// A number, or 0 if it is absent.
fn number(message: Message<'_>, field: u32) -> f64 {
    message.number(field).unwrap_or(0) as f64
}

/// Writes a value that only its name distinguishes from others of its kind.
fn named(
    counter: &CounterType,
    key: &'static str,
    name: &str,
    value: f64,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    sample.put_global(counter, &[(key, name.into())], format_args!("{name}"), value);
}

/// The name for a key, which is the first field; `None` if it has no name.
fn name_of(message: Message<'_>, names: &'static [&'static str]) -> Option<&'static str> {
    let key = usize::try_from(message.number(vmstat::KEY).unwrap_or(0)).ok()?;
    names.get(key).copied()
}

fn memory(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    for value in message.messages(stats::MEMINFO) {
        if let Some(name) = name_of(value, MEMINFO_NAMES) {
            let bytes = number(value, meminfo::VALUE) * 1024.0;
            named(&MEMINFO, "meminfo_key", name, bytes, sample);
        }
    }
}

/// Writes the times that CPUs spent in each state.
fn times(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    const TIMES: [&str; 8] = [
        "user_ns",
        "user_nice_ns",
        "system_mode_ns",
        "idle_ns",
        "io_wait_ns",
        "irq_ns",
        "softirq_ns",
        "steal_ns",
    ];
    for times in message.messages(stats::CPU_STAT) {
        let Some(cpu) = times.small(cpu_times::CPU_ID).and_then(|cpu| sample.cpu(cpu)) else {
            continue;
        };
        for (field, name) in (2..).zip(TIMES) {
            let value = number(times, field);
            let which = [("cpustat_key", name.into())];
            let name = format_args!("cpu.times.{name}");
            sample.put(&CPUSTAT, cpu, &which, name, value);
        }
    }
}

/// Writes the numbers of free blocks of memory, by size.
fn buddies(message: Message<'_>, page_size: u32, sample: &mut CounterSample<'_, '_, '_>) {
    for info in message.messages(stats::BUDDY_INFO) {
        let node_and_zone =
            [buddy::NODE, buddy::ZONE].map(|field| info.bytes(field).unwrap_or_default());
        let [node, zone] = node_and_zone.map(String::from_utf8_lossy);
        for (order, blocks) in (0u32..).zip(info.numbers(buddy::ORDER_PAGES)) {
            let size = kilobytes(order, page_size);
            let name = format_args!("mem.buddyinfo[{node}][{zone}][{size} kB]");
            let size = Told::Number(i64::try_from(size).unwrap_or(i64::MAX));
            let [node, zone] = node_and_zone.map(Told::from);
            let which = [
                ("buddyinfo_node", node),
                ("buddyinfo_zone", zone),
                ("buddyinfo_chunk_size_kb", size),
            ];
            sample.put_global(&BUDDYINFO, &which, name, blocks as f64);
        }
    }
}

/// The size of 2^order pages.
fn kilobytes(order: u32, page_size: u32) -> u128 {
    let size = u128::from(page_size);
    // No machine has blocks of 2⁹⁶ pages.
    (size << order.min(96)) / 1024
}

/// Writes the time that a CPU was in each of its idle states.
fn idle_states(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    let cpu_number = message.small(cpuidle::CPU_ID).unwrap_or(0);
    for state in message.messages(cpuidle::CPUIDLE_STATE_ENTRY) {
        let Some(cpu) = sample.cpu(cpu_number) else {
            continue;
        };
        let which = state.bytes(state::STATE).unwrap_or_default();
        let name = String::from_utf8_lossy(which);
        let name = format_args!("cpuidle{cpu_number}.{name}");
        let which = [("state", which.into())];
        sample.put(&IDLE_STATE, cpu, &which, name, number(state, state::DURATION_US));
    }
}

/// The totals of disks at their last samples (rule M8).
#[derive(Debug, Default)]
pub(super) struct Disks(FxHashMap<(u32, Box<[u8]>), Disk>);

/// The fields of a `DiskStat` from the second one on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Disk([u64; 8]);

const DISKSTAT: [(CounterType, &str); 8] = {
    const fn diskstat(unit: &'static str) -> CounterType {
        CounterType::with_unit("diskstat", unit)
    }
    [
        (diskstat("MB"), "read_amount"),
        (diskstat("MB/s"), "read_throughput"),
        (diskstat("MB"), "write_amount"),
        (diskstat("MB/s"), "write_throughput"),
        (diskstat("MB"), "discard_amount"),
        (diskstat("MB/s"), "discard_throughput"),
        (diskstat("count"), "flush_amount"),
        (diskstat("ms"), "flush_time"),
    ]
};

impl Disks {
    /// Writes the work of a disk since its previous sample.
    fn sample(&mut self, message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
        let device = message.bytes(disk::DEVICE_NAME).unwrap_or_default();
        let mut disk = Disk::default();
        for (field, value) in message.fields() {
            let slot = field.checked_sub(2).map(|slot| slot as usize);
            if let (Some(slot), Value::Varint(value)) = (slot, value)
                && let Some(known) = disk.0.get_mut(slot)
            {
                *known = value;
            }
        }
        let Some(before) = self.0.insert((sample.machine, device.into()), disk) else {
            return;
        };
        let name = String::from_utf8_lossy(device);
        for ((counter, what), value) in DISKSTAT.iter().zip(disk.since(&before)) {
            let which = [("device_name", device.into()), ("counter_name", (*what).into())];
            sample.put_global(counter, &which, format_args!("diskstat.[{name}].{what}"), value);
        }
    }
}

impl Disk {
    /// The differences to the previous sample, in the order of [`DISKSTAT`].
    fn since(&self, before: &Disk) -> [f64; 8] {
        const SECTORS: f64 = 2048.0;
        let mut differences = [0.0; 8];
        for (difference, (now, before)) in differences.iter_mut().zip(self.0.iter().zip(before.0)) {
            *difference = (i128::from(*now) - i128::from(before)) as f64;
        }
        let [read, read_ms, write, write_ms, discard, discard_ms, flushes, flush_ms] = differences;
        let [read, write, discard] = [read, write, discard].map(|sectors| sectors / SECTORS);
        let throughput = |amount: f64, ms: f64| match ms == 0.0 {
            true => 0.0,
            false => amount * 1000.0 / ms,
        };
        [
            read,
            throughput(read, read_ms),
            write,
            throughput(write, write_ms),
            discard,
            throughput(discard, discard_ms),
            flushes,
            flush_ms,
        ]
    }
}

/// The resources that a task waited for, by `PsiResource`.
const RESOURCES: &[&str] =
    &["resource.unspecified", "cpu.some", "cpu.full", "io.some", "io.full", "mem.some", "mem.full"];

/// List I of rule M7, by `MeminfoCounters`.
#[rustfmt::skip]
const MEMINFO_NAMES: &[&str] = &[
    "MemUnspecified", "MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SwapCached",
    "Active", "Inactive", "Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)",
    "Unevictable", "Mlocked", "SwapTotal", "SwapFree", "Dirty", "Writeback", "AnonPages", "Mapped",
    "Shmem", "Slab", "SReclaimable", "SUnreclaim", "KernelStack", "PageTables", "CommitLimit",
    "Committed_AS", "VmallocTotal", "VmallocUsed", "VmallocChunk", "CmaTotal", "CmaFree", "Gpu",
    "Zram", "Misc", "ION_heap", "ION_heap_pool",
];

/// The names by `VmstatCounters`.
#[rustfmt::skip]
const VMSTAT_NAMES: &[&str] = &[
    "VmstatUnspecified", "nr_free_pages", "nr_alloc_batch", "nr_inactive_anon", "nr_active_anon",
    "nr_inactive_file", "nr_active_file", "nr_unevictable", "nr_mlock", "nr_anon_pages",
    "nr_mapped", "nr_file_pages", "nr_dirty", "nr_writeback", "nr_slab_reclaimable",
    "nr_slab_unreclaimable", "nr_page_table_pages", "nr_kernel_stack", "nr_overhead", "nr_unstable",
    "nr_bounce", "nr_vmscan_write", "nr_vmscan_immediate_reclaim", "nr_writeback_temp",
    "nr_isolated_anon", "nr_isolated_file", "nr_shmem", "nr_dirtied", "nr_written",
    "nr_pages_scanned", "workingset_refault", "workingset_activate", "workingset_nodereclaim",
    "nr_anon_transparent_hugepages", "nr_free_cma", "nr_swapcache", "nr_dirty_threshold",
    "nr_dirty_background_threshold", "pgpgin", "pgpgout", "pgpgoutclean", "pswpin", "pswpout",
    "pgalloc_dma", "pgalloc_normal", "pgalloc_movable", "pgfree", "pgactivate", "pgdeactivate",
    "pgfault", "pgmajfault", "pgrefill_dma", "pgrefill_normal", "pgrefill_movable",
    "pgsteal_kswapd_dma", "pgsteal_kswapd_normal", "pgsteal_kswapd_movable", "pgsteal_direct_dma",
    "pgsteal_direct_normal", "pgsteal_direct_movable", "pgscan_kswapd_dma", "pgscan_kswapd_normal",
    "pgscan_kswapd_movable", "pgscan_direct_dma", "pgscan_direct_normal", "pgscan_direct_movable",
    "pgscan_direct_throttle", "pginodesteal", "slabs_scanned", "kswapd_inodesteal",
    "kswapd_low_wmark_hit_quickly", "kswapd_high_wmark_hit_quickly", "pageoutrun", "allocstall",
    "pgrotated", "drop_pagecache", "drop_slab", "pgmigrate_success", "pgmigrate_fail",
    "compact_migrate_scanned", "compact_free_scanned", "compact_isolated", "compact_stall",
    "compact_fail", "compact_success", "compact_daemon_wake", "unevictable_pgs_culled",
    "unevictable_pgs_scanned", "unevictable_pgs_rescued", "unevictable_pgs_mlocked",
    "unevictable_pgs_munlocked", "unevictable_pgs_cleared", "unevictable_pgs_stranded",
    "nr_zspages", "nr_ion_heap", "nr_gpu_heap", "allocstall_dma", "allocstall_movable",
    "allocstall_normal", "compact_daemon_free_scanned", "compact_daemon_migrate_scanned",
    "nr_fastrpc", "nr_indirectly_reclaimable", "nr_ion_heap_pool", "nr_kernel_misc_reclaimable",
    "nr_shadow_call_stack_bytes", "nr_shmem_hugepages", "nr_shmem_pmdmapped",
    "nr_unreclaimable_pages", "nr_zone_active_anon", "nr_zone_active_file", "nr_zone_inactive_anon",
    "nr_zone_inactive_file", "nr_zone_unevictable", "nr_zone_write_pending", "oom_kill",
    "pglazyfree", "pglazyfreed", "pgrefill", "pgscan_direct", "pgscan_kswapd", "pgskip_dma",
    "pgskip_movable", "pgskip_normal", "pgsteal_direct", "pgsteal_kswapd", "swap_ra", "swap_ra_hit",
    "workingset_restore", "allocstall_device", "allocstall_dma32", "balloon_deflate",
    "balloon_inflate", "balloon_migrate", "cma_alloc_fail", "cma_alloc_success",
    "nr_file_hugepages", "nr_file_pmdmapped", "nr_foll_pin_acquired", "nr_foll_pin_released",
    "nr_sec_page_table_pages", "nr_shadow_call_stack", "nr_swapcached", "nr_throttled_written",
    "pgalloc_device", "pgalloc_dma32", "pgdemote_direct", "pgdemote_kswapd", "pgreuse",
    "pgscan_anon", "pgscan_file", "pgskip_device", "pgskip_dma32", "pgsteal_anon", "pgsteal_file",
    "thp_collapse_alloc", "thp_collapse_alloc_failed", "thp_deferred_split_page", "thp_fault_alloc",
    "thp_fault_fallback", "thp_fault_fallback_charge", "thp_file_alloc", "thp_file_fallback",
    "thp_file_fallback_charge", "thp_file_mapped", "thp_migration_fail", "thp_migration_split",
    "thp_migration_success", "thp_scan_exceed_none_pte", "thp_scan_exceed_share_pte",
    "thp_scan_exceed_swap_pte", "thp_split_page", "thp_split_page_failed", "thp_split_pmd",
    "thp_swpout", "thp_swpout_fallback", "thp_zero_page_alloc", "thp_zero_page_alloc_failed",
    "vma_lock_abort", "vma_lock_miss", "vma_lock_retry", "vma_lock_success",
    "workingset_activate_anon", "workingset_activate_file", "workingset_nodes",
    "workingset_refault_anon", "workingset_refault_file", "workingset_restore_anon",
    "workingset_restore_file",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn m7_names_of_vmstat_are_those_of_the_schema() {
        let pool = timebase_descriptor::Pool::perfetto();
        let value = pool.message("perfetto.protos.SysStats.VmstatValue");
        let name = |key: usize| {
            let mut message = vec![0x08];
            prost::encoding::encode_varint(key as u64, &mut message);
            let mut json = String::new();
            pool.write_json(value.unwrap(), &message, &mut json).unwrap();
            json
        };
        for (key, known) in VMSTAT_NAMES.iter().enumerate().skip(1) {
            let known = known.to_uppercase();
            assert_eq!(name(key), format!(r#"{{"key":"VMSTAT_{known}"}}"#));
        }
        let beyond = VMSTAT_NAMES.len();
        assert_eq!(name(beyond), format!(r#"{{"key":{beyond}}}"#));
    }

    #[test]
    fn m7_blocks_have_sizes_that_do_not_overflow() {
        assert_eq!(kilobytes(0, 4096), 4);
        assert_eq!(kilobytes(10, 4096), 4096);
        assert_eq!(kilobytes(0, 512), 0);
        assert_eq!(kilobytes(u32::MAX, u32::MAX), (u128::from(u32::MAX) << 96) / 1024);
    }

    #[test]
    fn m8_differences_to_the_sample_before() {
        let before = Disk([4096, 10, 2048, 5, 0, 0, 7, 100]);
        let now = Disk([8192, 14, 0, 5, 1024, 0, 9, 50]);
        assert_eq!(now.since(&before), [2.0, 500.0, -1.0, 0.0, 0.5, 0.0, 2.0, -50.0]);
        let most = Disk([u64::MAX; 8]);
        assert_eq!(most.since(&Disk::default())[6], u64::MAX as f64);
    }
}
