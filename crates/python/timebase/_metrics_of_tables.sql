-- The values of all traces of a folder of tables, for DuckDB and Spark: trace_id, and the columns of METRICS. It needs a function
-- pattern(text). Each join, group and window has trace_id, because numbers are those of a trace.
WITH lasting AS (
  SELECT s.trace_id, 'slice' AS family, pattern(coalesce(s.process_name, '')) AS process, pattern(s.name) AS name, s.dur,
         CASE WHEN s.doubt IS NULL THEN 1 ELSE 0 END AS sure
  FROM thread_slice AS s
  WHERE s.dur >= 0 AND s.name IS NOT NULL
    AND EXISTS (SELECT 1 FROM thread_track AS k WHERE k.trace_id = s.trace_id AND k.id = s.track_id)
  UNION ALL
  SELECT s.trace_id, 'self', pattern(coalesce(s.process_name, '')), pattern(s.name), d.self_dur, CASE WHEN s.doubt IS NULL THEN 1 ELSE 0 END
  FROM thread_slice AS s JOIN slice_self_dur AS d ON d.trace_id = s.trace_id AND d.id = s.id
  WHERE s.dur >= 0 AND s.name IS NOT NULL AND d.self_dur IS NOT NULL
    AND EXISTS (SELECT 1 FROM thread_track AS k WHERE k.trace_id = s.trace_id AND k.id = s.track_id)
  UNION ALL
  SELECT s.trace_id, 'async', pattern(coalesce(p.name, '')), pattern(s.name), s.dur, CASE WHEN s.doubt IS NULL THEN 1 ELSE 0 END
  FROM slice AS s
  LEFT JOIN process_track AS t ON t.trace_id = s.trace_id AND t.id = s.track_id
  LEFT JOIN process AS p ON p.trace_id = t.trace_id AND p.upid = t.upid
  WHERE s.dur >= 0 AND s.name IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM thread_track AS k WHERE k.trace_id = s.trace_id AND k.id = s.track_id)
    AND NOT EXISTS (SELECT 1 FROM expected_frame_timeline_slice AS f WHERE f.trace_id = s.trace_id AND f.track_id = s.track_id)
    AND NOT EXISTS (SELECT 1 FROM actual_frame_timeline_slice AS f WHERE f.trace_id = s.trace_id AND f.track_id = s.track_id)
  UNION ALL
  SELECT s.trace_id, CASE WHEN s.state LIKE 'R%' THEN 'wait' ELSE 'blocked' END, pattern(coalesce(p.name, '')), pattern(coalesce(t.name, '')),
         s.dur, CASE WHEN s.doubt IS NULL THEN 1 ELSE 0 END
  FROM thread_state AS s
  JOIN thread AS t ON t.trace_id = s.trace_id AND t.utid = s.utid
  LEFT JOIN process AS p ON p.trace_id = t.trace_id AND p.upid = t.upid
  WHERE s.dur >= 0 AND (s.state IN ('R', 'R+') OR s.state LIKE 'D%') AND coalesce(CAST(t.is_idle AS INTEGER), 0) = 0
  UNION ALL
  SELECT f.trace_id, 'frame', pattern(coalesce(p.name, '')), pattern(coalesce(f.layer_name, 'display')), f.dur, 1
  FROM actual_frame_timeline_slice AS f LEFT JOIN process AS p ON p.trace_id = f.trace_id AND p.upid = f.upid
  WHERE f.dur >= 0
),
-- A percentile is a row of its own (nearest rank), of sure rows and of all.
ranked AS (
  SELECT trace_id, family, process, name, dur, sure,
         row_number() OVER (PARTITION BY trace_id, family, process, name ORDER BY dur) AS nr,
         count(*) OVER (PARTITION BY trace_id, family, process, name) AS n,
         CASE WHEN sure = 1 THEN row_number() OVER (PARTITION BY trace_id, family, process, name, sure ORDER BY dur) END AS sure_nr,
         sum(sure) OVER (PARTITION BY trace_id, family, process, name) AS sure_n
  FROM lasting
),
percentile AS (
  SELECT 'p50' AS stat, 50 AS pct UNION ALL SELECT 'p90', 90 UNION ALL SELECT 'p99', 99 UNION ALL SELECT 'max', 100
),
-- A value counts until the next one, or until the end of the trace.
lasted AS (
  SELECT c.trace_id, c.track_id, c.value,
         coalesce(lead(c.ts) OVER (PARTITION BY c.trace_id, c.track_id ORDER BY c.ts, c.id), b.end_ts) - c.ts AS ns
  FROM counter AS c JOIN trace_bounds AS b ON b.trace_id = c.trace_id
),
counted AS (
  SELECT h.trace_id, pattern(coalesce(p.name, '')) AS process, pattern(k.name) AS name,
         sum(h.value * h.ns) / nullif(sum(h.ns), 0) AS mean, max(h.value) AS largest
  FROM lasted AS h
  JOIN counter_track AS k ON k.trace_id = h.trace_id AND k.id = h.track_id
  LEFT JOIN process_counter_track AS t ON t.trace_id = k.trace_id AND t.id = k.id
  LEFT JOIN process AS p ON p.trace_id = t.trace_id AND p.upid = t.upid
  WHERE k.name IS NOT NULL
  GROUP BY 1, 2, 3
),
-- Samples and memory of innermost functions.
weighed AS (
  SELECT s.trace_id, 'sample' AS family, 'self' AS stat, coalesce(c.upid, t.upid) AS upid, s.callsite_id, 1 AS weight
  FROM stack_sample AS s
  LEFT JOIN stack_sample_task_context AS c ON c.trace_id = s.trace_id AND c.id = s.task_context_id
  LEFT JOIN thread AS t ON t.trace_id = c.trace_id AND t.utid = c.utid
  UNION ALL
  SELECT trace_id, 'heap', 'size', upid, callsite_id, size FROM heap_profile_allocation
),
found AS (
  SELECT trace_id, family, process, name, 'count' AS stat, sum(sure) AS value, count(*) AS value_all FROM lasting GROUP BY 1, 2, 3, 4
  UNION ALL
  SELECT trace_id, family, process, name, 'total', sum(dur * sure), sum(dur) FROM lasting GROUP BY 1, 2, 3, 4
  UNION ALL
  SELECT r.trace_id, r.family, r.process, r.name, q.stat, max(CASE WHEN r.sure_nr = floor((q.pct * r.sure_n + 99) / 100.0) THEN r.dur END),
         max(CASE WHEN r.nr = floor((q.pct * r.n + 99) / 100.0) THEN r.dur END)
  FROM ranked AS r CROSS JOIN percentile AS q GROUP BY 1, 2, 3, 4, 5
  UNION ALL
  SELECT trace_id, 'cpu', pattern(coalesce(process_name, '')), pattern(coalesce(thread_name, '')), 'total', sum(cpu_time), sum(cpu_time + doubtful_time)
  FROM cpu_time_by_thread GROUP BY 1, 3, 4
  UNION ALL
  SELECT trace_id, 'cpu of process', pattern(coalesce(process_name, '')), '', 'total', sum(cpu_time), sum(cpu_time + doubtful_time)
  FROM cpu_time_by_thread GROUP BY 1, 3
  UNION ALL
  SELECT f.trace_id, 'frame', pattern(coalesce(p.name, '')), pattern(coalesce(f.layer_name, 'display')), 'jank',
         avg(CASE WHEN f.jank_type IN ('None', 'Unspecified', 'Buffer Stuffing') THEN 0.0 ELSE 1.0 END),
         avg(CASE WHEN f.jank_type IN ('None', 'Unspecified', 'Buffer Stuffing') THEN 0.0 ELSE 1.0 END)
  FROM actual_frame_timeline_slice AS f LEFT JOIN process AS p ON p.trace_id = f.trace_id AND p.upid = f.upid
  WHERE f.dur >= 0 AND f.jank_type IS NOT NULL GROUP BY 1, 3, 4
  UNION ALL
  SELECT trace_id, 'counter', process, name, 'mean', mean, mean FROM counted
  UNION ALL
  SELECT trace_id, 'counter', process, name, 'max', largest, largest FROM counted
  UNION ALL
  SELECT a.trace_id, 'log', pattern(coalesce(p.name, '')), pattern(coalesce(a.tag, '')), 'count', count(*), count(*)
  FROM android_logs AS a
  LEFT JOIN thread AS t ON t.trace_id = a.trace_id AND t.utid = a.utid
  LEFT JOIN process AS p ON p.trace_id = t.trace_id AND p.upid = t.upid
  WHERE a.prio >= 6 GROUP BY 1, 3, 4
  UNION ALL
  SELECT w.trace_id, w.family, pattern(coalesce(p.name, '')), coalesce(nullif(pattern(f.name), ''), '[unknown]'), w.stat, sum(w.weight), sum(w.weight)
  FROM weighed AS w
  LEFT JOIN process AS p ON p.trace_id = w.trace_id AND p.upid = w.upid
  JOIN stack_profile_callsite AS k ON k.trace_id = w.trace_id AND k.id = w.callsite_id
  JOIN stack_profile_frame AS f ON f.trace_id = k.trace_id AND f.id = k.frame_id
  GROUP BY 1, 2, 3, 4, 5
  UNION ALL
  -- Facts of the run.
  SELECT trace_id, 'run', '', 'length', 'ns', end_ts - start_ts, end_ts - start_ts FROM trace_bounds
  UNION ALL
  SELECT b.trace_id, 'run', '', 'frames', 'count', count(f.id), count(f.id)
  FROM trace_bounds AS b
  LEFT JOIN actual_frame_timeline_slice AS f ON f.trace_id = b.trace_id AND f.dur >= 0 AND f.layer_name IS NOT NULL
  GROUP BY 1
  UNION ALL
  SELECT trace_id, 'run', '', 'left_out', family, sum(dur * (1 - sure)) / (1.0 * nullif(sum(dur), 0)), NULL FROM lasting GROUP BY 1, 5
  UNION ALL
  SELECT trace_id, 'run', '', 'left_out', 'cpu', sum(doubtful_time) / (1.0 * nullif(sum(cpu_time + doubtful_time), 0)), NULL FROM cpu_time_by_thread GROUP BY 1
  UNION ALL
  SELECT b.trace_id, 'run', '', 'lost', 'share', coalesce(sum(l.end_ts - l.start_ts), 0) / (1.0 * nullif(max(b.end_ts - b.start_ts), 0)), NULL
  FROM trace_bounds AS b
  LEFT JOIN (
    SELECT DISTINCT trace_id, start_ts, end_ts FROM loss WHERE severity = 'data_loss' AND end_ts > start_ts
  ) AS l ON l.trace_id = b.trace_id
  GROUP BY b.trace_id
  UNION ALL
  SELECT trace_id, 'run', '', 'errors', 'count', count(*), count(*) FROM finding WHERE severity = 'error' GROUP BY trace_id
)
SELECT trace_id, family, process, name, stat, CAST(value AS DOUBLE) AS value, CAST(value_all AS DOUBLE) AS value_all FROM found
