//! The readings of hops, reduced to as few points as a plot can show.
//!
//! # Design
//!
//! One pass over the snapshots, in file order, reads all hops, because no index leads to the
//! readings of a clock. A hop keeps up to [`MOST`] dots: if there are more, two neighbours become
//! one dot that spans both, from the least to the greatest value. So memory does not grow with the
//! trace, and no extreme value is lost, as it would be if only every tenth reading was shown. The
//! alternative was SQL with window functions; it would read all snapshots once for each hop.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::clocks::{Hop, HopSource, Key};
use crate::error::{Error, Reading};

/// The largest number of dots of a hop.
pub const MOST: usize = 400;
/// The number of outliers and steps of a hop that are shown individually.
const MARKED: usize = 100;
/// The number of outliers and steps of all hops that are distinguished from readings.
const KNOWN: i64 = 200_000;
/// The number of readings of a snapshot that are used. There are a dozen clocks.
const TOGETHER: usize = 4_096;

/// One reading, or neighbouring readings. Times are in ns: `at` is trace time since the page's
/// beginning, `from` the source clock since its first reading, and the others how much further the
/// target went than by its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    pub at: f64,
    pub until: f64,
    pub from: f64,
    pub low: f64,
    pub high: f64,
    pub readings: u64,
}

impl Dot {
    /// The point on the line.
    pub fn middle(self) -> (f64, f64) {
        (self.at / 2.0 + self.until / 2.0, self.low / 2.0 + self.high / 2.0)
    }

    fn with(self, next: Dot) -> Dot {
        Dot {
            at: self.at.min(next.at),
            until: self.until.max(next.until),
            from: self.from,
            low: self.low.min(next.low),
            high: self.high.max(next.high),
            readings: self.readings + next.readings,
        }
    }
}

/// A reading that is not on the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    pub at: f64,
    pub value: f64,
}

/// The change between two readings if one of the clocks was set or stood still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub from: f64,
    pub until: f64,
    pub size_ns: f64,
}

impl Step {
    /// The same step, if time began later.
    pub fn earlier(self, by: f64) -> Step {
        Step { from: self.from - by, until: self.until - by, ..self }
    }
}

/// The readings of a hop. The dots do not include steps: each dot continues from the previous one.
#[derive(Debug, Default)]
pub struct Trail {
    pub dots: Vec<Dot>,
    pub outliers: Vec<Outlier>,
    pub steps: Vec<Step>,
    /// The number of readings in a full dot.
    each: u64,
    rate: f64,
    origin: Option<Point>,
    last: Option<Point>,
    last_value: f64,
    shift: f64,
}

/// The values of both clocks.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: f64,
    from: i64,
    to: i64,
}

/// The kind of a reading that is not on the line, from the import.
#[derive(Clone, Copy, Debug)]
enum OffLine {
    Outlier,
    Step(f64),
}

/// The distance between two numbers.
pub fn distance(from: i64, to: i64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64
}

impl Trail {
    fn new(hop: &Hop) -> Trail {
        Trail { each: 1, rate: hop.rate(), ..Trail::default() }
    }

    /// The target's advance since `origin` beyond the source's at the hop's rate, without steps.
    fn value(&self, origin: Point, point: Point) -> f64 {
        let (from, to) = (distance(origin.from, point.from), distance(origin.to, point.to));
        // The order matters, because both are large and nearly equal.
        (to - from) - from * (self.rate - 1.0) + self.shift
    }

    fn push(&mut self, point: Point, kind: Option<OffLine>) {
        let origin = *self.origin.get_or_insert(point);
        if self.last.is_some_and(|last| last.from == point.from) {
            return;
        }
        let value = self.value(origin, point);
        match (kind, self.last) {
            (Some(OffLine::Outlier), _) => {
                if self.outliers.len() < MARKED {
                    let at = point.at;
                    self.outliers.push(Outlier { at, value });
                }
                return;
            }
            (Some(OffLine::Step(size_ns)), Some(last)) => {
                self.shift += self.last_value - value;
                if self.steps.len() < MARKED {
                    self.steps.push(Step { from: last.at, until: point.at, size_ns });
                }
            }
            _ => {}
        }
        let value = self.value(origin, point);
        (self.last, self.last_value) = (Some(point), value);
        let dot = Dot {
            at: point.at,
            until: point.at,
            from: distance(origin.from, point.from),
            low: value,
            high: value,
            readings: 1,
        };
        match self.dots.last_mut() {
            Some(open) if open.readings < self.each => *open = open.with(dot),
            _ => self.dots.push(dot),
        }
        if self.dots.len() > MOST {
            self.each = self.each.saturating_mul(2);
            let pairs = self.dots.chunks(2);
            let joined = pairs.filter_map(|pair| pair.iter().copied().reduce(Dot::with));
            self.dots = joined.collect();
        }
    }

    /// Puts the first reading at 0, and all readings in the order of time.
    fn finish(&mut self) {
        let Some(first) = self.dots.first().copied() else {
            return;
        };
        let (_, zero) = first.middle();
        for dot in &mut self.dots {
            dot.low -= zero;
            dot.high -= zero;
        }
        for outlier in &mut self.outliers {
            outlier.value -= zero;
        }
        self.dots.sort_by(|one, other| one.at.total_cmp(&other.at));
    }

    /// The first reading of the source clock.
    pub fn origin(&self) -> Option<i64> {
        self.origin.map(|origin| origin.from)
    }

    /// Nanoseconds of the target in a nanosecond of the source.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether a dot represents more than one reading.
    pub fn is_joined(&self) -> bool {
        self.each > 1
    }
}

/// Reads the readings of the hops, with times since `begin`.
pub fn read(database: &Connection, hops: &[Hop], begin: i64) -> Result<Vec<Trail>, Error> {
    let off = off_line(database, hops).reading("readings that are off the line")?;
    let mut trails: Vec<Trail> = hops.iter().map(Trail::new).collect();
    snapshots(database, |snapshot, readings| {
        for (index, (hop, trail)) in hops.iter().zip(&mut trails).enumerate() {
            let of = |key: Key| readings.iter().find(|reading| reading.key == key);
            let Some((from, to)) = of(hop.from).zip(of(hop.to)) else {
                continue;
            };
            let ts = from.ts.or(to.ts);
            if let Some(ts) = ts.filter(|_| from.source == hop.source) {
                let point = Point { at: distance(begin, ts), from: from.value, to: to.value };
                trail.push(point, off.get(&(index, snapshot)).copied());
            }
        }
    })
    .reading("clock snapshots")?;
    for trail in &mut trails {
        trail.finish();
    }
    Ok(trails)
}

/// A reading of a snapshot.
struct Taken {
    key: Key,
    source: HopSource,
    value: i64,
    ts: Option<i64>,
}

fn snapshots(database: &Connection, mut each: impl FnMut(i64, &[Taken])) -> rusqlite::Result<()> {
    let mut statement = database.prepare(
        "SELECT snapshot_id, machine_id, clock_id, seq_id, source, clock_value, ts, trace_file_id
         FROM clock_snapshot ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    let mut current = None;
    let mut taken: Vec<Taken> = Vec::new();
    while let Some(row) = rows.next()? {
        let snapshot = row.get(0)?;
        if current != Some(snapshot) {
            if let Some(current) = current {
                each(current, &taken);
            }
            taken.clear();
            current = Some(snapshot);
        }
        if taken.len() < TOGETHER {
            taken.push(Taken {
                key: Key::of_row(row, 1, 7)?,
                source: HopSource::of_row(row, 4)?,
                value: row.get(5)?,
                ts: row.get(6)?,
            });
        }
    }
    if let Some(current) = current {
        each(current, &taken);
    }
    Ok(())
}

fn off_line(
    database: &Connection,
    hops: &[Hop],
) -> rusqlite::Result<HashMap<(usize, i64), OffLine>> {
    let places: HashMap<i64, usize> =
        hops.iter().enumerate().map(|(index, hop)| (hop.id, index)).collect();
    let mut statement = database.prepare(
        "SELECT hop_id, snapshot_id, kind, deviation_ns FROM clock_hop_reading LIMIT ?1",
    )?;
    let mut rows = statement.query([KNOWN])?;
    let mut off = HashMap::new();
    while let Some(row) = rows.next()? {
        let (place, snapshot): (_, Option<i64>) = (places.get(&row.get(0)?), row.get(1)?);
        let Some((place, snapshot)) = place.zip(snapshot) else {
            continue;
        };
        let kind: String = row.get(2)?;
        let deviation: Option<f64> = row.get(3)?;
        let kind = match kind.as_str() {
            "step" => OffLine::Step(deviation.unwrap_or(0.0)),
            _ => OffLine::Outlier,
        };
        off.insert((*place, snapshot), kind);
    }
    Ok(off)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(rate: f64) -> Trail {
        Trail { each: 1, rate, ..Trail::default() }
    }

    fn point(at: i64, to: i64) -> Point {
        Point { at: at as f64, from: at, to }
    }

    #[test]
    fn what_is_joined_keeps_its_least_and_its_greatest() {
        let mut trail = trail(1.0);
        for at in 0..10_000 {
            // An outstanding reading, between two that are shown.
            let extra = if at == 4_321 { 77 } else { at % 3 };
            trail.push(point(at, at + extra), None);
        }
        trail.finish();
        assert!(trail.dots.len() <= MOST && trail.is_joined());
        assert_eq!(trail.dots.iter().map(|dot| dot.readings).sum::<u64>(), 10_000);
        let high = trail.dots.iter().map(|dot| dot.high).fold(0.0, f64::max);
        let low = trail.dots.iter().map(|dot| dot.low).fold(0.0, f64::min);
        assert_eq!(high - low, 77.0);
        let apart = trail.dots.windows(2).all(|two| two[0].until < two[1].at);
        assert!(apart);
    }

    #[test]
    fn a_step_is_taken_out_and_noted() {
        let mut trail = trail(1.0);
        trail.push(point(0, 5), None);
        trail.push(point(10, 16), None);
        trail.push(point(20, 1_026), Some(OffLine::Step(1_000.0)));
        trail.push(point(30, 1_038), None);
        trail.finish();
        let values: Vec<f64> = trail.dots.iter().map(|dot| dot.low).collect();
        assert_eq!(values, [0.0, 1.0, 1.0, 3.0]);
        let step = Step { from: 10.0, until: 20.0, size_ns: 1_000.0 };
        assert_eq!(trail.steps, [step]);
    }

    #[test]
    fn an_outlier_is_no_dot_even_if_it_comes_first() {
        let mut trail = trail(2.0);
        trail.push(point(0, 900), Some(OffLine::Outlier));
        trail.push(point(10, 20), None);
        trail.push(point(20, 40), None);
        trail.push(point(20, 70), None);
        trail.finish();
        assert_eq!(trail.dots.len(), 2);
        assert!(trail.dots.iter().all(|dot| dot.low == 0.0));
        let outlier = Outlier { at: 0.0, value: 900.0 };
        assert_eq!(trail.outliers, [outlier]);
    }

    #[test]
    fn the_greatest_numbers_are_far_from_the_least() {
        let mut trail = trail(1.0);
        trail.push(point(i64::MIN, i64::MAX), None);
        trail.push(point(i64::MAX, i64::MIN), None);
        trail.finish();
        assert!(trail.dots.iter().all(|dot| dot.low.is_finite()));
    }
}
