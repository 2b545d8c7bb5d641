//! What machines said of each other's clocks (rule X24).

use timebase_resolver::Clock;

/// What one machine's clocks said of another's (rule X24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    pub packet: i64,
    pub client: Clock,
    pub host: Clock,
    /// When the host's clock read this,
    pub host_value: i64,
    /// the client's read so much more,
    pub offset: i64,
    /// give or take this.
    pub half_round_trip: i64,
}

/// All samples of an import, in file order.
pub(crate) type Samples = Vec<Sample>;
