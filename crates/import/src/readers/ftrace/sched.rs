//! The scheduler's events for the timeline, whatever their encoding in the trace.

use timebase_wire::field::{Fields, Value};

use super::compact_sched::{Switch, Waking};
use super::running::Thread;
use crate::timeline::{SchedSwitch, SchedWaking};

/// Fields of `FtraceEvent` that mean something here.
pub(super) mod field {
    pub const SCHED_SWITCH: u32 = 4;
    pub const SCHED_WAKING: u32 = 20;
    pub const TASK_RENAME: u32 = 236;
    pub const GENERIC: u32 = 327;
}

/// A switch of the compact encoding; `prev` was running until then.
pub(super) fn compact_switch<'a>(
    (machine, cpu): (u32, u32),
    switch: &Switch<'a>,
    prev: Option<&Thread>,
) -> SchedSwitch<'a> {
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
pub(super) fn switch((machine, cpu): (u32, u32), message: &[u8]) -> SchedSwitch<'_> {
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

/// A waking of the compact encoding.
pub(super) fn compact_waking<'a>(
    (machine, cpu): (u32, u32),
    waking: &Waking<'a>,
) -> SchedWaking<'a> {
    SchedWaking {
        machine,
        cpu,
        pid: waking.pid as u32,
        prio: waking.prio as i32,
        comm: waking.comm.unwrap_or_default(),
    }
}

/// A `SchedWakingFtraceEvent`.
pub(super) fn waking((machine, cpu): (u32, u32), message: &[u8]) -> SchedWaking<'_> {
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
