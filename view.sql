CREATE VIEW finding AS
WITH RECURSIVE
trace_time AS MATERIALIZED (
SELECT max(iif(name = 'trace_time_clock_id', value, NULL)) AS clock_id,
coalesce(max(iif(name = 'trace_time_machine_id', value, NULL)), 0) AS machine_id,
coalesce(max(iif(name = 'conversion', value, NULL)), 'nearest') AS conversion
FROM fact
),
pair AS NOT MATERIALIZED (
SELECT id, ts, clock_id, clock_value, snapshot_id, machine_id, packet_id, seq_id, source, coalesce(trace_file_id, -1) AS file
FROM clock_snapshot
),
hop AS NOT MATERIALIZED (
SELECT *, coalesce(trace_file_id, -1) AS file, coalesce(to_trace_file_id, -1) AS to_file FROM clock_hop
),
bridge AS MATERIALIZED (
SELECT a.machine_id, a.clock_id, coalesce(a.trace_file_id, -1) AS file, b.machine_id AS to_machine
FROM clock_snapshot AS a JOIN clock_snapshot AS b ON b.snapshot_id = a.snapshot_id AND b.id <> a.id
WHERE a.source = 'assumed'
),
home AS NOT MATERIALIZED (
SELECT p.id AS packet_id, p.ts, c.clock_id, c.seq_id, c.machine_id, c.type, c.trace_file_id,
coalesce((SELECT x.file FROM packet_clock_record AS x WHERE x.packet_id = p.id),
(SELECT iif(p.id >= t.own_from OR t.is_pinned AND c.clock_id = 11, c.trace_file_id, -1)
FROM part AS t WHERE t.trace_file_id = c.trace_file_id AND t.machine_id = c.machine_id), -1) AS file
FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
),
unplaced AS MATERIALIZED (
SELECT coalesce(u.machine_id, p.machine_id) AS machine_id, iif(u.is_packet, p.clock_id, u.clock_id) AS clock_id,
iif(iif(u.is_packet, p.clock_id, u.clock_id) BETWEEN 64 AND 127, iif(u.is_packet, p.seq_id, u.seq_id), 0) AS seq_id,
iif(iif(u.is_packet, p.clock_id, u.clock_id) BETWEEN 64 AND 127, p.trace_file_id,
coalesce((SELECT x.file FROM packet_clock_record AS x WHERE x.packet_id = r.id),
(SELECT iif(r.id >= t.own_from OR t.is_pinned AND p.clock_id = 11, p.trace_file_id, -1)
FROM part AS t WHERE t.trace_file_id = p.trace_file_id AND t.machine_id = p.machine_id), -1)) AS file,
iif(u.is_packet, p.seq_id, u.seq_id) AS sequence, p.trace_file_id, u.reason, u.packet_id, u.events
FROM (
SELECT NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, unresolved AS reason, id AS packet_id, 1 AS events, 1 AS is_packet
FROM packet_record
WHERE unresolved IS NOT NULL
UNION ALL
SELECT s.machine_id, s.clock_id, s.seq_id, s.reason, min(e.packet_id), count(*), 0
FROM ftrace_unresolved AS s CROSS JOIN ftrace_record AS e ON e.id BETWEEN s.first_id AND s.last_id AND +e.ts IS NULL
GROUP BY s.first_id
UNION ALL
SELECT NULL, 1, NULL, unresolved, packet_id, 1, 0 FROM android_log_record WHERE unresolved IS NOT NULL
) AS u
CROSS JOIN packet_record AS r ON r.id = u.packet_id
CROSS JOIN packet_common AS p ON p.id = r.common_id
WHERE NOT u.is_packet OR p.type IS NOT 'clock_snapshot'
),
kernel_clock AS MATERIALIZED (
SELECT machine_id, clock_id, seq_id, file,
iif((SELECT count(*) FROM part) = 1, (SELECT count(*) FROM ftrace_record),
(SELECT count(*) FROM ftrace_record AS e CROSS JOIN packet_record AS r ON r.id = e.packet_id
CROSS JOIN packet_common AS p ON p.id = r.common_id
WHERE p.machine_id = k.machine_id AND k.file IN (-1, p.trace_file_id))) AS events
FROM (SELECT DISTINCT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) AS file FROM clock_snapshot WHERE source = 'ftrace' AND clock_id <> 6) AS k
),
clock_events AS MATERIALIZED (
SELECT machine_id, clock_id, seq_id, file, sum(events) AS events
FROM (
SELECT machine_id, clock_id, seq_id, file, packets AS events FROM clock_record
UNION ALL
SELECT p.machine_id, 1, 0, iif(r.id >= t.own_from, p.trace_file_id, -1), 1
FROM android_log_record AS l
CROSS JOIN packet_record AS r ON r.id = l.packet_id
CROSS JOIN packet_common AS p ON p.id = r.common_id
CROSS JOIN part AS t ON t.trace_file_id = p.trace_file_id AND t.machine_id = p.machine_id
UNION ALL
SELECT machine_id, clock_id, seq_id, file, events FROM kernel_clock
)
WHERE events > 0
GROUP BY machine_id, clock_id, seq_id, file
),
snapshot_packet AS MATERIALIZED (
SELECT snapshot_id, min(packet_id) AS packet_id FROM clock_snapshot GROUP BY snapshot_id
),
clock_packet AS MATERIALIZED (
SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) AS file, min(packet_id) AS packet_id FROM clock_snapshot GROUP BY 1, 2, 3, 4
),
told AS MATERIALIZED (
SELECT c.place, c.kind, s.name, s.idx, s.machine_id, s.trace_file_id, s.value, c.words, printf('%,d %s', s.value, c.words) AS said, c.advice
FROM (
SELECT column1 AS place, column2 AS kind, column3 AS name, column4 AS words, column5 AS advice
FROM (VALUES
(1, 'buffer', 'traced_buf_chunks_discarded', 'chunks discarded because it was full',
'Make the buffer larger (BufferConfig.size_kb), let it overwrite old data (fill_policy RING_BUFFER), or write while recording (TraceConfig.write_into_file).'),
(2, 'buffer', 'traced_buf_chunks_overwritten', 'chunks overwritten although it must not overwrite any',
'Make the buffer larger (BufferConfig.size_kb).'),
(3, 'buffer', 'traced_buf_trace_writer_packet_loss', 'times that a producer had no room in its shared memory',
'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb), or let them write less.'),
(4, 'buffer', 'traced_buf_patches_failed', 'packets that could not be completed',
'Make the buffer larger (BufferConfig.size_kb).'),
(5, 'buffer', 'traced_buf_chunks_committed_out_of_order', 'chunks that came out of order',
'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb).'),
(6, 'buffer', 'traced_buf_abi_violations', 'chunks that a producer wrote wrongly',
'Update the producer: it writes invalid data into its shared memory.'),
(7, 'buffer', 'traced_chunks_discarded', 'chunks for a buffer that does not exist',
'Find the producer that writes into a buffer that the configuration does not have (DataSourceConfig.target_buffer).'),
(8, 'buffer', 'traced_patches_discarded', 'ends of packets for a buffer that does not exist',
'Find the producer that writes into a buffer that the configuration does not have (DataSourceConfig.target_buffer).'),
(9, 'buffer', 'filter_errors', 'errors of the filter of the trace', 'Check TraceConfig.trace_filter.'),
(21, 'writer', 'traced_buf_sequence_packet_loss', 'gaps between packets', 'Make the buffers larger (BufferConfig.size_kb).'),
(22, 'writer', 'traced_buf_data_loss_smb_full', 'of them because shared memory was full',
'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb), or let them write less.'),
(23, 'writer', 'traced_buf_data_loss_overwrite', 'of them because a ring buffer wrapped before it was read',
'Read the buffers more often (TraceConfig.write_into_file with file_write_period_ms).'),
(24, 'writer', 'traced_buf_data_loss_read_gap', 'of them because chunks were missing at the read', 'Make the buffers larger (BufferConfig.size_kb).'),
(25, 'writer', 'traced_buf_data_loss_orphan_continuation', 'of them because the start of a packet was missing', 'Make the buffers larger (BufferConfig.size_kb).'),
(26, 'writer', 'traced_buf_data_loss_reassembly_gap', 'of them because the middle of a packet was missing', 'Make the buffers larger (BufferConfig.size_kb).'),
(27, 'writer', 'traced_buf_data_loss_reassembly_broken_chain', 'of them because the parts of a packet did not fit', 'Update the producer.'),
(28, 'writer', 'traced_buf_data_loss_chunk_corrupted', 'of them because a chunk was corrupt', 'Update the producer.'),
(29, 'writer', 'traced_buf_data_loss_writer_abort', 'of them because the writer abandoned a packet',
'Make the shared memory of the producers larger (ProducerConfig.shm_size_kb), or let them write less.'),
(30, 'writer', 'traced_flushes_failed', 'flushes that failed', 'Give producers more time to flush (TraceConfig.flush_timeout_ms).'),
(31, 'writer', 'traced_final_flush_failed', 'last flush that failed: the end of the recording may be missing',
'Give producers more time to flush (TraceConfig.flush_timeout_ms), and data sources to stop (TraceConfig.data_source_stop_timeout_ms).'),
(32, 'writer', 'traced_invalid_packets', 'packets that the recorder refused', 'Update the producer.')
)
) AS c
CROSS JOIN stats AS s ON s.name = c.name
WHERE s.value <> 0
),
way (machine_id, clock_id, seq_id, file, from_clock, to_clock, rest) AS (
SELECT machine_id, clock_id, seq_id, file, NULL, NULL, path || ' → '
FROM clock_record
WHERE path IS NOT NULL
UNION ALL
SELECT machine_id, clock_id, seq_id, file, to_clock, substr(rest, 1, instr(rest, ' → ') - 1), substr(rest, instr(rest, ' → ') + 3)
FROM way
WHERE rest <> ''
),
hop_clock AS MATERIALIZED (
SELECT h.id AS hop_id, h.source, h.drift_ppm, w.machine_id, w.clock_id, w.seq_id, w.file
FROM way AS w JOIN clock_hop AS h ON h.from_clock = w.from_clock AND h.to_clock = w.to_clock
UNION
SELECT id, source, drift_ppm, machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_hop
),
led AS MATERIALIZED (
SELECT machine_id, clock_id, seq_id, file, max(iif(source = 'remote_sync', coalesce(abs(drift_ppm), 0), NULL)) AS ppm,
coalesce(max(iif(source = 'remote_sync', NULL, abs(drift_ppm))), 0) AS own_ppm, max(source = 'manifest') AS is_manifest
FROM hop_clock
GROUP BY machine_id, clock_id, seq_id, file
),
hop_events AS MATERIALIZED (
SELECT w.hop_id, sum(e.events) AS events FROM hop_clock AS w JOIN clock_events AS e USING (machine_id, clock_id, seq_id, file) GROUP BY w.hop_id
),
source AS MATERIALIZED (
SELECT c.machine_id, c.clock_id, c.seq_id, c.file, c.unit_multiplier_ns AS unit, r.id AS route_id, t.clock_id AS trace_time, t.conversion
FROM clock_route AS r
JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
JOIN trace_time AS t ON r.to_clock_id = t.clock_id
WHERE (c.machine_id, c.clock_id, c.file) <> (t.machine_id, t.clock_id, -1)
),
reading AS MATERIALIZED (
SELECT r.route_id, r.packet_id, r.value, r.ts, l.kind,
r.value + l.offset
+ CAST(round((r.value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.slope) AS INTEGER) AS line_ts,
l.error + (r.value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.error_slope AS error
FROM (
SELECT s.route_id, v.packet_id, v.value * iif(v.is_packet, s.unit, 1) AS value, v.ts
FROM (
SELECT p.id AS packet_id, c.machine_id, c.trace_file_id, c.clock_id, iif(c.clock_id BETWEEN 64 AND 127, c.seq_id, 0) AS seq_id,
iif(c.is_trace_time, p.ts, p.clock_ts) AS value, p.ts, 1 AS is_packet
FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
WHERE p.ts IS NOT NULL AND (c.is_trace_time OR p.clock_ts IS NOT NULL) AND c.type IS NOT 'clock_snapshot'
UNION ALL
SELECT l.packet_id, p.machine_id, p.trace_file_id, 1, 0, l.timestamp, l.ts, 0
FROM android_log_record AS l CROSS JOIN packet_record AS q ON q.id = l.packet_id CROSS JOIN packet_common AS p ON p.id = q.common_id
WHERE l.ts IS NOT NULL
) AS v
CROSS JOIN source AS s
ON s.machine_id = v.machine_id AND s.clock_id = v.clock_id AND s.seq_id = v.seq_id
AND s.file = coalesce((SELECT x.file FROM packet_clock_record AS x WHERE x.packet_id = v.packet_id),
(SELECT iif(v.clock_id BETWEEN 64 AND 127 OR v.packet_id >= t.own_from OR t.is_pinned AND v.clock_id = 11, v.trace_file_id, -1)
FROM part AS t WHERE t.trace_file_id = v.trace_file_id AND t.machine_id = v.machine_id))
) AS r
CROSS JOIN clock_line AS l
ON l.route_id = r.route_id
AND l.start_value = (SELECT max(m.start_value) FROM clock_line AS m WHERE m.route_id = r.route_id AND m.start_value <= r.value)
),
backwards AS MATERIALIZED (
SELECT machine_id, clock_id, seq_id, file, row_number() OVER (ORDER BY machine_id, clock_id, seq_id, file) AS place
FROM clock_record WHERE NOT is_monotonic
),
stranded AS (
SELECT place, own, other,
CASE
WHEN other > 0 AND own > 0 THEN printf('%,d events could not be placed in time, %,d of them on other clocks that need it on the way to trace time.', own + other, other)
WHEN other > 0 THEN printf('%,d event%s on other clocks, which need it on the way to trace time, could not be placed in time.', other, iif(other = 1, '', 's'))
ELSE printf('%,d event%s on it could not be placed in time.', own, iif(own = 1, '', 's'))
END AS said
FROM (
SELECT coalesce(b.place, (SELECT min(o.place) FROM backwards AS o WHERE o.machine_id = u.machine_id), 1) AS place,
sum(iif(b.place, u.events, 0)) AS own, sum(iif(b.place, 0, u.events)) AS other
FROM unplaced AS u LEFT JOIN backwards AS b USING (machine_id, clock_id, seq_id, file)
WHERE u.reason = 'non_monotonic'
GROUP BY 1
)
),
turned AS (
SELECT t.*, s.said, iif(t.is_first, coalesce(s.own + s.other, 0), 0) AS lost
FROM (
SELECT c.machine_id, c.clock_id, c.seq_id, coalesce(c.trace_file_id, -1) AS file, c.kind, count(*) AS times, sum(c.packets) AS wrong,
min(c.wrong_packet_id) AS wrong_packet, max(c.worst_ns) AS worst, c.bits, c.turn_ns, c.before_packet_id, c.packet_id,
c.before_value / 1e9 AS before_s, c.value / 1e9 AS value_s, (c.end_ts - c.start_ts) / 1e9 AS gap_s,
min(c.id) = min(min(c.id)) OVER (PARTITION BY c.machine_id, c.clock_id, c.seq_id, c.trace_file_id) AS is_first
FROM clock_turn AS c
GROUP BY c.machine_id, c.clock_id, c.seq_id, c.trace_file_id, c.kind
) AS t
LEFT JOIN backwards AS b USING (machine_id, clock_id, seq_id, file)
LEFT JOIN stranded AS s USING (place)
),
clock_pace AS (
SELECT e.machine_id, e.clock_id, e.seq_id, e.file, min(h.interval_for_1us_s) AS interval_s, max(abs(h.drift_ppm)) AS ppm,
max(h.source = 'remote_sync') AS is_synced
FROM hop_clock AS e JOIN clock_hop AS h ON h.id = e.hop_id AND h.nominal_rate = 1
GROUP BY e.machine_id, e.clock_id, e.seq_id, e.file
),
drifting AS (
WITH steady AS (
SELECT *
FROM source AS s
WHERE (s.machine_id, s.clock_id, s.seq_id, s.file)
NOT IN (SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_hop WHERE nominal_rate <> 1)
AND EXISTS (SELECT * FROM clock_line AS l WHERE l.route_id = s.route_id AND l.slope <> 0)
AND conversion = 'nearest'
AND (s.machine_id, s.clock_id, s.seq_id, s.file) NOT IN (SELECT machine_id, clock_id, seq_id, file FROM led WHERE ppm > own_ppm)
),
off AS MATERIALIZED (
SELECT route_id, packet_id, line_ts, ts - line_ts AS off, abs(ts - line_ts) > max(coalesce(error, 0), 1000) AS is_off
FROM (
SELECT r.route_id, r.packet_id, r.line_ts, r.error,
r.value + (
SELECT s.offset FROM clock_step AS s
WHERE s.machine_id = c.machine_id AND s.clock_id = c.clock_id AND s.seq_id = c.seq_id AND s.file = c.file
AND s.to_clock_id = c.trace_time AND s.start_value <= r.value
ORDER BY s.start_value DESC LIMIT 1
) AS ts
FROM reading AS r CROSS JOIN steady AS c USING (route_id)
)
),
counted AS MATERIALIZED (
SELECT route_id, CAST(digits AS REAL) AS off, count(*) AS events, min(iif(is_off, packet_id, NULL)) AS packet_id,
max(iif(is_off, abs(off), NULL)) AS worst, total(is_off) AS moved_1us, total(is_off AND abs(off) > 1000000) AS moved_1ms
FROM (SELECT *, printf('%.2e', abs(off)) AS digits FROM off)
GROUP BY route_id, digits
),
moved AS (
SELECT s.machine_id, s.clock_id, s.seq_id, s.file, t.*
FROM (
SELECT route_id, sum(events) AS events, min(packet_id) AS packet_id, max(worst) AS worst, sum(moved_1us) AS moved_1us, sum(moved_1ms) AS moved_1ms,
min(iif(until >= (total + 1) / 2, off, NULL)) AS median
FROM (SELECT *, sum(events) OVER (PARTITION BY route_id ORDER BY off) AS until, sum(events) OVER (PARTITION BY route_id) AS total FROM counted)
GROUP BY route_id
HAVING max(worst) IS NOT NULL
) AS t
JOIN source AS s USING (route_id)
),
inverted AS MATERIALIZED (
SELECT iif(abs(off) >= abs(off_before), route_id, route_before) AS route_id, count(*) AS pairs
FROM (
SELECT route_id, line_ts, off, lag(route_id) OVER w AS route_before, lag(line_ts) OVER w AS line_before, lag(off) OVER w AS off_before
FROM (
SELECT route_id, line_ts, off FROM off
UNION ALL
SELECT NULL, p.ts, 0
FROM home AS p JOIN trace_time AS t USING (machine_id, clock_id)
WHERE p.file = -1 AND p.ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
)
WINDOW w AS (ORDER BY line_ts)
)
WHERE line_before + off_before > line_ts + off
GROUP BY 1
)
SELECT d.*, p.ppm, p.interval_s, p.is_synced
FROM (
SELECT m.machine_id, m.clock_id, m.seq_id, m.file, m.packet_id, m.events, CAST(m.moved_1us AS INTEGER) AS moved, CAST(m.moved_1ms AS INTEGER) AS moved_1ms,
m.worst, m.median, coalesce((SELECT i.pairs FROM inverted AS i WHERE i.route_id = m.route_id), 0) AS pairs, 0 AS is_kernel
FROM moved AS m
UNION ALL
SELECT h.machine_id, h.clock_id, h.seq_id, h.file, NULL, k.events, k.events, NULL, CAST(h.worst_error_nearest_ns AS INTEGER), NULL, NULL, 1
FROM hop AS h JOIN kernel_clock AS k USING (machine_id, clock_id, seq_id, file)
WHERE h.nominal_rate = 1 AND h.worst_error_nearest_ns > 1000 AND k.events > 0
AND (SELECT conversion FROM trace_time) = 'nearest'
) AS d
LEFT JOIN clock_pace AS p USING (machine_id, clock_id, seq_id, file)
)
SELECT check_name, severity, subject, machine_id, trace_file_id, clock_id, seq_id, packet_id, (SELECT p.offset FROM packet_record AS p WHERE p.id = packet_id) AS offset, events, worst_ns, replace(replace(replace(message, '{events}', coalesce(counted, '')), '{worst}', coalesce(worst, '')), '{subject}', coalesce(subject, '')) AS message, replace(advice, '{subject}', coalesce(subject, '')) AS advice FROM (
SELECT f.check_name, f.severity, coalesce(f.subject, CASE WHEN f.clock_id BETWEEN 64 AND 127 THEN f.clock_id || '@' || f.seq_id ELSE coalesce(CASE f.clock_id WHEN 1 THEN 'REALTIME' WHEN 2 THEN 'REALTIME_COARSE' WHEN 3 THEN 'MONOTONIC' WHEN 4 THEN 'MONOTONIC_COARSE' WHEN 5 THEN 'MONOTONIC_RAW' WHEN 6 THEN 'BOOTTIME' WHEN 9 THEN 'TSC' WHEN 10 THEN 'PERF' WHEN 11 THEN 'TRACE_FILE' END, f.clock_id) END || iif(f.machine_id, ' of machine ' || f.machine_id, '') || iif(f.file > 0, ' in file ' || f.file, '')) AS subject, f.machine_id, nullif(f.file, -1) AS trace_file_id, f.clock_id, f.seq_id, f.packet_id, CAST(f.events AS INTEGER) AS events, CAST(f.worst_ns AS INTEGER) AS worst_ns, f.message, f.advice, CASE WHEN f.worst_ns IS NULL THEN NULL WHEN f.worst_ns < 1000 THEN f.worst_ns || ' ns' WHEN f.worst_ns < 1000000 THEN printf('%.4g µs', f.worst_ns / 1e3) WHEN f.worst_ns < 1000000000 THEN printf('%.4g ms', f.worst_ns / 1e6) WHEN f.worst_ns < 7200000000000 THEN printf('%.5g s', f.worst_ns / 1e9) WHEN f.worst_ns < 172800000000000 THEN printf('%.3g hours', f.worst_ns / 3600e9) ELSE printf('%d days', f.worst_ns / 86400000000000) END AS worst, printf('%,d event%s', f.events, iif(f.events = 1, '', 's')) AS counted FROM (
SELECT 'boots_differ' AS check_name, * FROM (
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
LIMIT -1)
UNION ALL
SELECT 'buffer_wrapped' AS check_name, * FROM (
SELECT 'info' AS severity, 'buffer ' || buffer || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
printf('Buffer %d overwrote its oldest %,d chunk%s: the trace lacks the start of the recording.', buffer, chunks, iif(chunks = 1, '', 's')) AS message,
'If you need the start, make the buffer larger (BufferConfig.size_kb), or write while recording (TraceConfig.write_into_file with file_write_period_ms).' AS advice
FROM (
SELECT l.machine_id, l.buffer, p.trace_file_id AS file, min(l.packet_id) AS packet_id, total(l.count) AS chunks
FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE l.kind = 'buffer' AND l.severity = 'info'
GROUP BY l.machine_id, l.buffer, p.trace_file_id
)
LIMIT -1)
UNION ALL
SELECT 'clock_source_mixed' AS check_name, * FROM (
SELECT 'warning' AS severity, iif(machine_id, 'machine ' || machine_id || ' in ', '') || 'file ' || trace_file_id AS subject,
machine_id, NULL AS clock_id, NULL AS seq_id, trace_file_id AS file, own_from AS packet_id,
(SELECT count(*) FROM packet AS p
WHERE p.id < t.own_from AND p.trace_file_id = t.trace_file_id AND p.machine_id = t.machine_id AND p.ts IS NOT NULL) AS events, NULL AS worst_ns,
'{events} of file ' || trace_file_id || ' got times by the snapshots of other files of machine ' || machine_id
|| ', because the first snapshot of the file, packet ' || own_from || ', came later.' AS message,
'Write a ClockSnapshot at the start of each file, as the tracing service does, and the Perfetto SDK with each SEQ_INCREMENTAL_STATE_CLEARED.' AS advice
FROM part AS t
WHERE EXISTS (
SELECT * FROM import_log AS l
WHERE l.code = 'mixed_clock_sources' AND l.trace_file_id = t.trace_file_id AND l.machine_id = t.machine_id)
LIMIT -1)
UNION ALL
SELECT 'data_lost' AS check_name, * FROM (
SELECT 'warning' AS severity, iif(sequences = 1, 'sequence ' || id, printf('%,d sequences', sequences))
|| iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, iif(sequences = 1, id, NULL) AS seq_id, file, NULL AS packet_id, losses AS events, NULL AS worst_ns,
printf('The recorder lost packets at %,d place%s of %,d sequence%s. Table sequence has the losses of each.', losses, iif(losses = 1, '', 's'),
sequences, iif(sequences = 1, '', 's')) AS message,
'Make the buffer larger (BufferConfig.size_kb), or the shared memory of the producer (ProducerConfig.shm_size_kb).' AS advice
FROM (
SELECT machine_id, trace_file_id AS file, min(id) AS id, count(*) AS sequences, sum(losses) AS losses
FROM sequence AS s
WHERE losses > 0 AND NOT EXISTS (
SELECT * FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE l.kind = 'writer' AND l.seq_id = s.id AND l.machine_id = s.machine_id AND p.trace_file_id = s.trace_file_id
)
GROUP BY machine_id, trace_file_id
)
LIMIT -1)
UNION ALL
SELECT 'end_misplaced' AS check_name, * FROM (
SELECT 'warning' AS severity, coalesce(p.name || ' (' || p.pid || ')', 'process ' || p.pid, t.name || ' (' || t.tid || ')', 'thread ' || t.tid, 'tracks') || iif(c.machine_id, ' of machine ' || c.machine_id, '') AS subject,
c.machine_id, NULL AS clock_id, NULL AS seq_id, -1 AS file, c.packet_id, c.slices AS events, nullif(c.cross_ns, -1) AS worst_ns,
printf('%,d slice%s ended by the end of another slice', c.slices, iif(c.slices = 1, ' was', 's were'))
|| iif(c.slipped > 0, printf(', and %,d more may have the end of another', c.slipped), '') || '. '
|| iif(c.slices = 1, 'It is ', 'The first of the worst is ') || coalesce('''' || (SELECT value FROM string WHERE id = c.name) || '''', 'a slice without a name')
|| coalesce(' on thread ' || coalesce(t.name || ' (' || t.tid || ')', t.tid), '') || ', which begins at ' || c.ts || ' ns'
|| iif(c.reason = 'cut', ' and ends with ' || coalesce('''' || (SELECT value FROM string WHERE id = c.by_name) || '''', 'a slice without a name'),
' and ends by an end without a name')
|| iif(c.cross_ns >= 0, ', {worst} before its own end.', '; its own end never came.') AS message,
'Give spans that cross tracks of their own (a TrackDescriptor and TrackEvent.track_uuid for each), or end them in the reverse order of their begins. '
|| 'Write the name of the begin also into each TYPE_SLICE_END (TrackEvent.name or name_iid), so that an end without its slice closes no other one.' AS advice
FROM (
SELECT k.machine_id, coalesce(k.upid, t.upid) AS upid, total(m.reason IN ('cut', 'early')) AS slices, total(m.reason IN ('slipped', 'owed')) AS slipped,
max(iif(m.reason IN ('cut', 'early'), coalesce(m.end_ts - s.ts - s.dur, -1), NULL)) AS cross_ns,
s.packet_id, s.ts, s.name, b.name AS by_name, m.reason, k.utid
FROM misplaced_end AS m
CROSS JOIN slice_record AS s ON s.id = m.slice_id
CROSS JOIN slice_record AS b ON b.id = m.by_slice_id
CROSS JOIN track_record AS k ON k.id = s.track_id
LEFT JOIN thread_record AS t ON t.id = k.utid
GROUP BY 1, 2
) AS c
LEFT JOIN process_record AS p ON p.id = c.upid
LEFT JOIN thread_record AS t ON t.id = c.utid
LIMIT -1)
UNION ALL
SELECT 'events_dropped' AS check_name, * FROM (
SELECT 'error' AS severity, 'events' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file > 0, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, iif(sequences = 1, seq_id, NULL) AS seq_id, file, packet_id, events, NULL AS worst_ns,
'{events} made no row: ' || said || '. ' || iif(events = 1, 'It is ', 'The first is ') || coalesce('''' || name || '''', 'without a name')
|| coalesce(CASE
WHEN tid IS NULL THEN ' of process ' || pid
WHEN pid IS NULL THEN ' on thread ' || tid
ELSE ' on thread ' || tid || ' of process ' || pid
END, '') || coalesce(', at ' || ts || ' ns', '') || '.' AS message,
advice
FROM (
SELECT d.*, c.said,
CASE
WHEN d.cause = 'before_zero' AND (SELECT how FROM part AS t WHERE t.trace_file_id = d.file AND t.machine_id = d.machine_id) = 'manifest'
THEN 'Correct the offset of the file in the manifest (offset_ns): it moves these events before the start of trace time.'
ELSE c.advice
END AS advice
FROM (
SELECT f.cause, coalesce(f.machine_id, p.machine_id) AS machine_id, coalesce(f.trace_file_id, p.trace_file_id, -1) AS file,
sum(f.events) AS events, min(f.packet_id) AS packet_id, count(DISTINCT f.seq_id) AS sequences, f.seq_id, f.name, f.pid, f.tid, f.ts
FROM event_fault AS f
LEFT JOIN packet_record AS r ON r.id = f.packet_id
LEFT JOIN packet_common AS p ON p.id = r.common_id
WHERE f.effect = 'dropped'
GROUP BY 1, 2, 3
) AS d
JOIN (
SELECT column1 AS cause, column2 AS said, column3 AS advice
FROM (
VALUES
('no_sequence_id', 'a packet of a track event needs a sequence id',
'Set TracePacket.trusted_packet_sequence_id (10) in every packet: one number, not 0, for each writer.'),
('state_never_cleared', 'they rely on the state of their sequence, and no packet of the sequence says that it begins',
'Set TracePacket.sequence_flags (13) to 1, SEQ_INCREMENTAL_STATE_CLEARED, in the first packet of each sequence, and to 2, SEQ_NEEDS_INCREMENTAL_STATE, in later ones. '
|| 'If the writer does that, a ring buffer overwrote the packet: clear the state more often (IncrementalStateConfig.clear_period_ms).'),
('no_time', 'they have no time', 'Set TracePacket.timestamp (8) in the packet of each event.'),
('negative_time', 'their time is below 0', 'Write times of 0 and above in TrackEvent.timestamp_delta_us (1) and timestamp_absolute_us (16), or TracePacket.timestamp (8) instead.'),
('no_reference', 'they hold the difference to a time or to a count that their sequence has not stated',
'Write a ThreadDescriptor (44) with reference_timestamp_us, reference_thread_time_us and reference_thread_instruction_count in the first packet of each sequence, '
|| 'or write absolute values.'),
('before_zero', 'they are before time 0', 'Write times at which the clock was read. If a snapshot puts them before 0, read its clocks at the same moment (ClockSnapshot).'),
('no_track_uuid', 'a value or a state needs a track, and they name none', 'Set TrackEvent.track_uuid (11), or track_uuid in TracePacketDefaults.track_event_defaults.'),
('not_a_counter', 'they are values, and nothing describes their track as a counter',
'Write TrackDescriptor.counter (8) into the descriptor of the track that TrackEvent.track_uuid names; an empty CounterDescriptor is enough.'),
('not_a_state', 'they are states, and nothing describes their track as one of states', 'Write TrackDescriptor.state (18) into the descriptor of the track that TrackEvent.track_uuid names.'),
('no_value', 'a counter needs a value, and they have none', 'Set TrackEvent.counter_value (30) or double_counter_value (44).'),
('extra_values', 'their extra values do not fit the counters for them',
'Write as many TrackEvent.extra_counter_track_uuids (31) as extra_counter_values (12), and extra_double_counter_track_uuids (45) as extra_double_counter_values (46): '
|| 'at most 8, all of tracks with TrackDescriptor.counter (8).'),
('no_thread', 'they need a thread, a process or a track of their own, and name none',
'Set TrackEvent.track_uuid (11) to the uuid of a TrackDescriptor with thread (4), or LegacyEvent.pid_override (18) and tid_override (19), or write a ThreadDescriptor (44) on the sequence.'),
('no_track', 'their track cannot exist', 'Correct TrackDescriptor.parent_uuid (5): each parent needs a descriptor, and a track at most 98 parents, none of them itself.'),
('no_id', 'they need an id, and have none', 'Set LegacyEvent.unscoped_id (6), or local_id (10) or global_id (11).'),
('outside_slice', 'they are steps of flows outside any slice', 'Write the event of a flow while a slice of its thread is open, or TrackEvent.flow_ids (47) into the slice.'),
('negative_duration', 'their duration is negative', 'Write LegacyEvent.duration_us (3) of 0 and above: the end less the start.'),
('overlap', 'they begin inside a complete slice of their track, and end after it', 'Give slices that overlap tracks of their own (TrackEvent.track_uuid).'),
('too_deep', 'there are 512 slices below them', 'End each slice (TYPE_SLICE_END): slices without an end remain on the track, and contain all later ones.'),
('unknown_type', 'their type is missing or unknown',
'Set TrackEvent.type (9) to 1 to 5: TYPE_SLICE_BEGIN, TYPE_SLICE_END, TYPE_INSTANT, TYPE_COUNTER or TYPE_STATE; or LegacyEvent.phase (2). A newer timebase may know more types.'),
('incomplete', 'they lack a field, or name something that nothing describes', 'Write the field that table import_log names for these packets.'),
('no_callstack', 'they are samples without a time or a callstack',
'Write as many StreamingProfilePacket.timestamp_delta_us (2) as callstack_iid (1), and each callstack into InternedData.callstacks (7) before it is used.'),
('unreadable', 'their packets cannot be read', 'Copy the trace again. If it stays like that, the producer writes packets that are no protobuf messages: see table import_log.'),
('too_large', 'their packets are too large to be read', 'Write smaller packets.')
)
) AS c ON c.cause = d.cause
)
LIMIT -1)
UNION ALL
SELECT 'kernel_buffer_overrun' AS check_name, * FROM (
SELECT 'warning' AS severity, 'kernel buffers' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, events, NULL AS worst_ns,
trim(iif(cpus, printf('The kernel lost %,d event%s in the buffers of %,d CPU%s', lost, iif(lost = 1, '', 's'), cpus, iif(cpus = 1, '', 's'))
|| iif(places, printf('. It also says so before %,d bundle%s of events; table loss has the times', places, iif(places = 1, '', 's')), '') || '.', '')
|| iif(missed, printf(' It missed %,d hit%s of kprobes.', missed, iif(missed = 1, '', 's')), '')
|| iif(unread, ' The recorder could not read some of the kernel''s data, which is a bug in one of the two.', '')) AS message,
trim(iif(cpus, 'Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb), read them more often (FtraceConfig.drain_period_ms), or '
|| 'record fewer events (FtraceConfig.ftrace_events).', '')
|| iif(missed, ' Raise maxactive of the kretprobes.', '')
|| iif(unread, ' Report the trace to Perfetto, with the version of the kernel.', '')) AS advice
FROM (
SELECT l.machine_id, p.trace_file_id AS file, min(l.packet_id) AS packet_id, total(l.count) AS events, count(DISTINCT l.ucpu) AS cpus,
total(iif(l.ucpu IS NULL, 0, l.count)) AS lost, total(iif(l.ucpu IS NULL, l.count, 0)) AS missed,
max(l.ucpu IS NULL AND l.count IS NULL) AS unread,
(SELECT count(*) FROM loss AS k WHERE k.kind = 'kernel_events'
AND k.ucpu IN (SELECT b.ucpu FROM loss AS b WHERE b.kind = 'kernel_buffer' AND b.machine_id = l.machine_id)) AS places
FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE l.kind = 'kernel_buffer'
GROUP BY l.machine_id, p.trace_file_id
)
LIMIT -1)
UNION ALL
SELECT 'kernel_events_lost' AS check_name, * FROM (
SELECT 'warning' AS severity, 'kernel events' || iif(machine_id, ' of machine ' || machine_id, '') AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
-1 AS file, packet_id, NULL AS events, NULL AS worst_ns,
printf('The kernel lost events at %,d place%s on %,d CPU%s; table loss has the times.', places, iif(places = 1, '', 's'), cpus,
iif(cpus = 1, '', 's')) AS message,
'Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb), read them more often (FtraceConfig.drain_period_ms), or record fewer '
|| 'events (FtraceConfig.ftrace_events).' AS advice
FROM (
SELECT machine_id, count(*) AS places, count(DISTINCT ucpu) AS cpus, min(packet_id) AS packet_id
FROM loss
WHERE kind = 'kernel_events' AND coalesce(ucpu, -1) NOT IN (SELECT ucpu FROM loss WHERE kind = 'kernel_buffer' AND ucpu IS NOT NULL)
GROUP BY machine_id
)
LIMIT -1)
UNION ALL
SELECT 'manifest_entry_unused' AS check_name, * FROM (
SELECT 'warning' AS severity, 'manifest' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, NULL AS packet_id,
0 AS events, NULL AS worst_ns, rtrim(message, '.') || '.' AS message,
'Write files[].path as the archive names the file, with directories, and once; table trace_file has the names.' AS advice
FROM import_log
WHERE code = 'manifest_entry_ignored'
LIMIT -1)
UNION ALL
SELECT 'member_left_out' AS check_name, * FROM (
SELECT 'warning' AS severity, coalesce(f.name, 'file ' || l.trace_file_id) AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
l.trace_file_id AS file, NULL AS packet_id, 0 AS events, NULL AS worst_ns, rtrim(l.message, '.') || '.' AS message,
'Leave it out of the archive, or copy it again if it should be a trace.' AS advice
FROM import_log AS l LEFT JOIN trace_file AS f ON f.id = l.trace_file_id
WHERE l.code IN ('unknown_member', 'not_a_trace')
LIMIT -1)
UNION ALL
SELECT 'names_missing' AS check_name, * FROM (
SELECT 'warning' AS severity, 'names' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file > 0, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, iif(sequences = 1, seq_id, NULL) AS seq_id, file, packet_id, events, NULL AS worst_ns,
'The name of {events} is NULL: ' || said || '. ' || iif(events = 1, 'It is ', 'The first is ')
|| coalesce(CASE
WHEN tid IS NULL THEN 'of process ' || pid
WHEN pid IS NULL THEN 'on thread ' || tid
ELSE 'on thread ' || tid || ' of process ' || pid
END, 'on sequence ' || seq_id) || coalesce(', at ' || ts || ' ns', '') || '.' AS message,
advice
FROM (
SELECT d.*, c.said, c.advice
FROM (
SELECT cause, machine_id, coalesce(trace_file_id, -1) AS file, sum(events) AS events, min(packet_id) AS packet_id,
count(DISTINCT seq_id) AS sequences, seq_id, pid, tid, ts
FROM event_fault
WHERE effect = 'unnamed'
GROUP BY 1, 2, 3
) AS d
JOIN (
SELECT column1 AS cause, column2 AS said, column3 AS advice
FROM (
VALUES
('not_defined', 'no entry of InternedData.event_names has the number in TrackEvent.name_iid',
'Write InternedData.event_names (2) with this iid on the same sequence, in the packet of the event or before it, and again after each packet with SEQ_INCREMENTAL_STATE_CLEARED.'),
('iid_zero', 'InternedData.event_names has an entry with the number 0, and TrackEvent.name_iid 0 means no name', 'Number the entries of InternedData from 1.'),
('state_never_cleared', 'InternedData has the name, but it counts only after a packet says that the state of the sequence begins, and none does',
'Set TracePacket.sequence_flags (13) to 1, SEQ_INCREMENTAL_STATE_CLEARED, in the first packet of each sequence. '
|| 'If the writer does that, a ring buffer overwrote the packet: clear the state more often (IncrementalStateConfig.clear_period_ms).'),
('state_lost', 'the sequence lost packets, or begins before the trace has its state',
'Clear the incremental state more often (IncrementalStateConfig.clear_period_ms), or make the buffer larger (BufferConfig.size_kb).')
)
) AS c ON c.cause = d.cause
)
LIMIT -1)
UNION ALL
SELECT 'no_snapshot' AS check_name, * FROM (
SELECT 'info' AS severity, 'trace' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, NULL AS packet_id,
(SELECT count(*) FROM packet WHERE timestamp IS NOT NULL) AS events, NULL AS worst_ns,
'The trace has no snapshot of clocks, so the import kept the times of {events} as they are, and the time of day is unknown.' AS message,
'Write a ClockSnapshot at the start of the trace, with the clock of the events (ClockSnapshot.Clock.clock_id) and REALTIME (1).' AS advice
WHERE NOT EXISTS (SELECT * FROM clock_snapshot WHERE source <> 'assumed') AND EXISTS (SELECT * FROM packet WHERE ts IS NOT NULL)
LIMIT -1)
UNION ALL
SELECT 'primary_clock_late' AS check_name, * FROM (
SELECT 'warning' AS severity, 'trace time' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, min(packet_id) AS packet_id,
count(*) AS events, NULL AS worst_ns,
printf('%,d snapshot%s another clock of trace time than the current one; the first, packet %d: %s.', count(*),
iif(count(*) = 1, ' names', 's name'), min(packet_id), rtrim(message, '.')) AS message,
'Set ClockSnapshot.primary_trace_clock in the first snapshot of the trace, and always to the same clock. Do not put traces with different primary clocks into one file.' AS advice
FROM (
SELECT l.* FROM import_log AS l JOIN part AS t USING (trace_file_id, machine_id)
WHERE l.code = 'primary_clock_ignored' AND t.how = 'trace_time' ORDER BY l.id
)
HAVING count(*) > 0
LIMIT -1)
UNION ALL
SELECT 'profile_lost' AS check_name, * FROM (
SELECT 'warning' AS severity, iif(kind = 'heap', 'heap profile', 'samples')
|| iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, nullif(count, 0) AS events, NULL AS worst_ns,
iif(kind = 'heap', printf('heapprofd lost allocations in %,d dump%s: stats has the reasons by process (heapprofd_*).', places, iif(places = 1, '', 's')),
printf('The profiler lost or skipped %,d sample%s, in %,d report%s: stats has the reasons (perf_*).',
count, iif(count = 1, '', 's'), places, iif(places = 1, '', 's'))) AS message,
iif(kind = 'heap', 'Make the buffer of heapprofd larger (shmem_size_bytes), sample less often (sampling_interval_bytes), or profile fewer processes.',
'Sample less often (PerfEventConfig.timebase), profile fewer processes, or make the buffers larger (ring_buffer_pages).') AS advice
FROM (
SELECT l.kind, l.machine_id, p.trace_file_id AS file, min(l.packet_id) AS packet_id, count(*) AS places,
CAST(total(l.count) AS INTEGER) AS count
FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE l.kind IN ('samples', 'heap')
GROUP BY l.kind, l.machine_id, p.trace_file_id
)
LIMIT -1)
UNION ALL
SELECT 'rows_doubtful' AS check_name, * FROM (
SELECT iif(sure > 0, 'warning', 'info') AS severity, 'rows' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
-1 AS file, NULL AS packet_id, NULL AS events, NULL AS worst_ns,
'Of ' || said || ' may be wrong, as column doubt says.' AS message,
rtrim('Leave them out (WHERE doubt IS NULL), as reports do; ''timebase help doubt'' explains each word. '
|| iif(kernel, 'Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb) for sched_switch and sched_waking, and read them more often (FtraceConfig.drain_period_ms).', '')
|| iif(kernel AND writers, ' ', '')
|| iif(writers, 'Make the buffer larger (BufferConfig.size_kb), or the shared memory of the producer (ProducerConfig.shm_size_kb).', '')) AS advice
FROM (
SELECT total(sure) AS sure, max(place < 3) AS kernel, max(place > 2 AND lost > 0) AS writers,
group_concat(printf('%,d %s %,d', "rows", words, doubtful)
|| iif(doubtful_ns > 0, printf(' (%.*f %% of their time)', iif(100 * doubtful_ns < ns, 2, 0), 100 * doubtful_ns / ns), ''), ', of ') AS said
FROM (
SELECT k.place, iif(k.place = 1, 'slices of CPUs', 'states of threads') AS words, iif(k.place = 1, a.slices, a.states + o.states) AS "rows",
iif(k.place = 1, d.slices, d.states + o.doubtful) AS doubtful, iif(k.place = 1, d.slices, d.sure + o.sure) AS sure,
iif(k.place = 1, a.cpu_ns, a.ns + o.ns) AS ns, iif(k.place = 1, d.cpu_ns, d.ns + o.doubtful_ns) AS doubtful_ns, 0 AS lost
FROM (
SELECT count(*) AS slices, total(iif(dur > 0, dur, 0)) AS cpu_ns, total(is_state) + count(after) + count(runnable) AS states,
total(iif(is_state AND dur > 0, dur, 0)) + total(iif(after > 0, after, 0)) + total(iif(runnable > 0, runnable, 0)) AS ns
FROM sched_record
WHERE (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0
) AS a
CROSS JOIN (
SELECT count(nullif(doubt & 7, 0)) AS slices, total(iif(doubt & 7, max(dur, 0), 0)) AS cpu_ns,
total(is_state AND doubt >> 3 & 7) + total(after IS NOT NULL AND doubt >> 6 & 7) + total(runnable IS NOT NULL AND doubt >> 9) AS states,
total(is_state AND doubt >> 3 & 7) + total(runnable IS NOT NULL AND doubt >> 9)
+ total(after IS NOT NULL AND doubt >> 6 & 7 AND NOT (doubt >> 6 & 7 = 2 AND end_state IN (SELECT id FROM string WHERE value = 'R+'))) AS sure,
total(iif(is_state AND doubt >> 3 & 7, max(dur, 0), 0)) + total(iif(doubt >> 6 & 7, max(after, 0), 0))
+ total(iif(doubt >> 9, max(runnable, 0), 0)) AS ns
FROM sched_record
WHERE doubt IS NOT NULL AND (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0
) AS d
CROSS JOIN (
SELECT count(*) AS states, count(doubt) AS doubtful, total(doubt IS NOT NULL AND NOT (doubt = 2 AND state IN (SELECT id FROM string WHERE value = 'R+'))) AS sure,
total(iif(dur > 0, dur, 0)) AS ns, total(iif(doubt, max(dur, 0), 0)) AS doubtful_ns
FROM thread_state_record
WHERE (SELECT max(value) FROM stats WHERE name = 'thread_states_doubtful') > 0
) AS o
CROSS JOIN (SELECT 1 AS place UNION ALL SELECT 2) AS k
UNION ALL
SELECT 3, 'slices', count(*), count(doubt), count(doubt), total(iif(dur > 0, dur, 0)), total(iif(doubt, max(dur, 0), 0)), total(doubt = 5)
FROM slice_record
WHERE (SELECT max(value) FROM stats WHERE name = 'slices_doubtful') > 0
UNION ALL
SELECT 4, 'values of counters', count(*), count(doubt), count(doubt), 0, 0, count(doubt)
FROM counter_record
WHERE (SELECT max(value) FROM stats WHERE name = 'values_doubtful') > 0
ORDER BY place
)
WHERE doubtful > 0
)
WHERE said IS NOT NULL
LIMIT -1)
UNION ALL
SELECT 'setup_failed' AS check_name, * FROM (
SELECT 'warning' AS severity, 'setup' || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
printf('The recording lacks %,d thing%s that its configuration asked for', errors, iif(errors = 1, '', 's'))
|| coalesce(': ' || (
SELECT group_concat(message, '; ')
FROM (SELECT g.message FROM import_log AS g
WHERE g.code = 'ftrace_setup_errors' AND g.machine_id IS l.machine_id AND g.trace_file_id IS l.file ORDER BY g.id LIMIT 5)
) || iif(errors > 5, '; … (table import_log has all)', ''), '') || '.' AS message,
'Ask for events that this kernel has (FtraceConfig.ftrace_events; /sys/kernel/tracing/available_events lists them). Let the recorder read /sys/kernel/tracing and, '
|| 'for the names of functions, /proc/kallsyms (kernel.kptr_restrict = 0).' AS advice
FROM (
SELECT l.machine_id, p.trace_file_id AS file, count(*) AS errors, min(l.packet_id) AS packet_id
FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE l.kind = 'setup'
GROUP BY l.machine_id, p.trace_file_id
) AS l
LIMIT -1)
UNION ALL
SELECT 'snapshot_rejected' AS check_name, * FROM (
SELECT 'warning' AS severity, code || iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
trace_file_id AS file, min(packet_id) AS packet_id,
count(*) AS events, NULL AS worst_ns,
printf('%,d snapshot%s rejected; the first, packet %d: %s.', count(*), iif(count(*) = 1, ' was', 's were'),
min(packet_id), rtrim(message, '.')) AS message,
CASE code
WHEN 'snapshot_no_clock_id' THEN 'Set ClockSnapshot.Clock.clock_id of each reading.'
WHEN 'snapshot_no_sequence_id' THEN 'Set TracePacket.trusted_packet_sequence_id of the packet with the ClockSnapshot, or use a global clock (128 and above).'
WHEN 'snapshot_duplicate_clock' THEN 'Put each ClockSnapshot.Clock.clock_id into a ClockSnapshot once.'
WHEN 'snapshot_unit_changed' THEN 'Keep ClockSnapshot.Clock.unit_multiplier_ns and is_incremental of a clock as in its first ClockSnapshot.'
WHEN 'snapshot_incremental_not_scoped' THEN 'Set ClockSnapshot.Clock.is_incremental of clocks 64 to 127 only.'
WHEN 'snapshot_trace_time_unit' THEN 'Leave ClockSnapshot.Clock.unit_multiplier_ns of the primary_trace_clock unset.'
WHEN 'snapshot_trace_time_backwards' THEN 'Name a clock that does not go back in ClockSnapshot.primary_trace_clock, and do not put traces of several boots into one file.'
WHEN 'remote_sync_same_machine' THEN 'Set TracePacket.machine_id of packets with a RemoteClockSync to the machine that asked, as traced does. Do not give both machines the same name in a manifest.'
WHEN 'snapshot_overflow' THEN 'Check ClockSnapshot.Clock.timestamp and unit_multiplier_ns, the nanoseconds in one count.'
ELSE 'See the message, and ClockSnapshot in Perfetto''s clock_snapshot.proto.'
END AS advice
FROM (SELECT * FROM import_log WHERE code LIKE 'snapshot\_%' ESCAPE '\' OR code = 'remote_sync_same_machine' ORDER BY id)
GROUP BY code, trace_file_id
LIMIT -1)
UNION ALL
SELECT 'switches_missed' AS check_name, * FROM (
SELECT 'warning' AS severity, 'CPUs' || iif(machine_id, ' of machine ' || machine_id, '') AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
-1 AS file, packet_id, switches AS events, NULL AS worst_ns,
printf('%,d event%s of %,d CPU%s show%s that an earlier switch is missing; table loss has the times.', switches, iif(switches = 1, '', 's'), cpus,
iif(cpus = 1, '', 's'), iif(switches = 1, 's', '')) AS message,
'Leave out rows that may be wrong (WHERE doubt IS NULL). Make the kernel''s buffers larger (FtraceConfig.buffer_size_kb) for sched_switch and sched_waking, and read '
|| 'them more often (FtraceConfig.drain_period_ms).' AS advice
FROM (
SELECT machine_id, count(*) AS switches, count(DISTINCT ucpu) AS cpus, min(packet_id) AS packet_id FROM loss WHERE kind = 'switch' GROUP BY machine_id
)
LIMIT -1)
UNION ALL
SELECT 'sync_out_of_order' AS check_name, * FROM (
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
LIMIT -1)
UNION ALL
SELECT 'trace_damaged' AS check_name, * FROM (
SELECT 'warning' AS severity, iif(file, 'file ' || file, 'trace') AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id,
file, packet_id, events, NULL AS worst_ns,
iif(file, 'File ' || file, 'The trace') || printf(' is damaged in %,d place%s; the first: %s.', places, iif(places = 1, '', 's'), rtrim(message, '.'))
|| iif(events > 0, ' After the damage, the times of {events} are sums of deltas, and may be too early.', '') AS message,
'Copy the trace again, and see table import_log. TraceConfig.write_into_file with file_write_period_ms loses less when a recorder is killed.' AS advice
FROM (
SELECT d.*, (SELECT l.message FROM import_log AS l WHERE l.id = d.first) AS message,
(SELECT count(*) FROM unsure_record AS u JOIN import_log AS l ON l.id = u.log_id
WHERE u.time AND l.trace_file_id IS d.file) AS events
FROM (
SELECT trace_file_id AS file, count(*) AS places, min(packet_id) AS packet_id, min(id) AS first
FROM import_log AS l
WHERE code IN ('cut', 'damaged', 'corrupt_packet', 'corrupt_payload')
AND NOT EXISTS (SELECT * FROM import_log AS n WHERE n.code = 'not_a_trace' AND n.trace_file_id = l.trace_file_id)
GROUP BY trace_file_id
) AS d
)
LIMIT -1)
UNION ALL
SELECT 'boot_assumed' AS check_name, * FROM (
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
LIMIT -1)
UNION ALL
SELECT 'buffer_lost' AS check_name, * FROM (
SELECT 'warning' AS severity, coalesce('buffer ' || buffer, 'recorder') || iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, NULL AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
coalesce('Buffer ' || buffer, 'The recorder') || ' lost data: '
|| (SELECT group_concat(said, ', ') FROM (SELECT t.said FROM told AS t WHERE t.kind = 'buffer' AND t.name <> l.meant AND t.idx IS l.buffer
AND t.machine_id = l.machine_id AND t.trace_file_id = l.file ORDER BY t.place)) || '.' AS message,
(SELECT group_concat(advice, ' ') FROM (SELECT DISTINCT t.advice FROM told AS t WHERE t.kind = 'buffer' AND t.name <> l.meant AND t.idx IS l.buffer
AND t.machine_id = l.machine_id AND t.trace_file_id = l.file ORDER BY t.place)) AS advice
FROM (
SELECT l.machine_id, l.buffer, p.trace_file_id AS file, min(l.packet_id) AS packet_id,
iif(max(l.severity = 'info'), 'traced_buf_chunks_overwritten', '') AS meant
FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE l.kind = 'buffer'
GROUP BY l.machine_id, l.buffer, p.trace_file_id
HAVING max(l.severity = 'data_loss')
) AS l
LIMIT -1)
UNION ALL
SELECT 'clock_backwards' AS check_name, * FROM (
WITH bad AS MATERIALIZED (
SELECT s.* FROM backwards AS c JOIN pair AS s USING (machine_id, clock_id, seq_id, file)
),
held AS MATERIALIZED (
SELECT snapshot_id, group_concat(clock) AS clocks
FROM (
SELECT snapshot_id, machine_id || '/' || clock_id || '/' || seq_id || '/' || file AS clock FROM pair
WHERE snapshot_id IN (SELECT snapshot_id FROM bad) ORDER BY snapshot_id, machine_id, clock_id, seq_id, file
)
GROUP BY snapshot_id
),
jump AS (
SELECT machine_id, clock_id, seq_id, file, count(*) AS times, min(packet_id) AS packet_id, max(back) AS back
FROM (
SELECT b.*, lag(clock_value) OVER (PARTITION BY machine_id, clock_id, seq_id, file, h.clocks ORDER BY b.id) - clock_value AS back
FROM bad AS b JOIN held AS h USING (snapshot_id)
)
WHERE back > 0
GROUP BY machine_id, clock_id, seq_id, file
)
SELECT iif(u.own + u.other > 0, 'error', 'warning') AS severity, NULL AS subject, c.machine_id, c.clock_id, c.seq_id, c.file, j.packet_id,
coalesce(u.own + u.other, 0) AS events, j.back AS worst_ns,
'Clock {subject} went backwards' || coalesce(
printf(iif(j.times = 1, ' in a snapshot', ' in %,d snapshots'), j.times) || ', by {worst}'
|| iif(j.times = 1, ', in packet ', ' at most, first in packet ') || j.packet_id, '') || '. '
|| coalesce(u.said, 'No event uses it.') AS message,
CASE
WHEN u.other > 0 AND u.own = 0 THEN 'Put BOOTTIME (ClockSnapshot.Clock.clock_id 6), not {subject}, into the ClockSnapshot of the other clocks.'
WHEN c.clock_id IN (1, 2) THEN 'Take timestamps from BOOTTIME or MONOTONIC (TracePacket.timestamp_clock_id 6 or 3): REALTIME goes back when somebody sets it.'
ELSE 'Use a clock that never goes back for TracePacket.timestamp_clock_id.'
END AS advice
FROM backwards AS c
LEFT JOIN jump AS j USING (machine_id, clock_id, seq_id, file)
LEFT JOIN stranded AS u USING (place)
WHERE (c.clock_id <> 2 OR u.own + u.other > 0)  -- REALTIME_COARSE goes back with REALTIME
AND (c.machine_id, c.clock_id, c.seq_id, c.file) NOT IN (SELECT machine_id, clock_id, seq_id, coalesce(trace_file_id, -1) FROM clock_turn)
LIMIT -1)
UNION ALL
SELECT 'clock_not_nanoseconds' AS check_name, * FROM (
WITH counter AS (
SELECT h.id AS hop_id, h.machine_id, h.clock_id, h.seq_id, h.file, h.nominal_rate, c.scope,
1e9 / (h.nominal_rate * c.unit_multiplier_ns) AS hz, c.unit_multiplier_ns AS unit,
coalesce(e.events, 0) AS events
FROM hop AS h JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file) LEFT JOIN hop_events AS e ON e.hop_id = h.id
WHERE h.nominal_rate <> 1 AND h.nominal_rate > 0 AND h.clock_id > 6
AND abs(h.nominal_rate - 1) * (c.last_value - c.first_value) > 100000
),
off AS (
SELECT h.id AS hop_id, min(r.packet_id) AS packet_id, max(abs(r.ts - r.line_ts)) AS worst
FROM hop AS h
JOIN source AS s USING (machine_id, clock_id, seq_id, file)
JOIN reading AS r USING (route_id)
WHERE h.nominal_rate <> 1
GROUP BY h.id
)
SELECT iif(c.events > 0, 'error', 'warning') AS severity, NULL AS subject,
c.machine_id, c.clock_id, c.seq_id, c.file, o.packet_id, c.events, o.worst AS worst_ns,
'Clock {subject} counts at '
|| CASE WHEN c.hz >= 1e9 THEN printf('%.6g GHz', c.hz / 1e9) WHEN c.hz >= 1e6 THEN printf('%.6g MHz', c.hz / 1e6)
WHEN c.hz >= 1e3 THEN printf('%.6g kHz', c.hz / 1e3) ELSE printf('%.6g Hz', c.hz) END
|| ', but its unit says ' || c.unit || ' ns. For each second to the snapshot, nearest neighbour is off by '
|| printf('%.3g s', abs(1 / c.nominal_rate - 1)) || '. '
|| iif(c.events > 0, 'The times of {events} need the clock' || iif(o.worst > 0, ': they are up to {worst} wrong.', '.'), 'No event needs the clock.') AS message,
'Convert to nanoseconds before writing, or set ClockSnapshot.Clock.unit_multiplier_ns to the length of a count, if that is a whole number of nanoseconds'
|| iif(abs(1e9 / c.hz - round(1e9 / c.hz)) < 1e-4 * (1e9 / c.hz) AND 1e9 / c.hz > 1.5, printf(' (here %d)', round(1e9 / c.hz)), '')
|| '. ''timebase import --conversion linear'' places the events of this trace correctly.' AS advice
FROM counter AS c LEFT JOIN off AS o USING (hop_id)
WHERE c.events > 0 OR c.scope <> 'builtin'
LIMIT -1)
UNION ALL
SELECT 'clock_restarted' AS check_name, * FROM (
SELECT iif(wrong + lost > 0, 'error', 'warning') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file,
coalesce(wrong_packet, packet_id) AS packet_id, wrong + lost AS events, worst AS worst_ns,
printf('Clock {subject} restarted between its snapshots in packets %d and %d: it read %.6g s, and %.4g s later %.6g s', before_packet_id, packet_id, before_s, gap_s, value_s)
|| iif(times > 1, printf('; it restarted %,d times in all. ', times), '. ')
|| iif(wrong > 0, printf('%,d event%s after that %s placed as if before it, up to {worst} off. ', wrong, iif(wrong = 1, '', 's'), iif(wrong = 1, 'was', 'were')), '')
|| iif(lost > 0, said, iif(wrong > 0, '', 'No event has a wrong time because of it.')) AS message,
'Give the clock another clock_id whenever it starts again, or take timestamps from BOOTTIME (TracePacket.timestamp_clock_id 6). '
|| '''timebase import --conversion linear'' treats each life as a separate clock.' AS advice
FROM turned
WHERE kind = 'restart'
LIMIT -1)
UNION ALL
SELECT 'clock_stepped' AS check_name, * FROM (
WITH step AS (
SELECT r.hop_id, count(*) AS times, max(abs(r.deviation_ns)) AS worst, max(r.deviation_ns) AS forward, min(p.packet_id) AS packet_id
FROM clock_hop_reading AS r LEFT JOIN snapshot_packet AS p USING (snapshot_id)
WHERE r.kind = 'step'
GROUP BY r.hop_id
),
inside AS (
SELECT h.hop_id, sum(r.events) AS events
FROM (SELECT route_id, count(*) AS events FROM reading WHERE kind = 'step' GROUP BY route_id) AS r
JOIN source AS s USING (route_id)
JOIN hop_clock AS h USING (machine_id, clock_id, seq_id, file)
GROUP BY h.hop_id
)
SELECT iif(events > 0, 'warning', 'info') AS severity, subject, machine_id, clock_id, seq_id, file, packet_id, events, worst_ns,
printf(iif(times = 1, 'Between two snapshots ', '%,d times between two snapshots '), times) || to_clock
|| iif(forward > 0, ' went {worst} more than ', ' went {worst} less than ') || from_clock || iif(times = 1, '', ' at most')
|| CASE
WHEN source = 'remote_sync' THEN ': one of the machines was suspended or its clock set, or a synchronization was slow.'
WHEN worst_ns < 100000 THEN ', as if the two were not read together.'
WHEN clock_id IN (3, 4, 5) AND to_clock_id = 6 AND forward > 0 THEN ': the machine was suspended.'
WHEN clock_id IN (1, 2) OR to_clock_id IN (1, 2) THEN ': the wall clock was set.'
ELSE ': a clock was set, stood still or started again.'
END
|| iif(events > 0, ' The times of {events} in between may be off by that.', ' No event lies in between.') AS message,
CASE
WHEN source = 'remote_sync' THEN 'Synchronize the machines again right after a suspend.'
WHEN clock_id IN (1, 2) THEN 'Take timestamps from BOOTTIME (TracePacket.timestamp_clock_id 6), which nobody sets.'
WHEN clock_id IN (3, 4, 5) THEN 'Take timestamps from BOOTTIME (TracePacket.timestamp_clock_id 6), which counts suspends.'
ELSE 'Write a ClockSnapshot right after somebody sets the clock or the machine resumes.'
END
|| iif(source = 'remote_sync', '', ' A shorter TraceConfig.builtin_data_sources.snapshot_interval_ms narrows the gap.') AS advice
FROM (
SELECT h.from_clock || ' → ' || h.to_clock AS subject, h.from_clock, h.to_clock, h.machine_id, h.clock_id, h.seq_id, h.file, h.source, h.to_clock_id,
s.packet_id, s.times, s.forward, CAST(round(s.worst) AS INTEGER) AS worst_ns,
coalesce(i.events, 0) AS events
FROM step AS s JOIN hop AS h ON h.id = s.hop_id LEFT JOIN inside AS i USING (hop_id)
)
WHERE events > 0 OR worst_ns > 100000 AND clock_id NOT IN (2, 4, 5)
LIMIT -1)
UNION ALL
SELECT 'clock_unconnected' AS check_name, * FROM (
WITH beside_bad AS MATERIALIZED (
SELECT DISTINCT s.machine_id, s.clock_id, s.seq_id, s.file
FROM clock_record AS b
JOIN pair AS o USING (machine_id, clock_id, seq_id, file)
JOIN pair AS s ON s.snapshot_id = o.snapshot_id
WHERE NOT b.is_monotonic
),
lost AS (
SELECT machine_id, clock_id, seq_id, file, sum(events) AS events, min(packet_id) AS packet_id
FROM unplaced WHERE reason = 'no_path' GROUP BY machine_id, clock_id, seq_id, file
)
SELECT 'error' AS severity, NULL AS subject, c.machine_id, c.clock_id, c.seq_id, c.file,
coalesce(l.packet_id, f.packet_id) AS packet_id,
coalesce(l.events, 0) AS events, NULL AS worst_ns,
printf('%,d snapshot%s clock {subject}, but none has another clock that leads to BOOTTIME; ',
c.snapshots, iif(c.snapshots = 1, ' reads', 's read'))
|| iif(l.events > 0, '{events} on it could not be placed in time.', 'an event on it could not be placed in time.') AS message,
'In each ClockSnapshot with this clock, also read a builtin clock at the same instant: add a second '
|| 'ClockSnapshot.Clock with clock_id 6, BOOTTIME.' AS advice
FROM clock_record AS c
LEFT JOIN lost AS l USING (machine_id, clock_id, seq_id, file)
LEFT JOIN clock_packet AS f USING (machine_id, clock_id, seq_id, file)
WHERE c.snapshots > 0 AND c.path IS NULL AND c.is_monotonic AND (c.scope <> 'builtin' OR l.events > 0)
AND (c.machine_id, c.clock_id, c.seq_id, c.file) NOT IN (SELECT machine_id, clock_id, seq_id, file FROM beside_bad)
AND EXISTS (SELECT * FROM clock_record AS o WHERE o.machine_id = c.machine_id AND o.path IS NOT NULL)
AND NOT EXISTS (SELECT * FROM part AS t WHERE t.machine_id = c.machine_id AND t.trace_file_id = c.file AND t.own_from IS NOT NULL AND t.how = 'unplaced')
AND EXISTS (SELECT * FROM clock_record AS b JOIN trace_time AS t USING (machine_id) WHERE b.clock_id = 6 AND b.file = -1 AND b.snapshots > 0)
LIMIT -1)
UNION ALL
SELECT 'clock_undefined' AS check_name, * FROM (
SELECT 'error' AS severity, iif(clock_id IS NULL, 'kernel events', NULL) AS subject, machine_id, clock_id, seq_id, file, min(packet_id) AS packet_id,
sum(events) AS events, NULL AS worst_ns,
iif(clock_id IS NULL, 'Nothing says which clock the bundles of these kernel events read, so {events} could not be placed in time.',
'No snapshot reads clock {subject}, so {events} on it could not be placed in time.') AS message,
CASE
WHEN clock_id IS NULL THEN 'Record kernel events with a clock that has a name: FtraceConfig.use_monotonic_raw_clock, or the default, boot.'
WHEN clock_id < 64 THEN 'Leave the clock snapshots of the tracing service on: do not set TraceConfig.builtin_data_sources.disable_clock_snapshotting.'
ELSE 'Write a ClockSnapshot with this clock and a builtin one: ClockSnapshot.Clock.clock_id ' || clock_id || ' and 6, BOOTTIME.'
END AS advice
FROM unplaced
WHERE reason = 'unknown_clock' AND (clock_id IS NULL OR clock_id NOT BETWEEN 64 AND 127)
GROUP BY machine_id, clock_id, file
LIMIT -1)
UNION ALL
SELECT 'clock_wrapped' AS check_name, * FROM (
SELECT iif(wrong + lost > 0, 'error', 'warning') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file,
coalesce(wrong_packet, packet_id) AS packet_id, wrong + lost AS events, worst AS worst_ns,
printf('Clock {subject} counts to 2^%d and begins again at 0, every ', bits)
|| CASE WHEN turn_ns < 1e6 THEN printf('%.4g µs', turn_ns / 1e3) WHEN turn_ns < 1e9 THEN printf('%.4g ms', turn_ns / 1e6)
WHEN turn_ns < 7200e9 THEN printf('%.4g s', turn_ns / 1e9) ELSE printf('%.3g hours', turn_ns / 3600e9) END
|| printf(': it wrapped between its snapshots in packets %d and %d, %.4g s apart', before_packet_id, packet_id, gap_s)
|| iif(times > 1, printf(', and between %,d more later. ', times - 1), '. ')
|| iif(wrong > 0, printf('%,d event%s after that %s placed as if before it, up to {worst} off. ', wrong, iif(wrong = 1, '', 's'), iif(wrong = 1, 'was', 'were')), '')
|| iif(lost > 0, said, iif(wrong > 0, '', 'No event has a wrong time because of it.')) AS message,
'Record the counter with 64 bits, or add up its turns before writing. A ClockSnapshot in each turn shows them. '
|| '''timebase import --conversion linear'' continues it over the turns.' AS advice
FROM turned
WHERE kind = 'wrap'
LIMIT -1)
UNION ALL
SELECT 'coarse_clock' AS check_name, * FROM (
SELECT 'warning' AS severity, NULL AS subject, e.machine_id, e.clock_id, e.seq_id, e.file, NULL AS packet_id, e.events, 10000000 AS worst_ns,
'The times of {events} are from {subject}, which stands still for up to {worst}.' AS message,
'Read ' || iif(e.clock_id = 2, 'REALTIME', 'MONOTONIC') || ' or BOOTTIME instead, and name it in TracePacket.timestamp_clock_id ('
|| iif(e.clock_id = 2, 1, 3) || ' or 6).' AS advice
FROM clock_events AS e
WHERE e.clock_id IN (2, 4)
LIMIT -1)
UNION ALL
SELECT 'drift' AS check_name, * FROM (
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
LIMIT -1)
UNION ALL
SELECT 'far_from_snapshot' AS check_name, * FROM (
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
WHERE error > 100000 AND kind <> 'step'
GROUP BY route_id
) AS f
JOIN source AS s USING (route_id)
LEFT JOIN led AS y USING (machine_id, clock_id, seq_id, file)
WHERE s.clock_id NOT IN (2, 4)
AND NOT ifnull(y.is_manifest, 0)
GROUP BY 1, 2, 3, 4
)
LIMIT -1)
UNION ALL
SELECT 'flow_backwards' AS check_name, * FROM (
WITH ends AS (
SELECT f.id, o.machine_id AS machine_out, coalesce(o.clock_id, 3) AS clock_out, iif(o.clock_id BETWEEN 64 AND 127, o.seq_id, 0) AS seq_out,
iif(o.clock_id BETWEEN 64 AND 127, o.trace_file_id, o.file) AS file_out,
i.machine_id AS machine_in, coalesce(i.clock_id, 3) AS clock_in, iif(i.clock_id BETWEEN 64 AND 127, i.seq_id, 0) AS seq_in,
iif(i.clock_id BETWEEN 64 AND 127, i.trace_file_id, i.file) AS file_in,
coalesce(o.ts, (SELECT s.ts FROM slice_record AS s WHERE s.id = f.slice_out))
- coalesce(i.ts, (SELECT s.ts FROM slice_record AS s WHERE s.id = f.slice_in)) AS back,
f.packet_in,
(SELECT coalesce(p.name || ' (' || p.pid || ')', 'pid ' || p.pid) FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
LEFT JOIN thread_record AS t ON t.id = k.utid JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid)
WHERE s.id = f.slice_out) AS process_out,
(SELECT coalesce(p.name || ' (' || p.pid || ')', 'pid ' || p.pid) FROM slice_record AS s JOIN track_record AS k ON k.id = s.track_id
LEFT JOIN thread_record AS t ON t.id = k.utid JOIN process_record AS p ON p.id = coalesce(k.upid, t.upid)
WHERE s.id = f.slice_in) AS process_in
FROM flow_backwards AS f JOIN home AS o ON o.packet_id = f.packet_out JOIN home AS i ON i.packet_id = f.packet_in
),
named AS (
SELECT e.*, (machine_out, clock_out, seq_out, file_out) = (machine_in, clock_in, seq_in, file_in) AS is_one,
CASE WHEN clock_out BETWEEN 64 AND 127 THEN clock_out || '@' || seq_out ELSE coalesce(o.name, clock_out) END
|| iif(machine_out, ' of machine ' || machine_out, '') || iif(file_out > 0, ' in file ' || file_out, '') AS from_clock,
CASE WHEN clock_in BETWEEN 64 AND 127 THEN clock_in || '@' || seq_in ELSE coalesce(i.name, clock_in) END
|| iif(machine_in, ' of machine ' || machine_in, '') || iif(file_in > 0, ' in file ' || file_in, '') AS to_clock,
max(1000, coalesce(o.unit_multiplier_ns, 1) + coalesce(i.unit_multiplier_ns, 1)) AS unit
FROM ends AS e
LEFT JOIN clock_record AS o ON o.machine_id = machine_out AND o.clock_id = clock_out AND o.seq_id = seq_out AND o.file = file_out
LEFT JOIN clock_record AS i ON i.machine_id = machine_in AND i.clock_id = clock_in AND i.seq_id = seq_in AND i.file = file_in
)
SELECT iif(is_one, 'warning', 'error') AS severity, iif(is_one, from_clock, from_clock || ' → ' || to_clock) AS subject,
iif(machine_out = machine_in, machine_in, NULL) AS machine_id, clock_in AS clock_id, seq_in AS seq_id,
file_in AS file, min(packet_in) AS packet_id,
count(*) AS events, max(back) AS worst_ns,
printf('%,d flow%s ', count(*), iif(count(*) = 1, '', 's'))
|| coalesce('from ' || process_out || ' to ' || process_in || ' ', '') || iif(count(*) = 1, 'arrives before it starts', 'arrive before they start') || ', by '
|| iif(count(*) = 1, '', 'up to ') || '{worst}: '
|| iif(is_one, 'both ends are on ' || from_clock || ', so the producer recorded them in this order.',
from_clock || ' and ' || to_clock || ' are misaligned by at least that.') AS message,
CASE
WHEN is_one THEN 'Write TYPE_SLICE_BEGIN with flow_ids before the flow causes anything, take each timestamp when the event happens, and use each flow id once.'
WHEN machine_out <> machine_in THEN 'Synchronize the machines more often (RemoteClockSync), or import with --conversion linear; see clock_hop for their drift.'
ELSE 'Read both clocks together in a ClockSnapshot, more often; see clock_hop for their drift.'
END AS advice
FROM named
WHERE back > unit
GROUP BY machine_out, clock_out, seq_out, file_out, machine_in, clock_in, seq_in, file_in, iif(is_one, process_out, NULL), iif(is_one, process_in, NULL)
LIMIT -1)
UNION ALL
SELECT 'global_clock_unnamed' AS check_name, * FROM (
SELECT 'warning' AS severity, NULL AS subject, c.machine_id, c.clock_id, c.seq_id, c.file,
f.packet_id,
c.packets AS events, NULL AS worst_ns,
iif(c.clock_id < 2147483648, 'No', 'Hardly any') || ' name hashes to the number of clock {subject}: another producer may use it for another clock.' AS message,
'Use the id that ''timebase clock-id com.example.my_clock'' prints for the clock''s fully qualified name, fnv1a_32(name) | 0x80000000, '
|| 'in ClockSnapshot.Clock.clock_id and TracePacket.timestamp_clock_id.' AS advice
FROM clock_record AS c LEFT JOIN clock_packet AS f USING (machine_id, clock_id, seq_id, file)
WHERE c.scope = 'global'
AND (c.clock_id < 2147483648 OR c.clock_id - 2147483648 < 65536 OR c.clock_id % 65536 = 0 OR c.clock_id >= 4294967280)
LIMIT -1)
UNION ALL
SELECT 'machine_drift' AS check_name, * FROM (
WITH met AS (SELECT DISTINCT machine_id, host_machine_id AS host FROM remote_clock_sync),
pace AS (
SELECT m.machine_id, m.host, max(abs(h.drift_ppm)) AS ppm, (h.drift_ppm < 0) = (h.machine_id = m.machine_id) AS is_faster
FROM met AS m
JOIN clock_hop AS h ON m.machine_id IN (h.machine_id, h.to_machine_id) AND m.host IN (h.machine_id, h.to_machine_id) AND h.machine_id <> h.to_machine_id
WHERE h.source = 'remote_sync' AND h.nominal_rate = 1 AND h.clock_id NOT IN (2, 4) AND (SELECT conversion FROM trace_time) = 'nearest'
GROUP BY m.machine_id, m.host
),
gap AS (
SELECT machine_id, min(packet_id) AS packet_id, max(gap) AS longest
FROM (
SELECT s.machine_id, s.packet_id,
max(coalesce(lead(s.ts) OVER w, m.last_ts) - s.ts, iif(lag(s.ts) OVER w IS NULL, s.ts - m.first_ts, 0), 0) AS gap
FROM clock_snapshot AS s JOIN machine AS m ON m.id = s.machine_id
WHERE s.source = 'remote_sync' AND s.clock_id = 6
WINDOW w AS (PARTITION BY s.machine_id ORDER BY s.ts)
)
GROUP BY machine_id
)
SELECT iif(worst_ns > 100000, 'warning', 'info') AS severity, 'machine ' || machine_id AS subject, machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS file, packet_id,
(SELECT m.packets FROM machine AS m WHERE m.id = machine_id) AS events, worst_ns,
printf('The clocks of machine %d run %.3g ppm %s than those of machine %d, and the longest gap without synchronization is %.3g s: at its end, times are off by {worst}.',
machine_id, ppm, iif(is_faster, 'faster', 'slower'), host, longest / 1e9) AS message,
printf('Import with --conversion linear, which follows the drift, or let ''timebase rewrite --conversion linear'' correct the trace for other tools. To keep nearest neighbour within 100 µs, synchronize the machines every %.3g s.', 100 / ppm) AS advice
FROM (SELECT p.*, g.packet_id, g.longest, CAST(round(1e-6 * p.ppm * g.longest) AS INTEGER) AS worst_ns FROM pace AS p JOIN gap AS g USING (machine_id))
WHERE ppm > 50 OR worst_ns > 100000
LIMIT -1)
UNION ALL
SELECT 'machine_unconnected' AS check_name, * FROM (
WITH guest AS (
SELECT t.machine_id, min(t.how = 'unplaced') AS is_lost, min(t.trace_file_id) AS first_file, max(t.trace_file_id) AS last_file
FROM part AS t
WHERE t.machine_id <> (SELECT machine_id FROM trace_time)
GROUP BY t.machine_id
HAVING max(t.how = 'same_clock') AND EXISTS (SELECT * FROM bridge AS b WHERE b.machine_id = t.machine_id AND b.to_machine <> t.machine_id AND b.clock_id <> 1)
OR min(t.how = 'unplaced') AND (SELECT min(c.is_monotonic) FROM clock_record AS c WHERE c.machine_id = t.machine_id AND c.snapshots > 0)
)
SELECT 'error' AS severity, 'machine ' || machine_id AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
iif(first_file = last_file, first_file, NULL) AS file,
(SELECT r.id FROM packet_record AS r JOIN packet_common AS p ON p.id = r.common_id WHERE p.machine_id = g.machine_id ORDER BY r.id LIMIT 1) AS packet_id,
CAST(iif(is_lost,
(SELECT total(u.events) FROM unplaced AS u WHERE u.machine_id = g.machine_id AND u.reason IN ('no_path', 'no_target')),
(SELECT sum(s.packets) FROM sequence AS s JOIN part AS t USING (trace_file_id, machine_id)
WHERE s.machine_id = g.machine_id AND t.how = 'same_clock')) AS INTEGER) AS events, NULL AS worst_ns,
'Nothing in the trace relates the clocks of machine ' || machine_id || ' to those of machine ' || (SELECT machine_id FROM trace_time)
|| iif(is_lost, ', so {events} of it could not be placed in time.',
'. The import assumed that both started at the same instant (BOOTTIME).') AS message,
'Record the machine with traced_relay, so that it asks the host for the time (RemoteClockSync); or synchronize REALTIME of both by NTP or PTP, and put it '
|| 'into the snapshots of both (ClockSnapshot.Clock.clock_id 1); or relate two of their clocks in a manifest (clocks.sync_to).' AS advice
FROM guest AS g
LIMIT -1)
UNION ALL
SELECT 'part_unplaced' AS check_name, * FROM (
WITH lost AS (
SELECT trace_file_id, machine_id, min(packet_id) AS packet_id, sum(events) AS events
FROM unplaced WHERE reason IN ('no_path', 'no_target') GROUP BY trace_file_id, machine_id
)
SELECT 'error' AS severity, iif(t.machine_id, 'machine ' || t.machine_id || ' in ', '') || 'file ' || t.trace_file_id AS subject,
t.machine_id, NULL AS clock_id, NULL AS seq_id, t.trace_file_id AS file, l.packet_id, l.events, NULL AS worst_ns,
'No snapshot leads from the clocks of machine ' || t.machine_id || ' in file ' || t.trace_file_id || ' to trace time, so {events} could not be placed in time.' AS message,
'Put BOOTTIME and REALTIME into the snapshots of each file (ClockSnapshot.Clock.clock_id 6 and 1), or relate its clock to one of another file in a manifest (clocks.sync_to).' AS advice
FROM part AS t JOIN lost AS l USING (trace_file_id, machine_id)
WHERE t.how = 'unplaced'
AND iif(t.machine_id = (SELECT machine_id FROM trace_time), t.own_from IS NOT NULL,
EXISTS (SELECT * FROM part AS o WHERE o.machine_id = t.machine_id AND o.how <> 'unplaced'))
LIMIT -1)
UNION ALL
SELECT 'paths_disagree' AS check_name, * FROM (
WITH placed AS (
SELECT s.snapshot_id, s.packet_id, s.source, s.machine_id, s.clock_id, s.seq_id, s.file, c.hops,
s.clock_value + l.offset
+ CAST(round((s.clock_value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.slope) AS INTEGER) AS ts,
l.error + (s.clock_value - iif(l.kind = 'before', l.end_value, l.start_value)) * l.error_slope AS error
FROM pair AS s
JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
JOIN clock_route AS o
ON o.machine_id = s.machine_id AND o.clock_id = s.clock_id AND o.seq_id = s.seq_id AND o.file = s.file AND o.to_clock_id = 6
JOIN clock_line AS l
ON l.route_id = o.id
AND l.start_value = (SELECT max(m.start_value) FROM clock_line AS m WHERE m.route_id = o.id AND m.start_value <= s.clock_value)
WHERE s.source IN ('service', 'writer') AND (s.machine_id, s.clock_id, s.file) <> ((SELECT machine_id FROM trace_time), 6, -1)
AND NOT (s.clock_id IN (1, 2) AND s.file = -1
AND EXISTS (SELECT * FROM home AS p WHERE p.packet_id = s.packet_id AND p.machine_id = s.machine_id AND p.file <> -1))
AND NOT EXISTS (SELECT * FROM clock_hop_reading AS r WHERE r.kind = 'outlier' AND r.snapshot_id = s.snapshot_id)
UNION ALL
SELECT s.snapshot_id, s.packet_id, s.source, s.machine_id, s.clock_id, s.seq_id, s.file, 0, s.clock_value, 0.0
FROM pair AS s JOIN trace_time AS t USING (machine_id)
WHERE s.source IN ('service', 'writer') AND s.clock_id = 6 AND s.file = -1
),
beside AS (
SELECT *, first_value(machine_id) OVER w AS to_machine, first_value(clock_id) OVER w AS to_clock, first_value(seq_id) OVER w AS to_seq,
first_value(file) OVER w AS to_file,
abs(ts - first_value(ts) OVER w) AS apart, error + first_value(error) OVER w AS allowed
FROM placed
WINDOW w AS (PARTITION BY snapshot_id ORDER BY hops, machine_id, clock_id, seq_id, file)
)
SELECT iif(apart > 100000, 'warning', 'info') AS severity, from_clock || ' → ' || to_clock AS subject, machine_id, clock_id, seq_id, file, packet_id,
times AS events, apart AS worst_ns,
printf('%,d snapshot%s ', times, iif(times = 1, ' has', 's have')) || from_clock || ' and ' || to_clock
|| ' up to {worst} away from the result of the other snapshots, more than the errors of both.' AS message,
'Let one writer read these clocks, or let all read them in the same way. Timebase prefers the snapshots of the tracing service (table clock_snapshot, column source).' AS advice
FROM (
SELECT b.machine_id, b.clock_id, b.seq_id, b.file, count(*) AS times, max(b.apart) AS apart, min(b.packet_id) AS packet_id,
CASE WHEN b.clock_id BETWEEN 64 AND 127 THEN b.clock_id || '@' || b.seq_id ELSE coalesce(c.name, b.clock_id) END
|| iif(b.machine_id, ' of machine ' || b.machine_id, '') || iif(b.file > 0, ' in file ' || b.file, '') AS from_clock,
CASE WHEN b.to_clock BETWEEN 64 AND 127 THEN b.to_clock || '@' || b.to_seq ELSE coalesce(t.name, b.to_clock) END
|| iif(b.to_machine, ' of machine ' || b.to_machine, '') || iif(b.to_file > 0, ' in file ' || b.to_file, '') AS to_clock
FROM beside AS b
JOIN clock_record AS c USING (machine_id, clock_id, seq_id, file)
JOIN clock_record AS t ON t.machine_id = b.to_machine AND t.clock_id = b.to_clock AND t.seq_id = b.to_seq AND t.file = b.to_file
WHERE b.apart > b.allowed + 1000
AND NOT EXISTS (
SELECT * FROM hop AS h
WHERE h.source = b.source AND h.machine_id = b.machine_id AND h.clock_id = b.clock_id AND h.seq_id = b.seq_id AND h.file = b.file
AND h.to_machine_id = b.to_machine AND h.to_clock_id = b.to_clock AND h.to_seq_id = b.to_seq AND h.to_file = b.to_file)
GROUP BY b.machine_id, b.clock_id, b.seq_id, b.file, b.to_machine, b.to_clock, b.to_seq, b.to_file
)
LIMIT -1)
UNION ALL
SELECT 'placed_early' AS check_name, * FROM (
SELECT iif(worst > 100000, 'warning', 'info') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, packet_id, events, worst AS worst_ns,
'A nearer snapshot came after the import had placed {events} on clock {subject}. It would change their times by up to {worst}.' AS message,
'Write a snapshot before the packets that need it: a ClockSnapshot on the same sequence, or a shorter '
|| 'TraceConfig.builtin_data_sources.snapshot_interval_ms. View packet_resync has the packets.' AS advice
FROM (
SELECT p.machine_id, p.clock_id, iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0) AS seq_id,
iif(p.clock_id BETWEEN 64 AND 127, p.trace_file_id, p.file) AS file, min(p.packet_id) AS packet_id, count(*) AS events,
max(abs(r.difference)) AS worst
FROM packet_resync AS r CROSS JOIN home AS p ON p.packet_id = r.id
WHERE abs(r.difference) > 1000 AND (SELECT conversion FROM trace_time) = 'nearest'
GROUP BY 1, 2, 3, 4
)
LIMIT -1)
UNION ALL
SELECT 'sequence_clock_early' AS check_name, * FROM (
WITH first_snapshot AS MATERIALIZED (
SELECT machine_id, clock_id, seq_id, file, min(packet_id) AS packet_id
FROM pair
WHERE clock_id BETWEEN 64 AND 127 AND source IN ('service', 'writer')
GROUP BY machine_id, clock_id, seq_id, file
)
SELECT iif(lost > 0, 'error', 'warning') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, packet_id,
events, NULL AS worst_ns,
iif(first_packet_id IS NULL,
'Clock {subject} counts in deltas and has no snapshot, so {events} on it could not be placed in time.',
'{events} on clock {subject} came before packet ' || first_packet_id || ', its first snapshot; '
|| iif(lost > 0, printf('%,d could not be placed in time.', lost),
'that snapshot placed all of them, but a tool that reads the trace once cannot do this.')) AS message,
'Write a ClockSnapshot with clock ' || clock_id || ' before the first packet with this clock, on the same '
|| 'trusted_packet_sequence_id; with the Perfetto SDK, in the packet that sets SEQ_INCREMENTAL_STATE_CLEARED.' AS advice
FROM (
SELECT u.machine_id, u.clock_id, u.seq_id, u.file, min(u.packet_id) AS packet_id, sum(events) AS events,
total(iif(u.is_lost, events, 0)) AS lost, f.packet_id AS first_packet_id
FROM (
SELECT machine_id, clock_id, seq_id, file, packet_id, events, 1 AS is_lost FROM unplaced WHERE reason = 'no_base'
UNION ALL
SELECT p.machine_id, p.clock_id, p.seq_id, p.trace_file_id, p.id, 1, 0
FROM packet AS p
WHERE p.clock_id BETWEEN 64 AND 127 AND p.ts IS NOT NULL AND p.type IS NOT 'clock_snapshot'
AND p.id < (SELECT f.packet_id FROM first_snapshot AS f
WHERE f.machine_id = p.machine_id AND f.clock_id = p.clock_id AND f.seq_id = p.seq_id AND f.file = p.trace_file_id)
) AS u
LEFT JOIN first_snapshot AS f USING (machine_id, clock_id, seq_id, file)
GROUP BY u.machine_id, u.clock_id, u.seq_id, u.file
)
LIMIT -1)
UNION ALL
SELECT 'sequence_clock_shared' AS check_name, * FROM (
WITH defined AS MATERIALIZED (
SELECT machine_id, clock_id, file, count(*) AS sequences, min(seq_id) AS by_seq
FROM clock_record WHERE snapshots > 0 AND scope = 'sequence' GROUP BY machine_id, clock_id, file
)
SELECT 'error' AS severity, NULL AS subject, u.machine_id, u.clock_id, u.seq_id, u.file, min(u.packet_id) AS packet_id,
sum(u.events) AS events, NULL AS worst_ns,
'Sequence ' || u.seq_id || ' uses clock ' || u.clock_id || ', but only sequence '
|| d.by_seq
|| ' has snapshots of it, so {events} on it could not be placed in time. '
|| 'A number from 64 to 127 means a different clock on each sequence.' AS message,
'If all sequences mean one clock, give it a global id in ClockSnapshot.Clock.clock_id and in TracePacket.timestamp_clock_id: '
|| '''timebase clock-id NAME'' prints the id for its fully qualified name. If each sequence has its own clock, '
|| 'write a ClockSnapshot on each.' AS advice
FROM unplaced AS u LEFT JOIN defined AS d USING (machine_id, clock_id, file)
WHERE u.reason = 'unknown_clock' AND u.clock_id BETWEEN 64 AND 127 AND d.sequences = 1
GROUP BY u.machine_id, u.clock_id, u.seq_id, u.file
LIMIT -1)
UNION ALL
SELECT 'sequence_clock_undefined' AS check_name, * FROM (
WITH defined AS MATERIALIZED (
SELECT machine_id, clock_id, file, count(*) AS sequences, min(seq_id) AS by_seq
FROM clock_record WHERE snapshots > 0 AND scope = 'sequence' GROUP BY machine_id, clock_id, file
)
SELECT 'error' AS severity, NULL AS subject, u.machine_id, u.clock_id, u.seq_id, u.file, min(u.packet_id) AS packet_id,
sum(u.events) AS events, NULL AS worst_ns,
'No snapshot on sequence ' || u.seq_id || ' reads clock ' || u.clock_id || ', so {events} on it could not be placed in time.' AS message,
'Write a ClockSnapshot with this clock and a builtin one (ClockSnapshot.Clock.clock_id ' || u.clock_id
|| ' and 6, BOOTTIME) on the same trusted_packet_sequence_id, before the first packet that names the clock in '
|| 'TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id.' AS advice
FROM unplaced AS u LEFT JOIN defined AS d USING (machine_id, clock_id, file)
WHERE u.reason = 'unknown_clock' AND u.clock_id BETWEEN 64 AND 127 AND d.sequences IS NOT 1
GROUP BY u.machine_id, u.clock_id, u.seq_id, u.file
LIMIT -1)
UNION ALL
SELECT 'sequence_missing' AS check_name, * FROM (
SELECT 'error' AS severity, clock_id || iif(machine_id, ' of machine ' || machine_id, '') || iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject,
machine_id, clock_id, 0 AS seq_id, trace_file_id AS file,
min(packet_id) AS packet_id, sum(events) AS events, NULL AS worst_ns,
'{events} on clock ' || coalesce(clock_id, '64 to 127') || ' could not be placed in time: the clock belongs to a sequence, and the packet has none.' AS message,
'Set TracePacket.trusted_packet_sequence_id, as the tracing service does for its packets, or use a global clock: '
|| '''timebase clock-id NAME'' prints its id.' AS advice
FROM unplaced
WHERE reason = 'no_sequence_id'
GROUP BY machine_id, clock_id, trace_file_id
LIMIT -1)
UNION ALL
SELECT 'single_snapshot' AS check_name, * FROM (
WITH single AS (
SELECT c.machine_id, c.clock_id, c.seq_id, c.file, c.scope, count(*) AS events, min(r.packet_id) AS packet_id,
max(abs(r.value - c.first_value)) AS away
FROM clock_record AS c
JOIN source AS s USING (machine_id, clock_id, seq_id, file)
JOIN reading AS r USING (route_id)
WHERE c.snapshots = 1 AND c.scope <> 'builtin' AND NOT c.is_incremental
GROUP BY c.machine_id, c.clock_id, c.seq_id, c.file
)
SELECT iif(scope = 'global', 'warning', 'info') AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, packet_id, events,
CAST(away * 50e-6 AS INTEGER) AS worst_ns,
'Clock {subject} has one snapshot, and {events} up to ' || printf('%.3g s', away / 1e9)
|| ' away from it. With a common drift of 50 ppm, their times are off by up to {worst}, and the trace would not show it.' AS message,
'Write a ClockSnapshot with this clock repeatedly, at least one at the start and one at the end.' AS advice
FROM single
WHERE away > 2000000000
LIMIT -1)
UNION ALL
SELECT 'slice_never_ended' AS check_name, * FROM (
WITH open_slice AS MATERIALIZED (
SELECT o.id, o.ts, o.track_id, o.parent_id, o.packet_id, o.name AS name_id, u.named_ends, n.value AS name,
replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(n.value, '0', ''), '1', ''), '2', ''), '3', ''), '4', ''), '5', ''), '6', ''), '7', ''), '8', ''), '9', '') AS plain
FROM unended_slice AS u CROSS JOIN slice_record AS o ON o.id = u.slice_id CROSS JOIN string AS n ON n.id = o.name
),
named AS MATERIALIZED (
SELECT plain, id
FROM (SELECT id, replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(value, '0', ''), '1', ''), '2', ''), '3', ''), '4', ''), '5', ''), '6', ''), '7', ''), '8', ''), '9', '') AS plain FROM string)
WHERE plain IN (SELECT plain FROM open_slice)
)
SELECT 'warning' AS severity,
coalesce(coalesce(t.name || ' (' || t.tid || ')', 'thread ' || t.tid), p.name || ' (' || p.pid || ')', k.name, 'track ' || k.id)
|| iif(k.machine_id, ' of machine ' || k.machine_id, '') AS subject,
k.machine_id, NULL AS clock_id, NULL AS seq_id, -1 AS file,
coalesce(f.packet_id, (SELECT e.packet_id FROM ftrace_record AS e WHERE e.ts = f.ts ORDER BY e.id LIMIT 1)) AS packet_id,
f.slices AS events, NULL AS worst_ns,
'''' || f.name || ''', which begins at ' || f.ts || ' ns, is the first of its name that stays open, and '
|| iif(f.slices = 1, 'others', 'the others') || ' begin inside it: ' || printf('%,d begin%s an end', f.slices, iif(f.slices = 1, ' lacks', 's lack'))
|| CASE
WHEN f.named_ends THEN iif(f.slices = 1, ', its own.', ', their own.')
ELSE '. The ends have no names, so each may be the end of ''' || f.name || ''' or of a slice inside it.'
END AS message,
iif(f.packet_id IS NULL, 'End each section of atrace (E) on every path out of it, also on errors.',
'Write a TYPE_SLICE_END for each TYPE_SLICE_BEGIN on every path, also on errors'
|| iif(f.named_ends, '.', ', with the name of the begin (TrackEvent.name or name_iid), so that another slice does not get the end.')) AS advice
FROM (
SELECT *, row_number() OVER (PARTITION BY track_id, plain ORDER BY id, slices DESC) AS place
FROM (
SELECT a.*, (SELECT count(*) FROM open_slice AS o WHERE o.track_id = a.track_id AND o.plain = a.plain AND o.id >= a.id) AS slices
FROM (
SELECT track_id, plain, min(id) AS id, ts, name, packet_id, named_ends
FROM (
SELECT o.*, (SELECT max(n.ts) FROM slice_record AS n
WHERE n.track_id = o.track_id AND n.ts >= o.ts AND n.id > o.id AND n.name IN (SELECT s.id FROM named AS s WHERE s.plain = o.plain)) AS last_ts
FROM open_slice AS o
) AS o
WHERE EXISTS (SELECT * FROM slice_record AS d
WHERE d.track_id = o.track_id AND d.ts BETWEEN o.ts AND o.last_ts AND d.id > o.id AND d.dur > 0 AND d.ts + d.dur <= o.last_ts)
GROUP BY track_id, plain
) AS a
WHERE (
SELECT count(*) >= 20 AND 100 * total(contains_one) <= count(*)
FROM (
SELECT s.dur, lead(s.ts) OVER w < s.ts + s.dur AND lead(s.depth) OVER w > s.depth AS contains_one
FROM slice_record AS s
WHERE s.track_id = a.track_id AND s.name IN (SELECT n.id FROM named AS n WHERE n.plain = a.plain)
WINDOW w AS (ORDER BY s.ts, s.id)
)
WHERE dur >= 0
)
UNION ALL
SELECT track_id, plain, min(id), ts, name, packet_id, named_ends, count(*)
FROM (
SELECT *, sum(NOT is_next) OVER (PARTITION BY track_id, name ORDER BY id) AS chain
FROM (
SELECT *, before_end IS NOT NULL AND ts - before_end >= 3 * (before_end - before_ts) AS is_next
FROM (
SELECT o.*, b.ts AS before_ts,
(SELECT max(d.ts + max(d.dur, 0)) FROM slice_record AS d
WHERE d.track_id = o.track_id AND d.ts BETWEEN b.ts AND o.ts AND d.id > b.id AND d.id < o.id
HAVING max(d.dur) > 0) AS before_end
FROM open_slice AS o LEFT JOIN open_slice AS b ON b.id = o.parent_id AND b.name = o.name
)
)
)
GROUP BY track_id, name, chain
HAVING count(*) >= 3
)
) AS f
CROSS JOIN track_record AS k ON k.id = f.track_id
LEFT JOIN thread_record AS t ON t.id = k.utid
LEFT JOIN process_record AS p ON p.id = k.upid
WHERE f.place = 1
LIMIT -1)
UNION ALL
SELECT 'snapshot_outlier' AS check_name, * FROM (
WITH outlier AS (
SELECT r.hop_id, count(*) AS times, max(abs(r.deviation_ns)) AS worst, min(p.packet_id) AS packet_id, coalesce(e.events, 0) AS events
FROM clock_hop_reading AS r
LEFT JOIN snapshot_packet AS p USING (snapshot_id)
LEFT JOIN hop_events AS e USING (hop_id)
WHERE r.kind = 'outlier'
GROUP BY r.hop_id
)
SELECT iif(o.worst > 100000 AND o.events > 0, 'warning', 'info') AS severity, h.from_clock || ' → ' || h.to_clock AS subject,
h.machine_id, h.clock_id, h.seq_id, h.file, o.packet_id, o.events, CAST(round(o.worst) AS INTEGER) AS worst_ns,
printf('In %,d of %,d snapshots ', o.times, h.readings)
|| h.from_clock || ' and ' || h.to_clock || ' were not read together: {worst} apart' || iif(o.times = 1, '', ' at most') || '.' AS message,
'Read the clocks of a ClockSnapshot one right after the other, without a lock or system call in between, and read them again if that took long. '
|| '''timebase import --conversion linear'' leaves these snapshots out.' AS advice
FROM outlier AS o JOIN hop AS h ON h.id = o.hop_id
WHERE (o.events > 0 OR o.worst > 100000) AND h.clock_id NOT IN (2, 4) AND h.to_clock_id NOT IN (2, 4) AND h.source <> 'remote_sync'
LIMIT -1)
UNION ALL
SELECT 'snapshot_repeated' AS check_name, * FROM (
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
LIMIT -1)
UNION ALL
SELECT 'state_lost' AS check_name, * FROM (
SELECT 'warning' AS severity, 'sequence ' || sequence || iif(machine_id, ' of machine ' || machine_id, '')
|| iif(trace_file_id, ' in file ' || trace_file_id, '') AS subject, machine_id,
NULL AS clock_id, sequence AS seq_id, trace_file_id AS file, min(packet_id) AS packet_id, sum(events) AS events, NULL AS worst_ns,
'{events} on sequence ' || sequence || ' could not be placed in time: the sequence lost the state that this needs, or the ring buffer overwrote it.' AS message,
'Clear the incremental state more often (IncrementalStateConfig.clear_period_ms), or make the buffer larger (BufferConfig.size_kb).' AS advice
FROM unplaced
WHERE reason = 'incremental_state_lost'
AND NOT EXISTS (
SELECT * FROM event_fault AS f
WHERE f.effect = 'dropped' AND f.cause = 'state_never_cleared' AND f.seq_id = sequence
AND f.machine_id = unplaced.machine_id AND f.trace_file_id = unplaced.trace_file_id
)
GROUP BY machine_id, trace_file_id, sequence
LIMIT -1)
UNION ALL
SELECT 'sync_slow' AS check_name, * FROM (
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
LIMIT -1)
UNION ALL
SELECT 'time_overflow' AS check_name, * FROM (
SELECT 'error' AS severity, NULL AS subject, machine_id, clock_id, seq_id, file, min(packet_id) AS packet_id, sum(events) AS events,
NULL AS worst_ns,
'{events} on clock {subject} could not be placed: the time does not fit 64 bits.' AS message,
'Check TracePacket.timestamp, and ClockSnapshot.Clock.unit_multiplier_ns of the clock, the nanoseconds in one count.' AS advice
FROM unplaced
WHERE reason = 'overflow'
GROUP BY machine_id, clock_id, seq_id, file
LIMIT -1)
UNION ALL
SELECT 'trace_time_undefined' AS check_name, * FROM (
SELECT 'error' AS severity, NULL AS subject, machine_id, clock_id, 0 AS seq_id, NULL AS file, packet_id,
events, NULL AS worst_ns,
'No snapshot reads {subject}, the clock of trace time, so {events} on other clocks could not be placed in time.' AS message,
'Leave the clock snapshots of the tracing service on (do not set TraceConfig.builtin_data_sources.disable_clock_snapshotting), '
|| 'or write a ClockSnapshot with clock_id 6, BOOTTIME. If there is no BOOTTIME, name the clock of the events in primary_trace_clock.' AS advice
FROM (
SELECT t.machine_id, t.clock_id, min(u.packet_id) AS packet_id, sum(u.events) AS events
FROM trace_time AS t JOIN unplaced AS u USING (machine_id)
WHERE u.reason = 'no_target'
)
WHERE events > 0
LIMIT -1)
UNION ALL
SELECT 'wall_clock_only' AS check_name, * FROM (
SELECT 'warning' AS severity, 'machine ' || machine_id AS subject, machine_id, NULL AS clock_id, NULL AS seq_id,
iif(first_file = last_file, first_file, NULL) AS file,
(SELECT p.id FROM packet AS p WHERE p.machine_id = g.machine_id AND p.trace_file_id = g.first_file ORDER BY p.id LIMIT 1) AS packet_id,
events, NULL AS worst_ns,
'Only their wall clocks (REALTIME) relate machine ' || machine_id || ' to machine ' || (SELECT machine_id FROM trace_time)
|| '. The times of {events} are off by the difference of these, which the trace does not say.' AS message,
'Record the machine with traced_relay, so that it asks the host for the time (RemoteClockSync); or synchronize REALTIME of both by PTP, or by NTP from one '
|| 'server; or relate two of their clocks in a manifest (clocks.sync_to).' AS advice
FROM (
SELECT t.machine_id, min(t.trace_file_id) AS first_file, max(t.trace_file_id) AS last_file,
CAST(total((SELECT sum(s.packets) FROM sequence AS s WHERE s.trace_file_id = t.trace_file_id AND s.machine_id = t.machine_id)) AS INTEGER) AS events
FROM part AS t
WHERE t.how = 'realtime'
GROUP BY t.machine_id
) AS g
LIMIT -1)
UNION ALL
SELECT 'writer_lost' AS check_name, * FROM (
SELECT 'warning' AS severity, iif(writers = 1, 'sequence ' || seq, iif(writers, printf('%,d sequences', writers), 'writers'))
|| iif(machine_id, ' of machine ' || machine_id, '') || iif(file, ' in file ' || file, '') AS subject,
machine_id, NULL AS clock_id, iif(writers = 1, seq, NULL) AS seq_id, file, packet_id, NULL AS events, NULL AS worst_ns,
'The trace lacks data of its writers: ' || said || '.' AS message, advice
FROM (
SELECT l.*,
(SELECT group_concat(said, ', ') FROM (SELECT printf('%,d %s', t.value, t.words) AS said FROM (
SELECT place, words, total(value) AS value FROM told
WHERE kind = 'writer' AND machine_id = l.machine_id AND trace_file_id = l.file GROUP BY place) AS t ORDER BY t.place)) AS said,
(SELECT group_concat(advice, ' ') FROM (SELECT DISTINCT t.advice FROM told AS t
WHERE t.kind = 'writer' AND t.machine_id = l.machine_id AND t.trace_file_id = l.file ORDER BY t.place)) AS advice
FROM (
SELECT l.machine_id, p.trace_file_id AS file, min(l.packet_id) AS packet_id, count(DISTINCT l.seq_id) AS writers, min(l.seq_id) AS seq
FROM loss AS l JOIN packet_record AS r ON r.id = l.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE l.kind = 'writer'
GROUP BY l.machine_id, p.trace_file_id
) AS l
)
WHERE said IS NOT NULL
LIMIT -1)
UNION ALL
SELECT 'wrong_clock' AS check_name, * FROM (
WITH taken AS MATERIALIZED (
SELECT p.trace_file_id, min(s.ts) AS first_ts, max(s.ts) AS last_ts
FROM clock_snapshot AS s JOIN packet_record AS r ON r.id = s.packet_id JOIN packet_common AS p ON p.id = r.common_id
WHERE s.source NOT IN ('assumed', 'manifest')
GROUP BY p.trace_file_id
),
covered AS MATERIALIZED (
SELECT f.id AS trace_file_id, coalesce(t.first_ts, a.first_ts) AS first_ts, coalesce(t.last_ts, a.last_ts) AS last_ts
FROM (SELECT min(first_ts) AS first_ts, max(last_ts) AS last_ts FROM taken) AS a
CROSS JOIN trace_file AS f
LEFT JOIN taken AS t ON t.trace_file_id = f.id
),
off AS (
SELECT s.id, s.machine_id, s.trace_file_id, s.packets, s.first_ts, s.last_ts,
max(c.first_ts - s.first_ts, s.last_ts - c.last_ts) AS away,
iif(c.first_ts - s.first_ts > s.last_ts - c.last_ts, s.first_ts, s.last_ts) AS ts
FROM sequence AS s JOIN covered AS c USING (trace_file_id)
WHERE c.first_ts - s.first_ts > 86400000000000 OR s.last_ts - c.last_ts > 86400000000000
)
SELECT 'warning' AS severity, 'sequence ' || o.id || iif(o.machine_id, ' of machine ' || o.machine_id, '')
|| iif(o.trace_file_id, ' in file ' || o.trace_file_id, '') AS subject, o.machine_id,
NULL AS clock_id, o.id AS seq_id, o.trace_file_id AS file,
(SELECT min(p.id) FROM packet AS p WHERE p.ts = o.ts AND p.seq_id = o.id AND p.machine_id = o.machine_id AND p.trace_file_id = o.trace_file_id) AS packet_id,
o.packets AS events, o.away AS worst_ns,
printf('Packets of sequence %d are up to %.1f days away from all snapshots', o.id, o.away / 86400e9)
|| coalesce('; their timestamps look like readings of '
|| (SELECT c.name FROM clock_record AS c
WHERE c.machine_id = o.machine_id AND c.file IN (-1, o.trace_file_id) AND c.name IS NOT NULL AND c.clock_id NOT IN (2, 4, 6)
AND o.ts BETWEEN c.first_value - 86400000000000 AND c.last_value + 86400000000000
ORDER BY c.clock_id LIMIT 1), '') || '.' AS message,
'Name the clock of the timestamps in TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id. The default is BOOTTIME.' AS advice
FROM off AS o
LIMIT -1)
) AS f
);
