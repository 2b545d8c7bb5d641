-- Events made no row
-- The events lack a field, or contradict each other, so no table has them. The first one is the example.
-- Severity: error.
SELECT 'error' AS severity, 'events' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file > 0, ' in file ' || file, '') AS subject,
       machine_id, NULL AS clock_id, iif(sequences = 1, seq_id, NULL) AS seq_id, file, packet_id, events, NULL AS worst_ns,
       '{events} made no row: ' || said || '. ' || iif(events = 1, 'It is ', 'The first is ') || coalesce('''' || nullif(name, '') || '''', 'without a name')
         || coalesce(CASE
              WHEN tid IS NULL THEN ' of process ' || pid
              WHEN pid IS NULL THEN ' on thread ' || tid
              ELSE ' on thread ' || tid || ' of process ' || pid
            END, '') || coalesce(', at ' || ts || ' ns', '') || '.' AS message,
       advice
FROM (
  SELECT d.*, c.said,
         CASE
           WHEN d.cause = 'before_zero' AND (SELECT how FROM part AS t WHERE t.trace_file_id = d.file AND t.machine_id = d.machine_id) = 'manifest'
             THEN 'Correct the offset of the file in the manifest (offset_ns): it moves these events before the start of trace time.'
           WHEN c.json IS NOT NULL AND (SELECT trace_type FROM trace_file AS f WHERE f.id = d.file) = 'json' THEN c.json
           ELSE c.advice
         END AS advice
  FROM (
    -- The columns without a function are those of the first packet.
    SELECT f.cause, coalesce(f.machine_id, p.machine_id) AS machine_id, coalesce(f.trace_file_id, p.trace_file_id, -1) AS file,
           sum(f.events) AS events, min(f.packet_id) AS packet_id, count(DISTINCT f.seq_id) AS sequences, f.seq_id, f.name, f.pid, f.tid, f.ts
    FROM event_fault AS f
    LEFT JOIN packet_record AS r ON r.id = f.packet_id
    LEFT JOIN packet_common AS p ON p.id = r.common_id
    WHERE f.effect = 'dropped'
    GROUP BY 1, 2, 3
  ) AS d
  JOIN (
    SELECT column1 AS cause, column2 AS said, column3 AS advice, column4 AS json
    FROM (
      VALUES
      ('no_sequence_id', 'a packet of a track event needs a sequence id',
       'Set TracePacket.trusted_packet_sequence_id (10) in every packet: one number, not 0, for each writer.', NULL),
      ('state_never_cleared', 'the state of the sequence is needed, and no packet of the sequence says that it begins',
       'Set TracePacket.sequence_flags (13) to 1, SEQ_INCREMENTAL_STATE_CLEARED, in the first packet of each sequence, and to 2, SEQ_NEEDS_INCREMENTAL_STATE, in later ones. '
         || 'If the writer does that, a ring buffer overwrote the packet: clear the state more often (IncrementalStateConfig.clear_period_ms).', NULL),
      ('no_time', 'no time is stated', 'Set TracePacket.timestamp (8) in the packet of each event.',
       'Write ts into each event: a number of microseconds.'),
      ('negative_time', 'a time is below 0', 'Write times of 0 and above in TrackEvent.timestamp_delta_us (1) and timestamp_absolute_us (16), or TracePacket.timestamp (8) instead.', NULL),
      ('no_reference', 'the sequence has not stated the time or the count to which a difference is written',
       'Write a ThreadDescriptor (44) with reference_timestamp_us, reference_thread_time_us and reference_thread_instruction_count in the first packet of each sequence, '
         || 'or write absolute values.', NULL),
      ('before_zero', 'the time is before 0', 'Write times at which the clock was read. If a snapshot puts them before 0, read its clocks at the same moment (ClockSnapshot).', NULL),
      ('no_track_uuid', 'a value or a state needs a track, and none is named', 'Set TrackEvent.track_uuid (11), or track_uuid in TracePacketDefaults.track_event_defaults.', NULL),
      ('not_a_counter', 'nothing describes the track of the value as a counter',
       'Write TrackDescriptor.counter (8) into the descriptor of the track that TrackEvent.track_uuid names; an empty CounterDescriptor is enough.', NULL),
      ('not_a_state', 'nothing describes the track of the state as one of states', 'Write TrackDescriptor.state (18) into the descriptor of the track that TrackEvent.track_uuid names.', NULL),
      ('no_value', 'a counter needs a value, and there is none', 'Set TrackEvent.counter_value (30) or double_counter_value (44).',
       'Write args into each event of phase C: an object with numbers.'),
      ('extra_values', 'the extra values do not fit the counters for them',
       'Write as many TrackEvent.extra_counter_track_uuids (31) as extra_counter_values (12), and extra_double_counter_track_uuids (45) as extra_double_counter_values (46): '
         || 'at most 8, all of tracks with TrackDescriptor.counter (8).', NULL),
      ('no_thread', 'a thread, a process or a track is needed, and none is named',
       'Set TrackEvent.track_uuid (11) to the uuid of a TrackDescriptor with thread (4), or LegacyEvent.pid_override (18) and tid_override (19), or write a ThreadDescriptor (44) on the sequence.', NULL),
      ('no_track', 'the track cannot exist', 'Correct TrackDescriptor.parent_uuid (5): each parent needs a descriptor, and a track at most 98 parents, none of them itself.', NULL),
      ('no_id', 'an id is needed, and there is none', 'Set LegacyEvent.unscoped_id (6), or local_id (10) or global_id (11).',
       'Write id into each event of phase b, n or e.'),
      ('outside_slice', 'a step of a flow is outside any slice', 'Write the event of a flow while a slice of its thread is open, or TrackEvent.flow_ids (47) into the slice.', NULL),
      ('negative_duration', 'the duration is negative', 'Write LegacyEvent.duration_us (3) of 0 and above: the end less the start.',
       'Write a dur of 0 and above: the end less the start, in microseconds.'),
      ('no_duration', 'a complete event (X) has no dur', NULL,
       'Write dur into each event of phase X. If the event may outlive the recording, write a B at its begin and an E at its end.'),
      ('overlap', 'the slice begins inside a complete one of its track, and ends after it', 'Give slices that overlap tracks of their own (TrackEvent.track_uuid).', NULL),
      ('too_deep', 'there are 512 slices below', 'End each slice (TYPE_SLICE_END): slices without an end remain on the track, and contain all later ones.',
       'Write an E for each B: slices without an end remain on the thread, and contain all later ones.'),
      ('unknown_type', 'the type is missing or unknown',
       'Set TrackEvent.type (9) to 1 to 5: TYPE_SLICE_BEGIN, TYPE_SLICE_END, TYPE_INSTANT, TYPE_COUNTER or TYPE_STATE; or LegacyEvent.phase (2). A newer timebase may know more types.',
       'Write ph into each event: one letter.'),
      ('incomplete', 'a field is missing, or names something that nothing describes', 'Write the field that table import_log names for these packets.', NULL),
      ('no_callstack', 'a sample has no time or no callstack',
       'Write as many StreamingProfilePacket.timestamp_delta_us (2) as callstack_iid (1), and each callstack into InternedData.callstacks (7) before it is used.', NULL),
      ('unreadable', 'the packet cannot be read', 'Copy the trace again. If it stays like that, the producer writes packets that are no protobuf messages: see table import_log.', NULL),
      ('too_large', 'the packet is too large to be read', 'Write smaller packets.', NULL)
    )
  ) AS c ON c.cause = d.cause
)
