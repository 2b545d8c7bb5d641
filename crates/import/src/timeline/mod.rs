//! The timeline: the events of all CPUs and sequences in one order: by time, and with equal times
//! by their position in the file (rules O1, O3).
//!
//! # Design
//!
//! A reader gets events in file order, and gives them a compact form of some ten to thirty bytes;
//! rare events keep their own bytes. They are sorted outside of memory (`timebase_store::sort`)
//! while the trace is read, and go to the trackers afterwards. Until the end of the trace an
//! earlier event may come, from a ring buffer that was read late, or because it waited for a
//! snapshot. An event that waited gets its place in the order when it gets its time, after other
//! events with this time.
//!
//! The alternative was to sort within a window, and to drop events that come later. Trace processor
//! does this for streaming sessions, so its tables depend on how the trace was flushed.
//!
//! `docs/benchmarks.md` has the cost. `event.rs`, `track_event.rs` and `legacy.rs` define the events, and
//! `order.rs` their order.

mod event;
mod json_event;
mod label;
mod legacy;
mod order;
mod track_event;

pub(crate) use event::{
    Energy, Event, FtraceEvent, LogLine, PacketEvent, Prev, ProfileEvent, Switch, Waker, Waking,
};
pub(crate) use json_event::{
    JsonEvent, JsonRecord, JsonThreadIx, NameOf, ProfileSample, ThreadState,
};
pub(crate) use label::{Label, Name, OwnLabel};
pub(crate) use legacy::{FlowDirection, InstantScope, LegacyEvent, LegacyId};
pub(crate) use order::Timeline;
pub(crate) use track_event::{
    Arguments, EventKind, EventStack, FlowStep, Flows, StackFrames, TrackEvent, UuidIx, Values,
    WriterThread,
};
