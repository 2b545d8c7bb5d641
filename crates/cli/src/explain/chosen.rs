//! Finds the clock of the trace that the arguments name. If there are several, it lists them.

use anyhow::{bail, ensure};
use rusqlite::{Connection, params};
use timebase_resolver::{Clock, ClockId, FileTag, MachineId, SeqId, UnknownName};

use super::owner::{self, Owner};
use crate::escape::{quoted, quoted_path};
use crate::flags::{ClockArgument, ExplainArguments, TsArgument};

/// A clock that may be meant.
struct Candidate {
    clock: Clock,
    /// The number of all candidates.
    total: i64,
    /// The description of the clock.
    who: String,
}

/// The clock of the trace for the argument of a flag, with this sequence. Its machine and file are `owner`,
/// unless the argument has them.
///
/// Refuses a name that the trace does not have (rule C8). If several clocks match, because the sequence, the
/// machine or the file is not given, it lists them.
pub fn clock(
    database: &Connection,
    (flag, given): (&str, &ClockArgument),
    seq: u32,
    owner: Owner,
    arguments: &ExplainArguments,
) -> anyhow::Result<Clock> {
    let ClockArgument { written, text } = given;
    let source = quoted_path(&arguments.source.to_string_lossy()).into_owned();
    if written.is_hashed() {
        check_name(database, (flag, given), &source)?;
    }
    check_owner(given, owner, arguments)?;
    let machine = written.machine().or(owner.machine);
    if let Some(machine) = written.machine() {
        owner::check_machine(database, &format!("--{flag} {text}"), machine)?;
    }
    let likely = written.clock_of(machine.unwrap_or(MachineId::HOST), SeqId(seq));
    if likely.lacks_sequence() {
        let found =
            candidates(database, likely.id, (machine, None, written.file().or(owner.file)))?;
        ensure!(
            !found.is_empty(),
            "--{flag} {text}: no sequence of the trace has clock {clock_id}; \
             'timebase clocks {source}' lists its clocks",
            clock_id = likely.id.get()
        );
        bail!(
            "--{flag} {text}: each sequence has its own clock {}; choose one:{}",
            likely.id.get(),
            listed(&found, flag, arguments, &source)
        )
    }
    let file = match (written.file(), owner.file) {
        (Some(own), _) => Some(own),
        // A single file has no number, but it may own this clock.
        (None, None) if likely.id == ClockId::TRACE_FILE => own_file(database, likely, Some(0))?,
        (None, file) => own_file(database, likely, file)?,
    };
    let clock = with_file(likely, file);
    if file.is_some() || owner.file.is_some() {
        return Ok(clock);
    }
    let found = of_any_file(database, clock, machine)?;
    let (why, candidates) = match found {
        Found::Clock(clock) => return Ok(clock),
        Found::OfOtherMachines(found) => {
            let why = format!("machine {} has no such clock", clock.machine.0);
            (why, found)
        }
        Found::OfFiles(found) => ("files have separate clocks of this kind".to_owned(), found),
    };
    bail!("--{flag} {text}: {why}; choose one:{}", listed(&candidates, flag, arguments, &source))
}

/// Refuses a machine or a file that differs from the one in the written clock.
fn check_owner(
    ClockArgument { written, text }: &ClockArgument,
    owner: Owner,
    arguments: &ExplainArguments,
) -> anyhow::Result<()> {
    // For numbers this was checked before; names are known only now.
    let same = [
        (
            "machine",
            &arguments.machine,
            owner.machine.map(|id| id.0),
            written.machine().map(|id| id.0),
        ),
        ("file", &arguments.file, owner.file, written.file()),
    ];
    for (what, named, by_flag, own) in same {
        if let (Some(named), Some(own)) = (named, own) {
            ensure!(by_flag == Some(own), "--{what} {named} is not the {what} of {text}");
        }
    }
    Ok(())
}

/// The clocks that match if no file is given.
enum Found {
    Clock(Clock),
    OfOtherMachines(Vec<Candidate>),
    OfFiles(Vec<Candidate>),
}

/// The clock, if it is its machine's, the only one, or in no snapshot; otherwise the candidates.
fn of_any_file(
    database: &Connection,
    clock: Clock,
    machine: Option<MachineId>,
) -> anyhow::Result<Found> {
    // Without a file, a sequence-scoped clock is not yet determined; other clocks are the ones that files
    // share.
    let is_scoped = in_range(clock);
    let of_machine = candidates(database, clock.id, (Some(clock.machine), Some(clock.seq), None))?;
    let is_there = |clock: Clock| of_machine.iter().any(|found| found.clock == clock);
    if is_there(clock) {
        return Ok(Found::Clock(clock));
    }
    Ok(match of_machine.as_slice() {
        [only] if is_scoped => Found::Clock(only.clock),
        [] if machine.is_none() => {
            let found = candidates(database, clock.id, (None, Some(clock.seq), None))?;
            match found.is_empty() {
                true => Found::Clock(clock),
                false => Found::OfOtherMachines(found),
            }
        }
        [] => Found::Clock(clock),
        // Each file in JSON may be of a machine of its own.
        _ if machine.is_none() && clock.id == ClockId::TRACE_FILE => {
            Found::OfFiles(candidates(database, clock.id, (None, Some(clock.seq), None))?)
        }
        _ => Found::OfFiles(of_machine),
    })
}

/// The clock that is its machine's or the only one, or this file's own.
pub fn with_file(clock: Clock, file: Option<u32>) -> Clock {
    let tag = match file {
        Some(id) => FileTag { order: 1, id },
        None if in_range(clock) => FileTag::ONLY,
        None => FileTag::SHARED,
    };
    Clock { file: tag, ..clock }
}

/// Whether each sequence has its own clock of this number (rule C2).
fn in_range(clock: Clock) -> bool {
    (64..128).contains(&clock.id.get())
}

/// The files that have their own clock in addition to a clock that all files share.
pub fn others(database: &Connection, clock: Clock) -> anyhow::Result<Vec<u32>> {
    let found = candidates(database, clock.id, (Some(clock.machine), Some(clock.seq), None))?;
    let files = found.iter().map(|found| found.clock.file.id);
    Ok(files.filter(|id| *id != clock.file.id && *id != 0).collect())
}

/// Refuses a name that no clock of the trace has.
fn check_name(
    database: &Connection,
    (flag, given): (&str, &ClockArgument),
    source: &str,
) -> anyhow::Result<()> {
    let is_there: bool = database.query_row(
        "SELECT EXISTS (SELECT 1 FROM clock WHERE clock_id = ?1)
             OR EXISTS (SELECT 1 FROM clock_snapshot WHERE clock_id = ?1)",
        [given.written.id().get()],
        |row| row.get(0),
    )?;
    let unknown = UnknownName::of(&given.text);
    let list = match unknown.near() {
        Some(_) => String::new(),
        None => format!("; 'timebase clocks {source}' lists its clocks"),
    };
    ensure!(is_there, "--{flag} {} must be a clock of the trace; {unknown}{list}", given.text);
    Ok(())
}

/// The file whose own clock a number stands for in a file (rules X14, X15); `None` if it is its machine's
/// clock.
fn own_file(database: &Connection, clock: Clock, file: Option<u32>) -> anyhow::Result<Option<u32>> {
    let Some(file) = file else {
        return Ok(None);
    };
    if in_range(clock) {
        return Ok(Some(file));
    }
    let is_own: bool = database.query_row(
        "SELECT EXISTS (
           SELECT 1 FROM part WHERE trace_file_id = ?1 AND machine_id = ?2 AND (own_from IS NOT NULL OR is_pinned AND ?3)
         )",
        params![file, clock.machine.0, clock.id == ClockId::TRACE_FILE],
        |row| row.get(0),
    )?;
    Ok(is_own.then_some(file))
}

/// The clocks with a number, and with a machine, a sequence and a file if these are given.
fn candidates(
    database: &Connection,
    id: ClockId,
    (machine, seq, file): (Option<MachineId>, Option<SeqId>, Option<u32>),
) -> anyhow::Result<Vec<Candidate>> {
    let mut statement = database.prepare(include_str!("candidates.sql"))?;
    let told = params![id.get(), machine.map(|machine| machine.0), seq.map(|seq| seq.0), file];
    let rows = statement.query_map(told, |row| {
        let clock = Clock::new(MachineId(row.get(0)?), id, SeqId(row.get(1)?));
        Ok(Candidate {
            clock: with_file(clock, row.get::<_, Option<u32>>(2)?),
            total: row.get(3)?,
            who: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The command line for each candidate.
fn listed(
    candidates: &[Candidate],
    flag: &str,
    arguments: &ExplainArguments,
    source: &str,
) -> String {
    let commands = candidates.iter().map(|Candidate { clock, who, .. }| {
        let command = command(arguments, flag, *clock);
        format!("\n  {command}   # {who}")
    });
    let mut commands: String = commands.collect();
    let total = candidates.first().map_or(0, |first| first.total);
    match total.saturating_sub_unsigned(candidates.len() as u64) {
        0 => {}
        more => {
            commands += &format!("\n  and {more} more, which 'timebase clocks {source}' lists");
        }
    }
    commands
}

/// The command line again, with another clock as the argument of a flag.
fn command(arguments: &ExplainArguments, flag: &str, clock: Clock) -> String {
    // The written clock does not repeat a flag's machine or file.
    let chosen = Clock {
        machine: match arguments.machine {
            Some(_) => MachineId::HOST,
            None => clock.machine,
        },
        file: match arguments.file {
            Some(_) => FileTag::SHARED,
            None => clock.file,
        },
        ..clock
    };
    let chosen = chosen.to_string();
    let unless_zero = |number: u32| (number != 0).then(|| number.to_string());
    let of_clock = |name: &str, given: &Option<ClockArgument>, seq| match given {
        _ if name == flag => (Some(chosen.clone()), None),
        Some(given) => (Some(given.text.clone()), unless_zero(seq)),
        None => (None, None),
    };
    let (from, seq) = of_clock("clock", &arguments.clock, arguments.seq);
    let (to, to_seq) = of_clock("to", &arguments.to, arguments.to_seq);
    let ts = arguments.ts.as_ref().map(|ts| match ts {
        TsArgument::Ticks(ts) => ts.to_string(),
        TsArgument::Shown(_, text) => text.clone(),
    });
    let flags = [
        ("slice", arguments.slice.map(|id| id.to_string())),
        ("packet", arguments.packet.map(|id| id.to_string())),
        ("clock", from),
        ("seq", seq),
        ("ts", ts),
        ("to", to),
        ("to-seq", to_seq),
        ("machine", arguments.machine.clone()),
        ("file", arguments.file.clone()),
    ];
    let mut command =
        format!("timebase explain {}", quoted_path(&arguments.source.to_string_lossy()));
    for (name, value) in flags {
        if let Some(value) = value {
            command += &format!(" --{name} {}", quoted(&value));
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use timebase_resolver::ClockId;

    use super::*;
    use crate::flags::{Cli, Command};

    #[test]
    fn the_command_is_what_was_typed_with_another_clock() {
        let typed = [
            "timebase",
            "explain",
            "my trace.db",
            "--clock",
            "64",
            "--ts",
            "-5",
            "--to",
            "65",
            "--to-seq",
            "3",
            "--machine",
            "2",
        ];
        let cli = Cli::try_parse_from(typed).expect("is right");
        let Command::Explain(arguments) = cli.command else {
            unreachable!("that is the command");
        };
        let of = |id, seq| Clock::new(MachineId(2), ClockId(id), SeqId(seq));
        assert_eq!(
            command(&arguments, "clock", of(64, 7)),
            "timebase explain 'my trace.db' --clock 64@7 --ts -5 --to 65 --to-seq 3 --machine 2"
        );
        let own = with_file(of(64, 7), Some(3));
        assert_eq!(
            command(&arguments, "clock", own),
            "timebase explain 'my trace.db' --clock '64@7 in file 3' --ts -5 --to 65 --to-seq 3 --machine 2"
        );
        assert_eq!(
            command(&arguments, "to", of(65, 7)),
            "timebase explain 'my trace.db' --clock 64 --ts -5 --to 65@7 --machine 2"
        );
    }
}
