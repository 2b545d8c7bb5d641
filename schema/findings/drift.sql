-- A clock drifts, and nearest neighbour put events elsewhere than they were
-- Nearest neighbour takes each clock for one that runs at the same rate. Here its times are compared with the line between the
-- snapshots, and counted where they differ by more than that may be wrong. A pair of neighbouring events is in the
-- wrong order if their times are the other way round than on the line. Kernel events are judged by the jumps at the snapshots.
-- Severity: warning if an event was off by more than 100 µs, info otherwise.
WITH steady AS (
  SELECT s.*, t.clock_id AS trace_time
  FROM source AS s CROSS JOIN trace_time AS t
  WHERE (s.machine_id, s.clock_id, s.seq_id, s.file)
          NOT IN (SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_hop WHERE nominal_rate <> 1)
    -- Where the line is not inclined it is where nearest neighbour is.
    AND EXISTS (SELECT * FROM clock_line AS l WHERE l.route_id = s.route_id AND l.slope <> 0)
    AND t.conversion = 'nearest'
    -- Where it is machines that drift apart most, another check tells.
    AND (s.machine_id, s.clock_id, s.seq_id, s.file) NOT IN (SELECT machine_id, clock_id, seq_id, file FROM synced WHERE ppm > own_ppm)
),
off AS MATERIALIZED (
  SELECT route_id, packet_id, line_ts, ts - line_ts AS off, abs(ts - line_ts) > max(coalesce(error, 0), 1000) AS is_off
  FROM (
    SELECT r.route_id, r.packet_id, r.line_ts, r.error,
           r.value + (
             SELECT s.offset FROM clock_step AS s
             WHERE s.machine_id = c.machine_id AND s.clock_id = c.clock_id AND s.seq_id = c.seq_id AND s.file = c.file
               AND s.to_clock_id = c.trace_time AND s.start_value <= r.value
             ORDER BY s.start_value DESC LIMIT 1
           ) AS ts
    FROM reading AS r CROSS JOIN steady AS c USING (route_id)
  )
),
-- Counted by the first three digits, which is what is told of the median: to sort millions of events would take longer than all else.
counted AS MATERIALIZED (
  SELECT route_id, CAST(digits AS REAL) AS off, count(*) AS events, min(iif(is_off, packet_id, NULL)) AS packet_id,
         max(iif(is_off, abs(off), NULL)) AS worst, total(is_off) AS moved_1us, total(is_off AND abs(off) > 1000000) AS moved_1ms
  FROM (SELECT *, printf('%.2e', abs(off)) AS digits FROM off)
  GROUP BY route_id, digits
),
moved AS (
  SELECT s.machine_id, s.clock_id, s.seq_id, s.file, t.*
  FROM (
    SELECT route_id, sum(events) AS events, min(packet_id) AS packet_id, max(worst) AS worst, sum(moved_1us) AS moved_1us, sum(moved_1ms) AS moved_1ms,
           min(iif(until >= (total + 1) / 2, off, NULL)) AS median
    FROM (SELECT *, sum(events) OVER (PARTITION BY route_id ORDER BY off) AS until, sum(events) OVER (PARTITION BY route_id) AS total FROM counted)
    GROUP BY route_id
    HAVING max(worst) IS NOT NULL
  ) AS t
  JOIN source AS s USING (route_id)
),
-- A pair counts for the clock whose event is off by more. What is on trace time already is at its place.
inverted AS (
  SELECT iif(abs(off) >= abs(off_before), route_id, route_before) AS route_id, count(*) AS pairs
  FROM (
    SELECT route_id, line_ts, off, lag(route_id) OVER w AS route_before, lag(line_ts) OVER w AS line_before, lag(off) OVER w AS off_before
    FROM (
      SELECT route_id, line_ts, off FROM off
      UNION ALL
      SELECT NULL, p.ts, 0
      FROM home AS p JOIN trace_time AS t USING (machine_id, clock_id)
      WHERE p.file = -1 AND p.ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
    )
    WHERE EXISTS (SELECT * FROM off WHERE is_off)
    WINDOW w AS (ORDER BY line_ts)
  )
  WHERE line_before + off_before > line_ts + off
  GROUP BY 1
),
pace AS (
  SELECT e.machine_id, e.clock_id, e.seq_id, e.file, min(h.interval_for_1us_s) AS interval_s, max(abs(h.drift_ppm)) AS ppm,
         max(h.source = 'remote_sync') AS is_synced
  FROM hop_clock AS e JOIN clock_hop AS h ON h.id = e.hop_id AND h.nominal_rate = 1
  GROUP BY e.machine_id, e.clock_id, e.seq_id, e.file
)
SELECT iif(d.worst > 100000, 'warning', 'info') AS severity, NULL AS subject, d.machine_id, d.clock_id, d.seq_id, d.file, d.packet_id,
       CAST(d.moved AS INTEGER) AS events, d.worst AS worst_ns, d.seen || coalesce(printf(' The clock drifts by %.3g ppm.', p.ppm), '') AS message,
       'Import with --conversion linear, which follows the drift. '
         || coalesce('For nearest neighbour to stay within 1 µs, a snapshot is needed every '
                     || CASE WHEN p.interval_s >= 1 THEN printf('%.3g s', p.interval_s) ELSE printf('%.3g ms', 1e3 * p.interval_s) END || ': ', 'Record more snapshots: ')
         || iif(p.is_synced, 'a RemoteClockSync of both machines, and ', '')
         || iif(d.clock_id < 64, 'TraceConfig.builtin_data_sources.snapshot_interval_ms.',
                'write a ClockSnapshot with this clock that often, and set TraceConfig.builtin_data_sources.snapshot_interval_ms.') AS advice
FROM (
  SELECT m.machine_id, m.clock_id, m.seq_id, m.file, m.packet_id, CAST(m.moved_1us AS INTEGER) AS moved, m.worst,
         printf('Nearest neighbour put %,d of %,d events on clock {subject} off by more than 1 µs', m.moved_1us, m.events)
           || iif(m.moved_1ms > 0, printf(', %,d by more than 1 ms', m.moved_1ms), '') || ': by {worst} at worst, at the median by '
           || CASE WHEN m.median >= 1e6 THEN printf('%.3g ms', m.median / 1e6) WHEN m.median >= 1e3 THEN printf('%.3g µs', m.median / 1e3)
                   ELSE printf('%d ns', m.median) END
           || printf('. It put %,d pair%s of neighbouring events in the wrong order.', coalesce(i.pairs, 0), iif(i.pairs = 1, '', 's')) AS seen
  FROM moved AS m LEFT JOIN inverted AS i ON i.route_id = m.route_id
  UNION ALL
  SELECT h.machine_id, h.clock_id, h.seq_id, h.file, NULL, k.events, CAST(h.worst_error_nearest_ns AS INTEGER),
         'Kernel events are read from clock {subject}, and nearest neighbour jumps by up to {worst} at its snapshots.'
  FROM hop AS h JOIN kernel_clock AS k USING (machine_id, clock_id, seq_id, file)
  WHERE h.nominal_rate = 1 AND h.worst_error_nearest_ns > 1000 AND k.events > 0
    AND (SELECT conversion FROM trace_time) = 'nearest'
) AS d
LEFT JOIN pace AS p USING (machine_id, clock_id, seq_id, file)
