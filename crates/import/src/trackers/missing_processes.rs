//! Chrome's processes that were connected to the recorder, and left out of the trace (rule J10).
//!
//! # Design
//!
//! A process is missed at a time if it is active then and not described near it. Of the times at which it is
//! missed only the last one counts, so the times before the last description are forgotten; what stays are
//! those of the last fifth of a second, and one before.

use std::collections::BTreeMap;

use timebase_schema::tables::experimental_missing_chrome_processes;

use crate::output::{Cell, Rows};
use crate::world::Upid;

/// A description within so many nanoseconds is near.
const NEAR: i64 = 200_000_000;

/// The processes that were active, or described by their tracks.
#[derive(Debug, Default)]
pub(super) struct MissingProcesses {
    processes: BTreeMap<Upid, Process>,
    machines: BTreeMap<u32, Active>,
}

#[derive(Debug, Default)]
struct Process {
    /// The last time at which it was described.
    described: Option<i64>,
    /// When it was active since then, which a description may yet be near to.
    open: Vec<i64>,
    /// The last time at which it was active since then, and which none can be near to any more.
    missed: Option<i64>,
    /// When any process was active after the last of these times.
    next_active: Option<i64>,
    /// Until when it was missing, if it was described again.
    described_again: Option<i64>,
}

/// When processes of a machine were active.
#[derive(Debug, Default)]
struct Active {
    last: Option<i64>,
    /// The processes that nothing described near that time until now.
    waiting: Vec<Upid>,
}

impl MissingProcesses {
    /// A process is active.
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
        let over = process
            .open
            .partition_point(|open| open.saturating_add(NEAR) < ts);
        process.missed = process.open.drain(..over).next_back().or(process.missed);
        process.open.push(ts);
        process.next_active = None;
        active.waiting.push(upid);
    }

    /// A process is described.
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

    /// The processes that were missed are rows.
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
