//! Parts of a trace, appended to a buffer.

pub(crate) use crate::encode::{bytes, number, varint};

/// A number that is not negative.
#[inline]
pub(crate) fn time(out: &mut Vec<u8>, field: u32, value: i64) {
    number(out, field, value.unsigned_abs());
}

#[inline]
pub(crate) fn double(out: &mut Vec<u8>, field: u32, value: f64) {
    varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// A message whose length is only known after writing it: one byte is reserved for the length, and
/// the message is moved if that is not enough.
#[inline]
pub(crate) fn message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    varint(out, u64::from(field) << 3 | 2);
    let at = out.len();
    out.push(0);
    write(out);
    let length = out.len() - at - 1;
    if let Some(place) = out.get_mut(at).filter(|_| length < 0x80) {
        *place = length as u8;
    } else {
        let mut prefix = Vec::with_capacity(10);
        varint(&mut prefix, length as u64);
        out.splice(at..=at, prefix);
    }
}

/// A reading of a clock in a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub clock_id: u32,
    pub ticks: i64,
    pub unit: i64,
    pub incremental: bool,
}

impl Reading {
    /// A reading in nanoseconds.
    pub fn new(clock_id: u32, value: i64) -> Self {
        Reading { clock_id, ticks: value, unit: 1, incremental: false }
    }
}

/// The payload `clock_snapshot`; a primary clock of 0 means none.
pub(crate) fn snapshot(out: &mut Vec<u8>, readings: &[Reading], primary_trace_clock: u32) {
    snapshot_as(out, 6, readings, primary_trace_clock);
}

/// A `ClockSnapshot` in any field.
pub(crate) fn snapshot_as(
    out: &mut Vec<u8>,
    field: u32,
    readings: &[Reading],
    primary_trace_clock: u32,
) {
    message(out, field, |out| {
        for reading in readings {
            message(out, 1, |out| {
                number(out, 1, reading.clock_id.into());
                time(out, 2, reading.ticks);
                if reading.incremental {
                    number(out, 3, 1);
                }
                if reading.unit != 1 {
                    time(out, 4, reading.unit);
                }
            });
        }
        if primary_trace_clock != 0 {
            number(out, 2, primary_trace_clock.into());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_length_before_it_however_long_it_is() {
        for length in [0usize, 1, 127, 128, 20_000] {
            let (mut nested, mut plain) = (vec![7], vec![7]);
            message(&mut nested, 11, |out| out.resize(out.len() + length, 9));
            bytes(&mut plain, 11, &vec![9; length]);
            assert_eq!(nested, plain);
        }
    }

    #[test]
    fn numbers_are_seven_bits_a_byte() {
        let mut out = Vec::new();
        number(&mut out, 58, 300);
        assert_eq!(out, [0xd0, 0x03, 0xac, 0x02]);
    }
}
