//! `android_log`: lines of the Android log become rows of `android_logs`
//! (rule I2).

mod retiming;

use std::fmt::Write;

use prost::Message;
use rustc_hash::FxHashMap;
use serde_json::Value;
use timebase_resolver::{ClockId, SeqId, Unresolved};
use timebase_schema::fields::android_log_packet as log;
use timebase_schema::{Table, tables::android_log_record};
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::wire::proto::AndroidLogPacket;
use timebase_trace::wire::proto::android_log_packet::LogEvent;
use timebase_trace::wire::proto::android_log_packet::log_event::Arg;
use timebase_trace::wire::proto::android_log_packet::log_event::arg;

use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::packet::PlacedPacket;
use super::reader::{Payload, Reader};
use super::records::ordered;
use super::retiming::{Retime, Retimed, Rewritten, Times};
use crate::message::Message as Fields;
use crate::output::{Cell, Rows};
use crate::place::{CountsFor, EventClock, EventRow, TraceTime};
use crate::timeline::{self, LogLine};

/// The most lines of a packet, because all are in memory at once. Recorders write some hundred.
const MOST: usize = 1 << 20;

/// The priority that Perfetto assumes for a line without one.
const PRIO_INFO: i32 = 4;

/// Reads lines of the Android log.
#[derive(Debug, Default)]
pub(crate) struct AndroidLog;

impl Payload<'_> for AndroidLogPacket {
    fn parse(payload: &[u8]) -> Result<Self, Corrupt> {
        Corrupt::count(payload, log::EVENTS, MOST, "lines")?;
        Ok(AndroidLogPacket::decode(payload)?)
    }
}

impl Reader for AndroidLog {
    type Payload<'a> = AndroidLogPacket;

    const TABLES: &'static [&'static Table] = &[&android_log_record::TABLE];

    const COUNTS_FOR: CountsFor = CountsFor::ItsMachine;

    const TIMES: Times = Times::Inside;

    fn converts(log: &AndroidLogPacket, _header: &Header<'_>) -> bool {
        log.events.iter().any(|event| event.timestamp.is_some())
    }

    fn read(
        &mut self,
        log: AndroidLogPacket,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        rows: &mut Rows<'_>,
    ) {
        let realtime = Some((ClockId::REALTIME, SeqId(0)));
        let clock = context.place.clocks.event_clock(packet.part, realtime);
        for event in &log.events {
            line(event, packet, &clock, context, rows);
        }
        let payload = packet.header.payload.unwrap_or((PacketType::ANDROID_LOG, &[]));
        if let Some(stats) = Fields(payload.1).bytes(log::STATS) {
            ordered(PacketType::ANDROID_LOG, Fields(stats), packet, context);
        }
    }

    fn retime(
        _log: AndroidLogPacket,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        out: &mut Vec<u8>,
    ) -> Rewritten {
        retiming::retime(packet, to, out)
    }
}

fn line(
    event: &LogEvent,
    packet: &PlacedPacket<'_>,
    clock: &EventClock,
    context: &mut ImportContext,
    rows: &mut Rows<'_>,
) {
    let row = EventRow {
        table: &android_log_record::TABLE,
        id: rows.count(&android_log_record::TABLE),
        mark: 0,
    };
    let mut followed = Vec::new();
    if context.events.timeline.is_wanted() && !packet.is_lost() {
        let line = LogLine {
            part: packet.part,
            machine: packet.machine,
            pid: event.pid.unwrap_or(0) as u32,
            tid: event.tid.unwrap_or(0) as u32,
            row: row.id,
        };
        timeline::Event::LogLine(line).write(&mut followed);
    }
    let placed = event.timestamp.map(|timestamp| context.event(row, clock, timestamp, &followed));
    let ts = placed.and_then(Result::ok).map(|TraceTime(ts)| ts);
    let reason = placed.and_then(Result::err).map(Unresolved::code);
    let message = match &event.message {
        Some(message) => Some(String::from_utf8_lossy(message).into_owned()),
        None => args_as_message(&event.args),
    };
    let tag = event.tag.as_deref().map(String::from_utf8_lossy);
    let args = args_as_json(&event.args);
    let cells = android_log_record::Row {
        id: Cell::from(row.id),
        ts: Cell::or_null(ts),
        packet_id: Cell::from(packet.id),
        pid: Cell::or_null(event.pid),
        tid: Cell::or_null(event.tid),
        uid: Cell::or_null(event.uid),
        log_id: Cell::or_null(event.log_id),
        prio: match event.prio {
            None | Some(0) => Cell::from(PRIO_INFO),
            Some(prio) => Cell::from(prio),
        },
        tag: rows.optional_text(tag.as_deref()),
        msg: rows.optional_text(message.as_deref()),
        args: rows.optional_text(args.as_deref()),
        timestamp: event.timestamp.map_or(Cell::Null, Cell::timestamp),
        unresolved: rows.optional_text(reason),
    };
    rows.push(cells);
}

fn name_of(arg: &Arg) -> Option<String> {
    let name = arg.name.as_deref()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// A line of the binary log has no message; Perfetto makes a message from its arguments.
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

/// The arguments by their names, in order. If a name appears several times, its values are a list.
fn args_as_json(args: &[Arg]) -> Option<String> {
    let mut fields: Vec<(String, Vec<Value>)> = Vec::new();
    let mut places = FxHashMap::default();
    for arg in args {
        let name = name_of(arg).unwrap_or_default();
        let value = match &arg.value {
            Some(arg::Value::StringValue(text)) => String::from_utf8_lossy(text).into(),
            Some(arg::Value::IntValue(value)) => (*value).into(),
            Some(arg::Value::FloatValue(value)) => shortest(*value),
            None => Value::Null,
        };
        let place = *places.entry(name.clone()).or_insert(fields.len());
        match fields.get_mut(place) {
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

/// A float as the shortest number that parses to the same float: 0.1, not 0.10000000149011612.
fn shortest(value: f32) -> Value {
    let parsed = value.to_string().parse::<f64>().ok();
    parsed.map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg(name: &str, value: arg::Value) -> Arg {
        Arg { name: Some(name.into()), value: Some(value) }
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
