//! The parts of a plot of values over time: its axes, and the marks of steps and outliers.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::element::{Cross, Rectangle, Text, TriangleMarker};
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use crate::draw::{Area, Failure, SCALE, TEXT, text, tick};
use crate::palette::{GRID, INK, MUTED, OUTLIER, STEP};
use crate::text::{Unit, duration};
use crate::trail::Step;

/// The part of the width that the size of a step takes. It is written beside the step if there is
/// room.
const LABEL: f64 = 0.2;

/// A chart while it is drawn.
pub type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The ranges and units of the times and values in a chart.
pub struct Axes {
    pub x: (f64, f64),
    pub y: (f64, f64),
    pub x_unit: Unit,
    pub y_unit: Unit,
}

impl Axes {
    pub fn x(&self, at: f64) -> f64 {
        at.clamp(self.x.0, self.x.1) / self.x_unit.ns
    }

    pub fn y(&self, value: f64) -> f64 {
        value.clamp(self.y.0, self.y.1) / self.y_unit.ns
    }

    pub fn point(&self, (at, value): (f64, f64)) -> (f64, f64) {
        (self.x(at), self.y(value))
    }

    /// The left and the right.
    pub fn sides(&self) -> (f64, f64) {
        (self.x(self.x.0), self.x(self.x.1))
    }

    /// The lowest and the highest.
    pub fn heights(&self) -> (f64, f64) {
        (self.y(self.y.0), self.y(self.y.1))
    }

    /// Begins a chart.
    pub fn chart<'a>(&self, area: &Area<'a>) -> Result<Chart<'a>, Failure> {
        let ((left, right), (bottom, top)) = (self.sides(), self.heights());
        ChartBuilder::on(area)
            .margin_top(8 * SCALE)
            .margin_right(14 * SCALE)
            .y_label_area_size(52 * SCALE)
            .x_label_area_size(36 * SCALE)
            .build_cartesian_2d(left..right, bottom..top)
    }

    /// Draws the grid and the numbers. `since` is the beginning of the times, in words.
    pub fn mesh(&self, chart: &mut Chart<'_>, since: &str) -> Result<(), Failure> {
        chart
            .configure_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID)
            .axis_style(MUTED)
            .label_style(text(INK))
            .x_labels(6)
            .y_labels(5)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .x_desc(format!("{} {since}", self.x_unit.name))
            .axis_desc_style(text(MUTED))
            .draw()
    }
}

/// The times when a clock was set, each with the size of the step if there is room for the text.
pub fn draw_steps(chart: &mut Chart<'_>, steps: &[Step], axes: &Axes) -> Result<(), Failure> {
    let ((left, right), (bottom, top)) = (axes.sides(), axes.heights());
    let mut labelled = f64::NEG_INFINITY;
    for step in steps {
        let Step { from, until, size_ns } = *step;
        let area = [(axes.x(from), bottom), (axes.x(until), top)];
        chart.draw_series([Rectangle::new(area, STEP.mix(0.25).filled())])?;
        let middle = axes.x(from / 2.0 + until / 2.0);
        if middle - labelled > LABEL * (right - left) {
            labelled = middle;
            let is_left = middle - left < (right - left) / 2.0;
            let side = if is_left { HPos::Left } else { HPos::Right };
            let sign = if size_ns > 0.0 { "+" } else { "" };
            let style = text(STEP).pos(Pos::new(side, VPos::Top));
            let label = format!("{sign}{}", duration(size_ns));
            chart.draw_series([Text::new(label, (middle, top), style)])?;
        }
    }
    Ok(())
}

/// Outliers in their places, or at the edge of the plot if they are beyond it.
pub fn draw_outliers(
    chart: &mut Chart<'_>,
    outliers: &[(f64, f64)],
    axes: &Axes,
) -> Result<(), Failure> {
    let (low, high) = axes.y;
    let (near, far): (Vec<_>, Vec<_>) =
        outliers.iter().partition(|(_, value)| (low..=high).contains(value));
    let cross = ShapeStyle::from(OUTLIER).stroke_width(4);
    chart.draw_series(
        near.into_iter().map(|point| Cross::new(axes.point(point), 4 * SCALE, cross)),
    )?;
    chart.draw_series(far.into_iter().map(|point| {
        let size = if point.1 > high { TEXT / 3 } else { -TEXT / 3 };
        TriangleMarker::new(axes.point(point), size, OUTLIER.filled())
    }))?;
    Ok(())
}

/// The least and the greatest value; 0 if there are none.
pub fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let found = values.filter(|value| value.is_finite()).fold(None, |found, value| {
        let (low, high): (f64, f64) = found.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    });
    found.unwrap_or((0.0, 0.0))
}

/// A line with a corner where it leaves the plot, so cutting it off there does not bend the rest.
pub fn within(line: &[(f64, f64)], (low, high): (f64, f64)) -> Vec<(f64, f64)> {
    let mut cut: Vec<(f64, f64)> = Vec::new();
    for (index, &(x, y)) in line.iter().enumerate() {
        if let Some(&(before_x, before_y)) = index.checked_sub(1).and_then(|index| line.get(index))
        {
            let mut crossings: Vec<f64> = [low, high]
                .iter()
                .map(|edge| (edge - before_y) / (y - before_y))
                .filter(|part| *part > 0.0 && *part < 1.0)
                .collect();
            crossings.sort_by(f64::total_cmp);
            for part in crossings {
                cut.push((before_x + part * (x - before_x), before_y + part * (y - before_y)));
            }
        }
        cut.push((x, y));
    }
    cut
}
