//! Values that one intrinsic hands to another with SQLite's pointer type: everybody else sees NULL.
//! The unsafe code of that is in this file.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use rusqlite::functions::Context;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::vtab::Filters;

/// A type of values that intrinsics hand on.
pub trait Handed: Send + Sync + 'static {
    /// SQLite returns a pointer only to who asks for it with the same text. So the text names the
    /// build: two builds of timebase may lay out one type differently.
    const KIND: &'static CStr;
}

/// The text for [`Handed::KIND`].
macro_rules! kind {
    ($name:literal) => {{
        const TEXT: &str = concat!("timebase ", env!("CARGO_PKG_VERSION"), " ", $name, "\0");
        match std::ffi::CStr::from_bytes_with_nul(TEXT.as_bytes()) {
            Ok(kind) => kind,
            Err(_) => c"timebase",
        }
    }};
}
pub(super) use kind;

/// A result that another intrinsic takes.
pub struct Pointer<T>(Arc<T>);

impl<T: Handed> Pointer<T> {
    pub fn to(value: T) -> Pointer<T> {
        Pointer(Arc::new(value))
    }
}

impl<T: Handed> From<Arc<T>> for Pointer<T> {
    fn from(value: Arc<T>) -> Pointer<T> {
        Pointer(value)
    }
}

impl<T: Handed> ToSql for Pointer<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let start = Arc::into_raw(Arc::clone(&self.0));
        Ok(ToSqlOutput::Pointer((start.cast(), T::KIND, Some(release::<T>))))
    }
}

/// # Safety
///
/// SQLite calls it, once, with the pointer from `Pointer::<T>::to_sql`.
unsafe extern "C" fn release<T>(start: *mut c_void) {
    // SAFETY: by the contract of this function.
    drop(unsafe { Arc::from_raw(start.cast_const().cast::<T>()) });
}

/// The value that an argument points to; `None` if the argument is anything else.
///
/// The result lives on its own: SQLite may release an argument while a cursor still reads it.
pub fn argument<T: Handed>(ctx: &Context<'_>, index: usize) -> Option<Arc<T>> {
    if index >= ctx.len() || !matches!(ctx.get_raw(index), ValueRef::Null) {
        return None;
    }
    // SAFETY: only `Pointer::<T>::to_sql` makes pointers with this text.
    unsafe { ctx.get_pointer::<T>(index, T::KIND).map(|value| shared(value)) }
}

/// [`argument`] for the arguments of a table-valued function.
pub fn filter<T: Handed>(filters: &Filters<'_>, index: usize) -> Option<Arc<T>> {
    match filters.iter().nth(index) {
        // SAFETY: as in `argument`.
        Some(ValueRef::Null) => unsafe {
            filters.get_pointer::<T>(index, T::KIND).map(|value| shared(value))
        },
        _ => None,
    }
}

/// # Safety
///
/// `value` comes from `Arc::into_raw`, and its `Arc` lives.
unsafe fn shared<T>(value: *const T) -> Arc<T> {
    // SAFETY: by the contract of this function.
    unsafe {
        Arc::increment_strong_count(value);
        Arc::from_raw(value)
    }
}
