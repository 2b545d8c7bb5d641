//! The time that kernel events of each CPU cover, and the time before all CPUs have events (rule FE9).
//!
//! # Design
//!
//! A reader notes the first and the last event of each bundle, so there is one entry for each CPU of a part, and
//! the cost is that of a bundle, not of an event. If events wait for their clock, the first and the last of the
//! bundle wait once more, as [`WaitingEnd`]. Two checks of the doctor, and the doubt about rows, need these
//! times. The alternative was to find them by SQL. But no index has kernel events by CPU, so the doctor would
//! read all of them, and the doubt has to be known before the first event is followed.

use std::collections::BTreeMap;
use std::io;

use timebase_schema::tables::ftrace_cpu;

use super::ucpu;
use crate::compact::{Put, Take};
use crate::output::{Cell, Rows};
use crate::place::PartIx;

/// The kernel events of a bundle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BundleTimes {
    pub packet: i64,
    pub cpu: u32,
    /// The least and the greatest time; `None` without an event that has a time.
    pub times: Option<(i64, i64)>,
    /// The thread of the first event, if it is known.
    pub first_tid: Option<i32>,
    /// Whether the CPU was idle at the first event.
    pub is_first_idle: bool,
    /// Whether events before the bundle were lost.
    pub lost_events: bool,
}

/// The first or the last event of a bundle, while its clock is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitingEnd {
    pub part: PartIx,
    pub cpu: u32,
    /// The thread of the event, if it is known.
    pub tid: Option<i32>,
    pub is_idle: bool,
}

impl WaitingEnd {
    pub fn put(&self, put: &mut Put<'_>) {
        put.natural(self.part.0.into())
            .natural(self.cpu.into())
            .natural(self.is_idle.into())
            .optional(self.tid.map(i64::from));
    }

    pub fn take(take: &mut Take<'_>) -> io::Result<WaitingEnd> {
        Ok(WaitingEnd {
            part: PartIx(take.small()?),
            cpu: take.small()?,
            is_idle: take.natural()? != 0,
            tid: take.optional()?.map(|tid| tid as i32),
        })
    }

    /// The event as a bundle's, now that its time is known.
    pub fn settled(&self, packet: i64, ts: i64) -> BundleTimes {
        BundleTimes {
            packet,
            cpu: self.cpu,
            times: Some((ts, ts)),
            first_tid: self.tid,
            is_first_idle: self.is_idle,
            lost_events: false,
        }
    }
}

/// The kernel events of a CPU.
#[derive(Debug, Clone, Copy)]
struct CpuBuffer {
    packet: i64,
    times: Option<(i64, i64)>,
    first_tid: Option<i32>,
    is_first_idle: bool,
    /// Whether events before its first bundle were lost.
    is_cut: bool,
}

/// The kernel events of the CPUs of a part.
#[derive(Debug, Default)]
pub(crate) struct KernelBuffers {
    cpus: BTreeMap<u32, CpuBuffer>,
    /// The time from which on all CPUs have events, if there is evidence that some lack the events before it.
    complete_from: Option<i64>,
}

impl KernelBuffers {
    /// Adds the events of a bundle.
    pub fn add(&mut self, bundle: &BundleTimes) {
        let known = self.cpus.entry(bundle.cpu).or_insert(CpuBuffer {
            packet: bundle.packet,
            times: None,
            first_tid: None,
            is_first_idle: false,
            is_cut: bundle.lost_events,
        });
        let Some((first, last)) = bundle.times else {
            return;
        };
        let (start, end) = known.times.unwrap_or((i64::MAX, i64::MIN));
        if (first, bundle.packet) < (start, known.packet) {
            known.packet = bundle.packet;
            known.first_tid = bundle.first_tid;
            known.is_first_idle = bundle.is_first_idle;
        }
        known.times = Some((start.min(first), end.max(last)));
    }

    /// Finds the time from which on all CPUs have events (rule FE9). `stated` is the time from which on they have by
    /// their bundles, and `wraps` tells whether a buffer of the recorder dropped its begin.
    pub fn settle(&mut self, stated: Option<i64>, wraps: bool) {
        let all = self.cpus.values();
        let timed = all.filter_map(|cpu| Some((cpu.times?.0, cpu)));
        let start = timed.clone().map(|(first, _)| first).min();
        let missed = timed.filter(|(_, cpu)| !cpu.is_first_idle && (cpu.is_cut || wraps));
        let latest = missed.map(|(first, _)| first).max();
        let complete = stated.max(latest);
        self.complete_from =
            complete.filter(|&complete| start.is_some_and(|start| start < complete));
    }

    /// Whether no CPU has events.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Whether CPUs lack their events at this time.
    #[inline]
    pub fn lack(&self, ts: i64) -> bool {
        self.complete_from.is_some_and(|complete| ts < complete)
    }

    /// The time of a CPU's first event, if it is of this thread. If there are several such CPUs, the latest counts.
    pub fn first_seen(&self, tid: i64) -> Option<i64> {
        let first = |cpu: &CpuBuffer| {
            let is_of = cpu.first_tid.map(i64::from) == Some(tid) && tid != 0;
            Some(cpu.times?.0).filter(|_| is_of)
        };
        self.cpus.values().filter_map(first).max()
    }

    /// Makes a row for each CPU, of a file and a machine.
    pub fn end(&self, (file, machine): (u32, u32), rows: &mut Rows<'_>) {
        for (&cpu, buffer) in &self.cpus {
            let Some(((first, last), ucpu)) = buffer.times.zip(ucpu(machine, cpu)) else {
                continue;
            };
            rows.push(ftrace_cpu::Row {
                trace_file_id: Cell::from(file),
                machine_id: Cell::from(machine),
                ucpu: Cell::from(ucpu),
                first_ts: Cell::from(first),
                last_ts: Cell::from(last),
                first_tid: Cell::or_null(buffer.first_tid),
                is_first_idle: Cell::from(i64::from(buffer.is_first_idle)),
                is_cut: Cell::from(i64::from(buffer.is_cut)),
                first_packet_id: Cell::from(buffer.packet),
            });
        }
    }
}
