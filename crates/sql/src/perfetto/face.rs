//! The dialect in SQL: `perfetto_sql`, `perfetto_query`, `perfetto_rows`, `perfetto_result`,
//! `perfetto_notes`, and the older forms of its statements, such as `create_function`.
//!
//! All of them run any statement, so only a statement of the user may call them, and no view.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ToSqlOutput;
use rusqlite::vtab::{Context, Filters, IndexConstraintOp, IndexInfo, VTabConfig, dequote};
use rusqlite::{Connection, Result, ffi};

use super::dialect::Calling;
use super::engine::{Engine, Step, text_of};
use super::expand::Sql;
use super::last::{self, Finished};
use super::package::{Root, roots};
use super::pool::locked;
use super::prepared::{self as statement, Prepared};
use super::script::Statements;
use super::source::Source;
use crate::Error;
use crate::module::{self, Connecting, VirtualTable};
use crate::query::quoted;
use crate::value::ValueRef;
use timebase_descriptor::quote;

/// The variable that names folders of modules.
pub const VARIABLE: &str = "TIMEBASE_SQL_PACKAGES";

pub fn register(conn: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    for count in 1..=2 {
        conn.create_scalar_function("perfetto_sql", count, flags, move |ctx| {
            let given = Given::of(ctx, "perfetto_sql")?;
            // SAFETY: the connection is open during the call, and stays in it.
            let conn = unsafe { ctx.get_connection() }?;
            Ok(run_all(&conn, &given)?)
        })?;
        conn.create_scalar_function("perfetto_query", count, flags, move |ctx| {
            let given = Given::of(ctx, "perfetto_query")?;
            // SAFETY: the connection is open during the call, and stays in it.
            let conn = unsafe { ctx.get_connection() }?;
            let finished = given.run(&conn)?;
            Ok(finished.last.map(|sql| sql.text))
        })?;
    }
    for count in 0..=1 {
        conn.create_scalar_function("perfetto_notes", count, flags, move |ctx| {
            let sql = match count {
                0 => String::new(),
                _ => text(ctx.get_raw(0), "perfetto_notes", 1, "statement")?,
            };
            // SAFETY: the connection is open during the call, and stays in it.
            let conn = unsafe { ctx.get_connection() }?;
            let mut notes = super::take_notes(&conn)?;
            let unread = super::take_unread(&conn, &sql)?;
            notes.extend(unread.iter().map(|table| super::note_of(table)));
            Ok((!notes.is_empty()).then(|| notes.join("\n")))
        })?;
    }
    for called in Calling::ALL {
        let names = called.arguments();
        let count = c_int::try_from(names.len()).unwrap_or_default();
        conn.create_scalar_function(called.name(), count, flags, move |ctx| {
            let values = names.iter().enumerate();
            let values = values.map(|(at, name)| text_of(called, at, name, ctx.get_raw(at)));
            let values = values.collect::<crate::Result<Vec<String>>>()?;
            // SAFETY: the connection is open during the call, and stays in it.
            let conn = unsafe { ctx.get_connection() }?;
            let engine = Engine::of(&conn)?;
            add_packages(&engine, None)?;
            engine.call(called, &values)?;
            Ok(None::<i64>)
        })?;
    }
    module::register_function::<Rows>(conn, "perfetto_rows", None)?;
    module::register_table::<Outcome>(conn, "perfetto_result", Some(Results::default()))
}

fn text(value: ValueRef<'_>, function: &str, place: u8, name: &str) -> Result<String> {
    match value {
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Error::new(format_args!(
                "{function}(): argument {place} ({name}) must be UTF-8"
            ))
            .into()),
        },
        other => Err(Error::new(format_args!(
            "{function}(): argument {place} ({name}) must be a text, not {}",
            crate::value::told(Some(other))
        ))
        .into()),
    }
}

/// Adds the packages of a call. A connection without any has those of the environment.
pub fn add_packages(engine: &Engine<'_>, given: Option<&str>) -> crate::Result<()> {
    let list: Vec<Root> = match given {
        Some(given) => roots(given)?,
        None if engine.shared().roots().is_empty() => match std::env::var(VARIABLE) {
            Ok(list) => roots(&list)?,
            Err(_) => Vec::new(),
        },
        None => Vec::new(),
    };
    engine.shared().add_roots(&list);
    Ok(())
}

/// The arguments of a call: a script, and the folders with modules.
struct Given {
    script: String,
    folders: Option<String>,
}

impl Given {
    fn of(ctx: &rusqlite::functions::Context<'_>, function: &str) -> Result<Given> {
        Ok(Given {
            script: text(ctx.get_raw(0), function, 1, "script")?,
            folders: match ctx.len() {
                1 => None,
                _ => Some(text(ctx.get_raw(1), function, 2, "folders")?),
            },
        })
    }

    /// Runs the script up to its last statement with rows.
    fn run(&self, conn: &Connection) -> crate::Result<Finished> {
        let engine = Engine::of(conn)?;
        add_packages(&engine, self.folders.as_deref())?;
        last::run(&engine, conn, &self.script)
    }
}

/// Runs a script to its end, and returns how many statements it has.
fn run_all(conn: &Connection, given: &Given) -> crate::Result<i64> {
    let finished = given.run(conn)?;
    if let Some(sql) = finished.last {
        let mut prepared = prepared(conn, &sql)?;
        while prepared.step()? {}
    }
    i64::try_from(finished.statements).map_err(Error::new)
}

fn prepared(conn: &Connection, sql: &Sql) -> crate::Result<Prepared> {
    // SAFETY: every caller drops the statement before the connection is closed: in the same call,
    // or with its cursor.
    let prepared = unsafe { Prepared::new(conn.handle(), &sql.text, false) };
    let prepared = prepared.map_err(|failure| failure.explained(sql))?;
    prepared.ok_or_else(|| sql.explain("there is no statement", None))
}

/// The connection of a virtual table.
///
/// # Safety
///
/// It is open, and the result is not kept.
unsafe fn connection(conn: *mut ffi::sqlite3) -> Result<Connection> {
    // SAFETY: by the contract of this function.
    unsafe { Connection::from_handle(conn) }
}

/// `perfetto_rows(script, folders)`: the rows of the last statement as JSON objects.
struct Rows {
    conn: *mut ffi::sqlite3,
}

/// The rows of a script's last statement, and the names of its columns.
#[derive(Default)]
struct Found {
    rows: statement::Rows<Prepared>,
    names: Vec<String>,
}

impl VirtualTable for Rows {
    type Aux = ();
    type Cursor = Found;
    const USE: VTabConfig = VTabConfig::DirectOnly;

    fn connect(call: &Connecting<'_, ()>) -> Result<(String, Rows)> {
        let declaration = "CREATE TABLE x (row TEXT, script HIDDEN, folders HIDDEN)";
        Ok((declaration.to_owned(), Rows { conn: call.conn }))
    }

    fn plan(&self, info: &mut IndexInfo) -> Result<bool> {
        let mut given = 0;
        for (constraint, mut usage) in info.constraints_and_usages() {
            let is_equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            let column = constraint.column();
            if !is_equal || !(1..=2).contains(&column) {
                continue;
            }
            if !constraint.is_usable() {
                return Ok(false);
            }
            usage.set_argv_index(column);
            usage.set_omit(true);
            given |= column;
        }
        if given & 1 == 0 {
            return Err(rusqlite::Error::ModuleError(
                "perfetto_rows() needs the argument (script)".to_owned(),
            ));
        }
        Ok(true)
    }

    fn open(&self) -> Found {
        Found::default()
    }

    fn begin(
        &self,
        found: &mut Found,
        _number: c_int,
        _plan: &str,
        args: &Filters<'_>,
    ) -> Result<()> {
        found.rows = statement::Rows::default();
        let mut arguments = Vec::new();
        for (value, (place, name)) in args.iter().zip([(1, "script"), (2, "folders")]) {
            arguments.push(text(value, "perfetto_rows", place, name)?);
        }
        // SAFETY: the connection is open while its cursor is.
        let conn = unsafe { connection(self.conn) }?;
        let engine = Engine::of(&conn)?;
        add_packages(&engine, arguments.get(1).map(String::as_str))?;
        let script = arguments.first().map_or("", String::as_str);
        let finished = last::run(&engine, &conn, script)?;
        if let Some(sql) = finished.last {
            let statement = prepared(&conn, &sql)?;
            found.names = statement.column_names();
            found.rows.begin(statement)?;
        }
        Ok(())
    }

    fn next(&self, found: &mut Found, _at: usize) -> Result<()> {
        Ok(found.rows.next()?)
    }

    fn is_end(&self, found: &Found, _at: usize) -> bool {
        found.rows.is_end()
    }

    fn column(&self, found: &Found, _at: usize, column: usize, ctx: &mut Context) -> Result<()> {
        match column {
            0 => ctx.set_result(found.json()),
            _ => ctx.set_result(rusqlite::types::Null),
        }
    }
}

impl Found {
    fn json(&self) -> String {
        let mut json = String::from("{");
        for (index, name) in self.names.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            quote(name.as_bytes(), &mut json);
            json.push(':');
            push_value(&mut json, self.rows.value(index));
        }
        json.push('}');
        json
    }
}

fn push_value(json: &mut String, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => *json += "null",
        ValueRef::Integer(value) => *json += &value.to_string(),
        ValueRef::Real(value) if value.is_finite() => *json += &format!("{value:?}"),
        ValueRef::Real(value) => quote(value.to_string().as_bytes(), json),
        ValueRef::Text(text) => quote(text, json),
        // As SQLite's hex().
        ValueRef::Blob(bytes) => {
            json.push('"');
            bytes.iter().for_each(|byte| *json += &format!("{byte:02X}"));
            json.push('"');
        }
    }
}

/// The statements of `perfetto_result` tables by their name, because SQLite connects a table again
/// after changes, and macros may be others then.
#[derive(Clone, Default)]
struct Results(Arc<Mutex<HashMap<String, Sql>>>);

/// `perfetto_result('SELECT …')`: a virtual table with the columns of a SELECT.
struct Outcome {
    conn: *mut ffi::sqlite3,
    sql: Sql,
}

impl Outcome {
    fn of(conn: *mut ffi::sqlite3, sql: Sql) -> Result<(String, Outcome)> {
        // SAFETY: the connection is open during this call.
        let names = prepared(&unsafe { connection(conn) }?, &sql)?.column_names();
        let mut columns: Vec<String> = Vec::new();
        for name in &names {
            // Two columns may have one name in a SELECT, but not in a table.
            let mut unique = quoted(name);
            let mut number = 1u32;
            while columns.iter().any(|column| column.eq_ignore_ascii_case(&unique)) {
                number = number.saturating_add(1);
                unique = quoted(&format!("{name}:{number}"));
            }
            columns.push(unique);
        }
        Ok((format!("CREATE TABLE x ({})", columns.join(", ")), Outcome { conn, sql }))
    }

    /// The SELECT of a script, with its macros expanded.
    fn read(call: &Connecting<'_, Results>) -> crate::Result<Sql> {
        let [script] = call.args else {
            return Err(Error::new(
                "perfetto_result takes one text: USING perfetto_result('SELECT …')",
            ));
        };
        let script = String::from_utf8_lossy(script);
        let script = dequote(script.trim());
        // SAFETY: the connection is open during this call.
        let conn = unsafe { connection(call.conn) }?;
        let engine = Engine::of(&conn)?;
        let mut raws = Statements::of(&script);
        let one = raws.next().filter(|_| raws.next().is_none());
        let sql = match one {
            Some(raw) if !begins_dialect(&script) => {
                match engine.step(&Source::new(None, &script), raw)? {
                    Step::Sql(sql) => Some(sql),
                    Step::Ran => None,
                }
            }
            _ => None,
        };
        let sql = sql.ok_or_else(|| {
            Error::new(
                "perfetto_result takes one SELECT; run other statements before, with SELECT perfetto_sql('…')",
            )
        })?;
        let statement = prepared(&conn, &sql)?;
        match statement.column_count() > 0 && statement.is_read_only() {
            true => Ok(sql),
            false => Err(sql.explain("perfetto_result takes one SELECT", None)),
        }
    }
}

/// Whether the first words are those of the dialect.
fn begins_dialect(script: &str) -> bool {
    let first = script.split_whitespace().next().unwrap_or_default();
    ["CREATE", "INCLUDE", "DROP"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// The name of a `perfetto_result` table among the [`Results`].
fn key(call: &Connecting<'_, Results>) -> String {
    String::from_utf8_lossy(call.table_name).to_ascii_lowercase()
}

impl VirtualTable for Outcome {
    type Aux = Results;
    type Cursor = statement::Rows<Prepared>;
    const USE: VTabConfig = VTabConfig::DirectOnly;

    fn connect(call: &Connecting<'_, Results>) -> Result<(String, Outcome)> {
        let known = call.aux.and_then(|Results(results)| locked(results).get(&key(call)).cloned());
        let sql = match known {
            Some(sql) => sql,
            None => Outcome::read(call)?,
        };
        Outcome::of(call.conn, sql)
    }

    fn create(call: &Connecting<'_, Results>) -> Result<(String, Outcome)> {
        let sql = Outcome::read(call)?;
        if let Some(Results(results)) = call.aux {
            locked(results).insert(key(call), sql.clone());
        }
        Outcome::of(call.conn, sql)
    }

    /// All rows, in the SELECT's order.
    fn plan(&self, _: &mut IndexInfo) -> Result<bool> {
        Ok(true)
    }

    fn open(&self) -> statement::Rows<Prepared> {
        statement::Rows::default()
    }

    fn begin(
        &self,
        rows: &mut statement::Rows<Prepared>,
        _number: c_int,
        _plan: &str,
        _args: &Filters<'_>,
    ) -> Result<()> {
        let mut statement = match rows.take() {
            Some(statement) => statement,
            None => {
                // SAFETY: the connection is open while its cursor is.
                let conn = unsafe { connection(self.conn) }?;
                prepared(&conn, &self.sql)?
            }
        };
        statement.reset();
        Ok(rows.begin(statement)?)
    }

    fn next(&self, rows: &mut statement::Rows<Prepared>, _at: usize) -> Result<()> {
        Ok(rows.next()?)
    }

    fn is_end(&self, rows: &statement::Rows<Prepared>, _at: usize) -> bool {
        rows.is_end()
    }

    fn column(
        &self,
        rows: &statement::Rows<Prepared>,
        _at: usize,
        column: usize,
        ctx: &mut Context,
    ) -> Result<()> {
        ctx.set_result(ToSqlOutput::Borrowed(rows.value(column)))
    }
}
