-- The views. The import adds them to the database when all rows are in. OWNER with a packet and its common row stands for the SQL in
-- src/owner.rs: the file or machine that owns the clock of a packet. STATE with a number in string stands for the SQL in src/states.rs:
-- the text.

-- A row is a packet of the trace. The join is an outer join, so a query that needs no column of packet_common does not
-- look it up.
CREATE VIEW packet AS
SELECT p.id, p.ts,
       iif(c.is_absolute, coalesce(p.ts + c.clock_offset, p.clock_ts), p.timestamp) AS timestamp,
       c.clock_id,
       coalesce(p.ts + c.clock_offset, p.clock_ts) AS clock_ts,
       c.seq_id, c.machine_id, c.type, c.uid, c.pid, p.unresolved, c.trace_file_id,
       p.id - c.first_id AS number, p.offset, coalesce(p.size, length(p.data)) AS size, p.data
FROM packet_record AS p
LEFT JOIN packet_common AS c ON c.id = p.common_id;

-- A row is a kernel event. The join with the names lets SQLite go by name, with the index
-- ftrace_record_name: groups need no sort. Arguments are looked up row by row, so a query that does
-- not use them does not pay for them; it would for an outer join if it has sums or counts.
CREATE VIEW ftrace_event AS
SELECT e.id, e.ts, e.packet_id, e.cpu, e.tid, n.name,
       (SELECT a.args FROM ftrace_args AS a WHERE a.id = e.args_id) AS args,
       CASE WHEN e.ts IS NULL THEN (
         SELECT u.reason FROM ftrace_unresolved AS u
         WHERE u.first_id = (SELECT max(first_id) FROM ftrace_unresolved WHERE first_id <= e.id)
           AND e.id <= u.last_id
       ) END AS unresolved,
       coalesce(e.timestamp, e.ts) AS timestamp,
       coalesce((SELECT a.common_flags FROM ftrace_args AS a WHERE a.id = e.args_id), 0) AS common_flags,
       (SELECT t.utid FROM thread_emitting AS t
        WHERE t.machine_id = (SELECT p.machine_id FROM packet AS p WHERE p.id = e.packet_id)
          AND t.tid = e.tid & 4294967295 AND t.ts <= e.ts
        ORDER BY t.ts DESC LIMIT 1) AS utid,
       (SELECT 4096 * p.machine_id + e.cpu FROM packet AS p WHERE p.id = e.packet_id) AS ucpu,
       e.args_id AS arg_set_id
FROM ftrace_record AS e
JOIN ftrace_name AS n ON n.id = e.name_id;

-- The same rows, with trace processor's columns.
CREATE VIEW raw AS
SELECT id, ts, name, utid, arg_set_id, common_flags, ucpu, cpu FROM ftrace_event;

-- Kernel events that lack their thread and some of their arguments. Trace processor drops them.
CREATE VIEW ftrace_event_partial AS
SELECT e.id, e.ts, e.packet_id, e.cpu, e.tid, n.name, a.args,
       CASE WHEN e.ts IS NULL THEN (
         SELECT u.reason FROM ftrace_unresolved AS u
         WHERE u.first_id = (SELECT max(first_id) FROM ftrace_unresolved WHERE first_id <= e.id)
           AND e.id <= u.last_id
       ) END AS unresolved,
       coalesce(e.timestamp, e.ts) AS timestamp,
       coalesce(a.common_flags, 0) AS common_flags
FROM ftrace_partial AS e
LEFT JOIN ftrace_name AS n ON n.id = e.name_id
LEFT JOIN ftrace_args AS a ON a.id = e.args_id;

-- Lines of the Android log, with their threads.
CREATE VIEW android_logs AS
SELECT id, ts, packet_id, pid, tid, uid, log_id, prio, tag, msg, args, timestamp, unresolved,
       (SELECT utid FROM android_log_thread AS t WHERE t.id = l.id) AS utid
FROM android_log_record AS l;

-- Lines of Android's log and of systemd's journal.
CREATE VIEW logs AS
SELECT id, ts, utid, prio, 'android_logcat' AS log_source, tag, msg, NULL AS arg_set_id
FROM android_logs
WHERE ts IS NOT NULL
UNION ALL
SELECT id + 4611686018427387904, ts, utid, prio, 'systemd_journald', tag, msg, arg_set_id
FROM journald_record;

-- Tables under the names that trace processor has for them.
CREATE VIEW __intrinsic_android_user_list AS
SELECT id, type, android_user_id FROM android_user_list;

CREATE VIEW _linux_interrupt_mapping AS
SELECT id, irq_id, name, machine_id FROM linux_interrupt_mapping;

CREATE VIEW __intrinsic_android_aflags AS
SELECT id, ts, package, name, flag_namespace, container, value, staged_value, permission, value_picked_from,
       storage_backend, type
FROM android_aflags;

CREATE VIEW _trace_import_logs AS
SELECT id, trace_id, ts, NULL AS byte_offset, severity, name, arg_set_id FROM trace_import_log;

CREATE VIEW __intrinsic_heap_graph_java_oome_details AS
SELECT id, heap_graph_id, allocation_size_bytes, total_bytes_free, free_bytes_until_oom, error_msg
FROM heap_graph_java_oome_details;

CREATE VIEW __intrinsic_trace_diagnostics AS
SELECT id, key, title, description, remediation, confidence, trace_id FROM trace_diagnostics;

CREATE VIEW __intrinsic_android_cpu_per_uid_track AS
SELECT id, track_id, uid, cluster, total_cpu_millis FROM android_cpu_per_uid_track;

CREATE VIEW __intrinsic_android_track_event_process AS
SELECT id, upid, start_seq_id, package_uid, caller_uid, defining_uid, fw_start_ts, fw_end_ts, trigger_type,
       hosting_type, hosting_name, bind_application_delay_ms, process_start_delay_ms
FROM android_track_event_process;

CREATE VIEW process AS
SELECT id, id AS upid, pid, name, start_ts, end_ts, parent_upid, uid,
       uid % 100000 AS android_appid, uid / 100000 AS android_user_id, cmdline, arg_set_id, machine_id
FROM process_record;

CREATE VIEW thread AS
SELECT id, id AS utid, tid, name, start_ts, end_ts, upid, is_main_thread, is_idle, machine_id, arg_set_id
FROM thread_record;

-- Threads in the order of their names, so that a sum by name needs no sort of their slices.
CREATE INDEX thread_record_name ON thread_record (name);

-- Statistics of kernel events, for SQLite's plans. There are few names, so groups by name go by ftrace_record_name. And
-- a name says little: arguments of all events of a frequent name are looked up in one pass over the table, which takes
-- two thirds of the time of the index. Without statistics SQLite expects a million rows in a table, so fewer are a
-- million here, too.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1 WHERE tbl IN ('ftrace_record', 'ftrace_name');
INSERT INTO sqlite_stat1 (tbl, idx, stat)
SELECT 'ftrace_record', 'ftrace_record_ts', max(1048576, id) || ' 1 1'
FROM (SELECT (SELECT max(id) FROM ftrace_record) AS id) WHERE id IS NOT NULL
UNION ALL
SELECT 'ftrace_record', 'ftrace_record_name', max(1048576, id) || ' ' || max(1048576, id) || ' 1'
FROM (SELECT (SELECT max(id) FROM ftrace_record) AS id) WHERE id IS NOT NULL
UNION ALL
SELECT 'ftrace_name', 'sqlite_autoindex_ftrace_name_1', names || ' 1'
FROM (SELECT count(*) AS names FROM ftrace_name) WHERE names > 0;

-- After an import with --compact, slices have no index by time. With these statistics SQLite goes by slice_record_track
-- instead, and looks for the time on each track, if there are enough slices on a track.
INSERT INTO sqlite_stat1 (tbl, idx, stat)
SELECT 'slice_record', 'slice_record_track', slices || ' ' || max(1, slices / max(1, tracks)) || ' 1'
FROM (
  SELECT max(1048576, (SELECT max(id) FROM slice_record)) AS slices,
         (SELECT count(*) FROM track_record WHERE NOT is_counter) AS tracks
)
WHERE slices IS NOT NULL AND EXISTS (SELECT * FROM sqlite_schema WHERE name = 'slice_record_track')
  AND NOT EXISTS (SELECT * FROM sqlite_schema WHERE name = 'slice_record_ts');

CREATE VIEW cpu AS
SELECT id, id AS ucpu, cpu, cluster_id, processor, machine_id, capacity, arg_set_id
FROM cpu_record;

CREATE VIEW gpu AS
SELECT id, id AS ugpu, gpu, name, vendor, model, architecture, uuid, pci_bdf, machine_id, arg_set_id
FROM gpu_record;

-- The threads that CPUs ran, from one switch to the next. As in trace processor, cpu is the ucpu
-- here and below, which is unique among several machines.
CREATE VIEW sched_slice AS
SELECT id, ts, dur, ucpu AS cpu, utid,
       (SELECT value FROM string WHERE string.id = s.end_state) AS end_state, priority, ucpu
FROM sched_record AS s;

CREATE VIEW sched AS
SELECT id, ts, dur, ucpu AS cpu, utid,
       (SELECT value FROM string WHERE string.id = s.end_state) AS end_state, priority, ucpu,
       ts + dur AS ts_end,
       CASE doubt & 7 WHEN 1 THEN 'switch_missed' WHEN 2 THEN 'woken_again' WHEN 3 THEN 'wakeup_missed' WHEN 4 THEN 'lost' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM sched_record AS s;

-- The states of threads. A slice of sched makes up to three rows: it runs; it is off the CPU;
-- it was woken. The id is four times the slice's id, plus the number of the row, plus 4096: the ids below that are for
-- states before the first slice. So waker_id / 4 - 1024 is the waker's slice in sched. SQLite flattens a UNION ALL in a join, and would search each
-- part separately; the last part prevents this.
CREATE VIEW thread_state AS
SELECT 4096 + 4 * id AS id, ts, dur, ucpu AS cpu, utid, 'Running' AS state,
       NULL AS io_wait, NULL AS blocked_function, NULL AS waker_utid, NULL AS waker_id, NULL AS irq_context,
       ucpu,
       CASE doubt >> 3 & 7 WHEN 1 THEN 'switch_missed' WHEN 2 THEN 'woken_again' WHEN 3 THEN 'wakeup_missed' WHEN 4 THEN 'lost' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM sched_record
WHERE is_state
UNION ALL
SELECT 4097 + 4 * id, ts + dur, after, NULL, utid,
       STATE(s.end_state), NULL, NULL, NULL, NULL, NULL, NULL,
       CASE doubt >> 6 & 7 WHEN 1 THEN 'switch_missed' WHEN 2 THEN 'woken_again' WHEN 3 THEN 'wakeup_missed' WHEN 4 THEN 'lost' WHEN 7 THEN 'cpus_missing' END
FROM sched_record AS s
WHERE after IS NOT NULL
UNION ALL
SELECT 4098 + 4 * id, ts + dur + after, runnable, NULL, utid, 'R',
       NULL, NULL, waker_utid, 4096 + 4 * (id - waker_slice), irq_context, NULL,
       CASE doubt >> 9 WHEN 1 THEN 'switch_missed' WHEN 2 THEN 'woken_again' WHEN 3 THEN 'wakeup_missed' WHEN 4 THEN 'lost' WHEN 7 THEN 'cpus_missing' END
FROM sched_record
WHERE runnable IS NOT NULL
UNION ALL
SELECT id, ts, dur, ucpu, utid, CAST(STATE(s.state) AS TEXT),
       io_wait, (SELECT value FROM string WHERE string.id = s.blocked_function), waker_utid, waker_id,
       irq_context, ucpu,
       CASE doubt WHEN 1 THEN 'switch_missed' WHEN 2 THEN 'woken_again' WHEN 3 THEN 'wakeup_missed' WHEN 4 THEN 'lost' WHEN 7 THEN 'cpus_missing' END
FROM thread_state_record AS s;

-- The threads that CPUs ran, with names. This view and the next one look up names row by row, so
-- columns that a query does not use cost nothing. To search for a name, use its utid: utid IN
-- (SELECT utid FROM thread WHERE name = ...).
CREATE VIEW sched_with_thread_process AS
SELECT id, ts, dur, ucpu AS cpu, utid,
       (SELECT t.tid FROM thread_record AS t WHERE t.id = s.utid) AS tid,
       (SELECT t.name FROM thread_record AS t WHERE t.id = s.utid) AS thread_name,
       (SELECT t.upid FROM thread_record AS t WHERE t.id = s.utid) AS upid,
       (SELECT p.pid FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid WHERE t.id = s.utid) AS pid,
       (SELECT p.name FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid
        WHERE t.id = s.utid) AS process_name,
       (SELECT value FROM string WHERE string.id = s.end_state) AS end_state, priority, ucpu,
       CASE doubt & 7 WHEN 1 THEN 'switch_missed' WHEN 2 THEN 'woken_again' WHEN 3 THEN 'wakeup_missed' WHEN 4 THEN 'lost' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM sched_record AS s;

-- The states of threads, with the names of the threads and of their wakers.
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
       waker_id, irq_context, ucpu, doubt
FROM thread_state AS s;

-- How long each thread ran, without idle CPUs. Slices without a known end (at the end of the trace,
-- or after lost events) do not count. Slices that may be wrong count separately: the sum of
-- cpu_time and doubtful_time is the whole time.
CREATE VIEW cpu_time_by_thread AS
SELECT t.id AS utid, t.tid, t.name AS thread_name, t.upid, p.pid, p.name AS process_name,
       s.cpu_time, s.slices, s.doubtful_time, s.doubtful_slices
FROM (
  SELECT utid, sum(iif(doubt & 7, 0, max(dur, 0))) AS cpu_time, count(*) AS slices,
         sum(iif(doubt & 7, max(dur, 0), 0)) AS doubtful_time, count(nullif(doubt & 7, 0)) AS doubtful_slices
  FROM sched_record
  GROUP BY utid
) AS s
JOIN thread_record AS t ON t.id = s.utid
LEFT JOIN process_record AS p ON p.id = t.upid
WHERE NOT t.is_idle;

-- The same by process. Threads whose process is not known share the row without upid.
CREATE VIEW cpu_time_by_process AS
SELECT upid, pid, process_name, sum(cpu_time) AS cpu_time, count(*) AS threads, sum(slices) AS slices,
       sum(doubtful_time) AS doubtful_time, sum(doubtful_slices) AS doubtful_slices
FROM cpu_time_by_thread
GROUP BY upid;

CREATE VIEW track AS
SELECT id, name, type, parent_id, machine_id, dimension_arg_set_id, source_arg_set_id, track_group_id, trace_file_id
FROM track_record;

CREATE VIEW thread_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid, dimension_arg_set_id, track_group_id
FROM track_record
WHERE utid IS NOT NULL AND NOT is_counter AND type <> 'thread_state_track_event';

CREATE VIEW process_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid, dimension_arg_set_id, track_group_id
FROM track_record
WHERE upid IS NOT NULL AND NOT is_counter AND type <> 'process_state_track_event';

CREATE VIEW cpu_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, ucpu & 4095 AS cpu, ucpu,
       dimension_arg_set_id, track_group_id
FROM track_record
WHERE ucpu IS NOT NULL AND NOT is_counter;

-- Tracks of GPUs, as in trace processor.
CREATE VIEW gpu_track AS
SELECT id, name, type, parent_id, source_arg_set_id, dimension_arg_set_id, machine_id, type AS scope,
       (SELECT json_extract(a.args, '$.description') FROM arg_set AS a WHERE a.id = source_arg_set_id) AS description,
       NULL AS context_id
FROM track_record
WHERE type IN ('gpu_render_stage', 'vulkan_events', 'gpu_log', 'drm_vblank', 'drm_sched_ring', 'drm_fence');

-- Tracks of states.
CREATE VIEW state_track AS
SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id
FROM track_record
WHERE type IN ('thread_state_track_event', 'process_state_track_event', 'global_state_track_event', 'concurrent_tracing_sessions');

CREATE VIEW process_state_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid
FROM track_record
WHERE type = 'process_state_track_event';

CREATE VIEW thread_state_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid
FROM track_record
WHERE type = 'thread_state_track_event';

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

-- The memory that programs get from Vulkan and give back.
CREATE VIEW vulkan_memory_allocations AS
SELECT id, arg_set_id, source, operation, ts AS timestamp, upid, device, device_memory, memory_type, heap,
       (SELECT value FROM string WHERE string.id = v.function_name) AS function_name, object_handle,
       memory_address, memory_size, scope
FROM vulkan_memory_record AS v;

-- The groups of a GPU's counters.
CREATE VIEW gpu_counter_group AS
SELECT id, group_id, track_id,
       (SELECT value FROM string WHERE string.id = g.name) AS name,
       (SELECT value FROM string WHERE string.id = g.description) AS description
FROM gpu_counter_group_record AS g;

-- Activities of threads, CPUs and GPUs, with a start and an end.
CREATE VIEW slice AS
SELECT id, ts, dur, track_id,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       depth, parent_id, arg_set_id, thread_ts, thread_dur, thread_instruction_count,
       thread_instruction_delta, id AS slice_id,
       (SELECT value FROM string WHERE string.id = s.category) AS cat,
       (SELECT a.args FROM arg_set AS a WHERE a.id = s.arg_set_id) AS args, packet_id,
       CASE doubt WHEN 5 THEN 'packets_lost' WHEN 6 THEN 'end_misplaced' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM slice_record AS s;

CREATE VIEW slices AS SELECT * FROM slice;

CREATE VIEW instant AS
SELECT ts, track_id, name, arg_set_id FROM slice WHERE dur = 0;

-- Slices on tracks of threads, with the names of the threads and their processes.
CREATE VIEW thread_slice AS
SELECT s.id, s.ts, s.dur,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.track_id, k.name AS track_name, t.name AS thread_name, k.utid, t.tid, t.is_main_thread,
       p.name AS process_name, t.upid, p.pid, s.depth, s.parent_id, s.arg_set_id,
       (SELECT a.args FROM arg_set AS a WHERE a.id = s.arg_set_id) AS args,
       CASE s.doubt WHEN 5 THEN 'packets_lost' WHEN 6 THEN 'end_misplaced' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM slice_record AS s
JOIN track_record AS k ON k.id = s.track_id AND k.utid IS NOT NULL
JOIN thread_record AS t ON t.id = k.utid
LEFT JOIN process_record AS p ON p.id = t.upid;

-- Slices on tracks of processes.
CREATE VIEW process_slice AS
SELECT s.id, s.ts, s.dur,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.track_id, k.name AS track_name, p.name AS process_name, k.upid, p.pid, s.depth, s.parent_id, s.arg_set_id,
       (SELECT a.args FROM arg_set AS a WHERE a.id = s.arg_set_id) AS args,
       CASE s.doubt WHEN 5 THEN 'packets_lost' WHEN 6 THEN 'end_misplaced' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM slice_record AS s
JOIN track_record AS k ON k.id = s.track_id AND k.upid IS NOT NULL
JOIN process_record AS p ON p.id = k.upid;

-- Slices on tracks of threads or processes.
CREATE VIEW thread_or_process_slice AS
SELECT s.id, s.ts, s.dur,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.track_id, k.name AS track_name, t.name AS thread_name, k.utid, t.tid,
       p.name AS process_name, p.id AS upid, p.pid, s.depth, s.parent_id, s.arg_set_id,
       (SELECT a.args FROM arg_set AS a WHERE a.id = s.arg_set_id) AS args,
       CASE s.doubt WHEN 5 THEN 'packets_lost' WHEN 6 THEN 'end_misplaced' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM slice_record AS s
JOIN track_record AS k ON k.id = s.track_id AND (k.utid IS NOT NULL OR k.upid IS NOT NULL)
LEFT JOIN thread_record AS t ON t.id = k.utid
LEFT JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid);

-- The slices around a slice: for slice_id = 7, SQLite finds them by their keys. It computes this
-- view and the next one only for the slices of the query, so restrict slice_id first, or join from
-- the left; on the right side of a LEFT JOIN it computes them for all slices.
CREATE VIEW slice_ancestor AS
SELECT s.id AS slice_id, a.id, a.ts, a.dur, a.track_id,
       (SELECT value FROM string WHERE string.id = a.category) AS category,
       (SELECT value FROM string WHERE string.id = a.name) AS name,
       a.depth, a.parent_id, a.arg_set_id,
       (SELECT g.args FROM arg_set AS g WHERE g.id = a.arg_set_id) AS args
FROM slice_record AS s
CROSS JOIN slice_record AS a
  ON a.id IN (
    WITH RECURSIVE up (id) AS (
      SELECT s.parent_id
      UNION ALL
      SELECT p.parent_id FROM up JOIN slice_record AS p ON p.id = up.id
    )
    SELECT id FROM up WHERE id IS NOT NULL
  );

-- The slices inside a slice: the slices on its track before it ends whose parents lead to it.
-- Parents have smaller ids, so the search stops when it has passed the slice's id.
CREATE VIEW slice_descendant AS
SELECT s.id AS slice_id, d.id, d.ts, d.dur, d.track_id,
       (SELECT value FROM string WHERE string.id = d.category) AS category,
       (SELECT value FROM string WHERE string.id = d.name) AS name,
       d.depth, d.parent_id, d.arg_set_id,
       (SELECT g.args FROM arg_set AS g WHERE g.id = d.arg_set_id) AS args
FROM slice_record AS s
CROSS JOIN slice_record AS d
  ON d.track_id = s.track_id
 AND d.ts BETWEEN s.ts AND iif(s.dur < 0, 9223372036854775807, s.ts + s.dur)
 AND d.depth > s.depth
 AND s.id IN (
    WITH RECURSIVE up (id) AS (
      SELECT d.parent_id
      UNION ALL
      SELECT p.parent_id FROM up JOIN slice_record AS p ON p.id = up.id WHERE up.id > s.id
    )
    SELECT id FROM up
  );

-- The time of a slice without its children, as far as these lie within it. NULL for a slice without
-- an end. One pass over the slices computes all sums, even for a query of one slice, because there
-- is no index by parent.
CREATE VIEW slice_self_dur AS
SELECT s.id, iif(s.dur < 0, NULL, s.dur - coalesce(c.dur, 0)) AS self_dur
FROM slice_record AS s
LEFT JOIN (
  SELECT c.parent_id, sum(max(0, min(iif(c.dur < 0, p.dur, c.dur), p.ts + p.dur - c.ts))) AS dur
  FROM slice_record AS c CROSS JOIN slice_record AS p ON p.id = c.parent_id
  GROUP BY c.parent_id
) AS c ON c.parent_id = s.id;

-- Flows with the slices at both ends. The delay is the time from the end of the first to the begin of
-- the second: less than 0 if the first had not ended then, NULL if it did not end. Each
-- column is looked up row by row, so columns that a query does not use cost nothing.
CREATE VIEW flow_with_slices AS
SELECT id, trace_id, arg_set_id,
       (SELECT b.ts - (a.ts + a.dur) FROM slice_record AS a JOIN slice_record AS b ON b.id = f.slice_in
        WHERE a.id = f.slice_out AND a.dur >= 0) AS delay,
       slice_out,
       (SELECT s.ts FROM slice_record AS s WHERE s.id = f.slice_out) AS ts_out,
       (SELECT s.dur FROM slice_record AS s WHERE s.id = f.slice_out) AS dur_out,
       (SELECT (SELECT value FROM string WHERE string.id = s.name) FROM slice_record AS s WHERE s.id = f.slice_out) AS name_out,
       (SELECT s.track_id FROM slice_record AS s WHERE s.id = f.slice_out) AS track_id_out,
       (SELECT k.utid FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        WHERE s.id = f.slice_out) AS utid_out,
       (SELECT t.name FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        JOIN thread_record AS t ON t.id = k.utid WHERE s.id = f.slice_out) AS thread_name_out,
       (SELECT coalesce(k.upid, t.upid) FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        LEFT JOIN thread_record AS t ON t.id = k.utid WHERE s.id = f.slice_out) AS upid_out,
       (SELECT p.name FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        LEFT JOIN thread_record AS t ON t.id = k.utid JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid)
        WHERE s.id = f.slice_out) AS process_name_out,
       slice_in,
       (SELECT s.ts FROM slice_record AS s WHERE s.id = f.slice_in) AS ts_in,
       (SELECT s.dur FROM slice_record AS s WHERE s.id = f.slice_in) AS dur_in,
       (SELECT (SELECT value FROM string WHERE string.id = s.name) FROM slice_record AS s WHERE s.id = f.slice_in) AS name_in,
       (SELECT s.track_id FROM slice_record AS s WHERE s.id = f.slice_in) AS track_id_in,
       (SELECT k.utid FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        WHERE s.id = f.slice_in) AS utid_in,
       (SELECT t.name FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        JOIN thread_record AS t ON t.id = k.utid WHERE s.id = f.slice_in) AS thread_name_in,
       (SELECT coalesce(k.upid, t.upid) FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        LEFT JOIN thread_record AS t ON t.id = k.utid WHERE s.id = f.slice_in) AS upid_in,
       (SELECT p.name FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
        LEFT JOIN thread_record AS t ON t.id = k.utid JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid)
        WHERE s.id = f.slice_in) AS process_name_in
FROM flow AS f;

CREATE VIEW gpu_slice AS
SELECT s.id, s.ts, s.dur, s.track_id,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.depth, s.parent_id, s.arg_set_id, s.id AS slice_id,
       (SELECT value FROM string WHERE string.id = s.category) AS cat,
       g.context_id, g.render_target,
       (SELECT value FROM string WHERE string.id = g.render_target_name) AS render_target_name, g.render_pass,
       (SELECT value FROM string WHERE string.id = g.render_pass_name) AS render_pass_name, g.command_buffer,
       (SELECT value FROM string WHERE string.id = g.command_buffer_name) AS command_buffer_name,
       NULL AS frame_id, g.submission_id, g.hw_queue_id, g.upid, g.render_subpasses, g.render_stage_category
FROM gpu_slice_record AS g JOIN slice_record AS s ON s.id = g.id;

-- The expected frames of SurfaceFlinger.
CREATE VIEW expected_frame_timeline_slice AS
SELECT s.id, s.ts, s.dur, s.track_id,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.depth, s.parent_id, s.arg_set_id,
       json_extract(a.args, '$."Display frame token"') AS display_frame_token,
       json_extract(a.args, '$."Surface frame token"') AS surface_frame_token,
       k.upid,
       json_extract(a.args, '$."Layer name"') AS layer_name
FROM track_record AS k
CROSS JOIN slice_record AS s ON s.track_id = k.id
LEFT JOIN arg_set AS a ON a.id = s.arg_set_id
WHERE k.type = 'android_expected_frame_timeline';

-- The actual frames.
CREATE VIEW actual_frame_timeline_slice AS
SELECT s.id, s.ts, s.dur, s.track_id,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       s.depth, s.parent_id, s.arg_set_id,
       json_extract(a.args, '$."Display frame token"') AS display_frame_token,
       json_extract(a.args, '$."Surface frame token"') AS surface_frame_token,
       k.upid,
       json_extract(a.args, '$."Layer name"') AS layer_name,
       json_extract(a.args, '$."Present type"') AS present_type,
       json_extract(a.args, '$."On time finish"') AS on_time_finish,
       json_extract(a.args, '$."GPU composition"') AS gpu_composition,
       json_extract(a.args, '$."Jank type"') AS jank_type,
       json_extract(a.args, '$."Jank severity type"') AS jank_severity_type,
       json_extract(a.args, '$."Prediction type"') AS prediction_type,
       json_extract(a.args, '$."Jank tag"') AS jank_tag,
       json_extract(a.args, '$."Jank tag (experimental)"') AS jank_tag_experimental,
       json_extract(a.args, '$."Jank Severity Score"') AS jank_score,
       json_extract(a.args, '$."Latched unsignaled count"') AS latched_unsignaled_count,
       json_extract(a.args, '$."Addressable unsignaled latch count"') AS addressable_unsignaled_latch_count,
       json_extract(a.args, '$."Latched fence state"') AS latched_fence_state
FROM track_record AS k
CROSS JOIN slice_record AS s ON s.track_id = k.id
LEFT JOIN arg_set AS a ON a.id = s.arg_set_id
WHERE k.type = 'android_actual_frame_timeline';

-- The states of tracks, with their start and duration.
CREATE VIEW state AS
SELECT id, ts, dur, track_id,
       (SELECT value FROM string WHERE string.id = s.category) AS category,
       (SELECT value FROM string WHERE string.id = s.value) AS value,
       arg_set_id
FROM state_record AS s;

CREATE VIEW counter AS
SELECT id, ts, track_id, value, arg_set_id, CASE doubt WHEN 5 THEN 'packets_lost' END AS doubt FROM counter_record;

CREATE VIEW counters AS
SELECT c.id, c.ts, c.track_id, c.value, c.arg_set_id, t.name, t.unit
FROM counter_record AS c JOIN track_record AS t ON t.id = c.track_id;

-- The work of GPUs in traces of PyTorch's profiler (Kineto): a row is a kernel, a copy or a memset, with the call that
-- launched it and the operator around this call. A launch has the correlation of its kernel. Correlations and external ids
-- count in each file anew. The external id of a call outside of all operators is its correlation, and can be the number of an
-- operator elsewhere; so an operator counts only if the launch lies in it. SQLite builds an index on all launches
-- and one on all operators for each query, so one row takes as long as all.
CREATE VIEW pytorch_kernel AS
WITH activity AS MATERIALIZED (
  SELECT s.id, s.ts, s.dur, s.name, k.machine_id, k.trace_file_id, k.utid,
         (SELECT value FROM string WHERE string.id = s.category) AS category,
         CAST(a.args ->> '$."args.device"' AS INTEGER) AS gpu,
         CAST(a.args ->> '$."args.stream"' AS INTEGER) AS stream,
         CAST(a.args ->> '$."args.correlation"' AS INTEGER) AS correlation,
         CAST(coalesce(a.args ->> '$."args.External id"', a.args ->> '$."args.external id"') AS INTEGER) AS external_id,
         a.args ->> '$."args.Collective name"' AS collective
  FROM slice_record AS s
  JOIN track_record AS k ON k.id = s.track_id
  JOIN trace_file AS f ON f.id = k.trace_file_id AND f.trace_type = 'json'
  LEFT JOIN arg_set AS a ON a.id = s.arg_set_id
  WHERE s.category IN (SELECT id FROM string WHERE value IN ('kernel', 'gpu_memcpy', 'gpu_memset', 'Kernel', 'Memcpy', 'Memset'))
),
launch AS MATERIALIZED (
  SELECT k.trace_file_id, CAST(a.args ->> '$."args.correlation"' AS INTEGER) AS correlation, min(s.id) AS id, s.ts
  FROM slice_record AS s
  JOIN track_record AS k ON k.id = s.track_id
  JOIN arg_set AS a ON a.id = s.arg_set_id
  WHERE s.category IN (SELECT id FROM string WHERE value GLOB '*_runtime' OR value GLOB '*_driver' OR value = 'Runtime')
  GROUP BY 1, 2
),
operator AS MATERIALIZED (
  SELECT k.trace_file_id,
         CAST(coalesce(a.args ->> '$."args.External id"', a.args ->> '$."args.external id"') AS INTEGER) AS external_id,
         min(s.id) AS id, s.ts, s.dur
  FROM slice_record AS s
  JOIN track_record AS k ON k.id = s.track_id
  JOIN arg_set AS a ON a.id = s.arg_set_id
  WHERE s.category IN (SELECT id FROM string WHERE value IN ('cpu_op', 'Operator'))
  GROUP BY 1, 2
),
launched AS MATERIALIZED (
  SELECT v.*, coalesce(l.id, (SELECT min(f.slice_out) FROM flow AS f WHERE f.slice_in = v.id)) AS launch_id,
         coalesce(l.ts, (SELECT s.ts FROM flow AS f JOIN slice_record AS s ON s.id = f.slice_out
                         WHERE f.slice_in = v.id ORDER BY s.id LIMIT 1)) AS launch_ts
  FROM activity AS v
  LEFT JOIN launch AS l ON l.trace_file_id = v.trace_file_id AND l.correlation = v.correlation
),
named AS MATERIALIZED (
  SELECT v.*, o.id AS operator_id
  FROM launched AS v
  LEFT JOIN operator AS o
    ON o.trace_file_id = v.trace_file_id AND o.external_id = v.external_id
   AND coalesce(v.launch_ts, v.ts) >= o.ts AND (v.launch_ts IS NULL OR o.dur < 0 OR v.launch_ts <= o.ts + o.dur)
),
-- The operators around other launches, such as those of graphs.
around AS MATERIALIZED (
  SELECT launch_id,
         (WITH RECURSIVE up (id, parent_id, category, depth) AS (
            SELECT s.id, s.parent_id, s.category, s.depth FROM slice_record AS s WHERE s.id = l.launch_id
            UNION ALL
            SELECT s.id, s.parent_id, s.category, s.depth FROM up JOIN slice_record AS s ON s.id = up.parent_id
          )
          SELECT id FROM up
          WHERE category IN (SELECT id FROM string WHERE value IN ('cpu_op', 'Operator'))
          ORDER BY depth DESC LIMIT 1) AS operator_id
  FROM (SELECT DISTINCT launch_id FROM named WHERE operator_id IS NULL AND launch_id IS NOT NULL) AS l
)
SELECT v.id, v.ts, v.dur,
       (SELECT value FROM string WHERE string.id = v.name) AS name,
       CASE WHEN v.category LIKE '%memcpy' THEN 'memcpy' WHEN v.category LIKE '%memset' THEN 'memset'
            WHEN v.collective IS NOT NULL OR (SELECT value FROM string WHERE string.id = v.name) LIKE 'nccl%' THEN 'collective'
            ELSE 'compute' END AS kind,
       v.machine_id, v.trace_file_id,
       coalesce(v.gpu, (SELECT p.pid FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid
                        WHERE t.id = v.utid)) AS gpu,
       coalesce(v.stream, (SELECT t.tid FROM thread_record AS t WHERE t.id = v.utid)) AS stream,
       v.correlation, v.launch_id, v.ts - v.launch_ts AS launch_delay,
       coalesce(v.operator_id, a.operator_id) AS operator_id,
       (SELECT value FROM string WHERE string.id =
          (SELECT s.name FROM slice_record AS s WHERE s.id = coalesce(v.operator_id, a.operator_id))) AS operator_name
FROM named AS v
LEFT JOIN around AS a ON a.launch_id = iif(v.operator_id IS NULL, v.launch_id, NULL);

-- The gaps in which a GPU did nothing, each with the kernel that ended it. cpu_wait is the part before the call that launched
-- this kernel: the GPU waited for the CPU.
CREATE VIEW pytorch_gpu_idle AS
SELECT idle_ts AS ts, ts - idle_ts AS dur, machine_id, trace_file_id, gpu,
       max(0, min(ts - idle_ts, ts - launch_delay - idle_ts)) AS cpu_wait,
       id AS kernel_id, name AS kernel_name, launch_id, operator_id, operator_name
FROM (
  SELECT *, max(ts + max(dur, 0)) OVER (
    PARTITION BY trace_file_id, gpu ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) AS idle_ts
  FROM pytorch_kernel
)
WHERE ts > idle_ts;

-- The time of each GPU, by the kinds of its work. In each sum, work of several streams at one time counts once. Nothing changes
-- between a start or an end and the next one, so the sums are over these pieces.
CREATE VIEW pytorch_gpu AS
WITH kernel AS MATERIALIZED (
  SELECT machine_id, trace_file_id, gpu, ts, ts + max(dur, 0) AS ts_end,
         kind = 'compute' AS compute, kind = 'collective' AS collective, kind LIKE 'mem%' AS copy
  FROM pytorch_kernel
)
SELECT machine_id, trace_file_id, gpu, min(ts) AS start_ts, max(ts) AS end_ts, sum(is_start) AS activities,
       sum(iif(compute + collective + copy > 0, dur, 0)) AS busy,
       sum(iif(compute + collective + copy = 0, dur, 0)) AS idle,
       sum(iif(compute > 0, dur, 0)) AS compute,
       sum(iif(collective > 0, dur, 0)) AS collective,
       sum(iif(collective > 0 AND compute > 0, dur, 0)) AS overlap,
       sum(iif(copy > 0, dur, 0)) AS copy
FROM (
  SELECT machine_id, trace_file_id, gpu, ts, is_start, coalesce(lead(ts) OVER by_time - ts, 0) AS dur,
         sum(compute) OVER by_time AS compute, sum(collective) OVER by_time AS collective, sum(copy) OVER by_time AS copy
  FROM (
    SELECT machine_id, trace_file_id, gpu, ts, 1 AS is_start, compute, collective, copy FROM kernel
    UNION ALL
    SELECT machine_id, trace_file_id, gpu, ts_end, 0, -compute, -collective, -copy FROM kernel
  )
  WINDOW by_time AS (PARTITION BY trace_file_id, gpu ORDER BY ts ROWS UNBOUNDED PRECEDING)
)
GROUP BY trace_file_id, gpu;

-- The kernels of collectives. overlap is the time in which the same GPU also computed: the compute time up to the kernel's
-- end minus that up to its start, both from running sums over all starts and ends.
CREATE VIEW pytorch_collective AS
WITH kernel AS MATERIALIZED (
  SELECT * FROM pytorch_kernel WHERE kind IN ('compute', 'collective')
),
computed AS (
  SELECT collective_id,
         sum(iif(running > 0, dur, 0)) OVER (PARTITION BY trace_file_id, gpu ORDER BY ts ROWS UNBOUNDED PRECEDING) AS dur
  FROM (
    SELECT collective_id, trace_file_id, gpu, ts, ts - lag(ts) OVER by_time AS dur,
           sum(change) OVER (by_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS running
    FROM (
      SELECT iif(kind = 'collective', id, NULL) AS collective_id, trace_file_id, gpu, ts, kind = 'compute' AS change FROM kernel
      UNION ALL
      SELECT iif(kind = 'collective', id, NULL), trace_file_id, gpu, ts + max(dur, 0), -(kind = 'compute') FROM kernel
    )
    WINDOW by_time AS (PARTITION BY trace_file_id, gpu ORDER BY ts)
  )
)
SELECT k.id, k.ts, k.dur, k.name, k.machine_id, k.trace_file_id, k.gpu, k.stream, c.overlap,
       CAST(a.args ->> '$."args.Collective name"' AS TEXT) AS collective,
       CAST(a.args ->> '$."args.Process Group Name"' AS TEXT) AS process_group,
       CAST(a.args ->> '$."args.Seq"' AS INTEGER) AS seq,
       CAST(a.args ->> '$."args.Group size"' AS INTEGER) AS group_size,
       CAST(a.args ->> '$."args.dtype"' AS TEXT) AS dtype,
       CAST(a.args ->> '$."args.In msg nelems"' AS INTEGER) AS in_elements,
       CAST(a.args ->> '$."args.Out msg nelems"' AS INTEGER) AS out_elements,
       k.launch_id, k.launch_delay, k.operator_id, k.operator_name
FROM kernel AS k
JOIN (
  SELECT collective_id, max(dur) - min(dur) AS overlap FROM computed WHERE collective_id IS NOT NULL GROUP BY collective_id
) AS c ON c.collective_id = k.id
JOIN slice_record AS s ON s.id = k.id
LEFT JOIN arg_set AS a ON a.id = s.arg_set_id;

-- The memory that PyTorch's allocators gave out and took back, with the operator that asked for it.
CREATE VIEW pytorch_memory AS
SELECT id, ts, machine_id, trace_file_id, utid, device_type, device_id, bytes, address, allocated, reserved, operator_id,
       (SELECT value FROM string WHERE string.id = (SELECT o.name FROM slice_record AS o WHERE o.id = m.operator_id)) AS operator_name
FROM (
  SELECT s.id, s.ts, k.machine_id, k.trace_file_id, k.utid,
         CAST(a.args ->> '$."args.Device Type"' AS INTEGER) AS device_type,
         CAST(a.args ->> '$."args.Device Id"' AS INTEGER) AS device_id,
         CAST(a.args ->> '$."args.Bytes"' AS INTEGER) AS bytes,
         CAST(a.args ->> '$."args.Addr"' AS INTEGER) AS address,
         CAST(a.args ->> '$."args.Total Allocated"' AS INTEGER) AS allocated,
         CAST(a.args ->> '$."args.Total Reserved"' AS INTEGER) AS reserved,
         (WITH RECURSIVE up (id, parent_id, category, depth) AS (
            SELECT s.id, s.parent_id, s.category, s.depth
            UNION ALL
            SELECT p.id, p.parent_id, p.category, p.depth FROM up JOIN slice_record AS p ON p.id = up.parent_id
          )
          SELECT id FROM up
          WHERE category IN (SELECT id FROM string WHERE value IN ('cpu_op', 'Operator'))
          ORDER BY depth DESC LIMIT 1) AS operator_id
  FROM slice_record AS s
  JOIN track_record AS k ON k.id = s.track_id
  JOIN trace_file AS f ON f.id = k.trace_file_id AND f.trace_type = 'json'
  LEFT JOIN arg_set AS a ON a.id = s.arg_set_id
  WHERE s.name IN (SELECT id FROM string WHERE value = '[memory]')
) AS m;

-- Samples of callstacks. This view and the next ones look up their columns row by row, so columns that a query
-- does not use cost nothing.
CREATE VIEW stack_sample AS
SELECT id, ts, (SELECT x.name FROM stack_sample_source AS x WHERE x.id = s.source) AS source,
       task_id AS task_context_id, execution_id AS execution_context_id, callsite_id, session_id
FROM stack_sample_record AS s
WHERE callsite_id IS NOT NULL;

CREATE VIEW stack_sample_session AS
SELECT id, (SELECT x.name FROM stack_sample_source AS x WHERE x.id = s.source) AS source, timebase_unit,
       NULL AS cmdline
FROM stack_sample_session_record AS s
WHERE is_sampled;

CREATE VIEW stack_sample_task_context AS
SELECT id, upid, utid, async_context_id
FROM stack_sample_task_record
WHERE is_sampled;

CREATE VIEW stack_sample_async_context AS
SELECT id, name, kind, parent_id
FROM stack_sample_async_record
WHERE is_sampled;

CREATE VIEW stack_sample_execution_context AS
SELECT id, ucpu, cpu_mode
FROM stack_sample_execution_record
WHERE is_sampled;

CREATE VIEW stack_sample_counter_track AS
SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description,
       (SELECT coalesce(json_extract(a.args, '$.session_id'), json_extract(a.args, '$.perf_session_id'))
        FROM arg_set AS a WHERE a.id = t.dimension_arg_set_id) AS session_id,
       ucpu & 4095 AS cpu,
       (SELECT json_extract(a.args, '$.is_timebase') FROM arg_set AS a WHERE a.id = t.source_arg_set_id) AS is_timebase
FROM track_record AS t
WHERE id IN (SELECT k.id FROM stack_sample_counter_track_record AS k);

CREATE VIEW stack_sample_counter AS
SELECT c.id, s.id AS stack_sample_id, c.track_id, c.value
FROM stack_sample_record AS s
CROSS JOIN counter_record AS c ON c.id BETWEEN s.counter_id AND s.counter_id + s.counters - 1
WHERE s.callsite_id IS NOT NULL;

-- Samples of perf, also those without a callstack.
CREATE VIEW perf_sample AS
SELECT id, ts,
       (SELECT t.utid FROM stack_sample_task_record AS t WHERE t.id = s.task_id) AS utid,
       (SELECT e.ucpu & 4095 FROM stack_sample_execution_record AS e WHERE e.id = s.execution_id) AS cpu,
       coalesce((SELECT e.cpu_mode FROM stack_sample_execution_record AS e WHERE e.id = s.execution_id), 'unknown')
         AS cpu_mode,
       callsite_id, unwind_error, session_id AS perf_session_id
FROM stack_sample_record AS s
WHERE source = 0;

-- Samples of perf with their threads and their callstacks: from the outermost function to the innermost, with ; between
-- them. The function callstack(callsite_id) gives the same text.
CREATE VIEW perf_sample_with_stack AS
SELECT id, ts, utid,
       (SELECT t.tid FROM thread_record AS t WHERE t.id = s.utid) AS tid,
       (SELECT t.name FROM thread_record AS t WHERE t.id = s.utid) AS thread_name,
       (SELECT t.upid FROM thread_record AS t WHERE t.id = s.utid) AS upid,
       (SELECT p.pid FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid WHERE t.id = s.utid) AS pid,
       (SELECT p.name FROM thread_record AS t JOIN process_record AS p ON p.id = t.upid
        WHERE t.id = s.utid) AS process_name,
       cpu, cpu_mode, callsite_id,
       (WITH RECURSIVE up (id, parent_id, frame_id, depth) AS (
          SELECT c.id, c.parent_id, c.frame_id, c.depth FROM stack_profile_callsite AS c WHERE c.id = s.callsite_id
          UNION
          SELECT c.id, c.parent_id, c.frame_id, c.depth
          FROM up JOIN stack_profile_callsite AS c ON c.id = up.parent_id
        )
        SELECT group_concat(replace(name, ';', ':'), ';')
        FROM (
          SELECT coalesce(nullif(iif(y.name IS f.name, coalesce(f.deobfuscated_name, y.name), y.name), ''),
                          nullif(f.deobfuscated_name, ''), nullif(f.name, ''),
                          coalesce(nullif(m.name, ''), '[unknown]') || '+0x' || printf('%llx', f.rel_pc)) AS name
          FROM up
          JOIN stack_profile_frame AS f ON f.id = up.frame_id
          LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping
          LEFT JOIN stack_profile_symbol AS y ON y.symbol_set_id = f.symbol_set_id
          ORDER BY up.depth, y.id DESC
        )) AS stack,
       unwind_error, perf_session_id
FROM perf_sample AS s;

-- The mappings with frames that have no name, neither from the recorder nor from symbols.
CREATE VIEW unsymbolized_mapping AS
SELECT m.name, m.build_id, count(*) AS frames
FROM stack_profile_frame AS f
JOIN stack_profile_mapping AS m ON m.id = f.mapping
WHERE f.symbol_set_id IS NULL AND ifnull(f.name, '') = ''
GROUP BY m.name, m.build_id
ORDER BY frames DESC, m.name, m.build_id;

-- The number of samples of each callstack, and the memory that it allocated: by itself, and together with the
-- callstacks that it leads to. For heap profiles, source is heap: and the name of the heap; counts and sizes are those
-- of memory that was not freed.
CREATE VIEW callsite_total AS
WITH RECURSIVE
own (source, callsite_id, count, size) AS (
  SELECT (SELECT x.name FROM stack_sample_source AS x WHERE x.id = s.source), callsite_id, count(*), NULL
  FROM stack_sample_record AS s
  WHERE callsite_id IS NOT NULL
  GROUP BY source, callsite_id
  UNION ALL
  SELECT 'heap:' || (SELECT value FROM string WHERE string.id = h.heap_name), callsite_id, total(count), total(size)
  FROM heap_profile_allocation_record AS h
  GROUP BY heap_name, callsite_id
),
up (source, callsite_id, is_own, count, size) AS (
  SELECT source, callsite_id, 1, count, size FROM own
  UNION ALL
  SELECT up.source, c.parent_id, 0, up.count, up.size
  FROM up JOIN stack_profile_callsite AS c ON c.id = up.callsite_id
  WHERE c.parent_id < c.id
)
SELECT source, callsite_id, CAST(total(iif(is_own, count, 0)) AS INTEGER) AS self_count, CAST(total(count) AS INTEGER) AS total_count,
       iif(max(size IS NOT NULL), CAST(total(iif(is_own, size, 0)) AS INTEGER), NULL) AS self_size,
       iif(max(size IS NOT NULL), CAST(total(size) AS INTEGER), NULL) AS total_size
FROM up
GROUP BY source, callsite_id;

CREATE VIEW perf_session AS
SELECT id, id AS perf_session_id, NULL AS cmdline
FROM stack_sample_session_record
WHERE source = 0;

CREATE VIEW perf_counter_track AS
SELECT id, name, parent_id, type, source_arg_set_id, machine_id, unit, description,
       (SELECT json_extract(a.args, '$.perf_session_id') FROM arg_set AS a WHERE a.id = t.dimension_arg_set_id)
         AS perf_session_id,
       ucpu & 4095 AS cpu,
       (SELECT json_extract(a.args, '$.is_timebase') FROM arg_set AS a WHERE a.id = t.source_arg_set_id) AS is_timebase
FROM track_record AS t
WHERE type = 'perf_cpu_counter';

-- Samples of Chrome and of other profilers of programs.
CREATE VIEW cpu_profile_stack_sample AS
SELECT id, ts, callsite_id,
       (SELECT t.utid FROM stack_sample_task_record AS t WHERE t.id = s.task_id) AS utid,
       coalesce(process_priority, 0) AS process_priority
FROM stack_sample_record AS s
WHERE source BETWEEN 1 AND 5;

CREATE VIEW heap_profile_allocation AS
SELECT id, ts, upid, (SELECT value FROM string WHERE string.id = h.heap_name) AS heap_name, callsite_id, count, size
FROM heap_profile_allocation_record AS h;

-- The objects of Java heaps. root_type says why an object is alive by itself.
CREATE VIEW heap_graph_object AS
SELECT id, upid, graph_sample_ts, self_size, native_size, reference_set_id, root_distance >= 0 AS reachable,
       CASE heap_type WHEN 1 THEN 'HEAP_TYPE_APP' WHEN 2 THEN 'HEAP_TYPE_ZYGOTE' WHEN 3 THEN 'HEAP_TYPE_BOOT_IMAGE' END
         AS heap_type,
       type_id,
       CASE root_type WHEN 0 THEN 'ROOT_UNKNOWN' WHEN 1 THEN 'ROOT_JNI_GLOBAL' WHEN 2 THEN 'ROOT_JNI_LOCAL'
                      WHEN 3 THEN 'ROOT_JAVA_FRAME' WHEN 4 THEN 'ROOT_NATIVE_STACK' WHEN 5 THEN 'ROOT_STICKY_CLASS'
                      WHEN 6 THEN 'ROOT_THREAD_BLOCK' WHEN 7 THEN 'ROOT_MONITOR_USED' WHEN 8 THEN 'ROOT_THREAD_OBJECT'
                      WHEN 9 THEN 'ROOT_INTERNED_STRING' WHEN 10 THEN 'ROOT_FINALIZING' WHEN 11 THEN 'ROOT_DEBUGGER'
                      WHEN 12 THEN 'ROOT_REFERENCE_CLEANUP' WHEN 13 THEN 'ROOT_VM_INTERNAL'
                      WHEN 14 THEN 'ROOT_JNI_MONITOR' END AS root_type,
       root_distance, object_data_id
FROM heap_graph_object_record;

CREATE VIEW heap_graph_reference AS
SELECT r.id, reference_set_id, owner_id, owned_id, f.name AS field_name, f.type_name AS field_type_name,
       f.deobfuscated_name AS deobfuscated_field_name
FROM heap_graph_reference_record AS r LEFT JOIN heap_graph_field AS f ON f.id = r.field_id;

CREATE VIEW heap_graph_object_data AS
SELECT id, field_set_id, NULL AS value_string, NULL AS array_element_type, NULL AS array_element_count,
       NULL AS array_data_id, NULL AS array_data_hash
FROM heap_graph_object_data_record;

CREATE VIEW heap_graph_primitive AS
SELECT id, field_set_id, field_name, field_type, NULL AS bool_value, NULL AS byte_value, NULL AS char_value,
       NULL AS short_value, iif(field_type = 'int', value, NULL) AS int_value,
       iif(field_type = 'long', value, NULL) AS long_value, NULL AS float_value, NULL AS double_value
FROM heap_graph_primitive_record;

CREATE VIEW profiler_smaps AS
SELECT id, upid, ts, iif(is_deleted, path_trimmed || ' (deleted)', path_trimmed) AS path, path_trimmed, aggregate_count,
       is_deleted, size_kb, private_dirty_kb, swap_kb, file_name, start_address, module_timestamp, module_debugid,
       module_debug_path, protection_flags, private_clean_resident_kb, shared_dirty_resident_kb,
       shared_clean_resident_kb, locked_kb, proportional_resident_kb, rss_kb, anonymous_kb, pss_dirty_kb, swap_pss_kb
FROM smaps_record;

CREATE VIEW process_memory_mappings AS
SELECT id, upid, ts, path_trimmed AS path, aggregate_count, is_deleted, size_kb, rss_kb, anonymous_kb, swap_kb,
       shared_clean_resident_kb AS shared_clean_kb, shared_dirty_resident_kb AS shared_dirty_kb,
       private_clean_resident_kb AS private_clean_kb, private_dirty_kb, locked_kb,
       proportional_resident_kb AS pss_kb, pss_dirty_kb, swap_pss_kb
FROM smaps_record;

-- The arguments of slices, tracks, processes, values and kernel events. SQLite reads integers of 2^63 and more in JSON
-- as real numbers, so this view computes their 64 bits from the digits, if a path can contain the key; otherwise they
-- stay real numbers.
-- The plus signs make the columns of both parts alike; only then SQLite looks up sets by their numbers in a join.
CREATE VIEW args AS
SELECT 4294967296 * (arg_set_id + 1) + place AS id, arg_set_id, +flat_key AS flat_key, +key AS key,
       CASE WHEN json_type IN ('integer', 'true', 'false') AND typeof(bits) = 'integer' THEN bits END AS int_value,
       CASE json_type WHEN 'text' THEN bits END AS string_value,
       CASE typeof(bits) WHEN 'real' THEN bits END AS real_value,
       +value_type AS value_type,
       CASE value_type WHEN 'bool' THEN json_type
                       WHEN 'uint' THEN printf('%llu', bits)
                       WHEN 'pointer' THEN printf('0x%llx', bits)
                       ELSE CAST(bits AS TEXT) END AS display_value
FROM (
  SELECT s.id AS arg_set_id, j.id AS place, j.key, j.type AS json_type,
         iif(t.flat_keys IS NULL, j.key,
             coalesce((SELECT x.value FROM json_each(t.flat_keys) AS x WHERE x.key = j.key), j.key)) AS flat_key,
         coalesce(iif(t.types IS NULL, NULL, (SELECT x.value FROM json_each(t.types) AS x WHERE x.key = j.key)),
                  CASE j.type WHEN 'integer' THEN 'int' WHEN 'text' THEN 'string'
                              WHEN 'true' THEN 'bool' WHEN 'false' THEN 'bool' ELSE j.type END) AS value_type,
         CASE WHEN j.type = 'integer' AND typeof(j.value) = 'real'
                   AND j.key <> '' AND json_quote(j.key) = '"' || j.key || '"'
              THEN (SELECT 10 * (substr(digits, 1, length(digits) - 1) - 1844674407370955160) + substr(digits, -1) - 16
                    FROM (SELECT s.args -> j.fullkey AS digits))
              ELSE j.value END AS bits
  FROM arg_set AS s
  LEFT JOIN arg_type AS t ON t.id = s.type_id,
  json_each(s.args) AS j
)
UNION ALL
SELECT 4294967296 * (a.id + 1) + j.id, a.id, +j.key, +j.key,
       CASE WHEN j.type = 'integer' AND typeof(j.value) = 'real'
            THEN (SELECT 10 * (substr(digits, 1, length(digits) - 1) - 1844674407370955160) + substr(digits, -1) - 16
                  FROM (SELECT a.args -> j.fullkey AS digits))
            WHEN j.type IN ('integer', 'true', 'false') THEN j.value END,
       CASE WHEN j.type IN ('text', 'array', 'object') THEN j.value END,
       CASE WHEN j.type = 'real' THEN j.value END,
       CASE j.type WHEN 'integer' THEN iif(typeof(j.value) = 'real', 'uint', 'int') WHEN 'text' THEN 'string'
                   WHEN 'true' THEN 'bool' WHEN 'false' THEN 'bool' WHEN 'array' THEN 'json' WHEN 'object' THEN 'json'
                   ELSE j.type END,
       CASE WHEN j.type IN ('true', 'false') THEN j.type
            WHEN j.type = 'integer' AND typeof(j.value) = 'real' THEN a.args -> j.fullkey
            ELSE CAST(j.value AS TEXT) END
FROM ftrace_args AS a, json_each(a.args) AS j;

-- A row is a clock.
CREATE VIEW clock AS
SELECT machine_id, clock_id, seq_id, nullif(file, -1) AS trace_file_id, name, scope, unit_multiplier_ns,
       is_incremental, is_monotonic, snapshots, first_value, last_value, packets, path, hops
FROM clock_record;

-- How each part, the data of a machine in a file, got its place on trace time.
CREATE VIEW placement AS
SELECT trace_file_id, machine_id, own_from IS NOT NULL AS isolated, how, offset, error, boots_differ
FROM part;

-- The clock of each packet's timestamp: the key of its row in clock.
CREATE VIEW packet_clock AS
SELECT packet_id, machine_id, clock_id, seq_id, nullif(file, -1) AS trace_file_id
FROM (
  SELECT p.id AS packet_id, p.machine_id, p.clock_id, iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0) AS seq_id,
         iif(p.clock_id BETWEEN 64 AND 127, p.trace_file_id, OWNER(p.id, p)) AS file
  FROM packet AS p
  WHERE p.clock_id IS NOT NULL
);

-- The solved clock graph: clock_step, with NULL for a step without a lower bound.
CREATE VIEW clock_mapping AS
SELECT machine_id,
       clock_id,
       seq_id,
       nullif(file, -1) AS trace_file_id,
       nullif(start_value, -9223372036854775808) AS start_value,
       end_value,
       to_clock_id,
       offset
FROM clock_step;

-- The rate-aware conversion, in nanoseconds, and its error:
--   target = value + offset + round((value - start_value) * slope)
--   error = error + (value - start_value) * error_slope
-- For the kind `before`, use end_value instead of start_value. The error is NULL if it is unknown,
-- because the path uses an assumption.
CREATE VIEW clock_mapping_linear AS
SELECT r.machine_id,
       r.clock_id,
       r.seq_id,
       nullif(r.file, -1) AS trace_file_id,
       nullif(l.start_value, -9223372036854775808) AS start_value,
       l.end_value,
       r.to_clock_id,
       l.offset,
       l.slope,
       l.error,
       l.error_slope,
       l.kind
FROM clock_route AS r
JOIN clock_line AS l ON l.route_id = r.id;

-- The time of each packet with a reading by the linear conversion, and the range of its possible
-- error. earliest and latest are NULL if the error is unknown.
CREATE VIEW packet_interval AS
SELECT id, ts - error AS earliest, ts, ts + error AS latest
FROM (
  SELECT id,
         value + offset + CAST(round((value - anchor) * slope) AS INTEGER) AS ts,
         CAST(error_at AS INTEGER) + (error_at > CAST(error_at AS INTEGER)) AS error
  FROM (
    SELECT p.id,
           p.clock_ts * c.unit_multiplier_ns AS value,
           l.offset,
           l.slope,
           iif(l.kind = 'before', l.end_value, l.start_value) AS anchor,
           l.error + (p.clock_ts * c.unit_multiplier_ns - iif(l.kind = 'before', l.end_value, l.start_value))
             * l.error_slope AS error_at
    FROM packet AS p
    JOIN clock_record AS c
      ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
     AND c.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END
     AND c.file = iif(p.clock_id BETWEEN 64 AND 127, p.trace_file_id, OWNER(p.id, p))
    JOIN clock_route AS r
      ON r.machine_id = c.machine_id AND r.clock_id = c.clock_id AND r.seq_id = c.seq_id AND r.file = c.file
     AND r.to_clock_id = (SELECT value FROM fact WHERE name = 'trace_time_clock_id')
    JOIN clock_line AS l
      ON l.route_id = r.id
     AND l.start_value = (
       SELECT max(start_value) FROM clock_line
       WHERE route_id = r.id AND start_value <= p.clock_ts * c.unit_multiplier_ns
     )
    WHERE p.clock_ts IS NOT NULL AND p.unresolved IS NULL
  )
);

-- The packets that a later snapshot would move: packet.ts uses the snapshots up to the packet.
-- resync_ts is NULL if the packet has no time any more, because a clock went backwards later. The
-- view is empty if the import used all snapshots.
CREATE VIEW packet_resync AS
SELECT id, ts, resync_ts, resync_ts - ts AS difference, timestamp, clock_id, clock_ts, seq_id,
       machine_id, trace_file_id, type
FROM (
  SELECT p.*,
         p.clock_ts * c.unit_multiplier_ns + (
           SELECT s.offset
           FROM clock_step AS s
           WHERE s.machine_id = c.machine_id AND s.clock_id = c.clock_id AND s.seq_id = c.seq_id AND s.file = c.file
             AND s.to_clock_id = (SELECT value FROM fact WHERE name = 'trace_time_clock_id')
             AND s.start_value <= p.clock_ts * c.unit_multiplier_ns
           ORDER BY s.start_value DESC
           LIMIT 1
         ) AS resync_ts
  FROM packet AS p
  JOIN clock_record AS c
    ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
   AND c.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END
   AND c.file = iif(p.clock_id BETWEEN 64 AND 127, p.trace_file_id, OWNER(p.id, p))
  WHERE p.ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
    AND (SELECT value FROM fact WHERE name = 'conversion') = 'nearest'
)
WHERE resync_ts IS NOT ts;

-- The packets that rely on earlier packets of their sequence, if damage may have destroyed some of
-- these. The next packet that clears the state of the sequence ends this.
CREATE VIEW packet_unsure AS
SELECT p.id, p.ts, p.seq_id, p.machine_id, p.type, u.time AS unsure_time, u.names AS unsure_names,
       l.offset AS damage_offset, l.size AS damage_size, l.id AS log_id
FROM unsure_record AS u
JOIN packet AS p ON p.id = u.packet_id
LEFT JOIN import_log AS l ON l.id = u.log_id;

-- Facts about the trace and its import, in trace processor's columns and as one value.
CREATE VIEW metadata AS
SELECT id, name,
       CASE is_multi WHEN 1 THEN 'multi' ELSE 'single' END AS key_type,
       CASE typeof(value) WHEN 'integer' THEN value END AS int_value,
       CASE typeof(value) WHEN 'text' THEN value END AS str_value,
       machine_id,
       nullif(file, -1) AS trace_id,
       value,
       nullif(file, -1) AS trace_file_id
FROM fact;

-- The SQL functions read clock_snapshot, and notice changes by this number. It is random, so that
-- after a rollback another change cannot have the same number as the one that was rolled back.
INSERT INTO fact (id, name, value) VALUES (0, 'clock_snapshot_version', random());
CREATE TRIGGER clock_snapshot_inserted AFTER INSERT ON clock_snapshot BEGIN
  UPDATE fact SET value = random() WHERE name = 'clock_snapshot_version';
END;
CREATE TRIGGER clock_snapshot_updated AFTER UPDATE ON clock_snapshot BEGIN
  UPDATE fact SET value = random() WHERE name = 'clock_snapshot_version';
END;
CREATE TRIGGER clock_snapshot_deleted AFTER DELETE ON clock_snapshot BEGIN
  UPDATE fact SET value = random() WHERE name = 'clock_snapshot_version';
END;

-- Groups of events that are more than an hour, and ten times the time of all others, from the snapshots of their machine
-- and the events around them: few events, whose timestamps are most likely wrong.
CREATE VIEW time_outlier AS
WITH machine_of (machine_id) AS (
  SELECT machine_id FROM event_group GROUP BY machine_id HAVING count(*) > 1
),
-- The group that is nearest to a snapshot.
near AS (
  SELECT s.machine_id, g.start_ts, min(max(g.start_ts - s.ts, s.ts - g.end_ts, 0)) AS distance
  FROM machine_of AS m CROSS JOIN clock_snapshot AS s ON s.machine_id = m.machine_id CROSS JOIN event_group AS g ON g.machine_id = s.machine_id
  WHERE s.ts IS NOT NULL AND s.source NOT IN ('assumed', 'causality', 'manifest')
    AND ifnull(s.packet_id, -1) NOT IN (SELECT packet_id FROM import_log WHERE code = 'snapshot_of_zeros')
  GROUP BY s.id
),
home AS (
  SELECT m.machine_id, coalesce(n.start_ts, l.start_ts) AS start_ts, coalesce(n.end_ts, l.end_ts) AS end_ts,
         (SELECT sum(g.times) FROM event_group AS g WHERE g.machine_id = m.machine_id
            AND g.start_ts BETWEEN coalesce(n.start_ts, l.start_ts) AND coalesce(n.end_ts, l.end_ts)) AS times
  FROM machine_of AS m
  JOIN (SELECT machine_id, start_ts, end_ts, max(times) FROM event_group GROUP BY machine_id) AS l USING (machine_id)
  LEFT JOIN (SELECT g.machine_id, min(g.start_ts) AS start_ts, max(g.end_ts) AS end_ts
             FROM near AS n JOIN event_group AS g USING (machine_id, start_ts) GROUP BY g.machine_id) AS n USING (machine_id)
)
SELECT machine_id, start_ts, end_ts, times, home_start_ts, home_end_ts, home_times, is_before
FROM (
  SELECT g.*, h.start_ts AS home_start_ts, h.end_ts AS home_end_ts, h.times AS home_times, g.end_ts < h.start_ts AS is_before,
         sum(g.times) OVER (PARTITION BY g.machine_id, g.end_ts < h.start_ts) AS side_times
  FROM home AS h JOIN event_group AS g USING (machine_id)
  WHERE max(h.start_ts - g.end_ts, g.start_ts - h.end_ts) > max(3600000000000, 10 * (h.end_ts - h.start_ts))
)
WHERE side_times <= min(100, iif(is_before, home_times, max(home_times / 100, 3)));
