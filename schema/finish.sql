-- What is added to the database when all rows are in: views.

-- One row a kernel event. The joins are outer ones so that a query that does
-- not ask for names or arguments does not look them up.
CREATE VIEW ftrace_event AS
SELECT e.id, e.ts, e.packet_id, e.cpu, e.tid, n.name, a.args,
       CASE WHEN e.ts IS NULL THEN (
         SELECT u.reason FROM ftrace_unresolved AS u
         WHERE u.first_id = (SELECT max(first_id) FROM ftrace_unresolved WHERE first_id <= e.id)
           AND e.id <= u.last_id
       ) END AS unresolved,
       coalesce(e.timestamp, e.ts) AS timestamp,
       a.common_flags,
       (SELECT t.utid FROM thread_emitting AS t
        WHERE t.machine_id = (SELECT m.id FROM packet AS p JOIN machine AS m ON m.raw_id = p.machine_id
                              WHERE p.id = e.packet_id)
          AND t.tid = e.tid & 4294967295 AND t.ts <= e.ts
        ORDER BY t.ts DESC LIMIT 1) AS utid,
       (SELECT 4096 * m.id + e.cpu FROM packet AS p JOIN machine AS m ON m.raw_id = p.machine_id
        WHERE p.id = e.packet_id) AS ucpu,
       e.args_id AS arg_set_id
FROM ftrace_record AS e
LEFT JOIN ftrace_name AS n ON n.id = e.name_id
LEFT JOIN ftrace_args AS a ON a.id = e.args_id;

-- The same, as trace processor has it.
CREATE VIEW raw AS
SELECT id, ts, name, utid, arg_set_id, common_flags, ucpu, cpu FROM ftrace_event;

-- Kernel events that lack some of their arguments, and the thread: trace
-- processor drops them.
CREATE VIEW ftrace_event_partial AS
SELECT e.id, e.ts, e.packet_id, e.cpu, e.tid, n.name, a.args,
       CASE WHEN e.ts IS NULL THEN (
         SELECT u.reason FROM ftrace_unresolved AS u
         WHERE u.first_id = (SELECT max(first_id) FROM ftrace_unresolved WHERE first_id <= e.id)
           AND e.id <= u.last_id
       ) END AS unresolved,
       coalesce(e.timestamp, e.ts) AS timestamp,
       a.common_flags
FROM ftrace_partial AS e
LEFT JOIN ftrace_name AS n ON n.id = e.name_id
LEFT JOIN ftrace_args AS a ON a.id = e.args_id;

-- Lines of the Android log, with their threads.
CREATE VIEW android_logs AS
SELECT id, ts, packet_id, pid, tid, uid, log_id, prio, tag, msg, args, timestamp, unresolved,
       (SELECT utid FROM android_log_thread AS t WHERE t.id = l.id) AS utid
FROM android_log_record AS l;

CREATE VIEW process AS
SELECT id, id AS upid, pid, name, start_ts, end_ts, parent_upid, uid,
       uid % 100000 AS android_appid, uid / 100000 AS android_user_id, cmdline, arg_set_id, machine_id
FROM process_record;

CREATE VIEW thread AS
SELECT id, id AS utid, tid, name, start_ts, end_ts, upid, is_main_thread, is_idle, machine_id, arg_set_id
FROM thread_record;

CREATE VIEW cpu AS
SELECT id, id AS ucpu, cpu, cluster_id, processor, machine_id, capacity, arg_set_id
FROM cpu_record;

CREATE VIEW gpu AS
SELECT id, id AS ugpu, gpu, name, vendor, model, architecture, uuid, pci_bdf, machine_id, arg_set_id
FROM gpu_record;

-- What CPUs ran: from one switch to the next. As in trace processor, cpu is the
-- ucpu here and below, which tells the CPUs of several machines apart.
CREATE VIEW sched_slice AS
SELECT id, ts, dur, ucpu AS cpu, utid,
       (SELECT value FROM string WHERE string.id = s.end_state) AS end_state, priority, ucpu
FROM sched_record AS s;

CREATE VIEW sched AS
SELECT id, ts, dur, ucpu AS cpu, utid,
       (SELECT value FROM string WHERE string.id = s.end_state) AS end_state, priority, ucpu,
       ts + dur AS ts_end
FROM sched_record AS s;

-- What threads did. A slice of sched is up to three rows: it runs; it is off the CPU;
-- it was woken. An id is four times that of the slice, and which of them it is;
-- so waker_id / 4 is what the waker ran, in sched. The last part keeps
-- SQLite from taking the view apart in a join, where it would search each part anew.
CREATE VIEW thread_state AS
SELECT 4 * id AS id, ts, dur, ucpu AS cpu, utid, 'Running' AS state,
       NULL AS io_wait, NULL AS blocked_function, NULL AS waker_utid, NULL AS waker_id, NULL AS irq_context,
       ucpu
FROM sched_record
WHERE is_state
UNION ALL
SELECT 4 * id + 1, ts + dur, after, NULL, utid,
       (SELECT value FROM string WHERE string.id = s.end_state), NULL, NULL, NULL, NULL, NULL, NULL
FROM sched_record AS s
WHERE after IS NOT NULL
UNION ALL
SELECT 4 * id + 2, ts + dur + after, runnable, NULL, utid, 'R',
       NULL, NULL, waker_utid, 4 * (id - waker_slice), irq_context, NULL
FROM sched_record
WHERE runnable IS NOT NULL
UNION ALL
SELECT id, ts, dur, ucpu, utid, (SELECT value FROM string WHERE string.id = s.state),
       io_wait, (SELECT value FROM string WHERE string.id = s.blocked_function), waker_utid, waker_id,
       irq_context, ucpu
FROM thread_state_record AS s;

-- What CPUs ran, with the names of what ran. In this and the next view names are
-- looked up row by row, so that what is not asked for costs nothing; to look for
-- a name, ask for its utid: utid IN (SELECT utid FROM thread WHERE name = ...).
CREATE VIEW sched_with_thread_process AS
SELECT id, ts, dur, ucpu AS cpu, utid,
       (SELECT t.tid FROM thread_record AS t WHERE t.id = s.utid) AS tid,
       (SELECT t.name FROM thread_record AS t WHERE t.id = s.utid) AS thread_name,
       (SELECT t.upid FROM thread_record AS t WHERE t.id = s.utid) AS upid,
       (SELECT p.pid FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid WHERE t.id = s.utid) AS pid,
       (SELECT p.name FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid
        WHERE t.id = s.utid) AS process_name,
       (SELECT value FROM string WHERE string.id = s.end_state) AS end_state, priority, ucpu
FROM sched_record AS s;

-- What threads did, with their names and those of who woke them.
CREATE VIEW thread_state_with_thread_process AS
SELECT id, ts, dur, cpu, utid,
       (SELECT t.tid FROM thread_record AS t WHERE t.id = s.utid) AS tid,
       (SELECT t.name FROM thread_record AS t WHERE t.id = s.utid) AS thread_name,
       (SELECT t.upid FROM thread_record AS t WHERE t.id = s.utid) AS upid,
       (SELECT p.pid FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid WHERE t.id = s.utid) AS pid,
       (SELECT p.name FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid
        WHERE t.id = s.utid) AS process_name,
       state, io_wait, blocked_function, waker_utid,
       (SELECT t.tid FROM thread_record AS t WHERE t.id = s.waker_utid) AS waker_tid,
       (SELECT t.name FROM thread_record AS t WHERE t.id = s.waker_utid) AS waker_name,
       waker_id, irq_context, ucpu
FROM thread_state AS s;

-- For how long each thread ran, without idle CPUs; what ran at the end of the
-- trace, or when events were lost, is not counted: its end is not known.
CREATE VIEW cpu_time_by_thread AS
SELECT t.id AS utid, t.tid, t.name AS thread_name, t.upid, p.pid, p.name AS process_name,
       s.cpu_time, s.slices
FROM (SELECT utid, sum(max(dur, 0)) AS cpu_time, count(*) AS slices FROM sched_record GROUP BY utid) AS s
JOIN thread_record AS t ON t.id = s.utid
LEFT JOIN process_record AS p ON p.id = t.upid
WHERE NOT t.is_idle;

-- The same by process. Threads whose process is not known are together in the row without upid.
CREATE VIEW cpu_time_by_process AS
SELECT upid, pid, process_name, sum(cpu_time) AS cpu_time, count(*) AS threads, sum(slices) AS slices
FROM cpu_time_by_thread
GROUP BY upid;

CREATE VIEW track AS
SELECT id, name, type, parent_id, machine_id, dimension_arg_set_id, source_arg_set_id, track_group_id
FROM track_record;

CREATE VIEW thread_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid, dimension_arg_set_id, track_group_id
FROM track_record
WHERE utid IS NOT NULL AND NOT is_counter;

CREATE VIEW process_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid, dimension_arg_set_id, track_group_id
FROM track_record
WHERE upid IS NOT NULL AND NOT is_counter;

CREATE VIEW cpu_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, ucpu & 4095 AS cpu, ucpu,
       dimension_arg_set_id, track_group_id
FROM track_record
WHERE ucpu IS NOT NULL AND NOT is_counter;

-- Tracks of GPUs, as trace processor has them besides.
CREATE VIEW gpu_track AS
SELECT id, name, type, parent_id, source_arg_set_id, dimension_arg_set_id, machine_id, type AS scope, description,
       NULL AS context_id
FROM track_record
WHERE type = 'gpu_render_stage';

CREATE VIEW counter_track AS
SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id, unit, description
FROM track_record
WHERE is_counter;

CREATE VIEW cpu_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, ucpu & 4095 AS cpu, ucpu
FROM track_record
WHERE ucpu IS NOT NULL AND is_counter;

CREATE VIEW process_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, upid
FROM track_record
WHERE upid IS NOT NULL AND is_counter;

CREATE VIEW thread_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, utid
FROM track_record
WHERE utid IS NOT NULL AND is_counter;

CREATE VIEW gpu_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, ugpu,
       (SELECT gpu FROM gpu_record WHERE gpu_record.id = ugpu) AS gpu_id
FROM track_record
WHERE ugpu IS NOT NULL AND is_counter;

-- What threads, CPUs and GPUs did, from when to when.
CREATE VIEW slice AS
SELECT id, ts, dur, track_id,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       depth, parent_id, arg_set_id, id AS slice_id,
       (SELECT value FROM string WHERE string.id = s.category) AS cat
FROM slice_record AS s;

CREATE VIEW slices AS SELECT * FROM slice;

CREATE VIEW instant AS
SELECT ts, track_id, name, arg_set_id FROM slice WHERE dur = 0;

-- Slices on tracks of threads, with the names of these and of their processes.
CREATE VIEW thread_slice AS
SELECT s.id, s.ts, s.dur,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.track_id, k.name AS track_name, t.name AS thread_name, k.utid, t.tid, t.is_main_thread,
       p.name AS process_name, t.upid, p.pid, s.depth, s.parent_id, s.arg_set_id
FROM slice_record AS s
JOIN track_record AS k ON k.id = s.track_id AND k.utid IS NOT NULL
JOIN thread_record AS t ON t.id = k.utid
LEFT JOIN process_record AS p ON p.id = t.upid;

-- Slices on tracks of processes.
CREATE VIEW process_slice AS
SELECT s.id, s.ts, s.dur,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.track_id, k.name AS track_name, p.name AS process_name, k.upid, p.pid, s.depth, s.parent_id, s.arg_set_id
FROM slice_record AS s
JOIN track_record AS k ON k.id = s.track_id AND k.upid IS NOT NULL
JOIN process_record AS p ON p.id = k.upid;

-- Slices on tracks of threads or processes.
CREATE VIEW thread_or_process_slice AS
SELECT s.id, s.ts, s.dur,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.track_id, k.name AS track_name, t.name AS thread_name, k.utid, t.tid,
       p.name AS process_name, p.id AS upid, p.pid, s.depth, s.parent_id, s.arg_set_id
FROM slice_record AS s
JOIN track_record AS k ON k.id = s.track_id AND (k.utid IS NOT NULL OR k.upid IS NOT NULL)
LEFT JOIN thread_record AS t ON t.id = k.utid
LEFT JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid);

CREATE VIEW gpu_slice AS
SELECT s.id, s.ts, s.dur, s.track_id,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.depth, s.parent_id, s.arg_set_id, s.id AS slice_id,
       (SELECT value FROM string WHERE string.id = s.category) AS cat,
       g.context_id, g.render_target, NULL AS render_target_name, g.render_pass, NULL AS render_pass_name,
       g.command_buffer, NULL AS command_buffer_name, NULL AS frame_id, g.submission_id, g.hw_queue_id, g.upid,
       g.render_subpasses, g.render_stage_category
FROM gpu_slice_record AS g JOIN slice_record AS s ON s.id = g.id;

CREATE VIEW counter AS
SELECT id, ts, track_id, value, arg_set_id FROM counter_record;

CREATE VIEW counters AS
SELECT c.id, c.ts, c.track_id, c.value, c.arg_set_id, t.name, t.unit
FROM counter_record AS c JOIN track_record AS t ON t.id = c.track_id;

-- Arguments of everything: those of slices, tracks, processes and values, and of kernel events.
CREATE VIEW args AS
SELECT a.id, a.arg_set_id, f.value AS flat_key, k.value AS key,
       CASE WHEN t.value IN ('int', 'uint', 'bool') THEN a.value END AS int_value,
       CASE WHEN t.value = 'string' THEN (SELECT value FROM string WHERE string.id = a.value) END AS string_value,
       NULL AS real_value, t.value AS value_type,
       CASE t.value WHEN 'string' THEN (SELECT value FROM string WHERE string.id = a.value)
                    WHEN 'bool' THEN iif(a.value, 'true', 'false')
                    WHEN 'uint' THEN printf('%llu', a.value)
                    ELSE CAST(a.value AS TEXT) END AS display_value
FROM args_record AS a
JOIN string AS f ON f.id = a.flat_key
JOIN string AS k ON k.id = a.key
JOIN string AS t ON t.id = a.value_type
UNION ALL
SELECT 4294967296 * (a.id + 1) + j.id, a.id, j.key, j.key,
       CASE WHEN j.type IN ('integer', 'true', 'false') THEN j.value END,
       CASE WHEN j.type IN ('text', 'array', 'object') THEN j.value END,
       CASE WHEN j.type = 'real' THEN j.value END,
       CASE j.type WHEN 'integer' THEN 'int' WHEN 'text' THEN 'string' WHEN 'true' THEN 'bool'
                   WHEN 'false' THEN 'bool' WHEN 'array' THEN 'json' WHEN 'object' THEN 'json' ELSE j.type END,
       CASE j.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(j.value AS TEXT) END
FROM ftrace_args AS a, json_each(a.args) AS j;

-- The clock graph, solved: clock_step with NULL where a step has no start.
CREATE VIEW clock_mapping AS
SELECT machine_id,
       clock_id,
       seq_id,
       nullif(start_value, -9223372036854775808) AS start_value,
       end_value,
       to_clock_id,
       offset
FROM clock_step;

-- The packets that a later snapshot places elsewhere than those that were seen
-- when they were read. resync_ts is NULL where they cannot be placed any more,
-- because a clock went backwards later.
CREATE VIEW packet_resync AS
SELECT id, ts, resync_ts, resync_ts - ts AS difference, timestamp, clock_id, clock_ts, seq_id,
       machine_id, type
FROM (
  SELECT p.*,
         p.clock_ts * c.unit_multiplier_ns + (
           SELECT s.offset
           FROM clock_step AS s
           WHERE s.machine_id = c.machine_id AND s.clock_id = c.clock_id AND s.seq_id = c.seq_id
             AND s.to_clock_id = (SELECT value FROM fact WHERE name = 'trace_time_clock_id')
             AND s.start_value <= p.clock_ts * c.unit_multiplier_ns
           ORDER BY s.start_value DESC
           LIMIT 1
         ) AS resync_ts
  FROM packet AS p
  JOIN clock AS c
    ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
   AND c.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END
  WHERE p.ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
)
WHERE resync_ts IS NOT ts;

-- What is known about the trace and its import, in trace processor's columns and
-- as one value.
CREATE VIEW metadata AS
SELECT name,
       'single' AS key_type,
       CASE typeof(value) WHEN 'integer' THEN value END AS int_value,
       CASE typeof(value) WHEN 'text' THEN value END AS str_value,
       value
FROM fact;

-- The SQL functions answer from clock_snapshot. They see by this number that
-- it has changed. It is random, so that a change after a rollback cannot be
-- taken for the one that was rolled back.
INSERT INTO fact (name, value) VALUES ('clock_snapshot_version', random());
CREATE TRIGGER clock_snapshot_inserted AFTER INSERT ON clock_snapshot BEGIN
  UPDATE fact SET value = random() WHERE name = 'clock_snapshot_version';
END;
CREATE TRIGGER clock_snapshot_updated AFTER UPDATE ON clock_snapshot BEGIN
  UPDATE fact SET value = random() WHERE name = 'clock_snapshot_version';
END;
CREATE TRIGGER clock_snapshot_deleted AFTER DELETE ON clock_snapshot BEGIN
  UPDATE fact SET value = random() WHERE name = 'clock_snapshot_version';
END;
