//! Rate-aware conversion: the time of a reading between two snapshots, and its possible error
//! (rules R).
//!
//! # The model
//!
//! Two clocks that snapshots read together are a *hop*. A hop has readings (a, b); between them
//! nothing is measured. Nearest neighbour (rule V2) assumes that both clocks are equally fast, and
//! keeps the offset b − a until the next reading. But clocks are not equally fast: the offset
//! drifts, and when nearest neighbour notices that, time jumps.
//!
//! ```text
//!  b − a
//!    │                                 ×  outlier: its clocks were not
//!    │                                    read together
//!    │            ┌┄┄┄┄┄┄┄┄┄┄● ─ ─ ─ ─   the line goes on with the hop's
//!    │            ┆    ╱╱╱╱ ┆             median rate, ever less sure
//!    │        ╱●╱╱╱  nearest: flat, then a jump
//!    │     ╱╱╱  linear: the line from reading to reading
//!    │ ─ ●┄┄┄┄┄┄┄┄┄┄
//!    └──────────────────────────────────────────── a
//! ```
//!
//! The model has three assumptions. A clock runs evenly between two readings, except for the
//! changes of its rate that the gaps show. If a few readings contradict all others, they are
//! outliers, due to a scheduling delay between the reads of the two clocks. If all later readings
//! agree on a difference, it is a *step* (a suspend, or the wall clock being set), which happened
//! at some time in its gap, or a change of the rate. The cheapest explanation of the whole hop
//! decides between these (`choice.rs`). A constant delay is invisible, except between machines that
//! asked each other for the time: half of a round trip bounds it (rule R9).
//!
//! ```text
//!  error
//!    │      ╱╲          ╱╲            w · distance to the nearer reading, where w
//!    │    ╱    ╲      ╱    ╲      ╱   is how much the rate changed beside it,
//!    │  ╱        ╲  ╱        ╲  ╱
//!    │ ●┄┄┄┄┄┄┄┄┄┄●┄┄┄┄┄┄┄┄┄┄┄┄●      on top of the noise of the readings
//!    └──────────────────────────────── a
//! ```
//!
//! Few readings show little: two that are 16 µs apart say nothing about the next second. So a rate is
//! known only as well as its readings and what clocks usually do allow (`rate.rs`), and clocks of
//! one timekeeper have no rate at all, only an offset (`kin.rs`).
//!
//! # Design
//!
//! | question | decided in |
//! |---|---|
//! | the kinds of the clocks, and the resolution of their readings (rules R30, R32) | `clocks.rs` |
//! | the offsets of clocks of one timekeeper (rules R30, R31) | `kin.rs` |
//! | a rate, and what is a change of it (rules R33, R35) | `rate.rs` |
//! | the readings on the line, and the steps (rules R1–R3) | `choice.rs` |
//! | the nominal rate, and the noise of the readings (rules R1, R4, R5) | `fit.rs` |
//! | the used samples of a synchronization with another machine (rule R9) | `sync.rs` |
//! | the errors of a relation that follows from messages (rules AL16, AL20) | `causal.rs` |
//! | the bounds by messages of a relation that is measured (rule AL18) | `bounds.rs` |
//! | the line of a hop around a value, and of a path of hops (rules R4–R6) | `line.rs` |
//! | the value by that | `estimates.rs` |
//! | the readings of a hop in memory | `knots.rs` |
//! | medians of many numbers | `select.rs` |
//! | the data that is kept for the next value | `kept.rs` |
//!
//! A path is a polyline with integer corners. Between two corners, all of its hops stay on the same
//! line; each hop is a straight line there, so all of them together are one. The corners are the
//! estimates, rounded to nanoseconds, so `value + offset + round((value − start) · slope)` in SQL
//! returns exactly the same as [`Estimates`], and no corner is a jump. This moves a time by at most
//! half a nanosecond for each hop, and half a nanosecond for the result.
//!
//! The alternative was to chain the estimates of the hops in floating point for every reading. It
//! is as exact, but a table cannot contain it: neither as integers, nor as floating-point offsets,
//! which cannot hold the 1.7e18 ns of a wall clock.
//!
//! The hops around a value determine a piece of the polyline, which depends on nothing else. So a
//! table of all pieces is written without having it in memory, and a conversion needs only its own
//! piece; an array of all pieces is made only for readings that come in no order.

mod bounds;
mod causal;
mod choice;
mod clocks;
mod estimates;
mod exact;
mod fit;
mod kept;
mod kin;
mod kin_fit;
mod knot;
mod knots;
mod left_out;
mod line;
mod rate;
mod select;
mod sync;

pub use bounds::CausalBound;
pub use causal::CausalKnot;
pub use estimates::{Estimate, Estimates, LinearHop};
pub use fit::{Fit, OffLine};
pub use kept::EstimateCache;
pub use kin::Kinship;
pub use line::{Line, LineKind};
pub use sync::Sample;

pub(crate) use exact::{real, truncated};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
