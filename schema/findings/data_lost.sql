-- A sequence lost packets
-- The recorder says that packets are missing before these. The other packets have their times.
-- Severity: warning.
SELECT 'warning' AS severity, iif(sequences = 1, 'sequence ' || id, printf('%,d sequences', sequences))
         || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, iif(sequences = 1, id, NULL) AS seq_id, file, NULL AS packet_id, losses AS events, NULL AS worst_ns,
       printf('The recorder lost packets at %,d place%s of %,d sequence%s. Table sequence has the losses of each.', losses, iif(losses = 1, '', 's'),
              sequences, iif(sequences = 1, '', 's')) AS message,
       'Make the buffer larger (BufferConfig.size_kb), or the shared memory of the producer (ProducerConfig.shm_size_kb).' AS advice
FROM (
  SELECT machine_id, trace_file_id AS file, min(id) AS id, count(*) AS sequences, sum(losses) AS losses
  FROM sequence AS s
  -- If the recorder knows the loss of a writer, another check says why.
  WHERE losses > 0 AND NOT EXISTS (
    SELECT * FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
    WHERE l.kind = 'writer' AND l.seq_id = s.id AND l.machine_id = s.machine_id AND p.trace_file_id = s.trace_file_id
  )
  GROUP BY machine_id, trace_file_id
)
