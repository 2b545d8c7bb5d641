//! The stored clocks and snapshots, before any conversion.
//!
//! Snapshots of the same clocks and the same source are rows of one set. The tables that find a
//! clock or a set by its key only hold 4-byte indices, because the keys are already here: 5 bytes
//! for each entry instead of 18 for a clock and 26 and a box for a set.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::clock::Clock;
use crate::domain::Domain;
use crate::routes::{DomainIx, SetIx, Topology};
use crate::rows::Rows;
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

#[derive(Debug)]
pub(crate) struct Set {
    pub rows: Rows,
    pub source: Source,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub topology: Topology,
    clocks: HashTable<DomainIx>,
    sets: Vec<Set>,
    by_members: HashTable<SetIx>,
    /// The set of each snapshot, in the order of the file. A cache of rows reads the new ones here.
    in_file: Vec<SetIx>,
}

impl Store {
    pub fn find_clock(&self, clock: Clock) -> Option<DomainIx> {
        let domains = &self.topology.domains;
        let hash = FxBuildHasher.hash_one(clock);
        self.clocks.find(hash, |&index| domains[index as usize].clock == clock).copied()
    }

    pub fn add_clock(&mut self, domain: Domain) {
        let index = self.topology.add_clock(domain);
        let domains = &self.topology.domains;
        let hash = |&index: &DomainIx| FxBuildHasher.hash_one(domains[index as usize].clock);
        self.clocks.insert_unique(hash(&index), index, hash);
    }

    pub fn set(&self, set: SetIx) -> &Set {
        &self.sets[set as usize]
    }

    /// Adds a row to a set.
    pub fn push(&mut self, set: SetIx, row: &[Cell]) {
        let snapshot = self.in_file.len() as u32;
        tight::push(&mut self.in_file, set);
        let values = row.iter().map(|cell| cell.value);
        let rows = &mut self.sets[set as usize].rows;
        rows.push(row.len(), values, snapshot);
    }

    /// The set of each snapshot, in the order of the file.
    pub fn sets_in_file(&self) -> &[SetIx] {
        &self.in_file
    }

    /// The sets of exactly the clocks of a row, by their source.
    pub fn find_sets(&self, row: &[Cell]) -> [Option<SetIx>; Source::ALL.len()] {
        let clocks = row.iter().map(|cell| cell.domain);
        let mut found = [None; Source::ALL.len()];
        for &set in self.by_members.iter_hash(hash(clocks.clone())) {
            let members = self.topology.members(set).iter().map(|m| m.domain);
            if members.eq(clocks.clone()) {
                found[self.set(set).source as usize] = Some(set);
            }
        }
        found
    }

    pub fn add_set(&mut self, row: &[Cell], source: Source) -> SetIx {
        let clocks = row.iter().map(|cell| cell.domain);
        let is_assumed = source == Source::Assumed;
        let set = self.topology.add_set(clocks.clone(), is_assumed);
        let added = Set { rows: Rows::default(), source };
        tight::push(&mut self.sets, added);
        let topology = &self.topology;
        self.by_members.insert_unique(hash(clocks), set, |&set| {
            hash(topology.members(set).iter().map(|member| member.domain))
        });
        set
    }

    /// The set and the row of each snapshot, in the order of the file.
    pub fn in_file(&self) -> Vec<(SetIx, u32)> {
        let mut next = vec![0; self.sets.len()];
        let row = |&set: &SetIx| {
            let next = &mut next[set as usize];
            *next += 1;
            (set, *next - 1)
        };
        self.in_file.iter().map(row).collect()
    }

    /// The last row among some sets of the same clocks.
    pub fn last_row(&self, sets: &[Option<SetIx>], clocks: usize) -> Option<&[i64]> {
        let last = |&set: &SetIx| self.set(set).rows.last(clocks);
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
