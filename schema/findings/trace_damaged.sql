-- The trace is damaged
-- The import read all that it could. After damage, times of incremental clocks are sums that may lack deltas.
-- Severity: warning.
SELECT 'warning' AS severity, iif(file, 'file ' || file, 'trace') AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
       file, packet_id, events, NULL AS worst_ns,
       iif(file, 'File ' || file, 'The trace') || printf(' is damaged in %,d place%s; the first: %s.', places, iif(places = 1, '', 's'), rtrim(message, '.'))
         || iif(events > 0, ' After the damage, the times of {events} are sums of deltas, and may be too early.', '') AS message,
       iif(is_json, 'If the program that wrote the trace ended early, it lost the rest; otherwise copy the trace again. The table import_log has each place.',
           'Copy the trace again, and see table import_log. TraceConfig.write_into_file with file_write_period_ms loses less when a recorder is killed.') AS advice
FROM (
  SELECT d.*, (SELECT l.message FROM import_log AS l WHERE l.id = d.first) AS message,
         (SELECT count(*) FROM unsure_record AS u JOIN import_log AS l ON l.id = u.log_id
          WHERE u.time AND l.trace_file_id IS d.file) AS events
  FROM (
    SELECT trace_file_id AS file, count(*) AS places, min(packet_id) AS packet_id, min(id) AS first,
           max(code GLOB 'json_*') AS is_json
    FROM import_log AS l
    WHERE code IN ('cut', 'damaged', 'json_cut', 'json_damaged', 'json_no_event', 'json_trailing_data', 'corrupt_packet', 'corrupt_payload')
      -- If a file is not a trace, another check reports it.
      AND NOT EXISTS (SELECT * FROM import_log AS n WHERE n.code = 'not_a_trace' AND n.trace_file_id = l.trace_file_id)
    GROUP BY trace_file_id
  ) AS d
)
