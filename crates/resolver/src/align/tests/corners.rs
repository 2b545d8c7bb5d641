//! Rule AL17: the corners that are kept.

use super::*;
use crate::align::corners::{Corner, bounded, line, never_back};

/// A line that wanders, with bounds at random distances, some of them near.
fn corners(dice: &mut Dice) -> Vec<Corner> {
    let (mut time, mut ahead) = (0, 0);
    let mut corner = |_| {
        time += dice.between(1, 2_000_000);
        ahead += dice.between(-300, 300);
        let widest = dice.one_of(&[100, 100_000]);
        let room = dice.between(0, widest) as f64;
        let is_kept = dice.between(0, 99) == 0;
        let (time, ahead) = (time as f64, ahead as f64);
        Corner { time, ahead, room, is_kept, is_in_step: false }
    };
    (0..300).map(&mut corner).collect()
}

fn at(line: &[(f64, f64)], time: f64) -> f64 {
    let next = line.partition_point(|corner| corner.0 <= time).min(line.len() - 1);
    let ((t, value), (t_after, after)) = (line[next.saturating_sub(1)], line[next]);
    if t_after > t { value + (after - value) * ((time - t) / (t_after - t)) } else { after }
}

#[test]
fn al17_a_line_passes_beside_corners_by_a_hundredth_of_their_room() {
    let mut count = 0;
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let corners = corners(&mut dice);
        let kept = line(&corners);
        count += kept.len();
        for corner in &corners {
            let beside = (at(&kept, corner.time) - corner.ahead).abs();
            assert!(beside <= (corner.room * 0.01).max(0.02), "seed {seed}: {corner:?} {beside}");
            let is_kept = kept.iter().any(|kept| kept.0 == corner.time);
            assert!(is_kept || !corner.is_kept, "seed {seed}: {corner:?}");
        }
        assert_eq!(kept.first().map(|kept| kept.0), corners.first().map(|corner| corner.time));
        assert_eq!(kept.last().map(|kept| kept.0), corners.last().map(|corner| corner.time));
    }
    assert!((1_000..50_000).contains(&count), "{count}");
}

#[test]
fn al17_an_interval_contains_those_of_the_corners_that_are_left_out() {
    const WANDER: f64 = 40e-6;
    let mut count = 0;
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let mut value = 0;
        let (mut down, mut up) = (50_000, 50_000);
        let mut point = |place| {
            value += dice.between(1, 2_000_000);
            down = (down + dice.between(-300, 300)).max(10);
            up = (up + dice.between(-300, 300)).max(10);
            let offset = value / 100_000;
            let interval = Interval { earliest: Some(offset - down), latest: Some(offset + up) };
            let is_bend = place == 0 || dice.between(0, 99) == 0;
            (AlignmentKnot { value, offset: Some(offset), interval, step: false }, is_bend)
        };
        let points: Vec<_> = (0..300).map(&mut point).collect();
        let kept = bounded(&points, WANDER);
        count += kept.len();
        for (point, is_bend) in &points {
            let is_kept = kept.iter().any(|kept| kept.value == point.value);
            assert!(is_kept || !is_bend);
            let next = kept.partition_point(|kept| kept.value < point.value);
            let sides = [kept[next.saturating_sub(1)], kept[next]];
            let far = |knot: &AlignmentKnot| {
                let offset = knot.offset.unwrap();
                [offset - knot.interval.earliest.unwrap(), knot.interval.latest.unwrap() - offset]
            };
            let [own_down, own_up] = far(point);
            if !is_kept {
                for [down, up] in sides.each_ref().map(far) {
                    assert!(own_down <= down && own_up <= up, "seed {seed}: {point:?}");
                }
            }
            let error = point.error().unwrap() as f64;
            let longest = sides.iter().map(|side| side.error().unwrap()).max().unwrap() as f64;
            // Of the span, and of the one beside it.
            assert!(longest <= error * 1.103 + 2.0 || is_kept, "seed {seed}: {longest} {error}");
        }
    }
    assert!((1_000..30_000).contains(&count), "{count}");
}

#[test]
fn al17_a_clock_that_stands_still_never_goes_back() {
    let corner = |time: f64, ahead: f64, is_in_step| Corner {
        time,
        ahead,
        room: 100.0,
        is_kept: false,
        is_in_step,
    };
    // It stands still for 7 of 10; the middle of before and after falls twice.
    let step = [(0.0, 50.0, false), (10.0, 50.0, false), (11.0, 46.5, true), (19.0, 46.5, true)];
    let mut corners: Vec<Corner> = step.map(|(time, ahead, is)| corner(time, ahead, is)).to_vec();
    corners.push(corner(20.0, 43.0, false));
    assert!(never_back(&mut corners));
    let shown: Vec<f64> = corners.iter().map(|corner| corner.time + corner.ahead).collect();
    assert_eq!(shown, [50.0, 60.0, 60.0, 63.0, 63.0]);
    // It is set back by more than the time between.
    let mut corners = [(10.0, 50.0, false), (11.0, 30.0, true), (20.0, 30.0, false)]
        .map(|(time, ahead, is)| corner(time, ahead, is));
    assert!(!never_back(&mut corners));
}
