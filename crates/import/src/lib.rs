//! Imports a Perfetto trace into a SQLite database.
//!
//! Data flows one way. `timebase-trace` reads packets from the trace in file order.
//! `place` gives each packet its time. The reader of its payload (`readers`) makes
//! rows, and events for the timeline (`timeline`). After the last packet, trackers
//! (`trackers`) receive the events in the order of time. `output` writes the rows to the
//! database. `frame.rs` orders the steps around each packet, `pipeline.rs` runs the threads, and
//! `import.rs` controls the whole import. `ARCHITECTURE.md`, in this crate's
//! folder, says which modules a module may use.
//!
//! # Design
//!
//! * **Two threads.** One reads and interprets; the other writes. Rows cross in
//!   batches, and written batches go back, so a packet needs no allocation, and only
//!   a few batches are in memory. The alternative was one thread: decoding takes
//!   about as long as writing, so the times would add up. (Further threads, in
//!   `timebase_store::btree`, sort the indexes.) We did not try several decoding threads,
//!   because two cores are already busy.
//! * **Pages, not statements.** Rows come in the order of their tables, so the
//!   import writes pages directly (`output/table.rs`), and SQLite only writes the
//!   tables whose rows are known at the end. The alternative was prepared inserts: they took
//!   1.2 s of the 1.5 s for 2,000,000 packets of 30 bytes.
//! * **Plain tables, no journal.** The import builds the database beside its
//!   destination under another name, and moves it there when it is complete
//!   (`output/destination.rs`). A journal would double the written data to protect a
//!   file that nobody has opened yet.
//! * **Read once.** The import writes a packet without a time immediately, and puts the
//!   data for a second attempt on the disk (`place/waiting.rs`), so memory does not grow
//!   with the number of unresolved packets.
//! * **Parse before any effect.** Parsing a payload may fail and changes nothing;
//!   reading it has effects and cannot fail. Importers that did both at once left half
//!   of a damaged payload behind.
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

mod align;
mod arguments;
mod compact;
mod damaged;
mod definitions;
mod describe;
mod emit;
mod error;
mod evidence;
mod files;
mod formats;
mod frame;
mod identity;
mod import;
mod joined;
mod limits;
pub mod manifest;
mod message;
mod options;
mod output;
mod pieces;
mod pipeline;
mod place;
mod ranks;
mod readers;
mod rewrite;
mod seen;
mod size;
mod spill;
// For the benchmarks and fuzzers of this repository; of no use to others.
#[doc(hidden)]
pub mod stages;
mod subjects;
mod summary;
mod timeline;
mod trackers;
mod unsure;
mod verdict;
mod watched;
mod world;

pub use emit::{Found, FoundError, FoundTrack, FoundTracks};
pub use error::{Error, HowFar, NotForJson};
pub use formats::FORMATS;
pub use identity::{check_database, trace_id};
pub use import::{import, import_into};
pub use options::{Conversion, Indexes, Options, Views};
pub use ranks::rank;
pub use rewrite::{
    Choice, Cut, LeftOut, Moved, RewriteError, RewriteTo, Rewritten, Unlike, Unmet, Window, cut,
    rewrite, rewrite_with,
};
pub use size::{NotASize, Size};
pub use subjects::{Subject, UnknownSubject};
pub use summary::{
    CausalCheck, ClockCheck, ClockFault, Doubtful, Events, How, LossKind, Lost, Placement, Summary,
    Unnamed,
};
pub use timebase_symbols::{MappingError, MappingFile, SymbolError};
pub use timebase_trace::{
    FileKind, InputsError, Monitor, OtherFile, Pass, Reader, Remedy, Source, SourceError, file_kind,
};
pub use verdict::damage;
