//! Tables and indexes that are built page by page.

use std::path::Path;

use arbitrary::{Arbitrary, Unstructured};
use rusqlite::types::Value as Owned;
use rusqlite::{Connection, Statement, params_from_iter};
use timebase_store::btree::{
    ClusteredTableBuilder, Database, Error, IndexBuilder, KeyedTableBuilder, LateTableBuilder,
    TableBuilder, Value,
};

use crate::fuzz::scratch;

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c);
    CREATE TABLE late (id INTEGER PRIMARY KEY, a, b, c);
    CREATE TABLE keyed (a, b, c, PRIMARY KEY (a, b)) WITHOUT ROWID;
    CREATE TABLE clustered (a, b, c, d, PRIMARY KEY (a, b)) WITHOUT ROWID;
    CREATE TABLE i (id INTEGER PRIMARY KEY, a, b);
    CREATE INDEX i_ab ON i (a, b);";

#[derive(Debug, Arbitrary)]
struct Input {
    page_size: u8,
    rows: Vec<InputRow>,
}

#[derive(Debug, Arbitrary)]
struct InputRow {
    id: Integer,
    a: Any,
    b: Any,
    c: Any,
    /// The number of repetitions of the row, with the next ids.
    again: u8,
}

/// An integer: small, or near a change of its size in a record, or arbitrary.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Integer {
    Small(i8),
    Near { shift: u8, less: i8, negative: bool },
    Any(i64),
}

#[derive(Clone, Debug, Arbitrary)]
enum Any {
    Null,
    Integer(Integer),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// This many characters or bytes.
    Long {
        size: u16,
        times: u8,
        is_text: bool,
    },
}

impl Integer {
    fn get(self) -> i64 {
        match self {
            Integer::Small(value) => value.into(),
            Integer::Near { shift, less, negative } => {
                let value = (1i64 << (shift % 63)).wrapping_add(less.into());
                if negative { value.wrapping_neg() } else { value }
            }
            Integer::Any(value) => value,
        }
    }
}

impl Any {
    fn value(&self) -> Owned {
        match self {
            Any::Null => Owned::Null,
            Any::Integer(value) => Owned::Integer(value.get()),
            // SQLite stores NaN as NULL.
            Any::Real(value) if value.is_nan() => Owned::Null,
            Any::Real(value) => Owned::Real(*value),
            Any::Text(text) => Owned::Text(text.clone()),
            Any::Bytes(bytes) => Owned::Blob(bytes.clone()),
            Any::Long { size, times, is_text: true } => {
                Owned::Text("ä".repeat(usize::from(*size) * usize::from(times % 4)))
            }
            Any::Long { size, times, is_text: false } => {
                Owned::Blob(vec![*times; usize::from(*size) * usize::from(times % 4)])
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Any::Long { size, times, .. } => usize::from(*size) * usize::from(times % 4),
            Any::Text(text) => text.len(),
            Any::Bytes(bytes) => bytes.len(),
            _ => 8,
        }
    }

    fn integer(&self) -> Option<i64> {
        match self {
            Any::Integer(value) => Some(value.get()),
            _ => None,
        }
    }
}

fn borrowed(value: &Owned) -> Value<'_> {
    match value {
        Owned::Null => Value::Null,
        Owned::Integer(value) => Value::Integer(*value),
        Owned::Real(value) => Value::Real(*value),
        Owned::Text(text) => Value::Text(text),
        Owned::Blob(bytes) => Value::Blob(bytes),
    }
}

/// Builds tables of arbitrary rows, and compares them with tables that SQLite makes of the same
/// rows.
///
/// SQLite's check of the database finds nothing, its queries find the same rows, and it can
/// continue from there.
///
/// ```
/// timebase_lab::fuzz::btree(&[1, 2, 3, 4, 5, 6, 7, 8]);
/// ```
pub fn btree(bytes: &[u8]) {
    let Ok(input) = Input::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let dir = scratch();
    let path = dir.path().join("t.db");
    let page_size = 512u32 << (input.page_size % 8);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(&format!("PRAGMA page_size = {page_size}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {SCHEMA}"))
        .unwrap();
    let roots = Roots::read(&conn);
    drop(conn);

    // The tables that SQLite makes.
    let model = Connection::open_in_memory().unwrap();
    model.execute_batch(SCHEMA).unwrap();
    model.execute_batch("BEGIN").unwrap();
    let rows = expand(&input.rows);
    build(&path, dir.path(), &roots, &rows, &model);
    model.execute_batch("COMMIT").unwrap();

    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF").unwrap();
    same(&conn, &model);
    for conn in [&conn, &model] {
        conn.execute_batch(
            "UPDATE t SET a = b WHERE id % 3 = 0; DELETE FROM late WHERE id % 2 = 0;
             UPDATE i SET a = b, b = id WHERE id % 2 = 0; DELETE FROM keyed WHERE a % 2 = 0;
             UPDATE clustered SET c = zeroblob(700) WHERE b % 2 = 0",
        )
        .unwrap();
    }
    same(&conn, &model);
}

struct Roots([u32; 6]);

impl Roots {
    fn read(conn: &Connection) -> Roots {
        Roots(["t", "late", "keyed", "clustered", "i", "i_ab"].map(|name| {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
            conn.query_row(sql, [name], |row| row.get(0)).unwrap()
        }))
    }
}

/// A row with its repetitions and ids; their number is limited, so that many inputs can be tried.
fn expand(rows: &[InputRow]) -> Vec<(i64, &InputRow)> {
    let mut all = Vec::new();
    let mut bytes = 0;
    for row in rows {
        let first = row.id.get();
        for again in 0..=i64::from(row.again) {
            bytes += row.a.size() + row.b.size() + row.c.size();
            if all.len() < 600
                && bytes < 300_000
                && let Some(id) = first.checked_add(again)
            {
                all.push((id, row));
            }
        }
    }
    all
}

fn build(path: &Path, dir: &Path, roots: &Roots, rows: &[(i64, &InputRow)], model: &Connection) {
    let [mut in_t, mut in_late, mut in_keyed, mut in_clustered, mut in_i] = [
        "INSERT INTO t VALUES (?1, ?2, ?3, ?4)",
        "INSERT INTO late VALUES (?1, ?2, ?3, ?4)",
        "INSERT INTO keyed VALUES (?1, ?2, ?3)",
        "INSERT INTO clustered VALUES (?1, ?2, ?3, ?4)",
        "INSERT INTO i VALUES (?1, ?2, ?3)",
    ]
    .map(|sql| model.prepare(sql).unwrap());
    let Roots([t, late, keyed, clustered, i, i_ab]) = *roots;
    let mut database = Database::open(path).unwrap();
    let db = &mut database;
    let mut table = TableBuilder::new(db, t).unwrap();
    let mut late_table = LateTableBuilder::new(dir);
    let mut keyed_table = KeyedTableBuilder::<3>::new(db, keyed).unwrap();
    let mut clustered_table = ClusteredTableBuilder::new(db, clustered).unwrap();
    let mut indexed = TableBuilder::new(db, i).unwrap();
    let mut index = IndexBuilder::<2>::new(dir);
    let mut last: Option<i64> = None;
    let mut last_key: Option<(Option<i64>, Option<i64>)> = None;
    for (id, row) in rows {
        let id = *id;
        let own = [&row.a, &row.b, &row.c].map(Any::value);
        let [a, b, c] = [&own[0], &own[1], &own[2]].map(borrowed);
        let all: Vec<Owned> = [vec![Owned::Integer(id)], own.to_vec()].concat();

        // These need the right order.
        let comes_late = last.is_some_and(|last| last >= id);
        match table.push(db, id, &[Value::Null, a, b, c]) {
            Ok(()) => {
                assert!(!comes_late);
                last = Some(id);
                assert!(insert(&mut in_t, &all));
                let (a, b) = (row.a.integer(), row.b.integer());
                indexed.push(db, id, &[Value::Null, a.into(), b.into()]).unwrap();
                index.push([a, b], id).unwrap();
                let values = [Owned::Integer(id), a.into(), b.into()];
                assert!(insert(&mut in_i, &values));
            }
            Err(Error::Order { .. }) => assert!(comes_late),
            Err(error) => panic!("{error}"),
        }
        // In any order, but each once.
        if insert(&mut in_late, &all) {
            late_table.push(id, &[Value::Null, a, b, c]).unwrap();
        }
        // With a key of two integers.
        if let (Some(first), Some(second)) =
            (row.a.integer(), row.b.integer().map(|b| b.wrapping_add(id)))
        {
            let key = Some((Some(first), Some(second)));
            if last_key < key {
                last_key = key;
                keyed_table.push(db, [Some(first), Some(second), row.c.integer()]).unwrap();
                let values = [first.into(), second.into(), row.c.integer().into()];
                assert!(insert(&mut in_keyed, &values));
                let c = borrowed(&values[2]);
                let row = [Value::Integer(first), Value::Integer(second), c, a];
                match clustered_table.push(db, &row) {
                    Ok(true) => {
                        let values =
                            [first.into(), second.into(), values[2].clone(), own[0].clone()];
                        assert!(insert(&mut in_clustered, &values));
                    }
                    Ok(false) => panic!("the row comes after the one before"),
                    Err(Error::TooWide { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    table.finish(db).unwrap();
    keyed_table.finish(db).unwrap();
    clustered_table.finish(db).unwrap();
    indexed.finish(db).unwrap();
    late_table.write(db, late).unwrap();
    index.write(db, i_ab).unwrap();
    database.finish().unwrap();
}

fn insert(statement: &mut Statement<'_>, values: &[Owned]) -> bool {
    statement.execute(params_from_iter(values)).is_ok()
}

fn same(built: &Connection, model: &Connection) {
    let verdict: String = built.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    for sql in [
        "SELECT * FROM t ORDER BY id",
        "SELECT * FROM late ORDER BY id",
        "SELECT * FROM keyed ORDER BY a, b",
        "SELECT * FROM clustered ORDER BY a, b",
        "SELECT * FROM i NOT INDEXED ORDER BY id",
        "SELECT a, b, id FROM i INDEXED BY i_ab ORDER BY a, b, id",
    ] {
        let mut built = built.prepare(sql).unwrap();
        let mut model = model.prepare(sql).unwrap();
        let columns = built.column_count();
        let (mut built, mut model) = (built.query([]).unwrap(), model.query([]).unwrap());
        loop {
            match (built.next().unwrap(), model.next().unwrap()) {
                (None, None) => break,
                (Some(row), Some(expected)) => {
                    for column in 0..columns {
                        let found = row.get_ref(column).unwrap();
                        assert_eq!(found, expected.get_ref(column).unwrap(), "{sql}");
                    }
                }
                (found, _) => {
                    panic!("{sql}: {} many rows", if found.is_some() { "too" } else { "not so" })
                }
            }
        }
    }
}
