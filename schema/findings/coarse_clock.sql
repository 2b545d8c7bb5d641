-- Timestamps are from a coarse clock
-- A coarse clock stands still between two ticks of the kernel, for 1 to 10 ms, so the order of events within one tick is lost.
-- Severity: warning.
SELECT 'warning' AS severity, NULL AS subject, e.machine_id, e.clock_id, e.seq_id, e.file, NULL AS packet_id, e.events, 10000000 AS worst_ns,
       'The times of {events} are from {subject}, which stands still for up to {worst}.' AS message,
       'Read ' || iif(e.clock_id = 2, 'REALTIME', 'MONOTONIC') || ' or BOOTTIME instead, and name it in TracePacket.timestamp_clock_id ('
         || iif(e.clock_id = 2, 1, 3) || ' or 6).' AS advice
FROM clock_events AS e
WHERE e.clock_id IN (2, 4)
