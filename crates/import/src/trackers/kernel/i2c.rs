//! Transfers on i2c buses (rule KE28).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{ftrace_event as event, i2c_read_ftrace_event as i2c};

use super::kernel_event::{Called, KernelEvent};
use crate::trackers::tracker::TrackerContext;
use crate::world::Utid;

pub(super) const EVENTS: &[u32] = &[event::I2C_READ, event::I2C_WRITE, event::I2C_RESULT];

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
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let (adapter, number) = (here.u32(i2c::ADAPTER_NR), here.u32(i2c::MSG_NR));
        if adapter > LAST_ADAPTER {
            return;
        }
        let track = here.thread(at);
        let name = format!("i2c-{adapter}");
        let open = self.0.get_mut(&here.emitter);
        if here.field == event::I2C_RESULT {
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
