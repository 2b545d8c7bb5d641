-- No snapshot has the clock of trace time
-- All events are brought to trace time, which is BOOTTIME unless the trace names another clock. What was read from any
-- other clock has no time.
-- Severity: error.
SELECT 'error' AS severity, NULL AS subject, 0 AS machine_id, trace_time AS clock_id, 0 AS seq_id, packet_id,
       events, NULL AS worst_ns,
       'No snapshot reads {subject}, the clock of trace time, so {events} on other clocks could not be placed in time.' AS message,
       'Leave the clock snapshots of the tracing service on (TraceConfig.builtin_data_sources.disable_clock_snapshotting must not be set), '
         || 'or write a ClockSnapshot with clock_id 6, BOOTTIME, and name the clock of the events in primary_trace_clock if there is no BOOTTIME.' AS advice
FROM (
  SELECT (SELECT value FROM fact WHERE name = 'trace_time_clock_id') AS trace_time, min(packet_id) AS packet_id, sum(events) AS events
  FROM unplaced WHERE reason = 'no_target' AND machine_id = 0
)
WHERE events > 0
