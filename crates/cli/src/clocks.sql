-- One row a clock. The offsets are those of the first and of the last step of
-- its conversion to BOOTTIME (clock 6), or to TRACE_FILE (11) if that is trace time.
SELECT
  machine_id AS machine,
  (SELECT name FROM machine WHERE machine.id = machine_id) AS machine_name,
  nullif(file, -1) AS file,
  (SELECT name FROM trace_file WHERE trace_file.id = file) AS file_name,
  CASE WHEN scope = 'sequence' THEN clock_id || '@' || seq_id
       ELSE coalesce(name, CAST(clock_id AS TEXT)) END AS clock,
  scope,
  unit_multiplier_ns AS unit_ns,
  snapshots,
  packets,
  iif(is_monotonic, 'yes', 'no') AS monotonic,
  path,
  first_offset AS offset_ns,
  last_offset - first_offset AS drift_ns
FROM (
  SELECT
    *,
    (SELECT m.offset FROM clock_step AS m
      WHERE m.machine_id = clock.machine_id AND m.clock_id = clock.clock_id
        AND m.seq_id = clock.seq_id AND m.file = clock.file AND m.to_clock_id = target
      ORDER BY m.start_value ASC LIMIT 1) AS first_offset,
    (SELECT m.offset FROM clock_step AS m
      WHERE m.machine_id = clock.machine_id AND m.clock_id = clock.clock_id
        AND m.seq_id = clock.seq_id AND m.file = clock.file AND m.to_clock_id = target
      ORDER BY m.start_value DESC LIMIT 1) AS last_offset
  FROM clock_record AS clock,
    (SELECT coalesce((SELECT 11 FROM fact WHERE name = 'trace_time_clock_id' AND value = 11), 6) AS target)
)
ORDER BY machine_id, max(file, 0), clock_id, seq_id
