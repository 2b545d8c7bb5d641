//! The error of a clock's times: the errors of its line, along the readings.

use rusqlite::{Connection, params};

use crate::clocks::Key;
use crate::error::{Error, Reading};
use crate::trail::distance;

/// Up to this many corners of a band are kept unchanged.
const MOST: usize = 160;
/// A longer band is cut into this many parts.
const PARTS: usize = 100;

/// The error at a reading, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner {
    /// The reading, in ns since the hop's first.
    pub from: f64,
    pub error: f64,
    pub kind: Stretch,
}

/// The part of the line that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// Between two readings.
    Line,
    /// Before the first reading, or after the last.
    Outside,
}

/// The errors of a clock's line to another clock, from one reading to another. `since` and `until`
/// count from `origin`. If there are many pieces, the result has the greatest error of each of
/// [`PARTS`] parts. In a step, the error is the size of the step, which the page states beside it.
pub fn read(
    database: &Connection,
    clock: Key,
    target: i64,
    origin: i64,
    (since, until): (f64, f64),
) -> Result<Vec<Corner>, Error> {
    pieces(database, clock, target, origin, (since, until)).reading("lines between snapshots")
}

fn pieces(
    database: &Connection,
    clock: Key,
    target: i64,
    origin: i64,
    (since, until): (f64, f64),
) -> rusqlite::Result<Vec<Corner>> {
    let mut statement = database.prepare(
        "SELECT start_value, end_value, error, error_slope, kind FROM clock_mapping_linear
         WHERE machine_id = ?1 AND clock_id = ?2 AND seq_id = ?3 AND to_clock_id = ?4 AND trace_file_id IS ?5
           AND kind <> 'step' AND error IS NOT NULL",
    )?;
    let mut rows = statement.query(params![
        clock.machine,
        clock.id,
        clock.sequence,
        target,
        clock.own_file()
    ])?;
    let mut corners = Corners::new(since, until);
    while let Some(row) = rows.next()? {
        let of = |value: Option<i64>| value.map(|value| distance(origin, value));
        let (start, end) = (of(row.get(0)?), of(row.get(1)?));
        let (error, slope): (f64, f64) = (row.get(2)?, row.get(3)?);
        let kind: String = row.get(4)?;
        let kind = match kind.as_str() {
            "line" => Stretch::Line,
            _ => Stretch::Outside,
        };
        // Before all readings, the error starts at their beginning.
        let Some(anchor) = start.or(end) else {
            continue;
        };
        let (low, high) = (start.unwrap_or(since), end.unwrap_or(until));
        let (low, high) = (low.max(since), high.min(until));
        let at = |from: f64| Corner { from, error: error + (from - anchor) * slope, kind };
        if low <= high && at(low).error.is_finite() && at(high).error.is_finite() {
            corners.add(at(low), at(high));
        }
    }
    Ok(corners.finish())
}

/// The corners so far: all of them, or the reduced ones if there are many.
struct Corners {
    since: f64,
    until: f64,
    exact: Vec<Corner>,
    /// For each part, the greatest error.
    parts: Option<Vec<Option<Corner>>>,
}

impl Corners {
    fn new(since: f64, until: f64) -> Corners {
        Corners { since, until, exact: Vec::new(), parts: None }
    }

    fn add(&mut self, low: Corner, high: Corner) {
        if let Some(parts) = &mut self.parts {
            spread(parts, (self.since, self.until), low, high);
            return;
        }
        self.exact.extend([low, high]);
        if self.exact.len() > MOST {
            let mut parts = vec![None; PARTS];
            for piece in self.exact.chunks_exact(2) {
                if let [low, high] = *piece {
                    spread(&mut parts, (self.since, self.until), low, high);
                }
            }
            self.exact.clear();
            self.parts = Some(parts);
        }
    }

    fn finish(self) -> Vec<Corner> {
        match self.parts {
            None => {
                let mut corners = self.exact;
                corners.sort_by(|one, other| one.from.total_cmp(&other.from));
                corners
            }
            Some(parts) => parts.into_iter().flatten().collect(),
        }
    }
}

/// Notes a piece in all parts that it touches, at the middle of each.
fn spread(parts: &mut [Option<Corner>], (since, until): (f64, f64), low: Corner, high: Corner) {
    let width = (until - since) / parts.len() as f64;
    let place = |from: f64| ((from - since) / width).floor().max(0.0) as usize;
    let last = parts.len().saturating_sub(1);
    let (first, end) = (place(low.from).min(last), place(high.from).min(last));
    let slope = (high.error - low.error) / (high.from - low.from).max(1.0);
    for (index, part) in parts.iter_mut().enumerate().take(end + 1).skip(first) {
        let edges = [index as f64, index as f64 + 1.0].map(|edge| since + edge * width);
        let error = edges
            .map(|edge| low.error + (edge.clamp(low.from, high.from) - low.from) * slope)
            .into_iter()
            .fold(0.0, f64::max);
        let kept = part.filter(|kept| kept.error >= error);
        *part = Some(kept.unwrap_or(Corner {
            from: since + (index as f64 + 0.5) * width,
            error,
            kind: low.kind,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pieces_keep_the_greatest_error_of_each_part() {
        let mut corners = Corners::new(0.0, 100_000.0);
        for index in 0..10_000 {
            let start = f64::from(index) * 10.0;
            let error = if index == 5_555 { 900.0 } else { 100.0 };
            let at = |from| Corner { from, error, kind: Stretch::Line };
            corners.add(at(start), at(start + 10.0));
        }
        let corners = corners.finish();
        assert_eq!(corners.len(), PARTS);
        let large: Vec<f64> = corners
            .iter()
            .filter(|corner| corner.error > 100.0)
            .map(|corner| corner.from)
            .collect();
        assert_eq!(large, [55_500.0]);
        assert!(corners.iter().all(|corner| corner.error >= 100.0));
    }
}
