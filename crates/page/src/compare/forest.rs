//! The changes of a line's statistics with their intervals, one below the other.

use maud::{Markup, html};

use super::dots::percents;
use super::model::{Change, Forest, Interval};
use super::plot::{Axis, WIDTH, bounds, down, place, spaced, svg, tick, unit_of};
use crate::text::minus;

const ROW: f64 = 26.0;
const TOP: f64 = 6.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 72.0;

/// The class of a change.
pub fn change(change: Change) -> &'static str {
    match change {
        Change::None => "same",
        Change::More => "more",
        Change::Less => "less",
    }
}

/// The changes of one scale.
pub fn draw(forest: &Forest) -> Markup {
    let rows = &forest.rows;
    let none = if forest.is_ratio { 1.0 } else { 0.0 };
    let Some(axis) = axis(forest, none) else { return html! {} };
    let bottom = TOP + ROW * rows.len() as f64;
    let (name, size) = match forest.is_ratio {
        true => ("", 1.0),
        false => unit_of(forest.unit, largest(rows)),
    };
    // A difference of shares is in points.
    let name = if name == "%" { "points" } else { name };
    let inside = html! {
        @for (value, label) in spaced(&axis, ticks(forest.is_ratio, &axis, size), none) {
            (down(axis.at(value), [TOP, bottom], &label))
        }
        line.zero x1=(place(axis.at(none))) x2=(place(axis.at(none))) y1=(place(TOP)) y2=(place(bottom)) {}
        @for (index, row) in rows.iter().enumerate() {
            (interval(row, &axis, TOP + ROW * (index as f64 + 0.5)))
        }
    };
    html! {
        figure.forest {
            h4 { (forest.title) @if !name.is_empty() { ", " (name) } }
            (svg(bottom + 22.0, &forest.title, &inside))
        }
    }
}

fn largest(rows: &[Interval]) -> f64 {
    rows.iter().map(|row| row.effect.abs()).filter(|size| size.is_finite()).fold(0.0, f64::max)
}

/// The axis has all changes and those intervals that are not much wider.
fn axis(forest: &Forest, none: f64) -> Option<Axis> {
    let rows = &forest.rows;
    let scale = |value: f64| if forest.is_ratio { value.ln() } else { value };
    let back = |value: f64| if forest.is_ratio { value.exp() } else { value };
    let effects = rows.iter().map(|row| scale(row.effect));
    let [low, high] = bounds(effects.chain([scale(none)]))?;
    // An interval much wider than the changes is cut off.
    let least = if forest.is_ratio { 0.02 } else { 0.0 };
    let reach = (high - low).max(least);
    let ends = rows.iter().filter_map(|row| row.ends).flatten().map(scale);
    let [from, to] = bounds(ends).unwrap_or([low, high]);
    let reach = if reach > 0.0 { reach } else { to - from };
    let [low, high] = [low.min(from.max(low - reach)), high.max(to.min(high + reach))];
    let pad = (high - low) * 0.05;
    let [low, high] = [low - pad, high + pad];
    let places = [LEFT + 6.0, RIGHT - 6.0];
    Some(match forest.is_ratio {
        true => Axis::log([back(low), back(high)], places),
        false => Axis::linear([low, high], places),
    })
}

/// Round changes with their words.
fn ticks(is_ratio: bool, axis: &Axis, size: f64) -> Vec<(f64, String)> {
    if !is_ratio {
        return axis.ticks(4).into_iter().map(|value| (value, tick(value / size))).collect();
    }
    let ratios = axis.ticks(4);
    let is_near = ratios.iter().all(|ratio| (0.5..=2.0).contains(ratio));
    let said = |ratio: f64| match ((ratio - 1.0).abs() < 1e-9, is_near) {
        (true, _) => "=".to_owned(),
        (false, true) => percents((ratio - 1.0) * 100.0),
        (false, false) => format!("×{}", tick(ratio)),
    };
    ratios.into_iter().map(|ratio| (ratio, said(ratio))).collect()
}

/// A row: the interval as a bar, the change as a square. An interval beyond the axis has an arrow.
fn interval(row: &Interval, axis: &Axis, y: f64) -> Markup {
    let class = change(row.change);
    let x = axis.at(row.effect);
    html! {
        g.(class) data-stat=(row.stat) data-effect=(row.effect) {
            title { (minus(&row.title)) }
            text.tick.end x=(place(LEFT - 6.0)) y=(place(y + 4.0)) { (row.stat) }
            @if let Some(ends) = row.ends {
                line.bar x1=(place(axis.at(ends[0]))) x2=(place(axis.at(ends[1]))) y1=(place(y)) y2=(place(y)) {}
                @for (end, way) in ends.into_iter().zip([-1.0, 1.0]) {
                    @let at = axis.at(end);
                    @if axis.has(end) {
                        line.bar x1=(place(at)) x2=(place(at)) y1=(place(y - 4.0)) y2=(place(y + 4.0)) {}
                    } @else {
                        polygon points=(format!(
                            "{},{} {},{} {},{}",
                            place(at), place(y - 4.0), place(at + way * 6.0), place(y), place(at), place(y + 4.0)
                        )) {}
                    }
                }
            }
            rect x=(place(x - 3.5)) y=(place(y - 3.5)) width="7" height="7" {}
            text.tick x=(place(RIGHT + 4.0)) y=(place(y + 4.0)) { (minus(&row.said)) }
        }
    }
}
