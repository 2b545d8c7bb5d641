-- The part of the view `finding` that the checks in findings/ share. A build script puts it before the
-- checks. A check only reads the parts that it names.
--
-- SQLite expands a part wherever a check names it. From 3.54 on it refuses a statement that has more than a thousand tables after this. So
-- the parts seldom name each other, and join packet_record and packet_common instead of naming the view packet, which would be three tables.
--
-- Here a clock is (machine_id, clock_id, seq_id, file), with -1 for no file, as in the tables behind the
-- views. OWNER with a packet and its common row stands for the SQL in src/owner.rs.

trace_time AS MATERIALIZED (
  SELECT max(iif(name = 'trace_time_clock_id', value, NULL)) AS clock_id,
         coalesce(max(iif(name = 'trace_time_machine_id', value, NULL)), 0) AS machine_id,
         coalesce(max(iif(name = 'conversion', value, NULL)), 'nearest') AS conversion
  FROM fact
),
pair AS NOT MATERIALIZED (
  SELECT id, ts, clock_id, clock_value, snapshot_id, machine_id, packet_id, seq_id, source, coalesce(trace_file_id, -1) AS file
  FROM clock_snapshot
),
hop AS NOT MATERIALIZED (
  SELECT *, coalesce(trace_file_id, -1) AS file, coalesce(to_trace_file_id, -1) AS to_file FROM clock_hop
),
-- Pairs of clocks that timebase assumes to agree, in both directions.
bridge AS MATERIALIZED (
  SELECT a.machine_id, a.clock_id, coalesce(a.trace_file_id, -1) AS file, b.machine_id AS to_machine
  FROM clock_snapshot AS a JOIN clock_snapshot AS b ON b.snapshot_id = a.snapshot_id AND b.id <> a.id
  WHERE a.source = 'assumed'
),
-- Packets, and the owner of their clock unless it is sequence-scoped.
home AS NOT MATERIALIZED (
  SELECT p.id AS packet_id, p.ts, c.clock_id, c.seq_id, c.machine_id, c.type, c.trace_file_id,
         coalesce(OWNER(p.id, c), -1) AS file
  FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
),

-- Everything without a time, and the reason: packets, ranges of kernel events, and log lines.
unplaced AS MATERIALIZED (
  SELECT coalesce(u.machine_id, p.machine_id) AS machine_id, iif(u.is_packet, p.clock_id, u.clock_id) AS clock_id,
         iif(iif(u.is_packet, p.clock_id, u.clock_id) BETWEEN 64 AND 127, iif(u.is_packet, p.seq_id, u.seq_id), 0) AS seq_id,
         iif(iif(u.is_packet, p.clock_id, u.clock_id) BETWEEN 64 AND 127, p.trace_file_id,
             coalesce(OWNER(r.id, p), -1)) AS file,
         iif(u.is_packet, p.seq_id, u.seq_id) AS sequence, p.trace_file_id, u.reason, u.packet_id, u.events, u.is_packet
  FROM (
    SELECT NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, unresolved AS reason, id AS packet_id, 1 AS events, 1 AS is_packet
    FROM packet_record
    WHERE unresolved IS NOT NULL
    UNION ALL
    SELECT s.machine_id, s.clock_id, s.seq_id, s.reason, min(e.packet_id), count(*), 0
    FROM ftrace_unresolved AS s CROSS JOIN ftrace_record AS e ON e.id BETWEEN s.first_id AND s.last_id AND +e.ts IS NULL
    GROUP BY s.first_id
    UNION ALL
    SELECT NULL, 1, NULL, unresolved, packet_id, 1, 0 FROM android_log_record WHERE unresolved IS NOT NULL
  ) AS u
  CROSS JOIN packet_record AS r ON r.id = u.packet_id
  CROSS JOIN packet_common AS p ON p.id = r.common_id
  WHERE NOT u.is_packet OR p.type IS NOT 'clock_snapshot'
),

-- The database does not record the clock of a kernel event; the bundles have pairs of it, unless it is BOOTTIME.
kernel_clock AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, file,
         iif((SELECT count(*) FROM part) = 1, (SELECT count(*) FROM ftrace_record),
             (SELECT count(*) FROM ftrace_record AS e CROSS JOIN packet_record AS r ON r.id = e.packet_id
              CROSS JOIN packet_common AS p ON p.id = r.common_id
              WHERE p.machine_id = k.machine_id AND k.file IN (-1, p.trace_file_id))) AS events
  FROM (SELECT DISTINCT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) AS file FROM clock_snapshot WHERE source = 'ftrace' AND clock_id <> 6) AS k
),

-- The number of packets, kernel events and log lines on each clock.
clock_events AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, file, sum(events) AS events
  FROM (
    SELECT machine_id, clock_id, seq_id, file, packets AS events FROM clock_record
    UNION ALL
    SELECT p.machine_id, 1, 0, iif(r.id >= t.own_from, p.trace_file_id, -1), 1
    FROM android_log_record AS l
    CROSS JOIN packet_record AS r ON r.id = l.packet_id
    CROSS JOIN packet_common AS p ON p.id = r.common_id
    CROSS JOIN part AS t ON t.trace_file_id = p.trace_file_id AND t.machine_id = p.machine_id
    UNION ALL
    SELECT machine_id, clock_id, seq_id, file, events FROM kernel_clock
  )
  WHERE events > 0
  GROUP BY machine_id, clock_id, seq_id, file
),

-- The first packet with each snapshot, and with each clock in a snapshot.
snapshot_packet AS MATERIALIZED (
  SELECT snapshot_id, min(packet_id) AS packet_id FROM clock_snapshot GROUP BY snapshot_id
),
clock_packet AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) AS file, min(packet_id) AS packet_id FROM clock_snapshot GROUP BY 1, 2, 3, 4
),

-- What the recorder's counters mean if they are not 0, with the remedy.
told AS MATERIALIZED (
  SELECT c.place, c.kind, s.name, s.idx, s.machine_id, s.trace_file_id, s.value, c.words, iif(s.value < 0, 'more than 9,223,372,036,854,775,807', printf('%,d', s.value)) || ' ' || c.words AS said, c.advice
  FROM (
    SELECT column1 AS place, column2 AS kind, column3 AS name, column4 AS words, column5 AS advice
    FROM (VALUES
      (1, 'buffer', 'traced_buf_chunks_discarded', 'chunks discarded because it was full',
       'Make the buffer larger (BufferConfig.size_kb), let it overwrite old data (fill_policy RING_BUFFER), or write while recording (TraceConfig.write_into_file).'),
      (2, 'buffer', 'traced_buf_chunks_overwritten', 'chunks overwritten although it must not overwrite any',
       'Make the buffer larger (BufferConfig.size_kb).'),
      (3, 'buffer', 'traced_buf_trace_writer_packet_loss', 'times that a producer had no room in its shared memory',
       'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb), or let them write less.'),
      (4, 'buffer', 'traced_buf_patches_failed', 'packets that could not be completed',
       'Make the buffer larger (BufferConfig.size_kb).'),
      (5, 'buffer', 'traced_buf_chunks_committed_out_of_order', 'chunks that came out of order',
       'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb).'),
      (6, 'buffer', 'traced_buf_abi_violations', 'chunks that a producer wrote wrongly',
       'Update the producer: it writes invalid data into its shared memory.'),
      (7, 'buffer', 'traced_chunks_discarded', 'chunks for a buffer that does not exist',
       'Find the producer that writes into a buffer that the configuration does not have (DataSourceConfig.target_buffer).'),
      (8, 'buffer', 'traced_patches_discarded', 'ends of packets for a buffer that does not exist',
       'Find the producer that writes into a buffer that the configuration does not have (DataSourceConfig.target_buffer).'),
      (9, 'buffer', 'filter_errors', 'errors of the filter of the trace', 'Check TraceConfig.trace_filter.'),
      (21, 'writer', 'traced_buf_sequence_packet_loss', 'gaps between packets', 'Make the buffers larger (BufferConfig.size_kb).'),
      (22, 'writer', 'traced_buf_data_loss_smb_full', 'of them because shared memory was full',
       'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb), or let them write less.'),
      (23, 'writer', 'traced_buf_data_loss_overwrite', 'of them because a ring buffer wrapped before it was read',
       'Read the buffers more often (TraceConfig.write_into_file with file_write_period_ms).'),
      (24, 'writer', 'traced_buf_data_loss_read_gap', 'of them because chunks were missing at the read', 'Make the buffers larger (BufferConfig.size_kb).'),
      (25, 'writer', 'traced_buf_data_loss_orphan_continuation', 'of them because the start of a packet was missing', 'Make the buffers larger (BufferConfig.size_kb).'),
      (26, 'writer', 'traced_buf_data_loss_reassembly_gap', 'of them because the middle of a packet was missing', 'Make the buffers larger (BufferConfig.size_kb).'),
      (27, 'writer', 'traced_buf_data_loss_reassembly_broken_chain', 'of them because the parts of a packet did not fit', 'Update the producer.'),
      (28, 'writer', 'traced_buf_data_loss_chunk_corrupted', 'of them because a chunk was corrupt', 'Update the producer.'),
      (29, 'writer', 'traced_buf_data_loss_writer_abort', 'of them because the writer abandoned a packet',
       'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb), or let them write less.'),
      (30, 'writer', 'traced_flushes_failed', 'flushes that failed', 'Give producers more time to flush (TraceConfig.flush_timeout_ms).'),
      (31, 'writer', 'traced_final_flush_failed', 'last flush that failed: the end of the recording may be missing',
       'Give producers more time to flush (TraceConfig.flush_timeout_ms), and data sources to stop (TraceConfig.data_source_stop_timeout_ms).'),
      (32, 'writer', 'traced_invalid_packets', 'packets that the recorder refused', 'Update the producer.')
    )
  ) AS c
  CROSS JOIN stats AS s ON s.name = c.name
  WHERE s.value <> 0
),

-- The hops on the path of each clock, from its path, which is text. To look for each hop in each path would take the square of the
-- number of clocks.
way (machine_id, clock_id, seq_id, file, from_clock, to_clock, rest) AS (
  SELECT machine_id, clock_id, seq_id, file, NULL, NULL, path || ' → '
  FROM clock_record
  WHERE path IS NOT NULL
  UNION ALL
  SELECT machine_id, clock_id, seq_id, file, to_clock, substr(rest, 1, instr(rest, ' → ') - 1), substr(rest, instr(rest, ' → ') + 3)
  FROM way
  WHERE rest <> ''
),
hop_clock AS MATERIALIZED (
  SELECT h.id AS hop_id, h.source, h.drift_ppm, w.machine_id, w.clock_id, w.seq_id, w.file
  FROM way AS w JOIN clock_hop AS h ON h.from_clock = w.from_clock AND h.to_clock = w.to_clock
  UNION
  SELECT id, source, drift_ppm, machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_hop
),
-- The clocks on whose path are hops: the largest drift of hops from machine to machine by a synchronization, NULL if there are none, and of other
-- hops; and whether one is a statement of the manifest or of a producer, or follows from messages.
led AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, file, max(iif(source = 'remote_sync', coalesce(abs(drift_ppm), 0), NULL)) AS ppm,
         coalesce(max(iif(source = 'remote_sync', NULL, abs(drift_ppm))), 0) AS own_ppm, max(source IN ('manifest', 'json', 'causality')) AS is_told
  FROM hop_clock
  GROUP BY machine_id, clock_id, seq_id, file
),
hop_events AS MATERIALIZED (
  SELECT w.hop_id, sum(e.events) AS events FROM hop_clock AS w JOIN clock_events AS e USING (machine_id, clock_id, seq_id, file) GROUP BY w.hop_id
),

-- The clocks that are converted to trace time, with the numbers of their routes.
source AS MATERIALIZED (
  SELECT c.machine_id, c.clock_id, c.seq_id, c.file, c.unit_multiplier_ns AS unit, r.id AS route_id, t.clock_id AS trace_time, t.conversion,
         c.snapshots = 1 AND c.scope <> 'builtin' AND NOT c.is_incremental AS is_single
  FROM clock_route AS r
  JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
  JOIN trace_time AS t ON r.to_clock_id = t.clock_id
  WHERE (c.machine_id, c.clock_id, c.file) <> (t.machine_id, t.clock_id, -1)
    -- A file's own clock is related to others by statements, which do not drift.
    AND c.clock_id <> 11
    -- A snapshot that nobody read is no evidence of errors.
    AND c.machine_id NOT IN (SELECT machine_id FROM import_log WHERE code = 'snapshot_of_zeros')
),

-- The readings of these clocks, in nanoseconds of the clock, their time by the line, and its error, with the part by which the error has grown
-- since the nearest snapshot. Rows are narrow, because there may be millions:
-- CROSS JOIN makes SQLite look up the clock of each packet, not the packets of each clock.
reading AS MATERIALIZED (
  SELECT r.route_id, r.packet_id, r.value, r.ts, l.kind, (r.value - iif(l.error_slope < 0, l.end_value, l.start_value)) * l.error_slope AS grown,
         r.value + l.offset
           + CAST(round((r.value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.slope) AS INTEGER) AS line_ts,
         l.error + (r.value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.error_slope AS error
  FROM (
    SELECT s.route_id, v.packet_id, v.value * iif(v.is_packet, s.unit, 1) AS value, v.ts
    FROM (
      SELECT p.id AS packet_id, c.machine_id, c.trace_file_id, c.clock_id, iif(c.clock_id BETWEEN 64 AND 127, c.seq_id, 0) AS seq_id,
             coalesce(p.ts + c.clock_offset, p.clock_ts) AS value, p.ts, 1 AS is_packet
      FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
      WHERE p.ts IS NOT NULL AND coalesce(c.clock_offset, p.clock_ts) IS NOT NULL AND c.type IS NOT 'clock_snapshot'
        -- They are on a file's own clock, which source does not have.
        AND c.type IS NOT 'json_event'
      UNION ALL
      SELECT l.packet_id, p.machine_id, p.trace_file_id, 1, 0, l.timestamp, l.ts, 0
      FROM android_log_record AS l CROSS JOIN packet_record AS q ON q.id = l.packet_id CROSS JOIN packet_common AS p ON p.id = q.common_id
      WHERE l.ts IS NOT NULL
    ) AS v
    CROSS JOIN source AS s
      ON s.machine_id = v.machine_id AND s.clock_id = v.clock_id AND s.seq_id = v.seq_id
     AND s.file = iif(v.clock_id BETWEEN 64 AND 127, v.trace_file_id, OWNER(v.packet_id, v))
  ) AS r
  CROSS JOIN clock_line AS l
    ON l.route_id = r.route_id
   AND l.start_value = (SELECT max(m.start_value) FROM clock_line AS m WHERE m.route_id = r.route_id AND m.start_value <= r.value)
),

-- Events without a time because a clock went backwards: for each such clock, the number of its own events, and of events on
-- other clocks whose only path leads through it. An event of the latter kind counts for the first such clock, of its own
-- machine if there is one.
backwards AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, file, row_number() OVER (ORDER BY machine_id, clock_id, seq_id, file) AS place
  FROM clock_record WHERE NOT is_monotonic
),
stranded AS (
  SELECT place, own, other,
         CASE
           WHEN other > 0 AND own > 0 THEN printf('%,d events could not be placed in time, %,d of them on other clocks that need it on the way to trace time.', own + other, other)
           WHEN other > 0 THEN printf('%,d event%s on other clocks, which need it on the way to trace time, could not be placed in time.', other, iif(other = 1, '', 's'))
           ELSE printf('%,d event%s on it could not be placed in time.', own, iif(own = 1, '', 's'))
         END AS said
  FROM (
    SELECT coalesce(b.place, (SELECT min(o.place) FROM backwards AS o WHERE o.machine_id = u.machine_id), 1) AS place,
           sum(iif(b.place, u.events, 0)) AS own, sum(iif(b.place, 0, u.events)) AS other
    FROM unplaced AS u LEFT JOIN backwards AS b USING (machine_id, clock_id, seq_id, file)
    WHERE u.reason = 'non_monotonic'
    GROUP BY 1
  )
),

-- The clocks that wrapped or restarted, with the kind, the first time, and the affected events. An event without a time counts
-- for the first kind.
turned AS (
  SELECT t.*, s.said, iif(t.is_first, coalesce(s.own + s.other, 0), 0) AS lost
  FROM (
    SELECT c.machine_id, c.clock_id, c.seq_id, coalesce(c.trace_file_id, -1) AS file, c.kind, count(*) AS times, sum(c.packets) AS wrong,
           min(c.wrong_packet_id) AS wrong_packet, max(c.worst_ns) AS worst, c.bits, c.turn_ns, c.before_packet_id, c.packet_id,
           c.before_value / 1e9 AS before_s, c.value / 1e9 AS value_s, (c.end_ts - c.start_ts) / 1e9 AS gap_s,
           min(c.id) = min(min(c.id)) OVER (PARTITION BY c.machine_id, c.clock_id, c.seq_id, c.trace_file_id) AS is_first
    FROM clock_turn AS c
    GROUP BY c.machine_id, c.clock_id, c.seq_id, c.trace_file_id, c.kind
  ) AS t
  LEFT JOIN backwards AS b USING (machine_id, clock_id, seq_id, file)
  LEFT JOIN stranded AS s USING (place)
),

-- The drift of the clocks on their path to trace time.
clock_pace AS (
  SELECT e.machine_id, e.clock_id, e.seq_id, e.file, min(h.interval_for_1us_s) AS interval_s, max(abs(h.drift_ppm)) AS ppm,
         max(h.source = 'remote_sync') AS is_synced
  FROM hop_clock AS e JOIN clock_hop AS h ON h.id = e.hop_id AND h.nominal_rate = 1
  GROUP BY e.machine_id, e.clock_id, e.seq_id, e.file
),

-- The errors of nearest neighbour on clocks that drift: the number of events that it put off the line, the largest and the median error, and the
-- number of neighbouring pairs in the wrong order. For kernel events, only the jumps at snapshots.
drifting AS (
  WITH steady AS (
    SELECT *
    FROM source AS s
    WHERE (s.machine_id, s.clock_id, s.seq_id, s.file)
            NOT IN (SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_hop WHERE nominal_rate <> 1)
      -- A line without a slope agrees with nearest neighbour.
      AND EXISTS (SELECT * FROM clock_line AS l WHERE l.route_id = s.route_id AND l.slope <> 0)
      AND conversion = 'nearest'
      -- If the largest drift is between machines, another check reports it.
      AND (s.machine_id, s.clock_id, s.seq_id, s.file) NOT IN (SELECT machine_id, clock_id, seq_id, file FROM led WHERE ppm > own_ppm)
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
  -- Counted by the first three digits, which is the precision of the reported median: sorting millions of events would take longer than
  -- everything else.
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
  -- A pair counts for the clock of the event with the larger error. Events on the clock of trace time are
  -- in the right place. A subquery reads this, so SQLite sorts all events only if some have moved.
  inverted AS MATERIALIZED (
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
      WINDOW w AS (ORDER BY line_ts)
    )
    WHERE line_before + off_before > line_ts + off
    GROUP BY 1
  )
  SELECT d.*, p.ppm, p.interval_s, p.is_synced
  FROM (
    SELECT m.machine_id, m.clock_id, m.seq_id, m.file, m.packet_id, m.events, CAST(m.moved_1us AS INTEGER) AS moved, CAST(m.moved_1ms AS INTEGER) AS moved_1ms,
           m.worst, m.median, coalesce((SELECT i.pairs FROM inverted AS i WHERE i.route_id = m.route_id), 0) AS pairs, 0 AS is_kernel
    FROM moved AS m
    UNION ALL
    SELECT h.machine_id, h.clock_id, h.seq_id, h.file, NULL, k.events, k.events, NULL, CAST(h.worst_error_nearest_ns AS INTEGER), NULL, NULL, 1
    FROM hop AS h JOIN kernel_clock AS k USING (machine_id, clock_id, seq_id, file)
    WHERE h.nominal_rate = 1 AND h.worst_error_nearest_ns > 1000 AND k.events > 0
      AND (SELECT conversion FROM trace_time) = 'nearest'
  ) AS d
  LEFT JOIN clock_pace AS p USING (machine_id, clock_id, seq_id, file)
),

-- Parts without a snapshot whose timestamps name no clock and are nanoseconds of Unix time, from 2001 to 2100.
unix_part AS MATERIALIZED (
  SELECT c.machine_id, c.trace_file_id, min(p.id) AS packet_id, count(*) AS events, min(p.ts) AS first_ts, max(p.ts) AS last_ts
  FROM (
    SELECT s.machine_id, s.trace_file_id
    FROM sequence AS s
    WHERE s.last_ts IS NOT NULL
    GROUP BY 1, 2
    HAVING max(s.last_ts) BETWEEN 978307200000000000 AND 4102444800000000000
  ) AS t
  CROSS JOIN packet_common AS c ON c.machine_id = t.machine_id AND c.trace_file_id = t.trace_file_id AND coalesce(c.clock_id, 6) = 6
  CROSS JOIN packet_record AS p ON p.common_id = c.id AND p.ts <> 0
  WHERE c.type IS NOT 'clock_snapshot'
    AND NOT EXISTS (
      SELECT * FROM clock_snapshot AS s CROSS JOIN packet_record AS q ON q.id = s.packet_id CROSS JOIN packet_common AS o ON o.id = q.common_id
      WHERE s.machine_id = t.machine_id AND o.trace_file_id = t.trace_file_id AND s.source NOT IN ('assumed', 'causality', 'manifest')
        AND s.packet_id NOT IN (SELECT packet_id FROM import_log WHERE code = 'snapshot_of_zeros')
    )
  GROUP BY 1, 2
  HAVING min(p.ts) >= 978307200000000000 AND max(p.ts) <= 4102444800000000000
),

-- Writers whose timestamps are readings of another clock than they name.
-- First the clocks that snapshots read.
reading_of AS MATERIALIZED (
  SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) AS file, min(clock_value) AS first_value, max(clock_value) AS last_value,
         min(ts) AS first_ts, max(ts) AS last_ts, max(unit_multiplier_ns) AS unit
  FROM clock_snapshot
  WHERE source NOT IN ('assumed', 'causality', 'manifest') AND ts IS NOT NULL
    AND packet_id NOT IN (SELECT packet_id FROM import_log WHERE code = 'snapshot_of_zeros')
  GROUP BY 1, 2, 3, 4
),
-- Other builtin clocks that were read beside them, with the least distance of both.
apart AS MATERIALIZED (
  SELECT a.machine_id, a.clock_id AS named_id, a.seq_id AS scope, coalesce(a.trace_file_id, -1) AS file, b.clock_id,
         min(abs(a.clock_value - b.clock_value)) AS apart, min(b.clock_value) AS first_value, max(b.clock_value) AS last_value,
         min(a.ts - a.clock_value) AS least_offset, max(a.ts - a.clock_value) AS greatest_offset, min(a.ts) AS named_first_ts, max(a.ts) AS named_last_ts
  FROM clock_snapshot AS a CROSS JOIN clock_snapshot AS b ON b.snapshot_id = a.snapshot_id AND b.machine_id = a.machine_id AND b.clock_id <> a.clock_id
  WHERE b.clock_id IN (6, 3, 1, 5, 10) AND a.source NOT IN ('assumed', 'causality', 'manifest')
    AND a.packet_id NOT IN (SELECT packet_id FROM import_log WHERE code = 'snapshot_of_zeros')
  GROUP BY 1, 2, 3, 4, 5
  HAVING min(abs(a.clock_value - b.clock_value)) > 10000000000
),
-- The time of the packets that may use a clock: those of its sequence, or of all sequences of the machine.
covered AS MATERIALIZED (
  SELECT machine_id, 0 AS scope, min(first_ts) AS first_ts, max(last_ts) AS last_ts FROM sequence GROUP BY machine_id
  UNION ALL
  SELECT machine_id, id, first_ts, last_ts FROM sequence WHERE id <> 0
),
-- Packets with events. Packets of one kind on the default clock come from the recorder's own writers, which are many.
stamp AS NOT MATERIALIZED (
  SELECT r.id, r.ts, coalesce(r.ts + c.clock_offset, r.clock_ts) AS value, c.machine_id, c.trace_file_id, c.clock_id,
         iif(c.type <> 'track_event' AND c.clock_id = (SELECT f.value FROM fact AS f WHERE f.name = 'trace_time_clock_id'), NULL, c.seq_id) AS seq_id,
         coalesce(c.type, '') AS kind
  FROM packet_record AS r CROSS JOIN packet_common AS c ON c.id = r.common_id
  WHERE r.ts IS NOT NULL AND c.clock_id IS NOT NULL
    AND coalesce(c.type, '') NOT IN ('clock_snapshot', 'remote_clock_sync', 'track_descriptor', 'process_descriptor', 'thread_descriptor', 'trace_config',
      'trace_stats', 'ftrace_stats', 'system_info', 'cpu_info', 'gpu_info', 'packages_list', 'trace_uuid', 'service_event', 'synchronization_marker',
      'extension_descriptor', 'trace_attributes', 'ui_state', 'translation_table', 'module_symbols', 'deobfuscation_mapping', 'perfetto_metatrace', 'corrupt')
),
writer AS MATERIALIZED (
  SELECT machine_id, trace_file_id, clock_id, seq_id, iif(seq_id IS NULL, kind, NULL) AS kind, min(value) AS first_stamp, max(value) AS last_stamp,
         min(ts) AS first_ts, max(ts) AS last_ts, min(id) AS packet_id, count(*) AS events
  -- Only if a sequence comes near to another clock's readings, or is far from all: sequences are few, and packets many.
  FROM (
    SELECT 1
    WHERE EXISTS (SELECT * FROM apart AS d JOIN covered AS s ON s.machine_id = d.machine_id AND s.scope = d.scope
                  WHERE s.first_ts <= d.last_value + d.apart / 10 + d.greatest_offset AND s.last_ts >= d.first_value - d.apart / 10 + d.least_offset
                    AND (s.first_ts < d.named_first_ts - d.apart / 10 OR s.last_ts > d.named_last_ts + d.apart / 10))
       OR EXISTS (SELECT * FROM reading_of AS k JOIN covered AS s ON s.machine_id = k.machine_id AND s.scope = k.seq_id
                  WHERE s.first_ts < k.first_ts - 3600000000000 OR s.last_ts > k.last_ts + 86400000000000)
  )
  CROSS JOIN stamp
  GROUP BY 1, 2, 3, 4, 5
),
-- Each writer with the clock that it names.
named_clock AS MATERIALIZED (
  SELECT w.machine_id, w.trace_file_id, w.clock_id, w.seq_id, w.kind, w.first_stamp * k.unit AS first_stamp, w.last_stamp * k.unit AS last_stamp,
         w.first_ts, w.last_ts, w.packet_id, w.events, k.unit, k.seq_id AS scope, k.file, k.first_value, k.last_value,
         -- The middle of the gap to the snapshots, where no other writer may be.
         iif(w.last_ts < k.first_ts, w.last_ts + (k.first_ts - w.last_ts) / 10, k.last_ts + (w.first_ts - k.last_ts) / 10) AS gap_start,
         iif(w.last_ts < k.first_ts, k.first_ts - (k.first_ts - w.last_ts) / 10, w.first_ts - (w.first_ts - k.last_ts) / 10) AS gap_end
  FROM writer AS w
  CROSS JOIN reading_of AS k
    ON k.machine_id = w.machine_id AND k.clock_id = w.clock_id
   AND k.seq_id = iif(w.clock_id BETWEEN 64 AND 127, w.seq_id, 0)
   AND k.file = coalesce((SELECT o.file FROM reading_of AS o
                          WHERE o.machine_id = w.machine_id AND o.clock_id = w.clock_id AND o.seq_id = iif(w.clock_id BETWEEN 64 AND 127, w.seq_id, 0)
                            AND o.file = w.trace_file_id), -1)
  WHERE (w.machine_id, w.trace_file_id) NOT IN (SELECT machine_id, trace_file_id FROM unix_part)
),
-- The clocks that a writer may have read; NULL if none is known.
suspect AS (
  SELECT w.*, d.clock_id AS other_id
  FROM named_clock AS w
  LEFT JOIN apart AS d
    ON d.machine_id = w.machine_id AND d.named_id = w.clock_id AND d.scope = w.scope AND d.file = w.file
   AND w.first_stamp BETWEEN d.first_value - d.apart / 10 AND d.last_value + d.apart / 10
   AND (w.last_stamp <= d.last_value + d.apart / 10 OR w.last_stamp - w.first_stamp <= d.apart / 2)
   AND 3 * (SELECT count(*) FROM stamp AS s
            WHERE s.machine_id = w.machine_id AND s.trace_file_id = w.trace_file_id AND s.clock_id = w.clock_id AND s.seq_id IS w.seq_id
              AND coalesce(s.kind = w.kind, 1)
              AND s.value * w.unit NOT BETWEEN w.first_value - d.apart / 10 AND w.last_value + d.apart / 10) >= w.events
  WHERE d.clock_id IS NOT NULL
     OR (w.last_stamp < w.first_value - 3600000000000 OR w.first_stamp > w.last_value + 86400000000000)
        AND max(w.first_value - w.last_stamp, w.first_stamp - w.last_value) > 10 * (w.last_stamp - w.first_stamp)
),
misread AS MATERIALIZED (
  SELECT * FROM (
  SELECT w.*, row_number() OVER (PARTITION BY w.packet_id, w.clock_id ORDER BY CASE w.other_id WHEN 6 THEN 1 WHEN 3 THEN 2 WHEN 1 THEN 3 WHEN 5 THEN 4 WHEN 10 THEN 5 ELSE 6 END) AS place
  FROM suspect AS w
  WHERE NOT EXISTS (SELECT * FROM stamp AS s
                    WHERE s.ts BETWEEN w.gap_start AND w.gap_end AND s.machine_id = w.machine_id AND s.clock_id = w.clock_id
                      AND NOT (s.trace_file_id = w.trace_file_id AND s.seq_id IS w.seq_id AND coalesce(s.kind = w.kind, 1)))
    AND NOT (w.clock_id = (SELECT f.value FROM fact AS f WHERE f.name = 'trace_time_clock_id')
             AND EXISTS (SELECT * FROM ftrace_record AS e WHERE e.ts BETWEEN w.gap_start AND w.gap_end))
  ) WHERE place = 1
)
