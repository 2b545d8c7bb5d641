//! The stored clocks and snapshots, before any conversion.
//!
//! Snapshots of the same clocks and the same source are rows of one set. The first rows of all sets are in one list,
//! because most sets of a trace with very many have one row: a [`Rows`] with an allocation for each took 64 bytes more. The
//! tables that find a
//! clock or a set by its key only hold 4-byte indices, because the keys are already here: 5 bytes
//! for each entry instead of 18 for a clock and 26 and a box for a set.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::clock::Clock;
use crate::domain::{ClockUnit, Domain};
use crate::routes::{DomainIx, SetIx, Topology};
use crate::rows::{Rows, RowsOf};
use crate::snapshot::Source;
use crate::tight;

/// A clock's reading in a snapshot that is to be added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub domain: DomainIx,
    pub value: i64,
    /// The index of the reading in the snapshot.
    pub reading: usize,
}

/// The set of each snapshot: in a byte, up to the first set that needs more.
#[derive(Debug, Default)]
pub(crate) struct InFile {
    narrow: Vec<u8>,
    wide: Vec<SetIx>,
}

impl InFile {
    fn push(&mut self, set: SetIx) {
        match u8::try_from(set) {
            Ok(set) if self.wide.is_empty() => tight::push(&mut self.narrow, set),
            _ => tight::push(&mut self.wide, set),
        }
    }

    /// The number of snapshots.
    pub fn len(&self) -> usize {
        self.narrow.len() + self.wide.len()
    }

    /// The sets of the snapshots from a number on.
    pub fn since(&self, snapshot: usize) -> impl Iterator<Item = SetIx> {
        let wide = snapshot.saturating_sub(self.narrow.len());
        let narrow = self.narrow.iter().skip(snapshot).map(|&set| set.into());
        narrow.chain(self.wide.iter().skip(wide).copied())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub topology: Topology,
    clocks: HashTable<DomainIx>,
    /// By set.
    sources: Vec<Source>,
    /// The first row of each set: a value for each member, and the number of the snapshot.
    first: Vec<i64>,
    /// All rows of each set that has several.
    several: Vec<Option<Box<Rows>>>,
    by_members: HashTable<SetIx>,
    /// The set of each snapshot, in the order of the file. A cache of rows reads the new ones here.
    in_file: InFile,
}

impl Store {
    pub fn find_clock(&self, clock: Clock) -> Option<DomainIx> {
        let hash = FxBuildHasher.hash_one(clock);
        self.clocks.find(hash, |&index| self.topology.clock(index) == clock).copied()
    }

    pub fn add_clock(&mut self, clock: Clock, unit: ClockUnit) {
        let index = self.topology.add_clock(clock, unit);
        let topology = &self.topology;
        let hash = |&index: &DomainIx| FxBuildHasher.hash_one(topology.clock(index));
        self.clocks.insert_unique(hash(&index), index, hash);
    }

    /// The facts about a clock. This goes through the sets that hold it.
    pub fn domain(&self, domain: DomainIx) -> Domain {
        let topology = &self.topology;
        let ClockUnit { ns, incremental } = topology.unit(domain);
        let mut facts = Domain {
            clock: topology.clock(domain),
            unit: ns,
            incremental,
            monotonic: topology.is_monotonic(domain),
            snapshots: 0,
            first_value: 0,
            last_value: 0,
        };
        let (mut first, mut last) = (u32::MAX, 0);
        for set in topology.sets_of(domain) {
            let (rows, clocks) = (self.rows(set), topology.members(set).len());
            let Some(column) = topology.column(set, domain) else {
                continue;
            };
            let end = rows.len() - 1;
            let (begins, ends) = (rows.snapshot(clocks, 0), rows.snapshot(clocks, end));
            if begins < first {
                (first, facts.first_value) = (begins, rows.get(clocks, 0, column));
            }
            if ends >= last {
                (last, facts.last_value) = (ends, rows.get(clocks, end, column));
            }
            facts.snapshots += rows.len() as u64;
        }
        facts
    }

    /// The rows of a set, of which there is at least one.
    #[inline]
    pub fn rows(&self, set: SetIx) -> RowsOf<'_> {
        match &self.several[set as usize] {
            Some(rows) => RowsOf::Several(rows),
            None => RowsOf::One(self.first(set)),
        }
    }

    /// The first row of a set, with the number of the snapshot at its end.
    #[inline]
    fn first(&self, set: SetIx) -> &[i64] {
        let start = self.topology.members_before(set) + set as usize;
        &self.first[start..=start + self.topology.members(set).len()]
    }

    /// The origin of a set's snapshots.
    #[inline]
    pub fn source(&self, set: SetIx) -> Source {
        self.sources[set as usize]
    }

    /// Adds a row to a set.
    pub fn push(&mut self, set: SetIx, row: &[Cell]) {
        let snapshot = self.in_file.len() as u32;
        self.in_file.push(set);
        let values = row.iter().map(|cell| cell.value);
        if self.topology.members_before(set) + set as usize == self.first.len() {
            for value in values.chain([snapshot.into()]) {
                tight::push(&mut self.first, value);
            }
            return;
        }
        if self.several[set as usize].is_none() {
            let (mut rows, clocks) = (Rows::default(), row.len());
            let (values, first) = self.first(set).split_at(clocks);
            rows.push(clocks, values.iter().copied(), first[0] as u32);
            self.several[set as usize] = Some(rows.into());
        }
        if let Some(rows) = &mut self.several[set as usize] {
            rows.push(row.len(), values, snapshot);
        }
    }

    /// The set of each snapshot, in the order of the file.
    pub fn sets_in_file(&self) -> &InFile {
        &self.in_file
    }

    /// The sets of exactly the clocks of a row, by their source.
    pub fn find_sets(&self, row: &[Cell]) -> [Option<SetIx>; Source::ALL.len()] {
        let clocks = row.iter().map(|cell| cell.domain);
        let mut found = [None; Source::ALL.len()];
        for &set in self.by_members.iter_hash(hash(clocks.clone())) {
            let members = self.topology.members(set).iter().map(|m| m.domain);
            if members.eq(clocks.clone()) {
                found[self.source(set) as usize] = Some(set);
            }
        }
        found
    }

    pub fn add_set(&mut self, row: &[Cell], source: Source) -> SetIx {
        let clocks = row.iter().map(|cell| cell.domain);
        let is_assumed = source == Source::Assumed;
        let set = self.topology.add_set(clocks.clone(), is_assumed);
        tight::push(&mut self.sources, source);
        tight::push(&mut self.several, None);
        let topology = &self.topology;
        self.by_members.insert_unique(hash(clocks), set, |&set| {
            hash(topology.members(set).iter().map(|member| member.domain))
        });
        set
    }

    /// The set and the row of each snapshot, in the order of the file.
    pub fn in_file(&self) -> impl Iterator<Item = (SetIx, u32)> + use<'_> {
        let mut next = vec![0; self.sources.len()];
        let row = move |set: SetIx| {
            let next = &mut next[set as usize];
            *next += 1;
            (set, *next - 1)
        };
        self.in_file.since(0).map(row)
    }

    /// The last row among some sets of the same clocks.
    pub fn last_row(&self, sets: &[Option<SetIx>], clocks: usize) -> Option<&[i64]> {
        let last = |&set: &SetIx| self.rows(set).last(clocks);
        // The last column is the number of the snapshot.
        let rows = sets.iter().flatten().filter_map(last);
        rows.max_by_key(|values| values.last().copied())
    }
}

fn hash(clocks: impl Iterator<Item = DomainIx>) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = FxBuildHasher.build_hasher();
    clocks.for_each(|clock| clock.hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn n6_the_set_of_each_snapshot_is_kept(
            sets in prop::collection::vec(prop_oneof![8 => 0u32..256, 1 => any::<u32>()], 0..40),
            since in 0usize..50,
        ) {
            let mut in_file = InFile::default();
            sets.iter().for_each(|&set| in_file.push(set));
            prop_assert_eq!(in_file.len(), sets.len());
            let kept: Vec<SetIx> = in_file.since(since).collect();
            prop_assert_eq!(kept, sets.get(since..).unwrap_or_default());
        }
    }
}
