//! Makes a page about the clocks of a trace: their problems, their connections, how each clock runs, and the
//! events without a time. The page is one self-contained HTML file. [`compare`] makes one about two groups of runs.
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
//! Plots are static SVG, by `plotters`: it draws axes and shapes of any kind, and needs no font, no
//! browser and three small crates. Most of Rust's plots are made with it, including criterion's; it
//! changes little, and 0.3.7 is from September 2024. Two crates with monthly releases do not fit:
//! `kuva` is 95,000 lines, has an incompatible version every other month, and only draws its own
//! kinds of plots; an axis of `charts-rs` has categories, not numbers.

mod aligned;
mod band;
mod chart;
mod clocks;
pub mod compare;
mod corridor;
mod document;
mod draw;
mod error;
mod facts;
mod findings;
mod graph;
mod hop;
mod messages;
mod page;
mod palette;
mod parts;
mod said;
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
    /// The word that links to it.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Whether it is folded until the reader opens it. On paper it is always open.
    pub is_folded: bool,
    /// Its results.
    pub tables: Vec<Table>,
}

/// Makes the page of a database, with reports at its end. Its title is the trace's name, or `name`
/// if the database does not have one.
///
/// # Errors
///
/// If the database cannot be read, or if no import made it.
pub fn html(database: &Connection, name: &str, reports: &[Report]) -> Result<String, Error> {
    Ok(page::Page::read(database, name, reports)?.html())
}
