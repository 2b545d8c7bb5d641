//! The SQL functions of timebase as a loadable extension of SQLite.
//!
//! `cargo extension`, at the root of the repository, makes
//! `target/extension/release/libtimebase.so` (`.dylib` on macOS, `timebase.dll`
//! on Windows). In the `sqlite3` shell:
//!
//! ```text
//! sqlite> .load ./target/extension/release/libtimebase
//! sqlite> SELECT to_boottime('MONOTONIC', 0, 1104);
//! ```
//!
//! It works with SQLite 3.40 and later. `timebase_version()` returns the loaded version;
//! all other functions are those of the program, from the same code. The module
//! [`plain`] has them for a SQLite that cannot load extensions.
//!
//! # Design
//!
//! With `loadable_extension`, rusqlite calls SQLite through the host's table of functions; with
//! `bundled`, it has its own SQLite; a build cannot have both. So this crate is a separate
//! workspace, and no build of the program can take over the feature from it. The alternative was to
//! write the extension against the C API without rusqlite; then the functions would be written
//! twice.
//!
//! SQLite never unloads the library. Otherwise data that the functions keep for the life of the
//! process, such as Perfetto's schema, would be lost and loaded again with each connection.

mod host;
pub mod plain;
mod version;

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::{Connection, Result, ffi};

use version::Loaded;

/// SQLite calls this when it loads `libtimebase`: it derives the name from the file's name.
///
/// # Safety
///
/// Only SQLite may call it, as the entry point of an extension, with an open connection, a place
/// for a message, and its table of functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_timebase_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { enter(db, message, api) }
}

/// SQLite calls this if the file has another name.
///
/// # Safety
///
/// As for [`sqlite3_timebase_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { enter(db, message, api) }
}

/// The common part of both. This code must not call an exported function: SQLite opens libraries
/// such that the call would end in the copy that was loaded first.
///
/// # Safety
///
/// As for [`sqlite3_timebase_init`].
unsafe fn enter(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: by the contract of this function.
    let loaded = catch_unwind(AssertUnwindSafe(|| unsafe { load(db, message, api) }));
    loaded.unwrap_or_else(|_| {
        // SAFETY: by the contract of this function.
        unsafe { host::report(api, message, "timebase: unwinding panic") };
        ffi::SQLITE_INTERNAL
    })
}

/// # Safety
///
/// As for [`sqlite3_timebase_init`].
unsafe fn load(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: `api` is the table of the calling SQLite.
    match unsafe { host::admit(api) } {
        // SAFETY: the table is the host's as far as rusqlite calls it; its entries are copied, so
        // it does not need to live longer than the call.
        Ok(mut table) => unsafe {
            Connection::extension_init2(db, message, &raw mut table, register)
        },
        Err(refusal) => {
            // SAFETY: `api` is as above, and SQLite provides a place for a message.
            unsafe { host::report(api, message, &refusal.to_string()) };
            ffi::SQLITE_ERROR
        }
    }
}

/// Registers all functions, once for each connection. `true` means that the library must stay
/// loaded.
fn register(conn: Connection) -> Result<bool> {
    // SQLite does not replace a function while a statement runs, which is the case if `SELECT
    // load_extension(…)` calls this.
    let Some(loaded) = Loaded::new(&conn) else {
        return Ok(true);
    };
    timebase::sql::register(&conn)?;
    version::add(&mut &conn, Some(loaded))?;
    Ok(true)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]
mod tests;
