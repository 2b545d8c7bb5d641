//! The clock graph of a trace.
//!
//! A snapshot holds readings of several clocks at one instant. This crate builds a
//! graph of clocks from snapshots, and converts a reading of one clock to another
//! one along the shortest path.
//!
//! | question | decided in |
//! |---|---|
//! | the relation of clocks by messages alone (rules AL) | `align/` |
//! | the identity of a clock (rules C) | `clock.rs` |
//! | how people write a clock, and the likely meaning of a misspelt name | `written.rs` |
//! | readings and times | `time.rs` |
//! | how people write a time of day and its zone | `wall_clock.rs` |
//! | whether a snapshot is accepted (rules N) | `snapshot.rs`, `graph.rs` |
//! | how snapshots are stored | `store.rs`, `rows.rs` |
//! | the path (rule V3) | `routes.rs`, `targets.rs` |
//! | the nearest snapshot (rule V2) | `hop.rs` |
//! | the line of a hop whose corners follow from messages (rules AL16, AL20) | `corners.rs` |
//! | the whole conversion as a table | `mapping.rs`, `composed.rs` |
//! | the memory of conversions | `cache.rs`, `recent.rs`, `identity.rs` |
//! | the time between two snapshots, and its possible error (rules R) | `linear/` |
//! | whether a clock wrapped or restarted, and the turn of a reading (rules R11 to R14) | `turns.rs` |
//! | the hops of a value, and the reason without a path (rules V) | `graph/convert.rs`, `unresolved.rs` |
//!
//! See [`ClockGraph`] for an example, and `examples/snapshots.rs` for a program. The core does not
//! depend on SQLite. The module `sql` (feature `sql`, on by default) registers the SQL functions on a
//! rusqlite connection.
//!
//! # Design
//!
//! A [`ClockGraph`] has the contents of snapshots, and [`Estimates`] have a graph and the samples
//! of machines that asked each other for the time. A conversion changes neither, so threads share
//! them by reference. The caller owns the memory of conversions, like an `UnwindContext` in gimli:
//! a [`ConversionCache`] or an [`EstimateCache`], made once and passed to each call.
//!
//! A graph grows between conversions, so a cache may know fewer snapshots, or another graph. Every
//! graph has its own number, and numbers its snapshots, sets of clocks and excluded clocks in
//! order. So a cache knows which of them are new, and adds them or starts again. So it may be slow,
//! but never wrong.
//!
//! These alternatives were tried:
//!
//! * The graph with its caches inside, behind `&mut self`: threads that share a graph must lock it,
//!   and wait for each other to look up data that does not change.
//! * Caches inside, behind locks of their own: a conversion takes 4 ns, and a lock as long again.
//! * A cache that borrows the graph, so that the compiler rules out new snapshots: an import adds
//!   snapshots between conversions, by the hundred thousand, and the cache would start again with
//!   each.

pub mod align;
mod cache;
mod clock;
mod composed;
mod corners;
mod domain;
mod graph;
mod hop;
mod identity;
mod linear;
mod mapping;
mod mended;
mod recent;
mod routes;
mod rows;
mod snapshot;
#[cfg(feature = "sql")]
pub mod sql;
mod store;
mod targets;
mod tight;
mod time;
mod turns;
mod unresolved;
#[cfg(feature = "sql")]
mod wall_clock;
mod written;

pub use cache::ConversionCache;
pub use clock::{Clock, ClockId, FileTag, MachineId, OwnClocks, Scope, SeqId, builtin_name};
pub use domain::{ClockUnit, Domain};
pub use graph::{ClockGraph, Hop, SnapshotId};
pub use linear::{
    CausalBound, CausalKnot, Estimate, EstimateCache, Estimates, Fit, Kinship, Line, LineKind,
    LinearHop, OffLine, Sample,
};
pub use mapping::{Mapping, Step};
pub use mended::{Mended, ReadAt};
pub use snapshot::{Reading, Rejected, Source};
pub use time::{ClockNs, Ticks};
pub use turns::{Continued, Turn, TurnPoint, Turns};
pub use unresolved::Unresolved;
#[cfg(feature = "sql")]
pub use wall_clock::{NotATime, NotAZone, WallTime, Zone};
pub use written::{NotAClock, UnknownName, WrittenClock};
