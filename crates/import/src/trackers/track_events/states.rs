//! The states of tracks over time (rules ST).
//!
//! # Design
//!
//! A state becomes a row when the next one ends it, because until then equal events add arguments
//! to it. So a track has at most one state in memory, and rows do not come in the order of their
//! ids.

use rustc_hash::FxHashMap;

use super::super::open_state::OpenState;
use super::super::tracker::TrackerContext;
use super::tracks::TrackOrLanes;
use super::{OwnedEvent, TrackEvents};
use crate::definitions::TrackOwner;
use crate::output::{Cause, Fault, PARSER_ERROR};
use crate::timeline::Label;
use crate::world::TrackId;

/// The open states.
#[derive(Debug, Default)]
pub(super) struct States {
    open: FxHashMap<TrackId, OpenState>,
}

impl TrackEvents {
    /// Takes an event of a state (rules ST3 and ST4).
    pub(super) fn state(
        &mut self,
        here: &OwnedEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let no_uuid = PARSER_ERROR.dropping(Cause::NoTrackUuid);
        let uuid = here.event.uuid.ok_or(no_uuid)?;
        let on = self.tracks.of_uuid(uuid, here.needs(), at);
        let descriptor = at.world.definitions.uuids.descriptor(uuid);
        let is_state = descriptor.is_some_and(|descriptor| descriptor.owner == TrackOwner::State);
        let (true, TrackOrLanes::Track(track)) = (is_state, on) else {
            return Err(PARSER_ERROR.dropping(Cause::NotAState));
        };
        let value = here.event.state.unwrap_or(here.event.name);
        if value == Label::None {
            if let Some(open) = self.states.open.remove(&track) {
                open.push(track, Some(here.ts), at);
            }
            return Ok(());
        }
        self.put_args(here, at);
        let (args, defaults) = (&self.args, &self.default_args);
        match self.states.open.get_mut(&track) {
            Some(open) if open.is(value) => open.add_args(defaults, args, at),
            _ => {
                let args = [&defaults[..], args].concat();
                let begun = OpenState::begin(here.ts, here.event.category, value, args, at);
                if let Some(before) = self.states.open.insert(track, begun) {
                    before.push(track, Some(here.ts), at);
                }
            }
        }
        self.row_made(here, None, at);
        Ok(())
    }

    /// Writes the open states without an end.
    pub fn end_states(&mut self, at: &mut TrackerContext<'_, '_>) {
        let mut open: Vec<_> = std::mem::take(&mut self.states.open).into_iter().collect();
        open.sort_unstable_by_key(|(_, state)| state.id());
        for (track, state) in open {
            state.push(track, None, at);
        }
    }
}
