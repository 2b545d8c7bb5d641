//! Random traces: an import must give the rows of the model.

use super::{
    answers, frame_random, generate, generate_events, generate_generic, generate_gpu, tables,
};
use crate::support::statements::{Answered, answer, difference, differences};
use rusqlite::Connection;
use std::env;
use timebase_import::{Monitor, Options, Source};
use timebase_lab::encode::{Message, trace_of};

/// What tracks with slices or values say of themselves (rules TK), and what is counted of rules GK.
const MORE: [(&str, &str); 8] = [
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
        "gpu_counter_groups",
        "SELECT g.id, k.name, k.unit, k.description, t.gpu_id, g.group_id, g.name, g.description
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

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    let database = directory.path().join("database");
    std::fs::write(&file, &trace).unwrap();
    timebase_import::import(
        &[Source::File(file)],
        &database,
        &Options::default(),
        &Monitor::default(),
    )
    .unwrap();
    let connection = Connection::open(database).unwrap();
    let model = tables(&trace);
    let mut wrong = frame_random::differences(&connection, &model);
    // The model's log has no lines of android_log, which these traces have.
    wrong.remove("track_event_logs");
    for file in [
        "threads/queries-threads.sql",
        "slices/queries-slices.sql",
        "doubt/queries-doubt.sql",
    ] {
        wrong.extend(differences(&connection, file, &answers(&model, file)));
    }
    for (name, sql) in MORE {
        let expected = answer(&model, sql).unwrap();
        let why = match answer(&connection, sql) {
            Ok(found) => difference(&found, &expected),
            Err(error) => Some(error),
        };
        wrong.extend(why.map(|why| (name.to_owned(), why)));
    }
    wrong
}

/// A trace with fewer packets, if there is one that differs in one of these answers.
fn smaller(packets: &[Message], wrong_before: &Answered) -> Option<(Vec<Message>, Answered)> {
    let shorter = (1..packets.len()).rev().map(|left_out| {
        let mut packets = packets.to_vec();
        packets.remove(left_out);
        packets
    });
    shorter
        .map(|packets| {
            let wrong = wrong(&packets);
            (packets, wrong)
        })
        .find(|(_, wrong)| wrong.keys().any(|name| wrong_before.contains_key(name)))
}

/// PROPTEST_CASES asks for more of them.
fn cases() -> u64 {
    let asked = env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(128)
}

/// Imports of the traces for some seeds must agree with the model.
fn all_agree(trace: fn(u64) -> Vec<Message>) {
    for seed in 0..cases() {
        let mut packets = trace(seed);
        let mut found = wrong(&packets);
        while !found.is_empty()
            && let Some((shorter, wrong)) = smaller(&packets, &found)
        {
            (packets, found) = (shorter, wrong);
        }
        let trace: String = trace_of(&packets)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert!(found.is_empty(), "{found:#?}\nseed {seed}, as hex: {trace}");
    }
}

#[test]
fn any_trace_gives_the_rows_of_the_model() {
    all_agree(generate::trace);
}

#[test]
fn any_trace_of_generic_kernels_gives_the_rows_of_the_model() {
    all_agree(generate_generic::trace);
}

#[test]
fn any_trace_of_gpus_gives_the_rows_of_the_model() {
    all_agree(generate_gpu::trace);
}

#[test]
fn any_trace_of_track_events_gives_the_rows_of_the_model() {
    all_agree(generate_events::trace);
}
