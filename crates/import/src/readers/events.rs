//! The way of events from readers to the timeline.

use timebase_store::sort::Scratch;

use super::latest::Latest;
use crate::place::TraceTime;
use crate::timeline::Timeline;

/// The events of a trace while it is read.
pub(crate) struct EventSink {
    pub timeline: Timeline,
    /// Where the next packet without a time stands.
    pub latest: Latest,
    /// The event that is being made.
    pub record: Vec<u8>,
    /// The times of the first and the last event of the packet that is read, in file order.
    pub times: Option<(i64, i64)>,
}

impl EventSink {
    /// No events. What does not fit memory is put aside there.
    pub fn new(is_wanted: bool, scratch: &Scratch) -> Self {
        EventSink {
            timeline: Timeline::new(is_wanted, scratch),
            latest: Latest::default(),
            record: Vec::new(),
            times: None,
        }
    }

    /// Gives an event to the timeline, which counts as one that was seen (rule O2).
    #[inline]
    pub fn push(&mut self, ts: TraceTime, event: &[u8]) {
        self.latest.event(ts);
        self.timeline.push(ts, event);
    }

    /// The same of the event that was made.
    pub fn push_record(&mut self, ts: TraceTime) {
        self.latest.event(ts);
        self.timeline.push(ts, &self.record);
    }
}
