//! The header of a `TracePacket`: the data for placing it in time.

use super::messages::packet_type;
use timebase_descriptor::field::{Fields, Malformed, Value};
use timebase_schema::fields::trace_packet as packet;

/// `sequence_flags`: this packet clears the sequence's state (rule S2).
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `sequence_flags`: this packet needs that state (rule S4).
pub const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// The payload field of a packet, which is its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketType(pub u32);

/// Declares types by the names of their fields.
macro_rules! packet_types {
    ($($name:ident)*) => {
        impl PacketType {
            $(
                #[doc = concat!("The payload field `", stringify!($name), "` in lower case.")]
                pub const $name: PacketType = PacketType(packet::$name);
            )*
        }
    };
}

packet_types! {
    FTRACE_EVENTS
    PROCESS_TREE
    CHROME_EVENTS
    CLOCK_SNAPSHOT
    SYS_STATS
    PROCESS_STATS
    TRACK_EVENT
    TRACE_CONFIG
    FTRACE_STATS
    TRACE_STATS
    SYNCHRONIZATION_MARKER
    PROFILE_PACKET
    BATTERY
    ANDROID_LOG
    POWER_RAILS
    PROCESS_DESCRIPTOR
    THREAD_DESCRIPTOR
    SYSTEM_INFO
    TRIGGER
    CHROME_BENCHMARK_METADATA
    COMPRESSED_PACKETS
    CHROME_METADATA
    GPU_COUNTER_EVENT
    GPU_RENDER_STAGE_EVENT
    STREAMING_PROFILE_PACKET
    TRACK_DESCRIPTOR
    HEAP_GRAPH
    MODULE_SYMBOLS
    DEOBFUSCATION_MAPPING
    VULKAN_MEMORY_EVENT
    GPU_LOG
    VULKAN_API_EVENT
    FRAME_TIMELINE_EVENT
    PERF_SAMPLE
    CPU_INFO
    SMAPS_PACKET
    SERVICE_EVENT
    PACKAGES_LIST
    ANDROID_GAME_INTERVENTION_LIST
    KERNEL_WAKELOCK_DATA
    USER_LIST
    ANDROID_AFLAGS
    INTERRUPT_INFO
    ART_PROCESS_METADATA
    JOURNALD_EVENT
    CONCURRENT_SESSION_EVENT
    INITIAL_DISPLAY_STATE
    GPU_MEM_TOTAL_EVENT
    EXTENSION_DESCRIPTOR
    ANDROID_ENERGY_ESTIMATION_BREAKDOWN
    UI_STATE
    TRANSLATION_TABLE
    ANDROID_SYSTEM_PROPERTY
    TRACE_UUID
    TRACK_EVENT_RANGE_OF_INTEREST
    ENTITY_STATE_RESIDENCY
    REMOTE_CLOCK_SYNC
    CHROME_TRIGGER
    CLONE_SNAPSHOT_TRIGGER
    GENERIC_KERNEL_TASK_STATE_EVENT
    GENERIC_KERNEL_CPU_FREQ_EVENT
    CPU_PER_UID_DATA
    GENERIC_KERNEL_TASK_RENAME_EVENT
    GENERIC_KERNEL_PROCESS_TREE
    TRACE_ATTRIBUTES
    GPU_INFO
    GENERIC_GPU_FREQUENCY_EVENT
    ZSTD_COMPRESSED_PACKETS
    STACK_SAMPLE
    SURFACEFLINGER_LAYERS_SNAPSHOT
    SURFACEFLINGER_TRANSACTIONS
    SHELL_TRANSITION
    SHELL_HANDLER_MAPPINGS
    PROTOLOG_MESSAGE
    PROTOLOG_VIEWER_CONFIG
    WINSCOPE_EXTENSIONS
}

impl PacketType {
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
                (packet::TIMESTAMP, Value::Varint(v)) => header.timestamp = Some(v),
                (packet::TIMESTAMP_CLOCK_ID, Value::Varint(v)) => {
                    header.timestamp_clock_id = v as u32
                }
                (packet::TRUSTED_PACKET_SEQUENCE_ID, Value::Varint(v)) => {
                    header.trusted_packet_sequence_id = v as u32;
                    header.has_sequence = true;
                }
                (packet::SEQUENCE_FLAGS, Value::Varint(v)) => header.sequence_flags |= v as u32,
                (packet::INCREMENTAL_STATE_CLEARED, Value::Varint(v)) if v != 0 => {
                    header.sequence_flags |= INCREMENTAL_STATE_CLEARED;
                }
                (packet::PREVIOUS_PACKET_DROPPED, Value::Varint(v)) => {
                    header.previous_packet_dropped = v as u32
                }
                (packet::FIRST_PACKET_ON_SEQUENCE, Value::Varint(v)) => {
                    header.first_packet_on_sequence = v != 0
                }
                (packet::MACHINE_ID, Value::Varint(v)) => header.machine_id = v as u32,
                (packet::TRUSTED_UID, Value::Varint(v)) => header.trusted_uid = Some(v as i32),
                (packet::TRUSTED_PID, Value::Varint(v)) => header.trusted_pid = Some(v as i32),
                (packet::TRACE_PACKET_DEFAULTS, Value::Bytes(v)) => {
                    header.trace_packet_defaults = Some(v)
                }
                (packet::INTERNED_DATA, Value::Bytes(v)) => header.interned_data = Some(v),
                (packet::INTERNED_DATA | packet::INCREMENTAL_STATE_CLEARED, _) => {}
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
            trace_packet_defaults: Some(TracePacketDefaults { timestamp_clock_id: Some(65) }),
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
        assert_eq!(Header::parse(&bytes).unwrap().packet_type(), Some(PacketType(1553)));
        bytes.extend([0x5a, 0x00]);
        assert_eq!(Header::parse(&bytes).unwrap().packet_type(), Some(PacketType(11)));
    }
}
