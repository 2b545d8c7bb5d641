//! What CPUs run, and since when events of them may be missing.

use super::gaps::{Gaps, On};
use super::row::{OffCpuRow, flush};
use super::slices::{SchedSliceId, SchedSlices};
use crate::definitions::{CPUS, ucpu};
use crate::output::{Doubt, Loss, Rows};
use crate::summary::LossKind;
use crate::world::Utid;

/// The CPU that is this `ucpu`.
pub(super) fn on(ucpu: u32) -> On {
    (ucpu / CPUS, ucpu % CPUS)
}

/// What a CPU runs.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// Whom the last switch was to, of either encoding.
    pub running: Option<Utid>,
    /// The pid that it has.
    pub pid: u32,
    /// Whether that switch was a compact one.
    pub is_compact: bool,
    /// The row that is open, and the pid that it was opened with.
    pub open: Option<(SchedSliceId, u32)>,
    /// Whether an event since the last switch told that one is missing.
    pub is_told: bool,
    /// Whether the row that the next switch opens is another's, if that switch does not say whom it takes
    /// off the CPU (rule DT3).
    pub blurs: bool,
    /// How many of its gaps had ended at the last compact switch.
    gaps_passed: usize,
    /// When its last event was.
    last: Option<i64>,
    /// Between which events switches are missing, in the order of time.
    missed: Vec<(i64, i64)>,
    /// Rows that are complete, but that a gap which its next event tells of would overlap.
    held: Vec<(Utid, OffCpuRow)>,
}

impl Cpu {
    /// Whether it runs this slice.
    pub fn runs(&self, slice: SchedSliceId) -> bool {
        self.open.is_some_and(|(open, _)| open == slice)
    }

    /// Whether a gap that its switches and events tell of overlaps what it does in this time.
    #[inline]
    pub fn misses(&self, start: i64, end: Option<i64>) -> bool {
        let next = self.missed.partition_point(|&(_, ends)| ends <= start);
        let next = self.missed.get(next);
        next.is_some_and(|&(starts, _)| end.is_none_or(|end| starts < end))
    }

    /// Whether its next event may tell of a gap that begins before this time.
    #[inline]
    pub fn may_miss(&self, end: i64) -> bool {
        self.last.is_some_and(|last| last < end)
    }
}

/// The CPUs of a machine.
#[derive(Debug, Default)]
struct Machine {
    /// By number, which is small.
    cpus: Vec<Cpu>,
    /// When the last switch was that told of a gap.
    last_missed: Option<i64>,
    /// Whether a waking was seen.
    wakes: bool,
}

/// All CPUs, and what is missing of them.
#[derive(Debug, Default)]
pub(super) struct Cpus {
    /// By number, which is small.
    machines: Vec<Machine>,
    pub gaps: Gaps,
}

impl Cpus {
    #[inline]
    fn machine(&mut self, machine: u32) -> &mut Machine {
        let machine = machine as usize;
        if self.machines.len() <= machine {
            self.machines.resize_with(machine + 1, Machine::default);
        }
        &mut self.machines[machine]
    }

    #[inline]
    pub fn get(&mut self, (machine, cpu): On) -> &mut Cpu {
        let cpu = cpu as usize;
        let cpus = &mut self.machine(machine).cpus;
        if cpus.len() <= cpu {
            cpus.resize_with(cpu + 1, Cpu::default);
        }
        &mut cpus[cpu]
    }

    #[inline]
    pub fn find(&self, (machine, cpu): On) -> Option<&Cpu> {
        let machine = self.machines.get(machine as usize)?;
        machine.cpus.get(cpu as usize)
    }

    /// A waking of a machine was seen.
    #[inline]
    pub fn wakes(&mut self, machine: u32) {
        self.machine(machine).wakes = true;
    }

    /// Whether wakings of a machine were seen.
    #[inline]
    pub fn has_wakings(&self, machine: u32) -> bool {
        let machine = self.machines.get(machine as usize);
        machine.is_some_and(|machine| machine.wakes)
    }

    /// The slices that are open.
    pub fn open(&self) -> impl Iterator<Item = (On, SchedSliceId)> {
        let machines = (0..).zip(&self.machines);
        let all = machines.flat_map(|(machine, known)| {
            let cpus = (0..).zip(&known.cpus);
            cpus.map(move |(cpu, known)| ((machine, cpu), known))
        });
        all.filter_map(|(on, cpu)| Some((on, cpu.open?.0)))
    }

    /// An event of a CPU, which may tell that a switch before it is missing (rule DT1).
    #[inline]
    pub fn arrives(
        &mut self,
        ts: i64,
        on: On,
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

    /// A switch is missing between two events of a CPU.
    #[cold]
    fn missed(&mut self, ts: i64, on: On, before: Option<i64>, rows: &mut Rows<'_>) {
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
            self.machine(machine).last_missed = Some(ts);
        }
    }

    /// The rows that were kept until the next event of a CPU are written.
    #[cold]
    fn release(
        &mut self,
        ts: i64,
        on: On,
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
    pub fn hold(&mut self, on: On, utid: Utid, row: OffCpuRow) {
        self.get(on).held.push((utid, row));
    }

    /// There are no more events.
    pub fn end(&mut self, slices: &mut SchedSlices, rows: &mut Rows<'_>) {
        for cpu in self.machines.iter().flat_map(|machine| &machine.cpus) {
            for (utid, row) in &cpu.held {
                flush(*utid, row, slices, rows);
            }
        }
    }

    /// Whether kernel events are missing of a machine in this time, by what bundles say.
    pub fn loses_in(&self, machine: u32, start: i64, end: Option<i64>) -> bool {
        let gaps = self.gaps.of_machine(machine);
        gaps.is_some_and(|gaps| gaps.overlap(start, end))
    }

    /// Whether a gap that bundles tell of overlaps what a CPU does in this time.
    #[inline]
    pub fn loses_on(&self, on: On, start: i64, end: Option<i64>) -> bool {
        let gaps = self.gaps.of_cpu(on);
        gaps.is_some_and(|gaps| gaps.overlap(start, end))
    }

    /// Whether a gap of the machine is not over then.
    pub fn lacks_after(&self, machine: u32, ts: i64) -> bool {
        let known = self.machines.get(machine as usize);
        let last = known.and_then(|machine| machine.last_missed);
        last.is_some_and(|last| last > ts) || self.loses_in(machine, ts, None)
    }

    /// A compact switch: whether it is the first one after a gap (rule DT6).
    #[inline]
    pub fn passes_gap(&mut self, ts: i64, on: On) -> bool {
        let Some(gaps) = self.gaps.of_cpu(on) else {
            return false;
        };
        let passed = gaps.ended(ts);
        let cpu = self.get(on);
        let before = std::mem::replace(&mut cpu.gaps_passed, passed);
        before < passed
    }
}
