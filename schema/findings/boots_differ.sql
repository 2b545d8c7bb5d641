-- Files of one machine are of two boots
-- Their BOOTTIMEs are taken for one, as they are of one machine, and REALTIME, which both read, puts the file more than a second elsewhere:
-- the machine was started anew between the recordings, or its wall clock was set, or the files are of two machines.
-- Severity: warning.
SELECT 'warning' AS severity, iif(machine_id, 'machine ' || machine_id || ' in ', '') || 'file ' || trace_file_id AS subject,
       machine_id, NULL AS clock_id, NULL AS seq_id, trace_file_id AS file, own_from AS packet_id,
       (SELECT sum(s.packets) FROM sequence AS s WHERE s.trace_file_id = t.trace_file_id AND s.machine_id = t.machine_id) AS events,
       abs(boots_differ) AS worst_ns,
       'By REALTIME, file ' || trace_file_id || ' is {worst} ' || iif(boots_differ > 0, 'later', 'earlier')
         || ' than where the BOOTTIME puts it that it is assumed to share with other files of machine ' || machine_id || '; {events} may be off by that.' AS message,
       'If it is of another boot or machine, name that in a manifest: {"path": "' || (SELECT f.name FROM trace_file AS f WHERE f.id = t.trace_file_id)
         || '", "machine": {"name": "after the restart"}}.' AS advice
FROM part AS t
WHERE boots_differ IS NOT NULL
