//! The processes and threads of a database, with the numbers that a Perfetto trace can have, and their uuids.
//!
//! # Design
//!
//! A second uuid for a thread makes a second thread (rule J3). So beside Perfetto traces a thread of a JSON trace has
//! the uuid under which they describe it, and is described only if they do not.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;

use super::descriptors;
use super::message::Message;
use super::owned::Described;
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
    machine: i64,
    /// `None` if the trace beside describes several under its numbers.
    uuid: Option<u64>,
    /// Whether the trace beside does not describe it.
    is_new: bool,
}

/// The machine of a process or thread, its pid, and the tid of a thread.
type Numbers = (i64, i64, Option<i64>);

/// A thread, its process, and whether it is the process's main thread.
#[derive(Debug)]
struct Thread {
    owner: Owner,
    upid: Option<i64>,
    is_main: bool,
}

/// A process or a thread, by its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OwnerKey {
    Process(i64),
    Thread(i64),
}

/// The description of a process or thread.
pub(super) struct OwnerDescriptor {
    pub key: OwnerKey,
    pub machine: i64,
    pub message: Message,
}

/// All processes and threads, with the numbers that are written.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    processes: Vec<(Owner, i64)>,
    threads: Vec<(Thread, (i64, i64))>,
    uuids: HashMap<OwnerKey, u64>,
    /// The processes of threads.
    of_threads: HashMap<i64, i64>,
    /// The processes and threads that have another number than in the database.
    pub renumbered: u64,
}

/// The first rows of each machine are the idle process and thread of its kernel (rule P3), which JSON traces do not have.
const PROCESSES: &str = "
    SELECT id, pid, name, (SELECT args ->> '$.process_sort_index_hint' FROM arg_set WHERE arg_set.id = arg_set_id),
           machine_id
    FROM process_record
    WHERE ?1 OR id NOT IN (SELECT min(id) FROM process_record GROUP BY machine_id) ORDER BY id";
const THREADS: &str = "
    SELECT id, tid, name, (SELECT args ->> '$.thread_sort_index_hint' FROM arg_set WHERE arg_set.id = arg_set_id),
           machine_id, upid, ifnull(is_main_thread, 0)
    FROM thread_record WHERE ?1 OR id NOT IN (SELECT min(id) FROM thread_record GROUP BY machine_id) ORDER BY id";

impl Owners {
    /// All of a database. Beside Perfetto traces, `described` has the uuids under which they describe processes and threads.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of(
        conn: &Connection,
        uuids: Uuids,
        described: Option<&Described>,
    ) -> rusqlite::Result<Owners> {
        let owner = |row: &rusqlite::Row<'_>| {
            Ok(Owner {
                id: row.get(0)?,
                number: row.get(1)?,
                name: row.get(2)?,
                rank: row.get(3)?,
                machine: row.get(4)?,
                uuid: None,
                is_new: true,
            })
        };
        let has_idle = described.is_some();
        let mut statement = conn.prepare(PROCESSES)?;
        let processes: Vec<Owner> =
            statement.query_map([has_idle], owner)?.collect::<rusqlite::Result<_>>()?;
        let mut statement = conn.prepare(THREADS)?;
        let thread = |row: &rusqlite::Row<'_>| {
            Ok(Thread { owner: owner(row)?, upid: row.get(5)?, is_main: row.get(6)? })
        };
        let threads: Vec<Thread> =
            statement.query_map([has_idle], thread)?.collect::<rusqlite::Result<_>>()?;
        let mut owners = Owners::numbered(processes, threads);
        owners.name(uuids, described);
        Ok(owners)
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

    /// Gives all of them their uuids.
    fn name(&mut self, uuids: Uuids, described: Option<&Described>) {
        let mut rows: HashMap<Numbers, u64> = HashMap::new();
        if described.is_some() {
            let processes = self.processes.iter().map(|(of, pid)| (of.machine, *pid, None));
            let threads = self.threads.iter();
            let threads = threads.map(|(of, (pid, tid))| (of.owner.machine, *pid, Some(*tid)));
            for numbers in processes.chain(threads) {
                *rows.entry(numbers).or_default() += 1;
            }
        }
        let find = |numbers: Numbers, own: u64| {
            let beside = described.and_then(|described| described.get(&numbers));
            match beside.map_or(&[][..], Vec::as_slice) {
                [] => (Some(own), true),
                [uuid] if rows.get(&numbers) == Some(&1) => (Some(*uuid), false),
                // It is not known which uuid is whose.
                _ => (None, false),
            }
        };
        for (owner, pid) in &mut self.processes {
            let own = uuids.process(owner.id);
            (owner.uuid, owner.is_new) = find((owner.machine, *pid, None), own);
            self.uuids.extend(owner.uuid.map(|uuid| (OwnerKey::Process(owner.id), uuid)));
        }
        for (thread, (pid, tid)) in &mut self.threads {
            let owner = &mut thread.owner;
            let own = uuids.thread(owner.id);
            (owner.uuid, owner.is_new) = find((owner.machine, *pid, Some(*tid)), own);
            self.uuids.extend(owner.uuid.map(|uuid| (OwnerKey::Thread(owner.id), uuid)));
            self.of_threads.extend(thread.upid.map(|upid| (owner.id, upid)));
        }
    }

    /// The uuid of a process or thread, if it is known which one it is.
    pub fn uuid(&self, key: OwnerKey) -> Option<u64> {
        self.uuids.get(&key).copied()
    }

    /// The pid and the tid of a thread that are written.
    pub fn numbers(&self, utid: i64) -> Option<(i64, i64)> {
        let at = self.threads.binary_search_by_key(&utid, |(thread, _)| thread.owner.id).ok()?;
        self.threads.get(at).map(|(_, numbers)| *numbers)
    }

    /// The process of a thread.
    pub fn process_of(&self, utid: i64) -> Option<i64> {
        self.of_threads.get(&utid).copied()
    }

    /// The machines whose process 0 has a descriptor: readers take it for the kernel's idle process.
    pub fn idle(&self) -> impl Iterator<Item = i64> {
        let idle = self.processes.iter().filter(|(process, pid)| *pid == 0 && process.is_new);
        idle.map(|(process, _)| process.machine)
    }

    /// Whether a rank for sorting has to be written.
    pub fn are_sorted(&self) -> bool {
        self.processes.iter().any(|(process, _)| process.rank.is_some())
            || self.threads.iter().any(|(thread, _)| thread.owner.rank.is_some())
    }

    /// The descriptors of all of them in the order of ids, or of those that the trace beside does not describe. Another
    /// file needs them all, because its tracks know only its own uuids (rule X42).
    pub fn descriptors(&self, are_new: bool) -> impl Iterator<Item = OwnerDescriptor> {
        let is_wanted = move |owner: &Owner| owner.is_new || !are_new && owner.uuid.is_some();
        let processes = self.processes.iter().filter(move |(process, _)| is_wanted(process));
        let processes = processes.map(move |(process, pid)| OwnerDescriptor {
            key: OwnerKey::Process(process.id),
            machine: process.machine,
            message: descriptors::process(
                process.uuid.unwrap_or(0),
                *pid,
                process.name.as_deref(),
                process.rank,
            ),
        });
        let threads = self.threads.iter().filter(move |(thread, _)| is_wanted(&thread.owner));
        let threads = threads.map(move |(thread, numbers)| {
            let Owner { id, name, rank, machine, uuid, .. } = &thread.owner;
            let name = name.as_deref();
            OwnerDescriptor {
                key: OwnerKey::Thread(*id),
                machine: *machine,
                message: descriptors::thread(uuid.unwrap_or(0), *numbers, name, *rank),
            }
        });
        processes.chain(threads)
    }
}
