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
mod tests;
