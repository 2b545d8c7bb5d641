-- Trace processor's tables over the tables of the model, and the additions of trace processor's
-- library and of timebase. The joins are plain: nothing here is fast.
DROP VIEW sched;
DROP TABLE loss;
ALTER TABLE process RENAME TO known_process;
ALTER TABLE thread RENAME TO known_thread;
ALTER TABLE cpu RENAME TO known_cpu;
ALTER TABLE sched_slice RENAME TO known_sched;
ALTER TABLE thread_state RENAME TO known_state;
ALTER TABLE slice RENAME TO known_slice;
ALTER TABLE counter RENAME TO known_counter;
ALTER TABLE flow RENAME TO known_flow;
ALTER TABLE thread_track RENAME TO of_thread;
ALTER TABLE process_track RENAME TO of_process;
ALTER TABLE cpu_track RENAME TO of_cpu;
ALTER TABLE thread_counter_track RENAME TO counter_of_thread;
ALTER TABLE process_counter_track RENAME TO counter_of_process;
ALTER TABLE cpu_counter_track RENAME TO counter_of_cpu;
ALTER TABLE gpu_counter_track RENAME TO counter_of_gpu;

-- timebase's doubts about slices; tests/doubt checks whether they are right.
ALTER TABLE known_slice ADD COLUMN doubt;

CREATE INDEX known_process_upid ON known_process (upid);
CREATE INDEX known_thread_utid ON known_thread (utid);
CREATE INDEX known_sched_utid ON known_sched (utid, ts);
CREATE INDEX known_sched_ts ON known_sched (ts);
CREATE INDEX known_sched_ucpu ON known_sched (ucpu, ts);
CREATE INDEX known_state_utid ON known_state (utid, ts);
CREATE INDEX known_state_id ON known_state (id);
CREATE INDEX known_slice_track ON known_slice (track_id, ts);
CREATE INDEX known_slice_parent ON known_slice (parent_id);
CREATE INDEX known_counter_track ON known_counter (track_id, ts);
CREATE INDEX of_thread_id ON of_thread (id);
CREATE INDEX of_process_id ON of_process (id);
CREATE INDEX of_cpu_id ON of_cpu (id);

CREATE TABLE trace_bounds (start_ts, end_ts);

CREATE VIEW process AS SELECT upid AS id, *, uid % 100000 AS android_appid, uid / 100000 AS android_user_id FROM known_process;
CREATE VIEW thread AS SELECT utid AS id, * FROM known_thread;
CREATE VIEW cpu AS SELECT ucpu AS id, * FROM known_cpu;

CREATE VIEW sched_slice AS SELECT rowid - 1 AS id, ts, dur, ucpu AS cpu, utid, end_state, priority, ucpu FROM known_sched;
CREATE VIEW sched AS
SELECT rowid - 1 AS id, ts, dur, ucpu AS cpu, utid, end_state, priority, ucpu, ts + dur AS ts_end, doubt FROM known_sched;
CREATE VIEW thread_state AS
SELECT id, ts, dur, ucpu AS cpu, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context, ucpu, doubt FROM known_state;

CREATE VIEW thread_track AS SELECT t.*, o.utid FROM of_thread AS o JOIN track AS t USING (id);
CREATE VIEW process_track AS SELECT t.*, o.upid FROM of_process AS o JOIN track AS t USING (id);
CREATE VIEW cpu_track AS SELECT t.*, o.cpu, o.cpu AS ucpu FROM of_cpu AS o JOIN track AS t USING (id);
CREATE VIEW thread_counter_track AS SELECT t.*, o.utid FROM counter_of_thread AS o JOIN counter_track AS t USING (id);
CREATE VIEW process_counter_track AS SELECT t.*, o.upid FROM counter_of_process AS o JOIN counter_track AS t USING (id);
CREATE VIEW cpu_counter_track AS SELECT t.*, o.cpu, o.cpu AS ucpu FROM counter_of_cpu AS o JOIN counter_track AS t USING (id);
CREATE VIEW gpu_counter_track AS SELECT t.*, o.gpu_id FROM counter_of_gpu AS o JOIN counter_track AS t USING (id);

CREATE VIEW counter AS SELECT rowid - 1 AS id, ts, track_id, value, arg_set_id FROM known_counter;
CREATE VIEW counters AS SELECT c.*, t.name, t.unit FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id;

CREATE VIEW slice AS
SELECT *, id AS slice_id, category AS cat,
       (SELECT json_group_object(key, coalesce(string_value, int_value, real_value)) FROM args
        WHERE args.arg_set_id = s.arg_set_id) AS args
FROM known_slice AS s;
CREATE VIEW slices AS SELECT * FROM slice;
CREATE VIEW instant AS SELECT ts, track_id, name, arg_set_id FROM slice WHERE dur = 0;
CREATE VIEW flow AS SELECT rowid - 1 AS id, slice_out, slice_in FROM known_flow;

-- As in trace processor's slices.with_context.
CREATE VIEW thread_slice AS
SELECT s.*, k.name AS track_name, k.utid, t.tid, t.name AS thread_name, t.is_main_thread, t.upid, p.pid, p.name AS process_name
FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid);
CREATE VIEW process_slice AS
SELECT s.*, k.name AS track_name, k.upid, p.pid, p.name AS process_name
FROM slice AS s JOIN process_track AS k ON k.id = s.track_id JOIN process AS p USING (upid);
CREATE VIEW thread_or_process_slice AS
SELECT id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, process_name, upid, pid, depth, parent_id,
       arg_set_id, args, doubt
FROM thread_slice
UNION ALL
SELECT id, ts, dur, category, name, track_id, track_name, NULL, NULL, NULL, process_name, upid, pid, depth, parent_id,
       arg_set_id, args, doubt
FROM process_slice;

-- A slice that did not end has no time of its own; a child that did not ends with its parent.
CREATE VIEW slice_self_dur AS
SELECT s.id,
       CASE WHEN s.dur >= 0 THEN s.dur - coalesce((
         SELECT sum(CASE WHEN c.dur < 0 OR c.ts + c.dur > s.ts + s.dur THEN max(0, s.ts + s.dur - c.ts) ELSE c.dur END)
         FROM known_slice AS c WHERE c.parent_id = s.id), 0) END AS self_dur
FROM known_slice AS s;

CREATE TABLE lies_in (slice_id, id);
INSERT INTO lies_in
WITH RECURSIVE up (slice_id, id) AS (
  SELECT id, parent_id FROM known_slice
  UNION ALL
  SELECT up.slice_id, s.parent_id FROM up JOIN known_slice AS s ON s.id = up.id
)
SELECT slice_id, id FROM up WHERE id IS NOT NULL;
CREATE INDEX lies_in_slice ON lies_in (slice_id);
CREATE INDEX lies_in_id ON lies_in (id);
CREATE VIEW slice_ancestor AS SELECT l.slice_id, s.* FROM lies_in AS l JOIN (SELECT id, ts, dur, track_id, category, name, depth, parent_id FROM known_slice) AS s ON s.id = l.id;
CREATE VIEW slice_descendant AS SELECT l.id AS slice_id, s.* FROM lies_in AS l JOIN (SELECT id, ts, dur, track_id, category, name, depth, parent_id FROM known_slice) AS s ON s.id = l.slice_id;

CREATE VIEW flow_with_slices AS
SELECT f.id, f.slice_out, a.name AS name_out, a.ts AS ts_out, a.dur AS dur_out,
       (SELECT t.name FROM of_thread JOIN thread AS t USING (utid) WHERE of_thread.id = a.track_id) AS thread_name_out,
       f.slice_in, b.name AS name_in, b.ts AS ts_in, b.dur AS dur_in,
       (SELECT t.name FROM of_thread JOIN thread AS t USING (utid) WHERE of_thread.id = b.track_id) AS thread_name_in,
       CASE WHEN a.dur >= 0 THEN b.ts - a.ts - a.dur END AS delay
FROM flow AS f JOIN known_slice AS a ON a.id = f.slice_out JOIN known_slice AS b ON b.id = f.slice_in;

CREATE VIEW sched_with_thread_process AS
SELECT s.*, t.tid, t.name AS thread_name, t.upid, p.pid, p.name AS process_name
FROM sched AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid);
CREATE VIEW thread_state_with_thread_process AS
SELECT s.*, t.tid, t.name AS thread_name, t.upid, p.pid, p.name AS process_name, w.tid AS waker_tid, w.name AS waker_name
FROM thread_state AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
LEFT JOIN thread AS w ON w.utid = s.waker_utid;

-- A row without an end is not summed, but counts as a slice; a row that may be wrong is summed
-- separately.
CREATE VIEW cpu_time_by_thread AS
SELECT t.utid, t.tid, t.name AS thread_name, t.upid, p.pid, p.name AS process_name,
       sum(CASE WHEN dur > 0 AND doubt IS NULL THEN dur ELSE 0 END) AS cpu_time, count(*) AS slices,
       sum(CASE WHEN dur > 0 AND doubt IS NOT NULL THEN dur ELSE 0 END) AS doubtful_time, count(doubt) AS doubtful_slices
FROM known_sched AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE NOT t.is_idle GROUP BY t.utid;
CREATE VIEW cpu_time_by_process AS
SELECT t.upid, p.pid, p.name AS process_name, sum(CASE WHEN dur > 0 AND doubt IS NULL THEN dur ELSE 0 END) AS cpu_time,
       count(DISTINCT t.utid) AS threads, count(*) AS slices,
       sum(CASE WHEN dur > 0 AND doubt IS NOT NULL THEN dur ELSE 0 END) AS doubtful_time, count(doubt) AS doubtful_slices
FROM known_sched AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE NOT t.is_idle GROUP BY t.upid;

-- No recorded trace has any of these.
DROP VIEW process_state_track;
CREATE VIEW process_state_track AS SELECT *, NULL AS upid FROM track WHERE type = 'process_state_track_event';
DROP VIEW thread_state_track;
CREATE VIEW thread_state_track AS SELECT *, NULL AS utid FROM track WHERE type = 'thread_state_track_event';
ALTER TABLE android_logs ADD COLUMN id;
ALTER TABLE android_logs ADD COLUMN pid;
ALTER TABLE android_logs ADD COLUMN tid;
ALTER TABLE android_logs ADD COLUMN uid;
ALTER TABLE android_logs ADD COLUMN log_id;
CREATE TABLE gpu (ugpu, gpu, name);
CREATE TABLE gpu_track (id, name, type, scope);
CREATE TABLE cpu_available_frequencies (ucpu, freq);
