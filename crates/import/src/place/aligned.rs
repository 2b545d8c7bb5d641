//! Relations of clocks that messages prove or bound (rules AL18, AL20).

use timebase_resolver::{CausalBound, CausalKnot, Clock};

/// The statement of messages about what clock B shows more than clock A.
#[derive(Debug, Clone)]
pub(crate) struct AlignedRelation {
    pub a: Clock,
    pub b: Clock,
    pub by: AlignedBy,
}

/// The kind of such a statement.
#[derive(Debug, Clone)]
pub(crate) enum AlignedBy {
    /// Lines that replace an assumption; `wander` is how much the rate may change.
    Lines { knots: Vec<CausalKnot>, wander: f64 },
    /// Bounds within which a measurement stays.
    Bounds(Vec<CausalBound>),
}
