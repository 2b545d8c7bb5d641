//! The views and triggers of the database.
//!
//! # Design
//!
//! SQLite parses a `CREATE VIEW` twice, and then keeps the view in memory. For all views this took more than a third of the import of a
//! small trace. Before the database is opened again, only the summary reads a view. So SQLite makes this view and those that it needs.
//! Of all others, the import writes the rows that SQLite would write into `sqlite_schema`. The alternative was to let SQLite make all views.
//! Then no row could be wrong; here a test compares the rows with those of SQLite.

use rusqlite::Connection;
use timebase_schema::{Statement, StatementKind};

use crate::options::Views;

/// The view that the summary reads.
const READ: &str = "trace_bounds";

/// Makes the views and triggers of a database that is closed and opened again before anybody else reads it.
pub(crate) fn write_views(conn: &Connection, views: &Views) -> rusqlite::Result<()> {
    let sql = views.sql();
    let statements = Statement::all(&sql);
    let read = Statement::needed(&statements, |name| name == READ);
    conn.execute_batch("PRAGMA writable_schema = ON")?;
    let mut insert = conn.prepare(
        "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('view', ?1, ?1, 0, ?2)",
    )?;
    for statement in &statements {
        let is_read = read.iter().any(|one| one.name == statement.name);
        match statement.parts() {
            Some((text, rest)) if statement.kind == StatementKind::View && !is_read => {
                insert.execute([statement.name, text])?;
                conn.execute_batch(rest)?;
            }
            _ => conn.execute_batch(statement.sql)?,
        }
    }
    conn.execute_batch("PRAGMA writable_schema = OFF")
}

/// Makes the views and triggers of a database that stays open.
pub(crate) fn make_views(conn: &Connection, views: &Views) -> rusqlite::Result<()> {
    conn.execute_batch(&views.sql())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    type Object = (String, String, String, i64, Option<String>);

    /// All objects, in their order, and the facts that the scripts insert.
    fn schema(
        make: impl Fn(&Connection, &Views) -> rusqlite::Result<()>,
        views: &Views,
    ) -> Vec<Object> {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(timebase_schema::TABLES).unwrap();
        make(&conn, views).unwrap();
        let sql = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema
                   UNION ALL SELECT 'fact', name, '', 0, NULL FROM fact";
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn the_rows_of_views_are_those_that_sqlite_writes() {
        for views in [Views::All, Views::Named(vec!["Slice".to_owned()])] {
            let made = schema(make_views, &views);
            for kind in ["view", "trigger"] {
                assert!(made.iter().any(|object| object.0 == kind), "{kind}");
            }
            // A view's facts go with the view.
            let has_facts = made.iter().any(|object| object.0 == "fact");
            assert_eq!(has_facts, views == Views::All);
            assert_eq!(schema(write_views, &views), made);
        }
    }

    #[test]
    fn views_that_were_written_as_rows_are_read_when_the_database_is_opened_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(timebase_schema::TABLES).unwrap();
        write_views(&conn, &Views::All).unwrap();
        conn.prepare("SELECT * FROM trace_bounds").unwrap();
        conn.close().unwrap();
        let conn = Connection::open(&path).unwrap();
        for view in ["finding", "slice", "thread_state", "trace_bounds"] {
            conn.prepare(&format!("SELECT * FROM {view}")).unwrap();
        }
        let sound: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok");
    }
}
