//! Table-valued functions that make all rows of a call at once.

use std::ffi::c_int;

use rusqlite::types::Value;
use rusqlite::vtab::{Context, Filters, IndexConstraintOp, IndexInfo};
use rusqlite::{Connection, ffi};

use crate::error::{Error, Result};
use crate::module::{self, Connecting, VirtualTable};

/// Such a function. All of its arguments must be given.
pub(crate) trait TableFunction: Sized + 'static {
    const NAME: &'static str;
    const COLUMNS: &'static [&'static str];
    const ARGUMENTS: &'static [&'static str];
    /// SQLite's cost of a call, and its rows; `None` if it should run in no inner loop.
    const ESTIMATE: Option<(f64, i64)>;
    /// The columns that are texts.
    const TEXTS: &'static [&'static str] = &[];
    /// The columns that are real numbers. All others are integers.
    const REALS: &'static [&'static str] = &[];
    type Row;

    /// For a connection.
    ///
    /// # Safety
    ///
    /// The connection is open for as long as the result lives, and only its calls use the result.
    unsafe fn new(conn: *mut ffi::sqlite3) -> Self;

    /// The rows for the arguments.
    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Self::Row>>;

    /// A column of a row; `None` is NULL.
    fn column(row: &Self::Row, column: usize) -> Option<i64>;

    /// A text of a row; `None` is NULL.
    fn text(_row: &Self::Row, _column: usize) -> Option<&str> {
        None
    }

    /// A real number of a row; `None` is NULL.
    fn real(_row: &Self::Row, _column: usize) -> Option<f64> {
        None
    }
}

/// An argument of a call, by its place from 0.
///
/// # Errors
///
/// If it is a text that is not UTF-8.
pub(crate) fn argument<F: TableFunction>(args: &Filters<'_>, place: usize) -> Result<Value> {
    args.get(place).map_err(|_| {
        let name = F::ARGUMENTS.get(place).unwrap_or(&"");
        let number = place.saturating_add(1);
        Error::new(format_args!("{}(): argument {number} ({name}) must be UTF-8", F::NAME))
    })
}

/// Registers a function on a connection.
pub(crate) fn register<F: TableFunction>(conn: &Connection) -> rusqlite::Result<()> {
    module::register_function::<Calls<F>>(conn, F::NAME, None)
}

struct Calls<F>(F);

impl<F: TableFunction> VirtualTable for Calls<F> {
    type Aux = ();
    type Cursor = Vec<F::Row>;

    fn connect(call: &Connecting<'_, ()>) -> rusqlite::Result<(String, Self)> {
        let columns = F::COLUMNS.iter().map(|column| {
            let declared = match column {
                column if F::TEXTS.contains(column) => "TEXT",
                column if F::REALS.contains(column) => "REAL",
                _ => "INTEGER",
            };
            format!("{column} {declared}")
        });
        let arguments = F::ARGUMENTS.iter().map(|name| format!("{name} HIDDEN"));
        let all: Vec<String> = columns.chain(arguments).collect();
        // SAFETY: a virtual table never outlives its connection, and only calls of that
        // connection use it.
        let function = unsafe { F::new(call.conn) };
        Ok((format!("CREATE TABLE x ({})", all.join(", ")), Calls(function)))
    }

    fn plan(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        let mut given = vec![false; F::ARGUMENTS.len()];
        for (constraint, mut usage) in info.constraints_and_usages() {
            let column = usize::try_from(constraint.column()).unwrap_or_default();
            let argument = column.checked_sub(F::COLUMNS.len());
            let is_equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            let place = argument.filter(|_| is_equal);
            let Some((argument, is_given)) =
                place.and_then(|place| Some((place, given.get_mut(place)?)))
            else {
                continue;
            };
            if !constraint.is_usable() {
                return Ok(false);
            }
            if !std::mem::replace(is_given, true) {
                usage.set_argv_index(c_int::try_from(argument).map_err(Error::new)? + 1);
                usage.set_omit(true);
            }
        }
        if given.contains(&false) {
            let arguments = F::ARGUMENTS.join(", ");
            return Err(Error::new(format_args!("{}() needs ({arguments})", F::NAME)).into());
        }
        if let Some((cost, rows)) = F::ESTIMATE {
            info.set_estimated_cost(cost);
            info.set_estimated_rows(rows);
        }
        Ok(true)
    }

    fn open(&self) -> Vec<F::Row> {
        Vec::new()
    }

    fn begin(
        &self,
        rows: &mut Vec<F::Row>,
        _number: c_int,
        _plan: &str,
        args: &Filters<'_>,
    ) -> rusqlite::Result<()> {
        rows.clear();
        *rows = self.0.rows(args)?;
        Ok(())
    }

    fn is_end(&self, rows: &Vec<F::Row>, at: usize) -> bool {
        at >= rows.len()
    }

    fn column(
        &self,
        rows: &Vec<F::Row>,
        at: usize,
        column: usize,
        ctx: &mut Context,
    ) -> rusqlite::Result<()> {
        let row = rows.get(at);
        let name = F::COLUMNS.get(column);
        if name.is_some_and(|name| F::TEXTS.contains(name)) {
            return ctx.set_result(row.and_then(|row| F::text(row, column)));
        }
        if name.is_some_and(|name| F::REALS.contains(name)) {
            return ctx.set_result(row.and_then(|row| F::real(row, column)));
        }
        ctx.set_result(row.and_then(|row| F::column(row, column)))
    }
}
