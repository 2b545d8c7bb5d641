//! Tables of trace processor that timebase does not fill (PQ2a): they have columns and no rows, and
//! take note of each query that reads them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_int};
use std::sync::{Arc, Mutex};

use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
    VTabKind,
};
use rusqlite::{Connection, Result, ffi};

use super::pool::locked;
use crate::{Error, caught};

/// The name of the module, for `CREATE VIRTUAL TABLE`. The arguments are columns with types.
pub const MODULE: &str = "__timebase_unread";

/// The names of the tables that were read since the last [`take`](Unread::take).
#[derive(Default)]
pub struct Unread(Mutex<BTreeSet<String>>);

impl Unread {
    pub fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *locked(&self.0))
    }

    pub fn add(&self, name: &str) {
        let mut names = locked(&self.0);
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    }
}

pub fn register(conn: &Connection, unread: &Arc<Unread>) -> Result<()> {
    const TABLE: Module<'_, Table> = Module::read_only_module();
    conn.create_module(MODULE, &TABLE, Some(Arc::clone(unread)))
}

#[repr(C)]
struct Table {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    name: String,
    unread: Arc<Unread>,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab> VTab<'vtab> for Table {
    type Aux = Arc<Unread>;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Arc<Unread>>,
        _module_name: &[u8],
        _database_name: &[u8],
        table_name: &[u8],
        args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let columns = args.iter().map(|column| String::from_utf8_lossy(column));
        let columns: Vec<Cow<'_, str>> = columns.collect();
        let declaration = format!("CREATE TABLE x ({})", columns.join(", "));
        let table = Table {
            base: ffi::sqlite3_vtab::default(),
            name: String::from_utf8_lossy(table_name).into_owned(),
            unread: aux.cloned().unwrap_or_default(),
        };
        Ok((Cow::Owned(CString::new(declaration).map_err(Error::new)?), table))
    }

    /// It costs nothing, so it is the outermost loop of any query. A query by a hidden column, as a
    /// function's argument, has the same plan.
    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        caught(|| {
            info.set_estimated_cost(1.0);
            info.set_estimated_rows(1);
            Ok(true)
        })
    }

    fn open(&'vtab mut self) -> Result<Cursor<'vtab>> {
        Ok(Cursor { base: ffi::sqlite3_vtab_cursor::default(), table: self })
    }
}

impl CreateVTab<'_> for Table {
    const KIND: VTabKind = VTabKind::Default;
}

#[repr(C)]
struct Cursor<'vtab> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    table: &'vtab Table,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, _: c_int, _: Option<&str>, _: &Filters<'_>) -> Result<()> {
        caught(|| {
            self.table.unread.add(&self.table.name);
            Ok(())
        })
    }

    fn next(&mut self) -> Result<()> {
        Ok(())
    }

    fn eof(&self) -> bool {
        true
    }

    fn column(&self, _: &mut Context, _: c_int) -> Result<()> {
        Ok(())
    }

    fn rowid(&self) -> Result<i64> {
        Ok(0)
    }
}
