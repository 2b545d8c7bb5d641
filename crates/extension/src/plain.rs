//! The functions for callers that have no connection to give away: C functions
//! that take and give values, and never call SQLite. The Python package registers
//! them with `sqlite3`, where that cannot load extensions.
//!
//! A *session* is what the functions of one connection share, a *statement* what
//! one sees of the database from its beginning to its end. A function that needs
//! rows asks for them by the session's [`Read`], while it is called.
//!
//! Values are handed over in three arrays, as many at once as there are: of each
//! value its kind ([`INTEGER`] and so on), a number (an integer itself, the bits of
//! a real one, the size of a text or blob), and behind one another the bytes of all
//! texts and blobs. Where there are no kinds, all values are integers.
//!
//! # Design
//!
//! Most values are integers, so the common call is one array of numbers, which
//! Python makes with one `struct.pack`; rows come by thousands. An array of tagged
//! unions was the alternative: there Python would make the array, for 0.3 µs, and
//! fill in each field of each value, for 0.1 µs and more. Of the 1.1 µs that a
//! conversion takes from Python as it is, most is ctypes' and sqlite3's.
//!
//! No function is called here that needs SQLite's table of functions, which the
//! library has only when SQLite has loaded it.
//!
//! Who changes a signature or a layout changes the function's name with it, so that
//! another version's package does not find it.

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
/// A text; an argument may be any bytes, an answer is UTF-8.
pub const TEXT: i32 = 3;
/// Bytes.
pub const BLOB: i32 = 4;
/// Of an answer only: a text that is JSON.
pub const JSON: i32 = 5;
/// There is no answer, but a text that says why.
pub const FAILED: i32 = -1;

/// Reads the rows of a query of `size` bytes, which has `count` values for its
/// parameters, for a function that is being called: hands them to `timebase_rows` until
/// that says that they are enough, or the reason why there are none to
/// `timebase_fail`.
pub type Read = unsafe extern "C" fn(
    sink: *mut c_void,
    sql: *const u8,
    size: usize,
    count: usize,
    kinds: *const u8,
    numbers: *const i64,
    texts: *const u8,
);

/// What the functions of one connection share.
pub struct Session {
    functions: List,
    read: Read,
}

/// What a function has answered.
#[repr(C)]
pub struct Output {
    /// Of an integer.
    number: i64,
    /// Of a real number.
    real: f64,
    /// Of a text or blob, or the reason why there is no answer: to be given to
    /// `timebase_free`.
    bytes: *mut u8,
    size: usize,
}

// Nothing breaks if they do not.
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

/// Values that were handed over, one after the other.
struct Cells<'a> {
    kinds: Option<slice::Iter<'a, u8>>,
    numbers: slice::Iter<'a, [u8; 8]>,
    texts: &'a [u8],
}

impl<'a> Cells<'a> {
    /// # Safety
    ///
    /// `kinds` is null or has `count` elements, `numbers` has `count`, and `texts` has
    /// `size`, or is null if that is 0; nobody changes them for `'a`. They need not be
    /// aligned.
    unsafe fn new(
        count: usize,
        kinds: *const u8,
        numbers: *const i64,
        texts: *const u8,
        size: usize,
    ) -> Cells<'a> {
        // SAFETY: as of this function.
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
/// `start` is that of `count` elements, which nobody changes for `'a`, or `count` is 0.
unsafe fn array<'a, T>(start: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: as of this function.
        count => unsafe { slice::from_raw_parts(start, count) },
    }
}

/// Values to hand over.
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
    /// Adds a text or blob; tells its size.
    fn bytes(&mut self, bytes: &[u8]) -> i64 {
        self.texts.extend(bytes);
        bytes.len() as i64
    }
}

/// More than any function has.
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

/// What takes the rows that the caller reads.
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
        // SAFETY: the caller hands the sink to `timebase_rows` and `timebase_fail`
        // only, before it returns.
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

/// Opens a session: all functions of timebase, for one connection. Null if that
/// is not possible.
///
/// # Safety
///
/// `read` may be called whenever a function of the session is, on its thread.
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
/// `session` is one that was opened, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_session_close(session: *mut Session) {
    // SAFETY: as of this function.
    let session = unsafe { Box::from_raw(session) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
}

/// Tells the name of a function, as a text, and in the number the count of its
/// arguments. Functions have the numbers 0, 1, 2 … up to one that is NULL.
///
/// # Safety
///
/// `session` is one that was opened, and `output` a place to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_function(
    session: *const Session,
    function: usize,
    output: *mut Output,
) -> i32 {
    // SAFETY: as of this function.
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

/// Begins a statement. It sees one version of the tables, whatever is written.
#[unsafe(no_mangle)]
pub extern "C" fn timebase_statement_begin() -> *mut Statement {
    Box::into_raw(Box::default())
}

/// Ends a statement.
///
/// # Safety
///
/// `statement` is one that was begun, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_statement_end(statement: *mut Statement) {
    // SAFETY: as of this function.
    let statement = unsafe { Box::from_raw(statement) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(statement)));
}

/// Calls a function, and returns of what kind its answer is. Calls of one session
/// come from any thread but one after the other, as SQLite has it for a connection.
///
/// # Safety
///
/// `session` is one that was opened; `statement` is null, for a call that is a
/// statement of its own, or one that was begun. `kinds` is null or has, like
/// `numbers`, as many elements as the function has arguments, `texts` has `size`
/// bytes; nobody changes them while the call lasts. `output` is a place to write to.
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
    // SAFETY: as of this function.
    let (session, statement) = unsafe { (&*session, statement.as_ref()) };
    let called = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as of this function; they do not outlive the call.
        let arguments = |count| unsafe { Cells::new(count, kinds, numbers, texts, size) };
        session.call(statement, function, arguments)
    }));
    let answer = called.unwrap_or_else(|_| Err(Error::new("unwinding panic")));
    // SAFETY: as of this function. Not before: a function that is called by reading
    // rows for this one may be given the same place.
    unsafe { &mut *output }.give(answer)
}

/// Takes `count` rows of `columns` values for a function that waits for them.
/// Returns 0 if they are enough, 1 if there may be more.
///
/// # Safety
///
/// Only a [`Read`] may call it, with its sink. `kinds` is null or has, like
/// `numbers`, `count` times `columns` elements, `texts` has `size` bytes; nobody
/// changes them while the call lasts.
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
    // SAFETY: as of this function; whoever made the sink waits for the caller.
    let sink = unsafe { &mut *sink.cast::<Sink<'_>>() };
    let taken = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as of this function.
        let cells =
            unsafe { Cells::new(count.saturating_mul(columns), kinds, numbers, texts, size) };
        sink.take(cells, count, columns)
    }));
    i32::from(taken.unwrap_or_else(|_| {
        sink.failed = Some(Error::new("unwinding panic"));
        false
    }))
}

/// Tells a function that waits for rows why there are none: a text of `size` bytes.
///
/// # Safety
///
/// Only a [`Read`] may call it, with its sink.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_fail(sink: *mut c_void, message: *const u8, size: usize) {
    // SAFETY: as of this function; whoever made the sink waits for the caller.
    let (sink, message) = unsafe { (&mut *sink.cast::<Sink<'_>>(), array(message, size)) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        sink.failed = Some(Error::new(String::from_utf8_lossy(message)));
    }));
}

/// Frees the bytes of an output.
///
/// # Safety
///
/// `bytes` and `size` are what was written to one output, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timebase_free(bytes: *mut u8, size: usize) {
    // SAFETY: as of this function.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(bytes, size)) });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]
mod tests;
