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
//! rusqlite's `loadable_extension` calls SQLite through the table of functions
//! that the host hands over, and its `bundled` has a SQLite of its own; a build
//! cannot have both. So this crate is a workspace of its own, and no build of
//! the program can take the feature over from it. Writing the extension against
//! the C API without rusqlite was the alternative; the functions would then be
//! written twice.
//!
//! SQLite never unloads the library: what the functions keep for the life of
//! the process, such as Perfetto's schema, would be lost and loaded again with
//! each connection.

mod connections;
mod host;
pub mod plain;
mod version;

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::{Connection, Result, ffi};

use connections::Loaded;

/// What SQLite calls when it loads `libtimebase`: the name is made of the
/// file's.
///
/// # Safety
///
/// Only SQLite may call it, as the entry point of an extension: with an open
/// connection, a place for a message, and its table of functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_timebase_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: as of this function.
    unsafe { enter(db, message, api) }
}

/// What SQLite calls if the file has another name.
///
/// # Safety
///
/// As of [`sqlite3_timebase_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: as of this function.
    unsafe { enter(db, message, api) }
}

/// What both do. An exported function must not be called in here: SQLite opens
/// libraries such that the call would end in the copy that was loaded first.
///
/// # Safety
///
/// As of [`sqlite3_timebase_init`].
unsafe fn enter(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: as of this function.
    let loaded = catch_unwind(AssertUnwindSafe(|| unsafe { load(db, message, api) }));
    loaded.unwrap_or_else(|_| {
        // SAFETY: as of this function.
        unsafe { host::report(api, message, "timebase: unwinding panic") };
        ffi::SQLITE_INTERNAL
    })
}

/// # Safety
///
/// As of [`sqlite3_timebase_init`].
unsafe fn load(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: `api` is the table of the SQLite that calls.
    match unsafe { host::admit(api) } {
        // SAFETY: the table is the host's as far as rusqlite calls it; its
        // entries are copied, so it need not live longer than the call.
        Ok(mut table) => unsafe {
            Connection::extension_init2(db, message, &raw mut table, register)
        },
        Err(refusal) => {
            // SAFETY: `api` is as above, and SQLite gives a place for a message.
            unsafe { host::report(api, message, &refusal.to_string()) };
            ffi::SQLITE_ERROR
        }
    }
}

/// Registers all functions, once a connection. `true`: not to be unloaded.
fn register(conn: Connection) -> Result<bool> {
    // SQLite lets no function be replaced while a statement runs, and one does
    // if this is called by `SELECT load_extension(…)`.
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
