-- The clocks of number ?1: of machine ?2, of sequence ?3 and of file ?4, each of which is NULL if
-- it is not told. Those that are used most come first: which it is, how many there are, and what
-- is known of each.
SELECT
  c.machine_id,
  c.seq_id,
  c.trace_file_id,
  count(*) OVER () AS total,
  format('%d snapshot%s, %d packet%s',
         c.snapshots, iif(c.snapshots = 1, '', 's'), c.packets, iif(c.packets = 1, '', 's'))
    || iif(s.pid > 0, ', ' || coalesce(
         (SELECT p.name FROM process AS p
           WHERE p.pid = s.pid AND p.machine_id = s.machine_id AND p.name IS NOT NULL
           ORDER BY p.id DESC LIMIT 1) || ' (pid ' || s.pid || ')',
         'pid ' || s.pid), '')
    || iif(c.machine_id, coalesce(', ' || (SELECT m.name FROM machine AS m WHERE m.id = c.machine_id), ''), '')
    || iif(c.trace_file_id, coalesce(', ' || (SELECT f.name FROM trace_file AS f WHERE f.id = c.trace_file_id), ''), '') AS who
FROM clock AS c
LEFT JOIN sequence AS s
  ON s.trace_file_id = c.trace_file_id AND s.machine_id = c.machine_id AND s.id = c.seq_id
WHERE c.clock_id = ?1
  AND (?2 IS NULL OR c.machine_id = ?2)
  AND iif(?3 IS NULL, c.seq_id > 0, c.seq_id = ?3)
  AND (?4 IS NULL OR c.trace_file_id = ?4)
ORDER BY c.packets DESC, c.snapshots DESC, c.machine_id, c.seq_id, c.trace_file_id
LIMIT 20
