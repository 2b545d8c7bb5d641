-- The clocks and events of a trace in numbers: one row.
WITH gap AS (
  SELECT max(ts) - min(ts) AS span, max(gap) AS largest
  FROM (
    SELECT ts, ts - lag(ts) OVER (ORDER BY ts) AS gap
    FROM (SELECT min(ts) AS ts FROM clock_snapshot WHERE source IN ('service', 'writer') GROUP BY snapshot_id)
  )
),
-- Clocks that stand still between two ticks, and those that count something else, do not drift.
steady AS (
  SELECT * FROM clock_hop WHERE clock_id NOT IN (2, 4) AND to_clock_id NOT IN (2, 4) AND nominal_rate = 1
),
fastest AS (
  SELECT from_clock || ' → ' || to_clock AS clocks, drift_ppm FROM steady
  WHERE drift_ppm IS NOT NULL ORDER BY abs(drift_ppm) DESC, id LIMIT 1
)
SELECT
  (SELECT count(*) FROM trace_file WHERE NOT is_container AND trace_type NOT IN ('perfetto_manifest', 'unknown')) AS files,
  (SELECT count(*) FROM machine) AS machines,
  (SELECT count(*) FROM clock) AS clocks,
  (SELECT count(*) FROM clock_record WHERE path IS NULL AND (machine_id, clock_id, seq_id, file) NOT IN (
    SELECT machine_id, clock_id, seq_id, file FROM clock_route
    WHERE to_clock_id = (SELECT value FROM fact WHERE name = 'trace_time_clock_id'))) AS clocks_without_path,
  (SELECT count(DISTINCT snapshot_id) FROM clock_snapshot WHERE source IN ('service', 'writer', 'json')) AS snapshots,
  (SELECT span FROM gap) AS snapshots_span_ns,
  (SELECT largest FROM gap) AS snapshots_largest_gap_ns,
  (SELECT count(*) FROM packet) AS packets,
  (SELECT count(*) FROM packet WHERE ts IS NOT NULL) AS packets_on_trace_time,
  (SELECT count(*) FROM packet WHERE unresolved IS NOT NULL) AS packets_unresolved,
  (SELECT count(*) FROM ftrace_record) AS kernel_events,
  (SELECT count(*) FROM ftrace_record WHERE ts IS NULL) AS kernel_events_unresolved,
  (SELECT count(*) FROM android_log_record) AS log_lines,
  (SELECT count(*) FROM android_log_record WHERE unresolved IS NOT NULL) AS log_lines_unresolved,
  (SELECT coalesce(sum(events), 0) FROM event_fault WHERE effect = 'dropped' AND cause <> 'state_lost') AS events_dropped,
  (SELECT count(DISTINCT slice_id) FROM misplaced_end WHERE reason IN ('cut', 'early')) AS ends_misplaced,
  (SELECT drift_ppm FROM fastest) AS largest_drift_ppm,
  (SELECT clocks FROM fastest) AS largest_drift_clocks,
  (SELECT max(worst_error_ns) FROM steady) AS worst_error_ns,
  (SELECT max(worst_error_nearest_ns) FROM steady) AS worst_error_nearest_ns,
  coalesce((SELECT value FROM fact WHERE name = 'conversion'), 'nearest') AS conversion
