//! A hop: its explanation in a sentence, and its plot.

use plotters::element::{Circle, PathElement, Polygon};
use plotters::style::{Color, ShapeStyle};

use crate::band::{Corner, Stretch};
use crate::chart::{Axes, Chart, bounds, draw_outliers, draw_steps, within};
use crate::clocks::Hop;
use crate::draw::{self, Failure, SCALE, svg};
use crate::error::Error;
use crate::palette::{BAND, DOT, LINE};
use crate::text::{Unit, count, counted, digits, duration};
use crate::trail::{Dot, Step, Trail};

/// The size of a plot, in pixels. It is as wide as a phone, so its text is as large there as
/// elsewhere.
const SIZE: (i32, i32) = (344, 236);

/// A drift that is worth a sentence, in ppm.
const LEAST_DRIFT: f64 = 0.05;

/// An outlier has its true place up to this many heights of the line's range outside of it, and a
/// band counts up to this many times the usual error.
const REACH: f64 = 3.0;

/// The description of a hop.
pub fn sentence(hop: &Hop) -> String {
    let (from, to) = (&hop.from_label, &hop.to_label);
    let jump = duration(hop.worst_nearest_ns);
    let mut said = match hop.drift_ppm {
        _ if hop.readings < 2 => {
            return format!(
                "{from} and {to} were read together once: how fast {from} runs is not known"
            );
        }
        _ if hop.is_coarse() => {
            format!(
                "{from} stands still between ticks of the kernel: up to {jump} off from one snapshot to the next"
            )
        }
        _ if hop.has_other_unit() => {
            let rate = hop.rate();
            format!(
                "{from} does not count nanoseconds: it ticks at {} GHz. Read as nanoseconds, it is {} off every second",
                gigahertz(rate),
                duration((1.0 / rate - 1.0).abs() * 1e9)
            )
        }
        Some(drift) if hop.worst_nearest_ns > hop.noise_ns && drift.abs() >= LEAST_DRIFT => {
            let (fast, slow) = if drift >= 0.0 { (to, from) } else { (from, to) };
            format!(
                "{fast} gains {} ppm on {slow}: up to {jump} from one snapshot to the next",
                digits(drift.abs())
            )
        }
        Some(_) => format!("{from} keeps to {to}: {jump} at most from one snapshot to the next"),
        None => format!("How fast {from} runs against {to} is not known"),
    };
    if hop.steps > 0 {
        said += &format!(
            "; {} of them was set or stood still",
            if hop.steps == 1 {
                "once one".to_owned()
            } else {
                format!("{} times one", count(i128::from(hop.steps)))
            }
        );
    }
    if hop.outliers > 0 {
        said += &format!(
            "; {} of {} not read together",
            count(i128::from(hop.outliers)),
            counted(hop.readings, "snapshot was", "snapshots were")
        );
    }
    said
}

/// The ticks of a clock in a nanosecond.
pub fn gigahertz(rate: f64) -> String {
    format!("{:.4}", 1.0 / rate)
}

/// Further facts about the hop.
pub fn notes(hop: &Hop, plot: &Plot) -> String {
    let mut notes = vec![
        counted(hop.readings, "snapshot", "snapshots"),
        format!("noise {}", duration(hop.noise_ns)),
    ];
    if hop.readings > 1 {
        notes.push(format!("between snapshots within {}", duration(hop.worst_ns)));
    }
    if let Some(seconds) = hop.interval_s.filter(|_| !hop.has_other_unit() && !hop.is_coarse()) {
        let interval = duration(seconds * 1e9);
        notes.push(format!("a snapshot every {interval} would keep the nearest one within 1 µs"));
    }
    if plot.each > 1 {
        notes.push(format!(
            "a bar is up to {} snapshots, from the least to the greatest",
            count(i128::from(plot.each))
        ));
    }
    if plot.beyond > 0 {
        notes.push(format!(
            "{} beyond the picture (triangles), by up to {}",
            counted(plot.beyond, "outlier", "outliers"),
            duration(plot.farthest)
        ));
    }
    if plot.is_of_path {
        notes.push("the band is the error of the whole path".to_owned());
    }
    notes.join(" · ")
}

/// A plot, and the texts about it.
#[derive(Debug)]
pub struct Plot {
    pub svg: String,
    /// The meaning of the vertical axis.
    pub axis: String,
    /// The number of readings in the fullest bar.
    each: u64,
    /// The number of outliers that are not in their true place.
    beyond: u64,
    farthest: f64,
    is_of_path: bool,
}

/// The error at a time of the trace.
#[derive(Clone, Copy)]
struct Width {
    at: f64,
    error: f64,
    kind: Stretch,
}

/// The time in the trace of a reading of the source clock, by the dots around it.
fn time_of(dots: &[Dot], rate: f64, from: f64) -> f64 {
    let next = dots.partition_point(|dot| dot.from <= from);
    let (before, after) = (next.checked_sub(1).and_then(|index| dots.get(index)), dots.get(next));
    match (before, after) {
        (Some(before), Some(after)) => {
            let part = (from - before.from) / (after.from - before.from);
            before.at + part * (after.at - before.at)
        }
        (Some(only), None) | (None, Some(only)) => only.at + (from - only.from) * rate,
        (None, None) => from,
    }
}

/// The height of the line at a time; outside of the dots it continues straight.
fn line_at(line: &[(f64, f64)], at: f64) -> f64 {
    let next = line.partition_point(|(x, _)| *x <= at);
    let before = next.checked_sub(1).and_then(|index| line.get(index));
    match (before, line.get(next)) {
        (Some((x, y)), Some((next_x, next_y))) => y + (at - x) / (next_x - x) * (next_y - y),
        (Some((_, y)), None) | (None, Some((_, y))) => *y,
        (None, None) => 0.0,
    }
}

/// The values of the plot, in ns.
struct Scene {
    line: Vec<(f64, f64)>,
    bars: Vec<(f64, f64, f64)>,
    outliers: Vec<(f64, f64)>,
    widths: Vec<Width>,
    x: (f64, f64),
    y: (f64, f64),
    /// The trend that is removed from the offset: the value added for each ns of trace time.
    drift: f64,
    /// Whether that is 0 because removing a trend would hide the scatter of the readings.
    is_level: bool,
}

impl Scene {
    fn new(hop: &Hop, trail: &Trail, corners: &[Corner], span: (f64, f64)) -> Scene {
        let dots = &trail.dots;
        let mut scene = Scene {
            line: Vec::new(),
            bars: Vec::new(),
            outliers: Vec::new(),
            widths: Vec::new(),
            x: span,
            y: (0.0, 0.0),
            drift: 0.0,
            is_level: false,
        };
        let values = dots.iter().flat_map(|dot| [dot.low, dot.high]);
        let (low, high) = bounds(values);
        let over =
            dots.last().map_or(0.0, |last| last.until) - dots.first().map_or(0.0, |first| first.at);
        let drift = hop.drift_ppm.unwrap_or(0.0) * 1e-6;
        // Whether removing the drift would hide the scatter of the readings.
        let hides = (drift * over).abs() > 2.0 * (high - low).max(hop.noise_ns / 3.0);
        scene.is_level = hides || hop.has_other_unit();
        scene.drift = if scene.is_level { 0.0 } else { drift };
        let first = dots.first().map_or(0.0, |dot| dot.at);
        let tilt = |at: f64| (at - first) * scene.drift;
        for dot in dots {
            let (at, value) = dot.middle();
            scene.line.push((at, value + tilt(at)));
            scene.bars.push((at, dot.low + tilt(at), dot.high + tilt(at)));
        }
        for outlier in &trail.outliers {
            scene.outliers.push((outlier.at, outlier.value + tilt(outlier.at)));
        }
        for corner in corners {
            let at = time_of(dots, trail.rate(), corner.from);
            scene.widths.push(Width { at, error: corner.error, kind: corner.kind });
        }
        scene.y = scene.heights();
        scene
    }

    /// The range of the plot: all readings on the line, with the line's error between them, and
    /// outliers that are not too far away.
    fn heights(&self) -> (f64, f64) {
        let has_line = self.widths.iter().any(|width| width.kind == Stretch::Line);
        let counts = |width: &&Width| width.kind == Stretch::Line || !has_line;
        let mut errors: Vec<f64> = self.widths.iter().filter(counts).map(|w| w.error).collect();
        errors.sort_by(f64::total_cmp);
        let usual = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
        let edges = self.widths.iter().filter(counts).flat_map(|width| {
            let middle = self.line_at(width.at);
            // A single gap with a large error would press everything else flat.
            let error = width.error.min(REACH * usual);
            [middle - error, middle + error]
        });
        let bars = self.bars.iter().flat_map(|(_, low, high)| [*low, *high]);
        let (low, high) = bounds(edges.chain(bars));
        let size = (high - low).max(10.0);
        let near = |value: &f64| (low - REACH * size..high + REACH * size).contains(value);
        let outliers = self.outliers.iter().map(|(_, value)| *value).filter(near);
        let (low, high) = bounds([low, high].into_iter().chain(outliers));
        let margin = 0.08 * (high - low).max(10.0);
        (low - margin, high + margin)
    }

    fn line_at(&self, at: f64) -> f64 {
        let edge = |point: Option<&(f64, f64)>| point.map_or(0.0, |(x, _)| *x);
        let (first, last) = (edge(self.line.first()), edge(self.line.last()));
        // Outside of the readings, it continues with the drift.
        let outside = (at - at.clamp(first.min(last), last.max(first))) * self.drift;
        line_at(&self.line, at) + outside
    }
}

/// The time range of a hop's plot. It is all of the trace up to its last event, because times far
/// from a reading are less certain. But if the readings would be a speck in it, it is only the
/// readings and a part of the trace around them.
pub fn span(trail: &Trail, (begin, end): (f64, f64)) -> (f64, f64) {
    /// The part of the readings' time range that is shown around a speck.
    const AROUND: f64 = 0.2;
    /// From this part of the trace on, the readings are no speck.
    const SPECK: f64 = 0.02;

    let readings = trail.dots.iter().flat_map(|dot| [dot.at, dot.until]);
    let outliers = trail.outliers.iter().map(|outlier| outlier.at);
    let (first, last) = bounds(readings.chain(outliers));
    let between = last - first;
    if between <= 0.0 || between >= SPECK * (end - begin) {
        return (begin.min(first), end.max(last).max(first + 1.0));
    }
    (
        first - (AROUND * between).min((first - begin).max(0.0)),
        last + (AROUND * between).min((end - last).max(0.0)),
    )
}

/// Draws a hop over a time range.
pub fn plot(
    hop: &Hop,
    trail: &Trail,
    corners: &[Corner],
    span: (f64, f64),
    is_of_path: bool,
) -> Result<Plot, Error> {
    let scene = Scene::new(hop, trail, corners, span);
    let (low, high) = scene.y;
    let is_beyond = |value: &f64| !(low..=high).contains(value);
    let beyond = scene.outliers.iter().map(|(_, value)| *value).filter(is_beyond);
    let (farthest, beyond) = beyond
        .fold((0.0, 0), |(farthest, beyond), value| (f64::max(farthest, value.abs()), beyond + 1));
    let unit = Unit::of(low.abs().max(high.abs()));
    let svg = svg("a hop", SIZE, |area| draw(area, trail, &scene, unit))?;
    Ok(Plot {
        svg,
        axis: axis(hop, &scene, unit, !trail.steps.is_empty()),
        each: trail.dots.iter().map(|dot| dot.readings).max().unwrap_or(0),
        beyond,
        farthest,
        is_of_path: is_of_path && !corners.is_empty(),
    })
}

/// The meaning of the vertical axis.
fn axis(hop: &Hop, scene: &Scene, unit: Unit, has_steps: bool) -> String {
    let (from, to) = (&hop.from_label, &hop.to_label);
    let rate = match hop.has_other_unit() {
        true => format!("{} × ", digits(hop.rate())),
        false => String::new(),
    };
    let mut less = vec!["its first value".to_owned()];
    if scene.is_level
        && let Some(drift) = hop.drift_ppm.filter(|_| !hop.has_other_unit())
    {
        less.push(format!("{} ppm", digits(drift)));
    }
    if has_steps {
        less.push("steps".to_owned());
    }
    format!("{to} − {rate}{from}, {}; less {}", unit.name, less.join(", "))
}

fn draw(area: &draw::Area<'_>, trail: &Trail, scene: &Scene, y_unit: Unit) -> Result<(), Failure> {
    let axes = Axes { x: scene.x, y: scene.y, x_unit: Unit::of(scene.x.1 - scene.x.0), y_unit };
    let mut chart = axes.chart(area)?;
    for band in bands(scene, &trail.steps) {
        let points: Vec<(f64, f64)> = band.into_iter().map(|point| axes.point(point)).collect();
        chart.draw_series([Polygon::new(points, BAND.filled())])?;
    }
    axes.mesh(&mut chart, "since the trace began")?;
    draw_steps(&mut chart, &trail.steps, &axes)?;
    let line = outline(scene).into_iter().map(|point| axes.point(point));
    let line: Vec<(f64, f64)> = line.collect();
    let style = ShapeStyle::from(LINE).stroke_width(3);
    chart.draw_series([PathElement::new(line, style)])?;
    draw_readings(&mut chart, &scene.bars, trail.is_joined(), &axes)?;
    draw_outliers(&mut chart, &scene.outliers, &axes)
}

/// The readings: a bar for many readings, or a dot for each.
fn draw_readings(
    chart: &mut Chart<'_>,
    bars: &[(f64, f64, f64)],
    is_joined: bool,
    axes: &Axes,
) -> Result<(), Failure> {
    if is_joined {
        let style = ShapeStyle::from(DOT).stroke_width(4);
        chart.draw_series(bars.iter().map(|(at, low, high)| {
            PathElement::new([axes.point((*at, *low)), axes.point((*at, *high))], style)
        }))?;
    } else {
        chart.draw_series(bars.iter().map(|(at, value, _)| {
            Circle::new(axes.point((*at, *value)), 3 * SCALE, DOT.filled())
        }))?;
    }
    Ok(())
}

/// The line, from one side of the plot to the other.
fn outline(scene: &Scene) -> Vec<(f64, f64)> {
    let (begin, end) = scene.x;
    let mut line = vec![(begin, scene.line_at(begin))];
    line.extend(&scene.line);
    line.push((end, scene.line_at(end)));
    line
}

/// The band of the error around the line, without steps.
fn bands(scene: &Scene, steps: &[Step]) -> Vec<Vec<(f64, f64)>> {
    let (begin, end) = scene.x;
    // The times of corners are computed, but the times of steps are read.
    let close = (end - begin) * 1e-6;
    let is_step = |one: &Width, next: &Width| {
        steps.iter().any(|step| one.at <= step.from + close && next.at >= step.until - close)
    };
    scene
        .widths
        .chunk_by(|one, next| !is_step(one, next))
        .map(|part| {
            let edge = |sign: f64| {
                let edge = part
                    .iter()
                    .map(|width| (width.at, scene.line_at(width.at) + sign * width.error));
                within(&edge.collect::<Vec<_>>(), scene.y)
            };
            let mut band = edge(1.0);
            band.extend(edge(-1.0).into_iter().rev());
            band
        })
        .collect()
}
