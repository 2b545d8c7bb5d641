//! The clock graph: snapshots in (rules N), conversions out (rules V, in
//! `convert.rs`).
//!
//! # Design
//!
//! * Snapshots of the same set of clocks are kept together; rule N5 speaks of
//!   such sets, and the edges of the graph follow from them.
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
//! makes an import with many snapshots quadratic. Going hop by hop always would
//! search once a hop for every reading out of order.

mod convert;

use rustc_hash::FxHashMap;

use crate::clock::Clock;
use crate::hop::{HopTable, Pair};
use crate::routes::{DomainIx, SetIx, Topology};
use crate::snapshot::{Reading, Rejected, Source};
use convert::Target;

pub use convert::Hop;

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
mod tests;
