//! Writes a packet with another header (rule RW2).

use timebase_descriptor::field::Value;
use timebase_schema::fields::trace_packet as field;
use timebase_schema::fields::trace_packet_defaults::TIMESTAMP_CLOCK_ID as DEFAULT_CLOCK_ID;
use timebase_trace::wire::packet::Header;

use crate::readers::{fields, put_bytes, put_number};

/// The fields of the header. All other fields belong to the payload.
const OF_HEADER: [u32; 12] = [
    field::TRUSTED_UID,
    field::TIMESTAMP,
    field::TRUSTED_PACKET_SEQUENCE_ID,
    field::INTERNED_DATA,
    field::SEQUENCE_FLAGS,
    field::INCREMENTAL_STATE_CLEARED,
    field::PREVIOUS_PACKET_DROPPED,
    field::TIMESTAMP_CLOCK_ID,
    field::TRACE_PACKET_DEFAULTS,
    field::TRUSTED_PID,
    field::FIRST_PACKET_ON_SEQUENCE,
    field::MACHINE_ID,
];

/// The new clock of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewClock {
    Same,
    None,
    Is(u32),
}

/// The new time of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewTime {
    /// `None` if it does not change.
    pub timestamp: Option<u64>,
    pub clock: NewClock,
}

impl NewTime {
    /// The time as it was recorded.
    pub const SAME: NewTime = NewTime { timestamp: None, clock: NewClock::Same };

    /// The header with this time. It does not include the clock in the defaults.
    pub fn header<'a>(&self, header: &Header<'a>) -> Header<'a> {
        Header {
            timestamp: self.timestamp.or(header.timestamp),
            timestamp_clock_id: self.clock_id(header),
            ..*header
        }
    }

    /// Whether a packet already has this time.
    pub fn is_that_of(&self, header: &Header<'_>) -> bool {
        (self.timestamp.is_none() || self.timestamp == header.timestamp)
            && self.clock_id(header) == header.timestamp_clock_id
    }

    /// The number of the clock that the new header names.
    fn clock_id(&self, header: &Header<'_>) -> u32 {
        match self.clock {
            NewClock::Same => header.timestamp_clock_id,
            NewClock::None => 0,
            NewClock::Is(clock) => clock,
        }
    }
}

/// The new payload of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewPayload<'a> {
    Same,
    Is(&'a [u8]),
    /// No payload, and no unreadable part of the header.
    None {
        has_interned: bool,
        has_defaults: bool,
    },
}

/// Whether the defaults of a packet name a clock.
pub(crate) fn names_clock(header: &Header<'_>) -> bool {
    header.trace_packet_defaults.is_some_and(has_clock)
}

fn has_clock(defaults: &[u8]) -> bool {
    fields(defaults).any(|(number, ..)| number == DEFAULT_CLOCK_ID)
}

/// Writes a packet. All fields that do not change stay byte for byte, in their order.
pub(crate) fn write(
    packet: &[u8],
    header: &Header<'_>,
    time: NewTime,
    payload: NewPayload<'_>,
    out: &mut Vec<u8>,
) {
    let clock = match time.clock {
        NewClock::Is(clock) => Some(clock),
        NewClock::Same | NewClock::None => None,
    };
    // A new clock comes after the timestamp, if there is no clock to replace.
    let mut new_clock = clock.filter(|_| !has_own_clock(packet, header));
    let mut old_clock = clock.filter(|_| new_clock.is_none());
    let mut put_time = |out: &mut Vec<u8>, timestamp: u64| {
        put_number(out, field::TIMESTAMP, timestamp);
        if let Some(clock) = new_clock.take() {
            put_number(out, field::TIMESTAMP_CLOCK_ID, clock.into());
        }
    };
    let mut timestamp = time.timestamp.or(header.timestamp);
    if header.timestamp.is_none()
        && let Some(timestamp) = timestamp.take()
    {
        put_time(out, timestamp);
    }
    let mut unchanged = Unchanged { packet, start: 0 };
    let mut end = 0;
    for (number, value, bytes) in fields(packet) {
        let start = end;
        end += bytes.len();
        match (number, value) {
            (field::TIMESTAMP, Value::Varint(_)) => {
                unchanged.copy(start, end, out);
                if let Some(timestamp) = timestamp.take() {
                    put_time(out, timestamp);
                }
            }
            (field::TIMESTAMP_CLOCK_ID, Value::Varint(_)) if time.clock != NewClock::Same => {
                unchanged.copy(start, end, out);
                if let Some(clock) = old_clock.take() {
                    put_number(out, number, clock.into());
                }
            }
            (field::TRACE_PACKET_DEFAULTS, Value::Bytes(defaults)) => match payload {
                NewPayload::None { has_defaults: false, .. } => unchanged.copy(start, end, out),
                _ if has_clock(defaults) => {
                    unchanged.copy(start, end, out);
                    put_defaults(defaults, out);
                }
                _ => {}
            },
            (number, value) => match (payload, value) {
                (NewPayload::Is(new), Value::Bytes(old)) if is_payload(header, number, old) => {
                    unchanged.copy(start, end, out);
                    put_bytes(out, number, new);
                }
                (NewPayload::None { has_interned, .. }, _) => {
                    let is_kept = match number {
                        field::INTERNED_DATA => has_interned,
                        number => OF_HEADER.contains(&number),
                    };
                    if !is_kept {
                        unchanged.copy(start, end, out);
                    }
                }
                _ => {}
            },
        }
    }
    unchanged.copy(end, end, out);
}

/// Whether a packet names a clock. 0 in its header means that it names none, or 0.
fn has_own_clock(packet: &[u8], header: &Header<'_>) -> bool {
    let is_clock = |(number, value, _)| {
        number == field::TIMESTAMP_CLOCK_ID && matches!(value, Value::Varint(_))
    };
    header.timestamp_clock_id != 0 || fields(packet).any(is_clock)
}

/// The bytes of a packet between two fields that change, which are copied together.
struct Unchanged<'a> {
    packet: &'a [u8],
    start: usize,
}

impl Unchanged<'_> {
    /// Copies the bytes before a field that changes.
    fn copy(&mut self, start: usize, end: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.packet.get(self.start..start).unwrap_or_default());
        self.start = end;
    }
}

/// Whether a field is the payload that counts, if the packet has several.
fn is_payload(header: &Header<'_>, number: u32, bytes: &[u8]) -> bool {
    header.payload.is_some_and(|(kind, payload)| kind.0 == number && std::ptr::eq(payload, bytes))
}

/// Writes the defaults without their clock. Empty defaults stay, because their presence replaces
/// earlier defaults.
fn put_defaults(defaults: &[u8], out: &mut Vec<u8>) {
    let mut without = Vec::with_capacity(defaults.len());
    for (number, _, bytes) in fields(defaults) {
        if number != DEFAULT_CLOCK_ID {
            without.extend_from_slice(bytes);
        }
    }
    put_bytes(out, field::TRACE_PACKET_DEFAULTS, &without);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Field 8: 5, field 900: 1 as an unknown field, field 11: a payload of two fields.
    const PACKET: [u8; 11] = [0x40, 5, 0xa0, 0x38, 1, 0x5a, 4, 0x48, 1, 0x50, 2];

    fn written(packet: &[u8], time: NewTime, payload: NewPayload<'_>) -> Vec<u8> {
        let header = Header::parse(packet).unwrap();
        let mut out = Vec::new();
        write(packet, &header, time, payload, &mut out);
        out
    }

    #[test]
    fn rw2_fields_that_do_not_change_stay_where_they_are() {
        assert_eq!(written(&PACKET, NewTime::SAME, NewPayload::Same), PACKET);
        let time = NewTime { timestamp: Some(300), clock: NewClock::Is(6) };
        let changed = [&[0x40, 0xac, 2, 0xd0, 3, 6][..], &PACKET[2..5], &[0x5a, 2, 0x48, 3]];
        let changed = changed.concat();
        let once = written(&PACKET, time, NewPayload::Is(&[0x48, 3]));
        assert_eq!(once, changed);
        assert_eq!(written(&once, time, NewPayload::Same), changed);
    }

    #[test]
    fn rw2_of_repeated_numbers_one_is_left_and_a_clock_goes() {
        let packet = [0xd0, 3, 9, 0x40, 1, 0x40, 2, 0xd0, 3, 64];
        let time = NewTime { timestamp: Some(7), clock: NewClock::None };
        assert_eq!(written(&packet, time, NewPayload::Same), [0x40, 7]);
        let time = NewTime { clock: NewClock::Is(6), ..time };
        assert_eq!(written(&packet, time, NewPayload::Same), [0xd0, 3, 6, 0x40, 7]);
    }

    #[test]
    fn rw2_defaults_lose_their_clock_and_stay() {
        let packet = [0xda, 3, 6, 0xd0, 3, 64, 0x5a, 1, 7];
        let header = Header::parse(&packet).unwrap();
        assert!(names_clock(&header));
        let out = written(&packet, NewTime::SAME, NewPayload::Same);
        assert_eq!(out, [0xda, 3, 3, 0x5a, 1, 7]);
    }

    #[test]
    fn rw7_a_payload_that_cannot_be_read_goes_with_what_is_unknown() {
        let payload = NewPayload::None { has_interned: true, has_defaults: true };
        assert_eq!(written(&PACKET, NewTime::SAME, payload), [0x40, 5]);
    }
}
