//! Makes a page about the clocks of a trace: their problems, their connections, how each clock runs, and the
//! events without a time. The page is one self-contained HTML file.
//!
//! ```no_run
//! use rusqlite::Connection;
//!
//! let database = Connection::open("trace.db")?;
//! std::fs::write("trace.html", timebase_page::html(&database, "trace.db", &[])?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design
//!
//! The crate reads the database of an import with plain SQL; it knows neither traces nor the program around
//! it. The caller passes the tables of reports, because it has their parameters ([`Report`], [`Table`]).
//!
//! The size of a page is bounded for any database: the number of plots, dots in a plot, rows in a table, and
//! characters in a text. The page shows the most important items, and says where it leaves something out. Memory is
//! bounded too: the crate reads snapshots and packets once, and counts them.
//!
//! Plots are static SVG, by `plotters`: it draws axes and shapes of any kind, and needs no font, no browser and
//! three small crates. Most of Rust's plots are made with it, criterion's too; it changes little, and 0.3.7 is of
//! September 2024. Two that are released every month are no match here: `kuva` is 95,000 lines, with an
//! incompatible version every other month, and draws its own kinds of plot only; an axis of `charts-rs` has
//! categories, not numbers.

mod band;
mod clocks;
mod draw;
mod error;
mod facts;
mod findings;
mod graph;
mod hop;
mod page;
mod palette;
mod parts;
mod strips;
mod sync;
mod table;
mod text;
mod trail;

use rusqlite::Connection;

pub use error::Error;
pub use table::Table;

/// The tables of a report, as a section of the page.
#[derive(Debug)]
pub struct Report {
    /// What links to it: a word.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// Whether it is opened by who wants to see it. On paper it always is.
    pub is_folded: bool,
    /// Its results.
    pub tables: Vec<Table>,
}

/// The page of a database, with reports at its end. It is called as the trace was, or `name` where
/// the database does not tell.
///
/// # Errors
///
/// If the database cannot be read, or is not one that an import made.
pub fn html(database: &Connection, name: &str, reports: &[Report]) -> Result<String, Error> {
    Ok(page::Page::read(database, name, reports)?.html())
}
