-- Flows: the slices that they connect, their delays, and the chain that led to a slice.
--
--   timebase query TRACE-or-DB --report flows --param slice=24
--
-- param slice integer = NULL : the id of a slice; NULL is the one that a flow took longest to
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time from which on flows arrive; NULL is the trace's start
-- param to time = NULL : trace time before which they arrive; NULL is the trace's end
-- param doubtful integer = 0 : 1 counts flows from slices whose ends may be wrong, too
--
-- The delay of a flow lasts from the end of the slice where it starts to the begin of the slice
-- where it arrives; it is negative if the first slice had not ended. The time range is for the
-- first list, and for the choice of a slice.
--
-- column from, to : the names of the slices where the flows start and arrive
-- column flows : the number of flows
-- column p50_us, p90_us, p99_us, max_us : percentiles and maximum of the delay, in µs
-- column slowest : the id of the slice where the flow with the largest delay arrives
-- column step : the place in the chain: 0 is the chosen slice, -1 the slice before it
-- column us : the duration of the slice, in µs
-- column delay_us : from the end of the slice where the flow starts to the begin of the slice where it arrives, in µs
-- column arrived_in : the slice around it in which the flow arrived; NULL if the flow arrived in the slice itself
-- column from_id : the id of the slice where the flow starts
-- column after_us : from the begin of the chosen slice to the begin of this one, in µs
-- column thread_or_track : the thread of the slice, or the name of its track if the slice is on no thread
-- column left_out : the number of these that other lists do not count
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
);

-- Slices with what they are called and whose their tracks are.
CREATE TEMP VIEW placed AS
SELECT s.id, s.ts, s.dur,
       (SELECT value FROM string WHERE string.id = s.name) AS name,
       (SELECT t.tid FROM track_record AS k JOIN thread_record AS t ON t.id = k.utid WHERE k.id = s.track_id) AS tid,
       (SELECT coalesce(t.name, k.name) || iif(k.machine_id, ' of machine ' || k.machine_id, '') FROM track_record AS k LEFT JOIN thread_record AS t ON t.id = k.utid
        WHERE k.id = s.track_id) AS thread_or_track,
       (SELECT p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') FROM track_record AS k LEFT JOIN thread_record AS t ON t.id = k.utid
        JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid) WHERE k.id = s.track_id) AS process
FROM slice_record AS s;

-- Those of the stretch, in this order, so that a percentile is a row and needs no search.
CREATE TEMP TABLE shown (nr INTEGER PRIMARY KEY, name_out INTEGER, name_in INTEGER, ns INTEGER, slice_in INTEGER);
INSERT INTO shown (name_out, name_in, ns, slice_in)
SELECT o.name, i.name, b.ts - (a.ts + a.dur), b.id
FROM flow AS f
CROSS JOIN stretch AS t
CROSS JOIN slice_record AS a ON a.id = f.slice_out
CROSS JOIN slice_record AS b ON b.id = f.slice_in
JOIN named AS o ON o.id = coalesce(a.name, -1)
JOIN named AS i ON i.id = coalesce(b.name, -1)
WHERE a.dur >= 0 AND b.ts >= t.start_ts AND b.ts < t.end_ts AND (:doubtful OR a.doubt IS NULL)
ORDER BY o.name, i.name, b.ts - (a.ts + a.dur), b.id DESC;

-- # Flows by name
-- Delays; a percentile is one of them (nearest rank). The id is the slice where the slowest flow
-- arrives. Flows from slices without an end have no delay and do not count, nor do those of the last list.
SELECT iif(name_out < 0, NULL, (SELECT value FROM string WHERE string.id = name_out)) AS "from",
       iif(name_in < 0, NULL, (SELECT value FROM string WHERE string.id = name_in)) AS "to",
       flows,
       round((SELECT ns FROM shown WHERE nr = first_nr + (50 * flows + 99) / 100 - 1) / 1e3, 1) AS p50_us,
       round((SELECT ns FROM shown WHERE nr = first_nr + (90 * flows + 99) / 100 - 1) / 1e3, 1) AS p90_us,
       round((SELECT ns FROM shown WHERE nr = first_nr + (99 * flows + 99) / 100 - 1) / 1e3, 1) AS p99_us,
       round((SELECT ns FROM shown WHERE nr = last_nr) / 1e3, 1) AS max_us,
       (SELECT slice_in FROM shown WHERE nr = last_nr) AS slowest
FROM (
  SELECT name_out, name_in, count(*) AS flows, min(nr) AS first_nr, max(nr) AS last_nr
  FROM shown
  GROUP BY name_out, name_in
  ORDER BY flows DESC, name_out, name_in
  LIMIT :top
)
UNION ALL
SELECT 'no flows', NULL, 0, NULL, NULL, NULL, NULL, NULL WHERE NOT EXISTS (SELECT * FROM shown)
ORDER BY flows DESC, "from", "to";

CREATE TEMP TABLE chosen AS
SELECT coalesce(:slice, (SELECT slice_in FROM shown ORDER BY ns DESC, nr LIMIT 1)) AS id;

-- The critical chain: at each slice the flow that came last, to it or to what it lies in. Of
-- several that came together that from what ended last. Slices before have lesser ids, which ends it.
CREATE TEMP TABLE chain AS
WITH RECURSIVE chain (step, id, flow_id) AS (
  SELECT 0, id, NULL FROM chosen WHERE id IS NOT NULL
  UNION ALL
  SELECT c.step - 1, f.slice_out, f.id
  FROM chain AS c
  JOIN flow AS f ON f.id = (
    SELECT f.id
    FROM flow AS f
    JOIN slice_record AS b ON b.id = f.slice_in
    JOIN slice_record AS a ON a.id = f.slice_out
    WHERE f.slice_in IN (SELECT c.id UNION ALL SELECT id FROM slice_ancestor WHERE slice_id = c.id)
      AND f.slice_out < c.id
    ORDER BY b.depth DESC, a.ts + max(a.dur, 0) DESC, f.id DESC
    LIMIT 1
  )
  WHERE c.step > 1 - :top
)
SELECT step, id, flow_id FROM chain;

-- # What led to it
-- From the first slice to the slice itself, step 0. Each has the delay of the flow from the previous
-- slice. If that flow arrived in a slice around it, arrived_in has its name.
SELECT c.step,
       s.id,
       s.name,
       s.tid,
       s.thread_or_track,
       s.process,
       s.ts,
       iif(s.dur < 0, NULL, round(s.dur / 1e3, 1)) AS us,
       round(f.delay / 1e3, 1) AS delay_us,
       iif(f.slice_in <> c.id, f.name_in, NULL) AS arrived_in
FROM chain AS c
JOIN placed AS s ON s.id = c.id
LEFT JOIN chain AS b ON b.step = c.step - 1
LEFT JOIN flow_with_slices AS f ON f.id = b.flow_id
ORDER BY c.step;

-- # What it led to
-- All flows from the slice or its inner slices, and so on; in the order of time, with the time
-- since the begin of the slice.
SELECT f.slice_out AS from_id,
       f.name_out AS "from",
       s.id,
       s.name,
       s.tid,
       s.thread_or_track,
       s.process,
       round((s.ts - (SELECT ts FROM slice_record WHERE slice_record.id = c.id)) / 1e3, 1) AS after_us,
       iif(s.dur < 0, NULL, round(s.dur / 1e3, 1)) AS us,
       round(f.delay / 1e3, 1) AS delay_us
FROM chosen AS c
CROSS JOIN following_flow(c.id) AS r
JOIN flow_with_slices AS f ON f.id = r.id
JOIN placed AS s ON s.id = f.slice_in
ORDER BY s.ts, s.id, f.id
LIMIT :top;

-- # May be wrong
-- Flows from slices whose ends may be wrong (column doubt), by reason. They are not in the first list, unless doubtful
-- is 1: left_out says how many.
SELECT CASE a.doubt WHEN 5 THEN 'packets_lost' WHEN 7 THEN 'cpus_missing' END AS doubt,
       count(*) AS flows,
       iif(:doubtful, 0, count(*)) AS left_out,
       round(max(b.ts - (a.ts + a.dur)) / 1e3, 1) AS max_us,
       CASE a.doubt WHEN 5 THEN 'packets of the writer are missing in the slice' WHEN 7 THEN 'some CPUs lack their events there' END AS why
FROM flow AS f
CROSS JOIN stretch AS t
CROSS JOIN slice_record AS a ON a.id = f.slice_out
CROSS JOIN slice_record AS b ON b.id = f.slice_in
WHERE a.doubt IS NOT NULL AND a.dur >= 0 AND b.ts >= t.start_ts AND b.ts < t.end_ts
GROUP BY a.doubt;
