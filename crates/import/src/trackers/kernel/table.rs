//! The table of kernel events that need no state of their own.
//!
//! A new event is a line here, or two lines if it begins and ends a slice. It also needs a kind of
//! track if it has tracks of its own. Lines of one event stand together and apply in this order.

use timebase_schema::fields::ftrace_event as event;

use super::entry::{
    Entry, Pattern, Scope, Target, Track, Value, When, begin, count, each, end, instant, int, sum,
    text, turn, uint,
};
use super::kernel_event::KernelEvent;

use Value::{
    Calculated, Cpu, Fixed, Hex, I32, I64, Key, Lit, Mapped, Minus, Symbol, Text, Tid, U32, U64,
    Word, Written,
};
use When::{Is, IsNot};

const DIRECT_RECLAIM: Pattern = &[Lit("mm_vmscan_direct_reclaim")];
const MEMCG_RECLAIM: Pattern = &[Lit("mm_vmscan_memcg_reclaim")];
const RECEIVED: Track = Track::counter("net_receive", &[Text(2), Lit(" Received KB")])
    .by(&[("network_interface", Text(2))]);
const TRANSMITTED: Track = Track::counter("net_transmit", &[Text(2), Lit(" Transmitted KB")])
    .by(&[("network_interface", Text(2))]);
const SKB_FREED: Track = Track::counter("net_kfree_skb", &[Lit("Kfree Skb IP Prot")]);
const VBLANK: Target =
    Target::Track(Track::new("drm_vblank", &[Lit("vblank-"), I32(1)]).by(&[("drm_crtc", I32(1))]));
const RETRANSMIT: Target =
    Target::Track(Track::new("net_tcp_retransmit_skb", &[Lit("TCP Retransmit Skb")]));
const GRO: Target =
    Target::Track(Track::new("cpu_napi_gro", &[Lit("Napi Gro Cpu "), Cpu]).of(Scope::Cpu(Cpu)));
const MINIMAL: Target =
    Target::Track(Track::new("suspend_resume_minimal", &[Lit("Suspend/Resume Minimal")]));
const FS_CHECKPOINT: Target = Target::Track(
    Track::new("f2fs_write_checkpoint", &[Lit("f2fs_ckpt "), Tid]).of(Scope::Process),
);
const FS_REASONS: &[&str] =
    &["Umount", "Fastboot", "Sync", "Recovery", "Discard", "Trimmed", "Pause", "Resize"];
const CPU_HOTPLUG: Target =
    Target::Track(Track::new("cpu_hotplug", &[Lit("CPU Hotplug "), U32(1)]).of(Scope::Cpu(U32(1))));
const HOTPLUG_STEP: Pattern = &[Lit("cpuhp("), I32(3), Lit(")")];
const RUNTIME_POWER: Target =
    Target::Track(Track::counter("linux_rpm", &[]).by(&[("linux_device", Text(1))]));
const THROTTLE: Track =
    Track::counter("cpu_frequency_throttle", &[Lit("cpufreq_throttle")]).of(Scope::Cpu(U32(1)));
const BATTERY_LIMIT: Track = Track::counter("bcl_irq", &[Key]).by(&[("bcl_key", Key)]);
const FASTRPC: Track = Track::counter("fastrpc", &[Lit("mem.fastrpc["), FASTRPC_NAME, Lit("]")])
    .by(&[("cid", I32(1))]);
const FASTRPC_CHANGE: Track =
    Track::counter("fastrpc_change", &[Lit("mem.fastrpc_change["), FASTRPC_NAME, Lit("]")])
        .of(Scope::Thread)
        .by(&[("cid", I32(1))]);
const FASTRPC_NAME: Value = Written(|here, out| match here.u32(1) {
    0 => out.push_str("ASDP"),
    1 => out.push_str("MDSP"),
    2 => out.push_str("SDSP"),
    3 => out.push_str("CDSP"),
    other => out.push_str(&other.to_string()),
});
const SENSOR_HUB: Track =
    Track::counter("cros_ec_sensorhub_data", &[Lit("cros_ec.cros_ec_sensorhub_data."), U32(5)])
        .by(&[("ec_sensor_num", U32(5))]);
const UFS_COMMANDS: Track = Track::counter("ufs_command_count", &[Lit("io.ufs.command.count")]);
const UFS_TAG: Target =
    Target::Track(Track::new("ufs_command_tag", &[UFS_TAG_NAME]).by(&[("ufs_tag", U32(7))]));
const UFS_TAG_NAME: Value = Written(|here, out| {
    out.push_str(&format!("io.ufs.command.tag[{:03}]", here.u32(7)));
});
const UFS_CLOCK: Track =
    Track::counter("ufs_clkgating", &[Lit("io.ufs.clkgating (OFF:0/REQ_OFF/REQ_ON/ON:3)")]);
const FS_IOSTAT: Track =
    Track::counter("f2fs_iostat", &[Lit("f2fs_iostat.["), FS_DEVICE_9, Lit("]."), Key])
        .by(&[("linux_device", FS_DEVICE_9), ("counter_key", Key)]);
const FS_LATENCY: Track = Track::counter(
    "f2fs_iostat_latency",
    &[Lit("f2fs_iostat_latency.["), FS_DEVICE_10, Lit("]."), Key],
)
.by(&[("linux_device", FS_DEVICE_10), ("counter_key", Key)]);
const FS_DEVICE_9: Value = Written(|here, out| device(here.u64(9), out));
const FS_DEVICE_10: Value = Written(|here, out| device(here.u64(10), out));
const DEVICE_FREQUENCY: Track =
    Track::counter("linux_device_frequency", &[DEVFREQ_NAME]).by(&[("linux_device", Text(1))]);
const DEVFREQ_NAME: Value = Written(|here, out| {
    const PREFIX: &str = "devfreq_";
    let name = here.text(1).unwrap_or_default();
    match name.find(PREFIX).and_then(|start| name.get(start..)) {
        Some(name) => out.push_str(name),
        None => out.extend([PREFIX, &name]),
    }
});
const FUNCTIONS_OF_THREAD: Target =
    Target::Track(Track::new("thread_funcgraph", &[Lit("Funcgraph")]).of(Scope::Thread));
const FUNCTIONS_OF_CPU: Target = Target::Track(
    Track::new("cpu_funcgraph", &[Lit("swapper"), Cpu, Lit(" -funcgraph")]).of(Scope::Cpu(Cpu)),
);
const BLOCK_IO: Target =
    Target::Track(Track::counter("block_io", &[]).by(&[("block_device", U64(1))]));
const HRTIMER: Target =
    Target::Track(Track::new("cpu_hrtimer", &[Lit("Hrtimer Cpu "), Cpu]).of(Scope::Cpu(Cpu)));
const IRQ: Target =
    Target::Track(Track::new("cpu_irq", &[Lit("Irq Cpu "), Cpu]).of(Scope::Cpu(Cpu)));
const GPU_POWER: Target =
    Target::Track(Track::new("powervr_gpu_power_state", &[Lit("powervr_gpu_power_state")]));
const MALI_POWER: Track = Track::counter("mali_gpu_power_state", &[Lit("mali_gpu_power_state")]);
const UTILIZATION: Track =
    Track::counter("cpu_utilization", &[Lit("Cpu "), U32(4), Lit(" Util")]).of(Scope::Cpu(U32(4)));
const CAPACITY: Track =
    Track::counter("cpu_capacity", &[Lit("Cpu "), U32(4), Lit(" Cap")]).of(Scope::Cpu(U32(4)));
const RUNNING: Track = Track::counter("cpu_nr_running", &[Lit("Cpu "), U32(4), Lit(" Nr Running")])
    .of(Scope::Cpu(U32(4)));

/// The table (rules KE).
pub(super) const TABLE: &[Entry] =
    &[
        begin(event::MM_VMSCAN_DIRECT_RECLAIM_BEGIN, Target::Thread, DIRECT_RECLAIM).with(&[
            int("direct_reclaim_order", I32(1)),
            int("direct_reclaim_may_writepage", I32(2)),
            uint("direct_reclaim_gfp_flags", U32(3)),
        ]),
        end(event::MM_VMSCAN_DIRECT_RECLAIM_END, Target::Thread)
            .with(&[uint("direct_reclaim_nr_reclaimed", U64(1))]),
        end(event::WORKQUEUE_EXECUTE_END, Target::Thread).in_category("workqueue"),
        begin(event::WORKQUEUE_EXECUTE_START, Target::Thread, &[Symbol(2)])
            .in_category("workqueue")
            .with(&[int("cpu", Cpu)]),
        turn(event::F2FS_WRITE_CHECKPOINT, FS_CHECKPOINT, &[Lit("F2fs Write Checkpoint")])
            .when(Is(U32(5), 0))
            .with(&[uint("dev", U64(1)), int("reason_int", I32(4)), FS_REASON]),
        end(event::F2FS_WRITE_CHECKPOINT, FS_CHECKPOINT).when(Is(U32(5), 2)),
        begin(event::SCM_CALL_START, Target::Thread, &[Lit("scm id="), Hex(2)]),
        end(event::SCM_CALL_END, Target::Thread),
        end(event::CPUHP_EXIT, CPU_HOTPLUG),
        begin(event::CPUHP_MULTI_ENTER, CPU_HOTPLUG, HOTPLUG_STEP)
            .in_category("cpu")
            .with(HOTPLUG_ARGS),
        begin(event::CPUHP_ENTER, CPU_HOTPLUG, HOTPLUG_STEP).in_category("cpu").with(HOTPLUG_ARGS),
        count(event::FASTRPC_DMA_STAT, FASTRPC, U64(3)),
        count(event::FASTRPC_DMA_STAT, FASTRPC_CHANGE, I64(2)),
        sum(event::NETIF_RECEIVE_SKB, RECEIVED, U32(1), 1024).with(PACKET),
        sum(event::NET_DEV_XMIT, TRANSMITTED, U32(1), 1024).when(Is(I32(3), 0)).with(PACKET),
        instant(
            event::TCP_RETRANSMIT_SKB,
            RETRANSMIT,
            &[Lit("sport="), U32(6), Lit(",dport="), U32(2)],
        )
        .in_category("tcp_event"),
        count(event::CROS_EC_SENSORHUB_DATA, SENSOR_HUB, Minus(1, 2)).with(&[
            int("ec_num", U32(5)),
            int("ec_delta", Minus(6, 2)),
            int("sample_ts", I64(2)),
        ]),
        begin(event::NAPI_GRO_RECEIVE_ENTRY, GRO, &[Text(10)])
            .in_category("napi_gro")
            .with(&[int("len", U32(7))]),
        end(event::NAPI_GRO_RECEIVE_EXIT, GRO).in_category("napi_gro").with(&[int("ret", I32(1))]),
        sum(event::KFREE_SKB, SKB_FREED, Fixed(1), 1)
            .when(Is(U32(2), 0x800))
            .with(&[text("protocol", Lit("IP"))]),
        sum(event::KFREE_SKB, SKB_FREED, Fixed(1), 1)
            .when(Is(U32(2), 0x86dd))
            .with(&[text("protocol", Lit("IPV6"))]),
        count(event::UFSHCD_COMMAND, UFS_COMMANDS, Calculated(ufs_commands)),
        begin(event::UFSHCD_COMMAND, UFS_TAG, &[Written(ufs_operation)]).when(Is(U32(10), 0)),
        end(event::UFSHCD_COMMAND, UFS_TAG).when(IsNot(U32(10), 0)),
        count(event::UFSHCD_CLK_GATING, UFS_CLOCK, Mapped(2, &[(1, 3), (2, 1), (3, 2)], 0)),
        instant(event::DRM_VBLANK_EVENT, VBLANK, &[Lit("signal")])
            .with(&[uint("vblank seqno", U32(3))]),
        instant(event::DRM_VBLANK_EVENT_DELIVERED, VBLANK, &[Lit("deliver")])
            .with(&[uint("vblank seqno", U32(3))]),
        begin(event::DMA_FENCE_WAIT_START, Target::Thread, &[Lit("dma_fence_wait")])
            .with(&[uint("fence context", U32(1)), uint("fence seqno", U32(3))]),
        end(event::DMA_FENCE_WAIT_END, Target::Thread),
        each(event::F2FS_IOSTAT, FS_IOSTAT, FS_IOSTAT_FIELDS),
        each(event::F2FS_IOSTAT_LATENCY, FS_LATENCY, FS_LATENCY_FIELDS),
        count(event::SCHED_CPU_UTIL_CFS, UTILIZATION, U64(6)),
        count(event::SCHED_CPU_UTIL_CFS, CAPACITY, U64(2)),
        count(event::SCHED_CPU_UTIL_CFS, RUNNING, U32(11)),
        begin(event::FUNCGRAPH_ENTRY, FUNCTIONS_OF_THREAD, &[Symbol(2)]).when(IsNot(Tid, 0)),
        begin(event::FUNCGRAPH_ENTRY, FUNCTIONS_OF_CPU, &[Symbol(2)]).when(Is(Tid, 0)),
        end(event::FUNCGRAPH_EXIT, FUNCTIONS_OF_THREAD).named(&[Symbol(3)]).when(IsNot(Tid, 0)),
        end(event::FUNCGRAPH_EXIT, FUNCTIONS_OF_CPU).named(&[Symbol(3)]).when(Is(Tid, 0)),
        begin(event::MM_SHRINK_SLAB_START, Target::Thread, &[Lit("mm_vmscan_shrink_slab")]).with(
            &[text("shrink_name", Symbol(8)), uint("total_scan", U64(9)), int("priority", I32(11))],
        ),
        end(event::MM_SHRINK_SLAB_END, Target::Thread).with(&[int("freed", I32(2))]),
        begin(event::SUSPEND_RESUME_MINIMAL, MINIMAL, &[Lit("Suspended")]).when(IsNot(U32(1), 0)),
        end(event::SUSPEND_RESUME_MINIMAL, MINIMAL).when(Is(U32(1), 0)),
        turn(event::RPM_STATUS, RUNTIME_POWER, &[Word(2, RUNTIME_STATES, "Invalid State")])
            .when(IsNot(I32(2), 2)),
        end(event::RPM_STATUS, RUNTIME_POWER).when(Is(I32(2), 2)),
        count(event::DCVSH_FREQ, THROTTLE, U64(2)),
        each(event::BCL_IRQ_TRIGGER, BATTERY_LIMIT, BATTERY_LIMITS).when(IsNot(I32(2), 0)),
        each(event::BCL_IRQ_TRIGGER, BATTERY_LIMIT, BATTERY_UNLIMITED).when(Is(I32(2), 0)),
        count(event::DEVFREQ_FREQUENCY, DEVICE_FREQUENCY, U64(2)),
        begin(event::KPROBE_EVENT, Target::Thread, &[Text(1)]).when(Is(I32(2), 1)),
        end(event::KPROBE_EVENT, Target::Thread).named(&[Text(1)]).when(Is(I32(2), 2)),
        instant(event::KPROBE_EVENT, Target::Thread, &[Text(1)]).when(Is(I32(2), 3)),
        begin(event::BLOCK_IO_START, BLOCK_IO, &[Lit("block_io")]).with(&[uint("sector", U64(2))]),
        end(event::BLOCK_IO_DONE, BLOCK_IO).with(&[uint("sector", U64(2))]),
        count(event::MALI_GPU_POWER_STATE, MALI_POWER, I32(3)),
        begin(event::HRTIMER_EXPIRE_ENTRY, HRTIMER, &[Symbol(3)]).in_category("hrtimer"),
        end(event::HRTIMER_EXPIRE_EXIT, HRTIMER).in_category("hrtimer"),
        begin(event::LOCAL_TIMER_ENTRY, IRQ, &[Lit("IRQ (LocalTimer)")]).in_category("irq"),
        end(event::LOCAL_TIMER_EXIT, IRQ).in_category("irq"),
        turn(event::GPU_POWER_STATE, GPU_POWER, &[Word(2, &["OFF", "PG", "ON"], "Unknown")]),
        begin(event::MM_VMSCAN_MEMCG_RECLAIM_BEGIN, Target::Thread, MEMCG_RECLAIM).with(&[
            int("memcg_reclaim_order", I32(1)),
            int("memcg_reclaim_may_writepage", I32(2)),
            uint("memcg_reclaim_gfp_flags", U64(3)),
        ]),
        end(event::MM_VMSCAN_MEMCG_RECLAIM_END, Target::Thread)
            .with(&[uint("memcg_reclaim_nr_reclaimed", U64(1))]),
    ];

const PACKET: &[super::entry::Argument] = &[uint("cpu", Cpu), uint("len", U32(1))];
const HOTPLUG_ARGS: &[super::entry::Argument] =
    &[uint("action_cpu", Cpu), int("cpuhp_idx", I32(3))];
const FS_REASON: super::entry::Argument = super::entry::Argument::Bits {
    list: "reason_str",
    field: 4,
    words: FS_REASONS,
    none: "Unknown",
};
/// State 2 is a sleeping device, which has no slice.
const RUNTIME_STATES: &[&str] = &["Active", "Resuming", "Suspended", "Suspending"];
const BATTERY_LIMITS: &[(&str, Value)] = &[
    ("bcl_irq_id", I32(1)),
    ("bcl_irq_throttle", I32(2)),
    ("bcl_irq_cpu0", I32(3)),
    ("bcl_irq_cpu1", I32(4)),
    ("bcl_irq_cpu2", I32(5)),
    ("bcl_irq_tpu", I32(6)),
    ("bcl_irq_gpu", I32(7)),
    ("bcl_irq_voltage", I32(8)),
    ("bcl_irq_capacity", I32(9)),
];
const BATTERY_UNLIMITED: &[(&str, Value)] = &[
    ("bcl_irq_id", Fixed(-1)),
    ("bcl_irq_throttle", Fixed(0)),
    ("bcl_irq_cpu0", Fixed(0)),
    ("bcl_irq_cpu1", Fixed(0)),
    ("bcl_irq_cpu2", Fixed(0)),
    ("bcl_irq_tpu", Fixed(0)),
    ("bcl_irq_gpu", Fixed(0)),
    ("bcl_irq_voltage", I32(8)),
    ("bcl_irq_capacity", I32(9)),
];
const FS_IOSTAT_FIELDS: &[(&str, Value)] = &[
    ("write_app_total", U64(8)),
    ("write_app_direct", U64(3)),
    ("write_app_buffered", U64(1)),
    ("write_app_mapped", U64(5)),
    ("write_fs_data", U64(14)),
    ("write_fs_node", U64(22)),
    ("write_fs_meta", U64(20)),
    ("write_gc_data", U64(17)),
    ("write_gc_node", U64(18)),
    ("write_cp_data", U64(11)),
    ("write_cp_node", U64(13)),
    ("write_cp_meta", U64(12)),
    ("read_app_total", U64(7)),
    ("read_app_direct", U64(4)),
    ("read_app_buffered", U64(2)),
    ("read_app_mapped", U64(6)),
    ("read_fs_data", U64(16)),
    ("read_fs_gdata", U64(19)),
    ("read_fs_cdata", U64(10)),
    ("read_fs_node", U64(23)),
    ("read_fs_meta", U64(21)),
    ("other_fs_discard", U64(15)),
];
const FS_LATENCY_FIELDS: &[(&str, Value)] = &[
    ("read_data_avg", U32(1)),
    ("read_data_cnt", U32(2)),
    ("read_data_peak", U32(3)),
    ("read_node_avg", U32(20)),
    ("read_node_cnt", U32(21)),
    ("read_node_peak", U32(22)),
    ("read_meta_avg", U32(11)),
    ("read_meta_cnt", U32(12)),
    ("read_meta_peak", U32(13)),
    ("write_sync_data_avg", U32(7)),
    ("write_sync_data_cnt", U32(8)),
    ("write_sync_data_peak", U32(9)),
    ("write_sync_node_avg", U32(26)),
    ("write_sync_node_cnt", U32(27)),
    ("write_sync_node_peak", U32(28)),
    ("write_sync_meta_avg", U32(17)),
    ("write_sync_meta_cnt", U32(18)),
    ("write_sync_meta_peak", U32(19)),
    ("write_async_data_avg", U32(4)),
    ("write_async_data_cnt", U32(5)),
    ("write_async_data_peak", U32(6)),
    ("write_async_node_avg", U32(23)),
    ("write_async_node_cnt", U32(24)),
    ("write_async_node_peak", U32(25)),
    ("write_async_meta_avg", U32(14)),
    ("write_async_meta_cnt", U32(15)),
    ("write_async_meta_peak", U32(16)),
];

/// A device by its numbers.
fn device(dev: u64, out: &mut String) {
    out.push_str(&format!("{}:{}", dev >> 8 & 0xff, dev & 0xff));
}

/// The number of commands that a UFS controller is working on.
fn ufs_commands(here: &KernelEvent<'_>) -> i64 {
    match (here.u32(2).count_ones(), here.u32(10)) {
        (0, 1) => 0,
        (0, _) => 1,
        (commands, _) => commands.into(),
    }
}

/// The name of a UFS command.
fn ufs_operation(here: &KernelEvent<'_>, out: &mut String) {
    let opcode = here.u32(5);
    let known = UFS_OPERATIONS.iter().find(|(number, _)| *number == opcode);
    out.push_str(known.map_or("UNDEFINED", |(_, name)| name));
    let group = here.u32(9);
    if group != 0 {
        out.push_str(&format!(" (GID={group:#x})"));
    }
}

const UFS_OPERATIONS: &[(u32, &str)] = &[
    (0, "TEST UNIT READY"),
    (3, "REQUEST SENSE"),
    (4, "FORMAT UNIT"),
    (8, "READ (6)"),
    (10, "WRITE (6)"),
    (18, "INQUIRY"),
    (27, "START STOP UNIT"),
    (29, "SEND DIAGNOSTIC"),
    (37, "READ CAPACITY (10)"),
    (40, "READ (10)"),
    (42, "WRITE (10)"),
    (47, "VERIFY"),
    (52, "PRE-FETCH (10)"),
    (53, "SYNCHRONIZE CACHE (10)"),
    (59, "WRITE BUFFER"),
    (60, "READ BUFFER"),
    (66, "UNMAP"),
    (85, "MODE SELECT (10)"),
    (90, "MODE SENSE (10)"),
    (136, "READ (16)"),
    (138, "WRITE (16)"),
    (144, "PRE-FETCH (16)"),
    (145, "SYNCHRONIZE CACHE (16)"),
    (158, "READ CAPACITY (16)"),
    (160, "REPORT LUNS"),
    (162, "SECURITY PROTOCOL IN"),
    (181, "SECURITY PROTOCOL OUT"),
];
