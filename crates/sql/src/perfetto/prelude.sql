-- Trace processor's own tables, as views over those of the database: the same names and types of
-- columns, and nothing more. The prelude of Perfetto's standard library builds on them.
--
-- Modules rely on rows in the order of ids. SQLite reads all rows from an index instead of the table if the index
-- has all columns that a query needs. `IS NOT x''` always holds. On a column that no index has, it makes SQLite read the
-- table; it still searches by an index. NOT INDEXED would prevent that, too. An ORDER BY would be lost in a join, and
-- aggregates would sort.

-- The sets of kernel events, which have odd numbers, come last.
CREATE TEMP VIEW __intrinsic_args AS
SELECT id + ((arg_set_id & 1) << 62) AS id, arg_set_id, flat_key, key, int_value, string_value, real_value, value_type
FROM main.args;

CREATE TEMP VIEW __intrinsic_android_game_intervention_list AS
SELECT id, package_name, uid, current_mode, standard_mode_supported, standard_mode_downscale, standard_mode_use_angle,
       standard_mode_fps, perf_mode_supported, perf_mode_downscale, perf_mode_use_angle, perf_mode_fps,
       battery_mode_supported, battery_mode_downscale, battery_mode_use_angle, battery_mode_fps
FROM main.android_game_intervention_list;

CREATE TEMP VIEW __intrinsic_chrome_stack_sample_extras AS
SELECT id, id AS profiler_sample_id, process_priority FROM main.stack_sample_record WHERE process_priority IS NOT NULL;

CREATE TEMP VIEW __intrinsic_clock_snapshot AS
SELECT id, ts, clock_id, clock_name, clock_value, snapshot_id, machine_id FROM main.clock_snapshot;

CREATE TEMP VIEW __intrinsic_counter AS
SELECT id, ts, track_id, value, arg_set_id FROM main.counter WHERE value IS NOT x'';

CREATE TEMP VIEW __intrinsic_cpu AS
SELECT id, cpu, cluster_id, processor, machine_id, capacity, arg_set_id FROM main.cpu;

CREATE TEMP VIEW __intrinsic_cpu_freq AS
SELECT id, ucpu, freq FROM main.cpu_available_frequencies;

CREATE TEMP VIEW __intrinsic_experimental_missing_chrome_processes AS
SELECT id, upid, reliable_from FROM main.experimental_missing_chrome_processes;

CREATE TEMP VIEW __intrinsic_flow AS
SELECT id, slice_out, slice_in, trace_id, arg_set_id FROM main.flow WHERE trace_id IS NOT x'';

CREATE TEMP VIEW __intrinsic_ftrace_event AS
SELECT id, ts, name, utid, arg_set_id, common_flags, ucpu FROM main.ftrace_event WHERE packet_id IS NOT x'';

CREATE TEMP VIEW __intrinsic_gpu AS
SELECT id, gpu, machine_id, name, vendor, model, architecture, uuid, pci_bdf, arg_set_id FROM main.gpu;

CREATE TEMP VIEW __intrinsic_gpu_context AS
SELECT id, context_id, pid, api FROM main.gpu_context;

CREATE TEMP VIEW __intrinsic_gpu_counter_group AS
SELECT id, group_id, track_id, name, description FROM main.gpu_counter_group;

CREATE TEMP VIEW __intrinsic_heap_graph AS
SELECT id, ts, upid, dump_reason, heap_size, truncated FROM main.heap_graph;

CREATE TEMP VIEW __intrinsic_heap_graph_class AS
SELECT id, name, deobfuscated_name, location, superclass_id, classloader_id, kind FROM main.heap_graph_class;

CREATE TEMP VIEW __intrinsic_heap_graph_object AS
SELECT id, upid, graph_sample_ts, self_size, native_size, reference_set_id, reachable, heap_type, type_id, root_type,
       root_distance, object_data_id
FROM main.heap_graph_object;

CREATE TEMP VIEW __intrinsic_heap_graph_object_data AS
SELECT id, field_set_id, value_string, array_element_type, array_element_count, array_data_id, array_data_hash
FROM main.heap_graph_object_data;

CREATE TEMP VIEW __intrinsic_heap_graph_primitive AS
SELECT id, field_set_id, field_name, field_type, bool_value, byte_value, char_value, short_value, int_value,
       long_value, float_value, double_value
FROM main.heap_graph_primitive;

CREATE TEMP VIEW __intrinsic_heap_graph_reference AS
SELECT id, reference_set_id, owner_id, owned_id, field_name, field_type_name, deobfuscated_field_name
FROM main.heap_graph_reference WHERE owner_id IS NOT x'';

CREATE TEMP VIEW __intrinsic_heap_graph_thread_callsite AS
SELECT id, heap_graph_id, utid, callsite_id FROM main.heap_graph_thread_callsite;

CREATE TEMP VIEW __intrinsic_heap_profile AS
SELECT id, ts, ts_end, dur, upid, heap_name FROM main.heap_profile;

CREATE TEMP VIEW __intrinsic_heap_profile_allocation AS
SELECT id, ts, upid, heap_name, callsite_id, count, size FROM main.heap_profile_allocation
WHERE size IS NOT x'';

CREATE TEMP VIEW __intrinsic_logs AS
SELECT id, ts, utid, prio, log_source, tag, msg, arg_set_id FROM main.logs WHERE prio IS NOT x'';

CREATE TEMP VIEW __intrinsic_machine AS
SELECT id, raw_id, name, sysname, release, version, arch, num_cpus, android_build_fingerprint,
       android_device_manufacturer, android_sdk_version, system_ram_bytes, system_ram_gb
FROM main.machine;

CREATE TEMP VIEW __intrinsic_metadata AS
SELECT id, name, key_type, int_value, str_value, machine_id, trace_id
FROM main.metadata
WHERE machine_id IS NOT x'';

CREATE TEMP VIEW __intrinsic_package_list AS
SELECT id, package_name, uid, debuggable, profileable_from_shell, version_code FROM main.package_list;

CREATE TEMP VIEW __intrinsic_process AS
SELECT id, pid, name, start_ts, end_ts, parent_upid, uid, android_appid, android_user_id, cmdline, arg_set_id,
       machine_id
FROM main.process;

CREATE TEMP VIEW __intrinsic_profiler_async_context AS
SELECT id, name, kind, parent_id FROM main.stack_sample_async_record;

CREATE TEMP VIEW __intrinsic_profiler_counter_set AS
SELECT c.id, s.id AS counter_set_id, c.id AS counter_id
FROM main.stack_sample_record AS s
CROSS JOIN main.counter_record AS c ON c.id BETWEEN s.counter_id AND s.counter_id + s.counters - 1;

CREATE TEMP VIEW __intrinsic_profiler_execution_context AS
SELECT id, ucpu, cpu_mode FROM main.stack_sample_execution_record;

CREATE TEMP VIEW __intrinsic_profiler_sample AS
SELECT id, ts, (SELECT name FROM main.stack_sample_source AS x WHERE x.id = s.source) AS source,
       task_id AS task_context_id, execution_id AS execution_context_id, callsite_id, unwind_error, session_id,
       iif(counter_id IS NULL, NULL, id) AS counter_set_id
FROM main.stack_sample_record AS s WHERE source IS NOT x'';

CREATE TEMP VIEW __intrinsic_profiler_session AS
SELECT id, (SELECT name FROM main.stack_sample_source AS x WHERE x.id = s.source) AS source, timebase_unit,
       NULL AS cmdline
FROM main.stack_sample_session_record AS s;

CREATE TEMP VIEW __intrinsic_profiler_smaps AS
SELECT id, upid, ts, path, path_trimmed, aggregate_count, is_deleted, size_kb, private_dirty_kb, swap_kb, file_name,
       start_address, module_timestamp, module_debugid, module_debug_path, protection_flags,
       private_clean_resident_kb, shared_dirty_resident_kb, shared_clean_resident_kb, locked_kb,
       proportional_resident_kb, rss_kb, anonymous_kb, pss_dirty_kb, swap_pss_kb
FROM main.profiler_smaps;

CREATE TEMP VIEW __intrinsic_profiler_task_context AS
SELECT id, upid, utid, async_context_id FROM main.stack_sample_task_record;

CREATE TEMP VIEW __intrinsic_sched_slice AS
SELECT id, ts, dur, utid, end_state, priority, ucpu FROM main.sched_slice WHERE priority IS NOT x'';

CREATE TEMP VIEW __intrinsic_slice AS
SELECT id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur,
       thread_instruction_count, thread_instruction_delta
FROM main.slice WHERE depth IS NOT x'';

CREATE TEMP VIEW __intrinsic_spurious_sched_wakeup AS
SELECT id, ts, thread_state_id, irq_context, utid, waker_utid FROM main.spurious_sched_wakeup;

CREATE TEMP VIEW __intrinsic_stack_profile_callsite AS
SELECT id, depth, parent_id, frame_id FROM main.stack_profile_callsite WHERE frame_id IS NOT x'';

CREATE TEMP VIEW __intrinsic_stack_profile_frame AS
SELECT id, name, mapping, rel_pc, symbol_set_id, deobfuscated_name, type FROM main.stack_profile_frame;

CREATE TEMP VIEW __intrinsic_stack_profile_mapping AS
SELECT id, build_id, exact_offset, start_offset, start, "end", load_bias, name FROM main.stack_profile_mapping;

CREATE TEMP VIEW __intrinsic_stack_profile_symbol AS
SELECT id, symbol_set_id, name, source_file, line_number, inlined FROM main.stack_profile_symbol WHERE line_number IS NOT x'';

CREATE TEMP VIEW __intrinsic_state AS
SELECT id, ts, dur, track_id, category, value, arg_set_id FROM main.state WHERE dur IS NOT x'';

CREATE TEMP VIEW __intrinsic_stats AS
SELECT id, name, key, idx, severity, source, value, description, machine_id, trace_id
FROM main.stats;

CREATE TEMP VIEW __intrinsic_thread AS
SELECT id, tid, name, start_ts, end_ts, upid, is_main_thread, is_idle, machine_id, arg_set_id FROM main.thread
WHERE tid IS NOT x'';

CREATE TEMP VIEW __intrinsic_thread_state AS
SELECT id, ts, dur, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context, ucpu
FROM main.thread_state;

CREATE TEMP VIEW __intrinsic_trace_import_logs AS
SELECT id, trace_id, ts, byte_offset, (SELECT key FROM main.stats WHERE stats.name = l.name LIMIT 1) AS stat_key, arg_set_id
FROM main._trace_import_logs AS l;

CREATE TEMP VIEW __intrinsic_track AS
SELECT id, name, parent_id, source_arg_set_id, machine_id, type, dimension_arg_set_id, track_group_id,
       CASE WHEN is_counter THEN 'counter' WHEN type LIKE '%\_state\_track\_event' ESCAPE '\' OR type = 'concurrent_tracing_sessions' THEN 'state' ELSE 'slice' END
         AS event_type,
       unit AS counter_unit, utid, upid
FROM main.track_record;

CREATE TEMP VIEW __intrinsic_track_event_callstacks AS
SELECT min(c.id) AS id, c.slice_id, (SELECT track_id FROM main.slice_record AS s WHERE s.id = c.slice_id) AS track_id,
       max(iif(c.event = 'end', NULL, c.callsite_id)) AS callsite_id,
       max(iif(c.event = 'end', c.callsite_id, NULL)) AS end_callsite_id,
       coalesce(max(iif(c.event = 'end', NULL, c.weight)), max(c.weight)) AS weight
FROM main.track_event_callstack AS c
WHERE c.slice_id IS NOT NULL
GROUP BY c.slice_id
ORDER BY 1;

CREATE TEMP VIEW __intrinsic_vulkan_memory_allocations AS
SELECT id, arg_set_id, source, operation, timestamp, upid, device, device_memory, memory_type, heap, function_name,
       object_handle, memory_address, memory_size, scope
FROM main.vulkan_memory_allocations;
