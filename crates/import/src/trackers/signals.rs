//! Signals, and threads that are killed for lack of memory: instants of threads (rule B10).

use timebase_schema::fields::{
    ftrace_event as event, mark_victim_ftrace_event as victim,
    signal_deliver_ftrace_event as deliver, signal_generate_ftrace_event as generate,
};

use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::timeline::FtraceEvent;
use crate::world::{NewSlice, Utid};

/// Follows signals.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The arguments of the current event.
    args: ArgBuf,
}

impl Signals {
    /// The kernel events that it takes.
    pub const EVENTS: Events =
        Events::new(&[event::SIGNAL_DELIVER, event::SIGNAL_GENERATE, event::MARK_VICTIM]);
}

impl Tracker for Signals {
    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(event.message);
        let (pid, name, signal) = match event.field {
            event::SIGNAL_GENERATE => {
                (message.small(generate::PID), "signal_generate", Some(generate::SIG))
            }
            event::SIGNAL_DELIVER => (None, "signal_deliver", Some(deliver::SIG)),
            event::MARK_VICTIM => (message.small(victim::PID), "mem.oom_kill", None),
            _ => return,
        };
        let machine = event.machine;
        let utid = match event.field {
            event::SIGNAL_DELIVER => emitter,
            _ => at.world.threads.thread(machine, pid.unwrap_or(0).into()),
        };
        self.args.clear();
        if let Some(field) = signal {
            let signal = message.small(field).unwrap_or(0) as i32;
            let signal = ArgValue::Int(signal.into());
            let names = &mut at.world.definitions.names;
            self.args.push("signal.sig", signal, names);
        }
        let track = at.world.tracks.of_thread(utid);
        let slice = NewSlice::named(ts, track, at.world.definitions.names.label(name));
        at.world.add_slice(slice, 0, self.args.as_bytes(), at.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Number, Trace};
    use super::*;

    #[test]
    fn b10_signals_are_instants_of_threads() {
        let trace = Trace::default()
            .print(1, 5, "B|5|a")
            .ftrace(2, 5, event::SIGNAL_GENERATE, &[(4, Number(6)), (6, Number(9))])
            .ftrace(3, 6, event::SIGNAL_DELIVER, &[(3, Number(u64::MAX))])
            .ftrace(4, 6, event::MARK_VICTIM, &[(1, Number(5))]);
        assert_eq!(
            trace.slices(),
            [
                "1+-1 0 a, thread_execution/-#0 utid1",
                "2+0 0 signal_generate, thread_execution/-#1 utid2 signal.sig=9",
                "3+0 0 signal_deliver, thread_execution/-#1 utid2 signal.sig=-1",
                "4+0 1 mem.oom_kill, thread_execution/-#0 utid1",
            ]
        );
    }
}
