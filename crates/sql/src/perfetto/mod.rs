//! PerfettoSQL on any connection: Perfetto's dialect of SQL, and modules from folders of the user,
//! such as Perfetto's standard library.
//!
//! ```
//! use rusqlite::Connection;
//! use timebase_sql::perfetto::{self, Packages};
//!
//! let conn = Connection::open_in_memory()?;
//! perfetto::register(&conn)?;
//! let script = "
//!     CREATE PERFETTO MACRO twice(x Expr) RETURNS Expr AS 2 * $x;
//!     CREATE PERFETTO FUNCTION area(a LONG, b LONG) RETURNS LONG AS SELECT $a * $b;
//!     CREATE PERFETTO TABLE sides(id ID, a LONG, b LONG) AS SELECT 0 AS id, 2 AS a, 3 AS b;
//!     SELECT area(twice!(a), b) FROM sides";
//! let mut last = perfetto::run(&conn, script, &Packages::default())?.unwrap();
//! assert_eq!(last.query_row([], |row| row.get::<_, i64>(0))?, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | question | decided in |
//! |---|---|
//! | what a statement of a script is | `script.rs` |
//! | where an error was written | `source.rs` |
//! | what a macro makes | `expand.rs` |
//! | what a statement of the dialect says | `dialect.rs`, `types.rs` |
//! | what it does | `engine.rs` |
//! | which types and indexes a table has, and where its rows wait | `table.rs`, `waiting.rs` |
//! | how trace processor would store a table | `table_info.rs`, `stored.txt` |
//! | how functions run, and keep their statements | `scalar.rs`, `tabular.rs`, `pool.rs`, `prepared.rs` |
//! | where a module is, and what it declares | `package.rs`, `declared.rs`, `stdlib_objects.rs` |
//! | what is there before the first module, and what modules must not do | `prelude.rs`, `prelude.sql`, `unread.txt`, `unread.rs` |
//! | what a connection keeps | `state.rs` |
//! | what a script returns | `last.rs` |
//! | the dialect as functions of SQL | `face.rs` |
//! | what the standard library builds on: span joins, and functions named `__intrinsic_…` | `intrinsics/` |
//!
//! # Design
//!
//! The dialect is read token by token: a statement is one of its few forms, or goes to SQLite. The
//! alternative was a parser for all of SQLite's grammar, as trace processor has one. It would find
//! errors that SQLite finds anyway, and differ from the SQLite of the client in the details.
//!
//! Everything that a script makes is in the connection's temp schema, where SQLite can: tables,
//! views, and virtual tables for functions with rows. Scalar functions, macros and the list of
//! modules are in memory, and belong to the connection as well. If a module fails, SQLite's
//! savepoint undoes the first kind and a copy of the lists the second. The alternative was a
//! database of its own for each session; then a query could not join with the user's tables.

mod declared;
mod dialect;
mod engine;
mod expand;
mod face;
mod held;
pub(crate) mod intrinsics;
mod last;
mod package;
mod pool;
mod prelude;
mod prepared;
mod scalar;
mod script;
mod source;
mod state;
mod stdlib_objects;
mod table;
mod table_info;
mod tabular;
mod types;
mod unread;
mod waiting;

use std::collections::BTreeSet;
use std::path::PathBuf;

use rusqlite::{Connection, Statement};

use engine::{Engine, Step};
use expand::Sql;
use held::Held;
use package::Root;
use script::Statements;
use source::Source;
use state::Shared;

use crate::error::{Error, Result};
use crate::value::ValueRef;

pub use declared::{Declared, DeclaredKind, DeclaredName};
pub use face::VARIABLE;
pub use script::may_be_dialect;

/// Registers the dialect on a connection: `perfetto_sql(script)`, `perfetto_query(script)`,
/// `perfetto_rows(script)`, `perfetto_result`, `perfetto_notes()`, all that [`run`] needs, and the functions
/// and virtual tables on which Perfetto's standard library is built.
///
/// # Errors
///
/// If SQLite refuses it, for example while a statement runs.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    intrinsics::register(conn)?;
    Shared::register(conn)?;
    table_info::register(conn)?;
    stdlib_objects::register(conn)?;
    face::register(conn)
}

/// Folders with modules: module `a.b.c` is the file `a/b/c.sql` of the first folder that has it.
#[derive(Debug, Clone, Default)]
pub struct Packages(Vec<Root>);

impl Packages {
    /// Adds a folder: `DIR`, whose folders are packages, or `NAME=DIR`, which is one package. If `DIR`
    /// is a checkout of Perfetto, the library in it is meant.
    ///
    /// # Errors
    ///
    /// If it is no folder.
    pub fn add(&mut self, given: &str) -> Result<()> {
        self.0.push(Root::of(given)?);
        Ok(())
    }

    /// Adds a folder whose folders are packages, whatever its name.
    ///
    /// # Errors
    ///
    /// If it is no folder.
    pub fn add_folder(&mut self, folder: impl Into<PathBuf>) -> Result<()> {
        self.0.push(Root::folder(None, folder.into())?);
        Ok(())
    }

    /// Adds the folders of another list after these.
    pub fn append(&mut self, more: Packages) {
        self.0.extend(more.0);
    }

    /// The folders that the variable `TIMEBASE_SQL_PACKAGES` names, separated as in `PATH`.
    ///
    /// # Errors
    ///
    /// If one of them is no folder.
    pub fn from_environment() -> Result<Packages> {
        match std::env::var(VARIABLE) {
            Ok(list) => package::roots(&list).map(Packages),
            Err(_) => Ok(Packages::default()),
        }
    }

    /// The folders of a connection.
    ///
    /// # Errors
    ///
    /// If the connection does not have timebase's functions.
    pub fn of(conn: &Connection) -> Result<Packages> {
        Ok(Packages(Shared::of(conn)?.roots()))
    }

    /// The names of all modules, in the order of names.
    ///
    /// # Errors
    ///
    /// If a folder cannot be read.
    pub fn modules(&self) -> Result<Vec<String>> {
        let mut all = BTreeSet::new();
        for root in &self.0 {
            all.extend(root.modules(None)?);
        }
        Ok(all.into_iter().collect())
    }

    /// The declarations of a module, in its order, without running it. `None` if no folder
    /// has the module.
    ///
    /// # Errors
    ///
    /// If its file cannot be read.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// std::fs::create_dir(folder.path().join("mine"))?;
    /// let text = "-- Frames that took too long.\nCREATE PERFETTO VIEW late(dur LONG) AS SELECT 1 AS dur;";
    /// std::fs::write(folder.path().join("mine/frames.sql"), text)?;
    /// let mut packages = timebase_sql::perfetto::Packages::default();
    /// packages.add_folder(folder.path())?;
    /// assert_eq!(packages.modules()?, ["mine.frames"]);
    /// let declared = packages.declared("mine.frames")?.unwrap();
    /// assert_eq!((declared[0].usage(), &*declared[0].comment), ("late".into(), "Frames that took too long."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn declared(&self, module: &str) -> Result<Option<Vec<Declared>>> {
        let found = package::find(&self.0, module)?;
        Ok(found.map(|(_, text)| declared::declared(&text)))
    }

    /// Adds the folders to a connection, after those that it has.
    ///
    /// # Errors
    ///
    /// If the connection does not have timebase's functions.
    pub fn add_to(&self, conn: &Connection) -> Result<()> {
        Shared::of(conn)?.add_roots(&self.0);
        Ok(())
    }
}

/// Runs all statements of a script, and returns the last one that has rows, prepared. `None` if no
/// statement has rows.
///
/// # Errors
///
/// The message names the place in the script or module. Statements before the wrong one have run.
pub fn run<'c>(
    conn: &'c Connection,
    script: &str,
    packages: &Packages,
) -> Result<Option<Statement<'c>>> {
    packages.add_to(conn)?;
    let engine = Engine::of(conn)?;
    let Some(sql) = last::run(&engine, conn, script)?.last else {
        return Ok(None);
    };
    Ok(Some(conn.prepare(&sql.text)?))
}

/// A statement for SQLite, made from one of PerfettoSQL.
#[derive(Debug, Clone)]
pub struct Translated {
    sql: Sql,
    is_same: bool,
}

impl Translated {
    /// The text for SQLite.
    pub fn text(&self) -> &str {
        &self.sql.text
    }

    /// Whether the text is the statement as it was written.
    pub fn is_same(&self) -> bool {
        self.is_same
    }

    /// SQLite's message about this statement, and where its cause was written.
    pub fn explain(&self, error: &rusqlite::Error) -> Error {
        let (message, offset) = match error {
            rusqlite::Error::SqlInputError { msg, offset, .. } => {
                (msg.clone(), usize::try_from(*offset).ok())
            }
            rusqlite::Error::SqliteFailure(_, Some(message)) => (message.clone(), None),
            other => (other.to_string(), None),
        };
        self.sql.explain(&message, offset)
    }
}

/// Runs a statement if it is one of the dialect; otherwise returns it in the form for SQLite, with
/// all macros expanded. The text is one statement.
///
/// # Errors
///
/// Those of the statement.
pub fn step(conn: &Connection, statement: &str) -> Result<Option<Translated>> {
    step_with(conn, statement, &[])
}

/// As [`step`], with values for the parameters (`:name`, `@name` or `$name`) of a SELECT from which a
/// table is made, by their names without the sign. The caller binds those of a statement for SQLite.
///
/// # Errors
///
/// As for [`step`], and if a parameter has no value.
pub fn step_with(
    conn: &Connection,
    statement: &str,
    parameters: &[(&str, ValueRef<'_>)],
) -> Result<Option<Translated>> {
    let parameters = parameters.iter();
    let parameters = parameters.map(|(name, value)| ((*name).to_owned(), Held::of(*value)));
    let engine = Engine::of(conn)?.with_parameters(parameters.collect());
    let source = Source::new(None, statement);
    let mut raws = Statements::of(statement);
    let Some(raw) = raws.next() else {
        return Ok(None);
    };
    if raws.next().is_some() {
        return Err(Error::new("there is more than one statement"));
    }
    match engine.step(&source, raw)? {
        Step::Ran => Ok(None),
        Step::Sql(sql) => Ok(Some(Translated {
            is_same: statement.get(raw.start..raw.end) == Some(&sql.text),
            sql,
        })),
    }
}

/// The notes for the user about the statements since the last call: for example, about an index that
/// was left out.
///
/// # Errors
///
/// If the connection does not have timebase's functions.
pub fn take_notes(conn: &Connection) -> Result<Vec<String>> {
    Ok(Shared::of(conn)?.take_notes())
}

/// The tables of trace processor that a statement has read since the last call and that timebase
/// does not fill, so that the result may lack rows. `sql` is the statement: it may also read tables
/// that were made from such a table.
///
/// # Errors
///
/// If the connection does not have timebase's functions.
pub fn take_unread(conn: &Connection, sql: &str) -> Result<BTreeSet<String>> {
    let engine = Engine::of(conn)?;
    let mut unread = engine.shared().unread.take();
    unread.extend(engine.unread_by(sql));
    Ok(unread)
}

/// The note about a table from [`take_unread`].
pub fn note_of(unread: &str) -> String {
    format!("the result may lack rows: timebase does not fill {unread} yet")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
