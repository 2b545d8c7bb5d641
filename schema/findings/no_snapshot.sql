-- The trace has no clock snapshot
-- Timestamps without a clock are taken for trace time as they are. That is right if all come from one clock.
-- Severity: info.
SELECT 'info' AS severity, 'trace' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, NULL AS packet_id,
       (SELECT count(*) FROM packet WHERE timestamp IS NOT NULL) AS events, NULL AS worst_ns,
       'No snapshot of clocks is in the trace: the times of {events} were taken as they are, and nothing says what time of day it was.' AS message,
       'Write a ClockSnapshot at the begin of the trace, with the clock of the events (ClockSnapshot.Clock.clock_id) and REALTIME (1).' AS advice
WHERE NOT EXISTS (SELECT * FROM clock_snapshot WHERE source <> 'assumed') AND EXISTS (SELECT * FROM packet WHERE ts IS NOT NULL)
