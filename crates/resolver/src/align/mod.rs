//! Clocks aligned by causality: no message arrives before it is sent (rules AL).
//!
//! # The model
//!
//! Each message from A to B bounds θ, what B shows more than A, from above, and each message back
//! bounds it from below. Clocks drift slowly, so a message also bounds θ at other times, ever less:
//! a cone. The bounds of all cones are the interval. The line through the middle of a narrower
//! corridor inside it is the estimate, and it turns no accepted message around.
//!
//! ```text
//!  θ   ╲  v    ╱╲ v  ╱        v: messages from A to B, θ is below them
//!     v ╲╱ ╲  ╱  ╲╱ ╱   hi
//!     ─ ─ ─ ─╲╱─ ─ ─ ─        the estimate
//!      ╱╲  ╱╲    ╱╲  ╱  lo
//!     ╱  ^╱  ╲  ╱  ^╱         ^: messages from B to A, θ is above them
//!    └─────────^──────── a
//! ```
//!
//! # Design
//!
//! | question | decided in |
//! |---|---|
//! | the bound that a message sets (rules AL1, AL6) | `message.rs` |
//! | the bounds of all (rule AL9) | `cones.rs` |
//! | the messages that contradict the others (rule AL10) | `violated.rs` |
//! | where a clock was set or slept (rule AL11) | `steps.rs` |
//! | where it may have been, near an end (rule AL11) | `tails.rs` |
//! | clocks that drift too fast (rule AL14) | `drift.rs` |
//! | the possible rates (rule AL12) | `rates.rs`, `bins.rs` |
//! | the messages to keep of many (rule AL13) | `sample.rs` |
//! | the messages that were stamped late (rule AL15) | `suspects.rs` |
//! | the estimate (rule AL16) | `stretch.rs`, `course.rs` |
//! | the result of a pair | `alignment.rs` |
//! | what messages bound (rule AL14) | `evidence.rs` |
//! | the relations that they contradict (rules AL18, AL20) | `verdict.rs` |
//! | several clocks (rule AL17) | `network.rs`, `edge.rs`, `paths.rs` |
//! | the corners that a relation keeps (rule AL17) | `corners.rs` |
//! | collectives that end together (rule AL19) | `ends.rs` |
//!
//! Two alternatives were rejected. *One line* (Duda 1987, Trace Compass) is .1 µs off if the drift
//! is constant, and 10 s if one message in twenty has a wrong partner; a step breaks it. *Moving
//! single events* (the controlled logical clock, Jaeger) hides the fault that it repairs.
//!
//! The module knows no trace: messages come from [`Messages`], and results are numbers.

mod alignment;
mod bins;
mod cones;
mod corners;
mod course;
mod drift;
mod edge;
mod ends;
mod evidence;
mod message;
mod network;
mod paths;
mod rates;
mod sample;
mod steps;
mod stretch;
mod suspects;
mod tail;
mod tails;
mod verdict;
mod violated;

pub use alignment::{Alignment, AlignmentKnot, CausalOutlier, Interval, OutlierKind, align};
pub use ends::CollectiveEnds;
pub use evidence::Evidence;
pub use message::{Arrival, Direction, Message, Messages, PairClocks};
pub use network::{AlignedPair, KnotsOf, MeasuredPair, Network};
pub use verdict::{Compared, Decision, LEAST_INVERTED};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
