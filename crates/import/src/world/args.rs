//! Sets of arguments (rule H6): those that are equal are one, as far as memory
//! goes.

use timebase_schema::tables::args_record;

use super::strings::Strings;
use crate::output::{Cell, Rows};
use crate::seen::Seen;

/// How many bytes a generation of sets may take.
const GENERATION: usize = 2 << 20;

/// An argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arg<'a> {
    /// The key without the numbers of an array's elements.
    pub flat_key: &'a str,
    pub key: &'a str,
    pub value: ArgValue<'a>,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ArgValue<'a> {
    Int(i64),
    Uint(u64),
    Bool(bool),
    Text(&'a str),
}

impl<'a> Arg<'a> {
    /// One whose key is of no array.
    pub fn new(key: &'a str, value: ArgValue<'a>) -> Self {
        Arg {
            flat_key: key,
            key,
            value,
        }
    }
}

impl ArgValue<'_> {
    /// What `value_type` calls it.
    fn type_name(self) -> &'static str {
        match self {
            ArgValue::Int(_) => "int",
            ArgValue::Uint(_) => "uint",
            ArgValue::Bool(_) => "bool",
            ArgValue::Text(_) => "string",
        }
    }
}

/// The sets of the table `args`.
#[derive(Debug)]
pub(crate) struct ArgSets {
    seen: Seen,
    key: Vec<u8>,
    next: i64,
}

impl Default for ArgSets {
    fn default() -> Self {
        ArgSets {
            seen: Seen::new(GENERATION),
            key: Vec::new(),
            next: 0,
        }
    }
}

impl ArgSets {
    /// The number of a set; none of an empty one.
    pub fn number(
        &mut self,
        args: &[Arg<'_>],
        strings: &mut Strings,
        rows: &mut Rows<'_>,
    ) -> Option<i64> {
        if args.is_empty() {
            return None;
        }
        self.key.clear();
        for arg in args {
            for text in [arg.flat_key, arg.key, arg.value.type_name()] {
                self.key
                    .extend_from_slice(&(text.len() as u64).to_le_bytes());
                self.key.extend_from_slice(text.as_bytes());
            }
            match arg.value {
                ArgValue::Int(value) => self.key.extend_from_slice(&value.to_le_bytes()),
                ArgValue::Uint(value) => self.key.extend_from_slice(&value.to_le_bytes()),
                ArgValue::Bool(value) => self.key.push(value.into()),
                ArgValue::Text(text) => {
                    self.key
                        .extend_from_slice(&(text.len() as u64).to_le_bytes());
                    self.key.extend_from_slice(text.as_bytes());
                }
            }
        }
        if let Some(id) = self.seen.get(&self.key) {
            return Some(id);
        }
        let set = self.next;
        // Those of kernel events have the odd numbers.
        self.next += 2;
        self.seen.insert(&self.key, set);
        for arg in args {
            let flat_key = strings.number(arg.flat_key, rows);
            let key = strings.number(arg.key, rows);
            let value_type = strings.number(arg.value.type_name(), rows);
            let value = match arg.value {
                ArgValue::Int(value) => value,
                ArgValue::Uint(value) => value as i64,
                ArgValue::Bool(value) => value.into(),
                ArgValue::Text(text) => strings.number(text, rows),
            };
            let id = rows.count(&args_record::TABLE);
            rows.push(args_record::Row {
                id: Cell::from(id),
                arg_set_id: Cell::from(set),
                flat_key: Cell::from(flat_key),
                key: Cell::from(key),
                value_type: Cell::from(value_type),
                value: Cell::from(value),
            });
        }
        Some(set)
    }
}
