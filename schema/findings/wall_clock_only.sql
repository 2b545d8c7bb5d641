-- Only their wall clocks relate two machines
-- Timebase assumes that REALTIME of both agrees. The trace does not say how far the two were apart: milliseconds if both follow NTP, any
-- time if one does not. If messages say it, this check is silent.
-- Severity: warning.
SELECT 'warning' AS severity, 'machine ' || machine_id AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
       iif(first_file = last_file, first_file, NULL) AS file,
       (SELECT r.id FROM packet_record AS r JOIN packet_common AS p ON p.id = r.common_id WHERE p.machine_id = g.machine_id AND p.trace_file_id = g.first_file ORDER BY r.id LIMIT 1) AS packet_id,
       events, NULL AS worst_ns,
       'Only their wall clocks (REALTIME) relate machine ' || machine_id || ' to machine ' || coalesce((SELECT max(value) FROM fact WHERE name = 'trace_time_machine_id'), 0)
         || '. The times of {events} are off by the difference of these, which the trace does not say.' AS message,
       iif(is_json, 'Nothing, if both files are of one host. Otherwise synchronize REALTIME of the hosts by PTP, or by NTP from one server; or relate the files in a manifest (clocks.sync_to).',
           'Record the machine with traced_relay, so that it asks the host for the time (RemoteClockSync); or synchronize REALTIME of both by PTP, or by NTP from one '
         || 'server; or relate two of their clocks in a manifest (clocks.sync_to).') AS advice
FROM (
  SELECT t.machine_id, min(t.trace_file_id) AS first_file, max(t.trace_file_id) AS last_file,
         CAST(total((SELECT sum(s.packets) FROM sequence AS s WHERE s.trace_file_id = t.trace_file_id AND s.machine_id = t.machine_id))
              + total((SELECT c.packets FROM clock_record AS c WHERE c.file = t.trace_file_id AND c.machine_id = t.machine_id AND c.clock_id = 11)) AS INTEGER) AS events,
         max((SELECT trace_type FROM trace_file AS f WHERE f.id = t.trace_file_id) = 'json') AS is_json
  FROM part AS t
  WHERE t.how = 'realtime' AND t.error IS NULL AND NOT EXISTS (
    SELECT * FROM clock_alignment AS a
    WHERE a.relation = 'realtime' AND a.inverted >= 3 AND a.sides <> 'contradictory' AND a.machine_b = t.machine_id AND (a.file_b IS NULL OR a.file_b = t.trace_file_id)
  )
  GROUP BY t.machine_id
) AS g
