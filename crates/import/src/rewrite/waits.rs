//! The times that wait for a snapshot in one pass over a trace, for the next pass (rule D2).
//!
//! # Design
//!
//! Both passes ask for the same times in the same order, so a number is enough to identify a time that
//! waited. Times that are settled at the end of their file come in the order of these numbers. So do times
//! that are settled at the end of all files, with packets and snapshots apart. So three queues outside of
//! memory hold the results, and the next pass takes them from the front.

use std::io;

use timebase_store::sort::Scratch;

use crate::compact::{Put, Take};
use crate::place::{Settled, TraceTime};
use crate::spill::{Records, SpillQueue};

/// Collects the settled times.
pub(crate) struct Collected {
    queues: [SpillQueue; 3],
    record: Vec<u8>,
}

/// Whether a time is settled at the end of its file, or of all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    File,
    All,
}

impl Collected {
    pub fn new(scratch: &Scratch) -> Self {
        Collected { queues: std::array::from_fn(|_| SpillQueue::new(scratch)), record: Vec::new() }
    }

    /// Collects a settled time.
    pub fn settled(&mut self, settled: &Settled<'_>, end: End) {
        let (number, ts, queue) = match settled {
            Settled::Packet { id, result: Ok(ts), .. } => (*id, *ts, usize::from(end == End::All)),
            Settled::Event(event) => match event.result {
                Ok(ts) => (event.row.id, ts, usize::from(end == End::All)),
                Err(_) => return,
            },
            Settled::Snapshot { id, result: Ok(ts), .. } => (*id, *ts, 2),
            _ => return,
        };
        self.record.clear();
        let TraceTime(ts) = ts;
        Put(&mut self.record).integer(number).integer(ts);
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.push(&self.record);
        }
    }

    /// The settled times, for the next pass.
    ///
    /// # Errors
    ///
    /// If the times cannot be read back.
    pub fn known(self) -> io::Result<Known> {
        let mut fronts = Vec::new();
        for queue in self.queues {
            let mut records = queue.records()?;
            let next = take(&mut records)?;
            fronts.push(Front { records, next });
        }
        Ok(Known { fronts })
    }
}

struct Front {
    records: Records,
    next: Option<(i64, TraceTime)>,
}

fn take(records: &mut Records) -> io::Result<Option<(i64, TraceTime)>> {
    let Some(record) = records.next()? else {
        return Ok(None);
    };
    let mut take = Take(record);
    Ok(Some((take.integer()?, TraceTime(take.integer()?))))
}

/// All times that waited in the last pass.
#[derive(Default)]
pub(crate) struct Known {
    fronts: Vec<Front>,
}

impl Known {
    /// The time with this number. The caller asks for ever larger numbers.
    ///
    /// # Errors
    ///
    /// If the times cannot be read back.
    pub fn get(&mut self, number: i64) -> io::Result<Option<TraceTime>> {
        for front in &mut self.fronts {
            while let Some((of, ts)) = front.next.filter(|(of, _)| *of <= number) {
                front.next = take(&mut front.records)?;
                if of == number {
                    return Ok(Some(ts));
                }
            }
        }
        Ok(None)
    }
}
