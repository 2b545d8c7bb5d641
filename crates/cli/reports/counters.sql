-- Counters over the trace: memory, CPU frequency and idle states, and all others.
--
--   timebase query TRACE-or-DB --report counters --param top=5
--
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time at which to start; NULL is the trace's start
-- param to time = NULL : trace time before which to end; NULL is the trace's end
--
-- An average is weighted by time: a value counts until the next one, or until the end of
-- the time range. If a list is empty, the trace has no such counters.
--
-- column counter : the name of the counter
-- column counters : the number of counters of a type
-- column of : the thread, process, CPU or GPU that the counter belongs to
-- column values : the number of its values
-- column first, last : its first and its last value
-- column min, avg, max : its smallest, average and largest value; the average is weighted by time
-- column first_mib, min_mib, avg_mib, max_mib, last_mib : the same for memory, in MiB
-- column first_mhz, min_mhz, avg_mhz, max_mhz, last_mhz : the same for the frequency of a CPU, in MHz
-- column state : an idle state of a CPU: the larger its number, the deeper it is
-- column times : the number of times that the CPU was in this state
-- column ms, pct : the time in this state in ms, and its share in percent
-- column example : the name of one of the counters

CREATE TEMP TABLE stretch AS
SELECT coalesce(:from, start_ts) AS start_ts, coalesce(:to, end_ts + 1) AS end_ts
FROM trace_bounds;

-- A row for each track with a summary of its values. The window uses the order of an index.
CREATE TEMP TABLE summary (
  track_id INTEGER PRIMARY KEY, "values" INTEGER, first_ts INTEGER, last_ts INTEGER,
  low REAL, average REAL, high REAL, first REAL, last REAL
);
INSERT INTO summary
SELECT track_id, n, first_ts, last_ts, low, coalesce(area / nullif(held, 0), mean), high,
       (SELECT value FROM counter_record AS c WHERE c.track_id = g.track_id AND c.ts = first_ts ORDER BY id LIMIT 1),
       (SELECT value FROM counter_record AS c WHERE c.track_id = g.track_id AND c.ts = last_ts ORDER BY id DESC LIMIT 1)
FROM (
  SELECT track_id, count(*) AS n, min(ts) AS first_ts, max(ts) AS last_ts, min(value) AS low, max(value) AS high,
         avg(value) AS mean, total(value * (until - ts)) AS area, total(until - ts) AS held
  FROM (
    SELECT track_id, ts, value,
           coalesce(lead(ts) OVER (PARTITION BY track_id ORDER BY ts), (SELECT end_ts FROM stretch)) AS until
    FROM counter_record
    WHERE ts >= (SELECT start_ts FROM stretch) AND ts < (SELECT end_ts FROM stretch)
  )
  GROUP BY track_id
) AS g;

-- The name and the owner of each counter.
CREATE TEMP VIEW counter_summary AS
SELECT k.type, k.name, k.unit, k.ucpu, k.upid, k.machine_id,
       coalesce('cpu ' || (SELECT cpu || iif(machine_id, ' of machine ' || machine_id, '') FROM cpu_record WHERE id = k.ucpu),
                (SELECT coalesce(nullif(name, ''), 'process') || ' ' || pid FROM process_record WHERE id = k.upid),
                (SELECT coalesce(nullif(name, ''), 'thread') || ' ' || tid FROM thread_record WHERE id = k.utid),
                'gpu ' || (SELECT gpu FROM gpu_record WHERE id = k.ugpu),
                '') || iif(k.machine_id AND k.ucpu IS NULL, ' of machine ' || k.machine_id, '') AS of,
       s.*
FROM summary AS s JOIN track_record AS k ON k.id = s.track_id;

-- # Kinds of counters
-- The number of counters of each kind, and their meaning. A trace without counters has
-- one row that says so.
SELECT type, count(*) AS counters, sum("values") AS "values", min(name) AS example, min(first_ts) AS first_ts
FROM counter_summary
GROUP BY type
UNION ALL
SELECT 'no counters in this trace', 0, 0, NULL, NULL WHERE NOT EXISTS (SELECT * FROM summary)
ORDER BY "values" DESC, type;

-- # Memory of processes
-- In MiB, from the kernel (rss_stat) or from polling. Sorted by the largest value.
SELECT of AS process, name AS counter, "values",
       round(first / 1048576, 2) AS first_mib,
       round(low / 1048576, 2) AS min_mib,
       round(average / 1048576, 2) AS avg_mib,
       round(high / 1048576, 2) AS max_mib,
       round(last / 1048576, 2) AS last_mib
FROM counter_summary
WHERE type IN ('process_memory', 'process_memory_thread_fallback', 'smaps')
  AND name NOT IN ('mem.virt')
ORDER BY high DESC, of, name
LIMIT :top;

-- # Memory of the system
-- In MiB, sorted by how much it changed.
SELECT name || iif(machine_id, ' of machine ' || machine_id, '') AS counter, "values",
       round(first / 1048576, 2) AS first_mib,
       round(low / 1048576, 2) AS min_mib,
       round(average / 1048576, 2) AS avg_mib,
       round(high / 1048576, 2) AS max_mib,
       round(last / 1048576, 2) AS last_mib
FROM counter_summary
WHERE type IN ('meminfo', 'ion', 'android_dma_heap', 'gpu_memory', 'buddyinfo', 'slabinfo')
ORDER BY high - low DESC, name, machine_id
LIMIT :top;

-- # CPU frequency
-- In MHz.
SELECT of AS cpu, "values",
       round(first / 1e3, 1) AS first_mhz,
       round(low / 1e3, 1) AS min_mhz,
       round(average / 1e3, 1) AS avg_mhz,
       round(high / 1e3, 1) AS max_mhz,
       round(last / 1e3, 1) AS last_mhz
FROM counter_summary
WHERE type = 'cpu_frequency'
ORDER BY ucpu;

-- # CPU idle states
-- The time of each CPU in each state, from its first value on. A deeper state has a
-- larger number; 'not idle' means that the kernel left the idle state.
SELECT cpu, state, times,
       round(ns / 1e6, 3) AS ms,
       round(100 * ns / nullif(sum(ns) OVER (PARTITION BY cpu), 0), 1) AS pct
FROM (
  SELECT of AS cpu, ucpu, iif(value = 4294967295, 'not idle', printf('%d', value)) AS state,
         count(*) AS times, total(until - ts) AS ns
  FROM (
    SELECT s.of, s.ucpu, c.ts, c.value,
           coalesce(lead(c.ts) OVER (PARTITION BY c.track_id ORDER BY c.ts), (SELECT end_ts FROM stretch)) AS until
    FROM counter_summary AS s JOIN counter_record AS c USING (track_id)
    WHERE s.type = 'cpu_idle'
      AND c.ts >= (SELECT start_ts FROM stretch) AND c.ts < (SELECT end_ts FROM stretch)
  )
  GROUP BY ucpu, value
)
ORDER BY ucpu, state;

-- # Other counters
-- As recorded; counters that changed most often come first. For a counter that only grows,
-- use last - first.
SELECT type, name AS counter, of, unit, "values",
       round(first, 3) AS first,
       round(low, 3) AS min,
       round(average, 3) AS avg,
       round(high, 3) AS max,
       round(last, 3) AS last
FROM counter_summary
WHERE type NOT IN ('process_memory', 'process_memory_thread_fallback', 'smaps', 'meminfo', 'ion', 'android_dma_heap',
                   'gpu_memory', 'buddyinfo', 'slabinfo', 'cpu_frequency', 'cpu_idle')
ORDER BY low = high, "values" DESC, type, name, of
LIMIT :top;
