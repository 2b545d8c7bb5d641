//! Virtual tables without SQLite's C structs: a [`VirtualTable`] is a table, and a cursor's state.
//!
//! # Design
//!
//! SQLite keeps a table and a cursor as structs that begin with its own, and rusqlite asks for a type of either.
//! These two types are here, once, with all of their unsafe code. A cursor shares its table, because SQLite
//! opens several cursors of a table and rusqlite borrows the table for each as if it were the only one.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::rc::Rc;

use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
    VTabKind,
};
use rusqlite::{Connection, Result, ffi};

use crate::error::Error;
use crate::virtual_table::caught;

/// A virtual table of a connection. No panic in its methods crosses SQLite.
pub trait VirtualTable: Sized + 'static {
    /// The data of the module.
    type Aux: Send + Sync + 'static;
    /// The state of a cursor, besides the number of its row.
    type Cursor;
    /// From where SQLite may use the table.
    const USE: VTabConfig = VTabConfig::Innocuous;

    /// The table, and its declaration: `CREATE TABLE x (…)`.
    ///
    /// # Errors
    ///
    /// If there is no such table.
    fn connect(call: &Connecting<'_, Self::Aux>) -> Result<(String, Self)>;

    /// The table for `CREATE VIRTUAL TABLE`.
    ///
    /// # Errors
    ///
    /// As for [`connect`](VirtualTable::connect).
    fn create(call: &Connecting<'_, Self::Aux>) -> Result<(String, Self)> {
        Self::connect(call)
    }

    /// Chooses the arguments of [`begin`](VirtualTable::begin); false if there is no such plan.
    ///
    /// # Errors
    ///
    /// If no plan is possible.
    fn plan(&self, info: &mut IndexInfo) -> Result<bool>;

    /// A cursor, before [`begin`](VirtualTable::begin).
    fn open(&self) -> Self::Cursor;

    /// Goes to the first row, with the number and text of the plan, and its arguments.
    ///
    /// # Errors
    ///
    /// If the rows cannot be found.
    fn begin(
        &self,
        cursor: &mut Self::Cursor,
        number: c_int,
        plan: &str,
        args: &Filters<'_>,
    ) -> Result<()>;

    /// Goes to the row `at`, which follows the current one.
    ///
    /// # Errors
    ///
    /// If the row cannot be read.
    fn next(&self, _cursor: &mut Self::Cursor, _at: usize) -> Result<()> {
        Ok(())
    }

    /// Whether there is no row `at`, the current one.
    fn is_end(&self, cursor: &Self::Cursor, at: usize) -> bool;

    /// Returns a column of the current row.
    ///
    /// # Errors
    ///
    /// If SQLite refuses the value.
    fn column(
        &self,
        cursor: &Self::Cursor,
        at: usize,
        column: usize,
        ctx: &mut Context,
    ) -> Result<()>;
}

/// The inputs for connecting a table.
#[derive(Debug)]
pub struct Connecting<'a, A> {
    /// The connection, which outlives the table.
    pub conn: *mut ffi::sqlite3,
    /// The data of the module.
    pub aux: Option<&'a A>,
    /// The name of the table.
    pub table_name: &'a [u8],
    /// The arguments of `CREATE VIRTUAL TABLE`.
    pub args: &'a [&'a [u8]],
}

/// Registers a table that is there without `CREATE VIRTUAL TABLE`, such as a table-valued function.
///
/// # Errors
///
/// If SQLite refuses it.
pub fn register_function<T: VirtualTable>(
    conn: &Connection,
    name: &str,
    aux: Option<T::Aux>,
) -> Result<()> {
    conn.create_module(name, &Table::<T>::FUNCTION, aux)
}

/// Registers a kind of tables for `CREATE VIRTUAL TABLE … USING name`.
///
/// # Errors
///
/// If SQLite refuses it.
pub fn register_table<T: VirtualTable>(
    conn: &Connection,
    name: &str,
    aux: Option<T::Aux>,
) -> Result<()> {
    conn.create_module(name, &Table::<T>::TABLE, aux)
}

#[repr(C)]
pub(crate) struct Table<T> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    table: Rc<T>,
}

impl<T: VirtualTable> Table<T> {
    pub(crate) const FUNCTION: Module<'static, Table<T>> = Module::eponymous_only_module();
    const TABLE: Module<'static, Table<T>> = Module::read_only_module();

    fn of(
        db: &mut VTabConnection,
        aux: Option<&T::Aux>,
        table_name: &[u8],
        args: &[&[u8]],
        connect: impl FnOnce(&Connecting<'_, T::Aux>) -> Result<(String, T)>,
    ) -> Result<(Cow<'static, CStr>, Table<T>)> {
        db.config(T::USE)?;
        // SAFETY: SQLite disconnects a virtual table before it closes the connection.
        let conn = unsafe { db.handle() };
        let (declaration, table) = caught(|| connect(&Connecting { conn, aux, table_name, args }))?;
        let declaration = CString::new(declaration).map_err(Error::new)?;
        let base = ffi::sqlite3_vtab::default();
        Ok((Cow::Owned(declaration), Table { base, table: Rc::new(table) }))
    }
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab, T: VirtualTable> VTab<'vtab> for Table<T> {
    type Aux = T::Aux;
    type Cursor = Cursor<'vtab, T>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&T::Aux>,
        _module_name: &[u8],
        _database_name: &[u8],
        table_name: &[u8],
        args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        Table::of(db, aux, table_name, args, T::connect)
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        caught(|| self.table.plan(info))
    }

    fn open(&'vtab mut self) -> Result<Cursor<'vtab, T>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            cursor: caught(|| Ok(self.table.open()))?,
            table: Rc::clone(&self.table),
            at: 0,
            phantom: PhantomData,
        })
    }
}

impl<T: VirtualTable> CreateVTab<'_> for Table<T> {
    const KIND: VTabKind = VTabKind::Default;

    fn create(
        db: &mut VTabConnection,
        aux: Option<&T::Aux>,
        _module_name: &[u8],
        _database_name: &[u8],
        table_name: &[u8],
        args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        Table::of(db, aux, table_name, args, T::create)
    }
}

#[repr(C)]
pub(crate) struct Cursor<'vtab, T: VirtualTable> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    cursor: T::Cursor,
    table: Rc<T>,
    at: usize,
    phantom: PhantomData<&'vtab Table<T>>,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl<T: VirtualTable> VTabCursor for Cursor<'_, T> {
    fn filter(&mut self, number: c_int, plan: Option<&str>, args: &Filters<'_>) -> Result<()> {
        self.at = 0;
        caught(|| self.table.begin(&mut self.cursor, number, plan.unwrap_or_default(), args))
    }

    fn next(&mut self) -> Result<()> {
        self.at = self.at.saturating_add(1);
        caught(|| self.table.next(&mut self.cursor, self.at))
    }

    fn eof(&self) -> bool {
        self.table.is_end(&self.cursor, self.at)
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        caught(|| self.table.column(&self.cursor, self.at, column, ctx))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(i64::try_from(self.at).unwrap_or(i64::MAX))
    }
}
