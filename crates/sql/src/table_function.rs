//! Table-valued functions that make all rows of a call at once.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::rc::Rc;

use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor,
};
use rusqlite::{Connection, ffi};

use crate::error::{Error, Result};
use crate::virtual_table::caught;

/// Such a function. All of its arguments must be given.
pub(crate) trait TableFunction: Sized + 'static {
    const NAME: &'static str;
    const COLUMNS: &'static [&'static str];
    const ARGUMENTS: &'static [&'static str];
    /// SQLite's cost of a call, and its rows; `None` if it should run in no inner loop.
    const ESTIMATE: Option<(f64, i64)>;
    /// The columns that are texts. The others are integers.
    const TEXTS: &'static [&'static str] = &[];
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
}

/// Registers a function on a connection.
pub(crate) fn register<F: TableFunction>(conn: &Connection) -> rusqlite::Result<()> {
    conn.create_module(F::NAME, &Table::<F>::MODULE, None)
}

#[repr(C)]
struct Table<F> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    function: Rc<F>,
}

impl<F: TableFunction> Table<F> {
    const MODULE: Module<'static, Table<F>> = Module::eponymous_only_module();
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab, F: TableFunction> VTab<'vtab> for Table<F> {
    type Aux = ();
    type Cursor = Cursor<'vtab, F>;

    fn connect(
        db: &mut VTabConnection,
        _aux: Option<&()>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let columns = F::COLUMNS.iter().map(|column| {
            let declared = if F::TEXTS.contains(column) { "TEXT" } else { "INTEGER" };
            format!("{column} {declared}")
        });
        let arguments = F::ARGUMENTS.iter().map(|name| format!("{name} HIDDEN"));
        let all: Vec<String> = columns.chain(arguments).collect();
        let declaration = format!("CREATE TABLE x ({})", all.join(", "));
        let declaration = CString::new(declaration).map_err(Error::new)?;
        let table = Table {
            base: ffi::sqlite3_vtab::default(),
            // SAFETY: a virtual table never outlives its connection, and only calls of that
            // connection use it.
            function: Rc::new(unsafe { F::new(db.handle()) }),
        };
        Ok((Cow::Owned(declaration), table))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
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

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab, F>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            function: Rc::clone(&self.function),
            rows: Vec::new(),
            at: 0,
            phantom: PhantomData,
        })
    }
}

#[repr(C)]
struct Cursor<'vtab, F: TableFunction> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    function: Rc<F>,
    rows: Vec<F::Row>,
    at: usize,
    phantom: PhantomData<&'vtab Table<F>>,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl<F: TableFunction> VTabCursor for Cursor<'_, F> {
    fn filter(
        &mut self,
        _number: c_int,
        _plan: Option<&str>,
        args: &Filters<'_>,
    ) -> rusqlite::Result<()> {
        (self.rows, self.at) = (Vec::new(), 0);
        caught(|| {
            self.rows = self.function.rows(args)?;
            Ok(())
        })
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.at = self.at.saturating_add(1);
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.rows.len()
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> rusqlite::Result<()> {
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        let row = self.rows.get(self.at);
        let name = F::COLUMNS.get(column);
        if name.is_some_and(|name| F::TEXTS.contains(name)) {
            return ctx.set_result(row.and_then(|row| F::text(row, column)));
        }
        ctx.set_result(row.and_then(|row| F::column(row, column)))
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok(i64::try_from(self.at).unwrap_or(i64::MAX))
    }
}
