//! Random traces: an import must give the rows of the model.

use super::agreement::{self, all_agree};
use super::{
    answers, frame_random, generate, generate_events, generate_generic, generate_gpu, tables,
};
use crate::support::Imported;
use crate::support::statements::{Answered, differences};
use std::convert::identity;
use timebase_lab::encode::{Message, trace_of};

/// The descriptions of tracks with slices or values (rules TK), and the counters of rules GK.
const MORE: [(&str, &str); 9] = [
    (
        "tracks",
        "SELECT k.type, k.name, c.unit, c.description,
             (SELECT group_concat(said, char(31)) FROM (SELECT key || ' ' || value_type || '=' || CASE key
                 WHEN 'upid' THEN (SELECT pid FROM process WHERE upid = int_value)
                 WHEN 'utid' THEN (SELECT tid FROM thread WHERE utid = int_value)
                 ELSE coalesce(string_value, int_value, '-') END AS said
              FROM args WHERE arg_set_id = k.dimension_arg_set_id AND key <> 'ugpu' ORDER BY said)),
             (SELECT group_concat(said, char(31)) FROM (SELECT key || ' ' || value_type || '=' ||
                 coalesce(string_value, int_value, '-') AS said
              FROM args WHERE arg_set_id = k.source_arg_set_id ORDER BY said))
         FROM track AS k LEFT JOIN counter_track AS c USING (id)
         WHERE k.id IN (SELECT track_id FROM counter UNION SELECT track_id FROM slice)
             AND k.type NOT GLOB '*track_event' AND k.type NOT GLOB 'legacy_*'
             AND k.type NOT IN ('chrome_process_instant')",
    ),
    (
        "counts",
        "SELECT name, total(value) FROM stats
         WHERE value > 0 AND name IN ('generic_task_state_invalid_order', 'task_state_invalid') GROUP BY name",
    ),
    (
        "gpu_slices",
        "SELECT s.ts, k.type, s.name, s.render_target_name, s.render_pass_name, s.command_buffer,
             s.command_buffer_name, s.submission_id, s.upid IS NULL
         FROM gpu_slice AS s JOIN track AS k ON k.id = s.track_id",
    ),
    (
        "gpu_arguments",
        "SELECT s.ts, k.name, s.name, a.key, a.flat_key, a.value_type, a.string_value, a.real_value,
             CASE a.key WHEN 'upid' THEN (SELECT pid FROM process AS p WHERE p.upid = int_value)
                 ELSE int_value END
         FROM gpu_slice AS s JOIN track AS k ON k.id = s.track_id JOIN args AS a USING (arg_set_id)",
    ),
    (
        "gpu_flows",
        "SELECT row_number() OVER (ORDER BY f.rowid), o.ts, o.name, i.ts, i.name FROM flow AS f
         JOIN slice AS o ON o.id = slice_out JOIN slice AS i ON i.id = slice_in",
    ),
    ("gpu_contexts", "SELECT * FROM gpu_context"),
    (
        "event_stacks",
        "SELECT e.ts, t.tid, p.pid, s.ts, s.name, s.depth, event, stack, weight FROM event_stack AS e
         LEFT JOIN thread AS t USING (utid) LEFT JOIN process AS p USING (upid)
         LEFT JOIN slice AS s ON s.id = e.slice_id",
    ),
    (
        "gpu_counter_groups",
        "SELECT row_number() OVER (PARTITION BY k.machine_id ORDER BY g.id), k.name, k.unit, k.description, t.gpu_id, g.group_id, g.name, g.description
         FROM gpu_counter_group AS g JOIN counter_track AS k ON k.id = g.track_id
         JOIN gpu_counter_track AS t ON t.id = k.id",
    ),
    (
        "vulkan_memory",
        "SELECT v.id, source, operation, timestamp, p.pid, device, device_memory, memory_type, heap,
             function_name, object_handle, memory_address, memory_size, scope,
             (SELECT group_concat(said, char(31)) FROM (SELECT key || ' ' || value_type || '=' ||
                 coalesce(string_value, int_value, real_value, '-') AS said
              FROM args AS a WHERE a.arg_set_id = v.arg_set_id ORDER BY said))
         FROM vulkan_memory_allocations AS v JOIN process AS p USING (upid)",
    ),
];

/// The callstacks of track events with all their frames, from the innermost one, as in the model.
const EVENT_STACK: &str = "CREATE TEMP VIEW event_stack AS
    SELECT ts, utid, slice_id, event, (
        WITH RECURSIVE up (callsite, place) AS (
            SELECT c.callsite_id, 0 UNION ALL
            SELECT parent_id, place + 1 FROM up JOIN stack_profile_callsite AS above ON above.id = callsite
            WHERE parent_id IS NOT NULL)
        SELECT group_concat(frame, ' < ') FROM (
            SELECT ifnull(f.name, '-') || ' ' || m.name || '+' || f.rel_pc || ' ' || ifnull(y.source_file, '-')
                || ':' || ifnull(y.line_number, '-') || ' ' || ifnull(f.type, '-') AS frame
            FROM up JOIN stack_profile_callsite AS at ON at.id = callsite
            JOIN stack_profile_frame AS f ON f.id = at.frame_id
            JOIN stack_profile_mapping AS m ON m.id = f.mapping
            LEFT JOIN stack_profile_symbol AS y ON y.id = f.symbol_set_id
            ORDER BY place)) AS stack, weight
    FROM main.track_event_callstack AS c";

/// Takes the doubt `cpus_missing` (FE9) from rows, because the model does not look for CPUs that begin late.
fn forget_missing_cpus(conn: &rusqlite::Connection) {
    conn.execute_batch(
        "UPDATE slice_record SET doubt = NULL WHERE doubt = 7;
         UPDATE thread_state_record SET doubt = NULL WHERE doubt = 7;
         UPDATE sched_record SET doubt = nullif(doubt & ~iif(doubt >> 3 & 7 = 7, 7 << 3, 0)
             & ~iif(doubt >> 6 & 7 = 7, 7 << 6, 0) & ~iif(doubt >> 9 & 7 = 7, 7 << 9, 0), 0) WHERE doubt IS NOT NULL;",
    )
    .unwrap();
}

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    forget_missing_cpus(&imported.conn);
    imported.conn.execute_batch(EVENT_STACK).unwrap();
    let model = tables(&trace);
    let mut wrong = frame_random::differences(&imported.conn, &model);
    // The model's log has no lines of android_log, which these traces have.
    wrong.remove("track_event_logs");
    for file in
        ["threads/queries-threads.sql", "slices/queries-slices.sql", "doubt/queries-doubt.sql"]
    {
        wrong.extend(differences(&imported.conn, file, &answers(&model, file)));
    }
    let more = MORE.map(|(name, sql)| (name.to_owned(), sql.to_owned()));
    wrong.extend(agreement::differences(&imported.conn, &model, &more, identity));
    wrong
}

#[test]
fn any_trace_gives_the_rows_of_the_model() {
    all_agree(128, generate::trace, wrong);
}

#[test]
fn any_trace_of_generic_kernels_gives_the_rows_of_the_model() {
    all_agree(128, generate_generic::trace, wrong);
}

#[test]
fn any_trace_of_gpus_gives_the_rows_of_the_model() {
    all_agree(128, generate_gpu::trace, wrong);
}

#[test]
fn any_trace_of_track_events_gives_the_rows_of_the_model() {
    all_agree(128, generate_events::trace, wrong);
}
