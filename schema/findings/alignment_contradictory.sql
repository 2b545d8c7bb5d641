-- Messages between two clocks contradict each other
-- More than a quarter of the messages do not fit the others, so timebase believes none of them. Their ids do not stand for messages, or the
-- two events of a message do not have the times at which it was sent and at which it arrived. Or they fit only if the clocks drift by more than
-- is taken for possible.
-- Severity: warning, info if the relation of the clocks was measured.
SELECT iif(relation = 'measured', 'info', 'warning') AS severity, a || ' and ' || b AS subject, machine_b AS machine_id, clock_b AS clock_id, NULL AS seq_id, file_b AS file,
       (SELECT min(o.packet_in) FROM causal_outlier AS o WHERE o.alignment_id = p.id) AS packet_id, violated AS events, NULL AS worst_ns,
       iif(is_too_fast, printf('By %,d messages, ', messages_ab + messages_ba) || replace(reason, 'the clocks', 'the clocks of ' || a || ' and ' || b) || '. So the import does not use them.',
           printf('%,d of %,d messages between ', violated, messages_ab + messages_ba) || a || ' and ' || b || ' (' || evidence
             || ') contradict the others, so none of them tells how the clocks relate.') AS message,
       CASE
         WHEN is_too_fast THEN 'If a clock can be that wrong, set "align": {"max_drift_ppm": …} in a manifest to more than this. If not, a clock counts another unit than its timestamps say.'
         WHEN instr(evidence, 'collectives') THEN 'Check that all files are of one run, and that their collectives have the same numbers (Seq) and groups. '
           || 'The table causal_outlier has the messages.'
         ELSE 'Use each flow id for one message, and take the timestamps of its two events when it is sent and when it arrives. The table causal_outlier has the messages. '
           || 'align.pairs of a manifest can name the right ones.'
       END AS advice
FROM (
  SELECT *, iif(file_a IS NULL, 'machine ' || machine_a, 'file ' || file_a) AS a, iif(file_b IS NULL, 'machine ' || machine_b, 'file ' || file_b) AS b,
         reason GLOB 'the clocks drift by *' AS is_too_fast
  FROM clock_alignment
  WHERE sides = 'contradictory'
) AS p
