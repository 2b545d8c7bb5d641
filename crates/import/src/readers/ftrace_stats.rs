//! Statistics of the kernel's ring buffers, at the start and at the end of the recording, and the
//! features that the recorder could not enable (rules DT1, DT2, O5).

mod counters;

use std::collections::{BTreeMap, BTreeSet};

use timebase_schema::fields::{ftrace_cpu_stats, ftrace_stats as field};

use self::counters::{
    CPU, KPROBE_MISSES, KPROBES, PARSE_ERRORS, SETUP_ERRORS, SYMBOLS_MISSING, TIMES, ZERO_LENGTH,
};
use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::Times;
use super::trace_stats::of;
use crate::definitions::{CPUS, ucpu};
use crate::message::Message;
use crate::output::{Counter, Loss, Rows, Severity};
use crate::place::PartIx;
use crate::summary::LossKind;

/// The moment of the statistics. The values are those of `FtraceStats.Phase`, and an index into
/// each row of counters below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begin,
    End,
}

impl Phase {
    fn of(stats: Message<'_>) -> Option<Phase> {
        match stats.number(field::PHASE)? {
            1 => Some(Phase::Begin),
            2 => Some(Phase::End),
            _ => None,
        }
    }
}

/// `FTRACE_STATUS_ABI_ZERO_DATA_LENGTH`: a page that is filled up with zeros, without a loss.
const ZERO_DATA_LENGTH: u64 = 12;

/// The largest number of lines of the log for a packet.
const MOST_SAID: usize = 1000;

/// Reads statistics of the kernel's buffers.
#[derive(Debug, Default)]
pub(crate) struct FtraceStats {
    /// The losses of each CPU of each part, by the row in [`CPU`], at the start and at the end, and
    /// the last packet that reported them.
    lost: BTreeMap<(PartIx, u32, usize), Lost>,
    /// Kprobes that were missed.
    missed: BTreeMap<PartIx, Loss>,
    /// Sequences that reported features that could not be enabled.
    told: BTreeSet<u32>,
    /// The last packet of each part that says that the kernel gave no symbols.
    without_symbols: BTreeMap<PartIx, Option<Loss>>,
}

#[derive(Debug, Default)]
struct Lost {
    begin: u64,
    end: Option<(u64, Loss)>,
}

impl Reader for FtraceStats {
    type Payload<'a> = Message<'a>;

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        stats: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        rows: &mut Rows<'_>,
    ) {
        if packet.is_lost() {
            return;
        }
        let Some(phase) = Phase::of(stats) else {
            return;
        };
        for cpu in stats.messages(field::CPU_STATS) {
            self.cpu(cpu, phase, packet, context);
        }
        self.kprobes(stats, phase, packet, context);
        parse_errors(stats, packet, context, rows);
        match phase {
            Phase::Begin => {
                if stats.flag(field::PRESERVE_FTRACE_BUFFER) {
                    context.definitions.parts.of(packet.part).preserves_buffer = true;
                }
                self.setup(stats, packet, context, rows);
            }
            Phase::End => {
                let none = stats.number(field::KERNEL_SYMBOLS_PARSED) == Some(0);
                let loss = none.then(|| said_by(packet, LossKind::Setup));
                self.without_symbols.insert(packet.part, loss);
            }
        }
    }

    fn end(&mut self, context: &mut ImportContext, rows: &mut Rows<'_>) {
        for lost in std::mem::take(&mut self.lost).into_values() {
            let Some((end, loss)) = lost.end else {
                continue;
            };
            let grown = end.saturating_sub(lost.begin);
            if grown > 0 {
                loss.counted(grown).push(rows);
            }
        }
        for loss in std::mem::take(&mut self.missed).into_values() {
            loss.push(rows);
        }
        for (part, loss) in std::mem::take(&mut self.without_symbols) {
            let of_part = context.definitions.parts.get(part);
            let config = of_part.and_then(|of_part| of_part.config.as_ref());
            if let Some(loss) = loss.filter(|_| config.is_some_and(|config| config.wants_symbols)) {
                let of = of(&context.place, part);
                context.journal.set(&SYMBOLS_MISSING, of, None, 1);
                loss.push(rows);
            }
        }
    }
}

/// The counters with one value for each machine.
pub(super) fn counters() -> impl Iterator<Item = &'static Counter> {
    let kprobes = KPROBES.iter().flat_map(|(_, counters)| counters);
    kprobes.chain([&SETUP_ERRORS, &SYMBOLS_MISSING, &PARSE_ERRORS, &ZERO_LENGTH])
}

/// A loss that a packet reports.
fn said_by(packet: &PlacedPacket<'_>, kind: LossKind) -> Loss {
    Loss { machine: Some(packet.machine), packet: Some(packet.id), ..Loss::new(kind) }
}

impl FtraceStats {
    fn cpu(
        &mut self,
        stats: Message<'_>,
        phase: Phase,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
    ) {
        let Some(cpu) = stats.number(ftrace_cpu_stats::CPU).or(Some(0)) else {
            return;
        };
        let Some(cpu) = u32::try_from(cpu).ok().filter(|&cpu| cpu < CPUS) else {
            return;
        };
        let (of, idx) = (of(&context.place, packet.part), Some(cpu));
        for (row, grows) in CPU.iter().enumerate() {
            let [begin, end, delta] = &grows.counters;
            let value = stats.number(grows.field).unwrap_or(0);
            let counter = if phase == Phase::End { end } else { begin };
            context.journal.set(counter, of, idx, value.cast_signed());
            if phase == Phase::End
                && let Some(before) = context.journal.recorded(begin, of, idx)
            {
                let grown = value.cast_signed().wrapping_sub(before);
                context.journal.set(delta, of, idx, grown);
            }
            if grows.is_loss {
                let lost = self.lost.entry((packet.part, cpu, row)).or_default();
                match phase {
                    Phase::Begin => lost.begin = value,
                    Phase::End => {
                        let loss = Loss {
                            ucpu: ucpu(packet.machine, cpu),
                            ..said_by(packet, LossKind::KernelBuffer)
                        };
                        lost.end = Some((value, loss));
                    }
                }
            }
        }
        for (field, counters) in &TIMES {
            let [begin, end] = counters;
            let counter = if phase == Phase::End { end } else { begin };
            let seconds = stats.float(*field).unwrap_or(0.0);
            // A value that is too large becomes the largest number. Kernels write such values for
            // an empty buffer.
            context.journal.set(counter, of, idx, (seconds * 1e9) as i64);
        }
    }

    fn kprobes(
        &mut self,
        stats: Message<'_>,
        phase: Phase,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
    ) {
        let of = of(&context.place, packet.part);
        let kprobes = Message(stats.bytes(field::KPROBE_STATS).unwrap_or_default());
        for (field, [begin, end, delta]) in &KPROBES {
            let value = kprobes.number(*field).unwrap_or(0).cast_signed();
            let counter = if phase == Phase::End { end } else { begin };
            context.journal.set(counter, of, None, value);
            if phase == Phase::Begin {
                continue;
            }
            let before = context.journal.recorded(begin, of, None).unwrap_or(0);
            let grown = value.wrapping_sub(before);
            if before != 0 {
                context.journal.set(delta, of, None, grown);
            }
            if *field == KPROBE_MISSES {
                self.missed.remove(&packet.part);
                if let Some(missed) = u64::try_from(grown).ok().filter(|&missed| missed > 0) {
                    let loss = said_by(packet, LossKind::KernelBuffer).counted(missed);
                    self.missed.insert(packet.part, loss);
                }
            }
        }
    }

    /// The features that could not be enabled. Each is a line of the log, because nothing else
    /// names it.
    fn setup(
        &mut self,
        stats: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        rows: &mut Rows<'_>,
    ) {
        let sequence = packet.generation.interval.sequence;
        if self.told.contains(&sequence) {
            return;
        }
        let events = |field, why| stats.each(field).map(move |name| (why, name));
        let texts = |field, why| {
            let text = stats.bytes(field).filter(|text| !text.is_empty());
            text.into_iter().map(move |text| (why, text))
        };
        let errors = events(field::FAILED_FTRACE_EVENTS, "the recorder could not enable event")
            .chain(events(field::UNKNOWN_FTRACE_EVENTS, "the kernel has no event"))
            .chain(texts(field::ATRACE_ERRORS, "atrace failed:"))
            .chain(texts(
                field::EXCLUSIVE_FEATURE_ERROR,
                "another session uses an exclusive feature:",
            ));
        let mut count = 0_i64;
        for (why, what) in errors {
            count += 1;
            said_by(packet, LossKind::Setup).push(rows);
            if count <= MOST_SAID as i64 {
                let what = crate::message::text(what);
                let text = format!("{why} {}", what.trim());
                packet.say(Severity::Warning, "ftrace_setup_errors", text, rows);
            }
        }
        if count > 0 {
            self.told.insert(sequence);
            let of = of(&context.place, packet.part);
            let before = context.journal.recorded(&SETUP_ERRORS, of, None);
            let all = before.unwrap_or(0).saturating_add(count);
            context.journal.set(&SETUP_ERRORS, of, None, all);
        }
    }
}

/// Pages of the kernel's buffers that the recorder could not read.
fn parse_errors(
    stats: Message<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
    rows: &mut Rows<'_>,
) {
    let (mut zeros, mut errors) = (0_u64, 0_u64);
    for error in stats.numbers(field::FTRACE_PARSE_ERRORS) {
        match error {
            ZERO_DATA_LENGTH => zeros += 1,
            _ => errors += 1,
        }
    }
    let of = of(&context.place, packet.part);
    for (counter, more) in [(&ZERO_LENGTH, zeros), (&PARSE_ERRORS, errors)] {
        if more > 0 {
            let before = context.journal.recorded(counter, of, None).unwrap_or(0);
            let all = before.saturating_add(more.cast_signed());
            context.journal.set(counter, of, None, all);
        }
    }
    if errors > 0 {
        let loss = said_by(packet, LossKind::KernelBuffer);
        loss.push(rows);
    }
}
