//! All readers, by the types of their packets.

use timebase_schema::Table;
use timebase_schema::fields::{
    android_energy_estimation_breakdown as breakdown, entity_state_residency, gpu_counter_event,
    gpu_render_stage_event, power_rails, vulkan_api_event,
};
use timebase_trace::Kept;
use timebase_trace::wire::packet::{Header, PacketType};

use super::android_log::AndroidLog;
use super::clock_snapshot::Snapshots;
use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::descriptors::{ThreadDescriptors, TrackDescriptors};
use super::energy::{EnergyBreakdowns, EntityStates};
use super::extension_descriptor::Extensions;
use super::ftrace::Ftrace;
use super::ftrace_stats::FtraceStats;
use super::gpu_counter_event::GpuCounterEvents;
use super::observed::{FrameEvents, Observed, ProcessTrees, RenderStages, SystemProperties};
use super::once::{CpuInfos, ServiceEvents, SystemInfos};
use super::packet::PlacedPacket;
use super::power_rails::PowerRails;
use super::profiles::{HeapProfiles, Profiled, StreamingProfiles};
use super::reader::Reader;
use super::records::{
    BenchmarkMetadata, ChromeMetadata, Ordered, RangesOfInterest, TraceAttributes, TraceUuids,
    Triggers, UiStates,
};
use super::remote_clock_sync::RemoteClockSyncs;
use super::retiming::{Retime, Retimed, Rewritten, Times};
use super::stated::Stated;
use super::trace_config::TraceConfigs;
use super::trace_stats::TraceStats;
use super::track_event::TrackEvents;
use super::translation_table::TranslationTables;
use super::vulkan_memory::VulkanMemoryEvents;
use super::windowing::Windowed::{self, *};
use super::winscope::{ProtologConfigs, Statements};
use crate::output::{Counter, Fault, Rows};
use crate::place::{CountsFor, SettledEvent, Snapshot};

/// A reader; `_` stands for the number of its packet type.
macro_rules! reader_type {
    ($reader:ident, $packet_type:ident) => {
        $reader
    };
    ($reader:ident, $packet_type:ident, $any:tt) => {
        $reader<{ PacketType::$packet_type.0 }>
    };
}

/// Declares the readers: the form of each parsed payload, its reader, its packet type, and what a window does
/// with it.
macro_rules! declare {
    ($($name:ident: $reader:ty = $packet_type:ident => $window:expr,)*) => {

        /// The readers with their state.
        #[derive(Debug, Default)]
        #[allow(non_snake_case)]
        pub(crate) struct Readers {
            $($name: $reader,)*
        }

        /// A payload that was parsed.
        // It is on the stack once for each packet; a box would be an allocation for each track event.
        #[allow(clippy::large_enum_variant)]
        pub(crate) enum Parsed<'a> {
            $($name(<$reader as Reader>::Payload<'a>),)*
            /// A payload without a reader.
            Unread,
        }

        impl<'a> Parsed<'a> {
            /// Parses the payload of a packet.
            #[inline]
            pub fn of(header: &Header<'a>) -> Result<Self, Corrupt> {
                match header.payload {
                    $(Some((PacketType::$packet_type, payload)) => {
                        <$reader as Reader>::parse(payload).map(Parsed::$name)
                    })*
                    _ => Ok(Parsed::Unread),
                }
            }

            /// The readings of clocks at one instant that the payload has.
            #[inline]
            pub fn snapshot(&self, header: &Header<'_>) -> Option<Snapshot> {
                match self {
                    $(Parsed::$name(payload) => <$reader as Reader>::snapshot(payload, header),)*
                    Parsed::Unread => None,
                }
            }

            /// The packets for which the packet's time counts as seen (rule O2).
            #[inline]
            pub fn counts_for(&self) -> CountsFor {
                match self {
                    $(Parsed::$name(_) => <$reader as Reader>::COUNTS_FOR,)*
                    Parsed::Unread => CountsFor::All,
                }
            }
        }

        impl Parsed<'_> {
            /// Rewrites the times inside the payload (rule RW5).
            pub fn retime(
                self,
                packet: &Retimed<'_>,
                to: &mut impl Retime,
                out: &mut Vec<u8>,
            ) -> Rewritten {
                match self {
                    $(Parsed::$name(payload) => match <$reader as Reader>::TIMES {
                        Times::OfPacket => Rewritten::Same,
                        Times::Inside | Times::References => {
                            <$reader as Reader>::retime(payload, packet, to, out)
                        }
                    },)*
                    Parsed::Unread => Rewritten::Same,
                }
            }
        }

        /// The effect of a window on the packets of a type; `None` if the type has no reader.
        pub(crate) fn windowed(packet_type: PacketType) -> Option<Windowed> {
            match packet_type {
                $(PacketType::$packet_type => Some($window),)*
                _ => None,
            }
        }

        #[cfg(test)]
        const WINDOWED: &[(&str, Windowed)] = &[$((stringify!($name), $window),)*];

        #[cfg(test)]
        const TIMES: &[(&str, Times)] = &[$((stringify!($name), <$reader as Reader>::TIMES),)*];

        impl Readers {
            /// The fields of `InternedData` that a reader looks up.
            pub fn interned() -> Vec<(u32, Kept)> {
                let mut fields = Vec::new();
                $(fields.extend_from_slice(<$reader as Reader>::INTERNED);)*
                fields
            }

            /// The large tables that are complete after the last packet, because only a reader fills them.
            pub fn own_tables() -> Vec<&'static Table> {
                let mut tables = Vec::new();
                $(tables.extend_from_slice(<$reader as Reader>::OWN_TABLES);)*
                tables
            }

            /// Reads a payload, unless all of its results are unwanted. Returns whether the packet counts as read.
            #[inline]
            pub fn read(
                &mut self,
                parsed: Parsed<'_>,
                packet: &PlacedPacket<'_>,
                context: &mut ImportContext, rows: &mut Rows<'_>,
            ) -> bool {
                match parsed {
                    $(Parsed::$name(payload) => {
                        if is_wanted::<$reader>(context, rows) {
                            self.$name.read(payload, packet, context, rows);
                        } else if <$reader as Reader>::converts(&payload, packet.header) {
                            context.place.clocks.attempted(packet.part);
                        }
                        <$reader as Reader>::IS_COUNTED
                    })*
                    Parsed::Unread => false,
                }
            }

            /// Gives the reader of an event's table the event that has waited.
            pub fn settled(&mut self, event: &SettledEvent<'_>, rows: &mut Rows<'_>) {
                let number = event.row.table.number;
                $(if <$reader as Reader>::TABLES.iter().any(|table| table.number == number) {
                    self.$name.settled(event, rows);
                })*
            }

            /// Ends all readers: there are no more packets, and nothing waits.
            pub fn end(&mut self, context: &mut ImportContext, rows: &mut Rows<'_>) {
                $(self.$name.end(context, rows);)*
            }
        }
    };
}

/// Gives readers of several packet types their type.
macro_rules! readers {
    ($($name:ident: $reader:ident $(<$any:tt>)? = $packet_type:ident => $window:expr,)*) => {
        declare! { $($name: reader_type!($reader, $packet_type $(, $any)?) = $packet_type => $window,)* }
    };
}

readers! {
    Ftrace: Ftrace = FTRACE_EVENTS => KernelEvents,
    ClockSnapshot: Snapshots = CLOCK_SNAPSHOT => Snapshot,
    AndroidLog: AndroidLog = ANDROID_LOG => LogLines,
    ExtensionDescriptor: Extensions = EXTENSION_DESCRIPTOR => Always,
    TraceUuid: TraceUuids = TRACE_UUID => Always,
    SystemInfo: SystemInfos = SYSTEM_INFO => Always,
    CpuInfo: CpuInfos = CPU_INFO => Always,
    ServiceEvent: ServiceEvents = SERVICE_EVENT => Always,
    FtraceStats: FtraceStats = FTRACE_STATS => Always,
    TraceConfig: TraceConfigs = TRACE_CONFIG => Always,
    TraceStats: TraceStats = TRACE_STATS => Always,
    TraceAttributes: TraceAttributes = TRACE_ATTRIBUTES => Always,
    Trigger: Triggers = TRIGGER => ByTime,
    CloneSnapshotTrigger: Ordered<_> = CLONE_SNAPSHOT_TRIGGER => ByTime,
    ChromeTrigger: Ordered<_> = CHROME_TRIGGER => ByTime,
    ChromeEvents: Ordered<_> = CHROME_EVENTS => ByTime,
    ChromeMetadata: ChromeMetadata = CHROME_METADATA => Always,
    ChromeBenchmarkMetadata: BenchmarkMetadata = CHROME_BENCHMARK_METADATA => Always,
    UiState: UiStates = UI_STATE => Always,
    TranslationTable: TranslationTables = TRANSLATION_TABLE => Always,
    RangeOfInterest: RangesOfInterest = TRACK_EVENT_RANGE_OF_INTEREST => Always,
    ProcessTree: ProcessTrees = PROCESS_TREE => ByTime,
    SysStats: Observed<_> = SYS_STATS => ByTime,
    ProcessStats: Observed<_> = PROCESS_STATS => ByTime,
    ProfilePacket: HeapProfiles = PROFILE_PACKET => HeapDumps,
    Battery: Observed<_> = BATTERY => ByTime,
    PowerRails: PowerRails = POWER_RAILS => Described(&[power_rails::RAIL_DESCRIPTOR, power_rails::SESSION_UUID]),
    ProcessDescriptor: Observed<_> = PROCESS_DESCRIPTOR => Always,
    TrackEvent: TrackEvents = TRACK_EVENT => TrackEvent,
    ThreadDescriptor: ThreadDescriptors = THREAD_DESCRIPTOR => Always,
    GpuCounterEvent: GpuCounterEvents = GPU_COUNTER_EVENT => Described(&[gpu_counter_event::COUNTER_DESCRIPTOR, gpu_counter_event::GPU_ID]),
    GpuRenderStageEvent: RenderStages = GPU_RENDER_STAGE_EVENT => Described(&[gpu_render_stage_event::SPECIFICATIONS, gpu_render_stage_event::GPU_ID]),
    StreamingProfile: StreamingProfiles = STREAMING_PROFILE_PACKET => StreamedSamples,
    TrackDescriptor: TrackDescriptors = TRACK_DESCRIPTOR => Always,
    ModuleSymbols: Profiled<_> = MODULE_SYMBOLS => Always,
    VulkanMemoryEvent: VulkanMemoryEvents = VULKAN_MEMORY_EVENT => ByTime,
    GpuLog: Observed<_> = GPU_LOG => ByTime,
    VulkanApiEvent: Observed<_> = VULKAN_API_EVENT => Described(&[vulkan_api_event::VK_DEBUG_UTILS_OBJECT_NAME]),
    HeapGraph: Profiled<_> = HEAP_GRAPH => ByTime,
    DeobfuscationMapping: Profiled<_> = DEOBFUSCATION_MAPPING => Always,
    PerfSample: Profiled<_> = PERF_SAMPLE => ByTime,
    SmapsPacket: Profiled<_> = SMAPS_PACKET => ByTime,
    InitialDisplayState: Observed<_> = INITIAL_DISPLAY_STATE => ByTime,
    GpuMemTotalEvent: Observed<_> = GPU_MEM_TOTAL_EVENT => ByTime,
    FrameTimelineEvent: FrameEvents = FRAME_TIMELINE_EVENT => ByTime,
    EnergyBreakdown: EnergyBreakdowns = ANDROID_ENERGY_ESTIMATION_BREAKDOWN => Described(&[breakdown::ENERGY_CONSUMER_DESCRIPTOR]),
    AndroidSystemProperty: SystemProperties = ANDROID_SYSTEM_PROPERTY => ByTime,
    EntityStateResidency: EntityStates = ENTITY_STATE_RESIDENCY => Described(&[entity_state_residency::POWER_ENTITY_STATE]),
    GenericTaskState: Observed<_> = GENERIC_KERNEL_TASK_STATE_EVENT => ByTime,
    GenericCpuFrequency: Observed<_> = GENERIC_KERNEL_CPU_FREQ_EVENT => ByTime,
    CpuPerUidData: Observed<_> = CPU_PER_UID_DATA => ByTime,
    GenericTaskRename: Observed<_> = GENERIC_KERNEL_TASK_RENAME_EVENT => ByTime,
    GenericProcessTree: Observed<_> = GENERIC_KERNEL_PROCESS_TREE => ByTime,
    GpuInfo: Observed<_> = GPU_INFO => Always,
    GenericGpuFrequency: Observed<_> = GENERIC_GPU_FREQUENCY_EVENT => ByTime,
    StackSample: Profiled<_> = STACK_SAMPLE => ByTime,
    RemoteClockSync: RemoteClockSyncs = REMOTE_CLOCK_SYNC => Always,
    PackagesList: Stated<_> = PACKAGES_LIST => Always,
    GameInterventions: Stated<_> = ANDROID_GAME_INTERVENTION_LIST => Always,
    UserList: Stated<_> = USER_LIST => Always,
    InterruptInfo: Stated<_> = INTERRUPT_INFO => Always,
    KernelWakelocks: Observed<_> = KERNEL_WAKELOCK_DATA => ByTime,
    AndroidAflags: Observed<_> = ANDROID_AFLAGS => ByTime,
    ArtProcessMetadata: Profiled<_> = ART_PROCESS_METADATA => ByTime,
    JournaldEvent: Observed<_> = JOURNALD_EVENT => ByTime,
    ConcurrentSession: Observed<_> = CONCURRENT_SESSION_EVENT => ByTime,
    WinscopeExtensions: Statements<_> = WINSCOPE_EXTENSIONS => ByTime,
    LayersSnapshot: Statements<_> = SURFACEFLINGER_LAYERS_SNAPSHOT => ByTime,
    SurfaceTransactions: Statements<_> = SURFACEFLINGER_TRANSACTIONS => ByTime,
    ShellTransition: Statements<_> = SHELL_TRANSITION => ByTime,
    ShellHandlers: Statements<_> = SHELL_HANDLER_MAPPINGS => ByTime,
    ProtologMessage: Statements<_> = PROTOLOG_MESSAGE => ByTime,
    ProtologConfig: ProtologConfigs = PROTOLOG_VIEWER_CONFIG => Always,
}

/// The recorder's counters that every machine of a file has, even if they count nothing.
pub(crate) fn counters_of_machines() -> impl Iterator<Item = &'static Counter> {
    let read = super::records::counters().chain(super::once::counters());
    let read = read.chain(super::trace_config::counters());
    let read = read.chain(crate::definitions::records::counters());
    let stated = super::trace_stats::counters().chain(super::ftrace_stats::counters());
    read.chain(stated).chain(crate::definitions::stated_counters())
}

/// The faults of readers for which every machine of a file has a counter, even without such faults
/// (rules ST, OT).
pub(crate) fn faults_of_machines() -> impl Iterator<Item = Fault> {
    let states = super::track_event::dropped::STATE_WITHOUT_UUID;
    [states, super::energy::DESCRIPTOR].into_iter()
}

/// Whether a reader makes something wanted: rows, or events for the trackers.
fn is_wanted<R: Reader>(context: &ImportContext, rows: &Rows<'_>) -> bool {
    R::TABLES.is_empty()
        || context.events.timeline.is_wanted()
        || R::TABLES.iter().any(|table| rows.wants(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rw5_readers_whose_payloads_have_times_are_known() {
        let inside = TIMES.iter().filter(|(_, times)| *times != Times::OfPacket);
        let inside: Vec<(&str, Times)> = inside.copied().collect();
        // To add a reader here, put its rewriting next to it, and a row into docs/rules/rewrite.md.
        assert_eq!(
            inside,
            [
                ("Ftrace", Times::Inside),
                ("AndroidLog", Times::Inside),
                ("ProfilePacket", Times::Inside),
                ("PowerRails", Times::Inside),
                ("TrackEvent", Times::Inside),
                ("ThreadDescriptor", Times::References),
                ("StreamingProfile", Times::Inside),
                ("TrackDescriptor", Times::References),
                ("VulkanMemoryEvent", Times::Inside),
            ]
        );
    }

    #[test]
    fn ct3_readers_whose_packets_are_not_only_kept_by_their_time_are_known() {
        let is_special = |(_, window): &&(&str, Windowed)| *window != ByTime;
        let special = WINDOWED.iter().filter(is_special).map(|(name, _)| *name);
        // To add a reader here, say in docs/rules/rewrite.md what a window does with its packets.
        assert_eq!(
            special.collect::<Vec<_>>().join(" "),
            "Ftrace ClockSnapshot AndroidLog ExtensionDescriptor TraceUuid SystemInfo CpuInfo ServiceEvent FtraceStats TraceConfig TraceStats TraceAttributes ChromeMetadata ChromeBenchmarkMetadata UiState TranslationTable RangeOfInterest ProfilePacket PowerRails ProcessDescriptor TrackEvent ThreadDescriptor GpuCounterEvent GpuRenderStageEvent StreamingProfile TrackDescriptor ModuleSymbols VulkanApiEvent DeobfuscationMapping EnergyBreakdown EntityStateResidency GpuInfo RemoteClockSync PackagesList GameInterventions UserList InterruptInfo ProtologConfig"
        );
    }
}
