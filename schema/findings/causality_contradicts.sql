-- Messages contradict how the clocks of two machines or files were measured
-- Snapshots, rounds of synchronization, a manifest or the producers of JSON traces relate the two clocks. By this relation, messages between
-- them arrive before they were sent, and its error does not explain that. Timebase keeps the relation. Either it is wrong, or the messages are.
-- Severity: warning.
SELECT 'warning' AS severity, a || ' and ' || b AS subject, machine_b AS machine_id, clock_b AS clock_id, NULL AS seq_id, file_b AS file,
       worst_in AS packet_id, inverted AS events, unexplained AS worst_ns,
       iif(is_stated, 'Messages contradict what the producers of ' || a || ' and ' || b || ' state of their clocks: it is off by at least {worst}.',
           'Messages contradict the measured relation of ' || a || ' and ' || b || ': it is off by at least {worst} more than its error.')
         || iif(inverted_ab, printf(' %,d of %,d message%s from ', inverted_ab, accepted_ab, iif(accepted_ab = 1, '', 's')) || a || ' to ' || b
           || iif(inverted_ab = 1, ' arrives before it was sent.', ' arrive before they were sent.'), '')
         || iif(inverted > inverted_ab, printf(' %,d of %,d message%s from ', inverted - inverted_ab, accepted_ba, iif(accepted_ba = 1, '', 's')) || b || ' to ' || a
           || iif(inverted - inverted_ab = 1, ' arrives before it was sent.', ' arrive before they were sent.'), '')
         || coalesce(' The worst message goes from packet ' || worst_out || ' to packet ' || worst_in || '.', '') AS message,
       iif(instr(evidence, 'collectives'), 'Compare the numbers of the collectives in both files (Seq).',
           'Use each flow id for one message, and take the timestamps of its two events when it is sent and when it arrives.')
         || ' If these are right, correct the relation: clocks.sync_to of a manifest, or '
         || iif(clock_b = 11, 'what the producer states of its clock (baseTimeNanoseconds).', 'the readings in RemoteClockSync and ClockSnapshot.') AS advice
FROM (
  SELECT *, iif(file_a IS NULL, 'machine ' || machine_a, 'file ' || file_a) AS a, iif(file_b IS NULL, 'machine ' || machine_b, 'file ' || file_b) AS b,
         reason = 'the producers state the relation' AS is_stated
  FROM clock_alignment
  WHERE unexplained > 1000 AND sides <> 'contradictory'
)
