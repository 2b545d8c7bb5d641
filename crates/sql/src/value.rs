//! SQL values in a row: the arguments of a call, or the columns of a table.

pub use rusqlite::types::ValueRef;

/// The length of a text in an error.
const SHOWN: usize = 60;

/// Values by their position, from 0.
pub trait Values {
    /// `None` if there is none at the index.
    fn value(&self, index: usize) -> Option<ValueRef<'_>>;
}

impl Values for [ValueRef<'_>] {
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        self.get(index).copied()
    }
}

/// The arguments of a table-valued function; some may be missing.
impl Values for [Option<ValueRef<'_>>] {
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        self.get(index).copied().flatten()
    }
}

/// A value in the form for errors.
pub(crate) fn told(value: Option<ValueRef<'_>>) -> String {
    match value {
        None => "nothing".into(),
        Some(ValueRef::Null) => "NULL".into(),
        Some(ValueRef::Integer(value)) => value.to_string(),
        Some(ValueRef::Real(value)) => format!("the real number {value}"),
        Some(ValueRef::Text(text)) => format!("the text '{}'", shortened(text)),
        Some(ValueRef::Blob(_)) => "a blob".into(),
    }
}

fn shortened(text: &[u8]) -> String {
    // Four bytes for each character are enough; the text may have any length.
    let start = text.get(..SHOWN.saturating_mul(4)).unwrap_or(text);
    let start = String::from_utf8_lossy(start);
    match start.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", start.get(..end).unwrap_or_default()),
        None => start.into_owned(),
    }
}
