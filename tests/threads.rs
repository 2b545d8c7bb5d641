//! Connections in several threads, each with the SQL functions: they convert the same readings to
//! the same results, and see the rows that a writer adds.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::support::Imported;

const THREADS: usize = 8;

fn connect(path: &str) -> Connection {
    // As in the program: a connection stays in its thread.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).unwrap();
    conn.busy_timeout(Duration::from_secs(60)).unwrap();
    timebase_resolver::sql::register(&conn).unwrap();
    timebase_sql::packets::register(&conn).unwrap();
    conn
}

/// All packets with a reading of a clock: the packet, and its time on BOOTTIME.
type Converted = Vec<(i64, Option<i64>)>;

fn converted(conn: &Connection, sql: &str) -> Converted {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

const BY_FUNCTION: &str = "SELECT id, to_boottime(clock_id, seq_id, clock_ts, machine_id) \
     FROM packet WHERE clock_ts IS NOT NULL ORDER BY id";

/// The same from the solved graph alone, in which no thread takes part.
const BY_JOIN: &str = "SELECT p.id, p.clock_ts * c.unit_multiplier_ns + m.offset \
     FROM packet AS p \
     LEFT JOIN clock AS c \
       ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id \
      AND c.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END \
     LEFT JOIN clock_mapping AS m \
       ON m.machine_id = c.machine_id AND m.clock_id = c.clock_id AND m.seq_id = c.seq_id \
      AND m.to_clock_id = 6 \
      AND (m.start_value IS NULL OR m.start_value <= p.clock_ts * c.unit_multiplier_ns) \
      AND (m.end_value IS NULL OR p.clock_ts * c.unit_multiplier_ns < m.end_value) \
     WHERE p.clock_ts IS NOT NULL ORDER BY p.id";

#[test]
fn eight_connections_convert_every_packet_alike() {
    for trace in ["sdk.pftrace", "system-compressed.pftrace"] {
        let db = Imported::new(trace, &[]);
        let path = db.path();
        let expected = converted(&connect(path), BY_JOIN);
        assert!(expected.iter().any(|(_, boottime)| boottime.is_some()));
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let conn = connect(path);
                    start.wait();
                    for _again in 0..3 {
                        assert_eq!(converted(&conn, BY_FUNCTION), expected);
                    }
                });
            }
        });
    }
}

/// A reading of MONOTONIC after all of the trace's readings, on BOOTTIME, by the function and by
/// the table-valued one.
const LATE: &str = "SELECT to_boottime('MONOTONIC', 0, 1 << 61), \
     (SELECT value_out FROM clock_path('MONOTONIC', 0, 1 << 61) ORDER BY step DESC LIMIT 1)";

fn late(conn: &Connection) -> (i64, i64) {
    let answer = conn.query_row(LATE, [], |row| Ok((row.get(0)?, row.get(1)?)));
    answer.unwrap()
}

/// The n-th snapshot of the writer: BOOTTIME is n ahead of MONOTONIC.
fn add(writer: &Connection, n: i64) {
    let sql = "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) \
               VALUES (?1, 3, ?2), (?1, 6, ?2 + ?3)";
    writer.execute(sql, (1_000_000 + n, (1_i64 << 60) + n, n)).unwrap();
}

#[test]
fn a_snapshot_that_is_added_is_seen_by_the_next_statement_of_each_connection() {
    let db = Imported::new("sdk.pftrace", &[]);
    let path = db.path();
    let writer = connect(path);
    let (before, after) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let conn = connect(path);
                for n in 1..=20 {
                    before.wait();
                    let expected = (1 << 61) + n;
                    assert_eq!(late(&conn), (expected, expected));
                    after.wait();
                }
            });
        }
        for n in 1..=20 {
            add(&writer, n);
            before.wait();
            after.wait();
        }
    });
}

/// The visible version only goes forward, and a whole statement sees one graph.
#[test]
fn readers_and_a_writer_do_not_wait_for_each_other() {
    let db = Imported::new("sdk.pftrace", &[]);
    let path = db.path();
    let writer = connect(path);
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    let expected = converted(&writer, BY_JOIN);
    let start = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let conn = connect(path);
                start.wait();
                let mut last = 0;
                while last < 50 {
                    // All packets are before the added snapshots.
                    assert_eq!(converted(&conn, BY_FUNCTION), expected);
                    let (boottime, by_path) = late(&conn);
                    assert_eq!(boottime, by_path);
                    let seen = boottime - (1 << 61);
                    // Before the first one is visible, the trace's own last snapshot counts.
                    if (1..=50).contains(&seen) {
                        assert!(seen >= last, "{seen} after {last}");
                        last = seen;
                    } else {
                        assert_eq!(last, 0, "a snapshot is not seen any more");
                    }
                }
            });
        }
        start.wait();
        for n in 1..=50 {
            add(&writer, n);
        }
    });
}
