//! Generated traces, compared with the generator's truth.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use crate::synth::{Row, Settings, Truth};
use rusqlite::Connection;
use timebase_import::{Monitor, Options, Source};

use crate::accuracy::error::Error;
use crate::accuracy::off::Off;

/// The result for a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The error of nearest neighbour.
    pub nearest: Off,
    /// The error of the rate-aware conversion.
    pub linear: Off,
    /// The same without readings after the last snapshot of their clock.
    pub between: Off,
    /// The errors of nearest neighbour and of the rate-aware conversion on lines between two
    /// snapshots: neither before the first snapshot nor after the last one, nor in a step.
    pub on_lines: [Off; 2],
    /// The share of its readings within the stated error.
    pub inside: f64,
    /// The median of that error, in nanoseconds.
    pub bar: f64,
    /// The inversions of nearest neighbour.
    pub nearest_inversions: Inversions,
    /// The inversions of linear.
    pub linear_inversions: Inversions,
}

/// The result for several traces that only differ by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredSeeds {
    /// Their number.
    pub seeds: u64,
    /// All of their readings together.
    pub all: Measured,
    /// The largest ratio of a trace.
    pub worst_ratio: f64,
    /// The smallest share of readings within the stated error.
    pub worst_inside: f64,
}

/// Pairs of readings whose times are in the wrong order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inversions {
    /// Neighbouring readings of one clock.
    pub of_one_clock: u64,
    /// Neighbouring readings of any clocks.
    pub of_any: u64,
}

impl Inversions {
    fn add(&mut self, other: Inversions) {
        self.of_one_clock += other.of_one_clock;
        self.of_any += other.of_any;
    }
}

impl Measured {
    /// The ratio of nearest neighbour's error to linear's, by the root mean square.
    pub fn better(&self) -> f64 {
        self.nearest.rms / self.linear.rms
    }

    /// The part of nearest neighbour's error that linear has on lines, by the root mean square.
    pub fn ratio(&self) -> f64 {
        let [nearest, linear] = self.on_lines;
        linear.rms / nearest.rms
    }

    /// The ratio of the stated error to the true error, by their medians.
    pub fn bar_of_error(&self) -> f64 {
        self.bar / self.linear.median
    }
}

/// The packets with a known time, in the order in which they happened.
const TIMES: &str = "
    SELECT p.id, p.clock_id, p.ts, i.ts, i.latest - i.ts, p.clock_ts <= last.value, p.clock_ts
    FROM packet AS p
    JOIN packet_interval AS i ON i.id = p.id
    JOIN (
      SELECT clock_id, max(timestamp) AS value FROM clock_snapshot GROUP BY clock_id
    ) AS last ON last.clock_id = p.clock_id
    WHERE p.timestamp IS NOT NULL
    ORDER BY p.id";

/// The places where each clock has a line to BOOTTIME, and where it does not.
const LINES: &str = "
    SELECT clock_id, start_value, kind = 'line'
    FROM clock_mapping_linear
    WHERE to_clock_id = 6 AND start_value IS NOT NULL
    ORDER BY clock_id, start_value";

/// Makes a trace, imports it, and compares the times of its packets with the truth. Files are
/// temporarily in the directory.
///
/// # Errors
///
/// If making or importing the trace fails, or if a packet has no time.
pub fn measure(settings: &Settings, directory: &Path) -> Result<Measured, Error> {
    Ok(errors(settings, directory)?.measured())
}

/// Measures traces with this many seeds, from 1 on.
///
/// # Errors
///
/// The errors of [`measure`].
pub fn measure_seeds(
    settings: &Settings,
    seeds: u64,
    directory: &Path,
) -> Result<MeasuredSeeds, Error> {
    let mut all = Errors::default();
    let (mut worst_ratio, mut worst_inside) = (0.0, f64::INFINITY);
    for seed in 1..=seeds {
        let own = errors(&settings.clone().seed(seed), directory)?;
        all.add(&own);
        let measured = own.measured();
        worst_ratio = f64::max(worst_ratio, measured.ratio());
        worst_inside = worst_inside.min(measured.inside);
    }
    Ok(MeasuredSeeds { seeds, all: all.measured(), worst_ratio, worst_inside })
}

fn errors(settings: &Settings, directory: &Path) -> Result<Errors, Error> {
    let directory = tempfile::tempdir_in(directory)?;
    let (trace, database) = (directory.path().join("t.pftrace"), directory.path().join("t.db"));
    let mut truths = Vec::new();
    let mut file = File::create(&trace)?;
    crate::synth::write_with_truth(settings, &mut file, &mut |truth| {
        truths.push(truth);
        Ok(())
    })?;
    let mut options = Options::default();
    options.keep_data = false;
    options.subjects = Vec::new();
    timebase_import::import(&[Source::File(trace)], &database, &options, &Monitor::default())?;
    compare(&Connection::open(database)?, &truths)
}

/// The error of each reading, and its stated error, in nanoseconds.
#[derive(Default)]
struct Errors {
    nearest: Vec<f64>,
    linear: Vec<f64>,
    between: Vec<f64>,
    on_lines: [Vec<f64>; 2],
    bars: Vec<f64>,
    inside: u64,
    nearest_inversions: Inversions,
    linear_inversions: Inversions,
}

impl Errors {
    fn add(&mut self, other: &Errors) {
        self.nearest.extend(&other.nearest);
        self.linear.extend(&other.linear);
        self.between.extend(&other.between);
        for (own, other) in self.on_lines.iter_mut().zip(&other.on_lines) {
            own.extend(other);
        }
        self.bars.extend(&other.bars);
        self.inside += other.inside;
        self.nearest_inversions.add(other.nearest_inversions);
        self.linear_inversions.add(other.linear_inversions);
    }

    fn measured(self) -> Measured {
        Measured {
            inside: self.inside as f64 / self.linear.len() as f64,
            nearest: Off::of(self.nearest),
            linear: Off::of(self.linear),
            between: Off::of(self.between),
            on_lines: self.on_lines.map(Off::of),
            bar: Off::of(self.bars).median,
            nearest_inversions: self.nearest_inversions,
            linear_inversions: self.linear_inversions,
        }
    }
}

fn compare(conn: &Connection, truths: &[Truth]) -> Result<Errors, Error> {
    let truths = truths.iter().filter_map(|truth| match truth.row {
        Row::Packet(id) => Some((id.cast_signed(), truth.boottime)),
        _ => None,
    });
    let truths: HashMap<i64, i64> = truths.collect();
    let mut errors = Errors::default();
    let (mut nearest_order, mut linear_order) = (Order::default(), Order::default());
    let lines = Lines::of(conn)?;
    let mut statement = conn.prepare(TIMES)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, clock): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (Some(&truth), Some(by_nearest), Some(by_linear), Some(bar)) = (
            truths.get(&id),
            row.get::<_, Option<i64>>(2)?,
            row.get::<_, Option<i64>>(3)?,
            row.get::<_, Option<i64>>(4)?,
        ) else {
            return Err(Error::Unplaced { id });
        };
        let off = by_linear.abs_diff(truth);
        let both = [by_nearest.abs_diff(truth), off].map(|off| off as f64);
        let [off_by_nearest, off_by_linear] = both;
        errors.nearest.push(off_by_nearest);
        errors.linear.push(off_by_linear);
        if row.get(5)? {
            errors.between.push(off_by_linear);
        }
        if lines.holds(clock, row.get(6)?) {
            for (errors, off) in errors.on_lines.iter_mut().zip(both) {
                errors.push(off);
            }
        }
        errors.bars.push(bar as f64);
        errors.inside += u64::from(off <= bar.unsigned_abs());
        nearest_order.add(clock, by_nearest);
        linear_order.add(clock, by_linear);
    }
    errors.nearest_inversions = nearest_order.inversions;
    errors.linear_inversions = linear_order.inversions;
    Ok(errors)
}

/// The places where a clock has a line between two snapshots, in the order of its values.
struct Lines(HashMap<i64, Vec<(i64, bool)>>);

impl Lines {
    fn of(conn: &Connection) -> Result<Lines, Error> {
        let mut lines: HashMap<i64, Vec<(i64, bool)>> = HashMap::new();
        let mut statement = conn.prepare(LINES)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let of_clock = lines.entry(row.get(0)?).or_default();
            of_clock.push((row.get(1)?, row.get(2)?));
        }
        Ok(Lines(lines))
    }

    fn holds(&self, clock: i64, value: i64) -> bool {
        let of_clock = self.0.get(&clock).map_or(&[][..], Vec::as_slice);
        let begun = of_clock.partition_point(|&(start, _)| start <= value);
        let last = begun.checked_sub(1).and_then(|last| of_clock.get(last));
        last.is_some_and(|&(_, is_line)| is_line)
    }
}

/// The times of readings, one after the other.
#[derive(Default)]
struct Order {
    last: Option<i64>,
    /// By clock.
    last_of: HashMap<i64, i64>,
    inversions: Inversions,
}

impl Order {
    fn add(&mut self, clock: i64, ts: i64) {
        let is_before = |last: Option<i64>| u64::from(last.is_some_and(|last| ts < last));
        self.inversions.of_any += is_before(self.last.replace(ts));
        self.inversions.of_one_clock += is_before(self.last_of.insert(clock, ts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_those_of_neighbours_of_a_clock_and_of_all() {
        let mut order = Order::default();
        for (clock, ts) in [(1, 10), (2, 5), (1, 20), (2, 5), (1, 19), (2, 25)] {
            order.add(clock, ts);
        }
        let expected = Inversions {
            of_one_clock: 1, // 20 and 19
            of_any: 2,       // 10 and 5, 20 and 5
        };
        assert_eq!(order.inversions, expected);
    }
}
