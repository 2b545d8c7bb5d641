-- timebase's own columns in tables of trace processor: the evidence against rows, in any order.

-- sched_doubt
SELECT s.ts, s.dur, s.ucpu, t.machine_id, t.tid, t.start_ts, s.end_state, s.doubt FROM sched AS s JOIN thread AS t ON t.utid = s.utid;

-- thread_state_doubt
SELECT s.ts, s.dur, s.ucpu, t.machine_id, t.tid, t.start_ts, s.state, s.doubt FROM thread_state AS s JOIN thread AS t ON t.utid = s.utid;

-- gaps
SELECT kind, ucpu, start_ts, end_ts FROM loss WHERE kind IN ('kernel_events', 'switch') AND start_ts IS NOT NULL AND end_ts IS NOT NULL;

-- misplaced_ends
SELECT DISTINCT s.ts, s.dur, k.machine_id, k.name, s.name, s.category, s.depth FROM misplaced_end AS m JOIN slice AS s ON s.id = m.slice_id JOIN track AS k ON k.id = s.track_id;

-- counter_doubt
SELECT c.ts, k.machine_id, k.name, c.value, c.doubt FROM counter AS c JOIN counter_track AS k ON k.id = c.track_id WHERE c.doubt IS NOT NULL;
