-- Entries of the manifest do nothing
-- An entry names no file among the inputs, or one that another entry has named before: what it says does not count.
-- Severity: warning.
SELECT 'warning' AS severity, 'manifest' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, NULL AS packet_id,
       0 AS events, NULL AS worst_ns, rtrim(message, '.') || '.' AS message,
       'Write files[].path as the file is called in the archive, directories included, and once; table trace_file has the names.' AS advice
FROM import_log
WHERE code = 'manifest_entry_ignored'
