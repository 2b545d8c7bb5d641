//! The time that all events are brought to. A reading in the unit of its clock
//! (`Ticks`), one in nanoseconds of its clock (`ClockNs`) and trace time are three
//! types: none can be taken for another.

use timebase_resolver::ClockNs;

/// A time on the one clock that all events are brought to, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TraceTime(pub i64);

impl TraceTime {
    /// What the clock of trace time reads.
    #[inline]
    pub fn reads(ClockNs(reading): ClockNs) -> Self {
        TraceTime(reading)
    }
}
