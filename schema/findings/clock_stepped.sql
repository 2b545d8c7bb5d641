-- A clock made a step between two snapshots
-- The machine was suspended, which MONOTONIC does not count, or somebody set the wall clock. The trace does not say when, so events
-- between the two snapshots may be off by the whole step.
-- Severity: warning if events lie between the two snapshots, info otherwise.
WITH step AS (
  SELECT r.hop_id, count(*) AS times, max(abs(r.deviation_ns)) AS worst, max(r.deviation_ns) AS forward, min(p.packet_id) AS packet_id
  FROM clock_hop_reading AS r LEFT JOIN snapshot_packet AS p USING (snapshot_id)
  WHERE r.kind = 'step'
  GROUP BY r.hop_id
),
inside AS (
  SELECT h.hop_id, sum(r.events) AS events
  FROM (SELECT route_id, count(*) AS events FROM reading WHERE kind = 'step' GROUP BY route_id) AS r
  JOIN source AS s USING (route_id)
  JOIN hop_clock AS h USING (machine_id, clock_id, seq_id, file)
  GROUP BY h.hop_id
)
SELECT iif(events > 0, 'warning', 'info') AS severity, subject, machine_id, clock_id, seq_id, file, packet_id, events, worst_ns,
       printf(iif(times = 1, 'Between two snapshots ', '%,d times between two snapshots '), times) || to_clock
         || iif(forward > 0, ' went {worst} more than ', ' went {worst} less than ') || from_clock || iif(times = 1, '', ' at most')
         || CASE
              WHEN source = 'remote_sync' THEN ': one of the machines was suspended or its clock set, or a synchronization was slow.'
              WHEN worst_ns < 100000 THEN ', as if the two were not read together.'
              WHEN clock_id IN (3, 4, 5) AND to_clock_id = 6 AND forward > 0 THEN ': the machine was suspended.'
              WHEN clock_id IN (1, 2) OR to_clock_id IN (1, 2) THEN ': the wall clock was set.'
              ELSE ': a clock was set, stood still or started again.'
            END
         || iif(events > 0, ' The times of {events} in between may be off by that.', ' No event on it lies in between.') AS message,
       CASE
         WHEN source = 'remote_sync' THEN 'Synchronize the machines again right after a suspend.'
         WHEN clock_id IN (1, 2) THEN 'Take timestamps from BOOTTIME (TracePacket.timestamp_clock_id 6), which nobody sets.'
         WHEN clock_id IN (3, 4, 5) THEN 'Take timestamps from BOOTTIME (TracePacket.timestamp_clock_id 6), which counts suspends.'
         ELSE 'Write a ClockSnapshot right after somebody sets the clock or the machine resumes.'
       END
         || iif(source = 'remote_sync', '', ' A shorter TraceConfig.builtin_data_sources.snapshot_interval_ms narrows the gap.') AS advice
FROM (
  SELECT h.from_clock || ' → ' || h.to_clock AS subject, h.from_clock, h.to_clock, h.machine_id, h.clock_id, h.seq_id, h.file, h.source, h.to_clock_id,
         s.packet_id, s.times, s.forward, CAST(round(s.worst) AS INTEGER) AS worst_ns,
         coalesce(i.events, 0) AS events
  FROM step AS s JOIN hop AS h ON h.id = s.hop_id LEFT JOIN inside AS i USING (hop_id)
)
-- All clocks of a machine step together: if no event lies between the snapshots, the coarse and the
-- raw clocks add nothing.
WHERE events > 0 OR worst_ns > 100000 AND clock_id NOT IN (2, 4, 5)
