//! A `TrackEvent` as it is on the wire. It may have several members of a oneof, and unknown numbers
//! of enums.

use timebase_descriptor::field::{Fields, Malformed, Value};
use timebase_schema::fields::track_event as field;

use super::legacy::RawLegacy;
use crate::definitions::{BINDER_DIED, PROCESS_START};
use crate::message::Message;

/// The field `gpu_correlation`, an extension of `TrackEvent`.
pub(in crate::readers) const GPU_CORRELATION: u32 = 3000;

/// The field `active_processes`, an extension of `TrackEvent` (rule RT11).
const ACTIVE_PROCESSES: u32 = 1042;

/// A `TrackEvent`: the value of each field that occurs once, and for each field that may occur
/// several times, whether it occurs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RawTrackEvent<'a> {
    pub message: Message<'a>,
    pub event_type: Option<u64>,
    pub track_uuid: Option<u64>,
    pub name_iid: Option<u64>,
    pub name: Option<&'a [u8]>,
    /// The last interned number of its categories, and how many numbers there are.
    pub category_iid: u64,
    pub category_iids: u32,
    pub has_categories: bool,
    pub time_delta: Option<i64>,
    pub time_absolute: i64,
    pub thread_time_delta: Option<i64>,
    pub thread_time_absolute: Option<i64>,
    pub instructions_delta: Option<i64>,
    pub instructions_absolute: Option<i64>,
    pub value: Option<i64>,
    pub double_value: Option<f64>,
    pub has_more_values: bool,
    pub has_flows: bool,
    pub has_arguments: bool,
    /// Its `ChromeActiveProcesses`, which is also an argument.
    pub active_processes: Option<Message<'a>>,
    /// Whether it may say something of a process (rule RT16).
    pub has_process: bool,
    /// Its callstack, as a number or as a message, and what it counts for (rule FP4).
    pub callstack_iid: Option<u64>,
    pub callstack: Option<&'a [u8]>,
    pub callstack_weight: Option<f64>,
    pub legacy: Option<RawLegacy<'a>>,
}

impl<'a> RawTrackEvent<'a> {
    /// Reads an event.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut event = RawTrackEvent { message: Message(bytes), ..RawTrackEvent::default() };
        let mut fields = Fields::new(bytes);
        while let Some((number, value)) = fields.next()? {
            match value {
                Value::Varint(value) => event.number(number, value),
                value => event.other(number, value),
            }
        }
        Ok(event)
    }

    #[inline]
    fn number(&mut self, number: u32, value: u64) {
        let signed = value as i64;
        match number {
            field::TYPE => self.event_type = Some(value),
            field::TRACK_UUID => self.track_uuid = Some(value),
            field::NAME_IID => self.name_iid = Some(value),
            field::CATEGORY_IIDS => {
                self.category_iid = value;
                self.category_iids += 1;
            }
            field::TIMESTAMP_DELTA_US => self.time_delta = Some(signed),
            field::TIMESTAMP_ABSOLUTE_US => self.time_absolute = signed,
            field::THREAD_TIME_DELTA_US => self.thread_time_delta = Some(signed),
            field::THREAD_TIME_ABSOLUTE_US => self.thread_time_absolute = Some(signed),
            field::THREAD_INSTRUCTION_COUNT_DELTA => self.instructions_delta = Some(signed),
            field::THREAD_INSTRUCTION_COUNT_ABSOLUTE => self.instructions_absolute = Some(signed),
            field::COUNTER_VALUE => self.value = Some(signed),
            field::EXTRA_COUNTER_VALUES => self.has_more_values = true,
            field::FLOW_IDS_OLD | field::TERMINATING_FLOW_IDS_OLD => self.has_flows = true,
            field::EXTRA_COUNTER_TRACK_UUIDS | field::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS => {}
            field::CALLSTACK_IID => self.callstack_iid = Some(value),
            _ => self.has_arguments = true,
        }
    }

    fn other(&mut self, number: u32, value: Value<'a>) {
        match (number, value) {
            (field::NAME, Value::Bytes(bytes)) => self.name = Some(bytes),
            (field::LEGACY_EVENT, Value::Bytes(bytes)) => {
                self.legacy = Some(RawLegacy::read(Message(bytes)))
            }
            (field::CATEGORIES, Value::Bytes(_)) => self.has_categories = true,
            (field::CATEGORY_IIDS, Value::Bytes(_)) => {
                for iid in self.message.numbers(field::CATEGORY_IIDS) {
                    self.category_iid = iid;
                    self.category_iids = self.category_iids.saturating_add(1);
                }
            }
            (field::DOUBLE_COUNTER_VALUE, Value::Fixed64(bits)) => {
                self.double_value = Some(f64::from_bits(bits));
            }
            (field::EXTRA_COUNTER_VALUES | field::EXTRA_DOUBLE_COUNTER_VALUES, _) => {
                self.has_more_values = true
            }
            (
                field::FLOW_IDS
                | field::TERMINATING_FLOW_IDS
                | field::FLOW_IDS_OLD
                | field::TERMINATING_FLOW_IDS_OLD,
                _,
            ) => self.has_flows = true,
            (GPU_CORRELATION, Value::Bytes(_)) => {
                self.has_flows = true;
                self.has_arguments = true;
            }
            (field::EXTRA_COUNTER_TRACK_UUIDS | field::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, _) => {}
            (field::CALLSTACK, Value::Bytes(bytes)) => self.callstack = Some(bytes),
            (field::CALLSTACK_WEIGHT, Value::Fixed64(bits)) => {
                self.callstack_weight = Some(f64::from_bits(bits));
            }
            (field::CHROME_ACTIVE_PROCESSES | ACTIVE_PROCESSES, Value::Bytes(bytes)) => {
                self.active_processes = Some(Message(bytes));
                self.has_arguments = true;
            }
            (PROCESS_START | BINDER_DIED, Value::Bytes(_)) => {
                self.has_process = true;
                self.has_arguments = true;
            }
            _ => self.has_arguments = true,
        }
    }

    /// The value of a counter.
    pub fn counted(&self) -> Option<f64> {
        self.value.map(|value| value as f64).or(self.double_value)
    }

    /// The phase of a legacy event; 0 without one.
    pub fn phase(&self) -> u32 {
        self.legacy.as_ref().map_or(0, |legacy| legacy.phase)
    }

    /// The interned name of a legacy event.
    pub fn legacy_name_iid(&self) -> Option<u64> {
        self.legacy.as_ref()?.name_iid
    }

    /// Whether it has a time of its own (rule E4).
    pub fn has_time(&self) -> bool {
        self.time_delta.is_some() || self.time_absolute != 0
    }
}
