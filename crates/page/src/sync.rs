//! The samples of machines that asked each other for the time, and the distance of their clocks.
//!
//! # Design
//!
//! A sample is an offset and its possible error, half of a round trip. It is drawn as a bar from
//! the least to the greatest possible offset. A line through all bars is a possible course of the
//! clocks. If there are more samples than a plot can show, it shows the narrowest sample of each
//! time range, because that says most.

use plotters::chart::ChartBuilder;
use plotters::element::{Circle, PathElement};
use plotters::style::{Color, ShapeStyle};
use rusqlite::Connection;

use crate::clocks::{Clocks, Key};
use crate::draw::{self, Failure, SCALE, svg, text, tick};
use crate::error::{Error, Reading};
use crate::palette::{DOT, GRID, INK, LINE, MUTED, OUTLIER};
use crate::text::{Unit, count, counted, duration};
use crate::trail::distance;

/// The number of pairs of clocks with a plot.
const MOST: usize = 12;
/// The number of samples that are read of a pair, and the number that is drawn.
const READ: i64 = 200_000;
const DRAWN: usize = 300;
/// A bar that is wider than usual by more than this factor does not count for the height of a plot.
const REACH: f64 = 4.0;

/// The size of a plot, in pixels.
const SIZE: (i32, i32) = (344, 210);

/// A sample, in ns: trace time since the page's beginning, and how far the client was ahead, minus
/// its first value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    at: f64,
    offset: f64,
    error: f64,
    is_used: bool,
}

/// A plot of the samples of two clocks, and the texts about it.
#[derive(Debug)]
pub struct Sync {
    pub title: String,
    /// The meaning of the vertical axis.
    pub axis: String,
    pub svg: String,
    pub notes: String,
}

/// The plots, and the number of pairs of clocks without one.
#[derive(Debug)]
pub struct Syncs {
    pub shown: Vec<Sync>,
    pub left_out: usize,
}

/// The machine that asked, and the one that answered.
type Pair = (Key, Key);

/// Draws the samples of all clocks.
pub fn draw(database: &Connection, clocks: &Clocks, begin: i64) -> Result<Syncs, Error> {
    let pairs = pairs(database).reading("synchronizations")?;
    let mut shown = Vec::new();
    for pair in pairs.iter().take(MOST) {
        let (origin, samples) = samples(database, *pair, begin).reading("synchronizations")?;
        if samples.is_empty() {
            continue;
        }
        let (client, host) = (clocks.label(pair.0), clocks.label(pair.1));
        let drawn = thinned(&samples);
        let first = duration(origin as f64);
        let (low, high) = heights(&drawn);
        let unit = Unit::of(low.abs().max(high.abs()));
        let svg = svg("a synchronization", SIZE, |area| paint(area, unit, &drawn))?;
        shown.push(Sync {
            title: format!("{client} asked {host}"),
            axis: format!("{client} − {host}, less {first}; {}", unit.name),
            notes: notes(&samples, drawn.len()),
            svg,
        });
    }
    Ok(Syncs { shown, left_out: pairs.len().saturating_sub(MOST) })
}

fn pairs(database: &Connection) -> rusqlite::Result<Vec<Pair>> {
    let mut statement = database.prepare(
        "SELECT machine_id, clock_id, 0, trace_file_id, host_machine_id, clock_id, 0, host_trace_file_id
         FROM remote_clock_sync
         GROUP BY machine_id, clock_id, trace_file_id, host_machine_id, host_trace_file_id
         ORDER BY count(*) DESC, 1, 2, 4, 5, 8 LIMIT 1000",
    )?;
    let rows =
        statement.query_map([], |row| Ok((Key::of_row(row, 0, 3)?, Key::of_row(row, 4, 7)?)))?;
    rows.collect()
}

/// The first offset, and all samples on trace time in its order.
fn samples(
    database: &Connection,
    (client, host): Pair,
    begin: i64,
) -> rusqlite::Result<(i64, Vec<Sample>)> {
    let mut statement = database.prepare(
        "SELECT ts, offset, half_round_trip, used FROM remote_clock_sync
         WHERE machine_id = ?1 AND clock_id = ?2 AND trace_file_id IS ?3
           AND host_machine_id = ?4 AND host_trace_file_id IS ?5 AND ts IS NOT NULL
         ORDER BY ts, id LIMIT ?6",
    )?;
    let mut rows = statement.query(rusqlite::params![
        client.machine,
        client.id,
        client.own_file(),
        host.machine,
        host.own_file(),
        READ
    ])?;
    let mut origin = None;
    let mut samples = Vec::new();
    while let Some(row) = rows.next()? {
        let (ts, offset, error): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        samples.push(Sample {
            at: distance(begin, ts),
            offset: distance(*origin.get_or_insert(offset), offset),
            error: error as f64,
            is_used: row.get(3)?,
        });
    }
    Ok((origin.unwrap_or(0), samples))
}

/// As many samples as a plot can show: of neighbours, the used one and the narrowest.
fn thinned(samples: &[Sample]) -> Vec<Sample> {
    let each = samples.len().div_ceil(DRAWN).max(1);
    let best = |group: &[Sample]| {
        group.iter().copied().min_by(|one, other| {
            let key = |sample: &Sample| (!sample.is_used, sample.error < 0.0);
            key(one).cmp(&key(other)).then(one.error.total_cmp(&other.error))
        })
    };
    samples.chunks(each).filter_map(best).collect()
}

fn notes(samples: &[Sample], drawn: usize) -> String {
    let used = samples.iter().filter(|sample| sample.is_used).count();
    let errors = samples.iter().map(|sample| sample.error);
    let best = errors.filter(|error| *error >= 0.0).reduce(f64::min);
    let mut notes = vec![counted(samples.len() as u64, "sample", "samples")];
    if used > 0 {
        notes.push(format!("{} used by rates", count(used as i64)));
    }
    notes.extend(best.map(|best| format!("the best within {}", duration(best))));
    if drawn < samples.len() {
        notes.push(format!("drawn are the {} that say most", count(drawn as i64)));
    }
    notes.join(" · ")
}

/// The range of the offsets that are exact enough.
fn heights(samples: &[Sample]) -> (f64, f64) {
    let mut errors: Vec<f64> = samples.iter().map(|sample| sample.error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let usual = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
    let exact = |sample: &&Sample| sample.error.abs() <= REACH * usual.max(1.0);
    let edges = samples.iter().filter(exact).flat_map(|sample| {
        let error = sample.error.abs();
        [sample.offset - error, sample.offset + error]
    });
    let (low, high) =
        edges.fold((f64::MAX, f64::MIN), |(low, high), edge| (low.min(edge), high.max(edge)));
    let margin = 0.08 * (high - low).max(10.0);
    (low - margin, high + margin)
}

fn paint(area: &draw::Area<'_>, y_unit: Unit, samples: &[Sample]) -> Result<(), Failure> {
    let times = || samples.iter().map(|sample| sample.at);
    let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max));
    let around = 0.05 * (last - first).max(1e3);
    // Small numbers are easier to read than the last digits of large ones.
    let (origin, since) = match last - first < 0.05 * first {
        true => (first, "since the first"),
        false => (0.0, "since the trace began"),
    };
    let (begin, end) = (first - around - origin, last + around - origin);
    let (low, high) = heights(samples);
    let x_unit = Unit::of(end - begin);
    let x = |at: f64| at / x_unit.ns;
    let y = |value: f64| value.clamp(low, high) / y_unit.ns;

    let mut chart = ChartBuilder::on(area)
        .margin_top(8 * SCALE)
        .margin_right(14 * SCALE)
        .y_label_area_size(52 * SCALE)
        .x_label_area_size(36 * SCALE)
        .build_cartesian_2d(x(begin)..x(end), y(low)..y(high))?;
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
        .x_desc(format!("{} {since}", x_unit.name))
        .axis_desc_style(text(MUTED))
        .draw()?;
    // Before the selection, no sample is used or left out.
    let is_chosen = samples.iter().any(|sample| sample.is_used);
    for sample in samples {
        let is_out = is_chosen && !sample.is_used || sample.error < 0.0;
        let (bar, dot) = match is_out {
            true => (OUTLIER, OUTLIER),
            false => (LINE, DOT),
        };
        let error = sample.error.abs();
        let ends = [sample.offset - error, sample.offset + error];
        let line = ends.map(|value| (x(sample.at - origin), y(value)));
        let style = ShapeStyle::from(bar).stroke_width(3);
        chart.draw_series([PathElement::new(line, style)])?;
        let place = (x(sample.at - origin), y(sample.offset));
        chart.draw_series([Circle::new(place, 2 * SCALE, dot.filled())])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: f64, error: f64, is_used: bool) -> Sample {
        Sample { at, offset: 0.0, error, is_used }
    }

    #[test]
    fn x24_of_many_samples_those_that_say_most_are_drawn() {
        let many: Vec<Sample> = (0..10_000)
            .map(|n| sample(f64::from(n), f64::from(n % 100) - 1.0, n % 2 == 1))
            .collect();
        let drawn = thinned(&many);
        assert!(drawn.len() <= DRAWN && drawn.len() > DRAWN / 2);
        assert!(drawn.iter().all(|sample| sample.is_used && sample.error >= 0.0));
        assert_eq!(thinned(&many[..7]).len(), 7);
    }

    #[test]
    fn x24_one_slow_round_does_not_press_the_others_flat() {
        let mut samples = vec![sample(0.0, 1_000.0, true); 9];
        samples.push(sample(1.0, 1e9, true));
        let (low, high) = heights(&samples);
        assert!(low > -2_000.0 && high < 2_000.0, "{low} {high}");
    }
}
