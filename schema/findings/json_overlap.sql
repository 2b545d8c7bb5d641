-- Slices of one thread in a JSON trace overlap
-- A thread does one thing at a time, so its slices nest. A complete event that begins inside another one and ends after it is on an overflow
-- lane: a track of type `thread_overlapping_slice`. Nothing is lost, but its parent is unknown.
-- Severity: info.
SELECT 'info' AS severity, coalesce(t.name, 'thread') || coalesce(' (' || t.tid || ')', '') AS subject, k.machine_id, NULL AS clock_id, NULL AS seq_id, k.trace_file_id AS file,
       s.packet_id, k.slices AS events, NULL AS worst_ns,
       printf('%,d complete event%s of the thread begin%s inside another one and end%s after it', k.slices, iif(k.slices = 1, '', 's'), iif(k.slices = 1, 's', ''), iif(k.slices = 1, 's', ''))
         || ', so ' || iif(k.slices = 1, 'its slice is', 'their slices are') || iif(k.lanes = 1, ' on an overflow lane', printf(' on %,d overflow lanes', k.lanes)) || '. '
         || iif(k.slices = 1, 'It is ', 'The first is ') || coalesce('''' || (SELECT value FROM string WHERE id = s.name) || '''', 'without a name') || ', at ' || s.ts || ' ns.' AS message,
       'Write work that overlaps as async events (phases b and e with an id), or with a tid for each that runs at one time.' AS advice
FROM (
  SELECT r.utid, r.machine_id, r.trace_file_id, count(DISTINCT r.id) AS lanes, count(*) AS slices, min(s.id) AS first
  FROM track_record AS r CROSS JOIN slice_record AS s ON s.track_id = r.id
  WHERE r.type = 'thread_overlapping_slice'
  GROUP BY r.utid
) AS k
JOIN slice_record AS s ON s.id = k.first
LEFT JOIN thread_record AS t ON t.id = k.utid
