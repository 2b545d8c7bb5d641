//! The scheduler's events.

use std::io;

use super::event::{Event, EventKind};
use crate::compact::{Put, Take};

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
    const KIND: EventKind = EventKind::ftrace(4);

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
    const KIND: EventKind = EventKind::ftrace(20);

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
