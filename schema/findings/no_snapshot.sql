-- The trace has no clock snapshot
-- Timebase takes timestamps without a clock as trace time. That is right if all come from one clock.
-- Severity: info.
SELECT 'info' AS severity, 'trace' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, NULL AS packet_id,
       (SELECT count(*) FROM packet WHERE timestamp IS NOT NULL) AS events, NULL AS worst_ns,
       iif(is_json, 'The trace does not say when its clock began', 'The trace has no snapshot of clocks')
         || ', so the import kept the times of {events} as they are, and the time of day is unknown.' AS message,
       iif(is_json, 'Write baseTimeNanoseconds beside traceEvents: the nanoseconds since 1970 at ts 0.',
           'Write a ClockSnapshot at the start of the trace, with the clock of the events (ClockSnapshot.Clock.clock_id) and REALTIME (1).') AS advice
FROM (SELECT NOT EXISTS (SELECT * FROM trace_file WHERE trace_type = 'proto') AS is_json)
WHERE NOT EXISTS (SELECT * FROM clock_snapshot WHERE source <> 'assumed') AND NOT EXISTS (SELECT * FROM import_log WHERE code = 'snapshot_trace_time_unit')
  -- If the timestamps are Unix time, another check says so.
  AND NOT ((SELECT min(ts) FROM packet_record WHERE ts > 0) >= 978307200000000000 AND (SELECT max(ts) FROM packet_record) <= 4102444800000000000)
  AND EXISTS (SELECT * FROM packet WHERE ts IS NOT NULL)
