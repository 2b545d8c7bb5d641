-- A begin lacks its end
-- The slice stays open, although the work that it stands for goes on: others of its name begin inside it, again and again. All later slices of the
-- track are inside it, and too deep.
-- Severity: warning.
WITH open_slice AS MATERIALIZED (
  SELECT o.id, o.ts, o.track_id, o.parent_id, o.packet_id, o.name AS name_id, u.named_ends, n.value AS name,
         replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(n.value, '0', ''), '1', ''), '2', ''), '3', ''), '4', ''), '5', ''), '6', ''), '7', ''), '8', ''), '9', '') AS plain
  FROM unended_slice AS u CROSS JOIN slice_record AS o ON o.id = u.slice_id CROSS JOIN string AS n ON n.id = o.name
),
-- The texts of string that differ from the name of an open slice only by numbers in it.
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
    -- (A) Enough slices of the name ended on the track, and hardly any contains another one; but inside an open one a slice ended, and then one of
    -- its name began. The columns without a function are those of the first slice.
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
    -- (B) Three or more open slices of one name, each of which contains the next one after a long pause.
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
