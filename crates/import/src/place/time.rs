//! What a number of a time means. The three are not the same, and none of them
//! can be taken for another.

/// A reading, in the unit of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticks(pub i64);

/// A reading, in nanoseconds of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockNs(pub i64);

/// A time on the one clock that all events are brought to, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TraceTime(pub i64);

impl Ticks {
    /// A timestamp as recorded; `None` if it does not fit.
    #[inline]
    pub fn recorded(timestamp: u64) -> Option<Ticks> {
        i64::try_from(timestamp).ok().map(Ticks)
    }

    /// The reading in nanoseconds (rule V4), of a clock whose unit has so many;
    /// `None` if it does not fit.
    #[inline]
    pub fn in_units_of(self, unit: i64) -> Option<ClockNs> {
        self.0.checked_mul(unit).map(ClockNs)
    }
}
