//! Values of counters that are said again and again (rules CU4, RT15).
//!
//! # Design
//!
//! Each packet gives a value to every track of its sequence, although most values have not changed.
//! Among equal values, only the first and the last become rows. The last value is remembered, and
//! becomes a row when another value follows it.

use rustc_hash::FxHashMap;

use super::series::CounterSample;
use crate::world::TrackId;

/// The last values of tracks.
#[derive(Debug, Default)]
pub(super) struct Sparse(FxHashMap<TrackId, Written>);

/// The last value of a track.
#[derive(Debug)]
struct Written {
    value: u64,
    /// The time of the last equal value after its row.
    again: Option<i64>,
}

impl Sparse {
    /// Writes a value as a row, unless the previous one is equal.
    pub fn put(&mut self, track: TrackId, value: u64, sample: &mut CounterSample<'_, '_, '_>) {
        let now = Written { value, again: None };
        match self.0.get_mut(&track) {
            Some(before) if before.value == value => {
                before.again = Some(sample.ts);
                return;
            }
            Some(before) => {
                if let Some(ts) = before.again {
                    let (world, rows) = (&mut *sample.at.world, &mut *sample.at.rows);
                    world.value(ts, track, before.value as f64, None, rows);
                }
                *before = now;
            }
            None => {
                self.0.insert(track, now);
            }
        }
        sample.put_on(track, value as f64, &[]);
    }
}
