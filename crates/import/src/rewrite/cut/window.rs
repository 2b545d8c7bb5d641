//! The time that is cut out, and the counts of a cut.

use std::path::Path;

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

/// The choice of the window: a [`Window`], or a function that gets the path of a database with the slices of the whole
/// trace, and says why it cannot choose.
pub trait Choice {
    /// A window that has the chosen one, if one is known before the trace is read. It saves an import of the slices.
    fn known(&self) -> Option<Window>;

    /// Chooses by a database of the whole trace. If a window was known, the database has no slices behind it.
    ///
    /// # Errors
    ///
    /// The reason, for the user, why there is no such window.
    fn choose(self, database: &Path) -> Result<Window, String>;
}

impl Choice for Window {
    fn known(&self) -> Option<Window> {
        Some(*self)
    }

    fn choose(self, _: &Path) -> Result<Window, String> {
        Ok(self)
    }
}

impl<F: FnOnce(&Path) -> Result<Window, String>> Choice for F {
    fn known(&self) -> Option<Window> {
        None
    }

    fn choose(self, database: &Path) -> Result<Window, String> {
        self(database)
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
