-- Switches of CPUs are missing
-- A CPU switched from a thread that it was not running, or another event says that it ran another one. So the switch before is missing, and who ran in between is not
-- known: column `doubt` says which rows that makes doubtful.
-- Severity: warning.
SELECT 'warning' AS severity, 'CPUs' || iif(machine_id, ' of machine ' || machine_id, '') AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
       -1 AS file, packet_id, switches AS events, NULL AS worst_ns,
       printf('%,d event%s of %,d CPU%s tell%s that a switch before is missing; table loss has between which times.', switches, iif(switches = 1, '', 's'), cpus,
              iif(cpus = 1, '', 's'), iif(switches = 1, 's', '')) AS message,
       'Leave out what may be wrong (WHERE doubt IS NULL). Record sched_switch and sched_waking with larger buffers of the kernel (FtraceConfig.buffer_size_kb), read '
         || 'more often (FtraceConfig.drain_period_ms).' AS advice
FROM (
  SELECT machine_id, count(*) AS switches, count(DISTINCT ucpu) AS cpus, min(packet_id) AS packet_id FROM loss WHERE kind = 'switch' GROUP BY machine_id
)
