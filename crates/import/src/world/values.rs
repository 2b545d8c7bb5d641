//! Values of counters (rules M1, M4): the ids of values, and the values whose tracks are known only
//! later.
//!
//! # Design
//!
//! A value gets its id when its event comes, so that ids are in the order of events. Its row may be
//! complete later, because rows of `counter_record` come in any order. If a value belongs to the
//! process of a thread that is not bound yet, its track is unknown before the end of the trace.
//! Such a value is stored outside of memory, because there may be as many as kernel events. Values
//! of bound threads become rows at once, because a thread is bound for good (rule P4). It would
//! be simpler to store all of them, but this would cost a temporary file in every trace.

use std::io;

use timebase_schema::tables::counter_record;
use timebase_store::sort::Scratch;

use super::World;
use super::groups::TimeOf;
use super::parts::PartWorlds;
use super::thread_counters::{ProcessTracks, ThreadCounter};
use super::threads::{Threads, Utid};
use super::tracks::{Owner, TrackId, Tracks};
use crate::compact::{Put, Take, cut};
use crate::output::{Cell, Doubt, Rows};
use crate::place::PartIx;
use crate::spill::SpillQueue;

/// A value that has its time, and thereby its id.
#[derive(Debug)]
pub(crate) struct Measurement {
    id: i64,
    ts: i64,
    doubt: Option<Doubt>,
}

impl Measurement {
    /// The same value, which may be wrong.
    pub fn doubted(self, doubt: Option<Doubt>) -> Measurement {
        Measurement { doubt, ..self }
    }

    /// Its row in `counter`.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Makes the row, with the track of the value.
    pub fn complete(
        self,
        track: TrackId,
        value: f64,
        arg_set_id: Option<i64>,
        rows: &mut Rows<'_>,
    ) {
        if rows.state_of().is_some_and(|of| self.ts >= of.from) {
            return;
        }
        rows.push(counter_record::Row {
            id: Cell::from(self.id),
            ts: Cell::from(self.ts),
            track_id: Cell::from(track.0),
            value: Cell::number(value),
            arg_set_id: Cell::or_null(arg_set_id),
            doubt: Cell::or_null(self.doubt.map(Doubt::number)),
        });
        rows.count_value(self.doubt.is_some());
    }
}

/// A value of a counter that belongs to the process of a thread (rule M4).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadValue {
    pub machine: u32,
    pub utid: Utid,
    pub counter: &'static ThreadCounter,
    pub value: f64,
}

/// The state for all values.
pub(super) struct Values {
    /// The id of the next value.
    next: i64,
    pub(super) of_processes: ProcessTracks,
    /// The values of threads that are not bound.
    waiting: SpillQueue,
    /// Their counters, by the numbers that the queue has for them.
    counters: Vec<&'static ThreadCounter>,
    record: Vec<u8>,
}

impl Values {
    /// Values that do not fit memory go to `scratch`.
    pub fn new(scratch: &Scratch) -> Self {
        Values {
            next: 0,
            of_processes: ProcessTracks::default(),
            waiting: SpillQueue::new(scratch),
            counters: Vec::new(),
            record: Vec::new(),
        }
    }

    fn waits(&mut self, sample: &Measurement, value: &ThreadValue, part: PartIx) {
        let &ThreadValue { machine, utid, counter, value } = value;
        let known = self.counters.iter();
        let mut same = known.zip(0..).filter(|(known, _)| std::ptr::eq(**known, counter));
        let number = match same.next() {
            Some((_, number)) => number,
            None => {
                self.counters.push(counter);
                self.counters.len() as u64 - 1
            }
        };
        self.record.clear();
        Put(&mut self.record)
            .integer(sample.id)
            .integer(sample.ts)
            .natural(part.0.into())
            .natural(machine.into())
            .natural(utid.0.into())
            .natural(number)
            .natural(value.to_bits());
        self.waiting.push(&self.record);
    }

    /// Makes rows of the waiting values, because no thread will be bound any more (rule M4).
    pub fn end(
        self,
        threads: &Threads,
        tracks: &mut Tracks,
        parts: &mut PartWorlds,
        rows: &mut Rows<'_>,
    ) -> io::Result<()> {
        let Values { waiting, counters, .. } = self;
        waiting.drain(|record| {
            let mut take = Take(record);
            let sample = Measurement { id: take.integer()?, ts: take.integer()?, doubt: None };
            let part = PartIx(take.small()?);
            let of_part = parts.of(part).ok_or_else(cut)?;
            let (machine, utid) = (take.small()?, Utid(take.small()?));
            let number = usize::try_from(take.natural()?).map_err(|_| cut())?;
            let counter = *counters.get(number).ok_or_else(cut)?;
            let value = f64::from_bits(take.natural()?);
            tracks.enter(part, &mut of_part.tracks);
            let track = match threads.process_of(utid) {
                Some(upid) => {
                    let of_processes = &mut of_part.of_processes;
                    of_processes.get(machine, upid, counter, tracks)
                }
                None => {
                    let owner = Owner::Thread(utid);
                    tracks.get(counter.track(machine, counter.of_thread, owner))
                }
            };
            tracks.enter(part, &mut of_part.tracks);
            sample.complete(track, value, None, rows);
            Ok(())
        })
    }
}

impl World {
    /// Adds a row with a value of a counter.
    pub fn value(
        &mut self,
        ts: i64,
        track: TrackId,
        value: f64,
        arg_set_id: Option<i64>,
        rows: &mut Rows<'_>,
    ) {
        self.sample(ts).complete(track, value, arg_set_id, rows);
    }

    /// Starts a value whose track comes later.
    pub fn sample(&mut self, ts: i64) -> Measurement {
        self.spans(&counter_record::TABLE, ts, 0);
        self.groups.see(TimeOf::Value, self.part.machine, ts);
        let id = self.values.next;
        self.values.next += 1;
        let doubt = None;
        Measurement { id, ts, doubt }
    }

    /// Adds a value of a counter that belongs to the process of a thread (rule M4).
    pub fn value_of_thread(&mut self, ts: i64, value: &ThreadValue, rows: &mut Rows<'_>) {
        let sample = self.sample(ts);
        let values = &mut self.values;
        match self.threads.process_of(value.utid) {
            Some(upid) => {
                let (of, tracks) = (&mut values.of_processes, &mut self.tracks);
                let track = of.get(value.machine, upid, value.counter, tracks);
                sample.complete(track, value.value, None, rows);
            }
            None => values.waits(&sample, value, self.part.part),
        }
    }
}
