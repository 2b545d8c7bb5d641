//! The result of any statement as one file.

use std::ffi::CStr;
use std::io::Write;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement, ffi};

use crate::chunk::{Chunk, Misfit, Values};
use crate::columns::{Column, Type};
use crate::error::Error;
use crate::file::{Compression, Contents, ParquetFile};
use crate::prepared::Prepared;

/// The name of a result in errors.
const RESULT: &str = "the result";

const ADVICE: &str =
    "; a column of Parquet has one type, which CAST(... AS INTEGER), REAL, TEXT or BLOB gives it";

/// Up to this integer, every integer is also a real number.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// The types of a statement's columns, as tables declare them; `None` for computed columns.
///
/// # Errors
///
/// If the text is not a statement.
///
/// ```
/// # let database = rusqlite::Connection::open_in_memory()?;
/// database.execute_batch("CREATE TABLE event (ts INTEGER, name TEXT)")?;
/// let types = timebase_export::declared_types(&database, "SELECT name, ts + 1 FROM event")?;
/// assert_eq!(types, [Some(timebase_export::Type::String), None]);
/// # Ok::<(), rusqlite::Error>(())
/// ```
pub fn declared_types(database: &Connection, sql: &str) -> rusqlite::Result<Vec<Option<Type>>> {
    // rusqlite returns them too, but panics if a made-up schema has a type that is not UTF-8.
    let prepared = Prepared::of(database, sql)?;
    let statement = prepared.raw();
    // SAFETY: the statement was prepared, or is null, for which SQLite returns no columns.
    let count = unsafe { ffi::sqlite3_column_count(statement) };
    let types = (0..count).map(|index| {
        // SAFETY: the statement has this column; the text is valid until the statement is
        // finalized, and is used before.
        let declared = unsafe { ffi::sqlite3_column_decltype(statement, index) };
        if declared.is_null() {
            return None;
        }
        // SAFETY: it is not null, and ends with a zero.
        let declared = unsafe { CStr::from_ptr(declared) };
        declared.to_str().ok().and_then(Type::declared)
    });
    Ok(types.collect())
}

/// Writes the rows of a statement with bound parameters as Parquet, and returns their number.
///
/// A column has the type in `declared`. Without one, it has the type of its values in the first row
/// group; integers among real numbers become real if that loses nothing.
///
/// # Errors
///
/// [`Error::Misfit`] names the first value that does not have the type of its column.
///
/// ```
/// # let database = rusqlite::Connection::open_in_memory()?;
/// use timebase_export::{declared_types, write_result};
/// let sql = "SELECT 1 AS id, 'a' AS name";
/// let mut statement = database.prepare(sql)?;
/// let types = declared_types(&database, sql)?;
/// let mut file = Vec::new();
/// let rows = write_result(&mut statement, &types, &mut file)?;
/// assert_eq!((rows, &file[..4]), (1, &b"PAR1"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_result(
    statement: &mut Statement<'_>,
    declared: &[Option<Type>],
    out: &mut dyn Write,
) -> Result<u64, Error> {
    let mut columns = Columns::of(statement, declared).map_err(unreadable)?;
    let mut rows = statement.raw_query();
    let mut before = 0;
    let mut chunk = Chunk::new(&columns.columns, before);
    let mut is_over = false;
    while !is_over && !chunk.is_full() {
        match rows.next().map_err(unreadable)? {
            Some(row) => {
                columns.learn(&mut chunk, |index| row.get_ref(index)).map_err(unreadable)?;
                columns.push(&mut chunk, |index| row.get_ref(index))?;
            }
            None => is_over = true,
        }
    }
    let known = columns.columns.clone();
    let contents = Contents {
        table: RESULT,
        columns: &known,
        labels: &[],
        compression: Compression::default(),
        path: RESULT.into(),
        advice: ADVICE,
    };
    let mut file = ParquetFile::new(contents, Vec::new())?;
    loop {
        before += chunk.rows as u64;
        if chunk.rows > 0 {
            file.write(std::mem::replace(&mut chunk, Chunk::new(&known, before)))?;
            file.hand_over(out)?;
        }
        if is_over {
            break;
        }
        while !is_over && !chunk.is_full() {
            match rows.next().map_err(unreadable)? {
                Some(row) => columns.push(&mut chunk, |index| row.get_ref(index))?,
                None => is_over = true,
            }
        }
    }
    file.finish()?;
    file.hand_over(out)?;
    Ok(before)
}

fn unreadable(error: rusqlite::Error) -> Error {
    Error::Unreadable { table: RESULT.to_owned(), error }
}

/// The columns of a result.
struct Columns {
    columns: Vec<Column>,
    /// Whether the type comes from values, and whether there was a value.
    learned: Vec<Learned>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Learned {
    /// A table declares it.
    Declared,
    /// All values were NULL.
    Nothing,
    Something,
}

impl Columns {
    fn of(statement: &Statement<'_>, declared: &[Option<Type>]) -> rusqlite::Result<Columns> {
        let mut columns: Vec<Column> = Vec::new();
        let mut learned = Vec::new();
        for index in 0..statement.column_count() {
            let given = statement.column_name(index)?;
            let mut name = given.to_owned();
            let mut number = 0;
            while columns.iter().any(|other| other.name == name) {
                number += 1;
                name = format!("{given}:{number}");
            }
            let declared = declared.get(index).copied().flatten();
            learned.push(match declared {
                Some(_) => Learned::Declared,
                None => Learned::Nothing,
            });
            columns.push(Column {
                name,
                // For a column without values.
                kind: declared.unwrap_or(Type::String),
                is_nullable: true,
            });
        }
        Ok(Columns { columns, learned })
    }

    /// Takes types from the values of a row that is not yet in the chunk.
    fn learn<'a>(
        &mut self,
        chunk: &mut Chunk,
        mut value: impl FnMut(usize) -> rusqlite::Result<ValueRef<'a>>,
    ) -> rusqlite::Result<()> {
        let columns = self.columns.iter_mut().zip(&mut self.learned);
        for (index, (column, learned)) in columns.enumerate() {
            if *learned == Learned::Declared {
                continue;
            }
            let Some(part) = chunk.parts.get_mut(index) else {
                continue;
            };
            let (kind, values) = match (value(index)?, &part.values) {
                (ValueRef::Null, _) => continue,
                (ValueRef::Integer(_), _) if *learned == Learned::Nothing => {
                    (Type::Int64, Values::Int64(Vec::new()))
                }
                (ValueRef::Real(_), Values::Int64(integers)) => {
                    let Some(reals) = integers.iter().map(|n| exactly(*n)).collect() else {
                        continue;
                    };
                    (Type::Double, Values::Double(reals))
                }
                (ValueRef::Real(_), _) if *learned == Learned::Nothing => {
                    (Type::Double, Values::Double(Vec::new()))
                }
                (ValueRef::Text(_), _) if *learned == Learned::Nothing => {
                    (Type::String, Values::texts())
                }
                (ValueRef::Blob(_), _) if *learned == Learned::Nothing => {
                    (Type::Binary, Values::texts())
                }
                _ => continue,
            };
            (column.kind, part.values, *learned) = (kind, values, Learned::Something);
        }
        Ok(())
    }

    fn push<'a>(
        &self,
        chunk: &mut Chunk,
        mut value: impl FnMut(usize) -> rusqlite::Result<ValueRef<'a>>,
    ) -> Result<(), Error> {
        let as_column = |index: usize| {
            let value = value(index)?;
            let is_real = self.columns.get(index).is_some_and(|c| c.kind == Type::Double);
            Ok(match value {
                ValueRef::Integer(number) if is_real => {
                    exactly(number).map_or(value, ValueRef::Real)
                }
                value => value,
            })
        };
        let row = chunk.before + chunk.rows as u64 + 1;
        let pushed = chunk.push(&self.columns, as_column).map_err(unreadable)?;
        pushed.map_err(|Misfit { column, found }| {
            let column = self.columns.get(column);
            Error::Misfit {
                table: RESULT.to_owned(),
                column: column.map_or_else(String::new, |column| column.name.clone()),
                row,
                found,
                expected: column.map_or("", |column| column.kind.name()),
                advice: ADVICE.to_owned(),
            }
        })
    }
}

/// The real number that equals this integer and no other integer, if there is one.
fn exactly(number: i64) -> Option<f64> {
    (number.unsigned_abs() <= EXACT).then_some(number as f64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(sql: &str) -> Result<u64, String> {
        let database = Connection::open_in_memory().unwrap();
        database
            .execute_batch("CREATE TABLE event (ts INTEGER, value REAL, name TEXT, data BLOB)")
            .unwrap();
        let mut statement = database.prepare(sql).unwrap();
        let types = declared_types(&database, sql).unwrap();
        let mut out = Vec::new();
        write_result(&mut statement, &types, &mut out).map_err(|error| error.to_string())
    }

    #[test]
    fn a_column_is_of_one_type() {
        assert_eq!(written("SELECT 1 AS a UNION ALL SELECT NULL UNION ALL SELECT 2.5"), Ok(3));
        assert_eq!(written("SELECT * FROM event"), Ok(0));
        let error = written("SELECT 1 AS a UNION ALL SELECT 'x'").unwrap_err();
        assert!(
            error.starts_with(
                "the result, column a, row 2: the value is text, but the column has the type int64; "
            ),
            "{error}"
        );
        // 2^53 + 1 is no real number.
        let error = written("SELECT 9007199254740993 AS a UNION ALL SELECT 0.5").unwrap_err();
        assert!(error.contains("row 2: the value is a real number"), "{error}");
    }

    #[test]
    fn a_text_that_is_not_utf8_is_told() {
        let error =
            written("SELECT 'a' AS a UNION ALL SELECT NULL UNION ALL SELECT CAST(x'ff' AS TEXT)");
        let error = error.unwrap_err();
        assert!(error.contains("row 3: the value is text that is not UTF-8"), "{error}");
    }
}
