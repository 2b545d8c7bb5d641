-- Events use a clock of the whole trace, but no snapshot reads it
-- Events on the clock have no time.
-- Severity: error.
SELECT 'error' AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, min(packet_id) AS packet_id,
       sum(events) AS events, NULL AS worst_ns,
       'No snapshot reads clock {subject}, so {events} on it could not be placed in time.' AS message,
       CASE
         WHEN clock_id < 64 THEN 'Leave the clock snapshots of the tracing service on: do not set TraceConfig.builtin_data_sources.disable_clock_snapshotting.'
         ELSE 'Write a ClockSnapshot with this clock and a builtin one: ClockSnapshot.Clock.clock_id ' || clock_id || ' and 6, BOOTTIME.'
       END AS advice
FROM unplaced AS u
WHERE reason = 'unknown_clock' AND clock_id NOT BETWEEN 64 AND 127
  -- If their unit made the snapshots useless, another check says so.
  AND NOT EXISTS (SELECT * FROM import_log AS l WHERE l.code = 'snapshot_trace_time_unit' AND l.machine_id = u.machine_id AND l.trace_file_id = u.trace_file_id)
GROUP BY machine_id, clock_id, file
