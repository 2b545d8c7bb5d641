//! The product: a trace imported to a database, and queries of it.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params};
use tempfile::TempDir;
use timebase_import::{Conversion, Monitor, Options, Source};
use timebase_lab::encode::{self, Packet};
use timebase_lab::naive::{Clock, EventRow, LogRow, PacketRow, SnapshotRow};

pub struct Database {
    connection: Connection,
    _directory: TempDir,
}

/// A row of `clock_mapping`.
#[derive(Debug)]
pub struct MappingRow {
    pub from: Clock,
    pub to: Clock,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub offset: i64,
}

/// A packet's time by the import, the function and the JOIN.
#[derive(Debug)]
pub struct PacketTimes {
    pub id: i64,
    pub machine_id: i64,
    pub kind: Option<String>,
    pub ts: Option<i64>,
    pub to_boottime: Option<i64>,
    pub joined: Option<i64>,
}

impl Database {
    pub fn import(packets: &[Packet]) -> Database {
        Database::import_by(packets, Conversion::Nearest)
    }

    pub fn import_by(packets: &[Packet], conversion: Conversion) -> Database {
        let mut options = Options::default();
        options.conversion = conversion;
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("trace");
        let database = directory.path().join("database");
        std::fs::write(&trace, encode::trace(packets)).unwrap();
        let monitor = Monitor::default();
        timebase_import::import(&[Source::File(trace)], &database, &options, &monitor).unwrap();
        let connection = Connection::open(database).unwrap();
        // Tables and indexes are built without SQLite.
        let check = |sql: &str| -> String {
            let first = connection.query_row(sql, [], |row| row.get(0));
            first.unwrap()
        };
        assert_eq!(check("PRAGMA integrity_check"), "ok");
        let indexes = "SELECT group_concat(name, ' ') FROM \
             (SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name)";
        assert_eq!(
            check(indexes),
            "android_log_record_ts counter_record_track fact_name flow_in flow_out ftrace_record_name \
             ftrace_record_ts heap_profile_allocation_record_ts packet_ts packet_unresolved \
             sched_record_utid slice_record_track slice_record_ts stack_profile_callsite_parent \
             stack_profile_symbol_set stack_sample_record_ts state_record_track thread_record_name \
             thread_record_upid thread_state_record_utid track_event_callstack_slice \
             winscope_proto_kind winscope_record_kind_number"
        );
        timebase_resolver::sql::register(&connection).unwrap();
        Database { connection, _directory: directory }
    }

    fn rows<T>(&self, sql: &str, read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let mut statement = self.connection.prepare(sql).unwrap();
        let rows = statement.query_map([], read).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    fn value<T: rusqlite::types::FromSql>(&self, sql: &str, params: impl rusqlite::Params) -> T {
        self.connection.query_row(sql, params, |row| row.get(0)).unwrap()
    }

    pub fn packets(&self) -> Vec<PacketRow> {
        let sql =
            "SELECT id, ts, timestamp, clock_id, clock_ts, seq_id, machine_id, type, uid, pid,
                     unresolved
                   FROM packet ORDER BY id";
        self.rows(sql, |row| {
            Ok(PacketRow {
                id: row.get(0)?,
                ts: row.get(1)?,
                timestamp: row.get(2)?,
                clock_id: row.get(3)?,
                clock_ts: row.get(4)?,
                seq_id: row.get(5)?,
                machine_id: row.get(6)?,
                kind: row.get(7)?,
                uid: row.get(8)?,
                pid: row.get(9)?,
                unresolved: row.get(10)?,
            })
        })
    }

    /// The one integer of a query.
    pub fn count(&self, sql: &str) -> i64 {
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// The time of a reading by lines.
    pub fn to_boottime_linear(&self, clock: Clock, ticks: i64) -> Option<i64> {
        self.value(
            "SELECT to_boottime_linear(?1, ?2, ?3, ?4)",
            params![clock.id, clock.seq, ticks, clock.machine],
        )
    }

    pub fn readings(&self) -> Vec<SnapshotRow> {
        let sql =
            "SELECT ts, clock_id, clock_name, clock_value, snapshot_id, machine_id, packet_id,
                     seq_id, timestamp, unit_multiplier_ns, is_incremental, source
                   FROM clock_snapshot ORDER BY id";
        self.rows(sql, |row| {
            Ok(SnapshotRow {
                ts: row.get(0)?,
                clock_id: row.get(1)?,
                clock_name: row.get(2)?,
                clock_value: row.get(3)?,
                snapshot_id: row.get(4)?,
                machine_id: row.get(5)?,
                packet_id: row.get(6)?,
                seq_id: row.get(7)?,
                timestamp: row.get(8)?,
                unit: row.get(9)?,
                incremental: row.get(10)?,
                source: match row.get_ref(11)?.as_str()? {
                    "service" => 0,
                    "writer" => 1,
                    "ftrace" => 2,
                    other => panic!("{other}"),
                },
            })
        })
    }

    /// `ftrace_event` and `ftrace_event_partial`, which share their numbering.
    pub fn events(&self) -> Vec<EventRow> {
        let columns = "id, ts, packet_id, cpu, tid, name, args, unresolved, timestamp";
        let sql = format!(
            "SELECT {columns}, false FROM ftrace_event
             UNION ALL SELECT {columns}, true FROM ftrace_event_partial
             ORDER BY id"
        );
        self.rows(&sql, |row| {
            let args: Option<String> = row.get(6)?;
            Ok(EventRow {
                id: row.get(0)?,
                ts: row.get(1)?,
                packet_id: row.get(2)?,
                cpu: row.get(3)?,
                tid: row.get(4)?,
                name: row.get(5)?,
                args: args.map(|args| serde_json::from_str(&args).unwrap()),
                unresolved: row.get(7)?,
                timestamp: row.get(8)?,
                partial: row.get(9)?,
            })
        })
    }

    pub fn logs(&self) -> Vec<LogRow> {
        let sql = "SELECT id, ts, packet_id, timestamp, unresolved FROM android_logs ORDER BY id";
        self.rows(sql, |row| {
            Ok(LogRow {
                id: row.get(0)?,
                ts: row.get(1)?,
                packet_id: row.get(2)?,
                timestamp: row.get(3)?,
                unresolved: row.get(4)?,
            })
        })
    }

    pub fn mapping(&self) -> Vec<MappingRow> {
        let sql = "SELECT clock_id, seq_id, machine_id, to_clock_id, start_value, end_value, offset
                   FROM clock_mapping
                   ORDER BY machine_id, clock_id, seq_id, to_clock_id, start_value";
        self.rows(sql, |row| {
            Ok(MappingRow {
                from: Clock::new(row.get(0)?, row.get(1)?, row.get(2)?),
                to: Clock::new(row.get(3)?, 0, 0),
                start: row.get(4)?,
                end: row.get(5)?,
                offset: row.get(6)?,
            })
        })
    }

    pub fn to_boottime(&self, clock: Clock, ticks: i64) -> Option<i64> {
        let sql = "SELECT to_boottime(?1, ?2, ?3, ?4)";
        self.value(sql, params![clock.id, clock.seq, ticks, clock.machine])
    }

    pub fn why_unresolved(&self, clock: Clock, ticks: i64) -> Option<String> {
        let sql = "SELECT why_unresolved(?1, ?2, ?3, ?4)";
        self.value(sql, params![clock.id, clock.seq, ticks, clock.machine])
    }

    /// Clocks of the host.
    pub fn convert_clock(&self, from: Clock, ticks: i64, to: Clock) -> Option<i64> {
        let sql = "SELECT convert_clock(?1, ?2, ?3, ?4, ?5)";
        self.value(sql, params![from.id, from.seq, ticks, to.id, to.seq])
    }

    /// `to_boottime` by a JOIN. SQLite uses floating-point numbers for values that do not fit 64
    /// bits: such a result counts as none.
    pub fn join(&self, clock: Clock, ticks: i64, unit: i128) -> Option<i64> {
        let sql = "
            WITH reading(v) AS (SELECT ?1 * ?2)
            SELECT (
              SELECT v + offset FROM clock_mapping
              WHERE clock_id = ?3 AND seq_id = ?4 AND machine_id = ?5 AND to_clock_id = 6
                AND (start_value IS NULL OR start_value <= v)
                AND (end_value IS NULL OR v < end_value))
            FROM reading WHERE typeof(v) = 'integer'
            UNION ALL SELECT NULL";
        let unit = i64::try_from(unit).unwrap();
        integer(self.value(sql, params![ticks, unit, clock.id, clock.seq, clock.machine]))
    }

    /// Packets with a time, each as often as in the JOIN.
    pub fn packets_by_all_ways(&self) -> Vec<PacketTimes> {
        let sql = "
            SELECT p.id, p.machine_id, p.type, p.ts,
              to_boottime(p.clock_id, p.seq_id, p.clock_ts, p.machine_id),
              p.clock_ts * coalesce(c.unit_multiplier_ns, 1) + m.offset
            FROM packet AS p
            LEFT JOIN clock AS c
              ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
              AND c.seq_id = iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0)
            LEFT JOIN clock_mapping AS m
              ON m.machine_id = p.machine_id AND m.clock_id = p.clock_id
              AND m.seq_id = iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0)
              AND m.to_clock_id = 6
              AND (m.start_value IS NULL
                OR m.start_value <= p.clock_ts * coalesce(c.unit_multiplier_ns, 1))
              AND (m.end_value IS NULL
                OR p.clock_ts * coalesce(c.unit_multiplier_ns, 1) < m.end_value)
            WHERE p.ts IS NOT NULL
            ORDER BY p.id";
        self.rows(sql, |row| {
            Ok(PacketTimes {
                id: row.get(0)?,
                machine_id: row.get(1)?,
                kind: row.get(2)?,
                ts: row.get(3)?,
                to_boottime: row.get(4)?,
                joined: integer(row.get(5)?),
            })
        })
    }
}

fn integer(value: Value) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}
