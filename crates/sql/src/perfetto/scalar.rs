//! Functions with one value (PQ5).
//!
//! # Design
//!
//! SQLite does not define a function anew while a statement runs, so a name is registered once, and
//! the call looks up its current definition. A definition that is undone leaves the name, and a
//! call is an error.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::{Arc, Mutex};

use rusqlite::ffi;

use super::dialect::Column;
use super::expand::Sql;
use super::held::Held;
use super::pool::{Pool, Pools, locked};
use super::prepared::Prepared;
use super::types::told;
use crate::error::{Error, Result};
use crate::query::failure;

/// The definition of a function.
pub struct Scalar {
    name: String,
    arguments: Vec<Column>,
    /// Whether the types of arguments are checked: not if another function does it.
    is_checked: bool,
    /// The place of each argument in the statement; 0 if it is not used.
    places: Vec<c_int>,
    pool: Arc<Pool>,
    pools: Arc<Pools>,
    memo: Mutex<Option<Memo>>,
}

/// The results of a function by its only argument.
#[derive(Default)]
struct Memo {
    results: HashMap<i64, Held>,
    /// The memory that they take.
    bytes: usize,
}

impl Memo {
    /// More is not kept, in bytes.
    const MOST: usize = 256 << 20;

    fn keep(&mut self, key: i64, result: Held) {
        const ENTRY: usize = size_of::<(i64, Held)>() * 2;
        let more = match &result {
            Held::Text(bytes) | Held::Blob(bytes) => bytes.len().saturating_add(ENTRY),
            Held::Null | Held::Integer(_) | Held::Real(_) => ENTRY,
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
        Scalar {
            name: name.to_owned(),
            places: arguments.iter().map(place).collect(),
            arguments,
            is_checked: true,
            pool: pools.add(sql.clone()),
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
            let key = self.key(values);
            let kept = |key: i64| locked(&self.memo).as_ref()?.results.get(&key).cloned();
            if let Some(kept) = key.and_then(kept) {
                give(ctx, &kept);
                return Ok(());
            }
            let _deeper = self.pools.enter(&self.name)?;
            let mut statement = self.pool.take(ffi::sqlite3_context_db_handle(ctx))?;
            for (place, value) in self.places.iter().zip(values) {
                if *place != 0 {
                    statement.bind(*place, *value)?;
                }
            }
            if !statement.step()? {
                ffi::sqlite3_result_null(ctx);
                self.keep(key, Held::Null);
                return Ok(());
            }
            ffi::sqlite3_result_value(ctx, statement.column(0));
            if key.is_some() {
                self.keep(key, Held::of(statement.value(0)));
            }
            if statement.step()? {
                return Err(self.pool.sql().explain(
                    &format!(
                        "{}(): its SELECT found more than one row; add LIMIT 1, or an aggregate",
                        self.name
                    ),
                    None,
                ));
            }
        }
        Ok(())
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

    fn keep(&self, key: Option<i64>, result: Held) {
        if let (Some(key), Some(memo)) = (key, locked(&self.memo).as_mut()) {
            memo.keep(key, result);
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
        assert!(memo.bytes <= Memo::MOST);
        assert!((200..=256).contains(&memo.results.len()), "{}", memo.results.len());
        assert!(memo.results.contains_key(&0));
    }
}
