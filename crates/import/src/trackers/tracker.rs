//! What a tracker is, and who gets which event.

use std::io;
use std::path::Path;

use timebase_trace::Interned;

use super::atrace::Atrace;
use super::buffers::Buffers;
use super::counters::Counters;
use super::gpu_slices::GpuSlices;
use super::interrupts::Interrupts;
use super::processes::Processes;
use super::reads_ftrace;
use super::sched::Sched;
use super::signals::Signals;
use crate::facts::Facts;
use crate::output::Rows;
use crate::place::TraceTime;
use crate::timeline::{Energy, Event, Ftrace, LogLine, Packet, Switch, Timeline, Waking};
use crate::world::{Utid, World, ucpu};

/// Makes rows of events in the order of time.
///
/// When the whole trace is read, [`Tracker::begin`] is called. Then each event is given, in the order of time and,
/// within one time, of the file, to all trackers, in the order in which they are in
/// [`Trackers`]. Then [`Tracker::end`] is called, once.
pub(crate) trait Tracker {
    /// All that is said once is known, and no event yet.
    fn begin(&mut self, _at: &mut At<'_, '_>) {}

    /// A CPU switches. Before `O6` allows it `is_begun` is false.
    fn switch(&mut self, _ts: i64, _switch: &Switch, _is_begun: bool, _at: &mut At<'_, '_>) {}

    /// A thread wakes another one.
    fn waking(&mut self, _ts: i64, _waking: &Waking, _is_begun: bool, _at: &mut At<'_, '_>) {}

    /// Any other event of the kernel, of the thread `emitter`.
    fn ftrace(&mut self, _ts: i64, _event: &Ftrace<'_>, _emitter: Utid, _at: &mut At<'_, '_>) {}

    /// A packet.
    fn packet(&mut self, _ts: i64, _packet: &Packet<'_>, _at: &mut At<'_, '_>) {}

    /// A line of the log.
    fn log_line(&mut self, _line: &LogLine, _at: &mut At<'_, '_>) {}

    /// What has gone through a power rail.
    fn energy(&mut self, _ts: i64, _energy: &Energy, _at: &mut At<'_, '_>) {}

    /// There are no more events: what is still open will never be closed.
    fn end(&mut self, _at: &mut At<'_, '_>) {}
}

/// All that an event may have an effect on.
pub(crate) struct At<'a, 'o> {
    pub world: &'a mut World,
    pub rows: &'a mut Rows<'o>,
}

/// Gives all events of a trace to all trackers. What does not fit memory is put aside
/// in `directory`.
///
/// # Errors
///
/// If what was put aside cannot be written or read back.
pub(crate) fn follow(
    timeline: Timeline,
    facts: Facts,
    interned: Interned,
    directory: &Path,
    rows: &mut Rows<'_>,
) -> io::Result<()> {
    let mut world = World::new(facts, interned, directory, rows);
    let mut trackers = Trackers::default();
    let mut at = At {
        world: &mut world,
        rows,
    };
    trackers.begin(&mut at);
    timeline.drain(|TraceTime(ts), event| {
        let mut at = At {
            world: &mut world,
            rows,
        };
        trackers.event(ts, &event, &mut at);
        Ok(())
    })?;
    let mut at = At {
        world: &mut world,
        rows,
    };
    trackers.end(&mut at);
    world.end(rows)
}

/// The trackers. Processes come first: a thread that an event makes is there for
/// the others.
#[derive(Default)]
struct Trackers {
    processes: Processes,
    sched: Sched,
    atrace: Atrace,
    interrupts: Interrupts,
    signals: Signals,
    buffers: Buffers,
    gpu_slices: GpuSlices,
    counters: Counters,
}

impl Trackers {
    fn all(&mut self) -> [&mut dyn Tracker; 8] {
        [
            &mut self.processes,
            &mut self.sched,
            &mut self.atrace,
            &mut self.interrupts,
            &mut self.signals,
            &mut self.buffers,
            &mut self.gpu_slices,
            &mut self.counters,
        ]
    }

    fn begin(&mut self, at: &mut At<'_, '_>) {
        for tracker in self.all() {
            tracker.begin(at);
        }
    }

    #[inline]
    fn event(&mut self, ts: i64, event: &Event<'_>, at: &mut At<'_, '_>) {
        let machine = match event {
            Event::Switch(Switch { machine, .. })
            | Event::Waking(Waking { machine, .. })
            | Event::Ftrace(Ftrace { machine, .. }) => Some(*machine),
            Event::Packet(_) | Event::LogLine(_) | Event::Energy(_) => None,
        };
        if machine.is_some_and(|machine| is_before(ts, machine, at)) {
            return;
        }
        match event {
            Event::Switch(switch) => {
                self.sched
                    .switch(ts, switch, is_begun(ts, switch.machine, at), at);
            }
            Event::Waking(waking) => {
                self.sched
                    .waking(ts, waking, is_begun(ts, waking.machine, at), at);
            }
            Event::Ftrace(event) => {
                let tid = i64::from(event.tid);
                let emitter = at.world.threads.emitter(ts, event.machine, tid);
                if let Some(ucpu) = ucpu(event.machine, event.cpu) {
                    at.world.cpus.see(ucpu);
                }
                let is_read = !event.message.is_empty() || reads_ftrace(event.field);
                if is_read && is_begun(ts, event.machine, at) {
                    for tracker in self.all() {
                        tracker.ftrace(ts, event, emitter, at);
                    }
                }
            }
            Event::Packet(packet) => {
                for tracker in self.all() {
                    tracker.packet(ts, packet, at);
                }
            }
            Event::LogLine(line) => {
                for tracker in self.all() {
                    tracker.log_line(line, at);
                }
            }
            Event::Energy(energy) => {
                for tracker in self.all() {
                    tracker.energy(ts, energy, at);
                }
            }
        }
    }

    fn end(&mut self, at: &mut At<'_, '_>) {
        for tracker in self.all() {
            tracker.end(at);
        }
    }
}

/// Rule O5: whether an event of the kernel is older than the recording.
#[inline]
fn is_before(ts: i64, machine: u32, at: &At<'_, '_>) -> bool {
    let machine = at.world.facts.machines.get(machine);
    let started = machine.filter(|machine| !machine.preserves_buffer);
    started
        .and_then(|machine| machine.tracing_started)
        .is_some_and(|started| ts.unsigned_abs() < started)
}

/// Rule O6: whether all ring buffers of the machine have begun.
#[inline]
fn is_begun(ts: i64, machine: u32, at: &At<'_, '_>) -> bool {
    let machine = at.world.facts.machines.get(machine);
    machine
        .and_then(|machine| machine.buffers_begin)
        .is_none_or(|TraceTime(begin)| ts >= begin)
}
