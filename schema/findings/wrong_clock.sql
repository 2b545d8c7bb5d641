-- Packets lie a day or more away from all snapshots
-- A trace seldom lasts so long without a snapshot: the timestamps are mostly readings of another clock than the packets say.
-- Severity: warning.
WITH covered AS MATERIALIZED (SELECT min(ts) AS first_ts, max(ts) AS last_ts FROM clock_snapshot),
off AS (
  SELECT s.id, s.machine_id, s.packets, s.first_ts, s.last_ts,
         max(c.first_ts - s.first_ts, s.last_ts - c.last_ts) AS away,
         iif(c.first_ts - s.first_ts > s.last_ts - c.last_ts, s.first_ts, s.last_ts) AS ts
  FROM sequence AS s, covered AS c
  WHERE c.first_ts - s.first_ts > 86400000000000 OR s.last_ts - c.last_ts > 86400000000000
)
SELECT 'warning' AS severity, 'sequence ' || o.id || iif(o.machine_id, ' of machine ' || o.machine_id, '') AS subject, o.machine_id,
       NULL AS clock_id, o.id AS seq_id, (SELECT min(p.id) FROM packet AS p WHERE p.ts = o.ts AND p.seq_id = o.id) AS packet_id,
       o.packets AS events, o.away AS worst_ns,
       printf('Packets of sequence %d are up to %.1f days away from all snapshots', o.id, o.away / 86400e9)
         || coalesce('; their timestamps look like readings of '
              || (SELECT c.name FROM clock AS c
                  WHERE c.machine_id = o.machine_id AND c.name IS NOT NULL AND c.clock_id NOT IN (2, 4, 6)
                    AND o.ts BETWEEN c.first_value - 86400000000000 AND c.last_value + 86400000000000
                  ORDER BY c.clock_id LIMIT 1), '') || '.' AS message,
       'Name the clock that was read in TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id; without either it is taken for BOOTTIME.' AS advice
FROM off AS o
