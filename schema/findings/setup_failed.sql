-- The recorder could not set up all that the configuration asked for
-- The kernel has no such event, or atrace failed, or the kernel did not give the names of its functions.
-- Severity: warning.
SELECT 'warning' AS severity, 'setup' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
       printf('The recording lacks %,d thing%s that its configuration asked for', errors, iif(errors = 1, '', 's'))
         || coalesce(': ' || (
           SELECT group_concat(message, '; ')
           FROM (SELECT g.message FROM import_log AS g
                 WHERE g.code = 'ftrace_setup_errors' AND g.machine_id IS l.machine_id AND g.trace_file_id IS l.file ORDER BY g.id LIMIT 5)
         ) || iif(errors > 5, '; … (table import_log has all)', ''), '') || '.' AS message,
       'Ask for events that this kernel has (FtraceConfig.ftrace_events; /sys/kernel/tracing/available_events lists them). Let the recorder read /sys/kernel/tracing and, '
         || 'for the names of functions, /proc/kallsyms (kernel.kptr_restrict = 0).' AS advice
FROM (
  SELECT l.machine_id, p.trace_file_id AS file, count(*) AS errors, min(l.packet_id) AS packet_id
  FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
  WHERE l.kind = 'setup'
  GROUP BY l.machine_id, p.trace_file_id
) AS l
