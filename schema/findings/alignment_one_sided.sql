-- All messages between two clocks go the same way
-- Nothing measured how the clocks relate, and messages in one direction limit it on one side only: an arrival cannot be before its send, but it
-- can be any time later. So the import keeps its assumption.
-- Severity: info.
SELECT 'info' AS severity, a || ' and ' || b AS subject, machine_b AS machine_id, clock_b AS clock_id, NULL AS seq_id, file_b AS file,
       worst_in AS packet_id, messages_ab + messages_ba AS events, abs(room) AS worst_ns,
       iif(messages_ab + messages_ba = 1, 'The only message between ', printf('All %,d messages between ', messages_ab + messages_ba)) || a || ' and ' || b
         || iif(messages_ab + messages_ba = 1, ' goes from ', ' go from ') || iif(sides = 'upper', a || ' to ' || b, b || ' to ' || a)
         || '. So ' || iif(messages_ab + messages_ba = 1, 'it only says', 'they only say') || ' that the events of ' || b || ' are too ' || CASE
              WHEN room < 0 THEN iif(sides = 'upper', 'early', 'late') || ' by at least {worst} against those of '
              ELSE iif(sides = 'upper', 'late', 'early') || ' by at most {worst} against those of '
            END || a || ', halfway through; they can be too ' || iif(sides = 'upper', 'early', 'late') || ' by any time.' AS message,
       CASE
         WHEN unpaired > 0 THEN printf('Give each message an id of its own: the sends and arrivals of %,d id%s do not pair up.', unpaired, iif(unpaired = 1, '', 's'))
         WHEN instr(evidence, 'collectives') THEN 'Record collectives in which each rank waits for each, too, such as an all-reduce.'
         WHEN clock_b = 11 THEN 'Record the answers, too: an event with "ph": "s" at the send and one with "ph": "f" at the arrival.'
         ELSE 'Record the answers, too: flow_ids at the send and terminating_flow_ids at the arrival (TrackEvent).'
       END || ' With messages in both directions, the import can relate the clocks.' AS advice
FROM (
  SELECT *, iif(file_a IS NULL, 'machine ' || machine_a, 'file ' || file_a) AS a, iif(file_b IS NULL, 'machine ' || machine_b, 'file ' || file_b) AS b,
         iif(sides = 'upper', latest - assumed, assumed - earliest) AS room
  FROM clock_alignment
  WHERE sides IN ('upper', 'lower') AND relation IN ('realtime', 'same_clock') AND inverted < 3
)
