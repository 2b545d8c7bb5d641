-- Rounds of synchronization between machines are too slow to use
-- A machine asks another for the time, and the answer is exact to half of the round trip. These rounds took more than a millisecond, or
-- ten times as long as the fastest. Or they are no rounds: timebase reads two rounds less than 30 s apart as three, and the middle one is
-- wrong by half the gap. Nearest neighbour uses the mean of all.
-- Severity: warning if the mean is more than 100 µs from the fastest round, info otherwise.
WITH round AS (
  SELECT packet_id, machine_id, coalesce(trace_file_id, -1) AS file, offset, half_round_trip AS half, used,
         min(half_round_trip) OVER (PARTITION BY machine_id, trace_file_id) AS narrowest,
         avg(offset) OVER (PARTITION BY packet_id) AS mean,
         first_value(offset) OVER (PARTITION BY packet_id ORDER BY half_round_trip) AS best
  FROM remote_clock_sync
  WHERE clock_id = 6 AND half_round_trip >= 0
)
SELECT iif(worst_ns > 100000 AND NOT is_linear, 'warning', 'info') AS severity, 'machine ' || machine_id AS subject, machine_id, 6 AS clock_id, 0 AS seq_id, file, packet_id,
       events, worst_ns,
       printf('%,d of %,d readings of a synchronization with machine %d took too long: %s, while the fastest took %.3g µs.', events, readings, machine_id,
              'up to ' || CASE WHEN widest >= 5e8 THEN printf('%.3g s', 2e-9 * widest) WHEN widest >= 5e5 THEN printf('%.3g ms', 2e-6 * widest) ELSE printf('%.3g µs', 2e-3 * widest) END,
              2e-3 * narrowest)
         || iif(is_linear, ' The conversion leaves them out.', ' The mean of all is {worst} from the fastest, and so are the times of that machine.') AS message,
       'Ask twice in a row, and again at least 30 s later; on a busy machine, more often. ''timebase import --conversion linear'' uses the fast rounds.' AS advice
FROM (
  SELECT machine_id, file, min(iif(is_slow, packet_id, NULL)) AS packet_id, CAST(total(is_slow) AS INTEGER) AS events, count(*) AS readings,
         max(iif(is_slow, half, NULL)) AS widest, min(narrowest) AS narrowest,
         CAST(round(max(iif(is_slow, abs(mean - best), NULL))) AS INTEGER) AS worst_ns, (SELECT conversion FROM trace_time) = 'linear' AS is_linear
  FROM (SELECT *, half > 1000000 OR half > 100000 AND half > 10 * narrowest AS is_slow FROM round)
  GROUP BY machine_id, file
)
WHERE events > 0
