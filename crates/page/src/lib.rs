//! A page about the clocks of a trace, for people to look at: what is wrong with them, how they
//! hang together, how each runs, what could not be placed. One HTML file that needs nothing else.
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
//! The page is made of a database that an import made, by plain SQL; it knows neither traces nor
//! the program around it. Tables of reports are given to it, since who runs a report has its
//! parameters ([`Report`], [`Table`]).
//!
//! What a page has is bounded, whatever is in the database: so many plots, dots in a plot, rows
//! in a table, letters in a text. It says where it leaves something out, and what is shown are
//! the ones that matter. So is memory: snapshots and packets are read once and counted.
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
