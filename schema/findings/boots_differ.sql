-- Files of one machine are of two boots
-- Timebase assumes one BOOTTIME for the files of one machine. By REALTIME, which both files read, one of them is more than a second off.
-- The machine restarted between the recordings, or somebody set its wall clock, or the files are of two machines.
-- Severity: warning.
SELECT 'warning' AS severity, iif(machine_id, 'machine ' || machine_id || ' in ', '') || 'file ' || trace_file_id AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, trace_file_id AS file, own_from AS packet_id,
       (SELECT sum(s.packets) FROM sequence AS s WHERE s.trace_file_id = t.trace_file_id AND s.machine_id = t.machine_id) AS events,
       abs(boots_differ) AS worst_ns,
       'File ' || trace_file_id || ' was placed by BOOTTIME, which it is assumed to share with other files of machine ' || machine_id || '. By REALTIME it is {worst} '
         || iif(boots_differ > 0, 'later', 'earlier') || '; {events} may be off by that.' AS message,
       'If the file is of another boot or machine, name that in a manifest: {"path": "' || (SELECT f.name FROM trace_file AS f WHERE f.id = t.trace_file_id)
         || '", "machine": {"name": "after the restart"}}.' AS advice
FROM part AS t
WHERE boots_differ IS NOT NULL
