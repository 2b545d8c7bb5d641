-- Kernel events are missing
-- The kernel says that a CPU lost events, because its buffer was full before the recorder read it. Rows of that CPU around the gap may be
-- wrong; the column `doubt` marks them.
-- Severity: warning.
SELECT 'warning' AS severity, 'kernel events' || iif(machine_id, ' of machine ' || machine_id, '') AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
       -1 AS file, packet_id, NULL AS events, NULL AS worst_ns,
       printf('The kernel lost events at %,d place%s on %,d CPU%s; table loss has the times.', places, iif(places = 1, '', 's'), cpus,
              iif(cpus = 1, '', 's')) AS message,
       'Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb), read them more often (FtraceConfig.drain_period_ms), or record fewer '
         || 'events (FtraceConfig.ftrace_events).' AS advice
FROM (
  SELECT machine_id, count(*) AS places, count(DISTINCT ucpu) AS cpus, min(packet_id) AS packet_id
  FROM loss
  -- If the buffer of a CPU counted its losses, another check reports them.
  WHERE kind = 'kernel_events' AND coalesce(ucpu, -1) NOT IN (SELECT ucpu FROM loss WHERE kind = 'kernel_buffer' AND ucpu IS NOT NULL)
  GROUP BY machine_id
)
