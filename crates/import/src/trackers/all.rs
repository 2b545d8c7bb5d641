//! All trackers, and the events that each of them gets.

use std::io;

use timebase_schema::fields::ftrace_event as event;
use timebase_trace::wire::packet::PacketType;

use super::atrace::Atrace;
use super::buffers::Buffers;
use super::counters::{Counters, ENERGY_FAULTS, WAKELOCK_FAULTS, WAKELOCKS_NOTICED};
use super::events::Events;
use super::frames::{self, Frames};
use super::gpu::Gpu;
use super::interrupts::Interrupts;
use super::json::JsonEvents;
use super::kernel::{self, Kernel};
use super::processes::{Processes, describes};
use super::profiles::{self, Profiles};
use super::records::Recording;
use super::sched::{self, Sched, SchedSlices};
use super::signals::Signals;
use super::small::{self, SmallTables};
use super::track_events::TrackEvents;
use super::tracker::{Tracker, TrackerContext};
use super::winscope::{self, Winscope};
use crate::output::{Counter, Doubt, Fault};
use crate::place::TraceTime;
use crate::timeline::{Event, Waker};
use crate::world::ucpu;

/// The trackers' faults for which every machine of a file has a counter, even if there are no
/// faults (rules FT, GK, KE, OT).
pub(crate) fn faults_of_machines() -> impl Iterator<Item = Fault> {
    let kernel = [sched::INVALID_ORDER, sched::INVALID_STATE, kernel::TRUNCATED];
    let frames = [frames::PARSER_ERROR, frames::UNPAIRED];
    let small = [small::UNKNOWN_STATE].into_iter().chain(WAKELOCK_FAULTS);
    frames.into_iter().chain(kernel).chain(ENERGY_FAULTS).chain(small)
}

/// The trackers' counters that every machine of a file has, even if nothing was counted (rules RT).
pub(crate) fn counters_of_machines() -> impl Iterator<Item = &'static Counter> {
    small::counters().chain(WAKELOCKS_NOTICED.map(|(_, counter)| counter))
}

/// The trackers of the import: processes, threads, mappings and frames belong to machines, and what the
/// recording says of itself to files. Processes get each event first, so that the others find the thread
/// that an event creates.
#[derive(Default)]
pub(super) struct Shared {
    /// The slices of CPUs, which have one numbering, while no part that has kernel events is current.
    pub slices: SchedSlices,
    processes: Processes,
    profiles: Profiles,
    recording: Recording,
    winscope: Winscope,
}

impl Shared {
    /// There are no more events.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) -> io::Result<()> {
        self.processes.end(at);
        self.profiles.end(at)?;
        std::mem::take(&mut self.winscope).end(at);
        Ok(())
    }
}

/// The trackers of one part (rule X42). Those in boxes begin with their first event, because a trace may have ten
/// thousand parts with few events each.
#[derive(Default)]
pub(super) struct Trackers {
    system: Option<Box<OfSystem>>,
    track_events: Option<Box<TrackEvents>>,
    frames: Option<Box<Frames>>,
    kernel: Option<Box<Kernel>>,
    json: Option<Box<JsonEvents>>,
    small: Option<Box<SmallTables>>,
}

/// Declares the trackers of a part's system: a field and a type for each. The type has the kernel events that it takes.
macro_rules! system {
    ($($name:ident: $tracker:ty,)*) => {
        /// The trackers that take any kernel event, and any packet but descriptions.
        #[derive(Default)]
        struct OfSystem {
            $($name: $tracker,)*
        }

        impl OfSystem {
            fn each(&mut self, mut f: impl FnMut(&mut dyn Tracker)) {
                $(f(&mut self.$name);)*
            }
        }

        const OF_SYSTEM: Events = Events::new(&[])$(.and(&<$tracker>::EVENTS))*;
    };
}

system! {
    sched: Sched,
    atrace: Atrace,
    interrupts: Interrupts,
    signals: Signals,
    buffers: Buffers,
    gpu: Gpu,
    counters: Counters,
}

impl Trackers {
    /// All statements that hold for the whole trace are known, and no event of the part has come yet.
    pub fn begin(&mut self, slices: &mut SchedSlices, at: &mut TrackerContext<'_, '_>) {
        if at.world.statements().is_some_and(|part| part.makes_tracks()) {
            self.system(slices, at);
        }
    }

    /// The part becomes current: it gets the slices of CPUs.
    pub fn enter(&mut self, slices: &mut SchedSlices) {
        if let Some(system) = &mut self.system {
            system.sched.slices = std::mem::take(slices);
        }
    }

    /// The part is current no more.
    pub fn leave(&mut self, slices: &mut SchedSlices) {
        if let Some(system) = &mut self.system {
            *slices = std::mem::take(&mut system.sched.slices);
        }
    }

    #[inline]
    fn system(
        &mut self,
        slices: &mut SchedSlices,
        at: &mut TrackerContext<'_, '_>,
    ) -> &mut OfSystem {
        self.system.get_or_insert_with(|| begun(slices, at))
    }

    /// Takes an event of the part.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    #[inline]
    pub fn event(
        &mut self,
        ts: i64,
        event: &Event<'_>,
        shared: &mut Shared,
        at: &mut TrackerContext<'_, '_>,
    ) -> io::Result<()> {
        if is_of_cpu(event) && is_before(ts, at) {
            return Ok(());
        }
        let buffers = at.world.statements().map(|part| &part.kernel_buffers);
        let lacks_cpus = is_of_cpu(event) && buffers.is_some_and(|buffers| buffers.lack(ts));
        at.world.doubt = lacks_cpus.then_some(Doubt::CpusMissing);
        match event {
            Event::Switch(switch) => {
                let system = self.system(&mut shared.slices, at);
                system.sched.switch(ts, switch, is_begun(ts, at), at);
            }
            Event::Waking(waking) => {
                let is_begun = is_begun(ts, at);
                let pid = match waking.waker {
                    Waker::Tid(tid) => Some(tid),
                    Waker::Running { .. } => None,
                };
                let on = (waking.machine, waking.cpu);
                let sched = &mut self.system(&mut shared.slices, at).sched;
                sched.sees(ts, on, pid, is_begun, at);
                sched.waking(ts, waking, is_begun, at);
            }
            Event::Ftrace(event) => {
                let tid = i64::from(event.tid);
                let emitter = at.world.threads.emitter(ts, event.machine, tid);
                if let Some(ucpu) = ucpu(event.machine, event.cpu) {
                    at.world.cpus.see(ucpu);
                }
                let is_begun = is_begun(ts, at);
                let on = (event.machine, event.cpu);
                let system = self.system(&mut shared.slices, at);
                system.sched.sees(ts, on, Some(event.tid), is_begun, at);
                let is_read = !event.message.is_empty() || reads_ftrace(event.field);
                if !is_read || !is_begun {
                    return Ok(());
                }
                if kernel::EVENTS.has(event.field) {
                    let kernel = self.kernel.get_or_insert_default();
                    kernel.ftrace(ts, event, emitter, at);
                } else {
                    if let (event::PRINT, Some(kernel)) = (event.field, &mut self.kernel) {
                        kernel.marks(ts, emitter, at);
                    }
                    shared.processes.ftrace(ts, event, emitter, at);
                    let system = self.system(&mut shared.slices, at);
                    system.each(|tracker| tracker.ftrace(ts, event, emitter, at));
                }
            }
            Event::Packet(packet) if packet.field == PacketType::FRAME_TIMELINE_EVENT.0 => {
                let frames = self.frames.get_or_insert_default();
                frames.packet(ts, packet, at);
            }
            Event::Packet(packet) if small::reads(packet.field) => {
                let small = self.small.get_or_insert_default();
                small.packet(ts, packet, at);
            }
            Event::Packet(packet) if winscope::takes(packet.field) => {
                shared.winscope.packet(ts, packet, at);
            }
            Event::Packet(packet) => {
                shared.processes.packet(ts, packet, at);
                if describes(packet.field) {
                    return Ok(());
                }
                let system = self.system(&mut shared.slices, at);
                system.each(|tracker| tracker.packet(ts, packet, at));
            }
            // A reference, so that the hundreds of bytes of an event are not moved.
            Event::Track(record) => match record.read() {
                Ok(ref event) => {
                    let track_events = self.track_events.get_or_insert_default();
                    track_events.event(ts, event, at);
                    if profiles::awaits(event) {
                        let stacked = track_events.stacked();
                        shared.profiles.track_event(ts, event, stacked, at);
                    }
                }
                Err(error) => return Err(error),
            },
            Event::Json(record) => {
                let event = &record.read()?;
                let json = self.json.get_or_insert_default();
                let sampled = json.event(ts, event, &mut shared.slices, at)?;
                if let Some(utid) = sampled {
                    shared.profiles.json_sample(ts, event, utid, at)?;
                }
            }
            Event::Profile(event) => shared.profiles.event(ts, event, at)?,
            Event::Recorded(event) => shared.recording.event(ts, event, at),
            Event::LogLine(line) => {
                shared.processes.log_line(line, at);
                let system = self.system(&mut shared.slices, at);
                system.each(|tracker| tracker.log_line(line, at));
            }
            Event::Energy(energy) => {
                let system = self.system(&mut shared.slices, at);
                system.each(|tracker| tracker.energy(ts, energy, at));
            }
            Event::PacketsLost { .. } | Event::Nothing => {}
        }
        Ok(())
    }

    /// There are no more events of the part.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        at.world.doubt = None;
        if let Some(system) = &mut self.system {
            system.each(|tracker| tracker.end(at));
        }
        if let Some(track_events) = &mut self.track_events {
            track_events.end_states(at);
        }
        if let Some(kernel) = &mut self.kernel {
            kernel.end(at);
        }
        if let Some(small) = &mut self.small {
            small.end(at);
        }
    }
}

/// The trackers of a part's system, which begin with its first such event.
#[cold]
fn begun(slices: &mut SchedSlices, at: &mut TrackerContext<'_, '_>) -> Box<OfSystem> {
    let mut system = Box::<OfSystem>::default();
    system.sched.slices = std::mem::take(slices);
    system.each(|tracker| tracker.begin(at));
    system
}

/// Whether a CPU's buffer had the event.
fn is_of_cpu(event: &Event<'_>) -> bool {
    match event {
        Event::Switch(_) | Event::Waking(_) | Event::Ftrace(_) => true,
        Event::Packet(_) | Event::LogLine(_) | Event::Energy(_) => false,
        Event::Track(_) | Event::Profile(_) | Event::Recorded(_) | Event::Json(_) => false,
        Event::PacketsLost { .. } | Event::Nothing => false,
    }
}

/// Whether a kernel event is older than the recording (rule O5).
#[inline]
fn is_before(ts: i64, at: &TrackerContext<'_, '_>) -> bool {
    let of_part = at.world.statements().filter(|part| !part.preserves_buffer);
    of_part.and_then(|part| part.tracing_started).is_some_and(|started| ts.unsigned_abs() < started)
}

/// Whether all ring buffers of the part have begun (rule O6).
#[inline]
fn is_begun(ts: i64, at: &TrackerContext<'_, '_>) -> bool {
    let of_part = at.world.statements();
    of_part.and_then(|part| part.buffers_begin).is_none_or(|TraceTime(begin)| ts >= begin)
}

/// Whether a tracker reads a kernel event, by its field of `FtraceEvent`.
#[inline]
pub(crate) fn reads_ftrace(field: u32) -> bool {
    READ.has(field)
}

/// The kernel events that trackers read, in addition to switches and wakings.
const READ: Events = OF_SYSTEM.and(&kernel::EVENTS).and(&Processes::EVENTS);

// No other tracker gets the events of `kernel`.
const _: () = assert!(
    kernel::EVENTS.is_disjoint(&OF_SYSTEM) && kernel::EVENTS.is_disjoint(&Processes::EVENTS)
);
