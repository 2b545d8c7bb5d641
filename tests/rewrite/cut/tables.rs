//! Compares the rows of a window in two databases (rules CT1, CT1a).

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::Value;
use timebase_import::Window;
use timebase_lab::decode;
use timebase_lab::encode::Message;

/// Names of threads, processes and tracks that do not depend on ids. The numbers that several threads or processes of A
/// have stand for all of them, and threads without a process have no names (CT1a).
const NAMES: &str = "
    CREATE TEMP TABLE machine_name AS SELECT id, coalesce(raw_id, id) AS name FROM machine;
    CREATE TEMP TABLE process_name AS
    SELECT p.id, 'process ' || coalesce(pid, '') || ' of ' || m.name
      || iif((m.name, pid) IN (SELECT machine, pid FROM a_several_processes) OR EXISTS (SELECT 1 FROM a_renames), '', ' ' || coalesce(p.name, '-')) AS name
    FROM process_record AS p JOIN machine_name AS m ON m.id = p.machine_id;
    CREATE TEMP TABLE thread_name AS
    SELECT t.id, 'thread ' || coalesce(tid, '') || ' of ' || m.name
      || iif((m.name, tid) IN (SELECT machine, tid FROM a_several_threads), '',
             ' ' || coalesce(t.name, '-') || coalesce((SELECT ', ' || p.name FROM process_name AS p WHERE p.id = t.upid), '')) AS name
    FROM thread_record AS t JOIN machine_name AS m ON m.id = t.machine_id;
    CREATE UNIQUE INDEX temp.thread_name_id ON thread_name (id);
    CREATE TEMP TABLE track_name AS
    WITH RECURSIVE own (id, parent_id, name) AS (
      SELECT k.id, k.parent_id, k.type || ' '
        || iif(k.type IN ('drm_fence', 'perf_cpu_counter', 'stack_sample_cpu_counter', 'stack_sample_session_counter')
            OR k.type IN (SELECT type FROM a_nameless_lanes), '', coalesce(k.name, '-'))
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
        WHERE s.track_id NOT IN (SELECT id FROM excepted_track) AND (s.ts >= :from AND s.ts < :to
           OR s.ts < :from AND (s.dur > 0 AND s.ts + s.dur >= :from OR s.dur < 0 AND s.track_id NOT IN (ENDED)))"),
    ("counter", "
        SELECT ts, (SELECT name FROM track_name AS k WHERE k.id = c.track_id), value,
               (SELECT args FROM arg_set AS a WHERE a.id = c.arg_set_id)
        FROM counter_record AS c
        WHERE ts >= :from AND ts < :to AND track_id NOT IN (SELECT id FROM excepted_track)"),
    ("last value", "
        SELECT (SELECT name FROM track_name AS n WHERE n.id = k.id),
               (SELECT max(l.ts) FROM counter_record AS l WHERE l.track_id = k.id AND l.ts < :from),
               (SELECT l.value FROM counter_record AS l WHERE l.track_id = k.id AND l.ts < :from ORDER BY l.ts DESC, l.id DESC LIMIT 1)
        FROM track_record AS k
        WHERE k.is_counter AND k.id NOT IN (SELECT id FROM excepted_track) AND k.type NOT IN ('power_rails', 'perf_cpu_counter', 'stack_sample_cpu_counter', 'stack_sample_session_counter', 'thread_time', 'thread_instructions')
          AND EXISTS (SELECT 1 FROM counter_record AS l WHERE l.track_id = k.id AND l.ts < :from) AND k.id NOT IN (ENDED)"),
    ("sched", "
        SELECT ts, iif(dur < 0 OR ts + dur >= :to, NULL, dur), ucpu & 4095,
               (SELECT name FROM thread_name AS t WHERE t.id = s.utid), iif(dur < 0 OR ts + dur >= :to, NULL, TEXT(s.end_state)),
               priority
        FROM sched_record AS s
        WHERE s.utid NOT IN (SELECT id FROM unclear_thread) AND (ts >= :from AND ts < :to
           OR ts < :from AND (dur >= 0 AND ts + dur >= :from
              OR dur < 0 AND id = (SELECT id FROM sched_record AS l WHERE l.ucpu = s.ucpu AND l.ts < :to ORDER BY l.ts DESC, l.id DESC LIMIT 1)))"),
    ("thread_state", "
        SELECT ts, iif(dur < 0 OR ts + dur >= :to, NULL, dur), (SELECT name FROM thread_name AS t WHERE t.id = s.utid),
               state, (SELECT name FROM thread_name AS t WHERE t.id = s.waker_utid)
        FROM thread_state AS s
        WHERE ts >= :from AND ts < :to AND s.utid NOT IN (SELECT id FROM unclear_thread)"),
    ("state", "
        SELECT ts, iif(dur < 0 OR ts + dur >= :to, NULL, dur), (SELECT name FROM track_name AS k WHERE k.id = s.track_id),
               TEXT(s.value)
        FROM state_record AS s
        WHERE ts >= :from AND ts < :to OR ts < :from AND (dur < 0 OR ts + dur >= :from)"),
    ("ftrace_event", "
        SELECT ts, cpu, tid, name, args FROM ftrace_event
        WHERE ts >= :from AND ts < :to
          AND NOT (name IN ('sched_switch', 'sched_waking') AND cpu IN (SELECT cpu FROM a_disordered_cpus))"),
    ("android_logs", "
        SELECT ts, pid, tid, prio, tag, msg FROM android_log_record WHERE ts >= :from AND ts < :to"),
    ("flow", "
        SELECT a.ts, TEXT(a.name), b.ts, TEXT(b.name), iif(b.dur < 0 OR b.ts + b.dur >= :to, 'not ended', '')
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

/// Rows that CT1a excepts: of threads and processes whose numbers others of A got without a fork, a creation or an end
/// that tells when, and of sums since the begin of the trace.
const EXCEPTED: &str = "
    CREATE TEMP TABLE unclear_thread AS
    SELECT t.id FROM thread_record AS t JOIN machine_name AS m ON m.id = t.machine_id
    WHERE (m.name, t.tid) IN (SELECT machine, tid FROM a_unclear_threads);
    CREATE TEMP TABLE unclear_process AS
    SELECT p.id FROM process_record AS p JOIN machine_name AS m ON m.id = p.machine_id
    WHERE (m.name, p.pid) IN (SELECT machine, pid FROM a_unclear_processes);
    CREATE TEMP TABLE excepted_track AS
    SELECT id FROM track_record
    WHERE utid IN (SELECT id FROM unclear_thread) OR upid IN (SELECT id FROM unclear_process)
       OR type IN ('net_receive', 'net_transmit', 'net_kfree_skb', 'virtgpu_latency', 'perf_cpu_counter', 'stack_sample_cpu_counter',
                   'stack_sample_session_counter') OR type GLOB 'vulkan_*';";

/// The numbers of A that are of several processes or threads, or of a thread without a process.
const SEVERAL: [(&str, &str); 7] = [
    ("a_unclear_threads (machine, tid)", "
        SELECT DISTINCT coalesce(m.raw_id, m.id), tid
        FROM (SELECT *, lag(id) OVER number AS before, lag(end_ts) OVER number AS before_end FROM thread_record
              WINDOW number AS (PARTITION BY machine_id, tid ORDER BY id)) AS t JOIN machine AS m ON m.id = t.machine_id
        WHERE before IS NOT NULL AND (tid = 0 OR start_ts IS NULL AND before_end IS NULL)"),
    ("a_unclear_processes (machine, pid)", "
        SELECT DISTINCT coalesce(m.raw_id, m.id), pid
        FROM (SELECT *, lag(id) OVER number AS before, lag(end_ts) OVER number AS before_end FROM process_record
              WINDOW number AS (PARTITION BY machine_id, pid ORDER BY id)) AS p JOIN machine AS m ON m.id = p.machine_id
        WHERE before IS NOT NULL AND (pid = 0 OR start_ts IS NULL AND before_end IS NULL)
           OR EXISTS (SELECT 1 FROM track_record AS k WHERE k.upid = p.id
                AND (EXISTS (SELECT 1 FROM counter_record AS c WHERE c.track_id = k.id AND c.ts < p.start_ts)
                  OR EXISTS (SELECT 1 FROM slice_record AS c WHERE c.track_id = k.id AND c.ts < p.start_ts)))
        UNION
        SELECT coalesce(m.raw_id, m.id), p.pid FROM thread_record AS t
        JOIN process_record AS p ON p.id = t.upid JOIN machine AS m ON m.id = t.machine_id
        WHERE (coalesce(m.raw_id, m.id), t.tid) IN (UNCLEAR_THREADS)"),
    ("a_renames (type, machine)", "
        SELECT type, 0 FROM packet_common WHERE type = 'generic_kernel_task_rename_event'"),
    ("a_disordered_cpus (cpu, machine)", "
        SELECT DISTINCT cpu, 0 FROM (SELECT cpu, ts, max(ts) OVER (PARTITION BY cpu ORDER BY id) AS before FROM ftrace_record)
        WHERE ts < before"),
    ("a_nameless_lanes (type, machine)", "
        SELECT DISTINCT k.type, 0 FROM track_record AS k
        WHERE k.type GLOB '*merged_track_event' AND coalesce(k.name, '') <> coalesce(
          (SELECT g.value FROM slice_record AS s LEFT JOIN string AS g ON g.id = s.name
           WHERE s.track_id = k.id ORDER BY s.ts, s.id LIMIT 1), '')
        UNION
        SELECT DISTINCT k.type, 0 FROM track_record AS k
        WHERE k.type GLOB '*state_track_event' AND coalesce(k.name, '') <> coalesce(
          (SELECT g.value FROM state_record AS s LEFT JOIN string AS g ON g.id = s.value
           WHERE s.track_id = k.id ORDER BY s.ts, s.id LIMIT 1), '')"),
    ("a_several_processes (machine, pid)", "
        SELECT coalesce(m.raw_id, m.id), pid FROM process_record AS p JOIN machine AS m ON m.id = p.machine_id
        GROUP BY 1, 2 HAVING count(*) > 1"),
    ("a_several_threads (machine, tid)", "
        SELECT coalesce(m.raw_id, m.id), tid FROM thread_record AS t JOIN machine AS m ON m.id = t.machine_id
        GROUP BY 1, 2 HAVING count(*) > 1 OR count(upid) = 0"),
];

/// Prepares a database for comparisons with A, which may be the same one. Without A, CT1a excepts nothing.
pub fn prepare(conn: &Connection, a: Option<&Connection>) {
    for (table, sql) in SEVERAL {
        conn.execute_batch(&format!("CREATE TEMP TABLE {table}")).unwrap();
        let Some(a) = a else {
            continue;
        };
        let mut statement = a.prepare(&sql.replace("UNCLEAR_THREADS", SEVERAL[0].1)).unwrap();
        let found: Vec<(Value, Value)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let name = table.split(' ').next().unwrap();
        for pair in found {
            conn.execute(&format!("INSERT INTO {name} VALUES (?1, ?2)"), pair).unwrap();
        }
    }
    conn.execute_batch(NAMES).unwrap();
    conn.execute_batch(EXCEPTED).unwrap();
    if a.is_none() {
        conn.execute_batch("DELETE FROM excepted_track").unwrap();
    }
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

/// The text of a row, in which threads and processes have their names instead of their ids.
fn without_ids(conn: &Connection, text: &str) -> String {
    let of = |text: &str, key: &str, table: &str| {
        let mut parts = text.split(key);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for behind in parts {
            let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            let sql = format!("SELECT name FROM {table} WHERE id = ?1");
            let name: Result<String, _> =
                conn.query_row(&sql, [&behind[..digits]], |row| row.get(0));
            out += key;
            out += &name.unwrap_or_default();
            out += &behind[digits..];
        }
        out
    };
    let text = of(text, "utid\\\":", "thread_name");
    of(&text, "\"upid\\\":", "process_name")
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
        let mut missing = more(&a_rows, &b_rows);
        let mut extra = more(&b_rows, &a_rows);
        match table {
            "slice" => {
                // Other events of the time of a carried one are carried, too; so what is on their tracks can differ.
                let ties = ties(a, window);
                let is_tied = |row: &String| ties.iter().any(|track| row.contains(track.as_str()));
                missing.retain(|row| !is_tied(row) && !is_below_merged(row));
                extra.retain(|row| !is_tied(row));
            }
            // The step may be at the end.
            "flow" => missing.retain(|row| !row.contains("not ended")),
            "counter" | "state" => missing.retain(|row| !is_below_merged(row)),
            // Values from before the window may be more than the last ones.
            "last value" => {
                extra.clear();
                missing.retain(|row| !is_below_merged(row));
            }
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

/// A merged track has no descriptor that stays, so its tracks below are lost if only events from before made it.
fn is_below_merged(row: &str) -> bool {
    row.contains("merged_track_event") && row.contains(" > ")
}

/// The tracks on which a slice begins together with a carried one, but does not reach into the window.
fn ties(a: &Connection, window: Window) -> Vec<String> {
    let sql = "
        SELECT DISTINCT (SELECT name FROM track_name AS k WHERE k.id = s.track_id) FROM slice_record AS s
        WHERE s.ts < ?1 AND s.dur >= 0 AND s.ts + s.dur < ?1 AND s.packet_id IS NULL
          AND (EXISTS (SELECT 1 FROM slice_record AS o
                       WHERE o.ts = s.ts AND o.id <> s.id AND (o.dur < 0 OR o.ts + o.dur >= ?1))
            OR s.ts IN (SELECT max(c.ts) FROM counter_record AS c WHERE c.ts < ?1 GROUP BY c.track_id))";
    let mut statement = a.prepare(sql).unwrap();
    let found = statement.query_map([window.from], |row| row.get::<_, String>(0)).unwrap();
    found.map(|name| format!("{:?}", name.unwrap()).trim_matches('"').to_owned()).collect()
}

/// Whether a row is of a thread that a wakeup of the same time did not wake in A.
fn is_woken_again(a: &Connection, row: &str) -> bool {
    let ts = row.split(['(', ')']).nth(1).unwrap_or_default();
    let sql = "SELECT EXISTS (SELECT 1 FROM spurious_sched_wakeup WHERE ts = ?1)";
    row.contains("Text(\"R\")") && a.query_row(sql, [ts], |row| row.get(0)).unwrap_or(false)
}

/// The packets with a timestamp each, because those without one are carried only as CT3 says.
pub fn timed(packets: Vec<Message>) -> Vec<Message> {
    const TIMESTAMP: u32 = 8;
    const CLOCK_SNAPSHOT: u32 = 6;
    let mut last = 0;
    let timed = packets.into_iter().map(|packet| {
        let Some(fields) = decode::fields(&packet.0) else {
            return packet;
        };
        let of = |wanted: u32| fields.iter().find(|field| field.number == wanted);
        match of(TIMESTAMP) {
            Some(timestamp) => last = last.max(timestamp.value.number()),
            None if of(CLOCK_SNAPSHOT).is_none() => {
                return Message::new().number(TIMESTAMP, last).and(&packet);
            }
            None => {}
        }
        packet
    });
    timed.collect()
}
