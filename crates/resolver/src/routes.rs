//! The clocks that snapshots read together (rule N4), and the shortest paths from all clocks to one
//! target (rule V3).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::clock::{Clock, ClockId, FileTag, MachineId, SeqId};
use crate::domain::ClockUnit;
use crate::tight;

/// The index of a clock in the graph.
pub(crate) type DomainIx = u32;
/// The index of a set of clocks that snapshots read together.
pub(crate) type SetIx = u32;

/// The next membership of a clock's last membership.
const NONE: u32 = u32::MAX;

/// The edges of the clock graph, stored as the sets of clocks in snapshots. A snapshot of k clocks
/// has k² edges; as a set it has k members.
///
/// The sets of a clock are a linked list through the members of all sets, in one array: 12 bytes
/// for each member. A vector for each clock and a boxed slice for each set take 60 bytes and two
/// allocations.
///
/// A clock takes 16 bytes, because few clocks differ in more than their number and their sequence.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    clocks: Vec<Known>,
    natures: Vec<Nature>,
    by_nature: FxHashMap<Nature, u32>,
    /// The last membership of each clock.
    newest: Vec<u32>,
    members: Vec<Member>,
    /// The index of each set's first member.
    starts: Vec<u32>,
    /// The sets of clocks that are assumed to agree (rule X26), in order.
    assumed: Vec<SetIx>,
    /// The clocks that went backwards (rule N5), in the order in which the graph noticed that.
    excluded: Vec<DomainIx>,
}

/// A clock.
#[derive(Debug, Clone, Copy)]
struct Known {
    id: ClockId,
    seq: SeqId,
    /// The index of its nature, and [`EXCLUDED`] if it went backwards.
    nature: u32,
}

/// The mark of a clock that is no source (rule N5).
const EXCLUDED: u32 = 1 << 31;

/// All else about a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Nature {
    file: FileTag,
    machine: MachineId,
    unit: ClockUnit,
}

/// One clock of one set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub domain: DomainIx,
    set: SetIx,
    /// The previous membership of the same clock.
    before: u32,
}

impl Topology {
    pub fn add_clock(&mut self, clock: Clock, unit: ClockUnit) -> DomainIx {
        let index = self.clocks.len() as DomainIx;
        let Clock { id, seq, file, machine } = clock;
        let nature = Nature { file, machine, unit };
        let nature = *self.by_nature.entry(nature).or_insert_with(|| {
            self.natures.push(nature);
            self.natures.len() as u32 - 1
        });
        tight::push(&mut self.clocks, Known { id, seq, nature });
        tight::push(&mut self.newest, NONE);
        index
    }

    /// Adds a set of clocks, in the order of their indices.
    pub fn add_set(&mut self, domains: impl Iterator<Item = DomainIx>, is_assumed: bool) -> SetIx {
        let set = self.starts.len() as SetIx;
        if is_assumed {
            self.assumed.push(set);
        }
        tight::push(&mut self.starts, self.members.len() as u32);
        for domain in domains {
            let newest = &mut self.newest[domain as usize];
            let before = std::mem::replace(newest, self.members.len() as u32);
            let member = Member { domain, set, before };
            tight::push(&mut self.members, member);
        }
        set
    }

    /// Excludes a clock as a source (rule N5); returns whether it was a source before.
    pub fn exclude(&mut self, domain: DomainIx) -> bool {
        let known = &mut self.clocks[domain as usize];
        let is_new = known.nature & EXCLUDED == 0;
        known.nature |= EXCLUDED;
        if is_new {
            self.excluded.push(domain);
        }
        is_new
    }

    /// The number of clocks.
    pub fn clocks(&self) -> usize {
        self.clocks.len()
    }

    /// The number of members of the sets before this one.
    pub fn members_before(&self, set: SetIx) -> usize {
        self.starts[set as usize] as usize
    }

    /// The number of sets.
    pub fn sets(&self) -> usize {
        self.starts.len()
    }

    /// The excluded clocks, in order; a cache that knows some of them needs the following ones.
    pub fn excluded(&self) -> &[DomainIx] {
        &self.excluded
    }

    /// The members of a set, in the order of their indices.
    pub fn members(&self, set: SetIx) -> &[Member] {
        let start = self.starts[set as usize] as usize;
        let end = self.starts.get(set as usize + 1);
        &self.members[start..end.map_or(self.members.len(), |&end| end as usize)]
    }

    /// The position of a clock in a set.
    pub fn column(&self, set: SetIx, domain: DomainIx) -> Option<usize> {
        self.members(set).binary_search_by_key(&domain, |member| member.domain).ok()
    }

    /// The sets that contain a clock.
    pub fn sets_of(&self, domain: DomainIx) -> impl Iterator<Item = SetIx> {
        let member = |at: u32| self.members.get(at as usize);
        let newest = self.newest.get(domain as usize).copied();
        std::iter::successors(newest.and_then(member), move |m| member(m.before)).map(|m| m.set)
    }

    /// The set of a clock and its position, if it is in only one set.
    pub fn only_set(&self, domain: DomainIx) -> Option<(SetIx, usize)> {
        let at = self.newest[domain as usize];
        let member = self.members.get(at as usize)?;
        let column = at - self.starts[member.set as usize];
        (member.before == NONE).then_some((member.set, column as usize))
    }

    /// Whether any clocks are assumed to agree.
    pub fn assumes(&self) -> bool {
        !self.assumed.is_empty()
    }

    fn is_assumed(&self, set: SetIx) -> bool {
        self.assumes() && self.assumed.binary_search(&set).is_ok()
    }

    fn nature(&self, domain: DomainIx) -> &Nature {
        &self.natures[(self.clocks[domain as usize].nature & !EXCLUDED) as usize]
    }

    /// A clock by its index.
    #[inline]
    pub fn clock(&self, domain: DomainIx) -> Clock {
        let Known { id, seq, .. } = self.clocks[domain as usize];
        let &Nature { file, machine, .. } = self.nature(domain);
        Clock { id, seq, file, machine }
    }

    /// The form of a clock's readings.
    #[inline]
    pub fn unit(&self, domain: DomainIx) -> ClockUnit {
        self.nature(domain).unit
    }

    /// Whether a clock never went backwards (rule N5).
    #[inline]
    pub fn is_monotonic(&self, domain: DomainIx) -> bool {
        self.clocks[domain as usize].nature & EXCLUDED == 0
    }
}

const FAR: u32 = u32::MAX;

/// The largest number of hops of a path. Traces have paths of two to four; without a limit, a
/// million packets on a chain of a million clocks would take a lifetime.
const MOST_HOPS: u32 = 256;

/// The next hop of every clock on its path to the target.
///
/// All shortest paths to one target form a tree: the rest of a path is the path of its next clock.
/// Rule V3 picks the next clock by (distance, order of clocks), so comparing neighbours is enough
/// to maintain the tree, and a new set of clocks only changes the clocks that get nearer by it. The
/// alternative was to search again for every clock: with 100,000 sequences, each with a clock of
/// its own beside MONOTONIC, every search visits all of them.
///
/// The cache owns the tree, not the graph, so it adds what is new in the graph when a conversion
/// needs a path: sets and excluded clocks have numbers in order. Any order gives the same tree,
/// because no path is better than the shortest.
#[derive(Debug)]
pub(crate) struct Routes {
    target: DomainIx,
    over: Over,
    routes: Vec<Route>,
    /// The numbers of sets and excluded clocks that it knows.
    sets: usize,
    excluded: usize,
}

/// The edges that routes may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Only measurements.
    Known,
    /// Measurements and assumptions (rule X26).
    Assumed,
    /// Both, and also clocks that rule N5 excluded as sources, to distinguish `non_monotonic` from
    /// `no_path` (rule V7).
    Excluded,
}

#[derive(Debug, Clone, Copy)]
struct Route {
    /// The number of hops to the target.
    distance: u32,
    next: DomainIx,
    /// The number of clocks that have this one as their next.
    children: u32,
}

impl Routes {
    pub fn new(target: DomainIx, over: Over) -> Routes {
        Routes { target, over, routes: Vec::new(), sets: 0, excluded: 0 }
    }

    pub fn target(&self) -> DomainIx {
        self.target
    }

    /// The next clock on the path from `from`; `None` without a path.
    pub fn next(&self, from: DomainIx) -> Option<DomainIx> {
        let route = self.routes.get(from as usize)?;
        (route.distance != FAR && from != self.target).then_some(route.next)
    }

    /// Whether there is a path.
    pub fn reaches(&self, from: DomainIx) -> bool {
        self.routes.get(from as usize).is_some_and(|route| route.distance != FAR)
    }

    /// Adds the sets and the excluded clocks since the last time.
    pub fn refresh(&mut self, topology: &Topology) {
        let (sets, excluded) = (topology.sets(), topology.excluded().len());
        if (self.sets, self.excluded) == (sets, excluded) {
            return;
        }
        let is_first = self.routes.is_empty();
        self.grow(topology);
        if is_first {
            self.routes[self.target as usize].distance = 0;
            self.relax(topology, topology.sets_of(self.target).collect());
        } else {
            self.relax(topology, (self.sets as SetIx..sets as SetIx).collect());
            for &domain in &topology.excluded()[self.excluded..] {
                self.exclude(topology, domain);
            }
        }
        (self.sets, self.excluded) = (sets, excluded);
    }

    /// Handles a clock that was excluded as a source. The clocks whose path used it search for
    /// another path; all other clocks do not change, which matters if very many clocks are excluded
    /// one by one.
    fn exclude(&mut self, topology: &Topology, domain: DomainIx) {
        if self.over == Over::Excluded {
            return;
        }
        let Some(next) = self.next(domain) else {
            return;
        };
        self.routes[next as usize].children -= 1;
        let mut without = vec![domain];
        let mut at = 0;
        while let Some(&clock) = without.get(at) {
            at += 1;
            let route = &mut self.routes[clock as usize];
            route.distance = FAR;
            if std::mem::take(&mut route.children) == 0 {
                continue;
            }
            for set in topology.sets_of(clock) {
                for member in topology.members(set) {
                    if self.next(member.domain) == Some(clock) {
                        // It is visited once: from here on it has no next clock.
                        self.routes[member.domain as usize].distance = FAR;
                        without.push(member.domain);
                    }
                }
            }
        }
        without.remove(0);
        let sets = without.iter().flat_map(|&clock| topology.sets_of(clock));
        self.relax(topology, sets.collect());
    }

    fn grow(&mut self, topology: &Topology) {
        let route = Route { distance: FAR, next: self.target, children: 0 };
        tight::fill(&mut self.routes, topology.clocks(), route);
    }

    fn rank(&self, topology: &Topology, domain: DomainIx) -> (u32, Clock) {
        let distance = self.routes[domain as usize].distance;
        (distance, topology.clock(domain))
    }

    /// Gives the clocks of these sets nearer neighbours if possible, and then the clocks that get
    /// nearer by that, until nothing changes.
    fn relax(&mut self, topology: &Topology, mut queue: VecDeque<SetIx>) {
        while let Some(set) = queue.pop_front() {
            if self.over == Over::Known && topology.is_assumed(set) {
                continue;
            }
            let members = topology.members(set).iter().map(|member| member.domain);
            let Some(best) = members.clone().min_by_key(|&m| self.rank(topology, m)) else {
                continue;
            };
            let (distance, best_clock) = self.rank(topology, best);
            if distance >= MOST_HOPS {
                continue;
            }
            for member in members {
                let usable = self.over == Over::Excluded || topology.is_monotonic(member);
                if member == best || member == self.target || !usable {
                    continue;
                }
                let Route { distance: before, next, .. } = self.routes[member as usize];
                let better = before > distance + 1
                    || before == distance + 1 && best_clock < topology.clock(next);
                if !better {
                    continue;
                }
                if before != FAR {
                    self.routes[next as usize].children -= 1;
                }
                self.routes[best as usize].children += 1;
                let route = &mut self.routes[member as usize];
                route.next = best;
                route.distance = distance + 1;
                if before > distance + 1 {
                    queue.extend(topology.sets_of(member).filter(|&other| other != set));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clocks(count: u32) -> Topology {
        let mut topology = Topology::default();
        for id in 1..=count {
            topology.add_clock(Clock::host(id), ClockUnit { ns: 1, incremental: false });
        }
        topology
    }

    #[derive(Debug, Clone)]
    enum Change {
        Set(std::collections::BTreeSet<u32>, bool),
        Exclusion(u32),
        Asked,
    }

    proptest! {
        #[test]
        fn v3_x18_routes_that_are_kept_are_those_that_would_be_found_anew(
            over in prop_oneof![Just(Over::Known), Just(Over::Assumed)],
            changes in prop::collection::vec(
                prop_oneof![
                    2 => (prop::collection::btree_set(0u32..12, 2..4), prop::bool::weighted(0.2))
                        .prop_map(|(set, is_assumed)| Change::Set(set, is_assumed)),
                    1 => (0u32..12).prop_map(Change::Exclusion),
                    2 => Just(Change::Asked),
                ],
                0..60,
            ),
        ) {
            let mut topology = clocks(12);
            let mut kept = Routes::new(0, over);
            for change in changes.into_iter().chain([Change::Asked]) {
                match change {
                    Change::Set(set, is_assumed) => {
                        topology.add_set(set.into_iter(), is_assumed);
                        continue;
                    }
                    Change::Exclusion(clock) => {
                        topology.exclude(clock);
                        continue;
                    }
                    Change::Asked => kept.refresh(&topology),
                }
                let mut anew = Routes::new(0, over);
                anew.refresh(&topology);
                for clock in 0..12 {
                    prop_assert_eq!(kept.next(clock), anew.next(clock));
                    prop_assert_eq!(kept.reaches(clock), anew.reaches(clock));
                }
            }
        }

        #[test]
        fn n4_the_sets_of_a_clock_are_those_that_hold_it(
            sets in prop::collection::vec(prop::collection::btree_set(0u32..9, 0..9), 0..20),
        ) {
            let mut topology = clocks(9);
            for (index, set) in (0..).zip(&sets) {
                prop_assert_eq!(topology.add_set(set.iter().copied(), false), index);
            }
            for clock in 0..9 {
                let holds = |&set: &SetIx| sets[set as usize].contains(&clock);
                let naive: Vec<SetIx> = (0..sets.len() as u32).filter(holds).collect();
                let mut found: Vec<SetIx> = topology.sets_of(clock).collect();
                found.reverse();
                prop_assert_eq!(&found, &naive);
                let column = |set: SetIx| sets[set as usize].iter().position(|&c| c == clock);
                for set in 0..sets.len() as u32 {
                    prop_assert_eq!(topology.column(set, clock), column(set));
                }
                let only = (naive.len() == 1).then(|| (naive[0], column(naive[0])));
                let found = topology.only_set(clock).map(|(set, column)| (set, Some(column)));
                prop_assert_eq!(found, only);
            }
        }
    }
}
