-- # Slowest slices
-- The longest slices, without rows that may be wrong (doubt). name is a pattern, such as Choreographer*; leave it empty for all.
SELECT s.id AS slice_id, s.ts, s.dur, s.name, s.track_id, t.thread_name, t.process_name, s.arg_set_id
FROM slice AS s
LEFT JOIN thread_or_process_slice AS t USING (id)
WHERE s.dur > 0 AND s.doubt IS NULL AND (:name = '' OR s.name GLOB :name)
ORDER BY s.dur DESC
LIMIT 100

-- # Slices by name
-- The number of slices of each name, and their time: in total, and without inner slices (self). Rows that may be wrong (doubt) do not count.
SELECT name, count(*) AS slices, round(sum(dur) / 1e6, 3) AS total_ms, round(sum(self_dur) / 1e6, 3) AS self_ms,
       round(max(dur) / 1e6, 3) AS max_ms
FROM slice JOIN slice_self_dur USING (id)
WHERE dur > 0 AND doubt IS NULL
GROUP BY name
ORDER BY self_ms DESC
LIMIT 100

-- # CPU time by process
-- How long the threads of each process ran. pct is the share of one CPU's time in the trace; doubtful_ms is additional time that may be wrong.
SELECT upid, pid, process_name, threads, slices, round(cpu_time / 1e6, 3) AS cpu_ms,
       round(100.0 * cpu_time / (SELECT nullif(end_ts - start_ts, 0) FROM trace_bounds), 2) AS pct, round(doubtful_time / 1e6, 3) AS doubtful_ms
FROM cpu_time_by_process
ORDER BY cpu_time DESC
LIMIT 100

-- # CPU time by thread
-- How long each thread ran; doubtful_ms is additional time that may be wrong. process is a pattern for the name of its process; leave it empty for all.
SELECT utid, tid, thread_name, upid, pid, process_name, slices, round(cpu_time / 1e6, 3) AS cpu_ms, round(doubtful_time / 1e6, 3) AS doubtful_ms
FROM cpu_time_by_thread
WHERE :process = '' OR process_name GLOB :process
ORDER BY cpu_time DESC
LIMIT 100

-- # Longest waits for a CPU
-- Threads that were ready but had no CPU, without waits that may be wrong (doubt). process is a pattern for the name of their process; leave it empty for all.
SELECT ts, round(dur / 1e6, 3) AS waited_ms, utid, thread_name, process_name, state, waker_utid, waker_name
FROM thread_state_with_thread_process
WHERE state IN ('R', 'R+') AND dur > 0 AND doubt IS NULL AND (:process = '' OR process_name GLOB :process)
ORDER BY dur DESC
LIMIT 100

-- # What ran at a time
-- The thread that each CPU ran at a time ts, in ns.
SELECT cpu, ts, dur, utid, thread_name, upid, process_name
FROM sched_with_thread_process
WHERE ts <= CAST(:ts AS INTEGER) AND ts + dur > CAST(:ts AS INTEGER)
ORDER BY cpu

-- # Log lines
-- Lines of the Android log with this text in their message or tag; leave it empty for all.
SELECT ts, prio, tag, msg, utid, packet_id
FROM android_logs
WHERE instr(msg, :text) OR instr(tag, :text)
ORDER BY ts
LIMIT 1000

-- # Counters
-- Each counter, with the number of its values and their range. Select its values from counters by track_id.
SELECT track_id, track.name, track.type, track.unit, "values", least, most
FROM (SELECT track_id, count(*) AS "values", min(value) AS least, max(value) AS most FROM counter GROUP BY track_id)
JOIN counter_track AS track ON track.id = track_id
ORDER BY track.type, track.name
LIMIT 1000

-- # Packets by type
-- The packets of the trace by type, and the share of them on trace time.
SELECT type, count(*) AS packets, count(ts) AS placed, sum(size) AS bytes
FROM packet
GROUP BY type
ORDER BY packets DESC

-- # Kernel events by name
-- How often the recording has each kernel event, and the time of the first.
SELECT name, count(*) AS events, min(ts) AS first_ts
FROM ftrace_event
GROUP BY name
ORDER BY events DESC

-- # What could not be read
-- Unusual, lost or damaged data that the import found.
SELECT severity, code, packet_id, message
FROM import_log
ORDER BY id
LIMIT 1000
