//! The clock graph: snapshots in (rules N), conversions out (rules V, in
//! `convert.rs`).
//!
//! # Design
//!
//! The graph has the contents of snapshots, and nothing that follows from them:
//!
//! * Snapshots of the same clocks are stored together (see `store.rs`, `rows.rs`). Rule N5 is about
//!   such sets, and they determine the edges of the graph.
//! * Sets, snapshots and excluded clocks have numbers in order, so a
//!   [`ConversionCache`](crate::ConversionCache) knows which of them are new.
//!
//! The caller owns the memory of conversions (see `cache.rs`).

mod convert;

use crate::clock::Clock;
use crate::domain::{ClockUnit, Domain};
use crate::identity::Identity;
use crate::routes::{DomainIx, Member, SetIx};
use crate::snapshot::{Reading, Rejected, Source};
use crate::store::{Cell, Store};
pub use convert::Hop;

/// The number of an accepted snapshot: 0, 1, 2 … in file order.
///
/// ```
/// # use timebase_resolver::{Clock, ClockGraph, Reading, SnapshotId, Source};
/// # let mut graph = ClockGraph::new();
/// # let reading = Reading::new(Clock::BOOTTIME, 7, 1, false)?;
/// assert_eq!(graph.add_snapshot(Source::Service, &[reading], None)?, SnapshotId(0));
/// assert_eq!(graph.add_snapshot(Source::Service, &[reading], None)?, SnapshotId(1));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(pub u32);

/// The sets with a snapshot's clocks, by source.
type SameClocks = [Option<SetIx>; Source::ALL.len()];

/// The clock graph of a trace.
///
/// The first example is from rule V7:
///
/// ```
/// use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
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
/// let mut cache = ConversionCache::new();
/// for (from, to) in [(1104, 2104), (1999, 2999), (2000, 3500), (900, 1900)] {
///     let converted = graph.convert(monotonic, ClockNs(from), boottime, &mut cache);
///     assert_eq!(converted, Ok(ClockNs(to)));
/// }
///
/// // Which snapshot was it?
/// let hops = graph.explain(monotonic, ClockNs(1104), boottime, &mut cache).unwrap();
/// assert_eq!((hops[0].from_value, hops[0].to_value), (1100, 2100));
///
/// // The whole mapping: two steps, since four of the snapshots agree.
/// let mapping = graph.mapping(monotonic, boottime, &mut cache).unwrap();
/// assert_eq!(mapping.steps().count(), 2);
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Default)]
pub struct ClockGraph {
    identity: Identity,
    store: Store,
    /// The number of snapshots. A cache compares it to notice new ones.
    snapshots: u32,
    /// The number of snapshots when the last set was added or the last clock was excluded.
    topology_changed: u32,
    /// Buffers for a snapshot that is being added.
    row: Vec<Cell>,
}

impl ClockGraph {
    /// A graph without snapshots.
    pub fn new() -> Self {
        ClockGraph::default()
    }

    /// Adds a snapshot: readings of one instant.
    ///
    /// `trace_time` is the clock that must not go backwards (rule N2).
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
    /// # let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
    /// # let mut graph = ClockGraph::new();
    /// # for (m, b) in [(1000, 2000), (2000, 3500)] {
    /// #     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
    /// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
    /// # }
    /// // Trace time does not go backwards.
    /// let early = [Reading::new(monotonic, 1500, 1, false)?, Reading::new(boottime, 100, 1, false)?];
    /// let rejected = graph.add_snapshot(Source::Service, &early, Some(boottime)).unwrap_err();
    /// assert_eq!(rejected.code(), "snapshot_trace_time_backwards");
    /// assert_eq!(graph.snapshots(), 2);
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Rejected`], if the snapshot is invalid (rule N2). The graph is then unchanged (rule N1).
    pub fn add_snapshot(
        &mut self,
        source: Source,
        readings: &[Reading],
        trace_time: Option<Clock>,
    ) -> Result<SnapshotId, Rejected> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let result = self
            .check(source, readings, trace_time, &mut row)
            .and_then(|sets| self.add_row(source, readings, &row, sets));
        self.row = row;
        result
    }

    /// Checks the snapshot (rule N2) without changing anything. Puts the readings in the order of
    /// their clocks into `row`; those of new clocks come last, with their future numbers. Returns
    /// the sets of the same clocks.
    fn check(
        &self,
        source: Source,
        readings: &[Reading],
        trace_time: Option<Clock>,
        row: &mut Vec<Cell>,
    ) -> Result<SameClocks, Rejected> {
        let known = self.store.topology.clocks();
        let mut new = known;
        for (index, reading) in readings.iter().enumerate() {
            reading.check(trace_time)?;
            let clock = reading.clock;
            let domain = match self.store.find_clock(clock) {
                Some(domain) => {
                    if self.store.topology.unit(domain) != unit_of(reading) {
                        return Err(Rejected::UnitChanged { clock });
                    }
                    domain
                }
                None => {
                    new += 1;
                    new as u32 - 1
                }
            };
            row.push(Cell { domain, value: reading.value, reading: index });
        }
        row.sort_unstable_by_key(|cell| cell.domain);
        if new > known || row.windows(2).any(|pair| pair[0].domain == pair[1].domain) {
            let mut clocks: Vec<Clock> = readings.iter().map(|reading| reading.clock).collect();
            clocks.sort_unstable();
            if let Some(pair) = clocks.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Rejected::Duplicate { clock: pair[0] });
            }
        }
        let sets = self.store.find_sets(row);
        let column = |cell: &Cell| Some(readings[cell.reading].clock) == trace_time;
        let last = self.store.last_row(&continued(source, sets), row.len());
        let (Some(column), Some(last)) = (row.iter().position(column), last) else {
            return Ok(sets);
        };
        let (before, value) = (last[column], row[column].value);
        match before > value {
            true => Err(Rejected::TraceTimeBackwards {
                clock: readings[row[column].reading].clock,
                before,
                value,
            }),
            false => Ok(sets),
        }
    }

    fn add_row(
        &mut self,
        source: Source,
        readings: &[Reading],
        row: &[Cell],
        sets: SameClocks,
    ) -> Result<SnapshotId, Rejected> {
        let snapshot = self.snapshots;
        self.snapshots = snapshot.checked_add(1).ok_or(Rejected::TooMany)?;
        self.exclude_backwards(row, continued(source, sets));
        for cell in row {
            if cell.domain as usize == self.store.topology.clocks() {
                let reading = &readings[cell.reading];
                self.store.add_clock(reading.clock, unit_of(reading));
            }
        }
        let set = match sets[source as usize] {
            Some(set) => set,
            None => {
                self.topology_changed = self.snapshots;
                self.store.add_set(row, source)
            }
        };
        self.store.push(set, row);
        Ok(SnapshotId(snapshot))
    }

    /// Excludes clocks that went backwards as sources (rule N5).
    fn exclude_backwards(&mut self, row: &[Cell], sets: SameClocks) {
        let Some(last) = self.store.last_row(&sets, row.len()) else {
            return;
        };
        let backwards = row.iter().zip(last).filter(|(cell, before)| cell.value < **before);
        let backwards: Vec<u32> = backwards.map(|(cell, _)| cell.domain).collect();
        for domain in backwards {
            if self.store.topology.exclude(domain) {
                self.topology_changed = self.snapshots;
            }
        }
    }

    /// The number of accepted snapshots.
    pub fn snapshots(&self) -> u32 {
        self.snapshots
    }

    /// All clocks in snapshots, in the order of their first one.
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, ClockNs, ConversionCache, Reading, Source};
    /// # let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
    /// # let mut graph = ClockGraph::new();
    /// # for (m, b) in [(1000, 2000), (2000, 3500)] {
    /// #     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
    /// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
    /// # }
    /// let clocks: Vec<Clock> = graph.domains().map(|domain| domain.clock).collect();
    /// assert_eq!(clocks, [monotonic, boottime]);
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    pub fn domains(&self) -> impl ExactSizeIterator<Item = Domain> {
        (0..self.store.topology.clocks()).map(|domain| self.store.domain(domain as DomainIx))
    }

    /// The same without the facts about them.
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, Reading, Source};
    /// # let mut graph = ClockGraph::new();
    /// graph.add_snapshot(Source::Service, &[Reading::new(Clock::BOOTTIME, 7, 1, false)?], None)?;
    /// assert!(graph.clocks().eq([Clock::BOOTTIME]));
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    pub fn clocks(&self) -> impl ExactSizeIterator<Item = Clock> + Clone {
        (0..self.store.topology.clocks()).map(|domain| self.clock_at(domain as DomainIx))
    }

    /// The number of a clock in the order of [`ClockGraph::clocks`]; `None` if no snapshot has it.
    ///
    /// ```
    /// # use timebase_resolver::{Clock, ClockGraph, Reading, Source};
    /// # let mut graph = ClockGraph::new();
    /// graph.add_snapshot(Source::Service, &[Reading::new(Clock::BOOTTIME, 7, 1, false)?], None)?;
    /// assert_eq!((graph.number(Clock::BOOTTIME), graph.number(Clock::host(3))), (Some(0), None));
    /// # Ok::<(), timebase_resolver::Rejected>(())
    /// ```
    #[inline]
    pub fn number(&self, clock: Clock) -> Option<usize> {
        self.store.find_clock(clock).map(|domain| domain as usize)
    }

    /// A clock by its number in the order of [`ClockGraph::clocks`].
    pub(crate) fn clock_at(&self, domain: DomainIx) -> Clock {
        self.store.topology.clock(domain)
    }

    /// The form of its readings.
    pub(crate) fn unit_at(&self, domain: DomainIx) -> ClockUnit {
        self.store.topology.unit(domain)
    }

    /// The place of each snapshot, in the order of the file.
    pub(crate) fn in_file(&self) -> impl Iterator<Item = (SetIx, u32)> + use<'_> {
        self.store.in_file()
    }

    /// The origin of a snapshot.
    pub(crate) fn source_at(&self, (set, _): (SetIx, u32)) -> Source {
        self.store.source(set)
    }

    /// The number of a snapshot.
    pub(crate) fn number_at(&self, (set, row): (SetIx, u32)) -> u32 {
        let clocks = self.store.topology.members(set).len();
        self.store.rows(set).snapshot(clocks, row as usize)
    }

    /// The clocks of a snapshot, and their readings.
    pub(crate) fn readings_at(
        &self,
        (set, row): (SetIx, u32),
    ) -> impl Iterator<Item = (DomainIx, i64)> + use<'_> {
        let members = self.store.topology.members(set);
        let rows = self.store.rows(set);
        let column = move |(column, member): (usize, &Member)| {
            (member.domain, rows.get(members.len(), row as usize, column))
        };
        members.iter().enumerate().map(column)
    }

    /// The identity of the graph among all graphs of the process.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Facts about a clock; `None` if no snapshot has it.
    pub fn domain(&self, clock: Clock) -> Option<Domain> {
        Some(self.store.domain(self.store.find_clock(clock)?))
    }

    /// The form of a clock's readings; `None` if no snapshot has it. It is faster than
    /// [`ClockGraph::domain`].
    #[inline]
    pub fn unit(&self, clock: Clock) -> Option<ClockUnit> {
        Some(self.store.topology.unit(self.store.find_clock(clock)?))
    }
}

fn unit_of(reading: &Reading) -> ClockUnit {
    ClockUnit { ns: reading.unit, incremental: reading.incremental }
}

/// The sets whose last reading a snapshot must not go back behind (rule N5). The corners of a
/// relation (rule AL16) are no readings that clocks showed, so they only continue each other.
fn continued(source: Source, mut sets: SameClocks) -> SameClocks {
    let corners = Source::Causality as usize;
    for (index, set) in sets.iter_mut().enumerate() {
        if (index == corners) != (source == Source::Causality) {
            *set = None;
        }
    }
    sets
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
