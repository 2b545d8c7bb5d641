//! The time that is cut out, and the counts of a cut.

/// A part of a trace's time, in nanoseconds of trace time.
///
/// ```
/// use timebase_import::Window;
///
/// let window = Window { from: 100, to: 200 };
/// assert!(window.contains(100) && !window.contains(200));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first nanosecond.
    pub from: i64,
    /// The nanosecond behind its last one.
    pub to: i64,
}

impl Window {
    /// Whether a time lies in it.
    pub fn contains(&self, ts: i64) -> bool {
        (self.from..self.to).contains(&ts)
    }
}

/// The counts of a trace that was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The time that was cut out.
    pub window: Window,
    /// The first and the last time of the trace that was read.
    pub of: Window,
    /// The packets with times before the window that are in the new trace, because the state at its begin comes from
    /// them.
    pub carried: u64,
    /// The packets that the cut added.
    pub added: u64,
}
