//! The types of columns and arguments.

use rusqlite::ffi;

/// A type, as trace processor distinguishes them. Those for times, ids and references are integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Integers.
    Long,
    Bool,
    /// Integers that name the row.
    Id,
    Double,
    String,
    Bytes,
    Any,
}

impl Type {
    /// The names of all types, for errors.
    pub const ALL: &str = "LONG, INT, UINT, BOOL, TIMESTAMP, DURATION, ID, JOINID, ARGSETID, DOUBLE, FLOAT, STRING, BYTES, PROTO and ANY";

    /// The type with a name, in any case.
    pub fn of(name: &str) -> Option<Type> {
        Some(match name.to_ascii_uppercase().as_str() {
            "LONG" | "INT" | "UINT" | "TIMESTAMP" | "DURATION" | "JOINID" | "ARGSETID" => {
                Type::Long
            }
            "ID" => Type::Id,
            "BOOL" => Type::Bool,
            "DOUBLE" | "FLOAT" => Type::Double,
            "STRING" => Type::String,
            "BYTES" | "PROTO" => Type::Bytes,
            "ANY" => Type::Any,
            _ => return None,
        })
    }

    /// The name for errors.
    pub fn name(self) -> &'static str {
        match self {
            Type::Long => "LONG",
            Type::Bool => "BOOL",
            Type::Id => "ID",
            Type::Double => "DOUBLE",
            Type::String => "STRING",
            Type::Bytes => "BYTES",
            Type::Any => "ANY",
        }
    }

    /// The type of a column in SQLite.
    pub fn of_column(self) -> &'static str {
        match self {
            Type::Long | Type::Bool | Type::Id => "INTEGER",
            Type::Double => "REAL",
            Type::String => "TEXT",
            Type::Bytes | Type::Any => "BLOB",
        }
    }

    /// Whether its values are numbers.
    pub fn takes_numbers(self) -> bool {
        matches!(self, Type::Long | Type::Bool | Type::Id | Type::Double)
    }

    /// Whether an argument of this type takes a value with a type code of SQLite. NULL always
    /// passes. Trace processor takes no integer for a `DOUBLE`.
    pub fn takes(self, code: i32) -> bool {
        match (self, code) {
            (_, ffi::SQLITE_NULL) | (Type::Any, _) => true,
            (Type::Long | Type::Bool | Type::Id, code) => code == ffi::SQLITE_INTEGER,
            (Type::Double, code) => code == ffi::SQLITE_FLOAT,
            (Type::String, code) => code == ffi::SQLITE_TEXT,
            (Type::Bytes, code) => code == ffi::SQLITE_BLOB,
        }
    }
}

/// The name of a value's type for errors.
pub fn told(code: i32) -> &'static str {
    match code {
        ffi::SQLITE_INTEGER => "an integer",
        ffi::SQLITE_FLOAT => "a real number",
        ffi::SQLITE_TEXT => "a text",
        ffi::SQLITE_BLOB => "a blob",
        _ => "NULL",
    }
}
