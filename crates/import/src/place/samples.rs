//! Comparisons of the clocks of two machines (rule X24).

use timebase_resolver::Clock;

/// A comparison of one machine's clock with another's (rule X24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    pub packet: i64,
    pub client: Clock,
    pub host: Clock,
    /// The reading of the host's clock.
    pub host_value: i64,
    /// The client's reading at that time, minus the host's.
    pub offset: i64,
    /// The offset may be wrong by this much.
    pub half_round_trip: i64,
}

/// All samples of an import, in file order.
pub(crate) type Samples = Vec<Sample>;
