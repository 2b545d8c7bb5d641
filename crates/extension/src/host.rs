//! The SQLite that loads the extension: whether it will do, and its functions
//! as rusqlite wants them.
//!
//! # Design
//!
//! rusqlite's bindings are those of SQLite 3.45.3. They refuse an older host,
//! which most systems have, though nothing that timebase calls is younger than
//! 3.40; and they read the host's table of functions to the end that 3.45.3 has,
//! which is beyond an older one's. So rusqlite gets a copy that ends, for every
//! host, where 3.40's does. Copying what each version has was the alternative:
//! nothing would call the rest, and the oldest host would not be like all others.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::ffi::{self, sqlite3_api_routines};

/// The version of the oldest SQLite that will do.
const OLDEST: c_int = 3_040_000;

/// The first bytes of the table of functions: those that [`OLDEST`] has.
const SIZE: usize = offset_of!(sqlite3_api_routines, is_interrupted);

// The bindings of the feature `bundled` are of a later version than rusqlite's
// own. Cargo has unified it into this build if they are here.
const _: () = assert!(
    ffi::SQLITE_VERSION_NUMBER == 3_045_003,
    "the extension must be built without rusqlite's feature `bundled`: use `cargo extension`"
);

/// The address of the table of the SQLite that was admitted first; 0 before.
static ADMITTED: AtomicUsize = AtomicUsize::new(0);

/// Why a host will not do.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has no table of functions.
    NoTable,
    /// It is of this version.
    TooOld(c_int),
    /// The process has another SQLite, which has loaded the extension before.
    /// This one is of this version.
    Another(c_int),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("timebase: ")?;
        match self {
            Refusal::NoTable => f.write_str("this SQLite does not load extensions"),
            Refusal::TooOld(found) => write!(
                f,
                "SQLite {} or later is needed, this is {}",
                Version(OLDEST),
                Version(*found)
            ),
            Refusal::Another(found) => write!(
                f,
                "another SQLite of this process has loaded this file already; \
                 for this one ({}), load a copy of the file",
                Version(*found)
            ),
        }
    }
}

/// SQLite's version number, as people write it.
struct Version(c_int);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version(number) = self;
        let (major, minor, patch) = (number / 1_000_000, number / 1000 % 1000, number % 1000);
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The functions of the host, as rusqlite takes them, if the host will do.
///
/// # Safety
///
/// `host` is null or the table of a SQLite library, of any version, that lives
/// as long as the process.
pub unsafe fn admit(host: *const sqlite3_api_routines) -> Result<sqlite3_api_routines, Refusal> {
    if host.is_null() {
        return Err(Refusal::NoTable);
    }
    // SAFETY: every version has this entry. There is no reference to the table
    // as a whole, which may be shorter than its type.
    let version = unsafe { (&raw const (*host).libversion_number).read() };
    let version = version.ok_or(Refusal::NoTable)?;
    // SAFETY: the function has no preconditions.
    let version = unsafe { version() };
    if version < OLDEST {
        return Err(Refusal::TooOld(version));
    }
    // rusqlite keeps one table for the process: with that of another library,
    // connections would be given to functions that did not make them.
    let first = ADMITTED.compare_exchange(0, host.addr(), Ordering::AcqRel, Ordering::Acquire);
    if first.is_err_and(|first| first != host.addr()) {
        return Err(Refusal::Another(version));
    }
    // SAFETY: its fields are optional functions, for which zero is `None`; the
    // host has the bytes that are copied, since it is not older than `OLDEST`.
    let mut table = unsafe {
        let mut table: sqlite3_api_routines = std::mem::zeroed();
        ptr::copy_nonoverlapping(host.cast::<u8>(), (&raw mut table).cast(), SIZE);
        table
    };
    table.libversion_number = Some(version_of_bindings);
    Ok(table)
}

/// What rusqlite wants the host to be. It asks only when it is given the table;
/// for the one later use, in `create_module`, any version since 3.9 is the same.
extern "C" fn version_of_bindings() -> c_int {
    ffi::SQLITE_VERSION_NUMBER
}

/// Tells SQLite why it was refused, with nothing but its own table.
///
/// # Safety
///
/// `host` as for [`admit`]; `message` is null or a place for a message.
pub unsafe fn report(host: *const sqlite3_api_routines, message: *mut *mut c_char, text: &str) {
    if host.is_null() || message.is_null() {
        return;
    }
    let (Some(malloc), Ok(size)) = (
        // SAFETY: every version has this entry.
        unsafe { (&raw const (*host).malloc).read() },
        c_int::try_from(text.len().saturating_add(1)),
    ) else {
        return;
    };
    // SAFETY: SQLite frees what its own `malloc` gave; that has room for the
    // text and a zero behind it.
    unsafe {
        let copy: *mut u8 = malloc(size).cast();
        if !copy.is_null() {
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
            message.write(copy.cast());
        }
    }
}
