//! What the import has to say: messages about the trace, counters, facts (`facts.rs`).

use std::collections::BTreeMap;

use rusqlite::types::Null;
use rusqlite::{Connection, ToSql};
use timebase_resolver::Unresolved;
use timebase_schema::{Row, Table, tables};

use super::batch::Cell;
use super::counter::Counter;
use super::facts::Facts;
use super::rows::Rows;

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A message about the trace: a row of `import_log`.
#[derive(Debug, Clone)]
pub(crate) struct LogMessage {
    pub severity: Severity,
    pub code: &'static str,
    pub packet_id: Option<i64>,
    /// Where in the decompressed stream.
    pub offset: Option<u64>,
    /// How many bytes of it.
    pub size: Option<u64>,
    pub text: String,
}

impl LogMessage {
    /// What is said of no packet.
    pub fn new(severity: Severity, code: &'static str, text: String) -> Self {
        LogMessage {
            severity,
            code,
            packet_id: None,
            offset: None,
            size: None,
            text,
        }
    }

    /// The same of a packet, and of where that is.
    pub fn of_packet(self, id: i64, offset: u64) -> Self {
        LogMessage {
            packet_id: Some(id),
            offset: Some(offset),
            ..self
        }
    }

    /// Puts it in the log.
    pub fn push(&self, rows: &mut Rows<'_>) {
        let severity = rows.text(self.severity.name());
        let code = rows.text(self.code);
        let text = rows.text(&self.text);
        let id = rows.count(&tables::import_log::TABLE) + 1;
        let (file, machine) = rows.here();
        rows.push(tables::import_log::Row {
            id: Cell::from(id),
            severity,
            code,
            packet_id: Cell::or_null(self.packet_id),
            offset: Cell::or_null(self.offset.map(|offset| offset as i64)),
            size: Cell::or_null(self.size.map(|size| size as i64)),
            message: text,
            trace_file_id: Cell::or_null(file),
            machine_id: Cell::or_null(machine),
        });
    }

    /// Puts it in the log of a database that SQLite has open, as said of a file and a machine.
    pub fn insert(
        &self,
        conn: &Connection,
        (file, machine): (Option<u32>, Option<u32>),
    ) -> rusqlite::Result<()> {
        let row = tables::import_log::Row::<&dyn ToSql> {
            id: &Null,
            severity: &self.severity.name(),
            code: &self.code,
            packet_id: &self.packet_id,
            offset: &self.offset.map(|offset| offset as i64),
            size: &self.size.map(|size| size as i64),
            message: &self.text,
            trace_file_id: &file,
            machine_id: &machine,
        };
        conn.execute(&tables::import_log::TABLE.insert(), &row.cells()[..])?;
        Ok(())
    }
}

/// How many there are of each reason why something could not be placed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Reasons([u64; Unresolved::ALL.len()]);

impl Reasons {
    pub fn count(&mut self, reason: Unresolved) {
        let all = Unresolved::ALL.into_iter().zip(&mut self.0);
        all.filter(|(other, _)| *other == reason)
            .for_each(|(_, count)| *count += 1);
    }

    /// Those that there are.
    pub fn counted(&self) -> BTreeMap<Unresolved, u64> {
        let all = Unresolved::ALL.into_iter().zip(self.0);
        all.filter(|(_, count)| *count > 0).collect()
    }
}

/// Which counter of a file and a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Recorded {
    pub name: &'static str,
    pub file: u32,
    pub machine: u32,
    /// Which of several things was counted.
    pub idx: Option<i64>,
}

/// There are at most so many of them: a million machines can say a dozen words each.
const MOST_RECORDED: usize = 1 << 20;

const RECORDED_LEFT_OUT: Counter = Counter::data_loss(
    "recorded_stats_left_out",
    "counters of the recorder beyond the millionth",
);

/// Collects it.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Counters for the table `stats`, by their names.
    counters: BTreeMap<&'static str, (Counter, u64)>,
    /// Counters that the trace brings of a part of it.
    recorded: BTreeMap<Recorded, (i64, &'static Counter)>,
    /// What the trace says of itself.
    pub facts: Facts,
    /// Why rows of each table could not be placed, by its number.
    unplaced: Vec<Reasons>,
    /// How many rows of each table wait for a snapshot, by its number.
    waiting: Vec<u64>,
    pub packets_on_trace_time: u64,
}

impl Default for Journal {
    fn default() -> Self {
        Journal {
            counters: BTreeMap::new(),
            recorded: BTreeMap::new(),
            facts: Facts::default(),
            unplaced: vec![Reasons::default(); tables::ALL.len()],
            waiting: vec![0; tables::ALL.len()],
            packets_on_trace_time: 0,
        }
    }
}

impl Journal {
    /// Adds to a counter.
    pub fn count(&mut self, counter: Counter, more: u64) {
        let (_, value) = self.counters.entry(counter.name).or_insert((counter, 0));
        *value += more;
    }

    /// Sets a counter of a file and a machine, `of`; the last value counts.
    pub fn set(&mut self, counter: &'static Counter, of: (u32, u32), idx: Option<u32>, value: i64) {
        self.set_at(counter, of, idx.map(i64::from), value);
    }

    /// The same where what is counted may have a number below 0.
    pub fn set_at(
        &mut self,
        counter: &'static Counter,
        (file, machine): (u32, u32),
        idx: Option<i64>,
        value: i64,
    ) {
        let key = Recorded {
            name: counter.name,
            file,
            machine,
            idx,
        };
        if self.recorded.len() >= MOST_RECORDED && !self.recorded.contains_key(&key) {
            return self.count(RECORDED_LEFT_OUT, 1);
        }
        self.recorded.insert(key, (value, counter));
    }

    /// Adds to a counter of a file and a machine.
    pub fn add(&mut self, counter: &'static Counter, of: (u32, u32), idx: Option<u32>, more: i64) {
        let before = self.recorded(counter, of, idx).unwrap_or(0);
        self.set(counter, of, idx, before.saturating_add(more));
    }

    /// What a counter of a file and a machine has.
    pub fn recorded(
        &self,
        counter: &Counter,
        (file, machine): (u32, u32),
        idx: Option<u32>,
    ) -> Option<i64> {
        let key = Recorded {
            name: counter.name,
            file,
            machine,
            idx: idx.map(i64::from),
        };
        self.recorded.get(&key).map(|(value, _)| *value)
    }

    /// All counters of files and machines.
    pub fn all_recorded(&self) -> impl Iterator<Item = (Recorded, &'static Counter, i64)> {
        let all = self.recorded.iter();
        all.map(|(key, (value, counter))| (*key, *counter, *value))
    }

    /// What a counter has.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters
            .get(counter.name)
            .map_or(0, |(_, value)| *value)
    }

    /// All counters.
    pub fn counters(&self) -> impl Iterator<Item = (Counter, u64)> {
        self.counters.values().copied()
    }

    /// A row could not be placed, now or for good.
    pub fn unplaced(&mut self, table: &Table, reason: Unresolved) {
        self.unplaced[table.number].count(reason);
    }

    /// Why rows of a table could not be placed.
    pub fn reasons(&self, table: &Table) -> &Reasons {
        &self.unplaced[table.number]
    }

    /// A row waits for a snapshot.
    pub fn waits(&mut self, table: &Table) {
        self.waiting[table.number] += 1;
    }

    /// How many rows of each table wait, by its number.
    pub fn waiting(&self) -> &[u64] {
        &self.waiting
    }
}
