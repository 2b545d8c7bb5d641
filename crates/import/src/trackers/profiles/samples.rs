//! Samples of all sources, with their sessions, tasks, executions and asynchronous contexts.
//!
//! A sample becomes a row at once. Its session, task, execution and context stay in memory to the end, each
//! different one once. Each of them knows whether a sample with a callstack refers to it, because the views
//! of `stack_sample` have no others.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use timebase_schema::tables::{
    stack_sample_async_record, stack_sample_counter_track_record, stack_sample_execution_record,
    stack_sample_record, stack_sample_session_record, stack_sample_source,
    stack_sample_task_record,
};

use super::callstacks::CallsiteId;
use crate::definitions::Names;
use crate::output::{Cell, Rows};
use crate::timeline::Name;
use crate::trackers::tracker::TrackerContext;
use crate::world::{TrackId, Upid, Utid};

/// The sources that have views, by their rows in `stack_sample_source`.
const SOURCES: [&str; 6] =
    ["linux.perf", "chrome", "legacy_v8", "gecko", "simpleperf", "perf_text"];

/// A row of `stack_sample_source`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SourceId(u32);

impl SourceId {
    pub const LINUX_PERF: SourceId = SourceId(0);
    pub const CHROME: SourceId = SourceId(1);
    pub const LEGACY_V8: SourceId = SourceId(2);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionId(pub u32);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaskId(u32);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExecutionId(u32);
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct AsyncId(u32);

/// The process, the thread and the asynchronous context of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Task {
    pub upid: Option<Upid>,
    pub utid: Option<Utid>,
    pub of_async: Option<AsyncId>,
}

/// The CPU on which a sample's task was running, and the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Execution {
    pub ucpu: Option<u32>,
    pub mode: Option<&'static str>,
}

#[derive(Debug)]
struct Session {
    source: Option<SourceId>,
    unit: Option<Name>,
    is_sampled: bool,
}

#[derive(Debug)]
struct AsyncContext {
    name: Option<Name>,
    kind: Option<Name>,
    parent: Option<AsyncId>,
    is_sampled: bool,
}

/// A sample.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub source: Option<SourceId>,
    pub task: Option<TaskId>,
    pub execution: Option<ExecutionId>,
    pub callsite: Option<CallsiteId>,
    pub unwind_error: Option<&'static str>,
    pub session: Option<SessionId>,
    pub priority: Option<i32>,
    /// The id of the first value, and the number of values.
    pub values: Option<(i64, u32)>,
}

/// A table of different values, in the order in which they were first met.
#[derive(Debug)]
struct Once<T> {
    numbers: FxHashMap<T, u32>,
    /// Each value, and whether a sample with a callstack refers to it.
    all: Vec<(T, bool)>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once { numbers: FxHashMap::default(), all: Vec::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Once<T> {
    fn number(&mut self, one: T) -> u32 {
        let all = &mut self.all;
        *self.numbers.entry(one).or_insert_with(|| {
            all.push((one, false));
            (all.len() - 1) as u32
        })
    }

    fn refer(&mut self, number: Option<u32>) {
        let known = number.and_then(|number| self.all.get_mut(number as usize));
        if let Some((_, is_sampled)) = known {
            *is_sampled = true;
        }
    }
}

/// All samples.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Further sources, by name.
    sources: Once<Name>,
    /// Whether each of [`SOURCES`] is used.
    used: [bool; SOURCES.len()],
    sessions: Vec<Session>,
    tasks: Once<Task>,
    executions: Once<Execution>,
    async_contexts: Vec<AsyncContext>,
    sampled_tracks: BTreeSet<TrackId>,
    /// The tracks of the values of the current sample.
    tracks: Vec<TrackId>,
}

impl Samples {
    /// The number of a source's row.
    pub fn source(&mut self, name: Name, names: &Names) -> SourceId {
        let text = names.text(name);
        let known = SOURCES.iter().position(|source| *source == text);
        let number = known
            .unwrap_or_else(|| (self.sources.number(name) as usize).saturating_add(SOURCES.len()));
        SourceId(number as u32)
    }

    /// Adds a session.
    pub fn session(&mut self, source: Option<SourceId>) -> SessionId {
        self.uses(source);
        self.sessions.push(Session { source, unit: None, is_sampled: false });
        SessionId((self.sessions.len() - 1) as u32)
    }

    fn uses(&mut self, source: Option<SourceId>) {
        let used = source.and_then(|source| self.used.get_mut(source.0 as usize));
        if let Some(used) = used {
            *used = true;
        }
    }

    /// Sets the unit of a session's timebase; the first unit counts.
    pub fn set_unit(&mut self, SessionId(session): SessionId, unit: Name) {
        if let Some(session) = self.sessions.get_mut(session as usize) {
            session.unit.get_or_insert(unit);
        }
    }

    pub fn task(&mut self, task: Task) -> TaskId {
        TaskId(self.tasks.number(task))
    }

    pub fn execution(&mut self, execution: Execution) -> ExecutionId {
        ExecutionId(self.executions.number(execution))
    }

    /// Adds an asynchronous context.
    pub fn async_context(
        &mut self,
        name: Option<Name>,
        kind: Option<Name>,
        parent: Option<AsyncId>,
    ) -> AsyncId {
        self.async_contexts.push(AsyncContext { name, kind, parent, is_sampled: false });
        AsyncId((self.async_contexts.len() - 1) as u32)
    }

    /// Writes a value of the next sample as a row.
    pub fn value(
        &mut self,
        (ts, value): (i64, u64),
        track: TrackId,
        values: &mut Option<(i64, u32)>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let measurement = at.world.sample(ts);
        let (_, count) = values.get_or_insert((measurement.id(), 0));
        *count = count.saturating_add(1);
        measurement.complete(track, value as f64, None, at.rows);
        self.tracks.push(track);
    }

    /// Writes a sample as a row.
    pub fn add(&mut self, ts: i64, sample: &Sample, at: &mut TrackerContext<'_, '_>) {
        self.uses(sample.source);
        if sample.callsite.is_some() {
            self.refer(sample);
        }
        self.tracks.clear();
        let id = at.rows.count(&stack_sample_record::TABLE);
        let unwind_error = at.rows.optional_text(sample.unwind_error);
        let (counter_id, counters) = sample.values.unzip();
        at.rows.push(stack_sample_record::Row {
            id: Cell::from(id),
            ts: Cell::from(ts),
            source: Cell::or_null(sample.source.map(|source| source.0)),
            task_id: Cell::or_null(sample.task.map(|task| task.0)),
            execution_id: Cell::or_null(sample.execution.map(|execution| execution.0)),
            callsite_id: Cell::or_null(sample.callsite.map(|callsite| callsite.0)),
            unwind_error,
            session_id: Cell::or_null(sample.session.map(|session| session.0)),
            process_priority: Cell::or_null(sample.priority),
            counter_id: Cell::or_null(counter_id),
            counters: Cell::or_null(counters),
        });
    }

    /// Notes that a sample with a callstack refers to its task, execution, session and tracks.
    fn refer(&mut self, sample: &Sample) {
        self.tasks.refer(sample.task.map(|task| task.0));
        self.executions.refer(sample.execution.map(|execution| execution.0));
        let session = sample.session.map(|SessionId(session)| session as usize);
        if let Some(session) = session.and_then(|session| self.sessions.get_mut(session)) {
            session.is_sampled = true;
        }
        for &track in &self.tracks {
            self.sampled_tracks.insert(track);
        }
    }

    /// Writes the sessions, tasks, executions and contexts as rows.
    pub fn end(&mut self, names: &Names, rows: &mut Rows<'_>) {
        self.end_sources(names, rows);
        for (id, session) in (0i64..).zip(&self.sessions) {
            let unit = rows.optional_text(session.unit.map(|unit| names.text(unit)));
            rows.push(stack_sample_session_record::Row {
                id: Cell::from(id),
                source: Cell::or_null(session.source.map(|source| source.0)),
                timebase_unit: unit,
                is_sampled: Cell::from(i64::from(session.is_sampled)),
            });
        }
        for (id, (task, is_sampled)) in (0i64..).zip(&self.tasks.all) {
            if *is_sampled {
                let mut next = task.of_async;
                // A parent is older than its children, so the loop ends.
                while let Some(AsyncId(id)) = next
                    && let Some(context) = self.async_contexts.get_mut(id as usize)
                    && !context.is_sampled
                {
                    context.is_sampled = true;
                    next = context.parent;
                }
            }
            rows.push(stack_sample_task_record::Row {
                id: Cell::from(id),
                upid: Cell::or_null(task.upid.map(|Upid(upid)| upid)),
                utid: Cell::or_null(task.utid.map(|Utid(utid)| utid)),
                async_context_id: Cell::or_null(task.of_async.map(|AsyncId(id)| id)),
                is_sampled: Cell::from(i64::from(*is_sampled)),
            });
        }
        for (id, context) in (0i64..).zip(&self.async_contexts) {
            let name = rows.optional_text(context.name.map(|name| names.text(name)));
            let kind = rows.optional_text(context.kind.map(|kind| names.text(kind)));
            rows.push(stack_sample_async_record::Row {
                id: Cell::from(id),
                name,
                kind,
                parent_id: Cell::or_null(context.parent.map(|AsyncId(id)| id)),
                is_sampled: Cell::from(i64::from(context.is_sampled)),
            });
        }
        for (id, (execution, is_sampled)) in (0i64..).zip(&self.executions.all) {
            let cpu_mode = rows.optional_text(execution.mode);
            rows.push(stack_sample_execution_record::Row {
                id: Cell::from(id),
                ucpu: Cell::or_null(execution.ucpu),
                cpu_mode,
                is_sampled: Cell::from(i64::from(*is_sampled)),
            });
        }
        for TrackId(id) in &self.sampled_tracks {
            rows.push(stack_sample_counter_track_record::Row { id: Cell::from(*id) });
        }
    }

    fn end_sources(&self, names: &Names, rows: &mut Rows<'_>) {
        let known = SOURCES.iter().zip(self.used);
        let known = known.map(|(name, is_used)| (*name, is_used));
        let others = self.sources.all.iter();
        let others = others.map(|(name, _)| (names.text(*name), true));
        for (id, (name, is_used)) in (0i64..).zip(known.chain(others)) {
            if is_used {
                let name = rows.text(name);
                rows.push(stack_sample_source::Row { id: Cell::from(id), name });
            }
        }
    }
}
