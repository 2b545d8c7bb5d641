-- Two ways between the same clocks disagree
-- A snapshot holds two clocks that the trace also relates in another way, and the two differ by more than their errors: one of the snapshots
-- is wrong, or a clock is not what it says.
-- Severity: warning if by more than 100 µs, info otherwise.
WITH placed AS (
  SELECT s.snapshot_id, s.packet_id, s.source, s.machine_id, s.clock_id, s.seq_id, c.hops,
         s.clock_value + l.offset
           + CAST(round((s.clock_value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.slope) AS INTEGER) AS ts,
         l.error + (s.clock_value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.error_slope AS error
  FROM clock_snapshot AS s
  JOIN clock AS c USING (machine_id, clock_id, seq_id)
  JOIN clock_route AS o
    ON o.machine_id = s.machine_id AND o.clock_id = s.clock_id AND o.seq_id = s.seq_id AND o.to_clock_id = 6
  JOIN clock_line AS l
    ON l.route_id = o.id
   AND l.start_value = (SELECT max(m.start_value) FROM clock_line AS m WHERE m.route_id = o.id AND m.start_value <= s.clock_value)
  WHERE s.source < 2 AND (s.machine_id, s.clock_id, s.seq_id) <> (0, 6, 0)
    AND NOT EXISTS (SELECT * FROM clock_hop_reading AS r WHERE r.kind = 'outlier' AND r.snapshot_id = s.snapshot_id)
  UNION ALL
  SELECT snapshot_id, packet_id, source, machine_id, clock_id, seq_id, 0, clock_value, 0.0
  FROM clock_snapshot
  WHERE source < 2 AND (machine_id, clock_id, seq_id) = (0, 6, 0)
),
beside AS (
  SELECT *, first_value(machine_id) OVER w AS to_machine, first_value(clock_id) OVER w AS to_clock, first_value(seq_id) OVER w AS to_seq,
         abs(ts - first_value(ts) OVER w) AS apart, error + first_value(error) OVER w AS allowed
  FROM placed
  WINDOW w AS (PARTITION BY snapshot_id ORDER BY hops, machine_id, clock_id, seq_id)
)
SELECT iif(apart > 100000, 'warning', 'info') AS severity, from_clock || ' → ' || to_clock AS subject, machine_id, clock_id, seq_id, packet_id,
       times AS events, apart AS worst_ns,
       printf('%,d snapshot%s ', times, iif(times = 1, ' has', 's have')) || from_clock || ' and ' || to_clock
         || ' up to {worst} away from where the other snapshots of the trace lead, more than the errors of both.' AS message,
       'Have one writer read these clocks, or all of them in the same way; snapshots of the tracing service go before those of others (table clock_snapshot, column source).' AS advice
FROM (
  SELECT b.machine_id, b.clock_id, b.seq_id, count(*) AS times, max(b.apart) AS apart, min(b.packet_id) AS packet_id,
         CASE WHEN b.clock_id BETWEEN 64 AND 127 THEN b.clock_id || '@' || b.seq_id ELSE coalesce(c.name, b.clock_id) END
           || iif(b.machine_id, ' of machine ' || b.machine_id, '') AS from_clock,
         CASE WHEN b.to_clock BETWEEN 64 AND 127 THEN b.to_clock || '@' || b.to_seq ELSE coalesce(t.name, b.to_clock) END
           || iif(b.to_machine, ' of machine ' || b.to_machine, '') AS to_clock
  FROM beside AS b
  JOIN clock AS c USING (machine_id, clock_id, seq_id)
  JOIN clock AS t ON t.machine_id = b.to_machine AND t.clock_id = b.to_clock AND t.seq_id = b.to_seq
  WHERE b.apart > b.allowed + 1000
    -- Another way than by these snapshots themselves.
    AND NOT EXISTS (
      SELECT * FROM clock_hop AS h
      WHERE h.source = b.source AND h.machine_id = b.machine_id AND h.clock_id = b.clock_id AND h.seq_id = b.seq_id
        AND h.to_machine_id = b.to_machine AND h.to_clock_id = b.to_clock AND h.to_seq_id = b.to_seq)
  GROUP BY b.machine_id, b.clock_id, b.seq_id, b.to_machine, b.to_clock, b.to_seq
)
