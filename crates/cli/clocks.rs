//! `timebase clocks`: the clock domains of a trace, for a person.

use std::io::Write;

use crate::database::{self, Access};
use crate::flags::ClocksArguments;
use crate::output::{self, Format};
use crate::signals::Signals;
use crate::statements;

/// One row a clock, with all that is told about it.
const LISTED: &str = include_str!("clocks.sql");

/// The width that a row of all of it needs.
const WIDE: u16 = 132;

/// What fits 80 columns: the scope shows in how the clock is written, and the
/// path needs not say where it starts.
const NARROW: &str = "SELECT
    clock || iif(machine, ' of machine ' || machine, '') AS clock,
    snapshots, packets, monotonic,
    substr(path, instr(path, ' → ') + 1) AS path,
    drift_ns
  FROM listed";

pub fn run(
    arguments: &ClocksArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let database = database::open(&arguments.source, Access::Read, signals)?;
    let is_narrow = arguments.format == Format::Table
        && output::terminal_width().is_some_and(|width| width < WIDE);
    let selection = if is_narrow {
        NARROW
    } else {
        "SELECT * FROM listed"
    };
    let sql = format!("WITH listed AS ({LISTED}) {selection}");
    signals.during_query(database.get_interrupt_handle(), || {
        statements::run(&database, &sql, arguments.format, out)
    })
}
