-- The trace named its primary clock too late
-- Trace time cannot change after the first conversion, so timebase ignores the later clock.
-- Severity: warning.
SELECT 'warning' AS severity, 'trace time' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, min(packet_id) AS packet_id,
       count(*) AS events, NULL AS worst_ns,
       printf('%,d snapshot%s another clock of trace time than the current one; the first, packet %d: %s.', count(*),
              iif(count(*) = 1, ' names', 's name'), min(packet_id), rtrim(message, '.')) AS message,
       'Set ClockSnapshot.primary_trace_clock in the first snapshot of the trace, and always to the same clock. Do not put traces with different primary clocks into one file.' AS advice
-- Other machines and other files cannot set trace time, so they may name any clock.
FROM (
  SELECT l.* FROM import_log AS l JOIN part AS t USING (trace_file_id, machine_id)
  WHERE l.code = 'primary_clock_ignored' AND t.how = 'trace_time' ORDER BY l.id
)
HAVING count(*) > 0
