//! Calls functions with plain values, for callers that cannot hand over a connection: Python's
//! `sqlite3`, if it cannot load extensions.
//!
//! ```
//! use std::ops::ControlFlow;
//! use timebase_sql::plain::{List, Rows, Statement};
//! use timebase_sql::{Answer, Arguments, Call, Function, Functions, Result, ValueRef};
//!
//! struct Twice;
//!
//! impl Function for Twice {
//!     fn call<C: Call>(&self, call: &C) -> Result<Answer> {
//!         let number = Arguments::new("twice", call).integer(0, "number")?;
//!         Ok(number.map(|number| number * 2).into())
//!     }
//! }
//!
//! /// A database without tables.
//! struct Empty;
//!
//! impl Rows for Empty {
//!     fn read(
//!         &self,
//!         _: &str,
//!         _: &[ValueRef<'_>],
//!         _: &mut dyn FnMut(&[ValueRef<'_>]) -> ControlFlow<()>,
//!     ) -> Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! let mut list = List::default();
//! list.add("twice", 1, Twice)?;
//! let twice = list.get(0).unwrap();
//! assert_eq!((twice.name(), twice.count()), ("twice", 1));
//! let statement = Statement::default();
//! assert_eq!(twice.call(&[ValueRef::Integer(4)], Some(&statement), &Empty)?, Answer::Integer(8));
//! # Ok::<(), timebase_sql::Error>(())
//! ```
//!
//! # Design
//!
//! The caller says which statement calls, because it knows when a statement begins, and reads the
//! rows that a function requests during the call. So a session works here as in SQLite: there is
//! one lock around loading, and it recognizes a call that loading itself makes.
//!
//! The alternative was a function that stops with the query that it needs, and is called again with
//! the rows. Nothing would call back. But between the two calls there would be no lock, and every
//! function would have to pass on an error that is none.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::answer::Answer;
use crate::database::{Database, Row};
use crate::error::{Error, Result};
use crate::function::{Call, Function, Functions};
use crate::mark::{Key, Mark, Prepared};
use crate::value::{ValueRef, Values};

/// The database of the caller.
pub trait Rows {
    /// Calls `each` with the rows of a query with these parameter values, until it stops or there
    /// are no more rows.
    ///
    /// # Errors
    ///
    /// The error of SQLite.
    fn read(
        &self,
        sql: &str,
        parameters: &[ValueRef<'_>],
        each: &mut dyn FnMut(&[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()>;
}

impl Database for dyn Rows + '_ {
    fn query(
        &self,
        sql: &str,
        mut each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        self.read(sql, &[], &mut |values| match each(&Row::new(values)) {
            Ok(flow) => flow,
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        })?;
        outcome
    }
}

/// A statement of the caller, from its beginning until it ends or begins again.
#[derive(Debug, Default)]
pub struct Statement(Mutex<Vec<(Key, Arc<Mark>)>>);

impl Statement {
    fn marks(&self) -> MutexGuard<'_, Vec<(Key, Arc<Mark>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct PlainCall<'a> {
    arguments: &'a [ValueRef<'a>],
    /// Without one, each call is a statement of its own.
    statement: Option<&'a Statement>,
    rows: &'a dyn Rows,
}

impl Values for PlainCall<'_> {
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        self.arguments.value(index)
    }
}

impl<'a> Call for PlainCall<'a> {
    type Database = dyn Rows + 'a;

    fn mark(&self, key: Key) -> *const Mark {
        let Some(statement) = self.statement else {
            return ptr::null();
        };
        let marks = statement.marks();
        let mark = marks.iter().find(|(of, _)| *of == key);
        mark.map_or(ptr::null(), |(_, mark)| Arc::as_ptr(mark))
    }

    fn set_mark(&self, key: Key, mark: Arc<Mark>) {
        if let Some(statement) = self.statement {
            let mut marks = statement.marks();
            marks.retain(|(of, _)| *of != key);
            marks.push((key, mark));
        }
    }

    fn with_database<T>(&self, function: impl FnOnce(&Self::Database) -> Result<T>) -> Result<T> {
        function(self.rows)
    }

    /// If the caller keeps prepared queries, it finds this one by its text.
    fn look_up(
        &self,
        queries: &[&'static str],
        _: &mut Prepared,
        parameters: &[ValueRef<'_>],
    ) -> Result<Answer> {
        let mut answer = Answer::Null;
        let mut read = Ok(());
        for sql in queries {
            read = self.rows.read(sql, parameters, &mut |row| {
                answer = row.first().copied().map(Answer::from).into();
                ControlFlow::Break(())
            });
            if read.is_ok() {
                break;
            }
        }
        read.map(|()| answer)
    }
}

/// The functions that a caller can call.
#[derive(Default)]
pub struct List(Vec<Listed>);

/// A function, by its name and the count of its arguments.
pub struct Listed {
    name: &'static str,
    count: u8,
    function: Box<dyn Plain>,
}

/// A [`Function`] that is only called with plain values.
trait Plain: Send + Sync {
    fn call_plain(&self, call: &PlainCall<'_>) -> Result<Answer>;
}

impl<F: Function> Plain for F {
    fn call_plain(&self, call: &PlainCall<'_>) -> Result<Answer> {
        self.call(call)
    }
}

impl Functions for List {
    fn add(&mut self, name: &'static str, count: u8, function: impl Function) -> Result<()> {
        let function = Box::new(function);
        self.0.push(Listed { name, count, function });
        Ok(())
    }
}

impl List {
    /// A function by its number: 0, 1, 2 … in the order in which they were added.
    pub fn get(&self, number: usize) -> Option<&Listed> {
        self.0.get(number)
    }
}

impl Listed {
    /// Its name in SQL.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The number of its arguments.
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Calls it with this many arguments.
    ///
    /// # Errors
    ///
    /// The message for the user; also for a panic, and for a wrong number of arguments.
    pub fn call(
        &self,
        arguments: &[ValueRef<'_>],
        statement: Option<&Statement>,
        rows: &dyn Rows,
    ) -> Result<Answer> {
        if arguments.len() != usize::from(self.count) {
            let name = self.name;
            let message = format_args!("wrong number of arguments to function {name}()");
            return Err(Error::new(message));
        }
        let call = PlainCall { arguments, statement, rows };
        let called = catch_unwind(AssertUnwindSafe(|| self.function.call_plain(&call)));
        called.unwrap_or_else(|_| Err(Error::panicked()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
