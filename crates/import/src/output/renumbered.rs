//! Slices that get other numbers after their rows were written (rule RT12).

use rusqlite::Connection;

/// The columns that are the number of a slice, and whether each is the key of its table.
const COLUMNS: [(&str, &str, bool); 10] = [
    ("slice_record", "id", true),
    ("gpu_slice_record", "id", true),
    ("unended_slice", "slice_id", true),
    ("flow", "slice_out", false),
    ("flow", "slice_in", false),
    ("flow_backwards", "slice_out", false),
    ("flow_backwards", "slice_in", false),
    ("misplaced_end", "slice_id", false),
    ("misplaced_end", "by_slice_id", false),
    ("track_event_callstack", "slice_id", false),
];

/// The slices inside renumbered ones. There is no index by parent, but they are on the same track, and begin before its end.
const CHILDREN: &str = "
    UPDATE slice_record SET parent_id = (SELECT new FROM temp.timebase_renumbered WHERE old = parent_id)
    WHERE id IN (
      SELECT c.id FROM temp.timebase_renumbered AS r
      CROSS JOIN slice_record AS s ON s.id = r.old
      CROSS JOIN slice_record AS c ON c.track_id = s.track_id
       AND c.ts BETWEEN s.ts AND iif(s.dur < 0, 9223372036854775807, s.ts + s.dur)
      WHERE c.parent_id = r.old)";

/// Gives slices their new numbers. Each new number is the old one of another slice.
pub(crate) fn renumber(conn: &Connection, renumbered: &[(i64, i64)]) -> rusqlite::Result<()> {
    if renumbered.is_empty() {
        return Ok(());
    }
    conn.execute_batch(
        "CREATE TEMP TABLE timebase_renumbered (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)",
    )?;
    let mut insert = conn.prepare("INSERT INTO temp.timebase_renumbered VALUES (?1, ?2)")?;
    for (old, new) in renumbered {
        insert.execute([old, new])?;
    }
    conn.execute_batch(CHILDREN)?;
    for (table, column, is_key) in COLUMNS {
        // A key that another row still has would be refused, so keys are below 0 in between.
        let new = "(SELECT new FROM temp.timebase_renumbered WHERE old = COLUMN)";
        let new = new.replace("COLUMN", column);
        let (new, back) = match is_key {
            true => {
                let back =
                    format!("UPDATE {table} SET {column} = -1 - {column} WHERE {column} < 0");
                (format!("-1 - {new}"), back)
            }
            false => (new, String::new()),
        };
        conn.execute_batch(&format!(
            "UPDATE {table} SET {column} = {new} WHERE {column} IN (SELECT old FROM temp.timebase_renumbered); {back}"
        ))?;
    }
    conn.execute_batch("DROP TABLE temp.timebase_renumbered")
}

#[cfg(test)]
mod tests {
    use super::*;
    use timebase_schema::tables;

    #[test]
    fn rt12_the_columns_are_there() {
        for (name, column, is_key) in COLUMNS {
            let table = tables::ALL.iter().find(|table| table.name == name);
            let place = table.and_then(|table| table.columns.iter().position(|of| *of == column));
            assert_eq!(place.map(|place| place == 0), Some(is_key), "{name}.{column}");
        }
    }
}
