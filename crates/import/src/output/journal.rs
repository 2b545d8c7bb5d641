//! The import's messages about the trace, its counters, and its facts (`facts.rs`).

use std::collections::BTreeMap;

use rusqlite::types::Null;
use rusqlite::{Connection, ToSql};
use timebase_resolver::Unresolved;
use timebase_schema::{Row, Table, tables};

use super::batch::Cell;
use super::counter::Counter;
use super::facts::Facts;
use super::rows::Rows;

/// The severity of a message.
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
    /// The place in the decompressed stream.
    pub offset: Option<u64>,
    /// The number of bytes at that place.
    pub size: Option<u64>,
    pub text: String,
}

impl LogMessage {
    /// A message about no packet.
    pub fn new(severity: Severity, code: &'static str, text: String) -> Self {
        LogMessage { severity, code, packet_id: None, offset: None, size: None, text }
    }

    /// The same message about a packet and its place.
    pub fn of_packet(self, id: i64, offset: u64) -> Self {
        LogMessage { packet_id: Some(id), offset: Some(offset), ..self }
    }

    /// Writes the message to the log.
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

    /// Writes the message to the log of a database that SQLite has open, for a file and a machine.
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

/// The number of rows that could not be placed, for each reason.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Reasons([u64; Unresolved::ALL.len()]);

impl Reasons {
    pub fn count(&mut self, reason: Unresolved) {
        let all = Unresolved::ALL.into_iter().zip(&mut self.0);
        all.filter(|(other, _)| *other == reason).for_each(|(_, count)| *count += 1);
    }

    /// The reasons with at least one row.
    pub fn counted(&self) -> BTreeMap<Unresolved, u64> {
        let all = Unresolved::ALL.into_iter().zip(self.0);
        all.filter(|(_, count)| *count > 0).collect()
    }
}

/// The key of a counter of a file and a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Recorded {
    pub name: &'static str,
    pub file: u32,
    pub machine: u32,
    /// The counted object, if there are several.
    pub idx: Option<i64>,
}

/// The largest number of such counters: a million machines can have a dozen each.
const MOST_RECORDED: usize = 1 << 20;

const RECORDED_LEFT_OUT: Counter =
    Counter::data_loss("recorded_stats_left_out", "counters of the recorder beyond the millionth")
        .drops_nothing();

/// Collects messages, counters and facts.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Counters for the table `stats`, by their names.
    counters: BTreeMap<&'static str, (Counter, u64)>,
    /// Counters from the trace, for files, machines and objects.
    recorded: BTreeMap<Recorded, (i64, &'static Counter)>,
    /// The trace's statements about itself.
    pub facts: Facts,
    /// The reasons why rows of each table could not be placed, by the table's number.
    unplaced: Vec<Reasons>,
    /// The number of rows that wait for a snapshot, by the table's number.
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

    /// The same if the counted object may have a negative number.
    pub fn set_at(
        &mut self,
        counter: &'static Counter,
        (file, machine): (u32, u32),
        idx: Option<i64>,
        value: i64,
    ) {
        let key = Recorded { name: counter.name, file, machine, idx };
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

    /// The value of a counter of a file and a machine.
    pub fn recorded(
        &self,
        counter: &Counter,
        (file, machine): (u32, u32),
        idx: Option<u32>,
    ) -> Option<i64> {
        let key = Recorded { name: counter.name, file, machine, idx: idx.map(i64::from) };
        self.recorded.get(&key).map(|(value, _)| *value)
    }

    /// All counters of files and machines.
    pub fn all_recorded(&self) -> impl Iterator<Item = (Recorded, &'static Counter, i64)> {
        let all = self.recorded.iter();
        all.map(|(key, (value, counter))| (*key, *counter, *value))
    }

    /// The value of a counter.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters.get(counter.name).map_or(0, |(_, value)| *value)
    }

    /// All counters.
    pub fn counters(&self) -> impl Iterator<Item = (Counter, u64)> {
        self.counters.values().copied()
    }

    /// Counts a row that could not be placed, for now or for good.
    pub fn unplaced(&mut self, table: &Table, reason: Unresolved) {
        self.unplaced[table.number].count(reason);
    }

    /// The reasons why rows of a table could not be placed.
    pub fn reasons(&self, table: &Table) -> &Reasons {
        &self.unplaced[table.number]
    }

    /// Counts a row that waits for a snapshot.
    pub fn waits(&mut self, table: &Table) {
        self.waiting[table.number] += 1;
    }

    /// The number of rows that wait, by the table's number.
    pub fn waiting(&self) -> &[u64] {
        &self.waiting
    }
}
