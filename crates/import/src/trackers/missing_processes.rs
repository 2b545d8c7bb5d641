//! Chrome's processes that were connected to the recorder, but are missing in the trace (rule J10).
//!
//! # Design
//!
//! A process is missed at a time if it is active at that time and is not described near it. Only the last
//! such time counts. So the times before the last description are forgotten. The times of the last fifth of a
//! second stay, and one earlier time.

use std::collections::BTreeMap;

use timebase_schema::tables::experimental_missing_chrome_processes;

use crate::output::{Cell, Rows};
use crate::world::Upid;

/// A description is near if its distance is at most this many nanoseconds.
const NEAR: i64 = 200_000_000;

/// The processes that were active, or that their tracks described.
#[derive(Debug, Default)]
pub(super) struct MissingProcesses {
    processes: BTreeMap<Upid, Process>,
    machines: BTreeMap<u32, Active>,
}

#[derive(Debug, Default)]
struct Process {
    /// The last time at which it was described.
    described: Option<i64>,
    /// The times of activity since then to which a description may still be near.
    open: Vec<i64>,
    /// The last time of activity since then to which no description can be near any more.
    missed: Option<i64>,
    /// The first time at which any process was active after the last of these times.
    next_active: Option<i64>,
    /// The time of the description that ended the missing, if the process was described again.
    described_again: Option<i64>,
}

/// The activity of a machine's processes.
#[derive(Debug, Default)]
struct Active {
    last: Option<i64>,
    /// The processes that were active at that time, and that no description was near to.
    waiting: Vec<Upid>,
}

impl MissingProcesses {
    /// Notes that a process is active.
    pub fn active(&mut self, ts: i64, machine: u32, upid: Upid) {
        let active = self.machines.entry(machine).or_default();
        if active.last != Some(ts) {
            active.last = Some(ts);
            for upid in active.waiting.drain(..) {
                if let Some(process) = self.processes.get_mut(&upid) {
                    process.next_active = Some(ts);
                }
            }
        }
        let process = self.processes.entry(upid).or_default();
        let is_near = |described: i64| described >= ts.saturating_sub(NEAR);
        if process.described.is_some_and(is_near) || process.open.last() == Some(&ts) {
            return;
        }
        let over = process.open.partition_point(|open| open.saturating_add(NEAR) < ts);
        process.missed = process.open.drain(..over).next_back().or(process.missed);
        process.open.push(ts);
        process.next_active = None;
        active.waiting.push(upid);
    }

    /// Notes that a process is described.
    pub fn described(&mut self, ts: i64, upid: Upid) {
        let process = self.processes.entry(upid).or_default();
        process.described = Some(ts);
        let mut times = process.missed.iter().chain(&process.open);
        if times.any(|time| time.saturating_add(NEAR) < ts) {
            process.described_again = Some(ts);
        }
        process.missed = None;
        process.open = Vec::new();
    }

    /// Writes the missed processes as rows.
    pub fn end(&mut self, rows: &mut Rows<'_>) {
        let processes = std::mem::take(&mut self.processes).into_iter();
        for (upid, process) in processes {
            let is_missing = process.missed.is_some() || !process.open.is_empty();
            let reliable_from = match is_missing {
                true => process.next_active,
                false if process.described_again.is_none() => continue,
                false => process.described_again,
            };
            let id = rows.count(&experimental_missing_chrome_processes::TABLE);
            rows.push(experimental_missing_chrome_processes::Row {
                id: Cell::from(id),
                upid: Cell::from(upid.0),
                reliable_from: Cell::or_null(reliable_from),
            });
        }
    }
}
