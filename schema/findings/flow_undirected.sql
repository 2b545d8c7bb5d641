-- Nothing tells the send from the arrival, between two clocks
-- Events on two machines or files belong together, but they are no messages: flows have no end, or ids have several sends and arrivals that do
-- not pair up, or nothing tells the collectives of ranks apart. So they do not tell how the clocks relate, which nothing measured.
-- Severity: info.
SELECT 'info' AS severity, a || ' and ' || b AS subject, machine_b AS machine_id, clock_b AS clock_id, NULL AS seq_id, file_b AS file,
       NULL AS packet_id, iif(undirected > 0, undirected, unpaired) AS events, NULL AS worst_ns,
       iif(undirected > 0, printf('%,d flow%s between ', undirected, iif(undirected = 1, '', 's')) || a || ' and ' || b || iif(undirected = 1, ' has no end', ' have no end'),
           printf('%,d %s%s of ', unpaired, iif(is_collective, 'collective', 'flow id'), iif(unpaired = 1, '', 's')) || a || ' and ' || b
             || iif(unpaired = 1, ' does', ' do') || ' not pair up')
         || ', so the import cannot relate the clocks by ' || iif(iif(undirected > 0, undirected, unpaired) = 1, 'it.', 'them.') AS message,
       CASE
         WHEN undirected > 0 AND is_json THEN 'End each flow where its message arrives: an event with "ph": "f" instead of "t".'
         WHEN undirected > 0 THEN 'End each flow where its message arrives: terminating_flow_ids instead of flow_ids (TrackEvent), in the SDK TerminatingFlow instead of Flow.'
         WHEN is_collective THEN 'Record with a PyTorch that numbers the collectives of each process group (Seq), or let the profiler write its steps: pass it a schedule, and call step().'
         ELSE 'Give each message an id of its own, also each answer, with one event where it is sent and one where it arrives.'
       END AS advice
FROM (
  SELECT *, iif(file_a IS NULL, 'machine ' || machine_a, 'file ' || file_a) AS a, iif(file_b IS NULL, 'machine ' || machine_b, 'file ' || file_b) AS b,
         clock_b = 11 AS is_json, instr(evidence, 'collectives') > 0 AS is_collective
  FROM clock_alignment
  WHERE (undirected > 0 OR unpaired > messages_ab + messages_ba) AND relation IS NOT 'measured'
)
