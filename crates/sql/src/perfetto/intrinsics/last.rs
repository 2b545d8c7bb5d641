//! The last value of several rows.
//!
//! | function | result |
//! |---|---|
//! | `last_non_null(x)`, an aggregate and window function | the last value that is not NULL |
//! | `value_at_max_ts(ts, value)`, an aggregate | the value of the first row with the greatest `ts` |

use std::collections::VecDeque;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, WindowAggregate};
use rusqlite::types::{Value, ValueRef};

use super::call::{Call, PURE};
use super::limits::{Budget, failed};

const LAST: &str = "last_non_null";
const AT_MOST: &str = "value_at_max_ts";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    conn.create_window_function(LAST, 1, PURE, LastNonNull)?;
    conn.create_aggregate_function(AT_MOST, 2, PURE, ValueAtMaxTs)
}

/// The size of a value, for a budget.
fn size(value: ValueRef<'_>) -> usize {
    let bytes = match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 0,
    };
    bytes.saturating_add(2 * size_of::<(u64, Value)>())
}

fn held(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(blob) => Value::Blob(blob.to_vec()),
    }
}

struct LastNonNull;

/// The rows of a window: the values that are not NULL, with the number of their row.
struct Window {
    added: u64,
    removed: u64,
    values: VecDeque<(u64, Value)>,
    budget: Budget,
}

impl Aggregate<Window, Option<Value>> for LastNonNull {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Window> {
        let budget = Budget::new(LAST);
        Ok(Window { added: 0, removed: 0, values: VecDeque::new(), budget })
    }

    fn step(&self, ctx: &mut Context<'_>, window: &mut Window) -> rusqlite::Result<()> {
        let value = Call::new(LAST, ctx).value(0);
        if value != ValueRef::Null {
            window.budget.take(size(value)).map_err(failed)?;
            window.values.push_back((window.added, held(value)));
        }
        window.added = window.added.saturating_add(1);
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        window: Option<Window>,
    ) -> rusqlite::Result<Option<Value>> {
        Ok(window.and_then(|mut window| window.values.pop_back()).map(|(_, value)| value))
    }
}

impl WindowAggregate<Window, Option<Value>> for LastNonNull {
    fn value(&self, window: Option<&mut Window>) -> rusqlite::Result<Option<Value>> {
        Ok(window.and_then(|window| window.values.back()).map(|(_, value)| value.clone()))
    }

    fn inverse(&self, _: &mut Context<'_>, window: &mut Window) -> rusqlite::Result<()> {
        window.removed = window.removed.saturating_add(1);
        while window.values.front().is_some_and(|(row, _)| *row < window.removed) {
            window.values.pop_front();
        }
        Ok(())
    }
}

struct ValueAtMaxTs;

impl Aggregate<Option<(i64, Value)>, Option<Value>> for ValueAtMaxTs {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Option<(i64, Value)>> {
        Ok(None)
    }

    fn step(&self, ctx: &mut Context<'_>, most: &mut Option<(i64, Value)>) -> rusqlite::Result<()> {
        let call = Call::new(AT_MOST, ctx);
        let Some(ts) = call.arguments().integer(0, "ts").map_err(failed)? else {
            return Ok(());
        };
        if most.as_ref().is_none_or(|(greatest, _)| ts > *greatest) {
            *most = Some((ts, held(call.value(1))));
        }
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        most: Option<Option<(i64, Value)>>,
    ) -> rusqlite::Result<Option<Value>> {
        Ok(most.flatten().map(|(_, value)| value))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{connection, error, rows};

    #[test]
    fn sf10_the_last_value_that_is_not_null() {
        let conn = connection();
        conn.execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, part, x);
             INSERT INTO t (part, x) VALUES ('a', NULL), ('a', 'one'), ('b', 2), ('a', NULL), ('b', NULL), ('a', x'05')",
        )
        .unwrap();
        let over = |window: &str| {
            rows(
                &conn,
                &format!("SELECT quote(last_non_null(x) OVER ({window})) FROM t ORDER BY id"),
            )
        };
        assert_eq!(over("ORDER BY id"), ["NULL", "'one'", "2", "2", "2", "X'05'"]);
        assert_eq!(
            over("PARTITION BY part ORDER BY id"),
            ["NULL", "'one'", "2", "'one'", "2", "X'05'"]
        );
        assert_eq!(
            over("ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
            ["NULL", "'one'", "2", "2", "NULL", "X'05'"]
        );
        assert_eq!(rows(&conn, "SELECT quote(last_non_null(x)) FROM t"), ["X'05'"]);
        assert_eq!(rows(&conn, "SELECT last_non_null(x) FROM t WHERE 0"), ["NULL"]);
    }

    #[test]
    fn sf10_the_value_at_the_greatest_time() {
        let conn = connection();
        let of = |values: &str| {
            rows(&conn, &format!("SELECT value_at_max_ts(column1, column2) FROM (VALUES {values})"))
        };
        assert_eq!(of("(1, 'a'), (3, 'b'), (2, 'c'), (3, 'd'), (NULL, 'e')"), ["b"]);
        assert_eq!(of("(NULL, 'e')"), ["NULL"]);
        assert_eq!(of("(-5, 2.5), (-7, 3)"), ["2.5"]);
        assert_eq!(
            error(&conn, "SELECT value_at_max_ts('x', 1)"),
            "value_at_max_ts(): argument 1 (ts) must be an integer, not the text 'x'"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn sf10_a_window_of_any_size_has_its_last_value(
            values in prop::collection::vec(prop::option::of(0i64..9), 1..12),
            before in 0usize..5,
            after in 0usize..3,
        ) {
            let conn = connection();
            conn.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, x)").unwrap();
            for value in &values {
                conn.execute("INSERT INTO t (x) VALUES (?1)", [value]).unwrap();
            }
            let expected: Vec<String> = (0..values.len()).map(|row| {
                let window = &values[row.saturating_sub(before)..(row + after + 1).min(values.len())];
                window.iter().flatten().next_back().map_or("NULL".into(), i64::to_string)
            }).collect();
            let sql = format!(
                "SELECT last_non_null(x) OVER (ORDER BY id ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING) FROM t ORDER BY id"
            );
            prop_assert_eq!(rows(&conn, &sql), expected);
        }
    }
}
