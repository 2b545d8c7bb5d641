//! The clock graph of a trace.
//!
//! A snapshot holds readings of several clocks at one instant. This crate builds a
//! graph of clocks from snapshots, and converts a reading of one clock to another
//! one along the shortest path.
//!
//! | question | where it is decided |
//! |---|---|
//! | which clock is it (rules C) | `clock.rs` |
//! | how people write a clock, and what a misspelt name may mean | `written.rs` |
//! | what is a reading, and what a time | `time.rs` |
//! | how people write a time of day, in which zone | `wall_clock.rs` |
//! | is a snapshot accepted (rules N) | `snapshot.rs`, `graph.rs` |
//! | how snapshots are kept | `store.rs`, `rows.rs` |
//! | which path (rule V3) | `routes.rs`, `targets.rs` |
//! | which snapshot is nearest (rule V2) | `hop.rs` |
//! | what is the whole conversion | `mapping.rs`, `composed.rs` |
//! | what conversions remember | `cache.rs`, `recent.rs`, `identity.rs` |
//! | where it was between two snapshots, and how sure that is (rules R) | `linear/` |
//! | did a clock wrap or restart, and which turn is a reading of (rules R11 to R14) | `turns.rs` |
//! | how a value gets there, and why not (rules V) | `graph/convert.rs`, `unresolved.rs` |
//!
//! See [`ClockGraph`] for an example, and `examples/snapshots.rs` for a program. The core does not
//! depend on SQLite. The module `sql` (feature `sql`, on by default) registers the SQL functions on a
//! rusqlite connection.
//!
//! # Design
//!
//! A [`ClockGraph`] has what snapshots say, and [`Estimates`] have a graph and what machines asked each
//! other. Neither is changed by a conversion, so threads share them by reference. What a
//! conversion remembers for the next one is the caller's, as in gimli an `UnwindContext` is: a
//! [`ConversionCache`] or an [`EstimateCache`], made once and given to each call.
//!
//! A graph grows while it is asked, so a cache may be of fewer snapshots, or of another graph.
//! Every graph has a number of its own, and numbers its snapshots, sets of clocks and excluded clocks in order.
//! By these a cache sees what it has not seen, and takes that in, or begins anew. So it may be
//! slow, and never wrong.
//!
//! * The graph with its caches inside, behind `&mut self`, was the first way. Who shares a graph
//!   has to lock it then, and threads wait for each other to look up what does not change.
//! * Caches inside, behind locks of their own: a conversion takes 4 ns, and a lock as long again.
//! * A cache that borrows the graph, so that the compiler sees that no snapshot comes: an import adds
//!   snapshots between conversions, by the hundred thousand, and would begin anew with each.

mod cache;
mod clock;
mod composed;
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
pub use clock::{Clock, ClockId, FileTag, MachineId, Scope, SeqId, builtin_name};
pub use domain::Domain;
pub use graph::{ClockGraph, Hop, SnapshotId};
pub use linear::{
    Estimate, EstimateCache, Estimates, Fit, Line, LineKind, LinearHop, OffLine, Sample,
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
