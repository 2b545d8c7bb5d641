-- Some CPUs lack the start of the trace
-- Each CPU has a buffer of its own, and a full one drops its oldest events. Until all CPUs have events, a thread may have run, or a slice
-- may have ended, on a CPU without events. The column `doubt` marks states and slices of kernel events from that time.
-- Severity: info.
SELECT 'info' AS severity, 'CPUs' || iif(m.machine_id, ' of machine ' || m.machine_id, '') || iif(m.trace_file_id, ' in file ' || m.trace_file_id, '') AS subject, m.machine_id,
       NULL AS clock_id, NULL AS seq_id, m.trace_file_id AS file, m.packet_id, m.slices + m.states AS events, m.complete_ts - m.start_ts AS worst_ns,
       iif(m.complete_ts > m.start_ts,
           printf('Not all CPUs have events from %d to %d ns, for {worst}.', m.start_ts, m.complete_ts),
           'The first event of a CPU is of a thread with a slice that began before and never ended: its end was most likely dropped.')
         || iif(m.slices + m.states > 0, ' Rows that may be wrong: ' || iif(m.slices > 0, printf('%,d slice%s', m.slices, iif(m.slices = 1, '', 's')), '')
                || iif(m.slices > 0 AND m.states > 0, ', ', '') || iif(m.states > 0, printf('%,d thread state%s', m.states, iif(m.states = 1, '', 's')), '') || '.', '') AS message,
       'Leave out what begins before that time (WHERE doubt IS NULL), or make the kernel''s buffers (FtraceConfig.buffer_size_kb) and the recorder''s (BufferConfig.size_kb) larger.' AS advice
FROM (
  SELECT c.machine_id, c.trace_file_id, c.start_ts, c.complete_ts, c.packet_id,
         (SELECT count(*) FROM slice_record AS s JOIN track_record AS t ON t.id = s.track_id
          WHERE s.doubt = 7 AND t.machine_id = c.machine_id AND t.trace_file_id = c.trace_file_id
            AND (SELECT max(value) FROM stats WHERE name = 'slices_doubtful') > 0) AS slices,
         CAST((SELECT total(after IS NOT NULL AND r.doubt >> 6 & 7 = 7) + total(runnable IS NOT NULL AND r.doubt >> 9 = 7) FROM sched_record AS r
               WHERE r.ts BETWEEN c.start_ts AND c.complete_ts AND r.doubt IS NOT NULL AND r.ucpu / 4096 = c.machine_id
                 AND (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0) AS INTEGER)
         + (SELECT count(*) FROM thread_state_record AS r JOIN thread_record AS t ON t.id = r.utid
            WHERE r.doubt = 7 AND r.ts BETWEEN c.start_ts AND c.complete_ts AND t.machine_id = c.machine_id
              AND (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0) AS states
  FROM (
    SELECT b.machine_id, b.trace_file_id, min(b.first_ts) AS start_ts, min(b.first_packet_id) AS packet_id,
           max(min(b.first_ts),
               coalesce(max(iif(NOT b.is_first_idle AND (b.is_cut OR EXISTS (
                 SELECT * FROM stats AS s WHERE s.name = 'traced_buf_chunks_overwritten' AND s.trace_file_id = b.trace_file_id AND s.value > 0)), b.first_ts, NULL)),
                 min(b.first_ts)),
               coalesce((SELECT max(f.value) FROM fact AS f
                         WHERE f.name = 'ftrace_latest_data_start_ns' AND f.machine_id = b.machine_id AND f.file = b.trace_file_id), min(b.first_ts))) AS complete_ts
    FROM ftrace_cpu AS b
    GROUP BY b.machine_id, b.trace_file_id
  ) AS c
) AS m
WHERE m.complete_ts > m.start_ts OR m.slices > 0
