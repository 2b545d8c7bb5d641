//! `CREATE PERFETTO FUNCTION`: of one value, of rows, and delegating to another one.

use std::sync::Arc;

use super::{Engine, exists};
use crate::error::{Error, Result};
use crate::perfetto::dialect::{Body, Column, Function, Returns};
use crate::perfetto::expand::{Sql, at, pieces};
use crate::perfetto::pool::locked;
use crate::perfetto::prelude;
use crate::perfetto::prepared::{Bound, Prepared};
use crate::perfetto::scalar::Scalar;
use crate::perfetto::source::{Place, Source};
use crate::perfetto::state::FunctionKey;
use crate::perfetto::table::kind;
use crate::perfetto::tabular::{self, Tabular};
use crate::query::quoted;

/// Any number of arguments.
const ANY: usize = usize::MAX;

/// The start of a declaration.
struct Head<'p> {
    name: String,
    arguments: Vec<Column>,
    place: &'p Place,
    is_replacing: bool,
}

impl Head<'_> {
    /// A name that SQLite or timebase has cannot be taken while a statement runs.
    fn busy(&self, error: &Error) -> Error {
        if error.is_interrupt() {
            return error.clone();
        }
        let name = &self.name;
        let message = format!("CREATE PERFETTO FUNCTION: {name}() cannot be declared: {error}");
        at(self.place, message)
    }
}

impl Engine<'_> {
    /// `CREATE PERFETTO FUNCTION`, of any kind.
    pub(super) fn function(
        &self,
        function: Function,
        place: &Place,
        is_replacing: bool,
    ) -> Result<()> {
        self.shared.keep_statements(self.conn)?;
        let head = Head { name: function.name, arguments: function.arguments, place, is_replacing };
        match (function.returns, function.body) {
            (Returns::Value, Body::Select(sql)) => self.scalar(head, sql),
            (_, Body::Delegates(to)) => self.delegate(head, &to),
            (Returns::Rows(columns), Body::Select(sql)) => {
                self.whole(|| self.tabular(head, columns, sql))
            }
        }
    }

    fn scalar(&self, head: Head<'_>, sql: Sql) -> Result<()> {
        let Head { name, arguments, .. } = &head;
        let key = self.open_key(&head, arguments.len())?;
        let registered = self.shared.has_slot(&key);
        if !registered {
            // The name exists before its body is read, because the body may call it.
            match self.shared.define(self.conn, &key, name, None) {
                // Timebase's does the same.
                Err(error) if prelude::OURS.contains(&name.as_str()) && !error.is_interrupt() => {
                    return Ok(());
                }
                defined => defined.map_err(|error| head.busy(&error))?,
            }
        }
        let body = self.body(&sql)?;
        check_parameters(name, arguments, &body, &sql)?;
        if body.column_count() != 1 {
            let message =
                format!("{name}(): its SELECT must have one column, not {}", body.column_count());
            return Err(sql.explain(&message, None));
        }
        let scalar = Scalar::new(name, arguments.clone(), &sql, &self.shared.pools, &body);
        drop(body);
        self.shared.define(self.conn, &key, name, Some(Arc::new(scalar)))
    }

    /// `DELEGATES TO`: a function whose body is a call of the other one.
    fn delegate(&self, head: Head<'_>, to: &str) -> Result<()> {
        let Head { name, arguments, .. } = &head;
        let is_variadic = arguments.last().is_some_and(|last| last.is_variadic);
        let count = match is_variadic {
            true => ANY,
            false => arguments.len(),
        };
        let key = self.open_key(&head, count)?;
        let (has_target, has_name) =
            (self.has_function(to, key.1)?, self.has_function(name, key.1)?);
        if !has_target {
            // SQLite or timebase has what trace processor calls so.
            let is_intrinsic = to.trim_start_matches('_').starts_with("intrinsic_");
            if has_name && is_intrinsic && !self.shared.has_slot(&key) {
                return Ok(());
            }
            // A function of trace processor's that nothing has yet: what calls it fails, and the
            // rest of the module does not.
            if is_intrinsic {
                return self
                    .shared
                    .define(self.conn, &key, name, None)
                    .map_err(|error| head.busy(&error));
            }
            let message = format!("{name}(): no such function: {to}");
            return Err(at(head.place, message));
        }
        let scalar = match is_variadic {
            true => Scalar::passing_on(name, to, &self.shared.pools),
            false => self.passing_on(&head, to)?,
        };
        let defined = self.shared.define(self.conn, &key, name, Some(Arc::new(scalar.unchecked())));
        match defined {
            // A function of SQLite's cannot be replaced while a statement runs.
            Err(error) if has_name && !error.is_interrupt() => {
                if prelude::SAME.contains(&name.as_str()) {
                    return Ok(());
                }
                self.shared.note(format!(
                    "{name}() stays SQLite's own function because a statement runs; run the script outside of SELECT perfetto_sql('…') to have Perfetto's"
                ));
                Ok(())
            }
            Err(error) => Err(head.busy(&error)),
            Ok(()) => Ok(()),
        }
    }

    /// The function of a declaration with a fixed number of arguments, which calls another one.
    fn passing_on(&self, head: &Head<'_>, to: &str) -> Result<Scalar> {
        let Head { name, arguments, .. } = head;
        let names: Vec<String> =
            arguments.iter().map(|argument| format!("${}", argument.name)).collect();
        let text = format!("SELECT {}({})", quoted(to), names.join(", "));
        let source = Source::new(Some(format!("{name}()")), &text);
        let sql = Sql::of(&pieces(&source, 0, text.len()));
        let body = self.body(&sql)?;
        Ok(Scalar::new(name, arguments.clone(), &sql, &self.shared.pools, &body))
    }

    /// Whether there is a function with a number of arguments; −1 is any of them.
    fn has_function(&self, name: &str, count: i32) -> Result<bool> {
        let sql = "SELECT 1 FROM pragma_function_list WHERE name = ?1 COLLATE NOCASE AND (narg = ?2 OR narg < 0 OR ?2 < 0)";
        let mut statement = self.conn.prepare(sql)?;
        Ok(statement.exists((name, count))?)
    }

    fn tabular(&self, head: Head<'_>, columns: Vec<Column>, sql: Sql) -> Result<()> {
        let Head { name, arguments, .. } = &head;
        let body = self.body(&sql)?;
        check_parameters(name, arguments, &body, &sql)?;
        let names = body.column_names();
        let is_same = |(column, name): (&Column, &String)| column.name.eq_ignore_ascii_case(name);
        let are_same = names.len() == columns.len() && columns.iter().zip(&names).all(is_same);
        if !are_same {
            let declared = columns.iter().map(|column| column.name.as_str());
            let message = format!(
                "{name}(): RETURNS TABLE has the columns {}, but its SELECT has {}; they must be the same, in this order",
                declared.collect::<Vec<_>>().join(", "),
                names.join(", ")
            );
            return Err(sql.explain(&message, None));
        }
        let parameter = |argument: &Column| body.parameter(&format!("${}", argument.name));
        let places = arguments.iter().map(parameter).collect();
        drop(body);
        match kind(self.conn, name)?.as_deref() {
            Some(found) if head.is_replacing => self.drop_object(found, name)?,
            Some(_) => return Err(exists("FUNCTION", name, head.place)),
            None => {}
        }
        let number = self.shared.definitions.add(Tabular {
            name: name.clone(),
            arguments: arguments.clone(),
            columns,
            places,
            pool: self.shared.pools.add(sql),
        });
        let sql = format!(
            "CREATE VIRTUAL TABLE temp.{} USING {}({number})",
            quoted(name),
            tabular::MODULE
        );
        Ok(self.conn.execute_batch(&sql)?)
    }

    /// The key of a function that may be declared.
    fn open_key(&self, head: &Head<'_>, count: usize) -> Result<FunctionKey> {
        let count = match count {
            ANY => -1,
            count => i32::try_from(count).unwrap_or(i32::MAX),
        };
        let key = (head.name.to_ascii_lowercase(), count);
        let is_known = locked(&self.shared.state).functions.contains_key(&key);
        match is_known && !head.is_replacing {
            true => Err(exists("FUNCTION", &head.name, head.place)),
            false => Ok(key),
        }
    }

    fn body(&self, sql: &Sql) -> Result<Bound<'_>> {
        Bound::of(self.conn, sql)?.ok_or_else(|| sql.explain("there is no SELECT", None))
    }
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
