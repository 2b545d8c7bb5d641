//! The database while it is made: rows in batches, and the tables that they go
//! into.
//!
//! | question | where it is decided |
//! |---|---|
//! | how rows get into batches | `rows.rs`, `batch.rs` |
//! | how batches are written: as pages of a new file, or as rows of a connection | `writer.rs`, `sink.rs`; `pages.rs`, `table.rs`; `statements.rs` |
//! | statements about the trace: the log, facts, and counters | `journal.rs`, `facts.rs`, `faults.rs`, `counter.rs`, `counts.rs`, `loss.rs` |
//! | which rows are doubtful | `doubt.rs` |
//! | events without a row or a name | `event_faults.rs` |
//! | how rows change that waited for their time | `settled.rs` |
//! | tables that are known only at the end | `late.rs`, `solved.rs`, `parts.rs`, `turned.rs`, `zeros.rs` |
//! | which views the database has | `views.rs` |
//! | how much SQLite may write | `room.rs` |
//! | where the database is before it is complete | `destination.rs` |

mod batch;
mod common;
mod counter;
mod counts;
mod destination;
mod doubt;
mod event_faults;
mod facts;
mod faults;
mod journal;
mod late;
mod loss;
mod pages;
mod parts;
mod renumbered;
mod repeated;
mod room;
mod rows;
mod settled;
mod sink;
mod solved;
mod statements;
mod table;
mod turned;
mod views;
mod writer;
mod zeros;

pub(crate) use batch::{Batch, Cell, PacketRow, RowType, SetRow};
pub(crate) use counter::{Counter, Meaning};
pub(crate) use counts::{Counts, OF_TRACE};
pub(crate) use destination::{Destination, NewDatabase, Opened, parent};
pub(crate) use doubt::{Doubt, Doubts, LateDoubt, RowPart, Tallies, mark_misplaced};
pub(crate) use event_faults::{Cause, EventFaults, Example, FaultySequence};
pub(crate) use facts::{About, Fact, FactRow, Facts};
pub(crate) use faults::{
    BEFORE_ZERO, Fault, Faults, NOT_INTERNED, PARSER_ERROR, STACKPROFILE_PARSER_ERROR,
};
pub(crate) use journal::{Journal, LogMessage, Severity};
pub(crate) use late::{
    Stat, Stats, clocks, drop_indexes, facts, indexes, remote_clock_syncs, sequences, stats,
    trace_files, write_switches,
};
pub(crate) use loss::Loss;
pub(crate) use pages::{Pages, resume};
pub(crate) use parts::{Placed, insert as insert_parts, placed};
pub(crate) use renumbered::renumber;
pub(crate) use repeated::{OWN_RECT, merge_repeats};
pub(crate) use room::Room;
pub(crate) use rows::{LastSwitch, Outlet, Rows};
pub(crate) use settled::SettledRows;
pub(crate) use sink::{Sink, SolvedSink};
pub(crate) use solved::Solved;
pub(crate) use statements::Statements;
pub(crate) use turned::insert as insert_turns;
pub(crate) use views::{make_views, write_views};
pub(crate) use writer::{KeyedRow, Writer};
pub(crate) use zeros::log as log_zeros;
