//! One hop from a clock to another, and the choice of the nearest snapshot (rule V2).
//!
//! # Design
//!
//! Within a set of clocks, a clock that may be the source of a hop never goes backwards (rule N5),
//! so the rows of a set are already sorted by each such clock. If a single set of the best source
//! holds both clocks, as for nearly every hop, the hop searches that set's rows and stores nothing
//! of its own.
//!
//! If several sets hold both clocks, their rows are put in one order, as references of 8 bytes. The
//! alternative was a separate table for every hop. Rule N6 alone converts each of the six builtin
//! clocks, so every snapshot was stored five more times.
//!
//! The cache owns that order, and adds new rows at the next conversion.
//!
//! If messages say how the clocks of a hop relate (rule AL20), its snapshots are corners of lines
//! (see `corners.rs`).

use rustc_hash::FxHashMap;

use crate::corners::{Corner, Level, Straight};
use crate::routes::{DomainIx, SetIx};
use crate::rows::partition;
use crate::snapshot::Source;
use crate::store::Store;
use crate::tight;

/// The range of source values for which one snapshot is the nearest; of a line, the values around
/// one that have the same rounded offset. A bound of `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub start: Option<i64>,
    pub end: Option<i64>,
    /// The readings of the hop's two clocks in the snapshot.
    pub from: i64,
    pub to: i64,
    /// How much the offset is above that in the snapshot (rule AL20); 0 unless the hop is by lines.
    pub drift: i128,
    pub row: RowRef,
    /// A guess for the next value (see `Rows::count_until`).
    pub hint: usize,
}

impl Stretch {
    /// The offset of this hop. It may need 65 bits, and of a line 101.
    pub fn offset(self) -> i128 {
        i128::from(self.to) - i128::from(self.from) + self.drift
    }
}

/// A row of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowRef {
    pub set: SetIx,
    pub row: u32,
}

/// The hops that start at clocks in several sets, as far as paths have used them. A clock in one
/// set needs no entry.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    from: FxHashMap<DomainIx, Vec<Hop>>,
    /// For each known set.
    sets: Vec<OfSet>,
    /// The numbers of known excluded clocks and snapshots.
    excluded: usize,
    snapshots: usize,
}

/// Data about a set.
#[derive(Debug, Clone, Copy, Default)]
struct OfSet {
    /// Whether a hop has its rows in one order with the rows of another set.
    is_merged: bool,
    /// The last count of rows (see `Rows::count_until`).
    hint: u32,
}

#[derive(Debug)]
struct Hop {
    to: DomainIx,
    source: Source,
    rows: HopRows,
}

#[derive(Debug)]
enum HopRows {
    One(SetIx),
    Several(Merged),
}

/// A hop of a path, prepared for searching.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Leg<'g> {
    One {
        set: SetIx,
        /// The columns of the two clocks.
        from: usize,
        to: usize,
    },
    Several {
        from: DomainIx,
        to: DomainIx,
        rows: &'g Merged,
    },
}

impl Hops {
    /// The hop between two clocks; `None` if it was not prepared, or if no
    /// snapshot holds both.
    pub fn leg(&self, store: &Store, from: DomainIx, to: DomainIx) -> Option<Leg<'_>> {
        let topology = &store.topology;
        let (set, from) = match topology.only_set(from) {
            Some(only) => only,
            None => match &self.find(from, to)?.rows {
                &HopRows::One(set) => (set, topology.column(set, from)?),
                HopRows::Several(rows) => return Some(Leg::Several { from, to, rows }),
            },
        };
        let to = topology.column(set, to)?;
        Some(Leg::One { set, from, to })
    }

    fn find(&self, from: DomainIx, to: DomainIx) -> Option<&Hop> {
        self.from.get(&from)?.iter().find(|hop| hop.to == to)
    }

    /// The start for a search in a set.
    pub fn hint(&self, set: SetIx) -> usize {
        self.sets.get(set as usize).map_or(0, |of| of.hint as usize)
    }

    /// Sets the start for the next search in a set.
    pub fn set_hint(&mut self, set: SetIx, hint: usize) {
        if let Some(of) = self.sets.get_mut(set as usize) {
            of.hint = hint as u32;
        }
    }

    /// Adds the snapshots since the last time.
    pub fn refresh(&mut self, store: &Store) {
        let in_file = store.sets_in_file();
        if self.snapshots == in_file.len() {
            return;
        }
        let topology = &store.topology;
        if self.from.is_empty() {
            tight::fill(&mut self.sets, topology.sets(), OfSet::default());
        } else {
            for domain in &topology.excluded()[self.excluded..] {
                self.from.remove(domain); // No path uses it any more (rule N5).
            }
            for (snapshot, set) in (self.snapshots..).zip(in_file.since(self.snapshots)) {
                // Sets are numbered by their first snapshots.
                if set as usize == self.sets.len() {
                    tight::push(&mut self.sets, OfSet::default());
                    self.set_added(store, set, snapshot);
                }
                self.row_added(store, set, snapshot);
            }
        }
        self.excluded = topology.excluded().len();
        self.snapshots = in_file.len();
    }

    /// Finds the snapshots of a hop when a path uses it for the first time.
    pub fn prepare(&mut self, store: &Store, from: DomainIx, to: DomainIx) {
        if store.topology.only_set(from).is_some() || self.find(from, to).is_some() {
            return;
        }
        let both = |&set: &SetIx| store.topology.column(set, to).is_some();
        let sets: Vec<SetIx> = store.topology.sets_of(from).filter(both).collect();
        let source_of = |&set: &SetIx| store.source(set);
        let Some(source) = sets.iter().map(source_of).min() else {
            return;
        };
        let mut best = sets;
        best.retain(|set| source_of(set) == source);
        let rows = match best.as_slice() {
            &[set] => HopRows::One(set),
            sets => {
                mark_merged(&mut self.sets, sets);
                let all = store.sets_in_file().len();
                HopRows::Several(Merged::new(store, from, sets, all))
            }
        };
        let hop = Hop { to, source, rows };
        self.from.entry(from).or_default().push(hop);
    }

    /// Handles a new set, which was added with a snapshot.
    fn set_added(&mut self, store: &Store, set: SetIx, snapshot: usize) {
        let source = store.source(set);
        for member in store.topology.members(set) {
            let from = member.domain;
            let Some(hops) = self.from.get_mut(&from) else {
                continue;
            };
            for hop in hops {
                if source > hop.source || store.topology.column(set, hop.to).is_none() {
                    continue;
                }
                if source < hop.source {
                    hop.source = source;
                    hop.rows = HopRows::One(set);
                    continue;
                }
                match hop.rows {
                    HopRows::One(other) => {
                        mark_merged(&mut self.sets, &[other, set]);
                        let rows = Merged::new(store, from, &[other, set], snapshot);
                        hop.rows = HopRows::Several(rows);
                    }
                    HopRows::Several(_) => mark_merged(&mut self.sets, &[set]),
                }
            }
        }
    }

    /// Handles a new row of a set.
    fn row_added(&mut self, store: &Store, set: SetIx, snapshot: usize) {
        if !self.sets[set as usize].is_merged {
            return;
        }
        let members = store.topology.members(set);
        let row = store.rows(set).before(members.len(), snapshot);
        let row = RowRef { set, row: row as u32 };
        for member in members {
            let from = member.domain;
            for hop in self.from.get_mut(&from).into_iter().flatten() {
                if let HopRows::Several(rows) = &mut hop.rows
                    && hop.source == store.source(set)
                    && store.topology.column(set, hop.to).is_some()
                {
                    rows.insert(store, from, row);
                }
            }
        }
    }
}

/// Notes that a hop has the rows of these sets in one order.
fn mark_merged(of: &mut [OfSet], sets: &[SetIx]) {
    for &set in sets {
        if let Some(of) = of.get_mut(set as usize) {
            of.is_merged = true;
        }
    }
}

impl Leg<'_> {
    /// The set that has all of its snapshots.
    pub fn only_set(self) -> Option<SetIx> {
        match self {
            Leg::One { set, .. } => Some(set),
            Leg::Several { .. } => None,
        }
    }

    /// The origin of its snapshots.
    pub fn source(self, store: &Store) -> Option<Source> {
        let set = match self {
            Leg::One { set, .. } => set,
            Leg::Several { rows, .. } => rows.chunks.first()?.first()?.set,
        };
        Some(store.source(set))
    }

    /// The number of its snapshots.
    pub fn len(self, store: &Store) -> usize {
        match self {
            Leg::One { set, .. } => store.rows(set).len(),
            Leg::Several { rows, .. } => rows.chunks.iter().map(Vec::len).sum(),
        }
    }

    /// Gives each of its snapshots, with the readings of both clocks, in the order of the
    /// source's values; those with equal values in file order.
    pub fn each(self, store: &Store, mut each: impl FnMut(i64, i64, u32)) {
        match self {
            Leg::One { set, from, to } => {
                let clocks = store.topology.members(set).len();
                let rows = store.rows(set);
                for row in 0..rows.len() {
                    let snapshot = rows.snapshot(clocks, row);
                    each(rows.get(clocks, row, from), rows.get(clocks, row, to), snapshot);
                }
            }
            Leg::Several { from, to, rows } => {
                for &row in rows.chunks.iter().flatten() {
                    let snapshot = snapshot_of(store, row);
                    each(value_of(store, row, from), value_of(store, row, to), snapshot);
                }
            }
        }
    }

    /// Whether it is by lines (rule AL20).
    pub fn is_by_lines(self, store: &Store) -> bool {
        self.source(store) == Some(Source::Causality)
    }

    /// The offset around `value`, and for which values it holds: that of the nearest snapshot, or of
    /// the line from it.
    pub fn nearest(self, store: &Store, value: i64, hint: usize) -> Option<Stretch> {
        let stretch = self.nearest_snapshot(store, value, hint)?;
        Some(match store.source(stretch.row.set) {
            Source::Causality => self.on_line(store, value, stretch),
            _ => stretch,
        })
    }

    /// The part of a line around `value`, from its nearest corner (rule AL20).
    #[inline(never)]
    fn on_line(self, store: &Store, value: i64, stretch: Stretch) -> Stretch {
        let place = match self {
            Leg::One { .. } => Some(stretch.row.row as usize),
            // No relation has more than two clocks, so this is for no import.
            Leg::Several { rows, .. } => {
                rows.chunks.iter().flatten().position(|&row| row == stretch.row)
            }
        };
        // After the last corner, the line goes on from the one before.
        let other = place.and_then(|place| match stretch.end {
            Some(_) => place.checked_add(1),
            None => place.checked_sub(1),
        });
        let other = other.and_then(|other| self.corner(store, other));
        let Level { drift, start, end } =
            Straight::new((stretch.from, stretch.to), other).at(value);
        Stretch {
            start: stretch.start.max(start),
            end: match (stretch.end, end) {
                (Some(a), Some(b)) => Some(i64::min(a, b)),
                (a, b) => a.or(b),
            },
            drift,
            ..stretch
        }
    }

    /// The readings of both clocks at a place in the order of the source's values.
    fn corner(self, store: &Store, place: usize) -> Option<Corner> {
        match self {
            Leg::One { set, from, to } => {
                let clocks = store.topology.members(set).len();
                let rows = store.rows(set);
                let value = |column| rows.get(clocks, place, column);
                (place < rows.len()).then(|| (value(from), value(to)))
            }
            Leg::Several { from, to, rows } => {
                let &row = rows.chunks.iter().flatten().nth(place)?;
                Some((value_of(store, row, from), value_of(store, row, to)))
            }
        }
    }

    /// The snapshot nearest to `value`, and for which values it is that.
    fn nearest_snapshot(self, store: &Store, value: i64, hint: usize) -> Option<Stretch> {
        match self {
            Leg::One { set, from, to } => {
                let clocks = store.topology.members(set).len();
                let rows = store.rows(set);
                let count = rows.count_until(clocks, from, value, hint);
                let row = count.saturating_sub(1);
                let len = rows.len();
                if row >= len {
                    return None;
                }
                let first = rows.get(clocks, row, from);
                Some(Stretch {
                    start: (count > 0).then_some(first),
                    end: match count {
                        0 => Some(first),
                        _ => (count < len).then(|| rows.get(clocks, count, from)),
                    },
                    from: first,
                    to: rows.get(clocks, row, to),
                    drift: 0,
                    row: RowRef { set, row: row as u32 },
                    hint: count,
                })
            }
            Leg::Several { from, to, rows } => rows.nearest(store, from, to, value),
        }
    }
}

/// The number of references in a chunk. A late snapshot moves at most one chunk
/// (4 KiB), so late snapshots never make an import quadratic, and a chunk that
/// is filled in order wastes nothing.
const CHUNK: usize = 512;

/// The rows of several sets, sorted by the source clock of a hop; among equal
/// values, in file order.
#[derive(Debug)]
pub(crate) struct Merged {
    chunks: Vec<Vec<RowRef>>,
}

fn value_of(store: &Store, row: RowRef, clock: DomainIx) -> i64 {
    let topology = &store.topology;
    // It only uses rows that hold the clock.
    topology.column(row.set, clock).map_or(0, |column| {
        let clocks = topology.members(row.set).len();
        let rows = store.rows(row.set);
        rows.get(clocks, row.row as usize, column)
    })
}

/// The snapshot of a row.
pub(crate) fn snapshot_of(store: &Store, row: RowRef) -> u32 {
    let clocks = store.topology.members(row.set).len();
    let rows = store.rows(row.set);
    rows.snapshot(clocks, row.row as usize)
}

impl Merged {
    /// The rows of the snapshots up to this number.
    fn new(store: &Store, from: DomainIx, sets: &[SetIx], snapshots: usize) -> Merged {
        let mut all = Vec::new();
        for &set in sets {
            let clocks = store.topology.members(set).len();
            let len = store.rows(set).before(clocks, snapshots);
            all.extend((0..len as u32).map(|row| RowRef { set, row }));
        }
        // Each set is already sorted, and this sort profits from it.
        all.sort_by_key(|&row| (value_of(store, row, from), snapshot_of(store, row)));
        Merged { chunks: all.chunks(CHUNK).map(<[RowRef]>::to_vec).collect() }
    }

    /// Adds a row that comes after all others in the file.
    fn insert(&mut self, store: &Store, from: DomainIx, row: RowRef) {
        let value = value_of(store, row, from);
        let Some((index, at)) = self.position(store, from, value) else {
            let index = self.chunks.len().saturating_sub(1);
            match self.chunks.get_mut(index) {
                Some(chunk) if chunk.len() < CHUNK => chunk.push(row),
                _ => self.chunks.push(vec![row]),
            }
            return;
        };
        let chunk = &mut self.chunks[index];
        chunk.insert(at, row);
        if chunk.len() > CHUNK {
            let upper = chunk.split_off(CHUNK / 2);
            self.chunks.insert(index + 1, upper);
        }
    }

    /// The place of the first row after `value`, as a chunk and an index in it.
    fn position(&self, store: &Store, from: DomainIx, value: i64) -> Option<(usize, usize)> {
        let beyond = |&row: &RowRef| value_of(store, row, from) > value;
        if !self.chunks.last()?.last().is_some_and(beyond) {
            return None;
        }
        let after = partition(self.chunks.len(), |at| !self.chunks[at].first().is_some_and(beyond));
        let index = after.saturating_sub(1);
        let chunk = &self.chunks[index];
        let at = partition(chunk.len(), |at| !beyond(&chunk[at]));
        match at < chunk.len() {
            true => Some((index, at)),
            false => Some((after, 0)),
        }
    }

    fn nearest(&self, store: &Store, from: DomainIx, to: DomainIx, value: i64) -> Option<Stretch> {
        let next = self.position(store, from, value);
        let before = match next {
            None => self.chunks.last().and_then(|chunk| chunk.last()),
            Some((0, 0)) => None,
            Some((index, 0)) => self.chunks[index - 1].last(),
            Some((index, at)) => self.chunks[index].get(at - 1),
        };
        let next = next.map(|(index, at)| self.chunks[index][at]);
        let row = before.copied().or(next)?;
        let first = value_of(store, row, from);
        Some(Stretch {
            start: before.map(|_| first),
            end: next.map(|next| value_of(store, next, from)),
            from: first,
            to: value_of(store, row, to),
            drift: 0,
            row,
            hint: 0,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cache::ConversionCache;
    use crate::clock::Clock;
    use crate::graph::ClockGraph;
    use crate::snapshot::Reading;
    use crate::time::ClockNs;
    use proptest::prelude::*;

    /// The sources of a trace: pairs of bundles, and perhaps better ones.
    fn sources() -> impl Strategy<Value = Vec<Source>> {
        let better_or_not = |n| prop::collection::vec(n..3usize, 1..1200);
        let sources = (0usize..3).prop_flat_map(better_or_not);
        sources.prop_map(|numbers| numbers.into_iter().map(|n| Source::ALL[n]).collect())
    }

    fn reading(id: u32, value: i64) -> Reading {
        Reading { clock: Clock::host(id), value, unit: 1, incremental: false }
    }

    /// Rule V2, computed from all pairs in file order.
    fn naive(pairs: &[(Source, i64, i64)], at: i64) -> i64 {
        let best = pairs.iter().map(|pair| pair.0).min().unwrap();
        let pairs = pairs.iter().filter(|pair| pair.0 == best);
        let before = pairs.clone().filter(|pair| pair.1 <= at);
        let least = pairs.clone().map(|pair| pair.1).min().unwrap();
        let (_, from, to) = before
            .max_by_key(|pair| pair.1)
            .unwrap_or_else(|| pairs.clone().find(|pair| pair.1 == least).unwrap());
        at + (to - from)
    }

    proptest! {
        /// Snapshots of A and B, with and without other clocks, from several sources; each set of
        /// clocks continues from its own last values.
        #[test]
        fn v2_of_all_sets_the_nearest_snapshot_of_the_best_source(
            sources in sources(),
            snapshots in prop::collection::vec(
                (0u32..4, prop_oneof![Just(0i64), 0i64..9], -50i64..50), 1200,
            ),
            ats in prop::collection::vec((0usize..1200, -20i64..2000), 20),
        ) {
            let (mut graph, mut cache) = (ClockGraph::new(), ConversionCache::new());
            let (mut pairs, mut last) = (Vec::new(), [0i64, 500, 900, 30]);
            let snapshots = sources.into_iter().zip(snapshots);
            for (index, (source, (others, forward, to))) in snapshots.enumerate() {
                let from = last[others as usize] + forward;
                last[others as usize] = from;
                let mut readings = vec![reading(200, from), reading(201, to)];
                readings.extend((0..others).map(|other| reading(300 + other, index as i64)));
                graph.add_snapshot(source, &readings, None).unwrap();
                pairs.push((source, from, to));
                // Some before and some after the first use of the hop.
                for &(_, at) in ats.iter().filter(|at| at.0 == index) {
                    let (from, to) = (Clock::host(200), Clock::host(201));
                    let converted = graph.convert(from, ClockNs(at), to, &mut cache);
                    prop_assert_eq!(converted, Ok(ClockNs(naive(&pairs, at))));
                }
            }
            for (_, at) in ats {
                let (from, to) = (Clock::host(200), Clock::host(201));
                let converted = graph.convert(from, ClockNs(at), to, &mut cache);
                prop_assert_eq!(converted, Ok(ClockNs(naive(&pairs, at))));
                let mapping = graph.mapping(from, to, &mut cache).unwrap();
                prop_assert_eq!(mapping.convert(at), Some(naive(&pairs, at)));
            }
        }
    }
}
