//! Finds the thread of a tid and the process of a pid (rules P1 to P13).
//!
//! # Design
//!
//! A trace may have 100,000 threads: each takes 56 bytes, and 5 in the table that finds it by its
//! tid. The threads of one tid are a linked list through the threads themselves, because nearly all
//! tids have one thread. Formerly each tid had a vector, which took 100 bytes more.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::iter::successors;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxHashMap, FxHasher};
use timebase_schema::tables::{process_record, thread_emitting, thread_record};

use crate::arguments::ArgBuf;
use crate::definitions::Names;
use crate::output::{Cell, Rows};
use crate::pieces::Pieces;
use crate::timeline::Name;

/// A row of `thread`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Utid(pub u32);

/// A row of `process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Upid(pub u32);

/// The rank of a name: it replaces a name of the same or a lower rank (rules P12 and P13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    None,
    /// A thread's name in the kernel. A process's name by its type in Chrome.
    Kernel,
    /// A thread's name in the process tree. A process's name in a descriptor or a legacy event.
    Second,
    /// A thread's name in a legacy event, or by its type in Chrome. The name of a process that
    /// shows pages, by its type.
    Third,
    /// A thread's name in a descriptor. A process's name in the process tree, a fork or a rename.
    Fourth,
    /// The name of the idle thread.
    Idle,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Text {
    None,
    Known(Name),
    Own(Box<str>),
}

/// A thread, as far as it is known.
#[derive(Debug)]
struct Thread {
    tid: i64,
    machine: u32,
    upid: Option<Upid>,
    /// An older thread of the tid that may be alive.
    older: Option<Utid>,
    name: Text,
    rank: Rank,
    /// The thread is never found again (rule P5). A thread whose process is not current is dead
    /// too, without this.
    is_dead: bool,
    /// Whether it has a tid; if not, the tid above finds nothing.
    has_tid: bool,
    is_main: bool,
    /// Whether the trace says that an idle CPU runs this thread.
    is_idle: bool,
    start: MaybeTime,
    end: MaybeTime,
}

/// A time that may be unknown, which is `i64::MIN`; no event is at that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MaybeTime(i64);

impl MaybeTime {
    fn get(self) -> Option<i64> {
        Some(self.0).filter(|&ts| ts != i64::MIN)
    }
}

impl From<Option<i64>> for MaybeTime {
    fn from(ts: Option<i64>) -> MaybeTime {
        MaybeTime(ts.unwrap_or(i64::MIN))
    }
}

#[derive(Debug)]
struct Process {
    pid: Option<i64>,
    machine: u32,
    name: Text,
    rank: Rank,
    /// Whether it is the current process of its pid (rule P2).
    is_current: bool,
    start: Option<i64>,
    end: Option<i64>,
    parent: Option<Upid>,
    uid: Option<i64>,
    cmdline: Option<Box<str>>,
    /// Its arguments, in their compact form.
    args: ArgBuf,
}

fn hash(machine: u32, tid: i64) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one((machine, tid))
}

/// The threads and processes that wait until a thread is bound (rule P8).
#[derive(Debug, Default)]
struct Unbound {
    /// Threads that share the thread's process.
    sharing: Vec<Utid>,
    /// Processes whose parent is the thread's process.
    children: Vec<Upid>,
}

/// All threads and processes.
#[derive(Debug)]
pub(crate) struct Threads {
    threads: Pieces<Thread>,
    processes: Vec<Process>,
    /// The newest thread of each tid.
    by_tid: HashTable<Utid>,
    /// The current process of each pid.
    by_pid: FxHashMap<(u32, i64), Upid>,
    unbound: FxHashMap<Utid, Unbound>,
    /// The thread of each tid in the kernel events: the last one in `emitting`, and all changes
    /// with their times in `emitted`.
    emitting: FxHashMap<(u32, i64), Utid>,
    emitted: Vec<(u32, i64, i64, Utid)>,
    /// The arguments of threads.
    args: FxHashMap<Utid, ArgBuf>,
}

impl Threads {
    /// The threads and processes that each machine starts with (rule P3). `has_idle` says for each whether its thread 0
    /// is the idle one (rule JS16).
    pub fn new(has_idle: impl IntoIterator<Item = bool>) -> Self {
        let mut threads = Threads {
            threads: Pieces::default(),
            processes: Vec::new(),
            by_tid: HashTable::new(),
            by_pid: FxHashMap::default(),
            unbound: FxHashMap::default(),
            emitting: FxHashMap::default(),
            emitted: Vec::new(),
            args: FxHashMap::default(),
        };
        for (machine, has_idle) in (0..).zip(has_idle) {
            let upid = threads.process(machine, 0);
            let utid = threads.main_thread(upid);
            if let Some(thread) = utid.and_then(|utid| threads.threads.get_mut(utid.0 as usize))
                && has_idle
            {
                thread.name = Text::Own("swapper".into());
                thread.rank = Rank::Idle;
                thread.is_idle = true;
            }
        }
        threads
    }

    fn main_thread(&self, upid: Upid) -> Option<Utid> {
        let process = self.processes.get(upid.0 as usize)?;
        self.live(process.machine, process.pid?)
    }

    fn get(&self, utid: Utid) -> Option<&Thread> {
        self.threads.get(utid.0 as usize)
    }

    fn get_process(&self, upid: Upid) -> Option<&Process> {
        self.processes.get(upid.0 as usize)
    }

    /// Whether a thread is alive (rule P5).
    #[inline]
    pub fn is_live(&self, utid: Utid) -> bool {
        self.get(utid).is_some_and(|thread| {
            let process = thread.upid.and_then(|upid| self.get_process(upid));
            !thread.is_dead && process.is_none_or(|process| process.is_current)
        })
    }

    /// Whether neither the thread nor its process has ended. A fork that takes its tid does not
    /// count as an end (rule M5).
    pub fn has_not_ended(&self, utid: Utid) -> bool {
        self.get(utid).is_some_and(|thread| {
            let process = thread.upid.and_then(|upid| self.get_process(upid));
            thread.end.get().is_none() && process.is_none_or(|process| process.is_current)
        })
    }

    /// Whether a thread is the idle thread.
    pub fn is_idle(&self, utid: Utid) -> bool {
        self.get(utid).is_some_and(|thread| thread.rank == Rank::Idle)
    }

    /// The name of a thread at this moment.
    pub fn name<'a>(&'a self, utid: Utid, names: &'a Names) -> Option<&'a str> {
        match &self.get(utid)?.name {
            Text::None => None,
            Text::Known(name) => Some(names.text(*name)),
            Text::Own(text) => Some(text),
        }
    }

    /// The process of a thread, once it is known.
    pub fn process_of(&self, utid: Utid) -> Option<Upid> {
        self.get(utid)?.upid
    }

    /// The tid of a thread, and the pid of its process if the process is known by now.
    pub fn ids(&self, utid: Utid) -> (Option<i64>, Option<i64>) {
        let thread = self.get(utid);
        let process = thread.and_then(|thread| self.get_process(thread.upid?));
        let tid = thread.filter(|thread| thread.has_tid).map(|thread| thread.tid);
        (tid, process.and_then(|process| process.pid))
    }

    /// The pid of a process.
    pub fn pid(&self, upid: Upid) -> Option<i64> {
        self.get_process(upid)?.pid
    }

    /// The newest live thread of a tid.
    #[inline]
    pub fn live(&self, machine: u32, tid: i64) -> Option<Utid> {
        self.of_tid(machine, tid).find(|&utid| self.is_live(utid))
    }

    /// The threads of a tid that may be alive, the newest first.
    #[inline]
    fn of_tid(&self, machine: u32, tid: i64) -> impl Iterator<Item = Utid> {
        let is_of = |&utid: &Utid| self.is_of(utid, machine, tid);
        let newest = self.by_tid.find(hash(machine, tid), is_of).copied();
        successors(newest, |&utid| self.get(utid)?.older)
    }

    fn is_of(&self, utid: Utid, machine: u32, tid: i64) -> bool {
        let thread = self.get(utid);
        thread.is_some_and(|thread| (thread.machine, thread.tid) == (machine, tid))
    }

    /// `thread(tid)` of rule P6: the newest live thread, or a new one.
    #[inline]
    pub fn thread(&mut self, machine: u32, tid: i64) -> Utid {
        match self.live(machine, tid) {
            Some(utid) => utid,
            None => self.new_thread(machine, tid, None),
        }
    }

    /// The thread of a kernel event (rule P6), which becomes the event's `utid`.
    #[inline]
    pub fn emitter(&mut self, ts: i64, machine: u32, tid: i64) -> Utid {
        let utid = self.thread(machine, tid);
        self.emits(ts, machine, tid, utid);
        utid
    }

    /// Notes that a kernel event of this tid belongs to this thread.
    #[inline]
    pub fn emits(&mut self, ts: i64, machine: u32, tid: i64, utid: Utid) {
        let before = self.emitting.insert((machine, tid), utid);
        if before != Some(utid) {
            self.emitted.push((machine, tid, ts, utid));
        }
    }

    /// Notes that a kernel event belongs to a thread that is known already.
    #[inline]
    pub fn emits_running(&mut self, ts: i64, utid: Utid) {
        if let Some(&Thread { machine, tid, .. }) = self.get(utid) {
            self.emits(ts, machine, tid, utid);
        }
    }

    fn push_thread(&mut self, machine: u32, tid: Option<i64>, start: Option<i64>) -> Utid {
        let utid = Utid(self.threads.len() as u32);
        self.threads.push(Thread {
            tid: tid.unwrap_or_default(),
            machine,
            upid: None,
            older: None,
            name: Text::None,
            rank: Rank::None,
            is_dead: false,
            has_tid: tid.is_some(),
            is_main: false,
            is_idle: false,
            start: start.into(),
            end: None.into(),
        });
        utid
    }

    fn new_thread(&mut self, machine: u32, tid: i64, start: Option<i64>) -> Utid {
        let older = self.newest_live(machine, tid);
        let utid = self.push_thread(machine, Some(tid), start);
        if let Some(thread) = self.threads.get_mut(utid.0 as usize) {
            thread.older = older;
        }
        let threads = &self.threads;
        let key = |&utid: &Utid| threads.get(utid.0 as usize).map(|of| (of.machine, of.tid));
        let is_of = |other: &Utid| key(other) == Some((machine, tid));
        let rehash = |other: &Utid| key(other).map_or(0, |(machine, tid)| hash(machine, tid));
        match self.by_tid.entry(hash(machine, tid), is_of, rehash) {
            Entry::Occupied(mut newest) => *newest.get_mut() = utid,
            Entry::Vacant(place) => {
                place.insert(utid);
            }
        }
        utid
    }

    /// The newest live thread of a tid. Dead threads leave the tid's list.
    fn newest_live(&mut self, machine: u32, tid: i64) -> Option<Utid> {
        let of_tid: Vec<Utid> = self.of_tid(machine, tid).collect();
        let mut older = None;
        for utid in of_tid.into_iter().rev() {
            if self.is_live(utid)
                && let Some(thread) = self.threads.get_mut(utid.0 as usize)
            {
                thread.older = older;
                older = Some(utid);
            }
        }
        older
    }

    /// Starts a new thread of a tid (rule GK2).
    pub fn begins(&mut self, ts: i64, machine: u32, tid: i64) -> Utid {
        self.new_thread(machine, tid, Some(ts))
    }

    /// A tid was used again (rule P16): adds a new thread of this tid.
    pub fn reuse(&mut self, machine: u32, tid: i64) {
        self.new_thread(machine, tid, None);
    }

    /// `process(pid)` of rule P7: the current process, or a new one with its main thread.
    pub fn process(&mut self, machine: u32, pid: i64) -> Upid {
        if let Some(&upid) = self.by_pid.get(&(machine, pid)) {
            return upid;
        }
        let upid = self.new_process(machine, pid, None);
        self.bind(machine, pid, pid);
        upid
    }

    /// The current process of a pid, or a new one without a thread (rule GK5).
    pub fn process_alone(&mut self, machine: u32, pid: i64) -> Upid {
        match self.by_pid.get(&(machine, pid)) {
            Some(&upid) => upid,
            None => self.new_process(machine, pid, None),
        }
    }

    /// A new process that no pid finds (rules JS15, JS16).
    pub fn unlisted_process(&mut self, machine: u32, pid: Option<i64>) -> Upid {
        self.push_process(machine, pid, None)
    }

    /// A new thread of a process, which no tid finds.
    pub fn unlisted_thread(
        &mut self,
        machine: u32,
        tid: Option<i64>,
        upid: Upid,
        is_main: bool,
    ) -> Utid {
        let utid = self.push_thread(machine, tid, None);
        if let Some(thread) = self.threads.get_mut(utid.0 as usize) {
            (thread.upid, thread.is_main) = (Some(upid), is_main);
        }
        utid
    }

    fn new_process(&mut self, machine: u32, pid: i64, start: Option<i64>) -> Upid {
        let upid = self.push_process(machine, Some(pid), start);
        self.by_pid.insert((machine, pid), upid);
        upid
    }

    fn push_process(&mut self, machine: u32, pid: Option<i64>, start: Option<i64>) -> Upid {
        let upid = Upid(self.processes.len() as u32);
        self.processes.push(Process {
            pid,
            machine,
            name: Text::None,
            rank: Rank::None,
            is_current: true,
            start,
            end: None,
            parent: None,
            uid: None,
            cmdline: None,
            args: ArgBuf::default(),
        });
        upid
    }

    /// `bind(tid, pid)` of rule P7: the thread of the tid that belongs to the process.
    pub fn bind(&mut self, machine: u32, tid: i64, pid: i64) -> Utid {
        let upid = self.process(machine, pid);
        self.bind_one(machine, tid, upid)
    }

    /// The thread of a tid that belongs to a process: the newest live thread that is unbound or
    /// belongs to that process, or a new one.
    pub fn bind_one(&mut self, machine: u32, tid: i64, upid: Upid) -> Utid {
        let found = self.of_tid(machine, tid).find(|&utid| {
            let of = self.process_of(utid);
            self.is_live(utid) && (of.is_none() || of == Some(upid))
        });
        let utid = match found {
            Some(utid) => utid,
            None => self.new_thread(machine, tid, None),
        };
        if self.process_of(utid).is_none() {
            self.bind_to(utid, upid);
        }
        utid
    }

    /// Binds a thread to a process, with all threads and processes that wait for this (rule P8).
    fn bind_to(&mut self, utid: Utid, upid: Upid) {
        let pid = self.get_process(upid).and_then(|process| process.pid);
        let mut threads = vec![utid];
        while let Some(utid) = threads.pop() {
            let Some(thread) = self.threads.get_mut(utid.0 as usize) else {
                continue;
            };
            if thread.upid.is_some() {
                continue;
            }
            thread.upid = Some(upid);
            thread.is_main = pid == Some(thread.tid);
            let Some(unbound) = self.unbound.remove(&utid) else {
                continue;
            };
            threads.extend(unbound.sharing);
            for child in unbound.children {
                if let Some(child) = self.processes.get_mut(child.0 as usize) {
                    child.parent = Some(upid);
                }
            }
        }
    }

    /// `fork(ts, pid, name)` of rule P9. A fork that follows from a descriptor has neither
    /// time nor name.
    pub fn fork(
        &mut self,
        ts: Option<i64>,
        machine: u32,
        pid: i64,
        name: Option<Name>,
    ) -> (Upid, Utid) {
        if let Some(upid) = self.by_pid.remove(&(machine, pid))
            && let Some(process) = self.processes.get_mut(upid.0 as usize)
        {
            process.is_current = false;
        }
        let of_tid: Vec<Utid> = self.of_tid(machine, pid).collect();
        for utid in of_tid {
            if let Some(thread) = self.threads.get_mut(utid.0 as usize) {
                thread.is_dead = true;
            }
        }
        let utid = self.new_thread(machine, pid, ts);
        let upid = self.new_process(machine, pid, ts);
        self.bind_to(utid, upid);
        if let Some(name) = name {
            self.name_thread(utid, name);
            self.name_process(upid, Rank::Fourth, name);
        }
        (upid, utid)
    }

    /// Sets a process's parent to the process of a thread, now or as soon as that is known (rule
    /// P10).
    pub fn child_of(&mut self, child: Upid, thread: Utid) {
        match self.process_of(thread) {
            Some(parent) => self.set_parent(child, parent),
            None => self.unbound.entry(thread).or_default().children.push(child),
        }
    }

    /// Sets a process's parent, if it has none.
    pub fn set_parent(&mut self, child: Upid, parent: Upid) {
        if let Some(process) = self.processes.get_mut(child.0 as usize) {
            process.parent.get_or_insert(parent);
        }
    }

    /// Starts a thread that shares the process of another thread, now or as soon as the process of
    /// either is known (rule P10).
    pub fn clone_of(&mut self, ts: i64, machine: u32, tid: i64, maker: Utid) -> Utid {
        let utid = self.new_thread(machine, tid, Some(ts));
        match self.process_of(maker) {
            Some(upid) => self.bind_to(utid, upid),
            None => {
                self.unbound.entry(maker).or_default().sharing.push(utid);
                self.unbound.entry(utid).or_default().sharing.push(maker);
            }
        }
        utid
    }

    /// Ends a thread, and its process if it is the main thread (rule P11).
    pub fn ends(&mut self, ts: i64, utid: Utid) {
        let Some(thread) = self.threads.get_mut(utid.0 as usize) else {
            return;
        };
        thread.is_dead = true;
        thread.end = Some(ts).into();
        let (machine, tid) = (thread.machine, thread.tid);
        if let Some(upid) = thread.upid
            && let Some(process) = self.processes.get_mut(upid.0 as usize)
            && process.pid == Some(tid)
        {
            process.end = Some(ts);
            process.is_current = false;
            self.by_pid.remove(&(machine, tid));
        }
    }

    /// Sets the kernel's name of a thread (rule P12).
    #[inline]
    pub fn name_thread(&mut self, utid: Utid, name: Name) {
        if let Some(thread) = self.threads.get_mut(utid.0 as usize)
            && thread.rank <= Rank::Kernel
        {
            thread.name = Text::Known(name);
            thread.rank = Rank::Kernel;
        }
    }

    /// Sets a name of a thread that is not from the kernel.
    pub fn call_thread(&mut self, utid: Utid, rank: Rank, name: &str) {
        if let Some(thread) = self.threads.get_mut(utid.0 as usize)
            && thread.rank <= rank
        {
            thread.name = Text::Own(name.into());
            thread.rank = rank;
        }
    }

    /// Sets the name of a process, as for a thread (rule P13).
    pub fn name_process(&mut self, upid: Upid, rank: Rank, name: Name) {
        self.set_process_name(upid, rank, Text::Known(name));
    }

    /// Sets the name of a process to a text without a number.
    pub fn call_process(&mut self, upid: Upid, rank: Rank, name: &str) {
        self.set_process_name(upid, rank, Text::Own(name.into()));
    }

    fn set_process_name(&mut self, upid: Upid, rank: Rank, name: Text) {
        if let Some(process) = self.processes.get_mut(upid.0 as usize)
            && process.rank <= rank
        {
            process.name = name;
            process.rank = rank;
        }
    }

    /// The process of a thread, if the thread's tid is the process's pid.
    pub fn main_of(&self, utid: Utid) -> Option<Upid> {
        let thread = self.get(utid)?;
        let process = self.get_process(thread.upid?)?;
        thread.upid.filter(|_| thread.has_tid && process.pid == Some(thread.tid))
    }

    /// Sets whether a thread is the main or the idle thread, as the process tree of a kernel other
    /// than Linux says (rule GK5).
    pub fn set_roles(&mut self, utid: Utid, is_main: bool, is_idle: bool) {
        if let Some(thread) = self.threads.get_mut(utid.0 as usize) {
            (thread.is_main, thread.is_idle) = (is_main, is_idle);
        }
    }

    /// Sets the start of a process, if it is not known yet.
    pub fn starts(&mut self, upid: Upid, ts: i64) {
        if let Some(process) = self.processes.get_mut(upid.0 as usize) {
            process.start.get_or_insert(ts);
        }
    }

    /// Sets the user and the command line of a process (rule P14). The latest ones count.
    pub fn runs_as(&mut self, upid: Upid, uid: Option<i64>, cmdline: Option<&str>) {
        if let Some(process) = self.processes.get_mut(upid.0 as usize) {
            process.uid = uid.or(process.uid);
            if let Some(cmdline) = cmdline {
                process.cmdline = Some(cmdline.into());
            }
        }
    }

    /// The machine of a process, and its user id, if it has one.
    pub fn user(&self, upid: Upid) -> Option<(u32, i64)> {
        let process = self.processes.get(upid.0 as usize)?;
        Some((process.machine, process.uid?))
    }

    /// The arguments of a process.
    pub fn process_args(&mut self, upid: Upid) -> Option<&mut ArgBuf> {
        let process = self.processes.get_mut(upid.0 as usize);
        process.map(|process| &mut process.args)
    }

    /// The arguments of a thread.
    pub fn thread_args(&mut self, utid: Utid) -> &mut ArgBuf {
        self.args.entry(utid).or_default()
    }

    /// Writes the rows of all processes and threads.
    pub(super) fn end(
        &mut self,
        names: &Names,
        mut set: impl FnMut(&[u8], &Names, &mut Rows<'_>) -> Option<i64>,
        rows: &mut Rows<'_>,
    ) {
        let text = |text: &Text, rows: &mut Rows<'_>| match text {
            Text::None => Cell::Null,
            Text::Known(name) => rows.text(names.text(*name)),
            Text::Own(name) => rows.text(name),
        };
        for (id, process) in (0i64..).zip(&self.processes) {
            let args = set(process.args.as_bytes(), names, rows);
            let name = text(&process.name, rows);
            let cmdline = rows.optional_text(process.cmdline.as_deref());
            rows.push(process_record::Row {
                id: Cell::from(id),
                pid: Cell::or_null(process.pid),
                name,
                start_ts: Cell::or_null(process.start),
                end_ts: Cell::or_null(process.end),
                parent_upid: Cell::or_null(process.parent.map(|upid| upid.0)),
                uid: Cell::or_null(process.uid),
                cmdline,
                arg_set_id: Cell::or_null(args),
                machine_id: Cell::from(process.machine),
            });
        }
        for (id, thread) in (0i64..).zip(self.threads.iter()) {
            let args = self.args.get(&Utid(id as u32));
            let args = args.and_then(|args| set(args.as_bytes(), names, rows));
            let name = text(&thread.name, rows);
            let is_main = thread.upid.map(|_| i64::from(thread.is_main));
            rows.push(thread_record::Row {
                id: Cell::from(id),
                tid: Cell::or_null(thread.has_tid.then_some(thread.tid)),
                name,
                start_ts: Cell::or_null(thread.start.get()),
                end_ts: Cell::or_null(thread.end.get()),
                upid: Cell::or_null(thread.upid.map(|upid| upid.0)),
                is_main_thread: Cell::or_null(is_main),
                is_idle: Cell::from(i64::from(thread.is_idle)),
                machine_id: Cell::from(thread.machine),
                arg_set_id: Cell::or_null(args),
            });
        }
        // Of several threads at one time, the last one counts.
        self.emitted.sort_by_key(|&(machine, tid, ts, _)| (machine, tid, ts));
        let mut emitted = self.emitted.iter().peekable();
        while let Some(&(machine, tid, ts, utid)) = emitted.next() {
            let is_last =
                emitted.peek().is_none_or(|next| (next.0, next.1, next.2) != (machine, tid, ts));
            if is_last {
                rows.push(thread_emitting::Row {
                    machine_id: Cell::from(machine),
                    tid: Cell::from(tid),
                    ts: Cell::from(ts),
                    utid: Cell::from(utid.0),
                });
            }
        }
    }
}
