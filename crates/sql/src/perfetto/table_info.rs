//! `perfetto_table_info(table)`: how trace processor stores the columns of a table.
//!
//! # Design
//!
//! The facts about a table of `CREATE PERFETTO TABLE` are computed from its values, because this SQLite stores them in
//! another way. Those about trace processor's own tables do not depend on the trace, and stand in `stored.txt`. The
//! alternative, to compute these as well, would be wrong for every column that has no NULL in this trace.

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use super::pool::locked;
use super::prepared::Prepared;
use super::state::Shared;
use super::table::is_table;
use crate::query::quoted;
use crate::table_function::{self, TableFunction};
use crate::{Arguments, Result, ValueRef};

/// Trace processor's own tables.
const STORED: &str = include_str!("stored.txt");

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_function::register::<TableInfo>(conn)
}

struct TableInfo(*mut ffi::sqlite3);

/// A column of a table.
#[derive(Debug, PartialEq, Eq)]
struct Column {
    id: i64,
    table: String,
    name: String,
    kind: &'static str,
    nullable: i64,
    sorted: i64,
}

impl TableFunction for TableInfo {
    const NAME: &'static str = "perfetto_table_info";
    const COLUMNS: &'static [&'static str] =
        &["id", "table_name", "name", "col_type", "nullable", "sorted"];
    // The column has a name that no argument takes.
    const ARGUMENTS: &'static [&'static str] = &["_in_table_name"];
    const ESTIMATE: Option<(f64, i64)> = None;
    const TEXTS: &'static [&'static str] = &["table_name", "name", "col_type"];
    type Row = Column;

    unsafe fn new(conn: *mut ffi::sqlite3) -> TableInfo {
        TableInfo(conn)
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Column>> {
        let table = table_function::argument::<Self>(args, 0)?;
        let values = [ValueRef::from(&table)];
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let Some(table) = arguments.text(0, "table")? else {
            return Err(arguments.must_be(0, "table", "a text"));
        };
        // SAFETY: the connection is open while its cursor is.
        let conn = unsafe { Connection::from_handle(self.0) }?;
        let is_made =
            locked(&Shared::of(&conn)?.state).tables.contains(&table.to_ascii_lowercase());
        if is_made && is_table(&conn, table)? {
            return of_values(&conn, table);
        }
        stored(table).ok_or_else(|| {
            let what = "is no table of CREATE PERFETTO TABLE, and none of trace processor's own that timebase knows";
            arguments.wrong(0, "table", format_args!("{what}: {table}"))
        })
    }

    fn column(row: &Column, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.id),
            4 => Some(row.nullable),
            5 => Some(row.sorted),
            _ => None,
        }
    }

    fn text(row: &Column, column: usize) -> Option<&str> {
        match column {
            1 => Some(&row.table),
            2 => Some(&row.name),
            3 => Some(row.kind),
            _ => None,
        }
    }
}

/// The columns of one of trace processor's own tables.
fn stored(table: &str) -> Option<Vec<Column>> {
    let columns = STORED.lines().find_map(|line| {
        let (name, columns) = line.split_once(": ")?;
        (name == table).then_some(columns)
    })?;
    let column = |(id, column): (i64, &'static str)| {
        let mut words = column.trim().split(' ');
        let (name, kind) = (words.next()?, words.next()?);
        let mut number = || words.next()?.parse().ok();
        Some(Column {
            id,
            table: table.to_owned(),
            name: name.to_owned(),
            kind,
            nullable: number()?,
            sorted: number()?,
        })
    };
    (0..).zip(columns.split(',')).map(column).collect()
}

/// The columns of a table by its values.
fn of_values(conn: &Connection, table: &str) -> Result<Vec<Column>> {
    let sql = format!("SELECT * FROM temp.{} ORDER BY rowid", quoted(table));
    // SAFETY: the statement ends in this function, before the connection.
    let select = unsafe { Prepared::new(conn.handle(), &sql, false) };
    let Some(mut select) = select.map_err(|failure| failure.error)? else {
        return Ok(Vec::new());
    };
    let names = select.column_names();
    let declared = declared(conn, table)?;
    let mut seen: Vec<Seen> = names.iter().map(|_| Seen::default()).collect();
    while select.step()? {
        for (index, seen) in seen.iter_mut().enumerate() {
            seen.see(select.value(index));
        }
    }
    let columns = (0..).zip(names).zip(&seen).map(|((id, name), seen)| {
        let declared = declared.iter().find(|(known, _)| *known == name);
        let kind = seen.kind(declared.map(|(_, declared)| declared.as_str()));
        Column {
            id,
            table: table.to_owned(),
            nullable: i64::from(seen.has_null),
            sorted: seen.sorted(kind),
            kind,
            name,
        }
    });
    let mut columns: Vec<Column> = columns.collect();
    columns.push(Column {
        id: i64::try_from(columns.len()).unwrap_or(i64::MAX),
        table: table.to_owned(),
        name: "_auto_id".to_owned(),
        kind: "id",
        nullable: 0,
        sorted: 0,
    });
    Ok(columns)
}

/// The types with which SQLite declared the columns of a temporary table.
fn declared(conn: &Connection, table: &str) -> Result<Vec<(String, String)>> {
    let mut statement = conn.prepare("SELECT name, type FROM pragma_table_info(?1, 'temp')")?;
    let found = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// A value that is compared with the next one.
#[derive(Debug, Clone, PartialEq)]
enum Last {
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
}

/// The facts about a column from its values so far.
#[derive(Debug)]
struct Seen {
    rows: i64,
    has_null: bool,
    has_real: bool,
    has_text: bool,
    least: i64,
    most: i64,
    /// Whether each value is the number of its row; or that, or the value before.
    are_numbers: bool,
    are_numbers_or_same: bool,
    ascends: bool,
    last: Option<Last>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen {
            rows: 0,
            has_null: false,
            has_real: false,
            has_text: false,
            least: i64::MAX,
            most: i64::MIN,
            are_numbers: true,
            are_numbers_or_same: true,
            ascends: true,
            last: None,
        }
    }
}

impl Seen {
    fn see(&mut self, value: ValueRef<'_>) {
        let row = self.rows;
        self.rows = self.rows.saturating_add(1);
        let value = match value {
            ValueRef::Null => {
                self.has_null = true;
                return;
            }
            ValueRef::Integer(value) => {
                (self.least, self.most) = (self.least.min(value), self.most.max(value));
                Last::Integer(value)
            }
            ValueRef::Real(value) => {
                self.has_real = true;
                Last::Real(value)
            }
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                self.has_text = true;
                Last::Text(text.to_vec())
            }
        };
        let is_number = value == Last::Integer(row);
        let is_same = self.last.as_ref() == Some(&value);
        self.are_numbers &= is_number;
        self.are_numbers_or_same &= is_number || is_same;
        self.ascends &= self.last.as_ref().is_none_or(|last| is_before(last, &value));
        self.last = Some(value);
    }

    /// The narrowest type of trace processor's that fits, unless all values are NULL.
    fn kind(&self, declared: Option<&str>) -> &'static str {
        let fits = |from: i64, to: i64| from <= self.least && self.most <= to;
        match self.last {
            None => match declared {
                Some("TEXT") => "string",
                Some("REAL") => "double",
                _ => "uint32",
            },
            Some(_) if self.has_text => "string",
            Some(_) if self.has_real => "double",
            Some(_) if self.are_numbers && !self.has_null => "id",
            Some(_) if fits(0, u32::MAX.into()) => "uint32",
            Some(_) if fits(i32::MIN.into(), i32::MAX.into()) => "int32",
            Some(_) => "int64",
        }
    }

    fn sorted(&self, kind: &str) -> i64 {
        match kind {
            "id" => 0,
            _ if self.last.is_none() || self.has_null || !self.ascends => 3,
            "uint32" if self.are_numbers_or_same => 1,
            _ => 2,
        }
    }
}

/// Whether a value may come before another one in ascending order.
fn is_before(one: &Last, other: &Last) -> bool {
    match (one, other) {
        (Last::Integer(one), Last::Integer(other)) => one <= other,
        (Last::Real(one), Last::Real(other)) => one <= other,
        (Last::Integer(one), Last::Real(other)) => *one as f64 <= *other,
        (Last::Real(one), Last::Integer(other)) => *one <= *other as f64,
        (Last::Text(one), Last::Text(other)) => one <= other,
        _ => false,
    }
}

#[cfg(test)]
#[path = "table_info/tests.rs"]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
