-- Timebase assumes that files of one machine are of one boot
-- A file has snapshots of its own, and nothing relates it to the other files of its machine, so timebase assumes one BOOTTIME for all.
-- That is wrong if the machine restarted between the recordings, or if a file of another machine does not name it. If REALTIME agrees, it
-- does so to within a second.
-- Severity: warning, info if REALTIME agrees.
SELECT iif(is_told, 'info', 'warning') AS severity, iif(files = 1, iif(machine_id, 'machine ' || machine_id || ' in ', '') || 'file ' || first_file,
                                                        files || ' files of machine ' || machine_id) AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, iif(files = 1, first_file, NULL) AS file, packet_id, events, NULL AS worst_ns,
       iif(files = 1, 'File ' || first_file || ' was', files || ' files were') || ' placed on the assumption that BOOTTIME is that of the other files of machine ' || machine_id
         || iif(is_told, ', and REALTIME agrees to within a second.', '; nothing confirms the same boot for {events}.') AS message,
       iif(is_told, 'Nothing, if the machine did not restart between the recordings.', 'Put REALTIME into the snapshots of all files (ClockSnapshot.Clock.clock_id 1): it distinguishes boots.')
         || ' If files are of several machines or boots, name each in a manifest (files[].machine).' AS advice
FROM (
  SELECT machine_id, is_told, count(*) AS files, min(trace_file_id) AS first_file, min(own_from) AS packet_id,
         CAST(total((SELECT sum(s.packets) FROM sequence AS s WHERE s.trace_file_id = t.trace_file_id AND s.machine_id = t.machine_id)) AS INTEGER) AS events
  FROM (
    SELECT p.*,
           EXISTS (SELECT * FROM clock_snapshot AS r WHERE r.machine_id = p.machine_id AND r.clock_id = 1 AND r.trace_file_id = p.trace_file_id)
             AND EXISTS (SELECT * FROM clock_snapshot AS r WHERE r.machine_id = p.machine_id AND r.clock_id = 1 AND r.trace_file_id IS NULL AND r.source <> 'assumed') AS is_told
    FROM part AS p
    WHERE p.how = 'same_clock' AND p.boots_differ IS NULL
      AND EXISTS (SELECT * FROM bridge AS b WHERE b.machine_id = p.machine_id AND b.file = p.trace_file_id AND b.to_machine = p.machine_id)
  ) AS t
  GROUP BY machine_id, is_told
)
