//! The interrupts of CPUs: slices on their tracks (rule B9).
//!
//! # Design
//!
//! Interrupts have their own tracker, because they need nothing from the scheduler's. The track of
//! a CPU is remembered here, because there are many events, and looking up a track by its full
//! description costs more than the event.

use std::fmt::Write;

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    ftrace_event as event, irq_handler_entry_ftrace_event as entry,
    irq_handler_exit_ftrace_event as exit,
};

use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::timeline::FtraceEvent;
use crate::world::{EndOfSlice, NewSlice, NewTrack, Owner, TrackId, Utid, ucpu};

/// The names of soft interrupts.
const SOFT_NAMES: [&str; 10] = [
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "BLOCK_IOPOLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
];

/// A kind of interrupts: the type and the name of their tracks.
struct InterruptKind {
    track_type: &'static str,
    name: &'static str,
}

const HARD: InterruptKind = InterruptKind { track_type: "cpu_irq", name: "Irq" };
const SOFT: InterruptKind = InterruptKind { track_type: "cpu_softirq", name: "SoftIrq" };

const CATEGORY: &str = "irq";

/// The value that `irq_handler_exit` returns if the interrupt was handled.
const HANDLED: u64 = 1;

/// Follows interrupts.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    /// The tracks of CPUs, by type and ucpu.
    tracks: FxHashMap<(&'static str, u32), TrackId>,
    /// The name and the arguments of the current slice.
    name: String,
    args: ArgBuf,
}

impl Interrupts {
    /// The kernel events that it takes.
    pub const EVENTS: Events = Events::new(&[
        event::SOFTIRQ_ENTRY,
        event::SOFTIRQ_EXIT,
        event::IRQ_HANDLER_ENTRY,
        event::IRQ_HANDLER_EXIT,
    ]);
}

impl Tracker for Interrupts {
    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        _emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(event.message);
        let vector = message.number(1).unwrap_or(0);
        let soft_name = usize::try_from(vector).ok().and_then(|vector| SOFT_NAMES.get(vector));
        match event.field {
            event::IRQ_HANDLER_ENTRY => {
                let name = message.text(entry::NAME).unwrap_or_default();
                self.name.clear();
                // Writing a text to a String never fails.
                let _ = write!(self.name, "IRQ ({name})");
                let name = std::mem::take(&mut self.name);
                if let Some(track) = self.track(event, &HARD, at) {
                    begin(ts, track, &name, at);
                }
                self.name = name;
            }
            event::IRQ_HANDLER_EXIT => {
                let ret = match message.number(exit::RET) {
                    Some(HANDLED) => "handled",
                    _ => "unhandled",
                };
                if let Some(track) = self.track(event, &HARD, at) {
                    let end = EndOfSlice::any(ts, track);
                    self.end(end, "ret", ArgValue::Text(ret), at);
                }
            }
            event::SOFTIRQ_ENTRY => {
                if let Some(name) = soft_name
                    && let Some(track) = self.track(event, &SOFT, at)
                {
                    begin(ts, track, name, at);
                }
            }
            event::SOFTIRQ_EXIT if soft_name.is_some() => {
                if let Some(track) = self.track(event, &SOFT, at) {
                    let end = EndOfSlice::any(ts, track);
                    self.end(end, "vec", ArgValue::Int(vector as i64), at);
                }
            }
            _ => {}
        }
    }
}

impl Interrupts {
    fn end(
        &mut self,
        end: EndOfSlice,
        key: &str,
        value: ArgValue<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let names = &mut at.world.definitions.names;
        let args = self.args.only(key, value, names);
        let end = EndOfSlice { category: names.label(CATEGORY), ..end };
        at.world.end_slice(end, args, at.rows);
    }

    /// The CPU's track for a kind of interrupts.
    fn track(
        &mut self,
        event: &FtraceEvent<'_>,
        kind: &InterruptKind,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<TrackId> {
        let &InterruptKind { track_type, name } = kind;
        let ucpu = ucpu(event.machine, event.cpu)?;
        let track = self.tracks.entry((track_type, ucpu)).or_insert_with(|| {
            let name = format!("{name} Cpu {}", event.cpu);
            let owner = Owner::Cpu(ucpu);
            let track = NewTrack::slices(event.machine, track_type, Some(&name), owner);
            at.world.tracks.get(track)
        });
        Some(*track)
    }
}

fn begin(ts: i64, track: TrackId, name: &str, at: &mut TrackerContext<'_, '_>) {
    let names = &mut at.world.definitions.names;
    let slice = NewSlice {
        category: names.label(CATEGORY),
        ..NewSlice::named(ts, track, names.label(name))
    };
    at.world.begin_slice(slice, &[], at.rows);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bytes, Number, Trace};
    use super::*;

    #[test]
    fn b9_interrupts_are_slices_of_their_cpu() {
        let softirq = |vector| [(1, Number(vector))];
        let trace = Trace::default()
            .ftrace(1, 0, event::IRQ_HANDLER_ENTRY, &[(2, Bytes(b"ufs"))])
            .ftrace(2, 0, event::SOFTIRQ_ENTRY, &softirq(9))
            .ftrace(3, 0, event::SOFTIRQ_ENTRY, &softirq(10))
            .ftrace(4, 0, event::IRQ_HANDLER_EXIT, &[(2, Number(1))])
            .ftrace(5, 0, event::SOFTIRQ_EXIT, &softirq(10))
            .ftrace(6, 0, event::SOFTIRQ_EXIT, &softirq(9))
            .ftrace(7, 0, event::IRQ_HANDLER_ENTRY, &[])
            .ftrace(8, 0, event::IRQ_HANDLER_EXIT, &[])
            .ftrace(9, 0, event::IRQ_HANDLER_EXIT, &[]);
        assert_eq!(
            trace.slices(),
            [
                "irq: 1+3 0 IRQ (ufs), cpu_irq/Irq Cpu 3#0 ucpu3 ret=handled",
                "irq: 2+4 0 RCU, cpu_softirq/SoftIrq Cpu 3#1 ucpu3 vec=9",
                "irq: 7+1 0 IRQ (), cpu_irq/Irq Cpu 3#0 ucpu3 ret=unhandled",
            ]
        );
    }
}
