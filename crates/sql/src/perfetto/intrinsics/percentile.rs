//! Percentiles of the values of a group, or of a window (SF8).
//!
//! | function | result |
//! |---|---|
//! | `percentile(y, p)` | the value that p percent of the values do not exceed, on the line between two of them |
//! | `percentile_cont(y, p)` | the same, with p from 0 to 1 |
//! | `percentile_disc(y, p)` | the value at or below that place, with p from 0 to 1 |
//! | `median(y)` | `percentile(y, 50)` |
//!
//! They are those of SQLite's extension `percentile`, which trace processor contains.

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, WindowAggregate};
use rusqlite::types::ValueRef;

use super::call::{Call, PURE};
use super::limits::{Budget, failed};
use crate::Result;

const ALL: [Percentile; 4] = [
    Percentile { name: "percentile", most: Some(100.0), is_discrete: false },
    Percentile { name: "percentile_cont", most: Some(1.0), is_discrete: false },
    Percentile { name: "percentile_disc", most: Some(1.0), is_discrete: true },
    Percentile { name: "median", most: None, is_discrete: false },
];

/// Registers those that SQLite does not have itself: `has` tells.
pub fn register(conn: &Connection, has: impl Fn(&str) -> bool) -> rusqlite::Result<()> {
    for function in ALL.into_iter().filter(|function| !has(function.name)) {
        let count = 1 + i32::from(function.most.is_some());
        conn.create_window_function(function.name, count, PURE, function)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Percentile {
    name: &'static str,
    /// The largest second argument; without one the place is the middle.
    most: Option<f64>,
    is_discrete: bool,
}

/// The values of a window or group.
struct Gathered {
    values: Vec<f64>,
    is_sorted: bool,
    /// From 0 to 1, that of the first row.
    place: Option<f64>,
    budget: Budget,
}

impl Percentile {
    /// The first argument of a row; `None` for NULL.
    fn number(self, call: Call<'_, '_>) -> Result<Option<f64>> {
        const NAME: &str = "y";
        match call.value(0) {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value as f64)),
            ValueRef::Real(value) if value.is_finite() => Ok(Some(value)),
            _ => Err(call.arguments().must_be(0, NAME, "a finite number or NULL")),
        }
    }

    /// The second argument of a row, from 0 to 1.
    fn place(self, call: Call<'_, '_>) -> Result<f64> {
        let Some(most) = self.most else {
            return Ok(0.5);
        };
        let given = match call.value(1) {
            ValueRef::Integer(value) => Some(value as f64),
            ValueRef::Real(value) => Some(value),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).unwrap_or_default().trim_ascii();
                text.parse().ok()
            }
            ValueRef::Null | ValueRef::Blob(_) => None,
        };
        let place = given.map(|given: f64| given / most);
        place.filter(|place| (0.0..=1.0).contains(place)).ok_or_else(|| {
            let expected = format!("a number from 0 to {most}");
            call.arguments().must_be(1, "p", &expected)
        })
    }

    fn add(self, call: Call<'_, '_>, gathered: &mut Gathered) -> Result<()> {
        /// The tolerance of SQLite's extension for the same place.
        const SAME: f64 = 0.001;
        let place = self.place(call)?;
        let first = *gathered.place.get_or_insert(place);
        if (place - first).abs() > SAME {
            let first = first * self.most.unwrap_or(1.0);
            // Without the rounding of the division.
            let first = (first * 1e9).round() / 1e9;
            let expected = format!("the same for all rows, {first}");
            return Err(call.arguments().must_be(1, "p", &expected));
        }
        if let Some(value) = self.number(call)? {
            gathered.budget.take(size_of::<f64>())?;
            gathered.values.push(value);
            gathered.is_sorted = false;
        }
        Ok(())
    }

    fn result(self, gathered: &mut Gathered) -> Option<f64> {
        if !gathered.is_sorted {
            gathered.values.sort_unstable_by(f64::total_cmp);
            gathered.is_sorted = true;
        }
        let last = gathered.values.len().checked_sub(1)?;
        let place = gathered.place? * last as f64;
        let index = (place as usize).min(last);
        let low = *gathered.values.get(index)?;
        if self.is_discrete {
            return Some(low);
        }
        let high = gathered.values.get(index.saturating_add(1)).unwrap_or(&low);
        Some(low + (high - low) * (place - index as f64))
    }
}

impl Aggregate<Gathered, Option<f64>> for Percentile {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Gathered> {
        Ok(Gathered {
            values: Vec::new(),
            is_sorted: true,
            place: None,
            budget: Budget::new(self.name),
        })
    }

    fn step(&self, ctx: &mut Context<'_>, gathered: &mut Gathered) -> rusqlite::Result<()> {
        let call = Call::new(self.name, ctx);
        self.add(call, gathered).map_err(failed)
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        gathered: Option<Gathered>,
    ) -> rusqlite::Result<Option<f64>> {
        Ok(gathered.and_then(|mut gathered| self.result(&mut gathered)))
    }
}

impl WindowAggregate<Gathered, Option<f64>> for Percentile {
    fn value(&self, gathered: Option<&mut Gathered>) -> rusqlite::Result<Option<f64>> {
        Ok(gathered.and_then(|gathered| self.result(gathered)))
    }

    fn inverse(&self, ctx: &mut Context<'_>, gathered: &mut Gathered) -> rusqlite::Result<()> {
        let call = Call::new(self.name, ctx);
        let Some(value) = self.number(call).map_err(failed)? else {
            return Ok(());
        };
        let mut values = gathered.values.iter();
        let at = match gathered.is_sorted {
            true => (gathered.values.binary_search_by(|known| known.total_cmp(&value))).ok(),
            false => values.position(|known| known.total_cmp(&value).is_eq()),
        };
        if let Some(at) = at {
            gathered.values.remove(at);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
