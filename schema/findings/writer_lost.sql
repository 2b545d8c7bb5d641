-- Writers lost packets, and why
-- The recorder says why packets of writers are missing, or that it did not get the last ones, or that it refused some.
-- Severity: warning.
SELECT 'warning' AS severity, iif(writers = 1, 'sequence ' || seq, iif(writers, printf('%,d sequences', writers), 'writers'))
         || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, iif(writers = 1, seq, NULL) AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
       'The trace lacks data of its writers: ' || said || '.' AS message, advice
FROM (
  SELECT l.*,
         (SELECT group_concat(said, ', ') FROM (SELECT printf('%,d %s', t.value, t.words) AS said FROM (
            SELECT place, words, total(value) AS value FROM told
            WHERE kind = 'writer' AND machine_id = l.machine_id AND trace_file_id = l.file GROUP BY place) AS t ORDER BY t.place)) AS said,
         (SELECT group_concat(advice, ' ') FROM (SELECT DISTINCT t.advice FROM told AS t
            WHERE t.kind = 'writer' AND t.machine_id = l.machine_id AND t.trace_file_id = l.file ORDER BY t.place)) AS advice
  FROM (
    SELECT l.machine_id, p.trace_file_id AS file, min(l.packet_id) AS packet_id, count(DISTINCT l.seq_id) AS writers, min(l.seq_id) AS seq
    FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
    WHERE l.kind = 'writer'
    GROUP BY l.machine_id, p.trace_file_id
  ) AS l
)
-- If no packet of a writer is readable, another check reports it.
WHERE said IS NOT NULL
