-- Violations of the rules for every imported database, a row for each. The references between
-- tables are in import.rs.

-- packet: ids 0, 1, 2 ... in file order
SELECT 'packet: offset of ' || id FROM (SELECT id, offset, lag(offset) OVER (ORDER BY id) AS before FROM packet)
WHERE offset < before
UNION ALL
SELECT 'packet: size of ' || id FROM packet WHERE data IS NOT NULL AND length(data) <> size
UNION ALL
SELECT 'packet: time of ' || id FROM packet
WHERE ts IS NOT NULL AND unresolved IS NOT NULL
  OR timestamp IS NULL AND clock_ts IS NOT NULL
  -- V7 has no reason for a snapshot that is refused as a whole.
  OR ts IS NULL AND unresolved IS NULL AND timestamp IS NOT NULL AND type IS NOT 'clock_snapshot'
UNION ALL
SELECT 'packet: ' || unresolved FROM packet
WHERE unresolved NOT IN ('unknown_clock', 'no_path', 'non_monotonic', 'no_target', 'overflow',
  'incremental_state_lost', 'no_sequence_id', 'no_base')
UNION ALL
SELECT 'packet: sequence of ' || id FROM packet AS p
WHERE seq_id <> 0 AND NOT EXISTS (SELECT 1 FROM sequence AS s WHERE s.id = p.seq_id AND s.machine_id = p.machine_id AND s.trace_file_id = p.trace_file_id)
UNION ALL
SELECT 'sequence: packets of ' || id FROM sequence WHERE packets < 0 OR losses > packets OR first_ts > last_ts

-- clocks
UNION ALL
SELECT 'clock_snapshot: ' || id FROM clock_snapshot
WHERE clock_value <> timestamp * unit_multiplier_ns
  OR source NOT IN (SOURCES) OR clock_id = 0 OR clock_id BETWEEN 64 AND 127 AND seq_id = 0
UNION ALL
SELECT 'clock_snapshot: no clock for ' || id FROM clock_snapshot AS r
WHERE NOT EXISTS (SELECT 1 FROM clock AS c
  WHERE c.machine_id = r.machine_id AND c.clock_id = r.clock_id AND c.seq_id = r.seq_id AND c.trace_file_id IS r.trace_file_id)
UNION ALL
SELECT 'clock_step: ' || clock_id FROM (
  SELECT clock_id, start_value, end_value, lead(start_value) OVER (
    PARTITION BY machine_id, clock_id, seq_id, file, to_clock_id ORDER BY start_value) AS next FROM clock_step)
WHERE end_value <= start_value OR next IS NOT NULL AND (end_value IS NULL OR end_value > next)

-- kernel events and log lines
UNION ALL
SELECT 'ftrace_partial: ' || id FROM ftrace_partial WHERE id IN (SELECT id FROM ftrace_record)
UNION ALL
SELECT 'ftrace_args: ' || id FROM ftrace_args WHERE NOT json_valid(args) OR id % 2 = 0
UNION ALL
SELECT 'ftrace_unresolved: ' || first_id FROM ftrace_unresolved WHERE first_id > last_id
UNION ALL
SELECT 'android_log_record: ' || id FROM android_log_record
WHERE NOT json_valid(coalesce(args, '{}')) OR ts IS NOT NULL AND unresolved IS NOT NULL

-- scheduling
UNION ALL
SELECT 'cpu: ' || id FROM cpu_record WHERE id <> 4096 * machine_id + cpu
UNION ALL
SELECT 'sched: ' || id FROM sched_record WHERE dur < -1
UNION ALL
SELECT 'sched: overlap at ' || id FROM (
  SELECT id, ts, lag(ts + max(dur, 0)) OVER (PARTITION BY ucpu ORDER BY ts, id) AS before FROM sched_record)
WHERE ts < before
UNION ALL
SELECT 'thread_state: ' || min(id) FROM thread_state WHERE dur < -1 HAVING count(*) > 0
UNION ALL
SELECT 'thread_state: twice ' || id FROM thread_state GROUP BY id HAVING count(*) > 1

-- slices and arguments
UNION ALL
SELECT 'slice: ' || s.id FROM slice_record AS s LEFT JOIN slice_record AS p ON p.id = s.parent_id
WHERE s.dur < -1
  OR s.parent_id IS NOT NULL AND (p.id IS NULL OR p.track_id <> s.track_id OR p.depth <> s.depth - 1 OR p.ts > s.ts)
  OR s.parent_id IS NULL AND s.depth <> 0
UNION ALL
SELECT 'arg_set: ' || id FROM arg_set WHERE NOT json_valid(args) OR id % 2 <> 0
UNION ALL
SELECT 'arg_type: ' || id FROM arg_type
WHERE NOT json_valid(coalesce(types, '{}')) OR NOT json_valid(coalesce(flat_keys, '{}'))

-- reports and counters
UNION ALL
SELECT 'import_log: ' || id FROM import_log WHERE severity NOT IN ('info', 'warning', 'error')
UNION ALL
SELECT 'stats: ' || name FROM stats WHERE severity NOT IN ('info', 'notice', 'data_loss', 'error') OR value < 0 AND source = 'analysis'
