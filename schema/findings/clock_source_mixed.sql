-- A file is read on its machine's clocks first, and on its own later
-- Until a file brings a snapshot, it is read by those of other files of its machine, and from then on by its own. The two need not agree, so
-- what came before may be off against what came after.
-- Severity: warning.
SELECT 'warning' AS severity, iif(machine_id, 'machine ' || machine_id || ' in ', '') || 'file ' || trace_file_id AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, trace_file_id AS file, own_from AS packet_id,
       (SELECT count(*) FROM packet AS p
        WHERE p.id < t.own_from AND p.trace_file_id = t.trace_file_id AND p.machine_id = t.machine_id AND p.ts IS NOT NULL) AS events, NULL AS worst_ns,
       '{events} of file ' || trace_file_id || ' got times by the snapshots of other files of machine ' || machine_id
         || ', as its own first one is packet ' || own_from || ' and came after them.' AS message,
       'Write a ClockSnapshot at the begin of each file; the tracing service does, and the Perfetto SDK with each SEQ_INCREMENTAL_STATE_CLEARED.' AS advice
FROM part AS t
WHERE EXISTS (
  SELECT * FROM import_log AS l
  WHERE l.code = 'mixed_clock_sources' AND l.trace_file_id = t.trace_file_id AND l.machine_id = t.machine_id)
