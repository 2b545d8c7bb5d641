//! Counters: from values at times to intervals with a value.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_counter_per_track_agg(id, ts, track_id, value)` | the values of each track, in the order of the rows; `ts` in nanoseconds |
//! | `__intrinsic_counter_intervals('leading', trace_end, counters)` | a table with `id`, `ts`, `dur` (ns), `track_id`, `value`, `next_value`, `delta_value`; a track's last interval ends at `trace_end` (ns) |
//!
//! Of equal values in a row, the first two and the last one count, as in trace processor: a counter
//! that returns to 0 should show 0, but a long run of 0 needs no more intervals.

use std::collections::HashMap;
use std::ffi::c_int;

use rusqlite::Connection;

use crate::Result;

use super::again::Again;
use super::call::{Call, Gather, PURE, gather, scalar};
use super::limits::{Budget, Watch, connection};
use super::pointer::{Handed, Pointer, kind};
use super::table::{Cell, Column, Table};

const INTERVALS: &str = "__intrinsic_counter_intervals";

const COLUMNS: [&str; 7] = ["id", "ts", "dur", "track_id", "value", "next_value", "delta_value"];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)?;
    let again = Again::new();
    scalar(conn, INTERVALS, 3, PURE, move |call| intervals(call, &again))
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    id: i64,
    ts: i64,
    value: f64,
}

#[derive(Debug)]
struct Track {
    id: u32,
    samples: Vec<Sample>,
    /// The last sample of a run of equal values, from the third on.
    repeated: Option<Sample>,
}

impl Track {
    fn add(&mut self, sample: Sample) {
        let is_third = match self.samples.as_slice() {
            [.., first, second] => first.value == sample.value && second.value == sample.value,
            _ => false,
        };
        match is_third {
            true => self.repeated = Some(sample),
            false => {
                self.samples.extend(self.repeated.take());
                self.samples.push(sample);
            }
        }
    }
}

/// The tracks in the order of their first rows.
#[derive(Debug, Default)]
struct Counters {
    tracks: Vec<Track>,
}

impl Handed for Counters {
    const KIND: &'static std::ffi::CStr = kind!("counters");
}

struct Gathered {
    counters: Counters,
    by_track: HashMap<u32, usize>,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_counter_per_track_agg";
    const COUNT: c_int = 4;
    type Output = Counters;

    fn start() -> Gathered {
        Gathered {
            counters: Counters::default(),
            by_track: HashMap::new(),
            budget: Budget::new(Self::NAME),
        }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        let track = call.id(2, "track_id")?;
        let sample = Sample {
            id: call.integer(0, "id")?,
            ts: call.integer(1, "ts")?,
            value: call.real(3, "value")?.unwrap_or(0.0),
        };
        self.budget.take(size_of::<Sample>())?;
        let tracks = &mut self.counters.tracks;
        let at = *self.by_track.entry(track).or_insert_with(|| {
            tracks.push(Track { id: track, samples: Vec::new(), repeated: None });
            tracks.len() - 1
        });
        if let Some(track) = tracks.get_mut(at) {
            track.add(sample);
        }
        Ok(())
    }

    fn end(self, _call: Call<'_, '_>) -> Result<Counters> {
        Ok(self.counters)
    }
}

fn intervals(call: Call<'_, '_>, again: &Again<Counters>) -> Result<Pointer<Table>> {
    let mode = call.text(0, "mode")?;
    if !mode.eq_ignore_ascii_case("leading") {
        return Err(call.arguments().must_be(0, "mode", "'leading'"));
    }
    let trace_end = call.integer(1, "trace_end")?;
    let Some(counters) = call.pointer::<Counters>(2, "counters")? else {
        return Ok(Pointer::to(Table::empty(&COLUMNS)));
    };
    let values = std::slice::from_ref(&counters);
    let table =
        again.table(values, trace_end.to_string(), || rows_until(trace_end, &counters, call))?;
    Ok(table.into())
}

fn rows_until(trace_end: i64, counters: &Counters, call: Call<'_, '_>) -> Result<Table> {
    let conn = connection(call.context())?;
    let (mut watch, mut budget) = (Watch::new(&conn), Budget::new(INTERVALS));
    let mut rows = Rows::default();
    for track in &counters.tracks {
        for (index, sample) in track.samples.iter().enumerate() {
            watch.step()?;
            budget.take(4 * size_of::<i64>() + 3 * size_of::<Cell>())?;
            let next = track.samples.get(index + 1);
            let before = index.checked_sub(1).and_then(|before| track.samples.get(before));
            rows.ids.push(sample.id);
            rows.ts.push(sample.ts);
            rows.durs.push(next.map_or(trace_end, |next| next.ts).saturating_sub(sample.ts));
            rows.tracks.push(track.id.into());
            rows.values.push(Cell::Real(sample.value));
            rows.next_values.push(next.map_or(Cell::Null, |next| Cell::Real(next.value)));
            let delta = before.map(|before| sample.value - before.value);
            rows.deltas.push(delta.map_or(Cell::Null, Cell::Real));
        }
    }
    Ok(rows.table())
}

#[derive(Debug, Default)]
struct Rows {
    ids: Vec<i64>,
    ts: Vec<i64>,
    durs: Vec<i64>,
    tracks: Vec<i64>,
    values: Vec<Cell>,
    next_values: Vec<Cell>,
    deltas: Vec<Cell>,
}

impl Rows {
    fn table(self) -> Table {
        let count = self.ids.len();
        let columns = [
            Column::Integers(self.ids),
            Column::Integers(self.ts),
            Column::Integers(self.durs),
            Column::Integers(self.tracks),
            Column::Cells(self.values),
            Column::Cells(self.next_values),
            Column::Cells(self.deltas),
        ];
        Table::new(count, COLUMNS.into_iter().zip(columns))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, error, rows, table_query};

    fn intervals(values: &str) -> Vec<String> {
        let table = format!(
            "__intrinsic_counter_intervals('leading', 100, (SELECT __intrinsic_counter_per_track_agg(
                column1, column2, column3, column4) FROM (VALUES {values})))"
        );
        let columns = ["id", "ts", "dur", "track_id", "value", "next_value", "delta_value"];
        rows(&connection(), &table_query(&table, &columns))
    }

    #[test]
    fn pq9_an_interval_lasts_until_the_next_value_of_its_track() {
        let values = "(1, 0, 7, 10), (2, 5, 8, 1.5), (3, 20, 7, 30)";
        assert_eq!(
            intervals(values),
            ["1 0 20 7 10.0 30.0 NULL", "3 20 80 7 30.0 NULL 20.0", "2 5 95 8 1.5 NULL NULL"]
        );
    }

    #[test]
    fn pq10_the_third_and_later_equal_values_are_left_out() {
        // Of a run, the first two and the last one stay; the last run has no end.
        let values = "(1, 0, 7, 5), (2, 10, 7, 5), (3, 20, 7, 5), (4, 30, 7, 5), (5, 40, 7, 6),
            (6, 50, 7, 6), (7, 60, 7, 6)";
        let found = intervals(values);
        let starts: Vec<&str> = found.iter().filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(starts, ["1", "2", "4", "5", "6"]);
        assert_eq!(found[1], "2 10 20 7 5.0 5.0 0.0");
        assert_eq!(found[4], "6 50 50 7 6.0 NULL 0.0");
    }

    #[test]
    fn pq9_a_run_that_ends_at_the_time_0_keeps_its_last_value() {
        let values = "(1, -20, 7, 5), (2, -10, 7, 5), (3, 0, 7, 5), (4, 10, 7, 6)";
        let found = intervals(values);
        let starts: Vec<&str> = found.iter().filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(starts, ["1", "2", "3", "4"]);
    }

    #[test]
    fn pq9_no_counter_has_no_intervals() {
        let conn = connection();
        let table = "__intrinsic_counter_intervals('LEADING', 100, NULL)";
        assert_eq!(rows(&conn, &table_query(table, &["id"])), [""; 0]);
        assert_eq!(
            error(&conn, "SELECT __intrinsic_counter_intervals('lagging', 100, NULL)"),
            "__intrinsic_counter_intervals(): argument 1 (mode) must be 'leading', not the text 'lagging'"
        );
        assert_eq!(
            error(&conn, "SELECT __intrinsic_counter_intervals('leading', 100, 5)"),
            "__intrinsic_counter_intervals(): argument 3 (counters) must be the result of another \
             intrinsic, not 5"
        );
    }
}
