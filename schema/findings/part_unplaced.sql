-- Nothing relates a file's clocks to those of the other files
-- From its first snapshot on, a file has clocks of its own, and none of them leads to trace time; or no clock of the machine's first file
-- does. Events on these clocks have no time.
-- Severity: error.
WITH lost AS (
  SELECT trace_file_id, machine_id, min(packet_id) AS packet_id, sum(events) AS events
  FROM unplaced WHERE reason IN ('no_path', 'no_target') GROUP BY trace_file_id, machine_id
)
SELECT 'error' AS severity, iif(t.machine_id, 'machine ' || t.machine_id || ' in ', '') || 'file ' || t.trace_file_id AS subject,
       t.machine_id, NULL AS clock_id, NULL AS seq_id, t.trace_file_id AS file, l.packet_id, l.events, NULL AS worst_ns,
       'No snapshot leads from the clocks of machine ' || t.machine_id || ' in file ' || t.trace_file_id || ' to trace time, so {events} could not be placed in time.' AS message,
       'Put BOOTTIME and REALTIME into the snapshots of each file (ClockSnapshot.Clock.clock_id 6 and 1), or relate its clock to one of another file in a manifest (clocks.sync_to).' AS advice
FROM part AS t JOIN lost AS l USING (trace_file_id, machine_id)
WHERE t.how = 'unplaced'
  AND iif(t.machine_id = (SELECT machine_id FROM trace_time), t.own_from IS NOT NULL,
          EXISTS (SELECT * FROM part AS o WHERE o.machine_id = t.machine_id AND o.how <> 'unplaced'))
