-- timebase's own columns in tables of trace processor: the evidence against rows, in any order.

-- sched_doubt
SELECT s.ts, s.dur, s.ucpu, t.machine_id, t.tid, t.start_ts, s.end_state, s.doubt FROM sched AS s JOIN thread AS t ON t.utid = s.utid;

-- thread_state_doubt
SELECT s.ts, s.dur, s.ucpu, t.machine_id, t.tid, t.start_ts, s.state, s.doubt FROM thread_state AS s JOIN thread AS t ON t.utid = s.utid;

-- gaps
SELECT kind, ucpu, start_ts, end_ts FROM loss WHERE kind IN ('kernel_events', 'switch') AND start_ts IS NOT NULL AND end_ts IS NOT NULL;
