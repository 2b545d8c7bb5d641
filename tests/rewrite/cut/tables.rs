//! Compares the rows of a window in two databases (rules CT1, CT1a).

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::Value;
use timebase_import::Window;

/// Names of threads, processes and tracks that do not depend on ids, and the tracks of what has ended before a time.
const NAMES: &str = "
    CREATE TEMP TABLE machine_name AS SELECT id, coalesce(raw_id, id) AS name FROM machine;
    CREATE TEMP TABLE process_name AS
    SELECT p.id, 'process ' || coalesce(pid, '') || ' ' || coalesce(p.name, '-') || ' of ' || m.name AS name
    FROM process_record AS p JOIN machine_name AS m ON m.id = p.machine_id;
    CREATE TEMP TABLE thread_name AS
    SELECT t.id, 'thread ' || coalesce(tid, '') || ' ' || coalesce(t.name, '-') || ' of ' || m.name
      || coalesce((SELECT ', ' || p.name FROM process_name AS p WHERE p.id = t.upid), '') AS name
    FROM thread_record AS t JOIN machine_name AS m ON m.id = t.machine_id;
    CREATE UNIQUE INDEX temp.thread_name_id ON thread_name (id);
    CREATE TEMP TABLE track_name AS
    WITH RECURSIVE own (id, parent_id, name) AS (
      SELECT k.id, k.parent_id, k.type || ' ' || coalesce(k.name, '-')
        || coalesce((SELECT ' of ' || t.name FROM thread_name AS t WHERE t.id = k.utid), '')
        || coalesce((SELECT ' of ' || p.name FROM process_name AS p WHERE p.id = k.upid), '')
        || coalesce(' of cpu ' || (k.ucpu & 4095), '')
      FROM track_record AS k
    ),
    whole (id, name) AS (
      SELECT id, name FROM own WHERE parent_id IS NULL
      UNION ALL
      SELECT own.id, whole.name || ' > ' || own.name FROM own JOIN whole ON whole.id = own.parent_id
    )
    SELECT id, name FROM whole;
    CREATE UNIQUE INDEX temp.track_name_id ON track_name (id);";

/// The tracks of threads and processes that have ended, or whose numbers others have.
const ENDED: &str = "
    WITH process_over (id) AS (
      SELECT p.id FROM process_record AS p
      WHERE p.end_ts < :from
         OR EXISTS (SELECT 1 FROM process_record AS n
                    WHERE n.pid = p.pid AND n.machine_id = p.machine_id AND n.id > p.id AND n.start_ts < :from)
    ),
    thread_over (id) AS (
      SELECT t.id FROM thread_record AS t
      WHERE t.end_ts < :from OR t.upid IN (SELECT id FROM process_over)
         OR EXISTS (SELECT 1 FROM thread_record AS n
                    WHERE n.tid = t.tid AND n.machine_id = t.machine_id AND n.id > t.id AND n.start_ts < :from)
    )
    SELECT k.id FROM track_record AS k
    WHERE k.utid IN (SELECT id FROM thread_over) OR k.upid IN (SELECT id FROM process_over)";

/// The rows of each table that lie in the window or reach into it. What ends behind it has no end and no arguments of
/// its end. ENDED stands for the tracks above, and TEXT(x) for the text of a number.
const TABLES: [(&str, &str); 12] = [
    ("slice", "
        SELECT s.ts, iif(s.dur < 0 OR s.dur > 0 AND s.ts + s.dur >= :to, NULL, s.dur),
               (SELECT name FROM track_name AS k WHERE k.id = s.track_id), TEXT(s.category), TEXT(s.name), s.depth,
               iif(s.dur < 0 OR s.ts + s.dur >= :to, NULL,
                   (SELECT json_remove(a.args, '$.legacy_unnestable_begin_count') FROM arg_set AS a WHERE a.id = s.arg_set_id))
        FROM slice_record AS s
        WHERE s.ts >= :from AND s.ts < :to
           OR s.ts < :from AND (s.dur > 0 AND s.ts + s.dur >= :from OR s.dur < 0 AND s.track_id NOT IN (ENDED))"),
    ("counter", "
        SELECT ts, (SELECT name FROM track_name AS k WHERE k.id = c.track_id), value,
               (SELECT args FROM arg_set AS a WHERE a.id = c.arg_set_id)
        FROM counter_record AS c WHERE ts >= :from AND ts < :to"),
    ("last value", "
        SELECT (SELECT name FROM track_name AS n WHERE n.id = k.id),
               (SELECT max(l.ts) FROM counter_record AS l WHERE l.track_id = k.id AND l.ts < :from),
               (SELECT l.value FROM counter_record AS l WHERE l.track_id = k.id AND l.ts < :from ORDER BY l.ts DESC, l.id DESC LIMIT 1)
        FROM track_record AS k
        WHERE k.is_counter AND k.type NOT IN ('perf_cpu_counter', 'stack_sample_cpu_counter', 'stack_sample_session_counter', 'thread_time', 'thread_instructions')
          AND EXISTS (SELECT 1 FROM counter_record AS l WHERE l.track_id = k.id AND l.ts < :from) AND k.id NOT IN (ENDED)"),
    ("sched", "
        SELECT ts, iif(dur < 0 OR ts + dur >= :to, NULL, dur), ucpu & 4095,
               (SELECT name FROM thread_name AS t WHERE t.id = s.utid), iif(dur < 0 OR ts + dur >= :to, NULL, TEXT(s.end_state)),
               priority
        FROM sched_record AS s
        WHERE ts >= :from AND ts < :to
           OR ts < :from AND (dur >= 0 AND ts + dur >= :from
              OR dur < 0 AND ts = (SELECT max(ts) FROM sched_record AS l WHERE l.ucpu = s.ucpu))"),
    ("thread_state", "
        SELECT ts, iif(dur < 0 OR ts + dur >= :to, NULL, dur), (SELECT name FROM thread_name AS t WHERE t.id = s.utid),
               state, (SELECT name FROM thread_name AS t WHERE t.id = s.waker_utid)
        FROM thread_state AS s WHERE ts >= :from AND ts < :to"),
    ("state", "
        SELECT ts, iif(dur < 0 OR ts + dur >= :to, NULL, dur), (SELECT name FROM track_name AS k WHERE k.id = s.track_id),
               TEXT(s.value)
        FROM state_record AS s
        WHERE ts >= :from AND ts < :to OR ts < :from AND (dur < 0 OR ts + dur >= :from)"),
    ("ftrace_event", "
        SELECT ts, cpu, tid, name, args FROM ftrace_event WHERE ts >= :from AND ts < :to"),
    ("android_logs", "
        SELECT ts, pid, tid, prio, tag, msg FROM android_log_record WHERE ts >= :from AND ts < :to"),
    ("flow", "
        SELECT a.ts, TEXT(a.name), b.ts, TEXT(b.name)
        FROM flow AS f JOIN slice_record AS a ON a.id = f.slice_out JOIN slice_record AS b ON b.id = f.slice_in
        WHERE a.ts >= :from AND a.ts < :to AND b.ts >= :from AND b.ts < :to"),
    ("stack_sample", "
        SELECT ts, source, unwind_error,
               (WITH RECURSIVE stack (id, depth, frames) AS (
                  SELECT s.callsite_id, 0, ''
                  UNION ALL
                  SELECT c.parent_id, stack.depth + 1, stack.frames || '/' || coalesce(f.name, f.rel_pc)
                  FROM stack JOIN stack_profile_callsite AS c ON c.id = stack.id JOIN stack_profile_frame AS f ON f.id = c.frame_id)
                SELECT frames FROM stack ORDER BY stack.depth DESC LIMIT 1)
        FROM stack_sample_record AS s WHERE ts >= :from AND ts < :to"),
    ("heap_profile_allocation", "
        SELECT ts, (SELECT name FROM process_name AS p WHERE p.id = upid), TEXT(h.heap_name), sum(count), sum(size)
        FROM heap_profile_allocation_record AS h WHERE ts >= :from AND ts < :to GROUP BY 1, 2, 3"),
    ("vulkan_memory_allocations", "
        SELECT ts, source, operation, memory_size FROM vulkan_memory_record WHERE ts >= :from AND ts < :to"),
];

/// Prepares a database for comparisons.
pub fn prepare(conn: &Connection) {
    conn.execute_batch(NAMES).unwrap();
}

/// The number of equal rows, by their text.
type Counted = BTreeMap<String, i64>;

fn counted(conn: &Connection, sql: &str, window: Window) -> Counted {
    let mut sql = sql.replace("ENDED", ENDED);
    while let Some(at) = sql.find("TEXT(") {
        let end = at + sql[at..].find(')').unwrap();
        let text = format!("(SELECT value FROM string WHERE string.id = {})", &sql[at + 5..end]);
        sql.replace_range(at..=end, &text);
    }
    let mut statement = conn.prepare(&sql).unwrap();
    let columns = statement.column_count();
    let times = [(":from", window.from), (":to", window.to)];
    for (name, value) in times {
        if let Some(index) = statement.parameter_index(name).unwrap() {
            statement.raw_bind_parameter(index, value).unwrap();
        }
    }
    let mut rows = statement.raw_query();
    let mut counted = Counted::new();
    while let Some(row) = rows.next().unwrap() {
        let values: Vec<Value> = (0..columns).map(|at| row.get(at).unwrap()).collect();
        let text = without_ids(conn, &format!("{values:?}"));
        *counted.entry(text).or_default() += 1;
    }
    counted
}

/// The text of a row, in which threads have their names instead of their ids.
fn without_ids(conn: &Connection, text: &str) -> String {
    const KEY: &str = "utid\\\":";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(KEY) {
        let (before, behind) = rest.split_at(at + KEY.len());
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let sql = "SELECT name FROM thread_name WHERE id = ?1";
        let name: Result<String, _> = conn.query_row(sql, [&behind[..digits]], |row| row.get(0));
        out += before;
        out += &name.unwrap_or_default();
        rest = &behind[digits..];
    }
    out + rest
}

/// The differences of two databases in a window.
pub fn differences(a: &Connection, b: &Connection, window: Window) -> Vec<String> {
    let mut found = Vec::new();
    for (table, sql) in TABLES {
        let (a_rows, b_rows) = (counted(a, sql, window), counted(b, sql, window));
        let more = |one: &Counted, other: &Counted| -> Vec<String> {
            let more = one.iter().filter(|(row, count)| other.get(*row).unwrap_or(&0) < *count);
            more.map(|(row, _)| row.clone()).collect()
        };
        let missing = more(&a_rows, &b_rows);
        let mut extra = more(&b_rows, &a_rows);
        match table {
            // Values from before the window may be more than the last ones.
            "last value" => extra.clear(),
            // A wakeup of a thread that was runnable is spurious in A (CT1a).
            "thread_state" => extra.retain(|row| !is_woken_again(a, row)),
            _ => {}
        }
        if !missing.is_empty() || !extra.is_empty() {
            found.push(format!(
                "{table}: {} rows; {} missing, {} more; {:?} {:?}",
                a_rows.len(),
                missing.len(),
                extra.len(),
                missing.first(),
                extra.first()
            ));
        }
    }
    found
}

/// Whether a row is of a thread that a wakeup of the same time did not wake in A.
fn is_woken_again(a: &Connection, row: &str) -> bool {
    let ts = row.split(['(', ')']).nth(1).unwrap_or_default();
    let sql = "SELECT EXISTS (SELECT 1 FROM spurious_sched_wakeup WHERE ts = ?1)";
    row.contains("Text(\"R\")") && a.query_row(sql, [ts], |row| row.get(0)).unwrap_or(false)
}
