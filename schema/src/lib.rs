//! What a timebase database is, and what a Perfetto trace is made of: files, and
//! what can be told of them without a database or a trace at hand.
//!
//! | file | |
//! |---|---|
//! | `tables.sql` | the tables, which an import begins with, and the identity of the database |
//! | `finish.sql` | the views, which it ends with |
//! | `findings.sql`, `findings/` | the checks of `timebase doctor`: a file each, and what they share |
//! | `perfetto.descriptor` | all messages of a trace, made by `make_descriptor.py` |
//! | `proto/trace.proto` | those few that placing packets in time needs |
//!
//! ```
//! assert_eq!(timebase_schema::APPLICATION_ID, i64::from(u32::from_be_bytes(*b"tbfs")));
//! assert!(timebase_schema::TABLES.contains("CREATE TABLE packet ("));
//! ```
//!
//! # Design
//!
//! `tables.sql` is the one place that declares a table: a build script makes
//! [`Table`]s of it and, for each, a struct with its columns by name, so that a
//! column that is missing, new or misspelt does not compile. Naming tables and
//! columns in Rust a second time, with a test that compares, was the alternative;
//! rows were then written by place, and a new column moved all behind it.
//!
//! What follows from a table being one of *events* (it is left out by
//! `--no-events`, has a line in the summary of an import, counts for
//! `trace_bounds`) follows from the comment `-- Events:` above it.
//!
//! ```
//! use timebase_schema::{Events, Row, tables::{self, import_log}};
//!
//! let row = import_log::Row {
//!     id: "1",
//!     severity: "info",
//!     code: "example",
//!     packet_id: "",
//!     offset: "",
//!     size: "",
//!     message: "hello",
//!     trace_file_id: "",
//!     machine_id: "",
//! };
//! assert_eq!(row.cells(), ["1", "info", "example", "", "", "", "hello", "", ""]);
//! assert_eq!(import_log::TABLE.columns[2], "code");
//!
//! assert!(tables::sequence::TABLE.keyed && !import_log::TABLE.keyed);
//!
//! let log = &tables::android_log_record::TABLE;
//! assert!(matches!(log.events, Some(Events::Rows { noun: "lines", .. })));
//! ```
//!
//! # Findings
//!
//! A check of the clocks is a file: a comment with its title, what it means and its severity, and one SELECT that any
//! SQLite runs. The build script makes the view `finding` of all of them, which is in every database, and
//! [`CHECKS`]. So `timebase doctor` shows what a query of the view gives, a fleet of databases can be asked
//! by any client, and `WHERE check_name = '...'` runs that check alone.
//!
//! A table that is filled at the import was the alternative. It would be asked faster, but every import would pay
//! for checks that few look at, some seconds for millions of packets, and a row that is changed later would not be seen.
//! To write the checks in Rust was the other; then only the program could run them, on one trace at a time.
//!
//! The view adds what follows from a check's columns: how the clock is written, where `subject` is NULL; the `offset` of the packet; and
//! in the message the words for `{subject}`, `{events}` and `{worst}`.
//!
//! ```
//! let check = timebase_schema::CHECKS.iter().find(|check| check.name == "drift").unwrap();
//! assert!(check.severity.starts_with("warning"), "{}", check.title);
//! assert!(timebase_schema::finish().contains("SELECT 'drift' AS check_name"));
//! ```

mod statements;

use std::collections::BTreeSet;
use std::fmt::Write;

pub use statements::{Kind, Statement};

/// The tables and their indexes, as SQL.
pub const TABLES: &str = include_str!("../tables.sql");

const FINISH: &str = include_str!("../finish.sql");

/// All messages of a Perfetto trace: a serialized
/// `google.protobuf.FileDescriptorSet`.
pub const PERFETTO_DESCRIPTOR: &[u8] = include_bytes!("../perfetto.descriptor");

/// The messages that placing packets in time needs, as the source of a
/// `.proto` file.
pub const TRACE_PROTO: &str = include_str!("../proto/trace.proto");

/// `PRAGMA application_id` of a database that timebase made.
pub const APPLICATION_ID: i64 = pragma(TABLES, "PRAGMA application_id = ");

/// `PRAGMA user_version` of a database with these tables.
pub const VERSION: i64 = pragma(TABLES, "PRAGMA user_version = ");

/// What to do about a database of another version than [`VERSION`].
///
/// ```
/// use timebase_schema::{VERSION, other_version};
///
/// assert_eq!(other_version(VERSION - 1), "import the trace again");
/// assert!(other_version(VERSION + 1).ends_with("update timebase"));
/// ```
pub const fn other_version(found: i64) -> &'static str {
    if found > VERSION {
        "a newer timebase made it, so update timebase"
    } else {
        "import the trace again"
    }
}

/// The number behind `text` in `sql`, so that the SQL is the one place that
/// says it.
const fn pragma(sql: &str, text: &str) -> i64 {
    let (sql, text) = (sql.as_bytes(), text.as_bytes());
    let mut start = 0;
    while start + text.len() < sql.len() {
        let mut same = 0;
        while same < text.len() && sql[start + same] == text[same] {
            same += 1;
        }
        if same == text.len() {
            let mut at = start + same;
            let mut value = 0;
            while at < sql.len() && sql[at].is_ascii_digit() {
                value = value * 10 + (sql[at] - b'0') as i64;
                at += 1;
            }
            return value;
        }
        start += 1;
    }
    0
}

/// A table, as `tables.sql` declares it.
#[derive(Debug)]
pub struct Table {
    /// Its place in [`tables::ALL`].
    pub number: usize,
    /// What it is called.
    pub name: &'static str,
    /// What its columns are called, in their order. The first one of a table with
    /// rowids is the rowid.
    pub columns: &'static [&'static str],
    /// Whether it has a key besides the rowid, so that a row's place has to be
    /// searched for.
    pub keyed: bool,
    /// Its indexes, without that of its key.
    pub indexes: &'static [Index],
    /// Whether its rows are events.
    pub events: Option<Events>,
    /// In which order its rows are made.
    pub order: Order,
}

/// In which order the rows of a table are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// In that of their rowids.
    Rowid,
    /// In that of their key, of which the first two columns are: a table without
    /// rowids.
    Key,
    /// In any, though they have rowids.
    Any,
    /// In any: a row's place is searched for by its key.
    None,
}

/// An index on numbers.
#[derive(Debug)]
pub struct Index {
    /// What it is called.
    pub name: &'static str,
    /// The places of the columns that it is on.
    pub columns: &'static [usize],
    /// The place of a column, where it has only rows that are not NULL in it.
    pub only: Option<usize>,
}

/// What a table of events is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// A row is an event.
    Rows {
        /// The view or table that shows them.
        name: &'static str,
        /// What the line in the summary is called.
        heading: &'static str,
        /// What the rows are called.
        noun: &'static str,
    },
    /// A row is something that the events of this view or table need.
    PartOf(&'static str),
}

/// A row whose columns have names.
pub trait Row<V> {
    /// The table that it is a row of.
    const TABLE: &'static Table;
    /// Its values, in the order of the columns.
    type Cells: AsRef<[V]>;
    /// Its values, in the order of the columns.
    fn cells(self) -> Self::Cells;
}

/// The tables of `tables.sql`.
pub mod tables {
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

/// A check of the clocks, a part of the view `finding`.
#[derive(Debug)]
pub struct Check {
    /// Its `check_name`.
    pub name: &'static str,
    /// What it finds, in a line.
    pub title: &'static str,
    /// What that means.
    pub meaning: &'static str,
    /// How severe its findings are: `error`, `warning` or `info`, and when.
    pub severity: &'static str,
    /// Its SELECT, which [`CHECKS_SHARE`] stands before.
    pub sql: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/findings.rs"));

impl Table {
    /// Whether a row of it is an event without a duration, which an index finds by its
    /// time. From when to when others are is in `event_span`.
    fn is_instants(&self) -> bool {
        let by_time = |index: &Index| index.columns.first() == Some(&1);
        self.has_events() && !self.columns.contains(&"dur") && self.indexes.iter().any(by_time)
    }

    /// Whether a row of it is an event.
    pub fn has_events(&self) -> bool {
        matches!(self.events, Some(Events::Rows { .. }))
    }

    /// The statement that inserts a row, with its values as parameters in the
    /// order of the columns.
    ///
    /// ```
    /// let insert = timebase_schema::tables::fact::TABLE.insert();
    /// assert_eq!(insert, "INSERT INTO fact (name, file, value) VALUES (?1, ?2, ?3)");
    /// ```
    pub fn insert(&self) -> String {
        let parameters: Vec<String> = (1..=self.columns.len()).map(|n| format!("?{n}")).collect();
        format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.name,
            self.columns.join(", "),
            parameters.join(", ")
        )
    }
}

/// What is made when all rows are in, as SQL: the views, those of `finish.sql`,
/// `trace_bounds` of all tables of events, and `finding` of all checks.
///
/// ```
/// assert!(timebase_schema::finish().contains("SELECT (SELECT min(ts) FROM android_log_record)"));
/// ```
pub fn finish() -> String {
    let mut sql = FINISH.to_owned();
    sql.push_str(
        "\n-- The time that events cover, or packets where there are no events.\n\
         CREATE VIEW trace_bounds AS\n\
         SELECT coalesce(min(start_ts), (SELECT min(ts) FROM packet)) AS start_ts,\n\
         \x20      coalesce(max(end_ts), (SELECT max(ts) FROM packet)) AS end_ts\nFROM (\n",
    );
    let events = tables::ALL.iter().filter(|table| table.is_instants());
    for table in events {
        let name = table.name;
        // Writing to a String does not fail.
        let _ = writeln!(
            sql,
            "  SELECT (SELECT min(ts) FROM {name}) AS start_ts, (SELECT max(ts) FROM {name}) AS end_ts\n  UNION ALL"
        );
    }
    sql.push_str("  SELECT start_ts, end_ts FROM event_span\n);\n\n");
    sql.push_str(FINDING);
    sql
}

/// [`finish`] with those views alone that are wanted, and those that these read. All of them are a third of
/// what the import of a small trace takes.
///
/// ```
/// let sql = timebase_schema::finish_with(|view| view == "slices");
/// assert!(sql.contains("CREATE VIEW slice ") && !sql.contains("CREATE VIEW sched "));
/// ```
pub fn finish_with(is_wanted: impl Fn(&str) -> bool) -> String {
    let finish = finish();
    let statements = Statement::all(&finish);
    let needed = Statement::needed(&statements, is_wanted);
    let needed: BTreeSet<&str> = needed.iter().map(|view| view.name).collect();
    let is_made = |one: &&Statement<'_>| one.kind != Kind::View || needed.contains(one.name);
    let made = statements.iter().filter(is_made);
    made.map(|statement| statement.sql).collect()
}
