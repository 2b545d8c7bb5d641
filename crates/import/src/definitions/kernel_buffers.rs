//! The time that kernel events of each CPU cover, and the time before all CPUs have events (rule FE9).
//!
//! # Design
//!
//! A reader notes the first and the last event of each bundle, so there is one entry for each CPU of a file, and
//! the cost is that of a bundle, not of an event. Two checks of the doctor, and the doubt about rows, need these
//! times. The alternative was to find them by SQL. But no index has kernel events by CPU, so the doctor would
//! read all of them, and the doubt has to be known before the first event is followed.

use std::collections::BTreeMap;

use timebase_schema::tables::ftrace_cpu;

use super::{Machines, ucpu};
use crate::output::{Cell, Rows};
use crate::place::TraceTime;

/// The kernel events of a bundle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BundleTimes {
    pub packet: i64,
    /// The file, the machine and the CPU.
    pub of: (u32, u32, u32),
    /// The least and the greatest time; `None` without an event that has a time.
    pub times: Option<(i64, i64)>,
    /// The thread of the first event, if it is known.
    pub first_tid: Option<i32>,
    /// Whether the CPU was idle at the first event.
    pub is_first_idle: bool,
    /// Whether events before the bundle were lost.
    pub lost_events: bool,
}

/// The kernel events of a CPU in a file.
#[derive(Debug, Clone, Copy)]
struct CpuBuffer {
    packet: i64,
    times: Option<(i64, i64)>,
    first_tid: Option<i32>,
    is_first_idle: bool,
    /// Whether events before its first bundle were lost.
    is_cut: bool,
}

/// The kernel events of all CPUs.
#[derive(Debug, Default)]
pub(crate) struct KernelBuffers {
    /// By file, machine and CPU.
    cpus: BTreeMap<(u32, u32, u32), CpuBuffer>,
    /// The time from which on all CPUs of a machine have events, if there is evidence that some lack the events
    /// before it.
    complete_from: BTreeMap<u32, i64>,
}

impl KernelBuffers {
    /// Adds the events of a bundle.
    pub fn add(&mut self, bundle: &BundleTimes) {
        let known = self.cpus.entry(bundle.of).or_insert(CpuBuffer {
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
        if first < start {
            known.packet = bundle.packet;
            known.first_tid = bundle.first_tid;
            known.is_first_idle = bundle.is_first_idle;
        }
        known.times = Some((start.min(first), end.max(last)));
    }

    /// Finds the time from which on all CPUs of each machine have events (rule FE9). `wraps` tells whether a buffer
    /// of a file dropped its begin.
    pub fn settle(&mut self, machines: &Machines, wraps: impl Fn(u32) -> bool) {
        let mut starts: BTreeMap<u32, (i64, Option<i64>)> = BTreeMap::new();
        for (&(file, machine, _), cpu) in &self.cpus {
            let Some((first, _)) = cpu.times else {
                continue;
            };
            let (start, latest) = starts.entry(machine).or_insert((first, None));
            *start = first.min(*start);
            if !cpu.is_first_idle && (cpu.is_cut || wraps(file)) {
                *latest = Some(first).max(*latest);
            }
        }
        for (machine, (start, latest)) in starts {
            let stated = machines.get(machine).and_then(|said| said.buffers_begin);
            let stated = stated.map(|TraceTime(begin)| begin);
            let complete = stated.max(latest).filter(|&complete| complete > start);
            if let Some(complete) = complete {
                self.complete_from.insert(machine, complete);
            }
        }
    }

    /// Whether CPUs of a machine lack their events at this time.
    #[inline]
    pub fn lacks(&self, machine: u32, ts: i64) -> bool {
        match self.complete_from.is_empty() {
            true => false,
            false => self
                .complete_from
                .get(&machine)
                .is_some_and(|&complete| ts < complete),
        }
    }

    /// For each thread that the first event of a CPU has, its machine, its tid, and the time of the event. If there
    /// are several such CPUs, the latest counts.
    pub fn first_seen(&self) -> BTreeMap<(u32, i64), i64> {
        let mut threads = BTreeMap::new();
        for (&(_, machine, _), cpu) in &self.cpus {
            if let Some(((first, _), tid)) = cpu.times.zip(cpu.first_tid)
                && tid != 0
            {
                let latest = threads.entry((machine, tid.into())).or_insert(first);
                *latest = first.max(*latest);
            }
        }
        threads
    }

    /// Makes a row for each CPU of a file.
    pub fn end(&self, rows: &mut Rows<'_>) {
        for (&(file, machine, cpu), buffer) in &self.cpus {
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
