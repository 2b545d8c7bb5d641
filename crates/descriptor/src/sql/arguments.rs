//! The arguments of SQL functions, checked: a wrong one is an SQL error that
//! names the function and the argument.

use std::fmt::Display;

use rusqlite::functions::Context;
use rusqlite::types::ValueRef;
use rusqlite::{Error, Result};

use super::sql_error;

/// How much of a wrong argument an error shows.
const SHOWN: usize = 60;

/// The arguments of one call of a function.
pub(super) struct Arguments<'a, 'c> {
    function: &'static str,
    ctx: &'a Context<'c>,
}

impl<'a, 'c> Arguments<'a, 'c> {
    pub fn new(function: &'static str, ctx: &'a Context<'c>) -> Self {
        Arguments { function, ctx }
    }

    /// A blob; `None` if it is NULL.
    pub fn blob(&self, index: usize, name: &str) -> Result<Option<&'a [u8]>> {
        match self.ctx.get_raw(index) {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) => Ok(Some(bytes)),
            other => Err(self.must_be(index, name, "a blob", other)),
        }
    }

    /// A text; `None` if it is NULL.
    pub fn text(&self, index: usize, name: &str) -> Result<Option<&'a str>> {
        let value = self.ctx.get_raw(index);
        match value {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.must_be(index, name, "UTF-8", value)),
            },
            _ => Err(self.must_be(index, name, "a text", value)),
        }
    }

    fn must_be(&self, index: usize, name: &str, expected: &str, got: ValueRef<'_>) -> Error {
        let got = match got {
            ValueRef::Null => "NULL".to_owned(),
            ValueRef::Integer(value) => value.to_string(),
            ValueRef::Real(value) => format!("the real number {value}"),
            ValueRef::Text(text) => format!("the text '{}'", shown(text)),
            ValueRef::Blob(_) => "a blob".to_owned(),
        };
        self.wrong(
            index,
            name,
            "must be",
            &format_args!("{expected}, not {got}"),
        )
    }

    /// An error that says what is wrong with an argument.
    pub fn wrong(&self, index: usize, name: &str, what: &str, why: &dyn Display) -> Error {
        let function = self.function;
        let separator = if what == "must be" { " " } else { ": " };
        let number = index + 1;
        sql_error(format!(
            "{function}(): argument {number} ({name}) {what}{separator}{why}"
        ))
    }
}

fn shown(text: &[u8]) -> String {
    // Four bytes a character are enough, of a text that may be of any length.
    let start = text.get(..SHOWN.saturating_mul(4)).unwrap_or(text);
    let text = String::from_utf8_lossy(start);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    }
}
