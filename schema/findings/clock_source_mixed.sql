-- A file uses the clocks of its machine first, and its own later
-- Until a file has a snapshot, timebase uses the snapshots of other files of its machine, and from then on the file's own. The two need
-- not agree, so earlier events may be off against later ones.
-- Severity: warning.
SELECT 'warning' AS severity, iif(machine_id, 'machine ' || machine_id || ' in ', '') || 'file ' || trace_file_id AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, trace_file_id AS file, own_from AS packet_id,
       (SELECT count(*) FROM packet AS p
        WHERE p.id < t.own_from AND p.trace_file_id = t.trace_file_id AND p.machine_id = t.machine_id AND p.ts IS NOT NULL) AS events, NULL AS worst_ns,
       '{events} of file ' || trace_file_id || ' got times by the snapshots of other files of machine ' || machine_id
         || ', because the first snapshot of the file, packet ' || own_from || ', came later.' AS message,
       'Write a ClockSnapshot at the start of each file, as the tracing service does, and the Perfetto SDK with each SEQ_INCREMENTAL_STATE_CLEARED.' AS advice
FROM part AS t
WHERE EXISTS (
  SELECT * FROM import_log AS l
  WHERE l.code = 'mixed_clock_sources' AND l.trace_file_id = t.trace_file_id AND l.machine_id = t.machine_id)
