//! A look at the reading of a trace from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// A look at the reading of a trace from another thread.
///
/// ```
/// use std::sync::atomic::Ordering;
/// let monitor = timebase_trace::Monitor::default();
/// monitor.cancel.store(true, Ordering::Relaxed);
/// ```
#[derive(Debug, Default)]
pub struct Monitor {
    /// How many bytes of the source have been read.
    pub bytes_read: AtomicU64,
    /// Whether that was all of them.
    pub is_read: AtomicBool,
    /// How many packets have been decoded.
    pub packets: AtomicU64,
    /// Set it to end the import.
    pub cancel: AtomicBool,
}
