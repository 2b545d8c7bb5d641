//! The answers of functions.

use std::borrow::Cow;

use crate::value::ValueRef;

/// A value of SQL that a function has made.
///
/// ```
/// use timebase_sql::Answer;
///
/// assert_eq!(Answer::from(Some(5)), Answer::Integer(5));
/// assert_eq!(Answer::from(None::<i64>), Answer::Null);
/// assert_eq!(Answer::from("no_path"), Answer::Text("no_path".into()));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A text, which may have zero bytes.
    Text(Cow<'static, str>),
    /// Bytes.
    Blob(Vec<u8>),
    /// A text that SQLite's JSON functions take as JSON instead of a string. For a function that
    /// [says so](crate::Function::JSON).
    Json(String),
}

impl<T: Into<Answer>> From<Option<T>> for Answer {
    #[inline]
    fn from(answer: Option<T>) -> Answer {
        answer.map_or(Answer::Null, T::into)
    }
}

/// A value that was read. Invalid UTF-8 in a text is replaced.
impl From<ValueRef<'_>> for Answer {
    #[inline]
    fn from(value: ValueRef<'_>) -> Answer {
        match value {
            ValueRef::Null => Answer::Null,
            ValueRef::Integer(value) => Answer::Integer(value),
            ValueRef::Real(value) => Answer::Real(value),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            ValueRef::Blob(bytes) => Answer::Blob(bytes.to_vec()),
        }
    }
}

impl From<i64> for Answer {
    #[inline]
    fn from(answer: i64) -> Answer {
        Answer::Integer(answer)
    }
}

impl From<&'static str> for Answer {
    #[inline]
    fn from(answer: &'static str) -> Answer {
        Answer::Text(answer.into())
    }
}

impl From<String> for Answer {
    fn from(answer: String) -> Answer {
        Answer::Text(answer.into())
    }
}
