-- Flows between two clocks have no end
-- The events of a flow on two machines or files are related, but nothing says which of them came first. So these flows do not tell how the clocks
-- relate, which nothing measured.
-- Severity: info.
SELECT 'info' AS severity, a || ' and ' || b AS subject, machine_b AS machine_id, clock_b AS clock_id, NULL AS seq_id, file_b AS file,
       NULL AS packet_id, undirected AS events, NULL AS worst_ns,
       printf('%,d flow%s between ', undirected, iif(undirected = 1, '', 's')) || a || ' and ' || b || iif(undirected = 1, ' has', ' have')
         || ' no end, so the import cannot relate the clocks by ' || iif(undirected = 1, 'it.', 'them.') AS message,
       'End each flow where its message arrives: terminating_flow_ids instead of flow_ids (TrackEvent), in the SDK TerminatingFlow instead of Flow.' AS advice
FROM (
  SELECT *, iif(file_a IS NULL, 'machine ' || machine_a, 'file ' || file_a) AS a, iif(file_b IS NULL, 'machine ' || machine_b, 'file ' || file_b) AS b
  FROM clock_alignment
  WHERE undirected > 0 AND relation IS NOT 'measured'
)
