//! The processes and threads of a database, with the numbers that a Perfetto trace can have.

use std::collections::{BTreeMap, HashSet};

use rusqlite::Connection;

use super::descriptors;
use super::message::Message;
use super::uuids::Uuids;

/// The greatest number of a process.
const LAST_PID: i64 = i32::MAX as i64;

/// A process or a thread.
#[derive(Debug)]
struct Owner {
    id: i64,
    number: Option<i64>,
    name: Option<String>,
    rank: Option<i64>,
    machine: u64,
}

/// A thread, its process, and whether it is the process's main thread.
#[derive(Debug)]
struct Thread {
    owner: Owner,
    upid: Option<i64>,
    is_main: bool,
}

/// All processes and threads, with the numbers that are written.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    processes: Vec<(Owner, i64)>,
    threads: Vec<(Thread, (i64, i64))>,
    /// The processes and threads that have another number than in the database.
    pub renumbered: u64,
    /// Whether pid 0 is a process: it gets row 0, and its thread 0 the name `swapper`.
    pub has_idle: bool,
}

/// Row 0 of both tables is the idle process of the kernel, which JSON traces do not have.
const PROCESSES: &str = "
    SELECT id, pid, name, (SELECT args ->> '$.process_sort_index_hint' FROM arg_set WHERE arg_set.id = arg_set_id),
           machine_id
    FROM process_record WHERE id > 0 ORDER BY id";
const THREADS: &str = "
    SELECT id, tid, name, (SELECT args ->> '$.thread_sort_index_hint' FROM arg_set WHERE arg_set.id = arg_set_id),
           machine_id, upid, ifnull(is_main_thread, 0)
    FROM thread_record WHERE id > 0 ORDER BY id";

impl Owners {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of(conn: &Connection) -> rusqlite::Result<Owners> {
        let owner = |row: &rusqlite::Row<'_>| {
            let machine: i64 = row.get(4)?;
            Ok(Owner {
                id: row.get(0)?,
                number: row.get(1)?,
                name: row.get(2)?,
                rank: row.get(3)?,
                machine: machine.cast_unsigned(),
            })
        };
        let mut statement = conn.prepare(PROCESSES)?;
        let processes: Vec<Owner> =
            statement.query_map([], owner)?.collect::<rusqlite::Result<_>>()?;
        let mut statement = conn.prepare(THREADS)?;
        let thread = |row: &rusqlite::Row<'_>| {
            Ok(Thread { owner: owner(row)?, upid: row.get(5)?, is_main: row.get(6)? })
        };
        let threads: Vec<Thread> =
            statement.query_map([], thread)?.collect::<rusqlite::Result<_>>()?;
        Ok(Owners::numbered(processes, threads))
    }

    /// Gives each process and thread a number that a Perfetto trace can have: its own, or an unused one.
    fn numbered(processes: Vec<Owner>, threads: Vec<Thread>) -> Owners {
        let pids = processes.iter().filter_map(|process| process.number);
        let tids = threads.iter().filter_map(|thread| thread.owner.number);
        let mut used: HashSet<i64> = pids.chain(tids).collect();
        let mut next = LAST_PID;
        let mut unused = || {
            while !used.insert(next) {
                next -= 1;
            }
            next
        };
        let mut owners = Owners::default();
        let mut pids = BTreeMap::new();
        for process in processes {
            let pid = process.number.filter(|pid| (0..=LAST_PID).contains(pid));
            let pid = pid.unwrap_or_else(&mut unused);
            owners.renumbered += u64::from(process.number != Some(pid));
            owners.has_idle |= pid == 0;
            pids.insert(process.id, pid);
            owners.processes.push((process, pid));
        }
        for thread in threads {
            let pid = thread.upid.and_then(|upid| pids.get(&upid).copied()).unwrap_or(0);
            let tid = match thread.owner.number {
                _ if thread.is_main => pid,
                Some(tid) => tid,
                None => unused(),
            };
            owners.renumbered += u64::from(thread.owner.number != Some(tid));
            owners.threads.push((thread, (pid, tid)));
        }
        owners
    }

    /// Whether a rank for sorting has to be written.
    pub fn are_sorted(&self) -> bool {
        self.processes.iter().any(|(process, _)| process.rank.is_some())
            || self.threads.iter().any(|(thread, _)| thread.owner.rank.is_some())
    }

    /// The descriptors with their machines, in the order of ids.
    pub fn descriptors(&self, uuids: Uuids) -> impl Iterator<Item = (u64, Message)> {
        let processes = self.processes.iter().map(move |(process, pid)| {
            let uuid = uuids.process(process.id);
            let name = process.name.as_deref();
            (process.machine, descriptors::process(uuid, *pid, name, process.rank))
        });
        let threads = self.threads.iter().map(move |(thread, numbers)| {
            let Owner { id, name, rank, machine, .. } = &thread.owner;
            let uuid = uuids.thread(*id);
            (*machine, descriptors::thread(uuid, *numbers, name.as_deref(), *rank))
        });
        processes.chain(threads)
    }
}
