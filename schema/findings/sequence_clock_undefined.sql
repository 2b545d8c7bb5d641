-- Packets use a clock of a sequence, but no snapshot on this sequence reads it
-- A clock from 64 to 127 belongs to one sequence, so a snapshot on another sequence does not describe it. Events on this clock have no
-- time.
-- Severity: error.
WITH defined AS MATERIALIZED (
  SELECT machine_id, clock_id, file, count(*) AS sequences, min(seq_id) AS by_seq
  FROM clock_record WHERE snapshots > 0 AND scope = 'sequence' GROUP BY machine_id, clock_id, file
)
SELECT 'error' AS severity, NULL AS subject, u.machine_id, u.clock_id, u.seq_id, u.file, min(u.packet_id) AS packet_id,
       sum(u.events) AS events, NULL AS worst_ns,
       'No snapshot on sequence ' || u.seq_id || ' reads clock ' || u.clock_id || ', so {events} on it could not be placed in time.' AS message,
       'Write a ClockSnapshot with this clock and a builtin one (ClockSnapshot.Clock.clock_id ' || u.clock_id
         || ' and 6, BOOTTIME) on the same trusted_packet_sequence_id, before the first packet that names the clock in '
         || 'TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id.' AS advice
FROM unplaced AS u LEFT JOIN defined AS d USING (machine_id, clock_id, file)
WHERE u.reason = 'unknown_clock' AND u.clock_id BETWEEN 64 AND 127 AND d.sequences IS NOT 1 AND u.is_packet
  -- If their unit made the snapshots useless, another check says so.
  AND NOT EXISTS (SELECT * FROM import_log AS l WHERE l.code = 'snapshot_trace_time_unit' AND l.machine_id = u.machine_id AND l.trace_file_id = u.trace_file_id)
GROUP BY u.machine_id, u.clock_id, u.seq_id, u.file
