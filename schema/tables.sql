-- The database that `timebase import` makes: its tables. What is made when all
-- rows are in, is in finish.sql.
--
-- `Events:` above a table says that a row is an event, what an import calls
-- such rows in its summary, and where they are shown; or of which events the
-- table is a part. `Order:` says in which order rows of a table come that is
-- not that of its rowids: `key`, of one without rowids, or `any`.
--
-- All times are integers in nanoseconds unless a column says otherwise.

PRAGMA application_id = 1952605811;  -- 'tbfs'
PRAGMA user_version = 8;

-- The files of an import: the input, and what is in it if it is an archive or if several were named.
CREATE TABLE trace_file (
  id               INTEGER PRIMARY KEY,  -- 0 is the input or the archive; its members from 1, as they stand there
  parent_id        INTEGER,              -- what it is in
  name             TEXT,
  trace_type       TEXT,                 -- of what is in it: proto, perfetto_manifest, zip, tar, unknown; NULL for several that were named
  compression      TEXT,                 -- of the file as a whole: gzip, zstd
  size             INTEGER,              -- in bytes, as it is
  processing_order INTEGER,              -- which it was of those that were read, from 0
  is_container     INTEGER NOT NULL,
  packets          INTEGER NOT NULL,
  sha256           TEXT
);

-- What the files hold of each machine. The view placement (finish.sql) tells how each part was placed in time.
CREATE TABLE part (
  trace_file_id INTEGER NOT NULL,
  machine_id    INTEGER NOT NULL,
  own_from      INTEGER,           -- from this packet on its clocks are the file's own; NULL: they are the machine's
  is_pinned     INTEGER NOT NULL,  -- 1 if packets that name no clock are read on the file's private one
  how           TEXT NOT NULL,     -- trace_time, snapshots, remote_sync, manifest, realtime, same_clock, unplaced
  offset        INTEGER,           -- trace time less BOOTTIME of the part, at its first packet
  error         INTEGER,           -- how far that may be off; NULL where something is assumed, or nobody knows
  boots_differ  INTEGER,           -- how much later REALTIME puts it than its place does, where they are of two boots
  PRIMARY KEY (trace_file_id, machine_id)
) WITHOUT ROWID;

-- What machines asked each other for the time: one row a sample.
CREATE TABLE remote_clock_sync (
  id                 INTEGER PRIMARY KEY,
  packet_id          INTEGER NOT NULL,
  trace_file_id      INTEGER,           -- whose own clock of the client it is; NULL for the machine's
  machine_id         INTEGER NOT NULL,  -- the client
  clock_id           INTEGER NOT NULL,
  host_trace_file_id INTEGER,
  host_machine_id    INTEGER NOT NULL,
  host_value         INTEGER NOT NULL,  -- when the host's clock read this,
  ts                 INTEGER,           -- which is this trace time,
  offset             INTEGER NOT NULL,  -- the client's clock read so much more
  half_round_trip    INTEGER NOT NULL,  -- give or take this
  used               INTEGER NOT NULL   -- 1 if conversions by rates use it
);

-- What is missing of the recording: one row for each piece of evidence.
CREATE TABLE loss (
  id         INTEGER PRIMARY KEY,
  kind       TEXT NOT NULL,  -- kernel_events, switch, packets, kernel_buffer, setup, buffer, writer, damage
  start_ts   INTEGER,        -- between which times; NULL where that is not known
  end_ts     INTEGER,
  machine_id INTEGER,        -- whose, in machine
  ucpu       INTEGER,        -- of which CPU
  seq_id     INTEGER,        -- of which sequence
  buffer     INTEGER,        -- of which buffer of the recording, from 0
  count      INTEGER,        -- how many events, packets or chunks; NULL if not known
  packet_id  INTEGER,        -- the packet that says so
  severity   TEXT NOT NULL   -- data_loss, or info where the recording was meant to
);

-- One row for every packet of the trace, in the order in which files are read.
CREATE TABLE packet (
  id         INTEGER PRIMARY KEY,  -- 0, 1, 2 ... over all files
  ts         INTEGER,              -- trace time; NULL without a timestamp or where unresolved
  timestamp  INTEGER,              -- the packet's own field, as recorded
  clock_id   INTEGER,              -- the clock it was read from: its own, its sequence's default or the trace's
  clock_ts   INTEGER,              -- the absolute reading, in the clock's own unit: deltas are summed up
  seq_id     INTEGER NOT NULL,     -- trusted_packet_sequence_id, 0 if none
  machine_id INTEGER NOT NULL,     -- whose it is, in machine
  type       TEXT,                 -- name of the payload field
  uid        INTEGER,
  pid        INTEGER,
  unresolved TEXT,                 -- why ts is NULL although there is a timestamp: no_path, ...
  trace_file_id INTEGER NOT NULL,  -- the file that holds it
  number     INTEGER NOT NULL,     -- 0, 1, 2 ... in its file
  offset     INTEGER NOT NULL,     -- of its bytes in the decompressed stream of its file
  size       INTEGER NOT NULL,     -- how many bytes it has
  data       BLOB                  -- its bytes: a serialized TracePacket
);

CREATE INDEX packet_ts ON packet (ts);

-- Finds what could not be placed, in file order.
CREATE INDEX packet_unresolved ON packet (id) WHERE unresolved IS NOT NULL;

-- Packets that were placed when their part had other clocks than when they were read: whose own the clock is, -1 for
-- the machine's.
CREATE TABLE packet_clock_record (
  packet_id INTEGER PRIMARY KEY,
  file      INTEGER NOT NULL
);

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
  source             TEXT NOT NULL DEFAULT 'service',  -- who took it: service, writer, remote_sync, ftrace, manifest; assumed: nobody
  trace_file_id      INTEGER            -- the file whose own clock it is; NULL if it is the machine's
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
  id           INTEGER PRIMARY KEY,  -- odd; the sets of arg_set have even numbers
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
CREATE TABLE android_log_record (
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

CREATE INDEX android_log_record_ts ON android_log_record (ts);

-- The thread of each of them that has a time.
-- Events: part of android_logs
-- Order: any
CREATE TABLE android_log_thread (
  id   INTEGER PRIMARY KEY,
  utid INTEGER NOT NULL
);

-- Texts that rows of other tables have by their numbers.
-- Events: part of thread
CREATE TABLE string (
  id    INTEGER PRIMARY KEY,
  value TEXT NOT NULL
);

-- The machines whose packets are in the trace.
CREATE TABLE machine (
  id                          INTEGER PRIMARY KEY,  -- first those that the manifest names, then the others as first seen
  raw_id                      INTEGER,              -- machine_id of its packets, 0 is the host; from 2^32 on those that the manifest names
  name                        TEXT,                 -- as the manifest or the machine itself says
  sysname                     TEXT,                 -- this and the next three by uname
  release                     TEXT,
  version                     TEXT,
  arch                        TEXT,
  num_cpus                    INTEGER,
  android_build_fingerprint   TEXT,
  android_device_manufacturer TEXT,
  android_sdk_version         INTEGER,
  system_ram_bytes            INTEGER,
  system_ram_gb               INTEGER,
  packets                     INTEGER NOT NULL,
  first_ts                    INTEGER,              -- the smallest and the greatest ts of its packets
  last_ts                     INTEGER
);

-- Processes: those that anything of the trace names.
-- Events: processes: processes in process
CREATE TABLE process_record (
  id          INTEGER PRIMARY KEY,  -- the upid
  pid         INTEGER NOT NULL,
  name        TEXT,
  start_ts    INTEGER,
  end_ts      INTEGER,
  parent_upid INTEGER,
  uid         INTEGER,
  cmdline     TEXT,
  arg_set_id  INTEGER,
  machine_id  INTEGER NOT NULL
);

-- Threads. A tid that is used again is a new row.
-- Events: threads: threads in thread
CREATE TABLE thread_record (
  id             INTEGER PRIMARY KEY,  -- the utid
  tid            INTEGER NOT NULL,
  name           TEXT,
  start_ts       INTEGER,
  end_ts         INTEGER,
  upid           INTEGER,
  is_main_thread INTEGER,              -- NULL while the process is not known
  is_idle        INTEGER NOT NULL,     -- 1 for the thread that an idle CPU runs
  machine_id     INTEGER NOT NULL,
  arg_set_id     INTEGER
);

-- Which thread a tid was, from when on: finds that of a kernel event.
-- Events: part of ftrace_event
CREATE TABLE thread_emitting (
  machine_id INTEGER NOT NULL,
  tid        INTEGER NOT NULL,
  ts         INTEGER NOT NULL,
  utid       INTEGER NOT NULL,
  PRIMARY KEY (machine_id, tid, ts)
) WITHOUT ROWID;

-- CPUs.
-- Events: part of thread
CREATE TABLE cpu_record (
  id         INTEGER PRIMARY KEY,  -- the ucpu: 4096 * machine_id + cpu
  cpu        INTEGER NOT NULL,
  cluster_id INTEGER NOT NULL,
  processor  TEXT,
  machine_id INTEGER NOT NULL,
  capacity   INTEGER,
  arg_set_id INTEGER
);

-- The frequencies that CPUs can have, in kHz.
-- Events: part of thread
CREATE TABLE cpu_available_frequencies (
  id   INTEGER PRIMARY KEY,
  cpu  INTEGER NOT NULL,
  freq INTEGER NOT NULL,
  ucpu INTEGER NOT NULL
);

-- What CPUs ran, in the order of time: from one switch to the next. A row is also up to three of thread_state, as what a
-- thread does next is known when it runs again: it runs; it is off the CPU for the time `after`; it is
-- runnable for the time `runnable`, because somebody woke it. What does not go
-- into that, and what lasts long, is in thread_state_record.
-- Events: scheduling: slices in sched
-- Order: key
CREATE TABLE sched_record (
  ts          INTEGER NOT NULL,
  id          INTEGER NOT NULL,  -- 0, 1, 2 ...
  dur         INTEGER NOT NULL,  -- -1 where it is not known
  ucpu        INTEGER NOT NULL,
  utid        INTEGER NOT NULL,
  priority    INTEGER NOT NULL,
  end_state   INTEGER,           -- in string
  is_state    INTEGER NOT NULL,  -- 1 if it is a row of thread_state
  after       INTEGER,           -- how long end_state lasted; -1 to the end of the trace
  runnable    INTEGER,           -- how long it was runnable then; -1 to the end of the trace
  waker_utid  INTEGER,           -- who woke it
  waker_slice INTEGER,           -- how many slices before this one the waker's began
  irq_context INTEGER,           -- whether in an interrupt; NULL where that is not known
  doubt       INTEGER,           -- why its rows may be wrong, three bits each: of sched, Running, after, runnable
  PRIMARY KEY (ts, id)
) WITHOUT ROWID;

CREATE INDEX sched_record_utid ON sched_record (utid, ts);

-- Rows of thread_state that no row of sched_record tells.
-- Events: part of sched
-- Order: any
CREATE TABLE thread_state_record (
  id               INTEGER PRIMARY KEY,
  ts               INTEGER NOT NULL,
  dur              INTEGER NOT NULL,
  ucpu             INTEGER,
  utid             INTEGER NOT NULL,
  state            INTEGER,           -- in string
  io_wait          INTEGER,
  blocked_function INTEGER,           -- in string
  waker_utid       INTEGER,
  waker_id         INTEGER,
  irq_context      INTEGER,
  doubt            INTEGER            -- why it may be wrong
);

CREATE INDEX thread_state_record_utid ON thread_state_record (utid, ts);

-- Wakeups of threads that were runnable or running.
-- Events: part of sched
CREATE TABLE spurious_sched_wakeup (
  id              INTEGER PRIMARY KEY,
  ts              INTEGER NOT NULL,
  thread_state_id INTEGER NOT NULL,  -- what it was doing
  irq_context     INTEGER,
  utid            INTEGER NOT NULL,
  waker_utid      INTEGER NOT NULL
);

-- Tracks: what slices or values are on.
-- Events: part of thread
CREATE TABLE track_record (
  id                   INTEGER PRIMARY KEY,
  name                 TEXT,
  type                 TEXT NOT NULL,
  is_counter           INTEGER NOT NULL,  -- 1 if it has values, 0 if it has slices
  parent_id            INTEGER,
  machine_id           INTEGER NOT NULL,
  dimension_arg_set_id INTEGER,
  source_arg_set_id    INTEGER,
  track_group_id       INTEGER,           -- one number for the lanes of a set
  utid                 INTEGER,           -- whose it is: at most one of these four, or a process on a GPU
  upid                 INTEGER,
  ucpu                 INTEGER,
  ugpu                 INTEGER,
  unit                 TEXT,
  description          TEXT
);

-- What threads, CPUs and GPUs did, from when to when.
-- Events: slices: slices in slice
-- Order: any
CREATE TABLE slice_record (
  id         INTEGER PRIMARY KEY,
  ts         INTEGER NOT NULL,
  dur        INTEGER NOT NULL,  -- 0 for an instant, -1 for one that did not end
  track_id   INTEGER NOT NULL,
  category   INTEGER,           -- in string
  name       INTEGER,           -- in string
  depth      INTEGER NOT NULL,
  parent_id  INTEGER,
  arg_set_id INTEGER,
  packet_id  INTEGER,           -- the packet that began it, of a track event
  thread_ts  INTEGER,           -- CPU time of the thread when it began
  thread_dur INTEGER,           -- CPU time used in it
  thread_instruction_count INTEGER,  -- the same of instructions
  thread_instruction_delta INTEGER,
  doubt      INTEGER            -- why it may be wrong
);

CREATE INDEX slice_record_ts ON slice_record (ts);
CREATE INDEX slice_record_track ON slice_record (track_id, ts);

-- Links from slice to slice.
-- Events: part of slice
CREATE TABLE flow (
  id         INTEGER PRIMARY KEY,
  slice_out  INTEGER NOT NULL,
  slice_in   INTEGER NOT NULL,
  trace_id   INTEGER NOT NULL,  -- what the program calls the flow
  arg_set_id INTEGER
);

CREATE INDEX flow_out ON flow (slice_out);
CREATE INDEX flow_in ON flow (slice_in);

-- Flows that end before they begin, each with no other end or begin: what was sent seems to be received before.
-- Events: part of slice
CREATE TABLE flow_backwards (
  id         INTEGER PRIMARY KEY,
  slice_out  INTEGER NOT NULL,  -- the slice that sends
  slice_in   INTEGER NOT NULL,  -- the slice that receives
  trace_id   INTEGER NOT NULL,  -- what the program calls the flow
  packet_out INTEGER NOT NULL,  -- the packet that begins the flow
  packet_in  INTEGER NOT NULL   -- the packet that ends it, whose time is before that
);

-- What slices of GPUs have besides.
-- Events: part of slice
CREATE TABLE gpu_slice_record (
  id                    INTEGER PRIMARY KEY,  -- the slice
  context_id            INTEGER,
  render_target         INTEGER,
  render_pass           INTEGER,
  command_buffer        INTEGER,
  submission_id         INTEGER,
  hw_queue_id           INTEGER,
  upid                  INTEGER,
  render_subpasses      TEXT,
  render_stage_category INTEGER
);

-- Values over time.
-- Events: counters: values in counter
-- Order: any
CREATE TABLE counter_record (
  id         INTEGER PRIMARY KEY,
  ts         INTEGER NOT NULL,
  track_id   INTEGER NOT NULL,
  value      REAL,
  arg_set_id INTEGER
);

CREATE INDEX counter_record_track ON counter_record (track_id, ts);

-- GPUs.
-- Events: part of thread
CREATE TABLE gpu_record (
  id           INTEGER PRIMARY KEY,  -- the ugpu
  gpu          INTEGER NOT NULL,
  name         TEXT,
  vendor       TEXT,
  model        TEXT,
  architecture TEXT,
  uuid         TEXT,
  pci_bdf      TEXT,
  machine_id   INTEGER NOT NULL,
  arg_set_id   INTEGER
);

-- Sets of arguments; those that are equal mostly are one.
-- Events: part of thread
CREATE TABLE arg_set (
  id      INTEGER PRIMARY KEY,  -- even; the sets of ftrace_args have odd numbers
  args    TEXT NOT NULL,        -- a JSON object
  type_id INTEGER               -- in arg_type; NULL where JSON says it all
);

-- What JSON cannot say of arguments.
-- Events: part of thread
CREATE TABLE arg_type (
  id        INTEGER PRIMARY KEY,
  types     TEXT,  -- a JSON object: the value_type of keys where it is not that of the value
  flat_keys TEXT   -- a JSON object: the flat_key of keys where it is another
);

-- From when to when the events of tables are that have no index that would tell.
CREATE TABLE event_span (
  name     TEXT PRIMARY KEY,
  start_ts INTEGER NOT NULL,
  end_ts   INTEGER NOT NULL
) WITHOUT ROWID;

-- What extends the schema of packets: serialized FileDescriptorSets, of the
-- trace's own or named at the import.
CREATE TABLE descriptor (
  id        INTEGER PRIMARY KEY,
  source    TEXT NOT NULL,  -- 'trace', or the file's name
  packet_id INTEGER,        -- the packet that held it
  data      BLOB NOT NULL
);

-- One row a clock domain, with -1 for no file. The view clock (finish.sql) has NULL there.
CREATE TABLE clock_record (
  machine_id         INTEGER NOT NULL,
  clock_id           INTEGER NOT NULL,
  seq_id             INTEGER NOT NULL,
  file               INTEGER NOT NULL,  -- the trace file whose own it is; -1 if it is the machine's
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
  PRIMARY KEY (machine_id, clock_id, seq_id, file)
) WITHOUT ROWID;

-- The conversion of every clock as a step function: value + offset is the
-- reading of to_clock_id, for start_value <= value < end_value. end_value is NULL
-- without bound; start_value, being part of the key, is the least integer then.
CREATE TABLE clock_step (
  machine_id  INTEGER NOT NULL,
  clock_id    INTEGER NOT NULL,
  seq_id      INTEGER NOT NULL,
  file        INTEGER NOT NULL,
  to_clock_id INTEGER NOT NULL,
  start_value INTEGER NOT NULL,
  end_value   INTEGER,
  offset      INTEGER NOT NULL,
  PRIMARY KEY (machine_id, clock_id, seq_id, file, to_clock_id, start_value)
) WITHOUT ROWID;

-- What clock_line has the lines of: one row a clock and the clock that it is converted to.
CREATE TABLE clock_route (
  machine_id  INTEGER NOT NULL,
  clock_id    INTEGER NOT NULL,
  seq_id      INTEGER NOT NULL,
  file        INTEGER NOT NULL,
  to_clock_id INTEGER NOT NULL,
  id          INTEGER NOT NULL,  -- 0, 1, 2 ... in the order of the key
  PRIMARY KEY (machine_id, clock_id, seq_id, file, to_clock_id)
) WITHOUT ROWID;

-- The rate-aware conversion of every clock, line by line, for
-- start_value <= value < end_value. The view clock_mapping_linear (finish.sql) has it as users
-- want it, and what the columns mean.
-- Order: key
CREATE TABLE clock_line (
  route_id    INTEGER NOT NULL,
  start_value INTEGER NOT NULL,  -- the least integer without bound
  end_value   INTEGER,           -- NULL without bound
  offset      INTEGER NOT NULL,
  slope       REAL NOT NULL,
  error       REAL,              -- NULL where nobody knows it, as something is assumed
  error_slope REAL NOT NULL,
  kind        TEXT NOT NULL,     -- line, step, before, after
  PRIMARY KEY (route_id, start_value)
) WITHOUT ROWID;

-- What is known of the hops that conversions to BOOTTIME and to trace time go over: one row a hop,
-- from a clock to another that is read together with it.
CREATE TABLE clock_hop (
  id                     INTEGER PRIMARY KEY,  -- 0, 1, 2 ...
  machine_id             INTEGER NOT NULL,
  clock_id               INTEGER NOT NULL,
  seq_id                 INTEGER NOT NULL,
  trace_file_id          INTEGER,           -- the file whose own clock it is; NULL if it is the machine's
  to_machine_id          INTEGER NOT NULL,
  to_clock_id            INTEGER NOT NULL,
  to_seq_id              INTEGER NOT NULL,
  to_trace_file_id       INTEGER,
  from_clock             TEXT NOT NULL,     -- as clock_path has them: 64@3, MONOTONIC
  to_clock               TEXT NOT NULL,
  source                 TEXT NOT NULL,     -- who took the snapshots: as in clock_snapshot
  readings               INTEGER NOT NULL,  -- how many snapshots hold both, or samples are used; of equal values of the first clock one
  nominal_rate           REAL NOT NULL,     -- 1, unless one of the clocks does not count nanoseconds
  drift_ppm              REAL,              -- how much faster the second clock runs, the median; NULL if nothing tells
  drift_spread_ppm       REAL NOT NULL,     -- the largest difference to that between two readings
  noise_ns               REAL NOT NULL,     -- how exactly the clocks were read together
  steps                  INTEGER NOT NULL,  -- how often one of them was set, or slept
  outliers               INTEGER NOT NULL,  -- readings that are left out
  worst_error_ns         REAL NOT NULL,     -- between readings, without steps: of the linear conversion
  worst_error_nearest_ns REAL NOT NULL,     -- the same of nearest neighbour
  interval_for_1us_s     REAL               -- how often a snapshot is needed for nearest neighbour to stay within 1 us, in seconds; NULL if none
);

-- The readings of hops that are not on the line.
CREATE TABLE clock_hop_reading (
  id           INTEGER PRIMARY KEY,
  hop_id       INTEGER NOT NULL,
  snapshot_id  INTEGER,           -- NULL of a sample of remote_clock_sync
  from_value   INTEGER NOT NULL,  -- what the two clocks read, in nanoseconds
  to_value     INTEGER NOT NULL,
  kind         TEXT NOT NULL,     -- outlier: it is left out; step: it is the first after a step
  deviation_ns REAL NOT NULL      -- of an outlier, from the line of its neighbours; of a step, how far the second clock moved against the first
);

-- Where a clock wrapped or restarted: one row for each two of its snapshots between which it did. What was read after that
-- and converted by a snapshot from before it is counted; of an import by rates, which continues the clock, nothing is.
CREATE TABLE clock_turn (
  id               INTEGER PRIMARY KEY,
  machine_id       INTEGER NOT NULL,  -- the clock
  clock_id         INTEGER NOT NULL,
  seq_id           INTEGER NOT NULL,
  trace_file_id    INTEGER,           -- the file whose own it is; NULL if it is the machine's
  kind             TEXT NOT NULL,     -- wrap: it was through, and began again at 0; restart: it began again
  turns            INTEGER NOT NULL,  -- how often it wrapped; 0 of a restart
  bits             INTEGER,           -- it counts to 2 to the power of this, in its units; NULL of a restart
  turn_ns          REAL,              -- how long that takes; NULL of a restart
  before_packet_id INTEGER,           -- the packets with the snapshots before and after it
  packet_id        INTEGER,
  before_value     INTEGER NOT NULL,  -- what it read in them, in nanoseconds
  value            INTEGER NOT NULL,
  start_ts         INTEGER NOT NULL,  -- trace time of both
  end_ts           INTEGER NOT NULL,
  packets          INTEGER NOT NULL,  -- how many packets have a wrong time by it
  wrong_packet_id  INTEGER,           -- the first of them
  worst_ns         INTEGER            -- by how much the worst is off
);

-- One row a writer of packets.
CREATE TABLE sequence (
  id         INTEGER NOT NULL,  -- trusted_packet_sequence_id
  trace_file_id INTEGER NOT NULL,
  machine_id INTEGER NOT NULL,
  uid        INTEGER,
  pid        INTEGER,
  packets    INTEGER NOT NULL,
  losses     INTEGER NOT NULL,  -- packets that say data was lost before them
  first_ts   INTEGER,           -- the smallest and the greatest ts of its packets
  last_ts    INTEGER,
  PRIMARY KEY (trace_file_id, machine_id, id)
) WITHOUT ROWID;

-- What the import has to say about the trace.
CREATE TABLE import_log (
  id        INTEGER PRIMARY KEY,
  severity  TEXT NOT NULL,  -- info, warning or error
  code      TEXT NOT NULL,  -- what kind of thing happened
  packet_id INTEGER,        -- to which packet
  offset    INTEGER,        -- where in the decompressed stream of the file
  size      INTEGER,        -- how many bytes of it are damaged
  message   TEXT NOT NULL,
  trace_file_id INTEGER,    -- of which file it is said, and of which machine; NULL for the whole
  machine_id    INTEGER
);

-- The packets that rely on earlier ones of their sequence of which damage may have taken some.
CREATE TABLE unsure_record (
  packet_id INTEGER PRIMARY KEY,
  time      INTEGER NOT NULL,  -- 1 if the time is the sum of deltas
  names     INTEGER NOT NULL,  -- 1 if interned names or defaults are needed
  log_id    INTEGER NOT NULL   -- the damage, in import_log
);

-- Every counter of the import.
CREATE TABLE stats (
  id       INTEGER PRIMARY KEY,  -- in the order of names
  name     TEXT NOT NULL,
  key      INTEGER NOT NULL,     -- a number for the name, in this database
  idx      INTEGER,              -- which of several things was counted; NULL where there is but one
  severity TEXT NOT NULL,        -- of a value above 0: info, data_loss or error
  source   TEXT NOT NULL,        -- who noticed: the recorder (trace) or the import (analysis)
  value    INTEGER NOT NULL,
  trace_file_id INTEGER,         -- of which file it was counted, and of which machine; NULL for the whole
  machine_id    INTEGER
);

-- Facts about the trace and its import. The view metadata (finish.sql) has them
-- with the columns of trace processor.
CREATE TABLE fact (
  name  TEXT NOT NULL,
  file  INTEGER NOT NULL DEFAULT -1,  -- the trace file that it is of; -1 for the whole
  value,
  PRIMARY KEY (name, file)
) WITHOUT ROWID;
