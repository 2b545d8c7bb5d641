//! Values as text, the way SQLite writes them.

use std::borrow::Cow;
use std::fmt::Write;

use rusqlite::types::ValueRef;

/// The value as text; NULL is empty.
pub fn plain(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(real(number)),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes),
        ValueRef::Blob(bytes) => Cow::Owned(format!("x'{}'", hex(bytes))),
    }
}

/// Hexadecimal digits, as from SQL's `hex()`.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02X}");
    }
    digits
}

/// Whether the value is aligned to the right of a column.
pub fn is_number(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Integer(_) | ValueRef::Real(_))
}

fn real(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    // It has a decimal point even if it is whole, which distinguishes it from an integer.
    format!("{number:?}")
}
