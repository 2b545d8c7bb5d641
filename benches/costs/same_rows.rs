//! An import of a trace, compared with inserts of the rows that it makes.

use std::path::Path;

use timebase_import::Options;
use timebase_lab::reliability::grouped;

use crate::child::import_in_child;
use crate::imports::{discard, import};
use crate::inserts::{Rows, same_rows};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result};

/// The things that a trace has many of, and their number.
pub struct Contents<'a> {
    pub what: &'a str,
    pub count: u64,
}

/// Adds the row of a trace that fills these tables with many rows. `check` inspects the database
/// once.
pub fn compare<const N: usize>(
    bench: &Bench,
    table: &mut Table,
    (trace, Contents { what, count }): (&Trace, Contents<'_>),
    tables: [&'static str; N],
    check: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let ours = bench.directory().join("ours.db");
    let bare = bench.directory().join("bare.db");
    let options = Options::default();
    import(trace, &ours, &options)?;
    check(&ours)?;
    let rows = tables.map(|name| Rows::read(&ours, name));
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
    let all: u64 = rows.iter().map(|rows| rows.len() as u64).sum();
    Rows::insert_all(&rows, &bare)?;
    for name in tables {
        same_rows(&ours, &bare, name)?;
    }
    let pairs = Pairs::run(
        bench.runs(),
        || discard(&ours, import(trace, &ours, &options)?),
        || discard(&bare, Rows::insert_all(&rows, &bare)?),
    )?;
    drop(rows);
    let cost = import_in_child(trace, &ours)?;
    table.add(
        Row::new(format!("import of {what}, {} rows", grouped(all)))
            .pairs(&pairs, "bare inserts of the same rows")
            .count(count)
            .memory(cost.peak_memory)
            .target(Target::Ratio(1.25)),
    );
    Ok(())
}
