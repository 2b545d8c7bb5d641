-- Scheduling latency: how long threads that could run waited for a CPU.
--
--   timebase query TRACE-or-DB --report sched-latency --param top=5
--
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time from which on waits end; NULL is the trace's start
-- param to time = NULL : trace time before which they end; NULL is the trace's end
-- param thread text = NULL : only waits of threads of this name; NULL is all of them
-- param slice integer = NULL : only waits in the slice of this id, of the thread whose it is; NULL is all of them
-- param doubtful integer = 0 : 1 counts waits and slices that may be wrong, too
--
-- A thread waits after a wake-up until it runs, and after a preemption until it runs again or
-- is woken. These are the rows of thread_state with R or R+. Waits without an end at the end of
-- the trace, or with a lost end, do not count. Nor do waits that may be wrong (column doubt): the
-- longest of them are mostly sleeps. The last list has them.
--
-- column wakeups : the number of waits after a wake-up
-- column preempted, times : the number of waits after the scheduler took the thread off its CPU
-- column p50_us, p95_us, p99_us, max_us : percentiles and maximum of the waits, in µs
-- column waited_ms : the sum of the waits, in ms
-- column wait : a range of durations
-- column nr : the place in the list
-- column since : the begin of the wait, in trace time
-- column waited_us : the duration of the wait for a CPU, in µs
-- column woken_by : the thread that woke it; NULL after a preemption
-- column ran_instead : the thread that had the CPU for most of the wait
-- column instead_us, instead_ms : the time for which it had the CPU, in µs or ms
-- column others : the number of other threads that had the CPU during the wait
-- column waits : the number of waits
-- column slices : the number of times that the thread ran during these waits
-- column left_out : the number of waits that other lists do not count
-- column why : the reason why they may be wrong

CREATE TEMP TABLE stretch AS
SELECT coalesce(:from, s.ts, start_ts) AS start_ts,
       coalesce(:to, iif(s.dur < 0, NULL, s.ts + s.dur + 1), end_ts + 1) AS end_ts
FROM trace_bounds LEFT JOIN slice_record AS s ON s.id = :slice
-- An error where there is no such slice.
WHERE (SELECT count(*) FROM ancestor_slice(:slice)) >= 0;

-- Whose waits are asked for.
CREATE TEMP TABLE asked AS
SELECT id AS utid
FROM thread_record
WHERE (:thread IS NULL OR name = :thread)
  AND (:slice IS NULL
       OR id = (SELECT k.utid FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id WHERE s.id = :slice));

-- Waits that are shorter do not count. The worst cases are found with a higher bound.
CREATE TEMP TABLE shortest AS SELECT 0 AS ns;

-- They are most quickly taken from where they are stored.
CREATE TEMP VIEW runnable AS
SELECT 4098 + 4 * id AS id, ts + dur + after AS ts, runnable AS dur, utid, waker_utid, 1 AS is_woken, irq_context,
       ifnull(doubt >> 9, 0) AS doubt
FROM sched_record
WHERE runnable >= (SELECT ns FROM shortest)
UNION ALL
SELECT 4097 + 4 * id, ts + dur, after, utid, NULL, 0, NULL, ifnull(doubt >> 6 & 7, 0)
FROM sched_record
WHERE after >= (SELECT ns FROM shortest) AND end_state IN (SELECT id FROM string WHERE value IN ('R', 'R+'))
UNION ALL
SELECT id, ts, dur, utid, waker_utid, waker_utid IS NOT NULL, irq_context, ifnull(doubt, 0)
FROM thread_state_record
WHERE dur >= (SELECT ns FROM shortest) AND state IN (SELECT id FROM string WHERE value IN ('R', 'R+'));

-- How many waits of the stretch are alike. They are counted by one number that has all four columns, because SQLite
-- sorts numbers in half the time; as JSON if they do not fit.
CREATE TEMP TABLE wait (
  utid INTEGER, is_woken INTEGER, ns INTEGER, doubt INTEGER, waits INTEGER, PRIMARY KEY (utid, is_woken, ns, doubt)
) WITHOUT ROWID;
INSERT INTO wait
SELECT iif(is_number, key >> 44, key ->> 0), iif(is_number, key >> 43 & 1, key ->> 1),
       iif(is_number, key >> 3 & 1099511627775, key ->> 2), iif(is_number, key & 7, key ->> 3), waits
FROM (
  SELECT key, typeof(key) = 'integer' AS is_number, count(*) AS waits
  FROM (
    SELECT iif(r.dur <= 1099511627775 AND r.utid < 524288,
               (r.utid << 44) + (r.is_woken << 43) + (r.dur << 3) + r.doubt,
               json_array(r.utid, r.is_woken, r.dur, r.doubt)) AS key
    FROM runnable AS r CROSS JOIN stretch AS s
    WHERE r.ts + r.dur >= s.start_ts AND r.ts + r.dur < s.end_ts
      AND (:thread IS NULL AND :slice IS NULL OR r.utid IN (SELECT utid FROM asked))
  )
  GROUP BY key
);

-- How many waits are not longer than each, so that a percentile is one look-up.
CREATE TEMP TABLE ranked (
  utid INTEGER, is_woken INTEGER, rank INTEGER, ns INTEGER, PRIMARY KEY (utid, is_woken, rank)
) WITHOUT ROWID;
INSERT INTO ranked
SELECT utid, is_woken, sum(waits) OVER (PARTITION BY utid, is_woken ORDER BY ns ROWS UNBOUNDED PRECEDING), ns
FROM wait
WHERE :doubtful OR NOT doubt;

CREATE TEMP TABLE of_thread AS
SELECT utid, is_woken, sum(waits) AS waits, max(ns) AS longest, total(ns * waits) AS waited
FROM wait
WHERE :doubtful OR NOT doubt
GROUP BY utid, is_woken;

-- # Wake-ups
-- From a wake-up until the thread runs, in microseconds. A percentile is one of the waits
-- (nearest rank).
SELECT t.id AS utid,
       t.tid,
       t.name || iif(t.machine_id, ' of machine ' || t.machine_id, '') AS thread,
       p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       w.waits AS wakeups,
       round((SELECT ns FROM ranked AS r WHERE r.utid = w.utid AND r.is_woken = w.is_woken AND rank >= (50 * waits + 99) / 100
              ORDER BY rank LIMIT 1) / 1e3, 1) AS p50_us,
       round((SELECT ns FROM ranked AS r WHERE r.utid = w.utid AND r.is_woken = w.is_woken AND rank >= (95 * waits + 99) / 100
              ORDER BY rank LIMIT 1) / 1e3, 1) AS p95_us,
       round((SELECT ns FROM ranked AS r WHERE r.utid = w.utid AND r.is_woken = w.is_woken AND rank >= (99 * waits + 99) / 100
              ORDER BY rank LIMIT 1) / 1e3, 1) AS p99_us,
       round(longest / 1e3, 1) AS max_us,
       round(waited / 1e6, 3) AS waited_ms
FROM of_thread AS w
JOIN thread_record AS t ON t.id = w.utid
LEFT JOIN process_record AS p ON p.id = t.upid
WHERE is_woken
ORDER BY waited DESC, w.utid
LIMIT :top;

-- # Preempted
-- After a preemption until the thread runs again.
SELECT t.id AS utid,
       t.tid,
       t.name || iif(t.machine_id, ' of machine ' || t.machine_id, '') AS thread,
       p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       w.waits AS times,
       round((SELECT ns FROM ranked AS r WHERE r.utid = w.utid AND r.is_woken = w.is_woken AND rank >= (50 * waits + 99) / 100
              ORDER BY rank LIMIT 1) / 1e3, 1) AS p50_us,
       round((SELECT ns FROM ranked AS r WHERE r.utid = w.utid AND r.is_woken = w.is_woken AND rank >= (95 * waits + 99) / 100
              ORDER BY rank LIMIT 1) / 1e3, 1) AS p95_us,
       round((SELECT ns FROM ranked AS r WHERE r.utid = w.utid AND r.is_woken = w.is_woken AND rank >= (99 * waits + 99) / 100
              ORDER BY rank LIMIT 1) / 1e3, 1) AS p99_us,
       round(longest / 1e3, 1) AS max_us,
       round(waited / 1e6, 3) AS waited_ms
FROM of_thread AS w
JOIN thread_record AS t ON t.id = w.utid
LEFT JOIN process_record AS p ON p.id = t.upid
WHERE NOT is_woken
ORDER BY waited DESC, w.utid
LIMIT :top;

-- # How long they waited
-- All of these waits by length.
WITH bound (label, at_least, below) AS (
  VALUES ('under 10 us', 0, 10000),
         ('10 to 100 us', 10000, 100000),
         ('100 us to 1 ms', 100000, 1000000),
         ('1 to 10 ms', 1000000, 10000000),
         ('10 to 100 ms', 10000000, 100000000),
         ('100 ms or more', 100000000, 9223372036854775807)
), counted AS (
  SELECT CASE WHEN ns < 10000 THEN 0 WHEN ns < 100000 THEN 10000 WHEN ns < 1000000 THEN 100000
              WHEN ns < 10000000 THEN 1000000 WHEN ns < 100000000 THEN 10000000 ELSE 100000000 END AS at_least,
         sum(is_woken * waits) AS wakeups, sum((NOT is_woken) * waits) AS preempted, total(ns * waits) AS ns
  FROM wait
  WHERE :doubtful OR NOT doubt
  GROUP BY 1
)
SELECT label AS wait, coalesce(wakeups, 0) AS wakeups, coalesce(preempted, 0) AS preempted,
       round(coalesce(ns, 0) / 1e6, 3) AS waited_ms
FROM bound LEFT JOIN counted USING (at_least)
-- Where no scheduling was recorded, no wait is not zero waits.
WHERE EXISTS (SELECT * FROM sched_record)
ORDER BY at_least;

-- The worst cases are not shorter than the last one of the longest waits that differ.
UPDATE shortest
SET ns = coalesce((SELECT min(ns) FROM (SELECT ns FROM wait WHERE :doubtful OR NOT doubt ORDER BY ns DESC LIMIT :top)), 0);

-- The slice that ended each is found by the index of sched_record.
CREATE TEMP TABLE worst AS
SELECT row_number() OVER (ORDER BY dur DESC, id) AS nr, id, ts, dur, utid, waker_utid, is_woken, irq_context, doubt,
       (SELECT ucpu FROM sched_record AS n WHERE n.utid = r.utid AND n.ts >= r.ts + r.dur ORDER BY n.ts LIMIT 1) AS ucpu
FROM (
  SELECT r.*
  FROM runnable AS r CROSS JOIN stretch AS s
  WHERE r.ts + r.dur >= s.start_ts AND r.ts + r.dur < s.end_ts
    AND (:thread IS NULL AND :slice IS NULL OR r.utid IN (SELECT utid FROM asked)) AND (:doubtful OR NOT r.doubt)
  ORDER BY r.dur DESC, r.id
  LIMIT :top
) AS r;

-- What ran on that CPU meanwhile: from the slice that was running when the wait began. The
-- + keeps SQLite from making an index by CPU of all slices, instead of going by time.
CREATE TEMP TABLE instead (nr INTEGER, utid INTEGER, ns INTEGER, slices INTEGER, PRIMARY KEY (nr, utid)) WITHOUT ROWID;
INSERT INTO instead
SELECT w.nr, s.utid, sum(min(s.ts + s.dur, w.ts + w.dur) - max(s.ts, w.ts)) AS ns, count(*) AS slices
FROM worst AS w
CROSS JOIN sched_record AS s
  ON s.ts >= coalesce((SELECT b.ts FROM sched_record AS b WHERE b.ucpu = w.ucpu AND b.ts <= w.ts
                       ORDER BY b.ts DESC LIMIT 1), w.ts)
 AND s.ts < w.ts + w.dur AND +s.ucpu = w.ucpu AND s.dur > 0 AND s.ts + s.dur > w.ts
 AND (:doubtful OR NOT ifnull(s.doubt & 7, 0))
GROUP BY w.nr, s.utid;

-- # track longest waits for a CPU: SELECT ts, dur, utid, 'wait ' || nr AS name, is_woken FROM worst
-- # Longest waits
-- woken_by is NULL for preempted threads; (interrupt) means that an interrupt woke the thread while
-- the named thread ran. ran_instead is the thread that had most of the CPU, on which the thread ran
-- next, during the wait; it is NULL if unknown. doubt is NULL for all waits that are not in the last list.
SELECT w.nr,
       t.tid,
       t.name || iif(t.machine_id, ' of machine ' || t.machine_id, '') AS thread,
       w.ts AS since,
       round(w.dur / 1e3, 1) AS waited_us,
       iif(w.is_woken,
           (SELECT coalesce(name, tid) || iif(machine_id, ' of machine ' || machine_id, '')
            FROM thread_record WHERE id = w.waker_utid)
             || iif(w.irq_context, ' (interrupt)', ''), NULL) AS woken_by,
       w.ucpu & 4095 AS cpu,
       coalesce(i.name, CAST(i.tid AS TEXT)) || iif(i.machine_id, ' of machine ' || i.machine_id, '') AS ran_instead,
       round(x.ns / 1e3, 1) AS instead_us,
       (SELECT nullif(count(*), 0) - 1 FROM instead AS o WHERE o.nr = w.nr) AS others,
       CASE w.doubt WHEN 1 THEN 'switch_missed' WHEN 2 THEN 'woken_again' WHEN 3 THEN 'wakeup_missed' WHEN 4 THEN 'lost' WHEN 7 THEN 'cpus_missing' END AS doubt
FROM worst AS w
JOIN thread_record AS t ON t.id = w.utid
LEFT JOIN instead AS x
  ON x.nr = w.nr AND x.utid = (SELECT utid FROM instead AS o WHERE o.nr = w.nr ORDER BY ns DESC, utid LIMIT 1)
LEFT JOIN thread_record AS i ON i.id = x.utid
ORDER BY w.nr;

-- # Who ran instead
-- The threads that had these CPUs during all of the longest waits.
SELECT t.id AS utid,
       t.tid,
       t.name || iif(t.machine_id, ' of machine ' || t.machine_id, '') AS thread,
       p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       round(total(i.ns) / 1e6, 3) AS instead_ms,
       count(*) AS waits,
       sum(i.slices) AS slices
FROM instead AS i
JOIN thread_record AS t ON t.id = i.utid
LEFT JOIN process_record AS p ON p.id = t.upid
GROUP BY i.utid
ORDER BY total(i.ns) DESC, i.utid
LIMIT :top;

-- # May be wrong
-- Waits with evidence against them, by reason. They are not in the lists above, unless doubtful is 1: left_out says
-- how many.
WITH word (doubt, name, why) AS (
  VALUES (1, 'switch_missed', 'another event contradicts who had the CPU'),
         (2, 'woken_again', 'it was woken while it waited: mostly it slept'),
         (3, 'wakeup_missed', 'it ran without being woken'),
         (4, 'lost', 'kernel events are missing in it'),
         (7, 'cpus_missing', 'some CPUs lack their events there')
)
SELECT name AS doubt,
       sum(waits) AS waits,
       iif(:doubtful, 0, sum(waits)) AS left_out,
       round(total(ns * waits) / 1e6, 3) AS waited_ms,
       round(max(ns) / 1e3, 1) AS max_us,
       why
FROM wait JOIN word USING (doubt)
GROUP BY doubt
ORDER BY waits DESC, doubt;
