//! The time that all events are converted to. A reading in the unit of its clock (`Ticks`), a
//! reading in nanoseconds of its clock (`ClockNs`) and trace time are three types, so that none can
//! be taken for another.

use timebase_resolver::ClockNs;

/// A time on the clock that all events are converted to, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TraceTime(pub i64);

impl TraceTime {
    /// The trace time of a reading of that clock.
    #[inline]
    pub fn reads(ClockNs(reading): ClockNs) -> Self {
        TraceTime(reading)
    }
}
