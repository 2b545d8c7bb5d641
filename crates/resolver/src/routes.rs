//! Which clocks stand together in snapshots (rule N4), and the shortest paths
//! from all of them to one target (rule V3).

use std::collections::VecDeque;

use crate::clock::Clock;

/// Index of a clock domain in the graph.
pub(crate) type DomainIx = u32;
/// Index of a set of clocks that are read together.
pub(crate) type SetIx = u32;

/// The edges of the clock graph, kept as the sets of clocks that snapshots
/// hold. A snapshot of k clocks has k² edges; as a set it has k members.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    pub clocks: Vec<Clock>,
    /// Rule N5: whether a clock may be the source of an edge.
    pub excluded: Vec<bool>,
    /// The sets that a clock is in.
    pub sets_of: Vec<Vec<SetIx>>,
    pub members: Vec<Box<[DomainIx]>>,
}

impl Topology {
    pub fn add_clock(&mut self, clock: Clock) -> DomainIx {
        let index = self.clocks.len() as DomainIx;
        self.clocks.push(clock);
        self.excluded.push(false);
        self.sets_of.push(Vec::new());
        index
    }

    pub fn add_set(&mut self, members: Box<[DomainIx]>) -> SetIx {
        let index = self.members.len() as SetIx;
        for &member in &members {
            self.sets_of[member as usize].push(index);
        }
        self.members.push(members);
        index
    }
}

const FAR: u32 = u32::MAX;

/// The next hop of every clock on its way to the target.
///
/// All shortest paths to one target are a tree: the rest of a path is the path
/// of its next clock. Rule V3's order picks the next clock by (distance, order
/// of clocks), so the tree is kept by comparing neighbours only, and a new set
/// of clocks changes just what gets nearer by it. Searching anew for every
/// clock was the alternative: with 100,000 sequences, each with a clock of its
/// own next to MONOTONIC, every search meets them all.
#[derive(Debug)]
pub(crate) struct Routes {
    target: DomainIx,
    /// Whether clocks that rule N5 excluded count as sources all the same, to
    /// tell `non_monotonic` from `no_path` (rule V7).
    ignores_exclusion: bool,
    distance: Vec<u32>,
    next: Vec<DomainIx>,
    /// How many clocks have this one as their next.
    children: Vec<u32>,
    stale: bool,
}

impl Routes {
    pub fn new(target: DomainIx, ignores_exclusion: bool) -> Routes {
        Routes {
            target,
            ignores_exclusion,
            distance: Vec::new(),
            next: Vec::new(),
            children: Vec::new(),
            stale: true,
        }
    }

    /// The next clock on the way from `from`; `None` without a path.
    pub fn next(&self, from: DomainIx) -> Option<DomainIx> {
        let distance = *self.distance.get(from as usize)?;
        (distance != FAR && from != self.target).then(|| self.next[from as usize])
    }

    /// How many hops it is from `from` to the target.
    pub fn distance(&self, from: DomainIx) -> Option<u32> {
        self.distance
            .get(from as usize)
            .copied()
            .filter(|&d| d != FAR)
    }

    /// Brings the routes up to date after clocks were excluded.
    pub fn refresh(&mut self, topology: &Topology) {
        if !self.stale {
            return;
        }
        self.stale = false;
        self.distance.clear();
        self.next.clear();
        self.children.clear();
        self.grow(topology);
        self.distance[self.target as usize] = 0;
        self.relax(topology, topology.sets_of[self.target as usize].clone());
    }

    /// A new set of clocks was added.
    pub fn add_set(&mut self, topology: &Topology, set: SetIx) {
        if !self.stale {
            self.grow(topology);
            self.relax(topology, vec![set]);
        }
    }

    /// A clock was excluded as a source.
    pub fn exclude(&mut self, domain: DomainIx) {
        let index = domain as usize;
        if self.ignores_exclusion || self.stale || self.next(domain).is_none() {
            return;
        }
        if self.children[index] > 0 {
            // Other clocks lose their path too: find all paths anew, once.
            self.stale = true;
        } else {
            self.children[self.next[index] as usize] -= 1;
            self.distance[index] = FAR;
        }
    }

    fn grow(&mut self, topology: &Topology) {
        let clocks = topology.clocks.len();
        self.distance.resize(clocks, FAR);
        self.next.resize(clocks, self.target);
        self.children.resize(clocks, 0);
    }

    fn rank(&self, topology: &Topology, domain: DomainIx) -> (u32, Clock) {
        (
            self.distance[domain as usize],
            topology.clocks[domain as usize],
        )
    }

    /// Lets the clocks of these sets find a nearer neighbour, and those that
    /// get nearer by it, until none does.
    fn relax(&mut self, topology: &Topology, sets: Vec<SetIx>) {
        let mut queue = VecDeque::from(sets);
        while let Some(set) = queue.pop_front() {
            let members = &topology.members[set as usize];
            let best = members
                .iter()
                .copied()
                .min_by_key(|&m| self.rank(topology, m));
            let Some(best) = best else { continue };
            let (distance, best_clock) = self.rank(topology, best);
            if distance == FAR {
                continue;
            }
            for &member in members {
                let index = member as usize;
                let usable = self.ignores_exclusion || !topology.excluded[index];
                if member == best || member == self.target || !usable {
                    continue;
                }
                let before = self.distance[index];
                let better = before > distance + 1
                    || before == distance + 1
                        && best_clock < topology.clocks[self.next[index] as usize];
                if !better {
                    continue;
                }
                if before != FAR {
                    self.children[self.next[index] as usize] -= 1;
                }
                self.children[best as usize] += 1;
                self.next[index] = best;
                self.distance[index] = distance + 1;
                if before > distance + 1 {
                    queue.extend(
                        topology.sets_of[index]
                            .iter()
                            .filter(|&&other| other != set),
                    );
                }
            }
        }
    }
}
