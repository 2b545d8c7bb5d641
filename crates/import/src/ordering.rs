//! What it costs to have events of all CPUs in the order of time.

use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use timebase_trace::Source;

use crate::error::Error;
use crate::options::Options;
use crate::stages::thrown_away;
use crate::trackers::{Busy, Trackers};

/// What it costs to have the scheduler's events of a trace in the order of time,
/// and what a tracker sees of them then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordering {
    /// How many events of the scheduler have a time.
    pub events: u64,
    /// For how many nanoseconds CPUs ran a thread, from one switch to the next.
    pub busy: i128,
    /// How long it took to read the trace and throw its rows away, with the
    /// scheduler's events in the order of time.
    pub ordered: Duration,
    /// The same without them.
    pub unordered: Duration,
}

/// Reads a trace file twice, with and without the scheduler's events in the order
/// of time. What does not fit memory is put aside in `directory`.
///
/// ```
/// use timebase_import::{Options, ordering};
///
/// let trace = "../../tests/data/system-compressed.pftrace".as_ref();
/// let dir = tempfile::tempdir()?;
/// let ordering = ordering(trace, dir.path(), &Options::default())?;
/// assert!(ordering.events > 40_000 && ordering.busy > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As those of [`import()`](crate::import()).
pub fn ordering(trace: &Path, directory: &Path, options: &Options) -> Result<Ordering, Error> {
    let source = Source::File(trace.into());
    let unordered = thrown_away(&source, Trackers::default(), directory, options)?;
    let (busy, seen) = Busy::new();
    let trackers = Trackers::of(vec![Box::new(busy)]);
    let ordered = thrown_away(&source, trackers, directory, options)?;
    let seen = *seen.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Ordering {
        events: seen.events,
        busy: seen.busy,
        ordered,
        unordered,
    })
}
