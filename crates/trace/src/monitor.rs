//! A look at the reading of a trace from another thread.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// A look at the reading of a trace from another thread.
///
/// ```
/// use std::sync::atomic::Ordering;
/// let monitor = timebase_trace::Monitor::default();
/// monitor.cancel.store(true, Ordering::Relaxed);
/// ```
#[derive(Debug, Default)]
pub struct Monitor {
    /// How many bytes of the source have been read, in this pass.
    pub bytes_read: AtomicU64,
    /// Whether that was all of them, and no pass comes after it.
    pub is_read: AtomicBool,
    /// How many packets have been decoded, in this pass.
    pub packets: AtomicU64,
    /// Set it to end the import.
    pub cancel: AtomicBool,
    pass: AtomicU8,
    /// How many bytes this pass has to read; 0 if that is not known.
    of: AtomicU64,
}

/// For what bytes are read. A trace that is read once has one pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pass {
    /// The import is made of them, and they are read once.
    #[default]
    Only,
    /// They are put aside, as they can be read only once.
    Copy,
    /// The snapshots are looked for.
    First,
    /// The import is made of them.
    Second,
}

impl Monitor {
    /// The bytes are read from the front, for something else, and there are so many if that is known.
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

    /// For what bytes are read.
    pub fn pass(&self) -> Pass {
        let passes = [Pass::Only, Pass::Copy, Pass::First, Pass::Second];
        let pass = usize::from(self.pass.load(Ordering::Relaxed));
        passes.get(pass).copied().unwrap_or_default()
    }

    /// How many bytes this pass has to read, if somebody has said it.
    pub fn of(&self) -> Option<u64> {
        Some(self.of.load(Ordering::Relaxed)).filter(|&of| of > 0)
    }
}
