-- Timestamps of Unix time count as BOOTTIME
-- A file without snapshots of clocks has timestamps without a clock, which count as BOOTTIME. But they are nanoseconds since 1970, so they
-- are readings of REALTIME. With other files, its events are decades away from theirs.
-- Severity: warning.
SELECT 'warning' AS severity, 'trace' || iif(u.machine_id, ' of machine ' || u.machine_id, '') || iif(u.trace_file_id, ' in file ' || u.trace_file_id, '') AS subject,
       u.machine_id, 6 AS clock_id, 0 AS seq_id, u.trace_file_id AS file, u.packet_id, u.events, NULL AS worst_ns,
       printf('The timestamps of {events} name no clock, so they count as BOOTTIME, but they read like Unix time: %s to %s.',
              strftime('%Y-%m-%d %H:%M:%S', u.first_ts / 1000000000, 'unixepoch'), strftime('%Y-%m-%d %H:%M:%S', u.last_ts / 1000000000, 'unixepoch')) AS message,
       'Set TracePacket.timestamp_clock_id to 1 (REALTIME), and write a ClockSnapshot with REALTIME and BOOTTIME. '
         || iif((SELECT count(DISTINCT trace_file_id) FROM part) > 1, 'For this file: default_clock "REALTIME" in a manifest (files[].default_clock).',
                'For this trace: ''timebase import --default-clock REALTIME''.') AS advice
FROM unix_part AS u
