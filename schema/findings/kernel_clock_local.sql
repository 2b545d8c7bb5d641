-- Kernel events are on a clock that nothing relates to others
-- The kernel's tracing clock was `local`, `global` or unknown when the recorder read these events, and the bundles do not say how it
-- relates to BOOTTIME. So the events have no time.
-- Severity: warning.
SELECT 'warning' AS severity, 'kernel events' || iif(machine_id, ' of machine ' || machine_id, '') || iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject,
       machine_id, max(clock_id) AS clock_id, min(seq_id) AS seq_id, trace_file_id AS file, min(packet_id) AS packet_id, sum(events) AS events, NULL AS worst_ns,
       'The tracing clock of {events} is ' || iif(min(clock_id) IS NULL, 'not known', 'local or global')
         || ', and their bundles have no reading of it beside BOOTTIME, so they could not be placed in time.' AS message,
       'Set the kernel''s tracing clock to boot before recording (''echo boot > /sys/kernel/tracing/trace_clock''). The recorder does that itself if it may clear the '
         || 'buffer: drop FtraceConfig.preserve_ftrace_buffer.' AS advice
FROM unplaced
WHERE reason IN ('unknown_clock', 'no_path', 'no_target') AND NOT is_packet AND (clock_id BETWEEN 64 AND 127 OR clock_id IS NULL)
GROUP BY machine_id, trace_file_id, clock_id IS NULL
