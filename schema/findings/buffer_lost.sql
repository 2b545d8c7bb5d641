-- The recorder's buffers lost data
-- The recorder says that chunks or packets did not reach its buffers, or that it could not complete them there.
-- Severity: warning.
SELECT 'warning' AS severity, coalesce('buffer ' || buffer, 'recorder') || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
       coalesce('Buffer ' || buffer, 'The recorder') || ' lost data: '
         || (SELECT group_concat(said, ', ') FROM (SELECT t.said FROM told AS t WHERE t.kind = 'buffer' AND t.name <> l.meant AND t.idx IS l.buffer
                                                   AND t.machine_id = l.machine_id AND t.trace_file_id = l.file ORDER BY t.place)) || '.' AS message,
       (SELECT group_concat(advice, ' ') FROM (SELECT DISTINCT t.advice FROM told AS t WHERE t.kind = 'buffer' AND t.name <> l.meant AND t.idx IS l.buffer
                                               AND t.machine_id = l.machine_id AND t.trace_file_id = l.file ORDER BY t.place)) AS advice
FROM (
  SELECT l.machine_id, l.buffer, p.trace_file_id AS file, min(l.packet_id) AS packet_id,
         iif(max(l.severity = 'info'), 'traced_buf_chunks_overwritten', '') AS meant
  FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
  WHERE l.kind = 'buffer'
  GROUP BY l.machine_id, l.buffer, p.trace_file_id
  HAVING max(l.severity = 'data_loss')
) AS l
