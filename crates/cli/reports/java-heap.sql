-- Java heaps: what is alive, by class, and the objects that keep the most memory alive.
--
--   timebase query TRACE-or-DB --report java-heap --param process=com.example.app
--
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time from which on dumps count; NULL is the trace's start
-- param to time = NULL : trace time before which they count; NULL is the trace's end
-- param process text = NULL : only this process: a pattern for its name (GLOB), or its pid; NULL is all of them
--
-- All lists but the first are of the last dump of each process. An object is alive if a root leads to it. Sizes are in
-- bytes. timebase flamegraph --of java draws the same memory, and --diff two dumps.
--
-- column objects : the number of objects in the dump
-- column alive : the number of objects that a root leads to
-- column alive_size : their bytes
-- column native_size : the bytes outside of the heap that they own
-- column garbage_size : the bytes of the other objects
-- column truncated : 1 if packets of the dump are missing
-- column class : the class, by its deobfuscated name if that is known
-- column self_size : the bytes of the objects themselves
-- column retained_size : the bytes that nothing else keeps alive: those of the object, and of all that only it leads to
-- column path : the shortest path from a root: the type of the root, then each field and the class of its object

CREATE TEMP TABLE picked AS
SELECT g.id, g.upid, g.ts, g.heap_size, g.truncated
FROM heap_graph AS g
JOIN process_record AS p ON p.id = g.upid
WHERE (:from IS NULL OR g.ts >= :from) AND (:to IS NULL OR g.ts < :to)
  AND (:process IS NULL OR p.name GLOB :process OR CAST(p.pid AS TEXT) = :process);

CREATE TEMP TABLE last_dump AS
SELECT upid, max(ts) AS ts FROM picked GROUP BY upid;

-- What each object of the last dumps keeps alive alone.
CREATE TEMP TABLE kept (object_id INTEGER PRIMARY KEY, retained_size INTEGER);
INSERT INTO kept
SELECT d.object_id, d.dominated_size_bytes
FROM last_dump AS l CROSS JOIN heap_graph_dominator(l.upid, l.ts) AS d;

-- # Dumps
-- Each dump, and what is alive in it.
SELECT k.ts,
       p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       p.pid,
       count(o.id) AS objects,
       CAST(total(o.root_distance >= 0) AS INTEGER) AS alive,
       CAST(total(iif(o.root_distance >= 0, max(o.self_size, 0), 0)) AS INTEGER) AS alive_size,
       CAST(total(iif(o.root_distance >= 0, o.native_size, 0)) AS INTEGER) AS native_size,
       CAST(total(iif(o.root_distance < 0, max(o.self_size, 0), 0)) AS INTEGER) AS garbage_size,
       k.heap_size,
       k.truncated
FROM picked AS k
JOIN process_record AS p ON p.id = k.upid
LEFT JOIN heap_graph_object_record AS o ON o.upid = k.upid AND o.graph_sample_ts = k.ts
GROUP BY k.id
ORDER BY k.ts, k.id
LIMIT :top;

-- # Classes
-- The objects that are alive, by class.
SELECT coalesce(c.deobfuscated_name, c.name) AS class,
       count(*) AS alive,
       CAST(total(max(o.self_size, 0)) AS INTEGER) AS self_size,
       CAST(total(o.native_size) AS INTEGER) AS native_size
FROM kept AS k
JOIN heap_graph_object_record AS o ON o.id = k.object_id
JOIN heap_graph_class AS c ON c.id = o.type_id
GROUP BY 1
ORDER BY self_size DESC, alive DESC, class
LIMIT :top;

-- # Objects that keep the most alive
-- If the object were gone, so were retained_size bytes; path says why it is alive.
SELECT k.object_id,
       coalesce(c.deobfuscated_name, c.name) AS class,
       k.retained_size,
       max(o.self_size, 0) AS self_size,
       (SELECT group_concat(iif(h.distance = 0, h.root_type, coalesce(h.field_name, '?')) || ' ' || coalesce(h.class_name, '?'), ' > ')
        FROM heap_graph_path(k.object_id) AS h) AS path
FROM (SELECT object_id, retained_size FROM kept ORDER BY retained_size DESC, object_id LIMIT :top) AS k
JOIN heap_graph_object_record AS o ON o.id = k.object_id
JOIN heap_graph_class AS c ON c.id = o.type_id
ORDER BY k.retained_size DESC, k.object_id;

-- # Roots
-- The objects that are alive by themselves, by the type of the root.
SELECT o.root_type, count(*) AS objects, CAST(total(k.retained_size) AS INTEGER) AS retained_size
FROM kept AS k
JOIN heap_graph_object AS o ON o.id = k.object_id
WHERE o.root_type IS NOT NULL
GROUP BY o.root_type
ORDER BY retained_size DESC, o.root_type;
