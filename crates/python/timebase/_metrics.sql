SELECT family, process, name, stat, CAST(value AS REAL) AS value, CAST(value_all AS REAL) AS value_all FROM (
WITH shown AS MATERIALIZED (
-- Things that last: a row for each, with the time without inner ones if it is a slice on a thread. Slices and waits
-- without an end do not count. `sure` is 0 for rows with doubt.
SELECT 'slice' AS family, coalesce(s.process_name, '') AS process, s.name AS name, s.dur AS dur, d.self_dur AS self_dur,
       s.doubt IS NULL AS sure, s.track_id AS track_id, s.id AS id, s.parent_id AS parent_id
FROM thread_slice AS s JOIN slice_self_dur AS d USING (id)
WHERE s.dur >= 0 AND s.name IS NOT NULL AND s.track_id IN (SELECT id FROM thread_track)
UNION ALL
SELECT 'async', coalesce(p.name, ''), s.name, s.dur, NULL, s.doubt IS NULL, NULL, NULL, NULL
FROM slice AS s
LEFT JOIN process_track AS t ON t.id = s.track_id
LEFT JOIN process AS p USING (upid)
WHERE s.dur >= 0 AND s.name IS NOT NULL AND s.track_id NOT IN (SELECT id FROM thread_track)
  AND s.track_id NOT IN (SELECT track_id FROM expected_frame_timeline_slice UNION ALL SELECT track_id FROM actual_frame_timeline_slice)
UNION ALL
-- R: ready, but another thread had the CPU. D: blocked in the kernel, mostly by a disk.
SELECT iif(s.state GLOB 'R*', 'wait', 'blocked'), coalesce(p.name, ''), coalesce(t.name, ''), s.dur, NULL, s.doubt IS NULL, NULL, NULL, NULL
FROM thread_state AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE s.dur >= 0 AND (s.state IN ('R', 'R+') OR s.state GLOB 'D*') AND NOT coalesce(t.is_idle, 0)
UNION ALL
SELECT 'frame', coalesce(p.name, ''), coalesce(f.layer_name, 'display'), f.dur, NULL, 1, NULL, NULL, NULL
FROM actual_frame_timeline_slice AS f LEFT JOIN process AS p USING (upid)
WHERE f.dur >= 0
),
lasting AS MATERIALIZED (
  SELECT family, pattern(process) AS process, pattern(name) AS name, dur, sure FROM shown
  UNION ALL
  SELECT 'self', pattern(process), pattern(name), self_dur, sure FROM shown WHERE self_dur IS NOT NULL
),
-- The statistics of what lasts. A percentile is a row of its own (nearest rank).
ranked AS (
  SELECT family, process, name, dur, sure,
         row_number() OVER (PARTITION BY family, process, name ORDER BY dur) AS nr,
         count(*) OVER line AS n,
         iif(sure, sum(sure) OVER (PARTITION BY family, process, name ORDER BY dur ROWS UNBOUNDED PRECEDING), NULL) AS sure_nr,
         sum(sure) OVER line AS sure_n
  FROM lasting WINDOW line AS (PARTITION BY family, process, name)
)
SELECT family, process, name, 'count' AS stat, sum(sure) AS value, count(*) AS value_all FROM lasting GROUP BY family, process, name
UNION ALL
SELECT family, process, name, 'total', total(dur * sure), total(dur) FROM lasting GROUP BY family, process, name
UNION ALL
SELECT family, process, name, stat, max(iif(sure_nr = (pct * sure_n + 99) / 100, dur, NULL)), max(iif(nr = (pct * n + 99) / 100, dur, NULL))
FROM ranked, (SELECT 'p50' AS stat, 50 AS pct UNION ALL SELECT 'p90', 90 UNION ALL SELECT 'p99', 99 UNION ALL SELECT 'max', 100)
GROUP BY family, process, name, stat
UNION ALL
SELECT 'run', '', 'left_out', family, total(dur * (1 - sure)) / nullif(total(dur), 0), NULL FROM lasting GROUP BY family
UNION ALL
-- Values that are no durations: a row for each line and statistic. Rows are added up by number before names are made.
-- CPU time: by thread, and by process.
SELECT 'cpu' AS family, coalesce(pattern(process_name), '') AS process, coalesce(pattern(thread_name), '') AS name, 'total' AS stat,
       total(cpu_time) AS value, total(cpu_time + doubtful_time) AS value_all
FROM cpu_time_by_thread GROUP BY 2, 3
UNION ALL
SELECT 'cpu of process', coalesce(pattern(process_name), ''), '', 'total', total(cpu_time), total(cpu_time + doubtful_time)
FROM cpu_time_by_thread GROUP BY 2
UNION ALL
-- Jank: the share of frames that were late for a known reason.
SELECT 'frame', coalesce(pattern(p.name), ''), coalesce(pattern(f.layer_name), 'display'), 'jank', avg(jank), avg(jank)
FROM (
  SELECT upid, layer_name, jank_type NOT IN ('None', 'Unspecified', 'Buffer Stuffing') AS jank
  FROM actual_frame_timeline_slice WHERE dur >= 0 AND jank_type IS NOT NULL
) AS f LEFT JOIN process AS p USING (upid)
GROUP BY 2, 3
UNION ALL
-- Counters: a value counts until the next one. Tracks of one name (CPUs) share a line. Memory is among them.
SELECT 'counter', process, name, stat, iif(stat = 'mean', mean, largest), iif(stat = 'mean', mean, largest)
FROM (
  SELECT coalesce(pattern(p.name), '') AS process, pattern(k.name) AS name,
         total(h.weighed) / nullif(total(h.ns), 0) AS mean, max(h.largest) AS largest
  FROM (
    SELECT track_id, total(value * ns) AS weighed, total(ns) AS ns, max(value) AS largest
    FROM (
      SELECT track_id, value, coalesce(lead(ts) OVER (PARTITION BY track_id ORDER BY ts, id), (SELECT end_ts FROM trace_bounds)) - ts AS ns
      FROM counter
    )
    GROUP BY track_id
  ) AS h
  JOIN counter_track AS k ON k.id = h.track_id
  LEFT JOIN process_counter_track AS t ON t.id = k.id
  LEFT JOIN process AS p USING (upid)
  WHERE k.name IS NOT NULL
  GROUP BY 1, 2
), (SELECT 'mean' AS stat UNION ALL SELECT 'max')
UNION ALL
-- Log lines of level E and F, by tag.
SELECT 'log', coalesce(pattern(p.name), ''), coalesce(pattern(a.tag), ''), 'count', count(*), count(*)
FROM android_logs AS a LEFT JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE a.prio >= 6 GROUP BY 2, 3
UNION ALL
-- Samples by function: of the innermost frame (self). A comparison divides by the sum of the run.
SELECT 'sample', coalesce(pattern(p.name), ''), coalesce(nullif(pattern(f.name), ''), '[unknown]'), 'self', sum(s.samples), sum(s.samples)
FROM (
  SELECT s.callsite_id, coalesce(c.upid, t.upid) AS upid, count(*) AS samples
  FROM stack_sample AS s
  LEFT JOIN stack_sample_task_context AS c ON c.id = s.task_context_id
  LEFT JOIN thread AS t ON t.utid = c.utid
  WHERE s.callsite_id IS NOT NULL
  GROUP BY 1, 2
) AS s
LEFT JOIN process AS p ON p.upid = s.upid
JOIN stack_profile_callsite AS k ON k.id = s.callsite_id
JOIN stack_profile_frame AS f ON f.id = k.frame_id
GROUP BY 2, 3
UNION ALL
-- Memory that was allocated and not freed, by function.
SELECT 'heap', coalesce(pattern(p.name), ''), coalesce(nullif(pattern(f.name), ''), '[unknown]'), 'size', total(h.size), total(h.size)
FROM (SELECT upid, callsite_id, sum(size) AS size FROM heap_profile_allocation GROUP BY 1, 2) AS h
LEFT JOIN process AS p USING (upid)
JOIN stack_profile_callsite AS k ON k.id = h.callsite_id
JOIN stack_profile_frame AS f ON f.id = k.frame_id
GROUP BY 2, 3
UNION ALL
-- Facts of the run: `start` is of the wall clock.
SELECT 'run', '', 'length', 'ns', end_ts - start_ts, end_ts - start_ts FROM trace_bounds
UNION ALL
SELECT 'run', '', 'start', 'ns', to_realtime(start_ts), to_realtime(start_ts) FROM trace_bounds WHERE start_ts > 0
UNION ALL
SELECT 'run', '', 'frames', 'count', count(*), count(*) FROM actual_frame_timeline_slice WHERE dur >= 0 AND layer_name IS NOT NULL
UNION ALL
SELECT 'run', '', 'left_out', 'cpu', total(doubtful_time) / nullif(total(cpu_time + doubtful_time), 0), NULL FROM cpu_time_by_thread
UNION ALL
SELECT 'run', '', 'lost', 'share', total(end_ts - start_ts) / nullif((SELECT end_ts - start_ts FROM trace_bounds), 0), NULL
FROM (SELECT start_ts, end_ts FROM loss WHERE severity = 'data_loss' AND end_ts > start_ts GROUP BY start_ts, end_ts)
)
