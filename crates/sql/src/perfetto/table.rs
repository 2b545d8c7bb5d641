//! `CREATE PERFETTO TABLE` (PQ3): a temporary table with the rows of a SELECT.
//!
//! # Design
//!
//! A column has the type of its schema, otherwise of its values: SQLite uses no index of a column
//! without a type if the other side of a comparison has one. `CREATE TABLE AS` knows types of
//! columns alone, and `INSERT … SELECT` cannot tell types before the table exists. So rows are
//! copied one by one. The first ones wait until types are known; if a later one contradicts, the
//! table is made anew, which is rare.
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
use crate::error::{Error, Result};
use crate::query::quoted;
use crate::value::ValueRef;

/// The rows that wait for the types of columns.
const WAITING: usize = 16_384;

/// The bytes of texts and blobs in them.
const WAITING_BYTES: usize = 16 << 20;

/// Smaller tables have no indexes.
const INDEXED: i64 = 64;

/// The columns that joins use (PQ12).
const KEYS: [&str; 3] = ["id", "ts", "parent_id"];

/// Why a table cannot be dropped in older versions of SQLite, and what to do.
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
struct Made {
    name: String,
    /// By the schema.
    declared: Option<Type>,
    /// By the values so far; `None` if all are NULL.
    seen: Option<c_int>,
}

impl Made {
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

    /// Takes note of a value. Says whether the type is another one now.
    fn see(&mut self, code: c_int) -> bool {
        if let Some(declared) = self.declared {
            let is_real = is_integer(declared) && code == ffi::SQLITE_FLOAT;
            return is_real && self.seen.replace(code) != Some(code);
        }
        if code == ffi::SQLITE_NULL {
            return false;
        }
        let now = match self.seen {
            None => code,
            Some(before) if before == code => code,
            // Integers and real numbers together are real (PQ10).
            Some(ffi::SQLITE_INTEGER | ffi::SQLITE_FLOAT)
                if matches!(code, ffi::SQLITE_INTEGER | ffi::SQLITE_FLOAT) =>
            {
                ffi::SQLITE_FLOAT
            }
            Some(_) => ffi::SQLITE_BLOB,
        };
        self.seen.replace(now) != Some(now)
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
        let columns = names.into_iter().map(|name| Made {
            declared: self
                .schema
                .iter()
                .find(|column| is(column, &name))
                .map(|column| column.declared),
            seen: None,
            name,
        });
        let columns: Vec<Made> = columns.collect();
        let is_id = |column: &Made| column.declared == Some(Type::Id);
        let mut copy = Copy {
            conn: self.conn,
            // A table that is replaced may be the source of the new one.
            name: match self.is_replacing && is_table(self.conn, self.name)? {
                true => format!("{} (new)", self.name),
                false => self.name.to_owned(),
            },
            key: columns.iter().position(is_id),
            columns,
            last_key: None,
            rows: 0,
            number: None,
            insert: None,
            old: Vec::new(),
        };
        self.fill(&mut copy, &mut select)?;
        drop(select);
        if copy.name != self.name {
            copy.rename(self.name).map_err(|error| self.locked(error))?;
        }
        copy.index()
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

    fn fill(&self, copy: &mut Copy<'_>, select: &mut Prepared) -> Result<()> {
        let fail = |error: Error| match error.is_interrupt() {
            true => error,
            false => self.select.explain(error.message(), None),
        };
        let mut waiting: Vec<Vec<Held>> = Vec::new();
        let mut is_row = select.step().map_err(fail)?;
        let mut bytes = 0usize;
        while is_row && waiting.len() < WAITING && bytes < WAITING_BYTES {
            self.check(copy, select, waiting.len() as i64)?;
            copy.see(select);
            let row = (0..copy.columns.len()).map(|index| {
                let value = select.value(index);
                if let ValueRef::Text(content) | ValueRef::Blob(content) = value {
                    bytes = bytes.saturating_add(content.len());
                }
                Held::of(value)
            });
            waiting.push(row.collect());
            is_row = select.step().map_err(fail)?;
        }
        copy.create()?;
        for row in &waiting {
            let values: Vec<ValueRef<'_>> = row.iter().map(Held::get).collect();
            copy.insert(&values)?;
        }
        drop(waiting);
        while is_row {
            self.check(copy, select, copy.rows)?;
            if copy.see(select) {
                copy.renew()?;
            }
            copy.insert_row(select)?;
            is_row = select.step().map_err(fail)?;
        }
        copy.insert = None;
        Ok(())
    }

    /// Compares the types of a row with the schema; `before` rows precede it.
    fn check(&self, copy: &Copy<'_>, select: &Prepared, before: i64) -> Result<()> {
        for (index, column) in copy.columns.iter().enumerate() {
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

/// The rows on their way into a table.
struct Copy<'c> {
    conn: &'c Connection,
    name: String,
    columns: Vec<Made>,
    /// The column that is the table's primary key, while its values ascend.
    key: Option<usize>,
    last_key: Option<i64>,
    rows: i64,
    /// The name of the row's number in SQL, which counts from 0; `None` if the key numbers rows, or
    /// columns hide all names.
    number: Option<&'static str>,
    insert: Option<Prepared>,
    /// Tables that this one follows.
    old: Vec<String>,
}

impl Copy<'_> {
    fn table(&self) -> String {
        format!("temp.{}", quoted(&self.name))
    }

    /// Takes note of the row's types. Says whether the table has to be another one.
    fn see(&mut self, select: &Prepared) -> bool {
        let mut is_new = false;
        for (index, column) in self.columns.iter_mut().enumerate() {
            is_new |= column.see(select.column_type(index));
        }
        if let Some(key) = self.key {
            is_new |= self.follow_key(match select.value(key) {
                ValueRef::Integer(value) => Some(value),
                _ => None,
            });
        }
        is_new
    }

    /// Takes note of a key. If it does not ascend, the table has none, and this is true.
    fn follow_key(&mut self, value: Option<i64>) -> bool {
        let ascends = value.is_some_and(|value| self.last_key.is_none_or(|last| last < value));
        self.last_key = value;
        if !ascends {
            self.key = None;
        }
        !ascends
    }

    fn create(&mut self) -> Result<()> {
        self.number = self.row_number();
        let columns = self.columns.iter().enumerate().map(|(index, column)| {
            let key = match self.key == Some(index) {
                true => " PRIMARY KEY",
                false => "",
            };
            format!("{} {}{key}", quoted(&column.name), column.declared())
        });
        let columns: Vec<String> = columns.collect();
        let sql = format!("CREATE TABLE {} ({})", self.table(), columns.join(", "));
        self.conn.execute_batch(&sql)?;
        self.prepare_insert()
    }

    /// The name of the row's number that no column hides.
    fn row_number(&self) -> Option<&'static str> {
        let is_hidden = |name: &&str| {
            self.columns
                .iter()
                .any(|column| column.name.eq_ignore_ascii_case(name))
        };
        ["rowid", "_rowid_", "oid"]
            .into_iter()
            .find(|name| self.key.is_none() && !is_hidden(name))
    }

    fn prepare_insert(&mut self) -> Result<()> {
        let names = self.columns.iter().map(|column| quoted(&column.name));
        let mut names: Vec<String> = names.collect();
        let mut places: Vec<String> = (1..=names.len()).map(|place| format!("?{place}")).collect();
        if let Some(number) = self.number {
            places.push(format!("?{}", places.len().saturating_add(1)));
            names.push(number.to_owned());
        }
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.table(),
            names.join(", "),
            places.join(", ")
        );
        // SAFETY: the statement ends in `NewTable::make`, before the connection.
        let insert = unsafe { Prepared::new(self.conn.handle(), &sql, true) };
        self.insert = insert.map_err(|failure| failure.error)?;
        Ok(())
    }

    fn insert(&mut self, row: &[ValueRef<'_>]) -> Result<()> {
        if let Some(insert) = &mut self.insert {
            for (place, value) in (1..).zip(row) {
                insert.bind_ref(place, *value)?;
            }
        }
        self.finish_row()
    }

    #[inline]
    fn insert_row(&mut self, select: &Prepared) -> Result<()> {
        if let Some(insert) = &mut self.insert {
            for (index, place) in (0..self.columns.len()).zip(1..) {
                // SAFETY: the value belongs to the SELECT, which stays at its row.
                unsafe { insert.bind(place, select.column(index)) }?;
            }
        }
        self.finish_row()
    }

    fn finish_row(&mut self) -> Result<()> {
        let has_number = self.number.is_some();
        if let Some(insert) = &mut self.insert {
            if has_number {
                let place = c_int::try_from(self.columns.len()).unwrap_or(c_int::MAX);
                insert.bind_ref(place.saturating_add(1), ValueRef::Integer(self.rows))?;
            }
            insert.step()?;
            insert.reset();
        }
        self.rows = self.rows.saturating_add(1);
        Ok(())
    }

    /// Goes on with another table, with other types or without a key. The old one cannot be dropped
    /// while the SELECT runs.
    fn renew(&mut self) -> Result<()> {
        let name = format!("{} (next)", self.name);
        let old = std::mem::replace(&mut self.name, name);
        self.create()?;
        self.take_rows(&old)?;
        self.old.push(old);
        Ok(())
    }

    /// Copies the rows of another table with the same columns.
    fn take_rows(&self, from: &str) -> Result<()> {
        let names = self.columns.iter().map(|column| quoted(&column.name));
        let names: Vec<String> = names.collect();
        let names = names.join(", ");
        let from = quoted(from);
        let number = self.number.map(|number| format!(", {number}"));
        let number = number.unwrap_or_default();
        // A key's values are in order, so they number the rows from 0.
        let numbered = match number.is_empty() {
            true => String::new(),
            false => ", row_number() OVER (ORDER BY rowid) - 1".to_owned(),
        };
        let sql = format!(
            "INSERT INTO {} ({names}{number}) SELECT {names}{numbered} FROM temp.{from} ORDER BY rowid",
            self.table()
        );
        Ok(self.conn.execute_batch(&sql)?)
    }

    /// Gives the rows to a table with the final name, after the SELECT.
    fn rename(&mut self, name: &str) -> Result<()> {
        self.old.push(name.to_owned());
        for old in std::mem::take(&mut self.old) {
            self.drop_table(&old)?;
        }
        let made = std::mem::replace(&mut self.name, name.to_owned());
        self.create()?;
        self.insert = None;
        self.take_rows(&made)?;
        self.drop_table(&made)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        let sql = format!("DROP TABLE IF EXISTS temp.{}", quoted(name));
        Ok(self.conn.execute_batch(&sql)?)
    }

    fn index(&self) -> Result<()> {
        if self.rows < INDEXED {
            return Ok(());
        }
        for (index, column) in self.columns.iter().enumerate() {
            let is_key = KEYS.iter().any(|key| column.name.eq_ignore_ascii_case(key));
            if is_key && self.key != Some(index) {
                let name = format!("{} ({})", self.name, column.name);
                make_index(self.conn, &name, &self.name, &[&column.name])?;
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
