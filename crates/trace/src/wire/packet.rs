//! The header of a `TracePacket`: the data for placing it in time.

use super::messages::packet_type;
use timebase_descriptor::field::{Fields, Malformed, Value};

/// `sequence_flags`: this packet clears the sequence's state (rule S2).
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `sequence_flags`: this packet needs that state (rule S4).
pub const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// The payload field of a packet, which is its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketType(pub u32);

impl PacketType {
    /// `ftrace_events`
    pub const FTRACE_EVENTS: PacketType = PacketType(1);
    /// `chrome_events`, one of the two of rule C6
    pub const CHROME_EVENTS: PacketType = PacketType(5);
    /// `clock_snapshot`
    pub const CLOCK_SNAPSHOT: PacketType = PacketType(6);
    /// `android_log` (rule I2)
    pub const ANDROID_LOG: PacketType = PacketType(39);
    /// `compressed_packets`: a zlib stream (rule F3)
    pub const COMPRESSED_PACKETS: PacketType = PacketType(50);
    /// `chrome_metadata`, one of the two of rule C6
    pub const CHROME_METADATA: PacketType = PacketType(51);
    /// `service_event` (rule C6)
    pub const SERVICE_EVENT: PacketType = PacketType(69);
    /// `extension_descriptor`: a part of the schema that the trace contains
    pub const EXTENSION_DESCRIPTOR: PacketType = PacketType(72);
    /// `trace_uuid`
    pub const TRACE_UUID: PacketType = PacketType(89);
    /// `zstd_compressed_packets`: a zstd stream (rule F3)
    pub const ZSTD_COMPRESSED_PACKETS: PacketType = PacketType(133);
    /// `process_tree`
    pub const PROCESS_TREE: PacketType = PacketType(2);
    /// `sys_stats`
    pub const SYS_STATS: PacketType = PacketType(7);
    /// `process_stats`
    pub const PROCESS_STATS: PacketType = PacketType(9);
    /// `trace_config`
    pub const TRACE_CONFIG: PacketType = PacketType(33);
    /// `ftrace_stats`
    pub const FTRACE_STATS: PacketType = PacketType(34);
    /// `trace_stats`
    pub const TRACE_STATS: PacketType = PacketType(35);
    /// `synchronization_marker`
    pub const SYNCHRONIZATION_MARKER: PacketType = PacketType(36);
    /// `remote_clock_sync`
    pub const REMOTE_CLOCK_SYNC: PacketType = PacketType(107);
    /// `battery`
    pub const BATTERY: PacketType = PacketType(38);
    /// `power_rails`
    pub const POWER_RAILS: PacketType = PacketType(40);
    /// `track_event`
    pub const TRACK_EVENT: PacketType = PacketType(11);
    /// `process_descriptor`
    pub const PROCESS_DESCRIPTOR: PacketType = PacketType(43);
    /// `thread_descriptor`
    pub const THREAD_DESCRIPTOR: PacketType = PacketType(44);
    /// `system_info`
    pub const SYSTEM_INFO: PacketType = PacketType(45);
    /// `gpu_counter_event`
    pub const GPU_COUNTER_EVENT: PacketType = PacketType(52);
    /// `gpu_render_stage_event`
    pub const GPU_RENDER_STAGE_EVENT: PacketType = PacketType(53);
    /// `vulkan_memory_event`
    pub const VULKAN_MEMORY_EVENT: PacketType = PacketType(62);
    /// `gpu_log`
    pub const GPU_LOG: PacketType = PacketType(63);
    /// `vulkan_api_event`
    pub const VULKAN_API_EVENT: PacketType = PacketType(65);
    /// `track_descriptor`
    pub const TRACK_DESCRIPTOR: PacketType = PacketType(60);
    /// `cpu_info`
    pub const CPU_INFO: PacketType = PacketType(67);
    /// `profile_packet`
    pub const PROFILE_PACKET: PacketType = PacketType(37);
    /// `streaming_profile_packet`
    pub const STREAMING_PROFILE_PACKET: PacketType = PacketType(54);
    /// `module_symbols`
    pub const MODULE_SYMBOLS: PacketType = PacketType(61);
    /// `perf_sample`
    pub const PERF_SAMPLE: PacketType = PacketType(66);
    /// `smaps_packet`
    pub const SMAPS_PACKET: PacketType = PacketType(68);
    /// `stack_sample`
    pub const STACK_SAMPLE: PacketType = PacketType(135);
    /// `frame_timeline_event`
    pub const FRAME_TIMELINE_EVENT: PacketType = PacketType(76);
    /// `android_energy_estimation_breakdown`
    pub const ANDROID_ENERGY_ESTIMATION_BREAKDOWN: PacketType = PacketType(77);
    /// `entity_state_residency`
    pub const ENTITY_STATE_RESIDENCY: PacketType = PacketType(91);
    /// `initial_display_state`
    pub const INITIAL_DISPLAY_STATE: PacketType = PacketType(70);
    /// `gpu_mem_total_event`
    pub const GPU_MEM_TOTAL_EVENT: PacketType = PacketType(71);
    /// `android_system_property`
    pub const ANDROID_SYSTEM_PROPERTY: PacketType = PacketType(86);
    /// `generic_kernel_task_state_event`
    pub const GENERIC_KERNEL_TASK_STATE_EVENT: PacketType = PacketType(117);
    /// `generic_kernel_cpu_freq_event`
    pub const GENERIC_KERNEL_CPU_FREQ_EVENT: PacketType = PacketType(118);
    /// `cpu_per_uid_data`
    pub const CPU_PER_UID_DATA: PacketType = PacketType(119);
    /// `generic_kernel_task_rename_event`
    pub const GENERIC_KERNEL_TASK_RENAME_EVENT: PacketType = PacketType(120);
    /// `generic_kernel_process_tree`
    pub const GENERIC_KERNEL_PROCESS_TREE: PacketType = PacketType(122);
    /// `gpu_info`
    pub const GPU_INFO: PacketType = PacketType(128);
    /// `trace_attributes`
    pub const TRACE_ATTRIBUTES: PacketType = PacketType(126);
    /// `trigger`
    pub const TRIGGER: PacketType = PacketType(46);
    /// `clone_snapshot_trigger`
    pub const CLONE_SNAPSHOT_TRIGGER: PacketType = PacketType(113);
    /// `chrome_trigger`
    pub const CHROME_TRIGGER: PacketType = PacketType(109);
    /// `chrome_benchmark_metadata`
    pub const CHROME_BENCHMARK_METADATA: PacketType = PacketType(48);
    /// `ui_state`
    pub const UI_STATE: PacketType = PacketType(78);
    /// `translation_table`
    pub const TRANSLATION_TABLE: PacketType = PacketType(82);
    /// `track_event_range_of_interest`
    pub const TRACK_EVENT_RANGE_OF_INTEREST: PacketType = PacketType(90);
    /// `generic_gpu_frequency_event`
    pub const GENERIC_GPU_FREQUENCY_EVENT: PacketType = PacketType(129);

    /// Perfetto's name of the payload field; `None` for a field that is newer than our schema.
    ///
    /// ```
    /// use timebase_trace::wire::packet::PacketType;
    /// assert_eq!(PacketType(11).name(), Some("track_event"));
    /// assert_eq!(PacketType(777).name(), None);
    /// ```
    pub fn name(self) -> Option<&'static str> {
        packet_type(self.0)
    }
}

/// The header of one packet. It borrows the messages inside the packet, and
/// leaves them undecoded.
///
/// Fields that a packet does not set have protobuf's default; they are `None` if absence has its
/// own meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// In the unit of the packet's clock.
    pub timestamp: Option<u64>,
    /// 0 if the packet names no clock (rule C4).
    pub timestamp_clock_id: u32,
    /// 0 if none, see [`Header::has_sequence`].
    pub trusted_packet_sequence_id: u32,
    /// Whether the packet names a sequence, which may be number 0.
    pub has_sequence: bool,
    /// See [`INCREMENTAL_STATE_CLEARED`] and [`NEEDS_INCREMENTAL_STATE`].
    pub sequence_flags: u32,
    /// Not 0 if the sequence lost data before this packet (rule S3): a bit for each cause that the
    /// recorder knows.
    pub previous_packet_dropped: u32,
    /// Whether the recorder says that the sequence starts here.
    pub first_packet_on_sequence: bool,
    /// 0 for the host.
    pub machine_id: u32,
    /// The user of the writer.
    pub trusted_uid: Option<i32>,
    /// The process of the writer.
    pub trusted_pid: Option<i32>,
    /// A serialized `TracePacketDefaults` (rule S1).
    pub trace_packet_defaults: Option<&'a [u8]>,
    /// A serialized `InternedData`: later packets of the sequence refer to it by number.
    pub interned_data: Option<&'a [u8]>,
    /// The payload: its field, and its bytes if it is a message.
    pub payload: Option<(PacketType, &'a [u8])>,
    /// Whether a payload of our schema is no message. Real packets have no such payload, but bytes
    /// that were mistaken for a packet may (rule Z3).
    pub is_odd: bool,
}

impl<'a> Header<'a> {
    /// Reads the header from a serialized packet.
    ///
    /// As in protobuf, the last of repeated single fields counts, and a known field with an
    /// unexpected wire type is an unknown one. A payload field of our schema has priority over
    /// unknown fields.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the bytes are no protobuf message. Such a packet is kept, with the type
    /// `corrupt` (rule F7).
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let mut header = Header::default();
        let mut unknown: Option<(PacketType, &'a [u8])> = None;
        let mut fields = Fields::new(packet);
        while let Some((number, value)) = fields.next()? {
            // As in protobuf, uint32 and int32 fields take the low 32 bits.
            match (number, value) {
                (8, Value::Varint(v)) => header.timestamp = Some(v),
                (58, Value::Varint(v)) => header.timestamp_clock_id = v as u32,
                (10, Value::Varint(v)) => {
                    header.trusted_packet_sequence_id = v as u32;
                    header.has_sequence = true;
                }
                (13, Value::Varint(v)) => header.sequence_flags |= v as u32,
                (41, Value::Varint(v)) if v != 0 => {
                    header.sequence_flags |= INCREMENTAL_STATE_CLEARED;
                }
                (42, Value::Varint(v)) => header.previous_packet_dropped = v as u32,
                (87, Value::Varint(v)) => header.first_packet_on_sequence = v != 0,
                (98, Value::Varint(v)) => header.machine_id = v as u32,
                (3, Value::Varint(v)) => header.trusted_uid = Some(v as i32),
                (79, Value::Varint(v)) => header.trusted_pid = Some(v as i32),
                (59, Value::Bytes(v)) => header.trace_packet_defaults = Some(v),
                (12, Value::Bytes(v)) => header.interned_data = Some(v),
                (12 | 41, _) => {}
                (number, value) => {
                    let packet_type = PacketType(number);
                    let (bytes, is_message) = match value {
                        Value::Bytes(bytes) => (bytes, true),
                        _ => (&[][..], false),
                    };
                    if packet_type.name().is_some() {
                        header.payload = Some((packet_type, bytes));
                        header.is_odd |= !is_message;
                    } else {
                        unknown.get_or_insert((packet_type, bytes));
                    }
                }
            }
        }
        header.payload = header.payload.or(unknown);
        Ok(header)
    }

    /// The type of the packet; `None` without a payload.
    pub fn packet_type(&self) -> Option<PacketType> {
        self.payload.map(|(packet_type, _)| packet_type)
    }

    /// Whether the packet clears the sequence's state, in the new or the old form (rule S2).
    pub fn clears_state(&self) -> bool {
        self.sequence_flags & INCREMENTAL_STATE_CLEARED != 0
    }

    /// Whether the packet needs the sequence's state (rule S4).
    pub fn needs_state(&self) -> bool {
        self.sequence_flags & NEEDS_INCREMENTAL_STATE != 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::proto::{TracePacket, TracePacketDefaults, trace_packet::Data};
    use prost::Message;

    #[test]
    fn reads_every_header_field() {
        let bytes = TracePacket {
            timestamp: Some(u64::MAX),
            timestamp_clock_id: Some(64),
            trusted_uid: Some(-1),
            trusted_packet_sequence_id: Some(7),
            trusted_pid: Some(42),
            sequence_flags: Some(2),
            incremental_state_cleared: Some(true),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(65),
            }),
            previous_packet_dropped: Some(4),
            first_packet_on_sequence: Some(true),
            machine_id: Some(3),
            interned_data: Some(vec![1]),
            data: Some(Data::AndroidLog(vec![8, 1])),
        }
        .encode_to_vec();
        let header = Header::parse(&bytes).unwrap();
        assert_eq!(header.timestamp, Some(u64::MAX));
        assert_eq!(header.timestamp_clock_id, 64);
        assert_eq!(header.trusted_uid, Some(-1));
        assert_eq!(header.trusted_pid, Some(42));
        assert_eq!(header.trusted_packet_sequence_id, 7);
        assert!(header.has_sequence);
        assert!(header.clears_state() && header.needs_state());
        assert_eq!(header.previous_packet_dropped, 4);
        assert!(header.first_packet_on_sequence);
        assert_eq!(header.machine_id, 3);
        assert_eq!(header.payload, Some((PacketType(39), &[8, 1][..])));
        assert_eq!(header.interned_data, Some(&[1][..]));
        assert!(!header.is_odd);
        let defaults = TracePacketDefaults::decode(header.trace_packet_defaults.unwrap()).unwrap();
        assert_eq!(defaults.timestamp_clock_id, Some(65));
    }

    #[test]
    fn z3_a_payload_that_is_a_number_is_odd() {
        // process_tree
        let header = Header::parse(&[0x08, 6, 0x10, 9]).unwrap();
        assert_eq!(header.payload, Some((PacketType::PROCESS_TREE, &[][..])));
        assert!(header.is_odd);
    }

    #[test]
    fn f7_a_field_newer_than_the_schema_is_the_type_only_without_a_known_one() {
        let mut bytes = vec![0x8a, 0x61, 0x00]; // 1553: an empty message
        assert_eq!(
            Header::parse(&bytes).unwrap().packet_type(),
            Some(PacketType(1553))
        );
        bytes.extend([0x5a, 0x00]);
        assert_eq!(
            Header::parse(&bytes).unwrap().packet_type(),
            Some(PacketType(11))
        );
    }
}
