-- A clock of the whole trace has a number that no name leads to
-- Two producers that choose such a number mean two clocks by it, in a trace that has both. By convention it is a hash of the
-- clock's fully qualified name, with the highest bit set, so that nobody else has it.
-- Severity: warning.
SELECT 'warning' AS severity, NULL AS subject, c.machine_id, c.clock_id, c.seq_id, c.file,
       f.packet_id,
       c.packets AS events, NULL AS worst_ns,
       'Clock {subject} has a number that ' || iif(c.clock_id < 2147483648, 'no name hashes to', 'hardly any name hashes to')
         || ': another producer may use it for another clock.' AS message,
       'Use the id that ''timebase clock-id com.example.my_clock'' prints for the clock''s fully qualified name, fnv1a_32(name) | 0x80000000, '
         || 'in ClockSnapshot.Clock.clock_id and TracePacket.timestamp_clock_id.' AS advice
FROM clock_record AS c LEFT JOIN clock_packet AS f USING (machine_id, clock_id, seq_id, file)
WHERE c.scope = 'global'
  AND (c.clock_id < 2147483648 OR c.clock_id - 2147483648 < 65536 OR c.clock_id % 65536 = 0 OR c.clock_id >= 4294967280)
