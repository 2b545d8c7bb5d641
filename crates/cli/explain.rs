//! `timebase explain`: one conversion, as one would do it by hand.
//!
//! | question | where it is decided |
//! |---|---|
//! | what was asked for | `explain/question.rs` |
//! | whether the trace has such a clock, and which else | `explain/chosen.rs` |
//! | how it is laid out | `explain/hops.rs` |

mod chosen;
mod hops;
mod question;

use std::io::Write;

use anyhow::Context;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Unresolved, WallTime};

use crate::database::{self, Access};
use crate::flags::{self, ClockArgument, Conversion, ExplainArguments, TsArgument};
use crate::output;
use crate::signals::Signals;
use hops::{Hop, LinearHop, Snapshot, write_folded, write_hops, write_linear_hops};
use question::Question;

pub fn run(
    arguments: &ExplainArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let question = Question::of(arguments);
    let question = question.unwrap_or_else(|message| flags::wrong_usage("explain", &message));
    // Slices are events, which are left out where only clocks are asked for.
    let access = match question {
        Question::Slice(_) => Access::ALL,
        Question::Packet(_) | Question::Reading { .. } => Access::CLOCKS,
    };
    let database = database::open(&arguments.source, access, signals)?;
    let explained = signals.during_query(database.get_interrupt_handle(), || {
        // Whole, or an error.
        let mut shown = Vec::new();
        explain(&database, &question, arguments, &mut shown)?;
        // Names in a database are what their authors like.
        Ok(out.write_all(output::printable(&String::from_utf8_lossy(&shown)).as_bytes())?)
    });
    database.warn_if_changed();
    explained
}

fn is_wall_clock(clock: Clock) -> bool {
    matches!(clock.id, ClockId::REALTIME | ClockId::REALTIME_COARSE)
}

fn explain(
    database: &Connection,
    question: &Question<'_>,
    arguments: &ExplainArguments,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    // A pipe has any width.
    let width = output::terminal_width().map_or(usize::MAX, usize::from);
    let reading = match question {
        Question::Slice(slice) => {
            let packet = packet_of(*slice, database, out)?;
            recorded(packet, database, width, out)?
        }
        Question::Packet(packet) => recorded(*packet, database, width, out)?,
        Question::Reading { clock, given, ts } => {
            if let Some(given) = given {
                chosen::check(database, ("clock", given), *clock, arguments)?;
                write_number(given, out)?;
            }
            Some(given_reading(database, *clock, ts, width, out)?)
        }
    };
    let Some(Reading { clock: from, ts }) = reading else {
        return Ok(());
    };
    let is_given = matches!(question, Question::Reading { .. });
    let to = match &arguments.to {
        None => Clock::BOOTTIME,
        Some(to) => {
            // One that is written with its machine says it; a packet's is its own.
            let machine = match is_given {
                true => MachineId(arguments.machine),
                false => from.machine,
            };
            let clock = to.written.clock_of(machine, SeqId(arguments.to_seq));
            chosen::check(database, ("to", to), clock, arguments)?;
            write_number(to, out)?;
            clock
        }
    };
    let value = write_unit(database, from, ts, !is_given, out)?;
    let asked = Asked::new(from, ts, to);
    let linear = match conversion(arguments, database)? {
        Conversion::Linear => asked.linear_hops(database)?,
        Conversion::Nearest => Vec::new(),
    };
    let (result, error) = match linear.last() {
        Some(last) => {
            write_linear_hops(&linear, width, out)?;
            let overflow = || Unresolved::Overflow.code().to_owned();
            let error = linear
                .iter()
                .fold(0.0, |sum, hop| sum * hop.rate.abs() + hop.error_ns);
            (last.value_out.ok_or_else(overflow), Some(error))
        }
        // By lines, no hop means what it means by snapshots: the same clock, or no way.
        None => {
            write_hops(&asked.hops(database)?, value, width, out)?;
            (asked.nearest(database)?, None)
        }
    };
    match result {
        Ok(value) => {
            let mut line = vec![format!("{from} {ts} is {to} {value} ns")];
            if let Some(error) = error {
                line.push(format!("± {:.0} ns", error.ceil()));
            }
            if is_wall_clock(to) {
                if let Some(last) = line.last_mut() {
                    last.push(',');
                }
                line.push(format!("{} UTC", WallTime::of_realtime(value)));
            }
            write_folded(&line, "", width, out)?;
        }
        Err(reason) => {
            writeln!(out, "{from} {ts} is unresolved: {reason}")?;
            let reason = Unresolved::from_code(&reason);
            if let Some(words) = reason {
                writeln!(out, "{words}")?;
            }
            if let Question::Reading {
                ts: TsArgument::Shown(_, text),
                ..
            } = question
                && reason == Some(Unresolved::NonMonotonic)
                && from.machine == MachineId::HOST
            {
                writeln!(
                    out,
                    "the last trace time that showed it: SELECT from_abs_time_str('{text}')"
                )?;
            }
        }
    }
    Ok(())
}

/// Which conversion is asked for: unless the command line says it, that of the import.
fn conversion(arguments: &ExplainArguments, database: &Connection) -> anyhow::Result<Conversion> {
    if let Some(conversion) = arguments.conversion {
        return Ok(conversion);
    }
    let sql = "SELECT value = 'linear' FROM metadata WHERE name = 'conversion'";
    let is_linear = database.query_row(sql, [], |row| row.get::<_, Option<bool>>(0));
    Ok(match is_linear.optional()?.flatten() {
        Some(true) => Conversion::Linear,
        _ => Conversion::Nearest,
    })
}

/// What a clock read, in its own unit.
struct Reading {
    clock: Clock,
    ts: i64,
}

/// The reading that was given; says which one is meant by a time of day.
fn given_reading(
    database: &Connection,
    clock: Clock,
    ts: &TsArgument,
    width: usize,
    out: &mut dyn Write,
) -> anyhow::Result<Reading> {
    let ts = match ts {
        TsArgument::Ticks(ts) => *ts,
        TsArgument::Shown(time, text) => {
            let ts = time
                .realtime()
                .div_euclid(Known::of(database, clock)?.unit.max(1));
            let line = [format!("{text} is {clock} {ts},"), format!("{time} UTC")];
            write_folded(&line, "", width, out)?;
            ts
        }
    };
    Ok(Reading { clock, ts })
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
    width: usize,
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
    let clock = Clock::new(MachineId(machine), ClockId(id), SeqId(seq));
    let read = format!("packet {packet} has timestamp {timestamp} of {clock}");
    if timestamp == ts {
        writeln!(out, "{read}")?;
    } else {
        let line = [format!("{read},"), format!("which sums up to {ts}")];
        write_folded(&line, "", width, out)?;
    }
    Ok(Some(Reading { clock, ts }))
}

/// The question as the SQL functions take it, which read what clocks are printed as.
struct Asked([Value; 5]);

impl Asked {
    fn new(from: Clock, ts: i64, to: Clock) -> Asked {
        let [from, to] = [from, to].map(|clock| match clock.lacks_sequence() {
            false => Value::Text(clock.to_string()),
            // Only as a number can it be given without its sequence.
            true => Value::Integer(clock.id.get().into()),
        });
        let none = Value::Integer(0);
        Asked([from, none.clone(), Value::Integer(ts), to, none])
    }

    fn hops(&self, database: &Connection) -> anyhow::Result<Vec<Hop>> {
        let mut statement = database.prepare(
            "SELECT from_clock, to_clock, snapshot_id, from_value, to_value
             FROM clock_path(?1, ?2, ?3, ?4, ?5) ORDER BY step",
        )?;
        let hops = statement.query_map(params_from_iter(&self.0), |row| {
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

    fn linear_hops(&self, database: &Connection) -> anyhow::Result<Vec<LinearHop>> {
        let mut statement = database.prepare(
            "SELECT from_clock, to_clock, kind, before_snapshot_id, before_from_value,
                    before_to_value, after_snapshot_id, after_from_value, after_to_value, rate,
                    error_ns, value_in, value_out
             FROM clock_path_linear(?1, ?2, ?3, ?4, ?5) ORDER BY step",
        )?;
        let reading = |row: &Row<'_>, at: usize| -> rusqlite::Result<Option<Snapshot>> {
            let Some(id) = row.get(at)? else {
                return Ok(None);
            };
            Ok(Some(Snapshot {
                id,
                from: row.get(at + 1)?,
                to: row.get(at + 2)?,
            }))
        };
        let hops = statement.query_map(params_from_iter(&self.0), |row| {
            Ok(LinearHop {
                from: row.get(0)?,
                to: row.get(1)?,
                kind: row.get(2)?,
                before: reading(row, 3)?,
                after: reading(row, 6)?,
                rate: row.get(9)?,
                error_ns: row.get(10)?,
                value_in: whole(row, 11)?,
                value_out: whole(row, 12)?,
            })
        })?;
        Ok(hops.collect::<rusqlite::Result<_>>()?)
    }

    /// The reading on the target clock, or the reason why there is none.
    fn nearest(&self, database: &Connection) -> anyhow::Result<Result<i64, String>> {
        let ask = |function: &str| format!("SELECT {function}(?1, ?2, ?3, ?4, ?5)");
        let given = || params_from_iter(&self.0);
        let value: Option<i64> =
            database.query_row(&ask("convert_clock"), given(), |row| row.get(0))?;
        if let Some(value) = value {
            return Ok(Ok(value));
        }
        let reason = database.query_row(&ask("why_unresolved"), given(), |row| row.get(0))?;
        Ok(Err(reason))
    }
}

/// A value that may not fit 64 bits: then it is none.
fn whole(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(row.get_ref(column)?.as_i64().ok())
}

/// Says which number a name means, unless everybody knows.
fn write_number(argument: &ClockArgument, out: &mut dyn Write) -> anyhow::Result<()> {
    let ClockArgument { written, text } = argument;
    if written.is_hashed() {
        writeln!(out, "{text} is clock {}", written.id().get())?;
    }
    Ok(())
}

/// What has to be known of a clock to make nanoseconds of its reading.
struct Known {
    unit: i64,
    is_incremental: bool,
}

impl Known {
    fn of(database: &Connection, clock: Clock) -> anyhow::Result<Known> {
        let known = database.query_row(
            "SELECT unit_multiplier_ns, is_incremental FROM clock
              WHERE machine_id = ?1 AND clock_id = ?2 AND seq_id = ?3",
            params![clock.machine.0, clock.id.0, clock.seq.0],
            |row| {
                Ok(Known {
                    unit: row.get(0)?,
                    is_incremental: row.get(1)?,
                })
            },
        );
        Ok(known.optional()?.unwrap_or(Known {
            unit: 1,
            is_incremental: false,
        }))
    }
}

/// Says what makes nanoseconds of the reading of a clock; returns them. Whether the
/// reading is a sum of deltas may be known already.
fn write_unit(
    database: &Connection,
    clock: Clock,
    ts: i64,
    is_sum: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i128> {
    let Known {
        unit,
        is_incremental,
    } = Known::of(database, clock)?;
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
