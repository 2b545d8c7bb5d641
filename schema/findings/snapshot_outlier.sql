-- Snapshots did not read their clocks together
-- Something, for example an interrupt, delayed the read of the second clock, so the snapshot relates values of two instants. Nearest
-- neighbour uses the snapshot, and is wrong by that delay until the next one.
-- Severity: warning if one is off by more than 100 µs and events need the clock, info otherwise.
WITH outlier AS (
  SELECT r.hop_id, count(*) AS times, max(abs(r.deviation_ns)) AS worst, min(p.packet_id) AS packet_id, coalesce(e.events, 0) AS events
  FROM clock_hop_reading AS r
  LEFT JOIN snapshot_packet AS p USING (snapshot_id)
  LEFT JOIN hop_events AS e USING (hop_id)
  WHERE r.kind = 'outlier'
  GROUP BY r.hop_id
)
SELECT iif(o.worst > 100000 AND o.events > 0, 'warning', 'info') AS severity, h.from_clock || ' → ' || h.to_clock AS subject,
       h.machine_id, h.clock_id, h.seq_id, h.file, o.packet_id, o.events, CAST(round(o.worst) AS INTEGER) AS worst_ns,
       printf('In %,d of %,d snapshots ', o.times, h.readings)
         || h.from_clock || ' and ' || h.to_clock || ' were not read together: {worst} apart' || iif(o.times = 1, '', ' at most') || '.' AS message,
       'Read the clocks of a ClockSnapshot one right after the other, without a lock or system call in between, and read them again if that took long. '
         || '''timebase import --conversion linear'' leaves these snapshots out.' AS advice
FROM outlier AS o JOIN hop AS h ON h.id = o.hop_id
-- A coarse clock is off by up to a tick in each snapshot; other checks report the clocks of another
-- machine.
WHERE (o.events > 0 OR o.worst > 100000) AND h.clock_id NOT IN (2, 4) AND h.to_clock_id NOT IN (2, 4) AND h.source <> 'remote_sync'
