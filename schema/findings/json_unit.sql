-- Times of a JSON trace have another unit than microseconds
-- Chrome's format counts ts and dur in microseconds. Read so, these times are years after the zero of a clock that counts since a boot, or most
-- durations are below a nanosecond. The check looks at the first thousand events of a file.
-- Severity: warning.
SELECT 'warning' AS severity, iif(file, 'file ' || file, 'trace') AS subject, machine_id, 11 AS clock_id, 0 AS seq_id, file, packet_id, events, NULL AS worst_ns,
       coalesce(upper(substr(durations, 1, 1)) || substr(durations, 2) || '.',
         'The times are ' || printf('%.1f years', first_ts / 31557600e9) || ' after the zero of the clock, as microseconds. As nanoseconds, they are '
           || printf('%.1f hours', first_ts / 3600e12) || ' after it.') AS message,
       'Write ts and dur in microseconds, with decimals for nanoseconds; displayTimeUnit does not change them.' AS advice
FROM (
  SELECT f.id AS file, c.machine_id, min(r.id) AS packet_id, count(*) AS events, min(r.ts) AS first_ts,
         (SELECT message FROM import_log AS l WHERE l.code = 'json_unit' AND l.trace_file_id = f.id) AS durations
  FROM trace_file AS f CROSS JOIN packet_common AS c ON c.trace_file_id = f.id AND c.type = 'json_event' CROSS JOIN packet_record AS r ON r.id >= c.first_id AND r.id < c.first_id + 1000
  WHERE f.trace_type = 'json' AND +r.common_id = c.id AND +r.ts > 0
  GROUP BY file, machine_id
)
-- Three years of uptime; times since 1970 are readings of another clock.
WHERE durations IS NOT NULL OR first_ts BETWEEN 94608000000000000 AND 946684799999999999
