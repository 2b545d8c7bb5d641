-- Entries of the manifest have no effect
-- An entry names no file among the inputs, or a file that an earlier entry has named. Timebase ignores the entry.
-- Severity: warning.
SELECT 'warning' AS severity, 'manifest' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, NULL AS packet_id,
       0 AS events, NULL AS worst_ns, rtrim(message, '.') || '.' AS message,
       'Write files[].path as the archive names the file, with directories, and once; table trace_file has the names.' AS advice
FROM import_log
WHERE code = 'manifest_entry_ignored'
