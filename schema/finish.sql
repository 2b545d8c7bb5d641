-- What is added to the database when all rows are in: views.

-- One row a kernel event. The joins are outer ones so that a query that does
-- not ask for names or arguments does not look them up.
CREATE VIEW ftrace_event AS
SELECT e.id, e.ts, e.packet_id, e.cpu, e.tid, n.name, a.args,
       CASE WHEN e.ts IS NULL THEN (
         SELECT u.reason FROM ftrace_unresolved AS u
         WHERE u.first_id = (SELECT max(first_id) FROM ftrace_unresolved WHERE first_id <= e.id)
           AND e.id <= u.last_id
       ) END AS unresolved,
       coalesce(e.timestamp, e.ts) AS timestamp,
       a.common_flags
FROM ftrace_record AS e
LEFT JOIN ftrace_name AS n ON n.id = e.name_id
LEFT JOIN ftrace_args AS a ON a.id = e.args_id;

-- Kernel events that lack some of their arguments, and the thread: trace
-- processor drops them.
CREATE VIEW ftrace_event_partial AS
SELECT e.id, e.ts, e.packet_id, e.cpu, e.tid, n.name, a.args,
       CASE WHEN e.ts IS NULL THEN (
         SELECT u.reason FROM ftrace_unresolved AS u
         WHERE u.first_id = (SELECT max(first_id) FROM ftrace_unresolved WHERE first_id <= e.id)
           AND e.id <= u.last_id
       ) END AS unresolved,
       coalesce(e.timestamp, e.ts) AS timestamp,
       a.common_flags
FROM ftrace_partial AS e
LEFT JOIN ftrace_name AS n ON n.id = e.name_id
LEFT JOIN ftrace_args AS a ON a.id = e.args_id;

-- The clock graph, solved: clock_step with NULL where a step has no start.
CREATE VIEW clock_mapping AS
SELECT machine_id,
       clock_id,
       seq_id,
       nullif(start_value, -9223372036854775808) AS start_value,
       end_value,
       to_clock_id,
       offset
FROM clock_step;

-- The packets that a later snapshot places elsewhere than those that were seen
-- when they were read. resync_ts is NULL where they cannot be placed any more,
-- because a clock went backwards later.
CREATE VIEW packet_resync AS
SELECT id, ts, resync_ts, resync_ts - ts AS difference, timestamp, clock_id, clock_ts, seq_id,
       machine_id, type
FROM (
  SELECT p.*,
         p.clock_ts * c.unit_multiplier_ns + (
           SELECT s.offset
           FROM clock_step AS s
           WHERE s.machine_id = c.machine_id AND s.clock_id = c.clock_id AND s.seq_id = c.seq_id
             AND s.to_clock_id = (SELECT value FROM metadata WHERE name = 'trace_time_clock_id')
             AND s.start_value <= p.clock_ts * c.unit_multiplier_ns
           ORDER BY s.start_value DESC
           LIMIT 1
         ) AS resync_ts
  FROM packet AS p
  JOIN clock AS c
    ON c.machine_id = p.machine_id AND c.clock_id = p.clock_id
   AND c.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END
  WHERE p.ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
)
WHERE resync_ts IS NOT ts;

-- The SQL functions answer from clock_snapshot. They see by this number that
-- it has changed. It is random, so that a change after a rollback cannot be
-- taken for the one that was rolled back.
INSERT INTO metadata (name, value) VALUES ('clock_snapshot_version', random());
CREATE TRIGGER clock_snapshot_inserted AFTER INSERT ON clock_snapshot BEGIN
  UPDATE metadata SET value = random() WHERE name = 'clock_snapshot_version';
END;
CREATE TRIGGER clock_snapshot_updated AFTER UPDATE ON clock_snapshot BEGIN
  UPDATE metadata SET value = random() WHERE name = 'clock_snapshot_version';
END;
CREATE TRIGGER clock_snapshot_deleted AFTER DELETE ON clock_snapshot BEGIN
  UPDATE metadata SET value = random() WHERE name = 'clock_snapshot_version';
END;
