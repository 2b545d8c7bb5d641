//! Several clocks, related by several pairs (rules AL17, AL19).
//!
//! # Design
//!
//! At each time, the bounds of all pairs are distances in a graph, and shortest paths combine them.
//! They are computed at the times of the points that touch a bound, on the clock of each group with
//! the least number, and lines connect them. The alternative was a spanning tree of the best pairs:
//! it ignores the loops, so it turns messages of the other pairs around.

use std::collections::BTreeSet;

use super::alignment::{Alignment, AlignmentKnot, Interval, whole, whole_bounds};
use super::bins::Medians;
use super::cones::ROUNDING;
use super::corners::{Corner, OnLine, bounded, line, never_back};
use super::edge::{Edge, Relation, STEPS, Width};
use super::ends::{CollectiveEnds, polygons};
use super::evidence::Evidence;
use super::paths::{Around, Distances, Limit};

/// Two clocks, by their numbers, and how messages relate them.
#[derive(Debug, Clone)]
pub struct AlignedPair {
    /// The clock A of the alignment.
    pub a: usize,
    /// The clock B.
    pub b: usize,
    /// From [`super::align`].
    pub alignment: Alignment,
}

/// A measured relation of two clocks: when A shows a time, B shows it + offset ± error, in ns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredPair {
    /// The clock A.
    pub a: usize,
    /// The clock B.
    pub b: usize,
    /// The reading of A, the offset and its error, in the order of time; between two of them lines
    /// lead, and beyond them it is level.
    pub readings: Vec<(i64, i64, u64)>,
}

/// Two clocks whose corners are asked for, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnotsOf {
    /// The clock whose readings are the times.
    pub from: usize,
    /// The other clock.
    pub to: usize,
    /// How much the rate of the two clocks may change: 4e-5 for 40 ppm.
    pub wander: f64,
}

/// The clocks, aligned by all pairs.
///
/// ```
/// use timebase_resolver::align::{
///     AlignedPair, AlignmentKnot, Direction, KnotsOf, Message, Network, PairClocks, align,
/// };
///
/// // Three clocks, and messages around the ring, one way: 10 µs each.
/// let clocks = [0, 5_000, -3_000];
/// let pair = |a: usize, b: usize| {
///     let message = |second: i64| Message {
///         direction: Direction::AToB,
///         sent: second * 1_000_000_000 + clocks[a],
///         arrived: second * 1_000_000_000 + 10_000 + clocks[b],
///         ended: None,
///         packet_out: 0,
///         packet_in: 0,
///     };
///     let messages: Vec<Message> = (1..9).map(message).collect();
///     let Ok(alignment) = align(PairClocks::default(), &messages[..]);
///     AlignedPair { a, b, alignment }
/// };
/// let network = Network::new(3, vec![pair(0, 1), pair(1, 2), pair(2, 0)], &[], &[]);
/// assert_eq!(network.estimate(0, 1, 5_000_000_000), Some(5_000));
/// // Their clocks show slightly different times when they send, so some ns are missing.
/// let interval = network.interval(0, 1, 5_000_000_000);
/// assert_eq!((interval.earliest, interval.latest), (Some(-15_011), Some(15_000)));
/// // The corners of the estimate, between which lines lead.
/// let knots = network.knots(&[KnotsOf { from: 0, to: 1, wander: 40e-6 }]);
/// let inside = |knot: &AlignmentKnot| {
///     knot.interval.earliest <= knot.offset && knot.offset <= knot.interval.latest
/// };
/// assert!(knots[0].len() > 1 && knots[0].iter().all(inside));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Network {
    edges: Vec<Edge>,
    /// The pairs of edges that were dropped, by their place, in order.
    dropped: Vec<usize>,
    groups: Vec<Group>,
    /// The group of each clock.
    group_of: Vec<usize>,
    /// How far each clock is about ahead of the reference of its group, in ns.
    base: Vec<i128>,
}

/// Clocks that pairs connect.
#[derive(Debug, Clone, Default)]
struct Group {
    /// From the reference on, each with the edge that leads to it from an earlier one.
    members: Vec<(usize, Option<usize>)>,
    /// A time of the reference.
    start: i64,
    /// Times of the reference, less `start`.
    times: Vec<f64>,
    /// How far each member is ahead of its base: the corners of a line.
    lines: Vec<Vec<(f64, f64)>>,
    /// The first member with which each is bounded on both sides at all times; itself, if none.
    bounded_with: Vec<usize>,
    is_contradictory: bool,
    /// Whether each member goes back while the reference goes on.
    goes_back: Vec<bool>,
}

/// The times at which shortest paths are computed.
const TIMES: usize = 4096;
/// The additions for all of these times: there are fewer times of many clocks.
const WORK: usize = 2_000_000_000;

impl Network {
    /// Aligns `clocks` clocks, whose numbers are from 0 on, by all pairs. `collectives` are the ends
    /// of all-to-alls. Pairs with numbers beyond `clocks` do not count.
    pub fn new(
        clocks: usize,
        pairs: Vec<AlignedPair>,
        measured: &[MeasuredPair],
        collectives: &[CollectiveEnds],
    ) -> Network {
        let pairs = pairs.into_iter().map(|AlignedPair { a, b, alignment }| Edge {
            a,
            b,
            relation: Relation::Messages(Box::new(alignment)),
        });
        let measured = measured.iter().map(|measured| Edge {
            a: measured.a,
            b: measured.b,
            relation: Relation::Measured(measured.readings.clone()),
        });
        let mut network = Network {
            edges: pairs.chain(measured).collect(),
            group_of: vec![0; clocks],
            base: vec![0; clocks],
            ..Network::default()
        };
        for (place, edge) in network.edges.iter().enumerate() {
            let is_refused = match &edge.relation {
                Relation::Messages(alignment) => alignment.sides == Evidence::Contradictory,
                Relation::Measured(readings) => readings.is_empty(),
            };
            if is_refused || edge.a >= clocks || edge.b >= clocks || edge.a == edge.b {
                network.dropped.push(place);
            }
        }
        network.connect();
        while let Some(worst) = network.solve(collectives) {
            network.dropped.push(worst);
            network.dropped.sort_unstable();
            network.connect();
        }
        network
    }

    /// The pairs that count, with their places.
    fn used(&self) -> impl Iterator<Item = (usize, &Edge)> {
        let edges = self.edges.iter().enumerate();
        edges.filter(|(place, _)| self.dropped.binary_search(place).is_err())
    }

    /// The pairs of [`Network::new`] that do not count, by their place: contradictory ones, and
    /// those that contradict a loop of others and have the most violated messages.
    pub fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    /// Whether the pairs of this clock contradict each other, and none has a violated message.
    pub fn is_contradictory(&self, clock: usize) -> bool {
        self.group(clock).is_some_and(|group| group.is_contradictory)
    }

    /// Whether this clock was set back so far that its readings do not tell when it showed them. Of such a
    /// clock there is no relation, although messages bound it.
    pub fn goes_back(&self, clock: usize) -> bool {
        let back = |group: &Group| group.goes_back.get(group.place(clock)?).copied();
        self.group(clock).and_then(back).unwrap_or(false)
    }

    fn group(&self, clock: usize) -> Option<&Group> {
        self.groups.get(*self.group_of.get(clock)?)
    }

    /// Finds the groups.
    fn connect(&mut self) {
        let clocks = self.base.len();
        let mut is_found = vec![false; clocks];
        let mut groups = Vec::new();
        for first in 0..clocks {
            if is_found.get(first).copied().unwrap_or(true) {
                continue;
            }
            let mut members = vec![(first, None)];
            let mut next = 0;
            while let Some(&(clock, _)) = members.get(next) {
                next += 1;
                if let Some(is_found) = is_found.get_mut(clock) {
                    *is_found = true;
                }
                for (place, edge) in self.used().filter(|(_, e)| e.a == clock || e.b == clock) {
                    let other = if edge.a == clock { edge.b } else { edge.a };
                    if let Some(is_found @ false) = is_found.get_mut(other) {
                        *is_found = true;
                        members.push((other, Some(place)));
                    }
                }
            }
            let edge = members.get(1).and_then(|member| self.edges.get(member.1?));
            let start = edge.and_then(|edge| match edge.a == first {
                true => edge.start(),
                false => edge.other(edge.a, edge.start()?).filter(|_| edge.b == first),
            });
            let start = start.unwrap_or_default();
            groups.push(Group { members, start, ..Group::default() });
        }
        for (number, group) in groups.iter().enumerate() {
            let shown = self.shown(group, group.start);
            for (&(clock, _), shown) in group.members.iter().zip(shown) {
                if let Some(group_of) = self.group_of.get_mut(clock) {
                    *group_of = number;
                }
                if let (Some(base), Some(shown)) = (self.base.get_mut(clock), shown) {
                    *base = i128::from(shown) - i128::from(group.start);
                }
            }
        }
        self.groups = groups;
    }

    /// About what each member shows when the reference shows `at`.
    fn shown(&self, group: &Group, at: i64) -> Vec<Option<i64>> {
        let mut of_clock: Vec<Option<i64>> = vec![None; self.base.len()];
        let mut shown = Vec::with_capacity(group.members.len());
        for &(clock, edge) in &group.members {
            let time = match edge.and_then(|edge| self.edges.get(edge)) {
                None => Some(at),
                Some(edge) => {
                    let from = if edge.a == clock { edge.b } else { edge.a };
                    let from_shows = of_clock.get(from).copied().flatten();
                    from_shows.and_then(|shows| edge.other(from, shows))
                }
            };
            if let Some(of_clock) = of_clock.get_mut(clock) {
                *of_clock = time;
            }
            shown.push(time);
        }
        shown
    }

    /// About what the reference shows when a member shows `at`.
    fn reference_shows(&self, group: &Group, clock: usize, at: i64) -> Option<i64> {
        let mut chain = Vec::new();
        let mut member = clock;
        while let Some(&(_, Some(edge))) = group.members.iter().find(|m| m.0 == member) {
            let edge = self.edges.get(edge)?;
            chain.push((edge, member));
            member = if edge.a == member { edge.b } else { edge.a };
        }
        chain.into_iter().try_fold(at, |at, (edge, clock)| edge.other(clock, at))
    }

    /// The limits that pairs set to the members of a group, when they show these times.
    fn limits(&self, group: &Group, shown: &[Option<i64>], width: Width) -> Vec<Limit> {
        let mut place_of = vec![usize::MAX; self.base.len()];
        for (place, member) in group.members.iter().enumerate() {
            if let Some(place_of) = place_of.get_mut(member.0) {
                *place_of = place;
            }
        }
        let place = |clock: usize| place_of.get(clock).copied().unwrap_or(usize::MAX);
        let base = |clock: usize| self.base.get(clock).copied().unwrap_or_default();
        let mut limits = Vec::new();
        for (_, edge) in self.used() {
            let (a, b) = (place(edge.a), place(edge.b));
            let Some(at) = shown.get(a).copied().flatten() else { continue };
            let (lo, hi) = edge.bounds(at, base(edge.b) - base(edge.a), width);
            limits.push(Limit { from: a, to: b, most: hi });
            limits.push(Limit { from: b, to: a, most: -lo });
        }
        limits
    }

    /// The distances of the members of a group, when they show these times.
    fn distances(&self, group: &Group, shown: &[Option<i64>], width: Width) -> Distances {
        let mut distances = Distances::new(group.members.len());
        for limit in self.limits(group, shown, width) {
            distances.tighten(limit.from, limit.to, limit.most);
        }
        distances.close();
        distances
    }

    /// Solves all groups; the pair to drop if one contradicts itself.
    fn solve(&mut self, collectives: &[CollectiveEnds]) -> Option<usize> {
        for number in 0..self.groups.len() {
            let mut group = self.groups.get(number)?.clone();
            let is_sound = [Width::Corridor, Width::Bounds]
                .into_iter()
                .any(|width| self.solve_group(&mut group, width, collectives));
            if !is_sound {
                let of_group = |edge: &Edge| group.members.iter().any(|m| m.0 == edge.a);
                let pairs = self.used().filter(|(_, edge)| of_group(edge));
                let worst = pairs.map(|(place, edge)| (place, edge.share()));
                let worst = worst.filter(|worst| worst.1 > 0.0).max_by(|a, b| {
                    // Of equal ones the first.
                    a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))
                });
                if let Some((worst, _)) = worst {
                    return Some(worst);
                }
                group.is_contradictory = true;
                group.times.clear();
                group.lines.clear();
            }
            if let Some(solved) = self.groups.get_mut(number) {
                *solved = group;
            }
        }
        None
    }

    /// Whether the bounds of a group do not contradict each other.
    fn solve_group(&self, group: &mut Group, width: Width, collectives: &[CollectiveEnds]) -> bool {
        let reference = group.members.first().map_or(0, |member| member.0);
        let ends = polygons(collectives, reference, group.start, &self.base);
        let has_ends = ends.iter().flatten().count() > 1;
        // The ends may lead out of the corridors, so the bounds' own bends count.
        let widths: &[Width] = if has_ends { &[width, Width::Bounds] } else { &[width] };
        let times = self.times(group, widths);
        let steps = self.steps(group);
        let mut corners = vec![Vec::with_capacity(times.len()); group.members.len()];
        group.times.clear();
        group.bounded_with = vec![0; group.members.len()];
        for at in times {
            let shown = self.shown(group, at);
            let mut distances = self.distances(group, &shown, width);
            if distances.least_loop() < -ROUNDING {
                return false;
            }
            for (place, with) in group.bounded_with.iter_mut().enumerate() {
                *with = (*with).max(distances.first_bounded(place));
            }
            let time = (i128::from(at) - i128::from(group.start)) as f64;
            let mut ahead = distances.middles();
            if has_ends {
                let goals = goals(group, &ends, time);
                distances = self.distances(group, &shown, Width::Bounds);
                ahead = distances.toward(&ahead, &goals);
            }
            let of_reference = ahead.first().copied().unwrap_or_default();
            let is_in_step = self.is_in_step(group, &shown);
            let members = corners.iter_mut().zip(&group.members).enumerate();
            for (place, (corners, &(clock, _))) in members {
                let room = distances.room(place, &ahead);
                let ahead = ahead.get(place).map_or(0.0, |ahead| ahead - of_reference);
                let is_kept = steps.contains(&(at, clock));
                corners.push(Corner { time, ahead, room, is_kept, is_in_step });
            }
            group.times.push(time);
        }
        group.goes_back = corners.iter_mut().map(|corners| !never_back(corners)).collect();
        group.lines = corners.iter().map(|corners| line(corners)).collect();
        true
    }

    /// Whether a clock of a group may have been set or slept when its members show these times.
    fn is_in_step(&self, group: &Group, shown: &[Option<i64>]) -> bool {
        self.used().any(|(_, edge)| {
            let Relation::Messages(alignment) = &edge.relation else { return false };
            let at = group.place(edge.a).and_then(|place| *shown.get(place)?);
            alignment.stretches() > 1 && at.is_some_and(|at| alignment.is_in_step(at))
        })
    }

    /// The times of the reference beside steps, each with the clocks that it may be of.
    fn steps(&self, group: &Group) -> BTreeSet<(i64, usize)> {
        let of_group = |edge: &Edge| group.members.iter().any(|member| member.0 == edge.a);
        let edges = self.used().filter(|(_, edge)| of_group(edge));
        let steps = edges.flat_map(|(_, edge)| edge.steps().into_iter().map(move |at| (edge, at)));
        let steps = steps.flat_map(|(edge, at)| {
            let time = self.reference_shows(group, edge.a, at);
            time.into_iter().flat_map(|time| [(time, edge.a), (time, edge.b)])
        });
        steps.collect()
    }

    /// The times of the reference at which a bound of the group bends, in order.
    fn times(&self, group: &Group, widths: &[Width]) -> Vec<i64> {
        let mut times = Vec::new();
        for (_, edge) in self.used() {
            if group.members.iter().any(|member| member.0 == edge.a) {
                let bends = widths.iter().flat_map(|&width| edge.bends(width));
                times.extend(bends.filter_map(|at| self.reference_shows(group, edge.a, at)));
            }
        }
        times.sort_unstable();
        times.dedup();
        let clocks = group.members.len().max(1);
        let most = (WORK / clocks.saturating_pow(3)).clamp(2, TIMES);
        let stride = times.len().div_ceil(most).max(1);
        let last = times.last().copied();
        let mut times: Vec<i64> = times.into_iter().step_by(stride).collect();
        times.extend(last.filter(|last| times.last() != Some(last)));
        times
    }
}

/// How far each member should be ahead of its base at a time (rule AL19).
fn goals(group: &Group, ends: &[Option<Medians>], time: f64) -> Vec<Option<f64>> {
    let goal = |member: &(usize, Option<usize>)| Some(ends.get(member.0)?.as_ref()?.at(time));
    group.members.iter().map(goal).collect()
}

impl Group {
    fn place(&self, clock: usize) -> Option<usize> {
        self.members.iter().position(|member| member.0 == clock)
    }

    /// How far a member is ahead of its base at a time; between times by lines, beyond them at the
    /// rate from the first to the last.
    fn ahead(&self, place: usize, time: f64) -> Option<f64> {
        let line = self.lines.get(place)?;
        let next = line.partition_point(|corner| corner.0 <= time);
        let ahead = match (next.checked_sub(1).and_then(|last| line.get(last)), line.get(next)) {
            (Some(&(t, value)), Some(&(t_after, after))) => {
                value + (after - value) * ((time - t) / (t_after - t))
            }
            (Some(&(t, value)), None) | (None, Some(&(t, value))) => {
                let (first, last) = (line.first()?, line.last()?);
                let rate =
                    if last.0 > first.0 { (last.1 - first.1) / (last.0 - first.0) } else { 0.0 };
                value + rate * (time - t)
            }
            (None, None) => return None,
        };
        ahead.is_finite().then_some(ahead)
    }

    /// Whether the line of a member bends at one of the times.
    fn bends(&self, place: usize, time: f64) -> bool {
        let line = self.lines.get(place);
        line.is_some_and(|line| line.binary_search_by(|corner| corner.0.total_cmp(&time)).is_ok())
    }

    /// How much more the second member is ahead of its base than the first; `None` if no pairs bound
    /// it on both sides.
    fn offset(&self, (from, to): (usize, usize), time: f64) -> Option<f64> {
        let is_bounded = self.bounded_with.get(from)? == self.bounded_with.get(to)?;
        is_bounded.then_some(self.ahead(to, time)? - self.ahead(from, time)?)
    }

    /// Whether pairs bound a member and the reference on both sides.
    fn is_related(&self, place: usize) -> bool {
        self.bounded_with.get(place) == Some(&0)
    }
}

impl Network {
    /// The time of the reference, less its start, when a member shows `at`.
    fn time(&self, group: &Group, clock: usize, at: i64) -> Option<f64> {
        let place = group.place(clock)?;
        let base = self.base.get(clock)?;
        let less = (i128::from(at) - base - i128::from(group.start)) as f64;
        let is_related = group.is_related(place);
        let Some(ahead) = group.ahead(place, less).filter(|_| is_related) else {
            let at = self.reference_shows(group, clock, at)?;
            return Some((i128::from(at) - i128::from(group.start)) as f64);
        };
        let mut time = less - ahead;
        for _ in 0..STEPS {
            time = less - group.ahead(place, time)?;
        }
        Some(time)
    }

    /// The estimate of what `to` shows, less `at`, when `from` shows `at`; `None` if no pairs bound
    /// it on both sides.
    pub fn estimate(&self, from: usize, to: usize, at: i64) -> Option<i64> {
        let group = self.group(from)?;
        let places = (group.place(from)?, group.place(to)?);
        let offset = group.offset(places, self.time(group, from, at)?)?;
        let base = self.base.get(to)? - self.base.get(from)?;
        whole(base, offset.round())
    }

    /// The bounds of what `to` shows, less `at`, when `from` shows `at`, from all pairs.
    pub fn interval(&self, from: usize, to: usize, at: i64) -> Interval {
        self.bounds(from, to, at).unwrap_or_default()
    }

    fn bounds(&self, from: usize, to: usize, at: i64) -> Option<Interval> {
        let group = self.group(from).filter(|group| !group.is_contradictory)?;
        let (place_from, place_to) = (group.place(from)?, group.place(to)?);
        let time = whole(i128::from(group.start), self.time(group, from, at)?.round())?;
        let mut shown = self.shown(group, time);
        if let Some(shown) = shown.get_mut(place_from) {
            *shown = Some(at);
        }
        let limits = self.limits(group, &shown, Width::Bounds);
        let around = Around::new(group.members.len(), place_from, &limits);
        let base = self.base.get(to)? - self.base.get(from)?;
        Some(whole_bounds(base, around.bounds(place_to)))
    }

    /// The corners of the estimates of pairs, in the order of time (rule AL17): what the second clock
    /// shows more than the first. Of each pair, they are those between which the interval, which
    /// grows by `wander` of the time to the nearest one, contains the bounds of all corners of the
    /// network. A pair that messages do not bound on both sides has none.
    pub fn knots(&self, pairs: &[KnotsOf]) -> Vec<Vec<AlignmentKnot>> {
        let mut points: Vec<Vec<OnLine>> = vec![Vec::new(); pairs.len()];
        for group in &self.groups {
            let places = pairs.iter().map(|of| Some((group.place(of.from)?, group.place(of.to)?)));
            let places: Vec<Option<(usize, usize)>> = places.collect();
            if places.iter().flatten().count() == 0 {
                continue;
            }
            for &time in &group.times {
                let shown = self.shown_by_lines(group, time);
                let limits = self.limits(group, &shown, Width::Bounds);
                // Mostly all are of one clock.
                let mut around: Option<(usize, Around)> = None;
                for (points, (of, places)) in points.iter_mut().zip(pairs.iter().zip(&places)) {
                    let Some((from, to)) = *places else { continue };
                    let base = self.base.get(of.to).zip(self.base.get(of.from));
                    let base = base.map_or(0, |(to, from)| to - from);
                    let bounds = match &around {
                        Some((clock, around)) if *clock == from => around.bounds(to),
                        _ => {
                            let of = Around::new(group.members.len(), from, &limits);
                            around.insert((from, of)).1.bounds(to)
                        }
                    };
                    let knot = shown.get(from).copied().flatten().and_then(|value| {
                        let offset = group.offset((from, to), time)?;
                        let offset = Some(whole(base, offset.round())?);
                        let interval = whole_bounds(base, bounds);
                        Some(AlignmentKnot { value, offset, interval, step: false })
                    });
                    let is_bend = group.bends(from, time) || group.bends(to, time);
                    points.extend(knot.map(|knot| (knot, is_bend)));
                }
            }
        }
        points.iter().zip(pairs).map(|(points, of)| bounded(points, of.wander)).collect()
    }

    /// What each member shows at a time of the reference.
    fn shown_by_lines(&self, group: &Group, time: f64) -> Vec<Option<i64>> {
        let at = whole(i128::from(group.start), time);
        let are_related = (0..group.members.len()).all(|place| group.is_related(place));
        let mut shown = match (at, are_related) {
            (Some(at), false) => self.shown(group, at),
            _ => vec![None; group.members.len()],
        };
        for (place, (shown, &(clock, _))) in shown.iter_mut().zip(&group.members).enumerate() {
            if let Some(ahead) = group.ahead(place, time).filter(|_| group.is_related(place)) {
                let base = self.base.get(clock).copied().unwrap_or_default();
                *shown = whole(base + i128::from(group.start), (time + ahead).round());
            }
        }
        shown
    }
}
