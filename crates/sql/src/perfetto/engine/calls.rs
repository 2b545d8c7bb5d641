//! `SELECT create_function(…)`, `create_view_function(…)`, `import(…)` and `experimental_memoize(…)`: older forms of
//! the dialect's statements.
//!
//! # Design
//!
//! A statement that is one such call becomes the statement that it stands for, after SQLite has computed its
//! arguments. So it has no rows, and runs while no other statement does: then a table-valued function can be
//! replaced in every SQLite. In any other place the call is that of a function of SQL (`face.rs`).

use std::sync::Arc;

use super::Engine;
use crate::error::{Error, Result};
use crate::perfetto::dialect::{Action, Calling, Statement, read};
use crate::perfetto::expand::{Sql, at};
use crate::perfetto::pool::locked;
use crate::perfetto::prepared::Bound;
use crate::perfetto::script::Statements;
use crate::perfetto::source::{Place, Source};
use crate::value::{ValueRef, told};

impl Engine<'_> {
    /// A statement without calls: the one for which a call stands.
    pub(super) fn resolved(&self, statement: Statement) -> Result<Statement> {
        let Action::Call(called, arguments) = &statement.action else {
            return Ok(statement);
        };
        let values = self.computed(*called, arguments, &statement.place)?;
        let made = self.meant(*called, &values).map_err(|error| match error.is_interrupt() {
            true => error,
            false => at(&statement.place, error),
        })?;
        Ok(Statement { place: statement.place, ..made })
    }

    /// Runs a call with these arguments.
    ///
    /// # Errors
    ///
    /// Those of the statement for which it stands.
    pub fn call(&self, called: Calling, values: &[String]) -> Result<()> {
        let statement = self.meant(called, values)?;
        self.act(statement.action, &statement.place, statement.is_replacing, 0)
    }

    /// The statement for which a call with these arguments stands.
    fn meant(&self, called: Calling, values: &[String]) -> Result<Statement> {
        let value = |index: usize| values.get(index).map_or("", String::as_str);
        let text = match called {
            Calling::Import | Calling::Memoize => {
                let source = Source::new(Some(format!("{}()", called.name())), value(0));
                let action = match called {
                    Calling::Import => Action::Include(value(0).to_owned()),
                    _ => Action::Memoize(value(0).to_owned()),
                };
                return Ok(Statement { place: Place::start(&source), is_replacing: false, action });
            }
            Calling::CreateFunction => format!(
                "CREATE OR REPLACE PERFETTO FUNCTION {} RETURNS {} AS {}",
                value(0),
                value(1),
                value(2)
            ),
            Calling::CreateViewFunction => format!(
                "CREATE OR REPLACE PERFETTO FUNCTION {} RETURNS TABLE({}) AS {}",
                value(0),
                value(1),
                value(2)
            ),
        };
        let source: Arc<Source> = Source::new(Some(format!("{}()", called.name())), &text);
        let raw = Statements::of(&text).next();
        let statement = raw.map(|raw| read(&source, raw, self.shared().as_ref())).transpose()?;
        statement
            .filter(|statement| matches!(statement.action, Action::Function(_)))
            .ok_or_else(|| Error::new(format_args!("{}() makes one function", called.name())))
    }

    /// The arguments of a call, which are texts.
    fn computed(&self, called: Calling, arguments: &Sql, place: &Place) -> Result<Vec<String>> {
        let select = arguments.after("SELECT ");
        let mut select =
            Bound::of(self.conn, &select).map_err(|error| match error.is_interrupt() {
                true => error,
                false => at(place, error),
            })?;
        let names = called.arguments();
        let count = select.as_ref().map_or(0, |select| select.column_count());
        if count != names.len() {
            let message = format!(
                "{}() takes the arguments ({}), not {count} of them",
                called.name(),
                names.join(", ")
            );
            return Err(at(place, message));
        }
        let mut values = Vec::new();
        if let Some(select) = &mut select
            && select.step()?
        {
            for (index, name) in names.iter().enumerate() {
                values.push(
                    text_of(called, index, name, select.value(index))
                        .map_err(|error| at(place, error))?,
                );
            }
        }
        Ok(values)
    }

    /// Lets a function keep its results.
    pub(super) fn memoize(&self, name: &str) -> Result<()> {
        let key = (name.to_ascii_lowercase(), 1);
        let function = locked(&self.shared.state).functions.get(&key).cloned();
        match function.is_some_and(|function| function.memoize()) {
            true => Ok(()),
            false => Err(Error::new(format_args!(
                "experimental_memoize(): {name} must be a function with one argument, an integer, made with CREATE PERFETTO FUNCTION or create_function()"
            ))),
        }
    }
}

/// The text of an argument.
///
/// # Errors
///
/// If it is anything else.
pub fn text_of(called: Calling, index: usize, name: &str, value: ValueRef<'_>) -> Result<String> {
    let place = index.saturating_add(1);
    let wrong = |what: &dyn std::fmt::Display| {
        Error::new(format_args!("{}(): argument {place} ({name}) must be {what}", called.name()))
    };
    match value {
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(wrong(&"UTF-8")),
        },
        other => Err(wrong(&format_args!("a text, not {}", told(Some(other))))),
    }
}
