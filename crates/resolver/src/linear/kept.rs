//! The data that estimates keep for the next one.
//!
//! Usually a reading is on the same line as the last one of its clock, so that line is kept for
//! every pair of clocks. If the readings of a pair come in no order, all of its lines are put into
//! an array, once the number of searches reaches a quarter of the number of lines.

use rustc_hash::FxHashMap;

use super::bounds::{Bounded, CausalBound};
use super::fit::Fit;
use super::line::Line;
use crate::cache::ConversionCache;
use crate::identity::Identity;
use crate::recent::Key;
use crate::routes::DomainIx;
use crate::rows::partition;
use crate::unresolved::Unresolved;

/// The limit in bytes. All hops of the largest number of snapshots that SQL functions load take
/// half of it.
const MOST_KEPT: usize = 1 << 30;
/// The largest number of lines in all arrays together: 24 MiB.
pub(super) const LINES: usize = 1 << 18;

/// The memory of conversions with [`Estimates`](crate::Estimates): the lines through the snapshots
/// of each hop, and the last line of each clock. Make one and pass it to every conversion; threads
/// that share estimates have one each.
///
/// It never changes an answer. Data from before new snapshots or samples, or about other estimates,
/// is forgotten.
///
/// ```
/// use timebase_resolver::{Clock, ClockGraph, ClockNs, EstimateCache, Estimates, Reading, Source};
///
/// let device = Clock::host(200);
/// let mut estimates = Estimates::new(ClockGraph::new());
/// let mut cache = EstimateCache::new();
/// for (read, middle) in [([0, 0], 5_000_000_001), ([10_000_000_002, 10_000_500_002], 5_000_250_001)] {
///     let readings = [
///         Reading::new(device, read[0], 1, false)?,
///         Reading::new(Clock::BOOTTIME, read[1], 1, false)?,
///     ];
///     estimates.graph_mut().add_snapshot(Source::Service, &readings, None)?;
///     let value = ClockNs(5_000_000_001);
///     let converted = estimates.convert(device, value, Clock::BOOTTIME, &mut cache);
///     assert_eq!(converted, Ok(ClockNs(middle)));
/// }
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Default)]
pub struct EstimateCache {
    pub(super) conversions: ConversionCache,
    /// The version of all data below.
    pub(super) version: Version,
    pub(super) fits: Vec<Fit>,
    pub(super) fitted: FxHashMap<(DomainIx, DomainIx), usize>,
    pub(super) paths: FxHashMap<Key, Path>,
    pub(super) last: Option<(Key, Line)>,
    /// The number of lines in arrays.
    pub(super) lines: usize,
    /// Whether readings come in order, so that no pair needs an array.
    pub(super) is_in_order: bool,
    kept: usize,
}

/// The identity of the estimates, their samples and snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub estimates: Identity,
    pub graph: Identity,
    pub snapshots: u32,
}

impl Default for Version {
    /// The version of no data.
    fn default() -> Self {
        Version { estimates: Identity::NONE, graph: Identity::NONE, snapshots: 0 }
    }
}

/// The data of a pair of clocks.
#[derive(Debug)]
pub(super) struct Path {
    /// The hops, by their index.
    pub hops: Result<Vec<usize>, Unresolved>,
    /// Those that messages bound.
    pub bounded: Vec<Bounded>,
    pub recent: Line,
    pub misses: usize,
    pub all: Option<Lines>,
}

/// All lines, in order.
#[derive(Debug)]
pub(super) struct Lines {
    starts: Vec<i64>,
    lines: Vec<Line>,
}

impl EstimateCache {
    /// A cache that remembers nothing yet. It allocates with the first conversion.
    pub fn new() -> Self {
        EstimateCache::default()
    }

    /// A cache for readings that are nearly in order for each clock: it searches for each line instead
    /// of finding all lines of a clock at once.
    pub fn in_order() -> Self {
        EstimateCache { is_in_order: true, ..EstimateCache::default() }
    }

    /// The memory of conversions over the graph of the estimates.
    pub fn conversions(&mut self) -> &mut ConversionCache {
        &mut self.conversions
    }

    /// The approximate size of the data for estimates in bytes: 32 for each snapshot of each used
    /// hop, 8 to 18 from 131,072 snapshots on, and some hundred for each pair of clocks.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Forgets the data for estimates. Paths over the graph stay.
    pub fn forget(&mut self) {
        *self = EstimateCache {
            conversions: std::mem::take(&mut self.conversions),
            is_in_order: self.is_in_order,
            ..EstimateCache::default()
        };
    }

    /// Forgets the data of another version, and data beyond the limit: a caller that asks for all
    /// pairs of clocks needs none of them for long.
    pub(super) fn refresh(&mut self, version: Version) {
        if self.version != version || self.kept > MOST_KEPT {
            self.forget();
            self.version = version;
        }
    }

    pub(super) fn keep_path(&mut self, key: Key, path: Path) {
        let bounds = path.bounded.iter().map(|of| of.bounds.len()).sum::<usize>();
        self.kept += size_of::<Key>() + size_of::<Path>() + bounds * size_of::<CausalBound>();
        self.paths.insert(key, path);
    }

    /// Keeps a hop; returns its index.
    pub(super) fn keep_fit(&mut self, hop: (DomainIx, DomainIx), fit: Fit) -> usize {
        self.kept += size_of::<Fit>() + fit.knots.size();
        self.fits.push(fit);
        let index = self.fits.len() - 1;
        self.fitted.insert(hop, index);
        index
    }
}

impl Path {
    pub fn new(hops: Result<Vec<usize>, Unresolved>, bounded: Vec<Bounded>) -> Path {
        Path { hops, bounded, recent: Line::NOWHERE, misses: 0, all: None }
    }
}

/// All lines; the line around a value is already known.
pub(super) fn pieces(around: impl Fn(i64) -> Line) -> impl Iterator<Item = Line> {
    let mut next = Some(i64::MIN);
    std::iter::from_fn(move || {
        let line = around(next?);
        next = line.end;
        Some(line)
    })
}

impl Lines {
    /// `None` if they do not fit.
    pub fn new(pieces: impl Iterator<Item = Line>, room: usize) -> Option<Lines> {
        let mut lines: Vec<Line> = Vec::new();
        for line in pieces {
            if lines.len() == room {
                return None;
            }
            lines.push(line);
        }
        let starts = lines.iter().skip(1).filter_map(|line| line.start);
        Some(Lines { starts: starts.collect(), lines })
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn find(&self, value: i64) -> Line {
        let index = partition(self.starts.len(), |index| self.starts[index] <= value);
        self.lines.get(index).copied().unwrap_or(Line::NOWHERE)
    }
}
