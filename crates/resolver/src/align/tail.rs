//! The end of a recording behind a step that is too near to be cut there (rule AL11).

/// A time beyond which a clock may have been set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tail {
    pub from: f64,
    pub end: End,
    /// By how much θ may be lower.
    pub down: f64,
    /// By how much θ may be higher.
    pub up: f64,
}

/// An end of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

pub(super) const ENDS: [End; 2] = [End::First, End::Last];

impl End {
    /// The time from the other end on.
    pub fn order(self, t: f64) -> f64 {
        match self {
            End::First => -t,
            End::Last => t,
        }
    }
}

impl Tail {
    pub fn holds(&self, x: f64) -> bool {
        self.end.order(x) > self.end.order(self.from)
    }

    /// The times between which the interval gets longer.
    pub fn times(&self) -> [f64; 2] {
        match self.end {
            End::First => [self.from - 1.0, self.from],
            End::Last => [self.from, self.from + 1.0],
        }
    }

    /// The bounds with those of the time behind the step.
    pub fn widened(&self, (lo, hi): (f64, f64)) -> (f64, f64) {
        (lo - self.down, hi + self.up)
    }
}
