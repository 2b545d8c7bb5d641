//! Types for numbers of time: a reading in the unit of its clock is not a reading in nanoseconds,
//! and the types prevent a mix-up.

/// A reading, in the unit of its clock.
///
/// ```
/// use timebase_resolver::{ClockNs, Ticks};
/// assert_eq!(Ticks(15).in_units_of(1000), Some(ClockNs(15_000)));
/// assert_eq!(Ticks(i64::MAX).in_units_of(1000), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub i64);

/// A reading, in nanoseconds of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockNs(pub i64);

impl Ticks {
    /// A timestamp of a trace; `None` if it does not fit.
    ///
    /// ```
    /// use timebase_resolver::Ticks;
    /// assert_eq!(Ticks::recorded(7), Some(Ticks(7)));
    /// assert_eq!(Ticks::recorded(u64::MAX), None);
    /// ```
    #[inline]
    pub fn recorded(timestamp: u64) -> Option<Ticks> {
        i64::try_from(timestamp).ok().map(Ticks)
    }

    /// The reading in nanoseconds (rule V4), for a clock whose unit is this many; `None` if it does
    /// not fit.
    #[inline]
    pub fn in_units_of(self, unit: i64) -> Option<ClockNs> {
        self.0.checked_mul(unit).map(ClockNs)
    }
}
