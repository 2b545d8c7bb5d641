//! Samples of any profiler in the common form: StackSample (rules SS).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    interned_data as interned, stack_sample as field,
    stack_sample_async_context_descriptor as descriptor, stack_sample_defaults as defaults,
    stack_sample_execution_context as execution, stack_sample_task_context as task,
};

use super::callstacks::Callstacks;
use super::counters::{Counters, Measured};
use super::inline::InlineStacks;
use super::packet::{Packet, some_number};
use super::samples::{AsyncId, Execution, Sample, Samples, SessionId, SourceId, Task};
use super::stacks::KnownStacks;
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;
use crate::world::{Upid, Utid, ucpu};

/// The asynchronous contexts of an interval that have a row (rule OP4).
pub(super) type KnownAsync = FxHashMap<u64, AsyncId>;

/// The state that samples of this form share.
#[derive(Debug, Default)]
pub(super) struct StackSamples {
    /// By writer.
    sessions: FxHashMap<u32, SessionId>,
    counters: Counters,
    /// The frames that are in samples themselves (rule SS7).
    inline: InlineStacks,
}

impl StackSamples {
    /// Takes a sample, step by step (rule SS1).
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        (known, contexts): (&mut KnownStacks, &mut KnownAsync),
        (callstacks, samples): (&mut Callstacks, &mut Samples),
        at: &mut TrackerContext<'_, '_>,
    ) {
        let source = source(packet, samples, at);
        let mut upid = None;
        let mut sample = Sample { source, ..Sample::default() };
        if let Some((pid, tid, id)) = task(packet, at) {
            let (process, thread) = mention(pid, tid, packet.writer.machine, at);
            upid = process;
            let of_async = id.and_then(|id| async_context(id, contexts, packet, samples, at));
            sample.task = Some(samples.task(Task { upid: process, utid: thread, of_async }));
        }
        let execution = execution(packet, at);
        sample.execution = execution.map(|execution| samples.execution(execution));
        let session = self.sessions.entry(packet.event.writer);
        let session = *session.or_insert_with(|| samples.session(source));
        sample.session = Some(session);
        let of = Measured { ucpu: execution.and_then(|execution| execution.ucpu), session, source };
        self.counters.measure(packet, of, &mut sample, samples, at);
        let message = packet.message();
        sample.callsite = match message.number(field::CALLSTACK_IID) {
            Some(iid) => known.stack((upid, iid), packet.known(), callstacks, at),
            None => message.bytes(field::CALLSTACK).and_then(|stack| {
                let of = (packet.writer.machine, "stack_sample_inline");
                self.inline.stack(Message(stack), of, callstacks, at)
            }),
        };
        samples.add(packet.ts, &sample, at);
    }
}

/// The profiler that made the sample.
fn source(
    packet: &Packet<'_>,
    samples: &mut Samples,
    at: &mut TrackerContext<'_, '_>,
) -> Option<SourceId> {
    let definitions = &mut at.world.definitions;
    let profiles = &definitions.profiles;
    let defaults = profiles.stack_sample_defaults(packet.event.defaults);
    let name = some_number(defaults?.bytes(defaults::SOURCE), &mut definitions.names)?;
    Some(samples.source(name, &definitions.names))
}

/// A message in the sample, or else an entry of interned data.
fn own_or_interned<T>(
    (own, iid): (u32, u32),
    interned: u32,
    packet: &Packet<'_>,
    at: &mut TrackerContext<'_, '_>,
    read: impl FnOnce(Message<'_>) -> T,
) -> Option<T> {
    let message = packet.message();
    if let Some(own) = message.bytes(own) {
        return Some(read(Message(own)));
    }
    let iid = message.number(iid)?;
    packet.look_up(at.world).entry(interned, iid).map(read)
}

/// The numbers of a task: pid, tid, asynchronous context (rule SS2).
fn task(
    packet: &Packet<'_>,
    at: &mut TrackerContext<'_, '_>,
) -> Option<(Option<u32>, Option<u32>, Option<u64>)> {
    let fields = (field::TASK_CONTEXT, field::TASK_CONTEXT_IID);
    own_or_interned(fields, interned::STACK_SAMPLE_TASK_CONTEXTS, packet, at, |task| {
        (task.small(task::PID), task.small(task::TID), task.number(task::ASYNC_ID))
    })
}

/// The process and the thread of a task (rule SS2).
fn mention(
    pid: Option<u32>,
    tid: Option<u32>,
    machine: u32,
    at: &mut TrackerContext<'_, '_>,
) -> (Option<Upid>, Option<Utid>) {
    let threads = &mut at.world.threads;
    let upid = pid.map(|pid| threads.process(machine, pid.into()));
    let utid = tid.map(|tid| match pid {
        Some(pid) => threads.bind(machine, tid.into(), pid.into()),
        None => threads.thread(machine, tid.into()),
    });
    (upid, utid)
}

/// The asynchronous context for an id, whose row may be new (rule SS3).
fn async_context(
    id: u64,
    known: &mut KnownAsync,
    packet: &Packet<'_>,
    samples: &mut Samples,
    at: &mut TrackerContext<'_, '_>,
) -> Option<AsyncId> {
    let mut look_up = packet.look_up(at.world);
    let mut chain: Vec<(u64, Message<'_>)> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    let mut next = Some(id);
    let mut parent = None;
    while let Some(id) = next.filter(|&id| id != 0) {
        parent = known.get(&id).copied();
        if parent.is_some() || !seen.insert(id) {
            break;
        }
        let Some(descriptor) = look_up.entry(interned::STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTORS, id)
        else {
            break;
        };
        chain.push((id, descriptor));
        next = descriptor.number(descriptor::PARENT_IID);
    }
    for (id, descriptor) in chain.into_iter().rev() {
        let name = some_number(descriptor.bytes(descriptor::NAME), look_up.names);
        let kind = some_number(descriptor.bytes(descriptor::KIND), look_up.names);
        let context = samples.async_context(name, kind, parent);
        known.insert(id, context);
        parent = Some(context);
    }
    parent
}

/// The CPU and the mode in which the task was running (rule SS4).
fn execution(packet: &Packet<'_>, at: &mut TrackerContext<'_, '_>) -> Option<Execution> {
    let fields = (field::EXECUTION_CONTEXT, field::EXECUTION_CONTEXT_IID);
    let (cpu, mode) = own_or_interned(
        fields,
        interned::STACK_SAMPLE_EXECUTION_CONTEXTS,
        packet,
        at,
        |execution| (execution.small(execution::CPU), execution.number(execution::MODE)),
    )?;
    let ucpu = cpu.and_then(|cpu| ucpu(packet.writer.machine, cpu));
    if let Some(ucpu) = ucpu {
        at.world.cpus.see(ucpu);
    }
    let mode = match mode {
        Some(1) => Some("user"),
        Some(2) => Some("kernel"),
        Some(3) => Some("hypervisor"),
        Some(4) => Some("guest_user"),
        Some(5) => Some("guest_kernel"),
        _ => None,
    };
    Some(Execution { ucpu, mode })
}
