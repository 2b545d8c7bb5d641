-- The tables of the database that `timebase import` makes. finish.sql has the views, which the
-- import makes when all rows are in.
--
-- `Events:` above a table says that its rows are events, how the summary of an import calls them,
-- and which view shows them; `Events: part of` names the view of the events to which the table
-- belongs. `Order:` gives the order in which rows arrive if it is not the order of rowids: `key`
-- for a table without rowids, or `any`.
--
-- NULLs at the end of a row take no space, so columns that are mostly NULL come late. SQLite keeps the rowid outside of the
-- row, so it is the last column of tables with millions of rows.
--
-- All times are integers in nanoseconds unless a column says otherwise.

PRAGMA application_id = 1952605811;  -- 'tbfs'
PRAGMA user_version = 16;

-- The files of an import: the input, and its members if it is an archive or if the user named
-- several files.
CREATE TABLE trace_file (
  id               INTEGER PRIMARY KEY,  -- 0 is the input or the archive; its members have 1, 2 ... in their order
  parent_id        INTEGER,              -- the file that contains it
  name             TEXT,
  trace_type       TEXT,                 -- the type of its contents: proto, json, perfetto_manifest, zip, tar, unknown; NULL for several inputs
  compression      TEXT,                 -- of the whole file: gzip, zstd
  size             INTEGER,              -- in bytes, before decompression
  processing_order INTEGER,              -- its place in the order of reading, from 0
  is_container     INTEGER NOT NULL,
  packets          INTEGER NOT NULL,
  sha256           TEXT
);

-- A row is a part: the data of one machine in one file. The view placement (finish.sql) says how each part got
-- its place in time.
CREATE TABLE part (
  trace_file_id INTEGER NOT NULL,
  machine_id    INTEGER NOT NULL,
  own_from      INTEGER,           -- from this packet on, the part uses the file's own clocks; NULL: the machine's
  is_pinned     INTEGER NOT NULL,  -- 1 if packets that name no clock are on the file's private clock
  how           TEXT NOT NULL,     -- trace_time, snapshots, remote_sync, causality, manifest, realtime, same_clock, assumed, unplaced
  offset        INTEGER,           -- trace time minus BOOTTIME of the part, at its first packet
  error         INTEGER,           -- the possible error of that; NULL for an assumption, or if unknown
  boots_differ  INTEGER,           -- how much later the part is by REALTIME than by its place, if it is of another boot
  PRIMARY KEY (trace_file_id, machine_id)
) WITHOUT ROWID;

-- Samples of machines that asked each other for the time: a row is a sample.
CREATE TABLE remote_clock_sync (
  id                 INTEGER PRIMARY KEY,
  packet_id          INTEGER NOT NULL,
  trace_file_id      INTEGER,           -- the file that owns the client's clock; NULL for the machine's
  machine_id         INTEGER NOT NULL,  -- the client
  clock_id           INTEGER NOT NULL,
  host_trace_file_id INTEGER,
  host_machine_id    INTEGER NOT NULL,
  host_value         INTEGER NOT NULL,  -- the host's clock read this value
  ts                 INTEGER,           -- the trace time of that reading
  offset             INTEGER NOT NULL,  -- the client's clock read this much more
  half_round_trip    INTEGER NOT NULL,  -- the error of offset, in both directions
  used               INTEGER NOT NULL   -- 1 if conversions by rates use it
);

-- What messages between two clocks say about their relation: a row is a pair of clocks. Offsets are readings of B
-- minus readings of A.
CREATE TABLE clock_alignment (
  id             INTEGER PRIMARY KEY,
  machine_a      INTEGER NOT NULL,
  file_a         INTEGER,           -- the file that owns clock A; NULL for the machine's
  clock_a        INTEGER NOT NULL,
  machine_b      INTEGER NOT NULL,
  file_b         INTEGER,
  clock_b        INTEGER NOT NULL,
  evidence       TEXT NOT NULL,     -- flows, collectives, pairs, or several of them with +
  arrival        TEXT NOT NULL,     -- begin or end: when a slice that receives a message got it
  sides          TEXT NOT NULL,     -- both, upper, lower, none, contradictory
  from_ts        INTEGER,           -- trace time of the first and the last message
  to_ts          INTEGER,
  messages_ab    INTEGER NOT NULL,  -- from A to B
  messages_ba    INTEGER NOT NULL,
  accepted_ab    INTEGER NOT NULL,  -- those that are neither violated nor suspect
  accepted_ba    INTEGER NOT NULL,
  violated       INTEGER NOT NULL,  -- messages that contradict the others
  suspect        INTEGER NOT NULL,  -- messages that were probably stamped late
  unpaired       INTEGER NOT NULL,  -- ids and collectives that do not pair up
  undirected     INTEGER NOT NULL,  -- ids without an end
  stretches      INTEGER NOT NULL,  -- one more than the steps of the clocks
  at_ts          INTEGER,           -- trace time of the middle; of the stretch with the most messages, if a clock was set in the middle
  offset         INTEGER,           -- in the middle: the estimate and its bounds
  earliest       INTEGER,
  latest         INTEGER,
  rate_ppm       REAL,              -- how much B gains on A
  rate_error_ppm REAL,              -- how much that may change
  relation       TEXT,              -- without causality: realtime or same_clock (assumed), measured; NULL if there is none
  assumed        INTEGER,           -- the offset in the middle without causality; NULL if there is none
  wrong_by       INTEGER,           -- the largest distance of the relation without causality from the bounds
  unexplained    INTEGER,           -- the same of a measured relation, less its error
  inverted       INTEGER NOT NULL,  -- accepted messages that arrive before they were sent by that relation
  inverted_ab    INTEGER NOT NULL,  -- those of them from A to B
  worst_out      INTEGER,           -- the packets of the one that arrives the earliest before it was sent
  worst_in       INTEGER,
  used           INTEGER NOT NULL,  -- 1 if conversions go over this relation, or its bounds limit their error
  reason         TEXT NOT NULL      -- why it is used or not
);

-- The course of the offset of two clocks: a row is a corner.
CREATE TABLE clock_alignment_knot (
  alignment_id INTEGER NOT NULL,
  value        INTEGER NOT NULL,  -- a reading of clock A
  offset       INTEGER,           -- NULL if messages bound one side only
  earliest     INTEGER,
  latest       INTEGER,
  step         INTEGER NOT NULL,  -- 1 if a clock was set or slept between this corner and the next
  PRIMARY KEY (alignment_id, value)
) WITHOUT ROWID;

-- Messages that do not count for the relation of their clocks.
CREATE TABLE causal_outlier (
  alignment_id INTEGER NOT NULL,
  packet_out   INTEGER NOT NULL,
  packet_in    INTEGER NOT NULL,
  by           INTEGER NOT NULL,  -- how far it is off the bounds of the others, in nanoseconds
  kind         TEXT NOT NULL      -- violated, suspect
);

-- The data that the recording lacks: a row is a piece of evidence.
CREATE TABLE loss (
  id         INTEGER PRIMARY KEY,
  kind       TEXT NOT NULL,  -- kernel_events, switch, packets, kernel_buffer, setup, buffer, writer, samples, heap, damage
  start_ts   INTEGER,        -- the time range; NULL if it is not known
  end_ts     INTEGER,
  machine_id INTEGER,        -- the machine, in machine
  ucpu       INTEGER,        -- the CPU
  seq_id     INTEGER,        -- the sequence
  buffer     INTEGER,        -- the buffer of the recorder, from 0
  count      INTEGER,        -- the number of events, packets or chunks; NULL if not known
  packet_id  INTEGER,        -- the packet that reports it
  severity   TEXT NOT NULL   -- data_loss, or info for an intended loss
);

-- The packets of the trace, in the order in which the import reads files. A row has only the columns that differ from packet
-- to packet; the view packet (finish.sql) has all of them.
CREATE TABLE packet_record (
  ts         INTEGER,              -- trace time; NULL without a timestamp or without a conversion
  common_id  INTEGER NOT NULL,     -- in packet_common
  offset     INTEGER NOT NULL,     -- the place of its bytes in the decompressed stream of its file
  timestamp  INTEGER,              -- the packet's own field, as recorded; NULL if packet_common says that it equals clock_ts
  size       INTEGER,              -- the number of its bytes; NULL if data has them
  data       BLOB,                 -- its bytes: a serialized TracePacket
  clock_ts   INTEGER,              -- the absolute reading, in the clock's own unit; NULL if packet_common has its distance from ts
  unresolved TEXT,                 -- why ts is NULL although there is a timestamp: no_path, ...
  id         INTEGER PRIMARY KEY   -- 0, 1, 2 ... over all files
);

CREATE INDEX packet_ts ON packet_record (ts);

-- Finds packets without a time, in file order.
CREATE INDEX packet_unresolved ON packet_record (id) WHERE unresolved IS NOT NULL;

-- The bytes of packets, after an import with --compact: a row has those of many packets. The function packet_data
-- returns those of one.
CREATE TABLE packet_block (
  id   INTEGER PRIMARY KEY,  -- the first of its packets
  data BLOB NOT NULL         -- compressed
);

-- The columns that packets share with others. Two rows can be equal.
CREATE TABLE packet_common (
  id            INTEGER PRIMARY KEY,
  clock_id      INTEGER,           -- the clock of the timestamp: the packet's own, its sequence's default or the trace's
  seq_id        INTEGER NOT NULL,  -- trusted_packet_sequence_id, 0 if none
  machine_id    INTEGER NOT NULL,  -- the machine, in machine
  type          TEXT,              -- name of the payload field
  uid           INTEGER,
  pid           INTEGER,
  trace_file_id INTEGER NOT NULL,  -- the file that holds them
  first_id      INTEGER NOT NULL,  -- the id of the first packet of that file
  is_absolute   INTEGER NOT NULL,  -- 1 if their timestamp equals clock_ts
  clock_offset  INTEGER            -- their clock_ts minus their ts; NULL if each has its own clock_ts
);

-- Packets whose part had other clocks when they got their time than when they were read. file is the owner of the
-- clock, -1 for the machine.
CREATE TABLE packet_clock_record (
  packet_id INTEGER PRIMARY KEY,
  file      INTEGER NOT NULL
);

-- A row is one reading of a snapshot. Rejected snapshots are not here; import_log reports them.
CREATE TABLE clock_snapshot (
  id                 INTEGER PRIMARY KEY,
  ts                 INTEGER,           -- trace time of the reading
  clock_id           INTEGER NOT NULL,
  clock_name         TEXT,              -- as in Perfetto's trace processor
  clock_value        INTEGER NOT NULL,  -- in nanoseconds: timestamp x unit_multiplier_ns
  snapshot_id        INTEGER NOT NULL,  -- the same for readings of one snapshot
  machine_id         INTEGER NOT NULL DEFAULT 0,
  packet_id          INTEGER,           -- the packet that carried it
  seq_id             INTEGER NOT NULL DEFAULT 0,  -- 0 except for the clocks 64 to 127, which belong to a sequence
  timestamp          INTEGER,           -- as recorded, in the clock's own unit
  unit_multiplier_ns INTEGER NOT NULL DEFAULT 1,
  is_incremental     INTEGER NOT NULL DEFAULT 0,
  source             TEXT NOT NULL DEFAULT 'service',  -- the origin: manifest, service, writer, remote_sync, ftrace, causality, json; assumed: no measurement
  trace_file_id      INTEGER            -- the file that owns the clock; NULL for the machine's
);

-- The kernel's events. A row has only numbers, about 30 bytes; the view ftrace_event (finish.sql)
-- has the columns for users.
-- Events: kernel: event, events in ftrace_event
CREATE TABLE ftrace_record (
  ts        INTEGER,              -- trace time; NULL without a conversion
  packet_id INTEGER NOT NULL,     -- the bundle that holds it
  cpu       INTEGER,
  tid       INTEGER,              -- the running thread
  name_id   INTEGER NOT NULL,     -- in ftrace_name
  args_id   INTEGER,              -- in ftrace_args
  timestamp INTEGER,              -- as recorded; NULL if it equals ts
  id        INTEGER PRIMARY KEY   -- in file order; within a bundle, in the order of time
);

-- Finds kernel events by time.
CREATE INDEX ftrace_record_ts ON ftrace_record (ts, name_id);

-- Finds kernel events by name, or by name and time, and has them in groups by name. It takes 16 bytes for an event: to
-- count 7 million events by name takes a ninth of the time. An index on the name alone takes 9, but then SQLite would
-- look at all events of a name for a short range of time.
CREATE INDEX ftrace_record_name ON ftrace_record (name_id, ts);

-- Events that lack fields of an earlier event: those of the compact scheduler encoding before the
-- first switch of their CPU. They share the numbering of ftrace_record.
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

-- The names of kernel events.
-- Events: part of ftrace_event
CREATE TABLE ftrace_name (
  id   INTEGER PRIMARY KEY,
  name TEXT UNIQUE  -- NULL for events of no kind
);

-- The arguments of kernel events; equal arguments are one row as far as possible.
-- Events: part of ftrace_event
CREATE TABLE ftrace_args (
  id           INTEGER PRIMARY KEY,  -- odd; the sets of arg_set have even numbers
  common_flags INTEGER,        -- of the events that have these arguments
  args         TEXT NOT NULL   -- a JSON object
);

-- Ranges of kernel events without a time, and the reason.
-- Events: part of ftrace_event
CREATE TABLE ftrace_unresolved (
  first_id   INTEGER PRIMARY KEY,
  last_id    INTEGER NOT NULL,
  reason     TEXT NOT NULL,   -- no_path, ...
  machine_id INTEGER,         -- the clock of their timestamps
  clock_id   INTEGER,
  seq_id     INTEGER
);

-- A row is a line of the Android log.
-- Events: log: line, lines in android_logs
CREATE TABLE android_log_record (
  id         INTEGER PRIMARY KEY,
  ts         INTEGER,           -- trace time; NULL without a conversion
  packet_id  INTEGER NOT NULL,
  pid        INTEGER,
  tid        INTEGER,
  uid        INTEGER,
  log_id     INTEGER,           -- 0 main, 1 radio, 2 events, 3 system, 4 crash, 5 stats, 6 security, 7 kernel
  prio       INTEGER NOT NULL,  -- 2 verbose, 3 debug, 4 info, 5 warning, 6 error, 7 fatal
  tag        TEXT,
  msg        TEXT,              -- for a line of the binary log: its arguments as Perfetto prints them
  args       TEXT,              -- for a line of the binary log: its arguments, a JSON object
  timestamp  INTEGER,           -- REALTIME, as recorded
  unresolved TEXT               -- why ts is NULL although there is a timestamp: no_path, ...
);

CREATE INDEX android_log_record_ts ON android_log_record (ts);

-- The thread of each log line that has a time.
-- Events: part of android_logs
-- Order: any
CREATE TABLE android_log_thread (
  id   INTEGER PRIMARY KEY,
  utid INTEGER NOT NULL
);

-- Texts. Rows of other tables refer to them by number.
-- Events: part of thread
CREATE TABLE string (
  id    INTEGER PRIMARY KEY,
  value TEXT NOT NULL
);

-- The machines of the trace, and those that the manifest names.
CREATE TABLE machine (
  id                          INTEGER PRIMARY KEY,  -- first the machines of the manifest, then the others as first seen
  raw_id                      INTEGER,              -- machine_id of its packets, 0 is the host; machines of the manifest have 2^32 and more
  name                        TEXT,                 -- from the manifest or the machine itself
  sysname                     TEXT,                 -- this and the next three from uname
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
  first_ts                    INTEGER,              -- the smallest and the largest ts of its packets
  last_ts                     INTEGER
);

-- The processes that anything in the trace names.
-- Events: processes: process, processes in process
CREATE TABLE process_record (
  id          INTEGER PRIMARY KEY,  -- the upid
  pid         INTEGER,  -- NULL of a process that a JSON trace calls by a text
  name        TEXT,
  start_ts    INTEGER,
  end_ts      INTEGER,
  parent_upid INTEGER,
  uid         INTEGER,
  cmdline     TEXT,
  arg_set_id  INTEGER,
  machine_id  INTEGER NOT NULL
);

-- Threads. A tid that the kernel uses again is a new row.
-- Events: threads: thread, threads in thread
CREATE TABLE thread_record (
  id             INTEGER PRIMARY KEY,  -- the utid
  tid            INTEGER,  -- NULL of a thread that a JSON trace calls by a text
  name           TEXT,
  start_ts       INTEGER,
  end_ts         INTEGER,
  upid           INTEGER,
  is_main_thread INTEGER,              -- NULL while the process is not known
  is_idle        INTEGER NOT NULL,     -- 1 for the thread that an idle CPU runs
  machine_id     INTEGER NOT NULL,
  arg_set_id     INTEGER
);

-- The threads of each process, so that a sum by process needs no sort of its slices.
CREATE INDEX thread_record_upid ON thread_record (upid);

-- The thread that had a tid, from a time on: finds the thread of a kernel event.
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

-- The threads that CPUs ran, in the order of time: a row lasts from one switch to the next. Because the import knows
-- what a thread does next when it runs again, a row is also up to three rows of thread_state: it runs; it is off the CPU
-- for the time `after`; a thread woke it, and it is runnable for the time `runnable`. States that do not fit this, and
-- long ones, are in thread_state_record.
-- Events: scheduling: slice, slices in sched
-- Order: key
CREATE TABLE sched_record (
  ts          INTEGER NOT NULL,
  id          INTEGER NOT NULL,  -- 0, 1, 2 ...
  dur         INTEGER NOT NULL,  -- -1 if it is not known
  ucpu        INTEGER NOT NULL,
  utid        INTEGER NOT NULL,
  priority    INTEGER NOT NULL,
  end_state   INTEGER,           -- in string
  is_state    INTEGER NOT NULL,  -- 1 if it is a row of thread_state
  after       INTEGER,           -- how long end_state lasted; -1: to the end of the trace
  runnable    INTEGER,           -- how long it was runnable after that; -1: to the end of the trace
  waker_utid  INTEGER,           -- the utid of its waker
  waker_slice INTEGER,           -- how many slices earlier the waker's began
  irq_context INTEGER,           -- 1 if an interrupt woke it; NULL if that is not known
  doubt       INTEGER,           -- why its rows may be wrong, three bits for each: sched, Running, after, runnable
  PRIMARY KEY (ts, id)
) WITHOUT ROWID;

-- Finds the slices of a thread by time. With dur and doubt, 4 bytes for a slice, it is enough for the CPU time of threads
-- and processes, which takes a sixth of the time.
CREATE INDEX sched_record_utid ON sched_record (utid, ts, dur, doubt);

-- Rows of thread_state that are not part of a row of sched_record.
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

-- Wake-ups of threads that were runnable or running.
-- Events: part of sched
CREATE TABLE spurious_sched_wakeup (
  id              INTEGER PRIMARY KEY,
  ts              INTEGER NOT NULL,
  thread_state_id INTEGER NOT NULL,  -- the thread's state at that time
  irq_context     INTEGER,
  utid            INTEGER NOT NULL,
  waker_utid      INTEGER NOT NULL
);

-- Tracks. Slices and values are on tracks.
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
  utid                 INTEGER,           -- its owner: at most one of these four, or a process on a GPU
  upid                 INTEGER,
  ucpu                 INTEGER,
  ugpu                 INTEGER,
  unit                 TEXT,
  description          TEXT,
  trace_file_id        INTEGER NOT NULL   -- the file that names it
);

-- Activities of threads, CPUs and GPUs, with a start and an end.
-- Events: slices: slice, slices in slice
-- Order: any
CREATE TABLE slice_record (
  ts                       INTEGER NOT NULL,
  dur                      INTEGER NOT NULL,  -- 0 for an instant, -1 without an end
  track_id                 INTEGER NOT NULL,
  name                     INTEGER,           -- in string
  depth                    INTEGER NOT NULL,
  parent_id                INTEGER,
  category                 INTEGER,           -- in string
  packet_id                INTEGER,           -- the packet of the track event that began it
  arg_set_id               INTEGER,
  thread_ts                INTEGER,           -- CPU time of the thread at the start
  thread_dur               INTEGER,           -- CPU time used until the end
  thread_instruction_count INTEGER,           -- the same for instructions
  thread_instruction_delta INTEGER,
  doubt                    INTEGER,           -- why it may be wrong
  id                       INTEGER PRIMARY KEY
);

CREATE INDEX slice_record_ts ON slice_record (ts);
CREATE INDEX slice_record_track ON slice_record (track_id, ts);

-- Slices that have the end of another slice, or whose end another slice has. A slice may have several rows.
-- Events: part of slice
CREATE TABLE misplaced_end (
  id          INTEGER PRIMARY KEY,
  slice_id    INTEGER NOT NULL,
  reason      TEXT NOT NULL,     -- cut, slipped, early or owed
  by_slice_id INTEGER NOT NULL,  -- the slice with the other end
  end_ts      INTEGER            -- the time of the end that belongs to no slice, if one came
);

-- The slices without an end.
-- Events: part of slice
-- Order: any
CREATE TABLE unended_slice (
  slice_id   INTEGER PRIMARY KEY,
  named_ends INTEGER NOT NULL    -- 1 if the ends on its track have names
);

-- States of tracks, one after the other.
-- Events: states: state, states in state
-- Order: any
CREATE TABLE state_record (
  id         INTEGER PRIMARY KEY,
  ts         INTEGER NOT NULL,
  dur        INTEGER NOT NULL,  -- -1 without an end
  track_id   INTEGER NOT NULL,
  category   INTEGER,           -- in string
  value      INTEGER NOT NULL,  -- in string
  arg_set_id INTEGER
);

CREATE INDEX state_record_track ON state_record (track_id, ts);

-- Links from slice to slice.
-- Events: part of slice
CREATE TABLE flow (
  id         INTEGER PRIMARY KEY,
  slice_out  INTEGER NOT NULL,
  slice_in   INTEGER NOT NULL,
  trace_id   INTEGER,           -- the program's number for the flow; NULL of flows that the import found
  arg_set_id INTEGER
);

CREATE INDEX flow_out ON flow (slice_out);
CREATE INDEX flow_in ON flow (slice_in);

-- Flows that end before they begin, if each has one begin and one end: the receiver seems to come before the
-- sender.
-- Events: part of slice
CREATE TABLE flow_backwards (
  id         INTEGER PRIMARY KEY,
  slice_out  INTEGER NOT NULL,  -- the slice that sends
  slice_in   INTEGER NOT NULL,  -- the slice that receives
  trace_id   INTEGER NOT NULL,  -- the program's number for the flow
  packet_out INTEGER NOT NULL,  -- the packet that begins the flow
  packet_in  INTEGER NOT NULL   -- the packet that ends it, which has the earlier time
);

-- The contexts of graphics libraries that GPU slices name.
-- Events: part of slice
CREATE TABLE gpu_context (
  id         INTEGER PRIMARY KEY,
  context_id INTEGER NOT NULL,  -- the handle
  pid        INTEGER,
  api        TEXT,              -- UNDEFINED, OPEN_GL, VULKAN, OPEN_CL, CUDA, HIP
  machine_id INTEGER NOT NULL
);

-- Additional columns of GPU slices.
-- Events: part of slice
CREATE TABLE gpu_slice_record (
  id                    INTEGER PRIMARY KEY,  -- the slice
  context_id            INTEGER,
  render_target         INTEGER,
  render_target_name    INTEGER,              -- in string, as the two below
  render_pass           INTEGER,
  render_pass_name      INTEGER,
  command_buffer        INTEGER,
  command_buffer_name   INTEGER,
  submission_id         INTEGER,
  hw_queue_id           INTEGER,
  upid                  INTEGER,
  render_subpasses      TEXT,
  render_stage_category INTEGER
);

-- Values over time.
-- Events: counters: value, values in counter
-- Order: any
CREATE TABLE counter_record (
  ts         INTEGER NOT NULL,
  track_id   INTEGER NOT NULL,
  value      REAL,
  arg_set_id INTEGER,
  doubt      INTEGER,  -- why it may be wrong
  id         INTEGER PRIMARY KEY
);

CREATE INDEX counter_record_track ON counter_record (track_id, ts);

-- The memory that programs get from Vulkan and give back: a row for each call that reports it.
-- Events: part of counter
CREATE TABLE vulkan_memory_record (
  id             INTEGER PRIMARY KEY,
  ts             INTEGER NOT NULL,
  source         TEXT,     -- UNSPECIFIED, DRIVER, DEVICE, GPU_DEVICE_MEMORY, GPU_BUFFER, GPU_IMAGE
  operation      TEXT,     -- UNSPECIFIED, CREATE, DESTROY, BIND, DESTROY_BOUND, ANNOTATIONS
  upid           INTEGER NOT NULL,
  device         INTEGER,  -- a handle
  device_memory  INTEGER,  -- a handle
  memory_type    INTEGER,
  heap           INTEGER,
  function_name  INTEGER,  -- in string
  object_handle  INTEGER,
  memory_address INTEGER,
  memory_size    INTEGER,  -- in bytes
  scope          TEXT,     -- UNSPECIFIED, COMMAND, OBJECT, CACHE, DEVICE, INSTANCE
  arg_set_id     INTEGER
);

-- The groups of a GPU's counters.
-- Events: part of counter
CREATE TABLE gpu_counter_group_record (
  id          INTEGER PRIMARY KEY,
  group_id    INTEGER NOT NULL,
  track_id    INTEGER NOT NULL,  -- the track of the counter
  name        INTEGER,           -- in string
  description INTEGER            -- in string
);

-- The parts of files that are in the memory of processes, or of the kernel.
-- Events: part of stack_sample
CREATE TABLE stack_profile_mapping (
  id           INTEGER PRIMARY KEY,
  build_id     TEXT NOT NULL,     -- in hexadecimal digits; empty if it is not known
  exact_offset INTEGER NOT NULL,
  start_offset INTEGER NOT NULL,
  start        INTEGER NOT NULL,  -- its addresses; -1 is 2^64 - 1
  end          INTEGER NOT NULL,
  load_bias    INTEGER NOT NULL,
  name         TEXT NOT NULL      -- the path; empty if it is not known
);

-- The functions on callstacks.
-- Events: part of stack_sample
CREATE TABLE stack_profile_frame (
  id                INTEGER PRIMARY KEY,
  name              TEXT,
  mapping           INTEGER NOT NULL,  -- in stack_profile_mapping
  rel_pc            INTEGER NOT NULL,  -- the address in the file
  symbol_set_id     INTEGER,           -- in stack_profile_symbol
  deobfuscated_name TEXT,              -- the name in the source, by a mapping of R8 or ProGuard
  type              TEXT               -- native, kernel, interpreted, ...
);

-- Callstacks: a row is a whole stack, which consists of the row's frame and the stack of its parent.
-- Events: part of stack_sample
CREATE TABLE stack_profile_callsite (
  id        INTEGER PRIMARY KEY,
  depth     INTEGER NOT NULL,  -- from 0, the outermost frame
  parent_id INTEGER,           -- the stack of the caller; NULL for depth 0
  frame_id  INTEGER NOT NULL   -- the innermost frame
);

CREATE INDEX stack_profile_callsite_parent ON stack_profile_callsite (parent_id);

-- The functions and source lines of frames. A set is one frame; inlined functions come first.
-- Events: part of stack_sample
CREATE TABLE stack_profile_symbol (
  id            INTEGER PRIMARY KEY,
  symbol_set_id INTEGER NOT NULL,  -- the id of the first row of the set
  name          TEXT,
  source_file   TEXT,
  line_number   INTEGER,
  inlined       INTEGER            -- 1 if it was inlined into the next row's function, 0 if not; NULL if the trace does not say it
);

CREATE INDEX stack_profile_symbol_set ON stack_profile_symbol (symbol_set_id);

-- The sources of samples: linux.perf, chrome, ...
-- Events: part of stack_sample
CREATE TABLE stack_sample_source (
  id   INTEGER PRIMARY KEY,  -- 0 is linux.perf, 1 chrome, 2 to 5 are other sources of cpu_profile_stack_sample
  name TEXT NOT NULL
);

-- The recordings of samples.
-- Events: part of stack_sample
CREATE TABLE stack_sample_session_record (
  id            INTEGER PRIMARY KEY,
  source        INTEGER,           -- in stack_sample_source
  timebase_unit TEXT,
  is_sampled    INTEGER NOT NULL   -- 1 if a sample with a callstack refers to it; also in the next three tables
);

-- The processes, threads and asynchronous contexts in which samples were taken.
-- Events: part of stack_sample
CREATE TABLE stack_sample_task_record (
  id               INTEGER PRIMARY KEY,
  upid             INTEGER,
  utid             INTEGER,
  async_context_id INTEGER,           -- in stack_sample_async_record
  is_sampled       INTEGER NOT NULL
);

-- Asynchronous contexts, such as coroutines.
-- Events: part of stack_sample
CREATE TABLE stack_sample_async_record (
  id         INTEGER PRIMARY KEY,
  name       TEXT,
  kind       TEXT,
  parent_id  INTEGER,
  is_sampled INTEGER NOT NULL
);

-- The CPUs and their modes in which samples were taken.
-- Events: part of stack_sample
CREATE TABLE stack_sample_execution_record (
  id         INTEGER PRIMARY KEY,
  ucpu       INTEGER,
  cpu_mode   TEXT,
  is_sampled INTEGER NOT NULL
);

-- The tracks of the counters of samples with a callstack.
-- Events: part of stack_sample
CREATE TABLE stack_sample_counter_track_record (
  id INTEGER PRIMARY KEY  -- in track_record
);

-- Samples of callstacks, of all sources.
-- Events: samples: sample, samples in stack_sample
CREATE TABLE stack_sample_record (
  id               INTEGER PRIMARY KEY,
  ts               INTEGER NOT NULL,
  source           INTEGER,           -- in stack_sample_source
  task_id          INTEGER,           -- in stack_sample_task_record
  execution_id     INTEGER,           -- in stack_sample_execution_record
  callsite_id      INTEGER,           -- NULL without a callstack
  unwind_error     TEXT,
  session_id       INTEGER,           -- in stack_sample_session_record
  process_priority INTEGER,
  counter_id       INTEGER,           -- the first of its rows in counter_record
  counters         INTEGER            -- the number of its rows there
);

CREATE INDEX stack_sample_record_ts ON stack_sample_record (ts);

-- The callstacks of track events: a program states where it began or ended a slice.
-- Events: part of stack_sample
CREATE TABLE track_event_callstack (
  id          INTEGER PRIMARY KEY,
  ts          INTEGER NOT NULL,  -- the time of the event
  utid        INTEGER,           -- the thread of the event
  slice_id    INTEGER,           -- in slice; NULL for a value or a state
  event       TEXT NOT NULL,     -- what the event is to its row: begin, end, instant, counter, state
  callsite_id INTEGER NOT NULL,  -- in stack_profile_callsite
  weight      REAL               -- what the callstack counts for, if the program says so
);

CREATE INDEX track_event_callstack_slice ON track_event_callstack (slice_id);

-- The dumps of heap profiles.
-- Events: part of stack_sample
CREATE TABLE heap_profile (
  id        INTEGER PRIMARY KEY,
  ts        INTEGER NOT NULL,  -- the start of the time that it covers
  ts_end    INTEGER NOT NULL,  -- the time of the dump
  dur       INTEGER NOT NULL,
  upid      INTEGER NOT NULL,
  heap_name TEXT
);

-- The memory that programs allocated and freed since the previous dump.
-- Events: heap: allocation, allocations in heap_profile_allocation
CREATE TABLE heap_profile_allocation_record (
  id          INTEGER PRIMARY KEY,
  ts          INTEGER NOT NULL,  -- the time of the dump
  upid        INTEGER NOT NULL,
  heap_name   INTEGER NOT NULL,  -- in string
  callsite_id INTEGER NOT NULL,
  count       INTEGER NOT NULL,  -- below 0 if it was freed
  size        INTEGER NOT NULL   -- in bytes, the same
);

CREATE INDEX heap_profile_allocation_record_ts ON heap_profile_allocation_record (ts);

-- Dumps of the Java heap: a row is a process and a time.
-- Events: Java heap: dump, dumps in heap_graph
CREATE TABLE heap_graph (
  id          INTEGER PRIMARY KEY,
  ts          INTEGER NOT NULL,
  upid        INTEGER NOT NULL,
  dump_reason TEXT,
  heap_size   INTEGER,            -- the bytes that the heap had allocated
  truncated   INTEGER NOT NULL    -- 1 if packets of the dump are missing
);

-- The classes of the objects of Java heaps.
-- Events: part of heap_graph
CREATE TABLE heap_graph_class (
  id                INTEGER PRIMARY KEY,
  name              TEXT,     -- NULL if the dump does not describe it
  deobfuscated_name TEXT,
  location          TEXT,     -- the file that has the class
  superclass_id     INTEGER,
  classloader_id    INTEGER,  -- in heap_graph_object
  kind              TEXT      -- KIND_NORMAL, KIND_STRING, KIND_ARRAY, KIND_WEAK_REFERENCE and others
);

-- The objects of Java heaps.
-- Events: part of heap_graph
-- Order: any
CREATE TABLE heap_graph_object_record (
  id                INTEGER PRIMARY KEY,
  upid              INTEGER NOT NULL,
  graph_sample_ts   INTEGER NOT NULL,  -- the time of the dump
  self_size         INTEGER NOT NULL,  -- in bytes; -1 if the dump does not describe it
  native_size       INTEGER NOT NULL,  -- the bytes outside of the heap that it owns
  reference_set_id  INTEGER,           -- its references, by their reference_set_id
  heap_type         INTEGER,           -- 1 for APP, 2 for ZYGOTE, 3 for BOOT_IMAGE
  type_id           INTEGER NOT NULL,  -- in heap_graph_class
  root_type         INTEGER,           -- the number of the type of a root; NULL if it is none
  root_distance     INTEGER NOT NULL,  -- the least number of references from a root; -1 if no root leads to it
  root_reference_id INTEGER,           -- the last reference of such a path; NULL for a root
  object_data_id    INTEGER            -- in heap_graph_object_data
);

-- The references of objects to other objects.
-- Events: part of heap_graph
-- Order: any
CREATE TABLE heap_graph_reference_record (
  id               INTEGER PRIMARY KEY,
  reference_set_id INTEGER NOT NULL,
  owner_id         INTEGER NOT NULL,  -- in heap_graph_object
  owned_id         INTEGER,           -- in heap_graph_object; NULL if the field is null
  field_id         INTEGER            -- in heap_graph_field; NULL without a name
);

-- The fields that references are in, with their names.
-- Events: part of heap_graph
CREATE TABLE heap_graph_field (
  id                INTEGER PRIMARY KEY,
  name              TEXT,
  type_name         TEXT,
  deobfuscated_name TEXT
);

-- The objects with values of fields.
-- Events: part of heap_graph
-- Order: any
CREATE TABLE heap_graph_object_data_record (
  id           INTEGER PRIMARY KEY,
  field_set_id INTEGER NOT NULL      -- the values, by their field_set_id
);

-- The values of fields.
-- Events: part of heap_graph
-- Order: any
CREATE TABLE heap_graph_primitive_record (
  id           INTEGER PRIMARY KEY,
  field_set_id INTEGER NOT NULL,
  field_name   TEXT NOT NULL,
  field_type   TEXT NOT NULL,     -- int, long
  value        INTEGER NOT NULL
);

-- The memory mappings of processes.
-- Events: smaps: mapping, mappings in profiler_smaps
CREATE TABLE smaps_record (
  id                        INTEGER PRIMARY KEY,
  upid                      INTEGER NOT NULL,
  ts                        INTEGER NOT NULL,
  path_trimmed              TEXT,              -- without ' (deleted)' at its end
  aggregate_count           INTEGER NOT NULL,
  is_deleted                INTEGER NOT NULL,  -- 1 if that was there
  size_kb                   INTEGER NOT NULL,
  private_dirty_kb          INTEGER NOT NULL,
  swap_kb                   INTEGER NOT NULL,
  file_name                 TEXT,
  start_address             INTEGER NOT NULL,
  module_timestamp          INTEGER NOT NULL,
  module_debugid            TEXT,
  module_debug_path         TEXT,
  protection_flags          INTEGER NOT NULL,
  private_clean_resident_kb INTEGER NOT NULL,
  shared_dirty_resident_kb  INTEGER NOT NULL,
  shared_clean_resident_kb  INTEGER NOT NULL,
  locked_kb                 INTEGER NOT NULL,
  proportional_resident_kb  INTEGER NOT NULL,
  rss_kb                    INTEGER NOT NULL,
  anonymous_kb              INTEGER NOT NULL,
  pss_dirty_kb              INTEGER NOT NULL,
  swap_pss_kb               INTEGER NOT NULL
);

-- Android's packages and their user ids.
-- Events: part of thread
CREATE TABLE package_list (
  id                     INTEGER PRIMARY KEY,
  package_name           TEXT,
  uid                    INTEGER NOT NULL,  -- the user id; divided by 100000 it is Android's user, and the rest is the app
  debuggable             INTEGER NOT NULL,  -- 1 if a debugger may attach to it
  profileable_from_shell INTEGER NOT NULL,  -- 1 if the shell may profile it
  version_code           INTEGER NOT NULL   -- 0 for a package that only a process named
);

-- Games, and Android's interventions in each of their modes.
-- Events: part of thread
CREATE TABLE android_game_intervention_list (
  id                      INTEGER PRIMARY KEY,
  package_name            TEXT,
  uid                     INTEGER NOT NULL,
  current_mode            INTEGER NOT NULL,  -- 1 standard, 2 performance, 3 battery
  standard_mode_supported INTEGER NOT NULL,  -- 1 if the game has this mode; if not, its other columns are NULL
  standard_mode_downscale REAL,              -- the factor of its resolution
  standard_mode_use_angle INTEGER,           -- 1 if ANGLE draws it
  standard_mode_fps       REAL,              -- the limit of its frames per second
  perf_mode_supported     INTEGER NOT NULL,
  perf_mode_downscale     REAL,
  perf_mode_use_angle     INTEGER,
  perf_mode_fps           REAL,
  battery_mode_supported  INTEGER NOT NULL,
  battery_mode_downscale  REAL,
  battery_mode_use_angle  INTEGER,
  battery_mode_fps        REAL
);

-- Android's users.
-- Events: part of thread
CREATE TABLE android_user_list (
  id              INTEGER PRIMARY KEY,
  type            TEXT,              -- the kind of the user: full.SYSTEM, full.SECONDARY, ...
  android_user_id INTEGER NOT NULL
);

-- The names of interrupts.
-- Events: part of thread
CREATE TABLE linux_interrupt_mapping (
  id         INTEGER PRIMARY KEY,
  irq_id     INTEGER NOT NULL,
  name       TEXT NOT NULL,
  machine_id INTEGER NOT NULL
);

-- The values of Android's feature flags.
-- Events: part of thread
CREATE TABLE android_aflags (
  id                INTEGER PRIMARY KEY,
  ts                INTEGER NOT NULL,
  package           TEXT,
  name              TEXT,
  flag_namespace    TEXT,
  container         TEXT,
  value             TEXT,
  staged_value      TEXT,              -- the value after the next boot
  permission        TEXT NOT NULL,     -- read-only, read-write, unspecified
  value_picked_from TEXT NOT NULL,     -- default, server, local, unspecified
  storage_backend   TEXT NOT NULL,     -- none, aconfigd, device_config, unspecified
  type              TEXT NOT NULL      -- boolean, integer, unspecified
);

-- Lines of systemd's journal.
-- Events: part of thread
CREATE TABLE journald_record (
  id         INTEGER PRIMARY KEY,
  ts         INTEGER NOT NULL,
  packet_id  INTEGER NOT NULL,
  utid       INTEGER,           -- the thread that wrote it; NULL without a pid
  prio       INTEGER NOT NULL,  -- as in syslog: 0 emergency ... 7 debug
  tag        TEXT,
  msg        TEXT,
  arg_set_id INTEGER
);

-- The packets that the import did not understand as a whole, each with what was wrong.
-- Events: part of thread
CREATE TABLE trace_import_log (
  id         INTEGER PRIMARY KEY,
  trace_id   INTEGER NOT NULL,  -- the file, in trace_file
  ts         INTEGER NOT NULL,  -- the time of the packet
  severity   TEXT NOT NULL,     -- that of the counter
  name       TEXT NOT NULL,     -- the counter in stats that counts it
  arg_set_id INTEGER
);

-- The thread that ran out of memory, with its callstack.
-- Events: part of heap_graph
CREATE TABLE heap_graph_thread_callsite (
  id            INTEGER PRIMARY KEY,
  heap_graph_id INTEGER NOT NULL,
  utid          INTEGER NOT NULL,
  callsite_id   INTEGER            -- in stack_profile_callsite; NULL if no frame has a name
);

-- Processes that ran out of memory.
-- Events: part of heap_graph
CREATE TABLE heap_graph_java_oome_details (
  id                    INTEGER PRIMARY KEY,
  heap_graph_id         INTEGER NOT NULL,
  allocation_size_bytes INTEGER NOT NULL,
  total_bytes_free      INTEGER NOT NULL,
  free_bytes_until_oom  INTEGER NOT NULL,
  error_msg             TEXT
);

-- The time of CPUs that each track of android_cpu_per_uid has counted.
-- Events: part of thread
CREATE TABLE android_cpu_per_uid_track (
  id               INTEGER PRIMARY KEY,
  track_id         INTEGER NOT NULL,
  uid              INTEGER NOT NULL,  -- a user id, or the first of a range that shares a track
  cluster          INTEGER NOT NULL,  -- the cluster of CPUs
  total_cpu_millis INTEGER NOT NULL   -- the milliseconds from its first value to its last one
);

-- The starts and deaths of processes, as Android's framework sees them.
-- Events: part of thread
CREATE TABLE android_track_event_process (
  id                        INTEGER PRIMARY KEY,
  upid                      INTEGER NOT NULL,
  start_seq_id              INTEGER,
  package_uid               INTEGER,
  caller_uid                INTEGER,
  defining_uid              INTEGER,
  fw_start_ts               INTEGER,  -- when the framework started it
  fw_end_ts                 INTEGER,  -- when the framework learned of its death
  trigger_type              TEXT,
  hosting_type              TEXT,     -- what it was started for
  hosting_name              TEXT,
  bind_application_delay_ms INTEGER,
  process_start_delay_ms    INTEGER
);

-- Settings of the recording that cost data or time.
CREATE TABLE trace_diagnostics (
  id          INTEGER PRIMARY KEY,
  key         TEXT NOT NULL,
  title       TEXT NOT NULL,
  description TEXT NOT NULL,
  remediation TEXT NOT NULL,  -- what to change
  confidence  REAL NOT NULL,  -- from 0 to 1
  trace_id    INTEGER NOT NULL
);

-- Processes of Chrome whose events the trace lacks.
-- Events: part of thread
CREATE TABLE experimental_missing_chrome_processes (
  id            INTEGER PRIMARY KEY,
  upid          INTEGER NOT NULL,
  reliable_from INTEGER            -- from when on the trace has all of its events; NULL if it never has
);

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

-- Sets of arguments; equal sets usually are one row.
-- Events: part of thread
CREATE TABLE arg_set (
  id      INTEGER PRIMARY KEY,  -- even; the sets of ftrace_args have odd numbers
  args    TEXT NOT NULL,        -- a JSON object
  type_id INTEGER               -- in arg_type; NULL if the JSON is enough
);

-- Facts about arguments that JSON cannot hold.
-- Events: part of thread
CREATE TABLE arg_type (
  id        INTEGER PRIMARY KEY,
  types     TEXT,  -- a JSON object: the value_type of each key for which the type in JSON is another one
  flat_keys TEXT   -- a JSON object: the flat_key of each key that differs from it
);

-- The rows of all tables of window tracing: statements of Android about windows, layers, views, input and transitions,
-- and parts of these statements. schema/src/winscope.rs lists the tables, and names the columns for their views.
-- Events: part of slice
CREATE TABLE winscope_record (
  id         INTEGER PRIMARY KEY,
  kind       INTEGER NOT NULL,  -- the number of its table
  number     INTEGER NOT NULL,  -- its id in this table
  ts         INTEGER,
  arg_set_id INTEGER,
  proto_id   INTEGER,           -- a number for the bytes of the payload; 0 for a rectangle of a window
  c1,
  c2,
  c3,
  c4,
  c5,
  c6,
  c7,
  c8,
  c9,
  c10,
  c11,
  c12,
  c13,
  c14,
  c15,
  c16
);

CREATE INDEX winscope_record_kind_number ON winscope_record (kind, number);

-- Where the bytes of payloads of window tracing are. Equal bytes may have several rows.
-- Events: part of slice
CREATE TABLE winscope_proto (
  id         INTEGER PRIMARY KEY,
  kind       INTEGER NOT NULL,  -- the number of the table that has the payload; roots of window containers have one of their own
  proto_id   INTEGER NOT NULL,
  arg_set_id INTEGER,           -- the arguments of the row that has the payload
  packet_id  INTEGER NOT NULL,
  offset     INTEGER NOT NULL,  -- in the payload of the packet
  size       INTEGER NOT NULL
);

CREATE INDEX winscope_proto_kind ON winscope_proto (kind);

-- The time range of each table of events that has no index by time.
CREATE TABLE event_span (
  name     TEXT PRIMARY KEY,
  start_ts INTEGER NOT NULL,
  end_ts   INTEGER NOT NULL
) WITHOUT ROWID;

-- The times of events, in groups with more than an hour between two groups of a machine. The view time_outlier
-- (finish.sql) has the groups that are far from all others.
CREATE TABLE event_group (
  machine_id INTEGER NOT NULL,
  start_ts   INTEGER NOT NULL,
  end_ts     INTEGER NOT NULL,
  times      INTEGER NOT NULL,  -- starts and ends of slices, values of counters, starts and ends of slices of CPUs
  PRIMARY KEY (machine_id, start_ts)
) WITHOUT ROWID;

-- The time that kernel events of each CPU cover in each file.
CREATE TABLE ftrace_cpu (
  trace_file_id INTEGER NOT NULL,
  machine_id    INTEGER NOT NULL,
  ucpu          INTEGER NOT NULL,
  first_ts      INTEGER NOT NULL,
  last_ts       INTEGER NOT NULL,
  first_tid     INTEGER,           -- the thread of the first event; NULL if it is not known
  is_first_idle INTEGER NOT NULL,  -- 1 if the CPU was idle at its first event
  is_cut        INTEGER NOT NULL,  -- 1 if the first bundle says that events before it were lost
  first_packet_id INTEGER NOT NULL,  -- the bundle with the first event
  PRIMARY KEY (trace_file_id, machine_id, ucpu)
) WITHOUT ROWID;

-- Extensions of the schema of packets: serialized FileDescriptorSets, from the trace or from files
-- that the import names.
CREATE TABLE descriptor (
  id        INTEGER PRIMARY KEY,
  source    TEXT NOT NULL,  -- 'trace', or the file's name
  packet_id INTEGER,        -- the packet that contains it
  data      BLOB NOT NULL
);

-- A row is a clock, with -1 for no file. The view clock (finish.sql) has NULL there.
CREATE TABLE clock_record (
  machine_id         INTEGER NOT NULL,
  clock_id           INTEGER NOT NULL,
  seq_id             INTEGER NOT NULL,
  file               INTEGER NOT NULL,  -- the trace file that owns it; -1 for the machine's
  name               TEXT,              -- of a builtin clock
  scope              TEXT NOT NULL,     -- builtin (up to 63), sequence (64 to 127) or global
  unit_multiplier_ns INTEGER NOT NULL,
  is_incremental     INTEGER NOT NULL,
  is_monotonic       INTEGER NOT NULL,  -- 0: it went backwards, so timebase converts nothing from it
  snapshots          INTEGER NOT NULL,  -- how many snapshots hold it
  first_value        INTEGER,           -- its first reading, in nanoseconds
  last_value         INTEGER,
  packets            INTEGER NOT NULL,  -- how many packets use it
  path               TEXT,              -- to BOOTTIME; NULL if there is none
  hops               INTEGER,
  PRIMARY KEY (machine_id, clock_id, seq_id, file)
) WITHOUT ROWID;

-- The conversion of every clock as a step function: value + offset is the reading of to_clock_id,
-- for start_value <= value < end_value. If there is no upper bound, end_value is NULL; if there is
-- no lower bound, start_value is the least integer, because it is part of the key.
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

-- A row is a clock and the clock to which clock_line converts it.
CREATE TABLE clock_route (
  machine_id  INTEGER NOT NULL,
  clock_id    INTEGER NOT NULL,
  seq_id      INTEGER NOT NULL,
  file        INTEGER NOT NULL,
  to_clock_id INTEGER NOT NULL,
  id          INTEGER NOT NULL,  -- 0, 1, 2 ... in the order of the key
  PRIMARY KEY (machine_id, clock_id, seq_id, file, to_clock_id)
) WITHOUT ROWID;

-- The rate-aware conversion of every clock, line by line, for start_value <= value < end_value. The
-- view clock_mapping_linear (finish.sql) has it for users, and explains the columns.
-- Order: key
CREATE TABLE clock_line (
  route_id    INTEGER NOT NULL,
  start_value INTEGER NOT NULL,  -- the least integer if there is no bound
  end_value   INTEGER,           -- NULL if there is no bound
  offset      INTEGER NOT NULL,
  slope       REAL NOT NULL,
  error       REAL,              -- NULL if unknown, because of an assumption, or of a counter that was read once
  error_slope REAL NOT NULL,
  kind        TEXT NOT NULL,     -- line, step, before, after
  PRIMARY KEY (route_id, start_value)
) WITHOUT ROWID;

-- The hops of conversions to BOOTTIME and to trace time: a row is a hop from a clock to another one
-- that snapshots read together with it.
CREATE TABLE clock_hop (
  id                     INTEGER PRIMARY KEY,  -- 0, 1, 2 ...
  machine_id             INTEGER NOT NULL,
  clock_id               INTEGER NOT NULL,
  seq_id                 INTEGER NOT NULL,
  trace_file_id          INTEGER,           -- the file that owns the clock; NULL for the machine's
  to_machine_id          INTEGER NOT NULL,
  to_clock_id            INTEGER NOT NULL,
  to_seq_id              INTEGER NOT NULL,
  to_trace_file_id       INTEGER,
  from_clock             TEXT NOT NULL,     -- as in clock_path: 64@3, MONOTONIC
  to_clock               TEXT NOT NULL,
  source                 TEXT NOT NULL,     -- who took the snapshots: as in clock_snapshot
  readings               INTEGER NOT NULL,  -- snapshots that hold both clocks, or samples in use; equal values of the first clock count once
  kin                    TEXT,              -- kin: clocks of one timekeeper, equally fast; twins: one clock with two names; NULL for others
  nominal_rate           REAL NOT NULL,     -- 1, unless one of the clocks does not count nanoseconds
  drift_ppm              REAL,              -- how much faster than that the second clock runs; NULL if unknown
  drift_error_ppm        REAL,              -- how far drift_ppm may be off; NULL if it is NULL
  drift_spread_ppm       REAL NOT NULL,     -- the largest difference between the rate of two readings and that of all
  noise_ns               REAL NOT NULL,     -- how far apart in time the two reads were
  steps                  INTEGER NOT NULL,  -- how often a clock was set, or slept
  outliers               INTEGER NOT NULL,  -- ignored readings
  worst_error_ns         REAL NOT NULL,     -- the largest error of the linear conversion between readings, without steps
  worst_error_nearest_ns REAL NOT NULL,     -- the same for nearest neighbour
  interval_for_1us_s     REAL               -- the interval between snapshots, in seconds, that keeps nearest neighbour within 1 us; NULL if it always is
);

-- The readings of hops that are not on the line.
CREATE TABLE clock_hop_reading (
  id           INTEGER PRIMARY KEY,
  hop_id       INTEGER NOT NULL,
  snapshot_id  INTEGER,           -- NULL for a sample of remote_clock_sync
  from_value   INTEGER NOT NULL,  -- the readings of the two clocks, in nanoseconds
  to_value     INTEGER NOT NULL,
  kind         TEXT NOT NULL,     -- outlier: an ignored reading; step: the first reading after a step
  deviation_ns REAL NOT NULL      -- for an outlier, the distance from the line of its neighbours; for a step, the movement of the second clock against the first
);

-- A row says that a clock wrapped or restarted between two of its snapshots. The counts include packets that were read
-- after that and converted by a snapshot from before it. They are 0 after an import by rates, which continues the clock.
CREATE TABLE clock_turn (
  id               INTEGER PRIMARY KEY,
  machine_id       INTEGER NOT NULL,  -- the clock
  clock_id         INTEGER NOT NULL,
  seq_id           INTEGER NOT NULL,
  trace_file_id    INTEGER,           -- the file that owns it; NULL for the machine's
  kind             TEXT NOT NULL,     -- wrap: it reached its largest value and continued at 0; restart: it started again
  turns            INTEGER NOT NULL,  -- how often it wrapped; 0 for a restart
  bits             INTEGER,           -- it counts to 2 to the power of this, in its units; NULL for a restart
  turn_ns          REAL,              -- how long one turn takes; NULL for a restart
  before_packet_id INTEGER,           -- the packets with the snapshots before and after it
  packet_id        INTEGER,
  before_value     INTEGER NOT NULL,  -- its readings in these, in nanoseconds
  value            INTEGER NOT NULL,
  start_ts         INTEGER NOT NULL,  -- trace time of both readings
  end_ts           INTEGER NOT NULL,
  packets          INTEGER NOT NULL,  -- packets that have a wrong time because of it
  wrong_packet_id  INTEGER,           -- the first of them
  worst_ns         INTEGER            -- the largest error
);

-- A row is a writer of packets.
CREATE TABLE sequence (
  id         INTEGER NOT NULL,  -- trusted_packet_sequence_id
  trace_file_id INTEGER NOT NULL,
  machine_id INTEGER NOT NULL,
  uid        INTEGER,
  pid        INTEGER,
  packets    INTEGER NOT NULL,
  losses     INTEGER NOT NULL,  -- packets that report lost data before them
  first_ts   INTEGER,           -- the smallest and the largest ts of its packets
  last_ts    INTEGER,
  PRIMARY KEY (trace_file_id, machine_id, id)
) WITHOUT ROWID;

-- Messages of the import about the trace.
CREATE TABLE import_log (
  id        INTEGER PRIMARY KEY,
  severity  TEXT NOT NULL,  -- info, warning or error
  code      TEXT NOT NULL,  -- the kind of message
  packet_id INTEGER,        -- the packet
  offset    INTEGER,        -- the place in the decompressed stream of the file
  size      INTEGER,        -- the number of damaged bytes
  message   TEXT NOT NULL,
  trace_file_id INTEGER,    -- the file and the machine; NULL for the whole import
  machine_id    INTEGER
);

-- The packets that rely on earlier packets of their sequence, if damage may have destroyed some of
-- these.
CREATE TABLE unsure_record (
  packet_id INTEGER PRIMARY KEY,
  time      INTEGER NOT NULL,  -- 1 if the time is the sum of deltas
  names     INTEGER NOT NULL,  -- 1 if it needs interned names or defaults
  log_id    INTEGER NOT NULL   -- the damage, in import_log
);

-- Events that made no row, and slices that lack their name: counted by cause and sequence, with the first one.
CREATE TABLE event_fault (
  id        INTEGER PRIMARY KEY,
  effect    TEXT NOT NULL,     -- dropped, unnamed or unmatched
  cause     TEXT NOT NULL,
  machine_id    INTEGER,       -- the sequence; NULL if it is unknown, or if there are very many
  trace_file_id INTEGER,
  seq_id    INTEGER,
  events    INTEGER NOT NULL,
  packet_id INTEGER,           -- the first event, if it has a packet of its own
  ts        INTEGER,
  name      TEXT,              -- the name of the event, or of its counter
  pid       INTEGER,           -- its thread
  tid       INTEGER
);

-- Every counter of the import and of the recorder.
CREATE TABLE stats (
  id       INTEGER PRIMARY KEY,  -- in the order of names
  name     TEXT NOT NULL,
  key      INTEGER NOT NULL,     -- a number for the name, in this database
  idx      INTEGER,              -- the thing that was counted, if there are several; otherwise NULL
  severity TEXT NOT NULL,        -- the meaning of a value above 0: info, notice, data_loss or error
  source   TEXT NOT NULL,        -- the origin: the recorder (trace) or the import (analysis)
  value    INTEGER NOT NULL,
  description TEXT NOT NULL,     -- the meaning of the counter
  machine_id INTEGER,            -- the machine and the trace; NULL for the whole import
  trace_id   INTEGER,
  trace_file_id INTEGER          -- the file of the trace: the same number as trace_id
);

-- Facts about the trace and its import. The view metadata (finish.sql) has them
-- with the columns of trace processor.
CREATE TABLE fact (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  is_multi   INTEGER NOT NULL DEFAULT 0,   -- 1 if a name may have a row for each time that it was said
  file       INTEGER NOT NULL DEFAULT -1,  -- the trace file; -1 for no file
  machine_id INTEGER,                      -- the machine; NULL for none
  value
);
CREATE INDEX fact_name ON fact (name);
