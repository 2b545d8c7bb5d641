//! Estimates over a clock graph, with the data that `kept.rs` keeps for the next one.

use rustc_hash::FxHashMap;

use super::bounds::{self, Bounded, Bounds, CausalBound};
use super::causal::{self, CausalKnot, Causality};
use super::clocks::Clocks;
use super::fit::Fit;
use super::kept::{EstimateCache, LINES, Lines, Path, Version, pieces};
use super::knot::Knot;
use super::knots::Knots;
use super::line::{Line, LineKind, Part, Parts};
use super::sync::{self, Sample};
use crate::clock::Clock;
use crate::graph::{ClockGraph, SnapshotId};
use crate::identity::Identity;
use crate::recent::Key;
use crate::routes::DomainIx;
use crate::snapshot::Source;
use crate::time::{ClockNs, Ticks};
use crate::unresolved::Unresolved;

/// From this many readings off the line, an array is made.
const MISSES: usize = 64;

/// The time of a reading, and its possible error.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The reading of the target clock.
    pub value: ClockNs,
    /// Its possible error, in ns (rules R5, R31, AL16); infinite if unknown, because the path uses an
    /// assumption (rule X26), or a counter that was read once (rule R33).
    pub error_ns: f64,
    /// Its basis.
    pub kind: LineKind,
}

impl Estimate {
    /// The error in whole nanoseconds, rounded up; `None` if unknown.
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, ClockNs, EstimateCache, Estimates, Reading, Source};
    /// # let (device, mut graph) = (Clock::host(200), ClockGraph::new());
    /// # for read in [0, 10_000_000_002] {
    /// #     let both = [device, Clock::BOOTTIME].map(|clock| Reading::new(clock, read, 1, false));
    /// #     let [device, boottime] = both;
    /// #     graph.add_snapshot(Source::Service, &[device?, boottime?], None)?;
    /// # }
    /// # let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
    /// let value = ClockNs(5_000_000_001);
    /// let estimate = estimates.at(device, value, Clock::BOOTTIME, &mut cache).unwrap();
    /// let error = estimate.error().unwrap();
    /// assert!(estimate.error_ns <= error as f64 && error < 7000);
    /// assert_eq!(estimate.interval(), Some((5_000_000_001 - error, 5_000_000_001 + error)));
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    pub fn error(&self) -> Option<i64> {
        let error = self.error_ns.ceil();
        error.is_finite().then_some(error as i64)
    }

    /// The range of possible readings of the target; `None` if unknown.
    pub fn interval(&self) -> Option<(i64, i64)> {
        let ClockNs(value) = self.value;
        let error = self.error()?;
        Some((value.saturating_sub(error), value.saturating_add(error)))
    }
}

/// One hop of an estimate, in the form of a calculation by hand: `value_out = to_value + (value_in
/// − from_value) · rate`. Clocks of one timekeeper have an offset by all readings around instead
/// (rule R31), which is `value_out − value_in`.
///
/// ```
/// # use timebase_resolver::*;
/// # let (device, boottime) = (Clock::host(200), Clock::BOOTTIME);
/// # let mut graph = ClockGraph::new();
/// # for (m, b) in [(0, 0), (10_000_000_002, 10_000_500_002)] {
/// #     let readings = [Reading::new(device, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
/// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// # }
/// # let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
/// let hops = estimates.explain(device, ClockNs(5_000_000_001), boottime, &mut cache).unwrap();
/// let [hop] = hops[..] else { panic!() };
/// assert_eq!(hop.before, Some((Some(SnapshotId(0)), 0, 0)));
/// assert_eq!(hop.after, Some((Some(SnapshotId(1)), 10_000_000_002, 10_000_500_002)));
/// assert_eq!((hop.value_in, hop.value_out), (5_000_000_001, 5_000_250_001));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LinearHop {
    /// The clock where the hop starts.
    pub from: Clock,
    /// The clock where it ends.
    pub to: Clock,
    /// The readings before and after: the snapshot (none for a sample, rule R9) and the readings of
    /// both clocks in it.
    pub before: Option<(Option<SnapshotId>, i64, i64)>,
    /// See `before`.
    pub after: Option<(Option<SnapshotId>, i64, i64)>,
    /// Nanoseconds of `to` in one of `from`.
    pub rate: f64,
    /// The part of the error that this hop adds, in ns of `to`; infinite if unknown.
    pub error_ns: f64,
    /// The basis of the hop.
    pub kind: LineKind,
    /// The value before the hop.
    pub value_in: i128,
    /// The value after it.
    pub value_out: i128,
}

/// Rate-aware conversions over the snapshots of a whole trace (rules R).
///
/// A clock that gains 50 ns each millisecond, read twice:
///
/// ```
/// use timebase_resolver::{Clock, ClockGraph, ClockNs, EstimateCache, Estimates, Reading, Source};
///
/// let (device, boottime) = (Clock::host(200), Clock::BOOTTIME);
/// let mut graph = ClockGraph::new();
/// for (m, b) in [(0, 0), (10_000_000_002, 10_000_500_002)] {
///     let readings = [
///         Reading::new(device, m, 1, false)?,
///         Reading::new(boottime, b, 1, false)?,
///     ];
///     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// }
/// let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
/// let estimate = estimates.at(device, ClockNs(5_000_000_001), boottime, &mut cache).unwrap();
/// assert_eq!(estimate.value, ClockNs(5_000_250_001));
/// // Nothing tells how exactly two snapshots were read.
/// assert!((6499.0..6501.0).contains(&estimate.error_ns));
///
/// // Nearest neighbour takes both for equally fast.
/// let (graph, value) = (estimates.graph(), ClockNs(5_000_000_001));
/// let nearest = graph.convert(device, value, boottime, cache.conversions());
/// assert_eq!(nearest, Ok(value));
///
/// // What is known of the hop.
/// let fit = estimates.fit(device, boottime, &mut cache).unwrap();
/// assert_eq!((fit.readings, fit.steps.len()), (2, 0));
/// assert!((fit.drift_ppm().unwrap() - 50.0).abs() < 1e-3);
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Default)]
pub struct Estimates {
    graph: ClockGraph,
    /// The used samples, by the clocks of client and host.
    samples: FxHashMap<(Clock, Clock), Vec<Sample>>,
    /// What messages say about two clocks, by these clocks.
    causality: FxHashMap<(Clock, Clock), Causality>,
    /// The bounds by messages of clocks that measurements relate, by these clocks.
    bounds: FxHashMap<(Clock, Clock), Bounds>,
    /// It changes when the samples or the messages do.
    identity: Identity,
}

impl Estimates {
    /// Estimates by the snapshots of a graph.
    pub fn new(graph: ClockGraph) -> Self {
        Estimates { graph, ..Estimates::default() }
    }

    /// Estimates by the snapshots of another graph, with the same samples and messages.
    pub(crate) fn of_other(&self, graph: ClockGraph) -> Estimates {
        Estimates {
            graph,
            samples: self.samples.clone(),
            causality: self.causality.clone(),
            bounds: self.bounds.clone(),
            ..Estimates::default()
        }
    }

    /// The graph.
    pub fn graph(&self) -> &ClockGraph {
        &self.graph
    }

    /// The graph. Snapshots that are added to it count in later estimates.
    pub fn graph_mut(&mut self) -> &mut ClockGraph {
        &mut self.graph
    }

    /// The graph, without samples.
    pub fn into_graph(self) -> ClockGraph {
        self.graph
    }

    /// The version of the data for which a cache is valid.
    fn version(&self) -> Version {
        Version {
            estimates: self.identity,
            graph: self.graph.identity(),
            snapshots: self.graph.snapshots(),
        }
    }

    /// Sets all samples between a client's clock and a host's clock (rule X24), in any order. They
    /// replace earlier ones. Returns which of them are used (rule R9). They count for the hop
    /// between the two clocks, unless snapshots of a better source than
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
    /// let mut cache = EstimateCache::new();
    /// let estimate = estimates.at(guest, ClockNs(60_003_000_000), host, &mut cache).unwrap();
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

    /// Sets the used samples, as [`add_sync`](Estimates::add_sync) returned them. It only leaves
    /// out samples through which no line can go.
    pub fn add_used_sync(&mut self, client: Clock, host: Clock, samples: Vec<Sample>) {
        self.samples.insert((client, host), samples);
        self.identity = Identity::default();
    }

    /// Sets the errors of the relation of two clocks that follows from messages (rule AL16), in any
    /// order. They replace earlier ones. `wander` is how much the rate of the clocks may change: 4e-5
    /// for 40 ppm.
    ///
    /// The graph has the relation itself: a snapshot of [`Causality`](Source::Causality) for each
    /// knot, with the readings of both clocks. The knots count for the hop between the two clocks,
    /// in both directions, unless snapshots of a better source hold both. The error of the hop is
    /// unknown if it has a corner that is none of the knots.
    ///
    /// ```
    /// use timebase_resolver::*;
    ///
    /// let (a, b) = (Clock::BOOTTIME, Clock { machine: MachineId(1), ..Clock::BOOTTIME });
    /// let knot = |value, offset, error| CausalKnot { value, offset, error };
    /// let knots = [knot(0, 4_000, 200), knot(1_000_000_000, 14_000, 300)];
    /// let mut graph = ClockGraph::new();
    /// for knot in knots {
    ///     let read = |clock, value| Reading { clock, value, unit: 1, incremental: false };
    ///     let corner = [read(a, knot.value), read(b, knot.value + knot.offset)];
    ///     graph.add_snapshot(Source::Causality, &corner, None)?;
    /// }
    /// let (mut estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
    /// estimates.add_causality(a, b, knots.to_vec(), 40e-6);
    ///
    /// let estimate = estimates.at(a, ClockNs(250_000_000), b, &mut cache).unwrap();
    /// assert_eq!(estimate.value, ClockNs(250_006_500));
    /// assert_eq!(estimate.error_ns.round(), 300.0 + 10_000.0);
    /// // Nearest conversions use the same lines.
    /// let nearest = estimates.graph().convert(a, ClockNs(250_000_000), b, cache.conversions());
    /// assert_eq!(nearest, Ok(estimate.value));
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn add_causality(&mut self, a: Clock, b: Clock, knots: Vec<CausalKnot>, wander: f64) {
        self.causality.insert((a, b), Causality::new(knots, wander));
        self.identity = Identity::default();
    }

    /// Sets the bounds by messages of two clocks that are related otherwise (rule AL18), in any order. They
    /// replace earlier ones. Times stay, but for the rounding of lines (rule R6). Where a path leads from one of the clocks to the other, the
    /// error of these hops becomes the distance from the farther bound, if it is greater or unknown.
    /// Before the first and after the last corner nothing changes.
    ///
    /// ```
    /// use timebase_resolver::*;
    ///
    /// let (a, b) = (Clock::BOOTTIME, Clock { machine: MachineId(1), ..Clock::BOOTTIME });
    /// let mut graph = ClockGraph::new();
    /// for value in [0, 10_000_000_000] {
    ///     let read = |clock, value| Reading { clock, value, unit: 1, incremental: false };
    ///     graph.add_snapshot(Source::Service, &[read(a, value), read(b, value + 5_000)], None)?;
    /// }
    /// let (mut estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
    /// let measured = estimates.at(a, ClockNs(4_000_000_000), b, &mut cache).unwrap();
    /// assert!(measured.error_ns > 1_000.0);
    ///
    /// let bound = |value| CausalBound { value, earliest: 4_800, latest: 5_100 };
    /// estimates.add_bounds(a, b, vec![bound(1_000_000_000), bound(9_000_000_000)]);
    /// let bounded = estimates.at(a, ClockNs(4_000_000_000), b, &mut cache).unwrap();
    /// assert_eq!((bounded.value, bounded.error()), (measured.value, Some(200)));
    /// # Ok::<(), Rejected>(())
    /// ```
    pub fn add_bounds(&mut self, a: Clock, b: Clock, corners: Vec<CausalBound>) {
        self.bounds.insert((a, b), Bounds::new(corners));
        self.identity = Identity::default();
    }

    /// The hops of a path that messages bound.
    fn bounded(&self, from: Clock, to: Clock, cache: &mut EstimateCache) -> Vec<Bounded> {
        if self.bounds.is_empty() {
            return Vec::new();
        }
        match self.graph.path(from, to, &mut cache.conversions) {
            Ok(clocks) => bounds::of_path(|pair| self.bounds.get(pair), &clocks),
            Err(_) => Vec::new(),
        }
    }

    /// Fits a hop to the corners of its relation by causality (rules AL16, AL20).
    fn fit_causality(&self, clocks: [Clock; 2], mut knots: Vec<Knot>) -> Fit {
        let Some((relation, from_a)) = causal::of_hop(|pair| self.causality.get(pair), clocks)
        else {
            return Fit::of_corners(knots, None);
        };
        let errors = knots.iter().map(|knot| match from_a {
            true => relation.error_at(knot.a, knot.b),
            false => relation.error_at(knot.b, knot.a),
        });
        let errors: Option<Vec<f32>> = errors.collect();
        let wander = relation.wander().filter(|_| errors.is_some());
        for (knot, error) in knots.iter_mut().zip(errors.into_iter().flatten()) {
            knot.error = error;
        }
        Fit::of_corners(knots, wander)
    }

    /// The samples of a hop, if it is between a client and a host; and whether it starts at the
    /// client.
    fn samples_of(
        &self,
        hop: (DomainIx, DomainIx),
        cache: &EstimateCache,
    ) -> Option<(&[Sample], bool)> {
        if self.samples.is_empty() {
            return None;
        }
        if self.graph.source_of(hop, &cache.conversions) != Some(Source::RemoteSync) {
            return None;
        }
        let (from, to) = (self.graph.clock_at(hop.0), self.graph.clock_at(hop.1));
        let forward = self.samples.get(&(from, to)).map(|samples| (samples, true));
        let backward = || self.samples.get(&(to, from)).map(|samples| (samples, false));
        let (samples, from_client) = forward.or_else(backward)?;
        Some((samples.as_slice(), from_client))
    }

    /// Converts a value, in nanoseconds, from one clock to another (rules R4, R6, R7).
    ///
    /// # Errors
    ///
    /// The reason why it cannot be converted (rule V7).
    #[inline]
    pub fn convert(
        &self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<ClockNs, Unresolved> {
        let line = self.line(from, ClockNs(value), to, cache)?;
        line.convert(value).map(ClockNs).ok_or(Unresolved::Overflow)
    }

    /// Converts a reading whose unit is this many nanoseconds (rule V4).
    ///
    /// # Errors
    ///
    /// The reason why it cannot be converted (rule V7).
    #[inline]
    pub fn convert_ticks(
        &self,
        from: Clock,
        ticks: Ticks,
        unit: i64,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<ClockNs, Unresolved> {
        match ticks.in_units_of(unit) {
            Some(value) => self.convert(from, value, to, cache),
            None => Err(self.graph.overflow(from, to, &mut cache.conversions)),
        }
    }

    /// The time of a reading, and its possible error.
    ///
    /// # Errors
    ///
    /// The reason why it is unknown (rule V7).
    #[inline]
    pub fn at(
        &self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<Estimate, Unresolved> {
        let line = self.line(from, ClockNs(value), to, cache)?;
        let converted = line.convert(value).ok_or(Unresolved::Overflow)?;
        Ok(Estimate { value: ClockNs(converted), error_ns: line.error_at(value), kind: line.kind })
    }

    /// The line around a value.
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    #[inline]
    pub fn line(
        &self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<Line, Unresolved> {
        let key = Key::new(from, to);
        if let Some((last, line)) = &cache.last
            && *last == key
            && line.holds(value)
            && cache.version == self.version()
        {
            return Ok(*line);
        }
        let line = self.find_line(key, from, value, to, cache)?;
        cache.last = Some((key, line));
        Ok(line)
    }

    #[cold]
    #[inline(never)]
    fn find_line(
        &self,
        key: Key,
        from: Clock,
        value: i64,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<Line, Unresolved> {
        if from == to {
            return Ok(Line::identity(value));
        }
        cache.refresh(self.version());
        self.prepare(key, from, to, cache);
        let Some(path) = cache.paths.get_mut(&key) else {
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
        let fits = &cache.fits;
        let bounded = &path.bounded;
        let around = |value| Parts::line_around(fits, hops, bounded, value);
        let line: Line = around(value);
        path.recent = line;
        let readings: usize = hops.iter().map(|&hop| fits[hop].readings).sum();
        if path.misses == MISSES.max(readings / 4) && !cache.is_in_order {
            path.all = Lines::new(pieces(around), LINES - cache.lines);
            cache.lines += path.all.as_ref().map_or(0, Lines::len);
        }
        Ok(line)
    }

    /// All lines of a conversion, in order of their values.
    ///
    /// ```
    /// # use timebase_resolver::*;
    /// # let (device, boottime) = (Clock::host(200), Clock::BOOTTIME);
    /// # let mut graph = ClockGraph::new();
    /// # for (m, b) in [(0, 0), (10_000_000_002, 10_000_500_002)] {
    /// #     let readings = [Reading::new(device, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
    /// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
    /// # }
    /// # let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
    /// let lines = estimates.lines(device, boottime, &mut cache).unwrap();
    /// let starts: Vec<Option<i64>> = lines.map(|line| line.start).collect();
    /// // Up to the middle of two readings the error grows.
    /// assert_eq!(starts, [None, Some(0), Some(5_000_000_001), Some(10_000_000_002)]);
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub fn lines<'c>(
        &self,
        from: Clock,
        to: Clock,
        cache: &'c mut EstimateCache,
    ) -> Result<impl Iterator<Item = Line> + use<'c>, Unresolved> {
        let hops = self.path(from, to, cache)?;
        let bounded = self.bounded(from, to, cache);
        let fits = &cache.fits;
        Ok(pieces(move |value| match hops.is_empty() {
            true => Line::identity(value),
            false => Parts::line_around(fits, &hops, &bounded, value),
        }))
    }

    /// The largest number of lines of a conversion, if it does not go back.
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub fn lines_at_most(
        &self,
        from: Clock,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<usize, Unresolved> {
        let hops = self.graph.hops(from, to, &mut cache.conversions)?;
        let of_hop = |&hop| {
            let samples = self.samples_of(hop, cache);
            let samples = samples.map_or(0, |(samples, _)| samples.len());
            2 * self.graph.readings(hop, &cache.conversions).max(samples)
        };
        let of_hops = hops.iter().map(of_hop).sum::<usize>();
        let of_bounds = self.bounded(from, to, cache);
        Ok(2 + of_hops + of_bounds.iter().map(|of| of.bounds.len()).sum::<usize>())
    }

    /// The hops of a path, all fitted.
    fn path(
        &self,
        from: Clock,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<Vec<usize>, Unresolved> {
        if from == to {
            return Ok(Vec::new());
        }
        cache.refresh(self.version());
        let key = Key::new(from, to);
        self.prepare(key, from, to, cache);
        match cache.paths.get(&key) {
            Some(path) => path.hops.clone(),
            None => Err(Unresolved::NoPath),
        }
    }

    /// The estimate of a value, hop by hop. It has no hops if both clocks are the same.
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub fn explain(
        &self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
        cache: &mut EstimateCache,
    ) -> Result<Vec<LinearHop>, Unresolved> {
        let hops = self.path(from, to, cache)?;
        let clocks = self.graph.path(from, to, &mut cache.conversions)?;
        let end = self.line(from, ClockNs(value), to, cache)?.convert(value);
        let bounded = self.bounded(from, to, cache);
        let fits = || hops.iter().map(|&hop| &cache.fits[hop]);
        let parts = Parts::around(fits(), &bounded, value);
        let steps = clocks.windows(2).zip(fits()).zip(parts.hops(value));
        let hop =
            |((clocks, fit), (part, at, error_ns)): ((&[Clock], &Fit), (&Part, i128, f64))| {
                LinearHop {
                    from: clocks[0],
                    to: clocks[1],
                    before: fit.reading(part.around[0], Side::Before),
                    after: fit.reading(part.around[1], Side::After),
                    rate: part.rate(),
                    error_ns,
                    kind: part.kind,
                    value_in: at,
                    value_out: part.value(at),
                }
            };
        let mut steps: Vec<LinearHop> = steps.map(hop).collect();
        // Between corners of whole nanoseconds, all hops together may be off by one.
        if let (Some(last), Some(end)) = (steps.last_mut(), end) {
            last.value_out = end.into();
        }
        Ok(steps)
    }

    /// Facts about a hop between two clocks that are neighbours on a path.
    ///
    /// # Errors
    ///
    /// The reason why there is no path of one hop between them (rule V7).
    pub fn fit<'c>(
        &self,
        from: Clock,
        to: Clock,
        cache: &'c mut EstimateCache,
    ) -> Result<&'c Fit, Unresolved> {
        match self.path(from, to, cache)?.as_slice() {
            &[hop] => Ok(&cache.fits[hop]),
            _ => Err(Unresolved::NoPath),
        }
    }

    /// Facts about the hops of a path, with the clocks of each and the origin of its snapshots
    /// (rule V2).
    ///
    /// ```
    /// # use timebase_resolver::*;
    /// # let (device, boottime) = (Clock::host(200), Clock::BOOTTIME);
    /// # let mut graph = ClockGraph::new();
    /// # for (m, b) in [(0, 0), (10_000_000_002, 10_000_500_002)] {
    /// #     let readings = [Reading::new(device, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
    /// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
    /// # }
    /// # let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
    /// let hops: Vec<_> = estimates.fits(device, boottime, &mut cache).unwrap().collect();
    /// let [(from, to, source, fit)] = hops[..] else { panic!() };
    /// assert_eq!((from, to, source), (device, boottime, Some(Source::Service)));
    /// assert_eq!(fit.readings, 2);
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The reason why there is no path (rule V7).
    pub fn fits<'c>(
        &'c self,
        from: Clock,
        to: Clock,
        cache: &'c mut EstimateCache,
    ) -> Result<impl Iterator<Item = (Clock, Clock, Option<Source>, &'c Fit)>, Unresolved> {
        let fitted = self.path(from, to, cache)?;
        let hops = self.graph.hops(from, to, &mut cache.conversions)?;
        let (graph, cache) = (&self.graph, &*cache);
        let known = hops.into_iter().zip(fitted);
        Ok(known.map(move |(hop, fitted)| {
            let [from, to] = [hop.0, hop.1].map(|domain| graph.clock_at(domain));
            let source = graph.source_of(hop, &cache.conversions);
            (from, to, source, &cache.fits[fitted])
        }))
    }

    fn prepare(&self, key: Key, from: Clock, to: Clock, cache: &mut EstimateCache) {
        if cache.paths.contains_key(&key) {
            return;
        }
        let hops = self.graph.hops(from, to, &mut cache.conversions);
        let hops = hops.map(|hops| {
            let fitted = hops.into_iter().map(|hop| self.fitted(hop, cache));
            fitted.collect()
        });
        let bounded = self.bounded(from, to, cache);
        cache.keep_path(key, Path::new(hops, bounded));
    }

    /// The index of a hop, fitted.
    fn fitted(&self, hop: (DomainIx, DomainIx), cache: &mut EstimateCache) -> usize {
        match cache.fitted.get(&hop) {
            Some(&index) => index,
            None => {
                let fit = self.fit_anew(hop, cache);
                cache.keep_fit(hop, fit)
            }
        }
    }

    /// Fits a hop to its samples, or to its snapshots.
    fn fit_anew(&self, hop: (DomainIx, DomainIx), cache: &EstimateCache) -> Fit {
        let (graph, conversions) = (&self.graph, &cache.conversions);
        let [from, to] = [hop.0, hop.1].map(|domain| graph.clock_at(domain));
        let units = [hop.0, hop.1].map(|domain| graph.unit_at(domain).ns);
        let clocks = Clocks { clocks: [from, to], units };
        if let Some((samples, from_client)) = self.samples_of(hop, cache) {
            let knots = sync::knots(samples, from_client, clocks.tick() > 0.0);
            if !knots.is_empty() {
                return Fit::of_samples(knots);
            }
        }
        let source = graph.source_of(hop, conversions);
        if source == Some(Source::Causality) {
            let mut knots = Vec::new();
            let add = |a, b, snapshot| knots.push(Knot::read(a, b, snapshot));
            graph.each_reading(hop, conversions, add);
            return self.fit_causality([from, to], knots);
        }
        let read = |each: &mut dyn FnMut(Knot)| {
            let mut last = None;
            graph.each_reading(hop, conversions, |a, b, snapshot| {
                // Only the first of equal values counts.
                if last.replace(a) != Some(a) {
                    each(Knot::read(a, b, snapshot));
                }
            });
        };
        let all = Knots::of_all(&read, graph.readings(hop, conversions));
        match source {
            Some(Source::Manifest) => Fit::said(all, &read, from.machine == to.machine),
            Some(Source::Json | Source::Assumed) => Fit::said(all, &read, false),
            _ => Fit::new(all, &read, &clocks),
        }
    }
}

/// The hop around a value.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Fit {
    /// A reading on the line, as its snapshot and the readings of both clocks in it; if that
    /// reading is left out, the next used one.
    fn reading(&self, index: Option<u32>, side: Side) -> Option<(Option<SnapshotId>, i64, i64)> {
        let index = index? as usize;
        let knot = |index: usize| self.knots.get(index).filter(|knot| !knot.is_corner);
        let knot = match side {
            Side::Before => (0..=index).rev().find_map(knot),
            Side::After => (index..self.knots.len()).find_map(knot),
        }?;
        Some((knot.snapshot(), knot.a, knot.b))
    }
}
