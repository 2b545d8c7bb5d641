//! The state of the dialect in a connection: macros, functions, modules and folders.
//!
//! It ends with the connection: functions of the connection own it, and nothing else does. A
//! function of SQL without a name that users would meet hands it out, so that every caller with the
//! connection finds the same one.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use rusqlite::vtab::{Context, Filters, IndexInfo};
use rusqlite::{Connection, ffi};

use super::expand::{Macro, Macros};
use super::package::Root;
use super::pool::{Pools, locked};
use super::scalar::{Scalar, Slot};
use super::tabular::Definitions;
use super::unread::Unread;
use crate::error::{Error, Result};
use crate::held_marks;
use crate::module::{self, Connecting, VirtualTable};
use crate::query::failure;

/// The function that hands out the state, as a pointer of SQLite's.
const FUNCTION: &CStr = c"__timebase_perfetto";

/// The type of that pointer. Only C code of the process can make one.
const POINTER: &CStr = c"timebase_perfetto_1";

/// The virtual table that is connected while functions keep statements.
const KEEPER: &str = "__timebase_keeper";

/// A function: its name in small letters, and its number of arguments; −1 for any number.
pub type FunctionKey = (String, c_int);

/// The progress of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Running,
    Included,
    /// With its error.
    Failed(String),
}

/// All that a module which fails takes with it.
#[derive(Clone, Default)]
pub struct State {
    pub macros: HashMap<String, Arc<Macro>>,
    pub functions: HashMap<FunctionKey, Arc<Scalar>>,
    pub modules: HashMap<String, Progress>,
    /// The names, in small letters, under which `CREATE PERFETTO TABLE` made tables.
    pub tables: BTreeSet<String>,
    /// The number of preludes that have run.
    pub preludes: usize,
    /// The tables that were made from tables without rows, by their name in small letters.
    pub unread: HashMap<String, BTreeSet<String>>,
}

/// The state of a connection.
pub struct Shared {
    pub state: Mutex<State>,
    pub pools: Arc<Pools>,
    pub definitions: Arc<Definitions>,
    pub unread: Arc<Unread>,
    slots: Mutex<HashMap<FunctionKey, Arc<Slot>>>,
    roots: Mutex<Vec<Root>>,
    /// The savepoints that an interrupted statement could not end.
    pub open_savepoints: AtomicUsize,
    notes: Mutex<Vec<String>>,
}

impl Macros for Shared {
    fn find(&self, name: &str) -> Option<Arc<Macro>> {
        locked(&self.state).macros.get(name).cloned()
    }
}

impl Shared {
    fn new() -> Shared {
        let pools: Arc<Pools> = Arc::default();
        Shared {
            state: Mutex::default(),
            definitions: Definitions::new(&pools),
            pools,
            unread: Arc::default(),
            slots: Mutex::default(),
            roots: Mutex::default(),
            open_savepoints: AtomicUsize::new(0),
            notes: Mutex::default(),
        }
    }

    /// The state of a connection.
    ///
    /// # Errors
    ///
    /// If the connection does not have timebase's functions.
    pub fn of(conn: &Connection) -> Result<Arc<Shared>> {
        // SAFETY: the connection is open. The value is valid while its statement is at the row, and
        // a pointer of this type is a `Shared` in an `Arc`, whose count is raised here.
        unsafe {
            let sql = format!("SELECT {}()", FUNCTION.to_string_lossy());
            let prepared = super::prepared::Prepared::new(conn.handle(), &sql, false);
            let mut prepared = match prepared {
                Ok(Some(prepared)) => prepared,
                _ => {
                    return Err(Error::new(
                        "this connection does not have the functions of timebase; register them first",
                    ));
                }
            };
            prepared.step()?;
            let pointer = ffi::sqlite3_value_pointer(prepared.column(0), POINTER.as_ptr());
            if pointer.is_null() {
                return Err(Error::new("the state of PerfettoSQL is lost"));
            }
            let shared: *const Shared = pointer.cast_const().cast();
            Arc::increment_strong_count(shared);
            Ok(Arc::from_raw(shared))
        }
    }

    /// Registers a new state on a connection.
    ///
    /// # Errors
    ///
    /// If SQLite refuses it.
    pub fn register(conn: &Connection) -> rusqlite::Result<()> {
        let shared = Arc::new(Shared::new());
        super::tabular::register(conn, &shared.definitions)?;
        super::unread::register(conn, &shared.unread)?;
        module::register_function::<Keeper>(conn, KEEPER, Some(Arc::clone(&shared.pools)))?;
        let flags = ffi::SQLITE_UTF8 | ffi::SQLITE_DIRECTONLY;
        // SAFETY: the connection is open; SQLite frees the state once.
        let code = unsafe {
            let shared = Arc::into_raw(shared).cast_mut().cast();
            let (name, call) = (FUNCTION.as_ptr(), Some(hand_out as _));
            ffi::sqlite3_create_function_v2(
                conn.handle(),
                name,
                0,
                flags,
                shared,
                call,
                None,
                None,
                Some(free),
            )
        };
        match code {
            ffi::SQLITE_OK => Ok(()),
            // SAFETY: as above.
            _ => Err(unsafe { failure(conn.handle()) }.into()),
        }
    }

    /// Lets functions keep statements from now on, until the connection closes.
    pub fn keep_statements(&self, conn: &Connection) -> Result<()> {
        // Preparing a query connects the table.
        conn.prepare(&format!("SELECT 1 FROM {KEEPER}"))?;
        Ok(())
    }

    /// Defines a function, or undoes its definition.
    ///
    /// # Errors
    ///
    /// If the name cannot be registered because a statement runs.
    pub fn define(
        &self,
        conn: &Connection,
        key: &FunctionKey,
        name: &str,
        definition: Option<Arc<Scalar>>,
    ) -> Result<()> {
        let known = locked(&self.slots).get(key).cloned();
        let slot = match known {
            Some(slot) => slot,
            None => {
                let slot = Slot::new(name);
                // SAFETY: the connection is open.
                unsafe { slot.register(conn.handle(), key.1) }?;
                locked(&self.slots).insert(key.clone(), Arc::clone(&slot));
                slot
            }
        };
        slot.define(definition.clone());
        let mut state = locked(&self.state);
        let old = match definition {
            Some(definition) => state.functions.insert(key.clone(), definition),
            None => state.functions.remove(key),
        };
        drop(state);
        drop(old);
        Ok(())
    }

    /// Whether the dialect has registered this name.
    pub fn has_slot(&self, key: &FunctionKey) -> bool {
        locked(&self.slots).contains_key(key)
    }

    /// Makes everything as it was, except that modules which failed stay so.
    pub fn restore(&self, before: State) {
        let mut state = locked(&self.state);
        let after = std::mem::replace(&mut *state, before);
        for (name, module) in after.modules {
            if matches!(module, Progress::Failed(_)) {
                state.modules.insert(name, module);
            }
        }
        let functions = state.functions.clone();
        drop(state);
        let slots: Vec<(FunctionKey, Arc<Slot>)> =
            locked(&self.slots).iter().map(|(key, slot)| (key.clone(), Arc::clone(slot))).collect();
        for (key, slot) in slots {
            slot.define(functions.get(&key).cloned());
        }
        drop(after.functions);
    }

    /// Adds folders in which modules are looked up, after those that are there.
    pub fn add_roots(&self, roots: &[Root]) {
        let mut known = locked(&self.roots);
        for root in roots {
            if !known.contains(root) {
                known.push(root.clone());
            }
        }
    }

    pub fn roots(&self) -> Vec<Root> {
        locked(&self.roots).clone()
    }

    /// Adds something that the user should know, once.
    pub fn note(&self, note: String) {
        let mut notes = locked(&self.notes);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.notes))
    }
}

/// # Safety
///
/// SQLite calls it, for a function that was registered with a state.
unsafe extern "C" fn hand_out(
    ctx: *mut ffi::sqlite3_context,
    _count: c_int,
    _values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: by the contract of this function. The pointer is only used while the function exists.
    unsafe {
        let shared = ffi::sqlite3_user_data(ctx);
        ffi::sqlite3_result_pointer(ctx, shared, POINTER.as_ptr(), None);
    }
}

/// # Safety
///
/// SQLite calls it, once, with the state from `register`.
unsafe extern "C" fn free(shared: *mut c_void) {
    // SAFETY: by the contract of this function.
    drop(unsafe { Arc::from_raw(shared.cast_const().cast::<Shared>()) });
}

/// A virtual table without rows. SQLite disconnects it before it closes the connection.
struct Keeper {
    conn: *mut ffi::sqlite3,
    pools: Arc<Pools>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        held_marks::end(self.conn);
        self.pools.close();
    }
}

impl VirtualTable for Keeper {
    type Aux = Arc<Pools>;
    type Cursor = ();

    fn connect(call: &Connecting<'_, Arc<Pools>>) -> rusqlite::Result<(String, Keeper)> {
        let (conn, pools) = (call.conn, call.aux.cloned().unwrap_or_default());
        pools.open();
        held_marks::begin(conn);
        Ok(("CREATE TABLE x (y)".to_owned(), Keeper { conn, pools }))
    }

    fn plan(&self, _: &mut IndexInfo) -> rusqlite::Result<bool> {
        Ok(true)
    }

    fn open(&self) {}

    fn begin(&self, (): &mut (), _: c_int, _: &str, _: &Filters<'_>) -> rusqlite::Result<()> {
        Ok(())
    }

    fn is_end(&self, (): &(), _at: usize) -> bool {
        true
    }

    fn column(&self, (): &(), _at: usize, _: usize, _: &mut Context) -> rusqlite::Result<()> {
        Ok(())
    }
}
