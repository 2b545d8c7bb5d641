-- The clocks of two machines drift apart
-- One machine asked the other for the time, but its clock runs faster or slower. Nearest neighbour assumes that both run equally fast, so
-- the error of a time grows with the distance to the last synchronization.
-- Severity: warning if that is more than 100 µs, info otherwise.
WITH met AS (SELECT DISTINCT machine_id, host_machine_id AS host FROM remote_clock_sync),
-- The path to trace time may start at either machine.
pace AS (
  SELECT m.machine_id, m.host, max(abs(h.drift_ppm)) AS ppm, (h.drift_ppm < 0) = (h.machine_id = m.machine_id) AS is_faster
  FROM met AS m
  JOIN clock_hop AS h ON m.machine_id IN (h.machine_id, h.to_machine_id) AND m.host IN (h.machine_id, h.to_machine_id) AND h.machine_id <> h.to_machine_id
  WHERE h.source = 'remote_sync' AND h.nominal_rate = 1 AND h.clock_id NOT IN (2, 4) AND (SELECT conversion FROM trace_time) = 'nearest'
  GROUP BY m.machine_id, m.host
),
-- The time without a synchronization: before the first, between two, after the last.
gap AS (
  SELECT machine_id, min(packet_id) AS packet_id, max(gap) AS longest
  FROM (
    SELECT s.machine_id, s.packet_id,
           max(coalesce(lead(s.ts) OVER w, m.last_ts) - s.ts, iif(lag(s.ts) OVER w IS NULL, s.ts - m.first_ts, 0), 0) AS gap
    FROM clock_snapshot AS s JOIN machine AS m ON m.id = s.machine_id
    WHERE s.source = 'remote_sync' AND s.clock_id = 6
    WINDOW w AS (PARTITION BY s.machine_id ORDER BY s.ts)
  )
  GROUP BY machine_id
)
SELECT iif(worst_ns > 100000, 'warning', 'info') AS severity, 'machine ' || machine_id AS subject, machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, packet_id,
       (SELECT m.packets FROM machine AS m WHERE m.id = machine_id) AS events, worst_ns,
       printf('The clocks of machine %d run %.3g ppm %s than those of machine %d, and the longest gap without synchronization is %.3g s: at its end, times are off by {worst}.',
              machine_id, ppm, iif(is_faster, 'faster', 'slower'), host, longest / 1e9) AS message,
       printf('Import with --conversion linear, which follows the drift, or let ''timebase rewrite --conversion linear'' correct the trace for other tools. To keep nearest neighbour within 100 µs, synchronize the machines every %.3g s.', 100 / ppm) AS advice
FROM (SELECT p.*, g.packet_id, g.longest, CAST(round(1e-6 * p.ppm * g.longest) AS INTEGER) AS worst_ns FROM pace AS p JOIN gap AS g USING (machine_id))
WHERE ppm > 50 OR worst_ns > 100000
