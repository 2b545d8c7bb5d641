//! The common parts of the drawings: axes, ticks, and numbers in a unit.

use maud::{Markup, html};

use crate::text;

/// The width of a drawing, in its own units. The page shows it at about this many pixels.
pub const WIDTH: f64 = 340.0;

/// At most this many ticks are on an axis.
const MOST: usize = 12;

/// The kind of values on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A part of 1.
    Share,
    /// Numbers of things, and other numbers.
    #[default]
    Plain,
}

/// A scale from values to places.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    values: [f64; 2],
    places: [f64; 2],
    is_log: bool,
}

impl Axis {
    /// Equal steps are equally long.
    pub fn linear(values: [f64; 2], places: [f64; 2]) -> Axis {
        Axis { values: apart(values), places, is_log: false }
    }

    /// Equal ratios are equally long. Values are above 0.
    pub fn log([low, high]: [f64; 2], places: [f64; 2]) -> Axis {
        let low = low.max(f64::MIN_POSITIVE);
        let high = if high > low { high } else { low * 1.02 };
        Axis { values: [low, high], places, is_log: true }
    }

    /// The place of a value; of one beyond the axis, its end.
    pub fn at(&self, value: f64) -> f64 {
        let [low, high] = self.values;
        let scale = |value: f64| if self.is_log { value.ln() } else { value };
        let value = if value.is_nan() { low } else { value.clamp(low, high) };
        let part = (scale(value) - scale(low)) / (scale(high) - scale(low));
        let [start, end] = self.places;
        start + part * (end - start)
    }

    /// Whether the axis has the value.
    pub fn has(&self, value: f64) -> bool {
        (self.values[0]..=self.values[1]).contains(&value)
    }

    /// Round values, about `count` of them.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let [low, high] = self.values;
        if !self.is_log || high / low < 3.0 {
            return steps(low, high, count);
        }
        let decades = (high / low).log10();
        let multiples: &[f64] = match decades {
            d if d <= 1.5 => &[1.0, 2.0, 5.0],
            d if d <= 3.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        // A long axis has a tick for each third decade, or fewer.
        let every = (decades / count.max(1) as f64).ceil().max(1.0) as i32;
        let [first, last] = [low, high].map(|end| end.log10().floor() as i32);
        let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
        powers
            .flat_map(|power| multiples.iter().map(move |multiple| multiple * 10_f64.powi(power)))
            .filter(|value| self.has(*value))
            .take(MOST)
            .collect()
    }
}

/// Two ends that differ.
fn apart([low, high]: [f64; 2]) -> [f64; 2] {
    match high > low {
        true => [low, high],
        false => {
            let half = if low == 0.0 { 1.0 } else { low.abs() * 0.02 };
            [low - half, low + half]
        }
    }
}

/// Multiples of 1, 2 or 5 and a power of ten.
fn steps(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count.max(1) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|multiple| multiple * power);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = (low / step).ceil();
    let values = (0..MOST).map(|number| (first + number as f64) * step);
    // A sum of tenths has a rounding error.
    values.take_while(|value| *value <= high + step * 1e-9).collect()
}

/// The least and the greatest of finite values; `None` without any.
pub fn bounds(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.filter(|value| value.is_finite()).fold(None, |found, value| {
        let [low, high]: [f64; 2] = found.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    })
}

/// A name of a unit, and the size of one, so that the number is easily readable.
pub fn unit_of(unit: Unit, largest: f64) -> (&'static str, f64) {
    match unit {
        Unit::Time => {
            let unit = text::Unit::of(largest);
            (unit.name, unit.ns)
        }
        Unit::Bytes => match largest.abs() {
            bytes if bytes >= 1_073_741_824.0 => ("GiB", 1_073_741_824.0),
            bytes if bytes >= 1_048_576.0 => ("MiB", 1_048_576.0),
            bytes if bytes >= 1_024.0 => ("KiB", 1_024.0),
            _ => ("B", 1.0),
        },
        Unit::Share => ("%", 0.01),
        Unit::Plain => match largest.abs() {
            number if number >= 1e10 => ("G", 1e9),
            number if number >= 1e7 => ("M", 1e6),
            number if number >= 1e5 => ("k", 1e3),
            _ => ("", 1.0),
        },
    }
}

/// A value with its unit.
pub fn shown(unit: Unit, value: f64) -> String {
    let (name, size) = unit_of(unit, value);
    let number = text::digits(value / size);
    if name.is_empty() { number } else { format!("{number} {name}") }
}

/// The number beside a tick.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text.len() {
        0..=7 => text::signed(text.to_owned()),
        _ => text::digits(value),
    }
}

/// A place in a drawing, to a tenth.
pub fn place(at: f64) -> String {
    let text = format!("{at:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A drawing of this height, with a text for those who do not see it.
pub fn svg(height: f64, label: &str, inside: &Markup) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {}", place(height))) role="img" aria-label=(label) { (inside) }
    }
}

/// A horizontal line of the grid with its number on the left.
pub fn across(y: f64, [left, right]: [f64; 2], label: &str) -> Markup {
    html! {
        line.grid x1=(place(left)) x2=(place(right)) y1=(place(y)) y2=(place(y)) {}
        text.tick.end x=(place(left - 5.0)) y=(place(y + 4.0)) { (label) }
    }
}

/// A vertical line of the grid with its number below. At the ends, the number does not leave the drawing.
pub fn down(x: f64, [top, bottom]: [f64; 2], label: &str) -> Markup {
    let reach = label.chars().count() as f64 * 3.5;
    let middle = x.clamp(reach, (WIDTH - reach).max(reach));
    html! {
        line.grid x1=(place(x)) x2=(place(x)) y1=(place(top)) y2=(place(bottom)) {}
        text.tick.middle x=(place(middle)) y=(place(bottom + 15.0)) { (label) }
    }
}

/// The ticks whose labels do not overlap. One at `first` stays.
pub fn spaced(axis: &Axis, ticks: Vec<(f64, String)>, first: f64) -> Vec<(f64, String)> {
    let reach = |label: &str| label.chars().count() as f64 * 3.5 + 3.0;
    let (mut all, rest): (Vec<_>, Vec<_>) =
        ticks.into_iter().partition(|(value, _)| (value - first).abs() < 1e-9);
    all.extend(rest);
    let mut kept: Vec<(f64, String)> = Vec::new();
    for (value, label) in all {
        let is_free = kept.iter().all(|(other, text)| {
            (axis.at(*other) - axis.at(value)).abs() >= reach(text) + reach(&label)
        });
        if is_free {
            kept.push((value, label));
        }
    }
    kept
}

/// The class of a side's shapes.
pub fn side(side: usize) -> &'static str {
    if side == 0 { "before" } else { "after" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(Axis::linear([3.0, 21.0], [0.0, 1.0]).ticks(4), [5.0, 10.0, 15.0, 20.0]);
        assert_eq!(Axis::log([3.0, 800.0], [0.0, 1.0]).ticks(5), [3.0, 10.0, 30.0, 100.0, 300.0]);
        assert_eq!(Axis::log([1.0, 1e9], [0.0, 1.0]).ticks(4).len(), 4);
        assert_eq!(Axis::log([10.0, 12.0], [0.0, 1.0]).ticks(4), [10.0, 10.5, 11.0, 11.5, 12.0]);
        for [low, high] in
            [[0.0, 0.0], [5.0, 5.0], [-1.0, 1.0], [1e-30, 1e30], [0.0, f64::INFINITY]]
        {
            assert!(Axis::linear([low, high], [0.0, 1.0]).ticks(5).len() <= MOST);
            assert!(Axis::log([low, high], [0.0, 1.0]).ticks(5).len() <= MOST);
        }
    }

    #[test]
    fn labels_do_not_overlap() {
        let axis = Axis::linear([0.0, 10.0], [0.0, 100.0]);
        let ticks = [0.0, 2.0, 5.0, 7.0, 10.0].map(|value| (value, "long text".to_owned()));
        let kept = spaced(&axis, ticks.to_vec(), 10.0);
        assert_eq!(kept.iter().map(|(value, _)| *value).collect::<Vec<_>>(), [10.0, 0.0]);
    }

    #[test]
    fn a_place_is_between_the_ends() {
        let axis = Axis::log([1.0, 100.0], [0.0, 10.0]);
        assert_eq!([axis.at(1.0), axis.at(10.0), axis.at(1e6)], [0.0, 5.0, 10.0]);
        assert_eq!(Axis::linear([7.0, 7.0], [0.0, 10.0]).at(7.0), 5.0);
        assert_eq!(place(3.04), "3");
    }

    #[test]
    fn a_value_has_the_unit_that_fits() {
        assert_eq!(shown(Unit::Time, 1_605_000.0), "1.6 ms");
        assert_eq!(shown(Unit::Bytes, 2_097_152.0), "2 MiB");
        assert_eq!(shown(Unit::Share, 0.031), "3.1 %");
        assert_eq!(shown(Unit::Plain, 12.0), "12");
    }
}
