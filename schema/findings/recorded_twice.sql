-- Two files have the kernel events of one machine at the same time
-- Two recordings of a machine ran at once, or the files are of two machines that no manifest names. What a CPU did in this time is in the
-- database twice: sums of CPU time and counts of events are too large.
-- Severity: warning.
SELECT 'warning' AS severity, 'files ' || o.one || ' and ' || o.other || iif(o.machine_id, ' of machine ' || o.machine_id, '') AS subject, o.machine_id,
       NULL AS clock_id, NULL AS seq_id, o.other AS file, o.packet_id, NULL AS events, o.end_ts - o.start_ts AS worst_ns,
       printf('The files %s and %s both have kernel events of %,d CPU%s of one machine from %d to %d ns, for {worst}. This time is in the database twice.',
              coalesce((SELECT name FROM trace_file WHERE id = o.one), o.one), coalesce((SELECT name FROM trace_file WHERE id = o.other), o.other), o.cpus,
              iif(o.cpus = 1, '', 's'), o.start_ts, o.end_ts) AS message,
       'Import one of the two files; or, if they are of two machines, name these in a manifest (files[].machine).' AS advice
FROM (
  SELECT a.machine_id, a.trace_file_id AS one, b.trace_file_id AS other, min(max(a.first_ts, b.first_ts)) AS start_ts,
         max(min(a.last_ts, b.last_ts)) AS end_ts, count(*) AS cpus, min(b.first_packet_id) AS packet_id
  FROM ftrace_cpu AS a CROSS JOIN ftrace_cpu AS b
    ON b.machine_id = a.machine_id AND b.ucpu = a.ucpu AND b.trace_file_id > a.trace_file_id
  WHERE min(a.last_ts, b.last_ts) - max(a.first_ts, b.first_ts) > 1000000
  GROUP BY 1, 2, 3
) AS o
