-- A clock restarted
-- The clock began again, as that of a device does that is reset, so one reading is of several times. What was read after that is placed as
-- if it had been read before, until a snapshot shows it; from there on nothing is converted from the clock.
-- Severity: error if events have a wrong time or none for it, warning otherwise.
SELECT iif(wrong + lost > 0, 'error', 'warning') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file,
       coalesce(wrong_packet, packet_id) AS packet_id, wrong + lost AS events, worst AS worst_ns,
       printf('Clock {subject} restarted between its snapshots in packets %d and %d: it read %.6g s, and %.4g s later %.6g s', before_packet_id, packet_id, before_s, gap_s, value_s)
         || iif(times > 1, printf('; it restarted %,d times in all. ', times), '. ')
         || iif(wrong > 0, printf('%,d event%s read after that %s placed as if read before, up to {worst} off. ', wrong, iif(wrong = 1, '', 's'), iif(wrong = 1, 'was', 'were')), '')
         || iif(lost > 0, said, iif(wrong > 0, '', 'No event has a wrong time by it.')) AS message,
       'Give the clock another clock_id whenever it begins again, or take timestamps from BOOTTIME (TracePacket.timestamp_clock_id 6). '
         || '''timebase import --conversion linear'' takes each life for a clock of its own.' AS advice
FROM turned
WHERE kind = 'restart'
