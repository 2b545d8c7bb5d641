//! The layout of a timebase database and the messages of a Perfetto trace, as files; and the facts
//! about them that need no database and no trace.
//!
//! | file | |
//! |---|---|
//! | `tables.sql` | the tables, which an import creates first, and the identity of the database |
//! | `finish.sql` | the views, which it creates last |
//! | `src/winscope.rs` | the tables of window tracing, whose views follow from a list |
//! | `findings.sql`, `findings/` | the checks of `timebase doctor`: one file for each, and their shared part |
//! | `perfetto.descriptor` | all messages of a trace, made by `make_descriptor.py` |
//! | `proto/newer.proto` | what `make_descriptor.py` adds to the messages of older sources |
//! | `proto/trace.proto` | the few messages that are needed to place packets in time |
//!
//! ```
//! assert_eq!(timebase_schema::APPLICATION_ID, i64::from(u32::from_be_bytes(*b"tbfs")));
//! assert!(timebase_schema::TABLES.contains("CREATE TABLE packet_record ("));
//! ```
//!
//! # Design
//!
//! Only `tables.sql` declares tables. A build script makes a [`Table`] for each, and a struct with
//! its columns by name, so a column that is missing, new or misspelt does not compile. The
//! alternative was to name tables and columns in Rust a second time, and compare them in a test.
//! Then rows were written by position, and a new column moved all columns after it.
//!
//! The comment `-- Events:` above a table says that it is a table of *events*. Three things follow:
//! `--no-events` leaves it out, it has a line in the summary of an import, and it counts for
//! `trace_bounds`.
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
//! A check of the clocks is a file: a comment with its title, its meaning and its severity, and one
//! SELECT that any SQLite runs. From all of them the build script makes [`CHECKS`] and the view
//! `finding`, which is in every database. So `timebase doctor` shows the rows of the view, any
//! client can query a fleet of databases, and `WHERE check_name = '...'` runs only that check.
//!
//! One alternative was a table that the import fills. Queries of it would be faster, but every
//! import would pay for checks that few people read, some seconds for millions of packets, and it
//! would not notice a row that changes later. The other alternative was to write the checks in
//! Rust. Then only the program could run them, on one trace at a time.
//!
//! The view adds columns that follow from those of a check: the text of the clock if `subject` is
//! NULL, and the `offset` of the packet. In the message it replaces `{subject}`, `{events}` and
//! `{worst}` by words.
//!
//! ```
//! let check = timebase_schema::CHECKS.iter().find(|check| check.name == "drift").unwrap();
//! assert!(check.severity.starts_with("warning"), "{}", check.title);
//! assert!(timebase_schema::finish().contains("SELECT 'drift' AS check_name"));
//! ```

mod owner;
mod reads;
mod statements;
mod states;
mod winscope;

use std::collections::BTreeSet;
use std::fmt::Write;

pub use owner::owner;
use owner::with_owners;
use reads::reads;
pub use statements::{Statement, StatementKind};
pub use states::FIRST_TEXTS;
use states::with_states;
pub use winscope::{
    CHILDREN, CHILDREN_OF_ROOT, ColumnType, Source, WINSCOPE, WinscopeColumn, WinscopeTable,
};

/// The tables and their indexes, as SQL.
pub const TABLES: &str = include_str!("../tables.sql");

const FINISH: &str = include_str!("../finish.sql");

/// All messages of a Perfetto trace: a serialized
/// `google.protobuf.FileDescriptorSet`.
pub const PERFETTO_DESCRIPTOR: &[u8] = include_bytes!("../perfetto.descriptor");

/// The numbers of protobuf fields, in a module for each message of [`PERFETTO_DESCRIPTOR`].
///
/// ```
/// use timebase_schema::fields::{track_event, track_event_legacy_event};
///
/// assert_eq!(track_event::TRACK_UUID, 11);
/// assert_eq!(track_event_legacy_event::PHASE, 2);
/// ```
pub mod fields {
    include!(concat!(env!("OUT_DIR"), "/fields.rs"));
}

/// The messages that are needed to place packets in time, as the source of a `.proto` file.
pub const TRACE_PROTO: &str = include_str!("../proto/trace.proto");

/// `PRAGMA application_id` of a database that timebase made.
pub const APPLICATION_ID: i64 = pragma(TABLES, "PRAGMA application_id = ");

/// `PRAGMA user_version` of a database with these tables.
pub const VERSION: i64 = pragma(TABLES, "PRAGMA user_version = ");

/// The remedy for a database of another version than [`VERSION`].
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

/// The number after `text` in `sql`, so that only the SQL states it.
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
    /// Its name.
    pub name: &'static str,
    /// The names of its columns, in their order. The first column of a table with rowids is the
    /// rowid, even if it [is the last one](Table::rowid_is_last) in the database.
    pub columns: &'static [&'static str],
    /// Whether the column of the rowid is the last one in the database, so that records lack it.
    pub rowid_is_last: bool,
    /// Whether it has a key other than the rowid, so SQLite has to search for the place of a row.
    pub keyed: bool,
    /// Its indexes, without the index of its key.
    pub indexes: &'static [Index],
    /// Whether its rows are events.
    pub events: Option<Events>,
    /// The order in which its rows are made.
    pub order: Order,
}

/// The order in which the rows of a table are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// In the order of their rowids.
    Rowid,
    /// In the order of their key, which is the first two columns: a table without rowids.
    Key,
    /// In any order, although they have rowids.
    Any,
    /// In any order: SQLite searches for a row's place by its key.
    None,
}

/// An index on numbers.
#[derive(Debug)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The positions of its columns in the table.
    pub columns: &'static [usize],
    /// The position of a column, if the index only has rows that are not NULL in it.
    pub only: Option<usize>,
}

/// The kind of a table of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// A row is an event.
    Rows {
        /// The view or table that shows them.
        name: &'static str,
        /// The heading of the line in the summary.
        heading: &'static str,
        /// The name of one of its rows in the summary.
        one: &'static str,
        /// The name of its rows in the summary.
        noun: &'static str,
    },
    /// The events of this view or table need its rows.
    PartOf(&'static str),
}

/// A row with named columns.
pub trait Row<V> {
    /// The table of the row.
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
    /// The problem that it finds, in a line.
    pub title: &'static str,
    /// The meaning of the problem.
    pub meaning: &'static str,
    /// How severe its findings are (`error`, `warning` or `info`), and when.
    pub severity: &'static str,
    /// Whether some of its findings are errors.
    pub can_be_error: bool,
    /// Its SELECT, for [`with_parts`].
    pub sql: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/findings.rs"));

/// A statement after the parts of the checks that it reads. SQLite takes longer to read the text of all
/// parts than it takes to import a small trace.
///
/// ```
/// let statement = timebase_schema::with_parts("SELECT conversion FROM trace_time");
/// assert!(statement.starts_with("WITH RECURSIVE\ntrace_time AS MATERIALIZED ("), "{statement}");
/// ```
pub fn with_parts(select: &str) -> String {
    // A part reads only those before it.
    let mut read: BTreeSet<&str> = reads(select).collect();
    let mut parts = Vec::new();
    for &(name, text) in PARTS.iter().rev() {
        if read.contains(name) {
            read.extend(reads(text));
            parts.push(text);
        }
    }
    parts.reverse();
    match parts.is_empty() {
        true => select.to_owned(),
        false => format!("WITH RECURSIVE\n{}\n{select}", parts.join(",\n")),
    }
}

/// [`TABLES`] with only those indexes for whose names `is_wanted` is true.
///
/// ```
/// let tables = timebase_schema::tables_with(|index| index == "packet_ts");
/// assert!(tables.contains("PRAGMA user_version") && tables.contains("CREATE TABLE packet_record ("));
/// assert_eq!(tables.matches("CREATE INDEX").count(), 1);
/// ```
pub fn tables_with(is_wanted: impl Fn(&str) -> bool) -> String {
    let statements = Statement::all(TABLES);
    let is_made = |one: &&Statement<'_>| {
        let index = one.sql.trim_start().strip_prefix("CREATE INDEX ");
        index.is_none_or(|rest| rest.split(' ').next().is_some_and(&is_wanted))
    };
    let made = statements.iter().filter(is_made).map(|one| one.sql);
    // Settings of the database stand before the first statement.
    let before = TABLES.split("\nCREATE ").take(1);
    before.chain(made).collect()
}

/// The number of errors in the view `finding`, as a statement that does not need the view.
///
/// It leaves out the checks that only warn, which read all packets, and it is a tenth of the text of the view, which
/// takes SQLite longer to read than many a trace.
///
/// ```
/// let statement = timebase_schema::count_of_errors();
/// assert!(statement.starts_with("WITH RECURSIVE\n") && !statement.contains("drifting"));
/// ```
pub fn count_of_errors() -> String {
    let checks = CHECKS.iter().filter(|check| check.can_be_error);
    let counts = checks.map(|check| {
        format!("SELECT count(*) AS errors FROM (\n{}\n) WHERE severity = 'error'", check.sql)
    });
    let counts: Vec<String> = counts.collect();
    with_parts(&format!("SELECT sum(errors) FROM (\n{}\n)", counts.join("\nUNION ALL\n")))
}

impl Table {
    /// Whether its rows are events without a duration that have an index by time. `event_span` has
    /// the time range of all others.
    fn is_instants(&self) -> bool {
        let by_time = |index: &Index| index.columns.first() == Some(&1);
        self.has_events() && !self.columns.contains(&"dur") && self.indexes.iter().any(by_time)
    }

    /// Whether its rows are events.
    pub fn has_events(&self) -> bool {
        matches!(self.events, Some(Events::Rows { .. }))
    }

    /// The statement that inserts a row, with its values as parameters in the
    /// order of the columns.
    ///
    /// ```
    /// let insert = timebase_schema::tables::flow::TABLE.insert();
    /// assert!(insert.starts_with("INSERT INTO flow (id, slice_out, slice_in"), "{insert}");
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

/// The views, as SQL, which the import makes when all rows are in: the views of `finish.sql`,
/// `trace_bounds` over all tables of events, and `finding` with all checks.
///
/// ```
/// assert!(timebase_schema::finish().contains("SELECT (SELECT min(ts) FROM android_log_record)"));
/// ```
pub fn finish() -> String {
    let mut sql = with_states(&with_owners(FINISH));
    sql.push_str(&winscope::views());
    sql.push_str(
        "\n-- The time that events cover, or packets where there are no events; and the time without those few events\n\
         -- that are far from all others (the view time_outlier).\n\
         CREATE VIEW trace_bounds AS\n\
         SELECT start_ts, end_ts, coalesce(min(typical_start_ts, other_start_ts), typical_start_ts, start_ts) AS typical_start_ts,\n\
         \x20      coalesce(max(typical_end_ts, other_end_ts), typical_end_ts, end_ts) AS typical_end_ts\nFROM (\n\
         SELECT coalesce(min(start_ts), (SELECT min(ts) FROM packet)) AS start_ts,\n\
         \x20      coalesce(max(max(end_ts), min(start_ts) + 1), (SELECT max(ts) FROM packet)) AS end_ts\nFROM (\n",
    );
    for table in instants() {
        // Writing to a String does not fail.
        let _ = writeln!(
            sql,
            "  SELECT (SELECT min(ts) FROM {table}) AS start_ts, (SELECT max(ts) FROM {table}) AS end_ts\n  UNION ALL"
        );
    }
    sql.push_str("  SELECT start_ts, end_ts FROM event_span\n)\n) CROSS JOIN (\n");
    sql.push_str(&typical());
    sql.push_str(");\n\n");
    sql.push_str(FINDING);
    sql
}

/// The tables of events without a duration that have an index by time.
fn instants() -> impl Iterator<Item = &'static str> {
    let events = tables::ALL.iter().filter(|table| table.is_instants());
    events.map(|table| table.name)
}

/// The time without outliers, as SQL: the time of the groups that are none, and of events without a duration
/// between these and the nearest outliers; NULL on a side without outliers.
fn typical() -> String {
    let mut sql = "SELECT iif(before IS NULL, NULL, typical_start_ts) AS typical_start_ts, iif(after IS NULL, NULL, typical_end_ts) AS typical_end_ts".to_owned();
    for (side, aggregate, comparison) in [("before", "min", ">"), ("after", "max", "<")] {
        let column = if side == "before" { "other_start_ts" } else { "other_end_ts" };
        let _ = write!(sql, ",\n  (SELECT {aggregate}(ts) FROM (");
        for (place, table) in instants().enumerate() {
            let join = if place == 0 { "" } else { " UNION ALL " };
            let _ = write!(
                sql,
                "{join}SELECT {aggregate}(ts) AS ts FROM {table} WHERE ts {comparison} {side}"
            );
        }
        let _ = write!(sql, ")) AS {column}");
    }
    sql.push_str(
        "\nFROM (\n\
         SELECT g.*, (SELECT max(o.end_ts) FROM time_outlier AS o WHERE o.end_ts < g.typical_start_ts) AS before,\n\
         \x20      (SELECT min(o.start_ts) FROM time_outlier AS o WHERE o.start_ts > g.typical_end_ts) AS after\n\
         FROM (SELECT min(start_ts) AS typical_start_ts, max(end_ts) AS typical_end_ts FROM event_group\n\
         \x20     WHERE (machine_id, start_ts) NOT IN (SELECT machine_id, start_ts FROM time_outlier)) AS g\n)\n",
    );
    sql
}

/// [`finish`], but only with the wanted views and the views that these read. Making all views takes
/// a third of the import of a small trace.
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
    let is_made =
        |one: &&Statement<'_>| one.kind != StatementKind::View || needed.contains(one.name);
    let made = statements.iter().filter(is_made);
    made.map(|statement| statement.sql).collect()
}
