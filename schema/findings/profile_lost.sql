-- A profile lacks samples or allocations
-- The profiler says that it lost or skipped samples, that it stopped, or that heapprofd's buffers were corrupted or too small.
-- Severity: warning.
SELECT 'warning' AS severity, iif(kind = 'heap', 'heap profile', 'samples')
         || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, nullif(count, 0) AS events, NULL AS worst_ns,
       iif(kind = 'heap', printf('heapprofd lost allocations in %,d dump%s: stats has the reasons by process (heapprofd_*).', places, iif(places = 1, '', 's')),
           printf('The profiler lost or skipped %,d sample%s, in %,d report%s: stats has the reasons (perf_*).',
                  count, iif(count = 1, '', 's'), places, iif(places = 1, '', 's'))) AS message,
       iif(kind = 'heap', 'Make the buffer of heapprofd larger (shmem_size_bytes), sample less often (sampling_interval_bytes), or profile fewer processes.',
           'Sample less often (PerfEventConfig.timebase), profile fewer processes, or make the buffers larger (ring_buffer_pages).') AS advice
FROM (
  SELECT l.kind, l.machine_id, p.trace_file_id AS file, min(l.packet_id) AS packet_id, count(*) AS places,
         CAST(total(l.count) AS INTEGER) AS count
  FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
  WHERE l.kind IN ('samples', 'heap')
  GROUP BY l.kind, l.machine_id, p.trace_file_id
)
