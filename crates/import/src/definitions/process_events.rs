//! Extensions of track events that say something of processes (rule RT16).

/// `process_start_event`, and `binder_died_event`.
pub(crate) const PROCESS_START: u32 = 2010;
pub(crate) const BINDER_DIED: u32 = 2013;

/// Whether a field of a `TrackEvent` says something of a process, and so is no argument. Values of
/// counters and states have arguments only.
#[inline]
pub(crate) fn is_process_event(field: u32, event_type: Option<u64>) -> bool {
    const COUNTER: u64 = 4;
    const STATE: u64 = 5;
    matches!(field, PROCESS_START | BINDER_DIED) && !matches!(event_type, Some(COUNTER | STATE))
}
