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
         || iif(o.other IS NULL, '.', '; their timestamps look like readings of ' || o.other || '.') AS message,
       'Name the clock of the timestamps in TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id'
         || iif(o.other IS NULL, '', ': ' || o.other_id || ' for ' || o.other) || '. The default is BOOTTIME; or read ' || o.clock || ' for the timestamps.' AS advice
FROM (
  SELECT a.*, coalesce((SELECT c.name FROM clock_record AS c WHERE c.clock_id = a.other_id LIMIT 1), a.other_id) AS other,
         coalesce((SELECT c.name FROM clock_record AS c WHERE c.clock_id = a.clock_id LIMIT 1), 'clock ' || a.clock_id) AS clock
  FROM misread AS a
) AS o
