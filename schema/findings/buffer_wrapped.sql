-- A ring buffer wrapped
-- The recorder's buffer was full, so it dropped the oldest chunks, as configured. The trace begins later than the recording.
-- Severity: info.
SELECT 'info' AS severity, 'buffer ' || buffer || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
       printf('Buffer %d overwrote its oldest %,d chunk%s: the trace lacks the start of the recording.', buffer, chunks, iif(chunks = 1, '', 's')) AS message,
       'If you need the start, make the buffer larger (BufferConfig.size_kb), or write while recording (TraceConfig.write_into_file with file_write_period_ms).' AS advice
FROM (
  SELECT l.machine_id, l.buffer, p.trace_file_id AS file, min(l.packet_id) AS packet_id, total(l.count) AS chunks
  FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
  WHERE l.kind = 'buffer' AND l.severity = 'info'
  GROUP BY l.machine_id, l.buffer, p.trace_file_id
)
