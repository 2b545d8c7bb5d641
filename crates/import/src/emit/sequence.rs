//! Sequences of packets, and the texts that are interned on them.

use std::collections::HashMap;
use std::io;

use rusqlite::Connection;
use timebase_schema::fields::{interned_data, interned_string, trace_packet};

use super::message::Message;

/// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE`.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// Texts of more bytes than this are forgotten together, so that readers and the writer need little memory.
const ROOM: usize = 1 << 20;

/// The bytes that an entry takes beside its text.
const ENTRY: usize = 32;

/// Tables of interned texts. In each of them, an entry has its number as field 1, and its text as field 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Categories = interned_data::EVENT_CATEGORIES as isize,
    Names = interned_data::EVENT_NAMES as isize,
    ArgumentNames = interned_data::DEBUG_ANNOTATION_NAMES as isize,
    ArgumentTexts = interned_data::DEBUG_ANNOTATION_STRING_VALUES as isize,
    FunctionNames = interned_data::FUNCTION_NAMES as isize,
    SourcePaths = interned_data::SOURCE_PATHS as isize,
}

/// The numbers of two sequences that the trace of a database does not use.
///
/// # Errors
///
/// If the database cannot be read.
pub(crate) fn unused(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    let used = "SELECT ifnull(max(id), 0) FROM sequence WHERE id < 4294967290";
    let used: i64 = conn.query_row(used, [], |row| row.get(0))?;
    let last = used.cast_unsigned().max(100);
    Ok((last + 1, last + 2))
}

/// The receiver of packets: their times and bytes.
pub(crate) type Sink<'a> = dyn FnMut(Option<i64>, &[u8]) -> io::Result<()> + 'a;

/// A sequence of packets: it interns texts, and clears its state from time to time.
#[derive(Debug)]
pub(crate) struct Sequence {
    id: u64,
    known: HashMap<(Table, Box<str>), u64>,
    /// The entries that the next packet brings.
    new: Message,
    size: usize,
    clears: bool,
    packet: Message,
}

impl Sequence {
    pub fn new(id: u64) -> Sequence {
        Sequence {
            id,
            known: HashMap::new(),
            new: Message::new(),
            size: 0,
            clears: true,
            packet: Message::new(),
        }
    }

    /// Begins an event: the numbers of texts from here on belong to the next packet.
    pub fn begin(&mut self) {
        if self.size > ROOM {
            self.known.clear();
            self.new.clear();
            self.size = 0;
            self.clears = true;
        }
    }

    /// Whether the next packet clears the state, so that no entry is known.
    pub fn is_cleared(&self) -> bool {
        self.clears
    }

    /// Adds an entry of a table that has no texts.
    pub fn entry(&mut self, table: u32, entry: &Message) {
        self.new.message(table, entry);
        self.size += entry.as_bytes().len() + ENTRY;
    }

    /// The number of a text in a table.
    pub fn number(&mut self, table: Table, text: &str) -> u64 {
        // A lookup needs an owned key, which is kept if the text is new.
        let key = (table, Box::from(text));
        if let Some(number) = self.known.get(&key) {
            return *number;
        }
        let number = self.known.len() as u64 + 1;
        let mut entry = Message::new();
        entry.number(interned_string::IID, number).text(interned_string::STR, text);
        self.new.message(table as u32, &entry);
        self.size += text.len() + ENTRY;
        self.known.insert(key, number);
        number
    }

    /// Writes a packet with a payload, and the texts that are new in it.
    ///
    /// # Errors
    ///
    /// If the receiver does not take it.
    pub fn packet(
        &mut self,
        time: Time,
        (field, payload): (u32, &Message),
        out: &mut Sink<'_>,
    ) -> io::Result<()> {
        self.packet.clear();
        if let Some(ts) = time.ts {
            self.packet.signed(trace_packet::TIMESTAMP, ts);
        }
        if time.machine != 0 {
            self.packet.number(trace_packet::MACHINE_ID, time.machine);
        }
        if time.clock != 0 {
            self.packet.number(trace_packet::TIMESTAMP_CLOCK_ID, time.clock.into());
        }
        self.packet.number(trace_packet::TRUSTED_PACKET_SEQUENCE_ID, self.id);
        let flags = NEEDS_STATE | if std::mem::take(&mut self.clears) { CLEARED } else { 0 };
        self.packet.number(trace_packet::SEQUENCE_FLAGS, flags);
        if !self.new.is_empty() {
            self.packet.message(trace_packet::INTERNED_DATA, &self.new);
            self.new.clear();
        }
        self.packet.message(field, payload);
        out(time.ts, self.packet.as_bytes())
    }
}

/// The two sequences of each machine: a thread's descriptor would make the events of its sequence the thread's.
#[derive(Debug)]
pub(crate) struct Sequences {
    about: u64,
    events: u64,
    machines: HashMap<u64, (Sequence, Sequence)>,
}

impl Sequences {
    /// Sequences with these numbers, for descriptors and for events.
    pub fn new(about: u64, events: u64) -> Sequences {
        Sequences { about, events, machines: HashMap::new() }
    }

    /// The descriptors of a machine.
    pub fn about(&mut self, machine: u64) -> &mut Sequence {
        &mut self.of(machine).0
    }

    /// The events of a machine.
    pub fn events(&mut self, machine: u64) -> &mut Sequence {
        &mut self.of(machine).1
    }

    fn of(&mut self, machine: u64) -> &mut (Sequence, Sequence) {
        let new = || (Sequence::new(self.about), Sequence::new(self.events));
        self.machines.entry(machine).or_insert_with(new)
    }
}

/// The time of a packet: a reading of a clock, 0 for none, on a machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Time {
    pub ts: Option<i64>,
    pub clock: u32,
    /// The machine's number in packets, 0 for the host.
    pub machine: u64,
}
