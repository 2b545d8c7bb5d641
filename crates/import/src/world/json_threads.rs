//! The threads and processes that events of JSON traces name (rules JS14 to JS16).
//!
//! Most ids are numbers of the kernel, and find the threads that kernel events find, too. The others are no numbers
//! (texts, which belong to their file), or are numbers that no event of the kernel means: process 0 and its threads,
//! and thread 0 of any process.

use rustc_hash::FxHashMap;

use super::World;
use super::threads::{Rank, Threads, Upid, Utid};
use crate::definitions::JsonId;
use crate::place::PartIx;
use crate::timeline::JsonThreadIx;

/// The threads and processes that only JSON traces name.
#[derive(Debug, Default)]
pub(crate) struct JsonOwners {
    /// The threads of processes that never end, by the ids of a file's events.
    known: FxHashMap<(PartIx, JsonThreadIx), Utid>,
    /// Process 0 of each machine.
    zeros: FxHashMap<u32, Upid>,
    /// The processes with a text, by their file.
    processes: FxHashMap<(PartIx, Box<str>), Upid>,
    /// Main threads of the processes above, and threads without a number of the kernel.
    threads: FxHashMap<(Upid, Option<JsonId>), Utid>,
}

impl World {
    /// The thread of an event in the current part.
    pub fn json_thread(&mut self, thread: JsonThreadIx) -> Option<Utid> {
        let World { threads, json_owners, definitions, part, .. } = self;
        let (key, machine) = ((part.part, thread), part.machine);
        if let Some(&known) = json_owners.known.get(&key) {
            return Some(known);
        }
        let thread = definitions.json_threads.get(thread)?;
        let utid = match (&thread.pid, &thread.tid) {
            (JsonId::Number(0), tid) => {
                let upid = json_owners.zero(machine, threads);
                json_owners.thread(machine, upid, tid, Some(0), threads)
            }
            (&JsonId::Number(pid), None) => {
                let upid = threads.process(machine, pid);
                return Some(threads.bind_one(machine, pid, upid));
            }
            (&JsonId::Number(pid), &Some(JsonId::Number(tid))) if tid != 0 => {
                return Some(threads.bind(machine, tid, pid));
            }
            (&JsonId::Number(pid), tid) => {
                // The process may end, and the next one has a thread of its own.
                let upid = threads.process(machine, pid);
                return Some(json_owners.thread(machine, upid, tid, None, threads));
            }
            (JsonId::Text(text), tid) => {
                let upid = json_owners.process(part.part, machine, text, threads);
                json_owners.thread(machine, upid, tid, None, threads)
            }
        };
        json_owners.known.insert(key, utid);
        Some(utid)
    }
}

impl JsonOwners {
    fn zero(&mut self, machine: u32, threads: &mut Threads) -> Upid {
        *self.zeros.entry(machine).or_insert_with(|| {
            let upid = threads.unlisted_process(machine, Some(0));
            let utid = threads.unlisted_thread(machine, Some(0), upid, true);
            self.threads.insert((upid, None), utid);
            upid
        })
    }

    fn process(&mut self, part: PartIx, machine: u32, text: &str, threads: &mut Threads) -> Upid {
        *self.processes.entry((part, text.into())).or_insert_with(|| {
            let upid = threads.unlisted_process(machine, None);
            threads.call_process(upid, Rank::Kernel, text);
            let utid = threads.unlisted_thread(machine, None, upid, true);
            self.threads.insert((upid, None), utid);
            upid
        })
    }

    /// The thread of a process, by the tid that finds it here. A main thread has the number `main`.
    fn thread(
        &mut self,
        machine: u32,
        upid: Upid,
        tid: &Option<JsonId>,
        main: Option<i64>,
        threads: &mut Threads,
    ) -> Utid {
        *self.threads.entry((upid, tid.clone())).or_insert_with(|| match tid {
            None => threads.unlisted_thread(machine, main, upid, true),
            Some(JsonId::Number(tid)) => threads.unlisted_thread(machine, Some(*tid), upid, false),
            Some(JsonId::Text(text)) => {
                let utid = threads.unlisted_thread(machine, None, upid, false);
                threads.call_thread(utid, Rank::Kernel, text);
                utid
            }
        })
    }
}
