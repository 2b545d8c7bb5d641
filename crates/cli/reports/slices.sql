-- Slices: how long they took, by name, and the slowest ones.
--
--   timebase query TRACE-or-DB --report slices --param top=5
--
-- param top integer = 20 : how many names each list has
-- param worst integer = 3 : how many slices of each name are shown
-- param from time = NULL : trace time from which on slices begin; NULL is the trace's start
-- param to time = NULL : trace time before which they begin; NULL is the trace's end
-- param name text = NULL : only slices whose names match this pattern (GLOB); NULL is all of them
-- param process text = NULL : only slices of processes of this name; NULL is all of them
-- param doubtful integer = 0 : 1 counts slices that may be wrong, and what threads may not have done, too
--
-- Instants do not count. Slices without an end have no duration, and a separate list; so have slices that
-- may be wrong (column doubt).
--
-- column slices : the number of slices
-- column total_ms : the sum of their durations, in ms
-- column self_ms : the same without the slices inside them
-- column mean_us, p50_us, p90_us, p99_us, max_us : average, percentiles and maximum of their durations, in µs
-- column slowest : the id of the longest one
-- column us : the duration of the slice, in µs
-- column times_p50 : its duration divided by the median of its name
-- column ran_us : the time for which its thread ran on a CPU, in µs; NULL without scheduling
-- column waited_us : the time for which its thread could run and waited for a CPU, in µs
-- column slept_us : the time for which its thread slept or was blocked, in µs
-- column unknown_us : the time for which the recording lacks events, so it is unknown if its thread ran, in µs
-- column thread_or_track : the thread of the slice, or the name of its track if the slice is on no thread
-- column first : the id of the first slice without an end
-- column left_out : the number of slices that other lists do not count
-- column why : the reason why they may be wrong

CREATE TEMP TABLE stretch AS
SELECT coalesce(:from, start_ts) AS start_ts, coalesce(:to, end_ts + 1) AS end_ts
FROM trace_bounds;

-- The table string may have a text twice; here its first number counts for both. -1 is
-- no name.
CREATE TEMP TABLE named (id INTEGER PRIMARY KEY, name INTEGER);
INSERT INTO named
SELECT id, min(id) OVER (PARTITION BY value)
FROM (
  SELECT coalesce(n.name, -1) AS id, v.value
  FROM (SELECT DISTINCT name FROM slice_record) AS n LEFT JOIN string AS v ON v.id = n.name
)
WHERE :name IS NULL OR value GLOB :name;

-- Whose tracks are.
CREATE TEMP TABLE place (id INTEGER PRIMARY KEY, utid INTEGER, tid INTEGER, thread TEXT, process TEXT, track TEXT);
INSERT INTO place
SELECT k.id, t.id, t.tid, t.name || iif(t.machine_id, ' of machine ' || t.machine_id, ''),
       p.name || iif(p.machine_id, ' of machine ' || p.machine_id, ''),
       k.name || iif(k.machine_id, ' of machine ' || k.machine_id, '')
FROM track_record AS k
LEFT JOIN thread_record AS t ON t.id = k.utid
LEFT JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid)
WHERE NOT k.is_counter AND (:process IS NULL OR p.name = :process);

-- Those of the stretch, in this order, so that a percentile is a row and needs no search.
CREATE TEMP TABLE shown (nr INTEGER PRIMARY KEY, name INTEGER, ns INTEGER, id INTEGER, on_thread INTEGER);
INSERT INTO shown (name, ns, id, on_thread)
SELECT n.name, s.dur, s.id, p.utid IS NOT NULL
FROM slice_record AS s
CROSS JOIN stretch AS b
CROSS JOIN place AS p ON p.id = s.track_id
JOIN named AS n ON n.id = coalesce(s.name, -1)
WHERE s.dur > 0 AND s.ts >= b.start_ts AND s.ts < b.end_ts AND (:doubtful OR s.doubt IS NULL)
ORDER BY n.name, s.dur, s.id DESC;

-- What lies in them, as far as it is within them.
CREATE TEMP TABLE inside (name INTEGER PRIMARY KEY, ns INTEGER);
INSERT INTO inside
SELECT n.name, sum(max(0, min(iif(c.dur < 0, p.dur, c.dur), p.ts + p.dur - c.ts)))
FROM slice_record AS c
CROSS JOIN stretch AS b
CROSS JOIN slice_record AS p ON p.id = c.parent_id
JOIN named AS n ON n.id = coalesce(p.name, -1)
WHERE p.dur > 0 AND p.ts >= b.start_ts AND p.ts < b.end_ts AND p.track_id IN (SELECT id FROM place)
  AND (:doubtful OR p.doubt IS NULL)
GROUP BY n.name;

CREATE TEMP TABLE of_name AS
SELECT row_number() OVER (ORDER BY total(ns) DESC, name) AS rank,
       name, count(*) AS slices, total(ns) AS ns, min(nr) AS first_nr, max(nr) AS last_nr
FROM shown
GROUP BY name
ORDER BY rank
LIMIT :top;

-- # Slices by name
-- The names with the most time in total. self_ms is the time without inner slices. A percentile is
-- one of the slices (nearest rank); slowest is the id of the slowest slice.
SELECT iif(f.name < 0, NULL, (SELECT value FROM string WHERE string.id = f.name)) AS name,
       f.slices,
       round(f.ns / 1e6, 3) AS total_ms,
       round((f.ns - coalesce((SELECT ns FROM inside AS i WHERE i.name = f.name), 0)) / 1e6, 3) AS self_ms,
       round(f.ns / f.slices / 1e3, 1) AS mean_us,
       round((SELECT ns FROM shown WHERE nr = first_nr + (50 * slices + 99) / 100 - 1) / 1e3, 1) AS p50_us,
       round((SELECT ns FROM shown WHERE nr = first_nr + (90 * slices + 99) / 100 - 1) / 1e3, 1) AS p90_us,
       round((SELECT ns FROM shown WHERE nr = first_nr + (99 * slices + 99) / 100 - 1) / 1e3, 1) AS p99_us,
       round((SELECT ns FROM shown WHERE nr = last_nr) / 1e3, 1) AS max_us,
       (SELECT id FROM shown WHERE nr = last_nr) AS slowest
FROM of_name AS f
UNION ALL
SELECT 'no slices', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE NOT EXISTS (SELECT * FROM shown)
ORDER BY total_ms DESC, name;

-- # track slowest slices: SELECT s.ts, s.dur, p.utid, (SELECT value FROM string WHERE id = s.name) AS name, s.id AS slice FROM of_name AS f JOIN shown AS w ON w.nr BETWEEN max(first_nr, last_nr - :worst + 1) AND last_nr JOIN slice_record AS s ON s.id = w.id JOIN place AS p ON p.id = s.track_id
-- # Slowest of each name
-- For the names above. times_p50 is the ratio to the median. A slice that is on no thread's track has
-- the name of its track.
SELECT iif(f.name < 0, NULL, (SELECT value FROM string WHERE string.id = f.name)) AS name,
       s.id,
       s.ts,
       round(s.dur / 1e3, 1) AS us,
       round(s.dur * 1.0 / (SELECT ns FROM shown WHERE nr = first_nr + (50 * slices + 99) / 100 - 1), 1) AS times_p50,
       p.tid,
       coalesce(p.thread, p.track) AS thread_or_track,
       p.process
FROM of_name AS f
CROSS JOIN shown AS w ON w.nr BETWEEN max(first_nr, last_nr - :worst + 1) AND last_nr
JOIN slice_record AS s ON s.id = w.id
JOIN place AS p ON p.id = s.track_id
ORDER BY f.rank, w.nr DESC;

-- What threads did in their slowest slices: each slice of sched_record tells that a thread ran, what it
-- did then (after), and that it was woken and waited for a CPU (runnable). The first is the last
-- that began before. What has no end (-1) says nothing, nor what may be wrong.
CREATE TEMP TABLE slow AS
SELECT row_number() OVER (ORDER BY s.dur DESC, s.id) AS nr, s.id, s.ts, s.ts + s.dur AS ts_end, p.utid
FROM (SELECT id FROM shown WHERE on_thread ORDER BY ns DESC, id LIMIT :top) AS w
JOIN slice_record AS s ON s.id = w.id
JOIN place AS p ON p.id = s.track_id;

CREATE TEMP TABLE did AS
SELECT nr,
       total(iif(what = 'ran', ns, 0)) AS ran,
       total(iif(what = 'waited', ns, 0)) AS waited,
       total(iif(what = 'slept', ns, 0)) AS slept
FROM (
  SELECT nr, what, max(0, min(since + dur, ts_end) - max(since, ts)) AS ns
  FROM (
    SELECT o.*, 'ran' AS what, r.ts AS since, r.dur, r.doubt & 7 AS doubt
    FROM slow AS o CROSS JOIN sched_record AS r
      ON r.utid = o.utid AND r.ts < o.ts_end
     AND r.ts >= coalesce((SELECT max(b.ts) FROM sched_record AS b WHERE b.utid = o.utid AND b.ts <= o.ts), o.ts)
    UNION ALL
    SELECT o.*, iif(r.end_state IN (SELECT id FROM string WHERE value IN ('R', 'R+')), 'waited', 'slept'), r.ts + r.dur, r.after, r.doubt >> 6 & 7
    FROM slow AS o CROSS JOIN sched_record AS r
      ON r.utid = o.utid AND r.ts < o.ts_end
     AND r.ts >= coalesce((SELECT max(b.ts) FROM sched_record AS b WHERE b.utid = o.utid AND b.ts <= o.ts), o.ts)
    WHERE r.after IS NOT NULL
    UNION ALL
    SELECT o.*, 'waited', r.ts + r.dur + r.after, r.runnable, r.doubt >> 9
    FROM slow AS o CROSS JOIN sched_record AS r
      ON r.utid = o.utid AND r.ts < o.ts_end
     AND r.ts >= coalesce((SELECT max(b.ts) FROM sched_record AS b WHERE b.utid = o.utid AND b.ts <= o.ts), o.ts)
    WHERE r.runnable IS NOT NULL
    UNION ALL
    SELECT o.*, iif(v.value IN ('R', 'R+'), 'waited', 'slept'), r.ts, r.dur, r.doubt
    FROM slow AS o CROSS JOIN thread_state_record AS r ON r.utid = o.utid AND r.ts < o.ts_end
    JOIN string AS v ON v.id = r.state AND v.value <> 'Running'
  )
  WHERE dur >= 0 AND (:doubtful OR NOT ifnull(doubt, 0))
)
GROUP BY nr
HAVING sum(ns) > 0;

-- # Slowest on threads, and why
-- Over all names. In that time the thread ran, for the slice or its inner slices; or it waited for a
-- CPU that other threads had (see the report sched-latency); or it slept, for a lock, a disk or another
-- thread. The rest is unknown: a switch is missing, or rows may be wrong. NULL if the trace has no
-- scheduling.
SELECT (SELECT value FROM string WHERE string.id = s.name) AS name,
       o.id,
       o.ts,
       round(s.dur / 1e3, 1) AS us,
       round(d.ran / 1e3, 1) AS ran_us,
       round(d.waited / 1e3, 1) AS waited_us,
       round(d.slept / 1e3, 1) AS slept_us,
       round(max(0, s.dur - d.ran - d.waited - d.slept) / 1e3, 1) AS unknown_us,
       p.tid,
       p.thread,
       p.process
FROM slow AS o
JOIN slice_record AS s ON s.id = o.id
JOIN place AS p ON p.id = s.track_id
LEFT JOIN did AS d ON d.nr = o.nr
ORDER BY o.nr;

-- # Not ended
-- The number of such slices for each name, and the first of them.
SELECT iif(u.name < 0, NULL, (SELECT value FROM string WHERE string.id = u.name)) AS name,
       u.slices,
       u.id AS first,
       s.ts,
       p.tid,
       coalesce(p.thread, p.track) AS thread_or_track,
       p.process
FROM (
  SELECT n.name, count(*) AS slices, min(s.id) AS id
  FROM slice_record AS s
  CROSS JOIN stretch AS b
  JOIN named AS n ON n.id = coalesce(s.name, -1)
  WHERE s.dur < 0 AND s.ts >= b.start_ts AND s.ts < b.end_ts AND s.track_id IN (SELECT id FROM place)
  GROUP BY n.name
) AS u
JOIN slice_record AS s ON s.id = u.id
JOIN place AS p ON p.id = s.track_id
ORDER BY u.slices DESC, u.id
LIMIT :top;

-- # May be wrong
-- Slices with evidence against them, by reason. They are not in the lists of slices with an end, unless doubtful is 1: left_out says how
-- many.
SELECT CASE s.doubt WHEN 5 THEN 'packets_lost' WHEN 6 THEN 'end_misplaced' WHEN 7 THEN 'cpus_missing' END AS doubt,
       count(*) AS slices,
       iif(:doubtful, 0, count(*)) AS left_out,
       round(total(s.dur) / 1e6, 3) AS total_ms,
       round(max(s.dur) / 1e3, 1) AS max_us,
       CASE s.doubt WHEN 5 THEN 'packets of its writer are missing in it' WHEN 6 THEN 'the end of another slice ended it, or its own is missing' WHEN 7 THEN 'some CPUs lack their events there' END AS why
FROM slice_record AS s
CROSS JOIN stretch AS b
JOIN named AS n ON n.id = coalesce(s.name, -1)
WHERE s.doubt IS NOT NULL AND s.dur > 0 AND s.ts >= b.start_ts AND s.ts < b.end_ts AND s.track_id IN (SELECT id FROM place)
GROUP BY s.doubt;
