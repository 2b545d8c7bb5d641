-- A JSON trace has times of two clocks
-- Some events have microseconds since 1970, others a time since a boot or a start. Nothing tells how far apart the clocks are, so the events
-- do not line up. The check looks at slices.
-- Severity: warning.
SELECT 'warning' AS severity, iif(file, 'file ' || file, 'trace') AS subject, machine_id, 11 AS clock_id, 0 AS seq_id, file, s.packet_id, min(unix, other) AS events,
       NULL AS worst_ns,
       printf('%,d slice%s microseconds since 1970, and %,d a time of %.1f hours and more. The first of the %s is ', unix, iif(unix = 1, ' has', 's have'),
              other, other_ts / 3600e9, iif(unix <= other, 'former', 'latter'))
         || coalesce('''' || (SELECT value FROM string WHERE id = s.name) || '''', 'without a name') || ', at ' || s.ts || ' ns.' AS message,
       'Write all events of a file on one clock, or each clock into a file of its own: an import of several files places each by its clock.' AS advice
FROM (
  SELECT file, machine_id, total(is_unix) AS unix, total(NOT is_unix) AS other, min(iif(is_unix, NULL, ts)) AS other_ts,
         min(iif(is_unix, id, NULL)) AS first_unix, min(iif(is_unix, NULL, id)) AS first_other
  FROM (
    SELECT k.trace_file_id AS file, k.machine_id, s.ts >= 946684800000000000 AS is_unix, s.id, s.ts
    FROM trace_file AS f CROSS JOIN track_record AS k ON k.trace_file_id = f.id CROSS JOIN slice_record AS s ON s.track_id = k.id
    WHERE f.trace_type = 'json' AND s.ts > 0 AND (SELECT max(ts) FROM slice_record) >= 946684800000000000
      AND (SELECT min(ts) FROM slice_record WHERE ts > 0) < 946684800000000000
  )
  GROUP BY file, machine_id
) AS c
-- The fewer are described.
JOIN slice_record AS s ON s.id = iif(unix <= other, first_unix, first_other)
WHERE unix > 0 AND other > 0
