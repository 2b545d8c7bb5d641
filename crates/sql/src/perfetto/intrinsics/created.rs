//! Intervals from two lists of times: from each start to the first end after it.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_timestamp_set_agg(ts)` | the times of a table, in nanoseconds, in their order |
//! | `__intrinsic_interval_create(starts, ends)` | a table with `ts` and `dur` (ns); a start without a later end has no row |

use std::ffi::c_int;

use rusqlite::Connection;

use crate::Result;

use super::call::{Call, Gather, PURE, gather, scalar};
use super::limits::{Budget, Watch, connection};
use super::pointer::{Handed, Pointer, kind};
use super::table::{Column, Table};

const CREATE: &str = "__intrinsic_interval_create";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)?;
    scalar(conn, CREATE, 2, PURE, create)
}

#[derive(Debug)]
struct Times(Vec<i64>);

impl Handed for Times {
    const KIND: &'static std::ffi::CStr = kind!("times");
}

struct Gathered {
    times: Vec<i64>,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_timestamp_set_agg";
    const COUNT: c_int = 1;
    type Output = Times;

    fn start() -> Gathered {
        Gathered { times: Vec::new(), budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        let ts = call.integer(0, "ts")?;
        if let Some(last) = self.times.last().filter(|&&last| ts < last) {
            return Err(call
                .error(format_args!("times must be in their order, but {ts} comes after {last}")));
        }
        self.budget.take(size_of::<i64>())?;
        self.times.push(ts);
        Ok(())
    }

    fn end(self, _call: Call<'_, '_>) -> Result<Times> {
        Ok(Times(self.times))
    }
}

fn create(call: Call<'_, '_>) -> Result<Pointer<Table>> {
    let starts = call.pointer::<Times>(0, "starts")?;
    let ends = call.pointer::<Times>(1, "ends")?;
    let (Some(starts), Some(ends)) = (starts, ends) else {
        return Ok(Pointer::to(Table::empty(&["ts", "dur"])));
    };
    let conn = connection(call.context())?;
    let mut watch = Watch::new(&conn);
    let (mut ts, mut durs) = (Vec::new(), Vec::new());
    let mut ends = ends.0.iter().peekable();
    for &start in &starts.0 {
        watch.step()?;
        while ends.next_if(|&&end| end <= start).is_some() {
            watch.step()?;
        }
        let Some(&&end) = ends.peek() else {
            break;
        };
        ts.push(start);
        durs.push(end.saturating_sub(start));
    }
    let count = ts.len();
    let columns = [("ts", ts), ("dur", durs)];
    let columns = columns.map(|(name, values)| (name, Column::Integers(values)));
    Ok(Pointer::to(Table::new(count, columns)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
