-- Slices lack their names
-- The events refer to a name by a number of interned data, but nothing that counts for them states the name of this number.
-- Severity: warning.
SELECT 'warning' AS severity, 'names' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file > 0, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, iif(sequences = 1, seq_id, NULL) AS seq_id, file, packet_id, events, NULL AS worst_ns,
       'The name of {events} is NULL: ' || said || '. ' || iif(events = 1, 'It is ', 'The first is ')
         || coalesce(CASE
              WHEN tid IS NULL THEN 'of process ' || pid
              WHEN pid IS NULL THEN 'on thread ' || tid
              ELSE 'on thread ' || tid || ' of process ' || pid
            END, 'on sequence ' || seq_id) || coalesce(', at ' || ts || ' ns', '') || '.' AS message,
       advice
FROM (
  SELECT d.*, c.said, c.advice
  FROM (
    -- The columns without a function are those of the first packet.
    SELECT cause, machine_id, coalesce(trace_file_id, -1) AS file, sum(events) AS events, min(packet_id) AS packet_id,
           count(DISTINCT seq_id) AS sequences, seq_id, pid, tid, ts
    FROM event_fault
    WHERE effect = 'unnamed'
    GROUP BY 1, 2, 3
  ) AS d
  JOIN (
    SELECT column1 AS cause, column2 AS said, column3 AS advice
    FROM (
      VALUES
      ('not_defined', 'no entry of InternedData.event_names has the number in TrackEvent.name_iid',
       'Write InternedData.event_names (2) with this iid on the same sequence, in the packet of the event or before it, and again after each packet with SEQ_INCREMENTAL_STATE_CLEARED.'),
      ('iid_zero', 'InternedData.event_names has an entry with the number 0, and TrackEvent.name_iid 0 means no name', 'Number the entries of InternedData from 1.'),
      ('state_never_cleared', 'InternedData has the name, but it counts only after a packet says that the state of the sequence begins, and none does',
       'Set TracePacket.sequence_flags (13) to 1, SEQ_INCREMENTAL_STATE_CLEARED, in the first packet of each sequence. '
         || 'If the writer does that, a ring buffer overwrote the packet: clear the state more often (IncrementalStateConfig.clear_period_ms).'),
      ('state_lost', 'the sequence lost packets, or begins before the trace has its state',
       'Clear the incremental state more often (IncrementalStateConfig.clear_period_ms), or make the buffer larger (BufferConfig.size_kb).')
    )
  ) AS c ON c.cause = d.cause
)
