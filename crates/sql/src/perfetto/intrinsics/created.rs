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
mod tests {
    use super::super::testing::{connection, error, rows, table_query};

    fn created(starts: &str, ends: &str) -> Vec<String> {
        let times = |values: &str| {
            format!("(SELECT __intrinsic_timestamp_set_agg(column1) FROM (VALUES {values}))")
        };
        let table = format!("__intrinsic_interval_create({}, {})", times(starts), times(ends));
        rows(&connection(), &table_query(&table, &["ts", "dur"]))
    }

    #[test]
    fn pq9_an_interval_goes_to_the_first_end_after_its_start() {
        // starts  1 2     5   9
        // ends      2   4   7
        assert_eq!(created("(1), (2), (5), (9)", "(2), (4), (7)"), ["1 1", "2 2", "5 2"]);
        assert_eq!(created("(1), (1)", "(0), (1), (3)"), ["1 2", "1 2"]);
    }

    #[test]
    fn pq9_without_starts_or_ends_there_are_no_intervals() {
        let conn = connection();
        let nothing = "(SELECT __intrinsic_timestamp_set_agg(1) WHERE 0)";
        let one = "(SELECT __intrinsic_timestamp_set_agg(1))";
        for (starts, ends) in [(nothing, one), (one, nothing), (one, one)] {
            let table = format!("__intrinsic_interval_create({starts}, {ends})");
            assert_eq!(rows(&conn, &table_query(&table, &["ts", "dur"])), [""; 0]);
        }
        let unordered = "SELECT __intrinsic_timestamp_set_agg(column1) FROM (VALUES (3), (2))";
        assert_eq!(
            error(&conn, unordered),
            "__intrinsic_timestamp_set_agg(): times must be in their order, but 2 comes after 3"
        );
    }
}
