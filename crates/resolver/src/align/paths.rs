//! Shortest paths between clocks at one time (rule AL17).

use super::cones::ROUNDING;

/// The part of the way to a goal that is left out if not all pairs allow it.
const BACK: f64 = 1e-3;

/// How much the clock `to` is at most ahead of the clock `from`, by one pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub from: usize,
    pub to: usize,
    pub most: f64,
}

/// Shorter paths count if they are by this many ns. Rounding would make others, in a loop without end.
const SHORTER: f64 = 1e-5;

/// How much each clock can at most be ahead of one clock, and that one of it. All pairs of 400 clocks at a time take 64
/// million additions, and two searches from one clock some thousands.
#[derive(Debug, Clone)]
pub(super) struct Around {
    ahead: Vec<f64>,
    behind: Vec<f64>,
}

impl Around {
    pub fn new(clocks: usize, clock: usize, limits: &[Limit]) -> Around {
        let forward = limits.iter().copied();
        let backward =
            forward.clone().map(|limit| Limit { from: limit.to, to: limit.from, ..limit });
        Around {
            ahead: shortest(clocks, clock, forward),
            behind: shortest(clocks, clock, backward),
        }
    }

    /// The bounds of how much another clock is ahead.
    pub fn bounds(&self, other: usize) -> (f64, f64) {
        let of = |distances: &[f64]| distances.get(other).copied().unwrap_or(f64::INFINITY);
        (-of(&self.behind), of(&self.ahead))
    }
}

/// The shortest paths from one clock (Bellman, Ford).
fn shortest(clocks: usize, from: usize, limits: impl Iterator<Item = Limit> + Clone) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; clocks];
    if let Some(own) = distances.get_mut(from) {
        *own = 0.0;
    }
    for _ in 0..clocks {
        let mut is_shorter = false;
        for limit in limits.clone() {
            let via = distances.get(limit.from).map_or(f64::INFINITY, |d| d + limit.most);
            if let Some(distance) = distances.get_mut(limit.to).filter(|d| via < **d - SHORTER) {
                *distance = via;
                is_shorter = true;
            }
        }
        if !is_shorter {
            break;
        }
    }
    distances
}

/// What each clock can at most be ahead of each other one: d(i, j), ∞ if nothing bounds it.
#[derive(Debug, Clone)]
pub(super) struct Distances {
    clocks: usize,
    d: Vec<f64>,
}

impl Distances {
    pub fn new(clocks: usize) -> Distances {
        let mut distances = Distances { clocks, d: vec![f64::INFINITY; clocks * clocks] };
        for clock in 0..clocks {
            distances.tighten(clock, clock, 0.0);
        }
        distances
    }

    /// How much j is at most ahead of i.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.d.get(i * self.clocks + j).copied().unwrap_or(f64::INFINITY)
    }

    pub fn tighten(&mut self, i: usize, j: usize, most: f64) {
        if let Some(d) = self.d.get_mut(i * self.clocks + j) {
            *d = d.min(most);
        }
    }

    /// Follows all paths (Floyd, Warshall).
    pub fn close(&mut self) {
        let n = self.clocks;
        for via in 0..n {
            let Some(onward) = self.d.get(via * n..(via + 1) * n).map(<[f64]>::to_vec) else {
                return;
            };
            for row in self.d.chunks_exact_mut(n) {
                let Some(&to_via) = row.get(via) else { continue };
                if to_via < f64::INFINITY {
                    for (d, onward) in row.iter_mut().zip(&onward) {
                        *d = d.min(to_via + onward);
                    }
                }
            }
        }
    }

    /// The least of a clock's distances to itself: below 0 if the bounds contradict each other.
    pub fn least_loop(&self) -> f64 {
        (0..self.clocks).map(|clock| self.get(clock, clock)).fold(0.0, f64::min)
    }

    fn is_bounded(&self, i: usize, j: usize) -> bool {
        self.get(i, j) < f64::INFINITY && self.get(j, i) < f64::INFINITY
    }

    /// The first clock that bounds this one on both sides; itself, if none does.
    pub fn first_bounded(&self, clock: usize) -> usize {
        (0..self.clocks).find(|&other| self.is_bounded(other, clock)).unwrap_or(clock)
    }

    /// How much each clock is ahead, such that the differences satisfy all pairs, after
    /// [`Distances::close`]: the mean over all sources that bound it on both sides.
    pub fn middles(&self) -> Vec<f64> {
        let middle = |clock| {
            let sources = (0..self.clocks).filter(|&source| self.is_bounded(source, clock));
            let (sum, count) = sources.fold((0.0, 0.0), |(sum, count), source| {
                (sum + (self.get(source, clock) - self.get(clock, source)) / 2.0, count + 1.0)
            });
            sum / count
        };
        (0..self.clocks).map(middle).collect()
    }

    /// How far a clock that is this much ahead is from the nearest bound of all its pairs.
    pub fn room(&self, clock: usize, ahead: &[f64]) -> f64 {
        let of = |clock: usize| ahead.get(clock).copied().unwrap_or_default();
        let rooms = (0..self.clocks).filter(|&other| other != clock).flat_map(|other| {
            let more = of(clock) - of(other);
            [self.get(other, clock) - more, self.get(clock, other) + more]
        });
        rooms.fold(f64::INFINITY, f64::min)
    }

    /// Rule AL19: goes from `ahead`, which satisfies all pairs, toward `goals` as far as all pairs
    /// allow. A clock without a goal follows the others.
    pub fn toward(&self, ahead: &[f64], goals: &[Option<f64>]) -> Vec<f64> {
        let goal = |clock: usize| goals.get(clock).copied().flatten();
        // The least value that allows all goals, and the greatest: the goal, if it is allowed.
        let allowed = |clock: usize| {
            let goals = (0..self.clocks).filter(|&other| self.is_bounded(other, clock));
            let goals = goals.filter_map(|other| Some((other, goal(other)?)));
            goals.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), (other, goal)| {
                let least = least.min(goal + self.get(other, clock));
                (least, most.max(goal - self.get(clock, other)))
            })
        };
        let allowed: Vec<(f64, f64)> = (0..self.clocks).map(allowed).collect();
        // At a bound, a rounding would turn its message around.
        let is_at_bound = allowed.iter().any(|(least, most)| most - least > ROUNDING);
        let back = if is_at_bound { BACK } else { 0.0 };
        let toward = |(&ahead, (least, most)): (&f64, &(f64, f64))| {
            let nearest = (least + most) / 2.0;
            if nearest.is_finite() { nearest + (ahead - nearest) * back } else { ahead }
        };
        ahead.iter().zip(&allowed).map(toward).collect()
    }
}
