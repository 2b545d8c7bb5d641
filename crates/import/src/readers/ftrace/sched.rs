//! The scheduler's events for the timeline, from either encoding.

use timebase_schema::fields::{
    sched_switch_ftrace_event as switch, sched_waking_ftrace_event as waking,
};

use super::compact_sched;
use crate::definitions::Names;
use crate::message::Message;
use crate::place::PartIx;
use crate::timeline::{Prev, Switch, Waker, Waking};

/// Common flags of an event in an interrupt.
const IN_INTERRUPT: u32 = 0x18;

/// The owner of a bundle's events.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfCpu {
    pub part: PartIx,
    pub machine: u32,
    pub cpu: u32,
}

/// A switch of the compact encoding.
pub(super) fn compact_switch(
    OfCpu { part, machine, cpu }: OfCpu,
    switch: &compact_sched::CompactSwitch<'_>,
    names: &mut Names,
) -> Switch {
    Switch {
        part,
        machine,
        cpu,
        prev: None,
        prev_state: switch.prev_state,
        next_pid: switch.next_pid as u32,
        next_prio: switch.next_prio as i32,
        next_comm: switch.next_comm.map(|comm| names.number(comm)),
    }
}

/// A `SchedSwitchFtraceEvent`.
pub(super) fn switch(
    OfCpu { part, machine, cpu }: OfCpu,
    message: &[u8],
    names: &mut Names,
) -> Switch {
    let mut prev = Prev { pid: 0, comm: None };
    let mut switch = Switch {
        part,
        machine,
        cpu,
        prev: None,
        prev_state: 0,
        next_pid: 0,
        next_prio: 0,
        next_comm: None,
    };
    use timebase_descriptor::field::Value::{Bytes, Varint};
    for (number, value) in Message(message).fields() {
        match (number, value) {
            (switch::PREV_COMM, Bytes(v)) => prev.comm = Some(names.number(v)),
            (switch::PREV_PID, Varint(v)) => prev.pid = v as u32,
            (switch::PREV_STATE, Varint(v)) => switch.prev_state = v,
            (switch::NEXT_COMM, Bytes(v)) => switch.next_comm = Some(names.number(v)),
            (switch::NEXT_PID, Varint(v)) => switch.next_pid = v as u32,
            (switch::NEXT_PRIO, Varint(v)) => switch.next_prio = v as i32,
            _ => {}
        }
    }
    switch.prev = Some(prev);
    switch
}

/// A waking of the compact encoding.
pub(super) fn compact_waking(
    OfCpu { part, machine, cpu }: OfCpu,
    waking: &compact_sched::CompactWaking<'_>,
) -> Waking {
    let flags = waking.common_flags.unwrap_or(0);
    Waking {
        part,
        machine,
        cpu,
        waker: Waker::Running { in_interrupt: flags & IN_INTERRUPT != 0 },
        pid: waking.pid as u32,
        comm: None,
    }
}

/// A `SchedWakingFtraceEvent` of a thread.
pub(super) fn waking(
    OfCpu { part, machine, cpu }: OfCpu,
    tid: u32,
    message: &[u8],
    names: &mut Names,
) -> Waking {
    let message = Message(message);
    Waking {
        part,
        machine,
        cpu,
        waker: Waker::Tid(tid),
        pid: message.small(waking::PID).unwrap_or(0),
        comm: message.bytes(waking::COMM).map(|comm| names.number(comm)),
    }
}
