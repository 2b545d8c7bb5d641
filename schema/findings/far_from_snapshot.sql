-- Events lie far from any snapshot, or outside of all of them
-- Before the first snapshot, after the last, and in a long gap, a time is only as good as the rate of its clock. The same holds for
-- another machine between two synchronizations.
-- Severity: warning.
SELECT 'warning' AS severity, iif(is_synced, 'machine ' || machine_id, NULL) AS subject, machine_id, clock_id, seq_id, file, packet_id, events,
       CAST(worst AS INTEGER) AS worst_ns,
       'The times of {events} ' || iif(is_synced, 'of machine ' || machine_id, 'on clock {subject}') || ' may be off by more than 100 µs, up to {worst}, because the nearest '
         || iif(is_synced, 'synchronization', 'snapshot') || ' is far: '
         || rtrim(iif(before > 0, printf('%,d before the first, ', before), '')
               || iif(between_two > 0, printf('%,d between two, ', between_two), '')
               || iif(after > 0, printf('%,d after the last, ', after), ''), ', ') || '.' AS message,
       CASE
         WHEN is_synced THEN 'Synchronize the machines (RemoteClockSync) more often, and at the start and the end of the trace.'
         ELSE 'Take snapshots more often, and at the start and the end of the trace: '
              || iif(clock_id < 64, 'TraceConfig.builtin_data_sources.snapshot_interval_ms.', 'a ClockSnapshot with this clock.')
       END AS advice
FROM (
  SELECT s.machine_id, iif(y.ppm IS NULL, s.clock_id, NULL) AS clock_id, iif(y.ppm IS NULL, s.seq_id, NULL) AS seq_id,
         iif(y.ppm IS NULL, s.file, NULL) AS file, y.ppm IS NOT NULL AS is_synced, min(f.packet_id) AS packet_id, sum(f.events) AS events,
         max(f.worst) AS worst, sum(f.before) AS before, sum(f.between_two) AS between_two, sum(f.after) AS after
  FROM (
    SELECT route_id, min(packet_id) AS packet_id, count(*) AS events, max(error) AS worst, total(kind = 'before') AS before,
           total(kind = 'line') AS between_two, total(kind = 'after') AS after
    FROM reading
    -- A clock that is read coarsely is off by as much beside a snapshot.
    WHERE error > 100000 AND grown > error / 2 AND kind <> 'step'
    GROUP BY route_id
  ) AS f
  JOIN source AS s USING (route_id)
  LEFT JOIN led AS y USING (machine_id, clock_id, seq_id, file)
  WHERE s.clock_id NOT IN (2, 4)
    -- Another check reports a clock with a single snapshot.
    AND NOT s.is_single
    -- A statement of the manifest or of a producer about clocks is no snapshot, nor is a message.
    AND NOT ifnull(y.is_told, 0)
  -- One synchronization covers all clocks of a machine.
  GROUP BY 1, 2, 3, 4
)
