-- A clock went backwards
-- From the snapshot that shows this, one reading can mean two times, so timebase converts nothing from the clock. Events on the clock have
-- no time, nor do events on other clocks that need it on the way to BOOTTIME. Other checks report counters that wrapped or restarted.
-- Severity: error if events have no time because of it, warning if no event used the clock.
WITH bad AS MATERIALIZED (
  SELECT s.* FROM backwards AS c JOIN pair AS s USING (machine_id, clock_id, seq_id, file)
),
-- Snapshots are compared with those of the same clocks.
held AS MATERIALIZED (
  SELECT snapshot_id, group_concat(clock) AS clocks
  FROM (
    SELECT snapshot_id, machine_id || '/' || clock_id || '/' || seq_id || '/' || file AS clock FROM pair
    WHERE snapshot_id IN (SELECT snapshot_id FROM bad) ORDER BY snapshot_id, machine_id, clock_id, seq_id, file
  )
  GROUP BY snapshot_id
),
jump AS (
  SELECT machine_id, clock_id, seq_id, file, count(*) AS times, min(packet_id) AS packet_id, max(back) AS back
  FROM (
    SELECT b.*, lag(clock_value) OVER (PARTITION BY machine_id, clock_id, seq_id, file, h.clocks ORDER BY b.id) - clock_value AS back
    FROM bad AS b JOIN held AS h USING (snapshot_id)
  )
  WHERE back > 0
  GROUP BY machine_id, clock_id, seq_id, file
)
SELECT iif(u.own + u.other > 0, 'error', 'warning') AS severity, NULL AS subject, c.machine_id, c.clock_id, c.seq_id, c.file, j.packet_id,
       coalesce(u.own + u.other, 0) AS events, j.back AS worst_ns,
       'Clock {subject} went backwards' || coalesce(
           printf(iif(j.times = 1, ' in a snapshot', ' in %,d snapshots'), j.times) || ', by {worst}'
             || iif(j.times = 1, ', in packet ', ' at most, first in packet ') || j.packet_id, '') || '. '
         || coalesce(u.said, 'No event uses it.') AS message,
       CASE
         WHEN u.other > 0 AND u.own = 0 THEN 'Put BOOTTIME (ClockSnapshot.Clock.clock_id 6), not {subject}, into the ClockSnapshot of the other clocks.'
         WHEN c.clock_id IN (1, 2) THEN 'Take timestamps from BOOTTIME or MONOTONIC (TracePacket.timestamp_clock_id 6 or 3): REALTIME goes back when somebody sets it.'
         ELSE 'Use a clock that never goes back for TracePacket.timestamp_clock_id.'
       END AS advice
FROM backwards AS c
LEFT JOIN jump AS j USING (machine_id, clock_id, seq_id, file)
LEFT JOIN stranded AS u USING (place)
WHERE (c.clock_id <> 2 OR u.own + u.other > 0)  -- REALTIME_COARSE goes back with REALTIME
  AND (c.machine_id, c.clock_id, c.seq_id, c.file) NOT IN (SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_turn)
