//! `INCLUDE PERFETTO MODULE`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::ffi;

use super::Engine;
use crate::error::{Error, Result};
use crate::perfetto::dialect::{Action, read};
use crate::perfetto::expand::{Sql, at};
use crate::perfetto::package::{Root, find, meant};
use crate::perfetto::pool::locked;
use crate::perfetto::prelude;
use crate::perfetto::prepared::Bound;
use crate::perfetto::script::Statements;
use crate::perfetto::source::{Place, Source};
use crate::perfetto::state::Progress;

/// Modules that include modules.
const DEPTH: usize = 200;

/// A module stays failed (PQ10).
const STAYS: &str = "a module has failed before in this connection, and stays so";

impl Engine<'_> {
    /// `INCLUDE PERFETTO MODULE`, with a name or a wildcard.
    pub(super) fn include(&self, module: &str, place: &Place, depth: usize) -> Result<()> {
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
            return Err(not_found(module, &roots, place));
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
                let message =
                    format!("the module {module} includes itself: {}", self.circle(module));
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
        let found = find(&roots, module)?;
        let (root, text) = found.ok_or_else(|| not_found(module, &roots, place))?;
        self.run_prelude(root, module, place, depth)?;
        let source = Source::new(Some(module.to_owned()), &text);
        self.attempt(module, || self.run_module(&source, depth.saturating_add(1)))
            .map_err(|error| self.failed(module, error, place))
    }

    /// Runs a module of which nothing stays if it fails.
    fn attempt(&self, module: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
        let before = locked(&self.shared.state).clone();
        locked(&self.shared.state).modules.insert(module.to_owned(), Progress::Running);
        let result = self.whole(run);
        match &result {
            Ok(()) => {
                locked(&self.shared.state).modules.insert(module.to_owned(), Progress::Included);
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
        locked(&self.shared.state)
            .modules
            .insert(module.to_owned(), Progress::Failed(error.message().to_owned()));
        let message = format!("{error}\n  included at {}", place.short());
        error.with(message)
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
        let is_of_prelude = module.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'));
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
            // First the modules from before the trace is read, then those from after it.
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

    /// Runs all statements of a module. Nothing may have rows.
    fn run_module(&self, source: &Arc<Source>, depth: usize) -> Result<()> {
        for raw in Statements::of(&source.text) {
            self.prepare_tables(source, raw)?;
            let statement = read(source, raw, self.shared.as_ref())?;
            if let Action::Call(_, arguments) = &statement.action {
                prelude::check_module_statement(arguments, &statement.place)?;
            }
            let statement = self.resolved(statement)?;
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
        let Some(mut prepared) = Bound::of(self.conn, sql)? else {
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
}

/// The error of a module that no folder has. It says where to get it, unless the name seems wrong.
fn not_found(module: &str, roots: &[Root], place: &Place) -> Error {
    const HOW: &str = "Name the folder that has it in the variable TIMEBASE_SQL_PACKAGES; Perfetto's modules are in src/trace_processor/perfetto_sql/stdlib of its repository";
    let told: Vec<String> = roots.iter().map(Root::told).collect();
    let told = told.join(", ");
    if let Some(meant) = meant(roots, module) {
        let message = format!(
            "no such module: {module}; did you mean {meant}? These folders were searched: {told}"
        );
        return at(place, message);
    }
    let message = match roots {
        [] => format!("no such module: {module}. {HOW}"),
        _ => format!("no such module: {module}; these folders do not have it: {told}. {HOW}"),
    };
    at(place, message).of_missing_module()
}
