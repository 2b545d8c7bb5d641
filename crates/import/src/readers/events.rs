//! The way of events from readers to the timeline, and the times of packets without a time of their own.

use timebase_store::sort::Scratch;

use crate::place::{CountsFor, TraceTime};
use crate::timeline::Timeline;

/// Takes events from readers, in file order.
pub(crate) struct EventSink {
    pub timeline: Timeline,
    /// The time of the next packet without a time of its own.
    pub latest: Latest,
    /// The record of the current event.
    pub record: Vec<u8>,
    /// The times of the first and the last event of the current packet, in file order.
    pub times: Option<(i64, i64)>,
}

impl EventSink {
    /// Starts without events. Data that does not fit into memory goes to `scratch`.
    pub fn new(is_wanted: bool, scratch: &Scratch) -> Self {
        EventSink {
            timeline: Timeline::new(is_wanted, scratch),
            latest: Latest::default(),
            record: Vec::new(),
            times: None,
        }
    }

    /// Gives an event to the timeline. Its time counts for packets without a time (rule O2).
    #[inline]
    pub fn push(&mut self, ts: TraceTime, event: &[u8]) {
        self.latest.event(ts);
        self.timeline.push(ts, event);
    }

    /// Gives the current record to the timeline. Its time counts for packets without a time, too.
    pub fn push_record(&mut self, ts: TraceTime) {
        self.latest.event(ts);
        self.timeline.push(ts, &self.record);
    }
}

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
