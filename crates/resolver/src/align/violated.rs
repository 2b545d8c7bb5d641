//! The messages that contradict the others (rules AL9, AL10).
//!
//! # Design
//!
//! All pairs of an upper and a lower point are compared: at most 2,048 · 2,048, in some
//! milliseconds. A sweep over running minima finds all points in conflict faster, but not how many
//! conflicts each has, and these numbers decide. So the sweep only finds that nothing conflicts, as
//! mostly: the 190 pairs of 20 clocks took a fifth of an import.

use super::cones::{Cones, Point, ROUNDING, Sides, Slopes};

/// Whether the cones of an upper and a lower point contradict each other: θ is at least −`lower.most`
/// at the lower point, and less by the upper one.
pub(super) fn conflict(upper: &Point, lower: &Point, slopes: Slopes) -> bool {
    -lower.most > slopes.reach(upper.t, upper.most, lower.t) + ROUNDING
}

/// The conflicts of each point with the other side.
fn counts(points: &Sides, slopes: Slopes) -> (Vec<u32>, Vec<u32>) {
    let mut of_lower = vec![0; points.lower.len()];
    let mut of_upper = Vec::with_capacity(points.upper.len());
    for upper in &points.upper {
        let mut count = 0;
        for (lower, of_lower) in points.lower.iter().zip(&mut of_lower) {
            let conflict = u32::from(conflict(upper, lower, slopes));
            count += conflict;
            *of_lower += conflict;
        }
        of_upper.push(count);
    }
    (of_upper, of_lower)
}

/// The place of the first of the largest numbers, and that number.
fn first_most(counts: &[u32]) -> (usize, u32) {
    counts.iter().enumerate().fold(
        (0, 0),
        |best, (place, &count)| {
            if count > best.1 { (place, count) } else { best }
        },
    )
}

/// Takes the point at `place` out of the counts of both sides.
fn leave_out(
    own: &mut [u32],
    place: usize,
    others: &mut [u32],
    is_conflict: impl Fn(usize) -> bool,
) {
    if let Some(own) = own.get_mut(place) {
        *own = 0;
    }
    for (other, count) in others.iter_mut().enumerate() {
        if *count > 0 && is_conflict(other) {
            *count -= 1;
        }
    }
}

/// Whether no points conflict, by a sweep. It may miss that if some nearly do, because its sums are
/// rounded in another way.
fn agree(points: &Sides, slopes: Slopes) -> bool {
    let cones = Cones::new(points, slopes);
    points.lower.iter().all(|lower| -lower.most <= cones.hi(lower.t) + ROUNDING / 2.0)
}

/// Rule AL10: the points that agree, and the violated ones. Both sides are in the order of time.
pub(super) fn without_conflicts(points: Sides, slopes: Slopes) -> (Sides, Sides) {
    if agree(&points, slopes) {
        return (points, Sides::default());
    }
    let (mut of_upper, mut of_lower) = counts(&points, slopes);
    let (mut is_out_upper, mut is_out_lower) =
        (vec![false; of_upper.len()], vec![false; of_lower.len()]);
    let is_conflict = |upper: usize, lower: usize| {
        let pair = points.upper.get(upper).zip(points.lower.get(lower));
        pair.is_some_and(|(upper, lower)| conflict(upper, lower, slopes))
    };
    loop {
        let ((upper, in_upper), (lower, in_lower)) = (first_most(&of_upper), first_most(&of_lower));
        if in_upper == 0 {
            break;
        }
        if in_upper >= in_lower
            && let Some(is_out) = is_out_upper.get_mut(upper)
        {
            *is_out = true;
            leave_out(&mut of_upper, upper, &mut of_lower, |lower| is_conflict(upper, lower));
        }
        if in_lower >= in_upper
            && let Some(is_out) = is_out_lower.get_mut(lower)
        {
            *is_out = true;
            leave_out(&mut of_lower, lower, &mut of_upper, |upper| is_conflict(upper, lower));
        }
    }
    let (mut is_out_upper, mut is_out_lower) = (is_out_upper.into_iter(), is_out_lower.into_iter());
    let (violated, agreeing) = points.divided(|direction, _| {
        let next = match direction {
            super::Direction::AToB => is_out_upper.next(),
            super::Direction::BToA => is_out_lower.next(),
        };
        next.unwrap_or_default()
    });
    (agreeing, violated)
}
