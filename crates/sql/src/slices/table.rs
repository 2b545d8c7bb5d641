//! The table-valued functions: the results of `walk.rs`, as rows.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::c_int;
use std::ops::ControlFlow;

use rusqlite::types::{Value, ValueRef};
use rusqlite::vtab::{Context, Filters, IndexConstraintOp, IndexInfo};
use rusqlite::{Connection, Result};

use crate::module::{self, Connecting, VirtualTable};
use crate::query::quoted;
use crate::{Arguments, Error, Queries, Values};

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
    module::register_function::<Table>(conn, relation.name(), Some(relation))
}

/// Registers the functions under another name, for `CREATE VIRTUAL TABLE … USING name(function,
/// column, …)`: a function with these columns only.
pub fn register_narrow(conn: &Connection, name: &str) -> Result<()> {
    module::register_table::<Table>(conn, name, None)
}

/// The function and the columns that a `CREATE VIRTUAL TABLE` names.
fn narrow(args: &[&[u8]]) -> Option<(Relation, Vec<String>)> {
    let mut names = args.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned());
    let function = names.next()?;
    let relation = Relation::ALL.into_iter().find(|relation| relation.name() == function)?;
    Some((relation, names.collect()))
}

/// A function on one connection, which one thread uses at a time.
struct Table {
    relation: Relation,
    columns: Vec<String>,
    queries: RefCell<Queries>,
}

impl Table {
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

impl VirtualTable for Table {
    type Aux = Relation;
    type Cursor = Cursor;

    fn connect(call: &Connecting<'_, Relation>) -> Result<(String, Table)> {
        let narrow = narrow(call.args);
        let named = narrow.as_ref().map(|(relation, _)| *relation);
        let relation = named.or(call.aux.copied()).unwrap_or(Relation::Ancestors);
        // SAFETY: a virtual table never outlives its connection, and only calls of that connection
        // run its queries.
        let mut queries = unsafe { Queries::new(call.conn) };
        let mut columns =
            columns(&mut queries, relation).map_err(|error| relation.explain(&error))?;
        if let Some((_, kept)) = &narrow {
            columns.retain(|(name, _)| kept.contains(name));
        }
        let declaration = declaration(&columns);
        let columns = columns.into_iter().map(|(name, _)| name).collect();
        Ok((declaration, Table { relation, columns, queries: RefCell::new(queries) }))
    }

    fn plan(&self, info: &mut IndexInfo) -> Result<bool> {
        plan(info, self)
    }

    fn open(&self) -> Cursor {
        let (ids, query, row) = (Vec::new(), String::new(), Vec::new());
        Cursor { start: Value::Null, ids, query, row }
    }

    fn begin(
        &self,
        cursor: &mut Cursor,
        given: c_int,
        query: &str,
        args: &Filters<'_>,
    ) -> Result<()> {
        let name = self.relation.name();
        if given == 0 {
            let message = format!("{name}() needs the argument ({ARGUMENT})");
            return Err(rusqlite::Error::ModuleError(message));
        }
        cursor.query.clear();
        cursor.query.push_str(query);
        cursor.ids.clear();
        cursor.start = args.get(0).map_err(|_| {
            Error::new(format_args!("{name}(): argument 1 ({ARGUMENT}) must be UTF-8"))
        })?;
        let values = [ValueRef::from(&cursor.start)];
        let arguments = Arguments::new(name, &values[..]);
        if let Some(start) = arguments.integer(0, ARGUMENT)? {
            let found = self.ask(|queries| self.relation.ids(queries, start))?;
            cursor.ids =
                found.ok_or_else(|| arguments.must_be(0, ARGUMENT, "the id of a slice"))?;
        }
        self.next(cursor, 0)
    }

    /// Reads the columns of the row.
    fn next(&self, cursor: &mut Cursor, at: usize) -> Result<()> {
        let Cursor { ids, query, row, .. } = cursor;
        row.clear();
        let Some(&id) = ids.get(at).filter(|_| !query.is_empty()) else {
            return Ok(());
        };
        self.ask(|queries| {
            queries.each(query, &[ValueRef::Integer(id)], |read| {
                row.extend((0..self.columns.len()).map(|index| owned(read.value(index))));
                Ok(ControlFlow::Break(()))
            })
        })?;
        Ok(())
    }

    fn is_end(&self, cursor: &Cursor, at: usize) -> bool {
        at >= cursor.ids.len()
    }

    fn column(&self, cursor: &Cursor, at: usize, column: usize, ctx: &mut Context) -> Result<()> {
        match self.columns.get(column) {
            None => ctx.set_result(&cursor.start),
            Some(name) if name == "id" => ctx.set_result(cursor.ids.get(at)),
            Some(_) => ctx.set_result(cursor.row.get(column).unwrap_or(&Value::Null)),
        }
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

fn declaration(columns: &[(String, String)]) -> String {
    let mut sql = String::from("CREATE TABLE x (");
    for (name, declared) in columns {
        let affinity = ["INTEGER", "REAL", "TEXT"];
        let known = affinity.into_iter().find(|known| known == declared);
        sql += &format!("{} {}, ", quoted(name), known.unwrap_or_default());
    }
    sql += &format!("{ARGUMENT} HIDDEN)");
    sql
}

/// Whether the argument is given, and which columns to read.
fn plan(info: &mut IndexInfo, table: &Table) -> Result<bool> {
    let mut given = None;
    for (index, constraint) in info.constraints().enumerate() {
        let is_argument = usize::try_from(constraint.column()) == Ok(table.columns.len());
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
    info.set_idx_str(&table.row_query(|column| used >> column.min(63) & 1 == 1));
    info.set_idx_num(c_int::from(given.is_some()));
    info.set_estimated_cost(100.0);
    info.set_estimated_rows(25);
    Ok(true)
}

struct Cursor {
    start: Value,
    ids: Vec<i64>,
    /// The query for the row.
    query: String,
    row: Vec<Value>,
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
