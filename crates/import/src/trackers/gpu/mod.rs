//! The work of GPUs, and the programs' statements about it (rules GP).
//!
//! # Design
//!
//! Interned data of a packet is looked up when its event is followed, among the entries that the frame kept
//! of its sequence. So an entry that comes later in the trace is found too (GP1). A specification of the old
//! style and an object's name hold from their packet on, in the order of time. They are remembered here by
//! machine.
//!
//! | question | where it is decided |
//! |---|---|
//! | slices of render stages, their names and columns (rules GP1, GP4, GP5) | `stages.rs` |
//! | the lane of a slice (rules GP2, GP3) | `queues.rs` |
//! | arguments (rule GP6) | `args.rs` |
//! | arguments of compute kernels (rule GP7) | `compute.rs` |
//! | the names of handles (rule GP8) | `objects.rs` |
//! | contexts (rule GP12) | `contexts.rs` |
//! | the fields of an event that these modules read | `event.rs` |
//! | submissions to Vulkan (rule GP10) | `vulkan.rs` |
//! | memory of Vulkan (rule M15) | `memory.rs` |
//! | log lines of GPUs (rule GP11) | `log.rs` |

mod args;
mod columns;
mod compute;
mod contexts;
mod event;
mod log;
mod memory;
mod objects;
mod queues;
mod stages;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod vulkan;

use timebase_schema::fields::interned_data as interned;
use timebase_trace::Kept;

pub(crate) use self::memory::VULKAN_INTERNED;
use self::memory::VulkanMemory;
use self::objects::Objects;
use self::stages::Stages;
use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::timeline::PacketEvent;

/// Fields of `TracePacket`.
const RENDER_STAGE_EVENT: u32 = 53;
const VULKAN_MEMORY_EVENT: u32 = 62;
const GPU_LOG: u32 = 63;
const VULKAN_API_EVENT: u32 = 65;

/// The fields of `InternedData` that are looked up, in intervals that have one of these events.
pub(crate) const GPU_INTERNED: &[(u32, Kept)] = &[
    (interned::EVENT_NAMES, Kept::Interval),
    (interned::GRAPHICS_CONTEXTS, Kept::Interval),
    (interned::GPU_SPECIFICATIONS, Kept::Interval),
    (interned::DEBUG_ANNOTATION_STRING_VALUES, Kept::Interval),
    (compute::COMPUTE_KERNELS, Kept::Interval),
    (compute::COMPUTE_ARG_NAMES, Kept::Interval),
];

/// Follows GPUs.
#[derive(Debug, Default)]
pub(crate) struct Gpu {
    stages: Stages,
    objects: Objects,
    memory: VulkanMemory,
}

impl Gpu {
    /// The kernel events that it takes.
    pub const EVENTS: Events = Events::new(&[]);
}

impl Tracker for Gpu {
    fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        match packet.field {
            RENDER_STAGE_EVENT => self.stages.event(ts, packet, &self.objects, at),
            VULKAN_API_EVENT => vulkan::event(ts, packet, &mut self.objects, at),
            VULKAN_MEMORY_EVENT => self.memory.event(ts, packet, at),
            GPU_LOG => log::line(ts, packet, at),
            _ => {}
        }
    }
}
