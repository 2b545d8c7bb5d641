//! The tables for the statements, in memory.

use super::args::{Args, Said};
use super::dimensions;
use super::machines;
use super::scheduling::{Cpu, Woken};
use super::tracks::{Track, TrackOwner};
use super::world::{CPUS, World};
use crate::support::statements::Row;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// Tables with exactly the requested columns, and a view.
const SCHEMA: &str = "
CREATE TABLE machine (id, raw_id, sysname, release, arch, num_cpus);
CREATE TABLE cpu (ucpu, cpu, machine_id, cluster_id, processor, capacity);
CREATE TABLE process
    (upid, machine_id, pid, name, parent_upid, start_ts, end_ts, uid, cmdline, arg_set_id);
CREATE TABLE thread
    (utid, machine_id, tid, name, upid, start_ts, end_ts, is_main_thread, is_idle, arg_set_id);
CREATE TABLE sched_slice (ts, dur, ucpu, utid, end_state, priority, doubt);
CREATE VIEW sched AS SELECT * FROM sched_slice;
CREATE TABLE thread_state
    (id, ts, dur, ucpu, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context,
    doubt);
CREATE TABLE loss (kind, ucpu, start_ts, end_ts);
CREATE TABLE spurious_sched_wakeup (ts, utid, waker_utid, irq_context, thread_state_id);
CREATE TABLE track (id, name, type, machine_id, parent_id, dimension_arg_set_id, source_arg_set_id);
CREATE TABLE thread_track (id, utid);
CREATE TABLE process_track (id, upid);
CREATE TABLE cpu_track (id, cpu);
CREATE TABLE counter_track (id, name, type, unit, description, machine_id);
CREATE TABLE stats (name, idx, value);
CREATE TABLE thread_counter_track (id, utid);
CREATE TABLE process_counter_track (id, upid);
CREATE TABLE cpu_counter_track (id, cpu);
CREATE TABLE gpu_counter_track (id, gpu_id);
CREATE TABLE slice (id, ts, dur, track_id, name, category, depth, parent_id, arg_set_id,
    thread_ts, thread_dur, thread_instruction_count, thread_instruction_delta);
CREATE TABLE gpu_slice_detail (slice_id, context_id, render_target, render_pass, command_buffer,
    submission_id, hw_queue_id, upid, render_subpasses, render_stage_category, render_target_name,
    render_pass_name, command_buffer_name);
CREATE TABLE gpu_context (id, context_id, pid, api, machine_id);
CREATE TABLE gpu_counter_group (id, group_id, track_id, name, description);
CREATE TABLE vulkan_memory_allocations (id, arg_set_id, source, operation, timestamp, upid, device,
    device_memory, memory_type, heap, function_name, object_handle, memory_address, memory_size,
    scope);
CREATE VIEW gpu_slice AS
    SELECT * FROM slice JOIN gpu_slice_detail ON gpu_slice_detail.slice_id = slice.id;
CREATE TABLE counter (track_id, ts, value, arg_set_id, doubt);
CREATE TABLE misplaced_end (slice_id);
CREATE TABLE flow (slice_out, slice_in, trace_id);
CREATE TABLE frame (slice_id, is_actual, upid);
CREATE VIEW frame_slice AS
    SELECT id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, is_actual, upid
    FROM slice JOIN frame ON frame.slice_id = slice.id;
CREATE TABLE frame_column (slice_id, name, value);
CREATE INDEX frame_columns ON frame_column (slice_id, name);
CREATE TABLE state (id, ts, dur, track_id, category, value, arg_set_id);
CREATE VIEW state_track AS
    SELECT * FROM track WHERE type GLOB '*_state_track_event';
CREATE VIEW process_state_track AS
    SELECT * FROM track WHERE type = 'process_state_track_event';
CREATE VIEW thread_state_track AS
    SELECT * FROM track WHERE type = 'thread_state_track_event';
CREATE TABLE android_logs (ts, utid, prio, tag, msg);
CREATE TABLE event_stack (ts, utid, slice_id, event, stack, weight);
CREATE TABLE args (arg_set_id, key, flat_key, value_type, int_value, string_value, real_value);
CREATE INDEX args_set ON args (arg_set_id);
CREATE INDEX slice_id ON slice (id);
CREATE INDEX track_id ON track (id);
";

fn integer(value: impl Into<i64>) -> Value {
    Value::Integer(value.into())
}

pub fn number(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Integer)
}

fn flag(value: Option<bool>) -> Value {
    number(value.map(i64::from))
}

pub fn text(value: Option<&str>) -> Value {
    value.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

/// An index in one of the model's lists, which is the number of the row.
pub fn id(place: usize) -> Value {
    Value::Integer(place as i64)
}

fn reference(place: Option<usize>) -> Value {
    place.map_or(Value::Null, id)
}

/// H2
fn ucpu((machine, cpu): Cpu) -> Value {
    Value::Integer(machine as i64 * CPUS + i64::from(cpu))
}

/// The database that is filled.
pub(super) struct Tables {
    pub conn: Connection,
    pub arg_sets: i64,
}

impl Tables {
    pub fn insert(&self, table: &str, row: Row) {
        let places = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {table} VALUES ({places})");
        let mut statement = self.conn.prepare(&sql).unwrap();
        statement.execute(params_from_iter(row)).unwrap();
    }

    /// A set of arguments, by its number.
    pub fn args(&mut self, args: &Args) -> Value {
        if args.all.is_empty() {
            return Value::Null;
        }
        self.arg_sets += 1;
        for arg in &args.all {
            let (kind, value) = typed(&arg.said);
            let [int, string, real] = value;
            self.insert(
                "args",
                vec![
                    Value::Integer(self.arg_sets),
                    text(Some(&arg.key.full)),
                    text(Some(&arg.key.flat)),
                    text(Some(kind)),
                    int,
                    string,
                    real,
                ],
            );
        }
        Value::Integer(self.arg_sets)
    }
}

/// The type of a value, and the value as int, string and real (A2).
pub fn typed(said: &Said) -> (&'static str, [Value; 3]) {
    let none = || Value::Null;
    let int = |value: i64| [Value::Integer(value), none(), none()];
    match said {
        Said::Int(value) => ("int", int(*value)),
        Said::Uint(value) => ("uint", int(value.cast_signed())),
        Said::Pointer(value) => ("pointer", int(value.cast_signed())),
        Said::Bool(value) => ("bool", int(i64::from(*value))),
        Said::String(value) => ("string", [none(), text(value.as_deref()), none()]),
        Said::Real(value) => ("real", [none(), none(), Value::Real(*value)]),
        Said::Null => ("null", [none(), none(), none()]),
    }
}

impl World<'_> {
    /// All rows, as tables of trace processor.
    pub fn tables(&mut self) -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(SCHEMA).unwrap();
        conn.execute_batch("BEGIN").unwrap();
        let mut tables = Tables { conn, arg_sets: 0 };
        self.scheduling.settle_doubts(&self.processes);
        self.machine_rows(&tables);
        self.thread_rows(&mut tables);
        self.sched_rows(&tables);
        self.slice_rows(&mut tables);
        self.stage_rows(&tables);
        self.counter_rows(&mut tables);
        self.gpu_rows(&mut tables);
        self.track_rows(&mut tables);
        for (out, into) in &self.flows.links {
            tables.insert("flow", vec![id(*out), id(*into), Value::Null]);
        }
        self.frame_rows(&mut tables);
        self.state_rows(&mut tables);
        self.event_stack_rows(&tables);
        tables.conn.execute_batch("COMMIT").unwrap();
        tables.conn
    }

    /// FP4
    fn event_stack_rows(&self, tables: &Tables) {
        let profiles = &self.profiles;
        for stack in &profiles.event_stacks {
            let row = vec![
                integer(stack.time),
                reference(stack.thread),
                reference(stack.slice),
                text(Some(stack.part)),
                text(Some(&profiles.stacks.as_text(stack.callsite))),
                stack.weight.map_or(Value::Null, Value::Real),
            ];
            tables.insert("event_stack", row);
        }
    }

    fn machine_rows(&self, tables: &Tables) {
        for (id, machine) in (0..).zip(&self.machines) {
            let name = machine.utsname().unwrap_or_default();
            let cpus = machine.system_info.number(8);
            let row = vec![
                Value::Integer(id),
                integer(machine.raw_id),
                text(name.text(1).as_deref()),
                text(name.text(3).as_deref()),
                text(name.text(4).as_deref()),
                number(cpus.map(|cpus| i64::from(cpus as u32))),
            ];
            tables.insert("machine", row);
        }
        for &(machine, number) in &self.cpus {
            let cpus = &self.machines[machine].cpus;
            let cpu = cpus.get(number as usize);
            let processor = cpu.and_then(|cpu| cpu.text(1)).filter(|p| !p.is_empty());
            let capacity = cpu.and_then(|cpu| cpu.number(3));
            let row = vec![
                ucpu((machine, number)),
                integer(number),
                id(machine),
                Value::Integer(machines::cluster(cpus, number as usize)),
                text(processor.as_deref()),
                capacity.map_or(Value::Null, |capacity| integer(capacity as u32)),
            ];
            tables.insert("cpu", row);
        }
    }

    fn thread_rows(&self, tables: &mut Tables) {
        for (upid, process) in self.processes.processes.iter().enumerate() {
            let args = tables.args(&process.args);
            let row = vec![
                id(upid),
                id(process.machine),
                Value::Integer(process.pid),
                text(process.name.as_deref()),
                reference(process.parent),
                number(process.start),
                number(process.end),
                number(process.uid),
                text(process.cmdline.as_deref()),
                args,
            ];
            tables.insert("process", row);
        }
        for (utid, thread) in self.processes.threads.iter().enumerate() {
            let args = tables.args(&thread.args);
            let row = vec![
                id(utid),
                id(thread.machine),
                Value::Integer(thread.tid),
                text(thread.name.as_deref()),
                reference(thread.process),
                number(thread.start),
                number(thread.end),
                flag(thread.is_main),
                flag(Some(thread.is_idle)),
                args,
            ];
            tables.insert("thread", row);
        }
    }

    fn sched_rows(&self, tables: &Tables) {
        let doubts = &self.scheduling.doubts;
        for (place, slice) in self.scheduling.slices.iter().enumerate() {
            let row = vec![
                Value::Integer(slice.time),
                Value::Integer(slice.duration),
                ucpu(slice.cpu),
                id(slice.thread),
                text(slice.end_state.as_deref()),
                Value::Integer(slice.priority),
                text(doubts.slices.get(&place).map(|word| word.text())),
            ];
            tables.insert("sched_slice", row);
        }
        for (place, state) in self.scheduling.states.iter().enumerate() {
            let woken = state.woken.as_ref();
            let row = vec![
                id(place),
                Value::Integer(state.time),
                Value::Integer(state.duration),
                state.cpu.map_or(Value::Null, ucpu),
                id(state.thread),
                text(state.state.as_deref()),
                flag(state.io_wait),
                text(state.blocked_function.as_deref()),
                reference(woken.map(|woken: &Woken| woken.waker)),
                reference(woken.and_then(|woken| woken.waker_state)),
                number(woken.and_then(|woken| woken.irq_context)),
                text(doubts.states.get(&place).map(|word| word.text())),
            ];
            tables.insert("thread_state", row);
        }
        for gap in &doubts.gaps {
            let kind = if gap.by_bundle { "kernel_events" } else { "switch" };
            let times = [gap.start, gap.end].map(Value::Integer);
            let [start, end] = times;
            tables.insert("loss", vec![text(Some(kind)), ucpu(gap.cpu), start, end]);
        }
        for spurious in &self.scheduling.spurious {
            let row = vec![
                Value::Integer(spurious.time),
                id(spurious.thread),
                id(spurious.woken.waker),
                number(spurious.woken.irq_context),
                id(spurious.state),
            ];
            tables.insert("spurious_sched_wakeup", row);
        }
    }

    fn slice_rows(&self, tables: &mut Tables) {
        for (place, slice) in self.slices.all.iter().enumerate() {
            let translations = &self.slices.translations;
            let args = tables.args(&translations.args(slice.machine, &slice.args));
            let row = vec![
                id(place),
                Value::Integer(slice.time),
                Value::Integer(slice.duration),
                id(slice.track),
                text(slice.name.as_deref()),
                text(slice.category.as_deref()),
                id(slice.depth),
                reference(slice.parent),
                args,
                number(slice.thread_time.0),
                number(slice.thread_time.1),
                number(slice.instructions.0),
                number(slice.instructions.1),
            ];
            tables.insert("slice", row);
        }
        for slice in &self.slices.doubtful {
            tables.insert("misplaced_end", vec![id(*slice)]);
        }
    }

    fn stage_rows(&self, tables: &Tables) {
        for stage in &self.stages.all {
            let row = vec![
                id(stage.slice),
                Value::Integer(stage.context),
                Value::Integer(stage.render_target),
                Value::Integer(stage.render_pass),
                Value::Integer(stage.command_buffer),
                Value::Integer(stage.submission),
                Value::Integer(stage.queue),
                id(stage.process),
                text(stage.subpasses.as_deref()),
                number(stage.category),
            ];
            let names = stage.names.iter().map(|name| text(name.as_deref()));
            tables.insert("gpu_slice_detail", row.into_iter().chain(names).collect());
        }
        for (slice, buffer, submission) in &self.vulkan.others {
            let mut row = vec![Value::Null; 13];
            row[0] = id(*slice);
            row[4] = number(*buffer);
            row[5] = number(*submission);
            tables.insert("gpu_slice_detail", row);
        }
    }

    /// GP12, M14, M15
    fn gpu_rows(&mut self, tables: &mut Tables) {
        const APIS: &str = "UNDEFINED OPEN_GL VULKAN OPEN_CL CUDA HIP";
        for (place, (machine, handle, entry)) in self.stages.contexts.iter().enumerate() {
            let api = entry.number(3).map(|api| {
                let api = APIS.split(' ').nth(api as u32 as usize);
                api.unwrap_or("UNDEFINED")
            });
            let pid = entry.has(2).then(|| entry.id(2));
            let handle = Value::Integer(handle.cast_signed());
            let row = vec![id(place), handle, number(pid), text(api), id(*machine)];
            tables.insert("gpu_context", row);
        }
        for (place, row) in self.counter_groups().into_iter().enumerate() {
            let row = vec![
                id(place),
                Value::Integer(row.group),
                id(row.track),
                text(row.name.as_deref()),
                text(row.description.as_deref()),
            ];
            tables.insert("gpu_counter_group", row);
        }
        for (place, allocation) in self.vulkan.allocations.iter().enumerate() {
            let args = tables.args(&allocation.args);
            let event = &allocation.event;
            let whole = |field| number(event.number(field).map(u64::cast_signed));
            let small = |field| number(event.has(field).then(|| event.id(field)));
            let row = vec![
                id(place),
                args,
                text(allocation.source()),
                text(allocation.operation()),
                Value::Integer(allocation.time),
                id(allocation.process),
                whole(16),
                whole(17),
                small(18),
                small(19),
                text(allocation.function.as_deref()),
                whole(20),
                whole(5),
                whole(6),
                text(allocation.scope()),
            ];
            tables.insert("vulkan_memory_allocations", row);
        }
    }

    fn counter_rows(&mut self, tables: &mut Tables) {
        for counter in &self.counters.0 {
            let args = tables.args(&counter.args);
            let track = counter.settled(&self.processes);
            let track = self.slices.tracks.find(&track);
            self.slices.tracks.0[track].is_counter = true;
            let row = vec![
                id(track),
                Value::Integer(counter.time),
                Value::Real(counter.value),
                args,
                text(counter.is_doubtful.then_some("packets_lost")),
            ];
            tables.insert("counter", row);
        }
    }

    fn machine_of(&self, of: TrackOwner) -> usize {
        match of {
            TrackOwner::Machine(machine)
            | TrackOwner::Cpu(machine, _)
            | TrackOwner::Gpu(machine, _) => machine,
            TrackOwner::Process(upid) | TrackOwner::ProcessOnGpu(upid, _) => {
                self.processes.processes[upid].machine
            }
            TrackOwner::Thread(utid) => self.processes.threads[utid].machine,
        }
    }

    fn track_rows(&self, tables: &mut Tables) {
        for (place, row) in self.slices.tracks.0.iter().enumerate() {
            let Track { kind, of, unit, .. } = &row.track;
            let name = self.stages.name_of(&row.track);
            let mut dimensions = dimensions::dimensions(&row.track);
            let more = self.dimensions.get(&place).cloned().unwrap_or_default();
            dimensions.all.extend(more.all);
            let dimensions = tables.args(&dimensions);
            let mut source = row.source.clone();
            dimensions::source(&row.track, &mut source);
            self.stages.describe(&row.track, &mut source);
            let source = tables.args(&source);
            let (name, machine) = (text(name.as_deref()), id(self.machine_of(*of)));
            let kind = text(Some(kind));
            if row.is_counter {
                let unit = text(unit.as_deref());
                let description = dimensions::description(&row.track);
                let description = row.track.description.0.clone().or(description);
                let description = text(description.as_deref());
                let (name, kind, machine) = (name.clone(), kind.clone(), machine.clone());
                let row = vec![id(place), name, kind, unit, description, machine];
                tables.insert("counter_track", row);
            }
            let parent = reference(row.parent);
            tables
                .insert("track", vec![id(place), name, kind, machine, parent, dimensions, source]);
            // U7
            if !row.track.kind.ends_with("_state_track_event") {
                owner_row(tables, place, *of, row.is_counter);
            }
        }
    }
}

/// The table of the tracks of one thread, process, cpu or GPU.
fn owner_row(tables: &Tables, place: usize, of: TrackOwner, is_counter: bool) {
    let found = match of {
        TrackOwner::Machine(_) => Vec::new(),
        TrackOwner::Thread(utid) => vec![("thread", id(utid))],
        TrackOwner::Process(upid) => vec![("process", id(upid))],
        TrackOwner::Cpu(_, cpu) => vec![("cpu", integer(cpu))],
        TrackOwner::Gpu(_, gpu) => vec![("gpu", integer(gpu))],
        TrackOwner::ProcessOnGpu(upid, gpu) => vec![("process", id(upid)), ("gpu", integer(gpu))],
    };
    for (owner, value) in found {
        let kind = if is_counter { "counter_track" } else { "track" };
        if (owner, is_counter) != ("gpu", false) {
            tables.insert(&format!("{owner}_{kind}"), vec![id(place), value]);
        }
    }
}
