-- The kernel's buffers overflowed
-- The kernel says that its ring buffers had no room for events, or that it overwrote events before the recorder read them. Any event can
-- be missing, for example a switch or the end of a slice.
-- Severity: warning.
SELECT 'warning' AS severity, 'kernel buffers' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, events, NULL AS worst_ns,
       trim(iif(cpus, printf('The kernel lost %,d event%s in the buffers of %,d CPU%s', lost, iif(lost = 1, '', 's'), cpus, iif(cpus = 1, '', 's'))
         || iif(places, printf('. It also says so before %,d bundle%s of events; table loss has the times', places, iif(places = 1, '', 's')), '') || '.', '')
         || iif(missed, printf(' It missed %,d hit%s of kprobes.', missed, iif(missed = 1, '', 's')), '')
         || iif(unread, ' The recorder could not read some of the kernel''s data, which is a bug in one of the two.', '')) AS message,
       trim(iif(cpus, 'Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb), read them more often (FtraceConfig.drain_period_ms), or '
         || 'record fewer events (FtraceConfig.ftrace_events).', '')
         || iif(missed, ' Raise maxactive of the kretprobes.', '')
         || iif(unread, ' Report the trace to Perfetto, with the version of the kernel.', '')) AS advice
FROM (
  SELECT l.machine_id, p.trace_file_id AS file, min(l.packet_id) AS packet_id, total(l.count) AS events, count(DISTINCT l.ucpu) AS cpus,
         total(iif(l.ucpu IS NULL, 0, l.count)) AS lost, total(iif(l.ucpu IS NULL, l.count, 0)) AS missed,
         max(l.ucpu IS NULL AND l.count IS NULL) AS unread,
         (SELECT count(*) FROM loss AS k WHERE k.kind = 'kernel_events'
          AND k.ucpu IN (SELECT b.ucpu FROM loss AS b WHERE b.kind = 'kernel_buffer' AND b.machine_id = l.machine_id)) AS places
  FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
  WHERE l.kind = 'kernel_buffer'
  GROUP BY l.machine_id, p.trace_file_id
)
