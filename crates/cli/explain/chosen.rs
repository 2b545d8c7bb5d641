//! Whether the trace has the clock that was given; if not, which one is meant.

use anyhow::{bail, ensure};
use rusqlite::Connection;
use timebase_resolver::{Clock, MachineId, SeqId, UnknownName};

use crate::flags::{ClockArgument, ExplainArguments, TsArgument};

/// Refuses a name that the trace does not have (rule C8), and a clock of which the
/// sequence is not said: tells which there are.
pub fn check(
    database: &Connection,
    (flag, given): (&str, &ClockArgument),
    clock: Clock,
    arguments: &ExplainArguments,
) -> anyhow::Result<()> {
    let source = quoted(&arguments.source.to_string_lossy());
    if given.written.is_hashed() {
        let is_there: bool = database.query_row(
            "SELECT EXISTS (SELECT 1 FROM clock WHERE clock_id = ?1)
                 OR EXISTS (SELECT 1 FROM clock_snapshot WHERE clock_id = ?1)",
            [clock.id.get()],
            |row| row.get(0),
        )?;
        let unknown = UnknownName::of(&given.text);
        let list = match unknown.near() {
            Some(_) => String::new(),
            None => format!("; 'timebase clocks {source}' lists its clocks"),
        };
        ensure!(
            is_there,
            "--{flag} {} must be a clock of the trace; {unknown}{list}",
            given.text
        );
    }
    if !clock.lacks_sequence() {
        return Ok(());
    }
    let mut statement = database.prepare(include_str!("sequences.sql"))?;
    let ids = [clock.id.get(), clock.machine.0];
    let rows = statement.query_map(ids, |row| {
        let scoped = Clock {
            seq: SeqId(row.get(0)?),
            ..clock
        };
        Ok((scoped, row.get(1)?, row.get(2)?))
    })?;
    let of_sequences: Vec<(Clock, i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    let Some(&(_, total, _)) = of_sequences.first() else {
        bail!(
            "--{flag} {}: no sequence of the trace has clock {clock_id}; \
             'timebase clocks {source}' lists its clocks",
            given.text,
            clock_id = clock.id.get()
        );
    };
    let commands = of_sequences.iter().map(|(scoped, _, who)| {
        let command = command(arguments, flag, *scoped);
        format!("\n  {command}   # {who}")
    });
    let commands: String = commands.collect();
    let more = match total.saturating_sub_unsigned(of_sequences.len() as u64) {
        0 => String::new(),
        more => format!("\n  and {more} more, which 'timebase clocks {source}' lists"),
    };
    bail!(
        "--{flag} {}: each sequence has a clock {} of its own; say which one is meant:{commands}{more}",
        given.text,
        clock.id.get()
    )
}

/// The command line once more, with another clock for the one of a flag.
fn command(arguments: &ExplainArguments, flag: &str, clock: Clock) -> String {
    let chosen = match arguments.machine {
        0 => clock.to_string(),
        // Which is said by a flag.
        _ => Clock::new(MachineId::HOST, clock.id, clock.seq).to_string(),
    };
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
        ("machine", unless_zero(arguments.machine)),
    ];
    let mut command = format!(
        "timebase explain {}",
        quoted(&arguments.source.to_string_lossy())
    );
    for (name, value) in flags {
        if let Some(value) = value {
            command += &format!(" --{name} {}", quoted(&value));
        }
    }
    command
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./@:+,=%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
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
        assert_eq!(
            command(&arguments, "to", of(65, 7)),
            "timebase explain 'my trace.db' --clock 64 --ts -5 --to 65@7 --machine 2"
        );
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_change_it() {
        assert_eq!(quoted("t.db"), "t.db");
        assert_eq!(quoted("my trace.db"), "'my trace.db'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
