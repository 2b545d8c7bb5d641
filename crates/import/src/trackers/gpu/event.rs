//! The event of a render stage, in the form that the modules for GPUs read.

use timebase_schema::fields::gpu_render_stage_event as stage;

use crate::message::Message;
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;

/// A `GpuRenderStageEvent`.
pub(super) struct Event<'a> {
    pub ts: i64,
    pub packet: &'a PacketEvent<'a>,
    pub message: Message<'a>,
}

impl Event<'_> {
    pub fn gpu(&self) -> u32 {
        self.message.small(stage::GPU_ID).unwrap_or(0)
    }

    /// The number of the stage in specifications of the old style.
    pub fn stage(&self) -> u64 {
        i64::from(self.message.small(stage::STAGE_ID).unwrap_or(0) as i32) as u64
    }

    /// An entry of interned data.
    pub fn interned<'w>(
        &self,
        field: u32,
        iid: u64,
        at: &'w TrackerContext<'_, '_>,
    ) -> Option<Message<'w>> {
        let entry = at.world.interned.get(self.packet.interval, field, iid);
        entry.map(Message)
    }

    /// The numbers of the subpasses whose bits are set, 64 bits in a word (rule GP5).
    pub fn subpasses(&self) -> Option<String> {
        const BITS: u64 = 64;
        let mut fields = self.message.fields();
        fields.find(|(field, _)| *field == stage::RENDER_SUBPASS_INDEX_MASK)?;
        let words = (0u64..).zip(self.message.numbers(stage::RENDER_SUBPASS_INDEX_MASK));
        let set = words.flat_map(|(place, word)| {
            (0..BITS)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| (place * BITS + bit).to_string())
        });
        Some(set.collect::<Vec<_>>().join(","))
    }
}
