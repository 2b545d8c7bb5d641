-- What the checks in findings/ share: the head of the view `finding`, which a build script makes of it
-- and of them. Nothing of it is read by a check that does not name it.

-- What has no time and why: a packet, a stretch of kernel events, or a log line.
unplaced AS MATERIALIZED (
  SELECT machine_id, clock_id, iif(clock_id BETWEEN 64 AND 127, seq_id, 0) AS seq_id, seq_id AS sequence,
         unresolved AS reason, id AS packet_id, 1 AS events
  FROM packet
  WHERE unresolved IS NOT NULL AND type IS NOT 'clock_snapshot'
  UNION ALL
  SELECT u.machine_id, u.clock_id, iif(u.clock_id BETWEEN 64 AND 127, u.seq_id, 0), u.seq_id, u.reason,
         (SELECT e.packet_id FROM ftrace_record AS e WHERE e.id = u.first_id),
         (SELECT count(*) FROM ftrace_record AS e WHERE e.id BETWEEN u.first_id AND u.last_id AND +e.ts IS NULL)
  FROM ftrace_unresolved AS u
  UNION ALL
  SELECT p.machine_id, 1, 0, p.seq_id, l.unresolved, l.packet_id, 1
  FROM android_log_record AS l JOIN packet AS p ON p.id = l.packet_id
  WHERE l.unresolved IS NOT NULL
),

-- How many packets, kernel events and log lines were read from each clock. Of kernel events it is not
-- kept from which; their bundles bring pairs of it, where it is not BOOTTIME.
clock_events AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, sum(events) AS events
  FROM (
    SELECT machine_id, clock_id, seq_id, packets AS events FROM clock
    UNION ALL
    SELECT p.machine_id, 1, 0, count(*)
    FROM android_log_record AS l JOIN packet AS p ON p.id = l.packet_id GROUP BY p.machine_id
    UNION ALL
    SELECT machine_id, clock_id, seq_id, (SELECT count(*) FROM ftrace_record)
    FROM clock_snapshot WHERE source = 2 AND clock_id <> 6 GROUP BY machine_id, clock_id, seq_id
  )
  WHERE events > 0
  GROUP BY machine_id, clock_id, seq_id
),

-- The first packet that has each snapshot, and each clock in a snapshot.
snapshot_packet AS MATERIALIZED (
  SELECT snapshot_id, min(packet_id) AS packet_id FROM clock_snapshot GROUP BY snapshot_id
),
clock_packet AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, min(packet_id) AS packet_id FROM clock_snapshot GROUP BY machine_id, clock_id, seq_id
),

-- The hops on the way of each clock, taken from its path, which is text. To look for each hop in each path would be as many looks as
-- there are clocks, squared.
way (machine_id, clock_id, seq_id, events, from_clock, to_clock, rest) AS (
  SELECT e.machine_id, e.clock_id, e.seq_id, e.events, NULL, NULL, c.path || ' → '
  FROM clock_events AS e JOIN clock AS c USING (machine_id, clock_id, seq_id)
  WHERE c.path IS NOT NULL
  UNION ALL
  SELECT machine_id, clock_id, seq_id, events, to_clock, substr(rest, 1, instr(rest, ' → ') - 1), substr(rest, instr(rest, ' → ') + 3)
  FROM way
  WHERE rest <> ''
),
hop_clock AS MATERIALIZED (
  SELECT h.id AS hop_id, w.machine_id, w.clock_id, w.seq_id, w.events
  FROM way AS w JOIN clock_hop AS h ON h.from_clock = w.from_clock AND h.to_clock = w.to_clock
  UNION
  SELECT h.id, e.machine_id, e.clock_id, e.seq_id, e.events
  FROM clock_events AS e JOIN clock_hop AS h USING (machine_id, clock_id, seq_id)
),
hop_events AS MATERIALIZED (
  SELECT hop_id, sum(events) AS events FROM hop_clock GROUP BY hop_id
),

-- The clocks that are converted to trace time, and the numbers of their lines.
source AS MATERIALIZED (
  SELECT c.machine_id, c.clock_id, c.seq_id, c.unit_multiplier_ns AS unit, r.id AS route_id
  FROM clock_route AS r JOIN clock AS c USING (machine_id, clock_id, seq_id)
  WHERE r.to_clock_id = (SELECT value FROM fact WHERE name = 'trace_time_clock_id')
    AND (c.machine_id <> 0 OR c.clock_id <> r.to_clock_id)
),

-- What was read from them, in nanoseconds of the clock, beside where the line has it. Rows are narrow, as they may be millions: CROSS JOIN
-- has SQLite look up the clock of each packet, and not the packets of each clock.
reading AS MATERIALIZED (
  SELECT r.route_id, r.packet_id, r.value, r.ts, l.kind,
         r.value + l.offset
           + CAST(round((r.value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.slope) AS INTEGER) AS line_ts,
         l.error + (r.value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.error_slope AS error
  FROM (
    SELECT s.route_id, p.id AS packet_id, p.clock_ts * s.unit AS value, p.ts
    FROM packet AS p
    CROSS JOIN source AS s
      ON s.machine_id = p.machine_id AND s.clock_id = p.clock_id
     AND s.seq_id = iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0)
    WHERE p.ts IS NOT NULL AND p.clock_ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
    UNION ALL
    SELECT s.route_id, l.packet_id, l.timestamp, l.ts
    FROM android_log_record AS l
    CROSS JOIN packet AS p ON p.id = l.packet_id
    CROSS JOIN source AS s ON s.machine_id = p.machine_id AND s.clock_id = 1
    WHERE l.ts IS NOT NULL
  ) AS r
  CROSS JOIN clock_line AS l
    ON l.route_id = r.route_id
   AND l.start_value = (SELECT max(m.start_value) FROM clock_line AS m WHERE m.route_id = r.route_id AND m.start_value <= r.value)
)
