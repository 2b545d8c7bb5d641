//! Messages whose send was stamped late by too little to show (rule AL15).

use super::bins::{Medians, median};
use super::cones::{BOTH, Cones, Point, ROUNDING, Sides, Slopes};
use super::message::Direction;
use super::rates;

/// How often suspects are searched.
const TIMES: usize = 8;
/// At most this part of a side is suspect.
const PART: usize = 8;

/// Rule AL15, in a stretch with both sides: takes the suspects out of the points that agree.
/// `beyond` are the numbers of violated messages just beyond the bounds that are not in `violated`.
pub(super) fn without_suspects(
    agreeing: &mut Sides,
    violated: &Sides,
    beyond: [usize; 2],
    drift: Slopes,
) -> Sides {
    let mut suspects = Sides::default();
    let most = BOTH.map(|side| agreeing.side(side).len() / PART);
    let mut shown: [Option<usize>; 2] = [None; 2];
    for _ in 0..TIMES {
        let cones = Cones::new(agreeing, rates::slopes(agreeing, drift));
        let mut grows = false;
        for ((side, shown), (beyond, most)) in
            BOTH.into_iter().zip(&mut shown).zip(beyond.into_iter().zip(most))
        {
            let counted = just_beyond(agreeing.side(side), violated.side(side), side, &cones);
            let m = counted + beyond;
            if shown.is_none_or(|shown| m > shown) {
                *shown = Some(m);
                grows = true;
                let hidden = (m + (2.0 * (m as f64).sqrt()) as usize + 3).min(most);
                let more = hidden.saturating_sub(suspects.side(side).len());
                suspects.side_mut(side).extend(take_tightest(agreeing.side_mut(side), more));
            }
        }
        if !grows {
            break;
        }
    }
    suspects.sort();
    suspects
}

/// The violated points of a side that are beyond the other side's bound by at most the median
/// distance of this side from it.
fn just_beyond(agreeing: &[Point], violated: &[Point], side: Direction, cones: &Cones) -> usize {
    let mut distances: Vec<f64> = agreeing.iter().map(|point| cones.room(side, point)).collect();
    let usual = median(&mut distances);
    let beyond = violated.iter().map(|point| -cones.room(side, point));
    beyond.filter(|&beyond| beyond > 0.0 && beyond <= usual).count()
}

/// Takes the points out that are the furthest below the polygon through medians.
fn take_tightest(points: &mut Vec<Point>, count: usize) -> Vec<Point> {
    let medians = Medians::of(points);
    // Of equals the first.
    let above = |point: &Point| ((point.most - medians.level_at(point.t)) / ROUNDING).round() + 0.0;
    let mut order: Vec<usize> = (0..points.len()).collect();
    let key = |&place: &usize| points.get(place).map_or(f64::INFINITY, above);
    order.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let mut is_out = vec![false; points.len()];
    for place in order.into_iter().take(count) {
        if let Some(is_out) = is_out.get_mut(place) {
            *is_out = true;
        }
    }
    let mut is_out = is_out.into_iter();
    let (out, rest) =
        std::mem::take(points).into_iter().partition(|_| is_out.next().unwrap_or_default());
    *points = rest;
    out
}
