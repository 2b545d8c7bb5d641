//! What the messages of a pair bound (rule AL14).

use super::cones::BOTH;
use super::sample::Solved;

/// What messages bound (rule AL14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// θ has a latest and an earliest value.
    Both,
    /// Only a latest one: messages go from A to B.
    Upper,
    /// Only an earliest one.
    Lower,
    /// There is no message.
    None,
    /// Over a quarter of the messages contradict the others, so none is believed; or they agree only if
    /// the clocks drift by more than is possible.
    Contradictory,
}

impl Evidence {
    pub(super) fn of(solved: &Solved) -> Evidence {
        let count: u64 = solved.messages.iter().sum();
        let [upper, lower] = BOTH.map(|side| solved.course.points(side).next().is_some());
        match (upper, lower) {
            _ if solved.too_fast.is_some() => Evidence::Contradictory,
            _ if 4 * solved.violated > count => Evidence::Contradictory,
            (true, true) => Evidence::Both,
            (true, false) => Evidence::Upper,
            (false, true) => Evidence::Lower,
            (false, false) => Evidence::None,
        }
    }
}
