-- The database that `timebase import` makes: its tables. What is made when all
-- rows are in, is in finish.sql.
--
-- All times are integers in nanoseconds unless a column says otherwise.

PRAGMA application_id = 1952605811;  -- 'tbas'
PRAGMA user_version = 1;

-- One row for every packet of the trace, in file order.
CREATE TABLE packet (
  id         INTEGER PRIMARY KEY,  -- 0, 1, 2 ... in file order
  ts         INTEGER,              -- trace time; NULL without a timestamp or where unresolved
  timestamp  INTEGER,              -- the packet's own field, as recorded
  clock_id   INTEGER,              -- the clock it was read from (rule C4)
  clock_ts   INTEGER,              -- the absolute reading, in the clock's own unit (rule V5)
  seq_id     INTEGER NOT NULL,     -- trusted_packet_sequence_id, 0 if none
  machine_id INTEGER NOT NULL,     -- 0 is the host
  type       TEXT,                 -- name of the payload field
  uid        INTEGER,
  pid        INTEGER,
  unresolved TEXT,                 -- NULL, or the reason (rule V7)
  offset     INTEGER NOT NULL,     -- of its bytes in the decompressed trace stream
  size       INTEGER NOT NULL,     -- how many bytes it has
  data       BLOB                  -- its bytes: a serialized TracePacket
);

-- Finds what could not be placed, in file order. Rows are added to it as they
-- come, since it is empty for most traces, and building it would read them all.
CREATE INDEX packet_unresolved ON packet (id) WHERE unresolved IS NOT NULL;

-- One row a reading of an accepted snapshot (rule N6).
CREATE TABLE clock_snapshot (
  id                 INTEGER PRIMARY KEY,
  ts                 INTEGER,           -- trace time of the reading
  clock_id           INTEGER NOT NULL,
  clock_name         TEXT,              -- as in Perfetto's trace processor
  clock_value        INTEGER NOT NULL,  -- in nanoseconds: timestamp x unit (rule N3)
  snapshot_id        INTEGER NOT NULL,  -- which readings were taken together
  machine_id         INTEGER NOT NULL DEFAULT 0,
  packet_id          INTEGER,           -- the packet that carried it
  seq_id             INTEGER NOT NULL DEFAULT 0,  -- 0 unless sequence-scoped (rule C2)
  timestamp          INTEGER,           -- as recorded, in the clock's own unit
  unit_multiplier_ns INTEGER NOT NULL DEFAULT 1,
  is_incremental     INTEGER NOT NULL DEFAULT 0,
  source             INTEGER NOT NULL DEFAULT 0   -- rule V2: 0 the service, 1 other writers
);

-- One row a clock domain.
CREATE TABLE clock (
  machine_id         INTEGER NOT NULL,
  clock_id           INTEGER NOT NULL,
  seq_id             INTEGER NOT NULL,
  name               TEXT,              -- of a builtin clock
  scope              TEXT NOT NULL,     -- builtin, sequence or global (rule C2)
  unit_multiplier_ns INTEGER NOT NULL,
  is_incremental     INTEGER NOT NULL,
  is_monotonic       INTEGER NOT NULL,  -- 0: never a source of conversions (rule N5)
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

CREATE TABLE metadata (
  name  TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;
