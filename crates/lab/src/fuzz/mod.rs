//! What must hold of any input: a function for each parser of timebase that reads
//! what strangers give it. A function takes any bytes, and panics if something that
//! must hold does not; it has no other result.
//!
//! ```
//! timebase_lab::fuzz::import(b"no trace");
//! ```
//!
//! | function | what it takes the bytes for |
//! |---|---|
//! | [`import()`] | a file that is imported |
//! | [`rows()`] | the same, without a database |
//! | [`archives()`] | what an import is made of: an archive, or a trace |
//! | [`stream()`] | a decompressed stream of packets |
//! | [`interned()`] | what is done to the interned data of sequences |
//! | [`descriptor()`] | descriptors, a packet, and a path in it |
//! | [`clock_graph()`] | snapshots and conversions, against the naive model |
//! | [`clock_table()`] | rows of `clock_snapshot` and other tables that functions read |
//! | [`sql_functions()`] | calls of SQL functions |
//! | [`btree()`] | rows, against SQLite itself |
//! | [`script()`] | a text of SQL and values of its parameters, against SQLite itself |
//! | [`manifest()`] | a manifest of several traces |
//! | [`text()`] | a clock, a time, a zone as people write them |
//!
//! # Design
//!
//! The fuzzers in `fuzz/` are a workspace of their own with three lines each, and all
//! they do is here. So what a fuzzer found is found again by `cargo test`, with neither
//! libFuzzer nor its flags: `tests/corpus.rs` gives each file of `fuzz/corpus` and
//! `fuzz/crashes` to the function of its name. Targets that hold their own checks were the
//! alternative; their corpora would be files that nobody runs.
//!
//! [`mutate`] changes traces as protobuf messages. libFuzzer alone changes bytes, and
//! a byte more or less has to be told to every message around it; what does not, is
//! hardly ever more than a packet that cannot be read.

// A check that fails has to say so, and that is all there is here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod archives;
mod btree;
mod clock_graph;
mod clock_table;
mod descriptor;
mod import;
mod interned;
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
pub use manifest::manifest;
pub use sql_functions::sql_functions;
pub use statements::script;
pub use stream::stream;
pub use text::text;

/// A directory for one input, in memory where there is such a place.
fn scratch() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}
