//! The tables and views, and the type of each column.
//!
//! For a table, `schema/tables.sql` declares the type, and SQLite passes it on to a view's column
//! that is a plain column of a table. A computed column of a view has no type in SQLite, so this
//! module declares it, once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use timebase_schema::{ColumnType, Statement, StatementKind, WINSCOPE, WinscopeTable};

use crate::error::Error;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Integers of 64 bits: numbers, times in nanoseconds, and 0 or 1 for no or yes.
    Int64,
    /// Real numbers.
    Double,
    /// Text in UTF-8.
    String,
    /// Bytes.
    Binary,
}

impl Type {
    /// Its name in a schema.
    ///
    /// ```
    /// assert_eq!(timebase_export::Type::Int64.name(), "int64");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Type::Int64 => "int64",
            Type::Double => "double",
            Type::String => "string",
            Type::Binary => "binary",
        }
    }

    /// The type for a declaration in a table.
    pub(crate) fn declared(name: &str) -> Option<Type> {
        let types = [
            ("INTEGER", Type::Int64),
            ("REAL", Type::Double),
            ("TEXT", Type::String),
            ("BLOB", Type::Binary),
        ];
        let mut types = types.into_iter();
        types.find(|(declared, _)| declared.eq_ignore_ascii_case(name)).map(|(_, kind)| kind)
    }
}

/// Columns without a declared type, because views compute them. A CAST in the view does not help: SQLite 3.40 has no
/// type for it either, and a query that compares the column would no longer use an index.
const COMPUTED: &[(&str, Type, &[&str])] = &[
    ("ftrace_event", Type::Int64, &["timestamp", "common_flags", "ucpu"]),
    ("ftrace_event", Type::String, &["unresolved"]),
    ("raw", Type::Int64, &["common_flags", "ucpu"]),
    ("ftrace_event_partial", Type::Int64, &["timestamp", "common_flags"]),
    ("ftrace_event_partial", Type::String, &["unresolved"]),
    ("logs", Type::Int64, &["arg_set_id"]),
    ("logs", Type::String, &["log_source"]),
    ("_trace_import_logs", Type::Int64, &["byte_offset"]),
    ("process", Type::Int64, &["android_appid", "android_user_id"]),
    ("sched", Type::Int64, &["ts_end"]),
    ("sched", Type::String, &["doubt"]),
    ("sched_with_thread_process", Type::String, &["doubt"]),
    ("thread_state", Type::Int64, &["id", "io_wait", "waker_utid", "waker_id", "irq_context"]),
    ("thread_state", Type::String, &["state", "blocked_function", "doubt"]),
    (
        "thread_state_with_thread_process",
        Type::Int64,
        &["id", "io_wait", "waker_utid", "waker_id", "irq_context"],
    ),
    ("thread_state_with_thread_process", Type::String, &["state", "blocked_function", "doubt"]),
    (
        "cpu_time_by_thread",
        Type::Int64,
        &["cpu_time", "slices", "doubtful_time", "doubtful_slices"],
    ),
    (
        "cpu_time_by_process",
        Type::Int64,
        &["cpu_time", "threads", "slices", "doubtful_time", "doubtful_slices"],
    ),
    ("counter", Type::String, &["doubt"]),
    ("slice", Type::String, &["doubt"]),
    ("slices", Type::String, &["doubt"]),
    ("thread_slice", Type::String, &["doubt"]),
    ("process_slice", Type::String, &["doubt"]),
    ("thread_or_process_slice", Type::String, &["doubt"]),
    ("cpu_track", Type::Int64, &["cpu"]),
    ("gpu_track", Type::Int64, &["context_id"]),
    ("gpu_track", Type::String, &["description"]),
    ("cpu_counter_track", Type::Int64, &["cpu"]),
    ("slice_self_dur", Type::Int64, &["self_dur"]),
    ("flow_with_slices", Type::Int64, &["delay", "upid_out", "upid_in"]),
    ("expected_frame_timeline_slice", Type::Int64, &["display_frame_token", "surface_frame_token"]),
    ("expected_frame_timeline_slice", Type::String, &["layer_name"]),
    (
        "actual_frame_timeline_slice",
        Type::Int64,
        &[
            "display_frame_token",
            "surface_frame_token",
            "on_time_finish",
            "gpu_composition",
            "latched_unsignaled_count",
            "addressable_unsignaled_latch_count",
        ],
    ),
    ("actual_frame_timeline_slice", Type::Double, &["jank_score"]),
    (
        "actual_frame_timeline_slice",
        Type::String,
        &[
            "layer_name",
            "present_type",
            "jank_type",
            "jank_severity_type",
            "prediction_type",
            "jank_tag",
            "jank_tag_experimental",
            "latched_fence_state",
        ],
    ),
    ("gpu_slice", Type::Int64, &["frame_id"]),
    (
        "pytorch_kernel",
        Type::Int64,
        &["gpu", "stream", "correlation", "launch_id", "launch_delay", "operator_id"],
    ),
    ("pytorch_kernel", Type::String, &["kind"]),
    (
        "pytorch_gpu_idle",
        Type::Int64,
        &["ts", "dur", "gpu", "cpu_wait", "launch_id", "operator_id"],
    ),
    (
        "pytorch_gpu",
        Type::Int64,
        &[
            "gpu",
            "start_ts",
            "end_ts",
            "activities",
            "busy",
            "idle",
            "compute",
            "collective",
            "overlap",
            "copy",
        ],
    ),
    (
        "pytorch_collective",
        Type::Int64,
        &[
            "gpu",
            "stream",
            "overlap",
            "seq",
            "group_size",
            "in_elements",
            "out_elements",
            "launch_id",
            "launch_delay",
            "operator_id",
        ],
    ),
    ("pytorch_collective", Type::String, &["collective", "process_group", "dtype"]),
    (
        "pytorch_memory",
        Type::Int64,
        &["device_type", "device_id", "bytes", "address", "allocated", "reserved", "operator_id"],
    ),
    ("stack_sample_session", Type::String, &["cmdline"]),
    ("stack_sample_counter_track", Type::Int64, &["session_id", "cpu", "is_timebase"]),
    ("perf_sample", Type::Int64, &["cpu"]),
    ("perf_sample", Type::String, &["cpu_mode"]),
    ("perf_sample_with_stack", Type::Int64, &["cpu"]),
    ("perf_sample_with_stack", Type::String, &["cpu_mode", "stack"]),
    (
        "callsite_total",
        Type::Int64,
        &["callsite_id", "self_count", "total_count", "self_size", "total_size"],
    ),
    ("callsite_total", Type::String, &["source"]),
    ("unsymbolized_mapping", Type::Int64, &["frames"]),
    ("perf_session", Type::String, &["cmdline"]),
    ("perf_counter_track", Type::Int64, &["perf_session_id", "cpu", "is_timebase"]),
    ("cpu_profile_stack_sample", Type::Int64, &["process_priority"]),
    ("profiler_smaps", Type::String, &["path"]),
    ("heap_graph_object", Type::Int64, &["reachable"]),
    ("heap_graph_object", Type::String, &["heap_type", "root_type"]),
    ("heap_graph_object_data", Type::String, &["value_string", "array_element_type"]),
    (
        "heap_graph_object_data",
        Type::Int64,
        &["array_element_count", "array_data_id", "array_data_hash"],
    ),
    (
        "heap_graph_primitive",
        Type::Int64,
        &["bool_value", "byte_value", "char_value", "short_value", "int_value", "long_value"],
    ),
    ("heap_graph_primitive", Type::Double, &["float_value", "double_value"]),
    ("args", Type::Int64, &["id", "int_value"]),
    ("args", Type::Double, &["real_value"]),
    ("args", Type::String, &["flat_key", "key", "string_value", "value_type", "display_value"]),
    ("clock", Type::Int64, &["trace_file_id"]),
    ("placement", Type::Int64, &["isolated"]),
    ("packet", Type::Int64, &["timestamp", "clock_ts", "number", "size"]),
    ("packet_clock", Type::Int64, &["seq_id", "trace_file_id"]),
    ("clock_mapping", Type::Int64, &["trace_file_id", "start_value"]),
    ("clock_mapping_linear", Type::Int64, &["trace_file_id", "start_value"]),
    ("packet_interval", Type::Int64, &["earliest", "ts", "latest"]),
    ("packet_resync", Type::Int64, &["timestamp", "clock_ts", "resync_ts", "difference"]),
    ("metadata", Type::Int64, &["id", "int_value", "machine_id", "trace_file_id"]),
    ("metadata", Type::String, &["key_type", "str_value", "value"]),
    ("fact", Type::String, &["value"]),
    (
        "winscope_record",
        Type::String,
        &[
            "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13",
            "c14", "c15", "c16",
        ],
    ),
    ("trace_bounds", Type::Int64, &["start_ts", "end_ts", "typical_start_ts", "typical_end_ts"]),
    (
        "time_outlier",
        Type::Int64,
        &[
            "machine_id",
            "start_ts",
            "end_ts",
            "times",
            "home_start_ts",
            "home_end_ts",
            "home_times",
            "is_before",
        ],
    ),
    (
        "finding",
        Type::Int64,
        &[
            "machine_id",
            "trace_file_id",
            "clock_id",
            "seq_id",
            "packet_id",
            "offset",
            "events",
            "worst_ns",
        ],
    ),
    ("finding", Type::String, &["check_name", "severity", "subject", "message", "advice"]),
];

/// Columns with values of several types. They are written as text, in SQLite's form.
const ANY: [(&str, &str); 18] = [
    ("fact", "value"),
    ("metadata", "value"),
    ("winscope_record", "c1"),
    ("winscope_record", "c2"),
    ("winscope_record", "c3"),
    ("winscope_record", "c4"),
    ("winscope_record", "c5"),
    ("winscope_record", "c6"),
    ("winscope_record", "c7"),
    ("winscope_record", "c8"),
    ("winscope_record", "c9"),
    ("winscope_record", "c10"),
    ("winscope_record", "c11"),
    ("winscope_record", "c12"),
    ("winscope_record", "c13"),
    ("winscope_record", "c14"),
    ("winscope_record", "c15"),
    ("winscope_record", "c16"),
];

/// Columns with another name in Parquet: `trace_id` is also the partition of a trace, and fleets
/// use `device` as a label of their traces.
const RENAMED: [(&str, &str); 2] = [("trace_id", "flow_trace_id"), ("device", "vulkan_device")];

/// Columns that Parquet does not have: their name is the name of the partition, and `trace_file_id`
/// in the same table has the same values.
const LEFT_OUT: [(&str, &str); 2] = [("metadata", "trace_id"), ("stats", "trace_id")];

/// A column, as readers of Parquet see it.
///
/// ```
/// let schema = timebase_export::Schema::new()?;
/// let ts = schema.table("sched").and_then(|table| table.column("ts")).expect("is there");
/// assert_eq!(ts.kind, timebase_export::Type::Int64);
/// # Ok::<(), timebase_export::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// Whether a value may be NULL.
    pub is_nullable: bool,
}

/// A table or view.
///
/// ```
/// let schema = timebase_export::Schema::new()?;
/// let packet = schema.table("packet").expect("is there");
/// assert!(schema.reads(packet)?.data());
/// assert!(packet.columns.iter().any(|column| column.name == "data" && column.is_nullable));
/// # Ok::<(), timebase_export::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, in their order.
    pub columns: Vec<Column>,
    /// The SQL that reads its rows.
    pub(crate) sql: String,
}

impl Table {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// The columns of tables that SQLite reads for a table or view; it looks through views.
#[derive(Clone, Debug)]
pub struct Reads(BTreeSet<(String, String)>);

impl Reads {
    /// Whether it reads the bytes of packets.
    pub fn data(&self) -> bool {
        let data = ("packet_record".to_owned(), "data".to_owned());
        self.0.contains(&data)
    }

    /// The tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(table, _)| table.as_str())
    }
}

/// Tables and views of a database. They do not depend on the trace.
#[derive(Debug)]
pub struct Schema {
    tables: Vec<Table>,
    /// The names of all, in the order of `tables`.
    names: Vec<String>,
    /// A database without rows.
    empty: Mutex<Connection>,
}

impl Schema {
    /// All tables and views of this version.
    ///
    /// # Errors
    ///
    /// [`Error::Untyped`] if a column has no type. A test prevents this.
    ///
    /// ```
    /// let schema = timebase_export::Schema::new()?;
    /// assert!(schema.tables().count() > 70);
    /// assert!(schema.table("slices").is_some() && schema.table("scheds").is_none());
    /// # Ok::<(), timebase_export::Error>(())
    /// ```
    pub fn new() -> Result<Schema, Error> {
        Schema::made(|_| true)
    }

    /// The tables and views with these names, in upper or lower case; unknown names are ignored. To
    /// make all of them takes as long as the import of a small trace.
    ///
    /// # Errors
    ///
    /// As [`Schema::new`].
    ///
    /// ```
    /// let schema = timebase_export::Schema::of(&["Slices", "scheds"])?;
    /// let names: Vec<&str> = schema.tables().map(|table| table.name.as_str()).collect();
    /// assert_eq!(names, ["slices"]);
    /// # Ok::<(), timebase_export::Error>(())
    /// ```
    pub fn of<S: AsRef<str>>(names: &[S]) -> Result<Schema, Error> {
        let is_asked = |name: &str| {
            let mut names = names.iter();
            names.any(|asked| asked.as_ref().eq_ignore_ascii_case(name))
        };
        Schema::made(is_asked)
    }

    fn made(is_asked: impl Fn(&str) -> bool) -> Result<Schema, Error> {
        let finish = timebase_schema::finish();
        let mut objects = Statement::all(timebase_schema::TABLES);
        objects.extend(Statement::all(&finish));
        objects.retain(|object| object.kind != StatementKind::Other);
        // Only one thread at a time uses it.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let empty = Connection::open_in_memory_with_flags(flags).map_err(unreadable)?;
        let needed = Statement::needed(&objects, &is_asked);
        let sql: String = needed.iter().map(|object| object.sql).collect();
        empty.execute_batch(&sql).map_err(unreadable)?;
        let asked = objects.iter().filter(|object| is_asked(object.name));
        let tables = asked.map(|object| table(&empty, object));
        Ok(Schema {
            tables: tables.collect::<Result<_, _>>()?,
            names: objects.iter().map(|object| object.name.to_owned()).collect(),
            empty: Mutex::new(empty),
        })
    }

    /// The names of all tables and views of a database, including those that were not requested.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The columns that SQLite reads for the table. SQLite reports them while it prepares the
    /// statement.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] if memory is exhausted.
    pub fn reads(&self, table: &Table) -> Result<Reads, Error> {
        let mut empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner);
        reads(&mut empty, &table.sql).map_err(unreadable)
    }

    /// The requested tables and views.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter()
    }

    /// The table or view with this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

/// The columns of the tables, as JSON. Readers need them before there is a table.
///
/// ```
/// use timebase_export::{Schema, described};
/// let schema = Schema::new()?;
/// let json = described(schema.table("trace_bounds"));
/// let column = &json["tables"][0]["columns"][0];
/// assert_eq!(column.to_string(), r#"{"name":"start_ts","nullable":true,"type":"int64"}"#);
/// # Ok::<(), timebase_export::Error>(())
/// ```
pub fn described<'a>(tables: impl IntoIterator<Item = &'a Table>) -> Value {
    let column = |column: &Column| {
        json!({
            "name": column.name,
            "type": column.kind.name(),
            "nullable": column.is_nullable,
        })
    };
    let table = |table: &Table| {
        let columns: Vec<Value> = table.columns.iter().map(column).collect();
        json!({ "name": table.name, "columns": columns })
    };
    let tables: Vec<Value> = tables.into_iter().map(table).collect();
    json!({ "tables": tables })
}

pub(crate) fn unreadable(error: rusqlite::Error) -> Error {
    Error::Unreadable { table: "sqlite_schema".to_owned(), error }
}

/// The type of a column of window tracing, whose values have numbers in their table.
fn of_winscope(table: &str, column: &str) -> Option<Type> {
    let table = WINSCOPE.get(WinscopeTable::named(table)?)?;
    let column = table.columns.iter().find(|known| known.name == column)?;
    Some(match column.kind {
        ColumnType::Int => Type::Int64,
        ColumnType::Real => Type::Double,
        ColumnType::Text => Type::String,
    })
}

/// A table or view of an empty database.
fn table(empty: &Connection, object: &Statement<'_>) -> Result<Table, Error> {
    let name = object.name;
    let sql = "SELECT name, type, \"notnull\" OR pk FROM pragma_table_info(?1) ORDER BY cid";
    let mut statement = empty.prepare(sql).map_err(unreadable)?;
    let rows = statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let (mut columns, mut terms) = (Vec::new(), Vec::new());
    for row in rows.map_err(unreadable)? {
        let (column, declared, is_set): (String, String, bool) = row.map_err(unreadable)?;
        if LEFT_OUT.contains(&(name, column.as_str())) {
            continue;
        }
        let computed = COMPUTED
            .iter()
            .find(|(view, _, columns)| *view == name && columns.contains(&column.as_str()));
        let kind = match computed.map(|(_, kind, _)| *kind).or_else(|| of_winscope(name, &column)) {
            Some(kind) => kind,
            None => Type::declared(&declared)
                .ok_or_else(|| Error::Untyped { table: name.to_owned(), column: column.clone() })?,
        };
        terms.push(match ANY.contains(&(name, column.as_str())) {
            true => format!("CAST(\"{column}\" AS TEXT)"),
            false => format!("\"{column}\""),
        });
        let renamed = RENAMED.iter().find(|(from, _)| *from == column);
        columns.push(Column {
            name: renamed.map_or(column, |(_, to)| (*to).to_owned()),
            kind,
            // Only tables say that a column is never NULL.
            is_nullable: object.kind == StatementKind::View || !is_set,
        });
    }
    Ok(Table {
        name: name.to_owned(),
        columns,
        sql: format!("SELECT {} FROM \"{name}\"", terms.join(", ")),
    })
}

/// The columns of tables that a statement reads.
fn reads(empty: &mut Connection, sql: &str) -> rusqlite::Result<Reads> {
    let seen: Arc<Mutex<BTreeSet<(String, String)>>> = Arc::default();
    let note = Arc::clone(&seen);
    empty.authorizer(Some(move |context: AuthContext<'_>| {
        if let AuthAction::Read { table_name, column_name } = context.action {
            let mut seen = note.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert((table_name.to_owned(), column_name.to_owned()));
        }
        Authorization::Allow
    }))?;
    let prepared = empty.prepare(sql).map(drop);
    empty.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    prepared?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Reads(seen.clone()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_type_and_every_type_that_is_said_here_a_column() {
        let schema = Schema::new().unwrap();
        for (table, _, columns) in COMPUTED {
            let table = schema.table(table).unwrap();
            for column in *columns {
                assert!(table.column(column).is_some(), "{}.{column}", table.name);
            }
        }
        for (table, column) in ANY {
            let column = schema.table(table).unwrap().column(column).unwrap();
            assert_eq!(column.kind, Type::String);
        }
    }

    #[test]
    fn a_new_column_without_a_type_is_told() {
        let empty = Connection::open_in_memory().unwrap();
        let fresh = Statement::all("\nCREATE VIEW fresh AS SELECT 1 + 1 AS two;\n")[0];
        empty.execute_batch(fresh.sql).unwrap();
        let error = table(&empty, &fresh).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the column two of fresh has no type: add computed columns to crates/export/src/columns.rs"
        );
    }

    #[test]
    fn all_tables_and_views_of_a_database_are_there() {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(timebase_schema::TABLES).unwrap();
        database.execute_batch(&timebase_schema::finish()).unwrap();
        let sql = "SELECT name FROM sqlite_schema
                   WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY rowid";
        let mut statement = database.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        let names: Vec<String> = names.map(Result::unwrap).collect();
        let schema = Schema::new().unwrap();
        assert_eq!(schema.names().collect::<Vec<_>>(), names);
        let tables = schema.tables().map(|table| table.name.as_str());
        assert_eq!(tables.collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_table_is_the_same_alone_as_among_all() {
        let all = Schema::new().unwrap();
        for table in all.tables() {
            let alone = Schema::of(&[&table.name]).unwrap();
            assert_eq!(alone.tables.len(), 1, "{}", table.name);
            let found = &alone.tables[0];
            assert_eq!((&found.columns, &found.sql), (&table.columns, &table.sql));
            let (reads, expected) = (alone.reads(found).unwrap(), all.reads(table).unwrap());
            assert_eq!(reads.0, expected.0, "{}", table.name);
        }
    }

    #[test]
    fn no_column_is_called_as_the_partition() {
        let schema = Schema::new().unwrap();
        for table in schema.tables() {
            assert!(table.column("trace_id").is_none(), "{}", table.name);
            let names: BTreeSet<String> =
                table.columns.iter().map(|column| column.name.to_ascii_lowercase()).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
        }
        let flow = schema.table("flow").unwrap();
        assert!(flow.column("flow_trace_id").is_some());
    }

    #[test]
    fn what_is_not_null_in_a_table_is_not_null_in_parquet() {
        let schema = Schema::new().unwrap();
        let is_nullable = |table: &str, column: &str| {
            let table = schema.table(table).unwrap();
            table.column(column).unwrap().is_nullable
        };
        assert!(!is_nullable("clock_snapshot", "id") && !is_nullable("clock_snapshot", "seq_id"));
        assert!(is_nullable("clock_snapshot", "ts"));
        assert!(!is_nullable("clock_route", "clock_id"));
        assert!(is_nullable("slice", "id"));
    }

    #[test]
    fn a_view_reads_the_tables_behind_it() {
        let schema = Schema::new().unwrap();
        let reads = schema.reads(schema.table("sched").unwrap()).unwrap();
        let tables: BTreeSet<&str> = reads.tables().collect();
        assert!(tables.contains("sched_record") && tables.contains("string"));
        assert!(!reads.data());
    }
}
