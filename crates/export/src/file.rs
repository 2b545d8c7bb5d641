//! A Parquet file: row groups of chunks, with a column for each label after the table's own
//! columns.

use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::str;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{self, Encoding, LogicalType, Repetition};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type as SchemaType};

use crate::chunk::{Chunk, Part, Values};
use crate::columns::{Column, Type};
use crate::error::Error;

/// The compression of a file's pages.
///
/// ```
/// use timebase_export::Compression;
/// assert_eq!(Compression::default().name(), "zstd");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Zstandard, at its fastest regular level.
    #[default]
    Zstd,
    /// Snappy, which every reader of Parquet supports.
    Snappy,
    /// No compression.
    None,
}

impl Compression {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Zstd => "zstd",
            Compression::Snappy => "snappy",
            Compression::None => "none",
        }
    }

    fn of_parquet(self) -> basic::Compression {
        match self {
            Compression::Zstd => basic::Compression::ZSTD(basic::ZstdLevel::default()),
            Compression::Snappy => basic::Compression::SNAPPY,
            Compression::None => basic::Compression::UNCOMPRESSED,
        }
    }
}

/// The contents of a file, and its name in errors.
#[derive(Clone, Debug)]
pub(crate) struct Contents<'a> {
    /// The table, in errors.
    pub table: &'a str,
    pub columns: &'a [Column],
    /// Columns with one value each.
    pub labels: &'a [(String, String)],
    pub compression: Compression,
    /// The file, in errors.
    pub path: PathBuf,
    /// The remedy for a value of a wrong type.
    pub advice: &'static str,
}

pub(crate) struct ParquetFile<'a, W: Write + Send> {
    contents: Contents<'a>,
    writer: SerializedFileWriter<W>,
    /// Buffers for the values of a column. They are used again.
    values: Vec<ByteArray>,
}

impl<'a, W: Write + Send> ParquetFile<'a, W> {
    /// Begins a file.
    pub fn new(contents: Contents<'a>, out: W) -> Result<Self, Error> {
        let own = contents.columns.iter().map(|column| {
            let repetition = match column.is_nullable {
                true => Repetition::OPTIONAL,
                false => Repetition::REQUIRED,
            };
            field(&column.name, column.kind, repetition)
        });
        let labels = contents.labels.iter();
        let labels = labels.map(|(name, _)| field(name, Type::String, Repetition::REQUIRED));
        let fields = own.chain(labels).collect::<Result<Vec<_>, _>>();
        let schema = fields.and_then(|fields| {
            let schema = SchemaType::group_type_builder("schema").with_fields(fields);
            schema.build()
        });
        let properties = Arc::new(properties(&contents));
        let writer = schema
            .and_then(|schema| SerializedFileWriter::new(out, Arc::new(schema), properties))
            .map_err(|error| failed(&contents, error))?;
        Ok(ParquetFile { contents, writer, values: Vec::new() })
    }

    /// Writes a row group.
    pub fn write(&mut self, chunk: Chunk) -> Result<(), Error> {
        let contents = &self.contents;
        let failed = |error| failed(contents, error);
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let (rows, before) = (chunk.rows, chunk.before);
        for (part, column) in chunk.parts.into_iter().zip(contents.columns) {
            if let (Type::String, Values::Bytes { bytes, ends }) = (column.kind, &part.values) {
                let at = not_utf8(bytes, ends);
                if let Some(at) = at {
                    let row = before + place(part.levels.as_deref(), at) as u64 + 1;
                    return Err(Error::Misfit {
                        table: contents.table.to_owned(),
                        column: column.name.clone(),
                        row,
                        found: "text that is not UTF-8",
                        expected: column.kind.name(),
                        advice: contents.advice.to_owned(),
                    });
                }
            }
            let Some(mut writer) = group.next_column().map_err(failed)? else {
                break;
            };
            write(&mut writer, part, &mut self.values).map_err(failed)?;
            writer.close().map_err(failed)?;
        }
        for (_, label) in contents.labels {
            let Some(mut writer) = group.next_column().map_err(failed)? else {
                break;
            };
            self.values.clear();
            let label = ByteArray::from(label.clone().into_bytes());
            self.values.resize(rows, label);
            let written = writer.typed::<ByteArrayType>().write_batch(&self.values, None, None);
            self.values.clear();
            written.map_err(failed)?;
            writer.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Writes the data after the rows.
    pub fn finish(&mut self) -> Result<(), Error> {
        let finished = self.writer.finish();
        finished.map_err(|error| failed(&self.contents, error))?;
        Ok(())
    }
}

impl ParquetFile<'_, Vec<u8>> {
    /// Returns the bytes that were written so far.
    pub fn hand_over(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let given = self.writer.flush().and_then(|()| {
            let written = self.writer.inner_mut();
            let given = out.write_all(written);
            written.clear();
            given
        });
        given.map_err(Error::Out)
    }
}

/// Writes the values of a column.
fn write(
    writer: &mut SerializedColumnWriter<'_>,
    part: Part,
    scratch: &mut Vec<ByteArray>,
) -> Result<(), ParquetError> {
    let levels = part.levels.as_deref();
    match part.values {
        Values::Int64(values) => put::<Int64Type>(writer, &values, levels),
        Values::Double(values) => put::<DoubleType>(writer, &values, levels),
        Values::Bytes { bytes, ends } => {
            let bytes = Bytes::from(bytes);
            scratch.clear();
            scratch.extend(ranges(&ends).map(|range| ByteArray::from(bytes.slice(range))));
            let written = put::<ByteArrayType>(writer, scratch, levels);
            scratch.clear();
            written
        }
    }
}

fn put<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    writer.typed::<T>().write_batch(values, levels, None)?;
    Ok(())
}

/// The range of each value, from the ends of all values.
fn ranges(ends: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let starts = [0].into_iter().chain(ends.iter().copied());
    starts.zip(ends).map(|(start, &end)| start..end)
}

/// The first value that is not UTF-8. It checks all values as one text, and then whether each ends
/// with a character, which is faster than checking them one by one.
fn not_utf8(bytes: &[u8], ends: &[usize]) -> Option<usize> {
    if let Ok(text) = str::from_utf8(bytes)
        && ends.iter().all(|&end| text.is_char_boundary(end))
    {
        return None;
    }
    ranges(ends).position(|range| {
        let value = bytes.get(range).unwrap_or_default();
        str::from_utf8(value).is_err()
    })
}

/// The row in a chunk of the nth value that is not NULL.
fn place(levels: Option<&[i16]>, nth: usize) -> usize {
    let Some(levels) = levels else { return nth };
    let mut rows = levels.iter().enumerate().filter(|(_, level)| **level == 1);
    rows.nth(nth).map_or(nth, |(row, _)| row)
}

fn field(name: &str, kind: Type, repetition: Repetition) -> Result<Arc<SchemaType>, ParquetError> {
    let (physical, logical) = match kind {
        Type::Int64 => (basic::Type::INT64, None),
        Type::Double => (basic::Type::DOUBLE, None),
        Type::String => (basic::Type::BYTE_ARRAY, Some(LogicalType::String)),
        Type::Binary => (basic::Type::BYTE_ARRAY, None),
    };
    let field = SchemaType::primitive_type_builder(name, physical);
    let field = field.with_repetition(repetition).with_logical_type(logical);
    Ok(Arc::new(field.build()?))
}

/// The encoding of each column. Numbers are mostly times and ids, which are close to the previous
/// one: their differences are shorter than numbers in a dictionary, and several times as fast to
/// write. Texts repeat. Each page has the least and the greatest value of numbers, so a reader that
/// wants a time range skips pages, not only row groups.
fn properties(contents: &Contents<'_>) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("timebase {}", env!("CARGO_PKG_VERSION")))
        .set_compression(contents.compression.of_parquet())
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in contents.columns {
        let path = ColumnPath::new(vec![column.name.clone()]);
        properties = match column.kind {
            Type::Int64 => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_statistics_enabled(path, EnabledStatistics::Page),
            Type::Double => properties.set_column_statistics_enabled(path, EnabledStatistics::Page),
            Type::String => properties,
            Type::Binary => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path, EnabledStatistics::None),
        };
    }
    properties.build()
}

/// The error of the crate, which usually is about writing.
fn failed(contents: &Contents<'_>, error: ParquetError) -> Error {
    let error = match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    };
    Error::write(&contents.path, error)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_at_by_itself() {
        assert_eq!(not_utf8("aüb".as_bytes(), &[1, 3, 4]), None);
        assert_eq!(not_utf8("aüb".as_bytes(), &[1, 2, 4]), Some(1));
        assert_eq!(not_utf8(b"a\xffb", &[1, 2, 3]), Some(1));
        assert_eq!(not_utf8(b"", &[0, 0]), None);
    }

    #[test]
    fn a_value_that_is_not_null_is_in_its_row() {
        assert_eq!(place(Some(&[0, 1, 0, 1]), 1), 3);
        assert_eq!(place(None, 1), 1);
    }
}
