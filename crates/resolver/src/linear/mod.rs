//! Rate-aware conversion: where a reading was between two snapshots, and how sure
//! that is (rules R).
//!
//! # The model
//!
//! Two clocks that stand together in snapshots are a *hop*. Of a hop we have
//! readings (a, b); between them nobody looked. Nearest neighbour (rule V2) takes
//! both clocks for equally fast and keeps the offset b − a until the next
//! reading. Clocks are not equally fast: the offset runs, and where nearest
//! neighbour sees that, time jumps.
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
//! What is assumed: that a clock runs evenly between two readings, but for what its
//! rate is seen to change from one gap to the next; that what few readings say
//! against all the others is an outlier, by a scheduling delay between its two clocks;
//! and that what all later readings say is a *step*, a suspend or the wall clock being
//! set, which happened at some time in its gap, or a change of the rate. Which of these
//! it was, the cheapest explanation of the whole hop tells (`choice.rs`). A delay that is always the same cannot be seen, but between machines that asked
//! each other for the time: half of a round trip bounds it (rule R9).
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
//! # Design
//!
//! | question | where it is decided |
//! |---|---|
//! | which readings are on the line, and which is a step (rules R1–R3) | `choice.rs` |
//! | what its nominal rate is, and how noisy the readings are (rules R1, R4, R5) | `fit.rs` |
//! | which samples of a synchronization with another machine are used (rule R9) | `sync.rs` |
//! | what a hop says around a value, and what a path of hops does (rules R4–R6) | `line.rs` |
//! | what a value was, by that | `estimates.rs` |
//! | what is kept of that for the next value | `kept.rs` |
//!
//! A path is a polyline with integer corners. Between two corners all of its hops
//! stay on the same line; there each hop is a straight line, and so are they
//! together. The corners are the estimates, rounded to nanoseconds, so that
//! `value + offset + round((value − start) · slope)` in SQL gives what
//! [`Estimates`] gives, to the bit, and no corner is a jump. That moves a time by
//! at most half a nanosecond a hop, and half a nanosecond for the result.
//!
//! To chain the estimates of the hops in floating point for every reading was the
//! alternative. It is as exact, but a table cannot say it: neither as integers, nor
//! as floating-point offsets, which a wall clock's 1.7e18 ns do not fit.
//!
//! A piece of the polyline is found from the hops around a value, and depends on
//! nothing else. So a table of all pieces is written without being in memory, and a
//! conversion needs the one piece it is on; an array of them is made only for
//! readings that come in no order.

mod choice;
mod estimates;
mod fit;
mod kept;
mod knot;
mod line;
mod sync;

pub use estimates::{Estimate, Estimates, LinearHop};
pub use fit::{Fit, OffLine};
pub use kept::EstimateCache;
pub use line::{Line, LineKind};
pub use sync::Sample;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
