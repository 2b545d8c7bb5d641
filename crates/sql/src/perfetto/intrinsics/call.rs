//! A call of an intrinsic by SQLite: its arguments, and functions that gather rows.
//!
//! These functions are not [`crate::Function`]s: they hand each other pointers, gather rows, or
//! take any number of arguments, and only a connection can call them.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{ToSql, ValueRef};

use crate::value::Values;
use crate::{Arguments, Error, Result};

use super::limits::failed;
use super::pointer::{Handed, Pointer, argument};

/// For a function whose result depends on its arguments alone, and that can do no harm.
pub const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

impl Values for Context<'_> {
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        (index < self.len()).then(|| self.get_raw(index))
    }
}

/// The arguments of a call.
#[derive(Clone, Copy)]
pub struct Call<'c, 'a> {
    name: &'static str,
    ctx: &'c Context<'a>,
}

impl<'c, 'a> Call<'c, 'a> {
    pub fn new(name: &'static str, ctx: &'c Context<'a>) -> Call<'c, 'a> {
        Call { name, ctx }
    }

    pub fn context(&self) -> &'c Context<'a> {
        self.ctx
    }

    pub fn count(&self) -> usize {
        self.ctx.len()
    }

    /// The arguments that are checked with an error.
    pub fn arguments(&self) -> Arguments<'c, Context<'a>> {
        Arguments::new(self.name, self.ctx)
    }

    pub fn value(&self, index: usize) -> ValueRef<'c> {
        self.ctx.value(index).unwrap_or(ValueRef::Null)
    }

    /// A number without its fraction; `None` for NULL.
    pub fn optional(&self, index: usize, name: &str) -> Result<Option<i64>> {
        match self.value(index) {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value)),
            // SQLite's own conversion: without the fraction, within the bounds.
            ValueRef::Real(value) => Ok(Some(value as i64)),
            _ => Err(self.arguments().must_be(index, name, "a number")),
        }
    }

    /// A number without its fraction; 0 for NULL, as in trace processor.
    pub fn integer(&self, index: usize, name: &str) -> Result<i64> {
        Ok(self.optional(index, name)?.unwrap_or(0))
    }

    /// An id: the lower 32 bits of a number, as in trace processor.
    pub fn id(&self, index: usize, name: &str) -> Result<u32> {
        Ok(self.integer(index, name)? as u32)
    }

    /// [`Self::id`]; `None` for NULL.
    pub fn optional_id(&self, index: usize, name: &str) -> Result<Option<u32>> {
        Ok(self.optional(index, name)?.map(|id| id as u32))
    }

    /// A number; `None` for NULL.
    pub fn real(&self, index: usize, name: &str) -> Result<Option<f64>> {
        match self.value(index) {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value as f64)),
            ValueRef::Real(value) => Ok(Some(value)),
            _ => Err(self.arguments().must_be(index, name, "a number")),
        }
    }

    /// A text.
    pub fn text(&self, index: usize, name: &str) -> Result<&'c str> {
        match self.arguments().text(index, name)? {
            Some(text) => Ok(text),
            None => Err(self.arguments().must_be(index, name, "a text")),
        }
    }

    /// A value of another intrinsic; `None` for NULL, its result if it had no rows.
    pub fn pointer<T: Handed>(&self, index: usize, name: &str) -> Result<Option<Arc<T>>> {
        match (argument(self.ctx, index), self.value(index)) {
            (Some(value), _) => Ok(Some(value)),
            (None, ValueRef::Null) => Ok(None),
            (None, _) => {
                let expected = "the result of another intrinsic";
                Err(self.arguments().must_be(index, name, expected))
            }
        }
    }

    /// The name of the function.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::new(format_args!("{}(): {what}", self.name))
    }
}

/// Registers a function of one row; `count` is −1 for any number of arguments.
pub fn scalar<T: ToSql>(
    conn: &Connection,
    name: &'static str,
    count: c_int,
    flags: FunctionFlags,
    function: impl Fn(Call<'_, '_>) -> Result<T> + Send + 'static,
) -> rusqlite::Result<()> {
    conn.create_scalar_function(name, count, flags, move |ctx| {
        function(Call { name, ctx }).map_err(failed)
    })
}

/// A function that gathers rows and hands on one value.
pub trait Gather: Send + UnwindSafe + RefUnwindSafe + Sized + 'static {
    const NAME: &'static str;
    /// The number of arguments; −1 for any number.
    const COUNT: c_int;
    type Output: Handed;

    /// Before the first row.
    fn start() -> Self;

    fn add(&mut self, call: Call<'_, '_>) -> Result<()>;

    /// After the last row.
    fn end(self, call: Call<'_, '_>) -> Result<Self::Output>;

    /// The result without any row; `None` is NULL.
    fn nothing() -> Option<Self::Output> {
        None
    }
}

/// Under a name.
struct Gathering<G>(&'static str, PhantomData<fn() -> G>);

impl<G: Gather> Aggregate<G, Option<Pointer<G::Output>>> for Gathering<G> {
    fn init(&self, _ctx: &mut Context<'_>) -> rusqlite::Result<G> {
        Ok(G::start())
    }

    fn step(&self, ctx: &mut Context<'_>, gathered: &mut G) -> rusqlite::Result<()> {
        let Gathering(name, _) = *self;
        gathered.add(Call { name, ctx }).map_err(failed)
    }

    fn finalize(
        &self,
        ctx: &mut Context<'_>,
        gathered: Option<G>,
    ) -> rusqlite::Result<Option<Pointer<G::Output>>> {
        let Gathering(name, _) = *self;
        let output = match gathered {
            Some(gathered) => Some(gathered.end(Call { name, ctx }).map_err(failed)?),
            None => G::nothing(),
        };
        Ok(output.map(Pointer::to))
    }
}

/// Registers a function that gathers rows.
pub fn gather<G: Gather>(conn: &Connection) -> rusqlite::Result<()> {
    gather_as::<G>(conn, G::NAME)
}

/// Registers it under another name.
pub fn gather_as<G: Gather>(conn: &Connection, name: &'static str) -> rusqlite::Result<()> {
    let function: Gathering<G> = Gathering(name, PhantomData);
    conn.create_aggregate_function(name, G::COUNT, PURE, function)
}

/// The names in a list such as `(id, name)`, which the dialect's `__intrinsic_stringify!` makes.
pub fn names(list: &str) -> Vec<&str> {
    let list = list.trim();
    let list = list.strip_prefix('(').unwrap_or(list);
    let list = list.strip_suffix(')').unwrap_or(list);
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}
