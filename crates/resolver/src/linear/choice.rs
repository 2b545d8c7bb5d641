//! Which readings of a hop are used, and where the line between them is cut (rules R1–R3).
//!
//! # Design
//!
//! Rule R3 asks for the cheapest of all explanations of a hop, in which readings that were taken
//! apart, steps, and a rate that changes compete. An explanation is a way from reading to reading, and
//! how the next one bends depends on no more than the last two. So it is found by dynamic programming:
//! one best answer, the same on every machine, in time that is linear in the readings. Costs are
//! integers, so that equal ones are equal.
//!
//! To take out the worst reading again and again was the alternative, and fails where it matters: a
//! reading that was taken apart and stands at the end of a segment is off by less than it makes its
//! neighbour be, which goes first. Convex hulls fit one line to delays of one sign; random samples are
//! random; a median of several readings fails where a fifth of them is off.
//!
//! Of a reading, a state is how it was reached. What is kept of all of them is where they came from;
//! their costs are kept as long as a reading may come that follows on them.

use std::collections::VecDeque;
use std::ops::Range;

use super::knot::{Gap, Knot, distance, median, moved, off_line};

/// Of a gap, beyond which no change of a rate explains how far b moves (rule R2).
const LEAP: f64 = 1e-3;
const LEAP_NS: f64 = 1e6;
/// Of a clock that only shows its last tick, what is explained by that (rules R2, R3, R5).
pub(super) const TICK: f64 = 10e6;
/// How much shorter than usual the gaps inside of a group are (rule R1).
const SHORT: f64 = 1e-3;
/// How many groups in a row may be left out.
const MOST_LEFT_OUT: usize = 5;
/// How far a group looks for readings to tell how noisy it is, to either side.
const LOOKS: usize = 3;
/// The least scale of bends, in ns.
const LEAST_SCALE: f64 = 1e3;

/// Costs, in billionths.
type Cost = u64;
const UNIT: f64 = 1e9;
const LEFT_OUT: Cost = 1_000_000_000;
const LEAPS: Cost = 900_000_000;
const SLIDES: Cost = 1_700_000_000;
const TWO_STEPS: Cost = 1_200_000_000;
const MOST_BENT: f64 = 1.2;
/// By how much what follows may differ.
const NEVER_WINS: Cost = 2_400_000_000;

/// What the rules of a hop need to know of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop {
    /// κ of rule R1.
    pub kappa: f64,
    /// How long the gaps are at least that part groups.
    pub short: f64,
    pub is_coarse: bool,
}

/// A reading that may be used, and its group.
#[derive(Debug, Clone, Copy)]
struct Node {
    knot: Knot,
    /// Which of the readings it is.
    index: usize,
    group: usize,
}

/// The readings of a hop that are used, in order.
#[derive(Debug)]
pub(super) struct Choice {
    /// Which they are, with what is after each.
    pub used: Vec<(usize, Gap)>,
    /// Of each reading, its group.
    pub groups: Vec<usize>,
}

/// The gap of which a quarter is not shorter, as a thousandth (rule R1).
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

    /// Whether b goes against κ.
    fn goes_back(&self, from: Knot, to: Knot) -> bool {
        distance(from.b, to.b) * self.kappa < 0.0
    }

    /// Whether a line may lead from a reading to another one (rule R2).
    fn may_be_line(&self, from: Knot, to: Knot) -> bool {
        !self.leaps(from, to) && !self.goes_back(from, to)
    }

    /// By what off a line costs as much as to leave a reading out.
    fn scale(&self, usual: f64) -> f64 {
        let least = if self.is_coarse { TICK } else { LEAST_SCALE };
        least.max(10.0 * usual)
    }

    /// Chooses readings, in order of `a`, of equal ones only one.
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
        Choice {
            used: used.collect(),
            groups,
        }
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

    /// The readings that may be used: of one or two in a group, any; of more, the lower median.
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

    /// The median of how far groups are off lines past them, at least.
    fn scatter(&self, nodes: &[Node]) -> f64 {
        let group = |index: usize| nodes[index].group;
        let (mut before, mut after) = (0..0, 0..0);
        let mut offs = Vec::with_capacity(nodes.len());
        let mut start = 0;
        while start < nodes.len() {
            let own = group(start);
            let end = start
                + nodes[start..]
                    .iter()
                    .take_while(|of| of.group == own)
                    .count();
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

    /// Tells steps, slides and changes of the rate apart.
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

/// The rate between two readings, less 1.
fn faster(from: Knot, to: Knot) -> f64 {
    moved(from, to, 1.0) / distance(from.a, to.a)
}

fn bend(x: f64) -> Cost {
    ((x * x).min(MOST_BENT) * UNIT).round() as Cost
}

/// How a reading was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    First,
    /// By a line from this one.
    Line(usize),
    /// By a step from this one, to which a line led from that one.
    Step(usize, Option<usize>),
}

#[derive(Debug, Clone, Copy)]
struct State {
    cost: Cost,
    by: Reached,
    /// The state that it comes from.
    from: usize,
}

/// What is kept of a state: which reading, how it was reached, and from which state.
#[derive(Debug, Clone, Copy)]
struct Trace {
    node: usize,
    from: usize,
    gap: Gap,
}

/// No state.
const NOWHERE: usize = usize::MAX;

/// All ways through the readings that may be the cheapest.
struct Ways<'n> {
    hop: &'n Hop,
    nodes: &'n [Node],
    scale: f64,
    traces: Vec<Trace>,
    /// The states of the last readings, the index of the first of them, and of its first state.
    recent: VecDeque<(usize, Vec<State>)>,
    first: usize,
}

impl<'n> Ways<'n> {
    fn new(hop: &'n Hop, nodes: &'n [Node], scale: f64) -> Ways<'n> {
        Ways {
            hop,
            nodes,
            scale,
            traces: Vec::with_capacity(5 * nodes.len()),
            recent: VecDeque::new(),
            first: 0,
        }
    }

    /// The cheapest of all, as readings with what is after each.
    fn cheapest(&mut self) -> Vec<(usize, Gap)> {
        let mut end: Option<(Cost, usize)> = None;
        let groups = self.nodes.last().map_or(0, |last| last.group + 1);
        for (index, node) in self.nodes.iter().enumerate() {
            let states = self.states(index, node);
            let start = self.traces.len();
            self.traces.extend(states.iter().map(|state| Trace {
                node: index,
                from: state.from,
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
        }
        let mut way = Vec::new();
        let mut at = end.map_or(NOWHERE, |(_, at)| at);
        let mut after = Gap::Line;
        while let Some(trace) = self.traces.get(at) {
            way.push((trace.node, after));
            (after, at) = (trace.gap, trace.from);
        }
        way.reverse();
        way
    }

    /// The states of a reading that may be on the cheapest way, in order: of the first, then by the
    /// reading that leads to it.
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

    /// Adds the states of a reading to which a previous one leads.
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
            let costs = of
                .iter()
                .map(|state| state.cost + self.bent(state.by, j, k));
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
        let lines = of
            .iter()
            .enumerate()
            .filter_map(|(at, state)| match state.by {
                Reached::Line(i) => Some(State {
                    cost: state.cost + step,
                    by: Reached::Step(j, Some(i)),
                    from: start + at,
                }),
                Reached::First | Reached::Step(..) => None,
            });
        states.extend(lines);
    }

    /// What a line from a reading on costs, by how that was reached.
    fn bent(&self, by: Reached, j: usize, k: Knot) -> Cost {
        let knot = |at: usize| self.nodes[at].knot;
        match by {
            Reached::Line(i) => bend(off_line(knot(i), k, knot(j)) / self.scale),
            Reached::Step(before, Some(i)) => {
                let (d, e) = (
                    distance(knot(i).a, knot(before).a),
                    distance(knot(j).a, k.a),
                );
                let change = faster(knot(j), k) - faster(knot(i), knot(before));
                bend(change.abs() * d * e / (d + e) / self.scale)
            }
            Reached::First | Reached::Step(_, None) => 0,
        }
    }
}

/// The least cost, of equal ones the first; without those that cannot be.
fn least(costs: impl Iterator<Item = Cost>) -> Option<(usize, Cost)> {
    let costs = costs.enumerate().filter(|&(_, cost)| cost < Cost::MAX);
    costs.min_by_key(|&(_, cost)| cost)
}
