-- A few events are far from all others
-- Some slices or values lie more than an hour, and ten times the time of all others, before or after the rest. Their timestamps are most
-- likely wrong: forgotten, relative, or in another unit. `trace_bounds` has the time without them, which reports draw.
-- Severity: warning.
SELECT 'warning' AS severity, 'machine ' || o.machine_id AS subject, o.machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file,
       o.packet_id, o.times AS events, o.away AS worst_ns,
       printf('%,d start%s, end%s or value%s of events %s up to {worst} %s all others, the first at %d ns', o.times, iif(o.times = 1, '', 's'), iif(o.times = 1, '', 's'),
              iif(o.times = 1, '', 's'), iif(o.times = 1, 'lies', 'lie'), iif(o.is_before, 'before', 'after'), o.start_ts)
         || coalesce(': slice "' || (SELECT s.value FROM slice_record AS r JOIN string AS s ON s.id = r.name WHERE r.id = o.slice_id) || '"', '')
         || coalesce(' of thread ' || (SELECT coalesce(t.name || ' ', '') || t.tid FROM slice_record AS r JOIN track_record AS k ON k.id = r.track_id
                                       JOIN thread_record AS t ON t.id = k.utid WHERE r.id = o.slice_id), '') || '.' AS message,
       iif((SELECT trace_type FROM trace_file AS f JOIN packet_record AS r JOIN packet_common AS d ON d.id = r.common_id WHERE r.id = o.packet_id AND f.id = d.trace_file_id) = 'json',
           'Write into ts of each event when it happened, in microseconds of one clock, not 0.',
           'Set TracePacket.timestamp of each event to a reading of its clock (TracePacket.timestamp_clock_id), in nanoseconds, not to 0 or the time since the start.') AS advice
FROM (
  SELECT g.machine_id, g.is_before, sum(g.times) AS times, min(g.start_ts) AS start_ts,
         max(g.home_start_ts - g.start_ts, g.end_ts - g.home_end_ts) AS away,
         (SELECT r.packet_id FROM slice_record AS r JOIN track_record AS k ON k.id = r.track_id
          WHERE r.ts BETWEEN g.start_ts AND g.end_ts AND k.machine_id = g.machine_id ORDER BY r.ts LIMIT 1) AS packet_id,
         (SELECT r.id FROM slice_record AS r JOIN track_record AS k ON k.id = r.track_id
          WHERE r.ts BETWEEN g.start_ts AND g.end_ts AND k.machine_id = g.machine_id ORDER BY r.ts LIMIT 1) AS slice_id
  FROM time_outlier AS g
  -- If their writer reads another clock, another check says so.
  WHERE NOT EXISTS (SELECT * FROM misread AS m WHERE m.machine_id = g.machine_id AND m.first_ts <= g.end_ts AND m.last_ts >= g.start_ts)
  GROUP BY g.machine_id, g.is_before
) AS o
