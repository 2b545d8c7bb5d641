//! The way of events from readers to the timeline.

use timebase_store::sort::Scratch;

use super::latest::Latest;
use crate::place::TraceTime;
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
