//! A second database of a recorded trace, made without timebase, with trace processor's rows.
//!
//! Trace processor's answers have all rows of processes, threads, slices and counters; for
//! scheduling they have sums and checksums by thread, and the first rows. So the rows come from the
//! naive model, which shares no code with the import. First, every recorded answer for the trace is
//! compared with them: if a row differs, the model is not accepted as a witness. On top of them are
//! plain views for the additions of trace processor's own library and of timebase, written from
//! their descriptions.
//!
//! Rejected: tables with only the answers. They would have 300 of the scheduler's 27,000 rows, and
//! could answer no query about single waits.

use std::fs;

use rusqlite::{Connection, params, params_from_iter};

use crate::model::threads;
use crate::support::statements::{Row, as_trace_processor_says};
use crate::support::{Imported, data, expected, fixture};

/// The recorded traces with recorded answers of trace processor for each.
pub const RECORDED: [&str; 6] =
    ["app", "desktop", "desktop-compact", "sdk", "system", "system-compressed"];

/// The statements that have an answer for a trace.
fn answers_of(trace: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(data("expected")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let name = file.strip_suffix(".csv.zst").and_then(|name| {
            let (of, name) = name.split_once('.')?;
            (of == trace).then(|| name.to_owned())
        });
        names.extend(name);
    }
    assert!(names.len() >= 4, "{trace}: {names:?}");
    names
}

/// The packets of a trace in uncompressed form, which is the only form that the model reads.
fn decompressed(imported: &Imported) -> Vec<u8> {
    let mut trace = Vec::new();
    let mut packets = imported.conn.prepare("SELECT data FROM packet ORDER BY id").unwrap();
    let packets = packets.query_map([], |row| row.get::<_, Vec<u8>>(0));
    for packet in packets.unwrap().map(Result::unwrap) {
        trace.push(0x0a);
        let mut size = packet.len();
        while size >= 0x80 {
            trace.push(size as u8 | 0x80);
            size >>= 7;
        }
        trace.push(size as u8);
        trace.extend(packet);
    }
    trace
}

/// Tables of a trace that give trace processor's answers.
pub fn of(trace: &str, imported: &Imported) -> Connection {
    let path = data(&format!("{trace}.pftrace"));
    let is_compressed = trace.ends_with("compressed") || trace.ends_with("compact");
    let bytes = if is_compressed { decompressed(imported) } else { fs::read(path).unwrap() };
    let conn = threads::tables(&bytes);
    let names = answers_of(trace);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    as_trace_processor_says(&conn, trace, &names);

    conn.execute_batch(VIEWS).unwrap();
    doubts(&conn, imported);
    // The database's rows determine its bounds, and trace processor has additional ones.
    let bounds = "SELECT start_ts, end_ts FROM trace_bounds";
    let (start, end): (i64, i64) =
        imported.conn.query_row(bounds, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    conn.execute("INSERT INTO trace_bounds VALUES (?1, ?2)", params![start, end]).unwrap();
    match trace {
        "system" => kernel_events(&conn, trace, imported, 6),
        "system-compressed" => kernel_events(&conn, trace, imported, 5),
        _ => {}
    }
    conn
}

/// The import's doubts about the same rows.
fn doubts(conn: &Connection, imported: &Imported) {
    let of_tables = [(
        "SELECT name, ts, dur, doubt FROM slice WHERE doubt IS NOT NULL",
        "UPDATE known_slice SET doubt = ?4 WHERE name IS ?1 AND ts = ?2 AND dur = ?3",
    )];
    conn.execute_batch("BEGIN").unwrap();
    for (doubtful, mark) in of_tables {
        let mut mark = conn.prepare(mark).unwrap();
        let mut doubtful = imported.conn.prepare(doubtful).unwrap();
        let columns = doubtful.column_count();
        let mut rows = doubtful.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let row: Row = (0..columns).map(|column| row.get_unwrap(column)).collect();
            let marked = mark.execute(params_from_iter(&row)).unwrap();
            assert!(marked >= 1, "the witness has no {row:?}");
        }
    }
    conn.execute_batch("COMMIT").unwrap();
}

/// The kernel's events as Perfetto's Python package reads them, if recorded, with the clock of
/// their bundles. Trace processor's counts and checksums show that their times agree.
fn kernel_events(conn: &Connection, trace: &str, imported: &Imported, clock: u32) {
    conn.execute_batch(
        "CREATE TABLE ftrace_event (id INTEGER PRIMARY KEY, ts, cpu, tid, name, args);
         CREATE INDEX ftrace_event_name ON ftrace_event (name, ts)",
    )
    .unwrap();
    let insert = "INSERT INTO ftrace_event (ts, cpu, tid, name, args) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = conn.prepare(insert).unwrap();
    timebase_resolver::sql::register(&imported.conn).unwrap();
    let mut placed = imported.conn.prepare("SELECT to_boottime(?1, 0, ?2)").unwrap();
    conn.execute_batch("BEGIN").unwrap();
    for event in fixture(&format!("events/{trace}.jsonl.zst")) {
        if event["partial"] == true {
            continue;
        }
        let number = |name: &str| event[name].as_i64();
        let timestamp = number("timestamp");
        let ts: i64 = placed.query_row(params![clock, timestamp], |row| row.get(0)).unwrap();
        let (name, args) = (event["name"].as_str(), event["args"].to_string());
        let row = params![ts, number("cpu"), number("tid"), name, args];
        insert.execute(row).unwrap();
    }
    conn.execute_batch("COMMIT").unwrap();
    let counts = "SELECT name, count(*), min(ts), max(ts), sum(ts % 1000003) FROM ftrace_event
                  GROUP BY name ORDER BY name";
    let file = format!("{trace}.ftrace_event.csv");
    assert_eq!(crate::support::rows(conn, counts), expected(&file));
}

/// Objects that are not in the model's tables, but follow from them. Their names are those of trace
/// processor and timebase.
const VIEWS: &str = include_str!("witness.sql");

/// Whether a table is an addition of timebase, or has no recorded rows; and the reason why no
/// answer can be compared.
pub fn untold(name: &str) -> Option<&'static str> {
    UNTOLD
        .iter()
        .find(|(names, _)| names.split_whitespace().any(|known| known == name))
        .map(|(_, why)| *why)
}

const UNTOLD: [(&str, &str); 19] = [
    (
        "event_fault misplaced_end m.reason unended_slice event_group ftrace_cpu time_outlier",
        "what goes wrong with events trace processor does not say; tests/event_faults.rs and tests/wrong_clocks.rs",
    ),
    (
        "track_event_callstack",
        "no recorded trace has callstacks of track events; tests/producers.rs has one that does",
    ),
    (
        "perfetto_sql perfetto_query perfetto_rows perfetto_notes create_function create_view_function import in_ms slices_from experimental_memoize fib long_slice
         perfetto_table_info experimental_slice_layout experimental_annotated_callstack extract_metadata android_package_lookup last_non_null value_at_max_ts
         acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees floor log log10 log2 mod pi pow power radians sin sinh tan tanh trunc slices_of r both pattern str_split hash cat_stacks experimental_profile
         trace_start trace_end trace_dur time_from_ns time_from_us time_from_ms
         time_from_s time_from_min time_from_hours time_from_days time_to_ns time_to_us
         time_to_ms time_to_s time_to_min time_to_hours time_to_days percentile
         percentile_cont percentile_disc median regexp regexp_extract regexp_replace_simple
         reverse base64_encode base64_decode demangle to_timecode ln
         exp sqrt to_ftrace",
        "PerfettoSQL and its functions, in examples that make their own rows; crates/sql has their tests",
    ),
    (
        "packet packet_record packet_block packet_common packet_resync packet_interval packet_unsure unsure_record sequence import_log clock clock_mapping clock_step
         loss clock_mapping_linear clock_route clock_line clock_hop clock_hop_reading clock_turn to_boottime_linear boottime_error
         boottime_interval clock_path_linear descriptor fact metadata stats finding flow_backwards
         to_boottime convert_clock why_unresolved clock_path clock_id clock_name packet_json packet_field packet_data
         packet_clock packet_clock_record clock_record",
        "trace processor has no table of packets, and of clocks the readings only (tests/clocks.rs compares these)",
    ),
    (
        "trace_file placement part remote_clock_sync clock_alignment clock_alignment_knot causal_outlier packets first_ts last_ts",
        "every recorded trace is one file of one machine; tests/merge has those of several",
    ),
    (
        "to_realtime to_monotonic abs_time_str from_abs_time_str clock_snapshot",
        "of clocks there are the readings only; tests/clocks.rs compares the table clock_snapshot with them",
    ),
    (
        "ftrace_event ftrace_event_partial raw ftrace_record ftrace_partial ftrace_name ftrace_args
         ftrace_unresolved",
        "of kernel events there are counts and checksums by name, and the events of system with arguments \
         (tests/events.rs compares all of them)",
    ),
    (
        "stack_sample stack_sample_session stack_sample_task_context stack_sample_async_context
         stack_sample_execution_context stack_sample_counter_track stack_sample_counter perf_sample
         perf_sample_with_stack callsite_total perf_session perf_counter_track cpu_profile_stack_sample
         stack_profile_callsite stack_profile_frame stack_profile_mapping stack_profile_symbol unsymbolized_mapping heap_profile
         heap_profile_allocation profiler_smaps process_memory_mappings callstack callstack_frame
         stack_sample_source stack_sample_session_record stack_sample_task_record stack_sample_async_record
         stack_sample_execution_record stack_sample_counter_track_record stack_sample_record
         heap_profile_allocation_record smaps_record",
        "no recorded trace has a profile; tests/profiles.rs compares all of them",
    ),
    (
        "heap_graph heap_graph_class heap_graph_object heap_graph_reference heap_graph_object_data
         heap_graph_primitive heap_graph_field heap_graph_object_record heap_graph_reference_record
         heap_graph_object_data_record heap_graph_primitive_record heap_graph_path heap_graph_dominator
         experimental_flamegraph",
        "no recorded trace has a Java heap; tests/model/java_heap compares random ones",
    ),
    (
        "experimental_missing_chrome_processes",
        "no recorded trace misses a process of Chrome; tests/descriptor_rules.rs has traces that do",
    ),
    (
        "gpu_context gpu_counter_group vulkan_memory_allocations",
        "no recorded trace has one; tests/gpu_rules.rs has them",
    ),
    (
        "package_list android_game_intervention_list android_user_list android_aflags linux_interrupt_mapping logs
         journald_record trace_import_log android_cpu_per_uid_track android_track_event_process trace_diagnostics
         heap_graph heap_graph_java_oome_details heap_graph_thread_callsite __intrinsic_android_user_list
         _linux_interrupt_mapping __intrinsic_android_aflags _trace_import_logs
         __intrinsic_heap_graph_java_oome_details __intrinsic_trace_diagnostics
         __intrinsic_android_cpu_per_uid_track __intrinsic_android_track_event_process",
        "no recorded trace has one; tests/small_tables.rs compares all of them",
    ),
    (
        "pytorch_kernel pytorch_gpu_idle pytorch_gpu pytorch_collective pytorch_memory",
        "no recorded trace is of PyTorch, and trace processor has no such tables",
    ),
    (
        "inputmethod_clients inputmethod_service inputmethod_manager_service
         android_motion_events android_key_events android_input_event_dispatch viewcapture
         viewcapture_view windowmanager windowmanager_windowcontainer
         surfaceflinger_layers_snapshot surfaceflinger_display surfaceflinger_layer
         surfaceflinger_transactions surfaceflinger_transaction
         surfaceflinger_transaction_flag window_manager_shell_transition_protos
         window_manager_shell_transitions window_manager_shell_transition_participants
         window_manager_shell_transition_handlers protolog winscope_rect winscope_transform
         winscope_trace_rect winscope_fill_region winscope_record winscope_proto",
        "no recorded trace has window tracing; tests/winscope.rs compares it",
    ),
    (
        "android_logs android_log_record android_log_thread",
        "no recorded trace has an Android log",
    ),
    (
        "thread_emitting string process_record thread_record cpu_record gpu_record sched_record
         thread_state_record state_record track_record slice_record gpu_slice_record counter_record
         gpu_counter_group_record vulkan_memory_record arg_set arg_type
         event_span pragma_user_version sqlite_schema",
        "how timebase stores what the views have",
    ),
    (
        "timestamp system_ram_gb display_value scope m.name",
        "a column that none of trace processor's answers has",
    ),
    (
        "severity",
        "what a count means; tests/records.rs compares it",
    ),
    (
        "wall",
        "SQL of another engine, over what a page got as a data frame",
    ),
];

/// The result of a statement on the witness, or the table or function that it does not know.
pub enum Said {
    Rows(Vec<String>, Vec<Row>),
    Nothing,
    Unknown(String),
}

/// Asks the witness.
pub fn ask(conn: &Connection, sql: &str, params: &[(String, rusqlite::types::Value)]) -> Said {
    let unknown = |error: rusqlite::Error| {
        let message = error.to_string();
        let name = ["no such table: ", "no such function: ", "no such column: "]
            .iter()
            .find_map(|what| message.split(what).nth(1));
        let name = name.unwrap_or_else(|| panic!("{message}\n{sql}"));
        let name = name.split([' ', ':', '\n']).next().unwrap_or_default();
        Said::Unknown(name.trim_start_matches("temp.").to_owned())
    };
    let mut statement = match conn.prepare(sql) {
        Ok(statement) => statement,
        Err(error) => return unknown(error),
    };
    for (name, value) in params {
        if let Some(index) = statement.parameter_index(&format!(":{name}")).unwrap() {
            statement.raw_bind_parameter(index, value).unwrap();
        }
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    if columns.is_empty() {
        statement.raw_execute().unwrap();
        return Said::Nothing;
    }
    let mut found = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().unwrap_or_else(|error| panic!("{error}\n{sql}")) {
        found.push((0..columns.len()).map(|i| row.get_unwrap(i)).collect());
    }
    Said::Rows(columns, found)
}
