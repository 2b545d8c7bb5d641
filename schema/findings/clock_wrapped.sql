-- A counter wrapped
-- The clock counts to a power of two and then starts at 0 again, for example a 32-bit counter. Until a snapshot shows the wrap, timebase
-- places later events as if they came before it. From that snapshot on it converts nothing from the clock.
-- Severity: error if events have a wrong time or none because of it, warning otherwise.
SELECT iif(wrong + lost > 0, 'error', 'warning') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file,
       coalesce(wrong_packet, packet_id) AS packet_id, wrong + lost AS events, worst AS worst_ns,
       printf('Clock {subject} counts to 2^%d and begins again at 0, every ', bits)
         || CASE WHEN turn_ns < 1e6 THEN printf('%.4g µs', turn_ns / 1e3) WHEN turn_ns < 1e9 THEN printf('%.4g ms', turn_ns / 1e6)
                 WHEN turn_ns < 7200e9 THEN printf('%.4g s', turn_ns / 1e9) ELSE printf('%.3g hours', turn_ns / 3600e9) END
         || printf(': it wrapped between its snapshots in packets %d and %d, %.4g s apart', before_packet_id, packet_id, gap_s)
         || iif(times > 1, printf(', and between %,d more later. ', times - 1), '. ')
         || iif(wrong > 0, printf('%,d event%s after that %s placed as if before it, up to {worst} off. ', wrong, iif(wrong = 1, '', 's'), iif(wrong = 1, 'was', 'were')), '')
         || iif(lost > 0, said, iif(wrong > 0, '', 'No event has a wrong time because of it.')) AS message,
       'Record the counter with 64 bits, or add up its turns before writing. A ClockSnapshot in each turn shows them. '
         || '''timebase import --conversion linear'' continues it over the turns.' AS advice
FROM turned
WHERE kind = 'wrap'
