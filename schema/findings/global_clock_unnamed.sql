-- No name hashes to the number of a clock of the whole trace
-- If two producers choose the same number, a trace of both confuses their clocks. By convention the number is a hash of the clock's fully
-- qualified name, with the highest bit set, so that no other producer uses it.
-- Severity: warning.
SELECT 'warning' AS severity, NULL AS subject, c.machine_id, c.clock_id, c.seq_id, c.file,
       f.packet_id,
       c.packets AS events, NULL AS worst_ns,
       iif(c.clock_id < 2147483648, 'No', 'Hardly any') || ' name hashes to the number of clock {subject}: another producer may use it for another clock.' AS message,
       'Use the id that ''timebase clock-id com.example.my_clock'' prints for the clock''s fully qualified name, fnv1a_32(name) | 0x80000000, '
         || 'in ClockSnapshot.Clock.clock_id and TracePacket.timestamp_clock_id.' AS advice
FROM clock_record AS c LEFT JOIN clock_packet AS f USING (machine_id, clock_id, seq_id, file)
WHERE c.scope = 'global'
  AND (c.clock_id < 2147483648 OR c.clock_id - 2147483648 < 65536 OR c.clock_id % 65536 = 0 OR c.clock_id >= 4294967280)
