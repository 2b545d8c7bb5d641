//! The tracks of a database of a JSON trace.

use std::collections::HashMap;

use rusqlite::Connection;

use super::descriptors;
use super::message::Message;
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

/// All tracks by their ids, and their descriptors.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    pub all: HashMap<i64, Track>,
    pub descriptors: Vec<(u64, Message)>,
    /// The names of lanes that have none, and get that of their first slice.
    pub nameless: u64,
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

const TRACKS: &str = "
    SELECT id, type, name, utid, upid,
           (SELECT args ->> '$.name' FROM arg_set WHERE arg_set.id = dimension_arg_set_id),
           machine_id,
           EXISTS (SELECT * FROM slice_record WHERE track_id = track_record.id AND thread_ts IS NOT NULL)
    FROM track_record ORDER BY id";

struct Row {
    id: i64,
    kind: String,
    name: Option<String>,
    utid: Option<i64>,
    upid: Option<i64>,
    set: Option<String>,
    machine: u64,
    has_thread_time: bool,
}

impl Tracks {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of(conn: &Connection, uuids: Uuids) -> rusqlite::Result<Tracks> {
        let mut tracks = Tracks::default();
        let mut statement = conn.prepare(TRACKS)?;
        let mut rows = statement.query([])?;
        let mut timed = HashMap::new();
        while let Some(row) = rows.next()? {
            let row = Row {
                id: row.get(0)?,
                kind: row.get(1)?,
                name: row.get(2)?,
                utid: row.get(3)?,
                upid: row.get(4)?,
                set: row.get(5)?,
                machine: row.get::<_, i64>(6)?.cast_unsigned(),
                has_thread_time: row.get(7)?,
            };
            tracks.add(&row, uuids, &mut timed);
        }
        let greatest = "SELECT max((SELECT ifnull(max(id), 0) FROM track_record),
                                   (SELECT ifnull(max(id), 0) FROM process_record),
                                   (SELECT ifnull(max(id), 0) FROM thread_record))";
        let greatest = conn.query_row(greatest, [], |row| row.get(0))?;
        tracks.add_states(conn, uuids, greatest)?;
        Ok(tracks)
    }

    /// Adds the tracks of threads' states, with uuids after those of all ids.
    fn add_states(
        &mut self,
        conn: &Connection,
        uuids: Uuids,
        greatest: i64,
    ) -> rusqlite::Result<()> {
        let mut next = uuids.after(greatest);
        let mut lanes = Lanes::default();
        let mut statement = conn.prepare(STATES)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let state = State::of(row)?;
            let lane = lanes.take(state.utid, state.ts, state.end());
            let (made, id) = (self.states.values().map(Vec::len).sum::<usize>(), &mut self.states);
            let of_thread = id.entry(state.utid).or_default();
            if lane < of_thread.len() {
                continue;
            }
            next = next.wrapping_add(1);
            let id = -1 - i64::try_from(made).unwrap_or(i64::MAX - 1);
            of_thread.push(id);
            let thread = Some(uuids.thread(state.utid));
            let of_thread = "SELECT machine_id FROM thread_record WHERE id = ?1";
            let machine: i64 = conn.query_row(of_thread, [state.utid], |row| row.get(0))?;
            let machine = machine.cast_unsigned();
            self.descriptors.push((machine, descriptors::lane(next, thread, Some(STATE), STATE)));
            self.all.insert(id, Track { kind: Kind::Lane, uuid: next, machine, thread_time: None });
        }
        Ok(())
    }

    /// Adds a track; `timed` has the threads whose CPU time has a descriptor.
    fn add(&mut self, row: &Row, uuids: Uuids, timed: &mut HashMap<i64, u64>) {
        let own = uuids.track(row.id);
        let (thread, process) =
            (row.utid.map(|id| uuids.thread(id)), row.upid.map(|id| uuids.process(id)));
        let name = row.name.as_deref();
        let (kind, uuid) = match row.kind.as_str() {
            "thread_execution" => (Kind::Thread, thread.unwrap_or(own)),
            "chrome_process_instant" => (Kind::ProcessInstants, process.unwrap_or(own)),
            // It needs some uuid that is no thread's.
            "legacy_chrome_global_instants" => (Kind::GlobalInstants, uuids.process(1)),
            "json_counter" => {
                let counter = descriptors::counter(own, process, name.unwrap_or_default());
                self.descriptors.push((row.machine, counter));
                (Kind::Counter, own)
            }
            kind => {
                let key = match kind {
                    "thread_overlapping_slice" => OVERLAPPING,
                    _ => row.set.as_deref().unwrap_or_default(),
                };
                self.nameless += u64::from(name.is_none());
                let lane = descriptors::lane(own, thread.or(process), name, key);
                self.descriptors.push((row.machine, lane));
                (Kind::Lane, own)
            }
        };
        let mut thread_time = None;
        if row.has_thread_time
            && let (Some(utid), Some(thread)) = (row.utid, thread)
        {
            let uuid = *timed.entry(utid).or_insert_with(|| {
                let uuid = uuids.thread_time(utid);
                self.descriptors.push((row.machine, descriptors::thread_time(uuid, thread)));
                uuid
            });
            thread_time = Some(uuid);
        }
        let machine = row.machine;
        self.all.insert(row.id, Track { kind, uuid, machine, thread_time });
    }
}
