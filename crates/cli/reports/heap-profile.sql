-- Heap profiles: the memory that processes, functions and callstacks allocated and did not free.
--
--   timebase query TRACE-or-DB --report heap-profile --param process=app
--
-- param top integer = 20 : how many rows each list has
-- param from time = NULL : trace time from which on dumps count; NULL is the trace's start
-- param to time = NULL : trace time before which they count; NULL is the trace's end
-- param process text = NULL : only this process: a pattern for its name (GLOB), or its pid; NULL is all of them
-- param heap text = NULL : only the heap of this name; NULL is all of them
--
-- A dump counts what a process allocated and freed since the dump before. unreleased is what was allocated
-- and not freed in the counted dumps; it is below 0 if they freed more, of memory from dumps before. Sizes are
-- in bytes. timebase flamegraph draws the same memory.
--
-- column allocations : the number of allocations
-- column allocated : the bytes of all allocations
-- column kept : the number of allocations that were not freed
-- column unreleased : the bytes that were not freed
-- column function : its name, or the file and the place in it if the name is unknown
-- column self_unreleased, self_allocated : the bytes by the function itself
-- column total_unreleased, total_allocated : the same with the functions that it called
-- column stack : a callstack, from the outermost function to the innermost
-- column lost : the number of lost allocations; NULL if it is unknown

CREATE TEMP TABLE picked AS
SELECT h.upid, h.heap_name, h.callsite_id,
       total(max(h.count, 0)) AS allocations, total(max(h.size, 0)) AS allocated,
       total(h.count) AS kept, total(h.size) AS unreleased
FROM heap_profile_allocation_record AS h
JOIN process_record AS p ON p.id = h.upid
WHERE (:from IS NULL OR h.ts >= :from) AND (:to IS NULL OR h.ts < :to)
  AND (:process IS NULL OR p.name GLOB :process OR CAST(p.pid AS TEXT) = :process)
  AND (:heap IS NULL OR h.heap_name IN (SELECT id FROM string WHERE value = :heap))
GROUP BY h.upid, h.heap_name, h.callsite_id;

-- Each callstack that allocated, with all processes and heaps.
CREATE TEMP TABLE stack (callsite_id INTEGER PRIMARY KEY, allocated REAL, unreleased REAL);
INSERT INTO stack
SELECT callsite_id, sum(allocated), sum(unreleased) FROM picked GROUP BY callsite_id;

-- The functions of a frame, as callstack names them: several if the compiler inlined some. The innermost one is
-- first.
CREATE TEMP TABLE function_of (frame_id INTEGER, nr INTEGER, name TEXT, PRIMARY KEY (frame_id, nr)) WITHOUT ROWID;
INSERT INTO function_of
SELECT f.id, row_number() OVER (PARTITION BY f.id ORDER BY y.id),
       coalesce(nullif(y.name, ''), nullif(f.name, ''),
                coalesce(nullif(m.name, ''), '[unknown]') || '+0x' || printf('%llx', f.rel_pc))
FROM stack_profile_frame AS f
LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping
LEFT JOIN stack_profile_symbol AS y ON y.symbol_set_id = f.symbol_set_id;

-- # Memory by process
-- For each heap of a process; kept is the number of allocations that were not freed.
SELECT p.name || iif(p.machine_id, ' of machine ' || p.machine_id, '') AS process,
       p.pid,
       (SELECT value FROM string WHERE string.id = k.heap_name) AS heap,
       CAST(sum(k.allocations) AS INTEGER) AS allocations,
       CAST(sum(k.allocated) AS INTEGER) AS allocated,
       CAST(sum(k.kept) AS INTEGER) AS kept,
       CAST(sum(k.unreleased) AS INTEGER) AS unreleased
FROM picked AS k
JOIN process_record AS p ON p.id = k.upid
GROUP BY k.upid, k.heap_name
ORDER BY unreleased DESC, allocated DESC, k.upid, heap
LIMIT :top;

-- # Functions
-- self is the memory that the function itself allocated; total includes the functions that it called.
-- A callstack counts once, even if the function called itself.
WITH RECURSIVE
up (callsite_id, at) AS (
  SELECT callsite_id, callsite_id FROM stack
  UNION ALL
  SELECT up.callsite_id, c.parent_id
  FROM up JOIN stack_profile_callsite AS c ON c.id = up.at
  WHERE c.parent_id < c.id
),
met AS (
  SELECT up.callsite_id, f.name, max(up.at = up.callsite_id AND f.nr = 1) AS is_self
  FROM up
  JOIN stack_profile_callsite AS c ON c.id = up.at
  JOIN function_of AS f ON f.frame_id = c.frame_id
  GROUP BY up.callsite_id, f.name
)
SELECT name AS function,
       CAST(total(iif(is_self, unreleased, 0)) AS INTEGER) AS self_unreleased,
       CAST(total(unreleased) AS INTEGER) AS total_unreleased,
       CAST(total(iif(is_self, allocated, 0)) AS INTEGER) AS self_allocated,
       CAST(total(allocated) AS INTEGER) AS total_allocated
FROM met JOIN stack USING (callsite_id)
GROUP BY name
ORDER BY self_unreleased DESC, total_unreleased DESC, name
LIMIT :top;

-- # Callstacks
-- From the outermost function to the innermost one, which allocated.
SELECT CAST(sum(unreleased) AS INTEGER) AS unreleased,
       CAST(sum(allocated) AS INTEGER) AS allocated,
       stack
FROM (SELECT unreleased, allocated, callstack(callsite_id) AS stack FROM stack)
GROUP BY stack
ORDER BY unreleased DESC, allocated DESC, stack
LIMIT :top;

-- # Incomplete profiles
-- A profiler that reported an error or lost allocations in these times, so sizes may be wrong.
SELECT l.start_ts, l.end_ts, l.seq_id, l.count AS lost
FROM loss AS l
WHERE l.kind = 'heap'
  AND (:from IS NULL OR ifnull(l.end_ts >= :from, 1))
  AND (:to IS NULL OR ifnull(l.start_ts < :to, 1))
ORDER BY l.start_ts, l.id
LIMIT :top;
