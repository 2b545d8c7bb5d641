-- The findings, worst first.
SELECT check_name, severity, subject, machine_id, clock_id, seq_id, packet_id, offset, events, worst_ns, message, advice
FROM finding
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END,
         events DESC, worst_ns DESC, check_name, machine_id, clock_id, seq_id, subject
