//! Facts about a clock from all of its snapshots.
//!
//! A trace may have 200,000 clocks, so the graph stores only what their snapshots do not tell (see `routes.rs`), and makes
//! these facts when somebody asks for them. Conversions need the unit alone.

use crate::clock::Clock;

/// Facts about one clock domain.
///
/// ```
/// # use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
/// # let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
/// # let mut graph = ClockGraph::new();
/// # for (m, b) in [(1000, 2000), (2000, 3500)] {
/// #     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
/// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// # }
/// let domain = graph.domain(monotonic).unwrap();
/// assert_eq!((domain.snapshots, domain.first_value, domain.last_value), (2, 1000, 2000));
/// assert!(domain.monotonic);
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Domain {
    /// The clock.
    pub clock: Clock,
    /// Nanoseconds in a unit of the clock (rule N3).
    pub unit: i64,
    /// Whether packets hold deltas of it (rule V5).
    pub incremental: bool,
    /// False if snapshots show it going backwards (rule N5).
    pub monotonic: bool,
    /// The number of snapshots that hold it.
    pub snapshots: u64,
    /// Its first reading in file order, in nanoseconds.
    pub first_value: i64,
    /// Its last reading in file order, in nanoseconds.
    pub last_value: i64,
}

/// The form of a clock's readings, which is the same in all of its snapshots.
///
/// ```
/// # use timebase_resolver::{Clock, ClockGraph, ClockUnit, Reading, Source};
/// let mut graph = ClockGraph::new();
/// let reading = Reading::new(Clock::host(200), 5, 1000, false)?;
/// graph.add_snapshot(Source::Writer, &[reading], None)?;
/// assert_eq!(graph.unit(Clock::host(200)), Some(ClockUnit { ns: 1000, incremental: false }));
/// assert_eq!(graph.unit(Clock::BOOTTIME), None);
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClockUnit {
    /// Nanoseconds in a unit of the clock (rule N3).
    pub ns: i64,
    /// Whether packets hold deltas of it (rule V5).
    pub incremental: bool,
}
