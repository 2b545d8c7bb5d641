//! `timebase explain`: one conversion, as one would do it by hand.

use std::io::Write;
use std::iter;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Unresolved, builtin_name};

use crate::database::{self, Access};
use crate::flags::{ClockArgument, ExplainArguments};
use crate::signals::Signals;

pub fn run(
    arguments: &ExplainArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let database = database::open(&arguments.source, Access::Read, signals)?;
    signals.during_query(database.get_interrupt_handle(), || {
        explain(&database, arguments, out)
    })
}

/// A hop of the conversion: two clocks, and what they read in a snapshot.
struct Hop {
    from: String,
    to: String,
    snapshot: i64,
    from_value: i64,
    to_value: i64,
}

fn explain(
    database: &Connection,
    arguments: &ExplainArguments,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let conversion = Conversion::new(arguments);
    let (from, to, ts) = (conversion.from, conversion.to, arguments.ts);
    for argument in iter::once(&arguments.clock).chain(&arguments.to) {
        write_number(argument, out)?;
    }
    let value = write_unit(database, from, ts, out)?;
    write_hops(&conversion.hops(database)?, value, out)?;
    match conversion.result(database)? {
        Ok(value) => writeln!(out, "{from} {ts} is {to} {value} ns")?,
        Err(reason) => {
            writeln!(out, "{from} {ts} is unresolved: {reason}")?;
            if let Some(words) = Unresolved::from_code(&reason) {
                writeln!(out, "{words}")?;
            }
        }
    }
    Ok(())
}

/// The question as the SQL functions take it.
struct Conversion {
    from: Clock,
    to: Clock,
    hops: &'static str,
    result: &'static str,
    reason: &'static str,
    arguments: Vec<i64>,
}

impl Conversion {
    fn new(arguments: &ExplainArguments) -> Conversion {
        let from = clock(&arguments.clock, arguments.seq, arguments.machine);
        let reading = [
            arguments.clock.id.into(),
            arguments.seq.into(),
            arguments.ts,
        ];
        let machine = arguments.machine.into();
        match &arguments.to {
            None => Conversion {
                from,
                to: Clock::BOOTTIME,
                hops: "clock_path(?1, ?2, ?3) WHERE machine_id = ?4",
                result: "SELECT to_boottime(?1, ?2, ?3, ?4)",
                reason: "SELECT why_unresolved(?1, ?2, ?3, ?4)",
                arguments: [&reading[..], &[machine]].concat(),
            },
            Some(to) => Conversion {
                from,
                to: clock(to, arguments.to_seq, arguments.machine),
                hops: "clock_path(?1, ?2, ?3, ?4, ?5, ?6)",
                result: "SELECT convert_clock(?1, ?2, ?3, ?4, ?5, ?6)",
                reason: "SELECT why_unresolved(?1, ?2, ?3, ?4, ?5, ?6)",
                arguments: [
                    &reading[..],
                    &[to.id.into(), arguments.to_seq.into(), machine],
                ]
                .concat(),
            },
        }
    }

    fn hops(&self, database: &Connection) -> anyhow::Result<Vec<Hop>> {
        let mut statement = database.prepare(&format!(
            "SELECT from_clock, to_clock, snapshot_id, from_value, to_value FROM {} ORDER BY step",
            self.hops
        ))?;
        let hops = statement.query_map(params_from_iter(&self.arguments), |row| {
            Ok(Hop {
                from: row.get(0)?,
                to: row.get(1)?,
                snapshot: row.get(2)?,
                from_value: row.get(3)?,
                to_value: row.get(4)?,
            })
        })?;
        Ok(hops.collect::<rusqlite::Result<_>>()?)
    }

    /// The reading on the target clock, or the reason why there is none.
    fn result(&self, database: &Connection) -> anyhow::Result<Result<i64, String>> {
        let given = || params_from_iter(&self.arguments);
        let value: Option<i64> = database.query_row(self.result, given(), |row| row.get(0))?;
        match value {
            Some(value) => Ok(Ok(value)),
            None => Ok(Err(
                database.query_row(self.reason, given(), |row| row.get(0))?
            )),
        }
    }
}

fn clock(argument: &ClockArgument, seq: u32, machine: u32) -> Clock {
    Clock::new(MachineId(machine), ClockId(argument.id), SeqId(seq))
}

/// Says which clock a name means, unless everybody knows.
fn write_number(argument: &ClockArgument, out: &mut dyn Write) -> anyhow::Result<()> {
    let name = &argument.text;
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || builtin_name(argument.id).is_some() {
        return Ok(());
    }
    write!(out, "{name} is clock {}", argument.id)?;
    let upper = name.to_ascii_uppercase();
    if builtin_name(ClockId::from_name(&upper).get()).is_some() {
        write!(out, " (not the builtin {upper})")?;
    }
    writeln!(out)?;
    Ok(())
}

/// Says what has to be known of the clock to make nanoseconds of its reading;
/// returns them.
fn write_unit(
    database: &Connection,
    clock: Clock,
    ts: i64,
    out: &mut dyn Write,
) -> anyhow::Result<i128> {
    let (unit, is_incremental) = database
        .query_row(
            "SELECT unit_multiplier_ns, is_incremental FROM clock
              WHERE machine_id = ?1 AND clock_id = ?2 AND seq_id = ?3",
            params![clock.machine.0, clock.id.0, clock.seq.0],
            |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)),
        )
        .optional()?
        .unwrap_or((1, false));
    if is_incremental {
        writeln!(
            out,
            "{clock} is incremental; {ts} is taken for the sum, not for the delta of a packet"
        )?;
    }
    let value = i128::from(ts) * i128::from(unit);
    if unit != 1 {
        writeln!(out, "{clock} {ts} × {unit} ns = {value} ns")?;
    }
    Ok(value)
}

/// One line a hop, in columns. Only the final value has to fit 64 bits.
fn write_hops(hops: &[Hop], mut value: i128, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut lines = Vec::with_capacity(hops.len());
    for hop in hops {
        let Hop {
            from,
            to,
            snapshot,
            from_value,
            to_value,
        } = hop;
        let result = i128::from(*to_value) + (value - i128::from(*from_value));
        let subtrahend = in_parentheses_if_negative(*from_value);
        lines.push((
            format!("{from} {value} → {to} {result}"),
            format!(
                "snapshot {snapshot}: {from} {from_value} = {to} {to_value};  \
                 {to_value} + ({value} − {subtrahend}) = {result}"
            ),
        ));
        value = result;
    }
    let widths = lines.iter().map(|(hop, _)| hop.chars().count());
    let width = widths.max().unwrap_or_default();
    for (hop, arithmetic) in lines {
        writeln!(out, "{hop:width$}   {arithmetic}")?;
    }
    Ok(())
}

fn in_parentheses_if_negative(value: i64) -> String {
    if value < 0 {
        format!("({value})")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_shown_with_their_arithmetic() {
        let hop = |from: &str, to: &str, snapshot, from_value, to_value| Hop {
            from: from.to_owned(),
            to: to.to_owned(),
            snapshot,
            from_value,
            to_value,
        };
        let hops = [
            hop("64@2", "MONOTONIC", 2, 3000, 3200),
            hop("MONOTONIC", "BOOTTIME", 1, -1200, 5200),
        ];
        let mut out = Vec::new();
        write_hops(&hops, 3503, &mut out).expect("to memory");
        assert_eq!(
            String::from_utf8_lossy(&out),
            concat!(
                "64@2 3503 → MONOTONIC 3703        ",
                "snapshot 2: 64@2 3000 = MONOTONIC 3200;  3200 + (3503 − 3000) = 3703\n",
                "MONOTONIC 3703 → BOOTTIME 10103   ",
                "snapshot 1: MONOTONIC -1200 = BOOTTIME 5200;  5200 + (3703 − (-1200)) = 10103\n",
            )
        );
    }
}
