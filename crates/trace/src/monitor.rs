//! Lets another thread watch the reading of a trace.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Lets another thread watch the reading of a trace.
///
/// ```
/// use std::sync::atomic::Ordering;
/// let monitor = timebase_trace::Monitor::default();
/// monitor.cancel.store(true, Ordering::Relaxed);
/// ```
#[derive(Debug, Default)]
pub struct Monitor {
    /// The bytes of the source that this pass has read.
    pub bytes_read: AtomicU64,
    /// Whether these were all, and no further pass follows.
    pub is_read: AtomicBool,
    /// The packets that this pass has decoded.
    pub packets: AtomicU64,
    /// Set this to end the import.
    pub cancel: AtomicBool,
    pass: AtomicU8,
    /// The number of bytes in this pass; 0 if unknown.
    of: AtomicU64,
}

/// The purpose of reading bytes. A trace that is read once has one pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pass {
    /// The import uses them, and they are read once.
    #[default]
    Only,
    /// They are copied, because they can be read only once.
    Copy,
    /// This pass collects the snapshots.
    First,
    /// The import uses them.
    Second,
}

impl Monitor {
    /// Starts a pass from the beginning of the bytes, whose number may be known.
    ///
    /// ```
    /// use timebase_trace::{Monitor, Pass};
    /// let monitor = Monitor::default();
    /// monitor.begin(Pass::First, Some(4096));
    /// assert_eq!((monitor.pass(), monitor.of()), (Pass::First, Some(4096)));
    /// ```
    pub fn begin(&self, pass: Pass, of: Option<u64>) {
        self.bytes_read.store(0, Ordering::Relaxed);
        self.packets.store(0, Ordering::Relaxed);
        self.of.store(of.unwrap_or(0), Ordering::Relaxed);
        self.pass.store(pass as u8, Ordering::Relaxed);
    }

    /// The purpose of the current pass.
    pub fn pass(&self) -> Pass {
        let passes = [Pass::Only, Pass::Copy, Pass::First, Pass::Second];
        let pass = usize::from(self.pass.load(Ordering::Relaxed));
        passes.get(pass).copied().unwrap_or_default()
    }

    /// The number of bytes in this pass, if known.
    pub fn of(&self) -> Option<u64> {
        Some(self.of.load(Ordering::Relaxed)).filter(|&of| of > 0)
    }
}
