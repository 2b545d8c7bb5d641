-- A clock restarted
-- The clock started again, for example because its device was reset, so one reading can mean several times. Until a snapshot shows the
-- restart, timebase places later events as if they came before it. From that snapshot on it converts nothing from the clock.
-- Severity: error if events have a wrong time or none because of it, warning otherwise.
SELECT iif(wrong + lost > 0, 'error', 'warning') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file,
       coalesce(wrong_packet, packet_id) AS packet_id, wrong + lost AS events, worst AS worst_ns,
       printf('Clock {subject} restarted between its snapshots in packets %d and %d: it read %.6g s, and %.4g s later %.6g s', before_packet_id, packet_id, before_s, gap_s, value_s)
         || iif(times > 1, printf('; it restarted %,d times in all. ', times), '. ')
         || iif(wrong > 0, printf('%,d event%s after that %s placed as if before it, up to {worst} off. ', wrong, iif(wrong = 1, '', 's'), iif(wrong = 1, 'was', 'were')), '')
         || iif(lost > 0, said, iif(wrong > 0, '', 'No event has a wrong time because of it.')) AS message,
       'Give the clock another clock_id whenever it starts again, or take timestamps from BOOTTIME (TracePacket.timestamp_clock_id 6). '
         || '''timebase import --conversion linear'' treats each life as a separate clock.' AS advice
FROM turned
WHERE kind = 'restart'
