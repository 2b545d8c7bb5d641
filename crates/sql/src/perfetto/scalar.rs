//! Functions with one value (PQ5).
//!
//! # Design
//!
//! SQLite does not define a function anew while a statement runs, so a name is registered once, and
//! the call looks up its current definition. A definition that is undone leaves the name, and a
//! call is an error.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::{Arc, Mutex};

use rusqlite::ffi;

use super::dialect::Column;
use super::expand::{Sql, pieces};
use super::held::Held;
use super::intrinsics::BYTES;
use super::pool::{Pool, Pools, locked};
use super::prepared::Prepared;
use super::source::Source;
use super::types::told;
use crate::error::{Error, Result};
use crate::query::{failure, quoted};
use crate::value::ValueRef;

/// The definition of a function.
pub struct Scalar {
    name: String,
    arguments: Vec<Column>,
    /// Whether the types of arguments are checked: not if another function does it.
    is_checked: bool,
    body: Body,
    pools: Arc<Pools>,
    memo: Mutex<Option<Memo>>,
}

enum Body {
    Select {
        /// The place of each argument in the statement; 0 if it is not used.
        places: Vec<c_int>,
        pool: Arc<Pool>,
    },
    /// A call of another function with all arguments, however many there are.
    PassesOn { to: String, by_count: Mutex<HashMap<usize, Arc<Pool>>> },
}

/// The results of a function by its only argument.
#[derive(Default)]
struct Memo {
    results: HashMap<i64, Held>,
    /// The memory that they take.
    bytes: usize,
    /// The calls of the function by itself, while one is computed.
    calls: Option<Calls>,
}

/// Calls of a function by itself, of which each waits for the next one. Every one runs on its own, so that the stack
/// does not limit their depth: a call whose result is not known is NULL at first, and the body that needs it
/// runs again when it is known.
#[derive(Default)]
struct Calls {
    chain: Vec<i64>,
    in_chain: HashSet<i64>,
    /// With NULL, which is not kept.
    known: HashMap<i64, Held>,
    /// The bytes of the known texts and blobs.
    bytes: usize,
    /// The call whose result the running body lacks.
    asked: Option<i64>,
}

impl Calls {
    /// More would not end, or take all memory.
    const DEEPEST: usize = 1 << 20;

    fn push(&mut self, key: i64) -> bool {
        self.chain.push(key);
        self.in_chain.insert(key) && self.chain.len() <= Self::DEEPEST
    }

    /// Ends the last call. Says whether all results together are not too large.
    fn pop(&mut self, result: Held) -> bool {
        if let Held::Text(bytes) | Held::Blob(bytes) = &result {
            self.bytes = self.bytes.saturating_add(bytes.len());
        }
        if let Some(key) = self.chain.pop() {
            self.in_chain.remove(&key);
            self.known.insert(key, result);
        }
        self.bytes <= BYTES
    }
}

impl Memo {
    /// A result that is known.
    fn result(&self, key: i64) -> Option<Held> {
        let of_calls = || self.calls.as_ref().and_then(|calls| calls.known.get(&key));
        self.results.get(&key).or_else(of_calls).cloned()
    }

    /// More is not kept, in bytes.
    const MOST: usize = 256 << 20;

    /// Keeps a result, but not NULL, as in trace processor.
    fn keep(&mut self, key: i64, result: Held) {
        const ENTRY: usize = size_of::<(i64, Held)>() * 2;
        let more = match &result {
            Held::Null => return,
            Held::Text(bytes) | Held::Blob(bytes) => bytes.len().saturating_add(ENTRY),
            Held::Integer(_) | Held::Real(_) => ENTRY,
        };
        let bytes = self.bytes.saturating_add(more);
        if bytes <= Self::MOST && self.results.insert(key, result).is_none() {
            self.bytes = bytes;
        }
    }
}

/// A registered name, for one number of arguments.
#[derive(Default)]
pub struct Slot {
    name: String,
    current: Mutex<Option<Arc<Scalar>>>,
}

impl Slot {
    pub fn new(name: &str) -> Arc<Slot> {
        Arc::new(Slot { name: name.to_owned(), current: Mutex::default() })
    }

    /// Defines the function; `None` undoes the definition.
    pub fn define(&self, definition: Option<Arc<Scalar>>) {
        // The old one is dropped after the lock, because it may end statements.
        let old = std::mem::replace(&mut *locked(&self.current), definition);
        drop(old);
    }

    /// Registers the name on a connection.
    ///
    /// # Safety
    ///
    /// `conn` is open.
    ///
    /// # Errors
    ///
    /// If SQLite refuses it: a function with this name exists, and a statement runs.
    pub unsafe fn register(self: &Arc<Slot>, conn: *mut ffi::sqlite3, count: c_int) -> Result<()> {
        let name = CString::new(self.name.as_str()).map_err(Error::new)?;
        let flags = ffi::SQLITE_UTF8 | ffi::SQLITE_DETERMINISTIC | ffi::SQLITE_INNOCUOUS;
        let slot = Arc::into_raw(Arc::clone(self)).cast_mut().cast();
        // SAFETY: by the contract of this function. SQLite frees the slot once, even if it refuses
        // the function.
        let code = unsafe {
            ffi::sqlite3_create_function_v2(
                conn,
                name.as_ptr(),
                count,
                flags,
                slot,
                Some(call),
                None,
                None,
                Some(free),
            )
        };
        match code {
            ffi::SQLITE_OK => Ok(()),
            // SAFETY: as above.
            _ => Err(unsafe { failure(conn) }),
        }
    }
}

impl Scalar {
    /// A definition with a body that has been found correct.
    pub fn new(
        name: &str,
        arguments: Vec<Column>,
        sql: &Sql,
        pools: &Arc<Pools>,
        body: &Prepared,
    ) -> Scalar {
        let place = |argument: &Column| body.parameter(&format!("${}", argument.name));
        let body = Body::Select {
            places: arguments.iter().map(place).collect(),
            pool: pools.add(sql.clone()),
        };
        Scalar::of(name, arguments, body, pools)
    }

    /// A function of any number of arguments, which calls another one with them (PQ6).
    pub fn passing_on(name: &str, to: &str, pools: &Arc<Pools>) -> Scalar {
        let body = Body::PassesOn { to: to.to_owned(), by_count: Mutex::default() };
        Scalar::of(name, Vec::new(), body, pools)
    }

    fn of(name: &str, arguments: Vec<Column>, body: Body, pools: &Arc<Pools>) -> Scalar {
        Scalar {
            name: name.to_owned(),
            arguments,
            is_checked: true,
            body,
            pools: Arc::clone(pools),
            memo: Mutex::default(),
        }
    }

    /// The same, but with any types of arguments.
    pub fn unchecked(self) -> Scalar {
        Scalar { is_checked: false, ..self }
    }

    /// Keeps the result of each call with an integer from now on. Says whether that is possible:
    /// the function has one argument, an integer.
    pub fn memoize(&self) -> bool {
        let [argument] = self.arguments.as_slice() else {
            return false;
        };
        let is_possible = argument.declared.of_column() == "INTEGER";
        if is_possible {
            locked(&self.memo).get_or_insert_default();
        }
        is_possible
    }

    /// The statement for a number of arguments.
    fn pool(&self, count: usize) -> Arc<Pool> {
        match &self.body {
            Body::Select { pool, .. } => Arc::clone(pool),
            Body::PassesOn { to, by_count } => {
                let mut by_count = locked(by_count);
                let made = by_count.entry(count).or_insert_with(|| {
                    let places: Vec<String> =
                        (1..=count).map(|place| format!("?{place}")).collect();
                    let text = format!("SELECT {}({})", quoted(to), places.join(", "));
                    let source = Source::new(Some(format!("{}()", self.name)), &text);
                    self.pools.add(Sql::of(&pieces(&source, 0, text.len())))
                });
                Arc::clone(made)
            }
        }
    }

    /// The place of an argument in the statement; 0 if it is not used.
    fn place(&self, argument: usize) -> c_int {
        match &self.body {
            Body::Select { places, .. } => places.get(argument).copied().unwrap_or(0),
            Body::PassesOn { .. } => {
                c_int::try_from(argument).map_or(0, |argument| argument.saturating_add(1))
            }
        }
    }

    /// # Safety
    ///
    /// `ctx` and `values` belong to a current call.
    unsafe fn run(
        &self,
        ctx: *mut ffi::sqlite3_context,
        values: &[*mut ffi::sqlite3_value],
    ) -> Result<()> {
        // SAFETY: by the contract of this function.
        unsafe {
            self.check(values)?;
            let Some(key) = self.key(values) else {
                return self.step(ctx, values);
            };
            let kept = locked(&self.memo).as_ref().and_then(|memo| memo.result(key));
            let result = match kept {
                Some(kept) => kept,
                None => self.computed(ctx, key)?,
            };
            give(ctx, &result);
        }
        Ok(())
    }

    /// # Safety
    ///
    /// `ctx` and `values` belong to a current call.
    unsafe fn step(
        &self,
        ctx: *mut ffi::sqlite3_context,
        values: &[*mut ffi::sqlite3_value],
    ) -> Result<()> {
        let pool = self.pool(values.len());
        let _deeper = self.pools.enter(&self.name)?;
        // SAFETY: by the contract of this function.
        let mut statement = unsafe { pool.take(ffi::sqlite3_context_db_handle(ctx)) }?;
        for (argument, value) in values.iter().enumerate() {
            let place = self.place(argument);
            if place != 0 {
                // SAFETY: by the contract of this function.
                unsafe { statement.bind(place, *value) }?;
            }
        }
        self.first_row(&pool, &mut statement, |row| {
            // SAFETY: `ctx` belongs to a current call, and the statement is at its row.
            unsafe {
                match row {
                    Some(row) => ffi::sqlite3_result_value(ctx, row.column(0)),
                    None => ffi::sqlite3_result_null(ctx),
                }
            }
        })
    }

    fn first_row(
        &self,
        pool: &Pool,
        statement: &mut Prepared,
        take: impl FnOnce(Option<&Prepared>),
    ) -> Result<()> {
        if !statement.step()? {
            take(None);
            return Ok(());
        }
        take(Some(statement));
        match statement.step()? {
            false => Ok(()),
            true => Err(pool.sql().explain(
                &format!(
                    "{}(): its SELECT found more than one row; add LIMIT 1, or an aggregate",
                    self.name
                ),
                None,
            )),
        }
    }

    /// The result for an integer of a function that keeps its results.
    ///
    /// # Safety
    ///
    /// `ctx` and `values` belong to a current call.
    unsafe fn computed(&self, ctx: *mut ffi::sqlite3_context, key: i64) -> Result<Held> {
        if let Some(memo) = locked(&self.memo).as_mut() {
            if let Some(calls) = &mut memo.calls {
                // The function calls itself.
                calls.asked.get_or_insert(key);
                self.pools.hand_out_provisional();
                return Ok(Held::Null);
            }
            let mut calls = Calls::default();
            calls.push(key);
            memo.calls = Some(calls);
        }
        // SAFETY: by the contract of this function.
        let result = unsafe { self.unrolled(ctx) };
        if let Some(memo) = locked(&self.memo).as_mut() {
            memo.calls = None;
        }
        result
    }

    /// # Safety
    ///
    /// `ctx` belongs to a current call.
    unsafe fn unrolled(&self, ctx: *mut ffi::sqlite3_context) -> Result<Held> {
        let mut result = Held::Null;
        while let Some(key) = self.with_calls(|calls| calls.chain.last().copied()).flatten() {
            let before = self.pools.provisional();
            // SAFETY: by the contract of this function.
            let done = unsafe { self.step_integer(ctx, key, &mut result) };
            let asked = self.with_calls(|calls| calls.asked.take()).flatten();
            match (asked, done) {
                (_, Err(error)) if error.is_interrupt() => return Err(error),
                (Some(asked), _) => {
                    let is_new = self.with_calls(|calls| calls.push(asked));
                    if is_new == Some(false) {
                        return Err(Error::new(format_args!(
                            "{}(): the result for {asked} depends on itself, or on more than {} other results",
                            self.name,
                            Calls::DEEPEST
                        )));
                    }
                }
                (None, Err(error)) => return Err(error),
                // Another function has to run again, and then this one.
                (None, Ok(())) if self.pools.provisional() != before => return Ok(result),
                (None, Ok(())) => {
                    if let Some(memo) = locked(&self.memo).as_mut() {
                        memo.keep(key, result.clone());
                    }
                    if self.with_calls(|calls| calls.pop(result.clone())) == Some(false) {
                        return Err(Error::new(format_args!(
                            "{}(): its results need more than 2 GiB of memory",
                            self.name
                        )));
                    }
                }
            }
        }
        Ok(result)
    }

    fn with_calls<T>(&self, with: impl FnOnce(&mut Calls) -> T) -> Option<T> {
        locked(&self.memo).as_mut()?.calls.as_mut().map(with)
    }

    /// Runs the body for an integer.
    ///
    /// # Safety
    ///
    /// `ctx` belongs to a current call.
    unsafe fn step_integer(
        &self,
        ctx: *mut ffi::sqlite3_context,
        key: i64,
        result: &mut Held,
    ) -> Result<()> {
        let pool = self.pool(1);
        let _deeper = self.pools.enter(&self.name)?;
        // SAFETY: by the contract of this function.
        let mut statement = unsafe { pool.take(ffi::sqlite3_context_db_handle(ctx)) }?;
        let place = self.place(0);
        if place != 0 {
            statement.bind_ref(place, ValueRef::Integer(key))?;
        }
        self.first_row(&pool, &mut statement, |row| {
            *result = row.map_or(Held::Null, |row| Held::of(row.value(0)));
        })
    }

    /// The argument, if the function keeps its results.
    ///
    /// # Safety
    ///
    /// The values belong to a current call.
    unsafe fn key(&self, values: &[*mut ffi::sqlite3_value]) -> Option<i64> {
        let value = *values.first()?;
        let is_kept = values.len() == 1 && locked(&self.memo).is_some();
        // SAFETY: by the contract of this function.
        unsafe {
            let is_integer = is_kept && ffi::sqlite3_value_type(value) == ffi::SQLITE_INTEGER;
            is_integer.then(|| ffi::sqlite3_value_int64(value))
        }
    }

    /// # Safety
    ///
    /// The values belong to a current call.
    unsafe fn check(&self, values: &[*mut ffi::sqlite3_value]) -> Result<()> {
        if !self.is_checked {
            return Ok(());
        }
        for (index, (argument, value)) in self.arguments.iter().zip(values).enumerate() {
            // SAFETY: by the contract of this function.
            let code = unsafe { ffi::sqlite3_value_type(*value) };
            if !argument.declared.takes(code) {
                return Err(Error::new(format_args!(
                    "{}(): argument {} ({}) must be {}, not {}",
                    self.name,
                    index.saturating_add(1),
                    argument.name,
                    argument.declared.name(),
                    told(code)
                )));
            }
        }
        Ok(())
    }
}

/// # Safety
///
/// `ctx` belongs to a current call.
unsafe fn give(ctx: *mut ffi::sqlite3_context, kept: &Held) {
    let copied = ffi::SQLITE_TRANSIENT();
    // SAFETY: by the contract of this function; SQLite copies texts and blobs.
    unsafe {
        match kept {
            Held::Null => ffi::sqlite3_result_null(ctx),
            Held::Integer(value) => ffi::sqlite3_result_int64(ctx, *value),
            Held::Real(value) => ffi::sqlite3_result_double(ctx, *value),
            Held::Text(text) => {
                let (start, encoding) = (text.as_ptr().cast(), ffi::SQLITE_UTF8 as u8);
                ffi::sqlite3_result_text64(ctx, start, text.len() as u64, copied, encoding);
            }
            Held::Blob(blob) => {
                ffi::sqlite3_result_blob64(ctx, blob.as_ptr().cast(), blob.len() as u64, copied);
            }
        }
    }
}

/// Makes the error the result of a call.
///
/// # Safety
///
/// `ctx` belongs to a current call.
#[cold]
pub unsafe fn fail(ctx: *mut ffi::sqlite3_context, error: &Error) {
    let message = error.message();
    let size = c_int::try_from(message.len()).unwrap_or(c_int::MAX);
    // SAFETY: by the contract of this function; SQLite copies the text.
    unsafe {
        ffi::sqlite3_result_error(ctx, message.as_ptr().cast::<c_char>(), size);
        if error.is_interrupt() {
            ffi::sqlite3_result_error_code(ctx, ffi::SQLITE_INTERRUPT);
        }
    }
}

/// # Safety
///
/// SQLite calls it, for a function that was registered with a slot.
unsafe extern "C" fn call(
    ctx: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the contract of this function; SQLite passes as many arguments as it says.
        unsafe {
            let slot = &*ffi::sqlite3_user_data(ctx).cast::<Slot>();
            let values: &[_] = match usize::try_from(count) {
                Ok(count) if count > 0 => slice::from_raw_parts(values, count),
                _ => &[],
            };
            let current = locked(&slot.current).clone();
            match current {
                Some(scalar) => scalar.run(ctx, values),
                None => Err(Error::new(format_args!(
                    "no such function: {}; it was dropped, the module that declared it failed, or timebase does not have what it delegates to",
                    slot.name
                ))),
            }
        }
    }));
    let error = match done {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error,
        Err(_) => Error::panicked(),
    };
    // SAFETY: `ctx` belongs to this call.
    unsafe { fail(ctx, &error) };
}

/// # Safety
///
/// SQLite calls it, once, with a slot from `register`.
unsafe extern "C" fn free(slot: *mut c_void) {
    // SAFETY: by the contract of this function.
    drop(unsafe { Arc::from_raw(slot.cast_const().cast::<Slot>()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pq10_results_are_kept_until_they_take_too_much_memory() {
        let mut memo = Memo::default();
        let mebibyte: Arc<[u8]> = vec![0; 1 << 20].into();
        for key in 0..1000 {
            memo.keep(key % 300, Held::Blob(Arc::clone(&mebibyte)));
        }
        memo.keep(1000, Held::Null);
        assert!(!memo.results.contains_key(&1000));
        assert!(memo.bytes <= Memo::MOST);
        assert!((200..=256).contains(&memo.results.len()), "{}", memo.results.len());
        assert!(memo.results.contains_key(&0));
    }
}
