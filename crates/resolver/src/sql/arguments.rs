//! The arguments of SQL functions, checked: a wrong one is an SQL error that
//! names the function and the argument.

use rusqlite::types::ValueRef;
use rusqlite::{Error, Result};

use super::call::Call;
use super::sql_error;
use crate::clock::{Clock, ClockId, MachineId, SeqId};

/// How much of a wrong argument an error shows.
const SHOWN: usize = 60;

/// The arguments of one call of a function, or of a table-valued one.
pub(super) struct Arguments<'a, 'c> {
    function: &'static str,
    values: Values<'a, 'c>,
}

enum Values<'a, 'c> {
    Call(&'a Call<'c>),
    Slice(&'a [Option<ValueRef<'a>>]),
}

impl<'a, 'c> Arguments<'a, 'c> {
    #[inline(always)]
    pub fn new(function: &'static str, call: &'a Call<'c>) -> Self {
        Arguments {
            function,
            values: Values::Call(call),
        }
    }

    /// Arguments by position; those that were not given are `None`.
    pub fn of_table(function: &'static str, values: &'a [Option<ValueRef<'a>>]) -> Self {
        Arguments {
            function,
            values: Values::Slice(values),
        }
    }

    /// `None` if it was not given.
    #[inline(always)]
    fn get(&self, index: usize) -> Option<ValueRef<'_>> {
        match &self.values {
            Values::Call(call) => call.value(index),
            Values::Slice(values) => values.get(index).copied().flatten(),
        }
    }

    /// Whether the argument was given.
    #[inline(always)]
    pub fn has(&self, index: usize) -> bool {
        self.get(index).is_some()
    }

    #[cold]
    #[inline(never)]
    fn error(&self, index: usize, name: &str, expected: &str) -> Error {
        let got = match self.get(index) {
            None => "nothing".into(),
            Some(ValueRef::Null) => "NULL".into(),
            Some(ValueRef::Integer(value)) => value.to_string(),
            Some(ValueRef::Real(value)) => format!("the real number {value}"),
            Some(ValueRef::Text(text)) => format!("the text '{}'", shown(text)),
            Some(ValueRef::Blob(_)) => "a blob".into(),
        };
        let function = self.function;
        sql_error(&format!(
            "{function}(): argument {} ({name}) must be {expected}, not {got}",
            index + 1
        ))
    }

    /// An integer; `None` if it is NULL.
    #[inline(always)]
    pub fn integer(&self, index: usize, name: &str) -> Result<Option<i64>> {
        match self.get(index) {
            Some(ValueRef::Null) => Ok(None),
            Some(ValueRef::Integer(value)) => Ok(Some(value)),
            _ => Err(self.error(index, name, "an integer")),
        }
    }

    /// A text; `None` if it is NULL.
    pub fn text(&self, index: usize, name: &str) -> Result<Option<&str>> {
        match self.get(index) {
            Some(ValueRef::Null) => Ok(None),
            Some(ValueRef::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.error(index, name, "UTF-8")),
            },
            _ => Err(self.error(index, name, "a text")),
        }
    }

    /// A clock by its number or its name; `None` if it is NULL.
    #[inline(always)]
    pub fn clock_id(&self, index: usize, name: &str) -> Result<Option<ClockId>> {
        match self.get(index) {
            Some(ValueRef::Text(_)) => Ok(self.text(index, name)?.map(ClockId::from_name)),
            Some(ValueRef::Integer(value)) => match u32::try_from(value) {
                Ok(id) if id != 0 => Ok(Some(ClockId(id))),
                _ => Err(self.error(index, name, "a clock number (1 to 4294967295) or name")),
            },
            Some(ValueRef::Null) => Ok(None),
            _ => Err(self.error(index, name, "a clock number or name")),
        }
    }

    #[inline(always)]
    fn number(&self, index: usize, name: &str) -> Result<Option<u32>> {
        match self.integer(index, name)? {
            None => Ok(None),
            Some(value) => match u32::try_from(value) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(self.error(index, name, "between 0 and 4294967295")),
            },
        }
    }

    /// A clock at `index` and its sequence behind it, on the machine that an
    /// optional further argument names; `None` if any is NULL.
    #[inline(always)]
    pub fn clock(&self, index: usize, names: [&str; 2], machine: usize) -> Result<Option<Clock>> {
        let id = self.clock_id(index, names[0])?;
        let seq = self.number(index + 1, names[1])?;
        let machine = if self.has(machine) {
            self.number(machine, "machine_id")?
        } else {
            Some(MachineId::HOST.0)
        };
        let (Some(id), Some(seq), Some(machine)) = (id, seq, machine) else {
            return Ok(None);
        };
        Ok(Some(Clock::new(MachineId(machine), id, SeqId(seq))))
    }

    /// The reading of `(clock_id, seq_id, ts)`, in the clock's own unit; `None`
    /// if any of them is NULL.
    #[inline(always)]
    pub fn reading(&self, machine: usize) -> Result<Option<(Clock, i64)>> {
        let clock = self.clock(0, ["clock_id", "seq_id"], machine)?;
        let ticks = self.integer(2, "ts")?;
        Ok(clock.zip(ticks))
    }
}

fn shown(text: &[u8]) -> String {
    // Four bytes a character are enough, of a text that may be of any length.
    let start = text.get(..SHOWN.saturating_mul(4)).unwrap_or(text);
    let start = String::from_utf8_lossy(start);
    match start.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", start.get(..end).unwrap_or_default()),
        None => start.into_owned(),
    }
}
