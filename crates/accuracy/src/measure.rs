//! Generated traces, against what the generator knows to be true.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use rusqlite::Connection;
use timebase_import::{Monitor, Options, Source};
use timebase_synth::{Row, Settings, Truth};

use crate::error::Error;
use crate::off::Off;

/// What was measured of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// How far nearest neighbour is off.
    pub nearest: Off,
    /// How far the rate-aware conversion is.
    pub linear: Off,
    /// The same without what was read after the last snapshot of its clock.
    pub between: Off,
    /// The share of its readings that are within the error that is stated.
    pub inside: f64,
    /// The median of that error, in nanoseconds.
    pub bar: f64,
    /// What nearest neighbour puts the other way round.
    pub nearest_inversions: Inversions,
    /// What linear does.
    pub linear_inversions: Inversions,
}

/// Readings whose times are the other way round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inversions {
    /// Of two readings of a clock, one after the other.
    pub of_one_clock: u64,
    /// Of two readings of any clocks, one after the other.
    pub of_any: u64,
}

impl Measured {
    /// How many times better linear is, by the root mean square.
    pub fn better(&self) -> f64 {
        self.nearest.rms / self.linear.rms
    }

    /// How many times the true error the stated one is, by their medians.
    pub fn bar_of_error(&self) -> f64 {
        self.bar / self.linear.median
    }
}

/// The packets of which a time is known, in the order in which they were.
const TIMES: &str = "
    SELECT p.id, p.clock_id, p.ts, i.ts, i.latest - i.ts, p.clock_ts <= last.value
    FROM packet AS p
    JOIN packet_interval AS i ON i.id = p.id
    JOIN (
      SELECT clock_id, max(timestamp) AS value FROM clock_snapshot GROUP BY clock_id
    ) AS last ON last.clock_id = p.clock_id
    WHERE p.timestamp IS NOT NULL
    ORDER BY p.id";

/// Makes a trace, imports it, and holds the times of its packets against the truth. Files are
/// in the directory meanwhile.
///
/// # Errors
///
/// If the trace cannot be made or imported, or a packet has no time.
pub fn measure(settings: &Settings, directory: &Path) -> Result<Measured, Error> {
    let directory = tempfile::tempdir_in(directory)?;
    let (trace, database) = (
        directory.path().join("t.pftrace"),
        directory.path().join("t.db"),
    );
    let mut truths = Vec::new();
    let mut file = File::create(&trace)?;
    timebase_synth::write_with_truth(settings, &mut file, &mut |truth| {
        truths.push(truth);
        Ok(())
    })?;
    let options = Options {
        keep_data: false,
        subjects: Vec::new(),
        ..Options::default()
    };
    timebase_import::import(
        &[Source::File(trace)],
        &database,
        &options,
        &Monitor::default(),
    )?;
    compare(&Connection::open(database)?, &truths)
}

fn compare(conn: &Connection, truths: &[Truth]) -> Result<Measured, Error> {
    let truths = truths.iter().filter_map(|truth| match truth.row {
        Row::Packet(id) => Some((id.cast_signed(), truth.boottime)),
        _ => None,
    });
    let truths: HashMap<i64, i64> = truths.collect();
    let (mut nearest, mut linear, mut bars) = (Vec::new(), Vec::new(), Vec::new());
    let mut between = Vec::new();
    let (mut nearest_order, mut linear_order) = (Order::default(), Order::default());
    let mut inside = 0;
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
        nearest.push(by_nearest.abs_diff(truth) as f64);
        linear.push(off as f64);
        if row.get(5)? {
            between.push(off as f64);
        }
        bars.push(bar as f64);
        inside += u64::from(off <= bar.unsigned_abs());
        nearest_order.add(clock, by_nearest);
        linear_order.add(clock, by_linear);
    }
    Ok(Measured {
        inside: inside as f64 / linear.len() as f64,
        nearest: Off::of(nearest),
        linear: Off::of(linear),
        between: Off::of(between),
        bar: Off::of(bars).median,
        nearest_inversions: nearest_order.inversions,
        linear_inversions: linear_order.inversions,
    })
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
