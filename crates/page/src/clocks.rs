//! The clocks of a database, and the hops between them.

use std::collections::HashMap;

use rusqlite::{Connection, Row};

use crate::error::{Error, Reading};
use crate::text::{counted, shown};

/// The limit for clocks and hops; a trace can have more sequences with their own clocks than a page
/// should show.
const MOST: i64 = 5_000;

/// The number of a file's own clock, which events of JSON traces have.
pub const TRACE_FILE: i64 = 11;

/// A clock, with the columns of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub machine: i64,
    pub id: i64,
    pub sequence: i64,
    /// The trace file that owns it; -1 for the machine's.
    pub file: i64,
}

impl Key {
    /// Reads the clock from three columns of a row; the file is in another column.
    pub fn of_row(row: &Row<'_>, first: usize, file: usize) -> rusqlite::Result<Key> {
        Ok(Key {
            machine: row.get(first)?,
            id: row.get(first + 1)?,
            sequence: row.get(first + 2)?,
            file: row.get::<_, Option<i64>>(file)?.unwrap_or(-1),
        })
    }

    /// The file, in the form of the tables.
    pub fn own_file(self) -> Option<i64> {
        (self.file >= 0).then_some(self.file)
    }

    /// The owner: a machine, and a file if the clock belongs to one.
    pub fn owner(self) -> (i64, i64) {
        (self.machine, self.file.max(0))
    }
}

/// The basis of a relation between two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopSource {
    /// A snapshot of both clocks.
    Snapshot(Taker),
    /// One machine asked the other for the time.
    RemoteSync,
    /// No message arrives before it is sent.
    Causality,
    Manifest,
    /// The producer of a JSON trace told the time of its clock.
    Producer,
    /// An assumption.
    Assumed,
}

/// The origin of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    Service,
    Writer,
    Ftrace,
}

impl HopSource {
    /// The meaning of a value in a column `source`.
    pub fn of_row(row: &Row<'_>, column: usize) -> rusqlite::Result<HopSource> {
        let source = match row.get_ref(column)?.as_bytes().unwrap_or_default() {
            b"writer" => HopSource::Snapshot(Taker::Writer),
            b"ftrace" => HopSource::Snapshot(Taker::Ftrace),
            b"remote_sync" => HopSource::RemoteSync,
            b"causality" => HopSource::Causality,
            b"manifest" => HopSource::Manifest,
            b"json" => HopSource::Producer,
            b"assumed" => HopSource::Assumed,
            _ => HopSource::Snapshot(Taker::Service),
        };
        Ok(source)
    }
}

/// The reason why a clock did not continue its course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Wrapped,
    Restarted,
}

impl Turn {
    /// The verb for it.
    pub fn did(self) -> &'static str {
        match self {
            Turn::Wrapped => "wrapped",
            Turn::Restarted => "restarted",
        }
    }
}

/// A clock.
#[derive(Debug)]
pub struct Clock {
    pub key: Key,
    /// The text for people: `MONOTONIC`, `64@3`, with the machine if that is not 0, and the file if
    /// it owns the clock.
    pub label: String,
    pub snapshots: u64,
    pub packets: u64,
    /// Whether its packets are events of JSON traces.
    pub is_json: bool,
    /// Whether it leads to BOOTTIME or to trace time.
    pub has_path: bool,
    pub is_monotonic: bool,
    /// Whether it wrapped or restarted, if the import knows.
    pub turned: Option<Turn>,
    /// The error of its packets' times because of that.
    pub worst_turn_ns: Option<f64>,
}

impl Clock {
    /// A number of its packets, in words.
    pub fn counted(&self, packets: u64) -> String {
        match self.is_json {
            true => counted(packets, "event", "events"),
            false => counted(packets, "packet", "packets"),
        }
    }

    /// The reason why nothing is converted from it; `None` if conversions use it.
    pub fn fault(&self) -> Option<&'static str> {
        match self.turned {
            Some(Turn::Wrapped) => Some("it wrapped"),
            Some(Turn::Restarted) => Some("it restarted"),
            None if self.has_path => None,
            None if !self.is_monotonic => Some("it went backwards"),
            None if self.is_json => Some("leads nowhere"),
            None if self.snapshots == 0 => Some("in no snapshot"),
            None => Some("leads nowhere"),
        }
    }
}

/// A hop that a path uses.
#[derive(Debug)]
pub struct Hop {
    pub id: i64,
    pub from: Key,
    pub to: Key,
    pub from_label: String,
    pub to_label: String,
    pub source: HopSource,
    pub readings: u64,
    pub nominal_rate: f64,
    pub drift_ppm: Option<f64>,
    pub noise_ns: f64,
    pub steps: u64,
    pub outliers: u64,
    pub worst_ns: f64,
    pub worst_nearest_ns: f64,
    pub interval_s: Option<f64>,
    /// The number of packets on its source clock.
    pub packets: u64,
}

impl Hop {
    /// Whether a clock of the hop counts something other than nanoseconds.
    pub fn has_other_unit(&self) -> bool {
        self.nominal_rate != 1.0
    }

    /// Nanoseconds of the target in a nanosecond of the source, by the median.
    pub fn rate(&self) -> f64 {
        self.nominal_rate * (1.0 + self.drift_ppm.unwrap_or(0.0) * 1e-6)
    }

    /// Whether one of its clocks is coarse: it only shows its last tick.
    pub fn is_coarse(&self) -> bool {
        [self.from.id, self.to.id].iter().any(|id| matches!(id, 2 | 4))
    }
}

/// The clocks and their hops.
#[derive(Debug)]
pub struct Clocks {
    /// The clocks that most packets use come first.
    pub clocks: Vec<Clock>,
    /// The number of all clocks.
    pub all: u64,
    /// The important hops come first: those that were read more than once, that packets use, and on
    /// which nearest neighbour is wrong.
    pub hops: Vec<Hop>,
    /// Hops between clocks that no snapshot reads together, of several machines or files.
    pub relations: Vec<Hop>,
    /// The number of all hops.
    pub all_hops: u64,
    labels: HashMap<Key, String>,
}

impl Clocks {
    /// Reads them from the database.
    pub fn read(database: &Connection) -> Result<Clocks, Error> {
        let clocks = clocks(database).reading("clocks")?;
        let labels = clocks.iter().map(|clock| (clock.key, clock.label.clone())).collect();
        let counted = |table: &str| -> rusqlite::Result<u64> {
            let sql = format!("SELECT count(*) FROM {table}");
            database.query_row(&sql, [], |row| natural(row, 0))
        };
        let hops = hops(database, &labels).reading("hops between clocks")?;
        let (hops, relations) =
            hops.into_iter().partition(|hop| matches!(hop.source, HopSource::Snapshot(_)));
        Ok(Clocks {
            all: counted("clock").reading("clocks")?,
            hops,
            relations,
            all_hops: counted("clock_hop").reading("hops between clocks")?,
            clocks,
            labels,
        })
    }

    /// The text of a clock.
    pub fn label(&self, key: Key) -> String {
        self.labels.get(&key).cloned().unwrap_or_else(|| label(key, None))
    }
}

/// A count. A number below 0, which only a made-up database has, counts as 0.
pub fn natural(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: Option<i64> = row.get(column)?;
    Ok(number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
}

/// A finite number, so the code never computes with infinity.
pub fn finite(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<f64>> {
    let number: Option<f64> = row.get(column)?;
    Ok(number.filter(|number| number.is_finite()))
}

fn label(key: Key, name: Option<String>) -> String {
    let clock = match name {
        Some(name) => shown(&name),
        None if key.sequence != 0 => format!("{}@{}", key.id, key.sequence),
        None => key.id.to_string(),
    };
    let clock = match key.machine {
        0 => clock,
        machine => format!("{clock} of machine {machine}"),
    };
    match key.file {
        ..=0 => clock,
        file => format!("{clock} in file {file}"),
    }
}

fn clocks(database: &Connection) -> rusqlite::Result<Vec<Clock>> {
    let mut statement = database.prepare(
        "SELECT c.machine_id, c.clock_id, c.seq_id, c.name, c.snapshots, c.packets,
                c.path IS NOT NULL OR (c.machine_id, c.clock_id, c.seq_id, coalesce(c.trace_file_id, -1)) IN (
                  SELECT machine_id, clock_id, seq_id, file FROM clock_route
                  WHERE to_clock_id = (SELECT value FROM fact WHERE name = 'trace_time_clock_id')),
                c.is_monotonic, c.trace_file_id,
                t.kind, t.worst_ns,
                iif(c.clock_id = 11, f.trace_type,
                  (SELECT max(trace_type) FROM trace_file WHERE trace_type IN ('json', 'proto'))) IS 'json'
         FROM clock AS c
         LEFT JOIN trace_file AS f ON f.id = c.trace_file_id
         LEFT JOIN (
           SELECT machine_id, clock_id, seq_id, trace_file_id, kind, max(worst_ns) AS worst_ns FROM clock_turn GROUP BY 1, 2, 3, 4
         ) AS t
           ON t.machine_id = c.machine_id AND t.clock_id = c.clock_id AND t.seq_id = c.seq_id AND t.trace_file_id IS c.trace_file_id
         ORDER BY c.packets DESC, c.machine_id, c.clock_id, c.seq_id, c.trace_file_id LIMIT ?1",
    )?;
    let rows = statement.query_map([MOST], |row| {
        let key = Key::of_row(row, 0, 8)?;
        Ok(Clock {
            key,
            label: label(key, row.get(3)?),
            snapshots: natural(row, 4)?,
            packets: natural(row, 5)?,
            is_json: row.get(11)?,
            has_path: row.get(6)?,
            is_monotonic: row.get(7)?,
            turned: match row.get::<_, Option<String>>(9)?.as_deref() {
                None => None,
                Some("wrap") => Some(Turn::Wrapped),
                Some(_) => Some(Turn::Restarted),
            },
            worst_turn_ns: finite(row, 10)?,
        })
    })?;
    rows.collect()
}

fn hops(database: &Connection, labels: &HashMap<Key, String>) -> rusqlite::Result<Vec<Hop>> {
    let mut statement = database.prepare(
        "SELECT h.machine_id, h.clock_id, h.seq_id, h.to_machine_id, h.to_clock_id, h.to_seq_id,
                h.id, h.source, h.readings, h.nominal_rate, h.drift_ppm, h.noise_ns, h.steps, h.outliers,
                h.worst_error_ns, h.worst_error_nearest_ns, h.interval_for_1us_s, coalesce(c.packets, 0) AS packets,
                h.trace_file_id, h.to_trace_file_id
         FROM clock_hop AS h
         LEFT JOIN clock_record AS c
           ON c.machine_id = h.machine_id AND c.clock_id = h.clock_id AND c.seq_id = h.seq_id
          AND c.file = coalesce(h.trace_file_id, -1)
         ORDER BY h.readings > 1 DESC, packets > 0 DESC, h.worst_error_nearest_ns DESC, packets DESC, h.id LIMIT ?1",
    )?;
    let label = |key: Key| {
        let known = labels.get(&key).cloned();
        known.unwrap_or_else(|| label(key, None))
    };
    let rows = statement.query_map([MOST], |row| {
        let (from, to) = (Key::of_row(row, 0, 18)?, Key::of_row(row, 3, 19)?);
        Ok(Hop {
            from,
            to,
            from_label: label(from),
            to_label: label(to),
            id: row.get(6)?,
            source: HopSource::of_row(row, 7)?,
            readings: natural(row, 8)?,
            nominal_rate: finite(row, 9)?.unwrap_or(1.0),
            drift_ppm: finite(row, 10)?,
            noise_ns: finite(row, 11)?.unwrap_or(0.0),
            steps: natural(row, 12)?,
            outliers: natural(row, 13)?,
            worst_ns: finite(row, 14)?.unwrap_or(0.0),
            worst_nearest_ns: finite(row, 15)?.unwrap_or(0.0),
            interval_s: finite(row, 16)?,
            packets: natural(row, 17)?,
        })
    })?;
    rows.collect()
}
