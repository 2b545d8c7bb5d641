-- A packet without a sequence uses a clock of a sequence
-- A clock from 64 to 127 belongs to a sequence. A packet without a sequence cannot name such a clock, so it has no time.
-- Severity: error.
SELECT 'error' AS severity, clock_id || iif(machine_id, ' of machine ' || machine_id, '') || iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject,
       machine_id, clock_id, 0 AS seq_id, trace_file_id AS file,
       min(packet_id) AS packet_id, sum(events) AS events, NULL AS worst_ns,
       '{events} on clock ' || coalesce(clock_id, '64 to 127') || ' could not be placed in time: the clock belongs to a sequence, and the packet has none.' AS message,
       'Set TracePacket.trusted_packet_sequence_id, as the tracing service does for its packets, or use a global clock: '
         || '''timebase clock-id NAME'' prints its id.' AS advice
FROM unplaced
WHERE reason = 'no_sequence_id'
GROUP BY machine_id, clock_id, trace_file_id
