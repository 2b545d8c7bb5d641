//! The tables of profilers for the statements, in memory.

use super::profile_samples::Session;
use super::world::World;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::BTreeSet;

/// Tables with the columns in the statements.
const SCHEMA: &str = "
CREATE TABLE process (upid, pid);
CREATE TABLE thread (utid, tid, upid, is_main_thread);
CREATE TABLE cpu (ucpu, cpu);
CREATE TABLE stack_profile_mapping
    (id, build_id, exact_offset, start_offset, start, \"end\", load_bias, name);
CREATE TABLE stack_profile_frame (id, name, mapping, rel_pc, symbol_set_id, deobfuscated_name, type);
CREATE TABLE stack_profile_callsite (id, depth, parent_id, frame_id);
CREATE TABLE stack_profile_symbol (id, symbol_set_id, name, source_file, line_number, inlined);
CREATE TABLE perf_session (perf_session_id, cmdline);
CREATE TABLE sample (id, ts, source, task_context_id, execution_context_id, callsite_id, unwind_error,
    session_id, priority);
CREATE TABLE task (id, upid, utid, async_context_id);
CREATE TABLE execution (id, ucpu, cpu, cpu_mode);
CREATE TABLE session (id, source, timebase_unit, cmdline);
CREATE TABLE async (id, name, kind, parent_id);
CREATE TABLE counter_track (id, type, name, unit, description, dimension_arg_set_id, source_arg_set_id,
    cpu, is_timebase);
CREATE TABLE args (arg_set_id, key, int_value);
CREATE TABLE counter (id, ts, track_id, value, sample_id);
CREATE TABLE heap_profile (ts, ts_end, dur, upid, heap_name);
CREATE TABLE heap_profile_allocation (ts, upid, heap_name, callsite_id, count, size);
CREATE TABLE profiler_smaps (upid, ts, path, path_trimmed, aggregate_count, is_deleted, size_kb,
    private_dirty_kb, swap_kb, file_name, start_address, module_timestamp, module_debugid,
    module_debug_path, protection_flags, private_clean_resident_kb, shared_dirty_resident_kb,
    shared_clean_resident_kb, locked_kb, proportional_resident_kb, rss_kb, anonymous_kb, pss_dirty_kb,
    swap_pss_kb);
CREATE TABLE trace_bounds (start_ts, end_ts);
CREATE TABLE stats (name, idx, value, machine_id);
CREATE VIEW stack_sample AS SELECT * FROM sample WHERE callsite_id IS NOT NULL;
CREATE VIEW perf_sample AS
    SELECT s.id, s.ts, t.utid, e.cpu, ifnull(e.cpu_mode, 'unknown') AS cpu_mode, callsite_id, unwind_error,
        session_id AS perf_session_id
    FROM sample AS s LEFT JOIN task AS t ON t.id = task_context_id
    LEFT JOIN execution AS e ON e.id = execution_context_id WHERE source = 'linux.perf';
CREATE VIEW cpu_profile_stack_sample AS
    SELECT s.id, s.ts, callsite_id, utid, priority AS process_priority
    FROM sample AS s LEFT JOIN task AS t ON t.id = task_context_id WHERE source = 'chrome';
CREATE VIEW stack_sample_session AS
    SELECT * FROM session WHERE id IN (SELECT session_id FROM stack_sample);
CREATE VIEW stack_sample_task_context AS
    SELECT * FROM task WHERE id IN (SELECT task_context_id FROM stack_sample);
CREATE VIEW stack_sample_execution_context AS
    SELECT * FROM execution WHERE id IN (SELECT execution_context_id FROM stack_sample);
CREATE VIEW stack_sample_async_context AS
    WITH RECURSIVE up (id) AS (
        SELECT async_context_id FROM stack_sample_task_context
        UNION SELECT parent_id FROM up JOIN async USING (id))
    SELECT * FROM async WHERE id IN up;
CREATE VIEW stack_sample_counter AS
    SELECT c.id, s.id AS stack_sample_id, track_id, value
    FROM counter AS c JOIN stack_sample AS s ON s.id = c.sample_id;
CREATE VIEW stack_sample_counter_track AS
    SELECT * FROM counter_track WHERE id IN (SELECT track_id FROM stack_sample_counter);
CREATE VIEW perf_counter_track AS SELECT * FROM counter_track WHERE type = 'perf_cpu_counter';
";

fn number(value: impl Into<i64>) -> Value {
    Value::Integer(value.into())
}

fn maybe(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Integer)
}

fn text(value: Option<&str>) -> Value {
    value.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

fn id(place: usize) -> Value {
    Value::Integer(place as i64)
}

fn reference(place: Option<usize>) -> Value {
    place.map_or(Value::Null, id)
}

struct Tables(Connection);

impl Tables {
    fn insert(&self, table: &str, row: Vec<Value>) {
        let places = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {table} VALUES ({places})");
        let mut statement = self.0.prepare(&sql).unwrap();
        statement.execute(params_from_iter(row)).unwrap();
    }
}

impl World<'_> {
    /// All rows of profilers.
    pub fn profile_tables(mut self) -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(SCHEMA).unwrap();
        conn.execute_batch("BEGIN").unwrap();
        let tables = Tables(conn);
        for (upid, process) in self.processes.processes.iter().enumerate() {
            tables.insert("process", vec![id(upid), number(process.pid)]);
        }
        for (utid, thread) in self.processes.threads.iter().enumerate() {
            let main = maybe(thread.is_main.map(i64::from));
            let row = vec![id(utid), number(thread.tid), reference(thread.process), main];
            tables.insert("thread", row);
        }
        self.stack_rows(&tables);
        self.sample_rows(&tables);
        self.track_rows_of_profiles(&tables);
        self.heap_rows(&tables);
        self.smap_rows(&tables);
        self.bounds(&tables);
        let Tables(conn) = tables;
        conn.execute_batch("COMMIT").unwrap();
        conn
    }

    fn stack_rows(&self, tables: &Tables) {
        let stacks = &self.profiles.stacks;
        for (place, (mapping, _)) in stacks.mappings.iter().enumerate() {
            let build_id = mapping.build_id.as_deref().unwrap_or_default();
            let numbers = mapping.numbers.map(|n| number(n.cast_signed()));
            let mut row = vec![id(place), text(Some(build_id))];
            row.extend(numbers);
            row.push(text(Some(&mapping.name)));
            tables.insert("stack_profile_mapping", row);
        }
        for (place, frame) in stacks.frames.iter().enumerate() {
            let row = vec![
                id(place),
                text(frame.name.as_deref()),
                id(frame.mapping),
                number(frame.rel_pc.cast_signed()),
                reference(frame.symbols),
                Value::Null,
                text(frame.kind.as_deref()),
            ];
            tables.insert("stack_profile_frame", row);
        }
        for (place, callsite) in stacks.callsites.iter().enumerate() {
            let (parent, frame) = (reference(callsite.parent), id(callsite.frame));
            let row = vec![id(place), id(callsite.depth), parent, frame];
            tables.insert("stack_profile_callsite", row);
        }
        for (place, symbol) in stacks.symbols.iter().enumerate() {
            let row = vec![
                id(place),
                id(symbol.set),
                text(symbol.name.as_deref()),
                text(symbol.file.as_deref()),
                maybe(symbol.line.map(i64::from)),
                Value::Null,
            ];
            tables.insert("stack_profile_symbol", row);
        }
    }

    fn sample_rows(&self, tables: &Tables) {
        let samples = &self.profiles.samples;
        for (place, Session { source, unit }) in samples.sessions.iter().enumerate() {
            let (source, unit) = (text(source.as_deref()), text(unit.as_deref()));
            if source == Value::Text("linux.perf".to_owned()) {
                tables.insert("perf_session", vec![id(place), Value::Null]);
            }
            tables.insert("session", vec![id(place), source, unit, Value::Null]);
        }
        for (place, (upid, utid, of_async)) in samples.tasks.iter().enumerate() {
            let row = vec![id(place), reference(*upid), reference(*utid), reference(*of_async)];
            tables.insert("task", row);
        }
        let mut cpus = BTreeSet::new();
        for (place, (cpu, mode)) in samples.executions.iter().enumerate() {
            let ucpu = cpu.map(|(machine, cpu)| machine as i64 * 4096 + i64::from(cpu));
            let cpu = cpu.map(|(_, cpu)| i64::from(cpu));
            if let (Some(ucpu), Some(cpu)) = (ucpu, cpu)
                && cpus.insert(ucpu)
            {
                tables.insert("cpu", vec![number(ucpu), number(cpu)]);
            }
            let row = vec![id(place), maybe(ucpu), maybe(cpu), text(*mode)];
            tables.insert("execution", row);
        }
        for (place, context) in samples.asyncs.iter().enumerate() {
            let (name, kind) = (text(context.name.as_deref()), text(context.kind.as_deref()));
            tables.insert("async", vec![id(place), name, kind, reference(context.parent)]);
        }
        for (place, sample) in samples.all.iter().enumerate() {
            let row = vec![
                id(place),
                number(sample.time),
                text(sample.source.as_deref()),
                reference(sample.task),
                reference(sample.execution),
                reference(sample.callsite),
                text(sample.unwind_error),
                reference(sample.session),
                number(sample.priority),
            ];
            tables.insert("sample", row);
        }
    }

    fn track_rows_of_profiles(&self, tables: &Tables) {
        let samples = &self.profiles.samples;
        for (place, track) in samples.tracks.iter().enumerate() {
            let (dimensions, source) = (number(place as i64 * 2), number(place as i64 * 2 + 1));
            let cpu = track.cpu.map(|(_, cpu)| i64::from(cpu));
            let timebase = i64::from(track.is_timebase);
            let row = vec![
                id(place),
                text(Some(track.kind)),
                text(track.name.as_deref()),
                text(track.unit.as_deref()),
                text(track.description.as_deref()),
                dimensions.clone(),
                source.clone(),
                maybe(cpu),
                number(timebase),
            ];
            tables.insert("counter_track", row);
            let session = if cpu.is_some() && track.kind == "perf_cpu_counter" {
                "perf_session_id"
            } else {
                "session_id"
            };
            for (set, key, value) in [
                (&dimensions, "cpu", cpu),
                (&dimensions, session, Some(track.session as i64)),
                (&source, "is_timebase", Some(timebase)),
                (&source, "unit_multiplier", track.multiplier),
            ] {
                if let Some(value) = value {
                    tables.insert("args", vec![set.clone(), text(Some(key)), number(value)]);
                }
            }
        }
        for (place, value) in samples.values.iter().enumerate() {
            let row = vec![
                id(place),
                number(value.time),
                id(value.track),
                Value::Real(value.value),
                id(value.sample),
            ];
            tables.insert("counter", row);
        }
    }

    fn heap_rows(&self, tables: &Tables) {
        for profile in &self.profiles.heap_profiles {
            let row = vec![
                number(profile.start),
                number(profile.end),
                number(profile.end - profile.start),
                id(profile.process),
                text(profile.heap.as_deref()),
            ];
            tables.insert("heap_profile", row);
        }
        for allocation in &self.profiles.allocations {
            let row = vec![
                number(allocation.time),
                id(allocation.process),
                text(Some(&allocation.heap)),
                id(allocation.callsite),
                number(allocation.count),
                number(allocation.size),
            ];
            tables.insert("heap_profile_allocation", row);
        }
    }

    fn smap_rows(&self, tables: &Tables) {
        for smap in &self.profiles.smaps {
            let text = |column| text(smap.texts.get(column).map(String::as_str));
            let count = |column| number(smap.numbers.get(column).copied().unwrap_or(0));
            let mut row =
                vec![id(smap.process), number(smap.time), text("path"), text("path_trimmed")];
            row.extend(
                ["aggregate_count", "is_deleted", "size_kb", "private_dirty_kb", "swap_kb"]
                    .map(count),
            );
            row.push(text("file_name"));
            row.extend(["start_address", "module_timestamp"].map(count));
            row.extend(["module_debugid", "module_debug_path"].map(text));
            let rest = [
                "protection_flags",
                "private_clean_resident_kb",
                "shared_dirty_resident_kb",
                "shared_clean_resident_kb",
                "locked_kb",
                "proportional_resident_kb",
                "rss_kb",
                "anonymous_kb",
                "pss_dirty_kb",
                "swap_pss_kb",
            ];
            row.extend(rest.map(count));
            tables.insert("profiler_smaps", row);
        }
    }

    /// H5; without events there is no row.
    fn bounds(&mut self, tables: &Tables) {
        let profiles = &mut self.profiles;
        let times = profiles.samples.all.iter().map(|sample| sample.time);
        let times = times.chain(profiles.samples.values.iter().map(|value| value.time));
        let times = times.chain(profiles.allocations.iter().map(|one| one.time));
        let times: Vec<i64> = times.chain(profiles.smaps.iter().map(|smap| smap.time)).collect();
        if let (Some(&start), Some(&end)) = (times.iter().min(), times.iter().max()) {
            let row = vec![number(start), number(end.max(start + 1))];
            tables.insert("trace_bounds", row);
        }
        // SY3
        let lacks = profiles.stacks.mappings.iter().filter(|(mapping, _)| {
            mapping.name.starts_with("/data/local/tmp/")
                && mapping.build_id.as_deref().unwrap_or_default().is_empty()
        });
        let lacks = lacks.count() as i64;
        if lacks > 0 {
            profiles.add("symbolization_tmp_build_id_not_found", None, lacks);
        }
        for ((name, idx), value) in &profiles.stats {
            tables.insert("stats", vec![text(Some(name)), maybe(*idx), number(*value), number(0)]);
        }
    }
}
