//! The rates that a stretch allows (rule AL12).

use super::bins::Medians;
use super::cones::{Cones, ROUNDING, Sides, Slopes};
use super::violated::without_conflicts;

/// Messages of a side from which its rate is estimated.
const LEAST_POINTS: usize = 8;
/// The half widths in which the rate of a stretch with violated messages is searched.
const WIDTHS: [f64; 3] = [30e-6, 100e-6, 250e-6];
/// The equal parts of the time, in each of which the narrowest place counts.
const PLACES: usize = 96;
/// How many times the slopes are narrowed.
const TIMES: usize = 3;
/// The wander of a rate that is assumed.
const WANDER: f64 = 20e-6;
/// If the bounds contradict a single rate by more, they say nothing about it.
const BROKEN: f64 = -10e-6;

/// The first part of rule AL12: takes those messages out that contradict the rate of most, if some
/// are violated.
pub(super) fn without_wrong_rates(agreeing: Sides, violated: &mut Sides) -> Sides {
    let n = violated.len();
    let has_enough = |side: &[_]| side.len() >= LEAST_POINTS;
    if n == 0 || !has_enough(&agreeing.upper) || !has_enough(&agreeing.lower) {
        return agreeing;
    }
    let rates = (Medians::of(&agreeing.upper).rate(), Medians::of(&agreeing.lower).rate());
    let (Some(upper), Some(minus_lower)) = rates else { return agreeing };
    let (difference, middle) = ((upper + minus_lower).abs(), (upper - minus_lower) / 2.0);
    for width in WIDTHS.into_iter().filter(|&width| difference <= width) {
        let (rest, out) = without_conflicts(agreeing.clone(), Slopes::around(middle, width));
        if 2 * out.len() <= n {
            violated.extend(out);
            return rest;
        }
    }
    agreeing
}

/// The second part of rule AL12: the slopes within `drift` that the points allow.
pub(super) fn slopes(points: &Sides, drift: Slopes) -> Slopes {
    let mut slopes = drift;
    if !points.has_both() {
        return slopes;
    }
    for _ in 0..TIMES {
        let cones = Cones::new(points, slopes);
        let Some((least, most)) = rates_between(&narrow_places(points, &cones)) else { break };
        let spare = (most - least) / 2.0;
        if spare < BROKEN {
            break;
        }
        let width = WANDER + if spare < 0.0 { 4.0 * -spare } else { spare };
        let around = Slopes::around((most + least) / 2.0, width);
        slopes = slopes.within(around).unwrap_or(slopes);
    }
    slopes
}

/// Whether no single rate fits: x of rule AL12 is below −10 ppm.
pub(super) fn is_unsteady(points: &Sides, drift: Slopes) -> bool {
    let cones = Cones::new(points, drift);
    let rates = rates_between(&narrow_places(points, &cones));
    rates.is_some_and(|(least, most)| (most - least) / 2.0 < BROKEN)
}

/// Time, lo and hi at the narrowest point of each part of the time.
fn narrow_places(points: &Sides, cones: &Cones) -> Vec<(f64, f64, f64)> {
    let times = points.times();
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Vec::new() };
    let mut narrow: Vec<Option<(f64, f64, f64)>> = vec![None; PLACES];
    let mut least = vec![f64::INFINITY; PLACES];
    let part = |t: f64| match last > first {
        true => (((t - first) / (last - first) * PLACES as f64) as usize).min(PLACES - 1),
        false => 0,
    };
    let widths = || times.iter().map(|&t| (t, cones.lo(t), cones.hi(t)));
    for (t, lo, hi) in widths() {
        if let Some(least) = least.get_mut(part(t)) {
            *least = least.min(hi - lo);
        }
    }
    for (t, lo, hi) in widths() {
        let part = part(t);
        let is_least = least.get(part).is_some_and(|least| hi - lo <= least + ROUNDING);
        if let Some(place @ None) = narrow.get_mut(part).filter(|_| is_least) {
            *place = Some((t, lo, hi));
        }
    }
    narrow.into_iter().flatten().collect()
}

/// The least and the greatest rate of a line between lo and hi at all places; the least may be the
/// larger. `None` of fewer than two places.
fn rates_between(places: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    for (place, &(t, lo, hi)) in places.iter().enumerate() {
        for &(later, later_lo, later_hi) in places.iter().skip(place + 1).filter(|p| p.0 > t) {
            most = most.min((later_hi - lo) / (later - t));
            least = least.max((later_lo - hi) / (later - t));
        }
    }
    (most < f64::INFINITY && least > f64::NEG_INFINITY).then_some((least, most))
}
