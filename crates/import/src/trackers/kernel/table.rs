//! The table of kernel events that need no state of their own.
//!
//! A new event is a line here, or two lines if it begins and ends a slice. It also needs a kind of
//! track if it has tracks of its own. Lines of one event stand together and apply in this order.

use timebase_schema::fields::{
    bcl_irq_trigger_ftrace_event as bcl_irq_trigger, block_io_done_ftrace_event as block_io_done,
    block_io_start_ftrace_event as block_io_start, cpuhp_exit_ftrace_event as cpuhp_exit,
    cpuhp_multi_enter_ftrace_event as cpuhp_multi_enter,
    cros_ec_sensorhub_data_ftrace_event as cros_ec_sensorhub_data,
    dcvsh_freq_ftrace_event as dcvsh_freq, devfreq_frequency_ftrace_event as devfreq_frequency,
    dma_fence_wait_start_ftrace_event as dma_fence_wait_start,
    drm_vblank_event_delivered_ftrace_event as drm_vblank_event_delivered,
    drm_vblank_event_ftrace_event as drm_vblank_event, f2fs_iostat_ftrace_event as f2fs_iostat,
    f2fs_iostat_latency_ftrace_event as f2fs_iostat_latency,
    f2fs_write_checkpoint_ftrace_event as f2fs_write_checkpoint,
    fastrpc_dma_stat_ftrace_event as fastrpc_dma_stat, ftrace_event as event,
    funcgraph_entry_ftrace_event as funcgraph_entry, funcgraph_exit_ftrace_event as funcgraph_exit,
    gpu_power_state_ftrace_event as gpu_power_state, host_ffa_call_ftrace_event as host_ffa_call,
    host_hcall_ftrace_event as host_hcall, host_mem_abort_ftrace_event as host_mem_abort,
    host_smc_ftrace_event as host_smc, hrtimer_expire_entry_ftrace_event as hrtimer_expire_entry,
    hypervisor_iommu_idmap_complete_ftrace_event as iommu_idmap_complete,
    hypervisor_vcpu_illegal_trap_ftrace_event as vcpu_illegal_trap,
    iommu_idmap_ftrace_event as iommu_idmap, kfree_skb_ftrace_event as kfree_skb, kprobe_event,
    mali_gpu_power_state_ftrace_event as mali_gpu_power_state,
    mm_shrink_slab_end_ftrace_event as mm_shrink_slab_end,
    mm_shrink_slab_start_ftrace_event as mm_shrink_slab_start,
    mm_vmscan_direct_reclaim_begin_ftrace_event as mm_vmscan_direct_reclaim_begin,
    mm_vmscan_direct_reclaim_end_ftrace_event as mm_vmscan_direct_reclaim_end,
    mm_vmscan_memcg_reclaim_begin_ftrace_event as mm_vmscan_memcg_reclaim_begin,
    mm_vmscan_memcg_reclaim_end_ftrace_event as mm_vmscan_memcg_reclaim_end,
    napi_gro_receive_entry_ftrace_event as napi_gro_receive_entry,
    napi_gro_receive_exit_ftrace_event as napi_gro_receive_exit,
    net_dev_xmit_ftrace_event as net_dev_xmit, netif_receive_skb_ftrace_event as netif_receive_skb,
    psci_mem_protect_ftrace_event as psci_mem_protect, rpm_status_ftrace_event as rpm_status,
    sched_cpu_util_cfs_ftrace_event as sched_cpu_util_cfs,
    scm_call_start_ftrace_event as scm_call_start,
    suspend_resume_minimal_ftrace_event as suspend_resume_minimal,
    tcp_retransmit_skb_ftrace_event as tcp_retransmit_skb,
    ufshcd_clk_gating_ftrace_event as ufshcd_clk_gating,
    ufshcd_command_ftrace_event as ufshcd_command,
    workqueue_execute_start_ftrace_event as workqueue_execute_start,
};

use super::entry::{
    Argument, Entry, Pattern, Scope, Target, Track, Value, When, begin, boolean, count, each, end,
    instant, int, mark, sum, text, turn, uint,
};
use super::kernel_event::KernelEvent;

use Value::{
    Calculated, Cpu, Fixed, Hex, I32, I64, Key, Lit, Mapped, Minus, Symbol, Text, Tid, U32, U64,
    Word, Written,
};
use When::{Is, IsNot};

const DIRECT_RECLAIM: Pattern = &[Lit("mm_vmscan_direct_reclaim")];
const MEMCG_RECLAIM: Pattern = &[Lit("mm_vmscan_memcg_reclaim")];
const RECEIVED: Track =
    Track::counter("net_receive", &[Text(netif_receive_skb::NAME), Lit(" Received KB")])
        .by(&[("network_interface", Text(netif_receive_skb::NAME))]);
const TRANSMITTED: Track =
    Track::counter("net_transmit", &[Text(net_dev_xmit::NAME), Lit(" Transmitted KB")])
        .by(&[("network_interface", Text(net_dev_xmit::NAME))]);
const SKB_FREED: Track = Track::counter("net_kfree_skb", &[Lit("Kfree Skb IP Prot")]);
const VBLANK: Target = Target::Track(
    Track::new("drm_vblank", &[Lit("vblank-"), I32(drm_vblank_event::CRTC)])
        .by(&[("drm_crtc", I32(drm_vblank_event::CRTC))]),
);
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
const CPU_HOTPLUG: Target = Target::Track(
    Track::new("cpu_hotplug", &[Lit("CPU Hotplug "), U32(cpuhp_exit::CPU)])
        .of(Scope::Cpu(U32(cpuhp_exit::CPU))),
);
const HOTPLUG_STEP: Pattern = &[Lit("cpuhp("), I32(cpuhp_multi_enter::IDX), Lit(")")];
const RUNTIME_POWER: Target =
    Target::Track(Track::counter("linux_rpm", &[]).by(&[("linux_device", Text(rpm_status::NAME))]));
const THROTTLE: Track = Track::counter("cpu_frequency_throttle", &[Lit("cpufreq_throttle")])
    .of(Scope::Cpu(U32(dcvsh_freq::CPU)));
const BATTERY_LIMIT: Track = Track::counter("bcl_irq", &[Key]).by(&[("bcl_key", Key)]);
const FASTRPC: Track = Track::counter("fastrpc", &[Lit("mem.fastrpc["), FASTRPC_NAME, Lit("]")])
    .by(&[("cid", I32(fastrpc_dma_stat::CID))]);
const FASTRPC_CHANGE: Track =
    Track::counter("fastrpc_change", &[Lit("mem.fastrpc_change["), FASTRPC_NAME, Lit("]")])
        .of(Scope::Thread)
        .by(&[("cid", I32(fastrpc_dma_stat::CID))]);
const FASTRPC_NAME: Value = Written(|here, out| match here.u32(fastrpc_dma_stat::CID) {
    0 => out.push_str("ASDP"),
    1 => out.push_str("MDSP"),
    2 => out.push_str("SDSP"),
    3 => out.push_str("CDSP"),
    other => out.push_str(&other.to_string()),
});
const SENSOR_HUB: Track = Track::counter(
    "cros_ec_sensorhub_data",
    &[Lit("cros_ec.cros_ec_sensorhub_data."), U32(cros_ec_sensorhub_data::EC_SENSOR_NUM)],
)
.by(&[("ec_sensor_num", U32(cros_ec_sensorhub_data::EC_SENSOR_NUM))]);
const UFS_COMMANDS: Track = Track::counter("ufs_command_count", &[Lit("io.ufs.command.count")]);
const UFS_TAG: Target = Target::Track(
    Track::new("ufs_command_tag", &[UFS_TAG_NAME]).by(&[("ufs_tag", U32(ufshcd_command::TAG))]),
);
const UFS_TAG_NAME: Value = Written(|here, out| {
    out.push_str(&format!("io.ufs.command.tag[{:03}]", here.u32(ufshcd_command::TAG)));
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
const FS_DEVICE_9: Value = Written(|here, out| device(here.u64(f2fs_iostat::DEV), out));
const FS_DEVICE_10: Value = Written(|here, out| device(here.u64(f2fs_iostat_latency::DEV), out));
const DEVICE_FREQUENCY: Track = Track::counter("linux_device_frequency", &[DEVFREQ_NAME])
    .by(&[("linux_device", Text(devfreq_frequency::DEV_NAME))]);
const DEVFREQ_NAME: Value = Written(|here, out| {
    const PREFIX: &str = "devfreq_";
    let name = here.text(devfreq_frequency::DEV_NAME).unwrap_or_default();
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
const BLOCK_IO: Target = Target::Track(
    Track::counter("block_io", &[]).by(&[("block_device", U64(block_io_start::DEV))]),
);
const HRTIMER: Target =
    Target::Track(Track::new("cpu_hrtimer", &[Lit("Hrtimer Cpu "), Cpu]).of(Scope::Cpu(Cpu)));
const IRQ: Target =
    Target::Track(Track::new("cpu_irq", &[Lit("Irq Cpu "), Cpu]).of(Scope::Cpu(Cpu)));
const GPU_POWER: Target =
    Target::Track(Track::new("powervr_gpu_power_state", &[Lit("powervr_gpu_power_state")]));
const MALI_POWER: Track = Track::counter("mali_gpu_power_state", &[Lit("mali_gpu_power_state")]);
const UTILIZATION: Track =
    Track::counter("cpu_utilization", &[Lit("Cpu "), U32(sched_cpu_util_cfs::CPU), Lit(" Util")])
        .of(Scope::Cpu(U32(sched_cpu_util_cfs::CPU)));
const CAPACITY: Track =
    Track::counter("cpu_capacity", &[Lit("Cpu "), U32(sched_cpu_util_cfs::CPU), Lit(" Cap")])
        .of(Scope::Cpu(U32(sched_cpu_util_cfs::CPU)));
const RUNNING: Track = Track::counter(
    "cpu_nr_running",
    &[Lit("Cpu "), U32(sched_cpu_util_cfs::CPU), Lit(" Nr Running")],
)
.of(Scope::Cpu(U32(sched_cpu_util_cfs::CPU)));

const HYPERVISOR: Target = Target::Track(
    Track::new("pkvm_hypervisor", &[Lit("pkvm Hypervisor CPU "), Cpu]).of(Scope::Cpu(Cpu)),
);
const HYP: Pattern = &[Lit("hyp")];
const HYP_CATEGORY: &str = "pkvm_hyp";

/// A reason why the hypervisor was entered (rule RT13): an argument of its open slice.
const fn entered(event: u32, args: &'static [Argument]) -> Entry {
    mark(event, HYPERVISOR, HYP).in_category(HYP_CATEGORY).with(args)
}

const HYP_HCALL: &[Argument] = &[
    text("hyp_enter_reason", Lit("host_hcall")),
    uint("id", U32(host_hcall::ID)),
    uint("invalid", U32(host_hcall::INVALID)),
];
const HYP_SMC: &[Argument] = &[
    text("hyp_enter_reason", Lit("host_smc")),
    uint("id", U64(host_smc::ID)),
    uint("forwarded", U32(host_smc::FORWARDED)),
];
const HYP_MEM_ABORT: &[Argument] = &[
    text("hyp_enter_reason", Lit("host_mem_abort")),
    uint("esr", U64(host_mem_abort::ESR)),
    uint("addr", U64(host_mem_abort::ADDR)),
];
const HYP_IOMMU_IDMAP: &[Argument] = &[
    text("hyp_enter_reason", Lit("iommu_idmap")),
    uint("from", U64(iommu_idmap::FROM)),
    uint("to", U64(iommu_idmap::TO)),
    int("prot", I32(iommu_idmap::PROT)),
];
const HYP_MEM_PROTECT: &[Argument] = &[
    text("hyp_enter_reason", Lit("psci_mem_protect")),
    uint("count", U64(psci_mem_protect::COUNT)),
    uint("was", U64(psci_mem_protect::WAS)),
];

/// The table (rules KE, RT13).
pub(super) const TABLE: &[Entry] = &[
    begin(event::MM_VMSCAN_DIRECT_RECLAIM_BEGIN, Target::Thread, DIRECT_RECLAIM).with(&[
        int("direct_reclaim_order", I32(mm_vmscan_direct_reclaim_begin::ORDER)),
        int("direct_reclaim_may_writepage", I32(mm_vmscan_direct_reclaim_begin::MAY_WRITEPAGE)),
        uint("direct_reclaim_gfp_flags", U32(mm_vmscan_direct_reclaim_begin::GFP_FLAGS)),
    ]),
    end(event::MM_VMSCAN_DIRECT_RECLAIM_END, Target::Thread).with(&[uint(
        "direct_reclaim_nr_reclaimed",
        U64(mm_vmscan_direct_reclaim_end::NR_RECLAIMED),
    )]),
    begin(event::HYP_ENTER, HYPERVISOR, HYP).in_category(HYP_CATEGORY),
    begin(event::HYPERVISOR_HYP_ENTER, HYPERVISOR, HYP).in_category(HYP_CATEGORY),
    end(event::HYP_EXIT, HYPERVISOR),
    end(event::HYPERVISOR_HYP_EXIT, HYPERVISOR),
    entered(event::HOST_HCALL, HYP_HCALL),
    entered(event::HYPERVISOR_HOST_HCALL, HYP_HCALL),
    entered(event::HOST_SMC, HYP_SMC),
    entered(event::HYPERVISOR_HOST_SMC, HYP_SMC),
    entered(event::HOST_MEM_ABORT, HYP_MEM_ABORT),
    entered(event::HYPERVISOR_HOST_MEM_ABORT, HYP_MEM_ABORT),
    entered(event::IOMMU_IDMAP, HYP_IOMMU_IDMAP),
    entered(event::HYPERVISOR_IOMMU_IDMAP, HYP_IOMMU_IDMAP),
    entered(event::PSCI_MEM_PROTECT, HYP_MEM_PROTECT),
    entered(event::HYPERVISOR_PSCI_MEM_PROTECT, HYP_MEM_PROTECT),
    entered(
        event::HOST_FFA_CALL,
        &[
            text("hyp_enter_reason", Lit("host_ffa_call")),
            uint("func_id", U64(host_ffa_call::FUNC_ID)),
            int("handled", I32(host_ffa_call::HANDLED)),
            int("err", I32(host_ffa_call::ERR)),
        ],
    ),
    entered(
        event::HYPERVISOR_IOMMU_IDMAP_COMPLETE,
        &[
            text("hyp_enter_reason", Lit("iommu_idmap_complete")),
            boolean("map", U32(iommu_idmap_complete::MAP)),
        ],
    ),
    entered(
        event::HYPERVISOR_VCPU_ILLEGAL_TRAP,
        &[
            text("hyp_enter_reason", Lit("vcpu_illegal_trap")),
            uint("esr", U64(vcpu_illegal_trap::ESR)),
        ],
    ),
    end(event::WORKQUEUE_EXECUTE_END, Target::Thread).in_category("workqueue"),
    begin(
        event::WORKQUEUE_EXECUTE_START,
        Target::Thread,
        &[Symbol(workqueue_execute_start::FUNCTION)],
    )
    .in_category("workqueue")
    .with(&[int("cpu", Cpu)]),
    turn(event::F2FS_WRITE_CHECKPOINT, FS_CHECKPOINT, &[Lit("F2fs Write Checkpoint")])
        .when(Is(U32(f2fs_write_checkpoint::PHASE), 0))
        .with(&[
            uint("dev", U64(f2fs_write_checkpoint::DEV)),
            int("reason_int", I32(f2fs_write_checkpoint::REASON)),
            FS_REASON,
        ]),
    end(event::F2FS_WRITE_CHECKPOINT, FS_CHECKPOINT).when(Is(U32(f2fs_write_checkpoint::PHASE), 2)),
    begin(event::SCM_CALL_START, Target::Thread, &[Lit("scm id="), Hex(scm_call_start::X0)]),
    end(event::SCM_CALL_END, Target::Thread),
    end(event::CPUHP_EXIT, CPU_HOTPLUG),
    begin(event::CPUHP_MULTI_ENTER, CPU_HOTPLUG, HOTPLUG_STEP)
        .in_category("cpu")
        .with(HOTPLUG_ARGS),
    begin(event::CPUHP_ENTER, CPU_HOTPLUG, HOTPLUG_STEP).in_category("cpu").with(HOTPLUG_ARGS),
    count(event::FASTRPC_DMA_STAT, FASTRPC, U64(fastrpc_dma_stat::TOTAL_ALLOCATED)),
    count(event::FASTRPC_DMA_STAT, FASTRPC_CHANGE, I64(fastrpc_dma_stat::LEN)),
    sum(event::NETIF_RECEIVE_SKB, RECEIVED, U32(netif_receive_skb::LEN), 1024).with(PACKET),
    sum(event::NET_DEV_XMIT, TRANSMITTED, U32(net_dev_xmit::LEN), 1024)
        .when(Is(I32(net_dev_xmit::RC), 0))
        .with(PACKET),
    instant(
        event::TCP_RETRANSMIT_SKB,
        RETRANSMIT,
        &[
            Lit("sport="),
            U32(tcp_retransmit_skb::SPORT),
            Lit(",dport="),
            U32(tcp_retransmit_skb::DPORT),
        ],
    )
    .in_category("tcp_event"),
    count(
        event::CROS_EC_SENSORHUB_DATA,
        SENSOR_HUB,
        Minus(cros_ec_sensorhub_data::CURRENT_TIME, cros_ec_sensorhub_data::CURRENT_TIMESTAMP),
    )
    .with(&[
        int("ec_num", U32(cros_ec_sensorhub_data::EC_SENSOR_NUM)),
        int(
            "ec_delta",
            Minus(
                cros_ec_sensorhub_data::FIFO_TIMESTAMP,
                cros_ec_sensorhub_data::CURRENT_TIMESTAMP,
            ),
        ),
        int("sample_ts", I64(cros_ec_sensorhub_data::CURRENT_TIMESTAMP)),
    ]),
    begin(event::NAPI_GRO_RECEIVE_ENTRY, GRO, &[Text(napi_gro_receive_entry::NAME)])
        .in_category("napi_gro")
        .with(&[int("len", U32(napi_gro_receive_entry::LEN))]),
    end(event::NAPI_GRO_RECEIVE_EXIT, GRO)
        .in_category("napi_gro")
        .with(&[int("ret", I32(napi_gro_receive_exit::RET))]),
    sum(event::KFREE_SKB, SKB_FREED, Fixed(1), 1)
        .when(Is(U32(kfree_skb::PROTOCOL), 0x800))
        .with(&[text("protocol", Lit("IP"))]),
    sum(event::KFREE_SKB, SKB_FREED, Fixed(1), 1)
        .when(Is(U32(kfree_skb::PROTOCOL), 0x86dd))
        .with(&[text("protocol", Lit("IPV6"))]),
    count(event::UFSHCD_COMMAND, UFS_COMMANDS, Calculated(ufs_commands)),
    begin(event::UFSHCD_COMMAND, UFS_TAG, &[Written(ufs_operation)])
        .when(Is(U32(ufshcd_command::STR_T), 0)),
    end(event::UFSHCD_COMMAND, UFS_TAG).when(IsNot(U32(ufshcd_command::STR_T), 0)),
    count(
        event::UFSHCD_CLK_GATING,
        UFS_CLOCK,
        Mapped(ufshcd_clk_gating::STATE, &[(1, 3), (2, 1), (3, 2)], 0),
    ),
    instant(event::DRM_VBLANK_EVENT, VBLANK, &[Lit("signal")])
        .with(&[uint("vblank seqno", U32(drm_vblank_event::SEQ))]),
    instant(event::DRM_VBLANK_EVENT_DELIVERED, VBLANK, &[Lit("deliver")])
        .with(&[uint("vblank seqno", U32(drm_vblank_event_delivered::SEQ))]),
    begin(event::DMA_FENCE_WAIT_START, Target::Thread, &[Lit("dma_fence_wait")]).with(&[
        uint("fence context", U32(dma_fence_wait_start::CONTEXT)),
        uint("fence seqno", U32(dma_fence_wait_start::SEQNO)),
    ]),
    end(event::DMA_FENCE_WAIT_END, Target::Thread),
    each(event::F2FS_IOSTAT, FS_IOSTAT, FS_IOSTAT_FIELDS),
    each(event::F2FS_IOSTAT_LATENCY, FS_LATENCY, FS_LATENCY_FIELDS),
    count(event::SCHED_CPU_UTIL_CFS, UTILIZATION, U64(sched_cpu_util_cfs::CPU_UTIL)),
    count(event::SCHED_CPU_UTIL_CFS, CAPACITY, U64(sched_cpu_util_cfs::CAPACITY)),
    count(event::SCHED_CPU_UTIL_CFS, RUNNING, U32(sched_cpu_util_cfs::NR_RUNNING)),
    begin(event::FUNCGRAPH_ENTRY, FUNCTIONS_OF_THREAD, &[Symbol(funcgraph_entry::FUNC)])
        .when(IsNot(Tid, 0)),
    begin(event::FUNCGRAPH_ENTRY, FUNCTIONS_OF_CPU, &[Symbol(funcgraph_entry::FUNC)])
        .when(Is(Tid, 0)),
    end(event::FUNCGRAPH_EXIT, FUNCTIONS_OF_THREAD)
        .named(&[Symbol(funcgraph_exit::FUNC)])
        .when(IsNot(Tid, 0)),
    end(event::FUNCGRAPH_EXIT, FUNCTIONS_OF_CPU)
        .named(&[Symbol(funcgraph_exit::FUNC)])
        .when(Is(Tid, 0)),
    begin(event::MM_SHRINK_SLAB_START, Target::Thread, &[Lit("mm_vmscan_shrink_slab")]).with(&[
        text("shrink_name", Symbol(mm_shrink_slab_start::SHRINK)),
        uint("total_scan", U64(mm_shrink_slab_start::TOTAL_SCAN)),
        int("priority", I32(mm_shrink_slab_start::PRIORITY)),
    ]),
    end(event::MM_SHRINK_SLAB_END, Target::Thread)
        .with(&[int("freed", I32(mm_shrink_slab_end::RETVAL))]),
    begin(event::SUSPEND_RESUME_MINIMAL, MINIMAL, &[Lit("Suspended")])
        .when(IsNot(U32(suspend_resume_minimal::START), 0)),
    end(event::SUSPEND_RESUME_MINIMAL, MINIMAL).when(Is(U32(suspend_resume_minimal::START), 0)),
    turn(
        event::RPM_STATUS,
        RUNTIME_POWER,
        &[Word(rpm_status::STATUS, RUNTIME_STATES, "Invalid State")],
    )
    .when(IsNot(I32(rpm_status::STATUS), 2)),
    end(event::RPM_STATUS, RUNTIME_POWER).when(Is(I32(rpm_status::STATUS), 2)),
    count(event::DCVSH_FREQ, THROTTLE, U64(dcvsh_freq::FREQ)),
    each(event::BCL_IRQ_TRIGGER, BATTERY_LIMIT, BATTERY_LIMITS)
        .when(IsNot(I32(bcl_irq_trigger::THROTTLE), 0)),
    each(event::BCL_IRQ_TRIGGER, BATTERY_LIMIT, BATTERY_UNLIMITED)
        .when(Is(I32(bcl_irq_trigger::THROTTLE), 0)),
    count(event::DEVFREQ_FREQUENCY, DEVICE_FREQUENCY, U64(devfreq_frequency::FREQ)),
    begin(event::KPROBE_EVENT, Target::Thread, &[Text(kprobe_event::NAME)])
        .when(Is(I32(kprobe_event::TYPE), 1)),
    end(event::KPROBE_EVENT, Target::Thread)
        .named(&[Text(kprobe_event::NAME)])
        .when(Is(I32(kprobe_event::TYPE), 2)),
    instant(event::KPROBE_EVENT, Target::Thread, &[Text(kprobe_event::NAME)])
        .when(Is(I32(kprobe_event::TYPE), 3)),
    begin(event::BLOCK_IO_START, BLOCK_IO, &[Lit("block_io")])
        .with(&[uint("sector", U64(block_io_start::SECTOR))]),
    end(event::BLOCK_IO_DONE, BLOCK_IO).with(&[uint("sector", U64(block_io_done::SECTOR))]),
    count(event::MALI_GPU_POWER_STATE, MALI_POWER, I32(mali_gpu_power_state::TO_STATE)),
    begin(event::HRTIMER_EXPIRE_ENTRY, HRTIMER, &[Symbol(hrtimer_expire_entry::FUNCTION)])
        .in_category("hrtimer"),
    end(event::HRTIMER_EXPIRE_EXIT, HRTIMER).in_category("hrtimer"),
    begin(event::LOCAL_TIMER_ENTRY, IRQ, &[Lit("IRQ (LocalTimer)")]).in_category("irq"),
    end(event::LOCAL_TIMER_EXIT, IRQ).in_category("irq"),
    turn(
        event::GPU_POWER_STATE,
        GPU_POWER,
        &[Word(gpu_power_state::NEW_STATE, &["OFF", "PG", "ON"], "Unknown")],
    ),
    begin(event::MM_VMSCAN_MEMCG_RECLAIM_BEGIN, Target::Thread, MEMCG_RECLAIM).with(&[
        int("memcg_reclaim_order", I32(mm_vmscan_memcg_reclaim_begin::ORDER)),
        int("memcg_reclaim_may_writepage", I32(mm_vmscan_memcg_reclaim_begin::MAY_WRITEPAGE)),
        uint("memcg_reclaim_gfp_flags", U64(mm_vmscan_memcg_reclaim_begin::GFP_FLAGS)),
    ]),
    end(event::MM_VMSCAN_MEMCG_RECLAIM_END, Target::Thread).with(&[uint(
        "memcg_reclaim_nr_reclaimed",
        U64(mm_vmscan_memcg_reclaim_end::NR_RECLAIMED),
    )]),
];

const PACKET: &[super::entry::Argument] =
    &[uint("cpu", Cpu), uint("len", U32(netif_receive_skb::LEN))];
const HOTPLUG_ARGS: &[super::entry::Argument] =
    &[uint("action_cpu", Cpu), int("cpuhp_idx", I32(cpuhp_multi_enter::IDX))];
const FS_REASON: super::entry::Argument = super::entry::Argument::Bits {
    list: "reason_str",
    field: f2fs_write_checkpoint::REASON,
    words: FS_REASONS,
    none: "Unknown",
};
/// State 2 is a sleeping device, which has no slice.
const RUNTIME_STATES: &[&str] = &["Active", "Resuming", "Suspended", "Suspending"];
const BATTERY_LIMITS: &[(&str, Value)] = &[
    ("bcl_irq_id", I32(bcl_irq_trigger::ID)),
    ("bcl_irq_throttle", I32(bcl_irq_trigger::THROTTLE)),
    ("bcl_irq_cpu0", I32(bcl_irq_trigger::CPU0_LIMIT)),
    ("bcl_irq_cpu1", I32(bcl_irq_trigger::CPU1_LIMIT)),
    ("bcl_irq_cpu2", I32(bcl_irq_trigger::CPU2_LIMIT)),
    ("bcl_irq_tpu", I32(bcl_irq_trigger::TPU_LIMIT)),
    ("bcl_irq_gpu", I32(bcl_irq_trigger::GPU_LIMIT)),
    ("bcl_irq_voltage", I32(bcl_irq_trigger::VOLTAGE)),
    ("bcl_irq_capacity", I32(bcl_irq_trigger::CAPACITY)),
];
const BATTERY_UNLIMITED: &[(&str, Value)] = &[
    ("bcl_irq_id", Fixed(-1)),
    ("bcl_irq_throttle", Fixed(0)),
    ("bcl_irq_cpu0", Fixed(0)),
    ("bcl_irq_cpu1", Fixed(0)),
    ("bcl_irq_cpu2", Fixed(0)),
    ("bcl_irq_tpu", Fixed(0)),
    ("bcl_irq_gpu", Fixed(0)),
    ("bcl_irq_voltage", I32(bcl_irq_trigger::VOLTAGE)),
    ("bcl_irq_capacity", I32(bcl_irq_trigger::CAPACITY)),
];
const FS_IOSTAT_FIELDS: &[(&str, Value)] = &[
    ("write_app_total", U64(f2fs_iostat::APP_WIO)),
    ("write_app_direct", U64(f2fs_iostat::APP_DIO)),
    ("write_app_buffered", U64(f2fs_iostat::APP_BIO)),
    ("write_app_mapped", U64(f2fs_iostat::APP_MIO)),
    ("write_fs_data", U64(f2fs_iostat::FS_DIO)),
    ("write_fs_node", U64(f2fs_iostat::FS_NIO)),
    ("write_fs_meta", U64(f2fs_iostat::FS_MIO)),
    ("write_gc_data", U64(f2fs_iostat::FS_GC_DIO)),
    ("write_gc_node", U64(f2fs_iostat::FS_GC_NIO)),
    ("write_cp_data", U64(f2fs_iostat::FS_CP_DIO)),
    ("write_cp_node", U64(f2fs_iostat::FS_CP_NIO)),
    ("write_cp_meta", U64(f2fs_iostat::FS_CP_MIO)),
    ("read_app_total", U64(f2fs_iostat::APP_RIO)),
    ("read_app_direct", U64(f2fs_iostat::APP_DRIO)),
    ("read_app_buffered", U64(f2fs_iostat::APP_BRIO)),
    ("read_app_mapped", U64(f2fs_iostat::APP_MRIO)),
    ("read_fs_data", U64(f2fs_iostat::FS_DRIO)),
    ("read_fs_gdata", U64(f2fs_iostat::FS_GDRIO)),
    ("read_fs_cdata", U64(f2fs_iostat::FS_CDRIO)),
    ("read_fs_node", U64(f2fs_iostat::FS_NRIO)),
    ("read_fs_meta", U64(f2fs_iostat::FS_MRIO)),
    ("other_fs_discard", U64(f2fs_iostat::FS_DISCARD)),
];
const FS_LATENCY_FIELDS: &[(&str, Value)] = &[
    ("read_data_avg", U32(f2fs_iostat_latency::D_RD_AVG)),
    ("read_data_cnt", U32(f2fs_iostat_latency::D_RD_CNT)),
    ("read_data_peak", U32(f2fs_iostat_latency::D_RD_PEAK)),
    ("read_node_avg", U32(f2fs_iostat_latency::N_RD_AVG)),
    ("read_node_cnt", U32(f2fs_iostat_latency::N_RD_CNT)),
    ("read_node_peak", U32(f2fs_iostat_latency::N_RD_PEAK)),
    ("read_meta_avg", U32(f2fs_iostat_latency::M_RD_AVG)),
    ("read_meta_cnt", U32(f2fs_iostat_latency::M_RD_CNT)),
    ("read_meta_peak", U32(f2fs_iostat_latency::M_RD_PEAK)),
    ("write_sync_data_avg", U32(f2fs_iostat_latency::D_WR_S_AVG)),
    ("write_sync_data_cnt", U32(f2fs_iostat_latency::D_WR_S_CNT)),
    ("write_sync_data_peak", U32(f2fs_iostat_latency::D_WR_S_PEAK)),
    ("write_sync_node_avg", U32(f2fs_iostat_latency::N_WR_S_AVG)),
    ("write_sync_node_cnt", U32(f2fs_iostat_latency::N_WR_S_CNT)),
    ("write_sync_node_peak", U32(f2fs_iostat_latency::N_WR_S_PEAK)),
    ("write_sync_meta_avg", U32(f2fs_iostat_latency::M_WR_S_AVG)),
    ("write_sync_meta_cnt", U32(f2fs_iostat_latency::M_WR_S_CNT)),
    ("write_sync_meta_peak", U32(f2fs_iostat_latency::M_WR_S_PEAK)),
    ("write_async_data_avg", U32(f2fs_iostat_latency::D_WR_AS_AVG)),
    ("write_async_data_cnt", U32(f2fs_iostat_latency::D_WR_AS_CNT)),
    ("write_async_data_peak", U32(f2fs_iostat_latency::D_WR_AS_PEAK)),
    ("write_async_node_avg", U32(f2fs_iostat_latency::N_WR_AS_AVG)),
    ("write_async_node_cnt", U32(f2fs_iostat_latency::N_WR_AS_CNT)),
    ("write_async_node_peak", U32(f2fs_iostat_latency::N_WR_AS_PEAK)),
    ("write_async_meta_avg", U32(f2fs_iostat_latency::M_WR_AS_AVG)),
    ("write_async_meta_cnt", U32(f2fs_iostat_latency::M_WR_AS_CNT)),
    ("write_async_meta_peak", U32(f2fs_iostat_latency::M_WR_AS_PEAK)),
];

/// A device by its numbers.
fn device(dev: u64, out: &mut String) {
    out.push_str(&format!("{}:{}", dev >> 8 & 0xff, dev & 0xff));
}

/// The number of commands that a UFS controller is working on.
fn ufs_commands(here: &KernelEvent<'_>) -> i64 {
    match (here.u32(ufshcd_command::DOORBELL).count_ones(), here.u32(ufshcd_command::STR_T)) {
        (0, 1) => 0,
        (0, _) => 1,
        (commands, _) => commands.into(),
    }
}

/// The name of a UFS command.
fn ufs_operation(here: &KernelEvent<'_>, out: &mut String) {
    let opcode = here.u32(ufshcd_command::OPCODE);
    let known = UFS_OPERATIONS.iter().find(|(number, _)| *number == opcode);
    out.push_str(known.map_or("UNDEFINED", |(_, name)| name));
    let group = here.u32(ufshcd_command::GROUP_ID);
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
