//! What interrupts CPUs: slices of their tracks (rule B9).
//!
//! # Design
//!
//! They have trackers of their own and not the scheduler's, as they need nothing of
//! it. The track of a CPU is remembered here: there are many events, and to look up
//! a track by all that it is costs more than the event.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::tracker::{At, Tracker};
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::timeline::Ftrace;
use crate::world::{EndOfSlice, NewSlice, NewTrack, Owner, TrackId, Utid, ucpu};

/// Fields of `FtraceEvent`.
mod event {
    pub const SOFTIRQ_ENTRY: u32 = 24;
    pub const SOFTIRQ_EXIT: u32 = 25;
    pub const IRQ_HANDLER_ENTRY: u32 = 36;
    pub const IRQ_HANDLER_EXIT: u32 = 37;
}

/// The names of soft interrupts.
const SOFT: [&str; 10] = [
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

const CATEGORY: &str = "irq";

/// What `irq_handler_exit` returns if the interrupt was handled.
const HANDLED: u64 = 1;

/// Follows interrupts.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    /// The tracks of CPUs, by type and ucpu.
    tracks: FxHashMap<(&'static str, u32), TrackId>,
    /// The name and the arguments that are being made.
    name: String,
    args: ArgBuf,
}

impl Tracker for Interrupts {
    fn ftrace(&mut self, ts: i64, event: &Ftrace<'_>, _emitter: Utid, at: &mut At<'_, '_>) {
        let message = Message(event.message);
        let (hard, soft) = (("cpu_irq", "Irq"), ("cpu_softirq", "SoftIrq"));
        let vector = message.number(1).unwrap_or(0);
        let soft_name = usize::try_from(vector)
            .ok()
            .and_then(|vector| SOFT.get(vector));
        match event.field {
            event::IRQ_HANDLER_ENTRY => {
                let name = message.text(2).unwrap_or_default();
                self.name.clear();
                // Nothing keeps a text from being written to a String.
                let _ = write!(self.name, "IRQ ({name})");
                let name = std::mem::take(&mut self.name);
                self.begin(ts, event, hard, &name, at);
                self.name = name;
            }
            event::IRQ_HANDLER_EXIT => {
                let ret = match message.number(2) {
                    Some(HANDLED) => "handled",
                    _ => "unhandled",
                };
                self.end(ts, event, hard, ("ret", ArgValue::Text(ret)), at);
            }
            event::SOFTIRQ_ENTRY => {
                if let Some(name) = soft_name {
                    self.begin(ts, event, soft, name, at);
                }
            }
            event::SOFTIRQ_EXIT if soft_name.is_some() => {
                let vector = ArgValue::Int(vector as i64);
                self.end(ts, event, soft, ("vec", vector), at);
            }
            _ => {}
        }
    }
}

impl Interrupts {
    fn begin(
        &mut self,
        ts: i64,
        event: &Ftrace<'_>,
        kind: (&'static str, &str),
        name: &str,
        at: &mut At<'_, '_>,
    ) {
        if let Some(track) = self.track(event, kind, at) {
            let names = &mut at.world.definitions.names;
            let slice = NewSlice {
                category: names.label(CATEGORY),
                ..NewSlice::named(ts, track, names.label(name))
            };
            at.world.begin_slice(slice, &[], at.rows);
        }
    }

    fn end(
        &mut self,
        ts: i64,
        event: &Ftrace<'_>,
        kind: (&'static str, &str),
        (key, value): (&str, ArgValue<'_>),
        at: &mut At<'_, '_>,
    ) {
        if let Some(track) = self.track(event, kind, at) {
            let names = &mut at.world.definitions.names;
            let args = self.args.only(key, value, names);
            let end = EndOfSlice {
                category: names.label(CATEGORY),
                ..EndOfSlice::any(ts, track)
            };
            at.world.end_slice(end, args, at.rows);
        }
    }

    /// The track of the CPU's interrupts of a kind, which has a type and a name.
    fn track(
        &mut self,
        event: &Ftrace<'_>,
        (track_type, name): (&'static str, &str),
        at: &mut At<'_, '_>,
    ) -> Option<TrackId> {
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
