-- Events use a clock of the whole trace, but no snapshot reads it
-- Events on the clock have no time.
-- Severity: error.
SELECT 'error' AS severity, iif(clock_id IS NULL, 'kernel events', NULL) AS subject, machine_id, clock_id, seq_id, file, min(packet_id) AS packet_id,
       sum(events) AS events, NULL AS worst_ns,
       iif(clock_id IS NULL, 'Nothing says which clock the bundles of these kernel events read, so {events} could not be placed in time.',
           'No snapshot reads clock {subject}, so {events} on it could not be placed in time.') AS message,
       CASE
         WHEN clock_id IS NULL THEN 'Record kernel events with a clock that has a name: FtraceConfig.use_monotonic_raw_clock, or the default, boot.'
         WHEN clock_id < 64 THEN 'Leave the clock snapshots of the tracing service on: do not set TraceConfig.builtin_data_sources.disable_clock_snapshotting.'
         ELSE 'Write a ClockSnapshot with this clock and a builtin one: ClockSnapshot.Clock.clock_id ' || clock_id || ' and 6, BOOTTIME.'
       END AS advice
FROM unplaced
WHERE reason = 'unknown_clock' AND (clock_id IS NULL OR clock_id NOT BETWEEN 64 AND 127)
GROUP BY machine_id, clock_id, file
