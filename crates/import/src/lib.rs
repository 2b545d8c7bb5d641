//! Imports a Perfetto trace into a SQLite database.
//!
//! Data flows one way. Packets come out of the trace (`timebase-trace`) in file
//! order; each is placed in time (`place`), and the reader of its payload
//! (`readers`) makes rows of it, and events for the timeline (`timeline`). When the
//! trace is read, trackers (`trackers`) get the events in the order of time. Rows go
//! to the database (`output`). `frame.rs` has what happens to every packet,
//! `pipeline.rs` the threads, `import.rs` the whole from beginning to end;
//! `ARCHITECTURE.md`, at the root of the repository, what each may know of the others.
//!
//! # Design
//!
//! * **Two threads.** One reads and interprets; the other writes. Rows
//!   cross in batches that go back when they are written, so that nothing is
//!   allocated a packet and memory is that of a few batches. One thread for all
//!   was the alternative: decoding takes about as long as writing, and would be
//!   added to it. (What an index has to sort, further threads sort: they are
//!   those of `timebase_store::btree`.) Several threads that decode were not tried, as
//!   two cores have enough to do.
//! * **Pages, not statements.** Rows come in the order of their tables, so they
//!   are put together to pages (`output/table.rs`), and SQLite makes only what is known
//!   at the end. Prepared inserts were the alternative: they took 1.2 s of the
//!   1.5 s for 2,000,000 packets of 30 bytes.
//! * **Plain tables, no journal.** The database is built
//!   beside its destination under another name and moved there when it is
//!   complete (`output/destination.rs`). A journal would double what is written, to
//!   protect a file that nobody has seen.
//! * **Read once.** What cannot be placed yet is written as it is; what is needed to
//!   try again is put aside (`place/waiting.rs`), so that memory does not grow with
//!   what is unresolved.
//! * **No effect before all is read that can fail.** A payload is parsed, which may
//!   fail and changes nothing; then it is read, which has effects and does not fail.
//!   Importers that did both at once left half of a damaged payload behind.
//!
//! ```
//! use std::path::{Path, PathBuf};
//! use timebase_import::{Monitor, Options, Source, import};
//!
//! # let dir = tempfile::tempdir()?;
//! # let out = dir.path().join("nearest.db");
//! let trace = Source::File("../../tests/data/nearest.pftrace".into());
//! let summary = import(&[trace], &out, &Options::default(), &Monitor::default())?;
//! assert_eq!(summary.snapshots, 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod compact;
mod damaged;
mod describe;
mod error;
mod facts;
mod files;
mod frame;
mod identity;
mod import;
mod limits;
pub mod manifest;
mod message;
mod options;
mod output;
mod pipeline;
mod place;
mod readers;
mod seen;
mod size;
mod spool;
mod stages;
mod subjects;
mod summary;
mod timeline;
mod trackers;
mod unsure;
mod verdict;
mod world;

pub use error::{Error, HowFar};
pub use identity::{check_database, trace_id};
pub use import::{import, import_into};
pub use options::{Conversion, Options, Views};
pub use size::{NotASize, Size};
pub use stages::{Stages, stages, thrown_away};
pub use subjects::{Subject, UnknownSubject};
pub use summary::{ClockFault, Doubtful, Events, How, Lost, Placement, Summary};
pub use timebase_trace::{FileKind, Monitor, Pass, Reader, Source, file_kind};
pub use verdict::damage;
