-- The statistics of what lasts. A percentile is a row of its own (nearest rank).
ranked AS (
  SELECT family, process, name, dur, sure,
         row_number() OVER (PARTITION BY family, process, name ORDER BY dur) AS nr,
         count(*) OVER line AS n,
         iif(sure, sum(sure) OVER (PARTITION BY family, process, name ORDER BY dur ROWS UNBOUNDED PRECEDING), NULL) AS sure_nr,
         sum(sure) OVER line AS sure_n
  FROM lasting WINDOW line AS (PARTITION BY family, process, name)
)
SELECT family, process, name, 'count' AS stat, sum(sure) AS value, count(*) AS value_all FROM lasting GROUP BY family, process, name
UNION ALL
SELECT family, process, name, 'total', total(dur * sure), total(dur) FROM lasting GROUP BY family, process, name
UNION ALL
SELECT family, process, name, stat, max(iif(sure_nr = (pct * sure_n + 99) / 100, dur, NULL)), max(iif(nr = (pct * n + 99) / 100, dur, NULL))
FROM ranked, (SELECT 'p50' AS stat, 50 AS pct UNION ALL SELECT 'p90', 90 UNION ALL SELECT 'p99', 99 UNION ALL SELECT 'max', 100)
GROUP BY family, process, name, stat
UNION ALL
SELECT 'run', '', 'left_out', family, total(dur * (1 - sure)) / nullif(total(dur), 0), NULL FROM lasting GROUP BY family
UNION ALL
