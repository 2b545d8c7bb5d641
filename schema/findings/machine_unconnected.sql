-- Nothing relates the clocks of another machine to those of the trace
-- A snapshot holds the clocks of one machine only, and neither machine asked the other for the time. If the wall clocks do not help
-- either, timebase assumes that the BOOTTIMEs of both agree, which is rarely true. If even that leads nowhere, the events of the other
-- machine have no time.
-- Severity: error.
WITH guest AS (
  SELECT t.machine_id, min(t.how = 'unplaced') AS is_lost, min(t.trace_file_id) AS first_file, max(t.trace_file_id) AS last_file
  FROM part AS t
  WHERE t.machine_id <> (SELECT machine_id FROM trace_time)
  GROUP BY t.machine_id
  HAVING max(t.how = 'same_clock') AND EXISTS (SELECT * FROM bridge AS b WHERE b.machine_id = t.machine_id AND b.to_machine <> t.machine_id AND b.clock_id <> 1)
      -- If a clock of the machine went backwards, another check reports that.
      OR min(t.how = 'unplaced') AND (SELECT min(c.is_monotonic) FROM clock_record AS c WHERE c.machine_id = t.machine_id AND c.snapshots > 0)
)
SELECT 'error' AS severity, 'machine ' || machine_id AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
       iif(first_file = last_file, first_file, NULL) AS file,
       (SELECT r.id FROM packet_record AS r JOIN packet_common AS p ON p.id = r.common_id WHERE p.machine_id = g.machine_id ORDER BY r.id LIMIT 1) AS packet_id,
       CAST(iif(is_lost,
                (SELECT total(u.events) FROM unplaced AS u WHERE u.machine_id = g.machine_id AND u.reason IN ('no_path', 'no_target')),
                (SELECT sum(s.packets) FROM sequence AS s JOIN part AS t USING (trace_file_id, machine_id)
                 WHERE s.machine_id = g.machine_id AND t.how = 'same_clock')) AS INTEGER) AS events, NULL AS worst_ns,
       'Nothing in the trace relates the clocks of machine ' || machine_id || ' to those of machine ' || (SELECT machine_id FROM trace_time)
         || iif(is_lost, ', so {events} of it could not be placed in time.',
                '. The import assumed that both started at the same instant (BOOTTIME).') AS message,
       'Record the machine with traced_relay, so that it asks the host for the time (RemoteClockSync); or synchronize REALTIME of both by NTP or PTP, and put it '
         || 'into the snapshots of both (ClockSnapshot.Clock.clock_id 1); or relate two of their clocks in a manifest (clocks.sync_to).' AS advice
FROM guest AS g
