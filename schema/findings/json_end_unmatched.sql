-- Ends in a JSON trace name no open slice
-- An E with a name ends the innermost open slice of this name. If none is open, but others are, its B has another name or is on another
-- thread. The slices that it was to end stay open, and all later ones of the thread are inside them.
-- Severity: warning.
SELECT 'warning' AS severity, 'events' || iif(file > 0, ' in file ' || file, '') AS subject, machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, events,
       NULL AS worst_ns,
       '{events} of phase E name' || iif(events = 1, 's', '') || ' no open slice, although others are open. '
         || iif(events = 1, 'It is ', 'The first is ') || coalesce('''' || name || '''', 'without a name')
         || coalesce(' on thread ' || tid, '') || coalesce(' of process ' || pid, '') || ', at ' || ts || ' ns. '
         || CASE open WHEN 0 THEN 'All slices of the trace have an end.' WHEN 1 THEN '1 slice of the trace never ends.'
              ELSE printf('%,d slices of the trace never end.', open) END AS message,
       'Write the same name, pid and tid into the E as into its B, or no name into any E.' AS advice
FROM (
  SELECT f.events, f.packet_id, f.ts, f.name, f.pid, f.tid, c.machine_id, c.trace_file_id AS file,
         (SELECT count(*) FROM unended_slice AS u WHERE u.named_ends) AS open
  FROM event_fault AS f JOIN packet_record AS r ON r.id = f.packet_id JOIN packet_common AS c ON c.id = r.common_id
  WHERE f.effect = 'unmatched' AND f.cause = 'no_open_slice'
)
