//! All trackers, and the events that each of them gets.

use std::io;

use super::atrace::Atrace;
use super::buffers::Buffers;
use super::counters::{Counters, ENERGY_FAULTS};
use super::events::Events;
use super::frames::{self, FRAME_TIMELINE_EVENT, Frames};
use super::gpu::Gpu;
use super::interrupts::Interrupts;
use super::kernel::{self, Kernel};
use super::processes::Processes;
use super::profiles::{self, Profiles};
use super::records::Recording;
use super::sched::{self, Sched};
use super::signals::Signals;
use super::track_events::TrackEvents;
use super::tracker::{At, Tracker};
use crate::output::{Doubt, Fault};
use crate::place::TraceTime;
use crate::timeline::{Event, Waker};
use crate::world::ucpu;

/// The trackers' faults for which every machine of a file has a counter, even if there are no
/// faults (rules FT, GK, KE, OT).
pub(crate) fn faults_of_machines() -> impl Iterator<Item = Fault> {
    let kernel = [
        sched::INVALID_ORDER,
        sched::INVALID_STATE,
        kernel::TRUNCATED,
    ];
    let frames = [frames::PARSER_ERROR, frames::UNPAIRED];
    frames.into_iter().chain(kernel).chain(ENERGY_FAULTS)
}

/// The trackers of the import: processes, threads, mappings and frames belong to machines, and what the
/// recording says of itself to files. Processes get each event first, so that the others find the thread
/// that an event creates.
#[derive(Default)]
pub(super) struct Shared {
    processes: Processes,
    profiles: Profiles,
    recording: Recording,
}

impl Shared {
    /// There are no more events.
    pub fn end(&mut self, at: &mut At<'_, '_>) {
        self.processes.end(at);
        self.profiles.end(at);
    }
}

/// The trackers of one part (rule X42).
#[derive(Default)]
pub(super) struct Trackers {
    pub sched: Sched,
    atrace: Atrace,
    interrupts: Interrupts,
    signals: Signals,
    buffers: Buffers,
    gpu: Gpu,
    counters: Counters,
    track_events: TrackEvents,
    frames: Frames,
    kernel: Kernel,
}

impl Trackers {
    /// The trackers that take any packet or kernel event.
    fn all(&mut self) -> [&mut dyn Tracker; 7] {
        [
            &mut self.sched,
            &mut self.atrace,
            &mut self.interrupts,
            &mut self.signals,
            &mut self.buffers,
            &mut self.gpu,
            &mut self.counters,
        ]
    }

    /// All statements that hold for the whole trace are known, and no event of the part has come yet.
    pub fn begin(&mut self, at: &mut At<'_, '_>) {
        for tracker in self.all() {
            tracker.begin(at);
        }
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
        at: &mut At<'_, '_>,
    ) -> io::Result<()> {
        if is_of_cpu(event) && is_before(ts, at) {
            return Ok(());
        }
        let buffers = at.world.statements().map(|part| &part.kernel_buffers);
        let lacks_cpus = is_of_cpu(event) && buffers.is_some_and(|buffers| buffers.lack(ts));
        at.world.doubt = lacks_cpus.then_some(Doubt::CpusMissing);
        match event {
            Event::Switch(switch) => {
                self.sched.switch(ts, switch, is_begun(ts, at), at);
            }
            Event::Waking(waking) => {
                let is_begun = is_begun(ts, at);
                let pid = match waking.waker {
                    Waker::Tid(tid) => Some(tid),
                    Waker::Running { .. } => None,
                };
                let on = (waking.machine, waking.cpu);
                self.sched.sees(ts, on, pid, is_begun, at);
                self.sched.waking(ts, waking, is_begun, at);
            }
            Event::Ftrace(event) => {
                let tid = i64::from(event.tid);
                let emitter = at.world.threads.emitter(ts, event.machine, tid);
                if let Some(ucpu) = ucpu(event.machine, event.cpu) {
                    at.world.cpus.see(ucpu);
                }
                let is_begun = is_begun(ts, at);
                let on = (event.machine, event.cpu);
                self.sched.sees(ts, on, Some(event.tid), is_begun, at);
                let is_read = !event.message.is_empty() || reads_ftrace(event.field);
                if !is_read || !is_begun {
                    return Ok(());
                }
                if kernel::EVENTS.has(event.field) {
                    self.kernel.ftrace(ts, event, emitter, at);
                } else {
                    if event.field == PRINT {
                        self.kernel.marks(ts, emitter, at);
                    }
                    shared.processes.ftrace(ts, event, emitter, at);
                    for tracker in self.all() {
                        tracker.ftrace(ts, event, emitter, at);
                    }
                }
            }
            Event::Packet(packet) if packet.field == FRAME_TIMELINE_EVENT => {
                self.frames.packet(ts, packet, at);
            }
            Event::Packet(packet) => {
                shared.processes.packet(ts, packet, at);
                for tracker in self.all() {
                    tracker.packet(ts, packet, at);
                }
            }
            // A reference, so that the hundreds of bytes of an event are not moved.
            Event::Track(record) => match record.read() {
                Ok(ref event) => {
                    self.track_events.event(ts, event, at);
                    if profiles::awaits(event) {
                        let stacked = self.track_events.stacked();
                        shared.profiles.track_event(ts, event, stacked, at);
                    }
                }
                Err(error) => return Err(error),
            },
            Event::Profile(event) => shared.profiles.event(ts, event, at)?,
            Event::Recorded(event) => shared.recording.event(ts, event, at),
            Event::LogLine(line) => {
                shared.processes.log_line(line, at);
                for tracker in self.all() {
                    tracker.log_line(line, at);
                }
            }
            Event::Energy(energy) => {
                for tracker in self.all() {
                    tracker.energy(ts, energy, at);
                }
            }
            Event::PacketsLost { .. } | Event::Nothing => {}
        }
        Ok(())
    }

    /// There are no more events of the part.
    pub fn end(&mut self, at: &mut At<'_, '_>) {
        at.world.doubt = None;
        for tracker in self.all() {
            tracker.end(at);
        }
        self.track_events.end_states(at);
        self.kernel.end(at);
    }
}

/// Whether a CPU's buffer had the event.
fn is_of_cpu(event: &Event<'_>) -> bool {
    match event {
        Event::Switch(_) | Event::Waking(_) | Event::Ftrace(_) => true,
        Event::Packet(_) | Event::LogLine(_) | Event::Energy(_) => false,
        Event::Track(_) | Event::Profile(_) | Event::Recorded(_) => false,
        Event::PacketsLost { .. } | Event::Nothing => false,
    }
}

/// Whether a kernel event is older than the recording (rule O5).
#[inline]
fn is_before(ts: i64, at: &At<'_, '_>) -> bool {
    let of_part = at.world.statements().filter(|part| !part.preserves_buffer);
    of_part
        .and_then(|part| part.tracing_started)
        .is_some_and(|started| ts.unsigned_abs() < started)
}

/// Whether all ring buffers of the part have begun (rule O6).
#[inline]
fn is_begun(ts: i64, at: &At<'_, '_>) -> bool {
    let of_part = at.world.statements();
    of_part
        .and_then(|part| part.buffers_begin)
        .is_none_or(|TraceTime(begin)| ts >= begin)
}

/// Whether a tracker reads a kernel event, by its field of `FtraceEvent`.
#[inline]
pub(crate) fn reads_ftrace(field: u32) -> bool {
    READ.has(field)
}

/// The field of `FtraceEvent`.
const PRINT: u32 = 3;

/// The kernel events that trackers read, in addition to switches and wakings.
const READ: Events = kernel::EVENTS.and(&Events::new(&[
    3,   // print
    11,  // cpu_frequency
    12,  // cpu_frequency_limits
    13,  // cpu_idle
    14,  // clock_enable
    15,  // clock_disable
    16,  // clock_set_rate
    18,  // sched_blocked_reason
    24,  // softirq_entry
    25,  // softirq_exit
    36,  // irq_handler_entry
    37,  // irq_handler_exit
    80,  // tracing_mark_write
    235, // task_newtask
    236, // task_rename
    240, // sched_process_free
    313, // rss_stat
    314, // ion_heap_shrink
    315, // ion_heap_grow
    324, // signal_deliver
    325, // signal_generate
    326, // oom_score_adj_update
    328, // mm_event_record
    331, // zero
    332, // gpu_frequency
    333, // sde_tracing_mark_write
    334, // mark_victim
    335, // ion_stat
    340, // gpu_mem_total
    341, // thermal_temperature
    342, // cdev_update
    348, // dpu_tracing_mark_write
    349, // g2d_tracing_mark_write
    350, // mali_tracing_mark_write
    351, // dma_heap_stat
    359, // rss_stat_throttled
    467, // lwis_tracing_mark_write
    484, // samsung_tracing_mark_write
    509, // kgsl_gpu_frequency
    579, // dmabuf_rss_stat
]));
