//! Rectangles and transforms of window tracing that are equal: one row of them stays (rule WS16).
//!
//! An import remembers the rows of the last hundred thousand. An older one that came again has a second row, which the
//! first one replaces here. The numbers of rows are then without gaps, as if there had never been a second one.

use rusqlite::Connection;
use timebase_schema::{Source, WINSCOPE, WinscopeTable};

/// The number of the bytes of a rectangle that is not compared with others: the rectangles of windows.
pub(crate) const OWN_RECT: i64 = 0;

/// A table whose equal rows are one, with the columns of other tables that have its numbers.
struct Merged {
    table: &'static str,
    named: &'static [&'static str],
}

const RECTS: Merged = Merged {
    table: "winscope_rect",
    named: &["rect_id", "start_abs_bounds_rect_id", "end_abs_bounds_rect_id"],
};

const TRANSFORMS: Merged = Merged { table: "winscope_transform", named: &["transform_id"] };

/// Merges the equal rows of rectangles and of transforms.
pub(crate) fn merge_repeats(conn: &Connection) -> rusqlite::Result<()> {
    RECTS.merge(conn)?;
    TRANSFORMS.merge(conn)
}

/// The columns that a table stores without their names: `c1`, `c2` and so on, with the names.
fn stored(table: &'static WinscopeTable) -> impl Iterator<Item = (String, &'static str)> {
    let columns = table
        .columns
        .iter()
        .filter(|column| matches!(column.source, Source::Field { .. } | Source::Made));
    (1..).zip(columns).map(|(place, column)| (format!("c{place}"), column.name))
}

impl Merged {
    fn merge(&self, conn: &Connection) -> rusqlite::Result<()> {
        let kind = WinscopeTable::number(self.table);
        let values: Vec<String> =
            WINSCOPE.get(kind).into_iter().flat_map(stored).map(|(place, _)| place).collect();
        let values = values.join(", ");
        conn.execute_batch(&format!(
            "CREATE TEMP TABLE timebase_equal (old INTEGER PRIMARY KEY, first INTEGER NOT NULL);
             INSERT INTO temp.timebase_equal
             SELECT number, min(number) OVER (PARTITION BY iif(proto_id IS NULL, -1, number), {values})
             FROM winscope_record WHERE kind = {kind};
             CREATE TEMP TABLE timebase_kept (old INTEGER PRIMARY KEY, new INTEGER NOT NULL);
             INSERT INTO temp.timebase_kept
             SELECT old, row_number() OVER (ORDER BY old) - 1 FROM temp.timebase_equal WHERE old = first;
             DELETE FROM winscope_record
             WHERE kind = {kind} AND number IN (SELECT old FROM temp.timebase_equal WHERE old <> first);
             UPDATE winscope_record SET number = (SELECT new FROM temp.timebase_kept WHERE old = number)
             WHERE kind = {kind};"
        ))?;
        for (kind, place) in self.references() {
            conn.execute_batch(&format!(
                "UPDATE winscope_record
                 SET {place} = (SELECT k.new FROM temp.timebase_equal AS e CROSS JOIN temp.timebase_kept AS k
                                ON k.old = e.first WHERE e.old = {place})
                 WHERE kind = {kind} AND {place} IS NOT NULL"
            ))?;
        }
        conn.execute_batch("DROP TABLE temp.timebase_equal; DROP TABLE temp.timebase_kept")
    }

    /// The tables and columns that have the numbers of these rows.
    fn references(&self) -> impl Iterator<Item = (usize, String)> {
        WINSCOPE.iter().enumerate().flat_map(move |(kind, table)| {
            let meant = stored(table).filter(|(_, name)| self.named.contains(name));
            meant.map(move |(place, _)| (kind, place))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ws16_the_tables_and_columns_are_there() {
        let names = |of: &Merged| -> Vec<String> {
            let name = |(kind, _): (usize, String)| WINSCOPE[kind].name.to_owned();
            of.references().map(name).collect()
        };
        let participants = "window_manager_shell_transition_participants";
        assert_eq!(
            names(&RECTS),
            [participants, participants, "winscope_trace_rect", "winscope_fill_region"]
        );
        assert_eq!(names(&TRANSFORMS), ["winscope_trace_rect"]);
    }

    #[test]
    fn ws16_equal_rows_become_the_first_of_them_and_those_of_windows_stay() {
        let conn = Connection::open_in_memory().unwrap();
        let [rect, transform, traced] =
            ["winscope_rect", "winscope_transform", "winscope_trace_rect"]
                .map(WinscopeTable::number);
        let columns: Vec<String> = (1..=16).map(|place| format!("c{place}")).collect();
        conn.execute_batch(&format!(
            "CREATE TABLE winscope_record (id INTEGER PRIMARY KEY, kind, number, ts, arg_set_id, proto_id, {});
             INSERT INTO winscope_record (kind, number, proto_id, c1, c2, c3, c4) VALUES
               ({rect}, 0, NULL, 0, 0, 5, 5), ({rect}, 1, 0, 0, 0, 5, 5), ({rect}, 2, NULL, 1, 0, 5, NULL),
               ({rect}, 3, NULL, 0, 0, 5, 5), ({rect}, 4, NULL, 1, 0, 5, NULL), ({rect}, 5, NULL, 1.5, 0, 5, 5);
             INSERT INTO winscope_record (kind, number, c1) VALUES ({transform}, 0, 7), ({transform}, 1, 7);
             INSERT INTO winscope_record (kind, number, c1, c7) VALUES
               ({traced}, 0, 0, 0), ({traced}, 1, 1, 1), ({traced}, 2, 2, 1), ({traced}, 3, 3, 0),
               ({traced}, 4, 4, 0), ({traced}, 5, 5, 1);",
            columns.join(", ")
        ))
        .unwrap();
        merge_repeats(&conn).unwrap();
        let list = |sql: &str| -> String { conn.query_row(sql, [], |row| row.get(0)).unwrap() };
        let numbers = |kind, column| {
            list(&format!(
                "SELECT group_concat({column}, ' ') FROM (SELECT * FROM winscope_record WHERE kind = {kind} ORDER BY id)"
            ))
        };
        assert_eq!(numbers(rect, "number"), "0 1 2 3");
        assert_eq!(numbers(rect, "c1"), "0 0 1 1.5");
        assert_eq!(numbers(transform, "number"), "0");
        assert_eq!(numbers(traced, "c1"), "0 1 2 0 2 3");
        assert_eq!(numbers(traced, "c7"), "0 0 0 0 0 0");
    }
}
