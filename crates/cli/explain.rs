//! `timebase explain`: one conversion, as one would do it by hand.

use std::io::Write;
use std::iter;

use anyhow::Context;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use timebase_resolver::{Clock, ClockId, MachineId, Scope, SeqId, Unresolved, builtin_name};

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
    let packet = match arguments.slice {
        Some(slice) => Some(packet_of(slice, database, out)?),
        None => arguments.packet,
    };
    let reading = match (packet, &arguments.clock, arguments.ts) {
        (None, Some(clock), Some(ts)) => Some(Reading {
            clock: clock.clone(),
            seq: arguments.seq,
            machine: arguments.machine,
            ts,
        }),
        (Some(packet), ..) => recorded(packet, database, out)?,
        (None, ..) => None,
    };
    let Some(reading) = reading else {
        return Ok(());
    };
    let conversion = Conversion::new(&reading, arguments);
    let (from, to, ts) = (conversion.from, conversion.to, reading.ts);
    for argument in iter::once(&reading.clock).chain(&arguments.to) {
        write_number(argument, out)?;
    }
    let is_sum = packet.is_some();
    let value = write_unit(database, from, ts, is_sum, out)?;
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

/// What a clock read.
struct Reading {
    clock: ClockArgument,
    seq: u32,
    machine: u32,
    ts: i64,
}

/// The packet that began a slice; says which slice that is.
fn packet_of(slice: i64, database: &Connection, out: &mut dyn Write) -> anyhow::Result<i64> {
    let found = database.query_row(
        "SELECT s.name, s.ts, s.packet_id, p.ts, k.type
         FROM slice AS s JOIN track AS k ON k.id = s.track_id LEFT JOIN packet AS p ON p.id = s.packet_id
         WHERE s.id = ?1",
        [slice],
        |row| {
            let name: Option<String> = row.get(0)?;
            let (ts, packet, recorded): (i64, Option<i64>, Option<i64>) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((name, ts, packet, recorded, row.get::<_, String>(4)?))
        },
    );
    let (name, ts, packet, recorded, track) = found.optional()?.with_context(|| {
        format!("there is no slice {slice}; SELECT id, name, ts FROM slice shows them")
    })?;
    let name = name.map_or_else(|| "without a name".into(), |name| format!("'{name}'"));
    let packet = packet.with_context(|| {
        format!(
            "slice {slice} {name}, of a track of type {track}, is made of kernel events or a packet \
             of several, and was not begun by a packet of its own"
        )
    })?;
    writeln!(
        out,
        "slice {slice} {name} begins at {ts} by packet {packet}"
    )?;
    if recorded != Some(ts) {
        writeln!(
            out,
            "the event has a time of its own, in microseconds of MONOTONIC; its packet's is:"
        )?;
    }
    Ok(packet)
}

/// What a packet was recorded with; nothing if it has no timestamp, which is said.
fn recorded(
    packet: i64,
    database: &Connection,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Reading>> {
    type Row = (
        Option<i64>,
        Option<u32>,
        Option<i64>,
        u32,
        u32,
        Option<String>,
    );
    let found: Option<Row> = database
        .query_row(
            "SELECT timestamp, clock_id, clock_ts, seq_id, machine_id, unresolved FROM packet WHERE id = ?1",
            [packet],
            |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            },
        )
        .optional()?;
    let (timestamp, clock, ts, seq, machine, unresolved) = found.with_context(|| {
        format!("there is no packet {packet}; SELECT count(*) FROM packet tells how many there are")
    })?;
    let Some(timestamp) = timestamp else {
        writeln!(
            out,
            "packet {packet} has no timestamp: there is nothing to convert"
        )?;
        return Ok(None);
    };
    let (Some(id), Some(ts)) = (clock, ts) else {
        let reason = unresolved.unwrap_or_default();
        writeln!(
            out,
            "packet {packet} with timestamp {timestamp} is unresolved: {reason}"
        )?;
        if let Some(words) = Unresolved::from_code(&reason) {
            writeln!(out, "{words}")?;
        }
        return Ok(None);
    };
    let seq = match ClockId(id).scope() {
        Scope::Sequence => seq,
        Scope::Builtin | Scope::Global => 0,
    };
    let argument = ClockArgument {
        id,
        text: id.to_string(),
    };
    let from = clock_of(&argument, seq, machine);
    let sum = match timestamp == ts {
        true => String::new(),
        false => format!(", which sums up to {ts}"),
    };
    writeln!(
        out,
        "packet {packet} has timestamp {timestamp} of {from}{sum}"
    )?;
    Ok(Some(Reading {
        clock: argument,
        seq,
        machine,
        ts,
    }))
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
    fn new(read: &Reading, arguments: &ExplainArguments) -> Conversion {
        let from = clock_of(&read.clock, read.seq, read.machine);
        let reading = [read.clock.id.into(), read.seq.into(), read.ts];
        let machine = read.machine.into();
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
                to: clock_of(to, arguments.to_seq, read.machine),
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

fn clock_of(argument: &ClockArgument, seq: u32, machine: u32) -> Clock {
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
/// returns them. Whether the reading is a sum of deltas may be known already.
fn write_unit(
    database: &Connection,
    clock: Clock,
    ts: i64,
    is_sum: bool,
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
    if is_incremental && !is_sum {
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
