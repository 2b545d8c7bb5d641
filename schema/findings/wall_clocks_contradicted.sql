-- Messages arrive before they were sent, by clocks that are assumed to agree
-- Nothing measured how the clocks of two machines or files relate, so timebase assumed that their wall clocks, or else their BOOTTIMEs, agree.
-- Messages between them prove that wrong: no message arrives before it is sent. If the messages say enough, the import relates the clocks by them.
-- Severity: error, info if the import relates the clocks by the messages.
SELECT iif(used, 'info', 'error') AS severity, a || ' and ' || b AS subject, machine_b AS machine_id, clock_b AS clock_id, NULL AS seq_id, file_b AS file,
       worst_in AS packet_id, inverted AS events, wrong_by AS worst_ns,
       iif(inverted_ab, printf('%,d of %,d message%s from ', inverted_ab, accepted_ab, iif(accepted_ab = 1, '', 's')) || a || ' to ' || b, '')
         || iif(inverted_ab AND inverted > inverted_ab, ' and ', '')
         || iif(inverted > inverted_ab, printf('%,d of %,d message%s from ', inverted - inverted_ab, accepted_ba, iif(accepted_ba = 1, '', 's')) || b || ' to ' || a, '')
         || ' arrive before they were sent' || iif(relation = 'realtime', ': the wall clocks of ', ' if BOOTTIME of both is the same: these clocks of ') || a || ' and ' || b
         || ' disagree by at least {worst}. The worst message goes from packet ' || worst_out || ' to packet ' || worst_in || '.'
         || iif(used, ' So the import related the clocks by the messages, not by this assumption.', '') AS message,
       CASE
         WHEN used THEN 'Nothing. ''timebase import --align off'' keeps the times by the assumption.'
         WHEN sides <> 'both' AND unpaired > 0 THEN 'Give each message an id of its own: the sends and arrivals of ' || printf('%,d id%s', unpaired, iif(unpaired = 1, '', 's'))
           || ' do not pair up. Or relate the clocks in a manifest (clocks.sync_to).'
         WHEN sides <> 'both' THEN 'Record messages in the other direction, too: '
           || CASE WHEN instr(evidence, 'collectives') THEN 'collectives in which each rank waits for each, such as an all-reduce'
                   WHEN clock_b = 11 THEN 'an event with "ph": "s" at the send and one with "ph": "f" at the arrival'
                   ELSE 'flow_ids at the send and terminating_flow_ids at the arrival (TrackEvent)' END || '. Or relate the clocks in a manifest '
           || '(clocks.sync_to), or synchronize them by PTP, or by NTP from one server.'
         WHEN reason = 'a stream cannot be read again: save it to a file' THEN 'Save the stream to a file and import that, so that the import can relate the clocks by the messages.'
         WHEN reason = 'messages contradict the assumption, which the mode keeps' THEN 'Import with --align auto, which relates the clocks by the messages.'
         WHEN reason GLOB 'a clock was set back*' THEN 'Take the timestamps from a clock that is never set, such as MONOTONIC or BOOTTIME.'
         WHEN reason = 'other pairs contradict it' THEN 'Look at the ids of these messages, and at their times: the messages between three or more clocks do not fit together.'
         ELSE 'Import with --align ' || iif(instr(evidence, '+'), substr(evidence, 1, instr(evidence, '+') - 1), evidence)
           || ', which relates the clocks by the messages. They are not proof enough for --align auto: ' || reason || '.'
       END AS advice
FROM (
  SELECT *, iif(file_a IS NULL, 'machine ' || machine_a, 'file ' || file_a) AS a, iif(file_b IS NULL, 'machine ' || machine_b, 'file ' || file_b) AS b
  FROM clock_alignment
  WHERE relation IN ('realtime', 'same_clock') AND inverted >= 3 AND sides <> 'contradictory'
) AS p
-- Both may be related to a third clock instead, by other messages.
WHERE NOT EXISTS (
  SELECT * FROM clock_alignment AS x JOIN clock_alignment AS y ON y.machine_a = x.machine_a AND y.file_a IS x.file_a AND y.clock_a = x.clock_a
  WHERE x.used AND y.used AND (x.machine_b, x.clock_b) = (p.machine_a, p.clock_a) AND x.file_b IS p.file_a
    AND (y.machine_b, y.clock_b) = (p.machine_b, p.clock_b) AND y.file_b IS p.file_b
)
