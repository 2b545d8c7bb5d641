//! Fences of drivers, from their creation until they are signaled (rule KE5).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use timebase_schema::fields::{dma_fence_init_ftrace_event as init, ftrace_event as event};

use super::kernel_event::{ANY, Called, KernelEvent, fill};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, TrackId};

pub(super) const EVENTS: &[u32] =
    &[event::DMA_FENCE_INIT, event::DMA_FENCE_EMIT, event::DMA_FENCE_SIGNALED];

/// The timeline of fences without a timeline.
const UNBOUND: &str = "unbound";

/// The fences of a context, which are signaled in order.
#[derive(Debug)]
struct Context {
    track: TrackId,
    /// The numbers of the fences that are not signaled yet.
    queue: VecDeque<u32>,
    /// Whether the driver reports when it emits a fence. Otherwise a fence begins when it is
    /// created.
    emits: bool,
}

/// Follows the fences of all contexts.
#[derive(Debug, Default)]
pub(super) struct Fences {
    contexts: FxHashMap<(u32, u32), Context>,
    args: ArgBuf,
}

impl Fences {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let (number, seqno) = (here.u32(init::CONTEXT), here.u32(init::SEQNO));
        let timeline = here.text(init::TIMELINE);
        if timeline.as_deref() == Some(UNBOUND) {
            return;
        }
        let context = self.contexts.entry((here.machine, number));
        let context = context.or_insert_with(|| {
            let timeline = timeline.as_deref();
            let name = format!("fence-{}-{number}", timeline.unwrap_or_default());
            let track = NewTrack::slices(here.machine, "drm_fence", Some(&name), Owner::None);
            let track = track.with("name", timeline).with("context", number);
            Context { track: at.world.tracks.get(track), queue: VecDeque::new(), emits: false }
        });
        let args = &mut self.args;
        match here.field {
            event::DMA_FENCE_INIT if !context.emits => context.joins(here, seqno, args, at),
            event::DMA_FENCE_EMIT => {
                if !std::mem::replace(&mut context.emits, true) {
                    if !context.queue.is_empty() {
                        here.end(context.track, ANY, &[], at);
                    }
                    context.queue.clear();
                }
                context.joins(here, seqno, args, at);
            }
            event::DMA_FENCE_SIGNALED => {
                let first = context.queue.front();
                if first.is_some_and(|&first| seqno >= first) {
                    here.end(context.track, ANY, &[], at);
                    context.queue.pop_front();
                    context.begin(here, args, at);
                }
            }
            _ => {}
        }
    }
}

impl Context {
    fn joins(
        &mut self,
        here: &KernelEvent<'_>,
        seqno: u32,
        args: &mut ArgBuf,
        at: &mut TrackerContext<'_, '_>,
    ) {
        self.queue.push_back(seqno);
        if self.queue.len() == 1 {
            self.begin(here, args, at);
        }
    }

    /// Begins the first fence, if there is one.
    fn begin(&self, here: &KernelEvent<'_>, args: &mut ArgBuf, at: &mut TrackerContext<'_, '_>) {
        if let Some(&seqno) = self.queue.front() {
            let args = fill(args, &[("fence seqno", ArgValue::Uint(seqno.into()))], at);
            here.begin(self.track, Called::named("fence"), args, at);
        }
    }
}
