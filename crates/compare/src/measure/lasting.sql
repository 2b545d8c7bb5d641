-- Things that last: a row for each, with the time without inner ones if it is a slice on a thread. Slices and waits
-- without an end do not count. `sure` is 0 for rows with doubt.
SELECT 'slice' AS family, coalesce(s.process_name, '') AS process, s.name AS name, s.dur AS dur, d.self_dur AS self_dur,
       s.doubt IS NULL AS sure, s.track_id AS track_id, s.id AS id, s.parent_id AS parent_id
FROM thread_slice AS s JOIN slice_self_dur AS d USING (id)
WHERE s.dur >= 0 AND s.name IS NOT NULL AND s.track_id IN (SELECT id FROM thread_track)
UNION ALL
SELECT 'async', coalesce(p.name, ''), s.name, s.dur, NULL, s.doubt IS NULL, NULL, NULL, NULL
FROM slice AS s
LEFT JOIN process_track AS t ON t.id = s.track_id
LEFT JOIN process AS p USING (upid)
WHERE s.dur >= 0 AND s.name IS NOT NULL AND s.track_id NOT IN (SELECT id FROM thread_track)
  AND s.track_id NOT IN (SELECT track_id FROM expected_frame_timeline_slice UNION ALL SELECT track_id FROM actual_frame_timeline_slice)
UNION ALL
-- R: ready, but another thread had the CPU. D: blocked in the kernel, mostly by a disk.
SELECT iif(s.state GLOB 'R*', 'wait', 'blocked'), coalesce(p.name, ''), coalesce(t.name, ''), s.dur, NULL, s.doubt IS NULL, NULL, NULL, NULL
FROM thread_state AS s JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
WHERE s.dur >= 0 AND (s.state IN ('R', 'R+') OR s.state GLOB 'D*') AND NOT coalesce(t.is_idle, 0)
UNION ALL
SELECT 'frame', coalesce(p.name, ''), coalesce(f.layer_name, 'display'), f.dur, NULL, 1, NULL, NULL, NULL
FROM actual_frame_timeline_slice AS f LEFT JOIN process AS p USING (upid)
WHERE f.dur >= 0
