//! The part of the page about clocks that messages relate: each pair with its words and its corridor.

use rusqlite::Connection;

use crate::clocks::{Clocks, natural};
use crate::corridor::{self, Corridor};
use crate::error::{Error, Reading};
use crate::messages;

/// A pair on the page.
#[derive(Debug)]
pub struct Shown {
    pub title: String,
    /// Its corridor, if the corners of its course are known.
    pub corridor: Option<Corridor>,
    pub notes: String,
    /// Whether it moved, and why.
    pub verdict: String,
}

/// The pairs on the page, and the number of the others.
#[derive(Debug)]
pub struct Messages {
    pub shown: Vec<Shown>,
    pub left_out: u64,
}

/// Reads the pairs, and draws their corridors. `begin` is the beginning of the trace.
pub fn draw(database: &Connection, clocks: &Clocks, begin: i64) -> Result<Messages, Error> {
    let pairs = messages::pairs(database, clocks).reading("aligned clocks")?;
    let all = database
        .query_row("SELECT count(*) FROM clock_alignment", [], |row| natural(row, 0))
        .reading("aligned clocks")?;
    let mut shown = Vec::new();
    for pair in &pairs {
        let corners = messages::corners(database, pair).reading("corners of aligned clocks")?;
        let outliers = messages::outliers(database, pair).reading("messages that do not count")?;
        let placed = messages::placed(database, pair.a).reading("parts of files")?;
        let corridor = corridor::draw(pair, &corners, &outliers, placed, begin)?;
        shown.push(Shown {
            title: pair.title(),
            notes: pair.notes(corridor.as_ref().map_or(&[], |corridor| &corridor.notes)),
            verdict: pair.verdict(),
            corridor,
        });
    }
    Ok(Messages { left_out: all.saturating_sub(shown.len() as u64), shown })
}
