//! The place of a found track in the trace that is read: its owner, and the owner's uuid.
//!
//! # Design
//!
//! A second uuid for a thread makes a second thread (rule J3). So a found track is a child of the uuid that the
//! trace has for its owner, and only an owner without one is described. The tables have no uuids of owners, but
//! the packets that describe them have.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};
use timebase_descriptor::field::Value;
use timebase_schema::fields::{process_descriptor, thread_descriptor, track_descriptor};

use super::descriptors;
use super::message::Message;
use super::uuids::Uuids;
use crate::readers::fields;

/// The owner of rows that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Thread(i64),
    Process(i64),
    All,
}

/// An owner's place in the trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stand {
    /// Its uuid; `None` without an owner.
    pub uuid: Option<u64>,
    pub machine: i64,
    /// No event of it may be earlier than this, because there would be another thread.
    pub first: i64,
    /// Its descriptors are not later than this, for the same reason.
    pub last: i64,
    /// Whether the trace lacks a descriptor of it.
    is_new: bool,
    numbers: (i64, Option<i64>),
}

/// The uuids of a trace, by what they describe: machine, pid and tid.
pub(super) type Described = HashMap<(i64, i64, Option<i64>), Vec<u64>>;

/// All owners that were looked up.
pub(crate) struct Stands<'c> {
    conn: &'c Connection,
    /// `None` if the trace is in JSON: its uuids are then those of its rows.
    described: Option<Described>,
    used: HashSet<u64>,
    known: HashMap<Owner, Stand>,
    next: u64,
}

impl<'c> Stands<'c> {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn of(conn: &'c Connection, is_json: bool) -> rusqlite::Result<Stands<'c>> {
        let mut used = HashSet::new();
        let described = match is_json {
            true => None,
            false => Some(described(conn, &mut used)?),
        };
        // No program counts its uuids from here.
        let next = 0x7469_6d65_0000_0000;
        Ok(Stands { conn, described, used, known: HashMap::new(), next })
    }

    /// A uuid that nothing has.
    pub fn uuid(&mut self) -> u64 {
        loop {
            self.next = self.next.wrapping_add(1);
            if self.used.insert(self.next) {
                return self.next;
            }
        }
    }

    /// The place of an owner; `None` if there is no such owner.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn stand(&mut self, owner: Owner) -> rusqlite::Result<Option<Stand>> {
        if let Some(stand) = self.known.get(&owner) {
            return Ok(Some(*stand));
        }
        let Some(stand) = self.find(owner)? else {
            return Ok(None);
        };
        self.known.insert(owner, stand);
        Ok(Some(stand))
    }

    fn find(&mut self, owner: Owner) -> rusqlite::Result<Option<Stand>> {
        let nowhere = Stand {
            uuid: None,
            machine: 0,
            first: i64::MIN,
            last: i64::MAX,
            is_new: false,
            numbers: (0, None),
        };
        let (sql, id) = match owner {
            Owner::All => return Ok(Some(nowhere)),
            Owner::Thread(utid) => (
                "SELECT p.pid, t.tid, t.machine_id, max(ifnull(t.start_ts, -1), ifnull(p.start_ts, -1)), t.end_ts,
                        (SELECT count(*) FROM thread_record AS o WHERE o.tid = t.tid AND o.upid = t.upid),
                        t.upid IS NOT NULL
                 FROM thread_record AS t LEFT JOIN process_record AS p ON p.id = t.upid WHERE t.id = ?1",
                utid,
            ),
            Owner::Process(upid) => (
                "SELECT p.pid, NULL, p.machine_id, ifnull(p.start_ts, -1), p.end_ts,
                        (SELECT count(*) FROM process_record AS o WHERE o.pid = p.pid AND o.machine_id = p.machine_id), 1
                 FROM process_record AS p WHERE p.id = ?1",
                upid,
            ),
        };
        let found = self.conn.query_row(sql, [id], |row| {
            let numbers: (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
            let times: (i64, Option<i64>) = (row.get(3)?, row.get(4)?);
            Ok((
                numbers,
                row.get::<_, i64>(2)?,
                times,
                row.get::<_, i64>(5)?,
                row.get::<_, bool>(6)?,
            ))
        });
        let Some(((pid, tid), machine, (start, end), rows, has_pid)) = found.optional()? else {
            return Ok(None);
        };
        let is_thread = matches!(owner, Owner::Thread(_));
        let stand = Stand {
            machine,
            first: if start < 0 { i64::MIN } else { start.saturating_add(1) },
            last: end.map_or(i64::MAX, |end| end.saturating_sub(1)),
            numbers: (pid.unwrap_or(0), tid),
            ..nowhere
        };
        let of_json = match owner {
            Owner::Thread(utid) => Uuids { base: 0 }.thread(utid),
            Owner::Process(upid) => Uuids { base: 0 }.process(upid),
            Owner::All => 0,
        };
        let Some(described) = &self.described else {
            return Ok(Some(Stand { uuid: Some(of_json), ..stand }));
        };
        let (Some(pid), true) = (pid.filter(|_| has_pid && id != 0), !is_thread || tid.is_some())
        else {
            return Ok(Some(Stand { machine, ..nowhere }));
        };
        let uuids = described.get(&(machine, pid, tid)).map(Vec::as_slice).unwrap_or_default();
        Ok(Some(match uuids {
            [uuid] if rows == 1 => Stand { uuid: Some(*uuid), ..stand },
            [] if rows == 1 => Stand { uuid: Some(self.uuid()), is_new: true, ..stand },
            // It is not known which uuid is whose, so the track has no owner.
            _ => Stand { machine, ..nowhere },
        }))
    }

    /// The owner that was looked up and has this uuid.
    pub fn owner_of(&self, uuid: u64) -> Option<Owner> {
        let found = self.known.iter().find(|(_, stand)| stand.uuid == Some(uuid) && stand.is_new);
        found.map(|(owner, _)| *owner)
    }

    /// The descriptor of an owner that the trace does not describe, the first time.
    pub fn descriptor(&mut self, owner: Owner) -> Option<Message> {
        let stand = self.known.get_mut(&owner).filter(|stand| stand.is_new)?;
        stand.is_new = false;
        let uuid = stand.uuid?;
        Some(match stand.numbers {
            (pid, Some(tid)) => descriptors::thread(uuid, (pid, tid), None, None),
            (pid, None) => descriptors::process(uuid, pid, None, None),
        })
    }

    /// The uuid of a track of slices on which an event without a lane finds them, and its owner.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn track(&mut self, track: i64) -> rusqlite::Result<Option<(u64, Owner)>> {
        let sql = "SELECT type, utid, (SELECT args ->> '$.trace_id' FROM arg_set WHERE id = source_arg_set_id)
                   FROM track_record WHERE id = ?1";
        let found = self.conn.query_row(sql, [track], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, Option<i64>>(1)?,
                row.get::<_, Option<i64>>(2)?,
            ))
        });
        let Some((kind, utid, uuid)) = found.optional()? else {
            return Ok(None);
        };
        match (kind.as_str(), utid, uuid) {
            ("thread_execution", Some(utid), _) => {
                let owner = Owner::Thread(utid);
                let stand = self.stand(owner)?;
                Ok(stand.and_then(|stand| stand.uuid).map(|uuid| (uuid, owner)))
            }
            (
                "thread_track_event" | "process_track_event" | "global_track_event",
                _,
                Some(uuid),
            ) => Ok(Some((uuid.cast_unsigned(), Owner::All))),
            _ => Ok(None),
        }
    }
}

/// The uuids of all processes and threads that packets describe.
///
/// # Errors
///
/// If the database cannot be read.
pub(super) fn described(conn: &Connection, used: &mut HashSet<u64>) -> rusqlite::Result<Described> {
    let mut described = Described::new();
    let sql = "SELECT ifnull(machine_id, 0), data FROM packet WHERE type = 'track_descriptor' AND data IS NOT NULL ORDER BY id";
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (machine, packet): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let inside = |field| message(&packet, field);
        let Some(descriptor) = inside(timebase_schema::fields::trace_packet::TRACK_DESCRIPTOR)
        else {
            continue;
        };
        let Some(uuid) = number(descriptor, track_descriptor::UUID) else {
            continue;
        };
        let is_first = used.insert(uuid);
        let owner = match message(descriptor, track_descriptor::THREAD) {
            Some(thread) => {
                let of_thread = |field| number(thread, field).map(u64::cast_signed);
                let pid = of_thread(thread_descriptor::PID);
                let tid = of_thread(thread_descriptor::TID);
                pid.zip(tid).map(|(pid, tid)| (pid, Some(tid)))
            }
            None => message(descriptor, track_descriptor::PROCESS)
                .and_then(|process| number(process, process_descriptor::PID))
                .map(|pid| (pid.cast_signed(), None)),
        };
        if let Some((pid, tid)) = owner.filter(|_| is_first) {
            // A negative number is read as one of 32 bits without a sign (rule FP3).
            let pid = pid & i64::from(u32::MAX);
            described.entry((machine, pid, tid)).or_default().push(uuid);
        }
    }
    Ok(described)
}

/// The last message of a field.
fn message(bytes: &[u8], field: u32) -> Option<&[u8]> {
    let found = fields(bytes).filter_map(|(number, value, _)| match value {
        Value::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    });
    found.last()
}

/// The last number of a field.
fn number(bytes: &[u8], field: u32) -> Option<u64> {
    let found = fields(bytes).filter_map(|(number, value, _)| match value {
        Value::Varint(value) if number == field => Some(value),
        _ => None,
    });
    found.last()
}
