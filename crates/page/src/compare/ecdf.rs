//! The durations of a line's events: for each duration, the share of events that are not longer. A line is the mean
//! of a side's runs, and a band has all of them.

use maud::{Markup, html};

use super::model::Distribution;
use super::plot::{Axis, Unit, WIDTH, across, down, place, side, spaced, svg, tick, unit_of};

const HEIGHT: f64 = 190.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = HEIGHT - 34.0;
/// A line has about this many corners.
const CORNERS: i32 = 110;
/// A bucket is so much longer than the one before.
const WIDER: f64 = 1.02;
/// The bucket of the longest duration.
const LAST: i32 = 2_300;

/// The shares of a side at each corner: the least of the runs, the mean, the greatest.
type Shares = Vec<[f64; 3]>;

pub fn draw(distribution: &Distribution) -> Markup {
    let buckets = || distribution.sides.iter().flatten().flatten().map(|(bucket, _)| *bucket);
    let (Some(first), Some(last)) = (buckets().min(), buckets().max()) else {
        return html! {};
    };
    let (first, last) = (first.clamp(0, LAST), last.clamp(0, LAST));
    let step = (last - first) / CORNERS + 1;
    // A corner is the begin of a bucket: all before it are shorter.
    let corners: Vec<i32> = (0..=CORNERS + 2)
        .map(|number| first + number * step)
        .take_while(|at| *at < last + 1 + step)
        .collect();
    let ns = |corner: i32| WIDER.powi(corner);
    let (Some(&from), Some(&to)) = (corners.first(), corners.last()) else { return html! {} };
    let (name, size) = unit_of(Unit::Time, ns(last));
    let x = Axis::log([ns(from) / size, ns(to) / size], [LEFT, WIDTH - 10.0]);
    let y = Axis::linear([0.0, 1.0], [BOTTOM, TOP]);
    let point = |corner: i32, share: f64| {
        format!("{},{}", place(x.at(ns(corner) / size)), place(y.at(share)))
    };
    let sides: Vec<Shares> = distribution.sides.iter().map(|runs| shares(runs, &corners)).collect();
    let line = |shares: &Shares| -> Vec<String> {
        corners.iter().zip(shares).map(|(corner, [_, mean, _])| point(*corner, *mean)).collect()
    };
    let band = |shares: &Shares| -> Vec<String> {
        let up = corners.iter().zip(shares).map(|(corner, [_, _, most])| point(*corner, *most));
        let back =
            corners.iter().zip(shares).rev().map(|(corner, [least, _, _])| point(*corner, *least));
        up.chain(back).collect()
    };
    let ticks = x.ticks(5).into_iter().map(|value| (value, tick(value))).collect();
    let inside = html! {
        @for percent in [0, 25, 50, 75, 100] {
            (across(y.at(f64::from(percent) / 100.0), [LEFT, WIDTH - 10.0], &format!("{percent} %")))
        }
        @for (value, label) in spaced(&x, ticks, 0.0) { (down(x.at(value), [TOP, BOTTOM], &label)) }
        @for (index, shares) in sides.iter().enumerate() {
            @if !shares.is_empty() { polygon.band.(side(index)) points=(band(shares).join(" ")) {} }
        }
        @for (index, shares) in sides.iter().enumerate() {
            @if !shares.is_empty() { polyline.curve.(side(index)) points=(line(shares).join(" ")) {} }
        }
        text.tick.end x=(place(WIDTH - 10.0)) y=(place(HEIGHT - 4.0)) { "duration, " (name) ", log scale" }
    };
    html! {
        figure.ecdf {
            h4 { "share of events up to a duration" }
            (svg(HEIGHT, "the share of events up to each duration, by side", &inside))
        }
    }
}

/// The shares of events before each corner.
fn shares(runs: &[Vec<(i32, i64)>], corners: &[i32]) -> Shares {
    let runs: Vec<Vec<f64>> = runs.iter().filter_map(|run| of_run(run, corners)).collect();
    if runs.is_empty() {
        return Shares::new();
    }
    let of_corner = |at: usize| {
        let values = || runs.iter().filter_map(|run| run.get(at).copied());
        let mean = values().sum::<f64>() / runs.len() as f64;
        [values().fold(1.0, f64::min), mean, values().fold(0.0, f64::max)]
    };
    (0..corners.len()).map(of_corner).collect()
}

/// The shares of a run; `None` without events.
fn of_run(run: &[(i32, i64)], corners: &[i32]) -> Option<Vec<f64>> {
    let mut run = run.to_vec();
    run.sort_unstable();
    let weight = |count: i64| count.max(0) as f64;
    let all: f64 = run.iter().map(|(_, count)| weight(*count)).sum();
    if all <= 0.0 {
        return None;
    }
    let mut rest = run.into_iter().peekable();
    let mut sum = 0.0;
    let shares = corners.iter().map(|corner| {
        while let Some((_, count)) = rest.next_if(|(bucket, _)| bucket < corner) {
            sum += weight(count);
        }
        sum / all
    });
    Some(shares.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_has_all_runs_and_the_line_their_mean() {
        let runs = [vec![(10, 1), (12, 3)], vec![(10, 3), (13, 1)], vec![]];
        let shares = shares(&runs, &[10, 11, 12, 13, 14]);
        assert_eq!(
            shares,
            [[0.0; 3], [0.25, 0.5, 0.75], [0.25, 0.5, 0.75], [0.75, 0.875, 1.0], [1.0; 3]]
        );
    }
}
