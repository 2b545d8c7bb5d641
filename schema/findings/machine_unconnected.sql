-- Nothing relates the clocks of another machine to those of the host
-- A snapshot is of one machine, so it relates no clocks of two. Their REALTIMEs are assumed to read the same, or where that does not help
-- their BOOTTIMEs, which seldom do; if neither helps, what was read on the other machine has no time.
-- Severity: warning where REALTIME is assumed to be the same, error otherwise.
WITH assumed AS (
  SELECT machine_id, min(clock_id) AS clock_id FROM clock_snapshot WHERE source = 3 AND machine_id <> 0 GROUP BY machine_id
),
guest AS (
  SELECT c.machine_id, a.clock_id, (SELECT sum(s.packets) FROM sequence AS s WHERE s.machine_id = c.machine_id) AS packets,
         (SELECT total(u.events) FROM unplaced AS u
          WHERE u.machine_id = c.machine_id AND u.reason IN ('no_path', 'no_target')) AS lost
  FROM clock AS c LEFT JOIN assumed AS a ON a.machine_id = c.machine_id
  WHERE c.machine_id <> 0
  GROUP BY c.machine_id
  HAVING a.clock_id IS NOT NULL OR max(c.snapshots) > 0 AND max(c.path IS NOT NULL) = 0
)
SELECT iif(clock_id = 1, 'warning', 'error') AS severity, 'machine ' || machine_id AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
       (SELECT p.id FROM packet AS p WHERE p.machine_id = g.machine_id ORDER BY p.id LIMIT 1) AS packet_id,
       CAST(iif(clock_id IS NULL, lost, packets) AS INTEGER) AS events, NULL AS worst_ns,
       'Nothing in the trace relates the clocks of machine ' || machine_id || ' to those of the host'
         || CASE
              WHEN clock_id IS NULL THEN ', so {events} of it could not be placed in time.'
              WHEN clock_id = 1 THEN '; they were aligned as if both had the same time of day (REALTIME).'
              ELSE '; they were aligned as if both had started at the same instant (BOOTTIME).'
            END AS message,
       'Have both machines keep REALTIME by NTP or PTP, and snapshots of both hold it (ClockSnapshot.Clock.clock_id 1): timebase aligns them by it. '
         || 'RemoteClockSync packets of traced_relay, which relate clocks of two machines, are not used yet.' AS advice
FROM guest AS g
