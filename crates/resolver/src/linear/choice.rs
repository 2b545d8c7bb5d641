//! The choice of a hop's readings, and of the places where the line between them is cut (rules
//! R1–R3).
//!
//! # Design
//!
//! Rule R3 requires the cheapest of all explanations of a hop. Readings whose clocks were not read
//! together, steps, and changes of the rate compete in them. An explanation is a path from reading
//! to reading, and the next bend depends only on the last two. So dynamic programming finds it: a
//! single best answer, the same on every machine, in time that is linear in the number of readings.
//! Costs are integers, so ties are exact.
//!
//! The alternative of removing the worst reading repeatedly fails in an important case: a bad
//! reading at the end of a segment is off by less than its neighbour becomes by it, so the
//! neighbour goes first. Convex hulls fit one line to delays of one sign; random samples are
//! random; a median of several readings fails if a fifth of them is off.
//!
//! A state of a reading is a way to reach it. Costs are stored only as long as a later reading may
//! follow on them. Predecessors are stored as long as a path to a recent reading leads over them: a
//! while back, all these paths are one. With the predecessors of all states, a million readings took
//! 120 MB for them instead of 12.

use std::collections::VecDeque;
use std::ops::Range;

use super::exact::rounded;
use super::knot::{Gap, Knot, distance, gaps, median, moved, off_line};

/// The limit for a gap: no change of the rate explains a larger movement of b (rule R2).
pub(super) const LEAP: f64 = 1e-3;
pub(super) const LEAP_NS: f64 = 1e6;
/// For a coarse clock, which only shows its last tick: the movement that this explains (rules R2,
/// R3, R5).
pub(super) const TICK: f64 = 10e6;
/// Gaps inside a group are shorter than usual by this factor (rule R1).
const SHORT: f64 = 1e-3;
/// The largest number of consecutive groups that may be left out.
pub(super) const MOST_LEFT_OUT: usize = 5;
/// The number of readings on either side from which the noise of a group is computed.
const LOOKS: usize = 3;
/// The least scale of bends, in ns.
const LEAST_SCALE: f64 = 1e3;

/// Costs, in billionths.
pub(super) type Cost = u64;
pub(super) const UNIT: f64 = 1e9;
pub(super) const LEFT_OUT: Cost = 1_000_000_000;
pub(super) const LEAPS: Cost = 900_000_000;
pub(super) const SLIDES: Cost = 1_700_000_000;
pub(super) const TWO_STEPS: Cost = 1_200_000_000;
const MOST_BENT: f64 = 1.2;
/// The possible difference in the future.
const NEVER_WINS: Cost = 2_400_000_000;

/// The facts about a hop that the rules need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop {
    /// κ of rule R1.
    pub kappa: f64,
    /// The least length of gaps that separate groups.
    pub short: f64,
    pub is_coarse: bool,
    /// The resolution of both clocks together (rule R32).
    pub quantum: f64,
}

/// A usable reading, and its group.
#[derive(Debug, Clone, Copy)]
struct Node {
    knot: Knot,
    /// The index of the reading.
    index: usize,
    group: usize,
}

/// The used readings of a hop, in order.
#[derive(Debug)]
pub(super) struct Choice {
    /// Their indices, each with the kind of the next gap.
    pub used: Vec<(usize, Gap)>,
    /// The group of each reading.
    pub groups: Vec<usize>,
}

/// The length of a gap that three quarters of all gaps do not exceed, divided by a thousand (rule
/// R1).
pub(super) fn short(gaps: &mut [f64]) -> f64 {
    let count = gaps.len();
    if count == 0 {
        return 0.0;
    }
    let (_, &mut usual, _) = gaps.select_nth_unstable_by(3 * count / 4, f64::total_cmp);
    SHORT * usual
}

impl Hop {
    pub fn leaps(&self, from: Knot, to: Knot) -> bool {
        let slack = if self.is_coarse { TICK } else { LEAP_NS };
        let most = self.kappa.abs() * LEAP * distance(from.a, to.a) + slack;
        moved(from, to, self.kappa).abs() > most
    }

    /// Whether b moves against κ.
    fn goes_back(&self, from: Knot, to: Knot) -> bool {
        distance(from.b, to.b) * self.kappa < 0.0
    }

    /// Whether a line may lead from a reading to another one (rule R2).
    fn may_be_line(&self, from: Knot, to: Knot) -> bool {
        !self.leaps(from, to) && !self.goes_back(from, to)
    }

    /// A distance from the line that costs as much as leaving a reading out.
    fn scale(&self, usual: f64) -> f64 {
        let tick = if self.is_coarse { TICK } else { 0.0 };
        tick.max(LEAST_SCALE + self.quantum).max(10.0 * usual)
    }

    /// The largest jump of nearest neighbour at a reading, without steps.
    pub fn worst_nearest(&self, knots: &[Knot], choice: &Choice) -> f64 {
        let lines = choice.used.windows(2).filter(|pair| pair[0].1 == Gap::Line);
        let gaps = lines.flat_map(|pair| gaps(&knots[pair[0].0..=pair[1].0]));
        let jumps = gaps.filter(|&(from, to)| !self.leaps(from, to));
        let jumps = jumps.map(|(from, to)| moved(from, to, 1.0).abs());
        jumps.fold(0.0, f64::max)
    }

    /// Chooses readings, in the order of `a`; of equal values, only one.
    pub fn choose(&self, knots: &[Knot]) -> Choice {
        let groups = self.groups(knots);
        let nodes = self.nodes(knots, &groups);
        let first = self.scale(3.0 * self.scatter(&nodes));
        let mut ways = Ways::new(self, &nodes, first);
        let mut way = ways.cheapest();
        let mut offs: Vec<f64> = way
            .windows(3)
            .filter(|three| three[0].1 == Gap::Line && three[1].1 == Gap::Line)
            .map(|three| {
                let [i, j, k] = [0, 1, 2].map(|at: usize| nodes[three[at].0].knot);
                off_line(i, k, j)
            })
            .collect();
        let scale = self.scale(median(&mut offs).unwrap_or(0.0));
        if scale != first {
            ways = Ways::new(self, &nodes, scale);
            way = ways.cheapest();
        }
        self.soften(&nodes, &mut way, scale);
        let used = way.iter().map(|&(node, gap)| (nodes[node].index, gap));
        Choice { used: used.collect(), groups }
    }

    /// The group of each reading.
    fn groups(&self, knots: &[Knot]) -> Vec<usize> {
        let Some(&(mut first)) = knots.first() else {
            return Vec::new();
        };
        let mut group = 0;
        let of = knots.iter().map(|&knot| {
            if knot.a != first.a && distance(first.a, knot.a) >= self.short {
                (first, group) = (knot, group + 1);
            }
            group
        });
        of.collect()
    }

    /// The usable readings: in a group of one or two, any; in a larger one, the lower median.
    fn nodes(&self, knots: &[Knot], groups: &[usize]) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(knots.len());
        let mut start = 0;
        for of in groups.chunk_by(|one, other| one == other) {
            let all = start..start + of.len();
            start = all.end;
            let mut indices: Vec<usize> = all.collect();
            if let [first, _, _, ..] = indices[..] {
                let ahead = |index: &usize| moved(knots[first], knots[*index], self.kappa);
                indices.sort_by(|one, other| ahead(one).total_cmp(&ahead(other)));
                indices = vec![indices[(indices.len() - 1) / 2]];
            }
            nodes.extend(indices.into_iter().map(|index| Node {
                knot: knots[index],
                index,
                group: groups[index],
            }));
        }
        nodes
    }

    /// The median distance of groups from lines that skip them, at least.
    fn scatter(&self, nodes: &[Node]) -> f64 {
        let group = |index: usize| nodes[index].group;
        let (mut before, mut after) = (0..0, 0..0);
        let mut offs = Vec::with_capacity(nodes.len());
        let mut start = 0;
        while start < nodes.len() {
            let own = group(start);
            let end = start + nodes[start..].iter().take_while(|of| of.group == own).count();
            while group(before.start) + LOOKS < own {
                before.start += 1;
            }
            before.end = start;
            after.start = end;
            after.end = after.end.max(end);
            while after.end < nodes.len() && group(after.end) <= own + LOOKS {
                after.end += 1;
            }
            let least = (start..end).filter_map(|at| self.least_off(nodes, at, [&before, &after]));
            offs.extend(least.min_by(f64::total_cmp));
            start = end;
        }
        median(&mut offs).unwrap_or(0.0)
    }

    fn least_off(&self, nodes: &[Node], at: usize, around: [&Range<usize>; 2]) -> Option<f64> {
        let j = nodes[at].knot;
        let [before, after] = around.map(|range| nodes[range.clone()].iter().map(|of| of.knot));
        let after: Vec<Knot> = after.filter(|&k| self.may_be_line(j, k)).collect();
        let before = before.filter(|&i| self.may_be_line(i, j));
        let lines = before.flat_map(|i| after.iter().map(move |&k| (i, k)));
        let lines = lines.filter(|&(i, k)| self.may_be_line(i, k));
        lines.map(|(i, k)| off_line(i, k, j)).min_by(f64::total_cmp)
    }

    /// Distinguishes steps, slides and changes of the rate.
    fn soften(&self, nodes: &[Node], way: &mut [(usize, Gap)], scale: f64) {
        let found = way.to_vec();
        let gap = |at: usize| found.get(at).map(|&(_, gap)| gap);
        let knot = |at: usize| found.get(at).map(|&(node, _)| nodes[node].knot);
        for at in 0..way.len().saturating_sub(1) {
            let (Some(j), Some(k)) = (knot(at), knot(at + 1)) else {
                continue;
            };
            if gap(at) == Some(Gap::Line) || !self.may_be_line(j, k) {
                continue;
            }
            way[at].1 = Gap::Slide;
            let i = at.checked_sub(1).filter(|&i| gap(i) == Some(Gap::Line));
            let (Some(i), Some(l)) = (i.and_then(knot), knot(at + 2)) else {
                continue;
            };
            if gap(at + 1) != Some(Gap::Line) {
                continue;
            }
            let (before, after) = (faster(i, j), faster(k, l));
            let slack = scale / distance(j.a, k.a);
            let own = faster(j, k);
            if own <= before.max(after) + slack && own >= before.min(after) - slack {
                way[at].1 = Gap::Line;
            }
        }
    }
}

/// The rate between two readings, minus 1.
fn faster(from: Knot, to: Knot) -> f64 {
    moved(from, to, 1.0) / distance(from.a, to.a)
}

fn bend(x: f64) -> Cost {
    rounded((x * x).min(MOST_BENT) * UNIT) as Cost
}

/// The way to reach a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    First,
    /// By a line from this reading.
    Line(usize),
    /// By a step from this reading, to which a line led from that one.
    Step(usize, Option<usize>),
}

#[derive(Debug, Clone, Copy)]
struct State {
    cost: Cost,
    by: Reached,
    /// The predecessor of the state.
    from: usize,
}

/// The stored data of a state: the reading, the way to reach it, and the predecessor.
#[derive(Debug, Clone, Copy)]
struct Trace {
    node: u32,
    from: u32,
    gap: Gap,
}

/// No state.
const NOWHERE: usize = u32::MAX as usize;

/// After this many readings, predecessors that no path needs are dropped.
const SWEPT: usize = if cfg!(test) { 3 } else { 1 << 12 };

/// All paths through the readings that may be the cheapest.
struct Ways<'n> {
    hop: &'n Hop,
    nodes: &'n [Node],
    scale: f64,
    traces: Vec<Trace>,
    /// The number of traces that some path needed at the last sweep.
    swept: usize,
    /// The states of the last readings, the index of the first of these readings, and of its first
    /// state.
    recent: VecDeque<(usize, Vec<State>)>,
    first: usize,
}

impl<'n> Ways<'n> {
    fn new(hop: &'n Hop, nodes: &'n [Node], scale: f64) -> Ways<'n> {
        Ways { hop, nodes, scale, traces: Vec::new(), swept: 0, recent: VecDeque::new(), first: 0 }
    }

    /// The cheapest path, as readings with the kind of the next gap.
    fn cheapest(&mut self) -> Vec<(usize, Gap)> {
        let mut end: Option<(Cost, usize)> = None;
        let groups = self.nodes.last().map_or(0, |last| last.group + 1);
        for (index, node) in self.nodes.iter().enumerate() {
            let states = self.states(index, node);
            let start = self.traces.len();
            let stored = |number: usize| number.min(NOWHERE) as u32;
            self.traces.extend(states.iter().map(|state| Trace {
                node: stored(index),
                from: stored(state.from),
                gap: match state.by {
                    Reached::Step(..) => Gap::Step,
                    Reached::First | Reached::Line(_) => Gap::Line,
                },
            }));
            let left_out = groups - 1 - node.group;
            if left_out <= MOST_LEFT_OUT {
                let mut own: Option<(Cost, usize)> = None;
                for (at, state) in states.iter().enumerate() {
                    if own.is_none_or(|(cost, _)| state.cost < cost) {
                        own = Some((state.cost, start + at));
                    }
                }
                let own = own.map(|(cost, at)| (cost + left_out as Cost * LEFT_OUT, at));
                if let Some(own) = own
                    && end.is_none_or(|(cost, _)| own.0 <= cost)
                {
                    end = Some(own);
                }
            }
            self.recent.push_back((start, states));
            if index % SWEPT == SWEPT - 1 && end.is_none() {
                self.sweep();
            }
        }
        let mut way = Vec::new();
        let mut at = end.map_or(NOWHERE, |(_, at)| at);
        let mut after = Gap::Line;
        while let Some(trace) = self.traces.get(at) {
            way.push((trace.node as usize, after));
            (after, at) = (trace.gap, trace.from as usize);
        }
        way.reverse();
        way
    }

    /// Drops the traces that no path to a recent reading leads over.
    fn sweep(&mut self) {
        let Some(&(until, _)) = self.recent.front() else {
            return;
        };
        let (since, from) = (self.swept, |trace: &Trace| trace.from as usize);
        let mut is_needed = vec![false; until - since];
        let need = |is_needed: &mut Vec<bool>, trace: &Trace| {
            let place = from(trace).checked_sub(since);
            if let Some(needed) = place.and_then(|place| is_needed.get_mut(place)) {
                *needed = true;
            }
        };
        self.traces[until..].iter().for_each(|trace| need(&mut is_needed, trace));
        for at in (since..until).rev() {
            if is_needed[at - since] {
                need(&mut is_needed, &self.traces[at]);
            }
        }
        let mut places = vec![NOWHERE as u32; until - since];
        let mut kept = since;
        for at in since..self.traces.len() {
            if is_needed.get(at - since) == Some(&false) {
                continue;
            }
            let mut trace = self.traces[at];
            let of = from(&trace);
            if of >= until && of != NOWHERE {
                trace.from -= (until - self.swept) as u32;
            } else if let Some(place) = of.checked_sub(since).and_then(|of| places.get(of)) {
                trace.from = *place;
            }
            if let Some(place) = places.get_mut(at - since) {
                *place = kept as u32;
                self.swept = kept + 1;
            }
            self.traces[kept] = trace;
            kept += 1;
        }
        let dropped = self.traces.len() - kept;
        self.traces.truncate(kept);
        self.recent.iter_mut().for_each(|(start, _)| *start -= dropped);
    }

    /// The states of a reading that may be on the cheapest path: first the initial state, then in
    /// the order of predecessors.
    fn states(&mut self, index: usize, node: &Node) -> Vec<State> {
        let is_far = |before: &Node| before.group + MOST_LEFT_OUT + 1 < node.group;
        while self.nodes.get(self.first).is_some_and(is_far) && self.first < index {
            self.recent.pop_front();
            self.first += 1;
        }
        let mut states = Vec::new();
        if node.group <= MOST_LEFT_OUT {
            states.push(State {
                cost: node.group as Cost * LEFT_OUT,
                by: Reached::First,
                from: NOWHERE,
            });
        }
        let before = (self.first..).zip(&self.recent);
        for (j, (start, of)) in before.filter(|&(j, _)| self.nodes[j].group < node.group) {
            let left_out = (node.group - self.nodes[j].group - 1) as Cost * LEFT_OUT;
            self.lead(j, (*start, of), node.knot, left_out, &mut states);
        }
        let cheapest = states.iter().map(|state| state.cost).min().unwrap_or(0);
        states.retain(|state| state.cost <= cheapest + NEVER_WINS);
        states
    }

    /// Adds the states of a reading that follow a previous reading.
    fn lead(
        &self,
        j: usize,
        (start, of): (usize, &[State]),
        k: Knot,
        left_out: Cost,
        states: &mut Vec<State>,
    ) {
        let from = self.nodes[j].knot;
        let leaps = self.hop.leaps(from, k);
        if !leaps && !self.hop.goes_back(from, k) {
            let costs = of.iter().map(|state| state.cost + self.bent(state.by, j, k));
            states.extend(least(costs).map(|(at, cost)| State {
                cost: cost + left_out,
                by: Reached::Line(j),
                from: start + at,
            }));
        }
        let step = left_out + if leaps { LEAPS } else { SLIDES };
        let bare = of.iter().map(|state| match state.by {
            Reached::First => state.cost,
            Reached::Step(..) => state.cost + TWO_STEPS,
            Reached::Line(_) => Cost::MAX,
        });
        states.extend(least(bare).map(|(at, cost)| State {
            cost: cost + step,
            by: Reached::Step(j, None),
            from: start + at,
        }));
        let lines = of.iter().enumerate().filter_map(|(at, state)| match state.by {
            Reached::Line(i) => Some(State {
                cost: state.cost + step,
                by: Reached::Step(j, Some(i)),
                from: start + at,
            }),
            Reached::First | Reached::Step(..) => None,
        });
        states.extend(lines);
    }

    /// The cost of a line from a reading on, by the way in which it was reached.
    fn bent(&self, by: Reached, j: usize, k: Knot) -> Cost {
        let knot = |at: usize| self.nodes[at].knot;
        match by {
            Reached::Line(i) => bend(off_line(knot(i), k, knot(j)) / self.scale),
            Reached::Step(before, Some(i)) => {
                let (d, e) = (distance(knot(i).a, knot(before).a), distance(knot(j).a, k.a));
                let change = faster(knot(j), k) - faster(knot(i), knot(before));
                bend(change.abs() * d * e / (d + e) / self.scale)
            }
            Reached::First | Reached::Step(_, None) => 0,
        }
    }
}

/// The least cost, and the first one among equal ones, without impossible states.
fn least(costs: impl Iterator<Item = Cost>) -> Option<(usize, Cost)> {
    let costs = costs.enumerate().filter(|&(_, cost)| cost < Cost::MAX);
    costs.min_by_key(|&(_, cost)| cost)
}
