-- Flows run backwards: an effect comes before its cause
-- A flow arrives before it starts. If its ends are on two clocks, these are not aligned, and at least that far apart. If both are on one
-- clock, the producer recorded the events in the wrong order.
-- Severity: error between two clocks, warning within one.
WITH ends AS (
  SELECT f.id, o.machine_id AS machine_out, coalesce(o.clock_id, 3) AS clock_out, iif(o.clock_id BETWEEN 64 AND 127, o.seq_id, 0) AS seq_out,
         iif(o.clock_id BETWEEN 64 AND 127, o.trace_file_id, o.file) AS file_out,
         i.machine_id AS machine_in, coalesce(i.clock_id, 3) AS clock_in, iif(i.clock_id BETWEEN 64 AND 127, i.seq_id, 0) AS seq_in,
         iif(i.clock_id BETWEEN 64 AND 127, i.trace_file_id, i.file) AS file_in,
         coalesce(o.ts, (SELECT s.ts FROM slice_record AS s WHERE s.id = f.slice_out))
           - coalesce(i.ts, (SELECT s.ts FROM slice_record AS s WHERE s.id = f.slice_in)) AS back,
         f.packet_in,
         (SELECT coalesce(p.name || ' (' || p.pid || ')', 'pid ' || p.pid) FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
          LEFT JOIN thread_record AS t ON t.id = k.utid JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid)
          WHERE s.id = f.slice_out) AS process_out,
         (SELECT coalesce(p.name || ' (' || p.pid || ')', 'pid ' || p.pid) FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
          LEFT JOIN thread_record AS t ON t.id = k.utid JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid)
          WHERE s.id = f.slice_in) AS process_in
  FROM flow_backwards AS f JOIN home AS o ON o.packet_id = f.packet_out JOIN home AS i ON i.packet_id = f.packet_in
  -- Messages that contradict most others of their clocks are wrong pairs.
  WHERE (f.packet_out, f.packet_in) NOT IN (
    SELECT c.packet_out, c.packet_in FROM causal_outlier AS c JOIN clock_alignment AS a ON a.id = c.alignment_id AND a.sides <> 'contradictory'
  )
),
named AS (
  SELECT e.*, (machine_out, clock_out, seq_out, file_out) = (machine_in, clock_in, seq_in, file_in) AS is_one,
         CASE WHEN clock_out BETWEEN 64 AND 127 THEN clock_out || '@' || seq_out ELSE coalesce(o.name, clock_out) END
           || iif(machine_out, ' of machine ' || machine_out, '') || iif(file_out > 0, ' in file ' || file_out, '') AS from_clock,
         CASE WHEN clock_in BETWEEN 64 AND 127 THEN clock_in || '@' || seq_in ELSE coalesce(i.name, clock_in) END
           || iif(machine_in, ' of machine ' || machine_in, '') || iif(file_in > 0, ' in file ' || file_in, '') AS to_clock,
         max(1000, coalesce(o.unit_multiplier_ns, 1) + coalesce(i.unit_multiplier_ns, 1)) AS unit
  FROM ends AS e
  LEFT JOIN clock_record AS o ON o.machine_id = machine_out AND o.clock_id = clock_out AND o.seq_id = seq_out AND o.file = file_out
  LEFT JOIN clock_record AS i ON i.machine_id = machine_in AND i.clock_id = clock_in AND i.seq_id = seq_in AND i.file = file_in
)
SELECT iif(is_one, 'warning', 'error') AS severity, iif(is_one, from_clock, from_clock || ' → ' || to_clock) AS subject,
       iif(machine_out = machine_in, machine_in, NULL) AS machine_id, clock_in AS clock_id, seq_in AS seq_id,
       file_in AS file, min(packet_in) AS packet_id,
       count(*) AS events, max(back) AS worst_ns,
       printf('%,d flow%s ', count(*), iif(count(*) = 1, '', 's'))
         || coalesce('from ' || process_out || ' to ' || process_in || ' ', '') || iif(count(*) = 1, 'arrives before it starts', 'arrive before they start') || ', by '
         || iif(count(*) = 1, '', 'up to ') || '{worst}: '
         || iif(is_one, 'both ends are on ' || from_clock || ', so the producer recorded them in this order.',
                from_clock || ' and ' || to_clock || ' are misaligned by at least that.') AS message,
       CASE
         WHEN is_one AND clock_in = 11 THEN 'Write the event with "ph": "s" before the flow causes anything, take each timestamp when the event happens, and use each flow id once.'
         WHEN is_one THEN 'Write TYPE_SLICE_BEGIN with flow_ids before the flow causes anything, take each timestamp when the event happens, and use each flow id once.'
         WHEN clock_in = 11 THEN 'Synchronize REALTIME of the hosts by PTP, or by NTP from one server; or relate the files in a manifest (clocks.sync_to).'
         WHEN machine_out <> machine_in AND (SELECT count(*) FROM part WHERE machine_id IN (machine_out, machine_in) AND how IN ('realtime', 'same_clock'))
           THEN 'Import with --align auto, or flows: the clocks of these machines are only assumed to agree. Or synchronize them (RemoteClockSync).'
         WHEN machine_out <> machine_in THEN 'Synchronize the machines more often (RemoteClockSync), or import with --conversion linear; see clock_hop for their drift.'
         ELSE 'Read both clocks together in a ClockSnapshot, more often; see clock_hop for their drift.'
       END AS advice
FROM named
WHERE back > unit
GROUP BY machine_out, clock_out, seq_out, file_out, machine_in, clock_in, seq_in, file_in, iif(is_one, process_out, NULL), iif(is_one, process_in, NULL)
