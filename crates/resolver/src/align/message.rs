//! Messages between two clocks, and the limits of the offset that they set (rules AL1, AL6).

use std::convert::Infallible;

/// The direction of a message between the clocks A and B of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Sent on A, arrived on B: an upper point of rule AL1.
    AToB,
    /// Sent on B, arrived on A: a lower point of rule AL1.
    BToA,
}

/// The side of something that there is once for A and once for B.
pub(super) fn of<T>(both: &mut [T; 2], direction: Direction) -> &mut T {
    let [a, b] = both;
    match direction {
        Direction::AToB => a,
        Direction::BToA => b,
    }
}

/// An event on one clock that happened before an event on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// The clock of the sender and that of the receiver.
    pub direction: Direction,
    /// The reading of the sender's clock, in ns.
    pub sent: i64,
    /// The reading of the receiver's clock, in ns. For a slice, this is its begin.
    pub arrived: i64,
    /// The end of the receiving slice, in ns, if a slice receives the message (rule AL6).
    pub ended: Option<i64>,
    /// The sender's packet; only passed through.
    pub packet_out: i64,
    /// The receiver's packet; only passed through.
    pub packet_in: i64,
}

/// Messages that can be read several times, in the same order: a slice, or a file of records.
///
/// The solver keeps at most 4,096 of them and reads again (rule AL13).
pub trait Messages {
    /// The reason why they cannot be read.
    type Error;

    /// Shows each message to `visit`.
    ///
    /// # Errors
    ///
    /// If the messages cannot be read.
    fn each(&self, visit: &mut dyn FnMut(Message)) -> Result<(), Self::Error>;
}

impl Messages for [Message] {
    type Error = Infallible;

    fn each(&self, visit: &mut dyn FnMut(Message)) -> Result<(), Infallible> {
        self.iter().copied().for_each(visit);
        Ok(())
    }
}

/// The time at which a receiving slice got its message (rule AL6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Arrival {
    /// When the slice began.
    #[default]
    Begin,
    /// When the slice ended: it began early, and waited.
    End,
}

/// The two clocks of a pair.
///
/// ```
/// use timebase_resolver::align::PairClocks;
///
/// let clocks = PairClocks::default();
/// assert_eq!((clocks.unit_a, clocks.unit_b, clocks.max_drift_ppm), (1, 1, 500));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PairClocks {
    /// The unit that A counts, in ns: 1,000 if all its readings are whole microseconds.
    pub unit_a: u32,
    /// The unit that B counts, in ns.
    pub unit_b: u32,
    /// No clock gains more than this on the other, in millionths (rule AL9).
    pub max_drift_ppm: u32,
}

impl Default for PairClocks {
    fn default() -> Self {
        PairClocks { unit_a: 1, unit_b: 1, max_drift_ppm: 500 }
    }
}

/// A limit of θ: at most, or at least, `offset` when A shows `at`. Both are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub direction: Direction,
    pub at: i128,
    pub offset: i128,
}

impl PairClocks {
    /// R of rule AL9.
    pub(super) fn max_drift(self) -> f64 {
        f64::from(self.max_drift_ppm) * 1e-6
    }

    /// Rule AL1. A clock that counts more than nanoseconds cuts its readings off, so a send may be
    /// one unit earlier than it says, and an arrival one later.
    pub(super) fn limit(self, message: &Message, arrival: Arrival) -> Limit {
        let arrived = match arrival {
            Arrival::Begin => message.arrived,
            Arrival::End => message.ended.unwrap_or(message.arrived),
        };
        let (out, into) = match message.direction {
            Direction::AToB => (self.unit_a, self.unit_b),
            Direction::BToA => (self.unit_b, self.unit_a),
        };
        let inexact = |unit: u32| i128::from(if unit > 1 { unit } else { 0 });
        let sent = i128::from(message.sent) - inexact(out);
        let arrived = i128::from(arrived) + inexact(into);
        let (at, offset) = match message.direction {
            Direction::AToB => (sent, arrived - sent),
            Direction::BToA => (arrived, sent - arrived),
        };
        Limit { direction: message.direction, at, offset }
    }
}
