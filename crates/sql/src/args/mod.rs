//! The SQL function `extract_arg(arg_set_id, key)`, as in Perfetto's trace processor:
//! one argument of an event, a track or a process.
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! conn.execute_batch(
//!     "CREATE TABLE args (
//!        id INTEGER PRIMARY KEY, arg_set_id INTEGER, flat_key TEXT, key TEXT, int_value INTEGER,
//!        string_value TEXT, real_value REAL, value_type TEXT, display_value TEXT);
//!      INSERT INTO args (arg_set_id, flat_key, key, int_value, value_type)
//!      VALUES (7, 'debug.ids', 'debug.ids[0]', 4000, 'int'),
//!             (7, 'debug.ids', 'debug.ids[1]', 4001, 'int');",
//! )?;
//! timebase_sql::args::register(&conn)?;
//!
//! let ask = |sql| conn.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
//! assert_eq!(ask("SELECT extract_arg(7, 'debug.ids[1]')")?, Some(4001));
//! assert_eq!(ask("SELECT extract_arg(7, 'debug.ids')")?, None);
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! # Design
//!
//! This is a module of its own: the machinery of SQL functions knows no table, and arguments have
//! nothing to do with the packets' schema or the clock graph.
//!
//! A trace has millions of arguments, so the function looks them up one by one, with a query that a
//! statement prepares once ([`Lookup`]). The alternative was to load them, like the clock graph;
//! that would take longer than most statements.
//!
//! In a database of timebase, a set is a row with a JSON object. Its number finds the row, and a
//! path finds the argument, so the function does not use the view `args`, which makes a row for
//! each argument in the set. Before SQLite 3.45, its paths cannot express a key with a quotation
//! mark, a backslash or a control character. The function looks up such keys in the view, and so it
//! does for all keys in other databases.

use crate::{Answer, Arguments, Call, Error, Function, Functions, Lookup, Result, ValueRef};
use rusqlite::Connection;

/// Finds an argument by the path of its key. The sets of kernel events have odd numbers, all others
/// even ones. SQLite reads an integer of 2^63 or more in JSON as a real number, so the query
/// computes its 64 bits from the digits.
const STORED: &str = "SELECT CASE WHEN typeof(value) = 'real' AND json_type(args, path) = 'integer' \
       THEN (SELECT 10 * (substr(digits, 1, length(digits) - 1) - 1844674407370955160) + substr(digits, -1) - 16 \
             FROM (SELECT args -> path AS digits)) \
       ELSE value END \
     FROM (SELECT args, path, args ->> path AS value \
           FROM (SELECT args, '$.\"' || ?2 || '\"' AS path FROM main.arg_set WHERE id = ?1)) \
     UNION ALL \
     SELECT args ->> ('$.\"' || ?2 || '\"') FROM main.ftrace_args WHERE id = ?1";

/// A key is in a set once; if it is there twice, the first one counts.
const VALUE: &str = "SELECT CASE value_type WHEN 'string' THEN string_value WHEN 'json' THEN string_value \
     WHEN 'real' THEN real_value ELSE int_value END \
     FROM main.args WHERE arg_set_id = ?1 AND key = ?2 ORDER BY id LIMIT 1";

/// Registers the function on a connection.
///
/// It reads the table or view `args` of the main database, which may be created later, with the
/// columns in the example of the module.
///
/// # Errors
///
/// If SQLite refuses the function.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    Ok(add(&mut &*conn)?)
}

/// Adds the function to a connection or a list of functions.
///
/// ```
/// use timebase_sql::plain::List;
///
/// let mut list = List::default();
/// timebase_sql::args::add(&mut list)?;
/// assert_eq!(list.get(0).unwrap().name(), "extract_arg");
/// # Ok::<(), timebase_sql::Error>(())
/// ```
///
/// # Errors
///
/// If SQLite refuses the function.
pub fn add(to: &mut impl Functions) -> Result<()> {
    to.add("extract_arg", 2, ExtractArg::new())
}

struct ExtractArg {
    by_path: Lookup,
    by_key: Lookup,
}

impl ExtractArg {
    fn new() -> Self {
        ExtractArg { by_path: Lookup::new(STORED).or(VALUE), by_key: Lookup::new(VALUE) }
    }
}

/// Whether a path can express the key.
#[inline]
fn fits_path(key: &str) -> bool {
    let is_plain = |byte| byte >= b' ' && byte != b'"' && byte != b'\\';
    !key.is_empty() && key.bytes().all(is_plain)
}

impl Function for ExtractArg {
    #[inline]
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("extract_arg", call);
        let set = arguments.integer(0, "arg_set_id")?;
        let key = arguments.text(1, "key")?;
        let (Some(set), Some(key)) = (set, key) else {
            return Ok(Answer::Null);
        };
        let parameters = [ValueRef::Integer(set), ValueRef::Text(key.as_bytes())];
        let lookup = match fits_path(key) {
            true => &self.by_path,
            false => &self.by_key,
        };
        let value = lookup.value("extract_arg", call, &parameters);
        value.map_err(|error| explain(&error))
    }
}

#[cold]
fn explain(error: &Error) -> Error {
    let message = error.message();
    if message.starts_with("extract_arg(): ") || error.is_interrupt() {
        return error.clone();
    }
    if message.starts_with("no such table") {
        return Error::new(format_args!(
            "extract_arg(): this database has no arguments ({message}); make one with `timebase import`"
        ));
    }
    Error::new(format_args!("extract_arg(): args cannot be used: {message}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
