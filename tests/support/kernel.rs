//! Small traces of the kernel and the system, made by hand.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::statements::{Row, answer};
use super::{Imported, text};
use timebase_lab::encode::{Message, trace_of};

/// `sched_switch`, `print` and so on: fields of `FtraceEvent`.
pub const PRINT: u32 = 3;
pub const SWITCH: u32 = 4;
pub const BLOCKED_REASON: u32 = 18;
pub const WAKING: u32 = 20;
pub const NEWTASK: u32 = 235;
pub const RENAME: u32 = 236;
pub const FREE: u32 = 240;

/// Payloads: fields of `TracePacket`.
pub const PROCESS_TREE: u32 = 2;
pub const SYS_STATS: u32 = 7;
pub const PROCESS_STATS: u32 = 9;
pub const SYSTEM_INFO: u32 = 45;
pub const RENDER_STAGE: u32 = 53;
pub const TRACK_DESCRIPTOR: u32 = 60;

pub const CLONE_THREAD: u64 = 0x10000;

pub fn new() -> Message {
    Message::new()
}

/// An event of the kernel, and the thread that it happened in.
pub fn event(time: u64, emitter: u64, kind: u32, fields: Message) -> Message {
    let event = new().number(1, time).number(2, emitter);
    event.message(kind, fields)
}

pub fn switch(time: u64, (prev, state): (u64, u64), (next, name): (u64, &str)) -> Message {
    let fields = new().number(2, prev).number(4, state);
    let fields = fields.text(5, name).number(6, next).number(7, 120);
    event(time, prev, SWITCH, fields)
}

pub fn waking(time: u64, waker: u64, wakee: u64, name: &str) -> Message {
    event(time, waker, WAKING, new().text(1, name).number(2, wakee))
}

pub fn newtask(time: u64, maker: u64, pid: u64, name: &str, flags: u64) -> Message {
    let fields = new().number(1, pid).text(2, name).number(3, flags);
    event(time, maker, NEWTASK, fields)
}

pub fn print(time: u64, emitter: u64, text: &str) -> Message {
    event(time, emitter, PRINT, new().text(2, text))
}

/// A packet of one cpu's events.
pub fn bundle(cpu: u64, events: &[Message]) -> Message {
    let events = events.iter().cloned();
    let bundle = events.fold(new().number(1, cpu), |bundle, event| bundle.message(2, event));
    new().number(10, 2).message(1, bundle)
}

/// A packet of any payload.
pub fn packet(time: u64, field: u32, payload: Message) -> Message {
    new().number(8, time).number(10, 3).message(field, payload)
}

/// A process of a process tree.
pub fn process(pid: u64, parent: u64, cmdline: &[&str]) -> Message {
    let process = new().number(1, pid).number(2, parent);
    cmdline.iter().fold(process, |process, word| process.text(3, word))
}

pub fn imported(packets: &[Message]) -> Imported {
    Imported::of_bytes(&trace_of(packets), &[])
}

/// The rows of a query: a line for each row, its values separated by spaces; `-` is NULL.
pub fn gives(trace: &Imported, sql: &str, expected: &[&str]) {
    assert_eq!(lines(&trace.conn, sql), expected, "{sql}");
}

pub fn lines(conn: &Connection, sql: &str) -> Vec<String> {
    let value = |value| match value {
        Value::Null => "-".to_owned(),
        Value::Real(real) => real.to_string(),
        value => text(value),
    };
    let rows = answer(conn, sql).unwrap().into_iter();
    let line = |row: Row| row.into_iter().map(value).collect::<Vec<_>>().join(" ");
    rows.map(line).collect()
}
