//! Tables of trace processor that timebase does not fill (PQ2a): they have columns and no rows, and
//! take note of each query that reads them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use rusqlite::vtab::{Context, Filters, IndexInfo};
use rusqlite::{Connection, Result};

use super::pool::locked;
use crate::module::{self, Connecting, VirtualTable};

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
    module::register_table::<Table>(conn, MODULE, Some(Arc::clone(unread)))
}

struct Table {
    name: String,
    unread: Arc<Unread>,
}

impl VirtualTable for Table {
    type Aux = Arc<Unread>;
    type Cursor = ();

    fn connect(call: &Connecting<'_, Arc<Unread>>) -> Result<(String, Table)> {
        let columns = call.args.iter().map(|column| String::from_utf8_lossy(column));
        let columns: Vec<Cow<'_, str>> = columns.collect();
        let table = Table {
            name: String::from_utf8_lossy(call.table_name).into_owned(),
            unread: call.aux.cloned().unwrap_or_default(),
        };
        Ok((format!("CREATE TABLE x ({})", columns.join(", ")), table))
    }

    /// It costs nothing, so it is the outermost loop of any query. A query by a hidden column, as a
    /// function's argument, has the same plan.
    fn plan(&self, info: &mut IndexInfo) -> Result<bool> {
        info.set_estimated_cost(1.0);
        info.set_estimated_rows(1);
        Ok(true)
    }

    fn open(&self) {}

    fn begin(&self, (): &mut (), _: c_int, _: &str, _: &Filters<'_>) -> Result<()> {
        self.unread.add(&self.name);
        Ok(())
    }

    fn is_end(&self, (): &(), _at: usize) -> bool {
        true
    }

    fn column(&self, (): &(), _at: usize, _column: usize, _: &mut Context) -> Result<()> {
        Ok(())
    }
}
