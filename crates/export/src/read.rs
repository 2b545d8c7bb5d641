//! Reading tables back from Parquet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rusqlite::types::Value;

/// The reason why a file of Parquet has no rows to give.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("cannot open {path}: {error}", path = .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file is damaged, or no Parquet.
    #[error("{path} is not readable as Parquet: {error}", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: ParquetError,
    },
    /// A column has values that SQLite does not know.
    #[error("{path}, column {column}: values of this type cannot be read; write integers, reals, texts or blobs", path = .path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
}

/// A file of Parquet with flat columns.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// # let path = place.path().join("result.parquet");
/// use timebase_export::{ParquetTable, write_result};
/// let database = rusqlite::Connection::open_in_memory()?;
/// let mut statement = database.prepare("SELECT 1 AS id, 'a' AS name")?;
/// write_result(&mut statement, &[None, None], &mut std::fs::File::create(&path)?)?;
///
/// let table = ParquetTable::open(&path)?;
/// assert_eq!(table.columns(), ["id", "name"]);
/// let mut rows = Vec::new();
/// table.rows(|row| -> Result<(), timebase_export::ReadError> { rows.push(row.to_vec()); Ok(()) })?;
/// assert_eq!(rows, [[1.into(), String::from("a").into()]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetTable {
    path: PathBuf,
    columns: Vec<String>,
    reader: SerializedFileReader<File>,
}

impl ParquetTable {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or is no Parquet.
    pub fn open(path: &Path) -> Result<ParquetTable, ReadError> {
        let file =
            File::open(path).map_err(|error| ReadError::Open { path: path.to_owned(), error })?;
        let reader = SerializedFileReader::new(file)
            .map_err(|error| ReadError::Damaged { path: path.to_owned(), error })?;
        let schema = reader.metadata().file_metadata().schema();
        let columns = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        Ok(ParquetTable { path: path.to_owned(), columns, reader })
    }

    /// The names of its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Calls `each` with the values of each row.
    ///
    /// # Errors
    ///
    /// The first error of `each`, and if the file is damaged or has nested columns.
    pub fn rows<E: From<ReadError>>(
        &self,
        mut each: impl FnMut(&[Value]) -> Result<(), E>,
    ) -> Result<(), E> {
        let damaged = |error| ReadError::Damaged { path: self.path.clone(), error };
        let mut values = Vec::with_capacity(self.columns.len());
        for row in self.reader.get_row_iter(None).map_err(damaged)? {
            let row = row.map_err(damaged)?;
            values.clear();
            for (name, field) in row.get_column_iter() {
                values.push(value(field).ok_or_else(|| ReadError::Type {
                    path: self.path.clone(),
                    column: name.clone(),
                })?);
            }
            each(&values)?;
        }
        Ok(())
    }
}

fn value(field: &Field) -> Option<Value> {
    Some(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Integer((*value).into()),
        Field::Byte(value) => Value::Integer((*value).into()),
        Field::Short(value) => Value::Integer((*value).into()),
        Field::Int(value) => Value::Integer((*value).into()),
        Field::Long(value) => Value::Integer(*value),
        Field::UByte(value) => Value::Integer((*value).into()),
        Field::UShort(value) => Value::Integer((*value).into()),
        Field::UInt(value) => Value::Integer((*value).into()),
        Field::ULong(value) => Value::Integer(i64::try_from(*value).ok()?),
        Field::Float(value) => Value::Real((*value).into()),
        Field::Double(value) => Value::Real(*value),
        Field::Str(text) => Value::Text(text.clone()),
        Field::Bytes(bytes) => Value::Blob(bytes.data().to_vec()),
        _ => return None,
    })
}
