//! Who makes, names, binds and ends processes and threads (rules P10 to P17).

use rustc_hash::FxHashSet;
use timebase_schema::tables::android_log_thread;

use super::tracker::{At, Tracker};
use crate::facts::{Descriptor, Said};
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::{Ftrace, LogLine, Packet};
use crate::world::{Arg, ArgValue, Rank, Upid, Utid};

/// Fields of `FtraceEvent`.
mod event {
    pub const TASK_NEWTASK: u32 = 235;
    pub const TASK_RENAME: u32 = 236;
    pub const SCHED_PROCESS_FREE: u32 = 240;
}

/// Fields of `TracePacket`.
mod packet {
    pub const PROCESS_TREE: u32 = 2;
    pub const PROCESS_STATS: u32 = 9;
    pub const PROCESS_DESCRIPTOR: u32 = 43;
    pub const THREAD_DESCRIPTOR: u32 = 44;
    pub const TRACK_DESCRIPTOR: u32 = 60;
}

const CLONE_THREAD: u64 = 0x10000;

/// The pid of the thread whose children are the kernel's threads.
const KTHREADD: i64 = 2;

/// So many parents a track may have (rule U4).
const MOST_PARENTS: usize = 98;

/// What is known of descriptors.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// Threads and processes that an uuid stands for, and the uuids that were met
    /// (rule P16).
    threads: FxHashSet<Utid>,
    processes: FxHashSet<Upid>,
    met: FxHashSet<(u32, u64)>,
}

impl Tracker for Processes {
    fn ftrace(&mut self, ts: i64, event: &Ftrace<'_>, _emitter: Utid, at: &mut At<'_, '_>) {
        let message = Message(event.message);
        match event.field {
            event::TASK_NEWTASK => newtask(ts, event, message, at),
            event::TASK_RENAME => rename(event.machine, message, at),
            event::SCHED_PROCESS_FREE => {
                let pid = message.small(2).unwrap_or(0).into();
                let threads = &mut at.world.threads;
                if let Some(utid) = threads.live(event.machine, pid) {
                    threads.ends(ts, utid);
                }
            }
            _ => {}
        }
    }

    fn packet(&mut self, _ts: i64, packet: &Packet<'_>, at: &mut At<'_, '_>) {
        let (machine, message) = (packet.machine, Message(packet.payload));
        match packet.field {
            packet::PROCESS_TREE => process_tree(machine, message, at),
            packet::PROCESS_STATS => process_stats(machine, message, at),
            packet::PROCESS_DESCRIPTOR => process_descriptor(machine, message, at),
            packet::THREAD_DESCRIPTOR if packet.valid => {
                thread_descriptor(machine, message, false, at)
            }
            packet::TRACK_DESCRIPTOR => self.track_descriptor(machine, message, at),
            _ => {}
        }
    }

    fn log_line(&mut self, line: &LogLine, at: &mut At<'_, '_>) {
        let (tid, pid) = (line.tid.into(), line.pid.into());
        let utid = at.world.threads.bind(line.machine, tid, pid);
        at.rows.push(android_log_thread::Row {
            id: Cell::from(line.row),
            utid: Cell::from(utid.0),
        });
    }
}

/// Rule P10.
fn newtask(ts: i64, event: &Ftrace<'_>, message: Message<'_>, at: &mut At<'_, '_>) {
    let pid = i64::from(message.small(1).unwrap_or(0));
    if pid == 0 {
        return;
    }
    let (machine, maker) = (event.machine, event.tid.into());
    let name = message.bytes(2);
    let name = name.map(|name| at.world.facts.names.number(name));
    let threads = &mut at.world.threads;
    if message.number(3).unwrap_or(0) & CLONE_THREAD == 0 {
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

/// Rules P12 and P13, of `task_rename`.
fn rename(machine: u32, message: Message<'_>, at: &mut At<'_, '_>) {
    let pid = message.small(1).unwrap_or(0).into();
    let threads = &mut at.world.threads;
    let utid = threads.thread(machine, pid);
    if let Some(name) = message.bytes(3) {
        let name = at.world.facts.names.number(name);
        threads.name_thread(utid, name);
        if let Some(upid) = threads.main_of(utid) {
            threads.name_process(upid, Rank::Fourth, name);
        }
    }
}

/// Rule P14.
fn process_tree(machine: u32, message: Message<'_>, at: &mut At<'_, '_>) {
    let mut kernel = Vec::new();
    for process in message.messages(1) {
        let pid = i64::from(process.small(1).unwrap_or(0));
        let parent = i64::from(process.small(2).unwrap_or(0));
        let cmdline: Vec<_> = process.each(3).map(String::from_utf8_lossy).collect();
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
        let uid = process.small(5).map(i64::from);
        threads.runs_as(upid, uid, Some(&joined));
        if process.flag(9) {
            let utid = threads.thread(machine, pid);
            threads.call_thread(utid, Rank::Second, &joined);
        }
        if let Some(start) = process
            .number(7)
            .and_then(|start| i64::try_from(start).ok())
        {
            threads.starts(upid, start);
        }
        if process.number(8).is_some() {
            let arg = Arg::new("is_kthread", ArgValue::Bool(process.flag(8)));
            let set = at.world.args.number(&[arg], &mut at.world.strings, at.rows);
            at.world.threads.set_process_args(upid, set);
        }
    }
    for thread in message.messages(2) {
        let tid = i64::from(thread.small(1).unwrap_or(0));
        let tgid = i64::from(thread.small(3).unwrap_or(0));
        let threads = &mut at.world.threads;
        threads.bind(machine, tid, tgid);
        if let Some(name) = thread.text(2) {
            let name = match tid == tgid && kernel.contains(&tid) {
                true => worker(&name),
                false => &name,
            };
            let utid = threads.thread(machine, tid);
            threads.call_thread(utid, Rank::Second, name);
        }
    }
}

/// The name of a kernel's worker, without what it works on.
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

/// Rule P15.
fn process_stats(machine: u32, message: Message<'_>, at: &mut At<'_, '_>) {
    const EARLY: std::ops::RangeInclusive<u32> = 12..=14;
    let threads = &mut at.world.threads;
    for process in message.messages(1) {
        let pid = process.small(1).unwrap_or(0).into();
        for _ in process.fields().filter(|(field, _)| EARLY.contains(field)) {
            threads.process(machine, pid);
        }
    }
    for process in message.messages(1) {
        let pid = process.small(1).unwrap_or(0).into();
        for (field, value) in process.fields() {
            match (field, value) {
                (1, _) => {}
                (11, timebase_wire::field::Value::Bytes(thread)) => {
                    let tid = Message(thread).small(1).unwrap_or(0).into();
                    threads.bind(machine, tid, pid);
                }
                _ => {
                    threads.process(machine, pid);
                }
            }
        }
    }
}

/// What a `ProcessDescriptor` says each time (rules P16, J5).
fn process_descriptor(machine: u32, message: Message<'_>, at: &mut At<'_, '_>) {
    let threads = &mut at.world.threads;
    let upid = threads.process(machine, message.small(1).unwrap_or(0).into());
    if let Some(name) = message.text(6).filter(|name| !name.is_empty()) {
        threads.call_process(upid, Rank::Second, &name);
    }
    let start = message.number(7).map(|start| start as i64);
    if let Some(start) = start.filter(|&start| start > 0) {
        threads.starts(upid, start);
    }
}

/// What a `ThreadDescriptor` says each time (rules P16, J5).
fn thread_descriptor(machine: u32, message: Message<'_>, is_sandboxed: bool, at: &mut At<'_, '_>) {
    let threads = &mut at.world.threads;
    let (pid, tid) = thread_ids(message, is_sandboxed);
    let utid = threads.bind(machine, tid, pid);
    if let Some(name) = message.text(5).filter(|name| !name.is_empty()) {
        threads.call_thread(utid, Rank::Fourth, &name);
    }
}

/// The pid and the tid of a `ThreadDescriptor`, which are signed (rule J2).
fn thread_ids(message: Message<'_>, is_sandboxed: bool) -> (i64, i64) {
    let pid = i64::from(message.small(1).unwrap_or(0) as i32);
    let tid = message.number(2).unwrap_or(0) as i64;
    match is_sandboxed {
        true => (pid, (pid << 32).wrapping_add(tid)), // J7
        false => (pid, tid),
    }
}

/// What a `TrackDescriptor` says; `None` where it is ignored (rule U2).
pub(crate) fn describes(message: Message<'_>) -> Option<(u64, Descriptor)> {
    const ORDERINGS: u64 = 3;
    let uuid = message.number(1)?;
    if message.number(11).is_some_and(|order| order > ORDERINGS) {
        return None;
    }
    let said = if let Some(thread) = message.bytes(4).map(Message) {
        thread.number(1).and(thread.number(2))?;
        let (pid, tid) = thread_ids(thread, is_sandboxed(message));
        Said::Thread { pid, tid }
    } else if let Some(process) = message.bytes(3).map(Message) {
        let pid = process.small(1)?.into();
        Said::Process { pid }
    } else {
        Said::Nobody
    };
    let parent = message.number(5).filter(|&parent| parent != 0);
    Some((uuid, Descriptor { said, parent }))
}

fn is_sandboxed(message: Message<'_>) -> bool {
    message
        .bytes(7)
        .is_some_and(|thread| Message(thread).flag(3))
}

impl Processes {
    /// Rule P16.
    fn track_descriptor(&mut self, machine: u32, message: Message<'_>, at: &mut At<'_, '_>) {
        let Some((uuid, descriptor)) = describes(message) else {
            return;
        };
        if !descriptor.is_ignored(uuid) && !self.meet(machine, uuid, at) {
            return;
        }
        if let Some(thread) = message.bytes(4) {
            thread_descriptor(machine, Message(thread), is_sandboxed(message), at);
        } else if let Some(process) = message.bytes(3) {
            process_descriptor(machine, Message(process), at);
        }
    }

    /// An uuid is met, its parents first; tells whether it has a track (rule U4).
    fn meet(&mut self, machine: u32, uuid: u64, at: &mut At<'_, '_>) -> bool {
        let mut chain = vec![uuid];
        let mut next = uuid;
        loop {
            let Some(descriptor) = at.world.facts.descriptors.get(&(machine, next)) else {
                return false;
            };
            match descriptor.parent {
                Some(parent) if chain.len() <= MOST_PARENTS && !chain.contains(&parent) => {
                    chain.push(parent);
                    next = parent;
                }
                Some(_) => return false,
                None => break,
            }
        }
        for &uuid in chain.iter().rev() {
            self.settle(machine, uuid, at);
        }
        true
    }

    /// Settles what an uuid stands for, once.
    fn settle(&mut self, machine: u32, uuid: u64, at: &mut At<'_, '_>) {
        if !self.met.insert((machine, uuid)) {
            return;
        }
        let descriptor = at.world.facts.descriptors.get(&(machine, uuid));
        let Some(&Descriptor { said, .. }) = descriptor else {
            return;
        };
        let threads = &mut at.world.threads;
        match said {
            Said::Thread { pid, tid } => {
                let mut utid = threads.bind(machine, tid, pid);
                if self.threads.contains(&utid) {
                    threads.reuse(machine, tid);
                    utid = threads.bind(machine, tid, pid);
                }
                self.threads.insert(utid);
            }
            Said::Process { pid } => {
                let mut upid = threads.process(machine, pid);
                if self.processes.contains(&upid) {
                    (upid, _) = threads.fork(None, machine, pid, None);
                }
                self.processes.insert(upid);
            }
            Said::Nobody => {}
        }
    }
}
