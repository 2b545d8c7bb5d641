-- The findings, worst first; and behind the columns of the view where the packet is.
SELECT f.check_name, f.severity, f.subject, f.machine_id, f.trace_file_id, f.clock_id, f.seq_id, f.packet_id, f.offset, f.events, f.worst_ns,
       f.message, f.advice,
       coalesce((SELECT p.trace_file_id FROM packet AS p WHERE p.id = f.packet_id), f.trace_file_id) AS in_file,
       coalesce((SELECT p.machine_id FROM packet AS p WHERE p.id = f.packet_id), f.machine_id) AS of_machine
FROM finding AS f
ORDER BY CASE f.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END,
         f.events DESC, f.worst_ns DESC, f.check_name, f.machine_id, f.trace_file_id, f.clock_id, f.seq_id, f.subject
