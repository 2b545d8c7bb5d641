-- The timestamps of a writer are readings of another clock
-- The events of a sequence, or the packets of one kind, lie far from all snapshots of the clock that they name. So the writer most likely
-- read another clock, and the finding names it if the timestamps fit its readings in the snapshots.
-- Severity: warning.
SELECT 'warning' AS severity,
       coalesce('sequence ' || o.seq_id, o.kind || ' packets') || iif(o.machine_id, ' of machine ' || o.machine_id, '')
         || iif(o.trace_file_id, ' in file ' || o.trace_file_id, '') AS subject, o.machine_id,
       o.clock_id, o.seq_id, o.trace_file_id AS file, o.packet_id, o.events,
       max(o.first_value - o.first_stamp, o.last_stamp - o.last_value) AS worst_ns,
       '{events} of {subject} ' || iif(o.events = 1, 'lies', 'lie') || ' up to {worst} from all snapshots of ' || o.clock || ', their clock'
         || CASE WHEN o.other IS NOT NULL THEN '; their timestamps look like readings of ' || o.other || '.'
                 WHEN o.read_as IS NOT NULL THEN '. Read as ' || o.read_as || ', the timestamps fit its readings.' ELSE '.' END AS message,
       iif(o.other IS NULL, 'Write nanoseconds of ' || o.clock || ' into TracePacket.timestamp, not another unit, and not the time since the start; or name the clock '
             || 'of the timestamps in TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id.',
           'Name the clock of the timestamps in TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id: ' || o.other_id || ' for ' || o.other
             || '. The default is BOOTTIME; or read ' || o.clock || ' for the timestamps.') AS advice
FROM (
  SELECT a.*, coalesce((SELECT c.name FROM clock_record AS c WHERE c.clock_id = a.other_id LIMIT 1), a.other_id) AS other,
         coalesce((SELECT c.name FROM clock_record AS c WHERE c.clock_id = a.clock_id LIMIT 1), 'clock ' || a.clock_id) AS clock,
         (SELECT u.column2 FROM (VALUES (1e3, 'microseconds'), (1e6, 'milliseconds'), (1e9, 'seconds')) AS u
          WHERE a.first_stamp * u.column1 > a.first_value - 3600e9 AND a.last_stamp * u.column1 < a.last_value + 3600e9) AS read_as
  FROM misread AS a
) AS o
