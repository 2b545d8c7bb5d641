//! Which graph it is: what is remembered of one says nothing about another.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no two graphs of a process have. The default is a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64);

impl Identity {
    /// Nobody's.
    pub const NONE: Identity = Identity(0);
}

impl Default for Identity {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Identity(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
