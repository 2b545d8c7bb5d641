-- Samples of callstacks: the threads, functions and callstacks that took the most time.
--
--   timebase query TRACE-or-DB --report cpu-profile --param process=app
--
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time from which on samples count; NULL is the trace's start
-- param to time = NULL : trace time before which they count; NULL is the trace's end
-- param process text = NULL : only samples of this process: a pattern for its name (GLOB), or its pid; NULL is all of them
-- param thread text = NULL : only samples of this thread: a pattern for its name (GLOB), or its tid; NULL is all of them
--
-- A profiler samples a thread while it runs, so a share of samples is about a share of CPU time. Samples
-- without a callstack only count in the first list. timebase flamegraph draws the same samples.
--
-- column samples, pct : the number of samples, and its share of all counted samples in percent
-- column no_stack : the number of samples without a callstack; other lists do not have them
-- column function : its name, or the file and the place in it if the name is unknown
-- column self, self_pct : the number of samples in the function itself, and its share
-- column total, total_pct : the same with the functions that it called
-- column stack : a callstack, from the outermost function to the innermost
-- column lost : the number of lost samples; NULL if it is unknown

CREATE TEMP TABLE picked AS
SELECT k.upid, k.utid, s.callsite_id, count(*) AS samples
FROM stack_sample_record AS s
LEFT JOIN (
  SELECT c.id, coalesce(c.upid, t.upid) AS upid, c.utid, p.name AS process, p.pid, t.name AS thread, t.tid
  FROM stack_sample_task_record AS c
  LEFT JOIN thread_record AS t ON t.id = c.utid
  LEFT JOIN process_record AS p ON p.id = coalesce(c.upid, t.upid)
) AS k ON k.id = s.task_id
WHERE (:from IS NULL OR s.ts >= :from) AND (:to IS NULL OR s.ts < :to)
  AND (:process IS NULL OR k.process GLOB :process OR CAST(k.pid AS TEXT) = :process)
  AND (:thread IS NULL OR k.thread GLOB :thread OR CAST(k.tid AS TEXT) = :thread)
GROUP BY k.upid, k.utid, s.callsite_id;

-- Each callstack that was sampled, as often as it was.
CREATE TEMP TABLE stack (callsite_id INTEGER PRIMARY KEY, samples INTEGER);
INSERT INTO stack
SELECT callsite_id, sum(samples) FROM picked WHERE callsite_id IS NOT NULL GROUP BY callsite_id;

-- The functions of a frame, as callstack names them: several if the compiler inlined some. The innermost one is
-- first.
CREATE TEMP TABLE function_of (frame_id INTEGER, nr INTEGER, name TEXT, PRIMARY KEY (frame_id, nr)) WITHOUT ROWID;
INSERT INTO function_of
SELECT f.id, row_number() OVER (PARTITION BY f.id ORDER BY y.id),
       coalesce(nullif(y.name, ''), nullif(f.name, ''),
                coalesce(nullif(m.name, ''), '[unknown]') || '+0x' || printf('%llx', f.rel_pc))
FROM stack_profile_frame AS f
LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping
LEFT JOIN stack_profile_symbol AS y ON y.symbol_set_id = f.symbol_set_id;

-- # Samples by thread
-- pct is a share of all samples here; no_stack counts those without a callstack.
SELECT p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       p.pid,
       t.name AS thread,
       t.tid,
       k.samples,
       round(100.0 * k.samples / sum(k.samples) OVER (), 2) AS pct,
       k.no_stack
FROM (
  SELECT upid, utid, sum(samples) AS samples, sum(iif(callsite_id IS NULL, samples, 0)) AS no_stack
  FROM picked
  GROUP BY upid, utid
) AS k
LEFT JOIN process_record AS p ON p.id = k.upid
LEFT JOIN thread_record AS t ON t.id = k.utid
ORDER BY k.samples DESC, k.upid, k.utid
LIMIT :top;

-- # Functions
-- self counts samples in the function itself, total also those in functions that it called. A sample counts
-- once, even if the function called itself. The shares are of all samples with a callstack.
WITH RECURSIVE
up (callsite_id, at) AS (
  SELECT callsite_id, callsite_id FROM stack
  UNION ALL
  SELECT up.callsite_id, c.parent_id
  FROM up JOIN stack_profile_callsite AS c ON c.id = up.at
  WHERE c.parent_id < c.id
),
met AS (
  SELECT up.callsite_id, f.name, max(up.at = up.callsite_id AND f.nr = 1) AS is_self
  FROM up
  JOIN stack_profile_callsite AS c ON c.id = up.at
  JOIN function_of AS f ON f.frame_id = c.frame_id
  GROUP BY up.callsite_id, f.name
)
SELECT name AS function,
       sum(iif(is_self, samples, 0)) AS self,
       round(100.0 * sum(iif(is_self, samples, 0)) / (SELECT sum(samples) FROM stack), 2) AS self_pct,
       sum(samples) AS total,
       round(100.0 * sum(samples) / (SELECT sum(samples) FROM stack), 2) AS total_pct
FROM met JOIN stack USING (callsite_id)
GROUP BY name
ORDER BY self DESC, total DESC, name
LIMIT :top;

-- # Callstacks
-- From the outermost function to the innermost one, whose samples these are.
SELECT sum(samples) AS samples,
       round(100.0 * sum(samples) / (SELECT sum(samples) FROM stack), 2) AS pct,
       stack
FROM (SELECT samples, callstack(callsite_id) AS stack FROM stack)
GROUP BY stack
ORDER BY samples DESC, stack
LIMIT :top;

-- # Lost samples
-- The recording lost samples at these places, so shares may be wrong. lost is NULL if the number is unknown.
SELECT l.start_ts, l.end_ts, l.ucpu & 4095 AS cpu, l.seq_id, l.count AS lost
FROM loss AS l
WHERE l.kind = 'samples'
  AND (:from IS NULL OR ifnull(l.end_ts >= :from, 1))
  AND (:to IS NULL OR ifnull(l.start_ts < :to, 1))
ORDER BY l.start_ts, l.id
LIMIT :top;
