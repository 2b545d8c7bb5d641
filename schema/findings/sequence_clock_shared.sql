-- A clock of a sequence is used like one of the whole trace
-- One sequence has snapshots of the clock, and other sequences use the same number. On each sequence that number is a separate clock, so
-- the events of the other sequences have no time.
-- Severity: error.
WITH defined AS MATERIALIZED (
  SELECT machine_id, clock_id, file, count(*) AS sequences, min(seq_id) AS by_seq
  FROM clock_record WHERE snapshots > 0 AND scope = 'sequence' GROUP BY machine_id, clock_id, file
)
SELECT 'error' AS severity, NULL AS subject, u.machine_id, u.clock_id, u.seq_id, u.file, min(u.packet_id) AS packet_id,
       sum(u.events) AS events, NULL AS worst_ns,
       'Sequence ' || u.seq_id || ' uses clock ' || u.clock_id || ', but only sequence '
         || d.by_seq
         || ' has snapshots of it, so {events} on it could not be placed in time. '
         || 'A number from 64 to 127 means a different clock on each sequence.' AS message,
       'If all sequences mean one clock, give it a global id in ClockSnapshot.Clock.clock_id and in TracePacket.timestamp_clock_id: '
         || '''timebase clock-id NAME'' prints the id for its fully qualified name. If each sequence has its own clock, '
         || 'write a ClockSnapshot on each.' AS advice
FROM unplaced AS u LEFT JOIN defined AS d USING (machine_id, clock_id, file)
WHERE u.reason = 'unknown_clock' AND u.clock_id BETWEEN 64 AND 127 AND d.sequences = 1 AND u.is_packet
GROUP BY u.machine_id, u.clock_id, u.seq_id, u.file
