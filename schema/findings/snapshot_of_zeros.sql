-- A snapshot reads 0 on all clocks
-- The writer did not read the clocks, so the snapshot does not relate them. Timebase still converts with it, as trace processor does, but
-- other checks ignore it.
-- Severity: warning.
SELECT 'warning' AS severity, 'snapshot' || iif(machine_id, ' of machine ' || machine_id, '') || iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, trace_file_id AS file, min(packet_id) AS packet_id, count(*) AS events, NULL AS worst_ns,
       printf('%,d snapshot%s 0 on all clocks. The times of events are their timestamps, so the time of day and the relation of their clocks are not known.', count(*),
              iif(count(*) = 1, ' reads', 's read')) AS message,
       'Read the clocks (clock_gettime) for ClockSnapshot.Clock.timestamp, at the start of the trace, or leave the ClockSnapshot out.' AS advice
FROM import_log
WHERE code = 'snapshot_of_zeros'
GROUP BY machine_id, trace_file_id
