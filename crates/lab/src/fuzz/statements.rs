//! Texts of SQL, and their parameters.

use std::ffi::CString;
use std::ptr;

use rusqlite::{Connection, ffi};

use timebase_cli::parameters::{self, Parameters};
use timebase_cli::script::Script;
use timebase_sql::token::{Tokens, is_open};

/// Cuts a text of SQL into statements, and sets its parameters.
///
/// The part of the text up to the first zero byte is SQL, and each further part is a `--param`. The
/// tokens together are the text; a statement that SQLite accepts ends where the code says; and the
/// same holds for parameters.
///
/// ```
/// timebase_lab::fuzz::script(b"-- param top integer = 20\nSELECT :top;\0top=7");
/// ```
pub fn script(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0');
    let sql = parts.next().unwrap_or_default();
    let tokens: String = Tokens::of(sql).map(|token| token.text).collect();
    assert_eq!(tokens, sql);

    let script = Script::parse(sql);
    let mut rest = sql;
    for statement in &script.statements {
        let (_, from) = rest.split_once(statement.sql).expect("statements are in order");
        rest = from;
    }
    if is_open(sql) {
        assert!(!script.is_complete);
    }
    let conn = Connection::open_in_memory().unwrap();
    for statement in &script.statements {
        as_sqlite(&conn, statement.sql, &statement.parameters);
    }
    let given: Vec<_> = parts.filter_map(|part| parameters::parse(part).ok()).collect();
    if let Ok(values) = Parameters::of(&script, &given) {
        for statement in &script.statements {
            if let Ok(mut prepared) = conn.prepare(statement.sql) {
                // A parameter without a name is refused; all others have a value now.
                let bound = values.bind(&mut prepared);
                assert!(bound.is_ok() || statement.sql.contains('?'), "{bound:?}");
            }
        }
    }
}

/// A statement that SQLite can prepare ends where the code says.
fn as_sqlite(conn: &Connection, sql: &str, parameters: &[&str]) {
    let text = CString::new(sql).unwrap();
    let mut statement = ptr::null_mut();
    let mut tail = ptr::null();
    // SAFETY: the text ends with a zero byte and outlives the calls, and the connection is open.
    let code = unsafe {
        ffi::sqlite3_prepare_v2(conn.handle(), text.as_ptr(), -1, &raw mut statement, &raw mut tail)
    };
    if code != ffi::SQLITE_OK {
        return;
    }
    // SAFETY: SQLite has set it to a place in the text, or its end.
    let used = unsafe { tail.offset_from(text.as_ptr()) };
    // SAFETY: the statement was prepared, or is NULL, which is allowed.
    unsafe { ffi::sqlite3_finalize(statement) };
    assert_eq!(usize::try_from(used), Ok(sql.len()), "{sql:?}");
    if let Ok(prepared) = conn.prepare(sql) {
        let named =
            (1..=prepared.parameter_count()).filter_map(|index| prepared.parameter_name(index));
        for name in named.filter(|name| !name.starts_with('?')) {
            assert!(parameters.contains(&&name[1..]), "{name} of {sql:?}");
        }
    }
}
