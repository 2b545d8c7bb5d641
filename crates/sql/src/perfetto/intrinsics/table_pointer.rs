//! `__intrinsic_table_ptr(table)`: the rows of a table that another intrinsic made.
//!
//! A virtual table has fixed columns, `c0` to `c31`. A query says which of the table's columns
//! each of them is: `WHERE __intrinsic_table_ptr_bind(c0, 'ts')`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{Context, Filters, IndexConstraintOp, IndexInfo, Module};
use rusqlite::{Connection, Result, ffi};

use crate::Error;
use crate::module::{self, Connecting, VirtualTable};

use super::pointer;
use super::table::{Cell, Table};

const NAME: &str = "__intrinsic_table_ptr";
const BIND: &str = "__intrinsic_table_ptr_bind";

/// The number of columns that can be bound.
const COLUMNS: usize = 32;

/// SQLite's code for a constraint by a function of the virtual table.
const BOUND: u8 = 150;

pub fn register(conn: &Connection) -> Result<()> {
    type Wrapped = module::Table<Rows>;
    const MODULE: Module<'_, Wrapped> = with_function(Wrapped::FUNCTION);
    conn.create_module(NAME, &MODULE, None)?;
    // SQLite knows names of functions before it asks a virtual table for them.
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function(BIND, 2, flags, |_| -> Result<bool> {
        Err(Error::new(format_args!(
            "{BIND}(): argument 1 must be a column of {NAME}(), in a WHERE clause of its query"
        ))
        .into())
    })
}

/// A module that answers to `__intrinsic_table_ptr_bind`, for which rusqlite has no method.
const fn with_function(
    mut module: Module<'_, module::Table<Rows>>,
) -> Module<'_, module::Table<Rows>> {
    let base = (&raw mut module).cast::<ffi::sqlite3_module>();
    // SAFETY: `Module` is a `repr(transparent)` of `sqlite3_module`.
    unsafe { (*base).xFindFunction = Some(find_function) };
    module
}

/// # Safety
///
/// SQLite calls it for a function whose argument is a column of the virtual table.
unsafe extern "C" fn find_function(
    _vtab: *mut ffi::sqlite3_vtab,
    count: c_int,
    name: *const c_char,
    function: *mut Option<Implementation>,
    _data: *mut *mut c_void,
) -> c_int {
    // SAFETY: the name is a text of SQLite.
    let name = unsafe { CStr::from_ptr(name) };
    if count != 2 || !name.to_bytes().eq_ignore_ascii_case(BIND.as_bytes()) {
        return 0;
    }
    // SAFETY: SQLite reads the function from here.
    unsafe { *function = Some(is_bound) };
    c_int::from(BOUND)
}

type Implementation =
    unsafe extern "C" fn(*mut ffi::sqlite3_context, c_int, *mut *mut ffi::sqlite3_value);

/// The filter has already bound the column. SQLite still checks its constraints beyond the
/// sixteenth, whatever the plan asks for (PQ11).
///
/// # Safety
///
/// SQLite calls it.
unsafe extern "C" fn is_bound(
    ctx: *mut ffi::sqlite3_context,
    _count: c_int,
    _values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: `ctx` belongs to this call.
    unsafe { ffi::sqlite3_result_int(ctx, 1) };
}

struct Rows;

impl VirtualTable for Rows {
    type Aux = ();
    type Cursor = Cursor;

    fn connect(_: &Connecting<'_, ()>) -> Result<(String, Rows)> {
        let columns: String = (0..COLUMNS).map(|column| format!("c{column}, ")).collect();
        Ok((format!("CREATE TABLE x ({columns}tab HIDDEN)"), Rows))
    }

    fn plan(&self, info: &mut IndexInfo) -> Result<bool> {
        plan(info)
    }

    fn open(&self) -> Cursor {
        Cursor::default()
    }

    fn begin(
        &self,
        cursor: &mut Cursor,
        _number: c_int,
        bound: &str,
        args: &Filters<'_>,
    ) -> Result<()> {
        cursor.bind(bound, args)
    }

    fn is_end(&self, cursor: &Cursor, at: usize) -> bool {
        cursor.table.as_ref().is_none_or(|table| at >= table.rows())
    }

    fn column(&self, cursor: &Cursor, at: usize, column: usize, ctx: &mut Context) -> Result<()> {
        ctx.set_result(cursor.value(at, column)?)
    }
}

/// The plan says which columns are bound, in the order of the arguments after the table.
///
/// It leaves SQLite's cost as it is, 5e98. Anything smaller, and SQLite puts the table into an
/// inner loop and makes it anew for each row of the outer one: one interval intersection ran 426
/// times (PQ12).
fn plan(info: &mut IndexInfo) -> Result<bool> {
    let mut has_table = false;
    let (mut bound, mut next) = (Vec::new(), 2);
    for (constraint, mut usage) in info.constraints_and_usages() {
        let is_bind =
            constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_FUNCTION(BOUND);
        let is_equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
        let column = usize::try_from(constraint.column()).unwrap_or(usize::MAX);
        let is_table = column == COLUMNS && is_equal;
        if !is_bind && !is_table {
            continue;
        }
        if !constraint.is_usable() {
            return Ok(false);
        }
        usage.set_omit(true);
        if is_table {
            usage.set_argv_index(1);
            has_table = true;
            continue;
        }
        if bound.contains(&column) {
            return refused(format_args!("c{column} is bound twice; bind it once"));
        }
        usage.set_argv_index(next);
        next += 1;
        bound.push(column);
    }
    if !has_table {
        return refused("it needs a table as its argument, which another intrinsic makes");
    }
    if bound.is_empty() {
        return refused(format_args!(
            "no column is bound; add WHERE {BIND}(c0, 'name of a column')"
        ));
    }
    let bound: Vec<String> = bound.iter().map(ToString::to_string).collect();
    info.set_idx_str(&bound.join(","));
    Ok(true)
}

fn refused<T>(why: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(format_args!("{NAME}(): {why}")).into())
}

#[derive(Default)]
struct Cursor {
    table: Option<Arc<Table>>,
    /// The column of the table for each column of the query.
    places: Vec<Option<usize>>,
}

impl Cursor {
    fn bind(&mut self, bound: &str, args: &Filters<'_>) -> Result<()> {
        (self.places, self.table) = (vec![None; COLUMNS], None);
        let Some(table) = pointer::filter::<Table>(args, 0) else {
            return refused(
                "the argument must be a table from another intrinsic; other values, and tables \
                 that went through a table or a sorter, are none",
            );
        };
        for ((index, name), column) in args.iter().enumerate().skip(1).zip(bound.split(',')) {
            let ValueRef::Text(name) = name else {
                return refused(format_args!(
                    "the name for c{column} (argument {index}) must be a text"
                ));
            };
            let name = String::from_utf8_lossy(name);
            let Some(place) = table.place(&name) else {
                return refused(format_args!(
                    "the table has no column '{name}'; it has {}",
                    table.names().join(", ")
                ));
            };
            let column = column.parse().ok().and_then(|column: usize| self.places.get_mut(column));
            if let Some(column) = column {
                *column = Some(place);
            }
        }
        self.table = Some(table);
        Ok(())
    }

    fn value(&self, at: usize, column: usize) -> Result<Cell> {
        if column == COLUMNS {
            return Ok(Cell::Null);
        }
        match (&self.table, self.places.get(column).copied().flatten()) {
            (Some(table), Some(place)) => Ok(table.cell(at, place)),
            _ => refused(format_args!(
                "c{column} is not bound; add WHERE {BIND}(c{column}, 'name of a column')"
            )),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
