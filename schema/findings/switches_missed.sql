-- Switches of CPUs are missing
-- A CPU switched away from a thread that it did not run, or another event shows that it ran a different thread. So a switch before that is
-- missing, and the trace does not say which thread ran in between. The column `doubt` marks the rows that may be wrong.
-- Severity: warning.
SELECT 'warning' AS severity, 'CPUs' || iif(machine_id, ' of machine ' || machine_id, '') AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
       -1 AS file, packet_id, switches AS events, NULL AS worst_ns,
       printf('%,d event%s of %,d CPU%s show%s that an earlier switch is missing; table loss has the times.', switches, iif(switches = 1, '', 's'), cpus,
              iif(cpus = 1, '', 's'), iif(switches = 1, 's', '')) AS message,
       'Leave out rows that may be wrong (WHERE doubt IS NULL). Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb) for sched_switch and sched_waking, and read '
         || 'them more often (FtraceConfig.drain_period_ms).' AS advice
FROM (
  SELECT machine_id, count(*) AS switches, count(DISTINCT ucpu) AS cpus, min(packet_id) AS packet_id FROM loss WHERE kind = 'switch' GROUP BY machine_id
)
