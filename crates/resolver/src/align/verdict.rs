//! What the messages of a pair say of a relation that was assumed or measured (rules AL14, AL18,
//! AL20).

use super::alignment::{Alignment, CausalOutlier, whole};
use super::evidence::Evidence;
use super::message::{Direction, Messages};
use crate::linear::real;

/// A relation of two clocks from elsewhere, held against an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compared {
    /// The accepted messages from A to B.
    pub accepted_ab: u64,
    /// The accepted messages from B to A.
    pub accepted_ba: u64,
    /// The accepted messages that arrive before they were sent by the relation.
    pub inverted: u64,
    /// Those of them that go from A to B.
    pub inverted_ab: u64,
    /// The packets that send and receive the one of them that arrives the earliest before it was
    /// sent; of equals, the first.
    pub worst: Option<(i64, i64)>,
    /// The messages of any kind that do.
    pub inverted_of_all: u64,
    /// The largest distance of the relation from the interval, at the accepted messages, in ns.
    pub wrong_by: i64,
    /// The largest distance that its error does not explain, in ns (rule AL18).
    pub unexplained: i64,
}

impl Compared {
    /// Rule AL18: whether the relation, with its error, is outside of the interval by more than 1 µs.
    pub fn contradicts(&self) -> bool {
        self.unexplained.unsigned_abs() > MEASURED
    }
}

/// Whether causality replaces an assumed relation (rule AL20, `auto`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// It does: the assumption is proven wrong.
    Replace,
    /// The assumption is as well as proven: times stay, with an error.
    Confirm,
    /// The messages contradict each other.
    Contradictory,
    /// They bound one side only, or nothing.
    OneSided,
    /// Fewer than ten are accepted each way.
    Few,
    /// More than 5 % are violated.
    Violated,
}

/// Accepted messages that `auto` needs each way.
const LEAST_ACCEPTED: u64 = 10;
/// Accepted messages that an assumption must turn around before `auto` replaces it (rule AL20).
pub const LEAST_INVERTED: u64 = 3;
/// Measured relations may be this far outside, in ns, plus their error.
const MEASURED: u64 = 1000;

impl Alignment {
    /// Holds another relation against the messages: `offset` is its θ when A shows a time, `None`
    /// where it has none. Reads the messages once more.
    ///
    /// # Errors
    ///
    /// If the messages cannot be read.
    pub fn compare<M: Messages + ?Sized>(
        &self,
        messages: &M,
        offset: &mut dyn FnMut(i64) -> Option<i64>,
    ) -> Result<Compared, M::Error> {
        self.compare_measured(messages, &mut |at| Some((offset(at)?, 0)), &mut |_| {})
    }

    /// The same with a relation that has an error: `measured` is its θ when A shows a time, and by how
    /// many ns that may be wrong. Shows the messages that are not accepted, in their order.
    ///
    /// # Errors
    ///
    /// If the messages cannot be read.
    pub fn compare_measured<M: Messages + ?Sized>(
        &self,
        messages: &M,
        measured: &mut dyn FnMut(i64) -> Option<(i64, u64)>,
        show: &mut dyn FnMut(CausalOutlier),
    ) -> Result<Compared, M::Error> {
        let mut compared = Compared::default();
        let mut earliest = 0.0;
        let origin = self.solved.origin;
        self.each(messages, &mut |message, point, kind| {
            if let Some(kind) = kind {
                show(self.outlier(message, &point, kind));
            }
            let is_accepted = kind.is_none();
            let accepted = match message.direction {
                Direction::AToB => &mut compared.accepted_ab,
                Direction::BToA => &mut compared.accepted_ba,
            };
            *accepted += u64::from(is_accepted);
            let Some(at) = whole(origin.at, point.t) else { return };
            let Some((offset, error)) = measured(at) else { return };
            let offset = real(i128::from(offset) - origin.offset);
            let is_to_b = message.direction == Direction::AToB;
            let early = if is_to_b { offset } else { -offset } - point.most;
            let is_inverted = early > 0.0;
            compared.inverted_of_all += u64::from(is_inverted);
            if is_accepted {
                compared.inverted += u64::from(is_inverted);
                compared.inverted_ab += u64::from(is_inverted && is_to_b);
                if early > earliest {
                    earliest = early;
                    compared.worst = Some((message.packet_out, message.packet_in));
                }
                let (lo, hi) = self.solved.course.bounds(point.t);
                let outside = (lo - offset).max(offset - hi).max(0.0);
                compared.wrong_by = compared.wrong_by.max(outside as i64);
                let unexplained = (outside - error as f64).max(0.0);
                compared.unexplained = compared.unexplained.max(unexplained as i64);
            }
        })?;
        Ok(compared)
    }

    /// Rule AL20: what `auto` does with an assumed relation.
    pub fn decision(&self, assumed: &Compared) -> Decision {
        let count = self.messages_ab + self.messages_ba;
        let accepted = assumed.accepted_ab.min(assumed.accepted_ba);
        match self.sides {
            Evidence::Contradictory => Decision::Contradictory,
            Evidence::Upper | Evidence::Lower | Evidence::None => Decision::OneSided,
            Evidence::Both if accepted < LEAST_ACCEPTED => Decision::Few,
            Evidence::Both if 20 * self.violated > count => Decision::Violated,
            Evidence::Both if assumed.inverted >= LEAST_INVERTED => Decision::Replace,
            Evidence::Both => Decision::Confirm,
        }
    }

    /// Rule AL18: by how many ns a measured θ, with its error, is outside the interval when A shows
    /// `at` ns; `None` if by at most 1 µs.
    pub fn contradicts(&self, at: i64, offset: i64, error: u64) -> Option<u64> {
        let interval = self.interval(at);
        let below = interval.earliest.filter(|&least| offset < least);
        let above = interval.latest.filter(|&most| offset > most);
        let outside = below.or(above)?.abs_diff(offset).saturating_sub(error);
        (outside > MEASURED).then_some(outside)
    }
}
