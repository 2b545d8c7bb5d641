-- A file consists of several recordings
-- Recordings use the numbers of writers, tracks and clocks again, so events of the second may be on tracks of the first, end its slices or
-- be converted by its clocks.
-- Severity: warning.
SELECT 'warning' AS severity, iif(f.parent_id IS NULL, 'trace', f.name) AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
       l.trace_file_id AS file, l.packet_id AS packet_id,
       (SELECT count(*) FROM packet AS p WHERE p.trace_file_id = l.trace_file_id AND p.id >= l.packet_id AND p.ts IS NOT NULL) AS events,
       NULL AS worst_ns, 'In the file, ' || rtrim(l.message, '.') || '.' AS message,
       'Import the recordings as files of their own: timebase import ' || iif(f.parent_id IS NULL, 'TRACE', f.name) || ' --split.' AS advice
FROM import_log AS l JOIN trace_file AS f ON f.id = l.trace_file_id
WHERE l.code = 'recordings_joined'
