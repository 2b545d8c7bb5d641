//! An `FtraceEventBundle`: the content of one CPU's buffer when it was read.

use timebase_descriptor::field::{Fields, Malformed, Value};
use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::{
    ftrace_event as event, ftrace_event_bundle as bundle,
    ftrace_event_bundle_generic_event_descriptor as descriptor,
};
use timebase_trace::wire::packet::Header;

use super::compact_sched::{Columns, Comms};

/// The clock of a bundle that only the bundles' pairs relate to others (rule I1).
const SEQUENCE_CLOCK: ClockId = ClockId(64);

/// The clock of a bundle's timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FtraceClock {
    Boottime,
    MonotonicRaw,
    /// GLOBAL or LOCAL: only the bundles' pairs relate it to other clocks.
    OfSequence,
    /// The recorder did not know it either, or it is newer than timebase.
    Unknown,
}

/// A bundle without its events of the full encoding, which are read one by one.
#[derive(Debug)]
pub(crate) struct Bundle<'a> {
    pub(super) cpu: Option<u32>,
    pub(super) clock: FtraceClock,
    /// The readings of its clock and of BOOTTIME that were taken together.
    pub(super) pair: Option<(u64, u64)>,
    pub(super) lost_events: bool,
    /// The time when its buffer began, if the bundle has it: the end of the previous bundle, or the
    /// last event that was read (rule O6).
    pub(super) begins: Option<u64>,
    /// The scheduler's events of the compact encoding.
    pub(super) columns: Columns,
    /// The names to which the columns refer.
    pub(super) comms: Comms<'a>,
    /// Kinds of events that the bundle describes: the field of `FtraceEvent`, and
    /// a serialized `DescriptorProto` of its message.
    pub(super) descriptors: Vec<(u32, &'a [u8])>,
    message: &'a [u8],
}

/// The clock of a bundle's timestamps; `None` if it is unknown.
pub(super) fn clock_of(header: &Header<'_>, clock: FtraceClock) -> Option<(ClockId, SeqId)> {
    let id = match clock {
        FtraceClock::Boottime => ClockId::BOOTTIME,
        FtraceClock::MonotonicRaw => ClockId::MONOTONIC_RAW,
        FtraceClock::OfSequence => SEQUENCE_CLOCK,
        FtraceClock::Unknown => return None,
    };
    Some((id, SeqId(header.trusted_packet_sequence_id)))
}

impl<'a> Bundle<'a> {
    pub fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut bundle = Bundle {
            cpu: None,
            clock: FtraceClock::Boottime,
            pair: None,
            lost_events: false,
            begins: None,
            columns: Columns::default(),
            comms: Comms::new(),
            descriptors: Vec::new(),
            message,
        };
        let (mut ftrace_timestamp, mut boot_timestamp) = (None, None);
        let (mut last_read, mut previous_end) = (None, None);
        // Several messages are merged, as protobuf defines it.
        let mut compact_sched = Vec::new();
        let mut fields = Fields::new(message);
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (bundle::CPU, Value::Varint(v)) => bundle.cpu = Some(v as u32),
                (bundle::LOST_EVENTS, Value::Varint(v)) => bundle.lost_events = v != 0,
                (bundle::COMPACT_SCHED, Value::Bytes(v)) => compact_sched.push(v),
                (bundle::FTRACE_CLOCK, Value::Varint(v)) => {
                    bundle.clock = match v {
                        0 => FtraceClock::Boottime,
                        2 | 3 => FtraceClock::OfSequence,
                        4 => FtraceClock::MonotonicRaw,
                        _ => FtraceClock::Unknown,
                    };
                }
                (bundle::FTRACE_TIMESTAMP, Value::Varint(v)) => ftrace_timestamp = Some(v),
                (bundle::BOOT_TIMESTAMP, Value::Varint(v)) => boot_timestamp = Some(v),
                (bundle::LAST_READ_EVENT_TIMESTAMP, Value::Varint(v)) => last_read = Some(v),
                (bundle::PREVIOUS_BUNDLE_END_TIMESTAMP, Value::Varint(v)) => previous_end = Some(v),
                (bundle::GENERIC_EVENT_DESCRIPTORS, Value::Bytes(v)) => {
                    bundle.descriptors.extend(generic_descriptor(v)?)
                }
                _ => {}
            }
        }
        bundle.begins = previous_end.or(last_read);
        bundle.pair = ftrace_timestamp.zip(boot_timestamp);
        bundle.comms = bundle.columns.read(&compact_sched)?;
        Ok(bundle)
    }

    /// The `FtraceEvent` messages, in file order.
    pub fn events(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut fields = Fields::new(self.message);
        std::iter::from_fn(move || {
            // `parse` has checked that the bundle can be read to its end.
            while let Ok(Some((number, value))) = fields.next() {
                if let (bundle::EVENT, Value::Bytes(event)) = (number, value) {
                    return Some(event);
                }
            }
            None
        })
    }
}

/// A `GenericEventDescriptor`: the field of `FtraceEvent`, and a serialized
/// `DescriptorProto` of its message.
fn generic_descriptor(message: &[u8]) -> Result<Option<(u32, &[u8])>, Malformed> {
    let (mut field_id, mut descriptor) = (None, None);
    let mut fields = Fields::new(message);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (descriptor::FIELD_ID, Value::Varint(v)) => field_id = u32::try_from(v).ok(),
            (descriptor::EVENT_DESCRIPTOR, Value::Bytes(v)) => descriptor = Some(v),
            _ => {}
        }
    }
    Ok(field_id.zip(descriptor))
}

/// An `FtraceEvent`, with the message of its kind undecoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RawFtraceEvent<'a> {
    pub timestamp: Option<u64>,
    /// The thread that was running, with the kernel's number.
    pub tid: Option<i32>,
    pub common_flags: Option<u32>,
    /// The field that is set, and its message.
    pub kind: Option<(u32, &'a [u8])>,
}

impl<'a> RawFtraceEvent<'a> {
    pub fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut event = RawFtraceEvent::default();
        let mut fields = Fields::new(message);
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (event::TIMESTAMP, Value::Varint(v)) => event.timestamp = Some(v),
                (event::PID, Value::Varint(v)) => event.tid = Some(v as i32),
                (event::COMMON_FLAGS, Value::Varint(v)) => event.common_flags = Some(v as u32),
                (number, Value::Bytes(v)) => event.kind = event.kind.or(Some((number, v))),
                _ => {}
            }
        }
        Ok(event)
    }
}
