-- Unplaced: events without a known time, the reasons, and the remedies.
--
--   timebase query TRACE-or-DB --report unplaced
--
-- column what : a kind of events
-- column rows : the number of events
-- column placed : the number of events with a time
-- column without_time : the number of events that carry no timestamp
-- column unplaced, unplaced_pct : the number of events with a timestamp, but without a known time, and its share
-- column reason : the reason for the unknown times
-- column first_id, last_id : the ids of the first event and the last one
-- column meaning, what_to_do : the reason in a sentence, and the remedy
-- column times : the number of messages with this code
-- column first_packet, first_offset : the packet and the byte of the first message
-- column example : the text of the first message

-- The clock is the one that gave the timestamp, as its file means it: for kernel events
-- the clock of their bundle, for log lines REALTIME.
-- CROSS JOIN and the + make SQLite go through the ranges and find their events by id;
-- by ts it would read all of them for each range.
CREATE TEMP VIEW unplaced AS
SELECT 'packet' AS what, id, unresolved AS reason, machine_id, trace_file_id, clock_id, seq_id
FROM packet WHERE unresolved IS NOT NULL
UNION ALL
SELECT 'kernel event', e.id, u.reason, p.machine_id, p.trace_file_id, u.clock_id, p.seq_id
FROM ftrace_unresolved AS u
CROSS JOIN ftrace_record AS e ON e.id BETWEEN u.first_id AND u.last_id AND +e.ts IS NULL
JOIN packet AS p ON p.id = e.packet_id
UNION ALL
SELECT 'partial kernel event', e.id, u.reason, p.machine_id, p.trace_file_id, u.clock_id, p.seq_id
FROM ftrace_unresolved AS u
CROSS JOIN ftrace_partial AS e ON e.id BETWEEN u.first_id AND u.last_id AND +e.ts IS NULL
JOIN packet AS p ON p.id = e.packet_id
UNION ALL
SELECT 'log line', l.id, l.unresolved, p.machine_id, p.trace_file_id, 1, p.seq_id
FROM android_logs AS l JOIN packet AS p ON p.id = l.packet_id
WHERE l.unresolved IS NOT NULL;

-- # How much is on trace time
-- without_time counts rows that never had a timestamp; nothing is missing.
SELECT what, counted AS "rows", placed, counted - placed - unplaced AS without_time, unplaced,
       round(100.0 * unplaced / nullif(counted, 0), 3) AS unplaced_pct
FROM (
  SELECT 'packet' AS what,
         (SELECT count(*) FROM packet) AS counted,
         (SELECT count(*) FROM packet WHERE ts IS NOT NULL) AS placed,
         (SELECT count(*) FROM packet WHERE unresolved IS NOT NULL) AS unplaced
  UNION ALL
  SELECT 'kernel event',
         (SELECT count(*) FROM ftrace_record),
         (SELECT count(*) FROM ftrace_record WHERE ts IS NOT NULL),
         (SELECT count(*) FROM unplaced WHERE what = 'kernel event')
  UNION ALL
  SELECT 'partial kernel event',
         (SELECT count(*) FROM ftrace_partial),
         (SELECT count(*) FROM ftrace_partial WHERE ts IS NOT NULL),
         (SELECT count(*) FROM unplaced WHERE what = 'partial kernel event')
  UNION ALL
  SELECT 'log line',
         (SELECT count(*) FROM android_logs),
         (SELECT count(*) FROM android_logs WHERE ts IS NOT NULL),
         (SELECT count(*) FROM android_logs WHERE unresolved IS NOT NULL)
);

-- # What could not be placed
-- The ids refer to the tables packet, ftrace_event, ftrace_event_partial and
-- android_logs.
SELECT u.what,
       u.reason,
       coalesce((SELECT c.name FROM clock AS c WHERE c.clock_id = u.clock_id AND c.name IS NOT NULL LIMIT 1),
                CAST(u.clock_id AS TEXT))
         || iif(u.machine_id, ' of machine ' || u.machine_id, '')
         || iif(u.trace_file_id, ' in file ' || u.trace_file_id, '') AS clock,
       u.seq_id,
       count(*) AS "rows",
       min(u.id) AS first_id,
       max(u.id) AS last_id
FROM unplaced AS u
GROUP BY u.what, u.reason, u.machine_id, u.trace_file_id, u.clock_id, u.seq_id
ORDER BY "rows" DESC, u.what, u.reason, u.machine_id, u.trace_file_id, u.clock_id, u.seq_id;

-- # Why, and what to do
-- Only the reasons that occur.
WITH advice (reason, meaning, todo) AS (
  VALUES
    ('unknown_clock',
     'The clock was never in a snapshot.',
     'Let its writer emit a ClockSnapshot with this clock and a builtin one. For a clock of a sequence (64 to 127), the snapshot must be on the same sequence.'),
    ('no_target',
     'No snapshot has the clock of trace time.',
     'Keep the clock snapshots of the tracing service on (builtin_data_sources), or ask convert_clock for a clock that the trace has.'),
    ('no_path',
     'No chain of snapshots leads from the clock to trace time.',
     'Put the clock into a snapshot with a clock that has a path (table clock, column path). If nothing relates a file or machine to trace time, use a manifest (import --manifest).'),
    ('non_monotonic',
     'Every path leads through a clock that went backwards.',
     'Report clock-health names the clock. Use MONOTONIC or BOOTTIME for timestamps: REALTIME goes back when somebody sets it.'),
    ('overflow',
     'The time does not fit 64 bits.',
     'Look at the reading with packet_json. Usually it is garbage, or has another unit than its snapshots say.'),
    ('incremental_state_lost',
     'The sequence lost data that the packet needs.',
     'Use larger buffers, or let the writer clear its incremental state more often. Table sequence counts the losses.'),
    ('no_sequence_id',
     'The clock belongs to a sequence, but the packet has no sequence id.',
     'Let the writer set trusted_packet_sequence_id, or use a global clock (128 or more).'),
    ('no_base',
     'The timestamp is a delta, and no snapshot of its clock came before it.',
     'Emit the ClockSnapshot with the incremental clock before the first packet that uses it.')
)
SELECT reason, count(*) AS "rows", meaning, todo AS what_to_do
FROM unplaced LEFT JOIN advice USING (reason)
GROUP BY reason
ORDER BY "rows" DESC, reason;

-- # What the import says
SELECT severity, code, count(*) AS times, min(packet_id) AS first_packet,
       min(offset) AS first_offset, message AS example
FROM import_log
GROUP BY severity, code
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, times DESC, code;
