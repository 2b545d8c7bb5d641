-- Snapshots read the clock of trace time in another unit than nanoseconds
-- Trace time counts nanoseconds, so timebase rejects these snapshots, as trace processor does. Events on the clock have no time, or their
-- numbers count as nanoseconds; then all times and durations are wrong by the unit.
-- Severity: error.
SELECT 'error' AS severity, NULL AS subject, machine_id, clock_id, 0 AS seq_id,
       iif(trace_file_id = 0, NULL, trace_file_id) AS file, packet_id, lost + wrong AS events, NULL AS worst_ns,
       printf('%,d snapshot%s %s, the clock of trace time, in units of %,d ns, so timebase rejected %s. ', snapshots, iif(snapshots = 1, ' reads', 's read'),
              name, unit, iif(snapshots = 1, 'it', 'them'))
         || rtrim(iif(wrong > 0, printf('The timestamps of %,d event%s on %s count as nanoseconds: times and durations are wrong by the factor %,d. ', wrong,
                                        iif(wrong = 1, '', 's'), name, unit), '')
                  || iif(lost > 0, printf('%,d event%s could not be placed in time.', lost, iif(lost = 1, '', 's')), '')
                  || iif(lost + wrong = 0, 'No event needs them.', '')) AS message,
       'Write nanoseconds into ClockSnapshot.Clock.timestamp and TracePacket.timestamp of ' || name || ', and leave unit_multiplier_ns unset. '
         || 'A clock in another unit needs an id of its own in ClockSnapshot.Clock.clock_id, above 63, beside BOOTTIME in nanoseconds.' AS advice
FROM (
  SELECT r.*,
         coalesce((SELECT sum(c.packets) FROM clock_record AS c WHERE c.machine_id = r.machine_id AND c.clock_id = r.clock_id), 0)
           - (SELECT count(*) FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
              WHERE p.unresolved IS NOT NULL AND c.machine_id = r.machine_id AND c.clock_id = r.clock_id) AS wrong,
         (SELECT count(*) FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
          WHERE p.unresolved IN ('unknown_clock', 'no_target', 'no_path', 'no_base') AND c.machine_id = r.machine_id AND c.trace_file_id = r.trace_file_id)
         + (SELECT count(*) FROM android_log_record AS l CROSS JOIN packet_record AS p ON p.id = l.packet_id CROSS JOIN packet_common AS c ON c.id = p.common_id
            WHERE l.unresolved IS NOT NULL AND c.machine_id = r.machine_id AND c.trace_file_id = r.trace_file_id) AS lost
  FROM (
    SELECT l.*, coalesce(c.column1, CAST(l.name AS INTEGER)) AS clock_id
    FROM (
      -- The message: ... clock REALTIME is trace time, and its unit is 1000 ns, ...
      SELECT machine_id, trace_file_id, min(packet_id) AS packet_id, count(*) AS snapshots,
             CAST(substr(message, instr(message, ' its unit is ') + 13) AS INTEGER) AS unit, substr(clock, 1, instr(clock, ' ') - 1) AS name
      FROM (SELECT *, substr(message, instr(message, ': clock ') + 8) AS clock FROM import_log WHERE code = 'snapshot_trace_time_unit')
      GROUP BY 1, 2, 5, 6
    ) AS l
    LEFT JOIN (VALUES (1, 'REALTIME'), (2, 'REALTIME_COARSE'), (3, 'MONOTONIC'), (4, 'MONOTONIC_COARSE'), (5, 'MONOTONIC_RAW'), (6, 'BOOTTIME'),
                      (9, 'TSC'), (10, 'PERF')) AS c ON c.column2 = l.name
  ) AS r
)
