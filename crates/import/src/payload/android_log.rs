//! `android_log`: lines of the Android log become rows of `android_logs`
//! (rule I2).

use std::fmt::Write;

use prost::Message;
use rusqlite::{Connection, params};
use serde_json::Value;
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Unresolved};
use timebase_wire::proto::AndroidLogPacket;
use timebase_wire::proto::android_log_packet::LogEvent;
use timebase_wire::proto::android_log_packet::log_event::Arg;
use timebase_wire::proto::android_log_packet::log_event::arg;

use super::{Events, Halt, Importer, Packet};
use crate::decoder::Decoder;
use crate::retry;
use crate::rows::{Batch, Cell, Index, On, Placement, Rows, Table};

pub(super) static IMPORTER: Importer = Importer {
    import,
    finish: Some(finish),
    tables: &[&LOGS],
};

static LOGS: Table = Table {
    name: "android_logs",
    columns: &[
        "id",
        "ts",
        "packet_id",
        "pid",
        "tid",
        "uid",
        "log_id",
        "prio",
        "tag",
        "msg",
        "args",
        "timestamp",
        "unresolved",
    ],
    indexes: &[Index {
        name: "android_logs_ts",
        on: On::One(1),
        rows: Rows::All { waiting: 11 },
    }],
};

/// What Perfetto takes a line for that has no priority.
const PRIO_INFO: i32 = 4;

#[derive(Debug, Default)]
struct Lines {
    rows: u64,
}

fn realtime(machine: u32) -> Clock {
    Clock::new(MachineId(machine), ClockId::REALTIME, SeqId(0))
}

fn import(decoder: &mut Decoder, packet: &Packet<'_>) -> Result<Placement, Halt> {
    if decoder.keep_events {
        let log = AndroidLogPacket::decode(packet.payload)?;
        let mut lines = decoder.states.take::<Lines>();
        let clock = realtime(packet.header.machine_id);
        let unit = decoder.clocks.unit(clock);
        for event in &log.events {
            let placed = event
                .timestamp
                .map(|timestamp| decoder.clocks.place_event(clock, unit, timestamp));
            line(&mut decoder.batch, lines.rows, packet.id, event, placed);
            lines.rows += 1;
            decoder.make_room(packet.outlet)?;
        }
        decoder.states.put(lines);
    }
    let sequence = decoder.sequences.get(packet.sequence);
    Ok(decoder.clocks.place(packet.header, sequence))
}

fn line(
    batch: &mut Batch,
    id: u64,
    packet_id: u64,
    event: &LogEvent,
    placed: Option<Result<i64, Unresolved>>,
) {
    let ts = placed.and_then(Result::ok);
    let reason = placed.and_then(Result::err);
    let message = match &event.message {
        Some(message) => Some(String::from_utf8_lossy(message).into_owned()),
        None => args_as_message(&event.args),
    };
    let tag = event.tag.as_deref().map(String::from_utf8_lossy);
    let args = args_as_json(&event.args);
    let mut text = |text: Option<&str>| text.map_or(Cell::Null, |text| batch.text(text));
    let row = [
        Cell::from(id as i64),
        Cell::or_null(ts),
        Cell::from(packet_id as i64),
        Cell::or_null(event.pid),
        Cell::or_null(event.tid),
        Cell::or_null(event.uid),
        Cell::or_null(event.log_id),
        match event.prio {
            None | Some(0) => Cell::from(PRIO_INFO),
            Some(prio) => Cell::from(prio),
        },
        text(tag.as_deref()),
        text(message.as_deref()),
        text(args.as_deref()),
        event.timestamp.map_or(Cell::Null, Cell::timestamp),
        text(reason.map(Unresolved::code)),
    ];
    batch.row(&LOGS, row);
}

fn name_of(arg: &Arg) -> Option<String> {
    let name = arg.name.as_deref()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// A line of the binary log has no message; Perfetto makes one of its arguments.
fn args_as_message(args: &[Arg]) -> Option<String> {
    let mut message = String::new();
    for arg in args {
        let Some(name) = name_of(arg) else { continue };
        let separator = if message.is_empty() { "" } else { " " };
        // Writing to a String does not fail.
        let _ = match &arg.value {
            Some(arg::Value::StringValue(text)) => {
                let text = String::from_utf8_lossy(text);
                write!(message, "{separator}{name}=\"{text}\"")
            }
            Some(arg::Value::IntValue(value)) => write!(message, "{separator}{name}={value}"),
            Some(arg::Value::FloatValue(value)) => write!(message, "{separator}{name}={value:.6}"),
            None => write!(message, "{separator}{name}="),
        };
    }
    (!message.is_empty()).then_some(message)
}

/// The arguments by their names, in order; the values of a name that comes
/// several times are a list.
fn args_as_json(args: &[Arg]) -> Option<String> {
    let mut fields: Vec<(String, Vec<Value>)> = Vec::new();
    for arg in args {
        let name = name_of(arg).unwrap_or_default();
        let value = match &arg.value {
            Some(arg::Value::StringValue(text)) => String::from_utf8_lossy(text).into(),
            Some(arg::Value::IntValue(value)) => (*value).into(),
            Some(arg::Value::FloatValue(value)) => shortest(*value),
            None => Value::Null,
        };
        match fields.iter_mut().find(|(other, _)| *other == name) {
            Some((_, values)) => values.push(value),
            None => fields.push((name, vec![value])),
        }
    }
    let mut json = String::new();
    for (name, mut values) in fields {
        let value = match values.len() {
            1 => values.swap_remove(0),
            _ => Value::Array(values),
        };
        let separator = if json.is_empty() { '{' } else { ',' };
        // Writing to a String does not fail.
        let _ = write!(json, "{separator}{}:{value}", Value::String(name));
    }
    if json.is_empty() {
        return None;
    }
    json.push('}');
    Some(json)
}

/// A float as the shortest number that is it: 0.1, not 0.10000000149011612.
fn shortest(value: f32) -> Value {
    let parsed = value.to_string().parse::<f64>().ok();
    parsed.map_or(Value::Null, Value::from)
}

/// Retries lines that came before the snapshots they need (rule D2).
fn finish(conn: &Connection, decoder: &mut Decoder) -> rusqlite::Result<Events> {
    let lines = decoder.states.take::<Lines>();
    let mut select = conn.prepare(
        "SELECT l.id, iif(typeof(l.timestamp) = 'integer', l.timestamp, NULL), l.unresolved, \
                p.machine_id \
         FROM android_logs AS l JOIN packet AS p ON p.id = l.packet_id \
         WHERE l.id > ?1 AND l.unresolved IS NOT NULL \
         ORDER BY l.id LIMIT 4096",
    )?;
    let mut update =
        conn.prepare("UPDATE android_logs SET ts = ?2, unresolved = ?3 WHERE id = ?1")?;
    let mut last = -1i64;
    loop {
        let waiting: Vec<(i64, Option<i64>, String, u32)> = select
            .query_map([last], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let Some(end) = waiting.last() else { break };
        last = end.0;
        for (id, timestamp, reason, machine) in &waiting {
            if !Unresolved::from_code(reason).is_some_and(Unresolved::may_resolve_later) {
                continue;
            }
            let clock = realtime(*machine);
            let unit = decoder.clocks.unit(clock);
            let placed = match timestamp {
                Some(ticks) => {
                    let ticks = ticks.unsigned_abs();
                    decoder.clocks.place_event(clock, unit, ticks)
                }
                None => Err(decoder.clocks.overflow(clock)),
            };
            update.execute(params![id, placed.ok(), placed.err().map(Unresolved::code)])?;
        }
    }
    let unresolved = retry::by_reason(
        conn,
        "SELECT unresolved, count(*) FROM android_logs WHERE unresolved IS NOT NULL GROUP BY 1",
    )?;
    Ok(Events {
        table: LOGS.name,
        rows: lines.rows,
        unresolved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg(name: &str, value: arg::Value) -> Arg {
        Arg {
            name: Some(name.into()),
            value: Some(value),
        }
    }

    #[test]
    fn i2_arguments_of_the_binary_log_are_json_and_perfettos_message() {
        let args = [
            arg("User", arg::Value::IntValue(-3)),
            arg("Share", arg::Value::FloatValue(0.1)),
            arg("Name", arg::Value::StringValue("a \"b\"".into())),
            arg("User", arg::Value::IntValue(4)),
        ];
        assert_eq!(
            args_as_json(&args).as_deref(),
            Some(r#"{"User":[-3,4],"Share":0.1,"Name":"a \"b\""}"#)
        );
        assert_eq!(
            args_as_message(&args).as_deref(),
            Some(r#"User=-3 Share=0.100000 Name="a "b"" User=4"#)
        );
        assert_eq!((args_as_json(&[]), args_as_message(&[])), (None, None));
    }
}
