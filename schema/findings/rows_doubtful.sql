-- Rows of sched, thread_state or slice may be wrong
-- The trace contradicts these rows: a switch, a wake-up or a packet is missing, and the events that remain may give a wrong picture. The
-- column `doubt` says why, and reports leave these rows out.
-- Severity: warning, info if it only concerns preempted threads that were woken again.
SELECT iif(sure > 0, 'warning', 'info') AS severity, 'rows' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
       -1 AS file, NULL AS packet_id, NULL AS events, NULL AS worst_ns,
       'Of ' || said || ' may be wrong, as column doubt says.' AS message,
       'Leave them out (WHERE doubt IS NULL), as reports do; ''timebase help doubt'' explains each word. '
         || iif(kernel, 'Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb) for sched_switch and sched_waking, and read them more often (FtraceConfig.drain_period_ms).', '')
         || iif(kernel AND writers, ' ', '')
         || iif(writers, 'Make the buffer larger (BufferConfig.size_kb), or the shared memory of the producer (ProducerConfig.shm_size_kb).', '') AS advice
FROM (
  SELECT total(sure) AS sure, max(place < 3) AS kernel, max(place = 3) AS writers,
         group_concat(printf('%,d %s %,d', "rows", words, doubtful)
           || iif(doubtful_ns > 0, printf(' (%.*f %% of their time)', iif(100 * doubtful_ns < ns, 2, 0), 100 * doubtful_ns / ns), ''), ', of ') AS said
  FROM (
    SELECT 1 AS place, 'slices of CPUs' AS words, count(*) AS "rows", count(nullif(doubt & 7, 0)) AS doubtful, count(nullif(doubt & 7, 0)) AS sure,
           total(max(dur, 0)) AS ns, total(iif(doubt & 7, max(dur, 0), 0)) AS doubtful_ns
    FROM sched_record
    WHERE EXISTS (SELECT * FROM stats WHERE name = 'thread_states_doubtful' AND value > 0)
    UNION ALL
    -- The rows that a row of sched_record makes, and the rows of thread_state_record. A preempted thread can be
    -- woken.
    SELECT 2, 'states of threads', total("rows"), total(doubtful), total(sure), total(ns), total(doubtful_ns)
    FROM (
      SELECT total(is_state) + count(after) + count(runnable) AS "rows",
             total(is_state AND doubt >> 3 & 7) + total(after IS NOT NULL AND doubt >> 6 & 7) + total(runnable IS NOT NULL AND doubt >> 9) AS doubtful,
             total(is_state AND doubt >> 3 & 7) + total(runnable IS NOT NULL AND doubt >> 9)
               + total(after IS NOT NULL AND doubt >> 6 & 7 AND NOT (doubt >> 6 & 7 = 2 AND end_state IN (SELECT id FROM string WHERE value = 'R+'))) AS sure,
             total(iif(is_state, max(dur, 0), 0)) + total(max(after, 0)) + total(max(runnable, 0)) AS ns,
             total(iif(is_state AND doubt >> 3 & 7, max(dur, 0), 0)) + total(iif(doubt >> 6 & 7, max(after, 0), 0))
               + total(iif(doubt >> 9, max(runnable, 0), 0)) AS doubtful_ns
      FROM sched_record
      WHERE EXISTS (SELECT * FROM stats WHERE name = 'thread_states_doubtful' AND value > 0)
      UNION ALL
      SELECT count(*), count(doubt),
             total(doubt IS NOT NULL AND NOT (doubt = 2 AND state IN (SELECT id FROM string WHERE value = 'R+'))),
             total(max(dur, 0)), total(iif(doubt, max(dur, 0), 0))
      FROM thread_state_record
      WHERE EXISTS (SELECT * FROM stats WHERE name = 'thread_states_doubtful' AND value > 0)
    )
    UNION ALL
    SELECT 3, 'slices', count(*), count(doubt), count(doubt), total(max(dur, 0)), total(iif(doubt, max(dur, 0), 0))
    FROM slice_record
    WHERE EXISTS (SELECT * FROM stats WHERE name = 'slices_doubtful' AND value > 0)
    ORDER BY place
  )
  WHERE doubtful > 0
)
WHERE said IS NOT NULL
