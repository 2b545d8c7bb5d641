//! Transfers on i2c buses (rule KE28).

use rustc_hash::FxHashMap;

use super::here::{Called, Here};
use crate::trackers::tracker::TrackerContext;
use crate::world::Utid;

const RESULT: u32 = 29;

pub(super) const EVENTS: &[u32] = &[27, 28, RESULT];

/// The last number of an adapter.
const LAST_ADAPTER: u32 = 255;

/// The transfers of threads.
#[derive(Debug, Default)]
pub(super) struct Transfers(FxHashMap<Utid, Transfer>);

#[derive(Debug)]
struct Transfer {
    adapter: u32,
    /// The number of messages, which is the greatest number of a message plus one.
    messages: u32,
}

impl Transfers {
    pub fn event(&mut self, here: &Here<'_>, at: &mut TrackerContext<'_, '_>) {
        let (adapter, number) = (here.u32(1), here.u32(2));
        if adapter > LAST_ADAPTER {
            return;
        }
        let track = here.thread(at);
        let name = format!("i2c-{adapter}");
        let open = self.0.get_mut(&here.emitter);
        if here.field == RESULT {
            let is_over = |open: &&mut Transfer| (open.adapter, open.messages) == (adapter, number);
            if open.filter(is_over).is_some() {
                self.0.remove(&here.emitter);
                here.end(track, Called::named(&name), &[], at);
            }
            return;
        }
        let messages = number.wrapping_add(1);
        match open {
            Some(open) => open.messages = open.messages.max(messages),
            None => {
                self.0.insert(here.emitter, Transfer { adapter, messages });
                here.begin(track, Called::named(&name), &[], at);
            }
        }
    }
}
