//! What is built in bulk must be what SQLite would have made: its own check
//! finds nothing, its queries find every row, and it goes on from there.
#![allow(clippy::unwrap_used)]

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use proptest::prelude::*;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use tempfile::TempDir;
use timebase_btree::{Database, Error, IndexBuilder, TableBuilder, Value};

const SCHEMA: &str = "CREATE TABLE before (x); INSERT INTO before VALUES (randomblob(30000));
     CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);
     CREATE INDEX t_ab ON t (a, b);
     CREATE TABLE after (x); INSERT INTO after VALUES (randomblob(30000));";

fn root(conn: &Connection, name: &str) -> u32 {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    conn.query_row(sql, [name], |row| row.get(0)).unwrap()
}

fn empty(path: &Path, page_size: u32) -> (u32, u32) {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(&format!("PRAGMA page_size = {page_size}; {SCHEMA}"))
        .unwrap();
    (root(&conn, "t"), root(&conn, "t_ab"))
}

type Row = (i64, Option<i64>, Option<i64>);

fn build(dir: &TempDir, page_size: u32, rows: &[Row]) -> Connection {
    let path = dir.path().join("t.db");
    let (table_root, index_root) = empty(&path, page_size);
    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(database.page_size(), dir.path()).unwrap();
    let mut index = IndexBuilder::new(dir.path()).unwrap();
    for &(id, a, b) in rows {
        table.push(id, &[Value::Null, a.into(), b.into()]).unwrap();
        index.push([a, b], id).unwrap();
    }
    database.index(index_root, index).unwrap();
    database.table(table_root, table).unwrap();
    database.finish().unwrap();
    Connection::open(&path).unwrap()
}

fn check(conn: &Connection, rows: &[Row]) {
    let verdict: String = conn
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
    let read = |sql: &str| -> Vec<Row> {
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(read("SELECT * FROM t NOT INDEXED"), rows);
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|&(id, a, b)| (a, b, id));
    assert_eq!(
        read("SELECT * FROM t INDEXED BY t_ab ORDER BY a, b, id"),
        sorted
    );
}

fn integers() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        1 => Just(None),
        4 => (0i64..20).prop_map(Some),
        2 => (any::<i64>(), 0u32..64).prop_map(|(value, shift)| Some(value >> shift)),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)].prop_map(Some),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_rows_are_found_and_can_be_changed(
        page_size in prop_oneof![Just(512u32), Just(1024), Just(4096), Just(65536)],
        values in prop::collection::vec((1i64..1000, integers(), integers()), 0..3000),
        first in prop_oneof![Just(0i64), Just(-500), Just(i64::MAX / 2)],
    ) {
        let mut id = first;
        let mut rows: Vec<Row> = Vec::new();
        for (step, a, b) in values {
            rows.push((id, a, b));
            id += step;
        }
        let dir = tempfile::tempdir().unwrap();
        let conn = build(&dir, page_size, &rows);
        check(&conn, &rows);

        // SQLite goes on from there.
        for (i, row) in rows.iter_mut().enumerate().filter(|(i, _)| i % 3 == 0) {
            row.1 = Some(i as i64);
            conn.execute("UPDATE t SET a = ?2 WHERE id = ?1", params![row.0, row.1]).unwrap();
        }
        rows.retain(|row| row.0 % 2 == 0);
        conn.execute("DELETE FROM t WHERE id % 2 <> 0", []).unwrap();
        check(&conn, &rows);
    }
}

/// Around the number of rows at which a tree gets another leaf or level.
#[test]
fn every_number_of_rows_makes_a_whole_tree() {
    for count in (0..400).chain([2000, 2001, 2002]) {
        let rows: Vec<Row> = (0..count).map(|i| (i, Some(i * i), None)).collect();
        let dir = tempfile::tempdir().unwrap();
        check(&build(&dir, 512, &rows), &rows);
    }
}

/// More entries than are sorted at once, in an order that is none.
#[test]
fn stretches_are_merged() {
    let rows: Vec<Row> = (0..700_000i64)
        .map(|i| {
            (
                i,
                Some(i.wrapping_mul(7_919) % 700_001),
                (i % 5 != 0).then_some(i % 3),
            )
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    check(&build(&dir, 4096, &rows), &rows);
}

#[test]
fn reals_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (root, _) = empty(&path, 4096);
    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(database.page_size(), dir.path()).unwrap();
    let reals = [1.5, -0.0, 1e300, f64::NEG_INFINITY];
    for (i, &real) in reals.iter().enumerate() {
        let row = [Value::Null, Value::Real(real), Value::Null];
        table.push(i as i64, &row).unwrap();
    }
    database.table(root, table).unwrap();
    database.finish().unwrap();
    let conn = Connection::open(&path).unwrap();
    let mut statement = conn.prepare("SELECT a FROM t ORDER BY id").unwrap();
    let mut rows = statement.query([]).unwrap();
    for real in reals {
        let row = rows.next().unwrap().unwrap();
        assert_eq!(row.get_ref(0).unwrap(), ValueRef::Real(real));
    }
}

#[test]
fn what_cannot_be_extended_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (table_root, index_root) = empty(&path, 4096);
    let builder = |size| TableBuilder::new(size, dir.path()).unwrap();

    let mut database = Database::open(&path).unwrap();
    let page_size = database.page_size();
    let mut table = builder(page_size);
    table.push(5, &[Value::Null]).unwrap();
    assert!(matches!(
        table.push(5, &[Value::Null]),
        Err(Error::Order { rowid: 5 })
    ));
    let wide = [Value::Integer(i64::MAX); 126];
    let mut narrow = builder(timebase_btree::PageSize::new(512).unwrap());
    assert!(matches!(
        narrow.push(1, &wide),
        Err(Error::TooWide { rowid: 1 })
    ));
    let refused = database.table(table_root, narrow);
    assert!(matches!(refused, Err(Error::PageSize(512))));
    for root in [0, 1, index_root, 10_000] {
        let refused = database.table(root, builder(page_size));
        assert!(matches!(refused, Err(Error::NotEmpty { .. })), "{root}");
    }
    database.table(table_root, table).unwrap();
    let again = database.table(table_root, builder(page_size));
    assert!(matches!(again, Err(Error::NotEmpty { .. })));

    let unsuitable = |sql: &str| {
        let path = dir.path().join("unsuitable.db");
        let _ = std::fs::remove_file(&path);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&format!("{sql}; CREATE TABLE t (a)"))
            .unwrap();
        drop(conn);
        matches!(Database::open(&path), Err(Error::Unsuitable(_)))
    };
    assert!(unsuitable("PRAGMA journal_mode = WAL"));
    assert!(unsuitable("PRAGMA auto_vacuum = FULL"));
    assert!(!unsuitable("SELECT 1"));
    std::fs::write(dir.path().join("text"), [b'x'; 4096]).unwrap();
    assert!(Database::open(&dir.path().join("text")).is_err());
}

/// SQLite never uses the page that holds byte 2³⁰, which it locks instead.
#[test]
fn the_page_of_the_lock_byte_is_left_out() {
    const LOCK_PAGE: u32 = (1 << 30) / 65536 + 1;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (table_root, index_root) = empty(&path, 65536);
    // A sparse file whose next pages are just before it.
    let pages = LOCK_PAGE - 3;
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(u64::from(pages) * 65536).unwrap();
    file.seek(SeekFrom::Start(28)).unwrap();
    file.write_all(&pages.to_be_bytes()).unwrap();
    drop(file);

    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(database.page_size(), dir.path()).unwrap();
    let mut index = IndexBuilder::new(dir.path()).unwrap();
    for id in 0..50_000 {
        table
            .push(id, &[Value::Null, Value::Integer(id), Value::Null])
            .unwrap();
        index.push([Some(id), None], id).unwrap();
    }
    database.table(table_root, table).unwrap();
    database.index(index_root, index).unwrap();
    database.finish().unwrap();

    let conn = Connection::open(&path).unwrap();
    let count: u32 = conn
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    assert!(count > LOCK_PAGE, "{count} pages");
    for index in ["NOT INDEXED", "INDEXED BY t_ab"] {
        let sql = format!("SELECT count(*), sum(a) FROM t {index} WHERE a >= 0");
        let found: (i64, i64) = conn
            .query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(found, (50_000, 49_999 * 25_000));
    }
    // All that SQLite finds wrong are the pages of the gap.
    let mut check = conn.prepare("PRAGMA integrity_check(1)").unwrap();
    let verdict: String = check.query_row([], |row| row.get(0)).unwrap();
    assert!(verdict.contains("never used"), "{verdict}");
    assert!(
        !verdict.contains(&format!("Page {LOCK_PAGE}:")),
        "{verdict}"
    );
}
