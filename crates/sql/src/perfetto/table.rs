//! `CREATE PERFETTO TABLE` (PQ3): a temporary table with the rows of a SELECT.
//!
//! # Design
//!
//! A column has the type of its schema, otherwise of its values: SQLite uses no index of a column
//! without a type if the other side of a comparison has one. `CREATE TABLE AS` knows types of
//! columns alone, and `INSERT … SELECT` cannot tell types before the table exists. So the rows wait
//! (`waiting.rs`) until the SELECT has ended. Then the types are known, and the table is made once.
//!
//! The alternative was to make the table after the first rows, while the SELECT runs. That saves the
//! wait, but ends a SELECT with a subquery for each row.
//!
//! Indexes are partial (`WHERE column IS NOT NULL`): SQLite still uses one for any comparison with
//! the column, but never reads all rows in its order instead of the table's. Modules rely on the
//! order of rows (PQ10).

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

use super::dialect::Column;
use super::expand::Sql;
use super::held::Held;
use super::prepared::Prepared;
use super::types::{Type, told};
use super::waiting::Waiting;
use crate::error::{Error, Result};
use crate::query::quoted;
use crate::value::ValueRef;

/// Smaller tables have no indexes.
const INDEXED: i64 = 64;

/// The columns that joins use (PQ12).
const KEYS: [&str; 3] = ["id", "ts", "parent_id"];

/// The reason why older versions of SQLite cannot drop a table, and the remedy.
pub const WHILE_READ: &str = "while a statement of this connection runs; end that statement first (SELECT perfetto_sql('…') is one)";

/// A table that is being made.
pub struct NewTable<'c> {
    pub conn: &'c Connection,
    pub name: &'c str,
    pub schema: &'c [Column],
    pub select: &'c Sql,
    pub is_replacing: bool,
    /// Values of the SELECT's parameters, by their names without a sign.
    pub parameters: &'c [(String, Held)],
}

/// A column of a table that is being made.
struct NewColumn {
    name: String,
    /// By the schema.
    declared: Option<Type>,
    /// By the values so far; `None` if all are NULL.
    seen: Option<c_int>,
}

impl NewColumn {
    fn declared(&self) -> &'static str {
        match (self.declared, self.seen) {
            // As in trace processor, a real number makes all integers of a column real.
            (Some(declared), Some(ffi::SQLITE_FLOAT)) if is_integer(declared) => "REAL",
            (Some(declared), _) => declared.of_column(),
            (None, Some(ffi::SQLITE_INTEGER)) => "INTEGER",
            (None, Some(ffi::SQLITE_FLOAT)) => "REAL",
            (None, Some(ffi::SQLITE_TEXT)) => "TEXT",
            (None, _) => "BLOB",
        }
    }

    /// Takes note of a value's type.
    fn see(&mut self, code: c_int) {
        if self.declared.is_some_and(|declared| !is_integer(declared) || code != ffi::SQLITE_FLOAT)
        {
            return;
        }
        if code == ffi::SQLITE_NULL {
            return;
        }
        self.seen = Some(match self.seen {
            None => code,
            Some(before) if before == code => code,
            // Integers and real numbers together are real (PQ10).
            Some(ffi::SQLITE_INTEGER | ffi::SQLITE_FLOAT)
                if matches!(code, ffi::SQLITE_INTEGER | ffi::SQLITE_FLOAT) =>
            {
                ffi::SQLITE_FLOAT
            }
            Some(_) => ffi::SQLITE_BLOB,
        });
    }

    /// Whether the schema allows a value.
    fn takes(&self, code: c_int) -> bool {
        let is_number = code == ffi::SQLITE_INTEGER;
        match self.declared {
            None => true,
            Some(Type::Double) if is_number => true,
            Some(declared) if is_integer(declared) && code == ffi::SQLITE_FLOAT => true,
            Some(Type::Bytes) => true,
            Some(declared) => declared.takes(code),
        }
    }
}

fn is_integer(declared: Type) -> bool {
    declared.of_column() == "INTEGER"
}

/// Compares the names of a schema with those of a SELECT, in any order.
///
/// # Errors
///
/// If two columns have one name, or the schema has others. `what` names the object.
pub fn check_schema(what: &str, schema: &[Column], names: &[String], select: &Sql) -> Result<()> {
    let is = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    for (index, name) in names.iter().enumerate() {
        let rest = names.get(index.saturating_add(1)..).unwrap_or_default();
        if rest.iter().any(|other| is(other, name)) {
            let message = format!("{what}: two columns are called {name}; rename one with AS");
            return Err(select.explain(&message, None));
        }
    }
    if schema.is_empty() {
        return Ok(());
    }
    let missing: Vec<&str> = schema
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| !names.iter().any(|other| is(other, name)))
        .collect();
    let more: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !schema.iter().any(|column| is(&column.name, name)))
        .collect();
    let mut wrong = Vec::new();
    if !missing.is_empty() {
        wrong.push(format!(
            "the SELECT does not have the columns of the schema: {}",
            missing.join(", ")
        ));
    }
    if !more.is_empty() {
        wrong.push(format!(
            "the schema does not have the columns of the SELECT: {}",
            more.join(", ")
        ));
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(select.explain(&format!("{what}: {}", wrong.join("; ")), None)),
    }
}

impl NewTable<'_> {
    /// Makes the table. Whatever fails, the caller undoes.
    ///
    /// # Errors
    ///
    /// Those of the SELECT; if the schema has other columns or types; and if the table exists.
    pub fn make(&self) -> Result<()> {
        // SAFETY: the connection is open until the end of this function.
        let select = unsafe { Prepared::new(self.conn.handle(), &self.select.text, false) };
        let select = select.map_err(|failure| failure.explained(self.select))?;
        let Some(mut select) = select else {
            return Err(self.select.explain("there is no SELECT", None));
        };
        self.bind(&mut select)?;
        let names = select.column_names();
        check_schema(&self.what(), self.schema, &names, self.select)?;
        let is = |column: &&Column, name: &str| column.name.eq_ignore_ascii_case(name);
        let columns = names.into_iter().map(|name| NewColumn {
            declared: self
                .schema
                .iter()
                .find(|column| is(column, &name))
                .map(|column| column.declared),
            seen: None,
            name,
        });
        let columns: Vec<NewColumn> = columns.collect();
        let is_id = |column: &NewColumn| column.declared == Some(Type::Id);
        let mut layout = Layout { key: columns.iter().position(is_id), columns, last_key: None };
        let rows = self.read(&mut layout, &mut select)?;
        drop(select);
        // A table that is replaced may have been the source of the new one.
        if self.is_replacing && is_table(self.conn, self.name)? {
            let sql = format!("DROP TABLE temp.{}", quoted(self.name));
            let dropped = self.conn.execute_batch(&sql);
            dropped.map_err(|error| self.locked(error.into()))?;
        }
        self.write(&layout, rows)
    }

    fn bind(&self, select: &mut Prepared) -> Result<()> {
        for (parameter, place) in select.parameters().iter().zip(1..) {
            let parameter = parameter.as_deref().unwrap_or("?");
            let name = parameter.get(1..).unwrap_or_default();
            let Some((_, value)) = self.parameters.iter().find(|(known, _)| known == name) else {
                let message = format!("{}: {parameter} has no value", self.what());
                let offset = self.select.text.find(parameter);
                return Err(self.select.explain(&message, offset));
            };
            select.bind_ref(place, value.get())?;
        }
        Ok(())
    }

    fn what(&self) -> String {
        format!("CREATE PERFETTO TABLE {}", self.name)
    }

    /// Reads all rows of the SELECT, and the types of columns in them.
    fn read(&self, layout: &mut Layout, select: &mut Prepared) -> Result<Waiting> {
        let fail = |error: Error| match error.is_interrupt() {
            true => error,
            false => self.select.explain(error.message(), None),
        };
        let mut rows = Waiting::new(layout.columns.len());
        while select.step().map_err(fail)? {
            self.check(layout, select, rows.rows())?;
            layout.see(select);
            rows.push((0..layout.columns.len()).map(|index| select.value(index)))?;
        }
        Ok(rows)
    }

    /// Makes the table, and its indexes.
    fn write(&self, layout: &Layout, rows: Waiting) -> Result<()> {
        self.conn.execute_batch(&layout.create(self.name))?;
        let count = rows.rows();
        let has_number = layout.row_number().is_some();
        // SAFETY: the statement ends in this function, before the connection.
        let insert = unsafe { Prepared::new(self.conn.handle(), &layout.insert(self.name), true) };
        if let Some(mut insert) = insert.map_err(|failure| failure.error)? {
            let mut number = 0i64;
            rows.take(|row| {
                let number_of_row = has_number.then_some(ValueRef::Integer(number));
                number = number.saturating_add(1);
                for (place, value) in (1..).zip(row.iter().copied().chain(number_of_row)) {
                    insert.bind_ref(place, value)?;
                }
                insert.step()?;
                insert.reset();
                Ok(())
            })?;
        }
        match count < INDEXED {
            true => Ok(()),
            false => layout.index(self.conn, self.name),
        }
    }

    /// Compares the types of a row with the schema; `before` rows precede it.
    fn check(&self, layout: &Layout, select: &Prepared, before: i64) -> Result<()> {
        for (index, column) in layout.columns.iter().enumerate() {
            let code = select.column_type(index);
            if !column.takes(code) {
                let message = format!(
                    "{}: the column {} is {} by the schema, but row {} has {}",
                    self.what(),
                    column.name,
                    column.declared.map_or("", Type::name),
                    before.saturating_add(1),
                    told(code)
                );
                return Err(self.select.explain(&message, None));
            }
        }
        Ok(())
    }

    /// A table cannot be dropped while any statement of the connection reads.
    fn locked(&self, error: Error) -> Error {
        match error.message().contains("is locked") {
            false => error,
            true => self.select.explain(
                &format!(
                    "{}: the old table cannot be replaced {WHILE_READ}",
                    self.what().replacen("CREATE", "CREATE OR REPLACE", 1)
                ),
                None,
            ),
        }
    }
}

/// Whether the temp schema has a table or virtual table with this name.
pub fn is_table(conn: &Connection, name: &str) -> Result<bool> {
    Ok(kind(conn, name)?.is_some_and(|kind| kind == "table"))
}

/// The kind of an object in the temp schema.
pub fn kind(conn: &Connection, name: &str) -> Result<Option<String>> {
    let sql = "SELECT type FROM sqlite_temp_schema WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'view')";
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([name])?;
    Ok(match rows.next()? {
        Some(row) => Some(row.get(0)?),
        None => None,
    })
}

/// Whether the main database has a table or view with this name.
pub fn is_in_main(conn: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM main.sqlite_schema WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'view')";
    Ok(conn.prepare(sql)?.exists([name])?)
}

/// The columns of a table that is being made.
struct Layout {
    columns: Vec<NewColumn>,
    /// The column that is the table's primary key, while its values ascend.
    key: Option<usize>,
    last_key: Option<i64>,
}

impl Layout {
    /// Takes note of a row's types and key.
    #[inline]
    fn see(&mut self, select: &Prepared) {
        for (index, column) in self.columns.iter_mut().enumerate() {
            column.see(select.column_type(index));
        }
        if let Some(key) = self.key {
            let value = match select.value(key) {
                ValueRef::Integer(value) => Some(value),
                _ => None,
            };
            if value.is_none_or(|value| self.last_key.is_some_and(|last| value <= last)) {
                self.key = None;
            }
            self.last_key = value;
        }
    }

    /// The name of the row's number in SQL, which counts from 0. There is none if the key numbers
    /// rows, or if columns hide all names.
    fn row_number(&self) -> Option<&'static str> {
        let is_hidden =
            |name: &&str| self.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        ["rowid", "_rowid_", "oid"].into_iter().find(|name| self.key.is_none() && !is_hidden(name))
    }

    fn create(&self, table: &str) -> String {
        let columns = self.columns.iter().enumerate().map(|(index, column)| {
            let key = match self.key == Some(index) {
                true => " PRIMARY KEY",
                false => "",
            };
            format!("{} {}{key}", quoted(&column.name), column.declared())
        });
        let columns: Vec<String> = columns.collect();
        format!("CREATE TABLE temp.{} ({})", quoted(table), columns.join(", "))
    }

    /// The statement that inserts a row: the values of all columns, and the row's number if it has
    /// a name.
    fn insert(&self, table: &str) -> String {
        let names = self.columns.iter().map(|column| quoted(&column.name));
        let names: Vec<String> = names.chain(self.row_number().map(str::to_owned)).collect();
        let places: Vec<String> = (1..=names.len()).map(|place| format!("?{place}")).collect();
        format!(
            "INSERT INTO temp.{} ({}) VALUES ({})",
            quoted(table),
            names.join(", "),
            places.join(", ")
        )
    }

    fn index(&self, conn: &Connection, table: &str) -> Result<()> {
        for (index, column) in self.columns.iter().enumerate() {
            let is_key = KEYS.iter().any(|key| column.name.eq_ignore_ascii_case(key));
            if is_key && self.key != Some(index) {
                let name = format!("{table} ({})", column.name);
                make_index(conn, &name, table, &[&column.name])?;
            }
        }
        Ok(())
    }
}

/// Makes an index that does not change the order in which all rows are read.
///
/// # Errors
///
/// If a column is missing, or there is such an index.
pub fn make_index(conn: &Connection, name: &str, table: &str, columns: &[&str]) -> Result<()> {
    let Some(first) = columns.first() else {
        return Err(Error::new(format_args!("the index {name} has no column")));
    };
    let names: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    let sql = format!(
        "CREATE INDEX temp.{} ON {} ({}) WHERE {} IS NOT NULL",
        quoted(name),
        quoted(table),
        names.join(", "),
        quoted(first)
    );
    Ok(conn.execute_batch(&sql)?)
}
