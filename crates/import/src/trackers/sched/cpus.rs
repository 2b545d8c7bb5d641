//! The state of CPUs, and the times in which their events may be missing.

use super::gaps::{Gaps, MachineCpu};
use super::row::{OffCpuRow, flush};
use super::slices::{SchedSliceId, SchedSlices};
use crate::definitions::{CPUS, ucpu};
use crate::output::{Doubt, Loss, Rows};
use crate::summary::LossKind;
use crate::world::Utid;

/// The CPU that is this `ucpu`.
pub(super) fn machine_cpu(ucpu: u32) -> MachineCpu {
    (ucpu / CPUS, ucpu % CPUS)
}

/// The state of a CPU.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// The thread that the last switch of either encoding switched to.
    pub running: Option<Utid>,
    /// The pid of this thread.
    pub pid: u32,
    /// Whether the last switch was compact.
    pub is_compact: bool,
    /// The open row, and the pid in the switch that opened it.
    pub open: Option<(SchedSliceId, u32)>,
    /// Whether an event since the last switch showed that a switch is missing.
    pub is_told: bool,
    /// Whether the next switch, if it is compact, opens a row for a thread that may be the wrong one (rule
    /// DT3).
    pub blurs: bool,
    /// The number of the CPU's gaps that had ended at the last compact switch.
    gaps_passed: usize,
    /// The time of its last event.
    last: Option<i64>,
    /// Pairs of events between which a switch is missing, in the order of time.
    missed: Vec<(i64, i64)>,
    /// Complete rows that a gap may still overlap: the CPU's next event decides.
    held: Vec<(Utid, OffCpuRow)>,
}

impl Cpu {
    /// Whether the CPU runs this slice.
    pub fn runs(&self, slice: SchedSliceId) -> bool {
        self.open.is_some_and(|(open, _)| open == slice)
    }

    /// Whether a gap that the CPU's switches and events show overlaps this time.
    #[inline]
    pub fn misses(&self, start: i64, end: Option<i64>) -> bool {
        let next = self.missed.partition_point(|&(_, ends)| ends <= start);
        let next = self.missed.get(next);
        next.is_some_and(|&(starts, _)| end.is_none_or(|end| starts < end))
    }

    /// Whether the CPU's next event may show a gap that begins before this time.
    #[inline]
    pub fn may_miss(&self, end: i64) -> bool {
        self.last.is_some_and(|last| last < end)
    }
}

/// The CPUs of a part, and their gaps.
#[derive(Debug, Default)]
pub(super) struct Cpus {
    /// By the CPU's number, which is small.
    all: Vec<Cpu>,
    pub gaps: Gaps,
    /// The time of the last event that showed a gap.
    last_missed: Option<i64>,
    /// Whether a waking was seen.
    pub has_wakings: bool,
}

impl Cpus {
    #[inline]
    pub fn get(&mut self, (_, cpu): MachineCpu) -> &mut Cpu {
        let cpu = cpu as usize;
        if self.all.len() <= cpu {
            self.all.resize_with(cpu + 1, Cpu::default);
        }
        &mut self.all[cpu]
    }

    #[inline]
    pub fn find(&self, (_, cpu): MachineCpu) -> Option<&Cpu> {
        self.all.get(cpu as usize)
    }

    /// The open slices of this machine's CPUs.
    pub fn open(&self, machine: u32) -> impl Iterator<Item = (MachineCpu, SchedSliceId)> {
        let all = (0..).zip(&self.all);
        all.filter_map(move |(cpu, known)| Some(((machine, cpu), known.open?.0)))
    }

    /// Takes an event of a CPU, which may show that a switch before it is missing (rule DT1).
    #[inline]
    pub fn arrives(
        &mut self,
        ts: i64,
        on: MachineCpu,
        misses: bool,
        slices: &mut SchedSlices,
        rows: &mut Rows<'_>,
    ) {
        let cpu = self.get(on);
        let before = cpu.last.replace(ts);
        if !misses && cpu.held.is_empty() {
            return;
        }
        if misses {
            self.missed(ts, on, before, rows);
        }
        self.release(ts, on, misses, slices, rows);
    }

    /// Records that a switch is missing between two events of a CPU.
    #[cold]
    fn missed(&mut self, ts: i64, on: MachineCpu, before: Option<i64>, rows: &mut Rows<'_>) {
        let (machine, number) = on;
        let loss = Loss {
            start: before,
            end: Some(ts),
            machine: Some(machine),
            ucpu: ucpu(machine, number),
            ..Loss::new(LossKind::Switch)
        };
        loss.push(rows);
        if let Some(before) = before {
            self.get(on).missed.push((before, ts));
            self.last_missed = Some(ts);
        }
    }

    /// Writes the rows that waited for the next event of a CPU.
    #[cold]
    fn release(
        &mut self,
        ts: i64,
        on: MachineCpu,
        misses: bool,
        slices: &mut SchedSlices,
        rows: &mut Rows<'_>,
    ) {
        for (utid, row) in &mut self.get(on).held {
            if misses && row.ts < ts {
                row.doubt(Doubt::Lost);
            }
            flush(*utid, row, slices, rows);
        }
        self.get(on).held.clear();
    }

    /// Keeps a row that has ended until the next event of a CPU.
    pub fn hold(&mut self, on: MachineCpu, utid: Utid, row: OffCpuRow) {
        self.get(on).held.push((utid, row));
    }

    /// Writes the rows that still wait, because there are no more events.
    pub fn end(&mut self, slices: &mut SchedSlices, rows: &mut Rows<'_>) {
        for cpu in &self.all {
            for (utid, row) in &cpu.held {
                flush(*utid, row, slices, rows);
            }
        }
    }

    /// Whether bundles say that kernel events of any CPU are missing in this time.
    pub fn loses_in(&self, start: i64, end: Option<i64>) -> bool {
        let gaps = self.gaps.of_all();
        gaps.is_some_and(|gaps| gaps.overlap(start, end))
    }

    /// Whether bundles show a gap of a CPU that overlaps this time.
    #[inline]
    pub fn loses_on(&self, on: MachineCpu, start: i64, end: Option<i64>) -> bool {
        let gaps = self.gaps.of_cpu(on);
        gaps.is_some_and(|gaps| gaps.overlap(start, end))
    }

    /// Whether a gap of any CPU ends after this time.
    pub fn lacks_after(&self, ts: i64) -> bool {
        self.last_missed.is_some_and(|last| last > ts) || self.loses_in(ts, None)
    }

    /// Whether a compact switch is the first one after a gap (rule DT6).
    #[inline]
    pub fn passes_gap(&mut self, ts: i64, on: MachineCpu) -> bool {
        let Some(gaps) = self.gaps.of_cpu(on) else {
            return false;
        };
        let passed = gaps.ended(ts);
        let cpu = self.get(on);
        let before = std::mem::replace(&mut cpu.gaps_passed, passed);
        before < passed
    }
}
