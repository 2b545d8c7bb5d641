-- Two files have the same events of one machine
-- A file was given twice; or two recordings of a machine ran at once, or the files are of two machines that no manifest names. What a CPU did
-- in this time is in the database twice: sums of CPU time and counts of events are too large.
-- Severity: warning.
SELECT 'warning' AS severity, 'files ' || o.one || ' and ' || o.other || iif(o.machine_id, ' of machine ' || o.machine_id, '') AS subject, o.machine_id,
       NULL AS clock_id, NULL AS seq_id, o.other AS file, o.packet_id, NULL AS events, o.end_ts - o.start_ts AS worst_ns,
       printf('The files %s and %s ', coalesce((SELECT name FROM trace_file WHERE id = o.one), o.one), coalesce((SELECT name FROM trace_file WHERE id = o.other), o.other))
         || iif(o.cpus IS NULL, 'hold the same bytes. Each of their events is in the database twice.',
                printf('both have kernel events of %,d CPU%s of one machine from %d to %d ns, for {worst}. This time is in the database twice.',
                       o.cpus, iif(o.cpus = 1, '', 's'), o.start_ts, o.end_ts)) AS message,
       'Import one of the two files; or, if they are of two machines, name these in a manifest (files[].machine).' AS advice
FROM (
  SELECT a.machine_id, a.trace_file_id AS one, b.trace_file_id AS other, min(max(a.first_ts, b.first_ts)) AS start_ts,
         max(min(a.last_ts, b.last_ts)) AS end_ts, count(*) AS cpus, min(b.first_packet_id) AS packet_id
  FROM ftrace_cpu AS a CROSS JOIN ftrace_cpu AS b
    ON b.machine_id = a.machine_id AND b.ucpu = a.ucpu AND b.trace_file_id > a.trace_file_id
  WHERE min(a.last_ts, b.last_ts) - max(a.first_ts, b.first_ts) > 1000000
    AND NOT coalesce((SELECT sha256 FROM trace_file WHERE id = a.trace_file_id) = (SELECT sha256 FROM trace_file WHERE id = b.trace_file_id), 0)
  GROUP BY 1, 2, 3
  UNION ALL
  SELECT q.machine_id, f.id, g.id, NULL, NULL, NULL, NULL
  FROM trace_file AS f CROSS JOIN trace_file AS g ON g.sha256 = f.sha256 AND g.id > f.id
  CROSS JOIN part AS p ON p.trace_file_id = f.id
  CROSS JOIN part AS q ON q.trace_file_id = g.id AND q.machine_id = p.machine_id
  WHERE f.id = (SELECT min(id) FROM trace_file WHERE sha256 = f.sha256)
) AS o
