//! Functions with rows (PQ6): virtual tables, whose arguments are hidden columns.
//!
//! # Design
//!
//! Each function is a virtual table of the temp schema, so SQLite undoes its creation together with
//! everything else, and it is found before a table of the database. Rows come from a prepared
//! statement, one by one. The plan has SQLite's highest cost: an inner loop would run the function
//! for each row of the outer one.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use rusqlite::types::ToSqlOutput;
use rusqlite::vtab::{Context, Filters, IndexConstraintOp, IndexInfo};
use rusqlite::{Connection, Result, ffi};

use super::dialect::Column;
use super::held::Held;
use super::pool::{Pool, Pools, Taken, locked};
use super::prepared::Rows;
use super::types::{Type, told};
use crate::Error;
use crate::module::{self, Connecting, VirtualTable};
use crate::query::quoted;
use crate::value::ValueRef;

/// The name of the module, for `CREATE VIRTUAL TABLE`.
pub const MODULE: &str = "__timebase_function";

/// The definition of a function.
pub struct Tabular {
    pub name: String,
    pub arguments: Vec<Column>,
    pub columns: Vec<Column>,
    /// The place of each argument in the statement; 0 if it is not used.
    pub places: Vec<c_int>,
    pub pool: Arc<Pool>,
}

/// The definitions of a connection, by the number in `CREATE VIRTUAL TABLE`.
pub struct Definitions {
    all: Mutex<HashMap<usize, Arc<Tabular>>>,
    pools: Arc<Pools>,
}

impl Definitions {
    pub fn new(pools: &Arc<Pools>) -> Arc<Definitions> {
        Arc::new(Definitions { all: Mutex::default(), pools: Arc::clone(pools) })
    }

    /// Adds a definition, and returns its number. It stays, because SQLite can undo that its table
    /// is dropped.
    pub fn add(&self, definition: Tabular) -> usize {
        let mut all = locked(&self.all);
        let number = all.len();
        all.insert(number, Arc::new(definition));
        number
    }
}

pub fn register(conn: &Connection, definitions: &Arc<Definitions>) -> Result<()> {
    module::register_table::<Table>(conn, MODULE, Some(Arc::clone(definitions)))
}

struct Table {
    conn: *mut ffi::sqlite3,
    definition: Arc<Tabular>,
    pools: Arc<Pools>,
}

/// The rows of a call, and its arguments.
#[derive(Default)]
struct Cursor {
    rows: Rows<Taken>,
    arguments: Vec<Held>,
}

impl VirtualTable for Table {
    type Aux = Arc<Definitions>;
    type Cursor = Cursor;

    fn connect(call: &Connecting<'_, Arc<Definitions>>) -> Result<(String, Table)> {
        let number = call.args.first().and_then(|number| {
            let number = std::str::from_utf8(number).ok()?;
            number.trim().parse::<usize>().ok()
        });
        let found = call.aux.zip(number).and_then(|(definitions, number)| {
            let definition = locked(&definitions.all).get(&number).cloned()?;
            Some((definition, Arc::clone(&definitions.pools)))
        });
        let Some((definition, pools)) = found else {
            let message = "functions are made with CREATE PERFETTO FUNCTION".to_owned();
            return Err(rusqlite::Error::ModuleError(message));
        };
        let mut declaration = String::from("CREATE TABLE x (");
        for column in &definition.columns {
            let declared = column.declared.of_column();
            declaration += &format!("{} {declared}, ", quoted(&column.name));
        }
        for argument in &definition.arguments {
            declaration += &format!("{} HIDDEN, ", quoted(&format!("_in_{}", argument.name)));
        }
        declaration.truncate(declaration.len().saturating_sub(2));
        declaration.push(')');
        Ok((declaration, Table { conn: call.conn, definition, pools }))
    }

    /// The arguments, in their order. A plan without one of them is none.
    fn plan(&self, info: &mut IndexInfo) -> Result<bool> {
        let (columns, count) = (self.definition.columns.len(), self.definition.arguments.len());
        let mut given = vec![false; count];
        for (constraint, mut usage) in info.constraints_and_usages() {
            let column = usize::try_from(constraint.column()).ok();
            let argument = column.and_then(|column| column.checked_sub(columns));
            let is_equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            let (Some(argument), true) = (argument, is_equal) else {
                continue;
            };
            let Some(is_given) = given.get_mut(argument) else {
                continue;
            };
            if !constraint.is_usable() {
                return Ok(false);
            }
            if !std::mem::replace(is_given, true) {
                usage.set_argv_index(c_int::try_from(argument).unwrap_or(0).saturating_add(1));
                usage.set_omit(true);
            }
        }
        match given.iter().position(|is_given| !is_given) {
            None => Ok(true),
            Some(missing) => {
                let argument = self.definition.arguments.get(missing);
                let argument = argument.map_or("", |argument| &argument.name);
                let name = &self.definition.name;
                Err(rusqlite::Error::ModuleError(format!(
                    "{name}() takes {count} arguments; argument {} ({argument}) is missing",
                    missing.saturating_add(1)
                )))
            }
        }
    }

    fn open(&self) -> Cursor {
        Cursor::default()
    }

    fn begin(
        &self,
        cursor: &mut Cursor,
        _number: c_int,
        _plan: &str,
        args: &Filters<'_>,
    ) -> Result<()> {
        let definition = &self.definition;
        let mut statement = match cursor.rows.take() {
            Some(statement) => statement,
            // SAFETY: the cursor is closed before its connection.
            None => unsafe { definition.pool.take(self.conn) }?,
        };
        statement.reset();
        cursor.arguments.clear();
        for (index, value) in args.iter().enumerate() {
            cursor.arguments.push(Held::of(value));
            let argument = definition.arguments.get(index);
            let code = code(value);
            if let Some(argument) = argument.filter(|argument| !takes(argument.declared, code)) {
                return Err(Error::new(format_args!(
                    "{}(): argument {} ({}) must be {}, not {}",
                    definition.name,
                    index.saturating_add(1),
                    argument.name,
                    argument.declared.name(),
                    told(code)
                ))
                .into());
            }
            match definition.places.get(index) {
                None | Some(0) => {}
                Some(place) => statement.bind_ref(*place, value)?,
            }
        }
        let _deeper = self.pools.enter(&definition.name)?;
        Ok(cursor.rows.begin(statement)?)
    }

    fn next(&self, cursor: &mut Cursor, _at: usize) -> Result<()> {
        let _deeper = self.pools.enter(&self.definition.name)?;
        Ok(cursor.rows.next()?)
    }

    fn is_end(&self, cursor: &Cursor, _at: usize) -> bool {
        cursor.rows.is_end()
    }

    fn column(&self, cursor: &Cursor, _at: usize, column: usize, ctx: &mut Context) -> Result<()> {
        let value = match column.checked_sub(self.definition.columns.len()) {
            Some(argument) => {
                let argument = cursor.arguments.get(argument);
                argument.map_or(ValueRef::Null, Held::get)
            }
            None => cursor.rows.value(column),
        };
        ctx.set_result(ToSqlOutput::Borrowed(value))
    }
}

/// Whether an argument takes a value with a type code. Trace processor does not check the arguments of a function
/// with rows, and callers give it whole numbers for real ones.
fn takes(declared: Type, code: c_int) -> bool {
    let is_number = |code: c_int| matches!(code, ffi::SQLITE_INTEGER | ffi::SQLITE_FLOAT);
    declared.takes(code) || (declared.takes_numbers() && is_number(code))
}

fn code(value: ValueRef<'_>) -> c_int {
    match value {
        ValueRef::Null => ffi::SQLITE_NULL,
        ValueRef::Integer(_) => ffi::SQLITE_INTEGER,
        ValueRef::Real(_) => ffi::SQLITE_FLOAT,
        ValueRef::Text(_) => ffi::SQLITE_TEXT,
        ValueRef::Blob(_) => ffi::SQLITE_BLOB,
    }
}
