-- Rounds of synchronization between machines end before they begin
-- The second of two consecutive readings of one clock is smaller. The writer swapped them, or somebody set the clock back in between. Such
-- a round does not tell how the clocks relate, but the mean that nearest neighbour uses includes it.
-- Severity: warning.
SELECT 'warning' AS severity, 'machine ' || machine_id AS subject, machine_id, clock_id, 0 AS seq_id, file, packet_id, events, worst_ns,
       printf('%,d reading%s of a synchronization with machine %d went backwards, by up to {worst}.', events, iif(events = 1, '', 's'), machine_id) AS message,
       'Write RemoteClockSync.synced_clocks in the order in which they were read, and use clocks that nobody sets. '
         || '''timebase import --conversion linear'' leaves these rounds out.' AS advice
FROM (
  SELECT machine_id, coalesce(trace_file_id, -1) AS file, iif(count(DISTINCT clock_id) = 1, clock_id, NULL) AS clock_id, min(packet_id) AS packet_id, count(*) AS events,
         -2 * min(half_round_trip) AS worst_ns
  FROM remote_clock_sync
  WHERE half_round_trip < 0
  GROUP BY machine_id, trace_file_id
)
