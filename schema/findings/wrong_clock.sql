-- Packets lie a day or more away from all snapshots
-- A trace seldom lasts so long without a snapshot. Usually the timestamps are readings of another clock than the packets say.
-- Severity: warning.
WITH taken AS MATERIALIZED (
  SELECT p.trace_file_id, min(s.ts) AS first_ts, max(s.ts) AS last_ts
  FROM clock_snapshot AS s JOIN packet_record AS r ON r.id = s.packet_id JOIN packet_common AS p ON p.id = r.common_id
  WHERE s.source NOT IN ('assumed', 'manifest')
  GROUP BY p.trace_file_id
),
-- A file without snapshots uses the snapshots of other files.
covered AS MATERIALIZED (
  SELECT f.id AS trace_file_id, coalesce(t.first_ts, a.first_ts) AS first_ts, coalesce(t.last_ts, a.last_ts) AS last_ts
  FROM (SELECT min(first_ts) AS first_ts, max(last_ts) AS last_ts FROM taken) AS a
  CROSS JOIN trace_file AS f
  LEFT JOIN taken AS t ON t.trace_file_id = f.id
),
off AS (
  SELECT s.id, s.machine_id, s.trace_file_id, s.packets, s.first_ts, s.last_ts,
         max(c.first_ts - s.first_ts, s.last_ts - c.last_ts) AS away,
         iif(c.first_ts - s.first_ts > s.last_ts - c.last_ts, s.first_ts, s.last_ts) AS ts
  FROM sequence AS s JOIN covered AS c USING (trace_file_id)
  WHERE c.first_ts - s.first_ts > 86400000000000 OR s.last_ts - c.last_ts > 86400000000000
)
SELECT 'warning' AS severity, 'sequence ' || o.id || iif(o.machine_id, ' of machine ' || o.machine_id, '')
         || iif(o.trace_file_id, ' in file ' || o.trace_file_id, '') AS subject, o.machine_id,
       NULL AS clock_id, o.id AS seq_id, o.trace_file_id AS file,
       (SELECT min(p.id) FROM packet AS p WHERE p.ts = o.ts AND p.seq_id = o.id AND p.machine_id = o.machine_id AND p.trace_file_id = o.trace_file_id) AS packet_id,
       o.packets AS events, o.away AS worst_ns,
       printf('Packets of sequence %d are up to %.1f days away from all snapshots', o.id, o.away / 86400e9)
         || coalesce('; their timestamps look like readings of '
              || (SELECT c.name FROM clock_record AS c
                  WHERE c.machine_id = o.machine_id AND c.file IN (-1, o.trace_file_id) AND c.name IS NOT NULL AND c.clock_id NOT IN (2, 4, 6)
                    AND o.ts BETWEEN c.first_value - 86400000000000 AND c.last_value + 86400000000000
                  ORDER BY c.clock_id LIMIT 1), '') || '.' AS message,
       'Name the clock of the timestamps in TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id. The default is BOOTTIME.' AS advice
FROM off AS o
