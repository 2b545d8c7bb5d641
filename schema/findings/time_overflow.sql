-- Times do not fit 64 bits
-- The reading is garbage, or it has another unit than its snapshots say. It has no time.
-- Severity: error.
SELECT 'error' AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, min(packet_id) AS packet_id, sum(events) AS events,
       NULL AS worst_ns,
       '{events} on clock {subject} could not be placed: the time does not fit 64 bits.' AS message,
       iif(clock_id = 11, 'In a JSON trace, write ts in microseconds, with decimals for nanoseconds: nanoseconds since 1970 do not fit. In a Perfetto trace, check TracePacket.timestamp.',
           'Check TracePacket.timestamp, and ClockSnapshot.Clock.unit_multiplier_ns of the clock, the nanoseconds in one count.') AS advice
FROM unplaced
WHERE reason = 'overflow'
GROUP BY machine_id, clock_id, seq_id, file
