//! `timebase clocks`: the clock domains of a trace, for a person. `timebase clock-id`: the number
//! of a clock, without a trace.

use std::io::Write;

use timebase_resolver::UnknownName;

use crate::database::{self, Access, Database};
use crate::flags::{ClockArgument, ClocksArguments};
use crate::messages;
use crate::output::{self, Format};
use crate::signals::Signals;
use crate::statements;

/// One row for each clock, with all its data.
const LISTED: &str = include_str!("clocks.sql");

/// The width of a row with all columns.
const WIDE: u16 = 132;

/// The columns for the clocks of one file of one machine.
const PLAIN: &str =
    "machine, clock, scope, unit_ns, snapshots, packets, monotonic, path, offset_ns, drift_ns";

/// The columns if there are several machines or files: they include the clock's owner. A clock
/// without a file is shared by all files of its machine.
const OF_SEVERAL: &str = "machine, machine_name, file, file_name, clock, scope, unit_ns, snapshots, packets, \
    monotonic, path, offset_ns, drift_ns";

/// The columns that fit a width of 80: the clock's name shows its scope, and the path does not
/// repeat its start.
const NARROW: &str = "
    clock || iif(machine, ' of machine ' || machine, '') || iif(file, ' in file ' || file, '') AS clock,
    snapshots, packets, monotonic,
    substr(path, instr(path, ' → ') + 1) AS path,
    drift_ns";

pub fn run(
    arguments: &ClocksArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let database = database::open(&arguments.source, Access::CLOCKS, signals)?;
    let terminal = output::terminal_width();
    let is_narrow = arguments.format == Format::Table && terminal.is_some_and(|width| width < WIDE);
    let listed = signals.during_query(database.get_interrupt_handle(), || {
        let columns = match is_narrow {
            true => NARROW,
            false if has_several(&database)? => OF_SEVERAL,
            false => PLAIN,
        };
        let sql = format!("WITH listed AS ({LISTED}) SELECT {columns} FROM listed");
        statements::run(&database, &sql, arguments.format, terminal, out)
    });
    database.warn_if_changed();
    listed
}

/// Whether there are several machines, or files that were read.
fn has_several(database: &Database) -> anyhow::Result<bool> {
    let sql = "SELECT (SELECT count(*) FROM machine) > 1
                   OR (SELECT count(*) FROM trace_file WHERE id > 0 AND processing_order IS NOT NULL) > 1";
    Ok(database.query_row(sql, [], |row| row.get(0))?)
}

/// Prints the number of a clock. Any name has a number, so there is a warning if the name looks
/// like a typing error.
pub fn id(clock: &ClockArgument, out: &mut dyn Write) -> anyhow::Result<()> {
    if clock.written.is_hashed()
        && let Some(near) = UnknownName::of(&clock.text).near()
    {
        messages::warnings(&[format!(
            "{} is not the builtin {near}; this is the number of a clock of your own with this name",
            clock.text
        )]);
    }
    writeln!(out, "{}", clock.written.id().get())?;
    Ok(())
}
