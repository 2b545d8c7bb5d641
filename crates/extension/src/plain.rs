//! The functions for callers that cannot hand over a connection: C functions that take and return
//! values, and never call SQLite. The Python package registers them with `sqlite3` if that cannot
//! load extensions.
//!
//! The functions of one connection share a *session*. A *statement* has one view of the database
//! from its beginning to its end. A function that needs rows requests them through the session's
//! [`Read`], while it is called.
//!
//! Values are passed in three arrays, several values at once: for each value its kind ([`INTEGER`]
//! and so on) and a number (an integer itself, the bits of a real number, the size of a text or
//! blob), and the bytes of all texts and blobs one after another. Without the array of kinds, all
//! values are integers.
//!
//! # Design
//!
//! Most values are integers, so the common call has one array of numbers, which Python makes with
//! one `struct.pack`; rows come by the thousand. The alternative was an array of tagged unions:
//! Python would need 0.3 µs to make the array, and 0.1 µs or more to fill in each field of each
//! value. A conversion from Python takes 1.1 µs, most of it in ctypes and sqlite3.
//!
//! These 470 lines, and 300 of Python, are for SQLite builds that cannot load any extension, such as Apple's: there is no other way to
//! functions there. Where an extension can be loaded, a conversion takes 0.05 µs instead of 1.1 µs, so nobody uses them.
//!
//! No function here may call code that needs SQLite's table of functions: the library only has the
//! table if SQLite has loaded it.
//!
//! If you change a signature or a layout, change the function's name with it, so that a package of
//! another version does not find it.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;

use timebase_sql::plain::{List, Rows, Statement};
use timebase_sql::{Answer, Error, Result, ValueRef};

use crate::version;

/// NULL.
pub const NULL: i32 = 0;
/// An integer of 64 bits.
pub const INTEGER: i32 = 1;
/// A real number of 64 bits.
pub const REAL: i32 = 2;
/// A text; an argument may have any bytes, an answer is UTF-8.
pub const TEXT: i32 = 3;
/// Bytes.
pub const BLOB: i32 = 4;
/// Only for an answer: a text that is JSON.
pub const JSON: i32 = 5;
/// There is no answer; a text says why.
pub const FAILED: i32 = -1;

/// Reads the rows of a query for a function that is being called. The query has `size` bytes and
/// `count` values for its parameters. Hands the rows to `timebase_rows` until that says that they
/// are enough, or the reason for a failure to `timebase_fail`.
pub type Read = unsafe extern "C" fn(
    sink: *mut c_void,
    sql: *const u8,
    size: usize,
    count: usize,
    kinds: *const u8,
    numbers: *const i64,
    texts: *const u8,
);

/// The shared state of the functions of one connection.
pub struct Session {
    functions: List,
    read: Read,
}

/// The answer of a function.
#[repr(C)]
pub struct Output {
    /// For an integer.
    number: i64,
    /// For a real number.
    real: f64,
    /// For a text or blob, or for the reason why there is no answer. Pass it to `timebase_free`.
    bytes: *mut u8,
    size: usize,
}

// Callers may use them on any thread.
const _: fn() = || {
    fn may_be_shared<T: Send + Sync>() {}
    may_be_shared::<(Session, Statement)>();
};

impl Output {
    fn give(&mut self, answer: Result<Answer>) -> i32 {
        match answer {
            Ok(Answer::Null) => NULL,
            Ok(Answer::Integer(value)) => {
                self.number = value;
                INTEGER
            }
            Ok(Answer::Real(value)) => {
                self.real = value;
                REAL
            }
            Ok(Answer::Text(text)) => self.give_bytes(text.into_owned().into(), TEXT),
            Ok(Answer::Blob(bytes)) => self.give_bytes(bytes, BLOB),
            Ok(Answer::Json(text)) => self.give_bytes(text.into(), JSON),
            Err(error) => self.give_bytes(error.message().into(), FAILED),
        }
    }

    fn give_bytes(&mut self, bytes: Vec<u8>, kind: i32) -> i32 {
        self.size = bytes.len();
        self.bytes = Box::into_raw(bytes.into_boxed_slice()).cast();
        kind
    }
}

/// Values from the caller, one after the other.
struct Cells<'a> {
    kinds: Option<slice::Iter<'a, u8>>,
    numbers: slice::Iter<'a, [u8; 8]>,
    texts: &'a [u8],
}

impl<'a> Cells<'a> {
    /// # Safety
    ///
    /// `kinds` is null or has `count` elements; `numbers` has `count` elements; `texts` has `size`
    /// bytes, or is null if that is 0. Nothing changes them for `'a`. They may be unaligned.
    unsafe fn new(
        count: usize,
        kinds: *const u8,
        numbers: *const i64,
        texts: *const u8,
        size: usize,
    ) -> Cells<'a> {
        // SAFETY: by the contract of this function.
        unsafe {
            Cells {
                kinds: (!kinds.is_null()).then(|| array(kinds, count).iter()),
                numbers: array(numbers.cast(), count).iter(),
                texts: array(texts, size),
            }
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = ValueRef<'a>;

    fn next(&mut self) -> Option<ValueRef<'a>> {
        let number = i64::from_ne_bytes(*self.numbers.next()?);
        let kind = match &mut self.kinds {
            None => INTEGER,
            Some(kinds) => i32::from(*kinds.next()?),
        };
        match kind {
            NULL => Some(ValueRef::Null),
            INTEGER => Some(ValueRef::Integer(number)),
            REAL => Some(ValueRef::Real(f64::from_bits(number.cast_unsigned()))),
            TEXT => self.bytes(number).map(ValueRef::Text),
            BLOB => self.bytes(number).map(ValueRef::Blob),
            _ => None,
        }
    }
}

impl<'a> Cells<'a> {
    fn bytes(&mut self, size: i64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.texts.split_at_checked(usize::try_from(size).ok()?)?;
        self.texts = rest;
        Some(bytes)
    }
}

/// # Safety
///
/// `start` points to `count` elements that nothing changes for `'a`, or `count` is 0.
unsafe fn array<'a, T>(start: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: by the contract of this function.
        count => unsafe { slice::from_raw_parts(start, count) },
    }
}

/// Values for the caller.
#[derive(Default)]
struct Given {
    kinds: Vec<u8>,
    numbers: Vec<i64>,
    texts: Vec<u8>,
}

impl From<&[ValueRef<'_>]> for Given {
    fn from(values: &[ValueRef<'_>]) -> Given {
        let mut given = Given::default();
        for value in values {
            let (kind, number) = match *value {
                ValueRef::Null => (NULL, 0),
                ValueRef::Integer(value) => (INTEGER, value),
                ValueRef::Real(value) => (REAL, value.to_bits().cast_signed()),
                ValueRef::Text(bytes) => (TEXT, given.bytes(bytes)),
                ValueRef::Blob(bytes) => (BLOB, given.bytes(bytes)),
            };
            given.kinds.push(kind as u8);
            given.numbers.push(number);
        }
        given
    }
}

impl Given {
    /// Adds a text or blob; returns its size.
    fn bytes(&mut self, bytes: &[u8]) -> i64 {
        self.texts.extend(bytes);
        bytes.len() as i64
    }
}

/// More than the arguments of any function.
const MOST_ARGUMENTS: usize = 8;

impl Session {
    fn call<'a>(
        &self,
        statement: Option<&Statement>,
        function: usize,
        arguments: impl FnOnce(usize) -> Cells<'a>,
    ) -> Result<Answer> {
        let function = self.functions.get(function);
        let function = function.ok_or_else(|| Error::new("there is no such function"))?;
        let count = usize::from(function.count());
        let mut values = [ValueRef::Null; MOST_ARGUMENTS];
        let mut taken = 0;
        for (value, argument) in values.iter_mut().zip(arguments(count)) {
            *value = argument;
            taken += 1;
        }
        let values = values.get(..taken).unwrap_or_default();
        function.call(values, statement, &Reader(self.read))
    }
}

/// The database of the caller.
struct Reader(Read);

/// The receiver of the rows that the caller reads.
struct Sink<'a> {
    each: &'a mut dyn FnMut(&[ValueRef<'_>]) -> ControlFlow<()>,
    failed: Option<Error>,
}

impl Rows for Reader {
    fn read(
        &self,
        sql: &str,
        parameters: &[ValueRef<'_>],
        each: &mut dyn FnMut(&[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut sink = Sink { each, failed: None };
        let given = Given::from(parameters);
        // SAFETY: the caller only passes the sink to `timebase_rows` and `timebase_fail`, and does
        // so before it returns.
        unsafe {
            (self.0)(
                (&raw mut sink).cast(),
                sql.as_ptr(),
                sql.len(),
                parameters.len(),
                given.kinds.as_ptr(),
                given.numbers.as_ptr(),
                given.texts.as_ptr(),
            );
        }
        sink.failed.map_or(Ok(()), Err)
    }
}

impl Sink<'_> {
    /// Whether there may be more rows.
    fn take(&mut self, mut cells: Cells<'_>, count: usize, columns: usize) -> bool {
        let mut row = Vec::with_capacity(columns);
        for _ in 0..count {
            row.clear();
            row.extend(cells.by_ref().take(columns));
            if row.len() != columns {
                self.failed = Some(Error::new("the rows are not as they were announced"));
                return false;
            }
            if (self.each)(&row).is_break() {
                return false;
            }
        }
        true
    }
}

/// Opens a session: all functions of timebase, for one connection. Returns null if that fails.
///
/// # Safety
///
/// It must be allowed to call `read` during each call of a function of the session, on the same
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_session_open(read: Read) -> *mut Session {
    let opened = catch_unwind(|| {
        let mut functions = List::default();
        timebase::sql::add(&mut functions)?;
        version::add(&mut functions, None)?;
        Ok::<_, Error>(Box::new(Session { functions, read }))
    });
    match opened {
        Ok(Ok(session)) => Box::into_raw(session),
        _ => ptr::null_mut(),
    }
}

/// Closes a session.
///
/// # Safety
///
/// `session` was opened, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_session_close(session: *mut Session) {
    // SAFETY: by the contract of this function.
    let session = unsafe { Box::from_raw(session) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
}

/// Returns the name of a function as a text, and in the number the count of its arguments.
/// Functions have the numbers 0, 1, 2 …; the name after the last is NULL.
///
/// # Safety
///
/// `session` was opened, and `output` is a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_function(
    session: *const Session,
    function: usize,
    output: *mut Output,
) -> i32 {
    // SAFETY: by the contract of this function.
    let (session, output) = unsafe { (&*session, &mut *output) };
    let told = catch_unwind(AssertUnwindSafe(|| {
        let Some(function) = session.functions.get(function) else {
            return NULL;
        };
        let kind = output.give(Ok(function.name().into()));
        output.number = function.count().into();
        kind
    }));
    told.unwrap_or(NULL)
}

/// Begins a statement. It sees one version of the tables, even if they change.
#[unsafe(no_mangle)]
pub extern "C" fn timebase_statement_begin() -> *mut Statement {
    Box::into_raw(Box::default())
}

/// Ends a statement.
///
/// # Safety
///
/// `statement` was begun, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_statement_end(statement: *mut Statement) {
    // SAFETY: by the contract of this function.
    let statement = unsafe { Box::from_raw(statement) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(statement)));
}

/// Calls a function, and returns the kind of its answer. Calls of one session may come from any
/// thread, but one after the other, like SQLite's calls of a connection.
///
/// # Safety
///
/// `session` was opened; `statement` was begun, or is null for a call that is a statement of its
/// own. `kinds` is null or has as many elements as the function has arguments; so has `numbers`;
/// `texts` has `size` bytes. Nothing changes them during the call. `output` is a place for the
/// answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_call(
    session: *const Session,
    statement: *const Statement,
    function: usize,
    kinds: *const u8,
    numbers: *const i64,
    texts: *const u8,
    size: usize,
    output: *mut Output,
) -> i32 {
    // SAFETY: by the contract of this function.
    let (session, statement) = unsafe { (&*session, statement.as_ref()) };
    let called = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the contract of this function; the values do not outlive the call.
        let arguments = |count| unsafe { Cells::new(count, kinds, numbers, texts, size) };
        session.call(statement, function, arguments)
    }));
    let answer = called.unwrap_or_else(|_| Err(Error::new("unwinding panic")));
    // SAFETY: by the contract of this function. This must come last: a function that is called to
    // read rows for this one may get the same place.
    unsafe { &mut *output }.give(answer)
}

/// Takes `count` rows of `columns` values for a function that waits for them. Returns 0 if they are
/// enough, 1 if there may be more.
///
/// # Safety
///
/// Only a [`Read`] may call it, with its sink. `kinds` is null or has `count` times `columns`
/// elements; so has `numbers`; `texts` has `size` bytes. Nothing changes them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_rows(
    sink: *mut c_void,
    count: usize,
    columns: usize,
    kinds: *const u8,
    numbers: *const i64,
    texts: *const u8,
    size: usize,
) -> i32 {
    // SAFETY: by the contract of this function; the maker of the sink waits for the caller.
    let sink = unsafe { &mut *sink.cast::<Sink<'_>>() };
    let taken = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the contract of this function.
        let cells =
            unsafe { Cells::new(count.saturating_mul(columns), kinds, numbers, texts, size) };
        sink.take(cells, count, columns)
    }));
    i32::from(taken.unwrap_or_else(|_| {
        sink.failed = Some(Error::new("unwinding panic"));
        false
    }))
}

/// Tells a function that waits for rows why there are none, with a text of `size` bytes.
///
/// # Safety
///
/// Only a [`Read`] may call it, with its sink.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_fail(sink: *mut c_void, message: *const u8, size: usize) {
    // SAFETY: by the contract of this function; the maker of the sink waits for the caller.
    let (sink, message) = unsafe { (&mut *sink.cast::<Sink<'_>>(), array(message, size)) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        sink.failed = Some(Error::new(String::from_utf8_lossy(message)));
    }));
}

/// Frees the bytes of an output.
///
/// # Safety
///
/// `bytes` and `size` come from one output, and are passed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_free(bytes: *mut u8, size: usize) {
    // SAFETY: by the contract of this function.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(bytes, size)) });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]
mod tests;
