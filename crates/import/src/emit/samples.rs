//! Samples of callstacks of JSON traces (rule JS28) as packets of streamed profiles.
//!
//! # Design
//!
//! The samples of a sequence are those of one thread, and their times are differences to a reference that the thread's
//! descriptor on the sequence states. So each thread with samples has a sequence, and each sample is a packet at its
//! place in the order of time. Packets of many samples would be smaller, but readers that sort in windows drop samples
//! that are much later than their packet.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Statement};
use timebase_schema::fields::{
    callstack, frame, interned_data, mapping, streaming_profile_packet, thread_descriptor,
    trace_packet,
};

use super::error::EmitError;
use super::message::Message;
use super::sequence::{Sequence, Sink, Table, Time};

/// The samples of all threads.
pub(super) const SAMPLES: &str = "
    SELECT s.ts, s.callsite_id, t.utid, (SELECT machine_id FROM thread_record WHERE id = t.utid)
    FROM stack_sample_record AS s JOIN stack_sample_task_record AS t ON t.id = s.task_id
    WHERE s.callsite_id IS NOT NULL AND t.utid IS NOT NULL ORDER BY s.ts, s.id";

/// The frames of a callstack, the outermost first.
const FRAMES: &str = "
    WITH RECURSIVE up (id, depth, parent_id, frame_id) AS (
      SELECT id, depth, parent_id, frame_id FROM stack_profile_callsite WHERE id = ?1
      UNION ALL
      SELECT c.id, c.depth, c.parent_id, c.frame_id FROM up JOIN stack_profile_callsite AS c ON c.id = up.parent_id)
    SELECT f.id, f.name, y.source_file FROM up JOIN stack_profile_frame AS f ON f.id = up.frame_id
    LEFT JOIN stack_profile_symbol AS y ON y.id = f.symbol_set_id ORDER BY up.depth";

/// A sample of a thread's callstack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub ts: i64,
    pub callsite: i64,
    pub utid: i64,
    /// The row of the thread's machine.
    pub machine: i64,
}

impl Sample {
    /// # Errors
    ///
    /// If the row cannot be read.
    pub fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Sample> {
        Ok(Sample {
            ts: row.get(0)?,
            callsite: row.get(1)?,
            utid: row.get(2)?,
            machine: row.get(3)?,
        })
    }
}

/// The sequence of a thread's samples, since its state was cleared.
struct Thread {
    sequence: Sequence,
    /// The time of the last sample, in microseconds.
    last: i64,
    frames: HashMap<i64, u64>,
    callstacks: HashMap<i64, u64>,
}

/// Writes samples in the order of time.
pub(super) struct Samples<'c> {
    frames: Statement<'c>,
    /// The number of the first sequence.
    first: u64,
    threads: BTreeMap<i64, Thread>,
    /// The first frame of each name. Readers take frames of one name and address for one, whatever their source file is;
    /// so others have their ids as addresses.
    names: HashMap<Option<Box<str>>, i64>,
}

/// The number of the mapping, which has no name, and is the only entry of its table.
const MAPPING: u64 = 1;

impl<'c> Samples<'c> {
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn new(conn: &'c Connection, first: u64) -> rusqlite::Result<Samples<'c>> {
        let (threads, names) = (BTreeMap::new(), HashMap::new());
        Ok(Samples { frames: conn.prepare(FRAMES)?, first, threads, names })
    }

    /// Writes a sample of the thread with this pid and tid, and tells whether its time is exact.
    ///
    /// # Errors
    ///
    /// If the database cannot be read, or the receiver does not take a packet.
    pub fn write(
        &mut self,
        sample: &Sample,
        (pid, tid): (i64, i64),
        time: Time,
        out: &mut Sink<'_>,
    ) -> Result<bool, EmitError> {
        let next = self.first.saturating_add(self.threads.len() as u64);
        let thread = self.threads.entry(sample.utid).or_insert_with(|| Thread {
            sequence: Sequence::new(next),
            last: 0,
            frames: HashMap::new(),
            callstacks: HashMap::new(),
        });
        let micros = sample.ts.div_euclid(1000);
        thread.sequence.begin();
        if thread.sequence.is_cleared() {
            thread.frames.clear();
            thread.callstacks.clear();
            let mut descriptor = Message::new();
            descriptor.signed(thread_descriptor::PID, pid).signed(thread_descriptor::TID, tid);
            descriptor.signed(thread_descriptor::REFERENCE_TIMESTAMP_US, micros);
            let payload = (trace_packet::THREAD_DESCRIPTOR, &descriptor);
            thread.sequence.packet(time, payload, out)?;
            thread.last = micros;
            let mut entry = Message::new();
            entry.number(mapping::IID, MAPPING);
            thread.sequence.entry(interned_data::MAPPINGS, &entry);
        }
        let callstack = match thread.callstacks.get(&sample.callsite) {
            Some(known) => *known,
            None => thread.callstack(sample.callsite, &mut self.frames, &mut self.names)?,
        };
        let mut profile = Message::new();
        profile.number(streaming_profile_packet::CALLSTACK_IID, callstack);
        let delta = micros.saturating_sub(thread.last);
        profile.signed(streaming_profile_packet::TIMESTAMP_DELTA_US, delta);
        thread.last = micros;
        let payload = (trace_packet::STREAMING_PROFILE_PACKET, &profile);
        thread.sequence.packet(time, payload, out)?;
        Ok(sample.ts % 1000 == 0)
    }
}

impl Thread {
    /// Interns a callstack that the sequence does not know yet.
    fn callstack(
        &mut self,
        callsite: i64,
        frames: &mut Statement<'_>,
        names: &mut HashMap<Option<Box<str>>, i64>,
    ) -> rusqlite::Result<u64> {
        let number = self.callstacks.len() as u64 + 1;
        let mut stack = Message::new();
        stack.number(callstack::IID, number);
        let mut rows = frames.query([callsite])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            let frame = match self.frames.get(&id) {
                Some(known) => *known,
                None => {
                    let (name, source): (Option<String>, Option<String>) =
                        (row.get(1)?, row.get(2)?);
                    let first = *names.entry(name.as_deref().map(Box::from)).or_insert(id);
                    let address = if first == id { 0 } else { id };
                    self.frame((id, address), name.as_deref(), source.as_deref())
                }
            };
            stack.number(callstack::FRAME_IDS, frame);
        }
        self.sequence.entry(interned_data::CALLSTACKS, &stack);
        self.callstacks.insert(callsite, number);
        Ok(number)
    }

    fn frame(
        &mut self,
        (id, address): (i64, i64),
        name: Option<&str>,
        source: Option<&str>,
    ) -> u64 {
        let number = self.frames.len() as u64 + 1;
        let mut entry = Message::new();
        entry.number(frame::IID, number).number(frame::MAPPING_ID, MAPPING);
        if let Some(name) = name {
            let name = self.sequence.number(Table::FunctionNames, name);
            entry.number(frame::FUNCTION_NAME_ID, name);
        }
        if let Some(source) = source {
            let source = self.sequence.number(Table::SourcePaths, source);
            entry.number(frame::SOURCE_PATH_IID, source);
        }
        if address != 0 {
            entry.signed(frame::REL_PC, address);
        }
        self.sequence.entry(interned_data::FRAMES, &entry);
        self.frames.insert(id, number);
        number
    }
}
