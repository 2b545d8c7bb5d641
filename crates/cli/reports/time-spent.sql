-- Time spent: which events, and what the CPUs did.
--
--   timebase query TRACE-or-DB --report time-spent --param top=5
--
-- param top = 20 : how many rows each list has
-- param from = NULL : trace time in ns at which to start; NULL is the trace's start
-- param to = NULL : trace time in ns before which to end; NULL is the trace's end
--
-- Events that are not on trace time are left out: report unplaced has them.
-- Where the kernel lost events, the last thread that was seen on a CPU has the
-- time.

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

-- The thread that events of the scheduler are about. Equal arguments are stored
-- once, so this reads each JSON once instead of once an event.
CREATE TEMP TABLE about (args_id INTEGER PRIMARY KEY, tid INTEGER, comm TEXT);
INSERT INTO about
SELECT id, coalesce(args ->> 'next_pid', args ->> 'pid'), coalesce(args ->> 'next_comm', args ->> 'comm')
FROM ftrace_args;

-- When what ran: from a switch to the next one of the same CPU. The last one
-- of a CPU has no end, and what ran before the first is not known.
CREATE TEMP TABLE run AS
SELECT cpu, args_id, ts, lead(ts) OVER (PARTITION BY cpu ORDER BY ts, id) AS until
FROM ftrace_record
WHERE name_id = (SELECT id FROM ftrace_name WHERE name = 'sched_switch') AND ts IS NOT NULL;

-- The same, added up within the stretch.
CREATE TEMP TABLE spent AS
SELECT cpu, tid, comm, ns, switches, last_ts
FROM (
  SELECT cpu, args_id,
         total(min(until, s.end_ts) - max(ts, s.start_ts)) AS ns,
         count(iif(ts >= s.start_ts, 1, NULL)) AS switches,
         max(ts) AS last_ts
  FROM run CROSS JOIN stretch AS s
  WHERE until > s.start_ts AND ts < s.end_ts
  GROUP BY cpu, args_id
)
JOIN about USING (args_id);

-- Which process a thread belongs to: as the process tree says, else the one of
-- the thread that made it (CLONE_THREAD is 0x10000), else it is a process itself.
CREATE TEMP TABLE listed (tid INTEGER PRIMARY KEY, pid INTEGER, name TEXT);
INSERT OR REPLACE INTO listed
SELECT thread.value ->> 'tid', thread.value ->> 'tgid', NULL
FROM packet, json_each(packet_field(packet.data, 'process_tree.threads')) AS thread
WHERE packet.type = 'process_tree' AND thread.value ->> 'tid' IS NOT NULL;
INSERT OR REPLACE INTO listed
SELECT process.value ->> 'pid', process.value ->> 'pid', process.value ->> '$.cmdline[0]'
FROM packet, json_each(packet_field(packet.data, 'process_tree.processes')) AS process
WHERE packet.type = 'process_tree' AND process.value ->> 'pid' IS NOT NULL;

CREATE TEMP TABLE made (tid INTEGER PRIMARY KEY, by_tid INTEGER);
INSERT OR REPLACE INTO made
SELECT args ->> 'pid', tid
FROM ftrace_event
WHERE name = 'task_newtask' AND (args ->> 'clone_flags') & 65536 AND args ->> 'pid' IS NOT NULL;

CREATE TEMP TABLE thread (tid INTEGER PRIMARY KEY, comm TEXT, pid INTEGER);
INSERT INTO thread (tid, comm, pid)
WITH RECURSIVE
  -- What a thread is called last.
  seen AS (SELECT tid, comm, max(last_ts) FROM spent WHERE tid IS NOT NULL GROUP BY tid),
  -- Ids are used again, so the makers of makers might go round in a circle.
  maker (tid, of_tid, generation) AS (
    SELECT tid, tid, 0 FROM seen
    UNION ALL
    SELECT maker.tid, made.by_tid, generation + 1
    FROM maker JOIN made ON made.tid = of_tid
    WHERE of_tid NOT IN (SELECT tid FROM listed) AND generation < 16
  ),
  first AS (SELECT tid, of_tid, max(generation) FROM maker GROUP BY tid)
SELECT seen.tid, seen.comm, coalesce(listed.pid, first.of_tid)
FROM seen JOIN first USING (tid) LEFT JOIN listed ON listed.tid = first.of_tid;

-- # CPUs
-- From the first switch of each to the last.
SELECT cpu,
       round(total(ns) / 1e6, 3) AS seen_ms,
       round(total(iif(tid <> 0, ns, 0)) / 1e6, 3) AS busy_ms,
       round(total(iif(tid = 0, ns, 0)) / 1e6, 3) AS idle_ms,
       round(100 * total(iif(tid <> 0, ns, 0)) / nullif(total(ns), 0), 1) AS busy_pct,
       sum(switches) AS switches
FROM spent
GROUP BY cpu
ORDER BY cpu;

-- # Processes
-- cpu_pct is the share of the stretch: 100 is one CPU all the time.
SELECT t.pid,
       coalesce(nullif(l.name, ''), main.comm, max(t.comm)) AS process,
       count(DISTINCT t.tid) AS threads,
       round(total(ns) / 1e6, 3) AS running_ms,
       round(100 * total(ns) / (SELECT nullif(end_ts - start_ts, 0) FROM stretch), 2) AS cpu_pct,
       sum(switches) AS switches
FROM spent
JOIN thread AS t ON t.tid = spent.tid
LEFT JOIN listed AS l ON l.tid = t.pid
LEFT JOIN thread AS main ON main.tid = t.pid
WHERE t.tid <> 0
GROUP BY t.pid
ORDER BY total(ns) DESC, t.pid
LIMIT :top;

-- # Threads
-- switches is how often it came to run, slice_us how long it then ran on average.
SELECT t.tid,
       t.comm AS thread,
       t.pid,
       round(total(ns) / 1e6, 3) AS running_ms,
       round(100 * total(ns) / (SELECT nullif(end_ts - start_ts, 0) FROM stretch), 2) AS cpu_pct,
       sum(switches) AS switches,
       round(total(ns) / nullif(sum(switches), 0) / 1e3, 1) AS slice_us
FROM spent JOIN thread AS t ON t.tid = spent.tid
WHERE t.tid <> 0
GROUP BY t.tid
ORDER BY total(ns) DESC, t.tid
LIMIT :top;

-- How long each thread waited each time it was woken: from sched_waking to the
-- switch to it, unless it was woken while it still ran. In this order, so that
-- a percentile is a row and needs no search.
CREATE TEMP TABLE wait (id INTEGER PRIMARY KEY, tid INTEGER, ns INTEGER);
INSERT INTO wait (tid, ns)
WITH
  -- Times count from 1 here, so that one column tells a waking from a run, which
  -- is the time of its end, negative. One sort has both, then.
  origin AS (SELECT start_ts - 1 AS ts FROM trace_bounds),
  seen AS (
    SELECT about.tid, run.ts - origin.ts AS ts,
           -coalesce(until - origin.ts, 9223372036854775807) AS at
    FROM run CROSS JOIN origin JOIN about USING (args_id)
    UNION ALL
    SELECT about.tid, r.ts - origin.ts, r.ts - origin.ts
    FROM ftrace_record AS r CROSS JOIN origin JOIN about USING (args_id)
    WHERE r.name_id = (SELECT id FROM ftrace_name WHERE name = 'sched_waking') AND r.ts IS NOT NULL
  ),
  ordered AS (
    SELECT tid, ts, at, lag(at) OVER thread AS woken, lag(at, 2) OVER thread AS stopped
    FROM seen
    WINDOW thread AS (PARTITION BY tid ORDER BY ts, at DESC)
  )
SELECT tid, ordered.ts - woken
FROM ordered CROSS JOIN origin CROSS JOIN stretch AS s
WHERE at < 0 AND woken > 0 AND (stopped IS NULL OR woken >= -stopped)
  AND ordered.ts + origin.ts >= s.start_ts AND ordered.ts + origin.ts < s.end_ts
ORDER BY 1, 2;

-- # Wake-up latency
-- In microseconds; a percentile is one of the waits (nearest rank).
SELECT w.tid,
       t.comm AS thread,
       wakeups,
       round((SELECT ns FROM wait WHERE id = first_id + (50 * wakeups + 99) / 100 - 1) / 1e3, 1) AS p50_us,
       round((SELECT ns FROM wait WHERE id = first_id + (95 * wakeups + 99) / 100 - 1) / 1e3, 1) AS p95_us,
       round((SELECT ns FROM wait WHERE id = first_id + (99 * wakeups + 99) / 100 - 1) / 1e3, 1) AS p99_us,
       round(longest / 1e3, 1) AS max_us,
       round(waited / 1e6, 3) AS waited_ms
FROM (
  SELECT tid, min(id) AS first_id, count(*) AS wakeups, max(ns) AS longest, total(ns) AS waited
  FROM wait GROUP BY tid
) AS w
LEFT JOIN thread AS t ON t.tid = w.tid
ORDER BY waited DESC, w.tid
LIMIT :top;
