-- Clock health: can you trust the times of this trace?
--
--   timebase query TRACE-or-DB --report clock-health
--
-- Trace time is BOOTTIME, unless the trace names another primary clock. Pairs of
-- kernel events (source ftrace) are microseconds off, and snapshots of other writers
-- may be, so the report uses the best source of each clock. Statements of a manifest
-- or of a JSON trace's producer, and assumptions (source assumed), are not readings.
--
-- column why : the reason not to trust the times of the clock
-- column went_back : yes if the clock once read less than before
-- column readings : the number of snapshots that have the clock and trace time
-- column drift_ppm : how much faster the clock ran than trace time, in parts per million
-- column max_step_ns : the largest change against trace time from one snapshot to the next
-- column steps_back : the number of times that it read less than before
-- column over_s : seconds from the first snapshot to the last
-- column max_gap_s : seconds between the two neighbouring snapshots that are farthest apart
-- column before_s, after_s : seconds of the trace before the first snapshot, and after the last
-- column rejected : the number of snapshots that conversions do not use
-- column first_packet : the id of the packet of the first message
-- column first_message : the text of the first message

-- The text of a clock: its name, or 64@3 for clock 64 of sequence 3; with its machine if
-- that is not 0, and with its file if the clock belongs to one of several files.
CREATE TEMP VIEW clock_label AS
SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) AS file,
       CASE WHEN scope = 'sequence' THEN clock_id || '@' || seq_id
            ELSE coalesce(name, CAST(clock_id AS TEXT)) END
       || iif(machine_id, ' of machine ' || machine_id, '')
       || iif(trace_file_id > 0, ' in file ' || trace_file_id, '') AS clock
FROM clock;

CREATE TEMP VIEW taken AS
SELECT *, coalesce(trace_file_id, -1) AS file,
       CASE source WHEN 'service' THEN 0 WHEN 'writer' THEN 1 WHEN 'remote_sync' THEN 2 ELSE 3 END AS rank
FROM clock_snapshot
WHERE source NOT IN ('manifest', 'assumed', 'json');

-- A row for each reading on trace time, beside the previous one.
CREATE TEMP TABLE reading AS
WITH best AS (
  SELECT machine_id, clock_id, seq_id, file, min(rank) AS rank
  FROM taken GROUP BY machine_id, clock_id, seq_id, file
)
SELECT machine_id, clock_id, seq_id, file, ts,
       ts - lag(ts) OVER clock AS gap,
       clock_value - lag(clock_value) OVER clock AS advance
FROM taken JOIN best USING (machine_id, clock_id, seq_id, file, rank)
WHERE ts IS NOT NULL
WINDOW clock AS (PARTITION BY machine_id, clock_id, seq_id, file ORDER BY id);

-- Each clock against trace time. A step lies between two neighbouring snapshots.
CREATE TEMP TABLE kept AS
WITH step AS (
  -- Of max(), SQLite takes the other columns from the row that has it.
  SELECT machine_id, clock_id, seq_id, file, advance - gap AS ns, max(abs(1.0 * advance - gap))
  FROM reading
  WHERE gap IS NOT NULL AND clock_id <> 9
  GROUP BY machine_id, clock_id, seq_id, file
)
SELECT machine_id, clock_id, seq_id, file,
       count(*) AS readings,
       max(ts) - min(ts) AS ns,
       -- + 0.0, because -0.0 looks like a drift.
       iif(clock_id = 9, NULL,
           round(1e6 * (total(advance) - total(gap)) / nullif(total(gap), 0), 3) + 0.0) AS drift_ppm,
       step.ns AS max_step_ns,
       count(iif(advance < 0, 1, NULL)) AS steps_back,
       max(gap) AS max_gap
FROM reading
LEFT JOIN step USING (machine_id, clock_id, seq_id, file)
GROUP BY machine_id, clock_id, seq_id, file;

-- The problem of a clock, or NULL.
CREATE TEMP TABLE doubt AS
SELECT clock, c.machine_id, c.clock_id, c.seq_id, c.file, packets,
       CASE
         WHEN NOT is_monotonic THEN 'it went back' || coalesce(printf(' (%d×)', nullif(steps_back, 0)), '')
              || ': nothing is converted from it'
         WHEN path IS NULL AND (c.machine_id, c.clock_id, c.seq_id, c.file) NOT IN (
           SELECT machine_id, clock_id, seq_id, file FROM clock_route
           WHERE to_clock_id = (SELECT value FROM fact WHERE name = 'trace_time_clock_id')
         ) THEN 'no chain of snapshots leads from it to trace time'
         WHEN c.clock_id = 9 THEN 'it counts ticks of the processor, which are no nanoseconds'
         WHEN c.clock_id IN (2, 4) THEN 'it stands still between two ticks of the kernel: '
              || printf('%.3f ms', abs(max_step_ns) / 1e6) || ' off from one snapshot to another'
         WHEN abs(max_step_ns) >= 1000000 THEN 'it went ' || printf('%.3f ms ', abs(max_step_ns) / 1e6)
              || iif(max_step_ns < 0, 'less', 'more') || ' than trace time between two snapshots: it was set, or stood still'
       END AS why
FROM clock_record AS c
JOIN clock_label USING (machine_id, clock_id, seq_id, file)
LEFT JOIN kept USING (machine_id, clock_id, seq_id, file);

-- # Not to be trusted
-- Clocks with wrong or missing times, and the number of packets with such times. All other
-- clocks kept to trace time within a millisecond from each snapshot to the next.
SELECT clock, packets, why
FROM (
  SELECT * FROM doubt WHERE why IS NOT NULL
  UNION ALL
  SELECT 'none', NULL, NULL, NULL, NULL, NULL, 'all clocks kept to trace time'
  WHERE NOT EXISTS (SELECT * FROM doubt WHERE why IS NOT NULL)
)
ORDER BY packets DESC, machine_id, clock_id, seq_id, file;

-- # Clocks
-- timebase converts nothing from a clock that went backwards, nor from a clock
-- without a path.
SELECT clock,
       snapshots,
       packets,
       iif(is_monotonic, 'no', 'yes') AS went_back,
       hops,
       path
FROM clock_record JOIN clock_label USING (machine_id, clock_id, seq_id, file)
ORDER BY machine_id, clock_id, seq_id, file;

-- # Drift and steps against trace time
-- drift_ppm says how much faster the clock ran between its first and last snapshot, in
-- parts per million. A step is the difference to trace time between two neighbouring
-- snapshots: a few ns come from the reading itself, milliseconds are normal for coarse
-- clocks, and for other clocks somebody set the clock. TSC (clock 9) counts ticks of the
-- processor, not ns.
SELECT clock,
       readings,
       round(ns / 1e9, 3) AS over_s,
       drift_ppm,
       max_step_ns,
       steps_back,
       round(max_gap / 1e9, 3) AS max_gap_s
FROM kept
JOIN clock_label USING (machine_id, clock_id, seq_id, file)
ORDER BY machine_id, clock_id, seq_id, file;

-- # Coverage by snapshots
-- Before the first snapshot (before_s) and after the last (after_s), conversions
-- extrapolate. Within a gap, a step only shows at its end.
SELECT count(*) AS snapshots,
       (SELECT value FROM stats WHERE name = 'snapshots_rejected') AS rejected,
       min(ts) AS first_ts,
       round((max(ts) - min(ts)) / 1e9, 3) AS over_s,
       round(max(gap) / 1e9, 3) AS max_gap_s,
       round((min(ts) - (SELECT start_ts FROM trace_bounds)) / 1e9, 3) AS before_s,
       round(((SELECT end_ts FROM trace_bounds) - max(ts)) / 1e9, 3) AS after_s
FROM (
  SELECT ts, ts - lag(ts) OVER (ORDER BY ts) AS gap
  FROM (SELECT snapshot_id, min(ts) AS ts FROM taken GROUP BY snapshot_id)
)
-- A JSON trace has no snapshots.
HAVING count(*) > 0 OR EXISTS (SELECT * FROM trace_file WHERE trace_type = 'proto');

-- # Rejected snapshots
-- timebase rejects such a snapshot completely, so it changes nothing.
SELECT code, count(*) AS snapshots, min(packet_id) AS first_packet, message AS first_message
FROM import_log
WHERE code LIKE 'snapshot\_%' ESCAPE '\'
GROUP BY code
ORDER BY snapshots DESC, code;
