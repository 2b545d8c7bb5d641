-- Packets need state that their sequence lost
-- The sequence lost packets, so timebase cannot trust later packets until the sequence clears its state. These packets have no time and no
-- names.
-- Severity: warning.
SELECT 'warning' AS severity, 'sequence ' || sequence || iif(machine_id, ' of machine ' || machine_id, '')
         || iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject, machine_id,
       NULL AS clock_id, sequence AS seq_id, trace_file_id AS file, min(packet_id) AS packet_id, sum(events) AS events, NULL AS worst_ns,
       '{events} on sequence ' || sequence || ' could not be placed in time: the sequence lost the state that this needs, or the ring buffer overwrote it.' AS message,
       'Clear the incremental state more often (IncrementalStateConfig.clear_period_ms), or make the buffer larger (BufferConfig.size_kb).' AS advice
FROM unplaced
WHERE reason = 'incremental_state_lost'
  -- If the sequence never has a state, another check reports its events. Cause 'state_lost' counts here.
  AND NOT EXISTS (
    SELECT * FROM event_fault AS f
    WHERE f.effect = 'dropped' AND f.cause = 'state_never_cleared' AND f.seq_id = sequence
      AND f.machine_id = unplaced.machine_id AND f.trace_file_id = unplaced.trace_file_id
  )
GROUP BY machine_id, trace_file_id, sequence
