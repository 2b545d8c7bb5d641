//! The clock graph: snapshots in, conversions out (rules N and V).
//!
//! # Design
//!
//! * Snapshots of the same set of clocks are kept together, column by column;
//!   rule N5 speaks of such sets, and the edges of the graph follow from them.
//! * The shortest paths to a target are a tree that new snapshots extend
//!   (see `routes.rs`).
//! * A hop that a path uses has the pairs of its two clocks in a sorted table
//!   (see `hop.rs`) that every further snapshot adds to.
//! * Each clock remembers the stretch of values around its last conversion
//!   and the whole path's offset there, which is all that packets in order
//!   need. A snapshot makes that invalid, and the next conversion goes over the
//!   tables, hop by hop.
//! * A clock that misses its stretch often while no snapshot arrives gets its
//!   whole mapping composed (see `mapping.rs`): one search from then on.
//!
//! Composing the mapping whenever a snapshot arrives was the alternative: it
//! makes an import with many snapshots quadratic. Going hop by hop always makes
//! random access over a path of four hops four times as slow.

use rustc_hash::FxHashMap;

use crate::clock::Clock;
use crate::hop::{HopTable, Pair};
use crate::mapping::{Mapping, StepFunction, clamp};
use crate::routes::{DomainIx, Routes, SetIx, Topology};
use crate::snapshot::{Reading, Rejected, Source};
use crate::unresolved::Unresolved;

/// How many steps the mappings towards one target may have together before
/// further ones share what is common (16 bytes a step).
const FLAT_STEPS: usize = 1 << 20;

/// How many targets keep their paths and mappings.
const TARGETS: usize = 16;

/// The number of an accepted snapshot: 0, 1, 2 … in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(pub u32);

/// What is known of one clock domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Domain {
    /// Which clock it is.
    pub clock: Clock,
    /// Nanoseconds in a unit of the clock (rule N3).
    pub unit: i64,
    /// Whether packets give deltas on it (rule V5).
    pub incremental: bool,
    /// False if it was seen going backwards (rule N5).
    pub monotonic: bool,
    /// How many snapshots hold it.
    pub snapshots: u64,
    /// Its first reading in file order, in nanoseconds.
    pub first_value: i64,
    /// Its last reading in file order, in nanoseconds.
    pub last_value: i64,
}

/// One hop of a conversion, as one would do it by hand:
/// `value_out = to_value + (value_in − from_value)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The clock the hop starts at.
    pub from: Clock,
    /// The clock it leads to.
    pub to: Clock,
    /// The snapshot that was used (rule V2).
    pub snapshot: SnapshotId,
    /// What `from` reads in it.
    pub from_value: i64,
    /// What `to` reads in it.
    pub to_value: i64,
    /// The value before the hop; between two hops it may need 65 bits.
    pub value_in: i128,
    /// The value after it.
    pub value_out: i128,
}

/// Snapshots of one set of clocks. The members are in the topology.
#[derive(Debug, Default)]
struct SnapshotSet {
    /// Row by row, as many values as the set has members.
    values: Vec<i64>,
    ids: Vec<u32>,
    sources: Vec<Source>,
    /// The hops between two of its members.
    hops: Vec<SetHop>,
}

#[derive(Debug, Clone, Copy)]
struct SetHop {
    hop: usize,
    from_column: usize,
    to_column: usize,
}

/// Where a clock's last conversion was.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    generation: u64,
    start: i64,
    /// Inclusive.
    end: i64,
    offset: i64,
    misses: usize,
}

/// What is solved for one target.
#[derive(Debug)]
struct Target {
    clock: Clock,
    routes: Routes,
    with_excluded: Option<Routes>,
    stretches: Vec<Stretch>,
    mappings: FxHashMap<DomainIx, Mapping>,
    mappings_generation: u64,
    steps: usize,
}

/// The clock graph of a trace.
///
/// The example of rule V7's first line:
///
/// ```
/// use timebase_resolver::{Clock, ClockGraph, Reading, Source};
///
/// let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
/// let mut graph = ClockGraph::new();
/// for (m, b) in [(1000, 2000), (1100, 2100), (1200, 2200), (1900, 2900), (2000, 3500)] {
///     let readings = [
///         Reading::new(monotonic, m, 1, false)?,
///         Reading::new(boottime, b, 1, false)?,
///     ];
///     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// }
/// assert_eq!(graph.convert(monotonic, 1104, boottime), Ok(2104));
/// assert_eq!(graph.convert(monotonic, 1999, boottime), Ok(2999));
/// assert_eq!(graph.convert(monotonic, 2000, boottime), Ok(3500));
/// assert_eq!(graph.convert(monotonic, 900, boottime), Ok(1900));
///
/// // Which snapshot was it?
/// let hops = graph.explain(monotonic, 1104, boottime).unwrap();
/// assert_eq!((hops[0].from_value, hops[0].to_value), (1100, 2100));
///
/// // The whole mapping: two steps, since four of the snapshots agree.
/// let mapping = graph.mapping(monotonic, boottime).unwrap();
/// assert_eq!(mapping.as_flat().unwrap().len(), 2);
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Default)]
pub struct ClockGraph {
    index: FxHashMap<Clock, DomainIx>,
    domains: Vec<Domain>,
    topology: Topology,
    set_index: FxHashMap<Box<[DomainIx]>, SetIx>,
    sets: Vec<SnapshotSet>,
    hops: Vec<HopTable>,
    /// The hops that start at a clock: where to, and which.
    hops_from: Vec<Vec<(DomainIx, usize)>>,
    targets: Vec<Target>,
    snapshots: u32,
    /// Counts the snapshots, from 1, so that a `Stretch` of 0 is never valid.
    generation: u64,
}

impl ClockGraph {
    /// A graph without snapshots.
    pub fn new() -> Self {
        ClockGraph::default()
    }

    /// Adds a snapshot: the readings that were taken at one instant.
    ///
    /// `trace_time` is the clock that rule N2 does not allow to go backwards.
    ///
    /// # Errors
    ///
    /// [`Rejected`], by rule N2. The graph is unchanged then (rule N1).
    pub fn add_snapshot(
        &mut self,
        source: Source,
        readings: &[Reading],
        trace_time: Option<Clock>,
    ) -> Result<SnapshotId, Rejected> {
        self.check(readings, trace_time)?;
        let snapshot = self.snapshots;
        self.snapshots = snapshot.checked_add(1).ok_or(Rejected::TooMany)?;
        self.generation += 1;

        let mut row: Vec<(DomainIx, i64)> = Vec::with_capacity(readings.len());
        for reading in readings {
            row.push((self.record(reading), reading.value));
        }
        row.sort_unstable();
        let members: Box<[DomainIx]> = row.iter().map(|&(domain, _)| domain).collect();
        let set = match self.set_index.get(&members) {
            Some(&set) => set,
            None => self.add_set(members),
        };
        self.exclude_backwards(set, &row);

        let set = &mut self.sets[set as usize];
        set.values.extend(row.iter().map(|&(_, value)| value));
        set.ids.push(snapshot);
        set.sources.push(source);
        for hop in &set.hops {
            let pair = Pair {
                from: row[hop.from_column].1,
                to: row[hop.to_column].1,
                snapshot,
            };
            self.hops[hop.hop].insert(source, pair);
        }
        Ok(SnapshotId(snapshot))
    }

    /// Rule N2, without a change to anything.
    fn check(&self, readings: &[Reading], trace_time: Option<Clock>) -> Result<(), Rejected> {
        for reading in readings {
            reading.check(trace_time)?;
            let clock = reading.clock;
            if let Some(domain) = self.domain(clock)
                && (domain.unit, domain.incremental) != (reading.unit, reading.incremental)
            {
                return Err(Rejected::UnitChanged { clock });
            }
        }
        let mut clocks: Vec<Clock> = readings.iter().map(|reading| reading.clock).collect();
        clocks.sort_unstable();
        if let Some(pair) = clocks.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Rejected::Duplicate { clock: pair[0] });
        }
        let Some(reading) = readings.iter().find(|r| Some(r.clock) == trace_time) else {
            return Ok(());
        };
        match self.last_value(&clocks, reading.clock) {
            Some(before) if before > reading.value => Err(Rejected::TraceTimeBackwards {
                clock: reading.clock,
                before,
                value: reading.value,
            }),
            _ => Ok(()),
        }
    }

    /// What `clock` read in the last snapshot of exactly these clocks.
    fn last_value(&self, clocks: &[Clock], clock: Clock) -> Option<i64> {
        let members: Option<Vec<DomainIx>> = clocks
            .iter()
            .map(|clock| self.index.get(clock).copied())
            .collect();
        let mut members = members?;
        members.sort_unstable();
        let set = *self.set_index.get(members.as_slice())?;
        let column = members.binary_search(self.index.get(&clock)?).ok()?;
        self.sets[set as usize]
            .last_row(members.len())?
            .get(column)
            .copied()
    }

    fn record(&mut self, reading: &Reading) -> DomainIx {
        let index = *self.index.entry(reading.clock).or_insert_with(|| {
            self.domains.push(Domain {
                clock: reading.clock,
                unit: reading.unit,
                incremental: reading.incremental,
                monotonic: true,
                snapshots: 0,
                first_value: reading.value,
                last_value: reading.value,
            });
            self.hops_from.push(Vec::new());
            self.topology.add_clock(reading.clock)
        });
        let domain = &mut self.domains[index as usize];
        domain.snapshots += 1;
        domain.last_value = reading.value;
        index
    }

    fn add_set(&mut self, members: Box<[DomainIx]>) -> SetIx {
        let set = self.topology.add_set(members.clone());
        self.set_index.insert(members.clone(), set);
        let mut hops = Vec::new();
        for (from_column, &from) in members.iter().enumerate() {
            for &(to, hop) in &self.hops_from[from as usize] {
                if let Ok(to_column) = members.binary_search(&to) {
                    hops.push(SetHop {
                        hop,
                        from_column,
                        to_column,
                    });
                }
            }
        }
        self.sets.push(SnapshotSet {
            hops,
            ..SnapshotSet::default()
        });
        for target in &mut self.targets {
            target.routes.add_set(&self.topology, set);
            if let Some(routes) = &mut target.with_excluded {
                routes.add_set(&self.topology, set);
            }
        }
        set
    }

    /// Rule N5.
    fn exclude_backwards(&mut self, set: SetIx, row: &[(DomainIx, i64)]) {
        let Some(last) = self.sets[set as usize].last_row(row.len()) else {
            return;
        };
        for (&(domain, value), &before) in row.iter().zip(last) {
            if value < before && self.domains[domain as usize].monotonic {
                self.domains[domain as usize].monotonic = false;
                self.topology.excluded[domain as usize] = true;
                for target in &mut self.targets {
                    target.routes.exclude(domain);
                }
            }
        }
    }

    /// How many snapshots were accepted.
    pub fn snapshots(&self) -> u32 {
        self.snapshots
    }

    /// All clocks that are in a snapshot, in order of their first one.
    pub fn domains(&self) -> &[Domain] {
        &self.domains
    }

    /// What is known of a clock; `None` if it was never in a snapshot.
    pub fn domain(&self, clock: Clock) -> Option<&Domain> {
        self.index
            .get(&clock)
            .map(|&index| &self.domains[index as usize])
    }

    /// Converts a value, in nanoseconds, from one clock to another (rules V1–V6).
    ///
    /// # Errors
    ///
    /// Why it cannot be (rule V7).
    #[inline]
    pub fn convert(&mut self, from: Clock, value: i64, to: Clock) -> Result<i64, Unresolved> {
        if from == to {
            return Ok(value);
        }
        let (source, target) = self.endpoints(from, to)?;
        if let Some(stretch) = self.targets[target].stretches.get(source as usize)
            && stretch.generation == self.generation
            && stretch.start <= value
            && value <= stretch.end
        {
            return value
                .checked_add(stretch.offset)
                .ok_or(Unresolved::Overflow);
        }
        self.convert_anew(source, value, target)
    }

    fn endpoints(&mut self, from: Clock, to: Clock) -> Result<(DomainIx, usize), Unresolved> {
        if from.lacks_sequence() || to.lacks_sequence() {
            return Err(Unresolved::NoSequenceId);
        }
        let source = *self.index.get(&from).ok_or(Unresolved::UnknownClock)?;
        if let Some(target) = self.targets.iter().position(|target| target.clock == to) {
            return Ok((source, target));
        }
        let target = *self.index.get(&to).ok_or(Unresolved::NoTarget)?;
        if self.targets.len() == TARGETS {
            self.targets.remove(0);
        }
        self.targets.push(Target {
            clock: to,
            routes: Routes::new(target, false),
            with_excluded: None,
            stretches: Vec::new(),
            mappings: FxHashMap::default(),
            mappings_generation: 0,
            steps: 0,
        });
        Ok((source, self.targets.len() - 1))
    }

    #[cold]
    fn convert_anew(
        &mut self,
        source: DomainIx,
        value: i64,
        target: usize,
    ) -> Result<i64, Unresolved> {
        let domains = self.domains.len();
        let generation = self.generation;
        let stretches = &mut self.targets[target].stretches;
        stretches.resize(domains.max(stretches.len()), Stretch::default());
        let stretch = &mut stretches[source as usize];
        if stretch.generation != generation {
            stretch.misses = 0;
        }
        stretch.misses += 1;
        let misses = stretch.misses;

        let (start, end, offset) = if misses > self.misses_before_mapping() {
            let step = self.mapping_of(source, target)?.at(value);
            (
                step.start,
                step.end,
                step.offset.ok_or(Unresolved::Overflow)?,
            )
        } else {
            let mut bounds = (None, None);
            let mut total = 0i128;
            self.walk(source, value, target, |stretch, before, after| {
                let back = |bound: i64| i64::try_from(i128::from(bound) - before).ok();
                bounds.0 = bounds.0.max(stretch.start.and_then(back));
                bounds.1 = match (bounds.1, stretch.end.and_then(back)) {
                    (Some(a), Some(b)) => Some(i64::min(a, b)),
                    (a, b) => a.or(b),
                };
                total = after;
            })?;
            let offset = i64::try_from(total).map_err(|_| Unresolved::Overflow)?;
            (bounds.0, bounds.1, offset)
        };
        self.targets[target].stretches[source as usize] = Stretch {
            generation,
            start: start.unwrap_or(i64::MIN),
            end: end.map_or(i64::MAX, |end| end.saturating_sub(1)),
            offset,
            misses,
        };
        value.checked_add(offset).ok_or(Unresolved::Overflow)
    }

    /// Composing a mapping costs about what a search costs, a step; so it has
    /// paid when it is not needed any more.
    fn misses_before_mapping(&self) -> usize {
        64 + self.snapshots as usize / 8
    }

    /// Goes from clock to clock towards the target, and tells for each hop the
    /// stretch used and the sum of the offsets before and after it.
    fn walk(
        &mut self,
        source: DomainIx,
        value: i64,
        target: usize,
        mut hop: impl FnMut(crate::hop::Stretch, i128, i128),
    ) -> Result<(), Unresolved> {
        let mut total = 0i128;
        for (from, to) in self.path_of(source, target)? {
            let table = self.hop(from, to);
            let value = clamp(i128::from(value) + total);
            let stretch = self.hops[table].nearest(value).ok_or(Unresolved::NoPath)?;
            let after = total + stretch.pair.offset();
            hop(stretch, total, after);
            total = after;
        }
        Ok(())
    }

    /// The hops from a clock to the target.
    fn path_of(
        &mut self,
        source: DomainIx,
        target: usize,
    ) -> Result<Vec<(DomainIx, DomainIx)>, Unresolved> {
        self.reach(source, target)?;
        let routes = &self.targets[target].routes;
        let mut path = Vec::new();
        let mut at = source;
        while let Some(next) = routes.next(at) {
            path.push((at, next));
            at = next;
        }
        Ok(path)
    }

    /// Whether there is a path, or why not (rule V7).
    fn reach(&mut self, source: DomainIx, target: usize) -> Result<(), Unresolved> {
        let ix = self.index.get(&self.targets[target].clock).copied();
        let (topology, target) = (&self.topology, &mut self.targets[target]);
        target.routes.refresh(topology);
        if target.routes.distance(source).is_some() {
            return Ok(());
        }
        let ix = ix.ok_or(Unresolved::NoTarget)?;
        let routes = target
            .with_excluded
            .get_or_insert_with(|| Routes::new(ix, true));
        routes.refresh(topology);
        Err(match routes.distance(source) {
            Some(_) => Unresolved::NonMonotonic,
            None => Unresolved::NoPath,
        })
    }

    /// The table of a hop, built when a path first uses it.
    fn hop(&mut self, from: DomainIx, to: DomainIx) -> usize {
        let hops = &self.hops_from[from as usize];
        if let Some(&(_, hop)) = hops.iter().find(|(other, _)| *other == to) {
            return hop;
        }
        let hop = self.hops.len();
        let mut pairs: Vec<(Source, Pair)> = Vec::new();
        for &set_ix in &self.topology.sets_of[from as usize] {
            let members = &self.topology.members[set_ix as usize];
            let columns = (members.binary_search(&from), members.binary_search(&to));
            let (Ok(from_column), Ok(to_column)) = columns else {
                continue;
            };
            let set = &mut self.sets[set_ix as usize];
            set.hops.push(SetHop {
                hop,
                from_column,
                to_column,
            });
            let rows = set.values.chunks_exact(members.len());
            for ((row, &source), &snapshot) in rows.zip(&set.sources).zip(&set.ids) {
                let (from, to) = (row[from_column], row[to_column]);
                pairs.push((source, Pair { from, to, snapshot }));
            }
        }
        // In file order, as they would have come.
        pairs.sort_unstable_by_key(|(_, pair)| pair.snapshot);
        let mut table = HopTable::new();
        for (source, pair) in pairs {
            table.insert(source, pair);
        }
        self.hops.push(table);
        self.hops_from[from as usize].push((to, hop));
        hop
    }

    /// Why a value cannot be converted; `None` if it can.
    pub fn why_unresolved(&mut self, from: Clock, value: i64, to: Clock) -> Option<Unresolved> {
        self.convert(from, value, to).err()
    }

    /// The clocks that a conversion passes, from the first to the last (rule V3).
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn path(&mut self, from: Clock, to: Clock) -> Result<Vec<Clock>, Unresolved> {
        if from == to {
            return Ok(vec![from]);
        }
        let (source, target) = self.endpoints(from, to)?;
        let hops = self.path_of(source, target)?;
        let clocks = hops.iter().map(|&(_, to)| self.domains[to as usize].clock);
        Ok(std::iter::once(from).chain(clocks).collect())
    }

    /// The conversion of a value, hop by hop. It has no hops if both clocks are
    /// the same.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn explain(&mut self, from: Clock, value: i64, to: Clock) -> Result<Vec<Hop>, Unresolved> {
        let path = self.path(from, to)?;
        if from == to {
            return Ok(Vec::new());
        }
        let (source, target) = self.endpoints(from, to)?;
        let mut hops = Vec::new();
        let mut clocks = path.windows(2);
        self.walk(source, value, target, |stretch, before, after| {
            if let Some(&[from, to]) = clocks.next() {
                hops.push(Hop {
                    from,
                    to,
                    snapshot: SnapshotId(stretch.pair.snapshot),
                    from_value: stretch.pair.from,
                    to_value: stretch.pair.to,
                    value_in: i128::from(value) + before,
                    value_out: i128::from(value) + after,
                });
            }
        })?;
        Ok(hops)
    }

    /// The whole mapping of one clock onto another, as a step function of
    /// nanoseconds.
    ///
    /// # Errors
    ///
    /// Why there is no path (rule V7).
    pub fn mapping(&mut self, from: Clock, to: Clock) -> Result<Mapping, Unresolved> {
        if from == to {
            return Ok(Mapping::flat(StepFunction::identity()));
        }
        let (source, target) = self.endpoints(from, to)?;
        self.mapping_of(source, target).cloned()
    }

    fn mapping_of(&mut self, source: DomainIx, target: usize) -> Result<&Mapping, Unresolved> {
        let solved = &mut self.targets[target];
        if solved.mappings_generation != self.generation {
            solved.mappings_generation = self.generation;
            solved.mappings.clear();
            solved.steps = 0;
        }
        if !solved.mappings.contains_key(&source) {
            let path = self.path_of(source, target)?;
            let mut rest: Option<Mapping> = None;
            for (from, to) in path.into_iter().rev() {
                let mapping = match self.targets[target].mappings.get(&from) {
                    Some(mapping) => mapping.clone(),
                    None => self.solve(from, to, rest, target),
                };
                rest = Some(mapping);
            }
            let mapping = rest.unwrap_or_else(|| Mapping::flat(StepFunction::identity()));
            self.targets[target].mappings.insert(source, mapping);
        }
        self.targets[target]
            .mappings
            .get(&source)
            .ok_or(Unresolved::NoPath)
    }

    /// The mapping of a clock whose next one is solved already.
    fn solve(
        &mut self,
        from: DomainIx,
        to: DomainIx,
        rest: Option<Mapping>,
        target: usize,
    ) -> Mapping {
        let first = self.hop_steps(from, to);
        let target = &mut self.targets[target];
        let mapping = match rest {
            None => Mapping::flat(first),
            Some(rest) => {
                let room = FLAT_STEPS.saturating_sub(target.steps);
                match rest.as_flat().and_then(|rest| first.then(rest, room)) {
                    Some(steps) => {
                        target.steps += steps.len();
                        Mapping::flat(steps)
                    }
                    None => rest.after(first),
                }
            }
        };
        target.mappings.insert(from, mapping.clone());
        mapping
    }

    fn hop_steps(&mut self, from: DomainIx, to: DomainIx) -> StepFunction {
        let hop = self.hop(from, to);
        let mut steps = StepFunction::empty();
        for (index, pair) in self.hops[hop].pairs().enumerate() {
            if index == 0 {
                steps.push(i64::MIN, pair.offset());
            }
            steps.push(pair.from, pair.offset());
        }
        steps
    }
}

impl SnapshotSet {
    /// The values of its last snapshot.
    fn last_row(&self, members: usize) -> Option<&[i64]> {
        let start = self.values.len().checked_sub(members)?;
        self.values.get(start..)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "graph_tests.rs"]
mod tests;
