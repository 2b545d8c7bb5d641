//! Medians of bins in the order of time (rules AL12, AL15, AL19).

use super::cones::Point;

/// The middle number, or halfway between the two in the middle; 0 without numbers. Changes their
/// order.
pub(super) fn median(numbers: &mut [f64]) -> f64 {
    let middle = numbers.len() / 2;
    if numbers.is_empty() {
        return 0.0;
    }
    let is_odd = numbers.len() % 2 == 1;
    let (before, &mut upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = before.iter().copied().max_by(f64::total_cmp).filter(|_| !is_odd);
    lower.map_or(upper, |lower| lower + (upper - lower) / 2.0)
}

/// The most bins of rule AL12.
const BINS: usize = 24;
/// The least points of a bin.
const LEAST_POINTS: usize = 2;

/// A polygon through the medians of bins.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Medians(pub Vec<(f64, f64)>);

impl Medians {
    /// At most 24 bins of at least two points, which are in the order of time.
    pub fn of(points: &[Point]) -> Medians {
        let values: Vec<(f64, f64)> = points.iter().map(|p| (p.t, p.most)).collect();
        Medians::in_bins(&values, BINS.min(points.len() / LEAST_POINTS))
    }

    /// Bins whose numbers of points differ by at most one, the larger first; at least one bin.
    pub fn in_bins(values: &[(f64, f64)], bins: usize) -> Medians {
        let bins = bins.max(1);
        let (size, larger) = (values.len() / bins, values.len() % bins);
        let mut rest = values;
        let mut medians = Vec::with_capacity(bins);
        for bin in 0..bins {
            let size = size + usize::from(bin < larger);
            let Some((values, after)) = rest.split_at_checked(size) else { break };
            rest = after;
            if !values.is_empty() {
                let mut times: Vec<f64> = values.iter().map(|v| v.0).collect();
                let mut numbers: Vec<f64> = values.iter().map(|v| v.1).collect();
                medians.push((median(&mut times), median(&mut numbers)));
            }
        }
        Medians(medians)
    }

    /// The value of the polygon, which is level beyond its ends.
    pub fn level_at(&self, x: f64) -> f64 {
        let next = self.0.partition_point(|corner| corner.0 <= x);
        let before = next.checked_sub(1).and_then(|last| self.0.get(last));
        match (before, self.0.get(next)) {
            (Some(&(t, value)), Some(&(t_after, after))) => {
                value + (after - value) * ((x - t) / (t_after - t))
            }
            (Some(corner), None) | (None, Some(corner)) => corner.1,
            (None, None) => 0.0,
        }
    }

    /// The value of the polygon, which goes on beyond its ends at the rate from its first to its
    /// last corner.
    pub fn at(&self, x: f64) -> f64 {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return 0.0 };
        let rate = if last.0 > first.0 { (last.1 - first.1) / (last.0 - first.0) } else { 0.0 };
        let beyond = (x - first.0).min(0.0) + (x - last.0).max(0.0);
        self.level_at(x) + rate * beyond
    }

    /// The median of the slopes between all corners; `None` if all are at one time.
    pub fn rate(&self) -> Option<f64> {
        let mut slopes = Vec::with_capacity(self.0.len() * self.0.len() / 2);
        for (place, before) in self.0.iter().enumerate() {
            let later = self.0.iter().skip(place + 1).filter(|after| after.0 > before.0);
            slopes.extend(later.map(|after| (after.1 - before.1) / (after.0 - before.0)));
        }
        (!slopes.is_empty()).then(|| median(&mut slopes))
    }
}
