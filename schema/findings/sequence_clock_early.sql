-- Packets use a clock of a sequence before its first snapshot
-- The packets of an incremental clock hold deltas. Before the first snapshot these have no base, so the packets have no time. Packets of
-- any other clock get their time from the later snapshot, but a tool that reads the trace only once cannot do that.
-- Severity: error if packets have no time, warning if the later snapshot placed all of them.
WITH first_snapshot AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, file, min(packet_id) AS packet_id
  FROM pair
  WHERE clock_id BETWEEN 64 AND 127 AND source IN ('service', 'writer')
  GROUP BY machine_id, clock_id, seq_id, file
)
SELECT iif(lost > 0, 'error', 'warning') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, packet_id,
       events, NULL AS worst_ns,
       iif(first_packet_id IS NULL,
           'Clock {subject} counts in deltas and has no snapshot, so {events} on it could not be placed in time.',
           '{events} on clock {subject} came before packet ' || first_packet_id || ', its first snapshot; '
           || iif(lost > 0, printf('%,d could not be placed in time.', lost),
                  'that snapshot placed all of them, but a tool that reads the trace once cannot do this.')) AS message,
       'Write a ClockSnapshot with clock ' || clock_id || ' before the first packet with this clock, on the same '
         || 'trusted_packet_sequence_id; with the Perfetto SDK, in the packet that sets SEQ_INCREMENTAL_STATE_CLEARED.' AS advice
FROM (
  SELECT u.machine_id, u.clock_id, u.seq_id, u.file, min(u.packet_id) AS packet_id, sum(events) AS events,
         total(iif(u.is_lost, events, 0)) AS lost, f.packet_id AS first_packet_id
  FROM (
    SELECT machine_id, clock_id, seq_id, file, packet_id, events, 1 AS is_lost FROM unplaced WHERE reason = 'no_base'
    UNION ALL
    SELECT p.machine_id, p.clock_id, p.seq_id, p.trace_file_id, p.id, 1, 0
    FROM packet AS p
    WHERE p.clock_id BETWEEN 64 AND 127 AND p.ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
      -- So only the packets before the last of these snapshots are read.
      AND p.id < (SELECT max(f.packet_id) FROM first_snapshot AS f)
      AND p.id < (SELECT f.packet_id FROM first_snapshot AS f
                  WHERE f.machine_id = p.machine_id AND f.clock_id = p.clock_id AND f.seq_id = p.seq_id AND f.file = p.trace_file_id)
  ) AS u
  LEFT JOIN first_snapshot AS f USING (machine_id, clock_id, seq_id, file)
  GROUP BY u.machine_id, u.clock_id, u.seq_id, u.file
)
