//! What conversions remember, for the conversions after them.
//!
//! # Design
//!
//! * The shortest paths to a target are a tree that new snapshots extend
//!   (see `targets.rs`, `routes.rs`).
//! * The rows of several sets that hold both clocks of a hop are put in one order
//!   (see `hop.rs`).
//! * The stretch of values around each clock's last conversion and the whole
//!   path's offset there are remembered (see `recent.rs`), which is all that
//!   packets in order need. A snapshot that may matter to it makes that invalid,
//!   and the next conversion goes hop by hop.
//! * A clock that misses its stretch often while no snapshot arrives gets its
//!   whole mapping composed (see `composed.rs`): one search from then on.
//!
//! Composing the mapping whenever a snapshot arrives was the alternative: it
//! makes an import with many snapshots quadratic. Going hop by hop always would
//! search once a hop for every reading out of order.

use crate::composed::Kept;
use crate::hop::Hops;
use crate::identity::Identity;
use crate::recent::Recent;
use crate::store::Store;
use crate::targets::Targets;

/// What conversions over a [`ClockGraph`](crate::ClockGraph) remember: paths, and where each clock
/// was last. Make one and give it to every conversion; threads that share a graph have
/// one each.
///
/// It is never a reason for another answer. Snapshots that were added to the graph are taken in by the
/// next conversion, and what was remembered of another graph is forgotten.
///
/// ```
/// use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
///
/// let monotonic = Clock::host(3);
/// let mut graph = ClockGraph::new();
/// let mut add = |graph: &mut ClockGraph, read: [u64; 2]| {
///     let clocks = [monotonic, Clock::BOOTTIME].into_iter().zip(read);
///     let readings = clocks.map(|(clock, value)| Reading::new(clock, value, 1, false));
///     let readings = readings.collect::<Result<Vec<_>, _>>()?;
///     graph.add_snapshot(Source::Service, &readings, None)
/// };
/// add(&mut graph, [100, 1100])?;
///
/// let mut cache = ConversionCache::new();
/// let mut convert = |graph: &ClockGraph| {
///     graph.convert(monotonic, ClockNs(205), Clock::BOOTTIME, &mut cache)
/// };
/// assert_eq!(convert(&graph), Ok(ClockNs(1205)));
/// add(&mut graph, [200, 1300])?;
/// assert_eq!(convert(&graph), Ok(ClockNs(1305)));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug)]
pub struct ConversionCache {
    /// Of which graph all below is.
    graph: Identity,
    pub(crate) targets: Targets,
    pub(crate) hops: Hops,
    pub(crate) recent: Recent,
    pub(crate) kept: Kept,
}

impl Default for ConversionCache {
    fn default() -> Self {
        ConversionCache::of(Identity::NONE)
    }
}

impl ConversionCache {
    /// A cache that remembers nothing yet. It allocates with the first conversion.
    pub fn new() -> Self {
        ConversionCache::default()
    }

    fn of(graph: Identity) -> Self {
        ConversionCache {
            graph,
            targets: Targets::default(),
            hops: Hops::default(),
            recent: Recent::default(),
            kept: Kept::default(),
        }
    }

    /// Whether what it remembers is of this graph, if perhaps of fewer snapshots.
    #[inline]
    pub(crate) fn is_of(&self, graph: Identity) -> bool {
        self.graph == graph
    }

    /// Forgets what is of another graph.
    pub(crate) fn begin(&mut self, graph: Identity) {
        if !self.is_of(graph) {
            *self = ConversionCache::of(graph);
        }
    }

    /// Makes it one of this graph, with all snapshots that there are.
    pub(crate) fn refresh(&mut self, graph: Identity, store: &Store) {
        self.begin(graph);
        self.hops.refresh(store);
    }
}
