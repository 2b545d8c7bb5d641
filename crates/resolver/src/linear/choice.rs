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
//! follow on them. Predecessors are stored as long as a path to a recent reading leads over them. A
//! while back, all these paths are one. It is final there, and becomes marks of a byte for each reading.
//! Predecessors of all states took 120 MB for a million readings, those of all paths 12.
//!
//! Most states cost more than the cheapest one of their reading and the largest difference that the
//! future can make. They are not made.

use std::collections::VecDeque;
use std::ops::Range;

use super::exact::rounded;
use super::knot::{Gap, Knot, distance, moved, off_line};
use super::knots::{Knots, Read};
use super::select::{median, places};

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

/// The groups of a hop's readings.
#[derive(Debug)]
pub(super) struct Groups {
    /// Whether each reading is the first of a group, except the first of all.
    begins: Vec<bool>,
    count: usize,
}

/// The kind of the gap after each used reading; `None` for one that is left out.
type Gaps = Vec<Option<Gap>>;

/// The choice of a hop's readings, in two bytes for each of them.
#[derive(Debug)]
pub(super) struct Choice {
    groups: Groups,
    gaps: Gaps,
}

impl Choice {
    /// Whether each reading is used, with its group.
    pub fn all(&self) -> impl Iterator<Item = (bool, usize)> {
        let groups = self.groups.begins.iter().scan(0, |group, &begins| {
            *group += usize::from(begins);
            Some(*group)
        });
        self.gaps.iter().map(Option::is_some).zip(groups)
    }

    /// The used readings in order, each with the kind of the next gap.
    pub fn used(&self) -> impl Iterator<Item = (usize, Gap)> {
        used(&self.gaps)
    }

    /// Reads the used readings of a hop.
    pub fn read_used(&self, read: Read<'_>) -> Knots {
        Knots::of_used(read, &self.gaps)
    }

    /// The other readings in the group of a reading.
    pub fn beside(&self, index: usize) -> impl Iterator<Item = usize> {
        let begins = |at: usize| self.groups.begins.get(at).is_none_or(|&begins| begins);
        let before = (0..index).rev().take_while(move |&at| !begins(at + 1));
        before.chain((index + 1..self.gaps.len()).take_while(move |&at| !begins(at)))
    }
}

/// The used readings in order, each with the kind of the next gap.
fn used(gaps: &[Option<Gap>]) -> impl Iterator<Item = (usize, Gap)> {
    (0..).zip(gaps).filter_map(|(index, &gap)| Some((index, gap?)))
}

impl Groups {
    /// The readings of each group.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let own = start;
            let after = self.begins.get(own + 1..)?;
            let more = after.iter().position(|&begins| begins).unwrap_or(after.len());
            start = own + 1 + more;
            Some(own..start)
        })
    }
}

/// The length of a gap that three quarters of all gaps do not exceed, divided by a thousand (rule
/// R1).
pub(super) fn short<I: Iterator<Item = f64>>(gaps: impl Fn() -> I) -> f64 {
    let usual = places(gaps, |count| [3 * count / 4; 2], f64::total_cmp);
    usual.map_or(0.0, |[usual, _]| SHORT * usual)
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
    pub fn worst_nearest(&self, knots: &Knots, choice: &Choice) -> f64 {
        let mut worst = 0.0;
        let mut last: Option<(usize, Gap)> = None;
        for (index, gap) in choice.used() {
            if let Some((before, Gap::Line)) = last {
                let jumps =
                    knots.gaps(before..index + 1).filter(|&(from, to)| !self.leaps(from, to));
                worst = jumps.map(|(from, to)| moved(from, to, 1.0).abs()).fold(worst, f64::max);
            }
            last = Some((index, gap));
        }
        worst
    }

    /// Chooses readings, in the order of `a`; of equal values, only one.
    pub fn choose(&self, knots: &Knots) -> Choice {
        let groups = self.groups(knots);
        let first = self.scale(3.0 * self.scatter(knots, &groups));
        let mut gaps = self.cheapest(knots, &groups, first);
        let scale = self.scale(median(|| offs(knots, &gaps)).unwrap_or(0.0));
        if scale != first {
            gaps = self.cheapest(knots, &groups, scale);
        }
        Choice { gaps: self.softened(knots, gaps, scale), groups }
    }

    /// The cheapest path.
    fn cheapest(&self, knots: &Knots, groups: &Groups, scale: f64) -> Gaps {
        let mut ways = Ways::new(self, scale, knots.len(), groups.count);
        self.nodes(knots, groups).for_each(|node| ways.add(node));
        ways.end()
    }

    /// Divides the readings into groups.
    fn groups(&self, knots: &Knots) -> Groups {
        let mut groups = Groups { begins: Vec::with_capacity(knots.len()), count: 0 };
        let mut first: Option<Knot> = None;
        knots.iter().for_each(|knot| {
            let is_near = |first: Knot| knot.a == first.a || distance(first.a, knot.a) < self.short;
            let begins = first.is_some_and(|first| !is_near(first));
            if begins || first.is_none() {
                first = Some(knot);
                groups.count += 1;
            }
            groups.begins.push(begins);
        });
        groups
    }

    /// The usable readings: in a group of one or two, any; in a larger one, the lower median.
    fn nodes(&self, knots: &Knots, groups: &Groups) -> impl Iterator<Item = Node> {
        groups.ranges().enumerate().flat_map(move |(group, own)| {
            let usable = if own.len() > 2 { self.middle(knots, own) } else { own };
            usable.map(move |index| Node { knot: knots.at(index), index, group })
        })
    }

    /// The lower median of a group.
    fn middle(&self, knots: &Knots, group: Range<usize>) -> Range<usize> {
        let first = knots.at(group.start);
        let ahead = |index: &usize| moved(first, knots.at(*index), self.kappa);
        let mut indices: Vec<usize> = group.collect();
        indices.sort_by(|one, other| ahead(one).total_cmp(&ahead(other)));
        let middle = indices[(indices.len() - 1) / 2];
        middle..middle + 1
    }

    /// The median distance of groups from lines that skip them, at least.
    fn scatter(&self, knots: &Knots, groups: &Groups) -> f64 {
        median(|| self.least_offs(knots, groups)).unwrap_or(0.0)
    }

    /// The least distance of each group from lines that skip it.
    fn least_offs(&self, knots: &Knots, groups: &Groups) -> impl Iterator<Item = f64> {
        let mut nodes = self.nodes(knots, groups).peekable();
        let mut around: VecDeque<Node> = VecDeque::new();
        (0..groups.count).filter_map(move |own| {
            while let Some(next) = nodes.next_if(|next| next.group <= own + LOOKS) {
                around.push_back(next);
            }
            while around.front().is_some_and(|first| first.group + LOOKS < own) {
                around.pop_front();
            }
            let around = around.make_contiguous();
            let start = around.partition_point(|of| of.group < own);
            let end = around.partition_point(|of| of.group <= own);
            let beside = [&around[..start], &around[end..]];
            let least = around[start..end].iter().filter_map(|at| self.least_off(at.knot, beside));
            least.min_by(f64::total_cmp)
        })
    }

    fn least_off(&self, j: Knot, [before, after]: [&[Node]; 2]) -> Option<f64> {
        let before = before.iter().map(|of| of.knot).filter(|&i| self.may_be_line(i, j));
        let after = || after.iter().map(|of| of.knot).filter(|&k| self.may_be_line(j, k));
        let lines = before.flat_map(|i| after().map(move |k| (i, k)));
        let lines = lines.filter(|&(i, k)| self.may_be_line(i, k));
        lines.map(|(i, k)| off_line(i, k, j)).min_by(f64::total_cmp)
    }

    /// Distinguishes steps, slides and changes of the rate.
    fn softened(&self, knots: &Knots, found: Gaps, scale: f64) -> Gaps {
        let mut gaps = found.clone();
        let mut next = used(&found);
        let mut before: Option<(usize, Gap)> = None;
        let (mut at, mut after, mut second) = (next.next(), next.next(), next.next());
        while let (Some((own, gap)), Some((to, gap_after))) = (at, after) {
            let (j, k) = (knots.at(own), knots.at(to));
            if gap != Gap::Line && self.may_be_line(j, k) {
                let i = before.filter(|&(_, gap)| gap == Gap::Line).map(|(i, _)| knots.at(i));
                let l = second.filter(|_| gap_after == Gap::Line).map(|(l, _)| knots.at(l));
                let is_bend = |(i, l)| self.is_bend([i, j, k, l], scale);
                let is_line = i.zip(l).is_some_and(is_bend);
                gaps[own] = Some(if is_line { Gap::Line } else { Gap::Slide });
            }
            (before, at, after, second) = (at, after, second, next.next());
        }
        gaps
    }

    /// Whether the rate of the gap in the middle is between those of the gaps beside it.
    fn is_bend(&self, [i, j, k, l]: [Knot; 4], scale: f64) -> bool {
        let (before, after) = (faster(i, j), faster(k, l));
        let slack = scale / distance(j.a, k.a);
        let own = faster(j, k);
        own <= before.max(after) + slack && own >= before.min(after) - slack
    }
}

/// The distances of used readings from the lines of their neighbours.
fn offs(knots: &Knots, gaps: &[Option<Gap>]) -> impl Iterator<Item = f64> {
    let mut before: [Option<(usize, Gap)>; 2] = [None; 2];
    used(gaps).filter_map(move |(k, gap)| {
        let [i, j] = before;
        before = [j, Some((k, gap))];
        match (i, j) {
            (Some((i, Gap::Line)), Some((j, Gap::Line))) => {
                Some(off_line(knots.at(i), knots.at(k), knots.at(j)))
            }
            _ => None,
        }
    })
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
    /// The index of the reading.
    at: u32,
    from: u32,
    gap: Gap,
}

/// No state.
const NOWHERE: usize = u32::MAX as usize;

/// After this many readings, predecessors that no path needs are dropped, and those that all paths need
/// are marked.
const SWEPT: usize = if cfg!(test) { 3 } else { 1 << 12 };

/// The farthest predecessors are the first reading of a step, to a reading, to another one.
const NODES_BEFORE: usize = 3 * (MOST_LEFT_OUT + 1);

/// The states of a reading.
#[derive(Debug)]
struct States {
    /// The index of the first one's trace.
    start: usize,
    /// The least cost.
    least: Cost,
    of: Vec<State>,
}

/// All paths through the readings that may be the cheapest.
struct Ways<'h> {
    hop: &'h Hop,
    scale: f64,
    /// The last usable readings, and the number of those before them.
    nodes: VecDeque<Node>,
    passed: usize,
    /// The number of groups.
    groups: usize,
    /// The traces of the states that paths may lead over. Those before are marked.
    traces: Vec<Trace>,
    /// The states of the last readings, and the number of the first of these readings.
    recent: VecDeque<States>,
    first: usize,
    /// The cheapest state at the end.
    end: Option<(Cost, usize)>,
    /// The result, up to the last reading that all paths lead over.
    gaps: Gaps,
    last: Option<u32>,
    spare: Vec<State>,
}

impl<'h> Ways<'h> {
    fn new(hop: &'h Hop, scale: f64, readings: usize, groups: usize) -> Ways<'h> {
        Ways {
            hop,
            scale,
            nodes: VecDeque::new(),
            passed: 0,
            groups,
            traces: Vec::new(),
            recent: VecDeque::new(),
            first: 0,
            end: None,
            gaps: vec![None; readings],
            last: None,
            spare: Vec::new(),
        }
    }

    /// A usable reading by its number.
    fn node(&self, number: usize) -> &Node {
        &self.nodes[number - self.passed]
    }

    /// Adds the next usable reading.
    fn add(&mut self, node: Node) {
        let number = self.passed + self.nodes.len();
        while self.nodes.front().is_some_and(|first| first.group + NODES_BEFORE < node.group) {
            self.nodes.pop_front();
            self.passed += 1;
        }
        self.nodes.push_back(node);
        let is_far = |before: &Node| before.group + MOST_LEFT_OUT + 1 < node.group;
        while self.first < number && is_far(self.node(self.first)) {
            if let Some(passed) = self.recent.pop_front() {
                self.spare = passed.of;
            }
            self.first += 1;
        }
        let of = self.states(&node);
        let start = self.traces.len();
        self.traces.extend(of.iter().map(|state| Trace {
            at: node.index.min(NOWHERE) as u32,
            from: state.from.min(NOWHERE) as u32,
            gap: match state.by {
                Reached::Step(..) => Gap::Step,
                Reached::First | Reached::Line(_) => Gap::Line,
            },
        }));
        let own = least(of.iter().map(|state| state.cost));
        let left_out = self.groups - 1 - node.group;
        if left_out <= MOST_LEFT_OUT
            && let Some((at, cost)) = own
        {
            let cost = cost + left_out as Cost * LEFT_OUT;
            if self.end.is_none_or(|(least, _)| cost <= least) {
                self.end = Some((cost, start + at));
            }
        }
        let least = own.map_or(Cost::MAX, |(_, cost)| cost);
        self.recent.push_back(States { start, least, of });
        if number % SWEPT == SWEPT - 1 && self.end.is_none() {
            self.sweep();
            self.settle();
        }
    }

    /// The kind of the gap after each reading of the cheapest path.
    fn end(mut self) -> Gaps {
        let mut way = Vec::new();
        let mut at = self.end.map_or(NOWHERE, |(_, at)| at);
        while let Some(&trace) = self.traces.get(at) {
            way.push(trace);
            at = trace.from as usize;
        }
        way.into_iter().rev().for_each(|trace| self.mark(trace));
        self.gaps
    }

    /// Adds a reading to the result.
    fn mark(&mut self, trace: Trace) {
        if let Some(last) = self.last {
            self.gaps[last as usize] = Some(trace.gap);
        }
        self.gaps[trace.at as usize] = Some(Gap::Line);
        self.last = Some(trace.at);
    }

    /// Marks the traces that all paths lead over, and drops them.
    fn settle(&mut self) {
        let until = self.recent.front().map_or(0, |recent| recent.start);
        let mut followed = vec![0u32; until];
        let mut begins = 0;
        for trace in &self.traces {
            match followed.get_mut(trace.from as usize) {
                Some(followed) => *followed += 1,
                None => begins += usize::from(trace.from as usize == NOWHERE),
            }
        }
        // As long as one path leads over all, each trace follows on the one before.
        let alone = followed.iter().position(|&followed| followed != 1);
        let settled = match (begins, alone) {
            (1, Some(fork)) => fork + 1,
            (1, None) => until,
            _ => return,
        };
        for index in 0..settled {
            self.mark(self.traces[index]);
        }
        self.traces.drain(..settled);
        for trace in &mut self.traces {
            trace.from = match (trace.from as usize).checked_sub(settled) {
                Some(from) if trace.from as usize != NOWHERE => from as u32,
                _ => NOWHERE as u32,
            };
        }
        self.recent.iter_mut().for_each(|recent| recent.start -= settled);
    }

    /// Drops the traces that no path to a recent reading leads over.
    fn sweep(&mut self) {
        let until = self.recent.front().map_or(0, |recent| recent.start);
        let mut is_needed = vec![false; until];
        for (at, trace) in self.traces.iter().enumerate().rev() {
            if is_needed.get(at) != Some(&false)
                && let Some(needed) = is_needed.get_mut(trace.from as usize)
            {
                *needed = true;
            }
        }
        let mut kept = 0;
        let place = |&needed: &bool| {
            kept += u32::from(needed);
            kept.wrapping_sub(1)
        };
        let places: Vec<u32> = is_needed.iter().map(place).collect();
        let dropped = until - kept as usize;
        let mut at = 0;
        self.traces.retain_mut(|trace| {
            let from = trace.from as usize;
            match places.get(from) {
                Some(&place) => trace.from = place,
                None if from != NOWHERE => trace.from = (from - dropped) as u32,
                None => {}
            }
            at += 1;
            is_needed.get(at - 1) != Some(&false)
        });
        self.recent.iter_mut().for_each(|recent| recent.start -= dropped);
    }

    /// The states of a reading that may be on the cheapest path: first the initial state, then in
    /// the order of predecessors.
    ///
    /// The states that follow the last reading come first, as others cost more and most of them never win.
    fn states(&mut self, node: &Node) -> Vec<State> {
        let mut states = std::mem::take(&mut self.spare);
        states.clear();
        let mut limit = Cost::MAX;
        if node.group <= MOST_LEFT_OUT {
            let cost = node.group as Cost * LEFT_OUT;
            states.push(State { cost, by: Reached::First, from: NOWHERE });
            limit = cost + NEVER_WINS;
        }
        let first = states.len();
        let before = (self.first..self.first + self.recent.len()).zip(&self.recent);
        let mut before = before.filter(|&(j, _)| self.node(j).group < node.group);
        let last = before.next_back();
        let follow = |(j, of): (usize, &States), limit, states: &mut Vec<State>| {
            let left_out = (node.group - self.node(j).group - 1) as Cost * LEFT_OUT;
            if of.least.saturating_add(left_out) <= limit {
                self.lead(j, of, node.knot, (left_out, limit), states);
            }
        };
        if let Some(last) = last {
            follow(last, limit, &mut states);
        }
        let (of_last, cheapest) =
            (states.len() - first, states.iter().map(|state| state.cost).min());
        limit = limit.min(cheapest.map_or(Cost::MAX, |cheapest| cheapest + NEVER_WINS));
        before.for_each(|before| follow(before, limit, &mut states));
        if let Some(following) = states.get_mut(first..) {
            following.rotate_left(of_last);
        }
        let cheapest = states.iter().map(|state| state.cost).min().unwrap_or(0);
        states.retain(|state| state.cost <= cheapest + NEVER_WINS);
        states
    }

    /// Adds the states of a reading that follow a previous reading, except some that cost more than a
    /// limit.
    fn lead(
        &self,
        j: usize,
        before: &States,
        k: Knot,
        (left_out, limit): (Cost, Cost),
        states: &mut Vec<State>,
    ) {
        let from = self.node(j).knot;
        let leaps = self.hop.leaps(from, k);
        let of = || before.of.iter().enumerate();
        let start = before.start;
        if !leaps && !self.hop.goes_back(from, k) {
            let costs = of().map(|(_, state)| match state.cost + left_out <= limit {
                true => state.cost + self.bent(state.by, j, k),
                false => Cost::MAX,
            });
            states.extend(least(costs).map(|(at, cost)| State {
                cost: cost + left_out,
                by: Reached::Line(j),
                from: start + at,
            }));
        }
        let step = left_out + if leaps { LEAPS } else { SLIDES };
        let bare = of().map(|(_, state)| match state.by {
            Reached::First => state.cost,
            Reached::Step(..) => state.cost + TWO_STEPS,
            Reached::Line(_) => Cost::MAX,
        });
        states.extend(least(bare).map(|(at, cost)| State {
            cost: cost + step,
            by: Reached::Step(j, None),
            from: start + at,
        }));
        let lines = of().filter_map(|(at, state)| match state.by {
            Reached::Line(i) if state.cost + step <= limit => Some(State {
                cost: state.cost + step,
                by: Reached::Step(j, Some(i)),
                from: start + at,
            }),
            _ => None,
        });
        states.extend(lines);
    }

    /// The cost of a line from a reading on, by the way in which it was reached.
    fn bent(&self, by: Reached, j: usize, k: Knot) -> Cost {
        let knot = |at: usize| self.node(at).knot;
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
