-- A clock drifts, and nearest neighbour misplaced events
-- Nearest neighbour, the default conversion, assumes that all clocks run at the same rate. The check compares its times with the line
-- between the snapshots, and counts events that differ by more than the error of the line. Two neighbouring events are in the wrong order
-- if the line orders them the other way. For kernel events, the check looks at the jumps at the snapshots.
-- Severity: warning if an event was off by more than 100 µs, info otherwise.
SELECT iif(worst > 100000, 'warning', 'info') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, packet_id, moved AS events, worst AS worst_ns,
       iif(is_kernel, 'Kernel events use clock {subject}, and nearest neighbour jumps by up to {worst} at its snapshots.',
           printf('Nearest neighbour put %,d of %,d events on clock {subject} off by more than 1 µs', moved, events)
             || iif(moved_1ms > 0, printf(', %,d by more than 1 ms', moved_1ms), '') || ': {worst} at worst, in the median '
             || CASE WHEN median >= 1e6 THEN printf('%.3g ms', median / 1e6) WHEN median >= 1e3 THEN printf('%.3g µs', median / 1e3)
                     ELSE printf('%d ns', median) END
             || printf('. It put %,d pair%s of neighbouring events in the wrong order.', pairs, iif(pairs = 1, '', 's')))
         || iif(ppm IS NULL, '', printf(' The clock drifts by %.3g ppm.', ppm)) AS message,
       'Import with --conversion linear, which follows the drift, or let ''timebase rewrite --conversion linear'' correct the trace for other tools. '
         || coalesce('To keep nearest neighbour within 1 µs, record a snapshot every '
                     || CASE WHEN interval_s >= 1 THEN printf('%.3g s', interval_s) ELSE printf('%.3g ms', 1e3 * interval_s) END || ': ', 'Record more snapshots: ')
         || iif(is_synced, 'a RemoteClockSync of both machines, and ', '')
         || iif(clock_id < 64, 'TraceConfig.builtin_data_sources.snapshot_interval_ms.',
                'write a ClockSnapshot with this clock, and set TraceConfig.builtin_data_sources.snapshot_interval_ms.') AS advice
FROM drifting
