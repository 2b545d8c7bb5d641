-- Time spent: which events, and what the CPUs did.
--
--   timebase query TRACE-or-DB --report time-spent --param top=5
--
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time at which to start; NULL is the trace's start
-- param to time = NULL : trace time before which to end; NULL is the trace's end
--
-- Events that are not on trace time are left out: report unplaced has them. How
-- long threads waited for a CPU each time, and for whom, is in sched-latency.

-- The stretch of time that is asked for, without its end.
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
-- no end is not counted.
CREATE TEMP TABLE spent AS
SELECT key >> 32 AS utid, key & 4294967295 AS ucpu,
       total(ran) AS ran, total(waited) AS waited, sum(is_new) AS switches
FROM (
  SELECT utid << 32 | ucpu AS key,
         max(0, min(ts + dur, s.end_ts) - max(ts, s.start_ts)) AS ran,
         max(0, min(waits_to, s.end_ts) - max(waits_from, s.start_ts)) AS waited,
         ts >= s.start_ts AS is_new
  FROM (
    SELECT ts, dur, utid, ucpu,
           iif(end_state IN (SELECT id FROM string WHERE value IN ('R', 'R+')), ts + dur, ts + dur + after) AS waits_from,
           ts + dur + after + ifnull(max(runnable, 0), 0) AS waits_to
    FROM sched_record
    WHERE ts < (SELECT end_ts FROM stretch)
  ) CROSS JOIN stretch AS s
  LIMIT -1
)
GROUP BY key;

-- Runnable before the first time that it ran, or for very long.
INSERT INTO spent (utid, waited)
SELECT utid, total(min(ts + dur, s.end_ts) - max(ts, s.start_ts))
FROM thread_state_record CROSS JOIN stretch AS s
WHERE state IN (SELECT id FROM string WHERE value IN ('R', 'R+'))
  AND ts < s.end_ts AND dur > 0 AND ts + dur > s.start_ts
GROUP BY utid;

-- # CPUs
-- From the first switch of each to the last. What is neither busy nor idle is not
-- known: the kernel lost events.
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
-- cpu_pct is the share of the stretch: 100 is one CPU all the time. waited_ms is how
-- long its threads could have run and had no CPU. Names are those of the table process,
-- the last ones; a pid that came again is another process, with an upid of its own. NULL in
-- all three are threads of which the trace does not say whose they are.
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
-- switches is how often it came to run, slice_us how long it then ran on average.
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
