-- Slices are ended by the ends of others
-- Spans cross on a track, where slices can only nest. So a slice ends with a slice below it, or an end without a name closes the wrong one. The column
-- `doubt` marks the slices that may be wrong.
-- Severity: warning.
SELECT 'warning' AS severity, coalesce(p.name || ' (' || p.pid || ')', 'process ' || p.pid, t.name || ' (' || t.tid || ')', 'thread ' || t.tid, 'tracks') || iif(c.machine_id, ' of machine ' || c.machine_id, '') AS subject,
       c.machine_id, NULL AS clock_id, NULL AS seq_id, -1 AS file, c.packet_id, c.slices AS events, nullif(c.cross_ns, -1) AS worst_ns,
       printf('%,d slice%s ended by the end of another slice', c.slices, iif(c.slices = 1, ' was', 's were'))
         || iif(c.slipped > 0, printf(', and %,d more may have the end of another', c.slipped), '') || '. '
         || iif(c.slices = 1, 'It is ', 'The first of the worst is ') || coalesce('''' || (SELECT value FROM string WHERE id = c.name) || '''', 'a slice without a name')
         || coalesce(' on thread ' || coalesce(t.name || ' (' || t.tid || ')', t.tid), '') || ', which begins at ' || c.ts || ' ns'
         || iif(c.reason = 'cut', ' and ends with ' || coalesce('''' || (SELECT value FROM string WHERE id = c.by_name) || '''', 'a slice without a name'),
                ' and ends by an end without a name')
         || iif(c.cross_ns >= 0, ', {worst} before its own end.', '; its own end never came.') AS message,
       iif(EXISTS (SELECT * FROM trace_file AS f JOIN packet_record AS r JOIN packet_common AS d ON d.id = r.common_id WHERE r.id = c.packet_id AND f.id = d.trace_file_id AND f.trace_type = 'json'),
           'Write spans that cross as async events (phases b and e with an id), or end them in the reverse order of their begins, each E with the name of its B.',
           'Give spans that cross tracks of their own (a TrackDescriptor and TrackEvent.track_uuid for each), or end them in the reverse order of their begins. '
         || 'Write the name of the begin also into each TYPE_SLICE_END (TrackEvent.name or name_iid), so that an end without its slice closes no other one.') AS advice
FROM (
  -- The columns without a function are those of the largest crossing.
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
