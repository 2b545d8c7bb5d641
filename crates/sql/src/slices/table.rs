//! The table-valued functions: the results of `walk.rs`, as rows.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::rc::Rc;

use rusqlite::types::{Value, ValueRef};
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig,
    VTabConnection, VTabCursor, VTabKind,
};
use rusqlite::{Connection, Result, ffi};

use crate::query::quoted;
use crate::{Arguments, Error, Queries, Values, caught};

use crate::slices::explain;
use crate::slices::walk::{self, Direction};

/// The only argument, a hidden column after all others.
const ARGUMENT: &str = "start_id";

/// A function, by the relation of a slice to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Ancestors,
    Descendants,
    Following,
    Preceding,
    Connected,
}

impl Relation {
    pub const ALL: [Relation; 5] = [
        Relation::Ancestors,
        Relation::Descendants,
        Relation::Following,
        Relation::Preceding,
        Relation::Connected,
    ];

    fn name(self) -> &'static str {
        match self {
            Relation::Ancestors => "ancestor_slice",
            Relation::Descendants => "descendant_slice",
            Relation::Following => "following_flow",
            Relation::Preceding => "preceding_flow",
            Relation::Connected => "directly_connected_flow",
        }
    }

    /// The table or view that has the function's rows.
    fn of(self) -> &'static str {
        match self {
            Relation::Ancestors | Relation::Descendants => "slice",
            Relation::Following | Relation::Preceding | Relation::Connected => "flow",
        }
    }

    /// The ids of its rows; `None` if there is no such slice.
    fn ids(self, queries: &mut Queries, start: i64) -> crate::Result<Option<Vec<i64>>> {
        match self {
            Relation::Ancestors => walk::ancestors(queries, start),
            Relation::Descendants => walk::descendants(queries, start),
            Relation::Following => walk::flows(queries, start, Direction::Forwards),
            Relation::Preceding => walk::flows(queries, start, Direction::Backwards),
            Relation::Connected => walk::flows(queries, start, Direction::Both),
        }
    }

    fn explain(self, error: &Error) -> Error {
        explain(self.name(), self.of(), error)
    }
}

pub fn register(conn: &Connection, relation: Relation) -> Result<()> {
    const MODULE: Module<'_, Table> = Module::eponymous_only_module();
    conn.create_module(relation.name(), &MODULE, Some(relation))
}

/// Registers the functions under another name, for `CREATE VIRTUAL TABLE … USING name(function,
/// column, …)`: a function with these columns only.
pub fn register_narrow(conn: &Connection, name: &str) -> Result<()> {
    const MODULE: Module<'_, Table> = Module::read_only_module();
    conn.create_module(name, &MODULE, None)
}

impl CreateVTab<'_> for Table {
    const KIND: VTabKind = VTabKind::Default;
}

/// The function and the columns that a `CREATE VIRTUAL TABLE` names.
fn narrow(args: &[&[u8]]) -> Option<(Relation, Vec<String>)> {
    let mut names = args.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned());
    let function = names.next()?;
    let relation = Relation::ALL.into_iter().find(|relation| relation.name() == function)?;
    Some((relation, names.collect()))
}

/// The shared data of a function's cursors on one connection, which one thread uses at a time.
struct Shared {
    relation: Relation,
    columns: Vec<String>,
    queries: RefCell<Queries>,
}

impl Shared {
    /// Runs `ask` on the database. If `slice` was made a view of this function's rows, a query of
    /// this function would call it again without end; this prevents it.
    fn ask<T>(&self, ask: impl FnOnce(&mut Queries) -> crate::Result<T>) -> crate::Result<T> {
        let name = self.relation.name();
        let answer = match self.queries.try_borrow_mut() {
            Ok(mut queries) => ask(&mut queries),
            Err(_) => Err(Error::new(format_args!(
                "{name}(): a table that it reads is a view that calls it; define the view without the call"
            ))),
        };
        answer.map_err(|error| self.relation.explain(&error))
    }

    /// The query for a row's columns; nothing if only the id is needed.
    fn row_query(&self, is_used: impl Fn(usize) -> bool) -> String {
        let mut is_read = false;
        let columns = self.columns.iter().enumerate().map(|(index, name)| {
            let used = name != "id" && is_used(index);
            is_read |= used;
            match used {
                true => Cow::Owned(quoted(name)),
                false => Cow::Borrowed("NULL"),
            }
        });
        let columns: Vec<Cow<'_, str>> = columns.collect();
        match is_read {
            true => format!(
                "SELECT {} FROM main.{} WHERE id = ?1",
                columns.join(", "),
                self.relation.of()
            ),
            false => String::new(),
        }
    }
}

#[repr(C)]
struct Table {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    shared: Rc<Shared>,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab> VTab<'vtab> for Table {
    type Aux = Relation;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        relation: Option<&Relation>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let narrow = narrow(args);
        let named = narrow.as_ref().map(|(relation, _)| *relation);
        let relation = named.or(relation.copied()).unwrap_or(Relation::Ancestors);
        // SAFETY: a virtual table never outlives its connection, and only calls of that connection
        // run its queries.
        let mut queries = unsafe { Queries::new(db.handle()) };
        caught(|| {
            let mut columns =
                columns(&mut queries, relation).map_err(|error| relation.explain(&error))?;
            if let Some((_, kept)) = &narrow {
                columns.retain(|(name, _)| kept.contains(name));
            }
            let declaration = declaration(&columns)?;
            let shared = Shared {
                relation,
                columns: columns.into_iter().map(|(name, _)| name).collect(),
                queries: RefCell::new(queries),
            };
            let vtab = Table { base: ffi::sqlite3_vtab::default(), shared: Rc::new(shared) };
            Ok((Cow::Owned(declaration), vtab))
        })
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        caught(|| plan(info, &self.shared))
    }

    fn open(&'vtab mut self) -> Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            shared: Rc::clone(&self.shared),
            start: Value::Null,
            ids: Vec::new(),
            at: 0,
            query: String::new(),
            row: Vec::new(),
            phantom: PhantomData,
        })
    }
}

/// The columns of the table or view at the first use by a connection: names and declared types.
fn columns(queries: &mut Queries, relation: Relation) -> crate::Result<Vec<(String, String)>> {
    let sql = "SELECT name, type FROM pragma_table_info(?1, 'main') ORDER BY cid";
    let mut columns = Vec::new();
    let table = [ValueRef::Text(relation.of().as_bytes())];
    queries.each(sql, &table, |row| {
        let text = |index| match row.value(index) {
            Some(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        };
        columns.push((text(0), text(1)));
        Ok(ControlFlow::Continue(()))
    })?;
    match columns.is_empty() {
        false => Ok(columns),
        true => {
            let table = relation.of();
            Err(Error::new(format_args!("no such table: main.{table}")))
        }
    }
}

fn declaration(columns: &[(String, String)]) -> Result<CString> {
    let mut sql = String::from("CREATE TABLE x (");
    for (name, declared) in columns {
        let affinity = ["INTEGER", "REAL", "TEXT"];
        let known = affinity.into_iter().find(|known| known == declared);
        sql += &format!("{} {}, ", quoted(name), known.unwrap_or_default());
    }
    sql += &format!("{ARGUMENT} HIDDEN)");
    Ok(CString::new(sql).map_err(Error::new)?)
}

/// Whether the argument is given, and which columns to read.
fn plan(info: &mut IndexInfo, shared: &Shared) -> Result<bool> {
    let mut given = None;
    for (index, constraint) in info.constraints().enumerate() {
        let is_argument = usize::try_from(constraint.column()) == Ok(shared.columns.len());
        if is_argument && constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ {
            if !constraint.is_usable() {
                return Ok(false);
            }
            given = Some(index);
        }
    }
    if let Some(given) = given {
        let mut usage = info.constraint_usage(given);
        usage.set_argv_index(1);
        usage.set_omit(true);
    }
    let used = info.col_used();
    // The last bit means all further columns.
    info.set_idx_str(&shared.row_query(|column| used >> column.min(63) & 1 == 1));
    info.set_idx_num(c_int::from(given.is_some()));
    info.set_estimated_cost(100.0);
    info.set_estimated_rows(25);
    Ok(true)
}

#[repr(C)]
struct Cursor<'vtab> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    shared: Rc<Shared>,
    start: Value,
    ids: Vec<i64>,
    at: usize,
    /// The query for the row.
    query: String,
    row: Vec<Value>,
    phantom: PhantomData<&'vtab Table>,
}

impl Cursor<'_> {
    fn find(&mut self, args: &Filters<'_>) -> Result<()> {
        let relation = self.shared.relation;
        let name = relation.name();
        (self.at, self.ids) = (0, Vec::new());
        self.start = args.get(0).map_err(|_| {
            Error::new(format_args!("{name}(): argument 1 ({ARGUMENT}) must be UTF-8"))
        })?;
        let values = [ValueRef::from(&self.start)];
        let arguments = Arguments::new(name, &values[..]);
        if let Some(start) = arguments.integer(0, ARGUMENT)? {
            let found = self.shared.ask(|queries| relation.ids(queries, start))?;
            self.ids = found.ok_or_else(|| arguments.must_be(0, ARGUMENT, "the id of a slice"))?;
        }
        self.read()
    }

    /// Reads the columns of the current row.
    fn read(&mut self) -> Result<()> {
        self.row.clear();
        let Some(&id) = self.ids.get(self.at) else {
            return Ok(());
        };
        if self.query.is_empty() {
            return Ok(());
        }
        let (shared, row) = (&self.shared, &mut self.row);
        shared.ask(|queries| {
            queries.each(&self.query, &[ValueRef::Integer(id)], |read| {
                row.extend((0..shared.columns.len()).map(|index| owned(read.value(index))));
                Ok(ControlFlow::Break(()))
            })
        })?;
        Ok(())
    }

    fn set_column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        match self.shared.columns.get(column) {
            None => ctx.set_result(&self.start),
            Some(name) if name == "id" => ctx.set_result(self.ids.get(self.at)),
            Some(_) => ctx.set_result(self.row.get(column).unwrap_or(&Value::Null)),
        }
    }
}

/// A copy of a value. Invalid UTF-8 in a text is replaced.
fn owned(value: Option<ValueRef<'_>>) -> Value {
    match value {
        None | Some(ValueRef::Null) => Value::Null,
        Some(ValueRef::Integer(value)) => Value::Integer(value),
        Some(ValueRef::Real(value)) => Value::Real(value),
        Some(ValueRef::Text(text)) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        Some(ValueRef::Blob(bytes)) => Value::Blob(bytes.to_vec()),
    }
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, given: c_int, query: Option<&str>, args: &Filters<'_>) -> Result<()> {
        if given == 0 {
            let name = self.shared.relation.name();
            let message = format!("{name}() needs the argument ({ARGUMENT})");
            return Err(rusqlite::Error::ModuleError(message));
        }
        self.query = query.unwrap_or_default().to_owned();
        caught(|| self.find(args))
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        caught(|| self.read())
    }

    fn eof(&self) -> bool {
        self.at >= self.ids.len()
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        caught(|| self.set_column(ctx, column))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.at as i64)
    }
}
