//! A table that was built in bulk must equal one that SQLite made: SQLite's own check finds
//! nothing, its queries find every row, and it can continue from there.
#![allow(clippy::unwrap_used)]

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use proptest::prelude::*;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use tempfile::TempDir;
use timebase_store::btree::{
    Database, Error, IndexBuilder, KeyedTableBuilder, LateTableBuilder, TableBuilder, TurnedIndex,
    Value,
};

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
    conn.execute_batch(&format!("PRAGMA page_size = {page_size}; {SCHEMA}")).unwrap();
    (root(&conn, "t"), root(&conn, "t_ab"))
}

type Row = (i64, Option<i64>, Option<i64>);

fn build(dir: &TempDir, page_size: u32, rows: &[Row]) -> Connection {
    let path = dir.path().join("t.db");
    let (table_root, index_root) = empty(&path, page_size);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("CREATE INDEX t_ba ON t (b, a)").unwrap();
    let turned_root = root(&conn, "t_ba");
    drop(conn);
    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(&mut database, table_root).unwrap();
    let mut index = IndexBuilder::new(dir.path());
    for &(id, a, b) in rows {
        let row = [Value::Null, a.into(), b.into()];
        table.push(&mut database, id, &row).unwrap();
        index.push([a, b], id).unwrap();
    }
    table.finish(&mut database).unwrap();
    let turned = TurnedIndex::new(dir.path(), turned_root);
    index.write_both(&mut database, index_root, turned).unwrap();
    database.finish().unwrap();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA synchronous = OFF").unwrap();
    conn
}

fn check(conn: &Connection, rows: &[Row]) {
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let read = |sql: &str| -> Vec<Row> {
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(read("SELECT * FROM t NOT INDEXED"), rows);
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|&(id, a, b)| (a, b, id));
    assert_eq!(read("SELECT * FROM t INDEXED BY t_ab ORDER BY a, b, id"), sorted);
    sorted.sort_by_key(|&(id, a, b)| (b, a, id));
    assert_eq!(read("SELECT * FROM t INDEXED BY t_ba ORDER BY b, a, id"), sorted);
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

        // SQLite continues from there.
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

/// More entries than one stretch, in no order.
#[test]
fn stretches_are_merged() {
    let rows: Vec<Row> = (0..700_000i64)
        .map(|i| (i, Some(i.wrapping_mul(7_919) % 700_001), (i % 5 != 0).then_some(i % 3)))
        .collect();
    let dir = tempfile::tempdir().unwrap();
    check(&build(&dir, 4096, &rows), &rows);
}

/// Values of the second column that end right before, at and after a full leaf of the index of
/// the columns in the other order, and some without a leaf of their own.
#[test]
fn an_index_of_turned_columns_is_whole_for_every_number_of_entries_of_a_value() {
    for count in 0..120 {
        let values = [0, 1, count, 255, 256, 400].into_iter().enumerate();
        let values = values.flat_map(|(at, b)| {
            let count = [count, 1, 2, count / 2, count, 3][at];
            (0..count).map(move |_| b)
        });
        let rows: Vec<Row> = (0..)
            .zip(values)
            .map(|(i, b)| (i, Some(i * 1_000_003 % 997), (b != 1).then_some(b)))
            .collect();
        let dir = tempfile::tempdir().unwrap();
        check(&build(&dir, 512, &rows), &rows);
    }
}

/// A value that SQLite returned.
fn read(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::types::Value {
    row.get(column).unwrap()
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0usize..200,
        2 => 400usize..1200,
        1 => 3000usize..9000,
        1 => 60_000usize..140_000,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Around every size at which a row gets an overflow page, and another one.
    #[test]
    fn text_and_bytes_of_any_size_are_kept(
        page_size in prop_oneof![Just(512u32), Just(4096), Just(8192), Just(65536)],
        sizes in prop::collection::vec((sizes(), sizes(), any::<bool>()), 0..60),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        let (table_root, _) = empty(&path, page_size);
        let mut database = Database::open(&path).unwrap();
        let mut table = TableBuilder::new(&mut database, table_root).unwrap();
        let text = |size: usize| "Grüße, ".chars().cycle().take(size).collect::<String>();
        let bytes = |size: usize| (0..size).map(|i| (i * 7 + size) as u8).collect::<Vec<u8>>();
        for (id, &(a, b, whole)) in (0..).zip(&sizes) {
            let (a, b) = (text(a), bytes(b));
            let b = if whole { Value::Blob(&b) } else { Value::Real(0.5) };
            table.push(&mut database, id, &[Value::Null, Value::Text(&a), b]).unwrap();
        }
        table.finish(&mut database).unwrap();
        database.finish().unwrap();

        let conn = Connection::open(&path).unwrap();
        let mut statement = conn.prepare("SELECT a, b FROM t NOT INDEXED ORDER BY id").unwrap();
        let mut rows = statement.query([]).unwrap();
        for &(a, b, whole) in &sizes {
            let row = rows.next().unwrap().unwrap();
            prop_assert_eq!(read(row, 0), text(a).into());
            prop_assert_eq!(read(row, 1), if whole { bytes(b).into() } else { 0.5.into() });
        }
        prop_assert!(rows.next().unwrap().is_none());
        drop(rows);
        drop(statement);
        // The index is empty, which SQLite would report.
        conn.execute_batch("REINDEX; UPDATE t SET b = a WHERE id % 2 = 0; DELETE FROM t WHERE id % 3 = 0")
            .unwrap();
        let verdict: String = conn
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        prop_assert_eq!(verdict, "ok");
    }
}

/// Every size of a row near the sizes at which its place changes.
#[test]
fn rows_are_cut_where_sqlite_cuts_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (table_root, _) = empty(&path, 512);
    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(&mut database, table_root).unwrap();
    let bytes = [7u8; 3000];
    for size in 0..bytes.len() {
        let row = [Value::Null, Value::Blob(&bytes[..size])];
        table.push(&mut database, size as i64, &row).unwrap();
    }
    table.finish(&mut database).unwrap();
    database.finish().unwrap();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("DROP INDEX t_ab").unwrap();
    let check = |sql: &str| -> String { conn.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(check("PRAGMA integrity_check"), "ok");
    let wrong = "SELECT count(*) || '' FROM t WHERE length(a) <> id OR a <> zeroblob(0) \
                 AND hex(a) <> replace(hex(zeroblob(id)), '00', '07')";
    assert_eq!(check(wrong), "0");
}

#[test]
fn reals_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (root, _) = empty(&path, 4096);
    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(&mut database, root).unwrap();
    let reals = [1.5, -0.0, 1e300, f64::NEG_INFINITY];
    for (i, &real) in reals.iter().enumerate() {
        let row = [Value::Null, Value::Real(real), Value::Null];
        table.push(&mut database, i as i64, &row).unwrap();
    }
    table.finish(&mut database).unwrap();
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
fn tables_are_filled_in_turns() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let conn = Connection::open(&path).unwrap();
    let names = ["u", "v", "w"];
    for name in names {
        conn.execute_batch(&format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY, a)")).unwrap();
    }
    let roots = names.map(|name| root(&conn, name));
    drop(conn);
    let mut database = Database::open(&path).unwrap();
    let mut tables = roots.map(|root| TableBuilder::new(&mut database, root).unwrap());
    for id in 0..20_000 {
        let table = &mut tables[id as usize % 7 % 3];
        table.push(&mut database, id, &[Value::Null, Value::Integer(id * id)]).unwrap();
    }
    for table in tables {
        table.finish(&mut database).unwrap();
    }
    database.finish().unwrap();
    let conn = Connection::open(&path).unwrap();
    let check = |sql: &str| -> String { conn.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(check("PRAGMA integrity_check"), "ok");
    for (turn, name) in names.iter().enumerate() {
        let sql =
            format!("SELECT count(*) || '' FROM {name} WHERE a = id * id AND id % 7 % 3 = {turn}");
        let ids = (0..20_000).filter(|id| id % 7 % 3 == turn);
        assert_eq!(check(&sql), ids.count().to_string());
    }
}

#[test]
fn a_table_without_rowids_is_written_in_the_order_of_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("CREATE TABLE k (a, b, c, PRIMARY KEY (a, b)) WITHOUT ROWID").unwrap();
    let table_root = root(&conn, "k");
    drop(conn);
    let rows = 200_000i64;
    let mut database = Database::open(&path).unwrap();
    let mut table = KeyedTableBuilder::new(&mut database, table_root).unwrap();
    for i in 0..rows {
        let b = i % (rows / 10) * 10 + i / (rows / 10);
        let row = [Some(b % 10), Some(b), (b % 3 != 0).then_some(-b)];
        table.push(&mut database, row).unwrap();
    }
    let again = table.push(&mut database, [Some(3), Some(rows), None]);
    assert!(matches!(again, Err(Error::KeyOrder)));
    table.finish(&mut database).unwrap();
    database.finish().unwrap();
    let conn = Connection::open(&path).unwrap();
    let check = |sql: &str| -> String { conn.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(check("PRAGMA integrity_check"), "ok");
    let right = "SELECT count(*) || '' FROM k WHERE a = b % 10 AND c IS iif(b % 3, -b, NULL)";
    assert_eq!(check(right), rows.to_string());
    assert_eq!(check("SELECT c || '' FROM k WHERE a = 4 AND b = 123454"), "-123454");
    conn.execute_batch("INSERT INTO k VALUES (4, -1, 0); DELETE FROM k WHERE b % 2 = 0").unwrap();
    assert_eq!(check("PRAGMA integrity_check"), "ok");
}

#[test]
fn what_cannot_be_extended_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (table_root, index_root) = empty(&path, 4096);

    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(&mut database, table_root).unwrap();
    table.push(&mut database, 5, &[Value::Null]).unwrap();
    let again = table.push(&mut database, 5, &[Value::Null]);
    assert!(matches!(again, Err(Error::Order { rowid: 5 })));
    let wide = table.push(&mut database, 6, &[Value::Integer(7); 127]);
    assert!(matches!(wide, Err(Error::TooWide { rowid: 6 })));
    for root in [0, 1, index_root, table_root, 10_000] {
        let refused = TableBuilder::new(&mut database, root);
        assert!(matches!(refused, Err(Error::NotEmpty { .. })), "{root}");
    }
    table.finish(&mut database).unwrap();
    database.finish().unwrap();
    let mut database = Database::open(&path).unwrap();
    let again = TableBuilder::new(&mut database, table_root);
    assert!(matches!(again, Err(Error::NotEmpty { .. })));

    let unsuitable = |sql: &str| {
        let path = dir.path().join("unsuitable.db");
        let _ = std::fs::remove_file(&path);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&format!("{sql}; CREATE TABLE t (a)")).unwrap();
        drop(conn);
        matches!(Database::open(&path), Err(Error::Unsuitable(_)))
    };
    assert!(unsuitable("PRAGMA journal_mode = WAL"));
    assert!(unsuitable("PRAGMA auto_vacuum = FULL"));
    assert!(!unsuitable("SELECT 1"));
    std::fs::write(dir.path().join("text"), [b'x'; 4096]).unwrap();
    assert!(Database::open(&dir.path().join("text")).is_err());
}

/// The page with byte 2³⁰, which SQLite locks instead of using it.
const LOCK_PAGE: u32 = (1 << 30) / 65536 + 1;

/// A sparse database whose next pages are just before that page.
fn before_the_lock_page(path: &Path) -> (u32, u32) {
    let roots = empty(path, 65536);
    let pages = LOCK_PAGE - 3;
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(u64::from(pages) * 65536).unwrap();
    file.seek(SeekFrom::Start(28)).unwrap();
    file.write_all(&pages.to_be_bytes()).unwrap();
    roots
}

#[test]
fn an_overflow_chain_leaves_out_the_page_of_the_lock_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (table_root, _) = before_the_lock_page(&path);
    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(&mut database, table_root).unwrap();
    let bytes: Vec<u8> = (0..500_000).map(|i| (i % 251) as u8).collect();
    let row = [Value::Null, Value::Blob(&bytes)];
    table.push(&mut database, 1, &row).unwrap();
    table.finish(&mut database).unwrap();
    database.finish().unwrap();
    let conn = Connection::open(&path).unwrap();
    let read: Vec<u8> =
        conn.query_row("SELECT a FROM t NOT INDEXED", [], |row| row.get(0)).unwrap();
    assert!(read == bytes);
}

#[test]
fn the_page_of_the_lock_byte_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (table_root, index_root) = before_the_lock_page(&path);
    let mut database = Database::open(&path).unwrap();
    let mut table = TableBuilder::new(&mut database, table_root).unwrap();
    let mut index = IndexBuilder::new(dir.path());
    for id in 0..50_000 {
        let row = [Value::Null, Value::Integer(id), Value::Null];
        table.push(&mut database, id, &row).unwrap();
        index.push([Some(id), None], id).unwrap();
    }
    table.finish(&mut database).unwrap();
    index.write(&mut database, index_root).unwrap();
    database.finish().unwrap();

    let conn = Connection::open(&path).unwrap();
    let count: u32 = conn.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    assert!(count > LOCK_PAGE, "{count} pages");
    for index in ["NOT INDEXED", "INDEXED BY t_ab"] {
        let sql = format!("SELECT count(*), sum(a) FROM t {index} WHERE a >= 0");
        let found: (i64, i64) =
            conn.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(found, (50_000, 49_999 * 25_000));
    }
    // SQLite only reports the pages of the gap.
    let mut check = conn.prepare("PRAGMA integrity_check(1)").unwrap();
    let verdict: String = check.query_row([], |row| row.get(0)).unwrap();
    assert!(verdict.contains("never used"), "{verdict}");
    assert!(!verdict.contains(&format!("Page {LOCK_PAGE}:")), "{verdict}");
}

#[test]
fn rows_may_come_in_any_order_where_the_table_is_late() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (root, _) = empty(&path, 1024);
    // 7919 has no factor in common with the number of rows, so each row comes once; every hundredth
    // has overflow pages.
    const ROWS: i64 = 100_000;
    let text = |id: i64| "x".repeat(if id % 100 == 0 { 5000 } else { (id % 50) as usize });
    let mut table = LateTableBuilder::new(dir.path());
    for i in 0..ROWS {
        let id = i * 7919 % ROWS;
        let (a, b) = (Value::Integer(-id), text(id));
        table.push(id, &[Value::Null, a, Value::Text(&b)]).unwrap();
    }
    let mut database = Database::open(&path).unwrap();
    table.write(&mut database, root).unwrap();
    database.finish().unwrap();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("REINDEX").unwrap();
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let mut statement = conn.prepare("SELECT id, a, b FROM t ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let rows: Vec<(i64, i64, String)> = rows.unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len() as i64, ROWS);
    for (expected, (id, a, b)) in (0..).zip(rows) {
        assert_eq!((id, a), (expected, -expected));
        assert_eq!(b, text(expected));
    }
}

#[test]
fn a_rowid_that_comes_twice_is_an_error_where_the_table_is_late() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    let (root, _) = empty(&path, 1024);
    let mut table = LateTableBuilder::new(dir.path());
    for id in [7, 3, 7] {
        table.push(id, &[Value::Null; 3]).unwrap();
    }
    let mut database = Database::open(&path).unwrap();
    let written = table.write(&mut database, root);
    assert!(matches!(written, Err(Error::Order { rowid: 7 })), "{written:?}");
}
