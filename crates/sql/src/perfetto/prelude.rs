//! The objects from before the first module of a package (PQ2a), and the check of a module's statements
//! (PQ13).

use std::ops::ControlFlow;

use rusqlite::Connection;

use super::expand::{Sql, at};
use super::source::Place;
use super::table::{is_in_main, is_table, kind, make_index};
use super::unread;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::query::quoted;
use crate::token::{Kind, Tokens};
use crate::value::{ValueRef, Values};

/// Views over the tables of the database, with trace processor's names.
const VIEWS: &str = include_str!("prelude.sql");

/// Trace processor's tables that stay empty.
const UNREAD: &str = include_str!("unread.txt");

/// The columns of a slice and of a flow in trace processor. Timebase's have more, which make names
/// ambiguous in joins.
const SLICE: &str = "id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur, thread_instruction_count, thread_instruction_delta";
const FLOW: &str = "id, slice_out, slice_in, trace_id, arg_set_id";

/// Timebase's functions with rows that trace processor has, the table that they read, and the
/// columns.
const FUNCTIONS: [(&str, &str, &str); 5] = [
    ("ancestor_slice", "slice", SLICE),
    ("descendant_slice", "slice", SLICE),
    ("following_flow", "flow", FLOW),
    ("preceding_flow", "flow", FLOW),
    ("directly_connected_flow", "flow", FLOW),
];

/// Functions of timebase that a prelude or a module declares, too. SQLite replaces none while a statement runs;
/// then they stay.
pub const OURS: [&str; 21] = [
    "extract_metadata",
    "extract_metadata_for_machine",
    "extract_metadata_for_trace",
    "slice_is_ancestor",
    "trace_start",
    "trace_end",
    "trace_dur",
    "time_from_ns",
    "time_from_us",
    "time_from_ms",
    "time_from_s",
    "time_from_min",
    "time_from_hours",
    "time_from_days",
    "time_to_ns",
    "time_to_us",
    "time_to_ms",
    "time_to_s",
    "time_to_min",
    "time_to_hours",
    "time_to_days",
];

/// Functions of timebase and SQLite that a prelude declares by delegation, and that do the same.
pub const SAME: [&str; 15] = [
    "android_package_lookup",
    "abs_time_str",
    "to_monotonic",
    "to_realtime",
    "exp",
    "ln",
    "sqrt",
    "regexp",
    "regexp_extract",
    "regexp_replace_simple",
    "reverse",
    "base64_encode",
    "base64_decode",
    "demangle",
    "to_timecode",
];

/// Functions of trace processor that timebase does not have. What calls one of them fails, and not
/// the module that declares a view with such a call.
pub const MISSING: [&str; 1] = ["experimental_proto_path_to_frame"];

/// Makes trace processor's own tables, all in the temp schema.
///
/// # Errors
///
/// If SQLite refuses one.
pub fn make_tables(conn: &Connection) -> Result<()> {
    let mut known = Vec::new();
    Database::query(conn, "SELECT name FROM pragma_module_list", |row| {
        if let Some(ValueRef::Text(name)) = row.value(0) {
            known.push(String::from_utf8_lossy(name).into_owned());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    conn.execute_batch(VIEWS)?;
    let module = crate::slices::NARROW;
    let has_functions = known.iter().any(|known| known == module);
    for (function, of, columns) in FUNCTIONS {
        if has_functions && is_in_main(conn, of)? {
            conn.execute_batch(&format!(
                "CREATE VIRTUAL TABLE temp.{function} USING {module}({function}, {columns})"
            ))?;
        }
    }
    for (name, columns) in tables() {
        // Then timebase has a table-valued function with this name.
        if known.iter().any(|module| module == name) {
            continue;
        }
        let columns: Vec<String> = columns.split(',').map(column).collect();
        conn.execute_batch(&format!(
            "CREATE VIRTUAL TABLE temp.{} USING {}({})",
            quoted(name),
            unread::MODULE,
            columns.join(", ")
        ))?;
    }
    Ok(())
}

/// The empty tables: names and columns.
fn tables() -> impl Iterator<Item = (&'static str, &'static str)> {
    UNREAD.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "))
}

/// The form of a column in `CREATE TABLE`: `name:text HIDDEN` is `"name" TEXT HIDDEN`.
fn column(column: &str) -> String {
    let (column, hidden) = match column.trim().strip_suffix(" HIDDEN") {
        Some(column) => (column, " HIDDEN"),
        None => (column.trim(), ""),
    };
    let (name, declared) = match column.split_once(':') {
        Some((name, "text")) => (name, "TEXT"),
        Some((name, _)) => (name, "REAL"),
        None => (column, "INTEGER"),
    };
    format!("{} {declared}{hidden}", quoted(name))
}

/// The view of [`VIEWS`] that becomes a table when a statement first names `thread_state`. It
/// is a UNION ALL of four parts, through which SQLite finds no row by its id: on desktop.pftrace,
/// `sched.latency` took 83 s with SQLite 3.40, and takes 0.03 s with the table.
pub const THREAD_STATE: &str = "thread_state";

const MADE: &str = "__intrinsic_thread_state";

/// Makes the table of [`THREAD_STATE`], if the view is there.
///
/// # Errors
///
/// If SQLite refuses it, and those of the view.
pub fn make_thread_state(conn: &Connection) -> Result<()> {
    if kind(conn, MADE)?.as_deref() != Some("view") || !is_in_main(conn, THREAD_STATE)? {
        return Ok(());
    }
    conn.execute_batch(&format!(
        "DROP VIEW temp.{MADE};
         CREATE TABLE temp.{MADE} (
           id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, utid INTEGER, state TEXT, io_wait INTEGER,
           blocked_function TEXT, waker_utid INTEGER, waker_id INTEGER, irq_context INTEGER, ucpu INTEGER);
         INSERT INTO temp.{MADE}
         SELECT id, ts, dur, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context, ucpu
         FROM main.thread_state ORDER BY id"
    ))?;
    make_index(conn, "thread_state (utid, ts)", MADE, &["utid", "ts"])?;
    make_index(conn, "thread_state (ts)", MADE, &["ts"])?;
    make_index(conn, "thread_state (waker_id)", MADE, &["waker_id"])
}

/// Fills what trace processor fills between the modules of the prelude: the bounds of the trace,
/// which are 0 and 0 without events (PQ10).
///
/// # Errors
///
/// If the table is there and has other columns.
pub fn fill(conn: &Connection) -> Result<()> {
    if !is_table(conn, "_trace_bounds")? || !is_in_main(conn, "trace_bounds")? {
        return Ok(());
    }
    let sql = "UPDATE temp._trace_bounds
        SET start_ts = coalesce((SELECT start_ts FROM main.trace_bounds), 0),
            end_ts = coalesce((SELECT end_ts FROM main.trace_bounds), 0)
        WHERE start_ts = 0 AND end_ts = 0";
    Ok(conn.execute_batch(sql)?)
}

/// The words that a module's statement must not begin with: the transaction belongs to the INCLUDE.
const STATEMENTS: [&str; 11] = [
    "ATTACH",
    "DETACH",
    "VACUUM",
    "PRAGMA",
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "REINDEX",
];

/// Functions and tables that read or write files, or load code, in any client of SQLite.
const NAMES: [&str; 12] = [
    "create_function",
    "create_view_function",
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "fsdir",
    "lsdir",
    "zipfile",
    "csv",
    "shell",
    "fts3_tokenizer",
];

/// Refuses a statement of a module that is more than a query or a table (PQ13).
///
/// # Errors
///
/// If it reads files, attaches a database, loads an extension, or changes the transaction.
pub fn check_module_statement(sql: &Sql, place: &Place) -> Result<()> {
    let mut tokens = Tokens::with_macros(&sql.text).filter(|token| !token.kind.is_blank());
    let mut before = String::new();
    let mut is_first = true;
    while let Some(token) = tokens.next() {
        let word = token.text;
        let named = match token.kind {
            Kind::Word => word,
            Kind::Quoted => word.get(1..word.len().saturating_sub(1)).unwrap_or_default(),
            _ => {
                is_first = false;
                before.clear();
                continue;
            }
        };
        let is = |known: &&&str| known.eq_ignore_ascii_case(named);
        if is_first && let Some(found) = STATEMENTS.iter().find(is) {
            return Err(refused(found, place));
        }
        is_first = false;
        // A function, a table-valued function, or the module of a virtual table.
        let is_called = tokens.clone_next().is_some_and(|next| next.is_sign("("));
        let is_source =
            ["FROM", "JOIN", "USING"].iter().any(|keyword| before.eq_ignore_ascii_case(keyword));
        if (is_called || is_source)
            && let Some(found) = NAMES.iter().find(is)
        {
            return Err(refused(found, place));
        }
        before.clear();
        before += named;
    }
    Ok(())
}

/// Looks at the next token.
trait CloneNext: Iterator {
    fn clone_next(&self) -> Option<Self::Item>;
}

impl<I: Iterator + Clone> CloneNext for I {
    fn clone_next(&self) -> Option<Self::Item> {
        self.clone().next()
    }
}

fn refused(what: &str, place: &Place) -> Error {
    at(
        place,
        format_args!(
            "a module must not use {what}; it may only query, and make tables, views, functions and macros"
        ),
    )
}
