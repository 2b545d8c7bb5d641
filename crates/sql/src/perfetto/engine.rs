//! Running statements: those of the dialect here, all others by SQLite.

mod calls;
mod functions;
mod modules;

pub use calls::text_of;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use super::dialect::{Action, Column, Dropped, Index, Plain, read};
use super::expand::{Sql, at};
use super::held::Held;
use super::pool::locked;
use super::prelude;
use super::prepared::Bound;
use super::script::Raw;
use super::source::{Place, Source};
use super::state::{FunctionKey, Shared};
use super::table::{NewTable, WHILE_READ, check_schema, is_in_main, kind, make_index};
use crate::error::{Error, Result};
use crate::query::quoted;

/// The savepoints of this file.
const SAVEPOINT: &str = "__timebase_perfetto";

/// A connection with its state.
pub struct Engine<'c> {
    conn: &'c Connection,
    shared: Arc<Shared>,
    /// Values for the parameters of a user's tables.
    parameters: Vec<(String, Held)>,
}

/// The outcome of a statement.
pub enum Step {
    /// It was one of the dialect, and has run.
    Ran,
    /// It is one for SQLite, in this form.
    Sql(Sql),
}

impl<'c> Engine<'c> {
    /// The engine of a connection.
    ///
    /// # Errors
    ///
    /// If the connection does not have timebase's functions.
    pub fn of(conn: &'c Connection) -> Result<Engine<'c>> {
        let shared = Shared::of(conn)?;
        let parameters = Vec::new();
        let engine = Engine { conn, shared, parameters };
        engine.end_savepoints();
        Ok(engine)
    }

    /// Inside of a function of SQL, an interrupt also refuses to end a savepoint.
    fn end_savepoints(&self) {
        let open = &self.shared.open_savepoints;
        while open.load(Ordering::Relaxed) > 0 {
            match self.conn.execute_batch(&rollback()) {
                Ok(()) => {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
                // The transaction has ended, and its savepoints with it.
                Err(error) if error.to_string().contains("no such savepoint") => {
                    open.store(0, Ordering::Relaxed);
                }
                Err(_) => return,
            }
        }
    }

    /// The same, with values for parameters, by their names without a sign.
    pub fn with_parameters(self, parameters: Vec<(String, Held)>) -> Engine<'c> {
        Engine { parameters, ..self }
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs a statement of a user's script, if it is one of the dialect.
    pub fn step(&self, source: &Arc<Source>, raw: Raw) -> Result<Step> {
        self.prepare_tables(source, raw)?;
        let statement = self.resolved(read(source, raw, self.shared.as_ref())?)?;
        let place = statement.place;
        match statement.action {
            Action::Sqlite(plain) => Ok(Step::Sql(self.user_form(plain)?)),
            action => {
                self.act(action, &place, statement.is_replacing, 0)?;
                Ok(Step::Ran)
            }
        }
    }

    /// Makes the table that a statement names, if that waits until then.
    fn prepare_tables(&self, source: &Arc<Source>, raw: Raw) -> Result<()> {
        let is_of_prelude = |name: &String| name.contains("prelude.");
        if source.name.as_ref().is_some_and(is_of_prelude)
            || locked(&self.shared.state).preludes == 0
        {
            return Ok(());
        }
        let text = source.text.get(raw.start..raw.end).unwrap_or_default();
        match text.contains(prelude::THREAD_STATE) {
            true => self.whole(|| prelude::make_thread_state(self.conn)),
            false => Ok(()),
        }
    }

    /// A span join is always temporary. All else is if the database cannot be written, where it
    /// could only fail.
    fn user_form(&self, plain: Plain) -> Result<Sql> {
        Ok(match plain.temporary {
            Some(temporary) if plain.is_span_join || self.conn.is_readonly("main")? => temporary,
            _ => plain.sql,
        })
    }

    fn act(&self, action: Action, place: &Place, is_replacing: bool, depth: usize) -> Result<()> {
        match action {
            Action::Table { name, schema, select } => {
                self.whole(|| self.table(&name, &schema, &select, is_replacing))
            }
            Action::View { name, schema, select } => {
                self.whole(|| self.view(&name, &schema, &select, is_replacing))
            }
            Action::Function(function) => self.function(function, place, is_replacing),
            Action::Index(index) => self.index(&index, place, is_replacing),
            Action::Macro(made) => {
                let mut state = locked(&self.shared.state);
                if !is_replacing && state.macros.contains_key(&made.name) {
                    return Err(exists("MACRO", &format!("{}!", made.name), place));
                }
                state.macros.insert(made.name.clone(), Arc::new(made));
                Ok(())
            }
            Action::Include(module) => self.include(&module, place, depth),
            Action::Drop(kind, name) => self.drop(kind, &name, place),
            Action::Memoize(function) => self.memoize(&function),
            Action::Sqlite(_) | Action::Call(..) => Ok(()),
        }
    }

    /// Runs something of which nothing stays if it fails.
    fn whole<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.conn.execute_batch(&format!("SAVEPOINT {SAVEPOINT}"))?;
        let result = run();
        let end = match result {
            Ok(_) => format!("RELEASE {SAVEPOINT}"),
            Err(_) => rollback(),
        };
        let ended = self.conn.execute_batch(&end);
        if ended.is_err() {
            self.shared.open_savepoints.fetch_add(1, Ordering::Relaxed);
        }
        let value = result?;
        ended?;
        Ok(value)
    }

    fn table(&self, name: &str, schema: &[Column], select: &Sql, is_replacing: bool) -> Result<()> {
        match kind(self.conn, name)?.as_deref() {
            Some("view") if is_replacing => self.drop_object("VIEW", name)?,
            Some(_) if !is_replacing => {
                return Err(select.explain(&already(&format!("TABLE {name}")), None));
            }
            _ => {}
        }
        // The tables without rows that the SELECT reads count later, for statements that
        // read the new table.
        let before = self.shared.unread.take();
        let made = NewTable {
            conn: self.conn,
            name,
            schema,
            select,
            is_replacing,
            parameters: &self.parameters,
        };
        let made = made.make();
        let mut read = self.shared.unread.take();
        before.iter().for_each(|name| self.shared.unread.add(name));
        made?;
        read.extend(self.unread_by(&select.text));
        let mut state = locked(&self.shared.state);
        state.tables.insert(name.to_ascii_lowercase());
        match read.is_empty() {
            true => state.unread.remove(&name.to_ascii_lowercase()),
            false => state.unread.insert(name.to_ascii_lowercase(), read),
        };
        Ok(())
    }

    /// The tables without rows from which the tables of a statement were made.
    pub fn unread_by(&self, sql: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        if locked(&self.shared.state).unread.is_empty() {
            return found;
        }
        for name in tables_of(self.conn, sql).unwrap_or_default() {
            let state = locked(&self.shared.state);
            if let Some(unread) = state.unread.get(&name.to_ascii_lowercase()) {
                found.extend(unread.iter().cloned());
            }
        }
        found
    }

    fn view(&self, name: &str, schema: &[Column], select: &Sql, is_replacing: bool) -> Result<()> {
        match kind(self.conn, name)?.as_deref() {
            Some(found) if is_replacing => self.drop_object(found, name)?,
            Some(_) => return Err(select.explain(&already(&format!("VIEW {name}")), None)),
            None => {}
        }
        let prepared = Bound::of(self.conn, select)?;
        let names = prepared.map(|prepared| prepared.column_names());
        let what = format!("CREATE PERFETTO VIEW {name}");
        if !schema.is_empty() {
            check_schema(&what, schema, &names.unwrap_or_default(), select)?;
        }
        let sql = format!("CREATE TEMP VIEW {} AS {}", quoted(name), select.text);
        self.conn
            .execute_batch(&sql)
            .map_err(|error| select.explain(Error::from(error).message(), None))
    }

    /// Drops a table or view of the temp schema.
    fn drop_object(&self, kind: &str, name: &str) -> Result<()> {
        let sql = format!("DROP {kind} temp.{}", quoted(name));
        Ok(self.conn.execute_batch(&sql)?)
    }

    /// The name of an index is of no schema; SQLite's would be that of no table either.
    fn index(&self, index: &Index, place: &Place, is_replacing: bool) -> Result<()> {
        let name = index_name(&index.name);
        let is_known = self.has_index(&name)?;
        if is_known && !is_replacing {
            return Err(exists("INDEX", &index.name, place));
        }
        let found = kind(self.conn, &index.table)?;
        let is_ours = is_in_main(self.conn, &index.table)?;
        match found.as_deref() {
            Some("table") => {}
            None if !is_ours => {
                let table = &index.table;
                let message = format!("CREATE PERFETTO INDEX: no such table: {table}");
                return Err(at(place, message));
            }
            _ => {
                self.shared.note(format!(
                    "CREATE PERFETTO INDEX {} was left out: {} is part of the database, which has its own indexes",
                    index.name, index.table
                ));
                return Ok(());
            }
        }
        let columns: Vec<&str> = index.columns.iter().map(String::as_str).collect();
        self.whole(|| {
            if is_known {
                self.drop_object("INDEX", &name)?;
            }
            make_index(self.conn, &name, &index.table, &columns)
        })
        .map_err(|error| match error.is_interrupt() {
            true => error,
            false => at(place, error),
        })
    }

    fn has_index(&self, name: &str) -> Result<bool> {
        let sql =
            "SELECT 1 FROM sqlite_temp_schema WHERE type = 'index' AND name = ?1 COLLATE NOCASE";
        Ok(self.conn.prepare(sql)?.exists([name])?)
    }

    fn drop(&self, dropped: Dropped, name: &str, place: &Place) -> Result<()> {
        let missing = |what: &str| {
            Err(at(
                place,
                format_args!("DROP PERFETTO {what}: no such {}: {name}", what.to_ascii_lowercase()),
            ))
        };
        let busy = |error: Error| match error.message().contains("is locked") {
            false => error,
            true => at(place, format_args!("{name} cannot be dropped {WHILE_READ}")),
        };
        match dropped {
            Dropped::Macro => {
                let name = name.strip_suffix('!').unwrap_or(name);
                match locked(&self.shared.state).macros.remove(name) {
                    Some(_) => Ok(()),
                    None => missing("MACRO"),
                }
            }
            Dropped::Index => match self.has_index(&index_name(name))? {
                true => self.drop_object("INDEX", &index_name(name)).map_err(busy),
                false => missing("INDEX"),
            },
            Dropped::Table => match kind(self.conn, name)?.as_deref() {
                Some("table") => {
                    self.drop_object("TABLE", name).map_err(busy)?;
                    locked(&self.shared.state).tables.remove(&name.to_ascii_lowercase());
                    Ok(())
                }
                _ => missing("TABLE"),
            },
            Dropped::View => match kind(self.conn, name)?.as_deref() {
                Some("view") => self.drop_object("VIEW", name),
                _ => missing("VIEW"),
            },
            Dropped::Function => {
                let known: Vec<FunctionKey> = locked(&self.shared.state)
                    .functions
                    .keys()
                    .filter(|(known, _)| known.eq_ignore_ascii_case(name))
                    .cloned()
                    .collect();
                for key in &known {
                    self.shared.define(self.conn, key, name, None)?;
                }
                match (known.is_empty(), kind(self.conn, name)?.as_deref()) {
                    (_, Some("table")) => self.drop_object("TABLE", name),
                    (false, _) => Ok(()),
                    (true, _) => missing("FUNCTION"),
                }
            }
        }
    }
}

fn rollback() -> String {
    format!("ROLLBACK TO {SAVEPOINT}; RELEASE {SAVEPOINT}")
}

/// Names of indexes are apart from those of tables in trace processor, and are not in SQLite.
fn index_name(name: &str) -> String {
    format!("{name} (index)")
}

fn already(what: &str) -> String {
    let (kind, name) = what.split_once(' ').unwrap_or((what, ""));
    format!(
        "CREATE PERFETTO {kind}: {name} exists already; use CREATE OR REPLACE PERFETTO {kind}, or another name"
    )
}

fn exists(kind: &str, name: &str, place: &Place) -> Error {
    at(place, already(&format!("{kind} {name}")))
}

/// The tables of the temp schema that a statement reads.
fn tables_of(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut explain = conn.prepare(&format!("EXPLAIN {sql}"))?;
    let mut rows = explain.raw_query();
    let mut pages = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let (opcode, page, schema): (String, i64, i64) = (row.get(1)?, row.get(3)?, row.get(4)?);
        if opcode == "OpenRead" && schema == 1 {
            pages.insert(page);
        }
    }
    let mut names = Vec::new();
    let sql = "SELECT tbl_name FROM sqlite_temp_schema WHERE rootpage = ?1";
    let mut name_of = conn.prepare(sql)?;
    for page in pages {
        let mut rows = name_of.query([page])?;
        while let Some(row) = rows.next()? {
            names.push(row.get(0)?);
        }
    }
    Ok(names)
}
