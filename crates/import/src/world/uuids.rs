//! Finds the owners of the uuids of tracks (rules U3, U4, J3, J4).
//!
//! A uuid is met at the first event or descriptor that names it or a uuid below it, in
//! the order of time. From then on its owner does not change.

use rustc_hash::FxHashSet;

use super::World;
use super::outside::ThreadNumbers;
use super::threads::{Upid, Utid};
use super::tracks::Owner;
use crate::arguments::ArgValue;
use crate::definitions::TrackOwner;
use crate::output::{Counter, Fault, PARSER_ERROR};
use crate::pieces::Pieces;
use crate::timeline::UuidIx;

/// The largest number of parents of a track (rule U4).
const MOST_PARENTS: u32 = 98;

/// The reasons why a uuid has no track.
mod fault {
    use super::{Counter, Fault};

    pub const LOOP: Fault = Fault::new(
        Counter::error(
            "track_event_track_hierarchy_loop",
            "a track is its own ancestor, and has no rows",
        )
        .drops_some(),
    );
    pub const TOO_DEEP: Fault = Fault::new(
        Counter::error(
            "track_event_track_hierarchy_too_deep",
            "a track has more than 98 ancestors, and has no rows",
        )
        .drops_some(),
    );
    pub const MISSING: Fault = Fault::new(
        Counter::error(
            "track_hierarchy_missing_uuid",
            "a track has a parent that nothing describes or uses, and has no \
         rows",
        )
        .drops_some(),
    );
}

/// The state of uuids, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct UuidStates {
    met: Pieces<Option<Met>>,
    pub(super) owners: UuidOwners,
}

/// The threads and the processes that the uuids of one part stand for (rule X42).
#[derive(Debug, Default)]
pub(crate) struct UuidOwners {
    threads: FxHashSet<Utid>,
    processes: FxHashSet<Upid>,
}

/// A uuid that was met.
#[derive(Debug, Clone, Copy)]
struct Met {
    owner: Owner,
    /// How many uuids are above it.
    parents: u32,
}

impl UuidStates {
    fn get(&self, uuid: UuidIx) -> Option<Met> {
        *self.met.get(uuid.0 as usize)?
    }

    /// The owner of a uuid that was met.
    pub fn owner(&self, uuid: UuidIx) -> Owner {
        self.get(uuid).map_or(Owner::None, |met| met.owner)
    }

    fn set(&mut self, uuid: UuidIx, met: Met) {
        let place = uuid.0 as usize;
        *self.met.reach(place) = Some(met);
    }
}

impl World {
    /// Meets the uuid of an event, which may have no descriptor. Returns whether the uuid has a
    /// track; if not, the event is dropped.
    #[inline]
    pub fn meet_event(&mut self, uuid: UuidIx, packet: i64) -> bool {
        if self.uuids.get(uuid).is_some() {
            return true;
        }
        if self.definitions.uuids.descriptor(uuid).is_none() {
            let met = Met { owner: Owner::None, parents: 0 };
            self.uuids.set(uuid, met);
            return true;
        }
        self.meet(uuid, packet)
    }

    /// Meets a uuid, after the uuids above it. Returns whether the uuid has a track (rule U4); if not,
    /// the event or the descriptor packet is dropped.
    pub fn meet(&mut self, uuid: UuidIx, packet: i64) -> bool {
        let has_track = self.meet_value(uuid, packet);
        if !has_track {
            self.faults.add(PARSER_ERROR, packet);
        }
        has_track
    }

    /// Meets the uuid of a counter. Returns whether it has a track; if not, only this value of the
    /// event is left out (rule E17).
    pub fn meet_value(&mut self, uuid: UuidIx, packet: i64) -> bool {
        if self.uuids.get(uuid).is_some() {
            return true;
        }
        match self.chain(uuid) {
            Ok(chain) => {
                for uuid in chain.into_iter().rev() {
                    self.settle(uuid);
                }
                true
            }
            Err(fault) => {
                self.faults.add(fault, packet);
                false
            }
        }
    }

    /// A uuid and the uuids above it that were not met yet.
    fn chain(&self, uuid: UuidIx) -> Result<Vec<UuidIx>, Fault> {
        let uuids = &self.definitions.uuids;
        let mut chain = vec![uuid];
        let mut next = uuid;
        loop {
            let descriptor = uuids.descriptor(next).ok_or(fault::MISSING)?;
            let Some(parent) = descriptor.more().parent else {
                return Ok(chain);
            };
            let parent = uuids.beside(uuid, parent).ok_or(fault::MISSING)?;
            if chain.contains(&parent) {
                return Err(fault::LOOP);
            }
            let above = match self.uuids.get(parent) {
                Some(met) => met.parents,
                None => 0,
            };
            if chain.len() as u32 + above > MOST_PARENTS {
                return Err(fault::TOO_DEEP);
            }
            if self.uuids.get(parent).is_some() {
                return Ok(chain);
            }
            chain.push(parent);
            next = parent;
        }
    }

    /// Sets the owner of a uuid, once.
    fn settle(&mut self, uuid: UuidIx) {
        let uuids = &self.definitions.uuids;
        let machine = self.part.machine;
        let Some(descriptor) = uuids.descriptor(uuid) else {
            return;
        };
        let parent = descriptor.more().parent.and_then(|parent| uuids.beside(uuid, parent));
        let parent = parent.and_then(|parent| self.uuids.get(parent));
        let trusted_pid = descriptor.trusted_pid;
        let owner = match descriptor.owner {
            TrackOwner::Thread { pid, tid } => {
                let (pid, tid) = self.thread_outside(ThreadNumbers {
                    machine,
                    trusted_pid,
                    pid: pid.into(),
                    tid,
                });
                Owner::Thread(self.thread_of_uuid(machine, pid, tid))
            }
            TrackOwner::Process { pid } => {
                let pid = self.process_outside(machine, trusted_pid, pid.into());
                Owner::Process(self.process_of_uuid(machine, pid))
            }
            TrackOwner::Counter(_) | TrackOwner::State | TrackOwner::Nobody => {
                parent.map_or(Owner::None, |parent| parent.owner)
            }
        };
        let parents = parent.map_or(0, |parent| parent.parents + 1);
        self.uuids.set(uuid, Met { owner, parents });
        self.hint(uuid, owner);
    }

    /// The thread of a uuid (rule J3). A new row is not taken until another uuid meets it.
    fn thread_of_uuid(&mut self, machine: u32, pid: i64, tid: i64) -> Utid {
        let utid = self.threads.bind(machine, tid, pid);
        if self.uuids.owners.threads.insert(utid) {
            return utid;
        }
        self.threads.reuse(machine, tid);
        self.threads.bind(machine, tid, pid)
    }

    /// The process of a uuid, in the same way (rule J4).
    fn process_of_uuid(&mut self, machine: u32, pid: i64) -> Upid {
        let upid = self.threads.process(machine, pid);
        if self.uuids.owners.processes.insert(upid) {
            return upid;
        }
        self.threads.fork(None, machine, pid, None).0
    }

    /// Keeps the hint in which order to show threads and processes (rule J6).
    fn hint(&mut self, uuid: UuidIx, owner: Owner) {
        let uuids = &self.definitions.uuids;
        let default = uuids.beside(uuid, 0);
        let default = default.and_then(|uuid| uuids.descriptor(uuid));
        let descriptor = uuids.descriptor(uuid);
        let (Some(default), Some(descriptor)) = (default, descriptor) else {
            return;
        };
        let Some(rank) = descriptor.more().rank else {
            return;
        };
        let names = &mut self.definitions.names;
        let value = ArgValue::Int(rank);
        match (&descriptor.owner, owner) {
            (TrackOwner::Process { .. }, Owner::Process(upid))
                if default.more().orders_processes =>
            {
                if let Some(args) = self.threads.process_args(upid) {
                    args.push("process_sort_index_hint", value, names);
                }
            }
            (TrackOwner::Thread { .. }, Owner::Thread(utid)) if default.more().orders_threads => {
                let args = self.threads.thread_args(utid);
                args.push("thread_sort_index_hint", value, names);
            }
            _ => {}
        }
    }
}
