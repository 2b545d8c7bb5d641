//! `__intrinsic_table_ptr(table)`: the rows of a table that another intrinsic made.
//!
//! A virtual table has fixed columns, `c0` to `c31`. A query says which of the table's columns
//! each of them is: `WHERE __intrinsic_table_ptr_bind(c0, 'ts')`.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor,
};
use rusqlite::{Connection, Result, ffi};

use crate::{Error, caught};

use super::pointer;
use super::table::{Cell, Table};

const NAME: &str = "__intrinsic_table_ptr";
const BIND: &str = "__intrinsic_table_ptr_bind";

/// The number of columns that can be bound.
const COLUMNS: usize = 32;

/// SQLite's code for a constraint by a function of the virtual table.
const BOUND: u8 = 150;

pub fn register(conn: &Connection) -> Result<()> {
    const MODULE: Module<'_, Rows> = with_function(Module::eponymous_only_module());
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
const fn with_function<'vtab>(mut module: Module<'vtab, Rows>) -> Module<'vtab, Rows> {
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

#[repr(C)]
struct Rows {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab> VTab<'vtab> for Rows {
    type Aux = ();
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        _aux: Option<&()>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let columns: String = (0..COLUMNS).map(|column| format!("c{column}, ")).collect();
        let declaration = format!("CREATE TABLE x ({columns}tab HIDDEN)");
        let declaration = CString::new(declaration).map_err(Error::new)?;
        let base = ffi::sqlite3_vtab::default();
        Ok((Cow::Owned(declaration), Rows { base }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        caught(|| plan(info))
    }

    fn open(&'vtab mut self) -> Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            table: None,
            places: Vec::new(),
            at: 0,
            phantom: PhantomData,
        })
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

#[repr(C)]
struct Cursor<'vtab> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    table: Option<Arc<Table>>,
    /// The column of the table for each column of the query.
    places: Vec<Option<usize>>,
    at: usize,
    phantom: PhantomData<&'vtab Rows>,
}

impl Cursor<'_> {
    fn bind(&mut self, bound: &str, args: &Filters<'_>) -> Result<()> {
        (self.at, self.places, self.table) = (0, vec![None; COLUMNS], None);
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

    fn value(&self, column: c_int) -> Result<Cell> {
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        if column == COLUMNS {
            return Ok(Cell::Null);
        }
        match (&self.table, self.places.get(column).copied().flatten()) {
            (Some(table), Some(place)) => Ok(table.cell(self.at, place)),
            _ => refused(format_args!(
                "c{column} is not bound; add WHERE {BIND}(c{column}, 'name of a column')"
            )),
        }
    }
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, _number: c_int, bound: Option<&str>, args: &Filters<'_>) -> Result<()> {
        caught(|| self.bind(bound.unwrap_or_default(), args))
    }

    fn next(&mut self) -> Result<()> {
        self.at = self.at.saturating_add(1);
        Ok(())
    }

    fn eof(&self) -> bool {
        self.table.as_ref().is_none_or(|table| self.at >= table.rows())
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        caught(|| ctx.set_result(self.value(column)?))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(i64::try_from(self.at).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
