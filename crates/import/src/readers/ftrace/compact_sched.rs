//! The compact scheduler encoding: the `sched_switch` and `sched_waking` events of a bundle as
//! columns, without the data that the CPU's previous event has.
//!
//! An event becomes the message that the full encoding would have, so later steps are the same for
//! both.

use timebase_descriptor::field::{Fields, Malformed, Value, varint};
use timebase_schema::fields::{
    ftrace_event_bundle_compact_sched as column, sched_switch_ftrace_event as switch,
    sched_waking_ftrace_event as waking,
};

use super::running::Thread;

/// The number of fields of `CompactSched`, from 0.
const COLUMNS: usize = column::WAKING_COMMON_FLAGS as usize + 1;

/// The columns of one bundle. Values are varints as on the wire, with negative numbers in 64 bits.
#[derive(Debug, Default)]
pub(super) struct Columns {
    columns: [Vec<u64>; COLUMNS],
}

/// The names to which columns refer.
pub(super) type Comms<'a> = Vec<&'a [u8]>;

/// A `sched_switch` of the compact encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CompactSwitch<'a> {
    pub timestamp: u64,
    pub prev_state: u64,
    pub next_pid: u64,
    pub next_prio: u64,
    /// `None` if its index is beyond the table.
    pub next_comm: Option<&'a [u8]>,
}

/// A `sched_waking` of the compact encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CompactWaking<'a> {
    pub timestamp: u64,
    pub pid: u64,
    pub target_cpu: u64,
    pub prio: u64,
    pub comm: Option<&'a [u8]>,
    pub common_flags: Option<u32>,
}

impl Columns {
    /// Reads the columns of a bundle.
    pub fn read<'a>(&mut self, messages: &[&'a [u8]]) -> Result<Comms<'a>, Malformed> {
        let mut comms = Comms::new();
        for message in messages {
            let mut fields = Fields::new(message);
            while let Some((number, value)) = fields.next()? {
                match (number, value) {
                    (column::INTERN_TABLE, Value::Bytes(comm)) => comms.push(comm),
                    (number, value) => {
                        if let Some(column) = self.columns.get_mut(number as usize) {
                            extend(column, value)?;
                        }
                    }
                }
            }
        }
        accumulate(&mut self.columns[column::SWITCH_TIMESTAMP as usize]);
        accumulate(&mut self.columns[column::WAKING_TIMESTAMP as usize]);
        Ok(comms)
    }

    fn len(&self, columns: &[u32]) -> usize {
        let lengths = columns.iter().map(|&column| self.columns[column as usize].len());
        lengths.min().unwrap_or(0)
    }

    /// The number of switches that all columns have.
    pub fn switches(&self) -> usize {
        self.len(&[
            column::SWITCH_TIMESTAMP,
            column::SWITCH_PREV_STATE,
            column::SWITCH_NEXT_PID,
            column::SWITCH_NEXT_PRIO,
            column::SWITCH_NEXT_COMM_INDEX,
        ])
    }

    /// The number of wakings that all columns have.
    pub fn wakings(&self) -> usize {
        self.len(&[
            column::WAKING_TIMESTAMP,
            column::WAKING_PID,
            column::WAKING_TARGET_CPU,
            column::WAKING_PRIO,
            column::WAKING_COMM_INDEX,
        ])
    }

    /// The numbers of timestamps, of switches and of wakings. There are more timestamps than events
    /// if columns are cut.
    pub fn timestamps(&self) -> (usize, usize) {
        (
            self.columns[column::SWITCH_TIMESTAMP as usize].len(),
            self.columns[column::WAKING_TIMESTAMP as usize].len(),
        )
    }

    /// The timestamps of all switches.
    pub fn switch_timestamps(&self) -> &[u64] {
        let timestamps = &self.columns[column::SWITCH_TIMESTAMP as usize];
        timestamps.get(..self.switches()).unwrap_or(timestamps)
    }

    /// The timestamps of all wakings.
    pub fn waking_timestamps(&self) -> &[u64] {
        let timestamps = &self.columns[column::WAKING_TIMESTAMP as usize];
        timestamps.get(..self.wakings()).unwrap_or(timestamps)
    }

    fn get(&self, column: u32, index: usize) -> Option<u64> {
        self.columns[column as usize].get(index).copied()
    }

    /// The switch at `index`.
    pub fn switch<'a>(&self, index: usize, comms: &Comms<'a>) -> Option<CompactSwitch<'a>> {
        Some(CompactSwitch {
            timestamp: self.get(column::SWITCH_TIMESTAMP, index)?,
            prev_state: self.get(column::SWITCH_PREV_STATE, index)?,
            next_pid: self.get(column::SWITCH_NEXT_PID, index)?,
            next_prio: self.get(column::SWITCH_NEXT_PRIO, index)?,
            next_comm: comm(comms, self.get(column::SWITCH_NEXT_COMM_INDEX, index)?),
        })
    }

    /// The waking at `index`.
    pub fn waking<'a>(&self, index: usize, comms: &Comms<'a>) -> Option<CompactWaking<'a>> {
        Some(CompactWaking {
            timestamp: self.get(column::WAKING_TIMESTAMP, index)?,
            pid: self.get(column::WAKING_PID, index)?,
            target_cpu: self.get(column::WAKING_TARGET_CPU, index)?,
            prio: self.get(column::WAKING_PRIO, index)?,
            comm: comm(comms, self.get(column::WAKING_COMM_INDEX, index)?),
            common_flags: self.get(column::WAKING_COMMON_FLAGS, index).map(|flags| flags as u32),
        })
    }
}

/// Turns deltas into timestamps. A delta that does not fit is negative, in two's complement.
fn accumulate(deltas: &mut [u64]) {
    let mut sum = 0u64;
    for delta in deltas {
        sum = sum.wrapping_add(*delta);
        *delta = sum;
    }
}

fn comm<'a>(comms: &Comms<'a>, index: u64) -> Option<&'a [u8]> {
    comms.get(usize::try_from(index).ok()?).copied()
}

/// Adds values to a column: packed ones or a single one.
fn extend(column: &mut Vec<u64>, value: Value<'_>) -> Result<(), Malformed> {
    match value {
        Value::Varint(value) => column.push(value),
        Value::Bytes(packed) => {
            let mut at = 0;
            while let Some(rest) = packed.get(at..).filter(|rest| !rest.is_empty()) {
                match varint(rest) {
                    Ok(Some((value, size))) => {
                        column.push(value);
                        at += size;
                    }
                    Ok(None) => return Err(Malformed::Cut { at }),
                    Err(()) => return Err(Malformed::Overlong { at }),
                }
            }
        }
        Value::Fixed32(_) | Value::Fixed64(_) => {}
    }
    Ok(())
}

impl CompactSwitch<'_> {
    /// The `SchedSwitchFtraceEvent`; `prev` ran until the switch.
    pub fn write(&self, prev: &Thread, message: &mut Vec<u8>) {
        write_bytes(message, switch::PREV_COMM, &prev.comm);
        write_varint(message, switch::PREV_PID, prev.pid);
        write_varint(message, switch::PREV_PRIO, prev.prio);
        self.write_partly(message);
    }

    /// The fields that are known without the thread that ran until the switch.
    pub fn write_partly(&self, message: &mut Vec<u8>) {
        write_varint(message, switch::PREV_STATE, self.prev_state);
        if let Some(comm) = self.next_comm {
            write_bytes(message, switch::NEXT_COMM, comm);
        }
        write_varint(message, switch::NEXT_PID, self.next_pid);
        write_varint(message, switch::NEXT_PRIO, self.next_prio);
    }
}

impl CompactWaking<'_> {
    /// The `SchedWakingFtraceEvent`.
    pub fn write(&self, message: &mut Vec<u8>) {
        if let Some(comm) = self.comm {
            write_bytes(message, waking::COMM, comm);
        }
        write_varint(message, waking::PID, self.pid);
        write_varint(message, waking::PRIO, self.prio);
        write_varint(message, waking::TARGET_CPU, self.target_cpu);
    }
}

fn push_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn write_varint(message: &mut Vec<u8>, number: u32, value: u64) {
    push_varint(message, u64::from(number) << 3);
    push_varint(message, value);
}

fn write_bytes(message: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    push_varint(message, u64::from(number) << 3 | 2);
    push_varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn packed(number: u32, values: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &value in values {
            push_varint(&mut bytes, value);
        }
        let mut field = Vec::new();
        write_bytes(&mut field, number, &bytes);
        field
    }

    #[test]
    fn i1_timestamps_are_deltas_and_columns_may_come_unpacked_and_in_parts() {
        let mut first = packed(1, &[1000, 5]);
        first.extend(packed(2, &[1, 1, 1]));
        write_varint(&mut first, 3, 7); // next_pid, one by one
        write_varint(&mut first, 3, 8);
        first.extend(packed(4, &[120, 120, 120]));
        let mut second = packed(1, &[u64::MAX]);
        second.extend(packed(3, &[9]));
        second.extend(packed(6, &[0, 1, 0]));
        write_bytes(&mut second, 5, b"init");

        let mut columns = Columns::default();
        let comms = columns.read(&[&first, &second]).unwrap();
        assert_eq!((columns.switches(), columns.wakings()), (3, 0));
        let switches: Vec<_> = (0..3)
            .filter_map(|i| columns.switch(i, &comms))
            .map(|switch| (switch.timestamp, switch.next_pid, switch.next_comm))
            .collect();
        assert_eq!(
            switches,
            [
                (1000, 7, Some(&b"init"[..])),
                (1005, 8, None),
                (1004, 9, Some(&b"init"[..])), // by -1
            ]
        );
    }

    #[test]
    fn i1_columns_of_different_lengths_tell_of_the_shortest() {
        let mut message = packed(7, &[10, 10]);
        for number in [8, 9, 10] {
            message.extend(packed(number, &[1, 2]));
        }
        message.extend(packed(11, &[0]));
        let mut columns = Columns::default();
        columns.read(&[&message]).unwrap();
        assert_eq!((columns.wakings(), columns.timestamps()), (1, (0, 2)));
        assert_eq!(Columns::default().read(&[&[0x3a, 1, 0xff]]), Err(Malformed::Cut { at: 0 }));
    }
}
