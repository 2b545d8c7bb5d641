-- The sequences that have a clock ?1 of machine ?2, those first that use it most: which
-- sequence, how many there are of them, and what is known of each.
SELECT
  c.seq_id,
  count(*) OVER () AS total,
  format('%d snapshot%s, %d packet%s',
         c.snapshots, iif(c.snapshots = 1, '', 's'), c.packets, iif(c.packets = 1, '', 's'))
    || iif(s.pid > 0, ', ' || coalesce(
         (SELECT p.name FROM process AS p
           WHERE p.pid = s.pid AND p.machine_id = s.machine_id AND p.name IS NOT NULL
           ORDER BY p.id DESC LIMIT 1) || ' (pid ' || s.pid || ')',
         'pid ' || s.pid), '') AS who
FROM clock AS c LEFT JOIN sequence AS s ON s.machine_id = c.machine_id AND s.id = c.seq_id
WHERE c.clock_id = ?1 AND c.machine_id = ?2 AND c.seq_id > 0
ORDER BY c.packets DESC, c.snapshots DESC, c.seq_id
LIMIT 20
