//! Small traces of track events, made by hand, and the results of the program and of the naive
//! model of the rules for them.

use rusqlite::Connection;

use super::kernel::{self, bundle, new};
use super::{Imported, count};
use crate::model::threads;
use timebase_lab::encode::{Message, trace_of};

/// Payloads: fields of `TracePacket`.
pub const TRACK_EVENT: u32 = 11;
pub const PROCESS_DESCRIPTOR: u32 = 43;
pub const THREAD_DESCRIPTOR: u32 = 44;
pub const TRACK_DESCRIPTOR: u32 = 60;

/// Types of track events.
pub const BEGIN: u64 = 1;
pub const END: u64 = 2;
pub const INSTANT: u64 = 3;
pub const COUNTER: u64 = 4;
pub const STATE: u64 = 5;

/// The default sequence of packets, and the uuid of their events.
pub const SEQUENCE: u64 = 2;
pub const UUID: u64 = 1;

/// `packet` with a payload at a time.
pub fn at(time: u64, field: u32, payload: Message) -> Message {
    let packet = new().number(8, time).number(10, SEQUENCE);
    packet.message(field, payload)
}

pub fn event(time: u64, event: Message) -> Message {
    at(time, TRACK_EVENT, event)
}

/// An event of a type with a name on a uuid.
pub fn named(kind: u64, name: &str, uuid: u64) -> Message {
    unnamed(kind, uuid).text(23, name)
}

pub fn unnamed(kind: u64, uuid: u64) -> Message {
    new().number(9, kind).number(11, uuid)
}

/// A packet that clears the state of the sequence.
pub fn clear() -> Message {
    new().number(10, SEQUENCE).number(13, 1)
}

/// A packet that reports the loss of others.
pub fn loss() -> Message {
    new().number(10, SEQUENCE).number(42, 1)
}

/// A descriptor of a uuid in a packet without a timestamp.
pub fn described(uuid: u64, descriptor: Message) -> Message {
    let descriptor = new().number(1, uuid).and(&descriptor);
    new().number(10, SEQUENCE).message(TRACK_DESCRIPTOR, descriptor)
}

/// The same at a time.
pub fn described_at(time: u64, uuid: u64, descriptor: Message) -> Message {
    new().number(8, time).and(&described(uuid, descriptor))
}

/// In a descriptor: it is a thread's.
pub fn thread(pid: i64, tid: i64) -> Message {
    new().message(4, new().signed(1, pid).signed(2, tid))
}

/// The same with a name.
pub fn thread_named(pid: i64, tid: i64, name: &str) -> Message {
    let thread = new().signed(1, pid).signed(2, tid).text(5, name);
    new().message(4, thread)
}

/// In a descriptor: it is a process's.
pub fn process(pid: u64, name: &str) -> Message {
    new().message(3, new().number(1, pid).text(6, name))
}

/// In a descriptor: its parent.
pub fn below(parent: u64) -> Message {
    new().number(5, parent)
}

/// A thread_descriptor with references of time, of thread time (both µs) and of instructions.
pub fn references(pid: u64, tid: u64, [time, thread_time, instructions]: [u64; 3]) -> Message {
    let thread = new().number(1, pid).number(2, tid).number(6, time);
    let thread = thread.number(7, thread_time).number(8, instructions);
    new().number(10, SEQUENCE).message(THREAD_DESCRIPTOR, thread)
}

/// A LegacyEvent of a phase, in an event.
pub fn legacy(phase: char, legacy: Message) -> Message {
    let legacy = new().number(2, phase.into()).and(&legacy);
    new().message(6, legacy)
}

/// A packet whose events need the state of their sequence.
pub fn needs(packet: Message) -> Message {
    packet.number(13, 2)
}

/// The same packet with entries of interned data: fields, iids and texts.
pub fn with(packet: Message, entries: &[(u32, u64, &str)]) -> Message {
    let interned = entries.iter().fold(new(), |interned, (field, iid, text)| {
        interned.message(*field, new().number(1, *iid).text(2, text))
    });
    packet.message(12, interned)
}

pub const EVENT_NAMES: u32 = 2;
pub const CATEGORIES: u32 = 1;

/// In a descriptor: it is a counter.
pub fn counter(counter: Message) -> Message {
    new().message(8, counter)
}

pub fn counts(uuid: u64, value: i64) -> Message {
    unnamed(COUNTER, uuid).signed(30, value)
}

/// Interned names as numbers.
pub fn called(kind: u64, iid: u64) -> Message {
    unnamed(kind, UUID).number(10, iid)
}

/// A legacy event of a phase and a name, on a uuid.
pub fn phase(time: u64, phase: char, name: &str, uuid: u64, fields: Message) -> Message {
    let event_of = legacy(phase, fields).text(23, name).text(22, "cat");
    event(time, event_of.number(11, uuid))
}

/// The meaning of a line in the notation of the rules' examples: `B a@10`, `E@30`, `I i@10`, `X
/// a@1000+5000`; in `B a c@20` and `E - c@30` c is the category; `B a@10 #2` is on uuid 2; the
/// thread 10 prints `print B|10|b@20`.
pub fn says(line: &str) -> Message {
    let (what, when) = line.split_once('@').unwrap();
    let (when, uuid) = when.split_once(" #").unwrap_or((when, "1"));
    let (time, duration) = when.split_once('+').unwrap_or((when, "0"));
    let time = time.parse().unwrap();
    if let Some(text) = what.strip_prefix("print ") {
        return bundle(0, &[kernel::print(time, 10, text)]);
    }
    let mut words = what.split(' ');
    let phase = words.next().unwrap();
    let kinds = ["B", "E", "I"];
    let mut said = match kinds.iter().position(|kind| *kind == phase) {
        Some(kind) => unnamed(kind as u64 + 1, uuid.parse().unwrap()),
        None => {
            let microseconds = duration.parse::<u64>().unwrap() / 1000;
            let complete = legacy('X', new().number(3, microseconds));
            complete.number(11, uuid.parse().unwrap())
        }
    };
    if let Some(name) = words.next().filter(|name| *name != "-") {
        said = said.text(23, name);
    }
    if let Some(category) = words.next() {
        said = said.text(22, category);
    }
    event(time, said)
}

/// The uuid 1 is a thread's, with pid and tid 10; then come these lines.
pub fn story(lines: &[&str]) -> Told {
    let mut packets = vec![described(UUID, thread(10, 10))];
    packets.extend(lines.iter().map(|line| says(line)));
    told(&packets)
}

/// The results of the program and of the model for a trace.
pub struct Told {
    pub program: Imported,
    model: Connection,
}

pub fn told(packets: &[Message]) -> Told {
    let trace = trace_of(packets);
    Told { model: threads::tables(&trace), program: Imported::of_bytes(&trace, &[]) }
}

impl Told {
    /// Both return the rows of a query, in the form of `kernel::gives`.
    pub fn gives(&self, sql: &str, expected: &[&str]) {
        assert_eq!(kernel::lines(&self.model, sql), expected, "model, {sql}");
        let found = kernel::lines(&self.program.conn, sql);
        assert_eq!(found, expected, "program, {sql}");
    }

    /// The tables of the model.
    pub fn model(&self) -> &Connection {
        &self.model
    }

    /// The program counted this many.
    pub fn counted(&self, name: &str, times: i64) {
        let sql = format!("SELECT ifnull(sum(value), 0) FROM stats WHERE name = '{name}'");
        assert_eq!(count(&self.program.conn, &sql), times, "{name}");
    }
}

/// Name, ts, dur, depth.
pub const SLICES: &str = "SELECT name, ts, dur, depth FROM slice ORDER BY id";

/// The same and the parent's name.
pub const PARENTS: &str = "SELECT s.name, s.ts, s.dur, s.depth, p.name FROM slice AS s \
     LEFT JOIN slice AS p ON p.id = s.parent_id ORDER BY s.id";

/// Names of slices with type and name of their tracks.
pub const ON_TRACKS: &str = "SELECT s.name, k.type, k.name FROM slice AS s \
     JOIN track AS k ON k.id = s.track_id ORDER BY s.id";

/// Names of slices with the pid and tid of their owners.
pub const OWNERS: &str = "SELECT s.name, p.pid, p.name, t.tid, t.name FROM slice AS s \
     LEFT JOIN process_track AS pk ON pk.id = s.track_id LEFT JOIN process AS p ON p.upid = pk.upid \
     LEFT JOIN thread_track AS tk ON tk.id = s.track_id LEFT JOIN thread AS t ON t.utid = tk.utid \
     ORDER BY s.id";

pub const COUNTERS: &str = "SELECT k.name, k.type, k.unit, c.ts, c.value FROM counter AS c \
     JOIN counter_track AS k ON k.id = c.track_id ORDER BY c.ts, k.name, c.value";

pub const FLOWS: &str = "SELECT a.name, b.name FROM flow \
     JOIN slice AS a ON a.id = slice_out JOIN slice AS b ON b.id = slice_in \
     ORDER BY a.id, b.id";

/// Arguments of slices: the slice's name, key, type and value.
pub const ARGS: &str = "SELECT s.name, a.key, a.value_type, \
     coalesce(a.string_value, a.int_value, a.real_value) \
     FROM slice AS s JOIN args AS a ON a.arg_set_id = s.arg_set_id ORDER BY s.id, a.key";

/// The arguments of tracks: the track's name, key, type and value.
pub const SOURCES: &str = "SELECT k.name, a.key, a.value_type, \
     coalesce(a.string_value, a.int_value) FROM track AS k \
     JOIN args AS a ON a.arg_set_id = k.source_arg_set_id ORDER BY k.name, k.id, a.key";

/// Processes and threads except those with number 0.
pub const PROCESSES: &str = "SELECT pid, name, start_ts FROM process WHERE pid != 0 ORDER BY upid";
pub const THREADS: &str = "SELECT tid, t.name, pid FROM thread AS t JOIN process USING (upid) \
     WHERE tid != 0 ORDER BY utid";
