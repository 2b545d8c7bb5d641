//! Functions with SQLite's C interface, so that a call costs little more than its function. The
//! unsafe code of a call is in this file; the unsafe code of its queries is in `sqlite/query.rs`.
//!
//! # Design
//!
//! Formerly rusqlite's `create_scalar_function` was here. Its `Context` returns a statement's data
//! as an `Arc`, which every call clones, casts and drops, and results and errors are large values
//! on their way to SQLite. The benchmark's section `sql` compares `to_boottime` with a function
//! that does nothing: with rusqlite's interface, and everything else as it is now, the ratio was
//! 1.43; with this one it is 1.18.
//!
//! The answer is returned by value, and functions that run for every packet are `#[inline]`:
//! passing an answer through memory cost 3 ns of 95.
//!
//! Checking for integers before all other types, to avoid a jump table, gained nothing beyond the
//! spread of the measurement.

use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ffi};

use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::function::{Call, Function, Functions};
use crate::held_marks;
use crate::mark::{Key, Mark, Prepared};
use crate::value::{ValueRef, Values};

use crate::query::{self, Query, bytes};

/// A function's answer depends on its arguments and, within one statement, on the single version of
/// a table that the statement sees.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// The subtype by which SQLite's JSON functions recognize JSON.
const JSON: u32 = b'J' as u32;

/// A call by SQLite.
struct SqliteCall<'a> {
    ctx: *mut ffi::sqlite3_context,
    values: &'a [*mut ffi::sqlite3_value],
}

impl Values for SqliteCall<'_> {
    #[inline]
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        let value = *self.values.get(index)?;
        // SAFETY: the arguments live during the call, and `self` not longer. A text is only read as
        // text and a blob as a blob, so no later read moves an earlier result.
        Some(unsafe {
            match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_INTEGER => ValueRef::Integer(ffi::sqlite3_value_int64(value)),
                ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_value_double(value)),
                ffi::SQLITE_TEXT => {
                    let start = ffi::sqlite3_value_text(value);
                    ValueRef::Text(bytes(start, ffi::sqlite3_value_bytes(value)))
                }
                ffi::SQLITE_BLOB => {
                    let start = ffi::sqlite3_value_blob(value);
                    ValueRef::Blob(bytes(start.cast(), ffi::sqlite3_value_bytes(value)))
                }
                _ => ValueRef::Null,
            }
        })
    }
}

impl Call for SqliteCall<'_> {
    type Database = Connection;

    #[inline]
    fn mark(&self, Key(key): Key) -> *const Mark {
        // SAFETY: `ctx` belongs to this call.
        unsafe { ffi::sqlite3_get_auxdata(self.ctx, key) }.cast()
    }

    fn set_mark(&self, Key(key): Key, mark: Arc<Mark>) {
        // SAFETY: `ctx` belongs to this call. `drop_mark` frees this, once.
        unsafe {
            let mark = Arc::into_raw(mark).cast_mut().cast();
            ffi::sqlite3_set_auxdata(self.ctx, key, mark, Some(drop_mark));
        }
    }

    fn with_database<T>(&self, function: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // SAFETY: the calling connection is open during the call, and a reference can leave neither
        // the closure nor the thread.
        let conn = unsafe { Connection::from_handle(ffi::sqlite3_context_db_handle(self.ctx)) }?;
        function(&conn)
    }

    #[inline]
    fn look_up(
        &self,
        queries: &[&'static str],
        prepared: &mut Prepared,
        parameters: &[ValueRef<'_>],
    ) -> Result<Answer> {
        let key = Key::of(queries.first().copied().unwrap_or_default());
        let mark = match prepared.of(self.mark(key)) {
            Some(mark) => mark,
            None => self.find(key, queries, prepared)?,
        };
        match mark.borne::<Query>() {
            Some(query) => query.first(parameters),
            None => Err(Error::new("the query is not prepared")),
        }
    }
}

impl SqliteCall<'_> {
    /// The query of another statement, or one that is prepared now.
    #[cold]
    fn find(
        &self,
        key: Key,
        queries: &[&'static str],
        prepared: &mut Prepared,
    ) -> Result<Arc<Mark>> {
        let mark = match prepared.any() {
            Some(mark) => mark,
            None => {
                let mark = prepared.keep(Mark::bearing(self.prepare(queries)?));
                // SAFETY: `ctx` belongs to this call.
                held_marks::hold(unsafe { ffi::sqlite3_context_db_handle(self.ctx) }, &mark);
                mark
            }
        };
        self.set_mark(key, Arc::clone(&mark));
        Ok(mark)
    }

    /// The first query that can be prepared; the error is that of the last one.
    #[cold]
    fn prepare(&self, queries: &[&'static str]) -> Result<Query> {
        let mut failure = Error::new("there is no query");
        for sql in queries {
            // SAFETY: `ctx` belongs to this call.
            match unsafe { Query::prepare(self.ctx, sql) } {
                Ok(query) => return Ok(query),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    #[inline]
    fn give(&self, answer: Answer) {
        // SAFETY: `ctx` belongs to this call; SQLite copies texts and blobs.
        unsafe {
            match answer {
                Answer::Null => ffi::sqlite3_result_null(self.ctx),
                Answer::Integer(value) => ffi::sqlite3_result_int64(self.ctx, value),
                Answer::Real(value) => ffi::sqlite3_result_double(self.ctx, value),
                Answer::Text(text) => self.give_text(&text),
                Answer::Blob(bytes) => ffi::sqlite3_result_blob64(
                    self.ctx,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                ),
                Answer::Json(text) => {
                    self.give_text(&text);
                    ffi::sqlite3_result_subtype(self.ctx, JSON);
                }
            }
        }
    }

    fn give_text(&self, text: &str) {
        let (start, encoding) = (text.as_ptr().cast(), ffi::SQLITE_UTF8 as u8);
        let copied = ffi::SQLITE_TRANSIENT();
        // SAFETY: `ctx` belongs to this call; SQLite copies the text.
        unsafe {
            ffi::sqlite3_result_text64(self.ctx, start, text.len() as u64, copied, encoding);
        }
    }

    #[cold]
    fn fail(&self, error: &Error) {
        let message = error.message();
        let size = c_int::try_from(message.len()).unwrap_or(c_int::MAX);
        // SAFETY: `ctx` belongs to this call; SQLite copies the text.
        unsafe {
            ffi::sqlite3_result_error(self.ctx, message.as_ptr().cast::<c_char>(), size);
            if error.is_interrupt() {
                ffi::sqlite3_result_error_code(self.ctx, ffi::SQLITE_INTERRUPT);
            }
        }
    }
}

/// # Safety
///
/// SQLite calls it, with the pointer from `Call::set_mark`.
unsafe extern "C" fn drop_mark(mark: *mut c_void) {
    // SAFETY: by the contract of this function.
    drop(unsafe { Arc::from_raw(mark.cast_const().cast::<Mark>()) });
}

/// The functions of a connection.
impl Functions for &Connection {
    fn add(&mut self, name: &'static str, count: u8, function: impl Function) -> Result<()> {
        register(self, name, count, function)
    }
}

fn register<F: Function>(conn: &Connection, name: &str, count: u8, function: F) -> Result<()> {
    let name = CString::new(name).map_err(Error::new)?;
    let flags = match F::JSON {
        true => FLAGS.union(FunctionFlags::SQLITE_RESULT_SUBTYPE),
        false => FLAGS,
    };
    let function = Box::into_raw(Box::new(function));
    // SAFETY: the connection is open. `run` and `free` are those for `F`; SQLite frees the data
    // once, even if it refuses the function.
    let code = unsafe {
        ffi::sqlite3_create_function_v2(
            conn.handle(),
            name.as_ptr(),
            count.into(),
            flags.bits(),
            function.cast(),
            Some(run::<F>),
            None,
            None,
            Some(free::<F>),
        )
    };
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    // SAFETY: the connection is open.
    Err(unsafe { query::failure(conn.handle()) })
}

/// # Safety
///
/// SQLite calls it, for a function that was registered with an `F`.
unsafe extern "C" fn run<F: Function>(
    ctx: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the contract of this function; SQLite passes as many arguments as it says.
        let (function, values) = unsafe {
            let function = &*ffi::sqlite3_user_data(ctx).cast::<F>();
            let values: &[_] = match usize::try_from(count) {
                Ok(count) if count > 0 => slice::from_raw_parts(values, count),
                _ => &[],
            };
            (function, values)
        };
        let call = SqliteCall { ctx, values };
        match function.call(&call) {
            Ok(answer) => call.give(answer),
            Err(error) => call.fail(&error),
        }
    }));
    if done.is_err() {
        SqliteCall { ctx, values: &[] }.fail(&Error::panicked());
    }
}

/// # Safety
///
/// SQLite calls it, once, with an `F` from `register`.
unsafe extern "C" fn free<F>(function: *mut c_void) {
    // SAFETY: by the contract of this function.
    drop(unsafe { Box::from_raw(function.cast::<F>()) });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
