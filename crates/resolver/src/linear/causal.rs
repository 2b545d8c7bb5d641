//! The relation of two clocks that messages between them bound (rules AL16, AL20).
//!
//! Its lines are those of its corners in the clock graph, so that all conversions agree. The graph has
//! no errors, so they are here.

use crate::clock::Clock;

/// A corner of the relation of two clocks: when clock A read `value`, clock B read `value + offset`,
/// plus or minus `error`. All are nanoseconds.
///
/// ```
/// use timebase_resolver::CausalKnot;
///
/// // Messages say that B was 500 ns to 900 ns ahead, and probably 650 ns.
/// let knot = CausalKnot { value: 2_000_000_000, offset: 650, error: 250 };
/// assert_eq!(knot.other_value(), Some(2_000_000_650));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CausalKnot {
    /// A reading of clock A.
    pub value: i64,
    /// B's reading, less that of A.
    pub offset: i64,
    /// The distance from the offset to the farther one of its bounds.
    pub error: i64,
}

impl CausalKnot {
    /// The reading of clock B; `None` if it does not fit 64 bits.
    pub fn other_value(&self) -> Option<i64> {
        self.value.checked_add(self.offset)
    }
}

/// The errors of a relation.
#[derive(Debug, Clone)]
pub(super) struct Causality {
    /// In order.
    knots: Vec<CausalKnot>,
    /// How much the rate may change; infinite if unknown.
    wander: f64,
}

impl Causality {
    pub fn new(mut knots: Vec<CausalKnot>, wander: f64) -> Causality {
        knots.sort_unstable();
        let wander = if wander.is_finite() { wander.max(0.0) } else { f64::INFINITY };
        Causality { knots, wander }
    }

    /// How much the rate may change; `None` if unknown.
    pub fn wander(&self) -> Option<f64> {
        Some(self.wander).filter(|wander| wander.is_finite())
    }

    /// The error of the relation at a corner of the graph; `None` if it is none of the knots. Equal
    /// corners have the larger error. It is a bound, and not rounded down.
    pub fn error_at(&self, a: i64, b: i64) -> Option<f32> {
        let offset = b.checked_sub(a)?;
        let is_until = |knot: &CausalKnot| (knot.value, knot.offset) <= (a, offset);
        let last = self.knots.partition_point(is_until).checked_sub(1)?;
        let knot = self.knots.get(last)?;
        let error = knot.error.max(0);
        let nearest = error as f32;
        let is_below = (nearest as i128) < i128::from(error);
        let error = if is_below { nearest.next_up() } else { nearest };
        ((knot.value, knot.offset) == (a, offset)).then_some(error)
    }
}

/// The relation of a hop, and whether the hop starts at its clock A.
pub(super) type OfHop<'e> = (&'e Causality, bool);

/// Finds the relation of a hop.
pub(super) fn of_hop<'e>(
    find: impl Fn(&(Clock, Clock)) -> Option<&'e Causality>,
    [from, to]: [Clock; 2],
) -> Option<OfHop<'e>> {
    let forward = find(&(from, to)).map(|relation| (relation, true));
    forward.or_else(|| find(&(to, from)).map(|relation| (relation, false)))
}
