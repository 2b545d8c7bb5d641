//! Checks the arguments of functions: a wrong one is an error that names the function and the
//! argument.

use std::fmt;

use crate::error::{Error, Result};
use crate::value::{ValueRef, Values, told};

/// The arguments of one call of a function, or of a table-valued function.
///
/// ```
/// use timebase_sql::{Arguments, ValueRef};
///
/// let values = [ValueRef::Integer(1104), ValueRef::Real(1.5), ValueRef::Null];
/// let arguments = Arguments::new("f", &values[..]);
/// assert_eq!(arguments.integer(0, "ts")?, Some(1104));
/// assert_eq!(arguments.integer(2, "ts")?, None);
/// assert_eq!(
///     arguments.integer(1, "ts").unwrap_err().to_string(),
///     "f(): argument 2 (ts) must be an integer, not the real number 1.5"
/// );
/// # Ok::<(), timebase_sql::Error>(())
/// ```
#[derive(Debug)]
pub struct Arguments<'a, V: ?Sized> {
    function: &'a str,
    values: &'a V,
}

impl<'a, V: Values + ?Sized> Arguments<'a, V> {
    /// The arguments of a function with this name.
    #[inline(always)]
    pub fn new(function: &'a str, values: &'a V) -> Self {
        Arguments { function, values }
    }

    /// An argument, unchecked; `None` if it was not given.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<ValueRef<'a>> {
        self.values.value(index)
    }

    /// Whether the argument was given.
    #[inline(always)]
    pub fn has(&self, index: usize) -> bool {
        self.get(index).is_some()
    }

    /// An integer; `None` if it is NULL.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    #[inline(always)]
    pub fn integer(&self, index: usize, name: &str) -> Result<Option<i64>> {
        match self.get(index) {
            Some(ValueRef::Null) => Ok(None),
            Some(ValueRef::Integer(value)) => Ok(Some(value)),
            _ => Err(self.must_be(index, name, "an integer")),
        }
    }

    /// An integer of 32 bits without a sign; `None` if it is NULL.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    #[inline(always)]
    pub fn number(&self, index: usize, name: &str) -> Result<Option<u32>> {
        match self.integer(index, name)? {
            None => Ok(None),
            Some(value) => match u32::try_from(value) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(self.must_be(index, name, "between 0 and 4294967295")),
            },
        }
    }

    /// A text; `None` if it is NULL.
    ///
    /// # Errors
    ///
    /// If it is anything else, or not UTF-8.
    pub fn text(&self, index: usize, name: &str) -> Result<Option<&'a str>> {
        match self.get(index) {
            Some(ValueRef::Null) => Ok(None),
            Some(ValueRef::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.must_be(index, name, "UTF-8")),
            },
            _ => Err(self.must_be(index, name, "a text")),
        }
    }

    /// A blob; `None` if it is NULL.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    #[inline]
    pub fn blob(&self, index: usize, name: &str) -> Result<Option<&'a [u8]>> {
        match self.get(index) {
            Some(ValueRef::Null) => Ok(None),
            Some(ValueRef::Blob(bytes)) => Ok(Some(bytes)),
            _ => Err(self.must_be(index, name, "a blob")),
        }
    }

    /// An error that says what an argument must be, and what it is instead.
    #[cold]
    #[inline(never)]
    pub fn must_be(&self, index: usize, name: &str, expected: &str) -> Error {
        let got = told(self.get(index));
        self.wrong(index, name, format_args!("must be {expected}, not {got}"))
    }

    /// An error about an argument.
    #[cold]
    pub fn wrong(&self, index: usize, name: &str, what: impl fmt::Display) -> Error {
        let function = self.function;
        let number = index + 1;
        Error::new(format_args!("{function}(): argument {number} ({name}) {what}"))
    }
}
