//! Lists of values.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_array_agg(value)`, `repeatedfield(value)` | the values of all rows, in their order; all of one type, none NULL |

use std::ffi::c_int;

use rusqlite::Connection;
use rusqlite::types::{Type, ValueRef};

use crate::Result;

use super::call::{Call, Gather, gather, gather_as};
use super::limits::Budget;
use super::pointer::{Handed, kind};
use super::table::Cell;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)
}

/// A list of values, all of one type.
#[derive(Debug)]
pub struct Array(Vec<Cell>);

impl Handed for Array {
    const KIND: &'static std::ffi::CStr = kind!("array");
}

impl Array {
    /// The lower 32 bits of each integer, for ids; `None` if they are no integers.
    pub fn ids(&self) -> Option<Vec<u32>> {
        let id = |value: &Cell| match value {
            Cell::Integer(id) => Some(*id as u32),
            _ => None,
        };
        self.0.iter().map(id).collect()
    }
}

/// Registers the function under its other name too.
pub fn gathered(conn: &Connection, name: &'static str) -> rusqlite::Result<()> {
    gather_as::<Gathered>(conn, name)
}

struct Gathered {
    values: Vec<Cell>,
    of: Option<Type>,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_array_agg";
    const COUNT: c_int = 1;
    type Output = Array;

    fn start() -> Gathered {
        Gathered { values: Vec::new(), of: None, budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        let value = call.value(0);
        if matches!(value, ValueRef::Null) {
            return Err(call.error("a value is NULL; leave it out with WHERE … IS NOT NULL"));
        }
        let of = *self.of.get_or_insert(value.data_type());
        if of != value.data_type() {
            let other = value.data_type();
            return Err(call.error(format_args!(
                "all values must have one type, but there are {of} and {other}; use CAST"
            )));
        }
        let value = Cell::of(value, call.name())?;
        self.budget.take(value.size())?;
        self.values.push(value);
        Ok(())
    }

    fn end(self, _call: Call<'_, '_>) -> Result<Array> {
        Ok(Array(self.values))
    }
}
