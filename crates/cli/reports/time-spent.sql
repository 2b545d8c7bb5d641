-- Time spent: events, and the work of the CPUs.
--
--   timebase query TRACE-or-DB --report time-spent --param top=5
--
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time at which to start; NULL is the trace's start
-- param to time = NULL : trace time before which to end; NULL is the trace's end
-- param doubtful integer = 0 : 1 counts what CPUs ran and threads waited that may be wrong, too
--
-- The report leaves out events that are not on trace time: report unplaced has them. Report
-- sched-latency shows each wait for a CPU, and the threads that ran instead. Rows that may be
-- wrong (column doubt) do not count; the last list has them.
--
-- column kind : packet, kernel event, log line and other kinds of events
-- column events, per_s : the number of events, in all and in each second
-- column seen_ms : the time from the first switch of the CPU to the last, in ms
-- column busy_ms, busy_pct : the time for which a thread ran on it, in ms and in percent of seen_ms
-- column idle_ms : the time for which it was idle
-- column unknown_ms : the time for which the recording does not say which thread ran
-- column switches : the number of times that a thread started to run
-- column threads : the number of threads of the process that ran
-- column running_ms, cpu_pct : the time on a CPU, in ms and in percent of the time range
-- column waited_ms : the time for which threads could run and waited for a CPU
-- column slice_us : the average time on a CPU at a stretch
-- column what : a CPU, or the waits of threads
-- column rows, ms : the number of rows that may be wrong, and their time
-- column left_out : the number of these rows that other lists do not count
-- column why : the reason why they may be wrong

-- The requested time range, without its end.
CREATE TEMP TABLE stretch AS
SELECT coalesce(:from, start_ts) AS start_ts, coalesce(:to, end_ts + 1) AS end_ts
FROM trace_bounds;

-- # Events
-- Kernel events by name, log lines by tag, other packets by type.
WITH counted (kind, name, events, first_ts) AS (
  -- Of ftrace_event this needs an index only, by the names' numbers.
  SELECT 'kernel', n.name, e.events, e.first_ts
  FROM (
    SELECT name_id, count(*) AS events, min(ts) AS first_ts
    FROM ftrace_record
    WHERE ts >= (SELECT start_ts FROM stretch) AND ts < (SELECT end_ts FROM stretch)
    GROUP BY name_id
  ) AS e
  LEFT JOIN ftrace_name AS n ON n.id = e.name_id
  UNION ALL
  SELECT 'log', tag, count(*), min(ts)
  FROM android_logs
  WHERE ts >= (SELECT start_ts FROM stretch) AND ts < (SELECT end_ts FROM stretch)
  GROUP BY tag
  UNION ALL
  SELECT 'packet', type, count(*), min(ts)
  FROM packet
  WHERE ts >= (SELECT start_ts FROM stretch) AND ts < (SELECT end_ts FROM stretch)
    AND type IS NOT 'ftrace_events'
  GROUP BY type
)
SELECT kind, name, events,
       round(events * 1e9 / (SELECT nullif(end_ts - start_ts, 0) FROM stretch), 1) AS per_s,
       first_ts
FROM counted
ORDER BY events DESC, kind, name
LIMIT :top;

-- What each thread did on each CPU, and after it, within the stretch: it ran, and
-- it was runnable, preempted or woken, without a CPU. A row of sched_record
-- tells both (thread_state is made of it). The key is one number, and LIMIT has it and
-- the times worked out before they are sorted; both make it a third faster. What had
-- no end is not counted, nor what may be wrong: of a thread that is preempted and woken for it, that
-- may be one part or the other.
CREATE TEMP TABLE spent AS
SELECT key >> 32 AS utid, key & 4294967295 AS ucpu,
       total(ran) AS ran, total(waited) AS waited, sum(is_new) AS switches
FROM (
  SELECT utid << 32 | ucpu AS key,
         iif(doubt & 7, 0, max(0, min(ts + dur, s.end_ts) - max(ts, s.start_ts))) AS ran,
         max(0, min(waits_to, s.end_ts) - max(waits_from, s.start_ts)) AS waited,
         ts >= s.start_ts AS is_new
  FROM (
    SELECT ts, dur, utid, ucpu, doubt,
           iif(NOT ifnull(doubt >> 6 & 7, 0) AND end_state IN (SELECT id FROM string WHERE value IN ('R', 'R+')),
               ts + dur, ts + dur + after) AS waits_from,
           ts + dur + after + iif(doubt >> 9, 0, ifnull(max(runnable, 0), 0)) AS waits_to
    FROM (
      SELECT ts, dur, utid, ucpu, end_state, after, runnable, iif(:doubtful, NULL, doubt) AS doubt
      FROM sched_record
      WHERE ts < (SELECT end_ts FROM stretch)
    )
  ) CROSS JOIN stretch AS s
  LIMIT -1
)
GROUP BY key;

-- Runnable before the first time that it ran, or for very long.
INSERT INTO spent (utid, waited)
SELECT utid, total(min(ts + dur, s.end_ts) - max(ts, s.start_ts))
FROM thread_state_record CROSS JOIN stretch AS s
WHERE state IN (SELECT id FROM string WHERE value IN ('R', 'R+'))
  AND ts < s.end_ts AND dur > 0 AND ts + dur > s.start_ts AND (:doubtful OR doubt IS NULL)
GROUP BY utid;

-- # CPUs
-- From the first switch of each to the last. Time that is neither busy nor idle is
-- unknown, and the last list says why.
SELECT iif(c.machine_id, c.cpu || ' of machine ' || c.machine_id, c.cpu) AS cpu,
       round(seen / 1e6, 3) AS seen_ms,
       round(busy / 1e6, 3) AS busy_ms,
       round(idle / 1e6, 3) AS idle_ms,
       round((seen - busy - idle) / 1e6, 3) AS unknown_ms,
       round(100 * busy / nullif(seen, 0), 1) AS busy_pct,
       switches
FROM (
  SELECT ucpu,
         total(iif(is_idle, 0, ran)) AS busy,
         total(iif(is_idle, ran, 0)) AS idle,
         sum(switches) AS switches,
         max(0, (SELECT min(ts, s.end_ts) FROM sched_record AS r WHERE r.ucpu = spent.ucpu ORDER BY ts DESC LIMIT 1)
                - (SELECT max(ts, s.start_ts) FROM sched_record AS r WHERE r.ucpu = spent.ucpu ORDER BY ts LIMIT 1)
         ) AS seen
  FROM spent JOIN thread_record AS t ON t.id = spent.utid CROSS JOIN stretch AS s
  WHERE ucpu IS NOT NULL
  GROUP BY ucpu
)
JOIN cpu_record AS c ON c.id = ucpu
ORDER BY ucpu;

-- # Processes
-- cpu_pct is the share of the time range: 100 is one CPU all the time. waited_ms is the time in which
-- its threads were ready but had no CPU. Names are the last ones in the table process; if the kernel
-- used a pid again, that is another process, with its own upid. The row with NULL in all three has the
-- threads whose process the trace does not name.
SELECT t.upid,
       p.pid,
       p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       count(DISTINCT t.id) AS threads,
       round(total(ran) / 1e6, 3) AS running_ms,
       round(100 * total(ran) / (SELECT nullif(end_ts - start_ts, 0) FROM stretch), 2) AS cpu_pct,
       round(total(waited) / 1e6, 3) AS waited_ms,
       sum(switches) AS switches
FROM spent
JOIN thread_record AS t ON t.id = spent.utid
LEFT JOIN process_record AS p ON p.id = t.upid
WHERE NOT t.is_idle
GROUP BY t.upid
ORDER BY total(ran) DESC, t.upid
LIMIT :top;

-- # Threads
-- switches counts how often it started to run, slice_us is its average run.
SELECT t.id AS utid,
       t.tid,
       t.name || iif(t.machine_id, ' of machine ' || t.machine_id, '') AS thread,
       p.pid,
       p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       round(total(ran) / 1e6, 3) AS running_ms,
       round(100 * total(ran) / (SELECT nullif(end_ts - start_ts, 0) FROM stretch), 2) AS cpu_pct,
       round(total(waited) / 1e6, 3) AS waited_ms,
       sum(switches) AS switches,
       round(total(ran) / nullif(sum(switches), 0) / 1e3, 1) AS slice_us
FROM spent
JOIN thread_record AS t ON t.id = spent.utid
LEFT JOIN process_record AS p ON p.id = t.upid
WHERE NOT t.is_idle
GROUP BY t.id
ORDER BY total(ran) DESC, t.id
LIMIT :top;

-- Found in one pass over what may be millions.
CREATE TEMP TABLE doubted AS
SELECT ts, id, dur, ucpu, after, runnable, end_state IN (SELECT id FROM string WHERE value IN ('R', 'R+')) AS is_preempted, ifnull(doubt, 0) AS doubt
FROM sched_record
WHERE dur < 0 OR doubt;

-- # Not known
-- Runs of CPUs and waits of threads that do not count above, by reason: they have no end before the next switch of the CPU, or there is
-- evidence against them. With doubtful = 1 those with an end count above: left_out says how many rows
-- do not.
WITH word (doubt, name, why) AS (
  VALUES (0, NULL, 'its end is missing'),
         (1, 'switch_missed', 'another event contradicts who had the CPU'),
         (2, 'woken_again', 'the thread was woken, though it seemed awake'),
         (3, 'wakeup_missed', 'the thread ran, and nobody had woken it'),
         (4, 'lost', 'kernel events are missing in it'),
         (7, 'cpus_missing', 'some CPUs lack their events there')
), doubtful (ucpu, doubt, ts, ts_end, has_end) AS (
  SELECT ucpu, doubt & 7, ts,
         iif(dur < 0, (SELECT n.ts FROM sched_record AS n WHERE n.ts >= s.ts AND (n.ts, n.id) > (s.ts, s.id) AND +n.ucpu = s.ucpu ORDER BY n.ts LIMIT 1), ts + dur),
         dur >= 0
  FROM doubted AS s
  WHERE dur < 0 OR doubt & 7
  UNION ALL
  SELECT NULL, doubt >> 6 & 7, ts + dur, ts + dur + after, 1
  FROM doubted
  WHERE doubt >> 6 & 7 AND after >= 0 AND is_preempted
  UNION ALL
  SELECT NULL, doubt >> 9, ts + dur + after, ts + dur + after + runnable, 1
  FROM doubted
  WHERE doubt >> 9 AND runnable >= 0
  UNION ALL
  SELECT NULL, doubt, ts, ts + dur, 1
  FROM thread_state_record
  WHERE doubt AND dur >= 0 AND state IN (SELECT id FROM string WHERE value IN ('R', 'R+'))
)
SELECT CASE WHEN d.ucpu IS NULL THEN 'waits' WHEN c.machine_id THEN 'cpu ' || c.cpu || ' of machine ' || c.machine_id ELSE 'cpu ' || c.cpu END AS what,
       w.name AS doubt,
       count(*) AS "rows",
       sum(NOT (:doubtful AND d.has_end)) AS left_out,
       round(total(min(d.ts_end, s.end_ts) - max(d.ts, s.start_ts)) / 1e6, 3) AS ms,
       w.why
FROM doubtful AS d
CROSS JOIN stretch AS s
JOIN word AS w USING (doubt)
LEFT JOIN cpu_record AS c ON c.id = d.ucpu
-- What has no next switch is the last of its CPU.
WHERE d.ts < s.end_ts AND d.ts_end > s.start_ts
GROUP BY d.ucpu, d.doubt
ORDER BY d.ucpu IS NULL, d.ucpu, d.doubt;
