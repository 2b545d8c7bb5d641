-- A custom clock has only one snapshot
-- One snapshot does not show how fast a clock runs. Clocks of two crystals often differ by 50 ppm; the check computes the worst error from
-- that.
-- Severity: warning for a clock of the whole trace, info for one of a sequence, which usually is a builtin one under another number.
WITH single AS (
  SELECT c.machine_id, c.clock_id, c.seq_id, c.file, c.scope, count(*) AS events, min(r.packet_id) AS packet_id,
         max(abs(r.value - c.first_value)) AS away
  FROM clock_record AS c
  JOIN source AS s USING (machine_id, clock_id, seq_id, file)
  JOIN reading AS r USING (route_id)
  WHERE c.snapshots = 1 AND c.scope <> 'builtin' AND NOT c.is_incremental
  GROUP BY c.machine_id, c.clock_id, c.seq_id, c.file
)
SELECT iif(scope = 'global', 'warning', 'info') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, packet_id, events,
       CAST(away * 50e-6 AS INTEGER) AS worst_ns,
       'Clock {subject} has one snapshot, and {events} up to ' || printf('%.3g s', away / 1e9)
         || ' away from it. With a common drift of 50 ppm, their times are off by up to {worst}, and the trace would not show it.' AS message,
       'Write a ClockSnapshot with this clock repeatedly, at least one at the start and one at the end.' AS advice
FROM single
WHERE away > 2000000000
