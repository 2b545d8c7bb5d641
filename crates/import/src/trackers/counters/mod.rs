//! Counters: the values of events, and their tracks (rules M1 to M13, OT2, OT3).
//!
//! # Design
//!
//! Each source has a file. It decodes its messages and puts values on series, which `series.rs`
//! turns into tracks. `series.rs` remembers tracks by a few bytes, because some sources have a
//! hundred fixed tracks four times a second, and others a million values on one track. The
//! alternative to code was a table of all counters, from fields to tracks. But half of the counters
//! are sums, differences or depend on earlier values.
//!
//! | rules | file |
//! |---|---|
//! | M2, and GK6, which is similar | `ftrace.rs` |
//! | M5 | `memory.rs`, with `sizes.rs` |
//! | M6 | `process_stats.rs` |
//! | M7, M8 | `sys_stats.rs` |
//! | M9, M10 | `power.rs` |
//! | M11, M12, and GPUs (H4) | `gpu.rs` |
//! | M13 | `properties.rs` |
//! | OT2, OT3 | `energy.rs` |
//! | CU, RT14 | `cpu_per_uid.rs`, with `sparse.rs` |
//! | RT15 | `wakelocks.rs`, with `sparse.rs` |

mod cpu_per_uid;
mod energy;
mod ftrace;
mod gpu;
mod memory;
mod power;
mod process_stats;
mod properties;
mod series;
mod sizes;
mod sparse;
mod sys_stats;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod wakelocks;

use cpu_per_uid::CpuPerUid;
pub(super) use energy::ENERGY_FAULTS;
use energy::EnergyTracks;
use gpu::GpuCounters;
use memory::MemoryOwners;
use power::PowerRails;
use series::{CounterSample, CounterTracks};
use sys_stats::Disks;
use timebase_schema::fields::ftrace_event::GPU_MEM_TOTAL;
use timebase_schema::fields::trace_packet as packet;
use wakelocks::Wakelocks;
pub(super) use wakelocks::{NOTICED as WAKELOCKS_NOTICED, WAKELOCK_FAULTS};

use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::message::Message;
use crate::output::{LogMessage, Severity};
use crate::timeline::{Energy, FtraceEvent, PacketEvent};
use crate::world::{CPUS, Utid};

/// The state of counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    tracks: CounterTracks,
    owners: MemoryOwners,
    disks: Disks,
    rails: PowerRails,
    energy: EnergyTracks,
    gpu: GpuCounters,
    cpu_per_uid: CpuPerUid,
    wakelocks: Wakelocks,
}

impl Counters {
    /// The kernel events that it takes.
    pub const EVENTS: Events =
        Events::new(ftrace::EVENTS).and(&Events::new(memory::EVENTS)).with(GPU_MEM_TOTAL);
}

impl Tracker for Counters {
    fn begin(&mut self, at: &mut TrackerContext<'_, '_>) {
        self.rails.begin(at);
        self.gpu.begin(at);
    }

    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let (machine, message) = (event.machine, Message(event.message));
        let mut sample = CounterSample { tracks: &mut self.tracks, at, ts, machine };
        ftrace::event(event.field, message, emitter, &mut sample);
        gpu::memory_of_event(event.field, message, &mut sample);
        self.owners.event(event.field, message, emitter, &mut sample);
    }

    fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let message = Message(packet.payload);
        let mut sample =
            CounterSample { tracks: &mut self.tracks, at, ts, machine: packet.machine };
        match packet.field {
            packet::SYS_STATS => sys_stats::packet(message, &mut self.disks, &mut sample),
            packet::PROCESS_STATS => process_stats::packet(message, &mut sample),
            packet::BATTERY => power::battery(message, &mut sample),
            packet::GPU_COUNTER_EVENT => self.gpu.samples(ts, packet, message, at),
            packet::INITIAL_DISPLAY_STATE => properties::display_state(message, &mut sample),
            packet::GPU_MEM_TOTAL_EVENT => gpu::memory(message, &mut sample),
            packet::ANDROID_SYSTEM_PROPERTY => properties::packet(message, &mut sample),
            packet::ANDROID_ENERGY_ESTIMATION_BREAKDOWN => self.energy.breakdown(ts, packet, at),
            packet::ENTITY_STATE_RESIDENCY => self.energy.residency(ts, packet, at),
            packet::CPU_PER_UID_DATA => self.cpu_per_uid.packet(packet, message, &mut sample),
            packet::KERNEL_WAKELOCK_DATA => self.wakelocks.packet(packet, message, &mut sample),
            packet::GENERIC_KERNEL_CPU_FREQ_EVENT => {
                ftrace::generic_cpu_frequency(message, &mut sample)
            }
            packet::GENERIC_GPU_FREQUENCY_EVENT => {
                ftrace::generic_gpu_frequency(message, &mut sample)
            }
            packet::GPU_INFO => gpu::info(packet.machine, message, at),
            _ => {}
        }
    }

    fn energy(&mut self, ts: i64, energy: &Energy, at: &mut TrackerContext<'_, '_>) {
        self.rails.sample(ts, energy, at);
    }

    fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        self.gpu.end(at);
        self.cpu_per_uid.end(at);
        if self.tracks.beyond_cpus > 0 {
            let text = format!(
                "{} counter values of CPUs above {} are left out",
                self.tracks.beyond_cpus,
                CPUS - 1
            );
            let code = "counter_cpu_out_of_range";
            let message = LogMessage::new(Severity::Warning, code, text);
            message.push(at.rows);
        }
    }
}
