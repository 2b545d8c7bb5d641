-- Two ways between the same clocks disagree
-- A snapshot holds two clocks that the trace also relates in another way, and the results differ by more than their errors. One of the
-- snapshots is wrong, or a clock is not the one that it claims to be.
-- Severity: warning if by more than 100 µs, info otherwise.
WITH placed AS (
  SELECT s.snapshot_id, s.packet_id, s.source, s.machine_id, s.clock_id, s.seq_id, s.file, c.hops,
         s.clock_value + l.offset
           + CAST(round((s.clock_value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.slope) AS INTEGER) AS ts,
         l.error + (s.clock_value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.error_slope AS error
  FROM pair AS s
  JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
  JOIN clock_route AS o
    ON o.machine_id = s.machine_id AND o.clock_id = s.clock_id AND o.seq_id = s.seq_id AND o.file = s.file AND o.to_clock_id = 6
  JOIN clock_line AS l
    ON l.route_id = o.id
   AND l.start_value = (SELECT max(m.start_value) FROM clock_line AS m WHERE m.route_id = o.id AND m.start_value <= s.clock_value)
  WHERE s.source IN ('service', 'writer') AND (s.machine_id, s.clock_id, s.file) <> ((SELECT machine_id FROM trace_time), 6, -1)
    -- A file's own snapshot of the machine's wall clock is there twice.
    AND NOT (s.clock_id IN (1, 2) AND s.file = -1
             AND EXISTS (SELECT * FROM home AS p WHERE p.packet_id = s.packet_id AND p.machine_id = s.machine_id AND p.file <> -1))
    AND NOT EXISTS (SELECT * FROM clock_hop_reading AS r WHERE r.kind = 'outlier' AND r.snapshot_id = s.snapshot_id)
  UNION ALL
  SELECT s.snapshot_id, s.packet_id, s.source, s.machine_id, s.clock_id, s.seq_id, s.file, 0, s.clock_value, 0.0
  FROM pair AS s JOIN trace_time AS t USING (machine_id)
  WHERE s.source IN ('service', 'writer') AND s.clock_id = 6 AND s.file = -1
),
beside AS (
  SELECT *, first_value(machine_id) OVER w AS to_machine, first_value(clock_id) OVER w AS to_clock, first_value(seq_id) OVER w AS to_seq,
         first_value(file) OVER w AS to_file,
         abs(ts - first_value(ts) OVER w) AS apart, error + first_value(error) OVER w AS allowed
  FROM placed
  WINDOW w AS (PARTITION BY snapshot_id ORDER BY hops, machine_id, clock_id, seq_id, file)
)
SELECT iif(apart > 100000, 'warning', 'info') AS severity, from_clock || ' → ' || to_clock AS subject, machine_id, clock_id, seq_id, file, packet_id,
       times AS events, apart AS worst_ns,
       printf('%,d snapshot%s ', times, iif(times = 1, ' has', 's have')) || from_clock || ' and ' || to_clock
         || ' up to {worst} away from the result of the other snapshots, more than the errors of both.' AS message,
       'Let one writer read these clocks, or let all read them in the same way. Timebase prefers the snapshots of the tracing service (table clock_snapshot, column source).' AS advice
FROM (
  SELECT b.machine_id, b.clock_id, b.seq_id, b.file, count(*) AS times, max(b.apart) AS apart, min(b.packet_id) AS packet_id,
         CASE WHEN b.clock_id BETWEEN 64 AND 127 THEN b.clock_id || '@' || b.seq_id ELSE coalesce(c.name, b.clock_id) END
           || iif(b.machine_id, ' of machine ' || b.machine_id, '') || iif(b.file > 0, ' in file ' || b.file, '') AS from_clock,
         CASE WHEN b.to_clock BETWEEN 64 AND 127 THEN b.to_clock || '@' || b.to_seq ELSE coalesce(t.name, b.to_clock) END
           || iif(b.to_machine, ' of machine ' || b.to_machine, '') || iif(b.to_file > 0, ' in file ' || b.to_file, '') AS to_clock
  FROM beside AS b
  JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
  JOIN clock_record AS t ON t.machine_id = b.to_machine AND t.clock_id = b.to_clock AND t.seq_id = b.to_seq AND t.file = b.to_file
  WHERE b.apart > b.allowed + 1000
    -- Only ways that do not use these snapshots.
    AND NOT EXISTS (
      SELECT * FROM hop AS h
      WHERE h.source = b.source AND h.machine_id = b.machine_id AND h.clock_id = b.clock_id AND h.seq_id = b.seq_id AND h.file = b.file
        AND h.to_machine_id = b.to_machine AND h.to_clock_id = b.to_clock AND h.to_seq_id = b.to_seq AND h.to_file = b.to_file)
  GROUP BY b.machine_id, b.clock_id, b.seq_id, b.file, b.to_machine, b.to_clock, b.to_seq, b.to_file
)
