-- No snapshot has the clock of trace time
-- Timebase converts all events to trace time. This is BOOTTIME unless the trace names another clock. Events on all other clocks have no
-- time.
-- Severity: error.
SELECT 'error' AS severity, NULL AS subject, machine_id, clock_id, 0 AS seq_id, NULL AS file, packet_id,
       events, NULL AS worst_ns,
       'No snapshot reads {subject}, the clock of trace time, so {events} on other clocks could not be placed in time.' AS message,
       'Leave the clock snapshots of the tracing service on (do not set TraceConfig.builtin_data_sources.disable_clock_snapshotting), '
         || 'or write a ClockSnapshot with clock_id 6, BOOTTIME. If there is no BOOTTIME, name the clock of the events in primary_trace_clock.' AS advice
FROM (
  SELECT t.machine_id, t.clock_id, min(u.packet_id) AS packet_id, sum(u.events) AS events
  FROM trace_time AS t JOIN unplaced AS u USING (machine_id)
  WHERE u.reason = 'no_target'
)
WHERE events > 0
