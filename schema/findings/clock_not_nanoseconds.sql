-- A clock does not tick in nanoseconds, but its unit says so
-- The unit of the clock says nanoseconds, but it counts something else, such as cycles of a processor or ticks of a device. Between two
-- snapshots its times are far off. If no event needs TSC, the check leaves it out, because TSC always counts ticks.
-- Severity: error if events need it, warning otherwise.
WITH counter AS (
  SELECT h.id AS hop_id, h.machine_id, h.clock_id, h.seq_id, h.file, h.nominal_rate, c.scope,
         1e9 / (h.nominal_rate * c.unit_multiplier_ns) AS hz, c.unit_multiplier_ns AS unit,
         coalesce(e.events, 0) AS events
  FROM hop AS h JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file) LEFT JOIN hop_events AS e ON e.hop_id = h.id
  -- All builtin clocks except counters are in nanoseconds, and readings a moment apart do not show a rate.
  WHERE h.nominal_rate <> 1 AND h.nominal_rate > 0 AND h.clock_id > 6
    AND abs(h.nominal_rate - 1) * (c.last_value - c.first_value) > 100000
),
off AS (
  SELECT h.id AS hop_id, min(r.packet_id) AS packet_id, max(abs(r.ts - r.line_ts)) AS worst
  FROM hop AS h
  JOIN source AS s USING (machine_id, clock_id, seq_id, file)
  JOIN reading AS r USING (route_id)
  WHERE h.nominal_rate <> 1
  GROUP BY h.id
)
SELECT iif(c.events > 0, 'error', 'warning') AS severity, NULL AS subject,
       c.machine_id, c.clock_id, c.seq_id, c.file, o.packet_id, c.events, o.worst AS worst_ns,
       'Clock {subject} counts at '
         || CASE WHEN c.hz >= 1e9 THEN printf('%.6g GHz', c.hz / 1e9) WHEN c.hz >= 1e6 THEN printf('%.6g MHz', c.hz / 1e6)
                 WHEN c.hz >= 1e3 THEN printf('%.6g kHz', c.hz / 1e3) ELSE printf('%.6g Hz', c.hz) END
         || ', but its unit says ' || c.unit || ' ns. For each second to the snapshot, nearest neighbour is off by '
         || printf('%.3g s', abs(1 / c.nominal_rate - 1)) || '. '
         || iif(c.events > 0, 'The times of {events} need the clock' || iif(o.worst > 0, ': they are up to {worst} wrong.', '.'), 'No event needs the clock.') AS message,
       'Convert to nanoseconds before writing, or set ClockSnapshot.Clock.unit_multiplier_ns to the length of a count, if that is a whole number of nanoseconds'
         || iif(abs(1e9 / c.hz - round(1e9 / c.hz)) < 1e-4 * (1e9 / c.hz) AND 1e9 / c.hz > 1.5, printf(' (here %d)', round(1e9 / c.hz)), '')
         || '. ''timebase import --conversion linear'' places the events of this trace correctly.' AS advice
FROM counter AS c LEFT JOIN off AS o USING (hop_id)
WHERE c.events > 0 OR c.scope <> 'builtin'
