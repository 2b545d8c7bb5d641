-- A later snapshot would move packets
-- The import places a packet when it reads it, with the snapshots so far. A nearer snapshot came later. `to_boottime` uses that one, and
-- its result differs by more than 1 µs.
-- Severity: warning if a packet is off by more than 100 µs, info otherwise.
SELECT iif(worst > 100000, 'warning', 'info') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, packet_id, events, worst AS worst_ns,
       'A nearer snapshot came after the import had placed {events} on clock {subject}. It would change their times by up to {worst}.' AS message,
       'Write a snapshot before the packets that need it: a ClockSnapshot on the same sequence, or a shorter '
         || 'TraceConfig.builtin_data_sources.snapshot_interval_ms. View packet_resync has the packets.' AS advice
FROM (
  SELECT p.machine_id, p.clock_id, iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0) AS seq_id,
         iif(p.clock_id BETWEEN 64 AND 127, p.trace_file_id, p.file) AS file, min(p.packet_id) AS packet_id, count(*) AS events,
         max(abs(r.difference)) AS worst
  FROM packet_resync AS r CROSS JOIN home AS p ON p.packet_id = r.id
  -- The import places events of JSON traces when it knows all snapshots.
  WHERE r.type IS NOT 'json_event' AND abs(r.difference) > 1000 AND (SELECT conversion FROM trace_time) = 'nearest'
  GROUP BY 1, 2, 3, 4
)
