-- The expected result of each report, by trace processor's tables and timebase's doubts about their rows; `-- # report: title` is
-- above each. Written as plainly as possible, without a look at the code of the reports. Times of a
-- trace are the witness's `trace_bounds`; lists are complete (top=1000000).

-- # time-spent: CPUs
WITH s AS (SELECT s.*, t.is_idle FROM known_sched AS s JOIN thread AS t USING (utid))
SELECT ucpu AS cpu,
       round((max(ts) - min(ts)) / 1e6, 3) AS seen_ms,
       round(sum(CASE WHEN NOT is_idle AND dur > 0 THEN dur ELSE 0 END) / 1e6, 3) AS busy_ms,
       round(sum(CASE WHEN is_idle AND dur > 0 THEN dur ELSE 0 END) / 1e6, 3) AS idle_ms,
       round((max(ts) - min(ts) - sum(CASE WHEN dur > 0 THEN dur ELSE 0 END)) / 1e6, 3) AS unknown_ms,
       round(100.0 * sum(CASE WHEN NOT is_idle AND dur > 0 THEN dur ELSE 0 END) / (max(ts) - min(ts)), 1) AS busy_pct,
       count(*) AS switches
FROM s GROUP BY ucpu;

-- # time-spent: Processes
SELECT t.upid, p.pid, p.name AS process, count(*) AS threads,
       round(sum(ran) / 1e6, 3) AS running_ms,
       round(100.0 * sum(ran) / (SELECT end_ts + 1 - start_ts FROM trace_bounds), 2) AS cpu_pct,
       round(sum(waited) / 1e6, 3) AS waited_ms,
       sum(slices) AS switches
FROM (
  SELECT utid, sum(ran) AS ran, sum(slices) AS slices, sum(waited) AS waited
  FROM (
    SELECT utid, CASE WHEN dur > 0 THEN dur ELSE 0 END AS ran, 1 AS slices, 0 AS waited FROM known_sched
    UNION ALL
    SELECT utid, 0, NULL, dur FROM known_state WHERE state IN ('R', 'R+') AND dur > 0
  )
  GROUP BY utid
)
JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE NOT t.is_idle GROUP BY t.upid;

-- # time-spent: Threads
SELECT t.utid, t.tid, t.name AS thread, p.pid, p.name AS process,
       round(ran / 1e6, 3) AS running_ms,
       round(100.0 * ran / (SELECT end_ts + 1 - start_ts FROM trace_bounds), 2) AS cpu_pct,
       round(waited / 1e6, 3) AS waited_ms, slices AS switches, round(1.0 * ran / slices / 1e3, 1) AS slice_us
FROM (
  SELECT utid, sum(ran) AS ran, sum(slices) AS slices, sum(waited) AS waited
  FROM (
    SELECT utid, CASE WHEN dur > 0 THEN dur ELSE 0 END AS ran, 1 AS slices, 0 AS waited FROM known_sched
    UNION ALL
    SELECT utid, 0, NULL, dur FROM known_state WHERE state IN ('R', 'R+') AND dur > 0
  )
  GROUP BY utid
)
JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE NOT t.is_idle;

-- # time-spent: Not known
SELECT what, doubt, count(*) AS "rows", round(sum(ns) / 1e6, 3) AS ms
FROM (
  SELECT 'cpu ' || ucpu AS what, doubt, CASE WHEN dur < 0 THEN next_ts - ts ELSE dur END AS ns
  FROM (SELECT *, lead(ts) OVER (PARTITION BY ucpu ORDER BY ts, rowid) AS next_ts FROM main.known_sched)
  WHERE doubt IS NOT NULL OR dur < 0
  UNION ALL
  SELECT 'waits', doubt, dur FROM main.known_state WHERE doubt IS NOT NULL AND state IN ('R', 'R+') AND dur >= 0
)
WHERE ns IS NOT NULL GROUP BY what, doubt;

-- # sched-latency: Wake-ups
WITH wait AS (
  SELECT utid, dur, row_number() OVER w AS nr, count(*) OVER (PARTITION BY utid) AS n
  FROM known_state WHERE state IN ('R', 'R+') AND dur >= 0 AND waker_utid IS NOT NULL
  WINDOW w AS (PARTITION BY utid ORDER BY dur)
)
SELECT utid, t.tid, t.name AS thread, p.name AS process, count(*) AS wakeups,
       round(min(dur) FILTER (WHERE 100 * nr >= 50 * n) / 1e3, 1) AS p50_us,
       round(min(dur) FILTER (WHERE 100 * nr >= 95 * n) / 1e3, 1) AS p95_us,
       round(min(dur) FILTER (WHERE 100 * nr >= 99 * n) / 1e3, 1) AS p99_us,
       round(max(dur) / 1e3, 1) AS max_us, round(sum(dur) / 1e6, 3) AS waited_ms
FROM wait JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid) GROUP BY utid;

-- # sched-latency: Preempted
WITH wait AS (
  SELECT utid, dur, row_number() OVER w AS nr, count(*) OVER (PARTITION BY utid) AS n
  FROM known_state WHERE state IN ('R', 'R+') AND dur >= 0 AND waker_utid IS NULL
  WINDOW w AS (PARTITION BY utid ORDER BY dur)
)
SELECT utid, t.tid, t.name AS thread, p.name AS process, count(*) AS times,
       round(min(dur) FILTER (WHERE 100 * nr >= 50 * n) / 1e3, 1) AS p50_us,
       round(min(dur) FILTER (WHERE 100 * nr >= 95 * n) / 1e3, 1) AS p95_us,
       round(min(dur) FILTER (WHERE 100 * nr >= 99 * n) / 1e3, 1) AS p99_us,
       round(max(dur) / 1e3, 1) AS max_us, round(sum(dur) / 1e6, 3) AS waited_ms
FROM wait JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid) GROUP BY utid;

-- # sched-latency: How long they waited
WITH bound (wait, at_least, below) AS (
  VALUES ('under 10 us', 0, 10000), ('10 to 100 us', 10000, 100000), ('100 us to 1 ms', 100000, 1000000),
         ('1 to 10 ms', 1000000, 10000000), ('10 to 100 ms', 10000000, 100000000), ('100 ms or more', 100000000, 1e18)
)
SELECT wait, count(waker_utid) AS wakeups, count(s.utid) - count(waker_utid) AS preempted,
       round(total(dur) / 1e6, 3) AS waited_ms
FROM bound LEFT JOIN known_state AS s ON state IN ('R', 'R+') AND dur >= at_least AND dur < below
-- Without scheduling, no waits are no answer.
WHERE EXISTS (SELECT * FROM known_sched) GROUP BY wait;

-- # sched-latency: Longest waits
WITH wait AS (
  SELECT row_number() OVER (ORDER BY dur DESC, id) AS nr, *, ts + dur AS ran,
         (SELECT r.ucpu FROM known_sched AS r WHERE r.utid = s.utid AND r.ts >= s.ts + s.dur ORDER BY r.ts LIMIT 1) AS on_cpu
  FROM known_state AS s WHERE state IN ('R', 'R+') AND dur >= 0
),
instead AS (
  SELECT nr, r.utid, sum(min(r.ts + r.dur, ran) - max(r.ts, wait.ts)) AS ns,
         count(*) OVER (PARTITION BY nr) - 1 AS others,
         row_number() OVER (PARTITION BY nr ORDER BY sum(min(r.ts + r.dur, ran) - max(r.ts, wait.ts)) DESC, r.utid) AS place
  FROM wait CROSS JOIN known_sched AS r
    ON +r.ucpu = on_cpu AND r.ts < ran AND r.dur > 0 AND r.ts + r.dur > wait.ts
   AND r.ts >= coalesce((SELECT max(b.ts) FROM known_sched AS b WHERE b.ucpu = on_cpu AND b.ts <= wait.ts), wait.ts)
  GROUP BY nr, r.utid
)
SELECT t.tid, t.name AS thread, w.ts AS since, round(w.dur / 1e3, 1) AS waited_us,
       waker.name || CASE WHEN irq_context THEN ' (interrupt)' ELSE '' END AS woken_by,
       on_cpu AS cpu, other.name AS ran_instead, round(ns / 1e3, 1) AS instead_us, others, w.doubt
FROM wait AS w JOIN thread AS t USING (utid)
LEFT JOIN thread AS waker ON waker.utid = w.waker_utid
LEFT JOIN instead ON instead.nr = w.nr AND place = 1
LEFT JOIN thread AS other ON other.utid = instead.utid;

-- # sched-latency: Who ran instead
WITH wait AS (
  SELECT id, utid, ts, ts + dur AS ran,
         (SELECT r.ucpu FROM known_sched AS r WHERE r.utid = s.utid AND r.ts >= s.ts + s.dur ORDER BY r.ts LIMIT 1) AS on_cpu
  FROM known_state AS s WHERE state IN ('R', 'R+') AND dur >= 0
)
SELECT r.utid, t.tid, t.name AS thread, p.name AS process,
       round(sum(min(r.ts + r.dur, ran) - max(r.ts, wait.ts)) / 1e6, 3) AS instead_ms,
       count(DISTINCT wait.id) AS waits, count(*) AS slices
FROM wait CROSS JOIN known_sched AS r
  ON +r.ucpu = on_cpu AND r.ts < ran AND r.dur > 0 AND r.ts + r.dur > wait.ts
 AND r.ts >= coalesce((SELECT max(b.ts) FROM known_sched AS b WHERE b.ucpu = on_cpu AND b.ts <= wait.ts), wait.ts)
JOIN thread AS t ON t.utid = r.utid LEFT JOIN process AS p USING (upid) GROUP BY r.utid;

-- # sched-latency: May be wrong
SELECT doubt, count(*) AS waits, round(sum(dur) / 1e6, 3) AS waited_ms, round(max(dur) / 1e3, 1) AS max_us
FROM main.known_state WHERE doubt IS NOT NULL AND state IN ('R', 'R+') AND dur >= 0 GROUP BY doubt;

-- # slices: Slices by name
WITH s AS (
  SELECT *, row_number() OVER (PARTITION BY name ORDER BY dur) AS nr, count(*) OVER (PARTITION BY name) AS n
  FROM known_slice JOIN slice_self_dur USING (id) WHERE dur > 0
)
SELECT name, count(*) AS slices, round(sum(dur) / 1e6, 3) AS total_ms, round(sum(self_dur) / 1e6, 3) AS self_ms,
       round(1.0 * sum(dur) / count(*) / 1e3, 1) AS mean_us,
       round(min(dur) FILTER (WHERE 100 * nr >= 50 * n) / 1e3, 1) AS p50_us,
       round(min(dur) FILTER (WHERE 100 * nr >= 90 * n) / 1e3, 1) AS p90_us,
       round(min(dur) FILTER (WHERE 100 * nr >= 99 * n) / 1e3, 1) AS p99_us,
       round(max(dur) / 1e3, 1) AS max_us
FROM s GROUP BY name;

-- # slices: Slowest of each name
-- worst=1000000: all of them.
WITH s AS (
  SELECT *, row_number() OVER (PARTITION BY name ORDER BY dur) AS nr, count(*) OVER (PARTITION BY name) AS n
  FROM known_slice WHERE dur > 0
), median AS (
  SELECT name, min(dur) FILTER (WHERE 100 * nr >= 50 * n) AS p50 FROM s GROUP BY name
)
SELECT s.name, s.ts, round(s.dur / 1e3, 1) AS us, round(1.0 * s.dur / p50, 1) AS times_p50,
       t.tid, coalesce(t.name, k.name) AS thread_or_track, p.name AS process
FROM s JOIN median ON median.name IS s.name JOIN track AS k ON k.id = s.track_id
LEFT JOIN of_thread AS o ON o.id = k.id LEFT JOIN thread AS t USING (utid)
LEFT JOIN of_process AS q ON q.id = k.id LEFT JOIN process AS p ON p.upid = coalesce(q.upid, t.upid);

-- # slices: Slowest on threads, and why
WITH s AS (
  SELECT id, utid, ts, dur FROM known_slice JOIN (SELECT id AS track_id, utid FROM of_thread) USING (track_id) WHERE dur > 0
), did AS (
  -- sched tells that the thread ran, and thread_state tells its other states.
  SELECT s.id, 'Running' AS state, min(d.ts + d.dur, s.ts + s.dur) - max(d.ts, s.ts) AS ns
  FROM s JOIN known_sched AS d ON d.utid = s.utid AND d.ts < s.ts + s.dur AND d.dur > 0 AND d.ts + d.dur > s.ts
   AND d.ts >= coalesce((SELECT max(b.ts) FROM known_sched AS b WHERE b.utid = s.utid AND b.ts <= s.ts), s.ts)
  UNION ALL
  SELECT s.id, d.state, min(d.ts + d.dur, s.ts + s.dur) - max(d.ts, s.ts)
  FROM s JOIN known_state AS d ON d.utid = s.utid AND d.ts < s.ts + s.dur AND d.dur > 0 AND d.ts + d.dur > s.ts
   AND d.ts >= coalesce((SELECT max(b.ts) FROM known_state AS b WHERE b.utid = s.utid AND b.ts <= s.ts AND b.dur >= 0), s.ts)
  WHERE d.state <> 'Running'
)
SELECT s.name, s.ts, round(s.dur / 1e3, 1) AS us,
       -- NULL if the thread's states are unknown for this time.
       round(CASE WHEN sum(ns) > 0 THEN total(ns) FILTER (WHERE state = 'Running') END / 1e3, 1) AS ran_us,
       round(CASE WHEN sum(ns) > 0 THEN total(ns) FILTER (WHERE state IN ('R', 'R+')) END / 1e3, 1) AS waited_us,
       round(CASE WHEN sum(ns) > 0 THEN total(ns) FILTER (WHERE state NOT IN ('Running', 'R', 'R+')) END / 1e3, 1) AS slept_us,
       round(CASE WHEN sum(ns) > 0 THEN max(0, s.dur - sum(ns)) END / 1e3, 1) AS unknown_us,
       s.tid, thread_name AS thread, process_name AS process
FROM thread_slice AS s LEFT JOIN did USING (id) WHERE s.dur > 0 GROUP BY s.id;

-- # slices: Not ended
SELECT s.name, n AS slices, s.ts, t.tid, coalesce(t.name, k.name) AS thread_or_track, p.name AS process
FROM (SELECT name, count(*) AS n, min(id) AS id FROM known_slice WHERE dur < 0 GROUP BY name) JOIN known_slice AS s USING (id)
JOIN track AS k ON k.id = s.track_id
LEFT JOIN of_thread AS o ON o.id = k.id LEFT JOIN thread AS t USING (utid)
LEFT JOIN of_process AS q ON q.id = k.id LEFT JOIN process AS p ON p.upid = coalesce(q.upid, t.upid);

-- # flows: Flows by name
WITH f AS (
  SELECT *, row_number() OVER (PARTITION BY name_out, name_in ORDER BY delay) AS nr,
         count(*) OVER (PARTITION BY name_out, name_in) AS n
  FROM flow_with_slices WHERE dur_out >= 0
)
SELECT name_out AS "from", name_in AS "to", count(*) AS flows,
       round(min(delay) FILTER (WHERE 100 * nr >= 50 * n) / 1e3, 1) AS p50_us,
       round(min(delay) FILTER (WHERE 100 * nr >= 90 * n) / 1e3, 1) AS p90_us,
       round(min(delay) FILTER (WHERE 100 * nr >= 99 * n) / 1e3, 1) AS p99_us,
       round(max(delay) / 1e3, 1) AS max_us
FROM f GROUP BY name_out, name_in;

-- # counters: Kinds of counters
SELECT t.type, count(DISTINCT t.id) AS counters, count(*) AS "values", min(t.name) AS example, min(c.ts) AS first_ts
FROM known_counter AS c JOIN counter_track AS t ON t.id = c.track_id GROUP BY t.type;

-- # counters: Memory of processes
WITH c AS (
  SELECT *, coalesce(lead(ts) OVER track, (SELECT end_ts + 1 FROM trace_bounds)) - ts AS held,
         first_value(value) OVER track AS first, lead(ts) OVER track IS NULL AS is_last
  FROM known_counter WINDOW track AS (PARTITION BY track_id ORDER BY ts, rowid)
)
SELECT coalesce(nullif(p.name, ''), 'process') || ' ' || p.pid AS process, t.name AS counter, count(*) AS "values",
       round(min(first) / 1048576, 2) AS first_mib, round(min(value) / 1048576, 2) AS min_mib,
       round(coalesce(sum(value * held) / nullif(sum(held), 0), avg(value)) / 1048576, 2) AS avg_mib,
       round(max(value) / 1048576, 2) AS max_mib, round(max(CASE WHEN is_last THEN value END) / 1048576, 2) AS last_mib
FROM c JOIN process_counter_track AS t ON t.id = c.track_id JOIN process AS p USING (upid)
WHERE t.type IN ('process_memory', 'process_memory_thread_fallback', 'smaps') AND t.name <> 'mem.virt' GROUP BY t.id;

-- # counters: Memory of the system
WITH c AS (
  SELECT *, coalesce(lead(ts) OVER track, (SELECT end_ts + 1 FROM trace_bounds)) - ts AS held,
         first_value(value) OVER track AS first, lead(ts) OVER track IS NULL AS is_last
  FROM known_counter WINDOW track AS (PARTITION BY track_id ORDER BY ts, rowid)
)
SELECT t.name AS counter, count(*) AS "values",
       round(min(first) / 1048576, 2) AS first_mib, round(min(value) / 1048576, 2) AS min_mib,
       round(coalesce(sum(value * held) / nullif(sum(held), 0), avg(value)) / 1048576, 2) AS avg_mib,
       round(max(value) / 1048576, 2) AS max_mib, round(max(CASE WHEN is_last THEN value END) / 1048576, 2) AS last_mib
FROM c JOIN counter_track AS t ON t.id = c.track_id WHERE t.type = 'meminfo' GROUP BY t.id;

-- # counters: CPU frequency
SELECT 'cpu ' || t.cpu AS cpu FROM cpu_counter_track AS t WHERE t.type = 'cpu_frequency';

-- # counters: CPU idle states
WITH c AS (
  SELECT t.cpu, value, coalesce(lead(ts) OVER (PARTITION BY track_id ORDER BY ts), (SELECT end_ts + 1 FROM trace_bounds)) - ts AS held
  FROM known_counter JOIN cpu_counter_track AS t ON t.id = track_id WHERE t.type = 'cpu_idle'
)
SELECT 'cpu ' || cpu AS cpu, CASE value WHEN 4294967295 THEN 'not idle' ELSE CAST(CAST(value AS INTEGER) AS TEXT) END AS state,
       count(*) AS times, round(sum(held) / 1e6, 3) AS ms, round(100.0 * sum(held) / sum(sum(held)) OVER (PARTITION BY cpu), 1) AS pct
FROM c GROUP BY cpu, value;

-- # counters: Other counters
WITH c AS (
  SELECT *, coalesce(lead(ts) OVER track, (SELECT end_ts + 1 FROM trace_bounds)) - ts AS held,
         first_value(value) OVER track AS first, lead(ts) OVER track IS NULL AS is_last
  FROM known_counter WINDOW track AS (PARTITION BY track_id ORDER BY ts, rowid)
)
SELECT k.type, k.name AS counter,
       coalesce('cpu ' || o.cpu, coalesce(nullif(p.name, ''), 'process') || ' ' || p.pid,
                coalesce(nullif(t.name, ''), 'thread') || ' ' || t.tid, '') AS of,
       k.unit, count(*) AS "values", round(min(first), 3) AS first, round(min(value), 3) AS min,
       round(coalesce(sum(value * held) / nullif(sum(held), 0), avg(value)), 3) AS avg,
       round(max(value), 3) AS max, round(max(CASE WHEN is_last THEN value END), 3) AS last
FROM c JOIN counter_track AS k ON k.id = c.track_id
LEFT JOIN counter_of_cpu AS o ON o.id = k.id
LEFT JOIN counter_of_process AS q ON q.id = k.id LEFT JOIN process AS p USING (upid)
LEFT JOIN counter_of_thread AS h ON h.id = k.id LEFT JOIN thread AS t USING (utid)
WHERE k.type NOT IN ('process_memory', 'process_memory_thread_fallback', 'smaps', 'meminfo', 'cpu_idle', 'cpu_frequency')
GROUP BY k.id;
