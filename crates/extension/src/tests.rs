//! Hosts that a test does not have: made-up tables of functions.

use std::alloc::{Layout, alloc};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::{mem, ptr};

use rusqlite::ffi::{self, sqlite3_api_routines};

use crate::host::{Refusal, admit, report};
use crate::sqlite3_timebase_init;

extern "C" fn malloc(size: c_int) -> *mut c_void {
    let layout = Layout::array::<u8>(usize::try_from(size).unwrap()).unwrap();
    unsafe { alloc(layout).cast() }
}

extern "C" fn version_3_39_4() -> c_int {
    3_039_004
}

extern "C" fn version_3_40_0() -> c_int {
    3_040_000
}

extern "C" fn interrupted(_: *mut ffi::sqlite3) -> c_int {
    0
}

/// It exists forever, like the table of a library.
fn host(version: extern "C" fn() -> c_int) -> &'static mut sqlite3_api_routines {
    let mut table: sqlite3_api_routines = unsafe { mem::zeroed() };
    table.malloc = Some(malloc);
    table.libversion_number = Some(version);
    Box::leak(Box::new(table))
}

#[test]
fn an_older_host_is_told_what_is_needed() {
    let mut message: *mut c_char = ptr::null_mut();
    let code =
        unsafe { sqlite3_timebase_init(ptr::null_mut(), &raw mut message, host(version_3_39_4)) };
    assert_eq!(code, ffi::SQLITE_ERROR);
    assert_eq!(
        unsafe { CStr::from_ptr(message) }.to_str().unwrap(),
        "timebase: SQLite 3.40.0 or later is needed, this is 3.39.4"
    );
}

#[test]
fn a_host_without_functions_is_refused() {
    assert_eq!(unsafe { admit(ptr::null()) }.unwrap_err(), Refusal::NoTable);
    let empty: sqlite3_api_routines = unsafe { mem::zeroed() };
    assert_eq!(unsafe { admit(&raw const empty) }.unwrap_err(), Refusal::NoTable);
    let code = unsafe { sqlite3_timebase_init(ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) };
    assert_eq!(code, ffi::SQLITE_ERROR);
}

#[test]
fn a_message_without_memory_for_it_is_none() {
    let mut message: *mut c_char = ptr::null_mut();
    let empty: sqlite3_api_routines = unsafe { mem::zeroed() };
    unsafe { report(&raw const empty, &raw mut message, "any") };
    assert!(message.is_null());
}

/// A single test, because only the first accepted host counts.
#[test]
fn one_host_is_admitted_with_what_3_40_has() {
    let first = host(version_3_40_0);
    // The entries of a younger host here are beyond an older one's table.
    first.is_interrupted = Some(interrupted);
    for _again in 0..2 {
        let table = unsafe { admit(first) }.unwrap();
        assert!(table.malloc.is_some());
        assert!(table.is_interrupted.is_none());
        let version = table.libversion_number.unwrap();
        assert_eq!(unsafe { version() }, ffi::SQLITE_VERSION_NUMBER);
    }
    let other = unsafe { admit(host(version_3_40_0)) }.unwrap_err();
    assert_eq!(other, Refusal::Another(3_040_000));
    assert_eq!(
        other.to_string(),
        "timebase: another SQLite of this process has loaded this file already; for this one \
         (3.40.0), load a copy of the file"
    );
}

/// The versions of the packages in a Cargo.lock.
fn locked(lock: &str) -> std::collections::BTreeMap<&str, Vec<&str>> {
    let mut packages = std::collections::BTreeMap::<_, Vec<_>>::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim_matches('"')
        };
        packages.entry(field("name = ")).or_default().push(field("version = "));
    }
    packages
}

#[test]
fn it_is_built_of_the_versions_that_the_program_is_built_of() {
    let program = locked(include_str!("../../../Cargo.lock"));
    let extension = locked(include_str!("../Cargo.lock"));
    for (name, versions) in &extension {
        // It formats generated sources: bindings to SQLite here, messages in tests there.
        if *name == "prettyplease" {
            continue;
        }
        if let Some(expected) = program.get(name) {
            // rusqlite's feature may add another version.
            let any = versions.iter().any(|version| expected.contains(version));
            assert!(any, "{name}: {versions:?}, and the program has {expected:?}");
        }
    }
    assert_eq!(extension.get("timebase-extension"), program.get("timebase"));
}
