//! The scheduler's events for the timeline, whatever their encoding in the trace.

use std::io;

use timebase_wire::field::{Fields, Value};

use super::compact_sched::{Switch, Waking};
use super::running::Thread;
use crate::compact::{Put, Take};
use crate::timeline::{Event, EventKind};

/// Fields of `FtraceEvent`.
pub(super) mod field {
    pub const SCHED_SWITCH: u32 = 4;
    pub const SCHED_WAKING: u32 = 20;
    pub const TASK_RENAME: u32 = 236;
    pub const GENERIC: u32 = 327;
}

/// A CPU switches from one thread to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchedSwitch<'a> {
    pub machine: u32,
    pub cpu: u32,
    pub prev_pid: u32,
    pub prev_state: u64,
    pub next_pid: u32,
    pub next_prio: i32,
    pub next_comm: &'a [u8],
}

/// A thread wakes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchedWaking<'a> {
    pub machine: u32,
    pub cpu: u32,
    pub pid: u32,
    pub prio: i32,
    pub comm: &'a [u8],
}

impl<'a> Event<'a> for SchedSwitch<'a> {
    const KIND: EventKind = EventKind::ftrace(field::SCHED_SWITCH);

    fn put(&self, put: &mut Put<'_>) {
        put.natural(self.machine.into())
            .natural(self.cpu.into())
            .natural(self.prev_pid.into())
            .natural(self.prev_state)
            .natural(self.next_pid.into())
            .integer(self.next_prio.into())
            .rest(self.next_comm);
    }

    fn take(mut take: Take<'a>) -> io::Result<Self> {
        Ok(SchedSwitch {
            machine: take.small()?,
            cpu: take.small()?,
            prev_pid: take.small()?,
            prev_state: take.natural()?,
            next_pid: take.small()?,
            next_prio: take.integer()? as i32,
            next_comm: take.rest(),
        })
    }
}

impl<'a> Event<'a> for SchedWaking<'a> {
    const KIND: EventKind = EventKind::ftrace(field::SCHED_WAKING);

    fn put(&self, put: &mut Put<'_>) {
        put.natural(self.machine.into())
            .natural(self.cpu.into())
            .natural(self.pid.into())
            .integer(self.prio.into())
            .rest(self.comm);
    }

    fn take(mut take: Take<'a>) -> io::Result<Self> {
        Ok(SchedWaking {
            machine: take.small()?,
            cpu: take.small()?,
            pid: take.small()?,
            prio: take.integer()? as i32,
            comm: take.rest(),
        })
    }
}

impl<'a> SchedSwitch<'a> {
    /// One of the compact encoding; `prev` was running until then.
    pub(super) fn compact(
        (machine, cpu): (u32, u32),
        switch: &Switch<'a>,
        prev: Option<&Thread>,
    ) -> Self {
        SchedSwitch {
            machine,
            cpu,
            prev_pid: prev.map_or(0, |prev| prev.pid as u32),
            prev_state: switch.prev_state,
            next_pid: switch.next_pid as u32,
            next_prio: switch.next_prio as i32,
            next_comm: switch.next_comm.unwrap_or_default(),
        }
    }

    /// A `SchedSwitchFtraceEvent`.
    pub(super) fn message((machine, cpu): (u32, u32), message: &'a [u8]) -> Self {
        let mut switch = SchedSwitch {
            machine,
            cpu,
            prev_pid: 0,
            prev_state: 0,
            next_pid: 0,
            next_prio: 0,
            next_comm: &[],
        };
        let mut fields = Fields::new(message);
        while let Ok(Some((number, value))) = fields.next() {
            match (number, value) {
                (2, Value::Varint(v)) => switch.prev_pid = v as u32,
                (4, Value::Varint(v)) => switch.prev_state = v,
                (5, Value::Bytes(v)) => switch.next_comm = v,
                (6, Value::Varint(v)) => switch.next_pid = v as u32,
                (7, Value::Varint(v)) => switch.next_prio = v as i32,
                _ => {}
            }
        }
        switch
    }
}

impl<'a> SchedWaking<'a> {
    /// One of the compact encoding.
    pub(super) fn compact((machine, cpu): (u32, u32), waking: &Waking<'a>) -> Self {
        SchedWaking {
            machine,
            cpu,
            pid: waking.pid as u32,
            prio: waking.prio as i32,
            comm: waking.comm.unwrap_or_default(),
        }
    }

    /// A `SchedWakingFtraceEvent`.
    pub(super) fn message((machine, cpu): (u32, u32), message: &'a [u8]) -> Self {
        let mut waking = SchedWaking {
            machine,
            cpu,
            pid: 0,
            prio: 0,
            comm: &[],
        };
        let mut fields = Fields::new(message);
        while let Ok(Some((number, value))) = fields.next() {
            match (number, value) {
                (1, Value::Bytes(v)) => waking.comm = v,
                (2, Value::Varint(v)) => waking.pid = v as u32,
                (3, Value::Varint(v)) => waking.prio = v as i32,
                _ => {}
            }
        }
        waking
    }
}
