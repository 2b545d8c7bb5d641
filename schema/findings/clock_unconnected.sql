-- Snapshots read a clock, but nothing leads from it to BOOTTIME
-- No snapshot of the clock holds another clock that leads to BOOTTIME, so events on the clock have no time.
-- Severity: error.
WITH beside_bad AS MATERIALIZED (
  SELECT DISTINCT s.machine_id, s.clock_id, s.seq_id, s.file
  FROM clock_record AS b
  JOIN pair AS o USING (machine_id, clock_id, seq_id, file)
  JOIN pair AS s ON s.snapshot_id = o.snapshot_id
  WHERE NOT b.is_monotonic
),
lost AS (
  SELECT machine_id, clock_id, seq_id, file, sum(events) AS events, min(packet_id) AS packet_id
  FROM unplaced WHERE reason = 'no_path' GROUP BY machine_id, clock_id, seq_id, file
)
SELECT 'error' AS severity, NULL AS subject, c.machine_id, c.clock_id, c.seq_id, c.file,
       coalesce(l.packet_id, f.packet_id) AS packet_id,
       coalesce(l.events, 0) AS events, NULL AS worst_ns,
       printf('%,d snapshot%s clock {subject}, but none has another clock that leads to BOOTTIME; ',
              c.snapshots, iif(c.snapshots = 1, ' reads', 's read'))
         || iif(l.events > 0, '{events} on it could not be placed in time.', 'an event on it could not be placed in time.') AS message,
       'In each ClockSnapshot with this clock, also read a builtin clock at the same instant: add a second '
         || 'ClockSnapshot.Clock with clock_id 6, BOOTTIME.' AS advice
FROM clock_record AS c
LEFT JOIN lost AS l USING (machine_id, clock_id, seq_id, file)
LEFT JOIN clock_packet AS f USING (machine_id, clock_id, seq_id, file)
WHERE c.snapshots > 0 AND c.path IS NULL AND c.is_monotonic AND (c.scope <> 'builtin' OR l.events > 0)
  -- Clocks whose path leads through a clock that went backwards: another check reports that clock.
  AND (c.machine_id, c.clock_id, c.seq_id, c.file) NOT IN (SELECT machine_id, clock_id, seq_id, file FROM beside_bad)
  -- If nothing relates the machine or the file to trace time, another check says so.
  AND EXISTS (SELECT * FROM clock_record AS o WHERE o.machine_id = c.machine_id AND o.path IS NOT NULL)
  AND NOT EXISTS (SELECT * FROM part AS t WHERE t.machine_id = c.machine_id AND t.trace_file_id = c.file AND t.own_from IS NOT NULL AND t.how = 'unplaced')
  AND EXISTS (SELECT * FROM clock_record AS b JOIN trace_time AS t USING (machine_id) WHERE b.clock_id = 6 AND b.file = -1 AND b.snapshots > 0)
