-- The trace is damaged
-- What could be read was. Behind damage, times of incremental clocks are sums that may lack deltas.
-- Severity: warning.
SELECT 'warning' AS severity, 'trace' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, packet_id, events, NULL AS worst_ns,
       printf('The trace is damaged in %,d place%s; the first: %s.', places, iif(places = 1, '', 's'), rtrim(message, '.'))
         || iif(events > 0, ' Behind it, the times of {events} are sums of deltas, and may be too early.', '') AS message,
       'Copy the trace again, and see table import_log; TraceConfig.write_into_file with file_write_period_ms loses less when a recorder is killed.' AS advice
FROM (
  SELECT count(*) AS places, min(packet_id) AS packet_id,
         (SELECT l.message FROM import_log AS l
          WHERE l.code IN ('cut', 'damaged', 'corrupt_packet', 'corrupt_payload') ORDER BY l.id LIMIT 1) AS message,
         (SELECT count(*) FROM unsure_record WHERE time) AS events
  FROM import_log
  WHERE code IN ('cut', 'damaged', 'corrupt_packet', 'corrupt_payload')
)
WHERE places > 0
