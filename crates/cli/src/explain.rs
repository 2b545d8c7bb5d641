//! `timebase explain`: shows one conversion as a person would do it by hand.
//!
//! | question | where it is decided |
//! |---|---|
//! | the question on the command line | `explain/question.rs` |
//! | the machine and the file in the arguments | `explain/owner.rs` |
//! | the clock of the trace, and the other candidates | `explain/chosen.rs` |
//! | the packet's row, if all snapshots give another time | `explain/placed.rs` |
//! | the basis of a hop to another machine or file | `explain/crossing.rs` |
//! | the messages around a hop that goes by them | `explain/causal.rs` |
//! | the layout | `explain/hops.rs` |

mod causal;
mod chosen;
mod crossing;
mod hops;
mod note;
mod owner;
mod placed;
mod question;

use std::io::Write;

use anyhow::Context;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use timebase_resolver::{
    Clock, ClockId, FileTag, MachineId, SeqId, Unresolved, WallTime, WrittenClock,
};
use timebase_trace::json;

use crate::database::{self, Access};
use crate::flags::{self, ClockArgument, Conversion, ExplainArguments, TsArgument};
use crate::output;
use crate::signals::Signals;
use hops::{
    Hop, LinearHop, Snapshot, Taken, shown_error, write_folded, write_hops, write_linear_hops,
};
use owner::Owner;
use placed::Placed;
use question::{Question, is_wall_clock};

pub fn run(
    arguments: &ExplainArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let question = Question::of(arguments);
    let question = question.unwrap_or_else(|message| flags::wrong_usage("explain", &message));
    // Slices are events, which are left out if only clocks are needed.
    let access = match question {
        Question::Slice(_) => Access::ALL,
        Question::Packet(_) | Question::Reading { .. } => Access::CLOCKS,
    };
    let database = database::open(&arguments.source, access, signals)?;
    let explained = signals.during_query(database.get_interrupt_handle(), || {
        // The output is complete, or there is an error.
        let mut shown = Vec::new();
        explain(&database, &question, arguments, &mut shown)?;
        // Names in a database can contain anything.
        Ok(out.write_all(crate::escape::printable(&String::from_utf8_lossy(&shown)).as_bytes())?)
    });
    database.warn_if_changed();
    explained
}

fn explain(
    database: &Connection,
    question: &Question<'_>,
    arguments: &ExplainArguments,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    // A pipe has no limit on width.
    let width = output::terminal_width().map_or(usize::MAX, usize::from);
    let Some(reading) = asked_reading(database, question, arguments, width, out)? else {
        return Ok(());
    };
    let to = target(database, &reading, arguments, out)?;
    let Reading { clock: from, ts, row, .. } = reading;
    let value = write_unit(database, from, ts, row.is_some(), out)?;
    let asked = Asked::new(from, ts, to);
    let by_import = conversion_of(database)?;
    let conversion = arguments.conversion.unwrap_or(by_import);
    let answer = Answer::of(&asked, conversion, database)?;
    // The row answers the same question only under these conditions.
    let row = row.filter(|_| arguments.to.is_none() && conversion == by_import);
    match row {
        Some(row) if !row.is(&answer.result) => {
            let known = placed::Contradiction { database, row: &row, of_all: &answer, value };
            return known.write(&asked, conversion, width, out);
        }
        _ => answer.write_hops(database, value, width, out)?,
    }
    match &answer.result {
        Ok(value) => asked.write_answer(*value, answer.how(), width, out)?,
        Err(reason) => write_reason(database, question, (from, ts), reason, out)?,
    }
    Ok(())
}

/// The reading to explain; `None`, after a message, if a packet or a slice has none.
fn asked_reading(
    database: &Connection,
    question: &Question<'_>,
    arguments: &ExplainArguments,
    width: usize,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Reading>> {
    let (given, ts) = match question {
        Question::Slice(slice) => {
            let packet = packet_of(*slice, database, out)?;
            return recorded(packet, database, width, out);
        }
        Question::Packet(packet) => return recorded(*packet, database, width, out),
        Question::Reading { given, ts } => (given, ts),
    };
    let owner = Owner::of(arguments, database)?;
    let realtime = ClockArgument { written: ClockId::REALTIME.into(), text: "REALTIME".to_owned() };
    let clock = given.unwrap_or(&realtime);
    let clock = chosen::clock(database, ("clock", clock), arguments.seq, owner, arguments)?;
    if let Some(given) = given {
        write_number(given, out)?;
    }
    let is_shared = given.is_none_or(|given| given.written.file().is_none());
    if is_shared && arguments.file.is_none() {
        write_others(database, clock, width, out)?;
    }
    let reading = given_reading(database, clock, ts, width, out)?;
    let written = given.map(|given| given.written);
    let owner = Owner {
        machine: owner.machine.or(written.and_then(WrittenClock::machine)),
        file: owner.file.or(written.and_then(WrittenClock::file)),
    };
    Ok(Some(Reading { owner, ..reading }))
}

/// The clock to convert the reading to.
fn target(
    database: &Connection,
    reading: &Reading,
    arguments: &ExplainArguments,
    out: &mut dyn Write,
) -> anyhow::Result<Clock> {
    Ok(match &arguments.to {
        // The row of a packet has trace time.
        None if reading.row.is_some() => placed::trace_time(database)?,
        None => match placed::trace_time(database)? {
            clock if clock.id == ClockId::TRACE_FILE => clock,
            clock => Clock { machine: clock.machine, ..Clock::BOOTTIME },
        },
        Some(to) => {
            let (seq, owner) = (arguments.to_seq, reading.owner);
            let clock = chosen::clock(database, ("to", to), seq, owner, arguments)?;
            write_number(to, out)?;
            clock
        }
    })
}

/// Writes that there is no time, and the reason. For a time of day, it also writes when the clock
/// showed it.
fn write_reason(
    database: &Connection,
    question: &Question<'_>,
    (from, ts): (Clock, i64),
    reason: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    writeln!(out, "{from} {ts} is unresolved: {reason}")?;
    let reason = Unresolved::from_code(reason);
    if let Some(words) = reason {
        writeln!(out, "{words}")?;
    }
    if let Question::Reading { ts: TsArgument::Shown(_, text), .. } = question
        && reason == Some(Unresolved::NonMonotonic)
        && from.machine == trace_time_machine(database)?
    {
        writeln!(out, "the last trace time that showed it: SELECT from_abs_time_str('{text}')")?;
    }
    Ok(())
}

/// The result of a conversion, with its hops.
struct Answer {
    /// The reading of the target, or the reason why there is none.
    result: Result<i64, String>,
    hops: Hops,
    /// The time by the clocks' rate, and its largest error, if there is a path.
    by_rate: Option<(i64, Option<f64>)>,
    /// Whether messages bound that error.
    is_bounded: bool,
}

enum Hops {
    Nearest(Vec<Hop>),
    Linear(Vec<LinearHop>),
}

impl Answer {
    fn of(asked: &Asked, conversion: Conversion, database: &Connection) -> anyhow::Result<Answer> {
        let linear = asked.linear_hops(database)?;
        let error = linear
            .iter()
            .try_fold(0.0, |sum, hop| hop.error_ns.map(|error| sum * hop.rate.abs() + error));
        let overflow = || Unresolved::Overflow.code().to_owned();
        let last = linear.last().map(|last| last.value_out);
        let by_rate = last.flatten().map(|value| (value, error));
        let is_bounded = causal::is_bounded(database, &linear)?;
        let (result, hops) = match (conversion, last) {
            (Conversion::Linear, Some(value)) => (value.ok_or_else(overflow), Hops::Linear(linear)),
            // With lines, no hops means the same as with snapshots: the same clock, or no path.
            _ => (asked.nearest(database)?, Hops::Nearest(asked.hops(database, database)?)),
        };
        Ok(Answer { result, hops, by_rate, is_bounded })
    }

    /// The text after the result: its precision.
    fn how(&self) -> Option<String> {
        match (&self.hops, self.by_rate) {
            (Hops::Linear(_), Some((_, error))) => Some(shown_error(error) + self.by_messages()),
            (Hops::Nearest(hops), Some(_)) if hops.is_empty() => None,
            (Hops::Nearest(_), Some(_)) => Some(format!("(nearest; {})", self.rate()?)),
            _ => None,
        }
    }

    /// The time by the clocks' rate.
    fn rate(&self) -> Option<String> {
        let (value, error) = self.by_rate?;
        let how = error.map_or(", with an unknown error".to_owned(), |error| {
            format!(" ± {:.0}{}", error.ceil(), self.by_messages())
        });
        Some(format!("by the clocks' rate {value}{how}"))
    }

    /// The statement that messages limit the error (rule AL18).
    fn by_messages(&self) -> &'static str {
        if self.is_bounded { ", within what messages allow" } else { "" }
    }

    fn write_hops(
        &self,
        database: &Connection,
        value: i128,
        width: usize,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        match &self.hops {
            Hops::Linear(hops) => {
                let clocks = hops.iter().flat_map(|hop| [&hop.from, &hop.to]);
                write_names(database, clocks, width, out)?;
                write_linear_hops(hops, width, out)
            }
            Hops::Nearest(hops) => {
                let clocks = hops.iter().flat_map(|hop| [&hop.from, &hop.to]);
                write_names(database, clocks, width, out)?;
                write_hops(hops, value, width, out)
            }
        }
    }
}

/// The conversion of the import.
fn conversion_of(database: &Connection) -> anyhow::Result<Conversion> {
    let sql = "SELECT value = 'linear' FROM metadata WHERE name = 'conversion'";
    let is_linear = database.query_row(sql, [], |row| row.get::<_, Option<bool>>(0));
    Ok(match is_linear.optional()?.flatten() {
        Some(true) => Conversion::Linear,
        _ => Conversion::Nearest,
    })
}

/// The machine whose BOOTTIME is the target of conversions (rule X25).
fn trace_time_machine(database: &Connection) -> anyhow::Result<MachineId> {
    let sql = "SELECT value FROM metadata WHERE name = 'trace_time_machine_id'";
    let machine = database.query_row(sql, [], |row| row.get::<_, Option<u32>>(0));
    Ok(MachineId(machine.optional()?.flatten().unwrap_or(0)))
}

/// Writes the names of the clocks' machines and files.
fn write_names<'a>(
    database: &Connection,
    clocks: impl Iterator<Item = &'a String>,
    width: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (mut machines, mut files) = (Vec::new(), Vec::new());
    for clock in clocks.filter_map(|clock| clock.parse::<WrittenClock>().ok()) {
        machines.push(clock.clock().machine.0);
        files.extend(clock.file());
    }
    for ids in [&mut machines, &mut files] {
        ids.sort_unstable();
        ids.dedup();
    }
    let names = owner::names(database, &machines, &files)?;
    if !names.is_empty() {
        write_folded(&names, "", width, out)?;
    }
    Ok(())
}

/// Writes the files that have a clock of their own, if the given clock is the one that all files
/// share.
fn write_others(
    database: &Connection,
    clock: Clock,
    width: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if clock.file != FileTag::SHARED {
        return Ok(());
    }
    let others = chosen::others(database, clock)?;
    let [first, rest @ ..] = others.as_slice() else {
        return Ok(());
    };
    let line = match rest.len() {
        0 => format!("file {first} has its own {clock},"),
        more => format!("file {first} and {more} more have their own {clock},"),
    };
    let line = [line, format!("which --file {first} asks for; this is the machine's")];
    write_folded(&line, "", width, out)
}

/// A reading of a clock, in its own unit.
struct Reading {
    clock: Clock,
    ts: i64,
    /// The owner of the clock to convert to.
    owner: Owner,
    /// The packet's row, if the reading is a packet's.
    row: Option<Placed>,
}

/// The given reading. For a time of day, it writes which reading is meant.
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
            let ts = time.realtime().div_euclid(Unit::of(database, clock)?.unit.max(1));
            let line = [format!("{text} is {clock} {ts},"), format!("{time} UTC")];
            write_folded(&line, "", width, out)?;
            ts
        }
    };
    Ok(Reading { clock, ts, owner: Owner::default(), row: None })
}

/// The packet that began a slice. It also writes which slice this is.
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
            "slice {slice} {name}, of a track of type {track}, comes from kernel events or from a packet with several, so no single packet began it"
        )
    })?;
    writeln!(out, "slice {slice} {name} begins at {ts} by packet {packet}")?;
    if recorded != Some(ts) {
        writeln!(
            out,
            "the event has its own time, in microseconds of MONOTONIC; the time of its packet is:"
        )?;
    }
    Ok(packet)
}

/// Writes that a thing has no time, and the reason.
fn write_unresolved(what: &str, reason: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{what} is unresolved: {reason}")?;
    if let Some(words) = Unresolved::from_code(reason) {
        writeln!(out, "{words}")?;
    }
    Ok(())
}

/// The recorded reading of a packet. If the packet has no timestamp, it writes this and returns
/// `None`.
fn recorded(
    packet: i64,
    database: &Connection,
    width: usize,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Reading>> {
    let found = database.query_row(
        "SELECT p.timestamp, c.clock_id, p.clock_ts, c.seq_id, p.machine_id, p.unresolved, c.trace_file_id,
                p.trace_file_id, p.number, f.name, p.ts, iif(p.type = 'json_event', packet_data(p.id), NULL),
                p.type = 'json_event' AND p.unresolved = 'overflow'
         FROM packet AS p
         LEFT JOIN packet_clock AS c ON c.packet_id = p.id
         LEFT JOIN trace_file AS f ON f.id = p.trace_file_id AND f.id > 0
         WHERE p.id = ?1",
        [packet],
        |row| {
            let own: Option<u32> = row.get(6)?;
            let (id, seq, machine): (Option<u32>, Option<u32>, u32) =
                (row.get(1)?, row.get(3)?, row.get(4)?);
            let machine = MachineId(machine);
            let clock = id.map(|id| Clock::new(machine, ClockId(id), SeqId(seq.unwrap_or(0))));
            let clock = clock.map(|clock| chosen::with_file(clock, own));
            let owner = Owner {
                machine: Some(machine),
                file: Some(row.get(7)?),
            };
            let (number, name): (i64, Option<String>) = (row.get(8)?, row.get(9)?);
            let place = name.map(|name| format!(" ({number} of {name})"));
            let read: (Option<i64>, Option<i64>, Option<String>) =
                (row.get(0)?, row.get(2)?, row.get(5)?);
            let event: Option<Vec<u8>> = row.get(11)?;
            let written = event.as_deref().and_then(written_time);
            let is_too_large = row.get::<_, Option<bool>>(12)?.unwrap_or(false);
            Ok((read, clock, owner, place.unwrap_or_default(), row.get(10)?, (written, is_too_large)))
        },
    );
    let found = found.optional()?.with_context(|| {
        format!("there is no packet {packet}; SELECT count(*) FROM packet tells how many there are")
    })?;
    let ((timestamp, ts, unresolved), clock, owner, place, trace_time, (written, is_too_large)) =
        found;
    let Some(timestamp) = timestamp else {
        if is_too_large {
            let written = written.map(|text| format!(": {text}")).unwrap_or_default();
            writeln!(
                out,
                "packet {packet}{place} has \"ts\"{written}, in microseconds, which does not fit 64 bits as nanoseconds; so it has no time"
            )?;
            return Ok(None);
        }
        write!(out, "packet {packet}{place} has no timestamp")?;
        match (trace_time, unresolved) {
            // The readings of its snapshot are its time.
            (Some(trace_time), _) => writeln!(out, ": its snapshot is at {trace_time}")?,
            (None, Some(reason)) => write_unresolved(" and", &reason, out)?,
            (None, None) => writeln!(out, ": there is nothing to convert")?,
        }
        return Ok(None);
    };
    let (Some(clock), Some(ts)) = (clock, ts) else {
        if let Some(trace_time) = trace_time {
            writeln!(
                out,
                "packet {packet}{place} with timestamp {timestamp} is at {trace_time}: \
                 no clock was known by then, so it is taken as trace time"
            )?;
            return Ok(None);
        }
        let reason = unresolved.unwrap_or_default();
        let packet = format!("packet {packet}{place} with timestamp {timestamp}");
        write_unresolved(&packet, &reason, out)?;
        return Ok(None);
    };
    let read = format!("packet {packet}{place} has timestamp {timestamp} of {clock}");
    if let Some(written) = written {
        let line = [
            format!("packet {packet}{place} has \"ts\": {written}, microseconds of {clock}:"),
            format!("{ts} ns"),
        ];
        write_folded(&line, "", width, out)?;
    } else if timestamp == ts {
        writeln!(out, "{read}")?;
    } else {
        let line = [format!("{read},"), format!("which sums up to {ts}")];
        write_folded(&line, "", width, out)?;
    }
    let row = Placed { packet, ts: trace_time, unresolved };
    Ok(Some(Reading { clock, ts, owner, row: Some(row) }))
}

/// The text of the time of an event in a JSON trace.
fn written_time(event: &[u8]) -> Option<String> {
    let members = json::Value::parse(event)?.members();
    let times = members.filter(|(key, _)| key.is("ts"));
    times.last().map(|(_, time)| String::from_utf8_lossy(time.text()).into_owned())
}

/// The question in the form that the SQL functions take. They read clocks as they are printed.
struct Asked {
    from: Clock,
    ts: i64,
    to: Clock,
    arguments: [Value; 5],
}

impl Asked {
    fn new(from: Clock, ts: i64, to: Clock) -> Asked {
        let [clock, target] = [from, to].map(|clock| match clock.lacks_sequence() {
            false => Value::Text(clock.to_string()),
            // Only a clock's number can be given without its sequence.
            true => Value::Integer(clock.id.get().into()),
        });
        let none = Value::Integer(0);
        Asked { from, ts, to, arguments: [clock, none.clone(), Value::Integer(ts), target, none] }
    }

    /// Writes the last line: the result and its precision.
    fn write_answer(
        &self,
        value: i64,
        how: Option<String>,
        width: usize,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let Asked { from, ts, to, .. } = self;
        let mut line = vec![format!("{from} {ts} is {to} {value} ns")];
        line.extend(how);
        if is_wall_clock(to.id) {
            if let Some(last) = line.last_mut() {
                last.push(',');
            }
            line.push(format!("{} UTC", WallTime::of_realtime(value)));
        }
        write_folded(&line, "", width, out)
    }

    /// The hops by the snapshots of one database. Another database has their basis.
    fn hops(&self, snapshots: &Connection, database: &Connection) -> anyhow::Result<Vec<Hop>> {
        let mut statement = snapshots.prepare(
            "SELECT from_clock, to_clock, snapshot_id, from_value, to_value, value_in, value_out
             FROM clock_path(?1, ?2, ?3, ?4, ?5) ORDER BY step",
        )?;
        let hops = statement.query_map(params_from_iter(&self.arguments), |row| {
            Ok(Hop {
                from: row.get(0)?,
                to: row.get(1)?,
                snapshot: row.get(2)?,
                from_value: row.get(3)?,
                to_value: row.get(4)?,
                readings: whole(row, 5)?.zip(whole(row, 6)?),
                is_by_lines: false,
                note: None,
            })
        })?;
        let mut hops: Vec<Hop> = hops.collect::<rusqlite::Result<_>>()?;
        for hop in &mut hops {
            let clocks = (hop.from.as_str(), hop.to.as_str());
            hop.note = crossing::note(database, clocks, hop.snapshot, hop.readings)?;
            hop.is_by_lines = crossing::is_corner(database, hop.snapshot)?;
        }
        Ok(hops)
    }

    fn linear_hops(&self, database: &Connection) -> anyhow::Result<Vec<LinearHop>> {
        let mut statement = database.prepare(
            "SELECT from_clock, to_clock, kind, before_snapshot_id, before_from_value,
                    before_to_value, after_snapshot_id, after_from_value, after_to_value, rate,
                    error_ns, value_in, value_out
             FROM clock_path_linear(?1, ?2, ?3, ?4, ?5) ORDER BY step",
        )?;
        let reading = |row: &Row<'_>, at: usize| -> rusqlite::Result<Option<Snapshot>> {
            let (from, to): (Option<i64>, Option<i64>) = (row.get(at + 1)?, row.get(at + 2)?);
            let taken = match row.get(at)? {
                Some(snapshot) => Taken::Together(snapshot),
                None => Taken::Asked(None),
            };
            Ok(from.zip(to).map(|(from, to)| Snapshot { taken, from, to }))
        };
        let hops = statement.query_map(params_from_iter(&self.arguments), |row| {
            Ok(LinearHop {
                from: row.get(0)?,
                to: row.get(1)?,
                kind: row.get(2)?,
                before: reading(row, 3)?,
                after: reading(row, 6)?,
                rate: row.get(9)?,
                error_ns: row.get(10)?,
                note: None,
                is_measured: true,
                value_in: whole(row, 11)?,
                value_out: whole(row, 12)?,
            })
        })?;
        let mut hops: Vec<LinearHop> = hops.collect::<rusqlite::Result<_>>()?;
        for hop in &mut hops {
            let clocks = (hop.from.as_str(), hop.to.as_str());
            let readings = hop.value_in.zip(hop.value_out);
            for side in [&mut hop.before, &mut hop.after] {
                match side {
                    Some(Snapshot { taken: Taken::Together(snapshot), .. })
                        if hop.note.is_none() =>
                    {
                        hop.note = crossing::note(database, clocks, *snapshot, readings)?;
                        hop.is_measured = crossing::is_measured(database, *snapshot)?;
                    }
                    Some(Snapshot { taken: Taken::Asked(known), from, to }) => {
                        *known = crossing::sample(database, clocks, (*from, *to))?
                    }
                    _ => {}
                }
            }
        }
        Ok(hops)
    }

    /// The reading on the target clock, or the reason why there is none.
    fn nearest(&self, database: &Connection) -> anyhow::Result<Result<i64, String>> {
        let ask = |function: &str| format!("SELECT {function}(?1, ?2, ?3, ?4, ?5)");
        let given = || params_from_iter(&self.arguments);
        let value: Option<i64> =
            database.query_row(&ask("convert_clock"), given(), |row| row.get(0))?;
        if let Some(value) = value {
            return Ok(Ok(value));
        }
        let reason = database.query_row(&ask("why_unresolved"), given(), |row| row.get(0))?;
        Ok(Err(reason))
    }
}

/// A value, or `None` if it does not fit 64 bits.
fn whole(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(row.get_ref(column)?.as_i64().ok())
}

/// Writes the number that a name stands for, unless it is a well-known one.
fn write_number(argument: &ClockArgument, out: &mut dyn Write) -> anyhow::Result<()> {
    let ClockArgument { written, text } = argument;
    if written.is_hashed() {
        writeln!(out, "{text} is clock {}", written.id().get())?;
    }
    Ok(())
}

/// The properties of a clock that are needed to convert its reading to nanoseconds.
struct Unit {
    unit: i64,
    is_incremental: bool,
}

impl Unit {
    fn of(database: &Connection, clock: Clock) -> anyhow::Result<Unit> {
        let own = Some(clock.file.id).filter(|file| *file != 0);
        let known = database.query_row(
            "SELECT unit_multiplier_ns, is_incremental FROM clock
             WHERE machine_id = ?1 AND clock_id = ?2 AND seq_id = ?3
               AND (trace_file_id IS ?4 OR ?4 IS NULL AND trace_file_id = 0)",
            params![clock.machine.0, clock.id.0, clock.seq.0, own],
            |row| Ok(Unit { unit: row.get(0)?, is_incremental: row.get(1)? }),
        );
        Ok(known.optional()?.unwrap_or(Unit { unit: 1, is_incremental: false }))
    }
}

/// Writes how the reading of a clock becomes nanoseconds, and returns them. `is_sum` says that the
/// reading is already a sum of deltas.
fn write_unit(
    database: &Connection,
    clock: Clock,
    ts: i64,
    is_sum: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i128> {
    let Unit { unit, is_incremental } = Unit::of(database, clock)?;
    if is_incremental && !is_sum {
        writeln!(
            out,
            "{clock} is incremental; {ts} counts as the sum, not as the delta of a packet"
        )?;
    }
    let value = i128::from(ts) * i128::from(unit);
    if unit != 1 {
        writeln!(out, "{clock} {ts} × {unit} ns = {value} ns")?;
    }
    Ok(value)
}
