//! Properties that hold for any input: a function for each parser of timebase that reads untrusted
//! input. A function takes any bytes, and panics if a property fails; it has no other result.
//!
//! ```
//! timebase_lab::fuzz::import(b"no trace");
//! ```
//!
//! | function | its input |
//! |---|---|
//! | [`import()`] | a file to import |
//! | [`rows()`] | the same, without a database |
//! | [`archives()`] | the input of an import: an archive, or a trace |
//! | [`stream()`] | a decompressed stream of packets |
//! | [`interned()`] | operations on the interned data of sequences |
//! | [`json()`] | a trace in Chrome's JSON format |
//! | [`descriptor()`] | descriptors, a packet, and a path in it |
//! | [`clock_graph()`] | snapshots and conversions, compared with the naive model |
//! | [`clock_table()`] | rows of `clock_snapshot` and other tables that functions read |
//! | [`sql_functions()`] | calls of SQL functions |
//! | [`btree()`] | rows, compared with SQLite itself |
//! | [`script()`] | a text of SQL and values of its parameters, compared with SQLite itself |
//! | [`manifest()`] | a manifest of several traces |
//! | [`text()`] | a clock, a time and a zone as people write them |
//!
//! # Design
//!
//! The fuzzers in `fuzz/` are a separate workspace with three lines each; all of their code is
//! here. So `cargo test` repeats the findings of a fuzzer, with neither libFuzzer nor its flags:
//! `tests/corpus.rs` gives each file of `fuzz/corpus` and `fuzz/crashes` to the function of its
//! name. The alternative was fuzz targets with their own checks; then nothing would run their
//! corpora.
//!
//! [`mutate`] changes traces as protobuf messages. libFuzzer alone changes bytes, and if the size
//! changes, every message around must change, too; otherwise the result is hardly ever more than an
//! unreadable packet.

// A failed check must be visible, and this is the only code here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod archives;
mod btree;
mod clock_graph;
mod clock_table;
mod descriptor;
mod import;
mod interned;
mod json;
mod manifest;
pub mod mutate;
mod sql_functions;
mod statements;
mod stream;
mod text;

pub use archives::archives;
pub use btree::btree;
pub use clock_graph::clock_graph;
pub use clock_table::clock_table;
pub use descriptor::descriptor;
pub use import::{import, rows};
pub use interned::interned;
pub use json::json;
pub use manifest::manifest;
pub use sql_functions::sql_functions;
pub use statements::script;
pub use stream::stream;
pub use text::text;

/// A directory for one input, in memory if possible.
fn scratch() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}
