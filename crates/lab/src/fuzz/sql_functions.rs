//! SQL functions with arbitrary arguments.

use std::cell::RefCell;
use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use timebase_import::{Monitor, Options, Source};

use crate::fuzz::scratch;

/// A trace with clocks, slices, flows, arguments and a log.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/late-frame.pftrace");

#[derive(Debug, Arbitrary)]
struct Call {
    function: u8,
    arguments: Vec<Any>,
}

/// Any SQL value, with special ones often.
#[derive(Clone, Debug, Arbitrary)]
pub enum Any {
    Null,
    Small(i8),
    Integer(i64),
    /// A number that matters somewhere.
    Known(u8),
    Near {
        shift: u8,
        less: i8,
    },
    Real(f64),
    Text(String),
    /// A text that means something somewhere.
    Word(u8),
    Bytes(Vec<u8>),
    /// Invalid UTF-8, as a text.
    NoText(Vec<u8>),
}

const KNOWN: [i64; 12] = [
    0,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    u32::MAX as i64,
    u32::MAX as i64 + 1,
    i32::MIN as i64,
    2_468_715_150,
    5_000_000_000_000,
    5_000_203_900_000,
    253_402_300_799_999_999,
    -62_135_596_800_000_000,
];

const WORDS: [&str; 21] = [
    "REALTIME",
    "MONOTONIC",
    "BOOTTIME",
    "boottime of machine 1",
    "64@3 of machine 0 in file 0",
    "64@3",
    "64",
    "com.example.gpu",
    "clock_snapshot_version",
    "track_event.type",
    "ftrace_events.event[0].timestamp",
    "interned_data.event_names[0].name",
    "debug.n",
    "a\0b",
    "\"",
    "$.\"a\\\"",
    "2026-11-21T16:21:30.5",
    "9999-12-31T23:59:59.999999999Z",
    "2026-10-25T02:30[Europe/Berlin]",
    "Europe/Berlin",
    "+23:59",
];

impl Any {
    pub fn value(&self) -> Value {
        match self {
            Any::Null => Value::Null,
            Any::Small(value) => Value::Integer((*value).into()),
            Any::Integer(value) => Value::Integer(*value),
            Any::Known(index) => Value::Integer(KNOWN[usize::from(*index) % KNOWN.len()]),
            Any::Near { shift, less } => {
                Value::Integer((1i64 << (shift % 63)).wrapping_add((*less).into()))
            }
            Any::Real(value) => Value::Real(*value),
            Any::Text(text) => Value::Text(text.clone()),
            Any::Word(index) => Value::Text(WORDS[usize::from(*index) % WORDS.len()].to_owned()),
            Any::Bytes(bytes) | Any::NoText(bytes) => Value::Blob(bytes.clone()),
        }
    }

    /// Its form in SQL.
    fn place(&self) -> &'static str {
        match self {
            Any::NoText(_) => "CAST(? AS TEXT)",
            _ => "?",
        }
    }
}

/// Registers all SQL functions of timebase.
pub fn register(conn: &Connection) {
    timebase::sql::register(conn).unwrap();
}

/// A database of a small trace, and the existing functions.
struct Fixture {
    conn: Connection,
    functions: Vec<String>,
    /// The table-valued functions.
    tables: Vec<String>,
}

thread_local! {
    static KNOWN_FUNCTIONS: RefCell<Option<Fixture>> = const { RefCell::new(None) };
}

fn known() -> Fixture {
    let dir = scratch();
    let path = dir.path().join("trace.db");
    let source = Source::File(TRACE.into());
    timebase_import::import(&[source], &path, &Options::default(), &Monitor::default()).unwrap();
    // In memory, so that no file has to remain.
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("PRAGMA cache_size = -4000").unwrap();
    restore(&path, &conn);
    let names = |sql: &str| -> BTreeSet<String> {
        let mut statement = conn.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let all = ["SELECT name FROM pragma_function_list", "SELECT name FROM pragma_module_list"];
    let before = all.map(names);
    register(&conn);
    let after = all.map(names);
    let [functions, tables] =
        [0, 1].map(|of| after[of].difference(&before[of]).cloned().collect::<Vec<_>>());
    assert!(functions.len() > 10 && tables.len() > 5);
    Fixture { conn, functions, tables }
}

/// Copies a database with its tables and views.
fn restore(path: &std::path::Path, conn: &Connection) {
    conn.execute("ATTACH ?1 AS imported", [path.to_str().unwrap()]).unwrap();
    let mut statements = conn
        .prepare("SELECT type, name, sql FROM imported.sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'
             ORDER BY type <> 'table'",
        )
        .unwrap();
    let rows = statements.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let all: Vec<(String, String, String)> = rows.unwrap().map(Result::unwrap).collect();
    drop(statements);
    for (kind, name, sql) in all {
        conn.execute_batch(&sql).unwrap();
        if kind == "table" {
            conn.execute_batch(&format!("INSERT INTO main.{name} SELECT * FROM imported.{name}"))
                .unwrap();
        }
    }
    conn.execute_batch("DETACH imported").unwrap();
}

/// Calls arbitrary SQL functions with arbitrary arguments.
///
/// Each call has a result, or an error that names the function; nothing panics.
///
/// ```
/// timebase_lab::fuzz::sql_functions(&[1, 2, 3, 4]);
/// ```
pub fn sql_functions(bytes: &[u8]) {
    let mut unstructured = Unstructured::new(bytes);
    KNOWN_FUNCTIONS.with_borrow_mut(|kept| {
        let known = kept.get_or_insert_with(known);
        for _ in 0..20 {
            if unstructured.is_empty() {
                break;
            }
            let Ok(call) = Call::arbitrary(&mut unstructured) else {
                break;
            };
            known.call(&call);
        }
    });
}

impl Fixture {
    fn call(&self, call: &Call) {
        let places: Vec<_> = call.arguments.iter().take(7).map(Any::place).collect();
        let places = places.join(", ");
        let values: Vec<_> = call.arguments.iter().take(7).map(Any::value).collect();
        let index = usize::from(call.function) % (self.functions.len() + self.tables.len());
        let (name, sql) = match self.functions.get(index) {
            Some(name) => (name, format!("SELECT {name}({places})")),
            None => {
                let name = &self.tables[index - self.functions.len()];
                (name, format!("SELECT * FROM {name}({places}) LIMIT 200"))
            }
        };
        if let Err(error) = run(&self.conn, &sql, &values) {
            // The prelude of Perfetto's library gives these their names.
            let name = name.strip_prefix("__intrinsic_").unwrap_or(name);
            // SQLite itself complains about a given SQL text, or about a missing table; a script names a folder.
            let of_others = [
                "near \"",
                "unrecognized token: ",
                "incomplete input",
                "no such table: ",
                "cannot read the ",
            ];
            let is_of_others = of_others.iter().any(|said| error.starts_with(said));
            assert!(error.contains(name) || is_of_others, "{error}: {sql}");
        }
    }
}

/// Runs a query to its end, and reads all of its rows.
pub fn run(conn: &Connection, sql: &str, values: &[Value]) -> Result<(), String> {
    let run = || -> rusqlite::Result<()> {
        let mut statement = conn.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                if let ValueRef::Text(text) = row.get_ref(column)? {
                    assert!(
                        std::str::from_utf8(text).is_ok() || !values.is_empty(),
                        "{sql}: {text:?}"
                    );
                }
            }
        }
        Ok(())
    };
    let done = run().map_err(|error| error.to_string());
    if let Err(error) = &done {
        assert!(!error.contains("panic"), "{error}: {sql}");
    }
    done
}
