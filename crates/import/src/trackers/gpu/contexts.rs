//! The contexts of graphics libraries in render stages (rule GP12).

use rustc_hash::FxHashSet;
use timebase_schema::fields::{
    gpu_render_stage_event as stage, interned_data as interned,
    interned_graphics_context as context,
};
use timebase_schema::tables::gpu_context;

use super::event::Event;
use crate::output::Cell;
use crate::trackers::tracker::TrackerContext;

/// `InternedGraphicsContext.Api`, by its numbers.
const APIS: [&str; 6] = ["UNDEFINED", "OPEN_GL", "VULKAN", "OPEN_CL", "CUDA", "HIP"];

/// The contexts that have a row, by machine and handle.
#[derive(Debug, Default)]
pub(super) struct Contexts(FxHashSet<(u32, u64)>);

impl Contexts {
    /// Writes the context of an event as a row, if it is known and has none yet.
    pub fn see(&mut self, event: &Event<'_>, at: &mut TrackerContext<'_, '_>) {
        let machine = event.packet.machine;
        let Some(handle) = event.message.number(stage::CONTEXT) else {
            return;
        };
        if self.0.contains(&(machine, handle)) {
            return;
        }
        let Some(context) = event.interned(interned::GRAPHICS_CONTEXTS, handle, at) else {
            return;
        };
        let pid = context.small(context::PID);
        let api = context.small(context::API).map(|api| {
            let api = usize::try_from(api).ok();
            api.and_then(|api| APIS.get(api).copied()).unwrap_or(APIS[0])
        });
        self.0.insert((machine, handle));
        let id = at.rows.count(&gpu_context::TABLE);
        let api = at.rows.optional_text(api);
        at.rows.push(gpu_context::Row {
            id: Cell::from(id),
            context_id: Cell::from(handle as i64),
            pid: Cell::or_null(pid),
            api,
            machine_id: Cell::from(machine),
        });
    }
}
