//! Async events (rules JS21, JS22).

use rustc_hash::FxHashMap;

use super::{JsonEvents, Located, NO_NAME};
use crate::timeline::{Label, OwnLabel};
use crate::trackers::track_events::{AsyncTrack, Lane, lane_of};
use crate::trackers::tracker::TrackerContext;
use crate::world::{EndOfSlice, Upid};

/// The ids of async events, each with its number and the name of its first event.
#[derive(Debug, Default)]
pub(super) struct AsyncIds(FxHashMap<AsyncId, (u64, OwnLabel)>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct AsyncId {
    category: OwnLabel,
    id: Box<str>,
    /// The process of a local id.
    upid: Option<Upid>,
    /// The name, which belongs to the id in events of the older phases.
    name: Option<OwnLabel>,
}

impl AsyncIds {
    /// The number of an event's id, and the name of the first event that has it.
    fn number(&mut self, here: &Located<'_>) -> (u64, &OwnLabel) {
        let event = here.event;
        let has_name = matches!(event.phase, 'S' | 'F' | 'T' | 'p');
        let key = AsyncId {
            category: event.category.into(),
            id: event.id.unwrap_or_default().into(),
            upid: event.is_local.then_some(here.upid),
            name: has_name.then(|| event.name.into()),
        };
        let next = self.0.len() as u64;
        let (number, root) = self.0.entry(key).or_insert_with(|| (next, event.name.into()));
        (*number, root)
    }
}

impl JsonEvents {
    /// Begins or ends a slice on a lane, or adds an instant.
    pub(super) fn asynchronous(&mut self, here: &Located<'_>, at: &mut TrackerContext<'_, '_>) {
        let event = here.event;
        let (id, root) = self.ids.number(here);
        let names = &at.world.definitions.names;
        let name = OwnLabel::from(event.name);
        let name = names.text_of(&name).map(str::to_owned);
        let on = AsyncTrack {
            machine: at.world.part.machine,
            id,
            upid: event.is_local.then_some(here.upid),
            scope: None,
            root: names.text_of(root).map(str::to_owned),
        };
        let lane = match event.phase {
            'b' | 'S' => Lane::Begins,
            'e' | 'F' => Lane::Ends,
            _ => Lane::IsInstant,
        };
        let Some(track) = lane_of(&on, lane, name.as_deref(), at) else {
            return;
        };
        let slice = here.slice_of_no_thread(track);
        let made = match lane {
            Lane::Begins => {
                let name = if event.name == Label::None { NO_NAME } else { event.name };
                let slice = crate::world::NewSlice { name, ..slice };
                at.world.begin_slice(slice, event.args, at.rows)
            }
            Lane::IsInstant => at.world.add_slice(slice, 0, event.args, at.rows),
            Lane::Ends => {
                let end = EndOfSlice {
                    category: event.category,
                    name: event.name,
                    ..EndOfSlice::any(here.ts, track)
                };
                at.world.end_slice(end, event.args, at.rows);
                return;
            }
        };
        self.bind(here, track, made, at);
    }
}
