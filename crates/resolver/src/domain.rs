//! What is known of a clock from all its snapshots.

use crate::clock::Clock;

/// What is known of one clock domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Domain {
    /// Which clock it is.
    pub clock: Clock,
    /// Nanoseconds in a unit of the clock (rule N3).
    pub unit: i64,
    /// Whether packets give deltas on it (rule V5).
    pub incremental: bool,
    /// False if it was seen going backwards (rule N5).
    pub monotonic: bool,
    /// How many snapshots hold it.
    pub snapshots: u64,
    /// Its first reading in file order, in nanoseconds.
    pub first_value: i64,
    /// Its last reading in file order, in nanoseconds.
    pub last_value: i64,
}
