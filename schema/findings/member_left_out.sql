-- A file among the inputs is not a trace
-- The import left the file out. It is neither a trace, nor a compressed trace, nor a manifest; or it starts like a trace, but contains
-- nothing readable.
-- Severity: warning.
SELECT 'warning' AS severity, coalesce(f.name, 'file ' || l.trace_file_id) AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
       l.trace_file_id AS file, NULL AS packet_id, 0 AS events, NULL AS worst_ns, rtrim(l.message, '.') || '.' AS message,
       'Leave it out of the archive, or copy it again if it should be a trace.' AS advice
FROM import_log AS l LEFT JOIN trace_file AS f ON f.id = l.trace_file_id
WHERE l.code IN ('unknown_member', 'not_a_trace')
