//! The events that create, name, bind and end processes and threads (rules P10 to P17, GK5).

use timebase_schema::fields::{
    chrome_active_processes as active, chrome_process_descriptor as chrome_process,
    chrome_thread_descriptor as chrome_thread, ftrace_event as event,
    generic_kernel_process_tree as generic, generic_kernel_process_tree_process as generic_process,
    generic_kernel_process_tree_thread as generic_thread,
    generic_kernel_task_rename_event as generic_rename, process_descriptor as described,
    process_stats as stats, process_stats_process as process_of_stats,
    process_stats_thread as thread_of_stats, process_tree as tree, process_tree_process as process,
    process_tree_thread as thread, sched_process_free_ftrace_event as free,
    task_newtask_ftrace_event as newtask, task_rename_ftrace_event as rename,
    thread_descriptor as described_thread, trace_packet as packet,
};
use timebase_schema::tables::android_log_thread;

use super::chrome_names;
use super::events::Events;
use super::missing_processes::MissingProcesses;
use super::tracker::{Tracker, TrackerContext};
use crate::arguments::ArgValue;
use crate::definitions::{
    Descriptor, chrome_process_of, chrome_thread_of, is_sandboxed, process_of, thread_ids,
    thread_of,
};
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::{FtraceEvent, LogLine, PacketEvent};
use crate::world::{Rank, ThreadNumbers, Threads, Upid, Utid};

/// Whether packets with this payload only describe tracks, processes and threads, so that no other tracker reads them.
pub(super) fn describes(field: u32) -> bool {
    matches!(
        field,
        packet::PROCESS_DESCRIPTOR | packet::THREAD_DESCRIPTOR | packet::TRACK_DESCRIPTOR
    )
}

const CLONE_THREAD: u64 = 0x10000;

/// The pid of the thread whose children are the kernel's threads.
const KTHREADD: i64 = 2;

/// Follows processes and threads. Their state is in the world.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    missing: MissingProcesses,
}

impl Processes {
    /// The kernel events that it takes.
    pub const EVENTS: Events =
        Events::new(&[event::TASK_NEWTASK, event::TASK_RENAME, event::SCHED_PROCESS_FREE]);
}

impl Tracker for Processes {
    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        _emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(event.message);
        match event.field {
            event::TASK_NEWTASK => newtask(ts, event, message, at),
            event::TASK_RENAME => {
                let pid = message.small(rename::PID).unwrap_or(0).into();
                rename(event.machine, pid, message.bytes(rename::NEWCOMM), at);
            }
            event::SCHED_PROCESS_FREE => {
                let pid = message.small(free::PID).unwrap_or(0).into();
                let threads = &mut at.world.threads;
                if let Some(utid) = threads.live(event.machine, pid) {
                    threads.ends(ts, utid);
                }
            }
            _ => {}
        }
    }

    fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let (machine, message) = (packet.machine, Message(packet.payload));
        match packet.field {
            packet::PROCESS_TREE => {
                at.world.namespaces.read(machine, message);
                process_tree(machine, message, at);
            }
            packet::PROCESS_STATS => process_stats(machine, message, at),
            packet::PROCESS_DESCRIPTOR => {
                let upid = process_descriptor(packet, message, at);
                self.missing.described(ts, upid);
            }
            packet::THREAD_DESCRIPTOR if packet.valid => {
                thread_descriptor(packet, message, false, at);
            }
            packet::TRACK_DESCRIPTOR => {
                if let Some(upid) = track_descriptor(packet, message, at) {
                    self.missing.described(ts, upid);
                }
            }
            packet::TRACK_EVENT => {
                for pid in message.numbers(active::PID) {
                    let upid = at.world.threads.process(machine, i64::from(pid as u32));
                    self.missing.active(ts, machine, upid);
                }
            }
            packet::GENERIC_KERNEL_TASK_RENAME_EVENT => {
                let tid = message.number(generic_rename::TID).unwrap_or(0) as i64;
                rename(machine, tid, message.bytes(generic_rename::COMM), at);
            }
            packet::GENERIC_KERNEL_PROCESS_TREE => generic_process_tree(machine, message, at),
            _ => {}
        }
    }

    fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        self.missing.end(at.rows);
    }

    fn log_line(&mut self, line: &LogLine, at: &mut TrackerContext<'_, '_>) {
        let (tid, pid) = (line.tid.into(), line.pid.into());
        let utid = at.world.threads.bind(line.machine, tid, pid);
        at.rows
            .push(android_log_thread::Row { id: Cell::from(line.row), utid: Cell::from(utid.0) });
    }
}

/// A task creates another one (rule P10).
fn newtask(
    ts: i64,
    event: &FtraceEvent<'_>,
    message: Message<'_>,
    at: &mut TrackerContext<'_, '_>,
) {
    let pid = i64::from(message.small(newtask::PID).unwrap_or(0));
    if pid == 0 {
        return;
    }
    let (machine, maker) = (event.machine, event.tid.into());
    let name = message.bytes(newtask::COMM);
    let name = name.map(|name| at.world.definitions.names.number(name));
    let threads = &mut at.world.threads;
    if message.number(newtask::CLONE_FLAGS).unwrap_or(0) & CLONE_THREAD == 0 {
        let (upid, _) = threads.fork(Some(ts), machine, pid, name);
        let maker = threads.thread(machine, maker);
        threads.child_of(upid, maker);
    } else {
        let maker = threads.thread(machine, maker);
        let utid = threads.clone_of(ts, machine, pid, maker);
        if let Some(name) = name {
            threads.name_thread(utid, name);
        }
    }
}

/// The kernel renames a thread (rules P12, P13 and GK5).
fn rename(machine: u32, tid: i64, name: Option<&[u8]>, at: &mut TrackerContext<'_, '_>) {
    let threads = &mut at.world.threads;
    let utid = threads.thread(machine, tid);
    if let Some(name) = name {
        let name = at.world.definitions.names.number(name);
        threads.name_thread(utid, name);
        if let Some(upid) = threads.main_of(utid) {
            threads.name_process(upid, Rank::Fourth, name);
        }
    }
}

/// The process tree of Linux (rule P14).
fn process_tree(machine: u32, message: Message<'_>, at: &mut TrackerContext<'_, '_>) {
    let mut kernel = Vec::new();
    for process in message.messages(tree::PROCESSES) {
        let pid = i64::from(process.small(process::PID).unwrap_or(0));
        let parent = i64::from(process.small(process::PPID).unwrap_or(0));
        let cmdline: Vec<_> = process.each(process::CMDLINE).map(String::from_utf8_lossy).collect();
        let Some(first) = cmdline.first() else {
            continue;
        };
        if parent == KTHREADD {
            kernel.push(pid);
        }
        let (mut argv0, mut joined) = (&**first, cmdline.join(" "));
        if parent == KTHREADD && worker(argv0) != argv0 {
            argv0 = worker(argv0);
            argv0.clone_into(&mut joined);
        }
        if cmdline.len() == 1 {
            argv0 = argv0.split(' ').next().unwrap_or_default();
        }

        let threads = &mut at.world.threads;
        let parent = threads.process(machine, parent);
        let upid = threads.process(machine, pid);
        threads.set_parent(upid, parent);
        threads.call_process(upid, Rank::Fourth, argv0);
        let uid = process.small(process::UID).map(i64::from);
        threads.runs_as(upid, uid, Some(&joined));
        if process.flag(process::CMDLINE_IS_COMM) {
            let utid = threads.thread(machine, pid);
            threads.call_thread(utid, Rank::Second, &joined);
        }
        if let Some(start) = process
            .number(process::PROCESS_START_FROM_BOOT)
            .and_then(|start| i64::try_from(start).ok())
        {
            threads.starts(upid, start);
        }
        if process.number(process::IS_KTHREAD).is_some() {
            let is_kthread = ArgValue::Bool(process.flag(process::IS_KTHREAD));
            if let Some(args) = at.world.threads.process_args(upid) {
                args.push("is_kthread", is_kthread, &mut at.world.definitions.names);
            }
        }
    }
    for thread in message.messages(tree::THREADS) {
        let tid = i64::from(thread.small(thread::TID).unwrap_or(0));
        let tgid = i64::from(thread.small(thread::TGID).unwrap_or(0));
        let threads = &mut at.world.threads;
        threads.bind(machine, tid, tgid);
        if let Some(name) = thread.text(thread::NAME) {
            let name = match tid == tgid && kernel.contains(&tid) {
                true => worker(&name),
                false => &name,
            };
            let utid = threads.thread(machine, tid);
            threads.call_thread(utid, Rank::Second, name);
        }
    }
}

/// The process tree of a kernel that is not Linux (rule GK5).
fn generic_process_tree(machine: u32, message: Message<'_>, at: &mut TrackerContext<'_, '_>) {
    let threads = &mut at.world.threads;
    let number = |of: Message<'_>, field| of.number(field).unwrap_or(0) as i64;
    for process in message.messages(generic::PROCESSES) {
        let Some(cmdline) = process.text(generic_process::CMDLINE) else {
            continue;
        };
        let parent = threads.process_alone(machine, number(process, generic_process::PPID));
        let upid = threads.process_alone(machine, number(process, generic_process::PID));
        threads.set_parent(upid, parent);
        let name = cmdline.split(' ').next().unwrap_or_default();
        threads.call_process(upid, Rank::Fourth, name);
        threads.runs_as(upid, None, Some(&cmdline));
    }
    for thread in message.messages(generic::THREADS) {
        let upid = threads.process_alone(machine, number(thread, generic_thread::PID));
        let utid = threads.bind_one(machine, number(thread, generic_thread::TID), upid);
        threads.set_roles(
            utid,
            thread.flag(generic_thread::IS_MAIN_THREAD),
            thread.flag(generic_thread::IS_IDLE),
        );
        if let Some(name) = thread.text(generic_thread::COMM) {
            threads.call_thread(utid, Rank::Second, &name);
        }
    }
}

/// The name of a kernel's worker, without its work.
fn worker(name: &str) -> &str {
    const WORKER: &str = "kworker/";
    let Some(rest) = name.strip_prefix(WORKER) else {
        return name;
    };
    match rest.find(['+', '-']) {
        Some(at) => &name[..WORKER.len() + at],
        None => name,
    }
}

/// The statistics of processes, which name their threads (rule P15).
fn process_stats(machine: u32, message: Message<'_>, at: &mut TrackerContext<'_, '_>) {
    const EARLY: [u32; 3] = [
        process_of_stats::IS_PEAK_RSS_RESETTABLE,
        process_of_stats::CHROME_PRIVATE_FOOTPRINT_KB,
        process_of_stats::CHROME_PEAK_RESIDENT_SET_KB,
    ];
    let threads = &mut at.world.threads;
    for process in message.messages(stats::PROCESSES) {
        let pid = process.small(process_of_stats::PID).unwrap_or(0).into();
        for _ in process.fields().filter(|(field, _)| EARLY.contains(field)) {
            threads.process(machine, pid);
        }
    }
    for process in message.messages(stats::PROCESSES) {
        let pid = process.small(process_of_stats::PID).unwrap_or(0).into();
        for (field, value) in process.fields() {
            match (field, value) {
                (process_of_stats::PID, _) => {}
                (process_of_stats::THREADS, timebase_descriptor::field::Value::Bytes(thread)) => {
                    let tid = Message(thread).small(thread_of_stats::TID).unwrap_or(0).into();
                    threads.bind(machine, tid, pid);
                }
                _ => {
                    threads.process(machine, pid);
                }
            }
        }
    }
}

/// Applies a `ProcessDescriptor`, each time that it occurs (rules P16, J5).
fn process_descriptor(
    packet: &PacketEvent<'_>,
    message: Message<'_>,
    at: &mut TrackerContext<'_, '_>,
) -> Upid {
    let machine = packet.machine;
    let pid = message.small(described::PID).unwrap_or(0).into();
    let pid = at.world.process_outside(machine, packet.trusted_pid, pid);
    let threads = &mut at.world.threads;
    let upid = threads.process(machine, pid);
    if let Some(name) = message.text(described::PROCESS_NAME).filter(|name| !name.is_empty()) {
        threads.call_process(upid, Rank::Second, &name);
    }
    if let Some(kind) = message.small(described::CHROME_PROCESS_TYPE) {
        is_of_type(upid, kind, threads);
    }
    let start = message.number(described::START_TIMESTAMP_NS).map(|start| start as i64);
    if let Some(start) = start.filter(|&start| start > 0) {
        threads.starts(upid, start);
    }
    // J6
    let labels = (0..).zip(message.each(described::PROCESS_LABELS).map(String::from_utf8_lossy));
    if let Some(args) = threads.process_args(upid) {
        for (index, label) in labels {
            let names = &mut at.world.definitions.names;
            args.push_listed("chrome.process_label", index, ArgValue::Text(&label), names);
        }
    }
    upid
}

/// Names a process by its type (rule J8).
fn is_of_type(upid: Upid, kind: u32, threads: &mut Threads) {
    let rank = match chrome_names::is_renderer(kind) {
        true => Rank::Third,
        false => Rank::Kernel,
    };
    if let Some(name) = chrome_names::of_process(kind) {
        threads.call_process(upid, rank, name);
    }
}

/// Applies a `ChromeProcessDescriptor` (rule J8).
fn chrome_process(upid: Upid, message: Message<'_>, at: &mut TrackerContext<'_, '_>) {
    let (threads, names) = (&mut at.world.threads, &mut at.world.definitions.names);
    let kind = message.small(chrome_process::PROCESS_TYPE).unwrap_or(0);
    is_of_type(upid, kind, threads);
    let Some(args) = threads.process_args(upid) else {
        return;
    };
    let kind = chrome_names::of_process(kind).map_or(ArgValue::NoText, ArgValue::Text);
    args.push("chrome.process_type", kind, names);
    if let Some(package) = message.text(chrome_process::HOST_APP_PACKAGE_NAME) {
        let package = ArgValue::Text(&package);
        args.push("chrome.host_app_package_name", package, names);
    }
    if let Some(id) = message.number(chrome_process::CRASH_TRACE_ID) {
        args.push("chrome.crash_trace_id", ArgValue::Uint(id), names);
    }
}

/// Applies a `ThreadDescriptor`, each time that it occurs (rules P16, J5, J9).
fn thread_descriptor(
    packet: &PacketEvent<'_>,
    message: Message<'_>,
    is_sandboxed: bool,
    at: &mut TrackerContext<'_, '_>,
) -> Utid {
    let (pid, tid) = thread_ids(message, is_sandboxed);
    let machine = packet.machine;
    let (pid, tid) = at.world.thread_outside(ThreadNumbers {
        machine,
        trusted_pid: packet.trusted_pid,
        pid,
        tid,
    });
    let threads = &mut at.world.threads;
    let utid = threads.bind(machine, tid, pid);
    let name = message.text(described_thread::THREAD_NAME).filter(|name| !name.is_empty());
    if let Some(name) = name {
        threads.call_thread(utid, Rank::Fourth, &name);
    } else if let Some(name) =
        message.small(described_thread::CHROME_THREAD_TYPE).and_then(chrome_names::of_thread)
    {
        threads.call_thread(utid, Rank::Fourth, name);
    }
    utid
}

/// Applies a `TrackDescriptor` (rule P16). Returns the process that it describes, if there is one.
fn track_descriptor(
    packet: &PacketEvent<'_>,
    message: Message<'_>,
    at: &mut TrackerContext<'_, '_>,
) -> Option<Upid> {
    let (uuid, descriptor) = Descriptor::read(message, packet.trusted_pid).ok()?;
    let is_ignored = uuid == 0 && descriptor.more().parent.is_some();
    if !is_ignored {
        let uuid = at.world.definitions.uuids.number(at.world.part.part, uuid);
        if !at.world.meet(uuid, packet.id) {
            return None;
        }
    }
    if let Some(thread) = thread_of(message) {
        let utid = thread_descriptor(packet, thread, is_sandboxed(message), at);
        // J9
        let kind =
            chrome_thread_of(message).and_then(|thread| thread.small(chrome_thread::THREAD_TYPE));
        if let Some(name) = kind.and_then(chrome_names::of_thread) {
            at.world.threads.call_thread(utid, Rank::Third, name);
        }
        return None;
    }
    let upid = process_descriptor(packet, process_of(message)?, at);
    if let Some(process) = chrome_process_of(message) {
        chrome_process(upid, process, at);
    }
    Some(upid)
}
