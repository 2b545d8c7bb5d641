//! Relations of clocks that messages prove (rule AL20).

use timebase_resolver::{CausalKnot, Clock};

/// What clock B shows more than clock A.
#[derive(Debug, Clone)]
pub(crate) struct AlignedRelation {
    pub a: Clock,
    pub b: Clock,
    pub knots: Vec<CausalKnot>,
    /// How much the rate may change.
    pub wander: f64,
}
