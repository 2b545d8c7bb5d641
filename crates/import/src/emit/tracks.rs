//! The tracks of JSON traces in a database.

use std::collections::HashMap;

use rusqlite::Connection;

use super::descriptors;
use super::message::Message;
use super::owners::{OwnerKey, Owners};
use super::unlike::{Difference, Unlike};
use super::uuids::Uuids;

/// The key of the lanes of slices that overlap others of their thread.
const OVERLAPPING: &str = "overlapping";

/// The name of the tracks of threads' states, and the key of their lanes.
const STATE: &str = "thread state";

/// The form in which a track is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The track of a thread.
    Thread,
    /// One of several tracks of slices that overlap.
    Lane,
    /// The instants of a process, with its uuid.
    ProcessInstants,
    /// The instants of the whole trace.
    GlobalInstants,
    Counter,
}

/// A track that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Track {
    pub kind: Kind,
    pub uuid: u64,
    pub machine: u64,
    /// The uuid of the counter of its thread's CPU time, if that is written.
    pub thread_time: Option<u64>,
}

/// A descriptor of a track or of its owner.
#[derive(Debug, Clone)]
pub(super) struct Described {
    /// The time of the first row below it, if there is one.
    pub first: Option<i64>,
    /// The number of its machine in packets.
    pub machine: u64,
    pub message: Message,
}

/// Tracks by their ids, and their descriptors.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    pub all: HashMap<i64, Track>,
    pub descriptors: Vec<Described>,
    /// The owners of these tracks, each with the time of its first row.
    pub owners: HashMap<OwnerKey, Option<i64>>,
    pub unlike: Unlike,
    /// The tracks for the states of a thread: several, if states overlap. Their ids are negative.
    pub states: HashMap<i64, Vec<i64>>,
}

/// A state of a thread, which is written as a slice.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub ts: i64,
    pub dur: i64,
    pub utid: i64,
    pub name: Option<String>,
    pub cpu: Option<i64>,
    pub io_wait: Option<i64>,
    pub blocked_function: Option<String>,
}

pub(crate) const STATES: &str = "
    SELECT ts, dur, utid, state, cpu, io_wait, blocked_function FROM thread_state ORDER BY ts, id";

impl State {
    /// # Errors
    ///
    /// If the row cannot be read.
    pub fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<State> {
        Ok(State {
            ts: row.get(0)?,
            dur: row.get(1)?,
            utid: row.get(2)?,
            name: row.get(3)?,
            cpu: row.get(4)?,
            io_wait: row.get(5)?,
            blocked_function: row.get(6)?,
        })
    }

    /// The time of its end; `i64::MAX` if it has none.
    pub fn end(&self) -> i64 {
        match self.dur {
            dur if dur < 0 => i64::MAX,
            dur => self.ts.saturating_add(dur),
        }
    }
}

/// The lanes of threads' states that are taken, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Lanes(HashMap<i64, Vec<i64>>);

impl Lanes {
    /// The first lane of an owner on which nothing is open at a time, from 0. It is taken until `end`.
    pub fn take(&mut self, owner: i64, ts: i64, end: i64) -> usize {
        let ends = self.0.entry(owner).or_default();
        let free = ends.iter().position(|taken| *taken <= ts);
        let lane = free.unwrap_or_else(|| {
            ends.push(end);
            ends.len() - 1
        });
        if let Some(taken) = ends.get_mut(lane) {
            *taken = end;
        }
        lane
    }
}

/// The tracks of a file, or of all files in JSON.
const TRACKS: &str = "
    SELECT t.id, t.type, t.name, t.utid, t.upid,
           (SELECT args ->> '$.name' FROM arg_set WHERE arg_set.id = dimension_arg_set_id),
           t.machine_id,
           EXISTS (SELECT * FROM slice_record WHERE track_id = t.id AND thread_ts IS NOT NULL),
           CASE WHEN is_counter THEN (SELECT min(ts) FROM counter_record WHERE track_id = t.id)
                ELSE (SELECT min(ts) FROM slice_record WHERE track_id = t.id) END,
           f.name
    FROM track_record AS t JOIN trace_file AS f ON f.id = t.trace_file_id
    WHERE f.trace_type = 'json' AND f.id = ifnull(?1, f.id) ORDER BY t.id";

/// The track of each thread that has the thread's uuid, if all files become one trace: those of others are tracks of their
/// own, because their slices need not nest.
const FIRST_TRACKS: &str = "
    SELECT t.utid, t.id, f.trace_type = 'json' FROM track_record AS t JOIN trace_file AS f ON f.id = t.trace_file_id
    WHERE t.type = 'thread_execution' AND t.utid IS NOT NULL ORDER BY 3, t.id";

struct Row {
    id: i64,
    kind: String,
    name: Option<String>,
    utid: Option<i64>,
    upid: Option<i64>,
    set: Option<String>,
    machine: u64,
    has_thread_time: bool,
    first: Option<i64>,
    file: Option<String>,
}

/// The choices for the tracks of a trace.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub owners: &'a Owners,
    pub uuids: Uuids,
    /// The file whose tracks are wanted; `None` for all.
    pub file: Option<i64>,
    /// The numbers of machines in packets, by their rows. Others have 0.
    pub machines: &'a HashMap<i64, u64>,
}

impl Choice<'_> {
    /// The number of a machine in packets.
    pub fn machine(&self, row: i64) -> u64 {
        self.machines.get(&row).copied().unwrap_or(0)
    }

    fn thread(&self, utid: i64) -> Option<u64> {
        self.owners.uuid(OwnerKey::Thread(utid))
    }
}

impl Tracks {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of(conn: &Connection, choice: &Choice<'_>) -> rusqlite::Result<Tracks> {
        let mut tracks = Tracks::default();
        let mut first_tracks = HashMap::new();
        if choice.file.is_none() {
            let mut statement = conn.prepare(FIRST_TRACKS)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (utid, track): (i64, i64) = (row.get(0)?, row.get(1)?);
                first_tracks.entry(utid).or_insert(track);
            }
        }
        let mut statement = conn.prepare(TRACKS)?;
        let mut rows = statement.query([choice.file])?;
        let mut timed = HashMap::new();
        while let Some(row) = rows.next()? {
            let row = Row {
                id: row.get(0)?,
                kind: row.get(1)?,
                name: row.get(2)?,
                utid: row.get(3)?,
                upid: row.get(4)?,
                set: row.get(5)?,
                machine: choice.machine(row.get(6)?),
                has_thread_time: row.get(7)?,
                first: row.get(8)?,
                file: row.get(9)?,
            };
            let is_first = |utid| first_tracks.get(&utid).is_none_or(|first| *first == row.id);
            tracks.add(&row, choice, row.utid.is_none_or(is_first), &mut timed);
        }
        Ok(tracks)
    }

    /// Adds the tracks of the states of threads, with uuids after those of all ids.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn add_states(
        &mut self,
        conn: &Connection,
        choice: &Choice<'_>,
        is_wanted: impl Fn(i64) -> bool,
    ) -> rusqlite::Result<()> {
        let greatest = "SELECT max((SELECT ifnull(max(id), 0) FROM track_record),
                                   (SELECT ifnull(max(id), 0) FROM process_record),
                                   (SELECT ifnull(max(id), 0) FROM thread_record))";
        let greatest = conn.query_row(greatest, [], |row| row.get(0))?;
        let mut next = choice.uuids.after(greatest);
        let mut lanes = Lanes::default();
        let mut statement = conn.prepare(STATES)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let state = State::of(row)?;
            let lane = lanes.take(state.utid, state.ts, state.end());
            let made = self.states.values().map(Vec::len).sum::<usize>();
            if lane < self.states.get(&state.utid).map_or(0, Vec::len) {
                continue;
            }
            next = next.wrapping_add(1);
            let of_thread = "SELECT machine_id FROM thread_record WHERE id = ?1";
            let machine: i64 = conn.query_row(of_thread, [state.utid], |row| row.get(0))?;
            if !is_wanted(machine) {
                continue;
            }
            let id = -1 - i64::try_from(made).unwrap_or(i64::MAX - 1);
            self.states.entry(state.utid).or_default().push(id);
            self.mention(OwnerKey::Thread(state.utid), Some(state.ts), choice.owners);
            let machine = choice.machine(machine);
            let lane = descriptors::lane(next, choice.thread(state.utid), Some(STATE), STATE);
            self.describe(machine, lane, Some(state.ts));
            self.all.insert(id, Track { kind: Kind::Lane, uuid: next, machine, thread_time: None });
        }
        Ok(())
    }

    fn describe(&mut self, machine: u64, message: Message, first: Option<i64>) {
        self.descriptors.push(Described { first, machine, message });
    }

    /// Notes an owner, and a thread's process, of a track.
    fn mention(&mut self, key: OwnerKey, first: Option<i64>, owners: &Owners) {
        let process = match key {
            OwnerKey::Thread(utid) => owners.process_of(utid).map(OwnerKey::Process),
            OwnerKey::Process(_) => None,
        };
        for key in [key].into_iter().chain(process) {
            let known = self.owners.entry(key).or_default();
            *known = [*known, first].into_iter().flatten().min();
        }
    }

    /// Adds a track; `timed` has the threads whose CPU time has a descriptor.
    fn add(
        &mut self,
        row: &Row,
        choice: &Choice<'_>,
        has_uuid_of_thread: bool,
        timed: &mut HashMap<i64, u64>,
    ) {
        let owners = choice.owners;
        let (thread, process) = (row.utid.map(OwnerKey::Thread), row.upid.map(OwnerKey::Process));
        for key in [thread, process].into_iter().flatten() {
            self.mention(key, row.first, owners);
        }
        let own = choice.uuids.track(row.id);
        let uuid = |key: Option<OwnerKey>| key.and_then(|key| owners.uuid(key));
        let is_ownerless = thread.or(process).is_some() && uuid(thread.or(process)).is_none();
        self.unlike.count(Difference::Ownerless, u64::from(is_ownerless));
        let (thread, process) = (uuid(thread), uuid(process));
        let name = row.name.as_deref();
        let (kind, uuid) = match (row.kind.as_str(), thread, process) {
            ("thread_execution", Some(thread), _) if has_uuid_of_thread => (Kind::Thread, thread),
            ("chrome_process_instant", _, Some(process)) => (Kind::ProcessInstants, process),
            // It needs some uuid that is no thread's.
            ("legacy_chrome_global_instants", ..) => {
                (Kind::GlobalInstants, choice.uuids.process(1))
            }
            ("thread_execution" | "chrome_process_instant", ..) => {
                self.unlike.count(Difference::Apart, u64::from(!is_ownerless));
                let alone = descriptors::alone(own, thread.or(process), row.file.as_deref());
                self.describe(row.machine, alone, row.first);
                (Kind::Lane, own)
            }
            ("json_counter", ..) => {
                let counter = descriptors::counter(own, process, name.unwrap_or_default());
                self.describe(row.machine, counter, row.first);
                (Kind::Counter, own)
            }
            (kind, ..) => {
                let key = match kind {
                    "thread_overlapping_slice" => OVERLAPPING,
                    _ => row.set.as_deref().unwrap_or_default(),
                };
                self.unlike.count(Difference::Nameless, u64::from(name.is_none()));
                let lane = descriptors::lane(own, thread.or(process), name, key);
                self.describe(row.machine, lane, row.first);
                (Kind::Lane, own)
            }
        };
        let mut thread_time = None;
        if row.has_thread_time
            && let (Some(utid), Some(thread)) = (row.utid, thread)
        {
            let uuid = *timed.entry(utid).or_insert_with(|| {
                let uuid = choice.uuids.thread_time(utid);
                self.unlike.count(Difference::Timed, 1);
                self.descriptors.push(Described {
                    first: row.first,
                    machine: row.machine,
                    message: descriptors::thread_time(uuid, thread),
                });
                uuid
            });
            thread_time = Some(uuid);
        }
        let machine = row.machine;
        self.all.insert(row.id, Track { kind, uuid, machine, thread_time });
    }
}
