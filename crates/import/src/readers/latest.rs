//! The times of packets without a time of their own.

use crate::place::{CountsFor, TraceTime};

/// The greatest times seen until now (rule O2).
#[derive(Debug, Default)]
pub(crate) struct Latest {
    events: i64,
    /// By the rows of machines.
    packets: Vec<i64>,
}

impl Latest {
    /// Notes the time of an event of any machine.
    #[inline]
    pub fn event(&mut self, TraceTime(ts): TraceTime) {
        self.events = self.events.max(ts);
    }

    fn packet(&mut self, machine: u32, TraceTime(ts): TraceTime) {
        let machine = machine as usize;
        if self.packets.len() <= machine {
            self.packets.resize(machine + 1, 0);
        }
        let latest = &mut self.packets[machine];
        *latest = (*latest).max(ts);
    }

    /// Notes the time of a packet of a machine. `counts` says for which packets it counts.
    pub fn counts(&mut self, counts: CountsFor, machine: u32, ts: TraceTime) {
        match counts {
            CountsFor::Nothing => {}
            CountsFor::ItsMachine => self.packet(machine, ts),
            CountsFor::All => self.event(ts),
        }
    }

    /// The time of a machine's packet that has no time of its own.
    pub fn of(&self, machine: u32) -> TraceTime {
        let packets = self.packets.get(machine as usize).copied();
        TraceTime(self.events.max(packets.unwrap_or_default()))
    }
}
