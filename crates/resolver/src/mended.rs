//! Conversions of clocks that wrapped or restarted, for callers that read a trace in the order of
//! its file (rule R14).
//!
//! # Design
//!
//! The life and the turn of a reading depend on earlier readings, so this code has a state, which
//! the clock graph does not have. The lives in snapshots are known: each life of such a clock
//! becomes a separate clock in a second graph. Its readings continue over the turns, and its hops
//! are fitted like any others. The second graph exists only if a clock went back.
//!
//! The alternative was to add lives and turns to the graph. Then every conversion would need the
//! position in the file, for the few clocks to which it matters.
//!
//! Because of its state it contains its cache, too: it cannot be shared anyway.

use rustc_hash::FxHashMap;

use crate::clock::{Clock, ClockId, FileTag, Scope};
use crate::graph::ClockGraph;
use crate::linear::{EstimateCache, Estimates};
use crate::routes::DomainIx;
use crate::snapshot::{Reading, Source};
use crate::time::ClockNs;
use crate::turns::Turns;
use crate::unresolved::Unresolved;

/// The position of a reading in the file: its writer, and the number of snapshots before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAt {
    /// Any number that is the same for readings that were written in order, such as a sequence's.
    pub by: u64,
    /// The number of snapshots accepted before.
    pub snapshots: u32,
}

/// Conversions of the clocks of a trace that wrapped or restarted.
///
/// ```
/// use timebase_resolver::*;
///
/// // A counter that began again between two snapshots.
/// let (counter, boottime) = (Clock::host(200), Clock::BOOTTIME);
/// let second = 1_000_000_000;
/// let mut graph = ClockGraph::new();
/// for (value, at) in [(50, 100), (60, 110), (5, 120), (15, 130)] {
///     let (value, at) = (value * second, at * second);
///     let readings = [Reading::new(counter, value, 1, false)?, Reading::new(boottime, at, 1, false)?];
///     graph.add_snapshot(Source::Writer, &readings, Some(boottime))?;
/// }
/// let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
/// let value = ClockNs(7 * second as i64);
/// let refused = estimates.convert(counter, value, boottime, &mut cache);
/// assert_eq!(refused, Err(Unresolved::NonMonotonic));
///
/// let mut mended = Mended::of(&estimates, boottime, &mut cache).unwrap();
/// let read = ReadAt { by: 1, snapshots: 3 };
/// let at = mended.convert(counter, value, boottime, read).unwrap();
/// assert_eq!(at, Ok(ClockNs(122 * second as i64)));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug)]
pub struct Mended {
    /// Estimates with a separate clock for each life.
    estimates: Estimates,
    cache: EstimateCache,
    clocks: FxHashMap<Clock, Continuous>,
}

/// A clock that wrapped or restarted.
#[derive(Debug)]
struct Continuous {
    turns: Turns,
    /// Nanoseconds in a turn; 0 for a clock that did not wrap.
    modulus: i128,
    /// Its snapshots in the order of the file, each with the index in `turns`.
    in_file: Vec<(u32, usize)>,
    lives: Vec<Clock>,
    /// The last reading of each writer: the number of snapshots before it, and its time.
    last: FxHashMap<u64, (u32, i64)>,
}

/// A reading in a snapshot.
#[derive(Debug, Clone, Copy)]
struct Taken {
    at: i64,
    value: i64,
    snapshot: u32,
    source: Source,
}

impl Mended {
    /// Searches the snapshots of a trace for clocks that wrapped or restarted; `None` if there are
    /// none.
    pub fn of(
        estimates: &Estimates,
        trace_time: Clock,
        cache: &mut EstimateCache,
    ) -> Option<Mended> {
        let went_back = went_back(estimates.graph(), trace_time)?;
        let taken = taken(estimates, trace_time, &went_back, cache);
        let graph = estimates.graph();
        let mut clocks = FxHashMap::default();
        for (domain, taken) in taken {
            let (clock, unit) = (graph.clock_at(domain), graph.unit_at(domain));
            clocks.extend(Continuous::of(clock, unit.ns, taken).map(|of| (clock, of)));
        }
        if clocks.is_empty() {
            return None;
        }
        let mended = mended(graph, &mut clocks);
        Some(Mended { estimates: estimates.of_other(mended), cache: EstimateCache::new(), clocks })
    }

    /// Converts a reading of a clock in nanoseconds; `None` if the clock neither wrapped nor
    /// restarted.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be converted (rule V7).
    pub fn convert(
        &mut self,
        from: Clock,
        ClockNs(value): ClockNs,
        to: Clock,
        read: ReadAt,
    ) -> Option<Result<ClockNs, Unresolved>> {
        let (life, value) = self.clocks.get_mut(&from)?.continued(value, read)?;
        Some(match i64::try_from(value) {
            Ok(value) => self.estimates.convert(life, ClockNs(value), to, &mut self.cache),
            Err(_) => Err(Unresolved::Overflow),
        })
    }

    /// Converts a value of another clock, whose path may use a clock that wrapped or restarted.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be converted (rule V7).
    pub fn convert_other(
        &mut self,
        from: Clock,
        value: ClockNs,
        to: Clock,
    ) -> Result<ClockNs, Unresolved> {
        self.estimates.convert(from, value, to, &mut self.cache)
    }
}

impl Continuous {
    fn of(clock: Clock, unit: i64, mut taken: Vec<Taken>) -> Option<Continuous> {
        let best = taken.iter().map(|taken| taken.source).min();
        taken.retain(|taken| Some(taken.source) == best);
        taken.sort_by_key(|taken| (taken.at, taken.snapshot));
        let pairs: Vec<(i64, i64)> = taken.iter().map(|taken| (taken.at, taken.value)).collect();
        let turns = Turns::of(&pairs, unit)?;
        let places = taken.iter().enumerate();
        let mut in_file: Vec<(u32, usize)> =
            places.map(|(at, taken)| (taken.snapshot, at)).collect();
        in_file.sort_unstable();
        let lives = turns.points.last().map_or(0, |point| point.life);
        let lives = (0..=lives).map(|life| of_life(clock, life)).collect();
        Some(Continuous {
            modulus: turns.bits.map_or(0, |bits| i128::from(unit) << bits),
            turns,
            in_file,
            lives,
            last: FxHashMap::default(),
        })
    }

    /// The clock for the life of a reading, and the reading that it would have without the turns.
    fn continued(&mut self, value: i64, read: ReadAt) -> Option<(Clock, i128)> {
        let points = &self.turns.points;
        let next = self.in_file.partition_point(|(snapshot, _)| *snapshot < read.snapshots);
        let before = next.checked_sub(1).and_then(|before| self.in_file.get(before));
        let around = [before, self.in_file.get(next)];
        let around = around.map(|place| points.get(place?.1));
        let taken = around.iter().flatten();
        let lives: Vec<usize> = taken.clone().map(|point| point.life).collect();
        let near = match (self.last.get(&read.by), before) {
            // There was no snapshot of the clock in between.
            (Some((snapshots, at)), Some((snapshot, _))) if snapshot < snapshots => *at,
            (Some((_, at)), None) => *at,
            _ => taken.map(|point| point.at).next()?,
        };
        let found = self.turns.continued(value, near, &lives)?;
        self.last.insert(read.by, (read.snapshots, found.at));
        let life = *self.lives.get(found.life)?;
        Some((life, i128::from(value) + i128::from(found.turns) * self.modulus))
    }

    /// The replacement clock of a snapshot, and its reading. If the trace time of a snapshot is
    /// unknown, its position in the file decides.
    fn in_snapshot(&mut self, snapshot: u32, value: i64) -> Option<(Clock, i64)> {
        let place = self.in_file.binary_search_by_key(&snapshot, |(snapshot, _)| *snapshot);
        let point = place.ok().and_then(|place| self.in_file.get(place));
        let point = point.and_then(|(_, point)| self.turns.points.get(*point));
        let (life, value) = match point {
            Some(point) => {
                let value = i128::from(value) + i128::from(point.turns) * self.modulus;
                (*self.lives.get(point.life)?, value)
            }
            None => {
                let read = ReadAt { by: u64::MAX, snapshots: snapshot };
                self.continued(value, read)?
            }
        };
        Some((life, i64::try_from(value).ok()?))
    }
}

/// The clock for one life of another clock: no file has such a large number.
fn of_life(clock: Clock, life: usize) -> Clock {
    let order = u32::MAX.saturating_sub(u32::try_from(life).unwrap_or(u32::MAX));
    let file = FileTag { order, ..clock.file };
    Clock { file, ..clock }
}

/// The clocks that read less than in the previous snapshot, in the order of the file (rule R11);
/// `None` if there are none. It skips builtin clocks that never went back (rule N5), because their
/// snapshots are all alike.
fn went_back(graph: &ClockGraph, trace_time: Clock) -> Option<Vec<bool>> {
    let may_have = |domain: &crate::Domain| {
        let Clock { id, .. } = domain.clock;
        (!domain.monotonic || id.scope() != Scope::Builtin)
            && !matches!(id, ClockId(1 | 2))
            && domain.snapshots > 1
            && domain.clock != trace_time
    };
    let mut last: Vec<Option<i64>> =
        graph.domains().map(|domain| may_have(&domain).then_some(i64::MIN)).collect();
    if last.iter().all(Option::is_none) {
        return None;
    }
    let mut went_back = vec![false; last.len()];
    for place in graph.in_file() {
        if is_guessed(graph.source_at(place)) {
            continue;
        }
        for (domain, value) in graph.readings_at(place) {
            let index = domain as usize;
            if let (Some(Some(last)), Some(back)) = (last.get_mut(index), went_back.get_mut(index))
            {
                *back |= value < *last;
                *last = value;
            }
        }
    }
    went_back.contains(&true).then_some(went_back)
}

/// Whether no snapshot was taken of the clocks.
fn is_guessed(source: Source) -> bool {
    matches!(source, Source::Manifest | Source::Causality | Source::Assumed)
}

/// The readings of these clocks, each with the trace time of its snapshot (rule R11).
fn taken(
    estimates: &Estimates,
    trace_time: Clock,
    went_back: &[bool],
    cache: &mut EstimateCache,
) -> FxHashMap<DomainIx, Vec<Taken>> {
    let clocks: Vec<Clock> = estimates.graph().clocks().collect();
    let clock_of = |domain: DomainIx| clocks.get(domain as usize).copied();
    let mut taken: FxHashMap<DomainIx, Vec<Taken>> = FxHashMap::default();
    let mut together: Vec<(DomainIx, i64)> = Vec::new();
    for place in estimates.graph().in_file() {
        together.clear();
        together.extend(estimates.graph().readings_at(place));
        let source = estimates.graph().source_at(place);
        let back = |domain: DomainIx| went_back.get(domain as usize) == Some(&true);
        if is_guessed(source) || !together.iter().any(|(domain, _)| back(*domain)) {
            continue;
        }
        let home = together.iter().find(|(domain, _)| clock_of(*domain) == Some(trace_time));
        let home = home.map(|(_, value)| *value);
        for (domain, value) in together.iter().filter(|(domain, _)| back(*domain)) {
            let at = home.or_else(|| {
                let others = together.iter().filter(|(other, _)| other != domain);
                let times = others.filter_map(|(other, value)| {
                    let other = clock_of(*other)?;
                    let time = estimates.convert(other, ClockNs(*value), trace_time, cache);
                    time.ok().map(|ClockNs(time)| time)
                });
                times.min()
            });
            if let Some(at) = at {
                let snapshot = estimates.graph().number_at(place);
                taken.entry(*domain).or_default().push(Taken {
                    at,
                    value: *value,
                    snapshot,
                    source,
                });
            }
        }
    }
    taken
}

/// The snapshots of a graph, with the lives of these clocks instead of the clocks.
fn mended(graph: &ClockGraph, clocks: &mut FxHashMap<Clock, Continuous>) -> ClockGraph {
    let mut mended = ClockGraph::new();
    let mut readings: Vec<Reading> = Vec::new();
    for place in graph.in_file() {
        readings.clear();
        let snapshot = graph.number_at(place);
        readings.extend(graph.readings_at(place).filter_map(|(domain, value)| {
            let (clock, unit) = (graph.clock_at(domain), graph.unit_at(domain));
            let (clock, value) = match clocks.get_mut(&clock) {
                Some(clock) => clock.in_snapshot(snapshot, value)?,
                None => (clock, value),
            };
            Some(Reading { clock, value, unit: unit.ns, incremental: unit.incremental })
        }));
        // If the graph accepted a snapshot once, it accepts it without some of its clocks.
        let _ = mended.add_snapshot(graph.source_at(place), &readings, None);
    }
    mended
}
