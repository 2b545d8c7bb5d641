-- Snapshots repeat or contradict earlier ones
-- A snapshot that repeats an earlier one adds nothing. If two snapshots have the same reading of one clock and different readings of
-- another, at least one is wrong: a clock stood still, or the producer wrote an old value.
-- Severity: warning if they differ, info if they are the same.
WITH written AS (
  SELECT snapshot_id, min(packet_id) AS packet_id,
         group_concat(machine_id || '/' || clock_id || '/' || seq_id || '/' || file || '=' || clock_value) AS readings
  FROM (SELECT * FROM pair WHERE source IN ('service', 'writer') ORDER BY snapshot_id, machine_id, clock_id, seq_id, file)
  GROUP BY snapshot_id
),
repeated AS (
  SELECT sum(times - 1) AS times, min(packet_id) AS packet_id
  FROM (SELECT count(*) AS times, min(packet_id) AS packet_id FROM written GROUP BY readings HAVING count(*) > 1)
),
differing AS (
  SELECT hop_id, sum(times - 1) AS times, max(spread) AS spread, min(packet_id) AS packet_id
  FROM (
    SELECT h.id AS hop_id, count(*) AS times, max(b.clock_value) - min(b.clock_value) AS spread, max(b.packet_id) AS packet_id
    FROM hop AS h
    JOIN pair AS a ON a.machine_id = h.machine_id AND a.clock_id = h.clock_id AND a.seq_id = h.seq_id AND a.file = h.file AND a.source = h.source
    JOIN pair AS b ON b.snapshot_id = a.snapshot_id
     AND b.machine_id = h.to_machine_id AND b.clock_id = h.to_clock_id AND b.seq_id = h.to_seq_id AND b.file = h.to_file
    WHERE h.clock_id NOT IN (2, 4) AND h.source IN ('service', 'writer')
    GROUP BY h.id, a.clock_value
    HAVING count(*) > 1 AND max(b.clock_value) - min(b.clock_value) > 1000
  )
  GROUP BY hop_id
)
SELECT 'warning' AS severity, h.from_clock || ' → ' || h.to_clock AS subject, h.machine_id, h.clock_id, h.seq_id, h.file, d.packet_id,
       d.times AS events, d.spread AS worst_ns,
       printf('%,d snapshot%s a value of ', d.times, iif(d.times = 1, ' repeats', 's repeat')) || h.from_clock
         || ' beside other values of ' || h.to_clock || ', up to {worst} apart.' AS message,
       'Read all clocks of a ClockSnapshot anew, each time.' AS advice
FROM differing AS d JOIN hop AS h ON h.id = d.hop_id
UNION ALL
SELECT 'info', 'snapshots', NULL, NULL, NULL, NULL, packet_id, times, NULL,
       printf('%,d snapshot%s an earlier one, reading by reading; the first repeated one is packet %d.', times,
              iif(times = 1, ' repeats', 's repeat'), packet_id),
       'Write each ClockSnapshot once, right after its clocks were read.'
FROM repeated
WHERE times > 0
