//! The statements that hold for one part, which is a file's packets of one machine (rule X42).

use rustc_hash::FxHashSet;
use timebase_resolver::{ClockId, SeqId};

use super::{Config, Energy, Gap, GpuCounters, KernelBuffers, Protolog, Rails, Translations};
use crate::place::{PartIx, TraceTime};

/// The statements of a part.
#[derive(Debug, Default)]
pub(crate) struct PartStatements {
    /// Replacements for names, and names for hashes.
    pub translations: Translations,
    pub rails: Rails,
    pub energy: Energy,
    pub gpu_counters: GpuCounters,
    /// The texts of ProtoLog's messages.
    pub protolog: Protolog,
    /// The times when kernel events are missing, according to bundles (rule DT1).
    pub gaps: Vec<Gap>,
    /// The times that kernel events of CPUs cover.
    pub kernel_buffers: KernelBuffers,
    /// The last configuration of the recording.
    pub config: Option<Config>,
    /// Ftrace events before this time are left out (rule O5), unless they were preserved.
    pub tracing_started: Option<u64>,
    pub preserves_buffer: bool,
    /// Whether the file is in JSON and has a complete event (rule JS13).
    pub has_complete: bool,
    /// CPUs whose first bundle has been read.
    first_bundles: FxHashSet<u32>,
    /// The time when all buffers have begun (rule O6).
    pub buffers_begin: Option<TraceTime>,
    /// The begins of other buffers, on clocks that could not be converted yet.
    pub unplaced_begins: Vec<((ClockId, SeqId), u64)>,
}

impl PartStatements {
    /// Notes that a buffer begins.
    pub fn begins(&mut self, ts: TraceTime) {
        self.buffers_begin = self.buffers_begin.max(Some(ts));
    }

    /// Notes that a bundle of a CPU is read; returns whether it is the first.
    pub fn is_first_bundle(&mut self, cpu: u32) -> bool {
        self.first_bundles.insert(cpu)
    }

    /// Whether tracks follow from the statements alone.
    pub fn makes_tracks(&self) -> bool {
        self.rails.iter().next().is_some() || self.gpu_counters.iter().next().is_some()
    }
}

/// The statements of all parts, by the numbers of the parts. Most parts state nothing.
#[derive(Debug, Default)]
pub(crate) struct StatementsOfParts(Vec<Option<Box<PartStatements>>>);

impl StatementsOfParts {
    /// The statements of a part, if it states anything.
    #[inline]
    pub fn get(&self, PartIx(part): PartIx) -> Option<&PartStatements> {
        self.0.get(part as usize)?.as_deref()
    }

    /// The statements of a part, to be changed.
    pub fn of(&mut self, PartIx(part): PartIx) -> &mut PartStatements {
        let place = part as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_default()
    }

    /// The parts that state anything, and their statements.
    pub fn iter(&self) -> impl Iterator<Item = (PartIx, &PartStatements)> {
        let all = (0..).map(PartIx).zip(&self.0);
        all.filter_map(|(part, statements)| Some((part, statements.as_deref()?)))
    }

    /// The parts that state anything, and their statements, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (PartIx, &mut PartStatements)> {
        let all = (0..).map(PartIx).zip(&mut self.0);
        all.filter_map(|(part, statements)| Some((part, statements.as_deref_mut()?)))
    }
}
