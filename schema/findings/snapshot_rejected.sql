-- Timebase rejected snapshots
-- A snapshot contradicts itself or earlier ones. Timebase rejects it completely, so it relates no clocks.
-- Severity: warning.
SELECT 'warning' AS severity, code || iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
       trace_file_id AS file, min(packet_id) AS packet_id,
       count(*) AS events, NULL AS worst_ns,
       printf('%,d snapshot%s rejected; the first, packet %d: %s.', count(*), iif(count(*) = 1, ' was', 's were'),
              min(packet_id), rtrim(message, '.')) AS message,
       CASE code
         WHEN 'snapshot_no_clock_id' THEN 'Set ClockSnapshot.Clock.clock_id of each reading.'
         WHEN 'snapshot_no_sequence_id' THEN 'Set TracePacket.trusted_packet_sequence_id of the packet with the ClockSnapshot, or use a global clock (128 and above).'
         WHEN 'snapshot_duplicate_clock' THEN 'Put each ClockSnapshot.Clock.clock_id into a ClockSnapshot once.'
         WHEN 'snapshot_unit_changed' THEN 'Keep ClockSnapshot.Clock.unit_multiplier_ns and is_incremental of a clock as in its first ClockSnapshot.'
         WHEN 'snapshot_incremental_not_scoped' THEN 'Set ClockSnapshot.Clock.is_incremental of clocks 64 to 127 only.'
         WHEN 'snapshot_trace_time_backwards' THEN 'Name a clock that does not go back in ClockSnapshot.primary_trace_clock, and do not put traces of several boots into one file.'
         WHEN 'remote_sync_same_machine' THEN 'Set TracePacket.machine_id of packets with a RemoteClockSync to the machine that asked, as traced does. Do not give both machines the same name in a manifest.'
         WHEN 'snapshot_overflow' THEN 'Check ClockSnapshot.Clock.timestamp and unit_multiplier_ns, the nanoseconds in one count.'
         ELSE 'See the message, and ClockSnapshot in Perfetto''s clock_snapshot.proto.'
       END AS advice
FROM (SELECT * FROM import_log WHERE code LIKE 'snapshot\_%' ESCAPE '\' AND code NOT IN ('snapshot_trace_time_unit', 'snapshot_of_zeros') OR code = 'remote_sync_same_machine' ORDER BY id)
GROUP BY code, trace_file_id
