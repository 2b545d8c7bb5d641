-- Nothing relates the clock of a JSON trace to those of the other files
-- The producer does not say when its clock began, so the import assumes that it is trace time or the wall clock. If that is wrong, the file's
-- events are beside those of other files by the difference.
-- Severity: warning.
SELECT 'warning' AS severity, 'file ' || trace_file_id AS subject, machine_id, 11 AS clock_id, 0 AS seq_id, trace_file_id AS file, packet_id, events, NULL AS worst_ns,
       '{events} of file ' || trace_file_id || ' were placed on the assumption that the file''s clock is trace time or the wall clock, which nothing confirms.' AS message,
       'Write when the clock of the trace began (baseTimeNanoseconds: nanoseconds since 1970 at ts 0), or relate it in a manifest (clocks.sync_to, or offset_ns).' AS advice
FROM (
  SELECT p.*, (SELECT min(r.id) FROM packet_common AS c CROSS JOIN packet_record AS r ON r.common_id = c.id WHERE c.trace_file_id = p.trace_file_id) AS packet_id,
         (SELECT count(r.ts) FROM packet_common AS c CROSS JOIN packet_record AS r ON r.common_id = c.id WHERE c.trace_file_id = p.trace_file_id) AS events
  FROM part AS p JOIN trace_file AS f ON f.id = p.trace_file_id
  WHERE f.trace_type = 'json' AND p.how = 'assumed' AND (SELECT count(DISTINCT trace_file_id) FROM part) > 1
)
