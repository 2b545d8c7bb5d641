-- The database that `timebase import` makes: its tables. What is made when all
-- rows are in, is in finish.sql.
--
-- `Events:` above a table says that a row is an event, what an import calls
-- such rows in its summary, and where they are shown; or of which events the
-- table is a part.
--
-- All times are integers in nanoseconds unless a column says otherwise.

PRAGMA application_id = 1952605811;  -- 'tbfs'
PRAGMA user_version = 2;

-- One row for every packet of the trace, in file order.
CREATE TABLE packet (
  id         INTEGER PRIMARY KEY,  -- 0, 1, 2 ... in file order
  ts         INTEGER,              -- trace time; NULL without a timestamp or where unresolved
  timestamp  INTEGER,              -- the packet's own field, as recorded
  clock_id   INTEGER,              -- the clock it was read from: its own, its sequence's default or the trace's
  clock_ts   INTEGER,              -- the absolute reading, in the clock's own unit: deltas are summed up
  seq_id     INTEGER NOT NULL,     -- trusted_packet_sequence_id, 0 if none
  machine_id INTEGER NOT NULL,     -- 0 is the host
  type       TEXT,                 -- name of the payload field
  uid        INTEGER,
  pid        INTEGER,
  unresolved TEXT,                 -- why ts is NULL although there is a timestamp: no_path, ...
  offset     INTEGER NOT NULL,     -- of its bytes in the decompressed trace stream
  size       INTEGER NOT NULL,     -- how many bytes it has
  data       BLOB                  -- its bytes: a serialized TracePacket
);

CREATE INDEX packet_ts ON packet (ts);

-- Finds what could not be placed, in file order.
CREATE INDEX packet_unresolved ON packet (id) WHERE unresolved IS NOT NULL;

-- One row a reading of a snapshot. Those of a rejected snapshot are not here; import_log tells of it.
CREATE TABLE clock_snapshot (
  id                 INTEGER PRIMARY KEY,
  ts                 INTEGER,           -- trace time of the reading
  clock_id           INTEGER NOT NULL,
  clock_name         TEXT,              -- as in Perfetto's trace processor
  clock_value        INTEGER NOT NULL,  -- in nanoseconds: timestamp x unit_multiplier_ns
  snapshot_id        INTEGER NOT NULL,  -- which readings were taken together
  machine_id         INTEGER NOT NULL DEFAULT 0,
  packet_id          INTEGER,           -- the packet that carried it
  seq_id             INTEGER NOT NULL DEFAULT 0,  -- 0 but for the clocks 64 to 127, which each sequence has its own of
  timestamp          INTEGER,           -- as recorded, in the clock's own unit
  unit_multiplier_ns INTEGER NOT NULL DEFAULT 1,
  is_incremental     INTEGER NOT NULL DEFAULT 0,
  source             INTEGER NOT NULL DEFAULT 0   -- who took it: 0 the tracing service, 1 another writer, 2 a bundle of kernel events
);

-- The kernel's events. A row is numbers only, about 30 bytes; the view
-- ftrace_event (finish.sql) has them as users want them.
-- Events: kernel: events in ftrace_event
CREATE TABLE ftrace_record (
  id        INTEGER PRIMARY KEY,  -- in file order, within a bundle in order of time
  ts        INTEGER,              -- trace time; NULL where unresolved
  packet_id INTEGER NOT NULL,     -- the bundle that holds it
  cpu       INTEGER,
  tid       INTEGER,              -- the thread that was running
  name_id   INTEGER,              -- in ftrace_name
  args_id   INTEGER,              -- in ftrace_args
  timestamp INTEGER               -- as recorded, NULL if that is ts
);

-- Finds kernel events by time, and counts or seeks them by name without reading
-- the events.
CREATE INDEX ftrace_record_ts ON ftrace_record (ts, name_id);

-- Events that lack what an earlier one would have told: those of the compact
-- scheduler encoding before the first switch of their CPU. Their ids are of
-- the same order.
-- Events: part of ftrace_event
CREATE TABLE ftrace_partial (
  id        INTEGER PRIMARY KEY,
  ts        INTEGER,
  packet_id INTEGER NOT NULL,
  cpu       INTEGER,
  tid       INTEGER,
  name_id   INTEGER,
  args_id   INTEGER,
  timestamp INTEGER
);

-- What kernel events are called.
-- Events: part of ftrace_event
CREATE TABLE ftrace_name (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

-- Their arguments, equal ones once as far as possible.
-- Events: part of ftrace_event
CREATE TABLE ftrace_args (
  id           INTEGER PRIMARY KEY,
  common_flags INTEGER,        -- of the events that have these arguments
  args         TEXT NOT NULL   -- a JSON object
);

-- Stretches of kernel events that could not be placed, and why.
-- Events: part of ftrace_event
CREATE TABLE ftrace_unresolved (
  first_id   INTEGER PRIMARY KEY,
  last_id    INTEGER NOT NULL,
  reason     TEXT NOT NULL,   -- why: no_path, ...
  machine_id INTEGER,         -- the clock that they were read from
  clock_id   INTEGER,
  seq_id     INTEGER
);

-- One row a line of the Android log.
-- Events: log: lines in android_logs
CREATE TABLE android_logs (
  id         INTEGER PRIMARY KEY,
  ts         INTEGER,           -- trace time; NULL where unresolved
  packet_id  INTEGER NOT NULL,
  pid        INTEGER,
  tid        INTEGER,
  uid        INTEGER,
  log_id     INTEGER,           -- 0 main, 1 radio, 2 events, 3 system, 4 crash, 5 stats, 6 security, 7 kernel
  prio       INTEGER NOT NULL,  -- 2 verbose, 3 debug, 4 info, 5 warning, 6 error, 7 fatal
  tag        TEXT,
  msg        TEXT,              -- of a line of the binary log: its arguments as Perfetto prints them
  args       TEXT,              -- of a line of the binary log: its arguments, a JSON object
  timestamp  INTEGER,           -- REALTIME, as recorded
  unresolved TEXT               -- why ts is NULL although there is a timestamp: no_path, ...
);

CREATE INDEX android_logs_ts ON android_logs (ts);

-- What extends the schema of packets: serialized FileDescriptorSets, of the
-- trace's own or named at the import.
CREATE TABLE descriptor (
  id        INTEGER PRIMARY KEY,
  source    TEXT NOT NULL,  -- 'trace', or the file's name
  packet_id INTEGER,        -- the packet that held it
  data      BLOB NOT NULL
);

-- One row a clock domain.
CREATE TABLE clock (
  machine_id         INTEGER NOT NULL,
  clock_id           INTEGER NOT NULL,
  seq_id             INTEGER NOT NULL,
  name               TEXT,              -- of a builtin clock
  scope              TEXT NOT NULL,     -- builtin (up to 63), sequence (64 to 127) or global
  unit_multiplier_ns INTEGER NOT NULL,
  is_incremental     INTEGER NOT NULL,
  is_monotonic       INTEGER NOT NULL,  -- 0: it went backwards, so nothing is converted from it
  snapshots          INTEGER NOT NULL,  -- how many snapshots hold it
  first_value        INTEGER,           -- its first reading, in nanoseconds
  last_value         INTEGER,
  packets            INTEGER NOT NULL,  -- how many packets use it
  path               TEXT,              -- to BOOTTIME; NULL if there is none
  hops               INTEGER,
  PRIMARY KEY (machine_id, clock_id, seq_id)
) WITHOUT ROWID;

-- The conversion of every clock as a step function: value + offset is the
-- reading of to_clock_id, for start_value <= value < end_value. end_value is NULL
-- without bound; start_value, being part of the key, is the least integer then.
CREATE TABLE clock_step (
  machine_id  INTEGER NOT NULL,
  clock_id    INTEGER NOT NULL,
  seq_id      INTEGER NOT NULL,
  to_clock_id INTEGER NOT NULL,
  start_value INTEGER NOT NULL,
  end_value   INTEGER,
  offset      INTEGER NOT NULL,
  PRIMARY KEY (machine_id, clock_id, seq_id, to_clock_id, start_value)
) WITHOUT ROWID;

-- One row a writer of packets.
CREATE TABLE sequence (
  id         INTEGER NOT NULL,  -- trusted_packet_sequence_id
  machine_id INTEGER NOT NULL,
  uid        INTEGER,
  pid        INTEGER,
  packets    INTEGER NOT NULL,
  losses     INTEGER NOT NULL,  -- packets that say data was lost before them
  first_ts   INTEGER,           -- the smallest and the greatest ts of its packets
  last_ts    INTEGER,
  PRIMARY KEY (machine_id, id)
) WITHOUT ROWID;

-- What the import has to say about the trace.
CREATE TABLE import_log (
  id        INTEGER PRIMARY KEY,
  severity  TEXT NOT NULL,  -- info, warning or error
  code      TEXT NOT NULL,  -- what kind of thing happened
  packet_id INTEGER,        -- to which packet
  offset    INTEGER,        -- where in the decompressed trace stream
  message   TEXT NOT NULL
);

-- Every counter of the import.
CREATE TABLE stats (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

-- Facts about the trace and its import.
CREATE TABLE metadata (
  name  TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;
