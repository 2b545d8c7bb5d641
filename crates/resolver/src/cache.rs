//! The memory of conversions, for later conversions.
//!
//! # Design
//!
//! * The shortest paths to a target are a tree that new snapshots extend
//!   (see `targets.rs`, `routes.rs`).
//! * The rows of several sets that hold both clocks of a hop are put in one order
//!   (see `hop.rs`).
//! * The step of values around each clock's last conversion, with the offset of the whole path, is
//!   remembered (see `recent.rs`); packets in order need nothing else. A snapshot that may change
//!   it makes it invalid, and the next conversion goes hop by hop.
//! * If a clock often misses its step while no snapshot arrives, its whole mapping is composed (see
//!   `composed.rs`): from then on one search is enough.
//!
//! One alternative was to compose the mapping whenever a snapshot arrives: this makes an import
//! with many snapshots quadratic. The other was to go always hop by hop: then every reading that is
//! out of order needs a search.

use crate::composed::Kept;
use crate::hop::Hops;
use crate::identity::Identity;
use crate::recent::Recent;
use crate::store::Store;
use crate::targets::Targets;

/// The memory of conversions over a [`ClockGraph`](crate::ClockGraph): paths, and the last step of
/// each clock. Make one and pass it to every conversion; threads that share a graph have one each.
///
/// It never changes an answer. The next conversion adds snapshots that are new in the graph, and
/// forgets data about another graph.
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
    /// The graph of all data below.
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

    /// Whether its data are about this graph, perhaps with fewer snapshots.
    #[inline]
    pub(crate) fn is_of(&self, graph: Identity) -> bool {
        self.graph == graph
    }

    /// Forgets data about another graph.
    pub(crate) fn begin(&mut self, graph: Identity) {
        if !self.is_of(graph) {
            *self = ConversionCache::of(graph);
        }
    }

    /// Makes its data those of this graph, with all of its snapshots.
    pub(crate) fn refresh(&mut self, graph: Identity, store: &Store) {
        self.begin(graph);
        self.hops.refresh(store);
    }
}
