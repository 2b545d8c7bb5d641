-- Rows of sched, thread_state, slice or counter may be wrong
-- The trace contradicts these rows: a switch, a wake-up or a packet is missing, or an end belongs to another slice, and the events may give a wrong picture. The
-- column `doubt` says why, and reports leave these rows out.
-- Severity: warning, info if it only concerns preempted threads that were woken again, or the time before all CPUs have events.
SELECT iif(sure > 0, 'warning', 'info') AS severity, 'rows' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
       -1 AS file, NULL AS packet_id, NULL AS events, NULL AS worst_ns,
       'Of ' || said || ' may be wrong, as column doubt says.' AS message,
       rtrim('Leave them out (WHERE doubt IS NULL), as reports do; ''timebase help doubt'' explains each word. '
         || iif(kernel, 'Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb) for sched_switch and sched_waking, and read them more often (FtraceConfig.drain_period_ms).', '')
         || iif(kernel AND writers, ' ', '')
         || iif(writers, 'Make the buffer larger (BufferConfig.size_kb), or the shared memory of the producer (ProducerConfig.shm_size_kb).', '')) AS advice
FROM (
  SELECT total(sure) AS sure, max(place < 3) AS kernel, max(place > 2 AND lost > 0) AS writers,
         group_concat(printf('%,d %s %,d', "rows", words, doubtful)
           || iif(doubtful_ns > 0, printf(' (%.*f %% of their time)', iif(100 * doubtful_ns < ns, 2, 0), 100 * doubtful_ns / ns), ''), ', of ') AS said
  FROM (
    -- Of sched_record and of the states that its rows make: all, which are many, and the doubtful ones, which are few.
    SELECT k.place, iif(k.place = 1, 'slices of CPUs', 'states of threads') AS words, iif(k.place = 1, a.slices, a.states + o.states) AS "rows",
           iif(k.place = 1, d.slices, d.states + o.doubtful) AS doubtful, iif(k.place = 1, d.slices, d.sure + o.sure) AS sure,
           iif(k.place = 1, a.cpu_ns, a.ns + o.ns) AS ns, iif(k.place = 1, d.cpu_ns, d.ns + o.doubtful_ns) AS doubtful_ns, 0 AS lost
    FROM (
      SELECT count(*) AS slices, total(iif(dur > 0, dur, 0)) AS cpu_ns, total(is_state) + count(after) + count(runnable) AS states,
             total(iif(is_state AND dur > 0, dur, 0)) + total(iif(after > 0, after, 0)) + total(iif(runnable > 0, runnable, 0)) AS ns
      FROM sched_record
      WHERE (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0
    ) AS a
    -- A preempted thread can be woken.
    CROSS JOIN (
      SELECT count(nullif(doubt & 7, 0)) AS slices, total(iif(doubt & 7, max(dur, 0), 0)) AS cpu_ns,
             total(is_state AND doubt >> 3 & 7) + total(after IS NOT NULL AND doubt >> 6 & 7) + total(runnable IS NOT NULL AND doubt >> 9) AS states,
             total(is_state AND doubt >> 3 & 7) + total(runnable IS NOT NULL AND doubt >> 9 BETWEEN 1 AND 6)
               + total(after IS NOT NULL AND doubt >> 6 & 7 BETWEEN 1 AND 6 AND NOT (doubt >> 6 & 7 = 2 AND end_state IN (SELECT id FROM string WHERE value = 'R+'))) AS sure,
             total(iif(is_state AND doubt >> 3 & 7, max(dur, 0), 0)) + total(iif(doubt >> 6 & 7, max(after, 0), 0))
               + total(iif(doubt >> 9, max(runnable, 0), 0)) AS ns
      FROM sched_record
      WHERE doubt IS NOT NULL AND (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0
    ) AS d
    CROSS JOIN (
      SELECT count(*) AS states, count(doubt) AS doubtful, total(doubt < 7 AND NOT (doubt = 2 AND state IN (SELECT id FROM string WHERE value = 'R+'))) AS sure,
             total(iif(dur > 0, dur, 0)) AS ns, total(iif(doubt, max(dur, 0), 0)) AS doubtful_ns
      FROM thread_state_record
      WHERE (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0
    ) AS o
    CROSS JOIN (SELECT 1 AS place UNION ALL SELECT 2) AS k
    UNION ALL
    -- Doubt 5 is a loss of packets, doubt 6 the end of another slice.
    SELECT 3, 'slices', count(*), count(doubt), total(doubt < 7), total(iif(dur > 0, dur, 0)), total(iif(doubt, max(dur, 0), 0)), total(doubt = 5)
    FROM slice_record
    WHERE (SELECT max(value) FROM stats WHERE name = 'slices_doubtful') > 0
    UNION ALL
    SELECT 4, 'values of counters', count(*), count(doubt), count(doubt), 0, 0, count(doubt)
    FROM counter_record
    WHERE (SELECT max(value) FROM stats WHERE name = 'values_doubtful') > 0
    ORDER BY place
  )
  WHERE doubtful > 0
)
WHERE said IS NOT NULL
