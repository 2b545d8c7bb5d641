//! Running statements: those of the dialect here, all others by SQLite.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, ffi};

use super::dialect::{Action, Body, Column, Dropped, Function, Index, Plain, Returns, read};
use super::expand::{Sql, at};
use super::held::Held;
use super::package::Root;
use super::prelude;
use super::prepared::Prepared;
use super::scalar::Scalar;
use super::script::{Raw, Statements};
use super::source::{Place, Source};
use super::state::{FunctionKey, Progress, Shared, locked};
use super::table::{NewTable, check_schema, is_in_main, kind, make_index, quoted};
use super::tabular::{self, Tabular};
use crate::error::{Error, Result};

/// Modules that include modules.
const DEPTH: usize = 200;

/// A module stays failed (PQ10).
const STAYS: &str = "a module has failed before in this connection, and stays so";

/// The savepoints of this file.
const SAVEPOINT: &str = "__timebase_perfetto";

/// A connection with its state.
pub struct Engine<'c> {
    conn: &'c Connection,
    shared: Arc<Shared>,
    /// Values for the parameters of a user's tables.
    parameters: Vec<(String, Held)>,
}

/// What becomes of a statement.
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
        let engine = Engine {
            conn,
            shared,
            parameters,
        };
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
        let statement = read(source, raw, self.shared.as_ref())?;
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

    /// Runs all statements of a module. Nothing may have rows.
    fn run_module(&self, source: &Arc<Source>, depth: usize) -> Result<()> {
        for raw in Statements::of(&source.text) {
            self.prepare_tables(source, raw)?;
            let statement = read(source, raw, self.shared.as_ref())?;
            let place = statement.place;
            match statement.action {
                Action::Sqlite(plain) => {
                    prelude::check_module_statement(&plain.sql, &place)?;
                    self.run_sql(&plain.temporary.unwrap_or(plain.sql), &place)?;
                }
                action => {
                    if let Some(body) = action.body() {
                        prelude::check_module_statement(body, &place)?;
                    }
                    self.act(action, &place, statement.is_replacing, depth)?;
                }
            }
        }
        Ok(())
    }

    fn run_sql(&self, sql: &Sql, place: &Place) -> Result<()> {
        // SAFETY: the connection is open until the end of this function.
        let prepared = unsafe { Prepared::new(self.conn.handle(), &sql.text, false) };
        let prepared = prepared.map_err(|failure| failure.explained(sql))?;
        let Some(mut prepared) = prepared else {
            return Ok(());
        };
        let fail = |error: Error| match error.is_interrupt() {
            true => error,
            false => sql.explain(error.message(), None),
        };
        let is_quiet = prepared.column_names() == ["suppress_query_output"];
        while prepared.step().map_err(fail)? {
            let is_value = prepared.column_type(0) != ffi::SQLITE_NULL;
            if !is_quiet && is_value {
                let message =
                    "a module must not have results; remove the SELECT, or make a table of it";
                return Err(at(place, message));
            }
        }
        Ok(())
    }

    fn act(&self, action: Action, place: &Place, is_replacing: bool, depth: usize) -> Result<()> {
        match action {
            Action::Table {
                name,
                schema,
                select,
            } => self.whole(|| self.table(&name, &schema, &select, is_replacing)),
            Action::View {
                name,
                schema,
                select,
            } => self.whole(|| self.view(&name, &schema, &select, is_replacing)),
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
            Action::Sqlite(_) => Ok(()),
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
        // What reads a table without rows while it is made will be asked for later.
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
        match read.is_empty() {
            true => state.unread.remove(&name.to_ascii_lowercase()),
            false => state.unread.insert(name.to_ascii_lowercase(), read),
        };
        Ok(())
    }

    /// The tables without rows from which those tables were made that a statement reads.
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
        // SAFETY: the connection is open until the end of this function.
        let prepared = unsafe { Prepared::new(self.conn.handle(), &select.text, false) };
        let prepared = prepared.map_err(|failure| failure.explained(select))?;
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

    fn function(&self, function: Function, place: &Place, is_replacing: bool) -> Result<()> {
        self.shared.keep_statements(self.conn)?;
        match (function.returns, function.body) {
            (Returns::Value, Body::Select(sql)) => {
                self.scalar(&function.name, function.arguments, sql, place, is_replacing)
            }
            (_, Body::Delegates(to)) => {
                self.delegate(&function.name, function.arguments, &to, place, is_replacing)
            }
            (Returns::Rows(columns), Body::Select(sql)) => {
                let tabular = Tabular {
                    name: function.name,
                    places: Vec::new(),
                    arguments: function.arguments,
                    columns,
                    pool: self.shared.pools.add(sql),
                };
                self.whole(|| self.tabular(tabular, place, is_replacing))
            }
        }
    }

    fn scalar(
        &self,
        name: &str,
        arguments: Vec<Column>,
        sql: Sql,
        place: &Place,
        is_replacing: bool,
    ) -> Result<()> {
        let key = key(name, arguments.len());
        let old = locked(&self.shared.state).functions.get(&key).cloned();
        if old.is_some() && !is_replacing {
            return Err(exists("FUNCTION", name, place));
        }
        let registered = self.shared.has_slot(&key);
        if !registered {
            // The name exists before its body is read, because the body may call it.
            match self.shared.define(self.conn, &key, name, None) {
                // Timebase's does the same.
                Err(error) if prelude::OURS.contains(&name) && !error.is_interrupt() => {
                    return Ok(());
                }
                defined => defined.map_err(|error| busy(name, &error, place))?,
            }
        }
        // SAFETY: the connection is open until the end of this function.
        let body = unsafe { Prepared::new(self.conn.handle(), &sql.text, false) };
        let body = body.map_err(|failure| failure.explained(&sql))?;
        let Some(body) = body else {
            return Err(sql.explain("there is no SELECT", None));
        };
        check_parameters(name, &arguments, &body, &sql)?;
        if body.column_count() != 1 {
            let message = format!(
                "{name}(): its SELECT must have one column, not {}",
                body.column_count()
            );
            return Err(sql.explain(&message, None));
        }
        let scalar = Scalar::new(name, arguments, sql, &self.shared.pools, &body);
        drop(body);
        self.shared
            .define(self.conn, &key, name, Some(Arc::new(scalar)))
    }

    /// `DELEGATES TO`: a function whose body is a call of the other one.
    fn delegate(
        &self,
        name: &str,
        arguments: Vec<Column>,
        to: &str,
        place: &Place,
        is_replacing: bool,
    ) -> Result<()> {
        let is_variadic = arguments.last().is_some_and(|last| last.is_variadic);
        let key = match is_variadic {
            true => (name.to_ascii_lowercase(), -1),
            false => key(name, arguments.len()),
        };
        let old = locked(&self.shared.state).functions.get(&key).cloned();
        if old.is_some() && !is_replacing {
            return Err(exists("FUNCTION", name, place));
        }
        let (has_target, has_name) = (
            self.has_function(to, key.1)?,
            self.has_function(name, key.1)?,
        );
        if !has_target {
            // SQLite or timebase has what trace processor calls so.
            if has_name && to.eq_ignore_ascii_case(&format!("__intrinsic_{name}")) {
                return Ok(());
            }
            // A function of trace processor's that nothing has yet: what calls it fails, and the
            // rest of the module does not.
            if to.trim_start_matches('_').starts_with("intrinsic_") {
                return self
                    .shared
                    .define(self.conn, &key, name, None)
                    .map_err(|error| busy(name, &error, place));
            }
            let message = format!("{name}(): no such function: {to}");
            return Err(at(place, message));
        }
        if is_variadic {
            let message = format!(
                "{name}(): a function with any number of arguments (...) cannot delegate here"
            );
            return Err(at(place, message));
        }
        let names: Vec<String> = arguments
            .iter()
            .map(|argument| format!("${}", argument.name))
            .collect();
        let text = format!("SELECT {}({})", quoted(to), names.join(", "));
        let source = Source::new(Some(format!("{name}()")), &text);
        let sql = Sql::of(&super::expand::pieces(&source, 0, text.len()));
        // SAFETY: the connection is open until the end of this function.
        let body = unsafe { Prepared::new(self.conn.handle(), &sql.text, false) };
        let body = body.map_err(|failure| failure.explained(&sql))?;
        let Some(body) = body else {
            return Err(sql.explain("there is no SELECT", None));
        };
        let scalar = Scalar::new(name, arguments, sql, &self.shared.pools, &body).unchecked();
        drop(body);
        let defined = self
            .shared
            .define(self.conn, &key, name, Some(Arc::new(scalar)));
        match defined {
            // A function of SQLite's cannot be replaced while a statement runs.
            Err(error) if has_name && !error.is_interrupt() => {
                self.shared.note(format!(
                    "{name}() stays SQLite's own function because a statement runs; run the script outside of SELECT perfetto_sql('…') to have Perfetto's"
                ));
                Ok(())
            }
            Err(error) => Err(busy(name, &error, place)),
            Ok(()) => Ok(()),
        }
    }

    fn has_function(&self, name: &str, count: i32) -> Result<bool> {
        let sql = "SELECT 1 FROM pragma_function_list WHERE name = ?1 COLLATE NOCASE AND (narg = ?2 OR narg < 0)";
        let mut statement = self.conn.prepare(sql)?;
        Ok(statement.exists((name, count))?)
    }

    fn tabular(&self, mut tabular: Tabular, place: &Place, is_replacing: bool) -> Result<()> {
        let name = tabular.name.clone();
        let sql = tabular.pool.sql().clone();
        // SAFETY: the connection is open until the end of this function.
        let body = unsafe { Prepared::new(self.conn.handle(), &sql.text, false) };
        let body = body.map_err(|failure| failure.explained(&sql))?;
        let Some(body) = body else {
            return Err(sql.explain("there is no SELECT", None));
        };
        check_parameters(&name, &tabular.arguments, &body, &sql)?;
        let names = body.column_names();
        let is_same = |(column, name): (&Column, &String)| column.name.eq_ignore_ascii_case(name);
        let are_same =
            names.len() == tabular.columns.len() && tabular.columns.iter().zip(&names).all(is_same);
        if !are_same {
            let declared = tabular.columns.iter().map(|column| column.name.as_str());
            let message = format!(
                "{name}(): RETURNS TABLE has the columns {}, but its SELECT has {}; they must be the same, in this order",
                declared.collect::<Vec<_>>().join(", "),
                names.join(", ")
            );
            return Err(sql.explain(&message, None));
        }
        let parameter = |argument: &Column| body.parameter(&format!("${}", argument.name));
        tabular.places = tabular.arguments.iter().map(parameter).collect();
        drop(body);
        match kind(self.conn, &name)?.as_deref() {
            Some(found) if is_replacing => self.drop_object(found, &name)?,
            Some(_) => return Err(exists("FUNCTION", &name, place)),
            None => {}
        }
        let number = self.shared.definitions.add(tabular);
        let sql = format!(
            "CREATE VIRTUAL TABLE temp.{} USING {}({number})",
            quoted(&name),
            tabular::MODULE
        );
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
                format_args!(
                    "DROP PERFETTO {what}: no such {}: {name}",
                    what.to_ascii_lowercase()
                ),
            ))
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
                true => self.drop_object("INDEX", &index_name(name)),
                false => missing("INDEX"),
            },
            Dropped::Table => match kind(self.conn, name)?.as_deref() {
                Some("table") => self.drop_object("TABLE", name),
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

    /// `INCLUDE PERFETTO MODULE`, with a name or a wildcard.
    fn include(&self, module: &str, place: &Place, depth: usize) -> Result<()> {
        let roots = self.shared.roots();
        let below = match module.strip_suffix('*') {
            None => {
                self.include_one(module, place, depth)?;
                return Ok(());
            }
            Some("") => None,
            Some(below) => Some(below.trim_end_matches('.')),
        };
        let mut all = BTreeSet::new();
        for root in &roots {
            all.extend(root.modules(below)?);
        }
        if all.is_empty() {
            return Err(at(place, not_found(module, &roots)));
        }
        for module in &all {
            self.include_one(module, place, depth)?;
        }
        Ok(())
    }

    fn include_one(&self, module: &str, place: &Place, depth: usize) -> Result<()> {
        let known = locked(&self.shared.state).modules.get(module).cloned();
        match known {
            Some(Progress::Included) => return Ok(()),
            Some(Progress::Running) => {
                let message = format!(
                    "the module {module} includes itself: {}",
                    self.circle(module)
                );
                return Err(at(place, message));
            }
            Some(Progress::Failed(why)) => {
                // A chain of such modules has one reason.
                let message = match why.starts_with(STAYS) {
                    true => why,
                    false => format!("{STAYS}: {module}: {why}"),
                };
                return Err(at(place, message));
            }
            None => {}
        }
        if depth > DEPTH {
            let message = format!("modules include each other more than {DEPTH} deep");
            return Err(at(place, message));
        }
        let roots = self.shared.roots();
        let (root, text) =
            find(&roots, module)?.ok_or_else(|| at(place, not_found(module, &roots)))?;
        self.run_prelude(root, module, place, depth)?;
        let source = Source::new(Some(module.to_owned()), &text);
        self.attempt(module, || self.run_module(&source, depth.saturating_add(1)))
            .map_err(|error| self.failed(module, error, place))
    }

    /// Runs a module of which nothing stays if it fails.
    fn attempt(&self, module: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
        let before = locked(&self.shared.state).clone();
        locked(&self.shared.state)
            .modules
            .insert(module.to_owned(), Progress::Running);
        let result = self.whole(run);
        match &result {
            Ok(()) => {
                locked(&self.shared.state)
                    .modules
                    .insert(module.to_owned(), Progress::Included);
            }
            Err(_) => self.shared.restore(before),
        }
        result
    }

    /// The error of a module, which it keeps, with the place of the INCLUDE.
    fn failed(&self, module: &str, error: Error, place: &Place) -> Error {
        if error.is_interrupt() {
            return error;
        }
        locked(&self.shared.state).modules.insert(
            module.to_owned(),
            Progress::Failed(error.message().to_owned()),
        );
        Error::new(format_args!("{error}\n  included at {}", place.short()))
    }

    /// The modules that are running.
    fn circle(&self, module: &str) -> String {
        let state = locked(&self.shared.state);
        let running = state.modules.iter();
        let mut names: Vec<&str> = running
            .filter(|(_, progress)| **progress == Progress::Running)
            .map(|(name, _)| name.as_str())
            .filter(|name| *name != module)
            .collect();
        names.sort_unstable();
        names.insert(0, module);
        names.push(module);
        names.join(" → ")
    }

    /// Runs the prelude of a folder before its first module (PQ2a).
    fn run_prelude(&self, root: &Root, module: &str, place: &Place, depth: usize) -> Result<()> {
        let name = match root.prelude() {
            Some(name) => name,
            None => return Ok(()),
        };
        let is_of_prelude = module
            .strip_prefix(&name)
            .is_some_and(|rest| rest.starts_with('.'));
        let key = format!("{name} of {}", root.told());
        if is_of_prelude || locked(&self.shared.state).modules.contains_key(&key) {
            return Ok(());
        }
        self.attempt(&key, || {
            self.whole(|| prelude::make_tables(self.conn))?;
            for name in prelude::MISSING {
                let sql = "SELECT 1 FROM pragma_function_list WHERE name = ?1 COLLATE NOCASE";
                if !self.conn.prepare(sql)?.exists([name])? {
                    let key = (name.to_owned(), -1);
                    self.shared.define(self.conn, &key, name, None)?;
                }
            }
            let mut modules = root.modules(Some(&name))?;
            // What is there before the trace is read, and what after it.
            modules.sort_by_key(|module| module.contains(".after_eof."));
            for module in &modules {
                self.include_one(module, place, depth.saturating_add(1))?;
                prelude::fill(self.conn)?;
            }
            let mut state = locked(&self.shared.state);
            state.preludes = state.preludes.saturating_add(1);
            Ok(())
        })
    }
}

fn rollback() -> String {
    format!("ROLLBACK TO {SAVEPOINT}; RELEASE {SAVEPOINT}")
}

fn key(name: &str, count: usize) -> FunctionKey {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    (name.to_ascii_lowercase(), count)
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

/// A name that SQLite or timebase has cannot be taken while a statement runs.
fn busy(name: &str, error: &Error, place: &Place) -> Error {
    if error.is_interrupt() {
        return error.clone();
    }
    let message = format!("CREATE PERFETTO FUNCTION: {name}() cannot be declared: {error}");
    at(place, message)
}

/// The body of a function has no parameters but its arguments.
fn check_parameters(name: &str, arguments: &[Column], body: &Prepared, sql: &Sql) -> Result<()> {
    for parameter in body.parameters() {
        let known = parameter.as_deref().is_some_and(|parameter| {
            let parameter = parameter.strip_prefix('$');
            parameter.is_some_and(|given| arguments.iter().any(|argument| argument.name == given))
        });
        if !known {
            let parameter = parameter.as_deref().unwrap_or("?");
            let message = format!(
                "{name}(): {parameter} is no argument; an argument is written as $ and its name"
            );
            return Err(sql.explain(&message, sql.text.find(parameter)));
        }
    }
    Ok(())
}

fn find<'r>(roots: &'r [Root], module: &str) -> Result<Option<(&'r Root, String)>> {
    for root in roots {
        if let Some(text) = root.module(module)? {
            return Ok(Some((root, text)));
        }
    }
    Ok(None)
}

fn not_found(module: &str, roots: &[Root]) -> String {
    const HOW: &str = "--sql-package DIR, or the variable TIMEBASE_SQL_PACKAGES; Perfetto's modules are in src/trace_processor/perfetto_sql/stdlib of its repository";
    match roots {
        [] => format!("no such module: {module}; name the folder with the modules by {HOW}"),
        roots => {
            let told: Vec<String> = roots.iter().map(Root::told).collect();
            format!(
                "no such module: {module}; these folders do not have it: {}. Name another one by {HOW}",
                told.join(", ")
            )
        }
    }
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
