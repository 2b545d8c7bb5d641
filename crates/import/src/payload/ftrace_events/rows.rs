//! The events of a bundle on their way into rows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use timebase_descriptor::{Kind as FieldKind, MessageId};
use timebase_resolver::{Clock, Unresolved};
use timebase_wire::field::{Fields, Value};

use super::bundle::{Bundle, Event};
use super::compact_sched::{Columns, Comms, Switch, Thread, Waking};
use super::timeline::{Next, Timeline};
use super::{Packet, Schema, State, generic};
use crate::decoder::{Decoder, Stop};
use crate::rows::{Cell, Index, On, Rows, Severity, Table};

const RECORD: &[&str] = &[
    "id",
    "ts",
    "packet_id",
    "cpu",
    "tid",
    "name_id",
    "args_id",
    "timestamp",
];

pub(super) static RECORDS: Table = Table {
    name: "ftrace_record",
    columns: RECORD,
    indexes: &[Index {
        name: "ftrace_record_ts",
        on: On::Two(1, 5),
        rows: Rows::All { waiting: 7 },
    }],
};

pub(super) static PARTIAL: Table = Table {
    name: "ftrace_partial",
    columns: RECORD,
    indexes: &[],
};

pub(super) static ARGS: Table = Table {
    name: "ftrace_args",
    columns: &["id", "common_flags", "args"],
    indexes: &[],
};

/// Fields of `FtraceEvent` that mean something here.
mod kind {
    pub const SCHED_SWITCH: u32 = 4;
    pub const SCHED_WAKING: u32 = 20;
    pub const TASK_RENAME: u32 = 236;
    pub const GENERIC: u32 = 327;
}

/// A kind of event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    name: i64,
    message: Option<MessageId>,
}

/// How the timestamps of a bundle are placed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Placing {
    On { clock: Clock, unit: i64 },
    Never(Unresolved),
}

/// A bundle on its way into rows.
pub(super) struct Import<'d, 'p> {
    pub decoder: &'d mut Decoder,
    pub packet: &'p Packet<'p>,
    pub state: &'d mut State,
    pub clock: Option<Clock>,
    pub placing: Placing,
    pub cpu: Option<u32>,
    pub running: Option<Thread>,
    pub corrupt: u64,
    /// Compact events that name no thread's name of the table.
    pub nameless: u64,
}

/// What precedes the message in the key of a set of arguments: its machine and
/// kind, which say what the message means, and `common_flags` of the event,
/// which are stored with them.
const KEY_HEAD: usize = 13;

impl Import<'_, '_> {
    pub fn events(
        &mut self,
        bundle: &Bundle<'_>,
        columns: &Columns,
        comms: &Comms<'_>,
    ) -> Result<(), Stop> {
        for next in Timeline::new(columns, comms, bundle.events()) {
            match next {
                Next::Switch(switch) => self.switch(&switch),
                Next::Waking(waking) => self.waking(&waking),
                Next::Full(bytes, Ok(event)) => self.full(bytes, &event),
                Next::Full(bytes, Err(_)) => self.corrupt(bytes, &Event::default()),
            }
            self.decoder.make_room(self.packet.outlet)?;
        }
        Ok(())
    }

    fn switch(&mut self, switch: &Switch<'_>) {
        self.nameless += u64::from(switch.next_comm.is_none());
        self.begin_key(kind::SCHED_SWITCH, None);
        let (table, tid) = match &self.running {
            Some(prev) => {
                switch.write(prev, &mut self.state.key);
                (&RECORDS, Some(prev.pid as i32))
            }
            None => {
                switch.write_partly(&mut self.state.key);
                (&PARTIAL, None)
            }
        };
        self.compact(table, kind::SCHED_SWITCH, switch.timestamp, tid, None);
        let running = self.running.get_or_insert_default();
        running.pid = switch.next_pid;
        running.prio = switch.next_prio;
        running.comm.clear();
        running
            .comm
            .extend_from_slice(switch.next_comm.unwrap_or_default());
    }

    fn waking(&mut self, waking: &Waking<'_>) {
        self.nameless += u64::from(waking.comm.is_none());
        self.begin_key(kind::SCHED_WAKING, waking.common_flags);
        waking.write(&mut self.state.key);
        let (table, tid) = match &self.running {
            Some(running) => (&RECORDS, Some(running.pid as i32)),
            None => (&PARTIAL, None),
        };
        let flags = waking.common_flags;
        self.compact(table, kind::SCHED_WAKING, waking.timestamp, tid, flags);
    }

    /// A compact event, whose message is in the key.
    fn compact(
        &mut self,
        table: &'static Table,
        number: u32,
        timestamp: u64,
        tid: Option<i32>,
        flags: Option<u32>,
    ) {
        let kind = self.kind(number);
        let args = self.arguments(kind, flags);
        self.record(table, Some(timestamp), tid, Some(kind.name), args);
    }

    /// An event of the full encoding.
    fn full(&mut self, bytes: &[u8], event: &Event<'_>) {
        let Some((number, message)) = event.kind else {
            return self.record(&RECORDS, event.timestamp, event.tid, None, None);
        };
        self.begin_key(number, event.common_flags);
        self.state.key.extend_from_slice(message);
        let (name, args) = if number == kind::GENERIC {
            let Ok((name, args)) = generic::read(message) else {
                return self.corrupt(bytes, event);
            };
            let args = self.seen_or(event.common_flags, |_, json| {
                json.push_str(&args.to_string());
                Some(())
            });
            (self.name(&name), args)
        } else {
            let kind = self.kind(number);
            (kind.name, self.arguments(kind, event.common_flags))
        };
        if args.is_none() {
            return self.corrupt(bytes, event);
        }
        self.record(&RECORDS, event.timestamp, event.tid, Some(name), args);
        self.follow(number, message);
    }

    /// Rule F7, for one event: it is kept as it is.
    fn corrupt(&mut self, bytes: &[u8], event: &Event<'_>) {
        self.corrupt += 1;
        let name = self.name("corrupt");
        self.begin_key(0, event.common_flags);
        self.state.key.extend_from_slice(bytes);
        let args = self.seen_or(event.common_flags, |_, json| {
            json.push_str(r#"{"data":""#);
            STANDARD.encode_string(bytes, json);
            json.push_str(r#""}"#);
            Some(())
        });
        self.record(&RECORDS, event.timestamp, event.tid, Some(name), args);
    }

    /// Keeps in mind which thread is running, and under which name.
    fn follow(&mut self, number: u32, message: &[u8]) {
        match number {
            kind::SCHED_SWITCH => {
                let mut next = Thread::default();
                let mut fields = Fields::new(message);
                while let Ok(Some((number, value))) = fields.next() {
                    match (number, value) {
                        (5, Value::Bytes(comm)) => next.comm = comm.to_vec(),
                        (6, Value::Varint(pid)) => next.pid = pid,
                        (7, Value::Varint(prio)) => next.prio = prio,
                        _ => {}
                    }
                }
                self.running = Some(next);
            }
            kind::TASK_RENAME => self.rename(message),
            _ => {}
        }
    }

    /// A thread that is running gets another name, which the next switch will
    /// tell of.
    fn rename(&mut self, message: &[u8]) {
        let (mut pid, mut new_comm) = (0, None);
        let mut fields = Fields::new(message);
        while let Ok(Some((number, value))) = fields.next() {
            match (number, value) {
                (1, Value::Varint(v)) => pid = v,
                (3, Value::Bytes(v)) => new_comm = Some(v),
                _ => {}
            }
        }
        let machine = self.packet.header.machine_id;
        let others = self.state.running.iter_mut();
        let others = others.filter(|((other, _), _)| *other == machine);
        let threads = others
            .map(|(_, thread)| thread)
            .chain(self.running.as_mut());
        for thread in threads.filter(|thread| thread.pid == pid) {
            if let Some(comm) = new_comm {
                thread.comm = comm.to_vec();
            }
        }
    }

    fn kind(&mut self, number: u32) -> Kind {
        let machine = self.packet.header.machine_id;
        if let Some(&kind) = self.state.kinds.get(&(machine, number)) {
            return kind;
        }
        let pool = self.decoder.pool();
        let schema = *self.state.schema.get_or_insert_with(|| Schema::of(pool));
        let known = match self.state.described.get(&(machine, number)) {
            Some(&message) => Some((pool.message_name(message).to_owned(), message)),
            None => schema.event.and_then(|event| {
                let field = pool.field(event, number)?;
                match field.kind {
                    FieldKind::Message(message) => Some((field.name.clone(), message)),
                    _ => None,
                }
            }),
        };
        let (name, message) = match known {
            Some((name, message)) => (name, Some(message)),
            None => (number.to_string(), schema.unknown),
        };
        let kind = Kind {
            name: self.name(&name),
            message,
        };
        self.state.kinds.insert((machine, number), kind);
        kind
    }

    /// The number of a name.
    fn name(&mut self, name: &str) -> i64 {
        if let Some(&id) = self.state.names.get(name) {
            return id;
        }
        let id = self.state.names.len() as i64;
        self.state.names.insert(name.to_owned(), id);
        id
    }

    fn begin_key(&mut self, number: u32, flags: Option<u32>) {
        let key = &mut self.state.key;
        key.clear();
        key.extend_from_slice(&self.packet.header.machine_id.to_le_bytes());
        key.extend_from_slice(&number.to_le_bytes());
        key.push(flags.is_some().into());
        key.extend_from_slice(&flags.unwrap_or(0).to_le_bytes());
    }

    /// The number of the arguments whose message is in the key; `None` if the
    /// message cannot be read.
    fn arguments(&mut self, kind: Kind, flags: Option<u32>) -> Option<i64> {
        self.seen_or(flags, |import, json| {
            let message = import.state.key.get(KEY_HEAD..)?;
            let pool = import.decoder.pool();
            pool.write_json(kind.message?, message, json).ok()
        })
    }

    /// The number of the arguments in the key, stored now if they are new.
    fn seen_or(
        &mut self,
        flags: Option<u32>,
        write: impl FnOnce(&mut Self, &mut String) -> Option<()>,
    ) -> Option<i64> {
        if let Some(id) = self.state.seen.get(&self.state.key) {
            return Some(id);
        }
        let mut json = std::mem::take(&mut self.state.json);
        json.clear();
        let written = write(self, &mut json);
        let id = written.map(|()| {
            let id = self.state.args;
            self.state.args += 1;
            self.state.seen.insert(&self.state.key, id);
            let text = self.decoder.batch.text(&json);
            let row = [Cell::from(id), Cell::or_null(flags), text];
            self.decoder.batch.row(&ARGS, row);
            id
        });
        self.state.json = json;
        id
    }

    /// Writes the row of an event.
    fn record(
        &mut self,
        table: &'static Table,
        timestamp: Option<u64>,
        tid: Option<i32>,
        name: Option<i64>,
        args: Option<i64>,
    ) {
        let id = self.state.events;
        self.state.events += 1;
        self.state.complete += u64::from(std::ptr::eq(table, &RECORDS));
        let placed = timestamp.map(|timestamp| match self.placing {
            Placing::On { clock, unit } => self.decoder.clocks.place_event(clock, unit, timestamp),
            Placing::Never(reason) => Err(reason),
        });
        if let Some(Err(reason)) = placed {
            let batch = &mut self.decoder.batch;
            self.state.runs.add(id, reason, self.clock, batch);
        }
        let ts = placed.and_then(Result::ok);
        let recorded = match (timestamp, ts) {
            (Some(timestamp), Some(ts)) if i64::try_from(timestamp) == Ok(ts) => Cell::Null,
            (Some(timestamp), _) => Cell::timestamp(timestamp),
            (None, _) => Cell::Null,
        };
        let row = [
            Cell::from(id),
            Cell::or_null(ts),
            Cell::from(self.packet.id as i64),
            Cell::or_null(self.cpu),
            Cell::or_null(tid),
            Cell::or_null(name),
            Cell::or_null(args),
            recorded,
        ];
        self.decoder.batch.row(table, row);
    }

    /// Says what was wrong with the bundle.
    pub fn end(&mut self, bundle: &Bundle<'_>, columns: &Columns) {
        self.state.runs.end(&mut self.decoder.batch);
        let (decoder, packet) = (&mut *self.decoder, self.packet);
        decoder.count("ftrace_bundles", 1);
        if bundle.lost_events {
            decoder.count("ftrace_bundles_after_lost_events", 1);
        }
        if self.corrupt > 0 {
            decoder.count("ftrace_events_corrupt", self.corrupt);
            let message = format!(
                "{} events of the bundle cannot be read; they are kept as events named 'corrupt'",
                self.corrupt
            );
            decoder.log(Severity::Error, "corrupt_event", packet, message);
        }
        let (switches, wakings) = columns.timestamps();
        let cut = (switches - columns.switches()) + (wakings - columns.wakings());
        if cut > 0 || self.nameless > 0 {
            let message = format!(
                "the compact scheduler events are damaged: {cut} lack values and are left out, {} \
                 lack the thread's name",
                self.nameless
            );
            decoder.log(Severity::Error, "compact_sched_damaged", packet, message);
        }
    }
}
