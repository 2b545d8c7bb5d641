//! The SQLite that loads the extension: whether it is suitable, and its functions in the form that
//! rusqlite expects.
//!
//! # Design
//!
//! rusqlite's bindings are those of SQLite 3.45.3. They refuse an older host, as most systems have,
//! although timebase calls nothing that is younger than 3.40. They also read the host's table of
//! functions up to the end of 3.45.3's table, which is beyond the end of an older one. So rusqlite
//! gets a copy that ends where 3.40's table ends, for every host. The alternative was to copy what
//! each version has; nothing would call the rest, and the oldest host would differ from all others.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::ffi::{self, sqlite3_api_routines};

/// The oldest suitable version of SQLite.
const OLDEST: c_int = 3_040_000;

/// The size of the table of functions in [`OLDEST`], in bytes.
const SIZE: usize = offset_of!(sqlite3_api_routines, is_interrupted);

// The bindings of the feature `bundled` are newer than rusqlite's own. If they are here, Cargo has
// unified that feature into this build.
const _: () = assert!(
    ffi::SQLITE_VERSION_NUMBER == 3_045_003,
    "the extension must be built without rusqlite's feature `bundled`: use `cargo extension`"
);

/// The address of the table of the first accepted SQLite; 0 before.
static ADMITTED: AtomicUsize = AtomicUsize::new(0);

/// The reason why a host is not suitable.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has no table of functions.
    NoTable,
    /// It has this version, which is too old.
    TooOld(c_int),
    /// The process has another SQLite, which loaded the extension before. This one has this
    /// version.
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

/// SQLite's version number, in the usual form.
struct Version(c_int);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version(number) = self;
        let (major, minor, patch) = (number / 1_000_000, number / 1000 % 1000, number % 1000);
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The functions of the host, for rusqlite, if the host is suitable.
///
/// # Safety
///
/// `host` is null or the table of a SQLite library, of any version, which exists as long as the
/// process.
pub unsafe fn admit(host: *const sqlite3_api_routines) -> Result<sqlite3_api_routines, Refusal> {
    if host.is_null() {
        return Err(Refusal::NoTable);
    }
    // SAFETY: every version has this entry. There is no reference to the whole table, which may be
    // shorter than its type.
    let version = unsafe { (&raw const (*host).libversion_number).read() };
    let version = version.ok_or(Refusal::NoTable)?;
    // SAFETY: the function has no preconditions.
    let version = unsafe { version() };
    if version < OLDEST {
        return Err(Refusal::TooOld(version));
    }
    // rusqlite keeps one table for the process. With the table of another library, functions would
    // get connections that they did not make.
    let first = ADMITTED.compare_exchange(0, host.addr(), Ordering::AcqRel, Ordering::Acquire);
    if first.is_err_and(|first| first != host.addr()) {
        return Err(Refusal::Another(version));
    }
    // SAFETY: its fields are optional functions, for which zero is `None`; the host has the copied
    // bytes, because it is not older than `OLDEST`.
    let mut table = unsafe {
        let mut table: sqlite3_api_routines = std::mem::zeroed();
        ptr::copy_nonoverlapping(host.cast::<u8>(), (&raw mut table).cast(), SIZE);
        table
    };
    table.libversion_number = Some(version_of_bindings);
    Ok(table)
}

/// The version that rusqlite should see. It only checks the version when it gets the table; for one
/// later use, in `create_module`, all versions since 3.9 are equal.
extern "C" fn version_of_bindings() -> c_int {
    ffi::SQLITE_VERSION_NUMBER
}

/// Tells SQLite the reason, using only its own table.
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
    // SAFETY: SQLite frees memory from its own `malloc`; the memory has room for the text and a
    // zero after it.
    unsafe {
        let copy: *mut u8 = malloc(size).cast();
        if !copy.is_null() {
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
            message.write(copy.cast());
        }
    }
}
