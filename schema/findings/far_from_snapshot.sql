-- Events lie far from any snapshot, or outside of all of them
-- Before the first snapshot, after the last, and in a long gap, times are known only as well as the clock keeps its rate.
-- Severity: warning.
SELECT 'warning' AS severity, NULL AS subject, machine_id, clock_id, seq_id, packet_id, events,
       CAST(worst AS INTEGER) AS worst_ns,
       'The times of {events} on clock {subject} may be off by more than 100 µs, by up to {worst}, as snapshots are far: '
         || rtrim(iif(before > 0, printf('%,d before the first, ', before), '')
               || iif(between_two > 0, printf('%,d between two, ', between_two), '')
               || iif(after > 0, printf('%,d after the last, ', after), ''), ', ') || '.' AS message,
       'Take snapshots more often, and at the begin and the end of the trace: '
         || iif(clock_id < 64, 'TraceConfig.builtin_data_sources.snapshot_interval_ms.', 'a ClockSnapshot with this clock.') AS advice
FROM (
  SELECT route_id, min(packet_id) AS packet_id, count(*) AS events, max(error) AS worst, total(kind = 'before') AS before,
         total(kind = 'line') AS between_two, total(kind = 'after') AS after
  FROM reading
  WHERE error > 100000 AND kind <> 'step'
  GROUP BY route_id
)
JOIN source USING (route_id)
WHERE clock_id NOT IN (2, 4)
