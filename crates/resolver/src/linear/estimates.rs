//! Estimates over a clock graph, and what is kept for the next one.
//!
//! A reading is mostly on the line where the last one of its clock was, so that line is
//! kept for every pair of clocks. Of a pair whose readings come in no order all lines are
//! put into an array, when as many have been looked for as a quarter of what there are.

use rustc_hash::FxHashMap;

use super::fit::{Fit, Knot};
use super::line::{Line, LineKind, Part, Parts};
use super::sync::{self, Sample};
use crate::clock::Clock;
use crate::graph::{ClockGraph, SnapshotId};
use crate::recent::Key;
use crate::routes::DomainIx;
use crate::rows::partition;
use crate::snapshot::Source;
use crate::time::{ClockNs, Ticks};
use crate::unresolved::Unresolved;

/// How many bytes may be kept. All hops of the most snapshots that SQL functions load take half of it.
const MOST_KEPT: usize = 1 << 30;
/// How many lines all arrays may have together: 24 MiB.
const LINES: usize = 1 << 18;
/// From how many readings off the line an array is made.
const MISSES: usize = 64;

/// Where a reading was, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The reading of the target clock.
    pub value: ClockNs,
    /// How far it may be off, in ns (rule R5); infinite where nobody knows it, because the path
    /// leads over what is assumed (rule X26).
    pub error_ns: f64,
    /// On what it rests.
    pub kind: LineKind,
}

impl Estimate {
    /// The error in whole nanoseconds, rounded up; `None` where nobody knows it.
    ///
    /// ```
    /// use timebase_resolver::{ClockNs, Estimate, LineKind};
    ///
    /// let (value, kind) = (ClockNs(1000), LineKind::Line);
    /// let estimate = Estimate { value, error_ns: 100.2, kind };
    /// assert_eq!(estimate.error(), Some(101));
    /// assert_eq!(estimate.interval(), Some((899, 1101)));
    /// ```
    pub fn error(&self) -> Option<i64> {
        let error = self.error_ns.ceil();
        error.is_finite().then_some(error as i64)
    }

    /// Between which readings of the target it was; `None` where nobody knows it.
    pub fn interval(&self) -> Option<(i64, i64)> {
        let ClockNs(value) = self.value;
        let error = self.error()?;
        Some((value.saturating_sub(error), value.saturating_add(error)))
    }
}

/// One hop of an estimate, as one would do it by hand:
/// `value_out = to_value + (value_in − from_value) · rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearHop {
    /// The clock the hop starts at.
    pub from: Clock,
    /// The clock it leads to.
    pub to: Clock,
    /// The readings before and after, as the snapshot, none of a sample (rule R9), and what both
    /// clocks read in it.
    pub before: Option<(Option<SnapshotId>, i64, i64)>,
    /// See `before`.
    pub after: Option<(Option<SnapshotId>, i64, i64)>,
    /// Nanoseconds of `to` in one of `from`.
    pub rate: f64,
    /// What the hop adds to the error, in ns of `to`; infinite where nobody knows it.
    pub error_ns: f64,
    /// On what it rests.
    pub kind: LineKind,
    /// The value before the hop.
    pub value_in: i128,
    /// The value after it.
    pub value_out: i128,
}

/// Rate-aware conversions (rules R) over the snapshots of a whole trace.
///
/// A clock that gains 50 ns a millisecond, read twice:
///
/// ```
/// use timebase_resolver::{Clock, ClockGraph, ClockNs, Estimates, Reading, Source};
///
/// let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
/// let mut graph = ClockGraph::new();
/// for (m, b) in [(0, 0), (10_000_000, 10_000_500)] {
///     let readings = [
///         Reading::new(monotonic, m, 1, false)?,
///         Reading::new(boottime, b, 1, false)?,
///     ];
///     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// }
/// let mut estimates = Estimates::new(graph);
/// let estimate = estimates.at(monotonic, ClockNs(5_000_000), boottime).unwrap();
/// assert_eq!(estimate.value, ClockNs(5_000_250));
/// // Nothing tells how exactly two snapshots were read.
/// assert!((1000.0..1006.0).contains(&estimate.error_ns));
///
/// // Nearest neighbour takes both for equally fast.
/// let nearest = estimates.graph_mut().convert(monotonic, ClockNs(5_000_000), boottime);
/// assert_eq!(nearest, Ok(ClockNs(5_000_000)));
///
/// // What is known of the hop.
/// let fit = estimates.fit(monotonic, boottime).unwrap();
/// assert_eq!((fit.readings, fit.steps.len()), (2, 0));
/// assert!((fit.drift_ppm().unwrap() - 50.0).abs() < 1e-6);
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Default)]
pub struct Estimates {
    graph: ClockGraph,
    /// The samples that are used, by the clocks of client and host.
    samples: FxHashMap<(Clock, Clock), Vec<Sample>>,
    /// Of how many snapshots all below is.
    snapshots: u32,
    fits: Vec<Fit>,
    fitted: FxHashMap<(DomainIx, DomainIx), usize>,
    paths: FxHashMap<Key, Path>,
    last: Option<(Key, Line)>,
    /// How many lines are in arrays.
    lines: usize,
    kept: usize,
}

/// What is kept of a pair of clocks.
#[derive(Debug)]
struct Path {
    /// The hops, by their index.
    hops: Result<Vec<usize>, Unresolved>,
    recent: Line,
    misses: usize,
    all: Option<Lines>,
}

/// All lines, in order.
#[derive(Debug)]
struct Lines {
    starts: Vec<i64>,
    lines: Vec<Line>,
}

impl Estimates {
    /// Estimates by the snapshots of a graph.
    pub fn new(graph: ClockGraph) -> Self {
        Estimates {
            graph,
            ..Estimates::default()
        }
    }

    /// Estimates by the snapshots of another graph, and these samples.
    pub(crate) fn of_other(&self, graph: ClockGraph) -> Estimates {
        Estimates {
            graph,
            samples: self.samples.clone(),
            ..Estimates::default()
        }
    }

    /// The graph.
    pub fn graph(&self) -> &ClockGraph {
        &self.graph
    }

    /// The graph. Snapshots that are added to it count from then on.
    pub fn graph_mut(&mut self) -> &mut ClockGraph {
        &mut self.graph
    }

    /// The graph, without what was kept for estimates.
    pub fn into_graph(self) -> ClockGraph {
        self.graph
    }

    /// Forgets what is kept for the next conversions. Samples stay.
    pub fn forget(&mut self) {
        *self = Estimates {
            graph: std::mem::take(&mut self.graph),
            samples: std::mem::take(&mut self.samples),
            ..Estimates::default()
        };
    }

    /// Gives all samples that a client's clock and one of a host have (rule X24), in any order, in
    /// the place of what was given before; tells which of them are used (rule R9). They count for
    /// the hop between the two where snapshots of nothing better than
    /// [`RemoteSync`](Source::RemoteSync) hold both.
    ///
    /// ```
    /// use timebase_resolver::*;
    ///
    /// let (host, guest) = (Clock::BOOTTIME, Clock { machine: MachineId(1), ..Clock::BOOTTIME });
    /// let read = |clock, value| Reading { clock, value, unit: 1, incremental: false };
    /// let mut graph = ClockGraph::new();
    /// // Rule X21: the average of all.
    /// let pair = [read(host, 60_000_000_000), read(guest, 90_003_000_000)];
    /// graph.add_snapshot(Source::RemoteSync, &pair, None)?;
    ///
    /// let mut estimates = Estimates::new(graph);
    /// let sample = |host_value, offset, half_round_trip| Sample { host_value, offset, half_round_trip };
    /// let used = estimates.add_sync(guest, host, &[
    ///     sample(0, 30_000_000_000, 1_000),
    ///     sample(60_000_000_000, 30_006_000_000, 1_000),
    ///     sample(60_000_001_000, 30_006_000_700, 1_500), // of the same round, and slower
    /// ]);
    /// assert_eq!(used, [true, true, false]);
    /// let estimate = estimates.at(guest, ClockNs(60_003_000_000), host).unwrap();
    /// assert_eq!(estimate.value, ClockNs(30_000_000_000));
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn add_sync(&mut self, client: Clock, host: Clock, samples: &[Sample]) -> Vec<bool> {
        let used = sync::used(samples, client.id.is_coarse());
        let kept = samples.iter().zip(&used).filter(|(_, is_used)| **is_used);
        let kept: Vec<Sample> = kept.map(|(sample, _)| *sample).collect();
        self.add_used_sync(client, host, kept);
        used
    }

    /// Gives the samples that are used, as [`add_sync`](Estimates::add_sync) has told: of them,
    /// only what no line can go through is left out.
    pub fn add_used_sync(&mut self, client: Clock, host: Clock, samples: Vec<Sample>) {
        self.samples.insert((client, host), samples);
        self.forget();
    }

    /// The samples of a hop, if it is one between a client and a host; and whether it starts at
    /// the client.
    fn samples_of(&self, hop: (DomainIx, DomainIx)) -> Option<(&[Sample], bool)> {
        if self.samples.is_empty() || self.graph.source_of(hop) != Some(Source::RemoteSync) {
            return None;
        }
        let clock = |domain: DomainIx| Some(self.graph.domains().get(domain as usize)?.clock);
        let (from, to) = (clock(hop.0)?, clock(hop.1)?);
        let forward = self.samples.get(&(from, to)).map(|samples| (samples, true));
        let backward = || {
            self.samples
                .get(&(to, from))
                .map(|samples| (samples, false))
        };
        let (samples, from_client) = forward.or_else(backward)?;
        Some((samples.as_slice(), from_client))
    }

    /// About how many bytes are kept: 32 for each snapshot of each hop that was used, and some
    /// hundred for each pair of clocks.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Converts a value, in nanoseconds, from one clock to another (rules R4, R6, R7).
    ///
    /// # Errors
    ///
    /// Why it cannot be (rule V7).
    #[inline]
    pub fn convert(
        &mut self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
    ) -> Result<ClockNs, Unresolved> {
        let line = self.line(from, ClockNs(value), to)?;
        line.convert(value).map(ClockNs).ok_or(Unresolved::Overflow)
    }

    /// Converts a reading in units of so many nanoseconds (rule V4).
    ///
    /// # Errors
    ///
    /// Why it cannot be (rule V7).
    #[inline]
    pub fn convert_ticks(
        &mut self,
        from: Clock,
        ticks: Ticks,
        unit: i64,
        to: Clock,
    ) -> Result<ClockNs, Unresolved> {
        match ticks.in_units_of(unit) {
            Some(value) => self.convert(from, value, to),
            None => Err(self.graph.overflow(from, to)),
        }
    }

    /// Where a reading was, and how sure that is.
    ///
    /// # Errors
    ///
    /// Why it cannot be told (rule V7).
    #[inline]
    pub fn at(
        &mut self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
    ) -> Result<Estimate, Unresolved> {
        let line = self.line(from, ClockNs(value), to)?;
        let converted = line.convert(value).ok_or(Unresolved::Overflow)?;
        Ok(Estimate {
            value: ClockNs(converted),
            error_ns: line.error_at(value),
            kind: line.kind,
        })
    }

    /// The line that a value is on.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    #[inline]
    pub fn line(
        &mut self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
    ) -> Result<Line, Unresolved> {
        let key = Key::new(from, to);
        if let Some((last, line)) = &self.last
            && *last == key
            && line.holds(value)
            && self.snapshots == self.graph.snapshots()
        {
            return Ok(*line);
        }
        let line = self.find_line(key, from, value, to)?;
        self.last = Some((key, line));
        Ok(line)
    }

    #[cold]
    #[inline(never)]
    fn find_line(
        &mut self,
        key: Key,
        from: Clock,
        value: i64,
        to: Clock,
    ) -> Result<Line, Unresolved> {
        if from == to {
            return Ok(Line::identity(value));
        }
        self.refresh();
        self.prepare(key, from, to);
        let Some(path) = self.paths.get_mut(&key) else {
            return Err(Unresolved::NoPath);
        };
        let hops = path.hops.as_ref().map_err(|&reason| reason)?;
        if path.recent.holds(value) {
            return Ok(path.recent);
        }
        if let Some(all) = &path.all {
            path.recent = all.find(value);
            return Ok(path.recent);
        }
        path.misses += 1;
        let fits = &self.fits;
        let around = |value| Parts::around(hops.iter().map(|&hop| &fits[hop]), value).line();
        let line: Line = around(value);
        path.recent = line;
        let readings: usize = hops.iter().map(|&hop| fits[hop].readings).sum();
        if path.misses == MISSES.max(readings / 4) {
            path.all = Lines::new(pieces(around), LINES - self.lines);
            self.lines += path.all.as_ref().map_or(0, |all| all.lines.len());
        }
        Ok(line)
    }

    /// All lines of a conversion, in order of their values.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn lines(
        &mut self,
        from: Clock,
        to: Clock,
    ) -> Result<impl Iterator<Item = Line> + use<'_>, Unresolved> {
        let hops = self.path(from, to)?;
        let fits = &self.fits;
        Ok(pieces(move |value| match hops.is_empty() {
            true => Line::identity(value),
            false => Parts::around(hops.iter().map(|&hop| &fits[hop]), value).line(),
        }))
    }

    /// How many lines a conversion has at most, if it does not go back.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn lines_at_most(&mut self, from: Clock, to: Clock) -> Result<usize, Unresolved> {
        let hops = self.graph.hops(from, to)?;
        let of_hop = |&hop| {
            let samples = self.samples_of(hop).map_or(0, |(samples, _)| samples.len());
            2 * self.graph.readings(hop).max(samples)
        };
        Ok(2 + hops.iter().map(of_hop).sum::<usize>())
    }

    /// The hops of a path, all fitted.
    fn path(&mut self, from: Clock, to: Clock) -> Result<Vec<usize>, Unresolved> {
        if from == to {
            return Ok(Vec::new());
        }
        self.refresh();
        let key = Key::new(from, to);
        self.prepare(key, from, to);
        match self.paths.get(&key) {
            Some(path) => path.hops.clone(),
            None => Err(Unresolved::NoPath),
        }
    }

    /// The estimate of a value, hop by hop. It has no hops if both clocks are the same.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn explain(
        &mut self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
    ) -> Result<Vec<LinearHop>, Unresolved> {
        let hops = self.path(from, to)?;
        let clocks = self.graph.path(from, to)?;
        let end = self.line(from, ClockNs(value), to)?.convert(value);
        let fits = || hops.iter().map(|&hop| &self.fits[hop]);
        let parts = Parts::around(fits(), value);
        let steps = clocks.windows(2).zip(fits()).zip(parts.with_values(value));
        let hop = |((clocks, fit), (part, at)): ((&[Clock], &Fit), (&Part, i128))| LinearHop {
            from: clocks[0],
            to: clocks[1],
            before: fit.reading(part.around[0], Side::Before),
            after: fit.reading(part.around[1], Side::After),
            rate: part.rate(),
            error_ns: part.error_at(at),
            kind: part.kind,
            value_in: at,
            value_out: part.value(at),
        };
        let mut steps: Vec<LinearHop> = steps.map(hop).collect();
        // Between corners of whole nanoseconds, all hops together may be one off.
        if let (Some(last), Some(end)) = (steps.last_mut(), end) {
            last.value_out = end.into();
        }
        Ok(steps)
    }

    /// What is known of a hop: of two clocks that a path has as neighbours.
    ///
    /// # Errors
    ///
    /// Why there is no path of one hop between them (rule V7).
    pub fn fit(&mut self, from: Clock, to: Clock) -> Result<&Fit, Unresolved> {
        match self.path(from, to)?.as_slice() {
            &[hop] => Ok(&self.fits[hop]),
            _ => Err(Unresolved::NoPath),
        }
    }

    /// What is known of the hops of a path, with the clocks of each and who took its snapshots
    /// (rule V2).
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn fits(
        &mut self,
        from: Clock,
        to: Clock,
    ) -> Result<impl Iterator<Item = (Clock, Clock, Option<Source>, &Fit)>, Unresolved> {
        let fitted = self.path(from, to)?;
        let hops = self.graph.hops(from, to)?;
        let (graph, fits) = (&self.graph, &self.fits);
        let known = hops.into_iter().zip(fitted);
        Ok(known.map(move |(hop, fitted)| {
            let [from, to] = [hop.0, hop.1].map(|domain| graph.domains()[domain as usize].clock);
            (from, to, graph.source_of(hop), &fits[fitted])
        }))
    }

    /// Forgets what is not of all snapshots, and what is too much: who asks for all pairs of clocks
    /// needs none of them for long.
    fn refresh(&mut self) {
        if self.snapshots != self.graph.snapshots() || self.kept > MOST_KEPT {
            self.forget();
            self.snapshots = self.graph.snapshots();
        }
    }

    fn prepare(&mut self, key: Key, from: Clock, to: Clock) {
        if self.paths.contains_key(&key) {
            return;
        }
        let hops = self.graph.hops(from, to);
        let hops = hops.map(|hops| {
            let fitted = hops.into_iter().map(|hop| self.fitted(hop));
            fitted.collect()
        });
        self.kept += size_of::<Key>() + size_of::<Path>();
        let path = Path {
            hops,
            recent: Line::NOWHERE,
            misses: 0,
            all: None,
        };
        self.paths.insert(key, path);
    }

    /// The index of a hop, fitted.
    fn fitted(&mut self, hop: (DomainIx, DomainIx)) -> usize {
        if let Some(&index) = self.fitted.get(&hop) {
            return index;
        }
        let fit = self.fit_anew(hop);
        self.kept += size_of::<Fit>() + size_of_val(&fit.knots[..]);
        self.fits.push(fit);
        let index = self.fits.len() - 1;
        self.fitted.insert(hop, index);
        index
    }

    /// Fits a hop to its samples, or to its snapshots.
    fn fit_anew(&self, hop: (DomainIx, DomainIx)) -> Fit {
        let graph = &self.graph;
        let clock = |domain: DomainIx| graph.domains().get(domain as usize).map(|of| of.clock);
        let clocks = [clock(hop.0), clock(hop.1)];
        let is_coarse = clocks.iter().flatten().any(|clock| clock.id.is_coarse());
        if let Some((samples, from_client)) = self.samples_of(hop) {
            let knots = sync::knots(samples, from_client, is_coarse);
            if !knots.is_empty() {
                return Fit::of_samples(knots);
            }
        }
        let mut knots = Vec::with_capacity(graph.readings(hop));
        graph.each_reading(hop, |a, b, snapshot| knots.push(Knot::read(a, b, snapshot)));
        match graph.source_of(hop) {
            Some(Source::Manifest) => {
                let [from, to] = clocks.map(|clock| clock.map(|clock| clock.machine));
                Fit::said(knots, from == to)
            }
            Some(Source::Assumed) => Fit::said(knots, false),
            _ => Fit::new(knots, is_coarse),
        }
    }
}

/// All lines, given the one around a value.
fn pieces(around: impl Fn(i64) -> Line) -> impl Iterator<Item = Line> {
    let mut next = Some(i64::MIN);
    std::iter::from_fn(move || {
        let line = around(next?);
        next = line.end;
        Some(line)
    })
}

impl Lines {
    /// `None` if they are more than there is room for.
    fn new(pieces: impl Iterator<Item = Line>, room: usize) -> Option<Lines> {
        let mut lines: Vec<Line> = Vec::new();
        for line in pieces {
            if lines.len() == room {
                return None;
            }
            lines.push(line);
        }
        let starts = lines.iter().skip(1).filter_map(|line| line.start);
        Some(Lines {
            starts: starts.collect(),
            lines,
        })
    }

    fn find(&self, value: i64) -> Line {
        let index = partition(self.starts.len(), |index| self.starts[index] <= value);
        self.lines.get(index).copied().unwrap_or(Line::NOWHERE)
    }
}

/// Of a value.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Fit {
    /// A reading on the line, as its snapshot and what both clocks read in it; where that is left out,
    /// the next one that is used.
    fn reading(&self, index: Option<u32>, side: Side) -> Option<(Option<SnapshotId>, i64, i64)> {
        let index = index? as usize;
        let is_used = |knot: &&Knot| !knot.is_corner;
        let knot = match side {
            Side::Before => self.knots.get(..=index)?.iter().rev().find(is_used),
            Side::After => self.knots.get(index..)?.iter().find(is_used),
        }?;
        Some((knot.snapshot(), knot.a, knot.b))
    }
}
