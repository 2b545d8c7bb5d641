//! The timeline: events of all CPUs and sequences in one order, that of time and,
//! within one time, of the file (rules O1, O3).
//!
//! # Design
//!
//! A reader meets events in file order and gives them a compact form, of some
//! ten to thirty bytes; what is rare goes as it stands in the trace. They are
//! sorted outside of memory (`timebase_store::sort`) while the trace is read, and go to
//! the trackers when it is, because until then an earlier event may come: a ring
//! buffer that was read late, or an event that waited for a snapshot. Those get
//! their place in the order when they have a time, behind others of their time.
//!
//! To sort within a window, and drop what comes later than that, was the
//! alternative; trace processor does so with streaming sessions, and its tables
//! then depend on how the trace was flushed.
//!
//! `docs/benchmarks.md` has what this costs. What an event is, is in `event.rs` and `track_event.rs`; in
//! which order they come, in `order.rs`.

mod event;
mod label;
mod order;
mod track_event;

pub(crate) use event::{
    Energy, Event, FtraceEvent, LogLine, PacketEvent, Prev, ProfileEvent, RecordedEvent, Switch,
    Waker, Waking,
};
pub(crate) use label::{Label, Name, OwnLabel};
pub(crate) use order::Timeline;
pub(crate) use track_event::{
    Arguments, Does, FlowStep, Flows, TrackEvent, Uuid, Values, WriterThread,
};
