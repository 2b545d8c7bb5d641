//! Wakeup sources, from the first hold to the last release (rule KE15).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    ftrace_event as event, wakeup_source_activate_ftrace_event as wakelock,
};

use super::kernel_event::{ANY, Called, KernelEvent, first_bytes};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, TrackId};

pub(super) const EVENTS: &[u32] = &[event::WAKEUP_SOURCE_ACTIVATE, event::WAKEUP_SOURCE_DEACTIVATE];

/// The limit of bytes in a name.
const LONGEST: usize = 31;

/// The sources that are held.
#[derive(Debug, Default)]
pub(super) struct Wakelocks(FxHashMap<(u32, Option<Box<str>>), Held>);

#[derive(Debug)]
struct Held {
    track: TrackId,
    times: u64,
}

impl Wakelocks {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let name = here.text(wakelock::NAME);
        let key = (here.machine, name.as_deref().map(Box::from));
        match (self.0.get_mut(&key), here.field) {
            (Some(held), event::WAKEUP_SOURCE_ACTIVATE) => {
                held.times = held.times.saturating_add(1)
            }
            (Some(held), event::WAKEUP_SOURCE_DEACTIVATE) => {
                held.times = held.times.saturating_sub(1);
                if held.times == 0 {
                    here.end(held.track, ANY, &[], at);
                    self.0.remove(&key);
                }
            }
            (None, event::WAKEUP_SOURCE_ACTIVATE) => {
                let shown = format!("Wakelock({})", name.as_deref().unwrap_or_default());
                let shown = first_bytes(&shown, LONGEST);
                let track = NewTrack::slices(
                    here.machine,
                    "wakesource_wakelock",
                    Some(&shown),
                    Owner::None,
                );
                let track = track.with("wakelock_event", name.as_deref());
                let track = at.world.tracks.get(track);
                here.begin(track, Called::named(&shown), &[], at);
                self.0.insert(key, Held { track, times: 1 });
            }
            _ => {}
        }
    }
}
