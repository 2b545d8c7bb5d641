//! The identity of a graph: remembered data about one graph says nothing about another.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that is different for all graphs of a process. The default is a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64);

impl Identity {
    /// The number of no graph.
    pub const NONE: Identity = Identity(0);
}

impl Default for Identity {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Identity(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
