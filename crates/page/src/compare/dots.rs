//! The value of a statistic in each run: a dot for each run, with the means of the sides.

use maud::{Markup, html};

use super::model::{Dots, Run};
use super::plot::{Axis, WIDTH, across, bounds, place, shown, side, svg, tick, unit_of};
use crate::text;

const HEIGHT: f64 = 190.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = HEIGHT - 22.0;

/// The places of used runs on the axis of all plots with dots.
pub struct Order {
    /// The place of each run, `None` of one that is not used.
    places: Vec<Option<f64>>,
    used: usize,
    is_by_time: bool,
}

impl Order {
    pub fn of(runs: &[Run], is_by_time: bool) -> Order {
        let used = runs.iter().filter(|run| run.unused.is_none()).count();
        let axis = Axis::linear([0.0, used as f64], [LEFT, WIDTH - 6.0]);
        let mut number = 0.0;
        let places = runs.iter().map(|run| {
            run.unused.is_none().then(|| {
                number += 1.0;
                axis.at(number - 0.5)
            })
        });
        Order { places: places.collect(), used, is_by_time }
    }

    /// The place of a run.
    pub fn at(&self, run: usize) -> Option<f64> {
        self.places.get(run).copied().flatten()
    }

    /// The size of a dot, so that many fit.
    fn radius(&self) -> f64 {
        match self.used {
            0..=60 => 3.6,
            61..=150 => 2.6,
            _ => 1.8,
        }
    }

    /// The words below an axis of runs.
    fn said(&self) -> &'static str {
        if self.is_by_time {
            "runs in the order of their recording"
        } else {
            "runs in the given order"
        }
    }
}

/// The dots of a line, with the means and the interval.
pub fn draw(dots: &Dots, runs: &[Run], order: &Order, labels: &[String; 2]) -> Markup {
    let values = dots.values.iter().map(|dot| dot.value);
    let means = dots.means.iter().flatten().copied();
    let Some([low, high]) = bounds(values.chain(means)) else { return html! {} };
    // A wide interval is cut off, so that the dots stay apart.
    let reach = (high - low).max(high.abs().max(low.abs()) * 0.02);
    let ends = dots.interval.iter().flatten().copied();
    let least = if low >= 0.0 { (low - reach).max(0.0) } else { low - reach };
    let ends = bounds(ends).map(|ends| ends.map(|end| end.clamp(least, high + reach)));
    let [low, high] = ends.map_or([low, high], |[from, to]| [low.min(from), high.max(to)]);
    let pad = (high - low) * 0.06;
    let (name, size) = unit_of(dots.unit, high.abs().max(low.abs()));
    let axis = Axis::linear([(low - pad) / size, (high + pad) / size], [BOTTOM, TOP]);
    let y = |value: f64| axis.at(value / size);
    let sides = [LEFT, WIDTH - 6.0];
    let inside = html! {
        @for value in axis.ticks(4) { (across(axis.at(value), sides, &tick(value))) }
        @if let Some([from, to]) = ends {
            rect.interval x=(place(LEFT)) width=(place(WIDTH - 6.0 - LEFT)) y=(place(y(to))) height=(place((y(from) - y(to)).max(1.0))) {
                title { "the interval of the change, around the mean after: " (text::minus(&dots.said)) }
            }
        }
        @for (index, mean) in dots.means.iter().enumerate() {
            @if let Some(mean) = mean {
                line.mean.(side(index)) x1=(place(LEFT)) x2=(place(WIDTH - 6.0)) y1=(place(y(*mean))) y2=(place(y(*mean))) data-mean=(mean) {
                    title { "mean " (labels.get(index).map_or("", String::as_str)) ": " (shown(dots.unit, *mean)) }
                }
            }
        }
        @for dot in &dots.values {
            @if let (Some(x), Some(run)) = (order.at(dot.run), runs.get(dot.run)) {
                circle.dot.(side(run.side)) cx=(place(x)) cy=(place(y(dot.value))) r=(order.radius()) data-run=(dot.run) data-value=(dot.value) {
                    title {
                        (text::shown(&run.name)) ": " (shown(dots.unit, dot.value))
                        @if let Some(all) = dot.all { "; " (shown(dots.unit, all)) " with rows that may be wrong" }
                    }
                }
            }
        }
        text.tick.end x=(place(WIDTH - 6.0)) y=(place(HEIGHT - 6.0)) { (order.said()) " →" }
    };
    let unit = if name.is_empty() { String::new() } else { format!(", {name}") };
    let label = format!("{} of each run, as dots", dots.stat);
    html! {
        figure.runs data-stat=(dots.stat) {
            h4 { (dots.stat) " of each run" (unit) }
            (svg(HEIGHT, &label, &inside))
            @if !dots.said.is_empty() { figcaption { @for part in dots.said.split("; ") { div { (text::minus(part)) } } } }
        }
    }
}

/// The factors of all runs. Odd ones have a ring.
pub fn factors(runs: &[Run], order: &Order) -> Markup {
    let factors = runs.iter().filter_map(|run| run.factor);
    let Some([low, high]) = bounds(factors.chain([1.0])) else { return html! {} };
    let pad = ((high - low) * 0.1).max(0.002);
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let axis = Axis::linear([percent(low - pad), percent(high + pad)], [BOTTOM, TOP]);
    let inside = html! {
        @for value in axis.ticks(4) {
            (across(axis.at(value), [LEFT, WIDTH - 6.0], &percents(value)))
        }
        line.zero x1=(place(LEFT)) x2=(place(WIDTH - 6.0)) y1=(place(axis.at(0.0))) y2=(place(axis.at(0.0))) {}
        @for (index, run) in runs.iter().enumerate() {
            @if let (Some(factor), Some(x)) = (run.factor, order.at(index)) {
                @let y = place(axis.at(percent(factor)));
                @if run.odd.is_some() { circle.odd cx=(place(x)) cy=(y) r=(order.radius() + 3.0) {} }
                circle.dot.(side(run.side)) cx=(place(x)) cy=(y) r=(order.radius()) data-run=(index) data-factor=(factor) {
                    title {
                        (text::shown(&run.name)) ": " (said(factor))
                        @if run.odd.is_some() { " (odd)" }
                    }
                }
            }
        }
        text.tick.end x=(place(WIDTH - 6.0)) y=(place(HEIGHT - 6.0)) { (order.said()) " →" }
    };
    html! {
        figure.factors {
            h4 { "common factor of each run" }
            (svg(HEIGHT, "the common factor of each run, as dots", &inside))
            figcaption { "how much slower than its side the run is in all lines" }
        }
    }
}

/// A factor as a change in percent.
pub fn said(factor: f64) -> String {
    text::minus(&format!("{:+.1} %", (factor - 1.0) * 100.0))
}

/// A change in percent.
pub fn percents(percent: f64) -> String {
    let sign = if percent > 0.0 { "+" } else { "" };
    format!("{sign}{} %", text::digits(percent))
}
