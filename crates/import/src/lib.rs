//! Imports a Perfetto trace into a SQLite database.
//!
//! Data flows one way: bytes (`source.rs`, `stream.rs`) become packets
//! (`decoder.rs`), packets become rows (`rows.rs`), and rows go into the
//! database (`writer.rs`). What a packet's clock is, and where that puts it on
//! trace time, is decided in `clocks.rs`; what is special about a payload, in
//! its importer under `payload/`.
//!
//! # Design
//!
//! * **Two threads.** One reads, decodes and converts; the other writes. Rows
//!   cross in batches that go back when they are written, so that nothing is
//!   allocated a packet and memory is that of a few batches. One thread for all
//!   was the alternative: decoding takes about as long as writing, and would be
//!   added to it. (What an index has to sort, further threads sort: they are
//!   those of `timebase-btree`.) Several threads that decode were not tried, as
//!   two cores have enough to do.
//! * **Pages, not statements.** Rows come in the order of their tables, so they
//!   are put together to pages (`bulk.rs`), and SQLite makes only what is known
//!   at the end. Prepared inserts were the alternative: they took 1.2 s of the
//!   1.5 s for 2,000,000 packets of 30 bytes.
//! * **Plain tables, no journal.** The database is built
//!   beside its destination under another name and moved there when it is
//!   complete (`destination.rs`). A journal would double what is written, to
//!   protect a file that nobody has seen.
//! * **Read once.** What cannot be placed yet is written as it is and tried
//!   again at the end from the database (`retry.rs`), so that memory does not
//!   grow with what is unresolved.
//!
//! ```
//! use std::path::{Path, PathBuf};
//! use timebase_import::{Monitor, Options, Source, import};
//!
//! # let dir = tempfile::tempdir()?;
//! # let out = dir.path().join("nearest.db");
//! let trace = Source::File("../../tests/data/nearest.pftrace".into());
//! let summary = import(&trace, &out, &Options::default(), &Monitor::default())?;
//! assert_eq!(summary.snapshots, 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compact;
mod error;
mod identity;
mod import;
mod options;
mod ordering;
mod output;
mod pipeline;
mod place;
mod readers;
mod spool;
mod stages;
mod summary;
mod timeline;
mod trackers;

pub use error::Error;
pub use identity::check_database;
pub use import::import;
pub use options::Options;
pub use ordering::{Ordering, ordering};
pub use stages::{Stages, stages};
pub use summary::{Events, Summary};
pub use timebase_trace::{FileKind, Monitor, Source, file_kind};
