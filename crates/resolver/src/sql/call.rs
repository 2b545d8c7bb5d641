//! Functions by SQLite's C interface, so that a call costs what its function
//! costs. What is unsafe about a call is in this file.
//!
//! # Design
//!
//! rusqlite's `create_scalar_function` was there before. Its `Context` hands out
//! what a statement keeps as an `Arc` that is cloned, cast and dropped in every
//! call, and results and errors are large values on their way to SQLite. The
//! benchmark's section `sql` compares `to_boottime` with a function that does
//! nothing: with rusqlite's, and all else as it is now, the ratio was 1.43; with
//! this it is 1.18.
//!
//! Asking for integers before all other types, so that there is no jump by table,
//! was within the spread of the measurement.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result, ffi};

/// What the answer of a function depends on is its arguments and, within one
/// statement, the one graph that the statement sees.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// The key of what a statement as a whole keeps: negative, as SQLite has it for
/// auxiliary data that belongs to no argument, and our own.
pub(super) const STATEMENT: c_int = -1_952_605_811;

/// What a function answers.
pub(super) enum Answer {
    Null,
    Integer(i64),
    Text(Cow<'static, str>),
}

impl<T: Into<Answer>> From<Option<T>> for Answer {
    #[inline]
    fn from(answer: Option<T>) -> Answer {
        answer.map_or(Answer::Null, T::into)
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

/// What marks a statement, by its address.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Mark {
    /// rusqlite takes whatever a statement keeps for one of these, and its
    /// `Context::get_aux`, which is safe, may be called with our key: it shall find
    /// that this is not what its caller keeps.
    _of_another_type: Arc<dyn Any + Send + Sync>,
}

impl Mark {
    pub fn new() -> Arc<Mark> {
        struct Marked;
        Arc::new(Mark {
            _of_another_type: Arc::new(Marked),
        })
    }
}

/// A call of a function, while it lasts.
pub(super) struct Call<'a> {
    ctx: *mut ffi::sqlite3_context,
    values: &'a [*mut ffi::sqlite3_value],
}

impl Call<'_> {
    /// An argument; `None` if there is none at the index.
    #[inline]
    pub fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        let value = *self.values.get(index)?;
        // SAFETY: the arguments live while the call lasts, and `self` not longer.
        // One of text is read as text only and a blob as a blob only, so that no
        // later reading moves what an earlier one gave.
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

    /// The mark of the statement that calls. It is to be compared and not to be
    /// looked at: anybody's function may have put there what it likes.
    #[inline]
    pub fn mark(&self) -> *const Mark {
        // SAFETY: `ctx` is of this call.
        unsafe { ffi::sqlite3_get_auxdata(self.ctx, STATEMENT) }.cast()
    }

    /// Marks the statement until it ends or begins again.
    pub fn set_mark(&self, mark: Arc<Mark>) {
        // SAFETY: `ctx` is of this call. `drop_mark` takes what this gives, once.
        unsafe {
            let mark = Arc::into_raw(mark).cast_mut().cast();
            ffi::sqlite3_set_auxdata(self.ctx, STATEMENT, mark, Some(drop_mark));
        }
    }

    /// The connection that calls.
    pub fn with_connection<T>(&self, function: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // SAFETY: the connection that calls a function is open while it does, and
        // a reference can leave neither the closure nor the thread.
        let conn = unsafe { Connection::from_handle(ffi::sqlite3_context_db_handle(self.ctx)) }?;
        function(&conn)
    }

    fn give(&self, answer: &Answer) {
        // SAFETY: `ctx` is of this call; SQLite copies the text.
        unsafe {
            match answer {
                Answer::Null => ffi::sqlite3_result_null(self.ctx),
                Answer::Integer(value) => ffi::sqlite3_result_int64(self.ctx, *value),
                Answer::Text(text) => {
                    let (start, size) = sized(text);
                    ffi::sqlite3_result_text(self.ctx, start, size, ffi::SQLITE_TRANSIENT());
                }
            }
        }
    }

    #[cold]
    fn fail(&self, error: &Error) {
        let message = error.to_string();
        let (start, size) = sized(&message);
        // SAFETY: `ctx` is of this call; SQLite copies the text.
        unsafe { ffi::sqlite3_result_error(self.ctx, start, size) }
    }
}

/// # Safety
///
/// `start` is null, or the start of `size` bytes that nobody changes for `'a`.
unsafe fn bytes<'a>(start: *const u8, size: c_int) -> &'a [u8] {
    match usize::try_from(size) {
        // SAFETY: as of this function.
        Ok(size) if size > 0 && !start.is_null() => unsafe { slice::from_raw_parts(start, size) },
        // Empty; or there was no memory for it, and SQLite lets the statement
        // fail whatever is answered.
        _ => &[],
    }
}

/// A text as SQLite takes it. None is as long as to be cut.
fn sized(text: &str) -> (*const c_char, c_int) {
    let size = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    (text.as_ptr().cast(), size)
}

/// # Safety
///
/// SQLite calls it, with what `Call::set_mark` gave.
unsafe extern "C" fn drop_mark(mark: *mut c_void) {
    // SAFETY: as of this function.
    drop(unsafe { Arc::from_raw(mark.cast_const().cast::<Mark>()) });
}

/// Registers a function of `count` arguments.
pub(super) fn register<F>(conn: &Connection, name: &str, count: c_int, function: F) -> Result<()>
where
    F: Fn(&Call<'_>) -> Result<Answer> + Send + 'static,
{
    let name = CString::new(name)?;
    let function = Box::into_raw(Box::new(function));
    // SAFETY: the connection is open. `run` and `free` are those for `F`; SQLite
    // frees once, also what it refuses. It calls from one thread at a time, which
    // is enough for what is `Send`.
    let code = unsafe {
        ffi::sqlite3_create_function_v2(
            conn.handle(),
            name.as_ptr(),
            count,
            FLAGS.bits(),
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
    // SAFETY: the message is SQLite's until the next call, and copied before.
    let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(conn.handle())) };
    let message = message.to_string_lossy().into_owned();
    Err(Error::SqliteFailure(ffi::Error::new(code), Some(message)))
}

/// # Safety
///
/// SQLite calls it, for a function that was registered with an `F`.
unsafe extern "C" fn run<F>(
    ctx: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) where
    F: Fn(&Call<'_>) -> Result<Answer>,
{
    let done = catch_unwind(|| {
        // SAFETY: as of this function; SQLite gives as many arguments as it says.
        let (function, values) = unsafe {
            let function = &*ffi::sqlite3_user_data(ctx).cast::<F>();
            let values: &[_] = match usize::try_from(count) {
                Ok(count) if count > 0 => slice::from_raw_parts(values, count),
                _ => &[],
            };
            (function, values)
        };
        let call = Call { ctx, values };
        match AssertUnwindSafe(function)(&call) {
            Ok(answer) => call.give(&answer),
            Err(error) => call.fail(&error),
        }
    });
    if done.is_err() {
        Call { ctx, values: &[] }.fail(&Error::UnwindingPanic);
    }
}

/// # Safety
///
/// SQLite calls it, once, with an `F` that `register` gave.
unsafe extern "C" fn free<F>(function: *mut c_void) {
    // SAFETY: as of this function.
    drop(unsafe { Box::from_raw(function.cast::<F>()) });
}
