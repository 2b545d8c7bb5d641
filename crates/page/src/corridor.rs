//! The corridor of two clocks: the least and the greatest offset that messages allow, over time.
//!
//! # Design
//!
//! Messages have no table. But a corner of the estimate is where a message touches the corridor,
//! and the estimate lies in the middle of a corridor that is narrower than the bounds. So the
//! bound that is nearer to the estimate is that of the message, and a dot marks it. If both are as
//! near, both have a dot. If a pair moved together with others, or by the ends of collectives, this is not so, and there
//! are no dots. Between two corners the bounds bend outward by a few ppm of the time, and the
//! picture has straight lines there, so it never shows more room than there is.
//!
//! A step would press everything flat, so it is subtracted, as it is in the plot of a hop.

use plotters::element::{Circle, Cross, DashedPathElement, PathElement, Polygon, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::chart::{Axes, Chart, bounds, draw_outliers, draw_steps, within};
use crate::draw::{self, Failure, SCALE, svg, text};
use crate::error::Error;
use crate::messages::{Corner, Outlier, Pair, Sides, exact};
use crate::palette::{BAND, BAR, DOT, INK, LINE, MUTED};
use crate::text::{Unit, count, counted, digits, duration};
use crate::trail::{Step, distance};

/// The size of a plot, in pixels.
const SIZE: (i32, i32) = (344, 236);

/// The number of corners and of stretches between steps that are drawn.
const DRAWN: usize = 300;
const STRETCHES: usize = 60;

/// The offset of two clocks steps if it changes faster than any clock drifts.
const STEEP: f64 = 1e-3;

/// A bound counts up to this many times the usual width, and an outlier or the relation without
/// messages up to this many heights of the corridor.
const REACH: f64 = 3.0;

/// A plot, and the texts about it.
#[derive(Debug)]
pub struct Corridor {
    pub svg: String,
    /// The meaning of the vertical axis.
    pub axis: String,
    /// Notes on everything that is beyond the picture, or left out.
    pub notes: Vec<String>,
}

/// A corner in the plot, in ns: trace time since the page's beginning, and offsets less the base.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    at: f64,
    middle: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl Place {
    fn width(self) -> Option<f64> {
        Some(self.high? - self.low?)
    }

    /// The estimate, or the only bound.
    fn level(self) -> f64 {
        self.middle.or(self.high).or(self.low).unwrap_or(0.0)
    }

    /// Whether a message touches the low bound, and the high one.
    fn touches(self) -> (bool, bool) {
        /// The rounding of two bounds and the middle.
        const ROUNDING: f64 = 1.5;

        match (self.middle, self.low, self.high) {
            (Some(middle), Some(low), Some(high)) => {
                let nearer = (high - middle) - (middle - low);
                (nearer >= -ROUNDING, nearer <= ROUNDING)
            }
            (_, low, high) => (low.is_some(), high.is_some()),
        }
    }
}

/// A message that does not count, in its place.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: f64,
    value: f64,
    is_suspect: bool,
}

/// The values of the plot.
struct Scene {
    stretches: Vec<Vec<Place>>,
    steps: Vec<Step>,
    marks: Vec<Mark>,
    /// The relation without messages, in the middle.
    assumed: Option<(f64, f64)>,
    x: (f64, f64),
    y: (f64, f64),
    /// The rate that is subtracted, in ns for each ns.
    rate: f64,
    corners: usize,
    /// Whether the messages that touch the bounds are known.
    is_alone: bool,
    steps_left_out: usize,
}

/// Draws the corridor of a pair; `None` without corners. `placed` is trace time minus clock A, and
/// `begin` the beginning of the trace.
pub fn draw(
    pair: &Pair,
    corners: &[Corner],
    outliers: &[Outlier],
    placed: Option<i64>,
    begin: i64,
) -> Result<Option<Corridor>, Error> {
    let Some(origin) = corners.first().and_then(Corner::level) else {
        return Ok(None);
    };
    let Some(scene) = Scene::new(pair, corners, outliers, placed.unwrap_or(0), begin) else {
        return Ok(None);
    };
    let (low, high) = scene.y;
    let y_unit = Unit::of(low.abs().max(high.abs()));
    // Small numbers are easier to read than the last digits of large ones.
    let (begin, end) = scene.x;
    let (left, since) = match placed {
        None => (begin, format!("on {}", pair.a_label)),
        Some(_) if end - begin < 0.05 * begin => (begin, "since the first message".to_owned()),
        Some(_) => (0.0, "since the trace began".to_owned()),
    };
    let axes =
        Axes { x: (begin - left, end - left), y: scene.y, x_unit: Unit::of(end - begin), y_unit };
    let svg = svg("a corridor", SIZE, |area| paint(area, &scene, &axes, left, &since))?;
    Ok(Some(Corridor { svg, axis: axis(pair, &scene, y_unit, origin), notes: notes(pair, &scene) }))
}

/// The meaning of the vertical axis.
fn axis(pair: &Pair, scene: &Scene, unit: Unit, origin: i64) -> String {
    let mut less = vec![exact(origin)];
    if scene.rate != 0.0 {
        less.push(format!("{} ppm", digits(scene.rate * 1e6)));
    }
    if !scene.steps.is_empty() {
        less.push("steps".to_owned());
    }
    format!("{} − {}, {}; less {}", pair.b_label, pair.a_label, unit.name, less.join(", "))
}

fn notes(pair: &Pair, scene: &Scene) -> Vec<String> {
    let mut notes = Vec::new();
    let (low, high) = scene.y;
    let is_beyond = |value: f64| !(low..=high).contains(&value);
    if let Some((_, value)) = scene.assumed.filter(|(_, value)| is_beyond(*value)) {
        let above = pair.assumed_above().unwrap_or(value);
        let side = if above > 0.0 { "above" } else { "below" };
        notes.push(format!(
            "the relation without messages is beyond the picture, {} {side}",
            duration(above.abs())
        ));
    }
    let beyond = scene.marks.iter().filter(|mark| is_beyond(mark.value));
    let (number, farthest) = beyond.fold((0, 0.0), |(number, farthest), mark| {
        (number + 1, f64::max(farthest, (mark.value - mark.value.clamp(low, high)).abs()))
    });
    if number > 0 {
        notes.push(format!(
            "{} beyond the picture (triangles), by up to {}",
            counted(number, "message", "messages"),
            duration(farthest)
        ));
    }
    if !scene.is_alone && pair.has_neighbours {
        notes.push("the bounds are by all clocks together, so they have no dots".to_owned());
    }
    let drawn: usize = scene.stretches.iter().map(Vec::len).sum();
    if drawn < scene.corners {
        notes.push(format!(
            "drawn are {} of {} corners, where messages say most",
            count(drawn as i64),
            count(scene.corners as i64)
        ));
    }
    if scene.steps_left_out > 0 {
        notes.push(format!(
            "{} more after these, not drawn",
            counted(scene.steps_left_out as u64, "step", "steps")
        ));
    }
    notes
}

/// The stretches between two steps. The bounds inside of a step are those of both sides, which are as far apart as the step is large:
/// they belong to no stretch.
fn stretches(corners: &[Corner], is_stepping: bool) -> Vec<&[Corner]> {
    let change = |one: &Corner, next: &Corner| Some(distance(one.level()?, next.level()?));
    let is_step = |one: &Corner, next: &Corner| {
        let steep = || {
            let most = STEEP * distance(one.value, next.value) + 2.0;
            change(one, next).is_some_and(|change| change.abs() > most)
        };
        one.is_step || is_stepping && steep()
    };
    let all: Vec<&[Corner]> = corners.chunk_by(|one, next| !is_step(one, next)).collect();
    let is_inside = |place: usize, stretch: &[Corner]| {
        let before = place.checked_sub(1).and_then(|before| all.get(before)?.last());
        let after = all.get(place + 1).and_then(|after| after.first());
        let Some(size) = before.zip(after).and_then(|(before, after)| change(before, after)) else {
            return false;
        };
        let width = |corner: &Corner| Some(distance(corner.earliest?, corner.latest?));
        let is_wide =
            |corner: &Corner| width(corner).is_some_and(|width| width >= 0.9 * size.abs());
        stretch.len() <= 2 && stretch.iter().all(is_wide)
    };
    let kept = all.iter().enumerate().filter(|(place, stretch)| !is_inside(*place, stretch));
    kept.map(|(_, stretch)| *stretch).collect()
}

/// As many corners as a plot can show: the first, the last, and of neighbours the one with the
/// narrowest bounds.
fn thinned(places: &[Place], each: usize) -> Vec<Place> {
    let [first, middle @ .., last] = places else {
        return places.to_vec();
    };
    let narrowest = |group: &[Place]| {
        let width = |place: &Place| place.width().unwrap_or(f64::MAX);
        group.iter().copied().min_by(|one, other| width(one).total_cmp(&width(other)))
    };
    let middle = middle.chunks(each.max(1)).filter_map(narrowest);
    [*first].into_iter().chain(middle).chain([*last]).collect()
}

/// The value between two places, at a time; outside of them it continues level.
fn between(places: &[Place], at: f64, of: impl Fn(&Place) -> Option<f64>) -> Option<f64> {
    let next = places.partition_point(|place| place.at <= at);
    let before = next.checked_sub(1).and_then(|index| places.get(index));
    match (before, places.get(next)) {
        (Some(before), Some(after)) => {
            let part = (at - before.at) / (after.at - before.at);
            let (from, to) = (of(before)?, of(after)?);
            Some(from + part * (to - from))
        }
        (Some(only), None) | (None, Some(only)) => of(only),
        (None, None) => None,
    }
}

impl Scene {
    fn new(
        pair: &Pair,
        corners: &[Corner],
        outliers: &[Outlier],
        placed: i64,
        begin: i64,
    ) -> Option<Scene> {
        let (first, last) = (corners.first()?, corners.last()?);
        let origin = first.level()?;
        let at = |value: i64| distance(begin, value) + placed as f64;
        let start = at(first.value);
        let mut stretches = stretches(corners, pair.stretches > 1);
        let steps_left_out = stretches.len().saturating_sub(STRETCHES);
        stretches.truncate(STRETCHES);
        let over = distance(first.value, last.value);
        let from_ends = || {
            let change = distance(origin, last.level()?);
            (over > 0.0 && stretches.len() == 1).then_some(change / over * 1e6)
        };
        // Several clocks together may have another rate than one pair.
        let rate = match pair.is_alone {
            true => pair.rate_ppm.or_else(from_ends),
            false => from_ends().or(pair.rate_ppm),
        };
        let rate = rate.unwrap_or(0.0) * 1e-6;

        let mut scene = Scene {
            stretches: Vec::new(),
            steps: Vec::new(),
            marks: Vec::new(),
            assumed: None,
            x: (0.0, 0.0),
            y: (0.0, 0.0),
            rate,
            corners: stretches.iter().map(|stretch| stretch.len()).sum(),
            is_alone: pair.is_alone,
            steps_left_out,
        };
        let each = scene.corners.div_ceil(DRAWN);
        let mut shift = 0.0;
        let mut shifts = Vec::new();
        for stretch in stretches {
            let place = |corner: &Corner, shift: f64| {
                let at = at(corner.value);
                let base = rate * (at - start) + shift;
                let value = |offset: Option<i64>| Some(distance(origin, offset?) - base);
                Place {
                    at,
                    middle: value(corner.offset),
                    low: value(corner.earliest),
                    high: value(corner.latest),
                }
            };
            let before = scene.stretches.last().and_then(|before: &Vec<Place>| before.last());
            if let Some((before, after)) = before.zip(stretch.first()) {
                let after = place(after, shift);
                let size = after.level() - before.level();
                scene.steps.push(Step { from: before.at, until: after.at, size_ns: size });
                shift += size;
            }
            shifts.push((at(stretch.first()?.value), shift));
            let places: Vec<Place> = stretch.iter().map(|corner| place(corner, shift)).collect();
            scene.stretches.push(thinned(&places, each));
        }
        let shift_at = |time: f64| {
            let next = shifts.partition_point(|(from, _)| *from <= time);
            shifts.get(next.saturating_sub(1)).map_or(0.0, |(_, shift)| *shift)
        };
        let time = |ts: i64| distance(begin, ts);
        for outlier in outliers {
            let at = time(outlier.ts);
            let by = outlier.by as f64;
            let places = scene.stretch_at(at);
            let (bound, sign) = match (outlier.is_from_a, outlier.is_suspect) {
                // A message from A says at most, so a bad one is too low.
                (true, false) => (between(places, at, |place| place.low), -1.0),
                (true, true) => (between(places, at, |place| place.high), -1.0),
                (false, false) => (between(places, at, |place| place.high), 1.0),
                (false, true) => (between(places, at, |place| place.low), 1.0),
            };
            let mark = bound.map(|bound| Mark {
                at,
                value: bound + sign * by,
                is_suspect: outlier.is_suspect,
            });
            scene.marks.extend(mark);
        }
        scene.assumed = pair.assumed.zip(pair.at).map(|(assumed, at)| {
            let at = time(at);
            (at, distance(origin, assumed) - rate * (at - start) - shift_at(at))
        });
        scene.x = scene.times(pair.span.map(|(from, to)| (time(from), time(to))));
        scene.y = scene.heights(pair.sides);
        Some(scene)
    }

    /// The places of the stretch around a time.
    fn stretch_at(&self, at: f64) -> &[Place] {
        let starts_before =
            |places: &Vec<Place>| places.first().is_some_and(|place| place.at <= at);
        let next = self.stretches.partition_point(starts_before);
        self.stretches.get(next.saturating_sub(1)).map_or(&[], Vec::as_slice)
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.stretches.iter().flatten()
    }

    /// The time range: that of all messages, and a little around it.
    fn times(&self, span: Option<(f64, f64)>) -> (f64, f64) {
        let corners = self.places().map(|place| place.at);
        let messages = span.into_iter().flat_map(|(from, to)| [from, to]);
        let (first, last) = bounds(corners.chain(messages));
        let around = 0.03 * (last - first).max(1e3);
        (first - around, last + around)
    }

    /// The range of offsets: the bounds, and what is not too far beyond them.
    fn heights(&self, sides: Sides) -> (f64, f64) {
        let mut widths: Vec<f64> = self.places().filter_map(|place| place.width()).collect();
        widths.sort_by(f64::total_cmp);
        let usual = widths.get(widths.len() / 2).copied().unwrap_or(f64::MAX);
        let edges = self.places().flat_map(|place| {
            let level = place.level();
            // A single gap between messages would press everything else flat.
            let near = |bound: f64| bound.clamp(level - REACH * usual, level + REACH * usual);
            [Some(level), place.low.map(near), place.high.map(near)]
        });
        let (low, high) = bounds(edges.flatten());
        let size = (high - low).max(10.0);
        let near = |value: &f64| (low - REACH * size..high + REACH * size).contains(value);
        let marks = self.marks.iter().map(|mark| mark.value);
        let others = marks.chain(self.assumed.map(|(_, value)| value)).filter(near);
        let (low, high) = bounds([low, high].into_iter().chain(others));
        let margin = 0.08 * (high - low).max(10.0);
        // The open side needs room to be seen.
        let open = 4.0 * margin;
        match sides {
            Sides::Upper => (low - open, high + margin),
            Sides::Lower => (low - margin, high + open),
            _ => (low - margin, high + margin),
        }
    }
}

fn paint(
    area: &draw::Area<'_>,
    scene: &Scene,
    axes: &Axes,
    left: f64,
    since: &str,
) -> Result<(), Failure> {
    let mut chart = axes.chart(area)?;
    let point = |(at, value): (f64, f64)| axes.point((at - left, value));
    let (bottom, top) = scene.y;
    for places in &scene.stretches {
        let edge = |of: fn(&Place) -> Option<f64>, open: f64| {
            let edge = places.iter().map(|place| (place.at, of(place).unwrap_or(open)));
            within(&edge.collect::<Vec<_>>(), scene.y)
        };
        let mut band = edge(|place| place.high, top);
        band.extend(edge(|place| place.low, bottom).into_iter().rev());
        let band: Vec<(f64, f64)> = band.into_iter().map(point).collect();
        match places.as_slice() {
            // A polygon without a width is invisible.
            [_] => {
                let style = ShapeStyle::from(BAND).stroke_width(6);
                chart.draw_series([PathElement::new(band, style)])?;
            }
            _ => {
                chart.draw_series([Polygon::new(band, BAND.filled())])?;
            }
        }
    }
    axes.mesh(&mut chart, since)?;
    let steps: Vec<Step> = scene.steps.iter().map(|step| step.earlier(left)).collect();
    draw_steps(&mut chart, &steps, axes)?;
    for places in &scene.stretches {
        let line = places.iter().filter_map(|place| Some(point((place.at, place.middle?))));
        let line: Vec<(f64, f64)> = line.collect();
        if line.len() > 1 {
            let style = ShapeStyle::from(LINE).stroke_width(3);
            chart.draw_series([PathElement::new(line, style)])?;
        }
    }
    if scene.is_alone {
        draw_corners(&mut chart, scene, &point)?;
    }
    draw_marks(&mut chart, scene, axes, left)?;
    draw_assumed(&mut chart, scene, axes, left)
}

/// The messages that touch a bound, on its side.
fn draw_corners(
    chart: &mut Chart<'_>,
    scene: &Scene,
    point: &impl Fn((f64, f64)) -> (f64, f64),
) -> Result<(), Failure> {
    let size = if scene.places().count() > 60 { 3 * SCALE / 2 } else { 5 * SCALE / 2 };
    let last = scene.stretches.len().saturating_sub(1);
    for (number, places) in scene.stretches.iter().enumerate() {
        // A stretch begins and ends with steps, not with messages.
        let from = usize::from(number > 0);
        let until = places.len().saturating_sub(usize::from(number < last));
        for place in places.get(from..until).unwrap_or_default() {
            let (low, high) = place.touches();
            let low = place.low.filter(|_| low).map(|value| (value, BAR));
            let high = place.high.filter(|_| high).map(|value| (value, DOT));
            let is_shown = |(value, _): &(f64, RGBColor)| (scene.y.0..=scene.y.1).contains(value);
            let dots = low.into_iter().chain(high).filter(is_shown);
            let dots = dots.map(|(value, colour)| {
                Circle::new(point((place.at, value)), size, colour.filled())
            });
            chart.draw_series(dots)?;
        }
    }
    Ok(())
}

/// Messages that do not count.
fn draw_marks(chart: &mut Chart<'_>, scene: &Scene, axes: &Axes, left: f64) -> Result<(), Failure> {
    let (bottom, top) = scene.y;
    let is_inside = |mark: &&Mark| (bottom..=top).contains(&mark.value);
    let suspects = scene.marks.iter().filter(|mark| mark.is_suspect).filter(is_inside);
    let cross = ShapeStyle::from(MUTED).stroke_width(3);
    chart.draw_series(
        suspects.map(|mark| Cross::new(axes.point((mark.at - left, mark.value)), 3 * SCALE, cross)),
    )?;
    let violated = scene.marks.iter().filter(|mark| !mark.is_suspect || !is_inside(mark));
    let violated: Vec<(f64, f64)> = violated.map(|mark| (mark.at - left, mark.value)).collect();
    draw_outliers(chart, &violated, axes)
}

/// The relation without messages, which is known in the middle.
fn draw_assumed(
    chart: &mut Chart<'_>,
    scene: &Scene,
    axes: &Axes,
    left: f64,
) -> Result<(), Failure> {
    let (bottom, top) = scene.y;
    let Some((at, value)) = scene.assumed.filter(|(_, value)| (bottom..=top).contains(value))
    else {
        return Ok(());
    };
    let half = 0.14 * (scene.x.1 - scene.x.0);
    let line = [at - half, at + half].map(|at| axes.point((at - left, value)));
    let style = ShapeStyle::from(INK).stroke_width(3);
    chart.draw_series([DashedPathElement::new(line, 5 * SCALE, 4 * SCALE, style)])?;
    let is_high = value > bottom / 2.0 + top / 2.0;
    let side = if is_high { VPos::Top } else { VPos::Bottom };
    let style = text(INK).pos(Pos::new(HPos::Center, side));
    let place = axes.point((at - left, value));
    chart.draw_series([Text::new("without messages", place, style)])?;
    Ok(())
}
