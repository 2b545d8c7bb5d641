//! Processes and threads, their facts by origin, and the time for which a number means one of them
//! (P).

use super::args::Args;
use super::machines::Machine;

/// An index in the list of processes.
pub type Upid = usize;
/// An index in the list of threads.
pub type Utid = usize;

#[derive(Debug)]
pub struct Process {
    pub machine: Machine,
    /// The number on the wire, as uint32; in descriptors of threads it has a sign (J2).
    pub pid: i64,
    pub name: Option<String>,
    name_rank: u8,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub parent: Option<Upid>,
    /// Its parent is the process of this thread, once that is known.
    child_of: Option<Utid>,
    pub uid: Option<i64>,
    pub cmdline: Option<String>,
    pub args: Args,
    /// Its pid has been taken (P9).
    replaced: bool,
}

#[derive(Debug)]
pub struct Thread {
    pub machine: Machine,
    pub tid: i64,
    pub name: Option<String>,
    name_rank: u8,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub process: Option<Upid>,
    pub is_main: Option<bool>,
    pub is_idle: bool,
    pub args: Args,
    /// Its tid has been taken (P9).
    replaced: bool,
}

/// The origin of a name (P12, P13).
pub mod rank {
    pub const KERNEL: u8 = 1;
    pub const TREE: u8 = 2;
    pub const LEGACY_THREAD: u8 = 3;
    pub const THREAD_DESCRIPTOR: u8 = 4;
    pub const SWAPPER: u8 = 5;
    /// Chrome's processes that show pages (J8).
    pub const RENDERER: u8 = 3;
    /// Including legacy events.
    pub const PROCESS_DESCRIPTOR: u8 = 2;
    /// Process lists, forks and renames, for processes.
    pub const PROCESS: u8 = 4;
}

#[derive(Debug, Default)]
pub struct Processes {
    pub processes: Vec<Process>,
    pub threads: Vec<Thread>,
    /// Threads that share a process, which may be unknown (P10).
    sharing: Vec<(Utid, Utid)>,
}

impl Processes {
    /// P3
    pub fn start_machine(&mut self, machine: Machine) {
        let upid = self.new_process(machine, 0);
        let utid = self.new_thread(machine, 0, None);
        self.name_thread(utid, Some("swapper"), rank::SWAPPER);
        self.threads[utid].is_idle = true;
        self.bind_thread(utid, upid);
    }

    fn new_process(&mut self, machine: Machine, pid: i64) -> Upid {
        self.processes.push(Process {
            machine,
            pid,
            name: None,
            name_rank: 0,
            start: None,
            end: None,
            parent: None,
            child_of: None,
            uid: None,
            cmdline: None,
            args: Args::default(),
            replaced: false,
        });
        self.processes.len() - 1
    }

    pub fn new_thread(&mut self, machine: Machine, tid: i64, start: Option<i64>) -> Utid {
        self.threads.push(Thread {
            machine,
            tid,
            name: None,
            name_rank: 0,
            start,
            end: None,
            process: None,
            is_main: None,
            is_idle: false,
            args: Args::default(),
            replaced: false,
        });
        self.threads.len() - 1
    }

    /// P2
    fn is_current(&self, upid: Upid) -> bool {
        let process = &self.processes[upid];
        process.end.is_none() && !process.replaced
    }

    /// P2
    fn current(&self, machine: Machine, pid: i64) -> Option<Upid> {
        (0..self.processes.len()).rev().find(|&upid| {
            let process = &self.processes[upid];
            (process.machine, process.pid) == (machine, pid) && self.is_current(upid)
        })
    }

    /// The thread that idle cpus run (P3).
    pub fn is_swapper(&self, utid: Utid) -> bool {
        self.threads[utid].name_rank == rank::SWAPPER
    }

    /// P5
    pub fn is_live(&self, utid: Utid) -> bool {
        !self.threads[utid].replaced && self.has_not_ended(utid)
    }

    /// The same, except if a fork took its tid (M5).
    pub fn has_not_ended(&self, utid: Utid) -> bool {
        let thread = &self.threads[utid];
        let process = thread.process;
        thread.end.is_none() && process.is_none_or(|upid| self.is_current(upid))
    }

    /// The live threads with a tid, the newest first.
    fn live(&self, machine: Machine, tid: i64) -> impl Iterator<Item = Utid> {
        let threads = (0..self.threads.len()).rev();
        threads.filter(move |&utid| {
            let thread = &self.threads[utid];
            (thread.machine, thread.tid) == (machine, tid) && self.is_live(utid)
        })
    }

    /// The newest live thread with a tid.
    pub fn newest(&self, machine: Machine, tid: i64) -> Option<Utid> {
        self.live(machine, tid).next()
    }

    /// P6
    pub fn thread(&mut self, machine: Machine, tid: i64) -> Utid {
        let newest = self.newest(machine, tid);
        newest.unwrap_or_else(|| self.new_thread(machine, tid, None))
    }

    /// P7
    pub fn process(&mut self, machine: Machine, pid: i64) -> Upid {
        if let Some(upid) = self.current(machine, pid) {
            return upid;
        }
        let upid = self.new_process(machine, pid);
        self.bind(machine, pid, pid);
        upid
    }

    /// GK5: the same without a thread.
    pub fn process_alone(&mut self, machine: Machine, pid: i64) -> Upid {
        let current = self.current(machine, pid);
        current.unwrap_or_else(|| self.new_process(machine, pid))
    }

    /// P7
    pub fn bind(&mut self, machine: Machine, tid: i64, pid: i64) -> Utid {
        let upid = self.process(machine, pid);
        self.bind_to(machine, tid, upid)
    }

    pub fn bind_to(&mut self, machine: Machine, tid: i64, upid: Upid) -> Utid {
        let pid = self.processes[upid].pid;
        let fits = |utid: &Utid| {
            let process = self.threads[*utid].process;
            process.is_none_or(|upid| self.processes[upid].pid == pid)
        };
        let found = self.live(machine, tid).find(fits);
        let utid = found.unwrap_or_else(|| self.new_thread(machine, tid, None));
        if self.threads[utid].process.is_none() {
            self.bind_thread(utid, upid);
        }
        utid
    }

    /// P8, P4
    fn bind_thread(&mut self, utid: Utid, upid: Upid) {
        let pid = self.processes[upid].pid;
        let thread = &mut self.threads[utid];
        thread.process = Some(upid);
        thread.is_main = Some(thread.tid == pid);
        for process in &mut self.processes {
            if process.child_of == Some(utid) {
                process.child_of = None;
                process.parent = Some(upid);
            }
        }
        for (a, b) in self.sharing.clone() {
            for (one, other) in [(a, b), (b, a)] {
                if one == utid && self.threads[other].process.is_none() {
                    self.bind_thread(other, upid);
                }
            }
        }
    }

    /// P9. Returns the thread.
    pub fn fork(
        &mut self,
        machine: Machine,
        start: Option<i64>,
        pid: i64,
        name: Option<&str>,
    ) -> Utid {
        if let Some(upid) = self.current(machine, pid) {
            self.processes[upid].replaced = true;
        }
        for thread in &mut self.threads {
            if (thread.machine, thread.tid) == (machine, pid) {
                thread.replaced = true;
            }
        }
        let utid = self.new_thread(machine, pid, start);
        self.name_thread(utid, name, rank::KERNEL);
        let upid = self.new_process(machine, pid);
        self.processes[upid].start = start;
        self.name_process(upid, name, rank::PROCESS);
        self.bind_thread(utid, upid);
        utid
    }

    /// Returns the new thread and its maker (P10).
    pub fn new_task(
        &mut self,
        (machine, time): (Machine, i64),
        maker: i64,
        (tid, name): (i64, Option<&str>),
        clone_flags: u64,
    ) -> Option<(Utid, Utid)> {
        const CLONE_THREAD: u64 = 0x10000;
        if tid == 0 {
            return None;
        }
        if clone_flags & CLONE_THREAD == 0 {
            let utid = self.fork(machine, Some(time), tid, name);
            let maker = self.thread(machine, maker);
            let parent = self.threads[maker].process;
            if let Some(upid) = self.threads[utid].process {
                self.processes[upid].parent = parent;
                self.processes[upid].child_of = parent.is_none().then_some(maker);
            }
            return Some((utid, maker));
        }
        let maker = self.thread(machine, maker);
        let utid = self.new_thread(machine, tid, Some(time));
        self.name_thread(utid, name, rank::KERNEL);
        match self.threads[maker].process {
            Some(upid) => self.bind_thread(utid, upid),
            None => self.sharing.push((maker, utid)),
        }
        Some((utid, maker))
    }

    /// P11
    pub fn free(&mut self, machine: Machine, tid: i64, time: i64) {
        let Some(utid) = self.newest(machine, tid) else {
            return;
        };
        self.threads[utid].end = Some(time);
        let upid = self.threads[utid].process;
        if let Some(upid) = upid.filter(|&upid| self.processes[upid].pid == tid) {
            self.processes[upid].end = Some(time);
        }
    }

    /// P12
    pub fn name_thread(&mut self, utid: Utid, name: Option<&str>, rank: u8) {
        let thread = &mut self.threads[utid];
        if let Some(name) = name.filter(|_| rank >= thread.name_rank) {
            thread.name = Some(name.to_owned());
            thread.name_rank = rank;
        }
    }

    /// P13
    pub fn name_process(&mut self, upid: Upid, name: Option<&str>, rank: u8) {
        let process = &mut self.processes[upid];
        if let Some(name) = name.filter(|_| rank >= process.name_rank) {
            process.name = Some(name.to_owned());
            process.name_rank = rank;
        }
    }

    /// task_rename (P12, P13)
    pub fn rename(&mut self, machine: Machine, tid: i64, name: Option<&str>) {
        let utid = self.thread(machine, tid);
        self.name_thread(utid, name, rank::KERNEL);
        let upid = self.threads[utid].process;
        if let Some(upid) = upid.filter(|&upid| self.processes[upid].pid == tid) {
            self.name_process(upid, name, rank::PROCESS);
        }
    }
}
